"""Findings on whole sets of curves."""

import dataclasses
import json
import re

import numpy as np
import pytest

from helpers.measured_curves import findings_by_id, findings_of, on_benchmark, seeds, without_items
from helpers.synthetic_curves import RISE_T, curve
from passus.analysis import analyse
from passus.analysis.finding import EVIDENCE, QUESTIONS, Conclusion, Finding
from passus.runs.curve import Curve, CurvePoint, Curves


def test_points_alone_support_few_conclusions():
    made = without_items(curve(np.random.default_rng(7), RISE_T))
    findings = findings_by_id([made, dataclasses.replace(made, name="b")])
    assert {f.verdict for f in findings["A3"] + findings["A6"] + findings["A5"]} == {Conclusion.UNTESTABLE}
    assert all(f.level == "L0" for fs in findings.values() for f in fs)
    counted = findings_by_id([without_items(made, n=30)])
    assert counted["A1"][0].level == "L1" and counted["A3"][0].verdict is Conclusion.UNDERPOWERED


@pytest.mark.parametrize("ys", [[], [0.5], [0.5, float("nan")], [0.2, 0.4], [float("nan")] * 4, [0.5] * 12, [1.0] * 12])
def test_short_empty_and_constant_curves_get_an_answer(ys):
    made = Curve("a", "b", [CurvePoint(10 * i, y, tokens=5.0) for i, y in enumerate(ys)], 30, 1)
    findings = analyse.analyse(Curves("", "step", "accuracy", [made]))
    assert (len(findings) > 0) is bool(ys) and all(finding.sentence for finding in findings)
    assert {finding.id for finding in findings if finding.verdict is Conclusion.SUPPORTED} <= {
        "A2"
    }  # flat is a plateau, and nothing else
    json.dumps([finding.to_json() for finding in findings], allow_nan=False)


def test_conclusions_rest_on_corrected_p_values():
    rng = np.random.default_rng(12)
    findings = analyse.analyse(Curves("", "step", "accuracy", [curve(rng, RISE_T, name=str(i)) for i in range(6)]))
    tested = [f for f in findings if f.p is not None]
    assert len(tested) > 40 and all(f.q is not None and f.q >= f.p for f in tested)
    assert all(f.q < 0.05 for f in tested if f.verdict is Conclusion.SUPPORTED)
    assert [f for f in findings if f.id == "A3" and f.verdict is Conclusion.SUPPORTED] == []


def every_kind_of_finding() -> list[Finding]:
    rng, hard_Q = np.random.default_rng(50), np.random.default_rng(0).normal(0, 1.5, 60)
    lengths_T = 100 + 10 * np.arange(15) + rng.normal(0, 6, 15)
    sized = [
        curve(rng, RISE_T - s, 60, name=f"m, {n}B", tokens_T=lengths_T, difficulty_Q=hard_Q)
        for n, s in ((1, 0.1), (2, 0), (4, 0))
    ]
    dip_T = np.full(30, 0.6) - 0.2 * (np.arange(30) == 12)
    drop_T = RISE_T - 0.4 * (np.arange(15) >= 12)
    falling = [curve(rng, dip_T, 400, name="dip"), on_benchmark("late", curve(rng, drop_T, 500, samples=1, name="drop"))]
    both = [on_benchmark(b, c) for b in ("b", "c") for c in sized]
    return [
        *findings_of(both + falling), *findings_of([without_items(c) for c in both + falling]),
        *findings_of([without_items(c, 60) for c in both]),
        *findings_of(seeds(rng, "a", RISE_T) + seeds(rng, "b", RISE_T - 0.1) + seeds(rng, "c", RISE_T - 0.1)),
        *findings_of([curve(rng, RISE_T[:n], 30, name=str(n)) for n in (1, 2, 4)]),
    ]  # fmt: skip


def test_sentences_are_sentences_without_codes():
    findings = every_kind_of_finding()
    assert {finding.id for finding in findings} >= {f"A{n}" for n in range(1, 20)} - {"A15", "A16"}
    for finding in findings:
        assert re.fullmatch(r"[A-Za-z0-9][^\n]*\.", finding.sentence), finding.sentence
        assert not re.match(r"(What|Of)\b", finding.sentence) and not re.search(r"\b[AL]\d+\b|nan|  ", finding.sentence)
        assert finding.name in QUESTIONS.values() and finding.evidence in EVIDENCE.values()


def test_json_keeps_the_codes_and_its_keys():
    (finding, *_) = findings_of([curve(np.random.default_rng(51), RISE_T)])
    fields = finding.to_json()
    assert fields["id"] == "A1" and fields["level"] == "L2" and fields["name"] == "improvement"
    assert fields["verdict"] == "supported" and fields["text"] == finding.sentence and fields["scope"] == "checkpoint"
    assert fields["estimate"] == finding.numbers["gain"] and fields["interval"] == [finding.low, finding.high]
    assert fields["items"] == 200 and fields["p"] <= fields["q"]
