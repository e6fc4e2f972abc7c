"""CUDA only: kernels, captured steps, micro-batches of fixed shapes and the compiled layer, against plain forms on the CPU.

In float32, products are IEEE's and results equal to the last few bits. In bf16 the bound is what transformers' own eager
attention is off by in bf16, times two.
"""

import copy
import types

import pytest
import torch

from helpers.small_run import small_config
from helpers.tiny_models import FAMILIES, tiny_model, with_passus
from passus.config.tables import ModelTable
from passus.engine import attention, counter_rng, logprob, packing
from passus.engine.eager import EagerEngine
from passus.engine.interface import Prompt, SamplingParams
from passus.engine.token_sampling import sample_tokens
from passus.models import reward_head
from passus.runs.run_folder import RunFolder
from passus.tasks.item import Item
from passus.training.between_steps import save
from passus.training.build_rows import training_rows
from passus.training.rehearsal import rehearse
from passus.training.setup import prepare
from passus.training.step import sample_groups, take_step
from passus.training.step_metrics import Times
from passus.training.update import accumulate, pack_rows

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
CUDA = torch.device("cuda")
COMPILED = ["qwen3", "gemma3+windows"]


def cuda_copy(model, dtype=torch.float32):
    return with_passus(copy.deepcopy(model).to(CUDA, dtype))


def prompts(n=7):
    g = torch.Generator().manual_seed(4)
    return [Prompt(tuple(torch.randint(2, 41, (1 + 3 * (i % 4),), generator=g).tolist()), i) for i in range(n)]


SHAPES = [
    (7, 16, 8, 200, 100, 128, attention.NO_WINDOW),
    (80, 16, 8, 60, 70, 128, attention.NO_WINDOW),
    (5, 4, 2, 40, 30, 32, 16),
    (9, 8, 1, 100, 30, 256, 64),
    (3, 3, 3, 20, 20, 8, attention.NO_WINDOW),
    (4, 40, 8, 100, 100, 80, 33),
]


@pytest.mark.parametrize("dtype, bound", [(torch.float32, 5e-6), (torch.bfloat16, 2e-2)])
@pytest.mark.parametrize("rows, heads, kv_heads, own, shared, width, window", SHAPES)
def test_the_decode_kernel(dtype, bound, rows, heads, kv_heads, own, shared, width, window):
    from passus.engine import triton_kernels  # noqa: F401 (registers the kernel)

    g = torch.Generator().manual_seed(1)
    new, cache = (rows, kv_heads, 1, width), (rows + 2, kv_heads, own, width)
    shapes = [(rows, heads, 1, width), new, new, cache, cache, *[(4, kv_heads, shared, width)] * 2]
    given = [torch.randn(*shape, generator=g).to(dtype) for shape in shapes]
    before = torch.randint(0, shared + 1, (rows,), generator=g)
    positions = before + torch.randint(0, own, (rows,), generator=g)
    place = torch.randint(0, 4, (rows,), generator=g)
    before[0] = positions[0] = 0
    where = positions, place, before
    on_cpu, on_cuda = [x.float().clone() for x in given], [x.to(CUDA) for x in given]
    # Keys and values are slices of one product, as in a model, and not contiguous.
    both = torch.cat([on_cuda[1].transpose(1, 2), on_cuda[2].transpose(1, 2)], dim=2)
    on_cuda[1], on_cuda[2] = (x.transpose(1, 2) for x in both.split(kv_heads, dim=2))
    expected = attention.decode_attention(*on_cpu, *where, width**-0.5, window)
    got = attention.decode_attention(*on_cuda, *(x.to(CUDA) for x in where), width**-0.5, window)
    torch.testing.assert_close(got.cpu().float(), expected, atol=bound, rtol=bound)
    for mine, theirs in zip(on_cuda[3:], on_cpu[3:], strict=True):
        assert torch.equal(mine.cpu().float(), theirs)  # only the new token was written


@pytest.mark.parametrize("vocabulary", [83, 5000, 151936])
def test_the_sampling_kernel_equals_the_cpu(vocabulary):
    from passus.engine import triton_kernels

    torch.manual_seed(0)
    rows, slots = 64, 70
    logits = torch.randn(rows, vocabulary) * 3

    def whole(values):
        return torch.as_tensor(values, device=CUDA)

    state = types.SimpleNamespace(
        row_length=50, key=whole(counter_rng.pack_key(-3, "train")), step=whole(3),
        item_S=torch.arange(slots, device=CUDA) + 2**31, sample_S=torch.arange(slots, device=CUDA) % 3,
        drawn_S=torch.arange(slots, device=CUDA) * 2,
        input_S=torch.zeros(slots, dtype=torch.long, device=CUDA), position_S=torch.full((slots,), 48, device=CUDA),
        prefix_length_S=torch.zeros(slots, dtype=torch.long, device=CUDA),
        tokens_RS=torch.zeros(8, slots, dtype=torch.long, device=CUDA), logps_RS=torch.zeros(8, slots, device=CUDA),
        tick=whole(2),
    )  # fmt: skip
    item, sample, drawn = (x[:rows].cpu() for x in (state.item_S, state.sample_S, state.drawn_S))
    uniform = counter_rng.uniform_at(state.key.cpu(), state.step.cpu(), item, sample, drawn)
    tokens, logps = sample_tokens(logits, uniform, SamplingParams(1, 5, -3, "train", 3, temperature=0.7))
    triton_kernels.sample_tokens(logits.to(CUDA), 0.7, state)
    assert torch.equal(state.input_S[:rows].cpu(), tokens) and torch.equal(state.tokens_RS[2, :rows].cpu(), tokens)
    torch.testing.assert_close(state.logps_RS[2, :rows].cpu(), logps, atol=1e-5, rtol=1e-5)
    assert state.drawn_S[:3].tolist() == [1, 3, 5] and set(state.position_S[:rows].tolist()) == {49}
    assert not state.input_S[rows:].any() and set(state.position_S[rows:].tolist()) == {48}


@pytest.mark.parametrize("dtype, bound", [(torch.float32, 2e-5), (torch.bfloat16, 3e-2)])
@pytest.mark.parametrize("vocabulary", [101, 9000])
def test_log_probs_and_their_gradients(dtype, bound, vocabulary):
    torch.manual_seed(0)
    head = torch.nn.Linear(64, vocabulary, bias=False)
    hidden, targets = torch.randn(50, 64), torch.randint(0, vocabulary, (50,))
    by_logp, by_entropy = torch.randn(50), torch.randn(50)

    def run(device, dtype):
        mine, weights = hidden.to(device, dtype, copy=True).requires_grad_(), copy.deepcopy(head).to(device, dtype)
        if device == "cpu":
            logp, entropy = logprob.plain_logprobs(weights, mine, targets, 0.7)
        else:
            logp, entropy = logprob.FusedLogprobs.apply(mine, weights.weight, targets.to(device), 0.7, 16)
        (logp * by_logp.to(device) + entropy * by_entropy.to(device)).sum().backward()
        return [x.detach().cpu().float() for x in (logp, entropy, mine.grad, weights.weight.grad)]

    expected = run("cpu", torch.float32)
    for got, want in zip(run(CUDA, dtype), expected, strict=True):
        assert (got - want).norm() <= bound * want.norm()


@pytest.mark.parametrize("family", FAMILIES)
def test_captured_steps_sample_the_tokens_of_the_cpu(family):
    from passus.engine import compile
    from passus.engine.cuda import CudaEngine

    model = with_passus(tiny_model(family))
    there = cuda_copy(model)
    if family in COMPILED:
        compile.fuse_and_compile(there)
    for slots in (512, 5):
        engine, slotted = EagerEngine(model, [1, 7]), CudaEngine(there, [1, 7], max_rows=slots)
        for step in (1, 2):
            params = SamplingParams(3, 21, seed=5, stream="train", step=step, temperature=0.8)
            mine, theirs = slotted.generate(prompts(), params), engine.generate(prompts(), params)
            assert mine.tokens == theirs.tokens and mine.finished == theirs.finished
            for a, b in zip(mine.logps, theirs.logps, strict=True):
                torch.testing.assert_close(torch.tensor(a), torch.tensor(b), atol=1e-4, rtol=1e-4)
        slotted.release()


def passed(model, rows, plan, tokens=None):
    """Returns log-probs of the tokens of each row, and their gradients with respect to all weights."""
    device, total = model.device, sum(map(len, rows))
    ids, positions = torch.cat(rows), torch.cat([torch.arange(len(row)) for row in rows])
    if tokens:
        ids, positions = (torch.cat([x, x.new_zeros(tokens - total)]) for x in (ids, positions))
    ids, positions = ids.to(device), positions.to(device)
    given = {} if plan is None else {"plan": plan}
    hidden = model.get_decoder()(ids[None], position_ids=positions[None], use_cache=False, **given).last_hidden_state[0, :total]
    logp, _ = logprob.token_logprobs(model.get_output_embeddings(), hidden[:-1], ids[1:total])
    model.zero_grad()
    (logp * torch.linspace(-1, 1, len(logp), device=device)).sum().backward()
    gradients = torch.cat([p.grad.flatten().float().cpu() for p in model.parameters()])
    return logp.detach().float().cpu(), gradients


def eager(model, rows):
    """Returns the same by transformers' eager attention, row by row."""
    model.set_attn_implementation("eager")
    hidden = torch.cat([model.get_decoder()(row.to(model.device)[None], use_cache=False).last_hidden_state[0] for row in rows])
    ids = torch.cat(rows).to(model.device)
    logp, _ = logprob.plain_logprobs(model.get_output_embeddings(), hidden[:-1], ids[1:])
    model.zero_grad()
    (logp * torch.linspace(-1, 1, len(logp), device=model.device)).sum().backward()
    return logp.detach().float().cpu(), torch.cat([p.grad.flatten().float().cpu() for p in model.parameters()])


def random_rows():
    g = torch.Generator().manual_seed(1)
    return [torch.randint(2, 41, (n,), generator=g) for n in (17, 13, 9, 4)]


@pytest.mark.parametrize("family", FAMILIES)
def test_packed_training_in_float32_equals_eager(family):
    model, rows = tiny_model(family), random_rows()
    expected = eager(copy.deepcopy(model), rows)
    got = passed(cuda_copy(model), rows, attention.PackedPlan([len(row) for row in rows], CUDA))
    torch.testing.assert_close(got[0], expected[0], atol=5e-5, rtol=1e-4)
    assert (got[1] - expected[1]).norm() <= 1e-4 * expected[1].norm()


@pytest.mark.parametrize("family", FAMILIES)
def test_training_with_fixed_shapes_in_bf16_is_as_close_as_eager_in_bf16(family):
    from passus.engine import compile

    model, rows = tiny_model(family), random_rows()
    exact, rough = eager(copy.deepcopy(model), rows), eager(copy.deepcopy(model).to(CUDA, torch.bfloat16), rows)
    there = cuda_copy(model, torch.bfloat16)
    if family in COMPILED:
        compile.fuse_and_compile(there)
    shape = packing.MicroBatchShape(128, 8, 32)
    got = passed(there, rows, shape.plan([len(row) for row in rows], CUDA), shape.tokens)
    for mine, theirs, want in zip(got, rough, exact, strict=True):
        assert (mine - want).norm() <= 2 * (theirs - want).norm() + 1e-3 * want.norm()


@pytest.mark.parametrize("tuning", ["live", "frozen"])
def test_the_memory_plan_predicts_the_activations_of_a_compiled_layer(tuning):
    """Compares the activations kept by two layers of Qwen3-0.6B's shape with the prediction."""
    from transformers import Qwen3Config, Qwen3ForCausalLM

    from passus.bench.workloads import SHAPES
    from passus.config.tables import ModelTable
    from passus.engine import compile
    from passus.models import lora
    from passus.training.saved_activations import saved_per_token

    settings = Qwen3Config(**SHAPES["shape:qwen3-0.6b"][1] | {"num_hidden_layers": 2}, vocab_size=500)
    table = ModelTable(base="x", tuning="frozen") if tuning == "frozen" else None
    model = with_passus(Qwen3ForCausalLM(settings).to(CUDA, torch.bfloat16))
    if table:
        model = lora.attach(model, table, "x", "x", 0).model
    compile.fuse_and_compile(model)
    tokens = torch.zeros(1, 512, dtype=torch.long, device=CUDA)

    def kept(layers):
        own, found = {p.untyped_storage().data_ptr() for p in model.parameters()}, {}
        decoder = model.get_decoder()
        decoder.layers, all_layers = decoder.layers[:layers], decoder.layers

        def keep(tensor):
            if tensor.untyped_storage().data_ptr() not in own:
                found[tensor.untyped_storage().data_ptr()] = (tensor.untyped_storage().nbytes(), tensor)
            return tensor

        plan = packing.MicroBatchShape(512, 8, 512).plan([512], CUDA)
        with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
            out = decoder(tokens, position_ids=tokens, use_cache=False, plan=plan)
        decoder.layers = all_layers
        assert out is not None
        return sum(size for size, _ in found.values())

    measured = (kept(2) - kept(1)) / 512
    assert saved_per_token(settings, torch.bfloat16, table) == pytest.approx(measured, rel=0.15)


def test_recomputed_layers_give_the_same_gradients():
    from passus.engine import compile

    model, rows = cuda_copy(tiny_model("qwen3"), torch.bfloat16), random_rows()
    compile.fuse_and_compile(model)
    shape = packing.MicroBatchShape(128, 8, 32)
    plan = shape.plan([len(row) for row in rows], CUDA)
    kept = passed(model, rows, plan, shape.tokens)
    compile.recompute_activations(model, 1)
    again = passed(model, rows, plan, shape.tokens)
    for mine, theirs in zip(again, kept, strict=True):
        assert (mine - theirs).norm() <= 1e-2 * theirs.norm()


def run_on_cuda(path, **tables):
    path.mkdir()
    folder = RunFolder(path)
    tables = {"run": {"device": "cuda", "dtype": "bfloat16"}} | tables
    run = prepare(small_config(**tables), folder, lambda: None)
    rehearse(run)
    return run, folder


@pytest.mark.parametrize("tuning", ["live", "frozen"])
def test_sampler_and_trainer_agree_and_nothing_is_compiled_after_the_first_steps(tmp_path, tuning):
    """Lengths change from step to step. After two steps of warm-up nothing is compiled any more."""
    from passus.engine import compile

    run, folder = run_on_cuda(tmp_path / "run", model={"base": "nano/qwen3", "tuning": tuning}, train={"prompts": 16})
    for _ in range(2):
        take_step(run)
    known = compile.compiled_graph_count()
    for _ in range(6):
        take_step(run)
    assert compile.compiled_graph_count() == known
    rows = folder.metrics()
    assert len({row["train/completions/max_length"] for row in rows}) > 1
    for row in rows:
        assert row["sampling/sampling_logp_difference/mean"] < 0.02
        assert row["sampling/sampling_logp_difference/p99"] < 0.2


def test_captured_passes_give_the_gradients_of_plain_ones(tmp_path):
    """Several micro-batches of both shapes, so that gradients accumulate."""
    run, _ = run_on_cuda(tmp_path / "run", train={"prompts": 16, "micro_tokens": 512})
    drawn, _ = sample_groups(run, 1, Times())
    seen = training_rows(run, drawn)
    seen.advantage = torch.linspace(-1, 1, len(seen.counts_N), device=CUDA)
    rows = list(range(len(seen.counts_N)))
    assert {packed.shape for packed in pack_rows(run, seen, rows)} == set(run.cuda.graphs) and len(run.cuda.graphs) == 2

    def gradients():
        update = accumulate(run, [(seen, rows)], 0)
        found = torch.cat([weight.grad.flatten().float() for weight in run.optimizer.weights])
        run.optimizer.zero_grad()
        return found, update.totals()["loss"]

    captured, again = gradients(), gradients()
    run.cuda.graphs = {}
    plain = gradients()
    assert torch.equal(captured[0], again[0])
    assert (captured[0] - plain[0]).norm() <= 1e-2 * plain[0].norm() and captured[1] == pytest.approx(plain[1], abs=1e-3)


def test_a_resumed_run_samples_the_same_tokens(tmp_path):
    whole, folder = run_on_cuda(tmp_path / "whole")
    for _ in range(4):
        take_step(whole)
    first, _ = run_on_cuda(tmp_path / "parts")
    for _ in range(2):
        take_step(first)
    save(first)
    second = prepare(first.config, RunFolder(tmp_path / "parts"), lambda: None)
    assert second.progress.step == 2
    for _ in range(2):
        take_step(second)
    mine, theirs = second.folder.metrics(), folder.metrics()
    assert [row["train/reward"] for row in mine] == [row["train/reward"] for row in theirs]
    for a, b in zip(mine, theirs, strict=True):
        assert a["train/grad_norm"] == pytest.approx(b["train/grad_norm"], rel=1e-2)


def give_caches_back(run):
    run.cuda.releases_caches = True


def compute_layers_again(run):
    from passus.engine import compile

    compile.recompute_activations(run.policy.model, 2)


@pytest.mark.parametrize("change", [give_caches_back, compute_layers_again])
def test_a_run_with_little_memory_gives_the_same_result(tmp_path, change):
    """Compares three steps in the layout for a smaller GPU with three steps without a memory limit."""
    usual, _ = run_on_cuda(tmp_path / "usual")
    short = prepare(small_config(run={"device": "cuda", "dtype": "bfloat16"}), new_folder(tmp_path / "short"), lambda: None)
    short.cuda.captures_graphs = False
    change(short)
    rehearse(short)
    for run in (usual, short):
        for _ in range(3):
            take_step(run)
    assert not short.cuda.graphs and (short.sampler.slots is None or change is compute_layers_again)
    mine, theirs = short.folder.metrics(), usual.folder.metrics()
    assert mine[0]["train/reward"] == theirs[0]["train/reward"]
    assert mine[0]["train/grad_norm"] == pytest.approx(theirs[0]["train/grad_norm"], rel=1e-2)
    assert all(row["sampling/sampling_logp_difference/mean"] < 0.02 for row in mine)


def new_folder(path):
    path.mkdir()
    return RunFolder(path)


@pytest.mark.parametrize("tuning", ["live", "frozen"])
def test_a_reference_policy_beside_captured_passes(tmp_path, tuning):
    """At the first step the reference is the policy itself; then the policy moves away from it."""
    tables = {"model": {"base": "nano/qwen3", "tuning": tuning}, "method": {"name": "grpo", "kl_coef": 0.01}}
    run, folder = run_on_cuda(tmp_path / "run", **tables, train={"updates": 2})
    assert run.cuda.graphs
    for _ in range(3):
        take_step(run)
    kl = [row["train/kl"] for row in folder.metrics()]
    assert 0 <= kl[0] < kl[-1] and kl[0] < 0.05
    assert all(row["sampling/sampling_logp_difference/mean"] < 0.02 for row in folder.metrics())


def test_captured_passes_with_an_adapter_give_the_gradients_of_plain_ones(tmp_path):
    run, _ = run_on_cuda(tmp_path / "run", model={"base": "nano/qwen3", "tuning": "frozen"})
    seen = training_rows(run, sample_groups(run, 1, Times())[0])
    seen.advantage = torch.linspace(-1, 1, len(seen.counts_N), device=CUDA)
    captured = dict(run.cuda.graphs)
    found = []
    for passes in (captured, {}):
        run.cuda.graphs = passes
        accumulate(run, [(seen, list(range(len(seen.counts_N))))], 0)
        found.append(torch.cat([weight.grad.flatten().float() for weight in run.optimizer.weights]))
        run.optimizer.zero_grad()
    assert captured and (found[0] - found[1]).norm() <= 1e-2 * found[1].norm()


def test_a_run_in_float32_equals_the_run_on_the_cpu(tmp_path):
    on_cuda, folder = run_on_cuda(tmp_path / "cuda", run={"device": "cuda", "dtype": "float32"})
    on_cpu = prepare(small_config(), new_folder(tmp_path / "cpu"), lambda: None)
    for run in (on_cuda, on_cpu):
        for _ in range(3):
            take_step(run)
    for mine, theirs in zip(folder.metrics(), on_cpu.folder.metrics(), strict=True):
        assert mine["train/reward"] == theirs["train/reward"]
        assert mine["train/loss"] == pytest.approx(theirs["train/loss"], abs=1e-5)
        assert mine["train/grad_norm"] == pytest.approx(theirs["train/grad_norm"], rel=1e-3)


def test_an_untested_family_uses_the_eager_engine(tmp_path, monkeypatch):
    from passus.models.families import FAMILIES as KNOWN

    monkeypatch.delitem(KNOWN, "qwen3")
    run, folder = run_on_cuda(tmp_path / "run")
    assert type(run.sampler) is EagerEngine and not run.cuda.graphs
    for _ in range(2):
        take_step(run)
    assert all(row["sampling/sampling_logp_difference/mean"] < 0.02 for row in folder.metrics())


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_scores_of_a_reward_model_equal_those_on_the_cpu(dtype):
    item = Item("abacus/add2", 0, "27+48", "75")
    texts = [["7+8=15;2+4+1=7\\boxed{75}", "7+8=14;2+4+1=7\\boxed{74}", "\\boxed{75}"]]
    found = []
    for device, kind in (("cpu", "float32"), ("cuda", dtype)):
        scorer = reward_head.create(ModelTable(base="nano/qwen3"), device, kind, 0)
        weight = scorer.model.score.weight
        weight.data.copy_(torch.randn(weight.shape, generator=torch.Generator().manual_seed(0)))
        found.append(reward_head.score_completions(scorer, [item], texts, 4096)[0])
    assert found[1] == pytest.approx(
        found[0], rel=1e-3 if dtype == "float32" else 5e-2, abs=1e-3 if dtype == "float32" else 0.5
    )
