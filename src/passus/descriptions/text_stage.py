"""What all stages of reading a text share: its sentences, names and places so far."""

import re
from collections import defaultdict

from passus.descriptions.chart_data import ChartData, Unit
from passus.descriptions.labels import classify_label
from passus.descriptions.layout import Label, Sentence
from passus.descriptions.mentions import Mentions
from passus.descriptions.names import (
    COMMON,
    INNER_LEAD,
    VERB,
)
from passus.descriptions.tables import ReadTable

OBSERVES = re.compile(
    r"\b(?:observ\w*|obs|findings?|interpret\w*|insights?|patterns?|compar\w*|conclusions?|takeaways?|stands? out"
    r"|remarks?|auto-remarks|discussion|trends?|notable"
    r"|verification|todo|questions?|strengths?|weaknesses?|next|notes? on|checks|key points|summary)\b",
    re.I,
)  # fmt: skip
PARTICIPLE = re.compile(r"(?:drawn|shown|plotted|colou?red|rendered|depicted|marked|displayed|given|printed|labell?ed)", re.I)
HAS_DATA = re.compile(r"\b(?:data|points?|values?|readings?|numbers)\b", re.I)


class TextStage:
    """A text that is being read."""

    def __init__(self, data: ChartData, is_closed: bool = False) -> None:
        self.data, self.axes, self.names = data, data.axes, data.names
        self.is_closed = is_closed
        """Whether all names are known from elsewhere."""
        self.tables: dict[int, ReadTable] = {}
        self.sentences_of: dict[int, list[Sentence]] = defaultdict(list)
        for sentence in data.sentences:
            self.sentences_of[id(sentence.passage)].append(sentence)
        self.stated = {axis.number for axis in (self.axes.x, self.axes.y, self.axes.second) if axis.number >= 0}
        self.title_line = next((passage.line for passage in data.passages if passage.kind == "heading"), 0)
        self._finder: tuple[object, Mentions] | None = None
        self.lists = data.lists

    @property
    def finder(self) -> Mentions:
        key = (tuple(self.names.series), tuple(self.names.aliases), tuple(self.names.colours))
        if self._finder is None or self._finder[0] != key:
            self._finder = (key, Mentions(self.names))
        return self._finder[1]

    def _is_panel(self, name: str) -> bool:
        return any(panel.lower() == name.lower() for panel in self.names.panels)

    def _may_be_series(self, name: str) -> bool:
        label = classify_label(name, self.axes)
        words = name.split()
        if PARTICIPLE.fullmatch(name):  # "Robin-700M, drawn in teal"
            return False
        return label.kind == "name" and len(words) <= 6 and not re.search(rf"\b{VERB}\b", name) and name.lower() not in COMMON

    def _observes(self, label: Label) -> bool:
        """Returns whether a label stands above remarks rather than data. The title of the text says nothing about that."""
        return bool(label.line != self.title_line and OBSERVES.search(label.text) and not HAS_DATA.search(label.text))

    def _inner_leads(self, unit: Unit) -> list[tuple[int, str]]:
        """Returns names that stand before their values in a line with several, with their places."""
        found = [(m.start("name"), m["name"].strip(" `")) for m in INNER_LEAD.finditer(unit.text)]
        named = [(place, name) for place, name in found if classify_label(name, self.axes).kind == "name"]
        return named if len(named) > 1 or (unit.lead is not None and named) else []

    def _title(self) -> str:
        """Returns the first heading, which names the model of a text with one series."""
        heading = next((p.text for p in self.data.passages if p.kind == "heading"), "")
        return heading if len(heading) <= 60 else ""
