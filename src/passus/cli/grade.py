"""`passus grade`: a file with one JSON object per line in, the same objects with their verdicts out.

A line that cannot be graded gets the verdict `error` and the reason, so that line n of the output always belongs to line n
of the input. Blank lines are skipped.
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from passus.cli.options import check_jobs
from passus.errors import UsageError

if TYPE_CHECKING:
    from passus.grading.grade import Rule

CHUNK_LINES = 2000
"""Lines that are graded together. Bounds the memory and does not change the result."""
KINDS = ("math", "choice")


def grade(
    *,
    input_: Annotated[Path, Parameter(name="--input")],
    output: Path,
    jobs: int | None = None,
    timeout: float = 3.0,
) -> int:
    """Grade the outputs in a file with the verifier that training and evaluation use.

    Parameters
    ----------
    input_
        File with one JSON object per line: gold, output, and optionally kind (math or choice), choices and truncated.
    output
        File for the same lines in the same order, each with verdict, extracted and reason.
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
    counts = grade_file(input_, output)
    print(f"{sum(counts.values())} lines: " + ", ".join(f"{count} {verdict}" for verdict, count in counts.most_common()))
    print_next_commands(f"head {output}")
    return 0


def grade_file(source: Path, target: Path) -> Counter[str]:
    """Grades a file. Returns the number of lines per verdict."""
    from passus.atomic_io import write_atomic

    if not source.is_file():
        raise UsageError(f"--input {source}: no such file", expected='one JSON object per line: {"gold": ..., "output": ...}')
    counts: Counter[str] = Counter()

    def write(path: Path) -> None:
        # newline="\n": texts contain other characters that Python takes for line breaks.
        with source.open(encoding="utf-8-sig", errors="replace", newline="\n") as lines, path.open("w") as out:
            for row in grade_lines(line for line in lines if line.strip()):
                counts[row["verdict"]] += 1
                out.write(json.dumps(row) + "\n")  # ASCII, because JSON may hold unpaired surrogates, which UTF-8 cannot encode

    target.parent.mkdir(parents=True, exist_ok=True)
    write_atomic(target, write, durable=False)
    return counts


def grade_lines(lines: Iterable[str]) -> Iterator[dict[str, Any]]:
    """Yields the object of each line with its verdict, the extracted answer and the reason."""
    from passus.grading.grade import Grade, Verdict, grade_all

    lines = iter(lines)
    while chunk := list(islice(lines, CHUNK_LINES)):
        cases = [_parse_case(line) for line in chunk]
        gradable = [case for case, reason in cases if not reason]
        grades = iter(
            grade_all(
                [case["output"] for case in gradable], [case["gold"] for case in gradable], [_rule(case) for case in gradable],
                [case.get("truncated", False) for case in gradable],
            )
        )  # fmt: skip
        for case, reason in cases:
            graded = Grade(Verdict.ERROR, None, reason=reason) if reason else next(grades)
            yield case | {"verdict": str(graded.verdict), "extracted": graded.extracted, "reason": graded.reason}


def _parse_case(line: str) -> tuple[dict[str, Any], str]:
    """Returns the object of a line, and the reason why it cannot be graded, if there is one."""
    try:
        case = json.loads(line)
    except (ValueError, RecursionError) as error:
        return {"line": line.rstrip("\n")[:200]}, f"not JSON: {error}"[:200]
    if not isinstance(case, dict):
        return {"line": line.rstrip("\n")[:200]}, "not a JSON object"
    for key in ("gold", "output"):
        if not isinstance(case.get(key), str):
            return case, f"{key} is {'missing' if key not in case else 'not a string'}"
    if (case.get("kind") or "math") not in KINDS:
        return case, f"kind is {case['kind']!r}; expected {' or '.join(KINDS)}"
    if not isinstance(case.get("truncated", False), bool):
        return case, f"truncated is {case['truncated']!r}; expected true or false"
    return case, ""


def _rule(case: dict[str, Any]) -> "Rule":
    from passus.grading.grade import Rule

    choices = case.get("choices")
    texts = tuple(map(str, choices)) if isinstance(choices, list) else ()
    return Rule("choice" if case.get("kind") == "choice" else "math", texts)
