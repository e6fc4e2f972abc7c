"""Fixtures: small random models, the shipped one, benchmark data."""

import os
from pathlib import Path

import pytest
import torch

from helpers.tiny_models import FAMILIES, tiny_model
from passus.models import loader


@pytest.fixture(params=FAMILIES)
def family_model(request):
    return tiny_model(request.param)


@pytest.fixture(scope="session")
def nano():
    """The shipped model, on CPU in float32."""
    return loader.load("nano/qwen3", "cpu", "float32")


DATA = Path(os.environ.get("PASSUS_DATA") or Path(__file__).parents[2] / "shared/benchmarks")
"""Where benchmarks lie; tests that need them skip where they do not."""


@pytest.fixture
def real_data(monkeypatch):
    if not (DATA / "gsm8k.jsonl").is_file():
        pytest.skip(f"no benchmark data at {DATA}: set PASSUS_DATA to a folder with it")
    monkeypatch.setenv("PASSUS_DATA", str(DATA.resolve()))
    return DATA


@pytest.fixture(autouse=True, scope="session")
def _one_thread():
    torch.set_num_threads(1)
