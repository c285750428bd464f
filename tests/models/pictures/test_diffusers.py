"""A local pipeline: what can be told without the library, and a tiny one of random weights."""

from __future__ import annotations

import json
import pickle
import sys
from importlib.util import find_spec

import pytest

from vlmfail.core import MissingDependencyError, ModelFault, UsageError
from vlmfail.models.pictures.sources import PictureRequest, UndrawnPictureError, make_source

REQUEST = PictureRequest(("kitchen",), "a kitchen", 7)


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("diffusers:/nowhere/at/all", "there is no folder"),
        ("diffusers:{folder}", "model_index.json"),
        ("diffusers:org/model?steps=0", "steps"),
        ("diffusers:org/model?dtype=int8", "dtype"),
        ("diffusers:org/model?guidance=nan", "guidance"),
        ("diffusers:org/model?temperature=1", "temperature"),
        ("diffusers:../escape", "there is no folder"),
    ],
)
def test_what_cannot_be_is_told_before_anything_is_loaded(text, part, catalogue, tmp_path):
    with pytest.raises(UsageError, match=part):
        make_source(text.format(folder=tmp_path), catalogue)


@pytest.mark.skipif(find_spec("diffusers") is not None, reason="diffusers is installed")
def test_without_the_library_its_extra_is_named(catalogue):
    with pytest.raises(MissingDependencyError, match=r"vlmfail\[diffusers\]"):
        make_source("diffusers:org/model", catalogue)


STAND_IN = """
import torch
from types import SimpleNamespace
from PIL import Image


class AutoPipelineForText2Image:
    @classmethod
    def from_pretrained(cls, place, *, torch_dtype, use_safetensors):
        assert use_safetensors
        if "broken" in open(place + "/model_index.json").read():
            raise OSError("no weights")
        return cls()

    def set_progress_bar_config(self, disable):
        assert disable

    def to(self, device):
        return self

    def __call__(self, prompt, generator, num_inference_steps=50, width=16, height=16):
        if "breaks" in prompt:
            raise RuntimeError("a kernel failed")
        numbers = torch.randint(0, 256, (height, width, 3), generator=generator)
        image = Image.fromarray(numbers.to(torch.uint8).numpy())
        return SimpleNamespace(images=[image], nsfw_content_detected=["unsafe" in prompt])
"""


@pytest.fixture
def stand_in(tmp_path, monkeypatch):
    """A library of the same shape in place of diffusers, and the folder of a pipeline."""
    if find_spec("diffusers") is not None:
        pytest.skip("diffusers is installed: the real one is tested")
    pytest.importorskip("torch")
    (tmp_path / "site" / "diffusers").mkdir(parents=True)
    (tmp_path / "site" / "diffusers" / "__init__.py").write_text(STAND_IN)
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    folder = tmp_path / "pipeline"
    folder.mkdir()
    (folder / "model_index.json").write_text("{}")
    yield folder
    sys.modules.pop("diffusers", None)


def test_the_way_through_the_library(stand_in, catalogue):
    spec = f"diffusers:{stand_in}?steps=3&size=32x24&device=cpu"
    source = pickle.loads(pickle.dumps(make_source(spec, catalogue)))
    first, second = source.draw(REQUEST), make_source(spec, catalogue).draw(REQUEST)
    other = source.draw(PictureRequest(("kitchen",), "a kitchen", 8))
    assert first.picture == second.picture != other.picture
    assert (first.record["cached"], second.record["cached"]) == (False, True)
    assert first.picture.size == (32, 24)


@pytest.mark.parametrize(
    ("prompt", "again"), [("unsafe", True), ("breaks", False)], ids=["filtered", "failed"]
)
def test_a_picture_that_the_pipeline_does_not_give(stand_in, catalogue, prompt, again):
    source = make_source(f"diffusers:{stand_in}?device=cpu", catalogue)
    with pytest.raises(UndrawnPictureError) as undrawn:
        source.draw(PictureRequest(("kitchen",), prompt, 7))
    assert undrawn.value.again is again


def test_a_setting_that_the_pipeline_lacks_and_weights_that_are_none_end_the_run(
    stand_in, catalogue
):
    with pytest.raises(ModelFault, match="guidance_scale"):
        make_source(f"diffusers:{stand_in}?guidance=3&device=cpu", catalogue).draw(REQUEST)
    (stand_in / "model_index.json").write_text('{"broken": 1}')
    with pytest.raises(ModelFault, match="no weights"):
        make_source(f"diffusers:{stand_in}?device=cpu", catalogue).draw(REQUEST)


def test_other_weights_are_another_model(stand_in, catalogue, tmp_path):
    before = make_source(f"diffusers:{stand_in}?device=cpu", catalogue).identity()
    moved = stand_in.rename(tmp_path / "moved")
    assert make_source(f"diffusers:{moved}?device=cpu", catalogue).identity() == before
    (moved / "weights.safetensors").write_bytes(b"other")
    assert make_source(f"diffusers:{moved}?device=cpu", catalogue).identity() != before


@pytest.fixture(scope="module")
def pipeline(tmp_path_factory):
    """The folder of a Stable Diffusion pipeline with some ten thousand random weights."""
    diffusers = pytest.importorskip("diffusers", reason="diffusers is not installed")
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    folder = tmp_path_factory.mktemp("pipeline")
    letters = [chr(c) for c in range(97, 123)]
    words = [*letters, *(f"{c}</w>" for c in letters), "<|startoftext|>", "<|endoftext|>"]
    (folder / "vocab.json").write_text(json.dumps({w: i for i, w in enumerate(words)}))
    (folder / "merges.txt").write_text("#version: 0.2\na b\n")
    tokenizer = transformers.CLIPTokenizer(
        str(folder / "vocab.json"), str(folder / "merges.txt"), model_max_length=77
    )
    torch.manual_seed(0)
    text = transformers.CLIPTextModel(
        transformers.CLIPTextConfig(
            vocab_size=len(words), hidden_size=32, intermediate_size=37, num_attention_heads=4,
            num_hidden_layers=1, bos_token_id=len(words) - 2, eos_token_id=len(words) - 1,
        )
    )  # fmt: skip
    unet = diffusers.UNet2DConditionModel(
        block_out_channels=(32, 64), layers_per_block=1, sample_size=8, in_channels=4,
        out_channels=4, down_block_types=("DownBlock2D", "CrossAttnDownBlock2D"),
        up_block_types=("CrossAttnUpBlock2D", "UpBlock2D"), cross_attention_dim=32,
        attention_head_dim=8,
    )  # fmt: skip
    vae = diffusers.AutoencoderKL(
        block_out_channels=(32, 64), in_channels=3, out_channels=3, latent_channels=4,
        down_block_types=("DownEncoderBlock2D",) * 2, up_block_types=("UpDecoderBlock2D",) * 2,
    )  # fmt: skip
    made = diffusers.StableDiffusionPipeline(
        vae=vae, text_encoder=text, tokenizer=tokenizer, unet=unet,
        scheduler=diffusers.DDIMScheduler(), safety_checker=None, feature_extractor=None,
        requires_safety_checker=False,
    )  # fmt: skip
    made.save_pretrained(folder / "saved", safe_serialization=True)
    return folder / "saved"


def test_a_picture_follows_from_its_seed(pipeline, catalogue, monkeypatch):
    monkeypatch.setenv("VLMFAIL_GENERATED", "off")
    spec = f"diffusers:{pipeline}?steps=2&size=16x16&device=cpu"
    drawn = [make_source(spec, catalogue).draw(REQUEST).picture for _ in range(2)]
    other = make_source(spec, catalogue).draw(PictureRequest(("kitchen",), "a kitchen", 8)).picture
    assert drawn[0] == drawn[1] != other
    assert drawn[0].size == (16, 16)


def test_it_is_kept_loaded_on_use_and_pickles(pipeline, catalogue):
    spec = f"diffusers:{pipeline}?steps=1&size=16x16&device=cpu"
    source = pickle.loads(pickle.dumps(make_source(spec, catalogue)))
    first = source.draw(REQUEST)
    again = make_source(spec, catalogue)
    second = again.draw(REQUEST)
    assert second.record["cached"] is True
    assert again._pipeline is None
    assert first.picture == second.picture


def test_weights_that_are_no_safetensors_are_refused(pipeline, catalogue, tmp_path):
    import shutil

    shutil.copytree(pipeline, tmp_path / "p")
    for path in (tmp_path / "p").rglob("*.safetensors"):
        path.rename(path.with_suffix(".bin"))
    with pytest.raises(ModelFault, match="cannot be loaded"):
        make_source(f"diffusers:{tmp_path / 'p'}?device=cpu", catalogue).draw(REQUEST)
