"""Runs the cells of a notebook in order, without Jupyter, and writes their outputs into it.

    python scripts/run_notebook.py docs/tutorial.ipynb            # runs in a temporary folder, and writes the outputs
    python scripts/run_notebook.py docs/tutorial.ipynb --check    # ends with 1 where an output is another than the recorded one

Lines that begin with `!` go to the shell, as in Jupyter. What a cell prints and the value of its last line are its outputs:
text, HTML where the value has it, and figures of matplotlib as PNG. With --check, texts are compared and pictures are not.
"""

import argparse
import ast
import base64
import contextlib
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

SHELL = re.compile(r"^!((?:.*\\\n)*.*)$", re.MULTILINE)
DATE = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d(:\d\d)?( UTC)?")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("notebook", type=Path)
    parser.add_argument("--check", action="store_true")
    given = parser.parse_args()
    notebook = json.loads(given.notebook.read_text(encoding="utf-8"))
    before = [texts_of(cell) for cell in notebook["cells"]]
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "docs"
        shutil.copytree(given.notebook.parent / "tutorial-runs", place / "tutorial-runs")
        with contextlib.chdir(place):
            run_cells(notebook)
    if given.check:
        odd = [n for n, cell in enumerate(notebook["cells"]) if texts_of(cell) != before[n]]
        for n in odd:
            print(f"cell {n} was recorded with\n{before[n]}\nand now gives\n{texts_of(notebook['cells'][n])}")
        return int(bool(odd))
    given.notebook.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return 0


def texts_of(cell: dict[str, Any]) -> list[str]:
    """Returns the texts of the outputs, without dates."""
    outputs = cell.get("outputs", [])
    found = ["".join(output.get("text") or output.get("data", {}).get("text/plain", [])) for output in outputs]
    return [DATE.sub("", text) for text in found]


def run_cells(notebook: dict[str, Any]) -> None:
    names: dict[str, Any] = {"__name__": "__main__", "shell": shell}
    count = 0
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            count += 1
            cell["execution_count"], cell["outputs"] = count, run_cell("".join(cell["source"]), names, count)


def shell(command: str) -> None:
    """Runs a command with this Python's programs first, and prints what it prints."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
    done = subprocess.run(
        command, shell=True, env=os.environ | {"PATH": path, "COLUMNS": "110"}, capture_output=True, text=True, check=False
    )
    print(done.stdout + done.stderr, end="")
    if done.returncode:
        raise SystemExit(f"{command} ended with {done.returncode}: {done.stderr}")


def run_cell(source: str, names: dict[str, Any], count: int) -> list[dict[str, Any]]:
    """Returns the outputs of a cell."""
    tree = ast.parse(SHELL.sub(lambda match: f"shell({match[1]!r})", source))
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    printed, value = io.StringIO(), None
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, "cell", "exec"), names)
        if last is not None:
            value = eval(compile(ast.Expression(last.value), "cell", "eval"), names)
    outputs = []
    if printed.getvalue():
        outputs.append({"name": "stdout", "output_type": "stream", "text": printed.getvalue().splitlines(keepends=True)})
    if value is not None:
        outputs.append({"data": shown(value), "execution_count": count, "metadata": {}, "output_type": "execute_result"})
    return outputs


def shown(value: Any) -> dict[str, Any]:
    """Returns the forms in which a notebook shows a value."""
    if hasattr(value, "savefig"):
        picture = io.BytesIO()
        value.savefig(picture, format="png", dpi=80)
        return {"image/png": base64.b64encode(picture.getvalue()).decode(), "text/plain": ["a figure"]}
    forms: dict[str, Any] = {"text/plain": repr(value).splitlines(keepends=True)}
    if hasattr(value, "_repr_html_"):
        forms["text/html"] = value._repr_html_().splitlines(keepends=True)
    return forms


if __name__ == "__main__":
    sys.exit(main())
