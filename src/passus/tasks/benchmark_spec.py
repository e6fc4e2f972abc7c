"""What is known of a benchmark, or of a training set, without its data: plain rows, no code."""

from dataclasses import dataclass
from typing import Literal

Kind = Literal["math", "choice", "judge"]


@dataclass(frozen=True)
class Fields:
    """Which field of a row holds what; an empty name means that there is none."""

    problem: str = "problem"
    answer: str = "answer"
    choices: str = "choices"
    """Texts of the options; or the fields of the wrong ones, separated by commas, where `answer` is the right one's text."""
    id: str = "id"
    solution: str = "solution"
    """A worked solution, for supervised fine-tuning."""
    form: Literal["plain", "integer", "hashes", "boxed", "index", "option"] = "plain"
    """Of the answer: as it is compared; an integer, written 025 or 25.0; after ####; in the last \\boxed{}; the number of an
    option, from 0; or the text of one."""


@dataclass(frozen=True)
class Hub:
    """A dataset of the Hugging Face hub."""

    dataset: str
    split: str
    fields: Fields = Fields()
    configs: tuple[str, ...] = ("",)
    """Read one after the other; empty for a dataset that has none."""
    revision: str | None = None
    """A commit, where one is known to hold these very items."""
    gated: bool = False
    """Behind terms that all users accept for themselves. Streamed, so that no copy stays on this machine."""


@dataclass(frozen=True)
class Benchmark:
    name: str
    """As suites and run folders spell it."""
    title: str
    domain: str
    items: int
    """0 where it is not known before the data is read."""
    files: tuple[str, ...] = ()
    """JSON lines under $PASSUS_DATA, read one after the other."""
    fields: Fields = Fields()
    """Of the files."""
    only: tuple[str, tuple[str, ...]] | None = None
    """A field, and how it begins in the rows that belong to this benchmark; None for all rows."""
    hub: Hub | None = None
    """None where no dataset is known for certain to hold these items."""
    aliases: tuple[str, ...] = ()
    """Other spellings; case and punctuation never matter."""
    kind: Kind = "math"
    """How answers are compared. Rows with options are compared as choices all the same."""
    tolerance: float = 0.0
    """Relative, where golds were rounded."""
    judged: int = 0
    """Items that no rule can grade, and that are left out without a judge."""
    short_answers: bool = False
    """Golds are whole texts: where a short answer can be read off one by rule, that is the gold, and a judge reads the rest."""
    shots: int = 0
    """Worked examples before the question."""
    language: Literal["en", "zh"] = "en"
    samples: int = 4
    """K, as the field usually takes it."""
    licence: str = "none stated"
    compare: str = ""
    """What its score may be compared with."""
    own: bool = False
    """A file of the user's, named by its path."""

    @property
    def private(self) -> bool:
        """Its authors ask that the items never lie about in plain text: nothing that is written may hold them."""
        return self.hub is not None and self.hub.gated


@dataclass(frozen=True)
class Suite:
    name: str
    title: str
    members: tuple[str, ...]
    total: Literal["items", "benchmarks"]
    """What counts the same in its total."""
    about: str
