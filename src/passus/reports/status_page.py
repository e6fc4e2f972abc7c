"""The page about an experiment: how its arms stand, the figure, the numbers, and what the models wrote before and after.

One file that needs nothing else: no scripts, nothing fetched. It only reads run folders, so it can be written at any time, also
while arms run or wait; what cannot be read is said on the page. What models wrote is text, never markup.
"""

import math
import re
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from html import escape
from pathlib import Path
from typing import Any

import passus
from passus.atomic_io import last_line, write_atomic
from passus.config.experiment import Experiment, slug
from passus.errors import PassusError
from passus.figures import kinds
from passus.figures.spec import Figure
from passus.formatting import printable
from passus.grading.grade import BOX, Verdict, grade
from passus.runs.eval_point import EvalPoint, has_several_temperatures
from passus.runs.lock import state_of
from passus.runs.run_folder import RunFolder, find_runs
from passus.tasks.lookup import Item, benchmark_items, is_private

LONGEST = 600
"""Characters of a text that are shown; the middle of a longer one is left out, since answers stand at the end."""
GAINED, LOST = 3, 1
"""Examples of each kind that are shown of an arm."""
RELOAD_SECONDS = 10
CANNOT_BE_READ = (PassusError, OSError, ValueError, KeyError, TypeError)
"""What files that are torn, or that somebody else wrote, lead to; one such arm must not spoil the page for the others."""


@dataclass(frozen=True)
class Scores:
    """One benchmark of one arm: its first, last and best eval points."""

    benchmark: str
    first: EvalPoint
    last: EvalPoint
    best: EvalPoint


@dataclass
class Arm:
    path: Path
    state: str
    label: str
    step: int = 0
    steps: int | None = None
    scores: list[Scores] = field(default_factory=list)
    error: str | None = None


Pair = tuple[dict, dict]
"""One sample at the first eval point and at the last: the same item, the same noise."""


def read_arm(path: Path) -> Arm:
    """How an arm stands; a folder that is not there yet is one that waits."""
    run, status = RunFolder(path), state_of(path)
    arm = Arm(path, str(status.get("state", "waiting")), path.name, error=status.get("error"))
    if not run.exists():
        return arm
    try:
        arm.steps, arm.label = run.config().train.steps, str(run.meta()["model"]["label"])
        arm.step = (last_line(path / "metrics.jsonl") or {}).get("step", 0)
        arm.scores = _scores(run.evals())
    except CANNOT_BE_READ as error:
        arm.state, arm.error = "unreadable", f"{type(error).__name__}: {error}"
    return arm


def _scores(points: list[EvalPoint]) -> list[Scores]:
    several = has_several_temperatures(points)
    lines: dict[str, list[EvalPoint]] = {}
    for point in points:
        _check_numbers(point)
        lines.setdefault(point.panel(several_temperatures=several), []).append(point)
    return [Scores(name, line[0], line[-1], max(line, key=lambda p: p.acc)) for name, line in lines.items()]


def _check_numbers(point: EvalPoint) -> None:
    """Raises where a number cannot be drawn or compared. A reward model writes no completions, so it has no length."""
    numbers = [point.acc, point.ci_low, point.ci_high, *([] if point.is_reward_model else [point.tokens_mean])]
    if not all(number is not None and math.isfinite(number) for number in numbers):
        raise ValueError(f"step {point.step} of {point.benchmark} has a value that is not a number")


def cells(scores: Scores) -> list[tuple[str, str]]:
    """First, last and best accuracy, each with its interval, as tables show them."""
    shown = [f"{scores.first.acc:.3f}", f"{scores.last.acc:.3f}", f"{scores.best.acc:.3f}, step {scores.best.step}"]
    points = (scores.first, scores.last, scores.best)
    return [(text, f"[{p.ci_low:.3f}, {p.ci_high:.3f}]") for text, p in zip(shown, points, strict=True)]


def write(
    folders: Sequence[Path], out: Path, title: str, y: str = "accuracy", made: Sequence[str] = (), ahead: Sequence[str] = (),
    *, live: bool = False,
) -> None:  # fmt: skip
    """The page about the arms in `folders`: `made` are the commands behind it, `ahead` those to try next.

    While it is `live`, somebody will write it again, so it reloads itself.
    """
    arms = [read_arm(folder) for folder in folders]
    parts = [
        f"<h1>{_text(title)}</h1>",
        _standing(arms),
        _figure(arms, y),
        "<h2>Accuracy and length</h2>",
        _table(arms),
        "<h2>Before and after</h2>",
        *(_samples(arm, opened=n == 0) for n, arm in enumerate(arms)),
        _commands("What made this", made),
        _commands("What to try next", ahead),
        f"<footer>passus {passus.__version__}</footer>",
    ]
    reload = f'<meta http-equiv="refresh" content="{RELOAD_SECONDS}">' if live else ""
    page = PAGE.format(title=_text(title), reload=reload, style=STYLE, body="\n".join(parts))
    out.parent.mkdir(parents=True, exist_ok=True)
    write_atomic(out, lambda target: target.write_text(page, encoding="utf-8"), durable=False)


def draw(folder: Path, experiment: Experiment, formats: Sequence[str] = (".png", ".svg")) -> Path | None:
    """The experiment's figure (or figures: the last is returned) beside its arms; none, while there is nothing to draw."""
    drawable = [arm.path for arm in map(read_arm, find_runs(folder)) if arm.scores]
    if not drawable:
        return None
    kind = experiment.arms[0].config.figure
    # A grid shows one run: one figure an arm.
    parts = (
        [([path], f"{experiment.name}-{path.name}") for path in drawable]
        if kind == "grid"
        else [(drawable, experiment.name)]
    )
    for sources, name in parts:
        paths = [folder / f"{slug(name)}{suffix}" for suffix in formats]
        kinds.draw(kinds.figure(sources, kind, title=name), *paths)
    return paths[0]


def _text(value: object) -> str:
    """Any text, safe in HTML: control characters visible, the middle of a long one left out."""
    text = str(value)
    if len(text) > LONGEST:
        half = LONGEST // 2
        text = f"{text[:half]} […{len(text) - 2 * half:,} characters…] {text[-half:]}"
    return escape(printable(text))


def _standing(arms: list[Arm]) -> str:
    states = ", ".join(f"{n} {state}" for state, n in Counter(arm.state for arm in arms).items())
    ended = all(arm.state == "finished" for arm in arms)
    written = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime())
    return f"<p>Arms: {_text(states)}.{'' if ended else ' The numbers are not final.'} Written {written}.</p>"


def _figure(arms: list[Arm], y: str) -> str:
    drawable = [arm.path for arm in arms if arm.scores]
    if not drawable:
        return "<p>No eval point yet, so there is nothing to draw.</p>"
    try:
        figure = kinds.curves(drawable, y=y)
    except PassusError as error:
        return f"<p>No figure: {_text(error)}</p>"
    caption = ". ".join([f"{figure.y} against step", *(line[:1].upper() + line[1:] for line in figure.note.splitlines())])
    return f'<figure><div class="wide">{inline_svg(figure)}</div><figcaption>{_text(caption)}.</figcaption></figure>'


def inline_svg(figure: Figure) -> str:
    """For a page to hold, in the page's own colours, so that it can be read on a dark one."""
    svg = printable(kinds.svg(replace(figure, note="")))
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg[svg.index("<svg") :], flags=re.DOTALL)
    for drawn, own in (("#000000", "currentColor"), ("#ffffff", "var(--paper)")):
        svg = re.sub(f"(fill|stroke): {drawn}", rf"\1: {own}", svg)
    return svg


def _table(arms: list[Arm]) -> str:
    head = "".join(f"<th>{name}" for name in ("arm", "state", "benchmark", "first", "last", "best", "length"))
    rows = []
    for arm in arms:
        step = f"step {arm.step}" + (f" of {arm.steps}" if arm.steps else "")
        who = [(arm.path.name, arm.label if arm.label != arm.path.name else ""), (arm.state, step)]
        for s in arm.scores:
            length = ("—", "")
            if not s.first.is_reward_model:
                length = f"{s.first.tokens_mean:.1f} to {s.last.tokens_mean:.1f}", "tokens"
            rows.append([*who, (s.benchmark, ""), *cells(s), length])
        if not arm.scores:
            rows.append([*who, *[("—", "")] * 5])
    body = "\n".join("<tr>" + "".join(f"<td>{_text(a)}<br><small>{_text(b)}</small>" for a, b in row) for row in rows)
    errors = "".join(f"<p>{_text(f'{arm.path}: {arm.error}')}</p>" for arm in arms if arm.error)
    return f"""<div class="wide"><table><thead><tr>{head}</thead><tbody>{body}</tbody></table></div>{errors}
<p class="quiet">In brackets: {kinds.ITEM_BAND}. Best is a maximum over eval points, and so biased upwards: compare first
with last. Length is that of a completion, at the first and the last eval point.</p>"""


def _samples(arm: Arm, *, opened: bool) -> str:
    try:
        said = _changes(arm)
    except CANNOT_BE_READ as error:
        said = f"<p>The items cannot be read: {_text(error)}</p>"
    return f"<details{' open' if opened else ''}><summary>{_text(arm.path.name)}</summary>{said}</details>"


def _changes(arm: Arm) -> str:
    """What became of the samples: all of them counted, a few shown."""
    first, last = (arm.scores[0].first.step, arm.scores[0].last.step) if arm.scores else (0, 0)
    if first == last:
        return "<p>No second eval point yet.</p>"
    pairs = RunFolder(arm.path).sample_pairs(first, last)
    gained = [(was, now) for was, now in pairs if not _is_right(was) and _is_right(now)]
    lost = [(was, now) for was, now in pairs if _is_right(was) and not _is_right(now)]
    examples = _first_items(gained, GAINED) + _first_items(lost, LOST)
    asked = _questions(examples)
    shown = "".join(
        f"{_question(now, asked)}<div class='pair'>{_sample(was, first)}{_sample(now, last)}</div>" for was, now in examples
    )
    return f"""<p>From step {first} to step {last}, <b>{len(gained)} of {len(pairs)} samples went from wrong to correct,
{len(lost)} the other way</b> (wrong: every verdict but correct). Item and noise are the same on both sides; shown are the
first {GAINED} items that were gained and the first {LOST} lost, in the benchmark's order.</p>{shown}"""


def _is_right(row: dict) -> bool:
    return row["verdict"] == Verdict.CORRECT


def _first_items(pairs: list[Pair], most: int) -> list[Pair]:
    """The first ones, one an item: a rule that picks nothing for its looks."""
    by_item: dict[Any, Pair] = {}
    for was, now in pairs:
        by_item.setdefault((was["benchmark"], was["item"]), (was, now))
    return list(by_item.values())[:most]


def _questions(examples: list[Pair]) -> dict[tuple[str, int], Item]:
    """What was asked. Run folders hold answers only: a benchmark that would not call the right ones right has changed since."""
    found: dict[tuple[str, int], Item] = {}
    for benchmark in {now["benchmark"] for _, now in examples if not is_private(now["benchmark"])}:
        rights = [now if _is_right(now) else was for was, now in examples if now["benchmark"] == benchmark]
        try:
            items = {item.index: item for item in benchmark_items(benchmark)}
            right = [(f"{BOX}{row['extracted']}}}", items[row["item"]]) for row in rights]
            graded = [grade(text, item.gold, truncated=False, rule=item.rule) for text, item in right]
        except (PassusError, KeyError):
            continue
        if all(g.verdict == Verdict.CORRECT for g in graded):
            found |= {(benchmark, index): item for index, item in items.items()}
    return found


def _question(row: dict, asked: dict[tuple[str, int], Item]) -> str:
    name = f"{row['benchmark']}, item {row['item']}, sample {row['sample']}"
    item = asked.get((row["benchmark"], row["item"]))
    if not item:
        return f"<h3>{_text(name)}</h3><p class='quiet'>No question: the benchmark is not here, or not as it was.</p>"
    return f"<h3>{_text(item.question)}</h3><p class='quiet'>Right answer {_text(item.gold)} ({_text(name)})</p>"


def _sample(row: dict, step: int) -> str:
    answer = f", answer {_text(row['extracted'])}" if row["extracted"] is not None else ""
    verdict = f"<span class='{'right' if _is_right(row) else 'wrong'}'>{_text(row['verdict'])}</span>"
    return f"<div><p>step {step}: {verdict}{answer}</p><pre>{_text(row['completion'])}</pre></div>"


def _commands(title: str, commands: Sequence[str]) -> str:
    lines = "\n".join(escape(printable(command)) for command in commands)
    return f"<h2>{title}</h2><pre>{lines}</pre>" if commands else ""


PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title>{reload}
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<style>{style}</style></head><body>
{body}
</body></html>
"""
STYLE = """
:root { color-scheme: light dark; --paper: #fffdf9; --ink: #1d1d1f; --quiet: #666; --line: #ddd8cf; --right: #17752a;
  --wrong: #b3261e }
@media (prefers-color-scheme: dark) { :root { --paper: #16171a; --ink: #e6e4df; --quiet: #a09c94; --line: #37383d;
  --right: #6fd08a; --wrong: #ff9b91 } }
body { max-width: 48rem; margin: 0 auto; padding: 1.5rem 1rem 4rem; background: var(--paper); color: var(--ink);
  font: 1.05rem/1.55 Charter, "Iowan Old Style", Georgia, serif; overflow-wrap: anywhere }
h1, h2, h3, th, summary, svg { font-family: system-ui, sans-serif; line-height: 1.25 }
h1 { font-size: 1.9rem; margin: 0 } h2 { font-size: 1.2rem; margin: 2.5rem 0 .5rem }
h3 { font-size: 1rem; margin: 1.4rem 0 0; font-weight: 600 } summary { cursor: pointer; font-weight: 600;
  font-size: .95rem; padding: .6rem 0 0 }
figure { margin: 1rem 0 } figcaption, .quiet, footer { color: var(--quiet); font-size: .88rem }
.wide { overflow-x: auto } svg { width: 100%; min-width: 28rem; height: auto; fill: currentColor }
@media (prefers-color-scheme: dark) { svg { filter: brightness(1.4) } }
table { border-collapse: collapse; font-size: .85rem; font-variant-numeric: tabular-nums; white-space: nowrap }
th, td { text-align: left; vertical-align: top; padding: .35rem .8rem .35rem 0; border-bottom: 1px solid var(--line) }
.long { white-space: normal; min-width: 16rem }
small { color: var(--quiet) } h3 + p { margin: .3rem 0 .4rem } footer { margin-top: 3rem }
pre { font: .85rem/1.45 ui-monospace, Menlo, Consolas, monospace; white-space: pre-wrap; margin: 0; padding: .6rem .7rem;
  border: 1px solid var(--line); border-radius: .4rem; max-height: 20rem; overflow: auto }
.pair { display: grid; grid-template-columns: 1fr 1fr; gap: .8rem } .pair p { margin: 0 0 .2rem; font-size: .85rem }
.right, .wrong { color: var(--right); font-weight: 600 } .wrong { color: var(--wrong) }
@media (max-width: 36rem) { .pair { grid-template-columns: 1fr } }
"""
