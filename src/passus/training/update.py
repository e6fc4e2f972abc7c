"""Updates of the weights: rows -> micro-batches -> log-probs -> loss -> gradient -> optimizer.

Rows are packed per objective, policy rows first. Weights of tokens are normalised over the whole update, so the size of
micro-batches changes memory and speed and not the result; it is halved when memory runs out, and the update starts again.

Shapes: N rows, C completion tokens of a micro-batch, L tokens of the longest completion.
"""

from collections.abc import Iterator, Sequence

import numpy as np
import torch
from torch import Tensor

from passus.engine import logprob, packing
from passus.engine.attention import VarlenPlan
from passus.engine.device import to_device
from passus.engine.packing import PackedBatch
from passus.methods.loss import LossTokens, nll_loss, policy_loss, token_weights
from passus.training.optimizer import learning_rate
from passus.training.rows import TrainingRows
from passus.training.state import PolicyRun
from passus.training.step_metrics import UpdateStats


def update(run: PolicyRun, objectives: Sequence[TrainingRows], step: int) -> list[UpdateStats]:
    """Splits the prompts of a step into equal parts and makes one update with the rows of each."""
    count = run.config.train.updates
    share = run.config.train.prompts // count
    stats = []
    for u in range(count):
        parts = [(rows, rows.in_groups(u * share, (u + 1) * share)) for rows in objectives]
        stats.append(one_update(run, parts, (step - 1) * count + u))
    return stats


def one_update(run: PolicyRun, parts: Sequence[tuple[TrainingRows, list[int]]], number: int) -> UpdateStats:
    """Accumulates gradients and applies them, unless the loss or a gradient is not finite."""
    stats = run.within_memory(lambda: accumulate(run, parts, number))
    stats.norm, stats.applied = run.optimizer.step(number, stats.sums["loss"])
    run.optimizer.zero_grad(keep=bool(run.cuda.graphs))
    run.progress.skipped_in_a_row = 0 if stats.applied else run.progress.skipped_in_a_row + 1
    return stats


def accumulate(run: PolicyRun, parts: Sequence[tuple[TrainingRows, list[int]]], number: int) -> UpdateStats:
    """Adds up loss and gradient over the micro-batches of one update."""
    stats = UpdateStats(run.optimizer.lr_scale * learning_rate(run.config.train, number))
    if run.cuda.graphs:
        run.optimizer.fill_missing_grads()
    # After the first update of a step the weights are between two steps, and no longer those of a checkpoint.
    is_safe_to_stop = number % run.config.train.updates == 0
    for rows, indices in parts:
        if indices:
            _accumulate_objective(run, rows, indices, stats, is_safe_to_stop)
    return stats


def _accumulate_objective(
    run: PolicyRun, rows: TrainingRows, indices: list[int], stats: UpdateStats, is_safe_to_stop: bool
) -> None:
    weight_N, tokens = _weights(run, rows, indices)
    signal_N = _has_gradient(run, rows)
    for has_signal in (True, False):
        for packed in pack_rows(run, rows, [n for n in indices if signal_N[n] is has_signal]):
            if is_safe_to_stop:
                run.check_stop()
            logp_C, sums = _forward_backward(run, rows, packed, weight_N, tokens, has_signal)
            gap_C = None if rows.sampled_NL is None else logp_C - rows.sampled_NL[packed.row_C, packed.offset_C]
            stats.add(sums if rows.loss_name == "loss" else {rows.loss_name: sums["loss"]}, gap_C)


def _weights(run: PolicyRun, rows: TrainingRows, indices: list[int]) -> tuple[Tensor, Tensor]:
    """Returns the weight per token of each row in this update, and the number of tokens that count."""
    row_n = to_device(np.array(indices), rows.counts_N.device)
    lengths_n, counts_n = rows.trained_tokens()[row_n], rows.counts_N[row_n]
    tokens = (lengths_n * counts_n).sum().clamp(min=1)
    if rows.weight_N is not None:
        return rows.weight_N, tokens
    weight_N = torch.zeros_like(rows.counts_N)
    weight_N[row_n] = token_weights(lengths_n, counts_n, run.config.method, run.config.train.max_tokens)
    return weight_N, tokens


def _has_gradient(run: PolicyRun, rows: TrainingRows) -> list[bool]:
    """Returns which rows have a gradient. The others run forward only, for metrics; averages still count them."""
    differs_N = rows.advantage != 0 if rows.advantage.ndim == 1 else (rows.advantage != 0).any(1)
    signal_N: list[bool] = ((differs_N | run.config.method.learns_without_signal) & (rows.counts_N > 0)).tolist()
    if run.policy.uses_fixed_shapes and rows.token_count <= run.micro_tokens:
        return [any(signal_N)] * len(signal_N)  # one pass over all rows takes less time than two
    return signal_N


def _forward_backward(
    run: PolicyRun, rows: TrainingRows, packed: PackedBatch, weight_N: Tensor, tokens: Tensor, has_signal: bool
) -> tuple[Tensor, dict[str, Tensor]]:
    """Runs one micro-batch and returns its log-probs and sums. No graph survives the call."""
    # Disabling gradients would make a compiled layer compile once more.
    with torch.set_grad_enabled(has_signal or run.policy.uses_fixed_shapes):
        loss_tokens = _loss_tokens(run, rows, packed, weight_N, tokens)
        is_policy = rows.objective == "policy"
        loss, sums = policy_loss(loss_tokens, run.config.method) if is_policy else nll_loss(loss_tokens)
    if has_signal:
        loss.backward()
    return loss_tokens.logp_C.detach(), sums


def _loss_tokens(run: PolicyRun, rows: TrainingRows, packed: PackedBatch, weight_N: Tensor, tokens: Tensor) -> LossTokens:
    logp_C, entropy_C = forward(run, packed)

    def pick(values_NL: Tensor | None) -> Tensor | None:
        return None if values_NL is None else values_NL[packed.row_C, packed.offset_C]

    # With one update per step the old policy is this very pass: the ratio is 1, and only its gradient counts.
    old_C = pick(rows.old_NL)
    per_row = rows.advantage.ndim == 1
    weight_C, mask_C = weight_N[packed.row_C], pick(rows.mask_NL)
    return LossTokens(
        logp_C, entropy_C, logp_C.detach() if old_C is None else old_C,
        rows.advantage[packed.row_C] if per_row else rows.advantage[packed.row_C, packed.offset_C],
        weight_C if mask_C is None else weight_C * mask_C, packed.row_C, len(weight_N), tokens,
        pick(rows.reference_NL), pick(rows.sampled_NL),
    )  # fmt: skip


def pack_rows(run: PolicyRun, rows: TrainingRows, indices: list[int]) -> Iterator[PackedBatch]:
    """Packs some rows into micro-batches; on CUDA, into few shapes that are compiled once."""
    lengths = [len(rows.prompts_N[n]) + len(rows.completions_N[n]) for n in indices]
    device = run.policy.model.device
    if not run.policy.uses_fixed_shapes:
        for places in packing.micro_batches(lengths, run.micro_tokens):
            yield packing.pack([indices[i] for i in places], rows.prompts_N, rows.completions_N, device)
        return
    longest = run.cuda.grow_longest(max(map(len, rows.prompts_N)) + run.config.train.max_tokens)
    shapes = packing.micro_batch_shapes(run.micro_tokens, longest)
    for places, shape in packing.shaped_micro_batches(lengths, *shapes):
        yield packing.pack_to_shape([indices[i] for i in places], rows.prompts_N, rows.completions_N, shape, device)


def forward(run: PolicyRun, packed: PackedBatch) -> tuple[Tensor, Tensor]:
    """Returns log-probs and entropies of a micro-batch's completion tokens, with gradients."""
    tokens_1T, positions_1T = packed.tokens_T[None], packed.positions_T[None]
    if torch.is_grad_enabled() and packed.shape in run.cuda.graphs and isinstance(packed.plan, VarlenPlan):
        hidden_TE = run.cuda.graphs[packed.shape](tokens_1T, positions_1T, packed.plan.cumulative_N1)[0]
    else:
        output = run.policy.decoder(tokens_1T, position_ids=positions_1T, use_cache=False, plan=packed.plan)
        hidden_TE = output.last_hidden_state[0]
    # Indexing would add up gradients in any order on several threads: completions share the last token of their prompt.
    predicting_CE = hidden_TE.index_select(0, packed.predicts_C)
    return logprob.token_logprobs(run.policy.head, predicting_CE, packed.targets_C, run.config.train.temperature)


@torch.no_grad()
def logprobs(run: PolicyRun, rows: TrainingRows) -> Tensor:
    """Returns the log-probs of all completions under the current policy, without gradients."""

    def work() -> Tensor:
        logp_NL = torch.zeros(len(rows.completions_N), rows.longest, device=rows.counts_N.device)
        for packed in pack_rows(run, rows, list(range(len(rows.completions_N)))):
            run.check_stop()
            logp_NL[packed.row_C, packed.offset_C], _ = forward(run, packed)
        return logp_NL

    return run.within_memory(work)
