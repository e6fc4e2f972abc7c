"""Formats numbers and untrusted text for terminals, figures and reports."""


def score(accuracy: float, low: float, high: float) -> str:
    """Formats an accuracy with its interval: 0.983 [0.970, 0.991]."""
    return f"{accuracy:.3f} [{low:.3f}, {high:.3f}]"


def printable(text: str) -> str:
    """Makes control characters visible, so that the output of a model cannot control the terminal."""
    return "".join(c if c.isprintable() or c == "\n" else repr(c)[1:-1] for c in text)


def points(value: float) -> str:
    """Formats a difference of accuracies in points: +1.3 points."""
    return f"{round(100 * value, 1) + 0.0:+.1f} points"  # + 0.0: no "-0.0"


def share(value: float) -> str:
    """Formats an accuracy: .983."""
    return f"{value:.3f}".replace("0.", ".", 1) if 0 <= value < 1 else f"{value:.3f}"


def between(low: float, high: float, scale: float = 100.0) -> str:
    """Formats an interval, by default in points: [1.1, 3.3]."""
    return f"[{scale * low:.1f}, {scale * high:.1f}]"


def p_value(p: float) -> str:
    return "p < .001" if p < 0.001 else f"p = {p:.3f}".replace("0.", ".", 1)


def step(value: float) -> str:
    """Formats a step or another x without trailing zeros."""
    return f"{value:g}"
