"""Item numbering: which item and which sample a row is, where a file only says the prompt.

Rows with one key are samples of one item. Where some prompts occur twice as often as others, a benchmark holds them twice, and
they become two items (`key`, `key#2`). Where all prompts occur equally often, they are repeated to get more samples.
"""

from collections import Counter
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)


def samples_per_item(totals: Mapping[K, int]) -> int:
    """Returns the number of rows that most keys have; of equally frequent numbers the smallest."""
    if not totals:
        return 1
    counts = Counter(totals.values())
    return min(counts, key=lambda count: (-counts[count], count))


@dataclass
class ItemNumbering(Generic[K]):
    """Places rows one by one, in the order of the file."""

    totals: Mapping[K, int]
    """Rows per key in the whole file."""
    k: int = 0
    placed: Counter[K] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.k = self.k or samples_per_item(self.totals)

    def place(self, key: K, name: str) -> tuple[str, int]:
        """Returns the item and the sample of the next row with this key."""
        n = self.placed[key]
        self.placed[key] = n + 1
        total = self.totals.get(key, 1)
        if total <= self.k or total % self.k:
            return name, n
        return ordinal_name(name, n // self.k), n % self.k


def ordinal_name(name: str, ordinal: int) -> str:
    """Returns the key of the item with an ordinal from 0 among those of equal content."""
    return f"{name}#{ordinal + 1}" if ordinal else name
