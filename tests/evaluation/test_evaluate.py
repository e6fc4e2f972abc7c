"""Evaluation of a policy: samples per item and temperature."""

from passus.config.tables import EvalTable
from passus.evaluation.evaluate import evaluate


class CountingSampler:
    """Counts the completions that are generated at each temperature."""

    def __init__(self, sampler):
        self.sampler, self.completions = sampler, {}

    def generate(self, prompts, params):
        rollout = self.sampler.generate(prompts, params)
        self.completions[params.temperature] = len(rollout.tokens)
        return rollout


def test_greedy_evaluation_decodes_an_item_once(nano):
    """Four greedy samples of an item would be equal: one is decoded, and recorded as one sample."""
    table = EvalTable(suite=["abacus/add2"], samples=4, limit=5, temperature=[0.0, 1.0])
    sampler = CountingSampler(nano.sampler(lambda: None))
    points, columns = evaluate(nano, sampler, table, 24, seed=0, step=0)
    assert sampler.completions == {0.0: 5, 1.0: 20}
    greedy, sampled = points
    assert (greedy.k, greedy.q, sampled.k) == (1, 5, 4) and set(greedy.pass_at_k) == {"1"}
    assert columns["temperature"].count(0.0) == 5 and columns["temperature"].count(1.0) == 20
