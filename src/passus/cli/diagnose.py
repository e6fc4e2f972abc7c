"""`passus diagnose`: why a run does not learn as it should."""

from pathlib import Path

from passus.cli.options import Json


def diagnose(*sources: Path, json_: Json = False) -> int:
    """Print what is wrong with runs: up to three causes with probabilities, their signs, the first bad step, what to try.

    It reads metrics, eval points, and samples, items and settings where the run has them. A fault on purpose ([fault]) is not
    looked up.

    Parameters
    ----------
    sources
        Run folders, or folders of run folders.
    json_
        Print one JSON object per run.
    """
    from passus.console import json_line, print_next_commands
    from passus.diagnosis.diagnose import diagnose as diagnose_trace
    from passus.diagnosis.trace import read_trace
    from passus.errors import UsageError
    from passus.reports.terminal import print_diagnosis
    from passus.runs.item_agreement import check_unverified
    from passus.runs.run_folder import RunFolder, find_runs

    if not sources:
        raise UsageError("no run folders were given", expected="at least one", write="passus diagnose runs/families")
    runs = [run for source in sources for run in find_runs(source)]
    if not runs:
        raise UsageError(f"no runs in {', '.join(map(str, sources))}", expected="folders that `passus run` or `import` wrote")
    for run in runs:
        check_unverified(RunFolder(run))
        diagnosis = diagnose_trace(read_trace(RunFolder(run)))
        if json_:
            print(json_line({"run": str(run)} | diagnosis.to_json(), allow_nan=False))
        else:
            print_diagnosis(str(run), diagnosis)
    if not json_:
        print_next_commands(f"passus show {runs[0]}", f"passus plot {runs[0]} --kind signals --out signals.svg")
    return 0
