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
    "正确",
    "符合",
    "####",
)
"""Every announcement contains one of these, in lower case, or stands at the beginning or at the end of the text."""
RESULT_TO = (
    r"(?:com(?:es?|ing)|came|works?|worked|working|amounts?|amounted|adds?|added|adding|boils?|evaluat\w{1,3}"
    r"|simplif\w{1,4}|reduc\w{1,3}"
    r"|sums?|summing|rounds?|rounded|equal|equates|totals?|turns?|turned|returns?|leads?|leading|brings?|bringing"
    r"|converges?|tends?|is equal"
    r"|multiplies|expands|factors|goes|grows|shrinks|drops|rises|falls|corresponds|translates)(?: (?!to\b)\w{1,12}){0,6} to"
)
"""Verbs before a `to` that leads to a result."""
ADJECTIVE = (
    r"(?:(?:final|correct|right|best|required|desired|numerical|numeric|exact|overall|ultimate|complete|simplified)\s){0,2}"
)
QUALIFIER = (
    r"(?:[^\S\n](?:to|of|for|in|here|choice|option|value|we|you|i|that|which|therefore|then|thus|rounded|expressed"
    r"|written|correct|given"
    r"|simplified)\b[^.:：\n?=|]{0,80}?|\s?[,(]\s?[^.:：\n?=|]{1,60}?[,)])?"
)
VERB = (
    r"(?:\s?(?<![A-Za-z])(?:is|are|would be|should be|must be|must therefore be|will be|has to be|becomes|(?:comes"
    r"|works|turns) out (?:to be|as)"
    r"|equals"
    r"|remains|reads|(?:comes|works out|amounts|evaluates|simplifies|reduces) to|can be (?:written|expressed) as)\b"
    r"|'s\b|\s?(?:[:：=|]|->|→|⇒|⟹|➜|➡️?|\\(?:Right|right|Longright)arrow\b|\\implies\b))"
)
REPLACED = (
    r"(?:[^.\n]|\.(?=\d)){1,80}?[,;]?\s(?:but|rather|it's|it is|instead)(?:\s(?:rather|actually|instead|in fact|is|it's))?\b"
)
"""The rest of `not 7, but`."""
FILLER = (
    r"(?:[\s*_`:：\"“]{0,6}(?:equal to|therefore|thus|simply|just|indeed|exactly|hence|clearly|given by|as follows"
    r"|approximately|about|precisely|only"
    r"|actually|now|then"
    r"|in fact|option|choice|letter|number|the (?:number|value|option|choice"
    r"|letter|expression)|still|again"
    r")(?![A-Za-z]))*"
)
ANNOUNCEMENT = re.compile(
    rf"(?<![A-Za-z]){ADJECTIVE}(?:answers?|ans\.?|choice|option|(?<=final )(?:result|value|solution|output)"
    rf"|(?<=correct )(?:options|choices)|(?<=right )(?:options"
    rf"|choices))(?![A-Za-z])(?P<about>{QUALIFIER})[*_`\s)\]]{{0,4}}(?:\s?(?:isn't|is not|was not|wasn't"
    rf"|should not be|shouldn't be)\s{REPLACED}|{VERB}(?:\snot\s{REPLACED})?{FILLER})"
    r"|(?:正确|最终|最后|标准|参考|所以|因此|故)?(?:的)?(?:答案|选项)[*_」\s]{0,3}(?:应该|应当|应|就|便)?(?:是|为|选|填|等于"
    r"|[:：】=])+(?:选项)?"
    r"|(?:答案|选项)(?:不是|并不是|并非|不应该?是)[^，,。\n]{1,40}[，,]?\s?(?:而是|应该?是|是)"
    r"|(?:最终|最后)(?:的)?(?:结果|得数)(?:应该|应)?(?:是|为|等于|[:：])+"
    r"|\bi(?:'d| would| will|'ll|'m going to| am going to)?(?: then| thus| therefore| \w{3,9}ly)? answer(?: with)?"
    r"(?=\s[*_(]{0,3}(?:[$\\\d-]|(?-i:[A-J])\b))"
    r"|\b(?:chang|switch|revis|updat|correct|amend)(?:e|ing|ed)? (?:my|the) (?:final )?answer(?: from [^.\n]{1,20}?)? to\b"
    r"|(?<!不)(?:正确|符合题意|符合要求)的?(?:选项|答案|说法|结论|命题|判断|一项)?(?:应该?)?(?:共?有|是|为|包括|包含)"
    r"(?=[\s:：*]{0,3}[(（]?(?-i:[A-J](?![a-z])))"
    r"|(?<![一-龥])答[:：]|(?<!不)故选|(?<!不)应选|(?<!不)故填|(?<!不)应填"
    r"|(?:所以|因此|综上|本题|我)?(?<!不)(?<!不[应能该])选择?(?=[\s:：*]{0,3}[(（]?[A-Ja-j](?![a-z]))",
    re.I,
)
"""`The final answer is`, `Answer:`, `答案是`."""
NESTED = re.compile(rf"(?:(?:so|thus|therefore|hence)[\s,]{{1,2}})?(?:the |my |our |your )?(?:{ANNOUNCEMENT.pattern})", re.I)
"""`The final answer is` after `Final answer:`."""
ANSWER_WORD = re.compile(r"\banswers?\b|答案", re.I)
AS_ANSWER = re.compile(
    r"\b(?:leav(?:es|e|ing)|left with|get|gives?|giving|obtain\w{0,3}|have|yield\w{0,3}|with|find|see"
    r"|arrive at)\s(?:us |me )?(?:with )?"
    rf"(?P<value>[^.\n]{{1,80}}?) as (?:the|our|my|your) {ADJECTIVE}(?:answer|result|solution)\b",
    re.I,
)
"""`This leaves 7 as the answer`."""
HEADING = re.compile(
    rf"(?:^|(?<=\n))[^\S\n]?[#>*_\s]{{0,6}}(?:the\s|my\s)?{ADJECTIVE}(?:answer|ans|result|conclusion|答案|最终答案|最终结果"
    rf"|结果)[*_:：\s#]{{0,8}}(?:\n|(?=\$\$|\\\[))",
    re.I,
)
"""A line that says only `**Final Answer**`; the answer is on the next line."""
UNVERBED = re.compile(
    rf"(?:(?:^|(?<=\n)|(?<=[.!] ))[#>*_\s\[【(]{{0,6}}(?:the\s|so\s|thus\s)?|\b(?:the|an?|our"
    rf"|my)\s){ADJECTIVE}(?:answer|ans\.?)[\]】)]?"
    rf"[*_\s]{{1,5}}(?:of\s)?(?=\$"
    rf"|\\\(|\\\[|[-−]?\d|(?-i:\(?[A-J]\b(?! [a-z]))|\\frac|\\sqrt|√|[-–—]\s)(?:[-–—]\s)?"
    r"|(?:最终|正确|参考)?答案\s{1,2}(?=[-−]?[\d$\\])"
    rf"|(?:^|(?<=\n))[#>*_\s]{{0,6}}{ADJECTIVE}(?:answer|ans)[*_]{{0,2}}\.[*_\s]{{1,4}}(?=\S)"
    rf"|(?:^|(?<=\n))[#>*_\s]{{0,6}}[\[【(]\s?{ADJECTIVE}(?:answer|ans)\s?[\]】)][*_:：\s]{{1,5}}(?=\S)",
    re.I,
)
"""`Answer $9$`, without a verb."""
LABEL = re.compile(
    r"(?:A|Ans|Final|(?:the )?(?:final )?(?:Result|Total|Answer|Solution|Value)|Response|Output|TL;DR|答|解|得|∴|⇒|→|=>"
    r"|=)[*_]{0,2}\s?(?:[:：.]|(?<=[∴⇒→>=]))[*_\s]{0,3}",
    re.I,
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
    r"\$\$\s?((?:\\\$|[^$]){1,400}?)\s?\$\$|\$(?=[^\s$])((?:\\\$|[^$\n]){1,400}?)(?<=[^\s\\])\$(?!\d)"
    r"|\\\(\s?(.{1,400}?)\s?\\\)"
    r"|\\\[\s?(.{1,400}?)\s?\\\]",
    re.S,
)
ALIGNED = re.compile(
    r"(?:(?:\$\$|\\\[)\s{0,3})?\\begin\{(?P<kind>(?:align|aligned|alignat|gather|gathered|equation|eqnarray|split"
    r"|multline)\*?)\}"
    r"(?P<lines>(?:[^\\]|\\(?!begin\{|end\{)){1,2000})\\end\{(?P=kind)\}[.,]?(?:\s{0,3}(?:\$\$|\\\]))?"
)
LINE_BREAK = re.compile(r"\\\\(?:\[[^\]\n]{1,10}\])?")
DISPLAY = re.compile(r"\$\$(?:\\\$|[^$]){1,600}?\$\$|\\\[.{1,600}?\\\]", re.S)
NUMBER = r"-?[$£€¥]?\d(?:[\d,]{0,40}\d)?(?:\.\d{1,40})?\s?(?:\\?%|°)?"
NUMBER_RUN = re.compile(
    rf"(?<![A-Za-z0-9_\\.,/^])(?:\(\s?)?[-−]?{NUMBER}(?:\s?\))?(?:(?:\s?[-−–+*/×÷·=:^]\s?"
    rf"|\sx\s)(?:\(\s?)?{NUMBER}(?:\s?\))?){{0,12}}(?![A-Za-z0-9_^\\π√(]"
    rf"|\*[A-Za-z(\\π])"
)
"""A number, or arithmetic in plain text such as `48 + 24 = 72`."""

ORDINAL = re.compile(r"第\s?\d{1,6}|\b\d{1,6}(?:st|nd|rd|th)\b")
LABELLED = re.compile(r"^[*_#\s]{0,4}[A-Za-z一-龥][A-Za-z '一-龥]{0,30}[*_]{0,2}[:：][*_\s]{0,4}")
UNIT_POWER = re.compile(r"(?<=[A-Za-z])\s?(?:\^\s?\{?[23]\}?|[²³])")

STATED = re.compile(
    rf"(?:\b(?:(?:is|are) (?:satisfied|solved|true|fulfilled) (?:exactly |only |precisely )?(?:for|by|when"
    rf"|if and only if)|is|are|it's|that's|was|equals|be|becomes|gives|get|obtain|have|ends? up with|left with"
    rf"|{RESULT_TO})\b|[:：]|(?<!于)是|为|等于|得到?|有)"
    r"(?:\s(?:therefore|thus|then|exactly|simply|just|indeed)\b)?[\s*_:：]{0,4}",
    re.I,
)
LEAD = re.compile(
    r"^[\s,:;—–-]{0,4}(?:(?:so|to|it's|that's|it|that|this|is|should|must|will|be|into|as|rather|instead|actually"
    r"|in fact|really|the|answer|correct|choice|option|value)\b[\s,:]{0,2}){1,6}",
    re.I,
)

DENYING = re.compile(
    r"\b(?:not|cannot|no|none|neither|never|maybe|perhaps|possibly|probably|might|could|if|unless|either|wrong"
    r"|incorrect|guess"
    r"|sure|but|except|whether|(?-i:may)|suppose|assum\w{1,6}|about|approximately|roughly|close)\b|n't\b|不(?:是|对|正确"
    r"|能|会|等于|为|得"
    r"|可能|确定)|可能|也许|错|大约|大概|约|左右|猜|吗|但",
    re.I,
)
"""Words before a value that make its sentence something else than a statement of it."""
CONCLUSION_LEAD = re.compile(
    r"^(?:and |so|thus|therefore|hence|consequently|finally|in conclusion|in summary|it follows that"
    r"|by elimination|it's|it is|that's|all in all"
    r"|altogether|in total|overall|(?:i|we) (?:got|get|found|end up with)|(?:i'm |i am )?going with"
    r"|we (?:get|have|find|obtain)(?: that)?"
    r"|this (?:gives|yields|means)(?: that)?|∴|\\therefore|所以|因此|故|综上(?:所述)?|即|解得|得)"
    r"(?:[\s,:，：]|(?<=[一-龥∴])){1,3}",
    re.I,
)
HEDGE_AFTER = re.compile(
    r"[.…\s]{1,5}(?:or|or maybe|maybe|perhaps|but maybe|no)\b"
    r"|[,\s]{1,3}so (?:we|you|i) (?:now |then |still )?(?:multiply|add|subtract|divide|double|halve|need|have to|must)\b"
    r"|[,\s]{1,3}which (?:(?:is|was|seems) (?:\w{1,10} )?(?:wrong|incorrect|impossible|invalid|false|not"
    r"|a misprint|a mistake|too)"
    r"|cannot|can't|contradicts|fails|violates|does not|doesn't)",
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
    r"|(?:如果|假如|假设|若|是否|错误的?|可能|也许|不是|并非|以为|误以为|大概|或许|非|猜|有人说|有人认为|[他她]说"
    r"|据说))[*_\s\"“]{0,3}$",
    re.I,
)
"""The words before an announcement that does not commit to its answer."""
HEDGED_STATEMENT = re.compile(
    r"^\s?(?:not\b|n't\b|maybe|perhaps|possibly|probably|either|neither|somewhere|likely|unlikely|unknown|unclear"
    r"|still|hard|wrong|incorrect|correct\b|right\b|below|above\b|no longer\b|(?:claimed|said|believed|supposed"
    r"|thought|considered|assumed|reported|expected|alleged|often|sometimes"
    r"|usually|bounded|different|obtained|computed|calculated|derived|found by|something like|of the form|such as|far from"
    r"|around)\b|anything but\b|negative\b|minus\b"
    r"|不(?![同相含重考计少等])|可能|也许|大概|或许|似乎|好像)"
    r"|\b(?:maybe|perhaps|possibly|probably|might|not sure|unsure|i (?:guess|suppose|assume|imagine|hope)|or so|if i)\b"
    r"|\b(?:times|percent|%) (?:as|of|more|larger|greater|smaller|bigger)\b|\?|？|还是|可能|也许|似乎|好像|吧$"
    r"|的[一两二三几\d]{0,2}倍",
    re.I,
)
"""An announced text that commits to nothing."""
QUALIFIED = re.compile(
    r"\b(?:or|not|cannot|maybe|perhaps|possibly|probably|might|could|if|unless|except|otherwise|than|at least"
    r"|at most|half|twice|double|about|but|(?:(?<=[\d$)] )|(?<=  ))(?:increased|decreased|raised)"
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
    r"|to (?:summarize|summarise|conclude|recap)|summing up|in (?:short|sum|brief|the end)|ultimately|accordingly|as such"
    r"|(?:that|which) (?:means|gives|leaves|makes)|this (?:leaves|makes|results in)|it turns out"
    r"|all in all|in summary|overall|altogether|as a result|it follows|this (?:means|gives|yields|shows)"
    r"|we (?:get|find|have|obtain|conclude|see)|∴|\\therefore)\b"
    r"|∴|\\therefore|所以|因此|故|综上|从而|于是|最终|最后|总共|一共|共|即|得)",
    re.I,
)
STATES_VALUE = re.compile(
    r"(?:\b(?:is|are|it's|that's|was|were|equals|equal to|be|have|has|had|gives|get|gets|make|makes|takes|costs?|needs?"
    r"|total\w{0,4}|there (?:is|are|were)|com(?:es?|ing) to|leaves?|yields?|obtains?|remains?|results? in|ends? up|means?"
    rf"|{RESULT_TO})\b|=|是|为|有|等于|共|得|要|用|卖|买|剩|花|赚|走|需|能|可以|行驶)",
    re.I,
)
OPTION_LABEL = re.compile(r"[*_]{0,2}[(（\[]?[A-J][)）\].:：、．]")
BULLET = re.compile(r"^[*_:：\s]{0,6}\n[-•*+>]\s")
CONCLUDED_WORDS = re.compile(
    r"(?:so|thus|therefore|hence|consequently|finally|in conclusion|in summary|to sum up|overall|it follows that"
    r"|we conclude that|the (?:solution|result|conclusion)|conclusion|(?:this|that|which) (?:means|shows|implies"
    r"|tells us)(?: that)?"
    r"|所以|因此|综上)"
    r"[^.=$]{0,120}?(?:\b(?:is|was|will be) (?:held|born|due|scheduled) (?:in|on|for)\s"
    r"|\b(?:is|are|was|it's|that's|equals|(?:must|will|has to)(?: \w{2,9})? be|falls on|lands on"
    r"|turns out to be)\s|\b(?:ends?|ended|starts?|started|begins?|began|finish(?:es|ed)?|occurs?|happens?|takes? place|falls"
    r"|lands|arrives?|opens|closes|held|born)(?: up)? (?:in|on)\s(?=[*_]{0,3}(?-i:[A-Z]))|\s=\s|是|为)"
    r"(?:an? |on an? |on )?[*_]{0,3}(?P<words>(?:[^\s.,;:=$\d]{1,20}\s?){1,4})",
    re.I,
)
NAMED = re.compile(
    r"(?:so |thus |therefore,? |hence )?(?:the|this|that|his|her|their|its|it)\s(?:[^.=$\d,;:]{1,80}?\b)?(?:is|was|must be"
    r"|will be|equals|falls on|lands on)\s(?:an? |on an? |on )?[*_]{0,3}(?P<words>(?:[^\s.,;:=$\d]{1,20}\s?){1,2})",
    re.I,
)
NAMED_SUBJECT = re.compile(
    r"(?i:(?:so|thus|therefore|hence|in conclusion|we conclude that|it follows that)[,\s]{1,2}){0,2}"
    r"(?!This|That|It|He|She|The|There|Which|What|Then|Here|They|These|Those|None|Neither|Nobody|One)"
    r"(?P<words>[A-Z][a-zé]{2,15}) (?:(?:is|was|has|had|gets|got|wins|won|will be|must be|will have|must have|ran|runs"
    r"|earned|earns|received|receives|scored|scores|made|makes|sold|spent|paid|travell?ed|drove|walked|jumped|threw|read"
    r"|worked|took|takes|finished|finishes|reached|weighs|owns) (?:at |with )?the (?:\w{2,12}est|most|least|winner|race"
    r"|game|only one|one who)|(?:finish(?:ed|es)|came|comes|arrived|arrives) (?:in )?(?:first|last))\b[^.,;\d]{0,60}"
)
"""`Alice is the tallest`."""
WORD_ANSWER = re.compile(r"(?:Yes|No|True|False|[A-Z][a-zé]{2,15})(?: [A-Z][a-zé]{1,15}){0,2}")
OTHER_PLACE = re.compile(r"\b(?:after|next|besides|except|second|third|middle|runner-up|not|or|than|could|might|may)\b", re.I)
YES_OR_NO = re.compile(r"[*_\s]{0,4}(?:(?:so|thus|therefore|hence)[,\s]{1,2})?(yes|no)[*_]{0,3}(?:[,.;:!—–-]|\s?$)", re.I)
FIRST_WORD = re.compile(r"(?:\*\*|__)?(?P<word>yes|no|true|false)(?:(?P<bold>\*\*|__)[.,;:!]?|[.,;:!])(?:\*\*)?\s", re.I)
"""`**Yes**.` at the beginning of a text, with an explanation after it."""
LATER_WORD = re.compile(
    r"\b(?:so|thus|therefore|hence|but|however|consequently|in conclusion)\b[^.\n]{0,200}"
    r"(?:\b(?:not|no|never|cannot|yes|true|false)\b|n't\b)"
    r"|\b(?:yes|no|true|false)\b[*_]{0,2}[.,;:!]",
    re.I,
)
"""A conclusion in the explanation that may be another one."""
JSON_ANSWER = re.compile(r"\"(?:final[_ ])?answer\"\s?:\s?\"?([^\"{}\n]{1,200})", re.I)
LONG_WORD = re.compile(r"[A-Za-z]{3,}|[一-龥]{2}")
DASH = re.compile(r"^\s{0,2}[-–—]{1,3}\s")
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
FOR_EXAMPLE = re.compile(r"\be\.g\.?,?\s{0,2}(?:the\s)?$", re.I)
PLANNING = re.compile(
    r"\b(?:let|assume|suppose|consider|try|recall|notice|substitut\w{1,6}|want to|(?<!all )told|asks?(?! for\b)"
    r"|asked(?! for\b)|discard|reject(?:ed)?|excluded?"
    r"|extraneous|plug|remains to|used to|remember|observe|need to|have to)\b"
    r"|(?:^|[,;:]\s|\b(?:we|you|i|us|to|now|then|and|must|can|will|let's)\s)(?:check|verify|note|prove|show|test"
    r"|start|begin)\b"
    r"|^\W{0,3}(?:first|next|given|note|start|begin)\b|\b(?:we are|are|is|was) given\b"
    r"|(?:设|令|假设|考虑|验证|(?<!经)(?<!经过)检验(?!后)|注意|已知|代入|首先|舍去|不妨)",
    re.I,
)
"""Words of a sentence that plans, recalls or rejects a value and does not state it."""
ANSWER_AS_SUBJECT = re.compile(
    r"^\W{0,3}(?:so |thus |therefore |hence )?(?:the|our|my|this)(?: final| correct)? answer\b(?! to be\b)|^\W{0,3}答案", re.I
)
ANSWER_OF_PART = re.compile(
    r"\banswer (?:to|for|of|in) (?:the )?(?:part|sub\w{0,12}|step|first|second|third|other|previous|another)", re.I
)
ALLOWED_BEFORE = re.compile(
    r"(?:\b(?:total|sum|answer|value|result|probability|count|average|mean|median|profit|cost|length|area|volume"
    r"|speed|distance"
    r"|difference|product|amount|maximum|minimum|age|price|score|perimeter|width|height|weight|mass|quotient"
    r"|remainder|rate) of"
    r"|\barrives? at|\blooking at|\b(?:ends? up|left|remains?|leaves (?:us|me|him|her|them)|leaving (?:us|me)"
    r"|lands?) (?:with|at|on)"
    r"|\b(?:goes|go|went|gone|rose|rises?|risen|fell|falls?|fallen|dropp?(?:ed|s)?|increase[sd]?|decrease[sd]?|grew|grows?"
    r"|grown|change[sd]?|declined?s?|gained?s?|up|down|reduced|shrank|shrinks|lowered|raised|climbed|differs?) by"
    r"|\bsatisfied (?:exactly |only |precisely )?(?:for|by|when|at)|\b(?:begins?|starts?|ends?|arrives?|leaves"
    r"|finish\w{0,2}) at"
    rf"|\bresult(?:s|ing)? in|\b{RESULT_TO})\s?(?:exactly |only |just |precisely |simply )?[$£€¥]?$",
    re.I,
)
FORMULA_STATED = re.compile(
    r"(?:\b(?:is|are|equals?|be|becomes|gives?|giving|yields?|yielding|get|gets|got|obtains?|obtained|have|has|had"
    r"|find|finds|found"
    r"|takes?|took|costs?|needs?|there (?:is|are|were)|there exist|totals?|totalling|of|at|with|that|as|was|were"
    r"|therefore|thus|hence"
    r"|so|conclude|about|by|being|leaves?|leaving|left with|leaves us with|results? in|resulting in|produces?|reach"
    r"|reaches|lands? on"
    r"|shows?|means?|measures?|weighs?|earns?|earned|makes?|made|making|pays?|paid|saves?|saved|sold|contains?"
    r"|holds?|receives?|scores?"
    r"|spends?|spent|used|uses|remains?|remaining|occurs? at|attained at|it's|that's|must|ends? up|deduce|infer|answer"
    rf"|{RESULT_TO})|[:：=,，]|是|为|等于|有|得到?|即|共|故|所以|因此|成立|在|需要?|约|于|到|用了?|花了?|成)"
    r"(?:\s(?:exactly|only|just|precisely|simply|indeed|then|now|actually|equal to|a total of|therefore|thus|hence"
    r"|also|to be)){0,2}"
    r"[\s*_:：]{0,4}$",
    re.I,
)
"""The words directly before a formula that a sentence states."""
DISOWNED_CLOSING = re.compile(
    r"\b(?:it(?:'s| is| was| would be| seems| may be) (?:\w{1,12} ){0,2}?(?:not|false|untrue|wrong|incorrect"
    r"|mistake|mistaken|error|misconception"
    r"|fallacy|impossible|unlikely|doubtful|tempting|possible|likely|said|claimed|believed|thought|assumed|plausible)\b"
    r"|(?:says?|said|claims?|claimed|thinks?|thought|believes?|believed|suggests?|suggested|states|stated|wrote"
    r"|argues?|argued|guess\w{0,3}"
    r"|lists|reports|predicts?|answered|asserts?|insists?|replied|misprint|doubts?)\b"
    r"|(?:previous|last year's|last|similar|another|other|different|earlier|easier|simpler|related"
    r"|analogous)\s(?:\w{1,10}\s)?"
    r"(?:problem|exercise|question|example|version|task|puzzle|test|exam)\b"
    r"|contradict\w{0,4}|absurd|nonsense|(?:would|might) seem|goal|aim|hope to|(?:people|students?|classmates?"
    r"|others|many) (?:\w{1,8} )?(?:get|gets|got|find|found)"
    r"|would (?:give|mean|imply|yield|have)|has it|chances|estimate"
    r"|the (?:first|second|third|other) \w{1,12} \w{2,12} (?:up |down )?by"
    r"|for the \w{1,8} (?:case|part|step|half))|有人|同学|[他她]说|以为",
    re.I,
)
"""A closing sentence whose value is somebody else's, or the answer to another question."""
LABELLED_STEP = re.compile(
    r"\b(?:step|case|part|equation|method|problem|question|exercise|figure|example|lemma) \(?\d"
    r"|第[一二三四五六七八九十\d]{1,3}步",
    re.I,
)
SUFFIX = re.compile(
    r"\b(?:says?|said|claims?|according to (?!(?:the|our|my|this|these) (?:above|calc|comp|form|work|result|rule"
    r"|theorem|step))"
    r"|in (?:the|this|that) case|(?:for|in) (?:the )?(?:first|second|third|other|even|odd|part|case|small|large"
    r"|special)|when(?!\srounded)"
    r"|whenever|if|unless|provided|assuming|though|although|but|supposedly|allegedly|presumably|apparently"
    r"|hopefully|likely|rumou?red"
    r"|maybe|perhaps|possibly|told|doubts?|guess)\b|的[一两二三几\d]{0,2}倍|不太?确定",
    re.I,
)
"""Words beside an announced value that restrict it or make it somebody else's."""
RELATIVE = re.compile(
    r"\b(?P<noun>number|integer|probability|chance|fraction|percentage|amount|value|people|students|elements|digit"
    r"|person|day)"
    r"\s(?:that|who|which)\b[^,.$\d]{0,60}?(?=\s(?:is|are|was|equals|(?:would|will|must) be)\s(?:exactly |only "
    r"|equal to )?[$\\\d-])",
    re.I,
)
"""`the number that is not in the list`, of which the negation is no denial."""
SOUGHT = re.compile(
    r"\s(?:(?:that|which|who|whom)\s)?(?:we|you|i|they|he|she|it|the (?:question|problem))"
    r"(?:\s(?:are|were|was|is|had|have)|'re)?"
    r"\s(?:looking for|searching for|seeking|after|trying to find|asked (?:for|about|to find)|supposed to find"
    r"|(?:want|need|wish)(?:ed|s)?(?: to (?:find|know|compute|determine))?|seek|sought|asks? (?:for|about)|requires?)"
    r"(?=\s(?:is|are|was|must|equals|will|has to|turns out)\b)",
    re.I,
)
"""The relative clause of `the person we are looking for is`."""
TRAILING_CLAUSE = re.compile(
    r"[,，]\s(?:achieved|attained|reached|occurring|which (?:occurs|is (?:achieved|attained|reached))"
    r"|with equality)\b.{0,200}$"
    rf"|[,，]?\s(?:which|and (?:this|that|it))(?: then| thus| therefore)? is (?:indeed |also |exactly )?(?:the|our|my)"
    rf" {ADJECTIVE}(?:answer|result|solution)\W{{0,3}}$",
    re.S,
)
PERCENTAGE_OF = re.compile(
    r"(?<![\d.])(\d[\d.,]{0,12}\s?\\?%\$?|\d[\d.,]{0,12} percent)[*_]{0,2} of (?:(?:the|all|her|his|their|our|its"
    r"|these|those)\s)?"
    r"(?:[a-z]{2,14}\s){1,3}?(?:play|are|is|have|has|had|were|was|like|pass|prefer|own|live|stud[yi]|speak|take|took"
    r"|got|chose"
    r"|remain|left|vote|walk|work|come|came|go|went|wear|read|use|do|did|can|will|drink|eat|own|attend|answer|remain)\w{0,3}"
    r"\b[^.\n$\d]{0,80}"
)
"""`39% of the students play chess`, which states the percentage."""
SECOND_ANNOUNCEMENT = re.compile(rf"[,;]?\s(?:and|but|while|whereas)\s(?:the|my|our|another)\s{ADJECTIVE}answer\b", re.I)
"""Another announcement in the same sentence."""
NEXT_QUESTION = re.compile(
    r"\n\s?(?:#{1,4} |\*\*)?(?:Problem|Question|Q|Human|User|Input|Instruction|Exercise|题目|问题|问)"
    r"(?P<number>\s?\d{0,3})[*_]{0,2}[.:：]"
)
"""Base models continue with the next question."""
INVENTED_QUESTION = re.compile(r"[*_\s]{0,4}(?=[^\n]{0,600}\d)(?![^\n]{0,200}\b(?:above|this answer|my answer|we)\b)[^\n]{24}")
"""A question with data of its own, which is not about the answer before it."""
UNSTATED = re.compile(r"[≥≤<>≠≈~]|\\(?:ge|le|ne|approx)")
COPULA = re.compile(rf"\b(?:(?:is|are|be)(?: \w{{3,9}}ly)? equal to|is|are|equals|be|{RESULT_TO})\b|(?<!于)是|为|等于")
COPULA_BEFORE = re.compile(
    rf"(?:\b(?:is|are|equals|be|{RESULT_TO})|是|为|等于)(?:\s(?:exactly|only|just|precisely|simply|indeed|then"
    rf"|therefore|thus|equal to|now))?[\s*_:：]{{0,4}}$"
)
HTML_TAG = re.compile(r"</?(?:b|p|i|em|strong|div|span|br|h[1-6]|li|ul|ol|code|u|sub|sup)\s?/?>", re.I)
