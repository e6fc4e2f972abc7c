"""The documentation as a site, where mkdocs is installed (`make docs`), its gallery, and the tutorial, which is run again."""

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
MKDOCS = ROOT / ".venv-docs" / "bin" / "mkdocs"
COPIED = ("docs", "scripts", "src", "tests", "examples", "bench")
FILES = ("mkdocs.yml", "README.md", "CHANGELOG.md", "CONTRIBUTING.md", "pyproject.toml")
NOT_COPIED = shutil.ignore_patterns("__pycache__", ".*", "*.safetensors")


def site_pages():
    spec = importlib.util.spec_from_file_location("site_pages", ROOT / "scripts" / "site_pages.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("text, page, expected", [
    ("[a](docs/python.md#trl)", "README.md", "[a](python.md#trl)"),
    ("![f](docs/figures/demo.png)", "README.md", "![f](figures/demo.png)"),
    ("[c](../CHANGELOG.md)", "docs/python.md", "[c](CHANGELOG.md)"), ("[r](../README.md)", "docs/python.md", "[r](index.md)"),
    ("[t](tutorial.ipynb)", "docs/python.md", "[t](tutorial.md)"), ("[here](#trl)", "docs/python.md", "[here](#trl)"),
    ("[e](../examples/trl_grpo.py)", "docs/python.md", "[e](source/examples/trl_grpo.py.txt)"),
    ("[`runs/`](src/passus/runs)", "README.md", "`runs/`"), ("[o](https://x.org/a.md)", "README.md", "[o](https://x.org/a.md)"),
    ("```\n[a](b.md)\n```", "README.md", "```\n[a](b.md)\n```"),
])  # fmt: skip
def test_links_of_pages_lead_into_the_site(text, page, expected):
    assert site_pages().rewrite(text, page, set()) == expected


def test_a_link_to_nothing_is_a_warning(caplog):
    site_pages().rewrite("[a](nowhere.md)", "docs/python.md", set())
    assert "docs/python.md links to nowhere.md, which does not exist" in caplog.text


def test_the_gallery_has_every_figure_with_a_command():
    text = (ROOT / "docs/gallery.md").read_text(encoding="utf-8")
    shown = re.findall(r"figures/([\w.-]+\.png)", text)
    drawn = {
        path.name for path in (ROOT / "docs/figures").glob("*.png") if not path.name.startswith(("diagnosis", "live-page"))
    }
    assert drawn <= set(shown) and len(shown) == len(set(shown))
    for block in re.findall(r"```\n(.*?)```", text, re.DOTALL):
        assert re.match(r"passus (plot|demo)\b", block)


def test_every_page_is_in_the_menu():
    menu = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:\n")[2]
    assert {path.name for path in (ROOT / "docs").glob("*.md") if path.name not in menu} == set()


@pytest.mark.slow
def test_the_tutorial_gives_what_it_shows():
    """Its cells are run in order, and every text that they print is the recorded one."""
    done = subprocess.run(
        [sys.executable, "scripts/run_notebook.py", "docs/tutorial.ipynb", "--check"], cwd=ROOT, env=os.environ | {
            "PYTHONPATH": str(ROOT / "src"), "PYTHONWARNINGS": "ignore", "MPLBACKEND": "Agg",
        }, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture
def tree(tmp_path):
    """A copy of what the site is made of."""
    if not MKDOCS.exists():
        pytest.skip("mkdocs is not installed: make docs")
    for name in COPIED:
        shutil.copytree(ROOT / name, tmp_path / name, ignore=NOT_COPIED)
    for name in FILES:
        shutil.copy(ROOT / name, tmp_path)
    return tmp_path


def build(tree):
    environment = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    return subprocess.run(
        [MKDOCS, "build", "--strict", "-d", "site"], cwd=tree, env=environment, capture_output=True, text=True, timeout=300
    )


@pytest.mark.slow
def test_the_site_is_built_and_loads_nothing_from_elsewhere(tree):
    done = build(tree)
    assert done.returncode == 0, done.stderr
    pages = {path.name: path.read_text(encoding="utf-8") for path in (tree / "site").glob("*.html")}
    assert pages.keys() >= {"index.html", "tutorial.html", "gallery.html", "import.html", "python.html", "CHANGELOG.html"}
    for name, text in pages.items():
        loaded = re.findall(r"<(?:script|img|iframe)[^>]*\ssrc=\"(https?:[^\"]*)", text)
        loaded += re.findall(r"<link[^>]*rel=\"(?:stylesheet|preconnect)\"[^>]*href=\"(https?:[^\"]*)", text)
        assert loaded == [], name
    assert "data:image/png;base64" in pages["tutorial.html"] and "toprule" in pages["tutorial.html"]


@pytest.mark.slow
def test_a_broken_link_fails_the_build(tree):
    page = tree / "docs/glossary.md"
    for link in ("[a](nowhere.md)", "[a](python.md#nowhere)"):
        text = page.read_text(encoding="utf-8")
        page.write_text(f"{text}\n{link}\n", encoding="utf-8")
        done = build(tree)
        page.write_text(text, encoding="utf-8")
        assert done.returncode == 1 and "nowhere" in done.stderr
