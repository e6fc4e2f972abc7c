"""Which series a sentence means by "it", "they", "both", "the former" and "the latter"."""

import re

from passus.descriptions.claims import Group
from passus.descriptions.marking import Marked
from passus.descriptions.reference_words import NOUN, Context, Getter, S

OBJECT_BEFORE = re.compile(
    r"\b(?:past|above|below|behind|than|overtak\w+|overtook|pass(?:es|ed)|caught|catches|left|beats?|leads?|ahead of"
    r"|with|of|under|over|leaves)\s+$",
    re.I,
)
OWN_VERB = re.compile(r"\s+(?:began|begins?|begun|start(?:s|ed)?|was|is|did|does|had|has|came|ever|once|itself)\b", re.I)
"""Verbs before which "it" is a subject, though "than" or another such word stands before it."""
"""Verbs before which "it" is a subject, though "than" or another such word stands before it."""


def mark_pronouns(marked: Marked, context: Context) -> None:
    put, group = marked.replace, Getter(marked)
    pair = context.pair if len(context.pair) == 2 else context.names if len(context.names) == 2 else ()
    if len(pair) == 2:
        put(r"\bof the two,? ?|\bbetween the two,? ?", "Z", lambda m: "")
        put(r"\bthe former\b", "S", lambda m: Group((pair[0],)))
        put(r"\bthe latter\b", "S", lambda m: Group((pair[1],)))
        put(
            rf"\b(?:both|the two|these two|those (?:same )?two)(?: (?:of them|(?:dashed "
            rf"|solid )?{NOUN}))?\b(?! (?:panel|chart|bench|quantit|axes|axis))|\bthe (?=\w+s\b)(?:{NOUN})\b(?= (?:do not"
            rf"|don't|never|cross|meet"
            rf"|intersect|swap|finish|coincide|converge|overlap|diverge|are|differ|start|end))",
            "S",
            lambda m: Group(pair),
        )
        put(
            r"\b(?:they|them|each other|one another)\b",
            "S",
            lambda m: Group(pair) if m[0].lower() in ("they", "them") else None,
        )
    else:
        put(
            rf"\bthe (?=\w+s\b){NOUN}\b(?= (?:are|do not|don't|never|cross|coincide|converge|fan out|draw|all|start|end"
            rf"|meet|diverge|share))",
            "S",
            lambda m: Group(context.names),
        )
        put(r"\bthey\b", "S", lambda m: Group(context.pair or context.subject or context.names))

    def pronoun(match: re.Match[str]) -> Group | None:
        """Refers to the first series before it in the sentence, else to the subject of the sentence before."""
        before = match.string[: match.start()]
        is_object = (
            match[0].lower() == "it" and OBJECT_BEFORE.search(before) and not OWN_VERB.match(match.string[match.end() :])
        )
        starts = re.match(r"\W*(?:«[IO]\d+»|its?\b)", match.string)
        own = (
            context.within
            and any(set(context.within) <= set(group(token).names) for token in re.findall(S, before))
            and not (starts and context.subject)
            and not (is_object and context.subject and context.subject != context.within)
        )
        if is_object and not own and len(context.mentioned - set(context.within)) > 1:
            return None
        names = context.within if own else context.subject
        return Group(names) if names else None

    put(
        rf"\b(?:the same|this|that|the said)(?: (?!the\b)\w+)? {NOUN}\b(?! of)",
        "S",
        lambda m: Group(context.subject) if context.subject else None,
    )
    put(
        r"\bthe (?:run|line|curve|model|policy)\b(?= (?:is|was|has|had|ends?|finish|starts?|begins?|rises?"
        r"|falls?|drops?|climbs?"
        r"|never|then|still|reach|gains?|loses?))",
        "I",
        pronoun,
    )
    put(r"\bits\b|\btheir\b", "O", pronoun)
    put(r"(?<!makes )(?<!made )(?<!make )(?<!making )\bit(?:self|'s)?\b", "I", pronoun)
