"""How far the form of an answer goes, and what reward models know beyond it, on the pools of `passus run reward-model`.

First rm@8 of a rule that looks at form alone: a check before steps, steps before a guess, what was cut off last. Then, for each
reward model, the share of pairs that it puts in order: a right and a wrong answer to one problem, both of one style and ended.

    python scripts/choose_by_style.py runs/reward-model
"""

import sys
from pathlib import Path

import numpy as np

from passus.config.experiment import load_experiment
from passus.evaluation import candidates
from passus.evaluation.candidates import CandidatePool
from passus.evaluation.suite import load_suite
from passus.models import reward_head
from passus.models.policy import Policy
from passus.nano.probe import style_of
from passus.runs.eval_point import BEST_OF
from passus.stats import at_k

CUT_OFF, STYLES = -1, ("direct", "steps", "check")
FEW = 40
"""Items of a benchmark that the reward models are asked about."""


def form_of(text: str) -> int:
    return STYLES.index(style_of(text)) if text.endswith("}") else CUT_OFF


def forms_of(pool: CandidatePool) -> np.ndarray:
    return np.array([[form_of(text) for text in row] for row in pool.completions_QN])


def in_order(scorer: Policy, pools: list[CandidatePool], style: int) -> float:
    """A tie is half; a pair that says the same counts as any other."""
    found = []
    for pool in pools:
        forms_QN = forms_of(pool)
        values = reward_head.score_completions(scorer, pool.items_Q[:FEW], pool.completions_QN[:FEW], 4096)
        for scores_N, form_N, right_N in zip(values, forms_QN, pool.correct_QN, strict=False):
            own_N = np.array(scores_N)
            apart = own_N[(form_N == style) & (right_N == 1)][:, None] - own_N[(form_N == style) & (right_N == 0)][None]
            found += (np.sign(apart) / 2 + 0.5).ravel().tolist()
    return float(np.mean(found))


def main(folder: Path) -> None:
    arms = [one for one in load_experiment("reward-model").arms if one.needs]
    config = arms[0].config
    given = candidates.gather(config, folder, arms[0].needs)
    pools = candidates.make_pools(given.eval, load_suite(config.eval).items, config.candidates.pool, config.seed)
    forms, right = (
        np.concatenate([forms_of(pool).ravel() for pool in pools]),
        np.concatenate([p.correct_QN.ravel() for p in pools]),
    )
    for form, name in enumerate((*STYLES, "cut off")):
        here = forms == (form if form < len(STYLES) else CUT_OFF)
        print(f"{name}: {here.mean():.3f} of the candidates, {right[here].mean():.3f} right")
    chosen = [at_k.rm_at_k(forms_of(pool), pool.correct_QN, BEST_OF).mean() for pool in pools]
    print(f"chosen by form: rm@{BEST_OF} {np.mean(chosen):.3f}, mean of {len(pools)} benchmarks")
    for arm in sorted(arms, key=lambda one: one.name):
        scorer = reward_head.load(str(folder / arm.name), "cpu", "float32")
        shares = ", ".join(f"{STYLES[n]} {in_order(scorer, pools, n):.2f}" for n in (1, 2))
        print(f"{arm.name}: pairs of one style in order: {shares}", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
