"""The layout of the project: short files, one name per class, and a step that can be read in one go."""

import ast
from collections import defaultdict
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src" / "passus"
MOST_LINES = 450
DATA = {"tasks/benchmarks.py", "metric_names.py"}
"""Tables of data, which may be longer."""
WITHOUT_TESTS = {"experiments"}
STEP = {"training/loop.py": 100, "training/step.py": 180, "training/update.py": 180}


def sources() -> dict[str, str]:
    return {str(path.relative_to(SOURCE)): path.read_text(encoding="utf-8") for path in sorted(SOURCE.rglob("*.py"))}


def test_files_are_short():
    lines = {name: len(text.splitlines()) for name, text in sources().items()}
    assert {name: n for name, n in lines.items() if n > MOST_LINES and name not in DATA} == {}
    assert {name: lines[name] for name, most in STEP.items() if lines[name] > most} == {}


def test_no_class_name_occurs_twice():
    places = defaultdict(list)
    for name, text in sources().items():
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.ClassDef):
                places[node.name].append(name)
    assert {name: where for name, where in places.items() if len(where) > 1} == {}


def test_every_room_and_module_says_what_it_is():
    undocumented = [name for name, text in sources().items() if text.strip() and not ast.get_docstring(ast.parse(text))]
    assert undocumented in ([], ["__main__.py"])


def test_tests_mirror_the_rooms():
    rooms = {path.name for path in SOURCE.iterdir() if (path / "__init__.py").exists()}
    folders = {path.name for path in Path(__file__).parent.iterdir() if path.is_dir() and any(path.glob("test_*.py"))}
    assert folders <= rooms and rooms - folders <= WITHOUT_TESTS
