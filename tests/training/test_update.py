"""Updates: advantages per row and per token, and rows of two objectives in one update."""

import pytest
import torch

from helpers.small_run import small_config
from passus.runs.run_folder import RunFolder
from passus.training.build_rows import row_advantages, training_rows
from passus.training.setup import prepare
from passus.training.step import sample_groups
from passus.training.step_metrics import Times
from passus.training.update import accumulate, logprobs


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = RunFolder(tmp_path_factory.mktemp("update"))
    return prepare(small_config(train={"micro_tokens": 200}), folder, lambda: None)


@pytest.fixture(scope="module")
def rows(run):
    batch, _ = sample_groups(run, 1, Times())
    rows = training_rows(run, batch)
    rewards_PG = torch.rand(4, 4, generator=torch.Generator().manual_seed(0))
    rows.advantage = row_advantages(run, rows, rewards_PG).flatten()
    return rows


def gradients(run, rows):
    stats = accumulate(run, [(rows, list(range(len(rows.completions_N))))], 0)
    flat = torch.cat([p.grad.flatten() for p in run.optimizer.weights if p.grad is not None])
    run.optimizer.zero_grad()
    return flat, float(stats.sums["loss"])


def with_advantage(rows, advantage):
    from dataclasses import replace

    return replace(rows, advantage=advantage)


def test_equal_advantages_per_token_are_advantages_per_row(run, rows):
    per_token = rows.advantage[:, None].expand(-1, rows.longest).contiguous()
    for mine, theirs in zip(gradients(run, with_advantage(rows, per_token)), gradients(run, rows), strict=True):
        assert torch.equal(torch.as_tensor(mine), torch.as_tensor(theirs))


def test_an_advantage_of_one_token_is_the_gradient_of_its_log_prob(run, rows):
    """On policy the loss is -sum w A log pi, so a single token with advantage 1 leaves w times its log-prob's gradient."""
    n, t = max((len(tokens), n) for n, tokens in enumerate(rows.completions_N))[1], 1
    per_token = torch.zeros(len(rows.completions_N), rows.longest)
    per_token[n, t] = 1.0
    mine, _ = gradients(run, with_advantage(rows, per_token))
    ids = torch.tensor([[*rows.prompts_N[n], *rows.completions_N[n]]])
    run.policy.model.set_attn_implementation("eager")
    try:
        logits = run.policy.model(ids, use_cache=False).logits[0]
    finally:
        run.policy.model.set_attn_implementation("passus")
    place = len(rows.prompts_N[n]) + t
    logp = logits[place - 1].log_softmax(-1)[ids[0, place]]
    weight = 1 / (len(rows.completions_N[n]) * len(rows.completions_N))
    (-weight * logp).backward()
    theirs = torch.cat([p.grad.flatten() for p in run.optimizer.weights if p.grad is not None])
    run.optimizer.zero_grad()
    torch.testing.assert_close(mine, theirs, atol=1e-6, rtol=1e-3)


def test_masked_tokens_leave_the_average(run, rows):
    """Masking the ends of all completions equals training on completions that end there."""
    from dataclasses import replace

    kept = torch.arange(rows.longest) < 3
    masked = replace(rows, mask_NL=kept.float().expand(len(rows.completions_N), -1).contiguous())
    cut = replace(rows, completions_N=[tokens[:3] for tokens in rows.completions_N], sampled_NL=rows.sampled_NL[:, :3])
    (mine, mine_loss), (theirs, their_loss) = gradients(run, masked), gradients(run, cut)
    assert mine_loss == pytest.approx(their_loss, abs=1e-6) and torch.count_nonzero(theirs)
    torch.testing.assert_close(mine, theirs, atol=1e-6, rtol=1e-3)


def test_a_mask_of_ones_changes_nothing(run, rows):
    """Completions differ in length, and what a mask holds after their ends does not count."""
    from dataclasses import replace

    masked = replace(rows, mask_NL=torch.ones(len(rows.completions_N), rows.longest))
    assert len(set(map(len, rows.completions_N))) > 1 and torch.equal(masked.trained_tokens(), rows.trained_tokens().float())
    (mine, mine_loss), (theirs, their_loss) = gradients(run, masked), gradients(run, rows)
    assert mine_loss == pytest.approx(their_loss, abs=1e-6)
    torch.testing.assert_close(mine, theirs, atol=1e-6, rtol=1e-3)


def test_micro_batches_change_nothing_but_rounding(run, rows):
    small = logprobs(run, rows)
    run.micro_tokens, budget = 10_000, run.micro_tokens
    try:
        torch.testing.assert_close(logprobs(run, rows), small, atol=1e-5, rtol=1e-5)
    finally:
        run.micro_tokens = budget


def test_rows_are_split_between_updates_by_their_prompt(rows):
    assert rows.in_groups(0, 2) == list(range(8)) and rows.in_groups(2, 4) == list(range(8, 16))
