"""The finished report: the runs, their curves, the findings about them, their limits, and experiments to run next.

Sections come in the order of a chart description: overview, axes, each curve, observations, interpretation. All numbers in
sentences come from findings. The report contains everything that the status page of the running experiment showed.
"""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from passus.analysis import analyse
from passus.analysis.finding import Conclusion, Finding
from passus.errors import PassusError
from passus.figures.spec import Mark
from passus.formatting import between, points, share, step
from passus.reports.appendix import configuration_section, signals_section, time_section
from passus.reports.arm_status import read_arm_status, status_sentence
from passus.reports.conclusions import (
    FEW_PAIRS,
    comparison_sections,
    finding_sentence,
    interpretation_section,
    observations_section,
    overall_pairs,
    size_sections,
)
from passus.reports.curve_sections import curve_sections
from passus.reports.document import Block, Document, DocumentSection, Table
from passus.reports.next_experiments import next_experiments
from passus.reports.pictures import accuracy_picture, readers_picture
from passus.reports.status_page import commands_section, samples_section, scores_section
from passus.runs.curve import Curves
from passus.runs.origin import parameters_in
from passus.runs.read_curves import load_curves
from passus.runs.run_folder import RunFolder
from passus.stats import intervals

MAX_LINES = 6
"""Curves that the table of benchmarks by curves has room for."""


def build_report(
    sources: Sequence[Path], title: str | None = None, made_with: Sequence[str] = (), next_commands: Sequence[str] = ()
) -> Document:
    """Analyses runs or curve files, and builds the report about them."""
    curves = load_curves(sources)
    if all(parameters_in(curve.name) for curve in curves.series):
        curves.series.sort(key=lambda curve: parameters_in(curve.name) or 0)
    findings = analyse.analyse(curves)
    benchmark_count = len({curve.benchmark for curve in curves.series})
    runs = [RunFolder(path) for path in dict.fromkeys(curve.origin.path for curve in curves.series if curve.origin)]
    arms = [read_arm_status(run.path) for run in runs]
    sections = [overview_section(curves, findings, sources)]
    if runs:
        sections.append(scores_section(arms))
        sections[-1].blocks.insert(0, status_sentence(arms))
    sections += [
        *size_sections(findings, benchmark_count),
        axes_section(curves),
        *comparison_sections(findings, benchmark_count),
        *curve_sections(curves, findings),
        observations_section(findings),
        interpretation_section(curves, findings),
    ]
    if runs:
        sections += [configuration_section(runs), time_section(runs), signals_section(runs), samples_section(arms)]
        sections += next_experiments(runs, findings)
    sections += commands_section(made_with, next_commands)
    return Document(title or curves.title or ", ".join(source.resolve().stem for source in sources), sections)


def overview_section(curves: Curves, findings: list[Finding], sources: Sequence[Path]) -> DocumentSection:
    names = list(dict.fromkeys(curve.name for curve in curves.series))
    benchmarks = list(dict.fromkeys(curve.benchmark for curve in curves.series if curve.benchmark))
    seeds = max(Counter((c.name, c.benchmark) for c in curves.series if c.origin).values(), default=0)
    runs = f", up to {seeds} seeds each" if seeds > 1 else ", one run each" if seeds else ""
    sentences = [f"{len(names)} line{'s' * (len(names) > 1)} on {', '.join(benchmarks) or 'one benchmark'}{runs}."]
    if curves.source:
        sentences.append(f"Read from {curves.source}: a transcription, so every number is approximate.")
    sentences += _differences(findings, len(benchmarks))
    counts = Counter(finding.verdict for finding in findings)
    sentences.append(f"{len(findings)} findings: {', '.join(f'{counts[verdict]} {verdict}' for verdict in Conclusion)}.")
    blocks: list[Block] = [" ".join(sentences)]
    if len(benchmarks) > 1 and len(names) <= MAX_LINES:
        blocks.append(_first_to_last(curves, names, benchmarks))
    blocks += _best_of_n(curves)
    try:
        blocks.append(accuracy_picture(sources, finding_marks(findings)))
        if any(curve.reader for curve in curves.series):
            blocks.append(readers_picture(sources))
    except PassusError as error:
        blocks.append(f"No figure: {error}")
    return DocumentSection("Overview", blocks)


def _differences(findings: list[Finding], benchmark_count: int) -> list[str]:
    """Returns the tiers on a single benchmark; with several, on how many the curves are distinguishable."""
    tiers = [finding for finding in findings if finding.id == "A7"]
    if benchmark_count <= 1:
        return [finding_sentence(finding) for finding in tiers]
    different = {finding.benchmark for finding in tiers if finding.verdict is Conclusion.SUPPORTED}
    same = {finding.benchmark for finding in tiers} - different
    pairs = overall_pairs(findings)
    sentences = [finding_sentence(finding) for finding in pairs] if len(pairs) <= FEW_PAIRS else []
    if different:
        sentences.append(f"The lines are distinguishable on {len(different)} of {benchmark_count} benchmarks.")
    if same:
        sentences.append(f"The lines are not distinguishable on {len(same)} of {benchmark_count} benchmarks.")
    return sentences


def _first_to_last(curves: Curves, names: list[str], benchmarks: list[str]) -> Table:
    """Returns the first and last value of each curve, as means over its seeds, with one row per benchmark."""
    rows = []
    for benchmark in benchmarks:
        cells = []
        for name in names:
            ends = [(c.y_T[0], c.y_T[-1]) for c in curves.series if (c.name, c.benchmark) == (name, benchmark) and c.points]
            first, last = np.mean(ends, axis=0) if ends else (np.nan, np.nan)
            cells.append(f"{share(float(first))} to {share(float(last))}" if ends else "")
        rows.append([benchmark, *cells])
    return Table(["first to last", *names], rows)


def _best_of_n(curves: Curves) -> list[Block]:
    """Returns rm@k of reward models at their last eval point, against maj@k, as means over the benchmarks."""
    rows = []
    for origin in dict.fromkeys(curve.origin for curve in curves.series if curve.origin):
        evals = [point for point in RunFolder(origin.path).evals() if None not in (point.over_maj, point.efficiency_ci)]
        last = [point for point in evals if point.step == max(point.step for point in evals)]
        if not last:
            continue
        name = next(curve.name for curve in curves.series if curve.origin == origin)
        over_maj, efficiency = (
            intervals.macro_interval([intervals.Interval(getattr(point, key), *getattr(point, f"{key}_ci")) for point in last])
            for key in ("over_maj", "efficiency")
        )
        rm, maj = (float(np.mean([getattr(p, key)[str(p.k)] for p in last])) for key in ("rm_at_k", "maj_at_k"))
        rows.append([
            name, share(rm), share(maj), f"{points(over_maj.mean)} {between(over_maj.low, over_maj.high)}",
            f"{efficiency.mean:.2f} [{efficiency.low:.2f}, {efficiency.high:.2f}]",
        ])  # fmt: skip
    head = ["at the last eval point", "rm@k", "maj@k", "rm@k minus maj@k", "efficiency (mean@k 0, pass@k 1)"]
    return [Table(head, rows)] if rows else []


def finding_marks(findings: list[Finding]) -> list[Mark]:
    """Returns marks for the figure: late falls, and single points that stand out."""
    marks = []
    for finding in findings:
        if finding.verdict is Conclusion.SUPPORTED and finding.id == "A3":
            marks.append(Mark(finding.numbers["before"], "falls", finding.series, finding.benchmark))
        elif finding.verdict is Conclusion.SUPPORTED and finding.id == "A4":
            label = "dip" if finding.numbers["z"] < 0 else "spike"
            marks.append(Mark(finding.numbers["x"], label, finding.series, finding.benchmark))
    return marks


def axes_section(curves: Curves) -> DocumentSection:
    """Returns axes, numbers of items and samples, and how intervals and comparisons are made."""
    xs = [point.x for curve in curves.series for point in curve.points]
    sentences = [f"Horizontal: {curves.x}, {step(min(xs))} to {step(max(xs))}."] if xs else []
    sentences.append(f"Vertical: {curves.y}.")
    benchmarks_by_size: dict[tuple[int, int], dict[str, None]] = {}
    for curve in curves.series:
        if curve.n:
            benchmarks_by_size.setdefault((curve.n, curve.k or 1), {})[curve.benchmark] = None
    items = next((curve for curve in curves.series if curve.points), curves.series[0]).items
    for (n, k), benchmarks in benchmarks_by_size.items():
        samples = (
            f"with the best of {k} from a pool of {k * items.choices:.0f}" if items and items.choices else f"x {k} samples"
        )
        sentences.append(f"{', '.join(filter(None, benchmarks)) or 'The benchmark'}: {n} items {samples} per eval point.")
    if items is not None:
        sentences.append(
            "Intervals of single values are 95 % CIs, clustered by item. Eval points of a run use the same items and the same "
            "noise, and so do runs of one seed and suite, so they are compared item by item."
        )
    return DocumentSection("Axes", [" ".join(sentences)])
