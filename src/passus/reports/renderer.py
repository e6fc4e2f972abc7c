"""Writes a document as one self-contained HTML page, or as Markdown with its figures beside it.

The page of a running experiment and the finished report share this renderer. Templates are in `templates/`. The page needs no
network and runs no script. Every text is escaped, and its control characters are made visible: models and files cannot add
markup.
"""

import importlib
import multiprocessing
import os
import re
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from passus.atomic_io import write_atomic
from passus.errors import UsageError
from passus.figures import export
from passus.figures.spec import Figure
from passus.formatting import printable
from passus.reports.document import Block, Details, Document, Picture
from passus.reports.markdown import to_markdown

FORMATS = (".html", ".md")
DRAWING = 2
"""Processes that draw: half of the time of a small report is drawing."""


def write(document: Document, path: Path) -> list[Path]:
    """Writes the document and returns the files written: figures stand beside a Markdown file, and inside an HTML file."""
    check_path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    written = [path]
    if path.suffix == ".md":
        for picture in _pictures([block for section in document.sections for block in section.blocks]):
            written.append(path.with_name(f"{path.stem}-{picture.name}.svg"))
            export.draw(picture.figure, written[-1])
    text = to_html(document) if path.suffix == ".html" else to_markdown(document, path.stem)
    write_atomic(path, lambda target: target.write_text(text, encoding="utf-8"), durable=False)
    return written


def check_path(path: Path) -> None:
    if path.suffix not in FORMATS:
        raise UsageError(
            f"--out {path}", expected=f"a name that ends in {' or '.join(FORMATS)}", write=str(path.with_suffix(".html"))
        )


def _pictures(blocks: Sequence[Block]) -> Iterator[Picture]:
    for block in blocks:
        if isinstance(block, Picture):
            yield block
        elif isinstance(block, Details):
            yield from _pictures(block.blocks)


def to_html(document: Document) -> str:
    figures = [picture.figure for section in document.sections for picture in _pictures(section.blocks)]
    return _environment().get_template("page.html.jinja").render(document=document, svg=draw_inline(figures))


def draw_inline(figures: Sequence[Figure]) -> Callable[[Figure, bool], Markup]:
    """Draws all figures for a page and for a phone, on two cores. Returns a function from figure and width to SVG."""
    wanted = [(figure, column) for figure in figures for column in (False, True)]
    if min(len(wanted), DRAWING, os.cpu_count() or 1) < 2 or "fork" not in multiprocessing.get_all_start_methods():
        drawn = [inline_svg(*one) for one in wanted]
    else:
        importlib.import_module("matplotlib.figure")  # once, before the processes that need it
        with ProcessPoolExecutor(min(len(wanted), DRAWING), multiprocessing.get_context("fork")) as processes:
            drawn = list(processes.map(inline_svg, *zip(*wanted, strict=True)))
    by_figure = {(id(figure), column): svg for (figure, column), svg in zip(wanted, drawn, strict=True)}
    return lambda figure, column: by_figure[id(figure), column]


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("passus.reports"), autoescape=True, finalize=_visible, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    environment.filters |= {"prose": _prose}
    return environment


def _visible(value: Any) -> Any:
    """Makes the control characters of every value in a template visible; autoescape then escapes it."""
    return value if isinstance(value, Markup) else printable(str(value))


def _prose(text: str) -> Markup:
    """Escapes a sentence and keeps its p-values on one line."""
    return Markup(re.sub(r"\b([pq]) (&lt;|=) (?=[.\d])", r"\1&nbsp;\2&nbsp;", str(escape(printable(text)))))


def inline_svg(figure: Figure, column: bool = False) -> Markup:
    """Returns the figure as SVG in the colours of the page, so that it can be read on a dark page too."""
    svg = printable(export.svg(replace(figure, note=""), column))
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg[svg.index("<svg") :], flags=re.DOTALL)
    for colour, variable in (("#000000", "currentColor"), ("#ffffff", "var(--paper)")):
        svg = re.sub(f"(fill|stroke): {colour}", rf"\1: {variable}", svg)
    return Markup(svg)
