"""Frozen tuning: a LoRA adapter that trains on a base that does not.

The adapter's matrices are float32 whatever the base is. It is never merged in place: the base's weights are the reference
policy whenever the adapter is off, bit for bit. In float32 the sampler reads a merged copy, which costs nothing per token; in
bf16 merging would round most of a young adapter away, so there the sampler decodes through it.

PEFT is imported where it is used: it takes a second, and live runs do without it.
"""

import copy
import hashlib
import json
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError

from passus.atomic_io import write_text
from passus.config.tables import ModelTable
from passus.errors import UsageError

CONFIG, WEIGHTS, BASE = "adapter_config.json", "adapter_model.safetensors", "passus_base.json"


class Adapter:
    def __init__(self, wrapped: Any, base: str, fingerprint: str, merged: Any | None):
        self.wrapped, self.base, self.base_fingerprint, self.merged = wrapped, base, fingerprint, merged

    @property
    def model(self) -> Any:
        """The base's own class, with adapters in its layers."""
        return self.wrapped.base_model.model

    @property
    def layers(self) -> dict[str, Any]:
        """The layers that carry an adapter, by their names in the base."""
        return {name: module for name, module in self.model.named_modules() if hasattr(module, "get_delta_weight")}

    @torch.no_grad()
    def refresh_merged(self) -> None:
        """Bring the merged copy, where there is one, up to the adapter."""
        if self.merged is not None:
            for name, layer in self.layers.items():
                target = self.merged.get_submodule(name).weight
                target.copy_(layer.base_layer.weight + layer.get_delta_weight("default"))

    @contextmanager
    def disabled(self) -> Iterator[None]:
        """Within, the model is its base."""
        with self.wrapped.disable_adapter():
            yield

    def save(self, folder: Path) -> None:
        """In PEFT's layout, with where its base is and what it looks like."""
        self.wrapped.save_pretrained(folder)
        (folder / "README.md").unlink(missing_ok=True)  # PEFT's empty form
        write_text(folder / BASE, json.dumps({"base": self.base, "fingerprint": self.base_fingerprint}, indent=2) + "\n")

    def restore(self, folder: Path) -> None:
        """Take the weights of a saved adapter of the same shape."""
        from peft.utils import load_peft_weights, set_peft_model_state_dict

        check_base(folder, self.base_fingerprint)
        if not (folder / WEIGHTS).is_file():
            raise UsageError(f"adapter {folder} has no {WEIGHTS}", expected="an adapter saved as safetensors")
        try:
            weights = load_peft_weights(str(folder), device="cpu")
            report: Any = set_peft_model_state_dict(self.wrapped, weights)
        except (OSError, RuntimeError, KeyError, SafetensorError) as error:
            raise UsageError(
                f"adapter {folder} does not fit: {_first_line(error)}", expected="an adapter of this base, rank and targets"
            ) from None
        unknown = report.unexpected_keys
        absent = sorted(set(_names(self.wrapped)) - set(weights))
        if unknown or absent:
            raise UsageError(
                f"adapter {folder} does not fit: {[*unknown, *absent][0]} is {'unknown' if unknown else 'missing'}",
                expected="an adapter of this base, rank and targets",
            )
        self.refresh_merged()


def attach(model: Any, table: ModelTable, base: str, path: str, seed: int, head: str = "") -> Adapter:
    """A new adapter on a loaded base: the product of its matrices is 0, so the policy begins as the base.

    `base` is the base's name in the experiment, `path` the folder or hub id behind it, `head` a layer that trains beside it.
    """
    adapter = _wrap(model, lora_config(table, head), base, f"model.lora.targets = {table.lora.targets}")
    adapter.wrapped.peft_config["default"].base_model_name_or_path = path
    # PEFT draws the first matrices on the model's device; drawn here, they are the same on every device.
    generator = torch.Generator().manual_seed(seed)
    for name, parameter in adapter.model.named_parameters():
        if "lora_A" in name:
            drawn = torch.empty(parameter.shape)
            torch.nn.init.kaiming_uniform_(drawn, a=5**0.5, generator=generator)
            parameter.data.copy_(drawn)
    adapter.refresh_merged()
    return adapter


def lora_config(table: ModelTable, head: str = "") -> Any:
    """PEFT's, for an adapter as the experiment file describes it."""
    from peft import LoraConfig

    targets: Any = table.lora.targets[0] if table.lora.targets == ["all-linear"] else table.lora.targets
    alpha: Any = table.lora.alpha  # PEFT says int and takes both
    if head:
        return LoraConfig(
            r=table.lora.rank, lora_alpha=alpha, target_modules=targets, task_type="SEQ_CLS", modules_to_save=[head]
        )  # fmt: skip
    return LoraConfig(r=table.lora.rank, lora_alpha=alpha, target_modules=targets, task_type="CAUSAL_LM")


def load(model: Any, folder: Path, head: str = "") -> Adapter:
    """A saved adapter on its loaded base, with the layer that was trained beside it."""
    from peft import LoraConfig

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about keys of other kinds of adapters, which are refused below
            settings = LoraConfig.from_pretrained(str(folder))
        if settings.peft_type != "LORA":
            raise ValueError(f"it is a {settings.peft_type}, not a LoRA")
        _refuse_more_than_lora(settings, head)
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise UsageError(
            f"adapter {folder} cannot be loaded: {_first_line(error)}", expected="a LoRA adapter in PEFT's layout"
        ) from None
    adapter = _wrap(model, settings, adapter_base(folder)[0], f"adapter {folder} does not fit")
    adapter.restore(folder)
    return adapter


def check_head(folder: Path, head: str) -> None:
    """Refuse an adapter that was not trained with this layer beside it."""
    try:
        saved = json.loads((folder / CONFIG).read_text(encoding="utf-8"))
        trained = saved.get("modules_to_save") or []
    except (OSError, ValueError, AttributeError) as error:
        raise UsageError(f"adapter {folder} cannot be read: {_first_line(error)}", expected="PEFT's layout") from None
    if head not in trained:
        raise UsageError(
            f"adapter {folder} is of a {saved.get('task_type') or 'model of no known kind'}, without a {head}",
            expected='a reward model\'s: a run with method.name = "reward_model" and model.tuning = "frozen"',
        )


def _refuse_more_than_lora(settings: Any, head: str) -> None:
    """PEFT knows many extensions of LoRA; one that is not computed here must not be passed over in silence."""
    if type(settings.r) is not int or not isinstance(settings.lora_alpha, (int, float)):
        raise ValueError(f"r = {settings.r!r}, lora_alpha = {settings.lora_alpha!r}")
    plain, given = type(settings)().to_dict(), settings.to_dict()
    if head and head in (given["modules_to_save"] or []):
        plain["modules_to_save"] = given["modules_to_save"]
    odd = [key for key, value in given.items() if key not in PLAIN_LORA and value != plain.get(key)]
    if odd:
        raise ValueError(f"it is more than two matrices a layer: {odd[0]} = {given[odd[0]]!r}")


PLAIN_LORA = {
    "task_type", "peft_type", "auto_mapping", "peft_version", "base_model_name_or_path", "revision", "inference_mode", "r",
    "target_modules", "exclude_modules", "lora_alpha", "lora_dropout", "init_lora_weights", "layers_to_transform",
    "layers_pattern", "rank_pattern", "alpha_pattern", "use_rslora", "fan_in_fan_out",
}  # fmt: skip
"""Settings of an adapter that say no more than which matrices there are and how they are scaled."""


def _wrap(model: Any, settings: Any, base: str, source: str) -> Adapter:
    from peft import get_peft_model

    fingerprint = weights_fingerprint(model)
    merges = model.dtype == torch.float32 and not settings.modules_to_save  # a copy is for sampling
    spare = copy.deepcopy(model, {id(p): p for p in model.parameters()}) if merges else None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about tied embeddings, which have no adapter here
            wrapped = get_peft_model(model, settings).eval()  # its dropout, if any, is for whoever trained it
    except (ValueError, TypeError, AttributeError, re.error) as error:
        raise _bad_targets(model, source, _first_line(error)) from None
    adapter = Adapter(wrapped, base, fingerprint, spare)
    _check_layers(adapter, settings.target_modules, source)
    if spare is not None:  # shares all weights with the base but those that the adapter changes
        for name, layer in adapter.layers.items():
            spare.get_submodule(name).weight = torch.nn.Parameter(layer.base_layer.weight.detach().clone(), requires_grad=False)
    return adapter


def _check_layers(adapter: Adapter, targets: Any, source: str) -> None:
    """Linear layers of the blocks only: embeddings may be tied to the head, and experts lie in other modules."""
    head = adapter.model.get_output_embeddings()
    odd = [name for name, layer in adapter.layers.items() if type(layer.base_layer) is not torch.nn.Linear]
    if odd or isinstance(getattr(head, "base_layer", None), torch.nn.Module):
        raise _bad_targets(adapter.model, source, f"{odd[0] if odd else 'the head'} is no linear layer of a block")
    unused = [t for t in targets if not any(name.endswith(t) for name in adapter.layers)] if isinstance(targets, set) else []
    if unused:
        raise _bad_targets(adapter.model, source, f"no layer is called {sorted(unused)[0]}")


def _bad_targets(model: Any, source: str, reason: str) -> UsageError:
    linear = [
        n.removesuffix(".base_layer") for n, m in model.named_modules() if type(m) is torch.nn.Linear and ".lora_" not in n
    ]
    named = sorted({name.rsplit(".", 1)[-1] for name in linear} - {"lm_head"})
    return UsageError(f"{source}: {reason}", expected=f"all-linear, or some of: {', '.join(named)}")


def is_adapter(folder: Path) -> bool:
    return (folder / CONFIG).is_file()


def adapter_base(folder: Path) -> tuple[str, str | None]:
    """(the base's name or path, its fingerprint if passus wrote it)."""
    try:
        known = json.loads((folder / BASE).read_text()) if (folder / BASE).is_file() else {}
        path = json.loads((folder / CONFIG).read_text()).get("base_model_name_or_path")
        base = known.get("base") or path
    except (OSError, ValueError, AttributeError) as error:
        raise UsageError(f"adapter {folder} cannot be read: {error}", expected="a LoRA adapter in PEFT's layout") from None
    if not isinstance(base, str):
        raise UsageError(
            f"adapter {folder} does not say what it was trained on", expected="base_model_name_or_path in adapter_config.json"
        )
    return base, known.get("fingerprint")


def check_base(folder: Path, fingerprint: str) -> None:
    base, expected = adapter_base(folder)
    if expected not in (None, fingerprint):
        raise UsageError(
            f"adapter {folder} was trained on another base: the weights of {base} are not those it knew",
            expected="the same base, unchanged",
        )


def weights_fingerprint(model: Any) -> str:
    """Some numbers of every weight, rounded to bf16, so that the same base is known in either precision."""
    digest = hashlib.sha256()
    for name, parameter in model.named_parameters():
        few = parameter.detach().flatten()[:: max(1, parameter.numel() // 64)]
        digest.update(f"{name}{tuple(parameter.shape)}".encode() + few.to(torch.bfloat16).float().cpu().numpy().tobytes())
    return digest.hexdigest()


def _names(wrapped: Any) -> list[str]:
    """Of the adapter's weights, as they are saved."""
    return [name.replace(".default", "") for name, _ in wrapped.named_parameters() if "lora_" in name]


def _first_line(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return " ".join(lines[:2]) if lines else type(error).__name__
