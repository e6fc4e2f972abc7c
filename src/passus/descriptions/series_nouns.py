"""The nouns that a text has for its series: runs, methods, languages, or whatever it counts as many of as there are series."""

import re
from collections import Counter
from collections.abc import Collection, Iterable

from passus.descriptions.mentions import Mentions
from passus.descriptions.names import COMMON, LINE_NOUN
from passus.descriptions.names import VERB as VALUE_VERB
from passus.descriptions.numbers import WORDS, count_of
from passus.descriptions.verb_forms import CHANGE_VERB as VERB
from passus.descriptions.vocabulary import LENGTHS, MEASURE_WORD, X_NOUNS

KNOWN = (
    "config", "setup", "regime", "language", "strategy", "architecture", "schedule", "scheduler",
    "tokenizer", "tokeniser", "tokenization", "tokenisation", "option", "candidate", "network", "build", "release", "fork",
    "pipeline", "team", "encoder", "sampler", "ranker", "retriever", "regimen", "formula", "entrant", "contestant", "objective",
    "tokenizer", "initialization", "initialisation", "optimiser", "optimizer", "learner", "trainer", "backbone", "procedure",
    "treatment", "condition", "ablation", "checkpointing", "framework", "engine", "solver", "judge", "verifier", "corpus mix",
    "data mix", "mix", "blend", "curricula", "curriculum", "family member", "contender", "challenger", "participant", "prompt",
    "temperature", "vocabulary", "corpus", "control", "teacher", "critic", "rank", "penalty run", "ordering",
    "coefficient", "detector",
    "filter", "schedule", "tool", "company", "vendor", "bird", "student model", "topic",
    "system", "solution", "choice", "size", "tool", "bot", "decoder", "estimator", "weighting",
)  # fmt: skip
NOT_SERIES = frozenset(
    [
        *X_NOUNS, *LENGTHS, "time", "point", "value", "panel", "chart", "benchmark", "dataset", "task", "plot", "figure",
        "evaluation", "eval", "measurement", "reading", "mark", "marker", "tick", "percent", "decade", "problem", "question",
        "seed", "gpu", "axis", "axe", "thing", "order", "row", "column", "interval", "quarter", "third", "half", "cent",
        "node", "decimal", "digit", "type", "part", "section", "sentence", "year", "month", "paper", "test", "subset", "split",
        "item", "unit", "number", "case", "subplot", "reason", "observation", "graph", "image", "day", "pass", "accuracy",
        "score", "loss", "tie", "other", "parameter", "author", "annotator", "layer", "head", "doubling", "place", "category",
        "occasion", "bit", "person", "people", "result", "stage", "slide", "note", "hr", "min", "crossing", "gain", "drop",
        "position", "rank", "level", "digest", "document", "shot", "edge", "end", "line segment", "stretch", "side",
        "curve pair", "gigabyte", "pp", "pt", "nat", "domain", "language pair", "set", "suite", "environment", "quantity",
        "measure", "metric", "of", "star",
    ]
)  # fmt: skip
COUNTED = re.compile(
    rf"\b(?P<n>[2-9]|1[0-2]|{'|'.join(list(WORDS)[2:13])}) (?:of )?(?:the )?(?P<before>(?:(?!and|or|then|but|to|at|in|on"
    rf"|by|from|with|of|than|it|is|are|as)[a-z][\w-]* ){{0,2}}?)"
    r"(?P<noun>[a-z]{3,}s)\b(?! of\b)"
)


NOUN_BEHIND = re.compile(r" ([a-z]{4,})\b")
NO_NOUN = re.compile(
    rf"{VERB.pattern}|{VALUE_VERB}|{LINE_NOUN}|{MEASURE_WORD.pattern}|\w+(?:ed|ing|ly)|\w*(?:took|went|came|lost|won|beats?|leads?|wins?)"
)
X_BEFORE = re.compile(rf"\b(?:{'|'.join(X_NOUNS)})s? $", re.I)
"""An x before a number: "peaks at epoch 3"."""


def nouns_of(texts: Iterable[str], count: int) -> tuple[str, ...]:
    """Returns the nouns, in the singular, that a text counts as many of as it has series."""
    found: dict[str, None] = {}
    for text in texts:
        for match in COUNTED.finditer(text):
            noun = singular(match["noun"])
            if VERB.fullmatch(match["noun"]) or X_BEFORE.search(text[: match.start()]):
                continue
            if count_of(match["n"]) == count and not any(noun.endswith(word) for word in NOT_SERIES) and count > 1:
                found[noun] = None
    return tuple(found)


def nouns_of_names(texts: Iterable[str], finder: Mentions) -> tuple[str, ...]:
    """Returns the nouns that stand behind several series: "the A recipe" and "the B recipe"."""
    behind: dict[str, set[str]] = {}
    for text in texts:
        for mention in finder.find(text):
            if match := NOUN_BEHIND.match(text, mention.end):
                behind.setdefault(match[1], set()).add(mention.series[0])
    return tuple(
        noun
        for noun, series in behind.items()
        if len(series) > 1 and noun not in NOT_SERIES and noun not in COMMON and not NO_NOUN.fullmatch(noun)
    )


def nouns_in_names(names: Collection[str]) -> tuple[str, ...]:
    """Returns the common noun that most names begin or end with: "seed" of seed 0 and seed 1."""
    words: Counter[str] = Counter()
    for name in names:
        parts = name.split()
        words.update({part.lower() for part in (parts[0], parts[-1]) if part[1:].islower()} if len(parts) > 1 else ())
    found = (word for word, count in words.items() if count > 1 and 2 * count > len(names))
    return tuple(
        word for word in found if re.fullmatch(r"[a-z]{4,}", word) and not MEASURE_WORD.fullmatch(word) and word not in X_NOUNS
    )


def singular(noun: str) -> str:
    if noun.endswith("ies"):
        return noun[:-3] + "y"
    return noun[:-2] if noun.endswith(("ches", "shes", "xes", "sses")) else noun.removesuffix("s")


def plural(noun: str) -> str:
    if noun.endswith("y") and noun[-2] not in "aeiou":
        return noun[:-1] + "ies"
    return noun + ("es" if noun.endswith(("ch", "sh", "x", "s")) else "s")


def pattern_of(own: Iterable[str]) -> re.Pattern[str]:
    """Returns a pattern for the nouns of a text and the known ones."""
    words = sorted({*KNOWN, *own}, key=lambda word: (-len(word), word))
    many = "|".join(re.escape(plural(word)) for word in words)
    one = "|".join(re.escape(word) for word in words)
    before = r"(?:(?:training|search|learning|model|test|peak|data|decoding|evaluated|tested|trained) )?"
    return re.compile(rf"(?<![\w«-]){before}(?:(?P<many>{many})|(?P<one>{one}))\b(?! ?[=»(]|-)", re.I)


def with_plain_nouns(text: str, pattern: re.Pattern[str]) -> str:
    """Replaces the nouns for series by "method" and "methods"."""
    return pattern.sub(lambda match: "methods" if match["many"] else "method", text)
