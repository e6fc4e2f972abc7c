"""Colours, markers and dashes: one look a line in every panel, told apart without colour, and by people who lack a cone.

A family has one look everywhere; methods have theirs where methods are compared; sizes go from light to dark.
"""

import itertools
import re
from collections.abc import Collection, Iterator

from passus.figures.spec import Series, Style, line_of
from passus.runs.curves import NO_TEXT, SIZE, Curve, Origin

# One colour and marker a family, in every figure; the shades can be told apart without red, green or blue cones (tested).
FAMILIES = {
    "Qwen3": ("#2474c8", "o"), "Llama3.2": ("#1c8030", "s"), "SmolLM3": ("#632588", "^"), "Gemma3": ("#2cc5d8", "D"),
    "Qwen2.5": ("#6e6e6e", "v"), "Mistral": ("#e377b4", "P"),
}  # fmt: skip
LIVE = ("#e07b00", "*")
"""The live arm beside frozen ones, whatever its family."""
METHODS = {"grpo": ("#56a8e0", "o"), "mel": ("#f28b88", "^")}
"""Where methods are compared, they have the colours and not the families."""
OTHERS = ["#e07b00", "#0b3c7a", "#c8281e", "#7fd0b0", "#d0be20", "#a03cc8", "#222222"]
MARKERS = "os^DvPX"
DASHES = ["-", "--", "-.", ":", (0, (6, 1.5, 1, 1.5, 1, 1.5)), (0, (8, 3))]
DASH_LENGTHS = {"-": [], "--": [3.7, 1.6], "-.": [6.4, 1.6, 1, 1.6], ":": [1, 1.65]}
"""In line widths, on and off, for whoever draws from a specification."""
REFERENCES = [("#8c8c8c", "x"), ("#8c8c8c", "1"), ("#b4b4b4", "+"), ("#b4b4b4", "2"), ("#8c8c8c", "3"), ("#b4b4b4", "4")]
RAMP = ["#f7fbe6", "#bde5b7", "#77ccbd", "#41adc1", "#2e8cb9", "#296caa", "#264c98", "#212e7f", "#0d1a52"]
"""Light is little, dark is much, in equal steps of lightness: of cells, and of sizes."""
LIGHTEST_LINE = 0.25
"""Where on the ramp the smallest size stands: what is lighter cannot be seen on paper."""

ACCURACY, TOKENS = Style(FAMILIES["Qwen3"][0], "o"), Style(LIVE[0], "s")
"""Of the two axes of a grid."""


def dress(series: list[Series]) -> None:
    """Give each line its colour, marker and dash, the same in every panel."""
    origins = [s.origin for s in series if s.origin]
    by_tuning, one_model = len({o.tuning for o in origins}) > 1, len({o.model for o in origins}) == 1
    methods, sizes = _method_looks(origins), _size_looks(series)

    def wish(s: Series) -> tuple[str, str] | None:
        family = FAMILIES.get(s.family or "")
        if sizes:
            return sizes[line_of(s)]
        if not s.origin:
            alone = (ACCURACY.colour, ACCURACY.marker) if line_of(s) is None else None
            return (LIVE if s.name.startswith("Live ") else family) or METHODS.get(s.name.lower()) or alone
        if methods:
            colour, marker = methods[s.origin.method]
            return colour, family[1] if family and not one_model else marker
        return LIVE if by_tuning and s.origin.tuning == "live" else family

    wishes: dict[str | None, tuple[str, str] | None] = {}
    for s in series:
        if not s.reference:
            wishes.setdefault(line_of(s), wish(s))
    spare = _spare([look for look in wishes.values() if look])
    styles: dict[str | None, Style] = {}
    for line, look in wishes.items():
        # A method's colour comes again, dashed, with another model; a family's or the live arm's stands for one line.
        used = {(style.colour, style.dash) for style in styles.values()}
        dashes = [dash for dash in (DASHES if methods else DASHES[:1]) if look and (look[0], dash) not in used]
        styles[line] = Style(*look, dashes[0]) if look and dashes else _unlike(styles.values(), spare)
    references = itertools.cycle(Style(*look, ":") for look in REFERENCES)
    grays: dict[str, Style] = {}
    for s in series:
        s.style = styles[line_of(s)] if not s.reference else grays.get(s.name) or grays.setdefault(s.name, next(references))


def reader_look(curve: Curve) -> Style:
    """The policy itself as the live arm, frozen readers dashed in their families' colours, controls gray and dotted."""
    if curve.reader == "control":
        return Style(*REFERENCES[2 * (curve.name != NO_TEXT)], ":")
    look = LIVE if curve.reader == "live" else FAMILIES.get(curve.family) or (OTHERS[-1], "X")
    return Style(*look, "-" if curve.reader == "live" else "--")


def sizes_of(series: list[Series]) -> dict[str | None, float]:
    """Parameters of each line, where size is what tells the lines apart; else nothing."""
    lines = {line_of(s): s for s in reversed(series) if not s.reference}
    sizes = {line: s.parameters for line, s in lines.items() if s.parameters}
    stems = {SIZE.sub("", s.origin.model if s.origin else s.name) for s in lines.values()}
    alike = {(s.origin.tuning, s.origin.method) for s in lines.values() if s.origin}
    known = len(lines) == len(set(sizes.values())) > 1
    return sizes if known and len(stems) == 1 and len(alike) < 2 else {}


def _size_looks(series: list[Series]) -> dict[str | None, tuple[str, str]]:
    sizes = sizes_of(series)
    shades = ramp(len(sizes))
    order = sorted(sizes, key=lambda line: sizes[line])
    return {line: (shade, MARKERS[i % len(MARKERS)]) for i, (line, shade) in enumerate(zip(order, shades, strict=True))}


def ramp(n: int) -> list[str]:
    """Colours of n sizes, the smallest first and lightest."""
    return [shade(LIGHTEST_LINE + (1 - LIGHTEST_LINE) * i / max(1, n - 1)) for i in range(n)]


def shade(share: float) -> str:
    """The colour at this share of the ramp."""
    at = min(max(share, 0.0), 1.0) * (len(RAMP) - 1)
    i = min(int(at), len(RAMP) - 2)
    channels = [(int(RAMP[i][c : c + 2], 16), int(RAMP[i + 1][c : c + 2], 16)) for c in (1, 3, 5)]
    return "#" + "".join(f"{round(a + (b - a) * (at - i)):02x}" for a, b in channels)


def _method_looks(origins: list[Origin]) -> dict[str, tuple[str, str]]:
    """Colour and marker of each method, where there are several to compare."""
    names = list(dict.fromkeys(origin.method for origin in origins))
    spare = ((style.colour, style.marker) for style in _spare(METHODS.values()))
    return {name: METHODS.get(name) or next(spare) for name in names} if len(names) > 1 else {}


def _spare(taken: Collection[tuple[str, str]]) -> Iterator[Style]:
    """Looks for lines that have none of their own: first the colours, then the same ones dashed; markers differ too."""
    colours = [colour for colour in OTHERS if colour not in {look[0] for look in taken}] or OTHERS
    markers = [marker for marker in MARKERS if marker not in {look[1] for look in taken}] or list(MARKERS)
    for i in itertools.count():
        again, dash = divmod(i // len(colours), len(DASHES))
        marker = markers[i % len(markers)] if not again else MARKERS[(i + again) % len(MARKERS)]
        yield Style(colours[i % len(colours)], marker, DASHES[dash])


def _unlike(used: Collection[Style], spare: Iterator[Style]) -> Style:
    """The next look that no line has; of hundreds of lines, some must look alike."""
    return next(
        (style for style in itertools.islice(spare, 300) if style not in used), Style(OTHERS[-1], MARKERS[0], DASHES[0])
    )


def family_in(name: str) -> str | None:
    """Of a line that somebody else named: `Frozen Mistral`."""
    return next((family for family in FAMILIES if re.search(rf"(?<![\w.]){re.escape(family)}(?![\w.])", name)), None)
