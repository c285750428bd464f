from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import DotProduct, WhiteKernel

from vlmfail.searchers._surrogates.linear_gp import LinearGP


def data(kind: str, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    n = {"one": 1, "many": 500}.get(kind, 60)
    x = (rng.random((n, 12)) < 0.3).astype(float)
    weights = rng.normal(0, 0.2, 12)
    y = np.round(5 * np.clip(0.3 + x @ weights + rng.normal(0, 0.1, n), 0, 1)) / 5
    if kind == "repeats":
        x = x[rng.integers(5, size=n)]
    if kind == "constant":
        y[:] = 1.0
    if kind == "one-hot":  # the columns sum to the bias
        x = np.eye(12)[rng.integers(12, size=n)]
    return x, y


KINDS = ("plain", "repeats", "one", "constant", "many", "one-hot")


def sklearn_gp(
    x: np.ndarray, y: np.ndarray, sigma_0: float, noise: float
) -> GaussianProcessRegressor:
    kernel = DotProduct(sigma_0) + WhiteKernel(noise)
    return GaussianProcessRegressor(kernel, optimizer=None).fit(x, y)


def linear(x: np.ndarray, y: np.ndarray, sigma_0: float = 1.0, noise: float = 1.0) -> LinearGP:
    process = LinearGP(x.shape[1], sigma_0=sigma_0, noise_level=noise)
    process.add(x[:1], y[:1])
    process.add(x[1:], y[1:])
    return process


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("sigma_0", "noise"), [(1.0, 1.0), (0.3, 0.01), (3.0, 1e-3), (1e-4, 0.1)])
def test_posterior_equals_scikit_learn(kind: str, sigma_0: float, noise: float) -> None:
    x, y = data(kind)
    new = (np.random.default_rng(9).random((40, 12)) < 0.4).astype(float)
    mean, covariance = sklearn_gp(x, y, sigma_0, noise).predict(new, return_cov=True)
    # scikit-learn's covariance is of observations: the White kernel is on its diagonal.
    latent = covariance - noise * np.eye(len(new))
    ours = linear(x, y, sigma_0, noise).predict(new)
    np.testing.assert_allclose(ours[0], mean, atol=1e-6)
    np.testing.assert_allclose(ours[1], latent, atol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_likelihood_equals_scikit_learn(kind: str) -> None:
    x, y = data(kind)
    process = linear(x, y)
    reference = sklearn_gp(x, y, 1.0, 1.0)
    for sigma_0, noise in [(1.0, 1.0), (0.2, 0.05), (5.0, 1e-3), (1e-3, 2.0)]:
        # scikit-learn's theta for this kernel is log sigma_0, log noise_level.
        value = reference.log_marginal_likelihood(np.log([sigma_0, noise]))
        ours = process.log_marginal_likelihood(sigma_0, noise)
        assert ours == pytest.approx(value, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize(
    ("kind", "seed"), [(kind, seed) for kind in KINDS if kind != "many" for seed in range(3)]
)
def test_optimum_is_no_worse_than_scikit_learns(kind: str, seed: int) -> None:
    x, y = data(kind, seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        reference = GaussianProcessRegressor(DotProduct() + WhiteKernel()).fit(x, y)
    process = linear(x, y)
    process.fit()
    ours = process.log_marginal_likelihood(process.sigma_0, process.noise_level)
    assert ours >= reference.log_marginal_likelihood_value_ - 1e-3
    assert process.noise_level * (1 + 1e-9) >= 1e-5
    assert process.sigma_0 <= 1e5 * (1 + 1e-9)


def test_fit_depends_on_the_data_alone() -> None:
    x, y = data("plain")
    once, often = linear(x, y), LinearGP(12)
    for begin in range(0, 60, 10):
        often.add(x[begin : begin + 10], y[begin : begin + 10])
        often.fit()
    once.fit()
    assert (once.sigma_0, once.noise_level) == pytest.approx((often.sigma_0, often.noise_level))


def test_draws_follow_the_latent_posterior() -> None:
    x, y = data("plain")
    process = linear(x, y, 0.5, 0.3)
    weights, biases = process.draw(np.random.default_rng(0), 20_000)
    new = data("plain", seed=5)[0][:8]
    values = weights @ new.T + biases[:, None]
    mean, covariance = process.predict(new)
    np.testing.assert_allclose(values.mean(axis=0), mean, atol=0.01)
    # With the White noise the diagonal would be larger by 0.3.
    np.testing.assert_allclose(np.cov(values.T), covariance, atol=0.01)


def test_without_observations_the_prior_is_drawn() -> None:
    process = LinearGP(4)
    process.fit()
    weights, _ = process.draw(np.random.default_rng(0), 5000)
    np.testing.assert_allclose(weights.std(axis=0), 1.0, atol=0.05)


def test_contradictory_repeats() -> None:
    process = LinearGP(3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        process.add(np.ones((50, 3)), np.arange(50) % 2)
        process.fit()
        mean, covariance = process.predict(np.ones((1, 3)))
    assert mean[0] == pytest.approx(0.5, abs=0.05)
    assert np.isfinite(covariance).all()
    assert process.noise_level == pytest.approx(0.25, abs=0.05)


def test_wrong_shape_is_told() -> None:
    with pytest.raises(ValueError, match=r"expected shape \(2, 3\), got \(2, 4\)"):
        LinearGP(3).add(np.zeros((2, 4)), [0.0, 1.0])
