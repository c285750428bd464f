"""``hf:PATH_OR_ID``: image-text-to-text models of transformers, run on this machine."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from typing import TYPE_CHECKING, Any

from ..core import (
    CancelledRequestError,
    ModelFault,
    Picture,
    Reply,
    UnaskedError,
    Usage,
    UsageError,
    VLMFailError,
)
from . import local_weights
from .cancelling import Cancellation, Mark
from .local_generation import Asked, Generator, Said
from .sent_pictures import PictureLimits, SentPicture, prepare_picture
from .specs import ModelSpec

if TYPE_CHECKING:
    from PIL.Image import Image

OPTIONS = (
    "device",
    "dtype",
    "batch",
    "max_tokens",
    "temperature",
    "top_p",
    "thinking",
    "max_side",
)
"""Options of a spec that this kind of model has."""

MAX_TOKENS = 512
"""Most new tokens of a reply when the spec does not say."""

GATHERING = 0.02
"""Seconds that a batch waits for prompts of other threads."""

UNLIMITED = PictureLimits(max_side=1 << 30, max_base64=1 << 60)
"""The model's own processor scales pictures; nothing else need be done to them."""


@dataclass(eq=False, slots=True)
class _Job:
    asked: Asked
    began: Mark
    said: Said | None = None
    error: BaseException | None = None

    @property
    def done(self) -> bool:
        return self.said is not None or self.error is not None


class HuggingFaceVLM:
    """A vision-language model of transformers on this machine (core.VLM).

    The weights are loaded at the first answer and stay. Thread-safe: one generation runs at a
    time; with ``batch`` above 1 it takes along prompts that other threads wait with. Without a
    temperature, or with 0, decoding is greedy; else a reply is sampled from its own seed alone.
    With ``batch=1`` the same machine gives the same reply whatever the concurrency; larger batches
    can differ in the last bits, since padding and batch size change how sums are ordered.

    Attributes:
        name: The spec as the user wrote it.
        priced: It costs nothing, so that money caps hold.
    """

    priced = True

    def __init__(self, spec: ModelSpec) -> None:
        """Check the spec; nothing is loaded yet.

        Raises:
            UsageError: For an option or a value that such models do not have.
            MissingDependencyError: Without torch and transformers.
            ModelFault: When a folder is named that does not exist.
        """
        spec.check_options(OPTIONS)
        local_weights.check_options(spec)
        if spec.top_p is not None and not spec.temperature:
            raise UsageError(f"model {spec.shown}: top_p needs a temperature above 0")
        local_weights.check_packages()
        self.spec = spec
        self.name = spec.text
        self.checkpoint = local_weights.locate(spec)
        self.max_tokens = spec.max_tokens or MAX_TOKENS
        self.batch = spec.batch or 1
        self._wake()

    def _wake(self) -> None:
        self._turn = threading.Lock()
        self._arrived = threading.Condition()
        self._waiting: list[_Job] = []
        self._generator: Generator | None = None
        self._fault: str | None = None
        self._cancellation = Cancellation()

    def __getstate__(self) -> dict[str, Any]:
        """Pickle the spec alone: weights are loaded where they are used."""
        return {"spec": self.spec}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Make it anew."""
        self.__init__(state["spec"])  # type: ignore[misc]

    # -- what it is -----------------------------------------------------------------------------

    def identity(self) -> Mapping[str, Any]:
        """Return what a run's config keeps: the weights' digest or commit, and every setting.

        Raises:
            ModelFault: When the model or the device does not exist.
        """
        device = local_weights.choose_device(self.spec.device)
        return {
            **self.checkpoint.identity(),
            "device": device.partition(":")[0],
            "parameters": self.parameters(),
            "max_side": self.spec.max_side,
            "versions": local_weights.versions(),
        }

    def parameters(self) -> dict[str, Any]:
        """Return the settings of every generation, as JSON values."""
        return {
            "dtype": self.spec.dtype or "auto",
            "batch": self.batch,
            "max_tokens": self.max_tokens,
            "temperature": self.spec.temperature or 0.0,
            "top_p": self.spec.top_p,
            "thinking": self.spec.thinking,
        }

    # -- asking ---------------------------------------------------------------------------------

    def answer(self, images: Sequence[Picture], prompt: str, *, seed: int) -> Reply:
        """Answer `prompt` about `images`.

        Raises:
            CancelledRequestError: When `cancel` was called meanwhile.
            ModelFault: When the model cannot be loaded or run.
            UsageError: When this prompt with its pictures is longer than the model takes.
        """
        sent = [prepare_picture(one, UNLIMITED, max_side=self.spec.max_side) for one in images]
        shown = [_image(one, how) for one, how in zip(images, sent, strict=True)]
        job = _Job(Asked(shown, prompt, seed), self._cancellation.mark())
        with self._arrived:
            self._waiting.append(job)
            self._arrived.notify_all()
        try:
            with self._turn:
                if not job.done:
                    self._run(self._gather(job))
        finally:
            with self._arrived:
                if job in self._waiting:
                    self._waiting.remove(job)
        if job.error is not None:
            raise job.error
        if job.said is None:
            raise RuntimeError("the generation ended without a reply")
        return self._reply(job.said, sent, seed)

    def cancel(self) -> None:
        """End the generations in flight; their trials are neither recorded nor charged.

        Within `models.cancelling` only those of the same scope: another search that asks the same
        model goes on.
        """
        self._cancellation.cancel()

    def _gather(self, job: _Job) -> list[_Job]:
        """Return `job` with the prompts that wait beside it, `batch` at most."""
        if self.batch == 1:
            return [job]
        deadline = time.monotonic() + GATHERING
        with self._arrived:
            while len(self._waiting) < self.batch:
                left = deadline - time.monotonic()
                if left <= 0 or not self._arrived.wait(left):
                    break
            others = [one for one in self._waiting if one is not job]
            jobs = [job, *others[: self.batch - 1]]
            self._waiting = [one for one in self._waiting if one not in jobs]
        return jobs

    def _run(self, jobs: list[_Job]) -> None:
        """Answer `jobs` together; what one of them raises is its own."""
        try:
            self._check(jobs)
            generator = self._loaded()
            said = generator.generate([job.asked for job in jobs], lambda: self._check(jobs))
        except (UnaskedError, ModelFault) as error:
            for job in jobs:
                job.error = _again(error)
        except Exception as error:
            fault = _fatal(error, self.name, len(jobs))
            if fault is None and len(jobs) > 1:
                for job in jobs:
                    self._run([job])
                return
            for job in jobs:
                job.error = fault or error
        else:
            for job, words in zip(jobs, said, strict=True):
                job.said = words

    def _check(self, jobs: Sequence[_Job]) -> None:
        if all(self._cancellation.hit(job.began) for job in jobs):
            raise CancelledRequestError("the run is stopping")

    def _loaded(self) -> Generator:
        if self._fault is not None:  # threads that wait must not each try to load it again
            raise ModelFault(self._fault)
        if self._generator is None:
            try:
                device = local_weights.choose_device(self.spec.device)
                dtype = self.spec.dtype or "auto"
                processor, model = local_weights.load(self.checkpoint, dtype, device)
                with local_weights.explained(self.checkpoint):
                    generator = Generator(processor, model, self.spec, self.max_tokens)
                    if self.batch > 1:
                        generator.check_padding()
                self._generator = generator
            except VLMFailError as error:
                self._fault = str(error)
                if not isinstance(error, ModelFault):
                    raise ModelFault(str(error)) from error
                raise
        return self._generator

    def _reply(self, said: Said, sent: Sequence[SentPicture], seed: int) -> Reply:
        parameters = self.parameters()
        if self._generator is not None:
            parameters["prompt_format"] = self._generator.template.kind
            parameters["thinking"] = dict(self._generator.template.switches) or None
        if self.spec.temperature:
            parameters["seed"] = seed
        pictures = [
            {
                "sha256": one.sha256,
                "size": [one.width, one.height],
                **({"changed": one.note} if one.note else {}),
            }
            for one in sent
        ]
        raw = {
            "sent": {
                "model": self.spec.model,
                "parameters": parameters,
                "pictures": pictures,
            },
            "versions": local_weights.versions(),
        }
        usage = Usage(0, said.input_tokens, said.output_tokens, 0.0)
        return Reply(said.text, said.finish_reason, usage, raw)


def _image(picture: Picture, sent: SentPicture) -> Image:
    from PIL import Image

    if sent.data == picture.png:
        return Image.fromarray(picture.pixels)
    with Image.open(BytesIO(sent.data)) as image:
        return image.convert("RGB")


def _again(error: VLMFailError) -> VLMFailError:
    """Return an equal error: one raised in several threads would gather all their tracebacks."""
    return type(error)(*error.args)


def _fatal(error: Exception, name: str, prompts: int) -> ModelFault | None:
    """Return the fault when `error` means that no prompt can be answered any more."""
    said = local_weights.first_line(error)
    if local_weights.is_out_of_memory(error):
        return ModelFault(
            f"model {name!r}: out of memory with {prompts} prompt(s) at once ({said}): use a "
            "smaller ?batch, ?max_side or ?dtype=bfloat16"
        )
    if "CUDA error" in str(error):
        return ModelFault(f"model {name!r}: the GPU gave up ({said}); start the command anew")
    return None
