"""Mutated files of other tools for the importers to refuse or to read. Every mutation is a function of a seed.

Half of the mutations change bytes, the others change values inside of the format: an object of JSON, a member of a zip file, a
field of a record. `scripts/fuzz.py` tries thousands of them, and a test tries some of each kind.
"""

import copy
import json
import random
import shutil
import sqlite3
import tempfile
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow

from helpers.source_bytes import (
    event,
    event_file,
    field,
    inspect_members,
    mlflow_database,
    tensor_event,
    text_event,
    trackio_database,
    wandb_log,
    write_json,
    write_lines,
    write_parquet,
    zip_file,
)  # fmt: skip
from passus.errors import PassusError
from passus.interop.importers.detect import find_sources
from passus.interop.importers.import_options import ImportOptions
from passus.interop.importers.import_sources import import_runs, plan_import
from passus.interop.importers.source_run import SourceRun
from passus.runs.read_curves import run_curves
from passus.runs.run_folder import RunFolder, find_runs

Json = Any
ODD: list[Json] = [
    None, True, False, 0, -1, 1, 2, 0.5, -0.0, 1e308, 1e-320, 10**40, 10**400, float("nan"), float("inf"), -float("inf"), "",
    " ", "0.5", "NaN", "Infinity", "C", "\x00", "\ud800", "\u202e\x1b[31m", "a" * 3000, "é" * 300, "step", "_type",
    "../../x", "2026", [], {}, [[]], [1, "a", None], {"a": 1}, {"_type": "x"}, {"": {"": {}}}, {"value": [1]}, {"name": {}},
    [{}], [[1.0, True]], {"step": {}, "data": 3}, json.loads("[" * 60 + "]" * 60), list(range(300)),
]  # fmt: skip
MOST_POINTS = 100_000


def write_verl_dumps(folder: Path, change: Callable[[Json], Json]) -> None:
    for step in (0, 10):
        rows = [
            {
                "input": f"q{n}",
                "output": f"a{k}",
                "gts": "4",
                "score": float(k),
                "step": step,
                "acc": k == 1,
                "uid": f"u{n}_{k}_0",
            }
            for n in range(3)
            for k in range(2)
        ]
        write_lines(folder / f"val/{step}.jsonl", map(change, rows))


def write_verl_logs(folder: Path, change: Callable[[Json], Json]) -> None:
    rows = [{"step": s, "data": {"val-core/openai/gsm8k/acc/mean@4": 0.1 * s, "actor/kl": None}} for s in (0, 1, 2, 1)]
    write_lines(folder / "log.jsonl", map(change, rows))
    lines = ["(TaskRunner pid=3) {'data': {'seed': 3},", " 'trainer': {'n': 1}}"]
    lines += [f"\x1b[36m(TaskRunner pid=3)\x1b[0m step:{s} - a/b:np.float64(0.5) - c:{change(0.25)}" for s in range(4)]
    (folder / "console.log").write_text("\n".join(lines), errors="replace")


def write_prime_rl(folder: Path, change: Callable[[Json], Json]) -> None:
    def episode(n: int, score: float) -> Json:
        trace = {
            "agent": {"name": "a"}, "rewards": {"x": {"score": score, "weight": 1.0}}, "ok": True,
            "nodes": [{"message": {"role": "assistant", "content": "text"}, "sampled": True}],
            "calls": [{"usage": {"completion_tokens": 9}, "finish_reason": "stop"}], "stop_condition": "done",
        }  # fmt: skip
        task = {"data": {"idx": n, "prompt": f"q{n}", "answer": "4"}, "key": "k", "hash": "k"}
        return {"env": {"name": "math"}, "task": task, "group": {"id": f"g{n}"}, "ok": True, "traces": [trace]}

    write_lines(folder / "metrics.jsonl", [change({"step": s, "time": 1.79e9, "loss": 0.5}) for s in range(3)])
    write_lines(folder / "rollouts/step_5/eval/all/traces.jsonl", [change(episode(n, k)) for n in range(2) for k in (0, 1)])
    write_json(folder / "configs/rl.json", change({"model": {"name": "m"}, "seed": 3}))


def write_lm_eval(folder: Path, change: Callable[[Json], Json]) -> None:
    date = "2026-11-16T02-21-23.501126"
    results = {"results": {"sums": {"acc,none": 0.5}}, "configs": {"sums": {}}, "config": {"model_args": "pretrained=m/step_3"}}
    write_json(folder / f"results_{date}.json", change(results))
    own = {"verdict": ["correct", "wrong"], "extracted": ["4", None], "tokens": [3, 4], "value": [1.0, 0.0]}
    lines = [
        {
            "doc_id": n, "doc": {"q": n}, "target": "4", "resps": [["4", "5"]], "filtered_resps": ["4"], "filter": "none",
            "metrics": ["acc"], "doc_hash": f"h{n}", "acc": 1.0, "arguments": {"gen_args_0": {"arg_0": "p"}},
        }
        | ({"passus": own} if n % 2 else {})
        for n in range(3)
    ]  # fmt: skip
    write_lines(folder / f"samples_sums_{date}.jsonl", map(change, lines))


def write_inspect(folder: Path, change: Callable[[Json], Json]) -> None:
    members = inspect_members([["C", "I"], [0.5, {"correct": 1}]], metadata={"step": 5})
    data = {name: change(value) for name, value in members.items()}
    (folder / "a.eval").write_bytes(zip_file(data, "zstd"))
    (folder / "b.eval").write_bytes(zip_file(members, "deflate"))
    write_json(folder / "old.json", change(members["header.json"] | {"samples": members["summaries.json"]}))


def write_lighteval(folder: Path, change: Callable[[Json], Json]) -> None:
    date = "2026-11-16T02-21-23.501126"
    rows = [{"doc": {"query": f"q{n}", "choices": ["4"], "gold_index": 0}, "metric": {"avg@n:n=2": 0.5}} for n in range(3)]
    rows = [row | {"model_response": {"text": ["a", "b"], "output_tokens": [[1], [2, 3]]}} for row in rows]
    changed = change(rows)
    columns = {name: [row[name] for row in rows] for name in rows[0]}
    if isinstance(changed, list) and all(isinstance(row, dict) and row.keys() == rows[0].keys() for row in changed):
        columns = {name: [row[name] for row in changed] for name in rows[0]}
    path = folder / f"details/m/step_4/{date}/details_a|0_{date}.parquet"
    try:
        write_parquet(path, columns)
    except (pyarrow.ArrowException, ValueError, TypeError, OverflowError):  # values that Parquet cannot hold
        write_parquet(path, {name: [row[name] for row in rows] for name in rows[0]})
    results = {"config_general": {"model_name": "m/step_4"}, "results": {"a|0": {"avg@n:n=2": 0.5}}}
    write_json(folder / f"results/m/step_4/results_{date}.json", change(results))


def write_opencompass(folder: Path, change: Callable[[Json], Json]) -> None:
    details = [{"example_abbr": f"a_{n}", "pred": ["x", "y"], "answer": ["4", "4"], "correct": [True, False]} for n in range(2)]
    numbered = {str(n): {"prompt": "q", "predictions": "4", "references": "4", "correct": True} for n in range(2)}
    write_json(folder / "results/m-step_3/a.json", change({"accuracy": 50.0, "details": details}))
    write_json(folder / "results/m-step_3/b.json", change({"accuracy": 50.0, "details": numbered}))
    predictions = {str(n): {"origin_prompt": f"q{n % 2}", "prediction": "t", "gold": "4"} for n in range(4)}
    write_json(folder / "predictions/m-step_3/a.json", change(predictions))


def write_trainer_state(folder: Path, change: Callable[[Json], Json]) -> None:
    rows = [{"step": s, "epoch": 0.5, "loss": 0.5, "eval_reward": None} for s in (0, 2, 2)] + [{"train_runtime": 3}]
    for step in (2, 4):
        content = change({"global_step": step, "max_steps": 4, "log_history": rows, "logging_steps": 1})
        write_json(folder / f"checkpoint-{step}/trainer_state.json", content)


def write_wandb_log(folder: Path, change: Callable[[Json], Json]) -> None:
    rows = [change({"_step": s, "_timestamp": 1.79e9, "train/global_step": s, "loss": 0.5, "t": "y" * 9000}) for s in range(5)]
    rows = [row for row in rows if isinstance(row, dict)]
    config = {"seed": change(3), "model": {"name": "m"}}
    data = wandb_log(rows, config, metrics={"a/*": "train/global_step", "b": "c"}, nested=bool(len(rows) % 2))
    (folder / "run-a.wandb").write_bytes(data)


def write_wandb_csv(folder: Path, change: Callable[[Json], Json]) -> None:
    def cell(value: Json) -> str:
        return '"' + str(change(value)).replace('"', '""') + '"'

    chart = [["Step", "a - acc", "a - acc__MIN", "a - acc__MAX"], [0, 0.5, 0.5, 0.5], [1, "", "NaN", 0.5]]
    history = [["", "_step", "_timestamp", "loss"], [0, 0, 1.79e9, 0.5], [1, 1, 1.79e9, ""]]
    runs = [["Name", "State", "Created", "Runtime", "loss"], ["a", "finished", "x", 3, 0.5]]
    for name, rows in (("chart", chart), ("history", history), ("runs", runs)):
        text = "\n".join(",".join(map(cell, row)) for row in rows)
        (folder / f"{name}.csv").write_text(text, errors="replace")


def write_history(folder: Path, change: Callable[[Json], Json]) -> None:
    for name, own in (("history", {"_step": [0, 1], "loss": [0.5, None]}), ("x", _export_columns())):
        columns = dict(own)
        if isinstance(changed := change(own), dict) and all(isinstance(v, list) and len(v) == 2 for v in changed.values()):
            columns = changed
        try:
            write_parquet(folder / f"{name}.parquet", columns)
        except (pyarrow.ArrowException, ValueError, TypeError, OverflowError):
            write_parquet(folder / f"{name}.parquet", own)


def _export_columns() -> dict[str, Json]:
    return {
        "id": [1, 2],
        "run_id": ["a", "a"],
        "run_name": ["n", "n"],
        "timestamp": ["2026-11-16", "x"],
        "step": [0, 1],
        "r": [1.0, None],
    }


def write_tensorboard(folder: Path, change: Callable[[Json], Json]) -> None:
    tag = str(change("train/reward")).encode("utf-8", "replace").decode()[:2000]
    events = [event(s, tag, 0.5) for s in (1, 2, 1)] + [tensor_event(3, "t", 0.5), tensor_event(4, "t", 0.5, as_list=True)]
    events.append(text_event("args/text_summary", json.dumps(change({"seed": 3, "model": {"a": 1}}))))
    events.append(field(2, 5) + field(5, field(1, field(1, "x") + field(8, field(1, change(1) is True)))))
    (folder / "events.out.tfevents.1.host").write_bytes(event_file(events))
    (folder / "events.out.tfevents.2.host").write_bytes(event_file([event(1, tag, float("nan"))]))


def write_trackio(folder: Path, change: Callable[[Json], Json]) -> None:
    rows = [("id", "name", s, json.dumps(change({"loss": 0.5, "x": "NaN"})).encode()) for s in range(3)]
    trackio_database(folder / "demo.db", rows, {"id": change({"seed": 1})})
    _change_cells(folder / "demo.db", "metrics", ("step", "run_name", "timestamp", "metrics"), change)
    about = {"v": 1, "kind": "metric", "project": "p", "run": "r", "run_id": "a", "config": {"seed": 1}}
    fragments = [about | {"metrics": {"loss": 0.5}, "step": s, "timestamp": "2026-11-16"} for s in range(2)]
    write_lines(folder / "inbox/w/00000000.jsonl", map(change, fragments))


def write_mlflow(folder: Path, change: Callable[[Json], Json]) -> None:
    metrics = [("a", "loss", 0.5, s, 0) for s in range(3)]
    mlflow_database(folder / "mlflow.db", [("a", "n", "FINISHED", "active")], metrics)
    _change_cells(folder / "mlflow.db", "metrics", ("key", "value", "step", "timestamp", "is_nan"), change)
    run = folder / "mlruns/1/abc"
    (run / "metrics").mkdir(parents=True)
    (run / "params").mkdir()
    (run / "meta.yaml").write_text(f"run_name: {change('n')}\nstatus: 3\nlifecycle_stage: active\n", errors="replace")
    (run / "metrics/loss").write_text(f"1000 0.5 0\n2000 {change(0.5)} {change(1)}\n", errors="replace")
    (run / "params/seed").write_text(str(change(3)), errors="replace")


def _change_cells(path: Path, table: str, columns: tuple[str, ...], change: Callable[[Json], Json]) -> None:
    """Writes odd values into the cells of a database, where SQLite can hold them."""
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA synchronous = OFF")
    for column in columns:
        value = change("keep")
        if value != "keep" and isinstance(value, (str, float, int, type(None))):
            try:
                connection.execute(f"UPDATE {table} SET {column} = ? WHERE rowid = 2", (value,))
            except (sqlite3.Error, OverflowError, UnicodeEncodeError):
                continue
    connection.commit()
    connection.close()


def write_tables(folder: Path, change: Callable[[Json], Json]) -> None:
    rows = [{"step": s, "run": "a", "loss": 0.5, "acc": None, "nested": {"x": 1}} for s in range(3)]
    write_lines(folder / "log.jsonl", map(change, rows))
    samples = [
        {"step": 0, "benchmark": "b", "item": n, "sample": k, "correct": True, "tokens": 5} for n in range(2) for k in range(2)
    ]
    write_lines(folder / "samples.jsonl", map(change, samples))
    for name, text in (("wide", "step,loss\n0,0.5\n1,{}\n"), ("long", "run;step;metric;value\na;0;x;0,5\na;1;{};1\n"),
                       ("own", "step,benchmark,item,sample,correct\n0,b,{},0,1\n0,b,i,1,0\n")):  # fmt: skip
        (folder / f"{name}.csv").write_text(text.format(change("1")), errors="replace")


WRITERS: dict[str, Callable[[Path, Callable[[Json], Json]], None]] = {
    "verl dumps": write_verl_dumps, "verl logs": write_verl_logs, "prime-rl runs": write_prime_rl,
    "lm-eval files": write_lm_eval,
    "Inspect logs": write_inspect, "lighteval files": write_lighteval, "OpenCompass results": write_opencompass,
    "Trainer states": write_trainer_state, "W&B logs": write_wandb_log, "W&B tables": write_wandb_csv,
    "Parquet histories": write_history, "event files": write_tensorboard, "trackio": write_trackio, "MLflow": write_mlflow,
    "plain tables": write_tables,
}  # fmt: skip


def try_source(kind: str, seed: int) -> str:
    """Writes a source, mutates it and reads it. Returns `accepted` or `refused`; any other exception is a failure."""
    rng = random.Random(f"{kind} {seed}")
    with tempfile.TemporaryDirectory() as name, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        folder = Path(name)
        WRITERS[kind](folder, _value_changer(rng) if rng.random() < 0.5 else copy.copy)
        if rng.random() < 0.7:
            _change_bytes(rng.choice(sorted(path for path in folder.rglob("*") if path.is_file())), rng)
        before = sorted(folder.rglob("*"))
        outcome = _read_all(folder)
        _import(folder, Path(name).with_name(Path(name).name + "-runs"))
        assert sorted(folder.rglob("*")) == before, "a reader has left files behind"
    return outcome


def _import(folder: Path, out: Path) -> None:
    """Imports a source and reads the runs again."""
    try:
        import_runs(plan_import([folder], out, ImportOptions()), ImportOptions())
        for path in find_runs(out):
            run = RunFolder(path)
            assert run.exists() and run.metrics() is not None
            run_curves([run])
    except PassusError as error:
        assert str(error).encode()
    finally:
        shutil.rmtree(out, ignore_errors=True)


def _read_all(folder: Path) -> str:
    try:
        found = find_sources(folder)
    except PassusError:
        return "refused"
    outcome = "refused"
    for source in found:
        try:
            for run in source.read():
                check_run(run)
            outcome = "accepted"
        except PassusError as error:
            assert str(error).encode()
    return outcome


def check_run(run: SourceRun) -> None:
    """Checks that everything a reader returns can be written to a run folder."""
    assert run.name.encode() and len(run.name) <= 1000 and all(remark.encode() for remark in run.remarks)
    assert len(run.points) < MOST_POINTS
    for point in run.points:
        assert type(point.step) is int and point.step >= 0 and point.name.encode() is not None
        assert type(point.value) is float and (point.value != point.value or abs(point.value) < 1.8e308)
        assert point.wall_time is None or isinstance(point.wall_time, (int, float))
    for step, readers in run.samples.items():
        assert type(step) is int and step >= 0
        for row in _rows(readers):
            assert row.value is None or 0 <= row.value <= 1
            assert (row.value is None) <= (row.error is not None or row.verdict is not None)
            assert row.benchmark.encode() and row.item.encode() and type(row.sample) is int and row.sample >= 0
            assert row.tokens is None or (type(row.tokens) is int and row.tokens >= 0)
            for text in (row.output, row.prompt, row.gold, row.extracted, row.error):
                assert text is None or text.encode() is not None
    assert run.seed is None or type(run.seed) is int
    assert all(key.encode() is not None for key in run.settings)


def _rows(readers: list) -> Iterator:
    for reader in readers:
        try:
            yield from reader()
        except PassusError:
            continue


def _value_changer(rng: random.Random) -> Callable[[Json], Json]:
    """Returns a function that now and then replaces a value somewhere in an object."""

    def change(value: Json) -> Json:
        if rng.random() < 0.6:
            return copy.deepcopy(value)
        return _changed(copy.deepcopy(value), rng)

    return change


def _changed(value: Json, rng: random.Random) -> Json:
    """Replaces, removes or adds one value at a random depth."""
    if not isinstance(value, (dict, list)) or not value or rng.random() < 0.15:
        return copy.deepcopy(rng.choice(ODD))
    keys = list(value) if isinstance(value, dict) else range(len(value))
    key = rng.choice(list(keys))
    how = rng.random()
    if how < 0.1:
        del value[key]
    elif how < 0.15 and isinstance(value, dict):
        value[str(rng.choice(ODD))[:100]] = copy.deepcopy(rng.choice(ODD))
    else:
        value[key] = _changed(value[key], rng)
    return value


def _change_bytes(path: Path, rng: random.Random) -> None:
    """Flips, removes, repeats and inserts bytes of a file, or cuts it off."""
    data = bytearray(path.read_bytes())
    for _ in range(rng.choice((1, 1, 1, 2, 5, 20))):
        at = rng.randrange(len(data) + 1)
        match rng.randrange(6):
            case 0:
                data[at : at + 1] = bytes([rng.randrange(256)])
            case 1:
                del data[at : at + rng.choice((1, 2, 7, 100))]
            case 2:
                data[at:at] = data[at : at + rng.choice((1, 8, 200))]
            case 3:
                data[at:at] = rng.choice(
                    (b"\0", b"\xff" * 8, b'"', b"\n", b"[" * 50, b"9" * 400, b"NaN", b"\r", b",", b"\xed\xa0\x80")
                )
            case 4:
                del data[at:]
            case 5:
                data[at : at + 4] = rng.choice((b"\xff\xff\xff\xff", b"\xff\xff\xff\x7f", b"\0\0\0\0", b"\1\0\0\0"))
    path.write_bytes(data)


KINDS: list[tuple[str, Callable[[int], str]]] = [(kind, partial(try_source, kind)) for kind in WRITERS]
