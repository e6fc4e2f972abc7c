"""Runs of other tools on the page: read as any other, also when an import adds to them."""

from helpers.command import passus_in_process
from passus.page import samples, worker
from passus.page.arms import arm_row
from passus.page.collection import RunCollection
from passus.page.jobs import Jobs
from passus.page.line_figures import line_figure
from passus.page.view import View


def write_table(path, steps: int, shift: int) -> None:
    rows = ["step,benchmark,item,sample,correct,tokens,question,gold,output"]
    for step in range(0, 10 * steps, 10):
        for item in range(30):
            right = int((item * 7 + step + shift) % 30 < 10 + step // 5)
            rows.append(
                f"{step},maths,{item},0,{right},{5 + item % 3},what is {item}+1,{item + 1},the answer is {item + right}"
            )
    path.write_text("\n".join(rows) + "\n")


def test_imported_runs_are_shown_and_grow_with_the_next_import(tmp_path):
    def import_table(name: str, steps: int, shift: int) -> None:
        (tmp_path / name).mkdir(exist_ok=True)
        write_table(tmp_path / name / "table.csv", steps, shift)
        done = passus_in_process("import", name, "--out", f"runs/{name}", cwd=tmp_path)
        assert done.returncode == 0, done.stderr

    import_table("one", 3, 0)
    import_table("two", 3, 9)
    collection = RunCollection([tmp_path / "runs"])
    collection.look()
    assert [run.error for run in collection.runs.values()] == [None, None]
    figure = line_figure(collection, View())
    assert [s["points"]["x"] for s in figure["series"]] == [[0, 10, 20]] * 2
    one, two = collection.readable()
    assert arm_row(one, "")["state"] == "imported" and arm_row(one, "")["step"] == 20
    texts = samples.item_texts(one, [0, 20], "maths", one_item(one))
    assert len(texts["sides"]) == 2
    answer = worker.answer({"job": "compare", "a": [str(one.path)], "b": [str(two.path)]})
    assert "error" not in answer and answer["comparisons"][0]["items"] == 30
    report = worker.findings([one.path, two.path], "imported")["sections"]
    assert "not final" not in str(report[0]) and "one run per line" in str(report).lower()
    import_table("one", 5, 0)
    assert collection.look()
    assert sorted(len(s["points"]["x"]) for s in line_figure(collection, View())["series"]) == [3, 5]


def test_runs_without_accuracy_have_findings_about_their_signals(tmp_path):
    (tmp_path / "other").mkdir()
    rows = "".join(f"{step},{0.1 + 0.01 * step},{1.0 - 0.01 * step}\n" for step in range(1, 21))
    (tmp_path / "other" / "log.csv").write_text("step,train/reward,train/entropy\n" + rows)
    done = passus_in_process("import", "other", "--out", "runs", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    collection = RunCollection([tmp_path / "runs"])
    collection.look()
    figure = line_figure(collection, View())
    assert not figure["series"] and "no run has eval points; Signals shows training metrics" in figure["note"]
    assert line_figure(collection, View("signals"))["series"]
    runs = Jobs(collection, "")._reported()
    assert [run.run_id for run in runs] == list(collection.runs)
    answer = worker.answer({"job": "findings", "title": "", "paths": [str(run.path) for run in runs]})
    texts = str(answer["sections"])
    assert "eval point yet" not in texts and "when all arms have ended" not in texts and "reward" in texts.lower()


def one_item(run) -> int:
    return int(samples.eval_items(run, 0)["items"][0][1])
