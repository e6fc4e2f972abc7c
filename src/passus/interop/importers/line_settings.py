"""What the settings of another tool say: the seed, the model, the method, and which of them make two runs one line."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from passus.interop.importers.values import clean
from passus.runs.origin import parameters_in

FAMILIES = {
    "Qwen3": r"qwen-?3(?!\d)", "Qwen2.5": r"qwen-?2\.5", "Llama3.2": r"llama-?3\.2", "SmolLM3": r"smollm-?3",
    "Gemma3": r"gemma-?3", "Mistral": r"mistral",
}  # fmt: skip
"""Families that figures have a colour for, by their names in those of models."""
SEED_KEYS = (
    "seed", "trainer.seed", "data.seed", "train.seed", "actor_rollout_ref.rollout.seed", "args.seed", "config.seed",
    "algo.seed",
)  # fmt: skip
SEED_IN_NAME = re.compile(r"(?:^|[-_. /])(?:s|seed)[-_=]?(?P<seed>\d{1,9})(?=$|[-_. /])", re.IGNORECASE)
MODEL_KEYS = (
    "model_name_or_path", "actor_rollout_ref.model.path", "actor.model_name_or_path", "pretrain", "policy.model_name",
    "model.name", "model.base", "model_name", "model", "eval.model", "config.model_args.pretrained", "_name_or_path",
)  # fmt: skip
METHOD_KEYS = (
    "method.name", "algorithm.adv_estimator", "advantage_estimator", "algo.advantage_estimator", "loss_type", "method",
)  # fmt: skip
LORA_KEYS = ("lora_rank", "lora_r", "peft_config", "actor_rollout_ref.model.lora_rank", "use_peft", "peft.r")
STEP_KEYS = ("max_steps", "trainer.total_training_steps", "total_training_steps", "num_training_steps", "train.steps")

NO_SETTING = re.compile(
    r"(?:^|(?:^|[._/])(?:run|exp|experiment|project|trainer|wandb|logging|hub)[._/])name$|"
    r"(?:^|[._/])(?:id|uuid|run_?name|run_?id|exp(?:eriment)?_?name|project(?:_?name)?|group|tags?|notes|entity|host(?:name)?|"
    r"port|date|time|timestamp|user(?:name)?|report_to|logger|logging_[a-z_]+|log_[a-z_]+|save_[a-z_]+|output_?dir|out_?dir|"
    r"dir|path|cwd|world_size|local_rank|rank|node_rank|master_(?:addr|port)|resume[a-z_]*|hub_[a-z_]+|"
    r"default_local_dir|val(?:idation)?_data_dir|rollout_data_dir|n?nodes|n_gpus_per_node|seed|wandb[a-z_]*|"
    r"created(?:_at)?|total_flos|best_[a-z_]+|run)$|^_",
    re.IGNORECASE,
)
"""Keys that may differ between runs of one line: names, places, dates, hosts, logging and saving, resumes, seeds."""
HYPERPARAMETER = re.compile(r"(?:^|[._/])(?:learning_rate|lr|adv_estimator|advantage_estimator|loss_type|kl_coef|beta)$")
"""Keys of which every record of a training's settings has one."""
MAX_SETTINGS, MAX_TEXT = 2000, 300
"""Settings of a run that are kept, and characters of each."""


@dataclass(frozen=True)
class RunFacts:
    """What the settings and the name of a run say."""

    seed: int | None
    model: str
    family: str | None
    parameters: float | None
    method: str
    is_adapter: bool
    steps: int | None
    """Planned steps."""


def read_facts(name: str, settings: Mapping[str, Any]) -> RunFacts:
    flat = {str(key): value for key, value in settings.items()}
    model = _last_part(_first_text(flat, MODEL_KEYS))
    return RunFacts(
        seed=_seed(name, flat),
        model=model,
        family=next((family for family, pattern in FAMILIES.items() if re.search(pattern, model, re.I)), None),
        parameters=parameters_in(model),
        method=_first_text(flat, METHOD_KEYS).rpartition(".")[2],
        is_adapter=any(_is_on(value) for key, value in flat.items() if key.endswith(LORA_KEYS)),
        steps=_first_number(flat, STEP_KEYS),
    )


def _seed(name: str, settings: Mapping[str, Any]) -> int | None:
    for key in SEED_KEYS:
        value = settings.get(key)
        if isinstance(value, str) and value.isdigit():
            value = int(value)
        if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**31:
            return value
    match = SEED_IN_NAME.search(name)
    return int(match["seed"]) % 2**31 if match else None


def name_without_seed(name: str) -> str:
    """Returns the name of a run without the part that says its seed."""
    return SEED_IN_NAME.sub("", name).strip("-_. /") or name


def says_training(settings: Mapping[str, Any]) -> bool:
    """Whether the settings say how the run was trained. Event files and a trainer's state do not: there only names tell."""
    return any(HYPERPARAMETER.search(str(key)) for key in settings)


def _first_text(settings: Mapping[str, Any], keys: tuple[str, ...]) -> str:
    return next((value for key in keys if isinstance(value := settings.get(key), str) and value.strip()), "")


def _first_number(settings: Mapping[str, Any], keys: tuple[str, ...]) -> int | None:
    for key in keys:
        value = settings.get(key)
        if isinstance(value, int) and not isinstance(value, bool) and 0 < value < 10**9:
            return value
    return None


def _last_part(path: str) -> str:
    return path.rstrip("/").rpartition("/")[2]


def _is_on(value: Any) -> bool:
    return value not in (None, 0, "", "0", "None", "none", "null", False, "False", "false")


def _is_plain(value: Any) -> bool:
    return isinstance(value, (bool, int)) or (isinstance(value, float) and math.isfinite(value))


def kept_settings(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the settings that make runs different lines, as texts and numbers of bounded size."""
    kept = {}
    for key, value in list(settings.items())[: 10 * MAX_SETTINGS]:
        if NO_SETTING.search(str(key)) or value is None:
            continue
        kept[clean(str(key)[:MAX_TEXT])] = value if _is_plain(value) else clean(str(value)[:MAX_TEXT])
        if len(kept) == MAX_SETTINGS:
            break
    return kept
