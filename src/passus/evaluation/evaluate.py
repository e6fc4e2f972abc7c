"""Evaluation: a suite of benchmarks, to item rows, to eval points.

Items and noise are the same at every eval point of every arm with one seed, so that curves are paired.

Shapes: Q items, K samples an item.
"""

import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from passus.config.tables import EvalTable
from passus.engine.interface import Sampler, SamplingParams
from passus.evaluation.suite import LoadedSuite, load_suite
from passus.grading.grade import Verdict, canonical
from passus.models.policy import Policy
from passus.runs.eval_point import EvalPoint
from passus.runs.run_folder import ROWS
from passus.stats import at_k, intervals
from passus.tasks.llm_judge import Judge, grade_items
from passus.tasks.lookup import Item


def evaluate(
    policy: Policy, sampler: Sampler, table: EvalTable, max_tokens: int, seed: int, step: int,
    loaded: LoadedSuite | None = None, judge: Judge | None = None,
) -> tuple[list[EvalPoint], dict[str, list]]:  # fmt: skip
    """(eval points, item rows as columns) of the whole suite."""
    loaded = loaded or load_suite(table, judged=judge is not None)
    points: list[EvalPoint] = []
    columns: dict[str, list] = {name: [] for name in ROWS["items"]}
    for temperature in table.temperatures:
        for benchmark, items in loaded.items.items():
            started = time.monotonic()
            failed: Counter[str] = Counter()
            rows = list(_rows(policy, sampler, table, max_tokens, seed, items, temperature, judge, failed))
            point = eval_point(step, benchmark, temperature, rows)
            seconds = time.monotonic() - started
            points.append(replace(point, seconds=seconds, judge=failed or None, unjudged=loaded.unjudged.get(benchmark)))
            for name in columns:
                columns[name] += [row[name] for row in rows]
    return points, columns


def _rows(
    policy: Policy, sampler: Sampler, table: EvalTable, max_tokens: int, seed: int, items: list[Item], temperature: float,
    judge: Judge | None, failed: Counter[str],
) -> Iterator[dict]:  # fmt: skip
    benchmark = items[0].benchmark
    params = SamplingParams(
        table.samples, max_tokens, seed, f"eval/{benchmark}", temperature=temperature, top_p=table.top_p, top_k=table.top_k
    )
    rollout = sampler.generate(policy.prompts([(item.index, item) for item in items]), params)
    texts = policy.chat.batch_decode(rollout.tokens)
    answers = policy.chat.answers(rollout.tokens, texts)
    items_N = [item for item in items for _ in range(table.samples)]
    grades, failures = grade_items(judge, items_N, answers, [not finished for finished in rollout.finished])
    failed.update(failures)
    for n, text in enumerate(texts):
        yield {
            "benchmark": benchmark, "temperature": temperature, "item": items_N[n].index, "sample": n % table.samples,
            "verdict": str(grades[n].verdict), "extracted": grades[n].extracted, "tokens": len(rollout.tokens[n]),
            "logp": float(np.sum(rollout.logps[n])), "completion": text,
            "value": float(grades[n].verdict is Verdict.CORRECT),
        }  # fmt: skip


def eval_point(step: int, benchmark: str, temperature: float, rows: list[dict]) -> EvalPoint:
    """Computes the numbers of one benchmark at one step from its item rows."""
    samples = 1 + max(row["sample"] for row in rows)
    correct_QK = np.array([row["verdict"] == Verdict.CORRECT for row in rows], dtype=float).reshape(-1, samples)
    answers = [row["extracted"] and canonical(row["extracted"]) for row in rows]
    answers_QK = [answers[i : i + samples] for i in range(0, len(answers), samples)]
    accuracy = intervals.accuracy_interval(correct_QK)
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
        se=max(intervals.fixed_set_se(correct_QK), 1 / correct_QK.size),
        pass_at_k={str(k): float(at_k.pass_at_k(correct_QK, k).mean()) for k in at_k.powers_of_two(samples)},
        maj_at_k={str(samples): float(at_k.maj_at_k(answers_QK, correct_QK).mean())},
        tokens_mean=float(np.mean(tokens)),
        tokens_p95=float(np.percentile(tokens, 95)),
        truncated=_share(rows, Verdict.TRUNCATED),
        unparseable=_share(rows, Verdict.UNPARSEABLE),
        error=_share(rows, Verdict.ERROR),
    )


def _share(rows: list[dict], verdict: Verdict) -> float:
    return sum(row["verdict"] == verdict for row in rows) / len(rows)
