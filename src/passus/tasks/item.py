"""One question with its gold answer."""

from dataclasses import dataclass

from passus.grading.grade import MATH, Rule
from passus.tasks.prompt import BARE, Style


@dataclass(frozen=True)
class Item:
    benchmark: str
    """Where it comes from, as suites spell it: `abacus/add3`, `gsm8k`."""
    index: int
    """Its number there; with benchmark and split it determines everything else."""
    question: str
    """What is asked, bare but for the options of a choice; model.prompt says how it is put."""
    gold: str
    """The right answer, as the verifier compares it."""
    solution: str = ""
    """A worked solution that ends in \\boxed{gold}, where the data has one."""
    rule: Rule = MATH
    """How answers are compared with the gold."""
    id: str = ""
    """The data's own name for it, where it has one."""
    style: Style = BARE
    """How its benchmark puts it, where model.prompt leaves that open."""
