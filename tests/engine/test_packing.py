import pytest
import torch

from helpers.tiny_models import tiny_model, with_passus
from passus.engine import logprob, packing


def rows(n=9):
    g = torch.Generator().manual_seed(2)

    def ids(low, high):
        return torch.randint(2, 41, (int(torch.randint(low, high, (1,), generator=g)),), generator=g).tolist()

    prompts = [ids(1, 8) for _ in range(n // 3)] * 3  # three completions each, not adjacent
    return prompts, [ids(1, 20) for _ in range(n)]


def packed_gradient(model, prompts, completions, budget):
    """Returns log-probs per row and the gradient of a weighted sum of them, by packed micro-batches."""
    lengths = [len(p) + len(c) for p, c in zip(prompts, completions, strict=True)]
    found = {}
    for picked in packing.micro_batches(lengths, budget):
        packed = packing.pack(picked, prompts, completions, model.device)
        hidden = model.model(
            packed.tokens_T[None], position_ids=packed.positions_T[None], use_cache=False, plan=packed.plan
        ).last_hidden_state[0]
        logp, _ = logprob.token_logprobs(model.lm_head, hidden[packed.predicts_C], packed.targets_C, chunk=5)
        (logp * (1 + packed.row_C + packed.offset_C)).sum().backward()
        for row in picked:
            found[row] = logp[packed.row_C == row].detach()
    return [found[i] for i in range(len(prompts))], [p.grad.clone() for p in model.parameters()]


def padded_gradient(model, prompts, completions):
    """Returns the same by one right-padded batch through transformers' eager attention."""
    longest = max(len(p) + len(c) for p, c in zip(prompts, completions, strict=True))
    ids = torch.zeros(len(prompts), longest, dtype=torch.long)
    mask = torch.zeros_like(ids)
    for i, (p, c) in enumerate(zip(prompts, completions, strict=True)):
        ids[i, : len(p) + len(c)] = torch.tensor(p + c)
        mask[i, : len(p) + len(c)] = 1
    logps = torch.log_softmax(model(ids, attention_mask=mask, use_cache=False).logits, -1)
    found = [
        logps[i, len(p) - 1 : len(p) + len(c) - 1].gather(1, torch.tensor(c)[:, None])[:, 0]
        for i, (p, c) in enumerate(zip(prompts, completions, strict=True))
    ]
    sum((logp * (1 + i + torch.arange(len(logp)))).sum() for i, logp in enumerate(found)).backward()
    return [logp.detach() for logp in found], [p.grad.clone() for p in model.parameters()]


def test_packed_equals_padded_in_values_and_gradients():
    prompts, completions = rows()
    for name in ("qwen3", "gemma3+windows"):
        model = tiny_model(name)
        model.set_attn_implementation("eager")
        expected, expected_gradient = padded_gradient(model, prompts, completions)
        for budget in (30, 10_000):
            model.zero_grad()
            got, gradient = packed_gradient(with_passus(model), prompts, completions, budget)
            for mine, theirs in zip(got, expected, strict=True):
                torch.testing.assert_close(mine, theirs, atol=2e-5, rtol=1e-4)
            for mine, theirs in zip(gradient, expected_gradient, strict=True):
                torch.testing.assert_close(mine, theirs, atol=2e-3, rtol=1e-3)


def test_a_pack_stores_a_prompt_once():
    prompts, completions = rows()
    packed = packing.pack(list(range(9)), prompts, completions, torch.device("cpu"))
    assert len(packed.tokens_T) == sum(map(len, prompts[:3])) + sum(map(len, completions))
    for row in range(9):
        mine = packed.row_C == row
        assert packed.targets_C[mine].tolist() == completions[row]
        assert packed.offset_C[mine].tolist() == list(range(len(completions[row])))
        seen = [*prompts[row], *completions[row]]
        assert packed.tokens_T[packed.predicts_C[mine]].tolist() == seen[len(prompts[row]) - 1 : -1]
        assert packed.positions_T[packed.predicts_C[mine]].tolist() == list(range(len(prompts[row]) - 1, len(seen) - 1))


def test_micro_batches_keep_to_the_budget_and_contain_every_row():
    lengths = [5, 30, 7, 7, 100, 1, 12]
    batches = packing.micro_batches(lengths, 60)
    assert sorted(i for b in batches for i in b) == list(range(7))
    for b in batches:
        assert len(b) == 1 or max(lengths[i] for i in b) * len(b) <= 60
    assert [4] in batches  # a row longer than the budget is its own batch


@pytest.mark.parametrize("micro_tokens, longest", [(16384, 512), (16384, 16640), (3000, 700), (64, 30)])
def test_a_shape_is_not_larger_than_planned(micro_tokens, longest):
    large, small = packing.micro_batch_shapes(micro_tokens, longest)
    assert large.tokens == max(micro_tokens, -(-longest // 128) * 128) and longest <= small.tokens <= large.tokens
    assert large.longest == small.longest >= longest
    for shape in (large, small):
        plan = shape.plan([longest], torch.device("cpu"))
        assert plan.cumulative_N1[-1] == shape.tokens
    lengths = [longest, 1, longest // 2 + 1, 7] * 5
    dealt = packing.shaped_micro_batches(lengths, large, small)
    assert sorted(row for rows, _ in dealt for row in rows) == list(range(20))
    assert all(sum(lengths[row] for row in rows) <= shape.tokens for rows, shape in dealt)
