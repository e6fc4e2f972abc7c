"""Values of sentences, with the series known: which value belongs to which place and series."""

import pytest

from passus.descriptions.names import Names
from passus.descriptions.point_reader import read_chart_data

NAMES = ["Alpha", "Beta", "Gamma"]
AXES = "The x-axis shows training steps from 0 to 1000, the y-axis accuracy from 0 to 1. "
Row = tuple[str, float, float]


def rows(text: str) -> set[Row]:
    data = read_chart_data(AXES + text, Names(list(NAMES)))
    assert all(not point.reading.y.is_range for point in data.points)
    return {(p.series[0], p.reading.x_low, round(p.reading.y.low * data.scale(p), 4)) for p in data.points}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "Alpha climbs steadily: 0.20 at step 0, 0.30 at step 250, 0.52 at the end.",
            {("A", 1000.0, 0.52), ("A", 250.0, 0.3), ("A", 0.0, 0.2)},
        ),
        (
            "Starting from 0.2, Alpha rises to 0.41 halfway through (step 500) and to 0.52 by step 1000.",
            {("A", 1000.0, 0.52), ("A", 500.0, 0.41), ("A", 0.0, 0.2)},
        ),
        (
            "Alpha and Beta both begin at 0.2. After 500 steps they have reached 0.41 and 0.38, respectively.",
            {("B", 0.0, 0.2), ("A", 500.0, 0.41), ("B", 500.0, 0.38), ("A", 0.0, 0.2)},
        ),
        (
            "By step 250 Alpha had 30% right, against 28% for Beta and 22% for Gamma.",
            {("G", 250.0, 0.22), ("A", 250.0, 0.3), ("B", 250.0, 0.28)},
        ),
        (
            "At step 500 the scores are 0.41 (Alpha), 0.33 (Beta) and 0.25 (Gamma); those at step 1000 "
            "are 0.52, 0.55 and 0.31.",
            {
                ("B", 1000.0, 0.55),
                ("A", 1000.0, 0.52),
                ("G", 1000.0, 0.31),
                ("G", 500.0, 0.25),
                ("A", 500.0, 0.41),
                ("B", 500.0, 0.33),
            },
        ),
        (
            "Alpha is at 0.50, Beta at 0.53 and Gamma at 0.45 after 800 steps.",
            {("G", 800.0, 0.45), ("B", 800.0, 0.53), ("A", 800.0, 0.5)},
        ),
        (
            "Gamma finishes at 0.31, Alpha at 0.52 and Beta, the best of them, at 0.55.",
            {("B", 1000.0, 0.55), ("A", 1000.0, 0.52), ("G", 1000.0, 0.31)},
        ),
        (
            "Alpha, Beta and Gamma stand at 0.41, 0.33 and 0.25, respectively, at step 500.",
            {("G", 500.0, 0.25), ("A", 500.0, 0.41), ("B", 500.0, 0.33)},
        ),
        (
            "At step 750, Beta (0.58) leads Alpha (0.47) and Gamma (0.27).",
            {("G", 750.0, 0.27), ("A", 750.0, 0.47), ("B", 750.0, 0.58)},
        ),
        ("Step 500. Alpha 0.41, Beta 0.33.", {("A", 500.0, 0.41), ("B", 500.0, 0.33)}),
        (
            "Alpha goes from about 0.21 at step 0 to 0.26 at step 200, 0.29 at step 400. Beta shows "
            "0.30, 0.37 and 0.43 at the same steps.",
            {("A", 0.0, 0.21), ("A", 400.0, 0.29), ("A", 200.0, 0.26), ("B", 200.0, 0.37), ("B", 0.0, 0.3), ("B", 400.0, 0.43)},
        ),
        ("Gamma rises from 0.20 to 0.31 between steps 250 and 500.", {("G", 500.0, 0.31), ("G", 250.0, 0.2)}),
        (
            "At step 250 Alpha is at 0.30, at step 500 at 0.41 and at step 1000 at 0.52.",
            {("A", 1000.0, 0.52), ("A", 500.0, 0.41), ("A", 250.0, 0.3)},
        ),
        (
            "Step 250: Alpha 0.30, Beta 0.28\nStep 500: Alpha 0.41, Beta 0.33",
            {("A", 500.0, 0.41), ("A", 250.0, 0.3), ("B", 500.0, 0.33), ("B", 250.0, 0.28)},
        ),
        (
            "The final scores are: Beta 0.55, Alpha 0.52, Gamma 0.31.",
            {("B", 1000.0, 0.55), ("A", 1000.0, 0.52), ("G", 1000.0, 0.31)},
        ),
        (
            "Alpha gets 0.30 at step 250. Beta starts slowly. It climbs past Alpha with 0.45 at step 500.",
            {("A", 250.0, 0.3), ("B", 500.0, 0.45)},
        ),
        (
            "Alpha finishes 0.05 ahead of Beta. The gap between Alpha and Beta is 0.03 at step 500. "
            "Gamma drops 0.04 after step 750.",
            set(),
        ),
        (
            "Alpha first reaches 0.4 around step 500. Gamma never gets above 0.3. At step 500, Alpha "
            "is 8 points ahead of Beta.",
            set(),
        ),
        (
            "The difference between Alpha and Beta grows from 0.04 at the beginning to 0.22 at the "
            "end. Alpha adds 0.1 in the last 250 steps.",
            set(),
        ),
    ],
)
def test_values_belong_to_places_and_series(text, expected):
    assert rows(text) == expected
