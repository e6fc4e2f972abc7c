"""Which names, places and panels small texts have, worked by hand."""

from passus.descriptions.point_reader import read_chart_data


def points(text: str) -> dict[str, dict[float, float]]:
    """Returns the values of each series by their places."""
    data = read_chart_data(text)
    found: dict[str, dict[float, float]] = {}
    for point in data.points:
        found.setdefault(point.series, {})[point.reading.x_low] = round(point.reading.y.low * data.scale(point), 6)
    return found


def test_a_text_may_count_what_only_it_counts():
    text = "After 2M songs: ABX 12%, QRS 9%.\n\nAfter 4M songs: ABX 27%, QRS 25%.\n\nAfter 8M songs: ABX 36%, QRS 38%."
    assert points(text) == {"ABX": {2e6: 0.12, 4e6: 0.27, 8e6: 0.36}, "QRS": {2e6: 0.09, 4e6: 0.25, 8e6: 0.38}}


def test_places_in_words():
    text = (
        "Along the bottom you have epochs, from one to four. ABX is at 44% after the first epoch, 55% after the "
        "second, 61% after "
        "the third and 62% after the fourth. QRS is at 35% after the first epoch, then it is at 43%, 49% and 53% "
        "after the fourth."
    )
    assert points(text) == {"ABX": {1: 0.44, 2: 0.55, 3: 0.61, 4: 0.62}, "QRS": {1: 0.35, 2: 0.43, 3: 0.49, 4: 0.53}}


def test_billions_in_words():
    text = "ABX is at 3.4 at one billion tokens, 3.0 at three billion and 2.8 at ten. QRS is at 3.5 at one billion tokens."
    assert points(text)["ABX"] == {1e9: 3.4, 3e9: 3.0, 1e10: 2.8}


def test_ends_of_names_that_begin_alike():
    text = "swan-a2 and swan-a3 ran for 40 hours. a2 is at 0.2 at hour 10 and at 0.4 at hour 40. a3 is at 0.3 at hour 10."
    assert points(f"{text} At hour 40, a3 is at 0.5.") == {"swan-a2": {10: 0.2, 40: 0.4}, "swan-a3": {10: 0.3, 40: 0.5}}


def test_phrases_that_own_values_side_by_side():
    text = (
        "At 8 h, SwiftPick has 48.2%, the grammar filter 47.0% and random choice 45.1%. At 16 h, SwiftPick has 53.9%, "
        "the grammar "
        "filter 51.8% and random choice 49.0%."
    )
    assert points(text) == {
        "SwiftPick": {8: 0.482, 16: 0.539}, "grammar filter": {8: 0.47, 16: 0.518}, "random choice": {8: 0.451, 16: 0.49},
    }  # fmt: skip


def test_the_subject_of_a_sentence_with_data():
    text = (
        "GRPO is at 0.2 at step 0, at 0.4 at step 50 and at 0.6 at step 100. PPO is at 0.2 at step 0, at 0.3 at step 50 and at "
        "0.5 at step 100. The narrow search starts at 0.2 at step 0, is at 0.25 at step 50 and ends at 0.3 at step 100."
    )
    assert points(text)["narrow search"] == {0: 0.2, 50: 0.25, 100: 0.3}


def test_lists_of_one_line_that_contradict_each_other_are_not_read():
    text = "GRPO is at 20%, 30% and 40% at steps 0, 50 and 100. At the same steps, GRPO is at 50%, 60% and 70%."
    assert points(f"{text} PPO is at 10%, 20% and 30% at steps 0, 50 and 100.") == {"PPO": {0: 0.1, 50: 0.2, 100: 0.3}}


def test_a_start_that_all_lines_share():
    text = (
        "Checkpoints were evaluated at steps 0, 10, 20 and 30. From a shared 12%, GRPO moves to 19%, 28% and 39%, and "
        "PPO to 26%, "
        "33% and 36%."
        " GRPO is the better one at no step."
    )
    assert points(text) == {
        "GRPO": {0: 0.12, 10: 0.19, 20: 0.28, 30: 0.39}, "PPO": {0: 0.12, 10: 0.26, 20: 0.33, 30: 0.36},
    }  # fmt: skip


def test_panels_that_a_text_counts():
    text = (
        "We ran GRPO and PPO on two benchmarks. OtterMath first. GRPO is at 0.2 at step 0 and at 0.4 at step 50, PPO at 0.1 at "
        "step 0 and at 0.3 at step 50. On to CraneCode. GRPO is at 0.5 at step 0 and at 0.6 at step 50, PPO at 0.4 at "
        "step 0 and "
        "at 0.7 at step 50. GRPO is ahead on OtterMath, and PPO on CraneCode."
    )
    panels = {(point.panel, point.series): point.reading.y.low for point in read_chart_data(text).points}
    assert panels == {
        ("OtterMath", "GRPO"): 0.4, ("OtterMath", "PPO"): 0.3, ("CraneCode", "GRPO"): 0.6, ("CraneCode", "PPO"): 0.7,
    }  # fmt: skip
