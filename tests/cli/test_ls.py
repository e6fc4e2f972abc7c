"""`passus ls`: every benchmark of every run, folded where there are many, complete as JSON."""

import json

import pytest

from helpers.command import passus_in_process
from helpers.small_run import small_config
from passus.runs.eval_point import EvalPoint
from passus.runs.run_folder import RunFolder


def point(step: int, benchmark: str, acc: float, temperature: float = 1.0) -> EvalPoint:
    return EvalPoint(
        step=step, benchmark=benchmark, temperature=temperature, q=9, k=2, acc=acc, ci_low=acc / 2, ci_high=(1 + acc) / 2
    )


def write_run(path, points: list[EvalPoint]) -> None:
    path.mkdir(parents=True)
    run = RunFolder(path)
    run.start(small_config(), {"label": "m"}, None)
    run.append_evals(points)


def listed(folder, *options: str) -> str:
    done = passus_in_process("ls", str(folder), *options, cwd=folder)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("folder", ["", "arm"], ids=["folder of runs", "run"])
def test_all_benchmarks_are_shown_with_their_first_and_last_accuracy(tmp_path, folder):
    points = [point(step, name, acc + step / 100) for step in (0, 10, 20) for name, acc in (("gsm8k", 0.25), ("aime24", 0.5))]
    write_run(tmp_path / "arm", points)
    said = listed(tmp_path / folder)
    lines = [line for line in said.splitlines() if "->" in line and "first" not in line]
    assert "gsm8k" in lines[0] and ".250 -> .450 [.225, .725]" in lines[0] and "arm" in lines[0]
    assert "aime24" in lines[1] and ".500 -> .700 [.350, .850]" in lines[1]
    row = json.loads(listed(tmp_path / folder, "--json"))
    assert [(b["benchmark"], b["first"]["acc"], b["last"]["acc"], b["last"]["step"]) for b in row["benchmarks"]] == [
        ("gsm8k", 0.25, 0.45, 20), ("aime24", 0.5, 0.7, 20)
    ]  # fmt: skip


@pytest.mark.parametrize(("count", "shown"), [(5, 5), (6, 4), (11, 4)])
def test_a_long_list_is_folded_and_json_has_all(tmp_path, count, shown):
    write_run(tmp_path / "arm", [point(step, f"b{n}", 0.5) for step in (0, 10) for n in range(count)])
    said = listed(tmp_path)
    assert sum(f"]  b{n} " in said for n in range(count)) == shown
    assert (f"and {count - shown} more" in said) == (shown < count)
    assert len(json.loads(listed(tmp_path, "--json"))["benchmarks"]) == count


def test_temperatures_are_told_apart_and_one_point_has_no_arrow(tmp_path):
    write_run(tmp_path / "arm", [point(0, "gsm8k", 0.25, 0.0), point(0, "gsm8k", 0.5, 1.0)])
    said = listed(tmp_path)
    assert "gsm8k, temperature 0" in said and "gsm8k, temperature 1" in said
    assert ".250 [.125, .625]" in said and ".250 ->" not in said
    assert [b["temperature"] for b in json.loads(listed(tmp_path, "--json"))["benchmarks"]] == [0.0, 1.0]


def test_names_of_runs_are_never_cut(tmp_path):
    """Eighty columns hold the table; a long name goes on in the next line."""
    name = "a-long-name-of-an-arm-" + "0123456789" * 3
    write_run(tmp_path / name, [point(step, "abacus/chain", 0.5) for step in (0, 10)])
    said = listed(tmp_path)
    first_column = "".join(line.split("│")[1].strip() for line in said.splitlines() if line.startswith("│"))
    assert first_column == name and ".500 -> .500 [.250, .750]  abacus/chain" in said
