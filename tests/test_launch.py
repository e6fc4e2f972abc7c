"""How a runner shares out the machine."""

from pathlib import Path

import pytest

from passus import config
from passus.experiment import load_experiment
from passus.launch import Runner


@pytest.mark.parametrize(
    "jobs, shared", [(1, [8, 8, 8, 8, 8]), (2, [4, 4, 4, 4, 8]), (3, [2, 2, 2, 4, 4]), (5, [1] * 5), (9, [1] * 5)]
)
def test_arms_that_run_at_the_same_time_share_the_cores(monkeypatch, jobs, shared):
    """Five arms, eight cores; the last round may be a small one."""
    monkeypatch.setattr(config, "default_threads", lambda arms=1: max(1, 8 // arms))
    runner = Runner(load_experiment("families"), [], Path("nowhere"), jobs)
    assert [runner._threads(arm) for arm in runner.experiment.arms] == shared
