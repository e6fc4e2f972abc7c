"""Grading a file: a JSON object a line in, the same objects out, each with its verdict.

A line that cannot be read is answered too, with verdict `error` and the reason, so that line n of the output belongs to line n
of the input whatever happens (blank lines are passed over).
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from passus.atomic_io import write_atomic
from passus.errors import UsageError
from passus.grading.grade import Grade, Rule, Verdict, grade_all

LINES = 2000
"""Graded at a time: bounds the memory, not the result."""
KINDS = ("math", "choice")


def grade_file(source: Path, target: Path) -> Counter[str]:
    """How many lines had which verdict."""
    if not source.is_file():
        raise UsageError(f"--input {source}: no such file", expected='a JSON object a line: {"gold": ..., "output": ...}')
    counts: Counter[str] = Counter()

    def write(path: Path) -> None:
        # Line feeds alone end a line: texts contain other characters that Python takes for one.
        with source.open(encoding="utf-8-sig", errors="replace", newline="\n") as lines, path.open("w") as out:
            for row in graded(line for line in lines if line.strip()):
                counts[row["verdict"]] += 1
                out.write(json.dumps(row) + "\n")  # in ASCII: half a character, as JSON may have it, has no other form

    target.parent.mkdir(parents=True, exist_ok=True)
    write_atomic(target, write, durable=False)
    return counts


def graded(lines: Iterable[str]) -> Iterator[dict[str, Any]]:
    lines = iter(lines)
    while part := list(islice(lines, LINES)):
        cases = [_case(line) for line in part]
        whole = [case for case, reason in cases if not reason]
        grades = iter(
            grade_all(
                [case["output"] for case in whole], [case["gold"] for case in whole], [_rule(case) for case in whole],
                [case.get("truncated", False) for case in whole],
            )
        )  # fmt: skip
        for case, reason in cases:
            found = Grade(Verdict.ERROR, None, reason=reason) if reason else next(grades)
            yield case | {"verdict": str(found.verdict), "extracted": found.extracted, "reason": found.reason}


def _case(line: str) -> tuple[dict[str, Any], str]:
    """The line's object, and why it cannot be graded, if it cannot."""
    try:
        case = json.loads(line)
    except (ValueError, RecursionError) as error:
        return {"line": line.rstrip("\n")[:200]}, f"not JSON: {error}"[:200]
    if not isinstance(case, dict):
        return {"line": line.rstrip("\n")[:200]}, "not a JSON object"
    for key in ("gold", "output"):
        if not isinstance(case.get(key), str):
            return case, f"{key} is {'missing' if key not in case else 'no text'}"
    if (case.get("kind") or "math") not in KINDS:
        return case, f"kind is {case['kind']!r}; expected {' or '.join(KINDS)}"
    if not isinstance(case.get("truncated", False), bool):
        return case, f"truncated is {case['truncated']!r}; expected true or false"
    return case, ""


def _rule(case: dict[str, Any]) -> Rule:
    choices = case.get("choices")
    texts = tuple(map(str, choices)) if isinstance(choices, list) else ()
    return Rule("choice" if case.get("kind") == "choice" else "math", texts)
