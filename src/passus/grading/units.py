"""Units and words after a number, which do not matter, told from words that do: `5 cm` is 5, `5 squared` is not."""

import re

from passus.grading.latex_normalize import UNIT_LETTERS

UNIT_WORDS = frozenset(
    """cm mm km dm nm um kg mg ml mL kW kWh Hz kHz MHz GHz kJ kPa Pa eV keV MeV mol rad sr ft yd mi in lb lbs oz mph
    kph km/h m/s rpm inch inches foot feet yard yards mile miles meter meters metre metres centimeter centimeters
    centimetre centimetres millimeter millimeters kilometer kilometers kilometre kilometres gram grams kilogram
    kilograms pound pounds ounce ounces ton tons tonne tonnes liter liters litre litres gallon gallons quart quarts
    cup cups second seconds sec secs minute minutes min mins hour hours hr hrs day days week weeks month months year
    years yr yrs degree degrees deg radian radians dollar dollars cent cents euro euros yuan percent unit units square
    cubic sq cu people person persons students student ways way times coins coin marbles apples pieces points point
    books pages cars boys girls men women children cards balls integers numbers pairs solutions terms sides edges
    faces games meals tickets per newton newtons joule joules watt watts volt volts amp amps ampere amperes ohm ohms
    kelvin celsius fahrenheit hertz erg ergs parsec parsecs pc kpc Mpc AU angstrom angstroms electrons photons pm am 元
    米 厘米 千米 平方米 平方厘米 立方米 立方厘米 克 千克 吨 秒 分钟 小时 天 度
    个 种 人 次 条 件 岁 倍 名 组 对 只 本 张 块""".split()
)
SCALES = {
    "dozen": 12,
    "hundred": 100,
    "thousand": 10**3,
    "million": 10**6,
    "billion": 10**9,
    "trillion": 10**12,
    "万": 10**4,
    "亿": 10**8,
}
HEDGES = frozenset(
    """or and not maybe about approximately roughly otherwise if when except plus minus half perhaps but possibly
    unless is are was were has have be being isn't aren't wrong incorrect too below above under doubled tripled
    halved squared cubed factorial halves thirds quarters tenths hundredths fifths sixths sevenths eighths
    ninths elevenths twelfths thousandths fourths fifth sixth seventh eighth ninth tenth tens scores unknown
    impossible undefined remainder mod modulo more less fewer least most over""".split()
)
LEFT_HANGING = frozenset({"positive", "negative", "true", "false", "inverse"})
"""`4 positive integers` are 4, `4 negative` is not."""
LIMITED = frozenset(
    """or but only if unless except when wait idea maybe otherwise sometimes however although though possibly probably
    sure clue yet""".split()
)
"""After a yes or a no they make it something else."""

HEDGED_REMARK = re.compile(r"\(\s*(?:or|and|maybe|perhaps|possibly|not|but|approx|about|roughly)", re.I)
UNIT_END = re.compile(
    r"(?:\x02[^\x03]*\x03|(?<![A-Za-z\\])[A-Za-z一-龥]+(?:/[A-Za-z]+)?\.?)\s*(?:\^\s*(?:\{\s*-?\s*\d\s*\}|-?\d))?\s*[./·]?\s*$"
)
NUMERIC_HEAD = re.compile(r"[\d)}!]\s*$|\\pi\s*$|\\circ\s*$|%\s*$")
PLAIN_NUMBER = re.compile(r"-?\s*[\d.,]+(?:/\d+)?\s+")


SIGN_UNIT = re.compile(
    r"(?<=[\d)}\s])\s{0,3}(?:\x02?[kM]?\x03?\s{0,3}\\Omega|\\mu\s{0,3}\x02?[msgAFCLV]\x03?)\s{0,3}$"
    r"|(?<=\\circ)\s{0,3}\}?\s{0,3}(?:\x02[CF]\x03|[CF])\s{0,3}$"
)
"""Ohms, micrometres, degrees Celsius."""


def without_units(text: str) -> str:
    """`15 \\text{ cm}^2`, `45 mph`, `18 apples`: the number alone. A single letter counts as a unit only after a space."""
    text = SIGN_UNIT.sub(lambda m: "}" if "}" in m[0] else "", text) if "\\" in text and text[:1] in "-0123456789." else text
    for _ in range(6):
        match = UNIT_END.search(text)
        if not match or not (head := text[: match.start()].rstrip(" *.") if match.start() else ""):
            break
        if not is_unit(match[0], head, text[: match.start()]):
            break
        text = head.removesuffix("\\cdot").rstrip()
    return text.strip()


LETTER_END = re.compile(
    r"(?:\\(?:text|mathrm|mbox|rm)\s{0,3}\{[\s~]*([A-Za-z])[\s.]*\}|(?<=[\d}\s~])([A-Za-z]))\s{0,3}\.?\s{0,3}$"
)


def without_same_letter(answer: str, gold: str) -> tuple[str, str] | None:
    """72.6m and 72.6 \\text{ m} without the unit that both end in."""
    mine, right = LETTER_END.search(answer.strip("$ ")), LETTER_END.search(gold.strip("$ "))
    if mine is None or right is None or (mine[1] or mine[2]) != (right[1] or right[2]):
        return None
    if (mine[1] or mine[2]) not in UNIT_LETTERS:
        return None
    return answer.strip("$ ")[: mine.start()], gold.strip("$ ")[: right.start()]


def is_unit(tail: str, head: str, raw: str) -> bool:
    tail = re.sub(r"\^.*$", "", tail, flags=re.S).strip(" .\n/")
    wrapped = tail.startswith("\x02")
    word = tail.strip("\x02\x03 .")
    if wrapped and word.startswith("("):  # a remark, unless it takes something back
        return not HEDGED_REMARK.match(word)
    if word.lower() in HEDGES or any(w in HEDGES for w in word.lower().split()) or re.search(r"\d", word):
        return False
    if word.lower().split()[-1:] and word.lower().split()[-1] in LEFT_HANGING:
        return False
    if wrapped:
        return bool(re.search(r"\d|\\pi|\x03", head))
    if not (NUMERIC_HEAD.search(head) or is_unit_word(head.split()[-1])):
        return False
    if (
        word in UNIT_WORDS
        or word.lower() in UNIT_WORDS
        or (all(part in UNIT_WORDS or part in UNIT_LETTERS for part in word.split("/")) and "/" in word)
    ):
        return True
    if word in UNIT_LETTERS:
        return raw.endswith(" ") and bool(re.fullmatch(r"-?\s*[\d.]+", head))
    return (
        len(word) >= 4
        and word.isalpha()
        and bool(PLAIN_NUMBER.match(head + " "))
        and re.fullmatch(r"-?[\d.,/ ]+[A-Za-z ]*", head) is not None
    )


def is_unit_word(word: str) -> bool:
    return word in UNIT_WORDS or word.endswith("\x03") or (len(word) >= 4 and word.isalpha())


def scaled_words(text: str) -> tuple[str, int]:
    """`5 million` is 5 and 10^6."""
    match = re.search(r"(?<=[\d\s\x02])(dozen|hundred|thousand|million|billion|trillion|万|亿)(?:\x03|(?= ))?", text)
    if not match:
        return text, 0
    return (text[: match.start()] + text[match.end() :]).replace("\x02", " ").replace("\x03", " "), SCALES[match[1]]
