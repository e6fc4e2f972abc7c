"""From a row of the table to items: data from a local file or from the hub, every row checked, every complaint with its place.

No data ships with passus. Files are looked for in $PASSUS_DATA; what is not there comes from the hub, and stays in the cache of
Hugging Face's datasets.
"""

import hashlib
import json
import os
import random
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from passus.errors import UsageError
from passus.grading.grade import BOX, Rule, check_gold
from passus.tasks import few_shot
from passus.tasks.benchmark_spec import Benchmark, Fields, Hub
from passus.tasks.item import Item
from passus.tasks.prompt import BOXED, LETTERS, Style, with_options
from passus.tasks.reference_answer import short_answer

DATA = "PASSUS_DATA"
LEAK = re.compile(r"(?is)\s*\banswers?\s*:.*$")
MOST_OPTIONS = 10
"""As many as the verifier has letters for."""
Row = tuple[str, Any]
"""Where a row stands, and what it holds."""


def items_of(benchmark: Benchmark) -> tuple[Item, ...]:
    """All of them, in the order of the data; an item's number is its place there."""
    return _items(benchmark, os.environ.get(DATA, ""))


@lru_cache(maxsize=64)
def _items(benchmark: Benchmark, folder: str) -> tuple[Item, ...]:
    found: dict[str, tuple[str, Item]] = {}
    rows, fields = _rows(benchmark, folder)
    for where, row in rows:
        item = _item(benchmark, fields, len(found), where, row)
        if item.id in found:
            raise UsageError(
                f"{where}: id {item.id!r} is also that of {found[item.id][0]}", expected="ids that differ, or none at all"
            )
        found[item.id] = where, item
    if not found:
        raise UsageError(f"{benchmark.name} has no items", expected="a line of JSON a problem: problem, answer")
    return tuple(item for _, item in found.values())


def is_local(benchmark: Benchmark) -> bool:
    return bool(benchmark.files) and all(path.is_file() for path in _paths(benchmark, os.environ.get(DATA, "")))


def _paths(benchmark: Benchmark, folder: str) -> list[Path]:
    """A user's file is named by its path, or lies in the folder too; those of the table lie there and nowhere else."""
    own = benchmark.own
    return [Path(name) if own and Path(name).is_file() else Path(folder) / name for name in benchmark.files]


def _rows(benchmark: Benchmark, folder: str) -> tuple[Iterator[Row], Fields]:
    if is_local(benchmark):
        paths = _paths(benchmark, folder)
        return (row for path in paths for row in _of_file(path) if _belongs(benchmark, row)), benchmark.fields
    if benchmark.hub is not None:
        return _of_hub(benchmark), benchmark.hub.fields
    absent = [str(path) for path in _paths(benchmark, folder) if not path.is_file()]
    raise UsageError(
        f"{benchmark.name}: no file {' nor '.join(absent)}",
        expected=f"{DATA} (or --data) set to a folder with {', '.join(benchmark.files)}",
    )


def _of_file(path: Path) -> Iterator[Row]:
    try:  # split at line feeds only: problems contain other characters that Python takes for line breaks
        lines = path.read_text(encoding="utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} cannot be read: {error}", expected="a text in UTF-8, a line of JSON a problem") from None
    for number, line in enumerate(lines, start=1):
        if line.strip():
            yield f"{path}, line {number}", _parsed(line, f"{path}, line {number}")


def _parsed(line: str, where: str) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{where} is not JSON: {error}", expected="a line of JSON a problem: problem, answer") from None


def _belongs(benchmark: Benchmark, row: Row) -> bool:
    if benchmark.only is None:
        return True
    field, starts = benchmark.only
    return isinstance(row[1], dict) and str(row[1].get(field, "")).startswith(starts)


def _of_hub(benchmark: Benchmark) -> Iterator[Row]:
    assert benchmark.hub is not None
    for config in benchmark.hub.configs:
        name = f"{benchmark.hub.dataset}{f', {config}' if config else ''}, {benchmark.hub.split}"
        for number, row in enumerate(_pull(benchmark, benchmark.hub, config)):
            yield f"{name}, row {number}", row


def _pull(benchmark: Benchmark, hub: Hub, config: str) -> list[Any]:
    from datasets import load_dataset
    from datasets.exceptions import DatasetsError

    try:
        pulled = load_dataset(hub.dataset, config or None, split=hub.split, revision=hub.revision, streaming=hub.gated)
        return list(pulled)
    except (DatasetsError, OSError, ValueError) as error:
        lines = str(error).strip().splitlines() or [type(error).__name__]
        local = f", or {DATA} (or --data) set to a folder with {', '.join(benchmark.files)}" if benchmark.files else ""
        terms = f"; its terms accepted at huggingface.co/datasets/{hub.dataset}, and HF_TOKEN set" if hub.gated else ""
        raise UsageError(
            f"{benchmark.name}: the hub's dataset {hub.dataset} cannot be loaded: {lines[0][:200]}",
            expected=f"a connection to the hub{terms}{local}",
        ) from None


def _item(benchmark: Benchmark, fields: Fields, number: int, where: str, row: Any) -> Item:
    try:
        return _made(benchmark, fields, number, row)
    except (KeyError, TypeError, AttributeError, ValueError, IndexError) as error:
        has = f"it has {', '.join(map(str, row))}" if isinstance(row, dict) else f"it is {type(row).__name__}"
        reason = f"no {error.args[0]!r}" if isinstance(error, KeyError) else str(error)
        raise UsageError(
            f"{where} is not an item of {benchmark.name}: {reason} ({has[:200]})",
            expected=f"{fields.problem} and {fields.answer}, as texts",
            write="?problem=FIELD&answer=FIELD after the name, where fields are called otherwise",
        ) from None


def _made(benchmark: Benchmark, fields: Fields, number: int, row: Mapping[str, Any]) -> Item:
    problem = _text(row["question"] if fields.problem == "problem" and "problem" not in row else row[fields.problem])
    if row.get("note"):  # of items whose problem text ends in its answer
        problem = LEAK.sub("", problem)
    gold, choices = _gold_and_choices(fields, row, problem)
    kind = _kind(benchmark, row, choices)
    if benchmark.short_answers:
        short = short_answer(problem, gold)
        gold, kind = (short[0], "choice" if short[1] else "math") if short else (gold, "judge")
    style = _style("choice" if kind == "choice" else "math", benchmark.language, benchmark.shots)
    worked = row.get(fields.solution) or (row[fields.answer] if "####" in str(row[fields.answer]) else "")
    worked = _text(worked) if worked else ""
    return Item(
        benchmark.name, number, with_options(problem, choices) if choices else problem, gold, _solution(worked, gold),
        Rule(kind, choices, _tolerance(benchmark, gold)), f"#{number}" if row.get(fields.id) is None else str(row[fields.id]),
        style,
    )  # fmt: skip


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r:.60} is not a text")
    if not value.strip():
        raise ValueError("a text is empty")
    return mended(value)


def mended(text: str) -> str:
    """With the commands that lost their backslash to an escape somewhere on their way: a form feed and `rac` was `\\frac`."""
    for sign, letter in (("\x0c", "f"), ("\x08", "b"), ("\x07", "a"), ("\x0b", "v")):
        text = re.sub(rf"{sign}(?=[a-z])", rf"\\{letter}", text)
    return re.sub(r"\t(?=(?:ext|imes|heta|riangle|an|frac|o)(?![a-z]))", r"\\t", text)


def _tolerance(benchmark: Benchmark, gold: str) -> float:
    """Of a benchmark of the table only golds that may have been rounded have one; a user's own is as the user says."""
    return benchmark.tolerance if benchmark.own or re.search(r"\d\.\d|\\times|10\^|\de-?\d", gold) else 0.0


def _kind(benchmark: Benchmark, row: Mapping[str, Any], choices: tuple[str, ...]) -> Any:
    """Rows may say it themselves: `kind`; `type` mcq in exams of both; `rule_gradable` where most need a judge."""
    if row.get("kind") in ("math", "choice", "judge"):
        return row["kind"]
    if benchmark.own and row.get("kind") is not None:
        raise ValueError(f"kind is {row['kind']!r:.40}; expected math, choice or judge")
    if choices or row.get("type") == "mcq":
        return "choice"
    return "math" if benchmark.kind == "judge" and row.get("rule_gradable") else benchmark.kind


def _gold_and_choices(fields: Fields, row: Mapping[str, Any], problem: str) -> tuple[str, tuple[str, ...]]:
    if fields.form == "option":
        right = _text(row[fields.answer]).strip()
        wrong = [_text(row[name]).strip() for name in fields.choices.split(",")]
        choices = shuffled([right, *wrong], problem)
        return LETTERS[choices.index(right)], choices
    given = row.get(fields.choices) if fields.choices else None
    if given and not isinstance(given, list):
        raise TypeError(f"{fields.choices} is {type(given).__name__}, not a list of options")
    choices = tuple(str(choice) for choice in given) if given else ()  # an option may be a picture that the data lacks
    answer = row[fields.answer]
    if len(choices) > MOST_OPTIONS:
        raise ValueError(f"{len(choices)} options; at most {MOST_OPTIONS} can be told apart")
    if fields.form == "index":
        return LETTERS[range(len(choices))[int(answer)]], choices
    if isinstance(answer, (int, float)) and not isinstance(answer, bool):
        answer = str(answer)
    gold = _gold(fields, _text(answer))
    return _letters(gold, choices) if choices else gold, choices


def _letters(gold: str, choices: tuple[str, ...]) -> str:
    """As it stands, or of the option whose text it is."""
    if set(gold) <= set(LETTERS[: len(choices)]):
        return gold
    if gold not in choices:
        raise ValueError(f"the answer {gold!r:.60} is neither a letter nor the text of an option")
    return LETTERS[choices.index(gold)]


def _gold(fields: Fields, answer: str) -> str:
    if fields.form == "boxed":
        return _boxed(answer)
    if fields.form == "integer":
        return _integer(answer)
    gold = answer.rpartition("####")[2].strip()
    if fields.form == "hashes" or "####" in answer:
        gold = re.sub(r"(?<=\d),(?=\d{3}(?!\d))", "", gold) if not re.search(r"[(\[{]", gold) else gold
    if not gold:
        raise ValueError("the answer is empty")
    return gold


def _boxed(solution: str) -> str:
    """The content of the last box; some solutions write `\\boxed 2`, others \\fbox."""
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


def _integer(answer: str) -> str:
    """025, 25.0 and 25^\\circ are 25."""
    found = re.fullmatch(r"\$?(-?)0*(\d+)(?:\.0*)?(?:\^\{?\\circ\}?)?\$?", answer.strip())
    if not found:
        raise ValueError(f"{answer!r:.60} is not an integer")
    return found[1] + found[2]


def shuffled(options: list[str], problem: str) -> tuple[str, ...]:
    """The right option first would be no question; an order that the problem alone determines."""
    order = list(options)
    random.Random(hashlib.sha256(problem.encode()).hexdigest()).shuffle(order)
    return tuple(order)


@lru_cache
def _style(kind: str, language: str, count: int) -> Style:
    return replace(BOXED[kind, language], shots=few_shot.stem(count))


def _solution(worked: str, gold: str) -> str:
    """Without a calculator's marks (<<48/2=24>>), and boxed as the verifier expects; nothing, where none is given."""
    text = re.sub(r"<<[^<>]*>>", "", worked.partition("####")[0]).strip()
    if not text:
        return ""
    return text if BOX in text else f"{text}\n{BOX}{gold}}}"


def fingerprint(items: Sequence[Item]) -> str:
    """The same for the same items in the same order: what a curve or a comparison rests on."""
    digest = hashlib.sha256()
    for item in items:
        digest.update(json.dumps([item.id, item.question, item.gold]).encode())
    return digest.hexdigest()


def odd_golds(items: tuple[Item, ...]) -> list[str]:
    """Golds that the verifier cannot parse, each with its item and the reason."""
    ruled = [item for item in items if item.rule.kind != "judge"]
    return [f"item {item.index} ({item.id}): {why}" for item in ruled if (why := check_gold(item.gold, item.rule))]
