"""From an experiment file to its arms: overrides, the sweep, and one resolved config per arm."""

import itertools
import math
import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.resources import files
from pathlib import Path
from typing import Any

import tomli_w

from passus.bounded_json import read_text
from passus.config.resolve import resolve
from passus.config.tables import Config, EvalTable, ModelTable, TrainTable
from passus.config.toml_text import MAX_BYTES, MAX_DEPTH, parse_toml
from passus.errors import UsageError, nearest, shown
from passus.methods.presets import PRESETS

MAX_ARMS = 2000
"""Arms of one experiment, generators of candidates not counted."""
FIGURES, RUN_MARKS = (".png", ".svg"), ("config.toml", "status.json", "checkpoints")
"""Endings of the figures that are drawn beside the arms, and names in a folder by which it is taken for a run."""
MAX_NAME = 120
"""Bytes of the name of an arm or an experiment. Both together, with a suffix, name the figure of a grid."""


@dataclass(frozen=True)
class Arm:
    name: str
    config: Config
    varied: dict[str, Any]
    """Keys of its [[arm]] table and of the sweep, with the values of this arm."""
    needs: tuple[str, ...] = ()
    """Arms that must finish before this one begins: the generators of a reward model's candidates."""


@dataclass(frozen=True)
class Experiment:
    name: str
    arms: list[Arm]
    text: str
    """Content of the file when it was read, so that later edits do not reach arms that start later."""

    def arm(self, name: str) -> Arm:
        for arm in self.arms:
            if arm.name == name:
                return arm
        names = [arm.name for arm in self.arms]
        raise UsageError(f"arm {name!r} is not in {self.name}", expected=", ".join(names), write=nearest(name, names))


def load_experiment(source: str, overrides: Sequence[str] = ()) -> Experiment:
    """Loads an experiment from a file or by the name of a shipped one, and applies `key=value` overrides."""
    name, text = _read(source)
    tables = parse_toml(text, source)
    if "imported" in tables:
        raise UsageError(f"{source}: it has [imported], which marks a run of another tool", expected="an experiment file")
    tables["arm"] = _arms(tables.get("arm", [{}]), source)
    tables["sweep"] = _swept(tables.get("sweep", {}), source)
    for override in overrides:
        _override(tables, override)
        tables["arm"] = _arms(tables["arm"], source)
        tables["sweep"] = _swept(tables["sweep"], source)
    listed = [(_given_name(arm, source), arm) for arm in tables.pop("arm")]
    sweep = _sweep(tables.pop("sweep"), source, len(listed))
    tables.setdefault("name", name)
    arms = []
    for (given, fixed), swept in itertools.product(listed, sweep):
        varied = fixed | swept
        point = _copy(tables)
        for key, value in varied.items():
            _set(point, key, value)
        config = resolve(point, source)
        parts = [given, *([_arm_name(swept, config)] if swept else [])] if given else [_arm_name(varied, config)]
        arms.append(Arm("_".join(parts), config, varied))
    arms = [*_generators(arms, source), *arms]
    _check_folders([arm.name for arm in arms], source)
    _check_folders([slug(str(tables["name"]))], source)
    _check_files(slug(str(tables["name"])), [arm.name for arm in arms], source)
    return Experiment(str(tables["name"]), arms, text)


def _given_name(arm: dict[str, Any], source: str) -> str:
    """Removes the name of an [[arm]] and returns it as a folder's name; empty where the arm has none."""
    if "name" not in arm:
        return ""
    name = arm.pop("name")
    if not isinstance(name, str):
        raise UsageError(f"{source}: the name of an arm is {shown(name)}", expected="a text")
    return slug(name)


def _check_folders(names: Sequence[str], source: str) -> None:
    """Refuses names that are too long, and names of one folder: some file systems do not distinguish upper and lower case."""
    for name in names:
        if len(name.encode()) > MAX_NAME:
            raise UsageError(
                f"{source}: the folder {shown(name, 60)} would have a name of {len(name.encode())} bytes",
                expected=f"at most {MAX_NAME}",
                write='[[arm]]\n         name = "short"',
            )
    first: dict[str, str] = {}
    for name in names:
        if (other := first.get(name.casefold())) is not None:
            raise UsageError(
                f"{source}: two arms would be called {other!r} and {name!r}",
                expected="names and sweep values that differ by more than case and punctuation",
            )
        first[name.casefold()] = name


def _check_files(experiment: str, names: Sequence[str], source: str) -> None:
    """Refuses an arm whose folder would have the name of a file: the figure beside it, or a file that marks a run."""
    figures = (f"{name}{suffix}" for name in (experiment, *(f"{experiment}-{arm}" for arm in names)) for suffix in FIGURES)
    taken = {file.casefold() for file in (*figures, *RUN_MARKS)}
    if name := next((name for name in names if name.casefold() in taken), None):
        raise UsageError(f"{source}: an arm would be called {name!r}, which is the name of a file", expected="another name")


def _generators(arms: list[Arm], source: str) -> list[Arm]:
    """Returns one arm per generator of candidates, and makes the reward models that learn from them wait for it."""
    generators: dict[str, Arm] = {}
    for n, arm in enumerate(arms):
        if arm.config.kind != "reward_model":
            continue
        names = []
        for base in arm.config.candidates.generators:
            config = _generator(arm.config, base)
            name = f"from-{slug(base.removeprefix('nano/').replace('@', '-step-'))}"
            generator = generators.setdefault(name, Arm(name, config, {"generator": base}))
            if len(generators) > MAX_ARMS:
                raise _too_many_arms(len(generators), source)
            if generator.config != config:
                raise UsageError(
                    f"{source}: two generators would be called {name}, {generator.config.model.base} and {base}, or their "
                    "settings differ between arms",
                    expected="one set of candidates for all arms: the same task, suite, seed and [candidates]",
                )
            names.append(name)
        arms[n] = replace(arm, needs=tuple(names))
    return list(generators.values())


def _generator(config: Config, base: str) -> Config:
    """Returns the config of a generator: only the fields that its answers depend on, because reward models differ in others."""
    kept_of_model = ("prompt", "system", "thinking", "lossy_prompts")
    model = ModelTable(base=base, **{name: getattr(config.model, name) for name in kept_of_model})
    suite = EvalTable(suite=config.eval.suite, limit=config.eval.limit, max_tokens=config.eval.max_tokens)
    kept = {name: getattr(config, name) for name in ("name", "seed", "task", "run")}
    candidates = config.candidates.model_copy(update={"sources": config.candidates.generators})
    train = TrainTable(max_tokens=config.train.max_tokens, steps=1)
    return Config(**kept, candidates=candidates, model=model, method=PRESETS["candidates"], train=train, eval=suite)


def shipped_experiments() -> list[str]:
    """Returns the names of the shipped experiments. Those for released checkpoints begin with `real/`."""
    root = files("passus") / "experiments"
    folders = {"": root, "real/": root / "real"}
    return [
        prefix + name.removesuffix(".toml")
        for prefix, folder in folders.items()
        for name in sorted(entry.name for entry in folder.iterdir())
        if name.endswith(".toml")
    ]


def _read(source: str) -> tuple[str, str]:
    path = Path(source)
    if source.endswith(".toml") or path.is_file():
        if not path.is_file():
            raise UsageError(f"no file {source}", expected=f"a TOML file, or one of: {', '.join(shipped_experiments())}")
        try:
            return path.stem, read_text(path, MAX_BYTES)
        except (UnicodeDecodeError, OSError) as error:
            raise UsageError(f"{source} cannot be read: {error}") from None
    known = shipped_experiments()
    if source not in known:
        raise UsageError(
            f"no experiment {source!r}", expected=f"a TOML file, or one of: {', '.join(known)}", write=nearest(source, known)
        )
    return source, (files("passus") / "experiments" / f"{source}.toml").read_text(encoding="utf-8")


def _override(tables: dict[str, Any], override: str) -> None:
    key, equals, text = override.partition("=")
    key = key.strip()
    if not equals or not key:
        raise UsageError(f"--set {override}", expected="key=value", write="--set train.steps=40")
    value = _override_value(text)
    sweep = tables["sweep"]
    for arm in tables["arm"] if key not in ("name", "arm") else []:
        arm.pop(key, None)  # an override also replaces the value of an [[arm]]
    if key.startswith("sweep."):
        sweep[key.removeprefix("sweep.")] = value
        return
    _set(tables, key, value)
    sweep.pop(key, None)  # a fixed key is no longer swept


def _override_value(text: str) -> Any:
    """Parses the value of an override. A text that is no TOML value is an unquoted word."""
    try:
        tables = parse_toml(f"value = {text}", "--set")
    except UsageError:
        return text
    return tables["value"] if len(tables) == 1 else text


def _set(tables: dict[str, Any], key: str, value: Any) -> None:
    *path, last = key.split(".")
    if len(path) > MAX_DEPTH:
        raise UsageError(f"{shown(key, 60)}: {len(path)} tables", expected="a key such as train.steps")
    for part in path:
        tables = tables.setdefault(part, {})
        if not isinstance(tables, dict):
            raise UsageError(f"{key}: {part} is a value, not a table", expected="a key such as train.steps")
    tables[last] = value


def _copy(tables: Mapping[str, Any]) -> dict[str, Any]:
    return {key: _copy(value) if isinstance(value, Mapping) else value for key, value in tables.items()}


def _swept(sweep: Any, source: str) -> dict[str, list[Any]]:
    """Returns {dotted key: values} of a [sweep]. Keys may be dotted, quoted, or in tables ([sweep.method])."""
    if not isinstance(sweep, dict):
        raise UsageError(
            f"{source}: sweep = {shown(sweep)}", expected="a table of lists", write="[sweep]\n         seed = [0, 1]"
        )
    flat = _flat(sweep)
    for key, values in flat.items():
        if not isinstance(values, list):
            raise UsageError(
                f"{source}: [sweep] {key} = {shown(values)}", expected="a list of values", write=f"{key} = [{_as_toml(values)}]"
            )
    if "name" in flat:
        raise UsageError(f"{source}: the sweep varies name, which names the experiment", expected="keys that change the run")
    return flat


def _as_toml(value: Any) -> str:
    """Returns a value as it is written in an experiment file, or dots for one that is long."""
    text = tomli_w.dumps({"value": value}).partition("=")[2].strip()
    return text if len(text) <= 60 else "..."


def _sweep(sweep: dict[str, list[Any]], source: str, listed: int) -> list[dict[str, Any]]:
    """Returns every combination of the sweep's values, as {key: value}; `listed` is the number of [[arm]] tables."""
    for key, values in sweep.items():
        if not values:
            raise UsageError(
                f'{source}: the grid has no arms, because sweep."{key}" is empty', expected="at least one value per key"
            )
    if (arms := listed * math.prod(map(len, sweep.values()))) > MAX_ARMS:
        raise _too_many_arms(arms, source)
    return [dict(zip(sweep, point, strict=True)) for point in itertools.product(*sweep.values())]


def _too_many_arms(arms: int, source: str) -> UsageError:
    return UsageError(
        f"{source} has {arms:,} arms or more", expected=f"at most {MAX_ARMS:,} per experiment", write="several experiments"
    )


def _arms(arms: Any, source: str) -> list[dict[str, Any]]:
    """Returns {dotted key: value} of each [[arm]], including its name."""
    if not isinstance(arms, list) or not all(isinstance(arm, dict) for arm in arms) or not arms:
        raise UsageError(
            f"{source}: arm = {shown(arms)}", expected="[[arm]] tables", write='[[arm]]\n         "model.base" = "nano/qwen3"'
        )
    return [_flat(arm) for arm in arms]


def _flat(table: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in table.items():
        inner = _flat(value, f"{prefix}{key}.") if isinstance(value, Mapping) else {f"{prefix}{key}": value}
        if twice := next((name for name in inner if name in flat), None):
            raise UsageError(f"{shown(twice, 60)} is given twice: as a quoted key and in a table", expected="one of them")
        flat |= inner
    return flat


def _arm_name(varied: dict[str, Any], config: Config) -> str:
    return "_".join(_value_name(key, value) for key, value in (varied or {"model.base": config.model.base}).items())


def _value_name(key: str, value: Any) -> str:
    """Returns the part of an arm's name that stands for one value. Numbers and signs are named by their key too."""
    text = str(value).rstrip("/").rsplit("/", 1)[-1] if key == "model.base" else str(value)
    if isinstance(value, str) and _folder_name(text):
        return slug(text)
    return slug(f"{key.rsplit('.', 1)[-1]}-{text or 'empty'}")


def slug(text: str) -> str:
    """Returns a name that is safe as the name of a folder. Raises UsageError for a text without a letter or a digit."""
    name = _folder_name(text)
    if not name:
        raise UsageError(f"the name {shown(text, 60)}", expected="at least one letter or digit, which names a folder")
    return name


def _folder_name(text: str) -> str:
    """Keeps letters, digits, dots and hyphens. Letters of all scripts count, so that two names stay two folders."""
    return re.sub(r"(?:[^\w.-]|_)+", "-", unicodedata.normalize("NFC", text)).strip("-.")
