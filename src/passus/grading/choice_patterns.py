"""Patterns of how models choose a letter among options. All repetitions are bounded."""

import re

CLOSING_LETTER = re.compile(
    r"(?:(?:\b(?:is|are|be)|\b(?:it|that)'s)\b(?: option| choice| answer| letter)?|[:=]|是"
    r"|为)[\s*_(（\[]{0,4}([A-J])[)）\]*_\s]{0,4}$"
)
"""`... is B` at the end of a sentence."""
OPTION_AS_SUBJECT = re.compile(
    r"[*_\s]{0,4}(?:option |choice |answer )?[(（\[]?[A-J][)）\].]?[*_]{0,2}\s(?:is|are|was|were|cannot|can't|could"
    r"|couldn't|can"
    r"|might|may|would|does|do|did|doesn't|didn't|isn't|wasn't|seems|looks|appears|fails|contradicts|has to be"
    r"|must be|should|shouldn't)\b(?! (?:the |thus |therefore |my |our )?(?:final )?(?:correct|right|best|answer|true"
    r"|the answer)\b)",
    re.I,
)
"""`(A) cannot`, of which something is said."""
LETTERS = r"[*_(（\[]{0,3}[A-J][*_)）\]]{0,3}(?:(?:,? (?:and|&) |[,、，]\s?|和|与|及)[*_(（\[]{0,3}[A-J][*_)）\]]{0,3}){1,8}"
CHOICE_STATEMENT = re.compile(
    rf"(?<![A-Za-z\\不])({LETTERS})\s(?:are|must be|should be)\s(?:thus |therefore |both |all |indeed |clearly |each ){{0,2}}"
    r"(?:the |my |our )?(?:final |only )?(?:correct|right|true|answers|best)\b(?! statements?| facts?| ones\b| options\b"
    r"| answers\b| choices\b|[*_]{0,2}\?)"
    r"|\b(?i:(?<!not )(?:correct|right|true) (?:statements?|ones?|conclusions?|propositions?|claims?|items?|sentences?|pairs?"
    r"|assertions?|responses?)|(?:statements?|options?|ones?|choices) (?:that|which) (?:is|are) (?:correct|true|right))"
    r"(?: here| above)?(?::| (?:is|are):?)(?: thus| therefore| only| both| hence)?(?: options| statements| choices)?\s"
    rf"({LETTERS}|[*_(（\[]{{0,3}}[A-J][*_)）\]]{{0,3}})(?![A-Za-z'])(?! (?!only\b(?!\?))[a-z]|,? or\b|[.*_)]{{0,3}}[?？])"
    rf"|(?<![A-Za-z\\])({LETTERS})\sare (?:thus |therefore )?the (?:only )?(?:correct|right|true) (?:statements|ones|options"
    r"|answers|choices)\b(?![*_]{0,2}\?)"
    rf"|(?<![A-Za-z\\不])({LETTERS})\s?(?:[两三四]?个?选项|[两三四]?项)?(?:都|均)?(?:是|为)?(?:正确|对的)"
    r"|(?<![A-Za-z\\])(?:[Oo]ption|[Cc]hoice|[Aa]nswer"
    r"|[Ss]tatement)?\s?[*_(（\[]{0,3}([A-J])[*_)）\]]{0,3}\s?(?:is|must be|would be"
    r"|should be|seems)\s(?:thus |therefore |hence |indeed |clearly )?"
    r"(?:the |my |our )?(?:final |only )?(?:correct|right|best|answer|true|one that)"
    r"|(?<![A-Za-z\\])(?:[Oo]ption|[Cc]hoice)?\s?[(（\[]?([A-J])[)）\]]?\s(?:best |only |correctly "
    r"|clearly )?(?:matches|fits|works"
    r"|describes|answers|says|states|holds|it is)(?![a-z])"
    r"|(?<![A-Za-z不])([A-J])\s?(?:选项|项)?(?:是|为)?(?:正确|对的)|只有\s?([A-J])\s?(?:选项|项)?(?:符合|满足|成立)"
    r"|\b(?i:leaving|leaves|leave|choose|choosing|pick|select|selecting|go with|going with|opt for"
    r"|corresponds to|matches|match|chosen|settle on)\s(?:us\s|me\s)?(?:with\s)?(?:the\s)?(?:answer )?(?:option|choice|answer"
    r"|letter)?\s?[*_(（\[]{0,3}([A-J])(?![A-Za-z])"
)
"""A choice in a sentence without the word answer: `Option B is correct`, `I would go with (B)`."""
OWN_CHOICE = re.compile(r"\b(?:i|we) would (?:then |therefore |thus |also )?(?=choose|pick|select|go|opt|settle)|\bi'd\b", re.I)
CHOICE_REJECTED = re.compile(
    r"[\s*_)\]]{0,4}(?:would|could|might|is|was|seems) (?:\w{1,10} )?(?:mistake|wrong|incorrect|error|not|tempting"
    r"|bad|a mistake)\b|[\s*_)\]]{0,4}(?:answer |choice |option )?(?:that|which) (?:most|many|some|a|other|careless|several"
    r"|people|students)\b",
    re.I,
)
FIRST_CHOICE = re.compile(
    r"(?:[Oo]ption |[Cc]hoice |[Aa]nswer:? )?(?:[(（\[]?([A-J])(?:[)）\].:：、．,]{1,2}| [-–—])\s?\S.{0,300}"
    r"|[(（\[]?([A-J])[)）\].。:：]?)"
)
"""A first line that chooses: `C. x = 3`, `(C)`."""
EXCEPTION = re.compile(
    r"\b(?:except|than|besides|(?:all|every\w{0,5}|none|nothing|any\w{0,5}|each|no)(?: \w{1,10}){0,3} but)\W{0,3}$", re.I
)
LISTED_OPTION = re.compile(r"[*_]{0,2}[(（\[]?[A-J](?:[)）\].:：、．]|\s[-–—]{1,2}\s)")
OPTION_LABEL_ALONE = re.compile(r"[*_]{0,2}[(（\[]?[A-J][)）\].]{1,2}[*_]{0,2}\s?")
ONLY_LETTER = re.compile(r"\b[Oo]nly (?:option |choice |answer )?[(（]?([A-J])[)）]?\s(?:satisf|work|is|fit|match|hold|remain)")
WRONG_OTHERS = re.compile(
    rf"^[,;]?\s?(?:while|whereas|and|but) (?:options? )?(?:{LETTERS}|[(（]?[A-J][)）]?) (?:is|are) (?:wrong"
    rf"|incorrect|false|not)\b"
)
"""The other options, which are rejected."""
OTHER_LETTER = re.compile(
    r"\b(?:but|also|or|and|although|though)\b.{0,40}(?<![A-Za-z])[(（]?[A-J](?![A-Za-z'])|\bbut [(（]?[A-J]\b"
)
"""Another option in the sentence of a choice."""
CHOICE_LEAD = re.compile(
    r"^(?:(?:so|thus|therefore|hence|finally|by elimination|it's|it is|that's|which is|this is|it must be)[\s,:]{1,3}){1,2}"
    r"(?:the )?(?:answer |option |choice ){0,2}|^[^\n]{1,80}, (?:so|hence|thus|therefore)(?: it is| it's| choose"
    r"| pick)? (?=\W?[A-J]\b)|^(?:it is |it's )?not [(（\[]?[A-J][)）\]]?,? (?:but|rather)(?: rather)? ",
    re.I,
)
