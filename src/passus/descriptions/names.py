"""Names of series and panels, and where texts introduce them: legends, enumerations, abbreviations, subjects of values."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from passus.descriptions.layout import plain
from passus.descriptions.numbers import NUMERIC_WORD
from passus.descriptions.panel_titles import REFERENCE, key_of
from passus.descriptions.vocabulary import COLOUR, MEASURE_WORD

COMMON = frozenset(
    [
        "a", "about", "above", "after", "again", "all", "also", "although", "an", "and", "any", "are", "as", "at", "be",
        "because", "been", "before", "both", "but", "by", "can", "could", "did", "do", "each", "early", "even", "every",
        "everybody", "everyone", "few", "final", "finally", "first", "for", "from", "further", "half", "he", "her", "here",
        "how", "however", "i", "if", "in", "instead", "into", "is", "it", "its", "just", "last", "late", "later", "least",
        "less", "like", "many", "meanwhile", "more", "moreover", "most", "my", "near", "neither", "never", "nevertheless",
        "next", "no", "nobody", "none", "not", "note", "nothing", "now", "of", "off", "on", "once", "one", "only", "or",
        "other", "our", "out", "over", "overall", "own", "panel", "part", "per", "quite", "read", "same", "several", "she",
        "should", "since", "so", "some", "still", "such", "than", "that", "the", "their", "them", "then", "there", "these",
        "they", "this", "those", "three", "through", "throughout", "thus", "to", "together", "too", "two", "under",
        "until", "up", "us", "very", "was", "we", "were", "what", "when", "where", "whether", "which", "while", "who",
        "why", "will", "with", "within", "without", "would", "yes", "yet", "you", "your", "between", "despite", "during",
        "given", "interestingly", "notably", "figure", "table", "chart", "plot", "left", "right", "top", "bottom",
        "legend", "axis", "step", "steps", "epoch", "epochs", "starting", "beginning", "looking", "according", "trend",
        "key", "points", "values", "mean", "median", "best", "worst", "highest", "lowest", "accuracy", "reward", "loss",
        "performance", "model", "models", "line", "lines", "training", "initial", "initially", "additionally",
        "conversely", "similarly", "specifically", "afterwards", "everything", "january", "february", "march", "april",
        "may", "june", "july", "august", "september", "october", "november", "december", "monday", "tuesday", "wednesday",
        "thursday", "friday", "saturday", "sunday", "please", "hi", "dear", "cheers", "regards",
        "appendix", "section", "item", "slide",
        "gpu", "gpus", "api", "kl", "rl", "ai", "llm", "png", "svg", "pdf", "id", "seed", "seeds",
    ]
)  # fmt: skip
VERB = (
    r"(?:is|was|are|were|has|had|have|starts?|begins?|began|opens?|rises?|climbs?|goes|went|moves?|reach(?:es|ed)|hits"
    r"|gets?|got|scores?|scored|reads?|solved"
    r"|records?|obtains?|obtained|ends?|finish(?:es)?|lands?|drops?|falls?|jumps?|shoots?|creeps?|passes|improves?"
    r"|edges|takes|comes|stands?|learns?"
    r"|sits?|peaks?|dips?|holds?|stays?|remains?|hovers?|declines?|grows?|increases?|decreases?|shows?|achieves?"
    r"|attains?|yields?|yielded|gives?|gave|reports?|reported|solves|plods|saturates|needs?|makes)"
)
LINE_NOUN = (
    r"(?:lines?|curves?|runs?|models?|polic(?:y|ies)|variants?|methods?|series|versions?|settings?|systems?|arms?"
    r"|configurations?"
    r"|adapters?|mixtures?|budgets?|recipes?|baselines?|checkpoints?|training|approach(?:es)?|algorithms?|agents?"
    r"|learners?|ones?"
    r"|students?|teachers?|networks?|experiments?|jobs?|ensembles?|judges?)"
)
EVERY = re.compile(
    r"\b(?:all(?: of)?(?: (?:them|these|the|three|four|five|six|seven|eight|two|\d+))?(?: \w+)? (?:lines|curves|runs"
    r"|models|methods|configurations|sizes|variants|settings"
    r"|arms|policies|series|recipes|cases|students|systems)|all(?= (?:start|begin|began|share|are|at|of them|coincide))"
    r"|all of them"
    r"|every(?:body|one| run| line| curve| model| method| configuration| setting| arm| size| policy)|everybody|everyone"
    r"|each (?:run|line|curve|model|method|of them)|both (?:runs|lines|curves|models|methods)|common (?:start"
    r"|starting point|initial)|the base model|the same (?:\w+ )?checkpoint"
    r"|for all|in all cases)\b",
    re.I,
)

PANEL_REFERENCE = re.compile(
    r"\b(?:(?i:panel|subplot|fig(?:ure|\.)?\s?\d+)\s?\(?|(?i:chart|plot|fig(?:ure|\.)?\s?\d*)\s?\(?(?=[A-H]\b"
    r"|[a-h]\)))([a-hA-H])\)?(?![\w])"
    r"|(?<![\w(])\(([a-h])\)(?=[\s,.;]|$)"
)


@dataclass
class Names:
    series: list[str] = field(default_factory=list)
    panels: list[str] = field(default_factory=list)
    aliases: dict[str, str] = field(default_factory=dict)
    """Other words for a series, with its name."""
    panel_aliases: dict[str, str] = field(default_factory=dict)
    colours: dict[str, str] = field(default_factory=dict)
    """Colours and strokes of lines, with the name of the series."""

    def add(self, name: str) -> str:
        """Adds a series, and returns its name as it was written first."""
        name = re.sub(r"^(?:With|For|Using|Under) (?=\S)", "", name.strip())
        known = self.find(name)
        if known is None and name:
            self.series.append(name)
        return known or name

    def find(self, name: str) -> str | None:
        """Returns the series that has this name, or this alias."""
        low = name.strip().lower()
        known = next((other for other in self.series if other.lower() == low), None)
        return known or next((full for alias, full in self.aliases.items() if alias.lower() == low), None)

    def add_panel(self, name: str) -> str:
        name = name.strip()
        known = next((other for other in self.panels if other.lower() == name.lower()), None)
        if known is None and name:
            self.panels.append(name)
        return known or name

    def panel_in(self, text: str) -> str | None:
        """Returns the last panel that a text names."""
        best: tuple[int, str | None] = (-1, None)
        for match in PANEL_REFERENCE.finditer(text):
            name = self.panel_aliases.get((match[1] or match[2]).lower())
            best = max(best, (match.start(), name)) if name else best
        for match in REFERENCE.finditer(text):
            name = self.panel_aliases.get(key_of(match))
            best = max(best, (match.start(), name)) if name else best
        for name in self.panels:
            for match in re.finditer(rf"(?<![\w-]){re.escape(name)}(?![\w+]|-\w)", text, re.I):
                best = max(best, (match.start(), name))
        return best[1]

    def add_look(self, name: str, look: str) -> None:
        """Remembers the colour or stroke of a series, by which sentences may refer to it."""
        for pattern in (COLOUR, STROKE_NAME):
            if match := pattern.search(look):
                for word in {match[0].lower(), match[0].lower().split()[-1].split("-")[-1]}:
                    if self.colours.setdefault(word, name) != name:
                        self.colours[word] = ""  # two lines have it


STROKE_NAME = re.compile(r"\b(?:solid|dashed|dotted|dash-dotted)\b", re.I)


@dataclass(frozen=True)
class Lead:
    """The words at the beginning of a line that name what it is about."""

    text: str
    end: int
    """Where the rest of the line begins."""
    bracket: str = ""
    is_bold: bool = False


LEAD = re.compile(
    r"\[(?P<square>[^\[\]:]{1,40})\]\s+(?=[\w(~.-]+)|(?:\*\*|__)(?P<bold>.{1,120}?)(?:\*\*"
    r"|__)\s*(?P<bracket>\([^)]{1,80}\))?\s*[:.=-]?\s*|(?P<plain>[^:"
    r"|]{1,70}?)\s*:\s+|(?P<equal>[^:|=()]{1,50}?)\s=\s"
)
NUMBER_CELL = r"[-~+]?[.\d][\d.,]*[kKM%]?"
ROW = re.compile(
    rf"(?P<name>[^\d:|,;]{{2,50}}?(?:\([^()]{{1,30}}\))?[^\d:|,;]{{0,10}}?)\s+(?={NUMBER_CELL}(?:\s*(?:,|/|\||->|\u2192"
    rf"|;|\s)\s*{NUMBER_CELL}){{2,}}\W*$)"
)
INNER_LEAD = re.compile(
    rf"(?:^|[;|,\]])\s*`?(?P<name>[^\W\d][^:;|=,\[\]]{{0,40}}?)`?\s*(?::\s*(?={NUMBER_CELL})"
    rf"|=\s*(?={NUMBER_CELL}\s*(?:[;,|\]]|$)))"
)
"""A name before its value, in a line that has several: "PPO: 0.5; RLOO: 0.6", "ppo=0.5; rloo=0.6"."""


def lead_of(text: str) -> Lead | None:
    """Returns the lead of a line: words in bold, words before a colon, or words before a row of numbers."""
    from passus.descriptions.labels import without_look

    match = LEAD.match(text)
    if match:
        words, bracket = without_look(
            plain(match["square"] or match["bold"] or match["plain"] or match["equal"]).removesuffix(":").strip()
        )
        return Lead(words, match.end(), bracket or match["bracket"] or "", bool(match["bold"]))
    if row := ROW.match(text):
        return Lead(plain(row["name"]).strip(), row.end())
    return None


def namey_spans(text: str) -> Iterator[tuple[int, int, str]]:
    """Yields spans of words that look like names: GRPO, Qwen2.5-3B, LoRA r=8, w/o KL, GRPO (G=16), the 160M model."""
    words = list(re.finditer(r"\S+", text))
    at = 0
    while at < len(words):
        is_first = at == 0 or text[: words[at].start()].rstrip().endswith((".", ":", "?", "!"))
        if not is_namey(words[at][0], is_first) and not _is_size_name(words, at):
            at += 1
            continue
        first = at
        while at + 1 < len(words) and not words[at][0].endswith((",", ";", ":", ".", ")")) and _continues(words, at + 1):
            at += 1
        span = _span(text, words[first].start(), words[at].end())
        if span is not None:
            yield span
        at += 1


def _span(text: str, start: int, end: int) -> tuple[int, int, str] | None:
    name = text[start:end].strip(" ,;:.!?\"'*`")
    if re.fullmatch(r"\([^()]+\)", name):
        name = name[1:-1]
    if name.count("(") < name.count(")"):
        name = name.rstrip(")")
    if name.count("(") > name.count(")"):
        name = name.replace("(", "")
    name = re.sub(r"'s?$", "", name)
    start += max(0, text[start:end].find(name))
    if not re.search(r"[^\W_]", name) or MEASURE_WORD.fullmatch(name) or re.fullmatch(r"\(?[A-Z]\d{1,2}\)?", name):
        return None
    return start, start + len(name), name


def is_namey(word: str, is_first: bool) -> bool:
    core = word.strip(",;:.!?\"'()[]*`")
    if not re.search(r"[^\W_]", core) or NUMERIC_WORD.fullmatch(core) or core.lower() in COMMON:
        return False
    if re.search(r"[A-Z].*[A-Z]|[A-Za-z].*[0-9=]|[0-9].*[A-Za-z]|[A-Za-z]\+|[A-Z]@|[=\u2192]", core) and core not in ("I", "A"):
        return not re.fullmatch(r"(?:pass|avg|maj|mean|cons|acc|rm)@\w+|[A-Z]\.|\d+(?:st|nd|rd|th)", core)
    return core.lower() == "w/o" or (core[0].isupper() and not is_first and len(core) > 1)


def _is_size_name(words: Sequence[re.Match[str]], at: int) -> bool:
    """Returns whether a size names a model: "the 160M model", "our 7B policy"."""
    is_size = re.fullmatch(r"[0-9]+(?:\.[0-9]+)?[BMK]", words[at][0])
    return bool(is_size and at + 1 < len(words) and re.match(rf"{LINE_NOUN}\b", words[at + 1][0]))


def _continues(words: Sequence[re.Match[str]], at: int) -> bool:
    """Returns whether a word goes on with the name before it."""
    word, before = words[at][0], words[at - 1][0]
    if word == "+" or re.fullmatch(r"\(?[A-Za-z]=[\w.]+\)?[,;:.]?", word) or before in ("w/o", "+"):
        return True
    if word.strip(",;:.") in ("w/o", "only") and before[-1] not in ",;:.":
        return True
    if at >= 2 and words[at - 2][0] == "w/o":
        plain_word = word.strip(",;:.")
        return bool(re.fullmatch(r"[a-z]{3,}", plain_word)) and plain_word not in COMMON and not re.fullmatch(VERB, plain_word)
    if at >= 2 and words[at - 2][0] == "+" and re.fullmatch(r"[a-z]{3,}[,;:.]?", word) and word.strip(",;:.") not in COMMON:
        return not re.fullmatch(VERB, word.strip(",;:.")) and word.strip(",;:.") not in ("in",)
    return is_namey(word, False) and not word.startswith("(")


def lists_of_names(text: str) -> Iterator[list[str]]:
    """Yields enumerations of names: "PPO, RLOO, GRPO (G=8) and GRPO (G=16)"."""
    run: list[tuple[int, int, str]] = []
    for span in namey_spans(text):
        gap = text[run[-1][1] : span[0]] if run else ""
        joined = r"[\s,;\"'*`]*(?:\([^()]*\))?(?: in \w+)?[\s,;\"'*`]*(?:and|or|&|vs\.?|versus)?\s*(?:the\s)?[\"'*(`]*"
        if run and len(gap) < 40 and re.fullmatch(joined, gap) and re.search(r"\S", gap):
            run.append(span)
            continue
        if len(run) > 1:
            yield [name for *_, name in run]
        run = [span]
    if len(run) > 1:
        yield [name for *_, name in run]


ABBREVIATION = re.compile(
    r"\((?:hereafter |henceforth |or |called |short |abbreviated "
    r"|denoted )?\"?(?P<a>[^()\"]{1,24}?)\"?(?:,? (?:for short|below|hereafter|henceforth|in the following"
    r"|from here on))?\)"
    r"|, (?:henceforth|hereafter|called|or simply) \"?(?P<b>[A-Z][\w+=() -]{1,24}?)\"?(?=,)",
)


def abbreviations(text: str) -> Iterator[tuple[int, str]]:
    """Yields abbreviations that a text introduces, with their places."""
    for match in ABBREVIATION.finditer(text):
        yield match.start(), (match["a"] or match["b"]).strip()
