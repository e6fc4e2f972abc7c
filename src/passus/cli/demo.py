"""`passus demo`: the `families` experiment on the shipped models. Figure and page are updated at every eval point."""

import shlex
import sys
from pathlib import Path

from passus.cli.options import check_jobs
from passus.errors import PassusError


def demo(*, out: Path = Path("runs/demo"), jobs: int | None = None) -> int:
    """Run the families experiment on the shipped nano models, on the CPU. Figure and page are updated at every eval point.

    Parameters
    ----------
    out
        Folder for the run folders, the figure and report.html.
    jobs
        Number of arms that run at the same time. Default: the number of cores.
    """
    from passus.config import resolve
    from passus.config.experiment import load_experiment
    from passus.console import print_line, print_next_commands
    from passus.launch import runner
    from passus.reports import renderer
    from passus.reports.arm_status import read_arm_status
    from passus.reports.pictures import draw_experiment_figure
    from passus.reports.report import build_report, build_running_report

    if jobs is not None:
        check_jobs(jobs)
    experiment = load_experiment("families")
    jobs = jobs or min(len(experiment.arms), resolve.default_threads())
    folders = [out / arm.name for arm in experiment.arms]
    page = out / "report.html"
    print_line(f"{len(folders)} arm(s), {experiment.arms[0].config.train.steps} steps each; updated at every eval point:")
    print_line(f"  figure: {out / experiment.name}.png\n  report: {page}")
    made_with = [f"passus demo --out {shlex.quote(str(out))} --jobs {jobs}"]
    next_commands = [
        f"passus show {shlex.quote(str(folders[0]))}",
        f"passus plot {shlex.quote(str(out))} --y length --out length.png",
        "passus run families --set train.learning_rate=1e-4 --out runs/slower",
    ]

    def update_page(live: bool = True) -> None:
        try:
            draw_experiment_figure(out, experiment, (".png",) if live else (".png", ".svg"))
            if live or not all(arm.scores for arm in map(read_arm_status, folders)):
                document = build_running_report(folders, experiment.name, made_with, next_commands, live=live)
            else:
                document = build_report(folders, experiment.name, made_with, next_commands)
            renderer.write(document, page)
        except (PassusError, OSError, ValueError) as error:  # a figure that cannot be drawn must not stop the arms
            print(f"figure or report were not written: {error}", file=sys.stderr)

    update_page()
    code = runner.Runner(experiment, [], out, jobs, on_eval=update_page).run()
    update_page(live=False)
    if code == 0:
        _print_scores(folders)
        print_line(_time_by_phase(folders))
        print_next_commands(*next_commands)
    return code


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
