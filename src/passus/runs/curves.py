"""Learning curves as data: from run folders, with every item and sample, or from curve files, with points alone.

A curve is one line of one benchmark. Runs that differ by seed alone are several curves of one name.

A curve file is what `plot` and `analyse` read, what `read` writes and how published references are kept:

    {"title", "x", "y", "series": [{"name", "benchmark", "n", "k", "points": [{"x", "y", "tokens", "approximate"}]}],
     "claims": [{"text", "line"}]}

Shapes: T eval points, Q items, K samples an item.
"""

import json
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from passus.atomic_io import write_text
from passus.config.resolve import flatten
from passus.config.tables import FROZEN
from passus.errors import PassusError, UsageError, nearest
from passus.grading.grade import Verdict
from passus.runs.eval_point import EvalPoint, has_several_temperatures, panel_name
from passus.runs.run_folder import RunFolder, find_runs

NO_TEXT, OTHER_TEXT = "No text", "Another item's text"
"""What the controls of readers are called."""
BEST_OF = 8
"""k of a reward model's curve: the best of eight candidates, or of as many as there are."""
REFERENCES = Path(__file__).parent / "references"
"""Published curves that come with passus."""
MOST_POINTS, MOST_ITEMS = 5000, 10_000_000
NO_DIFFERENCE = ("seed", "run.save_every", "run.keep_checkpoints", "figure")
"""Keys that may differ between runs of one line."""


@dataclass(frozen=True)
class Point:
    x: float
    y: float
    """Not a number where a value is missing."""
    low: float | None = None
    high: float | None = None
    tokens: float | None = None
    """Mean length of completions."""
    approximate: bool = False
    """Read off a chart."""


@dataclass
class Items:
    """What became of every sample of one benchmark, at the eval points whose rows are whole."""

    steps_T: list[int]
    item_Q: list[int]
    correct_TQK: np.ndarray
    tokens_TQK: np.ndarray
    truncated_TQK: np.ndarray
    source: str = ""
    """A fingerprint of the benchmark's data, where the run recorded one."""
    choices: float = 0
    """Where values are chances of a choice among a pool: the pool's size over k. 0 where they are samples."""

    @property
    def means_TQ(self) -> np.ndarray:
        return self.correct_TQK.mean(2)

    def at(self, item_Q: Sequence[int], steps_T: Sequence[int]) -> "Items":
        """Of these items at these steps, in this order."""
        rows = [self.item_Q.index(item) for item in item_Q]
        times = [self.steps_T.index(step) for step in steps_T]
        correct, tokens, truncated = (
            values[times][:, rows] for values in (self.correct_TQK, self.tokens_TQK, self.truncated_TQK)
        )
        return Items(list(steps_T), list(item_Q), correct, tokens, truncated, self.source, self.choices)

    def same_as(self, other: "Items") -> bool:
        """Whether items of one number are the same items."""
        return set(self.item_Q) == set(other.item_Q) and (not self.source or not other.source or self.source == other.source)


@dataclass
class Curve:
    name: str
    benchmark: str
    points: list[Point]
    n: int | None = None
    """Items of the benchmark."""
    k: int | None = None
    """Samples an item."""
    items: Items | None = None
    origin: "Origin | None" = None
    """The run it comes from."""
    temperature: float | None = None
    """Where runs were evaluated at several."""
    reader: str = ""
    """Of a reader's answers: `live`, `self` (the frozen policy), `frozen` (another model) or `control`."""
    family: str = ""
    """The reader's."""

    @property
    def level(self) -> str:
        """L0: points alone. L1: how many items and samples are behind them. L2: every item."""
        return "L2" if self.items is not None else "L1" if self.n else "L0"

    @property
    def x_T(self) -> np.ndarray:
        return np.array([p.x for p in self.points])

    @property
    def y_T(self) -> np.ndarray:
        return np.array([p.y for p in self.points])


@dataclass(frozen=True)
class Claim:
    """A sentence that says something of the curves."""

    text: str
    line: int
    """Of the text it was read from, counted from 1."""


@dataclass
class Curves:
    title: str
    x: str
    y: str
    series: list[Curve]
    claims: list[Claim] = field(default_factory=list)
    unread: list[Claim] = field(default_factory=list)
    """Sentences with numbers that nothing was made of."""
    source: str = ""


@dataclass(frozen=True)
class Origin:
    """The run that a curve comes from."""

    path: Path
    model: str
    tuning: str
    method: str
    seed: int
    settings: tuple[tuple[str, str], ...]
    """Everything else: runs that agree in it are one experiment, done with several seeds."""


def found(sources: Sequence[Path]) -> list[Path]:
    """Paths as they were given; what is no path may be the name of a shipped reference, such as kimi-k1.5."""
    shipped = {path.stem: path for path in REFERENCES.glob("*.json")}
    return [shipped[str(source)] if not source.exists() and str(source) in shipped else source for source in sources]


def load(sources: Sequence[Path]) -> Curves:
    """All curves of run folders, folders of them, and curve files."""
    if not sources:
        raise UsageError("no run folders or curve files were given", expected="at least one")
    read: list[Curves] = []
    runs: dict[Path, Path] = {}
    for source in found(sources):
        if source.is_file():
            read.append(read_file(source))
        elif source.is_dir():
            runs |= {run.resolve(): run for run in find_runs(source)}  # a run given twice is one run
        else:
            raise UsageError(
                f"no file or folder {source}",
                expected="run folders, curve files, or a shipped reference",
                write=nearest(str(source), [path.stem for path in REFERENCES.glob("*.json")]),
            )
    if runs:
        folders = [RunFolder(path) for path in runs.values()]
        read.append(of_runs(folders))
        read[-1].series += of_readings(folders)
    if not any(curve.points for curves in read for curve in curves.series):
        raise UsageError(f"nothing in {', '.join(map(str, sources))}", expected="runs with eval points, or curve files")
    axes = {(curves.x, curves.y) for curves in read}
    if len(axes) > 1:
        raise UsageError(f"the sources have different axes: {sorted(axes)}", expected="one pair, x and y")
    first = read[0]
    highest = max((p.y for curves in read for c in curves.series for p in c.points if not math.isnan(p.y)), default=0.0)
    if "accuracy" in first.y.lower() and highest > 1:
        raise UsageError(f"{first.y} of {highest:g}", expected="shares from 0 to 1", write="each y divided by 100")
    if len(read) == 1:
        return first
    series = [curve for curves in read for curve in curves.series]
    claims, unread = ([claim for curves in read for claim in getattr(curves, name)] for name in ("claims", "unread"))
    return Curves(first.title, first.x, first.y, series, claims, unread, ", ".join(c.source for c in read if c.source))


def of_runs(runs: Sequence[RunFolder]) -> Curves:
    """Accuracy against step, with items, of every benchmark and temperature of every run that has eval points."""
    runs = [run for run in runs if run.evals()]
    origins = [origin_of(run) for run in runs]
    name_of = {origin: name for line, name in zip(*named_lines(origins), strict=True) for origin in line}
    rows = [run.evals() for run in runs]
    several = has_several_temperatures(row for of_run in rows for row in of_run)
    series = [
        curve
        for run, origin, of_run in zip(runs, origins, rows, strict=True)
        for curve in _of_run(run, origin, name_of[origin], of_run, several)
    ]
    scorers = [run.config().kind == "reward_model" for run in runs]
    return Curves("", "step", f"rm@{BEST_OF}" if scorers and all(scorers) else "accuracy", series)


def _of_run(run: RunFolder, origin: Origin, name: str, rows: list[EvalPoint], several: bool) -> list[Curve]:
    """`several`: temperatures, over all runs that are looked at together."""
    found: dict[tuple[str, float], Curve] = {}
    try:
        for row in rows:
            key = row.benchmark, row.temperature
            shown = row.panel(several_temperatures=several)
            new = Curve(name, shown, [], row.q, row.k, origin=origin, temperature=key[1] if several else None)
            curve = found.setdefault(key, new)
            curve.points.append(Point(row.step, row.acc, row.ci_low, row.ci_high, row.tokens_mean))
        curves = {key: _checked(curve) for key, curve in found.items()}
    except (TypeError, ValueError) as error:
        raise UsageError(f"a row of {run.path}: {error}", expected="rows as passus writes them") from None
    for key, curve in curves.items():
        curve.items = items_of(run, *key, steps=[int(p.x) for p in curve.points])
    return list(curves.values())


def of_readings(runs: Sequence[RunFolder]) -> list[Curve]:
    """What readers made of the runs' texts: a line a reader, and of several writers each on its own."""
    origins = [origin_of(run) for run in runs]
    lines, names = named_lines(origins)
    same = {origin.model for origin in origins}
    short = [name.removeprefix(f"{origins[0].model}: ") if len(same) == 1 else name for name in names]
    writer_of = {origin: name for line, name in zip(lines, short, strict=True) for origin in line}
    found = []
    for run, origin in zip(runs, origins, strict=True):
        rows = run.readings()
        several = has_several_temperatures(row.point for row in rows)
        keys = dict.fromkeys((row.point.benchmark, row.point.temperature, row.reader) for row in rows)
        for benchmark, temperature, reader in keys:
            own = [r for r in rows if (r.point.benchmark, r.point.temperature, r.reader) == (benchmark, temperature, reader)]
            where = panel_name(f"{benchmark}, read", temperature if several else None)
            where += f", written by {writer_of[origin]}" if len(lines) > 1 else ""
            points = [Point(row.point.step, row.point.acc, row.point.ci_low, row.point.ci_high) for row in own]
            first = own[0]
            kind = "self" if reader == FROZEN else first.kind
            curve = Curve(first.label, where, points, first.point.q, first.point.k, None, origin, None, kind, first.family)
            curve.items = items_of(run, benchmark, temperature, [row.point.step for row in own], reader)
            found.append(_checked(curve))
    return found


def _checked(curve: Curve) -> Curve:
    """In the order of x. What no chart can show is refused."""
    if len(curve.points) > MOST_POINTS:
        raise ValueError(f"{curve.name!r} has {len(curve.points)} points, more than {MOST_POINTS}")
    for size in (curve.n, curve.k):
        if size is not None and not 1 <= size <= MOST_ITEMS:
            raise ValueError(f"{curve.name!r} has n = {curve.n}, k = {curve.k}; expected whole numbers from 1 to {MOST_ITEMS}")
    for p in curve.points:
        if not all(value is None or math.isfinite(value) for value in (p.x, p.low, p.high, p.tokens)) or math.isinf(p.y):
            raise ValueError(f"{curve.name!r} has a point that is not finite, at x = {p.x}")
        if curve.n and not (math.isnan(p.y) or 0 <= p.y <= 1):
            raise ValueError(f"{curve.name!r} has {p.y} at x = {p.x}; expected a share of n items, from 0 to 1")
    curve.points.sort(key=lambda p: p.x)
    twice = [a.x for a, b in pairwise(curve.points) if a.x == b.x]
    if twice:
        raise ValueError(f"{curve.name!r} has two points at x = {twice[0]:g}")
    return curve


def items_of(
    run: RunFolder, benchmark: str, temperature: float, steps: Sequence[int], reader: str | None = None
) -> Items | None:
    """None where no rows are kept, or where they do not fit together."""
    import pyarrow.parquet

    kept: dict[int, dict[tuple[int, int], tuple[bool, int, bool]]] = {}
    for step in steps:
        path = run.path / ("readings" if reader else "items") / f"step-{step:06d}.parquet"
        if not path.exists():
            continue
        try:
            columns = ["benchmark", "temperature", "item", "sample", "verdict", "tokens", *(["reader"] if reader else [])]
            has_value = "value" in pyarrow.parquet.read_schema(path).names  # not in runs of before
            table = pyarrow.parquet.read_table(path, columns=[*columns, *["value"] * has_value]).to_pydict()
        except (pyarrow.ArrowInvalid, OSError) as error:
            raise PassusError(f"{path} cannot be read: {error}", expected="the file as passus wrote it") from None
        kept[step] = {
            (item, sample): (verdict == Verdict.CORRECT if value is None else value, tokens, verdict == Verdict.TRUNCATED)
            for value, b, t, item, sample, verdict, tokens, *who in zip(
                table["value"] if has_value else [None] * len(table["verdict"]),
                *(table[name] for name in columns),
                strict=True,
            )
            if b == benchmark and t == temperature and who in ([], [reader])
        }
    whole = max((len(rows) for rows in kept.values()), default=0)
    kept = {step: rows for step, rows in kept.items() if rows and len(rows) == whole}
    keys = list(next(iter(kept.values()), {}))
    items = list(dict.fromkeys(item for item, _ in keys))
    samples = list(dict.fromkeys(sample for _, sample in keys))
    if not kept or len(keys) != len(items) * len(samples) or any(rows.keys() != set(keys) for rows in kept.values()):
        return None
    values = np.array([[[rows[item, sample] for sample in samples] for item in items] for rows in kept.values()], dtype=float)
    correct, tokens, truncated = np.moveaxis(values, 3, 0)
    config = run.config()
    choices = config.candidates.pool / min(BEST_OF, config.candidates.pool) if config.kind == "reward_model" else 0
    return Items(list(kept), items, correct, tokens, truncated, _source(run, benchmark), choices)


def _source(run: RunFolder, benchmark: str) -> str:
    launches = run.meta()["launches"]
    return (launches[0].get("data") or {}).get("sha256", {}).get(benchmark, "") if launches else ""


SIZE = re.compile(r"(?<![\w.])(\d+(?:\.\d+)?)([KMB])(?![A-Za-z])(?! tokens)", re.IGNORECASE)


def parameters_in(name: str) -> float | None:
    """Of a model that is called by its size: 0.8M, 32b."""
    found = SIZE.search(name)
    return float(found[1]) * {"K": 1e3, "M": 1e6, "B": 1e9}[found[2].upper()] if found else None


def origin_of(run: RunFolder) -> Origin:
    config, model = run.config(), run.meta()["model"] or {}
    settings = tuple((key, str(value)) for key, value in flatten(config).items() if key not in NO_DIFFERENCE)
    label, tuning = model.get("label", run.path.name), model.get("tuning", "live")
    return Origin(run.path, label, tuning, config.method.name, config.seed, settings)


def named_lines(origins: Sequence[Origin]) -> tuple[list[list[Origin]], list[str]]:
    """Runs that share a line, because they differ by seed alone, and what each line is called."""
    lines = lines_of(origins)
    return lines, names_of(lines)


def lines_of(origins: Sequence[Origin]) -> list[list[Origin]]:
    """A run done twice with one seed is not another seed."""
    alike: dict[Any, list[Origin]] = {}
    for origin in origins:
        alike.setdefault((origin.model, origin.tuning, origin.settings), []).append(origin)
    lines = []
    for group in alike.values():
        lines += [group] if len({origin.seed for origin in group}) == len(group) else [[origin] for origin in group]
    return lines


def names_of(lines: list[list[Origin]]) -> list[str]:
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
    return told_apart


def _suffixes(lines: list[list[Origin]]) -> list[str]:
    """What tells lines of one name apart: the arm, else the experiment too; for means, which are no arm, their settings."""
    settings = [dict(line[0].settings) for line in lines]
    vary = [key for key in settings[0] if len({s[key] for s in settings}) > 1]
    ways = [["/".join(line[0].path.resolve().parts[-n:]) for line in lines] for n in (1, 2, 99)]
    if any(len(line) > 1 for line in lines):
        ways.insert(0, [", ".join(f"{key.rpartition('.')[2]} {s[key]}" for key in vary) for s in settings])
    return next(way for way in ways if len(set(way)) == len(lines))


def read_file(path: Path) -> Curves:
    """A curve file, checked."""
    try:
        given = json.loads(path.read_text(encoding="utf-8"))
        return Curves(
            str(given.get("title", "")), str(given["x"]), str(given["y"]), [_curve(s) for s in given["series"]],
            [Claim(str(c["text"]), int(c["line"])) for c in given.get("claims", [])],
            [Claim(str(c["text"]), int(c["line"])) for c in given.get("unread", [])], str(given.get("source", "")),
        )  # fmt: skip
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError) as error:
        raise UsageError(
            f"{path} is not a curve file ({type(error).__name__}: {error})",
            expected='JSON with "x", "y" and "series": [{"name", "points": [{"x", "y"}]}]',
        ) from None


def _curve(given: dict) -> Curve:
    points = [
        Point(
            float(p["x"]), _number(p["y"]), _optional(p.get("low")), _optional(p.get("high")), _optional(p.get("tokens")),
            bool(p.get("approximate", False)),
        )
        for p in given["points"]
    ]  # fmt: skip
    n, k = (None if given.get(key) is None else int(given[key]) for key in ("n", "k"))
    return _checked(Curve(str(given["name"]), str(given.get("benchmark") or ""), points, n, k))


def _number(value: Any) -> float:
    return math.nan if value is None else float(value)


def _optional(value: Any) -> float | None:
    return None if value is None else float(value)


def write_file(curves: Curves, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    write_text(path, json.dumps(to_json(curves), indent=1, ensure_ascii=False, allow_nan=False) + "\n")


def to_json(curves: Curves) -> dict[str, Any]:
    """As a curve file holds it."""

    def point(p: Point) -> dict[str, Any]:
        given = {"x": p.x, "y": None if math.isnan(p.y) else p.y, "low": p.low, "high": p.high, "tokens": p.tokens}
        return {key: v for key, v in given.items() if v is not None or key == "y"} | {"approximate": p.approximate}

    series = [
        {"name": c.name, "benchmark": c.benchmark, "n": c.n, "k": c.k, "points": [point(p) for p in c.points]}
        for c in curves.series
    ]
    made: dict[str, Any] = {"title": curves.title, "x": curves.x, "y": curves.y, "series": series}
    for name in ("claims", "unread"):
        made[name] = [{"text": claim.text, "line": claim.line} for claim in getattr(curves, name)]
    return made | ({"source": curves.source} if curves.source else {})
