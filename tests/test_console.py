"""Output to a terminal: colours of passus itself get through, control characters of texts do not."""

import io
import json
import sys

import pytest

from passus import console
from passus.formatting import printable, printable_line, shorten, spreadsheet_cell

HOSTILE = "a\x1b[31mb\x1b]0;title\x07c\x9b2Jd\u202ee\x7ff\rg\u2066h\x00"


def test_control_characters_become_visible():
    assert printable(HOSTILE) == "a\\x1b[31mb\\x1b]0;title\\x07c\\x9b2Jd\\u202ee\\x7ff\\rg\\u2066h\\x00"
    assert printable("é 实验 🙂\n") == "é 实验 🙂\n"
    assert printable_line("a\nb") == "a\\nb"


@pytest.mark.parametrize("text", ["=1+1", "+1+1", "-2+3", "@SUM(A1)", "\t=1", "\r=1", " =1", "\uff1d1", "-x"])
def test_a_cell_that_is_a_formula_gets_an_apostrophe(text):
    assert spreadsheet_cell(text).startswith("'")


@pytest.mark.parametrize("text", ["-1", "+0.5", "-1e-3", "Qwen3", "a=b", "", "1-2"])
def test_other_cells_stay(text):
    assert spreadsheet_cell(text) == text


def test_everything_printed_is_guarded(monkeypatch):
    for name in ("stdout", "stderr"):
        stream = io.StringIO()
        monkeypatch.setattr(sys, name, stream)
        console.guard_output()
        console.guard_output()
        print(HOSTILE, file=getattr(sys, name))
        getattr(sys, name).writelines([HOSTILE])
        assert stream.getvalue() == f"{printable(HOSTILE)}\n{printable(HOSTILE)}"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_rich_console_keeps_its_own_colours_only(monkeypatch):
    from rich.table import Table
    from rich.text import Text

    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    stream = Terminal()
    monkeypatch.setattr(sys, "stdout", stream)
    console.guard_output()
    table = Table("run")
    table.add_row(Text(HOSTILE))
    for renderable in (Text(HOSTILE, style="bold green"), HOSTILE, table):
        console.rich_console(width=200).print(renderable)
    text = stream.getvalue()
    assert "\x1b[1;32m" in text
    for sign in ("\x1b[31m", "\x1b]", "\x07", "\x9b", "\u202e", "\x7f", "\u2066", "\x00"):
        assert sign not in text, repr(sign)


def test_a_line_of_json_has_no_control_characters():
    line = console.json_line({"name": HOSTILE})
    assert printable_line(line) == line and json.loads(line) == {"name": HOSTILE}


def test_long_texts_lose_their_middle():
    assert shorten("abc", 3) == "abc" and shorten("a" * 600 + "b" * 400, 100) == "a" * 50 + " […900 characters…] " + "b" * 50
