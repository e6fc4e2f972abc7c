"""The sinks: TensorBoard, Weights & Biases and trackio."""

from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

from passus.errors import UsageError
from passus.runs.sinks.event_file import EventFile
from passus.runs.sinks.queue import Numbers, QueuedSink, Sink

SinkName = Literal["tensorboard", "wandb", "trackio"]
PACKAGES = {"wandb": "wandb", "trackio": "trackio"}
"""Packages that a sink needs. TensorBoard's files are written without it."""
STEP = "train/global_step"
"""Name of the step, because W&B counts its own."""


class TensorBoardSink:
    name = "tensorboard"

    def __init__(self, run: Path):
        self.folder = run / "tensorboard"

    def open(self) -> None:
        self.file = EventFile(self.folder)

    def write(self, step: int, numbers: Numbers) -> None:
        self.file.write(step, dict(numbers))

    def close(self) -> None:
        self.file.close()


class WandbSink:
    name = "wandb"

    def __init__(self, run: Path, run_id: str, settings: Mapping[str, Any]):
        self.run, self.run_id, self.settings = run, run_id, dict(settings)

    def open(self) -> None:
        import wandb

        self.session = wandb.init(
            project=str(self.settings.get("name") or "passus"), name=self.run.name, id=self.run_id[:16], resume="allow",
            dir=str(self.run), config=self.settings, group=self.run.parent.name,
        )  # fmt: skip
        self.session.define_metric(STEP)
        self.session.define_metric("*", step_metric=STEP)

    def write(self, step: int, numbers: Numbers) -> None:
        self.session.log({STEP: step, **numbers})

    def close(self) -> None:
        self.session.finish()


class TrackioSink:
    name = "trackio"

    def __init__(self, run: Path, settings: Mapping[str, Any]):
        self.run, self.settings = run, dict(settings)

    def open(self) -> None:
        import trackio

        self.session = trackio.init(
            project=str(self.settings.get("name") or "passus"), name=self.run.name, group=self.run.parent.name,
            config=self.settings, resume="allow",
        )  # fmt: skip

    def write(self, step: int, numbers: Numbers) -> None:
        self.session.log(dict(numbers), step=step)

    def close(self) -> None:
        self.session.finish()


def check_sinks(names: Sequence[str]) -> None:
    """Refuses sinks whose package is not installed."""
    for name in names:
        if name in PACKAGES and find_spec(PACKAGES[name]) is None:
            raise UsageError(
                f'log.to = ["{name}"] needs the package {PACKAGES[name]}', expected="it installed",
                write=f"pip install 'passus[{name}]'",
            )  # fmt: skip


def open_sinks(names: Sequence[str], run: Path, run_id: str, settings: Mapping[str, Any], say: Any) -> list[QueuedSink]:
    """Starts the sinks of a run."""
    made: list[Sink] = []
    for name in names:
        match name:
            case "tensorboard":
                made.append(TensorBoardSink(run))
            case "wandb":
                made.append(WandbSink(run, run_id, settings))
            case _:
                made.append(TrackioSink(run, settings))
    return [QueuedSink(sink, say) for sink in made]
