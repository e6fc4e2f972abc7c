"""Lessons from mistakes: meta-experience learning (MEL).

One pair of a wrong and a right solution is taken from each group that has both. The policy itself writes a lesson about it:
where the wrong solution leaves the right path, and which rule would have helped. Then it solves the problem again with the
lesson in front. Lessons that lead to a right answer are kept, and their likelihood, given the pair they were written from, is
added to the objective of an update: the sum over its kept lessons of the mean log-prob of their tokens, divided by its prompts.

A useless lesson is kept as often as the problem is solved anyway. So the share of kept lessons is recorded beside the success
rate of fresh samples without a lesson on the same prompts, and the difference is the uplift. Controls: lessons that are not
validated, lessons about another problem, lessons from the wrong solution alone, and as many tokens of the right solution.

Shapes: D groups.
"""

import re
from dataclasses import dataclass, replace

from passus.engine.interface import Prompt, Sampler, SamplingParams
from passus.evaluation.grade_rollout import grade_rollout
from passus.grading.boxes import BOX
from passus.grading.verdict import Verdict
from passus.methods.presets import Method
from passus.models.policy import Policy
from passus.tasks.prompt import LESSON_TOKEN
from passus.training.rollout_batch import RolloutBatch

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
    """Index of its prompt among the prompts of the step."""
    kept: bool
    helped: bool
    """Whether the problem was solved with the lesson in front."""
    leaks: bool
    """Whether the lesson contains the right answer."""
    context: list[int]
    tokens: list[int]
    """Tokens that are trained, given the context."""


@dataclass
class LessonBatch:
    """The lessons of one step, and their cost."""

    lessons: list[Lesson]
    too_long: int
    """Pairs that do not fit the context."""
    plain: float
    """Success rate on the same prompts without lessons, from one fresh sample each."""
    sampled_tokens: int

    @property
    def kept(self) -> list[Lesson]:
        return [lesson for lesson in self.lessons if lesson.kept]

    def metrics(self) -> dict[str, float]:
        metrics: dict[str, float] = {
            "lessons/built": len(self.lessons), "lessons/kept": len(self.kept), "lessons/too_long": self.too_long,
            "lessons/tokens": self.sampled_tokens,
        }  # fmt: skip
        if self.lessons:
            helped = sum(lesson.helped for lesson in self.lessons) / len(self.lessons)
            metrics |= {"lessons/helped": helped, "lessons/plain": self.plain, "lessons/uplift": helped - self.plain}
        if self.kept:
            metrics["lessons/leaks"] = sum(lesson.leaks for lesson in self.kept) / len(self.kept)
        return metrics


def write_lessons(policy: Policy, sampler: Sampler, method: Method, batch: RolloutBatch, params: SamplingParams) -> LessonBatch:
    """Writes lessons from the groups of a step and validates them; `params` are those of its rollout."""
    pairs = [(d, *pair) for d in range(len(batch.items_D)) if (pair := solution_pair(batch, d)) is not None]
    requests = [_lesson_prompt(policy, batch, *pair, wrong_only=method.lessons == "critique") for pair in pairs]
    fitting = [i for i, request in enumerate(requests) if len(request.tokens) + params.max_tokens <= policy.context_length]
    too_long = len(pairs) - len(fitting)
    pairs, requests = [pairs[i] for i in fitting], [requests[i] for i in fitting]
    shuffles = method.lessons == "shuffled"
    if len(pairs) < 1 + shuffles:
        return LessonBatch([], too_long, 0.0, 0)
    written = sampler.generate(requests, replace(params, samples=1, stream="lesson"))
    texts = policy.chat.answers(written.tokens, policy.chat.batch_decode(written.tokens))
    source = [(i + shuffles) % len(pairs) for i in range(len(pairs))]  # the pair whose lesson is shown and trained
    validation = _validate(policy, sampler, batch, pairs, [texts[s] for s in source], params)
    lessons = []
    for i, (d, _wrong, right) in enumerate(pairs):
        text, tokens = texts[source[i]], written.tokens[source[i]]
        is_whole = written.finished[source[i]] and bool(text.strip())
        context = list(requests[i].tokens)
        if method.lessons == "solution":
            context, tokens = list(batch.prompts_D[d].tokens), batch.rollout.tokens[right][: len(tokens)]
        kept = is_whole and (validation.helped[i] or method.lessons == "all")
        lessons.append(Lesson(d, kept, validation.helped[i], contains_answer(batch.items_D[d].gold, text), context, tokens))
    cost = sum(len(p.tokens) for p in requests) + sum(map(len, written.tokens)) + validation.tokens
    return LessonBatch(lessons, too_long, validation.plain, cost)


@dataclass
class _Validation:
    helped: list[bool]
    plain: float
    tokens: int


def _validate(
    policy: Policy, sampler: Sampler, batch: RolloutBatch, pairs: list[tuple[int, int, int]], lessons: list[str],
    params: SamplingParams,
) -> _Validation:  # fmt: skip
    """Solves each problem once with its lesson in front and once without."""
    replays = [_replay_prompt(policy, batch, pair[0], lesson) for pair, lesson in zip(pairs, lessons, strict=True)]
    fits = [len(replay.tokens) + params.max_tokens <= policy.context_length for replay in replays]
    # A fresh sample: the group's own samples decided that the group is here.
    plain = [replace(batch.prompts_D[pair[0]], first_sample=1) for pair in pairs]
    prompts = [replay if fits[i] else plain[i] for i, replay in enumerate(replays)] + plain
    solved = sampler.generate(prompts, replace(params, samples=1, stream="replay"))
    items = [batch.items_D[d] for d, *_ in pairs]
    is_right = [grade.verdict is Verdict.CORRECT for grade in grade_rollout(policy, solved, items * 2).grades_N]
    helped = [fits[i] and is_right[i] for i in range(len(pairs))]
    tokens = sum(len(p.tokens) for p in prompts) + sum(map(len, solved.tokens))
    return _Validation(helped, sum(is_right[len(pairs) :]) / len(pairs), tokens)


def solution_pair(batch: RolloutBatch, d: int) -> tuple[int, int] | None:
    """Returns the rows of a wrong and a right answer of a group that has both; a truncated answer shows no mistake."""
    rows = range(d * batch.samples, (d + 1) * batch.samples)
    wrong = [n for n in rows if batch.grades_N[n].verdict in (Verdict.WRONG, Verdict.UNPARSEABLE)]
    right = [n for n in rows if batch.grades_N[n].verdict is Verdict.CORRECT]
    if not wrong or not right:
        return None
    return max(wrong, key=lambda n: _shows_work(batch, n)), max(right, key=lambda n: _shows_work(batch, n))


def _shows_work(batch: RolloutBatch, n: int) -> bool:
    """Whether a solution has any text before its answer: a bare guess teaches nothing. The first of equals is taken."""
    return bool(batch.texts_N[n].partition(BOX)[0].strip())


def contains_answer(gold: str, lesson: str) -> bool:
    """Whether the gold answer stands in a lesson by itself: 5 is not in 15."""
    return re.search(rf"(?<![\w.]){re.escape(gold)}(?!\w)", lesson) is not None


def _lesson_prompt(policy: Policy, batch: RolloutBatch, d: int, wrong: int, right: int, *, wrong_only: bool) -> Prompt:
    """Asks the policy for a lesson from the pair, or from the wrong solution alone."""
    question, texts = batch.items_D[d].question, {n: policy.chat.strip_markers(batch.texts_N[n]) for n in (wrong, right)}
    if policy.chat.has_token(LESSON_TOKEN):
        work = [texts[n].partition(BOX)[0] for n in (wrong, right)]
        text = f"<q>{question}<wrong>{work[0]}" + ("" if wrong_only else f"<right>{work[1]}") + LESSON_TOKEN
    elif wrong_only:
        text = policy.chat.user_turn(CRITIQUE.format(question=question, wrong=texts[wrong].strip()))
    else:
        text = policy.chat.user_turn(PAIR.format(question=question, wrong=texts[wrong].strip(), right=texts[right].strip()))
    return policy.prompt_from_text(text, batch.prompts_D[d].item)


def _replay_prompt(policy: Policy, batch: RolloutBatch, d: int, lesson: str) -> Prompt:
    """Asks for the problem again, after the lesson."""
    item, number, lesson = batch.items_D[d], batch.prompts_D[d].item, policy.chat.strip_markers(lesson)
    if policy.chat.has_token(LESSON_TOKEN):
        return policy.prompt_from_text(f"<lesson>{lesson}{policy.chat.render(item)}", number)
    return policy.prompts([(number, replace(item, question=NOTES.format(lesson=lesson.strip(), question=item.question)))])[0]
