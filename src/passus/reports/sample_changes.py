"""Samples before and after training: the same item and the same noise at the first and the last eval point."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from passus import formatting
from passus.errors import PassusError
from passus.grading.boxes import BOX
from passus.grading.verdict import Verdict
from passus.reports.arm_status import UNREADABLE, ArmStatus
from passus.reports.document import Block, Details, Note, Sample, SamplePair, Table
from passus.runs.questions import ItemQuestion, read_questions
from passus.runs.run_folder import RunFolder
from passus.tasks import benchmarks, dataset
from passus.tasks.item import Item
from passus.tasks.lookup import benchmark_items

MAX_CHARACTERS = 600
"""Characters of a text that are shown. The middle of a longer text is left out, because answers stand at the end."""
GAINED, LOST = 3, 1
"""Examples per arm of items that became correct, and of items that became wrong."""

MAX_LISTED = 100
"""Items that are listed by number."""
RowPair = tuple[dict[str, Any], dict[str, Any]]
"""Rows of one sample at the first eval point and at the last."""
ItemKey = tuple[str, int]
"""Benchmark and number of an item."""


@dataclass(frozen=True)
class ArmChanges:
    """What changed between the first and the last eval point of an arm."""

    name: str
    counts: Sequence[str]
    """Items gained and lost, samples, and those that became correct and wrong; empty where there is nothing to compare."""
    example: SamplePair | None
    blocks: list[Block]
    """All of it: sentences, the numbers of the items, and examples."""


HEAD = ["items gained", "items lost", "samples", "became correct", "became wrong"]


def samples_blocks(arms: Sequence[ArmStatus], names: Sequence[str]) -> list[Block]:
    """Returns the changes of all arms as a table, one example, and the rest folded under the name of each arm."""
    changes = [_arm_changes(arm, name) for arm, name in zip(arms, names, strict=True)]
    counted = [arm for arm in changes if arm.counts]
    blocks: list[Block] = []
    if counted:
        blocks.append(Table(["line", *HEAD], [[arm.name, *arm.counts] for arm in counted]))
        blocks.append(Note("An item is gained where more of its samples are correct at the last eval point than at the first."))
    shown = next((arm for arm in counted if arm.example), None)
    if shown is not None and shown.example is not None:
        blocks += [f"{shown.name}, the first sample that went from wrong to correct:", shown.example]
    return [*blocks, Details("Items and examples of every line", [Details(arm.name, arm.blocks) for arm in changes])]


def _arm_changes(arm: ArmStatus, name: str) -> ArmChanges:
    try:
        return _changes(arm, name)
    except UNREADABLE as error:
        return ArmChanges(name, [], None, [f"The items cannot be read: {shorten(str(error))}"])


def _changes(arm: ArmStatus, name: str) -> ArmChanges:
    first, last = (arm.scores[0].first.step, arm.scores[0].last.step) if arm.scores else (0, 0)
    if first == last:
        yet = "" if arm.state == "imported" else " yet"
        return ArmChanges(name, [], None, [f"No second eval point{yet}."])
    if arm.state == "imported" and not any(arm.path.glob("items/step-*.parquet")):
        return ArmChanges(name, [], None, ["No items are recorded."])
    pairs = RunFolder(arm.path).sample_pairs(first, last)
    gained = [(was, now) for was, now in pairs if not _is_correct(was) and _is_correct(now)]
    lost = [(was, now) for was, now in pairs if _is_correct(was) and not _is_correct(now)]
    items_gained, items_lost = _items_changed(pairs)
    examples = _first_items(gained, GAINED) + _first_items(lost, LOST)
    items = read_questions(arm.path) or find_items(examples)
    shown = [_sample_pair(_sample(was, first), _sample(now, last), now, items) for was, now in examples]
    is_imported = RunFolder(arm.path).is_imported
    noise = (
        "The item is the same on both sides, the samples are new"
        if is_imported
        else "Item and noise are the same on both sides"
    )
    summary = (
        f"From step {first} to step {last}, {len(gained)} of {len(pairs)} samples went from wrong to correct, {len(lost)} the "
        f"other way (wrong: every verdict but correct). {noise}."
    )
    listed = [f"Items {word}: {_numbers(changed)}." for word, changed in (("gained", items_gained), ("lost", items_lost))]
    order = f"The first {GAINED} items with a sample that became correct and the first {LOST} with one that became wrong:"
    blocks: list[Block] = [summary, *listed, order, *shown]
    counts = [str(len(of)) for of in (items_gained, items_lost, pairs, gained, lost)]
    return ArmChanges(name, counts, shown[0] if gained else None, blocks)


def _items_changed(pairs: list[RowPair]) -> tuple[list[ItemKey], list[ItemKey]]:
    """Returns the items of which more samples are correct than before, and those of which fewer are."""
    change: dict[ItemKey, int] = {}
    for was, now in pairs:
        key = (now["benchmark"], now["item"])
        change[key] = change.get(key, 0) + int(_is_correct(now)) - int(_is_correct(was))
    return [key for key, by in change.items() if by > 0], [key for key, by in change.items() if by < 0]


def _numbers(items: list[ItemKey]) -> str:
    """Lists items by benchmark and number, the first ones where there are many."""
    if not items:
        return "none"
    by_benchmark: dict[str, list[int]] = {}
    for benchmark, item in items[:MAX_LISTED]:
        by_benchmark.setdefault(benchmark, []).append(item)
    text = "; ".join(f"{benchmark} {', '.join(map(str, numbers))}" for benchmark, numbers in by_benchmark.items())
    return text + (f" and {len(items) - MAX_LISTED} more" if len(items) > MAX_LISTED else "")


def _is_correct(row: dict[str, Any]) -> bool:
    return bool(row["verdict"] == Verdict.CORRECT)


def _first_items(pairs: list[RowPair], count: int) -> list[RowPair]:
    """Returns the first pairs, one per item, so that no example is picked for its looks."""
    by_item: dict[tuple[str, int], RowPair] = {}
    for was, now in pairs:
        by_item.setdefault((was["benchmark"], was["item"]), (was, now))
    return list(by_item.values())[:count]


def find_items(examples: list[RowPair]) -> dict[tuple[str, int], Item]:
    """Finds the items of the examples, by benchmark and index.

    Run folders hold answers only. If a correct answer of the run is not correct for the item found now, the benchmark has
    changed since, and none of its items are returned.
    """
    known: dict[tuple[str, int], Item] = {}
    for benchmark in {now["benchmark"] for _, now in examples if _is_here(now["benchmark"])}:
        correct_rows = [now if _is_correct(now) else was for was, now in examples if now["benchmark"] == benchmark]
        try:
            items = {item.index: item for item in benchmark_items(benchmark)}
            are_correct = [_is_answer(row["extracted"], items[row["item"]]) for row in correct_rows]
        except (PassusError, KeyError):
            continue
        if all(are_correct):
            known |= {(benchmark, index): item for index, item in items.items()}
    return known


def _is_answer(extracted: str, item: Item) -> bool:
    """Whether an answer that a run recorded as correct is correct for this item."""
    if extracted == item.gold:
        return True
    from passus.grading.grade import grade  # whose patterns take a while to compile

    return grade(f"{BOX}{extracted}}}", item.gold, truncated=False, rule=item.rule).verdict == Verdict.CORRECT


def _is_here(benchmark: str) -> bool:
    """Whether the items may be shown, and can be read without a download."""
    spec = benchmarks.find_benchmark(benchmark)
    return spec is None or (dataset.is_local(spec) and not spec.private)


def _sample_pair(
    before: Sample, after: Sample, row: dict[str, Any], items: Mapping[ItemKey, Item | ItemQuestion]
) -> SamplePair:
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
