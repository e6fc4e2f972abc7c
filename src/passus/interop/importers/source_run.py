"""A run as another tool recorded it: the one form that every reader returns and that run folders are written from."""

import hashlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple


class MetricPoint(NamedTuple):
    """One number of one step, under the tool's own name. NaN is a gap."""

    step: int
    name: str
    value: float
    wall_time: float | None = None
    """Unix time in seconds."""


@dataclass(slots=True)
class SampleRow:
    """One completion of one item at one step."""

    benchmark: str
    item: str
    """Key of the item, from its content (`item_key`): indices differ between runs."""
    sample: int
    value: float | None
    """Score from 0 to 1; None where the tool has no verdict."""
    tokens: int | None = None
    truncated: bool | None = None
    output: str | None = None
    prompt: str | None = None
    gold: str | None = None
    extracted: str | None = None
    error: str | None = None
    """Why there is no verdict."""
    verdict: str | None = None
    """Verdict in passus's words, where the source was written by passus; else derived from value, truncated and error."""
    source_score: float | None = None
    """Score of the source, where passus has graded the sample again."""


SampleReader = Callable[[], Iterable[SampleRow]]
"""Reads the rows of one step from one file, when they are needed."""


@dataclass
class SourceRun:
    name: str
    """Name of the run, as its tool or its folder calls it."""
    tool: str
    """Format that it was read from, such as `verl validation dump`."""
    files: list[Path]
    """Files that it was read from, for its provenance."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Settings with dotted keys, as the tool recorded them."""
    points: list[MetricPoint] = field(default_factory=list)
    """In the order in which they were written. Where a name has several values at a step, the last one counts."""
    samples: dict[int, list[SampleReader]] = field(default_factory=dict)
    """Readers of the items and samples of each step."""
    remarks: list[str] = field(default_factory=list)
    """What the user must know about the source: a torn tail, a resume, a sampled export. Readers of samples add theirs."""
    resumed_from: list[int] = field(default_factory=list)
    """Steps from which the run was resumed, as far as its points show it."""
    seed: int | None = None
    """Seed, where the source says it outside of its settings."""
    is_finished: bool | None = None
    """Whether the tool recorded an end; None where it does not say."""
    parts: list["SourceRun"] = field(default_factory=list)
    """Sources that were joined to this run. Readers of their samples add to their remarks."""

    def all_remarks(self) -> list[str]:
        """Returns the remarks made up to now, each once."""
        return list(dict.fromkeys([*self.remarks, *(remark for part in self.parts for remark in part.remarks)]))


def item_key(prompt: str, gold: str | None) -> str:
    """Returns the key of an item: equal contents have equal keys, in every run and format."""
    content = "\0".join((prompt.strip(), (gold or "").strip()))
    return hashlib.blake2b(content.encode("utf-8", "replace"), digest_size=12).hexdigest()
