"""The mathematics of searchers, apart from their policy.

`linear_gp` and `rbf_gp` are posteriors over failure rates; `thompson` finds where a function drawn
from one is largest. Nothing here knows of trials, budgets or ask and tell.
"""
