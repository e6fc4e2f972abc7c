"""`passus analyse`: statistical findings about runs or published curves."""

from pathlib import Path

from passus.cli.options import Json


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
    from passus.reports.terminal import print_findings
    from passus.runs.read_curves import load_curves

    findings = analysis.analyse(load_curves(list(sources)))
    if json_:
        for finding in findings:
            print(json_line(finding.to_json(), allow_nan=False))
        return 0
    print_findings(findings)
    print_next_commands(f"passus plot {' '.join(map(str, sources))} --out figure.svg")
    return 0
