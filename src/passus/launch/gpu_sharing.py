"""NVIDIA's Multi-Process Service (MPS), which lets the processes on one GPU compute at the same time.

Without it, processes that share a GPU take turns, and an arm of a small model leaves most of the GPU idle in its turn: twelve
workers on an H200 make about twice as many runs per hour with it (docs/speed.md). The service is a daemon of the user's own, in
a folder of its own, and ends with the runner. One that the user has started is left alone and used.
"""

import ctypes
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

CONTROL = "nvidia-cuda-mps-control"
PIPES, LOGS, VISIBLE = "CUDA_MPS_PIPE_DIRECTORY", "CUDA_MPS_LOG_DIRECTORY", "CUDA_VISIBLE_DEVICES"
START_SECONDS, PROBE_SECONDS, QUIT_SECONDS = 10, 30, 10
PROBE = """
import ctypes
driver, context = ctypes.CDLL("libcuda.so.1"), ctypes.c_void_p()
raise SystemExit(driver.cuInit(0) or driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0))
"""
"""Makes a context on the first GPU, as every process that uses CUDA does."""


@contextmanager
def shared_gpus(gpus: Sequence[str | None]) -> Iterator[Mapping[str, str]]:
    """Starts the service if several of these workers have the same GPU. Yields the environment of workers that use it.

    `gpus` has the GPU of each worker. The environment is empty where the service is not needed or does not work.
    """
    control = shutil.which(CONTROL)
    if control is None or None in gpus or len(set(gpus)) == len(gpus) or PIPES in os.environ:
        yield {}
        return
    with tempfile.TemporaryDirectory(prefix="passus-mps-") as folder:
        own = {PIPES: folder, LOGS: folder}
        # The service sees all GPUs, so that their numbers are the same for its clients.
        environment = {name: value for name, value in os.environ.items() if name != VISIBLE} | own
        daemon = subprocess.Popen(
            [control, "-f"], env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            start_new_session=True, preexec_fn=_end_with_parent,
        )  # fmt: skip
        try:
            yield own if _is_ready(daemon, Path(folder)) and _accepts_clients(own) else {}
        finally:
            _quit(control, daemon, environment)


def _end_with_parent() -> None:
    """Ends the daemon with the runner, even if that is killed."""
    if sys.platform == "linux":
        set_parent_death_signal = 1
        ctypes.CDLL(None).prctl(set_parent_death_signal, signal.SIGTERM)


def _is_ready(daemon: subprocess.Popen[bytes], folder: Path) -> bool:
    end = time.monotonic() + START_SECONDS
    while daemon.poll() is None and time.monotonic() < end:
        if (folder / "control").exists():
            return True
        time.sleep(0.05)
    return False


def _accepts_clients(own: Mapping[str, str]) -> bool:
    """Whether a process can use the first GPU through the service, which some drivers and containers do not allow."""
    try:
        probe = subprocess.run(
            [sys.executable, "-c", PROBE], env=os.environ | own, timeout=PROBE_SECONDS, check=False, capture_output=True
        )
    except subprocess.TimeoutExpired:
        return False
    return probe.returncode == 0


def _quit(control: str, daemon: subprocess.Popen[bytes], environment: Mapping[str, str]) -> None:
    if daemon.poll() is None:
        try:
            subprocess.run([control], input=b"quit\n", env=environment, timeout=QUIT_SECONDS, check=False, capture_output=True)
            daemon.wait(QUIT_SECONDS)
        except subprocess.TimeoutExpired:
            daemon.kill()
            daemon.wait()
