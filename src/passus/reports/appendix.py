"""The appendix of a report: configuration, environment, time and training signals of its runs."""

from typing import Any

import numpy as np
import tomli_w

from passus.config import resolve
from passus.reports.document import Block, DocumentSection, Listing, Table
from passus.reports.next_experiments import nested, varying_keys
from passus.runs.run_folder import RunFolder

SIGNALS = {
    "train/frac_reward_zero_std": "groups without signal",
    "train/truncated": "truncated",
    "train/unparseable": "no answer found",
    "train/grader_error": "grader failed",
    "train/entropy": "entropy",
}
"""Recorded metrics of the table of training signals, and their columns."""


def configuration_section(runs: list[RunFolder]) -> DocumentSection:
    """Returns the shared fields, the varied fields, remarks about the data, and the environment of the runs."""
    configs = [resolve.flatten(run.config()) for run in runs]
    varying = varying_keys(configs)
    shared = {key: value for key, value in configs[0].items() if key not in varying}
    blocks: list[Block] = [Listing(tomli_w.dumps(nested(shared)), "Common to all runs")]
    if varying:
        rows = [[run.path.name, *(str(config.get(key)) for key in varying)] for run, config in zip(runs, configs, strict=True)]
        blocks.append(Table(["run", *varying], rows))
    remarks = [remark for run in runs for remark in (_last_launch(run).get("data") or {}).get("remarks", [])]
    if remarks:
        blocks.append(f"Data: {'; '.join(dict.fromkeys(remarks))}.")
    for run in runs:
        blocks += [f"{run.path.name} was {remark}." for remark in run.version_remarks()]
    names_by_environment: dict[str, list[str]] = {}
    for run in runs:
        names_by_environment.setdefault(_environment(run), []).append(run.path.name)
    for environment, names in names_by_environment.items():
        blocks.append(environment if len(names_by_environment) == 1 else f"{', '.join(names)}: {environment}")
    return DocumentSection("Configuration and environment", blocks)


def _last_launch(run: RunFolder) -> dict[str, Any]:
    launches = run.meta()["launches"]
    return launches[-1] if launches else {}


def _environment(run: RunFolder) -> str:
    """Returns the versions and the machine of the last launch."""
    meta = run.meta()
    versions = ", ".join(f"{name} {version}" for name, version in _last_launch(run).get("versions", {}).items())
    machine = ", ".join(f"{key} {meta[key]}" for key in ("python", "platform", "device", "git_commit") if meta.get(key))
    return f"Made with {versions}. {machine}"


def time_section(runs: list[RunFolder]) -> DocumentSection:
    rows = []
    for run in runs:
        last = (run.metrics() or [{}])[-1]
        rows.append([
            run.path.name, f"{last.get('time/elapsed', 0):.0f} s", *(f"{seconds:.0f} s" for seconds in run.phases().values()),
            f"{last.get('train/num_tokens', 0):,.0f}",
        ])  # fmt: skip
    head = ["run", "total", "rollout", "grading", "update", "evaluation", "tokens"]
    return DocumentSection("Time and tokens", [Table(head, rows)])


def signals_section(runs: list[RunFolder]) -> DocumentSection:
    """Returns metrics that show whether training had a signal: means over the first and the last tenth of the steps."""
    rows = []
    for run in runs:
        if run.config().kind == "reward_model":  # it samples nothing
            continue
        metrics = run.metrics()
        tenth = max(1, len(metrics) // 10)
        rows.append([run.path.name, *(_first_and_last(metrics[:tenth], metrics[-tenth:], name) for name in SIGNALS)])
    note = "Means over the first and the last tenth of the steps."
    return DocumentSection("Training signals", [note, Table(["run", *SIGNALS.values()], rows)])


def _first_and_last(first: list[dict[str, Any]], last: list[dict[str, Any]], metric: str) -> str:
    ends = [[row[metric] for row in rows if row.get(metric) is not None] for rows in (first, last)]
    return " to ".join(f"{np.mean(values):.2f}" if values else "?" for values in ends)
