"""A clause of a sentence as a row of tokens: series, amounts, values, places and the few words of the lexicon."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from passus.descriptions.claims import END, START, WHOLE, Amount, Group, Window
from passus.descriptions.clause_words import HARMLESS, HARMLESS_FORM, KINDS, LEFT_OVER, TOKEN, TOKEN_TEXT, WORDS
from passus.descriptions.marking import Marked, MarkedValue
from passus.descriptions.reference_words import Context


@dataclass(frozen=True)
class Token:
    kind: str
    """group, amount, value, place, ranks, panel or word"""
    text: str
    part: Any = None

    @property
    def is_possessive(self) -> bool:
        return self.text.startswith("«O")


@dataclass
class Clause:
    """What handlers of claims see of a clause. Negations, places and "only" are taken out of the row of tokens."""

    tokens: list[Token]
    text: str
    raw: str
    context: Context
    before: Window | None = None
    """The place of the clause before."""
    negation: str = ""
    """NOT, NEVER or nothing."""
    is_monotone: bool = False
    only_there: bool = False
    """Whether something holds only at the place that is named."""
    share: Callable[[Any, float], float] = lambda number, value: value
    has_spread: bool = False
    has_lengths: bool = False

    @property
    def is_understood(self) -> bool:
        """Whether nothing is left of the clause but its tokens and words that change nothing."""
        return not self.rest

    @property
    def rest(self) -> list[str]:
        """The words that nobody knows."""
        words = LEFT_OVER.findall(TOKEN_TEXT.sub(" ", self.text))
        return [word for word in words if word.lower() not in HARMLESS and not HARMLESS_FORM.fullmatch(word)]

    @property
    def words(self) -> list[str]:
        return [token.text for token in self.tokens if token.kind == "word"]

    def of_kind(self, kind: str) -> list[Token]:
        return [token for token in self.tokens if token.kind == kind]

    @property
    def groups(self) -> list[Token]:
        return self.of_kind("group")

    @property
    def amounts(self) -> list[Amount]:
        return [token.part for token in self.of_kind("amount")]

    @property
    def values(self) -> list[MarkedValue]:
        return [token.part for token in self.of_kind("value")]

    def index(self, words: Sequence[str]) -> int:
        """Returns the place of the first of these words, or -1."""
        return next((n for n, token in enumerate(self.tokens) if token.kind == "word" and token.text in words), -1)

    def says(self, pattern: str) -> bool:
        return bool(re.search(rf"\b(?:{pattern})\b", self.raw, re.I))

    def places(self, tokens: Sequence[Token] | None = None) -> list[Window]:
        found = [self.resolved(t.part) for t in (self.tokens if tokens is None else tokens) if t.kind == "place"]
        return [window for window in found if window is not None]

    def place(self, tokens: Sequence[Token] | None = None, default: Window = WHOLE) -> Window | None:
        """Returns the one place that tokens name, the default if they name none, and None if they name several."""
        windows = [self.resolved(t.part) for t in (self.tokens if tokens is None else tokens) if t.kind == "place"]
        if any(window is None for window in windows):
            return None
        known = [window for window in windows if window is not None]
        return joined(known, default)

    def resolved(self, place: Any) -> Window | None:
        """Returns the window of a place that may be relative to the clause before: later, the next 20 steps."""
        if isinstance(place, Window):
            return place
        before = self.before
        if isinstance(place, tuple):
            low = None if before is None else before.high if before.high is not None else before.low
            if low is None and len(place) > 2:
                return place[2]
            return None if low is None else Window(low, low + place[1])
        if place == "until end":
            low = None if before is None else before.low if before.is_point else before.high
            return Window(low, None) if low is not None else WHOLE
        if before is None:
            return Window(None, None, open_low=True, every=True) if "every" in place else None
        if before.nth:
            return Window(nth_low=before.nth)
        if before.anchor == "start":
            return Window(None, None, open_low=True, every="every" in place)
        low = before.high if before.high is not None else before.low
        return None if low is None else Window(low, None, open_low=True, every="every" in place)

    @property
    def stays(self) -> bool:
        return self.says(r"stays?|stayed|remain\w*|keeps?|kept|holds?|held|always|throughout|never|consistently|permanently")


def joined(windows: Sequence[Window], default: Window) -> Window | None:
    if not windows:
        return default
    if len(set(windows)) == 1:
        return windows[0]
    every = any(window.every for window in windows)
    bounded = [
        w
        for w in dict.fromkeys(windows)
        if w.is_point
        or any(bound is not None for bound in (w.low, w.high))
        or any((w.first, w.last, w.nth_low, w.half, w.decade, w.points))
    ]
    if len(bounded) == 1 and every and bounded[0].after and bounded[0].low is not None:  # "at any step after 40"
        return Window(bounded[0].low, None, open_low=True, every=True)
    if len(bounded) == 1:
        return replace(bounded[0], every=every or bounded[0].every)
    if set(bounded) == {START, END}:
        return replace(WHOLE, every=every)
    if len(bounded) == 2 and START in bounded:  # "at the start, at hour 0"
        other = next(w for w in bounded if w != START)
        return other if other.is_point and other.low == 0 else None
    if len(bounded) == 2 and END in bounded:  # "finishes at step 100": the end is that step
        other = next(w for w in bounded if w != END)
        return other if other.is_point and not other.anchor else None
    return replace(windows[0], every=every) if not bounded else None


def read_clause(text: str, raw: str, marked: Marked, context: Context, before: Window | None) -> Clause:
    """Returns the clause with its tokens in order."""
    tokens = []
    for match in TOKEN.finditer(text):
        if match[3]:
            if match[3] in WORDS:
                tokens.append(Token("word", match[3]))
        elif kind := KINDS.get(match[1]):
            tokens.append(Token(kind, match[0], marked.parts[int(match[2])]))
    clause = Clause([], text, raw, context, before)
    clause.tokens = _without_modifiers(tokens, clause)
    return clause


def _without_modifiers(tokens: list[Token], clause: Clause) -> list[Token]:
    """Takes out negations, "monotonically" and "only", and turns "finishes" and "starts" into places."""
    kept: list[Token] = []
    for n, token in enumerate(tokens):
        following = tokens[n + 1] if n + 1 < len(tokens) else None
        if token.kind != "word":
            kept.append(token)
        elif token.text in ("NOT", "NEVER"):
            clause.negation = "NEVER" if "NEVER" in (token.text, clause.negation) else "NOT" if not clause.negation else ""
        elif token.text == "MONO":
            clause.is_monotone = True
        elif token.text in ("END", "START"):
            kept.append(Token("place", token.text, END if token.text == "END" else START))
        elif token.text == "ONLY":
            _take_only(kept, following, clause)
        else:
            kept.append(token)
    return _amounts_of_relations(kept)


def _take_only(kept: list[Token], following: Token | None, clause: Clause) -> None:
    if following is not None and following.kind in ("amount", "value"):
        return
    is_place = following is not None and (following.kind == "place" or following.text in ("END", "START"))
    if is_place and any(t.kind == "word" for t in kept):
        clause.only_there = True
        return
    last = max((n for n, token in enumerate(kept) if token.kind == "group"), default=-1)
    if last >= 0 and isinstance(kept[last].part, Group) and kept[last].part.quantifier == "all" and not kept[last].part.rank:
        kept[last] = Token("group", kept[last].text, replace(kept[last].part, quantifier="only"))
    else:
        kept.append(Token("word", "ONLY"))


def _amounts_of_relations(tokens: list[Token]) -> list[Token]:
    """Turns the value of "more than 3 units ahead" into an amount."""
    out: list[Token] = []
    for n, token in enumerate(tokens):
        following = tokens[n + 1] if n + 1 < len(tokens) else None
        is_between = n + 2 < len(tokens) and tokens[n + 2].kind == "value"  # "from 0.7 to more than 0.9"
        is_amount = (
            token.kind == "value"
            and not is_between
            and not token.part.number.is_range
            and following is not None
            and following.text in ("BETTER", "WORSE", "APART", "ABOVE", "BELOW")
        )
        if not is_amount:
            out.append(token)
            continue
        sense = "about"
        if out and out[-1].text in ("ABOVE", "BELOW"):
            sense = "more" if out.pop().text == "ABOVE" else "less"
        number = token.part.number
        out.append(
            Token(
                "amount", token.text, Amount(number.low, sense, digits=number.digits, is_points=number.unit in ("%", "points"))
            )
        )
    return out
