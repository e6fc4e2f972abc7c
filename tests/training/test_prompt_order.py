"""Prioritised and hard-first prompt order: the distribution of items, success rates, and exact resume."""

import collections

import pytest

from helpers.small_run import EXPERIMENT, assert_same, run_small, small_config, stop_in_step, write_experiment
from helpers.tiers import slow_cases
from passus.config.experiment import load_experiment
from passus.config.tables import TaskTable
from passus.engine.interface import SamplingParams
from passus.errors import Stop, UsageError
from passus.launch.dry_run import describe_experiment
from passus.runs.run_folder import RunFolder
from passus.training import difficulty
from passus.training.checkpoint import Progress
from passus.training.difficulty import base_success_rates
from passus.training.prompt_order import PrioritisedPrompts
from passus.training.setup import prepare


def prompts(order: str, rates: list[float]) -> PrioritisedPrompts:
    progress = Progress(base_rates=rates, rates=rates)
    return PrioritisedPrompts(TaskTable(name="abacus/add2", limit=8, order=order), 0, progress)


def test_items_are_sampled_in_proportion_to_their_failure_rate():
    rates = [1.0, 0.0, 0.5, 0.5, 0.9, 0.2, 1.0, 0.6]
    chosen = prompts("prioritised", rates)
    draws = 4000
    seen = collections.Counter(chosen.draw(1, place, 1)[0][1].index for place in range(draws))
    whole = sum(1 - rate for rate in rates)
    for n, rate in enumerate(rates):
        share = (1 - rate) / whole
        count = seen[chosen.items[n].index]
        assert abs(count - draws * share) <= 4 * (draws * share * (1 - share)) ** 0.5
    assert seen[chosen.items[0].index] == 0


def test_solved_items_come_again_when_all_are_solved():
    drawn = prompts("prioritised", [1.0] * 8).draw(1, 0, 8)
    assert len({item.index for _, item in drawn}) == 8 and [place for place, _ in drawn] == list(range(8))


def test_a_step_can_need_more_prompts_than_there_are_items():
    drawn = prompts("prioritised", [0.5] * 7 + [1.0]).draw(1, 0, 20)
    counts = collections.Counter(item.index for _, item in drawn)
    assert len(drawn) == 20 and max(counts.values()) == 3 and len(counts) == 7


def test_from_its_step_on_only_the_harder_half_is_sampled():
    chosen = prompts("hard-from-5", [0.0, 0.1, 0.9, 0.8, 0.2, 0.3, 0.7, 1.0])
    assert chosen.allowed(4) == list(range(8)) and chosen.allowed(5) == [0, 1, 4, 5]
    assert {chosen.index_of[i.benchmark, i.index] for _, i in chosen.draw(9, 0, 4)} == {0, 1, 4, 5}


@pytest.mark.parametrize("task", [{"order": "prioritised"}, {"order": "hard-from-3"}])
def test_an_endless_task_has_no_success_rates(task):
    with pytest.raises(UsageError, match=r"finite training set.*limit = 500"):
        small_config(task=task)


TABLES = {
    "method": {"name": "kimi", "length_reward": 0.2, "length_reward_from": 3},
    "task": {"limit": 12, "order": "prioritised+hard-from-5"}, "train": {"updates": 2},
}  # fmt: skip


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    return run_small(tmp_path_factory.mktemp("whole") / "arm", **TABLES)


@pytest.mark.parametrize("step", [6, *slow_cases(1)])
def test_success_rates_are_tracked_and_resumed_exactly(tmp_path, whole, step):
    """The run is stopped before its first checkpoint, or between two of them."""
    rates = [row["train/solved_rate"] for row in whole.metrics()]
    assert len(set(rates)) > 1 and all(0 <= rate <= 1 for rate in rates)
    cut = tmp_path / "cut"
    with pytest.raises(Stop):
        run_small(cut, check_stop=stop_in_step(cut, step), **TABLES)
    assert len(RunFolder(cut).metrics()) < 8
    assert_same(run_small(cut, **TABLES).path, whole.path)


def test_difficulty_is_the_success_rate_of_ten_samples_of_the_base(tmp_path):
    tables = {"task": {"limit": 3, "order": "prioritised"}, "train": {"steps": 1, "prompts": 2, "max_tokens": 24}}
    run = prepare(small_config(**tables), RunFolder(tmp_path), lambda: None)
    rates = base_success_rates(run, run.prompts.items, lambda text: None)
    params = SamplingParams(10, 24, run.config.seed, "difficulty")
    rollout = run.sampler.generate(run.policy.prompts(list(enumerate(run.prompts.items))), params)
    texts = run.policy.chat.batch_decode(rollout.tokens)
    for n, item in enumerate(run.prompts.items):
        right = [f"\\boxed{{{item.gold}}}" in text for text in texts[10 * n : 10 * n + 10]]
        assert rates[n] == sum(right) / 10


def test_the_difficulty_pass_is_saved_and_continues_where_it_was_stopped(tmp_path, monkeypatch):
    """Stopped after two of five items, it measures the other three only, and the run equals an uninterrupted one."""
    monkeypatch.setattr(difficulty, "ITEMS_AT_ONCE", 2)
    tables = {"task": {"limit": 5, "order": "prioritised"}, "train": {"steps": 2, "prompts": 2}, "eval": {"limit": 2}}
    whole = run_small(tmp_path / "whole", **tables)
    measured, measure = [], difficulty._measure

    def stop_after_two(run, items, first):
        if measured == [0, 1] and not (tmp_path / "go").exists():
            raise Stop
        measured.extend(range(first, first + len(items)))
        return measure(run, items, first)

    monkeypatch.setattr(difficulty, "_measure", stop_after_two)
    with pytest.raises(Stop):
        run_small(tmp_path / "cut", **tables)
    assert len(RunFolder(tmp_path / "cut").difficulty()) == 2
    (tmp_path / "go").touch()
    assert_same(run_small(tmp_path / "cut", **tables).path, whole.path)
    assert measured == [0, 1, 2, 3, 4]


def test_the_dry_run_announces_the_difficulty_pass(tmp_path):
    task = 'name = "abacus/add2"\nlimit = 50\norder = "prioritised"'
    path = write_experiment(tmp_path, EXPERIMENT.replace('name = "abacus/add2"', task))
    text = describe_experiment(load_experiment(path), tmp_path)
    assert "  order     prioritised; before the first step: 50 items x 10 samples of the base model = 500 completions" in text


def test_the_announced_pass_has_no_more_items_than_the_data(tmp_path):
    lines = [f'{{"question": "{n} + 1 = ?", "answer": "{n + 1}"}}' for n in range(7)]
    (tmp_path / "mine.jsonl").write_text("\n".join(lines))
    task = f'name = "{tmp_path / "mine.jsonl"}"\nlimit = 50\norder = "prioritised"'
    path = write_experiment(tmp_path, EXPERIMENT.replace('name = "abacus/add2"', task))
    assert "7 items x 10 samples of the base model = 70 completions" in describe_experiment(load_experiment(path), tmp_path)
