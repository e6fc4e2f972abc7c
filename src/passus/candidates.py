"""Candidates: answers of many generators to the same problems, graded; what a reward model learns from and chooses among.

A generator is an arm of its own, which writes two files: answers to training problems and answers to the suite's items, as
Parquet with where each comes from. Training takes a few of each problem, right and wrong, the surest of the right ones and
the least sure of the wrong ones first (score-sorted); a problem with one class only teaches nothing and is dropped. An
item's pool is drawn at random from all generators' answers.

Shapes: Q items, N candidates of an item, G of them that are shown in training.
"""

import hashlib
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

from passus.config import Config
from passus.errors import UsageError
from passus.files import write_atomic
from passus.grading import Verdict
from passus.judge import grade_items
from passus.record import RunFolder
from passus.sampler import SamplingParams
from passus.tasks import Item

TRAIN, EVAL = "train", "eval"
FILES = {TRAIN: "train.parquet", EVAL: "eval.parquet"}
COLUMNS = {
    "benchmark": "string", "item": "int64", "question": "string", "gold": "string", "completion": "string",
    "verdict": "string", "extracted": "string", "score": "float64", "generator": "string", "temperature": "float64",
    "sample": "int64",
}  # fmt: skip
"""`score` sorts candidates: here the mean log-prob of a completion's tokens, how sure its writer was of it."""
NEEDED = ("benchmark", "item", "question", "completion", "verdict")
SURE = 14
"""Right candidates are taken from so many of the highest score, wrong ones from so many of the lowest."""


def folder_of(run: Path) -> Path:
    return run / "candidates"


def is_drawn(run: Path) -> bool:
    """Whether a generator's arm has written all it should."""
    return all((folder_of(run) / name).exists() for name in FILES.values())


def draw(config: Config, folder: RunFolder, check_stop: Callable[[], None], say: Callable[[str], None]) -> None:
    """All answers of one generator. A file that is there already is left alone."""
    from passus import models
    from passus.suite import load as load_suite

    policy = models.load(
        config.model.base, config.run.device, config.run.dtype, config.model.prompt, config.model.thinking, config.model.system
    )
    loaded = load_suite(config.eval)
    models.check_lengths(policy, config, loaded)
    folder.start(config, policy.describe(config.model.base), None, {"remarks": loaded.remarks()})
    sampler = policy.sampler(check_stop)
    asked = {
        TRAIN: [item for _, item in config.task.items(config.seed, 0, config.candidates.problems)],
        EVAL: [item for items in loaded.items.values() for item in items],
    }
    cells = len(config.candidates.generators) * len(config.candidates.temperatures)
    counts = {TRAIN: config.candidates.samples, EVAL: -(-config.candidates.pool // cells)}
    for split, items in asked.items():
        target = folder_of(folder.path) / FILES[split]
        if target.exists():
            continue
        columns: dict[str, list] = {name: [] for name in COLUMNS}
        for temperature in config.candidates.temperatures:
            most = config.train.max_tokens if split == TRAIN else config.eval_tokens
            params = SamplingParams(
                counts[split], most, config.seed, f"candidates/{split}/{config.model.base}", temperature=temperature
            )
            rows = _answers(policy, sampler, items, params, config.model.base)
            for name in columns:
                columns[name] += [row[name] for row in rows]
        write(target, columns)
        right = columns["verdict"].count(Verdict.CORRECT) / len(columns["verdict"])
        say(f"{split}: {len(items)} problems, {len(columns['verdict'])} candidates, {right:.3f} right")


def _answers(policy: Any, sampler: Any, items: Sequence[Item], params: SamplingParams, generator: str) -> list[dict]:
    rollout = sampler.generate(policy.prompts(list(enumerate(items))), params)
    texts = policy.texts(rollout.tokens)
    items_N = [item for item in items for _ in range(params.samples)]
    grades, _ = grade_items(None, items_N, policy.answers(rollout.tokens, texts), [not done for done in rollout.finished])
    return [
        {
            "benchmark": item.benchmark, "item": item.index, "question": item.question, "gold": item.gold,
            "completion": texts[n], "verdict": str(grades[n].verdict), "extracted": grades[n].extracted,
            "score": float(np.mean(rollout.logps[n])), "generator": generator, "temperature": params.temperature,
            "sample": n % params.samples,
        }
        for n, item in enumerate(items_N)
    ]  # fmt: skip


def write(path: Path, columns: dict[str, list]) -> None:
    import pyarrow
    import pyarrow.parquet

    path.parent.mkdir(parents=True, exist_ok=True)
    schema = pyarrow.schema({name: pyarrow.type_for_alias(kind) for name, kind in COLUMNS.items()})
    table = pyarrow.table(columns, schema=schema)
    write_atomic(path, lambda target: pyarrow.parquet.write_table(table, target))


def read(path: Path) -> list[dict]:
    """The rows of a candidates file, checked."""
    import pyarrow
    import pyarrow.parquet

    expected = f"a Parquet file with columns {', '.join(NEEDED)} (and extracted, score, gold)"
    try:
        table = pyarrow.parquet.read_table(path)
    except FileNotFoundError:
        raise UsageError(f"no candidates file {path}", expected=expected) from None
    except (pyarrow.ArrowInvalid, OSError) as error:
        raise UsageError(
            f"{path} cannot be read: {str(error).splitlines()[0]}", expected=expected, write="the file once more, whole"
        ) from None
    if missing := [name for name in NEEDED if name not in table.column_names]:
        raise UsageError(f"{path} has no column {missing[0]}", expected=expected)
    rows = table.to_pylist()
    for n, row in enumerate(rows):
        if row["verdict"] not in set(Verdict):
            raise UsageError(f"{path}, row {n}: verdict {row['verdict']!r}", expected=", ".join(Verdict))
        if not isinstance(row["question"], str) or not isinstance(row["completion"], str) or not isinstance(row["item"], int):
            raise UsageError(
                f"{path}, row {n}: {row['question']!r}", expected="text in question and completion, a number in item"
            )
        row.setdefault("score", None)
        row.setdefault("extracted", None)
    return rows


@dataclass(frozen=True)
class Problem:
    """What a reward model is shown at once: G completions of one problem."""

    item: Item
    completions: list[str]
    right: list[bool]


@dataclass
class Problems:
    shown: list[Problem]
    dropped: int
    """Problems whose candidates are all right, or all wrong."""


def problems(rows: Sequence[dict], shown: int, seed: int) -> Problems:
    """Some candidates of each problem, right and wrong as evenly as may be; an `error` of the grader's is neither."""
    found, dropped = [], 0
    for key, own in _by_item(rows):
        right, wrong = _distinct(own, right=True), _distinct(own, right=False)
        if not right or not wrong:
            dropped += 1
            continue
        rng = random.Random(f"{seed}/{key}")
        many = min(len(right), max(shown // 2, shown - len(wrong)))
        chosen = rng.sample(right[:SURE], min(many, SURE, len(right)))
        rest = wrong[:SURE]
        chosen_wrong = rng.sample(rest, min(shown - len(chosen), len(rest)))
        item = Item(key[0], key[1], own[0]["question"], own[0].get("gold") or "")
        completions = [row["completion"] for row in [*chosen, *chosen_wrong]]
        found.append(Problem(item, completions, [True] * len(chosen) + [False] * len(chosen_wrong)))
    if not found:
        raise UsageError(
            f"none of {dropped} problems has right and wrong candidates", expected="candidates of both classes",
            write="other generators, temperatures or problems: harder or easier ones",
        )  # fmt: skip
    return Problems(found, dropped)


def _by_item(rows: Sequence[dict]) -> list[tuple[tuple[str, int], list[dict]]]:
    keyed = sorted(enumerate(rows), key=lambda pair: (pair[1]["benchmark"], pair[1]["item"], pair[0]))
    return [
        (key, [row for _, row in own]) for key, own in groupby(keyed, key=lambda pair: (pair[1]["benchmark"], pair[1]["item"]))
    ]


def _distinct(rows: Sequence[dict], right: bool) -> list[dict]:
    """Different completions of one class: the right ones from the highest score down, the wrong ones from the lowest up."""
    of_class = [row for row in rows if row["verdict"] != Verdict.ERROR and (row["verdict"] == Verdict.CORRECT) is right]
    first = {row["completion"]: row for row in reversed(of_class)}
    sign = -1 if right else 1
    return sorted(first.values(), key=lambda row: (sign * (row["score"] or 0.0), row["completion"]))


@dataclass
class Pool:
    """The candidates of a benchmark's items."""

    benchmark: str
    items_Q: list[Item]
    completions_QN: list[list[str]]
    correct_QN: np.ndarray
    answers_QN: list[list[str | None]]


def pools(rows: Sequence[dict], size: int, seed: int) -> list[Pool]:
    """So many candidates of each item, drawn at random from all that it has."""
    found: dict[str, Pool] = {}
    for key, own in _by_item(rows):
        if len(own) < size:
            raise UsageError(
                f"{key[0]}, item {key[1]} has {len(own)} candidates", expected=f"a pool of {size} for every item",
                write=f"candidates.pool={len(own)}",
            )  # fmt: skip
        chosen = sorted(random.Random(f"{seed}/{key}").sample(range(len(own)), size))
        picked = [own[i] for i in chosen]
        pool = found.setdefault(key[0], Pool(key[0], [], [], np.zeros((0, size)), []))
        pool.items_Q.append(Item(key[0], key[1], own[0]["question"], own[0].get("gold") or ""))
        pool.completions_QN.append([row["completion"] for row in picked])
        right_N = np.array([row["verdict"] == Verdict.CORRECT for row in picked], dtype=float)
        pool.correct_QN = np.concatenate([pool.correct_QN, right_N[None]])
        pool.answers_QN.append([row["extracted"] for row in picked])
    return list(found.values())


def gather(config: Config, experiment: Path, names: Sequence[str]) -> tuple[list[dict], list[dict], str]:
    """Rows to learn from, rows of the suite's items, and a fingerprint of both: of the arms `names`, and of files."""
    paths: dict[str, list[Path]] = {
        split: [folder_of(experiment / name) / FILES[split] for name in names] for split in (TRAIN, EVAL)
    }
    absent = [path for of in paths.values() for path in of if not path.exists()]
    if absent:
        raise UsageError(
            f"{absent[0]} is not there yet",
            expected="the candidates of every generator",
            write=f"passus run {config.name}   which draws them first",
        )
    digest = hashlib.sha256()
    given = [Path(name) for name in config.candidates.files]
    rows: dict[str, list[dict]] = {}
    for split in (TRAIN, EVAL):
        rows[split] = [row for path in paths[split] for row in read(path)]
    suite = set(config.eval.benchmarks)
    for row in [row for path in given for row in read(path)]:
        rows[EVAL if row["benchmark"] in suite else TRAIN].append(row)
    for split in (TRAIN, EVAL):
        for row in rows[split]:
            digest.update(f"{row['benchmark']}\0{row['item']}\0{row['completion']}\0{row['verdict']}\n".encode())
        if not rows[split]:
            what = "to learn from" if split == TRAIN else f"of the suite ({', '.join(config.eval.suite)})"
            raise UsageError(f"no candidates {what}", expected="rows of both kinds in the files together")
    return rows[TRAIN], rows[EVAL], digest.hexdigest()
