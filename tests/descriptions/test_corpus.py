"""The reader on texts with labels. The scores of docs/analysis.md are those that this file computes."""

from functools import cache
from pathlib import Path

import pytest

from helpers.corpus_scores import Scores, score
from passus.analysis.claim_check import check_own_numbers
from passus.analysis.claim_verdict import Judgement, judge
from passus.analysis.text_evidence import text_evidence
from passus.descriptions.claim_reader import ClaimReader
from passus.descriptions.point_reader import read_chart_data

CORPUS = Path(__file__).parent / "corpus"


@cache
def scores(part: str) -> Scores:
    return score(CORPUS / part)


def test_the_corpus_is_whole():
    for part, least in (("seen", 354), ("held_out", 32)):
        texts = {path.stem for path in (CORPUS / part).glob("*.txt")}
        assert len(texts) >= least and texts == {path.stem for path in (CORPUS / part).glob("*.json")}


def test_points_of_texts_that_the_reader_was_made_with():
    assert scores("seen").points.precision >= 0.975 and scores("seen").points.recall >= 0.9


def test_verdicts_on_texts_that_the_reader_was_made_with():
    assert scores("seen").contradicted.precision >= 0.95 and scores("seen").contradicted.recall >= 0.62
    assert scores("seen").supported.precision >= 0.96 and scores("seen").supported.recall >= 0.4


@pytest.mark.parametrize("path", sorted((CORPUS / "seen").glob("*.txt"))[::4], ids=lambda path: path.stem)
def test_no_sentence_supports_itself(path):
    """A sentence is taken out of the text, and held against what is left: its verdict stays, or nothing is known any more."""
    text = path.read_text(encoding="utf-8")
    data = read_chart_data(text)
    lines = text.split("\n")
    for statement, checked in zip(ClaimReader(data).read(), check_own_numbers(data), strict=True):
        if checked.verdict.judgement is Judgement.UNTESTABLE or statement.sentence.text not in lines[checked.line - 1]:
            continue
        rest = lines.copy()
        rest[checked.line - 1] = rest[checked.line - 1].replace(statement.sentence.text, "")
        without = judge(statement, text_evidence(read_chart_data("\n".join(rest))))
        assert without.judgement in (checked.verdict.judgement, Judgement.UNTESTABLE), statement.sentence.text
