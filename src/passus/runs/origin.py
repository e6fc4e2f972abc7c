"""The run behind a curve, and the names of lines: runs that differ only by seed share a line."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from passus.runs.run_folder import RunFolder

NO_DIFFERENCE = (
    "seed", "log.to", "log.token_logprobs", "model.lossy_prompts", "run.save_every", "run.keep_checkpoints", "figure",
)  # fmt: skip
"""Keys that may differ between runs of one line."""
SIZE = re.compile(r"(?<![\w.])(\d+(?:\.\d+)?)([KMB])(?![A-Za-z])(?! tokens)", re.IGNORECASE)
"""A model size in a name: 0.8M, 32b."""


VAGUE = ("model", "name", "base")
"""Names of settings that say little without their table."""
MAX_SUFFIX = 60
"""Characters of a suffix that are preferred."""


@dataclass(frozen=True)
class Origin:
    """The run that a curve comes from."""

    path: Path
    model: str
    tuning: str
    method: str
    seed: int
    settings: tuple[tuple[str, str], ...]
    """All other settings. Runs that agree in them are one experiment, repeated with several seeds."""
    family: str | None = None
    parameters: float | None = None
    kind: str = "rl"
    """`rl`, `sft`, `reward_model` or `candidates`, as in `Config.kind`."""
    steps: int = 0
    """Training steps of the whole run."""
    fault: str = ""
    """Its fault on purpose, in words."""
    tool: str = ""
    """Format that it was imported from; empty for a run of passus."""
    seed_known: bool = True
    """False where `seed` only numbers the runs of a line."""


def origin_of(run: RunFolder) -> Origin:
    config, model = run.config(), run.meta()["model"] or {}
    fault, imported = config.fault.describe(), config.imported
    method = imported.method if imported.tool else config.method.name
    settings = {key: str(value) for key, value in run.settings().items() if key not in NO_DIFFERENCE}
    settings = {key: value for key, value in settings.items() if not key.startswith("fault.")} | {"fault": fault or "none"}
    label, tuning = model.get("label", run.path.name), model.get("tuning", "live")
    return Origin(
        run.path, label, tuning, method, config.seed, tuple(settings.items()), model.get("family"),
        model.get("parameters"), config.kind, config.train.steps, fault, imported.tool, imported.seed_known,
    )  # fmt: skip


def group_by_seed(origins: Sequence[Origin]) -> list[list[Origin]]:
    """Groups runs that differ only by seed. A seed may have several runs, which differ by rounding on other hardware.

    A run that repeats the numbers of another is a copy and has no luck of its own: it is a line of its own.
    """
    groups: dict[Any, list[Origin]] = {}
    for origin in origins:
        groups.setdefault((origin.model, origin.tuning, origin.settings), []).append(origin)
    lines: list[list[Origin]] = []
    copies: list[Origin] = []
    for group in groups.values():
        by_seed: dict[int, list[Origin]] = {}
        for origin in group:
            same_seed = by_seed.setdefault(origin.seed, [])
            (copies if any(_is_copy(origin, other) for other in same_seed) else same_seed).append(origin)
        lines.append([origin for origin in group if origin in by_seed[origin.seed]])
    return lines + [[copy] for copy in copies]


def _is_copy(origin: Origin, other: Origin) -> bool:
    """Returns whether two runs have the same numbers at all eval points that both have."""
    mine, theirs = (
        {(p.step, p.benchmark, p.temperature): (p.acc, p.tokens_mean) for p in RunFolder(run.path).evals()}
        for run in (origin, other)
    )
    shared = mine.keys() & theirs.keys()
    return bool(shared) and all(mine[key] == theirs[key] for key in shared)


def seed_names(line: Sequence[Origin]) -> dict[Origin, str]:
    """Names the runs of a line by their seeds; of several runs with one seed, the second is `seed 1, run 2`."""
    count: Counter[int] = Counter()
    names = {}
    for origin in line:
        count[origin.seed] += 1
        word = "seed" if origin.seed_known else "run"
        names[origin] = f"{word} {origin.seed}" + (f", run {count[origin.seed]}" if count[origin.seed] > 1 else "")
    return names


def line_names(lines: Sequence[Sequence[Origin]]) -> list[str]:
    """Names lines by what distinguishes them: model, tuning, method, else the settings that differ, else the folder.

    What all lines share is in no name, except the model where nothing else differs.
    """
    heads = [line[0] for line in lines]
    several = {key: len({getattr(head, key) for head in heads}) > 1 for key in ("model", "tuning", "method")}
    names = [_name(head, several) for head in heads]
    distinct = list(names)
    for name in set(names):
        same = [i for i, other in enumerate(names) if other == name]
        if len(same) > 1:
            for i, suffix in zip(same, _suffixes([lines[i] for i in same]), strict=True):
                distinct[i] = f"{name}: {suffix}" if any(several.values()) else suffix
    return distinct


def _name(head: Origin, several: Mapping[str, bool]) -> str:
    """Returns the properties of a run in which the lines differ; its model where they differ in none."""
    tuning = head.tuning.capitalize() if several["tuning"] else ""
    model = head.model if several["model"] or not (several["tuning"] or several["method"]) else ""
    words = " ".join(filter(None, [tuning, model]))
    return ": ".join(filter(None, [words, head.method if several["method"] else ""]))


def _suffixes(lines: Sequence[Sequence[Origin]]) -> list[str]:
    """Distinguishes lines of one name: by one setting or, for means over seeds, by all that differ; else by folder."""
    settings = [dict(line[0].settings) for line in lines]
    vary = [key for key in settings[0] if len({s.get(key) for s in settings}) > 1]
    candidates = [["/".join(line[0].path.resolve().parts[-n:]) for line in lines] for n in (1, 2, 99)]
    if len(vary) == 1 or any(len(line) > 1 for line in lines):
        candidates.insert(0, [", ".join(_setting(key, s.get(key)) for key in vary) for s in settings])
    fitting = [suffixes for suffixes in candidates if len(set(suffixes)) == len(lines)]
    return next((suffixes for suffixes in fitting if max(map(len, suffixes)) <= MAX_SUFFIX), fitting[0])


def _setting(key: str, value: str | None) -> str:
    """Returns a setting in words: length_reward 0.2; of a path its last part: reward model qwen3-26k."""
    name = key.rpartition(".")[2]
    return f"{key.replace('.', ' ') if name in VAGUE else name} {str(value).rpartition('/')[2]}"


def names_by_origin(origins: Sequence[Origin]) -> dict[Origin, str]:
    """Returns the line name of each run."""
    lines = group_by_seed(origins)
    return {origin: name for line, name in zip(lines, line_names(lines), strict=True) for origin in line}


def parameters_in(name: str) -> float | None:
    """Returns the number of parameters of a model that is named by its size: 0.8M, 32b."""
    match = SIZE.search(name)
    return float(match[1]) * {"K": 1e3, "M": 1e6, "B": 1e9}[match[2].upper()] if match else None
