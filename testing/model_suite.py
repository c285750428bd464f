"""Contract tests of a model under test: subclass in your own tests, give it your model.

```python
from vlmfail.testing.model_suite import ModelContractSuite

class TestMyModel(ModelContractSuite):
    spec = "my_package.models:MyModel"
```
"""

from __future__ import annotations

import json
import pickle
from concurrent.futures import ThreadPoolExecutor
from typing import ClassVar

import numpy as np

from ..core import VLM, Option, Outcome, Picture, Question, Reply
from ..models.answers import classify
from ..models.registry import identity, make_model


class ModelContractSuite:
    """What the evaluator relies on. Every test asks the model a few times: mind paid ones.

    Attributes:
        spec: The model: a name, ``module_or_file:Name`` or an object.
        deterministic: Whether the same picture, prompt and seed give the same text.
        picklable: Whether it can be sent to a worker process.
        answers: Whether it is expected to choose an option of a plain question.
    """

    spec: ClassVar[str | VLM] = ""
    deterministic: ClassVar[bool] = True
    picklable: ClassVar[bool] = True
    answers: ClassVar[bool] = True

    def make(self) -> VLM:
        """Return the model under test."""
        return make_model(self.spec)

    def question(self) -> Question:
        """Return a plain question with three options."""
        return Question(
            "You drive. What do you do now?",
            (
                Option("emergency_stop", "Emergency stop: brake fully."),
                Option("slow_down", "Slow down: brake at half intensity."),
                Option("continue", "Continue: do not brake."),
            ),
            "model-suite-1",
        )

    def picture(self, seed: int = 0, size: tuple[int, int] = (512, 384)) -> Picture:
        """Return a picture of coloured noise of (width, height)."""
        rng = np.random.default_rng(seed)
        low = rng.integers(0, 256, (size[1] // 16 + 1, size[0] // 16 + 1, 3), dtype=np.uint8)
        wide = np.repeat(np.repeat(low, 16, axis=0), 16, axis=1)
        return Picture.from_pixels(wide[: size[1], : size[0]])

    def ask(self, model: VLM, seed: int = 0, picture: Picture | None = None) -> Reply:
        """Put the question to `model`."""
        shown = picture if picture is not None else self.picture()
        return model.answer([shown], self.question().prompt, seed=seed)

    def test_it_is_a_model_with_a_name(self) -> None:
        """It has the protocol's members."""
        model = self.make()
        assert isinstance(model, VLM)
        assert isinstance(model.name, str)
        assert model.name

    def test_it_replies_with_text_and_usage(self) -> None:
        """A reply is a `Reply` whose fields are what they say."""
        reply = self.ask(self.make())
        assert isinstance(reply, Reply)
        assert isinstance(reply.text, str)
        assert reply.usage.requests >= 0
        for count in (reply.usage.input_tokens, reply.usage.output_tokens, reply.usage.dollars):
            assert count is None or count >= 0
        json.dumps(dict(reply.raw), allow_nan=False)

    def test_its_reply_chooses_an_option(self) -> None:
        """The parser finds an option in its reply, by whatever letter it was shown."""
        if not self.answers:
            return
        outcome, option, note = classify(self.ask(self.make()), self.question())
        assert outcome is None, note
        assert option in {item.id for item in self.question().options}

    def test_the_same_question_gets_the_same_answer(self) -> None:
        """Same picture, prompt and seed give the same text, after other questions too."""
        if not self.deterministic:
            return
        model = self.make()
        first = self.ask(model, seed=5)
        self.ask(model, seed=6, picture=self.picture(1))
        assert self.ask(model, seed=5).text == first.text
        assert self.ask(self.make(), seed=5).text == first.text

    def test_threads_get_the_answers_of_one(self) -> None:
        """Four threads on one model get what one thread gets."""
        if not self.deterministic:
            return
        model = self.make()
        alone = [self.ask(model, seed, self.picture(seed)).text for seed in range(6)]
        with ThreadPoolExecutor(4) as pool:
            together = list(pool.map(lambda s: self.ask(model, s, self.picture(s)).text, range(6)))
        assert together == alone

    def test_pictures_of_any_size_are_read(self) -> None:
        """Tall, wide and tiny pictures are answered like any other."""
        model = self.make()
        for size in ((64, 64), (90, 300), (1000, 200)):
            reply = self.ask(model, picture=self.picture(2, size))
            outcome, _, _ = classify(reply, self.question())
            assert outcome not in (Outcome.ERROR, Outcome.TIMEOUT)

    def test_it_travels_to_a_worker(self) -> None:
        """A pickled copy answers alike, before and after the first answer."""
        if not self.picklable:
            return
        model = self.make()
        untouched = pickle.loads(pickle.dumps(model))  # noqa: S301 - the model is the user's own
        said = self.ask(model).text
        used = pickle.loads(pickle.dumps(model))  # noqa: S301 - the model is the user's own
        if self.deterministic:
            assert self.ask(untouched).text == said
            assert self.ask(used).text == said

    def test_its_identity_is_json(self) -> None:
        """What a run's config keeps of it is strict JSON and the same each time."""
        first = identity(self.make())
        assert json.loads(json.dumps(first, allow_nan=False)) == first
        assert identity(self.make()) == first
