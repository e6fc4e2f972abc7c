"""A text against its own numbers."""

from pathlib import Path

import pytest

from passus.analysis import claim_check
from passus.analysis.finding import Verdict
from passus.descriptions import chart_text

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
EXPECTED = {
    3: Verdict.SUPPORTED, 5: Verdict.SUPPORTED, 6: Verdict.NOT_SUPPORTED, 8: Verdict.SUPPORTED, 14: Verdict.NOT_SUPPORTED,
    21: Verdict.NOT_SUPPORTED, 22: Verdict.SUPPORTED, 23: Verdict.SUPPORTED, 24: Verdict.SUPPORTED, 25: Verdict.NOT_SUPPORTED,
    26: Verdict.UNTESTABLE,
}  # fmt: skip


def test_each_sentence_is_held_against_the_numbers():
    found = {one.line: one for one in claim_check.findings(chart_text.read(TEXT)) if one.line}
    assert {line: found[line].verdict for line in EXPECTED} == EXPECTED
    assert "contradicted" in found[21].said and "Alpha .400, Beta .300" in found[21].said
    assert "0.7" in found[6].said and all(one.level == "L0" for one in found.values())


def test_curves_without_a_text_have_nothing_to_audit():
    given = chart_text.read(TEXT)
    given.claims = []
    assert claim_check.findings(given) == []


@pytest.mark.skipif(not SEEDS.is_dir(), reason="the seed texts are not here")
@pytest.mark.parametrize("seed, contradicted", [("000", {16, 53}), ("001", set()), ("002", {4}), ("003", set()), ("004", {39})])
def test_what_the_seeds_say_against_themselves(seed, contradicted):
    (path,) = SEEDS.glob(f"{seed}_*.txt")
    found = claim_check.findings(chart_text.read(path.read_text(encoding="utf-8")))
    assert {one.line for one in found if one.verdict is Verdict.NOT_SUPPORTED} == contradicted
    assert (sum(one.verdict is Verdict.SUPPORTED for one in found) > 5) is (seed != "003")
