"""The faults of the collection: what each changes in the settings of a healthy run. Each is named after its cause."""

import random
from collections.abc import Callable
from dataclasses import dataclass

from passus.gym.healthy import FROZEN_RATE, Settings

HEALTHY = "healthy"
CLIPPING_METHODS = ("grpo", "dr_grpo", "dapo", "rloo", "gspo")
FIRST_STEPS = (1, 10, 14, 18, 22, 26)
"""Steps from which a fault of the [fault] table acts."""


@dataclass(frozen=True)
class GymFault:
    """A fault, and how it changes the settings of a healthy run."""

    cause: str
    settings: Callable[[Settings, random.Random], Settings]
    is_unseen: bool = False
    """Whether no run with it was looked at before the rules of the diagnosis were finished."""


def _fixed(**tables: Settings) -> Callable[[Settings, random.Random], Settings]:
    changes = {f"{table}.{key}": value for table, keys in tables.items() for key, value in keys.items()}
    return lambda healthy, draws: changes


def _faster(factors: tuple[float, ...]) -> Callable[[Settings, random.Random], Settings]:
    return lambda healthy, draws: {
        "train.learning_rate": float(f"{healthy['train.learning_rate'] * draws.choice(factors):.3g}")
    }


def _injected(
    name: str, first_steps: tuple[int, ...] = FIRST_STEPS, strengths: tuple[float, ...] = (1.0,), **tables: Settings
) -> Callable[[Settings, random.Random], Settings]:
    def settings(healthy: Settings, draws: random.Random) -> Settings:
        changes = _fixed(**tables)(healthy, draws)
        fault = {"fault.name": name, "fault.from_step": draws.choice(first_steps), "fault.strength": draws.choice(strengths)}
        return changes | fault

    return settings


def _without_clipping(healthy: Settings, draws: random.Random) -> Settings:
    method = healthy["method.name"] if healthy["method.name"] in CLIPPING_METHODS else "grpo"
    changes = {"method.name": method, "train.updates": 8}
    return changes | {"method.clip_low": 0.99, "method.clip_high": 1e6, "method.dual_clip": 0.0}


def _reversed_kl(healthy: Settings, draws: random.Random) -> Settings:
    """The KL to the reference is a soft constraint: only a strong one drives the policy away when it is reversed."""
    changes = _injected("reversed-kl")(healthy, draws)
    return changes | {"method.name": "grpo", "method.kl_coef": draws.choice((1.0, 2.0))}


def _only_hard_problems(healthy: Settings, draws: random.Random) -> Settings:
    return {"task.name": "abacus/hard", "eval.suite": ["abacus/hard"]}


FAULTS = (
    GymFault("learning-rate-too-high", _faster((10.0, 16.0, 24.0))),
    GymFault("learning-rate-too-low", _faster((0.01, 0.02))),
    GymFault("clipping-off", _without_clipping),
    GymFault("too-many-updates", _fixed(train={"updates": 16}, method={"name": "grpo"})),
    GymFault("temperature-too-low", lambda healthy, draws: {"train.temperature": draws.choice((0.1, 0.15, 0.2))}),
    GymFault("groups-too-small", _fixed(train={"samples": 2})),
    GymFault("token-limit-too-low", lambda healthy, draws: {"train.max_tokens": draws.choice((12, 14))}),
    GymFault("too-few-items", lambda healthy, draws: {"task.limit": draws.choice((16, 24))}),
    GymFault(
        "adapter-too-small",
        _fixed(train={"learning_rate": FROZEN_RATE}, model={"tuning": "frozen", "lora": {"rank": 1, "targets": ["q_proj"]}}),
    ),
    GymFault("task-too-hard", _only_hard_problems),
    GymFault("reward-for-format", _fixed(reward={"values": {"correct": 0.0, "format": 1.0}})),
    GymFault("reward-for-length", _fixed(reward={"values": {"correct": 0.0}}, method={"name": "grpo", "length_reward": 1.0})),
    GymFault("kl-too-strong", _fixed(method={"name": "grpo", "kl_coef": 10.0})),
    GymFault("noisy-reward", _injected("noisy-reward", strengths=(0.5, 0.7))),
    GymFault("shuffled-rewards", _injected("shuffled-rewards")),
    GymFault("lenient-verifier", _injected("lenient-verifier", strengths=(0.5, 1.0))),
    GymFault("leaked-answers", _injected("leaked-answers")),
    GymFault("lost-end-token", _injected("lost-end-token")),
    GymFault("stale-sampler", _injected("stale-sampler")),
    GymFault("low-precision-sampler", _injected("low-precision-sampler")),
    GymFault("lost-optimizer-state", _injected("lost-optimizer-state", FIRST_STEPS[1:])),
    GymFault("lost-updates", _injected("lost-updates")),
    GymFault("reversed-kl", _reversed_kl),
    GymFault("corrupted-batch", _injected("corrupted-batch")),
    GymFault("negated-rewards", _injected("negated-rewards")),
    GymFault("identical-samples", _injected("identical-samples")),
    GymFault("missing-generation-prompt", _injected("missing-generation-prompt")),
    GymFault("entropy-bonus-too-large", _fixed(method={"name": "grpo", "entropy_coef": 0.5})),
    GymFault("warm-up-too-long", _fixed(train={"optimizer": {"warmup": 5000}}), is_unseen=True),
    GymFault("misplaced-rewards", _injected("misplaced-rewards"), is_unseen=True),
    GymFault("restarted-weights", _injected("restarted-weights", FIRST_STEPS[1:]), is_unseen=True),
    GymFault("corrupted-weights", _injected("corrupted-weights", FIRST_STEPS[1:]), is_unseen=True),
)
"""All faults."""


def faulty_settings(fault: GymFault, healthy: Settings) -> Settings:
    """Returns the settings of a healthy run with a fault."""
    draws = random.Random(f"gym/{fault.cause}/{healthy['seed']}")
    return healthy | fault.settings(healthy, draws)


UNSEEN = tuple(fault.cause for fault in FAULTS if fault.is_unseen)
"""Faults of which no run was looked at."""
SAME_FIX = {
    "warm-up-too-long": ("learning-rate-too-low",),
    "misplaced-rewards": ("shuffled-rewards", "noisy-reward"),
    "restarted-weights": ("lost-optimizer-state",),
    "corrupted-weights": ("lost-optimizer-state",),
}
"""Known causes with the same fix as an unseen fault: raise the rate; check the way of the rewards; return to a checkpoint."""
