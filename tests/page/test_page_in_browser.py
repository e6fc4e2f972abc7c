"""The live page in a real Chromium: it grows while runs train, and everything on it works by mouse and by keyboard."""

import json
import math
import re
import shutil
import subprocess
import sys
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest

from helpers.page_runs import (
    BENCHMARKS,
    EVERY,
    ITEMS,
    STEPS,
    add_eval_point,
    add_samples,
    add_steps,
    finished_run,
    start_run,
    two_lines,
)
from helpers.page_server import page_server
from helpers.small_run import EXPERIMENT, run_small

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium: apt-get install chromium"),
]
playwright = pytest.importorskip("playwright.sync_api")
playwright.expect.set_options(timeout=30_000)
HOSTILE = "<img src=x onerror=document.title='owned'><script>document.title='owned'</script>$$x$$\x1b[31m"


@pytest.fixture(scope="module")
def browser():
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    with page_server(two_lines(tmp_path_factory.mktemp("shown") / "runs")) as server:
        yield server


@pytest.fixture
def serve():
    """Starts servers. They end after the pages, because a page that is open reports a server that is gone as an error."""
    with ExitStack() as servers:
        yield lambda *folders: servers.enter_context(page_server(*folders))


@pytest.fixture
def open_page(browser, serve):
    """Opens pages, and fails for errors on their consoles and for requests to anywhere else."""
    contexts, said, requests = [], [], []

    def opened(address: str, **options):
        context = browser.new_context(**({"viewport": {"width": 1280, "height": 900}} | options))
        context.set_default_timeout(60_000)
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("console", lambda message: said.append(message.text) if message.type in ("error", "warning") else None)
        own = address.partition("#")[0].rstrip("/")
        page.on(
            "request", lambda request: None if request.url.startswith((own, "data:", "blob:")) else requests.append(request.url)
        )
        page.goto(address)
        return page

    yield opened
    for context in contexts:
        context.close()
    assert said == [] and requests == []


def charts(page, count: int, seconds: float = 60):
    """Waits until so many charts have been drawn."""
    drawn = page.locator(".chart[data-draws]")
    playwright.expect(drawn).to_have_count(count, timeout=1000 * seconds)
    return drawn


def points(page) -> list[int]:
    return [int(chart.get_attribute("data-points")) for chart in page.locator(".chart[data-draws]").all()]


def expect_points(page, number: int, each: int) -> None:
    playwright.expect(page.locator(".chart").nth(number)).to_have_attribute("data-points", str(each), timeout=60_000)


def choose_file(page, path) -> None:
    """Presses Enter on the focused button, and gives the file to the chooser that it opens.

    Playwright does not wait until Chromium intercepts choosers, and on a busy page a key overtakes that. An answer of the page
    comes after it.
    """
    with page.expect_file_chooser() as chooser:
        page.evaluate("0")
        page.keyboard.press("Enter")
    chooser.value.set_files(path)


def answered(page) -> None:
    """Waits until the findings are computed."""
    playwright.expect(page.locator("#answer:not(.pending)")).not_to_be_empty(timeout=60_000)


def test_an_eval_point_appears_without_a_reload_in_the_right_place(tmp_path, open_page, serve):
    run = start_run(tmp_path / "runs" / "grpo-0")
    add_eval_point(run, 0)
    server = serve(tmp_path / "runs")
    page = open_page(server.address)
    charts(page, len(BENCHMARKS))
    page.evaluate("window.loadedOnce = true")
    for count, step in enumerate(range(EVERY, STEPS + 1, EVERY), start=2):
        add_steps(run, step - EVERY + 1, step)
        add_eval_point(run, step)
        expect_points(page, 0, count)
    playwright.expect(page.locator("main")).to_contain_text("95 % CI")
    page.locator(".panel summary").first.click()
    rows = page.locator(".panel").first.locator("tbody tr")
    playwright.expect(rows).to_have_count(STEPS // EVERY + 1)
    shown = [[cell.text_content() for cell in row.locator("td").all()] for row in rows.all()]
    recorded = [p for p in run.evals() if p.benchmark == BENCHMARKS[0]]
    assert [float(row[1]) for row in shown] == [p.step for p in recorded]
    assert [float(row[2]) for row in shown] == pytest.approx([p.acc for p in recorded], abs=5.001e-4)
    assert page.evaluate("window.loadedOnce")
    second = start_run(tmp_path / "runs" / "grpo-1", 1)  # a new seed: the line becomes a mean
    for step in range(0, STEPS + 1, EVERY):
        add_eval_point(second, step, seed=1)
    playwright.expect(page.locator(".legend")).to_contain_text("n = 2")


def test_a_run_that_trains_is_seen(tmp_path, open_page, serve):
    """The real loop: a process trains, and the page follows it to its end."""
    (tmp_path / "small.toml").write_text(EXPERIMENT)
    (tmp_path / "runs").mkdir()
    server = serve(tmp_path / "runs")
    page = open_page(server.address)
    command = [sys.executable, "-P", "-m", "passus", "run", "small.toml", "--out", "runs"]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as training:
        charts(page, 2, seconds=300)  # torch is loaded and the first eval point taken
        page.evaluate("window.loadedOnce = true")
        playwright.expect(page.locator("#state")).to_contain_text(re.compile("running|finished"), timeout=120_000)
        assert training.wait(300) == 0
    playwright.expect(page.locator("#state")).to_contain_text("1 finished")
    expect_points(page, 0, 4)  # steps 0, 3, 6 and 8
    page.keyboard.press("2")
    playwright.expect(page.locator("h3", has_text="Reward").first).to_be_visible()
    page.keyboard.press("5")
    playwright.expect(page.locator("#runs tbody")).to_contain_text("8 of 8")
    assert page.evaluate("window.loadedOnce")


def test_filter_legend_axes_and_smoothing(served, open_page):
    page = open_page(served.address)
    charts(page, 2)
    whole = points(page)
    page.keyboard.press("/")
    page.keyboard.type("^dapo")
    page.keyboard.press("Enter")
    playwright.expect(page.locator(".legend li")).to_have_count(1)
    expect_points(page, 0, whole[0] // 2)
    page.locator("#find").fill("(")
    page.keyboard.press("Enter")
    playwright.expect(page.locator(".error")).to_contain_text("filter '(': missing )")
    page.locator("#find").fill("")
    page.keyboard.press("Enter")
    playwright.expect(page.locator(".legend li")).to_have_count(2)
    page.keyboard.press("Escape")
    page.locator(".legend button").first.click()
    expect_points(page, 0, whole[0] // 2)
    page.locator(".legend button").first.click()
    expect_points(page, 0, whole[0])
    page.keyboard.press("x")
    playwright.expect(page.locator(".axis").nth(1)).to_have_text("Training tokens")
    page.keyboard.press("l")
    playwright.expect(page.locator("#figure-note")).to_contain_text("linear from 0 to the smallest positive value")
    page.locator("#y-metric").fill("train/reward")
    page.keyboard.press("Enter")
    charts(page, 1)
    page.locator("#smooth").fill("9")
    playwright.expect(page.locator("#figure-note")).to_contain_text("mean of points")
    page.locator("#width").fill("8")
    page.keyboard.press("Enter")
    playwright.expect(page.locator("#figure-note")).to_contain_text("from x \u2212 h to x + h, h = 4")
    playwright.expect(page.locator("#smooth")).to_have_value("0")
    page.locator("#width").fill("wide")
    page.keyboard.press("Enter")
    playwright.expect(page.locator(".error")).to_contain_text("width='wide'")


def test_the_crosshair_is_shared_and_moves_by_keyboard(served, open_page):
    page = open_page(served.address)
    charts(page, 2)
    page.keyboard.press("c")
    page.keyboard.press("Home")
    page.keyboard.press("ArrowRight")
    for number in (0, 1):
        playwright.expect(page.locator(".readout").nth(number)).to_contain_text(re.compile(rf"Step {EVERY}: .*n = 3"))
    page.keyboard.press("End")
    playwright.expect(page.locator(".readout").nth(1)).to_contain_text(f"Step {STEPS}")
    page.locator(".chart").first.hover(position={"x": 300, "y": 100})
    playwright.expect(page.locator(".readout").nth(1)).to_contain_text(re.compile(r"Step \d+"))
    assert page.locator(".chart").first.get_attribute("aria-label").startswith(f"{BENCHMARKS[0]} against Step: 2 lines")
    page.locator(".chart").first.focus()
    page.keyboard.press("+")
    playwright.expect(page.get_by_role("button", name="Whole x-axis")).to_be_visible()
    page.keyboard.press("0")
    playwright.expect(page.get_by_role("button", name="Whole x-axis")).to_have_count(0)


def test_the_readout_has_values_of_its_own_step_only(tmp_path, open_page, serve):
    runs = {"grpo": (0, 10), "dapo": (0, 10, 40), "rloo": (0, 15, 40)}
    for method, steps in runs.items():
        run = start_run(tmp_path / "runs" / method, method=method)
        for step in steps:
            add_eval_point(run, step)
    server = serve(tmp_path / "runs")
    page = open_page(server.address)
    charts(page, 2)
    readout = page.locator(".readout").first
    page.keyboard.press("c")
    page.keyboard.press("End")
    playwright.expect(readout).to_contain_text("Step 40: ")
    playwright.expect(readout).to_contain_text("dapo")
    playwright.expect(readout).to_contain_text("rloo")
    assert "grpo" not in readout.text_content()  # it ended at step 10
    assert "(at step" not in readout.text_content()
    page.keyboard.press("Home")
    page.keyboard.press("ArrowRight")
    playwright.expect(readout).to_contain_text("Step 10: ")
    assert "grpo" in readout.text_content() and readout.text_content().count("(at step 15)") == 1
    assert readout.get_attribute("aria-live") == "polite"
    assert page.locator(".readout").nth(1).get_attribute("aria-live") == "off"


def drawn_marks(page) -> list[list[float]]:
    """Returns the places of all vertical lines of every chart, as the charting script has them."""
    return page.evaluate("""() => Bokeh.documents.map(shown => {
        const [figure] = shown.roots();
        const filled = figure.renderers.filter(drawn => drawn.glyph?.type === "VSpan");
        const lines = filled.flatMap(drawn => [...drawn.data_source.data.x]);
        const fixed = figure.center.filter(part => part.type === "Span" && part.dimension === "height");
        return [...lines, ...fixed.slice(1).map(part => part.location)].sort((a, b) => a - b);
    })""")


def test_marks_follow_the_runs_the_filter_and_the_axis(tmp_path, open_page, serve):
    run = finished_run(tmp_path / "runs" / "grpo-0")
    finished_run(tmp_path / "runs" / "dapo-0", method="dapo")
    alarm = {"event": "warn", "best": 10, "drop": 0.1, "statistic": 3.0}
    run.append_event(alarm | {"step": 20})
    server = serve(tmp_path / "runs")
    page = open_page(server.address)
    charts(page, 2)
    chart = page.locator(".chart").first

    def expect_marks(places: list[float]) -> None:
        playwright.expect(chart).to_have_attribute("data-marks", str(len(places)))
        playwright.expect(page.locator(".chart[data-draws]")).to_have_count(2)
        page.wait_for_function(
            "n => [...document.querySelectorAll('.chart')].every(c => c.dataset.marks === n)", arg=str(len(places))
        )
        assert drawn_marks(page) == [places, places]

    expect_marks([20])
    run.append_event(alarm | {"step": 30})
    expect_marks([20, 30])
    page.locator(".legend button", has_text="grpo").click()
    expect_marks([])
    page.locator(".legend button", has_text="grpo").click()
    expect_marks([20, 30])
    draws = int(chart.get_attribute("data-draws"))
    page.keyboard.press("l")
    playwright.expect(chart).not_to_have_attribute("data-draws", str(draws))
    page.wait_for_function("Bokeh.documents.every(shown => shown.roots()[0].renderers.at(-1).data_source.data.x[0] < 2)")
    logs = [1 + math.log10(step / EVERY) for step in (20, 30)]  # linear up to the first eval point
    assert drawn_marks(page) == [pytest.approx(logs)] * 2
    page.keyboard.press("l")
    page.keyboard.press("/")
    page.keyboard.type("dapo")
    page.keyboard.press("Enter")
    playwright.expect(page.locator(".legend li")).to_have_count(1)
    expect_marks([])


def test_marks_that_are_not_drawn_are_counted(tmp_path, open_page, serve):
    run = finished_run(tmp_path / "runs" / "one")
    for step in range(1, 66):
        run.append_event({"event": "warn", "best": 10, "drop": 0.1, "statistic": 3.0, "step": step})
    server = serve(tmp_path / "runs")
    page = open_page(server.address)
    charts(page, 2)
    playwright.expect(page.locator(".panel").first).to_contain_text("The first 60 of 65 alarms and resumes are drawn.")
    assert [len(places) for places in drawn_marks(page)] == [60, 60]


def test_an_answer_that_is_no_json_is_said_as_such(served, open_page):
    page = open_page(served.address)
    charts(page, 2)
    page.route("**/texts?*", lambda route: route.fulfill(status=200, content_type="text/html", body="<b>sign in</b>"))
    page.keyboard.press("4")
    playwright.expect(page.locator("main")).to_contain_text("The server answers with status 200: <b>sign in</b>")


def test_smoothing_by_keys_goes_up_and_down_by_the_same_step(served, open_page):
    page = open_page(f"{served.address}#tab=signals")
    charts(page, 3)
    seen = []
    for key in ("s", "s", "s", "S", "S", "S", "S"):
        page.keyboard.press(key)
        seen.append(page.evaluate("new URLSearchParams(location.hash.slice(1)).get('smooth') ?? '0'"))
    assert seen == ["5", "9", "13", "9", "5", "0", "0"]
    playwright.expect(page.locator("#smooth")).to_have_value("0")


def test_a_value_between_two_gaps_is_seen(tmp_path, open_page, serve):
    run = start_run(tmp_path / "runs" / "one")
    for step, entropy in enumerate((1.0, 0.9, None, 0.7, None, 0.5, 0.4), start=1):
        run.append_metrics({"step": step, "train/entropy": entropy, "time/elapsed": 1.0 * step})
    server = serve(tmp_path / "runs")
    page = open_page(f"{server.address}#tab=signals")
    charts(page, 1)
    drawn = page.evaluate("""() => {
        const [figure] = Bokeh.documents[0].roots();
        const markers = figure.renderers.find(drawn => drawn.glyph.type === "Scatter").data_source.data;
        return [[...markers.x], [...markers.y]];
    }""")
    assert drawn == [[4], [0.7]]


def test_charts_that_are_gone_leave_nothing_behind(served, open_page):
    page = open_page(served.address)
    charts(page, 2)
    for _ in range(6):
        page.keyboard.press("l")
        page.wait_for_timeout(150)
    for tab in "2131":
        page.keyboard.press(tab)
        page.wait_for_timeout(300 if tab != "1" else 0)  # the last but one is left while it is drawn
    charts(page, 2)
    page.wait_for_function("Bokeh.documents.length <= 2")
    page.wait_for_timeout(500)
    assert page.locator(".chart").count() == 2
    assert page.evaluate("Bokeh.documents.length") == 2


def test_training_accuracy_is_drawn_behind_eval_accuracy(served, open_page):
    page = open_page(served.address)
    charts(page, 2)
    alone = points(page)
    page.keyboard.press("t")
    playwright.expect(page.locator("#figure-note")).to_contain_text("dotted: training reward")
    expect_points(page, 0, alone[0] + 2 * STEPS)
    page.keyboard.press("c")
    page.keyboard.press("Home")
    page.keyboard.press("ArrowRight")
    readout = page.locator(".readout").first  # the crosshair stops at eval points, not at every step
    playwright.expect(readout).to_contain_text(re.compile(rf"Step {EVERY}: .*dapo, training reward 0\.\d+, n = 3"))
    playwright.expect(page).to_have_url(re.compile("train=1"))
    page.locator(".legend button").first.click()  # a line is hidden with its training curve
    expect_points(page, 0, alone[0] // 2 + STEPS)


def test_controls_stay_while_numbers_come_in(tmp_path, open_page, serve):
    """A click, a drag and the focus must not be lost to a redraw."""
    run = start_run(tmp_path / "runs" / "one")
    other, third = (start_run(tmp_path / "runs" / method, method=method) for method in ("rloo", "dapo"))
    add_eval_point(other, 0)
    for step in (0, 10):
        add_eval_point(run, step)
        add_samples(run, step + 1)
    server = serve(tmp_path / "runs")
    page = open_page(server.address)
    charts(page, 2)
    button = page.locator(".legend button", has_text="grpo")
    button.focus()
    page.keyboard.press("Enter")
    playwright.expect(button).to_have_attribute("aria-pressed", "false")
    page.keyboard.press("Enter")
    playwright.expect(button).to_have_attribute("aria-pressed", "true")
    add_eval_point(third, 0)  # another line: a whole new figure
    playwright.expect(page.locator(".legend button")).to_have_count(3)
    assert page.evaluate("document.activeElement.textContent") == "grpo"

    page.keyboard.press("4")
    page.get_by_label("run", exact=True).select_option(label="one")
    playwright.expect(page.locator("#step-shown")).to_have_text("11")
    page.locator("#step").evaluate("slider => { slider.mine = true; }")
    page.locator("#step").focus()
    page.keyboard.press("Home")
    add_samples(run, 21)
    add_eval_point(run, 20)
    playwright.expect(page.locator("#step")).to_have_attribute("max", "2")
    assert page.locator("#step").evaluate("slider => slider.mine && slider === document.activeElement")
    playwright.expect(page.locator("#step-shown")).to_have_text("1")

    page.keyboard.press("5")
    page.get_by_role("button", name="state").focus()
    page.keyboard.press("Enter")
    playwright.expect(page.locator("th", has_text="state")).to_have_attribute("aria-sort", "ascending")
    assert page.evaluate("document.activeElement.textContent") == "state \u25b2"
    assert "error" not in page.locator("#runs thead").text_content()  # a column that is empty for all runs
    page.locator("#runs tbody button").first.click()
    playwright.expect(page.locator("main h2")).to_have_text("Samples")


def test_findings_that_are_open_stay_open(tmp_path, open_page, serve):
    runs = [start_run(tmp_path / "runs" / method, method=method) for method in ("grpo", "dapo")]
    for run in runs:
        for step in (0, 10, 20):
            add_eval_point(run, step)
        run.write_status(state="finished")
    server = serve(tmp_path / "runs")
    page = open_page(f"{server.address}#tab=findings")
    stamp = page.locator("#findings-stamp")
    playwright.expect(stamp).to_contain_text("step 20", timeout=60_000)
    summary = page.locator("main summary").last
    name = summary.text_content()
    summary.click()
    for run in runs:
        add_eval_point(run, 30)
    playwright.expect(stamp).to_contain_text("step 30", timeout=60_000)
    assert name in page.locator("main details[open] > summary").all_text_contents()


def test_compare_says_that_it_computes(served, open_page):
    page = open_page(served.address)
    charts(page, 2)
    waiting = []
    page.route("**/compare?*", lambda route: waiting.append(route))
    page.keyboard.press("3")
    playwright.expect(page.locator("main")).to_contain_text("The comparison is being computed.")
    page.wait_for_timeout(100)
    waiting.pop(0).continue_()
    playwright.expect(page.locator("main table")).to_be_visible()
    page.get_by_role("button", name="Swap").click()
    playwright.expect(page.locator("main")).to_contain_text("The comparison is being computed.")
    playwright.expect(page.locator("main table")).to_have_count(0)  # of the sides before
    page.wait_for_timeout(100)
    waiting.pop(0).continue_()
    playwright.expect(page.locator("main table")).to_be_visible()


def test_compare_begins_with_sides_that_have_no_run_in_common(tmp_path, open_page, serve):
    for seed in range(2):
        run = start_run(tmp_path / "runs" / f"run-{seed}", seed)
        for step in (0, 10, 20):
            add_eval_point(run, step, seed=seed)
    server = serve(tmp_path / "runs")
    page = open_page(f"{server.address}#tab=compare")
    playwright.expect(page.locator("main")).to_contain_text("A and B differ in nothing but the seed", timeout=60_000)
    a, b = page.locator("main select").all()
    assert {side.locator("option:checked").text_content() for side in (a, b)} == {"run-0", "run-1"}
    b.select_option(label="Qwen3-shaped (2 seeds)")
    playwright.expect(page.locator("main")).to_contain_text("A and B have a run in common")


def test_zooming_with_the_mouse_fetches_detail(served, open_page):
    page = open_page(f"{served.address}#tab=signals")
    charts(page, 3)
    answered(page)  # a line above the charts, which moves them
    box = page.locator(".chart").first.bounding_box()
    page.mouse.move(box["x"] + 200, box["y"] + 60)
    page.mouse.down()
    page.mouse.move(box["x"] + 320, box["y"] + 160, steps=5)
    page.mouse.up()
    playwright.expect(page.get_by_role("button", name="Whole x-axis")).to_be_visible()
    playwright.expect(page).to_have_url(re.compile("low="))
    page.get_by_role("button", name="Whole x-axis").click()
    playwright.expect(page).not_to_have_url(re.compile("low="))


def test_the_address_has_the_view_and_brings_it_back(served, open_page):
    page = open_page(served.address)
    charts(page, 2)
    assert page.evaluate("location.hash") == ""
    page.keyboard.press("x")
    page.keyboard.press("l")
    page.keyboard.press("a")
    page.locator("#find").fill("dapo|grpo")
    page.keyboard.press("Enter")
    page.keyboard.press("Escape")
    playwright.expect(page).to_have_url(re.compile("find="))
    address = page.url
    assert len(address) < 120
    other = open_page(address)
    charts(other, 2)
    assert (
        other.locator("#find").input_value() == "dapo|grpo"
        and other.locator("#logx").is_checked()
        and other.locator("#all").is_checked()
    )
    assert other.locator("label", has_text="x").locator("select").first.input_value() == "tokens"
    with page.expect_download() as saved:
        page.locator("#save").click()
    view = json.loads(Path(saved.value.path()).read_text())
    assert view == {"x": "tokens", "logx": "1", "all": "1", "find": "dapo|grpo"}
    third = open_page(served.address)
    charts(third, 2)
    third.locator("#open-view").focus()
    third.evaluate("setTimeout(() => { for (const began = performance.now(); performance.now() - began < 500;); })")  # busy
    choose_file(third, saved.value.path())
    playwright.expect(third.locator("#find")).to_have_value("dapo|grpo")
    assert third.url == address


def test_compare_has_the_numbers_of_the_command_and_texts_side_by_side(served, open_page):
    page = open_page(f"{served.address}#tab=compare")
    selects = page.locator("main select")
    playwright.expect(selects).to_have_count(2)
    selects.nth(0).select_option(label="dapo (3 seeds)")
    selects.nth(1).select_option(label="grpo (3 seeds)")
    ids = served.ids()
    answer = served.json("/compare", a=f"L{ids['dapo-0']}", b=f"L{ids['grpo-0']}")
    for one in answer["comparisons"]:
        playwright.expect(page.locator("main")).to_contain_text(one["text"])
    charts(page, 2)
    playwright.expect(page.locator("#compare-stamp")).to_contain_text(f"step {STEPS}")
    item = page.locator(".items button").first
    number = item.text_content()
    item.click()
    texts = page.locator(".texts")
    playwright.expect(texts).to_contain_text(f"item {number}")
    playwright.expect(texts.locator(".pair > div")).to_have_count(2)
    playwright.expect(texts.locator(".card").first).to_contain_text("\\x1b[31mred")
    assert "item=" in page.url


def test_compare_keeps_its_charts_when_eval_points_come_in(tmp_path, open_page, serve):
    runs = [start_run(tmp_path / "runs" / method, method=method) for method in ("grpo", "dapo")]
    for run in runs:
        for step in (0, 10, 20):
            add_eval_point(run, step)
    server = serve(tmp_path / "runs")
    page = open_page(f"{server.address}#tab=compare")
    charts(page, 2)
    head = page.locator("main th").all_text_contents()
    row = page.locator("main tbody tr").first.locator("td").all_text_contents()
    assert row[head.index("steps")] == "0, 10, 20" and f"{ITEMS} \u00d7 4" in row
    playwright.expect(page.locator("main")).to_contain_text("The table is the mean of the last three common eval points")
    page.evaluate("document.querySelector('.compared .chart').dataset.mine = 'yes'")
    page.locator(".compared .panel summary").first.click()
    for run in runs:
        add_eval_point(run, 30)
    playwright.expect(page.locator("#compare-stamp")).to_contain_text("grpo step 30")
    averaged = page.locator("main tbody tr").first.locator("td").nth(head.index("steps"))
    playwright.expect(averaged).to_have_text("0, 10, 20, 30")  # the mean so far, of runs that go on
    assert page.locator(".compared .chart").first.get_attribute("data-mine") == "yes"
    playwright.expect(page.locator(".compared .panel tbody").first.locator("tr")).to_have_count(8)  # both lines at 4 steps
    assert page.evaluate("Bokeh.documents.length") == 2


def test_samples_have_a_slider_a_filter_and_a_search(served, open_page):
    page = open_page(f"{served.address}#tab=samples&run={served.ids()['grpo-0']}")
    playwright.expect(page.locator(".samples .card")).to_have_count(4)
    playwright.expect(page.locator("#step-shown")).to_have_text("40")
    playwright.expect(page.locator(".list button").first).to_have_attribute("aria-current", "true")
    assert page.locator(".card h4 b").first.text_content() == "correct"
    assert page.locator(".list button").first.text_content().startswith("item 400: 2 correct, 1 wrong, 1 truncated, reward")
    page.keyboard.press("[")
    playwright.expect(page.locator("main")).to_contain_text("prompts of step 20")
    page.locator("#step").focus()
    page.keyboard.press("Home")
    playwright.expect(page.locator("main")).to_contain_text("3 of 3 prompts of step 1")
    page.get_by_label("verdict").select_option("truncated")
    playwright.expect(page.locator(".samples .card")).to_have_count(1)
    page.locator("#search").fill("nowhere to be found")
    page.keyboard.press("Enter")
    playwright.expect(page.locator("main")).to_contain_text("0 of 3 prompts")
    page.get_by_label("show", exact=True).select_option("items")
    playwright.expect(page.locator(".texts .pair > div")).to_have_count(2)
    playwright.expect(page.locator(".texts")).to_contain_text("step 0")
    playwright.expect(page.locator(".texts")).to_contain_text(f"step {STEPS}")


def test_tokens_are_coloured_where_the_run_has_recorded_them(tmp_path, open_page, serve):
    run = run_small(tmp_path / "run", train={"steps": 2}, log={"token_logprobs": True})
    rows = run.read_rows("samples", 2)
    assert all("".join(row["token_texts"]).startswith(row["completion"]) for row in rows)
    assert [sum(row["token_logps"]) for row in rows] == pytest.approx([row["logp"] for row in rows], abs=1e-4)
    server = serve(tmp_path)
    page = open_page(f"{server.address}#tab=samples")
    playwright.expect(page.locator(".samples .card")).to_have_count(4)
    page.locator("#tokens").check()
    first = page.locator(".pieces").first
    playwright.expect(first).to_have_text("".join(rows[0]["token_texts"]))
    assert len(first.locator("span").all()) == len(rows[0]["token_texts"])


def test_runs_are_sorted_and_findings_are_stamped(served, open_page):
    page = open_page(served.address)
    page.keyboard.press("5")
    names = page.locator("#runs tbody tr td:first-child")
    playwright.expect(names).to_have_count(6)
    assert names.all_text_contents() == sorted(names.all_text_contents())
    page.get_by_role("button", name="run ▲").click()
    playwright.expect(names.first).to_have_text("grpo-2")
    page.evaluate("document.querySelector('#runs tbody tr').dataset.mine = 'yes'")
    page.wait_for_timeout(1500)
    assert page.locator("#runs tbody tr").first.get_attribute("data-mine") == "yes"  # rows stay while nothing changes
    page.keyboard.press("6")
    playwright.expect(page.locator("#findings-stamp")).to_contain_text(f"6 runs, last eval point at step {STEPS}")
    playwright.expect(page.locator("#answer")).to_be_hidden()  # it is the first paragraph
    playwright.expect(page.locator("main")).to_contain_text("Results")
    playwright.expect(page.locator("main table").first).to_contain_text("grpo")
    page.keyboard.press("1")
    playwright.expect(page.locator("#answer")).to_contain_text(f"(6 runs, last eval point at step {STEPS})")


def test_keys_are_listed_and_the_page_works_without_a_mouse(served, open_page):
    page = open_page(served.address)
    charts(page, 2)
    page.keyboard.press("?")
    playwright.expect(page.locator("#keys")).to_be_visible()
    page.keyboard.press("Escape")
    playwright.expect(page.locator("#keys")).to_be_hidden()
    for number, title in enumerate(("Curves", "Signals", "Compare", "Samples", "Runs", "Findings"), start=1):
        page.keyboard.press(str(number))
        playwright.expect(page.locator("main h2")).to_have_text(title)
        assert page.locator("nav [aria-current=page]").text_content() == title
    page.keyboard.press("1")
    charts(page, 2)
    reached = set()
    for _ in range(60):
        page.keyboard.press("Tab")
        reached.add(page.evaluate("document.activeElement.className || document.activeElement.tagName"))
    assert {"chart", "toggle", "SELECT", "INPUT", "SUMMARY"} <= reached


def test_every_panel_is_written_as_svg_png_and_csv(served, open_page):
    page = open_page(served.address)
    charts(page, 2)
    for kind, start in (("SVG", b"<svg"), ("PNG", b"\x89PNG"), ("CSV", b"panel,series,x,y,low,high")):
        with page.expect_download() as saved:
            page.get_by_role("button", name=f"{BENCHMARKS[0]} as {kind}").click()
        content = Path(saved.value.path()).read_bytes()
        assert content.startswith(start) and len(content) > 1000
        if kind == "CSV":
            rows = content.decode().splitlines()[1:]
            figure = served.json("/figure")
            assert len(rows) == sum(len(s["points"]["x"]) for s in figure["series"] if s["panel"] == BENCHMARKS[0])
        if kind == "SVG":
            text = content.decode()
            assert all(part in text for part in (">Accuracy<", ">Step<", "95 % t"))
            assert "dapo (mean, n = 3)" in text and BENCHMARKS[0] in text and "<script" not in text and "<image" not in text


def test_a_frozen_page_opens_from_disk_without_a_network(served, open_page, tmp_path):
    page = open_page(f"{served.address}#tab=compare")
    playwright.expect(page.locator("#compare-stamp")).to_be_visible()
    sentence = page.locator(".compared p").first.text_content()
    page.keyboard.press("4")
    playwright.expect(page.locator(".samples .card")).to_have_count(4)
    answered(page)
    with page.expect_download() as saved:
        page.locator("#freeze").click()
    path = tmp_path / "frozen.html"
    shutil.copy(saved.value.path(), path)
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', path.read_text())
    assert policy and policy[1].count("'sha256-") == 2 and "connect-src" not in policy[1] and "default-src 'none'" in policy[1]
    frozen = open_page(path.as_uri(), offline=True)
    playwright.expect(frozen.locator("main h2")).to_have_text("Samples")  # the view that was frozen
    playwright.expect(frozen.locator(".samples .card")).to_have_count(4)
    frozen.keyboard.press("1")
    charts(frozen, 2)
    assert points(frozen) == [40, 40]
    frozen.keyboard.press("x")
    playwright.expect(frozen.locator(".axis").nth(1)).to_have_text("Training tokens")
    frozen.keyboard.press("2")
    charts(frozen, 3)
    frozen.keyboard.press("3")
    playwright.expect(frozen.locator(".compared p").first).to_have_text(sentence)
    frozen.keyboard.press("5")
    playwright.expect(frozen.locator("#runs tbody tr")).to_have_count(6)
    frozen.keyboard.press("6")
    playwright.expect(frozen.locator("#findings-stamp")).to_be_visible()
    playwright.expect(frozen.locator("#remarks")).to_contain_text("frozen")


def test_a_frozen_page_keeps_its_time_and_offers_what_it_can_answer(served, open_page, tmp_path):
    page = open_page(served.address)
    charts(page, 2)
    with page.expect_download() as saved:
        page.locator("#freeze").click()
    start, script, rest = Path(saved.value.path()).read_text().partition('<script type="application/json" id="frozen">')
    text, end, rest = rest.partition("</script>")
    data = json.loads(text)
    data["now"] = "2026-01-01T00:01:05Z"
    first, *_ = data["arms"].values()
    first |= {"state": "running", "heartbeat": "2026-01-01T00:00:00Z"}
    path = tmp_path / "frozen.html"
    path.write_text(start + script + json.dumps(data).replace("<", "\\u003c") + end + rest)
    frozen = open_page(path.as_uri(), offline=True)
    charts(frozen, 2)
    for field in ("#smooth", "#width", "#find", "#all", "#train"):
        playwright.expect(frozen.locator(field)).to_be_disabled()
    playwright.expect(frozen.locator(".controls")).to_contain_text("A frozen page has no other")
    before = frozen.url
    frozen.keyboard.press("s")
    frozen.keyboard.press("a")
    assert frozen.url == before
    options = frozen.get_by_label("x", exact=True).locator("option").all_text_contents()
    assert options == ["step", "training tokens", "time", "training progress"]
    frozen.keyboard.press("5")
    running = frozen.locator("#runs tbody tr", has_text="running")
    playwright.expect(running).to_contain_text("1 min 5 s ago")
    frozen.wait_for_timeout(1500)
    playwright.expect(running).to_contain_text("1 min 5 s ago")


@pytest.mark.parametrize("tab", ["curves", "signals", "compare", "samples", "runs", "findings"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_fits_a_phone_and_follows_the_system(served, open_page, tab, scheme):
    page = open_page(f"{served.address}#tab={tab}", viewport={"width": 390, "height": 800}, color_scheme=scheme)
    playwright.expect(page.locator("main h2")).to_be_visible()
    if tab in ("curves", "signals"):
        charts(page, 2 if tab == "curves" else 3)
    if tab != "findings":
        answered(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    background = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (background == "rgb(255, 255, 255)") == (scheme == "light")
    page.keyboard.press("d")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") != background


def test_hostile_texts_are_text(tmp_path, open_page, serve):
    """Markup, formulas and control characters in every text that a run folder has."""
    run = start_run(tmp_path / "runs" / "<img src=x onerror=alert(1)>", label=HOSTILE)
    add_eval_point(run, 0)
    add_eval_point(run, 10)
    run.append_evals([replace(run.evals()[0], benchmark=HOSTILE)])
    for step in (1, 2):
        run.append_metrics({"step": step, "train/reward": 1.0 * step, "time/elapsed": 1.0 * step, f"memory{HOSTILE}": 1.0})
    add_samples(run, 1, HOSTILE, prompt=HOSTILE)
    run.append_event(
        {
            "step": 1,
            "event": "warn",
            "best": 0,
            "drop": 0.1,
            "statistic": 3.0,
            "causes": [{"cause": HOSTILE, "probability": 0.5}],
        }
    )
    finished_run(tmp_path / "runs" / "other", 1)
    run.write_status(state="failed", error=HOSTILE, heartbeat=HOSTILE)
    server = serve(tmp_path / "runs")
    page = open_page(server.address)
    charts(page, 3)
    for tab in range(1, 7):
        page.keyboard.press(str(tab))
        page.wait_for_timeout(700)
        assert "owned" not in page.title()
        assert page.locator("main img, main script, body > img").count() == 0
        if tab == 5:
            assert page.locator("body").inner_text().count("<img src=x onerror=document.title") >= 2
    playwright.expect(page.locator("#findings-stamp")).to_be_visible(timeout=60_000)
    with page.expect_download() as saved:
        page.locator("#freeze").click()
    frozen = tmp_path / "frozen.html"
    shutil.copy(saved.value.path(), frozen)
    still = open_page(frozen.as_uri(), offline=True)
    still.keyboard.press("1")
    charts(still, 3)
    assert "owned" not in still.title() and still.locator("main img, main script").count() == 0


def test_a_page_reconnects_where_it_was(tmp_path, open_page, serve):
    """The stream is cut and resumed with Last-Event-ID; nothing is drawn twice and nothing is missed."""
    run = start_run(tmp_path / "runs" / "one")
    add_eval_point(run, 0)
    server = serve(tmp_path / "runs")
    changes = server.events()
    assert next(changes)[0] == "figure"
    changes.close()
    add_eval_point(run, 10)
    resumed = server.events(last_id=server.last_id)
    kind, message = next(data for data in resumed if data[0] == "figure")
    assert kind == "figure" and list(message) == ["splice", "about"]
    resumed.close()
    other = server.events(last_id="0000.1")
    assert "figure" in next(other)[1]  # of another server: the whole figure
    other.close()
