"""Reward models: a decoder with a head that scores the last token of a problem and its answer.

The model is the family's sequence classification of transformers with one label, so that other tools can read a checkpoint.
The head starts at 0: before training all candidates have the same score, and best-of-n selects at random.

The input is the chat template's rendering of the problem as user message and the candidate as assistant message. Sequences are
packed, so there is no padding, and no score depends on the rest of the batch.

Shapes: N sequences, P problems.
"""

import os.path
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits, linear, logsigmoid
from transformers import AutoConfig, AutoModelForSequenceClassification

from passus.config.tables import ModelTable
from passus.engine import attention, packing
from passus.errors import PassusError, UsageError
from passus.models import load_checks, loader, lora, model_files, outline
from passus.models.chat_format import ChatFormat
from passus.models.locate import locate_model, portable_name
from passus.models.lora import is_adapter
from passus.models.model_files import refusing_bad_files
from passus.models.policy import Policy
from passus.models.template_process import ChatTemplateError
from passus.runs.eval_point import EvalPoint
from passus.runs.run_folder import RunFolder
from passus.tasks.item import Item

HEAD = "score"
"""Name of the head in transformers' classification models."""


def create(table: ModelTable, device: str, dtype: str, seed: int) -> Policy:
    """Creates an untrained reward model on the decoder of a language model. Frozen tuning trains an adapter and the head."""
    policy = loader.load(table.base, device, dtype, table.prompt, table.thinking, table.system)
    if policy.adapter:
        raise _is_adapter_error(table)
    model = _classifier(table, policy)
    model.model.load_state_dict(policy.decoder.state_dict())
    getattr(model, HEAD).weight.data.zero_()
    chat = ChatFormat(policy.chat.tokenizer, table.prompt, table.thinking, table.system)
    scorer = Policy(model.to(device).eval(), chat, policy.end_tokens)
    if table.tuning == "frozen":
        scorer.adapter = lora.attach(scorer.model, table, *portable_name(table.base), seed, head=HEAD)
    return scorer


def outline_new(table: ModelTable, dtype: str) -> Policy:
    """Returns the reward model that `create` would make, without its weights, and refuses what `create` would."""
    policy = outline.outline(table.base, dtype, table.prompt, table.thinking, table.system)
    if outline.is_adapter_name(table.base):
        raise _is_adapter_error(table)
    with torch.device("meta"):
        model = _classifier(table, policy)
    if table.tuning == "frozen":
        lora.check_targets(model, table, HEAD)
    return policy


def outline_trained(name: str) -> Policy:
    """Returns a trained reward model without its weights, and refuses a folder that `load` would refuse for its files."""
    folder = model_files.local_folder(name, locate_model(name), weights=False)
    if is_adapter(Path(folder)):
        lora.check_head(Path(folder), HEAD)
        table = _model_table(folder).model_copy(update={"base": lora.adapter_base(Path(folder))[0], "tuning": "live"})
        return outline_new(table, "float32")
    is_complete = os.path.isdir(locate_model(name)) or model_files.has_weights(Path(folder))
    model_files.check_files(name, Path(folder), weights=is_complete)
    with refusing_bad_files(f"{name} cannot be loaded", EXPECTED):
        config = _read_config(name, folder).get_text_config()
        if is_complete:
            model = load_checks.check_size(name, config, model_files.stored_weights(Path(folder)))
        else:
            model = load_checks.without_storage(config)
    table = _model_table(folder)
    policy = Policy(model, ChatFormat(loader.load_tokenizer(name, folder), table.prompt, table.thinking, table.system), [])
    _check_vocabulary(name, policy)
    return policy


def _is_adapter_error(table: ModelTable) -> UsageError:
    return UsageError(f"model.base = {table.base!r} is an adapter", expected="a base with its own weights")


def _classifier(table: ModelTable, policy: Policy) -> Any:
    """Builds a classifier of one label in the family of a language model, with untrained weights."""
    config = policy.text_config
    config.num_labels, config.pad_token_id = 1, _pad_token(policy)
    try:
        model = AutoModelForSequenceClassification.from_config(
            config, dtype=policy.model.dtype, attn_implementation=attention.NAME
        )
    except (ValueError, KeyError):  # transformers has no such class for this family
        model = None
    if not isinstance(getattr(model, HEAD, None), torch.nn.Linear):
        raise UsageError(
            f"model.base = {table.base!r} is a {config.model_type}, for which transformers has no classification with a {HEAD}",
            expected="a family that has one (Qwen, Llama, Gemma, SmolLM, Mistral, ...)",
        )
    return model


def _pad_token(policy: Policy) -> int:
    """Returns a padding token that no sequence ends with, because transformers scores the last token that is not padding."""
    last = policy.prompt_from_text(policy.chat.exchange("1", "1"), 0).tokens[-1]
    return next(int(token) for token in (policy.chat.tokenizer.pad_token_id, 0, 1) if token is not None and token != last)


def resume(table: ModelTable, checkpoint: Path, device: str, dtype: str, seed: int) -> Policy:
    """Loads the reward model of a run from one of its checkpoints."""
    if table.tuning == "live":
        return _load_folder(str(checkpoint), str(checkpoint), device, dtype, table)
    policy = create(table, device, dtype, seed)
    assert policy.adapter is not None
    policy.adapter.restore(checkpoint)
    return policy


def load(name: str, device: str, dtype: str) -> Policy:
    """Loads a trained reward model from a run (or RUN@step), a folder, or a hub id."""
    folder = model_files.local_folder(name, locate_model(name))
    if is_adapter(Path(folder)):
        lora.check_head(Path(folder), HEAD)
        base, _ = lora.adapter_base(Path(folder))
        table = _model_table(folder).model_copy(update={"base": base, "tuning": "live"})
        policy = create(table, device, dtype, 0)
        policy.adapter = lora.load(policy.model, Path(folder), head=HEAD)
        return policy
    return _load_folder(name, folder, device, dtype, _model_table(folder))


def _model_table(checkpoint: str) -> ModelTable:
    """Returns the model table of the run that a checkpoint belongs to, for its prompt settings; defaults for other models."""
    run = RunFolder(Path(checkpoint).parent.parent)
    return run.config().model if run.exists() else ModelTable(base=checkpoint)


def _load_folder(name: str, folder: str, device: str, dtype: str, table: ModelTable) -> Policy:
    model_files.check_files(name, Path(folder))
    with refusing_bad_files(f"{name} cannot be loaded", EXPECTED):
        config = _read_config(name, folder)
        load_checks.check_size(name, config.get_text_config(), model_files.stored_weights(Path(folder)))
        model, report = AutoModelForSequenceClassification.from_pretrained(
            folder, dtype=getattr(torch, dtype), attn_implementation=attention.NAME, use_safetensors=True,
            output_loading_info=True, trust_remote_code=False,
        )  # fmt: skip
    if report["missing_keys"] or report["mismatched_keys"]:
        raise UsageError(f"{name} lacks {sorted(report['missing_keys'])[:1]}", expected=EXPECTED)
    for parameter in model.parameters():
        parameter.data = parameter.data.clone()  # aligned, whatever the file, as in loader.load
    loader.check_weights(name, model)
    if not isinstance(getattr(model, HEAD, None), torch.nn.Linear):
        raise UsageError(f"{name} is a {type(model).__name__}, which has no {HEAD}", expected=EXPECTED)
    tokenizer = loader.load_tokenizer(name, folder)
    chat = ChatFormat(tokenizer, table.prompt, table.thinking, table.system)
    policy = Policy(torch.nn.Module.to(model, device).eval(), chat, [])
    _check_vocabulary(name, policy)
    if not policy.is_tested_family:
        _check_scores(name, policy)
    return policy


EXPECTED = "a reward model: sequence classification with one label, in Hugging Face layout with safetensors weights"


def _read_config(name: str, folder: str) -> Any:
    """Reads the configuration of a reward model, and refuses that of another kind of model."""
    config = AutoConfig.from_pretrained(folder, trust_remote_code=False)
    classes = loader.architectures(config)
    if not any(cls.endswith("ForSequenceClassification") for cls in classes) or config.num_labels != 1:
        labels = f" with {config.num_labels} labels" if any("Classification" in cls for cls in classes) else ""
        raise UsageError(f"{name} is a {', '.join(classes) or 'model of unknown type'}{labels}", expected=EXPECTED)
    load_checks.check_architecture(name, config.get_text_config())
    return config


def _check_vocabulary(name: str, policy: Policy) -> None:
    if len(policy.chat.tokenizer) > policy.vocabulary_size + 1024:
        raise UsageError(
            f"{name} has a tokenizer of {len(policy.chat.tokenizer)} tokens and {policy.vocabulary_size} embeddings",
            expected=EXPECTED,
        )


@torch.no_grad()
def _check_scores(name: str, policy: Policy) -> None:
    """Compares the score of a few tokens with that of transformers, for a family that was not tested."""
    row = [(3 + n) % policy.vocabulary_size for n in range(12)]
    expected = "a family whose attention is plain or windowed (docs/real-models.md)"
    with refusing_bad_files(f"{name} is a {policy.text_config.model_type}, which passus cannot run", expected):
        score = float(score_sequences(policy, [row], [[0]])[0])
        policy.model.set_attn_implementation("eager")
        own = float(policy.model(torch.tensor([row], device=policy.model.device), use_cache=False).logits[0, 0])
        policy.model.set_attn_implementation(attention.NAME)
        if not abs(score - own) <= (1e-4 if policy.model.dtype == torch.float32 else 5e-2) * max(1.0, abs(own)):
            raise ValueError(f"its score is {own:.4g} in transformers and {score:.4g} here")


def encode_pairs(policy: Policy, pairs: Sequence[tuple[Item, str]]) -> list[list[int]]:
    """Encodes problems with an answer each, to the end of the answer's turn. Padding tokens at the end are removed, as
    transformers ignores them."""
    texts = policy.chat.exchanges([(item.question, policy.chat.strip_markers(answer)) for item, answer in pairs])
    rows = [list(prompt.tokens) for prompt in policy.prompts_from_texts(texts)]
    for row in rows:
        while len(row) > 1 and row[-1] == policy.text_config.pad_token_id:
            row.pop()
    return rows


def encode_pair(policy: Policy, item: Item, answer: str) -> list[int]:
    """Encodes one problem and its answer, as `encode_pairs` does."""
    return encode_pairs(policy, [(item, answer)])[0]


def check_readable(policy: Policy, name: str, items: Sequence[Item], completions: Sequence[str]) -> None:
    """Refuses a reward model whose tokenizer or chat template cannot represent these texts."""
    for item, completion in zip(items, completions, strict=True):
        answer = policy.chat.strip_markers(completion)
        try:
            text = policy.chat.exchange(item.question, answer)
        except ChatTemplateError as error:
            raise UsageError(
                f"the chat template of {name} {error.problem}",
                expected="a template that takes a question and an answer",
            ) from None
        if answer.strip() not in text or item.question.strip() not in text:
            raise UsageError(
                f"the chat template of {name} drops the question or the answer: {text[-80:]!r}",
                expected="a template that keeps both",
            )
        decoded = policy.chat.decode(policy.chat.encode([text])[0], special=True)
        if decoded.replace(" ", "") != text.replace(" ", ""):
            raise UsageError(
                f"the tokenizer of {name} reads {text[:60]!r} as {decoded[:60]!r}",
                expected="a reward model whose tokenizer knows these texts",
            )


def load_checked(name: str, setting: str, items: Sequence[Item], max_tokens: int, device: str, dtype: str) -> Policy:
    """Loads a reward model, and checks before anything is generated that it can read these problems and answers.

    `setting` names the reward model in error messages; `max_tokens` is the length of the longest answer.
    """
    scorer = load(name, device, dtype)
    check_problems(scorer, setting, items, max_tokens)
    return scorer


def check_problems(scorer: Policy, setting: str, items: Sequence[Item], max_tokens: int) -> None:
    """Refuses a reward model that cannot read these problems, or whose context is too short for their answers."""
    check_readable(scorer, setting, items[:32], [item.gold for item in items[:32]])
    check_length(scorer, setting, max(map(len, encode_pairs(scorer, [(item, "") for item in items]))) + max_tokens)


def check_length(policy: Policy, name: str, longest: int) -> None:
    """Refuses sequences longer than the context of the reward model."""
    if longest > policy.context_length:
        raise UsageError(
            f"a problem and an answer of {longest} tokens",
            expected=f"at most {policy.context_length}, the context length of {name}",
        )


def score_sequences(policy: Policy, sequences_N: Sequence[list[int]], groups: Sequence[Sequence[int]]) -> Tensor:
    """Scores sequences. Those of a group share a prefix, which is computed once (on a CPU)."""
    prefixes: list[list[int]] = [[] for _ in sequences_N]
    for group in groups:
        shared = _common_prefix([sequences_N[n][:-1] for n in group])
        for n in group:
            prefixes[n] = shared
    # Sorted by length, because rows of similar length share a block of attention.
    order = sorted((n for group in groups for n in group), key=lambda n: -len(sequences_N[n]))
    suffixes = [sequence[len(prefix) :] for sequence, prefix in zip(sequences_N, prefixes, strict=True)]
    packed = packing.pack(order, prefixes, suffixes, policy.model.device)
    hidden_TE = policy.decoder(
        packed.tokens_T[None], position_ids=packed.positions_T[None], use_cache=False, plan=packed.plan
    ).last_hidden_state[0]
    ends = np.cumsum([len(suffixes[n]) for n in order])
    first = len(packed.tokens_T) - int(ends[-1])
    last_N = torch.as_tensor(first + ends - 1, device=hidden_TE.device)
    scores_N = linear(hidden_TE.index_select(0, last_N).float(), getattr(policy.model, HEAD).weight.float())[:, 0]
    inverse_N = torch.empty(len(order), dtype=torch.long, device=scores_N.device)
    inverse_N[torch.tensor(order, device=scores_N.device)] = torch.arange(len(order), device=scores_N.device)
    return scores_N.index_select(0, inverse_N)


def _common_prefix(rows: Sequence[list[int]]) -> list[int]:
    """Returns the common prefix of all rows, which is that of the smallest and the largest in lexicographic order."""
    low, high = min(rows), max(rows)
    length = next((i for i, (a, b) in enumerate(zip(low, high, strict=False)) if a != b), min(len(low), len(high)))
    return low[:length]


def flatten(sequences_P: Sequence[list[list[int]]]) -> tuple[list[list[int]], list[range]]:
    """Returns the sequences of several problems in one list, and the range of each problem."""
    ends = np.cumsum([0, *map(len, sequences_P)]).tolist()
    return [row for rows in sequences_P for row in rows], [range(a, b) for a, b in pairwise(ends)]


def contiguous_micro_batches(lengths_P: Sequence[int], budget: int) -> list[range]:
    """Splits sequences, or whole problems, in order into ranges of at most `budget` tokens. A longer one is its own range."""
    cuts, room = [0], budget
    for p, length in enumerate(lengths_P):
        if length > room and p > cuts[-1]:
            cuts.append(p)
            room = budget
        room -= length
    return [range(a, b) for a, b in pairwise([*cuts, len(lengths_P)])]


@dataclass(frozen=True)
class EncodedCandidates:
    """Completions of some items, encoded for a reward model. Equal completions of an item are encoded once."""

    rows: list[list[int]]
    item: list[int]
    """Index of the item of each row."""
    row_of: list[list[int]]
    """Row of each completion, by item."""


def encode_candidates(policy: Policy, items: Sequence[Item], completions: Sequence[Sequence[str]]) -> EncodedCandidates:
    """Encodes the completions of each item."""
    unique = dict.fromkeys((p, text) for p, texts in enumerate(completions) for text in texts)
    pairs = {(p, text): n for n, (p, text) in enumerate(unique)}
    rows = encode_pairs(policy, [(items[p], text) for p, text in pairs])
    check_length(policy, "the reward model", max(map(len, rows), default=0))
    row_of = [[pairs[p, text] for text in texts] for p, texts in enumerate(completions)]
    return EncodedCandidates(rows, [p for p, _ in pairs], row_of)


def score_completions(
    policy: Policy, items: Sequence[Item], completions: Sequence[Sequence[str]], budget: int
) -> list[list[float]]:
    """Scores all completions of all items."""
    return score_encoded(policy, encode_candidates(policy, items, completions), budget)


@torch.no_grad()
def score_encoded(policy: Policy, candidates: EncodedCandidates, budget: int) -> list[list[float]]:
    """Scores encoded completions in micro-batches of at most `budget` tokens."""
    scores: list[float] = []
    for part in contiguous_micro_batches([len(row) for row in candidates.rows], budget):
        groups = [list(group) for _, group in groupby(range(len(part)), key=lambda n: candidates.item[part[n]])]
        values = score_sequences(policy, [candidates.rows[n] for n in part], groups)
        if not bool(torch.isfinite(values).all()):
            raise PassusError("the reward model's scores are not finite", expected="a reward model that has not diverged")
        scores += values.tolist()
    return [[scores[row] for row in rows] for rows in candidates.row_of]


def score_item_rows(policy: Policy, items: dict[str, list[Item]], columns: dict[str, list], budget: int) -> list[float]:
    """Scores the item rows of an evaluation, in their order."""
    by_name = {(item.benchmark, item.index): item for suite_items in items.values() for item in suite_items}
    keys = list(zip(columns["benchmark"], columns["item"], strict=True))
    groups: dict[tuple[str, int], list[int]] = {}
    for n, key in enumerate(keys):
        groups.setdefault(key, []).append(n)
    texts = [[columns["completion"][n] for n in rows] for rows in groups.values()]
    scores = [0.0] * len(keys)
    group_scores = score_completions(policy, [by_name[key] for key in groups], texts, budget)
    for rows, values in zip(groups.values(), group_scores, strict=True):
        for n, value in zip(rows, values, strict=True):
            scores[n] = value
    return scores


def add_mean_scores(
    policy: Policy, items: dict[str, list[Item]], points: list[EvalPoint], columns: dict[str, list], budget: int
) -> list[EvalPoint]:
    """Adds the mean score of its completions to each eval point. A gap to accuracy shows reward hacking."""
    values = score_item_rows(policy, items, columns, budget)
    scored = []
    for point in points:
        point_values = [
            value
            for value, b, t in zip(values, columns["benchmark"], columns["temperature"], strict=True)
            if (b, t) == (point.benchmark, point.temperature)
        ]
        scored.append(replace(point, score=float(np.mean(point_values))))
    return scored


def pairwise_loss(scores_N: Tensor, right_N: Tensor) -> Tensor:
    """Computes the loss of one problem: the mean of -log sigmoid(right - wrong) over pairs of a right and a wrong candidate."""
    return -logsigmoid(scores_N[right_N][:, None] - scores_N[~right_N][None]).mean()


def classification_loss(scores_N: Tensor, right_N: Tensor) -> Tensor:
    """Computes the loss of one problem: the mean cross-entropy of each candidate being right."""
    return binary_cross_entropy_with_logits(scores_N, right_N.float())
