"""Train a PyTorch model with step activations, whose gradient is zero almost everywhere.

Such networks are small and fast on simple chips. ``torch.vmap`` evaluates a whole generation at once, over
copies of the model's parameters; the tensors stay on the model's device.
"""

import torch
from torch.func import functional_call
from torch.nn.utils import parameters_to_vector, vector_to_parameters

import r1nes


class Step(torch.nn.Module):
    """The step activation: 1 for positive inputs, otherwise −1."""

    def forward(self, x):
        """Apply the step to each element."""
        return torch.where(x > 0, 1.0, -1.0)


def moons(points):
    """Sample points on two interleaved half-moons with noise; return them and the half-moon of each."""
    which = torch.arange(points) % 2
    angle = torch.pi * torch.rand(points)
    x, y = torch.cos(angle), torch.sin(angle)
    places = torch.stack([torch.where(which == 1, 1 - x, x), torch.where(which == 1, 0.5 - y, y)], dim=1)
    return places + 0.1 * torch.randn(points, 2), which.float()


def main():
    """Train on 400 points, test on 1000 others."""
    torch.manual_seed(1)
    model = torch.nn.Sequential(
        torch.nn.Linear(2, 16), Step(), torch.nn.Linear(16, 16), Step(), torch.nn.Linear(16, 1)
    )
    inputs, which = moons(400)
    parameters = dict(model.named_parameters())

    def loss(vector):
        """The cross-entropy of the model with the parameters in ``vector``."""
        pieces = vector.split([p.numel() for p in parameters.values()])
        named = {name: piece.view_as(p) for (name, p), piece in zip(parameters.items(), pieces, strict=True)}
        scores = functional_call(model, named, (inputs,))[:, 0]
        return torch.nn.functional.binary_cross_entropy_with_logits(scores, which)

    x0 = parameters_to_vector(model.parameters())
    result = r1nes.minimize(
        torch.vmap(loss), x0, sigma0=0.3, vectorized=True, popsize=40, max_evals=20_000, rng=1
    )
    vector_to_parameters(result.x, model.parameters())

    new, truth = moons(1000)
    with torch.no_grad():
        right = ((model(new)[:, 0] > 0) == (truth == 1)).float().mean().item()
    print(f"{x0.numel()} parameters, loss {result.fun:.3f} after {result.nfev} evaluations")
    print(f"{right:.0%} of 1000 new points are classified correctly")
    assert right > 0.95


if __name__ == "__main__":
    main()
