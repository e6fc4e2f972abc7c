"""`passus read`: a chart description as a curve file."""

from pathlib import Path

from passus.errors import UsageError
from passus.formatting import printable_line

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
    from passus.analysis.read_text import read_text
    from passus.console import print_next_commands
    from passus.runs.curve_file import write_curve_file

    description = read_text(read_text_file(text), text.stem, str(text))
    write_curve_file(description, out)
    points = sum(len(curve.points) + len(curve.stretches) for curve in description.series)
    print(f"{out}: {len(description.series)} series, {points} points and ranges, {len(description.claims)} sentences checked")
    for claim in description.claims:
        if claim.verdict in ("supported", "contradicted"):
            print(f"{claim.verdict}, line {claim.line}: {printable_line(claim.text)}\n    {printable_line(claim.because)}")
    for claim in description.unread:
        print(f"not read, line {claim.line}: {printable_line(claim.text)}")
    if points:
        print_next_commands(f"passus analyse {out}", f"passus plot {out} --out figure.svg")
    else:
        print(NO_POINTS)
    return 0


def read_text_file(path: Path) -> str:
    from passus.bounded_json import read_text

    try:
        return read_text(path)
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is not a text file ({error})", expected="a chart description in UTF-8") from None
