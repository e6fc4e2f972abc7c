"""The reward of an arm as a formula, from the fields that `training/rewards.py` adds up."""

from passus.config.tables import Config


def reward_formula(config: Config) -> str:
    """Returns the reward of a completion: `1 [correct] + 0.1 [one closed box] - overlong(length)`, and what the words mean."""
    values, reward, method = config.reward.values, config.reward, config.method
    terms = [
        (values.correct, "[correct]"), (values.wrong, "[wrong]"), (values.unparseable, "[no answer]"),
        (values.truncated, "[truncated]"), (values.format, "[ends with one box]"),
        (values.model if reward.model else 0.0, f"x score of {reward.model}"),
        (values.function if reward.function else 0.0, f"x {reward.function}"),
        (method.length_reward, "x length term"),
        (-1.0 if method.soft_overlong else 0.0, "x overlong(length)"),
        (-method.kl_coef if method.kl_estimator == "k1" else 0.0, "x KL to the reference"),
    ]  # fmt: skip
    written = [(weight, word) for weight, word in terms if weight]
    if not written:
        return "0 for every completion"
    first, *others = written
    formula = ("-" if first[0] < 0 else "") + _term(*first)
    formula += "".join(f" {'-' if weight < 0 else '+'} {_term(weight, word)}" for weight, word in others)
    return "; ".join([formula, *_meanings(config)])


def _term(weight: float, word: str) -> str:
    """Returns a term without its sign. A factor of 1 is left out."""
    return word.removeprefix("x ") if abs(weight) == 1 and word.startswith("x ") else f"{abs(weight):g} {word}"


def _meanings(config: Config) -> list[str]:
    """Explains the terms that have a shape of their own."""
    method, meanings = config.method, []
    if config.reward.reader:
        meanings.append(f"the verdict is that of reader {config.reward.reader}, which answers from the reasoning")
    if method.length_reward:
        start = f", from step {method.length_reward_from} on" if method.length_reward_from > 1 else ""
        meanings.append(f"length term: .5 for the shortest of its group to -.5 for the longest, at most 0 if wrong{start}")
    if method.soft_overlong:
        tokens = round(method.soft_overlong * config.train.max_tokens)
        meanings.append(f"overlong rises from 0 to 1 over the last {tokens} of {config.train.max_tokens} tokens")
    return meanings
