"""GSM8K: 7473 training problems and 1319 test problems of grade-school mathematics, with worked solutions.

The data is not part of passus: it is read from `$PASSUS_DATA` (gsm8k_train.jsonl, gsm8k.jsonl), or from the hub (openai/gsm8k).
"""

import json
import os
import re
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import Any

from passus.errors import UsageError
from passus.tasks.item import Item

NAME = "gsm8k"
DATA = "PASSUS_DATA"
FILES = {"train": "gsm8k_train.jsonl", "test": "gsm8k.jsonl"}
ITEMS = {"train": 7473, "test": 1319}


def items(split: str) -> tuple[Item, ...]:
    return _items(split, os.environ.get(DATA, ""))


@lru_cache
def _items(split: str, folder: str) -> tuple[Item, ...]:
    rows = _of_file(Path(folder) / FILES[split]) if folder else _of_hub(split)
    found = tuple(_item(n, row, folder or "openai/gsm8k") for n, row in enumerate(rows))
    if not found:
        raise UsageError(f"{folder or 'openai/gsm8k'} has no {split} problems", expected=f"{ITEMS[split]} of them")
    return found


def _of_file(path: Path) -> list[Any]:
    try:  # split at line feeds only: problems contain other characters that Python takes for line breaks
        return [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line.strip()]
    except (OSError, ValueError) as error:
        raise UsageError(
            f"{DATA}: {path} cannot be read: {error}",
            expected="a line of JSON a problem: question or problem, answer, solution",
        ) from None


def _of_hub(split: str) -> Iterable[Any]:
    try:
        from datasets import load_dataset

        return list(load_dataset("openai/gsm8k", "main", split=split))
    except (ImportError, OSError, ValueError) as error:
        reason = str(error).strip().splitlines()[:1]
        raise UsageError(
            f"the hub's dataset openai/gsm8k cannot be loaded: {reason[0] if reason else type(error).__name__}",
            expected=f"`pip install datasets` and a connection, or {DATA} set to a folder with {FILES[split]}",
        ) from None


def _item(number: int, row: Any, source: str) -> Item:
    """The hub's rows have the solution in `answer`, with the number after ####; flat files have the number there."""
    try:
        question = row["question"] if "question" in row else row["problem"]
        worked, marked, gold = row["answer"].rpartition("####")
        gold = gold.strip().replace(",", "")
        if not question.strip() or not gold:
            raise ValueError("question or answer is empty")
        worked = worked if marked else row.get("solution", "").partition("####")[0]
        return Item(NAME, number, question, gold, _solution(worked, gold))
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise UsageError(
            f"row {number} of {source} is not GSM8K's: {type(error).__name__}: {error}",
            expected="question (or problem) and answer, with the number after ####",
        ) from None


def _solution(worked: str, gold: str) -> str:
    """Without the calculator's marks (<<48/2=24>>), and boxed as the verifier expects; nothing, where none is given."""
    text = re.sub(r"<<[^<>]*>>", "", worked).strip()
    return f"{text}\n\\boxed{{{gold}}}" if text else ""
