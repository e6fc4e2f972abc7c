"""Multiple choice: the letters that a text chooses, as models write them, or the option whose text it repeats."""

import re

from passus.grading.answer_parser import LEADING
from passus.grading.equivalence import same
from passus.grading.latex_normalize import TEXT_MACRO, plain_words, tidy

LETTERS = "ABCDEFGHIJ"
WRAPPED = r"[(\[（【{]?\s*([A-Ja-j])\s*[)\]）】}]?"
ALONE = re.compile(r"(?:option|choice|answer|选项|选)?\s*" + WRAPPED + r"\s*(?:选项|项)?\s*[.。:：,，]?", re.I)
"""`B`, `(B)`, `B.`, `option B`."""
LED = re.compile(r"(?:option|choice|选项|选)?\s*(?:[(\[（]\s*([A-J])\s*[)\]）]|([A-J])\s*[.):：、．])\s*(?=\S)")
"""`B. the text of the option`."""
SEVERAL = re.compile(r"[A-Ja-j](?:[\s,，、;；&和与()（）.]|and|or|或)*(?:[A-Ja-j](?:[\s,，、;；&和与()（）.]|and|or|或)*){1,9}")
EITHER = re.compile(r"\bor\b|或")
HEDGE = ""
"""The letters of `B or D`, which chooses neither."""
WRAPPED_SEVERAL = re.compile(r"(?:\(\s*[A-J]\s*\)\s*(?:[,;&]|and)?\s*){2,9}")
EXPLAINED = re.compile(r"([A-J])\s*\(([^()]{1,200})\)")
"""`C (5 m/s)`."""
RUN = re.compile(r"[A-J]{2,10}")
SPOKEN = re.compile(r"(?<![A-Za-z])(?:option|choice|选项|选)?\s*[(（]?\s*([A-J])\s*[)）]?(?=[\s.,:;，。、；：)\]]|$)")


def letters(text: str, options: tuple[str, ...] = ()) -> str | None:
    """The letters chosen, in order of the alphabet; None where no choice is seen."""
    bare = (
        TEXT_MACRO.sub(lambda m: m[1], tidy(text))
        .replace("\\", " ")
        .replace("{", " ")
        .replace("}", " ")
        .strip(" *`.。,，;；\"'\n")
    )
    bare = LEADING.sub("", bare)
    if match := ALONE.fullmatch(bare):
        return match[1].upper()
    if RUN.fullmatch(bare) and len(set(bare.upper())) == len(bare):
        return "".join(sorted(bare.upper()))
    if SEVERAL.fullmatch(bare):
        if EITHER.search(bare):
            return HEDGE
        chosen = sorted(set(re.findall(r"(?<![A-Za-z])[A-Ja-j](?![A-Za-z])|(?<=[A-J])[A-J]", bare)))
        return "".join(sorted({letter.upper() for letter in chosen}))
    if WRAPPED_SEVERAL.fullmatch(bare):
        return "".join(sorted(set(re.findall(r"[A-J]", bare))))
    if (match := EXPLAINED.fullmatch(bare)) and by_text(match[2], options) in (match[1], None):
        return match[1]
    if match := LED.match(bare):
        return several_led(bare) or (match[1] or match[2])
    return by_text(text, options)


def several_led(text: str) -> str | None:
    """`A. one; C. two`: every letter that leads, where there is more than one."""
    found = re.findall(r"(?:^|[\s;；,，])[(（]?([A-J])[).:：、．]\s*\S", text)
    return "".join(sorted(set(found))) if len(set(found)) > 1 else None


def by_text(text: str, options: tuple[str, ...]) -> str | None:
    """The letter of the one option that says the same."""
    said = plain_words(text)
    if not said or not options:
        return None
    matches = [i for i, option in enumerate(options) if plain_words(option) == said and _symbols(option) == _symbols(text)]
    if not matches and len(text) < 200:
        matches = [i for i, option in enumerate(options) if len(option) < 200 and same(text, option)]
    return LETTERS[matches[0]] if len(matches) == 1 else None


def _symbols(text: str) -> list[str]:
    """What plain_words leaves out and formulas live by."""
    return re.findall(r"[()\[\]{}]", tidy(text).replace(" ", ""))


def spoken(text: str) -> str | None:
    """The letters in the rest of a sentence that announces the answer: `B, since ...`, `(B) and (C)`."""
    head = re.split(r"\b(?:because|since|as|which|not|rather|instead|因为|而)\b", text, maxsplit=1)[0]
    found = SPOKEN.findall(head)
    if len(set(found)) > 1 and EITHER.search(head):
        return HEDGE
    return "".join(sorted(set(found))) or None


def last_line(output: str, options: tuple[str, ...]) -> str | None:
    """A choice on a line of its own at the end, or an answer of one line."""
    lines = [line for line in output[-2000:].strip().splitlines() if line.strip()]
    return letters(lines[-1], options) if lines and len(lines[-1]) < 400 else None
