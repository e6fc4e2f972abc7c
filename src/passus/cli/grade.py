"""`passus grade`: a file with one JSON object per line in, the same objects with their verdicts out.

A line that cannot be graded gets the verdict `error` and the reason, so that line n of the output always belongs to line n
of the input. The command then ends with exit code 2 and says which lines lack what. Blank lines are skipped, keys that grading
does not use are kept, and a file without any line is refused.
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from passus.cli.options import check_jobs
from passus.errors import UsageError, nearest, shown

if TYPE_CHECKING:
    from passus.grading.verdict import Extract, Grade, Rule

CHUNK_LINES = 2000
"""Lines that are graded together. Bounds the memory and does not change the result."""
KINDS = ("math", "choice")
SHOWN = 160
"""Characters of a text in the list of disagreements."""
CORRECT = "correct"
REQUIRED, OPTIONAL = ("gold", "output"), ("kind", "choices", "truncated")
"""Keys of a line that grading reads."""
MAX_NUMBERS, MAX_REASONS = 5, 8
"""Line numbers per reason, and reasons, that the message about lines without a grade lists."""
EXPECTED = '{"gold": "...", "output": "..."} in every line, with a gold that is not empty'


def grade(
    *,
    input_: Annotated[Path, Parameter(name="--input")],
    output: Path,
    extract: Literal["any", "boxed"] = "any",
    explain: Annotated[bool, Parameter(negative=(), show_default=False)] = False,
    against: Literal["math-verify"] | None = None,
    jobs: int | None = None,
    timeout: float = 3.0,
) -> int:
    """Grade the outputs in a file with the verifier that training and evaluation use.

    Parameters
    ----------
    input_
        One JSON object per line: gold, output, and optionally kind (math or choice), choices, truncated. Other keys are kept.
    output
        File for the same lines in the same order, each with verdict, extracted, reason and extract.
    extract
        Answers that count. any: a box, else an answer announced in words. boxed: a box alone, as in training.
    explain
        Print how each verdict came about: what was extracted by which rule, how it was parsed, and how it was compared.
    against
        Grade with math-verify too, and list the lines where it disagrees.
    jobs
        Number of processes for answers that need computer algebra. Default: one per core.
    timeout
        Seconds for one such answer, counted from when a process takes it.
    """
    from passus.config.resolve import default_threads
    from passus.console import print_next_commands
    from passus.grading.math_verify_pool import shared_pool

    check_jobs(1 if jobs is None else jobs)
    if not 0 < timeout <= 3600:
        raise UsageError(f"--timeout {timeout:g}", expected="seconds, more than 0 and at most 3600")
    shared_pool().configure(jobs or default_threads(), timeout)
    graded = grade_file(input_, output, extract, explain=explain, against=against is not None)
    print(graded.summary)
    _warn_of_keys(graded)
    _check_refused(graded, input_, output)
    print_next_commands(f"head {output}")
    return 0


@dataclass
class GradedFile:
    """What was counted while a file was graded."""

    extract: "Extract"
    counts: Counter[str] = field(default_factory=Counter)
    refused: dict[str, "RefusedLines"] = field(default_factory=dict)
    """Lines that cannot be graded, by kind of reason."""
    misspelt: dict[str, tuple[str, int]] = field(default_factory=dict)
    """Keys that are not used, with the key that is probably meant and the first line that has it."""
    compared: int = 0
    """Lines that math-verify graded too."""
    disagreements: int = 0

    @property
    def summary(self) -> str:
        verdicts = ", ".join(f"{count} {verdict}" for verdict, count in self.counts.most_common())
        text = f"{sum(self.counts.values())} lines: {verdicts} (extract = {self.extract})"
        return text + (f"\nmath-verify disagrees on {self.disagreements} of {self.compared} lines" if self.compared else "")


@dataclass
class RefusedLines:
    """Lines that cannot be graded for one kind of reason."""

    reason: str
    """Of the first of them."""
    numbers: list[int] = field(default_factory=list)
    """The first of them."""
    count: int = 0

    def __str__(self) -> str:
        listed = ", ".join(map(str, self.numbers))
        more = f" and {self.count - len(self.numbers):,} more" if self.count > len(self.numbers) else ""
        return f"{self.reason} (line{'s' * (self.count > 1)} {listed}{more})"


def _check_refused(graded: GradedFile, source: Path, target: Path) -> None:
    if graded.refused:
        count, total = sum(lines.count for lines in graded.refused.values()), sum(graded.counts.values())
        reasons = [str(lines) for lines in graded.refused.values()]
        listed = "; ".join(reasons[:MAX_REASONS]) + ("; ..." if len(reasons) > MAX_REASONS else "")
        rest = f"{target} holds the verdicts on the others" if count < total else f"every verdict in {target} is error"
        hints = ", ".join(f"{right} instead of {given}" for given, (right, _) in graded.misspelt.items())
        raise UsageError(
            f"{source}: {count:,} of {total:,} lines cannot be graded: {listed}. {rest}", expected=EXPECTED, write=hints or None
        )


def _warn_of_keys(graded: GradedFile) -> None:
    """Says which keys look like misspelt ones of those that grading reads."""
    from passus.console import print_line

    for given, (right, number) in graded.misspelt.items():
        print_line(f"line {number}: the key {shown(given, SHOWN)} is not used; {right} is")


def _note_keys(case: "Case", graded: GradedFile) -> None:
    for key in case.row if len(graded.misspelt) < MAX_REASONS else ():
        right = _meant(key)
        if right and right not in case.row:
            graded.misspelt.setdefault(key, (right, case.number))


@lru_cache(maxsize=1000)
def _meant(key: str) -> str | None:
    """Returns the key of grading that a key looks like, if it is none of them."""
    known = (*REQUIRED, *OPTIONAL)
    return None if key in known else nearest(key, known)


def _note_refusal(case: "Case", graded: GradedFile) -> None:
    lines = graded.refused.setdefault(case.refusal.partition(":")[0], RefusedLines(case.refusal))
    lines.count += 1
    if len(lines.numbers) < MAX_NUMBERS:
        lines.numbers.append(case.number)


@dataclass
class Case:
    """One line of the input."""

    number: int
    row: dict[str, Any]
    refusal: str = ""
    """Why it cannot be graded."""

    @property
    def rule(self) -> "Rule":
        from passus.grading.verdict import Rule

        choices = self.row.get("choices")
        texts = tuple(map(str, choices)) if isinstance(choices, list) else ()
        return Rule("choice" if self.row.get("kind") == "choice" else "math", texts)

    @property
    def truncated(self) -> bool:
        return bool(self.row.get("truncated", False))


def grade_file(
    source: Path, target: Path, extract: "Extract" = "any", *, explain: bool = False, against: bool = False
) -> GradedFile:
    """Grades a file. Returns what was counted."""
    from passus.atomic_io import write_atomic

    if not source.is_file():
        raise UsageError(f"--input {source}: no such file", expected=f"a file with {EXPECTED}")
    _check_not_empty(source)
    graded = GradedFile(extract)

    def write(path: Path) -> None:
        # newline="\n": texts contain other characters that Python takes for line breaks.
        with source.open(encoding="utf-8-sig", errors="replace", newline="\n") as lines, path.open("w") as out:
            for row in grade_lines(lines, graded, explain=explain, against=against):
                out.write(json.dumps(row) + "\n")  # ASCII, because JSON may hold unpaired surrogates, which UTF-8 cannot encode

    target.parent.mkdir(parents=True, exist_ok=True)
    write_atomic(target, write, durable=False)
    return graded


def _check_not_empty(source: Path) -> None:
    with source.open("rb") as lines:
        if not any(line.strip(b"\xef\xbb\xbf \t\r\n") for line in lines):
            raise UsageError(f"--input {source} holds no lines to grade", expected=EXPECTED)


def grade_lines(lines: Iterable[str], graded: GradedFile, *, explain: bool, against: bool) -> Iterator[dict[str, Any]]:
    """Yields the object of each line with its verdict, the extracted answer, the reason and the mode of extraction."""
    from passus.grading.grade import grade_all
    from passus.grading.verdict import Grade, Verdict

    numbered = ((number, line) for number, line in enumerate(lines, start=1) if line.strip())
    while chunk := list(islice(numbered, CHUNK_LINES)):
        cases = [_parse_case(number, line) for number, line in chunk]
        valid = [case for case in cases if not case.refusal]
        outputs, golds = [case.row["output"] for case in valid], [case.row["gold"] for case in valid]
        rules, truncated = [case.rule for case in valid], [case.truncated for case in valid]
        grades = iter(grade_all(outputs, golds, rules, truncated, graded.extract))
        second = _math_verify_verdicts(valid) if against else {}
        for case in cases:
            result = Grade(Verdict.ERROR, None, reason=case.refusal) if case.refusal else next(grades)
            graded.counts[str(result.verdict)] += 1
            _note_keys(case, graded)
            if case.refusal:
                _note_refusal(case, graded)
            elif explain:
                _print_explanation(case, result, graded.extract)
            yield _output_row(case, result, graded, second.get(case.number))


def _output_row(case: Case, result: "Grade", graded: GradedFile, second: str | None) -> dict[str, Any]:
    row = case.row | {"verdict": str(result.verdict), "extracted": result.extracted, "reason": result.reason}
    row["extract"] = graded.extract
    if second is not None:
        row["math_verify"] = second
        graded.compared += 1
        if (second == CORRECT) != (result.verdict == CORRECT):
            graded.disagreements += 1
            _print_disagreement(case, result, second)
    return row


def _math_verify_verdicts(cases: list[Case]) -> dict[int, str]:
    """Returns math-verify's verdicts on the whole outputs, by line. Choices and truncated outputs are not its subject."""
    from passus.grading.math_verify_pool import shared_pool

    chosen = [case for case in cases if case.rule.kind == "math" and not case.truncated]
    rulings = shared_pool().verify_outputs([(case.row["gold"], case.row["output"]) for case in chosen])
    verdicts = [f"error: {ruling.error}" if ruling.error else CORRECT if ruling.equal else "wrong" for ruling in rulings]
    return {case.number: verdict for case, verdict in zip(chosen, verdicts, strict=True)}


def _print_disagreement(case: Case, result: "Grade", second: str) -> None:
    from passus.console import print_line

    print_line(f"line {case.number}: passus {result.verdict} ({result.reason}), math-verify {second}")
    print_line(f"  gold {shown(case.row['gold'], SHOWN)}, extracted {shown(result.extracted, SHOWN)}")
    print_line(f"  output ends {shown(case.row['output'][-SHOWN:], 2 * SHOWN)}")


def _print_explanation(case: Case, result: "Grade", extract: "Extract") -> None:
    from passus.console import print_line
    from passus.grading.explanation import explain_grade

    steps = explain_grade(
        case.row["output"], case.row["gold"], result, truncated=case.truncated, rule=case.rule, extract=extract
    )
    for text in (f"line {case.number}", *(f"  {step}" for step in steps)):
        print_line(text)


def _parse_case(number: int, line: str) -> Case:
    """Returns the object of a line, with the reason why it cannot be graded, if there is one."""
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as error:
        return Case(number, {"line": line.rstrip("\n")[:200]}, f"not JSON: {error}"[:200])
    if not isinstance(row, dict):
        return Case(number, {"line": line.rstrip("\n")[:200]}, "not a JSON object")
    return Case(number, row, _refusal(row))


def _refusal(row: dict[str, Any]) -> str:
    if missing := [key for key in REQUIRED if key not in row]:
        return f"{' and '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing"
    for key in REQUIRED:
        if not isinstance(row[key], str):
            return f"{key} is not a string"
    if not row["gold"].strip():
        return "gold is empty"
    if (row.get("kind") or "math") not in KINDS:
        return f"kind is {shown(row['kind'])}; expected {' or '.join(KINDS)}"
    if not isinstance(row.get("truncated", False), bool):
        return f"truncated is {shown(row['truncated'])}; expected true or false"
    return ""
