"""Claims that a ranking is the same, or the reverse, at another place or on another panel."""

from passus.descriptions.claim_tokens import Found, group_of
from passus.descriptions.claims import END, WHOLE, Claim, Group
from passus.descriptions.clauses import Clause, joined

REVERSED = r"reverse|reversed|inverted|opposite|inverse|flipped|upside down|mirror image"
ALIKE = r"same|identical|unchanged|alike|equal|preserved|agrees?"


def same_order(c: Clause) -> Found:
    """Reads "the ranking is the same on both panels", "the order at the end is the reverse of that at the start"."""
    if "ORDER" not in c.words or set(c.words) - {"ORDER", "REVERSE", "SAME", "FLAT"} or c.values or c.amounts:
        return None
    is_reverse = "REVERSE" in c.words or c.says(REVERSED)
    if not is_reverse and not ({"SAME", "FLAT"} & set(c.words) or c.says(ALIKE)):
        return None
    panels = tuple(dict.fromkeys(panel for token in c.of_kind("panel") for panel in token.part if isinstance(panel, str)))
    named = next((g for token in c.groups if (g := group_of(token)) is not None and len(g.names) > 1), Group(c.context.names))
    claim = Claim("order_same", named, relation="reverse" if is_reverse else "same", negated=bool(c.negation))
    places = c.places()
    if len(panels) > 1:
        where = joined(places, END)
        if where is None or "exactly" in panels or (is_reverse and len(panels) != 2):
            return []
        return [
            Claim(
                "panels_order_same", claim.group, where, claim.relation, order=panels, panels=panels[:1], negated=claim.negated
            )
        ]
    if len(places) == 2 and all(place.is_point for place in places) and places[0] != places[1]:
        return [Claim("order_same", claim.group, places[0], claim.relation, other_where=places[1], negated=claim.negated)]
    if not places or places == [WHOLE] or places[0].every:
        return [claim] if not is_reverse and c.stays else []
    return []


def same_winner(c: Clause) -> Found:
    """Reads "the same run wins both benchmarks"."""
    extremes = [word for word in c.words if word in ("BEST", "WORST")]
    if "SAMEONE" not in c.words or len(extremes) != 1 or set(c.words) - {"SAMEONE", *extremes} or c.groups:
        return None
    panels = tuple(dict.fromkeys(panel for token in c.of_kind("panel") for panel in token.part if isinstance(panel, str)))
    where = c.place(default=END)
    if len(panels) < 2 or "exactly" in panels or where is None or not where.is_point:
        return []
    relation = "best" if extremes == ["BEST"] else "worst"
    return [
        Claim(
            "panels_winner", Group(c.context.names), where, relation, order=panels, panels=panels[:1], negated=bool(c.negation)
        )
    ]
