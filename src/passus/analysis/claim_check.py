"""Is a transcribed chart consistent with itself? (A15)

A description gives numbers and says things about them. Here each sentence is held against the numbers of the same text:
supported, contradicted, or untestable. That is no statement about the world: of points alone, the noise is not known.
"""

import re
from collections.abc import Callable, Iterator
from itertools import pairwise

import numpy as np

from passus.analysis.finding import Finding, Verdict
from passus.descriptions.claim_parser import ParsedClaim, parse_claim
from passus.formatting import share, step
from passus.runs.curves import Claim, Curve, Curves

READING = 0.02
"""How far off a value read from a chart may be."""
FLAT = 0.05
"""A plateau of a transcribed chart stays within so much."""
PLATEAU = r"plateau|stabili[sz]|level|flat|converg"
TOTALS = re.compile(r"\b(total|average|mean)\b|^total", re.I)
LOWER = re.compile(r"\b(lower|below|underperform\w*|behind|worse)\b", re.I)
SHAPE = 5
"""Points of a curve whose turns and falls can be missed by the text."""
Check = tuple[bool | None, str]
"""Whether it holds (None: cannot be told), and what the numbers say."""


def findings(curves: Curves) -> list[Finding]:
    """One a claim, and those about the whole; none for curves that come without a text."""
    if not curves.claims:
        return []
    return [_audited(claim, curves) for claim in curves.claims] + [
        _finding("the chart as a whole", claim, [check], None) for claim, check in _of_the_whole(curves)
    ]


def _audited(claim: Claim, curves: Curves) -> Finding:
    parsed = parse_claim(claim.text, _names(curves), curves.x)
    found = [check for check in _checks(parsed, curves, claim.text) if check[1]]
    who = ", ".join(parsed.series) or "the chart as a whole"
    return _finding(who, claim.text, found, claim.line, gives_cause="cause" in parsed.kinds)


def _finding(who: str, claim: str, checks: list[Check], line: int | None, gives_cause: bool = False) -> Finding:
    held = [ok for ok, _ in checks if ok is not None]
    verdict = Verdict.UNTESTABLE if not held else Verdict.SUPPORTED if all(held) else Verdict.NOT_SUPPORTED
    words = [text for ok, text in checks if ok is not None] or ["the text's numbers do not bear on it"]
    if verdict is Verdict.NOT_SUPPORTED:
        words = ["contradicted by the text's own numbers: " + "; ".join(text for ok, text in checks if ok is False)]
    if gives_cause:
        words.append("what it gives as the cause cannot be told from a chart")
    return Finding("A15", who, "", claim, verdict, "L0", "; ".join(words), line=line)


def _names(curves: Curves) -> list[str]:
    return list(dict.fromkeys(name for curve in curves.series for name in (curve.name, curve.benchmark) if name))


def _meant(parsed: ParsedClaim, curves: Curves, text: str) -> list[Curve]:
    """The curves a sentence is about: those it names, or the panel it opens with, or all where it says so."""
    with_points = [curve for curve in curves.series if any(p.y == p.y for p in curve.points)]
    panel = [curve for curve in with_points if curve.benchmark and text.startswith(f"{curve.benchmark}:")]
    if panel:
        return panel
    by_name = [curve for name in parsed.series for curve in with_points if name in (curve.name, curve.benchmark)]
    many = len({curve.name for curve in with_points}) < len(with_points)  # one name in several panels says nothing of one
    return [] if many and not parsed.group else by_name


def _checks(parsed: ParsedClaim, curves: Curves, text: str) -> Iterator[Check]:
    meant = _meant(parsed, curves, text)
    yield from _counted(parsed, curves)
    yield from _inside(parsed, curves, text)
    if not meant:
        return
    if len(meant) == 1:
        yield from (_at(meant[0], x, value) for x, value in parsed.pairs)
    for kind in parsed.kinds:
        if kind in KINDS:
            yield KINDS[kind](parsed, meant, curves)


def _counted(parsed: ParsedClaim, curves: Curves) -> Iterator[Check]:
    """Numbers of models and of panels."""
    names, panels = len({c.name for c in curves.series}), len({c.benchmark for c in curves.series if c.benchmark})
    counts = [number.value for number in parsed.numbers if number.role == "count"]
    if "models" in parsed.text and counts and "different" in parsed.text:
        yield counts[0] == names, f"{names} series are described"
    grid = [number.value for number in parsed.numbers if number.role == "grid"]
    if len(grid) == 2:
        yield grid[0] * grid[1] >= panels, f"{panels} panels are described, the grid has {grid[0] * grid[1]:g}"


def _inside(parsed: ParsedClaim, curves: Curves, text: str) -> Iterator[Check]:
    """Values within the range that their axis is said to have."""
    match = re.match(r"[XY]-axis", text, re.I)
    numbers = [n.value for n in parsed.numbers if n.role in ("value", "x", "tokens", "span", "change")]
    if not match or len(numbers) < 2:
        return
    low, high = min(numbers), max(numbers)
    of_y = match[0][0].lower() == "y"
    values = [
        p.tokens if of_y and high > 1.5 and p.tokens is not None else p.y if of_y else p.x
        for c in curves.series
        for p in c.points
    ]
    known = [v for v in values if v is not None and v == v]
    outside = [v for v in known if not low - READING <= v <= high + READING]
    if known:
        said = f"{len(outside)} of {len(known)} values lie outside {low:g} to {high:g}"
        yield not outside, said + (f", as {outside[0]:g}" if outside else "")


def _at(curve: Curve, x: float, value: float) -> Check:
    """A value that the sentence gives at some x, against the curve's own there."""
    near = [p for p in curve.points if p.y == p.y and abs(p.x - x) < 1e-9]
    if not near:
        return None, ""
    return abs(
        near[0].y - value
    ) <= READING, f"{curve.name} is {share(near[0].y)} at {step(x)}, the sentence says {share(value)}"


def _ys(curve: Curve) -> np.ndarray:
    return curve.y_T[~np.isnan(curve.y_T)]


def _is_of_length(text: str) -> bool:
    return re.search(r"token|length", text, re.I) is not None and re.search(r"performance|accuracy", text, re.I) is None


def _rises(parsed: ParsedClaim, meant: list[Curve], curves: Curves) -> Check:
    if _is_of_length(parsed.text):
        tokens = [[p.tokens for p in c.points if p.tokens is not None] for c in meant]
        known = [t for t in tokens if len(t) > 1]
        return all(t[-1] > t[0] for t in known) if known else None, "tokens: " + ", ".join(
            f"{t[0]:g} to {t[-1]:g}" for t in known
        )
    gains = {c.name: float(_ys(c)[-1] - _ys(c)[0]) for c in meant if len(_ys(c)) > 1}
    if not gains:
        return None, ""
    least = min(gains, key=lambda name: gains[name])
    return gains[least] > READING, f"{least} changes by {100 * gains[least]:+.0f} points from first to last"


def _falls(parsed: ParsedClaim, meant: list[Curve], curves: Curves) -> Check:
    """From the largest value that the text gives of a curve, in a point or in a sentence, to its end or its lowest after."""
    falls = {}
    for c in (c for c in meant if len(_ys(c)) > 1):
        levels = [v for v in _said_of(c, curves) if v <= 1.0]
        falls[c.name] = max(float((np.maximum.accumulate(_ys(c)) - _ys(c)).max()), max(levels, default=0.0) - float(_ys(c)[-1]))
    if not falls:
        return None, ""
    least = min(falls, key=lambda name: falls[name])
    fell = falls[least] > READING
    told = fell or len(_ys(_curve(meant, least))) >= SHAPE  # few points may leave out a fall
    return fell if told else None, f"the largest fall of {least} is {100 * falls[least]:.0f} points"


def _said_of(curve: Curve, curves: Curves) -> list[float]:
    """Values that sentences about this curve alone give, with or without a place."""
    names = _names(curves)
    parsed = (parse_claim(claim.text, names, curves.x) for claim in curves.claims if curve.name in claim.text)
    return [n.value for one in parsed if one.series == (curve.name,) for n in one.numbers if n.role == "value"]


def _peaks(parsed: ParsedClaim, meant: list[Curve], curves: Curves) -> Check:
    at = [number.value for number in parsed.numbers if number.role == "x"]
    if not at or len(meant) != 1:
        return None, ""
    known = [p for p in meant[0].points if p.y == p.y]
    top = max(known, key=lambda p: p.y)
    gap = max(abs(a.x - b.x) for a, b in pairwise(known)) if len(known) > 1 else 0.0
    near = min(abs(top.x - x) for x in at) <= gap / 2 or any(
        abs(p.x - x) <= gap / 2 and top.y - p.y <= READING for p in known for x in at
    )
    return near, f"{meant[0].name} is largest at {step(top.x)}, {share(top.y)}"


def _dips(parsed: ParsedClaim, meant: list[Curve], curves: Curves) -> Check:
    at = [number.value for number in parsed.numbers if number.role == "x"]
    if not at or len(meant) != 1:
        return None, ""
    known = [p for p in meant[0].points if p.y == p.y]
    inner = [i for i, p in enumerate(known) if p.x == at[0] and i > 0]
    if not inner:
        return None, ""
    i = inner[0]
    return known[i].y < known[
        i - 1
    ].y - READING / 2, f"{meant[0].name} is {share(known[i].y)} there and {share(known[i - 1].y)} before"


def _flat(parsed: ParsedClaim, meant: list[Curve], curves: Curves) -> Check:
    said = re.search(PLATEAU, parsed.text, re.I)
    clause = parse_claim(parsed.text[said.start() if said else 0 :], _names(curves), curves.x)
    since = min((n.value for n in clause.numbers if n.role == "x"), default=None)
    before = [n.value for n in parsed.numbers if n.role == "x"][-1:]  # "reaches ... at 60, and then plateaus": after 60
    spans = {}
    for c in meant:
        known = [p for p in c.points if p.y == p.y]
        if since is not None:
            after = [p.y for p in known if p.x >= since]
        else:
            after = [p.y for p in known if (p.x > before[0] if before else p.x >= c.x_T[-1] / 2)]
        if len(after) > 1:
            spans[c.name] = max(after) - min(after)
    if not spans:
        return None, ""
    widest = max(spans, key=lambda name: spans[name])
    return spans[widest] <= FLAT + READING / 2, f"{widest} then moves within {100 * spans[widest]:.0f} points"


def _fluctuates(parsed: ParsedClaim, meant: list[Curve], curves: Curves) -> Check:
    turns = {c.name: int((np.diff(np.sign(np.diff(_ys(c)))) != 0).sum()) for c in meant if len(_ys(c)) >= SHAPE}
    if not turns:
        return None, ""
    least = min(turns, key=lambda name: turns[name])
    return turns[
        least
    ] > 1, f"{least} turns {turns[least]} times in its {len(_ys(_curve(meant, least)))} points; noise would do that too"


def _curve(meant: list[Curve], name: str) -> Curve:
    return next(c for c in meant if c.name == name)


def _extreme(best: bool) -> Callable[[ParsedClaim, list[Curve], Curves], Check]:
    def check(parsed: ParsedClaim, meant: list[Curve], curves: Curves) -> Check:
        """The named ones end highest, or lowest, of their benchmark."""
        rivals = [c for c in curves.series if c.benchmark == meant[0].benchmark and len(_ys(c))]
        others = [float(_ys(c)[-1]) for c in rivals if c not in meant]
        if not others or "initial" in parsed.text:
            return None, ""
        mine = [float(_ys(c)[-1]) for c in meant]
        ok = min(mine) >= max(others) - READING if best else max(mine) <= min(others) + READING
        ends = ", ".join(f"{c.name} {share(float(_ys(c)[-1]))}" for c in sorted(rivals, key=lambda c: -_ys(c)[-1]))
        return ok, f"at the end: {ends}"

    return check


def _above(parsed: ParsedClaim, meant: list[Curve], curves: Curves) -> Check:
    """The first above the second (or below, if it says so) at the x that both have, after the x it names, if any."""
    if len(meant) != 2 or re.search(rf"{re.escape(meant[0].name)} and {re.escape(meant[1].name)}", parsed.text):
        return None, ""
    a, b = meant[::-1] if LOWER.search(parsed.text) else meant
    since = min((n.value for n in parsed.numbers if n.role == "x"), default=-np.inf)
    theirs = {p.x: p.y for p in b.points if p.y == p.y}
    common = [(p.x, p.y, theirs[p.x]) for p in a.points if p.x in theirs and p.x >= since and p.y == p.y]
    if not common:
        return None, ""
    ahead, behind = sum(y > other for _, y, other in common), sum(y < other for _, y, other in common)
    every = "consistent" in parsed.text or "always" in parsed.text
    said = f"{a.name} is above {b.name} at {ahead} of {len(common)} common points" + (
        f" from {step(since)} on" if since > -np.inf else ""
    )
    return ahead > 0 and behind == 0 if every else ahead > len(common) / 2, said


def _starts(parsed: ParsedClaim, meant: list[Curve], curves: Curves) -> Check:
    """The named ones begin higher than the others of their benchmark, where the sentence says so."""
    rivals = [c for c in curves.series if c.benchmark == meant[0].benchmark and len(_ys(c))]
    others = [float(_ys(c)[0]) for c in rivals if c not in meant]
    if not others or not re.search(r"\bhigh(er|est)\b", parsed.text):
        return None, ""
    starts = ", ".join(f"{c.name} {share(float(_ys(c)[0]))}" for c in sorted(rivals, key=lambda c: -_ys(c)[0]))
    return min(float(_ys(c)[0]) for c in meant) >= max(others), f"at the start: {starts}"


KINDS = {
    "start": _starts,
    "increase": _rises, "decrease": _falls, "peak": _peaks, "dip": _dips, "plateau": _flat, "fluctuate": _fluctuates,
    "highest": _extreme(best=True), "lowest": _extreme(best=False), "above": _above,
}  # fmt: skip


def _of_the_whole(curves: Curves) -> Iterator[tuple[str, Check]]:
    """Totals that equal the mean of their parts, and values on the lattice of right answers."""
    for total in (c for c in curves.series if TOTALS.search(c.benchmark) and c.points):
        parts = [c for c in curves.series if c.name == total.name and c.benchmark != total.benchmark]
        parts = parts if all(len(_ys(c)) == len(total.points) for c in parts) else []
        if len(parts) > 1:
            off = float(np.abs(np.mean([c.y_T for c in parts], axis=0) - total.y_T).max())
            yield f"{total.benchmark} is the mean of the others", (off <= READING, f"it is off by up to {100 * off:.0f} points")
    for c in (c for c in curves.series if c.n and c.points):
        size = (c.n or 1) * (c.k or 1)
        off = float(np.abs(_ys(c) * size - np.round(_ys(c) * size)).max() / size)
        if size < 1 / READING:
            yield f"values of {c.name} are counts of {size}", (off <= READING / 2, f"the farthest is off by {off:.3f}")
