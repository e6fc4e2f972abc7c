# ruff: noqa: RUF001 (Chinese punctuation)
"""Extraction of the short answer that a reference text ends in, for data whose golds are whole solutions.

The rule is narrow on purpose, because a wrongly extracted gold makes right answers wrong. It accepts a text that is nothing but
an answer, or the end of a last sentence that draws a conclusion: one number, fraction, root, multiple of pi, point or letter of
an option, with at most a unit after it. Rounded values, several values, equations, proofs and questions in several parts are
left to a judge.
"""

import re

NUMBER = r"-?\d+(?:,\d{3})*(?:\.\d{1,2})?(?![\d.])"
VALUE = rf"(?:{NUMBER}(?:/\d+|%)?|\({NUMBER}(?:,\s*{NUMBER})+\)|-?\d*(?:√\d+|π))"
UNIT = r"(?:(?!的)[\u4e00-\u9fff](?:(?![的是])[\u4e00-\u9fff]){0,3}|cm|km|m|kg|g|cm\^?[23]|m\^?[23])?"
CONCLUSION = re.compile(rf"(?:是|为[:：]?|得到|得|等于|共有|=)\s*({VALUE})\s*{UNIT}$")
BARE_ANSWER = re.compile(rf"(?:答案\s*(?:是|为|：|:)?\s*)?({VALUE})\s*{UNIT}")
OPTION_LETTER = re.compile(r"(?:答案|选择?|选项)(?:应?该?)?\s*(?:是|为|：|:)?\s*\(?([A-D])\)?(?:选?项)?$")
OPTIONS = (r"A\s*[.．、:：)）]", r"B\s*[.．、:：)）]")
SEVERAL_PARTS = ((r"[(（][1１][)）]", r"[(（][2２][)）]"), ("①", "②"), ("[?？]", "(?s:.)[?？]"))
"""Two patterns each, of which the second follows the first in a problem with several parts."""
NOT_ONE_VALUE = re.compile(
    r"[a-z]\s*[,，]\s*[a-z]\s*的值|比是|:c|"
    r"分别|哪些|各|方程[组式为]|(?:标准|一般)方程|一般形式|证明|解释|密度函数|条件|是否|怎么|如何|星期|展开|算出|保留|继续",
    re.S,
)
INEXACT = re.compile(r"约|≈|\\approx|左右|大概|近似|四舍五入|无限|至少|至多|最多|可能|范围|或|等号|当且仅当|[:：]\s*1$")
CONCLUDING_WORD = re.compile(r"所以|因此|故|综上|答案|即|则|总共|一共|答[:：]|最终|So|Therefore|=")


def short_answer(problem: str, reference: str) -> tuple[str, bool] | None:
    """Returns the answer, and whether it is the letter of an option; None where only a judge can compare."""
    text = _plain(reference)
    if NOT_ONE_VALUE.search(problem) or any(_follow(problem, *patterns) for patterns in SEVERAL_PARTS):
        return None
    last_clause = re.split(r"[。；\n]|[,，](?=所以|因此|故|答案|选)", text)[-1].strip(" .")
    if _follow(problem, *OPTIONS):
        letter = OPTION_LETTER.search(last_clause) or re.fullmatch(r"([A-D])", text)
        return (letter[1], True) if letter else None
    if bare := BARE_ANSWER.fullmatch(text):
        return _as_gold(bare[1]), False
    conclusion = CONCLUSION.search(last_clause)
    if not conclusion or INEXACT.search(last_clause) or not CONCLUDING_WORD.search(last_clause):
        return None
    if _is_contradicted(text, last_clause, conclusion[1]):
        return None
    return _as_gold(conclusion[1]), False


def _follow(text: str, first: str, second: str) -> bool:
    """Returns whether a match of the second pattern stands after one of the first. Takes time linear in the text."""
    start = re.search(first, text)
    return start is not None and re.compile(second).search(text, start.end()) is not None


def _is_contradicted(text: str, last_clause: str, value: str) -> bool:
    """Returns whether the text begins with another answer, ends in several (x=3, y=4), or may have been rounded."""
    first = BARE_ANSWER.match(text)
    begins_otherwise = first is not None and text[first.end() : first.end() + 1] in "。.,，" and first[1] != value
    has_several = len(re.findall(r"(?<![A-Za-z0-9)^*/+-])[a-z]\s*=\s*-?\d", last_clause)) > 1
    return begins_otherwise or has_several or ("." in value and "√" in text)


def _plain(text: str) -> str:
    """Removes what annotation tools added: escaped slashes and line breaks, LaTeX delimiters, full-width brackets."""
    text = text.replace("\\/", "/").replace("\\n", "\n").replace("$", "").replace("\\(", "").replace("\\)", "")
    return text.replace("−", "-").replace("（", "(").replace("）", ")").strip().rstrip("。. \n")


def _as_gold(text: str) -> str:
    """Writes a value as the golds of other benchmarks are written."""
    if text.startswith("("):
        return text
    return re.sub(r"√(\d+)", r"\\sqrt{\1}", text.replace(",", "")).replace("π", "\\pi").replace("%", "\\%")
