"""The labelling page as a web application on loopback."""

from __future__ import annotations

import asyncio
import math
import secrets
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs

from ...core import MissingDependencyError, UsageError, VLMFailError
from ...models.serving import LoopbackOnly
from ...reports.wording import candidate_parts, clean, words
from ...runs.run import RunData
from .labels import FLAGS, LONGEST_COMMENT, Label, LabelStore

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response

HERE = Path(__file__).parent

SECONDS = 15
"""The paper's time for one picture, s; it is shown, not enforced."""

LARGEST_FORM = 64 * 1024  # bytes

LONGEST_TEXT = 20_000  # characters of a question or a reply that are shown

HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; img-src 'self'; style-src 'self'; script-src 'self'; "
        "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    # Not no-referrer: browsers then post with the origin "null", which is refused.
    "Referrer-Policy": "same-origin",
    "Cache-Control": "no-store",
}


def make_label_app(run: RunData, places: Sequence[tuple[str, int]], reviewer: str) -> Starlette:
    """Return the page of one reviewer.

    ``GET /`` leads to the first trial without a label, ``GET /trial/N`` shows one, ``POST
    /trial/N`` labels it. It answers requests to a loopback host only, takes posts with its own
    token only, and writes nothing but labels.

    Args:
        run: The run.
        places: The trials in the order in which they are shown.
        reviewer: Who labels.

    Raises:
        MissingDependencyError: Without the package ``starlette``.
    """
    try:
        from starlette.applications import Starlette
        from starlette.middleware import Middleware
        from starlette.routing import Route
    except ImportError as error:
        raise MissingDependencyError("starlette", "serve", "the labelling page") from error

    page = _Page(run, places, reviewer)
    return Starlette(
        routes=[
            Route("/", page.first),
            Route("/trial/{number}", page.show),
            Route("/trial/{number}", page.save, methods=["POST"]),
            Route("/done", page.done),
            Route("/picture/{number}.png", page.picture),
            Route("/label.css", page.style),
            Route("/label.js", page.script),
        ],
        middleware=[Middleware(LoopbackOnly)],
        exception_handlers={VLMFailError: page.failed},
    )


class _Page:
    def __init__(self, run: RunData, places: Sequence[tuple[str, int]], reviewer: str) -> None:
        from jinja2 import Environment, FileSystemLoader, StrictUndefined

        self.run = run
        self.places = list(places)
        self.reviewer = reviewer
        self.labels = LabelStore(run.path)
        self.token = secrets.token_urlsafe(32)
        self.candidates = {key: found.candidate for key, found in run.candidates.items()}
        environment = Environment(
            loader=FileSystemLoader(HERE),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        environment.filters["words"] = words
        self.template = environment.get_template("label.html.jinja")

    # -- pages ----------------------------------------------------------------------------------

    async def first(self, request: Request) -> Response:
        from starlette.responses import RedirectResponse

        number = self._next(0, await asyncio.to_thread(self.labels.of, self.reviewer))
        target = "/done" if number is None else f"/trial/{number}"
        return RedirectResponse(target, status_code=303, headers=HEADERS)

    async def show(self, request: Request) -> Response:
        number = self._number(request)
        if number is None:
            return self._said("There is no such trial.", 404)
        own = await asyncio.to_thread(self.labels.of, self.reviewer)
        return self._html({"trial": self._trial(number, own), **self._state(own)})

    async def done(self, request: Request) -> Response:
        own = await asyncio.to_thread(self.labels.of, self.reviewer)
        return self._html({"trial": None, **self._state(own)})

    async def picture(self, request: Request) -> Response:
        from starlette.responses import Response

        number = self._number(request)
        found = None
        if number is not None:
            digest = self.run.records[self.places[number - 1]].trial.picture
            found = await asyncio.to_thread(self.run.store.picture, digest)
        if found is None:
            return Response(status_code=404, headers=HEADERS)
        return Response(found.png, media_type="image/png", headers=HEADERS)

    async def style(self, request: Request) -> Response:
        return _file("label.css", "text/css")

    async def script(self, request: Request) -> Response:
        return _file("label.js", "text/javascript")

    async def save(self, request: Request) -> Response:
        from starlette.responses import RedirectResponse

        number = self._number(request)
        if number is None:
            return self._said("There is no such trial.", 404)
        form = await _form(request)
        if form is None:
            return self._said("The form cannot be read, or is too large.", 400)
        if not secrets.compare_digest(form.get("token", "").encode(), self.token.encode()):
            return self._said("This page is of an earlier start of the server: reload it.", 403)
        key, index = self.places[number - 1]
        try:
            comment = clean(form.get("comment", "").replace("\r\n", "\n").strip())
            label = Label(self.reviewer, key, index, form.get("flag", ""), comment, _seconds(form))
        except UsageError as error:
            return self._said(str(error), 400)
        await asyncio.to_thread(self.labels.put, label)
        left = self._next(number, await asyncio.to_thread(self.labels.of, self.reviewer))
        target = "/done" if left is None else f"/trial/{left}"
        return RedirectResponse(target, status_code=303, headers=HEADERS)

    async def failed(self, request: Request, error: Exception) -> Response:
        """Say what cannot be done, as when the labels are damaged while they are served."""
        return self._said(str(error), 500)

    # -- what they hold -------------------------------------------------------------------------

    def _number(self, request: Request) -> int | None:
        """Return the trial's number in the address, None when there is no such trial."""
        text = str(request.path_params["number"])
        number = int(text) if text.isascii() and text.isdigit() and len(text) < 10 else 0
        return number if 1 <= number <= len(self.places) else None

    def _next(self, number: int, own: Mapping[tuple[str, int], Label]) -> int | None:
        """Return the number of the next trial without a label after `number`, around the end."""
        count = len(self.places)
        for step in range(count):
            place = (number + step) % count
            if self.places[place] not in own:
                return place + 1
        return None

    def _state(self, own: Mapping[tuple[str, int], Label]) -> dict[str, Any]:
        done = [place in own for place in self.places]
        return {
            "reviewer": clean(self.reviewer),
            "run": clean(self.run.path),
            "model": clean(_model_name(self.run)),
            "total": len(self.places),
            "done": sum(done),
            "next": self._next(0, own),
            "flags": FLAGS,
            "token": self.token,
            "seconds": SECONDS,
            "longest_comment": LONGEST_COMMENT,
        }

    def _trial(self, number: int, own: Mapping[tuple[str, int], Label]) -> dict[str, Any]:
        place = self.places[number - 1]
        record = self.run.records[place]
        trial = record.trial
        generated = record.scene.get("generated")
        prompt = generated.get("prompt") if isinstance(generated, dict) else None
        candidate = self.candidates.get(trial.key, tuple(trial.key.split("+")))
        label = own.get(place)
        others = [option for option in trial.accepted if option != trial.expected]
        return {
            "number": number,
            "name": clean(f"{trial.key}#{trial.index}"),
            "parts": candidate_parts(candidate),
            "picture": self.run.store.picture(trial.picture) is not None,
            "generation": _bounded(prompt) if isinstance(prompt, str) else None,
            "question": _bounded(record.prompt),
            "expected": _option(trial.expected, record.options),
            "accepted": [_option(option, record.options) for option in others],
            "reason": _bounded(str(record.scene.get("truth_reason") or "")),
            "answer": _option(trial.answer, record.options) if trial.answer else None,
            "outcome": str(trial.outcome),
            "reply": _bounded(trial.reply.strip()),
            "flag": label.flag if label else None,
            "comment": clean(label.comment) if label else "",
            "previous": number - 1 if number > 1 else None,
            "following": number + 1 if number < len(self.places) else None,
        }

    def _html(self, view: Mapping[str, Any], status: int = 200) -> Response:
        from starlette.responses import HTMLResponse

        text = self.template.render(said=None, **view).encode("utf-8", "replace")
        return HTMLResponse(text, status_code=status, headers=HEADERS)

    def _said(self, text: str, status: int) -> Response:
        from starlette.responses import HTMLResponse

        state = self._state({})
        page = self.template.render(said=clean(text), trial=None, **state)
        return HTMLResponse(page.encode("utf-8", "replace"), status_code=status, headers=HEADERS)


def _file(name: str, kind: str) -> Response:
    from starlette.responses import Response

    return Response((HERE / name).read_bytes(), media_type=kind, headers=HEADERS)


async def _form(request: Request) -> dict[str, str] | None:
    """Return a posted form, the first value of each name; None for what is none."""
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != (
        "application/x-www-form-urlencoded"
    ):
        return None
    body = bytearray()
    async for piece in request.stream():
        body += piece
        if len(body) > LARGEST_FORM:
            return None
    try:
        fields = parse_qs(
            body.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=20
        )
    except ValueError:
        return None
    return {name: values[0] for name, values in fields.items()}


def _seconds(form: Mapping[str, str]) -> float | None:
    """Return how long the page was open; None for what is no time."""
    try:
        value = float(form.get("seconds", ""))
    except ValueError:
        return None
    return round(value, 1) if math.isfinite(value) and 0 <= value <= 86_400 else None


def _bounded(text: str) -> str:
    text = clean(text)
    return text if len(text) <= LONGEST_TEXT else text[:LONGEST_TEXT] + " […]"


def _option(name: str | None, options: Sequence[str]) -> str:
    """Return an option with the letter under which it was shown."""
    if name is None:
        return "—"
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
    letter = f"{letters[options.index(name)]}) " if name in options[: len(letters)] else ""
    return letter + words(name)


def _model_name(run: RunData) -> str:
    model = run.config.get("model")
    return str(model.get("spec") or model.get("name")) if isinstance(model, Mapping) else "?"
