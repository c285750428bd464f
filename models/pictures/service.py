"""Pictures of a model behind an API: cache, claims, caps, attempts and cost as for replies."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from ..prices import Price, price_of
from ..providers.adapter import Adapter, Fault, Words
from ..providers.api import ApiVLM
from ..providers.taming import tamed
from ..specs import ModelSpec
from .shelf import PICTURE, PictureReplies, Shelf, generated_folder
from .sources import DrawnPicture, PictureRequest, UndrawnPictureError

NO_PICTURE = "no_picture"
"""Finish reason of a whole reply that holds words only: the model chose to draw nothing."""

LONGEST_RESPONSE = 20_000
"""Characters of a reply, without its picture, that a record keeps."""


def picture_words(raw: Mapping[str, Any], words: Words, reason: str, said: str) -> Words:
    """Return what a reply says whose picture `shelved` has taken out.

    Args:
        raw: The reply.
        words: Its usage, and a fault if it has one.
        reason: Its finish reason under our names.
        said: The model's words beside or instead of a picture.
    """
    named = raw.get(PICTURE)
    if words.fault is not None:
        return words
    if isinstance(named, dict) and isinstance(named.get("sha256"), str):
        return replace(words, text=named["sha256"], finish_reason="stop")
    if isinstance(named, dict):
        problem = tamed(str(named.get("problem", "the picture cannot be read")), 300)
        return replace(words, fault=Fault("server", problem))
    if reason in ("stop", "length", "no_image", "image_other", "other"):
        return replace(words, text=tamed(said, 500), finish_reason=NO_PICTURE)
    return replace(words, text=tamed(said, 500) or reason, finish_reason="content_filter")


class PictureApi(ApiVLM):
    """`ApiVLM` whose replies are digests of pictures on a shelf."""

    @property
    def price(self) -> Price | None:
        """The row of the price table under the provider's own name, if there is one."""
        return price_of(replace(self.spec, prefix=self.adapter.provider), self.adapter.base_url)


class ServicePictures:
    """Pictures of a service (`PictureSource`)."""

    metered = True
    varies = True

    def __init__(self, spec: ModelSpec, adapter: Callable[[ModelSpec, Shelf], Adapter]) -> None:
        """Prepare; nothing is sent and no key is read yet.

        Args:
            spec: The model.
            adapter: Makes the provider's adapter with its shelf.
        """
        self.shelf = Shelf(generated_folder())
        self.api = PictureApi(spec, _Maker(adapter, self.shelf), cache=PictureReplies(self.shelf))

    @property
    def priced(self) -> bool:
        """Whether the price table knows what it costs."""
        return self.api.priced

    def identity(self) -> Mapping[str, Any]:
        """Return provider, address, model and what is sent."""
        return self.api.identity()

    def cancel(self) -> None:
        """End every request in flight."""
        self.api.cancel()

    def draw(self, request: PictureRequest) -> DrawnPicture:
        """Return a kept picture, or pay for one.

        Raises:
            UndrawnPictureError: It was refused, or no whole picture came after the attempts.
            ModelFault: The service cannot be asked at all.
            CapReachedError: A cap forbids the request.
        """
        reply = self.api.answer((), request.prompt, seed=request.seed)
        raw = reply.raw
        record: dict[str, Any] = {
            "model": self.api.spec.model,
            "base_url": self.api.adapter.base_url,
            "parameters": raw["sent"]["parameters"],
            "cached": raw["cached"],
            **{name: raw[name] for name in ("attempts", "maybe_billed") if name in raw},
            **({"response": _short(raw["response"])} if "response" in raw else {}),
        }
        picture = self.shelf.get(reply.text) if reply.finish_reason == "stop" else None
        if picture is not None:
            return DrawnPicture(picture, record)
        said = tamed(reply.text, 300)
        if reply.finish_reason == NO_PICTURE:
            why, again = f"the picture model drew nothing: {said or 'no words'}", True
        elif reply.finish_reason == "content_filter":
            why, again = f"the picture was refused: {said or 'no words'}", True
        elif reply.finish_reason == "timeout":
            why, again = f"the picture did not come in time: {said}", False
        else:
            why, again = (
                f"the picture could not be had: {tamed(str(raw.get('error', said)), 300)}",
                False,
            )
        raise UndrawnPictureError(why, again=again, record=record)


def _short(response: Any) -> Any:
    """Return a reply as a record keeps it: whole, or the beginning of its text."""
    text = json.dumps(response, default=str)
    return response if len(text) <= LONGEST_RESPONSE else {"cut": text[:LONGEST_RESPONSE]}


class _Maker:
    """Makes an adapter on a shelf; pickles with both."""

    def __init__(self, adapter: Callable[[ModelSpec, Shelf], Adapter], shelf: Shelf) -> None:
        self.adapter = adapter
        self.shelf = shelf

    def __call__(self, spec: ModelSpec) -> Adapter:
        return self.adapter(spec, self.shelf)
