"""The answer of a report in at most three sentences: what is shown about the lines, what they did, and how sure that is.

Only claims about configurations, with runs as the unit, say which line is better. With one run per line the answer says that
this cannot be told, and what would tell it.
"""

from collections.abc import Sequence
from itertools import combinations
from pathlib import Path

from passus.analysis.finding import OVERALL, Conclusion, Finding, Scope
from passus.formatting import between, share
from passus.reports.line_results import LineResult
from passus.runs.curve import Curves
from passus.runs.origin import parameters_in
from passus.stats.run_spread import MIN_RUNS

NAMED = 4
"""Lines that a sentence names; more are counted."""
UNLIKE_LENGTHS = 1.1
"""Ratio of lengths from which the answer names them."""
LINE_WORDS = {1: "The line", 2: "Both lines"}


def answer(curves: Curves, findings: Sequence[Finding], results: Sequence[LineResult]) -> list[str]:
    """Returns the answer, from the findings of a finished analysis."""
    main = main_results(results)
    if not main:
        return ["There is nothing to compare: the lines have no eval point in common."]
    if not any(result.runs for result in main):
        return _of_a_text(curves, findings, main)
    if len({result.line for result in main}) == 1:
        return _of_one_line(findings, main)
    repeated = [result for result in main if result.runs >= MIN_RUNS]
    if len({result.line for result in repeated}) < 2:
        return _of_checkpoints(findings, main)
    single = sorted({result.line for result in main if result.runs < MIN_RUNS})
    left_out = [f"Lines of one run are not ranked: {_listed(single)}."] if single else []
    return _of_configurations(findings, repeated, left_out)


def main_results(results: Sequence[LineResult]) -> list[LineResult]:
    """Returns the results that the answer is about: means over benchmarks where there are several."""
    means = [result for result in results if result.is_mean]
    return means or list(results)


# One line.


def _of_one_line(findings: Sequence[Finding], results: Sequence[LineResult]) -> list[str]:
    result = results[0]
    where = f" on {result.benchmark}" if result.benchmark else ""
    sentences = [f"{result.line} goes from {share(result.start.mean)} to {_value(result)}{where}."]
    sentences += _course(findings)
    runs = f"{result.runs} runs" if result.runs > 1 else "One run"
    return [*sentences, f"{runs} of one line: nothing is compared."]


def _course(findings: Sequence[Finding]) -> list[str]:
    """Says how the curves of a line end: how many of them fall late, or whether all have reached a plateau."""
    falls, plateaus = ([f for f in findings if f.id == id] for id in ("A3", "A2"))
    fallen = [f for f in falls if f.verdict is Conclusion.SUPPORTED]
    if fallen:
        return [first_sentence(fallen[0].sentence) if len(falls) == 1 else f"{len(fallen)} of {len(falls)} curves fall late."]
    if plateaus and all(f.verdict is Conclusion.SUPPORTED for f in plateaus):
        return ["All curves have reached a plateau." if len(plateaus) > 1 else first_sentence(plateaus[0].sentence)]
    return ["No fall and no plateau is shown."] if falls and all(f.p is not None for f in falls) else []


def first_sentence(text: str) -> str:
    """Returns the text up to the first full stop that ends a sentence."""
    head, found, _ = text.partition(". ")
    return head + "." if found else text


def _value(result: LineResult) -> str:
    low, high = result.end.low, result.end.high
    return share(result.end.mean) + ("" if low != low else f" [{share(low)}, {share(high)}]")


# Several lines.


def _of_checkpoints(findings: Sequence[Finding], results: Sequence[LineResult]) -> list[str]:
    """Answers for lines of which at most one has several runs."""
    panels = {result.benchmark for result in results}
    pairs = [f for f in findings if f.id == "A6" and f.p is not None and f.benchmark in panels and f.scope is Scope.CHECKPOINT]
    differ = sum(f.verdict is Conclusion.SUPPORTED for f in pairs)
    sentences = [f"No line can be called better: {_single_runs(results)}.", _movement(results)]
    if pairs:
        verb = "is" if differ == 1 or len(pairs) == 1 else "are"
        sentences.append(
            f"As checkpoints, on items like these, {_of(differ, len(pairs))} of lines {verb} shown to differ at the end."
        )
    return sentences


def _single_runs(results: Sequence[LineResult]) -> str:
    single = sorted({result.line for result in results if result.runs < MIN_RUNS})
    if len(single) == len({result.line for result in results}):
        return "there is one run per line, and another seed would end elsewhere"
    named = _listed(single) if len(single) <= NAMED else f"{len(single)} lines"
    return f"{named} {'have' if single[1:] else 'has'} one run, and another seed would end elsewhere"


def _of(count: int, total: int) -> str:
    if total == 1:
        return "the pair" if count else "no pair"
    return f"{count} of {total} pairs" if count else f"none of {total} pairs"


def _of_configurations(findings: Sequence[Finding], results: Sequence[LineResult], left_out: Sequence[str] = ()) -> list[str]:
    panels = list(dict.fromkeys(result.benchmark for result in results))
    sentences = [_ranking(findings, [r for r in results if r.benchmark == panel], panels) for panel in panels[:2]]
    if len(panels) > 2:
        sentences[1:] = [f"{len(panels) - 1} more temperatures are in the table."]
    sized = next((f for f in findings if _is_size_claim(f, panels)), None)
    if sized is not None:
        ends = sorted((r for r in results if r.benchmark == sized.benchmark), key=lambda r: parameters_in(r.line) or 0)
        sentences = [f"Larger models end higher: {_named_end(ends[0])} to {_named_end(ends[-1])}."] + sentences[:1]
    elif len(panels) == 1:
        sentences.append(_movement(results))
    seeds = sorted({result.runs for result in results})
    runs = f"{seeds[0]} runs" if len(seeds) == 1 else f"{seeds[0]} to {seeds[-1]} runs"
    tests = sum(f.q is not None for f in findings)
    corrected = f"verdicts are corrected for {tests} tests; the 95 % CIs in brackets are not"
    sure = f"The unit is the run ({runs} per line), and {corrected}."
    return [*sentences[: 2 - len(left_out)], *left_out, sure]


def _is_size_claim(finding: Finding, panels: Sequence[str]) -> bool:
    is_shown = finding.verdict is Conclusion.SUPPORTED and finding.scope is Scope.CONFIGURATION
    return finding.id == "A12" and is_shown and finding.benchmark in panels


def _ranking(findings: Sequence[Finding], results: Sequence[LineResult], panels: Sequence[str]) -> str:
    """Says which line ends highest on one panel, and above which others that is shown."""
    (panel,) = {result.benchmark for result in results}
    ordered = sorted(results, key=lambda result: -result.end.mean)
    pairs = {f.series: f for f in findings if f.id == "A6" and f.benchmark == panel and f.scope is Scope.CONFIGURATION}
    best = ordered[0]
    shown = [other for other in ordered[1:] if _is_shown(pairs, best, other)]
    open_ = [other for other in ordered[1:] if other not in shown]
    where = f"{_panel_words(panel)}: " if len(panels) > 1 else ""
    if not shown:
        separated = [(a, b) for a, b in combinations(ordered, 2) if _is_shown(pairs, a, b)]
        if separated:
            a, b = max(separated, key=lambda pair: pair[0].end.mean - pair[1].end.mean)
            largest = f"{a.line} above {b.line}"
            is_shown = f"only {largest} is shown" if len(separated) == 1 else (
                f"it is shown above no other; of {len(separated)} pairs that are shown, the largest is {largest}"
            )  # fmt: skip
            return f"{where}{best.line} has the highest mean, but {is_shown}, by {_gap(pairs, a, b)}."
        return f"{where}No line is shown to end above another: the ends lie between {share(ordered[-1].end.mean)} and " + (
            f"{share(best.end.mean)}."
        )
    return f"{where}{best.line} ends highest, at {_value(best)}, {_gaps(pairs, best, shown)}{_not_shown(pairs, best, open_)}."


def _not_shown(pairs: dict[str, Finding], best: LineResult, others: Sequence[LineResult]) -> str:
    """Names the lines above which it is not shown to end; of large differences it says that the runs are too few."""
    few = [other for other in others if _excludes_zero(_pair(pairs, best, other))]
    rest = [other for other in others if other not in few]
    parts = []
    if few and len(few) <= NAMED:
        listed = _listed([f"{other.line} ({_gap(pairs, best, other)})" for other in few])
        parts.append(f"its lead over {listed} does not survive the correction")
    elif few:
        parts.append(f"its lead over {len(few)} others does not survive the correction")
    if rest:
        parts.append(f"it is not distinguishable from {_names(rest)}")
    return "".join(f"; {part}" for part in parts)


def _excludes_zero(finding: Finding | None) -> bool:
    return finding is not None and finding.low is not None and finding.high is not None and finding.low * finding.high > 0


def _panel_words(panel: str) -> str:
    """Names a panel where an answer is about several: the temperature, where they are means over the same benchmarks."""
    return panel.removeprefix(f"{OVERALL}, ").capitalize() if panel.startswith(OVERALL) else panel


def _is_shown(pairs: dict[str, Finding], a: LineResult, b: LineResult) -> bool:
    finding = _pair(pairs, a, b)
    return finding is not None and finding.verdict is Conclusion.SUPPORTED


def _pair(pairs: dict[str, Finding], a: LineResult, b: LineResult) -> Finding | None:
    return pairs.get(f"{a.line} and {b.line}") or pairs.get(f"{b.line} and {a.line}")


def _gap(pairs: dict[str, Finding], a: LineResult, b: LineResult) -> str:
    """Returns the difference of a shown pair with its 95 % interval: 35.4 points [32.0, 38.7]."""
    finding = _pair(pairs, a, b)
    assert finding is not None
    gap = f"{100 * (a.end.mean - b.end.mean):.1f} points"
    if finding.low is None or finding.high is None:
        return gap
    sign = 1 if finding.series.startswith(f"{a.line} and ") else -1
    low, high = sorted((sign * finding.low, sign * finding.high))
    return f"{gap} {between(max(-1.0, low), min(1.0, high))}"


def _gaps(pairs: dict[str, Finding], best: LineResult, others: Sequence[LineResult]) -> str:
    if len(others) <= NAMED:
        return "above " + _listed([f"{other.line} by {_gap(pairs, best, other)}" for other in others])
    gaps = [100 * (best.end.mean - other.end.mean) for other in others]
    return f"above {len(others)} others by {min(gaps):.1f} to {max(gaps):.1f} points"


def _names(results: Sequence[LineResult]) -> str:
    return _listed([result.line for result in results]) if len(results) <= NAMED else f"{len(results)} others"


def _listed(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def _named_end(result: LineResult) -> str:
    return f"{_value(result)} ({result.line})"


def _movement(results: Sequence[LineResult]) -> str:
    """Says what the lines did from start to end, as a range over them; over the first panel where there are several."""
    shown = [result for result in results if result.benchmark == results[0].benchmark]
    starts = [result.start.mean for result in shown]
    count = len(shown)
    subject = LINE_WORDS.get(count, f"All {count} lines")
    lowest, highest = min(shown, key=_end), max(shown, key=_end)
    first = f"at {share(starts[0])}" if min(starts) == max(starts) else f"between {share(min(starts))} and {share(max(starts))}"
    last = f"between {share(_end(lowest))} ({lowest.line}) and {share(_end(highest))} ({highest.line})"
    last = f"at {share(_end(lowest))}" if share(_end(lowest)) == share(_end(highest)) else last
    they = "it starts {} and ends {}{}" if count == 1 else "they start {} and end {}{}"
    lengths = _lengths_at_end(shown)
    if all(result.end.low > result.start.high for result in shown):  # not so where an interval is unknown
        return f"{subject} rise{'s' * (count == 1)}: {they.format(first, last, lengths)}."
    return f"{they[:1].upper()}{they[1:]}.".format(first, last, lengths)


def _lengths_at_end(results: Sequence[LineResult]) -> str:
    """Says which lines write the shortest and the longest answers, where the means differ by a tenth or more."""
    known = [(result.length.mean, result.line) for result in results if result.length is not None]
    if len(known) < 2 or len(known) < len(results) or max(known)[0] < UNLIKE_LENGTHS * min(known)[0]:
        return ""
    (shortest, short), (longest, long) = min(known), max(known)
    return f", with {shortest:.0f} ({short}) to {longest:.0f} ({long}) tokens per answer"


def _end(result: LineResult) -> float:
    return result.end.mean


# Curves that were read from a text.


def _of_a_text(curves: Curves, findings: Sequence[Finding], results: Sequence[LineResult]) -> list[str]:
    count = len({result.line for result in results})
    source = f" read from {Path(curves.source).name}" if curves.source else ""
    sentences = [f"{count} line{'s' * (count > 1)}{source}. {_movement(results)}"]
    has_counts = any(curve.n for curve in curves.series)
    sentences.append(
        "The numbers of items bound the noise; the items themselves are unknown, so little can be tested."
        if has_counts
        else "Points without their items have an unknown noise, so no difference between lines can be tested."
    )
    claims = [f for f in findings if f.id == "A15"]
    against = sum(f.verdict is Conclusion.NOT_SUPPORTED for f in claims)
    if claims:
        sentences.append(f"{against} of {len(claims)} claims of the text disagree with its own numbers.")
    return sentences
