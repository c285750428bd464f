"""A model behind an API: pictures, cache, caps, attempts and cost around a provider's adapter."""

from __future__ import annotations

import contextlib
import dataclasses
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from typing import Any

from ...core import CancelledRequestError, CapReachedError, Picture, Reply, Usage
from ..prices import Price, price_of
from ..reply_cache import CachedReply, ReplyCache, adaptation_key, reply_key
from ..sent_pictures import SentPicture, prepare_picture
from ..specs import ModelSpec
from ..spending import Ledger, current_ledger
from . import background
from .adapter import Adapter, Words
from .attempts import Attempts, ask
from .endpoint import endpoint_of

CONNECTIONS = 1024
"""Connections that a client may open: the caller's concurrency is the bound, never the pool."""

CLAIM_SECONDS = 3600.0
"""How long a process that vanished may keep others from asking the same."""


class ApiVLM:
    """A model behind an API (core.VLM). Thread-safe; pickles without client and key.

    Attributes:
        name: The spec as the user wrote it.
        priced: Whether the price table knows what it costs.
        metered: It counts its own requests on the ledger of `spending.metering`.
    """

    metered = True

    def __init__(
        self,
        spec: ModelSpec,
        adapter: Callable[[ModelSpec], Adapter],
        *,
        cache: ReplyCache | None = None,
    ) -> None:
        """Prepare; nothing is sent and no key is read yet.

        Args:
            spec: The parsed spec.
            adapter: The provider's adapter class.
            cache: Where replies are kept; the user's own, shared between runs, by default.
        """
        self.spec = spec
        self.name = spec.text
        self._make_adapter = adapter
        self.adapter = adapter(spec)
        self.cache = ReplyCache() if cache is None else cache
        self._wake()

    def _wake(self) -> None:
        self._lock = threading.Lock()
        self._in_flight: set[Future[Any]] = set()
        self._cancelled = 0
        self._sends: dict[str, Any] | None = None
        self._client: tuple[Any, Any] | None = None  # event loop, client

    def __getstate__(self) -> dict[str, Any]:
        """Pickle what it was made from."""
        return {"spec": self.spec, "adapter": self._make_adapter, "cache": self.cache}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Make it anew."""
        self.__init__(state["spec"], state["adapter"], cache=state["cache"])  # type: ignore[misc]

    @property
    def priced(self) -> bool:
        """Whether the price table knows what it costs."""
        return self.price is not None

    @property
    def price(self) -> Price | None:
        """Its row of the price table, if there is one."""
        return price_of(self.spec, self.adapter.base_url)

    def uncached(self) -> ApiVLM:
        """Return the same model without a reply cache: it asks whatever was asked before."""
        return ApiVLM(self.spec, self._make_adapter, cache=ReplyCache("off"))

    def identity(self) -> Mapping[str, Any]:
        """Return what a run's config keeps: provider, address, model, what is sent."""
        return {
            "provider": self.adapter.provider,
            "base_url": self.adapter.base_url,
            "model": self.spec.model,
            "parameters": self.adapter.parameters(),
            "send_seed": self.spec.send_seed,
            "max_side": self.spec.max_side,
        }

    # -- asking ---------------------------------------------------------------------------------

    def answer(self, images: Sequence[Picture], prompt: str, *, seed: int) -> Reply:
        """Answer from the cache, or ask the service.

        Raises:
            CapReachedError: When a cap forbids the request, or a further attempt.
            CancelledRequestError: When `cancel` was called meanwhile.
            ModelFault: When the model cannot be asked at all.
        """
        generation = self._cancelled
        pictures = tuple(
            prepare_picture(image, self.adapter.limits, max_side=self.spec.max_side)
            for image in images
        )
        parameters = self._parameters()
        key = self._key(prompt, pictures, parameters, seed)
        hit = self.cache.wait_or_claim(
            key, CLAIM_SECONDS, cancelled=lambda: self._cancelled != generation
        )
        if hit is not None:
            return self._from_cache(hit, pictures)
        try:
            return self._ask(key, prompt, pictures, parameters, seed, generation)
        finally:
            self.cache.release(key)

    def _ask(
        self,
        key: str,
        prompt: str,
        pictures: tuple[SentPicture, ...],
        parameters: Mapping[str, Any],
        seed: int,
        generation: int,
    ) -> Reply:
        ledger = current_ledger() or Ledger()
        if not ledger.reserve(wait=True):
            raise CapReachedError(ledger.exhausted or "a cap is reached")
        attempts = Attempts()
        try:
            if self._cancelled != generation:
                raise CancelledRequestError("the run is stopping")
            work = self._run(prompt, pictures, parameters, seed, ledger, attempts)
            with self._tracked(background.submit(work)) as future:
                background.wait_for(future)
            usage, saved = self._usage(attempts)
        except BaseException:
            self._settle(ledger, self._usage(attempts)[0], attempts, recorded=False)
            raise
        self._settle(ledger, usage, attempts, recorded=True)
        reply = self._reply(attempts, usage, pictures)
        if attempts.raw is not None and reply.finish_reason == "stop" and reply.text.strip():
            sent = attempts.parameters
            self._remember(sent)
            self.cache.put(self._key(prompt, pictures, sent, seed), attempts.raw, sent, usage=saved)
        return reply

    async def _run(
        self,
        prompt: str,
        pictures: tuple[SentPicture, ...],
        parameters: Mapping[str, Any],
        seed: int,
        ledger: Ledger,
        attempts: Attempts,
    ) -> None:
        loop = background.event_loop()
        if self._client is None or self._client[0] is not loop:
            self._client = loop, self.adapter.connect(connections=CONNECTIONS)
        endpoint = endpoint_of(self.adapter.provider, self.adapter.base_url)
        await ask(
            self.adapter,
            self.spec,
            endpoint,
            self._client[1],
            prompt,
            pictures,
            parameters,
            seed=seed,
            ledger=ledger,
            attempts=attempts,
        )

    @contextlib.contextmanager
    def _tracked(self, future: Future[Any]) -> Iterator[Future[Any]]:
        with self._lock:
            self._in_flight.add(future)
        try:
            yield future
        finally:
            with self._lock:
                self._in_flight.discard(future)

    def cancel(self) -> None:
        """End every request in flight; their trials are neither recorded nor charged."""
        with self._lock:
            self._cancelled += 1
            futures = list(self._in_flight)
        for future in futures:
            future.cancel()

    # -- what was sent --------------------------------------------------------------------------

    def _parameters(self) -> dict[str, Any]:
        """Return what is sent: what was asked for, or what the service took instead."""
        if self._sends is None:
            asked = self.adapter.parameters()
            known = self.cache.adaptation(self._about(asked))
            self._sends = asked if known is None else known
        return self._sends

    def _remember(self, sent: Mapping[str, Any]) -> None:
        if sent != self._sends:
            self._sends = dict(sent)
            self.cache.remember_adaptation(self._about(self.adapter.parameters()), sent)

    def _about(self, asked: Mapping[str, Any]) -> str:
        adapter = self.adapter
        return adaptation_key(adapter.provider, adapter.base_url, self.spec.model, asked)

    def _key(
        self,
        prompt: str,
        pictures: Sequence[SentPicture],
        parameters: Mapping[str, Any],
        seed: int,
    ) -> str:
        digests = [picture.sha256 for picture in pictures]
        adapter = self.adapter
        return reply_key(
            adapter.provider, adapter.base_url, self.spec.model, prompt, digests, parameters, seed
        )

    # -- what came back -------------------------------------------------------------------------

    def _usage(self, attempts: Attempts) -> tuple[Usage, Usage]:
        """Return what the trial cost, and what its good reply alone cost."""
        alone = self._cost(attempts.words) if attempts.words is not None else Usage(0, 0, 0, 0.0)
        unsure = attempts.words is None and attempts.unsure > 0
        usage = dataclasses.replace(
            Usage() if unsure else alone,
            requests=attempts.requests,
        )
        return usage, alone

    def _cost(self, words: Words) -> Usage:
        usage, price = words.usage, self.price
        dollars = None
        if price is not None:
            dollars = price.dollars(
                usage.input_tokens,
                words.cached_tokens,
                words.cache_write_tokens,
                usage.output_tokens,
            )
        return Usage(1, usage.input_tokens, usage.output_tokens, dollars)

    @staticmethod
    def _settle(ledger: Ledger, usage: Usage, attempts: Attempts, *, recorded: bool) -> None:
        if attempts.requests:
            ledger.add(usage, reserved=attempts.requests, recorded=recorded)
        else:
            ledger.release()

    def _reply(self, attempts: Attempts, usage: Usage, pictures: Sequence[SentPicture]) -> Reply:
        raw: dict[str, Any] = {"sent": self._sent(attempts.parameters, pictures), "cached": False}
        if attempts.faults:
            raw["attempts"] = attempts.record()
        if attempts.unsure:
            raw["maybe_billed"] = attempts.unsure
        if attempts.words is not None:
            raw["response"] = attempts.raw
            return self._words(attempts.words, usage, raw)
        fault = attempts.faults[-1]
        text, reason = fault.text, "error"
        if fault.kind == "filtered":
            reason = "content_filter"
        elif fault.kind == "timeout":
            reason = "timeout"
        raw["error"] = f"{fault.kind}: {fault.text[:500]}"
        return Reply(text[:2000], reason, usage, raw)

    def _from_cache(self, hit: CachedReply, pictures: Sequence[SentPicture]) -> Reply:
        words = self.adapter.read(hit.raw)
        saved = self._cost(words)
        raw = {
            "sent": self._sent(hit.parameters, pictures),
            "cached": True,
            "saved": {
                "requests": 1,
                "tokens": None
                if saved.input_tokens is None or saved.output_tokens is None
                else saved.input_tokens + saved.output_tokens,
                "dollars": saved.dollars,
            },
            "response": hit.raw,
        }
        return self._words(words, Usage(0, 0, 0, 0.0), raw)

    @staticmethod
    def _words(words: Words, usage: Usage, raw: Mapping[str, Any]) -> Reply:
        return Reply(words.text, words.finish_reason, usage, raw)

    def _sent(
        self, parameters: Mapping[str, Any], pictures: Sequence[SentPicture]
    ) -> dict[str, Any]:
        return {
            "model": self.spec.model,
            "base_url": self.adapter.base_url,
            "parameters": dict(parameters),
            "pictures": [
                {
                    "sha256": picture.sha256,
                    "media_type": picture.media_type,
                    "size": [picture.width, picture.height],
                    "bytes": len(picture.data),
                    **({"changed": picture.note} if picture.note else {}),
                }
                for picture in pictures
            ],
        }
