"""Time to a share of the gain, and the mean over training."""

import numpy as np
import pytest

from helpers.noisy_curves import noisy
from passus.stats import learning_speed


def test_time_to_a_share_of_the_way():
    x = np.array([0.0, 10, 20, 30, 40])
    assert learning_speed.time_to_share(x, np.array([0, 0.2, 0.6, 1, 1]), 0.5) == pytest.approx(17.5)
    assert learning_speed.time_to_share(x, np.array([0, 0.2, 0.6, 1, 1]), 1.0) == pytest.approx(30)
    assert learning_speed.time_to_share(x, np.array([0, 0.2, 0.6, 1, 1]), 0.0) == 0.0
    # 0.8 then 0.4 pool to 0.6 each: a lone high value does not count as having arrived.
    assert learning_speed.time_to_share(x, np.array([0, 0.8, 0.4, 1, 1]), 0.7) == pytest.approx(22.5)
    assert learning_speed.time_to_share(x, np.array([0, 0.8, 0.4, 1, 1]), 0.65, np.array([1, 3, 1, 1, 1])) == pytest.approx(
        10 * 0.65 / 0.7
    )
    assert learning_speed.time_to_share(x[:1], np.array([0.5]), 0.5) is None
    assert learning_speed.time_to_share(x, np.array([0.5, 0.4, 0.3, 0.2, 0.1]), 0.5) is None
    rows = noisy(x / 40, 0.1, 20)
    one_by_one = [learning_speed.time_to_share(x, row, 0.9) for row in rows]
    np.testing.assert_allclose(learning_speed.times_to_share(x, rows, 0.9), one_by_one)


def test_area_does_not_depend_on_spacing():
    assert learning_speed.mean_area(np.array([0, 1, 10]), np.array([0, 0.1, 1.0])) == pytest.approx(0.5)
    assert learning_speed.mean_area(np.array([5, 7, 9]), np.array([0.3, 0.3, 0.3])) == pytest.approx(0.3)
