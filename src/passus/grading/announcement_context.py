"""The words before an announcement: whether they leave it a statement of the answer by the writer.

They do unless something in their clause denies, doubts, reports, assumes, asks or plans the announcement, or makes it the
answer to another question. Conditions and wrong methods count in the clauses before it too.
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
REPORT = re.compile(
    r"\b(?:examples?|template|format|e\.g|wrote|writes?|says?|said|states?|stated|claims?|claimed|answered|form"
    r"|instructions?|hint|guess\w{0,3}"
    r"|must (?:read|end|be)|should (?:read|end|be)|something like|such as|according|suggests?|attempt|key|manual"
    r"|textbook|misprint"
    r"|task|prompt|end your|your (?:response|reply|output|solution)|conclude with|finish with)\b"
    r"|^\W{0,3}(?:question|user|human|students?)\b"
    r"|例如|比如|格式|示例|说|写道|认为",
    re.I,
)
"""A piece before a colon, or a clause, that makes what follows somebody's words or an example."""
REASON = re.compile(
    r"\W{0,4}(?:(?:and|but|so|thus|therefore|hence|finally|now|then)[,\s]{1,2}){0,2}(?:since|because|given that|as"
    r"|by|from|after|once|using|combining"
    r"|\w{2,14}ing)\b",
    re.I,
)
"""Begins a clause that gives a reason or a step: `Since 7 is prime`."""
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
    r"|第\s?[(（]?[一二三四五1-9]{1,2}[)）]?\s?(?:问|小题|步|部分|题)",
    re.I,
)
CHINESE_CLAUSE = re.compile(
    r"(?:(?:通过|经过?|由|根据|利用|按照?)[^说写认]{1,12})?(?:所以|因此|故|综上(?:所述)?|于是|则|那么|最终|最后"
    r"|可知|可得|可以得到|得到?|得出|即|由此|从而|总之|其实"
    r"|实际上|事实上|但|但是|而|我们?|认为|觉得"
    r"|本题|该题|此题|这道题|这题|题目|正确|标准|参考|的|这里|现在|解得|经检验|检验后|计算后|重新计算后|不考虑顺序"
    r"|显然|知|有|所求|应该|因而|结果|这样|答|解|就)*"
)


FIRST_PERSON = (
    r"(?:\b(?:i|we)(?:'d|'ll|'ve| can| could| may| must| will| would| now| then| thus| therefore| finally| hence| do){0,3} )"
)
DENIED_CLAUSE = re.compile(
    r"\b(?:not|never|no|nobody|none|nothing|neither|nor|cannot|hardly|doubt\w{0,3}|den(?:y|ies|ied)|disagree\w{0,2}"
    r"|refut\w{1,4}"
    r"|false|untrue|wrong\w{0,2}|incorrect\w{0,2}|mistake\w{0,4}|error\w{0,5}|erroneous\w{0,2}|impossible|misconception|fallacy"
    r"|mislead\w{0,3}|tempt\w{0,4}|naive\w{0,2}|careless\w{0,2}|trap|invalid|flawed|faulty|bogus|absurd|unlikely"
    r"|distractor)\b|n't\b"
    r"|不|错|并非|未必|没有",
    re.I,
)
HEDGED_CLAUSE = re.compile(
    r"\b(?:maybe|perhaps|possib\w{1,3}|probab(?:ly|le)|presumabl\w|might|may|could|likely|guess\w{0,3}|seems?"
    r"|seemingly|appears?"
    r"|apparently|supposed\w{0,2}|alleged\w{0,2}|unsure|uncertain|hop(?:e|ing)|wonder\w{0,3}|hunch|suspect\w{0,2}"
    r"|tentative\w{0,2}"
    r"|speculat\w{1,4}|imagine|gut|feeling|chances?|odds|bet|estimat\w{1,4}|rough\w{0,2})\b|可能|也许|大概|或许"
    r"|似乎|好像|猜|恐怕|估计|或者",
    re.I,
)
REPORTED_CLAUSE = re.compile(
    r"\b(?:say(?:s|ing)?|said|tells? (?:me|you|them|him|her)|told|think(?:s|ing)?|thought|claim(?:s|ed|ing)?"
    r"|believ(?:es?|ed|ing)"
    r"|stat(?:es|ed|ing)|wrote|writes?|writing|written|answer(?:s|ed|ing)|suggest\w{0,3}|propos(?:es?|ed|al)|argu(?:es?|ed)"
    r"|assert\w{0,3}|report(?:s|ed)|according|repl(?:y|ies|ied)|respon(?:se|d|ds|ded)|quot(?:es?|ed)|lists|listed"
    r"|printed|key|textbook"
    r"|book|manual|teacher|students?|classmates?|friend|user|tutor|author|people|someone|somebody|others|everyone|expect\w{0,3}"
    r"|assistant|examples?|template|format|e\.g|instructions?|hint|such as|something like|has it|prompt|phrase"
    r"|sentence|end with|please|form)\b"
    r"|说|认为|以为|写道|例如|比如|格式|示例|有人|同学",
    re.I,
)
OWN_REPORT = re.compile(
    FIRST_PERSON + r"(?:say|think|believe|claim|state|write|answer|respond|propose|assert|argue|expect|suggest)\b"
    r"|\bas (?:expected|stated|written|claimed)\b|\bit (?:can|must|should) be (?:said|stated)\b|我们?(?:认为|说)"
    r"|\bin (?:simplest|simplified|exact|decimal|standard|lowest|interval|fraction\w{0,2}) \w{0,10}\s?form\b"
    r"|\bin (?:the )?form\b",
    re.I,
)
"""Reports of the writer's own opinion, which are statements."""
ASSUMED_CLAUSE = re.compile(
    r"\b(?:if|suppos(?:e|ing)|assum(?:e|es|ed|ing|ption)|unless|whether|provided|otherwise|hypothetical\w{0,2}|in case"
    r"|in that case|when(?=\s\S{1,12}\s(?:is|are|were)\b)|let(?! (?:me|us|'s))|were|had|imagine|until|before)\b"
    r"|如果|若|假如|要是|倘若|假设|设想|要不然|是否",
    re.I,
)
PLANNED_CLAUSE = re.compile(
    r"\b(?:check(?: that)?|verify(?: that)?|prove|ensure|make sure|test|needs?|want(?:ed)? to|wants|have to|has to"
    r"|remains to|try|trying"
    r"|let(?:'s| us| me)|recall|remember|how|why|what(?! (?:we|i|you)\b)|who|where|look(?:ing)? for|to (?:see|show"
    r"|prove|get|find"
    r"|determine|decide|reach|obtain)|plan|goal|aim|towards?)\b|验证|检验|证明|为什么|怎么|需要|要求",
    re.I,
)
OWN_PLAN = re.compile(
    r"\blet(?:'s| us| me) (?:conclude|state|summarize|say|finish|give|write)\b|\bwe (?:may|can|could) (?:now |thus "
    r"|therefore )?conclude\b|\bto (?:answer|conclude|summarize|finish|sum up)\b(?: (?:the|this|your"
    r"|our)(?: \w{1,10})? (?:question|problem|prompt)\b)?"
    r"|\bchecks? out\b|经检验|检验后|验证后|经过?验证|\blet me check\b|\bafter (?:\w{1,12} )?check\w{0,3}\b",
    re.I,
)
OTHER_QUESTION = re.compile(
    r"\b(?:previous\w{0,2}|earlier|last (?:year|time|week|problem|exercise|question)\S{0,2}|similar|another|other"
    r"|different|simpler|easier"
    r"|warm-?up|analog\w{0,4}|related|sample|comparison|contrast|part|parts|sub\w{0,12}|step(?! \d{1,2}\.?\s?$)|lemma|auxiliary"
    r"|intermediate|partial|half|twice|double|first|second|third|initial\w{0,2}|original(?:ly|\sanswer)|former|old"
    r"|preliminary|rough|bound"
    r"|estimate|approximat\w{1,4}|(?<!both )(?<!all )(?<!each )(?<!every )(?<!either )(?<!any )cases?|scenario"
    r"|situation|least|worst|next)\b"
    r"|第\s?[(（]?[一二三四五1-9]{1,2}[)）]?\s?(?:问|小题|步|部分|题)|上一?题|类似|中间|一半",
    re.I,
)
WRONG_METHOD = re.compile(
    r"\b(?:with|using|by|under|from|in|on|via|for|had|applying|taking|forgetting|ignoring|neglecting|omitting|miss?ing|without"
    r"|disregarding)\b[^,;]{0,60}\b(?:wrong\w{0,2}|incorrect\w{0,2}|mistaken\w{0,2}|naive\w{0,2}|faulty|flawed|false|bad"
    r"|careless\w{0,2}|previous|earlier|last year\S{0,2}|similar|comparison|contrast|another|other|different|simpler|easier)\b"
    r"|^\W{0,3}(?:but |and )?(?:forgetting|ignoring|neglecting|omitting|overlooking|disregarding)\b"
    r"|\b(?:in|on|from) (?:the|my|our) (?:\w{1,10} )?(?:book|textbook|key|sheet|manual|literature|forum|internet)\b"
    r"|(?:按照?|用|根据|以|采用)[^，。\n]{0,12}错"
    r"|\b(?:comparison|by contrast|for (?:instance|example)|hypothetically|allegedly|supposedly|reportedly|in theory)\b",
    re.I,
)
"""A clause of manner that makes the next one somebody else's answer, or the answer to another question."""
OPERATION_CONDITION = re.compile(
    r"\bif (?:we|you|one|i) (?:now |then |simply |just )?(?:put|combine|simplify|work|do|solve|sum|add|compute"
    r"|calculate|evaluate|finish"
    r"|carry|collect|gather)\b(?: (?:it|this|that|these|those|everything|all|both|the|them|out|up|of)\b)",
    re.I,
)
"""`If we put everything together`, which is a step and no condition."""
SPEAKER = re.compile(
    r"^(?!Solution|Conclusion|Answer|Therefore|Thus|So|Hence|Result|Final|Finally|Summary|Check|Verification"
    r"|Explanation|Reasoning|Note"
    r"|Assistant|Proof|Calculation|Analysis|Response|Now|Overall|Step|Correction|Update|Edit|Revised|Actually|Fix"
    r"|Rather|Then|Okay|Well"
    r"|Done|Wait|Also|Remark|Recap|Therefore|Simplify|Next|And)[A-Z][a-z]{1,12}:\s{0,3}(?:[Ss]o|[Tt]he|[Mm]y|\s){0,4}$"
)
"""`Tom:`, in front of what somebody says."""
POSSESSIVE = re.compile(r"(?<!\bit)(?<!\bthat)(?<!here)(?<!problem)(?<!question)(?:'s|s'|’s)(?: final| own| first)?\s?$", re.I)
"""`Bob's` before `answer`."""
SPECIAL_CASE = re.compile(
    r"(?:^|[,;:，；]\s?)(?:but |and |so |then )?(?:for|when|whenever|at|if)\s(?:\$[^$\n]{0,30}(?:=|<|>|\\(?:le|ge"
    r"|ne|in)\b)[^$\n]{0,30}\$"
    r"|[a-z]\s?[=<>]|(?:\$[a-z]\$|[a-z]) (?:is|are)\b)|当[^，。\n]{1,30}时",
    re.I,
)
"""`For $n = 1$`, before the answer of a special case."""
LATER_ATTEMPT = re.compile(
    r"\b(?:(?:second|third|fourth|next|final|last|new|corrected|fresh) (?:attempt|try|approach|pass|calculation|version)"
    r"|(?:attempt|try|version) (?:\#?[2-9]|two|three))\b[^.:：\n]{0,60}[:：]",
    re.I,
)
"""`Second attempt, with the sign corrected:`, before the writer's own answer."""
FULL_CLAUSE = re.compile(
    r"[,;:，；：()—–]\s?(?:but|so|thus|therefore|hence|and so|however|instead|in fact|then)\b|[;；：:]", re.I
)


def is_of_others(words: str) -> bool:
    """Returns whether the words around `answer` deny it, doubt it, report it, or make it the answer to another question."""
    if DENIED_CLAUSE.search(words) or HEDGED_CLAUSE.search(words) or OTHER_QUESTION.search(words):
        return True
    return REPORTED_CLAUSE.search(OWN_REPORT.sub(" ", words)) is not None


def disowns(clause: str) -> bool:
    """Returns whether the words of a clause before an answer make it another one, or assume it or plan it."""
    if is_of_others(clause) or ASSUMED_CLAUSE.search(OPERATION_CONDITION.sub(" ", clause)):
        return True
    return PLANNED_CLAUSE.search(OWN_PLAN.sub(" ", clause)) is not None


def last_clause(before: str) -> str:
    separators = list(SEPARATOR.finditer(before))
    return EDGES.sub("", before[separators[-1].end() :] if separators else before)


def is_conditional(statement: str, clause: str, *, hypothetical: bool) -> bool:
    """Returns whether the clauses before an announcement are its condition, or a method that the writer rejects."""
    statement = OPERATION_CONDITION.sub(" ", statement)
    if CONDITION.search(statement) and (hypothetical or not CONCLUDING.search(clause)):
        return True
    if (hypothetical and SCENARIO.search(statement)) or (SPECIAL_CASE.search(statement) and not CONCLUDING.search(clause)):
        return True
    earlier = FULL_CLAUSE.split(statement)[-1]
    return WRONG_METHOD.search(earlier) is not None


def commits(before: str, phrase: str, *, hypothetical: bool = False) -> bool:
    """Returns whether the part of a sentence before an announcing phrase leaves it the writer's own statement."""
    before = LATER_ATTEMPT.sub(" ", OPENING.sub("", before)).strip(MARKS)
    if (LEADING_PART.match(before) and "final" not in phrase.lower()) or _is_quoted(before) or POSSESSIVE.search(before):
        return False
    separators = list(SEPARATOR.finditer(before))
    clause = last_clause(before)
    if separators and separators[-1][0] in ":：" and REPORT.search(OWN_PLAN.sub(" ", before[: separators[-1].start()])):
        return False
    if SPEAKER.search(before) and separators and separators[-1][0] == ":":
        return False
    statement = re.split(r"[;；](?!\s?(?:then|那么|则))", before)[-1]
    if is_conditional(statement, clause + phrase, hypothetical=hypothetical):
        return False
    if ALLOWED_WORDS.fullmatch(clause) or CHINESE_CLAUSE.fullmatch(clause):
        return True
    return not disowns(clause)


def _is_quoted(before: str) -> bool:
    return bool(before.count('"') % 2) or before.rfind("“") > before.rfind("”") or before.rfind("「") > before.rfind("」")
