"""Names of benchmarks: `openai/gsm8k` and `AIME 2024` are gsm8k and aime24 of passus, with their numbers of items."""

from passus.interop.importers.import_options import ImportOptions
from passus.tasks.benchmarks import known_benchmark


def benchmark_of(name: str, options: ImportOptions) -> str:
    """Returns passus's name of a benchmark; a name that it does not know stays as it is."""
    if name in options.rename:
        return options.rename[name]
    for candidate in (name, name.rpartition("/")[2]):
        row = known_benchmark(candidate)
        if row is not None:
            return row.name
    return name


def given_items(benchmark: str, options: ImportOptions) -> int | None:
    """Returns the number of items that the user gives for a benchmark."""
    return {benchmark_of(name, options): count for name, count in options.items.items()}.get(benchmark)


def items_of(benchmark: str) -> int | None:
    """Returns the number of items of the benchmark of this name."""
    row = known_benchmark(benchmark)
    return row.items or None if row is not None else None


def is_private(benchmark: str) -> bool:
    """Whether the authors of a benchmark ask that its items not be written anywhere."""
    row = known_benchmark(benchmark)
    return row is not None and row.private
