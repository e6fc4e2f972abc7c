"""The commands, thin: parse, call, print, exit. Heavy imports stand inside the commands, so that --help answers at once."""

import json
import os
import sys
from pathlib import Path
from typing import Annotated, Literal, NoReturn

from cyclopts import App, Parameter

import passus
from passus.errors import PassusError, UsageError

app = App(
    name="passus",
    version=passus.__version__,
    help="A laboratory for reinforcement learning with verifiable rewards: train, measure, draw, explain.",
)
Device = Literal["auto", "cpu", "cuda"]
Thinking = Literal["default", "on", "off"]
Data = Annotated[Path | None, Parameter(help="a folder with the files of benchmarks and training sets; default: $PASSUS_DATA")]
Set = Annotated[
    list[str] | None, Parameter(name="--set", negative=(), help="key=value over the experiment file; may be repeated")
]


def main() -> NoReturn:
    try:
        code = app(result_action="return_value")
    except PassusError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        sys.exit(130)
    except BrokenPipeError:
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115 (nobody reads any more; leave without a word)
        sys.exit(0)
    except OSError as error:
        print(f"error: {error.filename}: {error.strerror}" if error.filename else f"error: {error}", file=sys.stderr)
        sys.exit(1)
    sys.exit(code if isinstance(code, int) else 0)


@app.command
def run(
    experiment: str, *, out: Path | None = None, set_: Set = None, jobs: int = 1, arm: str | None = None, dry_run: bool = False,
    data: Data = None,
) -> int:  # fmt: skip
    """Run every arm of an experiment; run again, it continues where it stopped and redoes nothing.

    Parameters
    ----------
    experiment
        A TOML file, or the name of a shipped experiment.
    out
        Where the arms' run folders go. Default: runs/<experiment>.
    jobs
        Arms at a time.
    arm
        Run this arm only, in this process.
    dry_run
        Print the resolved arms and what follows from them; run nothing.
    """
    from passus.config.experiment import load_experiment, slug
    from passus.console import say, say_next
    from passus.launch import dry_run as plan
    from passus.launch import runner
    from passus.reports import status_page

    _use_data(data)
    loaded = load_experiment(experiment, set_ or [])
    folder = out or Path("runs") / slug(loaded.name)
    _check_jobs(jobs)
    if dry_run:
        print(plan.describe(loaded, folder))
        return 0
    if arm is not None:
        from passus.launch.arm_process import run_arm

        return run_arm(loaded.arm(arm), folder / arm, say)
    code = runner.Runner(loaded, set_ or [], folder, jobs).run()
    if code == 0:
        try:
            figure = status_page.draw(folder, loaded)
        except UsageError as error:  # the arms are done; what the file asks to see may not be in them
            print(f"the figure was not drawn: {error}", file=sys.stderr)
            figure = None
        trained = next((one.name for one in loaded.arms if not one.config.method.draws), loaded.arms[0].name)
        say_next(f"passus show {folder / trained}", f"passus ls {folder}", f"passus plot {folder} --out figure.pdf")
        if figure:
            say(f"figure: {figure}")
    return code


def _use_data(folder: Path | None) -> None:
    """Arms are processes of their own, so it goes into the environment."""
    if folder is None:
        return
    if not folder.is_dir():
        raise UsageError(f"--data {folder}: no such folder", expected="a folder with files such as gsm8k.jsonl")
    os.environ["PASSUS_DATA"] = str(folder.resolve())


def _check_jobs(jobs: int) -> None:
    if jobs < 1:
        raise UsageError(f"--jobs {jobs}", expected="1 or more")


@app.command
def demo(*, out: Path = Path("runs/demo"), jobs: int | None = None) -> int:
    """The `families` experiment on the shipped nano models, on this computer's CPU. Figure and page grow at every eval point.

    Parameters
    ----------
    out
        Where the run folders, the figure and report.html go.
    jobs
        Arms at a time. Default: as many as there are cores.
    """
    from passus.cli import demo

    if jobs is not None:
        _check_jobs(jobs)
    return demo.run(out, jobs)


@app.command
def eval(
    model: str, *, suite: str, samples: int = 4, temperature: float = 1.0, max_tokens: int = 256, limit: int = 0, seed: int = 0,
    device: Device = "auto", prompt: str = "auto", system: str = "", thinking: Thinking = "default", judge: str = "",
    judge_model: str = "", judge_timeout: float = 60.0, selector: str = "", data: Data = None, out: Path | None = None,
    json_: Annotated[bool, Parameter(name="--json", negative=())] = False,
) -> int:  # fmt: skip
    """Evaluate a model on benchmarks.

    Parameters
    ----------
    model
        A shipped model, a folder, an adapter, a run (RUN or RUN@step), or a hub id.
    suite
        Benchmarks, suites of them (kimi12, acemath7, mel5, abacus) or files of your own (mine.jsonl), separated by commas.
    samples
        Completions of each item.
    temperature
        0 is greedy.
    max_tokens
        Longest completion.
    limit
        First items of each benchmark only; 0 for all.
    device
        auto, cpu or cuda.
    prompt
        How a question is put to the model, as model.prompt in an experiment file.
    system
        A system line in front, as model.system.
    thinking
        The chat template's switch, as model.thinking in an experiment file.
    judge
        An OpenAI-compatible endpoint for items that no rule can grade; its key is read from $PASSUS_JUDGE_KEY.
    judge_model
        The judge's name there.
    judge_timeout
        Seconds for one answer.
    selector
        A reward model that chooses among the samples of an item: adds rm@k.
    out
        A new folder for evals.jsonl and items/, and for lm-eval's results and samples.
    json_
        Print eval points as JSON lines.
    """
    from passus.config import tables

    if max_tokens < 1:
        raise UsageError(f"--max-tokens {max_tokens}", expected="1 or more")
    _use_data(data)
    asked = tables.eval_config(
        suite, samples, temperature, max_tokens, limit,
        {"base": model, "prompt": prompt, "system": system, "thinking": thinking},
        {"url": judge, "model": judge_model, "timeout": judge_timeout},
    )  # fmt: skip
    if out is not None:
        _check_new(out)

    from rich.console import Console

    from passus.cli import eval as scoring
    from passus.console import say_next

    with Console(stderr=True).status("evaluating"):
        done = scoring.score(asked, seed, device, selector)
    if out is not None:
        scoring.write(done, out)
    for line in scoring.lines(done, as_json=json_):
        print(line)
    if out is not None and not json_:
        print(f"rows: {out / 'items'}")
    elif not json_:
        say_next(f"passus eval {model} --suite {suite} --out scores   # keeps every completion")
    for remark in done.loaded.remarks():
        print(remark, file=sys.stderr)
    return 0


def _check_new(out: Path) -> None:
    """Before the work: a folder that cannot be written would lose it."""
    if (out / "evals.jsonl").exists():
        raise UsageError(f"{out} already holds an evaluation", expected="a new folder")
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"--out {out}: {error.strerror}", expected="a folder that can be made") from None


benchmarks = App(name="benchmarks", help="The table of benchmarks: what there is, what is here, fetching.")
app.command(benchmarks)


@benchmarks.default
@benchmarks.command(name="list")
def benchmarks_list(*, data: Data = None, json_: Annotated[bool, Parameter(name="--json", negative=())] = False) -> int:
    """Every benchmark: items, domain, usual K, where its data is.

    Parameters
    ----------
    json_
        One JSON object a line.
    """
    from passus.cli.catalogue import listing
    from passus.console import say_next

    _use_data(data)
    rows = listing()
    for row in rows if json_ else []:
        print(json.dumps(row))
    if not json_:
        from passus.cli.inspect import print_benchmarks

        print_benchmarks(rows)
        say_next("passus show gsm8k --model nano/qwen3", "passus benchmarks pull gsm8k", "passus eval MODEL --suite mel5")
    return 0


@benchmarks.command(name="pull")
def benchmarks_pull(name: str, *, data: Data = None) -> int:
    """Load a benchmark, or all of a suite: from its file, or from the hub into Hugging Face's own cache; every row is checked.

    Parameters
    ----------
    name
        A benchmark, a suite, or a file.
    """
    from passus.config import tables
    from passus.console import say_next
    from passus.evaluation import suite
    from passus.tasks import dataset

    _use_data(data)
    asked = tables.eval_config(name, 1, 1.0, 1, 0, {"base": "-"}, {})
    loaded = suite.load(asked.eval, judged=True)
    for benchmark, items in loaded.items.items():
        print(f"{benchmark}: {len(items)} items")
    for remark in loaded.remarks():
        print(remark, file=sys.stderr)
    say_next(f"passus show {next(iter(loaded.items))} --model nano/qwen3   # what a model sees; files: ${dataset.DATA}")
    return 0


@app.command
def ls(folder: Path = Path("runs"), *, json_: Annotated[bool, Parameter(name="--json", negative=())] = False) -> int:
    """Runs and their state.

    Parameters
    ----------
    folder
        Where to look.
    json_
        One JSON object a line.
    """
    from passus.cli.inspect import listing, print_listing

    rows = listing(folder)
    if json_:
        for row in rows:
            print(json.dumps(row))
    else:
        print_listing(rows, folder)
    return 0


@app.command
def show(
    what: str, *, step: int | None = None, samples: int = 4, verdict: str | None = None, item: int = 0,
    model: str = "nano/qwen3", prompt: str = "auto", system: str = "", thinking: Thinking = "default", data: Data = None,
) -> int:  # fmt: skip
    """Samples of a run at a step, with exactly what the model saw; or an item of a benchmark, as a model would see it.

    Parameters
    ----------
    what
        A run folder, or a benchmark.
    step
        The step; the last one, if not given. Step 0 shows eval items, since nothing was trained on yet.
    samples
        How many.
    verdict
        Only those with this verdict.
    item
        Of a benchmark: its number.
    model
        Of a benchmark: whose chat template puts the question; only its tokenizer is loaded.
    prompt
        Of a benchmark: as model.prompt in an experiment file.
    system
        Of a benchmark: as model.system.
    thinking
        Of a benchmark: as model.thinking.
    """
    from passus.cli.inspect import show_item, show_samples
    from passus.tasks.lookup import is_benchmark

    _use_data(data)
    if not Path(what).is_dir() and is_benchmark(what):
        show_item(what, item, model, prompt, system, thinking)
    else:
        show_samples(Path(what), step, samples, verdict)
    return 0


@app.command
def explain(field: str | None = None) -> int:
    """What a field of an experiment file, or a recorded metric, means.

    Parameters
    ----------
    field
        `train.learning_rate`, `train/reward`, a table (`train`), or nothing for all fields.
    """
    from passus.config.explain import explain as text

    print(text(field))
    return 0


@app.command
def plot(
    *sources: Path,
    out: Path,
    kind: Literal["curves", "grid", "heatmap", "solved", "readers", "choice", "pleasing"] = "curves",
    x: Literal["step", "tokens", "time", "progress"] | None = None,
    y: str = "accuracy",
    title: str | None = None,
    reference: Annotated[list[Path] | None, Parameter(negative=())] = None,
    column: Annotated[bool, Parameter(negative=())] = False,
) -> int:
    """A figure from run folders or curve files, or the data behind it.

    Parameters
    ----------
    sources
        Run folders, folders of run folders, or curve files (JSON).
    out
        The figure: .svg, .pdf or .png; .csv for its data.
    kind
        curves: a line a run, a panel a benchmark. grid: accuracy and length of one run, all its benchmarks. heatmap: lines by
        progress. solved: items by steps, of one run. readers: who can answer from what was written.
        choice: rm@k of reward models against k. pleasing: a reward model's score beside the verifier's accuracy.
    x
        step, tokens, time or progress; step, if not given (a heatmap: progress).
    y
        accuracy, length, or a recorded metric such as train/reward.
    title
        Above the figure.
    reference
        A curve file to draw behind; may be repeated.
    column
        As wide as a column of a paper, with small type.
    """
    from passus.console import say_next
    from passus.figures import kinds
    from passus.runs import curves

    figure = kinds.figure(curves.found(sources), kind, x, y, title, curves.found(reference or []))
    kinds.draw(figure, out, column=column)
    print(f"{'data' if out.suffix == '.csv' else 'figure'}: {out}")
    shown = " ".join(map(str, sources))
    other = "accuracy" if y == "length" else "length"
    say_next(f"passus plot {shown} --y {other} --out {out.with_stem(f'{out.stem}-{other}')}", f"passus analyse {shown}")
    return 0


@app.command
def report(*sources: Path, out: Path, title: str | None = None) -> int:
    """The written analysis, with figures: what was run, how each line went, what can be said of it, what to run next.

    Parameters
    ----------
    sources
        Run folders, folders of run folders, or curve files (JSON).
    out
        The report: .html, one file that needs nothing else, or .md, with its figures beside it.
    title
        Its heading.
    """
    from passus.console import say_next
    from passus.reports import renderer
    from passus.reports import report as reports

    for path in renderer.write(reports.report(list(sources), title), out):
        print(f"{'report' if path == out else 'figure'}: {path}")
    say_next(f"passus analyse {' '.join(map(str, sources))}")
    return 0


Json = Annotated[bool, Parameter(name="--json", negative=())]


@app.command
def analyse(*sources: Path, json_: Json = False) -> int:
    """Every analysis of docs/analysis.md on runs, or on published curves: claims with their evidence and a verdict.

    Parameters
    ----------
    sources
        Run folders, folders of run folders, or curve files (JSON).
    json_
        One JSON object a finding.
    """
    from passus.analysis import analyse as analysis
    from passus.console import say_next
    from passus.reports.terminal import tell_findings
    from passus.runs import curves

    found = analysis.analyse(curves.load(list(sources)))
    if json_:
        for finding in found:
            print(json.dumps(finding.to_json(), allow_nan=False))
        return 0
    tell_findings(found)
    say_next(f"passus plot {' '.join(map(str, sources))} --out figure.svg")
    return 0


@app.command
def grade(
    *,
    input_: Annotated[Path, Parameter(name="--input")],
    output: Path,
    jobs: int | None = None,
    timeout: float = 3.0,
) -> int:
    """Grade outputs in a file, by the verifier that training and evaluation use.

    Parameters
    ----------
    input_
        A JSON object a line: gold, output, and, if need be, kind (math or choice), choices and truncated.
    output
        The same lines in the same order, each with verdict, extracted and reason.
    jobs
        Processes for formulas that take algebra; one a core, if not given.
    timeout
        Seconds for one such formula; its time begins when a process takes it.
    """
    from passus.cli.grade_file import grade_file
    from passus.config.tables import default_threads
    from passus.console import say_next
    from passus.grading import math_verify_pool

    _check_jobs(1 if jobs is None else jobs)
    if not 0 < timeout <= 3600:
        raise UsageError(f"--timeout {timeout:g}", expected="seconds, more than 0 and at most 3600")
    math_verify_pool.pool().set_up(jobs or default_threads(), timeout)
    counts = grade_file(input_, output)
    print(f"{sum(counts.values())} lines: " + ", ".join(f"{count} {verdict}" for verdict, count in counts.most_common()))
    say_next(f"head {output}")
    return 0


@app.command
def compare(
    a: Path,
    b: Path,
    *,
    benchmark: str | None = None,
    summary: Literal["last", "area"] = "last",
    fail_on_regression: Annotated[bool, Parameter(negative=())] = False,
    json_: Json = False,
) -> int:
    """Two runs on the same items: A less B with its interval, and the items that make the difference.

    Parameters
    ----------
    a
        A run folder: the new one.
    b
        The run folder that it is compared with.
    benchmark
        Only this one.
    summary
        The mean of the last three eval points that both have, or the area under the curve.
    fail_on_regression
        Exit with code 3 if A is below B beyond noise: on any benchmark after Holm's correction, or over all.
    json_
        One JSON object a benchmark.
    """
    from passus.analysis.run_comparison import compare as compared
    from passus.analysis.run_comparison import regressed
    from passus.console import say_next
    from passus.reports.terminal import tell_comparison

    found = compared(a, b, benchmark, summary)
    if json_:
        for one in found:
            print(json.dumps(one.to_json()))
    else:
        tell_comparison(found, a, b, summary)
        say_next(f"passus plot {a} {b} --out figure.svg")
    return 3 if fail_on_regression and regressed(found) else 0


@app.command
def read(text: Path, *, out: Path) -> int:
    """A chart description into a curve file: every number it gives, every claim with its line, and what could not be read.

    Parameters
    ----------
    text
        The description.
    out
        The curve file (JSON).
    """
    from passus.console import say_next
    from passus.descriptions import chart_text
    from passus.runs import curves

    found = chart_text.read(_text(text), text.stem, str(text))
    curves.write_file(found, out)
    points = sum(len(curve.points) for curve in found.series)
    print(f"{out}: {len(found.series)} series, {points} points, {len(found.claims)} claims")
    for claim in found.unread:
        print(f"not read, line {claim.line}: {claim.text}")
    say_next(f"passus analyse {out}", f"passus plot {out} --out figure.svg")
    return 0


@app.command
def describe(*sources: Path, out: Path | None = None) -> int:
    """Runs or curve files as a chart description, in the form that `read` reads.

    Parameters
    ----------
    sources
        Run folders, folders of run folders, or curve files (JSON).
    out
        A file for it; printed, if not given.
    """
    from passus.atomic_io import write_text
    from passus.console import say_next
    from passus.descriptions import chart_text
    from passus.runs import curves

    text = chart_text.describe(curves.load(list(sources)))
    if out is None:
        print(text)
        return 0
    out.parent.mkdir(parents=True, exist_ok=True)
    write_text(out, text)
    print(f"description: {out}")
    say_next(f"passus read {out} --out curves.json")
    return 0


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is not a text ({error})", expected="a chart description in UTF-8") from None


@app.command
def export(model: str, *, out: Path, dtype: Literal["auto", "float32", "bfloat16", "float16"] = "auto") -> int:
    """Write a trained model as a folder of its own, with its adapter merged in, for any tool that reads Hugging Face layout.

    Parameters
    ----------
    model
        A run (RUN or RUN@step), an adapter, or a model's folder.
    out
        A new folder.
    dtype
        Of the weights; auto is that of the base's.
    """
    from rich.console import Console

    from passus.console import say_next

    with Console(stderr=True).status("exporting"):
        from passus.models.export import export as write

        written = write(model, out, dtype)
    print(f"model: {out} ({written})")
    say_next(f"passus eval {out} --suite abacus/add2")
    return 0


@app.command
def bench(
    workload: Literal["rollout", "train", "step"], *, model: str = "nano/qwen3", prompts: int = 16, samples: int = 8,
    tokens: int = 16, prompt_tokens: int = 0, spread: int = 1, micro_tokens: int = 16384, repeats: int = 20,
    peer: str | None = None, device: Device = "auto", out: Path | None = None,
    json_: Annotated[bool, Parameter(name="--json", negative=())] = False,
) -> int:  # fmt: skip
    """Measure speed on stated work, with every completion at its full length.

    Parameters
    ----------
    workload
        rollout, train (one update on a rollout), or step (all of it).
    model
        A shipped model, a folder, or random weights of a released shape: shape:qwen3-0.6b, -1.7b, -4b.
    prompts
        P prompts a step.
    samples
        G samples a prompt.
    tokens
        New tokens of every completion.
    prompt_tokens
        Of random prompts, for rollout and train; 0 for the questions of a task.
    spread
        For rollout: how many times longer the longest completion is than the shortest.
    micro_tokens
        Tokens of a micro-batch.
    repeats
        Measurements; the median counts.
    peer
        trl: the same work by TRL with transformers' generate, in a process of its own.
    device
        auto, cpu or cuda.
    out
        A file to write the result to, as JSON.
    json_
        Print the result as JSON.
    """
    from passus.atomic_io import write_text
    from passus.bench import workloads
    from passus.config import tables
    from passus.models import loader

    if (
        min(prompts, tokens, repeats, spread, micro_tokens) < 1
        or samples < 2
        or not 0 <= prompt_tokens <= 4096
        or spread > tokens
    ):
        raise UsageError(
            f"--prompts {prompts} --samples {samples} --tokens {tokens} --prompt-tokens {prompt_tokens} --spread {spread} "
            f"--micro-tokens {micro_tokens} --repeats {repeats}",
            expected="1 or more, samples 2 or more, prompt tokens from 0 to 4096, a spread no larger than the tokens",
        )
    chosen = loader.choose_device(device)
    work = workloads.Work(
        workload,
        model,
        prompts,
        samples,
        tokens,
        repeats,
        chosen,
        tables.default_threads(),
        prompt_tokens,
        spread,
        micro_tokens,
    )
    result = workloads.run(work, peer)
    if out is not None:
        write_text(out, json.dumps(result, indent=2) + "\n")
    print(json.dumps(result) if json_ else workloads.describe(result))
    return 0


@app.command
def pretrain(
    *, family: str = "qwen3", out: Path, start: Path | None = None, width: int = 128, layers: int = 4, steps: int = 6000,
    texts: int = 512, learning_rate: float = 2e-3, seed: int = 0, device: Device = "auto", workers: int = 2,
) -> int:  # fmt: skip
    """Make a shipped model again, and probe what it can do.

    Parameters
    ----------
    family
        qwen3, llama3.2, smollm3, gemma3, qwen2.5 or mistral: architecture and misconceptions.
    out
        Where the model goes, in Hugging Face layout.
    start
        A pretrained model of the same family to go on from; give it another seed, for other texts.
    width
        Of its layers: 128 is 0.8M parameters with four of them.
    layers
        How many.
    steps
        Updates.
    texts
        Texts an update.
    device
        auto, cpu or cuda: six minutes on an H200, hours on a laptop.
    workers
        Processes that write texts.
    """
    from passus.nano import pretrain as nano

    nano.make(
        family,
        out,
        start=start,
        width=width,
        layers=layers,
        steps=steps,
        size=texts,
        learning_rate=learning_rate,
        seed=seed,
        device=device,
        workers=workers,
    )
    return 0
