"""The model families that passus was tested with, and the labels of models in figures."""

import json
from pathlib import Path

from passus.config.hub_revision import split_revision
from passus.models.locate import SHIPPED_PREFIX

FAMILIES = {
    "qwen3": "Qwen3",
    "qwen2": "Qwen2.5",
    "llama": "Llama3.2",
    "smollm3": "SmolLM3",
    "gemma3_text": "Gemma3",
    "mistral": "Mistral",
}
"""Display name by `model_type` of the Hugging Face configuration."""


def model_label(base: str, model_type: str, parameters: int) -> str:
    """Returns the label of a model in figures. A shipped model is labelled by family and size, not as the released model."""
    if not base.startswith(SHIPPED_PREFIX):
        return _label_of_run(base) or split_revision(base)[0].rstrip("/").rsplit("/", 1)[-1]
    size = f"{parameters / 1e6:.1f}M" if parameters >= 1e5 else f"{parameters / 1e3:.0f}K"
    return f"{FAMILIES.get(model_type, model_type)}-shaped, {size}"


def _label_of_run(base: str) -> str | None:
    """Returns the label of the model that a run started from, if `base` is a checkpoint of a run."""
    run, _, step = base.partition("@")
    try:
        return json.loads((Path(run) / "meta.json").read_text())["model"]["label"] + f", trained{f' to {step}' if step else ''}"
    except (OSError, ValueError, KeyError, TypeError):
        return None
