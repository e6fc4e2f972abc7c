"""Commands that only read runs work without torch, transformers and the other packages of the extra `train`."""

import importlib.metadata
import json
import os
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from helpers.command import ONE_THREAD
from helpers.small_run import run_small, write_experiment
from passus.errors import TRAIN_PACKAGES

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
COMMANDS = {
    ("ls", "runs"): "8/8",
    ("ls", "runs", "--json"): '"steps": 8',
    ("show", "runs/a"): "<q>",
    ("explain", "train.learning_rate"): "AdamW",
    ("plot", "runs", "--out", "curves.svg"): "curves.svg",
    ("plot", "runs/a", "--kind", "grid", "--out", "grid.png"): "grid.png",
    ("plot", "runs", "--out", "curves.csv"): "curves.csv",
    ("analyse", "runs"): "abacus/add2",
    ("analyse", "kimi-k1.5"): "supported",
    ("compare", "runs/a", "runs/b"): "abacus/add2",
    ("report", "runs", "--out", "report.html"): "report.html",
    ("describe", "runs", "--out", "chart.txt"): "chart.txt",
    ("read", "chart.txt", "--out", "chart.json"): "series",
    ("grade", "--input", "outputs.jsonl", "--output", "verdicts.jsonl"): "2 correct",
    ("benchmarks",): "gsm8k",
    ("run", "families", "--dry-run"): "not checked: models",
    ("power", "families", "--from", "runs"): "What would show 2 points",
}
"""Commands, and a part of what each must print."""
NEED_TRAIN = [
    ("run", "small.toml", "--arm", "qwen3", "--out", "new"),
    ("run", "small.toml", "--out", "new"),
    ("eval", "nano/qwen3", "--suite", "abacus/add2"),
    ("export", "runs/a", "--out", "model"),
]
ABSENT = """
import sys

class Absent:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name.partition(".")[0] in {names}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Absent)
"""
IN_ONE_PROCESS = """
import json, sys
from passus.cli.app import app

for command in json.load(sys.stdin):
    print("$", *command, flush=True)
    if app(command, result_action="return_value"):
        sys.exit(f"failed: {command}")
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory, small_run):
    """A folder with two recorded runs, an experiment, and outputs to grade; the second needs math-verify."""
    folder = tmp_path_factory.mktemp("without-torch")
    shutil.copytree(small_run.path, folder / "runs/a")
    run_small(folder / "runs/b", seed=1)
    write_experiment(folder)
    cases = [{"gold": "7", "output": "\\boxed{7}"}, {"gold": "70", "output": "\\boxed{\\sum_{k=1}^{5}(3k+5)}"}]
    (folder / "outputs.jsonl").write_text("".join(json.dumps(case) + "\n" for case in cases))
    return folder


@pytest.fixture(scope="module")
def environment(tmp_path_factory):
    """An environment in which Python finds none of the extra's packages, nor TRL, which imports them."""
    hooks = tmp_path_factory.mktemp("hooks")
    (hooks / "sitecustomize.py").write_text(ABSENT.format(names={*TRAIN_PACKAGES, "trl"}))
    return os.environ | ONE_THREAD | {"PYTHONPATH": str(hooks)}


def test_the_message_knows_every_package_of_the_extra():
    extra = {Requirement(line).name for line in PROJECT["optional-dependencies"]["train"]}
    assert extra == set(TRAIN_PACKAGES)
    assert not extra & {Requirement(line).name for line in PROJECT["dependencies"]}


def test_reading_runs_needs_no_torch(folder, environment):
    done = subprocess.run(
        [sys.executable, "-P", "-c", IN_ONE_PROCESS], cwd=folder, env=environment, capture_output=True, text=True,
        input=json.dumps(list(COMMANDS)), timeout=600,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    printed = done.stdout.split("$ ")[1:]
    for (command, part), text in zip(COMMANDS.items(), printed, strict=True):
        assert text.startswith(" ".join(command)) and part in text.split("\n", 1)[1], text


@pytest.mark.parametrize("command", NEED_TRAIN, ids=" ".join)
def test_a_command_that_needs_torch_says_what_to_install(folder, environment, command):
    call = [sys.executable, "-P", "-m", "passus", *command]
    _assert_message(subprocess.run(call, cwd=folder, env=environment, capture_output=True, text=True, timeout=600))
    assert not (folder / "new").exists()  # a refused command creates nothing


def _assert_message(done: subprocess.CompletedProcess) -> None:
    assert done.returncode == 2 and "is not installed" in done.stderr and "pip install 'passus[train]'" in done.stderr, (
        done.stderr
    )
    assert "Traceback" not in done.stderr + done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """The wheel, built from a copy of the tree, so that nothing left from earlier builds comes in."""
    tree = tmp_path_factory.mktemp("tree")
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, tree)
    shutil.copytree(ROOT / "src", tree / "src", ignore=shutil.ignore_patterns("__pycache__", ".*", "*.egg-info"))
    _pip("wheel", "--no-deps", "--no-build-isolation", "--no-index", "--wheel-dir", str(tree), str(tree))
    return next(tree.glob("*.whl"))


def _pip(*arguments: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "pip", "--disable-pip-version-check", *arguments], capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_the_wheel_holds_every_file_of_the_package(wheel):
    tree = wheel.parent / "src"
    files = {str(path.relative_to(tree)) for path in (tree / "passus").rglob("*") if path.is_file()}
    names = set(zipfile.ZipFile(wheel).namelist())
    assert files <= names
    assert {name for name in names if not name.startswith("passus-")} <= files
    for folder in ("nano/qwen3", "experiments/real", "runs/references", "reports/templates"):
        assert any(name.startswith(f"passus/{folder}/") for name in names)


def _distributions(names: list[str]) -> dict[str, importlib.metadata.Distribution]:
    """Returns the installed distributions that these requirements need, and those that they need in turn."""
    found: dict[str, importlib.metadata.Distribution] = {}
    waiting = [(Requirement(name), "") for name in names]
    while waiting:
        requirement, extra = waiting.pop()
        if requirement.marker and not requirement.marker.evaluate({"extra": extra}):
            continue
        key = canonicalize_name(requirement.name)
        if key not in found or requirement.extras:
            found[key] = importlib.metadata.distribution(requirement.name)
            lines = [Requirement(line) for line in found[key].requires or []]
            waiting += [(line, extra) for line in lines for extra in ("", *requirement.extras)]
    return found


@pytest.fixture(scope="module")
def empty_environment(tmp_path_factory, wheel):
    """A virtual environment with the wheel and its base dependencies only, linked from this environment."""
    venv = tmp_path_factory.mktemp("venv")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(venv)], check=True, timeout=600)
    python = venv / "bin/python"
    _pip("--python", str(python), "install", "--no-deps", "--no-index", str(wheel))
    site = next(venv.glob("lib/python*/site-packages"))
    for distribution in _distributions(PROJECT["dependencies"]).values():
        tops = {path.parts[0] for path in distribution.files or []} - {"..", "__pycache__"}
        for top in tops:
            if not (site / top).exists():
                (site / top).symlink_to(Path(str(distribution.locate_file(top))))
    return python


@pytest.mark.slow
def test_the_wheel_alone_reads_runs(folder, empty_environment):
    environment = {name: value for name, value in (os.environ | ONE_THREAD).items() if not name.startswith("PYTHON")}

    def passus(*arguments: str) -> subprocess.CompletedProcess:
        return subprocess.run(
            [empty_environment.with_name("passus"), *arguments], cwd=folder, env=environment, capture_output=True, text=True,
            timeout=600,
        )  # fmt: skip

    for command, part in COMMANDS.items():
        done = passus(*command)
        assert done.returncode == 0 and part in done.stdout, (command, done.stdout, done.stderr)
    for command in NEED_TRAIN:
        _assert_message(passus(*command))
