"""The run folder: the only interface between training and everything that looks at it.

    config.toml meta.json status.json metrics.jsonl evals.jsonl items/ samples/ checkpoints/

Nothing is pickled and no row is deleted: rows that a resume will write again are set aside in `set-aside/`.
"""

import json
import os
import platform
import subprocess
import sys
import time
import tomllib
import uuid
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from passus import config as configs
from passus.config import Config
from passus.errors import PassusError, UsageError
from passus.files import append_lines, fsync, read_lines, write_atomic, write_text


@dataclass(frozen=True)
class Metric:
    unit: str
    meaning: str


METRICS = {
    "step": Metric("steps", "steps done; row 1 is the first step"),
    "progress": Metric("share", "step / train.steps"),
    "train/accuracy": Metric("share", "completions of this step that are correct"),
    "train/reward": Metric("reward", "mean reward of this step's completions"),
    "train/reward_std": Metric("reward", "standard deviation of the rewards of a group, averaged over groups"),
    "train/frac_reward_zero_std": Metric("share", "groups whose rewards are all equal: they carry no signal"),
    "train/oversampling": Metric(
        "ratio", "prompts drawn / prompts used: above 1 where groups were drawn again (method.rounds)"
    ),
    "train/reward_function": Metric("reward", "mean of reward.function, before its weight, where it gave a number"),
    "train/reward_function_none": Metric("share", "completions for which reward.function gave none"),
    "reward/<name>": Metric("", "what reward.function logged as `name`, averaged over the step"),
    "train/truncated": Metric("share", "completions that the token limit cut off"),
    "train/unparseable": Metric("share", "completions that ended without an answer"),
    "train/grader_error": Metric("share", "completions on which the grader failed"),
    "train/completions/mean_length": Metric("tokens", "length of completions, the end token included"),
    "train/completions/min_length": Metric("tokens", "shortest completion"),
    "train/completions/p95_length": Metric("tokens", "95th percentile of length"),
    "train/completions/max_length": Metric("tokens", "longest completion"),
    "train/lesson_loss": Metric("nats", "what kept lessons add to the loss (method.lessons)"),
    "lessons/built": Metric("lessons", "written from groups with right and wrong answers"),
    "lessons/kept": Metric("lessons", "that are learned"),
    "lessons/too_long": Metric("lessons", "not written, because the pair does not fit the context"),
    "lessons/helped": Metric("share", "problems solved with their lesson in front"),
    "lessons/plain": Metric("share", "success rate on the same problems without lessons, of one fresh sample each"),
    "lessons/uplift": Metric("share", "helped less plain"),
    "lessons/leaks": Metric("share", "kept lessons in which the right answer stands"),
    "lessons/tokens": Metric("tokens", "prompts and completions of lessons, replays, and the plain samples beside them"),
    "time/lessons": Metric("s", "writing and validating lessons"),
    "train/in_circles": Metric("share", "completions cut off because they say the same again and again (method.repeats)"),
    "train/solved_rate": Metric("share", "mean success rate of a finite training set's items, as far as it is known"),
    "train/read_accuracy": Metric("share", "answers of the reader, from the policy's reasoning, that are correct"),
    "train/read_truncated": Metric("share", "texts that did not fit the reader, and answers that never closed their box"),
    "train/read_nothing": Metric("share", "completions without any reasoning for the reader"),
    "train/read_tokens": Metric("tokens", "that the reader read and wrote in this step"),
    "train/step_tokens": Metric("tokens", "prompt and completion tokens of this step"),
    "train/loss": Metric("", "the method's loss, averaged over the step's updates; null where it is not finite"),
    "train/entropy": Metric("nats", "entropy of the policy, averaged over the tokens that count in the loss"),
    "train/clip_ratio/low_mean": Metric("share", "tokens whose ratio was clipped below"),
    "train/clip_ratio/high_mean": Metric("share", "tokens whose ratio was clipped above"),
    "train/clip_ratio/region_mean": Metric("share", "tokens whose ratio was clipped"),
    "train/approx_kl": Metric("nats", "KL to the policy that the ratio is anchored to, by k3, averaged over tokens"),
    "train/kl": Metric("nats", "KL to the policy before training, by the method's estimator (k3 for k1), averaged over tokens"),
    "train/pair_accuracy": Metric("share", "of a reward model: pairs of a right and a wrong candidate that it puts in order"),
    "train/margin": Metric("", "of a reward model: scores of right candidates less those of wrong ones of the same problem"),
    "train/reward_model": Metric("", "score of the step's completions by the reward model, mean"),
    "train/grad_norm": Metric("", "norm of the gradient before clipping, averaged over the step's updates"),
    "train/learning_rate": Metric("", "at the step's last update"),
    "train/skipped_updates": Metric("updates", "updates skipped because loss or gradient was not finite"),
    "train/micro_tokens": Metric("tokens", "of a micro-batch; falls below train.micro_tokens when memory runs out"),
    "train/rows_at_once": Metric("rows", "sampled together at most; falls when memory runs out"),
    "train/num_tokens": Metric("tokens", "prompt and completion tokens since the run began"),
    "sampling/sampling_logp_difference/mean": Metric("nats", "|trainer's log-prob - sampler's| of the drawn tokens, mean"),
    "sampling/sampling_logp_difference/p99": Metric("nats", "the same, 99th percentile"),
    "sampling/sampling_logp_difference/max": Metric("nats", "the same, largest"),
    "sampling/importance_sampling_ratio/min": Metric("ratio", "trainer's probability / sampler's, of a token: smallest"),
    "sampling/importance_sampling_ratio/mean": Metric("ratio", "the same, mean"),
    "sampling/importance_sampling_ratio/max": Metric("ratio", "the same, largest"),
    "sampling/effective_sample_size": Metric(
        "share", "(sum of those ratios)^2 / (tokens x sum of their squares): 1 when all agree"
    ),
    "time/elapsed": Metric("s", "time spent on this run, over all its sittings"),
    "time/rollout": Metric("s", "generation"),
    "time/grade": Metric("s", "grading"),
    "time/read": Metric("s", "a reader's answers from the policy's reasoning"),
    "time/update": Metric("s", "log-probs, loss, backward, optimizer"),
    "time/eval": Metric("s", "of an eval point: generation and grading of one benchmark (in evals.jsonl)"),
    "time/step": Metric("s", "the whole step, without evaluation and saving"),
    "eval/<benchmark>/acc": Metric(
        "share", "mean over items of the share of K samples that are correct, with ci_low, ci_high (95 %)"
    ),
    "eval/<benchmark>/pass": Metric("share", "pass@k: chance that at least one of k samples is correct, unbiased"),
    "eval/<benchmark>/maj": Metric("share", "maj@k: the most frequent answer of k samples is correct; ties count in part"),
    "eval/<benchmark>/tokens_mean": Metric("tokens", "length of completions"),
    "eval/<benchmark>/se": Metric(
        "share", "standard error of the mean over these very items, for what is compared within a run"
    ),
    "eval/<benchmark>/tokens_p95": Metric("tokens", "95th percentile of length"),
    "eval/<benchmark>/truncated": Metric("share", "completions that the token limit cut off"),
    "eval/<benchmark>/unparseable": Metric("share", "completions that ended without an answer"),
    "eval/<benchmark>/error": Metric("share", "completions on which the grader failed"),
    "eval/<benchmark>/rm": Metric(
        "share", "rm@k: the best scored of k candidates is correct; of a reward model's run, acc is rm@8"
    ),
    "eval/<benchmark>/rm_ci": Metric("share", "95 % intervals of rm@k, over items"),
    "eval/<benchmark>/mean": Metric("share", "mean@k: a candidate of the pool is correct, chosen at random"),
    "eval/<benchmark>/efficiency": Metric("share", "(rm@8 - mean@8) / (pass@8 - mean@8)"),
    "eval/<benchmark>/over_maj": Metric("share", "rm@8 less maj@8, paired over items"),
    "eval/<benchmark>/efficiency_ci": Metric("share", "95 % interval over items; so are mean_ci, pass_ci, maj_ci, over_maj_ci"),
    "eval/<benchmark>/score": Metric("", "score of the completions by the reward model in [reward], mean"),
    "eval/<benchmark>/q": Metric("items", "items of the benchmark"),
    "eval/<benchmark>/k": Metric("samples", "samples an item"),
}
"""Every recorded name. evals.jsonl holds the eval metrics as plain keys beside `benchmark`."""

ROWS = {
    "items": {
        "benchmark": "string", "temperature": "float64", "item": "int64", "sample": "int64", "verdict": "string",
        "extracted": "string", "tokens": "int64", "logp": "float64", "completion": "string",
        "value": "float64",
    },
    "readings": {
        "benchmark": "string", "temperature": "float64", "reader": "string", "item": "int64", "sample": "int64",
        "verdict": "string", "extracted": "string", "tokens": "int64", "answer": "string",
    },
    "samples": {
        "task": "string", "item": "int64", "sample": "int64", "prompt": "string", "completion": "string",
        "prompt_ids": "list", "completion_ids": "list", "gold": "string", "verdict": "string", "extracted": "string",
        "reward": "float64", "advantage": "float64", "used": "bool", "logp": "float64",
    },
}  # fmt: skip
"""Columns and types of items/, readings/ and samples/; `list` is of token ids."""

LINES = ("metrics.jsonl", "evals.jsonl", "events.jsonl", "totals.jsonl", "readings.jsonl")
VERSIONED = ("passus", "torch", "transformers", "peft", "tokenizers", "safetensors", "numpy", "pyarrow", "pydantic")


class RunFolder:
    """One arm's run on disk. All writes go through here."""

    def __init__(self, path: Path):
        self.path = path
        self._not_durable: list[Path] = []
        self._behind: Future[None] | None = None

    @property
    def config_path(self) -> Path:
        return self.path / "config.toml"

    @property
    def checkpoints(self) -> Path:
        return self.path / "checkpoints"

    def config(self) -> Config:
        if not self.config_path.exists():
            raise UsageError(f"{self.path} is not a run: it has no config.toml", expected="a folder that `passus run` wrote")
        try:
            return configs.from_toml(self.config_path.read_text(encoding="utf-8"), str(self.config_path))
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise PassusError(f"{self.config_path} cannot be read: {error}", expected="the file as passus wrote it") from None

    def exists(self) -> bool:
        return self.config_path.exists()

    def metrics(self) -> list[dict]:
        return read_lines(self.path / "metrics.jsonl")

    def evals(self) -> list[dict]:
        return read_lines(self.path / "evals.jsonl")

    def phases(self) -> dict[str, float]:
        """Seconds spent, by what on; evaluation included."""
        rows = [*self.metrics(), *self.evals()]
        return {phase: sum(row.get(f"time/{phase}", 0.0) for row in rows) for phase in ("rollout", "grade", "update", "eval")}

    def sample_pairs(self, first: int, last: int) -> list[tuple[dict, dict]]:
        """Eval samples at two steps: the same item, the same noise."""
        key = ("benchmark", "temperature", "item", "sample")
        before = {tuple(row[k] for k in key): row for row in self.read_rows("items", first)}
        return [(before[k], row) for row in self.read_rows("items", last) if (k := tuple(row[k] for k in key)) in before]

    def status(self) -> dict[str, Any]:
        """What status.json says; nothing, where there is none to read."""
        try:
            status = json.loads((self.path / "status.json").read_text())
        except (FileNotFoundError, ValueError):
            return {}
        return status if isinstance(status, dict) else {}

    def meta(self) -> dict[str, Any]:
        path = self.path / "meta.json"
        try:
            meta = json.loads(path.read_text())
            if not {"model", "launches"} <= meta.keys():
                raise ValueError("model or launches is missing")
        except (FileNotFoundError, ValueError, AttributeError) as error:
            raise PassusError(f"{path} cannot be read: {error}", expected="the file as passus wrote it") from None
        return meta

    def start(
        self, config: Config, model: dict[str, Any], resumed_from: int | None, data: dict[str, Any] | None = None
    ) -> None:
        """Write config.toml and meta.json. The first launch's are kept; later launches are added to a list.

        `data` is what was found about the data when this launch began: what was left out, what overlaps.
        """
        meta_path = self.path / "meta.json"
        launch = {"argv": sys.argv, "time": now(), "resumed_from": resumed_from, "versions": _versions(), "pid": os.getpid()}
        launch |= {"data": data or {}}
        if meta_path.exists():
            meta = self.meta()
            meta["resumed_from"] = resumed_from
            meta["launches"].append(launch)
        else:
            meta = launch | {"id": uuid.uuid4().hex, "created": now(), "git_commit": _git_commit(), "model": model}
            meta |= {"python": platform.python_version(), "launches": [launch]}
        write_text(meta_path, json.dumps(meta, indent=2) + "\n")
        write_text(self.config_path, configs.to_toml(config))  # last: a folder with a config.toml is a run

    def write_status(self, **status: Any) -> None:
        write_text(self.path / "status.json", json.dumps(status, indent=2) + "\n")

    def append_metrics(self, row: dict) -> None:
        append_lines(self.path / "metrics.jsonl", [row])

    def events(self) -> list[dict]:
        """Alarms, and what was done about them."""
        return read_lines(self.path / "events.jsonl")

    def append_event(self, row: dict) -> None:
        append_lines(self.path / "events.jsonl", [row])

    def append_evals(self, rows: Sequence[dict]) -> None:
        append_lines(self.path / "evals.jsonl", rows)

    def readings(self) -> list[dict]:
        """Eval points of readers, who answer from the policy's reasoning."""
        return read_lines(self.path / "readings.jsonl")

    def append_readings(self, rows: Sequence[dict]) -> None:
        append_lines(self.path / "readings.jsonl", rows)

    def totals(self) -> list[dict]:
        return read_lines(self.path / "totals.jsonl")

    def append_totals(self, rows: Sequence[dict]) -> None:
        """Of named suites."""
        if rows:
            append_lines(self.path / "totals.jsonl", rows)

    def write_rows(self, kind: str, step: int, rows: dict[str, list]) -> None:
        """kind is `items`, `readings` or `samples`; rows are columns."""
        import pyarrow
        import pyarrow.parquet

        folder = self.path / kind
        folder.mkdir(exist_ok=True)
        types = {
            name: pyarrow.list_(pyarrow.int32()) if t == "list" else pyarrow.type_for_alias(t) for name, t in ROWS[kind].items()
        }
        table = pyarrow.table(rows, schema=pyarrow.schema(types))
        path = folder / f"step-{step:06d}.parquet"
        write_atomic(path, lambda target: pyarrow.parquet.write_table(table, target), durable=False)
        self._not_durable.append(path)

    def write_behind(self, kind: str, step: int, rows: dict[str, list]) -> None:
        """The same while the caller goes on: the files of small steps take longer than a GPU should wait."""
        self.settle()
        self._behind = _writer().submit(self.write_rows, kind, step, rows)

    def settle(self) -> None:
        """Wait for what is being written, and raise what it met."""
        if self._behind is not None:
            behind, self._behind = self._behind, None
            behind.result()

    def read_rows(self, kind: str, step: int) -> list[dict]:
        import pyarrow.parquet

        self.settle()

        path = self.path / kind / f"step-{step:06d}.parquet"
        if not path.exists():
            have = [p.stem.removeprefix("step-").lstrip("0") or "0" for p in sorted((self.path / kind).glob("step-*.parquet"))]
            raise UsageError(f"{self.path} has no {kind} of step {step}", expected=f"one of: {', '.join(have) or 'none yet'}")
        try:
            return pyarrow.parquet.read_table(path).to_pylist()
        except pyarrow.ArrowInvalid as error:
            raise PassusError(f"{path} cannot be read: {error}", expected="the file as passus wrote it") from None

    def sync(self) -> None:
        """Make all rows durable; called before a checkpoint that stands on them becomes visible."""
        self.settle()
        others = [self.path / name for name in (*LINES, *ROWS, ".")]
        for path in [*self._not_durable, *(path for path in others if path.exists())]:
            fsync(path)
        self._not_durable.clear()

    def set_aside_after(self, step: int, expected_evals: int) -> None:
        """Make the record end exactly where the checkpoint of `step` stands; what goes beyond is kept in set-aside/.

        An eval point of `step` itself that is not whole goes too: it will be taken again, with the same result.
        """
        evals = self.evals()
        whole = sum(row["step"] == step for row in evals) == expected_evals
        last_eval = step if whole else step - 1
        aside = self.path / "set-aside" / f"{time.time_ns()}-after-{step:06d}"
        self._cut("metrics.jsonl", [row for row in self.metrics() if row["step"] <= step], aside)
        self._cut("evals.jsonl", [row for row in evals if row["step"] <= last_eval], aside)
        self._cut("events.jsonl", [row for row in self.events() if row["step"] <= step], aside)
        self._cut("totals.jsonl", [row for row in self.totals() if row["step"] <= last_eval], aside)
        self._cut("readings.jsonl", [row for row in self.readings() if row["step"] <= last_eval], aside)
        for kind, last in (("items", last_eval), ("readings", last_eval), ("samples", step)):
            for path in sorted((self.path / kind).glob("step-*.parquet")):
                if int(path.stem.removeprefix("step-")) > last:
                    (aside / kind).mkdir(parents=True, exist_ok=True)
                    os.replace(path, aside / kind / path.name)

    def _cut(self, name: str, keep: list[dict], aside: Path) -> None:
        path = self.path / name
        kept = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in keep).encode()
        whole = path.read_bytes() if path.exists() else b""
        if kept == whole:
            return
        if not whole.startswith(kept):
            raise PassusError(
                f"{path} was changed by hand: its rows are not as passus writes them",
                expected="the file as it was, or another --out",
            )
        aside.mkdir(parents=True, exist_ok=True)
        (aside / name).write_bytes(whole[len(kept) :])
        fsync(aside / name)
        write_atomic(path, lambda target: target.write_bytes(kept))


@cache
def _writer() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(1, "writer")


def now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def _versions() -> dict[str, str]:
    found = {}
    for name in VERSIONED:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def _git_commit() -> str | None:
    """Of the folder the command was given in, where the experiment file lives."""
    try:
        done = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True, timeout=5)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() or None


def find_runs(path: Path, known_by: str = "config.toml") -> list[Path]:
    """Run folders at or below a path."""
    if (path / known_by).exists():
        return [path]
    return [p.parent for pattern in (f"*/{known_by}", f"*/*/{known_by}") for p in sorted(path.glob(pattern))]


def saved_checkpoints(checkpoints: Path) -> dict[int, Path]:
    """By step, oldest first; a copy under another name is the user's own."""
    found = {int(p.name[5:]): p for p in checkpoints.glob("step-*") if p.name[5:].isdigit()}
    return dict(sorted(found.items()))
