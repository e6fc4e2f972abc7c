"""A diagnosis in sentences: the cause and how probable it is, since when, which signs, and what to try."""

from passus.diagnosis.diagnose import CauseEstimate, Diagnosis, Health
from passus.diagnosis.sign import Sign

MOST_SIGNS = 3


def headline(diagnosis: Diagnosis) -> str:
    """Returns the verdict in a line, without a full stop."""
    match diagnosis.verdict:
        case Health.HEALTHY:
            return f"healthy ({diagnosis.healthy:.0%})"
        case Health.UNKNOWN:
            return f"something is wrong, and it is none of the known causes ({diagnosis.unknown:.0%}){_since(diagnosis.since)}"
        case Health.UNTESTABLE:
            return f"not enough is recorded: a diagnosis needs {diagnosis.lacks[0]}"
        case Health.FAULTY:
            first = diagnosis.causes[0]
            return f"{first.cause.words} ({first.probability:.0%}){_since(first.since)}"


def sentence(diagnosis: Diagnosis) -> str:
    """Returns the diagnosis as a paragraph: cause, signs, what to try, what else is possible."""
    text = headline(diagnosis)
    parts = [text[0].upper() + text[1:] + "."]
    if diagnosis.verdict is Health.FAULTY:
        first, *others = diagnosis.causes
        parts += [f"Signs: {signs_of(first)}."] if first.signs else []
        parts.append(f"To try: {first.cause.fix}.")
        parts += [f"Also possible: {also(others)}."] if others else []
    elif diagnosis.verdict is Health.UNKNOWN:
        parts.append(f"Signs: {'; '.join(sign.words for sign in diagnosis.signs[:MOST_SIGNS])}.")
        parts += [f"Least unlikely: {also(list(diagnosis.causes))}."] if diagnosis.causes else []
    return " ".join(parts)


def diagnosis_lines(diagnosis: Diagnosis) -> list[tuple[str, str]]:
    """Returns what stands under the headline, each with a label."""
    lines: list[tuple[str, str]] = []
    if diagnosis.verdict is Health.FAULTY:
        first, *others = diagnosis.causes
        lines += [("sign", _dated(sign)) for sign in first.signs]
        lines.append(("to try", first.cause.fix))
        lines += [("or", f"{other.cause.words} ({other.probability:.0%}); to try: {other.cause.fix}") for other in others]
    elif diagnosis.verdict is Health.UNKNOWN:
        lines += [("sign", _dated(sign)) for sign in diagnosis.signs]
        lines += [("perhaps", f"{other.cause.words} ({other.probability:.0%})") for other in diagnosis.causes]
    lacks = diagnosis.lacks if diagnosis.verdict is not Health.UNTESTABLE else ()
    return [*lines, *([("lacks", ", ".join(lacks))] if lacks else [])]


def signs_of(estimate: CauseEstimate) -> str:
    """Returns the signs that speak for a cause, each with the step since which it shows."""
    return "; ".join(_dated(sign) for sign in estimate.signs[:MOST_SIGNS])


def _dated(sign: Sign) -> str:
    return sign.words + (f" (since step {sign.since:.0f})" if sign.since is not None and sign.since > 1 else "")


def also(estimates: list[CauseEstimate]) -> str:
    return "; ".join(f"{estimate.cause.words} ({estimate.probability:.0%})" for estimate in estimates)


def _since(step: float | None) -> str:
    if step is None:
        return ""
    return f", since step {step:.0f}" if step > 1 else ", from the start"
