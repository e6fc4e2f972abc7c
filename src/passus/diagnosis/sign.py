"""A sign: one thing that a run's record shows or does not show, with its numbers in words."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal

Group = Literal["accuracy", "signals", "samples", "settings"]
"""Where a sign is read. Signs of one group overlap more than those of different groups."""


@dataclass(frozen=True)
class Sign:
    name: str
    is_there: bool
    words: str = ""
    """What the record shows, with numbers; empty where the sign is not there."""
    since: float | None = None
    """First step that shows it, where it has one."""
    group: Group = "signals"


def absent(name: str) -> Sign:
    return Sign(name, False)


def in_group(signs: Iterable[Sign], group: Group) -> list[Sign]:
    return [replace(sign, group=group) for sign in signs]
