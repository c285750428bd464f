"""A stand-in for wandb that can hang, fail and end early, as FAKE_WANDB says.

What it is told goes to calls.jsonl in the W&B folder.
"""

import json
import os
import sys
import time
from pathlib import Path

FAULT = os.environ.get("FAKE_WANDB", "")


class Settings:
    model_fields = ("console", "x_disable_meta", "init_timeout")

    def __init__(self, **values):
        self.values = values


class Image:
    def __init__(self, path):
        self.path = path


class Table:
    def __init__(self, columns):
        self.columns, self.rows = columns, []

    def add_data(self, *row):
        self.rows.append([cell.path if isinstance(cell, Image) else cell for cell in row])


class Values(dict):
    def update(self, values, **_):
        super().update(values)


class Run:
    def __init__(self, folder, starting_step):
        self.dir = str(folder / "files")
        self.file = folder / "calls.jsonl"
        self.starting_step = starting_step
        self.config, self.summary = Values(), Values()

    def tell(self, **what):
        with self.file.open("a") as file:
            file.write(json.dumps(what) + "\n")

    def define_metric(self, name, **options):
        self.tell(metric=name, **options)

    def log(self, row, step):
        if FAULT == "hang in log":
            time.sleep(1000)
        if FAULT == "die in log":
            os._exit(9)
        tables = {k: [v.columns, v.rows] for k, v in row.items() if isinstance(v, Table)}
        self.tell(step=step, row={**row, **tables})

    def finish(self, exit_code):
        if FAULT == "hang in finish":
            time.sleep(1000)
        self.tell(finish=exit_code, config=self.config, summary=self.summary)


def init(*, dir, mode, id, settings, **names):
    if mode != "offline" and FAULT == "hang in init":
        time.sleep(1000)
    if mode != "offline" and FAULT == "no key":
        raise ValueError(f"bad key {os.environ.get('WANDB_API_KEY')}")
    print("chatter", flush=True)
    kind = "offline-run" if mode == "offline" else "run"
    folder = Path(dir) / "wandb" / f"{kind}-20260101_000000-{id}"
    folder.mkdir(parents=True)
    if FAULT != "full disk":
        (folder / f"run-{id}.wandb").touch()
    run = Run(folder, int(os.environ.get("FAKE_WANDB_STEP", 0)))
    run.tell(init=mode, id=id, env=sorted(os.environ), settings=settings.values, **names)
    return run


def teardown():
    pass


if FAULT == "fail to load":
    sys.exit("broken")
