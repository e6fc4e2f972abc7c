"""Words of chart descriptions: what axes count, what curves measure, and what headings say that name no series."""

import re

X_NOUNS = (
    "step", "iteration", "update", "epoch", "hour", "token", "pair", "sample", "episode", "batch", "round", "day", "minute",
    "example", "generation", "phase", "checkpoint", "prompt", "rollout", "second", "week", "point", "ckpt", "month", "stage",
)  # fmt: skip
"""Nouns that an x-axis may count."""
MEASURES = (
    "accuracy", "acc", "score", "reward", "loss", "perplexity", "ppl", "entropy", "kl", "return", "error", "win rate",
    "pass rate",
    "success rate", "exact match", "agreement", "performance", "f1", "bleu", "rouge", "em", "pass@", "avg@", "maj@", "mean@",
    "divergence", "gradient norm", "grad norm", "solve rate", "fraction solved", "rate", "quality", "elo", "rating",
)  # fmt: skip
LENGTHS = ("length", "tokens", "token length", "response length", "completion length", "output length", "len")
LOWER_IS_BETTER = re.compile(
    r"\b(?:loss(?:es)?|perplexit(?:y|ies)|ppl|error(?: rate)?s?|wer|cer|regret|lower is better)\b", re.I
)
LENGTH_WORD = re.compile(
    r"\b(?:(?:token )?lengths?|len|tokens? (?:per|used)|mean tokens|verbos\w+|(?:response|completion|output|answer"
    r"|generation)s? (?:length|tokens))\b",
    re.I,
)
MEASURE_WORD = re.compile(
    r"\b(?:accurac(?:y|ies)|acc|scores?|rewards?|loss(?:es)?|perplexit(?:y|ies)|entrop(?:y|ies)|KL|win[- ]rates?|pass[- ]rates?"
    r"|success[- ]rates?|exact match|agreement|performance|pass@\w+|avg@\w+|maj@\w+|mean@\w+|f1|returns?)\b",
    re.I,
)
COLOURS = (
    "blue", "green", "purple", "cyan", "gray", "grey", "orange", "pink", "red", "yellow", "black", "brown", "magenta", "teal",
    "violet", "gold", "olive", "navy", "turquoise", "crimson", "maroon", "lime", "indigo", "salmon", "white",
)  # fmt: skip
COLOUR = re.compile(rf"\b(?:(?:light|dark|pale|bright|deep)[- ]?)?({'|'.join(COLOURS)})\b", re.I)
STROKE = re.compile(
    r"\b(?:lines?|curves?|markers?|dashed|solid|dotted|dash-dot|circles?|squares?|triangles?|diamonds?|stars?"
    r"|cross(?:es)?|thick"
    r"|thin|bold)\b",
    re.I,
)
GENERIC_LABEL = re.compile(
    r"(?:\d+(?:\.\d+)*\.?\s*)?(?:"
    r"(?:key |main |notable |general |chart |figure |detailed |visual |trend |comparative |technical |document |data "
    r"|axis |axes "
    r"|extracted |component |possible |what |raw |overall |final |additional )*"
    r"(?:overview|summary|introduction|components?|axes|axis|legend|details?|analysis|data|observations?|findings?|trends?"
    r"|interpretation|conclusions?|insights?|patterns?|metadata|definitions?|points?|values?|results?|description"
    r"|content|layout"
    r"|reading|readings|remarks?|notes?|setup|todo|discussion|comparisons?|verification|isolation|curves?|series|stands out"
    r"|is shown|type|purpose|title|background|takeaways?|caveats?|questions?|strengths?|weaknesses?|minor|limitations?|outlook"
    r"|key points|alt text|long description|short description|alt|caption|tl;?dr|table|numbers|measurements?|shape"
    r"|movement|behaviou?r|chart type|language)"
    r"(?:\s*(?:and|/|&|,|or|of|in|the|to|for|left|right|all|panels?|charts?|below|above|with|points?|\[x, y\]|\(x, y\))\s*"
    r"(?:\w+\s*){0,4})?)\W*",
    re.I,
)
PANEL_LABEL = re.compile(
    r"(?:sub-?)?(?:panel|plot|chart|figure|fig\.?|graph|subplot|benchmark|task|dataset)s?\b"
    r"(?:\s*\(?(?:[a-h]|\d{1,2}|one|two|three|four|five|six|left|right|top|bottom|middle)\)?(?=\W|$))?\s*[:.\u2014-]*\s*",
    re.I,
)
SERIES_LABEL = re.compile(
    r"(?:(?:run|series|line|curve|model|method|configuration|variant|arm|entry)s?\s*(?:#?\d{1,2}|[A-H])?\s*[:=.-]+\s*"
    r"|\d+(?:\.\d+)+\.?\s+|\d{1,2}[.)]\s+)",
    re.I,
)
