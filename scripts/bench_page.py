"""Measures the live page on 200 runs of 2,000 steps, 5 training metrics and 20 eval points, in Chromium.

    python scripts/bench_page.py --out bench/cpu-2-cores/live-page.json            # six minutes on two idle cores

First paint is the time from the request of the page to curves on the screen, after the server has read everything, and once
right after it has started. An update is one new row of every run, or of one of them. `bench_page_step_time.py` measures the
effect on the step time of a run.
"""

import argparse
import http.client
import json
import math
import os
import re
import shutil
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from playwright.sync_api import sync_playwright

from passus.config.resolve import resolve
from passus.page.feed import FigureFeed
from passus.page.line_figures import line_figure, sources_of
from passus.page.live_page import LivePage
from passus.page.view import View
from passus.runs.eval_point import EvalPoint
from passus.runs.run_folder import RunFolder

LINES, SEEDS, STEPS, EVERY, PAGES = 40, 5, 2000, 100, 20
UPDATES = 7
"""Updates of each kind, whose median is reported."""
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


def metric_row(step: int, values: Sequence[float]) -> dict[str, float]:
    row = {"step": step} | dict(zip(METRICS, values, strict=True))
    return row | {"train/num_tokens": 1000 * step, "time/elapsed": 0.5 * step}


def eval_point(step: int, accuracy: float) -> EvalPoint:
    return EvalPoint.from_row({
        "step": step, "benchmark": "abacus/add2", "temperature": 1.0, "q": 200, "k": 4, "acc": accuracy,
        "ci_low": accuracy - 0.05, "ci_high": accuracy + 0.05, "tokens_mean": 20.0, "se": 0.01,
    })  # fmt: skip


def make_runs(folder: Path) -> list[RunFolder]:
    """Writes the runs of the load, as a run writes them."""
    runs = []
    for line in range(LINES):
        for seed in range(SEEDS):
            path = folder / f"lr-{line:02d}-seed-{seed}"
            path.mkdir(parents=True)
            tables = TABLES | {"seed": seed, "train": {"steps": STEPS + 200, "learning_rate": round(1e-5 * (line + 1), 6)}}
            run, rng = RunFolder(path), np.random.default_rng([line, seed])
            run.start(resolve(tables, "bench"), {"label": "Qwen3-shaped", "tuning": "live"}, None)
            for step, row in enumerate(rng.random((STEPS, len(METRICS))).tolist(), start=1):
                run.append_metrics(metric_row(step, row))
                if step % EVERY == 0:
                    accuracy = 0.35 + 0.4 * math.tanh(step / 800) + 0.003 * line + 0.02 * rng.normal()
                    run.append_evals([eval_point(step, accuracy)])
            run.write_status(state="finished")
            runs.append(run)
    return runs


def add_row(runs: Sequence[RunFolder], kind: str, step: int) -> None:
    for number, run in enumerate(runs):
        if kind == "metrics":
            run.append_metrics(metric_row(step, [((step * 7 + number) % 100) / 100] * 5))
        else:
            run.append_evals([eval_point(step, 0.7 + (number % 10) / 100)])


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
        process.terminate()
        process.wait(30)


def workers_of(pid: int) -> list[int]:
    listed = subprocess.run(["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True, text=True).stdout.split()
    return list(map(int, listed))


def memory_mb(pid: int) -> dict[str, float]:
    """Returns the highest memory of the server, and that of its workers together."""

    def peak(of: int) -> float:
        found = re.search(r"VmHWM:\s+(\d+)", Path(f"/proc/{of}/status").read_text())
        return int(found[1]) / 1000 if found else 0.0

    return {"server": peak(pid), "workers": sum(map(peak, workers_of(pid)))}


def cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def with_workers(pid: int) -> float:
    """Returns the CPU seconds of the server and of its workers."""
    return cpu_seconds(pid) + sum(map(cpu_seconds, workers_of(pid)))


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


def server_times(folder: Path, runs: Sequence[RunFolder], first_step: int) -> dict[str, Any]:
    """Returns, per view, the seconds of reading and computing and the bytes of an update, measured in this process.

    It is what the server does between two looks: it reads the files, makes the table of runs, builds the figure, and writes the
    message of a page.
    """
    page = LivePage([folder])
    while page.look() or page.collection.has_more:
        pass
    result: dict[str, Any] = {"nothing new": median_times([lambda: page.look()] * UPDATES)}
    for name, view in VIEWS.items():
        feed = FigureFeed(lambda view=view: line_figure(page.collection, view))  # type: ignore[misc]
        began = time.perf_counter()
        feed.refresh(page.collection.version_of(sources_of(view)))
        whole = feed.since(0) or ""
        result[name] = {"first": {"seconds": time.perf_counter() - began, "bytes": len(whole.encode())}}
        for kind in ("metrics", "evals", "metrics of one run", "evals of one run"):
            sizes: list[int] = []

            def update(view: View = view, feed: FigureFeed = feed, sizes: list[int] = sizes) -> None:
                version = feed.version
                page.look()
                feed.refresh(page.collection.version_of(sources_of(view)))
                sizes.append(len((feed.since(version) or "").encode()))

            times = []
            for _ in range(UPDATES):
                first_step += 1
                add_row(runs[:1] if "of one run" in kind else runs, kind.split()[0], first_step)
                times.append(timed(update))
            result[name][kind] = medians(times) | {"bytes": statistics.median(sizes)}
    return result


def timed(call: Callable[[], object]) -> tuple[float, float]:
    """Returns the seconds of a call by the clock, and of the processor."""
    began, used = time.perf_counter(), time.process_time()
    call()
    return time.perf_counter() - began, time.process_time() - used


def median_times(calls: Sequence[Callable[[], object]]) -> dict[str, float]:
    return medians([timed(call) for call in calls])


def medians(times: Sequence[tuple[float, float]]) -> dict[str, float]:
    return {
        name: statistics.median(values)
        for name, values in zip(("seconds", "cpu_seconds"), zip(*times, strict=True), strict=True)
    }


def many_pages(pid: int, port: int, runs: Sequence[RunFolder], step: int) -> dict[str, Any]:
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
    add_row(runs, "metrics", step)
    add_row(runs, "evals", step)
    for thread in threads:
        thread.join(120)
    delays = sorted(at - began for at in arrived)
    return {
        "pages": len(delays),
        "median_s": delays[len(delays) // 2],
        "last_s": delays[-1],
        "server_cpu_s": cpu_seconds(pid) - spent,
    }


def findings(pid: int, port: int) -> dict[str, Any]:
    """Waits for the findings of all runs. Returns the CPU seconds of the worker and what it found."""
    while True:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
        connection.request("GET", "/findings")
        answer = json.loads(connection.getresponse().read())
        connection.close()
        if answer:
            assert "sections" in answer, answer
            return {"cpu_seconds": sum(map(cpu_seconds, workers_of(pid))), "sections": len(answer["sections"])}
        time.sleep(1.0)


def page_figures() -> dict[str, Any]:
    result: dict[str, Any] = {"runs": LINES * SEEDS, "steps": STEPS, "metrics": len(METRICS), "eval_points": STEPS // EVERY}
    with TemporaryDirectory() as name:
        folder = Path(name) / "load"
        runs = make_runs(folder)
        result["bytes_on_disk"] = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
        with served(folder) as (pid, port):
            began = time.perf_counter()
            result["first_paint_right_after_the_start"] = first_paint(port, ["curves"], 1)
            while cpu_is_busy(pid):
                pass
            result["everything_read_s"] = time.perf_counter() - began
            result["findings"] = findings(pid, port) | {"seconds_after_the_start": time.perf_counter() - began}
            result["first_paint"] = first_paint(port, list(ADDRESSES), 5)
            result["twenty_pages"] = many_pages(pid, port, runs, STEPS + 1)
            result["memory_mb"] = memory_mb(pid)
        result["server"] = server_times(folder, runs, STEPS + 2)
    return result


def cpu_is_busy(pid: int) -> bool:
    before = cpu_seconds(pid)
    time.sleep(1.0)
    return cpu_seconds(pid) - before > 0.15


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    before = os.getloadavg()[0]
    write_result(page_figures(), before, options.out)


def write_result(figures: dict[str, Any], load_before: float, out: Path | None) -> None:
    about = {"cpus": os.cpu_count(), "load_before": load_before, "load_after": os.getloadavg()[0]}
    text = json.dumps(about | figures, indent=1)
    print(text)
    if out:
        out.write_text(text + "\n")


if __name__ == "__main__":
    main()
