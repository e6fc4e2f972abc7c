"""Claims that a curve passes a value: reaches it, crosses it, falls below it, and when."""

from dataclasses import replace

from passus.descriptions.claim_tokens import Found, digits_of, group_of, number_of, until
from passus.descriptions.claims import END, WHOLE, Amount, Claim, Window
from passus.descriptions.clause_words import MOVES
from passus.descriptions.clauses import Clause

PASSING = {"PASSES": "above", "UNDERCUTS": "below", "REACHES": "reach"}
BY = r"by|already|has|have|had|needs?|needed|took|takes?|requires?|required|within|as early as"


def passing(c: Clause) -> Found:
    """Reads "A passes the 20 % mark between steps 10 and 20", "none of them reaches .8", "B gets past one half only at the
    end"."""
    if "FIRSTTO" in c.words:
        return _first_to(c)
    words = [word for word in c.words if word in PASSING]
    if len(words) != 1 or set(c.words) - {*words, *MOVES, "CROSSES"} or len(c.values) != 1 or len(c.groups) != 1:
        return None
    group, where, value = group_of(c.groups[0]), c.place(), c.values[0]
    if group is None or where is None or value.number.is_range or c.amounts:
        return []
    relation = PASSING[words[0]]
    if relation == "reach" and c.says("over|above|at least|more than"):
        relation = "above"
    measure = "tokens" if value.is_length and c.has_lengths else "accuracy"
    claim = Claim(
        "passes", group, where, relation, number_of(value, c), amount=Amount(0, digits=digits_of(value, c)), measure=measure
    )
    if c.negation:
        return _not_passing(c, claim)
    if where.is_point and c.says("exceed(?:s|ed|ing)?") and not c.says("first|earliest|only"):
        return [replace(claim, kind="level", amount=None)]
    if where.is_point and c.says("needs?|needed|takes?|took|requires?|required") and not c.says("first|earliest"):
        return [replace(claim, manner="needs")]
    if c.only_there or c.says("first|earliest|not before|only (?:at|after|in|by|from)"):
        return [replace(claim, manner="first")] if where.is_point else []
    if where == WHOLE or where.every or where.anywhere:
        return [replace(claim, where=WHOLE)] if not c.stays or group.quantifier == "none" else []
    if where.anchor == "end":
        return [replace(claim, where=WHOLE) if relation == "reach" else claim]
    if where.is_point and not where.after:
        if relation == "reach" and not where.by and not c.says(BY):
            stated = replace(claim, kind="value", relation="")
            return [replace(claim, manner="by", instead=(stated,))]
        if where.by or c.says(BY):
            return [replace(claim, manner="by")]
        return [claim]
    return [replace(claim, manner="by")] if where.low is None and where.high is not None else [claim]


def _first_to(c: Clause) -> Found:
    """Reads "A is the first run to exceed .4"."""
    words = [word for word in c.words if word != "FIRSTTO"]
    relation = {"ABOVE": "above", "BELOW": "below", **PASSING}.get(words[0], "") if len(words) == 1 else ""
    group = group_of(c.groups[0]) if c.groups else None
    if not relation or group is None or len(c.values) != 1 or c.values[0].number.is_range or c.negation or c.amounts:
        return []
    value = c.values[0]
    measure = "tokens" if value.is_length and c.has_lengths else "accuracy"
    return [
        Claim(
            "first_to",
            group,
            WHOLE,
            relation,
            number_of(value, c),
            amount=Amount(0, digits=digits_of(value, c)),
            measure=measure,
        )
    ]


def _not_passing(c: Clause, claim: Claim) -> list[Claim]:
    """Reads "never reaches .8", and "does not reach .8 until step 40", which says when it does."""
    where = claim.where
    if c.says("until|till|before") and where.high is not None and where != WHOLE:
        late = Window(where.high, None, open_low=False)
        return [replace(claim, where=late, manner="late")]
    if where.anchor == "start":
        return []
    span = where if where != END and not where.is_point else WHOLE if where == END or c.says("by") is False else until(where)
    span = WHOLE if span.every or span.anywhere or where == END else span
    return [replace(claim, where=span, manner="by" if where.is_point and where != END else "", negated=True)]
