"""`passus serve`: the live page of runs."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter


def serve(
    *folders: Path,
    port: int | None = None,
    host: str = "127.0.0.1",
    name: Annotated[list[str] | None, Parameter(negative=())] = None,
    open_: Annotated[bool, Parameter(name="--open", negative=(), show_default=False)] = False,
) -> int:
    """Show runs on a page that grows with them: curves, comparisons, training signals, samples, states and findings.

    The page reads the run folders and writes nothing. Ctrl-C ends it.

    Parameters
    ----------
    folders
        Runs, experiments, or folders of them. Default: runs.
    port
        Port of the page. Default: the first free one from 8470 on.
    host
        Address to listen on. Any other than this machine's own asks for a token, which is printed once.
    name
        A further name by which browsers may address the page. May be repeated.
    open_
        Open the page in a browser.
    """
    from passus.console import print_line
    from passus.errors import UsageError
    from passus.page.assets import check_page_packages

    if port is not None and not 0 <= port < 65536:
        raise UsageError(f"--port {port}", expected="0 to 65535")
    check_page_packages()
    from passus.page.serve import serve as serve_page

    def ready(address: str) -> None:
        print_line(f"page: {address}")
        if open_:
            import webbrowser

            webbrowser.open(address)

    serve_page(list(folders) or [Path("runs")], host, port, ready, name or [])
    return 0
