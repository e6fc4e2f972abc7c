"""The written report: what was run, how each line went, what can be said of it and what cannot, and what to run next.

In the order of a chart description: overview, axes, each line with its points and its course in words, observations,
interpretation. Sentences with numbers come from findings; what the data cannot say is said.
"""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

import passus
from passus.analysis import analyse
from passus.analysis.finding import OVERALL, Finding, Verdict
from passus.config import resolve
from passus.errors import PassusError
from passus.figures import kinds
from passus.figures.spec import Mark
from passus.formatting import between, p_value, points, share, step
from passus.grading.grade import Verdict as Grade
from passus.reports.renderer import Block, Document, Listing, Picture, Section, Table
from passus.runs import curves
from passus.runs.curves import Curve, Curves, parameters_in
from passus.runs.run_folder import RunFolder
from passus.stats import intervals

LONGEST = 600
"""Characters of a completion that are shown."""
SHOWN = 2
"""Samples of an arm that went from wrong to right, and as many the other way."""
MOST_LINES = 6
"""In a table of benchmarks by lines."""
FEW_PAIRS = 3
"""Of lines, that the overview compares in sentences."""
MOST_SHOWN = 8
"""Eval points of a line that a page does not fold away."""
S, N, U = Verdict.SUPPORTED, Verdict.NOT_SUPPORTED, Verdict.UNDERPOWERED
COURSE = [
    {
        "A1": {S: "It rises {}.", N: "It does not rise beyond noise: {}.", U: "Whether it rises cannot be told: {}."},
        "A8": {S: "It has {}."},
        "A13": {S: "It falls first: {}."},
        "A2": {
            S: "It is {}.",
            N: "It has not reached a plateau: {}.",
            U: "Whether it has reached a plateau cannot be told: {}.",
        },
        "A3": {S: "It falls late: {}.", N: "It does not fall late ({}).", U: "Whether it falls late cannot be told: {}."},
        "A4": {S: "Single eval points stand out: {}."},
        "A5": {S: "It moves more from one eval point to the next than sampling explains: {}."},
        "A16": {S: "Why it fell, as far as the run can tell: {}.", N: "Why it fell: {}."},
    },
    {
        "A10": {S: "Length and accuracy go together: {}.", N: "Length and accuracy: {}."},
        "A17": {S: "Tokens: {}.", N: "Tokens: {}."},
    },
    {
        "A14": {S: "An earlier checkpoint is better: {}.", N: "No earlier checkpoint is better: {}."},
        "A18": {S: "Items: {}.", N: "Items: {}."},
    },
]
"""How findings about one line are worded, by paragraphs; what has no words here is left out."""


def report(sources: Sequence[Path], title: str | None = None, made: Sequence[str] = (), ahead: Sequence[str] = ()) -> Document:
    """`made` are the commands behind it, `ahead` those to try next, where they are known."""
    found = curves.load(sources)
    if all(parameters_in(c.name) for c in found.series):
        found.series.sort(key=lambda c: parameters_in(c.name) or 0)
    findings = analyse.analyse(found)
    runs = [RunFolder(path) for path in dict.fromkeys(c.origin.path for c in found.series if c.origin)]
    sections = [
        overview(found, findings, sources),
        *sizes(findings, len({c.benchmark for c in found.series})),
        axes(found),
        *between_lines(findings, len({c.benchmark for c in found.series})),
        *lines(found, findings),
        observations(findings),
        interpretation(found, findings),
        *(_appendix(runs, findings) if runs else []),
        *([Section("Commands", [Listing("\n".join([*made, *ahead]), "What made this, and what to try")])] if made else []),
    ]
    return Document(title or found.title or _title(sources), sections, f"passus {passus.__version__}")


def _title(sources: Sequence[Path]) -> str:
    return ", ".join(source.resolve().stem for source in sources)


def overview(found: Curves, findings: list[Finding], sources: Sequence[Path]) -> Section:
    names = list(dict.fromkeys(c.name for c in found.series))
    benchmarks = list(dict.fromkeys(c.benchmark for c in found.series if c.benchmark))
    runs = Counter((c.name, c.benchmark) for c in found.series if c.origin)
    what = f"{len(names)} line{'s' * (len(names) > 1)} on {', '.join(benchmarks) or 'one benchmark'}"
    seeds = max(runs.values(), default=0)
    said = [what + (f", up to {seeds} seeds each." if seeds > 1 else ", one run each." if runs else ".")]
    if found.source:
        said.append(f"Read from {found.source}: a transcription, so every number is approximate.")
    said += _apart(findings, len(benchmarks))
    counts = Counter(one.verdict for one in findings)
    tally = ", ".join(f"{counts[verdict]} {verdict}" for verdict in Verdict)
    said.append(f"{len(findings)} findings in all: {tally}.")
    blocks: list[Block] = [" ".join(said)]
    if len(benchmarks) > 1 and len(names) <= MOST_LINES:
        blocks.append(_from_first_to_last(found, names, benchmarks))
    blocks += _choices(found)
    try:
        figure = kinds.curves(curves.found(sources))
        figure.marks += marks(findings)
        blocks.append(Picture(figure, "accuracy", f"{figure.y} against {figure.x.lower()}. {figure.note}"))
        if any(c.reader for c in found.series):
            figure = kinds.readers(curves.found(sources))
            blocks.append(Picture(figure, "readers", f"{figure.y} of readers against {figure.x.lower()}. {figure.note}"))
    except PassusError as error:
        blocks.append(f"No figure: {error}")
    return Section("Overview", blocks)


def _apart(findings: list[Finding], benchmarks: int) -> list[str]:
    """Tiers, where there is one benchmark; of several, on how many the lines are told apart."""
    tiers = [one for one in findings if one.id == "A7"]
    if benchmarks <= 1:
        return [_sentence(one) for one in tiers]
    shown = {one.benchmark for one in tiers if one.verdict is Verdict.SUPPORTED}
    silent = len({one.benchmark for one in tiers} - shown)
    pairs = _over_all(findings)
    said = [_sentence(one) for one in pairs] if len(pairs) <= FEW_PAIRS else []
    said += [f"On {len(shown)} of {benchmarks} benchmarks the lines are told apart."] if shown else []
    return said + ([f"On {silent} of {benchmarks} benchmarks the lines are not told apart."] if silent else [])


def _over_all(findings: list[Finding]) -> list[Finding]:
    return [one for one in findings if one.id == "A6" and one.benchmark.startswith(OVERALL)]


def _sentence(one: Finding) -> str:
    return f"{one.claim[:1].upper()}{one.claim[1:]}: {one.verdict} ({one.said})."


def sizes(findings: list[Finding], benchmarks: int) -> list[Section]:
    """Whether larger is better and gains more, and whether small ones fall first: over all benchmarks, then on each."""
    asked = [one for one in findings if one.id == "A12" or (one.id, one.series) == ("A13", "all")]
    several = len({one.benchmark for one in asked}) > 1
    overall: list[Block] = [
        f"{f'On {one.benchmark}: ' if benchmarks > 1 and one.benchmark != OVERALL else ''}{_sentence(one)} ({one.level}.)"
        for one in asked
        if not several or one.benchmark == OVERALL
    ]
    claims = list(dict.fromkeys(one.claim for one in asked if one.benchmark != OVERALL))
    rows = []
    for benchmark in dict.fromkeys(one.benchmark for one in asked if several and one.benchmark != OVERALL):
        own = {one.claim: one for one in asked if one.benchmark == benchmark}
        rows.append([benchmark, *(_verdict(own[claim]) if claim in own else "" for claim in claims)])
    if any(one.level == "L2" for one in asked):
        overall.append("This is about these checkpoints: what another seed would do with a size, these runs cannot tell.")
    return [Section("Sizes", overall + ([Table(["on", *claims], rows)] if rows else []))] if asked else []


def _verdict(one: Finding) -> str:
    return f"{one.verdict}, {p_value(one.p)}" if one.p is not None else str(one.verdict)


def between_lines(findings: list[Finding], benchmarks: int) -> list[Section]:
    """Of several benchmarks: which lines end apart over all of them, and the tiers of each where there are any."""
    pairs = _over_all(findings) if len(_over_all(findings)) > FEW_PAIRS else []
    tiers = [one for one in findings if one.id == "A7" and one.verdict is Verdict.SUPPORTED]
    if benchmarks < 2 or not (pairs or tiers):
        return []
    blocks: list[Block] = []
    if pairs:
        first = "the first less the second "
        rows = [[one.claim.partition(" end at ")[0], str(one.verdict), one.said.removeprefix(first)] for one in pairs]
        blocks.append(Table(["end apart over all benchmarks", "", first.strip()], rows))
    if tiers:
        blocks.append(Table(["on", "tiers"], [[one.benchmark, one.said] for one in tiers]))
    return [Section("Between lines", blocks)]


def _from_first_to_last(found: Curves, names: list[str], benchmarks: list[str]) -> Table:
    """A row a benchmark: each line's first and last value, the mean over its seeds."""
    rows = []
    for benchmark in benchmarks:
        cells = []
        for name in names:
            ends = [(c.y_T[0], c.y_T[-1]) for c in found.series if (c.name, c.benchmark) == (name, benchmark) and c.points]
            first, last = np.mean(ends, axis=0) if ends else (np.nan, np.nan)
            cells.append(f"{share(float(first))} to {share(float(last))}" if ends else "")
        rows.append([benchmark, *cells])
    return Table(["first to last", *names], rows)


def _choices(found: Curves) -> list[Block]:
    """Of reward models at their last eval point: whether they beat the majority, which costs nothing, over the benchmarks."""
    rows = []
    for origin in dict.fromkeys(c.origin for c in found.series if c.origin):
        evals = [point for point in RunFolder(origin.path).evals() if None not in (point.over_maj, point.efficiency_ci)]
        last = [point for point in evals if point.step == max(point.step for point in evals)]
        if not last:
            continue
        name = next(c.name for c in found.series if c.origin == origin)
        over, way = (
            intervals.macro_interval([intervals.Interval(getattr(point, key), *getattr(point, f"{key}_ci")) for point in last])
            for key in ("over_maj", "efficiency")
        )
        rm, maj = (float(np.mean([getattr(p, key)[str(p.k)] for p in last])) for key in ("rm_at_k", "maj_at_k"))
        gap = f"{points(over.mean)} {between(over.low, over.high)}"
        rows.append([name, share(rm), share(maj), gap, f"{way.mean:.2f} [{way.low:.2f}, {way.high:.2f}]"])
    head = ["at the last eval point", "rm@k", "maj@k", "rm@k less maj@k", "of the way from mean@k to pass@k"]
    return [Table(head, rows)] if rows else []


def marks(findings: list[Finding]) -> list[Mark]:
    """Falls and single points that stand out, where they are."""
    found = []
    for one in findings:
        if one.verdict is Verdict.SUPPORTED and one.id == "A3":
            found.append(Mark(one.numbers["before"], "falls", one.series, one.benchmark))
        elif one.verdict is Verdict.SUPPORTED and one.id == "A4":
            found.append(Mark(one.numbers["x"], "dip" if one.numbers["z"] < 0 else "spike", one.series, one.benchmark))
    return found


def axes(found: Curves) -> Section:
    points = [p for c in found.series for p in c.points]
    first = next((c for c in found.series if c.points), found.series[0])
    said = [f"Horizontal: {found.x}, {step(min(p.x for p in points))} to {step(max(p.x for p in points))}."] if points else []
    said.append(f"Vertical: {found.y}.")
    sizes: dict[tuple[int, int], list[str]] = {}
    for c in found.series:
        if c.n and c.benchmark not in sizes.setdefault((c.n, c.k or 1), []):
            sizes[c.n, c.k or 1].append(c.benchmark)
    chosen = first.items is not None and first.items.choices
    for (n, k), of_size in sizes.items():
        each = (
            f"with the best of {k} from a pool of {k * first.items.choices:.0f}" if chosen and first.items else f"x {k} samples"
        )
        said.append(f"{', '.join(filter(None, of_size)) or 'The benchmark'}: {n} items {each} an eval point.")
    if first.items is not None:
        said.append(
            "Intervals of single values are for items like these (clustered by item). Eval points of a run have the same items "
            "and the same noise, and so have runs of one seed and suite: they are compared item by item."
        )
    return Section("Axes", [" ".join(said)])


def lines(found: Curves, findings: list[Finding]) -> list[Section]:
    """Each line: its course in words, then its points."""
    sections = []
    for m in analyse.measure(found):
        own = [one for one in findings if (one.series, one.benchmark) == (m.name, m.curve.benchmark)]
        paragraphs = [_told(words, {one.id: one for one in own}) for words in COURSE]
        title = f"{m.name}, {m.curve.benchmark}" if m.curve.benchmark and m.curve.benchmark != m.name else m.name
        sections.append(Section(title, [*filter(None, paragraphs), _points(m.curve)], level=3))
    untold = [c.name for c in found.series if not c.points]
    if untold:
        sections.append(Section("Lines without numbers", [f"{', '.join(untold)}: the text gives no values."], level=3))
    return [Section("Lines", []), *sections]


def _told(words: dict[str, dict[Verdict, str]], own: dict[str, Finding]) -> str:
    """The findings of one paragraph, in its order."""
    told = [
        (sentences[own[id].verdict], own[id].said)
        for id, sentences in words.items()
        if id in own and own[id].verdict in sentences
    ]
    return " ".join(sentence.format(said) for sentence, said in told)


def _points(curve: Curve) -> Table:
    has_tokens = any(p.tokens is not None for p in curve.points)
    rows = []
    for p in curve.points:
        value = "missing" if p.y != p.y else ("~" if p.approximate else "") + share(p.y)
        if p.low is not None and p.high is not None:
            value += f" [{share(p.low)}, {share(p.high)}]"
        rows.append([step(p.x), value, *([f"{p.tokens:.1f}" if p.tokens is not None else ""] if has_tokens else [])])
    folded = f"Its {len(rows)} eval points" if len(rows) > MOST_SHOWN else ""
    return Table(["at", "value", *(["tokens"] if has_tokens else [])], rows, folded)


def observations(findings: list[Finding]) -> Section:
    """What stands after correction, between lines and within them."""
    kept = [
        one for one in findings if one.verdict is Verdict.SUPPORTED and one.id in ("A3", "A4", "A9", "A12", "A16", "A19", "A20")
    ]
    several = len({one.benchmark for one in findings}) > 1
    said: list[Block] = [f"{_whose(one, several)}{one.claim}: {one.said} ({one.level}, {one.id})." for one in kept]
    pairs = [one for one in findings if one.id == "A6"]
    apart = [one for one in pairs if one.verdict is Verdict.SUPPORTED]
    compared = len({one.series for one in pairs})
    if apart:
        where = " on a benchmark or over all" if several else ""
        rule = "first less second, the mean of the last eval points in common"
        said.append(f"Of {compared} pair{'s' * (compared > 1)} of lines these end apart{where} ({rule}):")
        said.append(
            Table(
                ["lines", "benchmark", "difference", "level"],
                [[one.series, one.benchmark, one.said, one.level] for one in apart],
            )
        )
    elif pairs:
        said.append(
            "The two lines are not told apart at the end." if compared == 1 else "No two lines are told apart at the end."
        )
    audits = [one for one in findings if one.id == "A15" and one.verdict is Verdict.NOT_SUPPORTED]
    said += [f"{f'Line {one.line} of the text' if one.line else 'The text'}, “{one.claim}”: {one.said}." for one in audits]
    return Section("Key observations", said or ["Nothing stands out beyond noise."])


def _whose(one: Finding, several: bool) -> str:
    """The line, and the benchmark where there are several."""
    about = [one.series if one.series != "all" else "", one.benchmark if several else ""]
    return "".join(f"{words}: " for words in [", ".join(filter(None, about))] if words)


def interpretation(found: Curves, findings: list[Finding]) -> Section:
    """How far this goes."""
    said = [_carries(found, {one.level for one in findings if one.id == "A6"})]
    weak = [one for one in findings if one.verdict is Verdict.UNDERPOWERED]
    if weak:
        by = Counter(one.question for one in weak)
        said.append("These data could not have shown: " + ", ".join(f"{question} ({n})" for question, n in by.items()) + ".")
    tested = [one for one in findings if one.q is not None]
    if tested:
        said.append(
            f"{len(tested)} tests are one family: verdicts with a p-value stand on it after Benjamini and Hochberg (q < .05); "
            "intervals are not adjusted."
        )
    if any(one.id == "A16" for one in findings):
        said.append("A cause is named from what moved first or together; only a run that changes that one thing would show it.")
    return Section("Interpretation", [" ".join(said)])


def _carries(found: Curves, levels: set[str]) -> str:
    """What differences between these lines can be about; `levels` are those of the comparisons that were made."""
    runs = Counter((c.name, c.benchmark) for c in found.series if c.origin)
    if levels == {"L3"}:
        return "Three seeds or more an arm: differences between lines are statements about what was varied, on these items."
    if not any(c.items is not None for c in found.series):
        return "Points without their items: the noise is not known or only bounded, so little can be tested."
    seeds = f"Up to {most} seeds a line" if (most := max(runs.values(), default=1)) > 1 else "One run a line"
    said = (
        f"{seeds}: a difference says that these checkpoints differ on items like these. Whether the method would do it again, "
    )
    said += "three seeds or more of each would tell; rounding alone can move the end of a run by a point or two."
    if "L1" in levels or "L0" in levels:
        said += " Lines that were measured on different items are compared without pairing, which sees less."
    return said


def _appendix(runs: list[RunFolder], findings: list[Finding]) -> list[Section]:
    return [configuration(runs), spent(runs), signals(runs), samples(runs), *next_runs(runs, findings)]


def configuration(runs: list[RunFolder]) -> Section:
    flats = [resolve.flatten(run.config()) for run in runs]
    vary = _varying(flats)
    common = [f"{key} = {configs.toml_value(value)}" for key, value in flats[0].items() if key not in vary]
    blocks: list[Block] = [Listing("\n".join(common), "Common to all runs")]
    if vary:
        rows = [[run.path.name, *(str(flat.get(key)) for key in vary)] for run, flat in zip(runs, flats, strict=True)]
        blocks.append(Table(["run", *vary], rows))
    made: dict[str, list[str]] = {}
    for run in runs:
        made.setdefault(_environment(run), []).append(run.path.name)
    remarks = [r for run in runs for r in (run.meta()["launches"][-1:] or [{}])[0].get("data", {}).get("remarks", [])]
    blocks += [f"About the data: {'; '.join(dict.fromkeys(remarks))}."] if remarks else []
    blocks += [f"{'' if len(made) == 1 else ', '.join(names) + ': '}{words}" for words, names in made.items()]
    return Section("Configuration and environment", blocks)


def _environment(run: RunFolder) -> str:
    """Of the last launch."""
    meta = run.meta()
    launch = meta["launches"][-1] if meta["launches"] else {}
    versions = ", ".join(f"{name} {version}" for name, version in launch.get("versions", {}).items())
    machine = ", ".join(f"{key} {meta[key]}" for key in ("python", "platform", "device", "git_commit") if meta.get(key))
    return f"Made with {versions}. {machine}"


def spent(runs: list[RunFolder]) -> Section:
    rows = []
    for run in runs:
        last = (run.metrics() or [{}])[-1]
        rows.append([
            run.path.name, f"{last.get('time/elapsed', 0):.0f} s", *(f"{seconds:.0f} s" for seconds in run.phases().values()),
            f"{last.get('train/num_tokens', 0):,.0f}",
        ])  # fmt: skip
    return Section("Time and tokens", [Table(["run", "in all", "rollout", "grading", "update", "evaluation", "tokens"], rows)])


def signals(runs: list[RunFolder]) -> Section:
    """Groups without signal, and what the grader could not grade: first and last tenth of the steps."""
    rows = []
    for run in runs:
        metrics = run.metrics()
        if run.config().kind == "reward_model":  # it draws nothing
            continue
        width = max(1, len(metrics) // 10)
        cells = []
        for name in (
            "train/frac_reward_zero_std",
            "train/truncated",
            "train/unparseable",
            "train/grader_error",
            "train/entropy",
        ):
            ends = [[row[name] for row in part if row.get(name) is not None] for part in (metrics[:width], metrics[-width:])]
            cells.append(" to ".join(f"{np.mean(part):.2f}" if part else "?" for part in ends))
        rows.append([run.path.name, *cells])
    head = ["run", "groups without signal", "truncated", "no answer found", "grader failed", "entropy"]
    return Section("Training signals", ["Shares over the first and the last tenth of the steps.", Table(head, rows)])


def samples(runs: list[RunFolder]) -> Section:
    """The same item and noise at the first eval point and at the last."""
    blocks: list[Block] = []
    for run in runs:
        steps = sorted({point.step for point in run.evals()})
        try:
            pairs = run.sample_pairs(steps[0], steps[-1])
        except (PassusError, IndexError):
            continue
        changed = {
            "wrong to right": [p for p in pairs if p[0]["verdict"] != Grade.CORRECT == p[1]["verdict"]],
            "right to wrong": [p for p in pairs if p[0]["verdict"] == Grade.CORRECT != p[1]["verdict"]],
        }
        counts = ", ".join(f"{len(found)} samples from {name}" for name, found in changed.items())
        blocks.append(f"{run.path.name}, step {steps[0]} to {steps[-1]}: {counts} of {len(pairs)}.")
        for name, found in changed.items():
            blocks += [_pair(name, *pair, steps[0], steps[-1]) for pair in found[:SHOWN]]
    return Section("Before and after", blocks or ["No items are kept."])


def _pair(name: str, was: dict, now: dict, first: int, last: int) -> Listing:
    text = "\n".join(f"step {at}, {row['verdict']}: {_short(row['completion'])}" for at, row in ((first, was), (last, now)))
    return Listing(text, f"{name}: {was['benchmark']}, item {was['item']}, sample {was['sample']}")


def _short(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[: LONGEST // 2]} […] {text[-LONGEST // 2 :]}"


def next_runs(runs: list[RunFolder], findings: list[Finding]) -> list[Section]:
    """Experiment files for the questions that are left open."""
    first = runs[0].config()
    asked: list[tuple[str, str, dict[str, Any]]] = []
    if len({run.config().seed for run in runs}) < 3:
        asked.append(("seeds", "Is it what was varied, or the seed?", {"seed": [0, 1, 2]}))
    if any(one.id == "A2" and one.verdict is Verdict.NOT_SUPPORTED for one in findings):
        asked.append(("longer", "Some lines still move at the end.", {"train.steps": 2 * first.train.steps}))
    if any(one.id == "A3" and one.verdict is Verdict.UNDERPOWERED for one in findings):
        asked.append(("samples", "More samples an item make a late fall visible.", {"eval.samples": 4 * first.eval.samples}))
    if any(one.id == "A16" and "instability" in one.said for one in findings):
        rates = [first.train.learning_rate * factor for factor in (0.25, 0.5, 1.0)]
        asked.append(("rates", "Does a lower learning rate keep it from falling?", {"train.learning_rate": rates}))
    blocks: list[Block] = []
    for name, why, change in asked:
        blocks += [why, Listing(_experiment(runs, name, change), f"{first.name}-{name}.toml")]
    return [Section("What to run next", blocks)] if blocks else []


def _varying(flats: list[dict[str, Any]]) -> list[str]:
    """Keys in which runs differ."""
    keys = dict.fromkeys(key for flat in flats for key in flat)
    return [key for key in keys if len({str(flat.get(key)) for flat in flats}) > 1]


def _experiment(runs: list[RunFolder], name: str, change: dict[str, Any]) -> str:
    """The same arms with one thing changed: all that they share as tables, the rest arm by arm; a list is swept."""
    flats = [resolve.flatten(run.config()) for run in runs]
    swept = {key: value for key, value in change.items() if isinstance(value, list)}
    left_out = {"name", *change}
    vary = [key for key in _varying(flats) if key not in left_out]
    common = {key: value for key, value in flats[0].items() if key not in vary and key not in left_out}
    common |= {key: value for key, value in change.items() if key not in swept}
    lines = ["name = " + configs.toml_value(f"{flats[0]['name']}-{name}")]
    lines += [f"{key} = {configs.toml_value(value)}" for key, value in common.items() if "." not in key]
    for table in dict.fromkeys(key.partition(".")[0] for key in common if "." in key):
        own = {key.partition(".")[2]: value for key, value in common.items() if key.startswith(f"{table}.")}
        lines += ["", f"[{table}]", *(f"{key} = {configs.toml_value(value)}" for key, value in own.items())]
    arms = {tuple(str(flat.get(key)) for key in vary): (run, flat) for run, flat in zip(runs, flats, strict=True)}
    for run, flat in arms.values() if vary else []:
        lines += ["", "[[arm]]", f"name = {configs.toml_value(run.path.name)}"]
        lines += [f'"{key}" = {configs.toml_value(flat[key])}' for key in vary]
    if swept:
        lines += ["", "[sweep]", *(f'"{key}" = {configs.toml_value(value)}' for key, value in swept.items())]
    return "\n".join(lines) + "\n"
