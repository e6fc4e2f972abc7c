"""What a user adds to a source that does not say everything itself."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from passus.errors import UsageError


@dataclass(frozen=True)
class ImportOptions:
    accuracy: Sequence[str] = ()
    """Metrics that are accuracies, by the names of the source."""
    items: Mapping[str, int] = field(default_factory=dict)
    """Number of items by benchmark."""
    samples: int | None = None
    """Samples per item behind every accuracy."""
    percent: bool = False
    """Whether accuracies are in percent."""
    seed: int | None = None
    model: str | None = None
    """Name of the model, where the source does not say it."""
    step: int | None = None
    """Step of an evaluation that does not say it."""
    rename: Mapping[str, str] = field(default_factory=dict)
    """New names of runs, metrics and benchmarks."""
    benchmark: str | None = None
    """Benchmark of samples that do not say it."""
    regrade: bool = False
    """Whether passus grades the samples again, with the source's score beside its own."""
    one_run: bool = False
    """Whether all sources belong to one run, such as a log and a dump."""

    def new_name(self, name: str) -> str:
        return self.rename.get(name, name)


def parse_pairs(texts: Sequence[str], option: str, example: str) -> dict[str, str]:
    """Parses NAME=VALUE options."""
    pairs = {}
    for text in texts:
        name, equals, value = text.rpartition("=")
        if not equals or not name or not value:
            raise UsageError(f"{option} {text}", expected="NAME=VALUE", write=f"{option} {example}")
        pairs[name] = value
    return pairs


def parse_items(texts: Sequence[str]) -> dict[str, int]:
    """Parses --items BENCHMARK=N."""
    items = {}
    for name, value in parse_pairs(texts, "--items", "aime24=30").items():
        if not value.isdigit() or not 0 < int(value) < 10**9:
            raise UsageError(f"--items {name}={value}", expected="a number of items", write=f"--items {name}=500")
        items[name] = int(value)
    return items
