"""Extraction of the answer from a model's output, in one of two modes.

`boxed` reads the last box alone. `any` reads the last box too, and without a box an answer that is announced in words. Training
uses `boxed`, so that a policy is paid for the format that it is asked for. Both modes are linear in the length of the output.
"""

import re
from dataclasses import dataclass

from passus.grading import announcement_patterns as patterns
from passus.grading.announcements import MARKS, MAX_UNBOXED, Announcement, Source, is_mathematics
from passus.grading.box_context import before_box_sentence, box_is_disowned
from passus.grading.boxes import TAIL, Box, find_box, has_open_box
from passus.grading.closing_text import answer_turn, collapse_spaces, strip_courtesy
from passus.grading.commitment import NOTHING_ANNOUNCED, AnswerReading, MathReading, NoAnswer, committed_answer, is_about_option
from passus.grading.equivalence import equivalent
from passus.grading.retraction import last_doubt, last_retraction
from passus.grading.verdict import ANY, BOXED, Extract

MATH_READING = MathReading()
PLACEHOLDER = re.compile(
    r"[\s.…]*|\\[lc]?dots|(?:\\text\{)?(?:your |the )?(?:final )?(?:answer|letter|result)(?: here)?\}?", re.I
)
"""The content of a box that repeats the instructions: `\\boxed{}`."""
TURN = re.compile(r"\b(?:actually|however|but|instead|re-?check\w{0,3}|checking again)\b|但|然而|不过|其实|实际上", re.I)
"""Words after a box that may introduce another answer."""
CORRECTING = frozenset({"hashes", "tag", "phrase", "heading", "choice", "closing sentence"})
EXPLICIT = frozenset({"phrase"})
"""Sources of an announcement after a box that outrank the box, with and without such a word."""
ANSWERED = (patterns.ANNOUNCEMENT, patterns.HASHES, re.compile(r"\\boxed\s?\{[^{}\n]"))
"""What stands before a question that is not the one that was given."""
LEADING_SIGN = re.compile(r"(?:^|(?<=\n))[✅☑👉🎯]\ufe0f?[^\S\n]?(?=\S)")
"""A pictogram before the answer's line."""
NO_BOX = NoAnswer("no box in the text")


@dataclass(frozen=True)
class ExtractedAnswer:
    text: str
    source: Source


def extract_answer(output: str, extract: Extract = ANY, reading: AnswerReading = MATH_READING) -> ExtractedAnswer | NoAnswer:
    """Returns the answer and where it stood, or why the output gives none."""
    turn = output if extract == BOXED else _without_invented_question(answer_turn(output))
    box = find_box(turn)
    if box is not None and extract == ANY and PLACEHOLDER.fullmatch(box.text):
        turn, box = turn[box.end :], None
    if box is not None:
        answer = ExtractedAnswer(box.text, "box")
        return answer if extract == BOXED else _unless_disowned(answer, turn, box, reading)
    if extract == BOXED:
        return NO_BOX
    if has_open_box(turn):
        return NoAnswer("a box is opened and never closed")
    return _announced(turn, reading)


def _unless_disowned(answer: ExtractedAnswer, turn: str, box: Box, reading: AnswerReading) -> ExtractedAnswer | NoAnswer:
    """Returns the boxed answer, unless its sentence disowns it; then what the text after it announces, or before it."""
    if not box_is_disowned(turn, box.text, box.end):
        return _unless_retracted(answer, turn[box.end :], reading)
    after = _announced(turn[box.end :], reading)
    if isinstance(after, ExtractedAnswer) and after.source != "bare":
        return after
    before = before_box_sentence(turn, box.end)
    earlier = find_box(before)
    if earlier is not None and not box_is_disowned(before, earlier.text, earlier.end):
        return _unless_retracted(ExtractedAnswer(earlier.text, "box"), before[earlier.end :], reading)
    announced = _announced(before, reading) if earlier is None and before.strip() else None
    if isinstance(announced, ExtractedAnswer) and announced.source == "phrase":
        return announced
    return NoAnswer("the sentence around the box disowns its answer")


def _unless_retracted(box: ExtractedAnswer, after: str, reading: AnswerReading) -> ExtractedAnswer | NoAnswer:
    """Returns the boxed answer, unless the text after the box takes it back and may announce another one."""
    tail = after[-TAIL:]
    if last_retraction(tail, 0):
        announced = _announced(after, reading)
        return NoAnswer("the answer in the box is taken back") if isinstance(announced, NoAnswer) else announced
    turns = last_doubt(tail, 0) is not None or TURN.search(tail) is not None
    if not turns and (patterns.ANNOUNCEMENT.search(tail) is None or patterns.NEXT_QUESTION.search(tail)):
        return box
    announced = _announced(after, reading)
    if isinstance(announced, NoAnswer) or announced.source not in (CORRECTING if turns else EXPLICIT):
        return box
    return announced if _differs(box.text, announced.text, reading) else box


def _differs(box: str, announced: str, reading: AnswerReading) -> bool:
    """Returns whether an announced answer is another one than that of the box, as far as both can be read."""
    if reading.is_choice:
        letters = reading.last_line(box), reading.last_line(announced)
        return None not in letters and letters[0] != letters[1]
    if not is_mathematics(box) or not is_mathematics(announced):
        return False
    return not equivalent(announced, box) and not equivalent(box, announced)


def _announced(turn: str, reading: AnswerReading) -> ExtractedAnswer | NoAnswer:
    text = strip_courtesy(join_displays(_without_markup(collapse_spaces(_without_next_question(turn[-TAIL:])))))
    found = committed_answer(text, reading)
    if isinstance(found, Announcement):
        letters = reading.announced(found) if reading.is_choice else None
        return ExtractedAnswer(found.text if letters is None else letters, found.source)
    bare = text.strip(MARKS)
    is_short = 0 < len(bare) <= MAX_UNBOXED and "\n" not in bare and len(turn) <= TAIL
    if reading.is_choice and (is_about_option(bare) or last_retraction(bare, 0) or last_doubt(bare, 0) is not None):
        return found
    if found.reason == NOTHING_ANNOUNCED and is_short and not is_mathematics(bare) and not patterns.ANNOUNCEMENT.search(bare):
        return ExtractedAnswer(bare, "bare")
    return found


def _without_next_question(text: str) -> str:
    """Cuts off a question that follows an announced answer, unless another answer is announced after it."""
    following = patterns.NEXT_QUESTION.search(text)
    if following is None or patterns.ANNOUNCEMENT.search(text, following.end()):
        return text
    answered = patterns.ANNOUNCEMENT.search(text, 0, following.start())
    return text[: following.start()] if answered else text


def _without_invented_question(turn: str) -> str:
    """Cuts off a new question with its answer, which a base model writes after the answer to the given one."""
    tail = turn[-TAIL:]
    if patterns.NEXT_QUESTION.search(tail) is None:
        return turn
    answered = min((match.end() for pattern in ANSWERED if (match := pattern.search(tail))), default=len(tail))
    question = next((q for q in patterns.NEXT_QUESTION.finditer(tail, answered) if _is_invented(tail, q)), None)
    if question is None or last_retraction(tail, question.end()) or last_doubt(tail, question.end()) is not None:
        return turn
    return turn[: len(turn) - len(tail) + question.start()]


def _is_invented(text: str, question: re.Match[str]) -> bool:
    """Returns whether a question has no number, as the parts of one problem do, and data of its own."""
    return not question["number"].strip() and patterns.INVENTED_QUESTION.match(text, question.end()) is not None


def _without_markup(text: str) -> str:
    """Removes HTML tags, pictograms before a line, and text that is struck out."""
    return patterns.HTML_TAG.sub("", patterns.STRUCK_OUT.sub("", LEADING_SIGN.sub("", text)))


def join_displays(text: str) -> str:
    """Puts displayed formulas on one line, and the last line of an aligned derivation for the whole of it."""
    if "\\begin{" in text:
        text = patterns.ALIGNED.sub(_last_aligned_line, text)
    return patterns.DISPLAY.sub(_on_one_line, text) if "\\[" in text or "$$" in text else text


def _on_one_line(display: re.Match[str]) -> str:
    """Removes line breaks and the full stop at the end of a displayed formula."""
    formula = display[0].replace("\n", " ")
    return formula[:-2].rstrip(" .,") + " " + formula[-2:]


def _last_aligned_line(aligned: re.Match[str]) -> str:
    """Returns the last line of an aligned derivation as a displayed formula."""
    lines = [line.replace("&", " ").strip() for line in patterns.LINE_BREAK.split(aligned["lines"])]
    last = next((line for line in reversed(lines) if line), "")
    return f"$$ {last.lstrip('= ').rstrip(' .,;')} $$" if last else ""
