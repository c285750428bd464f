"""A model behind an API: pictures, cache, caps, attempts and cost around a provider's adapter."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from typing import Any

from ...core import CancelledRequestError, CapReachedError, Picture, Reply, Usage
from ..cancelling import Cancellation, Mark
from ..prices import Price, price_of
from ..reply_cache import CachedReply, ReplyCache, adaptation_key, reply_key
from ..sent_pictures import SentPicture, prepare_picture
from ..specs import ModelSpec
from ..spending import Ledger, current_ledger
from . import background
from .adapter import Adapter, Words
from .attempts import Attempts, ask
from .endpoint import endpoint_of
from .reply_bodies import kept

CONNECTIONS = 1024
"""Connections that a client may open: the caller's concurrency is the bound, never the pool."""

LONGEST_ANSWER = 1_000_000
"""Characters kept of an answer: twice what is still read as one."""


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
        self._in_flight: dict[Future[Any], Mark] = {}
        self._cancellation = Cancellation()
        self._sends: dict[str, Any] | None = None
        self._client: tuple[Any, asyncio.Task[Any]] | None = None  # event loop, client

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
    def _longest(self) -> float:
        """Seconds that a trial may take, after which a vanished process's claim ends."""
        spec = self.spec
        return spec.patience + (spec.attempts + 2) * (spec.timeout + 120.0)

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
        began = self._cancellation.mark()
        pictures = tuple(
            prepare_picture(image, self.adapter.limits, max_side=self.spec.max_side)
            for image in images
        )
        while True:
            template = self._template()
            parameters = self._with_seed(template, seed)
            key = self._key(prompt, pictures, parameters, seed)
            hit = self.cache.wait_or_claim(
                key, self._longest, cancelled=lambda: self._cancellation.hit(began)
            )
            if hit is not None:
                return self._from_cache(hit, pictures)
            try:
                # Whoever held the claim before may have learned what the model takes instead.
                if self._template(anew=True) == template:
                    return self._ask(prompt, pictures, parameters, seed, began)
            finally:
                self.cache.release(key)

    def _ask(
        self,
        prompt: str,
        pictures: tuple[SentPicture, ...],
        parameters: Mapping[str, Any],
        seed: int,
        began: Mark,
    ) -> Reply:
        ledger = current_ledger() or Ledger()
        if not ledger.reserve(wait=True):
            raise CapReachedError(ledger.exhausted or "a cap is reached")
        attempts = Attempts()
        try:
            if self._cancellation.hit(began):
                raise CancelledRequestError("the run is stopping")
            work = self._run(prompt, pictures, parameters, seed, ledger, attempts)
            with self._tracked(background.submit(work), began) as future:
                background.wait_for(future)
        except BaseException:
            self._settle(ledger, self._usage(attempts), attempts, recorded=False)
            raise
        usage = self._usage(attempts)
        self._settle(ledger, usage, attempts, recorded=True)
        reply = self._reply(attempts, usage, pictures)
        words, sent = attempts.words, attempts.parameters
        if words is not None and reply.finish_reason == "stop" and reply.text.strip():
            self._remember(sent)
            stored = self._key(prompt, pictures, sent, seed)
            self.cache.put(stored, attempts.raw or {}, sent, usage=self._cost(words))
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
        client = await self._connected()
        endpoint = endpoint_of(self.adapter.provider, self.adapter.base_url)
        await ask(
            self.adapter,
            self.spec,
            endpoint,
            client,
            prompt,
            pictures,
            parameters,
            seed=seed,
            ledger=ledger,
            attempts=attempts,
        )

    async def _connected(self) -> Any:
        """Return the client, which is made once, beside the loop: other requests go on."""
        loop = asyncio.get_running_loop()
        if self._client is None or self._client[0] is not loop:
            making = asyncio.to_thread(self.adapter.connect, connections=CONNECTIONS)
            self._client = loop, loop.create_task(making)
            self._client[1].add_done_callback(lambda done: done.cancelled() or done.exception())
        task = self._client[1]
        try:
            return await asyncio.shield(task)  # others wait for it, too
        except Exception:
            # A key that is missing now may be there when the next request asks for it.
            if self._client is not None and self._client[1] is task:
                self._client = None
            raise

    @contextlib.contextmanager
    def _tracked(self, future: Future[Any], began: Mark) -> Iterator[Future[Any]]:
        with self._lock:
            self._in_flight[future] = began
        try:
            yield future
        finally:
            with self._lock:
                self._in_flight.pop(future, None)

    def cancel(self) -> None:
        """End the requests in flight; their trials are neither recorded nor charged.

        Within `models.cancelling` only those of the same scope: another search that asks the same
        model goes on.
        """
        self._cancellation.cancel()
        with self._lock:
            flying = list(self._in_flight.items())
        futures = [future for future, began in flying if self._cancellation.hit(began)]
        for future in futures:
            future.cancel()

    # -- what was sent --------------------------------------------------------------------------

    def _asked(self) -> dict[str, Any]:
        """Return what is to be sent; a seed that goes along stands in it as True."""
        seed = {"seed": True} if self.spec.send_seed else {}
        return {**self.adapter.parameters(), **seed}

    def _template(self, *, anew: bool = False) -> dict[str, Any]:
        """Return what is sent: what was asked for, or what the service took instead.

        Args:
            anew: Look whether another process has learned more meanwhile.
        """
        if self._sends is None or anew:
            asked = self._asked()
            if self._sends in (None, asked):
                known = self.cache.adaptation(self._about(asked))
                self._sends = asked if known is None else known
        return self._sends or {}

    def _with_seed(self, template: Mapping[str, Any], seed: int) -> dict[str, Any]:
        parameters = dict(template)
        if "seed" in parameters:
            parameters["seed"] = seed & getattr(self.adapter, "largest_seed", 0xFFFFFFFF)
        return parameters

    def _remember(self, sent: Mapping[str, Any]) -> None:
        template = {**sent, "seed": True} if "seed" in sent else dict(sent)
        if template != self._sends:
            self._sends = template
            self.cache.remember_adaptation(self._about(self._asked()), template)

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

    def _usage(self, attempts: Attempts) -> Usage:
        """Return what the trial cost, useless replies that came whole included.

        An answer in error costs nothing. What a request cost that got none in time is not known:
        beside a known cost it is counted apart (`Attempts.unsure`).
        """
        replies = [*attempts.billed, *([attempts.words] if attempts.words is not None else [])]
        costs = [self._cost(words) for words in replies]
        if not costs:
            known = 0 if attempts.unsure == 0 else None
            free = 0.0 if known == 0 and (self.priced or not attempts.sent) else None
            return Usage(attempts.sent, known, known, free)
        return Usage(
            attempts.sent,
            _added(cost.input_tokens for cost in costs),
            _added(cost.output_tokens for cost in costs),
            _added(cost.dollars for cost in costs),
        )

    def _cost(self, words: Words) -> Usage:
        usage, price = words.usage, self.price
        dollars = None
        # A sum beyond all measure is not known: settling a reservation must never fail.
        with contextlib.suppress(ArithmeticError):
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
        if attempts.sent:
            # A trial of unknown cost counts as one unknown by itself.
            known = usage.input_tokens is not None
            unsure = attempts.unsure if known else max(0, attempts.unsure - 1)
            ledger.add(usage, reserved=attempts.reserved, recorded=recorded, unsure=unsure)
        else:
            ledger.release()

    def _reply(self, attempts: Attempts, usage: Usage, pictures: Sequence[SentPicture]) -> Reply:
        raw: dict[str, Any] = {"sent": self._sent(attempts.parameters, pictures), "cached": False}
        if attempts.faults:
            raw["attempts"] = attempts.record()
        if attempts.unsure:
            raw["maybe_billed"] = attempts.unsure
        if attempts.words is not None:
            raw["response"] = kept(attempts.raw)
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
            "response": kept(hit.raw),
        }
        return self._words(words, Usage(0, 0, 0, 0.0), raw)

    @staticmethod
    def _words(words: Words, usage: Usage, raw: Mapping[str, Any]) -> Reply:
        return Reply(words.text[:LONGEST_ANSWER], words.finish_reason, usage, raw)

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


def _added(values: Iterable[Any]) -> Any:
    """Return the sum of what is known, None when nothing is."""
    known = [value for value in values if value is not None]
    return sum(known) if known else None
