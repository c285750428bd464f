"""Bayesian optimisation with a Gaussian process (scikit-learn): UCB and expected improvement.

scikit-learn and not BoTorch: it is required anyway, its exact process with RBF + White is the same
model at a few hundred observations, and an acquisition over a pool of candidates needs no gradient.
"""

from __future__ import annotations

import warnings
from typing import Any, ClassVar

import numpy as np

from ...searchers import _knobs
from ._numbers import F64
from ._peer import Peer


class _ProcessSearch(Peer):
    """The candidate of a pool where an acquisition of the process is highest.

    The process has an RBF + White kernel over the space's features (multi-hot for concept sets).
    Its hyperparameters are refitted for each batch, and beyond `refitted` observations when a
    tenth is new. The pool is random unseen candidates and the neighbours of the highest rates.
    Within a batch a proposal counts as observed at its predicted mean, so that the next goes
    elsewhere (Ginsbourger's "Kriging believer"). The first `startup` candidates are random ones.
    """

    #: Candidates with the highest rates, whose neighbours join the pool.
    centres = 10

    #: Observations up to which hyperparameters are refitted for each batch.
    refitted = 200

    def __init__(self, *, startup: int = 20, pool: int = 500) -> None:
        """Set the knobs.

        Args:
            startup: Random candidates at first.
            pool: Random candidates in the pool.

        Raises:
            UsageError: When a knob is out of range.
        """
        self.startup = _knobs.whole("startup", startup, 1)
        self.pool = _knobs.whole("pool", pool, 1)

    def config(self) -> dict[str, Any]:
        """Return the knobs."""
        return {"startup": self.startup, "pool": self.pool}

    def _start(self) -> None:
        self._inputs: list[F64] = []
        self._rates: list[float] = []
        self._candidates: list[Any] = []
        self._kernel: Any = None
        self._fitted = 0
        self._pool: list[Any] | None = None

    def ask(self, n: int) -> Any:
        """Return at most `n` unseen candidates; fewer when the space runs out."""
        self._pool = None
        return super().ask(n)

    def _propose(self) -> Any | None:
        if self._proposed < self.startup or not self._rates:
            return self._numbers.drawn()
        if self._pool is None:
            best = np.argsort(-np.array(self._rates), kind="stable")[: self.centres]
            centres = [self._candidates[i] for i in best]
            self._pool, features = self._numbers.pool(self.pool, centres)
            self._free = np.ones(len(self._pool), dtype=bool)
            if self._pool:
                self._fit(features)
        if not self._free.any():
            return self._numbers.drawn()
        spread = np.sqrt(np.maximum(np.diagonal(self._covariance), 1e-12))
        promise = self._acquisition(self._mean, spread)
        chosen = int(np.argmax(np.where(self._free, promise, -np.inf)))
        self._free[chosen] = False
        # An observation at the predicted mean moves no mean, and narrows what it is related to.
        column = self._covariance[:, chosen].copy()
        self._covariance -= np.outer(column, column) / (column[chosen] + self._noise)
        candidate = self._pool[chosen]
        self._numbers.take(candidate)
        return candidate

    def _learn(self, candidate: Any, rate: float | None) -> None:
        if rate is not None:
            self._candidates.append(candidate)
            self._inputs.append(self.space.featurise(candidate).astype(np.float64))
            self._rates.append(rate)

    def _acquisition(self, mean: F64, spread: F64) -> F64:
        """Return how much each candidate of the pool promises.

        Args:
            mean: Of the standardised rate, `k`.
            spread: Standard deviation of the latent function, `k`.
        """
        raise NotImplementedError

    def _fit(self, features: F64) -> None:
        """Fit the process to all rates, and keep what it says of the pool's `features`, `k x f`."""
        from sklearn.exceptions import ConvergenceWarning
        from sklearn.gaussian_process import GaussianProcessRegressor
        from sklearn.gaussian_process.kernels import RBF, WhiteKernel

        rates, inputs = np.array(self._rates), np.stack(self._inputs)
        rates = (rates - rates.mean()) / (float(rates.std()) or 1.0)
        process = GaussianProcessRegressor(RBF() + WhiteKernel())
        if len(rates) > self.refitted and len(rates) < 1.1 * self._fitted:
            process = GaussianProcessRegressor(self._kernel, optimizer=None)
        else:
            self._fitted = len(rates)
        with warnings.catch_warnings():
            # Constant or contradictory rates drive a hyperparameter to its bound, which is right.
            warnings.simplefilter("ignore", ConvergenceWarning)
            process.fit(inputs, rates)
        self._kernel = process.kernel_
        self._noise = float(self._kernel.k2.noise_level)
        self._best = float(process.predict(inputs).max())
        self._mean, covariance = process.predict(features, return_cov=True)
        # The library's covariance is that of observations: their White noise is taken out.
        self._covariance = covariance - self._noise * np.eye(len(features))


class GPUCB(_ProcessSearch):
    """GP-UCB: a Gaussian process, and the candidate with the highest mean + κ deviations."""

    name: ClassVar[str] = "gp-ucb"

    def __init__(self, *, startup: int = 20, pool: int = 500, kappa: float = 2.0) -> None:
        """Set the knobs.

        Args:
            startup: Random candidates at first.
            pool: Random candidates in the pool.
            kappa: Deviations above the mean, κ.

        Raises:
            UsageError: When a knob is out of range.
        """
        super().__init__(startup=startup, pool=pool)
        self.kappa = _knobs.real("kappa", kappa, 0.0)

    def config(self) -> dict[str, Any]:
        """Return the knobs."""
        return {**super().config(), "kappa": self.kappa}

    def _acquisition(self, mean: F64, spread: F64) -> F64:
        return mean + self.kappa * spread


class GPEI(_ProcessSearch):
    """GP-EI: a Gaussian process, and the candidate that promises the largest improvement.

    Over the highest predicted mean of what was evaluated, since rates are noisy.
    """

    name: ClassVar[str] = "gp-ei"

    def _acquisition(self, mean: F64, spread: F64) -> F64:
        from scipy.stats import norm

        gain = mean - self._best
        z = gain / spread
        return np.asarray(gain * norm.cdf(z) + spread * norm.pdf(z))
