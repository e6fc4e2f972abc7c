"""Consistency of a transcribed chart with itself (A15).

A description gives numbers and makes claims about them. Each claim is checked against the numbers of the same text: supported,
contradicted, or untestable. The result says nothing about the world: points alone have unknown noise.
"""

import re
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from passus.analysis.finding import Conclusion, Finding
from passus.descriptions.claim_parser import ParsedClaim, parse_claim
from passus.formatting import share
from passus.runs.curve import Claim, Curve, CurvePoint, Curves

READING_ERROR = 0.02
"""Largest error of a value read from a chart."""
PLATEAU_RANGE = 0.05
"""Range within which a plateau of a transcribed chart stays."""
MIN_SHAPE_POINTS = 5
"""Points from which a curve shows its turns and falls; fewer may leave them out."""
PLATEAU = re.compile(r"plateau|stabili[sz]|level|flat|converg", re.I)
TOTALS = re.compile(r"\b(total|average|mean)\b|^total", re.I)
LOWER = re.compile(r"\b(lower|below|underperform\w*|behind|worse)\b", re.I)
WHOLE_CHART = "the chart as a whole"


class Check(NamedTuple):
    holds: bool | None
    """None where the numbers do not tell."""
    words: str
    """The text's numbers on the matter; empty where there are none."""


UNKNOWN = Check(None, "")


def findings(curves: Curves) -> list[Finding]:
    """Checks every claim, and the chart as a whole; nothing for curves that come without a text."""
    if not curves.claims:
        return []
    return [_check_claim(claim, curves) for claim in curves.claims] + [
        _finding(WHOLE_CHART, claim, [check], None) for claim, check in _whole_chart_checks(curves)
    ]


def _check_claim(claim: Claim, curves: Curves) -> Finding:
    parsed = parse_claim(claim.text, _names(curves), curves.x)
    checks = [check for check in _checks(parsed, curves, claim.text) if check.words]
    subject = ", ".join(parsed.series) or WHOLE_CHART
    return _finding(subject, claim.text, checks, claim.line, gives_cause="cause" in parsed.kinds)


def _finding(subject: str, claim: str, checks: list[Check], line: int | None, gives_cause: bool = False) -> Finding:
    decided = [check for check in checks if check.holds is not None]
    if not decided:
        verdict, words = Conclusion.UNTESTABLE, "The text gives no numbers on it"
    elif all(check.holds for check in decided):
        verdict, words = Conclusion.SUPPORTED, "; ".join(check.words for check in decided)
    else:
        contradictions = "; ".join(check.words for check in decided if not check.holds)
        verdict, words = Conclusion.NOT_SUPPORTED, f"Contradicted by the text's own numbers: {contradictions}"
    sentence = f"{words[:1].upper()}{words[1:]}."
    if gives_cause:
        sentence += " A chart cannot show the cause that it names."
    return Finding("A15", subject, "", claim, verdict, "L0", sentence, line=line)


def _names(curves: Curves) -> list[str]:
    return list(dict.fromkeys(name for curve in curves.series for name in (curve.name, curve.benchmark) if name))


def _values(curve: Curve) -> np.ndarray:
    return curve.y_T[~np.isnan(curve.y_T)]


def _known_points(curve: Curve) -> list[CurvePoint]:
    return [p for p in curve.points if p.y == p.y]


def _subjects(parsed: ParsedClaim, curves: Curves, text: str) -> list[Curve]:
    """Returns the curves that a claim is about: those it names, the panel it opens with, or all where it says so."""
    with_points = [curve for curve in curves.series if _known_points(curve)]
    panel = [curve for curve in with_points if curve.benchmark and text.startswith(f"{curve.benchmark}:")]
    if panel:
        return panel
    by_name = [curve for name in parsed.series for curve in with_points if name in (curve.name, curve.benchmark)]
    in_several_panels = len({curve.name for curve in with_points}) < len(with_points)  # a name then means no single curve
    return [] if in_several_panels and not parsed.group else by_name


def _checks(parsed: ParsedClaim, curves: Curves, text: str) -> Iterator[Check]:
    yield from _counts(parsed, curves)
    yield from _axis_range(parsed, curves, text)
    subjects = _subjects(parsed, curves, text)
    if not subjects:
        return
    if len(subjects) == 1:
        yield from (_value_at(subjects[0], x, value, curves.x) for x, value in parsed.pairs)
    for kind in parsed.kinds:
        if kind in KINDS:
            yield KINDS[kind](parsed, subjects, curves)


def _counts(parsed: ParsedClaim, curves: Curves) -> Iterator[Check]:
    """Checks numbers of models and of panels."""
    names, panels = len({c.name for c in curves.series}), len({c.benchmark for c in curves.series if c.benchmark})
    counts = [number.value for number in parsed.numbers if number.role == "count"]
    if "models" in parsed.text and counts and "different" in parsed.text:
        yield Check(counts[0] == names, f"{names} series are described")
    grid = [number.value for number in parsed.numbers if number.role == "grid"]
    if len(grid) == 2:
        yield Check(grid[0] * grid[1] >= panels, f"{panels} panels are described, the grid has {grid[0] * grid[1]:g}")


def _axis_range(parsed: ParsedClaim, curves: Curves, text: str) -> Iterator[Check]:
    """Checks that values lie within the range stated for their axis."""
    match = re.match(r"[XY]-axis", text, re.I)
    numbers = [n.value for n in parsed.numbers if n.role in ("value", "x", "tokens", "span", "change")]
    if not match or len(numbers) < 2:
        return
    low, high = min(numbers), max(numbers)
    is_y = match[0][0].lower() == "y"
    values = [
        p.tokens if is_y and high > 1.5 and p.tokens is not None else p.y if is_y else p.x
        for c in curves.series
        for p in c.points
    ]
    known = [v for v in values if v is not None and v == v]
    outside = [v for v in known if not low - READING_ERROR <= v <= high + READING_ERROR]
    if known:
        words = f"{len(outside)} of {len(known)} values lie outside {low:g} to {high:g}"
        yield Check(not outside, words + (f", such as {outside[0]:g}" if outside else ""))


def _value_at(curve: Curve, x: float, value: float, x_label: str) -> Check:
    """Checks a value that the claim gives at some x."""
    near = [p for p in _known_points(curve) if abs(p.x - x) < 1e-9]
    if not near:
        return UNKNOWN
    words = f"{curve.name} is {share(near[0].y)} at {x_label} {x:g}, the claim says {share(value)}"
    return Check(abs(near[0].y - value) <= READING_ERROR, words)


def _is_about_length(text: str) -> bool:
    return re.search(r"token|length", text, re.I) is not None and re.search(r"performance|accuracy", text, re.I) is None


def _increases(parsed: ParsedClaim, subjects: list[Curve], curves: Curves) -> Check:
    if _is_about_length(parsed.text):
        tokens = [[p.tokens for p in c.points if p.tokens is not None] for c in subjects]
        known = [t for t in tokens if len(t) > 1]
        words = "tokens: " + ", ".join(f"{t[0]:g} to {t[-1]:g}" for t in known)
        return Check(all(t[-1] > t[0] for t in known) if known else None, words)
    gains = {c.name: float(_values(c)[-1] - _values(c)[0]) for c in subjects if len(_values(c)) > 1}
    if not gains:
        return UNKNOWN
    least = min(gains, key=lambda name: gains[name])
    return Check(gains[least] > READING_ERROR, f"{least} changes by {100 * gains[least]:+.0f} points from first to last")


def _decreases(parsed: ParsedClaim, subjects: list[Curve], curves: Curves) -> Check:
    """Checks the fall from the largest value that the text gives of a curve, in a point or in a claim, to its end or its lowest
    value after."""
    falls = {}
    for c in (c for c in subjects if len(_values(c)) > 1):
        y_T = _values(c)
        highest = max((value for value in _claimed_values(c, curves) if value <= 1.0), default=0.0)
        falls[c.name] = max(float((np.maximum.accumulate(y_T) - y_T).max()), highest - float(y_T[-1]))
    if not falls:
        return UNKNOWN
    least = min(falls, key=lambda name: falls[name])
    fell = falls[least] > READING_ERROR
    decided = fell or len(_values(_by_name(subjects, least))) >= MIN_SHAPE_POINTS
    return Check(fell if decided else None, f"the largest fall of {least} is {100 * falls[least]:.0f} points")


def _claimed_values(curve: Curve, curves: Curves) -> list[float]:
    """Returns the values that claims about this curve alone give, with or without a place."""
    names = _names(curves)
    claims = (parse_claim(claim.text, names, curves.x) for claim in curves.claims if curve.name in claim.text)
    return [n.value for claim in claims if claim.series == (curve.name,) for n in claim.numbers if n.role == "value"]


def _peaks(parsed: ParsedClaim, subjects: list[Curve], curves: Curves) -> Check:
    claimed = [number.value for number in parsed.numbers if number.role == "x"]
    if not claimed or len(subjects) != 1:
        return UNKNOWN
    known = _known_points(subjects[0])
    top = max(known, key=lambda p: p.y)
    gap = max(abs(a.x - b.x) for a, b in pairwise(known)) if len(known) > 1 else 0.0
    near = min(abs(top.x - x) for x in claimed) <= gap / 2 or any(
        abs(p.x - x) <= gap / 2 and top.y - p.y <= READING_ERROR for p in known for x in claimed
    )
    return Check(near, f"{subjects[0].name} is largest at {curves.x} {top.x:g}, {share(top.y)}")


def _dips(parsed: ParsedClaim, subjects: list[Curve], curves: Curves) -> Check:
    claimed = [number.value for number in parsed.numbers if number.role == "x"]
    if not claimed or len(subjects) != 1:
        return UNKNOWN
    known = _known_points(subjects[0])
    at = next((i for i, p in enumerate(known) if p.x == claimed[0] and i > 0), None)
    if at is None:
        return UNKNOWN
    here, before = known[at].y, known[at - 1].y
    return Check(here < before - READING_ERROR / 2, f"{subjects[0].name} is {share(here)} there and {share(before)} before")


def _plateaus(parsed: ParsedClaim, subjects: list[Curve], curves: Curves) -> Check:
    match = PLATEAU.search(parsed.text)
    clause = parse_claim(parsed.text[match.start() if match else 0 :], _names(curves), curves.x)
    since = min((n.value for n in clause.numbers if n.role == "x"), default=None)
    before = [n.value for n in parsed.numbers if n.role == "x"][-1:]  # "reaches ... at 60, and then plateaus": after 60
    spans = {}
    for c in subjects:
        known = _known_points(c)
        if since is not None:
            after = [p.y for p in known if p.x >= since]
        else:
            after = [p.y for p in known if (p.x > before[0] if before else p.x >= c.x_T[-1] / 2)]
        if len(after) > 1:
            spans[c.name] = max(after) - min(after)
    if not spans:
        return UNKNOWN
    widest = max(spans, key=lambda name: spans[name])
    words = f"{widest} then moves within {100 * spans[widest]:.0f} points"
    return Check(spans[widest] <= PLATEAU_RANGE + READING_ERROR / 2, words)


def _fluctuates(parsed: ParsedClaim, subjects: list[Curve], curves: Curves) -> Check:
    long_enough = [c for c in subjects if len(_values(c)) >= MIN_SHAPE_POINTS]
    turns = {c.name: int((np.diff(np.sign(np.diff(_values(c)))) != 0).sum()) for c in long_enough}
    if not turns:
        return UNKNOWN
    least = min(turns, key=lambda name: turns[name])
    size = len(_values(_by_name(subjects, least)))
    return Check(turns[least] > 1, f"{least} turns {turns[least]} times in its {size} points; noise would do that too")


def _by_name(curves: list[Curve], name: str) -> Curve:
    return next(c for c in curves if c.name == name)


def _rivals(subjects: list[Curve], curves: Curves) -> list[Curve]:
    """Returns all curves with values on the benchmark of the first subject."""
    return [c for c in curves.series if c.benchmark == subjects[0].benchmark and len(_values(c))]


def _extreme(best: bool) -> Callable[[ParsedClaim, list[Curve], Curves], Check]:
    def check(parsed: ParsedClaim, subjects: list[Curve], curves: Curves) -> Check:
        """Checks that the named curves end highest, or lowest, of their benchmark."""
        rivals = _rivals(subjects, curves)
        others = [float(_values(c)[-1]) for c in rivals if c not in subjects]
        if not others or "initial" in parsed.text:
            return UNKNOWN
        claimed = [float(_values(c)[-1]) for c in subjects]
        holds = min(claimed) >= max(others) - READING_ERROR if best else max(claimed) <= min(others) + READING_ERROR
        ends = ", ".join(f"{c.name} {share(float(_values(c)[-1]))}" for c in sorted(rivals, key=lambda c: -_values(c)[-1]))
        return Check(holds, f"at the end: {ends}")

    return check


def _above(parsed: ParsedClaim, subjects: list[Curve], curves: Curves) -> Check:
    """Checks that the first curve is above the second (or below, if the claim says so) at their common x, after the x that the
    claim names, if any."""
    if len(subjects) != 2 or re.search(rf"{re.escape(subjects[0].name)} and {re.escape(subjects[1].name)}", parsed.text):
        return UNKNOWN
    a, b = subjects[::-1] if LOWER.search(parsed.text) else subjects
    since = min((n.value for n in parsed.numbers if n.role == "x"), default=-np.inf)
    other = {p.x: p.y for p in _known_points(b)}
    common = [(p.y, other[p.x]) for p in _known_points(a) if p.x in other and p.x >= since]
    if not common:
        return UNKNOWN
    ahead, behind = sum(y > y_b for y, y_b in common), sum(y < y_b for y, y_b in common)
    always = "consistent" in parsed.text or "always" in parsed.text
    words = f"{a.name} is above {b.name} at {ahead} of {len(common)} common points"
    words += f" from {curves.x} {since:g} on" if since > -np.inf else ""
    return Check(ahead > 0 and behind == 0 if always else ahead > len(common) / 2, words)


def _starts(parsed: ParsedClaim, subjects: list[Curve], curves: Curves) -> Check:
    """Checks that the named curves start higher than the others of their benchmark, where the claim says so."""
    rivals = _rivals(subjects, curves)
    others = [float(_values(c)[0]) for c in rivals if c not in subjects]
    if not others or not re.search(r"\bhigh(er|est)\b", parsed.text):
        return UNKNOWN
    starts = ", ".join(f"{c.name} {share(float(_values(c)[0]))}" for c in sorted(rivals, key=lambda c: -_values(c)[0]))
    return Check(min(float(_values(c)[0]) for c in subjects) >= max(others), f"at the start: {starts}")


KINDS = {
    "start": _starts,
    "increase": _increases, "decrease": _decreases, "peak": _peaks, "dip": _dips, "plateau": _plateaus,
    "fluctuate": _fluctuates, "highest": _extreme(best=True), "lowest": _extreme(best=False), "above": _above,
}  # fmt: skip


def _whole_chart_checks(curves: Curves) -> Iterator[tuple[str, Check]]:
    """Checks that totals are the mean of their parts, and that values are possible shares of the number of items."""
    for total in (c for c in curves.series if TOTALS.search(c.benchmark) and c.points):
        parts = [c for c in curves.series if c.name == total.name and c.benchmark != total.benchmark]
        parts = parts if all(len(_values(c)) == len(total.points) for c in parts) else []
        if len(parts) > 1:
            off = float(np.abs(np.mean([c.y_T for c in parts], axis=0) - total.y_T).max())
            check = Check(off <= READING_ERROR, f"it is off by up to {100 * off:.0f} points")
            yield f"{total.benchmark} is the mean of the others", check
    for c in (c for c in curves.series if c.n and c.points):
        size = (c.n or 1) * (c.k or 1)
        off = float(np.abs(_values(c) * size - np.round(_values(c) * size)).max() / size)
        if size < 1 / READING_ERROR:
            yield (
                f"values of {c.name} are counts of {size}",
                Check(off <= READING_ERROR / 2, f"the farthest is off by {off:.3f}"),
            )
