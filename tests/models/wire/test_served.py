"""Our own API path against our own server: the search must not tell the difference."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from vlmfail import search

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")


def test_a_search_through_serve_equals_the_one_in_process(tmp_path, monkeypatch):
    monkeypatch.setenv("VLMFAIL_PICTURES", str(tmp_path / "pictures"))
    options = {"budget": 12, "trials": 2, "seed": 5}
    inside = search("VLMFail-Driving-v0", "random", out=tmp_path / "in", **options)
    command = [sys.executable, "-m", "vlmfail", "serve", "tiny-vlm", "--port", "0", "--json"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        said = ""
        while not said.rstrip().endswith("}"):
            said += process.stdout.readline()
        model = f"openai:tiny-vlm@{json.loads(said)['url']}"
        served = search(
            "VLMFail-Driving-v0",
            "random",
            model=model,
            concurrency=4,
            out=tmp_path / "s",
            **options,
        )
    finally:
        process.terminate()
        assert process.wait(timeout=20) == 0
    assert [e.candidate for e in served.evaluations] == [e.candidate for e in inside.evaluations]
    assert [e.new for e in served.evaluations] == [e.new for e in inside.evaluations]
    assert served.metrics == inside.metrics
    assert sum(record.requests for record in served.records.values()) == 12
