"""From verdicts to rewards.

reward of a completion = values[verdict] + values.format, if well formed
                         + DAPO's overlong penalty + Kimi's length reward
                         + values.model x score of a reward model
                         + values.function x a user's function in TRL's signature
"""

from __future__ import annotations

import importlib
import inspect
import math
import os
import sys
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from passus.config.tables import Config
from passus.errors import PassusError, UsageError, nearest
from passus.grading.verdict import Verdict
from passus.methods.length_rewards import length_reward, overlong_penalty
from passus.models import reward_head
from passus.models.policy import Policy
from passus.tasks import prompt
from passus.training.rollout_batch import RolloutBatch

if TYPE_CHECKING:
    from passus.training.state import PolicyRun

LARGEST = 1e6
"""Bound of a function's values, as of the [reward] table: beyond it float32 has no digits left for differences."""

RewardFunction = Callable[..., Sequence[float | None]]


@dataclass
class Scored:
    """Rewards of N completions, and the values that metrics are made from."""

    rewards_N: Tensor
    outcomes_N: Tensor
    """Rewards without the terms that depend on length."""
    valid_N: Tensor
    """False where the grader failed and verdicts are paid: such a completion has no reward."""
    model_scores_N: list[float] = field(default_factory=list)
    function_values_N: list[float | None] = field(default_factory=list)
    logged: dict[str, list[float]] = field(default_factory=dict)
    """Values that the reward function logged, by name."""

    def __add__(self, other: Scored) -> Scored:
        names = {*self.logged, *other.logged}
        return Scored(
            torch.cat([self.rewards_N, other.rewards_N]), torch.cat([self.outcomes_N, other.outcomes_N]),
            torch.cat([self.valid_N, other.valid_N]), self.model_scores_N + other.model_scores_N,
            self.function_values_N + other.function_values_N,
            {name: self.logged.get(name, []) + other.logged.get(name, []) for name in sorted(names)},
        )  # fmt: skip

    def metrics(self) -> dict[str, float]:
        """Metrics of the reward model and the reward function."""
        metrics: dict[str, float] = {f"reward/{name}": sum(values) / len(values) for name, values in self.logged.items()}
        if self.model_scores_N:
            metrics["train/reward_model"] = float(torch.tensor(self.model_scores_N).mean())
        if self.function_values_N:
            numbers = [value for value in self.function_values_N if value is not None]
            metrics["train/reward_function"] = sum(numbers) / len(numbers) if numbers else 0.0
            metrics["train/reward_function_none"] = 1 - len(numbers) / len(self.function_values_N)
        return metrics


def load_function(name: str) -> RewardFunction | None:
    """Imports `module:function`, also from the folder the command was given in."""
    if not name:
        return None
    module_name, _, function_name = name.partition(":")
    if not function_name:
        raise UsageError(f"reward.function = {name!r}", expected="module:function", write="my_rewards:short_answers")
    if os.getcwd() not in sys.path:
        sys.path.append(os.getcwd())
    try:
        module = importlib.import_module(module_name)
    except Exception as error:  # noqa: BLE001 (the user's module: whatever it raises is reported with its place)
        raise UsageError(
            f"reward.function = {name!r}: importing {module_name} failed: {_place(error)}",
            expected="a module that can be imported from here",
        ) from None
    function = getattr(module, function_name, None)
    if not callable(function) or inspect.iscoroutinefunction(function):
        known = [key for key, value in vars(module).items() if callable(value) and not key.startswith("_")]
        raise UsageError(
            f"reward.function = {name!r}: {function_name} is {'async' if callable(function) else 'not a function there'}",
            expected=f"a plain function of {module_name}: {', '.join(known) or 'it has none'}",
            write=nearest(function_name, known),
        )
    return function


def score(run: PolicyRun, batch: RolloutBatch, step: int) -> Scored:
    """Computes the reward of every completion."""
    config, values = run.config, run.config.reward.values
    reward_of = {verdict: getattr(values, verdict, values.wrong) for verdict in Verdict}
    grades = zip(batch.rewarded_grades_N, batch.grades_N, strict=True)
    outcomes_N = torch.tensor([reward_of[rewarded.verdict] + values.format * own.well_formed for rewarded, own in grades])
    valid_N = valid_rewards(config, batch)
    scored = Scored(outcomes_N + length_terms(config, batch, step, valid_N), outcomes_N, valid_N)
    if run.reward_model is not None:
        scored.model_scores_N = model_scores(run.reward_model, batch, config.train.micro_tokens)
        _add(scored, values.model * torch.tensor(scored.model_scores_N))
    if run.reward_function is not None:
        scored.function_values_N = _call(config, run.reward_function, run.policy, batch, step, scored.logged)
        _add(scored, values.function * torch.tensor([0.0 if v is None else v for v in scored.function_values_N]))
    return scored


def _add(scored: Scored, term_N: Tensor) -> None:
    scored.rewards_N, scored.outcomes_N = scored.rewards_N + term_N, scored.outcomes_N + term_N


def valid_rewards(config: Config, batch: RolloutBatch) -> Tensor:
    """Returns which completions have a reward. A grader's error matters only where verdicts are paid."""
    failed_N = torch.tensor([grade.verdict is Verdict.ERROR for grade in batch.rewarded_grades_N])
    return ~failed_N | (not config.reward.values.pays_verdicts)


def length_terms(config: Config, batch: RolloutBatch, step: int, valid_N: Tensor) -> Tensor:
    """Returns DAPO's overlong penalty plus Kimi's length reward, where the method has them."""
    method, lengths_N = config.method, torch.tensor(batch.lengths_N)
    terms_N = overlong_penalty(lengths_N, config.train.max_tokens, method.soft_overlong)
    if method.length_reward and step >= method.length_reward_from:
        right_N = torch.tensor([g.verdict is Verdict.CORRECT for g in batch.rewarded_grades_N])
        groups = (values_N.view(-1, batch.samples) for values_N in (lengths_N, right_N, valid_N))
        terms_N = terms_N + method.length_reward * length_reward(*groups).flatten()
    return terms_N


def model_scores(reward_model: Policy, batch: RolloutBatch, budget: int) -> list[float]:
    """Scores every completion with a reward model."""
    rows = [batch.texts_N[n : n + batch.samples] for n in range(0, len(batch.texts_N), batch.samples)]
    scores = reward_head.score_completions(reward_model, batch.items_D, rows, budget)
    return [score for item_scores in scores for score in item_scores]


def _call(
    config: Config, function: RewardFunction, policy: Policy, batch: RolloutBatch, step: int, logged: dict[str, list[float]]
) -> list[float | None]:
    """Calls the function as TRL does: lists in, one number or None per completion out; messages for models with a template."""
    items_N = batch.items_N
    prompts: list[Any] = [prompt.plain_prompt(item, policy.chat.question_template, policy.chat.system) for item in items_N]
    completions: list[Any] = list(batch.texts_N)
    if policy.chat.chat_template is not None:
        prompts = [policy.chat.messages(item) for item in items_N]
        completions = [[{"role": "assistant", "content": text}] for text in completions]
    try:
        values = function(
            prompts=prompts, completions=completions, completion_ids=[list(tokens) for tokens in batch.rollout.tokens],
            answer=[item.gold for item in items_N], solution=[item.solution or item.gold for item in items_N],
            task=[item.benchmark for item in items_N], verdict=[str(g.verdict) for g in batch.grades_N],
            trainer_state=SimpleNamespace(global_step=step - 1, max_steps=config.train.steps),
            log_metric=lambda name, value: logged.setdefault(str(name), []).append(_number(config, step, value, "logged")),
            log_extra=lambda column, values: None,
        )  # fmt: skip
    except PassusError:
        raise
    except Exception as error:  # the user's function: whatever it raises is reported with its place
        raise _failed(config, step, f"raised {_place(error)}") from error
    return _checked(config, step, values, len(items_N))


def _checked(config: Config, step: int, values: Any, rows: int) -> list[float | None]:
    if hasattr(values, "tolist"):  # a tensor, or an array of numpy's
        values = values.tolist()
    if not isinstance(values, (list, tuple)) or len(values) != rows:
        size = f"{len(values)} of them" if isinstance(values, (list, tuple)) else type(values).__name__
        raise _failed(config, step, f"returned {size}")
    return [None if value is None else _number(config, step, value, "returned") for value in values]


def _number(config: Config, step: int, value: Any, did: str) -> float:
    number = float(value) if isinstance(value, (int, float)) or hasattr(value, "__float__") else math.nan
    if not abs(number) <= LARGEST:
        raise _failed(config, step, f"{did} {value!r}")
    return number


def _failed(config: Config, step: int, what: str) -> PassusError:
    rows = config.train.prompts * config.train.samples
    return PassusError(
        f"reward.function = {config.reward.function!r} {what}, in step {step}",
        expected=f"a list with a number (up to {LARGEST:g}) or None for each completion ({rows}, and those sampled again)",
        write="the same command again once it is fixed; it resumes from the last checkpoint",
    )


def _place(error: Exception) -> str:
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__}: {error} ({frame.filename}:{frame.lineno})"
