"""The committed tables of simulated runs: they keep what the documentation promises, and the page shows them."""

import json
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).parent.parent / "docs"
sys.path.insert(0, str(DOCS.parent / "scripts"))

import simulate  # noqa: E402
import simulation_page  # noqa: E402

RESULTS = json.loads((DOCS / "simulations.json").read_text())


def cells(beginning: str) -> dict[str, dict[str, list[float]]]:
    found = {key: measures for key, measures in RESULTS.items() if key.startswith(beginning)}
    assert found
    return found


def test_every_cell_was_made_and_is_shown():
    assert list(RESULTS) == [cell.key for cell in simulate.all_cells()]
    assert (DOCS / "simulations.md").read_text() == simulation_page.page(RESULTS)


def test_arms_that_do_not_differ():
    for sd in (0, 2, 4):
        for key, measures in cells(f"seeds: sd {sd}").items():
            claim, _, draws = measures["any configuration claim"]
            assert draws >= 1000 and claim <= (0 if "1 seeds" in key else 0.06), key
            assert "1 seeds" in key or 0.93 <= measures["coverage"][0] <= 0.98, key


def test_one_arm_of_eight_times_the_spread():
    """Two runs per arm cannot show that one arm's spread is larger; from three on it is seen."""
    for seeds in (3, 5):
        (measures,) = cells(f"seeds: one arm has sd 8, the others 1, {seeds} seeds").values()
        assert measures["any configuration claim"][0] <= 0.06 and 0.93 <= measures["coverage"][0] <= 0.98


def test_courses():
    for key, measures in cells("courses").items():
        assert measures["any"][2] >= 1000 and measures["any"][0] <= 0.06, key
        assert max(value[0] for name, value in measures.items() if name.startswith("A")) <= 0.05, key


def test_alarm_looks_and_intervals():
    assert all(measures["any alarm"][0] <= 0.05 for measures in cells("alarm: no fall").values())
    for wiggle in (0, 1):
        (measures,) = cells(f"alarm: fall of 8 after 8 eval points, wiggle {wiggle}").values()
        assert measures["seen within three"][0] >= 0.9
    for measures in cells("looks").values():
        for name in simulation_page.LOOK_MEASURES:
            rate, error, _ = measures[name]
            assert rate <= 0.05 + 2 * error
    assert all(measures["coverage"][0] >= 0.92 for measures in cells("intervals").values())


def test_power_is_predicted():
    for key, measures in cells("prediction").items():
        assert simulation_page.predict(key.partition(": ")[2]) == pytest.approx(measures["smallest visible"][0], rel=0.1), key


def test_draws_repeat_and_folders_say_the_same():
    cell = next(cell for cell in simulate.all_cells() if cell.key == "seeds: sd 2, 2 seeds, 2 arms")
    assert cell.draw(cell.rng(3)) == cell.draw(cell.rng(3))
    assert cell.runs is not None and not simulate.differs_through_folders(cell.runs(cell.rng(3)))
