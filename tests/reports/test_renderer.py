"""The renderer: every block in both formats, hostile text in every place, and the templates as package data."""

import re
from html.parser import HTMLParser

from passus.figures.spec import Figure
from passus.reports import renderer
from passus.reports.document import (
    Details,
    Document,
    DocumentSection,
    Listing,
    Note,
    Picture,
    Sample,
    SamplePair,
    Table,
)
from passus.reports.markdown import to_markdown

HOSTILE = (
    "</pre></td><script>alert(1)</script><img src=http://x/y onerror=z>{{ 7 * 7 }}{% raw %}&amp;\x1b[2J\x00\u202e\"' *a* | `b`"
)
VISIBLE = HOSTILE.replace("\x1b", "\\x1b").replace("\x00", "\\x00").replace("\u202e", "\\u202e")


def document(text: str) -> Document:
    """One of every block that holds text, with the same text in every place."""
    sample = Sample(3, text, True, text, text)
    blocks = [
        text,
        Note(text),
        Table([text], [[text], [(text, text)]]),
        Listing(text, text),
        SamplePair(text, text, sample, sample),
        Details(text, [text, Details(text, [Listing(text)])]),
    ]
    return Document(text, [DocumentSection(text, blocks), DocumentSection(text, [], level=3)], text)


class Parsed(HTMLParser):
    def __init__(self, page: str):
        super().__init__()
        self.tags: list[str] = []
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        assert {name for name, _ in attrs} <= {
            "class",
            "charset",
            "content",
            "data-label",
            "http-equiv",
            "lang",
            "name",
            "open",
        }

    def handle_data(self, data):
        self.text += data


def test_hostile_text_is_only_text_in_every_block():
    page = renderer.to_html(document(HOSTILE))
    parsed = Parsed(page)
    assert not {"script", "img", "iframe", "object", "link", "a"} & set(parsed.tags)
    assert not {"\x1b", "\x00", "\u202e"} & set(page)
    harmless = Parsed(renderer.to_html(document("harmless")))
    assert parsed.tags == harmless.tags
    assert parsed.text.count(VISIBLE) == harmless.text.count("harmless") == 25


def test_markdown_holds_every_block():
    text = to_markdown(document("harmless *a*"), "r")
    assert text.count("harmless") >= 20 and "harmless \\*a\\*" in text and "step 3: " in text
    hostile = re.sub(r"(?s)(``+)\n.*?\n\1", "", to_markdown(document(HOSTILE), "r"))
    assert "<script" not in hostile.replace("\\<", "") and not {"\x1b", "\x00", "\u202e"} & set(hostile)


def test_a_section_without_a_title_has_no_heading():
    untitled = Document("t", [DocumentSection("", ["text"])])
    assert "<h2" not in renderer.to_html(untitled) and "##" not in to_markdown(untitled, "r")


def test_figures_inside_details_are_written_beside_markdown(tmp_path, monkeypatch):
    drawn = []
    monkeypatch.setattr(renderer.export, "draw", lambda figure, path: drawn.append(path.name))
    picture = Picture(Figure("t", "Step", "Accuracy", []), "inner", "caption")
    written = renderer.write(Document("t", [DocumentSection("s", [Details("d", [picture])])]), tmp_path / "r.md")
    assert drawn == ["r-inner.svg"] and [path.name for path in written] == ["r.md", "r-inner.svg"]
    assert "![caption](r-inner.svg)" in (tmp_path / "r.md").read_text()
