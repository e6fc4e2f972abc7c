"""Sentences of a text, held against its own numbers and against curves."""

from pathlib import Path

import pytest

from passus.analysis import claim_check
from passus.analysis.claim_check import check_against
from passus.analysis.claim_verdict import Judgement
from passus.analysis.finding import Conclusion
from passus.analysis.read_text import read_text
from passus.runs.curve import Curve, CurvePoint, Curves

SEEDS = Path(__file__).parents[3] / "shared" / "seeds"
TEXT = """## Line Chart: Accuracy
### Components/Axes
* **X-axis:** Labeled "Step", ranging from 0 to 40.
* **Y-axis:** Labeled "Accuracy", ranging from 0.0 to 0.6.
### Detailed Analysis
* **Alpha:** The line rises.
* Step 0: ~0.1
* Step 10: ~0.5
* Step 20: ~0.7
* Step 30: ~0.5
* Step 40: ~0.4
* **Beta:** The line increases to approximately 0.45 at step 20.
* Step 0: ~0.1
* Step 10: ~0.2
* Step 20: ~0.25
* Step 30: ~0.3
* Step 40: ~0.3
### Key Observations
* Beta ends above Alpha.
* Alpha is above Beta at step 20.
* Beta peaks at step 10.
* This is due to overfitting.
"""
S, N, U = Conclusion.SUPPORTED, Conclusion.NOT_SUPPORTED, Conclusion.UNTESTABLE
EXPECTED = {3: S, 4: N, 12: N, 19: N, 20: S, 21: N, 22: U}
"""Conclusion by line of the text."""


def test_each_sentence_is_held_against_the_numbers():
    by_line = {finding.line: finding for finding in claim_check.findings(read_text(TEXT)) if finding.line}
    assert {line: by_line[line].verdict for line in EXPECTED} == EXPECTED
    assert "Alpha .400 at 40 (line 11)" in by_line[19].sentence
    assert all(finding.level == "L0" for finding in by_line.values())


def test_curves_without_a_text_have_no_claims_to_check():
    curves = read_text(TEXT)
    curves.claims = []
    assert claim_check.findings(curves) == []


def test_a_text_is_held_against_curves():
    alpha = Curve("Alpha", "", [CurvePoint(0, 0.1), CurvePoint(20, 0.7), CurvePoint(40, 0.4)])
    beta = Curve("Beta", "", [CurvePoint(0, 0.1), CurvePoint(20, 0.25), CurvePoint(40, 0.3)])
    curves = Curves("", "step", "accuracy", [alpha, beta])
    text = "Alpha ends above Beta. Beta ends above Alpha. Alpha is at 0.2 at step 20. Gamma ends above Beta. We like Alpha."
    verdicts = [sentence.verdict.judgement for sentence in check_against(text, curves)]
    yes, no, unknown = Judgement.SUPPORTED, Judgement.CONTRADICTED, Judgement.UNTESTABLE
    assert verdicts == [yes, no, no, unknown, unknown]


def test_curves_within_their_intervals_decide_nothing():
    alpha = Curve("Alpha", "", [CurvePoint(0, 0.1), CurvePoint(40, 0.42, low=0.3, high=0.54)])
    beta = Curve("Beta", "", [CurvePoint(0, 0.1), CurvePoint(40, 0.40, low=0.3, high=0.5)])
    curves = Curves("", "step", "accuracy", [alpha, beta])
    checked = check_against("Alpha ends above Beta. Beta ends above Alpha.", curves)
    assert [sentence.verdict.judgement for sentence in checked] == [Judgement.UNTESTABLE] * 2


@pytest.mark.skipif(not SEEDS.is_dir(), reason="the seed texts are not here")
@pytest.mark.parametrize("seed, contradicted", [("000", {53}), ("001", set()), ("002", {4}), ("003", set()), ("004", {39})])
def test_contradictions_in_the_seed_texts(seed, contradicted):
    (path,) = SEEDS.glob(f"{seed}_*.txt")
    findings = claim_check.findings(read_text(path.read_text(encoding="utf-8")))
    assert {finding.line for finding in findings if finding.verdict is Conclusion.NOT_SUPPORTED} == contradicted
