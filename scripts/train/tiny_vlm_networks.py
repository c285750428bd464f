"""The two networks (torch): picture, question and options → a score for each option.

They share how text is read and how options are compared, and differ in how they look at a picture:
convolutions that the question modulates, or mixed patches that the question attends to.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from vlmfail.models.tiny_text import BUCKETS

WORD = 64
"""Length of a text's embedding: the sum of its words' embeddings."""


class TinyNetwork(nn.Module):
    """What both have in common: words, and options that know neither letter nor order.

    Subclasses turn pictures into features and look at these with a question in mind.
    """

    width = 160

    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Linear(BUCKETS, WORD, bias=False)
        nn.init.normal_(self.words.weight, std=0.5)
        self.option = nn.Sequential(
            nn.Linear(2 * WORD, 96), nn.ReLU(), nn.Linear(96, self.width + 1)
        )

    def features(self, pictures: Tensor) -> Tensor:
        """`b x height x width x 3` uint8 → what is seen whatever the question, `b x ...`."""
        raise NotImplementedError

    def view(self, features: Tensor, asked: Tensor) -> Tensor:
        """`b x ...` and embedded questions `b x q x WORD` → what answers them, `b x q x width`."""
        raise NotImplementedError

    def scores(self, features: Tensor, questions: Tensor, options: Tensor) -> Tensor:
        """Bags of `q` questions a picture, `b x q x V`, `b x q x k x V` → logits `b x q x k`."""
        asked = self.words(questions)
        view = self.view(features, asked)
        said = self.words(options)
        option = self.option(torch.cat([said, asked[:, :, None].expand_as(said)], dim=-1))
        return (option[..., :-1] @ view[..., None]).squeeze(-1) / self.width**0.5 + option[..., -1]


def _planes(pictures: Tensor) -> Tensor:
    return pictures.permute(0, 3, 1, 2).float() / 127.5 - 1.0


def _conv(inputs: int, outputs: int, size: int, stride: int = 1) -> nn.Sequential:
    padding = 0 if size == stride else size // 2
    return nn.Sequential(
        nn.Conv2d(inputs, outputs, size, stride, padding, bias=False),
        nn.BatchNorm2d(outputs),
        nn.ReLU(),
    )


class Residual(nn.Module):
    """One 3 x 3 convolution added to its input."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.body = _conv(channels, channels, 3)

    def forward(self, x: Tensor) -> Tensor:
        return x + self.body(x)


class ConvolutionNetwork(TinyNetwork):
    """The question scales and shifts the picture's channels (FiLM, Perez et al. 2018)."""

    def __init__(self, size: tuple[int, int], channels: int = 128, narrow: int = 24) -> None:
        super().__init__()
        # 4 x 4 patches first: a small lamp stays a pattern of its own within one patch.
        self.trunk = nn.Sequential(
            _conv(3, 40, 4, 4),
            _conv(40, 64, 3, 2),
            Residual(64),
            _conv(64, channels, 3, 2),
            Residual(channels),
        )
        cells = (size[0] // 16) * (size[1] // 16)
        self.film = nn.Sequential(nn.Linear(WORD, 96), nn.ReLU(), nn.Linear(96, 2 * channels))
        self.narrow = nn.Conv2d(channels, narrow, 1)
        self.join = nn.Sequential(
            nn.Dropout(0.1), nn.Linear(narrow * cells + WORD, self.width), nn.ReLU()
        )

    def features(self, pictures: Tensor) -> Tensor:
        out: Tensor = self.trunk(_planes(pictures))
        return out

    def view(self, features: Tensor, asked: Tensor) -> Tensor:
        scale, shift = self.film(asked)[..., None, None].chunk(2, dim=2)
        seen = torch.relu(features[:, None] * (1.0 + scale) + shift)
        seen = torch.relu(self.narrow(seen.flatten(0, 1))).flatten(1)
        seen = seen.unflatten(0, asked.shape[:2])
        out: Tensor = self.join(torch.cat([seen, asked], dim=-1))
        return out


class Attention(nn.Module):
    """Multi-head attention of `queries` to `keys`, then two layers a query; both added."""

    def __init__(self, channels: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.before = nn.LayerNorm(channels)
        self.query = nn.Linear(channels, channels)
        self.key_value = nn.Linear(channels, 2 * channels)
        self.out = nn.Linear(channels, channels)
        self.body = nn.Sequential(
            nn.LayerNorm(channels), nn.Linear(channels, 2 * channels), nn.GELU(),
            nn.Linear(2 * channels, channels),
        )  # fmt: skip

    def _split(self, x: Tensor) -> Tensor:
        return x.unflatten(-1, (self.heads, x.shape[-1] // self.heads)).transpose(1, 2)

    def forward(self, queries: Tensor, keys: Tensor) -> Tensor:
        """`b x q x d`, `b x n x d` → `b x q x d`."""
        key, value = self.key_value(keys).chunk(2, dim=-1)
        read = functional.scaled_dot_product_attention(
            self._split(self.query(self.before(queries))), self._split(key), self._split(value)
        )
        queries = queries + self.out(read.transpose(1, 2).flatten(2))
        out: Tensor = queries + self.body(queries)
        return out


class Mixing(nn.Module):
    """Two layers across the tokens, then two across each token's channels; both added
    (MLP-Mixer, Tolstikhin et al. 2021).
    """

    def __init__(self, count: int, channels: int) -> None:
        super().__init__()
        self.before = nn.LayerNorm(channels)
        self.across = nn.Sequential(nn.Linear(count, count), nn.GELU(), nn.Linear(count, count))
        self.within = nn.Sequential(
            nn.LayerNorm(channels), nn.Linear(channels, 2 * channels), nn.GELU(),
            nn.Linear(2 * channels, channels),
        )  # fmt: skip

    def forward(self, x: Tensor) -> Tensor:
        """`b x n x d` → `b x n x d`."""
        x = x + self.across(self.before(x).transpose(1, 2)).transpose(1, 2)
        out: Tensor = x + self.within(x)
        return out


class PatchNetwork(TinyNetwork):
    """Patches whose places are mixed by layers across all of them (MLP-Mixer); what they say is
    summed up in a few tokens, to which the question attends as one token more.
    """

    def __init__(
        self,
        size: tuple[int, int],
        patch: int = 8,
        channels: int = 96,
        layers: int = 3,
        summary: int = 24,
        readers: int = 2,
        heads: int = 3,
    ) -> None:
        super().__init__()
        count = (size[0] // patch) * (size[1] // patch)
        # A purely linear look at 8 x 8 pixels learns slowly from few pictures (Xiao et al. 2021).
        self.patches = nn.Sequential(
            _conv(3, 24, 4, 4), nn.Conv2d(24, channels, patch // 4, patch // 4)
        )
        self.layers = nn.Sequential(*(Mixing(count, channels) for _ in range(layers)))
        self.norm = nn.LayerNorm(channels)
        self.summary = nn.Linear(count, summary)
        self.question = nn.Linear(WORD, channels)
        self.readers = nn.ModuleList(Attention(channels, heads) for _ in range(readers))
        self.join = nn.Sequential(
            nn.LayerNorm(channels), nn.Dropout(0.1), nn.Linear(channels, self.width), nn.GELU()
        )

    def features(self, pictures: Tensor) -> Tensor:
        tokens = self.norm(self.layers(self.patches(_planes(pictures)).flatten(2).transpose(1, 2)))
        out: Tensor = self.summary(tokens.transpose(1, 2)).transpose(1, 2)
        return out

    def view(self, features: Tensor, asked: Tensor) -> Tensor:
        token = self.question(asked)
        for reader in self.readers:
            token = reader(token, features)
        out: Tensor = self.join(token)
        return out


class Exported(nn.Module):
    """What the ONNX file computes: one picture, one question, `k` options → `k` probabilities."""

    def __init__(self, network: TinyNetwork) -> None:
        super().__init__()
        self.network = network

    def forward(self, picture: Tensor, question: Tensor, options: Tensor) -> Tensor:
        features = self.network.features(picture)
        logits = self.network.scores(features, question[None], options[None, None])
        return torch.softmax(logits[0, 0], dim=-1)
