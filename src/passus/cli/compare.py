"""`passus compare`: two runs, or two groups of runs, on the same items."""

from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from passus.cli.options import Json


def compare(
    paths: Annotated[list[Path], Parameter(negative=())],
    /,
    *,
    by: str | None = None,
    benchmark: str | None = None,
    summary: Literal["last", "area"] = "last",
    fail_on_regression: Annotated[bool, Parameter(negative=(), show_default=False)] = False,
    json_: Json = False,
) -> int:
    """Compare two runs, or two groups of runs, item by item: A minus B with its 95 % CI, and the items that only one solves.

    With two runs or more on both sides, it is a difference of configurations,
    otherwise one of checkpoints.

    Parameters
    ----------
    paths
        A (a run, a folder of runs, or a bundle) and B (the baseline). More are grouped by all settings but the seed, the first
        in A.
    by
        Group the runs by this field instead, such as method.name.
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
    from passus.analysis.run_groups import compared_runs
    from passus.console import json_line, print_next_commands
    from passus.interop.bundle import opened
    from passus.reports.terminal import print_comparison

    with opened(paths) as folders:
        runs = compared_runs(folders, by)
        comparisons = compare_runs(runs, benchmark, summary)
        if json_:
            for comparison in comparisons:
                print(json_line(comparison.to_json() | {"only_seed": runs.only_seed}))
        else:
            print_comparison(comparisons, runs, summary, fail_on_regression)
    if not json_:
        print_next_commands(f"passus plot {' '.join(map(str, paths))} --out figure.svg")
    return 3 if fail_on_regression and has_regressed(comparisons) and not runs.only_seed else 0
