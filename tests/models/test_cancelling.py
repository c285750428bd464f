from __future__ import annotations

import gc
import threading
import weakref

import pytest

from vlmfail.models.cancelling import Cancellation, cancelling, current_scope


class Search:
    pass


def marked(cancellation, scope):
    with cancelling(scope):
        return cancellation.mark()


def test_only_the_scope_that_cancels_is_hit():
    cancellation, one, two = Cancellation(), Search(), Search()
    first, second, nobodys = marked(cancellation, one), marked(cancellation, two), None
    nobodys = cancellation.mark()
    with cancelling(one):
        cancellation.cancel()
    assert [cancellation.hit(mark) for mark in (first, second, nobodys)] == [True, False, False]
    assert not cancellation.hit(marked(cancellation, one)), "what begins later is not hit"


def test_outside_of_any_scope_all_are_hit():
    cancellation, one = Cancellation(), Search()
    marks = [marked(cancellation, one), cancellation.mark()]
    cancellation.cancel()
    assert all(cancellation.hit(mark) for mark in marks)


def test_a_scope_is_a_threads_own_and_ends_with_an_error():
    one, seen = Search(), []
    with cancelling(one):
        thread = threading.Thread(target=lambda: seen.append(current_scope()))
        thread.start()
        thread.join()
        assert seen == [None]
        assert current_scope() is one

    def fail():
        with cancelling(one):
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert current_scope() is None


def test_a_search_that_is_over_is_forgotten():
    cancellation, one = Cancellation(), Search()
    with cancelling(one):
        cancellation.cancel()
    gone = weakref.ref(one)
    del one
    gc.collect()
    assert gone() is None
