"""Numbers and untrusted text, as they are written in terminals, figures and reports."""


def score(accuracy: float, low: float, high: float) -> str:
    """Formats an accuracy with its interval: 0.983 [0.970, 0.991]."""
    return f"{accuracy:.3f} [{low:.3f}, {high:.3f}]"


def printable(text: str) -> str:
    """Control characters made visible, so that a model cannot drive the terminal."""
    return "".join(c if c.isprintable() or c == "\n" else repr(c)[1:-1] for c in text)


def points(value: float) -> str:
    """A difference of accuracies, in points."""
    return f"{round(100 * value, 1) + 0.0:+.1f} points"  # + 0.0: no "-0.0"


def share(value: float) -> str:
    """An accuracy: .983"""
    return f"{value:.3f}".replace("0.", ".", 1) if 0 <= value < 1 else f"{value:.3f}"


def between(low: float, high: float, scale: float = 100.0) -> str:
    return f"[{scale * low:.1f}, {scale * high:.1f}]"


def p_value(p: float) -> str:
    return "p < .001" if p < 0.001 else f"p = {p:.3f}".replace("0.", ".", 1)


def step(value: float) -> str:
    return f"{value:g}"
