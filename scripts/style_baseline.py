"""How far the style of an answer explains best-of-n on the pools of `passus run reward-model`, and what reward models add.

First, the rm@8 of a rule that sees only style: a check before steps, steps before a guess, and truncated answers last. Then,
for each reward model, its pair accuracy within one style: a right and a wrong answer to one problem, both of that style and
both finished.

    python scripts/style_baseline.py runs/reward-model
"""

import sys
from pathlib import Path

import numpy as np

from passus.config.experiment import load_experiment
from passus.evaluation import candidate_sets
from passus.evaluation.candidate_sets import CandidatePool
from passus.evaluation.suite import load_suite
from passus.models import reward_head
from passus.models.policy import Policy
from passus.nano.probe import style_of
from passus.runs.eval_point import BEST_OF
from passus.stats import at_k

TRUNCATED, STYLES = -1, ("direct", "steps", "check")
SCORED_ITEMS = 40
"""Items per benchmark that the reward models score."""


def style_rank(text: str) -> int:
    return STYLES.index(style_of(text)) if text.endswith("}") else TRUNCATED


def style_ranks(pool: CandidatePool) -> np.ndarray:
    return np.array([[style_rank(text) for text in row] for row in pool.completions_QN])


def pair_accuracy(scorer: Policy, pools: list[CandidatePool], style: int) -> float:
    """Returns the pair accuracy within a style. A tie counts half; a pair of equal texts counts like any other."""
    outcomes = []
    for pool in pools:
        items, completions = pool.items_Q[:SCORED_ITEMS], pool.completions_QN[:SCORED_ITEMS]
        scores_QN = reward_head.score_completions(scorer, items, completions, 4096)
        for scores, style_N, correct_N in zip(scores_QN, style_ranks(pool), pool.correct_QN, strict=False):
            scores_N, has_style_N = np.array(scores), style_N == style
            margins = scores_N[has_style_N & (correct_N == 1)][:, None] - scores_N[has_style_N & (correct_N == 0)][None]
            outcomes += (np.sign(margins) / 2 + 0.5).ravel().tolist()
    return float(np.mean(outcomes))


def main(folder: Path) -> None:
    arms = [arm for arm in load_experiment("reward-model").arms if arm.needs]
    config = arms[0].config
    gathered = candidate_sets.gather_candidates(config, folder, arms[0].needs)
    pools = candidate_sets.make_pools(gathered.eval, load_suite(config.eval).items, config.candidates.pool, config.seed)
    styles = np.concatenate([style_ranks(pool).ravel() for pool in pools])
    correct = np.concatenate([pool.correct_QN.ravel() for pool in pools])
    for rank, name in enumerate((*STYLES, "truncated")):
        has_style = styles == (rank if rank < len(STYLES) else TRUNCATED)
        print(f"{name}: {has_style.mean():.3f} of the candidates, {correct[has_style].mean():.3f} right")
    selected = [at_k.rm_at_k(style_ranks(pool), pool.correct_QN, BEST_OF).mean() for pool in pools]
    print(f"selected by style: rm@{BEST_OF} {np.mean(selected):.3f}, mean of {len(pools)} benchmarks")
    for arm in sorted(arms, key=lambda arm: arm.name):
        scorer = reward_head.load(str(folder / arm.name), "cpu", "float32")
        shares = ", ".join(f"{STYLES[n]} {pair_accuracy(scorer, pools, n):.2f}" for n in (1, 2))
        print(f"{arm.name}: pair accuracy within a style: {shares}", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
