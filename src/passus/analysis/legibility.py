"""Readers of one writer (A20): is the answer in the text, who can read it, and does that drift apart as training goes on?

A frozen reader that falls behind the live one, after a plateau, is what drift to a private way of writing would look like.
All of it is about the texts of these checkpoints, as these readers read them.

Shapes: R readers, T eval points, S of them that stand for the end, Q items.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from passus.analysis.curve_comparison import Line, same_items
from passus.analysis.finding import OVERALL, Finding, Verdict
from passus.analysis.single_curve import FEWEST, decide
from passus.formatting import between, p_value, points, share, step
from passus.runs.curves import NO_TEXT, OTHER_TEXT, Curve
from passus.stats import curve_tests, intervals
from passus.stats.curve_tests import MARGIN

CARRIED, GAP = "the answer is in the text", "the policy reads its own text better than frozen readers do"
FAMILY, DRIFT = (
    "a frozen reader of the writer's family reads it better than others",
    "frozen readers fall behind after the plateau",
)


def findings(benchmarks: Sequence[list[Line]]) -> list[Finding]:
    """Of each writer, over all its benchmarks: they weigh the same."""
    writers: dict[str, list[list[Line]]] = {}
    for lines in benchmarks:
        writers.setdefault(lines[0].benchmark.partition(", written by ")[2], []).append(lines)
    return [one for writer, of in writers.items() for one in _of_writer(writer, of)]


def _of_writer(writer: str, benchmarks: list[list[Line]]) -> list[Finding]:
    where = benchmarks[0][0].benchmark if len(benchmarks) == 1 else f"{OVERALL}, read" + f", written by {writer}" * bool(writer)
    parts = [part for lines in benchmarks if (part := _read(lines)) is not None]
    if len(parts) < len(benchmarks):
        return [Finding("A20", "readers", where, GAP, Verdict.UNTESTABLE, "L0", "readers were not measured on the same items")]
    itself, live = [part.of("self") for part in parts], [part.of("live") for part in parts]
    carried = [
        _difference(where, CARRIED, parts, itself, control, f"the frozen policy with the text less {name.lower()}")
        for name in (NO_TEXT, OTHER_TEXT)
        if all(itself) and all(control := [part.called(name) for part in parts])
    ]
    # The better of its controls: another item's text misleads, and beating that alone says little.
    found = [min(carried, key=lambda one: one.numbers["difference"])] if carried else []
    frozen = [part.of("self", "frozen") for part in parts]
    if all(live) and all(frozen):
        found.append(_difference(where, GAP, parts, live, frozen, "live less the mean of frozen readers"))
        found.append(_drift(where, parts, live, frozen))
    own, others = [part.of_family(True) for part in parts], [part.of_family(False) for part in parts]
    if all(own) and all(others):
        found.append(_difference(where, FAMILY, parts, own, others, "own family less the mean of others"))
    return found


@dataclass
class Read:
    """The readers of one writer on one benchmark."""

    lines: list[Line]
    steps: list[float]
    means_RTQ: np.ndarray

    @property
    def curves(self) -> list[Curve]:
        return [line.curves[0].curve for line in self.lines]

    def of(self, *kinds: str) -> list[int]:
        return [r for r, curve in enumerate(self.curves) if curve.reader in kinds]

    def called(self, name: str) -> list[int]:
        return [r for r, curve in enumerate(self.curves) if curve.name == name]

    def of_family(self, own: bool) -> list[int]:
        """Frozen readers of the writer's family, or of others."""
        writer = next((curve.family for curve in self.curves if curve.reader in ("live", "self", "control")), None)
        return [r for r in self.of("self", "frozen") if writer and (self.curves[r].family == writer) is own]

    def gap_TQ(self, first: list[int], second: list[int]) -> np.ndarray:
        return self.means_RTQ[first].mean(0) - self.means_RTQ[second].mean(0)

    @property
    def last(self) -> list[int]:
        return [self.steps.index(x) for x in self.lines[0].steps]


def _read(lines: list[Line]) -> Read | None:
    """None where they were not all measured on the same items."""
    steps = sorted(set.intersection(*(set(m.x_T.tolist()) for line in lines for m in line.curves)))
    means = [m for line in lines if same_items(lines[0], line) and (m := line.means_SQ(steps)) is not None]
    return Read(lines, steps, np.array(means)) if steps and len(means) == len(lines) else None


def _difference(
    where: str, claim: str, parts: list[Read], first: list[list[int]], second: list[list[int]], words: str
) -> Finding:
    gaps = [part.gap_TQ(a, b)[part.last].mean(0) for part, a, b in zip(parts, first, second, strict=True)]
    counts, joined_Q = [len(one) for one in gaps], np.concatenate(gaps)
    over, test = intervals.paired_bootstrap(joined_Q, counts), intervals.sign_flip(joined_Q, counts)
    smallest = float(np.sqrt(sum(intervals.smallest_paired_effect(one) ** 2 for one in gaps))) / len(gaps)
    ends = [
        float(np.mean([part.means_RTQ[r][:, part.last].mean() for part, r in zip(parts, side, strict=True)]))
        for side in (first, second)
    ]
    said = f"{words} {share(ends[0])} - {share(ends[1])} = {points(over.mean)} {between(over.low, over.high)}, "
    said += f"{p_value(test.p)}, {sum(counts)} items"
    verdict = decide(test.p, over.mean, smallest)
    numbers = {"difference": over.mean}
    return Finding("A20", "readers", where, claim, verdict, "L2", said, numbers, over.low, over.high, test.p)


def _drift(where: str, parts: list[Read], live: list[list[int]], frozen: list[list[int]]) -> Finding:
    """The slope of the gap since the live reader's plateau."""
    steps = parts[0].steps
    if len(steps) < FEWEST or any(part.steps != steps for part in parts):
        return Finding(
            "A20", "readers", where, DRIFT, Verdict.UNTESTABLE, "L2", f"{len(steps)} eval points; {FEWEST} are needed"
        )
    x_T, y_T = np.array(steps), np.mean([p.means_RTQ[r].mean((0, 2)) for p, r in zip(parts, live, strict=True)], axis=0)
    start = curve_tests.plateau_start(x_T, y_T, 6 * MARGIN / (steps[-1] - steps[0]))
    first = min(start, len(steps) - 3) if start is not None else len(steps) // 2
    x_S = x_T[first:]
    weight_S = (x_S - x_S.mean()) / ((x_S - x_S.mean()) ** 2).sum() * (x_S[-1] - x_S[0])
    slopes = [weight_S @ p.gap_TQ(a, b)[first:] for p, a, b in zip(parts, live, frozen, strict=True)]
    counts, joined_Q = [len(one) for one in slopes], np.concatenate(slopes)
    over, test = intervals.paired_bootstrap(joined_Q, counts), intervals.sign_flip(joined_Q, counts)
    moves = f"{points(over.mean)} {between(over.low, over.high)}"
    said = f"live less frozen moves by {moves} from {step(x_S[0])} on, {p_value(test.p)}"
    numbers = {"drift": over.mean, "since": float(x_S[0])}
    if start is None:
        said += "; the live reader has no plateau yet"
        return Finding("A20", "readers", where, DRIFT, Verdict.UNTESTABLE, "L2", said, numbers, over.low, over.high)
    smallest = float(np.sqrt(sum(intervals.smallest_paired_effect(one) ** 2 for one in slopes))) / len(slopes)
    verdict = decide(test.p, over.mean, smallest)
    return Finding("A20", "readers", where, DRIFT, verdict, "L2", said, numbers, over.low, over.high, test.p)
