"""Errors a user can act on: what was given, what was expected, and what to write instead, without a traceback."""

import difflib
from collections.abc import Iterable
from importlib.util import find_spec

TRAIN_PACKAGES = ("torch", "transformers", "peft", "accelerate", "datasets", "tokenizers", "safetensors", "huggingface_hub")
"""The extra `train` of pyproject.toml. Commands that only read runs work without it."""


class PassusError(Exception):
    """An error at run time. Exit code 1."""

    exit_code = 1

    def __init__(self, given: str, *, expected: str | None = None, write: str | None = None):
        lines = [given]
        if expected:
            lines.append(f"  expected: {expected}")
        if write:
            lines.append(f"  write: {write}")
        super().__init__("\n".join(lines))


class UsageError(PassusError):
    """A request that cannot be carried out as it was given. Exit code 2."""

    exit_code = 2


class Stop(Exception):  # noqa: N818 (nothing went wrong)
    """A request to stop the run, raised at safe points only: weights and moments are those of the last whole step."""


def nearest(word: str, known: Iterable[str]) -> str | None:
    """Returns the known word closest to a misspelt one, if any is close."""
    matches = difflib.get_close_matches(word, list(known), n=1, cutoff=0.6)
    return matches[0] if matches else None


def missing_package_error(name: str) -> UsageError:
    return UsageError(
        f"{name} is not installed",
        expected="the packages that training and evaluation need",
        write="pip install 'passus[train]'",
    )


def check_train_packages() -> None:
    """Raises an error that says what to install, before a run folder is created."""
    for name in TRAIN_PACKAGES:
        if find_spec(name) is None:
            raise missing_package_error(name)
