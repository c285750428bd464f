"""The files of a naming test: its key and the readers' answers."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from vlmfail.core import UsageError

MAX_TABLE_BYTES = 16 * 1024 * 1024


@dataclass(frozen=True)
class Item:
    """One picture to name.

    Attributes:
        question: What is asked.
        truth: What is right.
        group: What its share is counted under, besides the concept.
        concepts: The set that is drawn.
        named: The concept that must be seen.
        instead: Sets that are drawn when nothing of `concepts` finds a place.
    """

    question: str
    truth: str
    group: str
    concepts: tuple[str, ...]
    named: str
    instead: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True)
class KeyRow:
    """One line of the key of a driving test; `seed` and `trial` give the scene again."""

    number: int
    question: str
    truth: str
    group: str
    weather: str
    town: str
    concepts: str
    seed: int
    trial: int
    pixels: int


@dataclass(frozen=True)
class IndoorKeyRow:
    """One line of the key of an indoor test; `also` names the concepts that the reader is told."""

    number: int
    question: str
    truth: str
    group: str
    also: str
    layout: str
    palette: str
    concepts: str
    seed: int
    trial: int
    pixels: int


Row = KeyRow | IndoorKeyRow
NUMBERS = ("number", "seed", "trial", "pixels")


def columns(row: type[Row]) -> list[str]:
    """Return the head of a key."""
    return [field.name for field in fields(row)]


def is_key_of(path: Path, row: type[Row]) -> bool:
    """Tell whether the head of a file is that of a key of this kind."""
    try:
        with path.open(encoding="utf-8-sig") as file:
            head = file.readline(4096).strip().split(",")
    except (OSError, UnicodeDecodeError):
        return False
    return set(columns(row)) <= set(head)


def read_key(path: Path, kind: type[Row], known: Mapping[str, Mapping[str, str]]) -> list[Row]:
    """Return the lines of a key.

    Args:
        path: The file.
        kind: The lines' class.
        known: By question, the names that are right answers to it.

    Raises:
        UsageError: The file is no key.
    """
    rows: dict[int, Row] = {}
    for line in read_columns(path, columns(kind)):
        numbers = {}
        for name in NUMBERS:
            if not re.fullmatch(r"[0-9]{1,20}", line[name]):
                raise UsageError(f"{path}: {name}: {quoted(line[name])} is no number")
            numbers[name] = int(line[name])
        row = kind(**{**line, **numbers})
        if row.truth not in known.get(row.question, ()):
            raise UsageError(
                f"{path}: picture {row.number}: {quoted(row.truth)} is no choice for "
                f"{quoted(row.question)}"
            )
        if row.number in rows:
            raise UsageError(f"{path}: picture {row.number} occurs twice")
        rows[row.number] = row
    if not rows:
        raise UsageError(f"{path}: there is no picture")
    return list(rows.values())


def read_answers(
    path: Path,
    key: Sequence[Row],
    known: Mapping[str, Mapping[str, str]],
    aliases: Mapping[str, str],
    partial: bool,
) -> dict[int, str]:
    """Return the answer of each number.

    Args:
        path: The form as filled in.
        key: The key.
        known: By question, the names to choose from.
        aliases: By what a reader may write in lower case, the name.
        partial: Whether pictures may have no answer.

    Raises:
        UsageError: A picture has no answer, two, or one that is no choice of its question; the
            form is that of another test.
    """
    questions = {str(row.number): row.question for row in key}
    answers: dict[int, str] = {}
    for line in read_columns(path, ("number", "answer"), ("question",)):
        if not any(cell.strip() for cell in line.values()):
            continue  # spreadsheets leave empty rows
        number = line["number"].strip().lstrip("0")
        text = line["answer"].strip().strip("`").lower()
        if number not in questions:
            raise UsageError(f"{path}: the key has no picture {quoted(line['number'])}")
        asked = line.get("question", "").strip()
        if asked not in ("", questions[number]):
            raise UsageError(
                f"{path}: picture {number} is asked for {quoted(asked)}, the key has "
                f"{questions[number]}: these are the answers to another test"
            )
        if not text:
            continue
        question, name = questions[number], aliases.get(text, text)
        if name not in known[question]:
            raise UsageError(
                f"{path}: picture {number}: {quoted(text)} is no choice for {question}; there are: "
                f"{', '.join(known[question])}"
            )
        if int(number) in answers:
            raise UsageError(f"{path}: picture {number} is answered twice")
        answers[int(number)] = name
    missing = [str(row.number) for row in key if row.number not in answers]
    if missing and not (partial and answers):
        more = ", …" if len(missing) > 10 else ""
        raise UsageError(
            f"{path}: {len(missing)} of {len(key)} pictures have no answer: "
            f"{', '.join(missing[:10])}{more} (--partial leaves them out)"
        )
    return answers


def write_table(path: Path, head: Sequence[str], lines: Sequence[Sequence[Any]]) -> None:
    """Write a CSV file."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(head)
        writer.writerows(lines)


def read_columns(
    path: Path, names: Sequence[str], more: Sequence[str] = ()
) -> list[dict[str, str]]:
    """Return the columns `names`, and those of `more` that there are, of a CSV file."""
    try:
        with path.open("rb") as file:
            data = file.read(MAX_TABLE_BYTES + 1)
        if len(data) > MAX_TABLE_BYTES:
            raise UsageError(f"{path}: it is larger than {MAX_TABLE_BYTES >> 20} MiB")
        text = io.StringIO(data.decode("utf-8-sig"), newline="")
        reader = csv.DictReader(text, restkey="", restval="")
        head = list(reader.fieldnames or ())
        absent = [name for name in names if name not in head]
        if absent:
            raise UsageError(
                f"{path}: there is no column {', '.join(absent)} "
                "(columns are parted by commas, the first line names them)"
            )
        wanted = [*names, *(name for name in more if name in head)]
        for name in wanted:
            if head.count(name) > 1:
                raise UsageError(f"{path}: there are several columns {name}")
        lines = []
        for line in reader:
            if any(cell.strip() for cell in line.get("") or ()):
                raise UsageError(f"{path}: line {reader.line_num} has more cells than the head")
            lines.append({name: line[name] for name in wanted})
        return lines
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise UsageError(f"{path}: {getattr(error, 'strerror', None) or error}") from error


def quoted(text: str) -> str:
    """Return a foreign text for an error."""
    return repr(text if len(text) <= 60 else text[:60] + "…")
