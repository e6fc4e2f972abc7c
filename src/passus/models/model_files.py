"""The files of a model folder, checked before any other library reads them.

A model folder is data of whoever made it. Weights are read from safetensors only, also where an index or the configuration
names the files. JSON files are bounded in size and nesting, and nothing is opened that is not a plain file.
"""

import json
import math
import os.path
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from huggingface_hub import snapshot_download
from huggingface_hub.errors import StrictDataclassError
from safetensors import SafetensorError, safe_open
from torch import Tensor

from passus.bounded_json import MAX_FILE, parse_json, read_text
from passus.config.hub_revision import split_revision
from passus.errors import UsageError, is_out_of_memory, out_of_memory_error, shown

WEIGHTS, INDEX = "model.safetensors", "model.safetensors.index.json"
JSON_FILES = (
    "config.json", "generation_config.json", "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json",
    "adapter_config.json", "passus_base.json", INDEX,
)  # fmt: skip
"""JSON files of settings."""
TOKENIZER, MAX_TOKENIZER = "tokenizer.json", 1 << 28
SMALL_FILES = ("*.jinja", "additional_chat_templates/*.jinja")
HUB_FILES = ("*.json", "*.jinja", "*.model", "*.txt", "*.tiktoken")
"""Files of a hub model beside its weights."""

BAD_FILE_ERRORS = (
    OSError, ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RuntimeError, AssertionError, ImportError,
    StrictDataclassError, SafetensorError,
)  # fmt: skip
"""Exceptions of transformers, PEFT and torch for files that are not in the form they expect."""


def error_summary(error: BaseException) -> str:
    """Returns the first line of an error, with the second one where the first ends in a colon."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    if not lines or isinstance(error, KeyError):
        return repr(error)[:500]
    return (" ".join(lines[:2]) if lines[0].endswith(":") else lines[0])[:500]


@contextmanager
def refusing_bad_files(given: str, expected: str, write: str | None = None) -> Iterator[None]:
    """Turns whatever a library raises for a bad file into an error that begins with `given`."""
    try:
        yield
    except BaseException as error:
        if isinstance(error, (MemoryError, *BAD_FILE_ERRORS)) and is_out_of_memory(error):
            raise out_of_memory_error(error) from None
        if isinstance(error, torch.OutOfMemoryError) or not _is_bad_file(error):
            raise
        raise UsageError(f"{given}: {error_summary(error)}", expected=expected, write=write) from None


def _is_bad_file(error: BaseException) -> bool:
    """Returns whether an error is about a file. The tokenizers library raises `Exception` itself, or panics in Rust."""
    return isinstance(error, BAD_FILE_ERRORS) or type(error) is Exception or type(error).__name__ == "PanicException"


def local_folder(name: str, folder: str, *, weights: bool = True) -> str:
    """Returns the folder of a model; that of a hub id is downloaded first, unless it is on this machine already."""
    if os.path.isdir(folder):
        return folder
    patterns = [*HUB_FILES, *(["model*.safetensors", "adapter_model.safetensors"] if weights else [])]
    expected = "a folder, or the id of a model on the hub (owner/name) that this machine can reach or has downloaded"
    repository, revision = split_revision(folder)
    with refusing_bad_files(f"{name} cannot be loaded", expected):
        return snapshot_download(repository, revision=revision, allow_patterns=patterns)


def check_files(name: str, folder: Path, *, weights: bool = True) -> None:
    """Refuses a folder whose files are not plain, too large, not JSON objects, or name weights that are not safetensors.

    Without `weights` the weights may be absent, because they have not been downloaded.
    """
    for path in folder.iterdir():
        if path.exists() and not path.is_file() and not path.is_dir():
            raise UsageError(f"{name}: {path.name} is not a plain file", expected="a folder in Hugging Face layout")
    for path in (path for pattern in SMALL_FILES for path in folder.glob(pattern)):
        if path.stat().st_size > MAX_FILE:
            raise UsageError(f"{name}: {path.name} has more than {MAX_FILE:,} bytes", expected="a smaller file")
    tables = {file: _read_object(name, folder / file) for file in JSON_FILES if (folder / file).exists()}
    for problem in _odd_numbers(tables.get("config.json", {})):
        raise UsageError(f"{name}: config.json: {problem}", expected="numbers as save_pretrained of transformers writes them")
    _check_weight_files(name, folder, tables, weights)
    if (folder / TOKENIZER).exists():
        _check_tokenizer(name, folder / TOKENIZER)


def _read_object(name: str, path: Path) -> dict[str, Any]:
    with refusing_bad_files(f"{name} cannot be loaded: {path.name}", "a file as save_pretrained of transformers writes it"):
        table = parse_json(read_text(path))
        if not isinstance(table, dict):
            raise TypeError(f"it holds a {type(table).__name__}, and not an object")
        _check_names(table)
    return table


def _check_tokenizer(name: str, path: Path) -> None:
    """Refuses a tokenizer file that is no object, or whose added tokens have settings with control characters in their names.

    The rest of it is left to the tokenizers library. Its lists have hundreds of thousands of entries.
    """
    with refusing_bad_files(f"{name}: its tokenizer cannot be loaded: {path.name}", "a file that the tokenizers library wrote"):
        table = json.loads(read_text(path, MAX_TOKENIZER))
        if not isinstance(table, dict):
            raise TypeError(f"it holds a {type(table).__name__}, and not an object")
        _check_names(table.get("added_tokens"))
        if max(_growth(table.get("normalizer")), _growth(table.get("decoder"))) > MAX_GROWTH:
            raise ValueError(f"its replacements may make a text more than {MAX_GROWTH:,} times longer")


MAX_GROWTH = 1 << 12
"""Bound of the growth of a text in a tokenizer. That of known tokenizers is below 2,000, and the texts grow much less."""


def _growth(part: Any) -> int:
    """Returns an upper bound of how many times longer a normalizer or decoder of a tokenizer makes a text."""
    if not isinstance(part, dict):
        return 1
    if part.get("type") == "Replace":
        return 1 + len(str(part.get("content", "")))
    steps = part.get("normalizers") or part.get("decoders") or []
    return math.prod(map(_growth, steps)) if part.get("type") == "Sequence" and isinstance(steps, list) else 2


def _check_names(value: Any) -> None:
    """Raises ValueError for a name with control characters. The tokenizers library prints names that it does not know."""
    if key := next((key for key in _keys(value) if not key.isprintable()), None):
        raise ValueError(f"the name {shown(key)} has control characters")


def _keys(value: Any) -> Iterator[str]:
    """Yields every name in a JSON value. Nesting was bounded when it was parsed."""
    if isinstance(value, dict):
        yield from value
    for child in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _keys(child)


def _odd_numbers(value: Any, path: str = "", key: str = "") -> Iterator[str]:
    """Yields what is wrong with numbers of a configuration. Nesting was bounded when it was parsed.

    Counts are bounded because transformers makes lists of that length, before anything is compared with the weights.
    """
    if isinstance(value, float) and not math.isfinite(value):
        yield f"{path} is not a finite number"
    if isinstance(value, int) and abs(value) > (MOST_PARTS if COUNT.search(key) else MOST_UNITS):
        yield f"{path} = {value} is too large"
    children = (
        value.items() if isinstance(value, dict) else ((key, child) for child in value) if isinstance(value, list) else ()
    )
    for name, child in children:
        yield from _odd_numbers(child, f"{path}.{name}" if path else str(name), str(name))


COUNT = re.compile("^(num|n)_|layers|labels|experts|heads")
"""Names of settings that say how many parts a model has."""
MOST_PARTS, MOST_UNITS = 1 << 16, 1 << 31


def _check_weight_files(name: str, folder: Path, tables: dict[str, dict[str, Any]], weights: bool) -> None:
    """Refuses an index or a configuration that names weights outside this folder or in another format than safetensors."""
    config = tables.get("config.json", {})
    for table in (config, *(value for value in config.values() if isinstance(value, dict))):
        if table.get("transformers_weights") is not None:
            raise _bad_weights(name, f"config.json names the weights {shown(table['transformers_weights'])}")
        if table.get("quantization_config") is not None:
            raise _bad_weights(name, "its weights are quantised (quantization_config in config.json)")
    if INDEX not in tables:
        return
    shards = tables[INDEX].get("weight_map")
    if not isinstance(shards, dict) or not shards:
        raise _bad_weights(name, f"{INDEX} has no weight_map")
    if not isinstance(tables[INDEX].get("metadata", {}), dict):
        raise _bad_weights(name, f"{INDEX} has metadata of another form")
    for shard in shards.values():
        if not isinstance(shard, str) or Path(shard).name != shard or "\\" in shard or not shard.endswith(".safetensors"):
            raise _bad_weights(name, f"{INDEX} names {shown(shard)}")
        if weights and not (folder / shard).is_file() and not (folder / WEIGHTS).is_file():
            raise _bad_weights(name, f"{INDEX} names {shown(shard)}, which does not exist")


def _bad_weights(name: str, problem: str) -> UsageError:
    return UsageError(
        f"{name} cannot be loaded: {problem}",
        expected="weights in the folder itself, as safetensors",
        write="the folder again with save_pretrained of transformers, which makes safetensors",
    )


@dataclass(frozen=True)
class StoredWeights:
    """What the headers of weight files say."""

    shapes: dict[str, list[int]]
    """Shape of every tensor, by name."""

    @property
    def elements(self) -> int:
        return sum(map(math.prod, self.shapes.values()))


def stored_weights(folder: Path) -> StoredWeights:
    """Reads the headers of the weight files that a folder is loaded from. Raises one of BAD_FILE_ERRORS for a damaged one."""
    if (folder / WEIGHTS).is_file():
        files = {WEIGHTS}
    elif (folder / INDEX).is_file():
        files = set(parse_json(read_text(folder / INDEX))["weight_map"].values())
    else:
        raise FileNotFoundError(f"it has no {WEIGHTS} and no {INDEX}")
    return StoredWeights({name: shape for file in sorted(files) for name, shape in stored_shapes(folder / file).items()})


def has_weights(folder: Path) -> bool:
    """Whether the folder has all weight files that it is loaded from."""
    if (folder / WEIGHTS).is_file():
        return True
    shards = parse_json(read_text(folder / INDEX)).get("weight_map", {}).values() if (folder / INDEX).is_file() else ()
    return bool(shards) and all((folder / str(shard)).is_file() for shard in shards)


def stored_shapes(path: Path) -> dict[str, list[int]]:
    """Returns the shape of every tensor in a safetensors file. Raises TypeError for weights that are not real numbers.

    transformers would convert them, and they would mean something else: integers of a quantised model lack their scales.
    """
    shapes = {}
    with safe_open(path, "pt") as file:
        for name in file.keys():  # noqa: SIM118 (it is no dictionary)
            stored = file.get_slice(name)
            if name.endswith("weight") and not stored.get_dtype().startswith(("F", "BF")):
                raise TypeError(f"{name} is stored as {stored.get_dtype()}, and not as floating-point numbers")
            shapes[name] = stored.get_shape()
    return shapes


def check_finite(name: str, tensors: Iterable[tuple[str, Tensor]]) -> None:
    """Refuses weights that contain NaN or infinity. A model with such weights writes only one token, and nothing fails."""
    for key, tensor in tensors:
        if not tensor.is_floating_point() or not tensor.numel():
            continue
        low, high = torch.aminmax(tensor.detach() if tensor.element_size() > 1 else tensor.detach().float())
        if not math.isfinite(low.item()) or not math.isfinite(high.item()):
            raise UsageError(
                f"{name}: {key} contains {'NaN' if math.isnan(low.item()) else 'infinity'} in {tensor.dtype}",
                expected="finite weights: this model has diverged, or its file is damaged",
            )
