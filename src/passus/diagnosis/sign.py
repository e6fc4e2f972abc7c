"""A sign: one thing that a run's record shows or does not show, with its numbers in words."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Sign:
    name: str
    is_there: bool
    words: str = ""
    """What the record shows, with numbers; empty where the sign is not there."""
    since: float | None = None
    """First step that shows it, where it has one."""
    is_setting: bool = False
    """Whether it stands in the settings, and so holds from the start."""


def absent(name: str) -> Sign:
    return Sign(name, False)
