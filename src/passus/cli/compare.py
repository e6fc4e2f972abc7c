"""`passus compare`: two runs on the same items."""

from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from passus.cli.options import Json


def compare(
    a: Path,
    b: Path,
    *,
    benchmark: str | None = None,
    summary: Literal["last", "area"] = "last",
    fail_on_regression: Annotated[bool, Parameter(negative=(), show_default=False)] = False,
    json_: Json = False,
) -> int:
    """Compare two runs item by item: A minus B with its 95 % CI, and the items that only one of them solves.

    Parameters
    ----------
    a
        Run folder A, the new run.
    b
        Run folder B, the baseline.
    benchmark
        Compare only on this benchmark.
    summary
        last: mean of the last three common eval points. area: area under the learning curve.
    fail_on_regression
        Exit with code 3 if A is significantly below B, on any benchmark (Holm-corrected) or over all of them.
    json_
        Print one JSON object per benchmark.
    """
    from passus.analysis.run_comparison import compare as compare_runs
    from passus.analysis.run_comparison import has_regressed
    from passus.console import json_line, print_next_commands
    from passus.reports.terminal import print_comparison

    comparisons = compare_runs(a, b, benchmark, summary)
    if json_:
        for comparison in comparisons:
            print(json_line(comparison.to_json()))
    else:
        print_comparison(comparisons, a, b, summary)
        print_next_commands(f"passus plot {a} {b} --out figure.svg")
    return 3 if fail_on_regression and has_regressed(comparisons) else 0
