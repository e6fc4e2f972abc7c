"""Cached decoding of a few rows at different positions."""

import torch

from passus.engine.attention import DecodePlan, KeyValueCache

LENGTHS = [13, 4, 9, 17]


def random_rows():
    generator = torch.Generator().manual_seed(1)
    return [torch.randint(2, 41, (n,), generator=generator) for n in LENGTHS]


def decoded(model, rows):
    """Returns the logits of each row by cached decoding. Row i starts i steps late, so that positions differ."""
    cache = KeyValueCache.empty(model.config, len(rows), 32, model.device, torch.float32)
    got = [[] for _ in rows]
    for tick in range(max(LENGTHS) + len(rows)):
        at = [tick - i for i in range(len(rows))]
        clamped = torch.tensor([min(max(p, 0), n - 1) for p, n in zip(at, LENGTHS, strict=True)])
        feed = torch.stack([row[p] for row, p in zip(rows, clamped, strict=True)])
        plan = DecodePlan(cache, clamped, longest=int(clamped.max()) + 1)
        with torch.no_grad():
            logits = model(feed[:, None], position_ids=clamped[:, None], use_cache=False, plan=plan).logits[:, 0]
        for i, p in enumerate(at):
            if 0 <= p < LENGTHS[i]:
                got[i].append(logits[i])
    return [torch.stack(logits) for logits in got]
