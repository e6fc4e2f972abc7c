"""Commands as users give them: answers, exit codes, and messages instead of tracebacks."""

import json
import shutil
from functools import reduce
from operator import getitem

import pytest

from helpers.command import passus, passus_in_process
from helpers.small_run import EXPERIMENT, write_experiment
from passus.cli.app import app
from passus.runs.run_folder import RunFolder


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cli")
    done = passus("run", write_experiment(folder), "--set", "train.steps=3", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "accuracy" in done.stdout and "next:" in done.stdout and "figure: runs/small/small.png" in done.stdout
    return folder / "runs/small/qwen3"


COMMANDS = [[name] for name in app if not name.startswith("-")] + [["benchmarks", "list"], ["benchmarks", "pull"]]


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_every_command_helps_and_documents_every_option(command, capsys):
    app([*command, "--help"], result_action="return_value")
    assert f"Usage: passus {' '.join(command)}" in capsys.readouterr().out
    for argument in reduce(getitem, command, app).assemble_argument_collection(parse_docstring=True):
        assert argument.parameter.help, argument.name


def test_help_loads_nothing_heavy(tmp_path):
    """This keeps `passus --help` quick. The time itself is measured by hand."""
    import subprocess
    import sys

    heavy = {"torch", "transformers", "pydantic", "scipy", "numpy", "matplotlib", "pyarrow", "jinja2", "rich.markdown"}
    code = f"import sys; from passus.cli.app import app; app(result_action='return_value'); print({heavy} & {{*sys.modules}})"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.splitlines()[-1] == "set()"


def test_the_runner_itself_never_loads_torch():
    import subprocess
    import sys

    code = "import sys, passus.launch.runner, passus.figures.kinds, passus.launch.dry_run; print('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "False"


EVAL = ("--suite", "abacus/add2", "--samples", "2", "--limit", "8", "--max-tokens", "24")


def test_eval_gives_what_the_run_recorded(run, tmp_path):
    done = passus_in_process("eval", str(run), *EVAL, "--json", "--out", "scores", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    recorded = next(e.to_row() for e in RunFolder(run).evals() if e.step == 3 and e.benchmark == "abacus/add2")
    assert json.loads(done.stdout) | {"step": 3, "time/eval": 0} == recorded | {"time/eval": 0}
    assert (tmp_path / "scores/items/step-000000.parquet").exists()
    assert passus_in_process("eval", "nano/qwen3", *EVAL, "--out", "scores", cwd=tmp_path).returncode == 2


def test_ls_show_and_explain(run):
    listed = passus_in_process("ls", str(run.parent), "--json", cwd=run)
    assert json.loads(listed.stdout)["state"] == "finished"
    shown = passus_in_process("show", str(run), "--samples", "2", cwd=run).stdout
    assert shown.count("<q>") == 2 and "verdict" in shown and "advantage" in shown
    assert "items" in passus_in_process("show", str(run), "--step", "0", cwd=run).stdout
    assert "AdamW" in passus_in_process("explain", "train.learning_rate", cwd=run).stdout


def test_power(run, tmp_path):
    """One run with four eval points: what is measured is used, and what is assumed is named."""
    arguments = ("power", "families-seeds", "--from", str(run.parent), "--difference", "5")
    done = passus_in_process(*arguments, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "abacus/add2" in done.stdout and "What would show 5 points" in done.stdout and "From 1 run of 1 arm" in done.stdout
    row = json.loads(passus_in_process(*arguments, "--json", cwd=tmp_path).stdout)
    assert (row["arms"], row["seeds"], row["difference"]) == (5, 3, 5.0)
    smallest = row["benchmarks"][0]["configuration"]
    assert 0 < smallest["pair"]["smallest"] < smallest["report"]["smallest"]
    assert "Assumed: runs" in passus_in_process("power", "families", cwd=tmp_path).stdout.replace("\n", " ")


@pytest.mark.parametrize("suffix", ["svg", "pdf", "png"])
def test_plot(run, tmp_path, suffix):
    done = passus_in_process("plot", str(run.parent), "--out", f"figure.{suffix}", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert 1000 < (tmp_path / f"figure.{suffix}").stat().st_size < 300_000


BAD = {
    ("run", "familes"): "families",
    ("run", "none.toml"): "no file",
    ("run", "families", "--set", "train.stepz=1"): "train.steps",
    ("run", "families", "--arm", "qwen4"): "qwen3",
    ("run", "families", "--jobs", "0"): "1 or more",
    ("demo", "--jobs", "-1"): "1 or more",
    ("power", "familes"): "families",
    ("power", "reward-model"): "trains no policy",
    ("power", "families", "--difference", "0"): "more than 0",
    ("power", "families", "--difference", "-2"): "more than 0",
    ("power", "families", "--difference", "nan"): "more than 0",
    ("power", "families", "--set", "sweep.seed=[0, 0]"): "two arms would be called",
    ("power", "families", "--from", "nowhere"): "no file or folder",
    ("power", "families", "--from", "kimi-k1.5"): "run folders",
    ("eval", "nano/qwen3", "--suite", "abacus/add2", "--max-tokens", "0"): "1 or more",
    ("eval", "nano/qwen3", "--suite", "abacus/add2", "--prompt", "x"): "{question}",
    ("eval", "nano/qwen4", "--suite", "abacus/add2"): "nano/qwen3",
    ("eval", "nano/qwen3", "--suite", "abacus/ad2"): "abacus/add2",
    ("eval", "nano/qwen3", "--suite", "abacus/add2", "--samples", "0"): "eval.samples = 0",
    ("eval", "./nowhere", "--suite", "abacus/add2"): "no folder",
    ("eval", "runs/generators/qwen3@40", "--suite", "abacus/add2"): "passus run generators",
    ("ls", "nowhere"): "no folder",
    ("show", "nowhere"): "not a run",
    ("explain", "train.stpes"): "train.steps",
    ("plot", "nowhere", "--out", "x.svg"): "no file or folder",
    ("pretrain", "--family", "gpt", "--out", "x"): "qwen3",
}


@pytest.mark.parametrize("arguments", BAD, ids=" ".join)
def test_bad_usage(arguments, tmp_path):
    done = passus_in_process(*arguments, cwd=tmp_path)
    assert done.returncode == 2 and BAD[arguments] in done.stderr and "Traceback" not in done.stderr
    assert not list(tmp_path.iterdir())  # nothing is left behind by what was refused


def test_bad_usage_of_a_run(run, tmp_path):
    for arguments, part in (
        (("show", str(run), "--step", "99"), "no samples of step 99"),
        (("show", str(run), "--verdict", "good"), "unparseable"),
        (("eval", f"{run}@77", "--suite", "abacus/add2"), "no checkpoint of step 77"),
        (("eval", f"{run}@²", "--suite", "abacus/add2"), "no checkpoint of step ²"),
        (("eval", f"{run}@{'9' * 5000}", "--suite", "abacus/add2"), "no checkpoint of step 999"),
        (("plot", str(run), "--out", "x.gif"), ".svg"),
        (("plot", str(run), "--out", "x.svg", "--y", "train/rewrad"), "train/reward"),
        (("plot", str(run), "--out", "x.svg", "--x", "steps"), "progress"),
        (("show", str(run / "config.toml")), "not a run"),
        (("plot", str(run / "config.toml"), "--out", "x.svg"), "not a curve file"),
    ):
        done = passus_in_process(*arguments, cwd=tmp_path)
        assert done.returncode == 2 and part in done.stderr and "Traceback" not in done.stderr, done.stderr


def _make_gpt2(folder):
    from transformers import GPT2Config, GPT2LMHeadModel

    GPT2LMHeadModel(GPT2Config(vocab_size=41, n_embd=8, n_layer=1, n_head=2, n_positions=64)).save_pretrained(folder)


@pytest.mark.parametrize(
    ("spoil", "part"),
    [
        (lambda d: (d / "config.json").unlink(), "no config.json"),
        (lambda d: (d / "model.safetensors").unlink(), "cannot be loaded"),
        (lambda d: (d / "model.safetensors").write_bytes(b"not weights"), "cannot be loaded"),
        (lambda d: (d / "config.json").write_text("{"), "cannot be loaded"),
        (lambda d: (d / "config.json").write_text('{"model_type": "nonsense"}'), "cannot be loaded"),
        (lambda d: (d / "tokenizer.json").unlink(), "cannot be loaded"),
        (_make_gpt2, "gpt2"),
    ],
    ids=["no config", "no weights", "bad weights", "torn config", "unknown type", "no tokenizer", "other architecture"],
)
def test_a_folder_that_is_not_a_model(tmp_path, spoil, part):
    from importlib.resources import files

    from passus.errors import UsageError
    from passus.models import loader

    shutil.copytree(str(files("passus") / "nano/qwen3"), tmp_path / "model")
    spoil(tmp_path / "model")
    with pytest.raises(UsageError, match=part):
        loader.load(str(tmp_path / "model"), "cpu", "float32")


def test_a_bad_model_fails_the_run_with_one_message(tmp_path):
    (tmp_path / "empty").mkdir()
    experiment = write_experiment(tmp_path, EXPERIMENT.replace("nano/qwen3", "./empty"))
    done = passus_in_process("run", experiment, "--arm", "empty", cwd=tmp_path)
    assert done.returncode == 2 and "is not a model" in done.stderr and "Traceback" not in done.stderr


def test_an_output_path_that_is_a_file(tmp_path):
    (tmp_path / "taken").touch()
    for arguments in (("run", write_experiment(tmp_path), "--out", "taken"), ("plot", ".", "--out", "taken/x.svg")):
        done = passus_in_process(*arguments, cwd=tmp_path)
        assert done.returncode in (1, 2) and "error" in done.stderr and "Traceback" not in done.stderr


@pytest.mark.slow
def test_a_run_given_by_step_can_be_trained_on_and_evaluated(run, tmp_path):
    experiment = write_experiment(tmp_path, EXPERIMENT.replace("nano/qwen3", f"{run}@2"))
    done = passus("run", experiment, "--out", "second", "--set", "train.steps=1", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    evaluated = passus("eval", "second/qwen3-2@1", *EVAL, cwd=tmp_path)
    assert evaluated.returncode == 0 and "8 items x 2" in evaluated.stdout and "next:" in evaluated.stdout


def test_model_output_cannot_drive_the_terminal():
    from passus.formatting import printable

    assert printable("a\x1b[2Jb\n\x07") == "a\\x1b[2Jb\n\\x07"
