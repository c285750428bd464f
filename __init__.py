"""vlmfail: interpretable failure modes of vision-language models and policies."""

from __future__ import annotations

__version__ = "0.1.0"
