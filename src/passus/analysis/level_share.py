"""How the tests of one report share its level.

What was varied is the question of a report, and the many tests of single curves would drown it. So claims about configurations
have a part of the level to themselves, and those over all benchmarks, which answer the question, the largest.
"""

from collections import Counter
from collections.abc import Sequence

from passus.analysis.finding import OVERALL, Finding, Scope


def level_share(*, is_configuration: bool, is_overall: bool, has_overall: bool) -> float:
    """Returns the part of the level that all tests of one kind share.

    `has_overall` says whether the report has claims about configurations over all benchmarks.
    """
    if not has_overall:
        return 0.5
    return 0.5 if is_configuration and is_overall else 0.25


def level_shares(findings: Sequence[Finding]) -> list[float]:
    """Returns the part of the level that each of these tests has."""
    kinds = [(f.scope is Scope.CONFIGURATION, f.benchmark.startswith(OVERALL)) for f in findings]
    kinds = [(configuration, configuration and overall) for configuration, overall in kinds]
    counts, has_overall = Counter(kinds), (True, True) in kinds
    return [
        level_share(is_configuration=configuration, is_overall=overall, has_overall=has_overall)
        / counts[configuration, overall]
        for configuration, overall in kinds
    ]
