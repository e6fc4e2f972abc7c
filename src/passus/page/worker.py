"""The process that computes findings and comparisons: the functions of `passus report` and `passus compare`, and their stamp.

It reads one JSON request per line and answers with one line. A stamp names the eval points that an answer rests on: where one
was added during the computation, it is done again.
"""

import json
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from passus.analysis.run_comparison import compare, over_training
from passus.analysis.run_groups import compared_sides
from passus.errors import PassusError
from passus.formatting import printable
from passus.page.live_run import ENDED
from passus.page.run_files import check_inside
from passus.reports.arm_status import UNREADABLE, read_arm_status
from passus.reports.document import Block, Cell, Details, Document, Listing, Note, Sample, SamplePair, Table
from passus.reports.report import build_report, build_running_report
from passus.runs.lock import state_of
from passus.runs.row_files import ROWS
from passus.runs.run_folder import RunFolder

ATTEMPTS = 3
NICENESS = 19
Json = dict[str, Any]


def main() -> None:
    os.nice(NICENESS)
    for line in sys.stdin:
        request = json.loads(line)
        print(json.dumps(answer(request), allow_nan=False), flush=True)


def answer(request: Json) -> Json:
    """Returns the result of a request with its stamp, or an error in words."""
    try:
        for path, root in request.get("roots", {}).items():
            check_rows_inside(Path(path), Path(root))
        if request["job"] == "compare":
            a, b = ([Path(path) for path in request[side]] for side in "ab")
            return stamped([*a, *b], lambda: comparison(a, b))
        paths = [Path(path) for path in request["paths"]]
        return stamped(paths, lambda: findings(paths, request["title"]))
    except (*UNREADABLE, AssertionError, ArithmeticError, LookupError, MemoryError) as error:
        text = str(error) if isinstance(error, PassusError) else f"{type(error).__name__}: {error}"
        return {"error": printable(text)[:2000]}


def check_rows_inside(path: Path, root: Path) -> None:
    """Raises UsageError where a file of a run, or a file of its rows, is a link that leads out of the folder that was given."""
    check_inside(path, root)
    links = [entry.name for kind in ROWS if (path / kind).is_dir() for entry in os.scandir(path / kind) if entry.is_symlink()]
    check_inside(path, root, [f"{kind}/{name}" for kind in ROWS for name in links])


def stamped(paths: Sequence[Path], compute: Callable[[], Json]) -> Json:
    """Computes, and again where an eval point or a state has changed meanwhile. The stamp is empty where it always has."""
    stamp = stamp_of(paths)
    for _ in range(ATTEMPTS):
        result, before = compute(), stamp
        stamp = stamp_of(paths)
        if stamp == before:
            return result | {"stamp": stamp}
    return result | {"stamp": {}}


def stamp_of(paths: Sequence[Path]) -> dict[str, list[Any]]:
    """Returns the last eval point, the number of rows, and the state of each run."""
    stamp = {}
    for path in paths:
        points = RunFolder(path).evals()
        last = max((point.step for point in points), default=None)
        stamp[str(path)] = [last, len(points), str(state_of(path).get("state", "unknown"))]
    return stamp


def comparison(a: Sequence[Path], b: Sequence[Path]) -> Json:
    """Compares two sides as `passus compare --json` does, and adds the difference over training."""
    runs = compared_sides([RunFolder(path) for path in a], [RunFolder(path) for path in b])
    rows = [one.to_json() | {"only_seed": runs.only_seed} for one in compare(runs)]
    over = {name: growing.to_json() for name, growing in over_training(runs).items()}
    return {"comparisons": rows, "over": over}


def findings(paths: Sequence[Path], title: str) -> Json:
    """Builds the report, of finished runs with its claims, of others with the numbers so far."""
    arms = [read_arm_status(path) for path in paths]
    are_scored = all(arm.scores for arm in arms)
    are_signals_only = not any(arm.scores for arm in arms) and all(arm.state in ENDED for arm in arms)
    is_whole = are_scored or are_signals_only  # runs of other tools often have no accuracy, and a report of their signals
    document = build_report(paths, title) if is_whole else build_running_report(paths, title, live=False)
    return {"sections": document_to_json(document)}


def document_to_json(document: Document) -> list[Json]:
    """Returns the sections of a document. Figures are left out: the page draws them."""
    sections = [{"title": s.title, "blocks": _blocks(s.blocks)} for s in document.sections]
    return [section for section in sections if section["blocks"]]


def _blocks(blocks: Sequence[Block]) -> list[Json]:
    return [made for block in blocks if (made := _block_to_json(block)) is not None]


def _block_to_json(block: Block) -> Json | None:
    match block:
        case str():
            return {"kind": "text", "text": printable(block)}
        case Note():
            return {"kind": "note", "text": printable(block.text)}
        case Table():
            rows = [[_cell(cell) for cell in row] for row in block.rows]
            return {"kind": "table", "head": [printable(str(name)) for name in block.head], "rows": rows}
        case Listing():
            return {"kind": "listing", "name": printable(block.name), "text": printable(block.text)}
        case Details():
            return {"kind": "details", "summary": printable(block.summary), "blocks": _blocks(block.blocks)}
        case SamplePair():
            sides = [_sample(side) for side in (block.before, block.after)]
            return {"kind": "pair", "heading": printable(block.heading), "note": printable(block.note), "sides": sides}
        case _:
            return None


def _cell(cell: Cell) -> list[str]:
    """Returns a value, and the note below it where it has one."""
    return [printable(part) for part in ([cell] if isinstance(cell, str) else cell)]


def _sample(sample: Sample) -> Json:
    texts = {"verdict": sample.verdict, "answer": sample.answer or "", "completion": sample.completion}
    return {"step": sample.step} | {key: printable(text) for key, text in texts.items()}


if __name__ == "__main__":
    main()
