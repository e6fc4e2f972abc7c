"""Export of a trained model to a folder in Hugging Face layout, without adapter and optimizer."""

import os
import shutil
from pathlib import Path

import torch
from safetensors import SafetensorError
from transformers import AutoConfig

from passus.atomic_io import no_space_errno
from passus.errors import UsageError
from passus.models import loader
from passus.models.locate import locate_model


def export(source: str, out: Path, dtype: str) -> str:
    """Writes a model, with its adapter merged, to a new folder, and returns the dtype of the written weights.

    The adapter is merged in float32 and the result is rounded once to `dtype`; `auto` is the dtype of the base's weights.
    """
    if out.exists():
        raise UsageError(f"--out {out} already exists", expected="a new folder")
    policy = loader.load(source, "cpu", "float32")
    folder = locate_model(policy.adapter.base if policy.adapter else source)
    stored = AutoConfig.from_pretrained(folder, trust_remote_code=False).get_text_config().dtype
    is_float = isinstance(stored, torch.dtype) and stored.is_floating_point and stored.itemsize > 1
    chosen = (stored if is_float else torch.float32) if dtype == "auto" else getattr(torch, dtype)
    policy.refresh_sampling_model()
    temporary = out.with_name(f".{out.name}.tmp")
    shutil.rmtree(temporary, ignore_errors=True)
    try:
        policy.sampling_model.to(chosen).save_pretrained(temporary)
        policy.chat.tokenizer.save_pretrained(temporary)
        temporary.replace(out)
    except (OSError, SafetensorError) as error:
        shutil.rmtree(temporary, ignore_errors=True)
        if number := no_space_errno(error):
            raise UsageError(f"{out} cannot be written: {os.strerror(number)}", expected="room for the whole model") from None
        raise
    return str(chosen).removeprefix("torch.")
