"""The memory plan against what a backward pass really keeps, and against sizes counted by hand."""

import pytest
import torch

from folders import nano_folder, small_model
from passus import memory, models
from passus.attention import PackedPlan
from passus.experiment import load_experiment
from passus.plan import describe
from small import small_config


@pytest.mark.parametrize("family", ["qwen3", "llama3.2", "smollm3", "gemma3", "qwen2.5", "mistral"])
def test_what_the_backward_pass_keeps(family):
    """The real model on real numbers, 256 tokens in one sequence by fused attention, all its saved tensors counted."""
    policy = models.load(f"nano/{family}", "cpu", "float32")
    tokens = torch.zeros(1, memory.PROBE_TOKENS, dtype=torch.long)
    own = {p.untyped_storage().data_ptr() for p in policy.model.parameters()}
    kept = {}

    def keep(tensor):
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in own:
            kept[storage.data_ptr()] = (storage.nbytes(), tensor)
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        plan = PackedPlan([memory.PROBE_TOKENS], torch.device("cpu"))
        policy.decoder(tokens, position_ids=torch.arange(256)[None], use_cache=False, plan=plan)
    real = sum(size for size, _ in kept.values()) / memory.PROBE_TOKENS
    predicted = memory.saved_per_token(models.shape_of(f"nano/{family}"), torch.float32)
    assert predicted == pytest.approx(real, rel=0.25)  # plain attention and masks keep more than fused attention does


def test_the_dry_run_says_it(tmp_path):
    base = nano_folder(tmp_path / "model", small_model("qwen3"))
    text = describe(load_experiment("real/gsm8k", [f"model.base={base}"]), tmp_path)
    assert "GB at the peak on CUDA" in text and "activations" in text
    assert "memory    not known" in describe(load_experiment("real/gsm8k", [f"model.base={tmp_path}/none"]), tmp_path)
    assert "memory" not in describe(load_experiment("families"), tmp_path)


def test_the_terms_of_a_plan(tmp_path):
    base = nano_folder(tmp_path / "model", small_model("qwen3"))
    parameters = sum(p.numel() for p in models.load(str(base), "cpu", "float32").model.parameters())

    def plan(dtype=torch.bfloat16, **tables):
        return memory.predict(small_config(model={"base": str(base)} | tables.pop("model", {}), **tables), 10, dtype)

    live = plan()
    assert live.weights == 2 * parameters and live.optimizer == 12 * parameters and live.reference == 0
    assert plan(torch.float32).optimizer == 8 * parameters
    assert plan(method={"kl_weight": 0.1}).reference == 2 * parameters
    frozen = plan(model={"tuning": "frozen", "rank": 4})
    assert frozen.optimizer < live.optimizer and frozen.weights > live.weights
    assert plan(train={"micro_tokens": 4096}).activations == pytest.approx(plan(train={"micro_tokens": 8192}).activations / 2)
    assert live.cache == 16 * 2 * 2 * 2 * 34 * 8 * 2  # rows x layers x (keys, values) x heads x positions x width x bytes
    assert live.peak == max(live.training, live.rollout)
