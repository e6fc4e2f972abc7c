"""The layout of a chart description: headings, list items, tables and sentences, each with its line and what it stands under.

Texts come from people, from captioning models and from scripts, so that Markdown is read leniently: a short line by itself is
a heading, a bold line is one too, and a table may lack its outer bars.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from passus.descriptions.log_rows import read_log_rows

SAME_WIDTH = str.maketrans(
    {
        "\u2212": "-", "\u2013": "-", "\u2010": "-", "\u2011": "-", "\u00a0": " ", "\u202f": " ", "\u2009": " ", "\t": " ",
        "\u2018": "'", "\u2019": "'", "\u201c": '"', "\u201d": '"', "\u00d7": "x", "\u2248": "~", "\u223c": "~",
        "\u00ab": '"', "\u00bb": '"',
    }
)  # fmt: skip
"""Signs that are written in several ways, each replaced by one sign, so that places in the text stay the same."""
BULLET = re.compile(r"(?:[*+\u2022\u2023\u25cf\u2014-]|\(?[0-9]{1,3}[.)]|[0-9]{1,2}/|\(?[a-z]\)|\[\w{1,12}\s*\])\s+")
HEADING = re.compile(r"(#{1,6})\s+(\S.*?)\s*#*$")
WIKI_HEADING = re.compile(r"h([1-6])\.\s+(\S.*)$")
WIKI_HEAD_ROW = re.compile(r"\|\|.*\|\|$")
UNDERLINE = re.compile(r"(?:={3,}|-{3,}|\*{3,}|_{3,})$")
RULED_HEADING = re.compile(r"(?:={2,}|-{2,})\s*(\S.*?\S)\s*(?:={2,}|-{2,})$")
BOLD_LINE = re.compile(r"(?:\*\*|__)([^*_]+)(?:\*\*|__):?$")
FENCE = re.compile(r"(?:```|~~~)")
PANEL_LETTER = re.compile(r"(?:\*\*)?\([a-h]\)")
BOLD_LEAD = re.compile(r"(?:\*\*|__)([^*_]{1,120}?)(?:\*\*|__)\s*(\([^)]{1,80}\))?(?:\s*[:.=-]|(?<=:\*\*)|$)")
SPEAKER = re.compile(r"(?:\*\*)?[\w .'-]{1,30}(?:\*\*)?\s+\[?\(?[0-9]{1,2}:[0-9]{2}(?::[0-9]{2})?\)?\]?:?$")
CHAT_LINE = re.compile(r"(?:\[[\d:]{4,8}\] )?(?:\*\*|__)?(?P<name>[A-Za-z][\w.-]{1,15})(?:\*\*|__)?:(?:\*\*|__)? (?=\S)")
MAX_SPEAKERS = 20
MAIL_HEAD = re.compile(r"(?:from|to|cc|subject|date|sent|re):\s", re.I)
TABLE_RULE = re.compile(r"\|?\s*:?-{2,}:?\s*(?:\|\s*:?-{2,}:?\s*)*\|?$")
ABBREVIATION = re.compile(
    r"(?:\b(?:vs|e\.g|i\.e|etc|approx|ca|cf|figs?|eq|no|dr|mr|mrs|prof|resp|al|sec|tab|incl|max|min|avg|s\.d|st\.dev|w\.r\.t)"
    r"|^\s*\(?[A-Z]?[0-9]{1,2}|^[A-Z]|\b[A-Z])\.$",
    re.I,
)
INFORMAL_BREAK = re.compile(r"(?<=[a-z0-9%)][.!?])\s+(?=\S)")
BREAK = re.compile(
    r"(?:(?<=[.!?])|(?<=[.!?][)\"'*])|(?<=[.!?]\*\*))\s+(?=[^\sa-z])|(?<=[\w%)]\.)\s+(?=[a-z]+-[a-z][\w-]* [a-z]+s\b"
    r"|[a-z]+-\d\w* [a-z]+\b)|(?<=[a-z]{4}\.)\s+(?=[a-z]{3,} [a-z])|(?<=[\d%)]\.)\s+(?=[a-z]{3,} [a-z]{3})"
)
"""Between sentences. A name in small letters may begin one: "... at step 0. unit-tests ends ..."."""
DATA_ROW = re.compile(r"[^:.|]{1,40}(?:\.\s?[\w.-]{1,20})?\s*[:|]\s*[(\[]?[-~]?[.\d]")
"""A line of its own: a name and its values."""
RUN_IN = re.compile(
    r"(?!(?:Item|Slide|Section|Figure|Fig|Table|Point|Part|Note|Question|Step|Page|Chapter"
    r"|Finding) ?\d)(?P<name>[A-Z][\w@+-]*(?:[ .-][A-Z\d][\w@+-]*){0,3})\.\s+(?=[A-Z])"
)
"""A paragraph whose first words are its title: "BugFix. Every model starts from 18%."."""
BELOW_HEAD = re.compile(
    r"(?:at |after )?(?:[A-Za-z]+ ){0,2}~?\d[\d.,]*[kKMB]?\s*[:=]|\(?\[?~?\d[\d.,]*[kKMB]?\s*,|(?:\*\*)?(?:[Tt]rend"
    r"|[Kk]ey [Pp]oints?|[Dd]ata(?: [Pp]oints?)?|[Vv]alues?"
    r"|[Pp]oints?|[Rr]eadings?|[Bb]ehaviou?r|[Aa]ccuracy|[Ll]ength|[Tt]oken [Ll]ength|[Tt]okens?|[Ss]hape"
    r"|[Vv]isual [Tt]rend|[Aa]pproximate [Vv]alues?|[Aa]pprox\.? [Vv]alues?)\b[^:]{0,20}:"
)
"""A list item that belongs to the item in bold before it, although both are of one level: a point, or "Trend:"."""
KEY_VALUES = re.compile(r"(?:[\w@./-]+=\S+(?: (?:±|\+/?-) ?\S+)?(?:\s+|$)){2,}$")
KEY = re.compile(r"([\w@./-]+)=")
PANEL_HEADING = re.compile(r"(?:panel|plot|subplot|chart)\s\(?[a-h1-9]\)?\s*[:.-]?\s+(?!\W*\d)[^:;.]{2,60}$", re.I)
LETTER_HEADING = re.compile(r"\((?:[a-h]|[ivx]{1,4})\)\s+\S.{0,60}$")
MAX_SENTENCE = 2000
"""Characters of a sentence that are read. No person writes a longer one, and the numbers of one sentence are paired with each
other."""
MID_SENTENCE = re.compile(r"(?:[a-z]{2}|,|\b(?:at|to|of|by|a|the|and) [\d.]+) *$")
LOWER_PROSE = re.compile(r"[a-z][\w/@-]*(?: [\w.,%'/-]+)+")
"""A line of prose that begins in the middle of a sentence, and is no row of a list such as "grpo: 0.5"."""
MAX_WIDTH = 140
"""A text with longer lines is not wrapped by hand."""
BOLD_LEVEL, PARAGRAPH_LEVEL, ITEM_LEVEL = 10, 20, 21
"""Levels of labels: those of headings are 1 to 6, then come lines in bold, then paragraphs and list items by their indent."""


@dataclass(frozen=True)
class Label:
    """A heading, or a list item that has others below it."""

    text: str
    level: int
    line: int
    is_head: bool = False
    """Whether it is a list item that begins in bold: items of the same level may stand under it."""


@dataclass
class Passage:
    """A paragraph, a list item or a table, with the labels that it stands under, from the outermost on."""

    line: int
    text: str
    labels: tuple[Label, ...]
    kind: str = "prose"
    """prose, item, heading, row (a line of a list without bullets) or table"""
    rows: list[tuple[int, list[str]]] = field(default_factory=list)
    """Cells of a table, with the line of each row."""
    breaks: list[tuple[int, int]] = field(default_factory=list)
    """Where in the text further lines begin, and their numbers."""

    letter: str = ""
    """The letter of a list item or panel: "(a) MATH-500."."""

    def line_at(self, place: int) -> int:
        return max((line for start, line in self.breaks if start <= place), default=self.line)


@dataclass(frozen=True)
class Sentence:
    number: int
    """Position among all sentences of the text."""
    line: int
    text: str
    passage: Passage


def same_width(text: str) -> str:
    """Returns the text with one sign for each kind of dash, space and quote, and no sign moved."""
    return text.translate(SAME_WIDTH)


def plain(text: str) -> str:
    """Returns a text without the marks of emphasis."""
    text = re.sub(r"\*\*|__|`", "", text)
    return re.sub(r"(?<![\w*])\*(?=\S)([^*]{1,200}?)(?<=\S)\*(?!\w)", r"\1", text).strip()


def read_layout(text: str) -> list[Passage]:
    """Returns the passages of a text in order. Headings are passages too. Code is left out, unless it is a table."""
    lines = _without_speakers([same_width(line.rstrip("\r")) for line in text.split("\n")])
    return _Layout(lines).read()


class _Layout:
    """Reads lines one after another, and keeps the labels that they stand under."""

    def __init__(self, lines: list[str]) -> None:
        self.lines, self.at = lines, 0
        self.labels: list[Label] = []
        self.passages: list[Passage] = []
        self.width = max(map(len, lines))
        paragraphs = [line.strip() for line, before in zip(lines, ["", *lines], strict=False) if not before.strip()]
        self.run_ins = sum(bool(RUN_IN.match(line)) for line in paragraphs)
        """Paragraphs that begin with a title of their own."""

    def read(self) -> list[Passage]:
        self._skip_front_matter()
        while self.at < len(self.lines):
            body = self.lines[self.at].strip()
            if FENCE.match(body):
                self._code()
            elif body in ("", "\\n") or UNDERLINE.match(body):
                self.at += 1
            elif SPEAKER.match(body):
                self.labels, self.at = [], self.at + 1
            elif _is_table(self.lines, self.at):
                number = self.at + 1
                rows, self.at = _table_rows(self.lines, self.at)
                self._add(Passage(number, "", tuple(self.labels), "table", rows))
            elif KEY_VALUES.match(body):
                self._key_values()
            elif self._log_rows():
                continue
            elif level := _heading(self.lines, self.at)[0]:
                self._label(level, plain(_heading(self.lines, self.at)[1]))
            elif BULLET.match(body):
                self._item(body)
            else:
                self._paragraph(body)
        return self.passages

    def _skip_front_matter(self) -> None:
        if self.lines[0].strip() == "---" and (
            end := next((n for n in range(1, min(len(self.lines), 60)) if self.lines[n].strip() == "---"), 0)
        ):
            self.at = end + 1

    def _add(self, passage: Passage) -> None:
        self.passages.append(passage)

    def _code(self) -> None:
        """Reads a block of code: a table of columns, or nothing."""
        first = self.at + 1
        end = next((n for n in range(first, len(self.lines)) if FENCE.match(self.lines[n].strip())), len(self.lines))
        rows = [(n + 1, re.split(r"\s{2,}|\t", self.lines[n].strip())) for n in range(first, end) if self.lines[n].strip()]
        if len(rows) > 2 and len({len(cells) for _, cells in rows}) == 1 and len(rows[0][1]) > 1:
            self._add(Passage(first + 1, "", tuple(self.labels), "table", rows))
        self.at = end + 1

    def _key_values(self) -> None:
        """Reads lines such as `job=a step=10 acc=0.5`, which all have the same keys, as a table."""
        first, keys = self.at, KEY.findall(self.lines[self.at])
        rows = [(first + 1, keys)]
        while self.at < len(self.lines) and KEY.findall(self.lines[self.at]) == keys:
            cells = [cell.strip() for cell in KEY.split(self.lines[self.at])[2::2]]
            self.at += 1
            rows.append((self.at, cells))
        self._add(Passage(first + 1, "", tuple(self.labels), "table", rows))

    def _log_rows(self) -> bool:
        """Reads lines of a log or list that are rows of a table."""
        tables, end = read_log_rows(self.lines, self.at)
        if tables:
            raw = self.lines[self.at]
            level = ITEM_LEVEL if BULLET.match(raw.strip()) else PARAGRAPH_LEVEL
            self.labels = [label for label in self.labels if label.level < level + 2 * (len(raw) - len(raw.lstrip()))]
        for rows in tables:
            self._add(Passage(rows[0][0], "", tuple(self.labels), "table", rows))
        self.at = end
        return bool(tables)

    def _label(self, level: int, title: str) -> None:
        number = self.at + 1
        self.labels = [label for label in self.labels if label.level < level]
        self._add(Passage(number, title, tuple(self.labels), "heading"))
        self.labels.append(Label(title, level, number))
        self.at += 1

    def _item(self, body: str) -> None:
        raw, number = self.lines[self.at], self.at + 1
        indent = len(raw) - len(raw.lstrip())
        level = ITEM_LEVEL + 2 * indent
        bullet = BULLET.match(body)
        text = body[bullet.end() if bullet else 0 :]
        has_head = any(label.level == level and label.is_head for label in self.labels)
        level += has_head and bool(BELOW_HEAD.match(text))
        self.labels = [label for label in self.labels if label.level < level]
        letter = re.match(r"\(([a-h])\)", body)
        item = Passage(number, text, tuple(self.labels), "item", letter=letter[1] if letter else "")
        self.at = _join_lines(item, self.lines, self.at + 1, indent + 1, self.width)
        self._add(item)
        self.labels.append(Label(plain(item.text), level, number, bool(BOLD_LEAD.match(text)) and not BELOW_HEAD.match(text)))

    def _paragraph(self, body: str) -> None:
        raw, number = self.lines[self.at], self.at + 1
        indent = len(raw) - len(raw.lstrip())
        bold = BOLD_LEAD.match(body)
        own = BOLD_LEVEL if body.startswith(("**", "__")) and not indent else PARAGRAPH_LEVEL + 2 * indent
        self.labels = [label for label in self.labels if label.level < own]
        paragraph = Passage(number, body, tuple(self.labels))
        self.at = _join_lines(paragraph, self.lines, self.at + 1, 0, self.width)
        self._add(paragraph)
        if bold:
            self.labels.append(Label(plain(f"{bold[1].removesuffix(':')} {bold[2] or ''}"), own, number))
        elif (run_in := RUN_IN.match(paragraph.text)) and self.run_ins > 1:
            self.labels.append(Label(run_in["name"], own, number))
            paragraph.labels = tuple(self.labels)
            paragraph.text = paragraph.text[run_in.end() :]
            paragraph.breaks = [(place - run_in.end(), line) for place, line in paragraph.breaks]
        elif len(plain(paragraph.text)) <= 60 and not re.search(r"[.!?]$", paragraph.text):
            self.labels.append(Label(plain(paragraph.text).removesuffix(":"), own, number))


def _without_speakers(lines: Sequence[str]) -> list[str]:
    """Takes the names of those who speak off the lines of a chat: "**dmitri**: prod is at 71 %". Nobody speaks once only, and
    no other line names them."""
    found = [CHAT_LINE.match(line) for line in lines]
    names = Counter(match["name"] for match in found if match)
    if len(names) > MAX_SPEAKERS:
        return list(lines)
    rest = "\n".join(line[match.end() :] if match else line for line, match in zip(lines, found, strict=True))
    people = {name for name in names if not re.search(rf"(?<![\w@]){re.escape(name)}\b", rest)}
    if not 1 < len(people) <= sum(names[name] for name in people) / 2:
        return list(lines)
    return [
        line[match.end() :] if match and match["name"] in people else line for line, match in zip(lines, found, strict=True)
    ]


def _heading(lines: Sequence[str], at: int) -> tuple[int, str]:
    """Returns the level and the words of a heading; level 0 for other lines."""
    body = lines[at].strip()
    if heading := HEADING.match(body):
        return len(heading[1]), heading[2]
    if wiki := WIKI_HEADING.match(body):
        return int(wiki[1]), wiki[2]
    if bold := BOLD_LINE.match(body):
        return BOLD_LEVEL, bold[1].strip().removesuffix(":")
    if ruled := RULED_HEADING.match(body):
        return BOLD_LEVEL - 1, ruled[1]
    if PANEL_HEADING.match(body) and not body.endswith("."):
        return BOLD_LEVEL, body
    is_alone = at == 0 or not lines[at - 1].strip()
    if LETTER_HEADING.match(body) and is_alone and at + 1 < len(lines) and re.match(r"[-*+\u2022]\s", lines[at + 1].strip()):
        return BOLD_LEVEL, body
    before_list = at + 1 < len(lines) and (not lines[at + 1].strip() or bool(BULLET.match(lines[at + 1].strip())))
    is_short = len(body) <= 70 and not re.search(r"[.!?,;|]$", body) and not BULLET.match(body)
    has_words = re.match(r"[\w(\"'\[]", body) and not re.search(r"->|\u2192|\|| = ", body) and not MAIL_HEAD.match(body)
    if is_alone and before_list and is_short and has_words and not re.search(r":\s*\S", body):
        return BOLD_LEVEL, body.removesuffix(":")
    return 0, ""


def _join_lines(passage: Passage, lines: Sequence[str], at: int, least_indent: int, width: int) -> int:
    """Adds the lines that go on with a paragraph or an item. Returns the next line."""
    is_formal = plain(passage.text)[:1].isupper()  # a chat has a message per line, and few capitals
    while at < len(lines) and _goes_on(lines[at - 1], lines[at], least_indent, width, is_formal):
        passage.breaks.append((len(passage.text) + 1, at + 1))
        passage.text = f"{passage.text} {lines[at].strip()}"
        at += 1
    return at


def _goes_on(before: str, raw: str, least_indent: int, width: int, is_formal: bool) -> bool:
    """Returns whether a line goes on with the one before: it begins within a sentence, or its first word had no room there.
    A new item or row does not."""
    body = raw.strip()
    if not body or BULLET.match(body) or body.startswith(("#", "|", "[")) or UNDERLINE.match(body) or SPEAKER.match(body):
        return False
    if len(raw) - len(raw.lstrip()) < least_indent or MAIL_HEAD.match(body) or "|" in before + body:
        return False
    if DATA_ROW.match(body):
        return False
    if is_formal and MID_SENTENCE.search(before) and LOWER_PROSE.match(body):
        return True
    had_no_room = len(before) + 1 + len(body.split(maxsplit=1)[0]) > 0.9 * width
    return had_no_room and width <= MAX_WIDTH and len(before) > 40


def _is_table(lines: Sequence[str], at: int) -> bool:
    if "|" not in lines[at] or at + 1 >= len(lines):
        return False
    if WIKI_HEAD_ROW.match(lines[at].strip()):
        return lines[at + 1].strip().startswith("|")
    return bool(TABLE_RULE.match(lines[at + 1].strip())) and "|" in lines[at + 1]


def _table_rows(lines: Sequence[str], at: int) -> tuple[list[tuple[int, list[str]]], int]:
    rows = []
    while at < len(lines) and "|" in lines[at]:
        if not TABLE_RULE.match(lines[at].strip()):
            rows.append((at + 1, [plain(cell) for cell in _cells(lines[at])]))
        at += 1
    return rows, at


def _cells(line: str) -> list[str]:
    if WIKI_HEAD_ROW.match(line.strip()):
        line = line.replace("||", "|")
    return [cell.strip() for cell in line.strip().removeprefix("|").removesuffix("|").split("|")]


def sentences_of(passages: Sequence[Passage]) -> list[Sentence]:
    """Returns the sentences of all passages but tables, numbered."""
    sentences: list[Sentence] = []
    for passage in passages:
        if passage.kind == "table":
            continue
        for start, text in split_sentences(passage.text):
            cut = text[:MAX_SENTENCE]
            sentences.append(Sentence(len(sentences), passage.line_at(start), plain(cut), passage))
    return sentences


def split_sentences(text: str) -> Iterator[tuple[int, str]]:
    """Yields the place and the text of each sentence."""
    begin = 0
    is_informal = text[:1].islower() and len(re.findall(r"[a-z]{3}[.!?]\s+[a-z]", text)) > len(
        re.findall(r"[a-z]{3}[.!?]\s+[A-Z]", text)
    )
    for gap in (INFORMAL_BREAK if is_informal else BREAK).finditer(text):
        is_short = ABBREVIATION.search(text[max(begin, gap.start() - 12) : gap.start()])
        if not is_short or PANEL_LETTER.match(text, gap.end()):
            yield begin, text[begin : gap.start()]
            begin = gap.end()
    if text[begin:].strip():
        yield begin, text[begin:]
