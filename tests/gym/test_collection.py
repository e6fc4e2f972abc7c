"""The collection as one file: traces come back as they were read from the run folders."""

import numpy as np
import pytest

from helpers.small_run import run_small
from passus.diagnosis.trace import read_trace
from passus.gym.collection import first_bad_steps, read_collection, reduce_run, write_collection
from passus.runs.run_folder import RunFolder


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("gym")
    run_small(folder / "healthy-0")
    run_small(folder / "noisy-reward-1", fault={"name": "noisy-reward", "from_step": 2, "strength": 0.5})
    return sorted(folder.iterdir())


def test_traces_come_back(runs, tmp_path):
    write_collection(map(reduce_run, runs), tmp_path / "collection.parquet")
    traces = read_collection(tmp_path / "collection.parquet")
    assert list(traces) == [run.name for run in runs]
    for run in runs:
        own, back = read_trace(RunFolder(run)), traces[run.name]
        for table in ("metrics", "evals", "samples"):
            before, after = getattr(own, table), getattr(back, table)
            assert set(before) == set(after) and len(before) > 1
            for name in before:
                np.testing.assert_allclose(after[name], before[name], rtol=1e-6, equal_nan=True)
        assert back.settings == own.settings and not any(key.startswith("fault") for key in back.settings)
    assert first_bad_steps(tmp_path / "collection.parquet") == {"healthy-0": 1, "noisy-reward-1": 2}
