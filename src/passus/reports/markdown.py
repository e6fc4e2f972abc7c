"""A document as Markdown. Text is escaped, so that it carries no markup of its own."""

import re
from collections.abc import Sequence

from passus.formatting import printable
from passus.reports.document import Block, Cell, Details, Document, Listing, Note, Picture, Sample, SamplePair, Table


def to_markdown(document: Document, stem: str) -> str:
    """Returns the document as Markdown; its figures are linked as `<stem>-<name>.svg`."""
    parts = [f"# {_escape(document.title)}"] if document.title else []
    for section in document.sections:
        parts += [f"{'#' * section.level} {_escape(section.title)}"] if section.title else []
        parts += _blocks(section.blocks, stem)
    return "\n\n".join([*parts, *([f"*{_escape(document.footer)}*"] if document.footer else [])]) + "\n"


def _blocks(blocks: Sequence[Block], stem: str) -> list[str]:
    return [part for block in blocks for part in _block(block, stem)]


def _block(block: Block, stem: str) -> list[str]:
    match block:
        case Table():
            return [_table(block)]
        case Listing():
            return [*([_escape(block.name)] if block.name else []), _fenced(block.text)]
        case Picture():
            return [f"![{_escape(block.caption)}]({stem}-{block.name}.svg)", _escape(block.caption)]
        case Note():
            return [_escape(block.text)]
        case SamplePair():
            samples = [part for sample in (block.before, block.after) for part in _sample(sample)]
            return [f"**{_one_line(block.heading)}**", _escape(block.note), *samples]
        case Details():
            return [f"**{_one_line(block.summary)}**", *_blocks(block.blocks, stem)]
        case _:
            return [_escape(block)]


def _table(table: Table) -> str:
    rows = [table.head, ["---"] * len(table.head), *table.rows]
    return "\n".join("| " + " | ".join(map(_cell, row)) + " |" for row in rows)


def _cell(cell: Cell) -> str:
    text = cell if isinstance(cell, str) else " ".join(filter(None, cell))
    return _one_line(text).replace("|", "\\|")


def _sample(sample: Sample) -> list[str]:
    answer = f", answer {_escape(sample.answer)}" if sample.answer is not None else ""
    return [f"step {sample.step}: {_escape(sample.verdict)}{answer}", _fenced(sample.completion)]


def _fenced(text: str) -> str:
    """Returns a code block whose fence is longer than any run of backticks in the text."""
    text = printable(text)
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall(r"`+", text)), default=0))
    return f"{fence}\n{text.rstrip()}\n{fence}"


def _one_line(text: str) -> str:
    return _escape(text).replace("\n", " ")


def _escape(text: str) -> str:
    """Escapes the characters that Markdown or HTML would interpret."""
    return re.sub(r"([\\`*_<>\[\]#])", r"\\\1", printable(text))
