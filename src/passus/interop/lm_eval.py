"""Output files of lm-eval for an evaluation of passus: results as JSON and samples as JSON lines, under lm-eval's names.

Tools that read lm-eval's output can read these files. Scores are those of passus, as `acc` under the filter `none`. GSM8K also
has the scores of lm-eval's own two filters, computed from the first sample of an item, as lm-eval does.
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
from passus.evaluation.suite import LoadedSuite
from passus.grading.verdict import Verdict
from passus.interop import lm_eval_gsm8k
from passus.models.policy import Policy
from passus.runs.eval_point import EvalPoint
from passus.stats import intervals
from passus.tasks import benchmarks
from passus.tasks.item import Item
from passus.tasks.lookup import is_private

GSM8K = "gsm8k"
OWN_KEYS = ("verdict", "extracted", "tokens", "value")
"""What lm-eval has no place for, under the key `passus` of a line: `passus import` reads the verdicts of all samples there."""


@dataclass(frozen=True)
class EvaluationResult:
    """An evaluation with everything that the files report."""

    model: str
    policy: Policy
    config: Config
    seed: int
    suite: LoadedSuite
    points: list[EvalPoint]
    totals: list[dict]
    columns: dict[str, list]
    seconds: float


def write_files(out: Path, result: EvaluationResult) -> list[Path]:
    """Writes the files into a folder named after the model, as lm-eval does under its --output_path."""
    folder = out / re.sub(r"[\"<>:/|\\?*\[\]]+", "__", result.model)
    folder.mkdir(parents=True, exist_ok=True)
    date = datetime.now().isoformat().replace(":", "-")
    samples = {point.benchmark: _samples(result, point) for point in result.points}
    results_path = folder / f"results_{date}.json"
    write_text(results_path, json.dumps(_results(result, samples), indent=2, ensure_ascii=False, allow_nan=False) + "\n")
    written = [results_path]
    for name, lines in samples.items():
        task = re.sub(r"\W", "_", name)
        written.append(folder / f"samples_{task}_{date}.jsonl")
        write_text(written[-1], "".join(to_json(line) + "\n" for line in lines))
    return written


def _results(result: EvaluationResult, samples: dict[str, list[dict]]) -> dict[str, Any]:
    names = [point.benchmark for point in result.points]
    repeats, shots = result.points[0].k, {name: len(result.suite.items[name][0].style.shots) for name in names}
    template = result.policy.chat.chat_template
    return {
        "results": {point.benchmark: _scores(point, samples[point.benchmark]) for point in result.points},
        "groups": {t["suite"]: {"alias": t["suite"], "acc,none": t["acc"], "acc_stderr,none": "N/A"} for t in result.totals},
        "group_subtasks": {total["suite"]: total["of"] for total in result.totals},
        "configs": {name: _task(result, name, repeats, shots[name]) for name in names},
        "versions": dict.fromkeys(names, 1),
        "n-shot": shots,
        "higher_is_better": {name: {"acc": True} for name in names},
        "n-samples": {name: _counts(result, name) for name in names},
        "config": _config(result),
        "git_hash": None,
        "date": time.time(),
        "pretty_env_info": f"passus {passus.__version__}, Python {platform.python_version()}, {platform.platform()}",
        "lm_eval_version": f"written by passus {passus.__version__}",
        "task_hashes": {name: _hash("".join(_hashes(line) for line in lines)) for name, lines in samples.items()},
        "model_name": result.model,
        "chat_template_sha": _hash(template) if template else None,
        "total_evaluation_time_seconds": str(result.seconds),
        "passus": {"left_out": result.suite.left_out, "unjudged": result.suite.unjudged, "totals": result.totals},
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


def _task(result: EvaluationResult, name: str, repeats: int, shots: int) -> dict[str, Any]:
    row = benchmarks.find_benchmark(name)
    hub = row.hub if row else None
    return {
        "task": name, "dataset_path": hub.dataset if hub else None, "dataset_name": hub.configs[0] or None if hub else None,
        "test_split": hub.split if hub else None, "output_type": "generate_until", "num_fewshot": shots, "repeats": repeats,
        "generation_kwargs": _generation(result), "doc_to_text": result.policy.chat.question_template,
        "metadata": {"version": 1},
    }  # fmt: skip


def _generation(result: EvaluationResult) -> dict[str, Any]:
    temperature = result.config.eval.temperatures[0]
    return {"do_sample": temperature > 0, "temperature": temperature, "max_gen_toks": result.config.eval_tokens, "until": []}


def _counts(result: EvaluationResult, name: str) -> dict[str, int]:
    row = benchmarks.find_benchmark(name)
    effective = len(result.suite.items[name])
    return {"original": (row.items if row else 0) or effective, "effective": effective}


def _config(result: EvaluationResult) -> dict[str, Any]:
    return {
        "model": "passus", "model_args": {"pretrained": result.model, "thinking": result.policy.chat.thinking},
        "batch_size": None, "device": str(result.policy.model.device), "limit": result.config.eval.limit or None,
        "gen_kwargs": _generation(result),
        "random_seed": result.seed, "numpy_seed": result.seed, "torch_seed": result.seed, "fewshot_seed": result.seed,
    }  # fmt: skip


def _samples(result: EvaluationResult, point: EvalPoint) -> list[dict]:
    """Returns one line per item and filter. lm-eval has one score per item, so that those of all samples have their own key."""
    keys = ("completion", *OWN_KEYS)
    columns = zip(result.columns["benchmark"], *(result.columns[key] for key in keys), strict=True)
    rows = [dict(zip(keys, row[1:], strict=True)) for row in columns if row[0] == point.benchmark]
    lines = []
    for n, item in enumerate(result.suite.items[point.benchmark]):
        item_rows = rows[n * point.k : (n + 1) * point.k]
        outputs, extracted = [row["completion"] for row in item_rows], [row["extracted"] or "" for row in item_rows]
        accuracy = float(np.mean([row["verdict"] == Verdict.CORRECT for row in item_rows]))
        own = {key: [row[key] for row in item_rows] for key in OWN_KEYS}
        lines.append(_line(result, item, outputs, "none", extracted, {"acc": accuracy}) | {"passus": own})
        if item.benchmark == GSM8K:
            for name, (text, right) in lm_eval_gsm8k.scores(outputs[0], item.gold).items():
                lines.append(_line(result, item, outputs, name, [text], {"exact_match": float(right)}))
    return lines


def _line(
    result: EvaluationResult, item: Item, outputs: list[str], name: str, filtered: list[str], metrics: dict[str, float]
) -> dict:
    private = is_private(item.benchmark)
    doc = {"id": item.id} if private else {"id": item.id, "problem": item.question, "answer": item.gold}
    prompt = "" if private else result.policy.chat.render(item)
    return {
        "doc_id": item.index, "doc": doc, "target": item.gold,
        "arguments": {"gen_args_0": {"arg_0": prompt, "arg_1": _generation(result)}},
        "resps": [outputs], "filtered_resps": filtered, "filter": name, "metrics": list(metrics),
        "doc_hash": _hash(json.dumps(doc, indent=2, ensure_ascii=False)), "prompt_hash": _hash(prompt),
        "target_hash": _hash(item.gold),
    } | metrics  # fmt: skip


def _hashes(line: dict) -> str:
    return line["doc_hash"] + line["prompt_hash"] + line["target_hash"]


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
