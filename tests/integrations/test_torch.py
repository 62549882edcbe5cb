"""PyTorch modules, optimised without gradients."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from r1nes.integrations.torch import minimize_module  # noqa: E402

pytestmark = pytest.mark.arrays

INPUTS = torch.tensor([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
XOR = torch.tensor([[0.0], [1.0], [1.0], [0.0]])


def network(seed: int = 0, **kind: Any) -> Any:
    torch.manual_seed(seed)
    return torch.nn.Sequential(torch.nn.Linear(2, 8, **kind), torch.nn.Tanh(), torch.nn.Linear(8, 1, **kind))


def xor_loss(net: Any) -> Any:
    kind = next(net.parameters()).dtype
    return ((net(INPUTS.to(kind)) - XOR.to(kind)) ** 2).mean()


def state(module: Any) -> dict[str, Any]:
    return {name: tensor.clone() for name, tensor in module.state_dict().items()}


@pytest.mark.parametrize("method", ["rknes", "snes"])
def test_a_network_learns_xor(method: str) -> None:
    for seed in range(5):
        net = network(seed)
        result = minimize_module(
            xor_loss, net, method=method, sigma0=0.5, ftarget=1e-3, max_evals=2e4, rng=seed
        )
        assert result.success
        assert ((net(INPUTS) > 0.5) == (XOR > 0.5)).all()


def test_the_best_parameters_are_loaded_back() -> None:
    net = network()
    result = minimize_module(xor_loss, net, max_evals=500, rng=1)
    assert float(xor_loss(net).detach()) == result.fun
    np.testing.assert_array_equal(torch.nn.utils.parameters_to_vector(net.parameters()).detach(), result.x)


@pytest.mark.parametrize("kind", [torch.float32, torch.float64])
def test_the_dtype_of_the_parameters_is_kept(kind: Any) -> None:
    net = network(dtype=kind)
    result = minimize_module(xor_loss, net, max_evals=100, rng=1)
    assert result.x.dtype == str(kind).removeprefix("torch.")
    assert all(parameter.dtype == kind for parameter in net.parameters())
    assert all(parameter.requires_grad and parameter.grad is None for parameter in net.parameters())


def test_buffers_do_not_change_even_if_the_loss_updates_them() -> None:
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(2, 4), torch.nn.BatchNorm1d(4), torch.nn.Linear(4, 1))
    net.train()
    before = state(net)
    minimize_module(xor_loss, net, max_evals=200, rng=1)
    after = state(net)
    for name in ("1.running_mean", "1.running_var", "1.num_batches_tracked"):
        assert torch.equal(before[name], after[name])
    assert not torch.equal(before["0.weight"], after["0.weight"])
    assert not torch.equal(before["1.weight"], after["1.weight"])


def test_each_evaluation_starts_from_the_buffers_of_the_module() -> None:
    net = torch.nn.BatchNorm1d(2)
    seen = []

    def loss(copy: Any) -> float:
        seen.append(int(copy.num_batches_tracked))
        copy(INPUTS)
        return float(copy.weight.square().sum())

    minimize_module(loss, net, max_evals=100, rng=1)
    assert set(seen) == {0}


def test_frozen_parameters_do_not_change() -> None:
    net = network()
    net[0].requires_grad_(False)
    before = state(net)
    result = minimize_module(xor_loss, net, max_evals=200, rng=1)
    assert result.x.size == 9
    after = state(net)
    assert torch.equal(before["0.weight"], after["0.weight"])
    assert not torch.equal(before["2.weight"], after["2.weight"])


def test_shared_parameters_count_once_and_stay_shared() -> None:
    net = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Tanh(), torch.nn.Linear(2, 2))
    net[2].weight = net[0].weight
    result = minimize_module(lambda net: net(INPUTS).square().sum(), net, max_evals=200, rng=1)
    assert result.x.size == 8
    assert net[2].weight is net[0].weight


@pytest.mark.parametrize("workers", ["threads:3", 2])
def test_parallel_runs_equal_the_serial_run(workers: Any) -> None:
    serial, parallel = network(), network()
    first = minimize_module(xor_loss, serial, max_evals=300, rng=1)
    second = minimize_module(xor_loss, parallel, max_evals=300, rng=1, workers=workers)
    np.testing.assert_array_equal(first.x, second.x)
    assert all(torch.equal(a, b) for a, b in zip(serial.parameters(), parallel.parameters(), strict=True))


def test_the_module_does_not_change_if_the_loss_fails() -> None:
    net, calls = network(), []

    def loss(net: Any) -> float:
        calls.append(net)
        if len(calls) == 30:
            raise RuntimeError("out of order")
        return float(xor_loss(net))

    before = state(net)
    with pytest.raises(RuntimeError, match="out of order"):
        minimize_module(loss, net, rng=1)
    assert all(torch.equal(before[name], tensor) for name, tensor in net.state_dict().items())


def test_unsupported_modules_and_settings_are_refused() -> None:
    with pytest.raises(TypeError, match=r"module must be a torch.nn.Module, got 3"):
        minimize_module(xor_loss, 3)  # type: ignore[arg-type,unused-ignore]
    with pytest.raises(ValueError, match="all float32 or all float64; got none"):
        minimize_module(xor_loss, torch.nn.Tanh())
    with pytest.raises(ValueError, match=r"all float32 or all float64; got torch.bfloat16"):
        minimize_module(xor_loss, network(dtype=torch.bfloat16))
    with pytest.raises(TypeError, match="vectorized is not a setting of minimize_module"):
        minimize_module(xor_loss, network(), vectorized=True)
