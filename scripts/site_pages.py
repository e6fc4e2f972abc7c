"""Hook of mkdocs: pages that are not in docs/, the tutorial as a page, and links that lead out of docs/.

README.md becomes the first page. Links to files of the source lead to copies of them in the site, and links to folders become
plain text. A link to a file that does not exist is a warning, and `mkdocs build --strict` fails with it.
"""

import json
import logging
import os
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
ROOT_PAGES = {"README.md": "index.md", "CHANGELOG.md": "CHANGELOG.md", "CONTRIBUTING.md": "CONTRIBUTING.md"}
NOTEBOOK = "tutorial.ipynb"
LINK = re.compile(r"(?P<image>!?)\[(?P<text>[^\]]*)\]\((?P<target>[^)\s]+)\)")
FENCE = re.compile(r"^(```.*?^```|<table.*?^</table>)", re.MULTILINE | re.DOTALL)
SOURCE = "source"
"""Folder of the site for copies of source files."""
log = logging.getLogger("mkdocs.hooks.site_pages")


def rewrite(markdown: str, repository_path: str, copied: set[str]) -> str:
    """Returns a page with links that lead somewhere in the site. Source files that it links to are added to `copied`."""
    parts = FENCE.split(markdown)
    return "".join(
        part if part.startswith(("```", "<table")) else LINK.sub(lambda m: _link(m, repository_path, copied), part)
        for part in parts
    )


def _link(match: re.Match[str], repository_path: str, copied: set[str]) -> str:
    target, hash_, place = match["target"].partition("#")
    if not target or target.startswith(("http:", "https:", "mailto:")):
        return match[0]
    folder = os.path.dirname(repository_path)
    path = os.path.normpath(os.path.join(folder, target))
    if not (ROOT / path).exists():
        log.warning("%s links to %s, which does not exist", repository_path, target)
        return match[0]
    if (ROOT / path).is_dir():
        return match["text"]
    shown = f"{match['image']}[{match['text']}]({_site_path(path, copied)}{hash_}{place})"
    return shown


def _site_path(path: str, copied: set[str]) -> str:
    """Returns the path of a file in the site, seen from a page at its top."""
    if path in ROOT_PAGES:
        return ROOT_PAGES[path]
    if path.startswith("docs/"):
        inside = path.removeprefix("docs/")
        return inside.removesuffix(".ipynb") + ".md" if inside == NOTEBOOK else inside
    copied.add(path)
    return f"{SOURCE}/{path}.txt"


def notebook_page(notebook: dict[str, Any]) -> str:
    """Returns the cells of a notebook as Markdown, with what they printed."""
    parts = []
    for cell in notebook["cells"]:
        text = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(text)
            continue
        parts.append(f"```python\n{text}\n```")
        for output in cell.get("outputs", []):
            data = output.get("data", {})
            if "image/png" in data:
                parts.append(f'<img alt="figure" src="data:image/png;base64,{"".join(data["image/png"]).strip()}">')
            elif "text/html" in data:
                parts.append("".join(data["text/html"]))
            else:
                parts.append("```text\n" + "".join(output.get("text") or data.get("text/plain", [])).rstrip() + "\n```")
    return "\n\n".join(parts) + "\n"


def pages() -> tuple[dict[str, str], set[str]]:
    """Returns the text of every page of the site by its path, and the source files that pages link to."""
    copied: set[str] = set()
    made = {site: rewrite((ROOT / name).read_text(encoding="utf-8"), name, copied) for name, site in ROOT_PAGES.items()}
    for path in sorted((ROOT / "docs").glob("*.md")):
        made[path.name] = rewrite(path.read_text(encoding="utf-8"), f"docs/{path.name}", copied)
    notebook = json.loads((ROOT / "docs" / NOTEBOOK).read_text(encoding="utf-8"))
    made["tutorial.md"] = rewrite(notebook_page(notebook), f"docs/{NOTEBOOK}", copied)
    return made, copied


def on_files(files: Any, config: Any) -> Any:
    """Adds the pages and the copies of source files."""
    from mkdocs.structure.files import File

    made, copied = pages()
    for name, text in made.items():
        if known := files.get_file_from_path(name):
            files.remove(known)
        files.append(File.generated(config, name, content=text))
    for path in sorted(copied):
        files.append(File.generated(config, f"{SOURCE}/{path}.txt", content=(ROOT / path).read_bytes()))
    return files
