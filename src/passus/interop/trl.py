"""A passus task in TRL: its rows as a dataset, and its verifier as a reward function.

from passus.trl_reward import reward_function, training_rows

data = Dataset.from_list(training_rows("gsm8k", 1000))
trainer = GRPOTrainer(model, reward_funcs=reward_function(), train_dataset=data, ...)
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from passus.config.tables import RewardValues
from passus.grading.grade import Rule, Verdict, grade_all
from passus.tasks.lookup import training_items
from passus.tasks.prompt import AUTO, messages

THINKING_BEGINS, THINKING_ENDS = "<think>", "</think>"
RewardFunction = Callable[..., list[float | None]]


def training_rows(task: str, count: int, *, seed: int = 0, prompt: str = AUTO, system: str = "") -> list[dict[str, Any]]:
    """The first items of a task's training stream: messages for the chat template, and the columns that the reward reads."""
    return [
        {
            "prompt": messages(item, prompt, system),
            "answer": item.gold,
            "kind": item.rule.kind,
            "choices": list(item.rule.choices),
            "tolerance": item.rule.tolerance,
            "task": item.benchmark,
        }
        for _, item in training_items(task, 0, seed, 0, count)
    ]


def reward_function(worth: Mapping[str, float] | None = None) -> RewardFunction:
    """What a verdict is worth, as in [reward]: 1 for a right answer and 0 else, unless said otherwise.

    The function reads the column `answer`, and `kind`, `choices` and `tolerance` where the data has them. Where the verifier
    itself fails the reward is None, which TRL takes for "does not apply". TRL does not say which completions were cut off:
    they count by what stands in them, which is mostly no answer.
    """
    table = RewardValues.model_validate(dict(worth or {}))

    def passus_reward(completions: Sequence[Any], answer: Sequence[str], **columns: Any) -> list[float | None]:
        outputs = [_answer(completion) for completion in completions]
        rules = _rules(columns, len(outputs))
        log_metric = columns.get("log_metric")
        grades = grade_all(outputs, list(answer), rules, [False] * len(outputs))
        if log_metric:
            log_metric("unparseable", sum(g.verdict == Verdict.UNPARSEABLE for g in grades) / max(1, len(grades)))
        return [
            None if g.verdict == Verdict.ERROR else float(getattr(table, g.verdict) + table.format * g.well_formed)
            for g in grades
        ]

    return passus_reward


def _answer(completion: Any) -> str:
    """Plain text, or the messages of a chat; what comes after the thinking."""
    text = completion if isinstance(completion, str) else completion[-1]["content"]
    said = text.rpartition(THINKING_ENDS)[2]
    return "" if THINKING_BEGINS in said else said  # thinking that never ended says nothing


def _rules(columns: Mapping[str, Any], count: int) -> list[Rule]:
    kinds = columns.get("kind") or ["math"] * count
    choices = columns.get("choices") or [()] * count
    tolerances = columns.get("tolerance") or [0.0] * count
    return [Rule(k, tuple(c or ()), t or 0.0) for k, c, t in zip(kinds, choices, tolerances, strict=True)]
