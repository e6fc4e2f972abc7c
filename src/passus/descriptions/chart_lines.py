"""Lines and sentences of a chart description, and the part that each line belongs to."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass

PARTS = {
    "overview": r"overview|summary",
    "axes": r"ax[ie]s|component|legend",
    "details": r"detail|analysis|data|content|trend",
    "observations": r"observation|finding",
    "interpretation": r"",
}
"""Parts of a description, and the words of a heading that open each. The first match counts."""


@dataclass
class Line:
    number: int
    part: str
    body: str
    """The text without bullet or number."""
    head: str = ""
    """Name of the entry that the line stands under."""
    is_used: bool = False
    """Whether nothing of the line is left to read."""
    lead: str = ""
    """The bold words at its start, or the words of a small heading."""
    rest: str = ""

    def __post_init__(self) -> None:
        bold = re.match(r"\*\*([^*]+)\*\*(:?)\s*", self.body)
        if self.body.startswith("#"):
            self.lead = self.body.lstrip("#").strip()
        else:
            self.lead, self.rest = (bold[1].strip() + bold[2], self.body[bold.end() :]) if bold else ("", self.body)


def split_lines(text: str) -> list[Line]:
    """Returns every line with words, and the part it stands in. The title, if there is one, is a part of its own."""
    lines: list[Line] = []
    part, has_title = "overview", False
    for number, raw in enumerate(text.split("\n"), 1):
        heading = re.match(r"(#{1,3})(?!#)\s*(\S.*)", raw.strip())
        body = line_body(raw)
        if heading:
            heading_part = next(name for name, pattern in PARTS.items() if re.search(pattern, heading[2], re.I))
            if not has_title and (len(heading[1]) < 3 or heading_part == "interpretation"):
                lines.append(Line(number, "title", heading[2], is_used=True))
            else:
                part = heading_part
            has_title = True
        elif body not in ("", "\\n"):  # some models write a line break as two characters
            lines.append(Line(number, part, body))
    return lines


def line_body(raw: str) -> str:
    return re.sub(r"^(?:[*+•-]|[0-9]{1,4}[.)])\s+", "", raw.strip())


def statements(body: str) -> list[str]:
    """Returns the sentences of a line. A quoted string is one sentence. A sentence that ends in a colon is left out."""
    if unquoted(body) != body:
        return [unquoted(body)]
    return [sentence for sentence in _sentences(body.replace("**", "").strip()) if not sentence.endswith(":")]


def _sentences(text: str) -> Iterator[str]:
    begin = 0
    for gap in re.finditer(r"(?:(?<=[.!?])|(?<=[.!?][)\"]))\s+(?=[^\sa-z])", text):
        if not re.search(r"\b(?:vs|e\.g|i\.e|etc|approx|cf|fig)\.$", text[max(0, gap.start() - 9) : gap.start()], re.I):
            yield text[begin : gap.start()]
            begin = gap.end()
    if text[begin:]:
        yield text[begin:]


def unquoted(text: str) -> str:
    """Returns the content of a quoted string; any other text unchanged."""
    if len(text) < 2 or not text.startswith('"') or not text.endswith('"'):
        return text
    try:
        content = str(json.loads(text))
        content.encode()  # a lone surrogate cannot be written to a file
    except ValueError:
        return text
    return content
