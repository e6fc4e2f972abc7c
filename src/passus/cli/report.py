"""`passus report`: the answer, the results and all that is behind them, as a document."""

from pathlib import Path


def report(*sources: Path, out: Path | None = None, title: str | None = None, table: Path | None = None) -> int:
    """Write a report: the answer, the results, figures, what cannot be told and what to run next.

    Parameters
    ----------
    sources
        Run folders, folders of run folders, bundles, or curve files (JSON).
    out
        File of the report: one self-contained .html file, or .md with its figures beside it.
    title
        Title of the report.
    table
        File for the table of results: .tex (booktabs), .md or .csv.
    """
    from passus.console import print_next_commands
    from passus.errors import UsageError
    from passus.interop.bundle import opened
    from passus.reports import renderer
    from passus.reports.report import document_of, report_data
    from passus.reports.results_table import check_table_path, write_results

    if out is None and table is None:
        raise UsageError("no file to write", expected="--out, --table or both", write="--out report.html")
    if table is not None:
        check_table_path(table)
    if out is not None:
        renderer.check_path(out)
    if out is not None and out == table:
        raise UsageError(f"--out and --table are both {out}", expected="two files", write=f"--table {out.with_suffix('.csv')}")
    with opened(sources) as paths:
        data = report_data(paths)
        if table is not None:
            write_results(data.results, table)
            print(f"table: {table}")
        if out is not None:
            for path in renderer.write(document_of(data, title), out):
                print(f"{'report' if path == out else 'figure'}: {path}")
    print_next_commands(f"passus analyse {' '.join(map(str, sources))}")
    return 0
