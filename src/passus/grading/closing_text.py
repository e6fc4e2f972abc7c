"""The end of an output: cuts off chat markers, thinking and courtesy, so that the answer's sentence comes last."""

import re

END_OF_TURN = re.compile(
    r"<(?:\|(?:im_end|im_start|endoftext|end_of_text|eot_id|eom_id|end|eos|user|assistant|end_of_turn|return|EOT"
    r"|START_OF_TURN_TOKEN|END_OF_TURN_TOKEN)\|>|/s>|s>|eos>|end_of_turn>|start_of_turn>|\uff5c[^<>\n]{1,30}\uff5c>)"
    r"|\[/INST\]"
)
"""Special tokens of chat templates, as text. The turn ends at the first one."""
MARKER_SIGNS = ("<|", "<\uff5c", "s>", "_turn>", "[/INST]")
"""Parts of every marker, which are quick to search for."""
THINK_CLOSE = "</think>"
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
NOT_COURTESY = re.compile(r"\\|\$|\d|=")
ORNAMENTS = frozenset(" \t\r\n*_`#~=-–—|•·■□∎▪◼◾\ufe0f\u200b\u200d\u3000")

END_OF_PROOF = re.compile(
    r"(?:(?<![\\$])\$|\$\$|\\\(|\\\[)?\s?\\(?:blacksquare|square|Box|qed|qedsymbol|qedhere|blacktriangle|hfill|quad|qquad)\s?(?:\$\$|\$|\\\)|\\\])?$"
    r"|(?<=[\s(\[.])[(\[]?(?:Q\.\s?E\.\s?D|Q\.\s?E\.\s?F|QED|q\.e\.d)\.?[)\]]?\.?$|证毕[。.]?$"
)
"""Signs that end a proof."""


def answer_turn(output: str) -> str:
    """Returns the text of the model's turn: after its thinking and before the first marker that ends the turn."""
    before, closed, after = output.rpartition(THINK_CLOSE)
    text = after if closed and after.strip() else before if closed else output
    if not any(sign in text for sign in MARKER_SIGNS):
        return text
    start = len(text) - len(text.lstrip())
    while marker := END_OF_TURN.match(text, start):  # markers before the turn, as `<|im_start|>`
        start = marker.end()
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
        if start == 0 or not COURTESY.search(sentence) or NOT_COURTESY.search(sentence):
            break
        text = strip_ornaments(text[:start])
    return text


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
