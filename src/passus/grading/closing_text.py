"""The end of an output: cuts off chat markers, thinking and courtesy, so that the answer's sentence comes last."""

import re

END_OF_TURN = re.compile(
    r"<(?:[|\uff5c]\s?[A-Za-z][A-Za-z0-9 _\u2581-]{1,30}[|\uff5c]>|/s>|s>|eos>|pad>|end_of_[a-z]{2,12}>|start_of_turn>"
    r"|\uff5c[^<>\n]{1,30}\uff5c>)|\[/INST\]|\[(?:end of text|EOS|PAD)\]"
)
"""Special tokens of chat templates, as text. The turn ends at the first one."""
MARKER_SIGNS = ("<|", "<\uff5c", "s>", "<pad>", "_turn>", "<end_of_", "[/INST]", "[end of text]", "[EOS]", "[PAD]")
"""Parts of every marker, which are quick to search for."""
THINK_CLOSE = "</think>"
FINAL_CHANNEL = "<|channel|>final<|message|>"
"""Begins the answer of models that write in channels."""
ROLE = re.compile(r"assistant(?=\s|<)")
SELF_REFERENCE = re.compile(
    r"[*_\s]{0,4}(?:(?:and|so|thus|therefore|hence)[,\s]{1,2})?(?:(?:that|this|it) is|(?:that|it)'s|these are)"
    r"(?: then| thus| therefore| indeed)?"
    r" (?:the|our|my) (?:(?:final|correct|right|required|desired|complete) ){0,2}(?:answers?|result|solution)"
    r"(?: (?:to|for) (?:the|this|your) (?:(?:given|original|whole|stated|math) )?(?:question|problem|exercise))?[.!*_\s]{0,4}$"
    r"|(?:(?:and )?(?:we are |we're |i'm |i am )?done|(?:this|that|which) (?:concludes|completes) (?:the|our) (?:solution|proof"
    r"|problem|calculation))[.!*_\s]{0,4}$|(?:这就是|此即为?|即为)(?:最终|所求的?|本题的?|我们的)?答案[。！]?$",
    re.I,
)
"""`That is our final answer`, which is about the sentence before it."""
SPACES = re.compile(r"[^\S\n]{2,}|[^\S\n ]")
BLANK_LINES = re.compile(r"\n\s*\n")
MAX_COURTESY = 6
"""Courteous sentences that are cut off."""
MAX_SENTENCE = 400
COURTESY = re.compile(
    r"\bhope\b|\blet me know\b|\bfeel free\b|\bplease (?:let|ask|feel|do|reach|note me)|\b(?:any|more|other"
    r"|further|have|your) (?:\w{1,12} )?questions?\b|\banything else\b|\bhappy to\b"
    r"|\bglad\b|\bthanks?\b|\bthank you\b|\bwelcome\b|\bgood luck\b|\bhave a (?:great|nice|good|wonderful)\b"
    r"|\bcheers\b|\bregards\b"
    r"|\b(?:would|do|if) you (?:like|want|need|have|wish|prefer|would|'d)\b|\bif anything\b|\bwell done\b"
    r"|\bgreat (?:job|question|work)\b|\bkeep (?:up|practi)"
    r"|\bhappy (?:learning|studying|solving|math)|\benjoy\b|\bneed (?:more|any|further) (?:help|explanation"
    r"|details)|\bi can (?:also )?(?:explain|help)"
    r"|希望|如有|如果[你您]|谢谢|感谢|祝[你您]|疑问|问题|欢迎|告诉我|随时|还需要|帮助|加油",
    re.I,
)
REMARK = re.compile(
    r"[*_\s]{0,4}(?:\((?![A-Ja-j]\))[A-Z][^()]{12,300}(?:\([^()]{0,60}\)[^()]{0,200})?\)[.*_]{0,3}$"
    r"|(?:confidence|certainty|difficulty|word count|tokens?(?: used)?|rating|source|reference|topic"
    r"|subject|category|tags?|keywords?|concepts?|skills?|grade level"
    r"|置信度|难度|知识点|考点|来源|关键词)(?: \w{1,12}){0,3}[*_]{0,2}\s?[:：]"
    r"|(?:please )?(?:note|notice|remember|recall|observe)(?: that|:|,)|(?:side )?(?:note|remark|comment|tip|hint"
    r"|fun fact|reminder"
    r"|trivia|p\.?s)\.?[:：]|p\.s\.|(?:by the way|incidentally|as an aside|as a side note|as a reminder"
    r"|for (?:reference|context))\b"
    r"|(?:注意?|备注|说明|提示|附注|另外|顺便)[:：，]|[（][^（）]{6,200}[）]$"
    r"|(?:(?:this|that|it|which|(?:the|this|my|our) (?:\w{1,12} )?(?:solution|calculation|computation|problem"
    r"|derivation|proof|method|approach"
    r"|work|reasoning|answer)|we|i|overall,? (?:this|it|we|i)|in total,? (?:this|we|i))(?: only| just| all| have| has)?"
    r"(?: did not| didn't| never)?"
    r" (?:took|takes?|used?|uses|required?|requires|needed?|needs|involved?|involves|went through"
    r"|consists? of)\b[^.\n]{0,60}?"
    r"\b(?:steps?|formulas?|operations?|calculations?|lines?|attempts?|equations?|words?|tokens?|substitutions?|methods?"
    r"|multiplications?|additions?|divisions?|subtractions?|lemmas?|theorems?|calculator|rules?|identit(?:y|ies)|techniques?"
    r"|cases)\b)"
    r"|(?:这|以上|本题|整个(?:过程|解答)|解答)[^。\n]{0,8}(?:用了|共用|需要)[^。\n]{0,8}(?:步|个公式|个步骤)"
    r"|(?:the|all|this|that|other|any)\b[^.\n]{0,60}\b(?:was|were|is|are) (?:not (?:needed|used|relevant|necessary|required)"
    r"|irrelevant|unnecessary|extra information|a distract\w{2,4}|superfluous|not used)\b"
    r"|(?:i|we) (?:did not|didn't|never|have not|haven't) (?:even )?(?:need|use)\w{0,2}\b[^.\n]{0,80}\.$)",
    re.I,
)
"""A sentence after the answer that is about the solution, or about something else."""
NO_REMARK = re.compile(
    r"\banswers?\b|答|选|\b(?:so|thus|therefore|hence|wrong|incorrect|mistake|error|actually|instead|correct(?:ed"
    r"|ion)?|should|must"
    r"|if|unless|maybe|perhaps|might|may|could|sure|certain|final|result|total|equals?|gives?|or|wait|option|choice"
    r"|solution set"
    r"|boxed|guess\w{0,3}|only|need to|find|compute|calculate|also|doubt\w{0,3}|not (?:hold|valid|true|right|work))\b"
    r"|=|\?|所以|因此|错|可能|不确定|应",
    re.I,
)
"""Words of a sentence that may bear on the answer. It is kept."""
NOT_COURTESY = re.compile(r"\\|\$|\d|=")
ORNAMENTS = frozenset(" \t\r\n*_`#~=-–—|•·■□∎▪◼◾\ufe0f\u200b\u200d\u3000")

END_OF_PROOF = re.compile(
    r"(?:(?<![\\$])\$|\$\$|\\\(|\\\[)?\s?\\(?:blacksquare|square|Box|qed|qedsymbol|qedhere|blacktriangle|hfill|quad"
    r"|qquad)\s?(?:\$\$|\$|\\\)|\\\])?$"
    r"|(?<=[\s(\[.])[(\[]?(?:Q\.\s?E\.\s?D|Q\.\s?E\.\s?F|QED|q\.e\.d)\.?[)\]]?\.?$|证毕[。.]?$"
)
"""Signs that end a proof."""


def answer_turn(output: str) -> str:
    """Returns the text of the model's turn: after its thinking and before the first marker that ends the turn."""
    before, closed, after = output.rpartition(THINK_CLOSE)
    text = after if closed and after.strip() else before if closed else output
    text = text.rpartition(FINAL_CHANNEL)[2]
    if not any(sign in text for sign in MARKER_SIGNS):
        return text
    start = len(text) - len(text.lstrip())
    while marker := END_OF_TURN.match(text, start):  # markers before the turn, as `<|im_start|>`
        role = ROLE.match(text, marker.end())
        start = role.end() if role else marker.end()
    end = END_OF_TURN.search(text, start)
    return text[start : end.start()] if end else text[start:]


def collapse_spaces(text: str) -> str:
    """Replaces runs of white space by one space or one empty line, so that no pattern has to try their splits."""
    return BLANK_LINES.sub("\n\n", SPACES.sub(" ", text)).strip()


def strip_courtesy(text: str) -> str:
    """Removes sentences such as `I hope this helps!` and ornaments from the end."""
    text = strip_ornaments(text)
    for _ in range(MAX_COURTESY):
        start = last_sentence_start(text)
        sentence = text[start:]
        if start == 0 or not (is_courtesy(sentence) or is_remark(sentence) or SELF_REFERENCE.match(sentence)):
            break
        text = strip_ornaments(text[:start])
    return text


def is_courtesy(sentence: str) -> bool:
    return COURTESY.search(sentence) is not None and NOT_COURTESY.search(sentence) is None


def is_remark(sentence: str) -> bool:
    """Returns whether a sentence cannot be the answer: it is a remark, and nothing in it bears on the answer."""
    return REMARK.match(sentence) is not None and NO_REMARK.search(sentence.replace("in total", "")) is None


def strip_ornaments(text: str) -> str:
    """Removes rules, list marks, pictograms and signs that end a proof. A `*` or `_` that closes emphasis goes too."""
    for _ in range(MAX_COURTESY):
        end = len(text)
        while end and (text[end - 1] in ORNAMENTS or _is_pictogram(text[end - 1])):
            end -= 1
        text = text[:end]
        proof = END_OF_PROOF.search(text, max(0, end - 40))
        if proof is None:
            break
        text = text[: proof.start()]
    return text


def _is_pictogram(character: str) -> bool:
    return "\u2600" <= character <= "\u27bf" or "\U0001f300" <= character <= "\U0001faff"


def last_sentence_start(text: str) -> int:
    """Returns where the last sentence begins, outside of formulas that contain a full stop or a line break."""
    window = max(0, len(text) - MAX_SENTENCE)
    start = window if window == 0 else -1
    for match in SENTENCE_BREAK.finditer(text, window, len(text)):
        if text[match.end() :].strip():
            start = match.end()
    return max(start, 0) if start >= 0 else window


SENTENCE_BREAK = re.compile(r"(?:[.!?](?:[*_\"')\]$]{0,3})(?=\s)|[。！？]|\n)\s{0,2}")
