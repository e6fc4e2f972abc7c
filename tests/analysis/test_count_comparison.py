"""Comparison of runs whose items are not kept."""

import json

import pytest

from helpers.command import passus_in_process
from passus.stats.unpaired_tests import newcombe_interval


def counted_run(path, ends, n=200, k=4, seed=0, name="a"):
    """Writes a run that recorded means and the number of items, as an importer does."""
    path.mkdir(parents=True)
    (path / "config.toml").write_text(
        f'name = "x"\nseed = {seed}\n[model]\nbase = "m"\n[train]\nsteps = 40\n[imported]\ntool = "CSV"\n'
    )
    (path / "settings.json").write_text(json.dumps({"name": name}))
    (path / "meta.json").write_text(json.dumps({"model": {"label": "m", "tuning": "live"}, "launches": [{}]}))
    rows = [
        {"step": 10 * i, "benchmark": "aime", "temperature": None, "q": n, "k": k, "acc": acc, "ci_low": None, "ci_high": None}
        for i, acc in enumerate(ends)
    ]
    (path / "evals.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (path / "metrics.jsonl").write_text("")
    return path


def compared(a, b, tmp_path, *options):
    return passus_in_process("compare", str(a), str(b), *options, cwd=tmp_path)


def test_newcombe_gives_the_published_intervals():
    """Newcombe (1998), table II, examples a, b and h of method 10."""
    assert newcombe_interval(56 / 70, 70, 48 / 80, 80) == pytest.approx((0.0524, 0.3339), abs=1e-4)
    assert newcombe_interval(9 / 10, 10, 3 / 10, 10) == pytest.approx((0.1705, 0.8090), abs=1e-4)
    assert newcombe_interval(10 / 10, 10, 0 / 10, 10) == pytest.approx((0.6075, 1.0), abs=1e-4)


def test_two_runs_are_compared_by_counts_and_said_to_be(tmp_path):
    a, b = (
        counted_run(tmp_path / "a", [0.3, 0.5, 0.7, 0.7, 0.7], name="a"),
        counted_run(tmp_path / "b", [0.3, 0.4, 0.5, 0.5, 0.5]),
    )
    row = json.loads(compared(a, b, tmp_path, "--json").stdout)
    assert row["difference"] == pytest.approx(0.2, abs=0.05) and row["scope"] == "checkpoint" and row["p"] < 0.01
    assert "unpaired, by counts: 200 items; the items themselves are not recorded" in row["text"]
    assert "paired over" not in row["text"].replace("unpaired", "")
    assert row["low"] < row["difference"] < row["high"]


def test_groups_are_compared_over_runs(tmp_path):
    for seed in range(3):
        counted_run(tmp_path / f"a/{seed}", [0.3, 0.5, 0.70 + seed / 100], seed=seed, name="a")
        counted_run(tmp_path / f"b/{seed}", [0.3, 0.5, 0.50 + seed / 100], seed=seed, name="b")
    row = json.loads(compared(tmp_path / "a", tmp_path / "b", tmp_path, "--json").stdout)
    assert row["scope"] == "configuration" and row["seeds"] == [3, 3] and "3 and 3 runs" in row["text"]


def test_without_a_number_of_items_the_message_says_what_supplies_it(tmp_path):
    a, b = (
        counted_run(tmp_path / "a", [0.3, 0.7], n=None, k=None, name="a"),
        counted_run(tmp_path / "b", [0.3, 0.5], n=None, k=None),
    )
    done = compared(a, b, tmp_path)
    assert done.returncode == 2 and "--items aime=N" in done.stderr
