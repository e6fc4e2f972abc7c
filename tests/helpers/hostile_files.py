"""Mutated files for passus to refuse or to read: experiments, curve files, descriptions, items and run folders.

Every mutation is a function of a seed. `scripts/fuzz.py` tries thousands of them, and tests try some of each kind.
"""

import copy
import csv
import json
import os
import random
import re
import shutil
import sys
import tempfile
import tomllib
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any
from unittest.mock import patch

import tomli_w

from helpers.command import passus_in_process
from passus.config.experiment import shipped_experiments
from passus.config.resolve import fields, inner_fields
from passus.formatting import FORMULA, NUMBER, printable
from passus.reports import renderer
from passus.tasks import dataset

ROOT = Path(__file__).parents[2]
TEXTS = (
    "", " ", "..", "../../etc/passwd", "/dev/zero", "a/b\\c", "\x1b[31mred\x1b]0;title\x07", "\u202egnp.exe", "\x00",
    "\x7f\x9b31m", "$(touch executed)", "`touch executed`; touch executed", "=cmd|' /C calc'!A0", "+1+1", "@SUM(1)",
    "-2+3", "\t=1", "{0.__class__}", "%s%n", "{{ 7 * 7 }}", "<script>alert(1)</script>", "]]>&<!--", "a" * 5000,
    "$x^2$ \\frac{1}{0}", "\u0661\u0662", "é" * 300, "\U0001f642\u200d\U0001f642", "\r\nnext", "os:system",
    "hub:owner/name", "x.jsonl", "nano/qwen3", "NaN", "con", "~/x", "line\nfeed", "https://user:secret@host/", "step",
    "accuracy", "[bold]markup[/bold]", "\ufeff", "-", "1e999",
)  # fmt: skip
"""Texts that have broken programs: paths, escapes, formulas, templates, markup, commands, odd and long names."""
NUMBERS = (0, -1, 1, 2, 7, 0.5, -0.0, 1e-300, 1e300, 2**31, 2**63, -(2**63), 2**64, 10**30, 10**300, True, False, 1e15, 1.5)
DEEP = 3000


def hostile_value(rng: random.Random) -> Any:
    """Returns a value that a field may not expect."""
    kind = rng.randrange(8)
    if kind < 3:
        return rng.choice(TEXTS)
    if kind < 5:
        return rng.choice(NUMBERS)
    if kind == 5:
        return [rng.choice(TEXTS + NUMBERS) for _ in range(rng.choice((0, 1, 3, 300)))]
    if kind == 6:
        return {rng.choice(TEXTS): rng.choice(TEXTS + NUMBERS) for _ in range(rng.choice((0, 1, 5)))}
    return nested(rng.choice((2, 9, 60)))


def nested(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


def mutate_json(value: Any, rng: random.Random) -> Any:
    """Replaces, removes, repeats or adds values at random places of a JSON value."""
    value = copy.deepcopy(value)
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        parent, key = rng.choice(list(_places(value)))
        match rng.randrange(5):
            case 0 if isinstance(parent, dict):
                del parent[key]
            case 0:
                parent.pop(key)
            case 1 if isinstance(parent, list):
                parent *= rng.choice((2, 30))
            case 1:
                parent[rng.choice(TEXTS)] = parent[key]
            case 2 if isinstance(parent[key], str):
                place = rng.randrange(len(parent[key]) + 1)
                parent[key] = parent[key][:place] + rng.choice(TEXTS) + parent[key][place:]
            case _:
                parent[key] = hostile_value(rng)
    return value


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    root = [value] if not isinstance(value, (dict, list)) or not value else value
    waiting = [root]
    while waiting:
        parent = waiting.pop()
        for key in parent if isinstance(parent, dict) else range(len(parent)):
            yield parent, key
            if isinstance(parent[key], (dict, list)):
                waiting.append(parent[key])


def mutate_bytes(data: bytes, rng: random.Random) -> bytes:
    """Removes, repeats, swaps or adds spans of bytes, or flips a bit."""
    for _ in range(rng.choice((1, 1, 2, 5))):
        start = rng.randrange(len(data) + 1)
        end = min(len(data), start + rng.choice((1, 2, 8, 64, 1000)))
        match rng.randrange(6):
            case 0:
                data = data[:start] + data[end:]
            case 1:
                data = data[:end] + data[start:end] * rng.choice((1, 20)) + data[end:]
            case 2:
                data = data[:start]
            case 3 if start < len(data):
                data = data[:start] + bytes([data[start] ^ 1 << rng.randrange(8)]) + data[start + 1 :]
            case 4:
                data = data[:start] + rng.choice(TEXTS).encode("utf-8", "surrogatepass") + data[start:]
            case _:
                inserted = (b"[" * DEEP, b'{"a":' * DEEP, b"9" * 5000, b"1e400", b"\xff\xfe", b"\n" * 50, b'"', b"=", b"\x00")
                data = data[:start] + rng.choice(inserted) + data[start:]
    return data


def mutate_toml(text: str, rng: random.Random) -> str:
    """Replaces values and keys of TOML lines, and adds tables, sweeps and nested values."""
    lines = text.split("\n")
    for _ in range(rng.choice((1, 1, 2, 4))):
        places = [n for n, line in enumerate(lines) if re.match(r'\s*["\w.]+ *=', line)]
        if not places or rng.randrange(4) == 0:
            lines.insert(rng.randrange(len(lines) + 1), _toml_line(rng))
            continue
        place = rng.choice(places)
        key, _, value = lines[place].partition("=")
        match rng.randrange(5):
            case 0:
                lines[place] = f"{_toml(rng.choice(TEXTS))} = {value}"
            case 1:
                lines.insert(place, lines[place])
            case 2:
                lines[place] = f"{key}= [{', '.join([value.strip()] * rng.choice((1, 3, 5000)))}]"
            case _:
                lines[place] = f"{key}= {_toml(hostile_value(rng))}"
    return "\n".join(lines)


def _mutate_text(text: str, rng: random.Random) -> str:
    return mutate_bytes(text.encode(), rng).decode("utf-8", "surrogateescape")


def mutate_fields(text: str, rng: random.Random) -> str:
    """Sets known fields to values of their own type and of others, so that checks behind the parser are reached too."""
    tables = tomllib.loads(text)
    known = {**fields(), **inner_fields()}
    for key in rng.choices(sorted(known), k=rng.choice((1, 2, 3))):
        default = known[key].default
        own_type = [value for value in TEXTS + NUMBERS if type(value) is type(default)]
        value = rng.choice(own_type) if own_type and rng.randrange(4) else hostile_value(rng)
        match rng.randrange(4):
            case 0:
                tables.setdefault("sweep", {})[key] = [value, *rng.sample(TEXTS, 2)]
            case 1:
                tables.setdefault("arm", []).append({"name": rng.choice(TEXTS), key: value})
            case _:
                _set_field(tables, key, value)
    try:
        return tomli_w.dumps(tables)
    except (TypeError, ValueError):
        return "x = 1"


def _set_field(tables: dict[str, Any], key: str, value: Any) -> None:
    *path, last = key.split(".")
    for part in path:
        inner = tables.setdefault(part, {})
        tables = inner if isinstance(inner, dict) else tables
    tables[last] = value


def _toml(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_toml(key)} = {_toml(inner)}" for key, inner in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_toml, value)) + "]"
    return json.dumps(value)


def _toml_line(rng: random.Random) -> str:
    text = _toml(rng.choice(TEXTS))
    return rng.choice((
        "[sweep]\nseed = [" + ", ".join(map(str, range(rng.choice((0, 2, 40, 5000))))) + "]",
        f"[[arm]]\nname = {text}\nseed = 1", f"[[arm]]\nname = {_toml(hostile_value(rng))}", "x = " + "[" * DEEP,
        ".".join(["a"] * rng.choice((3, 30, 3000))) + " = 1", f"[{'.'.join(['b'] * rng.choice((3, 3000)))}]",
        f"name = {_toml(hostile_value(rng))}", f"seed = 0x{'F' * rng.choice((1, 8, 20_000))}",
        "seed = " + "9" * rng.choice((3, 20, 6000)), f"[model]\nbase = {text}", f"reward = {text}",
        "[train]\nsteps = 1000000000000", f"[eval]\nsuite = [{text}]", f"[task]\nname = {text}", "when = 1979-05-27T07:32:00Z",
        '[sweep]\n"model.system" = ["", "..", "a b", "a-b"]', f'[judge]\nurl = {text}\nmodel = "m"', "\x1b[2J",
    ))  # fmt: skip


EXECUTED = ("os.system", "subprocess.Popen", "os.exec", "os.posix_spawn", "os.fork", "os.spawn", "socket.connect")
_watched: dict[str, Any] = {"folder": None, "seen": []}


def _audit(event: str, arguments: tuple[Any, ...]) -> None:
    folder = _watched["folder"]
    if folder is None:
        return
    if event in EXECUTED:
        _watched["seen"].append(f"{event} {arguments!r:.200}")
    elif event == "open" and isinstance(arguments[0], (str, bytes, os.PathLike)) and arguments[2] is not None:
        path = os.path.abspath(os.fsdecode(arguments[0]))
        is_write = bool(int(arguments[2]) & (os.O_WRONLY | os.O_RDWR | os.O_CREAT))
        if is_write and not path.startswith(str(folder)) and "__pycache__" not in path and path != os.devnull:
            _watched["seen"].append(f"wrote {path}")


@cache
def _install_audit() -> None:
    sys.addaudithook(_audit)


@contextmanager
def watched(folder: Path) -> Iterator[list[str]]:
    """Yields the list of processes that were started, addresses that were called and files that were written elsewhere."""
    _install_audit()
    _watched["folder"], _watched["seen"] = folder, []
    try:
        with patch.object(renderer, "DRAWING", 1):  # figures are drawn in this process, where they are watched
            yield _watched["seen"]
    finally:
        _watched["folder"] = None


def run_command(folder: Path, *arguments: str, out: Path | None = None, codes: tuple[int, ...] = (0, 1, 2)) -> str:
    """Runs a command in `folder` and returns `accepted` or `refused`.

    Fails for a traceback, an exit code that means neither, control characters in the output, and files or processes that the
    command was not asked for.
    """
    before = _listing(folder)
    with watched(folder) as seen:
        done = passus_in_process(*arguments, cwd=folder)
    assert not seen, (arguments, seen)
    assert done.returncode in codes, (arguments, done.returncode, done.stderr)
    printed = done.stdout + done.stderr
    assert printable(printed) == printed, (arguments, printed)
    assert done.returncode in (0, 4) or done.stderr.startswith("error: ") or "╭─ Error" in done.stderr, (arguments, done.stderr)
    written = {path for path in _listing(folder) - before if out is None or not path.startswith(str(out))}
    assert not written, (arguments, written)
    return "accepted" if done.returncode == 0 else "refused"


def _listing(folder: Path) -> set[str]:
    return {str(path) for path in folder.rglob("*")}


@contextmanager
def temporary_folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="passus-hostile-") as folder:
        yield Path(folder).resolve()


@cache
def experiment_texts() -> list[str]:
    folder = ROOT / "src/passus/experiments"
    names = [name for name in shipped_experiments() if not name.startswith("real/")]
    return [(folder / f"{name}.toml").read_text(encoding="utf-8") for name in names]


def try_experiment(seed: int) -> str:
    """Mutates an experiment file, and asks for a dry run."""
    rng = random.Random(f"experiment/{seed}")
    text = rng.choice(experiment_texts())
    mutate = rng.choice((_mutate_text, mutate_toml, mutate_fields, mutate_fields))
    content = mutate(text, rng).encode("utf-8", "surrogateescape")
    with temporary_folder() as folder:
        (folder / "mutated.toml").write_bytes(content)
        key = rng.choice(("arm", "seed", "name", "sweep", "train.steps", "x.y"))
        more = ["--set", f"{key}={_toml(hostile_value(rng))}"] if rng.randrange(4) == 0 else []
        return run_command(folder, "run", "mutated.toml", "--dry-run", "--out", "out", *more, out=folder / "out")


CURVE_FILE = {
    "title": "Accuracy against step", "x": "step", "y": "accuracy",
    "series": [
        {"name": name, "benchmark": benchmark, "n": 100, "k": 4, "points": [
            {"x": 10 * i, "y": round(start + 0.04 * i, 3), "low": start, "high": 0.9, "tokens": 100.0 + i, "approximate": False}
            for i in range(8)]}
        for name, start in (("Qwen3 0.6B", 0.2), ("Llama 1B", 0.3)) for benchmark in ("gsm8k", "math")
    ],
    "claims": [{"text": "Qwen3 0.6B rises from 0.2 to 0.5.", "line": 3}], "unread": [], "source": "a paper",
}  # fmt: skip


def try_curve_file(seed: int) -> str:
    """Mutates a curve file, and plots, analyses, describes or reports it."""
    rng = random.Random(f"curves/{seed}")
    content = json.dumps(CURVE_FILE).encode()
    if rng.randrange(3) == 0:
        content = mutate_bytes(content, rng)
    else:
        content = json.dumps(mutate_json(CURVE_FILE, rng)).encode("utf-8", "replace")
    with temporary_folder() as folder:
        (folder / "curves.json").write_bytes(content)
        return _look(folder, "curves.json", rng)


def _look(folder: Path, source: str, rng: random.Random) -> str:
    """Runs one of the commands that read curves, and checks the file that it writes."""
    name = rng.choice(("f.svg", "f.csv", "f.pdf", "r.html", "r.md", "d.txt", "", "json"))
    out = folder / "out"
    if name in ("", "json"):
        return run_command(folder, "analyse", source, *(["--json"] if name else []))
    command = {"f": "plot", "r": "report", "d": "describe"}[name[0]]
    more = []
    if command == "plot":
        kinds = (
            "curves", "curves", "grid", "heatmap", "solved", "readers", "rm-at-k", "profile", "reward-hacking", "signals",
            "difference", "path",
        )  # fmt: skip
        more = ["--kind", rng.choice(kinds), "--x", rng.choice(("step", "tokens", "time", "progress"))]
        more += ["--y", rng.choice(("accuracy", "accuracy", "length", "train/reward"))]
    outcome = run_command(folder, command, source, "--out", f"out/{name}", *more, out=out)
    for path in out.glob("*") if out.exists() else ():
        check_written(path)
    return outcome


def check_written(path: Path) -> None:
    """Checks that a written file is whole and holds nothing that a viewer, browser or spreadsheet would run."""
    if path.suffix == ".svg":
        ElementTree.fromstring(path.read_text(encoding="utf-8"))
    if path.suffix in (".html", ".md", ".csv"):
        text = path.read_text(encoding="utf-8")
        assert printable(text) == text, path
        assert path.suffix == ".csv" or not re.search(r"(?<!\\)<script", text), path
    if path.suffix == ".csv":
        cells = [cell for row in csv.reader(path.read_text(encoding="utf-8").splitlines()) for cell in row]
        assert not [cell for cell in cells if FORMULA.match(cell) and not NUMBER.fullmatch(cell)], path


DESCRIPTION = """## Line Chart: Accuracy vs. Step
### Components/Axes
* **X-axis:** step, from 0 to 100
* **Y-axis:** accuracy (0 to 1)
* **Legend:**
* Blue: Qwen3 0.6B
* Green: Llama 1B
### Detailed Analysis
1. **Qwen3 0.6B (Blue):** 30 items, 4 samples per item. It starts at 0.2 and reaches 0.5 at step 100.
* step 0: ~0.2 (0.1 to 0.3; 812 tokens)
* step 50: ~0.4
2. **Llama 1B (Green):** rises by 0.1 between steps 0 and 40.
* Step 10: ~0.5
### Key Observations
* Qwen3 0.6B finishes above Llama 1B.
"""


def try_description(seed: int) -> str:
    """Mutates a chart description, and reads it."""
    rng = random.Random(f"description/{seed}")
    text = DESCRIPTION.encode()
    if rng.randrange(2):
        lines = DESCRIPTION.split("\n")
        for _ in range(rng.choice((1, 3))):
            lines[rng.randrange(len(lines))] = rng.choice(("* ", "# ", "1. **", "")) + rng.choice(TEXTS) * rng.choice((1, 20))
        text = "\n".join(lines).encode("utf-8", "replace")
    with temporary_folder() as folder:
        (folder / "chart.txt").write_bytes(mutate_bytes(text, rng))
        return run_command(folder, "read", "chart.txt", "--out", "out/chart.json", out=folder / "out")


ITEMS = [{"problem": f"What is {n} + 1?", "answer": str(n + 1), "id": n, "solution": f"{n} + 1 = {n + 1}"} for n in range(5)]
ITEMS += [{"problem": "Which is prime?", "answer": "B", "choices": ["4", "5", "6"]}, {"question": "1 + 1?", "answer": 2}]


def try_items(seed: int) -> str:
    """Mutates a file of items, and loads it as a benchmark."""
    rng = random.Random(f"items/{seed}")
    lines = [json.dumps(mutate_json(row, rng) if rng.randrange(3) == 0 else row) for row in ITEMS]
    content = "\n".join(lines).encode("utf-8", "replace")
    with temporary_folder() as folder:
        (folder / "mine.jsonl").write_bytes(mutate_bytes(content, rng) if rng.randrange(3) == 0 else content)
        dataset._load_items.cache_clear()  # it knows files by their names
        return run_command(folder, "benchmarks", "pull", "mine.jsonl")


@cache
def recorded_run() -> Path:
    """Returns a run folder with eval points, items, metrics and an alarm, made once per process."""
    from helpers.synthetic_runs import make_run

    folder = Path(tempfile.mkdtemp(prefix="passus-recorded-"))
    run = make_run(folder / "arm", {"abacus/add2": 0.0, "abacus/sub": 0.1}, items=12, steps=(0, 10, 20))
    for step in range(1, 21):
        run.append_metrics({"step": step, "train/reward": 0.5, "train/num_tokens": 10.0 * step, "time/elapsed": 1.0 * step})
    run.append_event({"step": 20, "event": "warn", "best": 10, "drop": 0.1, "statistic": 3.0})
    run.forget_checksums()  # so that mutations reach the readers; tests/helpers/damaged_folders.py keeps the checksums
    run.write_status(state="finished", pid=1, exit_code=0, error=None, heartbeat="2026-01-01T00:00:00Z")
    return folder


def try_run_folder(seed: int) -> str:
    """Mutates a file of a run folder, and lists, shows, compares, analyses, plots or reports the run."""
    rng = random.Random(f"run/{seed}")
    with temporary_folder() as folder:
        shutil.copytree(recorded_run(), folder / "runs")
        shutil.copytree(recorded_run() / "arm", folder / "intact")
        path = rng.choice(sorted(path for path in (folder / "runs").rglob("*") if path.is_file()))
        path.write_bytes(_mutate_record(path, rng))
        match rng.randrange(4):
            case 0:
                return run_command(folder, "ls", "runs", *(["--json"] if rng.randrange(2) else []))
            case 1:
                return run_command(folder, "show", "runs/arm", "--step", rng.choice(("0", "20")))
            case 2:
                return run_command(folder, "compare", "runs/arm", "intact")
            case _:
                return _look(folder, "runs", rng)


def _mutate_record(path: Path, rng: random.Random) -> bytes:
    data = path.read_bytes()
    if path.suffix == ".parquet" or rng.randrange(3) == 0:
        return mutate_bytes(data, rng)
    if path.suffix == ".toml":
        return mutate_toml(data.decode(), rng).encode("utf-8", "replace")
    if path.suffix == ".json":
        return json.dumps(mutate_json(json.loads(data), rng)).encode("utf-8", "replace")
    rows = [json.loads(line) for line in data.decode().splitlines()]
    return "".join(json.dumps(row) + "\n" for row in _as_list(mutate_json(rows, rng))).encode("utf-8", "replace")


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


KINDS: list[tuple[str, Callable[[int], str]]] = [
    ("experiment files", try_experiment),
    ("curve files", try_curve_file),
    ("descriptions", try_description),
    ("item files", try_items),
    ("run folders", try_run_folder),
]
"""Kinds of files that this module mutates. Each function takes a seed and returns `accepted` or `refused`, or raises."""
