"""Failure probability of sets whose log-odds hold effects of concepts, of pairs and of triples."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from scipy.linalg import cho_solve, cholesky, solve_triangular
from scipy.special import expit, log_expit

Array = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

NEWTON_STEPS = 30
TOLERANCE = 1e-6
"""Change of the log posterior at which Newton's method ends."""


@dataclass(frozen=True, slots=True)
class Variances:
    """Prior variances of the log-odds.

    Attributes:
        bias: Of the log-odds that all sets share.
        single: Of the effect of a concept.
        pair: Of the effect of two concepts beyond their own.
        triple: Of the effect of three beyond their pairs.
        own: Of what a set has for itself.
    """

    bias: float = 4.0
    single: float = 1.0
    pair: float = 0.5
    triple: float = 0.0
    own: float = 0.1


STEPS = {
    "single": (0.1, 0.3, 1.0, 2.0, 4.0),
    "pair": (0.0, 0.1, 0.3, 0.6, 1.2, 2.5),
    "triple": (0.0, 0.3, 1.0, 2.0),
    "own": (0.05, 0.2, 0.6),
}
"""Values among which the evidence chooses, one variance after the other (ours)."""


ORDERS = ("single", "pair", "triple")


class InteractionGP:
    """Bernoulli regression on sets, Laplace's approximation (Rasmussen & Williams 2006, ch. 3).

    The log-odds of a set's failure are a bias, an effect of each concept, of each pair and of each
    triple of its concepts, and something of its own, all normal a priori. So the covariance of two
    sets that share s concepts is ``bias + single·s + pair·C(s, 2) + triple·C(s, 3)``: n
    observations cost O(n³), however many pairs and triples there are.

    Attributes:
        variances: Of the prior; `choose` sets those that the evidence prefers.
    """

    def __init__(
        self, variances: Variances | None = None, *, mean: float = 0.0, order: int = 3
    ) -> None:
        """Start without observations.

        Args:
            variances: Of the prior.
            mean: Of the bias, log-odds.
            order: Most concepts that have an effect together: 1, 2 or 3.
        """
        self.variances = variances or Variances()
        absent = ORDERS[order:]
        self.variances = replace(self.variances, **dict.fromkeys(absent, 0.0))
        self._steps = {name: values for name, values in STEPS.items() if name not in absent}
        self._mean = mean
        self._sets: Array = np.zeros((0, 0))
        self._shared: Array = np.zeros((0, 0))
        self._fails: Array = np.zeros(0)
        self._n: Array = np.zeros(0)
        self._mode: Array = np.zeros(0)
        self._factor: Array = np.zeros((0, 0))
        self._weight: Array = np.zeros(0)
        self._alpha: Array = np.zeros(0)

    def __len__(self) -> int:
        """Number of observed sets."""
        return len(self._fails)

    def observe(self, sets: npt.ArrayLike, failures: npt.ArrayLike, n: npt.ArrayLike) -> None:
        """Replace all observations.

        Args:
            sets: Distinct sets, multi-hot, `k x features`.
            failures: Failures of each, `k`.
            n: Passes and failures of each, `k`, at least 1.
        """
        before = len(self._fails)
        self._sets = np.asarray(sets, dtype=np.float64)
        self._shared = self._sets @ self._sets.T
        self._fails = np.asarray(failures, dtype=np.float64)
        self._n = np.asarray(n, dtype=np.float64)
        # Where the mode was is a good start when sets are only added behind the others.
        kept = self._alpha[: len(self._fails)]
        self._alpha = np.zeros(len(self._fails))
        self._alpha[: min(before, len(kept))] = kept[:before]

    def fit(self) -> float:
        """Find the posterior's mode; return the log evidence."""
        if not len(self):
            return 0.0
        evidence, self._mode, self._alpha, self._weight, self._factor = self._laplace(
            self.variances, self._alpha
        )
        return evidence

    def choose(self) -> None:
        """Set the variances that the evidence prefers, one step up or down each, and fit."""
        best = self.fit()
        for name, values in self._steps.items():
            here = min(
                range(len(values)), key=lambda i: abs(values[i] - getattr(self.variances, name))
            )
            for step in (-1, 1):
                place = here
                while 0 <= place + step < len(values):
                    place += step
                    tried = replace(self.variances, **{name: values[place]})
                    found = self._laplace(tried, self._alpha)
                    if found[0] <= best + 1e-9:
                        break
                    self.variances = tried
                    best, self._mode, self._alpha, self._weight, self._factor = found

    def terms(self) -> tuple[float, Array, Array, Array]:
        """Return the posterior means of what log-odds are made of.

        Returns:
            Bias; effects of concepts, `f`; of pairs, `f x f`, symmetric with a zero diagonal; of
            triples, `f x f x f`, zero where two are the same. A set's mean is the bias and the sum
            over its concepts, pairs and triples, each once.
        """
        variances, alpha, sets = self.variances, self._alpha, self._sets
        singles = variances.single * (alpha @ sets)
        pairs = variances.pair * ((sets * alpha[:, None]).T @ sets)
        np.fill_diagonal(pairs, 0.0)
        f = sets.shape[1]
        triples = np.zeros((0, 0, 0))
        if variances.triple:
            triples = np.einsum("i,ia,ib,ic->abc", alpha, sets, sets, sets, optimize=True)
            triples *= variances.triple
            i = np.arange(f)
            triples[i, i, :] = triples[i, :, i] = triples[:, i, i] = 0.0
        return self._mean + variances.bias * float(alpha.sum()), singles, pairs, triples

    def means(self, sets: npt.ArrayLike) -> Array:
        """Return the posterior mean of the log-odds of sets, `k`, less what is their own."""
        x = np.asarray(sets, dtype=np.float64)
        if not len(self):
            return np.full(len(x), self._mean)
        return self._mean + self._covariance(x @ self._sets.T, self.variances) @ self._alpha

    def predict(self, sets: npt.ArrayLike) -> tuple[Array, Array]:
        """Return mean and variance of the log-odds of sets, `k` each, of what is theirs too."""
        x = np.asarray(sets, dtype=np.float64)
        sizes = x.sum(axis=1)
        prior = self._covariance(sizes, self.variances) + self.variances.own
        if not len(self):
            return np.full(len(x), self._mean), prior
        shared = x @ self._sets.T
        cross = self._covariance(shared, self.variances)
        same = (shared == sizes[:, None]) & (shared == self._sets.sum(axis=1))
        cross[same] += self.variances.own
        half = solve_triangular(
            self._factor, np.sqrt(self._weight)[:, None] * cross.T, lower=True, check_finite=False
        )
        return self._mean + cross @ self._alpha, prior - np.einsum("ij,ij->j", half, half)

    def _laplace(
        self, variances: Variances, start: Array
    ) -> tuple[float, Array, Array, Array, Array]:
        """Return log evidence, mode, K⁻¹·mode, weights and the factor of I + W½ K W½."""
        kernel = self._covariance(self._shared, variances)
        kernel.flat[:: len(kernel) + 1] += variances.own
        alpha, value = start, -math.inf
        latent = kernel @ alpha
        for _ in range(NEWTON_STEPS):
            chance = expit(latent + self._mean)
            weight = np.maximum(self._n * chance * (1.0 - chance), 1e-10)
            root = np.sqrt(weight)
            factor = cholesky(
                np.eye(len(kernel)) + root[:, None] * kernel * root, lower=True, check_finite=False
            )
            target = weight * latent + self._fails - self._n * chance
            solved = cho_solve((factor, True), root * (kernel @ target), check_finite=False)
            step = (target - root * solved) - alpha
            size, gain = 1.0, -math.inf
            while size > 1e-3:
                tried = alpha + size * step
                at = kernel @ tried
                gain = self._likelihood(at) - 0.5 * float(tried @ at)
                if gain >= value - 1e-9:
                    break
                size *= 0.5
            alpha, latent = tried, at
            if gain - value < TOLERANCE:
                break
            value = gain
        chance = expit(latent + self._mean)
        weight = np.maximum(self._n * chance * (1.0 - chance), 1e-10)
        root = np.sqrt(weight)
        factor = cholesky(
            np.eye(len(kernel)) + root[:, None] * kernel * root, lower=True, check_finite=False
        )
        evidence = gain - float(np.log(np.diagonal(factor)).sum())
        return evidence, latent, alpha, weight, factor

    def _likelihood(self, latent: Array) -> float:
        at = latent + self._mean
        return float(self._fails @ log_expit(at) + (self._n - self._fails) @ log_expit(-at))

    @staticmethod
    def _covariance(shared: Array, variances: Variances) -> Array:
        pairs = shared * (shared - 1.0) / 2.0
        value = variances.bias + variances.single * shared + variances.pair * pairs
        if variances.triple:
            value = value + variances.triple * pairs * (shared - 2.0) / 3.0
        return np.asarray(value)
