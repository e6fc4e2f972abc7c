"""Figures of learning curves. A figure is first a specification (panels of series with points), then drawn by matplotlib."""

import json
from dataclasses import dataclass
from pathlib import Path

from passus.errors import UsageError, nearest
from passus.record import METRICS, RunFolder, find_runs

X_AXES = {"step": "Step", "tokens": "Training tokens", "time": "Seconds", "progress": "Share of the run"}
Y_AXES = {"accuracy": ("acc", "Accuracy"), "length": ("tokens_mean", "Tokens a completion")}
FORMATS = (".svg", ".pdf", ".png")

# One colour and marker a family, in every figure; shades chosen to differ in lightness too.
FAMILIES = {
    "Qwen3": ("#1f6fc0", "o"), "Llama3.2": ("#2a9d3a", "s"), "SmolLM3": ("#7b3fa0", "^"), "Gemma3": ("#17b4c8", "D"),
    "Qwen2.5": ("#6e6e6e", "v"), "Mistral": ("#e377b4", "P"),
}  # fmt: skip
OTHERS = [
    ("#e07b00", "o"),
    ("#0b3c7a", "s"),
    ("#c8281e", "^"),
    ("#4fae8c", "D"),
    ("#a08000", "v"),
    ("#5b5be0", "P"),
    ("#222222", "X"),
]


@dataclass
class Point:
    x: float
    y: float
    low: float | None = None
    high: float | None = None


@dataclass
class Series:
    name: str
    panel: str
    """The benchmark, or the metric."""
    points: list[Point]
    family: str | None = None
    run: Path | None = None
    """The run it comes from, whose name tells it from others of the same model."""


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
    if y not in known:
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
    for source in sources:
        if source.is_file():
            found, file_axes = _of_file(source)
            series += found
            axes.add(file_axes)
        elif source.is_dir():
            runs = find_runs(source)
            series += [s for run in runs for s in _of_run(RunFolder(run), x, y)]
            axes |= {(x, y)} if runs else set()
        else:
            raise UsageError(f"no file or folder {source}", expected="run folders or curve files")
    series = [s for s in series if s.points]
    if not series:
        raise UsageError(
            f"nothing to draw in {', '.join(map(str, sources))}", expected=f"runs with {y} recorded, or curve files"
        )
    if len(axes) > 1:
        raise UsageError(
            f"the sources have different axes: {sorted(axes)}", expected="one pair, x and y", write="--x and --y to match"
        )
    banded = any(p.low is not None for s in series for p in s.points)
    note = "band: 95 % interval of the mean over items like these, clustered by item" if banded else ""
    ((x, y),) = axes
    _tell_apart(series)
    return Figure(title or "", X_AXES.get(x, x), Y_AXES[y][1] if y in Y_AXES else y, series, note)


def _of_run(run: RunFolder, x: str, y: str) -> list[Series]:
    config, model = run.config(), run.meta()["model"]
    rows = {row["step"]: row for row in run.metrics()}

    def along(step: int) -> float | None:
        if x in ("step", "progress"):
            return step if x == "step" else step / config.train.steps
        key = {"tokens": "train/num_tokens", "time": "time/elapsed"}[x]
        return 0.0 if step == 0 else rows[step][key] if step in rows else None

    found: dict[str, Series] = {}

    def add(panel: str, step: int, value: float | None, band: tuple[float | None, float | None] = (None, None)) -> None:
        series = found.setdefault(panel, Series(model["label"], panel, [], model["family"], run.path))
        where = along(step)
        if where is not None:
            series.points.append(Point(where, float("nan") if value is None else value, *band))

    try:
        if y not in Y_AXES:
            for step, row in rows.items():
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


def _tell_apart(series: list[Series]) -> None:
    """Label lines by their model alone where that is enough, else with the arm, else with the experiment too."""
    runs = {s.run for s in series if s.run is not None}

    def labels(parts: int) -> dict[Path, str]:
        return {run: "/".join(run.resolve().parts[-parts:]) if parts else "" for run in runs}

    models = {s.run: s.name for s in series if s.run is not None}
    for parts in (0, 1, 2, 99):
        suffix = labels(parts)
        if len({(models[run], suffix[run]) for run in runs}) == len(runs):
            break
    for s in series:
        if s.run is not None and suffix[s.run]:
            s.name = f"{s.name}: {suffix[s.run]}"


def draw(figure: Figure, path: Path) -> None:
    if path.suffix not in FORMATS:
        raise UsageError(
            f"--out {path}", expected=f"a name that ends in {', '.join(FORMATS)}", write=f"{path.with_suffix('.svg')}"
        )
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    panels = list(dict.fromkeys(s.panel for s in figure.series))
    columns = min(3, len(panels))
    lines = -(-len(panels) // columns)
    with pyplot.rc_context(
        {"font.size": 9, "svg.fonttype": "none", "svg.hashsalt": "passus", "pdf.fonttype": 42, "text.parse_math": False}
    ):
        drawn, axes = pyplot.subplots(
            lines, columns, figsize=(1.5 + 4.8 * columns, 0.7 + 3.1 * lines), squeeze=False, layout="constrained"
        )
        for ax, panel in zip(axes.flat, panels, strict=False):
            _panel(ax, figure, panel)
        for ax in axes.flat[len(panels) :]:
            ax.set_visible(False)
        drawn.suptitle(figure.title)
        drawn.supxlabel(figure.note, fontsize=7, color="#555555")
        path.parent.mkdir(parents=True, exist_ok=True)
        # Beside the target first: whoever watches the figure never sees half of one.
        temporary = path.with_name(f".{path.stem}.tmp{path.suffix}")
        drawn.savefig(temporary, dpi=150, metadata={"Date": None} if path.suffix == ".svg" else None)
        pyplot.close(drawn)
        temporary.replace(path)


def _panel(ax, figure: Figure, panel: str) -> None:
    others = iter(OTHERS * 20)
    used: set[str] = set()
    for s in (s for s in figure.series if s.panel == panel):
        known = s.family in FAMILIES and s.family not in used
        colour, marker = FAMILIES[s.family] if known and s.family else next(others)
        used.add(s.family or "")
        xs, ys = [p.x for p in s.points], [p.y for p in s.points]
        few = len(xs) <= 60
        ax.plot(xs, ys, color=colour, marker=marker if few else None, markersize=4, linewidth=1.4, label=s.name)
        lows, highs = [p.low for p in s.points], [p.high for p in s.points]
        if all(low is not None for low in lows):
            ax.fill_between(xs, lows, highs, color=colour, alpha=0.15, linewidth=0)
    ax.set(title=panel, xlabel=figure.x, ylabel=figure.y)
    if figure.y == "Accuracy":
        ax.set_ylim(0, 1)
    ax.grid(alpha=0.25, linewidth=0.6)
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False)
