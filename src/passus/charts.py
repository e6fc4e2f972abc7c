"""Figures of learning curves. A figure is first a specification (panels of series with points), then drawn by matplotlib.

Lines are named and coloured by what tells their runs apart: model, tuning, method. Runs that differ by seed alone share one.
"""

import itertools
import json
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any

from passus.config import flatten
from passus.errors import UsageError, nearest
from passus.record import METRICS, RunFolder, find_runs

X_AXES = {"step": "Step", "tokens": "Training tokens", "time": "Seconds", "progress": "Share of the run"}
Y_AXES = {"accuracy": ("acc", "Accuracy"), "length": ("tokens_mean", "Tokens a completion")}
FORMATS = (".svg", ".pdf", ".png")

# One colour and marker a family, in every figure; the shades can be told apart without red, green or blue cones (tested).
FAMILIES = {
    "Qwen3": ("#2474c8", "o"), "Llama3.2": ("#1c8030", "s"), "SmolLM3": ("#632588", "^"), "Gemma3": ("#2cc5d8", "D"),
    "Qwen2.5": ("#6e6e6e", "v"), "Mistral": ("#e377b4", "P"),
}  # fmt: skip
LIVE = ("#e07b00", "*")
"""The live arm beside frozen ones, whatever its family."""
METHODS = {"grpo": ("#56a8e0", "o"), "mel": ("#f28b88", "^")}
"""Where methods are compared, they have the colours and not the families."""
OTHERS = ["#e07b00", "#0b3c7a", "#c8281e", "#7fd0b0", "#d0be20", "#a03cc8", "#222222"]
MARKERS = "os^DvPX"
DASHES = ["-", "--", "-.", ":", (0, (6, 1.5, 1, 1.5, 1, 1.5)), (0, (8, 3))]

LEGEND_INSIDE = 5
"""More lines than this, and the legend goes below the figure: inside, it would hide them."""
MARKED = 60
"""A line of more points than this has no markers."""
SIZES = {"*": 9, "P": 6.5, "X": 6}
QUIET = "#555555"
ITEM_BAND = "95 % interval of the mean over items like these, clustered by item"
NO_DIFFERENCE = ("seed", "run.threads", "run.save_every", "run.keep", "chart.kind", "chart.y")
"""Keys that may differ between runs of one line."""


@dataclass
class Point:
    x: float
    y: float
    low: float | None = None
    high: float | None = None
    step: int = 0
    """By which the points of several seeds are matched, whatever x is."""


@dataclass(frozen=True)
class Style:
    colour: str
    marker: str
    dash: Any = "-"


@dataclass(frozen=True)
class Origin:
    """The run that a line comes from."""

    path: Path
    model: str
    tuning: str
    method: str
    seed: int
    settings: tuple[tuple[str, str], ...]
    """Everything else: runs that agree in it are one experiment, done with several seeds."""


@dataclass
class Series:
    name: str
    panel: str
    """The benchmark, or the metric."""
    points: list[Point]
    family: str | None = None
    origin: Origin | None = None
    style: Style = Style(OTHERS[0], MARKERS[0])
    seeds: int = 0
    """How many a mean is over; 0 for a line of its own."""
    faint: bool = False
    """One of the seeds behind a mean."""


@dataclass
class Figure:
    title: str
    x: str
    y: str
    series: list[Series]
    note: str = ""


def check_y(y: str) -> None:
    """Refuse a vertical axis that no run records."""
    known = [*Y_AXES, *(name for name in METRICS if not name.startswith("eval/"))]
    if y not in known and not y.startswith("reward/"):
        raise UsageError(f"y = {y!r}", expected=", ".join(known), write=nearest(y, known))


def curves(sources: list[Path], x: str = "step", y: str = "accuracy", title: str | None = None) -> Figure:
    """Every run and curve file under the sources, a line each. Curve files bring their own axes."""
    check_y(y)
    if not sources:
        raise UsageError(
            "no run folders or curve files were given", expected="at least one", write="passus plot runs --out figure.svg"
        )
    series: list[Series] = []
    axes: set[tuple[str, str]] = set()
    runs: dict[Path, Path] = {}
    for source in sources:
        if source.is_file():
            found, file_axes = _of_file(source)
            series += found
            axes.add(file_axes)
        elif source.is_dir():
            runs |= {run.resolve(): run for run in find_runs(source)}  # a run given twice is one run
        else:
            raise UsageError(f"no file or folder {source}", expected="run folders or curve files")
    series += [s for run in runs.values() for s in _of_run(RunFolder(run), x, y)]
    axes |= {(x, y)} if runs else set()
    series = [s for s in series if s.points]
    if not series:
        raise UsageError(
            f"nothing to draw in {', '.join(map(str, sources))}", expected=f"runs with {y} recorded, or curve files"
        )
    if len(axes) > 1:
        raise UsageError(
            f"the sources have different axes: {sorted(axes)}", expected="one pair, x and y", write="--x and --y to match"
        )
    ((x, y),) = axes
    series = _arrange(series)
    return Figure(title or "", X_AXES.get(x, x), Y_AXES[y][1] if y in Y_AXES else y, series, _note(series))


def _of_run(run: RunFolder, x: str, y: str) -> list[Series]:
    config, model = run.config(), run.meta()["model"]
    rows = {row["step"]: row for row in run.metrics()}
    settings = tuple((key, str(value)) for key, value in flatten(config).items() if key not in NO_DIFFERENCE)
    label, tuning = model.get("label", run.path.name), model.get("tuning", "live")
    origin = Origin(run.path, label, tuning, config.method.name, config.seed, settings)

    def along(step: int) -> float | None:
        if x in ("step", "progress"):
            return step if x == "step" else step / config.train.steps
        key = {"tokens": "train/num_tokens", "time": "time/elapsed"}[x]
        return 0.0 if step == 0 else rows[step][key] if step in rows else None

    found: dict[str, Series] = {}

    def add(panel: str, step: int, value: float | None, band: tuple[float | None, float | None] = (None, None)) -> None:
        series = found.setdefault(panel, Series(label, panel, [], model.get("family"), origin))
        where = along(step)
        if where is not None:
            series.points.append(Point(where, float("nan") if value is None else value, *band, step))

    try:
        if y not in Y_AXES:
            for step, row in rows.items():
                if y in row:  # arms of one experiment may record different things: sft has no reward
                    add(y, step, row[y])
        for point in run.evals() if y in Y_AXES else []:
            several = len(config.eval.temperatures) > 1
            panel = point["benchmark"] + (f", temperature {point['temperature']:g}" if several else "")
            band = (point["ci_low"], point["ci_high"]) if y == "accuracy" else (None, None)
            add(panel, point["step"], point[Y_AXES[y][0]], band)
    except KeyError as error:
        raise UsageError(f"a row of {run.path} has no {error}", expected="rows as passus writes them") from None
    return list(found.values())


def _of_file(path: Path) -> tuple[list[Series], tuple[str, str]]:
    """A curve file, as published references are written, and its axes."""
    try:
        curve = json.loads(path.read_text(encoding="utf-8"))
        axes = (str(curve["x"]), str(curve["y"]))
        series = []
        for s in curve["series"]:
            points = [Point(float(p["x"]), float("nan") if p["y"] is None else float(p["y"])) for p in s["points"]]
            series.append(Series(str(s["name"]), str(s.get("benchmark", axes[1])), points, str(s["name"])))
        return series, axes
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise UsageError(
            f"{path} is not a curve file ({type(error).__name__}: {error})",
            expected='JSON with "x", "y" and "series": [{"name", "points": [{"x", "y"}]}]',
        ) from None


def _arrange(series: list[Series]) -> list[Series]:
    """Lines named, seeds joined, colours given out."""
    origins = list(dict.fromkeys(s.origin for s in series if s.origin))
    order = list(FAMILIES)
    family = {s.origin: order.index(s.family) if s.family in order else len(order) for s in series}
    lines = sorted(_lines(origins), key=lambda line: (line[0].tuning != "live", family[line[0]]))
    arranged = []
    for line, name in zip(lines, _names(lines), strict=True):
        members = [s for s in series if s.origin in line]
        for s in members:
            s.name, s.faint = name, len(line) > 1
        arranged += members
        if len(line) > 1:
            arranged += [_mean([s for s in members if s.panel == p]) for p in dict.fromkeys(s.panel for s in members)]
    arranged += [s for s in series if not s.origin]  # last, so that runs come first to their families' colours
    _dress(arranged)
    return arranged


def _lines(origins: list[Origin]) -> list[list[Origin]]:
    """Runs that share a line, because they differ by seed alone; a run done twice with one seed is not another seed."""
    alike: dict[Any, list[Origin]] = {}
    for origin in origins:
        alike.setdefault((origin.model, origin.tuning, origin.settings), []).append(origin)
    lines = []
    for group in alike.values():
        lines += [group] if len({origin.seed for origin in group}) == len(group) else [[origin] for origin in group]
    return lines


def _names(lines: list[list[Origin]]) -> list[str]:
    """By model alone where that is enough, then by tuning and method, then by what else differs."""
    heads = [line[0] for line in lines]
    models = [head.model for head in heads]
    if len({head.tuning for head in heads}) > 1:
        models = [f"{head.tuning.capitalize()} {head.model}" for head in heads]
    names = models
    if len({head.method for head in heads}) > 1:
        one = len(set(models)) == 1
        names = [head.method if one else f"{model}: {head.method}" for head, model in zip(heads, models, strict=True)]
    told_apart = list(names)
    for name in set(names):
        same = [i for i, other in enumerate(names) if other == name]
        if len(same) > 1:
            for i, suffix in zip(same, _suffixes([lines[i] for i in same]), strict=True):
                told_apart[i] = f"{name}: {suffix}"
    means = [f" (mean of {len(line)} seeds)" if len(line) > 1 else "" for line in lines]
    return [name + mean for name, mean in zip(told_apart, means, strict=True)]


def _suffixes(lines: list[list[Origin]]) -> list[str]:
    """What tells lines of one name apart: the arm, else the experiment too; for means, which are no arm, their settings."""
    settings = [dict(line[0].settings) for line in lines]
    vary = [key for key in settings[0] if len({s[key] for s in settings}) > 1]
    ways = [["/".join(line[0].path.resolve().parts[-n:]) for line in lines] for n in (1, 2, 99)]
    if any(len(line) > 1 for line in lines):
        ways.insert(0, [", ".join(f"{key.rpartition('.')[2]} {s[key]}" for key in vary) for s in settings])
    return next(way for way in ways if len(set(way)) == len(lines))


def _mean(members: list[Series]) -> Series:
    """The mean over seeds, at the steps that all of them have: elsewhere it would jump when a seed comes or goes."""
    first = members[0]
    by_step = [{p.step: p for p in s.points} for s in members]
    common = [step for step in by_step[0] if all(step in points for points in by_step)]
    points = [_mean_point([points[step] for points in by_step]) for step in common]
    return Series(first.name, first.panel, points, first.family, first.origin, seeds=len(members))


def _mean_point(points: list[Point]) -> Point:
    from passus.stats import interval_over_runs

    over = interval_over_runs([p.y for p in points])
    return Point(sum(p.x for p in points) / len(points), over.mean, over.low, over.high, points[0].step)


def _note(series: list[Series]) -> str:
    """What bands and lines are."""
    means = sorted({s.seeds for s in series if s.seeds})
    items = any(p.low is not None for s in series if not s.seeds and not s.faint for p in s.points)
    lines = []
    if means:
        n = " or ".join(map(str, means))
        lines.append(
            "thick line: mean of seeds, as far as all have come; thin: each seed; "
            f"band: 95 % t interval of the mean over seeds, n = {n}"
        )
    if items:
        lines.append(f"band{' of a single run' if means else ''}: {ITEM_BAND}")
    return "\n".join(lines)


def _dress(series: list[Series]) -> None:
    """Give each line its colour, marker and dash, the same in every panel."""
    origins = [s.origin for s in series if s.origin]
    by_tuning, one_model = len({o.tuning for o in origins}) > 1, len({o.model for o in origins}) == 1
    methods = _method_looks(origins)

    def wish(s: Series) -> tuple[str, str] | None:
        family = FAMILIES.get(s.family or "")
        if not s.origin:
            return family or METHODS.get(s.name.lower())
        if methods:
            colour, marker = methods[s.origin.method]
            return colour, family[1] if family and not one_model else marker
        return LIVE if by_tuning and s.origin.tuning == "live" else family

    wishes: dict[str | None, tuple[str, str] | None] = {}
    for s in series:
        wishes.setdefault(_line_of(s), wish(s))
    spare = _spare([look for look in wishes.values() if look])
    styles: dict[str | None, Style] = {}
    for line, look in wishes.items():
        # A method's colour comes again, dashed, with another model; a family's or the live arm's stands for one line.
        used = {(style.colour, style.dash) for style in styles.values()}
        dashes = [dash for dash in (DASHES if methods else DASHES[:1]) if look and (look[0], dash) not in used]
        styles[line] = Style(*look, dashes[0]) if look and dashes else next(spare)
    for s in series:
        s.style = styles[_line_of(s)]


def _method_looks(origins: list[Origin]) -> dict[str, tuple[str, str]]:
    """Colour and marker of each method, where there are several to compare."""
    names = list(dict.fromkeys(origin.method for origin in origins))
    spare = ((style.colour, style.marker) for style in _spare(METHODS.values()))
    return {name: METHODS.get(name) or next(spare) for name in names} if len(names) > 1 else {}


def _spare(taken: Collection[tuple[str, str]]) -> Iterator[Style]:
    """Looks for lines that have none of their own: first the colours, then the same ones dashed; markers differ too."""
    colours = [colour for colour in OTHERS if colour not in {look[0] for look in taken}]
    markers = [marker for marker in MARKERS if marker not in {look[1] for look in taken}] or MARKERS
    for i in itertools.count():
        yield Style(colours[i % len(colours)], markers[i % len(markers)], DASHES[i // len(colours) % len(DASHES)])


def _line_of(s: Series) -> str | None:
    """What has one look: a line in all its panels. Those that are called as their panel stand alone there, and look alike."""
    return None if s.name == s.panel else s.name


def draw(figure: Figure, *paths: Path) -> None:
    """One file or several, by their suffixes."""
    for path in paths:
        if path.suffix not in FORMATS:
            raise UsageError(
                f"--out {path}", expected=f"a name that ends in {', '.join(FORMATS)}", write=f"{path.with_suffix('.svg')}"
            )
    with _drawn(figure) as drawn:
        for path in paths:
            path.parent.mkdir(parents=True, exist_ok=True)
            # Beside the target first: whoever watches the figure never sees half of one.
            temporary = path.with_name(f".{path.stem}.tmp{path.suffix}")
            drawn.savefig(temporary, dpi=150, metadata={"Date": None} if path.suffix == ".svg" else None)
            temporary.replace(path)


def svg(figure: Figure) -> str:
    """The figure as SVG, for a page to hold."""
    with _drawn(figure) as drawn:
        text = StringIO()
        drawn.savefig(text, format="svg", transparent=True, metadata={"Date": None})
    return text.getvalue()


@contextmanager
def _drawn(figure: Figure) -> Iterator[Any]:
    """matplotlib's figure, within the settings that it must be saved under too."""
    import matplotlib
    from matplotlib.figure import Figure as Canvas

    panels = list(dict.fromkeys(s.panel for s in figure.series))
    columns = min(3, len(panels))
    lines = -(-len(panels) // columns)
    named = list(dict.fromkeys(s.name for s in figure.series if not s.faint and _line_of(s)))
    below = len(named) > LEGEND_INSIDE or (len(panels) > 1 and len(named) > 1)
    width = 1.5 + 4.8 * columns
    across = max(1, int(width / (0.6 + 0.063 * max(map(len, named), default=0))))
    height = 0.7 + 3.1 * lines + (0.19 * -(-len(named) // across) if below else 0)
    settings = {"font.size": 9, "svg.fonttype": "none", "svg.hashsalt": "passus", "pdf.fonttype": 42, "text.parse_math": False}
    with matplotlib.rc_context(settings):
        drawn = Canvas(figsize=(width, height), layout="constrained")
        axes = drawn.subplots(lines, columns, squeeze=False)
        for ax, panel in zip(axes.flat, panels, strict=False):
            _panel(ax, figure, panel)
            if named and not below:
                ax.legend(frameon=False)
        for ax in axes.flat[len(panels) :]:
            ax.set_visible(False)
        drawn.suptitle(figure.title)
        _below(drawn, axes, figure.note, min(across, len(named)) if below else 0)
        yield drawn


def _below(drawn: Any, axes: Any, note: str, across: int) -> None:
    """The note, and the legend under it if it has no room inside; `across` is its columns, 0 for none."""
    if not across:
        drawn.supxlabel(note, fontsize=7, color=QUIET)
        return
    handles = {label: handle for ax in axes.flat for handle, label in zip(*ax.get_legend_handles_labels(), strict=True)}
    # As the legend's title: layout would put a label of the figure's on top of it.
    legend = drawn.legend(
        handles.values(), handles.keys(), loc="outside lower center", ncols=across, frameon=False, fontsize=8,
        title=note or None, title_fontproperties={"size": 7},
    )  # fmt: skip
    legend.get_title().set(color=QUIET, multialignment="center")


def _panel(ax: Any, figure: Figure, panel: str) -> None:
    for s in (s for s in figure.series if s.panel == panel):
        xs, ys = [p.x for p in s.points], [p.y for p in s.points]
        look: dict[str, Any] = {"color": s.style.colour, "linestyle": s.style.dash}
        if s.faint:
            ax.plot(xs, ys, **look, linewidth=0.7, alpha=0.45)
            continue
        marker = s.style.marker if len(xs) <= MARKED else None
        # White edges: where lines cross, the markers can still be told.
        look |= {
            "marker": marker,
            "markersize": SIZES.get(s.style.marker, 5),
            "markeredgecolor": "white",
            "markeredgewidth": 0.6,
        }
        ax.plot(xs, ys, **look, linewidth=2.2 if s.seeds else 1.4, label=s.name if _line_of(s) else None, zorder=3)
        if all(p.low is not None for p in s.points):
            lows, highs = [p.low for p in s.points], [p.high for p in s.points]
            ax.fill_between(xs, lows, highs, color=s.style.colour, alpha=0.13, linewidth=0)
    ax.set(title=panel, xlabel=figure.x, ylabel=figure.y)
    if figure.y == "Accuracy":
        ax.set_ylim(0, 1.02)
    ax.grid(alpha=0.25, linewidth=0.6)
    ax.spines[["top", "right"]].set_visible(False)
