"""Methods as data: a preset is a row of fields, and one pure loss function serves them all.

A method says how rewards become advantages (baseline, scale), what the ratio of policy to anchor is taken over (a token, or
a whole sequence), how it is bounded (clip, cap), and how the tokens of an update are averaged; plus extras that are 0 in most
recipes of today: KL to the policy before training, an entropy bonus, a correction for the sampler's own log-probs.

`tests/test_method.py` compares loss and gradient with TRL's. Where the field disagrees with itself:
- the group's standard deviation has G - 1 degrees of freedom (as in TRL);
- `rloo` clips a ratio summed over the sequence (as in TRL; the paper has plain REINFORCE, which the first update is);
- `kimi` is the squared loss of k1.5's report with the group's mean reward for tau log Z; the report does not say its tau;
- `ratio_cap` is the cap itself: 5 means 5 (as TRL's epsilon_high for CISPO);
- rows left out of the loss leave the denominator of `tokens`, and stay in that of the others.

Shapes: P prompts, G samples a prompt, N = P x G rows, C completion tokens of a micro-batch.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from passus.schema import Section

if TYPE_CHECKING:  # experiment files are read without loading torch, so this file uses tensor methods only
    from torch import Tensor


class Method(Section):
    name: str = "grpo"
    """The preset behind the other fields: grpo, dr_grpo, dapo, rloo, gspo, cispo, kimi, sft, mel (and three controls)."""
    baseline: Literal["mean", "leave_one_out"] = "mean"
    """What a reward is compared with: the mean of its group, or of the others in its group."""
    scale: Literal["group", "batch", "none"] = "group"
    """Whose standard deviation advantages are divided by."""
    advantage_eps: float = Field(1e-4, ge=1e-12, le=1)
    """Added to a standard deviation (of n - 1 degrees of freedom) before dividing by it."""
    loss: Literal["clip", "cap", "squared", "likelihood", "pairs", "classes", "none"] = "clip"
    """`clip` the ratio's gain; `cap` it as a weight (CISPO); `squared` distance to the optimum (Kimi); `likelihood` (SFT).
    Of a reward model: `pairs` of right and wrong candidates (Bradley-Terry) or `classes` (cross-entropy). `none`: no loss."""
    ratio: Literal["token", "sequence_mean", "sequence_sum"] = "token"
    """The log-ratio of policy to anchor: each token's own, or the mean or sum over the sequence."""
    clip_low: float = Field(0.2, ge=0, lt=1)
    """The ratio's gain is cut off below 1 - clip_low."""
    clip_high: float = Field(0.2, ge=0)
    """The ratio's gain is cut off above 1 + clip_high."""
    tau: float = Field(0.0, ge=0)
    """Under loss = "squared": what half a squared log-ratio to the policy before the step costs."""
    reset: bool = False
    """Adam forgets its moments at the beginning of every step, as the policy that the loss refers to becomes another."""
    ratio_cap: float = Field(5.0, gt=0)
    """Largest weight of a token under loss = "cap"."""
    average: Literal["rows", "tokens", "sum", "constant"] = "rows"
    """Over tokens: mean of each row, then of rows; mean of all tokens; sum of each row, mean of rows; that / max_tokens."""
    kl: Literal["k1", "k2", "k3"] = "k3"
    """Estimator of the KL to the policy before training: k1 goes into the reward, k2 and k3 into the loss."""
    kl_weight: float = Field(0.0, ge=0)
    """What that KL costs; 0 needs no reference policy."""
    entropy_weight: float = Field(0.0, ge=0)
    """What a nat of mean entropy is worth in the loss."""
    correction_cap: float = Field(0.0, ge=0)
    """Weigh tokens by trainer's / sampler's probability before the update, at most this (2 is usual); 0 is off."""
    mask_truncated: bool = False
    """Leave completions that the token limit cut off out of the loss."""
    soft_overlong: float = Field(0.0, ge=0, le=1)
    """Over this last share of max_tokens the reward falls by up to 1 (DAPO uses .2); 0 is off."""
    length_weight: float = Field(0.0, ge=0, le=1e6)
    """Of a reward for length: in a group, from +.5 for the shortest right answer to -.5 for the longest (Kimi); 0 is off."""
    length_from: int = Field(1, ge=1)
    """The step from which the length reward counts: from the start it slows early learning."""
    repeats: int = Field(0, ge=0, le=100)
    """Cut off completions in training that say the same so many times in a row, 24 tokens or more in all; 0 lets them go on."""
    lessons: Literal["off", "validated", "all", "shuffled", "solution", "critique"] = "off"
    """Learn from lessons that the policy writes about its mistakes, if they help (MEL); the last four are controls."""
    lesson_weight: float = Field(1.0, ge=0, le=1e3)
    """Of the lessons' likelihood beside the method's own objective."""
    rounds: int = Field(1, ge=1, le=100)
    """Rounds of drawing prompts anew for groups that are all right or all wrong; 1 draws none (DAPO: dynamic sampling)."""
    anchor: Literal["trainer", "sampler"] = "trainer"
    """Whose log-probs the ratio is against: the trainer's before the rollout's first update, or the sampler's own."""

    @property
    def scores(self) -> bool:
        """What is trained scores completions and writes none."""
        return self.loss in ("pairs", "classes")

    @property
    def draws(self) -> bool:
        """Nothing is trained: a generator answers, for a reward model to learn from."""
        return self.loss == "none"

    @property
    def learns_without_signal(self) -> bool:
        """Whether rows with an advantage of 0 have a gradient all the same."""
        return self.entropy_weight > 0 or self.tau > 0 or (self.kl_weight > 0 and self.kl != "k1")


PRESETS: dict[str, Method] = {
    "grpo": Method(name="grpo"),
    "dr_grpo": Method(name="dr_grpo", scale="none", average="constant"),
    "dapo": Method(name="dapo", clip_high=0.28, average="tokens", soft_overlong=0.2, rounds=4),
    "rloo": Method(name="rloo", baseline="leave_one_out", scale="none", ratio="sequence_sum"),
    "gspo": Method(name="gspo", ratio="sequence_mean", clip_low=3e-4, clip_high=4e-4),
    "cispo": Method(name="cispo", loss="cap", average="tokens"),
    "mel": Method(name="mel", lessons="validated"),
    "mel_unvalidated": Method(name="mel_unvalidated", lessons="all"),
    "mel_shuffled": Method(name="mel_shuffled", lessons="shuffled"),
    "mel_solution": Method(name="mel_solution", lessons="solution"),
    "mel_critique": Method(name="mel_critique", lessons="critique"),
    "kimi": Method(
        name="kimi",
        scale="none",
        loss="squared",
        ratio="sequence_sum",
        average="sum",
        tau=0.1,
        reset=True,
    ),
    "sft": Method(name="sft", loss="likelihood", average="tokens"),
    "reward_model": Method(name="reward_model", loss="pairs"),
    "candidates": Method(name="candidates", loss="none"),
}


def advantages(rewards_PG: Tensor, method: Method) -> Tensor:
    """Each reward against its group's, scaled as the method says; 0 in groups whose rewards are all equal."""
    samples = rewards_PG.shape[1]
    advantages_PG = rewards_PG - rewards_PG.mean(1, keepdim=True)
    if method.baseline == "leave_one_out":
        advantages_PG = advantages_PG * samples / (samples - 1)
    if method.scale != "none":
        std = rewards_PG.std(1, keepdim=True) if method.scale == "group" else rewards_PG.std()
        advantages_PG = advantages_PG / (std + method.advantage_eps)
    return advantages_PG.masked_fill(~has_signal(rewards_PG)[:, None], 0.0)


def has_signal(rewards_PG: Tensor) -> Tensor:
    """Which groups have rewards that differ; the mean of equal rewards can be off in the last bit, so compare them."""
    return rewards_PG.amax(1) > rewards_PG.amin(1)


def overlong_penalty(lengths_N: Tensor, max_tokens: int, method: Method) -> Tensor:
    """DAPO's soft penalty: 0 until the last share of the limit begins, then down to -1 at the limit."""
    if method.soft_overlong == 0:
        return lengths_N.new_zeros(lengths_N.shape).float()
    room = method.soft_overlong * max_tokens
    return ((max_tokens - room - lengths_N) / room).clamp(-1.0, 0.0)


def length_reward(lengths_PG: Tensor, right_PG: Tensor) -> Tensor:
    """From .5 for the shortest of a group to -.5 for the longest; wrong answers gain nothing. 0 where all are as long."""
    shortest_P1, longest_P1 = lengths_PG.amin(1, keepdim=True), lengths_PG.amax(1, keepdim=True)
    spread_P1 = longest_P1 - shortest_P1
    share_PG = 0.5 - (lengths_PG - shortest_P1) / spread_P1.clamp(min=1)
    return share_PG.where(right_PG, share_PG.clamp(max=0.0)) * (spread_P1 > 0)


def token_weights(lengths_N: Tensor, counts_N: Tensor, method: Method, max_tokens: int) -> Tensor:
    """What one token of each row weighs in the loss of the whole update.

    counts_N is 0 for rows left out of the loss and 1 for the others.
    """
    rows = len(lengths_N)
    if method.average == "rows":
        return counts_N / (lengths_N.clamp(min=1) * rows)
    if method.average == "tokens":
        return counts_N / (counts_N * lengths_N).sum().clamp(min=1)
    return counts_N / (rows if method.average == "sum" else rows * max_tokens)


@dataclass
class Tokens:
    """What the loss needs of a micro-batch, an entry for each completion token. Rows are never cut in two."""

    logp_C: Tensor
    """The policy's, with gradient."""
    entropy_C: Tensor
    anchor_C: Tensor
    advantage_C: Tensor
    weight_C: Tensor
    row_C: Tensor
    rows: int
    """Rows of the whole update; row_C counts among them."""
    tokens: Tensor
    """Tokens that count in the whole update."""
    reference_C: Tensor | None = None
    """Log-probs of the policy before training; needed for a KL in the loss."""
    sampled_C: Tensor | None = None
    """The sampler's log-probs; needed for the correction."""


def policy_loss(t: Tokens, method: Method) -> tuple[Tensor, dict[str, Tensor]]:
    """(loss, sums for metrics) of one micro-batch; those of an update's micro-batches add up."""
    log_ratio_C = _log_ratio(t, method)
    ratio_C = log_ratio_C.exp()
    low, high = 1 - method.clip_low, 1 + method.clip_high
    if method.loss == "likelihood":
        gain_C = t.logp_C
        low, high = 0.0, float("inf")
    elif method.loss == "squared":
        # (A - tau s)^2 / 2 tau of each sequence, less what does not depend on the policy: the mean reward stands for tau log Z.
        gain_C = (t.advantage_C * log_ratio_C - method.tau / 2 * log_ratio_C**2) / _tokens_of_row(t)
        low, high = 0.0, float("inf")
    elif method.loss == "cap":
        gain_C = ratio_C.detach().clamp(max=method.ratio_cap) * t.advantage_C * t.logp_C
        low, high = 0.0, method.ratio_cap
    else:
        gain_C = (ratio_C * t.advantage_C).minimum(ratio_C.clamp(low, high) * t.advantage_C)
    if method.correction_cap and t.sampled_C is not None:
        gain_C = gain_C * (t.anchor_C - t.sampled_C).exp().clamp(max=method.correction_cap)
    loss = -(t.weight_C * gain_C).sum()
    counted_C = t.weight_C > 0
    sums = {
        "tokens": counted_C.sum(),
        "clipped_low": (counted_C & (ratio_C < low) & (t.advantage_C < 0)).sum(),
        "clipped_high": (counted_C & (ratio_C > high) & (t.advantage_C > 0)).sum(),
        "entropy": (t.entropy_C.detach() * counted_C).sum(),
        "approx_kl": (_k3(t.logp_C.detach(), t.anchor_C) * counted_C).sum(),
    }
    if t.reference_C is not None:
        kl_C = _k2(t.logp_C, t.reference_C) if method.kl == "k2" else _k3(t.logp_C, t.reference_C)
        sums["kl"] = (kl_C.detach() * counted_C).sum()
        if method.kl != "k1":
            loss = loss + method.kl_weight * (t.weight_C * kl_C).sum()
    if method.entropy_weight:
        loss = loss - method.entropy_weight * (t.entropy_C * counted_C).sum() / t.tokens
    return loss, sums | {"loss": loss.detach()}


def _log_ratio(t: Tokens, method: Method) -> Tensor:
    log_ratio_C = t.logp_C - t.anchor_C
    if method.ratio == "token":
        return log_ratio_C
    sum_N = log_ratio_C.new_zeros(t.rows).index_add(0, t.row_C, log_ratio_C)
    if method.ratio == "sequence_mean":
        sum_N = sum_N / t.row_C.bincount(minlength=t.rows).clamp(min=1)
    return sum_N.index_select(0, t.row_C)


def _tokens_of_row(t: Tokens) -> Tensor:
    """How many tokens each token's row has."""
    return t.row_C.bincount(minlength=t.rows).index_select(0, t.row_C)


def _k2(logp_C: Tensor, other_C: Tensor) -> Tensor:
    return (logp_C - other_C) ** 2 / 2


def _k3(logp_C: Tensor, other_C: Tensor) -> Tensor:
    return (other_C - logp_C).exp() - 1 - (other_C - logp_C)
