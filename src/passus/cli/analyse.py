"""`passus analyse`: statistical findings about runs or published curves."""

import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from passus.cli.options import Json

if TYPE_CHECKING:
    from passus.runs.curve import Curves


def analyse(*sources: Path, json_: Json = False) -> int:
    """Print what runs or published curves show: rises, falls, plateaus, which arms are ahead, each with its evidence.

    Parameters
    ----------
    sources
        Run folders, folders of run folders, curve files (JSON), or names of shipped curves, such as kimi-k1.5.
    json_
        Print one JSON object per finding.
    """
    from passus.analysis import analyse as analysis
    from passus.console import json_line, print_next_commands
    from passus.interop.bundle import opened
    from passus.reports.terminal import print_findings
    from passus.runs.read_curves import load_curves

    with opened(sources) as paths:
        curves = load_curves(paths)
        for remark in repeated_seeds(curves):
            print(remark, file=sys.stderr)
        findings = analysis.analyse(curves)
    if json_:
        for finding in findings:
            print(json_line(finding.to_json(), allow_nan=False))
        return 0
    print_findings(findings)
    print_next_commands(f"passus plot {' '.join(map(str, sources))} --out figure.svg")
    return 0


def repeated_seeds(curves: "Curves") -> list[str]:
    """Returns a remark on every line in which a seed was run more than once."""
    known = [curve for curve in curves.series if curve.origin and curve.origin.seed_known]
    runs = {(curve.name, curve.origin.seed, curve.origin.path) for curve in known if curve.origin}
    count = Counter((name, seed) for name, seed, _ in runs)
    return [
        f"{name}: seed {seed} was run {times} times. Such runs are less independent than runs with different seeds."
        for (name, seed), times in sorted(count.items())
        if times > 1
    ]
