"""A frozen page has the whole view and the zoomed one, the time at which it was frozen, and words where it has no answer."""

import asyncio
import json
from datetime import datetime

from helpers.page_runs import add_steps, finished_run, start_run
from passus.page import samples
from passus.page.freeze import frozen_page
from passus.page.live_page import LivePage


def frozen_data(folder, **query: str) -> tuple[dict, int]:
    """Returns the data of a frozen page, and how often the reader was asked."""

    async def freeze() -> tuple[str, int]:
        page, asked = LivePage([folder]), 0
        read = page.read

        async def counted(call):
            nonlocal asked
            asked += 1
            return await read(call)

        await page.read(page.look)
        page.read = counted
        try:
            return await frozen_page(page, query), asked
        finally:
            await page.close()

    document, asked = asyncio.run(freeze())
    _, _, rest = document.partition('<script type="application/json" id="frozen">')
    return json.loads(rest.partition("</script>")[0]), asked


def test_a_zoomed_page_is_frozen_whole_and_zoomed(tmp_path):
    add_steps(start_run(tmp_path / "run"), 1, 1000)
    data, asked = frozen_data(tmp_path, y="train/reward", low="100", high="120")
    whole, zoomed = (data["figures"][f"curves step train/reward{part}"] for part in ("", " 100 120"))
    assert whole["reduced"] > 0 and whole["series"][0]["points"]["x"][-1] == 1000
    assert zoomed["reduced"] == 0 and zoomed["series"][0]["points"]["x"] == list(range(99, 122))
    assert {"curves step accuracy", "curves tokens train/reward", "signals step"} <= set(data["figures"])
    assert asked == len(data["figures"])
    assert datetime.fromisoformat(data["now"]).tzinfo is not None and data["now"] in data["about"]["remarks"][-1]


def test_an_address_that_is_too_long_is_said_in_words(tmp_path):
    finished_run(tmp_path / "run")
    address = "texts?" + "&".join(f"a{i}=1" for i in range(30))
    data, _ = frozen_data(tmp_path, **{"with": address})
    assert "more than 20 parameters" in data["answers"][address]["error"]


def test_numbers_of_samples_that_are_not_finite_are_null():
    row = {"item": 1, "verdict": "wrong", "prompt": "1", "reward": float("inf"), "advantage": float("nan"), "logp": -0.5,
           "extracted": None, "completion": "x"}  # fmt: skip
    assert samples._group_to_json(1, [row, row | {"reward": 1.0}])["reward"] is None
    shown = samples._sample_to_json(row)
    assert (shown["reward"], shown["advantage"], shown["logp"]) == (None, None, -0.5)
    json.dumps(shown, allow_nan=False)
