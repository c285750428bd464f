"""Prompts and pictures into a transformers model, and its words out."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..core import ModelFault, UsageError
from .specs import ModelSpec

if TYPE_CHECKING:
    from PIL.Image import Image

THINKING_TAGS = ("<think>", "</think>", "<thinking>", "</thinking>")
"""Kept in a reply's text even where a tokenizer calls them special: the parser strips them."""


LEAST_AGREEMENT = 0.98
"""Correlation of a prompt's scores alone and in a batch, below which padding is no rounding."""

_SWITCHES = ("enable_thinking", "thinking", "reasoning_effort", "thinking_budget")


@dataclass(frozen=True, slots=True)
class Asked:
    """One prompt for the model: its RGB pictures, its text, and the seed of its sampling."""

    images: Sequence[Image]
    prompt: str
    seed: int


@dataclass(frozen=True, slots=True)
class Said:
    """What the model generated.

    Attributes:
        text: New tokens alone, without special ones.
        finish_reason: ``"stop"``, or ``"length"`` when no end came within the allowed tokens.
        input_tokens: Tokens of prompt and pictures.
        output_tokens: New tokens, the end token included.
    """

    text: str
    finish_reason: str
    input_tokens: int
    output_tokens: int


class Template:
    """How a processor's prompts are written.

    With a chat template: one user message, pictures first, then the text. Without one: the
    processor's picture token once per picture, a line break, the text; for a processor that places
    pictures itself, the text alone.
    """

    def __init__(self, processor: Any, spec: ModelSpec) -> None:
        """Read the processor's template.

        Raises:
            ModelFault: When it does not take the spec's ``thinking``, or does not show the text.
        """
        self.processor = processor
        tokenizer = processor.tokenizer
        found = getattr(processor, "chat_template", None) or tokenizer.chat_template
        if isinstance(found, dict):
            found = found.get("default") or next(iter(found.values()))
        self.source: str | None = found
        self.switches = thinking_switches(spec, self.source)
        self.bos = getattr(tokenizer, "bos_token", None)
        token = getattr(processor, "image_token", None)
        self.picture = "" if token is None else str(token)
        self.in_parts = True
        if self.source is not None:
            # Templates of plain language models take text alone and would print the parts' repr.
            self.in_parts = self._shows_text()
            if not self.in_parts and not self._shows_text():
                raise ModelFault(
                    f"model {spec.shown}: its chat template takes neither a list of parts nor text"
                )
            if self.picture and self._chat(1, "?") == self._chat(0, "?"):
                raise ModelFault(
                    f"model {spec.shown}: its chat template drops the picture, so that its "
                    "answers would be blind"
                )
        elif self.picture and self._places_pictures():
            self.picture = ""

    @property
    def kind(self) -> str:
        """``"chat"`` or ``"plain"``, for the record."""
        return "plain" if self.source is None else "chat"

    def write(self, pictures: int, prompt: str) -> str:
        """Return the text put to the tokenizer."""
        return (
            self._plain(pictures, prompt) if self.source is None else self._chat(pictures, prompt)
        )

    def _shows_text(self) -> bool:
        """Return whether the template writes the prompt as it is."""
        probe = "first line\nsecond line"
        try:
            return probe in self._chat(1, probe)
        except Exception:
            return False

    def _places_pictures(self) -> bool:
        """Return whether the processor puts picture tokens before a text that has none."""
        from PIL import Image

        token = self.processor.tokenizer.convert_tokens_to_ids(self.picture)
        asked = Asked([Image.new("RGB", (64, 64))], "?", 0)
        written, self.picture = self.picture, ""
        try:
            return token in self.tokenize([asked])["input_ids"][0].tolist()
        except Exception:
            return False  # the count of tokens and of pictures does not agree
        finally:
            self.picture = written

    def _plain(self, pictures: int, prompt: str) -> str:
        return f"{self.picture * pictures}\n{prompt}" if self.picture and pictures else prompt

    def _chat(self, pictures: int, prompt: str) -> str:
        content: Any = self._plain(pictures, prompt)
        if self.in_parts:
            content = [*({"type": "image"} for _ in range(pictures))]
            content.append({"type": "text", "text": prompt})
        text: str = self.processor.apply_chat_template(
            [{"role": "user", "content": content}],
            chat_template=self.source,
            add_generation_prompt=True,
            tokenize=False,
            **self.switches,
        )
        return text

    def tokenize(self, asked: Sequence[Asked]) -> Any:
        """Return the model's inputs for a batch of prompts, padded on the left."""
        texts = [self.write(len(one.images), one.prompt) for one in asked]
        options: dict[str, Any] = {"return_tensors": "pt"}
        if any(one.images for one in asked):
            options["images"] = [list(one.images) for one in asked]
        if len(asked) > 1:
            options.update(padding=True, padding_side="left")
        if self.bos and all(text.startswith(self.bos) for text in texts):
            options["add_special_tokens"] = False  # the template has written it already
        return self.processor(text=texts, **options)


def template_variables(template: str) -> set[str]:
    """Return the variables that a chat template takes from outside; none if it is no Jinja."""
    import jinja2
    from jinja2 import meta

    # A tag of transformers' own, which marks what the assistant says.
    template = re.sub(r"\{%-?\s*(?:end)?generation\s*-?%\}", "", template)
    try:
        parsed = jinja2.Environment(extensions=["jinja2.ext.loopcontrols"]).parse(template)
    except jinja2.TemplateSyntaxError:
        return set()
    return meta.find_undeclared_variables(parsed)


def thinking_switches(spec: ModelSpec, template: str | None) -> dict[str, Any]:
    """Return the chat template's variables that stand for the spec's ``thinking``.

    ``enable_thinking`` (or ``thinking``) switches it on for every level and off for ``none``;
    ``reasoning_effort`` takes the level, ``thinking_budget`` a number of tokens.

    Raises:
        ModelFault: When the template has no such variable.
    """
    asked = spec.thinking
    if asked is None:
        return {}
    has = template_variables(template or "") & set(_SWITCHES)
    switches: dict[str, Any] = {}
    switch = next((name for name in _SWITCHES[:2] if name in has), None)
    if asked == "none":
        if switch:
            return {switch: False}
    elif isinstance(asked, int):
        if "thinking_budget" in has:
            switches["thinking_budget"] = asked
    elif "reasoning_effort" in has:
        switches["reasoning_effort"] = asked
    elif switch:
        return {switch: True}
    if not switches:
        takes = ", ".join(sorted(has)) or "none"
        raise ModelFault(
            f"model {spec.shown}: its chat template cannot be told thinking={asked} (its own "
            f"switches: {takes}); leave ?thinking out"
        )
    if switch:
        switches[switch] = True
    return switches


class Generator:
    """A loaded model with the settings of a spec. Not thread-safe; touches no global random state.

    Sampling adds Gumbel noise of the prompt's own seed to the scaled scores and takes the largest,
    which draws from the same distribution as multinomial sampling (Gumbel-max) and does not
    depend on what else is in the batch or ran before.
    """

    def __init__(self, processor: Any, model: Any, spec: ModelSpec, max_tokens: int) -> None:
        """Prepare the settings."""
        self.template = Template(processor, spec)
        self.tokenizer = processor.tokenizer
        self.model = model
        self.spec = spec
        self.max_tokens = max_tokens
        if self.tokenizer.pad_token is None:
            self.tokenizer.pad_token = self.tokenizer.eos_token
        self.settings = self._settings()
        eos = self.settings.eos_token_id
        self.ends = frozenset(eos if isinstance(eos, list) else [] if eos is None else [eos])
        self.unsaid = self._unsaid()
        config = model.config
        self.picture_id = getattr(config, "image_token_id", None)
        if self.picture_id is None:
            self.picture_id = getattr(config, "image_token_index", None)
        self.room = getattr(config.get_text_config(), "max_position_embeddings", None)

    def _settings(self) -> Any:
        """Return the model's own generation settings without its sampling and its clock."""
        settings = copy.deepcopy(self.model.generation_config)
        settings.do_sample = False
        settings.num_beams = settings.num_return_sequences = 1
        for name in ("temperature", "top_p", "top_k", "min_p", "typical_p", "epsilon_cutoff"):
            setattr(settings, name, None)
        for name in ("max_length", "max_time", "penalty_alpha", "prompt_lookup_num_tokens"):
            setattr(settings, name, None)
        settings.return_dict_in_generate = False
        if settings.eos_token_id is None:
            settings.eos_token_id = self.tokenizer.eos_token_id
        if settings.pad_token_id is None:
            settings.pad_token_id = self.tokenizer.pad_token_id
        return settings

    def _unsaid(self) -> frozenset[int]:
        special = set(self.tokenizer.all_special_ids)
        added = getattr(self.tokenizer, "added_tokens_decoder", {})
        special.update(i for i, token in added.items() if getattr(token, "special", False))
        kept = {i for i, token in added.items() if str(token) in THINKING_TAGS}
        return frozenset(special - kept)

    def generate(self, asked: Sequence[Asked], stopping: Callable[[], None]) -> list[Said]:
        """Answer the prompts of one batch.

        Args:
            asked: The prompts.
            stopping: Called before each token; what it raises ends the generation.

        Raises:
            UsageError: When prompt and pictures are longer than the model takes.
            ModelFault: When the pictures do not reach the model, or it computes no numbers.
        """
        inputs = self.template.tokenize(asked)
        self._check_inputs(asked, inputs)
        length = int(inputs["input_ids"].shape[1])
        allowed = self._allowed(length)
        choosing = _Choosing([one.seed for one in asked], self.spec, stopping)
        out = self._forward(inputs, allowed, [*choosing.warpers(), choosing])
        # Some models give the prompt back, whole or in part: what was chosen is the end of a row.
        out = out[:, out.shape[1] - choosing.steps :]
        mask = inputs.get("attention_mask")
        sizes = [length] * len(asked) if mask is None else mask.sum(dim=1).tolist()
        return [
            self._said(row, size, allowed) for row, size in zip(out.tolist(), sizes, strict=True)
        ]

    def _forward(self, inputs: Any, allowed: int, steps: Sequence[Any]) -> Any:
        import torch
        from transformers import LogitsProcessorList

        settings = copy.copy(self.settings)
        settings.max_new_tokens = allowed
        extra = {"tokenizer": self.tokenizer} if settings.stop_strings else {}
        with torch.inference_mode():
            return self.model.generate(
                **inputs.to(self.model.device, dtype=self.model.dtype),
                generation_config=settings,
                logits_processor=LogitsProcessorList(steps),
                **extra,
            )

    def check_padding(self) -> None:
        """Refuse batches for a model that minds padding: some older ones cannot be padded.

        Raises:
            ModelFault: When a prompt beside a longer one gets other scores than alone.
        """
        import torch
        from PIL import Image

        picture = Image.new("RGB", (64, 64), (200, 80, 40))
        short, long = (Asked([picture], "Is it red?" + " Yes or no?" * n, 0) for n in (0, 8))
        kept: list[Any] = []

        def keep(_: Any, scores: Any) -> Any:
            kept.append(scores[0].double().cpu())
            return scores

        for asked in ([short], [short, long]):
            self._forward(self.template.tokenize(asked), 1, [keep])
        known = torch.isfinite(kept[0]) & torch.isfinite(kept[1])
        agreement = torch.corrcoef(torch.stack(kept)[:, known])[0, 1].item()
        if not agreement > LEAST_AGREEMENT:
            raise ModelFault(
                f"model {self.spec.shown} answers otherwise beside a longer prompt (its scores "
                f"correlate by {agreement:.2f}): it cannot be padded, use ?batch=1"
            )

    def _said(self, row: list[int], input_tokens: int, allowed: int) -> Said:
        end = next((i for i, token in enumerate(row) if token in self.ends), None)
        if end is not None:
            new, count = row[:end], end + 1
        else:
            new = row
            while new and new[-1] == self.settings.pad_token_id:
                new = new[:-1]
            count = len(new)
        text: str = self.tokenizer.decode(
            [token for token in new if token not in self.unsaid], skip_special_tokens=False
        )
        cut = end is None and count >= allowed
        return Said(text, "length" if cut else "stop", int(input_tokens), count)

    def _allowed(self, length: int) -> int:
        """Return how many new tokens fit."""
        if not isinstance(self.room, int):
            return self.max_tokens
        if length >= self.room:
            raise UsageError(
                f"prompt and pictures are {length} tokens long, and the model takes {self.room}: "
                "use ?max_side to send smaller pictures"
            )
        return min(self.max_tokens, self.room - length)

    def _check_inputs(self, asked: Sequence[Asked], inputs: Any) -> None:
        if not any(one.images for one in asked):
            return
        if isinstance(self.picture_id, int):
            seen = (inputs["input_ids"] == self.picture_id).any(dim=1).tolist()
        else:
            seen = ["pixel_values" in inputs] * len(asked)
        for one, has in zip(asked, seen, strict=True):
            if one.images and not has:
                raise ModelFault(
                    f"model {self.spec.shown}: its prompt format drops the picture, so that its "
                    "answers would be blind"
                )


class _Choosing:
    """The last step before a token is taken: a check, the noise of each prompt's own seed."""

    def __init__(self, seeds: Sequence[int], spec: ModelSpec, stopping: Callable[[], None]) -> None:
        import torch

        self.spec = spec
        self.stopping = stopping
        self.steps = 0
        self.rows = []
        if spec.temperature:
            # On the CPU for every device, so that a seed means the same noise on all.
            self.rows = [torch.Generator("cpu").manual_seed(seed % 2**63) for seed in seeds]

    def warpers(self) -> list[Any]:
        """Return the library's own steps that come before the noise."""
        from transformers import TemperatureLogitsWarper, TopPLogitsWarper

        if not self.spec.temperature:
            return []
        steps: list[Any] = [TemperatureLogitsWarper(float(self.spec.temperature))]
        if self.spec.top_p is not None:
            steps.append(TopPLogitsWarper(self.spec.top_p))
        return steps

    def __call__(self, input_ids: Any, scores: Any) -> Any:
        """Return `scores`, `batch x vocabulary`, with noise when sampling."""
        import torch

        self.stopping()
        self.steps += 1
        if bool(torch.isnan(scores).any()):
            raise ModelFault(
                f"model {self.spec.shown} computes scores that are no numbers: its weights need "
                "?dtype=bfloat16 or ?dtype=float32"
            )
        if not self.rows:
            return scores
        noise = torch.empty(scores.shape, dtype=torch.float64)
        for row, generator in zip(noise, self.rows, strict=True):
            row.exponential_(generator=generator)
        return scores - noise.log().to(scores.device, scores.dtype)
