"""Records a run folder from any training loop, so that every command that looks at runs takes it.

    with passus.Recorder("runs/mine") as run:
        run.settings(model="Qwen/Qwen3-0.6B", seed=0, method="grpo", learning_rate=1e-6)
        for step in range(1, 201):
            ...
            run.metrics(step, {"reward": reward, "grad_norm": norm})
            if step % 10 == 0:
                run.samples(step, "gsm8k", [{"question": q, "gold": a, "completion": text, "correct": ok}, ...])

Rows are appended as they come and files appear whole, so a kill loses at most the step in progress. Opened again, the recorder
goes on from the first step that is recorded again; what was recorded from that step on is moved to set-aside/.
"""

import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

import tomli_w

from passus.config.experiment import slug
from passus.errors import PassusError, UsageError
from passus.grading.verdict import ANY, Verdict
from passus.interop.importers.eval_rows import ItemTable, item_columns, item_number, point_of_samples
from passus.interop.importers.line_settings import kept_settings, read_facts
from passus.interop.importers.metric_map import passus_name
from passus.interop.importers.source_run import SampleRow, item_key
from passus.runs import provenance
from passus.runs.eval_point import SOURCE
from passus.runs.lock import ArmLock
from passus.runs.manifest import IN_META
from passus.runs.questions import QUESTIONS, ItemQuestion, question_lines, read_questions
from passus.runs.row_files import ROWS, row_file
from passus.runs.run_folder import SETTINGS, RunFolder

TOOL = "passus.Recorder"
SAMPLE_KEYS = {
    "question", "gold", "completion", "correct", "item", "tokens", "truncated", "extracted", "verdict",
    "reward", "advantage", "prompt_ids", "completion_ids",
}  # fmt: skip


class Recorder:
    """Writes one run. Its four methods are `settings`, `metrics`, `samples` and `finish`."""

    def __init__(self, path: str | Path):
        self.folder = RunFolder(Path(path))
        if self.folder.exists() and self.folder.config().imported.tool != TOOL:
            raise UsageError(f"{path} holds a run that was not recorded by passus.Recorder", expected="a new folder")
        self._lock = ArmLock(self.folder)
        if not self._lock.acquire():
            raise PassusError(f"{path} is being recorded by process {self.folder.status().get('pid')}", expected="a new folder")
        self._reopened = self.folder.exists()
        self._questions = dict(read_questions(self.folder.path))
        self._last_step = 0
        self._metrics_step = -1
        self._evaluated: set[tuple[int, str, float | None]] = set()
        self._settings = self._recorded_settings() if self._reopened else {}
        if not self._reopened:
            self.settings()

    def _recorded_settings(self) -> dict[str, Any]:
        """Returns what an earlier session said, in case this one does not say it again."""
        config = self.folder.config()
        named = {"model": config.model.base, "method": config.imported.method or None, "steps": config.train.steps}
        return self.folder.settings() | named | ({"seed": config.seed} if config.imported.seed_known else {})

    def settings(self, **settings: Any) -> None:
        """Records settings, also in several calls: `model`, `seed`, `method`, `steps`, and any others."""
        self._settings |= settings
        named = {"model_name": settings.get("model")} if isinstance(settings.get("model"), str) else {}
        facts = read_facts(self.folder.path.name, self._settings | named)
        model = str(self._settings.get("model") or "unknown")
        label = model.rstrip("/").rpartition("/")[2]
        tuning = "frozen" if facts.is_adapter else "live"
        config = {
            "name": slug(self.folder.path.resolve().parent.name or "recorded"),
            "seed": facts.seed or 0,
            "model": {"base": model, "tuning": tuning},
            "train": {"steps": max(1, int(self._settings.get("steps") or facts.steps or 1))},
            "imported": {"tool": TOOL, "seed_known": facts.seed is not None, "method": str(self._settings.get("method") or "")},
        }
        self.folder.write_single(SETTINGS, json.dumps(kept_settings(self._settings), indent=2, default=str) + "\n")
        about = {
            "label": label, "family": facts.family, "parameters": facts.parameters, "tuning": tuning,
            "imported_from": TOOL,
        }  # fmt: skip
        self._write_meta(about)
        self.folder.begin_record()
        self.folder.write_single("config.toml", tomli_w.dumps(config))

    def _write_meta(self, model: dict[str, Any]) -> None:
        """Writes meta.json at the first call; later ones change what is known of the model."""
        path = self.folder.path / "meta.json"
        launch = provenance.launch_record(None, {"source": TOOL}, None)
        meta = self.folder.meta() | {"model": model} if path.exists() else provenance.first_meta(launch, model)
        self.folder.write_single("meta.json", json.dumps(meta | {IN_META: True}, indent=2) + "\n")

    def metrics(self, step: int, values: Mapping[str, float | None]) -> None:
        """Appends the metrics of a step. Names of TRL, verl and others become passus's; a NaN is a gap."""
        self._begin(step)
        if step <= self._metrics_step:
            raise UsageError(
                f"metrics of step {step} after those of step {self._metrics_step}",
                expected="steps in order, with all values of a step in one call",
            )
        self._metrics_step = step
        row: dict[str, Any] = {"step": step}
        for name, value in values.items():
            number = None if value is None else float(value)
            row[passus_name(str(name))] = number if number is not None and math.isfinite(number) else None
        self.folder.append_metrics(row)

    def samples(
        self, step: int, benchmark: str, samples: Iterable[Mapping[str, Any]], *, kind: str = "eval",
        temperature: float | None = None,
    ) -> None:  # fmt: skip
        """Records completions of a step: those of an evaluation (kind="eval"), or of training (kind="train").

        A sample has `question`, `gold`, `completion` and `correct`: a bool, or a score from 0 to 1. Without `correct`, passus
        grades it. It may have `item`, `tokens`, `truncated`, `extracted`, `verdict`, `reward`, `advantage`, and token ids.
        """
        if kind not in ("eval", "train"):
            raise UsageError(f"kind = {kind!r}", expected="eval or train")
        self._begin(step)
        given = [_checked(sample) for sample in samples]
        if not given:
            raise UsageError(f"no samples of {benchmark} at step {step}", expected="at least one")
        evaluated = (step, benchmark, temperature)
        if kind == "eval" and evaluated in self._evaluated:
            raise UsageError(
                f"samples of {benchmark} at step {step} were recorded already", expected="all of an evaluation in one call"
            )
        rows = [_row(benchmark, sample) for sample in given]
        self._grade(rows)
        if kind == "train":
            self._write_training(step, rows, given)
            return
        self._write_eval(step, benchmark, rows, temperature)
        self._evaluated.add(evaluated)

    def finish(self, state: str = "finished", error: str | None = None) -> None:
        """Ends the run. Leaving a `with` block does it, with state `failed` after an exception."""
        self.folder.sync()
        config = self.folder.config()
        if self._last_step > config.train.steps or not self._settings.get("steps"):
            self._settings["steps"] = max(self._last_step, 1)
            self.settings()
        self.folder.seal(self._last_step, is_final=True)
        self._lock.release(state=state, error=error, exit_code=0 if state == "finished" else 1)

    def __enter__(self) -> "Recorder":
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if error is None:
            self.finish()
        else:
            self.finish("killed" if isinstance(error, KeyboardInterrupt) else "failed", f"{type(error).__name__}: {error}")

    def _begin(self, step: int) -> None:
        """Sets aside what an earlier session recorded from this step on."""
        if not isinstance(step, int) or step < 0:
            raise UsageError(f"step = {step!r}", expected="a whole number, 0 or more")
        if self._reopened:
            before = sum(point.step == step - 1 for point in self.folder.evals())
            self.folder.set_aside_after(step - 1, before)
            self._reopened = False
        self._last_step = max(self._last_step, step)

    def _grade(self, rows: list[SampleRow]) -> None:
        """Lets passus's verifier grade the samples that come without a verdict."""
        from passus.interop.importers.regrade import regraded

        open_rows = [row for row in rows if row.value is None and row.verdict is None and row.error is None]
        if any(row.output is None or not row.gold for row in open_rows):
            raise UsageError("a sample without `correct`", expected="correct, or completion and gold for passus to grade")
        regraded(open_rows)

    def _write_eval(self, step: int, benchmark: str, rows: list[SampleRow], temperature: float | None) -> None:
        table = ItemTable()
        count: Counter[str] = Counter()
        for row in rows:
            row.sample = count[row.item]
            count[row.item] += 1
            table.add(row)
        graded_here = all(row.verdict is not None for row in rows)
        point = point_of_samples(step, benchmark, table, ANY if graded_here else SOURCE, temperature)
        kept = list(table.rows())
        columns = item_columns(benchmark, kept, temperature)
        others = self._rows_of("items", step)
        merged = {name: [row.get(name) for row in others] + columns.get(name, [None] * len(kept)) for name in ROWS["items"]}
        self.folder.write_rows("items", step, merged)
        for row in kept:
            if row.prompt is not None:
                self._questions.setdefault((benchmark, item_number(row.item)), ItemQuestion(row.prompt, row.gold or ""))
        self.folder.write_single(QUESTIONS, question_lines(sorted(self._questions.items())))
        self.folder.append_evals([point])

    def _rows_of(self, kind: str, step: int) -> list[dict[str, Any]]:
        """Returns the rows that this session has recorded of a step."""
        return self.folder.read_rows(kind, step) if row_file(self.folder.path, kind, step).exists() else []

    def _write_training(self, step: int, rows: list[SampleRow], given: list[Mapping[str, Any]]) -> None:
        """Adds the samples to those of the step: a step may have several tasks, and several batches."""
        before = self._rows_of("samples", step)
        columns: dict[str, list[Any]] = {name: [row[name] for row in before] for name in ROWS["samples"]}
        count = Counter((row["task"], row["item"]) for row in before)
        for row, sample in zip(rows, given, strict=True):
            key = row.benchmark, item_number(row.item)
            reward = sample.get("reward", row.value)
            values = {
                "task": row.benchmark, "item": key[1], "sample": count[key], "prompt": row.prompt or "",
                "completion": row.output or "", "prompt_ids": list(sample.get("prompt_ids") or []),
                "completion_ids": list(sample.get("completion_ids") or []), "gold": row.gold or "",
                "verdict": row.verdict or str(Verdict.CORRECT if row.value else Verdict.WRONG), "extracted": row.extracted,
                "reward": None if reward is None else float(reward), "advantage": sample.get("advantage"), "used": True,
                "logp": None,
            }  # fmt: skip
            count[key] += 1
            for name, value in values.items():
                columns[name].append(value)
        self.folder.write_rows("samples", step, columns)


def _checked(sample: Mapping[str, Any]) -> Mapping[str, Any]:
    if unknown := [key for key in sample if key not in SAMPLE_KEYS]:
        raise UsageError(f"a sample has the key {unknown[0]!r}", expected=", ".join(sorted(SAMPLE_KEYS)))
    return sample


def _row(benchmark: str, sample: Mapping[str, Any]) -> SampleRow:
    correct, question, gold = sample.get("correct"), sample.get("question"), sample.get("gold")
    verdict = sample.get("verdict")
    if verdict is not None and verdict not in set(Verdict):
        raise UsageError(f"verdict = {verdict!r}", expected=", ".join(Verdict))
    value = None if correct is None else float(correct)
    if value is None and verdict not in (None, Verdict.ERROR):
        value = float(verdict == Verdict.CORRECT)
    if value is not None and not 0 <= value <= 1:
        raise UsageError(f"correct = {correct!r}", expected="true, false, or a score from 0 to 1")
    if question is None and sample.get("item") is None:
        raise UsageError("a sample has neither question nor item", expected="one of them: it tells which item it is of")
    gold_text = None if gold is None else str(gold)
    key = str(sample["item"]) if sample.get("item") is not None else item_key(str(question), gold_text)
    return SampleRow(
        benchmark, key, 0, value, tokens=sample.get("tokens"), truncated=sample.get("truncated"),
        output=sample.get("completion"), prompt=None if question is None else str(question),
        gold=gold_text, extracted=sample.get("extracted"), verdict=verdict,
    )  # fmt: skip
