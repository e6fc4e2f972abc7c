import pytest
import torch

from passus.engine import logprob


@pytest.mark.parametrize("temperature", [1.0, 0.7])
@pytest.mark.parametrize("chunk", [1, 7, 64])
def test_chunked_equals_plain_in_values_and_gradients(chunk, temperature):
    torch.manual_seed(0)
    head = torch.nn.Linear(16, 101)
    hidden = torch.randn(50, 16, requires_grad=True)
    targets = torch.randint(0, 101, (50,))
    weight_logp, weight_entropy = torch.randn(50), torch.randn(50)

    def run(function):
        logp, entropy = function()
        (logp * weight_logp + entropy * weight_entropy).sum().backward()
        gradients = [hidden.grad.clone(), head.weight.grad.clone(), head.bias.grad.clone()]
        hidden.grad = head.weight.grad = head.bias.grad = None
        return [logp.detach(), entropy.detach(), *gradients]

    chunked = run(lambda: logprob.token_logprobs(head, hidden, targets, temperature, chunk))
    plain = run(lambda: logprob.plain_logprobs(head, hidden, targets, temperature))
    for mine, theirs in zip(chunked, plain, strict=True):
        torch.testing.assert_close(mine, theirs, atol=1e-5, rtol=1e-5)


def test_values_against_torchs_cross_entropy_and_categorical():
    torch.manual_seed(0)
    head = torch.nn.Linear(8, 30)
    hidden, targets = torch.randn(20, 8), torch.randint(0, 30, (20,))
    logp, entropy = logprob.token_logprobs(head, hidden, targets)
    torch.testing.assert_close(-logp, torch.nn.functional.cross_entropy(head(hidden), targets, reduction="none"))
    torch.testing.assert_close(entropy, torch.distributions.Categorical(logits=head(hidden)).entropy())


def test_no_tensor_is_larger_than_a_chunk_times_the_vocabulary():
    """Checks the size of every tensor of the forward and backward pass."""
    from torch.utils._python_dispatch import TorchDispatchMode

    class Largest(TorchDispatchMode):
        size = 0

        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            out = function(*args, **(kwargs or {}))
            for tensor in out if isinstance(out, (tuple, list)) else [out]:
                if isinstance(tensor, torch.Tensor):
                    self.size = max(self.size, tensor.numel())
            return out

    head = torch.nn.Linear(8, 1000, bias=False)
    hidden, targets = torch.randn(64, 8, requires_grad=True), torch.randint(0, 1000, (64,))
    with Largest() as seen:
        logp, _ = logprob.token_logprobs(head, hidden, targets, chunk=16)
        logp.sum().backward()
    assert 8 * 1000 <= seen.size <= 16 * 1000
