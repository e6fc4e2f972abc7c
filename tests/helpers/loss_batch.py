"""A batch of log-probs for comparing losses."""

import torch

from passus.methods.loss import LossTokens, nll_loss, policy_loss, token_weights
from passus.methods.presets import PRESETS

GRPO = PRESETS["grpo"]
ROWS, LONGEST = 12, 9


def random_batch(seed: int):
    """Returns lengths, a mask that excludes two rows, old and new log-probs, and advantages."""
    g = torch.Generator().manual_seed(seed)
    lengths = torch.randint(1, LONGEST + 1, (ROWS,), generator=g)
    mask = (torch.arange(LONGEST) < lengths[:, None]).float()
    mask[[2, 7]] = 0.0
    old = -torch.rand(ROWS, LONGEST, generator=g) * 3
    new = old + 0.5 * torch.randn(ROWS, LONGEST, generator=g)
    return lengths, mask, old, new, torch.randn(ROWS, generator=g)


def passus_loss(
    new, old, lengths, counts, advantage, rows, method=GRPO, ref=None, entropies=None, sampled=None, mask=None
):  # fmt: skip
    """Computes the loss of passus, in packed form, over some rows of the batch. `mask` is 0 for tokens that are not trained."""
    mask = torch.ones(len(lengths), LONGEST) if mask is None else mask
    trained = (mask * (torch.arange(LONGEST) < lengths[:, None])).sum(1)
    weights = token_weights(trained, counts, method, LONGEST)
    row_C = torch.cat([torch.full((int(lengths[r]),), r) for r in rows])
    offset_C = torch.cat([torch.arange(int(lengths[r])) for r in rows])

    def pick(x):
        return None if x is None else x[row_C, offset_C]

    entropy_C = torch.zeros(len(row_C)) if entropies is None else pick(entropies)
    tokens = LossTokens(
        pick(new), entropy_C, pick(old), advantage[row_C], weights[row_C] * pick(mask), row_C, len(lengths),
        (trained * counts).sum(),
        pick(ref), pick(sampled),
    )  # fmt: skip
    return nll_loss(tokens) if method.loss == "likelihood" else policy_loss(tokens, method)


def on_policy_gradient(method, lengths, advantage):
    """Returns the gradient of the first update, where the old policy is the policy itself."""
    logp = random_batch(0)[2].clone().requires_grad_()
    loss, _ = passus_loss(logp, logp.detach(), lengths, torch.ones(ROWS), advantage, list(range(ROWS)), method)
    loss.backward()
    return logp.grad
