"""The result of a significance test, and the p-value of a z-score."""

from dataclasses import dataclass

from scipy.special import ndtr


@dataclass(frozen=True)
class TestResult:
    p: float
    """NaN where the data allow no test."""
    statistic: float = float("nan")

    __test__ = False  # the name makes pytest take this class for a test case


def normal_p(z: float) -> float:
    """Returns the two-sided p-value of a z-score."""
    return float(2 * ndtr(-abs(z)))
