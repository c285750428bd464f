"""Servers that misbehave, on a real socket: what is told, and that nothing hangs."""

from __future__ import annotations

import asyncio
import contextlib
import io
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from vlmfail.core import ModelFault
from vlmfail.models.policies.vla_eval import HOPELESS, VlaEvalPolicy, vla_eval
from vlmfail.models.policies.vla_eval_link import LARGEST_REPLY

pytest.importorskip("vla_eval", reason="the package vla-eval is not installed")

from vla_eval.api import serve_background
from vla_eval.model_servers.predict import PredictModelServer
from vla_eval.protocol.messages import (
    Message,
    MessageType,
    make_hello_payload,
    pack_message,
    unpack_message,
)
from vla_eval.specs import GRIPPER_CLOSE_NEG, POSITION_DELTA, ROTATION_AA

SEEN = {
    "image": np.zeros((8, 8, 3), np.uint8),
    "instruction": "pick apple",
    "state": np.zeros(8, np.float32),
}
ACTS = {"position": POSITION_DELTA, "rotation": ROTATION_AA, "gripper": GRIPPER_CLOSE_NEG}
HELLO = {"action_spec": {name: one.to_dict() for name, one in ACTS.items()}}
GOOD = {"actions": np.zeros((2, 7), np.float32)}


def packed(kind: MessageType, payload: Any, seq: int) -> bytes:
    return pack_message(Message(kind, payload, seq))


class Rogue:
    """Says HELLO as it should, and answers observations with whatever it is told to."""

    def __init__(
        self,
        answer: Callable[[Message], Any],
        hello: Callable[[Message], Any] | None = None,
    ) -> None:
        self.answer = answer
        self.hello = hello or (
            lambda m: packed(MessageType.HELLO, make_hello_payload(**HELLO), m.seq)
        )
        self.seen: list[Message] = []

    async def __call__(self, socket: Any) -> None:
        async for data in socket:
            message = unpack_message(data)
            self.seen.append(message)
            said: Any = None
            if message.type is MessageType.HELLO:
                said = self.hello(message)
            elif message.type is MessageType.OBSERVATION:
                said = self.answer(message)
            for one in said if isinstance(said, list) else [said] if said is not None else []:
                if one == "close":
                    return
                await socket.send(one)


@contextlib.contextmanager
def listening(rogue: Rogue) -> Iterator[str]:
    from websockets.asyncio.server import serve

    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()

    async def start() -> Any:
        return await serve(rogue, "127.0.0.1", 0, max_size=None, ping_interval=None)

    server = asyncio.run_coroutine_threadsafe(start(), loop).result()
    try:
        yield f"ws://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()
        asyncio.run_coroutine_threadsafe(server.wait_closed(), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join(5)


@contextlib.contextmanager
def facing(answer: Callable[[Message], Any], options: str = "timeout=3") -> Iterator[VlaEvalPolicy]:
    with listening(Rogue(answer)) as url:
        policy = vla_eval(f"{url}?{options}")
        policy.reset("pick apple")
        yield policy
        policy.close()


def action(payload: Any = GOOD, kind: MessageType = MessageType.ACTION, off: int = 0) -> Any:
    return lambda message: packed(kind, payload, message.seq + off)


def picture() -> bytes:
    from PIL import Image

    buffer = io.BytesIO()
    Image.new("RGB", (4, 4)).save(buffer, format="PNG")
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (action({"actions": np.full((2, 7), np.nan)}), "not finite"),
        (action({"actions": np.zeros((2, 6))}), "have shape"),
        (action({"actions": "up"}), "no numbers"),
        (action({}), "no actions"),
        (action([1, 2]), "no actions"),
        (action({"error": "out of\x1b[31m memory\n" + "x" * 9999}, MessageType.ERROR), "out of"),
        (action({"error": 5}, MessageType.ERROR), "without a text"),
        (action([], MessageType.ERROR), "without a text"),
        (action(kind=MessageType.HELLO), "'hello' where an action was due"),
        (action(off=1), "answers another observation"),
        (lambda m: "close", "ConnectionClosed"),
        (lambda m: "text", "no message of its protocol"),
        (lambda m: b"\xc1\xff", "no message of its protocol"),
        (lambda m: b"\x90", "no message of its protocol"),
        (lambda m: b"\x91" * 5000, "no message of its protocol"),
        (action({"actions": np.zeros(LARGEST_REPLY // 4)}), "ConnectionClosed|too big"),
        (
            action({"actions": {"__image__": True, "format": "png", "data": picture()}}),
            "picture where",
        ),
    ],
)
def test_replies_that_are_none_end_the_episode_alone(answer: Any, says: str) -> None:
    with facing(answer) as policy:
        for _ in range(2):
            with pytest.raises((RuntimeError, ValueError, Exception), match=says) as caught:
                policy.act(SEEN)
            assert not isinstance(caught.value, ModelFault)
            assert len(str(caught.value)) < 400
            assert str(caught.value).isprintable()
            policy.reset("pick apple")  # and the next one can begin


def test_a_late_reply_is_a_timeout_and_is_not_taken_for_the_next() -> None:
    late: list[bool] = [True]

    def answer(message: Message) -> Any:
        if late.pop() if late else False:
            time.sleep(1.6)
            return packed(MessageType.ACTION, {"actions": np.ones(7)}, message.seq)
        return packed(MessageType.ACTION, GOOD, message.seq)

    with facing(answer, "timeout=0.8") as policy:
        with pytest.raises(TimeoutError, match=r"did not answer in 0\.8 s"):
            policy.act(SEEN)
        time.sleep(1.2)
        policy.reset("pick apple")
        assert not policy.act(SEEN).any()


def test_two_replies_at_once_do_not_shift_the_next() -> None:
    with facing(lambda m: [action()(m), action({"actions": np.ones(7)})(m)]) as policy:
        assert not policy.act(SEEN).any()
        with pytest.raises(RuntimeError, match="another observation"):
            policy.act(SEEN)


def test_a_lost_session_is_not_continued_in_another() -> None:
    rogue = Rogue(lambda m: [action()(m), "close"])
    with listening(rogue) as url:
        policy = vla_eval(url)
        policy.reset("pick apple")
        policy.act(SEEN)
        time.sleep(0.1)
        with pytest.raises(RuntimeError, match=r"closed the connection|ConnectionClosed"):
            policy.act(SEEN)
        kinds = [message.type for message in rogue.seen]
        assert (kinds.count(MessageType.HELLO), kinds.count(MessageType.OBSERVATION)) == (1, 1)
        policy.reset("pick apple")
        assert not policy.act(SEEN).any()
        policy.close()


def test_a_server_that_refuses_everything_ends_the_run() -> None:
    with facing(action({"error": "no wrist camera"}, MessageType.ERROR)) as policy:
        for _ in range(HOPELESS - 1):
            with pytest.raises(Exception, match="no wrist camera") as caught:
                policy.act(SEEN)
            assert not isinstance(caught.value, ModelFault)
            policy.reset("pick apple")
        with pytest.raises(ModelFault, match=r"all refused .*no wrist camera"):
            policy.act(SEEN)


@pytest.mark.parametrize(
    ("payload", "says"),
    [
        ({"protocol_version": 2, **HELLO}, "version 2 of the protocol"),
        ({**HELLO}, "version none"),
        (make_hello_payload(), "does not announce its position"),
        ([], "HELLO holds nothing"),
    ],
)
def test_servers_that_cannot_be_understood(payload: Any, says: str) -> None:
    rogue = Rogue(action(), lambda m: packed(MessageType.HELLO, payload, m.seq))
    with listening(rogue) as url, pytest.raises(ModelFault, match=says):
        vla_eval(url).reset("pick apple")


def test_servers_that_do_not_say_hello() -> None:
    for hello, says in (
        (lambda m: None, "does not answer"),
        (lambda m: "close", "ConnectionClosed"),
        (lambda m: b"\x00" * (LARGEST_REPLY + 1), "ConnectionClosed|too big"),
        (action(), "Expected HELLO"),
    ):
        with listening(Rogue(action(), hello)) as url, pytest.raises(ModelFault, match=says):
            vla_eval(f"{url}?timeout=0.5").identity()


def test_what_is_recorded_of_a_server_is_bounded() -> None:
    said = make_hello_payload(
        model_server="Big\x1b[31m" * 100, observation_params={"x": "y" * 10**5}, **HELLO
    )
    with listening(Rogue(action(), lambda m: packed(MessageType.HELLO, said, m.seq))) as url:
        found = vla_eval(url).identity()
    assert all(len(value) <= 100 for value in found.values())
    assert all(value.isprintable() for value in found.values())


def test_the_seed_is_sent_along() -> None:
    rogue = Rogue(action())
    with listening(rogue) as url:
        policy = vla_eval(url)
        policy.seed(77)
        policy.reset("pick apple")
        policy.act(SEEN)
        policy.close()
    (start,) = [m.payload for m in rogue.seen if m.type is MessageType.EPISODE_START]
    assert start == {"task": {"name": "pick apple", "seed": 77}}


class Batching(PredictModelServer):
    """Answers each session with its own number, and remembers how many came together."""

    def __init__(self) -> None:
        super().__init__(max_batch_size=4, max_wait_time=0.3, chunk_size=2)
        self.sizes: list[int] = []

    def get_action_spec(self) -> Any:
        return ACTS

    def get_observation_spec(self) -> Any:
        return {}

    def predict_batch(self, obs_batch: Any, ctx_batch: Any) -> list[Any]:
        self.sizes.append(len(obs_batch))
        time.sleep(0.1)
        return [{"actions": np.full((2, 7), float(obs["task_description"]))} for obs in obs_batch]


def test_parallel_episodes_are_batched_by_the_server() -> None:
    server = Batching()
    results: dict[int, list[float]] = {}

    def play(number: int, url: str) -> None:
        policy = vla_eval(url)
        policy.reset(str(number))
        seen = {**SEEN, "instruction": str(number)}
        results[number] = [float(policy.act(seen)[0, 0]) for _ in range(6)]
        policy.close()

    with serve_background(server) as handle:
        threads = [threading.Thread(target=play, args=(n, handle.url)) for n in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)
    assert results == {n: [float(n)] * 6 for n in range(4)}
    assert max(server.sizes) > 1
    assert sum(server.sizes) == 4 * 3  # its own buffer answers every other observation
