"""Which series a sentence means by "both", "all but Gemma3", "the latter", "it", "the larger model", "the second-best run"."""

import re
from typing import Any

from passus.descriptions.claims import Group
from passus.descriptions.marking import Marked
from passus.descriptions.numbers import ORDINALS, count_of
from passus.descriptions.pronouns import mark_pronouns
from passus.descriptions.reference_words import COUNT, EVERY_NOUN, MOST, NOUN, TRAINED, Context, Getter, S
from passus.descriptions.sizes import mark_sizes

UNKNOWN = (
    r"\b(?:the|an?|this)(?: (?!the\b|an?\b|of\b|and\b|or\b|in\b|on\b|at\b|by\b|to\b|for\b|that\b|with\b)[\w-]+){1,2} "
    r"(?:polic(?:y|ies)|models?|runs?|lines?|curves?|variants?|methods?|counterparts?|students?|baselines?|ones?)\b"
)
"""A series that is named by words which no name has."""
KNOWN_ADJECTIVE = re.compile(
    r"\b(?:[a-z]+est|whole|entire|full|same|other|others|two|three|four|five|six|seven|eight|all|remaining|best|worst|second"
    r"|third|fourth|top|only|first"
    r"|last|most|least|more|less|very|common|usual|highest|lowest|topmost|uppermost|middle|strongest|weakest|leading|winning|fastest|slowest|base|initial|training|single|odd"
    r"|said|latter|former|winner|runner|horizontal|straight|flat|noisy|steady|clear|good|bad|new|better|worse|higher"
    r"|lower|stronger|plotted|different"
    r"|SFT|pretrained|reference|starting|original|typical|long|short|few|given|language|reward|line|is|are|was|were|has|of)\b",
    re.I,
)


ONLY_ONE = re.compile(
    rf"(?<!not a )(?<!no )\b(?:the )?(?:only|sole|single) (?:one|{NOUN})(?: (?:of|among|out of) (?:the |these |those "
    rf"|all )?(?:(?:{COUNT})\b ?)?(?:{NOUN}\b|them\b)?)?",
    re.I,
)


def mark_groups(marked: Marked, context: Context) -> None:
    """Replaces words for series by tokens with the series that they mean."""
    put, every = marked.replace, context.names
    group = Getter(marked)

    def without(match: re.Match[str]) -> Group:
        left_out = {name for token in re.findall(S, match[0]) for name in group(token).names}
        none = re.search(r"\b(?:no|none|not a|nobody)\b", match[0], re.I)
        return Group(tuple(name for name in every if name not in left_out), "none" if none else "all")

    put(
        rf"(?:^|(?<=[.;:] ))(?:of|among|amongst|out of) (?:all(?: the| these)?|the|these) "
        rf"(?:{COUNT} )?(?:other )?(?:{NOUN}|of them),\s",
        "Z",
        lambda m: "",
    )
    # Lists first: "A, B and C".
    put(rf"\bneither (?:of )?({S})(?:,? nor ({S}))", "S", lambda m: Group(_names(group, m[0]), "none"))
    put(
        rf"(?:\bboth |\beither |\bof )?{S}(?:, {S})*,? (?:and|or|as well as|&|/) {S}", "S", lambda m: Group(_names(group, m[0]))
    )
    put(rf"{S}(?:, {S})+", "S", lambda m: Group(_names(group, m[0])))
    all_words = (
        rf"(?:everybody|everyone|everything|all|each|every(?: one)?)(?: of)?(?: the| these"
        rf"| them)?(?: {COUNT})?(?: other| remaining)?(?: {EVERY_NOUN})?"
    )
    put(
        rf"\b(?:with the (?:sole |only )?exception of|except(?: for)?|apart from|aside from|other than|excluding"
        rf"|besides) {S},? (?:{all_words}|no(?: other)? {NOUN}|none(?: of \w+ \w+)?|nobody)\b",
        "S",
        without,
    )
    put(
        rf"\b{all_words} (?:but|except(?: for)?|other than|apart from|besides|with the exception of|excluding) {S}",
        "S",
        without,
    )
    put(rf"{S} aside,? (?:{all_words}|no(?: other)? {NOUN}|nobody|none(?: of \w+ \w+)?)", "S", without)
    put(
        rf"\b(?:no|none of the|not a single|not one)(?: {COUNT})?(?: other)? {NOUN} (?:but|except(?: for)?|other than"
        rf"|besides) {S}",
        "S",
        lambda m: Group(_names(group, m[0]), "only"),
    )
    put(
        rf"(?<!the )\b(?:only|just|exactly|precisely) one (?:of|among|out of) (?:the |these )?(?:{COUNT} ?)?(?:{NOUN}\b"
        rf"|them\b|(?= ))",
        "S",
        lambda m: Group(every, "exactly", 1),
    )
    put(
        rf"(?<!the )\b(?:only|just|exactly|precisely) (?:one|a single) {EVERY_NOUN}\b",
        "S",
        lambda m: Group(every, "exactly", 1),
    )
    put(
        rf"(?P<part>«F\d+») (?:of )?(?:the |all |these )?(?:{COUNT} )?{NOUN}\b",
        "S",
        lambda m: _part_of(marked.get(m["part"]), every),
    )
    marked.text = ONLY_ONE.sub("only one ", marked.text)
    mark_counts(marked, context)
    put(
        rf"\b(?P<sense>exactly |only |just |precisely )?(?P<n>{COUNT}) (?:out )?of (?:the "
        rf"|these )?(?:{COUNT} )?(?:{NOUN}|them)\b", "S",
        lambda m: Group(every, "exactly", count_of(m["n"])))  # fmt: skip
    # None, all, others.
    put(
        rf"\bneither {EVERY_NOUN}\b|\bnone of (?:the |these |those )?{COUNT}\b|\bnone of (?:these|those|them)\b",
        "S",
        lambda m: _none_of(m[0], every, context),
    )
    put(
        rf"\b(?P<n>one|two|three|four) of the {COUNT}\b(?! (?:panel|bench|chart|set|task|mark|evaluation|eval|checkpoint|step"
        rf"|epoch|point|row|week|day|hour|interval|budget|reading|place|iteration|round))",
        "S",
        lambda m: Group(every, "exactly", count_of(m["n"])),
    )
    put(
        rf"\b(?:none|neither|not one|not any) of (?:the |these |them)?(?:{COUNT} )?(?:other )?(?:{EVERY_NOUN}"
        rf"|them)(?! of)|\bno (?:single )?(?:other )?{EVERY_NOUN}\b|\bnot a single {EVERY_NOUN}\b|\bnobody\b|\bno one\b"
        rf"|\b(?:no|not a single|not one) (?:single )?(?:entry|value|reading|score|number|result)\b"
        rf"(?: (?:of|in) the (?:table|chart|figure|plot))?"
        rf"|\bnothing\b(?: here| on (?:this|the) \w+)?(?= (?:ever )?(?:gets?|got|reach\w*|exceed\w*|goes|climbs?|rises?"
        rf"|falls?|makes|passes"
        rf"|drops?)\b)"
        rf"|\bnothing in the (?:table|chart|figure|plot)\b|\bnone\b(?= (?:ever|is|are|do|does|reach))", "S",
        lambda m: _none_of(m[0], every, context))  # fmt: skip
    put(
        rf"\b(?:all|each|every|any|the)(?: of the| of the)?(?: {COUNT})? (?:other|remaining)(?: {COUNT})? (?:{NOUN}"
        rf"|ones?)\b|\bthe (?:others|rest|remaining {NOUN})\b|\b(?:any|every)(?:one| one) else\b"
        rf"|\ball (?:the )?others\b|\beverything else\b|\bits (?:competitors|rivals|peers)\b", "S",
        lambda m: _rest(m[0], every, context))  # fmt: skip
    put(
        rf"\b(?:all|each|every)(?: one)?(?: of)?(?: the| these| our)?(?: {COUNT})?(?: single)? {TRAINED}{EVERY_NOUN}\b"
        rf"|\beverybody\b|\beveryone\b|\beverything\b(?! (?:else|that|it|they|we|is)\b)|\ball (?:of )?them\b"
        rf"|\ball {COUNT}\b(?! (?:marked|bench|panel|chart|step|point))"
        rf"|\bthey all\b|\bthe (?:whole )?(?:bunch|pack|field)\b|\beach of them\b|\bthem all\b"
        rf"|\ball of the {EVERY_NOUN}\b|\bthe (?P<n>{COUNT}) {TRAINED}{EVERY_NOUN}\b", "S",
        lambda m: _every(m, every, context))  # fmt: skip
    put(
        rf"\b(?:either|any|both|all|each|neither|none)? ?(?:of )?the other (?P<n>{COUNT})\b",
        "S",
        lambda m: _so_many_others(m, every, context),
    )
    put(
        rf"\bthe (?P<n>{COUNT})(?= (?:all |also |still |even )?(?:are|were|lie|lay|end|ended|finish|finished"
        rf"|start|started|begin"
        rf"|stay|stayed|remain|remained|differ|rise|rose|fall|fell|have|had|do|did|never|converge|meet|cross)\b)",
        "S",
        lambda m: Group(every) if count_of(m["n"]) == len(every) else None,
    )
    put(
        rf"\bof (?:all |the |these )*(?P<n>{COUNT})\b(?=\W*$|[,.;]| (?:at|on|in|by|after|from|throughout)\b)",
        "Z",
        lambda m: "" if count_of(m["n"]) == len(every) else None,
    )
    rivals = tuple(name for name in every if name not in (context.within or context.subject))
    if len(rivals) == 2:
        words = (
            rf"\b(?:both|the two)(?: other)? (?:predecessors|rivals|competitors|ablations|baselines|others"
            rf"|{NOUN} before it)\b"
        )
        put(words, "S", lambda m: Group(rivals))
    put(rf"\bthe {EVERY_NOUN}(?= all\b)|\beither {EVERY_NOUN}\b", "S", lambda m: Group(every))
    marked.text = re.sub(
        rf"\b(?:one and )?the same {NOUN} (?=(?:\w+ )?(?:wins?|won|leads?|is|was|comes|came|ends|finishes|has|tops"
        rf"|takes)\b[^.;]*«P)", "SAMEONE ",
        marked.text, flags=re.I)  # fmt: skip
    _mark_ranks(marked, context)
    mark_sizes(marked, context)
    mark_pronouns(marked, context)
    put(rf"(?:\bboth |\beither )?{S}(?:, {S})*,? (?:and|or) {S}", "S", lambda m: _merged(group, m[0]))
    put(rf"\bonly {S}(?! of)|{S} alone\b", "S", lambda m: Group(_names(group, m[0]), "only"))
    put(rf"\b(?:the|this) (?P<adjective>[a-z]{{4,}}) {NOUN}\b(?! of)", "S", lambda m: _by_stem(m["adjective"].lower(), every))
    put(
        r"\b(?:that|this) (?=(?:improvement|gain|increase|rise|drop|decline|collapse|loss|growth|progress|fall|dip)\b)",
        "O",
        lambda _: _own(context),
    )
    put(UNKNOWN, "U", lambda m: None if "«" in m[0] or KNOWN_ADJECTIVE.search(m[0]) else m[0])
    marked.text = re.sub(r"«U\d+» (?=«S)", "", marked.text)  # "the suspect branch main": a name in apposition


def _mark_numbers_of(marked: Marked, every: tuple[str, ...]) -> None:
    """Marks "at least two runs", "no more than two", "all but one of them", "exactly two methods"."""
    put = marked.replace
    of = rf"(?:of (?:the |these |all )?(?:{COUNT} )?)?(?:(?:{NOUN}|them)\b)"
    least, most = r"(?:at least|no fewer than|no less than)", r"(?:at most|no more than|not more than)"
    put(rf"\b{least} (?P<n>{COUNT}) {of}", "S", lambda m: Group(every, "at least", count_of(m["n"])))
    put(rf"\b{most} (?P<n>{COUNT}) {of}", "S", lambda m: Group(every, "at most", count_of(m["n"])))
    put(rf"\bmore than (?P<n>{COUNT}) {of}", "S", lambda m: Group(every, "at least", count_of(m["n"]) + 1))
    put(rf"\b(?:fewer|less) than (?P<n>{COUNT}) {of}", "S", lambda m: Group(every, "at most", count_of(m["n"]) - 1))
    put(
        rf"\b(?:all|every(?: one)?|each|everyone|everybody)(?: of)?(?: the| these)?(?: {COUNT})?(?: {NOUN})? (?:but"
        rf"|except(?: for)?"
        rf"|save(?: for)?|bar) (?P<n>one|two|three)\b(?: {of})?", "S",
        lambda m: _without_so_many(every, count_of(m["n"])))  # fmt: skip
    put(
        rf"\b{MOST}(?:{COUNT} )?(?:{NOUN}|them)\b|\bmost {NOUN}\b", "S", lambda m: Group(every, "at least", len(every) // 2 + 1)
    )
    put(
        rf"\b(?:exactly|only|just|precisely) (?P<n>two|three|four|five|six|\d+) {NOUN}\b",
        "S",
        lambda m: Group(every, "exactly", count_of(m["n"])),
    )
    put(
        rf"(?:^|(?<=[.;:,] )|(?<=\band ))(?P<n>two|three|four|five|six) {NOUN}\b(?! (?:are (?:shown|compared|trained"
        rf"|plotted)|were|is))",
        "S",
        lambda m: (
            Group(every, "exactly", count_of(m["n"]))
            if count_of(m["n"]) < len(every) - 1
            else Group(every)
            if count_of(m["n"]) == len(every)
            else None
        ),
    )


def _own(context: Context) -> Group | None:
    return Group(context.subject) if context.subject else None


def _by_stem(adjective: str, every: tuple[str, ...]) -> Group | None:
    """Returns the series whose name an adjective is made from: "the filtered run" is A+filter."""
    if KNOWN_ADJECTIVE.fullmatch(adjective):
        return None
    stem = re.sub(r"(?:ised|ized|ed|ing|s|d)$", "", adjective)
    if len(stem) < 4:
        return None
    found = [name for name in every if any(part.startswith(stem) for part in re.split(r"[^a-z]+", name.lower()))]
    return Group((found[0],)) if len(found) == 1 else None


def _without_so_many(every: tuple[str, ...], count: int) -> Group | None:
    return Group(every, "exactly", len(every) - count) if len(every) > count else None


def _part_of(part: Any, every: tuple[str, ...]) -> Group:
    """Returns so many of the series: "half of the runs". Where that is no whole number, nothing is known of it."""
    count = part.value * len(every)
    is_whole = abs(count - round(count)) < 1e-9 and part.sense in ("about", "exactly")
    return Group(every if is_whole else (), "exactly", round(count))


def mark_counts(marked: Marked, context: Context) -> None:
    """Replaces "2 of the 4 models" and "3 out of 5 jobs"."""
    _mark_numbers_of(marked, context.names)
    many = (
        rf"\b(?:exactly |only |just |precisely )?(?P<n>{COUNT}) (?:out )?of (?:the |these |all )?(?P<all>{COUNT}) (?:{NOUN})\b"
    )

    def so_many(match: re.Match[str]) -> Group:
        is_all = count_of(match["all"]) == len(context.names)  # else those of all panels are counted
        return Group(context.names if is_all else (), "exactly", count_of(match["n"]))

    marked.replace(many, "S", so_many)


def _every(match: re.Match[str], every: tuple[str, ...], context: Context) -> Group | None:
    """Returns all series, or all but the subject where the count says so."""
    numbers = re.findall(rf"\b(?:{COUNT})\b", match[0], re.I)
    moving = tuple(name for name in every if name not in context.references)
    if moving and re.search(r"\b(?:student|trained|fine-tuned|RL)", match[0]):
        return Group(moving) if not numbers or count_of(numbers[0]) == len(moving) else None
    if not numbers or count_of(numbers[0]) == len(every):
        return Group(every)
    if count_of(numbers[0]) == len(moving) < len(every):
        return Group(moving)
    others = tuple(name for name in every if name not in (context.within or context.subject))
    return Group(others) if count_of(numbers[0]) == len(others) == len(every) - 1 else None


def _merged(group: Getter, text: str) -> Group | None:
    groups = [group(token) for token in re.findall(S, text)]
    if any(g.rank or g.quantifier != "all" for g in groups):
        return None
    return Group(tuple(dict.fromkeys(name for g in groups for name in g.names)))


def _names(group: Getter, text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for token in re.findall(S, text) for name in group(token).names))


def _others(every: tuple[str, ...], context: Context) -> tuple[str, ...]:
    own = context.within or (() if context.is_item else context.subject)
    return tuple(name for name in every if name not in own) if own else ()


def _none_of(words: str, every: tuple[str, ...], context: Context) -> Group | None:
    """Returns "no run", "none of the others", and "neither of them", which is about two."""
    if "other" in words.lower():
        return Group(_others(every, context), "none")
    if re.match(r"neither\b", words, re.I) and len(every) != 2:
        return Group(context.pair, "none") if len(context.pair) == 2 else None
    is_fewer = re.search(r"\bthem\b", words, re.I) and 1 < len(context.mentioned) < len(every)
    return Group(tuple(context.mentioned) if is_fewer else every, "none")


def _rest(words: str, every: tuple[str, ...], context: Context) -> Group | None:
    """Returns "the others", and "the remaining one", which is about one."""
    names = _others(every, context)
    is_one = re.match(r"the\b", words, re.I) and not re.search(r"(?:s|rest|series)$", words, re.I)
    return None if is_one and len(names) > 1 else Group(names)


def _so_many_others(match: re.Match[str], every: tuple[str, ...], context: Context) -> Group | None:
    """Returns "the other two", where that is how many are left."""
    names = _others(every, context)
    is_none = re.search(r"neither|none", match[0], re.I)
    return Group(names, "none" if is_none else "all") if len(names) == count_of(match["n"]) else None


def _rivals(words: str, context: Context) -> tuple[str, ...]:
    """Returns those among whom someone is the best: "of them" and "of the rest" leave the subject out."""
    return _others(context.names, context) if re.search("them|rest|others", words) else context.names


def _mark_ranks(marked: Marked, context: Context) -> None:
    """Marks series that are named by their rank: the best of them, the second-best run, the winner."""
    best, worst = r"(?:best|top|strongest|leading|winning|fastest)", r"(?:worst|weakest|slowest|bottom|lowest-scoring)"
    put = marked.replace
    put(
        rf"\bthe (?:best|top|highest|first) and (?:the )?(?:worst|lowest|last|bottom)(?: {NOUN})?\b|\bbest/worst\b"
        rf"|\bbest and worst(?: {NOUN})?\b|\bthe (?:highest|top) and (?:the )?(?:lowest|bottom) {NOUN}\b",
        "B",
        lambda m: (1, -1),
    )
    put(
        rf"\bthe first and (?:the )?second(?:-placed)?(?: {NOUN})?\b|\bthe (?:top|best) two(?: {NOUN})?\b",
        "B",
        lambda m: (1, 2),
    )
    put(
        rf"\bthe (?P<nth>second|third|fourth|fifth)[- ]best(?: {NOUN}| one)?\b(?!(?: result| value))"
        rf"|\bthe (?:runner-up)\b", "S",
        lambda m: Group((), rank=ORDINALS[m["nth"].lower()] if m["nth"] else 2, among=context.names))  # fmt: skip
    put(
        rf"\bthe {best} (?:of (?:them|the (?:bunch|rest|others|two|three|four))|{EVERY_NOUN})\b|\bthe winner\b"
        rf"|\bthe leader\b(?! on| of| in| at)", "S",
        lambda m: Group((), rank=1, among=_rivals(m[0], context)))  # fmt: skip
    put(
        rf"\bthe {worst} (?:of (?:them|the (?:bunch|rest|others|two|three|four))|{EVERY_NOUN})\b(?! of)|\bthe loser\b",
        "S",
        lambda m: Group((), rank=-1, among=context.names),
    )
