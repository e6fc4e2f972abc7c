"""Plain CSV and JSON lines: long, wide, and the documented table of samples."""

import math

import pytest

from helpers.source_bytes import read_only_run, rows_at, values_of, write_lines
from passus.errors import PassusError, UsageError
from passus.interop.importers.detect import find_sources
from passus.interop.importers.import_options import ImportOptions
from passus.interop.importers.import_sources import import_runs, plan_import
from passus.runs.run_folder import RunFolder, find_runs


def test_wide(tmp_path):
    (tmp_path / "grpo-s0.csv").write_text("epoch,Step,loss,acc,note\n0,0,0.5,,a\n0,1,,0.25,b\n1,2,NaN,0.5,c\n")
    run = read_only_run(tmp_path)
    assert (run.name, run.tool) == ("grpo-s0", "CSV table")
    assert values_of(run, "acc") == [(1, 0.25), (2, 0.5)] and values_of(run, "loss")[0] == (0, 0.5)
    assert math.isnan(values_of(run, "loss")[1][1]), "an empty cell is missing, NaN is a gap"
    assert run.remarks == ["cells that are no numbers were left out, in 'note'"] and values_of(run, "epoch")


def test_long_with_runs_and_seeds(tmp_path):
    rows = ["run,step,metric,value,seed", "a,0,acc,0.5,3", "a,1,acc,0.75,3", "b,0,acc,,4", "b,1,acc,0.1,4", 'b,1,"x, y",1,4']
    (tmp_path / "runs.csv").write_text("\n".join(rows))
    first, second = find_sources(tmp_path)[0].read()
    assert [(run.name, run.seed) for run in (first, second)] == [("a", 3), ("b", 4)]
    assert values_of(first, "acc") == [(0, 0.5), (1, 0.75)] and values_of(second, "acc") == [(1, 0.1)]
    assert values_of(second, "x, y") == [(1, 1.0)]


def test_spreadsheets_write_semicolons_commas_and_a_mark_at_the_start(tmp_path):
    (tmp_path / "a.csv").write_bytes("\ufeffstep;acc;loss\r\n0;0,5;1e-3\r\n1;0,75;\r\n".encode())
    run = read_only_run(tmp_path)
    assert values_of(run, "acc") == [(0, 0.5), (1, 0.75)] and values_of(run, "loss") == [(0, 0.001)]
    (tmp_path / "a.csv").unlink()
    (tmp_path / "b.tsv").write_text("STEP\tacc\n0\t0.5\n")
    assert values_of(read_only_run(tmp_path), "acc") == [(0, 0.5)]


@pytest.mark.parametrize(
    "name", ["step", "_step", "global_step", "train/global_step", "iteration", "iter", "epoch", "Global_Step"]
)
def test_names_of_the_step(tmp_path, name):
    (tmp_path / "a.csv").write_text(f"loss,{name}\n0.5,3\n")
    assert values_of(read_only_run(tmp_path), "loss") == [(3, 0.5)]
    write_lines(tmp_path / "l" / "a.jsonl", [{"loss": 0.5, name: 3}])
    assert values_of(read_only_run(tmp_path / "l"), "loss") == [(3, 0.5)]


def test_tables_without_a_step_are_refused(tmp_path):
    (tmp_path / "a.csv").write_text("loss,acc\n0.5,3\n")
    with pytest.raises(UsageError, match=r"nothing in .*a\.csv"):
        find_sources(tmp_path)
    (tmp_path / "b.csv").write_text("epoch,acc\n0.5,3\n0.75,3\n")
    with pytest.raises(UsageError, match="no value at a step"):
        find_sources(tmp_path)[0].read()


def test_rows_of_another_length_and_open_quotes(tmp_path):
    (tmp_path / "a.csv").write_text("step,loss\n0,1\n1\n2,3,4\n\n3,5\n")
    run = read_only_run(tmp_path)
    assert values_of(run, "loss") == [(0, 1), (3, 5)] and "2 rows do not have the 2 cells" in run.remarks[0]
    (tmp_path / "a.csv").write_text('step,loss\n0,1\n1,"' + "x" * 200_000 + "\n")
    with pytest.raises(PassusError, match="cannot be read as CSV"):
        find_sources(tmp_path)[0].read()


def test_too_many_columns_and_utf_16_are_refused(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("step," + ",".join(f"m{n}" for n in range(10_001)))
    with pytest.raises(PassusError, match="10,002 columns"):
        find_sources(path)
    path.write_bytes("step,a\n1,2\n".encode("utf-16"))
    with pytest.raises(PassusError, match="UTF-16"):
        find_sources(path)


def test_json_lines(tmp_path):
    rows = [
        {"step": 0, "time": 1.79e9, "train": {"loss": 0.5}, "acc": None, "tags": ["x"], "run": "a"},
        {"step": 1, "metrics": {"acc": 0.5}, "run": "b"}, {"no": "step"},
    ]  # fmt: skip
    path = write_lines(tmp_path / "log.jsonl", rows)
    path.write_text(path.read_text() + "not json\n[1]\n" + '{"step": 2, "ac')
    first, second = find_sources(tmp_path)[0].read()
    assert values_of(first, "train/loss") == [(0, 0.5)] and math.isnan(values_of(first, "acc")[0][1])
    assert first.points[0].wall_time == 1.79e9 and values_of(second, "acc") == [(1, 0.5)] and second.name == "b"
    assert first.remarks[:2] == [
        "log.jsonl: the last line is cut off and was dropped",
        "log.jsonl: line 4 and 1 more cannot be read as a JSON object and was left out",
    ]


SAMPLES = (
    "step,benchmark,item,sample,correct,tokens\n"
    "0,aime24,p1,0,1,100\n0,aime24,p1,1,false,200\n0,aime24,p2,0,True,\n0,gsm8k,p1,0,0.5,7\n20,aime24,p1,0,yes,5\n"
)


def test_the_table_of_samples(tmp_path):
    (tmp_path / "grpo-s0.csv").write_text(SAMPLES)
    run = read_only_run(tmp_path)
    assert (run.name, run.tool, list(run.samples), run.remarks) == ("grpo-s0", "sample table", [0, 20], [])
    assert [(r.benchmark, r.item, r.sample, r.value, r.tokens) for r in rows_at(run, 0)] == [
        ("aime24", "p1", 0, 1.0, 100), ("aime24", "p1", 1, 0.0, 200), ("aime24", "p2", 0, 1.0, None),
        ("gsm8k", "p1", 0, 0.5, 7),
    ]  # fmt: skip
    assert rows_at(run, 20)[0].value == 1.0


def test_the_table_of_samples_as_json_lines_with_runs_and_seeds(tmp_path):
    rows = [
        {"run": f"grpo-s{seed}", "seed": seed, "step": 0, "benchmark": "aime24", "item": n, "correct": True, "truncated": False}
        for seed in (0, 1)
        for n in (1, 1, 2)
    ]
    write_lines(tmp_path / "samples.jsonl", rows)
    runs = find_sources(tmp_path)[0].read()
    assert [(run.name, run.seed) for run in runs] == [("grpo-s0", 0), ("grpo-s1", 1)]
    assert [(r.item, r.sample, r.value, r.truncated) for r in rows_at(runs[0], 0)] == [
        ("1", 0, 1.0, False), ("1", 1, 1.0, False), ("2", 0, 1.0, False),
    ]  # fmt: skip


def imported(source, out):
    import_runs(plan_import([source], out, ImportOptions()), ImportOptions())
    (path,) = find_runs(out)
    return RunFolder(path)


def test_the_last_row_of_a_sample_counts(tmp_path):
    rows = "".join(f"0,{item},{sample},{value}\n" for value in (0, 1) for item in "ab" for sample in (0, 1))
    (tmp_path / "a-s0.csv").write_text("step,item,sample,correct\n" + rows + "0,a,0,0\n")
    run = imported(tmp_path / "a-s0.csv", tmp_path / "out")
    (point,) = run.evals()
    assert (point.q, point.k, point.acc) == (2, 2, 0.75)
    assert "step 0, eval: 5 samples were written again; the last one counts" in run.meta()["launches"][-1]["data"]["remarks"]


@pytest.mark.parametrize("names", [
    ["507f1f77bcf86cd799439011", "507f1f77bcf86cd799439012"], ["01", "1"], ["0" * 16 + "1", "0" * 16 + "2"],
])  # fmt: skip
def test_items_whose_names_are_alike_stay_apart(tmp_path, names):
    rows = "".join(f"0,{name},0,{value}\n" for name, value in zip(names, (1, 0), strict=True))
    (tmp_path / "a-s0.csv").write_text("step,item,sample,correct\n" + rows)
    kept = imported(tmp_path / "a-s0.csv", tmp_path / "out").read_rows("items", 0)
    assert len({row["item"] for row in kept}) == 2 and [row["value"] for row in kept] == [1.0, 0.0]


def test_samples_without_a_verdict_a_step_or_a_benchmark(tmp_path):
    (tmp_path / "a.csv").write_text("Step,Item,Correct,output\n0,a,1,x\n0,b,2,x\n0,c,,x\n,d,1,x\n1,,1,x\n0,e,?,x\n")
    run = read_only_run(tmp_path)
    assert [(r.item, r.value, r.benchmark) for r in rows_at(run, 0)] == [
        ("a", 1.0, "eval"), ("b", None, "eval"), ("c", None, "eval"), ("e", None, "eval"),
    ]  # fmt: skip
    assert run.remarks == [
        "columns that a table of samples has no use for were left out: 'output'",
        "3 samples have no value of `correct` from 0 to 1, and no verdict",
        "2 rows have no step or no item, and were left out",
    ]
    assert rows_at(read_only_run(tmp_path, benchmark="gsm8k"), 0)[0].benchmark == "gsm8k"
    (tmp_path / "a.csv").write_text("step,item,correct\n")
    with pytest.raises(UsageError, match="has no sample"):
        find_sources(tmp_path)[0].read()
