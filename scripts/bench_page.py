"""Measures the live page on 200 runs of 2,000 steps, 5 training metrics and 20 eval points, in Chromium.

    python scripts/bench_page.py --out bench/cpu-2-cores/live-page.json            # five minutes on two cores
    python scripts/bench_page.py --step-time 300 --out bench/cpu-2-cores/live-page-step-time.json

First paint is the time from the request of the page to curves on the screen, after the server has read everything, and once
right after it has started. An update is one new row of every run. The effect on the step time is measured within one run that
trains: the server of the page is stopped and continued every few seconds, so that both conditions see the same machine.
"""

import argparse
import http.client
import json
import os
import re
import shutil
import signal
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from playwright.sync_api import sync_playwright

from passus.config.resolve import resolve
from passus.page.collection import RunCollection
from passus.page.feed import FigureFeed
from passus.page.line_figures import line_figure, sources_of
from passus.page.view import View
from passus.runs.run_folder import RunFolder

LINES, SEEDS, STEPS, EVERY, PAGES = 40, 5, 2000, 100, 20
TURN_SECONDS = 6.0
METRICS = ("train/reward", "train/entropy", "train/kl", "train/grad_norm", "train/truncated")
VIEWS = {
    "curves": View(), "curves, all 40 lines": View(every=True), "signals": View("signals"),
    "signals, all 40 lines": View("signals", every=True),
}  # fmt: skip
ADDRESSES = {
    "curves": "",
    "curves, all 40 lines": "#all=1",
    "signals": "#tab=signals",
    "signals, all 40 lines": "#tab=signals&all=1",
}
TABLES: dict[str, Any] = {
    "model": {"base": "nano/qwen3"}, "task": {"name": "abacus/add2"}, "run": {"device": "cpu", "dtype": "float32"},
    "eval": {"every": EVERY, "suite": ["abacus/add2"]},
}  # fmt: skip
TRAINED = """
name = "bench"
[model]
base = "nano/qwen3"
[task]
name = "abacus/add2"
[train]
steps = 100000
prompts = 4
samples = 4
max_tokens = 24
[eval]
every = 20
suite = ["abacus/add2"]
samples = 2
limit = 20
[run]
device = "cpu"
"""


def metric_row(step: int, values: Sequence[float]) -> dict[str, float]:
    row = {"step": step} | dict(zip(METRICS, values, strict=True))
    return row | {"train/num_tokens": 1000 * step, "time/elapsed": 0.5 * step}


def eval_row(step: int, accuracy: float) -> dict[str, Any]:
    return {
        "step": step, "benchmark": "abacus/add2", "temperature": 1.0, "q": 200, "k": 4, "acc": accuracy,
        "ci_low": accuracy - 0.05, "ci_high": accuracy + 0.05, "tokens_mean": 20.0, "se": 0.01,
    }  # fmt: skip


def make_runs(folder: Path) -> list[Path]:
    """Writes the runs of the load."""
    paths = []
    for line in range(LINES):
        for seed in range(SEEDS):
            path = folder / f"lr-{line:02d}-seed-{seed}"
            path.mkdir(parents=True)
            tables = TABLES | {"seed": seed, "train": {"steps": STEPS + 200, "learning_rate": round(1e-5 * (line + 1), 6)}}
            run, rng = RunFolder(path), np.random.default_rng([line, seed])
            run.start(resolve(tables, "bench"), {"label": "Qwen3-shaped", "tuning": "live"}, None)
            steps = range(EVERY, STEPS + 1, EVERY)
            accuracies = 0.35 + 0.4 * np.tanh(np.array(steps) / 800) + 0.003 * line + 0.02 * rng.normal(size=len(steps))
            write_rows(path / "evals.jsonl", [eval_row(step, float(a)) for step, a in zip(steps, accuracies, strict=True)])
            rows = rng.random((STEPS, len(METRICS)))
            write_rows(path / "metrics.jsonl", [metric_row(n + 1, row) for n, row in enumerate(rows.tolist())])
            run.write_status(state="finished")
            paths.append(path)
    return paths


def write_rows(path: Path, rows: list[dict[str, Any]]) -> None:
    with open(path, "a", encoding="utf-8") as file:
        file.write("".join(json.dumps(row) + "\n" for row in rows))


def add_row(paths: Sequence[Path], kind: str, step: int) -> None:
    for number, path in enumerate(paths):
        if kind == "metrics":
            write_rows(path / "metrics.jsonl", [metric_row(step, [((step * 7 + number) % 100) / 100] * 5)])
        else:
            write_rows(path / "evals.jsonl", [eval_row(step, 0.7 + (number % 10) / 100)])


@contextmanager
def served(folder: Path) -> Iterator[tuple[int, int]]:
    """Yields process id and port of the page."""
    command = [sys.executable, "-P", "-m", "passus", "serve", str(folder), "--port", "0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        found = re.search(r":(\d+)/", process.stdout.readline())
        assert found is not None
        yield process.pid, int(found[1])
    finally:
        process.send_signal(signal.SIGCONT)
        process.terminate()
        process.wait(30)


def memory_mb(pid: int) -> dict[str, float]:
    """Returns the highest memory of the server, and that of its workers together."""

    def peak(of: str) -> float:
        found = re.search(r"VmHWM:\s+(\d+)", Path(f"/proc/{of}/status").read_text())
        return int(found[1]) / 1000 if found else 0.0

    listed = subprocess.run(["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True, text=True).stdout.split()
    return {"server": peak(str(pid)), "workers": sum(map(peak, listed))}


def cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def with_workers(pid: int) -> float:
    """Returns the CPU seconds of the server and of its workers."""
    listed = subprocess.run(["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True, text=True).stdout.split()
    return cpu_seconds(pid) + sum(cpu_seconds(int(worker)) for worker in listed)


def first_paint(port: int, names: Sequence[str], loads: int) -> dict[str, Any]:
    """Returns seconds from the request to curves on the screen, and the memory of the page's scripts."""
    result: dict[str, Any] = {}
    with sync_playwright() as started:
        browser = started.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        browser.new_page().goto("about:blank")
        for name in names:
            times, heaps = [], []
            for _ in range(loads):
                page = browser.new_page(viewport={"width": 1280, "height": 900})
                began = time.perf_counter()
                page.goto(f"http://127.0.0.1:{port}/{ADDRESSES[name]}", wait_until="commit")
                page.locator(".chart[data-draws]").nth(0 if name.startswith("curves") else len(METRICS) - 1).wait_for(
                    timeout=60_000
                )
                times.append(time.perf_counter() - began)
                session = page.context.new_cdp_session(page)
                session.send("Performance.enable")
                values = {row["name"]: row["value"] for row in session.send("Performance.getMetrics")["metrics"]}
                heaps.append(values["JSHeapUsedSize"] / 1e6)
                page.close()
            result[name] = {"seconds": statistics.median(times), "all": times, "heap_mb": statistics.median(heaps)}
        browser.close()
    return result


def server_times(folder: Path, paths: Sequence[Path], first_step: int) -> dict[str, Any]:
    """Returns, per view, the seconds of reading and computing and the bytes of an update, measured in this process."""
    collection = RunCollection([folder])
    while collection.look() or collection.has_more:
        pass
    result: dict[str, Any] = {}
    for name, view in VIEWS.items():
        feed = FigureFeed(lambda view=view: line_figure(collection, view))  # type: ignore[misc]
        began = time.perf_counter()
        feed.refresh(collection.version_of(sources_of(view)))
        whole = feed.since(0) or ""
        result[name] = {"first": {"seconds": time.perf_counter() - began, "bytes": len(whole.encode())}}
        for kind in ("metrics", "evals"):
            times, spent, sizes = [], [], []
            for _ in range(5):
                first_step += 1
                add_row(paths, kind, first_step)
                version = feed.version
                began, used = time.perf_counter(), time.process_time()
                collection.look()
                feed.refresh(collection.version_of(sources_of(view)))
                message = feed.since(version) or ""
                times.append(time.perf_counter() - began)
                spent.append(time.process_time() - used)
                sizes.append(len(message.encode()))
            result[name][kind] = {
                "seconds": statistics.median(times), "cpu_seconds": statistics.median(spent), "bytes": statistics.median(sizes)
            }  # fmt: skip
    return result


def many_pages(pid: int, port: int, paths: Sequence[Path], step: int) -> dict[str, Any]:
    """Returns how long it takes until 20 pages of four views have an update, and what it costs."""
    arrived: list[float] = []
    ready = threading.Barrier(PAGES + 1)

    def follow(query: str) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
        connection.request("GET", f"/events?{query}")
        answer, seen = connection.getresponse(), 0
        while line := answer.readline():
            if line.startswith(b"event: figure"):
                seen += 1
                if seen == 1:
                    ready.wait()
                else:
                    arrived.append(time.perf_counter())
                    break
        connection.close()

    queries = ["", "x=tokens", "kind=signals", "kind=signals&all=1"]
    threads = [threading.Thread(target=follow, args=(queries[n % len(queries)],)) for n in range(PAGES)]
    for thread in threads:
        thread.start()
    ready.wait()
    time.sleep(2)
    began, spent = time.perf_counter(), cpu_seconds(pid)
    add_row(paths, "metrics", step)
    add_row(paths, "evals", step)
    for thread in threads:
        thread.join(120)
    delays = sorted(at - began for at in arrived)
    return {
        "pages": len(delays),
        "median_s": delays[len(delays) // 2],
        "last_s": delays[-1],
        "server_cpu_s": cpu_seconds(pid) - spent,
    }


def step_time(seconds: float) -> dict[str, Any]:
    """Returns the step time of a run with the page, open in two tabs, and with the page stopped, in turns."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "bench.toml").write_text(TRAINED)
        (folder / "runs").mkdir()
        command = [sys.executable, "-P", "-m", "passus", "run", "bench.toml", "--out", "runs"]
        with served(folder / "runs") as (pid, port):
            for query in ("kind=curves", "kind=signals"):
                threading.Thread(target=_drain, args=(port, query), daemon=True).start()
            training = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            metrics = folder / "runs" / "qwen3" / "metrics.jsonl"
            while not metrics.exists() and training.poll() is None:
                metrics = next((folder / "runs").glob("*/metrics.jsonl"), metrics)
                time.sleep(0.5)
            until, blocks = time.monotonic() + seconds, []
            began, spent = time.monotonic(), with_workers(pid)
            while time.monotonic() < until:
                is_on = len(blocks) % 4 in (0, 3)  # on, off, off, on: a machine that gets busier favours neither
                os.kill(pid, signal.SIGCONT if is_on else signal.SIGSTOP)
                before = len(metrics.read_bytes().splitlines())
                time.sleep(TURN_SECONDS)
                new = metrics.read_bytes().splitlines()[before + 1 :]  # the first one began before
                blocks.append([json.loads(line)["time/step"] for line in new])
            share = (with_workers(pid) - spent) / (time.monotonic() - began) * 2  # it runs half of the time
            training.send_signal(signal.SIGTERM)
            training.wait(60)
    return {"page_cpu_share": share} | _ratio(blocks)


def _drain(port: int, query: str) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=600)
    connection.request("GET", f"/events?{query}")
    answer = connection.getresponse()
    try:
        while answer.readline():
            pass
    except (OSError, http.client.HTTPException):
        return


def _ratio(blocks: Sequence[Sequence[float]]) -> dict[str, Any]:
    """Returns the ratio of step times with the page to those without, as medians of four turns that belong together."""
    ratios, counts = [], [0, 0]
    for at in range(0, len(blocks) - 3, 4):
        on, off = [*blocks[at], *blocks[at + 3]], [*blocks[at + 1], *blocks[at + 2]]
        if on and off:
            ratios.append(statistics.median(on) / statistics.median(off))
            counts = [counts[0] + len(on), counts[1] + len(off)]
    logs, rng = np.log(ratios), np.random.default_rng(0)
    low, high = np.exp(np.percentile([rng.choice(logs, len(logs)).mean() for _ in range(4000)], [2.5, 97.5]))
    return {
        "groups_of_turns": len(ratios), "steps_with": counts[0], "steps_without": counts[1],
        "seconds_per_step": statistics.median(t for block in blocks for t in block),
        "ratio": float(np.exp(logs.mean())), "ratio_ci": [float(low), float(high)],
    }  # fmt: skip


def page_figures() -> dict[str, Any]:
    result: dict[str, Any] = {"runs": LINES * SEEDS, "steps": STEPS, "metrics": len(METRICS), "eval_points": STEPS // EVERY}
    with TemporaryDirectory() as name:
        folder = Path(name) / "load"
        paths = make_runs(folder)
        result["bytes_on_disk"] = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
        with served(folder) as (pid, port):
            began = time.perf_counter()
            result["first_paint_right_after_the_start"] = first_paint(port, ["curves"], 1)
            while cpu_is_busy(pid):
                pass
            result["everything_read_s"] = time.perf_counter() - began
            result["first_paint"] = first_paint(port, list(ADDRESSES), 5)
            result["twenty_pages"] = many_pages(pid, port, paths, STEPS + 1)
            result["memory_mb"] = memory_mb(pid)
        result["server"] = server_times(folder, paths, STEPS + 2)
    return result


def cpu_is_busy(pid: int) -> bool:
    before = cpu_seconds(pid)
    time.sleep(1.0)
    return cpu_seconds(pid) - before > 0.15


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--step-time", type=float, default=0.0, metavar="SECONDS")
    options = parser.parse_args()
    before = os.getloadavg()[0]
    figures = step_time(options.step_time) if options.step_time else page_figures()
    text = json.dumps({"cpus": os.cpu_count(), "load_before": before, "load_after": os.getloadavg()[0]} | figures, indent=1)
    print(text)
    if options.out:
        options.out.write_text(text + "\n")


if __name__ == "__main__":
    main()
