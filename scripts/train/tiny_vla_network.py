"""The network of tiny-vla (torch): picture, words and state → a chunk of actions.

The words choose what the picture's channels say (FiLM, Perez et al. 2018); a softmax over each of
some maps picks out places (spatial softmax, Levine et al. 2016); from these and the state follow
where the target is, which is learned from the demonstrations as well, and what to do.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from vlmfail.models.tiny_text import BUCKETS

WORD = 32
"""Length of a text's embedding: the sum of its words' embeddings."""

MOVE, TURN = 0.1, 0.5
"""Scales of an action: m and radians."""

MIDDLE, SPREAD = (0.62, 0.0, 0.95), (0.15, 0.15, 0.10)
"""Where targets are in the base's frame, about, m."""

SMALL_OPENING = 0.01
"""Fingers that are so near to each other may hold a thin thing, or nothing, m."""


@dataclass(frozen=True)
class Told:
    """What the network says.

    Attributes:
        motions: `b x chunk x 6`: moves and turns in units of `MOVE` and `TURN`.
        gripper: `b x chunk` logits of an open gripper.
        targets: `b x 5`: the target's place in units of `SPREAD` about `MIDDLE`, and cosine and
            sine of twice the angle at which to close on it.
        grasped: `b` logits of a grasp.
    """

    motions: Tensor
    gripper: Tensor
    targets: Tensor
    grasped: Tensor


def _conv(inputs: int, outputs: int, size: int, stride: int = 1, gap: int = 1) -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(inputs, outputs, size, stride, gap * (size // 2), dilation=gap, bias=False),
        nn.BatchNorm2d(outputs),
        nn.ReLU(),
    )


class Film(nn.Module):
    """A 3 x 3 convolution added to its input, then channels scaled and shifted by the words."""

    def __init__(self, channels: int, gap: int) -> None:
        super().__init__()
        self.body = _conv(channels, channels, 3, gap=gap)
        self.words = nn.Linear(WORD, 2 * channels)

    def forward(self, x: Tensor, said: Tensor) -> Tensor:
        scale, shift = self.words(said)[..., None, None].chunk(2, dim=1)
        return torch.relu((x + self.body(x)) * (1.0 + scale) + shift)


class PolicyNetwork(nn.Module):
    """One look, one chunk; see the module."""

    def __init__(
        self, size: tuple[int, int], chunk: int = 6, channels: int = 32, points: int = 32
    ) -> None:
        super().__init__()
        self.chunk, self.points, self.pooled = chunk, points, 8
        self.words = nn.Linear(BUCKETS, WORD, bias=False)
        # A word that was never trained on says nothing.
        nn.init.zeros_(self.words.weight)
        self.stem = nn.Sequential(_conv(3, 16, 5, 2), _conv(16, channels, 3, 2))
        self.blocks = nn.ModuleList(Film(channels, gap) for gap in (1, 2, 1, 2))
        self.maps = nn.Conv2d(channels, points, 1)
        columns, rows = size[0] // 4, size[1] // 4
        across, down = torch.linspace(-1, 1, columns), torch.linspace(-1, 1, rows)
        self.register_buffer("across", across.repeat(rows))
        self.register_buffer("down", down.repeat_interleave(columns))
        self.register_buffer("middle", torch.tensor(MIDDLE))
        self.register_buffer("spread", torch.tensor(SPREAD))
        seen = 2 * points + self.pooled * channels
        self.look = nn.Sequential(nn.Linear(seen + WORD + 11, 128), nn.ReLU(), nn.Linear(128, 6))
        self.head = nn.Sequential(
            nn.Linear(seen + WORD + 11 + 6 + 6, 256), nn.ReLU(),
            nn.Linear(256, 256), nn.ReLU(),
            nn.Linear(256, chunk * 7),
        )  # fmt: skip

    def forward(self, pictures: Tensor, words: Tensor, states: Tensor) -> Told:
        """`b x height x width x 3` uint8, bags `b x V`, states `b x 8` → what to do."""
        said = self.words(words)
        x = self.stem(pictures.permute(0, 3, 1, 2).float() / 127.5 - 1.0)
        for block in self.blocks:
            x = block(x, said)
        weights = torch.softmax(self.maps(x).flatten(2), dim=-1)
        across = (weights * self.across).sum(-1)
        down = (weights * self.down).sum(-1)
        pooled = torch.matmul(weights[:, : self.pooled], x.flatten(2).transpose(1, 2))
        own, angle = self._own(states)
        seen = torch.cat([across, down, pooled.flatten(1), said, own], dim=-1)
        found = self.look(seen)
        place = found[:, :3] * self.spread + self.middle
        away = (place - states[:, :3]) / MOVE
        cosine, sine = angle[:, 0], angle[:, 1]
        askew = torch.stack(
            [
                found[:, 3] * cosine + found[:, 4] * sine,
                found[:, 4] * cosine - found[:, 3] * sine,
                found[:, 5],
            ],
            dim=-1,
        )
        out = self.head(torch.cat([seen, found, away, askew], dim=-1))
        out = out.unflatten(-1, (self.chunk, 7))
        return Told(out[..., :6], out[..., 6], found[:, :5], found[:, 5])

    def _own(self, states: Tensor) -> tuple[Tensor, Tensor]:
        """Return 11 numbers of the state, and cosine and sine of twice the closing direction."""
        place = (states[:, :3] - self.middle) / self.spread
        w, x, y, z = states[:, 3:7].unbind(-1)
        # The hand's y axis, along which the fingers close, seen from above.
        ahead, left = 2.0 * (x * y - w * z), 1.0 - 2.0 * (x * x + z * z)
        angle = torch.stack([ahead * ahead - left * left, 2.0 * ahead * left], dim=-1)
        opening = states[:, 7:]
        fingers = torch.cat(
            [opening / 0.045 - 1.0, torch.tanh(opening / SMALL_OPENING) * 2.0 - 1.0], dim=-1
        )
        return torch.cat([place, states[:, 3:7], angle, fingers], dim=-1), angle


class Exported(nn.Module):
    """What the ONNX file computes: one picture, one text, one state → `chunk x 7` actions."""

    def __init__(self, network: PolicyNetwork) -> None:
        super().__init__()
        self.network = network

    def forward(self, picture: Tensor, words: Tensor, state: Tensor) -> Tensor:
        told = self.network(picture, words, state)
        moves, turns = told.motions[0, :, :3] * MOVE, told.motions[0, :, 3:] * TURN
        gripper = torch.where(told.gripper[0] > 0.0, 1.0, -1.0)
        return torch.cat([moves, turns, gripper[:, None]], dim=-1)
