"""A text with tables, figures and listings, as Markdown or as one HTML file that needs nothing else.

All text is taken as text: what a model wrote is escaped in both.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path

from passus.atomic_io import write_atomic
from passus.errors import UsageError
from passus.figures import kinds
from passus.figures.spec import Figure
from passus.formatting import printable
from passus.reports.status_page import PAGE, STYLE, inline_svg

FORMATS = (".html", ".md")
LONG_CELL = 40
"""Characters beyond which a cell is broken into lines."""


@dataclass(frozen=True)
class Table:
    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    folded: str = ""
    """What a page shows in its place until it is asked for."""


@dataclass(frozen=True)
class Listing:
    """Text as it is: a file, a completion."""

    text: str
    name: str = ""


@dataclass(frozen=True)
class Picture:
    figure: Figure
    name: str
    caption: str


Block = str | Table | Listing | Picture


@dataclass
class Section:
    title: str
    blocks: list[Block] = field(default_factory=list)
    level: int = 2


@dataclass
class Document:
    title: str
    sections: list[Section]
    footer: str = ""


def write(document: Document, path: Path) -> list[Path]:
    """Returns the files that were written: figures stand beside a Markdown file, and inside an HTML file."""
    if path.suffix not in FORMATS:
        raise UsageError(
            f"--out {path}", expected=f"a name that ends in {' or '.join(FORMATS)}", write=str(path.with_suffix(".html"))
        )
    path.parent.mkdir(parents=True, exist_ok=True)
    pictures = [block for section in document.sections for block in section.blocks if isinstance(block, Picture)]
    written = [path]
    if path.suffix == ".md":
        written += [path.with_name(f"{path.stem}-{picture.name}.svg") for picture in pictures]
        for picture, target in zip(pictures, written[1:], strict=True):
            kinds.draw(picture.figure, target)
    text = to_html(document) if path.suffix == ".html" else to_markdown(document, path.stem)
    write_atomic(path, lambda target: target.write_text(text, encoding="utf-8"), durable=False)
    return written


def to_markdown(document: Document, stem: str) -> str:
    parts = [f"# {_mark(document.title)}"]
    for section in document.sections:
        parts.append(f"{'#' * section.level} {_mark(section.title)}")
        parts += [_block_markdown(block, stem) for block in section.blocks]
    return "\n\n".join([*parts, *([f"*{_mark(document.footer)}*"] if document.footer else [])]) + "\n"


def _block_markdown(block: Block, stem: str) -> str:
    if isinstance(block, Table):
        rows = [block.head, ["---"] * len(block.head), *block.rows]
        return "\n".join(
            "| " + " | ".join(_mark(cell).replace("|", "\\|").replace("\n", " ") for cell in row) + " |" for row in rows
        )
    if isinstance(block, Listing):
        text = printable(block.text)
        fence = "`" * max(3, 1 + max((len(run) for run in re.findall(r"`+", text)), default=0))
        return (f"{_mark(block.name)}\n\n" if block.name else "") + f"{fence}\n{text.rstrip()}\n{fence}"
    if isinstance(block, Picture):
        return f"![{_mark(block.caption)}]({stem}-{block.name}.svg)\n\n{_mark(block.caption)}"
    return _mark(block)


def _mark(text: str) -> str:
    """Text that Markdown leaves alone, and that carries no markup of its own."""
    return re.sub(r"([\\`*_<>\[\]#])", r"\\\1", printable(text))


def to_html(document: Document) -> str:
    body = [f"<h1>{_text(document.title)}</h1>"]
    for section in document.sections:
        body.append(f"<h{section.level}>{_text(section.title)}</h{section.level}>")
        body += [_block_html(block) for block in section.blocks]
    body += [f"<footer>{_text(document.footer)}</footer>"] if document.footer else []
    return PAGE.format(title=_text(document.title), reload="", style=STYLE, body="\n".join(body))


def _block_html(block: Block) -> str:
    if isinstance(block, Table):
        head = "".join(f"<th>{_text(cell)}" for cell in block.head)
        rows = "\n".join("<tr>" + "".join(map(_cell, row)) for row in block.rows)
        table = f'<div class="wide"><table><thead><tr>{head}</thead><tbody>{rows}</tbody></table></div>'
        return f"<details><summary>{_text(block.folded)}</summary>{table}</details>" if block.folded else table
    if isinstance(block, Listing):
        return (f"<p class='quiet'>{_text(block.name)}</p>" if block.name else "") + f"<pre>{_text(block.text)}</pre>"
    if isinstance(block, Picture):
        caption = f"<figcaption>{_text(block.caption)}</figcaption>"
        return f'<figure><div class="wide">{inline_svg(block.figure)}</div>{caption}</figure>'
    return f"<p>{_text(block)}</p>"


def _cell(text: str) -> str:
    return f"<td class='long'>{_text(text)}" if len(text) > LONG_CELL else f"<td>{_text(text)}"


def _text(text: str) -> str:
    return re.sub(r"\b([pq]) (&lt;|=) (?=[.\d])", r"\1&nbsp;\2&nbsp;", escape(printable(text)))
