"""The words before an announcement: whether they leave it a statement of the answer by the writer.

Whatever is not known to leave it one makes it a report, an assumption or an example, so that an unknown wording gives no answer
rather than a wrong one.
"""

import re

CONTEXT = 160
"""Characters before an announcement that are read."""
SEPARATOR = re.compile(r"[,;:，；：。()—–]|\s-\s|\s(?=(?:but|so|thus|therefore|hence|because|since)\b)", re.I)
"""Ends a clause. Connectives begin the next one."""
OPENING = re.compile(r"(?:\\\[|\\\(|\$|\\(?:text|textbf|mathbf|mathrm)\s?\{|\s){1,8}$")
"""Formulas and macros that begin before an announcement."""
EDGES = re.compile(r"^[\W_]{1,20}|[\W_]{1,20}$")
MARKS = " \t\r\n*_`#>|[]【】\"“”'•~"
ALLOWED_WORDS = re.compile(
    r"(?:(?:and|so|thus|therefore|hence|then|now|but|finally|consequently|accordingly|overall|clearly|indeed|here"
    r"|again|yes|okay|ok"
    r"|well|great|however|all in all|instead|rather|actually|ultimately|altogether|conclusively|step \d{1,2}\.?|\d{1,2}\."
    r"|in conclusion|in summary|in short|in total|in fact|in the end|to sum up|to conclude|as a result"
    r"|as it stands|as such|at last"
    r"|it follows|it is clear|it is now clear|it turns out|we are done"
    r"|(?:we|i|one)(?: can| may| must| will| would| now| then| thus| therefore| finally| hence){0,2}"
    r" (?:conclude|see|find|get|have|know|obtain|deduce|say|note|think|believe|claim|infer|state|arrive at|reach"
    r"|have found|give|write)"
    r"|i am (?:confident|certain|sure)|i'm (?:confident|certain|sure)"
    r"|(?:this|that|which|it)(?: also| then| thus| finally)? (?:means|gives|shows|implies|yields|tells us|makes"
    r"|leads to|results in)"
    r"|gives|giving|yields|meaning|leaving|making|us|with|for|as|at|to|that|the|our|my|this|an?|final|correct"
    r"|right|revised|corrected"
    r"|updated|amended|new|only|sole|unique|single|remaining)[\s,]{0,2}){0,12}",
    re.I,
)
REASON = re.compile(
    r"(?:and |but )?(?:since|because|by|from|after|once|given|as|using|combining|adding|subtracting|multiplying"
    r"|dividing|solving|putting"
    r"|simplifying|substituting|plugging|summing|counting|evaluating|comparing|checking|collecting|taking|reading"
    r"|hence|therefore)\b.{0,120}",
    re.I,
)
"""A clause that gives a reason or a step: `By symmetry the`."""
REPORT = re.compile(
    r"\b(?:examples?|template|format|e\.g|wrote|writes?|says?|said|states?|stated|claims?|claimed|answered|form"
    r"|instructions?|hint|guess\w{0,3}"
    r"|must (?:read|end|be)|should (?:read|end|be)|something like|such as|according|suggests?|attempt|key|manual"
    r"|textbook|misprint"
    r"|question|task|prompt)\b|例如|比如|格式|示例|说|写道|认为",
    re.I,
)
"""A piece before a colon, or a clause, that makes what follows somebody's words or an example."""
CONDITION = re.compile(
    r"(?:^|[,;:，；]\s?)(?:but |and |so |then )?(?:if|suppose|supposing|unless|assuming|assume|were|had|otherwise"
    r"|imagine|let's say)\b|如果|若|假如|要是|倘若|假设|设想|要不然",
    re.I,
)
SCENARIO = re.compile(r"(?:^|[,;:，；]\s?)(?:but |and |so |then )?(?:with|without|under|in that case|in this case)\b", re.I)
"""Begins a clause that is a condition if what follows is hypothetical."""
CONCLUDING = re.compile(
    r"\b(?:so|thus|therefore|hence|consequently|it follows|we conclude|but)\b|所以|因此|故|综上|从而|于是|可知", re.I
)
LEADING_PART = re.compile(
    r"(?:for |in |on )?(?:the )?(?:(?:first|second|third|other|previous) )?(?:(?:part|sub\w{0,12}|question|problem"
    r"|item)\s?)?\(?(?:[a-h]|i{1,3}|\d)\)"
    r"|(?:for |in )(?:the )?(?:(?:first|second|third) )?(?:part|subproblem|subquestion|step)\b"
    r"|第[一二三四五1-9]{1,2}(?:问|小题|步|部分|题)",
    re.I,
)
CHINESE_CLAUSE = re.compile(
    r"(?:(?:通过|经过?|由|根据|利用|按照?)[^说写认]{1,12})?(?:所以|因此|故|综上(?:所述)?|于是|则|那么|最终|最后|可知|可得|可以得到|得到?|得出|即|由此|从而|总之|其实"
    r"|实际上|事实上|但|但是|而|我们?|认为|觉得"
    r"|本题|该题|此题|这道题|这题|题目|正确|标准|参考|的|这里|现在|解得|经检验|检验后|计算后|重新计算后|不考虑顺序|显然|知|有|所求|应该|因而|结果|这样|答|解|就)*"
)


def commits(before: str, phrase: str, *, hypothetical: bool = False) -> bool:
    """Returns whether the part of a sentence before an announcing phrase leaves it the writer's own statement."""
    before = OPENING.sub("", before).strip(MARKS)
    if LEADING_PART.match(before) or _is_quoted(before):
        return False
    separators = list(SEPARATOR.finditer(before))
    clause = EDGES.sub("", before[separators[-1].end() :] if separators else before)
    if separators and separators[-1][0] in ":：" and REPORT.search(before[: separators[-1].start()]):
        return False
    statement = re.split(r"[;；](?!\s?(?:then|那么|则))", before)[-1]
    if CONDITION.search(statement) and (hypothetical or not CONCLUDING.search(clause + phrase)):
        return False
    if hypothetical and SCENARIO.search(statement):
        return False
    if REASON.fullmatch(clause):
        return not REPORT.search(clause) and not hypothetical
    return ALLOWED_WORDS.fullmatch(clause) is not None or CHINESE_CLAUSE.fullmatch(clause) is not None


def _is_quoted(before: str) -> bool:
    return bool(before.count('"') % 2) or before.rfind("“") > before.rfind("”") or before.rfind("「") > before.rfind("」")
