"""The network of tiny-vlm (torch): picture, question and options → a probability per option."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from vlmfail.models.tiny_text import BUCKETS

WORD = 64
FEATURES = 128
GRID = (9, 12)
WIDTH = 160


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


class TinyNetwork(nn.Module):
    """The question modulates the picture's features channel by channel (FiLM, Perez et al. 2018);
    what is left is compared with each option's own embedding, which knows neither letter nor order.
    """

    def __init__(self) -> None:
        super().__init__()
        # 4 x 4 patches first: a small lamp stays a pattern of its own within one patch.
        self.trunk = nn.Sequential(
            _conv(3, 40, 4, 4),
            _conv(40, 64, 3, 2),
            Residual(64),
            _conv(64, FEATURES, 3, 2),
            Residual(FEATURES),
        )
        self.words = nn.Linear(BUCKETS, WORD, bias=False)
        self.film = nn.Sequential(nn.Linear(WORD, 96), nn.ReLU(), nn.Linear(96, 2 * FEATURES))
        self.narrow = nn.Conv2d(FEATURES, 24, 1)
        self.view = nn.Sequential(
            nn.Dropout(0.1), nn.Linear(24 * GRID[0] * GRID[1] + WORD, WIDTH), nn.ReLU()
        )
        self.option = nn.Sequential(nn.Linear(2 * WORD, 96), nn.ReLU(), nn.Linear(96, WIDTH + 1))
        nn.init.normal_(self.words.weight, std=0.5)

    def features(self, pictures: Tensor) -> Tensor:
        """`b x 144 x 192 x 3` uint8 → `b x FEATURES x 9 x 12`."""
        scaled = pictures.permute(0, 3, 1, 2).float() / 127.5 - 1.0
        out: Tensor = self.trunk(scaled)
        return out

    def scores(self, features: Tensor, questions: Tensor, options: Tensor) -> Tensor:
        """One question a row: `b x FEATURES x 9 x 12`, `b x V`, `b x k x V` → `b x k` logits."""
        asked = self.words(questions)
        scale, shift = self.film(asked).chunk(2, dim=-1)
        seen = torch.relu(features * (1.0 + scale[..., None, None]) + shift[..., None, None])
        seen = torch.relu(self.narrow(seen)).flatten(1)
        view = self.view(torch.cat([seen, asked], dim=-1))
        said = self.words(options)
        both = torch.cat([said, asked[:, None].expand_as(said)], dim=-1)
        option = self.option(both)
        return (option[..., :-1] @ view[..., None]).squeeze(-1) / WIDTH**0.5 + option[..., -1]


class Exported(nn.Module):
    """What the ONNX file computes: one picture, one question, `k` options → `k` probabilities."""

    def __init__(self, network: TinyNetwork) -> None:
        super().__init__()
        self.network = network

    def forward(self, picture: Tensor, question: Tensor, options: Tensor) -> Tensor:
        features = self.network.features(picture)
        logits = self.network.scores(features, question, options[None])
        return torch.softmax(logits[0], dim=-1)
