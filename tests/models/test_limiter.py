from __future__ import annotations

import asyncio

import pytest

from vlmfail.models.providers.limiter import Limiter, NoPlaceError


async def hold(limiter, patience=None, until=None):
    async with limiter.slot(patience) as waited:
        if until is not None:
            await until.wait()
        return waited


def test_without_complaints_nothing_waits():
    async def work():
        limiter, until = Limiter(), asyncio.Event()
        tasks = [asyncio.create_task(hold(limiter, 0, until)) for _ in range(300)]
        await asyncio.sleep(0)
        assert limiter.in_flight == 300
        until.set()
        assert max(await asyncio.gather(*tasks)) < 1
        assert limiter.in_flight == 0

    asyncio.run(work())


def test_a_pause_longer_than_patience_is_not_waited_for():
    async def work():
        limiter = Limiter()
        limiter.slow_down(100)
        with pytest.raises(NoPlaceError):
            await hold(limiter, 0.05)
        assert limiter.in_flight == 0

    asyncio.run(asyncio.wait_for(work(), 10))


def test_a_pause_within_patience_is_waited_out_and_told():
    async def work():
        limiter = Limiter()
        limiter.slow_down(0.1)
        assert 0.09 < await hold(limiter, 10) < 5

    asyncio.run(asyncio.wait_for(work(), 10))


def test_who_runs_out_of_patience_or_is_cancelled_keeps_nobody_else_waiting():
    async def work():
        limiter, until = Limiter(), asyncio.Event()
        limiter.limit = 1.0
        first = asyncio.create_task(hold(limiter, None, until))
        await asyncio.sleep(0)
        second = asyncio.create_task(hold(limiter, 0.02))
        third = asyncio.create_task(hold(limiter))
        fourth = asyncio.create_task(hold(limiter))
        with pytest.raises(NoPlaceError):
            await second
        third.cancel()
        until.set()
        await asyncio.gather(first, fourth)
        assert limiter.in_flight == 0

    asyncio.run(asyncio.wait_for(work(), 10))


def test_a_turn_that_came_before_a_pause_is_handed_on():
    async def work():
        limiter, until = Limiter(), asyncio.Event()
        limiter.limit = 1.0
        first = asyncio.create_task(hold(limiter, None, until))
        await asyncio.sleep(0)
        impatient = asyncio.create_task(hold(limiter, 0.1))
        patient = asyncio.create_task(hold(limiter))
        await asyncio.sleep(0)
        until.set()
        await asyncio.sleep(0)
        await first
        limiter.slow_down(0.4)  # the turn has come, and has to wait longer than it can
        with pytest.raises(NoPlaceError):
            await impatient
        await patient
        assert limiter.in_flight == 0

    asyncio.run(asyncio.wait_for(work(), 10))
