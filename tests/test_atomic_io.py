"""Rows are appended whole or not at all, and read from the end of long files."""

import errno
import subprocess
import sys

import pytest

from passus import atomic_io


def test_nan_is_refused(tmp_path):
    with pytest.raises(ValueError):
        atomic_io.append_lines(tmp_path / "x.jsonl", [{"a": float("nan")}])


def test_the_newest_rows_are_read_from_the_end_of_a_long_file(tmp_path):
    path = tmp_path / "evals.jsonl"
    atomic_io.append_lines(path, [{"step": step, "benchmark": b, "text": "x" * 500} for step in range(300) for b in "ab"])
    assert [(row["step"], row["benchmark"]) for row in atomic_io.last_step(path)] == [(299, "a"), (299, "b")]
    assert atomic_io.last_step(tmp_path / "none") == []


def test_a_full_disk_leaves_complete_lines(tmp_path):
    """The kernel writes a part of the line and reports only the count; a limit on the file size has the same effect."""
    code = f"""
import resource, signal
from pathlib import Path
from passus.atomic_io import append_lines
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
path = Path({str(tmp_path / "x.jsonl")!r})
append_lines(path, [{{"step": 1}}])
resource.setrlimit(resource.RLIMIT_FSIZE, (20, 20))
try:
    append_lines(path, [{{"step": 2, "text": "long enough"}}])
except OSError as error:
    print(error.errno)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.strip() == str(errno.EFBIG), done.stderr
    assert (tmp_path / "x.jsonl").read_text() == '{"step": 1}\n'
