"""Claims that compare: with another series, with a number, with itself elsewhere."""

import re
from collections.abc import Sequence
from dataclasses import replace

from passus.descriptions.claim_tokens import (
    GAIN,
    LESS_OFTEN,
    SELF,
    Found,
    are_same,
    digits_of,
    first_of,
    group_of,
    number_of,
    until,
    words_of,
)
from passus.descriptions.claims import END, START, WHOLE, Amount, Claim, Group, Window
from passus.descriptions.clause_words import EXTREMES, MOVES, OPPOSITES, RELATIONS
from passus.descriptions.clauses import Clause, Token, joined
from passus.descriptions.marking import MarkedValue
from passus.descriptions.numbers import count_of
from passus.descriptions.reference_words import COUNT

FROM_TO_MORE = re.compile(r"\bfrom «V\d+» to (?:[a-z]+ ){1,3}«V\d+»")
POINTS_OF = re.compile(
    rf"\b(?P<n>{COUNT}) of «[SIO]\d+»(?:'s?)? (?P<all>{COUNT}) (?:readings|evaluations|values|points|checkpoints|scores)\b",
    re.I,
)
"""Points of one series that are counted: "four of A's five readings are below 3"."""


def two_panels(c: Clause) -> Found:
    """Reads that a series is higher on one panel than on another."""
    panels = [token.part for token in c.of_kind("panel")]
    if len(panels) != 2 or any(len(panel) != 1 for panel in panels) or panels[0] == panels[1] or not c.says("than"):
        return None
    words = [word for word in c.words if word != "BEST"]
    if len(words) != 1 or words[0] not in RELATIONS or len(c.amounts) > 1 or c.values:
        return None
    groups = c.groups
    group = group_of(groups[0]) if groups else Group(c.context.names)
    where = c.place()
    if group is None or where is None or len(groups) > 1:
        return []
    first, second = panels[0][0], panels[1][0]
    return [
        Claim(
            "panels",
            group,
            where,
            RELATIONS[words[0]],
            order=(first, second),
            panels=(first,),
            negated=bool(c.negation),
            amount=next(iter(c.amounts), None),
        )
    ]


def closer(c: Clause) -> Found:
    """Reads "A ends closer to B than to C"."""
    if c.words != ["CLOSER"] or len(c.groups) != 3 or c.values or c.amounts or not c.says("than"):
        return None
    groups, where = [group_of(token) for token in c.groups], c.place()
    if any(group is None or len(group.names) != 1 for group in groups) or where is None:
        return []
    first, near, far = (group.names[0] for group in groups if group is not None)
    if len({first, near, far}) < 3:
        return []
    return [Claim("closer", Group((first,)), where, order=(near, far), negated=bool(c.negation))]


def within_range(c: Clause) -> Found:
    """Reads that a series stays between two values."""
    if set(c.words) - {"FLAT", "NOISY", "WITHIN", "CHANGES"} or len(c.values) != 1 or len(c.groups) != 1:
        return None
    value, group, where = c.values[0], group_of(c.groups[0]), c.place()
    if not value.number.is_range or not (
        c.stays or c.says(r"within|band|hover\w*|fluctuat\w*|leaves|left|wobbl\w*|oscillat\w*|rang\w*|vari\w*")
    ):
        return None
    if where is None or group is None:
        return []
    if where.low is None and not where.anchor and c.before is not None:  # "then fluctuates": from the place before on
        start = c.before.high if c.before.high is not None else c.before.low
        where = replace(where, low=start)
    where = replace(where, every=True)
    return [
        Claim("level", group, where, "above", number_of(value, c), every_step=True, is_weak=True),
        Claim("level", group, where, "below", number_of(value, c, low=False), every_step=True, is_weak=True),
    ]


def comparison(c: Clause) -> Found:
    """Reads "A is above B", "A ends 5 points ahead of B", "A never drops below .4", "A finishes below its own start"."""
    at = c.index(tuple(RELATIONS))
    if at < 0 or "GAP" in c.words or "APART" in c.words:
        return None
    left, right, relation = c.tokens[:at], c.tokens[at + 1 :], RELATIONS[c.tokens[at].text]
    if set(words_of(left)) - {*MOVES, "FLAT", "REACHES", "CHANGES"} or set(words_of(right)) - {
        *MOVES,
        *EXTREMES,
        "PEAKS",
        "TROUGHS",
    }:
        return None
    subjects = [token for token in left if token.kind == "group"]
    if not subjects:
        return _reversed_comparison(c, relation, right)
    group = group_of(subjects[-1])
    if group is None:
        return []
    if set(words_of(left)) & set(MOVES) and len(c.values) == 2 and FROM_TO_MORE.search(c.raw):
        return _from_to_more(c, group, relation)
    value, other = first_of(right, "value"), first_of(right, "group")
    if value is not None and (other is None or right.index(value) < right.index(other)):
        return _threshold(c, group, relation, value.part, left)
    return _against(c, group, relation, left, right, other)


def _from_to_more(c: Clause, group: Group, relation: str) -> list[Claim]:
    """Reads "A rises from 0.7 to more than 0.9 over the run"."""
    where = c.place()
    if where is None or c.negation or group.rank or any(value.number.is_range or value.is_length for value in c.values):
        return []
    first, last = c.values
    ends = (
        START if where.low is None else Window(where.low, where.low),
        END if where.high is None else Window(where.high, where.high),
    )
    start = Claim("value", group, ends[0], number=number_of(first, c), amount=Amount(0, digits=digits_of(first, c)))
    return [start, Claim("level", group, ends[1], relation, number_of(last, c))]


def _reversed_comparison(c: Clause, relation: str, right: list[Token]) -> Found:
    return []


def _threshold(c: Clause, group: Group, relation: str, value: MarkedValue, left: Sequence[Token]) -> list[Claim]:
    where = c.place()
    if where is None or value.number.is_range or len(c.values) > 1:
        return []
    number, measure = number_of(value, c), "tokens" if value.is_length and c.has_lengths else "accuracy"
    if (counted := POINTS_OF.search(c.raw)) and not c.negation and where == WHOLE:
        counts = (str(count_of(counted["n"])), str(count_of(counted["all"])))
        return [Claim("points", group, where, relation, number, measure=measure, order=counts)]
    claim = Claim("level", group, where, relation, number, measure=measure)
    if c.negation:
        return [replace(claim, where=replace(where, every=True), relation=OPPOSITES[relation], every_step=True)]
    if c.stays and group.quantifier != "none":
        return [replace(claim, where=replace(where, every=True), every_step=True)]
    is_state = not set(words_of(left)) & {*MOVES, "REACHES", "CHANGES"} and (where.low is not None or where.high is not None)
    holds_on = where.every or (is_state and not where.anywhere)
    return [replace(claim, every_step=holds_on and not where.is_point and group.quantifier != "none")]


def _against(c: Clause, group: Group, relation: str, left: list[Token], right: list[Token], other: Token | None) -> Found:
    amount = c.amounts[0] if c.amounts else None
    if len(c.amounts) > 1:
        return []
    other_group = group_of(other)
    is_self = other_group is None or are_same(other_group, group) or (other is not None and other.is_possessive)
    if is_self and other_group is not None and not set(other_group.names) <= set(group.names) and END in c.places(right):
        is_self = False  # "all others finish below its final value"
    if other is not None and other.text.startswith("«I") and len(group.names) > 1 and START in c.places(right):
        is_self = True  # "all end above where it started": each above its own start
    extreme = next((word for word in words_of(right) if word in EXTREMES or word in ("PEAKS", "TROUGHS")), "")
    starts = [token for token in right if token.kind == "place" and token.part == START]
    if is_self and (starts or extreme):
        return _against_self(c, group, relation, left, right, amount, extreme)
    if other_group is None:
        places = c.places(right)
        if len(places) == 2 and not c.places(left) and c.says("than") and all(w.is_point for w in places):
            return [
                Claim(
                    "level",
                    group,
                    places[0],
                    relation,
                    other=SELF,
                    other_where=places[1],
                    amount=amount,
                    negated=bool(c.negation),
                )
            ]
        before = c.places(left)
        if len(places) == len(before) == 1 and c.says("than") and places[0].is_point and before[0].is_point:
            return [replace(Claim("level", group, before[0], relation, amount=amount), other=SELF, other_where=places[0])]
        return _against_rival(c, group, relation, amount)
    if is_self:
        before, after = c.places(left), c.places(right)
        if len(before) == 1 and len(after) == 1:
            return [
                Claim(
                    "level",
                    group,
                    before[0],
                    relation,
                    other=SELF,
                    other_where=after[0],
                    amount=amount,
                    negated=bool(c.negation),
                )
            ]
        return []
    return _against_other(c, group, relation, left, right, other_group, amount, extreme)


def _against_self(
    c: Clause, group: Group, relation: str, left: list[Token], right: list[Token], amount: Amount | None, extreme: str
) -> list[Claim]:
    """Compares a series with its own start or peak."""
    if group.rank or any(place.anywhere for place in c.places()):
        return []
    places = [w for w in c.places(right) if w != START]
    where = c.place(left, joined(places, END) or END)
    if where is not None and not where.is_point and places and joined(places, END) is not None:
        where = joined(places, END)
    if amount is not None and amount.kind in ("share", "ratio") and amount.sense == "about":
        amount = replace(amount, sense={"below": "less", "above": "more"}.get(relation, "about"))
    if where is None or (not where.is_point and not c.negation):
        where = END
    to = {"PEAKS": "max", "TROUGHS": "min"}.get(extreme) or EXTREMES.get(extreme, "") or START
    if c.negation == "NEVER":
        every = replace(where if not where.is_point else WHOLE, every=True)
        return (
            [Claim("level", group, every, OPPOSITES[relation], other=SELF, other_where=to, is_weak=True)]
            if amount is None
            else []
        )
    where = END if not where.is_point else where
    if where == to or (END in c.places(right) and to == START):
        return []
    return [Claim("level", group, where, relation, other=SELF, other_where=to, amount=amount, negated=bool(c.negation))]


def _against_rival(c: Clause, group: Group, relation: str, amount: Amount | None) -> Found:
    """Reads "A is ahead" where there is one rival only."""
    names = c.context.names
    rivals = names if len(names) == 2 else c.context.pair if c.says("the other") or "«Z" in c.text else ()
    if len(rivals) != 2 or len(group.names) != 1 or group.names[0] not in rivals:
        return []
    where = c.place()
    other = Group(tuple(name for name in rivals if name not in group.names))
    return (
        [Claim("level", group, where, relation, other=other, amount=amount, negated=bool(c.negation))]
        if where is not None
        else []
    )


def _against_other(
    c: Clause,
    group: Group,
    relation: str,
    left: list[Token],
    right: list[Token],
    other: Group,
    amount: Amount | None,
    extreme: str,
) -> list[Claim]:
    """Compares two series at one place, or each at its own."""
    if len(group.names) > 1 and set(other.names) <= set(group.names):
        return []
    before, after = c.places(left), c.places(right)
    where = c.place()
    other_where: Window | str | None = None
    at, to = joined(before, WHOLE), joined(after, WHOLE)
    if extreme:
        if at is None or not at.is_point:
            return []
        where, other_where = at, {"PEAKS": "max", "TROUGHS": "min"}.get(extreme) or EXTREMES[extreme]
    elif before and after and at is not None and to is not None and at.is_point and to.is_point and at != to:
        where, other_where = at, to
        elsewhere = (
            r"(?:what|where|that|did|had|was|value|level)\b[^,;]*(?:«X\d+»|start\w*|began|begun|initial\w*)"
            r"|than [^,;]*(?:start\w*|began|begun|initial\w*)"
        )
        if END in (at, to) and not re.search(elsewhere, c.raw, re.I):
            where, other_where = joined([at, to], WHOLE), None
    if where is None:
        return []
    if c.says("will ever|ever") and other_where is None and where.is_point:
        other_where = "best"
    claim = Claim("level", group, where, relation, other=other, other_where=other_where, amount=amount)
    moves = [word for word in words_of(left) if word in MOVES]
    if c.negation == "NEVER":
        return (
            [replace(claim, where=replace(where, every=True), relation=OPPOSITES[relation], is_weak=True)]
            if amount is None
            else []
        )
    is_range = where.low is not None and where.high is not None and where.low < where.high
    goes = moves or "CHANGES" in words_of(left) or c.says("moves?|goes|climbs?|crosses")
    if goes and (where == WHOLE or is_range) and other_where is None and amount is None and not other.rank:
        return [Claim("cross", group, where, relation, other=other, negated=bool(c.negation))]
    return [replace(claim, negated=bool(c.negation))]


def returning(c: Clause) -> Found:
    """Reads "has given back everything that it gained"."""
    if c.words != ["BACKTOSTART"] or len({token.part for token in c.groups}) != 1 or c.negation:
        return None
    group, where = group_of(c.groups[0]), c.place(default=END)
    if group is None or where is None or not where.is_point:
        return []
    return [Claim("returns", group, where)]


def recovering(c: Clause) -> Found:
    """Reads "by step 40 it has fully recovered"."""
    if c.words != ["RECOVERS"] or len(c.groups) != 1 or c.values or c.amounts:
        return None
    group, where = group_of(c.groups[0]), c.place(default=END)
    if group is None or where is None or not where.is_point or where.anchor == "start" or c.negation == "NEVER":
        return []
    return [Claim("recovers", group, where, negated=bool(c.negation))]


def _to_share_of_start(c: Clause) -> list[Claim]:
    """Reads "drops to a third of its initial value"."""
    group, where = group_of(c.groups[0]), joined([w for w in c.places() if w != START], WHOLE)
    is_own = all(token.part == c.groups[0].part for token in c.groups[1:])
    if group is None or where is None or group.rank or c.negation or not is_own or START not in c.places():
        return []
    return [Claim("trend", group, until(where), "up", amount=replace(c.amounts[0], kind="ratio"))]


def ratio(c: Clause) -> Found:
    """Reads "doubles", "is twice as long as", "loses half of its peak"."""
    if len(c.amounts) != 1 or c.amounts[0].kind not in ("ratio", "share") or not c.groups:
        return None
    words = set(c.words)
    if len([word for word in c.words if word in MOVES]) > 1:
        return None
    if words - {*MOVES, "MORE", "THAN", "ABOVE", "BELOW", "REACHES", "PEAKS", "BEST", "HIGHEST", "CHANGES", "FROMPEAK"}:
        return None
    if c.says("of the way") or (
        c.says(r"(?:as|than|exceed\w*) (?:that|those) of") and len({token.part for token in c.groups}) < 2
    ):
        return []
    if c.amounts[0].kind == "share" and re.search(r"\bto (?:[a-z]+ ){0,2}«F\d+»", c.raw):
        return _to_share_of_start(c)
    if words & set(MOVES) and c.amounts[0].kind == "ratio" and c.says(rf"(?:{GAIN}) (?:of|for)"):
        return []  # "twice the gain of A"
    amount, group, where = c.amounts[0], group_of(c.groups[0]), c.place()
    others = [g for token in c.groups[1:] if (g := group_of(token)) is not None and not token.is_possessive]
    if group is None:
        return []
    if others and not are_same(group, others[0]):
        if words - {"ABOVE", "BELOW", "MORE", "THAN"} or where is None or where == WHOLE:
            return []
        return [Claim("ratio", group, where, "above", other=others[0], amount=amount, negated=bool(c.negation))]
    places = [w for w in c.places() if w != START]
    where = joined(places, WHOLE)
    if where is None or group.rank:
        return []
    moves = [word for word in c.words if word in MOVES]
    if amount.kind == "share":
        if c.says(r"of (?:that|this|it|them|those)"):
            return []
        if not moves or c.says(r"gains?|improvements?|progress|growth|rise|increase|(?:total|whole|overall|entire) \w+"):
            return None if moves or "REACHES" in words else []
        start = "max" if words & {"PEAKS", "BEST", "HIGHEST", "FROMPEAK"} else None
        return [Claim("trend", group, until(where), MOVES[moves[0]], amount=amount, other_where=start)]
    if c.negation == "NEVER" or (c.negation and c.says("until|till|before")):
        return []
    if c.negation:
        amount = replace(amount, sense=LESS_OFTEN.get(amount.sense, amount.sense) if amount.sense != "about" else "less")
    return [Claim("trend", group, until(where) if not where.every else WHOLE, "up", amount=amount)]
