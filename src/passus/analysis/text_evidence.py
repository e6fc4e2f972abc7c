"""The points of a text as evidence for its claims."""

import re
from collections import defaultdict
from collections.abc import Iterable

from passus.analysis.evidence import Bound, Evidence, Panel
from passus.analysis.outcomes import Observation
from passus.descriptions.chart_data import ChartData, Point
from passus.descriptions.vocabulary import LOWER_IS_BETTER

MAX_DISAGREEMENTS, MAX_DISAGREEMENT_SHARE = 2, 0.1
"""Places at which sentences of a text may give unlike values, as a number and as a share of all places."""
MOST = 0.6
MAX_STRAY_SHARE = 0.15
"""Share of the values of a panel that may be strays."""
SPREAD = re.compile(r"\b(?:standard errors?|error[- ]bars?)\b", re.I)
LOST = re.compile(
    r"\b(?:suffers?|suffered|without|no|any|slight|small|takes?) (?:a |an |any )?(?:\w+ )?loss(?:es)?\b"
    r"|\bloss(?:es)? (?:of|against|mask)\b|\bloss-\w+",
    re.I,
)
"""Losses that are no measure."""
ERROR = re.compile(
    r"\b(?:errors?(?!(?: bars?|s? of))|error rates?|wer|cer|failures?|failure rates?|hallucinat\w+|violations?"
    r"|lower is better)\b",
    re.I,
)
HIGHER_IS_BETTER = re.compile(
    r"\b(?:accurac\w+|win[- ]rates?|pass@\w+|pass[- ]rates?|scores?|rewards?|success|exact match|avg@\w+|agreement"
    r"|solved|f1|returns?)\b",
    re.I,
)


def text_evidence(data: ChartData) -> Evidence:
    """Returns the points of a text by panel. Those of lists and tables come first, because they have precedence."""
    panels: dict[tuple[str, str], Panel] = {}
    for point in sorted(data.points, key=lambda point: data.rank(point.sentence)):
        key = (point.panel, point.measure)
        if key not in panels:
            panels[key] = Panel(lower_is_better=point.measure == "accuracy" and lower_is_better(data, point.panel))
        _add(panels[key], point, data.scale(point))
    for panel in panels.values():
        _forget_strays(panel)
        _forget_disagreements(panel)
        panel.lower_is_better = panel.lower_is_better and not _rises(panel)
    for (_, measure), panel in panels.items():
        panel.in_shares = measure == "accuracy" and _in_shares(panel)
    listed = {point.sentence for point in data.points if data.is_listed(point.sentence)}
    return Evidence(panels, listed or {point.sentence for point in data.points})


def _add(panel: Panel, point: Point, scale: float) -> None:
    reading, y = point.reading, point.reading.y
    low, high = y.low * scale, y.high * scale
    if reading.x_low == reading.x_high:
        spread = None if y.plus_minus is None else y.plus_minus * scale
        panel.observations.append(Observation(point.series, reading.x_low, low, high, point.sentence, spread))
    else:
        is_throughout = reading.where == "throughout"
        panel.stretches.append(Bound(point.series, reading.x_low, reading.x_high, low, high, is_throughout, point.sentence))


def _forget_strays(panel: Panel) -> None:
    """Leaves out the few values above 1 of a panel whose values are shares: they are places, or counts, that were taken for
    values."""
    panel.observations[:] = [o for o in panel.observations if not (o.x == o.low == o.high and o.x > 1)]
    known: list[Observation | Bound] = [*panel.observations, *panel.stretches]
    beyond = sum(o.high > 1 for o in known)
    if 0 < beyond <= MAX_STRAY_SHARE * len(known):
        panel.observations[:] = [o for o in panel.observations if o.high <= 1]
        panel.stretches[:] = [o for o in panel.stretches if o.high <= 1]


def _forget_disagreements(panel: Panel) -> None:
    """Leaves out places of which several sentences give unlike values, where there are many: then it was not understood what
    the values belong to. A few are mistakes of the text, and are reported."""
    by_place: dict[tuple[str, float], list[Observation]] = defaultdict(list)
    for o in panel.observations:
        by_place[o.series, o.x].append(o)
    unlike = {place for place, known in by_place.items() if any(_disagree(known[0], other) for other in known[1:])}
    if len(unlike) > max(MAX_DISAGREEMENTS, MAX_DISAGREEMENT_SHARE * len(by_place)):
        panel.observations[:] = [o for o in panel.observations if (o.series, o.x) not in unlike]


def _rises(panel: Panel) -> bool:
    """Returns whether most curves of a panel end above their start, as no loss does."""
    curves: dict[str, dict[float, Observation]] = defaultdict(dict)
    for o in panel.observations:
        curves[o.series].setdefault(o.x, o)
    ends = [(row[min(row)].middle, row[max(row)].middle) for row in curves.values() if len(row) > 2]
    return bool(ends) and sum(end > start for start, end in ends) > MOST * len(ends)


def _disagree(a: Observation, b: Observation) -> bool:
    room = max(abs(a.high), abs(b.high)) * 0.05
    return a.sentence != b.sentence and (a.low > b.high + room or b.low > a.high + room)


def _in_shares(panel: Panel) -> bool:
    known: list[Observation | Bound] = [*panel.observations, *panel.stretches]
    return all(o.low >= 0 and o.high <= 1 for o in known)


def lower_is_better(data: ChartData, panel: str) -> bool:
    """Returns whether the values of a panel are losses or errors, by the words nearest to them. No loss is in percent."""
    everything = " ".join(sentence.text for sentence in data.sentences)
    values = [point.reading.y for point in data.points if point.panel == panel and point.measure == "accuracy"]
    is_percent = panel in data.percent_panels or sum(value.unit == "%" for value in values) * 2 > len(values)
    if is_percent and not ERROR.search(" ".join([everything, panel, data.axes.y.label])):
        return False
    if re.search(r"\blower is better\b", everything, re.I):
        return not HIGHER_IS_BETTER.search(panel)
    heads = " ".join(cell for passage in data.passages for _, row in passage.rows[:1] for cell in row)
    for text in (SPREAD.sub(" ", data.axes.y.label), panel, SPREAD.sub(" ", heads)):
        if LOWER_IS_BETTER.search(text):
            return True
        if HIGHER_IS_BETTER.search(text):
            return False
    votes = _votes(_near(data, panel)) or _votes([everything])
    return votes > 0


def _near(data: ChartData, panel: str) -> list[str]:
    """Returns the labels and sentences before the first values of a panel."""
    numbers = [point.sentence for point in data.points if point.panel == panel and point.sentence >= 0]
    if not numbers:
        return [label.text for passage in data.passages if passage.kind == "table" for label in passage.labels][-2:]
    first = min(numbers)
    labels = [label.text for label in data.sentences[first].passage.labels]
    return [*labels[-2:], *(sentence.text for sentence in data.sentences[max(0, first - 3) : first + 1])]


def _votes(texts: Iterable[str]) -> int:
    text = LOST.sub(" ", SPREAD.sub(" ", " ".join(texts)))
    return len(LOWER_IS_BETTER.findall(text)) - len(HIGHER_IS_BETTER.findall(text))
