"""Reads chart descriptions, which people and models write about a figure, into curves and claims.

A description has a title (`## Line Chart: ...`) and parts (`### Overview`, `### Components/Axes`, `### Detailed Analysis`,
`### Key Observations`, `### Interpretation`). The analysis has entries, one per series or panel. Each is a bold name with prose
and a list of points:

    1. **Qwen3 (Blue):** 30 items, 4 samples per item.
    * step 10: ~0.5 (0.4 to 0.6; 812 tokens)

Nothing is added to the text. A number becomes a point where series, x and value are all stated. Every other statement about the
curves is a claim, word for word. Sentences whose numbers were not understood are listed as unread. A list has precedence over
prose. Axis ranges and ticks are claims, because curves have no fields for them. Left out: tables, pictures, other languages.
"""

import re
from dataclasses import dataclass

from passus.descriptions.chart_axes import MAX_NAME, Axes, plain_name, read_axes
from passus.descriptions.chart_lines import Line, line_body, split_lines, statements
from passus.descriptions.chart_series import LABEL, Entry, is_length, read_entries
from passus.descriptions.chart_writer import describe_curves
from passus.descriptions.claim_parser import ANY_KIND, roles_in
from passus.descriptions.names import Names, is_about_series
from passus.descriptions.quantities import pairs_in, quantities_in
from passus.errors import UsageError
from passus.runs.curve import Claim, Curves

MAX_CHARACTERS, MAX_PROSE_POINTS = 200_000, 100_000
"""Limits of a text, and of the points that its prose gives: one sentence can give points to every series of a panel."""


def read_chart(text: str, title: str = "", source: str = "") -> Curves:
    """Returns the curves and claims of a chart description; `title` is used where it has none of its own."""
    if len(text) > MAX_CHARACTERS:
        raise UsageError(f"a text of {len(text)} characters", expected=f"a chart description, at most {MAX_CHARACTERS}")
    lines = split_lines(text)
    axes = read_axes(lines)
    entries = read_entries(lines, axes)
    series = list(entries.by_key.values())
    if not series:
        raise UsageError(
            "the text names no series of a chart",
            expected="a chart description",
            write='"### Detailed Analysis", then for each series "* **NAME:** ..." and its points, "* Step 10: ~0.5"',
        )
    curves = Curves(axes.title or title, axes.x, axes.y, [entry.curve() for entry in series], source=source)
    # Lines that `describe_curves` would write only restate the points. They are no claims.
    restated = {line_body(line) for line in describe_curves(curves).split("\n")}
    names = dict.fromkeys(name for entry in series for name in (entry.name, entry.benchmark) if name)
    prose = _Prose(axes, Names([name for name in names if len(name) <= MAX_NAME]), curves)
    for line in lines:
        if not line.is_used and (line.part == "observations" or line.body not in restated):
            prose.read(line, entries.by_line.get(line.number, []))
    curves.series = [entry.curve() for entry in series]
    return curves


@dataclass
class _Prose:
    """Reads the lines of prose: adds points to entries, and claims and unread sentences to the curves."""

    axes: Axes
    names: Names
    curves: Curves
    point_count: int = 0

    def read(self, line: Line, about: list[Entry]) -> None:
        subject = None
        in_details = line.part == "details"
        repeats_name = in_details and (LABEL.match(line.lead) or (about and plain_name(line.lead) == line.head))
        head = Names([line.head])
        for sentence in statements(line.rest if repeats_name else line.body):
            subject = self.axes.legend.subject(sentence) or subject
            gives_points = in_details and self._take_points(sentence, subject, about)
            is_named = not line.head or head.places(sentence)
            claim = Claim(sentence if is_named else f"{line.head}: {sentence}", line.number)
            if gives_points or self._is_claim(sentence, line, about):
                self.curves.claims.append(claim)
            elif quantities_in(sentence, self.names, self.axes.x):
                self.curves.unread.append(claim)

    def _is_claim(self, sentence: str, line: Line, about: list[Entry]) -> bool:
        """Returns whether a sentence is about the curves or, in the first parts, about the layout of the chart."""
        if line.part == "observations":
            return True
        numbers = roles_in(sentence, self.names, self.axes.x)
        if line.part in ("overview", "axes"):
            is_layout = any(number.role in ("count", "grid") for number in numbers)
            is_axis = re.search(r"\brang(?:es|ing)\b", sentence) or re.match(r".{0,12}axis", line.lead, re.I)
            return is_layout or bool(numbers and is_axis)
        without_numbers = not numbers and (about or is_about_series(sentence, self.names))
        return bool(without_numbers or ANY_KIND.search(sentence))

    def _take_points(self, sentence: str, subject: str | None, about: list[Entry]) -> bool:
        """Adds the points that a sentence gives to their entries. Returns whether it gives any."""
        axes = self.axes
        pairs = pairs_in(sentence, quantities_in(sentence, self.names, axes.x), axes.x, axes.x_range) if about else []
        if not pairs:
            return False
        self.point_count += len(pairs) * len(about)
        if self.point_count > MAX_PROSE_POINTS:
            raise UsageError("a chart description whose prose gives too many points", expected=f"at most {MAX_PROSE_POINTS}")
        entries = [entry for entry in about if subject in (entry.name, None)] or about
        role_of_all = "value" if is_length(axes.y) else "tokens" if subject and is_length(subject) else ""
        for x, value, role in pairs:
            for entry in entries:
                entry.in_prose.setdefault(x, {}).setdefault(role_of_all or role, value)
        return True
