"""Colours, markers and dashes. A line has one style in all panels; styles are distinguishable without colour vision.

A model family has one style everywhere. Methods have their own where methods are compared. Sizes go from light to dark.
"""

import itertools
import re
from collections.abc import Collection, Iterator, Mapping, Sequence

from passus.figures.spec import Series, Style, line_of
from passus.runs.curve import Curve
from passus.runs.eval_point import NO_TEXT
from passus.runs.origin import SIZE, Origin

Look = tuple[str, str]
"""Colour and marker."""

# The shades are distinguishable without red, green or blue cones (tested).
FAMILIES = {
    "Qwen3": ("#2474c8", "o"), "Llama3.2": ("#1c8030", "s"), "SmolLM3": ("#632588", "^"), "Gemma3": ("#2cc5d8", "D"),
    "Qwen2.5": ("#6e6e6e", "v"), "Mistral": ("#e377b4", "P"),
}  # fmt: skip
LIVE = ("#e07b00", "*")
"""The live arm beside frozen ones, whatever its family is."""
METHODS = {"grpo": ("#56a8e0", "o"), "mel": ("#f28b88", "^")}
"""Methods have these colours where methods are compared; families then have none."""
OTHERS = ["#e07b00", "#0b3c7a", "#c8281e", "#7fd0b0", "#d0be20", "#a03cc8", "#222222"]
MARKERS = "os^DvPX"
DASHES = ["-", "--", "-.", ":", (0, (6, 1.5, 1, 1.5, 1, 1.5)), (0, (8, 3))]
DASH_LENGTHS = {"-": [], "--": [3.7, 1.6], "-.": [6.4, 1.6, 1, 1.6], ":": [1, 1.65]}
"""Lengths on and off in line widths, for plotters that read the JSON specification."""
REFERENCES = [("#7d7d7d", "x"), ("#7d7d7d", "1"), ("#a3a3a3", "+"), ("#a3a3a3", "2"), ("#7d7d7d", "3"), ("#a3a3a3", "4")]
REFERENCE_DASHES = [":", (0, (5, 2)), (0, (1, 3)), (0, (6, 1.5, 1, 1.5)), (0, (9, 3)), (0, (3, 1, 1, 1, 1, 1))]
"""Gray lines differ in their dashes and markers."""
RAMP = ["#f7fbe6", "#bde5b7", "#77ccbd", "#41adc1", "#2e8cb9", "#296caa", "#264c98", "#212e7f", "#0d1a52"]
"""From low to high in equal steps of lightness: for cells of heatmaps, and for model sizes."""
LIGHTEST_LINE = 0.25
"""Place of the smallest size on the ramp. A lighter line could not be seen on paper."""

ACCURACY, TOKENS = Style(FAMILIES["Qwen3"][0], "o"), Style(LIVE[0], "s")
"""Styles of the two axes of a grid."""


def assign_styles(series: list[Series]) -> None:
    """Assigns each line its colour, marker and dash, the same in all panels."""
    origins = [s.origin for s in series if s.origin]
    methods, sizes = _method_looks(origins), _size_looks(series)
    preferred: dict[str | None, Look | None] = {}
    for s in series:
        if not s.reference and line_of(s) not in preferred:
            preferred[line_of(s)] = _preferred_look(s, origins, methods, sizes)
    spare = _spare_styles([look for look in preferred.values() if look])
    styles: dict[str | None, Style] = {}
    for line, look in preferred.items():
        # A method's colour is reused, dashed, for another model; the colour of a family or of the live arm is not.
        used = {(style.colour, style.dash) for style in styles.values()}
        dashes = [dash for dash in (DASHES if methods else DASHES[:1]) if look and (look[0], dash) not in used]
        styles[line] = Style(*look, dashes[0]) if look and dashes else _unused_style(styles.values(), spare)
    references = itertools.cycle(reference_style(n) for n in range(len(REFERENCES)))
    grays: dict[str, Style] = {}
    for s in series:
        s.style = styles[line_of(s)] if not s.reference else grays.get(s.name) or grays.setdefault(s.name, next(references))


def _preferred_look(
    s: Series, origins: Sequence[Origin], methods: Mapping[str, Look], sizes: Mapping[str | None, Look]
) -> Look | None:
    """Returns the look of a line by its size, method, tuning or family; None where it has to take a spare one."""
    family = FAMILIES.get(s.family or "")
    if sizes:
        return sizes[line_of(s)]
    if not s.origin:
        alone = (ACCURACY.colour, ACCURACY.marker) if line_of(s) is None else None
        return (LIVE if s.name.startswith("Live ") else family) or METHODS.get(s.name.lower()) or alone
    if methods:
        colour, marker = methods[s.origin.method]
        one_model = len({origin.model for origin in origins}) == 1
        return colour, family[1] if family and not one_model else marker
    several_tunings = len({origin.tuning for origin in origins}) > 1
    return LIVE if several_tunings and s.origin.tuning == "live" else family


def reference_style(n: int) -> Style:
    """Returns the style of the n-th reference."""
    return Style(*REFERENCES[n], REFERENCE_DASHES[n])


def reader_style(curve: Curve) -> Style:
    """Returns the style of a CoT reader: the policy as the live arm, frozen readers dashed, controls gray and dotted."""
    if curve.reader == "control":
        return Style(*REFERENCES[2 * (curve.name != NO_TEXT)], ":")
    look = LIVE if curve.reader == "live" else FAMILIES.get(curve.family) or (OTHERS[-1], "X")
    return Style(*look, "-" if curve.reader == "live" else "--")


def parameters_by_line(series: Sequence[Series]) -> dict[str | None, float]:
    """Returns the number of parameters of each line if the lines differ only by model size, else an empty dict."""
    lines = {line_of(s): s for s in reversed(series) if not s.reference}
    sizes = {line: s.parameters for line, s in lines.items() if s.parameters}
    stems = {SIZE.sub("", s.origin.model if s.origin else s.name) for s in lines.values()}
    alike = {(s.origin.tuning, s.origin.method) for s in lines.values() if s.origin}
    known = len(lines) == len(set(sizes.values())) > 1
    return sizes if known and len(stems) == 1 and len(alike) < 2 else {}


def _size_looks(series: Sequence[Series]) -> dict[str | None, Look]:
    sizes = parameters_by_line(series)
    shades = ramp(len(sizes))
    order = sorted(sizes, key=lambda line: sizes[line])
    return {line: (shade, MARKERS[i % len(MARKERS)]) for i, (line, shade) in enumerate(zip(order, shades, strict=True))}


def ramp(n: int) -> list[str]:
    """Returns the colours of n sizes, the smallest first and lightest."""
    return [shade(LIGHTEST_LINE + (1 - LIGHTEST_LINE) * i / max(1, n - 1)) for i in range(n)]


def shade(share: float) -> str:
    """Returns the colour at a share of the ramp, from 0 to 1."""
    at = min(max(share, 0.0), 1.0) * (len(RAMP) - 1)
    i = min(int(at), len(RAMP) - 2)
    channels = [(int(RAMP[i][c : c + 2], 16), int(RAMP[i + 1][c : c + 2], 16)) for c in (1, 3, 5)]
    return "#" + "".join(f"{round(a + (b - a) * (at - i)):02x}" for a, b in channels)


def _method_looks(origins: Sequence[Origin]) -> dict[str, Look]:
    """Returns the look of each method if there are several, else an empty dict."""
    names = list(dict.fromkeys(origin.method for origin in origins))
    spare = ((style.colour, style.marker) for style in _spare_styles(METHODS.values()))
    return {name: METHODS.get(name) or next(spare) for name in names} if len(names) > 1 else {}


def _spare_styles(taken: Collection[Look]) -> Iterator[Style]:
    """Yields styles for lines that have no look of their own: new colours first, then the same colours dashed."""
    colours = [colour for colour in OTHERS if colour not in {look[0] for look in taken}] or OTHERS
    markers = [marker for marker in MARKERS if marker not in {look[1] for look in taken}] or list(MARKERS)
    for i in itertools.count():
        cycle, dash = divmod(i // len(colours), len(DASHES))
        marker = markers[i % len(markers)] if not cycle else MARKERS[(i + cycle) % len(MARKERS)]
        yield Style(colours[i % len(colours)], marker, DASHES[dash])


def _unused_style(used: Collection[Style], spare: Iterator[Style]) -> Style:
    """Returns the next style that no line has. With hundreds of lines, some look alike."""
    return next(
        (style for style in itertools.islice(spare, 300) if style not in used), Style(OTHERS[-1], MARKERS[0], DASHES[0])
    )


def family_in(name: str) -> str | None:
    """Returns the model family that a line name contains, as in `Frozen Mistral`."""
    return next((family for family in FAMILIES if re.search(rf"(?<![\w.]){re.escape(family)}(?![\w.])", name)), None)
