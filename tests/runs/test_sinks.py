"""Sinks: copies of a run's numbers for other tools. One that fails or hangs never stops the run, and says so once."""

import importlib.util
import struct
import threading

import pytest

from helpers.run_folders import eval_point, folder
from passus.errors import UsageError
from passus.runs.sinks import queue
from passus.runs.sinks.event_file import EventFile, masked_crc
from passus.runs.sinks.queue import QueuedSink
from passus.runs.sinks.tools import check_sinks, open_sinks


class Kept:
    """A sink in memory. It fails or hangs where it is told to."""

    name = "kept"

    def __init__(self, fails="", hangs=None):
        self.fails, self.hangs = fails, hangs
        self.rows, self.events = [], []

    def _do(self, event):
        self.events.append(event)
        if self.fails == event:
            raise ConnectionError("the server is gone")
        if self.hangs and event == "write":
            self.hangs.wait()

    def open(self):
        self._do("open")

    def write(self, step, numbers):
        self._do("write")
        self.rows.append((step, dict(numbers)))

    def close(self):
        self._do("close")


def test_a_run_folder_hands_its_numbers_over(tmp_path):
    sink, said = Kept(), []
    run = folder(tmp_path)
    run.sinks = [QueuedSink(sink, said.append)]
    run.append_metrics({"step": 7, "train/reward": 0.5, "train/kl": None, "note": "text"})
    run.append_evals([eval_point(7, "gsm8k")])
    run.sinks[0].close()
    assert sink.rows[0] == (7, {"train/reward": 0.5}) and sink.rows[1][1]["eval/gsm8k/acc"] == 0.5
    assert sink.events == ["open", "write", "write", "close"] and said == []


@pytest.mark.parametrize("fails", ["open", "write", "close"])
def test_a_sink_that_fails_says_so_once(fails):
    sink, said = Kept(fails=fails), []
    queued = QueuedSink(sink, said.append)
    for step in range(5):
        queued.put(step, {"a": 1.0})
    queued.close()
    queued.put(6, {"a": 1.0})
    queued.close()
    queued._thread.join()
    assert said == [
        "log.to = kept: the sink failed: ConnectionError: the server is gone. The run goes on, and its own record is complete."
    ]


def test_a_sink_that_hangs_does_not_hold_the_run_up(monkeypatch):
    monkeypatch.setattr(queue, "CLOSE_SECONDS", 0.05)
    released, said = threading.Event(), []
    sink = Kept(hangs=released)
    queued = QueuedSink(sink, said.append)
    for step in range(3):
        queued.put(step, {"a": 1.0})
    queued.close()
    assert len(said) == 1 and "did not finish within" in said[0] and sink.rows == []
    released.set()
    queued._thread.join()


def test_a_sink_that_takes_nothing_is_left_alone(monkeypatch):
    monkeypatch.setattr(queue, "MAX_WAITING", 5)
    released, said = threading.Event(), []
    queued = QueuedSink(Kept(hangs=released), said.append)
    for step in range(20):
        queued.put(step, {"a": 1.0})
    assert len(said) == 1 and "takes no rows any more" in said[0]
    queued.close()
    released.set()
    assert len(said) == 1


def test_a_sink_whose_package_is_missing_is_refused_before_the_run():
    missing = [name for name in ("wandb", "trackio") if importlib.util.find_spec(name) is None]
    for name in missing:
        with pytest.raises(UsageError, match=rf"pip install 'passus\[{name}\]'"):
            check_sinks(["tensorboard", name])
    check_sinks(["tensorboard"])


def test_event_files_have_the_framing_and_the_checksums_of_tfrecord(tmp_path):
    file = EventFile(tmp_path)
    file.write(3, {"train/reward": 0.5}, wall_time=1.79e9)
    file.close()
    data, at, events = file.path.read_bytes(), 0, []
    while at < len(data):
        (length,) = struct.unpack_from("<Q", data, at)
        assert struct.unpack_from("<I", data, at + 8)[0] == masked_crc(data[at : at + 8])
        events.append(data[at + 12 : at + 12 + length])
        assert struct.unpack_from("<I", data, at + 12 + length)[0] == masked_crc(events[-1])
        at += 16 + length
    assert len(events) == 2 and b"brain.Event:2" in events[0] and b"train/reward" in events[1]
    assert struct.pack("<f", 0.5) in events[1] and struct.pack("<d", 1.79e9) in events[1]


@pytest.mark.parametrize("data, crc", [(b"123456789", 0xE3069283), (bytes(32), 0x8A9136AA), (b"\xff" * 32, 0x62A8AB43)])
def test_checksums_are_those_of_the_rfc(data, crc):
    """CRC-32C of RFC 3720, appendix B.4, and of its check value, masked as TFRecord does."""
    assert masked_crc(data) == (((crc >> 15) | (crc << 17)) + 0xA282EAD8) & 0xFFFFFFFF


def test_the_tensorboard_sink_writes_beside_the_run(tmp_path):
    said: list[str] = []
    (sink,) = open_sinks(["tensorboard"], tmp_path, "id", {}, said.append)
    sink.put(1, {"train/reward": 0.5})
    sink.close()
    (path,) = (tmp_path / "tensorboard").iterdir()
    assert b"train/reward" in path.read_bytes() and said == []
