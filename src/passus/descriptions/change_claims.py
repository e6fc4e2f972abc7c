"""Claims that compare changes and gaps: more than another series, more than at another time, more than on another panel."""

import re
from collections.abc import Sequence
from dataclasses import replace

from passus.descriptions.claim_tokens import GAIN, Found, are_same, group_of, until
from passus.descriptions.claims import END, START, WHOLE, Amount, Claim, Group, Window
from passus.descriptions.clause_words import MOVES
from passus.descriptions.clauses import Clause, Token, joined

BEFORE = re.compile(r"\bTHAN\b[^,;]*\b(?:before|earlier|until then|up to (?:that|then|there))\b", re.I)
AFTER = re.compile(r"\bTHAN\b[^,;]*\b(?:afterwards?|later|after(?: that| it)?|since(?: then)?|thereafter|rest)\b", re.I)
NOUNS = {"gap": {"GAP", "SPREAD", "APART"}, "gain": set(MOVES)}


def more_than(c: Clause) -> Found:
    """Reads "A gains more than B", "A gains more after step 40 than before", "the gap is larger on P than on Q"."""
    words = c.words
    if "THAN" not in words or not {"MORE", "LESS"} & set(words):
        return None
    what = next((name for name, nouns in NOUNS.items() if nouns & set(words)), "")
    at = c.index(("THAN",))
    left, right = c.tokens[:at], c.tokens[at + 1 :]
    if not what:
        return None
    if c.says("together|combined|in sum|jointly|taken as a whole") or not any(group_of(t) or t.kind == "ranks" for t in left):
        return []
    if set(words) - {"THAN", "MORE", "LESS", "GAP", "SPREAD", "APART", "CHANGES", *MOVES} or c.negation:
        return []
    if len({word for word in words if word in MOVES}) > 1 or len(c.amounts) > 1 or c.values:
        return []
    is_aside = bool(c.amounts) and re.search(r"«D\d+»[^,]*, (?:\w+ ){0,2}(?:MORE|LESS|more|less|faster|slower)\b", c.text)
    claim = Claim(
        what, _subject(c, left), relation=next((MOVES[word] for word in words if word in MOVES), "up"),
        amount=c.amounts[0] if c.amounts and not is_aside else None, manner="least" if "LESS" in words else "most",
        order=tuple(map(str, next((t.part for t in c.of_kind("ranks")), ()))),
    )  # fmt: skip
    return _compared(c, replace(claim, kind=f"{what}_than"), left, right)


def _subject(c: Clause, left: Sequence[Token]) -> Group:
    names = dict.fromkeys(name for t in left if (g := group_of(t)) is not None for name in g.names)
    first = next((g for t in left if (g := group_of(t)) is not None), None)
    several = Group(tuple(names)) if len(names) > 1 else Group(c.context.names)
    return several if first is None or ("GAP" in c.words and not first.rank) else first


def _compared(c: Clause, claim: Claim, left: Sequence[Token], right: Sequence[Token]) -> Found:
    """Finds what stands behind "than": a panel, another series, or another part of the axis."""
    panels = [[t.part[0] for t in side if t.kind == "panel" and len(t.part) == 1] for side in (left, right)]
    others = [g for t in right if (g := group_of(t)) is not None and not t.is_possessive and not are_same(g, claim.group)]
    before, after = c.places(left), c.places(right)
    where = joined(before, WHOLE)
    if where is None:
        return []
    if panels[1]:
        both = (panels[0] or [""])[:1] + panels[1][:1]
        place = joined([*before, *after], WHOLE)
        if others or place is None or len(panels[1]) != 1 or both[0] == both[1] or not all(both):
            return []
        return [replace(claim, kind=f"panels_{claim.kind}", where=place, order=(*both, *claim.order), panels=(both[0],))]
    if others and claim.kind == "gain_than":
        place = joined([*before, *after], WHOLE)
        return [replace(claim, where=replace(place, every=False), other=others[0])] if place is not None else []
    if others:
        return []
    window = _window_behind(c, where, after)
    return [replace(claim, where=where, other_where=window)] if window is not None else []


def _window_behind(c: Clause, where: Window, after: Sequence[Window]) -> Window | None:
    if len(after) == 1 and after[0] != where:
        return after[0]
    if len(after) > 1 or where == WHOLE:
        return None
    edge = where.low if where.high is None else where.high if where.low is None or where.low == where.high else None
    if BEFORE.search(c.text) and where.low is not None and (where.high is None or where.low == where.high):
        return Window(None, where.low)
    if AFTER.search(c.text) and edge is not None:
        return Window(edge, None)
    return None


def gain_is(c: Clause) -> Found:
    """Reads "its improvement over the run is less than 0.12": a change with its size."""
    moves = [word for word in c.words if word in MOVES]
    if len(moves) != 1 or len(c.values) != 1 or c.amounts or set(c.words) - {moves[0], "ABOVE", "BELOW"} or len(c.groups) != 1:
        return None
    value, at = c.values[0], c.index((moves[0],))
    of = re.search(
        r"\b(?:gain|improvement|increase|drop|rise|growth|decline|loss|change|fall|progress)\b(?: (?:of|for) (?:the )?«"
        r"|[^,;]* (?:is|was|amounts|exceeds?|stays?))",
        c.raw,
        re.I,
    )
    owned = (
        re.search(
            rf"{c.groups[0].text} (?:(?:total|overall|whole|net"
            rf"|final) )?(?:{GAIN})\b(?! to\b)",
            c.raw,
        )
        and c.groups[0].is_possessive
    )
    is_noun = (owned and c.tokens.index(c.groups[0]) == at - 1) or of
    group, where = group_of(c.groups[0]), c.place()
    if not is_noun or value.number.is_range or group is None or where is None:
        return None
    sense = "more" if "ABOVE" in c.words else "less" if "BELOW" in c.words else "about"
    number = value.number
    amount = Amount(number.low, sense, digits=number.digits, is_points=number.unit in ("%", "points", "point"))
    return [
        Claim(
            "trend", group, until(where) if not where.every else WHOLE, MOVES[moves[0]], amount=amount, negated=bool(c.negation)
        )
    ]


def attained_elsewhere(c: Clause) -> Found:
    """Reads "A does not attain with 100 what B attains with 10"."""
    if c.words != ["REACHES", "REACHES"] or not c.says("what") or len(c.groups) != 2 or c.values or c.amounts:
        return None
    group, other = (group_of(token) for token in c.groups)
    places = c.places()
    if group is None or other is None or len(places) != 2 or not all(place.is_point for place in places):
        return []
    relation = "worse" if c.negation else "better"
    return [Claim("level", group, places[0], relation, other=other, other_where=places[1], is_weak=not c.negation)]


def gain_ratio(c: Clause) -> Found:
    """Reads "the gain of A is twice that of B", "A gains half as much as B"."""
    moves = [word for word in c.words if word in MOVES]
    amounts = [amount for amount in c.amounts if amount.kind in ("ratio", "share")]
    is_gap = "GAP" in c.words or "SPREAD" in c.words
    if not (moves or is_gap) or len(amounts) != 1 or len(c.amounts) > 1 or c.values or c.negation:
        return None
    if set(c.words) - {*MOVES, "GAP", "SPREAD", "MORE", "THAN"} or len({MOVES[word] for word in moves}) > 1:
        return None
    amount = replace(amounts[0], kind="ratio")
    at = next(n for n, token in enumerate(c.tokens) if token.kind == "amount")
    left, right = c.tokens[:at], c.tokens[at + 1 :]
    if is_gap:
        return _gap_ratio(c, left, right, amount)
    if len(c.of_kind("panel")) == 2:
        return _gain_ratio_of_panels(c, left, right, amount, MOVES[moves[0]])
    first, second = ([g for t in side if (g := group_of(t)) is not None and not t.is_possessive] for side in (left, right))
    where = c.place()
    compares = bool(second) and (c.says("that of|those of|as much|as many|gain|improvement|increase|drop|loss|growth|rise"))
    if not first or not second or are_same(first[0], second[0]) or where is None or not compares:
        return None
    return [Claim("gain_than", first[0], where, MOVES[moves[0]], other=second[0], amount=amount, manner="times")]


def _gain_ratio_of_panels(c: Clause, left: Sequence[Token], right: Sequence[Token], amount: Amount, relation: str) -> Found:
    """Reads "the gain of A on P is twice its gain on Q"."""
    panels = [[t.part[0] for t in side if t.kind == "panel" and len(t.part) == 1] for side in (left, right)]
    group = next((g for t in left if (g := group_of(t)) is not None), None)
    others = [g for t in right if (g := group_of(t)) is not None and group is not None and not are_same(g, group)]
    where = c.place()
    if group is None or others or where is None or not all(len(side) == 1 for side in panels) or panels[0] == panels[1]:
        return []
    order = (panels[0][0], panels[1][0])
    return [Claim("panels_gain_than", group, where, relation, amount=amount, manner="times", order=order, panels=order[:1])]


def _gap_ratio(c: Clause, left: Sequence[Token], right: Sequence[Token], amount: Amount) -> Found:
    """Reads "the gap between A and B is twice as large at the end as at the start"."""
    ranks = next((t.part for t in c.of_kind("ranks")), ())
    panels = [[t.part[0] for t in side if t.kind == "panel" and len(t.part) == 1] for side in (left, right)]
    places = [c.places(left), c.places(right)]
    group = _subject(c, left)
    claim = Claim("gap_than", group, amount=amount, manner="times", order=tuple(map(str, ranks)))
    if panels[1] and panels[0] and panels[0] != panels[1]:
        place = joined([*places[0], *places[1]], WHOLE)
        return (
            [replace(claim, kind="panels_gap_than", where=place, order=(panels[0][0], panels[1][0], *claim.order))]
            if place
            else []
        )
    both = [*places[0], *places[1]]
    if not [place for place in both if not place.every] and not ranks and len(group.names) == 2 and not c.says("that|those"):
        both = [END, START]  # "the gap doubles over training"
    if len(both) != 2 or both[0] == both[1] or not all(window.is_point for window in both):
        return []
    return [replace(claim, where=both[0], other_where=both[1])]
