"""Every name that a run records, defined once with its unit and meaning."""

from dataclasses import dataclass

from passus.errors import UsageError, nearest


@dataclass(frozen=True)
class Metric:
    unit: str
    meaning: str


METRICS = {
    "step": Metric("steps", "steps done; row 1 is the first step"),
    "progress": Metric("share", "step / train.steps"),
    "train/accuracy": Metric("share", "completions of this step that are correct"),
    "train/reward": Metric("reward", "mean reward of this step's completions"),
    "train/reward_std": Metric("reward", "standard deviation of the rewards of a group, averaged over groups"),
    "train/frac_reward_zero_std": Metric("share", "groups whose rewards are all equal: they carry no signal"),
    "train/oversampling": Metric(
        "ratio", "prompts drawn / prompts used: above 1 where groups were drawn again (method.rounds)"
    ),
    "train/reward_function": Metric("reward", "mean of reward.function, before its weight, where it gave a number"),
    "train/reward_function_none": Metric("share", "completions for which reward.function gave none"),
    "reward/<name>": Metric("", "what reward.function logged as `name`, averaged over the step"),
    "train/truncated": Metric("share", "completions that the token limit cut off"),
    "train/unparseable": Metric("share", "completions that ended without an answer"),
    "train/grader_error": Metric("share", "completions on which the grader failed"),
    "train/completions/mean_length": Metric("tokens", "length of completions, the end token included"),
    "train/completions/min_length": Metric("tokens", "shortest completion"),
    "train/completions/p95_length": Metric("tokens", "95th percentile of length"),
    "train/completions/max_length": Metric("tokens", "longest completion"),
    "train/lesson_loss": Metric("nats", "what kept lessons add to the loss (method.lessons)"),
    "lessons/built": Metric("lessons", "written from groups with right and wrong answers"),
    "lessons/kept": Metric("lessons", "that are learned"),
    "lessons/too_long": Metric("lessons", "not written, because the pair does not fit the context"),
    "lessons/helped": Metric("share", "problems solved with their lesson in front"),
    "lessons/plain": Metric("share", "success rate on the same problems without lessons, of one fresh sample each"),
    "lessons/uplift": Metric("share", "helped less plain"),
    "lessons/leaks": Metric("share", "kept lessons in which the right answer stands"),
    "lessons/tokens": Metric("tokens", "prompts and completions of lessons, replays, and the plain samples beside them"),
    "time/lessons": Metric("s", "writing and validating lessons"),
    "train/in_circles": Metric("share", "completions cut off because they say the same again and again (method.repeats)"),
    "train/solved_rate": Metric("share", "mean success rate of a finite training set's items, as far as it is known"),
    "train/read_accuracy": Metric("share", "answers of the reader, from the policy's reasoning, that are correct"),
    "train/read_truncated": Metric("share", "texts that did not fit the reader, and answers that never closed their box"),
    "train/read_nothing": Metric("share", "completions without any reasoning for the reader"),
    "train/read_tokens": Metric("tokens", "that the reader read and wrote in this step"),
    "train/step_tokens": Metric("tokens", "prompt and completion tokens of this step"),
    "train/loss": Metric("", "the method's loss, averaged over the step's updates; null where it is not finite"),
    "train/entropy": Metric("nats", "entropy of the policy, averaged over the tokens that count in the loss"),
    "train/clip_ratio/low_mean": Metric("share", "tokens whose ratio was clipped below"),
    "train/clip_ratio/high_mean": Metric("share", "tokens whose ratio was clipped above"),
    "train/clip_ratio/region_mean": Metric("share", "tokens whose ratio was clipped"),
    "train/approx_kl": Metric("nats", "KL to the policy that the ratio is anchored to, by k3, averaged over tokens"),
    "train/kl": Metric("nats", "KL to the policy before training, by the method's estimator (k3 for k1), averaged over tokens"),
    "train/pair_accuracy": Metric("share", "of a reward model: pairs of a right and a wrong candidate that it puts in order"),
    "train/margin": Metric("", "of a reward model: scores of right candidates less those of wrong ones of the same problem"),
    "train/reward_model": Metric("", "score of the step's completions by the reward model, mean"),
    "train/grad_norm": Metric("", "norm of the gradient before clipping, averaged over the step's updates"),
    "train/learning_rate": Metric("", "at the step's last update"),
    "train/skipped_updates": Metric("updates", "updates skipped because loss or gradient was not finite"),
    "train/micro_tokens": Metric("tokens", "of a micro-batch; falls below train.micro_tokens when memory runs out"),
    "train/rows_at_once": Metric("rows", "sampled together at most; falls when memory runs out"),
    "train/num_tokens": Metric("tokens", "prompt and completion tokens since the run began"),
    "sampling/sampling_logp_difference/mean": Metric("nats", "|trainer's log-prob - sampler's| of the drawn tokens, mean"),
    "sampling/sampling_logp_difference/p99": Metric("nats", "the same, 99th percentile"),
    "sampling/sampling_logp_difference/max": Metric("nats", "the same, largest"),
    "sampling/importance_sampling_ratio/min": Metric("ratio", "trainer's probability / sampler's, of a token: smallest"),
    "sampling/importance_sampling_ratio/mean": Metric("ratio", "the same, mean"),
    "sampling/importance_sampling_ratio/max": Metric("ratio", "the same, largest"),
    "sampling/effective_sample_size": Metric(
        "share", "(sum of those ratios)^2 / (tokens x sum of their squares): 1 when all agree"
    ),
    "time/elapsed": Metric("s", "time spent on this run, over all its sittings"),
    "time/rollout": Metric("s", "generation"),
    "time/grade": Metric("s", "grading"),
    "time/read": Metric("s", "a reader's answers from the policy's reasoning"),
    "time/update": Metric("s", "log-probs, loss, backward, optimizer"),
    "time/eval": Metric("s", "of an eval point: generation and grading of one benchmark (in evals.jsonl)"),
    "time/step": Metric("s", "the whole step, without evaluation and saving"),
    "eval/<benchmark>/acc": Metric(
        "share", "mean over items of the share of K samples that are correct, with ci_low, ci_high (95 %)"
    ),
    "eval/<benchmark>/pass": Metric("share", "pass@k: chance that at least one of k samples is correct, unbiased"),
    "eval/<benchmark>/maj": Metric("share", "maj@k: the most frequent answer of k samples is correct; ties count in part"),
    "eval/<benchmark>/tokens_mean": Metric("tokens", "length of completions"),
    "eval/<benchmark>/se": Metric(
        "share", "standard error of the mean over these very items, for what is compared within a run"
    ),
    "eval/<benchmark>/tokens_p95": Metric("tokens", "95th percentile of length"),
    "eval/<benchmark>/truncated": Metric("share", "completions that the token limit cut off"),
    "eval/<benchmark>/unparseable": Metric("share", "completions that ended without an answer"),
    "eval/<benchmark>/error": Metric("share", "completions on which the grader failed"),
    "eval/<benchmark>/rm": Metric(
        "share", "rm@k: the best scored of k candidates is correct; of a reward model's run, acc is rm@8"
    ),
    "eval/<benchmark>/rm_ci": Metric("share", "95 % intervals of rm@k, over items"),
    "eval/<benchmark>/mean": Metric("share", "mean@k: a candidate of the pool is correct, chosen at random"),
    "eval/<benchmark>/efficiency": Metric("share", "(rm@8 - mean@8) / (pass@8 - mean@8)"),
    "eval/<benchmark>/over_maj": Metric("share", "rm@8 less maj@8, paired over items"),
    "eval/<benchmark>/efficiency_ci": Metric("share", "95 % interval over items; so are mean_ci, pass_ci, maj_ci, over_maj_ci"),
    "eval/<benchmark>/score": Metric("", "score of the completions by the reward model in [reward], mean"),
    "eval/<benchmark>/q": Metric("items", "items of the benchmark"),
    "eval/<benchmark>/k": Metric("samples", "samples an item"),
}
"""Every recorded name. evals.jsonl holds the eval metrics as plain keys beside `benchmark`."""


Y_AXES = {"accuracy": ("acc", "Accuracy"), "length": ("tokens_mean", "Tokens a completion")}


def check_y(y: str) -> None:
    """Refuse a vertical axis that no run records."""
    known = [*Y_AXES, *(name for name in METRICS if not name.startswith("eval/"))]
    if y not in known and not y.startswith("reward/"):
        raise UsageError(f"y = {y!r}", expected=", ".join(known), write=nearest(y, known))
