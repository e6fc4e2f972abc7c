"""What one step draws: D prompts with G completions each, side by side, with their grades."""

from collections.abc import Sequence
from dataclasses import dataclass

from passus.engine.interface import Prompt, Rollout
from passus.grading.grade import Grade, Verdict
from passus.tasks.lookup import Item


@dataclass
class Groups:
    """Lists of D prompts, and of N = D x G completions."""

    samples: int
    """G."""
    items_D: list[Item]
    prompts_D: list[Prompt]
    rollout: Rollout
    texts_N: list[str]
    grades_N: list[Grade]
    read_N: list[Grade] | None = None
    """Of a reader's answers, where they are what is paid for."""

    shown_N: list[int] | None = None
    """How many tokens of each completion the reader's answer can depend on: the others are not learned."""
    read_tokens: int = 0
    """What the reader read and wrote, in tokens."""

    @property
    def paid_N(self) -> list[Grade]:
        """What rewards are made from."""
        return self.grades_N if self.read_N is None else self.read_N

    @property
    def items_N(self) -> list[Item]:
        return [item for item in self.items_D for _ in range(self.samples)]

    @property
    def tokens(self) -> int:
        """Of prompts, counted once for each of their completions, and of completions."""
        return sum(len(p.tokens) for p in self.prompts_D) * self.samples + sum(map(len, self.rollout.tokens))

    def mixed(self) -> list[int]:
        """Groups with right and other answers: those that a comparison can learn from."""
        right_N = [g.verdict is Verdict.CORRECT for g in self.paid_N]
        right_D = [sum(right_N[d * self.samples : (d + 1) * self.samples]) for d in range(len(self.items_D))]
        return [d for d, right in enumerate(right_D) if 0 < right < self.samples]

    def choose(self, prompts: int) -> list[int]:
        """Which groups the updates take: mixed ones first, then others to fill up, in the order they were drawn."""
        mixed = self.mixed()
        others = sorted(set(range(len(self.items_D))) - set(mixed))
        return sorted((mixed + others)[:prompts])

    def pick(self, groups: Sequence[int]) -> "Groups":
        rows = [d * self.samples + g for d in groups for g in range(self.samples)]
        rollout = Rollout(
            [self.rollout.tokens[n] for n in rows],
            [self.rollout.logps[n] for n in rows],
            [self.rollout.finished[n] for n in rows],
        )
        return Groups(
            self.samples, [self.items_D[d] for d in groups], [self.prompts_D[d] for d in groups], rollout,
            [self.texts_N[n] for n in rows], [self.grades_N[n] for n in rows],
            None if self.read_N is None else [self.read_N[n] for n in rows],
            None if self.shown_N is None else [self.shown_N[n] for n in rows], self.read_tokens,
        )  # fmt: skip

    def __add__(self, other: "Groups") -> "Groups":
        mine, theirs = self.rollout, other.rollout
        rollout = Rollout(mine.tokens + theirs.tokens, mine.logps + theirs.logps, mine.finished + theirs.finished)
        return Groups(
            self.samples, self.items_D + other.items_D, self.prompts_D + other.prompts_D, rollout,
            self.texts_N + other.texts_N, self.grades_N + other.grades_N,
            None if self.read_N is None else self.read_N + (other.read_N or []),
            None if self.shown_N is None else self.shown_N + (other.shown_N or []), self.read_tokens + other.read_tokens,
        )  # fmt: skip
