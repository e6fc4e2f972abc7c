"""Lessons from mistakes: meta-experience learning (MEL).

From each group with right and wrong answers one pair is taken. The policy itself writes what is to be learned from it: where
the wrong solution leaves the right path, and which rule would have helped. Then it solves the problem once more with that
lesson in front. Lessons that lead to a right answer are kept, and their likelihood, given the pair that they were written from,
is added to the step's objective: the sum over kept lessons of the mean log-prob of their tokens, divided by the step's prompts.

A useless lesson is kept as often as the problem is solved anyway, so the share of kept lessons stands beside the plain success
rate on the same prompts, and their difference is the uplift. Controls: lessons that are not validated, lessons of another
problem, and as many tokens of the right solution in their place.

Shapes: D groups, L lessons.
"""

from dataclasses import dataclass, replace

from passus.grading import BOX, Verdict
from passus.groups import Groups
from passus.judge import grade_items
from passus.method import Method
from passus.policy import Policy
from passus.sampler import Prompt, Sampler, SamplingParams

WHY = "<why>"
"""Models of the nano world know a form of their own."""
PAIR = """Two solutions of one problem follow. The first ends in a wrong answer, the second in the right one; the marks say \
only that, not which of their steps are sound.

Problem:
{question}

Solution 1 (wrong):
{wrong}

Solution 2 (right):
{right}

Write what a careful solver should take from this, in four short parts:
1. Break: the first step of solution 1 that leaves the right path, and what made it look plausible.
2. Support: what solution 2 did that kept it safe, or where it caught itself.
3. Reflection: in the first person, what to watch for.
4. Rules: one to three rules of the form "when ..., then ...". They must help with other problems: no number, name or \
result of this one may stand in parts 3 and 4."""
NOTES = """Notes from earlier practice, with ways to go and traps to avoid:

{lesson}

Take from them what applies, and solve the problem on your own.

{question}"""


@dataclass(frozen=True)
class Lesson:
    group: int
    """Of the step's prompts."""
    kept: bool
    helped: bool
    """The problem was solved with the lesson in front."""
    leaks: bool
    """The right answer stands in it."""
    context: list[int]
    tokens: list[int]
    """What is learned, given the context."""


@dataclass
class Taught:
    """The lessons of a step, and what they cost."""

    lessons: list[Lesson]
    groups: int
    """Mixed ones."""
    too_long: int
    plain: float
    """Success rate on the same prompts, without lessons."""
    drawn_tokens: int

    @property
    def kept(self) -> list[Lesson]:
        return [lesson for lesson in self.lessons if lesson.kept]

    def metrics(self) -> dict[str, float]:
        found: dict[str, float] = {
            "lessons/built": len(self.lessons), "lessons/kept": len(self.kept), "lessons/too_long": self.too_long,
            "lessons/tokens": self.drawn_tokens,
        }  # fmt: skip
        if self.lessons:
            helped = sum(lesson.helped for lesson in self.lessons) / len(self.lessons)
            found |= {"lessons/helped": helped, "lessons/plain": self.plain, "lessons/uplift": helped - self.plain}
        if self.kept:
            found["lessons/leaks"] = sum(lesson.leaks for lesson in self.kept) / len(self.kept)
        return found


def teach(policy: Policy, sampler: Sampler, method: Method, used: Groups, params: SamplingParams) -> Taught:
    """Write, validate and keep lessons from the groups of a step; `params` are those of its rollout."""
    pairs = [(d, *pair) for d in range(len(used.items_D)) if (pair := _pair(used, d)) is not None]
    requests = [_request(policy, used, *pair) for pair in pairs]
    fitting = [i for i, request in enumerate(requests) if len(request.tokens) + params.max_tokens <= policy.context]
    pairs, requests = [pairs[i] for i in fitting], [requests[i] for i in fitting]
    groups = len(used.mixed())
    if not pairs:
        return Taught([], groups, groups, 0.0, 0)
    written = sampler.generate(requests, replace(params, samples=1, stream="lesson"))
    texts = policy.answers(written.tokens, policy.texts(written.tokens))
    shown = texts[1:] + texts[:1] if method.lessons == "shuffled" else texts
    replays = [_replay(policy, used, pair[0], text) for pair, text in zip(pairs, shown, strict=True)]
    room = [len(replay.tokens) + params.max_tokens <= policy.context for replay in replays]
    solved = sampler.generate(
        [replay if fits else requests[i] for i, (replay, fits) in enumerate(zip(replays, room, strict=True))],
        replace(params, samples=1, stream="replay"),
    )
    items = [used.items_D[d] for d, *_ in pairs]
    answers = policy.answers(solved.tokens, policy.texts(solved.tokens))
    grades, _ = grade_items(None, items, answers, [not finished for finished in solved.finished])
    lessons = []
    for i, (d, _wrong, right) in enumerate(pairs):
        helped = room[i] and grades[i].verdict is Verdict.CORRECT
        whole = written.finished[i] and bool(shown[i].strip())
        tokens = written.tokens[(i + 1) % len(pairs)] if method.lessons == "shuffled" else written.tokens[i]
        context = list(requests[i].tokens)
        if method.lessons == "solution":
            context, tokens = list(used.prompts_D[d].tokens), used.rollout.tokens[right][: len(tokens)]
        kept = whole and (helped or method.lessons == "all")
        lessons.append(Lesson(d, kept, helped, items[i].gold in shown[i], context, tokens))
    plain = [_success(used, d) for d, *_ in pairs]
    cost = sum(len(p.tokens) for p in [*requests, *replays]) + sum(map(len, [*written.tokens, *solved.tokens]))
    return Taught(lessons, groups, groups - len(pairs), sum(plain) / len(plain), cost)


def _pair(used: Groups, d: int) -> tuple[int, int] | None:
    """Rows of the first wrong and the first right answer of a group that has both. What was cut off shows no mistake."""
    rows = range(d * used.samples, (d + 1) * used.samples)
    wrong = [n for n in rows if used.grades_N[n].verdict in (Verdict.WRONG, Verdict.UNPARSEABLE)]
    right = [n for n in rows if used.grades_N[n].verdict is Verdict.CORRECT]
    if not wrong or not right:
        return None
    return max(wrong, key=lambda n: _worked(used, n)), max(right, key=lambda n: _worked(used, n))


def _worked(used: Groups, n: int) -> bool:
    """Whether a solution shows any work before its answer: a bare guess teaches nothing. The first of equals is taken."""
    return bool(used.texts_N[n].partition(BOX)[0].strip())


def _success(used: Groups, d: int) -> float:
    grades = used.grades_N[d * used.samples : (d + 1) * used.samples]
    return sum(g.verdict is Verdict.CORRECT for g in grades) / len(grades)


def _request(policy: Policy, used: Groups, d: int, wrong: int, right: int) -> Prompt:
    """What the policy is asked to write a lesson from."""
    question, texts = used.items_D[d].question, {n: policy.unmarked(used.texts_N[n]) for n in (wrong, right)}
    if policy.knows(WHY):
        worked = [texts[n].partition(BOX)[0] for n in (wrong, right)]
        text = f"<q>{question}<wrong>{worked[0]}<right>{worked[1]}{WHY}"
    else:
        text = policy.turn(PAIR.format(question=question, wrong=texts[wrong].strip(), right=texts[right].strip()))
    return policy.prompt_of(text, used.prompts_D[d].item)


def _replay(policy: Policy, used: Groups, d: int, lesson: str) -> Prompt:
    """The problem once more, after the lesson."""
    item, number, lesson = used.items_D[d], used.prompts_D[d].item, policy.unmarked(lesson)
    if policy.knows(WHY):
        return policy.prompt_of(f"<lesson>{lesson}{policy.render(item)}", number)
    return policy.prompts([(number, replace(item, question=NOTES.format(lesson=lesson.strip(), question=item.question)))])[0]
