"""Multiple choice: the letters that a text chooses, in the spellings of models, or the option whose text it repeats."""

import re

from passus.grading.announcements import Announcement
from passus.grading.answer_patterns import LEADING_PHRASE
from passus.grading.equivalence import equivalent
from passus.grading.latex_normalize import TEXT_MACRO, normalize_latex, normalize_prose

LETTERS = "ABCDEFGHIJ"
WRAPPED_LETTER = r"[(\[（【{]?\s*([A-Ja-j])\s*[)\]）】}]?"
ONE_LETTER = re.compile(
    r"(?:(?:option|choice|answer|选项|选)\s?){0,2}\s*" + WRAPPED_LETTER + r"\s*(?:选项|项)?\s*[.。:：,，]?", re.I
)
"""`B`, `(B)`, `B.`, `option B`."""
LABELLED_OPTION = re.compile(
    r"(?:[Oo]ption|[Cc]hoice|选项|选)?\s*(?:[(\[（]\s*([A-J])\s*[)\]）]|([A-J])\s*(?:[.):：、．]"
    r"|\s[-–—]{1,2}\s(?=\S{2})(?!(?i:(?:the |this |it |that )?(?:is |was |are |does )?(?:in)?(?:correct|wrong|false|true"
    r"|not?|yes|right|possible|impossible|invalid|valid|maybe|perhaps|plausible|cannot|does|too|ruled|rejected|eliminate\w?|part(?:ial)?ly|contradict\w{1,5}|common|misconception|also|only"
    r"|but|close|tempting|(?:un)?likely|irrelevant|incomplete|out|fails?|violates?|describes|refers|would|could|might|may|should"
    r"|has|have|can|same|never|half|almost)\b))(?!.{0,200}[?？]$)))\s*(?=\S)"
)
"""`B. the text of the option`."""
LETTER_LIST = re.compile(
    r"[A-Ja-j](?:[\s,，、;；&和与()（）.]|and|or|或)*(?:[A-Ja-j](?:[\s,，、;；&和与()（）.]|and|or|或)*){1,9}"
)
LABELLED_LETTERS = re.compile(r"[(（]?([A-J])[)）.:：]\s*[A-Z](?:[A-Za-z]{1,9}|,? (?:and|or|&) [A-J])")
"""`A) HF`, an option whose text consists of letters too."""
OR = re.compile(r"\bor\b|或|还是")
NO_CHOICE = ""
"""The letters of `B or D`, which chooses neither."""
PARENTHESISED_LETTERS = re.compile(r"(?:\(\s*[A-J]\s*\)\s*(?:[,;&]|and)?\s*){2,9}")
LETTER_WITH_TEXT = re.compile(r"([A-J])\s*\(([^()]{1,200})\)")
"""`C (5 m/s)`."""
LETTER_RUN = re.compile(r"[A-J]{2,10}")
LETTER_IN_SENTENCE = re.compile(
    r"(?<![A-Za-z])(?:[Oo]ption|[Cc]hoice|选项|选)?\s*[(（]?\s*([A-J])\s*[)）]?(?=[\s.,:;，。、；：)\]]|$|[或和与及]|还是)"
)
REASONING = re.compile(
    r"\b(?:because|since|as|which|not|rather|instead|(?:while|whereas)(?!.{0,60}\b(?:also|equally|possible|plausible|could))|因为|而)\b"
)
MAX_OPTION_LENGTH = 200


class ChoiceReading:
    """Reads announced texts as letters of a choice."""

    is_choice = True

    def __init__(self, options: tuple[str, ...] = ()):
        self.options = options

    def announced(self, announcement: Announcement) -> str | None:
        letters = parse_choice(announcement.sentence, self.options) if announcement.sentence else None
        return letters if letters is not None else _choice_in_sentence(announcement.sentence)

    def last_line(self, line: str) -> str | None:
        return parse_choice(line, self.options)


def parse_choice(text: str, options: tuple[str, ...] = ()) -> str | None:
    """Returns the letters that an answer chooses, in alphabetical order; None if it chooses none."""
    bare = TEXT_MACRO.sub(lambda m: m[1], normalize_latex(text.replace("**", "")))
    bare = bare.replace("\\", " ").replace("{", " ").replace("}", " ").strip(" *`.。,，;；\"'\n")
    bare = LEADING_PHRASE.sub("", bare)
    bare = bare.removesuffix(" only") if LETTER_LIST.fullmatch(bare.removesuffix(" only")) else bare
    if match := ONE_LETTER.fullmatch(bare):
        return match[1].upper()
    if LETTER_RUN.fullmatch(bare) and len(set(bare.upper())) == len(bare):
        return "".join(sorted(bare.upper()))
    if match := LABELLED_LETTERS.fullmatch(bare):
        return match[1]
    if LETTER_LIST.fullmatch(bare):
        if OR.search(bare):
            return NO_CHOICE
        letters = re.findall(r"(?<![A-Za-z])[A-Ja-j](?![A-Za-z])|(?<=[A-J])[A-J]", bare)
        return "".join(sorted({letter.upper() for letter in letters}))
    if OR.search(bare) and len(set(LETTER_IN_SENTENCE.findall(bare))) > 1:
        return NO_CHOICE
    if PARENTHESISED_LETTERS.fullmatch(bare):
        return "".join(sorted(set(re.findall(r"[A-J]", bare))))
    if (match := LETTER_WITH_TEXT.fullmatch(bare)) and _option_with_text(match[2], options) in (match[1], None):
        return match[1]
    if match := LABELLED_OPTION.match(bare):
        return _several_labels(bare) or (match[1] or match[2])
    return _option_with_text(text, options)


def _several_labels(text: str) -> str | None:
    """Returns the letters of `A. one; C. two`; None where there is only one."""
    letters = set(re.findall(r"(?:^|[\s;；,，])[(（]?([A-J])[).:：、．]\s*\S", text))
    return "".join(sorted(letters)) if len(letters) > 1 else None


def _option_with_text(text: str, options: tuple[str, ...]) -> str | None:
    """Returns the letter of the one option that says the same as the text."""
    prose = normalize_prose(text)
    if not prose or not options:
        return None
    matches = [
        i for i, option in enumerate(options) if normalize_prose(option) == prose and _brackets(option) == _brackets(text)
    ]
    if not matches and len(text) < MAX_OPTION_LENGTH:
        matches = [i for i, option in enumerate(options) if len(option) < MAX_OPTION_LENGTH and equivalent(text, option)]
    return LETTERS[matches[0]] if len(matches) == 1 else None


def _brackets(text: str) -> list[str]:
    """Returns the brackets, which normalize_prose drops and which matter in expressions."""
    return re.findall(r"[()\[\]{}]", normalize_latex(text).replace(" ", ""))


def _choice_in_sentence(text: str) -> str | None:
    """Returns the letters in the rest of a sentence that announces the answer: `B, since ...`, `(B) and (C)`."""
    statement = REASONING.split(text, maxsplit=1)[0]
    letters = set(LETTER_IN_SENTENCE.findall(statement))
    if len(letters) > 1 and OR.search(statement):
        return NO_CHOICE
    return "".join(sorted(letters)) or None
