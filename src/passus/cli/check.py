"""`passus check`: the sentences of a text, held against runs or curves."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from passus.cli.options import Json

if TYPE_CHECKING:
    from passus.analysis.claim_check import CheckedSentence


def check(
    text: Path,
    /,
    *sources: Path,
    fail_on_contradiction: Annotated[bool, Parameter(negative=(), show_default=False)] = False,
    json_: Json = False,
) -> int:
    """Check the sentences of a text against runs or curves: each is supported, contradicted or untestable.

    Several runs of one line are compared with the 95 % interval over runs, a single
    run with that over items. A sentence that the intervals leave open is untestable.

    Parameters
    ----------
    text
        Text file: a paragraph of a paper, a caption, a draft.
    sources
        Run folders, folders of run folders, curve files (JSON), or names of shipped curves, such as kimi-k1.5.
    fail_on_contradiction
        Exit with code 3 if a sentence is contradicted.
    json_
        Print one JSON object per sentence.
    """
    from passus.analysis.claim_check import check_against
    from passus.analysis.claim_verdict import Judgement
    from passus.cli.read import read_text_file
    from passus.console import json_line
    from passus.errors import UsageError
    from passus.runs.read_curves import load_curves

    if not sources:
        raise UsageError("no runs or curves", expected="what to hold the text against", write=f"passus check {text} runs/NAME")
    checked = check_against(read_text_file(text), load_curves(list(sources)))
    for sentence in checked:
        if json_:
            row = {
                "line": sentence.line,
                "verdict": str(sentence.verdict.judgement),
                "text": sentence.text,
                "because": sentence.because,
            }
            print(json_line(row))
        else:
            _print(sentence)
    contradicted = any(sentence.verdict.judgement is Judgement.CONTRADICTED for sentence in checked)
    return 3 if fail_on_contradiction and contradicted else 0


def _print(sentence: "CheckedSentence") -> None:
    from passus.console import print_line
    from passus.formatting import printable_line

    print_line(f"line {sentence.line}, {sentence.verdict.judgement}: {printable_line(sentence.text)}")
    if sentence.because:
        print_line(f"    {printable_line(sentence.because)}")
