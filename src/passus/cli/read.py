"""`passus read`: a chart description as a curve file."""

from pathlib import Path

from passus.errors import UsageError

NO_POINTS = (
    "the text states no value at an x, so there is nothing to draw or to test\n"
    '  expected: points under the name of each series, such as "* Step 10: 0.5", or a sentence: "A is 0.5 at step 10"'
)


def read(text: Path, *, out: Path) -> int:
    """Convert a chart description to a curve file with every number and claim, and list the claims that were not understood.

    Parameters
    ----------
    text
        Text file with the description.
    out
        The curve file (JSON).
    """
    from passus.console import print_next_commands
    from passus.descriptions.chart_reader import read_chart
    from passus.runs.curve_file import write_curve_file

    description = read_chart(_read_text(text), text.stem, str(text))
    write_curve_file(description, out)
    points = sum(len(curve.points) for curve in description.series)
    print(f"{out}: {len(description.series)} series, {points} points, {len(description.claims)} claims")
    for claim in description.unread:
        print(f"not read, line {claim.line}: {claim.text}")
    if points:
        print_next_commands(f"passus analyse {out}", f"passus plot {out} --out figure.svg")
    else:
        print(NO_POINTS)
    return 0


def _read_text(path: Path) -> str:
    from passus.bounded_json import read_text

    try:
        return read_text(path)
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is not a text file ({error})", expected="a chart description in UTF-8") from None
