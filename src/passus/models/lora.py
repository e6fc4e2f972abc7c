"""LoRA adapters (frozen tuning): an adapter is trained on a base whose weights are frozen.

The adapter's matrices are float32, whatever the dtype of the base. It is never merged in place: with the adapter disabled, the
model is the reference policy bit for bit. In float32 the sampler reads a merged copy, which costs nothing per token. In bf16,
merging would round away most of an adapter that has trained little, so there the sampler decodes through the adapter.

PEFT is imported where it is used, because its import takes a second and full fine-tuning does not need it.
"""

import copy
import hashlib
import json
import os.path
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file

from passus.atomic_io import write_text
from passus.bounded_json import parse_json, read_text
from passus.config.tables import ModelTable
from passus.errors import UsageError, is_out_of_memory, shown
from passus.models.model_files import BAD_FILE_ERRORS, check_files, check_finite, refusing_bad_files, stored_shapes

CONFIG_FILE, WEIGHTS_FILE, BASE_FILE = "adapter_config.json", "adapter_model.safetensors", "passus_base.json"
FITTING = "an adapter of this base, rank and targets"


class Adapter:
    """A LoRA adapter on its base.

    `wrapped` is PEFT's model, `base` the name of the base, and `merged` the copy that the sampler reads, if there is one.
    """

    def __init__(self, wrapped: Any, base: str, base_fingerprint: str, merged: Any | None):
        self.wrapped, self.base, self.base_fingerprint, self.merged = wrapped, base, base_fingerprint, merged

    @property
    def model(self) -> Any:
        """The model in the class of its base, with adapters in its layers."""
        return self.wrapped.base_model.model

    @property
    def layers(self) -> dict[str, Any]:
        """The layers with an adapter, by their names in the base."""
        return {name: module for name, module in self.model.named_modules() if hasattr(module, "get_delta_weight")}

    @torch.no_grad()
    def refresh_merged(self) -> None:
        """Updates the merged copy, if there is one, to the current adapter."""
        if self.merged is not None:
            for name, layer in self.layers.items():
                target = self.merged.get_submodule(name).weight
                target.copy_(layer.base_layer.weight + layer.get_delta_weight("default"))

    @contextmanager
    def disabled(self) -> Iterator[None]:
        """Disables the adapter for a while, so that the model is its base."""
        with self.wrapped.disable_adapter():
            yield

    def save(self, folder: Path) -> None:
        """Saves the adapter in PEFT's layout, with the name and fingerprint of its base."""
        self.wrapped.save_pretrained(folder)
        (folder / "README.md").unlink(missing_ok=True)  # PEFT writes an empty template
        write_text(folder / BASE_FILE, json.dumps({"base": self.base, "fingerprint": self.base_fingerprint}, indent=2) + "\n")

    def restore(self, folder: Path) -> None:
        """Loads the weights of a saved adapter of the same shape."""
        from peft.utils import set_peft_model_state_dict

        check_base(folder, self.base_fingerprint)
        with refusing_bad_files(f"adapter {folder} does not fit", FITTING):
            weights = load_file(_weights_file(folder))  # PEFT's own function would also read pickles
            check_finite(f"adapter {folder}", weights.items())
            report: Any = set_peft_model_state_dict(self.wrapped, weights)
        unknown = report.unexpected_keys
        absent = sorted(set(_saved_names(self.wrapped)) - set(weights))
        if unknown or absent:
            raise UsageError(
                f"adapter {folder} does not fit: {[*unknown, *absent][0]} is {'unknown' if unknown else 'missing'}",
                expected=FITTING,
            )
        self.refresh_merged()


def attach(model: Any, table: ModelTable, base: str, path: str, seed: int, head: str = "") -> Adapter:
    """Attaches a new adapter to a loaded base. The product of its matrices is 0, so the policy starts equal to the base.

    `base` is the name of the base in the experiment, `path` the folder or hub id behind it, and `head` a layer that is trained
    together with the adapter.
    """
    adapter = _wrap(model, lora_config(table, head), base, _targets_source(table))
    adapter.wrapped.peft_config["default"].base_model_name_or_path = path
    # PEFT initialises the first matrices on the model's device; initialised here, they are the same on every device.
    generator = torch.Generator().manual_seed(seed)
    for name, parameter in adapter.model.named_parameters():
        if "lora_A" in name:
            initial = torch.empty(parameter.shape)
            torch.nn.init.kaiming_uniform_(initial, a=5**0.5, generator=generator)
            parameter.data.copy_(initial)
    adapter.refresh_merged()
    return adapter


def lora_config(table: ModelTable, head: str = "") -> Any:
    """Returns PEFT's configuration of the adapter that the experiment file describes."""
    from peft import LoraConfig

    targets: Any = table.lora.targets[0] if table.lora.targets == ["all-linear"] else table.lora.targets
    alpha: Any = table.lora.alpha  # PEFT's annotation says int, but it accepts float
    if head:
        return LoraConfig(
            r=table.lora.rank, lora_alpha=alpha, target_modules=targets, task_type="SEQ_CLS", modules_to_save=[head]
        )  # fmt: skip
    return LoraConfig(r=table.lora.rank, lora_alpha=alpha, target_modules=targets, task_type="CAUSAL_LM")


def load(model: Any, folder: Path, head: str = "") -> Adapter:
    """Loads a saved adapter onto its loaded base, with the layer `head` that was trained together with it."""
    from peft import LoraConfig

    check_files(f"adapter {folder}", folder)
    with refusing_bad_files(f"adapter {folder} cannot be loaded", "a LoRA adapter in PEFT's layout"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about keys of other types of adapters, which are refused below
            settings = LoraConfig.from_pretrained(str(folder))
        if settings.peft_type != "LORA":
            raise ValueError(f"it is a {settings.peft_type}, not a LoRA")
        _check_plain_lora(settings, head)
        _check_patterns(settings)
    with refusing_bad_files(f"adapter {folder} does not fit", FITTING):
        _check_numbers(settings, stored_shapes(_weights_file(folder)))
    adapter = _wrap(model, settings, adapter_base(folder)[0], f"adapter {folder} does not fit")
    adapter.restore(folder)
    return adapter


def _weights_file(folder: Path) -> Path:
    if not (folder / WEIGHTS_FILE).is_file():
        raise UsageError(f"adapter {folder} has no {WEIGHTS_FILE}", expected="an adapter saved as safetensors")
    return folder / WEIGHTS_FILE


def check_head(folder: Path, head: str) -> None:
    """Refuses an adapter that was not trained together with this layer."""
    try:
        saved = parse_json(read_text(folder / CONFIG_FILE))
        trained = saved.get("modules_to_save") or []
    except (OSError, ValueError, AttributeError) as error:
        raise UsageError(f"adapter {folder} cannot be read: {_first_lines(error)}", expected="PEFT's layout") from None
    if not isinstance(trained, list) or head not in trained:
        raise UsageError(
            f"adapter {folder} belongs to a {saved.get('task_type') or 'model of unknown type'} without a layer {head}",
            expected='an adapter of a reward model: a run with method.name = "reward_model" and model.tuning = "frozen"',
        )


def _check_plain_lora(settings: Any, head: str) -> None:
    """Raises if the adapter uses an extension of LoRA. PEFT has many, and none of them must be ignored silently."""
    if type(settings.r) is not int or not isinstance(settings.lora_alpha, (int, float)):
        raise ValueError(f"r = {settings.r!r}, lora_alpha = {settings.lora_alpha!r}")
    default, actual = type(settings)().to_dict(), settings.to_dict()
    if head and head in (actual["modules_to_save"] or []):
        default["modules_to_save"] = actual["modules_to_save"]
    extensions = [key for key, value in actual.items() if key not in PLAIN_LORA_KEYS and value != default.get(key)]
    if extensions:
        raise ValueError(f"it is more than two matrices per layer: {extensions[0]} = {actual[extensions[0]]!r}")


def _check_numbers(settings: Any, shapes: dict[str, list[int]]) -> None:
    """Raises if a rank is larger than those of the stored matrices, before memory is allocated for it, or a scale is odd."""
    ranks = [settings.r, *(settings.rank_pattern or {}).values()]
    most = max((shape[0] for name, shape in shapes.items() if "lora_A" in name and shape), default=0)
    if any(type(rank) is not int or not 1 <= rank <= most for rank in ranks):
        raise ValueError(
            f"r = {shown(settings.r)}, rank_pattern = {shown(settings.rank_pattern)}, with matrices of rank {most}"
        )
    alphas = [settings.lora_alpha, *(settings.alpha_pattern or {}).values()]
    if any(type(alpha) not in (int, float) or not abs(alpha) < 1e6 for alpha in alphas):
        raise ValueError(f"lora_alpha = {shown(settings.lora_alpha)}, alpha_pattern = {shown(settings.alpha_pattern)}")
    if isinstance(settings.init_lora_weights, str) and settings.init_lora_weights != "gaussian":
        raise ValueError(f"init_lora_weights = {shown(settings.init_lora_weights)} changes the weights of the base")


def _check_patterns(settings: Any) -> None:
    """Raises for a regular expression that may take for ever: PEFT matches them with the name of every layer."""
    fields = [settings.target_modules, settings.exclude_modules, settings.layers_pattern, settings.rank_pattern]
    patterns = [[field] if isinstance(field, str) else list(field or []) for field in [*fields, settings.alpha_pattern]]
    for pattern in (pattern for group in patterns for pattern in group):
        if not isinstance(pattern, str) or len(pattern) > 1000 or re.search(r"\)\s*[*+{]", pattern):
            raise ValueError(f"the pattern {shown(pattern)} repeats a group, or is no text")
        if _matching_paths(pattern) > MAX_PATHS:
            raise ValueError(f"the pattern {shown(pattern)} has too many repetitions, alternatives and optional parts")


MAX_PATHS, NAME_LENGTH = 1_000_000, 80
"""Ways in which a pattern may be tried on a name, and the length of a long name of a layer."""


def _matching_paths(pattern: str) -> float:
    """Returns an upper bound of the ways in which a pattern without repeated groups can be tried on the name of a layer."""
    rest, paths = re.sub(r"\(\?(?::|!|=|<!|<=)", "(", pattern), 1.0
    paths *= NAME_LENGTH ** len(re.findall(r"[*+{]", rest))
    paths *= 2.0 ** len(re.findall(r"(?<![*+}])\?", rest))
    while group := re.search(r"\(([^()]*)\)", rest):
        paths *= 1 + group[1].count("|")
        rest = rest[: group.start()] + rest[group.end() :]
    return paths * (1 + rest.count("|"))


PLAIN_LORA_KEYS = {
    "task_type", "peft_type", "auto_mapping", "peft_version", "base_model_name_or_path", "revision", "inference_mode", "r",
    "target_modules", "exclude_modules", "lora_alpha", "lora_dropout", "init_lora_weights", "layers_to_transform",
    "layers_pattern", "rank_pattern", "alpha_pattern", "use_rslora", "fan_in_fan_out",
}  # fmt: skip
"""Settings that only say which matrices an adapter has and how they are scaled."""


def _wrap(model: Any, settings: Any, base: str, source: str) -> Adapter:
    """Wraps a model by PEFT, and makes the merged copy where the sampler needs one. Errors begin with `source`."""
    fingerprint = weights_fingerprint(model)
    needs_merged = model.dtype == torch.float32 and not settings.modules_to_save  # reward models are not sampled from
    merged = copy.deepcopy(model, {id(p): p for p in model.parameters()}) if needs_merged else None
    adapter = Adapter(_peft_model(model, settings, source), base, fingerprint, merged)
    _check_layers(adapter, settings.target_modules, source)
    if merged is not None:  # shares all weights with the base except those that the adapter changes
        for name, layer in adapter.layers.items():
            weight = layer.base_layer.weight.detach().clone()
            merged.get_submodule(name).weight = torch.nn.Parameter(weight, requires_grad=False)
    return adapter


def _peft_model(model: Any, settings: Any, source: str) -> Any:
    from peft import get_peft_model

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about tied embeddings, which never have an adapter here
            return get_peft_model(model, settings).eval()  # dropout of a loaded adapter was for its own training
    except (*BAD_FILE_ERRORS, re.error) as error:
        if is_out_of_memory(error) or isinstance(error, torch.OutOfMemoryError):
            raise
        raise _bad_targets(model, source, _first_lines(error)) from None


def check_targets(model: Any, table: ModelTable, head: str = "") -> None:
    """Refuses targets that a model does not have. The model needs no storage, and has adapters afterwards."""
    source, settings = _targets_source(table), lora_config(table, head)
    _check_layers(Adapter(_peft_model(model, settings, source), table.base, "", None), settings.target_modules, source)


def _targets_source(table: ModelTable) -> str:
    return f"model.lora.targets = {table.lora.targets}"


def _check_layers(adapter: Adapter, targets: Any, source: str) -> None:
    """Refuses adapters outside the linear layers of blocks: embeddings may be tied to the head, and experts are not linear."""
    head = adapter.model.get_output_embeddings()
    other = [name for name, layer in adapter.layers.items() if type(layer.base_layer) is not torch.nn.Linear]
    if other or isinstance(getattr(head, "base_layer", None), torch.nn.Module):
        raise _bad_targets(adapter.model, source, f"{other[0] if other else 'the head'} is not a linear layer of a block")
    unused = [t for t in targets if not any(name.endswith(t) for name in adapter.layers)] if isinstance(targets, set) else []
    if unused:
        raise _bad_targets(adapter.model, source, f"no layer is called {sorted(unused)[0]}")


def _bad_targets(model: Any, source: str, reason: str) -> UsageError:
    linear = [
        n.removesuffix(".base_layer") for n, m in model.named_modules() if type(m) is torch.nn.Linear and ".lora_" not in n
    ]
    layer_names = sorted({name.rsplit(".", 1)[-1] for name in linear} - {"lm_head"})
    return UsageError(f"{source}: {reason}", expected=f"all-linear, or some of: {', '.join(layer_names)}")


def is_adapter(folder: Path) -> bool:
    """Whether the folder holds an adapter in PEFT's layout."""
    return os.path.isfile(folder / CONFIG_FILE)


def adapter_base(folder: Path) -> tuple[str, str | None]:
    """Returns the name or path of an adapter's base, and its fingerprint if passus wrote the adapter."""
    try:
        recorded = parse_json(read_text(folder / BASE_FILE)) if (folder / BASE_FILE).is_file() else {}
        path = parse_json(read_text(folder / CONFIG_FILE)).get("base_model_name_or_path")
        base = recorded.get("base") or path
    except (OSError, ValueError, AttributeError) as error:
        raise UsageError(f"adapter {folder} cannot be read: {error}", expected="a LoRA adapter in PEFT's layout") from None
    if not isinstance(base, str):
        raise UsageError(f"adapter {folder} does not name its base", expected="base_model_name_or_path in adapter_config.json")
    return base, recorded.get("fingerprint")


def check_base(folder: Path, fingerprint: str) -> None:
    """Refuses a base whose weights are not those that the adapter was trained on."""
    base, expected = adapter_base(folder)
    if expected not in (None, fingerprint):
        raise UsageError(
            f"adapter {folder} was trained on another base: the weights of {base} have changed",
            expected="the same base, unchanged",
        )


def weights_fingerprint(model: Any) -> str:
    """Hashes a sample of every weight, rounded to bf16, so that a model has the same fingerprint in either precision."""
    digest = hashlib.sha256()
    for name, parameter in model.named_parameters():
        sample = parameter.detach().flatten()[:: max(1, parameter.numel() // 64)]
        digest.update(f"{name}{tuple(parameter.shape)}".encode() + sample.to(torch.bfloat16).float().cpu().numpy().tobytes())
    return digest.hexdigest()


def _saved_names(wrapped: Any) -> list[str]:
    """Returns the names under which the adapter's weights are saved."""
    return [name.replace(".default", "") for name, _ in wrapped.named_parameters() if "lora_" in name]


def _first_lines(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return " ".join(lines[:2]) if lines else type(error).__name__
