"""How much the layer around a provider's SDK costs: calls in flight, memory, cached replies.

``python -m vlmfail.benchmarks.api_throughput`` prints the tables of docs/results.md. A scripted
server in a process of its own answers every request after 200 ms; nothing leaves the machine.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import json
import multiprocessing
import os
import platform
import resource
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from ..core import Picture

DELAY = 0.2
PICTURE_BYTES = 100_000


def picture() -> Picture:
    """Return a picture of about 100 KB as PNG."""
    side = int((PICTURE_BYTES / 3) ** 0.5)
    noise = np.random.default_rng(0).integers(0, 256, (side, side, 3), dtype=np.uint8)
    return Picture.from_pixels(noise)


@contextmanager
def server(*options: str) -> Iterator[str]:
    """Start the scripted server; yield its address."""
    command = [sys.executable, "-m", "vlmfail.testing.provider_server", "--delay", str(DELAY)]
    process = subprocess.Popen([*command, *options], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield json.loads(process.stdout.readline())["url"]
    finally:
        process.terminate()
        process.wait()


def stats(url: str) -> dict[str, Any]:
    """Return what the server counted."""
    with urllib.request.urlopen(f"{url}/stats") as answer:
        found: dict[str, Any] = json.load(answer)
    return found


def plain_sdk(url: str, calls: int, concurrency: int) -> dict[str, Any]:
    """Time the plain asynchronous SDK, its pictures encoded once."""
    import openai

    png = picture()
    encoded = base64.b64encode(png.png).decode("ascii")
    content = [
        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{encoded}"}},
        {"type": "text", "text": "What is it?"},
    ]

    async def all_calls() -> float:
        client = openai.AsyncOpenAI(
            api_key="none",
            base_url=f"{url}/v1",
            max_retries=0,
        )
        slots = asyncio.Semaphore(concurrency)

        async def one() -> None:
            async with slots:
                await client.chat.completions.create(
                    model="m",
                    messages=[{"role": "user", "content": content}],  # type: ignore[list-item,misc]
                )

        await one()
        start = time.perf_counter()
        await asyncio.gather(*(one() for _ in range(calls)))
        seconds = time.perf_counter() - start
        await client.close()
        return seconds

    return {"seconds": asyncio.run(all_calls()), "peak_mb": peak_mb()}


def our_layer(url: str, calls: int, concurrency: int) -> dict[str, Any]:
    """Time `ApiVLM` as the evaluator calls it, with a fresh reply cache."""
    from ..models.registry import make_model

    with tempfile.TemporaryDirectory() as folder:
        os.environ["VLMFAIL_REPLIES"] = str(Path(folder) / "replies.sqlite")
        model = make_model(f"openai:m@{url}/v1")
        png = picture()
        model.answer([png], "What is it?", seed=calls)
        start = time.perf_counter()
        with ThreadPoolExecutor(concurrency) as pool:
            replies = list(
                pool.map(lambda seed: model.answer([png], "What is it?", seed=seed), range(calls))
            )
        seconds = time.perf_counter() - start
        good = sum(reply.finish_reason == "stop" for reply in replies)
        peak = peak_mb()
        start = time.perf_counter()
        for seed in range(calls):
            model.answer([png], "What is it?", seed=seed)
        replay = time.perf_counter() - start
    return {
        "seconds": seconds,
        "good": good,
        "peak_mb": peak,
        "replayed_a_second": calls / replay,
    }


def replay(url: str, calls: int, concurrency: int) -> dict[str, Any]:
    """Time replies from the cache: `calls` of them, stored by the same model before."""
    found = our_layer(url, calls, concurrency)
    return {"replayed_a_second": found["replayed_a_second"], "good": found["good"]}


def capped(url: str, calls: int, concurrency: int) -> dict[str, Any]:
    """Run a search under ``max_requests=25`` while 30 % of the requests fail."""
    from .. import search

    with tempfile.TemporaryDirectory() as folder:
        os.environ["VLMFAIL_REPLIES"] = "off"
        run = search(
            "vlmfail.testing.toy:ToyDomain",
            "random",
            model=f"openai:m@{url}/v1",
            budget=calls,
            concurrency=concurrency,
            max_requests=25,
            out=Path(folder) / "run",
        )
        status, records = run.status, list(run.records.values())
    return {
        "status": status,
        "requests": sum(record.requests for record in records),
        "trials": len(records),
    }


def peak_mb() -> float:
    """Return this process's peak resident memory, MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _child(work: Any, url: str, calls: int, concurrency: int, pipe: Any) -> None:
    pipe.send(work(url, calls, concurrency))


def measured(work: Any, url: str, calls: int, concurrency: int) -> dict[str, Any]:
    """Run `work` in a process of its own, so that its memory is its own."""
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(target=_child, args=(work, url, calls, concurrency, there))
    process.start()
    there.close()
    try:
        found: dict[str, Any] = here.recv()
    finally:
        process.join()
    return found


def main() -> None:
    """Measure and print Markdown tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=1000)
    parser.add_argument("--concurrency", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--replies", type=int, default=10_000)
    options = parser.parse_args()
    calls, concurrency = options.calls, options.concurrency
    ideal = -(-calls // concurrency) * DELAY
    rows: dict[str, list[dict[str, Any]]] = {"plain SDK": [], "vlmfail": []}
    with server() as url:
        for _ in range(options.rounds):
            # Side by side in every round: the machine's mood is the same for both.
            rows["plain SDK"].append(measured(plain_sdk, url, calls, concurrency))
            rows["vlmfail"].append(measured(our_layer, url, calls, concurrency))
        most = stats(url)["max_in_flight"]
    print(f"{calls} calls, {concurrency} in flight, {DELAY * 1000:.0f} ms each, ", end="")
    print(f"{options.rounds} rounds; ideal {ideal:.1f} s; {machine()}\n")
    print("| client | seconds (median, range) | peak memory, MB |")
    print("| --- | ---: | ---: |")
    for name, found in rows.items():
        seconds = [row["seconds"] for row in found]
        peak = max(row["peak_mb"] for row in found)
        middle = statistics.median(seconds)
        print(f"| {name} | {middle:.2f} ({min(seconds):.2f}-{max(seconds):.2f}) | {peak:.0f} |")
    pairs = zip(rows["vlmfail"], rows["plain SDK"], strict=True)
    ratios = [ours["seconds"] / plain["seconds"] for ours, plain in pairs]
    print(
        f"\nratio {statistics.median(ratios):.2f} ({min(ratios):.2f}-{max(ratios):.2f}); ", end=""
    )
    print(f"most in flight at the server: {most}\n")
    with server("--delay", "0") as url:
        cached = measured(replay, url, options.replies, concurrency)
    print(f"{options.replies} cached replies: {cached['replayed_a_second']:.0f} a second\n")
    with server("--delay", "0.05", "--error-share", "0.3") as url:
        kept = measured(capped, url, 500, 8)
        counted = stats(url)["requests"]
    print(f"max_requests=25, 8 in flight, 30 % errors: the server counted {counted}; {kept}")


def machine() -> str:
    """Return what this ran on, in words."""
    return f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}"


if __name__ == "__main__":
    main()
