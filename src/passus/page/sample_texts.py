"""What the page asks for about completions: steps, the prompts of a step, the completions of one, or an eval item."""

from collections.abc import Mapping
from typing import Any

from passus.errors import UsageError
from passus.page import samples
from passus.page.live_page import LivePage


async def sample_texts(page: LivePage, query: Mapping[str, str]) -> dict[str, Any]:
    """Returns steps, groups, one group, or one eval item, by what the query asks for."""
    run = await page.read(lambda: page.collection.run(query.get("run", "")))
    step = whole(query.get("step", "0"), "step")
    match query.get("what"):
        case "steps":
            return await page.read_texts(lambda: {kind: samples.recorded_steps(run, kind) for kind in samples.KINDS})
        case "groups":
            verdict, search = query.get("verdict", "")[:40], query.get("search", "")[:200]
            return await page.read_texts(lambda: samples.groups(run, step, verdict, search))
        case "group":
            item = whole(query.get("item", ""), "item")
            return await page.read_texts(lambda: samples.group(run, step, item))
        case "items":
            return await page.read_texts(lambda: samples.eval_items(run, step))
        case "item":
            item, benchmark = whole(query.get("item", ""), "item"), query.get("benchmark", "")
            steps = list(dict.fromkeys([step, whole(query.get("to", str(step)), "to")]))
            return await page.read_texts(lambda: samples.item_texts(run, steps, benchmark, item))
    raise UsageError(f"what={query.get('what', '')[:40]!r}", expected="steps, groups, group, items or item")


def whole(text: str, name: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 16):
        raise UsageError(f"{name}={text[:40]!r}", expected="a whole number")
    return int(text)
