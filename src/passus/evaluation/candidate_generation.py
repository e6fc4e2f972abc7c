"""Generation of candidates: a generator answers training problems and the suite's items, and the answers are graded.

A generator is an arm of its own and writes one file per split and temperature. A reward model learns from the answers of all
generators to the training problems, and is evaluated on their answers to the suite's items.

Shapes: N completions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from passus.config.tables import Config
from passus.engine.interface import Sampler, SamplingParams
from passus.errors import UsageError
from passus.evaluation.candidate_files import COLUMNS, EVAL, TRAIN, candidate_file, recorded_question, write_candidates
from passus.evaluation.suite import LoadedSuite, check_prompt_lengths, load_suite
from passus.grading.verdict import Verdict
from passus.runs.record_check import is_row_file_recorded
from passus.runs.run_folder import RunFolder
from passus.tasks.item import Item
from passus.tasks.lookup import is_private, training_items

if TYPE_CHECKING:
    from passus.models.policy import Policy  # imports torch, which the launcher must not


@dataclass(frozen=True)
class GenerationSplit:
    """Problems that a generator answers."""

    name: str
    items: list[Item]
    samples: int
    """Answers per problem and temperature."""
    max_tokens: int


def has_all_candidates(run: Path, config: Config) -> bool:
    """Returns whether a generator has written all of its files."""
    paths = (candidate_file(run, split, t) for split in (TRAIN, EVAL) for t in config.candidates.temperatures)
    return all(_is_written(path) for path in paths)


def _is_written(path: Path) -> bool:
    """Whether a file is there with its checksum: a generator may have been killed before it recorded the file."""
    return path.exists() and is_row_file_recorded(path)


def generate_candidates(config: Config, folder: RunFolder, check_stop: Callable[[], None], say: Callable[[str], None]) -> None:
    """Writes all answers of one generator. Files that exist already are left alone."""
    import torch

    from passus.models import loader

    model = config.model
    policy = loader.load(model.base, config.run.device, config.run.dtype, model.prompt, model.thinking, model.system)
    suite = load_suite(config.eval)
    check_prompt_lengths(policy, config, suite)
    check_weights(folder, model.base, policy.fingerprint)
    data = {"weights": policy.fingerprint, "remarks": suite.remarks()}
    folder.start(config, policy.describe(model.base), None, data, threads=torch.get_num_threads())
    sampler = policy.sampler(check_stop)
    for split in generation_splits(config, suite):
        for temperature in config.candidates.temperatures:
            path = candidate_file(folder.path, split.name, temperature)
            if _is_written(path):
                continue
            stream = f"candidates/{split.name}/{model.base}/{temperature:g}"
            params = SamplingParams(split.samples, split.max_tokens, config.seed, stream, temperature=temperature)
            rows = candidate_rows(policy, sampler, split.items, params, model.base)
            columns = {name: [row[name] for row in rows] for name in COLUMNS}
            folder.write_whole(path, len(rows), partial(write_candidates, path, columns))
            accuracy = sum(row["verdict"] == Verdict.CORRECT for row in rows) / len(rows)
            problems = f"{len(split.items)} problems, {len(rows)} candidates"
            say(f"{split.name}, temperature {temperature:g}: {problems}, accuracy {accuracy:.3f}")


def check_weights(folder: RunFolder, base: str, fingerprint: str) -> None:
    """Raises if the generator's weights differ from those that wrote its first answers."""
    recorded = folder.meta()["launches"][0].get("data", {}).get("weights") if folder.exists() else None
    if recorded not in (None, fingerprint):
        raise UsageError(
            f"{base} has changed since its first answers were drawn",
            expected="the same weights",
            write=f"{base}@STEP where it is a run that is still training, and another --out",
        )


def generation_splits(config: Config, suite: LoadedSuite) -> list[GenerationSplit]:
    """Returns the training problems and the suite's items, with the answers that each generator gives to each."""
    table = config.candidates
    eval_items = [item for items in suite.items.values() for item in items]
    eval_samples = -(-table.pool // (len(table.generators) * len(table.temperatures)))
    return [
        GenerationSplit(TRAIN, training_problems(config), table.samples, config.train.max_tokens),
        GenerationSplit(EVAL, eval_items, eval_samples, config.eval_tokens),
    ]


def training_problems(config: Config) -> list[Item]:
    """Returns the first items of the task's stream, in its order."""
    source, weights = config.task.mixture
    return [item for _, item in training_items(source, 0, config.seed, 0, config.candidate_problems, weights)]


def candidate_rows(
    policy: Policy, sampler: Sampler, items: Sequence[Item], params: SamplingParams, generator: str
) -> list[dict[str, Any]]:
    """Samples and grades answers to items. Returns one row per answer."""
    from passus.evaluation.grade_rollout import grade_rollout  # imports torch, which the launcher must not

    rollout = sampler.generate(policy.prompts(list(enumerate(items))), params)
    items_N = [item for item in items for _ in range(params.samples)]
    graded = grade_rollout(policy, rollout, items_N)
    logp_N = np.array([np.mean(logps) for logps in rollout.logps])
    scores_N = (logp_N - logp_N.mean()) / (logp_N.std() or 1.0)  # a lower temperature raises all log-probs
    return [
        {
            "benchmark": item.benchmark, "item": item.index, "question": recorded_question(item),
            "gold": "" if is_private(item.benchmark) else item.gold,
            "completion": graded.texts_N[n], "verdict": str(grade.verdict), "extracted": grade.extracted,
            "score": float(scores_N[n]), "generator": generator, "temperature": params.temperature,
            "sample": n % params.samples,
        }
        for n, (item, grade) in enumerate(zip(items_N, graded.grades_N, strict=True))
    ]  # fmt: skip
