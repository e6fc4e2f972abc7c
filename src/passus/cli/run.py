"""`passus run`: the arms of an experiment."""

import sys
from pathlib import Path

from passus.cli.options import Data, Overrides, check_jobs, use_data
from passus.errors import UsageError


def run(
    experiment: str, *, out: Path | None = None, set_: Overrides = None, jobs: int = 1, arm: str | None = None,
    dry_run: bool = False, data: Data = None,
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
        Print the resolved arms, their batch sizes and their memory, and run nothing.
    """
    from passus.config.experiment import load_experiment, slug
    from passus.console import print_line, print_next_commands
    from passus.launch import runner
    from passus.launch.dry_run import describe_experiment

    use_data(data)
    loaded = load_experiment(experiment, set_ or [])
    folder = out or Path("runs") / slug(loaded.name)
    check_jobs(jobs)
    if dry_run:
        print(describe_experiment(loaded, folder))
        return 0
    if arm is not None:
        from passus.launch.arm_process import run_arm

        return run_arm(loaded.arm(arm), folder / arm, print_line)
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
