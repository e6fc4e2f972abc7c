"""Small run folders and curve files for figures."""

import json

from helpers.small_run import small_config
from passus.runs.eval_point import EvalPoint
from passus.runs.run_folder import RunFolder


def make_run(path, family="Qwen3", accuracies=(0.2, 0.5, 0.8), tuning=None, model=(), benchmarks=("abacus/add2",), **changes):
    run = RunFolder(path)
    path.mkdir(parents=True)
    model = (
        {"label": f"{family}-shaped, 0.8M", "family": family, "parameters": 1}
        | ({"tuning": tuning} if tuning else {})
        | dict(model)
    )
    run.start(small_config(**changes), model, None)
    for i, accuracy in enumerate(accuracies):
        run.append_evals([
            EvalPoint(
                step=4 * i, benchmark=benchmark, temperature=1.0, acc=accuracy / (1 + n), ci_low=accuracy - 0.1,
                ci_high=accuracy + 0.1, tokens_mean=10.0 * (1 + n) + i, tokens_p95=20.0 + i, q=3, k=4,
            )
            for n, benchmark in enumerate(benchmarks)
        ])  # fmt: skip
    for step in range(1, 9):
        run.append_metrics(
            {
                "step": step,
                "train/reward": None if step == 3 else 0.1 * step,
                "train/num_tokens": 100 * step,
                "time/elapsed": 2.0 * step,
            }
        )
    return run


def curve_file(path, series, x="step", y="accuracy"):
    """Series by (name, benchmark): either y values at 0, 10, ... or whole points."""
    rows = []
    for (name, benchmark), values in series.items():
        points = [v if isinstance(v, dict) else {"x": 10 * i, "y": v} for i, v in enumerate(values)]
        rows.append({"name": name, "benchmark": benchmark, "points": points})
    path.write_text(json.dumps({"x": x, "y": y, "series": rows}))
    return path


def sized(tmp_path, benchmarks=("x", "y")):
    names = ("RM 7B", "RM 0.5B", "RM 72B")
    return curve_file(tmp_path / "sizes.json", {(n, b): [i / 10, 0.5, 0.6] for i, n in enumerate(names) for b in benchmarks})


def items(run, step, correct_QK):
    rows = [(q, k, right) for q, samples in enumerate(correct_QK) for k, right in enumerate(samples)]
    blank = {name: [None] * len(rows) for name in ("extracted", "logp", "completion", "value")}
    columns = {"benchmark": ["abacus/add2"] * len(rows), "temperature": [1.0] * len(rows), "tokens": [5] * len(rows)}
    columns |= {"item": [q for q, _, _ in rows], "sample": [k for _, k, _ in rows]}
    columns["verdict"] = ["correct" if right else "wrong" for _, _, right in rows]
    run.write_rows("items", step, columns | blank)
    _agree(run, step, {"acc": sum(right for _, _, right in rows) / len(rows), "q": len(correct_QK), "k": len(correct_QK[0])})


def _agree(run, step, numbers):
    """Makes the eval point of a step agree with its items."""
    run.forget_checksums()
    path = run.path / "evals.jsonl"
    points = [json.loads(line) for line in path.read_text().splitlines()]
    for point in points:
        if (point["step"], point["benchmark"]) == (step, "abacus/add2"):
            point |= numbers
    path.write_text("".join(json.dumps(point) + "\n" for point in points))


def style_by_line(figure):
    return {s.name: (s.style.colour, s.style.marker, s.style.dash) for s in figure.series if not s.faint}
