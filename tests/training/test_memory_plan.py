"""The memory plan against the tensors that a backward pass saves, and against sizes counted by hand."""

import pytest
import torch

from helpers.model_folders import nano_folder, small_model
from helpers.small_run import small_config
from passus.config.experiment import load_experiment
from passus.engine.attention import PackedPlan
from passus.errors import UsageError
from passus.launch.dry_run import describe_experiment
from passus.models import loader
from passus.training import memory_plan


@pytest.mark.parametrize("family", ["qwen3", "llama3.2", "smollm3", "gemma3", "qwen2.5", "mistral"])
def test_saved_activations_are_predicted(family):
    """Counts all tensors that a forward pass over one sequence of 256 tokens saves."""
    policy = loader.load(f"nano/{family}", "cpu", "float32")
    tokens = torch.zeros(1, memory_plan.PROBE_TOKENS, dtype=torch.long)
    own = {p.untyped_storage().data_ptr() for p in policy.model.parameters()}
    kept = {}

    def keep(tensor):
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in own:
            kept[storage.data_ptr()] = (storage.nbytes(), tensor)
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        plan = PackedPlan([memory_plan.PROBE_TOKENS], torch.device("cpu"))
        policy.decoder(tokens, position_ids=torch.arange(256)[None], use_cache=False, plan=plan)
    layers = policy.text_config.num_hidden_layers
    real = sum(size for size, _ in kept.values()) / memory_plan.PROBE_TOKENS / layers
    predicted = memory_plan.saved_per_token(loader.read_text_config(f"nano/{family}"), torch.float32)
    assert predicted == pytest.approx(real, rel=0.25)  # plain attention and masks keep more than fused attention does


def test_the_dry_run_prints_the_plan(tmp_path):
    base = nano_folder(tmp_path / "model", small_model("qwen3"))
    text = describe_experiment(load_experiment("real/gsm8k", [f"model.base={base}"]), tmp_path)
    assert "GB at the peak on CUDA" in text and "activations" in text and "24 GB free: " in text and "no bf16: " in text
    assert "memory    unknown" in describe_experiment(load_experiment("real/gsm8k", [f"model.base={tmp_path}/none"]), tmp_path)
    assert "memory" not in describe_experiment(load_experiment("families"), tmp_path)


@pytest.mark.slow
def test_the_terms_of_a_plan(tmp_path):
    base = nano_folder(tmp_path / "model", small_model("qwen3"))
    parameters = sum(p.numel() for p in loader.load(str(base), "cpu", "float32").model.parameters())

    def plan(dtype=torch.bfloat16, **tables):
        return memory_plan.predict(small_config(model={"base": str(base)} | tables.pop("model", {}), **tables), 10, dtype)

    live = plan()
    assert live.weights == 2 * parameters and live.optimizer == 12 * parameters and live.reference == 0
    assert plan(torch.float32).optimizer == 8 * parameters
    assert plan(method={"kl_coef": 0.1}).reference == 2 * parameters
    frozen = plan(model={"tuning": "frozen", "lora": {"rank": 4}})
    assert frozen.optimizer < live.optimizer and frozen.weights > live.weights
    assert live.row == 2 * 2 * 2 * (64 + 64) * 8 * 2  # layers x (keys, values) x heads x positions x width x bytes
    assert live.cache == 16 * live.row
    assert live.training(4096) - live.training(2048) == 2048 * 2 * live.token


NEED = memory_plan.Need(
    weights=2_000, optimizer=12_000, reference=0, gradients=2_000, widened=4_000, token=2, entering=1, layers=10, logits=1_000,
    sampling=0, row=10, rows=100, longest=50, filled=True,
)  # fmt: skip


def card(bytes_):
    """Returns the size of a GPU with so many usable bytes."""
    return round(bytes_ / memory_plan.FILL) + 2


def test_the_plan_gives_up_speed_in_order(monkeypatch):
    """By hand: 17,000 fixed bytes, 20 per token with all activations saved, 12 with all recomputed, 1,000 of caches."""
    monkeypatch.setattr(memory_plan, "SMALL_MICRO_BATCH", 200)
    monkeypatch.setattr(memory_plan, "CAPTURED_BYTES", 0)

    def found(room):
        return memory_plan.fit(NEED, card(17_000 + room), 800)

    assert found(17_000) == memory_plan.Fit(800, 0, False, pytest.approx(1_000, abs=5), 17_000 + 16_000 + 1_000)
    assert found(16_500) == memory_plan.Fit(400, 0, False, pytest.approx(8_500, abs=5), 17_000 + 8_000 + 1_000)
    assert found(4_500) == memory_plan.Fit(200, 0, True, pytest.approx(7_500, abs=5), 17_000 + 4_000)
    some = found(3_900)  # 20 x 200 = 4000 do not fit; each recomputed layer saves 1 per token, and one layer is always whole
    assert (some.micro_tokens, some.recomputed, some.releases) == (200, 3, True)
    assert found(3_000).recomputed == 7 and found(3_000).micro_tokens == 200
    assert found(2_990) is None  # the update's float32 gradients need 3,000 of what activations and logits had
    for room in range(3_000, 20_000, 333):
        laid_out = found(room)
        assert laid_out.peak <= 17_005 + room and laid_out.cache >= NEED.row


def test_a_config_that_cannot_fit_is_refused_with_one_that_does():
    # By hand: 16,000 fixed with gradients, 1,000 of logits, 12 per token: 1,083 tokens in 30,000, 10 of them in the prompt.
    long = memory_plan.Need(**{**vars(NEED), "longest": 4_000, "row": 800, "widened": 0})
    config = small_config(train={"max_tokens": 3_990})
    with pytest.raises(UsageError, match=r"train.max_tokens = 1073"):
        memory_plan.fit_or_refuse(config, long, round((17_000 + 13_000) / memory_plan.FILL))
    with pytest.raises(UsageError, match="frozen"):
        memory_plan.fit_or_refuse(config, long, 5_000)


def test_cuda_graphs_are_captured_if_there_is_room():
    """A second shape needs the activations of 200 tokens, gradients of both shapes, and the float32 gradients."""
    more = 200 * 20 + 2 * 2_000 + 4_000
    assert NEED.captured(800) == more
    with_room, without = (memory_plan.fit(NEED, card(17_000 + 16_000 + 1_000 + extra), 800) for extra in (more, more - 10))
    assert with_room.captures and with_room.peak == 34_000 + more and with_room.cache == pytest.approx(1_000, abs=5)
    assert without.captures is False and without.micro_tokens == 800


def test_without_a_compiled_layer_nothing_is_recomputed():
    plain = memory_plan.Need(**{**vars(NEED), "filled": False})
    found = [memory_plan.fit(plain, card(17_000 + room), 800) for room in range(2_000, 20_000, 500)]
    assert any(found) and not any(layout.recomputed or layout.captures for layout in found if layout)


@pytest.mark.slow
def test_a_float32_adapter_needs_merged_weights_for_the_sampler(tmp_path):
    base = nano_folder(tmp_path / "model", small_model("qwen3"))
    config = small_config(model={"base": str(base), "tuning": "frozen", "lora": {"rank": 4}})
    adapted = sum(p.numel() for n, p in loader.load(str(base), "cpu", "float32").model.named_parameters() if "_proj" in n)
    half, full = (memory_plan.predict(config, 10, dtype) for dtype in (torch.bfloat16, torch.float32))
    assert full.weights - 2 * half.weights + 4 * half.optimizer // 8 == pytest.approx(4 * adapted, rel=0.01)
