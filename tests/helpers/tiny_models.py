"""Random two-layer models of every family, for comparing engines with transformers."""

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

from passus.engine import attention

WINDOWED = {"sliding_window": 5, "layer_types": ["sliding_attention", "full_attention"]}


def tiny_model(name: str, seed: int = 0):
    """Returns two layers of width 32. Names with + have sliding windows of 5 tokens, shorter than all test sequences."""
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
    with torch.no_grad():  # a fresh model has a nearly uniform distribution
        for parameter in model.parameters():
            parameter.mul_(2.0)
    return model


FAMILIES = ["qwen3", "qwen3+windows", "qwen2.5", "llama3.2", "smollm3", "gemma3+windows", "mistral+windows"]


def with_passus(model):
    model.set_attn_implementation(attention.NAME)
    return model
