"""From verdicts to rewards: a table, a term for the format, and a function of the user's own in TRL's signature.

reward of a completion = table[verdict] + format, if well formed + weight x function + DAPO's overlong penalty
                         + Kimi's length reward + weight x a reward model's score
"""

import importlib
import inspect
import math
import os
import sys
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor

from passus.config.tables import Config
from passus.errors import PassusError, UsageError, nearest
from passus.grading.grade import Verdict
from passus.methods.presets import length_reward, overlong_penalty
from passus.models import reward_head
from passus.models.policy import Policy
from passus.tasks import prompt
from passus.training.rollout_batch import Groups

LARGEST = 1e6
"""As in the [reward] table: beyond it something is wrong, and float32 has no digits left for differences."""

Function = Callable[..., Sequence[float | None]]


@dataclass
class Scored:
    rewards_N: Tensor
    metrics: dict[str, float] = field(default_factory=dict)
    """What the function logged, and what it made of the completions."""


def load_function(name: str) -> Function | None:
    """`module:function`; the module is looked for where the command was given, too."""
    if not name:
        return None
    module_name, _, function_name = name.partition(":")
    if not function_name:
        raise UsageError(f"reward.function = {name!r}", expected="module:function", write="my_rewards:short_answers")
    if os.getcwd() not in sys.path:
        sys.path.append(os.getcwd())
    try:
        module = importlib.import_module(module_name)
    except Exception as error:  # noqa: BLE001 (the user's module: whatever it raises is said, with its place)
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


def score(
    config: Config, function: Function | None, policy: Policy, drawn: Groups, step: int, scorer: Policy | None = None
) -> Scored:
    values = config.reward.values
    worth = {verdict: getattr(values, verdict, values.wrong) for verdict in Verdict}  # `error` is left out of the loss anyway
    formed_N = [own.well_formed for own in drawn.grades_N]
    rewards_N = torch.tensor([worth[g.verdict] + values.format * f for g, f in zip(drawn.paid_N, formed_N, strict=True)])
    lengths_N = torch.tensor(drawn.shown_N or [len(tokens) for tokens in drawn.rollout.tokens])
    rewards_N = rewards_N + overlong_penalty(lengths_N, config.train.max_tokens, config.method)
    if config.method.length_reward and step >= config.method.length_reward_from:
        right_N = torch.tensor([g.verdict is Verdict.CORRECT for g in drawn.paid_N])
        shape = (-1, drawn.samples)
        by_length_PG = length_reward(lengths_N.view(shape), right_N.view(shape))
        rewards_N = rewards_N + config.method.length_reward * by_length_PG.flatten()
    found: dict[str, float] = {}
    if scorer is not None:
        scores_N = torch.tensor(scores(scorer, drawn, config.train.micro_tokens))
        rewards_N = rewards_N + values.model * scores_N
        found["train/reward_model"] = float(scores_N.mean())
    if function is None:
        return Scored(rewards_N, found)
    logged: dict[str, list[float]] = {}
    returned = _call(config, function, policy, drawn, step, logged)
    given = [v for v in returned if v is not None]
    metrics = found | {f"reward/{name}": sum(numbers) / len(numbers) for name, numbers in logged.items()}
    metrics["train/reward_function"] = sum(given) / len(given) if given else 0.0
    metrics["train/reward_function_none"] = 1 - len(given) / len(returned)
    return Scored(rewards_N + values.function * torch.tensor([0.0 if v is None else v for v in returned]), metrics)


def scores(scorer: Policy, drawn: Groups, budget: int) -> list[float]:
    """Of a reward model, for each completion."""
    rows = [drawn.texts_N[n : n + drawn.samples] for n in range(0, len(drawn.texts_N), drawn.samples)]
    return [value for of_item in reward_head.score_completions(scorer, drawn.items_D, rows, budget) for value in of_item]


def _call(
    config: Config, function: Function, policy: Policy, drawn: Groups, step: int, logged: dict[str, list[float]]
) -> list[float | None]:
    """As TRL calls it: lists in, a number or None for each completion out. Messages where the model has a chat template."""
    items_N = drawn.items_N
    prompts: list[Any] = [prompt.plain(item, policy.chat.question_template, policy.chat.system) for item in items_N]
    completions: list[Any] = list(drawn.texts_N)
    if policy.chat.chat_template is not None:
        prompts = [policy.chat.messages(item) for item in items_N]
        completions = [[{"role": "assistant", "content": text}] for text in completions]
    try:
        values = function(
            prompts=prompts, completions=completions, completion_ids=[list(tokens) for tokens in drawn.rollout.tokens],
            answer=[item.gold for item in items_N], solution=[item.solution or item.gold for item in items_N],
            task=[item.benchmark for item in items_N], verdict=[str(g.verdict) for g in drawn.grades_N],
            trainer_state=SimpleNamespace(global_step=step - 1, max_steps=config.train.steps),
            log_metric=lambda name, value: logged.setdefault(str(name), []).append(_number(config, step, value, "logged")),
            log_extra=lambda column, values: None,
        )  # fmt: skip
    except PassusError:
        raise
    except Exception as error:  # the user's function: whatever it raises is said, with its place
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
        expected=f"a list with a number (up to {LARGEST:g}) or None for each completion ({rows}, and those drawn again)",
        write="the same command again once it is mended; it goes on from the last checkpoint",
    )


def _place(error: Exception) -> str:
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__}: {error} ({frame.filename}:{frame.lineno})"
