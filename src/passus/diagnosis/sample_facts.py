"""Facts about the training samples of one step that means cannot show.

Shapes: N completions of one step, in groups that share a prompt.
"""

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from passus.grading.boxes import find_box
from passus.grading.grade import compare_answer
from passus.grading.verdict import Verdict
from passus.runs.row_files import read_table

COLUMNS = ["task", "item", "sample", "prompt", "completion", "gold", "verdict", "extracted", "reward"]
ENDING = 3
"""Characters of a prompt's end that are compared: where a template opens the model's turn, all prompts end alike."""
MIN_CUT = 5
"""Completions that must be cut off before a share of them is a fact."""
MIN_GOLD = 2
"""Characters of a gold that is looked for in prompts: a single digit is in many of them by chance."""

FACTS = {
    "wrong_accepted": "share of the completions judged correct whose extracted answer differs from the gold",
    "gold_in_prompt": "share of the prompts that contain the gold",
    "reward_order": "probability that a correct completion has more reward than a wrong one of the same step",
    "equal_rewards": "share of the groups whose rewards are all equal",
    "equal_completions": "share of the groups whose completions are all equal",
    "answered_before_cut": "share of the completions cut off at the token limit that contain an answer in a box",
    "reward_per_length": "correlation of reward and length within groups",
    "usual_ending": "share of the prompts that end with the same characters as most prompts of the first step that is read",
    "common_ending": "share of the prompts that end with the same characters as most prompts of this step",
    "draws_per_item": "how often an item has been drawn so far, over the items of this step",
}
"""What each fact is."""


class SampleFacts:
    """Reads files of samples in the order of their steps: how often items come depends on the files before."""

    def __init__(self) -> None:
        self._draws: Counter[tuple[str, int]] = Counter()
        self._usual_ending: str | None = None

    def read(self, path: Path) -> dict[str, float]:
        table = read_table(path, COLUMNS)
        rows = {name: table[name].to_pylist() for name in COLUMNS}
        groups = _groups(rows)
        self._draws.update({key for key, _ in groups})
        reward_N = np.array([np.nan if value is None else value for value in rows["reward"]], dtype=float)
        correct_N = np.array([verdict == Verdict.CORRECT for verdict in rows["verdict"]])
        length_N = np.array([len(text or "") for text in rows["completion"]], dtype=float)
        endings = Counter((rows["prompt"][i[0]] or "")[-ENDING:] for _, i in groups)
        ending, count = endings.most_common(1)[0] if endings else ("", 0)
        self._usual_ending = ending if self._usual_ending is None else self._usual_ending
        several = [indices for _, indices in groups if len(indices) > 1]
        return {
            "wrong_accepted": _share_accepted_wrongly(rows),
            "gold_in_prompt": _mean([_contains_gold(rows["prompt"][i[0]], rows["gold"][i[0]]) for _, i in groups]),
            "reward_order": _order(reward_N[correct_N], reward_N[~correct_N]),
            "equal_rewards": _mean([float(np.ptp(reward_N[i]) == 0) for i in several]),
            "equal_completions": _mean([float(len({rows["completion"][n] for n in i}) == 1) for i in several]),
            "answered_before_cut": _share_answered_before_cut(rows),
            "reward_per_length": _correlation_in_groups(reward_N, length_N, several),
            "usual_ending": endings[self._usual_ending] / max(1, len(groups)),
            "common_ending": count / max(1, len(groups)),
            "draws_per_item": _mean([float(self._draws[key]) for key, _ in groups]),
        }


def _groups(rows: dict[str, list[Any]]) -> list[tuple[tuple[str, int], list[int]]]:
    """Returns the rows of each prompt, with its item."""
    groups: dict[tuple[str, int, str], list[int]] = {}
    for n, key in enumerate(zip(rows["task"], rows["item"], rows["prompt"], strict=True)):
        groups.setdefault(key, []).append(n)
    return [((task, item), indices) for (task, item, _), indices in groups.items()]


def _share_accepted_wrongly(rows: dict[str, list[Any]]) -> float:
    """Compares the extracted answers of correct completions with their golds once more; NaN without any to compare."""
    judged = zip(rows["verdict"], rows["extracted"], rows["gold"], strict=True)
    pairs = [(answer, gold) for verdict, answer, gold in judged if verdict == Verdict.CORRECT and answer and gold]
    equal = [compare_answer(answer, gold)[0] for answer, gold in pairs]
    return _mean([float(not value) for value in equal if value is not None])


def _share_answered_before_cut(rows: dict[str, list[Any]]) -> float:
    """A completion that answers and goes on did not stop where it ended; NaN with too few that were cut off."""
    pairs = zip(rows["verdict"], rows["completion"], strict=True)
    cut = [text or "" for verdict, text in pairs if verdict == Verdict.TRUNCATED]
    return _mean([float(find_box(text) is not None) for text in cut]) if len(cut) >= MIN_CUT else np.nan


def _contains_gold(prompt: str | None, gold: str | None) -> float:
    if not prompt or not gold or len(gold.strip()) < MIN_GOLD:
        return np.nan
    return float(re.search(rf"(?<![\w.]){re.escape(gold.strip())}(?![\w.])", prompt) is not None)


def _order(above_N: np.ndarray, below_N: np.ndarray) -> float:
    """Returns the probability that a value of the first exceeds one of the second, ties counted half; NaN without both."""
    above_N, below_N = above_N[~np.isnan(above_N)], below_N[~np.isnan(below_N)]
    if not len(above_N) or not len(below_N):
        return np.nan
    difference_NN = above_N[:, None] - below_N
    return float((difference_NN > 0).mean() + (difference_NN == 0).mean() / 2)


def _correlation_in_groups(a_N: np.ndarray, b_N: np.ndarray, groups: Sequence[list[int]]) -> float:
    """Returns the correlation of two values after the mean of each group is subtracted; NaN where one does not vary."""
    if not groups:
        return np.nan
    a_n, b_n = (np.concatenate([values[i] - values[i].mean() for i in groups]) for values in (a_N, b_N))
    is_known_n = ~np.isnan(a_n)
    a_n, b_n = a_n[is_known_n], b_n[is_known_n]
    scale = float(np.sqrt((a_n @ a_n) * (b_n @ b_n)))
    return float(a_n @ b_n) / scale if scale > 0 else np.nan


def _mean(values: Sequence[float]) -> float:
    known = [value for value in values if not np.isnan(value)]
    return float(np.mean(known)) if known else np.nan
