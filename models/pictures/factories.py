"""From a spec to what draws, one function a prefix; each imports its library only when called."""

from __future__ import annotations

from .sources import DescribedCatalogue, PictureSource
from .specs import PictureSpec


def google_image(spec: PictureSpec, catalogue: DescribedCatalogue) -> PictureSource:
    """Google's Gemini image models: google-image:MODEL."""
    from .google import google_pictures

    return google_pictures(spec)


def openai_image(spec: PictureSpec, catalogue: DescribedCatalogue) -> PictureSource:
    """OpenAI's image models, or any server with their format: openai-image:MODEL[@URL]."""
    from .openai import openai_pictures

    return openai_pictures(spec)


def diffusers(spec: PictureSpec, catalogue: DescribedCatalogue) -> PictureSource:
    """A text-to-image pipeline on this machine: diffusers:PATH_OR_ID."""
    from .diffusers import DiffusersPictures

    return DiffusersPictures(spec)


def folder(spec: PictureSpec, catalogue: DescribedCatalogue) -> PictureSource:
    """Your own pictures, one folder a concept set: folder:PATH."""
    from .folder import FolderPictures

    return FolderPictures(spec, catalogue)
