"""`passus eval`: one model on a suite, from its name to eval points, totals and files."""

import json
import time
from collections.abc import Iterator
from pathlib import Path

from passus.config.tables import Config
from passus.evaluation import suite
from passus.evaluation.best_of_n import add_choices
from passus.evaluation.evaluate import evaluate
from passus.formatting import score as shown_score
from passus.interop import lm_eval
from passus.interop.lm_eval import Evaluated
from passus.launch import arm_process
from passus.models import loader, reward_head
from passus.runs.run_folder import RunFolder
from passus.tasks.llm_judge import judge_of


def score(config: Config, seed: int, device: str, selector: str = "") -> Evaluated:
    """Load the data before the model: what is missing is known at once."""
    judge = judge_of(config.judge.url, config.judge.model, config.judge.timeout)
    loaded = suite.load(config.eval, judged=judge is not None)
    arm_process.prepare_process(arm_process.own_threads())
    chosen = loader.choose_device(device)
    table = config.model
    dtype = loader.choose_dtype("auto", chosen)
    policy = loader.load(table.base, chosen, dtype, table.prompt, table.thinking, table.system)
    items = [item for of in loaded.items.values() for item in of]
    policy.check_fit(policy.prompts([(0, item) for item in items]), config.eval_tokens, "--max-tokens")
    said, most = f"--selector {selector}", config.eval_tokens
    scorer = reward_head.load_for(selector, said, items, most, chosen, dtype) if selector else None
    started = time.monotonic()
    points, columns = evaluate(policy, policy.sampler(), config.eval, config.eval_tokens, seed, 0, loaded, judge)
    totals = suite.totals(config.eval, loaded, points, columns)
    if scorer:
        add_choices(points, columns, reward_head.of_rows(scorer, loaded.items, columns, config.train.micro_tokens))
    return Evaluated(table.base, policy, config, seed, loaded, points, totals, columns, time.monotonic() - started)


def write(done: Evaluated, out: Path) -> None:
    """Our own rows, and lm-eval's files."""
    out.mkdir(parents=True, exist_ok=True)
    folder = RunFolder(out)
    folder.write_rows("items", 0, done.columns)
    folder.append_totals(done.totals)
    folder.append_evals(done.points)
    lm_eval.write(out, done)


def lines(done: Evaluated, *, as_json: bool) -> Iterator[str]:
    """What is printed: points, then totals; what was left out comes last, for machines too."""
    if as_json:
        yield from (json.dumps(row) for row in [*done.points, *done.totals])
        if done.loaded.left_out or done.loaded.unjudged:
            yield json.dumps({"left_out": done.loaded.left_out, "unjudged": done.loaded.unjudged})
        return
    for row in [*done.points, *done.totals]:
        name = row.get("benchmark") or f"{row['suite']}, mean over {row['mean_over']}"
        length = f"length {row['tokens_mean']:.1f}  truncated {row['truncated']:.3f}"
        yield f"{name}  accuracy {shown_score(row)}  {row['q']} items x {row['k']}  {length}"
        if "rm" in row:
            best = [
                f"{k}: {row['pass'][k]:.3f} / {value:.3f} [{row['rm_ci'][k][0]:.3f}, {row['rm_ci'][k][1]:.3f}]"
                for k, value in row["rm"].items()
                if k in row["pass"]
            ]
            share = f"  efficiency {row['efficiency']:.2f}" if row["efficiency"] is not None else ""
            yield f"  pass@k / rm@k  {', '.join(best)}  maj@{row['k']} {row['maj'][str(row['k'])]:.3f}{share}"
        for reason, count in row.get("judge", {}).items():
            yield f"  {count} answers without a verdict: {reason}"
