"""lm-eval's files of an evaluation: the results as JSON and every sample as JSON lines, under the names that it gives them.

What reads lm-eval's output reads ours. Scores are ours, as `acc` under the filter `none`; on GSM8K lm-eval's own two filters
stand beside them, taken from the first sample of an item, as lm-eval takes it.
"""

import hashlib
import json
import platform
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np

import passus
from passus.atomic_io import to_json, write_text
from passus.config.tables import Config
from passus.evaluation.suite import Loaded
from passus.grading.grade import Verdict
from passus.interop import lm_eval_gsm8k
from passus.models.policy import Policy
from passus.runs.eval_point import EvalPoint
from passus.stats import intervals
from passus.tasks import benchmarks
from passus.tasks.lookup import Item, is_private

GSM8K = "gsm8k"


@dataclass(frozen=True)
class Evaluated:
    """All that the files tell of."""

    model: str
    policy: Policy
    config: Config
    seed: int
    loaded: Loaded
    points: list[EvalPoint]
    totals: list[dict]
    columns: dict[str, list]
    seconds: float


def write(out: Path, done: Evaluated) -> list[Path]:
    """Into a folder named after the model, as lm-eval does under its --output_path."""
    folder = out / re.sub(r"[\"<>:/|\\?*\[\]]+", "__", done.model)
    folder.mkdir(parents=True, exist_ok=True)
    date = datetime.now().isoformat().replace(":", "-")
    samples = {point.benchmark: _samples(done, point) for point in done.points}
    results = folder / f"results_{date}.json"
    write_text(results, json.dumps(_results(done, samples), indent=2, ensure_ascii=False, allow_nan=False) + "\n")
    written = [results]
    for name, lines in samples.items():
        task = re.sub(r"\W", "_", name)
        written.append(folder / f"samples_{task}_{date}.jsonl")
        write_text(written[-1], "".join(to_json(line) + "\n" for line in lines))
    return written


def _results(done: Evaluated, samples: dict[str, list[dict]]) -> dict[str, Any]:
    names = [point.benchmark for point in done.points]
    repeats, shots = done.points[0].k, {name: len(done.loaded.items[name][0].style.shots) for name in names}
    template = done.policy.chat.chat_template
    return {
        "results": {point.benchmark: _scores(point, samples[point.benchmark]) for point in done.points},
        "groups": {t["suite"]: {"alias": t["suite"], "acc,none": t["acc"], "acc_stderr,none": "N/A"} for t in done.totals},
        "group_subtasks": {total["suite"]: total["of"] for total in done.totals},
        "configs": {name: _task(done, name, repeats, shots[name]) for name in names},
        "versions": dict.fromkeys(names, 1),
        "n-shot": shots,
        "higher_is_better": {name: {"acc": True} for name in names},
        "n-samples": {name: _counts(done, name) for name in names},
        "config": _config(done),
        "git_hash": None,
        "date": time.time(),
        "pretty_env_info": f"passus {passus.__version__}, Python {platform.python_version()}, {platform.platform()}",
        "lm_eval_version": f"written by passus {passus.__version__}",
        "task_hashes": {name: _hash("".join(_hashes(line) for line in lines)) for name, lines in samples.items()},
        "model_name": done.model,
        "chat_template_sha": _hash(template) if template else None,
        "total_evaluation_time_seconds": str(done.seconds),
        "passus": {"left_out": done.loaded.left_out, "unjudged": done.loaded.unjudged, "totals": done.totals},
    }


def _scores(point: EvalPoint, samples: Sequence[dict]) -> dict[str, Any]:
    scores = {"alias": point.benchmark, "sample_len": point.q, "acc,none": point.acc}
    scores["acc_stderr,none"] = _stderr([line["acc"] for line in samples if line["filter"] == "none"])
    scores |= {f"pass@{k},none": value for k, value in (point.pass_at_k or {}).items() if k != "1"}
    scores |= {f"maj@{k},none": value for k, value in (point.maj_at_k or {}).items() if k != "1"}
    for name in lm_eval_gsm8k.FILTERS:
        if matched := [line["exact_match"] for line in samples if line["filter"] == name]:
            scores |= {f"exact_match,{name}": float(np.mean(matched)), f"exact_match_stderr,{name}": _stderr(matched)}
    return scores


def _stderr(values: Sequence[float]) -> float | str:
    return intervals.population_se(np.array(values)[:, None]) if len(values) > 1 else "N/A"


def _task(done: Evaluated, name: str, repeats: int, shots: int) -> dict[str, Any]:
    row = benchmarks.benchmark(name)
    hub = row.hub if row else None
    return {
        "task": name, "dataset_path": hub.dataset if hub else None, "dataset_name": hub.configs[0] or None if hub else None,
        "test_split": hub.split if hub else None, "output_type": "generate_until", "num_fewshot": shots, "repeats": repeats,
        "generation_kwargs": _generation(done), "doc_to_text": done.policy.chat.question_template, "metadata": {"version": 1},
    }  # fmt: skip


def _generation(done: Evaluated) -> dict[str, Any]:
    temperature = done.config.eval.temperatures[0]
    return {"do_sample": temperature > 0, "temperature": temperature, "max_gen_toks": done.config.eval_tokens, "until": []}


def _counts(done: Evaluated, name: str) -> dict[str, int]:
    row = benchmarks.benchmark(name)
    effective = len(done.loaded.items[name])
    return {"original": (row.items if row else 0) or effective, "effective": effective}


def _config(done: Evaluated) -> dict[str, Any]:
    return {
        "model": "passus", "model_args": {"pretrained": done.model, "thinking": done.policy.chat.thinking}, "batch_size": None,
        "device": str(done.policy.model.device), "limit": done.config.eval.limit or None, "gen_kwargs": _generation(done),
        "random_seed": done.seed, "numpy_seed": done.seed, "torch_seed": done.seed, "fewshot_seed": done.seed,
    }  # fmt: skip


def _samples(done: Evaluated, point: EvalPoint) -> list[dict]:
    """A line for each item and filter."""
    columns = zip(*(done.columns[key] for key in ("benchmark", "completion", "extracted", "verdict")), strict=True)
    rows = [row[1:] for row in columns if row[0] == point.benchmark]
    lines = []
    for n, item in enumerate(done.loaded.items[point.benchmark]):
        own = rows[n * point.k : (n + 1) * point.k]
        outputs, extracted = [text for text, _, _ in own], [found or "" for _, found, _ in own]
        accuracy = float(np.mean([verdict == Verdict.CORRECT for _, _, verdict in own]))
        lines.append(_line(done, item, outputs, "none", extracted, {"acc": accuracy}))
        if item.benchmark == GSM8K:
            for name, (text, right) in lm_eval_gsm8k.scores(outputs[0], item.gold).items():
                lines.append(_line(done, item, outputs, name, [text], {"exact_match": float(right)}))
    return lines


def _line(done: Evaluated, item: Item, outputs: list[str], name: str, filtered: list[str], metrics: dict[str, float]) -> dict:
    private = is_private(item.benchmark)
    doc = {"id": item.id} if private else {"id": item.id, "problem": item.question, "answer": item.gold}
    prompt = "" if private else done.policy.chat.render(item)
    return {
        "doc_id": item.index, "doc": doc, "target": item.gold,
        "arguments": {"gen_args_0": {"arg_0": prompt, "arg_1": _generation(done)}},
        "resps": [outputs], "filtered_resps": filtered, "filter": name, "metrics": list(metrics),
        "doc_hash": _hash(json.dumps(doc, indent=2, ensure_ascii=False)), "prompt_hash": _hash(prompt),
        "target_hash": _hash(item.gold),
    } | metrics  # fmt: skip


def _hashes(line: dict) -> str:
    return line["doc_hash"] + line["prompt_hash"] + line["target_hash"]


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
