"""The verdict on a statement: its claims held against evidence that does not come from its own sentence."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from passus.analysis.change_logic import on_two_panels
from passus.analysis.claim_groups import compared
from passus.analysis.claim_logic import holds
from passus.analysis.evidence import Evidence, KnownCurves
from passus.analysis.order_logic import on_panels
from passus.analysis.outcomes import OPEN, Observation, Outcome, all_of, negated
from passus.descriptions.claim_reader import Statement
from passus.descriptions.claims import Claim, Group

AXIS_ROOM = 0.02
"""Share of an axis by which values may lie beyond its stated ends."""


NO_SENTENCE = -(10**9)
"""No sentence has this number: all that is known counts. How many series there are does not come from the values of one."""
MIN_PLACES = 3
"""Known places from which it can be told which part of an axis the values cover."""


class Judgement(StrEnum):
    SUPPORTED = "supported"
    CONTRADICTED = "contradicted"
    UNTESTABLE = "untestable"


@dataclass(frozen=True)
class ClaimVerdict:
    judgement: Judgement
    because: tuple[Observation, ...] = ()
    claim: Claim | None = None
    """The claim that decided."""


def judge(statement: Statement, evidence: Evidence) -> ClaimVerdict:
    """Contradicted if one claim of the sentence is false; supported if all are true and nothing of it was left out."""
    outcomes = [(claim, _outcome(claim, evidence, statement.sentence.number)) for claim in statement.claims]
    for claim, outcome in outcomes:
        if outcome.truth is False:
            return ClaimVerdict(Judgement.CONTRADICTED, outcome.because, claim)
    about_curves = [claim for claim in statement.claims if claim.kind not in ("axis", "count", "points")]
    relations = [claim for claim in about_curves if claim.kind != "value"]
    is_whole = not statement.is_restricted and all(claim.is_sure for claim in relations)
    is_open = bool(about_curves) and not (is_whole and (statement.is_complete or not relations))
    if outcomes and all(outcome.truth for _, outcome in outcomes) and not is_open:
        claim, outcome = outcomes[-1]
        return ClaimVerdict(Judgement.SUPPORTED, outcome.because, claim)
    return ClaimVerdict(Judgement.UNTESTABLE)


def _outcome(claim: Claim, evidence: Evidence, sentence: int) -> Outcome:
    readings = [_one_reading(reading, evidence, sentence) for reading in (claim, *claim.instead)]
    agree = len({reading.truth for reading in readings}) == 1
    return readings[0] if agree and (claim.is_sure or readings[0].truth) else OPEN


def _one_reading(claim: Claim, evidence: Evidence, sentence: int) -> Outcome:
    if claim.kind == "axis":
        return _axis(claim, evidence, sentence)
    if claim.kind == "count":
        return _count(claim, evidence, sentence)
    if claim.kind in ("panels_order_same", "panels_winner"):
        outcome = on_panels(claim, [evidence.curves(panel, claim.measure, sentence) for panel in claim.order])
        return negated(outcome) if claim.negated else outcome
    if claim.kind.startswith("panels"):
        return _two_panels(claim, evidence, sentence)
    if len(claim.panels) > 1 and claim.group.quantifier == "only" and claim.panel_quantifier == "all":
        return _only_on_all(claim, evidence, sentence)
    outcomes = [
        holds(claim, curves) if (curves := evidence.curves(panel, claim.measure, sentence)) else OPEN
        for panel in claim.panels or ("",)
    ]
    return _over_panels(claim.panel_quantifier, outcomes)


def _only_on_all(claim: Claim, evidence: Evidence, sentence: int) -> Outcome:
    """Checks "the only one that does so on all panels": it does on all, and each of the others fails on one."""
    known = [curves for panel in claim.panels if (curves := evidence.curves(panel, claim.measure, sentence))]
    names = dict.fromkeys(name for curves in known for name in curves.series)
    if len(known) < len(claim.panels):
        return OPEN
    on_all = {name: all_of(holds(replace(claim, group=Group((name,))), curves) for curves in known) for name in names}
    mine = [on_all[name] for name in claim.group.names if name in on_all]
    return all_of([*mine, *(negated(outcome) for name, outcome in on_all.items() if name not in claim.group.names)])


def _over_panels(quantifier: str, outcomes: Sequence[Outcome]) -> Outcome:
    if quantifier == "agree":  # the sentence names no panel: it decides only if it does so everywhere
        return outcomes[0] if len({outcome.truth for outcome in outcomes}) == 1 else OPEN
    if quantifier.startswith("exactly"):
        return _exactly(int(quantifier.split()[1]), outcomes)
    return all_of(outcomes)


def _exactly(count: int, outcomes: Sequence[Outcome]) -> Outcome:
    yes, no = (sum(outcome.truth is truth for outcome in outcomes) for truth in (True, False))
    reasons = tuple(o for outcome in outcomes for o in outcome.because[:2])
    if yes > count or len(outcomes) - no < count:
        return Outcome(False, reasons)
    return Outcome(True, reasons) if yes == count and yes + no == len(outcomes) else OPEN


def _two_panels(claim: Claim, evidence: Evidence, sentence: int) -> Outcome:
    """Checks that series are higher on one panel than on another, at a place or at all points that both have."""
    first, second = (evidence.curves(panel, claim.measure, sentence) for panel in claim.order[:2])
    if first is None or second is None:
        return OPEN
    if claim.kind != "panels":
        return on_two_panels(claim, first, second)
    found = [
        compared(a, b, claim, first)
        for name in claim.group.names
        for x in first.where(claim.where)
        if (a := first.at(name, x)) is not None and (b := second.at(name, x)) is not None
    ]
    outcome = all_of(found)
    return negated(outcome) if claim.negated else outcome


def _axis(claim: Claim, evidence: Evidence, sentence: int) -> Outcome:
    """Checks that all listed values lie within the stated range of an axis."""
    if claim.number is None or claim.amount is None:
        return OPEN
    observations = [
        o
        for (panel, measure), curves in evidence.known(sentence)
        if claim.manner in ("x", "covered") or measure == ("tokens" if claim.manner == "second" else "accuracy")
        for row in curves.series.values()
        for o in row
        if evidence.is_listed(o.sentence)
    ]
    if not observations:
        return OPEN
    low, high = claim.number, claim.amount.value
    values = [v for o in observations for v in ((o.x,) if claim.manner in ("x", "covered") else o.interval)]
    if claim.manner == "y" and high > 1.5 and max(values) <= 1.0 and any(panel.in_shares for panel in evidence.panels.values()):
        low, high = low / 100, high / 100
    room = AXIS_ROOM * (high - low)
    if claim.manner == "covered" and len(set(values)) < MIN_PLACES:
        return OPEN
    if claim.manner == "covered" and (max(values) < high - 0.1 * (high - low) or min(values) > low + 0.2 * (high - low)):
        return Outcome(False, (max(observations, key=lambda o: o.x),))
    outside = [o for o in observations if not _within(o, claim.manner, low - room, high + room)]
    return Outcome(not outside, tuple(outside or observations)[:2])


def _within(o: Observation, axis: str, low: float, high: float) -> bool:
    return low <= o.x <= high if axis in ("x", "covered") else low <= o.low and o.high <= high


def _count(claim: Claim, evidence: Evidence, sentence: int) -> Outcome:
    """Checks the number of series, or of panels."""
    known = list(evidence.known(sentence))
    series = {name for _, curves in known for name in _names(curves)}
    series = max(series, {name for _, curves in evidence.known(NO_SENTENCE) for name in _names(curves)}, key=len)
    have = len({panel for (panel, _), _ in known}) if claim.manner == "panels" else len(series)
    measures = len({measure for (_, measure), _ in known})
    return Outcome(claim.number in (have, have * measures)) if have > 1 else OPEN


def _names(curves: KnownCurves) -> Iterable[str]:
    return [*curves.series, *(stretch.series for stretch in curves.hidden)]
