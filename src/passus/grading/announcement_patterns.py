"""Patterns of how models announce an answer, take it back, and hedge it. All repetitions are bounded."""

import re

KEYWORDS = (
    "answer",
    " ans",
    "\nans",
    "*ans",
    "choice",
    "option",
    "final",
    "result",
    "conclusion",
    "答",
    "选",
    "填",
    "结果",
    "####",
)
"""Every announcement contains one of these, in lower case, or stands at the beginning or at the end of the text."""
ADJECTIVE = (
    r"(?:(?:final|correct|right|best|required|desired|numerical|numeric|exact|overall|ultimate|complete|simplified)\s){0,2}"
)
QUALIFIER = (
    r"(?:\s(?:to|of|for|in|here|choice|option|value|we|you|i|that|which|therefore|then|thus|rounded|expressed"
    r"|written|correct|given"
    r"|simplified)\b[^.:：\n?=|]{0,80}?|\s?[,(]\s?[^.:：\n?=|]{1,60}?[,)])?"
)
VERB = (
    r"(?:\s?(?:is|are|would be|should be|must be|must therefore be|will be|has to be|becomes|comes out to be"
    r"|turns out to be|equals"
    r"|remains|reads|(?:comes|works out|amounts|evaluates|simplifies|reduces) to|can be (?:written|expressed) as)\b"
    r"|'s\b|\s?(?:[:：=|]|->|→|⇒|⟹|➜|➡️?|\\(?:Right|right|Longright)arrow\b|\\implies\b))"
)
FILLER = (
    r"(?:[\s*_`:：\"“]{0,6}(?:equal to|therefore|thus|simply|just|indeed|exactly|hence|clearly|given by|as follows"
    r"|actually|now|then"
    r"|in fact|not\s\S{1,40}?[;,]\s(?:it is|it's)|option|choice|letter|number|the (?:number|value|option|choice"
    r"|letter|expression)|still|again"
    r"|(?:not\s\S{1,40}?,?\s(?:but|rather))"
    r")(?![A-Za-z]))*"
)
ANNOUNCEMENT = re.compile(
    rf"(?<![A-Za-z]){ADJECTIVE}(?:answers?|ans\.?|choice|option|(?<=final )(?:result|value|solution|output)"
    rf"|(?<=correct )(?:options|choices)|(?<=right )(?:options"
    rf"|choices))(?![A-Za-z])(?P<about>{QUALIFIER})[*_`\s)\]]{{0,4}}{VERB}{FILLER}"
    r"|(?:正确|最终|最后|标准|参考|所以|因此|故)?(?:的)?(?:答案|选项)(?:应该|应当|应|就|便)?(?:是|为|选|填|等于|[:：】=])+(?:选项)?"
    r"|答案不是[^，,。\n]{1,40}[，,]?而是"
    r"|(?:最终|最后)(?:的)?(?:结果|得数)(?:应该|应)?(?:是|为|等于|[:：])+"
    r"|(?<![一-龥])答[:：]|(?<!不)故选|(?<!不)应选|(?<!不)故填|(?<!不)应填"
    r"|(?:所以|因此|综上|本题|我)?(?<!不)(?<!不[应能该])选择?(?=[\s:：*]{0,3}[(（]?[A-Ja-j](?![a-z]))",
    re.I,
)
"""`The final answer is`, `Answer:`, `答案是`."""
HEADING = re.compile(
    rf"(?:^|(?<=\n))[^\S\n]?[#>*_\s]{{0,6}}(?:the\s|my\s)?{ADJECTIVE}(?:answer|ans|result|conclusion|答案|最终答案|最终结果"
    rf"|结果)[*_:：\s#]{{0,8}}(?:\n|(?=\$\$|\\\[))",
    re.I,
)
"""A line that says only `**Final Answer**`; the answer is on the next line."""
UNVERBED = re.compile(
    rf"(?:(?:^|(?<=\n)|(?<=[.!] ))[#>*_\s\[【(]{{0,6}}(?:the\s|so\s|thus\s)?|\b(?:the|an|our"
    rf"|my)\s){ADJECTIVE}(?:answer|ans\.?)[\]】)]?"
    rf"[*_\s]{{1,5}}(?:of\s)?(?=\$"
    rf"|\\\(|\\\[|[-−]?\d|\(?[A-J]\b|\\frac|\\sqrt|√|[-–—]\s)(?:[-–—]\s)?"
    r"|(?:最终|正确|参考)?答案\s{1,2}(?=[-−]?[\d$\\])",
    re.I,
)
"""`Answer $9$`, without a verb."""
LABEL = re.compile(
    r"(?:A|Ans|Final|Result|Total|Answer|Solution|答|解|得|∴|⇒|→|=>|=)[*_]{0,2}\s?(?:[:：.]|(?<=[∴⇒→>=]))[*_\s]{0,3}", re.I
)
"""`A:` at the beginning of the last line."""
TAG = re.compile(r"<(answer|final_answer|final|ans)>([^<]{1,400})</\1>", re.I)
HASHES = re.compile(r"####[^\S\n]?([^\n]{1,400})")

SENTENCE_END = re.compile(
    r"\n|。|！|[.!](?=\s|$|[*_\"')\]]{1,3}(?:\s|$))|；(?=\s*$)"
    r"|[,，;；]?\s?(?:[-–—]{1,2}\s)?(?:\b(?:because|since|as|which|so|where|given that|due to|based on"
    r"|when rounded|i\.e\.)\b|因为|由于|，?其中|，?即)"
    r"|[,，]?\s\(?(?:and not|not|rather than|instead of)\s(?!\S{1,40},?\sbut\b)|，(?:而)?不是",
    re.I,
)
MATH_SPAN = re.compile(
    r"\$\$\s?([^$]{1,400}?)\s?\$\$|\$(?=[^\s$])((?:\\\$|[^$\n]){1,400}?)(?<=[^\s\\])\$(?!\d)|\\\(\s?(.{1,400}?)\s?\\\)"
    r"|\\\[\s?(.{1,400}?)\s?\\\]",
    re.S,
)
DISPLAY = re.compile(r"\$\$[^$]{1,600}?\$\$|\\\[.{1,600}?\\\]", re.S)
NUMBER = r"-?[$£€¥]?\d(?:[\d,]{0,40}\d)?(?:\.\d{1,40})?\s?(?:\\?%|°)?"
NUMBER_RUN = re.compile(
    rf"(?<![A-Za-z0-9_\\.,/^])(?:\(\s?)?[-−]?{NUMBER}(?:\s?\))?(?:\s?[-−–+*/×÷·=:^]\s?(?:\(\s?)?{NUMBER}(?:\s?\))?){{0,12}}(?![A-Za-z0-9_^\\π√(]"
    rf"|\*[A-Za-z(\\π])"
)
"""A number, or arithmetic in plain text such as `48 + 24 = 72`."""

ORDINAL = re.compile(r"第\s?\d{1,6}|\b\d{1,6}(?:st|nd|rd|th)\b")
LABELLED = re.compile(r"^[*_#\s]{0,4}[A-Za-z一-龥][A-Za-z '一-龥]{0,30}[*_]{0,2}[:：][*_\s]{0,4}")
UNIT_POWER = re.compile(r"(?<=[A-Za-z])\s?(?:\^\s?\{?[23]\}?|[²³])")

STATED = re.compile(
    r"(?:\b(?:is|are|it's|that's|was|equals|equal to|be|becomes|gives|get|obtain|have)\b|[:：]|是|为|等于|得到?|有)"
    r"[\s*_:：]{0,4}",
    re.I,
)
LEAD = re.compile(
    r"^[\s,:;—–-]{0,4}(?:(?:so|to|it|that|this|is|it's|that's|should|must|will|be|into|as|rather|instead|actually"
    r"|in fact|really|the|answer|correct|choice|option|value)\b[\s,:]{0,2}){1,6}",
    re.I,
)

DENYING = re.compile(
    r"\b(?:not|cannot|no|none|neither|never|maybe|perhaps|possibly|probably|might|could|if|unless|either|wrong"
    r"|incorrect|guess"
    r"|sure|but|except|whether|may|suppose|assum\w{1,6}|about|approximately|roughly|close)\b|n't\b|不(?:是|对|正确|能|会"
    r"|可能|确定)|可能|也许|错|大约|大概|约|左右|猜|吗",
    re.I,
)
"""Words before a value that make its sentence something else than a statement of it."""
CONCLUSION_LEAD = re.compile(
    r"^(?:and |so|thus|therefore|hence|consequently|finally|in conclusion|in summary|it follows that"
    r"|by elimination|it's|it is|that's|all in all"
    r"|altogether|in total|overall|(?:i|we) (?:got|get|end up with)"
    r"|we (?:get|have|find|obtain)(?: that)?"
    r"|this (?:gives|yields|means)(?: that)?|∴|\\therefore|所以|因此|故|综上(?:所述)?|即|解得|得)"
    r"(?:[\s,:，：]|(?<=[一-龥∴])){1,3}",
    re.I,
)
CLOSING_LETTER = re.compile(
    r"(?:\b(?:is|are|be)\b(?: option| choice| answer| letter)?|[:=]|是|为)[\s*_(（\[]{0,4}([A-J])[)）\]*_\s]{0,4}$"
)
"""`... is B` at the end of a sentence."""
HEDGE_AFTER = re.compile(
    r"[.…\s]{1,5}(?:or|or maybe|maybe|perhaps|but maybe|no)\b"
    r"|[,\s]{1,3}which (?:(?:is|was|seems) (?:\w{1,10} )?(?:wrong|incorrect|impossible|invalid|false|not"
    r"|a misprint|a mistake|too)"
    r"|cannot|can't|contradicts|fails|violates|does not|doesn't)",
    re.I,
)

RETRACTION = re.compile(
    r"\b(?=[a-z])(?:"  # one test before the many alternatives
    r"\b(?:this|that|it)(?: (?:result|value|answer|number|solution))? (?:is|was|seems|looks|must be|would be) (?:\w{1,10} )?"
    r"(?:wrong|incorrect|impossible|invalid|mistaken|false|absurd|nonsense|not (?:right|correct|valid|possible|true))\b"
    r"|(?:(?<=[.!?]\s)|(?<=\n)|(?<=\bbut\s))(?:this|that|it)(?: (?:result|value|answer|number|solution))?(?: clearly)?"
    r" (?:fails|violates|does not work|doesn't work"
    r"|(?:does not|doesn't|cannot|can't|did not|didn't) (?:satisfy|fit|hold|make sense|match|check|agree|meet"
    r"|be right|be correct))\b"
    r"|\b(?:revised|corrected|updated|amended|new)\s(?=(?:final\s)?answer)|\blet me (?:fix|correct|amend"
    r"|redo)(?: that| this| it)?\b"
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
    r"|\b(?:scratch|strike|disregard|ignore|forget|discard|cancel) (?:that|this|it|the (?:above|previous"
    r"|last)[a-z ]{0,20}|my [a-z ]{0,20})\b"
    r"|\bnever ?mind\b|\bon second thoughts?\b|\bcorrection\b|\b(?:my|a) mistake\b|\bmy (?:bad|error)\b|\boops\b"
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
    r"|\bmake (?:that|it)\b|\bi mean\b|\bor rather\b|\bi (?:should|would) (?:say|have said)\b"
    r")|不对|错了|有误|更正|修正|收回|撤回|改为|改成|纠正|算错|弄错|看错|抱歉|对不起|不正确|不确定|作废|前面的答案|推翻|口误|笔误|重新(?:算|计算|考虑|审视|来)",
    re.I,
)
"""Takes the answers before it back, unless new ones follow."""
REFUSAL = re.compile(
    r"\b(?:i|we) (?:cannot|can't|am unable to|are unable to|could not|couldn't|do not|don't)"
    r" (?:answer|solve|determine|find|help|decide|compute|give|provide|finish|complete|do this|know)\b"
    r"|\b(?:not enough|insufficient) information\b|\bi (?:give up|won't)\b|无法(?:确定|回答|求解|解决)",
    re.I,
)
"""Says that there will be no answer, unless one follows."""
DOUBT = re.compile(
    r"\bwait\b|\bhold on\b|\bhmm+\b|(?:(?<=[.!?\n]\s)|(?<=[.!?\n])|(?<=\bbut\s)|(?<=\bwell\s)"
    r"|(?<=\bwell,\s))actually\b|\bactually,"
    r"|\blet(?:'s| me| us) (?:re-?(?:check|consider|calculate|compute|do|think|examine|evaluate|visit|work|verify"
    r"|assess|count|read)|double[- ]check"
    r"|check (?:again|that again|once more)|think again|try again|start over)\b"
    r"|\bbut (?:could|might|what if)\b|\b(?:maybe|perhaps|possibly)\b"
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
PARTIAL = re.compile(
    r"\b(?:part|sub\w{0,12}|step|first|lemma|auxiliary|intermediate|simpler|easier|other|previous|example)\b"
    r"|\([a-h]\b",
    re.I,
)
"""Words after `answer to` that name another question."""
HYPOTHETICAL = re.compile(r"\b(?:would|could|might)\b|会|就是", re.I)
NEGATION = re.compile(r"\b(?:none|neither|no|not|nor|never|cannot)\b|n't\b|不", re.I)
NOT_COMMITTED = re.compile(
    r"(?:['\"“‘「『`]\s?(?:the\s|my\s|so\s)?|\b(?:if|suppose|supposing|assum\w{1,4}|imagine|whether|unless|say|until"
    r"|check that|verify that|ensure that|where|what|why|how)\s(?:that\s)?(?:the|my|our|your|its|this|an?|his|her"
    r"|their)?\s?"
    r"|\b(?:one|you|some\w{0,4}|students?|he|she|they|people|many|others?|might|may|could|would|tempt\w{1,4}"
    r"|naively|first|initially|originally|mistakenly)\b[^.\n]{0,60}"
    r"\b(?:say|says|said|think|thinks|thought|claim|claims|claimed|guess|guessed|believe|believed|conclude"
    r"|concluded|answer|answers|assumed?)\s(?:that\s)?(?:the|my|our|his|her|their)?\s?"
    r"|\b(?:wrong|incorrect|not|n't|never|no|false|previous|earlier|initial|first|trap|tempting|naive|common"
    r"|student's|intermediate|partial)\s(?:the\s)?"
    r"|\b(?:maybe|perhaps|possibly|probably|presumably|i(?:'m| am) not (?:sure|certain)[^.\n]{0,20}|guess"
    r"|guessing)\b[^.\n]{0,30}"
    r"|\b(?:not|never|no|nothing|cannot|nobody)\b[^.\n]{0,40}\b(?:say|think|claim|believe|conclude|know|assume|infer|deduce"
    r"|prove|show|determine|confirm)\s(?:that\s)?(?:the\s)?|n't\b[^.\n]{0,40}\b(?:say|think|claim|believe|conclude"
    r"|know|assume"
    r"|infer|deduce|prove|show|determine|confirm)\s(?:that\s)?(?:the\s)?"
    r"|(?:如果|假如|假设|若|是否|错误的?|可能|也许|不是|并非|以为|误以为|大概|或许|非|猜|有人说|有人认为|[他她]说|据说))[*_\s\"“]{0,3}$",
    re.I,
)
"""The words before an announcement that does not commit to its answer."""
HEDGED_STATEMENT = re.compile(
    r"^\s?(?:not\b|n't\b|maybe|perhaps|possibly|probably|either|neither|somewhere|likely|unlikely|unknown|unclear"
    r"|still|hard|wrong|incorrect|correct\b|right\b|below|above\b|no longer\b|(?:claimed|said|believed|supposed"
    r"|thought|considered|assumed|reported|expected|alleged|often|sometimes"
    r"|usually|bounded|different)\b|anything but\b|negative\b|minus\b"
    r"|不是|不|可能|也许|大概|或许)"
    r"|\b(?:maybe|perhaps|possibly|probably|might|not sure|unsure|i (?:guess|suppose|assume|imagine|hope)|or so|if i)\b"
    r"|\b(?:times|percent|%) (?:as|of|more|larger|greater|smaller|bigger)\b|\?|？|还是|可能|也许",
    re.I,
)
"""An announced text that commits to nothing."""
QUALIFIED = re.compile(
    r"\b(?:or|not|cannot|maybe|perhaps|possibly|probably|might|could|if|unless|except|otherwise|than|at least"
    r"|at most|half|twice|double|about|but|increased|decreased|raised"
    r"|approximately|roughly|around|nearly|almost|wrong|incorrect|either|neither|minus|plus|squared|cubed|sure"
    r"|guess|factorial|divided|multiplied"
    r"|check|verif\w{1,8}|substitut\w{1,6}|remainder when)\b|\b(?:step|case|part|equation|method|problem|question"
    r"|exercise|figure) \(?\d"
    r"|n't\b|\bhad (?:the|we|it|there)\b|\b(?:times|percent|%) (?:as|of|more|the|larger|greater|smaller|bigger)\b"
    r"|\bbetween [$\d]|不(?:是|对|正确|能"
    r"|会|可能|确定|等于|到|足)|或|超过|至少|至多|大约|约为"
    r"|第[一二三四五六七八九十\d]{1,3}步|还是|错|步骤",
    re.I,
)
"""Words around a number that change its meaning, or that make it another number than the answer."""
CONCLUSION = re.compile(
    r"^[\s*_#>\"“-]{0,5}(?:(?:and|to sum up|so|thus|therefore|hence|consequently|finally|in total|in conclusion"
    r"|in summary|overall|altogether|as a result|it follows|this (?:means|gives|yields|shows)"
    r"|we (?:get|find|have|obtain|conclude|see)|∴|\\therefore)\b"
    r"|∴|\\therefore|所以|因此|故|综上|从而|于是|最终|最后|总共|一共|共|即|得)",
    re.I,
)
STATES_VALUE = re.compile(
    r"(?:\b(?:is|are|it's|that's|was|were|equals|equal to|be|have|has|had|gives|get|gets|make|makes|takes|costs?|needs?"
    r"|total\w{0,4}|there (?:is|are|were))\b|=|是|为|有|等于|共|得|要|用)",
    re.I,
)
OPTION_LABEL = re.compile(r"[*_]{0,2}[(（\[]?[A-J][)）\].:：、．]")
CHOICE_STATEMENT = re.compile(
    r"(?<![A-Za-z\\])(?:option|choice|answer|statement)?\s?[(（\[]?([A-J])[)）\]]?\s?(?:is|must be|would be"
    r"|should be|seems)\s(?:thus |therefore |hence |indeed |clearly )?"
    r"(?:the |my |our )?(?:final |only )?(?:correct|right|best|answer|true|one that)"
    r"|(?:option|choice)\s?[(（\[]?([A-J])[)）\]]?\s(?:best |only |correctly |clearly )?(?:matches|fits|works"
    r"|describes|answers)"
    r"|(?<![A-Za-z不])([A-J])\s?(?:选项|项)?(?:是|为)?(?:正确|对的)"
    r"|\b(?i:leaving|leaves|leave|choose|choosing|pick|select|selecting|go with|going with|opt for"
    r"|corresponds to|matches|match|chosen|settle on)\s(?:with\s)?(?:the\s)?(?:answer )?(?:option|choice|answer"
    r"|letter)?\s?[*_(（\[]{0,3}([A-J])(?![A-Za-z])"
)
"""A choice in a sentence without the word answer: `Option B is correct`, `I would go with (B)`."""
BULLET = re.compile(r"^[*_:：\s]{0,6}\n[-•*+]\s")
CONCLUDED_WORDS = re.compile(
    r"(?:so|thus|therefore|hence|consequently|finally|in conclusion|in summary|to sum up|overall|it follows that"
    r"|we conclude that|the (?:solution|result|conclusion)|conclusion|所以|因此|综上)"
    r"[^.=$\d]{0,120}?(?:\b(?:is|are|was)\s|是|为)(?P<words>(?:[^\s.,;:=$\d]{1,20}\s?){1,4})",
    re.I,
)
JSON_ANSWER = re.compile(r"\"(?:final[_ ])?answer\"\s?:\s?\"?([^\"{}\n]{1,200})", re.I)
DASH = re.compile(r"^\s{0,2}[-–—]{1,3}\s")
EXCEPTION = re.compile(r"\b(?:but|except|than|besides)\s?$", re.I)
ALLOWED_BEFORE = re.compile(
    r"(?:\b(?:total|sum|answer|value|result|probability|count|average|mean|median|profit|cost|length|area|volume"
    r"|speed|distance"
    r"|difference|product|amount|maximum|minimum|age|price|score|perimeter|width|height|weight|mass) of"
    r"|\b(?:equal|equals|amounts?|comes?|adds? up|sums?|reduces|simplifies|evaluates|rounds|brings \w{1,12} \w{1,12}) to"
    r"|\barrives? at|\b(?:end up|left|remain) with)\s?(?:exactly |only |just )?[$£€¥]?$",
    re.I,
)
PREPOSITION = re.compile(
    r"(?:\b(?:of|by|on|in|to|than|after|before|over|under|from|at|with|for|per|until|below|above|beyond|page|row"
    r"|item|step|number"
    r"|line|column|chapter|section|negative|minus|plus|times|and|or|spending|using|adding|square root|longer"
    r"|exceeds?)|第)\s?[$£€¥]?$",
    re.I,
)
"""Words directly before a number that is not what the sentence states."""
NUMBER_AS_SUBJECT = re.compile(
    r"^\s{0,2}[-+*/×÷=^]\s{0,2}$|^\W{0,4}(?:is|are|was|were|cannot|can't|would|does|do|contradicts|fails)\b"
    r"(?!\s(?:thus |therefore |indeed |then )?(?:the|our|my|what)\s|\scorrect)",
    re.I,
)
"""What follows a number of which something else is said, as in `36 is too small`."""
NO_SOLUTION = re.compile(r"(?:that )?(?:there (?:is|are|exists?) )?no (?:real |integer |such )?solutions?(?: exists?)?", re.I)
STRUCK_OUT = re.compile(r"~~[^~\n]{1,80}~~")
ONLY_LETTER = re.compile(r"\b[Oo]nly (?:option |choice |answer )?[(（]?([A-J])[)）]?\s(?:satisf|work|is|fit|match|hold|remain)")
OTHER_LETTER = re.compile(
    r"\b(?:but|also|or|and|although|though)\b.{0,40}(?<![A-Za-z])[(（]?[A-J](?![A-Za-z'])|\bbut [(（]?[A-J]\b"
)
"""Another option in the sentence of a choice."""
CHOICE_LEAD = re.compile(
    r"^(?:(?:so|thus|therefore|hence|finally|by elimination|it's|it is|that's|which is|this is|it must be)[\s,:]{1,3}){1,2}"
    r"(?:the )?(?:answer |option |choice ){0,2}",
    re.I,
)
FOR_EXAMPLE = re.compile(r"\be\.g\.?,?\s{0,2}(?:the\s)?$", re.I)
PLANNING = re.compile(
    r"\b(?:let|assume|suppose|consider|try|check|verify|recall|note|notice|given|substitut\w{1,6}|want|prove|show"
    r"|told|asks?|asked|discard"
    r"|reject|rejected|exclude|excluded|extraneous|test|plug|first|next|remains to|used to|remember|observe|start"
    r"|begin|need to|have to"
    r"|should)\b|(?:设|令|假设|考虑|验证|检验|注意|已知|代入|首先|舍去|不妨)",
    re.I,
)
"""Words of a sentence that plans, recalls or rejects a value and does not state it."""
ANSWER_AS_SUBJECT = re.compile(
    r"^\W{0,3}(?:so |thus |therefore |hence )?(?:the|our|my|this)(?: final| correct)? answer\b(?! to be\b)|^\W{0,3}答案", re.I
)
FORMULA_STATED = re.compile(
    r"(?:\b(?:is|are|equals?|equal to|be|becomes|gives|give|yields?|get|gets|obtain|have|has|find|takes?|costs?"
    r"|needs?|there (?:is|are)"
    r"|there exist|total|of|to|at|with|that|as|was|were|exactly|only|therefore|thus|hence|so|conclude|about|by)"
    r"|[:：=,，]|是|为|等于|有|得到?|即|共|故"
    r"|所以|因此|成立|在|需要?|约|于|到)[\s*_:：]{0,4}$",
    re.I,
)
"""The words directly before a formula that a sentence states."""
HTML_TAG = re.compile(r"</?(?:b|p|i|em|strong|div|span|br|h[1-6]|li|ul|ol|code|u|sub|sup)\s?/?>", re.I)
