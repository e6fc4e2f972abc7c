"""`passus report`: the analysis as a document, with figures."""

from pathlib import Path


def report(*sources: Path, out: Path, title: str | None = None) -> int:
    """Write a report: the runs, their curves, the findings with figures, and experiments to run next.

    Parameters
    ----------
    sources
        Run folders, folders of run folders, or curve files (JSON).
    out
        File of the report: one self-contained .html file, or .md with its figures beside it.
    title
        Title of the report.
    """
    from passus.console import print_next_commands
    from passus.reports import renderer
    from passus.reports.report import build_report

    for path in renderer.write(build_report(sources, title), out):
        print(f"{'report' if path == out else 'figure'}: {path}")
    print_next_commands(f"passus analyse {' '.join(map(str, sources))}")
    return 0
