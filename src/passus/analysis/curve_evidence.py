"""Curves as evidence for the claims of a text: runs with their intervals, or the points of a curve file."""

import math
import re
from collections.abc import Sequence

import numpy as np
from scipy.special import stdtrit

from passus.analysis.evidence import Bound, Evidence, Panel
from passus.analysis.outcomes import Observation
from passus.descriptions.claim_reader import Subjects
from passus.descriptions.names import Names
from passus.runs.curve import Curve, CurvePoint, Curves

SHAPED = re.compile(r"-shaped\b|, \d+(?:\.\d+)?[KMB]\b")
SIZE = re.compile(r"(?<![\w.])\d+(?:\.\d+)?[KMB]\b")


def curve_evidence(curves: Curves) -> Evidence:
    """Returns the observations of all curves. With several runs of a name, their mean has a 95 % interval over runs; with one
    run, a point has its interval over items."""
    panels: dict[tuple[str, str], Panel] = {}
    for (name, benchmark), runs in _by_line(curves).items():
        for measure in ("accuracy", "tokens"):
            observations = _observations(name, runs, measure)
            if observations:
                panel = panels.setdefault(
                    (benchmark, measure), Panel(in_shares=measure == "accuracy", is_measured=_is_measured(runs))
                )
                panel.observations += observations
                panel.in_shares = panel.in_shares and all(o.low >= 0 and o.high <= 1 for o in observations)
        for stretch in (s for curve in runs for s in curve.stretches):
            key = (benchmark, "tokens" if stretch.is_length else "accuracy")
            values = (stretch.x_low, stretch.x_high, stretch.y_low, stretch.y_high)
            panels.setdefault(key, Panel()).stretches.append(Bound(name, *values, stretch.where == "throughout"))
    return Evidence(panels)


def curve_subjects(evidence: Evidence) -> Subjects:
    """Returns the curves that claims can be about."""
    by_panel: dict[str, tuple[str, ...]] = {}
    for (panel, _), content in evidence.panels.items():
        names = [*(o.series for o in content.observations), *(s.series for s in content.stretches)]
        by_panel[panel] = tuple(dict.fromkeys([*by_panel.get(panel, ()), *names]))
    shares = frozenset(panel for (panel, _), content in evidence.panels.items() if content.in_shares)
    return Subjects(by_panel, any(measure == "tokens" for _, measure in evidence.panels), percent_panels=shares)


def curve_names(subjects: Subjects) -> Names:
    """Returns the names of curves, with shorter words for them that are as clear."""
    series = list(dict.fromkeys(name for names in subjects.by_panel.values() for name in names))
    names = Names(series, [panel for panel in subjects.by_panel if panel])
    for short in ([SHAPED.sub("", name) for name in series], [_size(name) for name in series]):
        names.aliases |= {
            word: name for word, name in zip(short, series, strict=True) if word and word != name and short.count(word) == 1
        }
    return names


def _size(name: str) -> str:
    size = SIZE.search(name)
    return size[0] if size else ""


def _by_line(curves: Curves) -> dict[tuple[str, str], list[Curve]]:
    """Groups the runs of a line on a benchmark. Where each curve is named by its benchmark, they share one panel."""
    lines: dict[tuple[str, str], list[Curve]] = {}
    own = [curve for curve in curves.series if not curve.reader]
    is_by_benchmark = all(curve.name == curve.benchmark for curve in own)
    for curve in own:
        lines.setdefault((curve.name, "" if is_by_benchmark else curve.benchmark), []).append(curve)
    return lines


def _is_measured(runs: Sequence[Curve]) -> bool:
    return any(curve.origin is not None for curve in runs)


def _observations(name: str, runs: Sequence[Curve], measure: str) -> list[Observation]:
    by_x: dict[float, list[CurvePoint]] = {}
    for curve in runs:
        for point in curve.points:
            if _value(point, measure) is not None:
                by_x.setdefault(point.x, []).append(point)
    return [_observation(name, x, points, measure) for x, points in sorted(by_x.items()) if len(points) == len(runs)]


def _value(point: CurvePoint, measure: str) -> float | None:
    value = point.tokens if measure == "tokens" else point.y
    return None if value is None or math.isnan(value) else value


def _observation(name: str, x: float, points: Sequence[CurvePoint], measure: str) -> Observation:
    values = [value for point in points if (value := _value(point, measure)) is not None]
    mean = float(np.mean(values))
    if len(values) > 1:
        half = float(stdtrit(len(values) - 1, 0.975)) * float(np.std(values, ddof=1)) / math.sqrt(len(values))
        low, high = mean - half, mean + half
        return Observation(name, x, max(0.0, low), min(1.0, high) if measure == "accuracy" else high)
    point = points[0]
    own_low, own_high = (point.low, point.high) if measure == "accuracy" else (None, None)
    return Observation(name, x, mean if own_low is None else own_low, mean if own_high is None else own_high)
