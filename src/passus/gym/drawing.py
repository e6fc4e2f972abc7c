"""Figures of the diagnosis's scores: what was answered for each cause, and how far stated probabilities hold."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from passus.figures.styles import FAMILIES, RAMP
from passus.gym.evaluation import DiagnosisScores

OTHERS = ("healthy", "unknown")


def draw_confusion(scores: DiagnosisScores, title: str, path: Path) -> None:
    """Draws the answers per cause as a map: rows are the truth, columns the first answer."""
    from matplotlib.colors import LinearSegmentedColormap
    from matplotlib.figure import Figure

    causes = [cause for cause in scores.confusion if cause not in OTHERS]
    rows = [*(cause for cause in OTHERS if cause in scores.confusion), *causes]
    columns = [*OTHERS, *causes]
    counts = np.array([[scores.confusion[row][column] for column in columns] for row in rows], dtype=float)
    shares = counts / np.maximum(counts.sum(1, keepdims=True), 1)
    figure = Figure(figsize=(8.4, 7.6), layout="constrained")
    axes = figure.subplots()
    axes.imshow(shares, cmap=LinearSegmentedColormap.from_list("ramp", ["#ffffff", *RAMP[2:]]), vmin=0, vmax=1)
    for i, j in zip(*np.nonzero(counts), strict=True):
        colour = "white" if shares[i, j] > 0.5 else "black"
        axes.text(j, i, f"{counts[i, j]:.0f}", ha="center", va="center", color=colour, fontsize=7)
    axes.set_xticks(range(len(columns)), columns, rotation=90, fontsize=7)
    axes.set_yticks(range(len(rows)), rows, fontsize=7)
    axes.set_xlabel("first answer")
    axes.set_ylabel("fault of the run")
    axes.set_title(title, fontsize=9)
    figure.savefig(path, dpi=130)


def draw_calibration(scores: Mapping[str, DiagnosisScores], path: Path) -> None:
    """Draws the share of right answers against the stated probability, with the number of runs beside each point."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(4.6, 4.2), layout="constrained")
    axes = figure.subplots()
    axes.plot([0, 1], [0, 1], color="#999999", linewidth=0.8, linestyle="--", label="stated = right")
    looks = [FAMILIES["Qwen3"], FAMILIES["Llama3.2"]]
    for (name, own), (colour, marker) in zip(scores.items(), looks, strict=False):
        points = own.calibration()
        xs, ys = [point["stated"] for point in points], [point["right"] for point in points]
        axes.plot(xs, ys, color=colour, marker=marker, label=name)
        for point in points:
            axes.annotate(f"{point['runs']:.0f}", (point["stated"], point["right"]), xytext=(4, -9), fontsize=7, color=colour,
                          textcoords="offset points")  # fmt: skip
    axes.set_xlim(0, 1.02)
    axes.set_ylim(0, 1.02)
    axes.set_xlabel("stated probability of the first answer")
    axes.set_ylabel("share of right answers")
    axes.legend(frameon=False, fontsize=8)
    figure.savefig(path, dpi=130)
