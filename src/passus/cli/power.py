"""`passus power`: the differences that an experiment can show, before it is run."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from passus.cli.options import Data, Json, Overrides, use_data

Runs = Annotated[list[Path] | None, Parameter(name="--from", negative=(), consume_multiple=True)]


def power(
    experiment: str, *, from_: Runs = None, difference: float = 2.0, set_: Overrides = None, json_: Json = False,
    data: Data = None,
) -> int:  # fmt: skip
    """Predict the smallest difference that an experiment can show in 80 % of cases, and what would show a given one.

    Parameters
    ----------
    experiment
        A TOML file, or the name of a shipped experiment.
    from_
        Run folders whose variances are used: between runs, checkpoints, items and samples. Without them, they are assumed.
    difference
        Difference to plan for, in points.
    json_
        Print one JSON object, with differences in points.
    """
    from passus.analysis.planned_experiment import plan_experiment
    from passus.analysis.power_forecast import check_difference, forecast, to_json
    from passus.analysis.recorded_noise import recorded_noise
    from passus.config.experiment import load_experiment
    from passus.console import json_line, print_next_commands
    from passus.reports.power_tables import print_forecasts
    from passus.tasks.lookup import benchmark_size

    use_data(data)
    asked = check_difference(difference)
    plan = plan_experiment(load_experiment(experiment, set_ or []), benchmark_size)
    forecasts = forecast(plan, recorded_noise(from_) if from_ is not None else None, asked)
    if json_:
        print(json_line(to_json(plan, forecasts, asked), allow_nan=False))
        return 0
    print_forecasts(plan, forecasts, asked)
    print_next_commands(f"passus run {experiment} --dry-run")
    return 0
