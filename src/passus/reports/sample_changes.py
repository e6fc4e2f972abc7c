"""Samples before and after training: the same item and the same noise at the first and the last eval point."""

from typing import Any

from passus import formatting
from passus.errors import PassusError
from passus.grading.grade import BOX, Verdict, grade
from passus.reports.arm_status import UNREADABLE, ArmStatus
from passus.reports.document import Block, Details, Sample, SamplePair
from passus.runs.run_folder import RunFolder
from passus.tasks import benchmarks, dataset
from passus.tasks.item import Item
from passus.tasks.lookup import benchmark_items

MAX_CHARACTERS = 600
"""Characters of a text that are shown. The middle of a longer text is left out, because answers stand at the end."""
GAINED, LOST = 3, 1
"""Examples per arm of items that became correct, and of items that became wrong."""

RowPair = tuple[dict[str, Any], dict[str, Any]]
"""Rows of one sample at the first eval point and at the last."""


def sample_changes(arm: ArmStatus, *, is_open: bool) -> Details:
    """Returns the samples of an arm that changed: all of them counted, a few of them shown."""
    blocks: list[Block]
    try:
        blocks = _changes(arm)
    except UNREADABLE as error:
        blocks = [f"The items cannot be read: {shorten(str(error))}"]
    return Details(arm.path.name, blocks, is_open)


def _changes(arm: ArmStatus) -> list[Block]:
    first, last = (arm.scores[0].first.step, arm.scores[0].last.step) if arm.scores else (0, 0)
    if first == last:
        return ["No second eval point yet."]
    pairs = RunFolder(arm.path).sample_pairs(first, last)
    gained = [(was, now) for was, now in pairs if not _is_correct(was) and _is_correct(now)]
    lost = [(was, now) for was, now in pairs if _is_correct(was) and not _is_correct(now)]
    examples = _first_items(gained, GAINED) + _first_items(lost, LOST)
    items = _find_items(examples)
    summary = (
        f"From step {first} to step {last}, {len(gained)} of {len(pairs)} samples went from wrong to correct, {len(lost)} the "
        "other way (wrong: every verdict but correct). Item and noise are the same on both sides. Shown are the first "
        f"{GAINED} items that were gained and the first {LOST} that were lost, in the order of the benchmark."
    )
    return [summary, *(_sample_pair(_sample(was, first), _sample(now, last), now, items) for was, now in examples)]


def _is_correct(row: dict[str, Any]) -> bool:
    return bool(row["verdict"] == Verdict.CORRECT)


def _first_items(pairs: list[RowPair], count: int) -> list[RowPair]:
    """Returns the first pairs, one per item, so that no example is picked for its looks."""
    by_item: dict[tuple[str, int], RowPair] = {}
    for was, now in pairs:
        by_item.setdefault((was["benchmark"], was["item"]), (was, now))
    return list(by_item.values())[:count]


def _find_items(examples: list[RowPair]) -> dict[tuple[str, int], Item]:
    """Finds the items of the examples, by benchmark and index.

    Run folders hold answers only. If a correct answer of the run is not correct for the item found now, the benchmark has
    changed since, and none of its items are returned.
    """
    known: dict[tuple[str, int], Item] = {}
    for benchmark in {now["benchmark"] for _, now in examples if _is_here(now["benchmark"])}:
        correct_rows = [now if _is_correct(now) else was for was, now in examples if now["benchmark"] == benchmark]
        try:
            items = {item.index: item for item in benchmark_items(benchmark)}
            answers = [(f"{BOX}{row['extracted']}}}", items[row["item"]]) for row in correct_rows]
            grades = [grade(text, item.gold, truncated=False, rule=item.rule) for text, item in answers]
        except (PassusError, KeyError):
            continue
        if all(g.verdict == Verdict.CORRECT for g in grades):
            known |= {(benchmark, index): item for index, item in items.items()}
    return known


def _is_here(benchmark: str) -> bool:
    """Whether the items may be shown, and can be read without a download."""
    spec = benchmarks.find_benchmark(benchmark)
    return spec is None or (dataset.is_local(spec) and not spec.private)


def _sample_pair(before: Sample, after: Sample, row: dict[str, Any], items: dict[tuple[str, int], Item]) -> SamplePair:
    name = f"{row['benchmark']}, item {row['item']}, sample {row['sample']}"
    item = items.get((row["benchmark"], row["item"]))
    if item is None:
        return SamplePair(name, "No question: the benchmark is not here, or has changed.", before, after)
    return SamplePair(shorten(item.question), f"Correct answer {shorten(item.gold)} ({name})", before, after)


def _sample(row: dict[str, Any], step: int) -> Sample:
    answer = None if row["extracted"] is None else shorten(row["extracted"])
    return Sample(step, row["verdict"], _is_correct(row), answer, shorten(row["completion"]))


def shorten(text: str) -> str:
    """Leaves out the middle of a long text."""
    return formatting.shorten(text, MAX_CHARACTERS)
