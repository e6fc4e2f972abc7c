"""Fixtures shared by all rooms: random models, a shipped model, a recorded run, benchmark data."""

import os
from pathlib import Path

from helpers.command import ONE_THREAD

os.environ |= ONE_THREAD  # before numpy and torch are imported: one worker per core, so one thread per worker

import pytest
import torch

from helpers.tiny_models import FAMILIES, tiny_model
from passus.grading import math_verify_pool


@pytest.fixture(params=FAMILIES)
def family_model(request):
    return tiny_model(request.param)


@pytest.fixture(scope="session")
def nano():
    """The shipped Qwen3-shaped model, on the CPU in float32."""
    from passus.models import loader

    return loader.load("nano/qwen3", "cpu", "float32")


@pytest.fixture(scope="session")
def small_run(tmp_path_factory):
    """The recorded run of helpers.small_run.EXPERIMENT, trained once per worker. Tests read it and never write to it."""
    from helpers.small_run import run_small

    return run_small(tmp_path_factory.mktemp("small-run") / "qwen3")


DATA = Path(os.environ.get("PASSUS_DATA") or Path(__file__).parents[2] / "shared/benchmarks")
"""The folder with benchmark data. Tests that need it are skipped where it does not exist."""


@pytest.fixture
def real_data(monkeypatch):
    if not (DATA / "gsm8k.jsonl").is_file():
        pytest.skip(f"no benchmark data at {DATA}: set PASSUS_DATA to a folder with it")
    monkeypatch.setenv("PASSUS_DATA", str(DATA.resolve()))
    return DATA


@pytest.fixture(autouse=True, scope="module")
def _patient_grading():
    """Gives math-verify ten minutes per answer and to start: on a busy machine, seconds may not be enough for an easy one.

    Tests of formulas that never end set a shorter limit, and expect no verdict from it.
    """
    pool = math_verify_pool.shared_pool()
    before = pool.seconds, math_verify_pool.START_SECONDS
    pool.seconds, math_verify_pool.START_SECONDS = 600.0, 600.0
    yield
    pool.seconds, math_verify_pool.START_SECONDS = before


@pytest.fixture(autouse=True)
def _one_thread():
    """Resets the threads of torch after every test, because commands that run in this process may change them."""
    yield
    torch.set_num_threads(1)
