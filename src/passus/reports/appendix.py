"""The appendix of a report: settings, environment and time of its runs, and commands."""

from collections.abc import Sequence
from typing import Any

import tomli_w

from passus.reports.document import Block, Details, Listing, Table
from passus.reports.next_experiments import nested, varying_keys
from passus.runs.run_folder import RunFolder


def appendix_blocks(runs: Sequence[RunFolder]) -> list[Block]:
    """Returns the settings that differ, all settings, and environment and time, each folded."""
    if not runs:
        return []
    configs = [run.settings() for run in runs]
    varying = varying_keys(configs)
    shared = {key: value for key, value in configs[0].items() if key not in varying}
    blocks: list[Block] = []
    if varying:
        rows = [[run.path.name, *(str(config.get(key)) for key in varying)] for run, config in zip(runs, configs, strict=True)]
        blocks.append(Details("Settings that differ", [Table(["run", *varying], rows)]))
    if shared:
        blocks.append(Details("All other settings", [Listing(tomli_w.dumps(nested(shared)))]))
    times: list[Block] = [] if all(run.is_imported for run in runs) else [_time_table(runs)]
    return [*blocks, Details("Environment and time", [*environment_blocks(runs), *times])]


def environment_blocks(runs: Sequence[RunFolder]) -> list[Block]:
    """Returns remarks about the data, and the versions and machines, once where they are the same for all runs."""
    blocks: list[Block] = []
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
    return blocks


def _last_launch(run: RunFolder) -> dict[str, Any]:
    launches = run.meta()["launches"]
    return launches[-1] if launches else {}


def _environment(run: RunFolder) -> str:
    """Returns the versions and the machine of the last launch; of an imported run where it came from."""
    meta = run.meta()
    if tool := run.config().imported.tool:
        source = (_last_launch(run).get("data") or {}).get("source", "unknown files")
        return f"Recorded by {tool}." if source == tool else f"Imported from {source}."
    versions = ", ".join(f"{name} {version}" for name, version in _last_launch(run).get("versions", {}).items())
    machine = ", ".join(f"{key} {meta[key]}" for key in ("python", "platform", "device", "git_commit") if meta.get(key))
    return f"Made with {versions}. {machine}"


def _time_table(runs: Sequence[RunFolder]) -> Table:
    rows = []
    for run in runs:
        last = (run.metrics() or [{}])[-1]
        rows.append([
            run.path.name, f"{last.get('time/elapsed', 0):.0f} s", *(f"{seconds:.0f} s" for seconds in run.phases().values()),
            f"{last.get('train/num_tokens', 0):,.0f}",
        ])  # fmt: skip
    return Table(["run", "total", "rollout", "grading", "update", "evaluation", "tokens"], rows)


def commands_blocks(made_with: Sequence[str], next_commands: Sequence[str]) -> list[Block]:
    """Returns the commands that made the page and those to run next, or nothing if they are not known."""
    named = {"This page was made with": made_with, "To run next": next_commands}
    listings: list[Block] = [Listing("\n".join(commands), name) for name, commands in named.items() if commands]
    return [Details("Commands", listings)] if listings else []
