"""Evaluation of a policy: samples every item of a suite, grades the completions, and computes eval points.

Items and random numbers are the same at every eval point of all arms with one seed, so that curves are paired.

Shapes: Q items, K samples per item, N = Q x K completions.
"""

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from passus.config.tables import EvalTable
from passus.engine.interface import Sampler, SamplingParams
from passus.evaluation.grade_rollout import grade_rollout
from passus.evaluation.item_columns import Columns
from passus.evaluation.suite import LoadedSuite, load_suite
from passus.grading.canonical import canonical
from passus.grading.verdict import BOXED, Extract, Verdict
from passus.models.policy import Policy
from passus.runs.eval_point import EvalPoint
from passus.runs.row_files import OWN_ITEMS
from passus.stats import at_k, intervals
from passus.stats.clusters import count_units
from passus.tasks.item import Item
from passus.tasks.llm_judge import Judge


def evaluate(
    policy: Policy, sampler: Sampler, table: EvalTable, max_tokens: int, seed: int, step: int,
    suite: LoadedSuite | None = None, judge: Judge | None = None,
) -> tuple[list[EvalPoint], Columns]:  # fmt: skip
    """Evaluates a policy on a suite. Returns its eval points, and the item rows as columns."""
    suite = suite or load_suite(table, judged=judge is not None)
    points: list[EvalPoint] = []
    columns: Columns = {name: [] for name in OWN_ITEMS}
    for temperature in table.temperatures:
        for benchmark, items in suite.items.items():
            started = time.monotonic()
            params = SamplingParams(
                table.samples_at(temperature), max_tokens, seed, f"eval/{items[0].benchmark}",
                temperature=temperature, top_p=table.top_p, top_k=table.top_k,
            )  # fmt: skip
            rows, judge_failures = _item_rows(policy, sampler, items, params, judge, table.extract)
            point = eval_point(step, benchmark, temperature, rows, table.extract)
            seconds, unjudged = time.monotonic() - started, suite.unjudged.get(benchmark)
            points.append(replace(point, seconds=seconds, judge=judge_failures or None, unjudged=unjudged))
            for name in columns:
                columns[name] += [row[name] for row in rows]
    return points, columns


def _item_rows(
    policy: Policy, sampler: Sampler, items: Sequence[Item], params: SamplingParams, judge: Judge | None, extract: Extract
) -> tuple[list[dict[str, Any]], Counter[str]]:
    """Samples and grades the items of one benchmark. Returns their rows, and the judge's failures by reason."""
    rollout = sampler.generate(policy.prompts([(item.index, item) for item in items]), params)
    items_N = [item for item in items for _ in range(params.samples)]
    graded = grade_rollout(policy, rollout, items_N, judge, extract=extract)
    rows = [
        {
            "benchmark": item.benchmark, "temperature": params.temperature, "item": item.index, "sample": n % params.samples,
            "verdict": str(grade.verdict), "extracted": grade.extracted, "tokens": len(rollout.tokens[n]),
            "logp": float(np.sum(rollout.logps[n])), "completion": graded.texts_N[n],
            "value": float(grade.verdict is Verdict.CORRECT), "cluster": item.cluster or None,
        }
        for n, (item, grade) in enumerate(zip(items_N, graded.grades_N, strict=True))
    ]  # fmt: skip
    return rows, graded.judge_failures


def eval_point(
    step: int, benchmark: str, temperature: float, rows: Sequence[dict[str, Any]], extract: Extract = BOXED
) -> EvalPoint:
    """Computes the numbers of one benchmark at one step from its item rows."""
    samples = 1 + max(row["sample"] for row in rows)
    correct_QK = np.array([row["verdict"] == Verdict.CORRECT for row in rows], dtype=float).reshape(-1, samples)
    answers_N = [row["extracted"] and canonical(row["extracted"]) for row in rows]
    answers_QK = [answers_N[n : n + samples] for n in range(0, len(answers_N), samples)]
    cluster_Q = [row.get("cluster") or "" for row in rows[::samples]]
    accuracy, clusters = intervals.accuracy_interval(correct_QK, cluster_Q), count_units(cluster_Q, len(correct_QK))
    tokens = [row["tokens"] for row in rows]
    return EvalPoint(
        step=step,
        benchmark=benchmark,
        temperature=temperature,
        q=len(correct_QK),
        k=samples,
        acc=accuracy.mean,
        ci_low=accuracy.low,
        ci_high=accuracy.high,
        clusters=clusters if clusters < len(correct_QK) else None,
        se=max(intervals.fixed_set_se(correct_QK), 1 / correct_QK.size),
        pass_at_k={str(k): float(at_k.pass_at_k(correct_QK, k).mean()) for k in at_k.powers_of_two(samples)},
        maj_at_k={str(samples): float(at_k.maj_at_k(answers_QK, correct_QK).mean())},
        tokens_mean=float(np.mean(tokens)),
        tokens_p95=float(np.percentile(tokens, 95)),
        truncated=_verdict_rate(rows, Verdict.TRUNCATED),
        unparseable=_verdict_rate(rows, Verdict.UNPARSEABLE),
        error=_verdict_rate(rows, Verdict.ERROR),
        extract=extract,
    )


def _verdict_rate(rows: Sequence[dict[str, Any]], verdict: Verdict) -> float:
    return len([row for row in rows if row["verdict"] == verdict]) / len(rows)
