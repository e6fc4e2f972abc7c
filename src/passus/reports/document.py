"""A document as data: sections of paragraphs, tables, figures, listings and samples.

`renderer` writes it as HTML or Markdown. Every text in it is plain text: markup in a text is shown, never interpreted.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import passus
from passus.figures.spec import Figure

Cell = str | tuple[str, str]
"""Text of a table cell, or a value and the note below it."""


@dataclass(frozen=True)
class Table:
    kind: ClassVar = "table"
    head: Sequence[str]
    rows: Sequence[Sequence[Cell]]


@dataclass(frozen=True)
class Listing:
    """Preformatted text: a file, a completion, commands."""

    kind: ClassVar = "listing"
    text: str
    name: str = ""


@dataclass(frozen=True)
class Picture:
    kind: ClassVar = "picture"
    figure: Figure
    name: str
    caption: str


@dataclass(frozen=True)
class Note:
    """A paragraph in small print."""

    kind: ClassVar = "note"
    text: str


@dataclass(frozen=True)
class Sample:
    """One completion with its verdict."""

    step: int
    verdict: str
    is_correct: bool
    answer: str | None
    completion: str


@dataclass(frozen=True)
class SamplePair:
    """The same sample of an item at two steps, shown side by side."""

    kind: ClassVar = "sample_pair"
    heading: str
    note: str
    before: Sample
    after: Sample


@dataclass(frozen=True)
class Details:
    """Blocks that a page folds under their summary."""

    kind: ClassVar = "details"
    summary: str
    blocks: Sequence["Block"]


Block = str | Table | Listing | Picture | Note | SamplePair | Details
"""A string is a paragraph."""


@dataclass
class DocumentSection:
    title: str
    """Empty for a section without a heading."""
    blocks: list[Block] = field(default_factory=list)
    level: int = 2

    @property
    def is_folded(self) -> bool:
        """Whether all of it is folded: such a section is left out of print."""
        return all(isinstance(block, Details) for block in self.blocks)


def _footer() -> str:
    return f"passus {passus.__version__}, written {time.strftime('%Y-%m-%d %H:%M:%S UTC', time.gmtime())}"


@dataclass
class Document:
    title: str
    sections: list[DocumentSection]
    footer: str = field(default_factory=_footer)
    reload_seconds: int = 0
    """Interval at which a page reloads itself; 0 for a page that is final."""
