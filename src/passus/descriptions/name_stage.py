"""Decides which names are series and which are panels: labels, subjects of sentences, abbreviations."""

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Sequence
from dataclasses import replace

from passus.descriptions.chart_data import Unit
from passus.descriptions.labels import LabelName, classify_label
from passus.descriptions.layout import Label
from passus.descriptions.legend_names import described_lines
from passus.descriptions.name_aliases import absences, ends_of_names, names_in_brackets
from passus.descriptions.names import (
    EVERY,
    LINE_NOUN,
    abbreviations,
    namey_spans,
)
from passus.descriptions.numbers import numbers_in
from passus.descriptions.prose_names import NameFinder
from passus.descriptions.sentence_subjects import plain_subject_of, subject_of
from passus.descriptions.series_nouns import nouns_of
from passus.descriptions.unit_stage import UnitStage
from passus.descriptions.vocabulary import COLOUR, LENGTH_WORD, MEASURE_WORD

PANEL_WORDS = re.compile(r"(?:panel|fig|left|right|top|bottom|middle|cent(?:er|re)|chart|plot|subplot)\b", re.I)
MIN_SUBJECT_DATA = 3
"""Readings from which the subject of a sentence is a series."""
MIN_DATA = 2
"""Readings from which a label has data below it: fewer are remarks."""


CODE_WORDS = re.compile(r"(?<!\w)`([\w.+-]{2,30})`(?!\w)")
OUR_METHOD = re.compile(
    r"\b(?P<name>[Oo]ur (?:method|approach|model|policy|variant))(?: [a-z]+){1,2} [\d.]+ ?%?(?:, (?:and )?[\d.]+ ?%?){2}"
)
CLAUSES = re.compile(r";\s|,\s(?:and|whereas|while|but)\s")
MARKED_WORDS = re.compile(r"(?<!\w)(?P<mark>`|\*\*)([^*`\n]{2,30})(?P=mark)(?!\w)")


class NameStage(UnitStage):
    """A text whose series and panels are named."""

    def _name_labels(self) -> None:
        units = self.data.units.values()
        below: Counter[int] = Counter()
        for unit in units:
            for _, place in unit.chain:
                below[place.line] += unit.count
        siblings: dict[tuple[int, int], set[int]] = defaultdict(set)
        kinds: dict[tuple[int, int], set[str]] = defaultdict(set)
        for unit in units:
            parent = 0
            for label, place in unit.chain:
                if label.kind in ("name", "panel", "measure"):
                    if below[place.line] >= MIN_DATA and not self._observes(place):
                        siblings[place.level, parent].add(place.line)
                        kinds[place.level, parent].add(label.kind)
                    parent = place.line
        measures = {
            label.text.lower()
            for unit in units
            for label, place in unit.chain
            if label.kind == "measure" and below[place.line] >= MIN_DATA
        }
        measures_are_panels = len([text for text in measures if not LENGTH_WORD.search(text)]) > 1
        self.series_of, self.label_panel = self.data.series_of, self.data.label_panel
        scopes = {}
        for unit in units:
            names: list[LabelName] = []
            panels: list[LabelName] = []
            parent = 0
            for label, place in unit.chain:
                if label.kind not in ("name", "panel", "measure"):
                    continue
                has_siblings = len(siblings[place.level, parent]) > 1 and place.line in siblings[place.level, parent]
                if label.kind == "measure":
                    is_panel = measures_are_panels or kinds[place.level, parent] - {"measure"}
                    if is_panel and has_siblings and not LENGTH_WORD.search(label.text):
                        panels.append(label)
                elif self.names.find(label.text) is not None or self._is_panel(label.text):
                    names.append(label)
                elif has_siblings or (label.kind == "panel" and place.line != self.title_line) or self._is_alone(place, below):
                    (panels if label.kind == "panel" else names).append(label)
                parent = place.line
            if unit.lead is not None and unit.lead.kind == "name":
                names.append(unit.lead)
            scopes[unit.sentence.number] = (unit, names, panels)
        self._settle(scopes)
        inner = [(unit, name) for unit in units if not unit.observes for _, name in self._inner_leads(unit)]
        for sentence in self.data.sentences:
            for name, look in described_lines(sentence.text):
                if (known := self.names.find(name)) is not None:
                    self.names.add_look(known, look)
        seen = Counter(name.lower() for _, name in inner)
        for unit, name in inner:
            if self._may_be_series(name) and (seen[name.lower()] > 1 or len(self._inner_leads(unit)) > 1):
                self.names.add(name)

    def _is_alone(self, label: Label, below: Counter[int]) -> bool:
        """Returns whether a list item in bold is the only one with data: a chart with one line."""
        return label.is_head and below[label.line] >= MIN_DATA and not self._observes(label)

    def _settle(self, scopes: dict[int, tuple[Unit, list[LabelName], list[LabelName]]]) -> None:
        """Decides for every unit which of its labels is the series, and which the panel."""
        inner = Counter(names[-1].text.lower() for unit, names, _ in scopes.values() if names and unit.count and unit.is_list)
        outer = Counter(name.text.lower() for unit, names, _ in scopes.values() if unit.count for name in names[:-1])
        chosen_panels: dict[int, LabelName] = {}
        later: dict[int, LabelName] = {}
        for number, (unit, names, panels) in scopes.items():
            own = [name for name in names if not self._is_panel(name.text)]
            panels = [*panels, *(name for name in names if self._is_panel(name.text))]
            if own and unit.count and not unit.is_list and unit.lead is None and self._inline_names(unit.text):
                panels = [*panels, *own]
                own = []
            while own and outer[own[-1].text.lower()] > inner[own[-1].text.lower()] and self.names.find(own[-1].text) is None:
                panels = [*panels, own.pop()]
            if len(own) > 1:
                panels, own = [*own[:-1], *panels], own[-1:]
            if own and not unit.observes and unit.count and unit.is_list:
                self.series_of[number] = self._series_name(own[-1])
            elif own and not unit.observes:  # a sentence under a label: its series, if that has data anywhere
                later[number] = own[-1]
            chosen = next((p for p in reversed(panels) if self.names.find(p.text) is None), None)
            if chosen is not None:
                chosen_panels[number] = chosen
        self.series_of |= {n: self._series_name(label) for n, label in later.items() if self.names.find(label.text)}
        with_data = {chosen.text.lower() for number, chosen in chosen_panels.items() if scopes[number][0].count}
        if _are_two_measures(with_data):
            self._take_for_measures([unit for unit, _, _ in scopes.values()], with_data)
            return
        for number, chosen in chosen_panels.items():
            if chosen.text.lower() in with_data:
                self.label_panel[number] = self.names.add_panel(chosen.text)

    @staticmethod
    def _take_for_measures(units: Sequence[Unit], texts: Collection[str]) -> None:
        """Takes labels for those of measures rather than of panels."""
        for unit in units:
            unit.chain = [
                (replace(label, kind="measure"), place) if label.text.lower() in texts else (label, place)
                for label, place in unit.chain
            ]

    def _series_name(self, label: LabelName) -> str:
        """Adds a series, without a bracket that its name has nowhere else."""
        known = self.names.find(label.text)
        name = label.text
        bare = re.sub(r"\s*\([^()]*\)$", "", name).strip()
        if known is None and bare and bare != name:
            whole = sum(name.lower() in sentence.text.lower() for sentence in self.data.sentences)
            if whole < 2:
                name = bare
        name = self.names.add(name)
        if label.look:
            self.names.add_look(name, label.look)
        return name

    def _inline_names(self, text: str) -> bool:
        """Returns whether a sentence has a subject of its own: a name before its first number."""
        first = next(iter(numbers_in(self.finder.masked(text), self.axes.style)), None)
        if first is None:
            return False
        head = text[: first.start]
        return bool(self.finder.find(head)) or any(True for _ in namey_spans(head)) or bool(EVERY.search(head))

    def _name_subjects(self) -> None:
        """Adds series and benchmarks that stand in prose, where labels and tables do not name the series of all data."""
        units = [u for u in self.data.units.values() if u.sentence.number not in self.series_of]
        finder = NameFinder([s.text for s in self.data.sentences], self._marked_words())
        for unit in units:
            finder.read(unit.text, unit.sentence.number)
        for passage in self.data.passages:
            if passage.kind == "heading":
                finder.read_heading(passage.text)
        self._add_benchmarks(finder)
        accepted = self._accepted(finder.series(), finder)
        is_settled = len(self.names.series) > 1 and not any(self._needs(unit) for unit in units)
        if not accepted and not self.names.series:  # a short text has each name once
            accepted = self._accepted(finder.owners(), finder)
        accepted = [] if is_settled else accepted
        accepted += self._listed_beside(accepted, finder)
        self.owners = finder.data_owners()
        accepted += [name for name in self._counted_code() if name not in accepted and self.names.find(name) is None]
        for name in sorted(self._without_parts(accepted), key=finder.first):
            self.names.add(name)
        for match in OUR_METHOD.finditer(finder.everything):
            self.names.add(match["name"])
        self._name_unnamed([unit for unit in units if not any(name in unit.text for name in finder.people)])

    def _name_unnamed(self, units: Sequence[Unit]) -> None:
        """Adds the subjects of sentences that have as many values as those of a series, but name none."""
        for unit in units:
            if unit.count < MIN_SUBJECT_DATA or unit.observes or unit.lead is not None or unit.sentence.number in self.stated:
                continue
            for part in CLAUSES.split(unit.text):
                self._name_subject(part)
        if not self.names.series:
            own = [unit for unit in units if unit.count > MIN_SUBJECT_DATA and not unit.observes and unit.lead is None]
            plain = list(dict.fromkeys(name for unit in own if (name := plain_subject_of(unit.text))))
            for name in plain if len(plain) > 1 else ():
                self.names.add(name)

    def _name_subject(self, text: str) -> None:
        """Adds the subject of a clause that has a list of values."""
        if len(numbers_in(text, self.axes.style)) < MIN_SUBJECT_DATA or self.finder.find(text):
            return
        name = subject_of(text)
        if name and self._is_new(name) and self._may_be_series(name):
            self.names.add(name)

    def _accepted(self, names: Sequence[str], finder: NameFinder) -> list[str]:
        """Leaves out names that are known, and words that name no series unless the text introduces them."""
        return [n for n in names if self._is_new(n) or (finder.is_introduced(n) and self.names.find(n) is None)]

    def _listed_beside(self, accepted: Sequence[str], finder: NameFinder) -> list[str]:
        """Returns names that the text enumerates together with series."""
        known = {name.lower() for name in [*accepted, *self.names.series, *self.names.aliases]}
        found = []
        for row in finder.lists:
            is_long = len(row) > 2 or not self.names.series or all(finder.mentions(name) > 2 for name in row)
            if is_long and sum(name.lower() in known for name in row) * 2 >= len(row):
                new = [name for name in row if name.lower() not in known and self._is_new(name) and self._may_be_series(name)]
                known |= {name.lower() for name in new}
                found += new
        return found

    def _counted_code(self) -> list[str]:
        """Returns the words that are set as code, where the text has as many branches, runs or the like."""
        texts = [passage.text for passage in self.data.passages if passage.kind in ("prose", "item")]
        found = list(dict.fromkeys(match[1] for text in texts for match in CODE_WORDS.finditer(text)))
        return found if len(found) > 1 and nouns_of(texts, len(found)) else []

    def _marked_words(self) -> list[str]:
        """Returns words of prose that are set in bold or as code."""
        texts = [passage.text for passage in self.data.passages if passage.kind in ("prose", "item")]
        return [match[2] for text in texts for match in MARKED_WORDS.finditer(text)]

    def _is_new(self, name: str) -> bool:
        is_measure = classify_label(name, self.axes).kind in ("measure", "generic")
        return self.names.find(name) is None and not self._is_panel(name) and not is_measure and not COLOUR.fullmatch(name)

    def _add_benchmarks(self, finder: NameFinder) -> None:
        """Adds what values are on as panels, where there are several."""
        places = [
            name
            for name in finder.places()
            if self.names.find(name) is None and not any(name.lower() in known.lower() for known in self.names.series)
        ]
        if len(places) + len(self.names.panels) > 1:
            for name in places:
                self.names.add_panel(name)

    def _needs(self, unit: Unit) -> bool:
        """Returns whether a sentence has data of its own and names no known series."""
        is_open = unit.count >= 2 and unit.sentence.number not in self.stated
        return is_open and not unit.observes and not self.finder.find(unit.text) and not EVERY.search(unit.text)

    def _without_parts(self, accepted: Sequence[str]) -> list[str]:
        """Leaves out names that are part of another one, and remembers them as its alias: "G=8" of "GRPO (G=8)"."""
        kept = list(dict.fromkeys(accepted))
        everything = [*kept, *self.names.series]
        for name in list(kept):
            pattern = rf"\(\s*{re.escape(name)}\s*\)|(?<!\w){re.escape(name)}$|^{re.escape(name)} {LINE_NOUN}$"
            longer = [other for other in everything if other.lower() != name.lower() and re.search(pattern, other, re.I)]
            if longer and {name.lower(), *(other.lower() for other in longer)} <= self.owners:
                continue  # "GRPO" beside "Dr. GRPO": each has values of its own
            if len(longer) == 1 and (
                "=" in name or re.search(rf"(?: {re.escape(name)}|^{re.escape(name)} .*)$", longer[0], re.I)
            ):
                kept.remove(name)
                self.names.aliases[name] = longer[0]
        return kept

    def _name_abbreviations(self) -> None:
        for sentence in self.data.sentences:
            for place, short in abbreviations(sentence.text):
                before = re.sub(rf" {LINE_NOUN}$", "", sentence.text[:place].rstrip(" \"'*`"))
                full = next(
                    (n for n in sorted(self.names.series, key=len, reverse=True) if before.lower().endswith(n.lower())), None
                )
                known = self.names.find(short)
                if PANEL_WORDS.match(short):
                    continue
                if full is not None and short != full and not COLOUR.search(short) and not numbers_in(short, self.axes.style):
                    self._alias(short, full)
                elif known == short and full is None:  # the longer name stands nowhere else
                    spans = list(namey_spans(before + " x"))
                    if (
                        spans
                        and spans[-1][1] >= len(before) - 1
                        and spans[-1][2] != short
                        and self._may_be_series(spans[-1][2])
                    ):
                        self._alias(short, spans[-1][2])

    def _name_parts(self) -> None:
        """Adds other words for series: ends of names that begin alike, and what stands in brackets behind several."""
        text = "\n".join(sentence.text for sentence in self.data.sentences)
        for short, full in ends_of_names(self.names.series, text).items():
            self._alias(short, full)
        for other, name in absences(self.names.series, text).items():
            if self.names.find(other) is None:
                self.names.aliases[other] = name
        for other, name in names_in_brackets(text).items():
            if self.names.find(name) is not None and self.names.find(other) is None:
                self.names.aliases[other] = self.names.find(name) or name

    def _alias(self, short: str, full: str) -> None:
        """Makes one name of two: the longer one."""
        if short in self.names.series:
            self.names.series[self.names.series.index(short)] = full
            self.names.series = list(dict.fromkeys(self.names.series))
            for number, name in self.series_of.items():
                self.series_of[number] = full if name == short else name
        self.names.aliases[short] = full

    def _forget_others(self, series: list[str], panels: list[str]) -> None:
        """Leaves out all names but these."""
        self.names.series[:], self.names.panels[:] = series, panels
        self.names.aliases = {alias: name for alias, name in self.names.aliases.items() if name in series}
        self.names.colours = {look: name for look, name in self.names.colours.items() if name in series}
        for kept, names in ((self.series_of, series), (self.label_panel, panels)):
            for number in [number for number, name in kept.items() if name not in names]:
                del kept[number]


def _are_two_measures(labels: Collection[str]) -> bool:
    """Returns whether labels name the two measures of one chart: a length, and what it is shown beside."""
    lengths = [label for label in labels if LENGTH_WORD.search(label)]
    return len(labels) == 2 and len(lengths) == 1 and all(LENGTH_WORD.search(t) or MEASURE_WORD.search(t) for t in labels)
