"""The page as one HTML file with its data: opened from disk, without a server and without a network.

All scripts stand in the file, and a policy allows these by their hashes and nothing else.
"""

import base64
import hashlib
import math
import re
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any
from urllib.parse import parse_qsl

from passus.bounded_json import parse_json
from passus.errors import PassusError
from passus.page.assets import chart_script, one_script, own_files
from passus.page.json_text import to_json
from passus.page.line_figures import line_figure
from passus.page.live_page import LivePage
from passus.page.live_run import UNREADABLE
from passus.page.sample_texts import sample_texts
from passus.page.view import View
from passus.runs.provenance import now

X_AXES = ("step", "tokens", "time", "progress")
MAX_TEXTS = 8
"""Answers of samples and comparisons that are frozen: those that the page shows."""
MAX_FIELDS = 20
CLOSING_TAG = re.compile(rb"</(script)", re.IGNORECASE)
PLACE_OF_SCRIPTS = "<!-- scripts -->"
Json = dict[str, Any]


async def frozen_page(page: LivePage, query: Mapping[str, str]) -> str:
    """Returns the page at this moment. `with` names answers that it shows, one address per line."""
    at = now()
    shown = {key: value for key, value in query.items() if key not in ("with", "state")}
    figures = await _figures(page, View.of(shown), shown)
    answers: Json = {"findings": page.jobs.findings}
    for address in query.get("with", "").split("\n")[:MAX_TEXTS]:
        answer = await _answer(page, address)
        if answer is not None:
            answers[address] = answer
    about = page.about() | {"remarks": [*page.about()["remarks"], f"frozen {at}: the runs may have gone on since"]}
    state = _view_state(query.get("state", ""))
    return to_html({"figures": figures, "arms": page.arms, "about": about, "answers": answers, "state": state, "now": at})


def _view_state(text: str) -> dict[str, str]:
    """Returns the view of the page that is frozen; the page itself takes only keys that it knows."""
    try:
        state = parse_json(text or "{}")
    except ValueError:
        return {}
    return {str(key): value for key, value in state.items() if isinstance(value, str)} if isinstance(state, dict) else {}


async def _figures(page: LivePage, view: View, query: Mapping[str, str]) -> Json:
    """Returns the figure of the view, and those with other x-axes and of the other kind.

    A view that is zoomed is there whole and zoomed. Each figure is one call of the reader, so that open pages go on meanwhile.
    """
    whole = replace(view, low=-math.inf, high=math.inf)
    views = {_key(whole): whole}
    if view != whole:
        views[f"{_key(whole)} {query.get('low', '')} {query.get('high', '')}"] = view
    for x in (view.x, *X_AXES):
        others = [replace(whole, x=x, kind="curves", y=y) for y in (view.y, "accuracy", "length")]
        for wanted in [*others, replace(whole, x=x, kind="signals")]:
            views.setdefault(_key(wanted), wanted)
    return {key: await page.read(partial(_figure, page, wanted)) for key, wanted in views.items()}


def _key(view: View) -> str:
    return f"{view.kind} {view.x}" + (f" {view.y}" if view.kind == "curves" else "")


def _figure(page: LivePage, view: View) -> Json:
    try:
        return line_figure(page.collection, view)
    except UNREADABLE as error:
        return {"error": str(error)[:2000]}


async def _answer(page: LivePage, address: str) -> Json | None:
    """Returns the answer of an address of texts or of a comparison; None for others, and where there is none."""
    path, _, text = address.partition("?")
    try:
        query = dict(parse_qsl(text, max_num_fields=MAX_FIELDS))
    except ValueError:
        return {"error": f"The address has more than {MAX_FIELDS} parameters, and is not in the frozen page."}
    try:
        if path == "texts":
            return await sample_texts(page, query)
        if path == "compare":
            a, b = await page.read(lambda: [page.collection.side(query.get(side, "")) for side in "ab"])
            return await page.jobs.compare(a, b)
    except PassusError:
        return None
    return None


def to_html(data: Json) -> str:
    """Writes data and scripts into the page."""
    scripts = [CLOSING_TAG.sub(rb"<\\/\1", text) for text in (chart_script(), one_script().encode())]
    hashes = " ".join(f"'sha256-{base64.b64encode(hashlib.sha256(text).digest()).decode()}'" for text in scripts)
    policy = f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; img-src data: blob:; base-uri 'none'"
    style = own_files()["page.css"][0].decode()
    text = to_json(data).replace("<", "\\u003c")
    icon = base64.b64encode(own_files()["icon.svg"][0]).decode()
    head = (
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        f'<link rel="icon" href="data:image/svg+xml;base64,{icon}">\n<style>{style}</style>'
    )
    tail = (
        f'<script type="application/json" id="frozen">{text}</script>\n<script>{scripts[0].decode()}</script>\n'
        f'<script type="module">{scripts[1].decode()}</script>'
    )
    page = own_files()["index.html"][0].decode()
    before, _, rest = page.partition("<!-- head -->")
    _, _, rest = rest.partition("<!-- /head -->")
    body, _, _ = rest.partition(PLACE_OF_SCRIPTS)
    return f"{before}{head}{body}{tail}\n</body>\n</html>\n"
