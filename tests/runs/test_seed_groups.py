"""Runs that differ only by seed are one line, also where a seed was run twice; a copy of a run is none of its members."""

import shutil

import pytest

from helpers.command import passus_in_process
from helpers.small_run import small_config
from passus.analysis.analyse import measure_curves
from passus.figures import kinds
from passus.runs.eval_point import EvalPoint
from passus.runs.origin import group_by_seed, line_names, origin_of, seed_names
from passus.runs.read_curves import load_curves
from passus.runs.run_folder import RunFolder


def write_run(path, seed: int, accuracies: list[float], **changes) -> None:
    path.mkdir(parents=True)
    run = RunFolder(path)
    run.start(small_config(seed=seed, **changes), {"label": "m", "tuning": "live"}, None)
    fixed = {"benchmark": "gsm8k", "temperature": 1.0, "q": 9, "k": 2, "ci_low": 0.0, "ci_high": 1.0, "tokens_mean": 5.0}
    run.append_evals([EvalPoint(step=10 * n, acc=acc, **fixed) for n, acc in enumerate(accuracies)])


def grouped(folder) -> list[list[str]]:
    origins = [origin_of(RunFolder(path)) for path in sorted(folder.iterdir())]
    return [[origin.path.name for origin in line] for line in group_by_seed(origins)]


def test_a_second_run_with_the_same_seed_stays_in_its_line(tmp_path):
    """Seeds 0, 1 and 1 again, as on other hardware, where rounding separates two runs after a while."""
    write_run(tmp_path / "a", 0, [0.2, 0.4])
    write_run(tmp_path / "b", 1, [0.3, 0.5])
    write_run(tmp_path / "c", 1, [0.3, 0.6])
    write_run(tmp_path / "d", 1, [0.3, 0.5], train={"prompts": 8})
    assert grouped(tmp_path) == [["a", "b", "c"], ["d"]]


@pytest.mark.parametrize("points", [1, 2], ids=["shorter", "whole"])
def test_a_copy_is_a_line_of_its_own_and_does_not_dissolve_the_group(tmp_path, points):
    """A copy may have been taken while the run was going on. Times are not compared: a repetition has other times."""
    write_run(tmp_path / "a", 0, [0.2, 0.4])
    write_run(tmp_path / "b", 1, [0.3, 0.5])
    if points == 2:
        shutil.copytree(tmp_path / "b", tmp_path / "c")
    else:
        write_run(tmp_path / "c", 1, [0.3])
    assert grouped(tmp_path) == [["a", "b"], ["c"]]
    lines = group_by_seed([origin_of(RunFolder(path)) for path in sorted(tmp_path.iterdir())])
    assert len(set(line_names(lines))) == 2


def test_seeds_that_differ_are_never_copies_although_their_numbers_agree(tmp_path):
    for seed in (0, 1, 2):
        write_run(tmp_path / f"seed-{seed}", seed, [0.5, 0.5])
    assert grouped(tmp_path) == [["seed-0", "seed-1", "seed-2"]]


def test_analyse_remarks_that_a_seed_was_run_twice(tmp_path):
    write_run(tmp_path / "a", 0, [0.2, 0.4])
    write_run(tmp_path / "b", 1, [0.3, 0.5])
    once = passus_in_process("analyse", str(tmp_path), cwd=tmp_path)
    write_run(tmp_path / "c", 1, [0.3, 0.6])
    twice = passus_in_process("analyse", str(tmp_path), cwd=tmp_path)
    assert once.returncode == twice.returncode == 0, twice.stderr
    assert "was run" not in once.stderr and "m: seed 1 was run 2 times." in twice.stderr


def test_runs_of_one_seed_have_names_of_their_own(tmp_path):
    for name, seed, end in (("a", 0, 0.4), ("b", 1, 0.5), ("c", 1, 0.6)):
        write_run(tmp_path / name, seed, [0.3, end])
    names = seed_names([origin_of(RunFolder(tmp_path / name)) for name in "abc"])
    assert list(names.values()) == ["seed 0", "seed 1", "seed 1, run 2"]
    curves = load_curves([tmp_path])
    assert [m.name for m in measure_curves(curves)] == ["m, seed 0", "m, seed 1", "m, seed 1, run 2"]
    thin = [s.name for s in kinds.curves([tmp_path]).series if s.faint]
    assert thin == ["m, seed 0", "m, seed 1", "m, seed 1, run 2"]
