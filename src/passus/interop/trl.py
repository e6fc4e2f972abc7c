"""Tasks of passus in TRL: rows for a dataset, and the verifier as a reward function.

from passus.interop.trl import reward_function, dataset_rows

data = Dataset.from_list(dataset_rows("gsm8k", 1000))
trainer = GRPOTrainer(model, reward_funcs=reward_function(), train_dataset=data, ...)
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from passus.config.tables import RewardValues
from passus.grading.grade import grade_all
from passus.grading.verdict import BOXED, Rule, Verdict
from passus.tasks.item import Item
from passus.tasks.lookup import benchmark_items, training_items
from passus.tasks.prompt import AUTO, chat_messages

THINK_OPEN, THINK_CLOSE = "<think>", "</think>"
RewardFunction = Callable[..., list[float | None]]


def dataset_rows(task: str, count: int, *, seed: int = 0, prompt: str = AUTO, system: str = "") -> list[dict[str, Any]]:
    """Returns the first items of a task's training stream, with messages and the columns that the reward function reads."""
    return [_row(item, prompt, system) for _, item in training_items(task, 0, seed, 0, count)]


def eval_rows(benchmark: str, count: int, *, prompt: str = AUTO, system: str = "") -> list[dict[str, Any]]:
    """Returns the first items of a benchmark as rows of the same form, for `eval_dataset`. Training never has them."""
    return [_row(item, prompt, system) for item in benchmark_items(benchmark, count)]


def _row(item: Item, prompt: str, system: str) -> dict[str, Any]:
    return {
        "prompt": chat_messages(item, prompt, system),
        "answer": item.gold,
        "kind": item.rule.kind,
        "choices": list(item.rule.choices),
        "tolerance": item.rule.tolerance,
        "task": item.benchmark,
    }


def reward_function(values: Mapping[str, float] | None = None) -> RewardFunction:
    """Returns a reward function with a value for each verdict, as in [reward.values]: by default 1 if correct and 0 otherwise.

    The function reads the column `answer`, and `kind`, `choices` and `tolerance` if the data has them. If the verifier itself
    fails, the reward is None, which TRL treats as not applicable. TRL does not report which completions were truncated; they
    are graded like others, mostly as unparseable.
    """
    table = RewardValues.model_validate(dict(values or {}))

    def passus_reward(completions: Sequence[Any], answer: Sequence[str], **columns: Any) -> list[float | None]:
        outputs = [_answer(completion) for completion in completions]
        rules = _rules(columns, len(outputs))
        log_metric = columns.get("log_metric")
        grades = grade_all(outputs, list(answer), rules, [False] * len(outputs), BOXED)
        if log_metric:
            log_metric("unparseable", sum(g.verdict == Verdict.UNPARSEABLE for g in grades) / max(1, len(grades)))
        return [
            None if g.verdict == Verdict.ERROR else float(getattr(table, g.verdict) + table.format * g.well_formed)
            for g in grades
        ]

    return passus_reward


def _answer(completion: Any) -> str:
    """Returns the text after the thinking, of plain text or of the last message of a chat."""
    text = completion if isinstance(completion, str) else completion[-1]["content"]
    answer = text.rpartition(THINK_CLOSE)[2]
    return "" if THINK_OPEN in answer else answer  # thinking that never ended has no answer


def _rules(columns: Mapping[str, Any], count: int) -> list[Rule]:
    kinds = columns.get("kind") or ["math"] * count
    choices = columns.get("choices") or [()] * count
    tolerances = columns.get("tolerance") or [0.0] * count
    return [Rule(k, tuple(c or ()), t or 0.0) for k, c, t in zip(kinds, choices, tolerances, strict=True)]
