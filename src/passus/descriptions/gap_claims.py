"""Claims about the distance of two series, and about crossing."""

import re
from collections.abc import Sequence
from dataclasses import replace

from passus.descriptions.claim_tokens import LESS_OFTEN, Found, are_same, group_of
from passus.descriptions.claims import END, START, WHOLE, Amount, Claim, Group, Window
from passus.descriptions.clause_words import MOVES
from passus.descriptions.clauses import Clause
from passus.descriptions.marking import MarkedValue

LEAD = "leads?|advantage|margin|edge|ahead|head start|cushion"
PASSIVE = r"(?:is|are|was|were|gets?|got|been|being) (?:\w+ ){0,2}?(?:overtaken|surpassed|passed|caught|leapfrogged)"


def gap(c: Clause) -> Found:
    """Reads distances: "the gap between A and B is 5 points", "A and B end 3 points apart", "A is within 2 points of B"."""
    words = ["GAP" if word == "SPREAD" else word for word in c.words]
    if not set(words) & {"GAP", "APART", "WITHIN", "NARROWS", "WIDENS", "CONVERGES", "DIVERGES"}:
        return None
    if set(words) & {"NARROWS", "WIDENS", "CONVERGES", "DIVERGES"} or ("GAP" in words and set(words) & {*MOVES, "FLAT"}):
        return _gap_course(c, words)
    places = c.places()
    where = places[0] if len(places) == 2 and END in places and "WITHIN" in words else c.place()
    amount = c.amounts[0] if len(c.amounts) == 1 else _amount_after_relation(c)
    if "GAP" in words and set(words) & {"HIGHEST", "LOWEST"} and amount is None:
        return _widest(c)
    if (
        amount is None
        or where is None
        or set(words)
        - {"GAP", "APART", "WITHIN", "ABOVE", "BELOW", "BETTER", "BEST", "WORST", "HIGHEST", "LOWEST", "REACHES", "WORSE"}
    ):
        return []
    if "WITHIN" in words:
        amount = replace(amount, sense="at most")
    elif amount.sense == "about" and ("ABOVE" in words) != ("BELOW" in words):  # "the gap exceeds 15 points"
        amount = replace(amount, sense="more" if "ABOVE" in words else "less")
    if c.negation:
        amount = replace(amount, sense=LESS_OFTEN.get(amount.sense, amount.sense))
    groups = [g for token in c.groups if (g := group_of(token)) is not None]
    if "SPREAD" in c.words and not groups:
        groups = [Group(c.context.names)]
    elif not groups and "GAP" in words:
        groups = [Group(_two(c, ()))] if _two(c, ()) else []
    elif (
        len(groups) == 1
        and len(groups[0].names) == 1
        and c.says(r"(?:difference|distance|gap) (?:to|from)")
        and c.context.subject
    ):
        groups = [Group(tuple(dict.fromkeys((*c.context.subject, *groups[0].names))))]
    always = c.negation == "NEVER" or where.every
    is_lead = "GAP" in words and c.says(LEAD)
    ranks = c.of_kind("ranks")
    if ranks:
        return [
            Claim(
                "gap",
                Group(()),
                where,
                amount=amount,
                order=("rank", *map(str, ranks[0].part)),
                manner="always" if always else "",
            )
        ]
    if len(groups) == 2 and are_same(*groups) and c.groups[1].is_possessive and "WITHIN" in words and amount is not None:
        return _within_own(c, groups[0], amount)
    if len(groups) == 2 and len(groups[0].names) == len(groups[1].names) == 1 and not are_same(*groups):
        if is_lead or set(words) & {"BETTER"}:
            return [Claim("level", groups[0], where, "better", other=groups[1], amount=amount)]
        groups = [Group(groups[0].names + groups[1].names)]
    if len(groups) == 1 and len(groups[0].names) == 1 and is_lead and len(c.context.names) == 2:
        other = Group(tuple(n for n in c.context.names if n not in groups[0].names))
        return [Claim("level", groups[0], where, "better", other=other, amount=amount)]
    if len(groups) != 1 or len(groups[0].names) < 2 or groups[0].quantifier != "all":
        return []
    return [Claim("gap", groups[0], where, amount=amount, manner="always" if always else "")]


def _within_own(c: Clause, group: Group, amount: Amount) -> list[Claim]:
    """Reads "by step 40 A is within 2 points of its final value"."""
    before = [place for place in c.places() if place != END]
    if len(before) != 1 or not before[0].is_point or before[0].low is None or END not in c.places() or c.negation:
        return []
    return [Claim("moves", group, Window(before[0].low, None), amount=amount)]


def _amount_after_relation(c: Clause) -> Amount | None:
    """Returns the amount of "the gap is below 5 problems", whose number was taken for a value."""
    if len(c.values) != 1 or c.values[0].number.is_range:
        return None
    sense = "more" if "ABOVE" in c.words else "less" if "BELOW" in c.words else "about"
    number = c.values[0].number
    return Amount(number.low, sense, digits=number.digits, is_points=number.unit in ("%", "points", "point"))


def _two(c: Clause, names: tuple[str, ...]) -> tuple[str, ...]:
    """Returns the two series whose gap is meant where the clause names none: those that the text compared last."""
    if names:
        return ()
    return c.context.names if len(c.context.names) == 2 else c.context.pair if len(c.context.pair) == 2 else ()


def _size(value: MarkedValue) -> Amount:
    number = value.number
    return Amount(number.low, digits=number.digits, is_points=number.unit in ("%", "points", "point"))


def _widest(c: Clause) -> list[Claim]:
    groups = [g for token in c.groups if (g := group_of(token)) is not None]
    names = tuple(dict.fromkeys(name for g in groups for name in g.names)) or _two(c, ())
    where = c.place()
    if len(names) == 1 and len(c.context.names) == 2 and c.says(LEAD):
        names = (*names, *(name for name in c.context.names if name not in names))
    if len(names) != 2 or where is None or not where.is_point:
        return []
    is_lead = "GAP" in c.words and c.says(LEAD)
    return [Claim("gap_peak", Group(names), where, "max" if "HIGHEST" in c.words else "min", manner="lead" if is_lead else "")]


def _gap_course(c: Clause, words: Sequence[str]) -> list[Claim]:
    """Reads "the gap narrows from 5 to 2 points", "the two converge"."""
    groups = [g for token in c.groups if (g := group_of(token)) is not None]
    names = tuple(dict.fromkeys(name for g in groups for name in g.names))
    names = names if len(names) > 1 else _two(c, names)
    where = c.place()
    if len(names) < 2 or set(words) - {"GAP", "APART", "NARROWS", "WIDENS", "CONVERGES", "DIVERGES", "SAME", "FLAT", *MOVES}:
        return []
    if "FLAT" in words:
        is_alone = where is not None and not where.is_point and not c.amounts
        return [Claim("gap_trend", Group(names), where or WHOLE, "same", negated=bool(c.negation))] if is_alone else []
    if c.says(r"los(?:es?|t|ing) (?:«O\d+»|its|the|their) (?:\w+ )?(?:lead|advantage|edge)") and len(groups) > 1:
        span = Window(where.low, None) if where is not None and where.low is not None and where.low == where.high else where
        rest = Group(tuple(name for name in names if name not in groups[0].names))
        return [Claim("cross", groups[0], span, "worse", other=rest)] if span is not None and not c.negation else []
    widens = bool(set(words) & {"WIDENS", "DIVERGES", "RISES"})
    if widens and set(words) & {"NARROWS", "CONVERGES", "FALLS"}:
        return []
    amounts = c.amounts if len(c.amounts) == 2 else [*c.amounts, *map(_size, c.values)]
    if len(amounts) == 2 and c.says("from"):
        places = [place for place in c.places() if place not in (WHOLE, replace(WHOLE, every=True))]
        places = places if len(places) == 2 else [START, END] if not places else []
        return [Claim("gap", Group(names), w, amount=a) for w, a in zip(places, amounts, strict=False)]
    size = c.amounts[0] if len(c.amounts) == 1 and not c.values else _amount_after_relation(c) if not c.amounts else None
    if size is not None and where is not None and not c.negation and re.search(r"\bto (?:[a-z]+ ){0,2}«[DV]\d+»", c.raw):
        is_named = not c.of_kind("ranks") and not c.says("them|they|these|those|it")
        return [Claim("gap", Group(names), where if where.is_point else END, amount=size)] if is_named else []
    if c.amounts or c.values or where is None or c.negation:
        return []
    meets = [Claim("same", Group(names), END if not where.is_point else where)] if "SAME" in words else []
    is_strict = where.every or c.is_monotone
    where = where if not where.is_point else WHOLE
    return [Claim("gap_trend", Group(names), where, "widens" if widens else "narrows", every_step=is_strict), *meets]


def minus(c: Clause) -> Found:
    """Reads "A minus B at step 40 is 5 points"."""
    if c.words != ["MINUS"] or len(c.groups) != 2 or c.negation:
        return None
    group, other, where = group_of(c.groups[0]), group_of(c.groups[1]), c.place()
    amount = c.amounts[0] if len(c.amounts) == 1 else _amount_after_relation(c)
    if group is None or other is None or where is None or amount is None or not where.is_point:
        return []
    relation = "below" if amount.value < 0 else "above"
    return [Claim("level", group, where, relation, other=other, amount=replace(amount, value=abs(amount.value)))]


def crossing(c: Clause) -> Found:
    """Reads "A overtakes B after step 40", "the lines never cross"."""
    words = [w for w in c.words if w in ("OVERTAKES", "CATCHES", "CROSSES", "MEETS")]
    if len(words) != 1 or not c.groups or set(c.words) - {*words, "SAME", "BEST", "RISES"}:
        return None
    where = c.place()
    groups = [g for token in c.groups if (g := group_of(token)) is not None and not token.is_possessive]
    if where is None or not groups:
        return []
    if words[0] in ("CROSSES", "MEETS"):
        return _meeting(c, groups, where)
    if c.says(PASSIVE):
        if len(groups) != 2 or not c.says("by") or c.negation:
            return []
        groups.reverse()
    group = groups[0]
    rest = tuple(name for name in c.context.names if name not in group.names)
    other = groups[1] if len(groups) > 1 else Group(rest) if len(rest) == 1 else None
    if other is not None and are_same(group, other):
        return []
    if other is None:
        is_lead = words[0] == "OVERTAKES" and where.is_point and len(groups) == 1 and not c.negation
        return [Claim("takes_lead", group, where, "best")] if is_lead else []
    if c.negation and where.low is not None and where.low in (where.high, None) and c.says("until|till|before"):
        return [Claim("cross", group, Window(where.low, None), "better", other=other)]
    if c.negation and where.low is None and where.high is not None and not where.by and not where.is_point:
        return [Claim("level", group, Window(None, where.high, open_high=True), "worse", other=other, is_weak=True)]
    if c.negation:
        every = Window(None, None, open_low=True, every=True)
        return [Claim("level", group, every, "worse", other=other, is_weak=True)] if where == WHOLE or where.every else []
    by = where.is_point and (where.by or c.says("has|had|have|already"))
    if words[0] == "CATCHES":
        is_place = where.anchor == "end" or by
        return [Claim("level", group, where, "better", other=other, is_weak=True)] if is_place else []
    relation = "above" if c.says("longer|higher") else "better"
    return [Claim("cross", group, where, relation, other=other, manner="by" if by else "")]


def _meeting(c: Clause, groups: list[Group], where: Window) -> list[Claim]:
    names = tuple(dict.fromkeys(name for group in groups for name in group.names))
    if len(names) != 2 and not (c.negation and len(names) > 2 and where in (WHOLE, c.place())):
        return []
    number = (
        1.0 if c.says("once|one crossing|single") else 2.0 if c.says("twice") or any(a.value == 2 for a in c.amounts) else None
    )
    return [Claim("crossing", Group(names), where, number=number, negated=bool(c.negation))]
