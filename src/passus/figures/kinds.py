"""Figures of learning curves. A figure is first a specification, plain data; `render.py` draws it, and so can a page.

    curves    a line each: runs of several seeds are a mean with its runs behind
    grid      one run or file: accuracy and length, on two axes, a panel each benchmark, and their total
    heatmap   lines as rows, such as models by size: progress along, accuracy as colour
    solved    one run: its items as rows, the share of samples that are correct as colour
    readers   a line each reader of what a run wrote, a panel each benchmark and writer
    choice    reward models at their last eval point: rm@k against k, between mean@k and pass@k
    pleasing  runs that a reward model pays: its score and the verifier's accuracy on two axes, a panel each run and benchmark

Lines are named and coloured by what tells their runs apart: model, tuning, method. Runs that differ by seed alone share one.
"""

import csv
import io
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from passus.atomic_io import write_atomic
from passus.errors import UsageError
from passus.figures import series as lines
from passus.figures.spec import Figure, Point, Series, Style, line_of
from passus.figures.styles import ACCURACY, DASH_LENGTHS, RAMP, TOKENS, reader_look, sizes_of
from passus.figures.styles import REFERENCES as GRAYS
from passus.metric_names import Y_AXES, check_y
from passus.runs.curves import BEST_OF, of_readings, of_runs, origin_of
from passus.runs.eval_point import EvalPoint
from passus.runs.run_folder import RunFolder

X_AXES = {
    "step": "Step", "tokens": "Training tokens", "time": "Seconds", "progress": "Share of the run", "iteration": "Iteration",
}  # fmt: skip
FORMATS = (".svg", ".pdf", ".png", ".csv")

ITEM_BAND = "95 % interval of the mean over items like these, clustered by item"


def _axis(x: str) -> str:
    """Its label; a curve file may bring its own x."""
    return X_AXES.get(x) or x[:1].upper() + x[1:]


def figure(
    sources: list[Path], kind: str = "curves", x: str | None = None, y: str = "accuracy", title: str | None = None,
    references: Sequence[Path] = (),
) -> Figure:  # fmt: skip
    """A figure of any kind. Without an x, a heatmap is against the share of the run, all else against step."""
    if kind not in ("curves", "grid", "heatmap", "solved", "readers", "choice", "pleasing"):
        raise UsageError(f"kind = {kind!r}", expected="curves, grid, heatmap, solved, readers, choice or pleasing")
    if references and kind != "curves":
        raise UsageError(f"references in a {kind}", expected="kind = 'curves'")
    if kind in ("grid", "solved", "readers", "choice", "pleasing") and y != "accuracy":
        raise UsageError(f"y = {y!r} in a {kind}", expected="accuracy", write="kind = 'curves'")
    if kind == "heatmap":
        return heatmap(sources, x or "progress", y, title)
    if kind == "curves":
        return curves(sources, x or ("progress" if _are_scorers(sources) else "step"), y, title, references)
    if kind == "choice":
        return choice(sources, title)
    return {"grid": grid, "solved": solved, "readers": readers, "pleasing": pleasing}[kind](sources, x or "step", title)


def curves(
    sources: list[Path], x: str = "step", y: str = "accuracy", title: str | None = None, references: Sequence[Path] = ()
) -> Figure:
    """Every run and curve file under the sources, a line each. Curve files bring their own axes."""
    check_y(y)
    series, axes = [], set()
    runs, files = lines.sorted_out(sources)
    for file in files:
        found, file_axes = lines.of_file(file)
        series += found
        axes.add(file_axes)
    series += [s for run in runs for s in lines.of_run(RunFolder(run), x, y)]
    axes |= {(x, y)} if runs else set()
    series = [s for s in series if s.points]
    if not series:
        raise UsageError(
            f"nothing to draw in {', '.join(map(str, sources))}", expected=f"runs with {y} recorded, or curve files"
        )
    for reference in references:
        found, file_axes = lines.of_file(reference)
        series += lines.as_reference(found, reference, {s.panel for s in series})
        axes.add(file_axes)
    if len(axes) > 1:
        raise UsageError(
            f"the sources have different axes: {sorted(axes)}", expected="one pair, x and y", write="--x and --y to match"
        )
    ((x, y),) = axes
    series = lines.arrange(series)
    marks = [mark for run in runs for mark in lines.marks(RunFolder(run), series, x)]
    if sizes_of(series) and y == "accuracy":
        series += lines.totals([s for s in series if not s.faint], "Average")
    label = Y_AXES[y][1] if y in Y_AXES else y
    made = Figure(title or "", _axis(x), label, series, _note(series), marks=marks)
    if y == "accuracy" and _are_scorers(sources):
        made.y = f"rm@{BEST_OF}"
        made.series += _baselines(runs, made)
        made.note += (
            "\ngray: what needs no reward model: mean@k, a blind choice; maj@k; and pass@k, the best that a choice could be"
        )
    return made


def _are_scorers(sources: Sequence[Path]) -> bool:
    """Whether all are runs of reward models, beside the generators of their candidates."""
    runs, files = lines.sorted_out(sources)
    found = [run for run in runs if RunFolder(run).evals()]
    return bool(found) and not files and all(RunFolder(run).config().kind == "reward_model" for run in found)


def _baselines(runs: Sequence[Path], made: Figure) -> list[Series]:
    """mean@k, maj@k and pass@k of the pools, which are the same for all lines, and their averages."""
    by_name = {point.benchmark: point for run in runs for point in RunFolder(run).evals() if point.rm_at_k is not None}
    ends = [min(p.x for s in made.series for p in s.points), max(p.x for s in made.series for p in s.points)]
    found = []
    for n, word in enumerate(("mean", "maj", "pass")):
        levels = {benchmark: _baseline(point, word) for benchmark, point in by_name.items()}
        values = {benchmark: by_k[str(by_name[benchmark].k)] for benchmark, by_k in levels.items() if by_k}
        for panel in made.panels if len(values) == len(by_name) else []:
            own = [values[panel]] if panel in values else list(values.values())
            level = sum(own) / len(own)
            points = [Point(x, level) for x in ends]
            found.append(Series(f"{word}@k", panel, points, style=Style(*GRAYS[n], ":"), reference=True))
    return found


def _baseline(point: EvalPoint, word: str) -> Mapping[str, float]:
    """Returns mean@k, maj@k or pass@k of a reward model's pool by k; empty where the candidates have no answers to count."""
    if word == "mean":
        return dict.fromkeys(point.rm_at_k or (), point.mean or 0.0)
    return (point.maj_at_k if word == "maj" else point.pass_at_k) or {}


def choice(sources: list[Path], title: str | None = None) -> Figure:
    """rm@k of each reward model against k, a panel each benchmark."""
    runs = [run for run in lines.sorted_out(sources)[0] if RunFolder(run).config().kind == "reward_model" and RunFolder(run).evals()]
    if not runs:
        raise UsageError(
            f"no reward models in {', '.join(map(str, sources))}", expected='runs with method.name = "reward_model"'
        )
    series = [s for run in runs for s in _chosen(RunFolder(run))]
    series = lines.arrange(series)
    by_name = {point.benchmark: point for run in runs for point in RunFolder(run).evals()}
    for benchmark, point in by_name.items():
        for n, word in enumerate(("mean", "maj", "pass")):
            points = [Point(math.log2(int(k)), value) for k, value in _baseline(point, word).items()]
            series.append(Series(f"{word}@k", benchmark, points, style=Style(*GRAYS[n], ":"), reference=True))
    series += lines.totals(series, "Average")
    return Figure(title or "", "log2 k", "rm@k", series, "gray: mean@k, maj@k and pass@k of the same pools")


def pleasing(sources: list[Path], x: str = "step", title: str | None = None) -> Figure:
    """Accuracy by the verifier, and the score of the reward model that pays for it, on the same completions; of every run."""
    made = curves(sources, x, "accuracy", title)
    runs = {run: RunFolder(run) for run in lines.sorted_out(sources)[0]}
    scores = {
        (folder.path, panel, point.step): point.score
        for folder in runs.values()
        for panel, point in lines.panels(folder)
        if point.score is not None
    }
    if not scores:
        raise UsageError(f"no scores in {', '.join(map(str, sources))}", expected="runs with reward.model")
    series = []
    for s in made.series:
        if s.origin and not s.seeds and any((s.origin.path, s.panel, p.step) in scores for p in s.points):
            points = [replace(p, tokens=scores.get((s.origin.path, s.panel, p.step)), tokens_p95=None) for p in s.points]
            panel = f"{s.panel}, {s.name if len(runs) > 1 else 'one run'}"
            series.append(replace(s, name=panel, panel=panel, points=points, style=ACCURACY))
    note = f"blue: accuracy, band: {ITEM_BAND}\norange: mean score of the same completions by the reward model that pays"
    return replace(made, series=series, kind="grid", y2="Reward model's score", note=note)


def _chosen(run: RunFolder) -> list[Series]:
    model, origin, evals = run.meta()["model"] or {}, origin_of(run), run.evals()
    last = max(point.step for point in evals)
    return [
        Series(
            origin.model, point.benchmark, [
                Point(math.log2(int(k)), point.rm_at_k[k], low, high, int(k)) for k, (low, high) in point.rm_ci.items()
            ],
            model.get("family"), origin, parameters=model.get("parameters"),
        )
        for point in evals
        if point.step == last and point.rm_at_k and point.rm_ci
    ]  # fmt: skip


def grid(sources: list[Path], x: str = "step", title: str | None = None) -> Figure:
    """Accuracy and length of one run or curve file, a panel each benchmark, and their total."""
    runs, files = lines.sorted_out(sources)
    one = "one run, or one curve file with one line a benchmark"
    if len(runs) + len(files) > 1:
        raise UsageError(
            f"{len(runs) + len(files)} runs or curve files for one grid", expected=one, write=str([*runs, *files][0])
        )
    made = curves(sources, x, "accuracy", title)
    made.series = [s for s in made.series if not s.reference]
    if len(made.panels) < len(made.series):
        raise UsageError(f"{len({s.name for s in made.series})} lines in {sources[0]}", expected=one)
    series = made.series + (lines.suite_total(runs, x, made.series[0]) or lines.totals(made.series, "Total"))
    for s in series:
        s.style = ACCURACY
    points = [p for s in series for p in s.points]
    note = [f"blue band: {ITEM_BAND}"] if runs else [made.note] if made.note else []
    if any(p.tokens_p95 is not None for p in points):
        note.append("orange band: from the mean length to its 95th percentile")
    y2 = Y_AXES["length"][1] if any(p.tokens is not None for p in points) else ""
    return replace(made, series=series, kind="grid", y2=y2, note="\n".join(note))


def heatmap(sources: list[Path], x: str = "progress", y: str = "accuracy", title: str | None = None) -> Figure:
    """Lines as rows, the larger model above; a panel each benchmark, and their average. One line: its benchmarks as rows."""
    made = curves(sources, x, y, title)
    series = [s for s in made.series if not s.faint and not s.reference]
    sizes = sizes_of(series)
    if sizes:
        series.sort(key=lambda s: -sizes[line_of(s)])
    series += lines.totals(series, "Average")
    if len({line_of(s) for s in series}) == 1:
        name = line_of(series[0]) or ""
        series = [replace(s, name=s.panel, panel=name) for s in series]
    made = replace(made, series=series, kind="heatmap")
    seeds = _seeds_of(series)
    known = [(s.panel, frozenset(p.x for p in s.points if not math.isnan(p.y))) for s in series]
    missing = len(set(known)) > len(made.panels) or any(math.isnan(p.y) for s in series for p in s.points)
    made.note = "\n".join(([f"means of n = {seeds} seeds"] if seeds else []) + (["gray: no value"] if missing else []))
    return made


def solved(sources: list[Path], x: str = "step", title: str | None = None) -> Figure:
    """The items of one run: those first that were solved first, in most of their samples."""
    runs, files = lines.sorted_out(sources)
    if len(runs) != 1 or files:
        raise UsageError(f"{len(runs)} runs and {len(files)} curve files for one map of items", expected="one run with items")
    run = RunFolder(runs[0])
    found = [curve for curve in of_runs([run]).series if curve.items is not None]
    if not found:
        raise UsageError(f"{run.path} has no items that fit together", expected="items/ as passus writes it")
    along = lines.placed(run, x)
    made = Figure(title or found[0].name, X_AXES[x], "Share of samples correct", [], kind="solved")
    for curve in found:
        assert curve.items is not None
        series, changes = lines.of_items(curve.items, curve.benchmark, along)
        made.series += series
        made.changes += changes
    samples = " or ".join(dict.fromkeys(str(curve.items.correct_TQK.shape[2]) for curve in found if curve.items))
    made.note = f"{samples} samples an item; solved: most of them correct\n"
    made.note += "+ newly solved since the eval before, \N{MINUS SIGN} solved no longer"
    return made


def readers(sources: list[Path], x: str = "step", title: str | None = None) -> Figure:
    """Who can answer from what was written: the policy itself, frozen readers, and what is right without the text."""
    runs, files = lines.sorted_out(sources)
    found = of_readings([RunFolder(run) for run in runs])
    if not found or files:
        raise UsageError(f"no readers in {', '.join(map(str, sources))}", expected="runs with eval.readers")
    series = []
    for curve in found:
        assert curve.origin is not None
        along = lines.placed(RunFolder(curve.origin.path), x)
        points = [
            Point(where, p.y, p.low, p.high, step=int(p.x)) for p in curve.points if (where := along(int(p.x))) is not None
        ]
        series.append(Series(curve.name, curve.benchmark, points, curve.family, style=reader_look(curve)))
    joined = []
    for panel, name in dict.fromkeys((s.panel, s.name) for s in series):
        members = [s for s in series if (s.panel, s.name) == (panel, name)]
        for n, s in enumerate(members if len(members) > 1 else []):
            s.line, s.faint, s.name = f"{name} (mean of {len(members)} seeds)", True, f"{name}, run {n + 1}"
        joined += [*members, lines.mean_of_seeds(members)] if len(members) > 1 else members
    note = _note(joined) if _seeds_of(joined) else f"band: {ITEM_BAND}"
    note += "\nreaders answer from the policy's reasoning; gray: what the frozen policy says without it"
    return Figure(title or "", _axis(x), Y_AXES["accuracy"][1], joined, note)


def _note(series: list[Series]) -> str:
    """What bands and lines are."""
    seeds = _seeds_of(series)
    banded = [s for s in series if not s.seeds and not s.faint and any(p.low is not None for p in s.points)]
    said = []
    if seeds:
        said.append(
            "thick line: mean of seeds, as far as all have come; thin: each seed; "
            f"band: 95 % t interval of the mean over seeds, n = {seeds}"
        )
    if any(s.origin for s in banded):
        said.append(f"band{' of a single run' if seeds else ''}: {ITEM_BAND}")
    if any(not s.origin for s in banded):
        said.append("band of a curve file: as the file gives it")
    if any(s.approximate for s in series):
        which = "all values" if all(s.approximate for s in series) else "dotted and gray"
        said.append(f"{which}: read off a chart, so approximate")
    return "\n".join(said)


def _seeds_of(series: list[Series]) -> str:
    """Of how many seeds there are means."""
    return " or ".join(map(str, sorted({s.seeds for s in series if s.seeds})))


def specification(figure: Figure) -> dict[str, Any]:
    """The figure as JSON holds it, for whatever draws it: a page, another plotter. What is missing is null."""
    spec: dict[str, Any] = {
        "kind": figure.kind,
        "title": figure.title,
        "note": figure.note,
        "x": {"label": figure.x},
        "y": {"label": figure.y} | ({"range": [0, 1]} if figure.y == Y_AXES["accuracy"][1] else {}),
        "panels": figure.panels,
        "series": [_plain_series(s) for s in figure.series],
        "marks": [asdict(mark) for mark in figure.marks],
        "changes": [asdict(change) for change in figure.changes],
    }
    if figure.y2:
        spec["y2"] = {"label": figure.y2, "style": _plain_style(TOKENS)}
    if figure.kind in ("heatmap", "solved"):
        spec["ramp"] = RAMP
    return spec


def _plain_series(s: Series) -> dict[str, Any]:
    columns = {key: [_or_null(getattr(p, key)) for p in s.points] for key in ("x", "y", "low", "high", "tokens", "tokens_p95")}
    points = {key: values for key, values in columns.items() if key in "xy" or any(v is not None for v in values)}
    kept = {key: getattr(s, key) for key in ("name", "panel", "seeds", "faint", "reference", "approximate", "parameters")}
    return kept | {"line": line_of(s), "style": _plain_style(s.style), "points": points}


def _plain_style(style: Style) -> dict[str, Any]:
    dash = DASH_LENGTHS[style.dash] if isinstance(style.dash, str) else list(style.dash[1])
    return {"colour": style.colour, "marker": style.marker, "dash": dash}


def _or_null(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None


def write_csv(figure: Figure, path: Path) -> None:
    """The numbers behind a figure, a row a point. `n_seeds` is empty where a curve file does not say."""
    columns = ["x", "y", "low", "high"]
    more = ["tokens", "tokens_p95"] if figure.kind == "grid" else []
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(["panel", "series", *columns, "n_seeds", *more])
    for s in figure.series:
        n = s.seeds or (1 if s.origin or figure.kind == "solved" else None)
        for p in s.points:
            numbers = [_or_null(getattr(p, name)) for name in columns + more]
            rows.writerow([s.panel, s.name, *numbers[:4], n, *numbers[4:]])
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomic(path, lambda target: target.write_text(text.getvalue(), encoding="utf-8"), durable=False)


def draw(figure: Figure, *paths: Path, column: bool = False) -> None:
    """One file or several, by their suffixes; `column`: as wide as a paper's column, with its sizes of type."""
    for path in paths:
        if path.suffix not in FORMATS:
            raise UsageError(
                f"--out {path}", expected=f"a name that ends in {', '.join(FORMATS)}", write=f"{path.with_suffix('.svg')}"
            )
    for path in paths:
        if path.suffix == ".csv":
            write_csv(figure, path)
    drawn = [path for path in paths if path.suffix != ".csv"]
    if drawn:
        from passus.figures import matplotlib_render

        matplotlib_render.save(figure, drawn, column)


def svg(figure: Figure) -> str:
    """The figure as SVG, for a page to hold."""
    from passus.figures import matplotlib_render

    return matplotlib_render.svg(figure)
