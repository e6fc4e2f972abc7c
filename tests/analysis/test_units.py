"""Findings over clusters of items: what they say, and how often they are wrong."""

import dataclasses
import json

import numpy as np
import pytest

from helpers.measured_curves import findings_by_id, measured, on_benchmark
from helpers.synthetic_curves import curve
from helpers.synthetic_runs import make_run, with_clusters
from passus.analysis import gains, run_comparison
from passus.analysis.finding import Conclusion
from passus.analysis.run_groups import compared_runs
from passus.analysis.units import one_unit_words, size_words, unit_means
from passus.runs.curve import Curve
from passus.runs.read_curves import load_curves
from passus.runs.run_folder import RunFolder


def clustered(made: Curve, names: list[str]) -> Curve:
    assert made.items is not None
    return dataclasses.replace(made, items=dataclasses.replace(made.items, cluster_Q=names))


def passages(items: int, size: int) -> list[str]:
    return [f"p{n // size}" for n in range(items)]


FLAT_T = np.full(8, 0.5)
RISING_T = np.linspace(0.3, 0.7, 8)


def test_sentences_count_items_and_clusters():
    made = curve(np.random.default_rng(0), RISING_T, 60)
    items = clustered(made, passages(60, 4)).items
    assert items is not None and made.items is not None
    assert size_words(items) == "60 items in 15 clusters" and size_words(made.items) == "60 items"
    assert size_words(items, made.items) == "120 items in 75 clusters"
    assert unit_means(items).shape == (8, 15) and unit_means(items).mean() == pytest.approx(made.items.means_TQ.mean())
    assert "60 items in 15 clusters" in gains.improvement(measured(clustered(made, passages(60, 4)))).sentence


def test_clusters_of_one_item_change_no_finding():
    rng = np.random.default_rng(1)
    lines = [curve(rng, RISING_T + shift, 60, name=name) for name, shift in (("a, 1M", 0.1), ("b, 2M", 0.0), ("c, 3M", 0.2))]
    named = [clustered(line, [f"p{n}" for n in range(60)]) for line in lines]
    before, after = findings_by_id(lines), findings_by_id(named)
    assert before.keys() == after.keys() and "A12" in before
    for id in before:
        assert [f.to_json() | {"text": ""} for f in before[id]] == [f.to_json() | {"text": ""} for f in after[id]]


def test_all_findings_of_a_clustered_benchmark_say_so():
    rng = np.random.default_rng(2)
    lines = [curve(rng, RISING_T + shift, 60, name=name) for name, shift in (("a, 1M", 0.0), ("b, 2M", 0.05), ("c, 3M", 0.2))]
    lines = [on_benchmark(name, clustered(line, passages(60, 4))) for name in ("x", "y") for line in lines]
    by_id = findings_by_id(lines)
    texts = {id: " ".join(f.sentence for f in found) for id, found in by_id.items()}
    for id in ("A1", "A6", "A12", "A18"):
        assert "60 items in 15 clusters" in texts[id], id
    assert "120 items in 30 clusters" in texts["A6"] and "120 items in 30 clusters of 2 benchmarks" in texts["A12"]
    assert all(f.items in (60, 120) for f in by_id["A6"])


@pytest.mark.parametrize("id", ["A1", "A6", "A18"])
def test_one_cluster_is_told_and_not_tested(id):
    rng = np.random.default_rng(3)
    lines = [clustered(curve(rng, RISING_T + shift, 40, name=name), ["p"] * 40) for name, shift in (("a", 0.1), ("b", 0.0))]
    found = findings_by_id(lines)[id]
    assert all(f.verdict in (Conclusion.UNTESTABLE, Conclusion.NOT_SUPPORTED) for f in found)
    words = "40 items in 1 cluster" if id == "A18" else "All 40 items are of one cluster, so there is no interval"
    assert all(words in f.sentence and "interval" not in f.to_json() for f in found)
    assert "nan" not in json.dumps([f.to_json() for f in found])


def test_a_passage_that_moves_as_one_is_one_piece_of_evidence():
    """Sixteen passages of 12 items go up or down together. With items as the unit, a rise is found where there is none."""
    rng, wrong, unaware, draws = np.random.default_rng(4), 0, 0, 80
    for _ in range(draws):
        effect_Q = np.repeat(rng.choice([-0.25, 0.25], 16), 12)
        made = curve(rng, FLAT_T[:3], 192)
        assert made.items is not None
        chance_TQ = 0.5 + np.array([0, 1, 1])[:, None] * effect_Q
        correct_TQK = (rng.random((3, 192, 4)) < chance_TQ[..., None]).astype(float)
        points = [dataclasses.replace(p, y=float(y)) for p, y in zip(made.points, correct_TQK.mean((1, 2)), strict=True)]
        made = dataclasses.replace(made, points=points, items=dataclasses.replace(made.items, correct_TQK=correct_TQK))
        plain, aware = (gains.improvement(measured(line)).p for line in (made, clustered(made, passages(192, 12))))
        assert plain is not None and aware is not None
        unaware, wrong = unaware + (plain < 0.05), wrong + (aware < 0.05)
    assert 0 < wrong / draws <= 0.12 and unaware / draws > 0.3


def test_a_comparison_of_runs_takes_clusters_as_the_unit(tmp_path):
    for n, name in enumerate(("a", "b")):
        make_run(tmp_path / name, {"x": 0.1 - 0.1 * n, "y": 0.0}, seed=n)
    plain = run_comparison.compare(compared_runs([tmp_path / "a", tmp_path / "b"]))
    with_clusters(RunFolder(tmp_path / "b"), passages(60, 4))  # a was recorded before clusters existed
    x, y, both = run_comparison.compare(compared_runs([tmp_path / "a", tmp_path / "b"]))
    assert (x.items, x.clusters, both.items, both.clusters) == (60, 15, 120, 30)
    assert [c.difference for c in (x, y, both)] == pytest.approx([c.difference for c in plain])
    assert x.gained == plain[0].gained and x.lost == plain[0].lost
    assert "paired over 60 items in 15 clusters x 4 samples" in x.sentence and x.to_json()["clusters"] == 15
    assert "clusters" not in plain[0].to_json()


def test_groups_of_runs_take_clusters_as_the_unit_too(tmp_path):
    for n, name in enumerate(("a0", "a1", "b0", "b1")):
        run = with_clusters(make_run(tmp_path / name[0] / name, {"x": 0.1 - 0.1 * (n > 1)}, seed=n), passages(60, 4))
        run.start(run.config().model_copy(update={"seed": n}), {"label": name, "tuning": "live"}, None)
    (x,) = run_comparison.compare(compared_runs([tmp_path / "a", tmp_path / "b"]))
    assert x.scope == "configuration" and (x.items, x.clusters) == (60, 15)
    assert "2 and 2 runs, 60 items in 15 clusters x 4 samples" in x.sentence


def test_runs_on_one_cluster_are_compared_without_an_interval(tmp_path):
    for n, name in enumerate(("a", "b")):
        with_clusters(make_run(tmp_path / name, {"x": 0.1 * n}, seed=n), ["p"] * 60)
    (x,) = run_comparison.compare(compared_runs([tmp_path / "a", tmp_path / "b"]))
    assert "no interval" in x.sentence and "60 items in 1 cluster" in x.sentence
    assert not {"low", "high", "smallest"} & x.to_json().keys() and not run_comparison.has_regressed([x])
    items = load_curves([tmp_path / "a"]).series[0].items
    assert items is not None and one_unit_words(items).startswith("All 60 items are of one cluster")
