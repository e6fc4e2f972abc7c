"""`passus check`: a draft held against curves."""

import json

import pytest

from helpers.command import passus_in_process
from passus.runs.curve import Curve, CurvePoint, Curves
from passus.runs.curve_file import write_curve_file

GRPO = [0.1, 0.3, 0.5, 0.6, 0.62, 0.6]
SFT = [0.2, 0.25, 0.3, 0.3, 0.29, 0.3]
TRUE = "GRPO ends above SFT. GRPO overtakes SFT between steps 0 and 10. SFT never exceeds 0.35."
FALSE = "SFT ends above GRPO. GRPO peaks at step 20. SFT reaches 0.5 at step 30."
UNTESTABLE = "GRPO needs more memory. We believe that GRPO ends above SFT. The learning rate was 1e-6."


@pytest.fixture
def folder(tmp_path):
    series = [
        Curve(name, "", [CurvePoint(10.0 * i, y) for i, y in enumerate(values)], 500, 4)
        for name, values in (("GRPO", GRPO), ("SFT", SFT))
    ]
    write_curve_file(Curves("A", "step", "accuracy", series), tmp_path / "curves.json")
    return tmp_path


def verdicts(folder, text: str, *options: str) -> tuple[int, list[dict]]:
    (folder / "draft.md").write_text(text)
    done = passus_in_process("check", "draft.md", "curves.json", "--json", *options, cwd=folder)
    return done.returncode, [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.parametrize(("text", "verdict"), [(TRUE, "supported"), (FALSE, "contradicted"), (UNTESTABLE, "untestable")])
def test_three_drafts(folder, text, verdict):
    code, rows = verdicts(folder, text)
    assert code == 0 and [row["verdict"] for row in rows] == [verdict] * 3
    assert "".join(row["text"] for row in rows).replace(" ", "") == text.replace(" ", "")


def test_a_contradiction_can_be_an_error(folder):
    assert verdicts(folder, FALSE, "--fail-on-contradiction")[0] == 3
    assert verdicts(folder, TRUE + UNTESTABLE, "--fail-on-contradiction")[0] == 0


def test_a_verdict_names_what_it_was_held_against(folder):
    rows = verdicts(folder, "SFT reaches 0.5 at step 30.")[1]
    assert "SFT .300 at 30" in rows[0]["because"] and "last digit" in rows[0]["because"]


def test_lines_are_those_of_the_file_also_where_a_sentence_is_wrapped(folder):
    rows = verdicts(folder, "First line.\n\nGRPO ends\nabove SFT.\n")[1]
    assert [(row["line"], row["verdict"]) for row in rows] == [(1, "untestable"), (3, "supported")]


def test_without_anything_to_hold_it_against(folder):
    (folder / "draft.md").write_text(TRUE)
    done = passus_in_process("check", "draft.md", cwd=folder)
    assert done.returncode == 2 and "write: passus check draft.md runs/NAME" in done.stderr


def test_curves_that_are_named_by_their_benchmark_are_compared(folder):
    series = [
        Curve(name, name, [CurvePoint(0.0, 0.1), CurvePoint(10.0, y)], 30, 1) for name, y in (("AIME", 0.3), ("MATH", 0.9))
    ]
    write_curve_file(Curves("A", "step", "accuracy", series), folder / "curves.json")
    rows = verdicts(folder, "MATH ends above AIME. On AIME, accuracy ends above 0.5.")[1]
    assert [row["verdict"] for row in rows] == ["supported", "contradicted"]
