"""Data folders of both question domains: what is misspelt, damaged or no data is told."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from vlmfail.core import UnknownNameError, UsageError
from vlmfail.envs.driving.catalogue import DATA as ROAD
from vlmfail.envs.driving.domain import DrivingDomain
from vlmfail.envs.driving.prompt import prompt
from vlmfail.envs.indoor.catalogue import DATA as KITCHEN
from vlmfail.envs.indoor.domain import IndoorDomain
from vlmfail.envs.indoor.questions import questions

Change = Callable[[Any], object]

DOMAINS = {"driving": (DrivingDomain, ROAD), "indoor": (IndoorDomain, KITCHEN)}
both = pytest.mark.parametrize("domain", DOMAINS)


def copied(packaged: Path, folder: Path, name: str, change: Change = lambda _: None) -> Any:
    data = json.loads((packaged / name).read_text(encoding="utf-8"))
    change(data)
    (folder / name).write_text(json.dumps(data), encoding="utf-8")
    return data


def refusal(make: Callable[..., object], folder: object, **options: Any) -> str:
    with pytest.raises(UsageError) as caught:
        make(folder, **options)
    text = str(caught.value)
    assert "\n" not in text
    return text


# -- the folder -----------------------------------------------------------------------------------


@both
def test_a_folder_that_replaces_nothing_is_told(domain: str, tmp_path: Path) -> None:
    make, _ = DOMAINS[domain]
    assert "holds none of the files" in refusal(make, tmp_path)
    (tmp_path / "notes.txt").write_text("x")
    assert "rules.json" in refusal(make, tmp_path)


@both
@pytest.mark.parametrize("name", ["rule.json", "RULES.json", "questions_.json", "x.JSON"])
def test_a_misspelt_file_is_told(domain: str, name: str, tmp_path: Path) -> None:
    make, packaged = DOMAINS[domain]
    copied(packaged, tmp_path, "catalogue.json")
    make(tmp_path)
    (tmp_path / name).write_text("{}")
    said = refusal(make, tmp_path)
    assert name in said
    assert "rules.json" in said


@both
def test_other_files_may_lie_there(domain: str, tmp_path: Path) -> None:
    make, packaged = DOMAINS[domain]
    copied(packaged, tmp_path, "rules.json")
    for name in ("README.md", "rules.json.bak", "._rules.json"):
        (tmp_path / name).write_text("x")
    make(tmp_path)


@both
def test_a_link_that_leads_nowhere_is_not_replaced_by_ours(domain: str, tmp_path: Path) -> None:
    make, _ = DOMAINS[domain]
    (tmp_path / "rules.json").symlink_to(tmp_path / "gone")
    assert "rules.json cannot be read" in refusal(make, tmp_path)


def test_what_is_no_path_is_told() -> None:
    for data in (5, b"x", ""):
        assert "expected the path of a folder" in refusal(DrivingDomain, data)
    assert "not a folder" in refusal(DrivingDomain, "a\0b")


# -- a file ---------------------------------------------------------------------------------------


@both
@pytest.mark.parametrize("name", ["catalogue.json", "rules.json"])
def test_a_file_that_cannot_be_read_is_told(domain: str, name: str, tmp_path: Path) -> None:
    make, _ = DOMAINS[domain]
    path = tmp_path / name
    for content in (b"\xff\xfe\x00", b"", b"[" * 100_000, b"[]", b"NaN"):
        path.write_bytes(content)
        assert name in refusal(make, tmp_path)
    path.unlink()
    path.mkdir()
    assert f"{name} cannot be read" in refusal(make, tmp_path)


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_a_file_without_permission_is_told(tmp_path: Path) -> None:
    copied(KITCHEN, tmp_path, "rules.json")
    (tmp_path / "rules.json").chmod(0)
    assert "rules.json cannot be read" in refusal(IndoorDomain, tmp_path)


@both
def test_a_byte_order_mark_is_no_fault(domain: str, tmp_path: Path) -> None:
    make, packaged = DOMAINS[domain]
    text = (packaged / "rules.json").read_bytes()
    (tmp_path / "rules.json").write_bytes(b"\xef\xbb\xbf" + text)
    assert make(tmp_path).identity() == make().identity()


@both
def test_an_edit_that_leaves_time_and_size_is_seen(domain: str, tmp_path: Path) -> None:
    make, packaged = DOMAINS[domain]
    seen = []
    for version in ("1", "2"):
        copied(packaged, tmp_path, "rules.json", lambda data, v=version: data.update(version=v))
        os.utime(tmp_path / "rules.json", ns=(10**18, 10**18))
        seen.append(make(tmp_path).identity()["rules"])
    assert seen == ["1", "2"]


def test_a_file_of_foreign_words_is_told_in_bounded_ones(tmp_path: Path) -> None:
    (tmp_path / "rules.json").write_text(json.dumps({"x" * 10**6: 1, "\x1b[31m": 2}))
    said = refusal(IndoorDomain, tmp_path)
    assert len(said) < 1000
    assert "\x1b" not in said


# -- roles ----------------------------------------------------------------------------------------


def _first(data: Any, key: str) -> Any:
    return next(rule for rule in data["validity"] if rule.get(key))


@both
@pytest.mark.parametrize("key", ["at_most_one", "needs_any", "when"])
def test_a_role_of_no_concept_is_told(domain: str, key: str, tmp_path: Path) -> None:
    make, packaged = DOMAINS[domain]
    copied(packaged, tmp_path, "rules.json", lambda d: _first(d, key).update({key: ["role:chld"]}))
    with pytest.raises(UnknownNameError, match="unknown role 'chld'"):
        make(tmp_path)


@pytest.mark.parametrize("key", ["requires", "forbids", "elements", "deciding"])
def test_a_role_of_no_concept_in_the_library_is_told(key: str, tmp_path: Path) -> None:
    value = ["role:children"] if key == "forbids" else [["smoke", "role:children"]]
    copied(KITCHEN, tmp_path, "rules.json", lambda d: d["library"][0].update({key: value}))
    with pytest.raises(UnknownNameError, match=r"'children'.*child"):
        IndoorDomain(tmp_path)


def test_a_role_of_no_concept_in_a_forbidding_rule_is_told(tmp_path: Path) -> None:
    for key in ("when", "forbids"):
        copied(
            KITCHEN,
            tmp_path,
            "rules.json",
            lambda d, k=key: _first(d, "forbids").update({k: ["role:nobody"]}),
        )
        with pytest.raises(UnknownNameError, match="nobody"):
            IndoorDomain(tmp_path)


def test_a_role_of_no_concept_in_the_statements_is_told(tmp_path: Path) -> None:
    copied(
        ROAD, tmp_path, "recognition.json", lambda d: d["statements"][0].update(about=["role:x"])
    )
    with pytest.raises(UnknownNameError, match="unknown role 'x'"):
        DrivingDomain(tmp_path, recognition=True)


def test_a_condition_that_its_rule_does_not_read_is_told(tmp_path: Path) -> None:
    for make, packaged in DOMAINS.values():
        copied(
            packaged,
            tmp_path,
            "rules.json",
            lambda d: _first(d, "at_most_one").update(when=["role:x"]),
        )
        assert "takes no `when`" in refusal(make, tmp_path)
    copied(KITCHEN, tmp_path, "rules.json", lambda d: _first(d, "forbids").pop("when"))
    assert "what it must not stand beside" in refusal(IndoorDomain, tmp_path)


# -- concept ids ----------------------------------------------------------------------------------


@both
@pytest.mark.parametrize(
    "name",
    ["", " ", "a+b", "a,b", "a b", "{a}", "role:child", "../x", "A", "1a", "a\n", "é", "x" * 61],
)
def test_an_id_that_would_be_misread_is_told(domain: str, name: str, tmp_path: Path) -> None:
    make, packaged = DOMAINS[domain]
    copied(packaged, tmp_path, "catalogue.json", lambda d: d["concepts"][1].update(id=name))
    assert "catalogue.json: concepts.1.id" in refusal(make, tmp_path)


@both
def test_an_id_that_reads_as_another_with_an_index_is_told(domain: str, tmp_path: Path) -> None:
    make, packaged = DOMAINS[domain]
    data = copied(packaged, tmp_path, "catalogue.json")
    double = f"{data['concepts'][1]['id']}_0"
    copied(packaged, tmp_path, "catalogue.json", lambda d: d["concepts"][2].update(id=double))
    assert f"{double} could be read as" in refusal(make, tmp_path)


# -- options --------------------------------------------------------------------------------------

OPTIONS = ["", "  ", "x\nB) y", "x\u2028y", "\u202ex", "\x1b[31m", "\u200b"]


@pytest.mark.parametrize("text", OPTIONS)
def test_an_option_is_one_printable_line(text: str, tmp_path: Path) -> None:
    for key in ("hazard", "safe"):
        copied(
            KITCHEN,
            tmp_path,
            "questions.json",
            lambda d, k=key: d["questions"][0].update({k: text}),
        )
        assert f"questions.0.{key}" in refusal(questions, tmp_path)
    (tmp_path / "questions.json").unlink()
    copied(ROAD, tmp_path, "prompt.json", lambda d: d["options"][1].update(text=text))
    assert "options.1.text" in refusal(prompt, tmp_path)


@pytest.mark.parametrize("other", ["Yes, it is.", "YES, it is.", " Yes,  it is.", "Ｙes, it is."])
def test_options_differ(other: str, tmp_path: Path) -> None:
    same = {"hazard": "Yes, it is.", "safe": other}
    copied(KITCHEN, tmp_path, "questions.json", lambda d: d["questions"][0].update(same))
    assert "say the same" in refusal(questions, tmp_path)
    (tmp_path / "questions.json").unlink()

    def change(data: Any) -> None:
        data["options"][0]["text"], data["options"][2]["text"] = same.values()

    copied(ROAD, tmp_path, "prompt.json", change)
    assert "say the same" in refusal(prompt, tmp_path)


@pytest.mark.parametrize("change", [{"text": []}, {"text": [" "]}, {"reply_format": ""}])
def test_a_question_says_something(change: dict[str, Any], tmp_path: Path) -> None:
    def asked(data: Any) -> None:
        (data["questions"][0] if "text" in change else data).update(change)

    copied(KITCHEN, tmp_path, "questions.json", asked)
    refusal(questions, tmp_path)
    (tmp_path / "questions.json").unlink()
    copied(ROAD, tmp_path, "prompt.json", lambda d: d.update(change))
    refusal(prompt, tmp_path)
