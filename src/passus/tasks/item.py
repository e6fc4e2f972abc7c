"""One question with its gold answer."""

from dataclasses import dataclass

from passus.grading.verdict import MATH, Rule
from passus.tasks.prompt import BARE, PromptStyle


@dataclass(frozen=True)
class Item:
    benchmark: str
    """Benchmark or training set of the item, in the spelling of suites: `abacus/add3`, `gsm8k`."""
    index: int
    """Number of the item there. Benchmark, split and index determine everything else."""
    question: str
    """The question, with the options of a choice and without any instruction; model.prompt adds the rest."""
    gold: str
    """The right answer, in the form that the verifier compares."""
    solution: str = ""
    """A worked solution that ends in \\boxed{gold}, where the data has one."""
    rule: Rule = MATH
    """How answers are compared with the gold."""
    id: str = ""
    """The identifier in the data, where it has one."""
    style: PromptStyle = BARE
    """How the benchmark phrases the prompt, for model.prompt = "auto"."""
    cluster: str = ""
    """What it shares with other items, such as a passage or a template. Items of one cluster are not independent."""
