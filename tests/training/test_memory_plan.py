"""The memory plan against sizes counted by hand."""

from dataclasses import replace

import pytest
import torch

from helpers.model_folders import nano_folder, small_model
from helpers.small_run import small_config
from passus.config.experiment import load_experiment
from passus.errors import UsageError
from passus.launch.dry_run import describe_experiment
from passus.models import loader
from passus.training import mel, memory_plan


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
        config = small_config(model={"base": str(base)} | tables.pop("model", {}), **tables)
        return memory_plan.predict_memory(config, 10, dtype)

    live = plan()
    assert live.weights == 2 * parameters and live.optimizer == 12 * parameters and live.reference == 0
    assert plan(torch.float32).optimizer == 8 * parameters
    assert plan(method={"kl_coef": 0.1}).reference == 2 * parameters
    frozen = plan(model={"tuning": "frozen", "lora": {"rank": 4}})
    assert frozen.optimizer < live.optimizer and frozen.weights > live.weights
    assert live.row_cache == 2 * 2 * 2 * (64 + 64) * 8 * 2  # layers x (keys, values) x heads x positions x width x bytes
    assert live.cache == 16 * live.row_cache
    assert live.training_peak(4096) - live.training_peak(2048) == 2048 * 2 * live.saved_per_token


ESTIMATE = memory_plan.MemoryEstimate(
    weights=2_000, optimizer=12_000, reference=0, gradients=2_000, float32_gradients=4_000, saved_per_token=2,
    input_per_token=1, layers=10, logits=1_000, sampling=0, row_cache=10, rows=100, lesson_cache=0, lesson_rows=0,
    longest=50, is_compiled=True,
)  # fmt: skip


def free_memory(bytes_):
    """Returns the free memory of a GPU on which a plan may use so many bytes."""
    return round(bytes_ / memory_plan.USABLE) + 2


def test_the_plan_gives_up_speed_in_order(monkeypatch):
    """By hand: 17,000 fixed bytes, 20 per token with all activations saved, 12 with all recomputed, 1,000 of caches."""
    monkeypatch.setattr(memory_plan, "SMALL_MICRO_BATCH", 200)
    monkeypatch.setattr(memory_plan, "GRAPH_ACTIVATION_BYTES", 0)

    def layout_in(room):
        return memory_plan.fastest_layout(ESTIMATE, free_memory(17_000 + room), 800)

    assert layout_in(17_000) == memory_plan.MemoryLayout(800, 0, False, pytest.approx(1_000, abs=5), 17_000 + 16_000 + 1_000)
    assert layout_in(16_500) == memory_plan.MemoryLayout(400, 0, False, pytest.approx(8_500, abs=5), 17_000 + 8_000 + 1_000)
    assert layout_in(4_500) == memory_plan.MemoryLayout(200, 0, True, pytest.approx(7_500, abs=5), 17_000 + 4_000)
    # 20 x 200 = 4,000 do not fit. Each recomputed layer saves 1 per token, and one layer is always there in full.
    some = layout_in(3_900)
    assert (some.micro_tokens, some.recomputed_layers, some.releases_caches) == (200, 3, True)
    assert layout_in(3_000).recomputed_layers == 7 and layout_in(3_000).micro_tokens == 200
    assert layout_in(2_990) is None  # the float32 gradients of the update need 3,000 bytes
    for room in range(3_000, 20_000, 333):
        layout = layout_in(room)
        assert layout.peak <= 17_005 + room and layout.cache_bytes >= ESTIMATE.row_cache


def test_a_config_that_does_not_fit_is_refused_with_a_length_that_does():
    # By hand: 16,000 fixed with gradients, 1,000 of logits, 12 per token: 1,083 tokens in 30,000, 10 of them in the prompt.
    long = replace(ESTIMATE, longest=4_000, row_cache=800, float32_gradients=0)
    config = small_config(train={"max_tokens": 3_990})
    with pytest.raises(UsageError, match=r"train.max_tokens = 1073"):
        memory_plan.choose_layout(config, long, round((17_000 + 13_000) / memory_plan.USABLE))
    with pytest.raises(UsageError, match="frozen"):
        memory_plan.choose_layout(config, long, 5_000)


def test_cuda_graphs_are_captured_if_there_is_room():
    """A second shape needs the activations of 200 tokens, gradients of both shapes, and the float32 gradients."""
    more = 200 * 20 + 2 * 2_000 + 4_000
    assert ESTIMATE.graphs(800) == more
    with_room, without = (memory_plan.fastest_layout(ESTIMATE, free_memory(34_000 + room), 800) for room in (more, more - 10))
    assert with_room.captures_graphs and with_room.peak == 34_000 + more
    assert with_room.cache_bytes == pytest.approx(1_000, abs=5)
    assert without.captures_graphs is False and without.micro_tokens == 800


def test_without_a_compiled_layer_nothing_is_recomputed():
    plain = replace(ESTIMATE, is_compiled=False)
    layouts = [memory_plan.fastest_layout(plain, free_memory(17_000 + room), 800) for room in range(2_000, 20_000, 500)]
    assert any(layouts)
    assert not any(layout.recomputed_layers or layout.captures_graphs for layout in layouts if layout)


@pytest.mark.slow
def test_a_float32_adapter_needs_merged_weights_for_the_sampler(tmp_path):
    base = nano_folder(tmp_path / "model", small_model("qwen3"))
    config = small_config(model={"base": str(base), "tuning": "frozen", "lora": {"rank": 4}})
    adapted = sum(p.numel() for n, p in loader.load(str(base), "cpu", "float32").model.named_parameters() if "_proj" in n)
    half, full = (memory_plan.predict_memory(config, 10, dtype) for dtype in (torch.bfloat16, torch.float32))
    assert full.weights - 2 * half.weights + 4 * half.optimizer // 8 == pytest.approx(4 * adapted, rel=0.01)


@pytest.mark.slow
def test_the_plan_has_room_for_lessons(tmp_path):
    """A lesson follows the problem and two solutions, so its row is longer than that of a completion."""
    base = nano_folder(tmp_path / "model", small_model("qwen3"))

    def plan(**method):
        config = small_config(model={"base": str(base)}, method=method, train={"max_tokens": 32})
        return memory_plan.predict_memory(config, 10, torch.bfloat16)

    context = loader.read_text_config(str(base)).max_position_embeddings
    plain, lessons, critique = plan(), plan(name="mel"), plan(name="mel_critique")
    instructions = memory_plan.LESSON_INSTRUCTION_TOKENS
    assert plain.longest == 42 and plain.lesson_cache == 0
    assert lessons.longest == min(10 + instructions + 3 * 32, context)
    assert critique.longest == min(10 + instructions + 2 * 32, context)
    assert lessons.lesson_cache > lessons.row_cache == plain.row_cache
    assert lessons.longest_row_cache == lessons.lesson_cache


def test_the_instructions_of_a_lesson_fit_the_tokens_that_are_planned_for_them():
    """English has about four letters per token."""
    assert max(len(mel.PAIR), len(mel.CRITIQUE)) / 4 < memory_plan.LESSON_INSTRUCTION_TOKENS


@pytest.mark.slow
@pytest.mark.parametrize("max_tokens", [40, 200, 300])
def test_a_length_is_proposed_where_lessons_exceed_the_context(tmp_path, max_tokens):
    """Three solutions do not fit the context, so the longest row does not shrink with the first tokens that are taken away."""
    base = nano_folder(tmp_path / "model", small_model("qwen3", max_position_embeddings=400))
    config = small_config(model={"base": str(base)}, method={"name": "mel"}, train={"max_tokens": max_tokens})
    need = memory_plan.predict_memory(config, 10, torch.bfloat16)
    wanted = 10 + memory_plan.LESSON_INSTRUCTION_TOKENS + 3 * max_tokens
    assert need.longest == max(10 + max_tokens, min(wanted, 400)) and need.longest + need.beyond_context >= wanted
    for completion in (1, max_tokens // 2, max_tokens):
        shorter = small_config(model={"base": str(base)}, method={"name": "mel"}, train={"max_tokens": completion})
        found = memory_plan._with_completions(need, config, completion)
        assert found.longest == memory_plan.predict_memory(shorter, 10, torch.bfloat16).longest
    with pytest.raises(UsageError, match="does not fit"):
        memory_plan.choose_layout(config, need, need.fixed)
