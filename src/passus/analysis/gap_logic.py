"""Whether claims about gaps and crossings hold."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations, pairwise

from passus.analysis.claim_groups import quantified
from passus.analysis.evidence import KnownCurves
from passus.analysis.outcomes import (
    OPEN,
    TINY,
    Interval,
    Observation,
    Outcome,
    all_of,
    any_of,
    fits,
)  # fmt: skip
from passus.analysis.rank_logic import without_place
from passus.descriptions.claims import WHOLE, Claim


def _leads(a: str, b: str, sign: int, curves: KnownCurves) -> list[tuple[float, int]]:
    """Returns for each common place whether a is ahead (1), behind (-1), or neither is known (0)."""
    found = []
    for x in curves.common((a, b), WHOLE):
        gap = curves.difference(curves.by_name[a][x], curves.by_name[b][x], sign)
        found.append((x, 1 if gap[0] > TINY else -1 if gap[1] < -TINY else 0))
    return found


def cross(claim: Claim, curves: KnownCurves) -> Outcome:
    """Checks that one series overtakes another in a window."""
    others = curves.members(claim.other, claim.where) if claim.other else None
    names = curves.members(claim.group, claim.where)
    if not others or not names:
        return OPEN
    sign = curves.sign(claim.relation or "better")

    def test(name: str) -> Outcome:
        rivals = [other for other in others if other != name]
        return all_of(_overtakes(name, other, claim, sign, curves) for other in rivals)

    return quantified(claim.group, curves, test, claim.where)


def _overtakes(a: str, b: str, claim: Claim, sign: int, curves: KnownCurves) -> Outcome:
    if a not in curves.series or b not in curves.series:
        return OPEN
    leads = _leads(a, b, sign, curves)
    if len(leads) < 2:
        return OPEN
    flips = [(x0, x1) for (x0, s0), (x1, s1) in pairwise(leads) if s0 <= 0 < s1]
    shown = (flips or [(leads[0][0], leads[-1][0])])[0]
    reasons = tuple(curves.by_name[name][x] for x in shown for name in (a, b))
    return Outcome(_overtakes_there(leads, flips, claim, curves), reasons)


def _overtakes_there(leads: list[tuple[float, int]], flips: list[Interval], claim: Claim, curves: KnownCurves) -> bool | None:
    window = claim.where
    places = [x for x, _ in leads]
    if window == WHOLE or window.every:
        is_sure = all(s != 0 for _, s in leads[1:]) or all(s < 0 for _, s in leads[1:])
        return True if flips else False if is_sure else None
    inside = curves.where(window)
    low = window.low if window.low is not None else (inside[0] if inside else places[0])
    high = window.high if window.high is not None else (inside[-1] if inside else places[-1])
    if claim.manner == "by":  # it is ahead there, and was behind before
        there = [s for x, s in leads if abs(x - high) < TINY]
        if not there or there[0] == 0:
            return None
        return False if there[0] < 0 else True if any(s < 0 for x, s in leads if x < high) else None
    if low == high:
        if any(f[0] + TINY < low <= f[1] + TINY for f in flips):
            return True
        if any(abs(f[0] - low) <= TINY for f in flips):
            return None
        return False if low in places or flips or all(s != 0 for _, s in leads[1:]) else None
    if any(f[0] >= low - TINY and f[1] <= high + TINY for f in flips):
        return True
    if any(f[0] < high - TINY and f[1] > low + TINY for f in flips):
        return None
    return False if not flips or any(low - TINY <= x <= high + TINY for x in places) else None


def crossing(claim: Claim, curves: KnownCurves) -> Outcome:
    """Checks that two series cross, in either direction, in a window or so many times."""
    names = claim.group.names
    if len(names) > 2:
        return any_of(
            crossing(replace(claim, group=replace(claim.group, names=pair)), curves) for pair in combinations(names, 2)
        )
    if len(names) != 2 or not set(names) <= set(curves.series):
        return OPEN
    leads = [(x, s) for x, s in _leads(names[0], names[1], 1, curves) if s]
    flips = [(x0, x1) for (x0, s0), (x1, s1) in pairwise(leads) if s0 * s1 < 0]
    if len(leads) < 2:
        return OPEN
    shown = flips[0] if flips else (leads[0][0], leads[-1][0])
    reasons = tuple(curves.by_name[name][x] for x in shown for name in names)
    if claim.number is not None and len(flips) != claim.number:
        return Outcome(False, reasons)
    window = claim.where
    if window.low is None and window.high is None and not window.anchor:
        return Outcome(bool(flips), reasons)
    inside = curves.where(window)
    low = window.low if window.low is not None else (inside[0] if inside else leads[0][0])
    high = window.high if window.high is not None else (inside[-1] if inside else leads[-1][0])
    if low == high:
        return Outcome(any(f[0] - TINY <= low <= f[1] + TINY for f in flips), reasons)
    if any(f[0] >= low - TINY and f[1] <= high + TINY for f in flips):
        return Outcome(True, reasons)
    return Outcome(None if any(f[0] < high and f[1] > low for f in flips) else False, reasons)


def gap_at(names: Sequence[str], x: float, curves: KnownCurves) -> tuple[Interval, tuple[Observation, ...]] | None:
    """Returns the distance between the highest and the lowest of some series at a place."""
    known = [o for name in names if (o := curves.at(name, x)) is not None]
    if len(known) < max(2, len(names)):
        return None
    top, bottom = max(known, key=lambda o: o.middle), min(known, key=lambda o: o.middle)
    low, high = curves.difference(top, bottom)
    return (max(0.0, low), high), (top, bottom)


def gap(claim: Claim, curves: KnownCurves) -> Outcome:
    """Checks the distance between two series, within a group, or between ranks."""
    if claim.amount is None:
        return OPEN
    found = []
    for x in curves.where(claim.where):
        names: Sequence[str] = claim.group.names
        if claim.order:
            ranked = curves.ranked(x, tuple(curves.series))
            picks = [int(n) for n in claim.order[1:]]
            if len(ranked) < len(curves.series) or any(abs(n) > len(ranked) for n in picks):
                continue
            names = [ranked[n - 1 if n > 0 else n] for n in picks]
        if (gap := gap_at(names, x, curves)) is not None:
            found.append(Outcome(fits(gap[0], claim.amount, curves.in_shares), gap[1]))
    if claim.where == WHOLE and len(found) > 1 and claim.manner != "always":
        return OPEN
    return all_of(found)


def gap_peak(claim: Claim, curves: KnownCurves) -> Outcome:
    """Checks where the distance of two series is largest (or smallest)."""
    gaps = {x: gap for x in curves.grid if (gap := gap_at(claim.group.names, x, curves)) is not None}
    if claim.manner == "lead":  # only where the first is ahead
        first, second = claim.group.names
        leads = dict(_leads(first, second, curves.sign("better"), curves))
        gaps = {x: gap for x, gap in gaps.items() if leads.get(x, 0) > 0}
    there = [x for x in curves.where(claim.where) if x in gaps]
    if len(there) != 1 or len(gaps) < 3:
        return OPEN
    sign = 1 if claim.relation == "max" else -1
    mine = gaps[there[0]]
    rival = max((gap for x, gap in gaps.items() if x != there[0]), key=lambda gap: sign * sum(gap[0]))
    more = (mine[0][0] - rival[0][1], mine[0][1] - rival[0][0])
    more = more if sign > 0 else (-more[1], -more[0])
    return Outcome(True if more[0] > TINY else False if more[1] < -TINY else None, (*mine[1], *rival[1]))


def gap_trend(claim: Claim, curves: KnownCurves) -> Outcome:
    """Checks that the distance within a group grows or shrinks over a window."""
    names = claim.group.names
    window = replace(claim.where, open_low=False) if claim.where.low is not None else claim.where
    gaps = [gap for x in curves.where(window) if (gap := gap_at(names, x, curves)) is not None]
    if len(gaps) < 2:
        return OPEN
    sizes = [(low + high) / 2 for (low, high), _ in gaps]
    change = sizes[-1] - sizes[0]
    if claim.relation == "same":
        most, room = max(sizes) - min(sizes), 0.012 if curves.in_shares else 0.04 * curves.span
        truth = True if most <= room else False if most > 2.5 * room and most > 0.3 * max(sizes) else None
        return Outcome(truth, (*gaps[0][1], *gaps[-1][1]))
    if claim.every_step:
        steps = [(b - a) * (1 if claim.relation == "widens" else -1) for a, b in pairwise(sizes)]
        against = next((n for n, step in enumerate(steps) if step < -TINY), None)
        if against is not None:
            return Outcome(False, (*gaps[against][1], *gaps[against + 1][1]))
        return Outcome(True if all(step > TINY for step in steps) else None, (*gaps[0][1], *gaps[-1][1]))
    if abs(change) < 0.05 * max(sizes):
        return OPEN
    return Outcome((change > 0) == (claim.relation == "widens"), (*gaps[0][1], *gaps[-1][1]))


def closer(claim: Claim, curves: KnownCurves) -> Outcome:
    """Checks that a series is closer to one than to another."""
    near, far = claim.order

    def test(name: str) -> Outcome:
        found = []
        places = curves.common((name, near, far), claim.where) if {name, near, far} <= set(curves.series) else []
        for x in places:
            mine, a, b = (curves.by_name[series][x] for series in (name, near, far))
            to_near, to_far = abs(mine.middle - a.middle), abs(mine.middle - b.middle)
            truth = None if abs(to_near - to_far) <= TINY else to_near < to_far
            exact = all(o.low == o.high for o in (mine, a, b))
            found.append(Outcome(truth if exact else None, (mine, a, b)))
        return without_place(found, places, curves) if claim.where == WHOLE else all_of(found)

    return quantified(claim.group, curves, test)
