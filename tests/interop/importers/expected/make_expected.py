"""Writes the expected values of the sample files with the tools' own readers, in environments of their own.

    python -m venv /tmp/oracle && /tmp/oracle/bin/pip install tensorboard==2.21.0 wandb==0.31.0 duckdb pandas
    /tmp/oracle/bin/python make_expected.py SAMPLES tensorboard wandb tables databases json
    python -m venv /tmp/oracle2 && /tmp/oracle2/bin/pip install inspect-ai==0.3.285
    /tmp/oracle2/bin/python make_expected.py SAMPLES inspect

Nothing of passus is imported here. The tests compare what passus's readers return with these files.
"""

import json
import math
import platform
import re
import struct
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

HERE = Path(__file__).parent


def write(name, made_with, content):
    path = HERE / f"{name}.json"
    parts = [f"{json.dumps(key)}: {json.dumps(value, allow_nan=False)}" for key, value in content.items()]
    path.write_text("{" + ",\n".join([f'"made_with": {json.dumps(made_with)}', *parts]) + "}\n")
    print(path, path.stat().st_size)


def number(value):
    """NaN and infinities as null: gaps."""
    return None if value is None or not math.isfinite(value) else value


def make_tensorboard(samples):
    import tensorboard
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
    from tensorboard.util import tensor_util

    runs = {}
    for folder in sorted({path.parent for path in samples.rglob("*tfevents*")}):
        accumulator = EventAccumulator(str(folder), size_guidance={"scalars": 0, "tensors": 0})
        accumulator.Reload()
        tags = accumulator.Tags()
        values = {tag: [[e.step, e.value, e.wall_time] for e in accumulator.Scalars(tag)] for tag in tags["scalars"]}
        for tag in tags["tensors"]:
            values[tag] = [
                [e.step, float(tensor_util.make_ndarray(e.tensor_proto)), e.wall_time] for e in accumulator.Tensors(tag)
            ]
        runs[str(folder.relative_to(samples))] = values
    write("tensorboard", f"tensorboard {tensorboard.__version__}, EventAccumulator", {"runs": runs})


def wandb_messages(path):
    """The framing by hand, without checksums: wandb 0.31 has no reader of it in Python any more."""
    data, at, message = path.read_bytes(), 7, b""
    while at + 7 <= len(data):
        left = 32768 - at % 32768
        if left < 7:
            at += left
            continue
        length, kind = struct.unpack("<HB", data[at + 4 : at + 7])
        if not kind:
            at += left
            continue
        message = (b"" if kind in (1, 2) else message) + data[at + 7 : at + 7 + length]
        at += 7 + length
        if kind in (1, 4):
            yield message


def make_wandb(samples):
    import wandb
    from wandb.proto import wandb_internal_pb2

    runs = {}
    for path in sorted(samples.rglob("*.wandb")):
        rows, config, about = [], {}, {}
        for message in wandb_messages(path):
            record = wandb_internal_pb2.Record()
            record.ParseFromString(message)
            kind = record.WhichOneof("record_type")
            if kind == "history":
                rows.append(
                    {item.key or ".".join(item.nested_key): json.loads(item.value_json) for item in record.history.item}
                )
            elif kind == "run":
                config |= {item.key or ".".join(item.nested_key): item.value_json for item in record.run.config.update}
                about |= {"run_id": record.run.run_id, "name": record.run.display_name, "group": record.run.run_group}
            elif kind == "config":
                config |= {item.key or ".".join(item.nested_key): item.value_json for item in record.config.update}
            elif kind == "exit":
                about["exit_code"] = record.exit.exit_code
            elif kind == "metric" and record.metric.step_metric:
                name = record.metric.name or record.metric.glob_name
                about.setdefault("step_metrics", {})[name] = record.metric.step_metric
        for row in rows:
            row.update({key: number(value) for key, value in row.items() if isinstance(value, float)})
        config = {key: json.loads(value) for key, value in config.items() if not key.startswith("_wandb")}
        runs[str(path.relative_to(samples))] = about | {"config": config, "rows": rows}
    write("wandb", f"wandb {wandb.__version__}, wandb_internal_pb2", {"runs": runs})


def make_tables(samples):
    import duckdb
    import pandas

    path = samples / "wandb/history.parquet"
    columns = {}
    names = [row[0] for row in duckdb.sql(f"DESCRIBE SELECT * FROM '{path}'").fetchall()]
    for name in names:
        what = ", ".join(f'{function}("{name}")' for function in ("count", "sum", "min", "max"))
        count, total, low, high = duckdb.sql(f"SELECT {what} FROM '{path}'").fetchall()[0]
        columns[name] = {"count": count, "sum": total, "min": low, "max": high}
    first = duckdb.sql(f"SELECT * FROM '{path}' LIMIT 3").fetchall()
    chart = pandas.read_csv(samples / "wandb/chart_export_first10rows.csv")
    metrics = [name for name in chart.columns[1:] if not re.search("__M(IN|AX)$", name)]
    lines = {name: chart[["Step", name]].dropna().values.tolist() for name in metrics}
    made_with = f"duckdb {duckdb.__version__} (Parquet), pandas {pandas.__version__} (CSV)"
    write("wandb_tables", made_with, {"columns": columns, "first": first, "chart": lines})


def sqlite(path, query):
    output = subprocess.run(["sqlite3", "-json", f"file:{path}?immutable=1", query], check=True, capture_output=True, text=True)
    return json.loads(output.stdout or "[]")


def make_databases(samples):
    trackio, mlflow = samples / "made/trackio/demo.db", samples / "made/mlflow/mlflow.db"
    query = (
        "SELECT m.run_name AS run, m.step AS step, j.key AS name, j.value AS value, j.type AS type "
        "FROM metrics m, json_each(CAST(m.metrics AS TEXT)) j ORDER BY m.id"
    )
    points = [
        [row["run"], row["step"], row["name"], row["value"] if row["type"] in ("real", "integer") else None]
        for row in sqlite(trackio, query)
    ]
    configs = {
        row["run_name"]: json.loads(row["config"])
        for row in sqlite(trackio, "SELECT run_name, CAST(config AS TEXT) AS config FROM configs")
    }
    metrics = sqlite(
        mlflow,
        "SELECT r.name AS run, m.step, m.key, CASE WHEN m.is_nan THEN NULL ELSE m.value END AS value, m.timestamp "
        "FROM metrics m JOIN runs r ON r.run_uuid = m.run_uuid WHERE r.lifecycle_stage = 'active' ORDER BY m.rowid",
    )
    params = sqlite(mlflow, "SELECT r.name AS run, p.key, p.value FROM params p JOIN runs r ON r.run_uuid = p.run_uuid")
    version = subprocess.run(["sqlite3", "--version"], check=True, capture_output=True, text=True).stdout.split()[0]
    content = {
        "trackio": {"points": points, "configs": configs},
        "mlflow": {"points": [list(row.values()) for row in metrics], "params": [list(row.values()) for row in params]},
    }
    write("databases", f"sqlite3 command line {version}", content)


def make_json(samples):
    """Formats of JSON: what the standard library alone finds in them."""
    states = {}
    for path in sorted(samples.glob("*/trainer_state*.json")) + sorted(samples.glob("made/trl/trainer_state.json")):
        state = json.loads(path.read_text())
        rows = [row for row in state["log_history"] if "train_runtime" not in row]
        last = {}
        for row in rows:
            for key in row.keys() - {"step"}:
                last.setdefault(key, {})[row["step"]] = row[key]
        states[str(path.relative_to(samples))] = {
            "global_step": state["global_step"],
            "rows": len(rows),
            "values": sum(len(row) - 1 for row in rows),
            "last": {key: sorted(last[key].items()) for key in ("reward", "eval_reward", "loss") if key in last},
        }
    logs = {}
    for path in sorted(samples.glob("made/verl/grpo-*.jsonl")):
        logs[path.stem] = [[row["step"], row["data"]] for row in map(json.loads, path.read_text().splitlines())]
    dumps = {}
    for folder in sorted(samples.glob("made/verl/val-*")):
        steps = {}
        for path in sorted(folder.glob("*.jsonl"), key=lambda path: int(path.stem)):
            items = defaultdict(list)
            for row in map(json.loads, path.read_text().splitlines()):
                items[row["input"] + "|" + row["gts"]].append(int(row["acc"]))
            steps[path.stem] = dict(items)
        dumps[folder.name] = steps
    lines = [json.loads(line) for line in next(samples.glob("made/lm-eval/samples*")).read_text().splitlines()]
    firsts = [
        [row["doc_hash"], row["target"], row["resps"][0], row["exact_match"]] for row in lines if row["filter"] == "first"
    ]
    results = json.loads(next(samples.glob("made/lm-eval/results*")).read_text())["results"]
    write("json", f"json of Python {platform.python_version()}", {
        "trainer_states": states, "verl_logs": logs, "verl_dumps": dumps, "lm_eval": {"samples": firsts, "results": results},
    })  # fmt: skip


def make_inspect(samples):
    import inspect_ai
    from inspect_ai.log import read_eval_log
    from inspect_ai.scorer import value_to_float

    to_float = value_to_float()
    logs = {}
    for path in sorted(samples.rglob("*.eval")):
        log = read_eval_log(str(path))
        rows = []
        for sample in log.samples:
            score = next(iter((sample.scores or {}).values()), None)
            value = None if score is None else to_float(score.value)
            prompt = sample.input if isinstance(sample.input, str) else sample.input[-1].text
            rows.append([sample.id, sample.epoch, prompt, sample.target, value, sample.output.completion])
        metrics = {
            f"{score.name}/{name}": metric.value for score in log.results.scores for name, metric in score.metrics.items()
        }
        logs[str(path.relative_to(samples))] = {
            "status": log.status, "task": log.eval.task, "model": log.eval.model, "metadata": log.eval.metadata,
            "metrics": metrics, "samples": rows,
        }  # fmt: skip
    write("inspect", f"inspect-ai {inspect_ai.__version__}, read_eval_log", {"logs": logs})


if __name__ == "__main__":
    folder, *parts = sys.argv[1:]
    for part in parts:
        globals()[f"make_{part}"](Path(folder))
