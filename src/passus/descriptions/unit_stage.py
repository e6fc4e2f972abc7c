"""Cuts a text into units: sentences and list items, with their leads and the labels that they stand under."""

import re
from collections import Counter
from dataclasses import replace

from passus.descriptions.axes import Axes
from passus.descriptions.chart_data import Unit
from passus.descriptions.labels import LabelName, classify_label
from passus.descriptions.layout import Label, Sentence
from passus.descriptions.names import (
    COMMON,
    VERB,
    Lead,
    lead_of,
)
from passus.descriptions.pairing import PlaceLists, longest_list, readings_in
from passus.descriptions.panel_stage import PanelStage
from passus.descriptions.vocabulary import LENGTH_WORD, MEASURE_WORD

ON_PANEL = re.compile(r"(?P<series>.{2,40}?) (?:on|in|,|/) (?P<panel>[A-Z\d].{1,40})$")
CROSSED_LEVEL = 90
OWN_SENTENCE = re.compile(r"\b(?:you|we|I|they) [a-z]+")
MIN_DATA = 3
"""Readings from which a label has data below it: fewer are remarks."""
MANY_DATA = 6
"""Readings from which a sentence has data of its own, whatever it stands under."""
DATA_WORDS = frozenset(
    [
        "data",
        "point",
        "points",
        "value",
        "values",
        "reading",
        "readings",
        "series",
        "measurement",
        "measurements",
        "result",
        "results",
        "approximate",
        "key",
        "list",
        "numbers",
        "trend",
        "trends",
        "extracted",
        "step",
        "steps",
        "x",
        "y",
        "note",
        "notes",
    ]
)  # fmt: skip


class UnitStage(PanelStage):
    """A text in units."""

    def _find_units(self) -> None:
        for sentence in self.data.sentences:
            passage = sentence.passage
            if passage.kind not in ("item", "prose"):
                continue
            if passage.kind == "item" and sentence.number in self.stated:
                continue
            unit = self._unit(sentence)
            unit.count = self._count(unit.text) if sentence.number not in self.stated else 0
            unit.observes = unit.observes and (unit.count < MANY_DATA or unit.is_list)
            self.data.units[sentence.number] = unit
        self._split_crossed()

    def _split_crossed(self) -> None:
        """Splits leads that cross series with panels: "LoRA on IFEval", "LoRA on MT-Bench", "Full on IFEval"."""
        crossed = {}
        for unit in self.data.units.values():
            match = (
                ON_PANEL.match(unit.lead.text) if unit.lead is not None and unit.lead.kind == "name" and unit.count else None
            )
            if match:
                crossed[unit.sentence.number] = (unit, match["series"].strip(), match["panel"].strip())
        panels = Counter(panel.lower() for _, _, panel in crossed.values())
        series = {name.lower() for _, name, _ in crossed.values()}
        if len(panels) < 2 or len(series) * len(panels) != len({(a.lower(), b.lower()) for _, a, b in crossed.values()}):
            return
        for unit, name, panel in crossed.values():
            assert unit.lead is not None
            unit.lead = replace(unit.lead, text=name)
            unit.chain = [*unit.chain, (LabelName("panel", panel), Label(panel, CROSSED_LEVEL, unit.sentence.line))]

    def _unit(self, sentence: Sentence) -> Unit:
        passage = sentence.passage
        chain = [(classify_label(label.text, self.axes), label) for label in passage.labels]
        observes = any(self._observes(label) for label in passage.labels)
        is_whole = len(self.sentences_of[id(passage)]) == 1 or sentence is self.sentences_of[id(passage)][0]
        text = sentence.text
        head = lead_of(passage.text) if passage.kind == "item" and not is_whole else None
        if passage.kind == "prose" and not is_whole and re.match(r"\[[^\[\]:]{1,40}\]\s", passage.text):
            head = lead_of(passage.text)
            head = replace(head, is_bold=True) if head is not None else None
        if head is not None and head.is_bold and head.text:  # a later sentence of an item that begins with a name in bold
            chain.append((classify_label(head.text, self.axes), Label(head.text, CROSSED_LEVEL, passage.line)))
        lead = lead_of(passage.text if is_whole and passage.text.startswith(("**", "__")) else text)
        own: LabelName | None = None
        body, is_name_of_row = text, False
        if lead is not None and lead.text:
            own = classify_label(lead.text, self.axes)
            own = replace(own, look=lead.bracket) if lead.bracket and not own.look else own
            own = self._with_measure(own)
            body = _after_lead(text, lead)
            is_row = re.match(r"\W{0,4}[-+]?[.\d]", body) and self._count(body) >= MIN_DATA
            if own.kind == "generic" and not _is_data_word(own.text) and is_row and not OWN_SENTENCE.search(own.text):
                own = replace(own, kind="name")  # "Full: 18.4 -> 24.9"
            is_name_of_row = (
                bool(is_row) and own.kind == "name" and len(own.text.split()) <= 7 and not re.search(rf"\b{VERB}\b", own.text)
            )
            if own.kind in ("generic", "place") or not (is_name_of_row or self._is_lead(own, lead, body, observes)):
                body = body if own.kind == "generic" else text
                own = None
        return Unit(sentence, body, own, chain, _is_list(body, self.axes), observes and not is_name_of_row)

    def _with_measure(self, own: LabelName) -> LabelName:
        """Leaves out the measure behind a name: "no-KL reward"."""
        match = re.fullmatch(rf"(.+?)[ ,]+(?:{MEASURE_WORD.pattern}|{LENGTH_WORD.pattern})", own.text, re.I)
        if match and match[1].lower() in COMMON:  # "no KL"
            return own
        return replace(own, text=match[1]) if match and own.kind == "name" and self.names.find(own.text) is None else own

    def _is_lead(self, own: LabelName, lead: Lead, body: str, observes: bool) -> bool:
        """Returns whether the lead of a line names what its values are of."""
        if own.kind == "measure":
            return _is_list(body, self.axes)
        if self.names.find(own.text) is not None:
            return True
        if observes or re.search(rf"\b{VERB}\b", own.text) or len(own.text.split()) > 7:
            return False
        return bool(re.search(r"\d", body[:45])) or lead.is_bold

    def _count(self, text: str) -> int:
        """Returns the number of readings in a text, or of values in its longest list without places."""
        masked = self.finder.masked(text)
        readings = readings_in(masked, self.axes, PlaceLists(grids=self.lists.grids, known=self.lists.known))
        return len(readings) or longest_list(masked, self.axes, self.lists)


def _is_data_word(text: str) -> bool:
    return any(word in DATA_WORDS for word in re.findall(r"[a-z]+", text.lower()))


def _after_lead(text: str, lead: Lead) -> str:
    """Returns the text behind its lead, which was read from the same text with or without its marks."""
    start = text.lower().find(lead.text.lower()[:40])
    if start != 0 and start > 3:
        return text
    rest = text[start + len(lead.text) :] if start >= 0 else text
    rest = (
        re.sub(r"^\s*\([^()]{0,80}\)", "", rest)
        if lead.bracket or (rest.lstrip().startswith("(") and ":" in rest[:90] and not re.match(r"\s*\(\s*[-\d.]", rest))
        else rest
    )
    return re.sub(r"^[^\S\n]*\]?(?:,[^:]{1,30})?[:.=]?\s*", "", rest)


def _is_list(body: str, axes: Axes) -> bool:
    """Returns whether a line is a list of values: it begins with a number, a place or a verb without a subject."""
    head = re.sub(r"^(?:also|again|then|first)\b[\s,]*", "", body.strip().lstrip("~*([\"'"), flags=re.I)
    if re.match(r"[-+]?[.\d]|[\[({]", head) or re.match(rf"(?:at |after )?{axes.x_words}\b\s*[\d(~=:#]", head, re.I):
        return True
    if re.match(rf"(?:{MEASURE_WORD.pattern})\s+{axes.x_words}\s\d", head, re.I):
        return True
    if re.match(r"[a-z]{1,3}\d+\s*[:=]", head):
        return True
    if re.match(rf"(?:{MEASURE_WORD.pattern}|{LENGTH_WORD.pattern})\W{{0,3}}[-~.\d]", head, re.I):
        return True
    if re.match(r"(?:starts?|begins?|final value|ends?|peaks?|initial|values?|points?|data)\b", head, re.I):
        return True
    return bool(re.match(rf"{VERB}\b", head)) or (
        len(re.findall(r"\d", head)) > 12 and not re.search(rf"\b{VERB}\b", head[:40])
    )
