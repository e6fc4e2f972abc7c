"""Conversion of one row of a dataset into an item: the problem, the gold in the form that is compared, the options."""

import hashlib
import random
import re
from collections.abc import Mapping
from itertools import islice
from typing import Any

from passus.errors import UsageError
from passus.grading.boxes import BOX
from passus.grading.verdict import Rule
from passus.tasks.benchmark_spec import Benchmark, Fields, Kind
from passus.tasks.few_shot import boxed_style
from passus.tasks.item import Item
from passus.tasks.prompt import LETTERS, with_options
from passus.tasks.reference_answer import short_answer

LEAKED_ANSWER = re.compile(r"(?i)\banswers?\s*:")
MAX_TEXT = 100_000
"""Characters of a problem, an answer or a worked solution. Tokenizing and grading take time with the length."""
MAX_GOLD = 10_000
"""Characters of an answer that a rule compares."""
MAX_ID = 1000
"""Characters of an item's id."""
MAX_CLUSTER = 100
"""Characters of a cluster's name. A longer text is replaced by its hash."""
MAX_OPTIONS = 10
"""The verifier knows the letters A to J."""
ESCAPES = (("\x0c", "f"), ("\x08", "b"), ("\x07", "a"), ("\x0b", "v"))


def make_item(benchmark: Benchmark, fields: Fields, index: int, place: str, row: Any) -> Item:
    """Converts a row; raises UsageError with the place of a row that is not an item."""
    try:
        return _make_item(benchmark, fields, index, row)
    except (KeyError, TypeError, AttributeError, ValueError, IndexError) as error:
        content = f"it has {', '.join(islice(map(str, row), 20))}" if isinstance(row, dict) else f"it is {type(row).__name__}"
        reason = f"no {error.args[0]!r}" if isinstance(error, KeyError) else str(error)
        raise UsageError(
            f"{place} is not an item of {benchmark.name}: {reason} ({content[:200]})",
            expected=f"{fields.problem} and {fields.answer}, as texts",
            write="?problem=FIELD&answer=FIELD after the name, where the fields have other names",
        ) from None


def _make_item(benchmark: Benchmark, fields: Fields, index: int, row: Mapping[str, Any]) -> Item:
    problem = _text(row["question"] if fields.problem == "problem" and "problem" not in row else row[fields.problem])
    if row.get("note") and (leaked := LEAKED_ANSWER.search(problem)):  # marks items whose problem text ends in its answer
        problem = problem[: leaked.start()].rstrip()
    gold, choices = _gold_and_choices(fields, row, problem)
    kind = _kind(benchmark, row, choices)
    if benchmark.short_answers:
        short = short_answer(problem, gold)
        gold, kind = (short[0], "choice" if short[1] else "math") if short else (gold, "judge")
    if kind != "judge" and len(gold) > MAX_GOLD:
        raise ValueError(f"an answer of {len(gold):,} characters, more than {MAX_GOLD:,}, can only be graded by a judge")
    return Item(
        benchmark=benchmark.name,
        index=index,
        question=with_options(problem, choices) if choices else problem,
        gold=gold,
        solution=_solution(fields, row, gold),
        rule=Rule(kind, choices, _tolerance(benchmark, gold)),
        id=f"#{index}" if row.get(fields.id) is None else _id(row[fields.id]),
        style=boxed_style("choice" if kind == "choice" else "math", benchmark.language, benchmark.shots),
        cluster=str(row[benchmark.exercises]).rpartition(".")[0] if benchmark.exercises else _cluster(fields, row),
    )


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r:.60} is not a text")
    if not value.strip():
        raise ValueError("a text is empty")
    if len(value) > MAX_TEXT:
        raise ValueError(f"a text has {len(value):,} characters, more than {MAX_TEXT:,}")
    return restore_backslashes(value)


def _option(value: Any) -> str:
    text = str(value)
    if len(text) > MAX_TEXT:
        raise ValueError(f"an option has {len(text):,} characters, more than {MAX_TEXT:,}")
    return text


def _id(value: Any) -> str:
    text = str(value)
    if len(text) > MAX_ID:
        raise ValueError(f"an id has {len(text):,} characters, more than {MAX_ID}")
    return text


def _cluster(fields: Fields, row: Mapping[str, Any]) -> str:
    """Returns the row's cluster. A field that was named must be in every row; null means a cluster of its own.

    The field may hold a whole passage. Its hash is enough to tell which items share it, and each item row records it.
    """
    value = row.get(fields.cluster) if fields.cluster in ("", Fields.cluster) else row[fields.cluster]
    if isinstance(value, bool) or not isinstance(value, str | int | float | None):
        raise TypeError(f"{fields.cluster} is {value!r:.60}, not a text or a number")
    text = "" if value is None else str(value)
    return text if len(text) <= MAX_CLUSTER else hashlib.sha256(text.encode()).hexdigest()[:16]


def restore_backslashes(text: str) -> str:
    """Restores commands that lost their backslash to an escape: a form feed and `rac` was `\\frac`."""
    for character, letter in ESCAPES:
        text = re.sub(rf"{character}(?=[a-z])", rf"\\{letter}", text)
    return re.sub(r"\t(?=(?:ext|imes|heta|riangle|an|frac|o)(?![a-z]))", r"\\t", text)


def _tolerance(benchmark: Benchmark, gold: str) -> float:
    """Returns the tolerance. In a benchmark of the table it holds only for golds that may have been rounded."""
    may_be_rounded = re.search(r"\d\.\d|\\times|10\^|\de-?\d", gold)
    return benchmark.tolerance if benchmark.custom or may_be_rounded else 0.0


def _kind(benchmark: Benchmark, row: Mapping[str, Any], choices: tuple[str, ...]) -> Kind:
    """Returns the kind of answer. A row may state it by `kind`, by `type` mcq, or by `rule_gradable` beside judged items."""
    kind = row.get("kind")
    if kind in ("math", "choice", "judge"):
        stated: Kind = kind
        return stated
    if benchmark.custom and kind is not None:
        raise ValueError(f"kind is {kind!r:.40}; expected math, choice or judge")
    if choices or row.get("type") == "mcq":
        return "choice"
    return "math" if benchmark.kind == "judge" and row.get("rule_gradable") else benchmark.kind


def _gold_and_choices(fields: Fields, row: Mapping[str, Any], problem: str) -> tuple[str, tuple[str, ...]]:
    if fields.form == "option":
        right = _text(row[fields.answer]).strip()
        wrong = [_text(row[name]).strip() for name in fields.choices.split(",")]
        choices = shuffled_options([right, *wrong], problem)
        return LETTERS[choices.index(right)], choices
    options = row.get(fields.choices) if fields.choices else None
    if options and not isinstance(options, list):
        raise TypeError(f"{fields.choices} is {type(options).__name__}, not a list of options")
    if options and len(options) > MAX_OPTIONS:
        raise ValueError(f"{len(options)} options; at most {MAX_OPTIONS} are supported")
    choices = tuple(_option(option) for option in options) if options else ()  # an option may be a picture that the data lacks
    answer = row[fields.answer]
    if fields.form == "index":
        return LETTERS[range(len(choices))[int(answer)]], choices
    if isinstance(answer, (int, float)) and not isinstance(answer, bool):
        answer = str(answer)
    gold = _gold(fields, _text(answer))
    return _option_letters(gold, choices) if choices else gold, choices


def _option_letters(gold: str, choices: tuple[str, ...]) -> str:
    """Returns the gold if it consists of letters, else the letter of the option whose text it is."""
    if set(gold) <= set(LETTERS[: len(choices)]):
        return gold
    if gold not in choices:
        raise ValueError(f"the answer {gold!r:.60} is neither a letter nor the text of an option")
    return LETTERS[choices.index(gold)]


def _gold(fields: Fields, answer: str) -> str:
    if fields.form == "boxed":
        return _boxed_gold(answer)
    if fields.form == "integer":
        return _integer_gold(answer)
    gold = answer.rpartition("####")[2].strip()
    if fields.form == "hashes" or "####" in answer:
        gold = re.sub(r"(?<=\d),(?=\d{3}(?!\d))", "", gold) if not re.search(r"[(\[{]", gold) else gold
    if not gold:
        raise ValueError("the answer is empty")
    return gold


def _boxed_gold(solution: str) -> str:
    """Returns the content of the last box. Some solutions write `\\boxed 2`, others \\fbox."""
    box = max(solution.rfind("\\boxed"), solution.rfind("\\fbox"))
    content = re.sub(r"^\\(boxed|fbox)\s*", "", solution[box:]) if box >= 0 else ""
    if not content.startswith("{"):
        return _text(re.split(r"[\s$.]", content)[0])
    depth = 0
    for i, character in enumerate(content):
        depth += {"{": 1, "}": -1}.get(character, 0)
        if depth == 0:
            return _text(content[1:i])
    raise ValueError(f"the braces of the last {BOX}...}} are not balanced")


def _integer_gold(answer: str) -> str:
    """Returns 25 for 025, 25.0 and 25^\\circ."""
    match = re.fullmatch(r"\$?(-?)0*(\d+)(?:\.0*)?(?:\^\{?\\circ\}?)?\$?", answer.strip())
    if not match:
        raise ValueError(f"{answer!r:.60} is not an integer")
    return match[1] + match[2]


def shuffled_options(options: list[str], problem: str) -> tuple[str, ...]:
    """Shuffles options whose right one comes first. The order is a function of the problem alone."""
    order = list(options)
    random.Random(hashlib.sha256(problem.encode()).hexdigest()).shuffle(order)
    return tuple(order)


def _solution(fields: Fields, row: Mapping[str, Any], gold: str) -> str:
    """Returns the worked solution, without calculator annotations (<<48/2=24>>) and with its answer in a box."""
    worked = row.get(fields.solution) or (row[fields.answer] if "####" in str(row[fields.answer]) else "")
    text = re.sub(r"<<[^<>]*>>", "", (_text(worked) if worked else "").partition("####")[0]).strip()
    if not text:
        return ""
    return text if BOX in text else f"{text}\n{BOX}{gold}}}"
