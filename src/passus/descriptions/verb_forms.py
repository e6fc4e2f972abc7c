"""The forms of English verbs, and the verbs that say how curves move and stand to each other."""

import re

IRREGULAR = {
    "rise": "rose risen", "grow": "grew grown", "go": "went gone", "get": "got gotten", "fall": "fell fallen",
    "lose": "lost", "sink": "sank sunk", "slide": "slid", "shrink": "shrank shrunk", "give": "gave given",
    "come": "came", "become": "became", "take": "took taken", "overtake": "overtook overtaken", "leave": "left",
    "lead": "led", "beat": "beaten", "win": "won", "catch": "caught", "shoot": "shot", "make": "made", "hit": "",
    "run": "ran", "slip": "", "creep": "crept", "leap": "leapt leaped", "draw": "drew drawn", "hold": "held",
    "keep": "kept", "stand": "stood", "lie": "lay lain", "sit": "sat", "begin": "began begun", "bring": "brought",
    "cut": "", "burn": "burnt burned", "throw": "threw thrown", "find": "found", "outdo": "outdid outdone",
    "dive": "dove dived",
    "outgrow": "outgrew outgrown", "put": "", "spring": "sprang sprung", "swing": "swung", "show": "showed shown",
    "learn": "learnt learned", "meet": "met", "drive": "drove driven", "eat": "ate eaten", "fly": "flew flown",
    "break": "broke broken",
    "outrun": "outran", "fight": "fought", "forget": "forgot forgotten",
}  # fmt: skip
VOWELS = "aeiou"


def forms(verb: str) -> list[str]:
    """Returns all forms of a verb, which may have a particle behind it: "go up"."""
    head, _, rest = verb.partition(" ")
    found = [head, _with_s(head), _with_ing(head)]
    if head in IRREGULAR:
        found += IRREGULAR[head].split()
        if not IRREGULAR[head] and _doubles(head) and head not in ("hit", "cut", "put"):
            found.append(_with_ed(head))
    else:
        found.append(_with_ed(head))
    return [f"{form} {rest}" if rest else form for form in found]


def pattern_of(verbs: str) -> str:
    """Returns a pattern for all forms of verbs that are separated by commas."""
    every = {form for verb in verbs.split(",") for form in forms(verb.strip())}
    return "|".join(sorted(every, key=lambda form: (-len(form), form)))


def _with_s(verb: str) -> str:
    if verb.endswith("y") and verb[-2] not in VOWELS:
        return verb[:-1] + "ies"
    return verb + ("es" if verb.endswith(("s", "x", "z", "ch", "sh", "o")) else "s")


def _doubles(verb: str) -> bool:
    """Returns whether the last letter is doubled: drop, dropped."""
    short = len(verb) > 2 and verb[-1] not in "aeiouwxy" and verb[-2] in VOWELS and verb[-3] not in VOWELS
    return short and sum(letter in VOWELS for letter in verb) == 1


def _with_ing(verb: str) -> str:
    if verb.endswith("ie"):
        return verb[:-2] + "ying"
    if verb.endswith("e") and not verb.endswith("ee"):
        return verb[:-1] + "ing"
    return verb + (verb[-1] if _doubles(verb) or verb in ("begin", "forget", "undercut") else "") + "ing"


def _with_ed(verb: str) -> str:
    if verb.endswith("e"):
        return verb + "d"
    if verb.endswith("y") and verb[-2] not in VOWELS:
        return verb[:-1] + "ied"
    return verb + (verb[-1] if _doubles(verb) else "") + "ed"


RISES = pattern_of(
    "rise, climb, increase, grow, ascend, jump, soar, surge, lift, raise, boost, add, mount, leap, advance"
    ", escalate, swell, rebound, shoot up, go up, move up, creep up, edge up, inch up, trend up, pick up, drift up"
    ", slope up, slope upward, slope upwards, come up, make up, trend upward, trend upwards, go upward, go upwards, head up"
    ", bounce back, take off, put on, tick up"
)
FALLS = pattern_of(
    "fall, decline, drop, decrease, descend, sink, slide, collapse, crash, dip, lose, shrink, unravel, cut, reduce, shed"
    ", trim, burn, plunge, plummet, tumble, slump, regress, drift down, go down, come down, move down, bend down, turn down"
    ", give up, give away, throw away, tail off, head down, slope down, slope downward, slope downwards, trend down"
    ", trend downward, trend downwards, bend downwards, go downhill, cost, slip, die, drop off, fall off, slip back"
    ", fall back, drop back"
    ", slide back, sag, fade, weaken, decay, tick down, dive, nosedive, backslide, recede, ebb, diminish, contract"
)
IMPROVES = pattern_of("improve, progress, gain") + "|learns|learned|learnt"
WORSENS = pattern_of("worsen, degrade, deteriorate, regress, give up, give back")
BETTER = pattern_of("outperform, outscore, beat, dominate, outpace, outdo, outclass, outrank, outshine, outstrip")
WORSE = pattern_of("trail, lag, underperform")
OVERTAKES = pattern_of("overtake, surpass, leapfrog, outgrow, overhaul")
NARROWS = pattern_of("narrow, close, shrink, decrease, diminish, contract, dwindle")
WIDENS = pattern_of("widen, open up, grow, broaden, increase, expand")
REACHES = pattern_of(
    "reach, hit, attain, arrive at, touch, achieve, get to, get as far as, make it to, come to, climb to, get up to"
)
PASSES = pattern_of(
    "pass, cross, clear, break, exceed, surpass, top, break through, get past, get above, get over, get beyond, go past"
    ", go over, go above, go beyond, move past, move above, make it past, make it over, make it above, make it beyond"
    ", climb past"
    ", climb above, climb over, rise above, rise past, rise over, climb beyond, push past, push above, break past, breach"
    ", come over, come above, jump over, jump above, jump past, edge past, edge above, grow past, grow beyond, grow above"
    ", advance past, advance beyond, run past, run over, leap past, leap over"
)
UNDERCUTS = pattern_of(
    "undercut, fall below, fall under, drop below, drop under, dip below, dip under, sink below, sink under, slip below"
    ", slip under, go below, go under, get below, get under, come below, come under, decline below, slide below, slide under"
    ", dive below, dive under, break below, move below, crash below, fall beneath, drop beneath, sink beneath, make it below"
    ", make it under"
)
CHANGE_VERB = re.compile("|".join((RISES, FALLS, IMPROVES, WORSENS, BETTER, WORSE, REACHES)))
"""Verbs of which a series is the subject."""
