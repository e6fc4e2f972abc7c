"""The page in a real browser: it fits the screen, loads nothing, has no errors, and folds by keyboard."""

import shutil

import pytest

from helpers.small_run import small_config
from helpers.synthetic_runs import make_run
from passus.reports import renderer
from passus.reports.report import build_report, build_running_report

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium: apt-get install chromium"),
]
playwright = pytest.importorskip("playwright.sync_api")


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """Writes the page of an experiment while it runs and when it is finished: four lines of two seeds, two benchmarks."""
    folder = tmp_path_factory.mktemp("pages")
    for arm in range(4):
        for seed in range(2):
            shifts, config = {"bench0": 0.05 * arm, "bench1": 0.0}, small_config(seed=seed)
            run = make_run(
                folder / "runs" / f"arm-{arm}-{seed}",
                shifts,
                10 * arm + seed,
                label=f"a model with a long name {arm}",
                config=config,
            )
            for step in range(1, 9):
                run.append_metrics({"step": step, "train/reward": step / 8, "train/entropy": 0.3, "train/num_tokens": step,
                                    "time/elapsed": step})  # fmt: skip
    runs = sorted((folder / "runs").iterdir())
    renderer.write(build_running_report(runs, "running", live=False), folder / "running.html")
    renderer.write(build_report(runs, "finished"), folder / "finished.html")
    return folder


@pytest.fixture(scope="module")
def browser():
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("name", ["running", "finished"])
def test_it_fits_the_screen_and_loads_nothing(pages, browser, name, width, dark):
    page = browser.new_page(viewport={"width": width, "height": 800}, color_scheme="dark" if dark else "light")
    requests, said = [], []
    page.on("request", lambda request: requests.append(request.url))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("console", lambda message: said.append(message.text))
    page.goto((pages / f"{name}.html").as_uri())
    assert requests == [(pages / f"{name}.html").as_uri()] and not said
    page.evaluate("document.querySelectorAll('details').forEach(fold => fold.open = true)")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    shown = page.evaluate(
        "[...document.querySelectorAll('svg')].filter(s => s.getBoundingClientRect().width > 0)"
        ".map(s => s.getBoundingClientRect().right)"
    )
    assert len(shown) == 2 and max(shown) <= width  # the figures of this width, whole
    results = "[...document.querySelectorAll('h2 ~ .wide')][0]"
    assert page.evaluate(f"{results}.scrollWidth <= {results}.clientWidth")
    page.close()


def test_folding_works_by_keyboard(pages, browser):
    page = browser.new_page()
    page.goto((pages / "finished.html").as_uri())
    page.evaluate("document.querySelector('details > summary').focus()")
    assert not page.evaluate("document.querySelector('details').open")
    page.keyboard.press("Enter")
    assert page.evaluate("document.querySelector('details').open")
    page.keyboard.press("Space")
    assert not page.evaluate("document.querySelector('details').open")
    page.close()


def test_the_page_is_the_same_template_while_running_and_after(pages, browser):
    headings = {}
    for name in ("running", "finished"):
        page = browser.new_page()
        page.goto((pages / f"{name}.html").as_uri())
        headings[name] = page.evaluate("[...document.querySelectorAll('h2')].map(h => h.textContent)")
        page.close()
    assert headings["finished"] == ["Results", "What cannot be told", "Training signals", "Before and after", "Details"]
    assert headings["running"] == [title for title in headings["finished"] if title != "What cannot be told"]


def test_it_prints(pages, browser):
    page = browser.new_page()
    page.goto((pages / "finished.html").as_uri())
    printed = page.pdf(format="A4")
    assert printed.startswith(b"%PDF") and 1 <= printed.count(b"/Type /Page\n") <= 6
    page.close()
