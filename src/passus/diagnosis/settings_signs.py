"""Signs in the settings of a run."""

from collections.abc import Callable, Mapping
from typing import Any

from passus.diagnosis.sign import Sign, absent
from passus.diagnosis.trace import Trace

LEAST_TEMPERATURE = 0.5
MOST_UPDATES = 4
MOST_KL = 1.0
MOST_EPOCHS = 4
"""Times that an item may come before a training set counts as small."""
MANY_TARGETS = 4

Settings = Mapping[str, Any]


def settings_signs(trace: Trace) -> list[Sign]:
    """Returns the signs of the settings that the run records."""
    signs = []
    for name, read in READERS.items():
        try:
            words = read(trace.settings)
        except KeyError:  # a run of another tool does not record this setting
            continue
        signs.append(Sign(name, True, words) if words else absent(name))
    return signs


def small_groups(settings: Settings) -> str:
    samples = settings["train.samples"]
    return f"train.samples = {samples}" if samples <= 2 else ""


def cold_sampling(settings: Settings) -> str:
    temperature = settings["train.temperature"]
    return f"train.temperature = {temperature:g}" if temperature < LEAST_TEMPERATURE else ""


def many_updates(settings: Settings) -> str:
    updates = settings["train.updates"]
    return f"train.updates = {updates}" if updates > MOST_UPDATES else ""


def no_clipping(settings: Settings) -> str:
    is_off = settings["method.clip_high"] >= 1 and settings["method.dual_clip"] == 0
    return f"method.clip_high = {settings['method.clip_high']:g} and no dual clip" if is_off else ""


def large_kl(settings: Settings) -> str:
    return f"method.kl_coef = {settings['method.kl_coef']:g}" if settings["method.kl_coef"] >= MOST_KL else ""


def has_kl(settings: Settings) -> str:
    return f"method.kl_coef = {settings['method.kl_coef']:g}" if settings["method.kl_coef"] > 0 else ""


def small_training_set(settings: Settings) -> str:
    limit, drawn = settings["task.limit"], settings["train.steps"] * settings["train.prompts"]
    return f"{limit} training items for {drawn} prompts" if limit and drawn > MOST_EPOCHS * limit else ""


def small_adapter(settings: Settings) -> str:
    if settings["model.tuning"] != "frozen":
        return ""
    rank, targets = settings["model.lora.rank"], settings["model.lora.targets"]
    is_small = rank <= 2 and targets != ["all-linear"] and len(targets) < MANY_TARGETS
    return f"an adapter of rank {rank} on {', '.join(targets)} only" if is_small else ""


def right_answers_unpaid(settings: Settings) -> str:
    right, wrong = settings["reward.values.correct"], settings["reward.values.wrong"]
    return "a right answer has no more reward than a wrong one" if right <= wrong else ""


READERS: dict[str, Callable[[Settings], str]] = {
    "small groups": small_groups,
    "cold sampling": cold_sampling,
    "many updates": many_updates,
    "no clipping": no_clipping,
    "large KL coefficient": large_kl,
    "KL to the reference": has_kl,
    "small training set": small_training_set,
    "small adapter": small_adapter,
    "right answers unpaid": right_answers_unpaid,
}
"""Each returns what the setting is, or nothing where it is ordinary."""
