"""The form in which passus writes a chart description. It is read back exactly, whatever names it has.

    ## Line Chart: TITLE
    ### Overview
    A line chart of 2 series on 1 benchmark, as passus describes it.
    ### Components/Axes
    * **X-axis:** Labeled "step", ranging from 0 to 40.
    * **Y-axis:** Labeled "accuracy", ranging from 0.1 to 0.6.
    ### Detailed Analysis
    #### Benchmark: AIME24
    1. **GRPO:** 30 items, 4 samples per item.
    * **Trend:** Starts at 0.1 at step 0 and ends higher, at 0.6 at step 40; the largest value is 0.6 at step 40.
    * step 0: 0.1 (0.05 to 0.2; 812 tokens)
    * step 10 to 40: 0.5 to 0.6 throughout
    ### Key Observations
    * GRPO rises.

A text that is not plain is written as a JSON string.
"""

import json
import math
import re
from collections.abc import Iterator

from passus.runs.curve import Curve, CurveClaim, CurvePoint, Curves, CurveStretch

MARK = "as passus describes it."
PLAIN = re.compile(r"[^\W_](?:[\w .,+=()/@%'-]*[\w)%.])?")
NUMBER = r"-?(?:\d+(?:\.\d+)?(?:e[-+]?\d+)?)"
ENTRY = re.compile(
    r"\d+\. \*\*(?P<name>.*):\*\*(?: (?P<n>\d+) items?)?(?:[, ]+(?P<k>\d+) samples? per item)?\.?(?P<again> Another"
    r" series of this name\.)?"
)
POINT = re.compile(
    rf"\* .*? (?P<about_x>~?)(?P<x>{NUMBER}): (?:missing|(?P<about>~?)(?P<y>{NUMBER}))(?: \((?P<more>[^()]*)\))?"
)
STRETCH = re.compile(
    rf"\* .*? (?P<x_low>{NUMBER})(?: to (?P<x_high>{NUMBER}))?: (?P<y_low>{NUMBER}) to (?P<y_high>{NUMBER})(?P<unit>"
    rf" tokens)?(?: (?P<where>throughout|somewhere))?"
)
BOUNDS = (
    (re.compile(rf"({NUMBER}) to ({NUMBER})"), ("low", "high")),
    (re.compile(rf"at least ({NUMBER})"), ("low",)),
    (re.compile(rf"at most ({NUMBER})"), ("high",)),
    (re.compile(rf"({NUMBER}) tokens"), ("tokens",)),
)


def quoted(text: str) -> str:
    """Returns a text as it is where it is plain, else as a JSON string without line breaks, stars and bars."""
    if PLAIN.fullmatch(text) and text.isprintable() and "  " not in text:
        return text
    return always_quoted(text)


def always_quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=not text.isprintable()).replace("*", "\\u002a").replace("|", "\\u007c")


def unquoted(text: str) -> str:
    return str(json.loads(text)) if text.startswith('"') else text


def is_own_form(text: str) -> bool:
    return MARK in text[:2000] and text.startswith("## Line Chart:")


def read_own_form(text: str, source: str = "") -> Curves:
    """Returns the curves of a description that passus wrote."""
    curves = Curves("", "x", "y", [], source=source)
    benchmark, part = "", ""
    for number, line in enumerate(text.split("\n"), 1):
        if number == 1:
            curves.title = unquoted(line.removeprefix("## Line Chart:").strip())
        elif line.startswith("### "):
            part = line[4:]
        elif part == "Key Observations" and line.startswith("* "):
            curves.claims.append(CurveClaim(unquoted(line[2:]), number))
        elif line.startswith("#### Benchmark: "):
            benchmark = unquoted(line.removeprefix("#### Benchmark: "))
        elif axis := re.match(r"\* \*\*([XY])-axis:\*\* Labeled (.*)", line):
            label = json.JSONDecoder().raw_decode(axis[2])[0]
            curves.x, curves.y = (label, curves.y) if axis[1] == "X" else (curves.x, label)
        elif entry := ENTRY.fullmatch(line):
            n, k = (int(entry[key]) if entry[key] else None for key in ("n", "k"))
            curves.series.append(Curve(unquoted(entry["name"]), benchmark, [], n, k))
        elif part == "Detailed Analysis" and curves.series and not line.startswith("* **"):
            _take(curves.series[-1], line, number)
    return curves


def _take(curve: Curve, line: str, number: int) -> None:
    if stretch := STRETCH.fullmatch(line):
        low, high = float(stretch["x_low"]), float(stretch["x_high"] or stretch["x_low"])
        values = float(stretch["y_low"]), float(stretch["y_high"])
        curve.stretches.append(CurveStretch(low, high, *values, stretch["where"] or "", bool(stretch["unit"]), number))
    elif point := POINT.fullmatch(line):
        more = dict(_bounds(point["more"] or ""))
        y = float(point["y"]) if point["y"] else math.nan
        about = bool(point["about"] or point["about_x"])
        curve.points.append(
            CurvePoint(float(point["x"]), y, more.get("low"), more.get("high"), more.get("tokens"), about, line=number)
        )


def _bounds(text: str) -> Iterator[tuple[str, float]]:
    for part in text.split("; "):
        for pattern, names in BOUNDS:
            if match := pattern.fullmatch(part):
                yield from zip(names, map(float, match.groups()), strict=True)
