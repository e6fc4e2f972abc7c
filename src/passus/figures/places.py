"""Where a step stands on the x-axis: the step itself, training progress, or any metric that the run recorded."""

from collections.abc import Callable, Iterable

from passus.errors import UsageError, nearest
from passus.metric_names import METRICS
from passus.runs.origin import Origin
from passus.runs.read_curves import X_METRICS, x_of_step
from passus.runs.run_folder import RunFolder

OWN_AXES = ("step", "progress", "updates", *X_METRICS)
"""Values of x with names of their own."""
Place = Callable[[int], float | None]


def check_x(x: str, recorded: Iterable[str] = ()) -> None:
    """Refuses an x-axis that no run records. `recorded` holds the names in these runs."""
    known = [*OWN_AXES, *(name for name in METRICS if not name.startswith("eval/") and "<" not in name)]
    if x in known or x.startswith("reward/"):
        return
    if x not in (names := dict.fromkeys(recorded)):
        known += [name for name in names if name not in known]
        raise UsageError(f"x = {x!r}", expected=", ".join(known), write=nearest(x, known))


def place_of_step(origin: Origin, x: str) -> Place:
    """Returns a function from a step to its place; None where the run has no value. Only tokens and time have one at step 0."""
    if x in OWN_AXES:
        return x_of_step(origin, x)
    by_step = {row["step"]: row[x] for row in RunFolder(origin.path).metrics() if x in row}
    if not by_step:
        raise UsageError(f"{origin.path} has not recorded {x}", expected="an x that all runs have", write="--x step")
    return by_step.get
