"""Figures of reports, and the figure that an experiment keeps beside its arms."""

from collections.abc import Sequence
from pathlib import Path

from passus.config.experiment import Experiment, slug
from passus.figures import export, kinds
from passus.figures.signals import training_signals
from passus.figures.spec import Figure, Mark
from passus.reports.arm_status import read_arm_status
from passus.reports.document import Block, Picture
from passus.runs.run_folder import RunFolder, find_runs


def accuracy_picture(sources: Sequence[Path], marks: Sequence[Mark] = ()) -> Picture:
    """Returns the learning curves of runs or curve files."""
    figure = kinds.curves(list(sources))
    figure.marks += marks
    return Picture(figure, "accuracy", _caption(figure, figure.y))


def readers_picture(sources: Sequence[Path]) -> Picture:
    """Returns the accuracy of the CoT readers of runs."""
    figure = kinds.readers(list(sources))
    return Picture(figure, "readers", _caption(figure, f"{figure.y} of readers"))


def signals_picture(runs: Sequence[RunFolder]) -> list[Block]:
    """Returns the training signals of runs, or nothing where none is recorded."""
    figure = training_signals(runs) if runs else None
    return [Picture(figure, "signals", _caption(figure, "Training signals"))] if figure and figure.series else []


def _caption(figure: Figure, subject: str) -> str:
    notes = [line[:1].upper() + line[1:].rstrip(".") for line in figure.note.splitlines() if line]
    return ". ".join([f"{subject} against {figure.x.lower()}", *notes]) + "."


def draw_experiment_figure(folder: Path, experiment: Experiment, formats: Sequence[str] = (".png", ".svg")) -> Path | None:
    """Draws the figure of the experiment beside its arms. Returns the last figure, or None without eval points.

    A grid shows one run, so it is drawn once per arm.
    """
    runs = [arm.path for arm in map(read_arm_status, find_runs(folder)) if arm.scores]
    if not runs:
        return None
    kind = experiment.arms[-1].config.figure  # generators of candidates, which have none of their own, come first
    figures = [([run], f"{experiment.name}-{run.name}") for run in runs] if kind == "grid" else [(runs, experiment.name)]
    for sources, name in figures:
        paths = [folder / f"{slug(name)}{suffix}" for suffix in formats]
        export.draw(kinds.figure(sources, kind, title=name), *paths)
    return paths[0]
