"""Completions of one run: the groups of a step, one group side by side, and an eval item over training and over runs."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from passus.errors import UsageError
from passus.formatting import printable, printable_line, significant
from passus.formatting import shorten as shorten_middle
from passus.page.live_run import LiveRun
from passus.page.run_files import check_inside
from passus.reports.sample_changes import find_items
from passus.runs.questions import read_questions
from passus.runs.row_files import TOKEN_COLUMNS, read_table
from passus.tasks.item import Item

MAX_TEXT = 20_000
"""Characters of a text that are sent. The middle of a longer one is left out, and the text says so."""
MAX_GROUPS, MAX_MEMBERS, MAX_PROMPT = 400, 64, 120
"""Groups of a list, completions of one group, and characters of a prompt in the list."""
MAX_FILE = 1 << 28
"""Bytes of the file of one step."""
MAX_TOKENS = 4000
"""Tokens of a completion that are coloured."""
KINDS = ("samples", "items")
GROUP_COLUMNS = ("item", "sample", "verdict", "prompt", "completion", "reward", "advantage", "task")
ITEM_COLUMNS = ("benchmark", "temperature", "item", "sample", "verdict", "extracted", "completion", "tokens", "logp")
TEXT_COLUMNS = ("task", "item", "sample", "prompt", "completion", "gold", "verdict", "extracted", "reward", "advantage",
                "used", "logp", *TOKEN_COLUMNS)  # fmt: skip
NUMBERS = ("sample", "tokens", "reward", "advantage", "logp", "used")
Row = dict[str, Any]


def recorded_steps(run: LiveRun, kind: str) -> list[int]:
    """Returns the steps of which rows are kept, in order."""
    check_inside(run.path, run.root)
    names = [path.stem.removeprefix("step-") for path in (run.path / kind).glob("step-*.parquet")]
    return sorted(int(name) for name in names if name.isascii() and name.isdigit() and len(name) < 12)


def _rows(run: LiveRun, kind: str, step: int, columns: Sequence[str]) -> list[Row]:
    if kind not in KINDS:
        raise UsageError(f"kind={kind[:40]!r}", expected=" or ".join(KINDS))
    check_inside(run.path, run.root)
    path: Path = run.path / kind / f"step-{step:06d}.parquet"
    if not path.resolve().is_relative_to(run.root.resolve()):
        raise UsageError("a file of this run is a link that leads out of the folder", expected="files of the folder itself")
    if not path.exists():
        raise UsageError(f"{run.name} has no {kind} of step {step}", expected="a step of the slider")
    if path.stat().st_size > MAX_FILE:
        raise UsageError(f"the {kind} of step {step} have more than {MAX_FILE:,} bytes", expected="fewer completions per step")
    rows: list[Row] = read_table(path, [name for name in columns]).to_pylist()
    return rows


def groups(run: LiveRun, step: int, verdict: str = "", search: str = "") -> dict[str, Any]:
    """Returns the groups of a training step that have a completion with this verdict and this text."""
    by_item: dict[int, list[Row]] = {}
    for row in _rows(run, "samples", step, GROUP_COLUMNS):
        by_item.setdefault(row["item"], []).append(row)
    wanted = search.casefold()
    found = {
        item: rows
        for item, rows in by_item.items()
        if any((not verdict or row["verdict"] == verdict) and (not wanted or _has(row, wanted)) for row in rows)
    }
    listed = [_group_to_json(item, rows) for item, rows in list(found.items())[:MAX_GROUPS]]
    return {"step": step, "groups": listed, "found": len(found), "of": len(by_item)}


def _has(row: Row, wanted: str) -> bool:
    return wanted in (row["prompt"] or "").casefold() or wanted in (row["completion"] or "").casefold()


def _group_to_json(item: int, rows: Sequence[Row]) -> dict[str, Any]:
    rewards = [row["reward"] for row in rows if row["reward"] is not None]
    mean = sum(rewards) / len(rewards) if rewards else math.nan
    verdicts: dict[str, int] = {}
    for row in rows:
        verdicts[str(row["verdict"])[:40]] = verdicts.get(str(row["verdict"])[:40], 0) + 1
    return {
        "item": item, "n": len(rows), "verdicts": verdicts, "prompt": printable_line(str(rows[0]["prompt"] or "")[:MAX_PROMPT]),
        "reward": significant(mean) if math.isfinite(mean) else None,
    }  # fmt: skip


def group(run: LiveRun, step: int, item: int) -> dict[str, Any]:
    """Returns the completions of one prompt, with verdict, reward and advantage."""
    rows = [row for row in _rows(run, "samples", step, TEXT_COLUMNS) if row["item"] == item]
    if not rows:
        raise UsageError(f"step {step} of {run.name} has no item {item}", expected="an item of the list")
    shown = [_sample_to_json(row) for row in rows[:MAX_MEMBERS]]
    return {"step": step, "item": item, "prompt": text(rows[0]["prompt"]), "gold": text(rows[0]["gold"]), "samples": shown,
            "n": len(rows)}  # fmt: skip


def _sample_to_json(row: Row) -> dict[str, Any]:
    known = {key: row.get(key) for key in NUMBERS}
    numbers = {key: _number(of) for key, of in known.items() if of is not None}
    return numbers | {key: text(row[key]) for key in ("verdict", "extracted", "completion")} | _tokens(row)


def _number(value: float) -> float | None:
    if not isinstance(value, float):
        return value
    return significant(value) if math.isfinite(value) else None


def _tokens(row: Row) -> dict[str, Any]:
    """Returns text and log-prob of the first tokens, where the run recorded them."""
    texts, logps = (row.get(name) for name in TOKEN_COLUMNS)
    if not texts or not logps:
        return {}
    pairs = zip(texts[:MAX_TOKENS], logps[:MAX_TOKENS], strict=False)
    return {"pieces": [[printable(str(of)[:MAX_PROMPT]), _logp(logp)] for of, logp in pairs]}


def _logp(value: float | None) -> float | None:
    return round(value, 3) if value is not None and math.isfinite(value) else None


def text(value: str | None) -> str | None:
    """Returns a text as the page shows it: control characters visible, the middle of a long one left out."""
    return None if value is None else printable(shorten_middle(str(value), MAX_TEXT))


def eval_items(run: LiveRun, step: int) -> dict[str, Any]:
    """Returns the items of an eval point, with the share of correct samples of each."""
    counts: dict[tuple[str, int], list[int]] = {}
    for row in _rows(run, "items", step, ("benchmark", "item", "sample", "verdict")):
        counts.setdefault((row["benchmark"], row["item"]), []).append(int(row["verdict"] == "correct"))
    listed = [[printable_line(name), item, sum(of), len(of)] for (name, item), of in list(counts.items())[: 10 * MAX_GROUPS]]
    return {"step": step, "items": listed, "of": len(counts)}


def item_texts(run: LiveRun, steps: Sequence[int], benchmark: str, item: int) -> dict[str, Any]:
    """Returns the samples of one eval item at some steps, with its question where it is known."""
    sides: list[dict[str, Any]] = []
    proof: Row | None = None
    for step in steps:
        own = [row for row in _rows(run, "items", step, ITEM_COLUMNS) if printable_line(row["benchmark"]) == benchmark]
        proof = proof or next((row for row in own if row["verdict"] == "correct"), None)
        rows = [row for row in own if row["item"] == item]
        sides.append({"run": run.name, "step": step, "samples": [_sample_to_json(row) for row in rows[:MAX_MEMBERS]]})
    return {"benchmark": benchmark, "item": item, "sides": sides} | _question(run, benchmark, item, proof)


def _question(run: LiveRun, benchmark: str, item: int, proof: Row | None) -> dict[str, Any]:
    """Returns question and gold answer. A correct answer of the run, to any item, shows that the benchmark here is the same."""
    known: Mapping[Any, Any] = read_questions(run.path) or (find_items([(proof, proof)]) if proof else {})
    names = {name for name, _ in known if printable_line(name) == benchmark}
    found: Item | None = next((known[name, item] for name in names if (name, item) in known), None)
    return {"question": text(found.question), "gold": text(found.gold)} if found else {}
