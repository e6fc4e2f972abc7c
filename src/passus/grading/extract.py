"""Finding the answer in a model's text: the last box, `####`, a phrase that announces it, or the whole text if it is bare."""

import re
from dataclasses import dataclass

BOX = "\\boxed{"
BOX_START = re.compile(r"\\(?:boxed|fbox|framebox)\s*\{")
BARE_BOX = re.compile(r"(?<!\\)\\boxed\s*([A-Z0-9])(?![A-Za-z0-9.,^_{(\\/])|(?<!\\)\\boxed\s+(-?\d{1,20})(?![\d.,^_{(\\/])")
"""`\\boxed 5`, which boxes what stands next."""
BRACE = re.compile(r"\\.|[{}]", re.S)
LONGEST_ANSWER = 2048
MOST_BOXES = 64
"""How many of the last boxes are tried: the rest of a text full of broken ones is not worth the time."""
TAIL = 4000
"""Characters at the end in which a phrase is looked for."""
BARE = 400


@dataclass(frozen=True)
class Found:
    text: str
    how: str
    """box, hashes, phrase or bare."""


ANNOUNCED = re.compile(
    r"(?:(?:final|correct|right)?\s*\b(?:answer|choice|option)s?(?:\s+(?:to|of|for)\s[^.:\n]{0,80}?)?"
    r"\s*(?:\*\*)?\s*(?:is|are|:|=|would be|should be)"
    r"(?:\s*(?:equal to|therefore|thus|simply|option|choice|:))*"
    r"|(?:正确|最终|最后)?(?:答案|选项|结果)(?:是|为|选|应为|应选|:|：|】)+|(?<!不)故选|(?<!不)应选|(?:所以|因此|综上)?(?<!不)(?<!不[应能该])选择?(?=[\s:：]*[(（]?[A-Ha-h](?![a-z])))\s*[:：]?\s*(?:\*\*)?\s*",
    re.I,
)
SENTENCE_END = re.compile(r"\n|。|\.(?=\s|$|\*)|；(?=\s*$)|(?:,|，)\s*(?:because|since|which|so|as|因为)\b", re.I)
HASHES = re.compile(r"####[ \t]*([^\n]{0,400})")
DISPLAY = re.compile(r"\$\$\s*([^$]{1,400}?)\s*\$\$|\\\[\s*([^$]{1,400}?)\s*\\\]")
MARKS = " \t\r\n*`\"“”'"


def find(output: str) -> Found | None:
    """The answer and how it was told; None when the text gives none."""
    boxed = last_box(output)
    if boxed is not None:
        return Found(boxed, "box")
    without_braces = BARE_BOX.findall(output[-TAIL:])
    if without_braces:
        return Found("".join(without_braces[-1]), "box")
    if BOX_START.search(output[-LONGEST_ANSWER * 2 :]):
        return None  # a box that was opened and never closed: what it was to hold is not known
    return hashes(output) or phrase(output) or bare(output)


def last_box(output: str) -> str | None:
    """The content of the last \\boxed{...} that closes, the outermost if boxes are nested; None without one."""
    head, found, rest = output.rpartition(BOX)
    content, closed, _ = rest[: LONGEST_ANSWER + 1].partition("}")
    if found and closed and "box" not in head and "box" not in rest and "{" not in content and "\\" not in content:
        return content  # one box with nothing to balance, as most are
    best: tuple[int, str] | None = None
    for start in reversed(box_starts(output)):
        inside = balanced(output, start)
        if inside is None:
            continue
        end = start + len(inside)
        if best is not None and end < best[0]:
            break  # an earlier box, and not one around the last
        best = (end, inside)
    return best[1] if best else None


def box_starts(output: str) -> list[int]:
    """Where the contents of the last boxes begin, at most MOST_BOXES of them."""
    starts: list[int] = []
    end = len(output)
    while len(starts) < MOST_BOXES:
        at = max(output.rfind("\\boxed", 0, end), output.rfind("\\fbox", 0, end), output.rfind("\\framebox", 0, end))
        if at < 0:
            break
        match = BOX_START.match(output, at)
        if match:
            starts.append(match.end())
        end = at
    return starts[::-1]


def balanced(output: str, start: int) -> str | None:
    """The text from `start` to the brace that closes it; None if it is too long or never closed."""
    depth = 1
    for match in BRACE.finditer(output, start, min(len(output), start + LONGEST_ANSWER + 1)):
        depth += (match[0] == "{") - (match[0] == "}")
        if depth == 0:
            return output[start : match.start()]
    return None


def hashes(output: str) -> Found | None:
    at = output.rfind("####")
    match = HASHES.match(output, at) if at >= 0 else None
    return Found(match[1].strip(MARKS), "hashes") if match and match[1].strip(MARKS) else None


def phrase(output: str) -> Found | None:
    """What follows the last phrase that announces an answer, to the end of its sentence."""
    tail = output[-TAIL:]
    found = None
    for match in ANNOUNCED.finditer(tail):
        rest = tail[match.end() :].lstrip(" \n:：*")
        if display := DISPLAY.match(rest):
            found = Found(display[1] or display[2], "phrase")
            continue
        end = SENTENCE_END.search(rest)
        text = (rest[: end.start()] if end else rest).strip(MARKS)
        if text and len(text) <= BARE:
            found = Found(text, "phrase")
    return found


def bare(output: str) -> Found | None:
    """The whole text, when it is one short line."""
    text = output.strip(MARKS)
    return Found(text, "bare") if text and len(text) <= BARE and "\n" not in text else None
