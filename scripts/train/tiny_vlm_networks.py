"""The two networks (torch): picture, question and options → a score for each option.

They share how text is read and how options are compared, and differ in how they look at a picture:
convolutions that the question modulates, or patches with self-attention that the question reads.
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
    """Multi-head attention of `queries` to `keys`, then two layers a token; both added."""

    def __init__(self, tokens: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.before = nn.LayerNorm(tokens)
        self.query = nn.Linear(tokens, tokens)
        self.key_value = nn.Linear(tokens, 2 * tokens)
        self.out = nn.Linear(tokens, tokens)
        self.body = nn.Sequential(
            nn.LayerNorm(tokens), nn.Linear(tokens, 2 * tokens), nn.GELU(),
            nn.Linear(2 * tokens, tokens),
        )  # fmt: skip

    def _split(self, x: Tensor) -> Tensor:
        return x.unflatten(-1, (self.heads, x.shape[-1] // self.heads)).transpose(1, 2)

    def forward(self, queries: Tensor, keys: Tensor | None = None) -> Tensor:
        """`b x n x d` (and `b x m x d`, taken as they are; None = the queries) → `b x n x d`."""
        own = self.before(queries)
        key, value = self.key_value(own if keys is None else keys).chunk(2, dim=-1)
        read = functional.scaled_dot_product_attention(
            self._split(self.query(own)), self._split(key), self._split(value)
        )
        queries = queries + self.out(read.transpose(1, 2).flatten(2))
        out: Tensor = queries + self.body(queries)
        return out


class PatchNetwork(TinyNetwork):
    """Patches that attend to each other (Dosovitskiy et al. 2021, small). The question is one more
    token, which attends to them and which none attends to: a picture's tokens serve any question.
    """

    def __init__(
        self,
        size: tuple[int, int],
        patch: int = 8,
        tokens: int = 96,
        layers: int = 4,
        readers: int = 1,
        heads: int = 3,
    ) -> None:
        super().__init__()
        count = (size[0] // patch) * (size[1] // patch)
        self.patches = nn.Conv2d(3, tokens, patch, patch)
        self.places = nn.Parameter(torch.randn(count, tokens) * 0.1)
        self.layers = nn.Sequential(*(Attention(tokens, heads) for _ in range(layers)))
        self.norm = nn.LayerNorm(tokens)
        self.question = nn.Linear(WORD, tokens)
        self.readers = nn.ModuleList(Attention(tokens, heads) for _ in range(readers))
        self.join = nn.Sequential(
            nn.LayerNorm(tokens), nn.Dropout(0.1), nn.Linear(tokens, self.width), nn.GELU()
        )

    def features(self, pictures: Tensor) -> Tensor:
        tokens = self.patches(_planes(pictures)).flatten(2).transpose(1, 2) + self.places
        out: Tensor = self.norm(self.layers(tokens))
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
