"""`passus eval`: one model on a suite of benchmarks, from its name to eval points, totals and files."""

import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from passus.cli.options import Data, Device, Json, Thinking, use_data
from passus.errors import UsageError, check_train_packages

if TYPE_CHECKING:
    from passus.config.tables import Config
    from passus.interop.lm_eval import EvaluationResult


def eval(
    model: str, *, suite: str, samples: int = 4, temperature: float = 1.0, max_tokens: int = 256, limit: int = 0,
    extract: Literal["any", "boxed"] = "any", seed: int = 0, device: Device = "auto", prompt: str = "auto", system: str = "",
    thinking: Thinking = "default", judge: str = "", judge_model: str = "", judge_timeout: float = 60.0, selector: str = "",
    data: Data = None, out: Path | None = None, json_: Json = False,
) -> int:  # fmt: skip
    """Evaluate a model on benchmarks.

    Parameters
    ----------
    model
        A shipped model, a model folder, an adapter, a run (RUN or RUN@step), or a Hugging Face model id.
    suite
        Benchmarks, suites (kimi12, acemath7, mel5, abacus) or JSONL files, separated by commas.
    samples
        Number of completions per item.
    temperature
        Sampling temperature. 0 is greedy decoding.
    max_tokens
        Maximum number of tokens per completion.
    limit
        Use only the first items of each benchmark. 0 uses all of them.
    extract
        Answers that count. any: a box, else an answer announced in words. boxed: a box alone.
    seed
        Seed of the sampling noise.
    device
        Device that runs the model.
    prompt
        Prompt template, as model.prompt in an experiment file.
    system
        System prompt, as model.system in an experiment file.
    thinking
        Thinking switch of the chat template, as model.thinking in an experiment file.
    judge
        URL of an OpenAI-compatible endpoint that grades the items no rule can grade. Its key is read from $PASSUS_JUDGE_KEY.
    judge_model
        Name of the judge model at that endpoint.
    judge_timeout
        Seconds to wait for one answer of the judge.
    selector
        A reward model that selects among the samples of each item. Adds rm@k to the results.
    out
        New folder for evals.jsonl and items/, and for results and samples in lm-eval's format.
    json_
        Print eval points as JSON lines.
    """
    from passus.config import resolve

    if max_tokens < 1:
        raise UsageError(f"--max-tokens {max_tokens}", expected="1 or more")
    use_data(data)
    config = resolve.eval_config(
        suite, samples, temperature, max_tokens, limit,
        {"base": model, "prompt": prompt, "system": system, "thinking": thinking},
        {"url": judge, "model": judge_model}, extract,
    )  # fmt: skip
    if out is not None:
        _create_folder(out)

    from passus.console import print_next_commands, spinner

    with spinner("evaluating"):
        evaluated = evaluate_model(config, seed, device, selector, judge_timeout)
    if out is not None:
        write_results(evaluated, out)
    for line in result_lines(evaluated, as_json=json_):
        print(line)
    if out is not None and not json_:
        print(f"rows: {out / 'items'}")
    elif not json_:
        print_next_commands(f"passus eval {model} --suite {suite} --out scores   # keeps every completion")
    for remark in evaluated.suite.remarks():
        print(remark, file=sys.stderr)
    return 0


def _create_folder(out: Path) -> None:
    """Creates the output folder before the evaluation, because a failure afterwards would lose its results."""
    if (out / "evals.jsonl").exists():
        raise UsageError(f"{out} already holds an evaluation", expected="a new folder")
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"--out {out}: {error.strerror}", expected="a folder that can be created") from None


def evaluate_model(config: "Config", seed: int, device: str, selector: str, judge_timeout: float) -> "EvaluationResult":
    """Evaluates a model. Loads the data before the model, so that missing data is reported at once."""
    check_train_packages()
    from passus.engine.device import choose_device, choose_dtype
    from passus.evaluation import suite
    from passus.evaluation.best_of_n import add_rm_at_k
    from passus.evaluation.evaluate import evaluate
    from passus.interop.lm_eval import EvaluationResult
    from passus.launch import arm_process
    from passus.models import loader, reward_head
    from passus.models.lossy_prompts import find_lossy_prompts
    from passus.tasks.llm_judge import make_judge

    judge = make_judge(config.judge.url, config.judge.model, judge_timeout)
    loaded = suite.load_suite(config.eval, judged=judge is not None)
    arm_process.set_up_process(arm_process.process_threads())
    chosen_device = choose_device(device)
    model, max_tokens = config.model, config.eval_tokens
    dtype = choose_dtype("auto", chosen_device)
    policy = loader.load(model.base, chosen_device, dtype, model.prompt, model.thinking, model.system)
    items = [item for benchmark_items in loaded.items.values() for item in benchmark_items]
    policy.check_fits_context(policy.prompts([(0, item) for item in items]), max_tokens, "--max-tokens")
    for benchmark, benchmark_items in loaded.items.items():
        if lossy := find_lossy_prompts(policy.chat, benchmark, benchmark_items):
            print(f"warning: {lossy}", file=sys.stderr)
    scorer = None
    if selector:
        scorer = reward_head.load_checked(selector, f"--selector {selector}", items, max_tokens, chosen_device, dtype)
    started = time.monotonic()
    points, columns = evaluate(policy, policy.sampler(), config.eval, max_tokens, seed, 0, loaded, judge)
    totals = suite.suite_totals(config.eval, loaded, points, columns)
    if scorer:
        points = add_rm_at_k(
            points, columns, reward_head.score_item_rows(scorer, loaded.items, columns, config.train.micro_tokens)
        )
    return EvaluationResult(model.base, policy, config, seed, loaded, points, totals, columns, time.monotonic() - started)


def write_results(evaluated: "EvaluationResult", out: Path) -> None:
    """Writes item rows and eval points in the layout of a run folder, and lm-eval's files beside them."""
    from passus.interop import lm_eval
    from passus.runs.run_folder import RunFolder

    out.mkdir(parents=True, exist_ok=True)
    folder = RunFolder(out)
    folder.write_rows("items", 0, evaluated.columns)
    folder.append_totals(evaluated.totals)
    folder.append_evals(evaluated.points)
    lm_eval.write_files(out, evaluated)


def result_lines(evaluated: "EvaluationResult", *, as_json: bool) -> Iterator[str]:
    """Yields the lines to print: eval points, then totals; in JSON, last the benchmarks that were left out."""
    from passus.console import json_line

    rows = [*(point.to_row() for point in evaluated.points), *evaluated.totals]
    if not as_json:
        for row in rows:
            yield from _row_lines(row)
        return
    yield from map(json_line, rows)
    loaded = evaluated.suite
    if loaded.left_out or loaded.unjudged:
        yield json_line({"left_out": loaded.left_out, "unjudged": loaded.unjudged})


def _row_lines(row: dict[str, Any]) -> Iterator[str]:
    from passus.formatting import score

    name = row.get("benchmark") or f"{row['suite']}, mean over {row['mean_over']}"
    length = f"length {row['tokens_mean']:.1f}  truncated {row['truncated']:.3f}"
    extraction = f"  extract {row['extract']}" if "extract" in row else ""
    clusters = f" in {row['clusters']} cluster{'s' * (row['clusters'] > 1)}" if "clusters" in row else ""
    size = f"{row['q']} items{clusters} x {row['k']}"
    yield f"{name}  accuracy {score(row['acc'], row['ci_low'], row['ci_high'])}  {size}  {length}{extraction}"
    if "rm" in row:
        best_of = [
            f"{k}: {row['pass'][k]:.3f} / {score(rm, *row['rm_ci'][k]) if 'rm_ci' in row else f'{rm:.3f}'}"
            for k, rm in row["rm"].items()
            if k in row["pass"]
        ]
        efficiency = f"  efficiency {row['efficiency']:.2f}" if row["efficiency"] is not None else ""
        yield f"  pass@k / rm@k  {', '.join(best_of)}  maj@{row['k']} {row['maj'][str(row['k'])]:.3f}{efficiency}"
    for reason, count in row.get("judge", {}).items():
        yield f"  {count} answers without a verdict: {reason}"
