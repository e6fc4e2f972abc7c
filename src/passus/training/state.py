"""The state of a run in training: what every step shares, for a policy and for a reward model."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

import torch

from passus.config.tables import Config
from passus.engine.interface import Sampler
from passus.errors import PassusError
from passus.evaluation.cot_readers import Reader
from passus.evaluation.suite import LoadedSuite
from passus.models.policy import Policy
from passus.runs.run_folder import RunFolder, saved_checkpoints
from passus.tasks.item import Item
from passus.tasks.llm_judge import Judge
from passus.training import checkpoint
from passus.training.checkpoint import Progress
from passus.training.cuda_layout import CudaLayout
from passus.training.optimizer import Optimizer
from passus.training.prompt_order import PrioritisedPrompts, StreamPrompts
from passus.training.rewards import RewardFunction, Scored
from passus.training.rollout_batch import RolloutBatch
from passus.training.step_metrics import Times, UpdateStats

if TYPE_CHECKING:
    from passus.training.rows import TrainingRows

STOP_AFTER_SKIPPED = 3  # updates in a row
SMALLEST_MICRO_BATCH = 64  # tokens; a longer sequence is a micro-batch of its own
T = TypeVar("T")


@dataclass(kw_only=True)
class TrainingState:
    """State that the training of a policy and of a reward model share."""

    config: Config
    folder: RunFolder
    policy: Policy
    optimizer: Optimizer
    progress: Progress
    check_stop: Callable[[], None]
    """Raises Stop if the run was asked to stop. Called at safe points only."""
    started: float
    """When this session began, minus the time of earlier sessions."""
    micro_tokens: int
    """Tokens per micro-batch; below train.micro_tokens once memory has run out."""

    @property
    def is_last_step(self) -> bool:
        return self.progress.step == self.config.train.steps or self.progress.ended

    def is_due(self, every: int) -> bool:
        return self.progress.step > 0 and (self.progress.step % every == 0 or self.progress.step == self.config.train.steps)

    def within_memory(self, work: Callable[[], T]) -> T:
        """Calls `work`, and again with micro-batches of half the size when memory runs out; no update was applied by then."""
        while True:
            try:
                return work()
            except torch.OutOfMemoryError as error:
                self.optimizer.zero_grad()
                if self.micro_tokens <= SMALLEST_MICRO_BATCH:
                    raise self._out_of_memory() from error
            self.micro_tokens = max(SMALLEST_MICRO_BATCH, self.micro_tokens // 2)
            self.make_room()

    def make_room(self) -> None:
        """Frees memory that can be filled again later."""
        torch.cuda.empty_cache()

    def memory_advice(self) -> str:
        """Returns what to change where even the smallest micro-batch does not fit."""
        frozen = self.config.model.tuning == "frozen"
        return f"train.max_tokens below {self.config.train.max_tokens}" + ("" if frozen else ', or model.tuning = "frozen"')

    def _out_of_memory(self) -> PassusError:
        return PassusError(
            f"memory ran out with micro-batches of {self.micro_tokens} tokens, in step {self.progress.step + 1}; "
            + self._last_checkpoint(),
            expected="room for one sequence of the longest kind, or for one problem's candidates",
            write=self.memory_advice(),
        )

    def check_finite(self) -> None:
        """Raises after several skipped updates in a row; a single one may be an accident."""
        skipped = self.progress.skipped_in_a_row
        if skipped >= STOP_AFTER_SKIPPED:
            raise PassusError(
                f"{skipped} updates in a row were skipped, up to step {self.progress.step}: loss or gradient was not finite; "
                + self._last_checkpoint(),
                expected="a finite loss and gradient",
                write=f"a learning rate below {self.config.train.learning_rate:g}, and another --out folder",
            )

    def _last_checkpoint(self) -> str:
        return f"last checkpoint: {checkpoint.latest(self.folder.checkpoints) or 'none yet'}"

    def save(self, keep: Sequence[int] = ()) -> None:
        """Saves a checkpoint of the last whole step, unless it exists or skipped updates put the weights in doubt."""
        if self.progress.skipped_in_a_row and not self.is_last_step:
            return
        if self.progress.step in saved_checkpoints(self.folder.checkpoints):
            return
        self.folder.sync()
        self.folder.seal(self.progress.step)
        self.progress.elapsed = time.monotonic() - self.started
        kept = self.config.run.keep_checkpoints
        checkpoint.save(
            self.folder.checkpoints, self.policy, self.optimizer, self.progress, kept, keep, self.folder.recorded_id()
        )


@dataclass(kw_only=True)
class PolicyRun(TrainingState):
    """A policy in training. The seams of the step are plain callables, chosen in setup.py."""

    sampler: Sampler
    reference: Any | None
    """The policy before training, where the method needs it and no adapter can be switched off to get it."""
    reward_function: RewardFunction | None
    prompts: StreamPrompts | PrioritisedPrompts
    rollout: Callable[[Sequence[tuple[int, Item]], int], RolloutBatch] = field(init=False)
    """(items with their places, step) -> completions."""
    verify: Callable[[RolloutBatch, Times], RolloutBatch] = field(init=False)
    """Completions -> completions with grades."""
    score: Callable[[RolloutBatch, int], Scored] = field(init=False)
    """(graded completions, step) -> rewards."""
    update: Callable[[Sequence[TrainingRows], int], list[UpdateStats]] = field(init=False)
    """(rows of each objective, step) -> updates of the weights."""
    suite: LoadedSuite = field(default_factory=lambda: LoadedSuite({}))
    judge: Judge | None = None
    reward_model: Policy | None = None
    """Reward model whose scores are rewards."""
    readers: dict[str, Reader] = field(default_factory=dict)
    """CoT readers by name: the frozen ones, and the live one once it was used."""
    cuda: CudaLayout = field(default_factory=CudaLayout)
    remarks: list[str] = field(default_factory=list)
    """Remarks about the data, for the user."""

    def make_room(self) -> None:
        self.cuda.graphs.clear()
        self.sampler.release()
        super().make_room()
