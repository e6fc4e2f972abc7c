"""`passus import`: runs of other tools as run folders."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from passus.cli.options import Json
from passus.errors import UsageError

if TYPE_CHECKING:
    from passus.interop.importers.import_sources import PlannedRun
    from passus.interop.importers.imported_run import ImportedRun

Several = Parameter(negative=(), show_default=False)
Texts = Annotated[list[str] | None, Several]
Switch = Annotated[bool, Parameter(negative=(), show_default=False)]
MOST_SHOWN = 40
"""Runs, and metrics of a run, that are listed."""
MOST_NOTES = 12
"""Notes about a run that are printed."""
EVIDENCE = {
    "L2": "items + samples", "L1": "counts", "L0": "points only: no intervals", "none": "no accuracy",
}  # fmt: skip


def import_(
    *sources: Path, out: Path | None = None, accuracy: Texts = None, items: Texts = None, samples: int | None = None,
    percent: Switch = False, model: str | None = None, seed: int | None = None, step: int | None = None, rename: Texts = None,
    benchmark: str | None = None, regrade: Switch = False, one_run: Switch = False, dry_run: Switch = False,
    json_: Json = False,
) -> int:  # fmt: skip
    """Import runs of other tools, so that every command that looks at runs takes them.

    Reads verl, TRL, prime-rl and OpenRLHF runs, W&B, TensorBoard, trackio and MLflow records, results of lm-eval, Inspect,
    lighteval and OpenCompass, and plain CSV and JSONL. docs/import.md lists what each gives. Run it again to add what is new.

    Parameters
    ----------
    sources
        Files or folders. Folders are searched, and may hold several tools.
    out
        Folder for the run folders. Default: runs/<name of the first source>.
    accuracy
        A metric of the source that is an accuracy. May be repeated.
    items
        Number of items of a benchmark, as aime24=30. May be repeated. With it, accuracies have intervals.
    samples
        Samples per item behind every accuracy.
    percent
        Accuracies are in percent.
    model
        Model of the runs, where the source does not say it: Qwen3-0.6B.
    seed
        Seed of the runs, where the source does not say it.
    step
        Training step of an evaluation that does not say it.
    rename
        A new name for a run, a metric or a benchmark, as OLD=NEW. May be repeated.
    benchmark
        Benchmark of samples or accuracies that do not name theirs.
    regrade
        Let passus grade the samples again. The source's own score is kept beside the verdict.
    one_run
        All sources are parts of one run, such as a log and validation dumps.
    dry_run
        Say what was found and what is missing. Writes nothing.
    json_
        Print one JSON object per run.
    """
    from passus.interop.importers.import_options import ImportOptions, parse_items, parse_pairs
    from passus.interop.importers.import_sources import import_runs, plan_import

    if not sources:
        raise UsageError("no source was given", expected="files or folders of another tool", write="passus import outputs/")
    if samples is not None and samples < 1:
        raise UsageError(f"--samples {samples}", expected="1 or more")
    options = ImportOptions(
        tuple(accuracy or ()), parse_items(items or ()), samples, percent, seed, model, step,
        parse_pairs(rename or (), "--rename", "val-core/gsm8k=gsm8k"), benchmark, regrade, one_run,
    )  # fmt: skip
    folder = out or Path("runs") / (sources[0].resolve().stem or "imported")
    planned = plan_import(sources, folder, options)
    if not dry_run:
        import_runs(planned, options)
    print_import(planned, folder, dry_run, json_)
    return 0


def print_import(planned: "list[PlannedRun]", folder: Path, dry_run: bool, as_json: bool) -> None:
    """Prints what was found per run, what is missing, and what to do next."""
    from passus.console import json_line, print_line, print_next_commands

    for plan in planned:
        if as_json:
            print(json_line(_row(plan)))
    if as_json:
        return
    before: list[str] = []
    for plan in planned[:MOST_SHOWN]:
        names = sorted({name for row in plan.run.metrics for name in row} - {"step"})
        for line in _lines(plan, names, before):
            print_line(line)
        before = names
    if len(planned) > MOST_SHOWN:
        print_line(f"and {len(planned) - MOST_SHOWN} more runs")
    if dry_run:
        print_line("dry run: nothing was written")
        return
    print_next_commands(f"passus ls {folder}", f"passus report {folder} --out report.html")


def _row(plan: "PlannedRun") -> dict[str, object]:
    run = plan.run
    return {
        "run": str(plan.folder), "name": run.name, "tool": run.source.tool, "steps": run.steps,
        "seed": plan.seed if plan.seed_known else None, "model": run.facts.model or None, "method": run.facts.method or None,
        "benchmarks": run.benchmarks, "level": run.level, "eval_steps": len(run.source.samples) or len(run.points),
        "metrics": sorted({name for row in run.metrics for name in row} - {"step"}), "candidates": run.candidates,
        "remarks": run.remarks, "files": [str(path) for path in run.source.files],
    }  # fmt: skip


def _lines(plan: "PlannedRun", names: list[str], before: list[str]) -> list[str]:
    """Says what a run has. Metrics that the run before it has too are not listed again."""
    run = plan.run
    seed = f"seed {plan.seed}" if plan.seed_known else "seed unknown (--seed)"
    model = run.facts.model or "model unknown (--model)"
    lines = [f"{plan.folder}: {run.source.tool}, {run.steps} steps, {seed}, {model}"]
    more = f" and {len(names) - MOST_SHOWN} more" if len(names) > MOST_SHOWN else ""
    listed = "the same" if names == before else f"{', '.join(names[:MOST_SHOWN])}{more}"
    lines += [f"  metrics: {listed}"] if names else []
    lines.append(f"  accuracy: {_accuracy(run)}")
    lines += [f"  note: {remark}" for remark in run.remarks[:MOST_NOTES]]
    return lines + ([f"  and {len(run.remarks) - MOST_NOTES} more notes (--json)"] if len(run.remarks) > MOST_NOTES else [])


def _accuracy(run: "ImportedRun") -> str:
    steps = len(run.source.samples)
    if steps and not run.is_written:
        return f"{steps} step{'s' * (steps != 1)} with {EVIDENCE['L2']}"
    if run.points:
        found = ", ".join(f"{name} ({EVIDENCE[run.level_of(name)]})" for name in run.benchmarks)
        return f"{found}; {len(run.points)} eval point{'s' * (len(run.points) != 1)}"
    hint = f"; --accuracy takes one of: {', '.join(run.candidates[:8])}" if run.candidates else ""
    return f"none found{hint}"
