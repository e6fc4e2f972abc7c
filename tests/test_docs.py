"""The documentation names things that exist: links, modules, functions, experiments, presets and fields."""

import ast
import re
from pathlib import Path

import pytest

from passus.config.experiment import load_experiment, shipped_experiments
from passus.config.resolve import fields, inner_fields
from passus.methods.presets import PRESETS

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "passus"
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
MODULE = re.compile(r"`(?:src/passus/)?((?:[a-z_]+/)+[a-z_0-9]+\.py)`")
STEP_OF_THE_PATH = re.compile(r"^\| (\d+) \| `([\w/]+\.py)` `([\w.]+)`", re.MULTILINE)
MOST_FUNCTIONS, MOST_RETURNS = 45, 8


def text_of(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def anchor(heading: str) -> str:
    """GitHub's anchor of a heading."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)\s]+)\)", text_of(page)):
        if target.startswith(("http:", "https:")):
            continue
        path, _, place = target.partition("#")
        linked = page.parent / path if path else page
        assert linked.exists(), target
        if place:
            assert place in [anchor(heading) for heading in re.findall(r"^#+ (.*)$", text_of(linked), re.MULTILINE)], target


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_modules_exist(page):
    named = set(MODULE.findall(text_of(page)))
    assert {name for name in named if not (SOURCE / name).exists() and not (ROOT / name).exists()} == set()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_experiments_exist(page):
    named = re.findall(r"^passus run ([\w./-]+)", text_of(page), re.MULTILINE)
    assert {name for name in named if not name.endswith(".toml")} <= set(shipped_experiments())


def path_of_a_prompt() -> list[tuple[str, str]]:
    """(file, function) of each numbered row in docs/architecture.md."""
    rows = STEP_OF_THE_PATH.findall(text_of(ROOT / "docs" / "architecture.md"))
    assert [int(number) for number, _, _ in rows] == list(range(1, len(rows) + 1))
    return [(file, function) for _, file, function in rows]


def test_the_functions_on_the_path_of_a_prompt_exist():
    for file, function in path_of_a_prompt():
        scope = ast.parse(text_of(SOURCE / file)).body
        for name in function.split("."):
            found = [node for node in scope if isinstance(node, ast.ClassDef | ast.FunctionDef) and node.name == name]
            assert found, (file, function)
            scope = found[0].body


def test_the_path_of_a_prompt_is_short():
    files = [file for file, _ in path_of_a_prompt()]
    entered = [file for before, file in zip(["", *files], files, strict=False) if file != before]
    assert len(files) <= MOST_FUNCTIONS
    assert len(entered) - len(set(entered)) <= MOST_RETURNS


def test_every_preset_is_documented():
    page = text_of(ROOT / "docs" / "methods.md")
    assert {name for name in PRESETS if f"`{name}`" not in page} == set()


def test_the_changelog_names_current_fields():
    known = {**fields(), **inner_fields()}
    section = text_of(ROOT / "CHANGELOG.md").partition("## 0.3.0")[2].partition("\n## ")[0]
    for row in re.findall(r"^\| .*? \| (.*) \|$", section, re.MULTILINE):
        for name in re.findall(r"^`([a-z]+(?:\.[a-z_0-9]+)+)", row):
            assert name in known, row


def test_the_experiment_of_the_readme_is_valid(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text(text_of(ROOT / "README.md").partition("```toml\n")[2].partition("```")[0], encoding="utf-8")
    assert [arm.name for arm in load_experiment(str(path)).arms] == ["seed-0", "seed-1", "seed-2"]
