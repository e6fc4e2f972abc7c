"""Values that all series have: where they start, and what a sentence says of everyone."""

import math
import re
from collections.abc import Sequence

from passus.descriptions.chart_data import Unit
from passus.descriptions.layout import Sentence
from passus.descriptions.mentions import Mention
from passus.descriptions.name_stage import NameStage
from passus.descriptions.number_roles import END_WORD, NumberItem, end_of
from passus.descriptions.numbers import Number
from passus.descriptions.pairing import SOMEWHERE_WORD, PairedValue, PlaceLists, items_in, readings_in
from passus.descriptions.segments import clause_spans, is_plain

SHARED = re.compile(
    r"\b(?:all|both|every|everyone|everybody|everything|each|common|shared|share|same|identical|alike|together|jointly|tied"
    r"|coincide|base model|untrained model|(?:two|three|four|five|six|seven|eight) (?:of )?(?!steps|epochs)\w+ (?:all )?"
    r"(?:start|begin|began|set out|open|depart))\b",
    re.I,
)
NOT_SHARED = re.compile(
    r"\b(?:(?:almost|nearly|not|but|except|above|after|over|at) all|all (?:but|the way|along|of (?:its|this))"
    r"|(?:each|every|same|all"
    r"|both) (?:the |these |those |of the )?(?:\w+ )?(?:steps?|epochs?|evaluations?|evals?|times?|measurements?|checkpoints?"
    r"|readings?|places?|points?|hours?|iterations?|rounds?|marks?|panels?|benchmarks?|tasks?|axes|order))\b",
    re.I,
)
BEFORE_TRAINING = re.compile(
    r"\bbefore (?:the |any |all )?(?:training|fine-?tuning|adaptation|we|RL)\b|\b(?:base|un\w+ed|initial"
    r"|starting) (?:model|policy)\b",
    re.I,
)
HEAD_END = re.compile(r"[^,;:.0-9]{0,30}[,;:]")
DEPARTS = re.compile(
    r"\b(?:from|leav\w+|depart\w*|shar\w+|common|same|identical|start\w*|begin\w*|began|open\w*|launch\w*|origin\w*|base|enter\w*"
    r"|set (?:out|off)|together|tied|coincide)\b",
    re.I,
)
ARRIVES = re.compile(
    rf"\b{END_WORD}\b|{SOMEWHERE_WORD.pattern}"
    r"|\b(?:reach\w*|hit\w*|pass(?:es|ed)?|exceed\w*|cross\w*|clear\w*|gain\w*|ris\w+|rose|climb\w*|get|gets|got|surpass\w*|meet"
    r"|converge\w*|later|finally|eventually|plateau\w*|above|below)\b",
    re.I,
)
"""Words of a sentence about where all series are later."""


class SharedStage(NameStage):
    """A text with the values that all its series have."""

    shared: list[tuple[str, str, PairedValue, Sentence]]
    panel: str
    place: Number | None

    def _without_start(self, masked: str, mentions: Sequence[Mention], measure: str, sentence: Sentence) -> str:
        """Takes the value from which all series leave out of the beginning of a sentence: "From a shared 12, A moves to 19"."""
        end = min((mention.start for mention in mentions), default=0)
        head = NOT_SHARED.sub(lambda match: " " * len(match[0]), masked[:end])
        items = items_in(masked, self.axes, self.lists, measure == "tokens") if SHARED.search(head) else []
        own = [item for item in items if item.number.start < end and (item.role != "x" or not item.word)]
        if self.axes.x.low is None or len(own) != 1 or own[0].role not in ("value", "length") or own[0].number.is_range:
            return masked
        cut = end_of(own[0].number)
        if not any(item.number.start > cut and item.role == own[0].role for item in items) or not HEAD_END.match(
            masked, cut, end
        ):
            return masked
        self._add_start(own[0], self.panel, measure, sentence)
        return " " * cut + masked[cut:]

    def _add_start(self, item: NumberItem, panel: str, measure: str, sentence: Sentence) -> None:
        low = self.axes.x.low or 0.0
        is_length = item.role == "length"
        reading = PairedValue(low, low, item.number, is_length)
        self.shared.append((panel, "tokens" if is_length else measure, reading, sentence))

    @staticmethod
    def _is_start(masked: str, items: Sequence[NumberItem]) -> bool:
        """Returns whether a sentence says no more than where all series start: "It was 63% before training"."""
        values = [item for item in items if item.role in ("value", "length")]
        places = [item for item in items if item.role == "x"]
        is_one_each = len({item.role for item in values}) == len(values) > 0
        return is_one_each and BEFORE_TRAINING.search(masked) is not None and {item.word for item in places} == {"start"}

    @staticmethod
    def _is_shared(masked: str, mentions: Sequence[Mention], items: Sequence[NumberItem], panels: int) -> bool:
        """Returns whether a sentence gives a value for all series, and none for one of them alone."""
        text = NOT_SHARED.sub(lambda match: " " * len(match[0]), masked)
        for start, end in clause_spans(masked):
            values = [item for item in items if item.role in ("value", "length") and start <= item.number.start < end]
            first = min((m.start for m in mentions if start <= m.start < end), default=end)
            is_one_each = len(values) <= len({item.role for item in values}) * max(1, panels)
            if values and SHARED.search(text, start, first) and is_one_each:
                return not any(m.start >= end for m in mentions)
        return False

    def _shared_readings(self, unit: Unit, masked: str, panel: str, measure: str) -> None:
        """Reads the values that all series have: "All runs start at 0.3.", "Step 0: 0.29 for both"."""
        lists = PlaceLists(known=self.lists.known)
        readings = readings_in(masked, self.axes, lists, measure == "tokens")
        items = items_in(masked, self.axes, lists, measure == "tokens")
        if any(item.role == "x" for item in items) or is_plain(masked):
            readings += self._at_lead(self.place, items, readings)
        first = min(self.lists.known, default=None)
        for reading in readings:
            if reading.x_low == reading.x_high and reading.x_low in (self.axes.x.low, 0.0, first):
                self.shared.append((panel, "tokens" if reading.is_length else measure, reading, unit.sentence))
        values = [item for item in items if item.role in ("value", "length")]
        departs = DEPARTS.search(masked) and not ARRIVES.search(masked) and len(items) == len(values)
        if not readings and departs and self.axes.x.low is not None and len({item.role for item in values}) == len(values):
            for item in values:
                self._add_start(item, panel, measure, unit.sentence)

    @staticmethod
    def _at_lead(lead: Number | None, items: Sequence[NumberItem], readings: Sequence[PairedValue]) -> list[PairedValue]:
        """Returns the values without a place of their own, at most one of each measure, at the place that holds for them."""
        if lead is None:
            return []
        stop = next((item.number.start for item in items if item.role == "x" and item.number.low != lead.low), math.inf)
        values = [item for item in items if item.role in ("value", "length") and item.number.start < stop]
        read = {reading.y.start for reading in readings}
        known = {reading.is_length for reading in readings if reading.x_low == lead.low}
        open_values = [item for item in values if item.number.start not in read and (item.role == "length") not in known]
        if len({item.role for item in open_values}) != len(open_values):
            return []
        return [PairedValue(lead.low, lead.high, item.number, item.role == "length") for item in open_values]
