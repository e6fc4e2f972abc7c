"""Experiment files that would answer the questions a report leaves open."""

import re
from dataclasses import dataclass
from typing import Any

import tomli_w

from passus.analysis.finding import Conclusion, Finding
from passus.runs.run_folder import RunFolder

ENOUGH_SEEDS, MAX_SEEDS = 3, 20
LIKELY = 0.3
"""Probability of a cause from which an experiment without it is proposed."""
"""Seeds per line that are proposed to all, and up to which more of them are proposed."""
SEED_IN_NAME = re.compile(r"[-_]seed-\d+")


@dataclass(frozen=True)
class Proposal:
    name: str
    reason: str
    changes: dict[str, Any]
    """Values by dotted key. A list is swept."""


def proposals(runs: list[RunFolder], findings: list[Finding], seeds: int | None = None) -> list[Proposal]:
    """Returns one experiment per question that is open. `seeds` would show a difference that these runs leave open."""
    config = runs[0].config()
    proposals = []
    from_policies = not any(run.config().candidates.generators for run in runs)
    if seeds is not None and ENOUGH_SEEDS < seeds <= MAX_SEEDS and from_policies:
        reason = f"{seeds} seeds per line would show the difference that these runs leave open."
        proposals.append(Proposal("more-seeds", reason, {"seed": list(range(seeds))}))
    elif _fewest_seeds(runs) < ENOUGH_SEEDS and from_policies:
        reason = "Three seeds per line separate what was varied from the luck of a run."
        proposals.append(Proposal("seeds", reason, {"seed": list(range(ENOUGH_SEEDS))}))
    if any(f.id == "A2" and f.verdict is Conclusion.NOT_SUPPORTED for f in findings):
        reason = "Some curves have not reached a plateau at the end."
        proposals.append(Proposal("longer", reason, {"train.steps": 2 * config.train.steps}))
    # Greedy decoding gives every item one sample, whatever eval.samples says.
    if any(config.eval.temperatures) and any(f.id == "A3" and f.verdict is Conclusion.UNDERPOWERED for f in findings):
        reason = "More samples per item would tell whether accuracy falls late."
        proposals.append(Proposal("samples", reason, {"eval.samples": 4 * config.eval.samples}))
    if any(f.id == "A16" and f.numbers.get("learning-rate-too-high", 0) > LIKELY for f in findings):
        rates = [config.train.learning_rate * factor for factor in (0.25, 0.5, 1.0)]
        proposals.append(Proposal("rates", "Does a lower learning rate prevent the fall?", {"train.learning_rate": rates}))
    return proposals


def _fewest_seeds(runs: list[RunFolder]) -> int:
    """Returns the seeds of the line that has fewest: runs that differ in nothing but the seed are one line."""
    configs = [run.settings() for run in runs]
    varying = [key for key in varying_keys(configs) if key not in ("name", "seed")]
    seeds: dict[tuple[str, ...], set[int]] = {}
    for config in configs:
        seeds.setdefault(tuple(str(config.get(key)) for key in varying), set()).add(config["seed"])
    return min(map(len, seeds.values()))


def varying_keys(configs: list[dict[str, Any]]) -> list[str]:
    """Returns the keys in which flattened configs differ."""
    keys = dict.fromkeys(key for config in configs for key in config)
    return [key for key in keys if len({str(config.get(key)) for config in configs}) > 1]


def experiment_file(runs: list[RunFolder], proposal: Proposal) -> str:
    """Writes the same arms with one change: shared values as tables, the rest as [[arm]] tables, lists as a [sweep]."""
    configs = [run.settings() for run in runs]
    swept = {key: value for key, value in proposal.changes.items() if isinstance(value, list)}
    replaced = {"name", *proposal.changes}
    varying = [key for key in varying_keys(configs) if key not in replaced]
    shared = {key: value for key, value in configs[0].items() if key not in varying and key not in replaced}
    shared |= {key: value for key, value in proposal.changes.items() if key not in swept}
    tables: dict[str, Any] = {"name": f"{configs[0]['name']}-{proposal.name}"} | nested(shared)
    if varying:
        # Runs that differ only in a replaced key, such as the seed, are one arm.
        arms = {
            tuple(str(config.get(key)) for key in varying): (run, config) for run, config in zip(runs, configs, strict=True)
        }
        names = [SEED_IN_NAME.sub("", run.path.name) if "seed" in swept else run.path.name for run, _ in arms.values()]
        tables["arm"] = [
            {"name": name} | {key: config[key] for key in varying}
            for name, (_, config) in zip(names, arms.values(), strict=True)
        ]
    if swept:
        tables["sweep"] = swept
    return tomli_w.dumps(tables)


def nested(flat: dict[str, Any]) -> dict[str, Any]:
    """Turns {"train.steps": 8} into {"train": {"steps": 8}}.

    Other tools may have a value and a table of one name (model, model.path): such keys stay dotted.
    """
    tables: dict[str, Any] = {}
    for key, value in sorted(flat.items(), key=lambda pair: pair[0].count(".")):
        *path, name = key.split(".")
        table = tables
        for part in path:
            table = table.setdefault(part, {}) if isinstance(table, dict) else table
        if isinstance(table, dict):
            table.setdefault(name, value)
        else:
            tables[key] = value
    return tables
