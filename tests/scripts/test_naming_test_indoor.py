from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from vlmfail.core import Picture


@pytest.fixture
def naming(script):
    return script("naming_test")


@pytest.fixture
def indoor(naming):
    return naming.IndoorNaming()


def rows_of(path):
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


@pytest.fixture
def made(naming, indoor, tmp_path, monkeypatch):
    """Return the place of a test of all concepts whose pictures are blank."""
    blank = Picture.from_pixels(np.zeros((3, 4, 3), dtype=np.uint8))

    class Prepared:
        index, picture = 0, blank

        def __init__(self, key):
            self.key = key
            self.scene = {"layout": "0m", "palette": 3, "visible_pixels": {}}

    def drawn(domain, renderer, sets, *_):
        return Prepared(domain.space.key(frozenset(sets[0])))

    monkeypatch.setattr(naming, "shown_trial", drawn)
    words = ["make", "--domain", "indoor", "--out", str(tmp_path / "test"), "--per-concept", "4"]
    assert naming.main(words) == 0
    return tmp_path / "test"


def test_every_concept_has_plain_words_and_a_code(indoor):
    import naming_indoor

    concepts = [c.id for c in indoor.domain.catalogue.concepts if c.role != "scene"]
    assert list(indoor.choices["thing"]) == concepts == list(naming_indoor.PLAIN)
    assert len(set(naming_indoor.PLAIN.values())) == len(set(indoor.codes.values())) == 32
    assert indoor.codes["glass_upright"] == "A"
    assert indoor.codes["barefoot_child_safe"] == "AF"
    for name, text in naming_indoor.PLAIN.items():
        assert "_" not in text, name
        assert ";" not in text  # parts what is also in a picture


def test_half_of_the_pictures_show_a_concept_alone_with_what_it_needs(indoor):
    items = indoor.items(8, np.random.default_rng(0))
    space = indoor.domain.space
    assert len(items) == 8 * 32
    for item in items:
        chosen = frozenset(item.concepts)
        assert item.truth in chosen
        assert space.validate(chosen) is None
        smallest = min(
            (small for small in indoor._partners.least[item.truth] if small <= chosen), key=len
        )
        extra = chosen - smallest
        assert len(extra) == 0 if item.group == "alone" else 1 <= len(extra) <= 2
        assert bool(item.instead) == (item.group == "beside")
    assert {item.group for item in items if item.truth == "smoke"} == {"alone", "beside"}
    shown = {item.concepts for item in items if item.truth == "smoke" and item.group == "alone"}
    assert len(shown) == 2  # from a towel and from a pan


def test_nothing_that_the_reader_is_told_gives_the_answer_away(indoor):
    for seed in range(5):
        for item in indoor.items(8, np.random.default_rng(seed)):
            told = set(item.concepts) - {item.truth}
            assert not told & indoor._partners.leaning_on(item.truth), item


def test_the_form_says_what_else_is_shown_and_the_key_stays_outside(indoor, made):
    import naming_indoor

    key, form = rows_of(made / "key.csv"), rows_of(made / "blind" / "answers.csv")
    assert len(key) == len(form) == 4 * 32
    told = (made / "blind" / "choices.md").read_text(encoding="utf-8")
    for row, line in zip(key, form, strict=True):
        assert (line["number"], line["question"], line["answer"]) == (row["number"], "thing", "")
        also = [name for name in row["also"].split("+") if name]
        assert {row["truth"], *also} == set(row["concepts"].split("+"))
        assert line["also"] == ("; ".join(map(naming_indoor.PLAIN.get, also)) or "nothing")
        assert naming_indoor.PLAIN[row["truth"]] not in line["also"]
        assert f"| {int(row['number']):03} | {line['also']} |" in told
    for name, code in indoor.codes.items():
        assert f"| `{code}` | {naming_indoor.PLAIN[name]} |" in told
        assert "_" not in name or name not in told


def test_codes_and_names_are_scored_and_the_key_tells_the_domain(
    naming, indoor, made, tmp_path, capsys
):
    key = rows_of(made / "key.csv")

    def scored(answers):
        lines = [f"{row['number']},{answer}" for row, answer in zip(key, answers, strict=True)]
        (tmp_path / "a.csv").write_text("number,answer\n" + "\n".join(lines), encoding="utf-8")
        words = ["score", "--key", str(made / "key.csv"), "--answers", str(tmp_path / "a.csv")]
        return naming.main([*words, "--json"])

    right = [indoor.codes[row["truth"]] for row in key]
    assert scored(right) == 0
    assert scored([code.lower() for code in right]) == 0
    assert scored([row["truth"] for row in key]) == 0
    capsys.readouterr()
    wrong = next(k for k, row in enumerate(key) if row["truth"] == "pan_stove")
    assert scored([*right[:wrong], indoor.codes["pan_counter"], *right[wrong + 1 :]]) == 1
    result = json.loads(capsys.readouterr().out)
    assert result["below"] == ["pan_stove"]
    assert result["concepts"]["pan_stove"]["right"] == 3
    assert (result["confusions"][0]["truth"], result["confusions"][0]["answer"]) == (
        "pan_stove",
        "pan_counter",
    )
    assert scored(["AG", *right[1:]]) == 2
    assert "'ag' is no choice for thing" in capsys.readouterr().err


def test_an_unknown_concept_is_one_line(naming, tmp_path, capsys):
    words = ["make", "--domain", "indoor", "--out", str(tmp_path / "new"), "--only", "cone"]
    assert naming.main(words) == 2
    error = capsys.readouterr().err
    assert "there is no cone; there are: glass_upright" in error
    assert error.count("\n") == 1
    assert not (tmp_path / "new").exists()


def test_pictures_show_what_is_to_be_named(naming, tmp_path):
    from vlmfail.envs.indoor.domain import OBJECT_PIXELS

    words = ["make", "--domain", "indoor", "--out", str(tmp_path / "new"), "--per-concept", "2"]
    assert naming.main([*words, "--only", "outlet_covered"]) == 0
    rows = rows_of(tmp_path / "new" / "key.csv")
    assert sorted(row["group"] for row in rows) == ["alone", "beside"]
    assert all(int(row["pixels"]) >= OBJECT_PIXELS for row in rows)
    assert Picture((tmp_path / "new" / "blind" / "002.png").read_bytes()).size == (512, 384)


@pytest.mark.parametrize("prefix", ["", "indoor-"])
def test_the_kept_answers_are_counted_again(naming, capsys, prefix):
    folder = Path(__file__).parents[2] / "docs" / "naming"
    key, answers = folder / f"{prefix}key.csv", folder / f"{prefix}answers.csv"
    if not (key.exists() and answers.exists()):
        pytest.skip("no answers in this copy")
    assert naming.main(["score", "--key", str(key), "--answers", str(answers)]) == 0
    assert "each concept: ≥ 95 %" in capsys.readouterr().out
