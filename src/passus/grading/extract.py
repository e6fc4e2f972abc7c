"""Extraction of the answer from a model's output: the last box, `####`, an announcing phrase, or a bare answer."""

import re
from dataclasses import dataclass
from typing import Literal

BOX = "\\boxed{"
BOX_START = re.compile(r"\\(?:boxed|fbox|framebox)\s*\{")
BARE_BOX = re.compile(r"(?<!\\)\\boxed\s*([A-Z0-9])(?![A-Za-z0-9.,^_{(\\/])|(?<!\\)\\boxed\s+(-?\d{1,20})(?![\d.,^_{(\\/])")
"""`\\boxed 5` without braces boxes the next character or integer."""
BRACE = re.compile(r"\\.|[{}]", re.S)
MAX_ANSWER = 2048
"""Characters in a box."""
MAX_BOXES = 64
"""Boxes that are tried, from the end. It bounds the time on a text that is full of broken boxes."""
TAIL = 4000
"""Characters at the end of the output that are searched for a phrase."""
MAX_UNBOXED = 400
"""Characters of an answer outside a box."""


@dataclass(frozen=True)
class ExtractedAnswer:
    text: str
    source: Literal["box", "hashes", "phrase", "bare"]


ANNOUNCEMENT = re.compile(
    r"(?:(?:final|correct|right)?\s*\b(?:answer|choice|option)s?(?:\s+(?:to|of|for)\s[^.:\n]{0,80}?)?"
    r"\s*(?:\*\*)?\s*(?:is|are|:|=|would be|should be)"
    r"(?:\s*(?:equal to|therefore|thus|simply|option|choice|:))*"
    r"|(?:正确|最终|最后)?(?:答案|选项|结果)(?:是|为|选|应为|应选|:|：|】)+|(?<!不)故选|(?<!不)应选|(?:所以|因此|综上)?(?<!不)(?<!不[应能该])选择?(?=[\s:：]*[(（]?[A-Ha-h](?![a-z])))\s*[:：]?\s*(?:\*\*)?\s*",
    re.I,
)
SENTENCE_END = re.compile(r"\n|。|\.(?=\s|$|\*)|；(?=\s*$)|(?:,|，)\s*(?:because|since|which|so|as|因为)\b", re.I)
HASHES = re.compile(r"####[ \t]*([^\n]{0,400})")
DISPLAYED_FORMULA = re.compile(r"\$\$\s*([^$]{1,400}?)\s*\$\$|\\\[\s*([^$]{1,400}?)\s*\\\]")
MARKS = " \t\r\n*`\"“”'"


def extract_answer(output: str) -> ExtractedAnswer | None:
    """Returns the answer and where it stood; None if the output gives none."""
    boxed = last_box(output)
    if boxed is not None:
        return ExtractedAnswer(boxed, "box")
    boxes_without_braces = BARE_BOX.findall(output[-TAIL:])
    if boxes_without_braces:
        return ExtractedAnswer("".join(boxes_without_braces[-1]), "box")
    if BOX_START.search(output[-MAX_ANSWER * 2 :]):
        return None  # a box that was opened and never closed: its content is unknown
    return _after_hashes(output) or _after_announcement(output) or _bare_answer(output)


def last_box(output: str) -> str | None:
    """Returns the content of the last \\boxed{...} that closes, the outermost if boxes are nested; None without one."""
    head, box, rest = output.rpartition(BOX)
    content, closing, _ = rest[: MAX_ANSWER + 1].partition("}")
    if box and closing and "box" not in head and "box" not in rest and "{" not in content and "\\" not in content:
        return content  # the common case: one box without inner braces
    outermost: tuple[int, str] | None = None
    for start in reversed(_box_starts(output)):
        inner = _balanced_content(output, start)
        if inner is None:
            continue
        end = start + len(inner)
        if outermost is not None and end < outermost[0]:
            break  # an earlier box that does not contain the last one
        outermost = (end, inner)
    return outermost[1] if outermost else None


def _box_starts(output: str) -> list[int]:
    """Returns where the contents of the last MAX_BOXES boxes begin."""
    starts: list[int] = []
    end = len(output)
    while len(starts) < MAX_BOXES:
        at = max(output.rfind("\\boxed", 0, end), output.rfind("\\fbox", 0, end), output.rfind("\\framebox", 0, end))
        if at < 0:
            break
        match = BOX_START.match(output, at)
        if match:
            starts.append(match.end())
        end = at
    return starts[::-1]


def _balanced_content(output: str, start: int) -> str | None:
    """Returns the text from `start` to its closing brace; None if it is too long or never closed."""
    depth = 1
    for match in BRACE.finditer(output, start, min(len(output), start + MAX_ANSWER + 1)):
        depth += (match[0] == "{") - (match[0] == "}")
        if depth == 0:
            return output[start : match.start()]
    return None


def _after_hashes(output: str) -> ExtractedAnswer | None:
    at = output.rfind("####")
    match = HASHES.match(output, at) if at >= 0 else None
    return ExtractedAnswer(match[1].strip(MARKS), "hashes") if match and match[1].strip(MARKS) else None


def _after_announcement(output: str) -> ExtractedAnswer | None:
    """Returns the text after the last phrase that announces an answer, to the end of its sentence."""
    tail = output[-TAIL:]
    answer = None
    for match in ANNOUNCEMENT.finditer(tail):
        rest = tail[match.end() :].lstrip(" \n:：*")
        if formula := DISPLAYED_FORMULA.match(rest):
            answer = ExtractedAnswer(formula[1] or formula[2], "phrase")
            continue
        end = SENTENCE_END.search(rest)
        text = (rest[: end.start()] if end else rest).strip(MARKS)
        if text and len(text) <= MAX_UNBOXED:
            answer = ExtractedAnswer(text, "phrase")
    return answer


def _bare_answer(output: str) -> ExtractedAnswer | None:
    """Returns the whole output if it is one short line."""
    text = output.strip(MARKS)
    return ExtractedAnswer(text, "bare") if text and len(text) <= MAX_UNBOXED and "\n" not in text else None
