"""Which quantity a sentence is about: accuracy, loss, entropy, length. A text says little of what its chart does not show."""

import re
from collections.abc import Iterable

FAMILIES = {
    "loss": r"loss(?:es)?(?= (?:of|is|was|falls?|drops?|rises?|decreases?|increases?|curves?|values?|after|at|by"
    r"|on|ends?|starts?)\b)",
    "perplexity": r"perplexit(?:y|ies)|ppl",
    "entropy": r"entrop(?:y|ies)",
    "reward": r"reward(?! (?:model|hack|design|signal|shaping|function))",
    "divergence": r"KL(?: divergence)?",
    "length": r"(?:response |answer |output |completion |mean )?lengths?|verbosity",
    "rate": r"learning rates?",
    "spread": r"variance|standard deviation",
    "cost": r"costs|costing|run ?time|throughput|memory|latency|compute|speed|gradient norms?|temperature|batch size|warm-?up",
}
PATTERNS = {name: re.compile(rf"\b(?:{words})\b", re.I) for name, words in FAMILIES.items()}
LOSS = re.compile(r"\bloss(?:es)?\b", re.I)


def named(text: str) -> set[str]:
    """Returns the quantities that a text names."""
    return {name for name, pattern in PATTERNS.items() if pattern.search(text)}


def shown(label: str, panels: Iterable[str], texts: Iterable[str], has_lengths: bool) -> frozenset[str]:
    """Returns the quantities that a chart shows, by its axis, its panels, and what is said where its values are given."""
    found = set(map(str, {"length"} if has_lengths else ()))
    for text in (label, *panels, *texts):
        found |= named(text) | ({"loss"} if LOSS.search(text) else set())
    return frozenset(found)
