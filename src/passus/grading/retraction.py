"""What takes an answer back: retractions, doubts, refusals, and sentences that call a value wrong."""

import re
from collections.abc import Iterator

RETRACTION = re.compile(
    r"\b(?=[a-z])(?:"  # one test before the many alternatives
    r"\b(?:this|that|it)(?: (?:result|value|answer|number|solution|option|choice|one))? (?:is|was|seems|looks"
    r"|must be|would be) (?:\w{1,10} )?"
    r"(?:wrong|incorrect|impossible|invalid|mistaken|false|absurd|nonsense|not (?:right|correct|valid|possible|true))\b"
    r"|(?:(?<=[.!?]\s)|(?<=\n)|(?<=\bbut\s)|(?<=\bhowever,\s)|(?<=\byet\s)|(?<=:\s)|(?<=\bunfortunately,\s))(?:this"
    r"|that|it)(?: (?:result|value|answer|number|solution|option|choice|one))?(?: clearly| obviously| also| simply)?"
    r" (?:fails|violates|contradicts|does not work|doesn't work"
    r"|(?:does not|doesn't|cannot|can't|did not|didn't) (?:satisfy|fit|hold|make sense|match|check|agree|meet"
    r"|be right|be correct))\b"
    r"|\b(?:plugging|substituting|checking|testing|putting|inserting|verifying) (?:this|it|that|the (?:answer"
    r"|result|value))\b[^.\d$\\\n]{0,40}?"
    r"\b(?:does not|doesn't|fails|contradicts|violates|gives a contradiction|leads to a contradiction|cannot)\b"
    r"|\b(?:revised|corrected|updated|amended|new)\s(?=(?:final\s)?answer)|\blet me (?:fix|correct|amend"
    r"|redo)(?: that| this| it)?\b"
    r"|\b(?:actually|wait|however|but|unfortunately|hmm|oh|on (?:checking|testing|verifying)|(?:re-?)?(?:checking|verifying"
    r"|testing|reading|examining|counting|computing|calculating)|looking (?:back|again)|yet|still|although|though)\b"
    r"[^.!?\d$\\\n]{0,80}?[,\s](?:this|that|it|the (?:answer|result|value|condition|constraint|requirement|equation)s?"
    r"|(?:this|that|the above|my|our|one|another|a) (?:result|value|answer|number|solution|option|choice|condition|constraint))"
    r"(?: (?:clearly|obviously|also|simply|actually|then|now|really|above|in the problem|is|are|was|does)){0,3}"
    r" (?:fails?|failed|violates?|violated|contradicts?|contradictory|inconsistent|breaks|needs? (?:to be )?(?:correct|chang"
    r"|revis|fix|adjust)\w{0,4}|(?:does not|doesn't|cannot|can't|did not|didn't|do not|don't|not|isn't|aren't) (?:\w{1,10} )?"
    r"(?:work|satisf\w{1,4}|fit|hold|make sense|match|check|agree|meet|met|fulfill?ed|be right|be correct|right|correct|valid"
    r"|the answer|possible)|wrong|incorrect|impossible|invalid|mistaken|too (?:large|small|big|high|low))\b"
    r"|(?<!if )\b(?:this|that|it|the (?:above )?(?:condition|constraint|requirement|answer"
    r"|result))(?: (?:result|value|answer|number"
    r"|solution|root|choice))? (?:is (?:extraneous|violated|not (?:satisfied|met|fulfilled))"
    r"|must be (?:rejected|discarded|excluded"
    r"|corrected|revised)|has to be (?:rejected|discarded|corrected|revised)|needs (?:correcting|correction|revision|fixing"
    r"|to be (?:corrected|revised|fixed|changed|rejected)))\b"
    r"|\bwe (?:must|have to|should|need to) (?:reject|discard|exclude|revise|correct) (?:this|that|it)\b"
    r"|\b(?:this|that|it) (?:cannot|can't|can not|could not|couldn't) be (?:the|our|my) (?:final |correct |right )?answer\b"
    r"|\b(?:but|however|wait|actually|hold on|hmm)[,:]?\s(?:(?:we|i)(?: have|'ve)? (?:double|over|under)[- ]?counted"
    r"|(?:we|i) (?:still |also )?(?:need to|have to|must) (?:subtract|add|divide|multiply|double|halve|exclude|remove|include)"
    r"|(?:the|this) (?:problem|question) (?:actually |really )?(?:asks|asked|wants|is asking))\b"
    r"|(?<=[.!?]\s)rather,"
    r"|\b(?:edit|edited|update|updated):|\b(?:after|upon|on) (?:further |closer |more |careful )?(?:review\w{0,3}"
    r"|reflection|inspection"
    r"|re-?check\w{0,3}|reconsider\w{0,6}|re-?examin\w{0,6})"
    r"|\b(?:i|let me|i'll|i must|i need to|i have to|i'd like to|we|we must) (?:change|changed|withdraw|retract"
    r"|revise|correct|take (?:it|that|this) back"
    r"|take back|made an?|was wrong|am wrong|misread|miscalculated|miscounted|mis[a-z]{3,12}|forgot|overlooked"
    r"|missed|reconsider|retracted|withdrew)\b"
    r"(?:\s(?:a|an|that|this|it|my|the|small|arithmetic|sign|answer|myself|mistake|error|calculation|previous"
    r"|earlier|final|response)\b)*"
    r"|\bi(?:'m| am| have|'ve)?(?: now)? (?:chang|switch|revis|withdr|correct)(?:e|ing|ed|awing|awn)?\b(?= (?:my|the) )"
    r"|\b(?:confident in|trust|go with|going with|stick (?:with|to)|stand by|prefer|believe) (?:the|my) "
    r"(?:first|former|earlier|original|initial) (?:one|answer|attempt|result|value|calculation)\b"
    r"|\b(?:scratch|strike|disregard|ignore|forget|discard|cancel) (?:that|this|it|the (?:above|previous"
    r"|last)[a-z ]{0,20}|my [a-z ]{0,20})\b"
    r"|\bnever ?mind\b|\bon second thoughts?\b|\bcorrection\b|\b(?:my|a) mistake\b|\bmy (?:bad|error)\b|\boops\b"
    r"|\bnope\b|\b(?:this|that|it) (?:can't|cannot|can not) be[.!]|\bwould be the (?:naive|wrong|incorrect)\b"
    r"|\b(?:error|mistake) in (?:my|the|this|step)\b"
    r"|\b(?:calculation|computation|arithmetic|reasoning|answer|result) (?:was|is) (?:off|wrong|flawed)\b"
    r"|\bdon't trust\b|\bneed to (?:fix|correct|redo)\b|\bstand corrected\b|\bre-?reading\b|(?<=,\s)no,(?=\s)"
    r"|\bsorry\b|\bapolog[a-z]{1,5}\b|\bwhoops\b"
    r"|\b(?:that|this|it|the answer|my answer|the above|above|answer|the previous [a-z]{1,12}|the first [a-z]{1,12})"
    r"(?:(?:'s| is| was| seems| looks| must be)(?: definitely| clearly| actually| probably| also| obviously)?"
    r" (?:wrong|incorrect|mistaken|invalid|an error|false|not (?:quite |the )?(?:right|correct|valid|true|possible|answer))"
    r"|(?: cannot be| can't be| can not be| could not be| couldn't be| isn't| wasn't| is not| was not| should not be)"
    r"(?: quite| really| the)? (?:right|correct|valid|true|possible|answer))"
    r"|\b(?:it|that|this) should (?:actually )?(?:be|have been)\b"
    r"|\bi (?:no longer|don't|do not) (?:think|believe|stand|trust)\b|\bi was mistaken\b"
    r"|\bnot (?:entirely |completely |fully |totally |really |quite |so |very |too |100% )?(?:sure|certain"
    r"|confident)\b|\bunsure\b|\buncertain\b"
    r"|(?:(?<=[.!?\n—–]\s)|(?<=[.!?\n—–])|(?<=wait,\s)|(?<=wait\s)|(?<=oh,\s)|(?<=hmm,\s))no[,.:]|\bno,? wait\b"
    r"|\bmake (?:that|it)\b|\bi (?:mean|meant)\b|\bshould have (?:been|said|written)\b|\bor rather\b|\bi (?:should"
    r"|would) (?:say|have said)\b"
    r")|不对|错了|有误|哦不|啊不|这(?:显然|明显)?是?(?:错|不可能)|这?与[^。\n]{1,12}矛盾|(?<=[？。]\s)不，"
    r"|(?<=[？。])不，|(?<=，)不，|更正|修正|收回|撤回|改为|改成|纠正|算错|弄错|看错|抱歉|对不起|不正确|不确定"
    r"|不能确定|不能肯定|不敢肯定|难以确定|说不准|拿不准|不好说|(?:这|该|此|它|结果|答案|代入后?|检验后?|检验[:：]"
    r"|但|但是)[^。，\n]{0,6}不(?:满足|符合|合题)|经?检验，?不(?:满足|符合|合题|成立)|(?:答案|结果)(?:显然)?是?错|作废|前面的答案|推翻|口误|笔误|重新(?:算|计算|考虑"
    r"|审视|来|检查|检验|验算|审题)"
    r"|(?:但|但是|然而|不过|可是|其实|实际上|等等|再看|仔细看?|检查发现|验证发现|发现)[^。\n\d$]{0,16}(?:这|该|此|它|答案|结果)"
    r"[^。\n\d$]{0,8}(?:不(?:成立|满足|符合|对|正确|可能|合)|错|矛盾|有误|有问题)",
    re.I,
)
"""Takes the answers before it back, unless new ones follow."""
REFUSAL = re.compile(
    r"\b(?:i|we) (?:cannot|can't|am unable to|are unable to|could not|couldn't|do not|don't)"
    r" (?:answer|solve|determine|find|help|decide|compute|give|provide|finish|complete|do this|know)\b"
    r"|\b(?:not enough|insufficient) information\b|\bi (?:give up|won't)\b"
    r"|(?<![A-J][.．、])(?<![A-J][.．、] )无法(?:确定|回答|求解|解决)",
    re.I,
)
"""Says that there will be no answer, unless one follows."""
DOUBT = re.compile(
    r"\bwait\b|\bhold on\b|\bhmm+\b|(?:(?<=[.!?\n]\s)|(?<=[.!?\n])|(?<=\bbut\s)|(?<=\bwell\s)"
    r"|(?<=\bwell,\s))actually\b|\bactually,"
    r"|\blet(?:'s| me| us) (?:re-?(?:check|consider|calculate|compute|do|think|examine|evaluate|visit|work|verify"
    r"|assess|count|read)|double[- ]check"
    r"|check (?:again|that again|once more)|think again|try again|start over)\b"
    r"|\bbut (?:could|might|what if)\b|\b(?:maybe|perhaps|possibly)\b|\b(?:i|we) (?:might|may"
    r"|could) (?:well )?be (?:wrong|mistaken|off)\b"
    r"|\b(?:could|might|may) (?:also|just as well|as well|equally|instead) be\b|\bthen again\b|\bgrain of salt\b"
    r"|\b(?:just|only) (?:a guess|guessing)\b|\balso possible\b|\b(?:another|other|alternative) (?:possible"
    r"|plausible) (?:answer|value)"
    r"|\b(?:in fact|more precisely|rather|or rather),? it(?:'s| is) (?=[$\\\d-])|不太确定"
    r"|\b(?:can't|cannot) be (?:sure|certain)\b|\bhard to (?:say|tell)\b|\bi(?:'m| am) (?:torn|guessing)\b|\bhave no idea\b"
    r"|等等|等一下|其实|再(?:检查|想|算)|也许|可能是|或许|让我(?:重新|再)|\b(?:this|that) (?:contradicts|is a contradiction)\b"
    r"|\bthere is no answer\b",
    re.I,
)
"""Takes the answers before it back, unless new ones or a confirmation follow."""
CONFIRMATION = re.compile(
    r"\b(?:yes|confirm\w{0,3}|confirmed|checks out|is (?:indeed )?(?:correct|right|consistent)|indeed"
    r"|still (?:holds|stands|correct|the same)|stands"
    r"|same (?:answer|result)|matches|verified|all good|looks (?:right|good|correct)|that works|consistent)\b|正确"
    r"|无误|没错|没问题|✓|✔|✅",
    re.I,
)
PRECAUTION = re.compile(
    r"\b(?:not to|avoid\w{0,3}|never|common|easy to|would be|don't|do not|careful|if|unless|students?|often|without"
    r"|many|easily)\b"
    r"[^.\n]{0,24}$|\bno\s$|(?:不要|避免|防止|以免|容易|易|别|注意|不会|没有|切勿|勿|常见)[^。\n]{0,12}$",
    re.I,
)
"""Words before a retraction that warn of a mistake: nothing is taken back."""
CALLED_WRONG = re.compile(
    r"\b(?:(?:is|was|seems|looks|must be|would be)(?: (?!correct|right)\w{1,10})? (?:wrong|incorrect|false|mistaken"
    r"|invalid|impossible"
    r"|absurd|extraneous|rejected|too (?:large|small|big|high|low)|not (?:the |a )?(?:right|correct|valid|true"
    r"|possible|answer|solution))"
    r"|(?:isn't|wasn't|is not|was not|cannot be|can't be|can not be|could not be|couldn't be)(?: the| a| quite"
    r"| really| actually){0,2}"
    r" (?:right|correct|valid|true|possible|answer|solution|case)"
    r"|(?:does not|doesn't|did not|didn't|fails to|cannot|can't) (?:work|satisfy|fit|hold|match|agree|check|meet"
    r"|make sense|solve)"
    r"|fails|contradicts|violates)\b|不(?:对|正确|成立|满足|符合|合题意|可能)|是?错误?的|舍去|矛盾",
    re.I,
)
"""What follows a value that is called wrong."""
SUBJECT = re.compile(
    r"(?:\$([^$\n]{1,120})\$|\\\((.{1,120}?)\\\)|(?<![^\s(（*_，。、：])([^\s，。、：]{1,60}))[\s*_)\]）]{0,4}$"
)
"""The value directly before a verb."""
DENIAL = re.compile(r"(?:think|believe|trust|true|false|wrong|correct|mistake|error|right|possible)$", re.I)
COMPLEMENT = re.compile(r"\s(?:that|to|the|this|it)\s", re.I)
"""What follows `I do not think` in the same sentence, which is denied."""
REPLACEMENT = re.compile(
    r"(?:mean|meant|nope|no|corrected|make (?:that|it)|should (?:actually )?be|should have been|rather|correction"
    r"|mean)[:,\s]{0,2}$",
    re.I,
)
"""A retraction that the new answer follows directly."""
BEFORE_VERB = 128
MAX_CALLED_WRONG = 16


def last_retraction(text: str, start: int) -> int:
    """Returns where the last retraction after `start` ends; 0 without one."""
    end = 0
    for match in RETRACTION.finditer(text, start):
        if not PRECAUTION.search(text, max(start, match.start() - 40), match.start()):
            end = match.end()
    return end


def last_doubt(text: str, start: int) -> int | None:
    """Returns where the last doubt after `start` ends, if no confirmation follows it."""
    *_, last = (None, *DOUBT.finditer(text, start))
    if last is None or CONFIRMATION.search(text, last.end()):
        return None
    return last.end()


def values_called_wrong(text: str, start: int) -> Iterator[tuple[int, str]]:
    """Yields where a value is called wrong after `start`, and the value."""
    for match in [*CALLED_WRONG.finditer(text, start)][-MAX_CALLED_WRONG:]:
        subject = SUBJECT.search(text, max(start, match.start() - BEFORE_VERB), match.start())
        if subject:
            yield match.end(), next(group for group in subject.groups() if group is not None)


def is_complement(text: str, retracted: int) -> bool:
    """Returns whether the text after a retraction is what it denies: `I do not think that the answer is 7`."""
    return DENIAL.search(text, max(0, retracted - 12), retracted) is not None and COMPLEMENT.match(text, retracted) is not None
