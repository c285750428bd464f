"""What is believed of failure rates: a surrogate's word, doubted, and a set's own trials."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.special import expit, log_expit

Array = npt.NDArray[np.float64]

#: Log-odds at which beliefs are kept; rates beyond .25 % and 99.75 % are one to a search.
LOG_ODDS: Array = np.linspace(-6.0, 6.0, 61)
RATES: Array = expit(LOG_ODDS)

EM_STEPS = 20

PRIOR_SETS = 40.0
"""Sets that the doubt which was given counts for when it is learnt."""

_STEP = LOG_ODDS[1] - LOG_ODDS[0]
_UNIFORM = RATES * (1.0 - RATES)
_UNIFORM = _UNIFORM / _UNIFORM.sum()


class RateBelief:
    """Posterior of failure rates on a grid (ours).

    A surrogate is wrong in its own way on some sets: one conjunction that it has no term for, and
    its small variance would need dozens of trials to be overruled. So with a probability `doubt`
    its word is void and any rate as likely as another: a few trials of the set itself then decide.
    """

    def __init__(self, doubt: float) -> None:
        """Set the probability that the surrogate's word on a set is void."""
        self.doubt = self._prior_doubt = doubt

    def prior(self, mean: npt.ArrayLike, variance: npt.ArrayLike) -> Array:
        """Return beliefs without trials, `k x grid`, each summing to 1.

        Args:
            mean: Of the log-odds by the surrogate, `k`.
            variance: Of the same, `k`.
        """
        return (1.0 - self.doubt) * normal(mean, variance) + self.doubt * _UNIFORM

    def learn(
        self,
        mean: npt.ArrayLike,
        variance: npt.ArrayLike,
        failures: npt.ArrayLike,
        passes: npt.ArrayLike,
    ) -> None:
        """Set the doubt by how well the surrogate foretold sets from the trials of others.

        Expectation maximisation of the two parts' shares, with a Beta prior on the doubt.

        Args:
            mean: Of the log-odds of sets, without their own trials, `k`.
            variance: Of the same, `k`.
            failures: Of the sets' own trials, `k`.
            passes: Of the same, `k`.
        """
        k = np.asarray(failures, dtype=np.float64)[:, None]
        p = np.asarray(passes, dtype=np.float64)[:, None]
        likelihood = np.exp(k * log_expit(LOG_ODDS) + p * log_expit(-LOG_ODDS))
        told = (normal(mean, variance) * likelihood).sum(axis=1)
        void = likelihood @ _UNIFORM
        doubt = self._prior_doubt
        for _ in range(EM_STEPS):
            share = doubt * void / (doubt * void + (1.0 - doubt) * told)
            doubt = (float(share.sum()) + PRIOR_SETS * self._prior_doubt) / (len(k) + PRIOR_SETS)
        self.doubt = doubt

    def after(self, prior: Array, failures: npt.ArrayLike, passes: npt.ArrayLike) -> Array:
        """Return beliefs after trials of the sets themselves, `k x grid`."""
        k = np.asarray(failures, dtype=np.float64)[:, None]
        p = np.asarray(passes, dtype=np.float64)[:, None]
        likelihood = k * log_expit(LOG_ODDS) + p * log_expit(-LOG_ODDS)
        weight = prior * np.exp(likelihood - likelihood.max(axis=1, keepdims=True))
        return np.asarray(weight / weight.sum(axis=1, keepdims=True))


def normal(mean: npt.ArrayLike, variance: npt.ArrayLike) -> Array:
    """Return normal beliefs about log-odds, `k x grid`, each summing to 1."""
    m = np.asarray(mean, dtype=np.float64)[:, None]
    # Narrower than the grid's step it would fall between two points.
    v = np.maximum(np.asarray(variance, dtype=np.float64), _STEP**2)[:, None]
    weight = np.exp(-0.5 * (LOG_ODDS - np.clip(m, LOG_ODDS[0], LOG_ODDS[-1])) ** 2 / v)
    return np.asarray(weight / weight.sum(axis=1, keepdims=True))


def at_least(belief: Array, rate: float) -> Array:
    """Return the probability that rates are at least `rate`, `k`."""
    return np.asarray(belief[..., rate <= RATES].sum(axis=-1))
