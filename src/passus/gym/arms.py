"""The collection as an experiment file: one [[arm]] per run, which `passus run` trains, resumes and shows like any other."""

from collections.abc import Container, Sequence

import tomli_w

from passus.gym.catalogue import FAULTS, HEALTHY, faulty_settings
from passus.gym.healthy import Settings, healthy_settings

FAULTY_SEEDS = range(10)
HEALTHY_SEEDS = range(105)
TEST_SEEDS = tuple(range(2, 105, 3))
"""A third of the seeds, which no rule was written with."""
COMMON: Settings = {
    "eval": {"every": 5, "samples": 4, "limit": 60},
    "run": {"device": "cpu", "dtype": "float32", "save_every": 1000},
}
"""Settings of all runs. Checkpoints are rare, because a run takes half a minute."""


def gym_experiment(
    faulty_seeds: Sequence[int] = FAULTY_SEEDS,
    healthy_seeds: Sequence[int] = HEALTHY_SEEDS,
    faults: Sequence[str] | None = None,
    without: Container[str] = (),
) -> str:
    """Returns the experiment file of the collection, or of a part of it. Arms with the names `without` are left out."""
    chosen = [fault for fault in FAULTS if faults is None or fault.cause in faults]
    faulty = [_arm(fault.cause, faulty_settings(fault, healthy_settings(seed))) for seed in faulty_seeds for fault in chosen]
    mixed = _mixed(faulty, [_arm(HEALTHY, healthy_settings(seed)) for seed in healthy_seeds])
    arms = [arm for arm in mixed if arm["name"] not in without]
    # An experiment needs a base model in [model], although every arm names its own.
    return tomli_w.dumps({"name": "gym", "model": {"base": "nano/qwen3"}} | COMMON | {"arm": arms})


def _mixed(faulty: Sequence[Settings], healthy: Sequence[Settings]) -> list[Settings]:
    """Spreads the healthy runs evenly, so that a part of the collection has some of all."""
    places = [(n / len(faulty), arm) for n, arm in enumerate(faulty)] + [
        (n / len(healthy), arm) for n, arm in enumerate(healthy)
    ]
    return [arm for _, arm in sorted(places, key=lambda place: place[0])]


def _arm(cause: str, settings: Settings) -> Settings:
    return {"name": f"{cause}-{settings['seed']}"} | settings


def cause_of(arm: str) -> str:
    """Returns the fault of an arm, or `healthy`."""
    return arm.rpartition("-")[0]


def seed_of(arm: str) -> int:
    return int(arm.rpartition("-")[2])
