"""Measures the charting scripts of plotly and bokeh on the load of the live page, in Chromium.

200 lines in each of 5 panels, with 400 points per line: what the page draws of 200 runs of 2,000 steps, because the server
sends at most 400 points per line. Then 20 updates that add a point to every line of one panel. Neither package has to be
installed:

    pip download --no-deps -d W plotly bokeh; (cd W; for f in *.whl; do python -m zipfile -e $f .; done)
    python scripts/bench_chart_scripts.py W --out bench/cpu-2-cores/chart-scripts.json

The policy is the one of the page: scripts from the same origin only, and no eval. Times are medians of 3 loads.
"""

import argparse
import gzip
import json
import os
import shutil
import statistics
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from playwright.sync_api import Page, sync_playwright

SCRIPTS = {
    "plotly": ["plotly/package_data/plotly.min.js"],
    "bokeh": ["bokeh/server/static/js/bokeh.min.js", "bokeh/server/static/js/bokeh-api.min.js"],
}
LINES, PANELS, POINTS, UPDATES, LOADS = 200, 5, 400, 20, 3
POLICIES = {
    "strict": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'",
    "inline styles": "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:",
}

DATA = f"""
const LINES = {LINES}, PANELS = {PANELS}, POINTS = {POINTS};
let seed = 1;
const random = () => (seed = (seed * 16807) % 2147483647) / 2147483647;
const xs = Array.from({{length: POINTS}}, (_, i) => i * 5);
const line = k => xs.map((x, i) => 0.5 + 0.4 * Math.tanh((i - 150) / 120) + 0.1 * random() + k / 1000);
const panels = Array.from({{length: PANELS}}, () => Array.from({{length: LINES}}, (_, k) => line(k)));
const colour = k => `hsl(${{k * 47 % 360}} 60% 45%)`;
const settled = () => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)));
window.result = {{}};
async function measure(draw, update) {{
  const began = performance.now();
  await draw();
  await settled();
  window.result.drawn_ms = performance.now() - began;
  window.result.since_navigation_ms = performance.now();
  const times = [];
  for (let n = 0; n < {UPDATES}; n++) {{
    const start = performance.now();
    await update(n);
    await settled();
    times.push(performance.now() - start);
  }}
  window.result.updates_ms = times;
  document.body.dataset.done = "yes";
}}
"""
PLOTLY = """
const divs = panels.map(() => document.body.appendChild(document.createElement("div")));
const traces = p => panels[p].map((y, k) => ({x: xs, y, mode: "lines", line: {color: colour(k), width: 1}, hoverinfo: "none"}));
const layout = {width: 600, height: 320, showlegend: false, datarevision: 0};
measure(
  () => Promise.all(divs.map((div, p) => Plotly.newPlot(div, traces(p), {...layout}, {displayModeBar: false}))),
  n => { xs.push(2000 + n); panels[0].forEach(y => y.push(random()));
         return Plotly.react(divs[0], traces(0), {...layout, datarevision: n + 1}); });
"""
BOKEH = """
const figures = panels.map(lines => {
  const f = Bokeh.Plotting.figure({width: 600, height: 320, tools: "xpan,xwheel_zoom", toolbar_location: null});
  const data = {xs: lines.map(() => xs), ys: lines, colour: lines.map((_, k) => colour(k))};
  const source = new Bokeh.ColumnDataSource({data});
  f.multi_line({field: "xs"}, {field: "ys"}, {source, line_color: {field: "colour"}});
  return {f, source};
});
measure(
  async () => { for (const {f} of figures) {
      const div = document.body.appendChild(document.createElement("div"));
      await Bokeh.Plotting.show(f, div); } },
  async n => { xs.push(2000 + n); panels[0].forEach(y => y.push(random()));
         figures[0].source.data = {xs: panels[0].map(() => xs), ys: panels[0], colour: panels[0].map((_, k) => colour(k))}; });
"""
PAGES = {"plotly": PLOTLY, "bokeh": BOKEH}


class Handler(SimpleHTTPRequestHandler):
    policy = ""

    def end_headers(self) -> None:
        self.send_header("Content-Security-Policy", self.policy)
        self.send_header("Cache-Control", "no-store")
        super().end_headers()

    def log_message(self, *_: object) -> None:
        pass


def measure(page: Page, address: str) -> dict[str, Any]:
    """Loads a page, waits until it has drawn and updated, and returns its times, its errors and its memory."""
    said: list[str] = []
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("console", lambda message: said.append(message.text))
    page.goto(address)
    try:
        page.locator("body[data-done=yes]").wait_for(timeout=120_000)
    except Exception as error:  # noqa: BLE001 (whatever stops it is the result)
        return {"failed": str(error).splitlines()[0], "said": said[:2]}
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable")
    metrics = {row["name"]: row["value"] for row in session.send("Performance.getMetrics")["metrics"]}
    result = session.send("Runtime.evaluate", {"expression": "JSON.stringify(window.result)"})
    timed = json.loads(result["result"]["value"])
    return {
        "drawn_ms": timed["drawn_ms"], "since_navigation_ms": timed["since_navigation_ms"],
        "update_ms": statistics.median(timed["updates_ms"]), "heap_mb": metrics["JSHeapUsedSize"] / 1e6,
        "nodes": metrics["Nodes"], "violations": len(said), "said": said[:2],
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("wheels", type=Path, help="folder with the unpacked packages")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    results: dict[str, Any] = {"cpus": os.cpu_count(), "lines": LINES, "panels": PANELS, "points": POINTS}
    with TemporaryDirectory() as name, sync_playwright() as started:
        folder = Path(name)
        server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=name))
        threading.Thread(target=server.serve_forever, daemon=True).start()
        browser = started.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        results["chromium"] = browser.version
        for library, scripts in SCRIPTS.items():
            code = b"\n;\n".join((options.wheels / script).read_bytes() for script in scripts)
            (folder / f"{library}.js").write_bytes(code)
            (folder / f"{library}-page.js").write_text(DATA + PAGES[library])
            (folder / f"{library}.html").write_text(
                f"<!doctype html><meta charset=utf-8><link rel=icon href=data:,><body><script src={library}.js></script>"
                f"<script src={library}-page.js></script>"
            )
            results[library] = {"bytes": len(code), "gzip_bytes": len(gzip.compress(code, 6))}
            for policy, text in POLICIES.items():
                Handler.policy = text
                loads = []
                for _ in range(LOADS):
                    page = browser.new_page()
                    loads.append(measure(page, f"http://127.0.0.1:{server.server_port}/{library}.html"))
                    page.close()
                    if "failed" in loads[-1]:
                        break
                results[library][policy] = (
                    loads[-1]
                    if "failed" in loads[-1]
                    else {key: statistics.median(load[key] for load in loads) for key in loads[0] if key != "said"}
                    | {"said": loads[-1]["said"]}
                )
        browser.close()
        server.shutdown()
    text = json.dumps(results, indent=1)
    print(text)
    if options.out:
        options.out.write_text(text + "\n")


if __name__ == "__main__":
    main()
