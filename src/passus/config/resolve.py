"""From the tables of an experiment file to a config: presets, defaults, refusals with the nearest key, TOML in and out."""

import os
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import tomli_w
from pydantic import ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from passus.config.hub_revision import adopt_commit
from passus.config.tables import Config
from passus.config.toml_text import parse_toml
from passus.errors import UsageError, nearest, shown
from passus.grading.verdict import ANY, BOXED, Extract
from passus.methods.presets import PRESETS
from passus.schema import Section
from passus.tasks.prompt import AUTO

MAY_CHANGE = (
    "name", "figure", "model.lossy_prompts", "train.steps", "judge.url", "log.to", "log.token_logprobs",
    "run.save_every", "run.keep_checkpoints",
)  # fmt: skip
"""Keys that may differ when a run is resumed. Any other difference would make it a different run."""

NOT_YET = {
    "stage": "several stages in one experiment; run one experiment per stage, with model.base = RUN@step",
    "task.max_prompt_tokens": "a filter on prompt length; a prompt that does not fit the context is refused at the start",
    "eval.stop": "stop strings; the model's end tokens stop it",
    "run.best": "keeping the best checkpoint by a rule; run.keep_checkpoints = 0 keeps them all",
}
"""Keys that users know from other tools, and what to use instead today."""


def resolve(tables: Mapping[str, Any], source: str) -> Config:
    """Fills in defaults and the method's preset, and checks everything."""
    tables = dict(tables)
    if isinstance(tables.get("reward"), str):
        tables["reward"] = {"function": tables["reward"], "values": {"correct": 0.0}}
    _refuse_not_yet(tables, source)
    method = tables.get("method", {})
    if isinstance(method, dict):
        preset = method.get("name", "grpo")
        if not isinstance(preset, str) or preset not in PRESETS:
            raise UsageError(
                f"{source}: method.name = {shown(preset)}",
                expected=f"one of: {', '.join(PRESETS)}",
                write=nearest(preset, PRESETS) if isinstance(preset, str) else None,
            )
        tables["method"] = PRESETS[preset].model_dump() | method
    try:
        return Config.model_validate(tables)
    except ValidationError as error:
        raise _refusal(error, source) from None


def _refuse_not_yet(tables: Mapping[str, Any], source: str) -> None:
    for key, reason in NOT_YET.items():
        value: Any = tables
        for part in key.split("."):
            value = value.get(part) if isinstance(value, dict) else None
        if value is not None:
            raise UsageError(f"{source}: {key} = {shown(value)}: not yet: {reason}")


def _refusal(error: ValidationError, source: str) -> UsageError:
    """Rewrites pydantic's first complaint in the form of our own errors."""
    detail = error.errors()[0]
    location = [str(part) for part in detail["loc"] if not str(part).startswith(("list[", "float"))]
    key = ".".join(location)
    if detail["type"] == "extra_forbidden":
        return UsageError(f"{source}: unknown key {key}", expected="`passus explain` lists all keys", write=nearest_key(key))
    if detail["type"] == "missing":
        return UsageError(f"{source}: {key} is missing", expected=_documentation(key), write=EXAMPLES.get(key))
    if detail["type"] == "model_type":
        word = MAIN_FIELDS.get(key) if isinstance(detail["input"], str) else None
        return UsageError(
            f"{source}: {key} = {shown(detail['input'])}",
            expected=f"a table; `passus explain {key}` lists its fields",
            write=f"{key}.{word}" if word else None,
        )
    if detail["type"] == "value_error" and not location:
        return UsageError(f"{source}: {detail['ctx']['error']}")
    expected = detail["msg"].removeprefix("Value error, ").removeprefix("Input should be ")
    return UsageError(
        f"{source}: {key} = {shown(detail['input'])}",
        expected=f"{expected}   ({_documentation(key)})",
        write=_nearest_choice(detail),
    )


def _nearest_choice(detail: ErrorDetails) -> str | None:
    """Returns the choice that was probably meant, where a field has a fixed set of them."""
    if detail["type"] != "literal_error" or not isinstance(detail["input"], str):
        return None
    return nearest(detail["input"], re.findall(r"'([^']*)'", str(detail["ctx"]["expected"])))


EXAMPLES = {"model": '[model]\n         base = "nano/qwen3"', "model.base": 'base = "nano/qwen3"'}
"""Examples for keys without a default."""


MAIN_FIELDS = {"model": "base", "method": "name", "task": "name"}
"""The field that is meant where a table is given a name."""


def nearest_key(key: str) -> str | None:
    """Looks in the same table if there is one, then for the same word in one other table, then everywhere."""
    table, dot, word = key.rpartition(".")
    known = {**fields(), **inner_fields()}
    siblings = [k.removeprefix(f"{table}.") for k in known if k.startswith(f"{table}.") and "." not in k[len(table) + 1 :]]
    if dot and (sibling := nearest(word, siblings)):
        return f"{table}.{sibling}"
    elsewhere = [k for k in known if k.rpartition(".")[2] == word]
    if len(elsewhere) == 1:
        return elsewhere[0]
    return nearest(key, [*known, *Config.model_fields]) if not siblings else None


def _documentation(key: str) -> str:
    field = fields().get(key) or inner_fields().get(key)
    return (field.description or key) if field else key


def fields() -> dict[str, FieldInfo]:
    """Returns every key of an experiment file with its pydantic field. Nested tables such as model.lora are one key."""
    return _keys_of(Config, depth=1)


def inner_fields() -> dict[str, FieldInfo]:
    """Returns the keys within nested tables, such as model.lora.rank."""
    return {key: field for key, field in _keys_of(Config, depth=2).items() if key.count(".") == 2}


def _keys_of(table: type[Section], depth: int, prefix: str = "") -> dict[str, FieldInfo]:
    keys: dict[str, FieldInfo] = {}
    for name, field in table.model_fields.items():
        inner = field.annotation
        if depth and isinstance(inner, type) and issubclass(inner, Section):
            keys |= _keys_of(inner, depth - 1, f"{prefix}{name}.")
        else:
            keys[prefix + name] = field
    return keys


def flatten(config: Config) -> dict[str, Any]:
    """Returns {dotted key: value}, nested tables included."""
    return _flatten(config.model_dump())


def _flatten(tables: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in tables.items():
        flat |= _flatten(value, f"{prefix}{key}.") if isinstance(value, dict) else {f"{prefix}{key}": value}
    return flat


def differences(recorded: Config, asked: Config) -> list[str]:
    """Lists what stands in the way of resuming a recorded run under this config, one line per key."""
    old, new = flatten(recorded), flatten(asked)
    lines = [
        f"{key}: {old[key]!r} recorded, {new[key]!r} asked" for key in old if old[key] != new[key] and key not in MAY_CHANGE
    ]
    schedule = recorded.train.optimizer.schedule
    if old["train.steps"] != new["train.steps"] and schedule != "constant":
        lines.append(
            f"train.steps: {old['train.steps']} recorded, {new['train.steps']} asked, and the {schedule} schedule depends on it"
        )
    return lines


def adopt_recorded(asked: Config, recorded: Config) -> Config:
    """Replaces "auto", and models of the hub without a commit, by what they meant when the run began."""
    run = {key: getattr(recorded.run, key) for key in ("device", "dtype") if getattr(asked.run, key) == AUTO}
    prompt = recorded.model.prompt if asked.model.prompt == AUTO else asked.model.prompt
    base, scorer = adopt_commit(asked.model.base, recorded.model.base), adopt_commit(asked.reward.model, recorded.reward.model)
    model = asked.model.model_copy(update={"prompt": prompt, "base": base})
    reward = asked.reward.model_copy(update={"model": scorer})
    return asked.model_copy(update={"run": asked.run.model_copy(update=run), "model": model, "reward": reward})


def default_threads(jobs: int = 1) -> int:
    """Returns the CPU threads per arm when this process's cores are shared by `jobs` arms."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, cores // jobs)


def to_toml(config: Config) -> str:
    return tomli_w.dumps(config.model_dump())


@lru_cache(maxsize=256)  # a report asks for the settings of a run a dozen times
def from_toml(text: str, source: str) -> Config:
    """Reads a recorded config. One that does not say which answers counted is older than the choice: read as `boxed`."""
    tables = parse_toml(text, source)
    table = tables.setdefault("eval", {})
    if isinstance(table, dict):
        table.setdefault("extract", BOXED)
    return resolve(tables, source)


def eval_config(
    suite: str,
    samples: int,
    temperature: float,
    max_tokens: int,
    limit: int,
    model: Mapping[str, Any],
    judge: Mapping[str, Any],
    extract: Extract = ANY,
) -> Config:
    """Makes a config of what the command line of `passus eval` asks for."""
    table = {
        "suite": [name.strip() for name in suite.split(",")],
        "samples": samples,
        "temperature": temperature,
        "max_tokens": max_tokens,
        "limit": limit,
        "extract": extract,
    }
    return resolve({"model": model, "eval": table, "judge": judge}, "command line")
