"""Description of a benchmark or a training set without its data: plain rows."""

from dataclasses import dataclass
from typing import Literal

Kind = Literal["math", "choice", "judge"]


@dataclass(frozen=True)
class Fields:
    """Names of the fields of a row. An empty name means that there is no such field."""

    problem: str = "problem"
    answer: str = "answer"
    choices: str = "choices"
    """Texts of the options. With form "option": the fields of the wrong options, separated by commas."""
    id: str = "id"
    solution: str = "solution"
    """A worked solution, for supervised fine-tuning."""
    cluster: str = "cluster"
    """What items share, such as the number of their passage."""
    form: Literal["plain", "integer", "hashes", "boxed", "index", "option"] = "plain"
    """Form of the answer: as it is compared; an integer, written 025 or 25.0; after ####; in the last \\boxed{}; the number of
    an option, from 0; or the text of the right option."""


@dataclass(frozen=True)
class HubDataset:
    """A dataset on the Hugging Face hub."""

    dataset: str
    split: str
    fields: Fields = Fields()
    configs: tuple[str, ...] = ("",)
    """Configurations, loaded one after the other. The empty name is for a dataset without configurations."""
    revision: str | None = None
    """A commit, where one is known to hold exactly these items."""
    gated: bool = False
    """Each user has to accept its terms. It is streamed, so that no copy stays on disk."""


@dataclass(frozen=True)
class Benchmark:
    name: str
    """Name in suites and run folders."""
    title: str
    domain: str
    items: int
    """Number of items; 0 where it is unknown before the data is loaded."""
    files: tuple[str, ...] = ()
    """JSON Lines files under $PASSUS_DATA, loaded one after the other."""
    fields: Fields = Fields()
    """Fields of the files."""
    only: tuple[str, tuple[str, ...]] | None = None
    """A field and its prefixes in the rows that belong to this benchmark; None for all rows."""
    exercises: str = ""
    """Field that names exercises by book, section and number, as Calculus/exercise.3.5.12. A section is a cluster."""
    hub: HubDataset | None = None
    """None where no dataset is known to hold these items."""
    aliases: tuple[str, ...] = ()
    """Other names. Case and punctuation never matter."""
    kind: Kind = "math"
    """How answers are compared. Rows with options are always compared as choices."""
    tolerance: float = 0.0
    """Relative tolerance, where golds were rounded."""
    judged: int = 0
    """Number of items that no rule can grade. Without a judge they are left out."""
    short_answers: bool = False
    """Golds are whole texts. A short answer that a text ends in becomes the gold; the other items need a judge."""
    shots: int = 0
    """Number of worked examples before the question."""
    language: Literal["en", "zh"] = "en"
    samples: int = 4
    """K, the number of samples per item that reports usually take."""
    licence: str = "none stated"
    comparable_to: str = ""
    """Published scores with which its score may be compared."""
    custom: bool = False
    """A dataset of the user, named by its path."""

    @property
    def private(self) -> bool:
        """Whether its authors ask that the items not be published: then no output file may contain them."""
        return self.hub is not None and self.hub.gated


@dataclass(frozen=True)
class Suite:
    name: str
    title: str
    members: tuple[str, ...]
    total: Literal["items", "benchmarks"]
    """Unit with equal weight in the total."""
    about: str
