"""Scores of the reader on the corpus.

A point is right if its series, panel, measure, place and value are those of a label. Names are the same if they are equal
without regard to case and punctuation, if one is another word for the other in the text, or if one is part of the other
and of no other label that is left. A sentence has the verdict of the labels that it contains: contradicted if one of them is.

    python tests/helpers/corpus_scores.py tests/descriptions/corpus/seen
"""

import json
import re
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from passus.analysis.claim_check import check_own_numbers
from passus.descriptions.chart_data import ChartData
from passus.descriptions.layout import same_width
from passus.descriptions.point_reader import read_chart_data

ROUNDING = 6e-5
"""Labels have four decimals."""
MIN_QUOTE = 20
"""Characters of a sentence from which it may be part of a longer quote."""


@dataclass
class Counts:
    """Right, wrong and missed answers."""

    right: int = 0
    wrong: int = 0
    missed: int = 0

    @property
    def precision(self) -> float:
        return self.right / max(1, self.right + self.wrong)

    @property
    def recall(self) -> float:
        return self.right / max(1, self.right + self.missed)

    def __str__(self) -> str:
        counts = f"{self.right} right, {self.wrong} wrong, {self.missed} missed"
        return f"precision {self.precision:.3f}, recall {self.recall:.3f} ({counts})"


@dataclass
class Scores:
    points: Counts
    contradicted: Counts
    supported: Counts


def score(folder: Path) -> Scores:
    """Reads every text of a folder and compares what was read with its labels."""
    scores = Scores(Counts(), Counts(), Counts())
    for path in sorted(folder.glob("*.txt")):
        labels = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
        data = read_chart_data(path.read_text(encoding="utf-8"))
        _score_points(data, labels["points"], scores.points)
        _score_claims(data, labels["claims"], scores)
    return scores


def _score_points(data: ChartData, labels: Sequence[dict[str, Any]], counts: Counts) -> None:
    read = _with_label_names(_read_points(data), labels, data.names.aliases)
    used: set[int] = set()
    for point in read:
        same = [n for n, label in enumerate(labels) if _is_same(point, label)]
        new = next((n for n in same if n not in used), None)
        if new is not None:
            used.add(new)
            counts.right += not labels[new].get("optional")
        elif not same:
            counts.wrong += 1
    counts.missed += sum(not label.get("optional") and n not in used for n, label in enumerate(labels))


def _read_points(data: ChartData) -> list[dict[str, Any]]:
    points = []
    for point in data.points:
        reading, scale = point.reading, data.scale(point)
        row: dict[str, Any] = {"series": point.series, "panel": point.panel, "measure": point.measure}
        if reading.x_low == reading.x_high:
            row["x"] = reading.x_low
        else:
            row |= {"x_low": reading.x_low, "x_high": reading.x_high, "where": reading.where}
        values = (reading.y.low * scale, reading.y.high * scale)
        row |= {"y_low": values[0], "y_high": values[1]} if reading.y.is_range else {"y": values[0]}
        points.append(row)
    return points


def _with_label_names(
    points: list[dict[str, Any]], labels: Sequence[dict[str, Any]], aliases: dict[str, str]
) -> list[dict[str, Any]]:
    """Replaces names by those of the labels. One line on several panels may be read as several lines."""
    series, panels = (sorted({label[key] for label in labels}) for key in ("series", "panel"))
    if len(series) == 1 and len(panels) > 1 and {point["panel"] for point in points} == {""}:
        points = [point | {"series": series[0], "panel": point["series"]} for point in points]
    if len(series) == 1 and len({point["series"] for point in points}) == 1:
        points = [point | {"series": series[0]} for point in points]
    series_map = _name_map({point["series"] for point in points}, series, aliases)
    panel_map = _name_map({point["panel"] for point in points}, panels, {})
    if len(panels) == 1:
        panel_map = {name: panels[0] for name in panel_map} if len(panel_map) == 1 else panel_map | {"": ""}
    return [point | {"series": series_map[point["series"]], "panel": panel_map[point["panel"]]} for point in points]


def _name_map(read: Iterable[str], labels: Sequence[str], aliases: dict[str, str]) -> dict[str, str | None]:
    names = sorted(read)
    found: dict[str, str | None] = {}
    for name in names:
        words = {_plain(name), *(_plain(alias) for alias, full in aliases.items() if full == name)}
        found[name] = next((label for label in labels if _plain(label) in words), None)
    for name in (name for name in names if found[name] is None):
        left = [label for label in labels if label not in found.values() and _plain(label) and _plain(name)]
        inside = [label for label in left if _plain(label) in _plain(name) or _plain(name) in _plain(label)]
        found[name] = inside[0] if len(inside) == 1 else None
    return found


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9+=.%]+", "", name.lower())


def _is_same(point: dict[str, Any], label: dict[str, Any]) -> bool:
    if any(point[key] != label[key] for key in ("series", "panel", "measure")):
        return False
    keys = ("x", "x_low", "x_high", "y") if "y" in label else ("x", "x_low", "x_high", "y", "y_low", "y_high")
    if not all(_is_close(point.get(key), label.get(key)) for key in keys):
        return False
    return not (label.get("where") and point.get("where") and label["where"] != point["where"])


def _is_close(a: float | None, b: float | None) -> bool:
    if a is None or b is None:
        return a is b
    return abs(a - b) <= 1e-6 * max(1.0, abs(a), abs(b)) + ROUNDING


def _score_claims(data: ChartData, labels: Sequence[dict[str, Any]], scores: Scores) -> None:
    used: set[int] = set()
    for checked in check_own_numbers(data):
        text = _words(checked.text)
        own = [n for n, label in enumerate(labels) if _contains(text, _words(label["quote"]))]
        used |= set(own)
        verdicts = {labels[n]["verdict"] for n in own}
        truth = next((verdict for verdict in ("contradicted", "supported") if verdict in verdicts), "untestable")
        for verdict, counts in (("contradicted", scores.contradicted), ("supported", scores.supported)):
            is_given = checked.verdict.judgement == verdict
            counts.right += is_given and truth == verdict
            counts.wrong += is_given and truth != verdict
            counts.missed += not is_given and truth == verdict
    for n, label in enumerate(labels):
        scores.contradicted.missed += n not in used and label["verdict"] == "contradicted"
        scores.supported.missed += n not in used and label["verdict"] == "supported"


def _contains(sentence: str, quote: str) -> bool:
    return quote in sentence or (len(sentence) > MIN_QUOTE and sentence in quote)


def _words(text: str) -> str:
    return re.sub(r"[^\w.%=+<>-]+", " ", re.sub(r"[*`_]", "", same_width(text))).strip().lower()


if __name__ == "__main__":
    result = score(Path(sys.argv[1]))
    print(f"points: {result.points}\ncontradicted: {result.contradicted}\nsupported: {result.supported}")
