from __future__ import annotations

import contextlib
import multiprocessing
import os
import pickle
import shutil
import signal
import sqlite3
import stat
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from vlmfail.core import CancelledRequestError, Usage, UsageError
from vlmfail.models.reply_cache import ReplyCache, adaptation_key, reply_key

RAW = {"choices": [{"message": {"content": "ANSWER: B"}}], "usage": {"prompt_tokens": 7}}
PARTS = {
    "provider": "openai",
    "base_url": "https://api.openai.com/v1",
    "model": "gpt-5-mini",
    "messages": [{"role": "user", "content": "What now?"}],
    "pictures_sha256": ["ab" * 32, "cd" * 32],
    "parameters": {"temperature": 0.0, "max_completion_tokens": 64},
    "trial": 12345,
}
KEY = reply_key(**PARTS)
fork = multiprocessing.get_context("fork")


@pytest.fixture
def cache(tmp_path: Path):
    made = ReplyCache(tmp_path / "replies.sqlite")
    yield made
    made.close()


def sql(cache: ReplyCache, text: str, *values: object) -> list[tuple]:
    with sqlite3.connect(cache.path) as db:
        return db.execute(text, values).fetchall()


@contextlib.contextmanager
def one_warning(text: str):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    assert len(caught) == 1
    assert text in str(caught[0].message)


# -- keys -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("part", "other"),
    [
        ("provider", "anthropic"),
        ("base_url", "http://127.0.0.1:8000/v1"),
        ("model", "gpt-5"),
        ("messages", [{"role": "user", "content": "What now"}]),
        ("messages", [{"role": "system", "content": "What now?"}]),
        ("pictures_sha256", ["cd" * 32, "ab" * 32]),
        ("pictures_sha256", ["ab" * 32]),
        ("parameters", {"temperature": 0.1, "max_completion_tokens": 64}),
        ("parameters", {"temperature": 0.0}),
        ("trial", 12346),
    ],
)
def test_every_part_decides_the_key(part, other):
    assert reply_key(**{**PARTS, part: other}) != KEY


def test_order_of_parameters_and_kind_of_sequence_do_not_matter():
    turned = {"max_completion_tokens": 64, "temperature": 0.0}
    same = {**PARTS, "parameters": turned, "pictures_sha256": tuple(PARTS["pictures_sha256"])}
    assert reply_key(**same) == KEY
    assert len(KEY) == 64
    assert int(KEY, 16)


def test_parts_do_not_run_into_each_other():
    assert reply_key(**{**PARTS, "provider": "open", "base_url": "ai" + PARTS["base_url"]}) != KEY


# -- what is kept ---------------------------------------------------------------------------------


def test_a_reply_comes_back_as_it_was(cache):
    assert cache.get(KEY) is None
    usage = Usage(requests=2, input_tokens=1000, output_tokens=50, dollars=0.00078)
    assert cache.put(KEY, RAW, parameters={"temperature": 0.0}, usage=usage)
    found = ReplyCache(cache.path).get(KEY)
    assert (found.raw, found.parameters, found.usage) == (RAW, {"temperature": 0.0}, usage)
    assert found.created[:2] == "20"
    assert len(found.created) == 10
    assert cache.get(reply_key(**{**PARTS, "trial": 1})) is None


def test_unknown_tokens_stay_unknown(cache):
    cache.put(KEY, RAW)
    assert cache.get(KEY).usage == Usage(0, None, None, None)


@pytest.mark.parametrize(
    "text", ["\ud83d lone", "日本語 🚗 \x00 \u2028", '"\\</script>', "x" * 5_000_000]
)
def test_any_text_comes_back(cache, text):
    raw = {"text": text, "n": [1, 2.5, None, True, {"a": {}}]}
    assert cache.put(KEY, raw)
    assert cache.get(KEY).raw == raw


@pytest.mark.parametrize("raw", [{}, {"a": object()}, {"a": b"bytes"}])
def test_empty_replies_and_no_json_are_not_stored(cache, raw):
    assert not cache.put(KEY, raw)
    assert cache.get(KEY) is None


def test_nothing_but_what_is_given_lands_on_disk(cache, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-planted-0123456789")
    cache.put(KEY, RAW)
    cache.wait_or_claim("f" * 64, 60)
    cache.remember_adaptation(adaptation_key("openai", "u", "m", {}), {"a": 1})
    for path in cache.path.parent.iterdir():
        assert b"sk-planted" not in path.read_bytes()
        assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0, path


def test_adaptations_are_remembered_between_runs(cache):
    key = adaptation_key("openai", "https://a/v1", "o9", {"max_tokens": 5, "temperature": 0})
    assert cache.adaptation(key) is None
    cache.remember_adaptation(key, {"max_completion_tokens": 5})
    assert ReplyCache(cache.path).adaptation(key) == {"max_completion_tokens": 5}
    assert key != adaptation_key(
        "openai", "https://b/v1", "o9", {"max_tokens": 5, "temperature": 0}
    )
    sql(cache, "UPDATE adaptations SET body = '{'")
    assert cache.adaptation(key) is None


# -- where ----------------------------------------------------------------------------------------


def test_default_place_and_off(tmp_path, monkeypatch):
    monkeypatch.delenv("VLMFAIL_REPLIES", raising=False)
    monkeypatch.setenv("VLMFAIL_CACHE", str(tmp_path))
    assert ReplyCache().path == tmp_path / "replies.sqlite"
    monkeypatch.setenv("VLMFAIL_REPLIES", str(tmp_path / "a" / "b.sqlite"))
    assert ReplyCache().path == tmp_path / "a" / "b.sqlite"
    assert ReplyCache().put(KEY, RAW)
    assert (tmp_path / "a" / "b.sqlite").is_file()
    monkeypatch.setenv("VLMFAIL_REPLIES", "Off")
    assert not ReplyCache().on
    monkeypatch.delenv("VLMFAIL_REPLIES")
    monkeypatch.setenv("VLMFAIL_CACHE", "")
    assert not ReplyCache().on


def test_off_stores_nothing_and_waits_for_nobody(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    cache = ReplyCache("off")
    assert not cache.put(KEY, RAW)
    assert cache.get(KEY) is None
    assert cache.claim(KEY, 60)
    assert cache.wait_or_claim(KEY, 60) is None
    cache.release(KEY)
    cache.remember_adaptation("k", {})
    assert (cache.adaptation("k"), cache.clear(), cache.size().replies) == (None, 0, 0)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("value", ["much", "0", "-1", "nan"])
def test_a_limit_that_is_none_is_told(monkeypatch, value):
    monkeypatch.setenv("VLMFAIL_REPLIES_GIB", value)
    with pytest.raises(UsageError, match="VLMFAIL_REPLIES_GIB"):
        ReplyCache("off")


# -- damage ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE replies SET body = substr(body, 1, 20)",
        "UPDATE replies SET body = replace(body, 'ANSWER: B', 'ANSWER: C')",
        "UPDATE replies SET body = ''",
        "UPDATE replies SET checksum = 'x'",
        "UPDATE replies SET body = 17, created = 'monday'",
        "UPDATE replies SET created = 9e99",
    ],
)
def test_a_damaged_row_is_no_reply_and_is_replaced(cache, damage):
    cache.put(KEY, RAW)
    sql(cache, damage)
    assert cache.get(KEY) is None
    assert cache.wait_or_claim(KEY, 60) is None
    assert cache.put(KEY, RAW)
    assert cache.get(KEY).raw == RAW


def test_a_row_under_another_key_is_no_reply(cache):
    cache.put(KEY, RAW)
    sql(cache, "UPDATE replies SET key = ?", "e" * 64)
    assert cache.get("e" * 64) is None


def spoil(path: Path, how: str) -> None:
    data = path.read_bytes()
    if how == "garbage":
        path.write_bytes(os.urandom(9000))
    elif how == "truncated":
        path.write_bytes(data[: len(data) // 2])
    elif how == "zeros":
        path.write_bytes(bytes(len(data)))
    else:
        path.write_bytes(data[:4096] + os.urandom(len(data) - 4096))


@pytest.mark.parametrize("how", ["garbage", "truncated", "zeros", "pages"])
def test_a_damaged_file_is_set_aside_with_one_warning(tmp_path, how):
    path = tmp_path / "replies.sqlite"
    first = ReplyCache(path)
    for i in range(200):
        first.put(f"{i:064x}", {**RAW, "pad": "p" * 300})
    first.close()
    spoil(path, how)
    again = ReplyCache(path)
    with one_warning("damaged-1"):
        again.get(f"{5:064x}")
        again.claim(KEY, 60)
        assert again.put(KEY, RAW)
    assert again.get(KEY).raw == RAW
    assert (tmp_path / "replies.sqlite.damaged-1").is_file()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert ReplyCache(path).get(KEY).raw == RAW


def test_only_the_damaged_file_is_set_aside_when_two_meet_it(tmp_path):
    path = tmp_path / "replies.sqlite"
    caches = [ReplyCache(path), ReplyCache(path)]
    for cache in caches:
        cache.put(KEY, RAW)
    sql(caches[0], "PRAGMA wal_checkpoint(TRUNCATE)")
    with path.open("r+b") as file:
        file.write(os.urandom(path.stat().st_size))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for i, cache in enumerate(caches):
            assert cache.get("f" * 64) is None
            assert cache.put(f"{i:064x}", RAW)
    assert len(list(tmp_path.glob("*.damaged-*[0-9]"))) == 1
    assert all(cache.get(f"{i:064x}") for cache in caches for i in range(2))


def test_a_file_that_is_deleted_meanwhile_is_begun_anew(cache):
    cache.put(KEY, RAW)
    for path in cache.path.parent.iterdir():
        path.unlink()
    assert cache.get(KEY) is None
    assert cache.put(KEY, RAW)
    assert ReplyCache(cache.path).get(KEY).raw == RAW


def test_a_foreign_database_is_left_alone(tmp_path):
    path = tmp_path / "mine.sqlite"
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE poems (line TEXT)")
    before = path.read_bytes()
    cache = ReplyCache(path)
    with one_warning("something else"):
        assert cache.get(KEY) is None
        assert not cache.put(KEY, RAW)
        assert cache.claim(KEY, 5)
    assert path.read_bytes() == before


@pytest.mark.parametrize("place", ["folder", "below-a-file"])
def test_a_place_that_cannot_be_a_file_costs_one_warning(tmp_path, place):
    (tmp_path / "file").write_text("")
    cache = ReplyCache(tmp_path if place == "folder" else tmp_path / "file" / "replies.sqlite")
    with one_warning("neither read nor stored"):
        assert not cache.put(KEY, RAW)
        assert cache.get(KEY) is None
        assert cache.wait_or_claim(KEY, 5) is None


def as_nobody(work) -> str:
    """Run `work` in a child without root's rights; return what it returned."""
    receive, send = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            if os.getuid() == 0:
                os.setgroups([])
                os.setgid(65534)
                os.setuid(65534)
            os.write(send, repr(work()).encode())
        except BaseException as error:
            os.write(send, f"error: {error!r}".encode())
        finally:
            os._exit(0)
    os.close(send)
    os.waitpid(child, 0)
    with os.fdopen(receive) as file:
        return file.read()


@pytest.mark.parametrize("log_left", [False, True])
def test_a_read_only_folder_is_read_and_not_written(log_left):
    folder = Path(tempfile.mkdtemp())
    try:
        cache = ReplyCache(folder / "replies.sqlite")
        cache.put(KEY, RAW)
        if not log_left:
            cache.close()
        for path in folder.iterdir():
            path.chmod(0o444)
        folder.chmod(0o555)

        def work() -> object:
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                there = ReplyCache(folder / "replies.sqlite")
                nowhere = ReplyCache(folder / "other.sqlite")
                found = [
                    there.get(KEY) is not None,
                    there.put("1" * 64, RAW),
                    there.wait_or_claim("1" * 64, 9),
                    nowhere.get(KEY),
                    nowhere.put(KEY, RAW),
                ]
            return found, len(caught)

        assert as_nobody(work) == "([True, False, None, None, False], 2)"
    finally:
        folder.chmod(0o755)
        shutil.rmtree(folder)


def test_a_full_disk_costs_storing_only(cache):
    cache.put(KEY, RAW)
    cache._db.read(lambda db: db.execute("PRAGMA max_page_count = 1").fetchall())
    with one_warning("full"):
        for i in range(40):
            cache.put(f"{i:064x}", {"a": "b" * 9000})
    assert cache.get(KEY).raw == RAW


def test_a_locked_file_is_waited_for_then_gone_without(tmp_path):
    cache = ReplyCache(tmp_path / "replies.sqlite", patience=0.3)
    cache.put(KEY, RAW)
    other = sqlite3.connect(cache.path, isolation_level=None, check_same_thread=False)
    other.execute("BEGIN IMMEDIATE")
    begun = time.monotonic()
    with one_warning("locked"):
        assert not cache.put("1" * 64, RAW)
        assert time.monotonic() - begun > 0.25
        assert cache.wait_or_claim("2" * 64, 60) is None  # paid without agreeing with others
        assert cache.get(KEY).raw == RAW
    threading.Timer(0.05, other.execute, ["ROLLBACK"]).start()
    assert cache.put("1" * 64, RAW)


# -- single flight --------------------------------------------------------------------------------


def pay(path: Path, log: Path, name: str, keys: list[str]) -> None:
    cache = ReplyCache(path)
    for key in keys:
        reply = cache.wait_or_claim(key, 60)
        if reply is None:
            with log.open("a") as file:
                file.write(f"{key}\n")
            time.sleep(0.002)
            assert cache.put(key, {"by": name, "key": key})
        else:
            assert reply.raw["key"] == key


def test_processes_and_threads_pay_each_key_once(tmp_path):
    path, log = tmp_path / "replies.sqlite", tmp_path / "paid"
    keys = [f"{i:064x}" for i in range(60)]

    def process(name: str) -> None:
        warnings.simplefilter("error")
        with ThreadPoolExecutor(4) as pool:
            orders = [keys, keys[::-1], keys[30:] + keys[:30], keys]
            list(pool.map(lambda order: pay(path, log, name, order), orders))

    workers = [fork.Process(target=process, args=(f"p{i}",)) for i in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(30)
    assert [worker.exitcode for worker in workers] == [0] * 4
    assert Counter(log.read_text().split()) == Counter(keys)
    assert ReplyCache(path).size().replies == len(keys)


OWNER = """
import sys, time
from vlmfail.models.reply_cache import ReplyCache
cache = ReplyCache(sys.argv[1])
assert cache.wait_or_claim(sys.argv[2], 3600) is None
print("claimed", flush=True)
time.sleep(60)
"""


def test_the_claim_of_a_killed_process_ends_at_once(cache):
    owner = subprocess.Popen(
        [sys.executable, "-c", OWNER, str(cache.path), KEY], stdout=subprocess.PIPE, text=True
    )
    assert owner.stdout.readline() == "claimed\n"
    assert not cache.claim(KEY, 60)
    threading.Timer(0.2, owner.send_signal, [signal.SIGKILL]).start()
    begun = time.monotonic()
    assert cache.wait_or_claim(KEY, 60) is None  # not even reaped yet
    assert 0.1 < time.monotonic() - begun < 30
    owner.wait()
    owner.stdout.close()


def test_claims_of_other_hosts_and_of_running_processes_end_by_time(cache):
    cache.get(KEY)
    soon = time.time() + 0.4
    sql(cache, "INSERT INTO claims VALUES (?, 'elsewhere', 1, '5', ?)", KEY, soon)
    assert not cache.claim(KEY, 60)
    assert cache.wait_or_claim(KEY, 60) is None
    assert time.time() >= soon
    cache.release(KEY)
    assert sql(cache, "SELECT * FROM claims") == []


def test_a_pid_that_was_given_anew_holds_nothing(cache):
    assert cache.claim(KEY, 3600)
    sql(cache, "UPDATE claims SET pid = 1, start = '1'")
    cache._flights.end(KEY)  # as in a process that never held it
    assert cache.claim(KEY, 60)


def test_a_claim_made_under_a_wrong_clock_does_not_last_for_years(cache):
    cache.get(KEY)
    sql(cache, "INSERT INTO claims VALUES (?, 'elsewhere', 1, '5', ?)", KEY, time.time() + 1e9)
    assert cache.claim(KEY, 60)


def test_threads_wait_for_the_one_that_pays(cache):
    assert cache.wait_or_claim(KEY, 60) is None
    assert not ReplyCache(cache.path).claim(KEY, 60)
    with ThreadPoolExecutor(8) as pool:
        waiting = [pool.submit(ReplyCache(cache.path).wait_or_claim, KEY, 60) for _ in range(8)]
        time.sleep(0.1)
        assert not any(future.done() for future in waiting)
        cache.put(KEY, RAW)
        assert [future.result(5).raw for future in waiting] == [RAW] * 8


def test_after_a_release_the_next_one_pays(cache):
    assert cache.wait_or_claim(KEY, 60) is None
    with ThreadPoolExecutor(2) as pool:
        waiting = [pool.submit(cache.wait_or_claim, KEY, 60) for _ in range(2)]
        time.sleep(0.05)
        cache.release(KEY)
        time.sleep(0.3)
        done = [future for future in waiting if future.done()]
        assert [future.result() for future in done] == [None]
        cache.put(KEY, RAW)
        replies = [future.result(5) for future in waiting]
    assert sorted(reply is None for reply in replies) == [False, True]


def test_a_claim_of_this_process_ends_by_time(cache):
    assert cache.claim(KEY, 0.2)
    assert not cache.claim(KEY, 0.2)
    assert cache.wait_or_claim(KEY, 60) is None


@pytest.mark.parametrize("where", ["here", "elsewhere"])
def test_waiting_can_be_cancelled(cache, where):
    cache.claim(KEY, 60)
    if where == "elsewhere":
        cache._flights.end(KEY)
        sql(cache, "UPDATE claims SET host = 'elsewhere'")
    end = time.monotonic() + 0.2
    with pytest.raises(CancelledRequestError):
        cache.wait_or_claim(KEY, 60, lambda: time.monotonic() > end)
    assert time.monotonic() < end + 1


# -- processes ------------------------------------------------------------------------------------


def test_pickles_as_its_place(cache):
    cache.put(KEY, RAW)
    cache.claim("1" * 64, 60)
    assert pickle.loads(pickle.dumps(cache)).get(KEY).raw == RAW
    assert not pickle.loads(pickle.dumps(ReplyCache("off"))).on


def test_goes_on_in_both_after_a_fork(cache):
    cache.put(KEY, RAW)
    assert cache.claim("1" * 64, 60)

    def work() -> object:
        return cache.get(KEY).raw == RAW, cache.put("2" * 64, RAW), cache.claim("1" * 64, 60)

    receive, send = fork.Pipe(duplex=False)
    child = fork.Process(target=lambda: send.send(work()))
    child.start()
    assert receive.recv() == (True, True, False)  # the parent still pays for "1"
    child.join()
    assert cache.get("2" * 64).raw == RAW
    assert cache.put("1" * 64, RAW)


# -- housekeeping ---------------------------------------------------------------------------------


def test_clear_and_size(cache):
    for i in range(50):
        cache.put(f"{i:064x}", {"a": "b" * 20_000})
    sql(cache, "UPDATE replies SET created = created - 10 * 86400 WHERE rowid <= 20")
    full = cache.size()
    assert full.replies == 50
    assert full.bytes > 1_000_000
    assert cache.clear(older_than_days=5) == 20
    assert cache.get(f"{19:064x}") is None
    assert cache.get(f"{20:064x}") is not None
    assert cache.clear() == 30
    assert cache.size().replies == 0
    assert cache.size().bytes < 200_000


def test_above_the_limit_the_oldest_go_at_open(tmp_path, monkeypatch):
    path = tmp_path / "replies.sqlite"
    cache = ReplyCache(path)
    for i in range(100):
        cache.put(f"{i:064x}", {"a": "b" * 20_000})
    cache.close()
    monkeypatch.setenv("VLMFAIL_REPLIES_GIB", str(1_000_000 / (1 << 30)))
    small = ReplyCache(path)
    assert small.get(f"{99:064x}") is not None
    assert small.get(f"{0:064x}") is None
    assert 30 <= small.size().replies <= 46
    assert small.size().bytes < 1_100_000
    kept = small.size().replies
    small.close()
    assert ReplyCache(path).size().replies == kept


def test_replies_are_found_fast(cache):
    keys = [reply_key(**{**PARTS, "trial": i}) for i in range(200)]
    for key in keys:
        cache.put(key, {"text": "x" * 2000})
    rates = []
    for _ in range(3):  # the best of three: the machine may be busy
        begun = time.process_time()
        for i in range(2000):
            assert cache.get(keys[i % 200])
        rates.append(2000 / (time.process_time() - begun))
    assert max(rates) > 4000


def test_a_file_of_another_kind_is_left_alone(tmp_path):
    path = tmp_path / "notes.txt"
    path.write_text("hello " * 100)
    cache = ReplyCache(path)
    with pytest.warns(UserWarning, match="left alone"):
        cache.put("k" * 64, {"a": 1})
    assert path.read_text() == "hello " * 100
    assert [p.name for p in tmp_path.iterdir() if p.name.endswith("-1")] == []


def test_a_device_is_left_alone():
    cache = ReplyCache("/dev/full")
    with pytest.warns(UserWarning, match="no ordinary file"):
        assert cache.get("k" * 64) is None
