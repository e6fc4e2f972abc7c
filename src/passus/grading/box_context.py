"""The sentence around a box: whether it leaves the content the writer's own answer.

Most boxes stand in sentences that say much else, so only words that bear on the box itself count: words that deny, doubt or
report what is in it, and another box that is offered beside it.
"""

import re

from passus.grading.announcements import sentence_before
from passus.grading.boxes import BOX_START
from passus.grading.equivalence import equivalent

AFTER_BOX = 160
"""Characters after a box that are read."""
MARKUP = r"[\s:$\\(\[{*_\"“'`]{0,8}$"
DENIED_BEFORE = re.compile(
    r"(?:\b(?:answer|result|value|solution|choice|it|that|this)\b[^.,;:]{0,40}?\s(?:is|was|are|be|being"
    r"|equal)(?: \w{3,10}ly)?(?:n't"
    r"| not| never)"
    r"|\b(?:answer|result|solution|it|that|this)\b[^.,;:]{0,40}?\s(?:cannot|can't|can not|could not|couldn't|should not"
    r"|shouldn't|must not|will not|won't|would not|wouldn't|does not|doesn't|never) (?:be|equal)"
    r"|^\W{0,4}(?:so |thus |therefore |hence |but |and )?(?:certainly |definitely |clearly )?not"
    r"|\b(?:rather than|instead of|and not|as opposed to|anything but|contrary to|unlike|other than|rul(?:e|ed"
    r"|ing) out|exclude"
    r"|eliminate|discard|reject))(?: simply| just| the| exactly| equal to){0,2}" + MARKUP + r"|"
    r"(?:\b(?:is|was|be|seems|been)|'s)(?: \w{1,10}){0,2} (?:wrong|incorrect|mistake|mistaken|error|erroneous"
    r"|tempting|foolish|premature|careless|naive|misleading|a trap"
    r"|false)\b[^.;]{0,24}\b(?:to|that)\b[^.;]{0,60}$"
    r"|\b(?:wrong|incorrect|mistaken|naive|tempting|erroneous) (?:\w{1,8} )?(?:answer|result|value|choice) (?:\w{1,8} )?"
    r"(?:is|was|would be|of)\b[^.,;]{0,12}$|\b(?:common|typical|frequent) (?:mistake|error) is\b[^.,;]{0,24}$"
    r"|\b(?:do not|don't|never|should not|shouldn't|must not|cannot|can't|would not|wouldn't|will not|won't|refuse to"
    r"|avoid|tempted to|no reason to|no need to) (?:\w{1,10} ){0,2}"
    r"(?:writ(?:e|ing)|box(?:ing)?|answer(?:ing)?|put(?:ting)?|say(?:ing)?|conclud(?:e|ing)|claim(?:ing)?|submit(?:ting)?"
    r"|giv(?:e|ing)|report(?:ing)?|enter(?:ing)?|accept(?:ing)?|think|believe|choos(?:e|ing))\b[^.,;]{0,60}$"
    r"|\b(?:some|many|most|others|people|one|you|students?|solvers?)(?: \w{1,10}){0,2} (?:would|might|may"
    r"|could) (?:\w{1,8} )?"
    r"(?:say|write|answer|claim|think|guess|put|box|conclude)\b[^.,;]{0,20}$|\bi would have (?:written|said|answered"
    r"|boxed)\b[^.,;]{0,20}$"
    r"|(?:不是|并非|不应(?:该)?(?:是|写|填)|不能(?:是|写|填)|不要写|错误(?:地|答案)[^。，]{0,10})" + MARKUP,
    re.I,
)
DOUBTED_BEFORE = re.compile(
    r"\b(?:answer|result|solution|it|this|that) (?:might|could|may)(?: \w{2,8})? be" + MARKUP + r"|"
    r"\b(?:maybe|perhaps|possibly|not sure (?:if|whether|that)|unsure (?:if|whether)|(?:wonder|ask|unclear"
    r"|decide) (?:if|whether))"
    r"\b[^.,;]{0,40}$"
    r"|\b(?:if(?! (?:we|you|one|i) (?!had|were|did))|suppose|had|were)\b[^.]{0,90}\bwould (?:be|have been|give|get"
    r"|become|equal)\b[^.,;]{0,20}$"
    r"|\b(?:if|suppose|assume|assuming|unless) (?:that )?(?:the|my|our) (?:\w{1,8} )?answer (?:is|was|were)\b[^.,;]{0,12}$"
    r"|(?:可能|也许|大概|或许)是?" + MARKUP,
    re.I,
)
REPORTED_BEFORE = re.compile(
    r"\b(?:students?|classmates?|friend|textbook|book|answer key|key|teacher|tutor|someone|somebody|some people"
    r"|many people|others"
    r"|user|template|solution manual|another model|calculator)(?: \w{1,12})? (?<!who )(?<!that )(?:writes?|wrote"
    r"|has written|says?"
    r"|said|claims?|claimed|thinks?|thought|answers|answered|states|stated|lists|listed|believes?|believed|suggests?"
    r"|suggested"
    r"|guessed|submitted)(?: that)?(?: the| it| their| his| her)?(?: \w{1,8})?(?: answer| result)?(?: is| was| to be)?"
    + MARKUP
    + r"|"
    r"\b(?:answer key|solution manual|template|answer sheet)\b[^.,;]{0,30}\b(?:has|shows|gives|reads)\b[^.,;]{0,12}$"
    r"|\b(?:for example|e\.g\.|for instance),?(?: write)?" + MARKUP + r"|"
    r"\b(?:i (?:first|initially|originally|previously) (?:wrote|thought|answered|got|said|chose|had|put|boxed|found|obtained)"
    r"|my (?:first|initial|original|previous|earlier) (?:answer|guess|attempt|result|value|idea)"
    r"|at first,? i \w{1,10})\b[^.;,:]{0,30}$"
    r"|\b(?:previous|earlier|similar|another|different|simpler|easier|related) (?:solution|problem|question|exercise"
    r"|version|example)"
    r"\b[^.;:]{0,40}\b(?:was|gave|ended|had)\b[^.,;]{0,20}$|\b(?:someone|somebody)(?: \w{1,12}){0,4} (?:claims?"
    r"|claimed|says?|said|wrote)"
    r"\b[^.,;]{0,20}$|^\W{0,4}(?:output |answer |response |the )?(?:format|template|example)\s?:?" + MARKUP + r"|"
    r"\b(?:says|asks|told|instructs|instructed)\b[^.]{0,40}\bform(?:at)?" + MARKUP + r"|"
    r"(?:有人|同学|以为|误认为)[^。，]{0,16}$",
    re.I,
)
SINCE = re.compile(r",\s(?:so|thus|hence|therefore|but|instead|we|it is|the)\b", re.I)
"""A clause that begins after the denial: `It is wrong to stop there, so the answer is`."""
DENIED_AFTER = re.compile(
    r"[\s$\\)\]*_.,}\"”]{0,8}?(?:\?"
    r"|(?:here )?(?:is|was|would be|seems|looks|must be)(?: \w{2,12})? (?:wrong|incorrect|false|mistaken|impossible|invalid"
    r"|a mistake|an error|a trap|tempting|not (?:the |a )?(?:right|correct|answer|valid|possible|solution|what))\b"
    r"|(?:isn't|wasn't|cannot be|can't be|can not be|could not be|couldn't be|should not be)(?: the| a| quite){0,2}"
    r" (?:right|correct|valid|true|possible|answer|final|solution)\b"
    r"|(?:does not|doesn't|fails to|cannot) (?:work|satisfy|fit|hold|match|agree|check|solve)\b"
    r"|(?:is|was) what (?:\w{1,10} ){1,3}(?:might|would|thought|think|claims?|wrote)\b"
    r"|,?\s?(?:or|or maybe|or perhaps|or possibly|or else|或|或者|还是)\s?(?:maybe |perhaps |possibly |is it |it is |it's )?"
    r"[$\\(\[\s]{0,4}(?:\\boxed|something|[a-z]\s?=)"
    r"|,?\s?or (?:maybe|perhaps|possibly)\b"
    r"|(?:is|was|can be|must be|has to be) (?:ruled out|rejected|discarded|excluded|eliminated)\b"
    r"|(?:不对|是?错误?的|不正确|不可能))"
    r"|[^.\n]{0,60}?(?:\b(?:do not|don't|cannot) agree\b|\bdisagree\b|\ba (?:wild |pure |mere )?guess\b"
    r"|\b(?:though|but|which) (?:this |that |it )?(?:contradicts|fails|violates|is (?:wrong|false|incorrect|impossible)))"
    r"|[^.\n]{0,60}?\b(?:i|we) (?:cannot|can't|could not|couldn't|am unable to|do not|don't) (?:tell|decide"
    r"|know which|say which"
    r"|be sure|be certain)\b",
    re.I,
)
OTHER_VALUE = re.compile(r"[\s$\\)\]*_,}]{0,8}(?:or|或者?|还是)\s?(?:\$([^$\n]{1,60})\$|(-?\d[\d.,/]{0,20}(?:\\?%)?))")
"""`or $8$` after a box. The same value in another form is no alternative."""
BETWEEN_BOXES = re.compile(
    r"[\s$\\)\]*_,}]{0,8}(?:or|或者?|还是|and maybe|and perhaps)[\s,]{0,2}(?:maybe |perhaps |possibly |else |it is "
    r"|[a-z]\s?=\s?)?"
    r"[\s$\\(\[*_]{0,8}",
    re.I,
)
"""Joins two boxes as alternatives."""


def box_is_disowned(turn: str, content: str, end: int) -> bool:
    """Returns whether the sentence of the box that ends at `end` denies it, doubts it, reports it or offers another one."""
    start = _box_start(turn, end)
    before = sentence_before(turn, start)
    if _is_denied_before(before) or DENIED_AFTER.match(turn, end, min(len(turn), end + AFTER_BOX)):
        return True
    other = OTHER_VALUE.match(turn, end)
    if other and not equivalent((other[1] or other[2]).rstrip(".,"), content):
        return True
    earlier = before.rfind("}")
    return "\\boxed" in before and earlier >= 0 and BETWEEN_BOXES.fullmatch(before, earlier + 1) is not None


def _is_denied_before(before: str) -> bool:
    if DOUBTED_BEFORE.search(before):
        return True
    matches = (DENIED_BEFORE.search(before), REPORTED_BEFORE.search(before))
    return any(match is not None and not SINCE.search(match[0]) for match in matches)


def _box_start(turn: str, end: int) -> int:
    """Returns where the command of the box begins."""
    *_, last = (None, *BOX_START.finditer(turn, max(0, end - 2100), end))
    return last.start() if last else end


def before_box_sentence(turn: str, end: int) -> str:
    """Returns the text before the sentence of a box."""
    start = _box_start(turn, end)
    return turn[: start - len(sentence_before(turn, start))]
