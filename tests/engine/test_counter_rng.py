"""Counter-based random numbers: known answers, independence of the batch, and uniformity."""

import torch

from passus.engine import counter_rng

KNOWN_ANSWERS = [  # from Random123, the reference implementation
    ((0, 0, 0, 0), (0, 0), (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
    ((0xFFFFFFFF,) * 4, (0xFFFFFFFF,) * 2, (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
    (
        (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
        (0xA4093822, 0x299F31D0),
        (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
    ),
]


def test_philox_known_answers():
    for counter, key, expected in KNOWN_ANSWERS:
        words = counter_rng.philox(tuple(torch.tensor([c]) for c in counter), key)
        assert tuple(int(w) for w in words) == expected


def draws(items, samples, positions=20, **changes):
    parts = {"seed": 3, "stream": "train", "step": 7} | changes
    return counter_rng.uniforms(
        parts["seed"], parts["stream"], parts["step"], torch.tensor(items), torch.tensor(samples), positions
    )


def test_the_composition_of_a_batch_changes_no_bit():
    together = draws([5, 9, 5, 11], [0, 0, 1, 3])
    assert torch.equal(together[2], draws([5], [1])[0])
    assert torch.equal(together[[3, 0]], draws([11, 5], [3, 0]))
    assert torch.equal(together[:, :8], draws([5, 9, 5, 11], [0, 0, 1, 3], positions=8))


def test_chunks_change_no_bit(monkeypatch):
    whole = draws(list(range(50)), [0] * 50)
    monkeypatch.setattr(counter_rng, "CHUNK_NUMBERS", 70)
    assert torch.equal(draws(list(range(50)), [0] * 50), whole)


def test_every_part_of_key_and_counter_matters():
    base = draws([5], [1])
    for other in (
        draws([6], [1]),
        draws([5], [2]),
        draws([5], [1], seed=4),
        draws([5], [1], step=8),
        draws([5], [1], stream="x"),
    ):
        assert not torch.equal(base, other)
    assert len(set(base[0].tolist())) == 20


def test_uniform():
    u = draws(list(range(500)), [0] * 500, positions=200)
    assert u.min() >= 0 and u.max() < 1
    counts = torch.histc(u.float(), bins=20, min=0, max=1)
    chi2 = ((counts - 5000) ** 2 / 5000).sum()
    assert chi2 < 45  # 19 degrees of freedom: p = .001
    assert abs(torch.corrcoef(torch.stack([u[:, :-1].flatten(), u[:, 1:].flatten()]))[0, 1]) < 0.01
