"""Claims of a clause: each reader knows one kind of statement and returns None where the clause is of another kind."""

from passus.descriptions.change_claims import attained_elsewhere, gain_is, gain_ratio, more_than
from passus.descriptions.claim_tokens import Found
from passus.descriptions.claims import Claim
from passus.descriptions.clauses import Clause
from passus.descriptions.comparison_claims import closer, comparison, ratio, recovering, returning, two_panels, within_range
from passus.descriptions.course_claims import course, flat, increments, noise, order, same, value
from passus.descriptions.gap_claims import crossing, gap, minus
from passus.descriptions.order_claims import same_order, same_winner
from passus.descriptions.passing_claims import passing
from passus.descriptions.rank_claims import peak, rank


def _first(clause: Clause) -> Found:
    """Reads "the first to", which other readers would take for a place."""
    return passing(clause) if "FIRSTTO" in clause.words else None


def claims_of(clause: Clause) -> list[Claim]:
    """Returns the claims of a clause, or nothing where no reader knows its form."""
    for reader in READERS:
        found = reader(clause)
        if found is not None:
            return found
    return []


READERS = (
    _first, increments, same_order, same_winner, two_panels, more_than, gain_ratio, gain_is, attained_elsewhere,
    within_range, closer, gap,
    returning, recovering, comparison, passing, ratio, rank, peak, minus, crossing, course, flat, same, order, noise, value,
)  # fmt: skip
