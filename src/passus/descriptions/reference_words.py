"""Nouns for series, and what pronouns refer to."""

from dataclasses import dataclass

from passus.descriptions.claims import Group
from passus.descriptions.marking import Marked
from passus.descriptions.numbers import WORDS

NOUN = (
    r"(?:lines?|curves?|runs?|models?|methods?|configurations?|variants?|settings?|mixtures?|sizes?|polic(?:y|ies)"
    r"|series|arms?|recipes?|adapters?"
    r"|approach(?:es)?|algorithms?|systems?|alternatives?|ablations?|budgets?|competitors?|contenders?|families|agents?"
    r"|learners?|checkpoints? of|baselines?"
    r"|entries|reward models|RMs?|schemes?|strateg(?:y|ies)|techniques?|trajector(?:y|ies)|traces?|groups?"
    r"|optimi[sz]ers?|jobs?|losses|versions?|conditions?|treatments?|students?)"
)
EVERY_NOUN = NOUN.replace("|checkpoints? of", "").replace("|adapters?", "").replace("|reward models|RMs?", "")
TRAINED = r"(?:(?:trained|tested|evaluated|plotted|shown|listed|remaining|compared|different|RL|fine-tuned|student) )?"
MOST = r"(?:most|a majority|the majority) of (?:the |these )?"
COUNT = rf"(?:\d+|{'|'.join(WORDS)})"
S = r"«S\d+»"


@dataclass
class Context:
    """What pronouns refer to: the subject and the object of the sentence before, and the last pair of series."""

    names: tuple[str, ...] = ()
    """All series of the panel."""
    subject: tuple[str, ...] = ()
    other: tuple[str, ...] = ()
    pair: tuple[str, ...] = ()
    within: tuple[str, ...] = ()
    """The first series that the sentence itself names."""
    is_item: bool = False
    """Whether it is an item of a list, which stands for itself."""
    mentioned: frozenset[str] = frozenset()
    """The series that the sentence before names."""
    references: tuple[str, ...] = ()
    """Series that stay at one value, to which others are compared."""


class Getter:
    """Finds the series that a token stands for."""

    def __init__(self, marked: Marked) -> None:
        self.marked = marked

    def __call__(self, token: str) -> Group:
        part = self.marked.get(token)
        assert isinstance(part, Group)
        return part
