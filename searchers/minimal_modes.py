"""The hunt for minimal failure modes: as many confirmed ones as the budget gives (ours)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from ..agents.agent import SearchAgent
from ..core import AgentError, Evaluation
from . import _knobs
from ._confirmation import Plan, patient_plan, quick_plan, thorough_plan
from ._grounds import Cover, ground_of
from ._investigation import antichain
from ._knowledge import Knowledge
from ._set_table import require_sets
from ._surrogates.rate_belief import LOG_ODDS, RATES, at_least

Set = frozenset[str]
Array = npt.NDArray[np.float64]

PLANS = {"quick": quick_plan, "patient": patient_plan, "thorough": thorough_plan}


class Pursuit:
    def __init__(self, suspect: Set, arm: str) -> None:
        self.current = suspect
        self.arm = arm
        self.next: Set | None = None
        self.over = False
        self.index = 0.0
        self.promise = 0.0
        self.uses: dict[str, int] = {}
        self.why = ""


class MinimalModeSearch(SearchAgent[Set]):
    """Hunts."""

    name: ClassVar[str] = "minimal-modes"
    fixed_trials: ClassVar[bool] = False

    def __init__(
        self,
        *,
        plan: str = "thorough",
        doubt: float = 0.1,
        risk: float = 0.1,
        verify: int = 2,
        tries: int = 1,
        cover: bool = True,
        surrogate: bool = True,
        share: float = -1.0,
        order: int = 3,
        most: int = 600,
        pool: int = 2000,
        patience: float = 0.7,
        gamma: float = 0.5,
        gamma_fresh: float = 0.2,
        explore_cost: float = 60.0,
        refit: int = 8,
        move: float = 0.5,
        ban: bool = True,
        review: float = 0.35,
        learn: bool = True,
        cores: bool = True,
        ending: int = 15,
    ) -> None:
        self.plan = plan
        self.doubt = doubt
        self.risk = risk
        self.verify = verify
        self.tries = tries
        self.cover = cover
        self.surrogate = surrogate
        self.share = share
        self.order = order
        self.most = most
        self.pool = pool
        self.patience = patience
        self.gamma = gamma
        self.gamma_fresh = gamma_fresh
        self.explore_cost = explore_cost
        self.refit = refit
        self.move = move
        self.ban = ban
        self.review = review
        self.learn = learn
        self.cores = cores
        self.ending = ending
        self._knobs = dict(vars(self))

    def config(self) -> dict[str, Any]:
        return dict(self._knobs)

    def setup(self) -> None:
        space = self._sets = require_sets(self.space, self.name)
        self._plan: Plan = PLANS[self.plan](self.threshold)
        # A removal counts as failing from this rate on: one that fails less often can hardly be
        # confirmed by itself, and to say that a concept is needed few trials cannot show more.
        self._clear = self.threshold + (1.0 - self.threshold) / 2.0
        self._know = Knowledge(space, doubt=self.doubt, order=self.order, most=self.most, learn=self.learn, cores=self.cores)
        self._ground = ground_of(space, self.pool)
        self._cover = Cover(space)
        self._valid: dict[Set, bool] = {}
        self._start: dict[Set, tuple[int, int]] = {}
        self._closed: set[Set] = set()
        self._duds: set[Set] = set()
        self._pursuits: list[Pursuit] = []
        self._modes: dict[Set, str] = {}
        self._unconfirmed: list[Set] = []
        self._fresh: list[tuple[float, Set]] = []
        self._bar = 0.0
        self._new = self.refit
        self._asked: dict[Set, list[Pursuit]] = {}
        self._paid = {"cover": 0.0, "surrogate": 0.0}
        self._spent = {"cover": 0.0, "surrogate": 0.0}
        self._left = self.budget
        self._power0, self._cost0 = self._plan.outlook(0, 0, RATES)
        self._log: list[Any] = []

    # -- asking -------------------------------------------------------------------------------

    def ask(self, n: int) -> Sequence[tuple[Set, int]]:
        if n < 1:
            return []
        if self._new >= self.refit:
            self._renew()
        self._advance()
        self._asked = {}
        # What cannot be ended within the budget is not begun, and the surest is ended first.
        n = min(n, max(1, self._left // self.ending))
        for one in sorted(self._pursuits, key=lambda p: -p.index):
            if one.next is None:
                continue
            if one.next in self._asked:
                self._asked[one.next].append(one)
            elif len(self._asked) < n:
                self._asked[one.next] = [one]
        while len(self._asked) < n:
            fresh = self._pick()
            if fresh is None:
                break
            self._pursuits.append(fresh)
            self._asked[fresh.current] = [fresh]
        return [(one, 1) for one in self._asked]

    def _renew(self) -> None:
        self._new = 0
        if not len(self._know):
            return
        self._know.suspect_cores(list(self._modes), self.threshold)
        self._know.fit(self.rng)
        self._review()
        self._ground.refresh(self.rng, self._know.failing(10))
        sets = self._ground.best(self._know.process, self._know.cores, self._promises(), 150)
        if not sets:
            self._fresh, self._bar = [], 0.0
            return
        indices = self._indices(sets, self.gamma_fresh)
        order = np.argsort(-indices, kind="stable")
        self._fresh = [(float(indices[i]), sets[i]) for i in order[:64]]
        new = [index for index, one in self._fresh if self._course(one) == (0, 0)]
        self._bar = self.patience * max(new, default=0.0)

    def _review(self) -> None:
        """Pursue what is left of a reported mode when it is now thought to fail by itself."""
        busy = {p.current for p in self._pursuits}
        for mode, arm in self._modes.items():
            for less in self._removals(mode):
                failing = float(at_least(self._know.beliefs([less]), self._cut())[0])
                if failing >= self.review and less not in self._closed | busy:
                    self._start.setdefault(less, self._know.counts(less))
                    self._pursuits.append(Pursuit(less, arm))

    def _promises(self) -> Any:
        """Approximate promise by means."""
        spread = max(0.3, self._know.spread)
        means = np.linspace(-8.0, 8.0, 161)
        belief = self._know._belief.prior(means, np.full(161, spread**2))
        power = np.log(np.maximum(belief @ self._power0, 1e-9))
        fine = np.log(np.maximum(1.0 - at_least(belief, self._cut()), 1e-6))

        def promise(mean: Any, lesser: Any) -> Any:
            value = np.interp(mean, means, power)
            minimal = np.zeros(len(value))
            for row in lesser:
                minimal += np.where(np.isfinite(row), np.interp(row, means, fine), 0.0)
            g = self.gamma_fresh
            return value + np.log(g + (1 - g) * np.exp(minimal))

        return promise

    def _cut(self) -> float:
        return self._clear

    def _removals(self, one: Set) -> list[Set]:
        found = []
        for concept in sorted(one):
            less = one - {concept}
            if not less:
                continue
            if less not in self._valid:
                self._valid[less] = self._sets.validate(less) is None
            if self._valid[less] and less not in self._duds:
                found.append(less)
        return found

    def _course(self, one: Set) -> tuple[int, int]:
        """Trials that count for the confirmation."""
        if one not in self._start:
            return (0, 0)
        k, p = self._know.counts(one)
        k0, p0 = self._start[one]
        return k - k0, p - p0

    def _indices(self, sets: Sequence[Set], gamma: float) -> Array:
        lesser = [self._removals(one) for one in sets]
        flat = [one for group in lesser for one in group]
        beliefs = self._know.beliefs([*sets, *flat])
        own, rest = beliefs[: len(sets)], beliefs[len(sets) :]
        failing = at_least(rest, self._cut()) if len(flat) else np.zeros(0)
        out = np.zeros(len(sets))
        at = 0
        for i, one in enumerate(sets):
            group = lesser[i]
            q = failing[at : at + len(group)]
            at += len(group)
            power, cost = self._plan.outlook(*self._course(one), RATES)
            open_ = sum(not self._settled(r, float(x)) for r, x in zip(group, q, strict=True))
            minimal = float(np.prod(1.0 - q))
            value = float(own[i] @ power) * (minimal + gamma * (1.0 - minimal))
            out[i] = value / (float(own[i] @ cost) + 2.0 * open_ + 1.0)
        return out

    def _settled(self, removal: Set, failing: float) -> bool:
        k, p = self._know.counts(removal)
        # What several reports rest on must be the surer: one error would spoil them all.
        resting = 1 + sum(removal < mode for mode in self._modes)
        if k + p >= 8 * resting:
            return True  # it was not moved to
        return p >= self.tries and failing * resting <= self.risk

    def _pick(self) -> Pursuit | None:
        arm = self._arm()
        for tried in (arm, "cover" if arm == "surrogate" else "surrogate"):
            if tried == "cover" and not self.cover and len(self._know) >= 24:
                continue
            if tried == "surrogate" and not self.surrogate:
                continue
            found = self._from_cover() if tried == "cover" else self._from_surrogate()
            if found is not None:
                self._start.setdefault(found, self._know.counts(found))
                one = Pursuit(found, tried)
                one.next = found
                return one
        return None

    def _arm(self) -> str:
        if len(self._know) < 24:
            return "cover"
        if self.share >= 0.0:
            return "cover" if self.rng.random() < self.share else "surrogate"
        draws = {}
        for arm in ("cover", "surrogate"):
            pending = sum(p.promise for p in self._pursuits if p.arm == arm)
            shape = 1.0 + self._paid[arm] + pending
            draws[arm] = self.rng.gamma(shape) / (self.explore_cost + self._spent[arm])
        return max(draws, key=lambda a: draws[a])

    def _from_cover(self) -> Set | None:
        known = [*self._modes, *(p.current for p in self._pursuits)]
        drawn = [
            one
            for one in self._ground.draw(self.rng, self._cover.draws)
            if one not in self._asked and self._know.counts(one) == (0, 0) and one not in self._duds
        ]
        return self._cover.choose(drawn, known)

    def _from_surrogate(self) -> Set | None:
        busy = {p.current for p in self._pursuits}
        while self._fresh:
            _, one = self._fresh.pop(0)
            if one in self._asked or one in busy or one in self._closed or one in self._duds:
                continue
            if any(m <= one or one <= m for m in self._modes):
                continue
            if any(p.current < one for p in self._pursuits):
                continue
            return one
        return None

    # -- learning -----------------------------------------------------------------------------

    def tell(self, evaluations: Sequence[Evaluation[Set]]) -> None:
        for evaluation in evaluations:
            one = evaluation.candidate
            if one not in self._asked:
                raise AgentError(f"tell() got {{{evaluation.key}}}, which ask() did not just propose")
            owners = self._asked.pop(one)
            new, total = evaluation.new, evaluation.total
            self._left -= new.charged
            for owner in owners:
                self._spent[owner.arm] += new.charged / len(owners)
                use = "self" if owner.current == one else "less"
                owner.uses[use] = owner.uses.get(use, 0) + new.charged
            self._know.add(one, total.failures, total.n)
            self._cover.seen(one)
            self._new += max(1, new.charged)
            if not new.n:
                self._dud(one)
        self._asked = {}
        self._advance()

    def _dud(self, one: Set) -> None:
        self._duds.add(one)
        self._close(one)
        for p in self._pursuits:
            if p.current == one:
                p.over = True

    def _close(self, one: Set) -> None:
        self._closed.add(one)
        self._ground.close(one)

    def _advance(self) -> None:
        for one in self._pursuits:
            self._step(one)
        self._log += [p for p in self._pursuits if p.over]
        self._pursuits = [p for p in self._pursuits if not p.over]

    def _step(self, one: Pursuit) -> None:
        while not one.over:
            current = one.current
            if current in self._closed or any(
                m <= current for m in (*self._modes, *self._unconfirmed)
            ):
                one.over = True
                one.why = "known"
                return
            lesser = self._removals(current)
            beliefs = self._know.beliefs(lesser) if lesser else np.zeros((0, len(RATES)))
            failing = at_least(beliefs, self._cut())
            able = beliefs @ self._power0
            ready = [i for i, r in enumerate(lesser) if self._know.counts(r)[0] >= 2]
            worst = max(ready, key=lambda i: able[i], default=-1)
            if ready and able[worst] >= self.move:
                if lesser[worst] in self._closed:
                    one.why = "closed removal"
                    one.over = True
                    return
                if any(p.current == lesser[worst] and not p.over for p in self._pursuits):
                    one.over = True
                    one.why = "merged"
                    return
                one.current = lesser[worst]
                self._start.setdefault(one.current, self._know.counts(one.current))
                continue
            course = self._course(current)
            verdict = self._plan.verdict(*course) if sum(course) else None
            if verdict is False:
                self._close(current)
                one.why = "plan"
                # It may well be a mode that had bad luck: what holds it is then not minimal.
                if float(at_least(self._know.beliefs([current]), self.threshold)[0]) >= 0.5:
                    self._unconfirmed.append(current)
                    self._ground.ban_above(current)
                one.over = True
                return
            one.index = float(self._indices([current], self.gamma)[0])
            one.promise = min(0.9, one.index * 30)
            if verdict is None and sum(self._know.counts(current)) and one.index < self._bar:
                one.why = "bar"
                one.over = True
                return
            open_ = [
                (-float(q), i)
                for i, (r, q) in enumerate(zip(lesser, failing, strict=True))
                if not self._settled(r, float(q))
            ]
            if verdict is True and not open_:
                self._report(one)
                return
            if open_ and (verdict is True or course[0] >= self.verify):
                one.next = lesser[min(open_)[1]]
            else:
                one.next = current
            return

    def _report(self, one: Pursuit) -> None:
        one.over = True
        one.why = "report"
        for larger in [m for m in self._modes if one.current < m]:
            self._paid[self._modes.pop(larger)] -= 1.0
        self._modes[one.current] = one.arm
        self._paid[one.arm] += 1.0
        if self.ban:
            self._ground.ban_above(one.current)
        else:
            self._close(one.current)

    def reports(self) -> list[Set]:
        return antichain(list(self._modes))
