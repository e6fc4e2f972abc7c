"""Loading of a benchmark's items from local files or from the Hugging Face hub. Every error names the file and the line.

No data ships with passus. Files are looked for in $PASSUS_DATA. Data that is not there comes from the hub, through the cache of
Hugging Face datasets.
"""

import hashlib
import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from passus.bounded_json import parse_json, read_lines
from passus.errors import UsageError
from passus.tasks.benchmark_spec import Benchmark, Fields, HubDataset
from passus.tasks.dataset_row import make_item
from passus.tasks.item import Item

DATA = "PASSUS_DATA"
LINE_FORMAT = "one line of JSON per problem: problem, answer"
SHARED_TEXT = 100
"""Characters at the beginning of two questions from which they count as parts of one text, or as made from one template."""
MAX_ITEMS = 2_000_000
"""Items of one benchmark or training set."""
Row = tuple[str, Any]
"""The place of a row (file and line), and its content."""


def load_items(benchmark: Benchmark) -> tuple[Item, ...]:
    """Loads all items in the order of the data. The index of an item is its position there."""
    return _load_items(benchmark, os.environ.get(DATA, ""))


@lru_cache(maxsize=64)
def _load_items(benchmark: Benchmark, folder: str) -> tuple[Item, ...]:
    items: list[Item] = []
    places: dict[str, str] = {}
    rows, fields = _rows(benchmark, folder)
    for place, row in rows:
        if len(items) == MAX_ITEMS:
            raise UsageError(f"{place}: {benchmark.name} has more than {MAX_ITEMS:,} items", expected="a smaller set")
        item = make_item(benchmark, fields, len(items), place, row)
        if item.id in places:
            raise UsageError(
                f"{place}: id {item.id!r} is also the id of {places[item.id]}", expected="distinct ids, or no ids at all"
            )
        places[item.id] = place
        items.append(item)
    if not items:
        raise UsageError(f"{benchmark.name} has no items", expected=LINE_FORMAT)
    return tuple(items) if benchmark.custom or benchmark.exercises else _with_clusters(items)


def _with_clusters(items: Sequence[Item]) -> tuple[Item, ...]:
    """Makes questions that begin alike a cluster, named by its first item: parts of one problem, variants of one exercise, and
    questions that the data has twice. Other items have no cluster.

    Exam sheets and subjects are no clusters: their questions have different texts, and a sheet is made to have easy and hard
    ones. In a user's file every question may begin with the same instruction, so only the file itself can say what belongs
    together.
    """
    by_text: dict[str, list[Item]] = {}
    for item in items:
        by_text.setdefault(item.question[:SHARED_TEXT], []).append(item)
    alike = [by_text[item.question[:SHARED_TEXT]] for item in items]
    return tuple(replace(item, cluster=of[0].id) if len(of) > 1 else item for item, of in zip(items, alike, strict=True))


def is_local(benchmark: Benchmark) -> bool:
    return bool(benchmark.files) and all(path.is_file() for path in _paths(benchmark, os.environ.get(DATA, "")))


def _paths(benchmark: Benchmark, folder: str) -> list[Path]:
    """Returns the paths of the files. Only a user's file may be named by a path outside the data folder."""
    return [Path(name) if benchmark.custom and Path(name).is_file() else Path(folder) / name for name in benchmark.files]


def _rows(benchmark: Benchmark, folder: str) -> tuple[Iterator[Row], Fields]:
    if is_local(benchmark):
        paths = _paths(benchmark, folder)
        return (row for path in paths for row in _file_rows(path) if _belongs(benchmark, row)), benchmark.fields
    if benchmark.hub is not None:
        return _hub_rows(benchmark, benchmark.hub), benchmark.hub.fields
    missing = [str(path) for path in _paths(benchmark, folder) if not path.is_file()]
    raise UsageError(
        f"{benchmark.name}: no file {' nor '.join(missing)}",
        expected=f"{DATA} (or --data) set to a folder with {', '.join(benchmark.files)}",
    )


def _file_rows(path: Path) -> Iterator[Row]:
    # Split at line feeds only, because problems contain other characters that Python treats as line breaks.
    try:
        for number, line in read_lines(path):
            if line.strip():
                place = f"{path}, line {number}"
                yield place, _parse_line(line, place)
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error}", expected="a UTF-8 text with one line of JSON per problem") from None


def _parse_line(line: bytes, place: str) -> Any:
    try:
        return parse_json(line.decode("utf-8"))
    except ValueError as error:
        raise UsageError(f"{place} is not JSON: {error}", expected=LINE_FORMAT) from None


def _belongs(benchmark: Benchmark, row: Row) -> bool:
    if benchmark.only is None:
        return True
    field, prefixes = benchmark.only
    return isinstance(row[1], dict) and str(row[1].get(field, "")).startswith(prefixes)


def _hub_rows(benchmark: Benchmark, hub: HubDataset) -> Iterator[Row]:
    for config in hub.configs:
        name = f"{hub.dataset}{f', {config}' if config else ''}, {hub.split}"
        for number, row in enumerate(_load_hub_rows(benchmark, hub, config)):
            yield f"{name}, row {number}", row


def _load_hub_rows(benchmark: Benchmark, hub: HubDataset, config: str) -> list[Any]:
    from datasets import load_dataset
    from datasets.exceptions import DatasetsError

    try:
        revision = hub.revision or _pinned.get(hub.dataset)
        rows = load_dataset(hub.dataset, config or None, split=hub.split, revision=revision, streaming=hub.gated)
        _note_commit(hub.dataset, rows)
        return list(rows)
    except (DatasetsError, OSError, ValueError) as error:
        lines = str(error).strip().splitlines() or [type(error).__name__]
        local = f", or {DATA} (or --data) set to a folder with {', '.join(benchmark.files)}" if benchmark.files else ""
        terms = f", its terms accepted at huggingface.co/datasets/{hub.dataset}, and HF_TOKEN set" if hub.gated else ""
        raise UsageError(
            f"{benchmark.name}: the hub dataset {hub.dataset} cannot be loaded: {lines[0][:200]}",
            expected=f"a connection to the hub{terms}{local}",
        ) from None


_pinned: dict[str, str] = {}
"""Commits by dataset that this process loads where no revision is asked for."""
commits: dict[str, str] = {}
"""Commits by dataset that this process has loaded, where the library says them."""
COMMIT_IN_ADDRESS = re.compile(r"@([0-9a-f]{40})/")


def pin_commits(recorded: Mapping[str, str]) -> None:
    """Makes a resumed run load the commits of hub datasets that it began with."""
    if dict(recorded) != _pinned:
        _pinned.clear()
        _pinned.update(recorded)
        _load_items.cache_clear()


def _note_commit(dataset: str, rows: Any) -> None:
    """Takes the commit from the addresses of the files that were loaded: a branch or a tag may mean another one later."""
    for address in getattr(getattr(rows, "info", None), "download_checksums", None) or ():
        if found := COMMIT_IN_ADDRESS.search(str(address)):
            commits[dataset] = found[1]


def fingerprint(items: Sequence[Item]) -> str:
    """Computes a hash of the items in their order. Only curves with equal fingerprints are comparable."""
    digest = hashlib.sha256()
    for item in items:
        digest.update(json.dumps([item.id, item.question, item.gold]).encode())
    return digest.hexdigest()


def incomparable_golds(items: tuple[Item, ...]) -> list[str]:
    """Returns the items whose gold the verifier cannot compare, each with the reason."""
    from passus.grading.gold_check import check_gold  # whose patterns take a while to compile

    by_rule = [item for item in items if item.rule.kind != "judge"]
    return [f"item {item.index} ({item.id}): {why}" for item in by_rule if (why := check_gold(item.gold, item.rule))]
