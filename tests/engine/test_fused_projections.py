"""Fused projections: same names, values and gradients, and a single product in compiled code."""

import pytest
import torch

from helpers.tiny_models import tiny_model
from passus.engine import fused_projections


def logits(model, ids):
    return model(ids, use_cache=False).logits


@pytest.mark.parametrize("family", ["qwen3", "qwen2.5", "gemma3+windows"])
def test_only_the_location_of_the_weights_changes(family, tmp_path):
    plain, shared = tiny_model(family), tiny_model(family)
    ids = torch.randint(2, 41, (2, 9), generator=torch.Generator().manual_seed(0))
    assert fused_projections.fuse_projections(shared) == 4  # two per layer
    assert list(plain.state_dict()) == list(shared.state_dict())
    with torch.no_grad():
        torch.testing.assert_close(logits(shared, ids), logits(plain, ids), atol=1e-5, rtol=1e-5)
    for model in (plain, shared):
        logits(model, ids).square().sum().backward()
    for (name, mine), (_, theirs) in zip(shared.named_parameters(), plain.named_parameters(), strict=True):
        torch.testing.assert_close(mine.grad, theirs.grad, atol=1e-4, rtol=1e-4, msg=name)
    shared.save_pretrained(tmp_path)
    again = type(plain).from_pretrained(tmp_path)
    assert all(torch.equal(again.state_dict()[name], tensor) for name, tensor in plain.state_dict().items())


def test_the_fused_product_sees_an_update_of_a_weight():
    model = tiny_model("llama3.2")
    fused_projections.fuse_projections(model)
    ids = torch.tensor([[3, 4, 5]])
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.1)
    logits(model, ids).square().sum().backward()
    optimizer.step()
    with torch.no_grad():
        merged = logits(model, ids)
    torch.testing.assert_close(merged, logits(model, ids).detach(), atol=1e-4, rtol=1e-4)


@pytest.mark.slow
def test_the_compiler_merges_three_products():
    from torch._inductor import config

    counts = []

    def one_pass(graph):
        fused_projections.merge_equal_products(graph)
        counts.append(sum(node.target in (torch.ops.aten.mm.default, torch.ops.aten.addmm.default) for node in graph.nodes))

    model = tiny_model("llama3.2")
    fused_projections.fuse_projections(model)
    attention = model.model.layers[0].self_attn
    hidden = torch.randn(4, 1, 32)

    def project(x):
        return attention.q_proj(x).relu(), attention.k_proj(x).sigmoid(), attention.v_proj(x).tanh()

    with torch.no_grad(), config.patch(post_grad_custom_pre_pass=one_pass):
        got = torch.compile(project, fullgraph=True, dynamic=False)(hidden)
        expected = project(hidden)
    assert counts == [1]
    for mine, theirs in zip(got, expected, strict=True):
        torch.testing.assert_close(mine, theirs)
