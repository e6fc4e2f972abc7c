"""Decides which names are series and which are panels: labels, subjects of sentences, abbreviations."""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence

from passus.descriptions.chart_data import Unit
from passus.descriptions.labels import LabelName, classify_label
from passus.descriptions.layout import Label, Sentence, plain
from passus.descriptions.names import (
    COMMON,
    EVERY,
    LINE_NOUN,
    VERB,
    abbreviations,
    described_lines,
    listed_sizes,
    lists_of_names,
    namey_spans,
)
from passus.descriptions.numbers import numbers_in
from passus.descriptions.pairing import PlaceLists, items_in, readings_in
from passus.descriptions.unit_stage import UnitStage
from passus.descriptions.vocabulary import COLOUR, LENGTH_WORD

PANEL_WORDS = re.compile(r"(?:panel|fig|left|right|top|bottom|middle|cent(?:er|re)|chart|plot|subplot)\b", re.I)
MIN_DATA = 2
"""Readings from which a label has data below it: fewer are remarks."""
LINE_NAMED = re.compile(
    rf"\b(?:line|curve|run|graph) (?:for|of|labelled|called|named) \"?([a-z][\w-]*(?: [\w-]+)?)\"?,? {VERB}\b"
    rf"|\b[Tt]he ([a-z][\w-]*(?: [a-z][\w-]+)?) (?:line|curve|run) {VERB}\b|\blabell?ed \"?([a-z][\w-]*(?: [\w-]+)?)\"?,"
    rf"|\b(?:line|curve), the ([\w.-]+ {LINE_NOUN}),",
)

Vote = Callable[[str, int, Sentence, int], None]


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
        for number, chosen in chosen_panels.items():
            if chosen.text.lower() in with_data:
                self.label_panel[number] = self.names.add_panel(chosen.text)

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

    def _name_sizes(self) -> None:
        """Adds models that are named by their sizes alone."""
        if not self.names.series:
            for size in listed_sizes([sentence.text for sentence in self.data.sentences]):
                self.names.add(size)

    def _name_subjects(self) -> None:
        votes: Counter[str] = Counter()
        order: dict[str, tuple[int, int]] = {}
        panels = {name.lower() for name in self.names.panels}

        def vote(name: str, count: int, sentence: Sentence, place: int) -> None:
            votes[name] += count
            order.setdefault(name, (sentence.number, place))

        open_units = [
            u
            for u in self.data.units.values()
            if u.sentence.number not in self.series_of and u.sentence.number not in self.stated
        ]
        for unit in open_units:
            self._vote(unit, panels, vote)
        for least in (2, 1):  # where one name is a benchmark, others are
            for name in [name for name, count in votes.items() if count >= least and self._is_place_name(name, list(votes))]:
                if least == 2 or panels:
                    self.names.add_panel(name)
                    panels.add(name.lower())
        everything = " ".join(s.text for s in self.data.sentences)
        for name in votes:
            if (
                votes[name] == 1
                and everything.count(name) >= 3
                and re.search(rf"(?<![\w-]){re.escape(name)} {VERB}\b", everything)
            ):
                votes[name] += 1
        accepted = [
            name for name, count in votes.items() if count >= 2 and self.names.find(name) is None and name.lower() not in panels
        ]
        lists = [names for s in self.data.sentences if s.passage.kind != "heading" for names in lists_of_names(s.text)]
        for passage in self.data.passages:
            bold = (
                [plain(match) for match in re.findall(r"\*\*([^*]{1,40})\*\*", passage.text)] if passage.kind == "prose" else []
            )
            lists += [bold] if len(bold) > 1 else []
        for names in lists:
            known = {name.lower() for name in [*accepted, *self.names.series, *self.names.aliases]}
            if sum(name.lower() in known for name in names) * 2 >= len(names) and (len(names) > 2 or not self.names.series):
                accepted += [n for n in names if n.lower() not in known and n.lower() not in panels and self._may_be_series(n)]
                for place, name in enumerate(names):
                    order.setdefault(name, (10**6, place))
        if self.names.series and not any(self._needs(unit) for unit in open_units):
            accepted = [
                name
                for name in accepted
                if name in order and order[name][0] == 10**6 and any(name in names and len(names) > 2 for names in lists)
            ]
        for name in [name for name in accepted if panels and self._is_place_name(name, accepted)]:
            accepted.remove(name)
            self.names.add_panel(name)
        accepted = [
            name for name in accepted if not COLOUR.fullmatch(name) and classify_label(name, self.axes).kind != "measure"
        ]
        for name in sorted(self._without_parts(accepted), key=lambda name: order.get(name, (10**6, 0))):
            self.names.add(name)

    def _is_place_name(self, name: str, candidates: Sequence[str]) -> bool:
        """Returns whether a name is a benchmark rather than a series: values are "on" it, and there are others."""
        pattern = re.compile(rf"(?P<on>\b(?:on|On|in|In)\s+(?:the\s+)?)?(?<![\w-]){re.escape(name)}(?![\w-])")
        found = [match for s in self.data.sentences if s.passage.kind != "heading" for match in pattern.finditer(s.text)]
        return len(found) > 2 and sum(bool(match["on"]) for match in found) >= 0.6 * len(found) and len(candidates) > 1

    def _needs(self, unit: Unit) -> bool:
        """Returns whether a sentence has data of its own and names no known series."""
        return unit.count >= 2 and not unit.observes and not self.finder.find(unit.text) and not EVERY.search(unit.text)

    def _vote(self, unit: Unit, panels: set[str], vote: Vote) -> None:
        text, sentence = unit.text, unit.sentence
        lists = PlaceLists(grids=self.lists.grids, known=self.lists.known)
        values = [reading.y for reading in readings_in(self.finder.masked(text), self.axes, lists)]
        numbers = [
            item.number for item in items_in(text, self.axes, lists) if item.role in ("value", "length") and not item.word
        ]
        if not values and len(numbers_in(text, self.axes.style)) < 4:
            return
        if 2 * len(values) <= len(numbers) or not values:  # "at hour 2, A has 9 %, B 6 % and C 11 %"
            values = numbers
        spans = [(start, name) for start, _, name in namey_spans(text) if name.lower() not in panels]
        for value in values:
            before = [(start, name) for start, name in spans if start < value.start]
            if before:
                vote(before[-1][1], 1, sentence, before[-1][0])
        for match in LINE_NAMED.finditer(text):
            name = next(group for group in match.groups() if group)
            if (
                name.lower() not in COMMON
                and not COLOUR.fullmatch(name)
                and not re.fullmatch(r"(?:solid|dashed|dotted|thick|thin|next|same|other|first|last|second)", name, re.I)
            ):
                vote(name, 2, sentence, match.start())

    def _without_parts(self, accepted: Sequence[str]) -> list[str]:
        """Leaves out names that are part of another one, and remembers them as its alias: "G=8" of "GRPO (G=8)"."""
        kept = list(dict.fromkeys(accepted))
        everything = [*kept, *self.names.series]
        for name in list(kept):
            pattern = rf"\(\s*{re.escape(name)}\s*\)|(?<![\w-]){re.escape(name)}$|^{re.escape(name)} {LINE_NOUN}$"
            longer = [other for other in everything if other.lower() != name.lower() and re.search(pattern, other, re.I)]
            if len(longer) == 1 and (
                "=" in name or re.search(rf"(?: {re.escape(name)}|^{re.escape(name)} .*)$", longer[0], re.I)
            ):
                kept.remove(name)
                self.names.aliases[name] = longer[0]
        return kept

    def _name_abbreviations(self) -> None:
        for sentence in self.data.sentences:
            for place, short in abbreviations(sentence.text):
                before = sentence.text[:place].rstrip(" \"'*`")
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
