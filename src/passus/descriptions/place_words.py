"""Marks places that are given in words: at the end, from there on, in the second half, at every checkpoint."""

import re
from collections.abc import Callable
from typing import Any

from passus.descriptions.axes import Axes
from passus.descriptions.claims import END, START, WHOLE, Window
from passus.descriptions.marking import TOKEN, Marked, MarkedValue
from passus.descriptions.numbers import ORDINALS, WORDS


def mark_words(marked: Marked, axes: Axes) -> None:
    """Marks places, amounts and multiples that are given in words."""
    nouns = (
        rf"(?:{axes.x_words}(?: counts?| numbers?| budgets?)?|checkpoints?|evaluations?|evals?|readings?|points?"
        rf"|markers?|ticks?|rows?|columns?|entries|intervals?|measurements?)"
    )
    count = rf"(?:\d+|{'|'.join(WORDS)})"
    put = marked.replace
    training = (
        r"(?: of (?:the |its |this |their )?(?:training|run|runs|chart|plot|axis|x-axis|figure|graph|period"
        r"|curve|line|experiment"
        r"|plotted range|plotted steps|table|tuning|fine-tuning|adaptation|budget|schedule|pre-?training|post-?training"
        r"|optimi[sz]ation|series|range|sweep|study|job|course))?"
    )
    put(
        rf"\b(?:between|from) (?:this|that) (?:{nouns}) (?:and|to) (?:the )?(?:very )?end{training}\b"
        rf"|\bfrom the (?:very )?first {nouns} after (?:the (?:start|common start)|initiali[sz]ation)\b",
        "X",
        _later(marked),
    )
    put(rf"\bover (?:the|all|these)(?: {count})? {axes.x_words}(?= ?(?:$|[,.;]))", "X", lambda m: WHOLE)
    put(r"\bat first\b(?! (?:sight|glance))", "X", lambda m: Window(first=2))
    put(
        rf"\b(?:in|over|during) the (?:very )?(?:last|final) (?:{axes.x_words}|interval|stretch)\b(?<!s)(?! (?:two|three|\d))",
        "X",
        lambda m: Window(anchor="end", first=-2),
    )
    put(
        rf"(?:\b(?:at|by|in|towards?|until|to|till|up to) (?:the )?|\bthe )(?:very )?(?:end|finish"
        rf"|conclusion){training}\b(?! (?:of|point))|\bby the time the (?:run|job|training) (?:is over|ends)|\b(?:at|by"
        rf"|in) the (?:very )?(?:right(?:-hand)? (?:edge|end|side|margin)|last"
        rf"|final) ?{nouns}?(?: of the (?:axis|chart))?\b(?! (?:two|three"
        rf"|\d))|\bin the end\b|\bultimately\b|\bfinally\b"
        rf"|\b(?:when|where|once|after|by the time) (?:the )?(?:training|run|job|axis) (?:ends|ended|stops|stopped|is over"
        rf"|was over|is killed|was killed|finishes|finished)\b",
        "X", lambda m: "until end" if re.match(r"(?:until|to|till|up to)", m[0], re.I) else END)  # fmt: skip
    put(
        rf"\b(?:at|in|from) (?:the )?(?:very |common )?(?:start|beginning|outset|first {nouns}|initiali[sz]ation"
        rf"|onset){training}\b|\bbefore (?:any )?training\b|\binitially\b|\b(?:at|on) the (?:very )?left(?: (?:edge|end"
        rf"|side|margin))?(?: of the (?:axis|chart|plot))?\b|\bat first sight\b|\bto begin with\b"
        rf"|\bat initiali[sz]ation\b|\bsince the (?:beginning|start)\b",
        "X", lambda m: START if not m[0].lower().startswith("since") else WHOLE)  # fmt: skip
    put(
        rf"\b(?:at|in|on) (?:every|each)(?: single)?(?: \w+)? (?:later|subsequent|following) {nouns}\b|\b(?:at"
        rf"|in) (?:every|each)(?: single)?(?: \w+)? {nouns} after (?:the (?:start|first|common start)|initiali[sz]ation"
        rf"|that|«X\d+»)|\b(?:at|in) (?:every|each)(?: single)?(?: \w+)? {nouns} «X\d+»"
        rf"|\bafter (?:the|its|their|a) (?:common |shared |joint )?(?:start|beginning|first (?:{nouns}))\b|\bfrom then"
        rf" on\b|\bfrom there on\b|\bever after\b|\bafterwards?\b"
        rf"|\bafter that\b|\bthereafter\b|\bsubsequently\b|\bever since\b|\bsince\b(?=\W*(?:$|and\b))|\b(?:for |in "
        rf"|over |during )?the (?:rest|remainder)(?: of the (?:chart|run|training|axis|experiment))?\b"
        rf"|\bfrom that point on\b|\bsince then\b|\blater on\b",
        "X", _later(marked))  # fmt: skip
    put(
        rf"\b(?:at|in|on|over|for|across) (?:every|each|all|any)(?: (?:single|one|and every|of the|the|{count}|marked|recorded"
        rf"|listed|neighbouring|plotted))* (?:\w+ )?{nouns}\b|\b(?:every|each)(?: single)? {axes.x_words}\b"
        rf"|\bat (?:any|every|each)(?: single)? (?:snapshot|marker|mark|tick|position|budget|instant|moment"
        rf"|level|size)\b|\b(?:throughout|always|consistently|at all times"
        rf"|all along|at every turn)\b(?: (?:the )?(?:entire |whole )?(?:training|run|chart|process|period))?(?: run)?"
        rf"|\b(?:over|for|during|across) the (?:whole|entire|full)(?: \w+)?\b|\bthe (?:whole|entire) (?:time|way|run)\b"
        rf"|\b(?:over|in|during) the course of (?:the |this )?(?:training|run|adaptation|tuning|fine-tuning"
        rf"|experiment|job|period)\b"
        rf"|\b(?:during|throughout) (?:the )?(?:training|tuning|fine-tuning|adaptation|run)\b"
        rf"|\bfrom (?:the )?(?:start|first) to (?:the )?(?:finish|end"
        rf"|last)(?: {nouns})?\b(?! (?:place|position|rank))|\banywhere(?: in the (?:sweep|figure|chart))?\b"
        rf"|\bat (?:any|some) (?:point|time|stage"
        rf"|evaluation)\b|\b(?:along|on) the way(?: there)?\b|\b(?:of|in) the (?:whole|entire) (?:experiment|chart|figure"
        rf"|sweep|run|table|study|plot)\b|\banywhere(?: in the (?:chart|figure|table|plot))?\b|\bso far\b"
        rf"|\bbetween the (?:two )?ends of the (?:x-)?(?:axis|range)\b"
        rf"|\bbetween the first and the last {nouns}\b|\bon the whole (?:card|chart|plot)\b|\boverall\b|\bin total\b"
        rf"|\bover the (?:run|day|week|night|period|experiment|sweep)\b|\bas (?:the )?training (?:proceeds|progresses|goes"
        rf" on|continues)\b"
        rf"|\b(?:all|the whole) (?:of )?the time\b|\bover the (?:plotted|whole|entire|full) range\b"
        rf"|\bover time\b|\bas time goes on\b|\b(?:every|each) time\b|\bfrom «X\d+» to «X\d+»",
        "X", _whole(marked))  # fmt: skip
    put(
        rf"\b(?P<word>at|in|on|after|by|since|for"
        rf"|during)? ?(?:the )?(?P<nth>{'|'.join(ORDINALS)}) (?:{axes.x_words})\b(?! (?:where|that))",
        "X",
        _nth_place,
    )
    put(
        rf"\b(?:at|in|on|after|by|since|for|during)? ?(?:the )?(?P<nth>{'|'.join(ORDINALS)}) {nouns}\b",
        "X",
        lambda m: Window(nth=ORDINALS[m["nth"].lower()]),
    )
    put(
        rf"\b(?:at|in|on|over|for|during)? ?(?:the )?(?P<side>first|last|final) (?P<n>{count}) (?P<noun>{nouns}"
        rf"|hundred (?:{axes.x_words}))\b",
        "X",
        _first_or_last(axes),
    )
    put(
        r"\b(?:in|during|over|for) (?:the )?(?:second|latter|last) half(?: of (?:the )?(?:training|run|chart))?",
        "X",
        lambda m: Window(half=1),
    )
    if re.search(r"\bfirst half\b", marked.text, re.I):
        put(r"\b(?:in|during|over) the (?:second|latter|other)\b(?=\s*(?:$|[,.;]))", "X", lambda m: Window(half=1))
    put(
        r"\b(?:in|during|over|for) (?:the )?first half(?: of (?:the )?(?:training|run|chart))?",
        "X",
        lambda m: Window(half=-1),
    )
    put(r"\b(?:over |in |during |for )?the (?:last|final|same) decade(?: of \w+)?", "X", lambda m: Window(decade=1))
    put(r"\b(?:over |in |during |for )?the first decade(?: of \w+)?", "X", lambda m: Window(decade=-1))
    put(
        r"\b(?:with|at|for|under|after|on) the (?P<size>largest|highest|biggest|longest|smallest|lowest|shortest)"
        r" (?:(?:training|token|data|compute|sample) )?(?:budget|compute|count|number of \w+|amount of \w+|scale)\b",
        "X",
        lambda m: START if m["size"].lower() in ("smallest", "lowest", "shortest") else END,
    )
    put(
        r"\b(?:over|in|during|for) the (?P<side>first|last|final) (?P<n>«V\d+»)(?=\s*(?:$|[,.;]))",
        "X",
        lambda m: _stretch(m["side"].lower() == "first", marked.get(m["n"]), axes),
    )


def _stretch(is_first: bool, value: Any, axes: Axes) -> Window | None:
    """Returns the first or last so many steps, whose noun is left out: "more than in the first 8"."""
    if not isinstance(value, MarkedValue) or value.number.unit or value.number.is_range:
        return None
    size = value.number.low
    return Window(None, (axes.x.low or 0.0) + size) if is_first else Window(last=size)


def _nth_place(match: re.Match[str]) -> Window | None:
    """Returns the place of "the second epoch"."""
    n = float(ORDINALS[match["nth"].lower()])
    if n == 1 and not match["word"]:
        return None
    return Window(n - 1, n) if (match["word"] or "").lower() == "during" else Window(n, n)


def _later(marked: Marked) -> Callable[[re.Match[str]], Any]:
    def make(match: re.Match[str]) -> Any:
        inner = TOKEN.search(match[0])
        if inner:
            window = marked.parts[int(inner[2])]
            return Window(window.low, None, open_low=True, every=True) if isinstance(window, Window) else None
        if re.search(r"start|initiali|first", match[0], re.I):
            return Window(None, None, open_low=True, every=True, anchor="")
        return "later" if not re.search(r"every|each", match[0], re.I) else "every later"

    return make


def _whole(marked: Marked) -> Callable[[re.Match[str]], Any]:
    def make(match: re.Match[str]) -> Any:
        inner = TOKEN.findall(match[0])
        if len(inner) == 2:
            a, b = (marked.parts[int(number)] for _, number in inner)
            low = a.low if isinstance(a, Window) else None
            high = b.high if isinstance(b, Window) else None
            return Window(low, high)
        every = bool(re.search(r"every|each|all|always|consistent|throughout|any|whole|entire", match[0], re.I))
        if re.search(
            r"anywhere|on the whole (?:card|chart|plot)|at any (?:point|time|evaluation|stage)|at some (?:point|time"
            r"|stage)|along the way|on the way|(?:of|in) the (?:whole|entire)",
            match[0],
            re.I,
        ):
            return Window(anywhere=True)
        return Window(every=every)

    return make


def _first_or_last(axes: Axes) -> Callable[[re.Match[str]], Any]:
    def make(match: re.Match[str]) -> Any:
        count = match["n"].lower()
        n = WORDS[count] if count in WORDS else int(count)
        is_first = match["side"].lower() == "first"
        if match["noun"].lower().startswith("hundred"):
            return Window(last=100.0 * n)
        is_x = re.fullmatch(axes.x_words, match["noun"], re.I)
        if is_x and n > 9:
            return Window(None, float(n)) if is_first else Window(last=float(n))
        return Window(first=n if is_first else -n, every=True)

    return make
