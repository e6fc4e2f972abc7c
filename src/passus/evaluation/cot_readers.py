"""Readers: a model is shown a problem with another's reasoning, and answers from it.

The policy writes; its reasoning is what stands before its first \\boxed{. A reader, which is the policy itself as it stands
(live) or a model of any family that does not learn (frozen), is given the problem with that text and an opened \\boxed{, so
that it answers at once and does not work the problem out by itself; its answer is graded in the policy's place. Text passes
between them, not ids: tokenizers may differ. Readers answer greedily, so that they add no noise of their own. What the policy
writes after its reasoning is not read, so it is neither paid for nor learned.

Two controls tell how much is in the text: no text at all, and the text that was written for another item; the frozen policy
reads both.

Shapes: N texts, R readers.
"""

from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from passus.config.tables import CONTROLS, FROZEN, LIVE, NOTHING, Config
from passus.engine.interface import Prompt, Sampler, SamplingParams
from passus.errors import UsageError
from passus.evaluation.evaluate import eval_point
from passus.evaluation.suite import LoadedSuite
from passus.grading.grade import BOX, Grade
from passus.models import loader
from passus.models.policy import Policy
from passus.runs.eval_point import NO_TEXT, OTHER_TEXT, ReaderPoint
from passus.runs.row_files import ROWS
from passus.tasks.llm_judge import Judge, grade_items
from passus.tasks.lookup import Item
from passus.tasks.prompt import WHY

ANSWER_TOKENS = 48
"""For a reader's answer; one that has not closed its box by then has not answered."""
READ = """A problem, and what somebody wrote about it, which may be wrong or unfinished.

Problem:
{question}

Written:
{text}

What is the answer, going by what is written? Say it at once, in \\boxed{{}}, and nothing else."""
Kind = Literal["live", "frozen", "control"]


@dataclass
class Reader:
    name: str
    """As in the experiment file."""
    label: str
    kind: Kind
    family: str
    policy: Policy
    sampler: Sampler


@dataclass
class Reading:
    """What a reader made of N texts."""

    answers_N: list[str]
    grades_N: list[Grade]
    lengths_N: list[int]
    """Tokens of the answers."""
    tokens: int
    """Read and written."""


def wanted(config: Config) -> list[str]:
    """Models that must be loaded beside the policy, by name."""
    named = [*config.eval.readers, *([config.reward.reader] if config.reward.reader else [])]
    asked = [FROZEN if name in CONTROLS else name for name in named]
    return [name for name in dict.fromkeys(asked) if name != LIVE]


def load(config: Config, check_stop: Callable[[], None]) -> dict[str, Reader]:
    """Those that do not learn."""
    return {name: _frozen(name, config, check_stop) for name in wanted(config)}


def _frozen(name: str, config: Config, check_stop: Callable[[], None]) -> Reader:
    base = config.model.base if name == FROZEN else name
    given = config.model if name == FROZEN else config.model.model_copy(update={"prompt": "auto", "system": ""})
    policy = loader.load(base, config.run.device, config.run.dtype, given.prompt, system=given.system)
    about = policy.describe(base)
    policy = _without_thinking(policy)
    policy.model.requires_grad_(False)
    return Reader(name, f"Frozen {about['label']}", "frozen", about["family"], policy, policy.sampler(check_stop))


def _without_thinking(policy: Policy) -> Policy:
    """There is no room for it; templates without the switch do not look at it."""
    return replace(policy, chat=replace(policy.chat, thinking="off")) if policy.chat.chat_template else policy


def live(policy: Policy, sampler: Sampler, base: str) -> Reader:
    about = policy.describe(base)
    return Reader(LIVE, f"Live {about['label']}", "live", about["family"], _without_thinking(policy), sampler)


def reasoning(text: str) -> str:
    return text.partition(BOX)[0].rstrip(" \t\n$")


def reasoning_tokens(policy: Policy, tokens_N: Sequence[Sequence[int]], texts_N: Sequence[str]) -> list[int]:
    """Returns how many tokens of each completion a reader's answer depends on: up to and with the first \\boxed{."""
    if policy.chat.has_token(BOX):
        box = policy.chat.tokenizer.convert_tokens_to_ids(BOX)
        return [tokens.index(box) + 1 if box in tokens else len(tokens) for tokens in tokens_N]
    return [
        bisect_left(range(len(tokens)), True, key=lambda n: BOX in policy.chat.decode(tokens[:n]))
        if BOX in text
        else len(tokens)
        for tokens, text in zip(tokens_N, texts_N, strict=True)
    ]


def read(reader: Reader, items_N: Sequence[Item], texts_N: Sequence[str], seed: int, judge: Judge | None = None) -> Reading:
    """Answers and grades. A text that does not fit the reader's context cannot be read: it is `truncated`."""
    prompts = [_prompt(reader.policy, n, item, text) for n, (item, text) in enumerate(zip(items_N, texts_N, strict=True))]
    fits_N = [len(prompt.tokens) + ANSWER_TOKENS <= reader.policy.context_length for prompt in prompts]
    asked = [prompt for prompt, fits in zip(prompts, fits_N, strict=True) if fits]
    answers_N, lengths_N, cut_N = [""] * len(prompts), [0] * len(prompts), [True] * len(prompts)
    if asked:
        rollout = reader.sampler.generate(asked, SamplingParams(1, ANSWER_TOKENS, seed, "read", temperature=0.0))
        answers = map(first_box, reader.policy.chat.batch_decode(rollout.tokens))
        places = (n for n, fits in enumerate(fits_N) if fits)
        for n, tokens, answer in zip(places, rollout.tokens, answers, strict=True):
            answers_N[n], lengths_N[n], cut_N[n] = answer, len(tokens), not answer
    grades_N, _ = grade_items(judge, items_N, answers_N, cut_N)
    return Reading(answers_N, grades_N, lengths_N, sum(len(p.tokens) for p in asked) + sum(lengths_N))


def _prompt(policy: Policy, number: int, item: Item, text: str) -> Prompt:
    """Models of the nano world go on where the text ends; others are asked. What would be special tokens is no text."""
    text = policy.chat.strip_markers(text)
    if policy.chat.has_token(WHY):
        return policy.prompt_from_text(policy.chat.render(item) + text + BOX, number)
    return policy.prompt_from_text(
        policy.chat.user_turn(READ.format(question=item.question, text=text.strip() or "(nothing)")) + BOX, number
    )


def first_box(continued: str) -> str:
    """The box that was opened for the reader, with what it holds; nothing, where that was never closed."""
    depth = 1
    for place, character in enumerate(continued):
        depth += {"{": 1, "}": -1}.get(character, 0)
        if not depth:
            return BOX + continued[: place + 1]
    return ""


def check_fit(config: Config, policy: Policy, frozen: dict[str, Reader], loaded: LoadedSuite) -> None:
    """The longest text that may come must fit each reader that is to read it. Its tokens are counted as the writer's, and of
    training items some are looked at: what is too long all the same is not read."""

    def check(name: str, items: Sequence[Item], most: int, key: str) -> None:
        reader = _without_thinking(policy) if name == LIVE else frozen[FROZEN if name in CONTROLS else name].policy
        longest = max(len(_prompt(reader, 0, item, "").tokens) for item in items)
        room = reader.context_length - longest - ANSWER_TOKENS
        if most > room:
            raise UsageError(
                f"{key} = {most}, and {name} reads up to {reader.context_length} tokens: {longest} of a question, "
                f"{ANSWER_TOKENS} for its answer",
                expected=f"texts that leave room: {key} of {room} or less" if room > 0 else "a reader with more context",
                write=f"{key}={room}" if room > 0 else None,
            )

    if config.reward.reader:
        drawn = [item for _, item in config.task.items(config.seed, 0, max(256, config.train.prompts))]
        check(config.reward.reader, drawn, config.train.max_tokens, "train.max_tokens")
    for name in config.eval.readers:
        for items in loaded.items.values():
            check(name, items, config.eval_tokens, "eval.max_tokens" if config.eval.max_tokens else "train.max_tokens")


def evaluate(
    readers: Sequence[Reader], frozen: Reader | None, config: Config, loaded: LoadedSuite, columns: dict[str, list], step: int,
    judge: Judge | None = None,
) -> tuple[list[ReaderPoint], dict[str, list]]:  # fmt: skip
    """(points, rows as columns) of every reader on what was written at this eval point; `frozen` reads for the controls."""
    points: list[ReaderPoint] = []
    found: dict[str, list] = {name: [] for name in ROWS["readings"]}
    controls = [name for name in config.eval.readers if name in CONTROLS]
    for temperature in config.eval.temperatures:
        for benchmark, items in loaded.items.items():
            texts_N = [
                reasoning(text)
                for b, t, text in zip(columns["benchmark"], columns["temperature"], columns["completion"], strict=True)
                if (b, t) == (benchmark, temperature)
            ]
            samples = len(texts_N) // len(items)
            items_N = [item for item in items for _ in range(samples)]
            given = [(reader, texts_N) for reader in readers]
            given += [(_control(frozen, name), _controlled(name, texts_N, samples)) for name in controls if frozen]
            for reader, own_N in given:
                rows = _rows(reader, items_N, own_N, samples, config.seed, judge)
                about = {"reader": reader.name, "label": reader.label, "kind": reader.kind, "family": reader.family}
                where = {"benchmark": benchmark, "temperature": temperature}
                points.append(ReaderPoint(**about, point=eval_point(step, benchmark, temperature, rows)))
                for name in found:
                    found[name] += [(row | where | about)[name] for row in rows]
    for reader in [*readers, *([frozen] if frozen else [])]:
        if reader.kind == "frozen" and reader.name != config.reward.reader:
            reader.sampler.release()  # until the next eval point
    return points, found


def _control(frozen: Reader, name: str) -> Reader:
    return replace(frozen, name=name, label=NO_TEXT if name == NOTHING else OTHER_TEXT, kind="control")


def _controlled(name: str, texts_N: Sequence[str], samples: int) -> list[str]:
    """Nothing, or each text at the next item's place."""
    if name == NOTHING:
        return [""] * len(texts_N)
    return [*texts_N[-samples:], *texts_N[:-samples]]


def _rows(
    reader: Reader, items_N: Sequence[Item], texts_N: Sequence[str], samples: int, seed: int, judge: Judge | None
) -> list[dict]:
    found = read(reader, items_N, texts_N, seed, judge)
    return [
        {
            "item": items_N[n].index, "sample": n % samples, "verdict": str(grade.verdict), "extracted": grade.extracted,
            "tokens": found.lengths_N[n], "answer": found.answers_N[n],
        }
        for n, grade in enumerate(found.grades_N)
    ]  # fmt: skip
