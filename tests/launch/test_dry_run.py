"""The dry run says which differences an experiment can show, and stays quick."""

import subprocess
import sys
from pathlib import Path

import pytest

from passus.config.experiment import load_experiment
from passus.launch.dry_run import describe_experiment

LINES = {
    "families-seeds": "power: 3 seeds show a difference of",
    "methods": "power: one seed per arm shows no difference of configurations; two seeds would show one of",
    "reward-model": "power: unknown: reward-model trains no policy",
}


@pytest.mark.parametrize("name", LINES)
def test_the_last_line_is_about_power(name):
    last = describe_experiment(load_experiment(name), Path("runs")).splitlines()[-1]
    assert last.startswith(LINES[name]) and ("assumed" in last or "unknown" in last)


def test_numbers_that_no_run_can_reach():
    overrides = ["train.steps=1000000000000", "eval.every=1", f"eval.samples={10**60}"]
    assert "power: 3 seeds" in describe_experiment(load_experiment("families-seeds", overrides), Path("runs"))


def test_a_dry_run_does_not_import_what_is_slow():
    code = (
        "import sys; from pathlib import Path; from passus.config.experiment import load_experiment; "
        "from passus.launch.dry_run import describe_experiment; "
        "describe_experiment(load_experiment('families-seeds'), Path('x'));"
        "print({'scipy.stats', 'torch', 'matplotlib'} & {*sys.modules})"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "set()"
