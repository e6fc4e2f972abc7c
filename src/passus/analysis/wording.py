"""Phrases that the sentences of findings share."""

from passus.analysis.finding import Conclusion


def ci(low: float, high: float) -> str:
    """Formats the confidence interval of a difference of accuracies, in points."""
    if low != low:
        return "no interval"
    return f"95 % CI {_rounded(low):.1f} to {_rounded(high):.1f}"


def amount(value: float) -> str:
    """Formats the size of a difference of accuracies, without its sign."""
    return f"{abs(_rounded(value)):.1f} points"


def _rounded(value: float) -> float:
    return round(100 * value, 1) + 0.0  # + 0.0: no "-0.0"


def supported_if(condition: bool) -> Conclusion:
    return Conclusion.SUPPORTED if condition else Conclusion.NOT_SUPPORTED
