# ruff: noqa: RUF001 (Chinese punctuation)
"""The short answer that a reference text ends in, where one can be read off by rule; for data whose golds are whole solutions.

The rule is narrow on purpose: a gold that is read off wrongly makes right answers wrong. It takes a text that is nothing but an
answer, or the end of a last sentence that draws a conclusion: one number, fraction, root, multiple of pi, point or letter of
an option, with at most a unit behind it. Rounded values, several values, equations, proofs and questions in several parts are
left to a judge.
"""

import re

NUMBER = r"-?\d+(?:,\d{3})*(?:\.\d{1,2})?(?![\d.])"
VALUE = rf"(?:{NUMBER}(?:/\d+|%)?|\({NUMBER}(?:,\s*{NUMBER})+\)|-?\d*(?:√\d+|π))"
UNIT = r"(?:(?!的)[\u4e00-\u9fff](?:(?![的是])[\u4e00-\u9fff]){0,3}|cm|km|m|kg|g|cm\^?[23]|m\^?[23])?"
CONCLUDES = re.compile(rf"(?:是|为[:：]?|得到|得|等于|共有|=)\s*({VALUE})\s*{UNIT}$")
BARE = re.compile(rf"(?:答案\s*(?:是|为|：|:)?\s*)?({VALUE})\s*{UNIT}")
OPTION = re.compile(r"(?:答案|选择?|选项)(?:应?该?)?\s*(?:是|为|：|:)?\s*\(?([A-D])\)?(?:选?项)?$")
OPTIONS = re.compile(r"A\s*[.．、:：)）].*B\s*[.．、:：)）]", re.S)
NOT_ONE_VALUE = re.compile(
    r"[(（][1１][)）].*[(（][2２][)）]|①.*②|[?？].+[?？]|[a-z]\s*[,，]\s*[a-z]\s*的值|比是|:c|"
    r"分别|哪些|各|方程[组式为]|(?:标准|一般)方程|一般形式|证明|解释|密度函数|条件|是否|怎么|如何|星期|展开|算出|保留|继续",
    re.S,
)
OPEN = re.compile(r"约|≈|\\approx|左右|大概|近似|四舍五入|无限|至少|至多|最多|可能|范围|或|等号|当且仅当|[:：]\s*1$")
DRAWS = re.compile(r"所以|因此|故|综上|答案|即|则|总共|一共|答[:：]|最终|So|Therefore|=")


def short_answer(problem: str, reference: str) -> tuple[str, bool] | None:
    """(answer, whether it is the letter of an option); None where only a judge can tell."""
    text = _plain(reference)
    if NOT_ONE_VALUE.search(problem):
        return None
    last = re.split(r"[。；\n]|[,，](?=所以|因此|故|答案|选)", text)[-1].strip(" .")
    if OPTIONS.search(problem):
        found = OPTION.search(last) or re.fullmatch(r"([A-D])", text)
        return (found[1], True) if found else None
    if found := BARE.fullmatch(text):
        return _number(found[1]), False
    found = CONCLUDES.search(last)
    if not found or OPEN.search(last) or not DRAWS.search(last) or _says_otherwise(text, last, found[1]):
        return None
    return _number(found[1]), False


def _says_otherwise(text: str, last: str, value: str) -> bool:
    """It begins with another answer, ends in several (x=3, y=4), or may have been rounded."""
    first = BARE.match(text)
    opens = first is not None and text[first.end() : first.end() + 1] in "。.,，" and first[1] != value
    several = len(re.findall(r"(?<![A-Za-z0-9)^*/+-])[a-z]\s*=\s*-?\d", last)) > 1
    return opens or several or ("." in value and "√" in text)


def _plain(text: str) -> str:
    """Without what annotators' tools wrote in: escaped slashes and line breaks, marks of LaTeX, full-width brackets."""
    text = text.replace("\\/", "/").replace("\\n", "\n").replace("$", "").replace("\\(", "").replace("\\)", "")
    return text.replace("−", "-").replace("（", "(").replace("）", ")").strip().rstrip("。. \n")


def _number(text: str) -> str:
    """As golds of other benchmarks are written."""
    if text.startswith("("):
        return text
    return re.sub(r"√(\d+)", r"\\sqrt{\1}", text.replace(",", "")).replace("π", "\\pi").replace("%", "\\%")
