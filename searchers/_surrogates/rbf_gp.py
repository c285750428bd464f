"""Gaussian process with an RBF + White kernel, through scikit-learn."""

from __future__ import annotations

import warnings

import numpy as np
import numpy.typing as npt
from scipy.linalg import cholesky, solve_triangular

Array = npt.NDArray[np.float64]


class RBFGP:
    """GP regression with an RBF + White kernel; draws exclude the White noise.

    scikit-learn's `sample_y` would add the noise to every point of a draw, so that the arg max
    follows the noise; only the fit is scikit-learn's.

    Attributes:
        n: Number of observations.
    """

    def __init__(self, features: int) -> None:
        """Start without observations.

        Args:
            features: Length of the inputs.
        """
        self._inputs: Array = np.zeros((0, features))
        self._targets: Array = np.zeros(0)
        self._length = 1.0
        self._solved: tuple[Array, Array] | None = None

    @property
    def n(self) -> int:
        """Number of observations."""
        return len(self._targets)

    def add(self, inputs: npt.ArrayLike, targets: npt.ArrayLike) -> None:
        """Add observations.

        Args:
            inputs: `k x features`.
            targets: `k`.
        """
        self._inputs = np.vstack([self._inputs, np.asarray(inputs, dtype=np.float64)])
        self._targets = np.append(self._targets, np.asarray(targets, dtype=np.float64))

    def fit(self) -> None:
        """Refit hyperparameters and posterior."""
        if self.n == 0:
            return
        from sklearn.exceptions import ConvergenceWarning
        from sklearn.gaussian_process import GaussianProcessRegressor
        from sklearn.gaussian_process.kernels import RBF, WhiteKernel

        regressor = GaussianProcessRegressor(RBF() + WhiteKernel())
        with warnings.catch_warnings():
            # Constant or contradictory rates drive a hyperparameter to its bound, which is right.
            warnings.simplefilter("ignore", ConvergenceWarning)
            regressor.fit(self._inputs, self._targets)
        self._length = float(regressor.kernel_.k1.length_scale)
        self._solved = (regressor.L_, regressor.alpha_)

    def predict(self, inputs: npt.ArrayLike) -> tuple[Array, Array]:
        """Return mean (`k`) and covariance (`k x k`) of the latent function, without noise."""
        x = np.asarray(inputs, dtype=np.float64)
        prior = self._kernel(x, x)
        if self._solved is None:
            return np.zeros(len(x)), prior
        factor, alpha = self._solved
        cross = self._kernel(x, self._inputs)
        half = solve_triangular(factor, cross.T, lower=True)
        return cross @ alpha, prior - half.T @ half

    def draw(self, inputs: npt.ArrayLike, rng: np.random.Generator, count: int) -> Array:
        """Draw latent functions at `inputs` from the posterior, `count x k`."""
        mean, covariance = self.predict(inputs)
        normal = rng.standard_normal((count, len(mean)))
        # A smooth posterior is singular to working precision: the least jitter that solves it.
        for jitter in (1e-8, 1e-6, 1e-4):
            try:
                factor = cholesky(covariance + jitter * np.eye(len(mean)), lower=True)
            except np.linalg.LinAlgError:
                continue
            return mean + normal @ factor.T
        return mean + normal * np.sqrt(np.clip(np.diagonal(covariance), 0.0, None))

    def _kernel(self, a: Array, b: Array) -> Array:
        squares = (a * a).sum(axis=1)[:, None] + (b * b).sum(axis=1) - 2.0 * a @ b.T
        return np.asarray(np.exp(-0.5 * np.clip(squares, 0.0, None) / self._length**2))
