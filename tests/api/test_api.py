"""The Python API: its signatures are frozen, it loads nothing heavy, and the examples of docs/python.md run."""

import inspect
import re
import subprocess
import sys
from functools import cached_property
from pathlib import Path

import pytest
import rich.console

import passus
from helpers.small_run import small_config
from passus.errors import UsageError
from passus.runs.eval_point import EvalPoint
from passus.runs.row_files import ROWS
from passus.runs.run_folder import RunFolder

PAGE = Path(__file__).parents[2] / "docs" / "python.md"
SIGNATURES = {
    "load": "(*paths)",
    "run": "(experiment, *, out=None, settings=None, jobs=1)",
    "grade": "(output, gold, *, truncated=False, extract='any')",
    "read": "(text)",
    "Recorder": "(path)",
    "Recorder.settings": "(self, **settings)",
    "Recorder.metrics": "(self, step, values)",
    "Recorder.samples": "(self, step, benchmark, samples, *, kind='eval', temperature=None)",
    "Recorder.finish": "(self, state='finished', error=None)",
    "Runs": "(runs)",
    "Runs.at": "(*paths)",
    "Runs.select": "(self, where=None, **equal)",
    "Runs.group": "(self, by='line')",
    "Runs.compare": "(self, other=None, *, by=None, benchmark=None, summary='last')",
    "Runs.findings": "(self)",
    "Runs.diagnose": "(self)",
    "Runs.plot": "(self, y=None, x=None, *, kind='curves', title=None, out=None, **options)",
    "Runs.report": "(self, out, *, title=None)",
    "Run": "(path, line, origin)",
    "PassusError": "(given, *, expected=None, write=None)",
    "UsageError": "(given, *, expected=None, write=None)",
}
"""What programs of others rely on. A change here is a change for them, and belongs into the CHANGELOG."""
PROPERTIES = {
    "Runs": ["evals", "items", "metrics", "samples"],
    "Run": ["line", "method", "model", "name", "origin", "path", "seed", "settings", "state"],
    "Recorder": [],
}


def plain(function):
    """Returns a signature without annotations, which Python prints differently from version to version."""
    signature = inspect.signature(function)
    bare = [parameter.replace(annotation=inspect.Parameter.empty) for parameter in signature.parameters.values()]
    return str(signature.replace(parameters=bare, return_annotation=inspect.Signature.empty))


def test_signatures_are_frozen():
    found = {}
    for name in passus.__all__:
        value = getattr(passus, name)
        found[name] = plain(value)
        if inspect.isclass(value) and not issubclass(value, Exception):
            names = [key for key, member in vars(value).items() if callable(member) or isinstance(member, classmethod)]
            found |= {f"{name}.{key}": plain(getattr(value, key)) for key in names if not key.startswith("_")}
    assert found == SIGNATURES


@pytest.mark.parametrize("name", PROPERTIES)
def test_properties_are_frozen(name):
    value = getattr(passus, name)
    found = [key for key, member in vars(value).items() if isinstance(member, (property, cached_property))]
    found += list(getattr(value, "__dataclass_fields__", ()))
    assert sorted(key for key in found if not key.startswith("_")) == PROPERTIES[name]


LOADED = "import sys; import passus; print(sorted({name.partition('.')[0] for name in sys.modules}))"


def test_the_import_loads_nothing_but_the_standard_library():
    """It takes a fiftieth of a second because of it."""
    done = subprocess.run([sys.executable, "-c", LOADED], capture_output=True, text=True, check=True)
    heavy = {"numpy", "pyarrow", "matplotlib", "pydantic", "scipy", "rich", "torch", "transformers", "pandas"}
    assert not heavy & set(re.findall(r"'(\w+)'", done.stdout))
    assert dir(passus) and "load" in dir(passus)
    with pytest.raises(AttributeError, match="no attribute 'open'"):
        passus.open  # noqa: B018


LOOKING = """
import sys
import passus

runs = passus.load("runs/methods")
repr(runs), runs._repr_html_(), runs.evals, runs.metrics, runs.items, runs.samples
runs.findings(), runs.diagnose(), runs.compare(by="method.name"), runs.plot(), runs.report("report.html")
passus.grade("\\\\boxed{2}", "2"), passus.read("Accuracy rises from 20% to 40%.")
print(sorted({"torch", "transformers"} & set(sys.modules)))
"""


def test_looking_at_runs_loads_no_torch(methods):
    done = subprocess.run([sys.executable, "-c", LOOKING], cwd=methods, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "[]\n"), done.stderr


def write_run(path, method, seed, right):
    """Writes a run of passus with the outcomes of 20 items x 2 samples at three eval points."""
    path.mkdir(parents=True)
    run = RunFolder(path)
    config = small_config(method={"name": method}, train={"samples": 8}, seed=seed)
    run.start(config, {"label": "m", "family": "Qwen3", "parameters": 1}, None)
    for number, step in enumerate((0, 4, 8)):
        rows = {name: [] for name in ROWS["items"]}
        for item in range(20):
            for sample in range(2):
                values = {
                    "benchmark": "abacus/add2", "temperature": 1.0, "item": item, "sample": sample, "tokens": 9,
                    "verdict": "correct" if (item * 7 + seed) % 20 < right[number] else "wrong", "completion": "\\boxed{2}",
                    "extracted": "2",
                }  # fmt: skip
                for name, column in rows.items():
                    column.append(values.get(name))
        run.write_rows("items", step, rows)
        acc = right[number] / 20
        run.append_evals([
            EvalPoint(
                step=step, benchmark="abacus/add2", temperature=1.0, q=20, k=2, acc=acc, ci_low=acc / 2, ci_high=(1 + acc) / 2,
                tokens_mean=9.0, tokens_p95=9.0,
            )
        ])  # fmt: skip
    for step in range(1, 9):
        run.append_metrics({"step": step, "train/reward": step / 10, "train/num_tokens": 100.0 * step})
    run.write_rows("samples", 1, {name: [None] for name in ROWS["samples"]})
    run.write_status(state="finished")


@pytest.fixture(scope="module")
def methods(tmp_path_factory):
    """A folder with runs/methods, as the examples name it."""
    folder = tmp_path_factory.mktemp("api")
    for seed in (0, 1):
        write_run(folder / f"runs/methods/grpo-{seed}", "grpo", seed, (4, 10, 16))
        write_run(folder / f"runs/methods/dapo-{seed}", "dapo", seed, (4, 8, 12))
    return folder


def blocks():
    return re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)


def test_the_first_example_of_the_page_runs(methods, monkeypatch):
    monkeypatch.chdir(methods)
    place: dict = {}
    exec(blocks()[0], place)
    assert len(place["runs"]) == 4 and len(place["grpo"]) == 2 and len(place["small"]) == 4
    assert (methods / "length.pdf").exists() and (methods / "report.html").exists()
    assert place["comparison"].difference == pytest.approx(0.2)


def test_the_recording_of_the_page_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    completions = [("1+1", "2", "\\boxed{2}", 5), ("2+2", "4", "\\boxed{5}", 5)]
    exec(blocks()[1], {"reward": 0.5, "norm": 1.0, "entropy": 0.3, "completions": completions, "passus": passus})
    evals = passus.load("runs/mine").evals
    assert evals["step"].to_pylist() == list(range(10, 201, 10)) and set(evals["acc"].to_pylist()) == {0.5}


def test_the_other_examples_are_python():
    assert len(blocks()) >= 3
    for block in blocks()[2:]:
        compile(block, PAGE.name, "exec")


def test_tables_say_of_which_run_a_row_is(methods):
    runs = passus.load(methods)
    assert runs.evals["line"].to_pylist()[:3] == ["dapo"] * 3 and set(runs.evals["seed"].to_pylist()) == {0, 1}
    assert len(runs.items) == 4 * 3 * 40 and runs.items["run"].to_pylist()[0] == "dapo-0"
    assert runs.metrics["train/reward"].to_pylist()[:2] == [0.1, 0.2] and len(runs.samples) == 4
    frame = runs.evals.to_pandas()
    assert frame.groupby("line")["acc"].max().to_dict() == {"dapo": 0.6, "grpo": 0.8}


def test_selecting_and_grouping(methods):
    runs = passus.load(methods)
    assert [run.name for run in runs.select(method="grpo", seed=1)] == ["grpo-1"]
    assert {key: len(own) for key, own in runs.group("method").items()} == {"dapo": 2, "grpo": 2}
    assert runs["grpo-0"].seed == 0 and len(runs[1:3]) == 2
    for wrong in (lambda: runs.select(methd="grpo"), lambda: runs["grpo"], lambda: runs.select(method="ppo"),
                  lambda: runs.plot(fits=True), lambda: passus.load(methods / "absent")):  # fmt: skip
        with pytest.raises(UsageError):
            wrong()


def test_what_notebooks_and_rich_show(methods):
    runs = passus.load(methods)
    for shown in (runs, runs.findings(), runs.compare(by="method.name")):
        html, text = shown._repr_html_(), repr(shown)
        assert html.startswith("<table><thead>") and html.count("<tr>") == len(text.splitlines())
        console = rich.console.Console(width=200, record=True, file=open("/dev/null", "w"))  # noqa: SIM115
        console.print(shown)
        assert console.export_text().count("\n") >= len(text.splitlines())
    assert "grpo" in repr(runs) and ".200 -> .800" in repr(runs)
    assert type(runs.findings()[:1]) is list and runs.findings()[0].verdict


def test_texts_of_runs_are_escaped(tmp_path):
    with passus.Recorder(tmp_path / "run") as run:
        run.settings(model="<script>alert(1)</script>\x1b[31m[bold]", seed=0)
        run.samples(0, "<b>sums</b>", [{"item": "a", "correct": True}])
    runs = passus.load(tmp_path)
    for shown in (runs, runs.findings()):
        assert "<script" not in shown._repr_html_() and "<b>" not in shown._repr_html_() and "\x1b" not in repr(shown)


def test_grade_and_read():
    assert passus.grade("So the answer is \\boxed{3/6}.", "1/2").verdict == "correct"
    assert passus.grade("\\boxed{3}", "1/2", truncated=True).verdict == "truncated"
    curves = passus.read("GRPO rises from 20% at step 0 to 40% at step 100.")
    assert [(p.x, p.y) for p in curves.series[0].points] == [(0, 0.2), (100, 0.4)]
