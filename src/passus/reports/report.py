"""The report of an experiment, finished or running: the answer first, then the results, the figures, and all that is behind.

    1. the answer, in at most three sentences
    2. the results: one row per line, as means over seeds with their intervals
    3. the figure
    4. what cannot be told, and what to run to tell it
    5. training signals
    6. the same problems before and after
    7. folded: every line, all tests, settings, environment

Claims are made when all arms have ended, about those that did not fail. While they run, the same page shows the numbers so far.
All numbers in sentences come from findings and results.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from passus.analysis import analyse
from passus.analysis.finding import Conclusion, Finding
from passus.analysis.measured_curve import MeasuredCurve
from passus.errors import PassusError
from passus.figures.labels import shared_parts, short_names
from passus.figures.spec import Mark
from passus.formatting import duration
from passus.reports.answer import answer, main_results
from passus.reports.appendix import appendix_blocks, commands_blocks
from passus.reports.arm_status import (
    UNREADABLE,
    ArmStatus,
    are_finished,
    arm_blocks,
    failed_arms,
    read_arm_status,
    status_sentence,
)  # fmt: skip
from passus.reports.curve_sections import curve_blocks
from passus.reports.document import Block, Details, Document, DocumentSection, Note
from passus.reports.line_results import LineResult, line_results
from passus.reports.metrics_only import diagnosis_blocks, no_accuracy
from passus.reports.next_experiments import varying_keys
from passus.reports.open_questions import open_questions
from passus.reports.pictures import accuracy_picture, readers_picture, signals_picture
from passus.reports.results_table import count, results_table
from passus.reports.reward_model_results import best_of_n
from passus.reports.sample_changes import samples_blocks, shorten
from passus.reports.tests_table import observation_blocks, tests_blocks
from passus.runs.curve import Curves
from passus.runs.origin import parameters_in
from passus.runs.read_curves import find_sources, load_curves, run_curves
from passus.runs.run_folder import RunFolder

RELOAD_SECONDS = 10
UNNAMED = ("name", "seed", "figure")
"""Fields that say nothing about what was compared."""
MAX_VARIED, MAX_BENCHMARKS = 4, 4
"""Fields that differ, and benchmarks, that the first line names."""
OVER_RUNS = "over other runs on the same items (with the spread of all lines, or of each where they differ in spread)"
OVER_ITEMS = "over other items"


@dataclass
class ReportData:
    """Everything that the sections of a report are made of."""

    sources: list[Path]
    curves: Curves | None
    """None where no eval point is recorded yet."""
    runs: list[RunFolder]
    arms: list[ArmStatus]
    findings: list[Finding] = field(default_factory=list)
    is_final: bool = True
    measured: list[MeasuredCurve] = field(default_factory=list)
    results: list[LineResult] = field(default_factory=list)


def build_report(
    sources: Sequence[Path], title: str | None = None, made_with: Sequence[str] = (), next_commands: Sequence[str] = ()
) -> Document:
    """Analyses runs or curve files, and builds the report about them."""
    return document_of(report_data(sources), title, made_with, next_commands)


def document_of(
    data: ReportData, title: str | None = None, made_with: Sequence[str] = (), next_commands: Sequence[str] = ()
) -> Document:
    recorded = data.curves.title if data.curves else ""
    name = title or recorded or ", ".join(source.resolve().stem for source in data.sources)
    return Document(name, _sections(data, made_with, next_commands))


def report_data(sources: Sequence[Path]) -> ReportData:
    """Reads and analyses the sources."""
    runs, files = find_sources(sources)
    if runs and not files and not any(run.evals() for run in runs) and any(run.metrics() for run in runs):
        return _without_accuracy(sources, runs)
    curves = with_short_names(load_curves(sources))
    if all(parameters_in(curve.name) for curve in curves.series):
        curves.series.sort(key=lambda curve: parameters_in(curve.name) or 0)
    arms = [read_arm_status(path) for path in dict.fromkeys(curve.origin.path for curve in curves.series if curve.origin)]
    failed = failed_arms(arms)
    curves.series = [curve for curve in curves.series if curve.origin is None or curve.origin.path not in failed]
    kept = [arm for arm in arms if arm.path not in failed]
    data = ReportData(list(sources), curves, [RunFolder(arm.path) for arm in kept], arms, is_final=are_finished(kept))
    data.measured = analyse.measure_curves(curves)
    if data.is_final:
        data.findings, data.results = analyse.analyse(curves, data.measured), line_results(data.measured)
    else:
        data.results = _results_so_far(data.measured)
    return data


def _without_accuracy(sources: Sequence[Path], runs: Sequence[RunFolder]) -> ReportData:
    """Returns the data of runs that have metrics only: often those of other tools."""
    arms = [read_arm_status(run.path) for run in runs]
    return ReportData(list(sources), None, list(runs), arms, is_final=are_finished(arms))


def _results_so_far(measured: Sequence[MeasuredCurve]) -> list[LineResult]:
    """Returns the results of each line by itself: at the eval points that all have, it would be where the slowest one is."""
    names = dict.fromkeys(m.curve.name for m in measured)
    return [result for name in names for result in line_results([m for m in measured if m.curve.name == name])]


def with_short_names(curves: Curves) -> Curves:
    """Leaves out of the names of lines what all models have in common; the first line of the report says it."""
    runs = [curve for curve in curves.series if curve.origin]
    if len(runs) < len(curves.series):
        return curves
    names = short_names([[curve.origin] for curve in runs if curve.origin], [curve.name for curve in runs])
    for curve, name in zip(runs, names, strict=True):
        curve.name = name
    return curves


def build_running_report(
    folders: Sequence[Path], title: str, made_with: Sequence[str] = (), next_commands: Sequence[str] = (), *, live: bool = True
) -> Document:
    """Builds the report of arms that run or wait. Whatever cannot be read is reported on the page.

    A live page reloads itself, because it will be written again.
    """
    arms = [read_arm_status(folder) for folder in folders]
    readable = [arm.path for arm in arms if arm.scores]
    data = ReportData(readable, None, [RunFolder(path) for path in readable], arms, is_final=False)
    if readable:
        data.curves = _curves_so_far(readable)
        data.measured = analyse.measure_curves(data.curves)
        data.results = _results_so_far(data.measured)
    return Document(title, _sections(data, made_with, next_commands), reload_seconds=RELOAD_SECONDS if live else 0)


def _curves_so_far(folders: Sequence[Path]) -> Curves:
    """Reads the curves of arms that run. Items that are torn or missing leave the points as they were recorded."""
    try:
        return with_short_names(load_curves(folders))
    except UNREADABLE:
        return with_short_names(run_curves([RunFolder(folder) for folder in folders], with_items=False))


def _sections(data: ReportData, made_with: Sequence[str], next_commands: Sequence[str]) -> list[DocumentSection]:
    sections = [
        DocumentSection("", _answer(data)),
        DocumentSection("Results", _results(data)),
        DocumentSection("What cannot be told", _open_questions(data)),
        DocumentSection("Training signals", signals_picture(data.runs)),
        DocumentSection("Diagnosis", diagnosis_blocks(data.runs) if data.curves is None and data.is_final else []),
        DocumentSection("Before and after", _samples(data)),
        DocumentSection("Details", _details(data, made_with, next_commands)),
    ]
    return [section for section in sections if section.blocks]


def _answer(data: ReportData) -> list[Block]:
    """Returns what was compared, and the answer."""
    compared: list[Block] = [Note(_compared(data))] if data.results else []
    return [*compared, _answer_text(data)]


def _compared(data: ReportData) -> str:
    """Says what was compared: 5 lines that differ in model.base, 3 seeds each, 120 steps. abacus/add2: 200 items."""
    lines = {result.line for result in data.results}
    seeds = sorted({result.runs for result in data.results})
    parts = [f"{len(lines)} line{'s' * (len(lines) > 1)}"]
    if any(seeds):
        if len(lines) > 1:
            parts[0] += _varied(data.runs)
        each = " each" * (len(lines) > 1)
        parts.append(f"{' to '.join(map(str, dict.fromkeys((seeds[0], seeds[-1]))))} seed{'s' * (seeds != [1])}{each}")
        steps = sorted({run.config().train.steps for run in data.runs})
        parts.append(f"{' to '.join(map(str, dict.fromkeys((steps[0], steps[-1]))))} steps")
        if len(lines) > 1:
            shared = shared_parts([curve.origin.model for curve in data.curves.series if curve.origin] if data.curves else [])
            parts += [f"all {', '.join(shared)}"] if shared else []
    return " ".join(filter(None, [f"{', '.join(parts)}.", _faults(data), _benchmarks(data), _total_cost(data.runs)]))


def _faults(data: ReportData) -> str:
    """Says which runs have a fault on purpose, so that nobody takes them for sound ones."""
    of_run = {curve.name: curve.origin.fault for curve in (data.curves.series if data.curves else []) if curve.origin}
    faults = [f"{name} has {fault}" for name, fault in of_run.items() if fault]
    return f"With faults on purpose: {'; '.join(faults)}." if faults else ""


def _varied(runs: Sequence[RunFolder]) -> str:
    """Names the settings in which the lines differ. What a method's preset sets is in the method's name."""
    keys = [key for key in varying_keys([run.settings() for run in runs]) if key not in UNNAMED]
    if "method.name" in keys:
        keys = [key for key in keys if key == "method.name" or not key.startswith("method.")]
    more = f" and {len(keys) - MAX_VARIED} more" if len(keys) > MAX_VARIED else ""
    return f" that differ in {', '.join(keys[:MAX_VARIED])}{more}" if keys else ""


def _total_cost(runs: Sequence[RunFolder]) -> str:
    """Says what all runs took together, one after another."""
    last = [(run.metrics() or [{}])[-1] for run in runs]
    seconds, tokens = (sum(row.get(key) or 0 for row in last) for key in ("time/elapsed", "train/num_tokens"))
    devices = {run.config().run.device.partition(":")[0] for run in runs}
    where = {"cpu": " on CPU", "cuda": " on GPU"}.get(devices.pop(), "") if len(devices) == 1 else ""
    if len(runs) < 2 or not seconds:
        return ""
    trained = f", {count(tokens)} tokens trained on" if tokens else ""  # other tools may not record them
    return f"Cost of all {len(runs)} runs: {duration(seconds)}{where}{trained}."


def _benchmarks(data: ReportData) -> str:
    curves = data.curves.series if data.curves else []
    sizes = {c.benchmark: (c.n, c.k) for c in curves if c.n and not c.reader}
    temperatures = len({c.temperature for c in curves if not c.reader})
    is_best_of = any(curve.items is not None and curve.items.choices for curve in curves)
    of_size = {size: _size_words(*size, is_best_of) for size in sizes.values()}
    if len(sizes) <= MAX_BENCHMARKS:
        by_size: dict[tuple[int, int | None], list[str]] = {}
        for name, size in sizes.items():
            by_size.setdefault(size, []).append(name or "The benchmark")
        named = [f"{', '.join(names)}: {of_size[size]}{' each' * (len(names) > 1)}" for size, names in by_size.items()]
        return "; ".join(named) + "." * bool(named)
    items = sorted(n for n, _ in sizes.values())
    at = f" at {temperatures} temperatures" if temperatures > 1 else ""
    span = " to ".join(map(str, dict.fromkeys((items[0], items[-1]))))
    return f"{len(sizes) // temperatures} benchmarks of {span} items{at}."


def _size_words(items: int, samples: int | None, is_best_of: bool) -> str:
    if samples is None:
        return f"{items} items"
    return f"{items} items, best of {samples}" if is_best_of else f"{items} items x {samples} sample{'s' * (samples > 1)}"


def _answer_text(data: ReportData) -> str:
    status = [status_sentence(data.arms)] if data.arms and not data.is_final else []
    if data.curves is None and data.is_final:
        return no_accuracy(data.runs)
    if data.curves is None or not data.is_final:
        return " ".join([*status, "Claims are made when all arms have ended."])
    failed = [path.name for path in failed_arms(data.arms)]
    left_out = [f"Left out, because {'they' if failed[1:] else 'it'} failed: {', '.join(failed)}."] if failed else []
    return " ".join([*left_out, *answer(data.curves, data.findings, data.results)])


def _results(data: ReportData) -> list[Block]:
    """Returns the table, the figure, and what belongs to some kinds of runs only."""
    blocks: list[Block] = []
    shown = best_first(main_results(data.results))
    if shown:
        blocks += [results_table(shown), Note(_results_note(data, shown))]
        missing = sorted({result.line for result in data.results} - {result.line for result in shown})
        if missing:
            blocks.append(f"Not in these means, because a benchmark or a run is missing: {', '.join(missing)}.")
        if len(shown) < len(data.results):
            single = best_first([result for result in data.results if not result.is_mean])
            blocks.append(Details("Each benchmark", [results_table(single)]))
    blocks += arm_blocks(data.arms)
    if data.curves is not None:
        blocks += best_of_n(data.curves)
    return blocks + _figures(data) + observation_blocks(data.findings)


def _results_note(data: ReportData, shown: Sequence[LineResult]) -> str:
    """Says what the numbers of the table are."""
    if not data.runs:
        return "As the curve file gives them."
    runs = {result.runs > 1 for result in shown}
    over = f"{OVER_RUNS}; with one run, {OVER_ITEMS}" if len(runs) > 1 else OVER_RUNS if True in runs else OVER_ITEMS
    common = " that all lines have" * (data.is_final and len({result.line for result in shown}) > 1)
    end = f"End: mean of the last three eval points{common} (of fewer than six, the last)."
    cost = " Tokens trained on and time: per run." if any(result.cost for result in shown) else ""
    return f"In brackets: 95 % CI, {over}. {end} Best: a maximum, so biased upwards.{cost}"


def best_first(results: Sequence[LineResult]) -> list[LineResult]:
    """Returns results in the order of their ends, within each benchmark. Sizes of a model stay in order."""
    if all(parameters_in(result.line) for result in results):
        return list(results)
    benchmarks = list(dict.fromkeys(result.benchmark for result in results))
    return sorted(results, key=lambda result: (benchmarks.index(result.benchmark), -result.end.mean))


def _figures(data: ReportData) -> list[Block]:
    if data.curves is None:
        return [] if data.is_final else ["No figure: there is no eval point yet."]
    try:
        figures: list[Block] = [accuracy_picture(data.sources, finding_marks(data.findings))]
        if any(curve.reader for curve in data.curves.series):
            figures.append(readers_picture(data.sources))
    except PassusError as error:
        return [f"No figure: {shorten(str(error))}"]
    return figures


def finding_marks(findings: Sequence[Finding]) -> list[Mark]:
    """Returns marks for the figure: late falls, and single points that stand out."""
    marks = []
    for finding in findings:
        if finding.verdict is Conclusion.SUPPORTED and finding.id == "A3":
            marks.append(Mark(finding.numbers["before"], "falls", finding.series, finding.benchmark))
        elif finding.verdict is Conclusion.SUPPORTED and finding.id == "A4":
            label = "dip" if finding.numbers["z"] < 0 else "spike"
            marks.append(Mark(finding.numbers["x"], label, finding.series, finding.benchmark))
    return list(
        {(m.x, m.text, m.series.partition(", seed ")[0], m.panel): m for m in marks}.values()
    )  # seeds that fall together


def _open_questions(data: ReportData) -> list[Block]:
    return open_questions(data.runs, data.measured, data.findings) if data.findings else []


def _samples(data: ReportData) -> list[Block]:
    """Shows the first run of every line."""
    curves = [curve for curve in data.curves.series if not curve.reader] if data.curves else []
    by_path = {curve.origin.path: curve.name for curve in curves if curve.origin}
    first = {by_path.get(arm.path, arm.path.name): arm for arm in reversed(data.arms)}
    shown = [(arm, name) for name, arm in reversed(first.items())]
    note: list[Block] = [Note("The first run of every line.")] if len(shown) < len(data.arms) else []
    has_scores = any(arm.scores for arm in data.arms) or (bool(data.arms) and not data.is_final)
    return note + samples_blocks([arm for arm, _ in shown], [name for _, name in shown]) if has_scores else []


def _details(data: ReportData, made_with: Sequence[str], next_commands: Sequence[str]) -> list[Block]:
    blocks: list[Block] = []
    if data.curves is not None:
        blocks += curve_blocks(data.curves, data.measured, data.findings)
    blocks += tests_blocks(data.findings)
    return blocks + appendix_blocks(data.runs) + commands_blocks(made_with, next_commands)
