"""Claims about the place in a ranking, and about the highest and lowest point of a curve."""

import re
from dataclasses import replace

from passus.descriptions.claim_tokens import (
    GAIN,
    RANKS,
    Found,
    digits_of,
    group_of,
    number_of,
    until,
)
from passus.descriptions.claims import END, WHOLE, Amount, Claim, Group, Window
from passus.descriptions.clause_words import EXTREMES, MOVES
from passus.descriptions.clauses import Clause, Token

OWN_EXTREME = re.compile(
    r"(?<!the )\b(?:highest|lowest|best|worst|strongest|weakest)(?: (?:at|in|after|by|around|near))? (?:«X|$)", re.I
)
"""An adjective that may say where a series is first, or where it has its own extreme: "A is best at step 40"."""
TAKES = (
    r"t(?:akes?|ook|aking) (?:over )?the (?:lead|crown|top spot)"
    r"|(?:moves?|moved|jumps?|climbs?|rises?) (?:up )?(?:in)?to (?:the )?(?:first|top) \w+"
)
FAST = {"FASTEST": "HIGHEST", "SLOWEST": "LOWEST"}


def rank(c: Clause) -> Found:
    """Reads "A is the best", "the highest value belongs to A", "A gains most", "the best checkpoint of A is step 40"."""
    if c.says("most of|bulk of|majority of|part of"):
        return None
    words = [word for word in c.words if word in EXTREMES or word in RANKS]
    fast = [word for word in c.words if word in FAST]
    if len(fast) == 1 and not words and set(c.words) & set(MOVES) and c.groups and (first := group_of(c.groups[0])) is not None:
        if c.place() == WHOLE:
            return []  # over which part of the curve is not said
        return _greatest_gain(c, first, FAST[fast[0]], [word for word in c.words if word in MOVES])
    if len(words) == 2 and "BEST" in words and c.says(r"belongs?|belonged|goes to|went to"):
        words.remove("BEST")  # "the lowest loss belongs to A"
    rest = [word for word in c.words if word not in words and word != "BEST"]
    if len(words) != 1 or not c.groups or "GAP" in rest:
        return _named_by_rank(c) if not c.words else None
    word, token = words[0], c.groups[0]
    group = group_of(token)
    at = c.index((word,))
    if word in RANKS and at > 0 and c.tokens[at - 1].kind == "group" and c.tokens[at - 1] is not token:
        return []  # "seven points clear of B in second place"
    moves = [w for w in rest if w in MOVES]
    if group is None or group.rank or set(rest) - {*MOVES, "REACHES", "ABOVE", "BETTER", "NOISY", "ORDER", "CHANGES"}:
        return None
    if "NOISY" in rest:
        return (
            [Claim("noisier" if word != "LOWEST" else "steadier", group, negated=bool(c.negation))]
            if word in ("HIGHEST", "LOWEST")
            else []
        )
    possessive = next((t for t in c.groups if t.is_possessive), None)
    if possessive is not None and c.tokens.index(possessive) == c.index((word,)) - 1:
        if moves and len(c.groups) < 3 and not c.amounts and not c.values:
            return _steepest(c, group, word, moves[0])
        return None if moves and c.amounts else _own_peak(c, group, word) if not moves else []
    if (moves or c.says(GAIN)) and word in ("HIGHEST", "LOWEST", "BEST", "WORST") and not (set(rest) & {"ABOVE", "BETTER"}):
        return _greatest_gain(c, group, word, moves)
    first_is_word = c.index((word,)) < c.tokens.index(token)
    is_among = any(len(g.names) > 1 for t in c.groups if t is not token and (g := group_of(t)) is not None)
    if _is_own(c, token, first_is_word) and not is_among:
        return _own_peak(c, group, word)
    return _place_in_ranking(c, group, word, first_is_word)


def _named_by_rank(c: Clause) -> Found:
    """Reads "A is the best of the three": the rank stands as a name."""
    groups = [group_of(token) for token in c.groups]
    if len(groups) != 2 or c.values or any(group is None for group in groups):
        return None
    ranked = [g for g in groups if g is not None and g.rank]
    named = [g for g in groups if g is not None and not g.rank]
    where = c.place()
    if len(ranked) != 1 or len(named) != 1 or where is None:
        return None
    place = ranked[0].rank
    among = Group(ranked[0].among) if len(ranked[0].among) > 1 else None
    where = END if where == WHOLE and c.says("winner|loser|runner-up") else where
    relation = "worst" if place < 0 else "rank"
    return [Claim("rank", named[0], where, relation, float(abs(place)), other=among, negated=bool(c.negation))]


def _is_own(c: Clause, token: Token, first_is_word: bool) -> bool:
    """Returns whether the extreme is one of the series itself: "its best checkpoint", "the maximum of A"."""
    if token.is_possessive:
        return True
    if any(window.anywhere for window in c.places()):
        return False
    if c.says(r"belongs?|held by|that of|those of|goes to|achieved by|obtained by|reached by|comes from|from|by"):
        return False
    noun = (
        r"(?:accuracy|score|reward|loss|length|result|value|performance|curve|entropy|perplexity|checkpoint|evaluation"
        r"|epoch|reading|point|maximum|minimum|step|hour|one|win rate)s?"
    )
    return bool(
        re.search(rf"\b{noun} (?:of|for) (?:the )?{re.escape(token.text)}|\b{noun} for (?:all|each|every|both)\b", c.raw, re.I)
    ) or bool(re.match(r"\W*(?:for|with) (?:the )?«", c.raw, re.I))


def _own_peak(c: Clause, group: Group, word: str) -> list[Claim]:
    where = c.place()
    if where == WHOLE and re.match(r"\W*(?:which|that) is\b", c.raw, re.I) and c.before is not None and c.before.is_point:
        where = c.before  # "at step 600, which is the best checkpoint of A"
    if where is None or where == WHOLE or where.every or word in RANKS or (where.anchor and c.of_kind("panel")):
        return []
    return [Claim("peak", group, where, EXTREMES[word], negated=bool(c.negation))]


def _steepest(c: Clause, group: Group, word: str, move: str) -> list[Claim]:
    """Reads "A makes its largest jump between steps 40 and 80"."""
    where = c.place()
    if where is None or where.low is None or where.high is None or where.low == where.high or word not in ("HIGHEST", "BEST"):
        return []
    return [Claim("steepest", group, where, MOVES[move], negated=bool(c.negation))]


def _greatest_gain(c: Clause, group: Group, word: str, moves: list[str]) -> list[Claim]:
    where = c.place()
    if where is None or len(c.groups) > 2 or c.of_kind("panel") or where.anchor == "start":
        return []  # "the steepest initial rise": up to where is not said
    down = "FALLS" in moves or "WORSENS" in moves or c.says("drop|fall|decline|loss of")
    relation = "down" if down else "up" if "RISES" in moves else "improves"
    other = group_of(c.groups[1]) if len(c.groups) == 2 and not c.groups[1].is_possessive else None
    least = word in ("LOWEST", "WORST")
    return [
        Claim(
            "gain", group, where if not where.is_point else until(where), relation, other=other,
            manner="least" if least else "most", negated=bool(c.negation),
        )
    ]  # fmt: skip


def _place_in_ranking(c: Clause, group: Group, word: str, first_is_word: bool) -> list[Claim]:
    where = c.place()
    if where is None or len(c.values) > 1:
        return []
    if c.negation == "NEVER":
        is_plain = len(group.names) == 1 and not c.amounts and not where.is_point and len(c.groups) == 1
        span = replace(where, every=True)
        return (
            [Claim("rank", group, span, EXTREMES.get(word, "rank"), RANKS.get(word, 1.0), manner="never")] if is_plain else []
        )
    if where.low is None and where.high is not None and c.says(r"(?:choice|option|one|pick|method|run|model) for"):
        where = Window(where.high, where.high)  # "the best choice for 10k hours"
    if len(group.names) > 1 and group.quantifier == "all" and word in EXTREMES and not c.negation:
        return []  # two are not both the best
    if c.says(r"(?:early|initial|original|former|previous|long-time|late) (?:leader|front-?runner|winner|starter|riser)"):
        return []
    if where == WHOLE and c.says("early|initial|original|former|previous|first"):
        return []
    if any(window.anywhere for window in c.places()) and word in EXTREMES and not c.negation:
        return [Claim("extreme", group, WHOLE, EXTREMES[word])]
    takes = c.says(TAKES)
    if takes and not where.is_point:
        return []
    if where == WHOLE and c.says(r"wins|winner|won|com(?:es?|ing) out|came out|best (?:result|model|method|run)|overall"):
        where = END
    on_chart = (
        where == WHOLE and word in ("HIGHEST", "LOWEST") and c.says("sweep|chart|figure|card|table|plot|study|experiment")
    )
    if where.anywhere or on_chart or (first_is_word and (where.every or where == WHOLE)):
        return [Claim("extreme", group, WHOLE, EXTREMES[word])] if word in EXTREMES and not c.negation else []
    others = [g for token in c.groups[1:] if (g := group_of(token)) is not None and len(g.names) > 1]
    among = others[0] if others else None
    claim = Claim("rank", group, where, EXTREMES.get(word, "rank"), RANKS.get(word, 1.0), other=among, negated=bool(c.negation))
    if where.is_point and not others and word in EXTREMES and OWN_EXTREME.search(c.raw):
        claim = replace(claim, instead=(Claim("peak", group, where, EXTREMES[word], negated=bool(c.negation)),))
    found = [claim]
    if (c.only_there or takes) and where.is_point and word == "BEST":
        found = [replace(claim, kind="takes_lead", relation="best")]
    behind = [g for token in c.groups[1:] if (g := group_of(token)) is not None and len(g.names) == 1]
    if "BETTER" in c.words and c.amounts and behind:
        found.append(Claim("level", group, where, "better", other=behind[0], amount=c.amounts[0]))
    elif c.amounts and not behind and word in ("BEST", "HIGHEST") and c.amounts[0].kind == "difference" and not c.negation:
        found.append(Claim("margin", group, where, EXTREMES[word], amount=c.amounts[0]))
    return found


def _late_peak(c: Clause) -> Found:
    """Reads "does not peak before step 40"."""
    group, where = group_of(c.groups[0]), c.place()
    is_late = where is not None and where.low is None and where.high is not None and c.says("before|until|till")
    if group is None or where is None or not is_late or len(c.groups) > 1 or c.values or len(c.words) > 1:
        return None
    relation = "max" if c.words[0] == "PEAKS" else "min"
    return [Claim("peak", group, Window(where.high, None), relation)]


def peak(c: Clause) -> Found:
    """Reads "A peaks at step 40", "A tops out at .62"."""
    words = [word for word in c.words if word in ("PEAKS", "TROUGHS")]
    if len(words) != 1 or not c.groups or set(c.words) - {"PEAKS", "TROUGHS", *MOVES, "REACHES"}:
        return None
    if c.negation:
        return _late_peak(c)
    group, where = group_of(c.groups[0]), c.place()
    if group is None or where is None or (len(c.groups) > 1 and not c.groups[1].is_possessive):
        return []
    relation = "max" if words[0] == "PEAKS" else "min"
    if c.says(r"an? (?:[a-z]+ )?(?:peak|maximum|high|low|trough|minimum)"):
        return []  # one of several
    if where.anywhere:
        return [Claim("extreme", group, WHOLE, relation)] if not c.values else []
    relation = "best" if c.says("best") else relation
    found = [Claim("peak", group, where, relation)] if where != WHOLE and not where.every else []
    if len(c.values) == 1 and not c.values[0].number.is_range and not c.amounts and relation != "best":
        value = c.values[0]
        measure = "tokens" if value.is_length and c.has_lengths else "accuracy"
        found.append(
            Claim(
                "top",
                group,
                where if where.is_point else WHOLE,
                relation,
                number_of(value, c),
                amount=Amount(0, digits=digits_of(value, c)),
                measure=measure,
            )
        )
    return found
