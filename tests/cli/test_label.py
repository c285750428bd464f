"""`vlmfail label`: the page over HTTP, its file, its summary; hostile texts and requests."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from dataclasses import replace
from html.parser import HTMLParser
from urllib.parse import urlencode

import pytest

from vlmfail.core import RunFolderError, UsageError
from vlmfail.runs.run import RunData
from vlmfail.testing.made_runs import make_run
from vlmfail.ui.label.labels import FLAGS, LONGEST_COMMENT, Label, LabelStore, reviewer_name
from vlmfail.ui.label.summary import label_summary, sample_trials

EVIL = '</script><img src=x onerror=alert(1)>" onmouseover="x'


@pytest.fixture
def run(tmp_path):
    """A run of 4 failures and 4 passes with pictures, an error without, an invalid scene."""
    made = make_run(
        tmp_path / "run",
        [(("cyclist", "near"), "ffp"), (("light_red",), "fpi"), (("pedestrian",), "fpp")],
        pictures=True,
        trial={"reply": f"ANSWER: {EVIL}"},
        record={
            "prompt": f"What now? {EVIL}",
            "scene": {"truth_reason": EVIL, "generated": {"prompt": f"A kitchen. {EVIL}"}},
        },
    )
    yield made
    made.close()


# -- the file -------------------------------------------------------------------------------------


def test_a_later_label_of_the_same_reviewer_wins(run):
    store = LabelStore(run.path)
    assert store.all() == []
    store.put(Label("ann", "light_red", 0, "picture", "blurred", 4.5))
    store.put(Label("bob", "light_red", 0, "none"))
    store.put(Label("ann", "light_red", 0, "label"))
    assert store.of("ann") == {("light_red", 0): Label("ann", "light_red", 0, "label")}
    assert len(store.all()) == 2


def test_reviewers_may_write_at_once(run):
    def write(name: str) -> None:
        for index in range(25):
            LabelStore(run.path).put(Label(name, "k", index, "none"))

    threads = [threading.Thread(target=write, args=(name,)) for name in ("ann", "bob", "cy")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(LabelStore(run.path).all()) == 75


@pytest.mark.parametrize("flag", ["", "fine", "None", EVIL])
def test_there_are_five_flags(flag):
    with pytest.raises(UsageError, match="flag"):
        Label("ann", "k", 0, flag)
    assert [each.id for each in FLAGS] == ["none", "picture", "label", "question", "other"]


@pytest.mark.parametrize("name", ["", "  ", "a\nb", "a" * 61, "\x1b[31m"])
def test_a_name_is_one_that_can_be_shown(name):
    with pytest.raises(UsageError, match="--reviewer"):
        reviewer_name(name)


@pytest.mark.parametrize("kind", ["text", "other"])
def test_a_foreign_file_is_told_and_left_alone(run, kind):
    path = LabelStore(run.path).path
    if kind == "text":
        path.write_bytes(b"these are no labels" * 100)
    else:
        with contextlib.closing(sqlite3.connect(path)) as db:
            db.execute("CREATE TABLE mine (x)")
            db.commit()
    before = path.read_bytes()
    with pytest.raises(RunFolderError, match=r"labels\.sqlite"):
        LabelStore(run.path).put(Label("ann", "k", 0, "none"))
    with pytest.raises(RunFolderError, match=r"labels\.sqlite"):
        LabelStore(run.path).all()
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    "change",
    [
        {"reviewer": ""},
        {"reviewer": 5},
        {"reviewer": "ev\x1b[31m"},
        {"key": 5},
        {"key": b"k"},
        {"index": "0"},
        {"index": -1},
        {"index": True},
        {"index": 2**70},
        {"flag": None},
        {"comment": None},
        {"comment": "\ud800"},
        {"seconds": "abc"},
        {"seconds": float("nan")},
        {"seconds": -1.0},
        {"seconds": True},
    ],
)
def test_a_label_holds_what_a_page_can_send(change):
    with pytest.raises(UsageError):
        Label(**{"reviewer": "ann", "key": "k", "index": 0, "flag": "none", **change})


def spoil(run) -> int:
    """Write rows that are no labels; return how many."""
    rows = [
        ("ev<il>\x1b[31m", "light_red", 0, "none", "", 1),
        ("bad flag", "light_red", 0, "bogus", "", 1),
        ("bad time", "light_red", 0, "none", "", "abc"),
        ("bad index", "light_red", "x", "none", "", 1),
        ("bad text", "light_red", 0, "none", b"\xff", 1),
        (b"\xff", "light_red", 0, "none", "", 1),
    ]
    with contextlib.closing(sqlite3.connect(LabelStore(run.path).path)) as db:
        db.executemany("INSERT INTO labels VALUES (?, ?, ?, ?, ?, ?)", rows)
        db.execute("INSERT INTO labels VALUES ('ann', CAST(x'ff' AS TEXT), 1, 'none', '', NULL)")
        db.commit()
    return len(rows) + 1


def test_rows_that_are_no_labels_are_passed_over_and_counted(cli, run):
    store = LabelStore(run.path)
    store.put(Label("ann", "light_red", 0, "picture"))
    bad = spoil(run)
    labels, unreadable = store.read()
    assert (labels, unreadable) == ([Label("ann", "light_red", 0, "picture")], bad)
    assert store.of("bad flag") == {}
    assert label_summary(run)["unreadable"] == bad
    said = cli("label", run.path, "--summary")
    assert said.code == 0
    assert f"passed over {bad} rows" in said.err
    assert "\x1b" not in said.out + said.err
    assert cli("label", run.path, "--summary", "--json").json["unreadable"] == bad


# -- sample and summary ---------------------------------------------------------------------------


def test_a_sample_is_the_same_for_all_and_another_under_another_seed(run):
    again = RunData.open(run.path)
    assert sample_trials(run, 5, 0) == sample_trials(again, 5, 0)
    assert sample_trials(run, None, 0)[:5] == sample_trials(run, 5, 0)
    assert sorted(sample_trials(run, None, 1)) == sorted(sample_trials(run, None, 0))
    assert any(sample_trials(run, 5, seed) != sample_trials(run, 5, 0) for seed in range(1, 5))
    assert len(sample_trials(run, 99, 0)) == 8, "an invalid scene shows nothing to label"
    again.close()


def test_failures_alone_may_be_labelled(run):
    places = sample_trials(run, None, 0, failures=True)
    assert len(places) == 4
    assert all(run.records[place].trial.outcome == "fail" for place in places)


def test_a_repeat_is_no_further_failure(tmp_path):
    made = make_run(tmp_path / "r", [(("spoon",), "fff")], pictures=True)
    for place, record in list(made.records.items()):
        if place[1]:
            made.store.add(replace(record, trial=replace(record.trial, repeats=0)), None)
    run = RunData(made.store)
    assert sample_trials(run, None, 0) == sample_trials(run, None, 0, failures=True)
    assert sample_trials(run, None, 0) == [("spoon", 0)]
    for index in range(3):
        LabelStore(run.path).put(Label("ann", "spoon", index, "picture"))
    found = label_summary(run)
    assert (found["failures"]["labelled"], found["reviewers"]["ann"]["failures"]) == (1, 1)
    run.close()


def test_agreement_and_blame(run):
    store = LabelStore(run.path)
    failed = sample_trials(run, None, 0, failures=True)
    passed = [p for p in sample_trials(run, None, 0) if p not in failed]
    said = {"ann": ["picture", "none", "label", "none"], "bob": ["picture", "none", "none", "none"]}
    for name, flags in said.items():
        for place, flag in zip(failed, flags, strict=True):
            store.put(Label(name, *place, flag, seconds=10.0))
        for place in passed:
            store.put(Label(name, *place, "picture" if place == passed[0] else "none"))
    found = label_summary(run)
    assert found["reviewers"]["ann"]["share_blamed"] == 0.5
    assert found["reviewers"]["bob"]["failures_blamed"] == 1
    assert found["reviewers"]["ann"]["mean_seconds"] == 10.0
    (pair,) = found["agreement"]
    assert (pair["trials"], pair["equal"]) == (8, 7)
    # By hand: p_o = 7/8; ann 2/8 picture, 1/8 label, 5/8 none; bob 2/8, 0, 6/8; p_e = 34/64.
    assert pair["kappa"] == pytest.approx((7 / 8 - 34 / 64) / (1 - 34 / 64))
    assert found["failures"]["labelled"] == 4
    assert (found["failures"]["blamed_by_any"], found["failures"]["blamed_by_all"]) == (2, 1)
    assert found["by_outcome"]["pass"]["picture"] == 2


def test_kappa_is_not_defined_where_one_flag_is_all_there_is(run):
    for name in ("ann", "bob"):
        LabelStore(run.path).put(Label(name, "light_red", 0, "none"))
    (pair,) = label_summary(run)["agreement"]
    assert (pair["share"], pair["kappa"]) == (1.0, None)


def test_labels_of_trials_that_are_gone_are_counted_apart(run):
    LabelStore(run.path).put(Label("ann", "gone", 0, "picture"))
    found = label_summary(run)
    assert (found["labels"], found["without_trial"]) == (0, 1)


def test_the_summary_on_the_console(cli, run):
    assert "no labels" in cli("label", run.path, "--summary").out
    assert cli("label", run.path, "--summary", "--json").json["labels"] == 0
    LabelStore(run.path).put(Label("ann[bold]", "light_red", 0, "picture", EVIL))
    LabelStore(run.path).put(Label("bob", "light_red", 0, "none"))
    said = cli("label", run.path, "--summary")
    assert said.code == 0
    assert "ann[bold]" in said.out
    assert "1 of 1 labelled failures by anybody (100 %)" in said.out
    assert cli("label", run.path, "--summary", "--json").json["flags"]["picture"] == 1


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (("nowhere",), "no run"),
        (("run", "--sample", "0"), "--sample"),
        (("run", "--port", "70000"), "port"),
    ],
)
def test_mistakes_are_one_line(cli, run, words, part):
    pytest.importorskip("starlette")
    said = cli("label", *words)
    assert said.code == 2
    assert part in said.err
    assert "Traceback" not in said.err


# -- the page -------------------------------------------------------------------------------------


class Served:
    """A labelling process and what its pages say."""

    def __init__(self, folder, *words):
        command = [sys.executable, "-m", "vlmfail", "label", str(folder), "--json", *words]
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        text = ""
        for line in self.process.stdout:
            text += line
            if line.startswith("}"):
                break
        self.said = json.loads(text)
        self.port = int(self.said["url"].rsplit(":", 1)[1].strip("/"))

    def ask(self, path, body=None, **headers):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        kind = {"Content-Type": "application/x-www-form-urlencoded"} if body is not None else {}
        sent = {**kind, **{name.replace("_", "-"): value for name, value in headers.items()}}
        connection.request("GET" if body is None else "POST", path, body, sent)
        reply = connection.getresponse()
        data = reply.read()
        connection.close()
        return reply, data

    def page(self, path):
        reply, data = self.ask(path)
        assert reply.status == 200
        return data.decode()

    @property
    def token(self):
        return re.search(r'name="token" value="([\w-]+)"', self.page("/trial/1"))[1]

    def label(self, number, flag, **fields):
        body = urlencode({"token": self.token, "flag": flag, **fields})
        return self.ask(f"/trial/{number}", body)

    def end(self):
        self.process.send_signal(signal.SIGINT)
        self.process.communicate(timeout=15)


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    pytest.importorskip("starlette")
    pytest.importorskip("uvicorn")
    folder = tmp_path_factory.mktemp("labels") / "run"
    make_run(
        folder,
        [(("cyclist", "near"), "ffp"), (("light_red",), "fp")],
        pictures=True,
        trial={"reply": f"ANSWER: {EVIL}\x00\ud800"},
        record={
            "prompt": f"What now? {EVIL}",
            "scene": {"truth_reason": EVIL, "generated": {"prompt": f"A kitchen. {EVIL}"}},
        },
    ).close()
    served = Served(folder, "--reviewer", "ann")
    served.folder = folder
    yield served
    served.end()


class Tags(HTMLParser):
    def __init__(self):
        super().__init__()
        self.tags = []

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))


def test_a_page_shows_the_trial_and_the_paper_flags(server):
    page = server.page("/trial/1")
    for flag in FLAGS:
        assert flag.text in page
    assert 'data-seconds="15"' in page
    assert "emergency stop" in page
    assert "A kitchen." in page
    reply, data = server.ask("/picture/1.png")
    assert (reply.status, data[:4]) == (200, b"\x89PNG")


def test_foreign_texts_add_no_element_and_no_attribute(server):
    for number in range(1, 6):
        page = server.page(f"/trial/{number}")
        tags = Tags()
        tags.feed(page)
        images = [attrs for tag, attrs in tags.tags if tag == "img"]
        assert [attrs["src"] for attrs in images] == [f"/picture/{number}.png"]
        assert not any(name.startswith("on") for _, attrs in tags.tags for name in attrs)
        assert [attrs.get("src") for tag, attrs in tags.tags if tag == "script"] == ["/label.js"]
        assert "alert(1)" in page, "shown as text"


def test_a_label_is_kept_and_leads_on(server):
    reply, _ = server.label(2, "picture", comment=f"{EVIL}\r\nsecond", seconds="7.25")
    assert reply.status == 303
    assert reply.getheader("location") == "/trial/3"
    (label,) = LabelStore(server.folder).all()
    assert (label.reviewer, label.flag, label.seconds) == ("ann", "picture", 7.2)
    assert label.comment == f"{EVIL}\nsecond"
    page = server.page("/trial/2")
    assert "1 of 5 labelled" in page
    assert EVIL not in page
    server.label(2, "label")
    (label,) = LabelStore(server.folder).all()
    assert (label.flag, label.comment, label.seconds) == ("label", "", None)
    assert server.ask("/")[0].getheader("location") == "/trial/1"


@pytest.mark.parametrize(
    ("fields", "status"),
    [
        ({"flag": "none"}, 403),
        ({"flag": "none", "token": "wrong"}, 403),
        ({"flag": "none", "token": "\u00e9"}, 403),
        ({"flag": "fine"}, 400),
        ({}, 400),
        ({"flag": "none", "comment": "x" * (LONGEST_COMMENT + 1)}, 400),
        ({"flag": "none", "comment": "x" * 100_000}, 400),
    ],
)
def test_a_form_that_is_not_ours_changes_nothing(server, fields, status):
    before = LabelStore(server.folder).all()
    if status == 400:
        fields = {"token": server.token, **fields}
    reply, data = server.ask("/trial/4", urlencode(fields))
    assert reply.status == status
    assert b"Traceback" not in data
    assert LabelStore(server.folder).all() == before


@pytest.mark.parametrize("seconds", ["nan", "-1", "1e99", "x", ""])
def test_a_time_that_is_none_is_left_out(server, seconds):
    assert server.label(5, "none", seconds=seconds)[0].status == 303
    assert {label.key: label for label in LabelStore(server.folder).all() if label.flag == "none"}
    assert all(label.seconds is None for label in LabelStore(server.folder).all()
               if label.flag == "none")  # fmt: skip


@pytest.mark.parametrize("headers", [{"Host": "evil.example"}, {"Origin": "https://evil.example"}])
def test_pages_from_elsewhere_are_refused(server, headers):
    body = urlencode({"token": server.token, "flag": "none"})
    assert server.ask("/trial/1", **headers)[0].status == 403
    assert server.ask("/trial/1", body, **headers)[0].status == 403


@pytest.mark.parametrize("kind", ["text/plain", "multipart/form-data", "application/json", ""])
def test_other_kinds_of_posts_are_refused(server, kind):
    body = urlencode({"token": server.token, "flag": "none"})
    assert server.ask("/trial/1", body, Content_Type=kind)[0].status == 400


@pytest.mark.parametrize(
    "path",
    ["/trial/0", "/trial/6", "/trial/99999999999999999999", "/trial/x", "/picture/0.png",
     "/trial/" + "9" * 5000, "/picture/" + "9" * 5000 + ".png", "/trial/%D9%A1", "/trial/-1",
     "/picture/..%2f..%2frun.json", "/picture/../run.json", "/run.json", "/labels.sqlite",
     "/label.html.jinja"],
)  # fmt: skip
def test_there_is_nothing_else(server, path):
    assert server.ask(path)[0].status == 404
    if path.startswith("/trial"):
        assert server.ask(path, urlencode({"token": "x", "flag": "none"}))[0].status == 404


def test_the_page_may_load_nothing_from_elsewhere(server):
    reply, _ = server.ask("/trial/1")
    policy = reply.getheader("content-security-policy")
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert reply.getheader("cache-control") == "no-store"
    # Under a stricter one browsers hide the origin of the page's own posts, which are refused then.
    assert reply.getheader("referrer-policy") == "same-origin"
    for path in ("/label.css", "/label.js"):
        text = server.ask(path)[1].decode()
        assert "http:" not in text
        assert "https:" not in text


def test_two_reviewers_label_at_once_and_each_goes_on_where_they_stopped(run):
    pytest.importorskip("starlette")
    pytest.importorskip("uvicorn")
    ann, bob = Served(run.path, "--reviewer", "ann"), Served(run.path, "--reviewer", "bob")
    try:
        for number in range(1, 9):
            assert ann.label(number, "none")[0].status == 303
            assert bob.label(number, "none" if number > 2 else "other")[0].status == 303
        assert ann.ask("/")[0].getheader("location") == "/done"
        assert "All 8 trials are labelled" in ann.page("/done")
    finally:
        ann.end()
        bob.end()
    assert ann.process.returncode == 0
    (pair,) = label_summary(run)["agreement"]
    assert (pair["trials"], pair["equal"]) == (8, 6)
    again = Served(run.path, "--reviewer", "ann")
    again.end()
    assert again.said["labelled"] == 8


def test_labels_damaged_while_served_are_one_clear_page(run):
    pytest.importorskip("starlette")
    pytest.importorskip("uvicorn")
    served = Served(run.path, "--reviewer", "ann")
    try:
        token = served.token
        LabelStore(run.path).path.write_bytes(b"these are no labels" * 100)
        body = urlencode({"token": token, "flag": "none"})
        for words in (("/",), ("/trial/1",), ("/done",), ("/trial/1", body)):
            reply, data = served.ask(*words)
            assert reply.status == 500
            assert reply.getheader("content-security-policy")
            assert b"labels.sqlite cannot be" in data
            assert b"Traceback" not in data
        assert served.ask("/picture/1.png")[0].status == 200
        LabelStore(run.path).path.unlink()
        assert served.ask("/trial/1")[0].status == 200
    finally:
        served.process.send_signal(signal.SIGINT)
        _, errors = served.process.communicate(timeout=15)
    assert "Traceback" not in errors


# -- in a browser ---------------------------------------------------------------------------------

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")


class Browser:
    """Headless Chromium on one page, through its debugging pipe."""

    def __init__(self, url, profile):
        down, self.up = os.pipe()
        self.down, up = os.pipe()
        options = f"--headless --no-sandbox --disable-gpu --user-data-dir={profile}"
        command = f"exec {CHROMIUM} {options} --remote-debugging-pipe 3<&{down} 4>&{up}"
        self.process = subprocess.Popen(
            ["bash", "-c", command],
            pass_fds=(down, up),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(down)
        os.close(up)
        self.number, self.read = 0, b""
        self.session = {}
        target = self.call("Target.createTarget", url=url)["targetId"]
        found = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self.session = {"sessionId": found["sessionId"]}

    def call(self, method, **params):
        self.number += 1
        asked = {"id": self.number, "method": method, "params": params, **self.session}
        os.write(self.up, json.dumps(asked).encode() + b"\0")
        while True:
            while b"\0" not in self.read:
                piece = os.read(self.down, 1 << 16)
                assert piece, "the browser has ended"
                self.read += piece
            one, _, self.read = self.read.partition(b"\0")
            told = json.loads(one)
            if told.get("id") == self.number:
                return told.get("result", {})

    def says(self, expression):
        return self.call("Runtime.evaluate", expression=expression).get("result", {}).get("value")

    def press(self, key):
        text = key if len(key) == 1 else ""
        self.call("Input.dispatchKeyEvent", type="keyDown", key=key, text=text)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key)

    def wait_for(self, expression, wanted):
        end = time.monotonic() + 20
        while self.says(expression) != wanted:
            assert time.monotonic() < end, (expression, self.says(expression))
            time.sleep(0.05)

    def end(self):
        self.process.kill()
        self.process.wait()
        os.close(self.up)
        os.close(self.down)


@pytest.mark.skipif(CHROMIUM is None, reason="no chromium")
def test_keys_label_in_a_browser(run, tmp_path):
    pytest.importorskip("starlette")
    pytest.importorskip("uvicorn")
    served = Served(run.path, "--reviewer", "ann")
    browser = Browser(served.said["url"], tmp_path / "profile")
    place = "document.readyState == 'complete' && location.pathname.at(-1)"
    try:
        browser.wait_for(place, "1")
        assert 0 < int(browser.says("document.getElementById('left').innerText")) <= 15
        browser.press("2")
        browser.wait_for(place, "2")
        for key in "c5":  # in the comment a digit is a digit
            browser.press(key)
        browser.wait_for("document.getElementById('comment').value", "5")
        browser.press("Escape")
        browser.press("5")
        browser.wait_for(place, "3")
        browser.press("9")
        browser.press("ArrowLeft")
        browser.wait_for(place, "2")
        assert browser.says("document.querySelector('.chosen').value") == "other"
    finally:
        browser.end()
        served.end()
    first, second = sample_trials(run, 2, 0)
    own = LabelStore(run.path).of("ann")
    assert own[first].flag == "picture"
    assert (own[second].flag, own[second].comment) == ("other", "5")
    assert own[first].seconds is not None
    assert len(own) == 2


def test_without_its_server_it_names_itself_and_the_extra(monkeypatch):
    from vlmfail.core import MissingDependencyError
    from vlmfail.models.serving_server import run

    monkeypatch.setitem(sys.modules, "uvicorn", None)
    with pytest.raises(MissingDependencyError, match=r"^the labelling page .*vlmfail\[serve\]"):
        run(None, None, None, purpose="the labelling page")
