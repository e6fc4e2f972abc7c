"""Claims about the course of a curve: rise, fall, plateau, order, noise, single values."""

import re
from dataclasses import replace

from passus.descriptions.claim_tokens import GAIN, LESS_OFTEN, Found, are_same, digits_of, group_of, number_of, until
from passus.descriptions.claims import END, START, WHOLE, Amount, Claim, Group, Window
from passus.descriptions.clause_words import EXTREMES, MOVES, OPPOSITES
from passus.descriptions.clauses import Clause

LEVELLED = r"level(?:l?ed|l?ing|s) (?:off|out)|plateau\w*|saturat\w*|flatten\w*|stagnat\w*|stall\w*"
NOUN_ONLY = re.compile(
    r"(?!.*\b(?:is|NOT|NEVER|MONO|FLAT)\b)\W*(?:[a-z-]+ )*(?:RISES|FALLS|IMPROVES|WORSENS) of «[SIO]\d+»(?: [a-z]+)?\W*$"
)
"""A title such as "Collapse of the second run"."""
LOSES = r"los(?:es?|t|ing)|g(?:ives?|ave|iven|iving) (?:up|back|away)|sheds?|forfeit(?:s|ed)?|wipes? out"
HIGHEST_OF = {"HIGHEST"}
"""The most stable run is none that is flat."""
REST_SENSE = {"more": "less", "at least": "at most", "less": "more", "at most": "at least"}


def course(c: Clause) -> Found:
    """Reads "A rises by 5 points until step 40", "A falls monotonically", "most of its gain comes after step 40"."""
    moves = [word for word in c.words if word in MOVES]
    if (
        not moves
        or not c.groups
        or set(c.words) - {*MOVES, "BEST", "PEAKS", "HIGHEST", "REACHES", "NOISY", "STEADY", "FROMPEAK"}
    ):
        return None
    if re.match(r"\W*falls? (?:between|into|within|in|on) ", c.raw, re.I):
        return []  # where something lies that stands before
    if any(a.kind == "share" for a in c.amounts) or c.says(
        "most of|bulk|bigger part|larger part|greater part|majority|(?:all|none) of|whole|entire"
    ):
        return _share_of_gain(c)
    group, where = group_of(c.groups[0]), c.place()
    if group is None or where is None or group.rank or len(c.amounts) > 1 or len(set(moves)) > 1:
        return []
    others = [
        g for token in c.groups[1:] if (g := group_of(token)) is not None and not token.is_possessive and not are_same(g, group)
    ]
    if NOUN_ONLY.match(c.text) or (any(a.kind == "ratio" for a in c.amounts) and c.says(rf"(?:{GAIN}) (?:of|for)")):
        return []  # "collapse of A"; "twice the gain of A"
    if c.says(
        r"from (?:the )?(?:first|second|third|best|worst|top|bottom"
        r"|last)"
    ) or (c.says("then") and where == WHOLE and not c.before):
        return []  # "falls from first to last place"; "it then loses 3 points": since when is not known
    if len(moves) > 1 and c.says("costs?"):
        return []  # "the collapse costs A 5 points": since its peak
    if others:
        return _gain_against(c, group, others[0], moves[0], where)
    if len(c.values) == 2 and not c.amounts and not c.negation and re.search(r"from «V\d+» to «V\d+»", c.raw):
        return _from_to(c, group, where)
    if c.values and not c.amounts:  # "falls to 0.85": a part of the curve, whose value is checked as such
        return []
    if where == WHOLE and c.before is not None and c.says("then|before"):
        where = c.resolved("later")
        if where is None:
            return []
    return _move(c, group, moves[0], where)


def _move(c: Clause, group: Group, move: str, where: Window) -> list[Claim]:
    relation, amount = MOVES[move], c.amounts[0] if c.amounts else None
    if c.is_monotone and c.says(r"than the \w+ before(?: it)?") and amount is None:
        if where.anchor == "end":  # "its last value is lower than the one before"
            return [Claim("trend", group, Window(first=-2), relation, negated=bool(c.negation))]
        if c.says(r"(?:at least |only |just )?one (?:evaluation|eval|checkpoint|reading|score|value|point)") and not c.negation:
            return [Claim("trend", group, WHOLE, relation, manner="ever")]
    if where.is_point and where.after and amount is None and not c.says("still"):
        where = Window(where.low, None)
    if where.anchor == "end" and where.first:  # "in the last epoch"
        where = Window(first=where.first)
    last_step: Window | None = None
    if where.is_point and amount is None and c.says("still") and not c.negation and where.anchor != "start":
        before = Window(first=-2) if where.anchor == "end" else replace(where, first=-2, low=None, by=False, after=False)
        return [Claim("trend", group, before, relation)]
    if where.is_point:
        if (
            amount is None
            and where.low is not None
            and not where.by
            and not where.after
            and not c.says("by|until|up to|when|once")
        ):
            return _step_at(c, group, relation, where)
        if amount is None and not (where.anchor == "end" or c.says("by|until|up to")):
            return []
        # "loses 3 points at hour 40" may mean since the point before, or since the start: both must agree.
        last_step = Window(first=-2) if where.anchor == "end" else replace(where, first=-2) if where.low is not None else None
        is_later = where.after and not c.says("has|have|had|by then")  # "after 1600 steps it gains less than 2 points"
        where = WHOLE if where.anchor == "start" else Window(where.low, None) if is_later else until(where)
    is_strict = c.is_monotone or where.every
    no = c.says("no")
    is_event = (
        c.says("ever")
        or c.says(
            r"(?:a|any|some|one|no|visible|late|early|single)(?: \w+)? (?:dip|drop|decline|fall|decrease|setback"
            r"|loss of ground)"
        )
        or c.says("anything")
    )
    is_one = c.says(r"(?:an?|any|single|no) (?:\w+ )?(?:dip|drop|decline|fall|decrease|setback)") and not c.says(
        "without|with no"
    )
    if (where.anywhere or is_event) and amount is None and (not c.is_monotone or is_one or c.says("ever")):
        span = WHOLE if where.anywhere else where
        if c.negation or no:
            if group.quantifier == "only":
                return [Claim("trend", group, span, OPPOSITES[relation], every_step=True, is_weak=True)]
            return [Claim("trend", Group(group.names), span, OPPOSITES[relation], every_step=True, is_weak=True)]
        if group.quantifier == "none":
            return [Claim("trend", Group(group.names), span, OPPOSITES[relation], every_step=True, is_weak=True)]
        return [Claim("trend", group, span, relation, manner="ever")]
    if c.negation:
        if amount is not None:
            return [Claim("flat", group, where, amount=replace(amount, sense=LESS_OFTEN.get(amount.sense, amount.sense)))]
        if c.negation == "NOT" and not is_strict and group.quantifier == "all":
            net = Claim("trend", group, where, OPPOSITES[relation], is_weak=True)
            flat = (Claim("flat", group, where),) if relation in ("up", "improves") else ()
            return [replace(net, every_step=True, instead=(net, *flat))]
        if c.negation == "NEVER" or is_strict or group.quantifier in ("none", "only"):
            return [Claim("trend", group, where, OPPOSITES[relation], every_step=True, is_weak=True)]
        return []
    if group.quantifier == "none" and amount is None:
        return [Claim("trend", Group(group.names), where, OPPOSITES[relation], every_step=True, is_weak=True)]
    from_peak = bool({"BEST", "PEAKS", "HIGHEST", "FROMPEAK"} & set(c.words)) and amount is not None
    from_peak |= "FROMPEAK" in c.words and relation in ("down", "worsens") and not is_strict
    is_weak = c.is_monotone and c.says("never")
    return [
        Claim(
            "trend", group, where, relation, amount=amount, every_step=is_strict and amount is None,
            other_where=("best" if {"BEST", "FROMPEAK"} & set(c.words) else "max") if from_peak else None, is_weak=is_weak,
            instead=() if from_peak or is_strict else _instead(c, group, relation, where, last_step),
        )
    ]  # fmt: skip


def _step_at(c: Clause, group: Group, relation: str, where: Window) -> list[Claim]:
    """Reads "A dips at step 40": since the point before, or up to the next one. Both must agree."""
    if c.is_monotone or c.negation or group.quantifier != "all" or where.points or where.nth or where.anchor:
        return []
    before = replace(where, first=-2, low=None)
    behind = Claim("trend", group, replace(where, high=None, first=2), relation)
    return [Claim("trend", group, before, relation, instead=(behind,))]


def _instead(c: Clause, group: Group, relation: str, where: Window, last_step: Window | None) -> tuple[Claim, ...]:
    """Returns other readings of a change: since the point before, or at any point where no place is named."""
    amount = c.amounts[0] if c.amounts else None
    since_peak = (
        (Claim("trend", group, where, relation, amount=amount, other_where="max"),)
        if amount is not None and relation == "down" and where.low is None and c.before is not None
        else ()
    )
    if last_step is not None:
        return (Claim("trend", group, last_step, relation, amount=amount), *since_peak)
    if since_peak:
        return since_peak
    is_bare = where == WHOLE and not c.amounts and not c.of_kind("place")
    if is_bare and (group.quantifier == "all" or (group.quantifier == "only" and c.says("that|which|to|with"))):
        return (Claim("trend", group, where, relation, manner="ever"),)
    return ()


def _from_to(c: Clause, group: Group, where: Window) -> list[Claim]:
    """Reads "A climbs from .52 to .76 over the run": a value at either end of the window."""
    if where.is_point or where.half or where.last or where.first or where.decade:
        return []
    ends = (
        START if where.low is None else Window(where.low, where.low),
        END if where.high is None else Window(where.high, where.high),
    )
    return [
        Claim("value", group, at, number=number_of(value, c), amount=Amount(0, digits=digits_of(value, c)))
        for at, value in zip(ends, c.values, strict=True)
        if not value.number.is_range and not value.is_length
    ]


def _gain_against(c: Clause, group: Group, other: Group, move: str, where: Window) -> list[Claim]:
    if not c.says("more|less|faster|slower") or c.negation or c.amounts:
        return []
    window = replace(WHOLE if where.is_point else where, every=False)
    return [Claim("gain", group, window, MOVES[move], other=other, manner="least" if c.says("less|slower") else "most")]


def _share_of_gain(c: Clause) -> list[Claim]:
    """Reads "two thirds of its gain are made by step 40", "most of the improvement comes after step 40"."""
    group, where = group_of(c.groups[-1] if c.groups[-1].is_possessive else c.groups[0]), c.place()
    if c.says(r"of (?:that|this|it|them|those)") or c.says(LOSES):
        return []  # "loses half of its gain"
    if group is None or where is None or group.rank or not set(c.words) & {"RISES", "IMPROVES", "FALLS"}:
        return []
    if not c.amounts and c.says("(?:all|none) of|whole|entire"):
        return _whole_gain(c, group, where)
    if (
        where.low is not None
        and where.high is not None
        and where.low < where.high
        and all(a.kind == "share" for a in c.amounts)
    ):
        part = c.amounts[0] if c.amounts else Amount(0.5, "more", "share")
        return [Claim("gain_share", group, Window(where.low, where.high), amount=part)] if not c.negation else []
    if not c.amounts:
        before = where.high is not None and (where.low is None or where.low == where.high)
        if where.low is not None and where.high is None:
            return [Claim("gain_share", group, Window(where.low, where.low), amount=Amount(0.5, "less", "share"))]
        if before and where.high is not None:
            return [Claim("gain_share", group, Window(where.high, where.high), amount=Amount(0.5, "more", "share"))]
        return []
    if where.low is not None and (where.high is None or where.after):  # the share that is left at that place
        rest = replace(c.amounts[0], value=1 - c.amounts[0].value, sense=REST_SENSE.get(c.amounts[0].sense, "about"))
        return [Claim("gain_share", group, Window(where.low, where.low), amount=rest)] if not c.negation else []
    is_before = where.open_high and where.low is None and where.high is not None
    if where.low is None and where.high is not None:
        where = Window(where.high, where.high)
    if where.low is None or where.low != where.high:
        return []
    sense = c.amounts[0].sense
    amount = replace(c.amounts[0], sense="less" if c.negation else "at least" if sense in ("about", "exactly") else sense)
    return [Claim("gain_share", group, where, amount=amount, manner="before" if is_before else "")]


def _whole_gain(c: Clause, group: Group, where: Window) -> list[Claim]:
    """Reads "all of its improvement happens after step 40"."""
    if not c.says("happen(?:s|ed)|com(?:es|e|ing)|came|occur(?:s|red)|takes place|took place|falls|fell|lies|is made|was made"):
        return []
    if (where.high is None and where.low is not None) or (where.after and where.low is not None):
        share = 1.0 if c.says("none of") or c.negation else 0.0
    elif (where.low is None and where.high is not None) or where.by:
        share = 0.0 if c.says("none of") or c.negation else 1.0
    else:
        return []
    at = where.low if where.low is not None else where.high
    return [Claim("gain_share", group, Window(at, at), amount=Amount(share, "about", "share"))]


def increments(c: Clause) -> Found:
    """Reads "the gains of A get smaller from one evaluation to the next"."""
    moves = [word for word in c.words if word in MOVES]
    if len(moves) != 2 or len(c.words) != 2 or moves[0] not in ("IMPROVES", "RISES") or moves[1] not in ("RISES", "FALLS"):
        return None
    where = c.place()
    is_strict = c.is_monotone or (where is not None and where.every)
    noun = c.says(r"gains?|improvements?|progress|increments?|increases|growth|steps?")
    if not is_strict or not noun or len(c.groups) != 1 or c.values or c.amounts or c.negation:
        return None
    group = group_of(c.groups[0])
    if group is None or where is None or group.rank:
        return []
    return [Claim("increments", group, where, MOVES[moves[1]])]


def flat(c: Clause) -> Found:
    """Reads "A is flat after step 40", "A changes by less than 2 points"."""
    words = c.words
    if not set(words) & {"FLAT", "CHANGES"} or set(words) - {"FLAT", "CHANGES", *MOVES, "HIGHEST", "STEADY"} or not c.groups:
        return None
    group, where = group_of(c.groups[0]), c.place()
    if group is None or where is None or len(c.amounts) > 1 or group.rank or (HIGHEST_OF & set(words)):
        return []
    amount = c.amounts[0] if c.amounts else None
    if "FLAT" not in words:
        if amount is None:
            return []
        if amount.sense not in ("less", "at most", "nearly") and not c.negation and amount.kind == "difference":
            return [Claim("moves", group, until(where), amount=amount)]
        if c.negation:
            amount = replace(amount, sense=LESS_OFTEN.get(amount.sense, amount.sense))
        return [Claim("flat", group, where, amount=amount)]
    if set(words) & set(MOVES) and where == WHOLE:
        return []
    if amount is not None and amount.sense == "about" and c.says(r"hardly|barely|scarcely") and not c.negation:
        return [Claim("moves", group, until(where) if not where.every else WHOLE, amount=amount)]
    if where.is_point and (where.anchor == "end" or where.low is None):
        return [Claim("levels", group)] if c.says(LEVELLED) and where.anchor == "end" and not c.negation else []
    if where.is_point:
        where = Window(where.low, None)
    if where == WHOLE and c.says(LEVELLED) and not where.every and amount is None:
        return [Claim("levels", group, negated=bool(c.negation))]
    if where == WHOLE and not c.says("horizontal|constant|flat|stable|unchanged"):
        return []
    return [Claim("flat", group, where, amount=amount, negated=bool(c.negation))]


def same(c: Clause) -> Found:
    """Reads "A and B start at the same value"."""
    if "SAME" not in c.words or set(c.words) - {"SAME", "MEETS"} or not c.groups:
        return None
    groups = [g for token in c.groups if (g := group_of(token)) is not None]
    names = tuple(dict.fromkeys(name for group in groups for name in group.names))
    where = c.place()
    if len(names) < 2 or where is None or where == WHOLE or any(g.rank or g.quantifier not in ("all", "none") for g in groups):
        return []
    return [Claim("same", Group(names), where, negated=bool(c.negation))]


def order(c: Clause) -> Found:
    """Reads "the final ranking is A, B, C"."""
    if "ORDER" not in c.words or set(c.words) - {"ORDER", *EXTREMES} or not 0 < len(c.groups) < 3:
        return None
    group, where = group_of(c.groups[-1]), c.place(default=END)
    if group is None or len(group.names) < 3 or group.quantifier != "all" or where is None or c.negation:
        return []
    if where.after and where.low is not None:
        where = Window(where.low, where.low)
    elif not where.is_point:
        where = Window(where.high, where.high) if where.low is None and where.high is not None else END
    ascending = c.says(r"(?:worst|lowest|weakest) to (?:the )?(?:best|highest|strongest)|ascending|(?:worst|lowest) first")
    relation = "above" if c.says(r"highest to (?:the )?lowest|descending") else "better"
    names = tuple(reversed(group.names)) if ascending else group.names
    return [Claim("order", Group(group.names), where, relation, order=names)]


def noise(c: Clause) -> Found:
    """Reads "A is noisier than B", "the error bars of A and B overlap"."""
    words = c.words
    if not set(words) & {"LOWSPREAD", "HIGHSPREAD", "BARS", "OVERLAPS", "NOISY", "STEADY"} or not c.groups:
        return None
    groups = [g for token in c.groups if (g := group_of(token)) is not None and not token.is_possessive]
    if not groups:
        return []
    if words == ["LOWSPREAD"] or words == ["HIGHSPREAD"]:
        return [Claim("spread", groups[0], WHOLE, "min" if words[0] == "LOWSPREAD" else "max")]
    if "OVERLAPS" in words:
        names = tuple(dict.fromkeys(name for group in groups for name in group.names))
        where = c.place()
        return (
            [Claim("bars_overlap", Group(names), where, negated=bool(c.negation))]
            if where is not None and "BARS" in words
            else []
        )
    if set(words) - {"NOISY", "STEADY"} or len(set(words)) > 1:
        return []
    other = groups[1] if len(groups) > 1 else None
    is_noisy = words[0] == "NOISY"
    if c.has_spread and c.says(r"noisier|standard deviation|error bars?|s\.d\."):
        return [Claim("spread", groups[0], WHOLE, "max" if is_noisy else "min", other=other)]
    if other is not None or c.says(
        "noisier|smoother|steadier|more stable|less noisy|less volatile|more volatile|more erratic|jumpier"
    ):
        return [Claim("noisier" if is_noisy else "steadier", groups[0], other=other, negated=bool(c.negation))]
    return [Claim("noisy", groups[0], negated=is_noisy == bool(c.negation))]


def value(c: Clause) -> Found:
    """Reads "the last reading of A is .47"."""
    is_alone = not c.groups and len(c.context.names) == 1
    if c.words or (len(c.groups) != 1 and not is_alone) or len(c.values) != 1 or c.negation or c.amounts:
        return None
    group, where, given = Group(c.context.names) if is_alone else group_of(c.groups[0]), c.place(), c.values[0]
    if group is None or group.rank or len(group.names) != 1 or where is None or not where.is_point or given.number.is_range:
        return []
    measure = "tokens" if given.is_length and c.has_lengths else "accuracy"
    return [
        Claim("value", group, where, number=number_of(given, c), amount=Amount(0, digits=digits_of(given, c)), measure=measure)
    ]
