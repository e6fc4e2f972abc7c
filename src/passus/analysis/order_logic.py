"""Whether rankings are the same, or reversed, at two places or on several panels."""

from collections.abc import Sequence
from itertools import combinations, pairwise

from passus.analysis.evidence import KnownCurves
from passus.analysis.outcomes import OPEN, Observation, Outcome, sign_of
from passus.descriptions.claims import WHOLE, Claim, Window


def ranking(curves: KnownCurves, where: Window, among: Sequence[str]) -> dict[str, Observation] | None:
    """Returns those series that a panel has at one place, if all are known there."""
    names = [name for name in among if name in curves.series]
    places = curves.where(where)
    if len(places) != 1 or len(names) < 2:
        return None
    found = {name: o for name in names if (o := curves.at(name, places[0])) is not None}
    return found if len(found) == len(names) else None


def agree(first: dict[str, Observation], second: dict[str, Observation], is_reverse: bool) -> Outcome:
    """Compares two rankings, pair by pair."""
    if set(first) != set(second):
        return OPEN
    truths: list[bool | None] = []
    for a, b in combinations(first, 2):
        signs = [sign_of((row[a].low - row[b].high, row[a].high - row[b].low)) for row in (first, second)]
        truths.append(
            None if None in signs or _ties(first, a, b) or _ties(second, a, b) else (signs[0] == signs[1]) != is_reverse
        )
    because = (*first.values(), *second.values())
    return Outcome(False if False in truths else None if None in truths else True, because)


def _ties(row: dict[str, Observation], a: str, b: str) -> bool:
    return row[a].low <= row[b].high and row[b].low <= row[a].high


def order_same(claim: Claim, curves: KnownCurves) -> Outcome:
    """Checks two places, or that the ranking never changes after the start."""
    is_reverse = claim.relation == "reverse"
    if isinstance(claim.other_where, Window):
        rows = [ranking(curves, where, claim.group.names) for where in (claim.where, claim.other_where)]
        return OPEN if rows[0] is None or rows[1] is None else agree(rows[0], rows[1], is_reverse)
    found = [row for x in curves.where(WHOLE)[1:] if (row := ranking(curves, Window(x, x), claim.group.names)) is not None]
    return _all([agree(a, b, is_reverse) for a, b in pairwise(found)]) if len(found) > 1 else OPEN


def on_panels(claim: Claim, panels: Sequence[KnownCurves | None]) -> Outcome:
    """Checks that rankings, or their first (or last) places, are the same on all panels."""
    rows = [ranking(curves, claim.where, claim.group.names) if curves is not None else None for curves in panels]
    known = [row for row in rows if row is not None]
    if len(known) < len(rows):
        return OPEN
    if claim.kind == "panels_order_same":
        return _all([agree(a, b, claim.relation == "reverse") for a, b in pairwise(known)])
    winners = []
    for curves, row in zip(panels, known, strict=True):
        assert curves is not None
        sign = curves.sign(claim.relation)
        best, second = sorted(row.values(), key=lambda o: -sign * o.middle)[:2]
        if sign_of(curves.difference(best, second, sign)) is not True:
            return OPEN
        winners.append(best)
    return Outcome(len({o.series for o in winners}) == 1, tuple(winners))


def _all(outcomes: Sequence[Outcome]) -> Outcome:
    truths = [outcome.truth for outcome in outcomes]
    because = tuple(o for outcome in outcomes for o in outcome.because)[:6]
    return Outcome(False if False in truths else None if None in truths or not truths else True, because)
