"""Changes to model folders that must be refused, and the checks that they are."""

import json
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from helpers.model_folders import edit_json
from passus.errors import PassusError, UsageError
from passus.models import loader
from passus.models.model_files import INDEX

ODD_VALUES = [5, -1, 0, 1.5, 10**9, 10**18, "x", "", [], [5], [None], {}, {"a": 1}, None, True]
"""Values that a setting may not expect."""


def load(folder: Path) -> Any:
    return loader.load(str(folder), "cpu", "float32")


def refused(folder: Path, part: str, load: Callable[[Path], Any] = load) -> str:
    with pytest.raises(UsageError, match=part) as caught:
        load(folder)
    assert "expected:" in str(caught.value)
    return str(caught.value)


def forbid_pickles(monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes a test fail in which anything reaches a pickle."""

    def reached(*_, **__):
        raise AssertionError("a pickle was about to be read")

    monkeypatch.setattr(torch, "load", reached)
    monkeypatch.setattr(pickle, "load", reached)
    monkeypatch.setattr(pickle, "Unpickler", reached)


def survives_odd_values(folder: Path, file: str, key: str, load: Callable[[Path], Any] = load) -> None:
    """Loads a folder with each odd value; it may only load, or be refused with an error of usage."""
    original = (folder / file).read_text()
    for value in ODD_VALUES:
        (folder / file).write_text(original)
        edit_json(folder / file, **{key: value})
        try:
            load(folder)
        except PassusError as error:
            assert error.exit_code == 2, (key, value, error)


def point_index_to(folder: Path, shard: object) -> None:
    table = json.loads((folder / INDEX).read_text())
    table["weight_map"] = dict.fromkeys(table["weight_map"], shard)
    (folder / INDEX).write_text(json.dumps(table))


def spoil_tensor(path: Path, key: str, value: float, dtype: torch.dtype | None = None) -> None:
    tensors = load_file(path)
    tensors[key] = tensors[key].to(dtype or tensors[key].dtype).clone()
    tensors[key].view(-1)[-3] = value
    save_file(tensors, path, {"format": "pt"})
