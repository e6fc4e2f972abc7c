"""Kimi k1.5's recipe: the squared loss against its closed form, the length reward, items drawn by how often they are solved."""

import collections

import pytest
import torch

from helpers.loss_batch import LONGEST, ROWS, on_policy_gradient, passus_loss, random_batch
from helpers.small_run import assert_same, run_small, small_config, stop_in_step
from helpers.tiny_models import tiny_model, with_passus
from passus.config.tables import TaskTable
from passus.engine.cuda import CudaEngine
from passus.engine.eager import EagerEngine
from passus.engine.interface import Prompt, SamplingParams, ends_in_repetition
from passus.errors import Stop, UsageError
from passus.methods.advantages import advantages
from passus.methods.length_rewards import length_reward
from passus.methods.loss import LossTokens, policy_loss
from passus.methods.presets import PRESETS
from passus.runs.run_folder import RunFolder
from passus.training import loop
from passus.training.prompt_order import Curriculum
from passus.training.setup import prepare

KIMI = PRESETS["kimi"]
TAU = KIMI.tau


def tabular(logits_Y, anchor_Y, advantage_Y, weight_Y, method=KIMI):
    """The loss of a policy over Y answers of one token each, every answer a row."""
    logp_Y = logits_Y.log_softmax(0)
    rows = torch.arange(len(logp_Y))
    tokens = LossTokens(logp_Y, torch.zeros_like(logp_Y), anchor_Y, advantage_Y, weight_Y, rows, len(rows), torch.tensor(1.0))
    return policy_loss(tokens, method)[0]


def test_the_gradient_is_that_of_the_squared_distance_over_two_tau():
    """-grad L / 2 tau = mean of grad log pi (r - mean r) - tau / 2 grad (log-ratio)^2, written out on whole sequences."""
    lengths, _, old, new, _ = random_batch(3)
    rewards = torch.rand(ROWS, generator=torch.Generator().manual_seed(1))
    advantage = rewards - rewards.mean()
    shape = (torch.arange(LONGEST) < lengths[:, None]).float()
    logp = new.clone().requires_grad_()
    loss, _ = passus_loss(logp, old, lengths, torch.ones(ROWS), advantage, list(range(ROWS)), KIMI)
    loss.backward()
    mine, logp.grad = logp.grad, None
    ratio_N = ((logp - old) * shape).sum(1)
    (((rewards - rewards.mean() - TAU * ratio_N) ** 2).mean() / (2 * TAU)).backward()
    torch.testing.assert_close(mine, logp.grad)


def test_repeated_steps_with_the_exact_constant_reach_the_closed_form():
    g = torch.Generator().manual_seed(2)
    before_Y = torch.randn(6, generator=g, dtype=torch.float64).log_softmax(0)
    rewards_Y = torch.rand(6, generator=g, dtype=torch.float64)
    optimum_Y = (before_Y + rewards_Y / TAU).log_softmax(0)
    log_z = TAU * (before_Y + rewards_Y / TAU).logsumexp(0)
    logits_Y = before_Y.clone().requires_grad_()
    optimizer = torch.optim.LBFGS([logits_Y], max_iter=200, tolerance_grad=1e-12, line_search_fn="strong_wolfe")

    def closure():
        optimizer.zero_grad()
        loss = tabular(logits_Y, before_Y, rewards_Y - log_z, before_Y.exp())
        loss.backward()
        return loss

    optimizer.step(closure)
    torch.testing.assert_close(logits_Y.detach().log_softmax(0), optimum_Y, atol=1e-3, rtol=0)


def test_equal_rewards_leave_only_the_pull_back():
    """No reward tells answers apart, so the policy is drawn to what it was, and stays there."""
    before_Y = torch.tensor([0.1, 0.2, 0.7]).log()
    nothing_Y = advantages(torch.ones(1, 3), KIMI)[0]
    moved_Y = torch.tensor([0.5, 0.0, -0.5], requires_grad=True)
    tabular(moved_Y, before_Y, nothing_Y, torch.full((3,), 1 / 3)).backward()
    stayed_Y = before_Y.clone().requires_grad_()
    tabular(stayed_Y, before_Y, nothing_Y, torch.full((3,), 1 / 3)).backward()
    assert moved_Y.grad[0] > 0 > moved_Y.grad[2] and torch.equal(stayed_Y.grad, torch.zeros(3))
    assert KIMI.learns_without_signal and not KIMI.model_copy(update={"tau": 0.0}).learns_without_signal


def test_without_tau_it_is_reinforce_on_centred_rewards():
    lengths, _, _, _, _ = random_batch(0)
    rewards_PG = torch.rand(3, ROWS // 3, generator=torch.Generator().manual_seed(0))
    plain = KIMI.model_copy(update={"tau": 0.0})
    centred = advantages(rewards_PG, plain).flatten()
    torch.testing.assert_close(centred, (rewards_PG - rewards_PG.mean(1, keepdim=True)).flatten())
    shape = (torch.arange(LONGEST) < lengths[:, None]).float()
    torch.testing.assert_close(on_policy_gradient(plain, lengths, centred), -centred[:, None] / ROWS * shape)


@pytest.mark.parametrize(
    "lengths, right, expected",
    [
        ((100, 200, 300), (1, 1, 0), (0.5, 0.0, -0.5)),
        ((100, 200, 300), (0, 1, 1), (0.0, 0.0, -0.5)),
        ((50, 50, 50), (1, 0, 1), (0.0, 0.0, 0.0)),
    ],
)
def test_the_length_reward(lengths, right, expected):
    found = length_reward(torch.tensor([lengths]), torch.tensor([right]).bool())
    assert found.tolist() == [list(expected)]


def test_the_length_reward_begins_when_it_is_told_to(tmp_path):
    run = run_small(tmp_path / "arm", method={"length_reward": 0.2, "length_reward_from": 3}, train={"steps": 4, "prompts": 8})
    fractions = [{round(row["reward"] % 1, 6) for row in run.read_rows("samples", step)} for step in (2, 3)]
    assert fractions[0] == {0.0} and len(fractions[1]) > 1


def curriculum(**changes) -> Curriculum:
    return Curriculum(TaskTable(name="abacus/add2", limit=8, **changes), seed=0)


def test_items_are_drawn_in_proportion_to_how_often_they_fail():
    chosen = curriculum(order="prioritised")
    rates = [1.0, 0.0, 0.5, 0.5, 0.9, 0.2, 1.0, 0.6]
    draws = 4000
    seen = collections.Counter(chosen.draw(rates, rates, 1, place, 1)[0][1].index for place in range(draws))
    whole = sum(1 - rate for rate in rates)
    for n, rate in enumerate(rates):
        share = (1 - rate) / whole
        count = seen[chosen.items[n].index]
        assert abs(count - draws * share) <= 4 * (draws * share * (1 - share)) ** 0.5
    assert seen[chosen.items[0].index] == 0


def test_all_solved_every_item_may_come_again():
    drawn = curriculum(order="prioritised").draw([1.0] * 8, [1.0] * 8, 1, 0, 8)
    assert len({item.index for _, item in drawn}) == 8 and [place for place, _ in drawn] == list(range(8))


def test_a_step_may_ask_for_more_items_than_there_are():
    drawn = curriculum(order="prioritised").draw([0.5] * 7 + [1.0], [0.0] * 8, 1, 0, 20)
    counts = collections.Counter(item.index for _, item in drawn)
    assert len(drawn) == 20 and max(counts.values()) == 3 and len(counts) == 7


def test_from_a_stated_step_on_only_the_harder_half_comes():
    chosen, base = curriculum(order="hard-from-5"), [0.0, 0.1, 0.9, 0.8, 0.2, 0.3, 0.7, 1.0]
    assert chosen.allowed(base, 4) == list(range(8)) and chosen.allowed(base, 5) == [0, 1, 4, 5]
    assert {chosen.number_of[i.benchmark, i.index] for _, i in chosen.draw(base, base, 9, 0, 4)} == {0, 1, 4, 5}


@pytest.mark.parametrize("task", [{"order": "prioritised"}, {"order": "hard-from-3"}])
def test_a_stream_without_end_has_no_success_rates(task):
    with pytest.raises(UsageError, match=r"finite training set.*limit = 500"):
        small_config(task=task)


@pytest.mark.parametrize("change", [{"ratio": "token"}, {"loss_average": "sequence"}])
def test_the_squared_loss_is_of_whole_sequences(change):
    with pytest.raises(UsageError, match="sequence_sum"):
        small_config(method={"name": "kimi"} | change)


TABLES = {
    "method": {"name": "kimi", "length_reward": 0.2, "length_reward_from": 3},
    "task": {"limit": 12, "order": "prioritised+hard-from-5"}, "train": {"updates": 2},
}  # fmt: skip


def test_rates_are_followed_and_a_run_that_was_cut_short_goes_on_with_them(tmp_path):
    whole = run_small(tmp_path / "whole", **TABLES)
    rates = [row["train/solved_rate"] for row in whole.metrics()]
    assert len(set(rates)) > 1 and all(0 <= rate <= 1 for rate in rates)
    for step in (1, 6):  # before the first checkpoint, and between two
        cut = tmp_path / f"cut-{step}"
        with pytest.raises(Stop):
            run_small(cut, check_stop=stop_in_step(cut, step), **TABLES)
        assert len(RunFolder(cut).metrics()) < 8
        assert_same(run_small(cut, **TABLES).path, whole.path)


@pytest.mark.parametrize(
    "tokens, repeats, expected",
    [
        ([1, 2, 3] * 8, 4, True), ([9, 9, 1, 2, 3] + [4, 5] * 12, 4, True), ([7] * 24, 4, True), ([7] * 23, 4, False),
        ([1, 2, 3] * 7 + [1, 2, 4], 4, False), (list(range(40)) * 3, 4, False), (list(range(40)) * 4, 4, True), ([], 4, False),
    ],
)  # fmt: skip
def test_going_in_circles(tokens, repeats, expected):
    assert ends_in_repetition(tokens, repeats) is expected


@pytest.mark.parametrize("kind", ["engine", "slots"])
def test_completions_that_go_in_circles_are_cut_off_where_they_are_seen_to(kind):
    """A model of random weights, decoded greedily, soon repeats itself."""
    model = with_passus(tiny_model("qwen3"))
    prompts = [Prompt((2, 3, n), n) for n in range(4, 12)]
    made = (EagerEngine(model, [1], max_rows=4) if kind == "engine" else CudaEngine(model, [1], max_rows=4, graphs=False)).generate
    whole, cut = (made(prompts, SamplingParams(1, 90, 0, "train", temperature=0, max_repeats=repeats)) for repeats in (0, 3))
    circling = [n for n, tokens in enumerate(whole.tokens) if any(ends_in_repetition(tokens[:i], 3) for i in range(len(tokens) + 1))]
    assert circling
    for n, (all_tokens, tokens) in enumerate(zip(whole.tokens, cut.tokens, strict=True)):
        assert tokens == all_tokens[: len(tokens)] and len(cut.logps[n]) == len(tokens)
        first = next((i for i in range(len(all_tokens) + 1) if ends_in_repetition(all_tokens[:i], 3)), None)
        assert len(tokens) == (len(all_tokens) if first is None else first)
        assert not cut.finished[n] if first is not None else cut.finished[n] == whole.finished[n]


def test_moments_are_forgotten_between_iterations(tmp_path):
    """With the moments gone, Adam's first step is the learning rate times the sign of the gradient, in every iteration."""
    config = small_config(method={"name": "kimi"}, train={"steps": 2, "learning_rate": 1e-3, "optimizer": {"max_grad_norm": 0.0}})
    run = prepare(config, RunFolder(tmp_path), lambda: None)
    optimizer = run.optimizer
    for _ in range(2):
        before = [weight.detach().clone() for weight in optimizer.weights]
        for weight in optimizer.weights:
            weight.grad = torch.ones_like(weight)
        optimizer.step(0)
        optimizer.zero_grad()
        moved = torch.cat([(weight - was).flatten() for weight, was in zip(optimizer.weights, before, strict=True)])
        assert torch.allclose(moved, torch.full_like(moved, -1e-3), rtol=1e-2)
        assert all(float(step) == 1 for step in optimizer.moments["step"])
        optimizer.forget()
        assert not any(moment.any() for moments in optimizer.moments.values() for moment in moments)


def test_difficulty_is_the_share_of_ten_samples_of_the_base(tmp_path):
    tables = {"task": {"limit": 3, "order": "prioritised"}, "train": {"steps": 1, "prompts": 2, "max_tokens": 24}}
    run = prepare(small_config(**tables), RunFolder(tmp_path), lambda: None)
    rates = loop.base_rates(run, run.curriculum, lambda text: None)
    params = SamplingParams(10, 24, run.config.seed, "difficulty")
    rollout = run.engine.generate(run.policy.prompts(list(enumerate(run.curriculum.items))), params)
    texts = run.policy.chat.batch_decode(rollout.tokens)
    for n, item in enumerate(run.curriculum.items):
        right = [f"\\boxed{{{item.gold}}}" in text for text in texts[10 * n : 10 * n + 10]]
        assert rates[n] == sum(right) / 10
