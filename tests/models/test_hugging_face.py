"""``hf:`` models, on a tiny randomly initialised one that goes through the real loading path."""

from __future__ import annotations

import importlib.util
import json
import pickle
import random
import shutil
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from vlmfail.core import (
    CancelledRequestError,
    MissingDependencyError,
    ModelFault,
    Picture,
    UsageError,
)
from vlmfail.models import hugging_face, local_generation
from vlmfail.models.hugging_face import HuggingFaceVLM
from vlmfail.models.local_generation import Asked, thinking_switches
from vlmfail.models.specs import parse_spec
from vlmfail.testing.model_suite import ModelContractSuite

pytestmark = [
    pytest.mark.xdist_group("hf"),
    pytest.mark.skipif(
        not (importlib.util.find_spec("torch") and importlib.util.find_spec("transformers")),
        reason="needs the extra hf",
    ),
]

WORDS = [
    *("<pad>", "<s>", "</s>", "<unk>", "<image>", "<think>", "</think>", "USER:", "ASSISTANT:"),
    *("ANSWER:", "A", "B", "C", "D", "E", "yes", "no", "the", "car", "is", "red", "slow", "down"),
    *("stop", "You", "drive.", "What", "do", "you", "now?", "brake", "fully.", "Continue:"),
]
ROOM = 192
CHAT = (
    "{{ bos_token }} {% for m in messages %}USER: {% for c in m['content'] %}"
    "{% if c['type'] == 'image' %}<image> {% else %}{{ c['text'] }} {% endif %}{% endfor %}"
    "{% endfor %}{% if add_generation_prompt %}ASSISTANT:"
    "{% if enable_thinking is defined and enable_thinking %} <think>{% endif %}{% endif %}"
)
PROMPT = "What do you do now?"


def build(folder):
    import torch
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import (
        CLIPVisionConfig,
        LlamaConfig,
        LlavaConfig,
        LlavaForConditionalGeneration,
        LlavaProcessor,
        PreTrainedTokenizerFast,
    )
    from transformers.models.clip.image_processing_pil_clip import CLIPImageProcessorPil

    words = Tokenizer(models.WordLevel({w: i for i, w in enumerate(WORDS)}, unk_token="<unk>"))
    words.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=words,
        pad_token="<pad>",
        bos_token="<s>",
        eos_token="</s>",
        unk_token="<unk>",
        additional_special_tokens=["<image>", "<think>", "</think>"],
    )
    pictures = CLIPImageProcessorPil(
        size={"shortest_edge": 16}, crop_size={"height": 16, "width": 16}
    )
    processor = LlavaProcessor(
        pictures,
        tokenizer,
        patch_size=8,
        vision_feature_select_strategy="default",
        num_additional_image_tokens=1,
        chat_template=CHAT,
    )
    vision = CLIPVisionConfig(
        hidden_size=16,
        intermediate_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        image_size=16,
        patch_size=8,
        projection_dim=16,
    )
    text = LlamaConfig(
        vocab_size=len(WORDS),
        hidden_size=16,
        intermediate_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=2,
        max_position_embeddings=ROOM,
        pad_token_id=0,
        bos_token_id=1,
        eos_token_id=2,
    )
    config = LlavaConfig(
        vision_config=vision.to_dict(),
        text_config=text.to_dict(),
        image_token_index=4,
        image_seq_length=4,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = LlavaForConditionalGeneration(config)
    with torch.no_grad():  # as initialised, every word is about as likely as every other
        for weights in model.parameters():
            if weights.dim() > 1:
                weights.mul_(8)
    model.generation_config.temperature = 0.01  # a user's spec decides, not the checkpoint
    model.generation_config.do_sample = True
    model.save_pretrained(folder)
    processor.save_pretrained(folder)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    import huggingface_hub.constants

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HF_HUB_OFFLINE", "1")
        patch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
        path = tmp_path_factory.mktemp("weights") / "tiny-llava"
        build(path)
        yield path


@pytest.fixture
def edited(folder, tmp_path):
    """Return a copy of the folder with some files changed."""

    def edit(**changes):
        copy = tmp_path / "edited"
        shutil.copytree(folder, copy)
        for name, change in changes.items():
            path = copy / {"chat": "chat_template.jinja"}.get(name, f"{name}.json")
            if change is None:
                path.unlink()
            elif isinstance(change, str):
                path.write_text(change, encoding="utf-8")
            else:
                path.write_text(json.dumps({**json.loads(path.read_text()), **change}))
        return copy

    return edit


def make(folder, **options):
    options = {"device": "cpu", "max_tokens": 12, **options}
    query = "&".join(f"{name}={value}" for name, value in options.items())
    return HuggingFaceVLM(parse_spec(f"hf:{folder}?{query}"))


def picture(seed=0, size=(24, 20)):
    rng = np.random.default_rng(seed)
    return Picture.from_pixels(rng.integers(0, 256, (size[1], size[0], 3), dtype=np.uint8))


def ask(model, seed=0, shown=None, prompt=PROMPT):
    return model.answer([shown or picture()], prompt, seed=seed)


class TestContract(ModelContractSuite):
    answers = False

    @pytest.fixture(autouse=True)
    def _folder(self, folder):
        self.folder = folder

    def make(self):
        return make(self.folder, temperature=1, max_tokens=8)


def test_greedy_does_not_depend_on_the_seed_and_sampling_does(folder):
    greedy = make(folder)
    assert ask(greedy, 1).text == ask(greedy, 2).text == ask(make(folder, temperature=0), 3).text
    sampled = make(folder, temperature=1)
    texts = [ask(sampled, seed).text for seed in range(6)]
    assert len(set(texts)) > 1
    assert [ask(sampled, seed).text for seed in reversed(range(6))] == texts[::-1]


def test_sampling_follows_the_models_probabilities(folder):
    import torch
    from PIL import Image

    model = make(folder, temperature=1.5, max_tokens=1)
    assert ask(model, 3).raw["sent"]["parameters"]["seed"] == 3
    generator, shown = model._generator, Image.fromarray(picture().pixels)
    drawn = 600
    asked = [Asked([shown], PROMPT, seed) for seed in range(drawn)]
    with torch.inference_mode():
        scores = generator.model(**generator.template.tokenize(asked[:1])).logits[0, -1]
    expected = torch.softmax(scores / 1.5, dim=-1).numpy()
    said = [
        one.text
        for i in range(0, drawn, 100)
        for one in generator.generate(asked[i : i + 100], int)
    ]
    seen = Counter(said)
    assert len(seen) > 5
    for word, share in zip(WORDS, expected, strict=True):
        if word not in ("<pad>", "<s>", "</s>", "<unk>", "<image>"):
            spread = 4 * np.sqrt(share * (1 - share) / drawn) + 1 / drawn
            assert abs(seen[word] / drawn - share) < spread, word
    assert said[7] == ask(model, 7).text


def test_global_random_states_are_left_alone(folder):
    import torch

    before = torch.get_rng_state(), random.getstate(), np.random.get_state()[1].copy()  # noqa: NPY002
    ask(make(folder, temperature=1))
    assert torch.equal(torch.get_rng_state(), before[0])
    assert random.getstate() == before[1]
    assert (np.random.get_state()[1] == before[2]).all()  # noqa: NPY002


def test_the_picture_and_the_prompt_decide(folder):
    model = make(folder)
    assert len({ask(model, shown=picture(seed)).text for seed in range(8)}) > 1
    assert len({ask(model, prompt=word).text for word in ("stop", "slow", "car", "red")}) > 1


def test_the_picture_reaches_the_processor_bit_exact(folder, monkeypatch):
    model = make(folder)
    ask(model)
    seen = []
    template = model._generator.template
    tokenize = template.tokenize
    monkeypatch.setattr(
        template, "tokenize", lambda asked: (seen.extend(asked), tokenize(asked))[1]
    )
    shown = picture(3, (31, 17))
    reply = ask(model, shown=shown)
    assert (np.asarray(seen[0].images[0]) == shown.pixels).all()
    assert reply.raw["sent"]["pictures"] == [{"sha256": shown.sha256, "size": [31, 17]}]


def test_max_side_scales_what_the_processor_sees(folder):
    shown = picture(3, (64, 32))
    assert ask(make(folder), shown=shown).raw["sent"]["pictures"][0]["size"] == [64, 32]
    assert ask(make(folder, max_side=16), shown=shown).raw["sent"]["pictures"][0]["size"] == [16, 8]


def test_the_prompt_is_no_part_of_the_reply(folder, monkeypatch):
    model = make(folder, max_tokens=3)
    said = ask(model).text
    generate = model._generator.model.generate

    def echoing_otherwise(**inputs):
        out = generate(**inputs)
        out[:, 0] = 9
        return out[:, 2:]

    monkeypatch.setattr(model._generator.model, "generate", echoing_otherwise)
    assert ask(model).text == said


def test_usage_counts_picture_tokens_and_new_ones_and_costs_nothing(folder):
    model = make(folder)
    with_picture = ask(model).usage
    without = model.answer([], PROMPT, seed=0).usage
    assert with_picture.input_tokens == without.input_tokens + 4  # 2 x 2 patches
    assert with_picture.output_tokens == 12
    assert (with_picture.requests, with_picture.dollars, model.priced) == (0, 0.0, True)


def test_a_reply_ends_at_the_end_token_or_is_cut(folder, edited):
    free = ask(make(folder, max_tokens=40))
    assert free.finish_reason == "length"
    words = free.text.split()
    end = next(word for word in words if words.index(word) > 0)
    at = words.index(end)
    stopped = ask(make(edited(generation_config={"eos_token_id": WORDS.index(end)})))
    assert (stopped.text.split(), stopped.finish_reason) == (words[:at], "stop")
    assert stopped.usage.output_tokens == at + 1
    assert ask(make(folder, max_tokens=5)).text.split() == words[:5]


def test_without_max_tokens_512_are_allowed_and_recorded(folder):
    model = HuggingFaceVLM(parse_spec(f"hf:{folder}?device=cpu"))
    assert model.identity()["parameters"]["max_tokens"] == 512
    reply = ask(model)  # the model takes fewer in all
    assert reply.usage.input_tokens + reply.usage.output_tokens == ROOM
    assert reply.finish_reason == "length"


def test_thinking_tags_stay_although_they_are_special(folder):
    model = make(folder, temperature=2, max_tokens=60)
    said = " ".join(ask(model, seed).text for seed in range(4))
    assert "<think>" in said
    assert not {"<pad>", "<s>", "<image>", "</s>"} & set(said.split())


def test_batches_take_along_what_other_threads_wait_with(folder, monkeypatch):
    alone = make(folder, temperature=1)
    jobs = [
        (seed, picture(seed), " ".join(["stop", "the car", "red"][: seed % 3 + 1]))
        for seed in range(8)
    ]
    expected = [ask(alone, *job).text for job in jobs]
    sizes = []
    generate = local_generation.Generator.generate

    def spied(self, asked, stopping):
        sizes.append(len(asked))
        return generate(self, asked, stopping)

    monkeypatch.setattr(local_generation.Generator, "generate", spied)
    monkeypatch.setattr(hugging_face, "GATHERING", 1.0)
    batched = make(folder, temperature=1, batch=4)
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(lambda job: ask(batched, *job).text, jobs)) == expected
    assert sum(sizes) == 8
    assert max(sizes) == 4


def test_one_bad_prompt_in_a_batch_spoils_no_other(folder, monkeypatch):
    monkeypatch.setattr(hugging_face, "GATHERING", 1.0)
    model = make(folder, batch=3)
    prompts = ["stop", "car " * ROOM, "red"]

    def outcome(prompt):
        try:
            return ask(model, prompt=prompt).text
        except UsageError as error:
            return error

    with ThreadPoolExecutor(3) as pool:
        first, long, last = pool.map(outcome, prompts)
    assert (first, last) == tuple(ask(make(folder), prompt=p).text for p in ("stop", "red"))
    assert f"the model takes {ROOM}" in str(long)


def test_a_model_that_minds_padding_is_refused_in_batches(folder):
    import torch

    model = make(folder, batch=2)
    ask(model)
    generator = model._generator
    generator.check_padding()
    generate = generator.model.generate

    def heedless(attention_mask, **inputs):
        return generate(attention_mask=torch.ones_like(attention_mask), **inputs)

    generator.model.generate = heedless
    with pytest.raises(ModelFault, match=r"use \?batch=1"):
        generator.check_padding()


def test_cancel_ends_a_generation_that_runs_and_not_the_next(folder, monkeypatch):
    model = make(folder)
    template = ask(model) and model._generator.template
    tokenize = template.tokenize

    def cancelling(asked):
        thread = threading.Thread(target=model.cancel)
        thread.start()
        thread.join()
        return tokenize(asked)

    with monkeypatch.context() as patch:
        patch.setattr(template, "tokenize", cancelling)
        with pytest.raises(CancelledRequestError):
            ask(model)
    assert ask(model).finish_reason == "length"


def test_identity_follows_the_files_and_the_settings_not_the_path(folder, edited):
    own = make(folder).identity()
    assert own["device"] == "cpu"
    assert {"torch", "transformers"} < set(own["versions"])
    assert make(edited()).identity() == own
    for options in ({"batch": 2}, {"temperature": 1}, {"dtype": "bfloat16"}, {"max_side": 64}):
        assert make(folder, **options).identity() != own


def test_a_changed_file_changes_the_identity(folder, edited):
    changed = make(edited(generation_config={"repetition_penalty": 1.2})).identity()
    assert changed["weights_sha256"] != make(folder).identity()["weights_sha256"]


def test_bfloat16_is_used_when_asked_for(folder):
    import torch

    model = make(folder, dtype="bfloat16")
    assert ask(model).text
    assert model._generator.model.dtype == torch.bfloat16


def test_a_pickle_holds_the_spec_alone(folder):
    model = make(folder)
    said = ask(model)
    blob = pickle.dumps(model)
    assert len(blob) < 2000
    assert ask(pickle.loads(blob)).text == said.text


def test_a_processor_without_chat_template_gets_a_plain_prompt(edited):
    model = make(edited(chat=None))
    reply = ask(model, prompt="What is red")
    assert reply.raw["sent"]["parameters"]["prompt_format"] == "plain"
    assert model._generator.template.write(2, "What?") == "<image><image>\nWhat?"


def test_a_template_for_text_alone_gets_text(edited):
    model = make(edited(chat="{% for m in messages %}{{ 'USER: ' + m['content'] }}{% endfor %}"))
    assert ask(model).text
    assert model._generator.template.write(1, "What?") == "USER: <image>\nWhat?"


def test_a_template_that_drops_the_picture_is_refused(edited):
    model = make(edited(chat="{% for m in messages %}{{ m['content'][-1]['text'] }}{% endfor %}"))
    with pytest.raises(ModelFault, match="drops the picture"):
        ask(model)


def test_thinking_reaches_a_template_that_takes_it_and_is_refused_by_others(folder, edited):
    reply = ask(make(folder, thinking="high"))
    assert reply.raw["sent"]["parameters"]["thinking"] == {"enable_thinking": True}
    assert reply.usage.input_tokens == ask(make(folder)).usage.input_tokens + 1
    with pytest.raises(ModelFault, match="thinking=high"):
        ask(make(edited(chat=CHAT.replace("enable_thinking", "verbose")), thinking="high"))


@pytest.mark.parametrize(
    ("thinking", "template", "switches"),
    [
        ("none", "{{ enable_thinking }}", {"enable_thinking": False}),
        ("high", "{% set thinking = thinking | default(false) %}", {"thinking": True}),
        (
            "high",
            "{% if not thinking is defined %}{% set thinking = false %}{% endif %}{{ thinking }}",
            {"thinking": True},
        ),
        ("low", "{{ reasoning_effort }}", {"reasoning_effort": "low"}),
        (
            "low",
            "{% generation %}{{ reasoning_effort }}{% endgeneration %}{{ thinking }}",
            {"reasoning_effort": "low", "thinking": True},
        ),
        ("700", "{{ thinking_budget }}", {"thinking_budget": 700}),
        ("700", "{{ enable_thinking }}", None),
        ("none", "{{ reasoning_effort }}", None),
        ("high", "{% for message in messages %}{{ message.thinking }}<thinking>{% endfor %}", None),
        ("high", "{% if", None),
        ("high", None, None),
    ],
)
def test_thinking_levels_become_the_templates_own_switches(thinking, template, switches):
    spec = parse_spec(f"hf:x/y?thinking={thinking}")
    if switches is None:
        with pytest.raises(ModelFault):
            thinking_switches(spec, template)
    else:
        assert thinking_switches(spec, template) == switches


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("dtype=float8", "dtype: expected one of auto, float32"),
        ("device=tpu", "device: expected cpu, cuda"),
        ("top_p=0.5", "top_p needs a temperature"),
        ("detail=low", "has no option 'detail'"),
        ("timeout=3", "has no option 'timeout'"),
    ],
)
def test_options_that_cannot_be_are_refused_at_once(folder, query, words):
    with pytest.raises(UsageError, match=words):
        HuggingFaceVLM(parse_spec(f"hf:{folder}?{query}"))


def one_line(raised):
    text = str(raised.value)
    assert "\n" not in text
    assert len(text) < 700
    return text


def test_no_folder_and_no_id_are_told(folder, tmp_path):
    with pytest.raises(ModelFault, match="there is no folder") as raised:
        HuggingFaceVLM(parse_spec(f"hf:{tmp_path}/nothing"))
    one_line(raised)
    with pytest.raises(ModelFault, match="is a file"):
        HuggingFaceVLM(parse_spec(f"hf:{folder}/config.json"))
    model = HuggingFaceVLM(parse_spec("hf:vlmfail-tests/no-such-model?device=cpu"))
    for call in (model.identity, lambda: ask(model)):
        with pytest.raises(ModelFault, match="at the Hugging Face Hub") as raised:
            call()
        one_line(raised)


def test_a_folder_without_a_model_is_told(tmp_path):
    with pytest.raises(ModelFault, match=r"no config\.json") as raised:
        make(tmp_path).identity()
    one_line(raised)


def test_a_text_model_is_refused(edited):
    with pytest.raises(ModelFault, match="'llama' model") as raised:
        ask(make(edited(config='{"model_type": "llama"}')))
    one_line(raised)


def test_foreign_code_is_refused_and_never_run(edited, tmp_path):
    code = {"AutoConfig": "evil.Config", "AutoModelForImageTextToText": "evil.Model"}
    copy = edited(config=json.dumps({"model_type": "evil", "auto_map": code}))
    (copy / "evil.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')")
    with pytest.raises(ModelFault, match="foreign code is never run") as raised:
        ask(make(copy))
    one_line(raised)
    assert not (tmp_path / "ran").exists()


def test_pickled_weights_are_refused(edited):
    copy = edited()
    (copy / "model.safetensors").rename(copy / "pytorch_model.bin")
    with pytest.raises(ModelFault, match=r"pytorch_model.bin.*safetensors") as raised:
        ask(make(copy))
    one_line(raised)


def test_weights_that_lack_a_part_are_refused(edited):
    from safetensors.torch import load_file, save_file

    copy = edited()
    tensors = load_file(copy / "model.safetensors")
    dropped = sorted(name for name in tensors if "mlp" in name)[0]
    del tensors[dropped]
    save_file(tensors, copy / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(ModelFault, match="would be random") as raised:
        ask(make(copy))
    one_line(raised)


def test_damaged_weights_are_told_once_loaded_and_again(edited):
    copy = edited()
    (copy / "model.safetensors").write_bytes(b"not weights")
    model = make(copy)
    for _ in range(2):
        with pytest.raises(ModelFault, match="cannot be loaded") as raised:
            ask(model)
        one_line(raised)


def test_scores_that_are_no_numbers_are_a_fault_not_an_answer(edited):
    from safetensors.torch import load_file, save_file

    copy = edited()
    tensors = load_file(copy / "model.safetensors")
    save_file(
        {n: t * float("nan") for n, t in tensors.items()},
        copy / "model.safetensors",
        metadata={"format": "pt"},
    )
    with pytest.raises(ModelFault, match="no numbers") as raised:
        ask(make(copy))
    one_line(raised)


def test_cuda_that_is_not_there_is_told_with_what_is(folder):
    import torch

    asked = f"cuda:{torch.cuda.device_count()}" if torch.cuda.is_available() else "cuda"
    model = make(folder, device=asked)
    for call in (model.identity, lambda: ask(model)):
        with pytest.raises(ModelFault, match="there is cpu") as raised:
            call()
        one_line(raised)


def test_out_of_memory_ends_the_run_with_advice(folder, monkeypatch):
    import torch

    model = make(folder, batch=2)
    ask(model)

    def full(**_):
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB.\nMore")

    monkeypatch.setattr(model._generator.model, "generate", full)
    with pytest.raises(ModelFault, match=r"out of memory.*\?batch") as raised:
        ask(model)
    one_line(raised)


def test_missing_packages_are_named(folder, monkeypatch):
    find = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == "transformers" else find(name)
    )
    with pytest.raises(MissingDependencyError, match=r"vlmfail\[hf\]"):
        make(folder)
