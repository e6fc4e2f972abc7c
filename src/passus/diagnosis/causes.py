"""The causes that diagnosis knows: what is wrong in words, what to do, and which signs show since when."""

from dataclasses import dataclass

HEALTHY, UNKNOWN = "healthy", "unknown"


@dataclass(frozen=True)
class Cause:
    name: str
    words: str
    fix: str
    timing: tuple[str, ...] = ()
    """Signs that date it, the most precise first. Without any it is a setting, and holds from the start."""


CAUSES = {
    cause.name: cause
    for cause in (
        Cause(
            "learning-rate-too-high", "the learning rate is too high",
            "divide train.learning_rate by 4 or more, and begin again from the start or from a checkpoint before the fall",
        ),
        Cause(
            "learning-rate-too-low", "the learning rate is too low: the policy hardly changes",
            "multiply train.learning_rate by 10, and shorten the warm-up",
        ),
        Cause(
            "clipping-off", "ratios are not clipped, with many updates per rollout",
            "set method.clip_low and clip_high back to 0.2 and dual_clip to 3, or make one update per rollout",
        ),
        Cause(
            "too-many-updates", "too many updates are made per rollout",
            "lower train.updates to 1 or 2, or divide the learning rate by as much",
        ),
        Cause(
            "temperature-too-low", "the sampling temperature is so low that the samples of a group resemble each other",
            "set train.temperature to 1",
        ),
        Cause(
            "groups-too-small", "groups are so small that their rewards are often all equal",
            "raise train.samples to 8 or more; train.prompts may fall by as much",
        ),
        Cause(
            "token-limit-too-low", "the token limit cuts off the answers that think longer",
            "raise train.max_tokens until fewer than 5 % of the first completions reach it",
        ),
        Cause(
            "too-few-items", "the training set is so small that the policy learns its answers",
            "train on more items, or stop where eval accuracy levels off",
        ),
        Cause(
            "adapter-too-small", "the adapter is too small to change the answers",
            'use model.lora.targets = ["all-linear"], a rank of 8 or more, and its own learning rate',
        ),
        Cause(
            "task-too-hard", "almost no answer is right, so that groups carry no signal",
            "begin with easier problems, or teach the task first (method sft, or a reward for parts of the answer)",
        ),
        Cause(
            "reward-for-format", "the reward pays the form of the answer and not whether it is right",
            "set reward.values.correct above reward.values.wrong",
        ),
        Cause(
            "reward-for-length", "the reward depends on length and not on whether the answer is right",
            "pay right answers, and lower the coefficient of the length reward",
        ),
        Cause(
            "kl-too-strong", "the KL penalty holds the policy where it began",
            "divide method.kl_coef by 100, or set it to 0",
        ),
        Cause(
            "entropy-bonus-too-large", "the entropy bonus drives the policy to random text",
            "divide method.entropy_coef by 100, or set it to 0", ("entropy grows", "completions cut off more and more"),
        ),
        Cause(
            "noisy-reward", "a part of the rewards is wrong",
            "grade a sample of completions by hand, and compare with `passus grade --explain`", ("rewards partly wrong",),
        ),
        Cause(
            "shuffled-rewards", "rewards do not belong to the completions that they are given to",
            "check the order of completions on the way from the grader to the reward",
            ("rewards at random", "accuracy stops rising"),
        ),
        Cause(
            "negated-rewards", "rewards have the wrong sign",
            "check the sign of the reward function and of the advantage",
            ("rewards reversed", "accuracy falls", "completions get short"),
        ),
        Cause(
            "lenient-verifier", "the verifier accepts wrong answers",
            "grade the samples again with `passus grade`, and fix the verifier before the policy learns to use it",
            ("wrong answers accepted", "training accuracy jumps up", "training above eval"),
        ),
        Cause(
            "leaked-answers", "training prompts contain the answer",
            "look at the prompts with `passus show`, and remove the gold from the question or the template",
            ("answers in prompts", "training accuracy jumps down", "training accuracy jumps up", "training below eval"),
        ),
        Cause(
            "missing-generation-prompt", "training prompts do not end as evaluation prompts do",
            "use one chat template for both, with the tokens that open the model's turn (add_generation_prompt)",
            ("prompts end in another way", "training accuracy jumps down", "training below eval"),
        ),
        Cause(
            "identical-samples", "the samples of a group are copies of each other",
            "give each sample of a prompt its own seed", ("copies in groups", "groups without signal", "gradient is zero"),
        ),
        Cause(
            "lost-end-token", "the sampler does not stop at the end token",
            "check the stop tokens of the sampler against generation_config.json and the chat template",
            (
                "completions go on after the answer", "completions suddenly cut off", "completions cut off more and more",
                "accuracy breaks down",
            ),
        ),
        Cause(
            "stale-sampler", "the sampler does not get the new weights",
            "check that weights reach the sampler after every update, and that their version is recorded",
            ("sampler drifts from trainer", "nothing changes", "accuracy stops rising"),
        ),
        Cause(
            "low-precision-sampler", "the sampler computes in a lower precision than the trainer",
            "sample in the trainer's precision, or correct for the difference (method.tis_cap = 2)",
            ("sampler a little off",),
        ),
        Cause(
            "lost-optimizer-state", "one update was far too large, as after a loss of the optimizer's state",
            "return to the checkpoint before it, and restore the optimizer's moments together with their step count",
            (
                "what was learnt is lost in one step", "entropy jumps", "training accuracy jumps down",
                "completions suddenly cut off", "accuracy breaks down", "gradient jumps",
            ),
        ),
        Cause(
            "lost-updates", "updates do not reach the weights",
            "check that the optimizer holds the parameters that are sampled and saved, and that the learning rate is not 0",
            ("nothing changes", "little changes", "accuracy stops rising"),
        ),
        Cause(
            "reversed-kl", "the KL term has the wrong sign and drives the policy away from the reference",
            "check the sign of the KL in loss and reward", ("KL accelerates", "entropy grows", "accuracy falls"),
        ),
        Cause(
            "corrupted-batch", "completions are trained after the prompts of other completions",
            "check the order in which prompts and completions are packed",
            ("trainer sees other text", "accuracy falls"),
        ),
    )
}  # fmt: skip
"""By name, which is also the name of the fault in the collection."""
