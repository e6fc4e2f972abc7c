"""Normalisation of the spellings of one expression: LaTeX layout, unicode, text macros, digit groups, prose.

Every function rewrites text with patterns that cannot backtrack. Meaning is left to expression_parser.py and answer_parser.py.
The characters \\x02 and \\x03 mark the beginning and the end of words that came out of a text macro, here and in the parsers.
"""

import re

from passus.grading.vocabulary import CONJUNCTIONS, UNIT_LETTERS

UNICODE = str.maketrans(
    {
        "−": "-", "–": "-", "—": "-", "﹣": "-", "×": r"\times ", "·": r"\cdot ", "⋅": r"\cdot ", "÷": "/", "∗": "*", "∕": "/",
        "√": r"\sqrt ", "π": r"\pi ", "∞": r"\infty ", "≤": r"\le ", "≥": r"\ge ", "⩽": r"\le ", "⩾": r"\ge ", "≠": r"\ne ",
        "≈": r"\approx ", "∪": r"\cup ", "∩": r"\cap ", "∈": r"\in ", "±": r"\pm ", "∓": r"\mp ", "°": r"^\circ ",
        "∅": r"\emptyset ",
        "ℝ": r"\mathbb{R}", "ℤ": r"\mathbb{Z}", "²": "^{2}", "³": "^{3}", "⁴": "^{4}", "½": r"\frac{1}{2}", "¼": r"\frac{1}{4}",
        "¾": r"\frac{3}{4}", "⅓": r"\frac{1}{3}", "⅔": r"\frac{2}{3}", "，": ", ", "、": ", ", "；": ";", "：": ":", "∶": ":",
        "（": "(", "）": ")",
        "［": "[", "］": "]", "｛": "{", "｝": "}", "＝": "=", "＋": "+", "－": "-", "＜": "<", "＞": ">", "％": "%",
        "．": ".", "／": "/",
        "。": ".", "‖": "|", "｜": "|", "∣": "|", "⟨": r"\langle ", "⟩": r"\rangle ", "⌊": r"\lfloor ", "⌋": r"\rfloor ",
        "⌈": r"\lceil ", "⌉": r"\rceil ", "′": "'", "’": "'", "\u00a0": " ", "\u2009": " ", "\u202f": " ",
        "\u3000": " ", "\u200b": "",
        "θ": r"\theta ", "α": r"\alpha ", "β": r"\beta ", "λ": r"\lambda ", "ω": r"\omega ", "μ": r"\mu ", "σ": r"\sigma ",
        "φ": r"\phi ", "γ": r"\gamma ", "δ": r"\delta ", "ρ": r"\rho ", "τ": r"\tau ",
        **{sign: f"^{{{i}}}" for i, sign in enumerate("⁰¹", start=0)},
        **{chr(0x2074 + i): f"^{{{i + 4}}}" for i in range(1, 6)},
        **{chr(0x2080 + i): f"_{{{i}}}" for i in range(10)},
        **{chr(0x2460 + i): rf"\textcircled{{{i + 1}}}" for i in range(9)},
        **{chr(0xFF10 + i): str(i) for i in range(10)},
        **{chr(0xFF21 + i): chr(65 + i) for i in range(26)},
        **{chr(0xFF41 + i): chr(97 + i) for i in range(26)},
    }
)  # fmt: skip

UNICODE_DIGITS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹₀₁₂₃₄₅₆₇₈₉", "01234567890123456789")
UNICODE_FRACTION = re.compile(r"([⁰¹²³⁴-⁹]{1,6})[⁄/]([₀-₉]{1,6})")
TIMES_LETTER = re.compile(r"(?<=\d)\s?[xX]\s?(?=10\s?(?:\^|\*\*))")
"""The x of `7.2 x 10^8`."""
LONG_SPACE = re.compile(r"\s{3,}")
"""Long runs of spaces are collapsed first, because patterns with several optional spaces would try every way to split them."""
LAYOUT = re.compile(
    r"\\(?:left|right|displaystyle|textstyle|scriptstyle|limits|nolimits|bigl|bigr|Bigl|Bigr|biggl|biggr|big|Big|bigg|Bigg|hfill|noindent"
    r"|rm|bf|it|hline|centering|phantom|strut|allowbreak|underline"
    r"|tiny|small|normalsize|large|Large|LARGE|huge|Huge|checkmark|blacksquare|square|qed|Box|middle|therefore|notag|nonumber)(?![A-Za-z])\.?"
)
COLOR = re.compile(r"\\(?:text)?color\s*\{[^{}]{0,30}\}")
ROUNDED_VALUE = re.compile(r"\(\s*((?:\\approx|\\thickapprox)[^()]{1,40})\)\s*$")
"""A rounded value in parentheses after the exact one."""
FONT = re.compile(
    r"\\(?:boldsymbol|bm|mathbf|mathit|mathcal|mathsf|mathscr|textit|textup|emph|pmb)(?![A-Za-z])\s*(?:\{\s*([A-Za-z])\s*\})?"
)
ROW_SPACE = re.compile(r"\\\\\s*\[\s*-?[\d.]{1,6}\s*(?:pt|em|ex|mm|cm)\s*\]")
DOUBLED_BACKSLASH = re.compile(r"\\\\(?=(?:frac|dfrac|circ|pi|sqrt|text|left|right|cdot|times|infty)(?![a-z]))")
"""Commands whose backslash was doubled by an escape."""
CIRCLED_DIGIT = re.compile(r"\\textcircled\s*\{\s*(?:\\small\s*)?(\d)\s*\}")
BINOMIAL_ARRAY = re.compile(r"\(\s*\\begin\{array\}\{[lcr]\}\s*([^&{}\\]{1,40})\\\\\s*([^&{}\\]{1,40})\\end\{array\}\s*\)")
SPACING = re.compile(
    r"\\(?:[,;:! ]|quad(?![A-Za-z])|qquad(?![A-Za-z])|hspace\{[^{}]{0,20}\}|thinspace(?![A-Za-z])|enspace(?![A-Za-z]))|~"
)
TEXT_MACRO = re.compile(
    r"\\(?:text|textrm|textbf|textnormal|texttt|textsf|mbox|hbox|mathrm|operatorname\*?|rm)\s*\{([^{}]{0,400})\}"
)
BOXED = re.compile(r"\\(?:boxed|fbox|framebox)\s*(?=\{)")
SYNONYMS = {
    r"\dfrac": r"\frac", r"\tfrac": r"\frac", r"\cfrac": r"\frac", r"\leqslant": r"\le", r"\leq": r"\le", r"\geqslant": r"\ge",
    r"\geq": r"\ge", r"\neq": r"\ne", r"\dbinom": r"\binom", r"\tbinom": r"\binom", r"\lt": "<", r"\gt": ">", r"\lbrace": r"\{",
    r"\rbrace": r"\}", r"\lbrack": "[", r"\rbrack": "]", r"\varnothing": r"\emptyset", r"\tg": r"\tan", r"\ctg": r"\cot",
    r"\arctg": r"\arctan", r"\lvert": "|", r"\rvert": "|", r"\vert": "|", r"\mid": "|", r"\div": "/", r"\colon": ":",
    r"\lparen": "(", r"\rparen": ")", r"\degree": r"^\circ ", r"\R": r"\mathbb{R}", r"\thickapprox": r"\approx",
    r"\simeq": r"\approx", r"\doteq": r"\approx", r"\equiv": "=", r"\land": " and ", r"\lor": " or ",
    r"\wedge": " and ", r"\vee": " or ",
    r"\overrightarrow": r"\vec", r"\widehat": r"\hat", r"\bullet": r"\cdot", r"\ast": r"\cdot",
    r"\setminus": r"\backslash", r"\smallsetminus": r"\backslash", r"\implies": r"\Rightarrow",
}  # fmt: skip
INFIX_FRACTION = re.compile(r"\\(over|choose)(?![A-Za-z])")
MAX_INFIX_FRACTIONS = 20
COMMAND = re.compile(r"\\[A-Za-z]+")
PRIMES = re.compile(r"\^\s*(?:\{\s*)?((?:\\prime\s*)+)(?:\})?")
REPEATING_DECIMAL = re.compile(r"(?<!\d)(\d{0,20})\.(\d{0,20})(?:\\overline|\\dot|\\bar)\s*\{(\d{1,20})\}")
DOTTED_CYCLE = re.compile(r"(?<=[\d.])\\dot\s*\{?\s*(\d)\s*\}?(?:(\d{0,20})\\dot\s*\{?\s*(\d)\s*\}?)?")
"""A repeating part that is marked by dots over its first and last digit."""
ORDINAL = re.compile(
    r"(?<=\d)\s*\^\s*(?:\{?\s*\\(?:text|mathrm|textrm)\s*\{\s*(?:st|nd|rd|th)\s*\}\s*\}?|\{\s*(?:st|nd|rd|th)\s*\})"
)
NUMBER_SET = re.compile(r"(?<=\\in)\s*([ZNRQ])(?![A-Za-z])")
LATEX_GROUP_COMMA = re.compile(r"(?<=\d)(?:,\s*\\!\s*|\{,\}\s*)(?=\d{3}(?!\d))")
"""A comma whose LaTeX spacing makes it a thousands separator."""
COMMA_GROUPS = re.compile(r"(?<![\d.,_])([1-9]\d{0,2})((?:(?:,|\{,\})\d{3})+)(?![\d]|,\d)")
SPACE_GROUPS = re.compile(r"(?<![\d.])(\d{1,3})((?: \d{3})+)(?! ?\d)")
TEXT_UNIT = r"\{\s*\\(?:text|mathrm|mbox)\s*\{[^{}]{1,15}\}\s*(?:\^\s*\{?\d\}?)?\s*\}"
UNIT_FRACTION = re.compile(rf"\\frac\s*{TEXT_UNIT}\s*{TEXT_UNIT}\s*$")
REMARK = re.compile(r"(?<=\S)\s*\((?=[^()]*[一-龥])[^()]{1,80}\)\s*$")
"""A remark in Chinese after the answer."""
CURRENCY = re.compile(r"(?:US)?\\\$|[£€¥￥¢]|\\(?:pounds|euro|yen)(?![A-Za-z])|(?<![A-Za-z])(?:USD|RMB|EUR|Rs\.?)(?![A-Za-z])")

WORD_AND_CONJUNCTION = re.compile(r"([A-Za-z]{1,20}),? (and|or)")
"""The text between the numbers of `6 m and 16 m`."""
BRACKET = re.compile(r"\\[{}]|\\langle|\\rangle|[()\[\]]")
OPENING_BRACKETS = frozenset({"(", "[", "\\{", "\\langle"})
ARTICLE = re.compile(r"(?<![\w(,+\-*/^=<>])(?<![,(] )(?:the|an?)\s+(?=[^\W\d_]{2})")
"""An article, but not the a of the point (0, a)."""
NOT_WORD = re.compile(r"(?:(?<!\d)\.|\.(?!\d)|[^\w+\-*/^=<>|%\[\].])+")


def normalize_latex(text: str) -> str:
    """Removes layout, and brings unicode and synonyms to one spelling."""
    text = (
        UNICODE_FRACTION.sub(lambda m: rf"\frac{{{m[1].translate(UNICODE_DIGITS)}}}{{{m[2].translate(UNICODE_DIGITS)}}}", text)
        .translate(UNICODE)
        .replace("\x00", "")
    )
    text = TIMES_LETTER.sub(r" \\times ", text) if "10" in text else text
    text = LONG_SPACE.sub("  ", text).replace("\text{", "\\text{").replace("\frac", "\\frac").replace(r"\cr", r"\\")
    text = ROW_SPACE.sub(r"\\\\", text).replace("\\\\[", "\\\\ [") if r"\\" in text else text
    text = text.replace("...", r"\ldots ").replace("…", r"\ldots ").replace("np.", "").replace("math.", "")
    text = BOXED.sub("", text) if "box" in text else text
    text = LATEX_GROUP_COMMA.sub("", text).replace("{,}", ",") if "{,}" in text or "\\!" in text else text
    text = text.replace(r"\$", "\uff04").replace("$", " ").replace("\uff04", r"\$")
    text = text.replace(r"\(", " ").replace(r"\)", " ").replace(r"\[", " ").replace(r"\]", " ")
    text = _normalize_commands(infix_fractions(text)) if "\\" in text else text
    if "**" in text:  # bold around the answer, or a power in Python's spelling
        text = text.replace("**", " ") if text.strip().startswith("**") else text.replace("**", "^")
    return text.strip()


def _normalize_commands(text: str) -> str:
    text = FONT.sub(lambda m: f" {m[1]} " if m[1] else " ", CIRCLED_DIGIT.sub(lambda m: rf"\textcircled{{{m[1]}}}", text))
    text = ROUNDED_VALUE.sub(r"\1", COLOR.sub(" ", text))
    text = text if "\\begin" in text else DOUBLED_BACKSLASH.sub(r"\\", text)
    text = re.sub(r",\s*\\!\s*", ",", text)
    text = LAYOUT.sub(" ", SPACING.sub(" ", text.replace(r"\\", "\x01"))).replace("\x01", r"\\")
    text = COMMAND.sub(lambda m: SYNONYMS.get(m[0], m[0]), text)
    text = NUMBER_SET.sub(r" \\mathbb{\1}", ORDINAL.sub("", text))
    text = PRIMES.sub(lambda m: "'" * m[1].count("prime"), text)
    if (match := BINOMIAL_ARRAY.search(text)) and match[0] != text.strip():
        text = BINOMIAL_ARRAY.sub(lambda m: rf"\binom{{{m[1]}}}{{{m[2]}}}", text)
    return text


def infix_fractions(text: str) -> str:
    """Replaces `{a \\over b}` by \\frac{a}{b}, and \\choose by \\binom. Without braces, both sides are the whole text."""
    for _ in range(MAX_INFIX_FRACTIONS):
        match = INFIX_FRACTION.search(text)
        if match is None:
            break
        start, end = _group_around(text, match.start(), match.end())
        macro = "\\frac" if match[1] == "over" else "\\binom"
        top, bottom = text[start : match.start()].strip(), text[match.end() : end].strip()
        if text[start - 2 : start - 1].isdigit() and text[end : end + 1] == "}":  # the braces of a mixed number
            start, end = start - 1, end + 1
        text = f"{text[:start]}{macro}{{{top}}}{{{bottom}}}{text[end:]}"
    return text


def _group_around(text: str, left: int, right: int) -> tuple[int, int]:
    """Returns the bounds of the content of the braces around a place, or of the whole text."""
    depth, start = 0, left
    while start > 0 and depth >= 0:
        start -= 1
        depth += (text[start] == "}") - (text[start] == "{") if text[start - 1 : start] != "\\" else 0
    start += depth < 0
    depth, end = 0, right
    while end < len(text) and depth >= 0:
        depth += (text[end] == "{") - (text[end] == "}") if text[end - 1] != "\\" else 0
        end += depth >= 0
    return start, end


def open_text_macros(text: str) -> str:
    """Replaces text macros: conjunctions become plain words, single letters stay bare, other words get markers around them."""
    text = UNIT_FRACTION.sub("", REMARK.sub("", text))
    return TEXT_MACRO.sub(_open_macro, text) if "{" in text and "\\" in text else text


def _open_macro(match: re.Match[str]) -> str:
    content = match[1]
    word = content.strip()
    if not word or word == "percent":
        return r"\%" if word else " "
    if word in CONJUNCTIONS:
        return f" {_conjunction(word)} "
    if (unit_and_conjunction := WORD_AND_CONJUNCTION.fullmatch(word)) is not None:
        return f" \x02{unit_and_conjunction[1]}\x03 {_conjunction(unit_and_conjunction[2])} "
    if len(word) == 1 and content == word and word not in UNIT_LETTERS:
        return word
    return f" \x02{word}\x03 "


def _conjunction(word: str) -> str:
    return "or" if "or" in word.lower() or "或" in word else "and"


def join_digit_groups(text: str) -> str:
    """Removes the separators of `1,234,567` and `10 080`. Inside brackets a comma separates, as in the point (20,100)."""
    pieces, depth, start = [], 0, 0
    for match in BRACKET.finditer(text):
        pieces += [text[start : match.start()] if depth else _without_group_commas(text[start : match.start()]), match[0]]
        depth += 1 if match[0] in OPENING_BRACKETS else -1
        start = match.end()
    pieces.append(text[start:] if depth else _without_group_commas(text[start:]))
    return SPACE_GROUPS.sub(lambda m: m[1] + m[2].replace(" ", ""), "".join(pieces))


def _without_group_commas(text: str) -> str:
    return COMMA_GROUPS.sub(lambda m: m[1] + re.sub(r"\D", "", m[2]), text)


def split_digit_groups(text: str) -> str:
    """Separates `48,384` into two numbers, the other reading of it."""
    return re.sub(r"(?<=\d),(?=\d)", ", ", text)


def repeating_decimals_to_fractions(text: str) -> str:
    """Replaces `0.1\\overline{6}` by its fraction."""

    def fraction(match: re.Match[str]) -> str:
        whole, fixed, cycle = match[1] or "0", match[2], match[3]
        scale = 10 ** len(fixed)
        nines = (10 ** len(cycle) - 1) * scale
        top = int(whole + fixed) * (10 ** len(cycle) - 1) + int(cycle)
        return rf"(\frac{{{top}}}{{{nines}}})"

    if "." not in text:
        return text
    return REPEATING_DECIMAL.sub(fraction, DOTTED_CYCLE.sub(lambda m: rf"\overline{{{m[1]}{m[2] or ''}{m[3] or ''}}}", text))


def normalize_prose(text: str) -> str:
    """Returns prose without case, punctuation, articles and LaTeX macros, for comparison."""
    text = TEXT_MACRO.sub(lambda m: " " + m[1] + " ", normalize_latex(text))
    text = text.replace("\x02", " ").replace("\x03", " ").replace("\\", " ").lower()
    return " ".join(NOT_WORD.sub(" ", ARTICLE.sub("", text)).split())
