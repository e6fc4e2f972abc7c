"""The demo: `families` on the shipped models, with a figure and a page that grow as the arms learn."""

import shlex
import sys
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from passus.config import tables
from passus.config.experiment import load_experiment
from passus.console import say, say_next
from passus.errors import PassusError
from passus.launch import runner
from passus.reports import renderer, report, status_page
from passus.runs.run_folder import RunFolder


def run(out: Path, jobs: int | None) -> int:
    loaded = load_experiment("families")
    jobs = jobs or min(len(loaded.arms), tables.default_threads())
    folders = [out / arm.name for arm in loaded.arms]
    shown = out / "report.html"
    say(f"{len(folders)} arm(s), {loaded.arms[0].config.train.steps} steps each; these grow as the arms learn:")
    say(f"  figure: {out / loaded.name}.png\n  report: {shown}")
    made = [f"passus demo --out {shlex.quote(str(out))} --jobs {jobs}"]
    ahead = [f"passus show {shlex.quote(str(folders[0]))}", f"passus plot {shlex.quote(str(out))} --y length --out length.png"]
    ahead.append("passus run families --set train.learning_rate=1e-4 --out runs/slower")

    def redraw(live: bool = True) -> None:
        try:
            status_page.draw(out, loaded, (".png",) if live else (".png", ".svg"))
            if live or not all(arm.scores for arm in map(status_page.read_arm, folders)):
                status_page.write(folders, shown, loaded.name, loaded.arms[0].config.chart.y, made, ahead, live=live)
            else:
                renderer.write(report.report(folders, loaded.name, made, ahead), shown)
        except (PassusError, OSError, ValueError) as error:  # what cannot be drawn must not end the arms
            print(f"figure or report were not written: {error}", file=sys.stderr)

    redraw()
    code = runner.Runner(loaded, [], out, jobs, on_eval=redraw).run()
    redraw(live=False)
    if code == 0:
        _print_scores(folders)
        say(phases(folders))
        say_next(*ahead)
    return code


def _print_scores(folders: list[Path]) -> None:
    """First, last and best accuracy of every arm."""
    table = Table("arm", "benchmark", "first", "last", "best", caption="Best is a maximum over eval points: biased upwards.")
    for arm in map(status_page.read_arm, folders):
        for scores in arm.scores:
            shown = [f"{value}\n{interval}" for value, interval in status_page.cells(scores)]
            table.add_row(*map(Text, (arm.path.name, scores.benchmark, *shown)))
    Console().print(table)


def phases(folders: list[Path]) -> str:
    """Where the arms' time went."""
    runs = [RunFolder(folder) for folder in folders]
    of_arms = [run.phases() for run in runs]
    spent = {phase: sum(of_arm[phase] for of_arm in of_arms) for phase in of_arms[0]}
    whole = sum(row["time/elapsed"] for run in runs for row in run.metrics()[-1:])
    spent["recording and saving"] = max(0.0, whole - sum(spent.values()))
    return "time of all arms: " + ", ".join(f"{phase} {seconds:.0f} s" for phase, seconds in spent.items())
