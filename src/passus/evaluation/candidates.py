"""Candidates: answers of many generators to the same problems, graded; what a reward model learns from and chooses among.

A generator is an arm of its own, which writes answers to training problems and to the suite's items, a file for each
temperature, as Parquet with where each comes from. Training takes a few of each problem, right and wrong, the surest of the
right ones and the least sure of the wrong ones first (score-sorted); a problem with one class only teaches nothing and is
dropped. An item's pool is drawn at random from all generators' answers.

Shapes: Q items, N candidates of an item, G of them that are shown in training.
"""

import hashlib
import math
import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from passus.atomic_io import write_atomic
from passus.config.tables import Config
from passus.engine.interface import SamplingParams
from passus.errors import UsageError
from passus.evaluation import contamination
from passus.evaluation.suite import check_lengths
from passus.grading.grade import Verdict
from passus.runs.run_folder import RunFolder
from passus.tasks.llm_judge import grade_items
from passus.tasks.lookup import Item, is_private, training_items

TRAIN, EVAL = "train", "eval"
COLUMNS = {
    "benchmark": "string", "item": "int64", "question": "string", "gold": "string", "completion": "string",
    "verdict": "string", "extracted": "string", "score": "float64", "generator": "string", "temperature": "float64",
    "sample": "int64",
}  # fmt: skip
"""`score` sorts candidates: here the mean log-prob of a completion's tokens, how sure its writer was of it, in standard
deviations over that generator's answers at that temperature."""
NEEDED, OPTIONAL = ("benchmark", "item", "question", "completion", "verdict"), ("extracted", "score", "gold")
HIDDEN = "sha256:"
HIDDEN_QUESTION = re.compile(f"{HIDDEN}[0-9a-f]{{64}}")
SURE = 14
"""Right candidates are taken from so many of the highest score, wrong ones from so many of the lowest."""


def file_of(run: Path, split: str, temperature: float) -> Path:
    return run / "candidates" / f"{split}-{temperature:g}.parquet"


def training_problems(config: Config) -> list[Item]:
    """Returns the problems that generators answer for training: the first of the task's stream, in its own order."""
    source, weights = config.task.mixture
    return [item for _, item in training_items(source, 0, config.seed, 0, config.candidate_problems, weights)]


def is_drawn(run: Path, config: Config) -> bool:
    """Whether a generator's arm has written all it should."""
    return all(file_of(run, split, t).exists() for split in (TRAIN, EVAL) for t in config.candidates.temperatures)


def generate(config: Config, folder: RunFolder, check_stop: Callable[[], None], say: Callable[[str], None]) -> None:
    """All answers of one generator. A file that is there already is left alone."""
    import torch

    from passus.evaluation.suite import load_suite
    from passus.models import loader

    policy = loader.load(
        config.model.base, config.run.device, config.run.dtype, config.model.prompt, config.model.thinking, config.model.system
    )
    loaded = load_suite(config.eval)
    check_lengths(policy, config, loaded)
    known = folder.meta()["launches"][0].get("data", {}).get("weights") if folder.exists() else None
    weights = policy.fingerprint
    if known not in (None, weights):
        raise UsageError(
            f"{config.model.base} has changed since its first answers were drawn",
            expected="the same weights",
            write=f"{config.model.base}@STEP where it is a run that goes on, and another --out",
        )
    about = {"weights": weights, "remarks": loaded.remarks()}
    folder.start(config, policy.describe(config.model.base), None, about, threads=torch.get_num_threads())
    sampler = policy.sampler(check_stop)
    table = config.candidates
    each = -(-table.pool // (len(table.generators) * len(table.temperatures)))
    asked = {
        TRAIN: (
            training_problems(config),
            table.samples,
            config.train.max_tokens,
        ),
        EVAL: ([item for items in loaded.items.values() for item in items], each, config.eval_tokens),
    }
    for split, (items, samples, most) in asked.items():
        for temperature in table.temperatures:
            target = file_of(folder.path, split, temperature)
            if target.exists():
                continue
            stream = f"candidates/{split}/{config.model.base}/{temperature:g}"
            params = SamplingParams(samples, most, config.seed, stream, temperature=temperature)
            rows = _answers(policy, sampler, items, params, config.model.base)
            write(target, {name: [row[name] for row in rows] for name in COLUMNS})
            right = sum(row["verdict"] == Verdict.CORRECT for row in rows) / len(rows)
            say(f"{split}, temperature {temperature:g}: {len(items)} problems, {len(rows)} candidates, {right:.3f} right")


def _answers(policy: Any, sampler: Any, items: Sequence[Item], params: SamplingParams, generator: str) -> list[dict]:
    rollout = sampler.generate(policy.prompts(list(enumerate(items))), params)
    texts = policy.chat.batch_decode(rollout.tokens)
    items_N = [item for item in items for _ in range(params.samples)]
    grades, _ = grade_items(None, items_N, policy.chat.answers(rollout.tokens, texts), [not done for done in rollout.finished])
    sure_N = np.array([np.mean(logps) for logps in rollout.logps])
    scores_N = (sure_N - sure_N.mean()) / (sure_N.std() or 1.0)  # a lower temperature looks surer of everything
    return [
        {
            "benchmark": item.benchmark, "item": item.index, "question": _written(item),
            "gold": "" if is_private(item.benchmark) else item.gold,
            "completion": texts[n], "verdict": str(grades[n].verdict), "extracted": grades[n].extracted,
            "score": float(scores_N[n]), "generator": generator, "temperature": params.temperature,
            "sample": n % params.samples,
        }
        for n, item in enumerate(items_N)
    ]  # fmt: skip


def _written(item: Item) -> str:
    """Its question; where nothing that is written may hold it, by what the question is known."""
    return HIDDEN + contamination.fingerprint(item.question).hex() if is_private(item.benchmark) else item.question


def _known_by(written: str) -> bytes:
    return (
        bytes.fromhex(written.removeprefix(HIDDEN))
        if HIDDEN_QUESTION.fullmatch(written)
        else contamination.fingerprint(written)
    )


def _is_of(written: str, item: Item) -> bool:
    """Whether a row's question is the item's; one that may not be written is known by its fingerprint, whoever wrote it."""
    if is_private(item.benchmark):
        return _known_by(written) == contamination.fingerprint(item.question)
    return written == item.question


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
    columns: dict[str, list] = {}
    for name in (*NEEDED, *OPTIONAL):
        if name not in table.column_names:
            columns[name] = [None] * len(table)
            continue
        try:
            columns[name] = table.column(name).cast(pyarrow.type_for_alias(COLUMNS[name])).to_pylist()
        except (pyarrow.ArrowInvalid, pyarrow.ArrowNotImplementedError):
            kind = table.column(name).type
            raise UsageError(f"{path}: column {name} is {kind}", expected=f"{COLUMNS[name]} there") from None
        if name in NEEDED and (empty := [n for n, value in enumerate(columns[name]) if value is None]):
            raise UsageError(f"{path}, row {empty[0]}: no {name}", expected="a value in every row")
    if odd := [n for n, verdict in enumerate(columns["verdict"]) if verdict not in set(Verdict)]:
        raise UsageError(f"{path}, row {odd[0]}: verdict {columns['verdict'][odd[0]]!r}", expected=", ".join(Verdict))
    return [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]


@dataclass(frozen=True)
class CandidateProblem:
    """What a reward model is shown at once: G completions of one problem."""

    item: Item
    completions: list[str]
    right: list[bool]


@dataclass
class ProblemSet:
    problems: list[CandidateProblem]
    dropped: int
    """Problems whose candidates are all right, or all wrong."""


def select_problems(rows: Sequence[dict], shown: int, seed: int) -> ProblemSet:
    """Some candidates of each problem, right and wrong as evenly as may be; an `error` of the grader's is neither."""
    found, dropped = [], 0
    for key, own in _by_item(rows):
        right, wrong = _surest(own, right=True), _surest(own, right=False)
        if not right or not wrong:
            dropped += 1
            continue
        rng = random.Random(f"{seed}/{key}")
        chosen = rng.sample(right, min(len(right), max(shown // 2, shown - len(wrong))))
        chosen_wrong = rng.sample(wrong, min(shown - len(chosen), len(wrong)))
        item = Item(key[0], key[1], own[0]["question"], own[0].get("gold") or "")
        completions = [row["completion"] for row in [*chosen, *chosen_wrong]]
        found.append(CandidateProblem(item, completions, [True] * len(chosen) + [False] * len(chosen_wrong)))
    if not found:
        raise UsageError(
            f"none of {dropped} problems has right and wrong candidates", expected="candidates of both classes",
            write="other generators, temperatures or problems: harder or easier ones",
        )  # fmt: skip
    return ProblemSet(found, dropped)


def _by_item(rows: Sequence[dict]) -> list[tuple[tuple[str, int], list[dict]]]:
    found: dict[tuple[str, int], list[dict]] = {}
    for row in rows:
        found.setdefault((row["benchmark"], row["item"]), []).append(row)
    for key, own in found.items():
        questions = {row["question"] for row in own}
        if len(questions) > 1 and len({_known_by(question) for question in questions}) > 1:
            which = "" if is_private(key[0]) else f": {', '.join(sorted(questions)[:2])!r}"
            raise UsageError(
                f"{key[0]}, item {key[1]} has {len(questions)} questions{which}",
                expected="one question under one number: candidates of different data were put together",
            )
    return sorted(found.items())


def _surest(rows: Sequence[dict], right: bool) -> list[dict]:
    """Different completions of one class: the right ones of the highest score, the wrong ones of the lowest.

    Of a problem with an unscored candidate none is sorted, and none is left out.
    """
    of_class = [row for row in rows if row["verdict"] != Verdict.ERROR and (row["verdict"] == Verdict.CORRECT) is right]
    first = {row["completion"]: row for row in reversed(of_class)}
    known = all(row["score"] is not None and math.isfinite(row["score"]) for row in rows)
    by_text = sorted(first.values(), key=lambda row: row["completion"])
    return sorted(by_text, key=lambda row: row["score"], reverse=right)[:SURE] if known else by_text


@dataclass
class CandidatePool:
    """The candidates of a benchmark's items."""

    benchmark: str
    items_Q: list[Item]
    completions_QN: list[list[str]]
    correct_QN: np.ndarray
    answers_QN: list[list[str | None]]

    @property
    def fingerprint(self) -> str:
        """By which runs know that they chose among the same candidates."""
        return hashlib.sha256(repr([self.items_Q, self.completions_QN, self.correct_QN.tolist()]).encode()).hexdigest()


def make_pools(rows: Sequence[dict], items: dict[str, list[Item]], size: int, seed: int) -> list[CandidatePool]:
    """So many candidates of each of the suite's items, drawn at random from all that it has."""
    by_item = dict(_by_item(rows))
    found = []
    for benchmark, of_benchmark in items.items():
        pool = CandidatePool(benchmark, of_benchmark, [], np.zeros((len(of_benchmark), size)), [])
        for q, item in enumerate(of_benchmark):
            own = [row for row in by_item.get((benchmark, item.index), []) if row["verdict"] != Verdict.ERROR]
            if len(own) < size:
                raise UsageError(
                    f"{benchmark}, item {item.index} has {len(own)} candidates", expected=f"a pool of {size} for every item",
                    write=f"candidates.pool={len(own)}" if len(own) > 1 else None,
                )  # fmt: skip
            if not _is_of(own[0]["question"], item):
                hidden = is_private(benchmark)
                theirs, mine = ("another",) * 2 if hidden else (repr(own[0]["question"][:60]), repr(item.question[:60]))
                raise UsageError(
                    f"{benchmark}, item {item.index} is {theirs} in the candidates and {mine} in the benchmark",
                    expected="candidates of the same data",
                )
            chosen = sorted(random.Random(f"{seed}/{benchmark}/{item.index}").sample(range(len(own)), size))
            pool.completions_QN.append([own[i]["completion"] for i in chosen])
            pool.answers_QN.append([own[i]["extracted"] for i in chosen])
            pool.correct_QN[q] = [own[i]["verdict"] == Verdict.CORRECT for i in chosen]
        found.append(pool)
    return found


@dataclass
class CandidateRows:
    """The candidates of an experiment."""

    train: list[dict]
    eval: list[dict]
    shared: int
    """Rows to learn from that were left out, because their problem is one of the suite's."""

    @property
    def errors(self) -> int:
        """Candidates that the grader failed on: neither right nor wrong, so neither learned from nor chosen among."""
        return sum(row["verdict"] == Verdict.ERROR for row in [*self.train, *self.eval])

    @property
    def fingerprint(self) -> str:
        digest = hashlib.sha256()
        for row in [*self.train, *self.eval]:
            digest.update(repr([row[name] for name in (*NEEDED, "extracted", "score")]).encode())
        return digest.hexdigest()


def gather(config: Config, experiment: Path, names: Sequence[str]) -> CandidateRows:
    """Of the arms `names`, and of files, whose rows of the suite's benchmarks are chosen among."""
    paths = {
        split: [file_of(experiment / name, split, t) for name in names for t in config.candidates.temperatures]
        for split in (TRAIN, EVAL)
    }
    absent = [path for of in paths.values() for path in of if not path.exists()]
    if absent:
        raise UsageError(
            f"{absent[0]} is not there yet",
            expected="the candidates of every generator",
            write=f"passus run {config.name}   which draws them first",
        )
    rows = {split: [row for path in paths[split] for row in read(path)] for split in (TRAIN, EVAL)}
    suite = set(config.eval.benchmarks)
    for row in [row for name in config.candidates.files for row in read(Path(name))]:
        rows[EVAL if row["benchmark"] in suite else TRAIN].append(row)
    for split, what in ((TRAIN, "to learn from"), (EVAL, f"of the suite ({', '.join(config.eval.suite)})")):
        if not rows[split]:
            raise UsageError(f"no candidates {what}", expected="rows of both kinds in the files together")
    if nameless := [row for row in rows[TRAIN] if HIDDEN_QUESTION.fullmatch(row["question"])]:
        raise UsageError(
            f"{nameless[0]['benchmark']}, item {nameless[0]['item']}: the candidates have no question, only its fingerprint",
            expected="problems to learn from in plain text",
            write=f'suite = ["{nameless[0]["benchmark"]}", ...]   where they are to be chosen among',
        )
    tested = {_known_by(row["question"]) for row in rows[EVAL]}
    kept = [row for row in rows[TRAIN] if contamination.fingerprint(row["question"]) not in tested]
    return CandidateRows(kept, rows[EVAL], len(rows[TRAIN]) - len(kept))
