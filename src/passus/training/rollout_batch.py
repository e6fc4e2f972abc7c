"""The completions of one step: D prompts with G completions each, side by side, with their grades."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from passus.engine.interface import Prompt, Rollout
from passus.grading.verdict import Grade
from passus.tasks.item import Item


@dataclass
class RolloutBatch:
    """Lists over D prompts and over N = D x G completions. The verifier fills in texts and grades."""

    samples: int
    """G: completions per prompt."""
    items_D: list[Item]
    prompts_D: list[Prompt]
    rollout: Rollout
    texts_N: list[str] = field(default_factory=list)
    grades_N: list[Grade] = field(default_factory=list)
    """Grades of the policy's own answers."""
    reader_grades_N: list[Grade] | None = None
    """Grades of a CoT reader's answers, where those are rewarded."""
    trained_tokens_N: list[int] | None = None
    """Tokens per completion that the reader's answer can depend on; the others are not trained."""
    reader_tokens: int = 0
    """Tokens that the reader read and wrote."""

    @property
    def rewarded_grades_N(self) -> list[Grade]:
        """The grades that rewards are made from."""
        return self.grades_N if self.reader_grades_N is None else self.reader_grades_N

    @property
    def items_N(self) -> list[Item]:
        return [item for item in self.items_D for _ in range(self.samples)]

    @property
    def lengths_N(self) -> list[int]:
        """Trained tokens per completion."""
        return self.trained_tokens_N or [len(tokens) for tokens in self.rollout.tokens]

    @property
    def token_count(self) -> int:
        """Prompt tokens, counted once per completion, and completion tokens."""
        return sum(len(p.tokens) for p in self.prompts_D) * self.samples + sum(map(len, self.rollout.tokens))

    def select(self, groups: Sequence[int]) -> "RolloutBatch":
        """Returns a batch of only these groups."""
        rows = [d * self.samples + g for d in groups for g in range(self.samples)]
        rollout = Rollout(
            [self.rollout.tokens[n] for n in rows],
            [self.rollout.logps[n] for n in rows],
            [self.rollout.finished[n] for n in rows],
        )
        return RolloutBatch(
            self.samples, [self.items_D[d] for d in groups], [self.prompts_D[d] for d in groups], rollout,
            [self.texts_N[n] for n in rows], [self.grades_N[n] for n in rows],
            None if self.reader_grades_N is None else [self.reader_grades_N[n] for n in rows],
            None if self.trained_tokens_N is None else [self.trained_tokens_N[n] for n in rows], self.reader_tokens,
        )  # fmt: skip

    def __add__(self, other: "RolloutBatch") -> "RolloutBatch":
        a, b = self.rollout, other.rollout
        rollout = Rollout(a.tokens + b.tokens, a.logps + b.logps, a.finished + b.finished)
        return RolloutBatch(
            self.samples, self.items_D + other.items_D, self.prompts_D + other.prompts_D, rollout,
            self.texts_N + other.texts_N, self.grades_N + other.grades_N,
            None if self.reader_grades_N is None else self.reader_grades_N + (other.reader_grades_N or []),
            None if self.trained_tokens_N is None else self.trained_tokens_N + (other.trained_tokens_N or []),
            self.reader_tokens + other.reader_tokens,
        )  # fmt: skip
