"""What a torch module adds: gradients, devices, compilation."""

import numpy as np
import pytest

import quadfeat as qf

torch = pytest.importorskip("torch")

MAPS = {
    "dense": lambda kernel: qf.DenseGrid(kernel, n_points=5),
    "random": lambda kernel: qf.RandomFourier(kernel, n_components=32, random_state=0),
    "hermite-mercer": lambda kernel: qf.HermiteMercer(kernel, n_components=32),
    "landmarks": lambda kernel: qf.Landmarks(kernel, n_components=32, random_state=0),
}


@pytest.fixture
def X(rng):
    return rng.normal(size=(100, 3))


@pytest.mark.parametrize("name", MAPS)
def test_gradients_by_the_rows_are_those_of_the_map(name, X, rng):
    features = MAPS[name](qf.Gaussian(0.3)).fit(X)
    c = features.transform(X[:5]).T @ rng.normal(size=5)
    rows = torch.tensor(X[:20], requires_grad=True)  # landmarks may be among them
    (qf.to_torch(features)(rows) @ torch.from_numpy(c)).sum().backward()
    expected = features.gradient(X[:20], c)
    assert np.abs(rows.grad.numpy() - expected).max() <= 1e-10 * np.abs(expected).max()


@pytest.mark.parametrize(
    "kernel", [qf.Laplacian(0.3), qf.Matern(0.5, 0.3), qf.Matern(1.7, 0.3)], ids=repr
)
def test_kernels_with_a_kink_have_a_gradient_at_a_landmark(kernel, X, rng):
    features = qf.Landmarks(kernel, n_components=32, random_state=0).fit(X)
    at = np.concatenate([features.basis_.points[:5], X[:15]])
    c = features.transform(X[:5]).T @ rng.normal(size=5)
    rows = torch.tensor(at, requires_grad=True)
    (qf.to_torch(features)(rows) @ torch.from_numpy(c)).sum().backward()
    expected = features.gradient(at, c)
    # A table of cells has the slope of the kernel to about 1e-13 over the width of a cell.
    assert np.abs(rows.grad.numpy() - expected).max() <= 1e-8 * np.abs(expected).max()


@pytest.mark.parametrize("several", [False, True])
def test_gradients_of_a_model_are_those_of_its_method(several, X):
    y = np.sin(X) if several else np.sin(X).sum(axis=1)
    model = qf.KernelRegressor(MAPS["hermite-mercer"](qf.Gaussian(0.3)), alpha=0.1).fit(X, y)
    module, rows = qf.to_torch(model), torch.from_numpy(X[:10])
    jacobian = torch.func.vmap(torch.func.jacrev(lambda x: module(x[None])[0]))(rows)
    expected = model.gradient(X[:10])
    assert np.abs(jacobian.detach().numpy() - expected).max() <= 1e-10 * np.abs(expected).max()


@pytest.mark.parametrize("kernel", [qf.Gaussian(0.3), qf.Laplacian([0.2, 0.3, 0.4])], ids=repr)
def test_length_scales_are_those_of_the_kernel_and_can_be_learned(kernel, X):
    """Other length scales are those of the same map for another kernel."""
    features = MAPS["random"](kernel).fit(X)
    module = qf.to_torch(features)
    gamma = np.broadcast_to(kernel.gamma, 3)
    lengths = 1 / gamma if isinstance(kernel, qf.Laplacian) else 1 / np.sqrt(2 * gamma)
    assert np.allclose(module.length_scales.detach(), lengths, rtol=1e-15)
    longer = lengths * [1.0, 2.0, 3.0]
    gamma = 1 / longer if isinstance(kernel, qf.Laplacian) else 1 / (2 * longer**2)
    other = MAPS["random"](type(kernel)(gamma)).fit(X)
    with torch.no_grad():
        module.length_scales.copy_(torch.from_numpy(longer))
    actual = module(torch.from_numpy(X)).detach().numpy()
    assert np.abs(actual - other.transform(X)).max() <= 1e-12 * 100  # angles of up to 100


def test_derivatives_by_length_scales_are_those_of_differences(X):
    kernel = qf.Matern(2.5, [0.2, 0.3, 0.4])
    module = qf.to_torch(qf.Landmarks(kernel, n_components=8, random_state=0).fit(X))
    rows = torch.from_numpy(X[:2])

    def features_at(lengths):
        return torch.func.functional_call(module, {"length_scales": lengths}, rows)

    lengths = module.length_scales.detach().clone().requires_grad_()
    assert torch.autograd.gradcheck(features_at, lengths)


def test_a_kernel_without_length_scales_has_no_parameter(X):
    mixed = qf.to_torch(MAPS["random"](qf.Gaussian(0.3) + qf.Cauchy(0.2)).fit(X))
    assert not list(mixed.parameters())


def test_a_module_is_saved_compiled_and_exported(X, tmp_path):
    features = MAPS["dense"](qf.Gaussian(0.3)).fit(X)
    module, rows = qf.to_torch(features), torch.from_numpy(X)
    expected = features.transform(X)
    torch.save(module, tmp_path / "module.pt")
    again = torch.load(tmp_path / "module.pt", weights_only=False)
    programs = [
        again,
        torch.compile(module, backend="aot_eager"),
        torch.export.export(
            module, (rows,), dynamic_shapes={"x": {0: torch.export.Dim("n")}}
        ).module(),
    ]
    for program in programs:
        assert np.abs(program(rows).detach().numpy() - expected).max() <= 1e-12
    assert programs[2](rows[:7]).shape == (7, expected.shape[1])


def test_a_module_in_single_precision_needs_no_double(X):
    """For devices that have none: constants and length scales are then float32."""
    module = qf.to_torch(MAPS["landmarks"](qf.Gaussian(0.3)).fit(X)).float()
    rows = torch.from_numpy(X.astype(np.float32))
    assert {value.dtype for value in module.state_dict().values()} <= {torch.float32, torch.int64}
    assert module(rows).dtype == torch.float32


def test_a_module_moves_to_another_device(X):
    module = qf.to_torch(MAPS["dense"](qf.Gaussian(0.3)).fit(X)).to("meta")
    assert module(torch.empty(5, 3, device="meta")).device.type == "meta"


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_features_of_a_tensor_are_a_tensor(dtype, X):
    for make in MAPS.values():
        features = make(qf.Gaussian(0.3)).fit(torch.from_numpy(X))
        rows = torch.from_numpy(X).to(dtype)
        Z = features.transform(rows)
        assert isinstance(Z, torch.Tensor) and Z.dtype == dtype
        assert np.array_equal(Z.numpy(), features.transform(rows.numpy()))
