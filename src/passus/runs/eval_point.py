"""An eval point: the numbers of one benchmark at one step and temperature, as a row of evals.jsonl holds them.

`passus.metric_names.METRICS` defines each key with its unit. A row of readings.jsonl is a `ReaderPoint`: an eval point of a CoT
reader. The JSON keys and their order belong to the run folder's contract, so `to_row` keeps both.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from passus.grading.verdict import BOXED
from passus.runs.row_checks import check_eval_row

BEST_OF = 8
"""k of rm@k in the `acc` of a reward model's run: the best of eight candidates, or of the whole pool if it is smaller."""
NO_TEXT, OTHER_TEXT = "No text", "Another item's text"
"""Labels of the control readers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EvalPoint:
    """One row of evals.jsonl. A reward model's run has rm@k in `acc`, and no completions of its own."""

    step: int
    benchmark: str
    temperature: float
    """`UNKNOWN_TEMPERATURE` where another tool recorded none (null in the row)."""
    q: int
    """Items of the benchmark; 0 where another tool recorded none (null in the row)."""
    k: int
    """Samples per item; candidates per item where the point is rm@k. 0 as for the items."""
    acc: float
    """NaN where the row has null."""
    ci_low: float
    ci_high: float
    """Both NaN where there is no interval (null in the row), because all items are of one cluster."""
    clusters: int | None = None
    """Clusters that the items form, where there are fewer than items. The interval is over these."""
    se: float | None = None
    pass_at_k: Mapping[str, float] | None = None
    """By k as text, as JSON keeps it; so are `maj_at_k` and `rm_at_k`."""
    maj_at_k: Mapping[str, float] | None = None
    tokens_mean: float | None = None
    tokens_p95: float | None = None
    truncated: float | None = None
    unparseable: float | None = None
    error: float | None = None
    extract: str | None = None
    """Answers that counted, `boxed` or `any`; `source` where another tool scored; None in rows older than the choice."""
    seconds: float | None = None
    """`time/eval` in the row."""
    judge: Mapping[str, int] | None = None
    """Counts of answers without a verdict, by the reason of the judge's failure."""
    unjudged: int | None = None
    """Items left out because no judge was configured."""
    score: float | None = None
    """Mean score of the completions by the reward model in [reward]."""
    mean: float | None = None
    mean_ci: Sequence[float] | None = None
    pass_ci: Mapping[str, Sequence[float]] | None = None
    maj_ci: Mapping[str, Sequence[float]] | None = None
    rm_at_k: Mapping[str, float] | None = None
    rm_ci: Mapping[str, Sequence[float]] | None = None
    efficiency: float | None = None
    efficiency_ci: Sequence[float] | None = None
    over_maj: float | None = None
    over_maj_ci: Sequence[float] | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)
    """Keys that this version does not know."""

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> "EvalPoint":
        """Parses a row; raises KeyError where a required key is missing, and ValueError where a value has another type."""
        for key in REQUIRED:
            if key not in row:
                raise KeyError(key)
        check_eval_row(row, FIELD_BY_KEY)
        values = {FIELD_BY_KEY[key]: value for key, value in row.items() if key in FIELD_BY_KEY}
        for key, unknown in NULLS.items():
            if values[key] is None:
                values[key] = unknown
        return cls(**values, extra={key: value for key, value in row.items() if key not in FIELD_BY_KEY})

    def to_row(self) -> dict[str, Any]:
        """Returns the row as it is written: required keys always, the others where they have a value."""
        row: dict[str, Any] = {}
        for key in _REWARD_MODEL_ORDER if self.is_reward_model else _POLICY_ORDER:
            value = getattr(self, FIELD_BY_KEY[key])
            if value is not None or (key == "efficiency" and self.rm_at_k is not None):
                row[key] = value
        row |= {key: None for key, unknown in NULLS.items() if _is_unknown(getattr(self, key), unknown)}
        return {**row, **self.extra}

    @property
    def has_interval(self) -> bool:
        return not math.isnan(self.ci_low) and not math.isnan(self.ci_high)

    @property
    def is_reward_model(self) -> bool:
        """Whether the point is of a reward model's run, which scores candidates and writes no completions."""
        return self.rm_at_k is not None and self.tokens_mean is None

    @property
    def extraction(self) -> str:
        """The answers that counted. Rows that do not say it are read as `boxed`."""
        return self.extract or BOXED

    def panel(self, *, several_temperatures: bool) -> str:
        """Returns the name of the panel that the point is shown in."""
        return panel_name(self.benchmark, self.temperature if several_temperatures else None)


REQUIRED = ("step", "benchmark", "temperature", "q", "k", "acc", "ci_low", "ci_high")
UNKNOWN_TEMPERATURE = -1.0
SOURCE = "source"
"""Stands in place of a mode of extraction where another tool scored the answers."""
NULLS: Mapping[str, float] = {
    "temperature": UNKNOWN_TEMPERATURE, "q": 0, "k": 0, "acc": math.nan, "ci_low": math.nan, "ci_high": math.nan,
}  # fmt: skip
"""Required keys that may be null in a row, and the value that stands for it in memory."""
_POLICY_ORDER = (
    *REQUIRED, "clusters", "se", "pass", "maj", "tokens_mean", "tokens_p95", "truncated", "unparseable", "error", "extract",
    "time/eval", "judge", "unjudged", "score", "rm", "rm_ci", "mean", "efficiency", "efficiency_ci",
)  # fmt: skip
_REWARD_MODEL_ORDER = (
    *REQUIRED, "mean", "rm", "rm_ci", "efficiency", "efficiency_ci", "over_maj", "over_maj_ci", "mean_ci", "pass", "pass_ci",
    "maj", "maj_ci", "extract", "time/eval",
)  # fmt: skip
FIELD_BY_KEY = {key: key for key in (*_POLICY_ORDER, *_REWARD_MODEL_ORDER)} | {
    "pass": "pass_at_k",
    "maj": "maj_at_k",
    "rm": "rm_at_k",
    "time/eval": "seconds",
}


def _is_unknown(value: float, unknown: float) -> bool:
    return math.isnan(value) if math.isnan(unknown) else value == unknown


@dataclass(frozen=True, slots=True)
class ReaderPoint:
    """One row of readings.jsonl: the accuracy of a CoT reader that answers from the policy's reasoning."""

    reader: str
    label: str
    kind: str
    """`live`, `frozen` or `control`."""
    family: str
    point: EvalPoint

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> "ReaderPoint":
        about = {key: row[key] for key in _READER_KEYS}
        check_eval_row(about, about)
        return cls(**about, point=EvalPoint.from_row({key: value for key, value in row.items() if key not in about}))

    def to_row(self) -> dict[str, Any]:
        """Returns the row as it is written: the reader's keys stand after the temperature."""
        row = self.point.to_row()
        first = {key: row.pop(key) for key in ("step", "benchmark", "temperature")}
        return first | {key: getattr(self, key) for key in _READER_KEYS} | row


_READER_KEYS = ("reader", "label", "kind", "family")


def panel_name(benchmark: str, temperature: float | None) -> str:
    """Returns a panel's name: the benchmark, and the temperature where several are shown together (None: only one)."""
    if temperature is None:
        return benchmark
    return f"{benchmark}, temperature {'unknown' if temperature == UNKNOWN_TEMPERATURE else f'{temperature:g}'}"


def has_several_temperatures(points: Iterable[EvalPoint]) -> bool:
    """Returns whether points that are shown together were sampled at several temperatures."""
    return len({point.temperature for point in points}) > 1
