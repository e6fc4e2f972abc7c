"""What this process computes on."""

import numpy as np
import torch
from torch import Tensor


def has_bf16() -> bool:
    """In hardware: cards older than Ampere only imitate it. Kernels and compiled layers are for cards that have it."""
    return torch.cuda.is_available() and torch.cuda.is_bf16_supported(including_emulation=False)


def to_device(values: np.ndarray, device: torch.device) -> Tensor:
    """Without waiting for what a GPU is doing."""
    made = torch.from_numpy(values)
    return made.pin_memory().to(device, non_blocking=True) if device.type == "cuda" else made
