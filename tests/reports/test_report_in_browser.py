"""The report in a real browser: what its parser makes of hostile text, and how it looks."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from vlmfail.core import Picture
from vlmfail.reports.html import write_report

from .pages import HOSTILE, Page, run_with

NAMES = ("chromium", "chromium-browser", "google-chrome")
BROWSER = next((found for name in NAMES if (found := shutil.which(name))), None)
WIDTH, HEIGHT = 1200, 2000

pytestmark = pytest.mark.skipif(BROWSER is None, reason=f"no browser: none of {', '.join(NAMES)}")


def browse(report: Path, scratch: Path, *flags: str) -> str:
    """Open `report` without a window and without a network; return what is printed."""
    assert BROWSER is not None
    profile = scratch / "profile"
    shutil.rmtree(profile, ignore_errors=True)
    done = subprocess.run(
        [
            BROWSER,
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--disable-quic",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--host-resolver-rules=MAP * ~NOTFOUND",
            f"--user-data-dir={profile}",
            *flags,
            report.as_uri(),
        ],
        capture_output=True,
        check=True,
        timeout=300,
        cwd=scratch,
    )
    return done.stdout.decode("utf-8")


def test_hostile_text_adds_nothing_to_the_parsed_page(tmp_path):
    pages = {}
    for name, text in (("plain", ""), ("hostile", HOSTILE)):
        report = write_report(run_with(tmp_path / name, text))
        pages[name] = Page(browse(report, tmp_path, "--dump-dom"))
    plain, hostile = pages["plain"], pages["hostile"]
    assert hostile.elements == plain.elements
    assert hostile.words.count("onerror=alert(1)") > 10, "shown as text"
    assert sum(tag == "article" for tag, _ in hostile.elements) == 1
    assert "1 failure mode in 2 evaluated candidates" in hostile.words
    assert "5/5 (0.57–1.00)" in hostile.words


def test_it_looks_like_a_page(tmp_path):
    report = write_report(run_with(tmp_path / "run", HOSTILE))
    shot = tmp_path / "shot.png"
    flags = (f"--screenshot={shot}", f"--window-size={WIDTH},{HEIGHT}", "--hide-scrollbars")
    browse(report, tmp_path, *flags)
    pixels = Picture(shot.read_bytes()).pixels
    height, width, _ = pixels.shape
    assert width == WIDTH
    assert 0.8 * HEIGHT <= height <= HEIGHT
    ink = (np.abs(pixels.astype(int) - pixels[0, 0]) > 40).any(axis=2)
    assert 0.01 < ink.mean() < 0.6, "neither blank nor smeared over"
    assert ink[:, 20:-20].any(axis=1).mean() > 0.3, "there is something in most of its height"
    assert not ink[:, -3:].any(), "nothing runs out of the page on the right"
