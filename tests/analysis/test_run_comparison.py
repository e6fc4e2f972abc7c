"""Two runs, or two groups of runs, on the same items."""

import json
import shutil

import numpy as np
import pytest

from helpers.synthetic_runs import ITEMS, STEPS, make_run
from passus.analysis import finding, run_comparison
from passus.analysis.run_groups import compared_runs
from passus.cli.compare import compare as passus_compare
from passus.errors import UsageError


def test_a_difference_is_found_on_each_benchmark_and_over_all(tmp_path):
    make_run(tmp_path / "a", {"x": 0.15, "y": 0.15}, seed=1)
    make_run(tmp_path / "b", {"x": 0.0, "y": 0.0}, seed=2)
    x, y, both = run_comparison.compare(compared_runs([tmp_path / "a", tmp_path / "b"]))
    assert (x.benchmark, y.benchmark, both.benchmark) == ("x", "y", finding.OVERALL)
    assert x.steps == [30, 40, 50] and both.items == 2 * ITEMS
    for comparison in (x, y, both):
        assert comparison.p < 0.01 and comparison.low < 0.15 < comparison.high
    assert not run_comparison.has_regressed([x, y, both])
    assert both.high - both.low < x.high - x.low
    assert x.difference == pytest.approx((both.difference * 2) - y.difference, abs=0.02)
    assert len(x.gained) > len(x.lost)


def test_the_terminal_shows_the_difference_and_the_items_behind_it(tmp_path, capsys, monkeypatch):
    make_run(tmp_path / "a", {"x": 0.15}, seed=1)
    make_run(tmp_path / "b", {"x": 0.0}, seed=2)
    monkeypatch.chdir(tmp_path)
    assert passus_compare([tmp_path / "a", tmp_path / "b"], fail_on_regression=True) == 0
    output = capsys.readouterr().out
    assert "A minus B is +1" in output and "paired over 60 items x 4 samples" in output and "items that only A solves" in output
    assert "\x1b[31m" not in output and "\\x1b[31mred" in output
    assert passus_compare([tmp_path / "b", tmp_path / "a"], fail_on_regression=True, json_=True) == 3
    assert json.loads(capsys.readouterr().out)["difference"] < 0


def test_equal_runs_do_not_differ(tmp_path):
    make_run(tmp_path / "a", {"x": 0.0})
    make_run(tmp_path / "b", {"x": 0.0})
    (comparison,) = run_comparison.compare(compared_runs([tmp_path / "a", tmp_path / "b"]), summary="area")
    assert (comparison.difference, comparison.p, comparison.gained, comparison.lost) == (0.0, 1.0, [], [])
    assert comparison.steps == list(STEPS)


@pytest.mark.parametrize(
    "other, words",
    [({"shifts": {"z": 0.0}}, "no benchmark in common"), ({"items": 50}, "not evaluated on the same items"),
     ({"steps": (5, 15)}, "no eval point in common")],
)  # fmt: skip
def test_what_cannot_be_paired_is_refused(tmp_path, other, words):
    make_run(tmp_path / "a", {"x": 0.0})
    make_run(tmp_path / "b", **({"shifts": {"x": 0.0}} | other))
    with pytest.raises(UsageError, match=words):
        run_comparison.compare(compared_runs([tmp_path / "a", tmp_path / "b"]))


def test_an_area_counts_eval_points_by_their_distance():
    np.testing.assert_allclose(run_comparison._weights([0, 10, 40], "area"), [0.125, 0.5, 0.375])
    np.testing.assert_allclose(run_comparison._weights([0, 10, 40], "last"), [1 / 3] * 3)


def test_one_bad_benchmark_of_many_is_no_regression(tmp_path):
    comparisons = [
        run_comparison.BenchmarkComparison(str(i), -0.02, -0.04, 0.0, 0.03, 100, "4", [1.0], 0.05) for i in range(12)
    ]
    assert not run_comparison.has_regressed(comparisons) and run_comparison.has_regressed(comparisons[:1])


def test_runs_at_other_temperatures_are_not_compared(tmp_path):
    make_run(tmp_path / "a", {"x": 0.0})
    other = make_run(tmp_path / "b", {"x": 0.0})
    other.forget_checksums()
    path = other.path / "evals.jsonl"
    path.write_text(path.read_text().replace('"temperature": 1.0', '"temperature": 0.0'))
    with pytest.raises(UsageError, match="at one temperature"):
        run_comparison.compare(compared_runs([tmp_path / "a", tmp_path / "b"]))


def test_one_run_each(tmp_path):
    make_run(tmp_path / "both" / "a", {"x": 0.0})
    make_run(tmp_path / "both" / "b", {"x": 0.0})
    with pytest.raises(UsageError, match="is not a run"):
        run_comparison.compare(compared_runs([tmp_path / "nowhere", tmp_path / "both" / "a"]))
    with pytest.raises(UsageError, match="--benchmark xx"):
        run_comparison.compare(compared_runs([tmp_path / "both" / "b", tmp_path / "both" / "a"]), benchmark="xx")


def test_runs_that_count_different_answers_are_not_compared(tmp_path):
    for name, mode in (("a", "any"), ("b", "boxed")):
        run = make_run(tmp_path / name, {"x": 0.0})
        run.forget_checksums()
        path = run.path / "evals.jsonl"
        rows = [json.loads(line) | {"extract": mode} for line in path.read_text().splitlines()]
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with pytest.raises(UsageError, match=r'eval\.extract = "any".*eval.extract = "boxed"'):
        run_comparison.compare(compared_runs([tmp_path / "a", tmp_path / "b"]))


def make_seeds(folder, shifts, method="grpo"):
    """Writes one run per shift, which differ by seed and by the luck of their training."""
    for seed, shift in enumerate(shifts):
        path = folder / f"{method}-{seed}"
        run = make_run(path, {"x": shift, "y": shift}, seed=100 * len(method) + seed)
        config = path / "config.toml"
        text = config.read_text().replace("seed = 0", f"seed = {seed}", 1)
        run.write_single("config.toml", text.replace('name = "grpo"', f'name = "{method}"'))
        assert run.config().seed == seed


def test_groups_of_runs_have_runs_as_their_unit(tmp_path):
    """The runs of one side differ by four points of luck, so a difference of four points between single runs is no finding."""
    make_seeds(tmp_path / "a", [0.10, 0.06, 0.14])
    make_seeds(tmp_path / "b", [0.08, 0.12, 0.04], "dapo")
    x, y, both = run_comparison.compare(compared_runs([tmp_path / "a", tmp_path / "b"]))
    for comparison in (x, y, both):
        assert comparison.scope == "configuration" and comparison.seeds == (3, 3) and comparison.p > 0.05
        assert "3 and 3 runs" in comparison.sentence
    pair = run_comparison.compare(compared_runs([tmp_path / "a" / "grpo-2", tmp_path / "b" / "dapo-2"]))[0]
    assert pair.scope == "checkpoint" and pair.p < 0.05 and pair.seeds == (1, 1)


def test_more_than_two_paths_are_grouped_by_their_settings_or_by_a_field(tmp_path):
    make_seeds(tmp_path, [0.2, 0.21])
    make_seeds(tmp_path, [0.0, 0.01], "dapo")
    paths = sorted(path for path in tmp_path.iterdir())
    by_settings, by_field = compared_runs(paths), compared_runs(paths, by="method.name")
    assert [run.path.name for run in by_settings.a] == [run.path.name for run in by_field.a] == ["dapo-0", "dapo-1"]
    assert run_comparison.compare(by_field)[0].difference < -0.1
    assert run_comparison.has_regressed(run_comparison.compare(by_field))
    with pytest.raises(UsageError, match="nothing but the seed"):
        compared_runs([*paths[:2], paths[0]])
    with pytest.raises(UsageError, match=r"--by method\.nam"):
        compared_runs(paths, by="method.nam")
    with pytest.raises(UsageError, match="4 runs make 1 group"):
        compared_runs(paths, by="train.steps")


def test_copies_of_a_run_are_no_runs(tmp_path):
    make_seeds(tmp_path / "a", [0.1, 0.1])
    make_seeds(tmp_path / "b", [0.0, 0.0], "dapo")
    shutil.copytree(tmp_path / "a" / "grpo-1", tmp_path / "a" / "copy")
    with pytest.raises(
        UsageError, match=r"copy and .*grpo-1 have the same settings and the same seed, 1\n  expected.*\n  write"
    ):
        compared_runs([tmp_path / "a", tmp_path / "b"])
    for by in ("method.name", None):
        with pytest.raises(UsageError, match="the same seed, 1"):
            compared_runs([*(tmp_path / "a").iterdir(), *(tmp_path / "b").iterdir()], by=by)


def test_a_run_is_on_one_side_only(tmp_path):
    make_seeds(tmp_path / "x", [0.1, 0.1])
    for inner in ("x/grpo-0", "x/../x/grpo-0", "x"):
        with pytest.raises(UsageError, match=r"grpo-0.* on both sides\n  expected: every run on one side only\n  write"):
            compared_runs([tmp_path / "x", tmp_path / inner])


def test_a_side_has_one_configuration(tmp_path):
    make_seeds(tmp_path / "mixed", [0.1, 0.1])
    make_seeds(tmp_path / "mixed", [0.1, 0.1], "dapo")
    make_seeds(tmp_path / "b", [0.0, 0.0], "kimi")
    for paths in ([tmp_path / "mixed", tmp_path / "b"], [tmp_path / "b", tmp_path / "mixed"]):
        with pytest.raises(UsageError, match=r"differ in method\.name.*\n  expected.*\n  write: --by method\.name"):
            compared_runs(paths)
    grouped = compared_runs([tmp_path / "mixed"], by="method.name")
    assert [len(side) for side in (grouped.a, grouped.b)] == [2, 2] and not grouped.only_seed


def test_seeds_that_are_grouped_by_seed_are_said_to_be_that(tmp_path):
    make_seeds(tmp_path, [0.0, 0.2])
    assert compared_runs([tmp_path], by="seed").only_seed
    make_seeds(tmp_path, [0.0, 0.2], "dapo")
    assert not compared_runs([tmp_path], by="seed").only_seed  # the sides have two methods each


def test_runs_that_differ_only_by_seed_are_said_to_be_that(tmp_path, capsys):
    make_seeds(tmp_path, [0.0, 0.2])
    assert passus_compare([tmp_path / "grpo-0", tmp_path / "grpo-1"], fail_on_regression=True) == 0
    output = capsys.readouterr().out
    assert "differ in nothing but the seed" in output and "a seed is no regression" in output


def test_the_exit_code_of_single_runs_is_explained(tmp_path, capsys):
    make_seeds(tmp_path, [0.0])
    make_seeds(tmp_path, [0.2], "dapo")
    assert passus_compare([tmp_path / "grpo-0", tmp_path / "dapo-0"], fail_on_regression=True) == 3
    assert "this checkpoint is worse, not that its settings are" in capsys.readouterr().out


def growing_runs(tmp_path, shift=0.0, runs=1, steps=(0, 10, 20)):
    """Runs that have made three of eleven planned eval points."""
    for side, number in (("a", 1), ("b", 2)):
        for seed in range(runs):
            run = make_run(tmp_path / side / str(seed), {"x": shift * (side == "a")}, 10 * seed + number, steps=steps)
            config = run.config()
            train, table = config.train.model_copy(update={"steps": 100}), config.eval.model_copy(update={"every": 10})
            config = config.model_copy(update={"train": train, "eval": table, "seed": seed})
            run.start(config, {"label": side, "tuning": "live"}, None)
    return compared_runs([tmp_path / "a", tmp_path / "b"])


@pytest.mark.parametrize("runs", [1, 3])
def test_runs_that_still_train_are_compared_for_all_planned_looks(tmp_path, runs, capsys):
    (comparison,) = run_comparison.compare(growing_runs(tmp_path, 0.15, runs))
    growing = comparison.growing
    assert growing is not None and growing.planned == 11 and growing.steps == [0, 10, 20] and growing.price > 1.3
    mean, last = growing.so_far[-1], growing.band[-1]
    assert (comparison.difference, comparison.low, comparison.high) == (mean.mean, mean.low, mean.high)
    assert mean.mean == pytest.approx(np.mean([look.mean for look in growing.band]))
    assert last.low < last.mean < last.high and mean.low < mean.mean < mean.high
    assert "3 of 11 planned eval points" in comparison.sentence and "times as wide" in comparison.sentence
    assert passus_compare([tmp_path / "b", tmp_path / "a"], json_=True, fail_on_regression=True) == (
        3 if comparison.p < 0.05 else 0
    )
    assert json.loads(capsys.readouterr().out)["growing"]["planned"] == 11


def test_finished_runs_are_compared_once(tmp_path):
    make_run(tmp_path / "a", {"x": 0.0}, seed=1)
    make_run(tmp_path / "b", {"x": 0.0}, seed=2)
    assert run_comparison.compare(compared_runs([tmp_path / "a", tmp_path / "b"]))[0].growing is None


def test_groups_are_compared_within_seeds_where_that_was_planned(tmp_path):
    for side, shift in (("a", 0.02), ("b", 0.0)):
        for seed, luck in enumerate((-0.1, 0.0, 0.1)):  # what a seed does to both sides
            run = make_run(tmp_path / side / str(seed), {"x": shift + luck}, seed=10 * seed + len(side))
            config = run.config()
            table = config.eval.model_copy(update={"block_by_seed": True})
            run.start(config.model_copy(update={"eval": table, "seed": seed}), {"label": side, "tuning": "live"}, None)
    (blocked,) = run_comparison.compare(compared_runs([tmp_path / "a", tmp_path / "b"]))
    for run_folder in [*compared_runs([tmp_path / "a", tmp_path / "b"]).a, *compared_runs([tmp_path / "a", tmp_path / "b"]).b]:
        config = run_folder.config()
        table = config.eval.model_copy(update={"block_by_seed": False})
        run_folder.start(
            config.model_copy(update={"eval": table}), {"label": run_folder.path.parent.name, "tuning": "live"}, None
        )
    (plain,) = run_comparison.compare(compared_runs([tmp_path / "a", tmp_path / "b"]))
    assert blocked.difference == plain.difference and blocked.high - blocked.low < (plain.high - plain.low) / 2


@pytest.mark.parametrize("steps", [(0,), (0, 10, 30)])
def test_looks_are_planned_by_the_settings_and_not_by_what_is_there(tmp_path, steps):
    (comparison,) = run_comparison.compare(growing_runs(tmp_path, steps=steps))
    assert comparison.growing is not None and comparison.growing.planned == 11 and comparison.steps == list(steps)
