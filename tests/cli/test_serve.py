"""`vlmfail serve` as a process, driven by OpenAI's SDK and by hand."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import http.client
import json
import os
import signal
import socket
import sqlite3
import subprocess
import sys
import time

import numpy as np
import pytest

from vlmfail.core import Option, Picture, Question
from vlmfail.models.tiny_vlm import TinyVLM

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")
openai = pytest.importorskip("openai")

MODELS = """
import time


def echo(images, prompt, *, seed):
    print("a model that talks")
    return f"{seed} {prompt} " + " ".join(image.sha256 for image in images)


def hangs(images, prompt, *, seed):
    time.sleep(600)
"""


@contextlib.contextmanager
def served(*words, cwd=None):
    """A serving process; yields (process, what it printed as JSON)."""
    command = [sys.executable, "-m", "vlmfail", "serve", *words, "--port", "0", "--json"]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=cwd
    )
    try:
        said = ""
        while not said.endswith("}\n"):
            line = process.stdout.readline()
            assert line, process.stderr.read()
            said += line
        yield process, json.loads(said)
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


def ended(process, number):
    """Send a signal; return (exit code, rest of stdout, stderr, seconds)."""
    start = time.monotonic()
    process.send_signal(number)
    out, err = process.communicate(timeout=60)
    return process.returncode, out, err, time.monotonic() - start


@pytest.fixture(scope="module")
def tiny():
    with served("tiny-vlm") as (process, said):
        yield process, said["url"]


def port_of(url):
    return int(url.split(":")[2].split("/")[0])


def noise(seed, size=(48, 64)):
    rng = np.random.default_rng(seed)
    base = rng.integers(0, 256, 3)
    return Picture.from_pixels(
        np.clip(base + rng.integers(-60, 60, (*size, 3)), 0, 255).astype(np.uint8)
    )


def message(prompt, *pictures):
    parts = [
        {
            "type": "image_url",
            "image_url": {"url": "data:image/png;base64," + base64.b64encode(p.png).decode()},
        }
        for p in pictures
    ]
    return [{"role": "user", "content": [*parts, {"type": "text", "text": prompt}]}]


QUESTION = Question(
    "You drive. What do you do?",
    (
        Option("stop", "Stop: brake until the car stands"),
        Option("slow", "Slow down: take the foot off the pedal"),
        Option("keep", "Keep going at this speed"),
        Option("none", "None of the above", last=True),
    ),
    "v1",
)


def questions(n):
    """Return n (prompt, picture) pairs with shuffled options."""
    return [
        (QUESTION.shuffled(np.random.default_rng(i)).prompt, noise(i, (30 + i, 40)))
        for i in range(n)
    ]


def test_the_sdk_gets_what_the_model_says_in_process(tiny):
    client = openai.OpenAI(base_url=tiny[1], api_key="none", max_retries=0)
    model, said = TinyVLM(), set()
    for seed, (prompt, picture) in enumerate(questions(8)):
        expected = model.answer([picture], prompt, seed=seed).text
        reply = client.chat.completions.create(
            model="tiny-vlm", messages=message(prompt, picture), seed=seed, temperature=0
        )
        assert reply.choices[0].message.content == expected
        assert (reply.choices[0].finish_reason, reply.usage) == ("stop", None)
        said.add(expected.splitlines()[-1])
    assert len(said) > 1, "the letters differ, so the order of the options got through"
    assert [row.id for row in client.models.list()] == ["tiny-vlm"]
    assert client.models.retrieve("tiny-vlm").id == "tiny-vlm"


def test_a_stream_adds_up_to_the_reply(tiny):
    client = openai.OpenAI(base_url=tiny[1], api_key="none", max_retries=0)
    [(prompt, picture)] = questions(1)
    chunks = list(
        client.chat.completions.create(
            model="tiny-vlm",
            messages=message(prompt, picture),
            stream=True,
            stream_options={"include_usage": True},
        )
    )
    text = "".join(c.delta.content or "" for chunk in chunks for c in chunk.choices)
    assert text == TinyVLM().answer([picture], prompt, seed=0).text
    assert chunks[-1].choices[0].finish_reason == "stop"


def test_sixteen_in_flight(tiny):
    asked = questions(48)

    async def all_of_them():
        gate = asyncio.Semaphore(16)
        async with openai.AsyncOpenAI(base_url=tiny[1], api_key="none", max_retries=0) as client:

            async def one(prompt, picture):
                async with gate:
                    reply = await client.chat.completions.create(
                        model="tiny-vlm", messages=message(prompt, picture)
                    )
                    return reply.choices[0].message.content

            return await asyncio.gather(*(one(*each) for each in asked))

    model = TinyVLM()
    expected = [model.answer([picture], prompt, seed=0).text for prompt, picture in asked]
    assert asyncio.run(all_of_them()) == expected


def test_errors_are_the_sdk_s_own(tiny):
    client = openai.OpenAI(base_url=tiny[1], api_key="none", max_retries=0)
    with pytest.raises(openai.NotFoundError, match="there is 'tiny-vlm'"):
        client.chat.completions.create(model="gpt-9", messages=message("x"))
    with pytest.raises(openai.BadRequestError, match="only data URLs"):
        client.chat.completions.create(
            model="tiny-vlm",
            messages=[
                {
                    "role": "user",
                    "content": [{"type": "image_url", "image_url": {"url": "http://127.0.0.1/x"}}],
                }
            ],
        )
    with pytest.raises(openai.BadRequestError) as caught:
        client.chat.completions.create(model="tiny-vlm", messages=[])
    assert caught.value.param == "messages"


def raw(url, method, path, body=None, headers=None):
    """One request by hand; returns (status, JSON body)."""
    connection = http.client.HTTPConnection("127.0.0.1", port_of(url), timeout=20)
    try:
        connection.request(method, path, body=body, headers=headers or {})
        response = connection.getresponse()
        return response.status, json.loads(response.read())
    finally:
        connection.close()


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"Host": "localhost:1234"}, 200),
        ({"Host": "evil.example"}, 403),
        ({"Host": "127.0.0.1.evil.example:8000"}, 403),
        ({"Origin": "https://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "http://localhost:3000"}, 200),
    ],
)
def test_web_pages_from_elsewhere_do_not_get_through(tiny, headers, status):
    for path in ("/health", "/v1/models"):
        assert raw(tiny[1], "GET", path, headers=headers)[0] == status
    body = json.dumps({"model": "tiny-vlm", "messages": message("x")})
    got, said = raw(tiny[1], "POST", "/v1/chat/completions", body, headers)
    assert got == status
    assert ("error" in said) == (status == 403)


def test_it_listens_on_loopback_alone(tiny):
    port = port_of(tiny[1])
    if not os.path.exists("/proc/net/tcp"):
        pytest.skip("needs Linux")
    with open("/proc/net/tcp") as file:
        rows = [line.split() for line in file][1:]
    listening = {row[1].split(":")[0] for row in rows if row[1].endswith(f":{port:04X}")}
    assert "0100007F" in listening
    assert "00000000" not in listening


@pytest.mark.parametrize("announced", [True, False])
def test_memory_stays_bounded_when_the_body_is_huge(tiny, announced):
    process, url = tiny
    status_file = f"/proc/{process.pid}/status"
    if not os.path.exists(status_file):
        pytest.skip("needs Linux")

    def peak():
        with open(status_file) as file:
            return next(int(line.split()[1]) for line in file if line.startswith("VmHWM")) / 1024

    before = peak()
    piece, pieces = b" " * 2**20, 200
    headers = {"Content-Length": str(len(piece) * pieces)} if announced else {}
    status, said = raw(url, "POST", "/v1/chat/completions", iter([piece] * pieces), headers)
    assert (status, said["error"]["code"]) == (413, "too_large")
    assert peak() - before < (20 if announced else 160)
    assert raw(url, "GET", "/health")[0] == 200


def test_what_is_no_http_does_no_harm(tiny):
    for junk in (b"\x16\x03\x01\x02\x00\x01\x00", b"GET / HTTP/9\r\n\r\n", b"\n" * 1000):
        with socket.create_connection(("127.0.0.1", port_of(tiny[1])), timeout=5) as sock:
            sock.sendall(junk)
    assert raw(tiny[1], "GET", "/health")[0] == 200


def test_a_taken_port_is_one_clear_line(tiny, cli):
    shown = cli("serve", "tiny-vlm", "--port", port_of(tiny[1]))
    assert (shown.code, shown.out) == (3, "")
    [line] = shown.err.splitlines()
    assert f"port {port_of(tiny[1])}" in line
    assert "is taken" in line
    assert "--port 0" in line


def test_wrong_arguments_are_the_caller_s_mistake(cli):
    for words in (["tiny-vlmm"], ["tiny-vlm", "--port", 70_000], ["tiny-vlm", "--concurrency", 0]):
        shown = cli("serve", *words)
        assert (shown.code, shown.out) == (2, "")
        assert len(shown.err.splitlines()) == 1


def test_ctrl_c_ends_it_cleanly_and_stdout_holds_one_object(tmp_path):
    (tmp_path / "mine.py").write_text(MODELS)
    with served("mine.py:echo", cwd=tmp_path) as (process, said):
        assert said["model"] == "mine.py:echo"
        client = openai.OpenAI(base_url=said["url"], api_key="none", max_retries=0)
        pictures = [noise(1), noise(2)]
        reply = client.chat.completions.create(
            model=said["model"], messages=message("Hm?", *pictures), seed=2**32 - 1
        )
        digests = " ".join(picture.sha256 for picture in pictures)
        assert reply.choices[0].message.content == f"4294967295 Hm? {digests}"
        code, out, err, seconds = ended(process, signal.SIGINT)
    assert (code, out) == (0, "")
    assert err.strip() == "a model that talks"
    assert seconds < 15


def test_a_model_that_hangs_does_not_keep_it_alive(tmp_path):
    (tmp_path / "mine.py").write_text(MODELS)
    with served("mine.py:hangs", cwd=tmp_path) as (process, said):
        connection = http.client.HTTPConnection("127.0.0.1", port_of(said["url"]), timeout=20)
        body = json.dumps({"model": "mine.py:hangs", "messages": message("x")})
        connection.request("POST", "/v1/chat/completions", body=body)
        time.sleep(0.3)
        assert raw(said["url"], "GET", "/health")[0] == 200
        code, out, err, seconds = ended(process, signal.SIGINT)
        assert connection.getresponse().status == 503
        connection.close()
    assert (code, out) == (0, "")
    assert "Traceback" not in err
    assert seconds < 15


def test_without_json_it_says_where_and_how_and_sigterm_ends_it():
    process = subprocess.Popen(
        [sys.executable, "-m", "vlmfail", "serve", "tiny-vlm", "--port", "0"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        line = process.stdout.readline()
        url = next(word for word in line.split() if word.startswith("http://127.0.0.1:"))
        url = url.rstrip(",")
        assert f"curl {url}/models" in line
        assert raw(url, "GET", "/v1/models")[0] == 200
        assert ended(process, signal.SIGTERM)[:3] == (0, "", "")
    finally:
        process.kill()
        process.communicate()


TRIALS = "SELECT key, idx, outcome, answer, expected, reply, picture, prompt, options FROM trials"


def test_a_search_through_the_server_equals_one_without_it(tiny, cli, tmp_path, monkeypatch):
    monkeypatch.setenv("VLMFAIL_REPLIES", "off")

    def evaluations(model, out):
        shown = cli(
            "search", "world.py:Small", "-s", "random", "-m", model, "--budget", 24, "--trials", 2,
            "--concurrency", 4, "--no-report", "--out", out, "--json",
        )  # fmt: skip
        assert shown.code == 0, shown.err
        with contextlib.closing(sqlite3.connect(tmp_path / out / "trials.sqlite")) as database:
            return shown.json["outcomes"], sorted(database.execute(TRIALS))

    direct = evaluations("tiny-vlm", "direct")
    served = evaluations(f"openai:tiny-vlm@{tiny[1]}", "served")
    assert direct == served
    assert min(direct[0]["pass"], direct[0]["fail"]) > 3
