"""Device and precision of this process."""

import numpy as np
import torch
from torch import Tensor

from passus.errors import UsageError


def choose_device(device: str) -> str:
    """Resolves `auto` to cuda or cpu, and refuses cuda where torch sees no CUDA device."""
    if device == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    if device == "cuda" and not torch.cuda.is_available():
        raise UsageError("run.device = 'cuda', but torch sees no CUDA device", expected="cpu or auto", write='device = "auto"')
    return device


def choose_dtype(dtype: str, device: str) -> str:
    """Resolves `auto` to bfloat16 on a GPU that supports it and to float32 elsewhere, and refuses bfloat16 elsewhere."""
    if dtype == "auto":
        return "bfloat16" if device == "cuda" and has_bf16() else "float32"
    if dtype == "bfloat16" and device == "cuda" and not has_bf16():
        raise UsageError("run.dtype = 'bfloat16' on a GPU without it", expected="float32 there", write='dtype = "auto"')
    if dtype == "bfloat16" and device == "cpu":
        raise UsageError("run.dtype = 'bfloat16' on a CPU", expected="float32 there", write='dtype = "auto"')
    return dtype


def has_bf16() -> bool:
    """Whether the GPU computes in bf16. GPUs older than Ampere only emulate it, and get no kernels and compiled layers."""
    return torch.cuda.is_available() and torch.cuda.is_bf16_supported(including_emulation=False)


def to_device(array: np.ndarray, device: torch.device) -> Tensor:
    """Copies an array to the device without waiting for pending GPU work."""
    tensor = torch.from_numpy(array)
    return tensor.pin_memory().to(device, non_blocking=True) if device.type == "cuda" else tensor
