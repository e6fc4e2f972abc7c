"""Which runs stand against which: two runs, two folders of runs, or the runs of two configurations."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from passus.errors import UsageError, nearest
from passus.runs.origin import NO_DIFFERENCE
from passus.runs.run_folder import RunFolder, find_runs

MAX_NAMED = 4
"""Settings that an error names."""


@dataclass(frozen=True)
class ComparedRuns:
    """The runs of A and of B."""

    a: list[RunFolder]
    b: list[RunFolder]
    only_seed: bool = False
    """Whether all runs differ in nothing but the seed, so that a difference between them is the luck of a run."""

    def __str__(self) -> str:
        return " and ".join(describe(side) for side in (self.a, self.b))

    @property
    def are_single(self) -> bool:
        return len(self.a) == len(self.b) == 1


def describe(side: Sequence[RunFolder]) -> str:
    """Names the runs of a side: the run, or their number and the first and the last."""
    if len(side) == 1:
        return str(side[0].path)
    return f"{len(side)} runs ({side[0].path} to {side[-1].path.name})"


def compared_runs(paths: Sequence[Path], by: str | None = None) -> ComparedRuns:
    """Splits runs into two groups: by a field, by the two paths, or by all settings but the seed. A has the first run.

    Refuses copies of a run within a group, which have no luck of their own. With two paths it also refuses a run on both sides
    and a side of several configurations.
    """
    found = [_runs_at(path) for path in paths]
    runs = list({run.path.resolve(): run for at in found for run in at}.values())
    if by is not None:
        return _grouped(*_split(runs, {run.path: _field(run, by) for run in runs}, f"--by {by}"))
    if len(paths) == 2:
        _check_shared(*found)
        for side in found:
            _check_one_configuration(side)
        return _grouped(*found)
    if len(paths) < 2:
        raise UsageError(f"{len(paths)} path", expected="two runs or groups of runs", write="passus compare A B")
    return _grouped(*_split(runs, {run.path: str(_settings(run)) for run in runs}, "the settings"))


def compared_sides(a: Sequence[RunFolder], b: Sequence[RunFolder]) -> ComparedRuns:
    """Makes a comparison of two groups of runs, each of one configuration."""
    _check_shared(a, b)
    for side in (a, b):
        _check_one_configuration(side)
    return _grouped(list(a), list(b))


def _grouped(a: list[RunFolder], b: list[RunFolder]) -> ComparedRuns:
    for side in (a, b):
        _check_copies(side)
    return ComparedRuns(a, b, _only_seed(a, b))


def _runs_at(path: Path) -> list[RunFolder]:
    runs = [RunFolder(run) for run in find_runs(path)]
    if not runs:
        raise UsageError(f"{path} is not a run", expected="a run folder, or a folder of them", write="passus ls")
    return runs


def _field(run: RunFolder, key: str) -> str:
    fields = run.settings()
    if key not in fields:
        raise UsageError(f"--by {key}", expected="a field of the experiment file", write=nearest(key, fields))
    return str(fields[key])


def _settings(run: RunFolder) -> dict[str, str]:
    return {key: str(value) for key, value in run.settings().items() if key not in (*NO_DIFFERENCE, "name")}


def _check_shared(a: Sequence[RunFolder], b: Sequence[RunFolder]) -> None:
    paths_of_b = {run.path.resolve() for run in b}
    shared = [str(run.path) for run in a if run.path.resolve() in paths_of_b]
    if shared:
        raise UsageError(
            f"{' and '.join(shared[:2])}{' and others' * (len(shared) > 2)} on both sides",
            expected="every run on one side only",
            write="two folders that do not hold each other, or --by and a field",
        )


def _check_copies(side: Sequence[RunFolder]) -> None:
    """Refuses runs of equal settings and equal seed: the spread between copies says nothing about that between runs."""
    keys = {run.path: (str(_settings(run)), run.config().seed) for run in side}
    twice = next((key for key, count in Counter(keys.values()).items() if count > 1), None)
    if twice is not None:
        same = [str(path) for path, key in keys.items() if key == twice]
        raise UsageError(
            f"{' and '.join(same[:2])} have the same settings and the same seed, {twice[1]}",
            expected="one run per seed on each side",
            write="the runs without the copy, or another seed per run",
        )


def _check_one_configuration(side: Sequence[RunFolder]) -> None:
    settings = [_settings(run) for run in side]
    keys = dict.fromkeys(key for of_run in settings for key in of_run)
    varying = [key for key in keys if len({of_run.get(key) for of_run in settings}) > 1]
    if varying:
        raise UsageError(
            f"{describe(side)} differ in {', '.join(varying[:MAX_NAMED])}{' and others' * (len(varying) > MAX_NAMED)}",
            expected="runs of one configuration on each side, which differ in nothing but the seed",
            write=f"--by {varying[0]}",
        )


def _only_seed(a: Sequence[RunFolder], b: Sequence[RunFolder]) -> bool:
    """Whether two sides have the same settings and other seeds."""
    settings, seeds = {str(_settings(run)) for run in [*a, *b]}, [{run.config().seed for run in side} for side in (a, b)]
    return len(settings) == 1 and seeds[0] != seeds[1]


def _split(runs: Sequence[RunFolder], keys: dict[Path, str], what: str) -> list[list[RunFolder]]:
    groups: dict[str, list[RunFolder]] = {}
    for run in runs:
        groups.setdefault(keys[run.path], []).append(run)
    if len(groups) != 2:
        fields = [run.settings() for run in runs]
        varying = [key for key in fields[0] if len({str(f.get(key)) for f in fields}) == 2 and key not in NO_DIFFERENCE]
        raise UsageError(
            f"{len(runs)} runs make {len(groups)} group{'s' * (len(groups) != 1)} by {what}",
            expected="two groups" + (": all these runs differ in nothing but the seed" if len(groups) == 1 else ""),
            write=f"--by {varying[0]}" if varying else None,
        )
    return list(groups.values())
