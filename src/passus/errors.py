"""Errors a user can act on: what was given, what was expected, and what to write instead, without a traceback."""

import math
import re
from collections.abc import Iterable
from importlib.util import find_spec

try:
    import resource  # here, because without memory an import fails too
except ImportError:  # not on Windows
    resource = None  # type: ignore[assignment]

TRAIN_PACKAGES = ("torch", "transformers", "peft", "accelerate", "datasets", "tokenizers", "safetensors", "huggingface_hub")
"""The extra `train` of pyproject.toml. Commands that only read runs work without it."""


MAX_MESSAGE = 4000
"""Characters of an error that are shown: it may quote what was given."""
MAX_WORD = 200
"""Characters of a word for which a similar one is looked up."""
LAST_PART = re.compile(r"/|\.(?=[A-Za-z])")
"""What stands before the last part of a name: abacus/, train., but not the dot of nano/qwen2.5."""


LEAST_ADDRESS_SPACE = 1_500_000_000
"""Bytes. With less, libraries of torch end the process while they are loaded, without an exception that could be reported."""


SECRET = re.compile(r"(\w://)[^/\s]*@")
"""User name and password in an address, which no error repeats."""


class PassusError(Exception):
    """An error at run time. Exit code 1."""

    exit_code = 1

    def __init__(self, given: str, *, expected: str | None = None, write: str | None = None):
        lines = [given if len(given) <= MAX_MESSAGE else f"{given[:MAX_MESSAGE]}..."]
        if expected:
            lines.append(f"  expected: {expected}")
        if write:
            lines.append(f"  write: {write}")
        super().__init__(SECRET.sub(r"\1...@", "\n".join(lines)))


class UsageError(PassusError):
    """A request that cannot be carried out as it was given. Exit code 2."""

    exit_code = 2


def shown(value: object, most: int = 200) -> str:
    """Returns a value as an error shows it: its repr, cut to a length. It never fails, whatever the value holds."""
    try:
        text = repr(value)
    except (ValueError, RecursionError):  # an integer of very many digits, a list of very many levels
        return f"a value of type {type(value).__name__}"
    return text if len(text) <= most else f"{text[:most]}..."


class Stop(Exception):  # noqa: N818 (nothing went wrong)
    """A request to stop the run, raised at safe points only: weights and moments are those of the last whole step."""


def nearest(word: str, known: Iterable[str]) -> str | None:
    """Returns the known name that takes the fewest edits to get from a misspelt one, or None if none is near.

    A name is also found by its last part: `add2` is near `abacus/add2`, and `steps` is `train.steps`. Of equally near names the
    first is taken.
    """
    if len(word) > MAX_WORD:
        return None
    edits = {name: min(_edits_if_near(word, name), _edits_if_near(word, LAST_PART.split(name)[-1]) + 0.5) for name in known}
    best = min(edits, key=lambda name: edits[name], default=None)
    return best if best is not None and edits[best] < math.inf else None


def _edits_if_near(word: str, name: str) -> float:
    """Returns the edits between two names, without regard to case; infinite where more than a third of a name would change."""
    a, b = word.casefold(), name.casefold()
    most = max(1, max(len(a), len(b)) // 3)
    if abs(len(a) - len(b)) > most:
        return math.inf
    if len(a) == len(b) <= 3 and sorted(a) != sorted(b):
        return math.inf  # with one letter of three replaced it is another word: gpu is not cpu
    edits = edit_distance(a, b)
    return edits if edits <= most and edits < min(len(a), len(b)) else math.inf


def edit_distance(a: str, b: str) -> int:
    """Counts the edits between two texts: a character inserted, deleted or replaced, or two neighbours swapped.

    This is the distance of Damerau and Levenshtein, where swapped neighbours may be edited further.
    """
    far = len(a) + len(b)
    rows: list[list[int]] = [[far] * (len(b) + 2), [far, *range(len(b) + 1)]]  # rows[i + 1][j + 1]: a[:i] to b[:j]
    last_row: dict[str, int] = {}  # the last i at which each character stands in a
    for i, x in enumerate(a, start=1):
        row, last_column = [far, i], 0  # the last j at which b has this character
        for j, y in enumerate(b, start=1):
            k, m = last_row.get(y, 0), last_column
            swapped = rows[k][m] + (i - k - 1) + 1 + (j - m - 1)
            row.append(min(rows[i][j] + (x != y), row[j] + 1, rows[i][j + 1] + 1, swapped))
            last_column = j if x == y else last_column
        rows.append(row)
        last_row[x] = i
    return rows[-1][-1]


OUT_OF_MEMORY = re.compile(
    r"can(?:'t|not) allocate memory|not enough memory|failed to map segment|std::bad_alloc|can't start new thread",
    re.I,
)
"""What libraries say when memory or address space runs out, in errors of classes that mean other things too."""


def is_out_of_memory(error: BaseException) -> bool:
    """Returns whether an error means that the CPU's memory, or the address space of the process, has run out."""
    if isinstance(error, SystemError):  # an extension module has lost the exception on its way
        return _address_space_is_limited()
    return isinstance(error, MemoryError) or bool(OUT_OF_MEMORY.search(str(error)))


def _address_space_is_limited() -> bool:
    return _address_space() is not None


def _address_space() -> int | None:
    """Returns the limit of this process's address space in bytes, or None without one."""
    if resource is None:
        return None
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    return None if limit == resource.RLIM_INFINITY else limit


def out_of_memory_error(error: BaseException) -> PassusError:
    """Returns the error to show in place of a library's."""
    reason = (str(error).strip().splitlines() or [type(error).__name__])[0][:200]
    return PassusError(
        f"this process has run out of memory: {reason}",
        expected="more free memory, or a higher limit of the process (ulimit -v)",
    )


def missing_package_error(name: str) -> UsageError:
    return UsageError(
        f"{name} is not installed",
        expected="the packages that training and evaluation need",
        write="pip install 'passus[train]'",
    )


def check_train_packages() -> None:
    """Raises an error that says what to install or to allow, before a run folder is created or torch is imported."""
    for name in TRAIN_PACKAGES:
        if find_spec(name) is None:
            raise missing_package_error(name)
    space = _address_space()
    if space is not None and space < LEAST_ADDRESS_SPACE:
        raise PassusError(
            f"this process may use {space:,} bytes of address space, and torch would run out of memory while it is loaded",
            expected=f"at least {LEAST_ADDRESS_SPACE:,}",
            write="ulimit -v unlimited",
        )
