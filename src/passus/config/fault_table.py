"""The `[fault]` table: a known defect that a run gets on purpose, so that explanations of curves can be tested.

A fault changes the run from `from_step` on and nothing else. Faults that an ordinary setting produces (a learning rate that is
too high, say) need no entry here.
"""

from typing import Literal

from pydantic import Field

from passus.schema import Section

FaultName = Literal[
    "none", "lenient-verifier", "noisy-reward", "shuffled-rewards", "misplaced-rewards", "negated-rewards",
    "leaked-answers", "missing-generation-prompt", "lost-end-token", "identical-samples", "stale-sampler",
    "low-precision-sampler", "lost-optimizer-state", "lost-updates", "restarted-weights", "corrupted-weights",
    "reversed-kl", "corrupted-batch",
]  # fmt: skip

FAULTS: dict[str, str] = {
    "lenient-verifier": "the verifier accepts a share (strength) of the wrong answers",
    "noisy-reward": "a share (strength) of the rewards is drawn at random from the rewards of the step",
    "shuffled-rewards": "the rewards of the step are dealt out to its completions in another order",
    "misplaced-rewards": "completions get the rewards of the prompt before",
    "negated-rewards": "rewards have the wrong sign",
    "leaked-answers": "training prompts contain the right answer",
    "missing-generation-prompt": "training prompts lack the tokens that open the model's turn; evaluation has them",
    "lost-end-token": "the sampler no longer stops at the end token",
    "identical-samples": "all samples of a prompt are copies of the first",
    "stale-sampler": "the sampler keeps the weights that it had when the fault began",
    "low-precision-sampler": "the sampler reads weights rounded to 3 bits of mantissa",
    "lost-optimizer-state": "Adam's second moments are lost once, and its step count is kept",
    "lost-updates": "updates are computed and not applied",
    "restarted-weights": "once, the weights are set back to those before training",
    "corrupted-weights": "once, noise of a tenth of its size is added to every weight matrix",
    "reversed-kl": "the KL to the reference policy has the wrong sign",
    "corrupted-batch": "completions are trained after the prompts of another group",
}
"""What each fault does, in a line."""


class FaultTable(Section):
    name: FaultName = "none"
    """A defect that the run gets on purpose, to test explanations of curves; docs/diagnosis.md lists them."""
    from_step: int = Field(1, ge=1)
    """First step with the defect."""
    strength: float = Field(1.0, gt=0, le=1)
    """Share of the rows that it affects, for the faults of the verifier and the reward."""

    def is_active(self, step: int) -> bool:
        return self.name != "none" and step >= self.from_step

    def describe(self) -> str:
        """Returns the fault in words, for records, figures and reports; empty where there is none."""
        if self.name == "none":
            return ""
        share = f" ({self.strength:g})" if "strength" in FAULTS[self.name] else ""
        return f"{self.name}{share} from step {self.from_step} on"
