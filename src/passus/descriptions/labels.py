"""What a heading, a lead or a list item names: a series, a panel, a measure, a place on the x-axis, or nothing."""

import re
from dataclasses import dataclass

from passus.descriptions.axes import Axes
from passus.descriptions.layout import plain
from passus.descriptions.numbers import numbers_in
from passus.descriptions.vocabulary import COLOUR, LENGTH_WORD, MEASURE_WORD, STROKE

MAX_NAME = 80
GENERIC_WORDS = frozenset(
    [
        "a", "about", "additional", "aims", "all", "alt", "an", "analysis", "and", "appendix", "approx", "approximate",
        "approximately", "are", "as", "assessment", "at", "auto", "automatic", "axes", "axis", "background", "based", "be",
        "behavior", "behaviour", "best", "bottom", "by", "caption", "carried", "category", "caveat", "caveats", "chart",
        "charts", "check", "checks", "clock", "collect", "color", "colors", "colour", "colours", "comment", "comments",
        "comparative", "comparing", "comparison", "comparisons", "component", "components", "conclusion", "conclusions",
        "content", "contents", "context", "course", "curve", "curves", "data", "date", "day", "definition", "definitions",
        "description", "descriptions", "detail", "detailed", "details", "digest", "discussion", "dissemination",
        "document", "documents", "during", "dynamics", "each", "effect", "element", "elements", "end", "estimated", "eval",
        "evals", "evaluation", "evaluations", "evidence", "experiment", "experiments", "extracted", "extraction", "fact",
        "facts", "fig", "figure", "figures", "final", "finding", "findings", "first", "five", "for", "four", "from",
        "full", "further", "general", "generated", "graph", "graphs", "horizontal", "how", "i", "image", "images", "in",
        "influence", "info", "information", "insight", "insights", "interpretation", "interpretations", "introduction",
        "is", "isolation", "it", "key", "language", "last", "layout", "left", "legend", "legends", "length", "lengths",
        "level", "limitation", "limitations", "line", "lines", "list", "listing", "long", "main", "mark", "marker",
        "markers", "material", "mean", "meaning", "measured", "measurement", "measurements", "message", "metadata",
        "method", "methods", "metric", "metrics", "middle", "minor", "model", "models", "most", "movement", "name", "near",
        "next", "nightly", "note", "notes", "notable", "number", "numbers", "observation", "observations", "obs", "of",
        "on", "one", "open", "our", "out", "outlook", "outcome", "overall", "overview", "panel", "panels", "part",
        "pattern", "patterns", "per", "plan", "plot", "plots", "point", "points", "position", "possible", "presentation",
        "presented", "progress", "purpose", "question", "questions", "questions", "quick", "rating", "raw", "read",
        "reader", "reading", "readings", "recommendation", "recommendations", "reference", "references", "related",
        "remark", "remarks", "report", "reported", "requirements", "resource", "resources", "result", "results", "review",
        "right", "rows", "run", "runs", "scale", "scales", "score", "section", "sections", "see", "series", "setting",
        "settings", "setup", "shape", "shapes", "short", "show", "showing", "shown", "side", "some", "source", "stand",
        "stands", "stats", "status", "step", "steps", "story", "strength", "strengths", "structure", "study", "style",
        "subject", "summary", "sweep", "table", "tables", "takeaway", "takeaways", "task", "tasks", "technical", "text",
        "that", "the", "their", "them", "then", "there", "these", "they", "thing", "things", "this", "three", "time",
        "title", "tldr", "to", "todo", "top", "total", "training", "trend", "trends", "two", "type", "types", "use",
        "used", "using", "value", "values", "variable", "verdict", "verification", "vertical", "view", "visual", "was",
        "weakness", "weaknesses", "week", "were", "what", "when", "where", "which", "with", "within", "work", "written",
        "x", "x-axis", "y", "y-axis", "you", "your", "approximately", "confidence", "six", "seven", "eight",
    ]
)  # fmt: skip
ENUMERATOR = re.compile(
    r"^(?:[a-z]\.|\d{1,2}/|\(?[A-Za-z]?\d{1,2}(?:\.\d{1,2})*[.):]?|\((?:[a-z]|[ivx]{2,4})\)"
    r"|[IVX]{1,4}[.)]|#\d+)\s+(?=\S)"
)
SIDE = re.compile(r"\s*\((?:the )?(?:left|right|cent(?:er|re)|middle|top|bottom|upper|lower)(?:[- ]\w+)?\)$", re.I)
PANEL_WORD = re.compile(
    r"^(?:(?:the\s+)?(?:left|right|top|bottom|middle|upper|lower|first|second|third)[- ])?(?:sub-?)?(?:panel|plot|chart"
    r"|figure|fig\.?|graph|subplot|benchmark"
    r"|task|dataset|test set)s?\b(?!-by)\s*(?:\(?(?:[a-h]|\d{1,2}|one|two|three|four|five"
    r"|six)\)?)?\s*(?:[:.,\u2014-]+\s*|(?=\"))(?=\S)|^(?:panel|subplot)\s\(?[a-h1-9]\)?\s+(?=\w)|^\(?[a-h]\)\s+(?=[A-Z]|\d+(?:\.\d+)?[BMK]\b)",
    re.I,
)
SERIES_WORD = re.compile(
    r"^(?:run|series|line|curve|model|method|configuration|variant|arm|entry|setting)\s*(?:#?\d{1,2}|[A-H])?\s*"
    r"(?:[:=]|\([^()]{1,24}\)\s*[,:])\s*(?=\S)",
    re.I,
)
"""Words before the name of a series: "Run 3: GRPO", "Line 1 (squares), LoRA"."""
SIDE_WORD = re.compile(
    r"(?:(?:upper|lower|top|bottom) )?(?:left|right|cent(?:er|re)|middle|top|bottom)\s*[:\u2014-]\s+(?=[A-Z])", re.I
)
"""Where the panel is that a label names: "Left: AIME24"."""
NO_LEAD = re.compile(
    r"\b(?:it|you|your|what|we|us|them|this|these|who|there|here|i|me|let|see|look|watch|follow|take|find|compare|note)\b"
    r"|^(?:upper|lower|left|right|top|bottom|from|at|by|after|before|until|between|since|over|during|from)\b|^(?:fig(?:ure"
    r"|\.)?|table|slide|section|chapter|page|appendix|step|phase|part) \S+$"
    r"|\b(?:two|three|four|five|six|seven|eight) \w+s\b",
    re.I,
)
"""Words that no name has: a line that begins with them before a colon is a sentence."""
QUALIFIERS = re.compile(
    r"\b(?:mean|average|avg|solid|dashed|dotted|left|right|axis|response|responses|completion|completions|output"
    r"|validation|val|test|training|held-out|the|in|of|on|per"
    r"|answer|token|tokens|nats|percent|chart|plot|panel|fraction|solved|share|policy|evaluation|eval|final)\b|%",
    re.I,
)  # fmt: skip


OPENING = re.compile(r"^(?:(?:and|but|then|so|finally|next|now|also|the|our|for|with|as for)\s+)+(?=\S)", re.I)
"""Words before the name in the lead of a line: "and the 32B:"."""
SAME_PLACES = re.compile(r",\s+(?:(?:at|for|over|on)\s+)?(?:the\s+)?same\b.*$|,\s+(?:respectively|again)$", re.I)
OWNED = re.compile(
    r"^(?:the )?(?:\w+ )?(?:line|curve|trace)\b.{0,30}\b(?:belongs to|stands for|represents|shows|is|for"
    r"|of)\s+(?:the )?(?P<name>\S.*)$",
    re.I,
)
"""A lead that says whose line it is: "The line in gray belongs to Wren-3B:"."""


@dataclass(frozen=True)
class LabelName:
    kind: str
    """generic, place, measure, panel (where it says so) or name"""
    text: str
    look: str = ""
    """What it says about the line: its colour and marker."""


def classify_label(text: str, axes: Axes) -> LabelName:
    """Says what a heading or lead names."""
    words = plain(text).strip(" :;,")
    words = SIDE.sub("", ENUMERATOR.sub("", words)).strip()
    panel = PANEL_WORD.match(words) or SIDE_WORD.match(words)
    if panel:
        words = words[panel.end() :].strip(" :\"'.")
    elif series := SERIES_WORD.match(words):
        words = words[series.end() :].strip()
    words = SAME_PLACES.sub("", OPENING.sub("", _head(words.partition(". ")[0] if len(words) > 25 else words)))
    if owned := OWNED.match(words):
        words = owned["name"]
    name, look = without_look(words)
    bare = re.sub(r"\s*[\[(][^\])]*[\])]?\s*$", "", name).strip(" :\"'.") or name
    if bare and _is_place(bare, axes) and not (panel and re.fullmatch(r"[\d.]+[BMK]", bare)):
        return LabelName("place", bare)
    if bare and _is_measure(bare):
        return LabelName("panel" if panel else "measure", bare, look)
    if len(bare) > MAX_NAME or not bare or _is_generic(bare) or (not panel and NO_LEAD.search(bare)):
        return LabelName("generic", bare)
    return LabelName("panel" if panel else "name", (bare if panel else name).strip("\"'"), look)


def _head(words: str) -> str:
    """Returns what stands before a colon or a dash, where more follows: "Qwen3: rises early"."""
    head = re.match(r"([^:]{1,60}):\s+\S", words) or re.match(r"(.{1,60}?)\s+(?:-|\u2014)\s+\S", words)
    return head[1] if head else words


def _is_generic(name: str) -> bool:
    """Returns whether all words are such as headings have: Detailed Analysis, Key Observations, Data points."""
    tokens = re.findall(r"[A-Za-z]+(?:[-'][A-Za-z]+)*", name.lower())
    return bool(tokens) and all(token in GENERIC_WORDS for token in tokens) and not re.search(r"\d|[=+]", name)


def _is_place(name: str, axes: Axes) -> bool:
    if re.fullmatch(r"[a-z]{1,3}[0-9]{1,6}", name) and any(noun.startswith(name[0]) for noun in axes.x_nouns):
        return True
    if re.fullmatch(r"x\s*=\s*[\d.,kMB]+", name):
        return True
    pattern = (
        rf"(?:at |after |by )?(?:{axes.x_words})\s*[:=#~]?\s*\S{{1,14}}|(?:at |after |by )?\S{{1,10}}\s?(?:{axes.x_words})"
    )
    return bool(re.fullmatch(pattern, name, re.I) and numbers_in(name, axes.style)) or bool(
        re.fullmatch(r"[~]?[0-9][0-9.,]*[kKMB]?(?:\s?h)?", name)
    )


def _is_measure(name: str) -> bool:
    """Returns whether nothing but a measure is named: accuracy, mean response length, val pass@1."""
    if not (LENGTH_WORD.search(name) or MEASURE_WORD.search(name)):
        return False
    rest = re.sub(rf"{LENGTH_WORD.pattern}|{MEASURE_WORD.pattern}", " ", name, flags=re.I)
    rest = COLOUR.sub(" ", QUALIFIERS.sub(" ", re.sub(r"\([^)]*\)|\[[^\]]*\]", " ", rest)))
    return not re.search(r"\w", rest)


def without_look(name: str) -> tuple[str, str]:
    """Returns a name without the bracket or the words that describe its line, and these words."""
    name = name.strip().strip("\"'").strip()
    match = re.match(r"(.*\S)\s*[(\[]([^()\[\]]*)[)\]]$", name) or re.match(r"([^,]+),\s*([^,]+(?:,[^,]+)?)$", name)
    if match and (COLOUR.search(match[2]) or STROKE.search(match[2])) and not COLOUR.fullmatch(match[1]):
        return match[1].strip(), match[2]
    return name, ""
