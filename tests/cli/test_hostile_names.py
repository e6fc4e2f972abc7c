"""Names and texts from files: no command lets one of them control the terminal, a figure, a table or a page."""

import contextlib
import json
import os
import pty
import subprocess
import sys

import pytest

from helpers.command import passus_in_process
from helpers.hostile_files import CURVE_FILE, check_written, run_command
from helpers.synthetic_runs import make_run

NAME = "x\x1b[31m\x1b]0;owned\x07\x9b2J\u202e\x7f\r=1 $\\frac{1}{0}$ <script>"


@pytest.fixture
def curves(tmp_path):
    """A curve file with hostile names in every field."""
    content = json.loads(json.dumps(CURVE_FILE)) | {"title": NAME, "source": NAME}
    for n, series in enumerate(content["series"]):
        series |= {"name": f"={NAME}{n}", "benchmark": f"@{NAME}"}
    content["claims"] = [{"text": f"{NAME} rises from 0.2 to 0.5.", "line": 1}]
    content["unread"] = [{"text": NAME, "line": 2}]
    (tmp_path / "curves.json").write_text(json.dumps(content))
    return tmp_path


@pytest.mark.parametrize("name", ["f.svg", "f.csv", "f.pdf", "f.png"])
@pytest.mark.parametrize("kind", ["curves", "heatmap", "profile"])
def test_plot(curves, name, kind):
    assert run_command(curves, "plot", "curves.json", "--kind", kind, "--out", f"out/{name}", out=curves / "out") == "accepted"
    check_written(curves / "out" / name)


@pytest.mark.parametrize("name", ["r.html", "r.md"])
def test_report(curves, name):
    assert (
        run_command(curves, "report", "curves.json", "--title", NAME, "--out", f"out/{name}", out=curves / "out") == "accepted"
    )
    for path in (curves / "out").iterdir():
        check_written(path)


def test_analyse_and_describe(curves):
    assert run_command(curves, "analyse", "curves.json") == "accepted"
    assert run_command(curves, "analyse", "curves.json", "--json") == "accepted"
    assert run_command(curves, "describe", "curves.json") == "accepted"


@pytest.mark.slow
def test_in_a_terminal(curves):
    """A terminal gets colours, and none of the sequences that the file holds."""
    controller, terminal = pty.openpty()
    command = [sys.executable, "-P", "-m", "passus", "analyse", "curves.json"]
    environment = os.environ | {"TERM": "xterm-256color", "COLUMNS": "200"}
    process = subprocess.Popen(command, cwd=curves, stdin=terminal, stdout=terminal, stderr=terminal, env=environment)
    os.close(terminal)
    printed = b""
    with contextlib.suppress(OSError):  # Linux reports the end of a terminal as an error
        while part := os.read(controller, 65536):
            printed += part
    os.close(controller)
    assert process.wait(timeout=600) == 0 and b"\x1b[1m" in printed
    text = printed.decode()
    assert not [sign for sign in ("\x1b[31m", "\x1b]", "\x07", "\x9b", "\u202e", "\x7f") if sign in text]


@pytest.fixture
def runs(tmp_path):
    """Two runs whose folder, label, benchmark, completions and error are hostile."""
    for n in range(2):
        run = make_run(tmp_path / "runs" / f"arm\x1b[31m{n}", {f"{NAME}b": 0.1 * n, "abacus/sub": 0.0}, seed=n, items=12)
        run.write_status(state=f"finished{NAME}", error=f"failed: {NAME}", pid=1, exit_code=1, heartbeat=NAME)
        meta = run.meta()
        meta["model"]["label"] = f"{NAME}{n}"
        meta["launches"][0]["data"] = {"remarks": [NAME]}
        run.write_single("meta.json", json.dumps(meta))
    return tmp_path


def test_ls_show_compare_and_analyse(runs):
    a, b = (f"runs/arm\x1b[31m{n}" for n in range(2))
    assert run_command(runs, "ls", "runs") == "accepted"
    assert run_command(runs, "ls", "runs", "--json") == "accepted"
    assert run_command(runs, "show", a, "--step", "0") == "accepted"
    assert run_command(runs, "compare", a, b) == "accepted"
    assert run_command(runs, "compare", a, b, "--json") == "accepted"
    assert run_command(runs, "analyse", "runs") == "accepted"
    for name in ("f.svg", "f.csv", "r.html"):
        command = "report" if name == "r.html" else "plot"
        assert run_command(runs, command, "runs", "--out", f"out/{name}", out=runs / "out") == "accepted"
        check_written(runs / "out" / name)


def test_errors_of_ls(runs):
    path = next((runs / "runs").iterdir())
    (path / "evals.jsonl").write_bytes(b'{"step": 1, "benchmark": "\x1b[31m"\n')
    (path / "config.toml").write_text(f"name = {json.dumps(NAME)}\nx = 1\n", encoding="utf-8")
    assert run_command(runs, "ls", "runs") == "accepted"


@pytest.mark.parametrize(
    "arguments",
    [
        ("run", f"{NAME.replace('/', '')}.toml"), ("run", "families", "--arm", NAME), ("run", "families", "--set", f"{NAME}=1"),
        ("explain", NAME), ("show", NAME), ("plot", NAME, "--out", "x.svg"), ("compare", NAME, NAME), ("ls", NAME),
        ("read", NAME, "--out", "x"), ("grade", "--input", NAME, "--output", "y"), ("benchmarks", "pull", NAME), (NAME,),
        ("ls", f"--{NAME}"), ("eval", "nano/qwen3", "--suite", NAME), ("analyse", NAME), ("report", NAME, "--out", "x.html"),
        ("describe", NAME), ("run", "families", "--set", f'eval.suite=["{NAME}"]', "--dry-run"),
    ],
    ids=lambda arguments: " ".join(arguments).replace(NAME, "NAME"),
)  # fmt: skip
def test_arguments(tmp_path, arguments):
    """NUL cannot be in an argument, and is not in NAME."""
    done = passus_in_process(*arguments, cwd=tmp_path)
    printed = done.stdout + done.stderr
    assert done.returncode and not [sign for sign in "\x1b\x07\x9b\u202e\x7f\r" if sign in printed], printed


def test_an_experiment_and_its_arms(tmp_path):
    text = f'name = {json.dumps(NAME)}\n[model]\nbase = "nano/qwen3"\nlossy_prompts = 1\nsystem = {json.dumps(NAME)}\n'
    text += "[train]\nmax_tokens = 24\n"
    text += f'[[arm]]\nname = {json.dumps(NAME)}\nseed = 1\n[[arm]]\n"model.system" = {json.dumps("y" + NAME)}\n'
    (tmp_path / "x.toml").write_text(text.replace("\x7f", "\\u007F"), encoding="utf-8")
    assert run_command(tmp_path, "run", "x.toml", "--dry-run") == "accepted"


def test_a_description_and_items(tmp_path):
    (tmp_path / "chart.txt").write_text(f"## Line Chart: {NAME}\n### Detailed Analysis\n* **{NAME}:** 0.5 at step 3.\n")
    assert run_command(tmp_path, "read", "chart.txt", "--out", "out/c.json", out=tmp_path / "out") == "accepted"
    (tmp_path / "mine.jsonl").write_text(json.dumps({"problem": NAME, "answer": NAME}) + "\n")
    assert run_command(tmp_path, "show", "mine.jsonl") == "accepted"
    (tmp_path / "bad.jsonl").write_text(json.dumps({NAME: NAME}) + "\n")
    assert run_command(tmp_path, "show", "bad.jsonl") == "refused"
