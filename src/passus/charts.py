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


@dataclass
class Figure:
    title: str
    x: str
    y: str
    series: list[Series]
    note: str = ""


def curves(sources: list[Path], x: str = "step", y: str = "accuracy", title: str | None = None) -> Figure:
    """Every run and curve file under the sources, a line each."""
    if x not in X_AXES:
        raise UsageError(f"x = {x!r}", expected=", ".join(X_AXES), write=nearest(x, X_AXES))
    series: list[Series] = []
    for source in sources:
        if source.is_file():
            series += _of_file(source)
        elif source.is_dir():
            for run in find_runs(source):
                series += _of_run(RunFolder(run), x, y)
        else:
            raise UsageError(f"no file or folder {source}", expected="run folders or curve files")
    series = [s for s in series if s.points]
    if not series:
        raise UsageError(
            f"nothing to draw in {', '.join(map(str, sources))}", expected=f"runs with {y} recorded, or curve files"
        )
    banded = any(p.low is not None for s in series for p in s.points)
    note = "band: 95 % interval of the mean over items like these, clustered by item" if banded else ""
    return Figure(title or "", X_AXES[x], Y_AXES[y][1] if y in Y_AXES else y, _told_apart(series), note)


def _of_run(run: RunFolder, x: str, y: str) -> list[Series]:
    config, meta = run.config(), run.meta()
    rows = {row["step"]: row for row in run.metrics()}

    def along(step: int) -> float | None:
        if x in ("step", "progress"):
            return step if x == "step" else step / config.train.steps
        key = {"tokens": "train/num_tokens", "time": "time/elapsed"}[x]
        return 0.0 if step == 0 else rows[step][key] if step in rows else None

    name, family = meta["model"]["label"], meta["model"]["family"]
    varied = run.path.name
    if y in Y_AXES:
        key = Y_AXES[y][0]
        found: dict[str, Series] = {}
        for point in run.evals():
            several = len(config.eval.temperatures) > 1
            panel = point["benchmark"] + (f", temperature {point['temperature']:g}" if several else "")
            series = found.setdefault(panel, Series(f"{name}|{varied}", panel, [], family))
            where = along(point["step"])
            if where is not None:
                band = (point["ci_low"], point["ci_high"]) if key == "acc" else (None, None)
                series.points.append(Point(where, point[key], *band))
        return list(found.values())
    if rows and y not in next(iter(rows.values())):
        raise UsageError(
            f"y = {y!r} is not recorded in {run.path}",
            expected=", ".join([*Y_AXES, *METRICS]),
            write=nearest(y, [*Y_AXES, *METRICS]),
        )
    points = [
        Point(at, float("nan") if row[y] is None else row[y]) for step, row in rows.items() if (at := along(step)) is not None
    ]
    return [Series(f"{name}|{varied}", y, points, family)]


def _of_file(path: Path) -> list[Series]:
    """A curve file, as published references are written."""
    try:
        curve = json.loads(path.read_text(encoding="utf-8"))
        return [
            Series(s["name"], s.get("benchmark", curve["y"]), [Point(p["x"], p["y"]) for p in s["points"]], s["name"])
            for s in curve["series"]
        ]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise UsageError(
            f"{path} is not a curve file ({type(error).__name__}: {error})",
            expected='JSON with "x", "y" and "series": [{"name", "points"}]',
        ) from None


def _told_apart(series: list[Series]) -> list[Series]:
    """Labels without the arm's name where the model's alone tells lines apart."""
    models = {s.name.partition("|")[0] for s in series}
    arms = {s.name for s in series}
    for s in series:
        model, _, arm = s.name.partition("|")
        s.name = model if not arm or len(models) == len(arms) else f"{model}: {arm}"
    return series


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
    with pyplot.rc_context({"font.size": 9, "svg.fonttype": "none", "svg.hashsalt": "passus", "pdf.fonttype": 42}):
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
