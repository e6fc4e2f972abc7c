"""`passus run`: the arms of an experiment."""

import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from passus.cli.options import Data, Overrides, check_jobs, use_data
from passus.errors import UsageError, check_train_packages

if TYPE_CHECKING:
    from passus.config.experiment import Arm, Experiment


def run(
    experiment: str, *, out: Path | None = None, set_: Overrides = None, jobs: int = 1, arm: str | None = None,
    dry_run: bool = False, data: Data = None, serve: bool = False,
) -> int:  # fmt: skip
    """Run every arm of an experiment. Run it again to resume: finished work is not repeated.

    Parameters
    ----------
    experiment
        A TOML file, or the name of a shipped experiment.
    out
        Folder for the run folders of the arms. Default: runs/<experiment>.
    jobs
        Number of arms that run at the same time.
    arm
        Run only this arm, in this process.
    dry_run
        Check everything that can be checked without loading weights, and print the plan: arms, reward, batch sizes, time,
        memory and power. Trains nothing.
    serve
        Serve the live page while the arms train, and print its address.
    """
    from passus.config.experiment import load_experiment, slug
    from passus.console import print_line, print_next_commands
    from passus.launch import runner
    from passus.page.assets import check_page_packages
    from passus.page.companion import page_beside

    use_data(data)
    loaded = load_experiment(experiment, set_ or [])
    folder = out or Path("runs") / slug(loaded.name)
    check_jobs(jobs)
    check_out(folder)
    if dry_run:
        print_plan(loaded if arm is None else replace(loaded, arms=[loaded.arm(arm)]), folder)
        return 0
    if serve:
        check_page_packages()
    with page_beside(folder, wanted=serve) as address:
        if address is not None:
            print_line(f"page: {address} (until the arms have ended; then: passus serve {folder})")
        if arm is not None:
            return run_one(loaded.arm(arm), folder)
        code = runner.Runner(loaded, set_ or [], folder, jobs).run()
    if code:
        return code
    from passus.reports.pictures import draw_experiment_figure

    try:
        figure = draw_experiment_figure(folder, loaded)
    except UsageError as error:  # the arms are complete, but they may lack what the figure needs
        print(f"the figure was not drawn: {error}", file=sys.stderr)
        figure = None
    # A generator of candidates has no training samples to show.
    shown = next((trained for trained in loaded.arms if trained.config.kind != "candidates"), loaded.arms[0])
    print_next_commands(f"passus show {folder / shown.name}", f"passus ls {folder}", f"passus plot {folder} --out figure.pdf")
    if figure:
        print_line(f"figure: {figure}")
    return 0


def check_out(folder: Path) -> None:
    """Refuses an output folder that cannot be created because a file has its name or that of a folder above it."""
    first = next((path for path in (folder, *folder.parents) if path.exists()), folder)
    if first.exists() and not first.is_dir():
        raise UsageError(f"--out {folder}: {first} is a file", expected="a folder, or a new name")


def print_plan(experiment: "Experiment", folder: Path) -> None:
    """Checks the arms that are not complete as a run would, and prints the plan."""
    from passus.launch import dry_run, preflight, step_time

    waiting = preflight.arms_to_run(experiment.arms, folder)
    try:
        check_train_packages()
    except (UsageError, ModuleNotFoundError) as missing:
        print(dry_run.describe_experiment(experiment, folder))
        print(f"not checked: models, prompts, rewards and data. {str(missing).splitlines()[0]}")
        return
    remarks = preflight.check_arms(waiting, folder) if waiting else []
    times = step_time.measure_arms(waiting, dry_run.eval_points) if waiting else {}
    print(dry_run.describe_experiment(experiment, folder, times, remarks))
    if not waiting:
        print("nothing to run: all arms are finished")


def run_one(arm: "Arm", folder: Path) -> int:
    """Runs one arm in this process. A runner that started it has checked it before."""
    from passus.console import print_line
    from passus.launch import arm_process, preflight

    if arm_process.PARENT not in os.environ:
        check_train_packages()
        if waiting := preflight.arms_to_run([arm], folder):
            preflight.check_arms(waiting, folder)
    return arm_process.run_arm(arm, folder / arm.name, print_line)
