"""The files that the page is made of: its own, and the charting script inside the installed package of bokeh."""

import gzip
import re
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from passus.errors import UsageError

STATIC = Path(__file__).parent / "static"
MODULES = (
    "view.js", "answers.js", "elements.js", "numbers.js", "files.js", "styles.js", "axis.js", "crosshair.js", "drawing.js",
    "canvas.js", "picture.js", "chart.js", "cards.js", "legend.js", "controls.js", "panels.js", "difference.js", "compare.js",
    "samples.js",
    "runs.js", "findings.js", "keys.js", "stream.js", "page.js",
)  # fmt: skip
"""In the order in which they need each other. A frozen page has them as one script."""
TYPES = {".js": "text/javascript", ".css": "text/css", ".html": "text/html", ".svg": "image/svg+xml"}
CHART_SCRIPTS = ("bokeh.min.js", "bokeh-api.min.js")
IMPORT = re.compile(r'^import (\{ .* \}) from "\./([\w.]+)";$', re.MULTILINE)
EXPORT = re.compile(r"^export ((?:async )?function|const|class) (\w+)", re.MULTILINE)
PAGE_PACKAGES = ("starlette", "uvicorn", "bokeh")


def check_page_packages() -> None:
    """Raises an error that says what to install."""
    for name in PAGE_PACKAGES:
        if find_spec(name) is None:
            raise UsageError(
                f"{name} is not installed", expected="the packages of the live page", write="pip install 'passus[page]'"
            )


def has_page_packages() -> bool:
    return all(find_spec(name) is not None for name in PAGE_PACKAGES)


@cache
def chart_script() -> bytes:
    """Returns bokeh's script. The package itself is not imported, which would take a second."""
    spec = find_spec("bokeh")
    if spec is None or not spec.submodule_search_locations:
        check_page_packages()
        raise UsageError("bokeh has no folder", expected="an installed package")
    folder = Path(spec.submodule_search_locations[0]) / "server" / "static" / "js"
    return b"\n;\n".join((folder / name).read_bytes() for name in CHART_SCRIPTS)


@cache
def chart_script_gzip() -> bytes:
    """Returns bokeh's script as browsers take it. Compressing it takes longer than sending it."""
    return gzip.compress(chart_script(), 6)


@cache
def own_files() -> dict[str, tuple[bytes, str]]:
    """Returns content and type of every file of the page by its name. No other file is served."""
    names = ("index.html", "page.css", "icon.svg", *MODULES)
    return {name: ((STATIC / name).read_bytes(), TYPES[Path(name).suffix]) for name in names}


def one_script() -> str:
    """Returns all modules as one script: a frozen page loads nothing. Each module keeps its names to itself, as before."""
    return "const modules = {};\n" + "\n".join(_in_one_script(name, own_files()[name][0].decode("utf-8")) for name in MODULES)


def _in_one_script(name: str, text: str) -> str:
    """Returns a module as a call that leaves what it exports in `modules`, where the modules after it find it."""
    exported = ", ".join(found[2] for found in EXPORT.finditer(text))
    text = EXPORT.sub(r"\1 \2", IMPORT.sub(r'const \1 = modules["\2"];', text))
    return f'modules["{name}"] = (() => {{\n{text}\nreturn {{ {exported} }};\n}})();'
