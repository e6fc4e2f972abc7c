"""Reward models: a decoder with one number on the last token of a problem and an answer to it.

The model is transformers' sequence classification of the family with one label, so that a checkpoint is read by others. The
head begins at 0: before training all candidates score alike, and a choice among them is a choice at random.

Input is what the chat template makes of the problem as the user's turn and the candidate as the assistant's. Sequences are
packed, so there is no padding, and no score depends on what else is in the batch.

Shapes: N sequences, P problems.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby, pairwise
from pathlib import Path

import numpy as np
import torch
from safetensors import SafetensorError
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits, linear, logsigmoid
from transformers import AutoConfig, AutoModelForSequenceClassification

from passus.config.tables import ModelTable
from passus.engine import attention, packing
from passus.errors import PassusError, UsageError
from passus.models import loader, lora
from passus.models.chat_format import TEMPLATE_ERRORS, ChatFormat
from passus.models.locate import locate_model, portable_name
from passus.models.lora import is_adapter
from passus.models.policy import Policy
from passus.runs.eval_point import EvalPoint
from passus.runs.run_folder import RunFolder
from passus.tasks.lookup import Item

HEAD = "score"


def create(table: ModelTable, device: str, dtype: str, seed: int) -> Policy:
    """A reward model that has learned nothing, on a language model's body. Frozen tuning trains an adapter and the head."""
    policy = loader.load(table.base, device, dtype, table.prompt, table.thinking, table.system)
    if policy.adapter:
        raise UsageError(f"model.base = {table.base!r} is an adapter", expected="a base with weights of its own")
    config = policy.text_config
    config.num_labels, config.pad_token_id = 1, _pad(policy)
    try:
        model = AutoModelForSequenceClassification.from_config(
            config, dtype=policy.model.dtype, attn_implementation=attention.NAME
        )
    except (ValueError, KeyError):  # transformers has none for this family
        model = None
    if not isinstance(getattr(model, HEAD, None), torch.nn.Linear):
        raise UsageError(
            f"model.base = {table.base!r} is a {config.model_type}, of which transformers has no classification with a {HEAD}",
            expected="a family that has one (Qwen, Llama, Gemma, SmolLM, Mistral, ...)",
        )
    model.model.load_state_dict(policy.decoder.state_dict())
    getattr(model, HEAD).weight.data.zero_()
    made = Policy(
        model.to(device).eval(),
        ChatFormat(policy.chat.tokenizer, table.prompt, table.thinking, table.system),
        policy.end_tokens,
    )
    if table.tuning == "frozen":
        made.adapter = lora.attach(made.model, table, *portable_name(table.base), seed, head=HEAD)
    return made


def _pad(policy: Policy) -> int:
    """transformers takes the last token that is not padding, so that must be none that a sequence ends with."""
    last = policy.prompt_from_text(policy.chat.exchange("1", "1"), 0).tokens[-1]
    return next(int(token) for token in (policy.chat.tokenizer.pad_token_id, 0, 1) if token is not None and token != last)


def resume(table: ModelTable, saved: Path, device: str, dtype: str, seed: int) -> Policy:
    """As it stands in a checkpoint of its run."""
    if table.tuning == "live":
        return _from_folder(str(saved), str(saved), device, dtype, table)
    made = create(table, device, dtype, seed)
    assert made.adapter is not None
    made.adapter.restore(saved)
    return made


def load(name: str, device: str, dtype: str) -> Policy:
    """A trained one: a run of one (or RUN@step), a folder, or a hub id."""
    folder = locate_model(name)
    if is_adapter(Path(folder)):
        lora.check_head(Path(folder), HEAD)
        base, _ = lora.adapter_base(Path(folder))
        made = create(_shown_to(folder).model_copy(update={"base": base, "tuning": "live"}), device, dtype, 0)
        made.adapter = lora.load(made.model, Path(folder), head=HEAD)
        return made
    return _from_folder(name, folder, device, dtype, _shown_to(folder))


def _shown_to(checkpoint: str) -> ModelTable:
    """How problems were put to it in training, if it is a checkpoint of a run of ours."""
    run = RunFolder(Path(checkpoint).parent.parent)
    return run.config().model if run.exists() else ModelTable(base=checkpoint)


def _from_folder(name: str, folder: str, device: str, dtype: str, shown: ModelTable) -> Policy:
    expected = "a reward model: sequence classification with one label, in Hugging Face layout"
    try:
        config = AutoConfig.from_pretrained(folder, trust_remote_code=False)
        kinds = config.architectures or []
        if not any(kind.endswith("ForSequenceClassification") for kind in kinds) or config.num_labels != 1:
            labels = f" with {config.num_labels} labels" if any("Classification" in kind for kind in kinds) else ""
            raise UsageError(f"{name} is a {', '.join(kinds) or 'model of no known kind'}{labels}", expected=expected)
        model, report = AutoModelForSequenceClassification.from_pretrained(
            folder, dtype=getattr(torch, dtype), attn_implementation=attention.NAME, use_safetensors=True,
            output_loading_info=True, trust_remote_code=False,
        )  # fmt: skip
    except (*loader.BAD_FILE_ERRORS, RuntimeError, SafetensorError) as error:
        raise UsageError(f"{name} cannot be loaded: {str(error).splitlines()[0]}", expected=expected) from None
    if report["missing_keys"] or report["mismatched_keys"]:
        raise UsageError(f"{name} lacks {sorted(report['missing_keys'])[:1]}", expected=expected)
    for parameter in model.parameters():
        parameter.data = parameter.data.clone()  # as in models.load: aligned, whatever the file
    tokenizer = loader.load_tokenizer(name, folder)
    policy = Policy(
        torch.nn.Module.to(model, device).eval(), ChatFormat(tokenizer, shown.prompt, shown.thinking, shown.system), []
    )
    if len(policy.chat.tokenizer) > policy.vocabulary_size + 1024:
        raise UsageError(
            f"{name} has a tokenizer of {len(policy.chat.tokenizer)} tokens and {policy.vocabulary_size} embeddings",
            expected=expected,
        )
    return policy


def encode_pair(policy: Policy, item: Item, completion: str) -> list[int]:
    """A problem and an answer to it, to the end of the answer's turn; as in transformers, what it pads with does not count."""
    row = list(policy.prompt_from_text(policy.chat.exchange(item.question, policy.chat.strip_markers(completion)), 0).tokens)
    while len(row) > 1 and row[-1] == policy.text_config.pad_token_id:
        row.pop()
    return row


def check_readable(policy: Policy, name: str, items: Sequence[Item], completions: Sequence[str]) -> None:
    """Refuse a reward model that cannot read the texts: its tokenizer, or its chat template, is made for others."""
    for item, completion in zip(items, completions, strict=True):
        said = policy.chat.strip_markers(completion)
        try:
            text = policy.chat.exchange(item.question, said)
        except TEMPLATE_ERRORS as error:
            raise UsageError(
                f"the chat template of {name} fails on an answer: {type(error).__name__}: {error}",
                expected="a template that takes a question and an answer",
            ) from None
        if said.strip() not in text or item.question.strip() not in text:
            raise UsageError(
                f"the chat template of {name} drops the question or the answer: {text[-80:]!r}",
                expected="a template that keeps both",
            )
        read = policy.chat.decode(policy.chat.encode([text])[0], special=True)
        if read.replace(" ", "") != text.replace(" ", ""):
            raise UsageError(
                f"the tokenizer of {name} reads {text[:60]!r} as {read[:60]!r}",
                expected="a reward model whose tokenizer knows these texts",
            )


def load_checked(name: str, said: str, items: Sequence[Item], most: int, device: str, dtype: str) -> Policy:
    """One that can read these problems with answers of so many tokens: known before anything is generated."""
    scorer = load(name, device, dtype)
    check_readable(scorer, said, items[:32], [item.gold for item in items[:32]])
    check_length(scorer, said, max(len(encode_pair(scorer, item, "")) for item in items) + most)
    return scorer


def check_length(policy: Policy, name: str, longest: int) -> None:
    if longest > policy.context_length:
        raise UsageError(
            f"a problem and an answer of {longest} tokens", expected=f"at most {policy.context_length}, the context of {name}"
        )


def score_sequences(policy: Policy, sequences_N: Sequence[list[int]], groups: Sequence[Sequence[int]]) -> Tensor:
    """A number for each sequence; those of a group begin alike, and what they share is computed once (on a CPU)."""
    heads: list[list[int]] = [[] for _ in sequences_N]
    for group in groups:
        shared = _common_start([sequences_N[n][:-1] for n in group])
        for n in group:
            heads[n] = shared
    # By length: rows of like length share a block of attention.
    order = sorted((n for group in groups for n in group), key=lambda n: -len(sequences_N[n]))
    tails = [sequence[len(head) :] for sequence, head in zip(sequences_N, heads, strict=True)]
    packed = packing.pack(order, heads, tails, policy.model.device)
    hidden_TE = policy.decoder(
        packed.tokens_T[None], position_ids=packed.positions_T[None], use_cache=False, plan=packed.plan
    ).last_hidden_state[0]
    ends = np.cumsum([len(tails[n]) for n in order])
    first = len(packed.tokens_T) - int(ends[-1])
    last_N = torch.as_tensor(first + ends - 1, device=hidden_TE.device)
    found_N = linear(hidden_TE.index_select(0, last_N).float(), getattr(policy.model, HEAD).weight.float())[:, 0]
    place = torch.empty(len(order), dtype=torch.long, device=found_N.device)
    place[torch.tensor(order, device=found_N.device)] = torch.arange(len(order), device=found_N.device)
    return found_N.index_select(0, place)


def _common_start(rows: Sequence[list[int]]) -> list[int]:
    least, most = min(rows), max(rows)
    same = next((i for i, (a, b) in enumerate(zip(least, most, strict=False)) if a != b), min(len(least), len(most)))
    return least[:same]


def flatten(sequences_P: Sequence[list[list[int]]]) -> tuple[list[list[int]], list[range]]:
    """Sequences of several problems in one list, and where each problem's lie."""
    ends = np.cumsum([0, *map(len, sequences_P)]).tolist()
    return [row for rows in sequences_P for row in rows], [range(a, b) for a, b in pairwise(ends)]


def contiguous_micro_batches(lengths_P: Sequence[int], budget: int) -> list[range]:
    """Sequences, or whole problems, in order, at most so many tokens together; a longer one goes alone."""
    cuts, room = [0], budget
    for p, length in enumerate(lengths_P):
        if length > room and p > cuts[-1]:
            cuts.append(p)
            room = budget
        room -= length
    return [range(a, b) for a, b in pairwise([*cuts, len(lengths_P)])]


@dataclass(frozen=True)
class EncodedCandidates:
    """Completions of some items as a reward model reads them; those that say the same are read once."""

    rows: list[list[int]]
    item: list[int]
    """Of each row."""
    places: list[list[int]]
    """Of each item's completions: the row of each."""


def encode_candidates(policy: Policy, items: Sequence[Item], completions: Sequence[Sequence[str]]) -> EncodedCandidates:
    pairs = {
        (p, text): n for n, (p, text) in enumerate(dict.fromkeys((p, t) for p, own in enumerate(completions) for t in own))
    }
    rows = [encode_pair(policy, items[p], text) for p, text in pairs]
    check_length(policy, "the reward model", max(map(len, rows), default=0))
    return EncodedCandidates(
        rows, [p for p, _ in pairs], [[pairs[p, text] for text in own] for p, own in enumerate(completions)]
    )


def score_completions(
    policy: Policy, items: Sequence[Item], completions: Sequence[Sequence[str]], budget: int
) -> list[list[float]]:
    """Of all completions of all items."""
    return score_encoded(policy, encode_candidates(policy, items, completions), budget)


@torch.no_grad()
def score_encoded(policy: Policy, given: EncodedCandidates, budget: int) -> list[list[float]]:
    found: list[float] = []
    for part in contiguous_micro_batches([len(row) for row in given.rows], budget):
        groups = [list(own) for _, own in groupby(range(len(part)), key=lambda n: given.item[part[n]])]
        values = score_sequences(policy, [given.rows[n] for n in part], groups)
        if not bool(torch.isfinite(values).all()):
            raise PassusError("the reward model's scores are not finite", expected="a reward model that has not diverged")
        found += values.tolist()
    return [[found[row] for row in own] for own in given.places]


def score_item_rows(policy: Policy, items: dict[str, list[Item]], columns: dict[str, list], budget: int) -> list[float]:
    """Scores of an evaluation's item rows, in their order."""
    by_name = {(item.benchmark, item.index): item for of in items.values() for item in of}
    keys = list(zip(columns["benchmark"], columns["item"], strict=True))
    groups: dict[tuple[str, int], list[int]] = {}
    for n, key in enumerate(keys):
        groups.setdefault(key, []).append(n)
    texts = [[columns["completion"][n] for n in own] for own in groups.values()]
    found = [0.0] * len(keys)
    for own, values in zip(
        groups.values(), score_completions(policy, [by_name[key] for key in groups], texts, budget), strict=True
    ):
        for n, value in zip(own, values, strict=True):
            found[n] = value
    return found


def add_mean_scores(
    policy: Policy, items: dict[str, list[Item]], points: list[EvalPoint], columns: dict[str, list], budget: int
) -> list[EvalPoint]:
    """The mean score of an eval point's completions: where it parts from accuracy, a policy learns to please the model."""
    values = score_item_rows(policy, items, columns, budget)
    scored = []
    for point in points:
        own = [
            value
            for value, b, t in zip(values, columns["benchmark"], columns["temperature"], strict=True)
            if (b, t) == (point.benchmark, point.temperature)
        ]
        scored.append(replace(point, score=float(np.mean(own))))
    return scored


def pairwise_loss(scores_N: Tensor, right_N: Tensor) -> Tensor:
    """Of one problem: the mean over pairs of a right and a wrong candidate of -log sigmoid(right - wrong)."""
    return -logsigmoid(scores_N[right_N][:, None] - scores_N[~right_N][None]).mean()


def classification_loss(scores_N: Tensor, right_N: Tensor) -> Tensor:
    """Of one problem: cross-entropy of each candidate being right."""
    return binary_cross_entropy_with_logits(scores_N, right_N.float())
