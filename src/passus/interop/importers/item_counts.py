"""The number of items behind a mean: what the user says, what is recorded, or what the benchmark of this name has.

The last is a guess, because a tool may have evaluated a part of the benchmark. Means that are no counts of right answers among
so many items refute it.
"""

import math
from collections.abc import Sequence

from passus.interop.importers.benchmark_names import given_items, items_of
from passus.interop.importers.import_options import ImportOptions

FLOAT32 = 1e-7
"""Relative error of a float32, as which TensorBoard keeps a mean."""
WRITTEN_IN_FULL = 12
"""Decimals from which a mean was not rounded when it was written."""


def count_items(
    benchmark: str, recorded: int | None, samples: int | None, means: Sequence[float], refuted: set[str], options: ImportOptions
) -> tuple[int | None, str | None]:
    """Returns the number of items, None where it is unknown, with a remark for the user.

    A benchmark whose means refute the number that its name tells is added to `refuted`.
    """
    known = given_items(benchmark, options) or recorded
    if known:
        return known, None
    guess, write = items_of(benchmark), f"write --items {benchmark}=N"
    if guess is None:
        return None, f"{benchmark}: the number of items is unknown, so its points have no interval; {write}"
    if samples and not all(is_count(mean, guess * samples) for mean in means):
        refuted.add(benchmark)
    if benchmark in refuted:
        return None, (
            f"{benchmark}: the means are no counts of right answers among the {guess} items of the benchmark of this name, so "
            f"other items were evaluated and its points have no interval; {write}"
        )
    return guess, f"{benchmark}: {guess} items, as many as the benchmark of this name has; if fewer were evaluated, {write}"


def is_count(mean: float, answers: int) -> bool:
    """Returns whether a mean may be a count of right answers among so many, given the decimals that it was written with."""
    if not math.isfinite(mean * answers):
        return True
    written = repr(mean)
    decimals = len(written.partition(".")[2]) if "e" not in written else WRITTEN_IN_FULL
    error = FLOAT32 if decimals >= WRITTEN_IN_FULL else 0.5 * 10.0**-decimals
    return abs(mean * answers - round(mean * answers)) <= error * answers + 1e-6
