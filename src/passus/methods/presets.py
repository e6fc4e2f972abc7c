"""Methods as data: a preset is one row of fields, and one loss function serves all of them.

A method says how rewards become advantages (baseline, scale), over what the ratio of the new to the old policy is taken (a
token or a whole sequence), how that ratio is bounded (clip, cap), and how the loss is averaged over the tokens of an update.
The extras are off in most recipes of today: a KL to the reference policy, an entropy bonus, truncated importance sampling.

Where published methods or their implementations disagree:

- the standard deviation of a group has G - 1 degrees of freedom, as in TRL;
- `rloo` clips a ratio summed over the sequence, as in TRL; the paper has plain REINFORCE, which the first update equals;
- `kimi` is the squared loss of the k1.5 report, with the group's mean reward for tau log Z; the report does not state its tau;
- `dual_clip` bounds the loss of tokens with a negative advantage, as verl does by default and TRL with `delta`;
- `ratio_cap` is the cap itself, as TRL's epsilon_high is for CISPO: 5 means 5;
- `reinforce_pp` whitens advantages over the tokens of a step, as OpenRLHF and verl do, and leaves out the KL in the reward.
"""

from typing import Literal

from pydantic import Field

from passus.schema import Section


class Method(Section):
    name: str = "grpo"
    """Preset that the other fields start from. `passus explain method` lists the presets."""

    baseline: Literal["mean", "leave_one_out", "none"] = "mean"
    """Subtracted from a reward: the mean of its group, the mean of the others in its group, or nothing."""
    advantage_scale: Literal["group", "batch", "whiten", "none"] = "group"
    """Divides advantages: the standard deviation of the group, or of the step; `whiten` also subtracts the mean over tokens."""
    advantage_eps: float = Field(1e-4, ge=1e-12, le=1)
    """Added to the standard deviation before advantages are divided by it."""

    loss: Literal["clip", "cap", "squared", "likelihood", "pairs", "classes", "none"] = "clip"
    """`clip` (PPO), `cap` (CISPO), `squared` (Kimi k1.5), `likelihood` (SFT); of a reward model `pairs` (Bradley-Terry) or
    `classes` (cross-entropy); `none` for generators of candidates."""
    ratio: Literal["token", "sequence_mean", "sequence_sum"] = "token"
    """Log-ratio of the new to the old policy: of each token, or its mean or sum over the sequence."""
    clip_low: float = Field(0.2, ge=0, lt=1)
    """The gain is clipped where the ratio is below 1 - clip_low."""
    clip_high: float = Field(0.2, ge=0)
    """The gain is clipped where the ratio is above 1 + clip_high."""
    dual_clip: float = Field(3.0, ge=0)
    """Largest ratio that counts where the advantage is negative, with loss = "clip"; 0 is off. Without it one token that has
    become much more likely can dominate an update."""
    ratio_cap: float = Field(5.0, gt=0)
    """Largest weight of a token with loss = "cap"."""
    tau: float = Field(0.0, ge=0)
    """Weight of half the squared log-ratio to the policy before the step, with loss = "squared"."""
    loss_average: Literal["sequence", "token", "sum", "constant"] = "sequence"
    """Mean per sequence, then over sequences; mean over all tokens; sum per sequence, then mean; that sum / max_tokens."""
    old_logprobs: Literal["trainer", "sampler"] = "trainer"
    """Source of the old policy's log-probs: the trainer, before the first update of the step, or the sampler."""
    tis_cap: float = Field(0.0, ge=0)
    """Truncated importance sampling: weighs tokens by the trainer's / sampler's probability, at most this; 0 is off."""
    reset_optimizer: bool = False
    """Resets Adam's moments at the beginning of every step."""

    kl_estimator: Literal["k1", "k2", "k3"] = "k3"
    """Estimator of the KL to the reference policy: k1 is subtracted from the reward, k2 and k3 are added to the loss."""
    kl_coef: float = Field(0.0, ge=0)
    """Coefficient of that KL; 0 needs no reference policy."""
    entropy_coef: float = Field(0.0, ge=0)
    """Coefficient of the entropy bonus, averaged over tokens."""

    dynamic_sampling_rounds: int = Field(1, ge=1, le=100)
    """Rounds of sampling until enough groups have both right and wrong answers (DAPO); 1 samples once."""
    mask_truncated: bool = False
    """Leaves completions that reached the token limit out of the loss."""
    max_repeats: int = Field(0, ge=0, le=100)
    """Ends training completions that repeat the same tokens this many times in a row (24 tokens or more); 0 is off."""
    soft_overlong: float = Field(0.0, ge=0, le=1)
    """Share of max_tokens over which the reward falls by up to 1 (DAPO uses .2); 0 is off."""
    length_reward: float = Field(0.0, ge=0, le=1e6)
    """Coefficient of Kimi's length reward: from +.5 for the shortest right answer of a group to -.5 for the longest."""
    length_reward_from: int = Field(1, ge=1)
    """First step with the length reward, because it slows early learning."""

    lessons: Literal["off", "validated", "all", "shuffled", "solution", "critique"] = "off"
    """Lessons that the policy writes about its mistakes (MEL): `validated` keeps those that help; the others are controls."""
    lesson_coef: float = Field(1.0, ge=0, le=1e3)
    """Coefficient of the lessons' log-likelihood beside the method's own loss."""

    @property
    def compares_samples(self) -> bool:
        """Whether advantages need at least two samples per prompt."""
        return self.baseline != "none" or self.advantage_scale == "group"

    @property
    def learns_without_signal(self) -> bool:
        """Whether rows with an advantage of 0 have a gradient all the same."""
        return self.entropy_coef > 0 or self.tau > 0 or (self.kl_coef != 0 and self.kl_estimator != "k1")


PRESETS: dict[str, Method] = {
    "grpo": Method(name="grpo"),
    "dr_grpo": Method(name="dr_grpo", advantage_scale="none", loss_average="constant"),
    "dapo": Method(name="dapo", clip_high=0.28, loss_average="token", soft_overlong=0.2, dynamic_sampling_rounds=4),
    "rloo": Method(name="rloo", baseline="leave_one_out", advantage_scale="none", ratio="sequence_sum"),
    "gspo": Method(name="gspo", ratio="sequence_mean", clip_low=3e-4, clip_high=4e-4),
    "cispo": Method(name="cispo", loss="cap", loss_average="token"),
    "reinforce_pp": Method(name="reinforce_pp", baseline="none", advantage_scale="whiten", loss_average="token"),
    "reinforce_pp_baseline": Method(name="reinforce_pp_baseline", advantage_scale="whiten", loss_average="token"),
    "kimi": Method(
        name="kimi", advantage_scale="none", loss="squared", ratio="sequence_sum", loss_average="sum", tau=0.1,
        reset_optimizer=True,
    ),
    "mel": Method(name="mel", lessons="validated"),
    "mel_unvalidated": Method(name="mel_unvalidated", lessons="all"),
    "mel_shuffled": Method(name="mel_shuffled", lessons="shuffled"),
    "mel_solution": Method(name="mel_solution", lessons="solution"),
    "mel_critique": Method(name="mel_critique", lessons="critique"),
    "sft": Method(name="sft", loss="likelihood", loss_average="token"),
    "reward_model": Method(name="reward_model", loss="pairs"),
    "candidates": Method(name="candidates", loss="none"),
}  # fmt: skip
