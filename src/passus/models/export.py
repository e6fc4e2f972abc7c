"""A trained model as a folder of its own: no adapter, no optimizer, in Hugging Face layout."""

import shutil
from pathlib import Path

import torch
from safetensors import SafetensorError
from transformers import AutoConfig

from passus.atomic_io import is_disk_full
from passus.errors import UsageError
from passus.models import loader
from passus.models.locate import locate_model


def export(source: str, out: Path, dtype: str) -> str:
    """Write the model behind a name, its adapter merged, to a new folder. Returns the dtype of what was written.

    Merged in float32 and then rounded once to `dtype`; `auto` is that of the base's own weights.
    """
    if out.exists():
        raise UsageError(f"--out {out} is there already", expected="a new folder")
    policy = loader.load(source, "cpu", "float32")
    folder = locate_model(policy.adapter.base if policy.adapter else source)
    stored = AutoConfig.from_pretrained(folder, trust_remote_code=False).get_text_config().dtype
    chosen = (stored or torch.float32) if dtype == "auto" else getattr(torch, dtype)
    policy.refresh_sampling_model()
    temporary = out.with_name(f".{out.name}.tmp")
    shutil.rmtree(temporary, ignore_errors=True)
    try:
        policy.sampling_model.to(chosen).save_pretrained(temporary)
        policy.chat.tokenizer.save_pretrained(temporary)
        temporary.replace(out)
    except (OSError, SafetensorError) as error:
        shutil.rmtree(temporary, ignore_errors=True)
        if is_disk_full(error):
            raise UsageError(f"the disk that holds {out} is full", expected="room for the whole model") from None
        raise
    return str(chosen).removeprefix("torch.")
