"""Small random models, the shipped one, and a way to run passus as a user would."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from transformers import (
    Gemma3ForCausalLM,
    Gemma3TextConfig,
    LlamaConfig,
    LlamaForCausalLM,
    MistralConfig,
    MistralForCausalLM,
    Qwen2Config,
    Qwen2ForCausalLM,
    Qwen3Config,
    Qwen3ForCausalLM,
    SmolLM3Config,
    SmolLM3ForCausalLM,
)

from passus import attention, models

WINDOWED = {"sliding_window": 5, "layer_types": ["sliding_attention", "full_attention"]}


def tiny_model(name: str, seed: int = 0):
    """Two layers of width 32 of a family; names with + have sliding windows of 5, shorter than any test's sequence."""
    torch.manual_seed(seed)
    family, _, windows = name.partition("+")
    sizes = dict(
        vocab_size=41, hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
        max_position_embeddings=128, pad_token_id=0, eos_token_id=1, bos_token_id=None, tie_word_embeddings=True,
    )  # fmt: skip
    makers = {
        "qwen3": lambda: Qwen3ForCausalLM(
            Qwen3Config(**sizes, head_dim=16, **(WINDOWED | {"use_sliding_window": True} if windows else {}))
        ),
        "qwen2.5": lambda: Qwen2ForCausalLM(Qwen2Config(**sizes)),
        "llama3.2": lambda: LlamaForCausalLM(LlamaConfig(**sizes)),
        "smollm3": lambda: SmolLM3ForCausalLM(SmolLM3Config(**sizes, no_rope_layers=[1, 0])),
        "gemma3": lambda: Gemma3ForCausalLM(
            Gemma3TextConfig(**sizes, head_dim=16, query_pre_attn_scalar=16, **(WINDOWED if windows else {}))
        ),
        "mistral": lambda: MistralForCausalLM(MistralConfig(**sizes, sliding_window=5 if windows else None)),
    }
    model = makers[family]().eval()
    with torch.no_grad():  # away from the near-uniform distribution of a fresh model
        for parameter in model.parameters():
            parameter.mul_(2.0)
    return model


FAMILIES = ["qwen3", "qwen3+windows", "qwen2.5", "llama3.2", "smollm3", "gemma3+windows", "mistral+windows"]


@pytest.fixture(params=FAMILIES)
def family_model(request):
    return tiny_model(request.param)


@pytest.fixture(scope="session")
def nano():
    """The shipped model, on CPU in float32."""
    return models.load("nano/qwen3", "cpu", "float32")


def with_passus(model):
    model.set_attn_implementation(attention.NAME)
    return model


def passus(*arguments: str, cwd: Path, env: dict[str, str] | None = None, timeout: float = 120) -> subprocess.CompletedProcess:
    """Run the command line as a user would, with one thread a process."""
    environment = os.environ | {"PASSUS_THREADS": "1", "OMP_NUM_THREADS": "1"} | (env or {})
    return subprocess.run(
        [sys.executable, "-P", "-m", "passus", *arguments],
        cwd=cwd,
        env=environment,
        capture_output=True,
        text=True,
        timeout=timeout,
    )


DATA = Path(os.environ.get("PASSUS_DATA") or Path(__file__).parents[2] / "shared/benchmarks")
"""Where benchmarks lie; tests that need them skip where they do not."""


@pytest.fixture
def real_data(monkeypatch):
    if not (DATA / "gsm8k.jsonl").is_file():
        pytest.skip(f"no benchmark data at {DATA}: set PASSUS_DATA to a folder with it")
    monkeypatch.setenv("PASSUS_DATA", str(DATA.resolve()))
    return DATA


@pytest.fixture(autouse=True, scope="session")
def _one_thread():
    torch.set_num_threads(1)
