"""Finds names that a text introduces by form: tables, lettered panels, legends."""

import re

from passus.descriptions.labels import classify_label
from passus.descriptions.layout import Passage, plain
from passus.descriptions.legend_names import described_lines, legend_pairs
from passus.descriptions.name_forms import qualified_names
from passus.descriptions.names import (
    PANEL_REFERENCE,
    VERB,
    lead_of,
    lists_of_names,
    namey_spans,
)
from passus.descriptions.numbers import numbers_in
from passus.descriptions.panel_titles import panel_titles, title_in
from passus.descriptions.place_stage import PlaceStage
from passus.descriptions.tables import read_table
from passus.descriptions.vocabulary import COLOUR, LENGTH_WORD, MEASURE_WORD, STROKE

LEGEND_LABEL = re.compile(r"\blegend\b|\bcolou?rs?\b|\blines drawn\b|\bcomponents\b|\bvisual elements\b", re.I)
NAME_AND_LETTER = re.compile(
    r"(?P<name>[A-Z][\w+.-]*(?:[ -][A-Z0-9][\w+.-]*)*) \((?:(?:panel|subplot|fig(?:ure"
    r"|\.)?\s?\d*)\s?\(?(?P<letter>[a-h])\)?|(?P<side>left|right)(?: panel)?)\)"
)
LETTERED = re.compile(r"^\W*\(?([a-h])\)[.:]?\s+([A-Z].{1,60}?)[.:]?\W*$")
LETTERED_LEAD = re.compile(
    r"^\W*(?:(?i:panel|subplot|fig(?:ure|\.)?\s?\d*)\s?\(?(?P<plain>[a-hA-H])\)?|\((?P<letter>[a-h])\))[\s:.,*-]+"
    r"(?P<title>[A-Za-z][^:;]{1,60}?)(?:\s?\([^()]{1,40}\))?(?P<end>:\s|\.(?:\s|$)|,\s|$)"
)
LETTERED_NAME = re.compile(
    r"\(([a-h])\)\s+([A-Z][\w+.-]*(?:[ -](?:[A-Z0-9][\w+.-]*))*)(?:\s(?:on|in|at|to) the (left|right|top|bottom|middle))?"
)
PANEL_CUE = re.compile(
    r"\b(?:benchmarks|held-out sets|test sets|datasets|tasks|panels|suites|domains)\s*(?:,|:|\(|are|include|namely)\s*", re.I
)
TITLED_PANEL = re.compile(r"\"(?P<name>[^\"]{2,40})\" \((?P<side>left|right|middle|top|bottom)\)(?P<rest>)", re.I)


class PanelStage(PlaceStage):
    """A text with the names that its form tells."""

    def _read_table(self, passage: Passage) -> None:
        table = read_table(passage, self.axes)
        self.tables[id(passage)] = table
        if (table.points and not table.rows_are_panels) or table.is_legend:
            for name in table.names:
                self.names.add(name)
        self.lists.known |= frozenset(table.xs)

    def _find_panel_letters(self) -> None:
        """Finds panels that are lettered: "(a) AIME 2024.", "Panel (b) reports MATH", "(a) GSM8K on the left"."""
        self._find_titled_letters()
        for key, name in panel_titles([sentence.text for sentence in self.data.sentences]).items():
            self.names.panel_aliases.setdefault(key, self.names.add_panel(name))
        for sentence in self.data.sentences:
            text = plain(sentence.text)
            several = list(LETTERED_NAME.finditer(text))
            if len(several) > 1:
                for match in several:
                    self._letter(match[1], match[2])
                    if match[3]:
                        self.names.panel_aliases[match[3].lower()] = match[2]
                continue
            if lettered := LETTERED.match(text):
                self._letter(lettered[1], lettered[2])
                continue
            found = list(PANEL_REFERENCE.finditer(text))
            if len(found) == 1 and len(text) < 140 and not numbers_in(PANEL_REFERENCE.sub("", text), self.axes.style):
                titled = re.match(r"\s*\)?\s*[:\u2014-]\s*(.{2,60}?)\.?$", text[found[0].end() :])
                if titled:
                    self._letter(found[0][1] or found[0][2], titled[1])
                    continue
                if re.match(r"\W*,", text[found[0].end() :]):  # "In (c), A ends lower"
                    continue
                spans = [name for _, _, name in namey_spans(text) if not re.match(r"(?:Panel|Figure|Fig)\b", name)]
                first = text.split()[0] if text.split() else ""
                spans = spans or ([first] if re.search(r"[A-Z].*[A-Z]|[A-Za-z][0-9+]", first) else [])
                if len(spans) == 1:
                    self._letter(found[0][1] or found[0][2], spans[0])
        for sentence in self.data.sentences:
            found = list(NAME_AND_LETTER.finditer(sentence.text))
            for match in found if len(found) > 1 else ():
                if match["letter"]:
                    self._letter(match["letter"], match["name"])
                else:
                    self.names.panel_aliases[match["side"].lower()] = self.names.add_panel(match["name"])
        for sentence in self.data.sentences:
            if cue := PANEL_CUE.search(sentence.text):
                for names in list(lists_of_names(sentence.text[cue.end() :]))[:1]:
                    if sentence.text[cue.end() :].lstrip(" ,:(\"'*").startswith(names[0]):
                        for name in names:
                            self.names.add_panel(name)
        for sentence in self.data.sentences:
            for match in TITLED_PANEL.finditer(sentence.text):
                name, side = match["name"], match["side"]
                if match["rest"] or re.search(r"\b(?:panels?|charts?|plots?)\b", sentence.text, re.I):
                    self.names.panel_aliases.setdefault(side.lower(), name)

    def _find_titled_letters(self) -> None:
        """Finds panels whose text begins with a letter and a title: "(a) MATH-500. SFT goes from ..."."""
        texts = [plain(sentence.text) for sentence in self.data.sentences]
        texts += [f"({p.letter}) {plain(p.text)}" for p in self.data.passages if p.letter]
        found = [match for text in texts if (match := LETTERED_LEAD.match(text))]
        found = [match for match in found if not re.search(rf"(?<![\w-])\d|\b{VERB}\b", match["title"])]
        found = [match for match in found if match["end"] != ", " or re.search(r" (?:on|for) ", match["title"])]
        if len({(match["plain"] or match["letter"]).lower() for match in found}) > 1:
            for match in found:
                words = match["title"]
                is_measure = re.match(rf"(?:\w+ )?(?:{MEASURE_WORD.pattern}|{LENGTH_WORD.pattern})", words, re.I)
                title = title_in(words) if words[0].islower() or " on " in words or is_measure else words
                self._letter(match["plain"] or match["letter"], title or words)

    def _letter(self, letter: str, name: str) -> None:
        name = plain(name).strip(" .:\"'")
        if aside := re.match(r"(.{2,40}?), (?!temperature)[a-z]+ [a-z]+", name):  # "ARC, not seen in training"
            name = aside[1]
        if letter.lower() not in self.names.panel_aliases and len(name) <= 60:
            self.names.panel_aliases[letter.lower()] = self.names.add_panel(name)

    def _find_legends(self) -> None:
        for name in qualified_names("\n".join(sentence.text for sentence in self.data.sentences)):
            self.names.add(name)
        for name, look in legend_pairs([sentence.text for sentence in self.data.sentences]):
            if classify_label(name, self.axes).kind != "measure":
                self.names.add_look(self.names.add(name), look)
        for passage in self.data.passages:
            if passage.kind in ("item", "prose") and any(LEGEND_LABEL.search(label.text) for label in passage.labels):
                self._legend_line(passage)
        for passage in self.data.passages:
            for match in re.finditer(r"(?:\*\*|\"|`)([^*\"`]{2,40})(?:\*\*|\"|`)\s*\(([^()]{3,60})\)", passage.text):
                if COLOUR.search(match[2]) and self._may_be_series(match[1]):
                    self.names.add_look(self.names.add(match[1]), match[2])
        for sentence in self.data.sentences:
            if sentence.passage.kind == "heading":
                continue
            for name, look in described_lines(sentence.text):
                longer = [known for known in self.names.series if name.lower() in known.lower()]
                is_part = any(not known.lower().startswith(f"{name.lower()} (") for known in longer)
                is_number = any(not n.in_words for n in numbers_in(name, self.axes.style)) and not look.startswith(", in ")
                if self._may_be_series(name) and not is_number and not is_part:
                    self.names.add_look(self.names.add(name), look)

    def _legend_line(self, passage: Passage) -> None:
        """Reads `Blue: NAME`, `NAME (blue line)`, `**NAME** - Blue line`."""
        text = plain(passage.text)
        match = re.match(r"(?P<look>[^:=]{1,40}?)\s*[:=]\s*(?P<name>\S.{0,60})$", text)
        if (
            match
            and (COLOUR.search(match["look"]) or STROKE.search(match["look"]))
            and not numbers_in(match["name"], self.axes.style)
        ):
            name = match["name"].strip(" .\"'")
            if not MEASURE_WORD.search(name) and not LENGTH_WORD.search(name):
                self.names.add_look(self.names.add(name), match["look"])
            return
        lead = lead_of(passage.text)
        label = classify_label(text.strip(" ."), self.axes)
        name, look = (lead.text, lead.bracket or plain(passage.text[lead.end :])) if lead else (label.text, label.look)
        if look and (COLOUR.search(look) or STROKE.search(look)) and len(look) < 60 and self._may_be_series(name):
            self.names.add_look(self.names.add(name), look)
