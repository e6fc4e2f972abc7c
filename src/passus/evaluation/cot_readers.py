"""CoT readers: models that are given a problem with the policy's reasoning, and answer from it.

The reasoning of a completion is its text before the first \\boxed{. A reader is the policy itself with its current weights
(live), or a model of any family that is not trained (frozen). It is given the problem, the reasoning and an opened \\boxed{,
so that it answers at once and does not solve the problem by itself. Its answer is graded in place of the policy's. Readers get
text and not tokens, because tokenizers may differ, and decode greedily, so that they add no noise. They do not see what the
policy writes after its reasoning, so that part is neither rewarded nor trained.

Two controls measure how much the reasoning contributes: no text, and the text of another item. The frozen policy reads both.

Shapes: N texts.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from passus.config.tables import CONTROLS, FROZEN, LIVE, NOTHING, Config
from passus.engine.interface import Prompt, Sampler, SamplingParams
from passus.errors import UsageError
from passus.evaluation.evaluate import eval_point
from passus.evaluation.item_columns import Columns, row_indices
from passus.evaluation.suite import LoadedSuite, eval_tokens_key, first_training_items
from passus.grading.boxes import BOX
from passus.grading.verdict import Grade
from passus.models import loader, outline
from passus.models.policy import Policy
from passus.runs.eval_point import NO_TEXT, OTHER_TEXT, ReaderPoint
from passus.runs.row_files import ROWS
from passus.tasks.grade_items import grade_items
from passus.tasks.item import Item
from passus.tasks.llm_judge import Judge
from passus.tasks.prompt import LESSON_TOKEN

ANSWER_TOKENS = 48
"""Most tokens of a reader's answer. A box that is not closed by then counts as no answer."""
READER_PROMPT = """A problem, and what somebody wrote about it, which may be wrong or unfinished.

Problem:
{question}

Written:
{text}

What is the answer, going by what is written? Say it at once, in \\boxed{{}}, and nothing else."""
ReaderKind = Literal["live", "frozen", "control"]


@dataclass
class Reader:
    name: str
    """Its name in the experiment file."""
    label: str
    kind: ReaderKind
    family: str
    policy: Policy
    sampler: Sampler


@dataclass
class Reading:
    """A reader's answers to N texts."""

    answers_N: list[str]
    grades_N: list[Grade]
    lengths_N: list[int]
    """Tokens of each answer."""
    tokens: int
    """Tokens of all prompts and answers."""


def load_frozen_readers(config: Config, check_stop: Callable[[], None]) -> dict[str, Reader]:
    """Loads the readers that are not trained, by name."""
    return {name: _load_frozen_reader(name, config, check_stop) for name in frozen_reader_names(config)}


def frozen_reader_names(config: Config) -> list[str]:
    """Returns the names of the models that must be loaded beside the policy. Controls need the frozen policy."""
    readers = [*config.eval.readers, *([config.reward.reader] if config.reward.reader else [])]
    names = [FROZEN if name in CONTROLS else name for name in readers]
    return [name for name in dict.fromkeys(names) if name != LIVE]


def outline_frozen_readers(config: Config) -> dict[str, Policy]:
    """Returns the readers that are not trained, without their weights, by name."""
    policies = {}
    for name in frozen_reader_names(config):
        base, prompt, system = _reader_model(name, config)
        policies[name] = _without_thinking(outline.outline(base, config.run.dtype, prompt, system=system))
    return policies


def _reader_model(name: str, config: Config) -> tuple[str, str, str]:
    """Returns the model of a frozen reader, its prompt template and its system message."""
    model = config.model
    return (model.base, model.prompt, model.system) if name == FROZEN else (name, "auto", "")


def _load_frozen_reader(name: str, config: Config, check_stop: Callable[[], None]) -> Reader:
    base, prompt, system = _reader_model(name, config)
    policy = loader.load(base, config.run.device, config.run.dtype, prompt, system=system)
    description = policy.describe(base)
    policy = _without_thinking(policy)
    policy.model.requires_grad_(False)
    label, family = f"Frozen {description['label']}", description["family"]
    return Reader(name, label, "frozen", family, policy, policy.sampler(check_stop))


def _without_thinking(policy: Policy) -> Policy:
    """Turns thinking off, because an answer has no room for it. Templates without the switch ignore it."""
    return replace(policy, chat=replace(policy.chat, thinking="off")) if policy.chat.chat_template else policy


def live_reader(policy: Policy, sampler: Sampler, base: str) -> Reader:
    """Returns the policy in training as a reader."""
    description = policy.describe(base)
    label, family = f"Live {description['label']}", description["family"]
    return Reader(LIVE, label, "live", family, _without_thinking(policy), sampler)


def reasoning(completion: str) -> str:
    """Returns the text before the first \\boxed{."""
    return completion.partition(BOX)[0].rstrip(" \t\n$")


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


def read_texts(
    reader: Reader, items_N: Sequence[Item], texts_N: Sequence[str], seed: int, judge: Judge | None = None
) -> Reading:
    """Lets a reader answer from texts and grades its answers. A text that exceeds its context is graded as `truncated`."""
    prompts_N = [reader_prompt(reader.policy, n, *pair) for n, pair in enumerate(zip(items_N, texts_N, strict=True))]
    context_length = reader.policy.context_length
    fitting = [n for n, prompt in enumerate(prompts_N) if len(prompt.tokens) + ANSWER_TOKENS <= context_length]
    answers_N, lengths_N, truncated_N = [""] * len(prompts_N), [0] * len(prompts_N), [True] * len(prompts_N)
    if fitting:
        params = SamplingParams(1, ANSWER_TOKENS, seed, "read", temperature=0.0)
        rollout = reader.sampler.generate([prompts_N[n] for n in fitting], params)
        answers = map(first_box, reader.policy.chat.batch_decode(rollout.tokens))
        for n, tokens, answer in zip(fitting, rollout.tokens, answers, strict=True):
            answers_N[n], lengths_N[n], truncated_N[n] = answer, len(tokens), not answer
    grades_N, _ = grade_items(judge, items_N, answers_N, truncated_N)
    return Reading(answers_N, grades_N, lengths_N, sum(len(prompts_N[n].tokens) for n in fitting) + sum(lengths_N))


def reader_prompt(policy: Policy, number: int, item: Item, text: str) -> Prompt:
    """Returns the prompt of a reader. Nano models continue the text; others are asked in a user turn.

    Special tokens inside the text are removed.
    """
    text = policy.chat.strip_markers(text)
    if policy.chat.has_token(LESSON_TOKEN):
        return policy.prompt_from_text(policy.chat.render(item) + text + BOX, number)
    question = READER_PROMPT.format(question=item.question, text=text.strip() or "(nothing)")
    return policy.prompt_from_text(policy.chat.user_turn(question) + BOX, number)


def first_box(continuation: str) -> str:
    """Returns the box that the prompt opened, with its content; an empty text if the continuation does not close it."""
    depth = 1
    for place, character in enumerate(continuation):
        depth += {"{": 1, "}": -1}.get(character, 0)
        if not depth:
            return BOX + continuation[: place + 1]
    return ""


def check_context_lengths(config: Config, policy: Policy, frozen: Mapping[str, Policy], suite: LoadedSuite) -> None:
    """Raises if the longest possible text does not fit the context of a reader that is to read it.

    The limit counts tokens of the policy, and only the first training items are checked. A text that is too long after all is
    graded as `truncated`.
    """

    def reader_policy(name: str) -> Policy:
        return _without_thinking(policy) if name == LIVE else frozen[FROZEN if name in CONTROLS else name]

    if name := config.reward.reader:
        drawn = [item for _, item in first_training_items(config)]
        _check_context_length(name, reader_policy(name), drawn, config.train.max_tokens, "train.max_tokens")
    for name in config.eval.readers:
        for items in suite.items.values():
            _check_context_length(name, reader_policy(name), items, config.eval_tokens, eval_tokens_key(config))


def _check_context_length(name: str, policy: Policy, items: Sequence[Item], max_tokens: int, key: str) -> None:
    longest = max(len(reader_prompt(policy, 0, item, "").tokens) for item in items)
    room = policy.context_length - longest - ANSWER_TOKENS
    if max_tokens > room:
        raise UsageError(
            f"{key} = {max_tokens}, but reader {name} has a context of {policy.context_length} tokens: {longest} for the "
            f"longest question and {ANSWER_TOKENS} for its answer",
            expected=f"texts that leave room: {key} of {room} or less" if room > 0 else "a reader with a longer context",
            write=f"{key}={room}" if room > 0 else None,
        )


def evaluate_readers(
    readers: Sequence[Reader], frozen: Reader | None, config: Config, suite: LoadedSuite, item_columns: Columns, step: int,
    judge: Judge | None = None,
) -> tuple[list[ReaderPoint], Columns]:  # fmt: skip
    """Lets every reader answer from the completions of an eval point. Returns points, and the rows of readings as columns.

    `frozen` is the frozen policy, which reads for the controls.
    """
    points: list[ReaderPoint] = []
    columns: Columns = {name: [] for name in ROWS["readings"]}
    for temperature in config.eval.temperatures:
        for benchmark, items in suite.items.items():
            indices = row_indices(item_columns, benchmark, temperature)
            reasonings_N = [reasoning(item_columns["completion"][n]) for n in indices]
            samples = len(reasonings_N) // len(items)
            items_N = [item for item in items for _ in range(samples)]
            for reader, texts_N in _readers_with_texts(readers, frozen, config.eval.readers, reasonings_N, samples):
                rows = _reading_rows(reader, items_N, texts_N, samples, config.seed, judge)
                point = eval_point(step, benchmark, temperature, rows)
                points.append(ReaderPoint(reader.name, reader.label, reader.kind, reader.family, point))
                keys = {"benchmark": benchmark, "temperature": temperature, "reader": reader.name}
                for name in columns:
                    columns[name] += [(row | keys)[name] for row in rows]
    _release_memory([*readers, *([frozen] if frozen else [])], config.reward.reader)
    return points, columns


def _release_memory(readers: Sequence[Reader], reward_reader: str) -> None:
    """Frees the memory of frozen readers until the next eval point. The reader that gives rewards is used in every step."""
    for reader in readers:
        if reader.kind == "frozen" and reader.name != reward_reader:
            reader.sampler.release()


def _readers_with_texts(
    readers: Sequence[Reader], frozen: Reader | None, names: Sequence[str], reasonings_N: Sequence[str], samples: int
) -> Iterator[tuple[Reader, Sequence[str]]]:
    """Yields each reader with the texts that it is given: first the readers of the reasoning, then the controls."""
    for reader in readers:
        yield reader, reasonings_N
    for name in names:
        if name in CONTROLS and frozen:
            yield _control_reader(frozen, name), control_texts(name, reasonings_N, samples)


def _control_reader(frozen: Reader, name: str) -> Reader:
    return replace(frozen, name=name, label=NO_TEXT if name == NOTHING else OTHER_TEXT, kind="control")


def control_texts(name: str, texts_N: Sequence[str], samples: int) -> list[str]:
    """Returns empty texts, or the texts shifted by one item."""
    if name == NOTHING:
        return [""] * len(texts_N)
    return [*texts_N[-samples:], *texts_N[:-samples]]


def _reading_rows(
    reader: Reader, items_N: Sequence[Item], texts_N: Sequence[str], samples: int, seed: int, judge: Judge | None
) -> list[dict[str, Any]]:
    reading = read_texts(reader, items_N, texts_N, seed, judge)
    return [
        {
            "item": items_N[n].index, "sample": n % samples, "verdict": str(grade.verdict), "extracted": grade.extracted,
            "tokens": reading.lengths_N[n], "answer": reading.answers_N[n], "cluster": items_N[n].cluster or None,
        }
        for n, grade in enumerate(reading.grades_N)
    ]  # fmt: skip
