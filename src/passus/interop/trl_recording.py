"""Records a TRL run with every eval item: a reward wrapper that sees all completions, and a callback that sees all logs.

    recording = TRLRecording("runs/mine", benchmark="gsm8k")
    trainer = GRPOTrainer(
        model, reward_funcs=recording.reward(reward_function()), callbacks=[recording.callback()], ...
    )
    trainer.train()

TRL itself keeps the means of an evaluation and a part of its completions. A reward function is called with all of them.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from pathlib import Path
from typing import Any

from transformers import TrainerCallback

from passus.interop.recorder import Recorder

RewardFunction = Callable[..., Sequence[float | None]]
KEPT_SETTINGS = (
    "learning_rate", "max_steps", "num_train_epochs", "per_device_train_batch_size", "gradient_accumulation_steps",
    "num_generations", "max_completion_length", "temperature", "top_p", "top_k", "beta", "epsilon", "epsilon_high",
    "num_iterations", "loss_type", "scale_rewards", "warmup_steps", "warmup_ratio", "weight_decay", "max_grad_norm",
    "lr_scheduler_type", "seed", "bf16", "use_vllm", "mask_truncated_completions",
)  # fmt: skip
"""Arguments of the trainer that are recorded as settings."""
SCALARS = (bool, int, float, str, type(None))


class TRLRecording:
    """Records one run. `reward` wraps the function whose value is the verdict; `callback` goes to the trainer."""

    def __init__(self, path: str | Path, benchmark: str, *, gold: str = "answer", correct_from: float = 1.0):
        """`gold` is the column with the right answer; a reward of `correct_from` or more counts as correct."""
        self.recorder = Recorder(path)
        self.benchmark, self.gold, self.correct_from = benchmark, gold, correct_from
        self.model: Any = None
        self.eval_rows: list[dict[str, Any]] = []
        self.evaluated: set[tuple[int, str]] = set()
        self.logged = 0
        """Step of the newest row of metrics."""
        self.is_finished = False

    def reward(self, function: RewardFunction) -> RewardFunction:
        """Returns the reward function, which also records what it is called with."""

        @wraps(function)
        def recorded(prompts: Sequence[Any], completions: Sequence[Any], **columns: Any) -> Sequence[float | None]:
            values = function(prompts=prompts, completions=completions, **columns)
            rows = self._rows(prompts, completions, values, columns)
            if self._is_evaluating():
                self.eval_rows += rows
            else:
                self.recorder.samples(columns["trainer_state"].global_step + 1, self.benchmark, rows, kind="train")
            return values

        return recorded

    def callback(self) -> "RecordingCallback":
        return RecordingCallback(self)

    def _is_evaluating(self) -> bool:
        """Returns whether completions are of an evaluation. Before the training begins, all are."""
        return self.model is None or not self.model.training

    def _rows(
        self, prompts: Sequence[Any], completions: Sequence[Any], values: Sequence[float | None], columns: dict[str, Any]
    ) -> list[dict[str, Any]]:
        golds = columns.get(self.gold) or [None] * len(prompts)
        ids = columns.get("completion_ids") or [None] * len(prompts)
        return [
            {
                "question": _text(prompt), "gold": gold, "completion": _text(completion),
                "tokens": None if own is None else len(own),
                "correct": None if value is None else float(value >= self.correct_from), "reward": value,
                "verdict": "error" if value is None else None, "completion_ids": own,
            }
            for prompt, completion, value, gold, own in zip(prompts, completions, values, golds, ids, strict=True)
        ]  # fmt: skip

    def flush_eval(self, step: int, dataset: str) -> None:
        """Writes the eval rows that were collected. Of several evaluations of a step, the first one counts."""
        benchmark = f"{self.benchmark}/{dataset}" if dataset else self.benchmark
        if self.eval_rows and not self.is_finished and (step, benchmark) not in self.evaluated:
            self.recorder.samples(step, benchmark, self.eval_rows)
            self.evaluated.add((step, benchmark))
        self.eval_rows = []


def dataset_name(metrics: Mapping[str, Any]) -> str:
    """Returns the name of an eval dataset, which the trainer writes into the names of its metrics; empty if it has none."""
    runtime = next((name for name in metrics if name.startswith("eval_") and name.endswith("_runtime")), "")
    return runtime.removeprefix("eval_").removesuffix("runtime").rstrip("_")


def _text(value: Any) -> str:
    """Returns plain text, or the texts of a chat's messages."""
    if isinstance(value, str):
        return value
    return "\n".join(str(message.get("content") or "") for message in value)


class RecordingCallback(TrainerCallback):
    """Gives the trainer's logs and evaluations to a recording."""

    def __init__(self, recording: TRLRecording):
        self.recording = recording

    def on_train_begin(self, args: Any, state: Any, control: Any, **more: Any) -> None:
        self.recording.model = more.get("model")
        given = args.to_dict()
        settings = {key: given[key] for key in KEPT_SETTINGS if key in given and isinstance(given[key], SCALARS)}
        name = getattr(getattr(self.recording.model, "config", None), "_name_or_path", "") or "unknown"
        self.recording.recorder.settings(model=name, method="grpo", steps=state.max_steps or None, **settings)

    def on_log(self, args: Any, state: Any, control: Any, logs: dict[str, Any] | None = None, **more: Any) -> None:
        numbers = {name: value for name, value in (logs or {}).items() if isinstance(value, (int, float))}
        is_training = any(name in numbers for name in ("loss", "reward")) and not any(n.startswith("eval_") for n in numbers)
        if is_training and state.global_step > self.recording.logged:
            self.recording.recorder.metrics(state.global_step, numbers)
            self.recording.logged = state.global_step

    def on_evaluate(
        self, args: Any, state: Any, control: Any, metrics: dict[str, Any] | None = None, **more: Any
    ) -> None:  # fmt: skip
        self.recording.flush_eval(state.global_step, dataset_name(metrics or {}))

    def on_train_end(self, args: Any, state: Any, control: Any, **more: Any) -> None:
        self.recording.recorder.finish()
        self.recording.is_finished = True
