"""What rm@8 would be if candidates were chosen by their style alone: a check before steps, steps before a guess.

Of the pools of `passus run reward-model`; what a reward model adds to that, it learned about right and wrong.

    python scripts/choose_by_style.py runs/reward-model
"""

import sys
from pathlib import Path

import numpy as np

from passus import candidates, stats
from passus.curves import BEST_OF
from passus.experiment import load_experiment
from passus.nano.probe import style_of
from passus.suite import load

STYLES = ("direct", "steps", "check")


def main(folder: Path) -> None:
    arm = next(one for one in load_experiment("reward-model").arms if one.needs)
    given = candidates.gather(arm.config, folder, arm.needs)
    pools = candidates.pools(given.to_choose, load(arm.config.eval).items, arm.config.candidates.pool, arm.config.seed)
    styles = [np.array([[STYLES.index(style_of(text)) for text in row] for row in pool.completions_QN]) for pool in pools]
    right = np.concatenate([pool.correct_QN.ravel() for pool in pools])
    of_all = np.concatenate([style.ravel() for style in styles])
    for n, name in enumerate(STYLES):
        print(f"{name}: {(of_all == n).mean():.3f} of the candidates, {right[of_all == n].mean():.3f} right")
    chosen = [stats.rm_at_k(style, pool.correct_QN, BEST_OF).mean() for style, pool in zip(styles, pools, strict=True)]
    print(f"chosen by style: rm@{BEST_OF} {np.mean(chosen):.3f}, mean of {len(pools)} benchmarks")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
