"""`passus demo`: the `demo` experiment on the shipped models. Figure and page are updated at every eval point."""

import os
import shlex
import sys
import time
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from passus.cli.options import check_jobs
from passus.errors import PassusError

PAGE_INTERVAL = 10
"""Seconds between two updates of the page, per second that the last one took: the arms need the cores."""


def demo(
    *,
    out: Path = Path("runs/demo"),
    jobs: int | None = None,
    open_: Annotated[bool | None, Parameter(name="--open", show_default=False)] = None,
    page: Annotated[bool | None, Parameter(show_default=False)] = None,
) -> int:
    """Train five small models on the CPU, in about five minutes on two cores. A page shows their curves and ends as a report.

    Parameters
    ----------
    out
        Folder for the run folders, the figure and report.html.
    jobs
        Number of arms that run at the same time. Default: the number of cores.
    open_
        Open the page in a browser. Default: only from a terminal on a desktop.
    page
        Serve the live page while the arms train. Default: where the packages of passus[page] are installed. Without it,
        report.html is written again and again.
    """
    from passus.config import resolve
    from passus.config.experiment import load_experiment
    from passus.console import print_line, print_next_commands
    from passus.launch import runner
    from passus.page.assets import check_page_packages, has_page_packages
    from passus.page.companion import page_beside
    from passus.reports import renderer
    from passus.reports.arm_status import read_arm_status
    from passus.reports.pictures import draw_experiment_figure
    from passus.reports.report import build_report, build_running_report

    if jobs is not None:
        check_jobs(jobs)
    experiment = load_experiment("demo")
    jobs = jobs or min(len(experiment.arms), resolve.default_threads())
    if page:
        check_page_packages()
    folders = [out / arm.name for arm in experiment.arms]
    report = out / "report.html"
    print_line(f"{len(folders)} arm(s), {experiment.arms[0].config.train.steps} steps each")
    made_with = [f"passus demo --out {shlex.quote(str(out))} --jobs {jobs}"]
    next_commands = [
        f"passus show {shlex.quote(str(folders[0]))}",
        f"passus serve {shlex.quote(str(out))}",
        f"passus plot {shlex.quote(str(out))} --y length --out length.png",
        "passus run demo --set train.learning_rate=1e-4 --out runs/slower",
    ]

    not_before = 0.0

    def update_page(live: bool = True) -> None:
        nonlocal not_before
        began = time.monotonic()
        if live and began < not_before:
            return
        try:
            draw_experiment_figure(out, experiment, (".png",) if live else (".png", ".svg"))
            if live or not all(arm.scores for arm in map(read_arm_status, folders)):
                document = build_running_report(folders, experiment.name, made_with, next_commands, live=live)
            else:
                document = build_report(folders, experiment.name, made_with, next_commands)
            renderer.write(document, report)
        except (PassusError, OSError, ValueError) as error:  # a figure that cannot be drawn must not stop the arms
            print(f"figure or report were not written: {error}", file=sys.stderr)
        not_before = time.monotonic() + PAGE_INTERVAL * (time.monotonic() - began)

    with page_beside(out, wanted=has_page_packages() if page is None else page) as address:
        print_line(_places(address, out / f"{experiment.name}.png", report))
        if address is None:
            update_page()
        if _is_wanted(open_):
            _open_in_browser(address or report.resolve().as_uri())
        code = runner.Runner(experiment, [], out, jobs, on_eval=_nothing if address else update_page).run()
    update_page(live=False)
    if code == 0:
        _print_scores(folders)
        print_line(_time_by_phase(folders))
        print_next_commands(*next_commands)
    return code


def _is_wanted(open_: bool | None) -> bool:
    """Returns whether to open the page. Unasked only on a desktop: elsewhere a text browser would take the terminal."""
    has_desktop = sys.platform in ("darwin", "win32") or any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY"))
    unasked = sys.stdout.isatty() and has_desktop and not os.environ.get("SSH_CONNECTION")
    return unasked if open_ is None else open_


def _places(address: str | None, figure: Path, report: Path) -> str:
    """Names the page, and what is written."""
    if address is None:
        return f"  figure: {figure}\n  page:   {report} (reloads itself, and becomes the report)"
    return f"  page:   {address} (live, until the arms have ended)\n  report: {report} (when the arms have ended)"


def _nothing() -> None:
    """Leaves eval points to the live page."""


def _open_in_browser(address: str) -> None:
    import webbrowser

    from passus.console import print_line

    if not webbrowser.open(address):
        print_line(f"no browser was found; the address is {address}")


def _print_scores(folders: list[Path]) -> None:
    """Prints the first, last and best accuracy of every arm."""
    from rich.table import Table
    from rich.text import Text

    from passus.console import rich_console
    from passus.reports.arm_status import read_arm_status, score_cells

    table = Table("arm", "benchmark", "first", "last", "best", caption="Best is a maximum over eval points: biased upwards.")
    for arm in map(read_arm_status, folders):
        for scores in arm.scores:
            shown = [f"{value}\n{interval}" for value, interval in score_cells(scores)]
            table.add_row(*map(Text, (arm.path.name, scores.benchmark, *shown)))
    rich_console().print(table)


def _time_by_phase(folders: list[Path]) -> str:
    """Returns the seconds that all arms spent in rollout, grading, update, evaluation and recording."""
    from passus.runs.run_folder import RunFolder

    runs = [RunFolder(folder) for folder in folders]
    phases = [run.phases() for run in runs]
    seconds = {phase: sum(of_run[phase] for of_run in phases) for phase in phases[0]}
    elapsed = sum(row["time/elapsed"] for run in runs for row in run.metrics()[-1:])
    seconds["recording and saving"] = max(0.0, elapsed - sum(seconds.values()))
    return "time of all arms: " + ", ".join(f"{phase} {spent:.0f} s" for phase, spent in seconds.items())
