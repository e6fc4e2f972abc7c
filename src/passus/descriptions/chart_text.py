"""Chart descriptions: what people and machines write about a figure, read into curves and claims, and written from curves.

A description has a title (`## Line Chart: ...`) and parts (`### Overview`, `### Components/Axes`, `### Detailed Analysis`,
`### Key Observations`, `### Interpretation`). Under the analysis stand entries, one a series or panel, each a bold name with
prose and a list of points:

    1. **Qwen3 (Blue):** 30 items, 4 samples an item.
    * step 10: ~0.5 (0.4 to 0.6; 812 tokens)

`read` takes what is written and no more. A number becomes a point where series, x and value are all told; everything else that
is said of the curves is a claim, word for word, and sentences whose numbers led to nothing are listed as unread. A list is
believed before prose. Axis ranges and ticks are claims, for want of fields. Left out: tables, pictures, other languages.
"""

import json
import math
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import takewhile

from passus.descriptions.claim_parser import (  # fmt: skip
    ANY_KIND,
    HEDGES,
    NUMBER,
    Names,
    is_about_series,
    numbers_in,
    pairs_in,
    quantities_in,
    roles_in,
    to_float,
    x_words,
)
from passus.errors import UsageError
from passus.runs.curve import Claim, Curve, CurvePoint, Curves

MOST_CHARACTERS, MOST_ENTRIES, MOST_SAID = 200_000, 1000, 100_000
"""Of a text; of its series; of points that prose gives, as one sentence can give points to every series of a panel."""
LONGEST_NAME = 100
"""Longer bold words name no series, and longer labels no axis: names are repeated for every claim and point."""

COLOUR = re.compile(
    r"\b(?:blue|green|purple|cyan|gr[ae]y|orange|pink|red|yellow|black|brown|magenta|teal|violet|gold|olive|navy|turquoise)\b",
    re.I,
)
STROKE = re.compile(r"\b(?:lines?|markers?|dashed|solid|dotted)\b", re.I)
PARTS = {
    "overview": r"overview|summary",
    "axes": r"ax[ie]s|component|legend",
    "details": r"detail|analysis|data|content|trend",
    "observations": r"observation|finding",
    "interpretation": r"",
}
LABEL = re.compile(
    r"(?:trends?|key|data|approximate|values?|points?|start|end|peak|visual|notes?|shape|pattern|description|overall|general|"
    r"summary|initial|final)\b", re.I,
)  # fmt: skip
"""Bold words that open a line of an entry, but name no series."""
AGAIN = "Another line of this name."

POINT = re.compile(
    rf"(?P<label>(?:[A-Za-z]+ +)*)(?P<x>~?{NUMBER}) *: *"
    rf"(?:missing|{HEDGES}(?P<y>{NUMBER})(?: ?[-\u2013] ?~?(?P<y2>{NUMBER}))?%?)(?: [a-z]+)? *(?:\((?P<more>[^()]*)\))?\.?"
)


def read(text: str, title: str = "", source: str = "") -> Curves:
    """The curves and claims of a chart description; `title` where it has none of its own."""
    if len(text) > MOST_CHARACTERS:
        raise UsageError(f"a text of {len(text)} characters", expected=f"a chart description, at most {MOST_CHARACTERS}")
    lines = _lines(text)
    axes = _axes(lines)
    entries = _entries(lines, axes)
    if not entries:
        raise UsageError(
            "the text names no series of a chart",
            expected="a chart description",
            write='"### Detailed Analysis", then for each series "* **NAME:** ..." and its points, "* Step 10: ~0.5"',
        )
    made = Curves(axes.title or title, axes.x, axes.y, [entry.curve() for entry in entries], source=source)
    # Lines that only restate the points are those that `describe` would write. They are no claims.
    restated = {_body(line) for line in describe(made).split("\n")}
    names = dict.fromkeys(name for entry in entries for name in (entry.name, entry.benchmark) if name)
    telling = _Telling(axes, Names([name for name in names if len(name) <= LONGEST_NAME]), made)
    for line in lines:
        if not line.used and (line.part == "observations" or line.body not in restated):
            _tell(line, telling)
    made.series = [entry.curve() for entry in entries]
    return made


def describe(curves: Curves) -> str:
    """The same form from curves: points as they are, their trend in words, the claims as observations."""
    points = [point for curve in curves.series for point in curve.points]
    many = len({curve.benchmark for curve in curves.series})
    lines = [
        f"## Line Chart: {_word(curves.title, _plain_title) if curves.title else ''}".rstrip(),
        "### Overview",
        f"A line chart of {len(curves.series)} series on {many} benchmark{'s' * (many != 1)}.",
        "### Components/Axes",
        f"* **X-axis:** Labeled {_json(curves.x)}{_extent(p.x for p in points)}.",
        f"* **Y-axis:** Labeled {_json(curves.y)}{_extent(p.y for p in points)}.",
        "### Detailed Analysis",
    ]
    x = curves.x if re.fullmatch(r"[A-Za-z]+(?: [A-Za-z]+)*", curves.x) else "x"
    benchmark = _benchmark(curves.title)
    seen: set[tuple[str, str]] = set()
    for number, curve in enumerate(curves.series, 1):
        if curve.benchmark != benchmark:
            benchmark = curve.benchmark
            lines.append(f"#### Benchmark: {_word(benchmark, _plain_benchmark)}")
        said = [AGAIN] * ((curve.benchmark, curve.name) in seen) + _size(curve)
        seen.add((curve.benchmark, curve.name))
        lines.append(" ".join([f"{number}. **{_word(curve.name, _plain_entry)}:**", *said]))
        lines.append(f"* **Trend:** {_trend(curve, x)}")
        lines += [f"* {_listed(point, x)}" for point in curve.points]
    lines.append("### Key Observations")
    lines += [f"* {_word(claim.text, _plain_claim)}" for claim in curves.claims]
    return "\n".join(lines) + "\n"


# Lines and sentences


@dataclass
class _Line:
    number: int
    part: str
    body: str
    """Without bullet or number."""
    head: str = ""
    """The entry it stands under."""
    about: "list[_Entry]" = field(default_factory=list)
    used: bool = False
    """Nothing is left to make of it."""
    lead: str = ""
    """The bold words it opens with, or the words of a small heading."""
    rest: str = ""

    def __post_init__(self) -> None:
        bold = re.match(r"\*\*([^*]+)\*\*(:?)\s*", self.body)
        if self.body.startswith("#"):
            self.lead = self.body.lstrip("#").strip()
        else:
            self.lead, self.rest = (bold[1].strip() + bold[2], self.body[bold.end() :]) if bold else ("", self.body)


def _lines(text: str) -> list[_Line]:
    """Every line with words, and the part it stands in. The title, if there is one, is a part of its own."""
    lines: list[_Line] = []
    part, titled = "overview", False
    for number, raw in enumerate(text.split("\n"), 1):
        heading = re.match(r"(#{1,3})(?!#)\s*(\S.*)", raw.strip())
        body = _body(raw)
        if heading:
            found = next(name for name, pattern in PARTS.items() if re.search(pattern, heading[2], re.I))
            if not titled and (len(heading[1]) < 3 or found == "interpretation"):
                lines.append(_Line(number, "title", heading[2], used=True))
            else:
                part = found
            titled = True
        elif body not in ("", "\\n"):  # some machines write a line break as two characters
            lines.append(_Line(number, part, body))
    return lines


def _body(raw: str) -> str:
    return re.sub(r"^(?:[*+•-]|[0-9]{1,4}[.)])\s+", "", raw.strip())


def _statements(body: str) -> list[str]:
    """The sentences of an item. One that is a quoted string is taken whole; one that ends in a colon only leads to others."""
    if _unquoted(body) != body:
        return [_unquoted(body)]
    return [sentence for sentence in _sentences(body.replace("**", "").strip()) if not sentence.endswith(":")]


def _sentences(text: str) -> Iterator[str]:
    begin = 0
    for gap in re.finditer(r"(?:(?<=[.!?])|(?<=[.!?][)\"]))\s+(?=[^\sa-z])", text):
        if not re.search(r"\b(?:vs|e\.g|i\.e|etc|approx|cf|fig)\.$", text[max(0, gap.start() - 9) : gap.start()], re.I):
            yield text[begin : gap.start()]
            begin = gap.end()
    if text[begin:]:
        yield text[begin:]


def _unquoted(text: str) -> str:
    """What a quoted string says; anything else as it is."""
    if len(text) < 2 or not text.startswith('"') or not text.endswith('"'):
        return text
    try:
        said = str(json.loads(text))
        said.encode()  # half a character cannot be written to a file
    except ValueError:
        return text
    return said


# Title, axes and legend


@dataclass
class _Axes:
    title: str = ""
    x: str = ""
    y: str = ""
    ends: tuple[float, float] | None = None
    """First and last x."""
    benchmark: str = ""
    legend: "_Legend" = field(default_factory=lambda: _Legend())
    rows_are_benchmarks: bool = False


class _Legend(list[str]):
    """Names in their order, and their places by what a sentence may begin with, so that not every name is tried."""

    def __init__(self) -> None:
        super().__init__()
        self.places: dict[str, int] = {}
        self.lengths: list[int] = []

    def add(self, name: str) -> None:
        self.places.setdefault(name.lower(), len(self))
        self.append(name)
        self.lengths = sorted({*self.lengths, len(name.lower())})


def _axes(lines: list[_Line]) -> _Axes:
    axes = _Axes()
    legend = heatmap = False
    for line in lines:
        axis = re.match(r"(x|y|horizontal|vertical)[- ]axis", line.lead, re.I)
        if line.part == "title":
            axes.title = _title(line.body)
            axes.benchmark = axes.benchmark or _benchmark(axes.title)
            heatmap = heatmap or bool(re.match(r"heat ?map", line.body, re.I))
        elif line.part == "overview" or line.lead.lower().startswith("title"):
            axes.benchmark = axes.benchmark or _benchmark(line.body)
        elif line.part == "axes" and axis:
            legend = False
            line.head = line.lead.removesuffix(":") if len(line.lead) <= LONGEST_NAME else ""
            _axis(axis[1][0].lower() in "xh", line.rest, axes)
        elif line.part == "axes" and re.search(r"legend|series", line.lead, re.I):
            legend = True
        elif line.part == "axes" and legend and (name := _legend_name(line)) and len(name) <= LONGEST_NAME:
            axes.legend.add(name)
            line.used = True
        else:
            legend = False
    _fill(axes, heatmap)
    return axes


def _title(heading: str) -> str:
    kind, colon, rest = heading.partition(":")
    named = colon and re.search(r"\b(?:charts?|plots?|graphs?|heat ?maps?|figures?)\b", kind, re.I)
    return _unquoted(rest.strip() if named else heading.strip())


def _benchmark(text: str) -> str:
    found = re.search(r"\bbenchmark: *([^(),;\s][^(),;]*)", text, re.I) or re.search(r"\bon the (\S+) benchmark\b", text)
    return found[1].strip() if found else ""


def _axis(is_x: bool, told: str, axes: _Axes) -> None:
    """Label and range of one axis. Of two y axes the first counts: the other one is for lengths."""
    quoted = re.search(r'\blabell?ed\s+(?:as\s+)?("(?:[^"\\]|\\.)*")', told, re.I)
    label = _unquoted(quoted[1]).lower() if quoted else re.split(r"[(,.;:]", told, maxsplit=1)[0].strip().lower()
    if is_x:
        axes.x = axes.x or label
        spans = [q.values for q in quantities_in(told) if q.joint not in ("", "x")]
        told_x = spans[0] if spans else numbers_in(told)
        axes.ends = axes.ends or ((told_x[0], told_x[-1]) if told_x and told_x[0] < told_x[-1] else None)
    else:
        axes.y = axes.y or label


def _legend_name(line: _Line) -> str | None:
    """`Blue: NAME`, `**NAME** - Blue line`, `NAME (blue line with markers)`; None if the line is not of a legend."""
    if line.lead:
        return _plain_name(line.lead) if len(line.rest) < 60 and COLOUR.search(line.rest) else None
    head, colon, tail = line.body.partition(":")
    if colon and COLOUR.search(head) and tail.strip():
        return tail.strip()
    name = _plain_name(line.body)
    return name if name != line.body else None


def _plain_name(lead: str) -> str:
    """A name without its colon and without a bracket that tells its colour."""
    lead = lead.strip().removesuffix(":").rstrip()
    head, _, bracket = lead.rpartition("(")
    if head.strip() and bracket.endswith(")") and (COLOUR.search(bracket) or STROKE.search(bracket)):
        return head.strip()
    return _unquoted(lead)


def _fill(axes: _Axes, heatmap: bool) -> None:
    """Labels that the axes do not give, from the title. Where an axis tells models apart, rows must be benchmarks."""
    measure = re.search(r"\b(accuracy|score|reward|loss|return|error)\b", axes.title, re.I)
    if heatmap and re.search(r"\b(?:models?|size)\b", axes.y):
        axes.rows_are_benchmarks, axes.y = True, measure[1].lower() if measure else ""
    sides = re.split(r"\s(?:vs\.?|versus|against|over)\s", axes.title.lower(), maxsplit=1)
    y, x = sides if len(sides) == 2 else ("y", "x")
    axes.x, axes.y = _label(axes.x, x.strip(), "x"), _label(axes.y, y.strip(), "y")


def _label(*given: str) -> str:
    return next((label for label in given if 0 < len(label) <= LONGEST_NAME), "")


# Entries and points


@dataclass
class _Entry:
    name: str
    benchmark: str
    n: int | None = None
    k: int | None = None
    listed: list[CurvePoint] = field(default_factory=list)
    said: dict[float, dict[str, float]] = field(default_factory=dict)
    """By x: the first value and length that prose gives."""

    def curve(self) -> Curve:
        listed = {point.x for point in self.listed}
        said = [
            CurvePoint(x, given.get("value", math.nan), tokens=given.get("tokens"), approximate=True)
            for x, given in self.said.items()
            if x not in listed
        ]
        points = sorted(self.listed + said, key=lambda p: p.x) if said else list(self.listed)
        return Curve(self.name, self.benchmark, points, self.n, self.k)


def _entries(lines: list[_Line], axes: _Axes) -> list[_Entry]:
    """Series in their order, with listed points. Lines learn which of them they are about."""
    details = [line for line in lines if line.part == "details"]
    known = {name.lower() for name in axes.legend}
    heads = [_head(line, known) for line in details]
    by_legend = any(head is not None and head.lower() in known for head in heads)
    openings = [line.rest for line, head in zip(details, heads, strict=True) if head is not None]
    panels = not by_legend and any(_subject(opening, axes.legend) for opening in openings)
    many = max(len(openings) * (len(axes.legend) if panels else 1), len(axes.legend))
    if many > MOST_ENTRIES:
        raise UsageError(f"a chart description with {many} entries", expected=f"at most {MOST_ENTRIES}")
    found: dict[tuple[str, str, int], _Entry] = {}
    head, about, benchmark = "", list[_Entry](), axes.benchmark
    for line, name in zip(details, heads, strict=True):
        if panel := re.match(r"#+\s*benchmark:(.*)", line.body, re.I):
            benchmark, head, about, line.used = _unquoted(panel[1].strip()), "", [], True
        elif name is not None and by_legend and name.lower() not in known:
            head, about = "", []  # a heading of another sort
        elif name is not None:
            measured = [series for series in axes.legend if not _is_length(series)] if panels else [name]
            panel_name = name if panels or axes.rows_are_benchmarks else benchmark
            head, about = name, [_entry(found, series, panel_name, AGAIN in line.rest) for series in measured]
        elif about and (match := POINT.fullmatch(line.body.replace("**", ""))) and _is_x(match["label"], axes.x):
            line.used = _list(match, about[0])
        line.head, line.about = head, about
        if name is not None:
            _take_size(line.rest, about)
    named = {entry.name.lower() for entry in found.values()}
    for series in axes.legend if not panels else []:
        if series.lower() not in named:
            _entry(found, series, axes.benchmark, False)
            named.add(series.lower())
    return list(found.values())


def _head(line: _Line, known: set[str]) -> str | None:
    """The name of the entry that a line opens, if it opens one."""
    if not line.lead or len(line.lead) > LONGEST_NAME or re.match(r"#+\s*benchmark:", line.body, re.I):
        return None
    name = _plain_name(line.lead)
    if name.lower() in known or line.lead.startswith('"'):
        return name
    return None if LABEL.match(name) or POINT.fullmatch(line.body.replace("**", "")) else name


def _entry(found: dict[tuple[str, str, int], _Entry], name: str, benchmark: str, another: bool) -> _Entry:
    """The entry of this name, as a chart may be described in two passes, or another one where that is said."""
    same = sum(key[:2] == (benchmark, name) for key in found) if another else 0
    return found.setdefault((benchmark, name, same), _Entry(name, benchmark))


def _subject(sentence: str, legend: _Legend) -> str | None:
    """The first name of the legend that a sentence begins with."""
    low = sentence.lower() if legend else ""
    lengths = takewhile(lambda length: length <= len(low), legend.lengths)
    found = [place for length in lengths if (place := legend.places.get(low[:length])) is not None]
    return legend[min(found)] if found else None


def _is_length(name: str) -> bool:
    return bool(re.search(r"\b(?:tokens?|length)\b", name, re.I))


def _is_x(label: str, x: str) -> bool:
    return label.strip().lower() in ("", "x", x.lower()) or bool(re.fullmatch(x_words(x), label.strip(), re.I))


def _list(match: re.Match[str], entry: _Entry) -> bool:
    """Takes a listed point; whether everything in it was understood."""
    values = [to_float(match[key]) for key in ("y", "y2") if match[key]]
    if not all(map(math.isfinite, [to_float(match["x"].lstrip("~")), *values])):
        return False
    y = sum(values) / len(values) if values else math.nan
    more: dict[str, float] = dict(zip(("low", "high"), sorted(values), strict=True)) if len(values) == 2 else {}
    left = []
    for told in (match["more"] or "").split(";"):
        if limits := re.fullmatch(rf" *~?({NUMBER}) to ~?({NUMBER}) *", told):
            more |= {"low": to_float(limits[1]), "high": to_float(limits[2])}
        elif limit := re.fullmatch(rf" *at (least|most) ({NUMBER}) *", told):
            more["low" if limit[1] == "least" else "high"] = to_float(limit[2])
        elif tokens := re.fullmatch(rf" *~?({NUMBER}) tokens *", told):
            more["tokens"] = to_float(tokens[1])
        else:
            left.append(told)
    approximate = bool(re.search(r"~|≈|\b(?:about|around|approximately|roughly|nearly|near)\b", match[0])) or len(values) == 2
    entry.listed.append(CurvePoint(to_float(match["x"].lstrip("~")), y, approximate=approximate, **more))
    return not numbers_in(" ".join(left))


def _take_size(told: str, about: list[_Entry]) -> None:
    if size := re.search(r"(?:^|\. )(?:([0-9]{1,9}) items?)?(?:, )?(?:([0-9]{1,9}) samples? (?:an|per) item)?\.$", told):
        for entry in about:
            entry.n, entry.k = (int(given) if given else None for given in size.groups())


# Claims


@dataclass
class _Telling:
    """What lines are held against, and what is made of them."""

    axes: _Axes
    names: Names
    made: Curves
    said: int = 0
    """Points that prose has given so far."""


def _tell(line: _Line, telling: _Telling) -> None:
    """Makes points, claims or unread sentences of a line."""
    subject = None
    axes, made = telling.axes, telling.made
    in_details = line.part == "details"
    own_name = in_details and (LABEL.match(line.lead) or (line.about and _plain_name(line.lead) == line.head))
    head = Names([line.head])
    for sentence in _statements(line.rest if own_name else line.body):
        subject = _subject(sentence, axes.legend) or subject
        pointed = in_details and _say(sentence, subject, line.about, telling)
        named = not line.head or head.places(sentence)
        claim = Claim(sentence if named else f"{line.head}: {sentence}", line.number)
        if pointed or _asserts(sentence, line, telling.names, axes.x):
            made.claims.append(claim)
        elif quantities_in(sentence, telling.names, axes.x):
            made.unread.append(claim)


def _asserts(sentence: str, line: _Line, names: Names, x: str) -> bool:
    """Whether a sentence says something of the curves or, in the first parts, of the layout of the chart."""
    if line.part == "observations":
        return True
    numbers = roles_in(sentence, names, x)
    if line.part in ("overview", "axes"):
        layout = any(number.role in ("count", "grid") for number in numbers)
        axis = re.search(r"\brang(?:es|ing)\b", sentence) or re.match(r".{0,12}axis", line.lead, re.I)
        return layout or bool(numbers and axis)
    unnumbered = not numbers and (line.about or is_about_series(sentence, names))
    return bool(unnumbered or ANY_KIND.search(sentence))


def _say(sentence: str, subject: str | None, about: list[_Entry], telling: _Telling) -> bool:
    """Takes the points that a sentence of prose gives; whether it gives any."""
    axes = telling.axes
    pairs = pairs_in(sentence, quantities_in(sentence, telling.names, axes.x), axes.x, axes.ends) if about else []
    if not pairs:
        return False
    telling.said += len(pairs) * len(about)
    if telling.said > MOST_SAID:
        raise UsageError("a chart description whose prose gives too many points", expected=f"at most {MOST_SAID}")
    entries = [entry for entry in about if subject in (entry.name, None)] or about
    instead = "value" if _is_length(axes.y) else "tokens" if subject and _is_length(subject) else ""
    for x, value, role in pairs:
        for entry in entries:
            entry.said.setdefault(x, {}).setdefault(instead or role, value)
    return True


# Writing


def _json(text: str) -> str:
    """Quoted; stars are written as codes, so that they are never taken for bold."""
    return json.dumps(text, ensure_ascii=not text.isprintable()).replace("*", "\\u002a")


def _word(text: str, reader: Callable[[str], str]) -> str:
    """As it is where its reader gives it back, else quoted."""
    return text if text.isprintable() and text and reader(text) == text else _json(text)


def _plain_entry(name: str) -> str:
    return _head(_Line(0, "details", f"**{name}:** 1"), set()) or ""


def _plain_title(title: str) -> str:
    return _title(f"Line Chart: {title}")


def _plain_benchmark(benchmark: str) -> str:
    return _unquoted(benchmark.strip())


def _plain_claim(text: str) -> str:
    lines = _lines(f"## Line Chart:\n### Key Observations\n* {text}")[1:]
    read_back = [sentence for line in lines for sentence in _statements(line.body)]
    return read_back[0] if len(read_back) == 1 else ""


def _number(value: float) -> str:
    """The shortest text that is read back as the same number."""
    return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)


def _extent(values: Iterable[float]) -> str:
    known = [float(value) for value in values if not math.isnan(value)]
    return f", ranging from {_number(min(known))} to {_number(max(known))}" if known else ""


def _size(curve: Curve) -> list[str]:
    items = f"{curve.n} item{'s' * (curve.n != 1)}" if curve.n is not None else ""
    samples = f"{curve.k} sample{'s' * (curve.k != 1)} an item" if curve.k is not None else ""
    told = ", ".join(part for part in (items, samples) if part)
    return [f"{told}."] if told else []


def _trend(curve: Curve, x: str) -> str:
    """Start, end and largest value, and where they are."""
    known = [point for point in curve.points if not math.isnan(point.y)]
    if not known:
        return "No values."
    first, last, top = known[0], known[-1], max(known, key=lambda point: point.y)
    start, end, largest = (f"{_value(point)} at {x} {_number(float(point.x))}" for point in (first, last, top))
    if len(known) == 1:
        return f"One value, {start}."
    level = "higher" if last.y > first.y else "lower" if last.y < first.y else "level"
    return f"Starts at {start} and ends {level}, at {end}; the largest value is {largest}."


def _value(point: CurvePoint) -> str:
    return "~" * point.approximate + _number(float(point.y))


def _listed(point: CurvePoint, x: str) -> str:
    """One mark is enough to call a point approximate: on its value or, where that is missing, on its x."""
    missing = math.isnan(point.y)
    low, high, tokens = (None if given is None else _number(float(given)) for given in (point.low, point.high, point.tokens))
    more = [f"{low} to {high}"] if low and high else [f"at least {low}"] if low else [f"at most {high}"] if high else []
    more += [f"{tokens} tokens"] if tokens else []
    at = "~" * (missing and point.approximate) + _number(float(point.x))
    return f"{x} {at}: {'missing' if missing else _value(point)}" + (f" ({'; '.join(more)})" if more else "")
