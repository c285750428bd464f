"""Pictures of services: against a server that speaks their formats, through their SDKs."""

from __future__ import annotations

import base64
import io
import json
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec

import numpy as np
import pytest
from PIL import Image
from PIL.PngImagePlugin import PngInfo

from vlmfail.core import CapReachedError, ModelFault, Picture, UsageError
from vlmfail.models.pictures.ledger import picture_metering
from vlmfail.models.pictures.shelf import MOST_PIXELS, PICTURE, Shelf, shelved
from vlmfail.models.pictures.sources import PictureRequest, UndrawnPictureError, make_source
from vlmfail.models.providers.reply_bodies import MOST_BYTES, MOST_PICTURE_BYTES
from vlmfail.models.spending import Caps, Ledger, metering
from vlmfail.testing.picture_provider import (
    Failed,
    PictureAnswer,
    PictureServer,
    Verbatim,
    noise_png,
)

pytest.importorskip("tenacity")
FORMATS = [
    pytest.param(form, marks=pytest.mark.skipif(not find_spec(package), reason=f"no {package}"))
    for form, package in (("openai", "openai"), ("google", "google"))
]
both = pytest.mark.parametrize("form", FORMATS)


def spec(form: str, server: PictureServer, options: str = "") -> str:
    path = "/v1" if form == "openai" else ""
    return f"{form}-image:m@{server.url}{path}{options}"


def request(seed: int = 7, prompt: str = "A kitchen.") -> PictureRequest:
    return PictureRequest(("kitchen",), prompt, seed)


def jpeg() -> bytes:
    buffer = io.BytesIO()
    Image.fromarray(np.full((40, 60, 3), 90, np.uint8)).save(buffer, "JPEG")
    return buffer.getvalue()


@both
def test_a_picture_comes_with_what_was_sent(form, catalogue):
    png = noise_png("x")
    with PictureServer(PictureAnswer(png)) as server:
        drawn = make_source(spec(form, server), catalogue).draw(request())
        order = server.orders[0]
    assert (drawn.picture.pixels == Picture(png).pixels).all()
    assert order.prompt == "A kitchen."
    assert drawn.record["cached"] is False
    assert drawn.record["parameters"]
    assert len(json.dumps(drawn.record)) < 3000, "the picture's text is in no record"


def test_google_is_asked_for_a_picture_of_a_seed_and_an_aspect(catalogue):
    pytest.importorskip("google.genai")
    with PictureServer(PictureAnswer()) as server:
        source = make_source(spec("google", server, "?aspect=16:9"), catalogue)
        source.draw(request(seed=5))
        sent = server.orders[0].json["generationConfig"]
    assert sent["seed"] == 5
    assert "IMAGE" in sent["responseModalities"]
    assert sent["imageConfig"]["aspectRatio"] == "16:9"


def test_openai_is_sent_a_seed_only_when_asked(catalogue):
    pytest.importorskip("openai")
    with PictureServer(PictureAnswer()) as server:
        make_source(spec("openai", server, "?size=512x384"), catalogue).draw(request(5))
        make_source(spec("openai", server, "?send_seed=true"), catalogue).draw(request(5))
        plain, seeded = (order.json for order in server.orders)
    assert "seed" not in plain
    assert plain["size"] == "512x384"
    assert plain["response_format"] == "b64_json"
    assert seeded["seed"] == 5


@both
def test_a_picture_is_paid_once_for_all_who_ask(form, catalogue):
    with PictureServer(PictureAnswer(delay=0.2)) as server:
        source = make_source(spec(form, server), catalogue)
        with ThreadPoolExecutor(6) as pool:
            drawn = list(pool.map(lambda _: source.draw(request()), range(6)))
        other = make_source(spec(form, server), catalogue).draw(request())
        assert server.count == 1
    assert len({each.picture.sha256 for each in (*drawn, other)}) == 1
    assert other.record["cached"] is True


@both
def test_another_seed_prompt_or_size_is_another_picture(form, catalogue):
    with PictureServer(PictureAnswer()) as server:
        source = make_source(spec(form, server), catalogue)
        shown = {source.draw(each).picture.sha256 for each in
                 (request(), request(8), request(prompt="Another."))}  # fmt: skip
        option = "?size=64x64" if form == "openai" else "?aspect=1:1"
        shown.add(make_source(spec(form, server, option), catalogue).draw(request()).picture.sha256)
        assert server.count == len(shown) == 4


def test_two_processes_pay_once(catalogue, tmp_path):
    pytest.importorskip("openai")
    code = (
        "import sys\n"
        "from vlmfail.models.pictures.sources import PictureRequest, make_source\n"
        "class C: concepts = ()\n"
        "s = make_source(sys.argv[1], C())\n"
        "print(s.draw(PictureRequest(('a',), 'A kitchen.', 7)).picture.sha256)\n"
    )
    with PictureServer(PictureAnswer(delay=1.5)) as server:
        command = [sys.executable, "-c", code, spec("openai", server)]
        started = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
        said = [process.communicate(timeout=60)[0].strip() for process in started]
        assert server.count == 1
    assert len(said[0]) == 64
    assert said[0] == said[1]


@both
def test_a_lost_or_damaged_file_is_drawn_anew(form, catalogue, tmp_path):
    with PictureServer(PictureAnswer(noise_png("same"))) as server:
        first = make_source(spec(form, server), catalogue).draw(request()).picture
        (file,) = (tmp_path / "caches" / "generated" / "pictures").rglob("*.png")
        file.write_bytes(file.read_bytes()[:-9] + b"damaged..")
        second = make_source(spec(form, server), catalogue).draw(request())
        assert server.count == 2
        assert second.picture == first
        assert file.read_bytes() == first.png
        file.unlink()
        make_source(spec(form, server), catalogue).draw(request())
        assert server.count == 3


def test_without_caches_every_run_pays(catalogue, monkeypatch):
    pytest.importorskip("openai")
    monkeypatch.setenv("VLMFAIL_CACHE", "")
    with PictureServer(PictureAnswer()) as server:
        for _ in range(2):
            make_source(spec("openai", server), catalogue).draw(request())
        assert server.count == 2


@both
def test_server_errors_are_tried_again(form, catalogue):
    with PictureServer([Failed(500), PictureAnswer()]) as server:
        drawn = make_source(spec(form, server), catalogue).draw(request())
        assert server.count == 2
    assert [row["fault"] for row in drawn.record["attempts"]] == ["server"]


@both
@pytest.mark.parametrize(
    "data",
    [noise_png("x")[:500], b"\x89PNG\r\n\x1a\n", b"<html>no picture</html>", b"x"],
    ids=["truncated", "header", "html", "byte"],
)
def test_what_is_no_whole_picture_is_never_shown(form, data, catalogue):
    with PictureServer(PictureAnswer(data)) as server:
        source = make_source(spec(form, server, "?attempts=2"), catalogue)
        with pytest.raises(UndrawnPictureError, match="picture") as undrawn:
            source.draw(request())
        assert server.count == 2
    assert not undrawn.value.again


@both
@pytest.mark.parametrize(
    "body",
    [
        {"data": [], "candidates": []},
        {"data": None, "candidates": None},
        {"data": [{"b64_json": 5}], "candidates": [{"content": {"parts": [{"inlineData": 5}]}}]},
        {"data": [{"b64_json": "!!"}],
         "candidates": [{"content": {"parts": [{"inlineData": {"data": "!!"}}]}}]},
        {"data": ["x"], "candidates": ["x"]},
        [1, 2],
        b"no json",
        b"",
        {PICTURE: {"sha256": "0" * 64}, "data": [{}],
         "candidates": [{"content": {"parts": []}, PICTURE: {"sha256": "0" * 64}}]},
    ],
)  # fmt: skip
def test_a_reply_without_a_picture_is_undrawn(form, body, catalogue):
    with PictureServer(Verbatim(body)) as server:
        source = make_source(spec(form, server, "?attempts=1"), catalogue)
        with pytest.raises(UndrawnPictureError):
            source.draw(request())


@both
def test_a_reply_cannot_name_a_picture_that_it_does_not_hold(form, catalogue):
    with PictureServer([PictureAnswer(noise_png("first"))]) as server:
        kept = make_source(spec(form, server), catalogue).draw(request()).picture
    foreign = {PICTURE: {"sha256": kept.sha256}, "data": [{}],
               "candidates": [{"content": {"parts": [{"text": "no"}]}}]}  # fmt: skip
    with PictureServer(Verbatim(foreign)) as server:
        source = make_source(spec(form, server, "?attempts=1"), catalogue)
        with pytest.raises(UndrawnPictureError):
            source.draw(request(99))


def test_a_link_instead_of_a_picture_is_not_followed(catalogue):
    pytest.importorskip("openai")
    with PictureServer(PictureAnswer()) as elsewhere:
        body = {"data": [{"url": f"{elsewhere.url}/secret.png"}]}
        with PictureServer(Verbatim(body)) as server:
            source = make_source(spec("openai", server, "?attempts=1"), catalogue)
            with pytest.raises(UndrawnPictureError, match="base64"):
                source.draw(request())
        assert elsewhere.count == 0
        assert not elsewhere.strays


REFUSALS = {
    "google": [
        PictureAnswer(picture=False, finish="IMAGE_SAFETY"),
        PictureAnswer(picture=False, finish="PROHIBITED_CONTENT"),
        Verbatim({"promptFeedback": {"blockReason": "SAFETY"}}),
    ],
    "openai": [
        Failed(400, {"error": {"code": "moderation_blocked", "message": "rejected by safety"}}),
        Failed(400, {"error": {"code": "content_policy_violation", "message": "no"}}),
    ],
}


@both
def test_a_refusal_is_asked_once_and_may_be_tried_under_another_seed(form, catalogue):
    for step in REFUSALS[form]:
        with PictureServer(step) as server:
            with pytest.raises(UndrawnPictureError, match="refused") as undrawn:
                make_source(spec(form, server), catalogue).draw(request())
            assert server.count == 1
        assert undrawn.value.again


def test_words_without_a_picture_are_told(catalogue):
    pytest.importorskip("google.genai")
    with PictureServer(PictureAnswer(picture=False, text="I cannot do that.")) as server:
        with pytest.raises(UndrawnPictureError, match="I cannot do that") as undrawn:
            make_source(spec("google", server), catalogue).draw(request())
        assert server.count == 1
    assert undrawn.value.again


def test_a_draft_among_the_thoughts_is_not_the_picture(catalogue):
    pytest.importorskip("google.genai")
    draft, final = (base64.b64encode(noise_png(name)).decode() for name in ("draft", "final"))
    parts = [
        {"thought": True, "inlineData": {"mimeType": "image/png", "data": draft}},
        {"inlineData": {"mimeType": "image/png", "data": final}, "thoughtSignature": "s" * 9999},
    ]
    reply = {"candidates": [{"content": {"parts": parts}, "finishReason": "STOP"}]}
    with PictureServer(Verbatim(reply)) as server:
        drawn = make_source(spec("google", server), catalogue).draw(request())
    assert (drawn.picture.pixels == Picture(noise_png("final")).pixels).all()
    assert len(json.dumps(drawn.record)) < 3000


@both
def test_a_jpeg_becomes_a_png_and_keeps_its_pixels(form, catalogue):
    with PictureServer(PictureAnswer(jpeg())) as server:
        drawn = make_source(spec(form, server), catalogue).draw(request())
    assert drawn.picture.png.startswith(b"\x89PNG")
    assert drawn.picture.size == (60, 40)


def test_a_refused_parameter_is_left_out_with_one_warning(catalogue):
    pytest.importorskip("openai")
    wrong = {"error": {"message": "Unknown parameter: 'response_format'.",
                       "param": "response_format", "code": "unknown_parameter"}}  # fmt: skip
    with PictureServer([Failed(400, wrong), PictureAnswer()]) as server:
        source = make_source(spec("openai", server), catalogue)
        with pytest.warns(UserWarning, match="response_format"):
            drawn = source.draw(request())
        assert "response_format" not in server.orders[1].json
        source.draw(request(8))
        assert server.count == 3, "what was learnt is not learnt again"
    assert "response_format" not in drawn.record["parameters"]


@both
def test_a_key_that_is_not_accepted_ends_the_run(form, catalogue):
    with PictureServer(Failed(401)) as server, pytest.raises(ModelFault, match="key"):
        make_source(spec(form, server), catalogue).draw(request())


def test_the_providers_own_address_needs_a_key(catalogue):
    pytest.importorskip("openai")
    with pytest.raises(ModelFault, match="OPENAI_API_KEY"):
        make_source("openai-image:gpt-image-1", catalogue).draw(request())


@both
def test_keys_are_written_nowhere(form, catalogue, tmp_path, monkeypatch):
    key = "planted-key-0123456789"
    monkeypatch.setenv("MY_KEY", key)
    texts = PngInfo()
    texts.add_text("Comment", key)
    buffer = io.BytesIO()
    Image.fromarray(np.zeros((40, 40, 3), np.uint8)).save(buffer, "PNG", pnginfo=texts)
    with PictureServer(
        [Failed(500, {"error": {"message": f"bad {key}"}}), PictureAnswer(buffer.getvalue(), key)]
    ) as server:
        drawn = make_source(spec(form, server, "?key_env=MY_KEY"), catalogue).draw(request())
        sent = server.orders[0].headers
    assert key in (sent.get("authorization", "") + sent.get("x-goog-api-key", ""))
    assert key not in json.dumps(drawn.record)
    assert key.encode() not in drawn.picture.png
    for file in tmp_path.rglob("*"):
        if file.is_file():
            assert key.encode() not in file.read_bytes(), file


@both
def test_requests_count_on_the_runs_ledger_and_in_no_record(form, catalogue):
    ledger = Ledger()
    with PictureServer([Failed(500), PictureAnswer()]) as server:
        source = make_source(spec(form, server), catalogue)
        with metering(ledger), picture_metering() as spent:
            source.draw(request())
        with metering(ledger), picture_metering() as nothing:
            source.draw(request())
    assert ledger.spent["requests"] == 2
    assert ledger.spent["tokens"] == 1330
    assert ledger.unrecorded.requests == 2
    assert spent.record() == {"requests": 2, "tokens": 1330, "dollars": None}
    assert nothing.record()["requests"] == 0


@both
def test_a_cap_is_never_overrun(form, catalogue):
    ledger = Ledger(Caps(max_requests=5))

    def one(seed: int) -> str:
        with metering(ledger), picture_metering():
            try:
                return source.draw(request(seed)).picture.sha256
            except CapReachedError as error:
                return str(error)

    with PictureServer(
        lambda order: Failed(500) if order.n % 3 == 0 else PictureAnswer()
    ) as server:
        source = make_source(spec(form, server), catalogue)
        with ThreadPoolExecutor(8) as pool:
            said = list(pool.map(one, range(12)))
        assert server.count == 5
    assert any("max_requests" in text for text in said)


def test_a_price_of_the_providers_table_holds(catalogue, tmp_path, monkeypatch):
    pytest.importorskip("google.genai")
    with PictureServer(PictureAnswer()) as server:
        assert not make_source(spec("google", server), catalogue).priced
        row = {"provider": "google", "model": "m", "base_url": server.url,
               "input": 1.0, "output": 10.0}  # fmt: skip
        (tmp_path / "prices.json").write_text(json.dumps({"prices": [row]}))
        monkeypatch.setenv("VLMFAIL_PRICES", str(tmp_path / "prices.json"))
        source = make_source(spec("google", server), catalogue)
        assert source.priced
        with picture_metering() as spent:
            source.draw(request())
    assert spent.record()["dollars"] == pytest.approx((40 * 1 + 1290 * 10) / 1e6)


def test_cancelling_ends_what_is_in_flight(catalogue):
    from vlmfail.core import CancelledRequestError

    pytest.importorskip("openai")
    with PictureServer(PictureAnswer(delay=20.0)) as server:
        source = make_source(spec("openai", server), catalogue)
        told: list[BaseException] = []

        def run() -> None:
            try:
                source.draw(request())
            except BaseException as error:
                told.append(error)

        thread = threading.Thread(target=run)
        thread.start()
        while not server.count:
            thread.join(0.01)
        source.cancel()
        thread.join(5)
        assert isinstance(told[0], CancelledRequestError)


def test_the_shelf_takes_no_path_for_a_digest(tmp_path):
    (tmp_path / "secret.png").write_bytes(noise_png("s"))
    shelf = Shelf(tmp_path / "shelf")
    for name in ("../../secret", "../" * 20 + "a" * 24, None, 5, "a" * 63):
        assert shelf.get(name) is None


def test_a_picture_of_too_many_pixels_is_not_decoded(tmp_path):
    import struct
    import zlib

    head = struct.pack(">IIBBBBB", 20_000, 20_000, 8, 2, 0, 0, 0)
    chunk = b"IHDR" + head
    bomb = b"\x89PNG\r\n\x1a\n" + struct.pack(">I", 13) + chunk
    bomb += struct.pack(">I", zlib.crc32(chunk)) + b"\0" * 50
    said = shelved(base64.b64encode(bomb).decode(), Shelf())
    assert "pixels" in said["problem"]


def test_a_folder_that_cannot_be_written_is_told_once(tmp_path, monkeypatch, catalogue):
    pytest.importorskip("openai")
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("VLMFAIL_GENERATED", str(tmp_path / "file" / "x"))
    with PictureServer(PictureAnswer()) as server:
        source = make_source(spec("openai", server), catalogue)
        with pytest.warns(UserWarning, match="cannot be kept"):
            drawn = source.draw(request())
    assert drawn.picture.size == (64, 48)


def test_the_shelf_refuses_nothing_that_is_sound():
    shelf = Shelf()
    said = shelved(base64.urlsafe_b64encode(noise_png("x")).decode().rstrip("="), shelf)
    assert shelf.get(said["sha256"]) is not None
    with pytest.raises(UsageError):
        make_source("folder:/nowhere/at/all", type("C", (), {"concepts": ()})())


@pytest.mark.parametrize("size", [(1, 1), (1, 8000), (64, 31)])
def test_a_picture_that_shows_nothing_is_none(size):
    said = shelved(base64.b64encode(noise_png("x", size)).decode(), Shelf())
    assert f"{size[0]} x {size[1]} pixels, expected at least 32" in said["problem"]
    assert "sha256" in shelved(base64.b64encode(noise_png("x", (32, 64))).decode(), Shelf())


@both
@pytest.mark.parametrize(
    "text",
    [
        base64.encodebytes(noise_png("x")).decode(),
        base64.encodebytes(noise_png("x")).decode().replace("\n", "\r\n"),
        "data:image/png;base64," + base64.b64encode(noise_png("x")).decode(),
        "DATA:image/png;name=a.png;base64,\n" + base64.encodebytes(noise_png("x")).decode(),
    ],
    ids=["lines", "crlf", "url", "url and lines"],
)
def test_base64_may_have_line_breaks_and_the_head_of_a_data_url(form, text, catalogue):
    body = {
        "data": [{"b64_json": text}],
        "candidates": [{"content": {"parts": [{"inlineData": {"data": text}}]}}],
    }
    with PictureServer(Verbatim(body)) as server:
        drawn = make_source(spec(form, server, "?attempts=1"), catalogue).draw(request())
    assert (drawn.picture.pixels == Picture(noise_png("x")).pixels).all()


@both
def test_a_large_picture_may_be_larger_than_an_answer_in_words(form, catalogue):
    png = noise_png("x", (2560, 1728))
    assert len(png) * 4 // 3 > MOST_BYTES
    with PictureServer(PictureAnswer(png)) as server:
        drawn = make_source(spec(form, server, "?attempts=1"), catalogue).draw(request())
    assert drawn.picture.size == (2560, 1728)


@both
def test_words_about_a_fault_may_not(form, catalogue):
    body = {"error": {"message": "x" * (MOST_BYTES + 1000)}}
    with PictureServer(Failed(400, body)) as server:
        source = make_source(spec(form, server, "?attempts=2"), catalogue)
        with pytest.raises(UndrawnPictureError, match="larger than 16 MiB"):
            source.draw(request())
        assert server.count == 1


def test_the_bound_holds_every_picture_that_is_taken():
    assert MOST_PIXELS * 3 * 4 // 3 < MOST_PICTURE_BYTES
