"""How the tests of one report share its level.

What was varied is the question of a report, and the many tests of single curves would drown it. So claims about configurations
have a part of the level to themselves, and those over all benchmarks, which answer the question, the largest. Of the rest, one
half is for whether training worked at all.
"""

from collections import Counter
from collections.abc import Sequence
from enum import StrEnum

from passus.analysis.finding import OVERALL, Finding, Scope


class QuestionKind(StrEnum):
    OVERALL = "configurations over all benchmarks"
    CONFIGURATION = "configurations on one benchmark"
    IMPROVEMENT = "whether a curve rises"
    OTHER = "all other questions"


def level_share(kind: QuestionKind, has_overall: bool) -> float:
    """Returns the part of the level that all tests of one kind share.

    `has_overall` says whether the report has claims about configurations over all benchmarks.
    """
    if kind is QuestionKind.OVERALL:
        return 0.5
    whole = 0.5 if has_overall else 1.0
    return whole * (0.5 if kind is QuestionKind.CONFIGURATION else 0.25)


def level_shares(findings: Sequence[Finding]) -> list[float]:
    """Returns the part of the level that each of these tests has."""
    kinds = [_kind(finding) for finding in findings]
    counts = Counter(kinds)
    return [level_share(kind, QuestionKind.OVERALL in counts) / counts[kind] for kind in kinds]


def _kind(finding: Finding) -> QuestionKind:
    if finding.scope is Scope.CONFIGURATION:
        return QuestionKind.OVERALL if finding.benchmark.startswith(OVERALL) else QuestionKind.CONFIGURATION
    return QuestionKind.IMPROVEMENT if finding.id == "A1" else QuestionKind.OTHER
