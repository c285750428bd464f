"""Gaussian process with a DotProduct + White kernel, solved as Bayesian linear regression."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from scipy.linalg import cho_solve, cholesky, eigh, solve_triangular

Array = npt.NDArray[np.float64]

#: scikit-learn's default bounds of sigma_0 and noise_level.
BOUNDS = (1e-5, 1e5)
#: What scikit-learn's regressor adds to the kernel's diagonal (its `alpha`).
DIAGONAL = 1e-10
#: Noise levels of a grid, and how often it closes in on the best: a relative precision of 1e-6.
GRID = 49
ZOOMS = 4


class LinearGP:
    """GP regression with k(x, x') = σ₀² + x·x' and White noise, at a cost independent of n.

    The prior over functions is that of a linear function with independent standard-normal
    weights and a bias of variance σ₀², so the posterior is that of Bayesian linear regression on
    p = features + 1 weights. Observations enter as ΦᵀΦ, Φᵀy and yᵀy alone. Targets are not
    centred, as scikit-learn's default: the bias takes the mean. Equal to scikit-learn's
    `GaussianProcessRegressor(DotProduct(sigma_0) + WhiteKernel(noise_level))`; hyperparameters
    maximise the same likelihood within the same bounds (Rasmussen & Williams, 2006, sections 2.1
    and 5.4).

    Attributes:
        sigma_0: Standard deviation of the bias.
        noise_level: Variance of the noise.
        n: Number of observations.
    """

    def __init__(self, features: int, *, sigma_0: float = 1.0, noise_level: float = 1.0) -> None:
        """Start without observations, with scikit-learn's initial hyperparameters.

        Args:
            features: Length of the inputs.
            sigma_0: Standard deviation of the bias.
            noise_level: Variance of the noise.
        """
        self.sigma_0 = sigma_0
        self.noise_level = noise_level
        self.n = 0
        self._start = (sigma_0, noise_level)
        self._gram: Array = np.zeros((features + 1, features + 1))
        self._moment: Array = np.zeros(features + 1)
        self._square = 0.0

    def add(self, inputs: npt.ArrayLike, targets: npt.ArrayLike) -> None:
        """Add observations.

        Args:
            inputs: `k x features`.
            targets: `k`.
        """
        x = np.atleast_2d(np.asarray(inputs, dtype=np.float64))
        y = np.asarray(targets, dtype=np.float64)
        if x.shape != (len(y), len(self._moment) - 1):
            raise ValueError(
                f"inputs: expected shape ({len(y)}, {len(self._moment) - 1}), got {x.shape}"
            )
        phi = np.column_stack([x, np.ones(len(x))])
        self._gram += phi.T @ phi
        self._moment += phi.T @ y
        self._square += float(y @ y)
        self.n += len(y)

    def fit(self) -> None:
        """Set the hyperparameters that maximise the log marginal likelihood.

        For a given noise the best σ₀ has a closed form, which leaves a search in one dimension:
        a grid over the bounds that zooms in, so the maximum is global up to the grid. The result
        depends on the observations alone, not on earlier fits.
        """
        if self.n == 0:
            self.sigma_0, self.noise_level = self._start
            return
        likelihood = self._likelihood()
        low, high = math.log(BOUNDS[0]), math.log(BOUNDS[1])
        grid = np.linspace(low, high, GRID)
        for _ in range(ZOOMS + 1):
            noise = np.exp(grid)
            sigma_0, losses = likelihood.profile(noise)
            best = int(losses.argmin())
            self.sigma_0, self.noise_level = float(sigma_0[best]), float(noise[best])
            around = grid[max(best - 1, 0)], grid[min(best + 1, GRID - 1)]
            grid = np.linspace(*around, GRID)

    def log_marginal_likelihood(self, sigma_0: float, noise_level: float) -> float:
        """Return log p(y | X, σ₀, noise)."""
        losses = self._likelihood().loss(np.array([sigma_0]), np.array([noise_level]))
        return -float(losses[0])

    def predict(self, inputs: npt.ArrayLike) -> tuple[Array, Array]:
        """Return mean (`k`) and covariance (`k x k`) of the latent function, without noise."""
        mean, factor = self._posterior()
        x = np.atleast_2d(np.asarray(inputs, dtype=np.float64))
        phi = np.column_stack([x, np.full(len(x), self.sigma_0)])
        half = solve_triangular(factor, phi.T, lower=True)
        return phi @ mean, half.T @ half

    def draw(self, rng: np.random.Generator, count: int) -> tuple[Array, Array]:
        """Draw latent functions from the posterior.

        Returns:
            Weights, `count x features`, and biases, `count`.
        """
        mean, factor = self._posterior()
        normal = rng.standard_normal((count, len(mean)))
        # Precision A = L Lᵀ, so that L⁻ᵀ z has covariance A⁻¹. One by one, since BLAS starts
        # threads for several right-hand sides at once, however small.
        offsets = [solve_triangular(factor, z, lower=True, trans="T") for z in normal]
        weights = mean + np.reshape(offsets, normal.shape)
        return weights[:, :-1], weights[:, -1] * self.sigma_0

    def _posterior(self) -> tuple[Array, Array]:
        """Solve for unit-prior weights: the bias column is scaled by σ₀.

        Returns:
            Mean of the weights, and the lower Cholesky factor of their precision.
        """
        variance = self.noise_level + DIAGONAL
        scale = np.ones(len(self._moment))
        scale[-1] = self.sigma_0
        precision = self._gram * scale * scale[:, None] / variance
        precision.flat[:: len(scale) + 1] += 1.0
        factor = cholesky(precision, lower=True)
        return cho_solve((factor, True), self._moment * scale / variance), factor

    def _likelihood(self) -> _Likelihood:
        return _Likelihood(self._gram, self._moment, self._square, self.n)


class _Likelihood:
    """The negative log marginal likelihood, in the eigenbasis of XᵀX.

    There the weights decouple and the bias is a rank-one term: after one decomposition many
    pairs of hyperparameters cost O(features) each.
    """

    def __init__(self, gram: Array, moment: Array, square: float, n: int) -> None:
        # SciPy's driver, since numpy's waits on BLAS threads even for 30 x 30 on a busy machine.
        values, vectors = eigh(gram[:-1, :-1], driver="evr")
        self._values = np.clip(values, 0.0, None)
        by_target = moment[:-1] @ vectors
        by_one = gram[-1, :-1] @ vectors
        self._products = np.stack([by_target**2, by_one**2, by_target * by_one])
        self._totals = np.array([[square], [float(n)], [moment[-1]]])
        self._n = n

    def loss(self, sigma_0: Array, noise: Array) -> Array:
        """Return -log p(y | X, σ₀, noise) for pairs of hyperparameters."""
        return self._loss(sigma_0, *self._terms(noise))

    def profile(self, noise: Array) -> tuple[Array, Array]:
        """Return for each noise the best σ₀ within the bounds, and the loss there."""
        terms = s, _, ones, cross, _ = self._terms(noise)
        # The slope in σ₀² is 1ᵀK⁻¹1 - (1ᵀK⁻¹y)², which changes sign once.
        variance = (cross**2 / ones - s) / ones
        sigma_0 = np.sqrt(np.clip(variance, BOUNDS[0] ** 2, BOUNDS[1] ** 2))
        return sigma_0, self._loss(sigma_0, *terms)

    def _loss(
        self, sigma_0: Array, s: Array, yy: Array, ones: Array, cross: Array, log_det: Array
    ) -> Array:
        variance = sigma_0**2
        d = s + variance * ones
        value = (yy - variance * cross**2 / d) / s + log_det + np.log(d)
        return np.asarray(0.5 * (value + self._n * math.log(2.0 * math.pi)))

    def _terms(self, noise: Array) -> tuple[Array, Array, Array, Array, Array]:
        """Return what the loss is made of, for K₀ = XXᵀ + s I.

        Returns:
            s, s yᵀK₀⁻¹y, s 1ᵀK₀⁻¹1, s 1ᵀK₀⁻¹y and log det K₀ - log s.
        """
        s = noise + DIAGONAL
        shifted = self._values[:, None] + s
        yy, ones, cross = self._totals - self._products @ (1.0 / shifted)
        free = self._n - len(shifted) - 1
        log_det = free * np.log(s) + np.log(shifted).sum(axis=0)
        return s, yy, np.maximum(ones, np.finfo(float).tiny), cross, log_det
