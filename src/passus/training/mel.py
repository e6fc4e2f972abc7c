"""Lessons from mistakes: meta-experience learning (MEL).

From each group with right and wrong answers one pair is taken. The policy itself writes what is to be learned from it: where
the wrong solution leaves the right path, and which rule would have helped. Then it solves the problem once more with that
lesson in front. Lessons that lead to a right answer are kept, and their likelihood, given the pair that they were written from,
is added to the step's objective: the sum over kept lessons of the mean log-prob of their tokens, divided by the step's prompts.

A useless lesson is kept as often as the problem is solved anyway, so the share of kept lessons stands beside the plain success
rate of fresh samples on the same prompts, and their difference is the uplift. Controls: lessons that are not validated, lessons
of another problem, lessons from the wrong solution alone, and as many tokens of the right solution in their place.

Shapes: D groups, L lessons.
"""

import re
from dataclasses import dataclass, replace

from passus.engine.interface import Prompt, Sampler, SamplingParams
from passus.grading.grade import BOX, Verdict
from passus.methods.presets import Method
from passus.models.policy import Policy
from passus.tasks.llm_judge import grade_items
from passus.tasks.prompt import WHY
from passus.training.rollout_batch import Groups

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
CRITIQUE = """A solution of a problem follows that ends in a wrong answer.

Problem:
{question}

Solution (wrong):
{wrong}

Write what a careful solver should take from this, in three short parts:
1. Break: the first step that leaves the right path, and what made it look plausible.
2. Reflection: in the first person, what to watch for.
3. Rules: one to three rules of the form "when ..., then ...". They must help with other problems: no number, name or \
result of this one may stand in parts 2 and 3."""
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
    too_long: int
    """Pairs that do not fit the context."""
    plain: float
    """Success rate on the same prompts without lessons, of one fresh sample each."""
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
    requests = [_request(policy, used, *pair, alone=method.lessons == "critique") for pair in pairs]
    fitting = [i for i, request in enumerate(requests) if len(request.tokens) + params.max_tokens <= policy.context_length]
    too_long = len(pairs) - len(fitting)
    pairs, requests = [pairs[i] for i in fitting], [requests[i] for i in fitting]
    shuffles = method.lessons == "shuffled"
    if len(pairs) < 1 + shuffles:
        return Taught([], too_long, 0.0, 0)
    written = sampler.generate(requests, replace(params, samples=1, stream="lesson"))
    texts = policy.chat.answers(written.tokens, policy.chat.batch_decode(written.tokens))
    source = [(i + shuffles) % len(pairs) for i in range(len(pairs))]  # whose lesson is shown and learned
    replays = [_replay(policy, used, pair[0], texts[s]) for pair, s in zip(pairs, source, strict=True)]
    room = [len(replay.tokens) + params.max_tokens <= policy.context_length for replay in replays]
    plain = [replace(used.prompts_D[pair[0]], first_sample=1) for pair in pairs]  # fresh: the group's own samples chose the group
    asked = [replay if fits else plain[i] for i, (replay, fits) in enumerate(zip(replays, room, strict=True))] + plain
    solved = sampler.generate(asked, replace(params, samples=1, stream="replay"))
    items = [used.items_D[d] for d, *_ in pairs]
    answers = policy.chat.answers(solved.tokens, policy.chat.batch_decode(solved.tokens))
    grades, _ = grade_items(None, items * 2, answers, [not finished for finished in solved.finished])
    lessons = []
    for i, (d, _wrong, right) in enumerate(pairs):
        helped = room[i] and grades[i].verdict is Verdict.CORRECT
        lesson, tokens = texts[source[i]], written.tokens[source[i]]
        whole = written.finished[source[i]] and bool(lesson.strip())
        context = list(requests[i].tokens)
        if method.lessons == "solution":
            context, tokens = list(used.prompts_D[d].tokens), used.rollout.tokens[right][: len(tokens)]
        kept = whole and (helped or method.lessons == "all")
        lessons.append(Lesson(d, kept, helped, _leaks(items[i].gold, lesson), context, tokens))
    unaided = [grade.verdict is Verdict.CORRECT for grade in grades[len(pairs) :]]
    cost = sum(len(p.tokens) for p in [*requests, *asked]) + sum(map(len, [*written.tokens, *solved.tokens]))
    return Taught(lessons, too_long, sum(unaided) / len(unaided), cost)


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


def _leaks(gold: str, lesson: str) -> bool:
    """Whether the answer stands in it, by itself: 5 is not in 15."""
    return re.search(rf"(?<![\w.]){re.escape(gold)}(?!\w)", lesson) is not None


def _request(policy: Policy, used: Groups, d: int, wrong: int, right: int, *, alone: bool) -> Prompt:
    """What the policy is asked to write a lesson from: the pair, or the wrong solution alone."""
    question, texts = used.items_D[d].question, {n: policy.chat.strip_markers(used.texts_N[n]) for n in (wrong, right)}
    if policy.chat.has_token(WHY):
        worked = [texts[n].partition(BOX)[0] for n in (wrong, right)]
        text = f"<q>{question}<wrong>{worked[0]}" + ("" if alone else f"<right>{worked[1]}") + WHY
    elif alone:
        text = policy.chat.user_turn(CRITIQUE.format(question=question, wrong=texts[wrong].strip()))
    else:
        text = policy.chat.user_turn(PAIR.format(question=question, wrong=texts[wrong].strip(), right=texts[right].strip()))
    return policy.prompt_from_text(text, used.prompts_D[d].item)


def _replay(policy: Policy, used: Groups, d: int, lesson: str) -> Prompt:
    """The problem once more, after the lesson."""
    item, number, lesson = used.items_D[d], used.prompts_D[d].item, policy.chat.strip_markers(lesson)
    if policy.chat.has_token(WHY):
        return policy.prompt_from_text(f"<lesson>{lesson}{policy.chat.render(item)}", number)
    return policy.prompts([(number, replace(item, question=NOTES.format(lesson=lesson.strip(), question=item.question)))])[0]
