"""Predicted activations against the tensors that a forward pass saves for the backward pass."""

import pytest
import torch

from passus.engine.attention import PackedPlan
from passus.models import loader
from passus.training.saved_activations import PROBE_TOKENS, saved_per_token


@pytest.mark.parametrize("family", ["qwen3", "llama3.2", "smollm3", "gemma3", "qwen2.5", "mistral"])
def test_saved_activations_are_predicted(family):
    """Counts all tensors that a forward pass over one sequence of 256 tokens saves."""
    policy = loader.load(f"nano/{family}", "cpu", "float32")
    tokens = torch.zeros(1, PROBE_TOKENS, dtype=torch.long)
    weights = {p.untyped_storage().data_ptr() for p in policy.model.parameters()}
    saved = {}

    def keep(tensor):
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in weights:
            saved[storage.data_ptr()] = (storage.nbytes(), tensor)
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        plan = PackedPlan([PROBE_TOKENS], torch.device("cpu"))
        policy.decoder(tokens, position_ids=torch.arange(256)[None], use_cache=False, plan=plan)
    layers = policy.text_config.num_hidden_layers
    real = sum(size for size, _ in saved.values()) / PROBE_TOKENS / layers
    predicted = saved_per_token(loader.read_text_config(f"nano/{family}"), torch.float32)
    assert predicted == pytest.approx(real, rel=0.25)  # plain attention and masks keep more than fused attention does
