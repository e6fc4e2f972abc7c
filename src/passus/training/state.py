"""A sitting: what training has in hand from step to step, a policy's as well as a reward model's, and what both do alike."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import torch

from passus.config.tables import Config
from passus.errors import PassusError
from passus.models.policy import Policy
from passus.runs.run_folder import RunFolder, saved_checkpoints
from passus.training import checkpoint
from passus.training.checkpoint import Progress
from passus.training.optimizer import Optimizer

STOP_AFTER_SKIPPED = 3  # updates in a row
SMALLEST_MICRO_BATCH = 64  # tokens; what is longer goes alone
T = TypeVar("T")


@dataclass(kw_only=True)
class Sitting:
    config: Config
    folder: RunFolder
    policy: Policy
    optimizer: Optimizer
    progress: Progress
    check_stop: Callable[[], None]
    started: float
    """When this sitting began, less the time of earlier ones."""
    micro_tokens: int
    """Of a micro-batch; less than train.micro_tokens once memory has run out."""

    def is_due(self, every: int) -> bool:
        return self.progress.step > 0 and (self.progress.step % every == 0 or self.progress.step == self.config.train.steps)

    def within_memory(self, work: Callable[[], T]) -> T:
        """Try again with micro-batches half the size when memory runs out; nothing has been applied by then."""
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
        """Give back what can be made again."""
        torch.cuda.empty_cache()

    def less(self) -> str:
        """What to write where even the smallest micro-batch is too large."""
        frozen = self.config.model.tuning == "frozen"
        return f"train.max_tokens below {self.config.train.max_tokens}" + ("" if frozen else ', or model.tuning = "frozen"')

    def _out_of_memory(self) -> PassusError:
        return PassusError(
            f"memory ran out with micro-batches of {self.micro_tokens} tokens, in step {self.progress.step + 1}; "
            + self._last(),
            expected="room for one sequence of the longest kind, or for one problem's candidates",
            write=self.less(),
        )

    def check_finite(self) -> None:
        """A few updates that were skipped may be an accident; more of them in a row are not."""
        skipped = self.progress.skipped_in_a_row
        if skipped >= STOP_AFTER_SKIPPED:
            raise PassusError(
                f"{skipped} updates in a row were skipped, up to step {self.progress.step}: loss or gradient was not finite; "
                + self._last(),
                expected="a finite loss and gradient",
                write=f"a learning rate below {self.config.train.learning_rate:g}, and another --out folder",
            )

    def _last(self) -> str:
        return f"last checkpoint: {checkpoint.latest(self.folder.checkpoints) or 'none yet'}"

    def save(self, *, is_last: bool, wanted: Sequence[int] = ()) -> None:
        """A checkpoint of the last whole step, unless it stands there already, or skipped updates put the weights in doubt."""
        if (self.progress.skipped_in_a_row and not is_last) or self.progress.step in saved_checkpoints(self.folder.checkpoints):
            return
        self.folder.sync()
        self.progress.elapsed = time.monotonic() - self.started
        checkpoint.save(self.folder.checkpoints, self.policy, self.optimizer, self.progress, self.config.run.keep, wanted)
