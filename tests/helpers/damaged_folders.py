"""Damaged run folders, resumed and read by every command. Each damage is a function of a seed.

A run of every kind is recorded twice: once to its end, and once until it is killed between two checkpoints. A copy of one
is damaged. What a command then says must be what it says of the intact run, or an error. A resumed run must
equal the one that nobody interrupted, bit for bit, or be refused.
"""

import json
import random
import re
import shutil
import signal
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from helpers.command import passus, passus_in_process
from helpers.small_run import record

SMALL = """
[model]
base = "nano/qwen3-0.2m"
[task]
name = "abacus/add2"
[train]
steps = 6
prompts = 4
samples = 3
max_tokens = 24
learning_rate = 2e-3
[eval]
every = 2
suite = ["abacus/add2", "abacus/sub"]
samples = 2
limit = 4
[run]
device = "cpu"
save_every = 2
keep_checkpoints = 2
"""
REWARD_MODEL = """
[model]
base = "nano/qwen3-26k"
[method]
name = "reward_model"
[task]
name = "abacus/add2"
limit = 16
[candidates]
sources = ["nano/qwen3-0.2m"]
samples = 4
pool = 4
[train]
steps = 6
prompts = 4
samples = 4
max_tokens = 24
learning_rate = 1e-3
[eval]
every = 2
suite = ["abacus/add2"]
limit = 4
[run]
device = "cpu"
save_every = 2
keep_checkpoints = 2
"""
KINDS = {
    "rl": SMALL,
    "frozen": SMALL.replace("[task]", 'tuning = "frozen"\nlora = { rank = 4 }\n[task]')
    + '[method]\nname = "dapo"\nkl_coef = 0.01\n',
    "mel": SMALL + '[method]\nname = "mel"\n',
    "reward model": REWARD_MODEL,
    "reader": SMALL.replace("limit = 4", 'limit = 4\nreaders = ["live", "none"]') + '[reward]\nreader = "live"\n',
}
"""Experiments by the kind of run."""
UNCHECKED = (".lock", "log.txt", ".experiment.toml")
"""Files of a run folder that no result comes from."""
WRITTEN = re.compile(r"written \S+ \S+ UTC")
"""The time at which a report was written."""
KILLED_IN = 5
"""Step in which the run is killed: after the checkpoint of step 4, and the samples of step 5."""


@cache
def recorded(kind: str) -> Path:
    """Returns a folder with `whole` and `cut`: the runs of a kind, finished and killed. They are made once per process."""
    folder = Path(tempfile.mkdtemp(prefix="passus-damage-"))
    (folder / "small.toml").write_text(KINDS[kind])
    arms = ["from-qwen3-0.2m"] if kind == "reward model" else []
    for state in ("whole", "cut"):
        for arm in [*arms, arm_of(kind)]:
            fault = {"PASSUS_FAULT": f"kill@append:metrics.jsonl:{KILLED_IN}"} if (state, arm) == ("cut", arm_of(kind)) else {}
            done = passus("run", "small.toml", "--arm", arm, "--out", state, cwd=folder, env=fault)
            assert done.returncode == (-signal.SIGKILL if fault else 0), done.stderr
    return folder


def arm_of(kind: str) -> str:
    return {"reward model": "qwen3-26k"}.get(kind, "qwen3-0.2m")


@dataclass(frozen=True)
class Damaged:
    """What was done to a run folder."""

    what: str
    before: dict[str, bytes]
    changed: dict[str, bytes | None]
    """Contents of the files that differ now; None for those that are gone."""


def damage(run: Path, other: Path, rng: random.Random) -> Damaged:
    """Damages a run folder until a byte differs; `other` is that of another run."""
    before = contents(run)
    while True:
        files = [path for path in sorted(run.rglob("*")) if path.is_file() and _is_damaged(path)]
        path = rng.choice([rng.choice(files), rng.choice([file for file in files if "checkpoints" not in file.parts])])
        name = rng.choice(sorted(DAMAGES))
        DAMAGES[name](path, run, other, rng)
        after = contents(run)
        if changed := {file: after.get(file) for file in before | after if after.get(file) != before.get(file)}:
            return Damaged(f"{name}: {path.relative_to(run)}", before, changed)


def _is_damaged(path: Path) -> bool:
    return path.name not in UNCHECKED and "set-aside" not in path.parts


def contents(run: Path) -> dict[str, bytes]:
    """Returns every file of a run that can be damaged."""
    files = [path for path in sorted(run.rglob("*")) if path.is_file() and _is_damaged(path)]
    return {path.relative_to(run).as_posix(): path.read_bytes() for path in files}


def may_be_unnoticed(done: Damaged, state: str) -> bool:
    """Whether `verify` may call the folder whole: status.json is not covered, and a checkpoint may be deleted as a whole.

    In a run that was killed, neither is what came after the last checksum, which every command ignores.
    """
    return all(_is_uncovered(done, name, state) for name in done.changed)


def _is_uncovered(done: Damaged, name: str, state: str) -> bool:
    now, folder = done.changed[name], name.rpartition("/")[0]
    if folder.startswith("checkpoints/"):
        return all(done.changed.get(file, file) is None for file in done.before if file.startswith(f"{folder}/"))
    if name == "status.json" or state == "whole":
        return name == "status.json"
    before = done.before.get(name, b"")
    if name == "checksums.jsonl":  # cut back to the manifest, it is that of an earlier kill
        sealed = json.loads(done.before["manifest.json"])["files"][name]["bytes"]
        return now is not None and len(now) >= sealed and before.startswith(now)
    rows = [json.loads(line) for line in done.before["checksums.jsonl"].splitlines()]
    covered = max((row["bytes"] for row in rows if row["file"] == name), default=0)
    return covered == 0 if now is None else now[:covered] == before[:covered] and name not in ("manifest.json", "config.toml")


def _flip(path: Path, run: Path, other: Path, rng: random.Random) -> None:
    content = bytearray(path.read_bytes()) or bytearray(b"x")
    content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
    path.write_bytes(content)


def _change_digit(path: Path, run: Path, other: Path, rng: random.Random) -> None:
    content = bytearray(path.read_bytes())
    places = [place for place, byte in enumerate(content) if 48 <= byte <= 57]
    if not places:
        return _flip(path, run, other, rng)
    place = rng.choice(places)
    content[place] = 48 + (content[place] - 48 + rng.randrange(1, 10)) % 10
    path.write_bytes(content)
    return None


def _truncate(path: Path, run: Path, other: Path, rng: random.Random) -> None:
    content = path.read_bytes()
    path.write_bytes(content[: rng.randrange(len(content) + 1)])


def _truncate_lines(path: Path, run: Path, other: Path, rng: random.Random) -> None:
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[: rng.randrange(len(lines) + 1)]))


def _delete(path: Path, run: Path, other: Path, rng: random.Random) -> None:
    path.unlink()


def _delete_folder(path: Path, run: Path, other: Path, rng: random.Random) -> None:
    folders = [folder for folder in sorted(run.rglob("*")) if folder.is_dir() and "set-aside" not in folder.parts]
    shutil.rmtree(rng.choice(folders))


def _empty_folder(path: Path, run: Path, other: Path, rng: random.Random) -> None:
    for file in path.parent.iterdir():
        if file.is_file() and path.parent != run:
            file.unlink()
    if path.parent == run:
        path.write_bytes(b"")


def _lines(path: Path, change: Callable[[list[bytes]], None]) -> None:
    lines = path.read_bytes().splitlines(keepends=True)
    change(lines)
    path.write_bytes(b"".join(lines))


def _double_line(path: Path, run: Path, other: Path, rng: random.Random) -> None:
    _lines(path, lambda lines: lines.insert(place := rng.randrange(len(lines)), lines[place]) if lines else None)


def _swap_lines(path: Path, run: Path, other: Path, rng: random.Random) -> None:
    def swap(lines: list[bytes]) -> None:
        i, j = rng.randrange(len(lines) or 1), rng.randrange(len(lines) or 1)
        if lines:
            lines[i], lines[j] = lines[j], lines[i]

    _lines(path, swap)


def _lose_line(path: Path, run: Path, other: Path, rng: random.Random) -> None:
    _lines(path, lambda lines: lines.pop(rng.randrange(len(lines))) if lines else None)


def _take_from_another_run(path: Path, run: Path, other: Path, rng: random.Random) -> None:
    source = other / path.relative_to(run)
    if source.exists():
        shutil.copy(source, path)
    else:
        path.unlink()


def _add_from_another_run(path: Path, run: Path, other: Path, rng: random.Random) -> None:
    """Adds a file that the run does not have: later rows, or alarms that it never had."""
    sources = [file for file in sorted(other.rglob("*")) if file.is_file() and "checkpoints" not in file.parts]
    new = [file for file in sources if file.name not in UNCHECKED and not (run / file.relative_to(other)).exists()]
    if not new:
        (run / "events.jsonl").write_text('{"step": 2, "event": "warn", "best": 1, "drop": 0.1, "statistic": 3.0}\n')
        return
    source = rng.choice(new)
    (run / source.relative_to(other)).parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(source, run / source.relative_to(other))


def _copy_half(path: Path, run: Path, other: Path, rng: random.Random) -> None:
    """Leaves the first files in the order in which a copy makes them, the last one cut short."""
    files = [file for file in sorted(run.rglob("*")) if file.is_file()]
    rng.shuffle(files)
    there = rng.randrange(len(files))
    for file in files[there + 1 :]:
        file.unlink()
    _truncate(files[there], run, other, rng)


def _take_checkpoint(path: Path, run: Path, other: Path, rng: random.Random) -> None:
    """Replaces a whole checkpoint by one of another run: each of its files is as passus wrote it."""
    own, others = (sorted((folder / "checkpoints").glob("step-*")) for folder in (run, other))
    if own and others:
        target = rng.choice(own)
        shutil.rmtree(target)
        shutil.copytree(next((folder for folder in others if folder.name == target.name), others[-1]), target)


def _lose_config_beside_another(path: Path, run: Path, other: Path, rng: random.Random) -> None:
    """Leaves two runs in a folder, of which one has lost config.toml, and is no run any more."""
    if not (run.parent / "beside").exists():
        shutil.copytree(other, run.parent / "beside")
    (run / "config.toml").unlink(missing_ok=True)


DAMAGES: dict[str, Callable[[Path, Path, Path, random.Random], None]] = {
    "flipped bit": _flip, "changed digit": _change_digit, "truncated": _truncate, "lines cut off": _truncate_lines,
    "deleted": _delete, "folder deleted": _delete_folder, "emptied": _empty_folder, "doubled line": _double_line,
    "swapped lines": _swap_lines, "lost line": _lose_line, "of another run": _take_from_another_run,
    "added from another run": _add_from_another_run, "half copied": _copy_half,
    "checkpoint of another run": _take_checkpoint, "config lost beside another run": _lose_config_beside_another,
}  # fmt: skip
COMMANDS: dict[str, tuple[str, ...]] = {
    "ls": ("runs",), "show": ("runs/arm", "--step", "2"), "show items": ("runs/arm", "--step", "0"),
    "plot": ("runs", "--out", "out/figure.csv"), "plot metrics": ("runs", "--y", "train/reward", "--out", "out/signals.csv"),
    "plot signals": ("runs", "--kind", "signals", "--out", "out/all.csv"), "analyse": ("runs", "--json"),
    "diagnose": ("runs/arm",), "compare": ("runs/arm", "intact", "--json"), "report": ("runs", "--out", "out/report.md"),
    "export-curves": ("runs", "--to", "csv", "--out", "out/curves.csv"),
}  # fmt: skip
"""Commands that read a run, by a name that begins with the command."""
LISTS = ("ls", "report")
"""Commands that go on where a run cannot be read, and say so."""
MOST_SET_ASIDE = 4
"""Damages of one folder that are set aside one after the other."""


def say(folder: Path, name: str) -> tuple[int, str, str]:
    """Runs a command that reads. Returns its exit code, what it printed and wrote, and its errors."""
    shutil.rmtree(folder / "out", ignore_errors=True)
    (folder / "out").mkdir()
    done = passus_in_process(name.split()[0], *COMMANDS[name], cwd=folder)
    written = [path.read_text() for path in sorted((folder / "out").iterdir()) if path.suffix in (".csv", ".md")]
    return done.returncode, WRITTEN.sub("", "\n".join([done.stdout, *written])), done.stderr


def laid_out(kind: str, state: str, folder: Path) -> None:
    """Copies the runs of a kind to where the commands expect them."""
    source = recorded(kind)
    shutil.copytree(source / state / arm_of(kind), folder / "runs/arm")
    shutil.copytree(source / "whole" / arm_of(kind), folder / "intact")


@cache
def intact_words(kind: str, state: str) -> dict[str, tuple[int, str, str]]:
    """Returns what every command says of the intact run."""
    with tempfile.TemporaryDirectory(prefix="passus-damage-") as folder:
        laid_out(kind, state, Path(folder))
        return {name: say(Path(folder), name) for name in COMMANDS}


def try_reading(kind: str, state: str, seed: int) -> dict[str, str]:
    """Damages a run and reads it with every command. Returns `same` or `refused` by command; raises where one is silent."""
    rng = random.Random(f"damage/{kind}/{state}/{seed}")
    outcomes = {}
    with tempfile.TemporaryDirectory(prefix="passus-damage-") as temporary:
        folder = Path(temporary)
        laid_out(kind, state, folder)
        other = recorded(rng.choice([name for name in KINDS if name != kind]))
        done = damage(folder / "runs/arm", _run_in(other, rng), rng)
        for name, intact in intact_words(kind, state).items():
            outcomes[name] = _judge(done.what, name, intact, say(folder, name))
        outcomes["verify"] = _judge_verify(done, state, folder)
    return outcomes | {"damage": done.what}


def _judge_verify(done: Damaged, state: str, folder: Path) -> str:
    said = passus_in_process("verify", "runs", cwd=folder)
    _check_message(done.what, "verify", said.returncode, said.stderr)
    if said.returncode == 4:
        return "refused"
    assert said.returncode == 0 and may_be_unnoticed(done, state), (
        f"{done.what}: verify ended with {said.returncode}\n{said.stdout}{said.stderr}\nchanged: {', '.join(done.changed)}"
    )
    return "same"


def _run_in(folder: Path, rng: random.Random) -> Path:
    runs = sorted(path.parent for path in (folder / "whole").glob("*/config.toml"))
    return rng.choice(runs)


def _judge(what: str, name: str, intact: tuple[int, str, str], now: tuple[int, str, str]) -> str:
    code, text, errors = now
    if (code, text) == intact[:2]:
        return "same"
    _check_message(what, name, code, errors)
    if code or (name in LISTS and _tells(intact[1], text)):
        return "refused"
    raise AssertionError(f"{what}: {name} is silent\n{_first_difference(intact[1], text)}")


def _check_message(what: str, name: str, code: int, errors: str) -> None:
    assert "Traceback" not in errors and code in (0, 1, 2, 3, 4), f"{what}: {name} ended with {code}\n{errors}"
    assert code in (0, 3, 4) or errors.strip(), f"{what}: {name} gave no reason"


def _tells(intact: str, text: str) -> bool:
    """Whether a list of runs says that it could not read one, or not its state, and said nothing like it of the intact one."""
    return any(text.count(word) > intact.count(word) for word in ("unreadable", "unknown", "no runs under"))


def _first_difference(intact: str, text: str) -> str:
    pairs = zip(intact.splitlines(), text.splitlines(), strict=False)
    return "\n".join(next((pair for pair in pairs if pair[0] != pair[1]), ("", f"{len(text)} of {len(intact)} characters")))


def try_resuming(kind: str, state: str, seed: int) -> str:
    """Damages a run and resumes it. Returns `recovered` or `refused`; raises where the record then differs from the intact one.

    Where it was refused, the command of the message sets the damage aside, and the run must then be recovered, unless the
    message says that it has to start again. As this takes another run, it is done for every fourth seed.
    """
    rng = random.Random(f"damage/{kind}/{state}/{seed}")
    source = recorded(kind)
    with tempfile.TemporaryDirectory(prefix="passus-damage-") as temporary:
        folder = Path(temporary)
        shutil.copytree(source / state, folder / "out")
        run = folder / "out" / arm_of(kind)
        other = recorded(rng.choice([name for name in KINDS if name != kind]))
        what = damage(run, _run_in(other, rng), rng).what
        for attempt in range(MOST_SET_ASIDE):
            code, errors = _resume(kind, folder, what)
            if code == 0:
                _check_equal(kind, run, what)
                return "recovered after set-aside" if attempt else "recovered"
            if seed % 4 or _starts_again(run, folder, errors):
                return "refused"
            done = passus_in_process("verify", f"out/{arm_of(kind)}", "--set-aside", cwd=folder)
            _check_message(what, "verify --set-aside", done.returncode, done.stderr)
            if done.returncode:
                assert _starts_again(run, folder, done.stderr), f"{what}: set-aside ended with\n{done.stdout}{done.stderr}"
                return "refused"
    raise AssertionError(f"{what}: cannot be resumed after it was set aside {MOST_SET_ASIDE} times\n{errors}")


def _starts_again(run: Path, folder: Path, errors: str) -> bool:
    """Whether a message says to move the whole run away."""
    name = run.relative_to(folder)
    return re.search(rf"mv \S*{re.escape(str(name))} \S+-damaged", errors) is not None


def _resume(kind: str, folder: Path, what: str) -> tuple[int, str]:
    (folder / "small.toml").write_text(KINDS[kind])
    done = passus_in_process("run", "small.toml", "--arm", arm_of(kind), "--out", "out", cwd=folder)
    _check_message(what, "run", done.returncode, done.stderr)
    return done.returncode, done.stderr


@cache
def _reference(kind: str) -> dict:
    return record(recorded(kind) / "whole" / arm_of(kind))


def _check_equal(kind: str, run: Path, what: str) -> None:
    now, intact = record(run), _reference(kind)
    different = [part for part in intact if now[part] != intact[part]]
    assert not different, f"{what}: resumed, and {', '.join(different)} differ"
    finished = json.loads((run / "status.json").read_text())
    assert finished["state"] == "finished", f"{what}: {finished}"
