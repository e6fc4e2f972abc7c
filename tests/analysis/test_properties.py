"""Random sweeps: findings never exclude each other, say their numbers, and do not depend on names, order or level."""

import json
import math
import re
import warnings
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.measured_curves import findings_of
from helpers.random_sweeps import SHAPES, Sweep, sweeps, truth
from passus.analysis import course, single_curve
from passus.analysis.analyse import adjust_for_multiplicity
from passus.analysis.finding import Conclusion, Finding, Scope
from passus.analysis.measured_curve import MeasuredCurve
from passus.formatting import share
from passus.runs.curve import Curve, CurvePoint

FEW = settings(derandomize=True, max_examples=40, deadline=None, database=None)
MANY = settings(derandomize=True, max_examples=400, deadline=None, database=None)
S = Conclusion.SUPPORTED


def analysed(sweep: Sweep) -> list[Finding]:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return findings_of(sweep.curves())


def check_course(findings: list[Finding]) -> None:
    """Checks the findings about each single curve against each other."""
    for series, benchmark in {(f.series, f.benchmark) for f in findings}:
        own = {f.id: f for f in findings if (f.series, f.benchmark) == (series, benchmark)}
        supported = {id for id, f in own.items() if f.verdict is S}
        assert not {"A2", "A3"} <= supported, "a plateau and a late fall"
        assert "A14" not in supported or "A3" in supported, "a better earlier checkpoint without a fall"
        assert "A8" not in supported or "A1" in supported, "a speed without a rise"
        if "A2" in supported:
            assert "still rises" not in own["A2"].sentence and "no plateau" not in own["A2"].sentence
            assert own["A2"].numbers["bound"] <= own["A2"].margin
        if "A1" in supported:
            assert own["A1"].numbers["gain"] > 0 and (own["A1"].low is None or not own["A1"].low <= 0)
        if "A3" in supported:
            assert own["A3"].numbers["drop"] > 0 and (own["A3"].low is None or own["A3"].low > 0)
        if "A14" in supported:
            assert own["A14"].numbers["best"] > own["A14"].numbers["end"]


def check_evidence(findings: list[Finding], runs: dict[str, int]) -> None:
    """Checks each finding against its own numbers, and claims about configurations against the runs of the lines they are of:
    those that are named, or all of them."""
    for f in findings:
        if f.verdict is S and f.q is not None:
            assert f.q < 0.05
        if f.p is not None:
            assert 0 <= f.p <= f.q + 1e-12 <= 1 + 1e-12
        if f.low is not None and not math.isnan(f.low):
            assert f.low <= f.high
            estimate = next(iter(f.numbers.values()))
            assert f.low - 1e-6 <= estimate <= f.high + 1e-6, f"{f.id}: {f.low} {estimate} {f.high}"
        if f.scope is Scope.CONFIGURATION and (f.p is not None or f.verdict is S):
            named = [name for name in runs if name in f.series.split(" and ")] or list(runs)
            assert f.seeds >= 2 and all(runs[name] >= 2 for name in named), f"{f.id} of {f.series}: {f.seeds} runs"
        if f.id == "A6" and f.verdict is S and f.low is not None:
            assert f.low > 0 or f.high < 0, "a difference whose interval has 0 in it"
        if f.id == "A7" and f.verdict is S:
            assert f.scope is Scope.CONFIGURATION and min(runs.values()) >= 2


def check_tiers(findings: list[Finding]) -> None:
    """Checks that the best line of a tier differs from that of every other, and no line from the best of its own."""
    for tiers in (f for f in findings if f.id == "A7" and f.numbers):
        listed = tiers.sentence.partition("): ")[2].partition(". Lines of one tier")[0]
        groups = [[name.rpartition(" ")[0] for name in tier.split(", ")] for tier in listed.split(" | ")]
        assert len(groups) == tiers.numbers["tiers"]
        apart = {
            frozenset(f.series.split(" and "))
            for f in findings
            if f.id == "A6" and f.benchmark == tiers.benchmark and f.verdict is S
        }
        for n, group in enumerate(groups):
            assert not any(frozenset({group[0], name}) in apart for name in group[1:])
            assert all(frozenset({group[0], other[0]}) in apart for other in groups[:n])


PRINTED = {
    "A1": lambda v: f"{abs(round(100 * v, 1)):.1f} points", "A2": lambda v: f"{abs(round(100 * v, 1)):.1f} points",
    "A3": lambda v: f"{round(100 * v, 1) + 0.0:+.1f} points", "A4": lambda v: f"{v:g}", "A5": lambda v: f"is {v:.2f} times",
    "A6": lambda v: f"{abs(round(100 * v, 1)):.1f} points", "A7": lambda v: f"{v:.0f} tier",
    "A8": lambda v: f"{round(v, 1):g}", "A10": lambda v: f"at {v:+.2f} in levels", "A11": lambda v: f"{100 * v:.1f} points",
    "A13": lambda v: f"{round(100 * v, 1) + 0.0:+.1f} points", "A14": share, "A17": lambda v: f"{v:.0f} tokens",
    "A18": lambda v: f"{v:.0f} of ",
}  # fmt: skip
"""How the sentence of a finding shows its estimate."""
UNTIMED = "No gain is established"


def bound_forms(id: str, bound: float) -> list[str]:
    """Returns how a sentence may show the bound of an interval: in points, as a step (A8), or as a share."""
    if id in PRINTED:
        value = round(bound, 1) if id == "A8" else round(100 * bound, 1) + 0.0
        return [f"{value:g}" if id == "A8" else f"{value:.1f}"]
    return [f"{round(100 * bound, 1) + 0.0:.1f}", f"{100 * bound:.0f}", share(bound), f"{bound:.2f}".lstrip("0"), f"{bound:g}"]


def check_text(findings: list[Finding]) -> None:
    """Checks that sentences contain the numbers of their findings, and that JSON is strict and complete."""
    for f in findings:
        fields = json.loads(json.dumps(f.to_json(), allow_nan=False))
        assert {"name", "scope", "verdict", "text"} <= fields.keys()
        assert all(value == value for value in f.numbers.values()), f.id
        if f.numbers:
            assert fields["estimate"] == next(iter(f.numbers.values()))
            if f.id in PRINTED and not f.sentence.startswith(UNTIMED):
                assert PRINTED[f.id](fields["estimate"]) in f.sentence, (f.id, fields["estimate"], f.sentence)
        if f.low is not None and math.isnan(f.low):
            assert "interval" not in fields and "no interval" in f.sentence
        elif f.low is not None:
            assert fields["interval"] == [f.low, f.high]
            assert all(any(form in f.sentence for form in bound_forms(f.id, bound)) for bound in (f.low, f.high)), f.sentence
        if f.id == "A6":
            assert f.items is not None or f.level in ("L0", "L3")


def sized_curves(sweep: Sweep) -> list[Curve]:
    """Returns the curves with the names of sizes, about whose order there are claims too."""
    sizes = {"alder": "tree, 1B", "birch": "tree, 2B", "cedar": "tree, 4B"}
    return [replace(curve, name=sizes[curve.name]) for curve in sweep.curves()]


def runs_by_line(curves: list[Curve]) -> dict[str, int]:
    runs = {curve.name: 0 for curve in curves}
    for curve in curves:
        runs[curve.name] += curve.benchmark == "b0"
    return runs


def check(sweep: Sweep) -> None:
    findings, runs = analysed(sweep), runs_by_line(sweep.curves())
    check_course(findings)
    check_evidence(findings, runs)
    check_tiers(findings)
    check_text(findings)


def check_sizes(sweep: Sweep) -> None:
    curves = sized_curves(sweep)
    check_evidence(findings_of(curves), runs_by_line(curves))


@settings(FEW, max_examples=10)
@given(sweeps())
def test_findings_about_sizes_agree_with_their_numbers(sweep):
    check_sizes(sweep)


def test_claims_about_all_lines_are_checked_against_the_runs_of_every_line():
    """Three sizes, each with two runs, and the same with two methods of one run each; 3 settings make the sensitivity (A19)."""
    sweep = Sweep((("flat", 2), ("rise", 2), ("jump", 2)), 8, 40, 2, "items", "none", 2, 0.02, 0.0, 2)
    curves = sized_curves(sweep)
    of_sizes = findings_of(curves)
    check_evidence(of_sizes, runs_by_line(curves))
    claimed = {f.id for f in of_sizes if f.scope is Scope.CONFIGURATION and f.series == "all" and f.p is not None}
    assert {"A12", "A19"} <= claimed
    with pytest.raises(AssertionError, match="of all: 2 runs"):
        check_evidence([f for f in of_sizes if f.id in ("A12", "A19")], {name: 1 for name in runs_by_line(curves)})
    methods = [replace(curve, name=f"{curve.name}: {'pq'[curve.origin.seed]}") for curve in curves]
    check_evidence(findings_of(methods), runs_by_line(methods))


@FEW
@given(sweeps())
def test_findings_agree_with_each_other_and_with_their_numbers(sweep):
    check(sweep)


@pytest.mark.slow
@MANY
@given(sweeps())
def test_findings_of_many_sweeps_agree_with_each_other_and_with_their_numbers(sweep):
    check(sweep)


def verdicts(findings: list[Finding], names: dict[str, str] | None = None) -> dict[tuple, str]:
    """Returns the verdicts by question, lines, benchmark and claim, whatever the order of the lines and with other names."""
    found = {}
    for f in findings:
        lines, claim = f.series, f.claim
        for old, new in (names or {}).items():
            lines, claim = lines.replace(old, new), claim.replace(old, new)
        key = f.id, tuple(sorted(re.split(" and |, ", lines))), f.benchmark, "".join(sorted(claim))
        assert key not in found
        found[key] = f.verdict
    return found


def check_names_and_order(sweep: Sweep) -> None:
    before, curves = analysed(sweep), sweep.curves()
    names = {"alder": "yew", "birch": "willow", "cedar": "aspen"}
    renamed = findings_of([replace(curve, name=names[curve.name]) for curve in curves])
    assert verdicts(renamed) == verdicts(before, names)
    order = np.random.default_rng(sweep.seed).permutation(len(curves))
    assert verdicts(findings_of([curves[n] for n in order])) == verdicts(before)


@settings(FEW, max_examples=15)
@given(sweeps())
def test_names_and_order_change_no_verdict(sweep):
    check_names_and_order(sweep)


@pytest.mark.slow
@settings(FEW, max_examples=150)
@given(sweeps())
def test_names_and_order_change_no_verdict_of_many_sweeps(sweep):
    check_names_and_order(sweep)


def with_values(curves: list[Curve], scale: float, constant: float) -> list[Curve]:
    """Replaces every y by scale x y + constant; the curves have no items, so that nothing else follows from y."""
    return [replace(curve, points=[replace(point, y=scale * point.y + constant) for point in curve.points]) for curve in curves]


@settings(FEW, max_examples=30)
@given(sweeps(evidence=("points",)), st.floats(0, 0.5))
def test_a_constant_added_to_all_runs_changes_no_comparison(sweep, constant):
    """Runs without items are compared by their spread, which a constant leaves alone."""
    before, after = (findings_of(with_values(sweep.curves(), 0.5, level)) for level in (0.0, constant))
    assert verdicts(before) == verdicts(after)
    for f, g in zip(before, after, strict=True):
        assert (f.p is None) == (g.p is None)
        if f.id == "A6" and f.p is not None:
            assert (f.p, f.numbers["difference"]) == pytest.approx((g.p, g.numbers["difference"]), rel=1e-6, abs=1e-9)


def course_of(x_T: np.ndarray, y_T: np.ndarray, se_T: np.ndarray) -> list[Finding]:
    """Answers all questions about one curve of known noise."""
    m = MeasuredCurve(
        Curve("a", "b", [CurvePoint(x, y) for x, y in zip(x_T, y_T, strict=True)], 100, 1), "a", x_T, y_T, se_T, None
    )
    findings = single_curve.findings(m)
    adjust_for_multiplicity(findings)
    return findings + course.findings([m], findings)


@settings(FEW, max_examples=40)
@given(
    st.sampled_from(SHAPES), st.integers(2, 20), st.sampled_from((0.003, 0.02)), st.integers(0, 2**32 - 1), st.floats(-0.5, 0.5)
)
def test_a_constant_added_to_a_curve_of_known_noise_changes_no_verdict(shape, points, se, seed, constant):
    rng = np.random.default_rng(seed)
    y_T, x_T, se_T = truth(rng, shape, points) + rng.normal(0, se, points), 10.0 * np.arange(points), np.full(points, se)
    assert verdicts(course_of(x_T, y_T, se_T)) == verdicts(course_of(x_T, y_T + constant, se_T))
