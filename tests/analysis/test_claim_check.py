"""Claims of a text against its own numbers."""

from pathlib import Path

import pytest

from passus.analysis import claim_check
from passus.analysis.finding import Conclusion
from passus.descriptions.chart_reader import read_chart

SEEDS = Path(__file__).parents[3] / "shared" / "seeds"
TEXT = """## Line Chart: Accuracy
### Overview
A line chart of two different language models.
### Components/Axes
* **X-axis:** Labeled "Step", ranging from 0 to 40.
* **Y-axis:** Labeled "Accuracy", ranging from 0.0 to 0.6.
### Detailed Analysis
* **Alpha:** The line rises and peaks at approximately 0.7 around step 20.
* Step 0: ~0.1
* Step 10: ~0.5
* Step 20: ~0.7
* Step 30: ~0.5
* Step 40: ~0.4
* **Beta:** The line increases to approximately 0.3 at step 20.
* Step 0: ~0.1
* Step 10: ~0.2
* Step 20: ~0.25
* Step 30: ~0.3
* Step 40: ~0.3
### Key Observations
* Beta achieves the highest accuracy.
* Alpha exhibits a drop in accuracy after its peak.
* Beta plateaus around 0.3 accuracy after step 30.
* Alpha consistently outperforms Beta.
* Beta shows a significant drop in accuracy.
* This is due to overfitting.
"""
S, N, U = Conclusion.SUPPORTED, Conclusion.NOT_SUPPORTED, Conclusion.UNTESTABLE
EXPECTED = {3: S, 5: S, 6: N, 8: S, 14: N, 21: N, 22: S, 23: S, 24: S, 25: N, 26: U}
"""Conclusion by line of the text."""


def test_each_claim_is_checked_against_the_numbers():
    by_line = {finding.line: finding for finding in claim_check.findings(read_chart(TEXT)) if finding.line}
    assert {line: by_line[line].verdict for line in EXPECTED} == EXPECTED
    assert "Contradicted by" in by_line[21].sentence and "Alpha .400, Beta .300" in by_line[21].sentence
    assert "0.7" in by_line[6].sentence and all(finding.level == "L0" for finding in by_line.values())


def test_curves_without_a_text_have_no_claims_to_check():
    curves = read_chart(TEXT)
    curves.claims = []
    assert claim_check.findings(curves) == []


@pytest.mark.skipif(not SEEDS.is_dir(), reason="the seed texts are not here")
@pytest.mark.parametrize("seed, contradicted", [("000", {16, 53}), ("001", set()), ("002", {4}), ("003", set()), ("004", {39})])
def test_contradictions_in_the_seed_texts(seed, contradicted):
    (path,) = SEEDS.glob(f"{seed}_*.txt")
    findings = claim_check.findings(read_chart(path.read_text(encoding="utf-8")))
    assert {finding.line for finding in findings if finding.verdict is Conclusion.NOT_SUPPORTED} == contradicted
    assert (sum(finding.verdict is Conclusion.SUPPORTED for finding in findings) > 5) is (seed != "003")
