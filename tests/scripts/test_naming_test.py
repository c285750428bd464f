from __future__ import annotations

import csv
import json
from dataclasses import astuple, replace

import numpy as np
import pytest

from vlmfail.core import Picture, UsageError
from vlmfail.envs.driving.domain import LAMP_PIXELS, OBJECT_PIXELS, DrivingDomain
from vlmfail.envs.trials import prepare_trial


@pytest.fixture
def naming(script):
    return script("naming_test")


@pytest.fixture
def asked(naming):
    import naming_driving

    return naming_driving


@pytest.fixture(scope="module")
def catalogue():
    return DrivingDomain().catalogue


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Return a place for one small test, made once."""
    return tmp_path_factory.mktemp("naming") / "test"


ONLY = ["cone", "debris", "light_green", "intersection_ego", "weather_foggy", "town_town02"]


@pytest.fixture
def small(naming, made):
    if not (made / "key.csv").exists():
        assert naming.main(["make", "--out", str(made), "--seed", "4", "--per-concept", "1",
                            "--only", *ONLY]) == 0  # fmt: skip
    return made


def rows_of(path):
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def key_of(naming, *truths):
    """Return a key without pictures: (question, truth, group) each."""
    import naming_tables as tables

    return [
        tables.KeyRow(n, question, truth, group, "daylight", "town01", truth, 0, 0, 99)
        for n, (question, truth, group) in enumerate(truths, start=1)
    ]


def write_key(naming, path, key):
    import naming_tables as tables

    tables.write_table(path, tables.columns(type(key[0])), [astuple(row) for row in key])


def write_answers(path, answers):
    lines = [f"{number},{answer}" for number, answer in answers.items()]
    path.write_text("number,answer\n" + "\n".join(lines) + "\n", encoding="utf-8")


# -- what is asked -------------------------------------------------------------------------------


def test_every_concept_that_shows_something_has_a_name(asked, catalogue):
    choices = asked.choices(catalogue)
    named = {name for names in choices.values() for name in names}
    for concept in catalogue.concepts:
        if concept.role == "modifier":
            assert concept.id not in named
        else:
            assert asked.name_of(concept) in choices[asked.question_of(concept)]
    assert [len(names) for names in choices.values()] == [15, 6, 2]
    assert "debris" in choices["object"]
    assert "debris_near" not in named


def test_descriptions_of_choices_give_no_distance(asked, catalogue):
    for names in asked.choices(catalogue).values():
        for name, text in names.items():
            assert text.endswith("."), name
            assert not {"m", "ego"} & set(text.split()), name
            assert not any(digit in text.replace("Town0", "") for digit in "3456789"), name


def test_each_name_is_asked_equally_often_near_and_far(asked, catalogue):
    items = asked.items(catalogue, 6, np.random.default_rng(0))
    counts = {}
    for item in items:
        counts[item.truth, item.group] = counts.get((item.truth, item.group), 0) + 1
    assert set(counts.values()) == {6}
    kinds = {concept.kind for concept in catalogue.by_role("obstacle")}
    movable = {concept.id for concept in catalogue.by_role("movable")}
    for name in kinds | movable:
        assert (name, "near") in counts
        assert (name, "far") in counts
    cones = [item for item in items if item.truth == "cone" and item.group == "near"]
    assert 0 < sum("near" in item.concepts for item in cones) < len(cones)


def test_objects_have_unnamed_daylight_mostly_and_other_weathers_sometimes(asked, catalogue):
    weathers = {concept.id for concept in catalogue.by_role("weather")}
    items = asked.items(catalogue, 10, np.random.default_rng(1))
    objects = [item for item in items if item.question == "object"]
    skies = [sky for item in objects for sky in weathers & set(item.concepts)]
    assert 0.2 * len(objects) < len(skies) < 0.5 * len(objects)
    assert set(skies) == weathers
    for item in items:
        assert len(weathers & set(item.concepts)) <= 1
        if item.question == "weather":
            assert item.concepts == (item.truth,)


# -- make ----------------------------------------------------------------------------------------


def test_the_blind_folder_holds_pictures_form_and_choices_alone(small, catalogue):
    blind = small / "blind"
    key = rows_of(small / "key.csv")
    assert sorted(path.name for path in small.iterdir()) == ["blind", "key.csv"]
    pictures = [f"{n:03}.png" for n in range(1, len(key) + 1)]
    sheets = [f"sheet-{n}.png" for n in (1, 2, 3, 4)]  # 6 objects, 1 weather, 1 town; 4 a sheet
    assert sorted(path.name for path in blind.iterdir()) == sorted(
        [*pictures, *sheets, "answers.csv", "choices.md"]
    )
    form = rows_of(blind / "answers.csv")
    assert [(row["number"], row["question"]) for row in form] == [
        (row["number"], row["question"]) for row in key
    ]
    assert {row["answer"] for row in form} == {""}
    told = (blind / "choices.md").read_text(encoding="utf-8")
    assert "`police_pedestrian`" in told
    assert "`weather_wet`" in told


def test_pictures_are_full_size_alone_and_on_sheets(small):
    single = Picture((small / "blind" / "001.png").read_bytes())
    assert single.size == (512, 384)
    sheet = Picture((small / "blind" / "sheet-1.png").read_bytes()).pixels
    assert (sheet[8 : 8 + 384, 8 : 8 + 512] == single.pixels).all()


def test_the_key_gives_each_picture_again(small):
    domain = DrivingDomain()
    renderer = domain.make_renderer("embree")
    for row in rows_of(small / "key.csv")[:2]:
        candidate = domain.space.parse(row["concepts"])
        trial = prepare_trial(domain, renderer, candidate, int(row["trial"]), int(row["seed"]))
        shown = Picture((small / "blind" / f"{int(row['number']):03}.png").read_bytes())
        assert (trial.picture.pixels == shown.pixels).all()
        assert trial.scene["town"] == row["town"]


def test_what_is_to_be_named_is_visible(small):
    rows = {(row["truth"], row["group"]): row for row in rows_of(small / "key.csv")}
    for group in ("near", "far"):
        assert int(rows["cone", group]["pixels"]) >= OBJECT_PIXELS
        assert int(rows["debris", group]["pixels"]) >= OBJECT_PIXELS
    assert int(rows["light_green", "junction"]["pixels"]) >= LAMP_PIXELS
    assert int(rows["cone", "far"]["pixels"]) < int(rows["cone", "near"]["pixels"])


def test_a_thing_that_does_not_decide_must_be_visible_too(naming, monkeypatch):
    import shown_trials

    class Prepared:
        note = ""

        def __init__(self, index, pixels):
            self.index, self.picture = index, object()
            self.scene = {"visible_pixels": {"light_green": pixels}}

    shown = [LAMP_PIXELS - 1, LAMP_PIXELS - 1, LAMP_PIXELS, 500]
    monkeypatch.setattr(
        shown_trials, "prepare_trial", lambda d, r, c, index, s: Prepared(index, shown[index])
    )
    driving = naming.DrivingNaming()
    needed = driving.needed("light_green")
    taken = {}

    def drawn():
        return shown_trials.shown_trial(
            driving.domain, None, [("light_green",)], "light_green", needed, 0, taken, 4
        )

    assert drawn().index == 2
    assert taken == {"light_green": 3}
    shown += [0] * 4
    assert drawn().index == 3
    with pytest.raises(UsageError, match=r"no scene in 4 trials .*shows 0 pixels"):
        drawn()


def test_one_seed_gives_one_test(naming, tmp_path):
    for name in ("one", "two"):
        naming.make(naming.DrivingNaming(), tmp_path / name, 4, 1, ["cone"])
    written = [path.relative_to(tmp_path / "one") for path in (tmp_path / "one").rglob("*.*")]
    assert len(written) == 6
    for path in written:
        assert (tmp_path / "one" / path).read_bytes() == (tmp_path / "two" / path).read_bytes()


def test_pictures_are_shuffled(naming, asked, catalogue, tmp_path, monkeypatch):
    blank = Picture.from_pixels(np.zeros((3, 4, 3), dtype=np.uint8))

    class Prepared:
        index, picture, scene = 0, blank, {"weather": None, "town": "town01"}

    monkeypatch.setattr(naming, "shown_trial", lambda *_: Prepared())
    driving = naming.DrivingNaming()
    one = [row.truth for row in naming.make(driving, tmp_path / "1", 1, 2)]
    two = [row.truth for row in naming.make(driving, tmp_path / "2", 2, 2)]
    plain = [item.truth for item in asked.items(catalogue, 2, np.random.default_rng(1))]
    assert sorted(one) == sorted(two) == sorted(plain)
    assert len({tuple(one), tuple(two)}) == 2
    assert [a == b for a, b in zip(one, plain, strict=True)].count(True) < len(one) / 2


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--only", "unicorn"], "there is no unicorn; there are: intersection_ego"),
        (["--per-concept", "0"], "expected at least 1, got 0"),
        (["--seed", "-1"], "a seed is a whole number"),
    ],
)
def test_slips_are_one_line(naming, tmp_path, capsys, words, said):
    assert naming.main(["make", "--out", str(tmp_path / "new"), *words]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1
    assert not (tmp_path / "new").exists()


def test_a_test_is_not_overwritten(naming, small, capsys):
    before = (small / "key.csv").read_bytes()
    assert naming.main(["make", "--out", str(small), "--only", "cone"]) == 2
    assert "holds a naming test already" in capsys.readouterr().err
    assert (small / "key.csv").read_bytes() == before


# -- score ---------------------------------------------------------------------------------------


@pytest.fixture
def key(naming):
    return key_of(
        naming,
        ("object", "cone", "near"),
        ("object", "cone", "far"),
        ("object", "debris", "far"),
        ("weather", "weather_wet", "weather"),
        ("town", "town_town01", "town"),
    )


RIGHT = {1: "cone", 2: "cone", 3: "debris", 4: "weather_wet", 5: "town_town01"}


def test_shares_and_confusions_are_counted(naming, key):
    import naming_score as scores

    result = naming.score(key, {"a": RIGHT, "b": {**RIGHT, 2: "garbage_bin"}})
    assert (result["overall"]["right"], result["overall"]["n"]) == (9, 10)
    cone = result["concepts"]["cone"]
    assert (cone["right"], cone["n"], cone["share"]) == (3, 4, 0.75)
    assert cone["groups"]["far"]["right"] == 1
    assert cone["groups"]["near"]["share"] == 1.0
    assert cone["interval"] == pytest.approx([0.3006, 0.9544], abs=1e-4)  # Wilson, 3 of 4
    assert result["readers"]["a"]["share"] == 1.0
    assert result["groups"]["far"]["n"] == 4
    assert result["object_weathers"] == {"daylight": scores.tally([True] * 5 + [False])}
    assert result["below"] == ["cone"]
    assert result["confusions"] == [
        {"truth": "cone", "answer": "garbage_bin", "count": 1, "pictures": [2]}
    ]


def test_exit_says_whether_every_concept_passes(naming, key, tmp_path, capsys):
    write_key(naming, tmp_path / "key.csv", key)
    write_answers(tmp_path / "good.csv", {**RIGHT, 3: "debris_far"})  # the id is fine as well
    write_answers(tmp_path / "bad.csv", {**RIGHT, 4: "weather_cloudy"})
    base = ["score", "--key", str(tmp_path / "key.csv"), "--answers"]
    assert naming.main([*base, str(tmp_path / "good.csv")]) == 0
    assert "each concept: ≥ 95 %" in capsys.readouterr().out
    assert naming.main([*base, str(tmp_path / "bad.csv")]) == 1
    printed = capsys.readouterr().out
    assert "under 95 %: weather_wet" in printed
    assert "weather_cloudy" in printed
    assert (
        naming.main([*base, str(tmp_path / "good.csv"), str(tmp_path / "bad.csv"), "--json"]) == 1
    )
    result = json.loads(capsys.readouterr().out)
    assert result["overall"]["n"] == 10
    assert list(result["readers"]) == sorted(str(tmp_path / n) for n in ("good.csv", "bad.csv"))
    assert naming.main([*base, str(tmp_path / "good.csv"), "--markdown"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "| concept | cone | 2 of 2 | 100 % | 34–100 % |" in lines
    assert {line.count("|") for line in lines} == {6}


def test_nineteen_of_twenty_pass_and_eighteen_do_not(naming):
    key = key_of(naming, *[("object", "cone", "near")] * 20)
    answers = dict.fromkeys(range(1, 21), "cone")
    assert naming.score(key, {"a": {**answers, 1: "debris"}})["below"] == []
    assert naming.score(key, {"a": {**answers, 1: "debris", 2: "debris"}})["below"] == ["cone"]


@pytest.mark.parametrize(
    ("answers", "said"),
    [
        ({**RIGHT, 1: "unicorn"}, "picture 1: 'unicorn' is no choice for object"),
        ({**RIGHT, 4: "cone"}, "picture 4: 'cone' is no choice for weather"),
        ({**RIGHT, 9: "cone"}, "the key has no picture '9'"),
        ({1: "cone", 2: ""}, "4 of 5 pictures have no answer: 2, 3, 4, 5"),
        ({**RIGHT, "01": "cone"}, "picture 1 is answered twice"),
    ],
)
def test_answers_that_cannot_be_scored_are_one_line(naming, key, tmp_path, capsys, answers, said):
    write_key(naming, tmp_path / "key.csv", key)
    write_answers(tmp_path / "a.csv", answers)
    words = ["score", "--key", str(tmp_path / "key.csv"), "--answers", str(tmp_path / "a.csv")]
    assert naming.main(words) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1


def test_files_that_are_none_are_one_line(naming, key, tmp_path, capsys):
    write_key(naming, tmp_path / "key.csv", key)
    words = ["score", "--key", str(tmp_path / "key.csv"), "--answers"]
    assert naming.main([*words, str(tmp_path / "absent.csv")]) == 2
    assert "absent.csv: No such file" in capsys.readouterr().err
    (tmp_path / "other.csv").write_text("a,b\n1,2\n", encoding="utf-8")
    assert naming.main([*words, str(tmp_path / "other.csv")]) == 2
    assert "there is no column number, answer" in capsys.readouterr().err


GOOD = "number,answer\n" + "".join(f"{number},{name}\n" for number, name in RIGHT.items())


def scored(naming, key, tmp_path, data, *words, name="a.csv"):
    write_key(naming, tmp_path / "key.csv", key)
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return naming.main(
        ["score", "--key", str(tmp_path / "key.csv"), "--answers", str(path), *words]
    )


@pytest.mark.parametrize(
    "data",
    [b"\xef\xbb\xbf" + GOOD.encode(), GOOD.replace("\n", "\r\n"), GOOD.replace("\n", "\r"),
     GOOD.replace("\n", ",\n"), GOOD + ",\n\n,\n", GOOD.replace("cone", '"`Cone` "')],
    ids=["mark", "crlf", "cr", "trailing comma", "empty rows", "quoted"],
)  # fmt: skip
def test_what_spreadsheets_make_of_a_form_is_read(naming, key, tmp_path, data):
    assert scored(naming, key, tmp_path, data) == 0


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (GOOD.encode("utf-16"), "can't decode"),
        ("", "no column number, answer"),
        (GOOD.replace(",", ";"), "no column number, answer (columns are parted by commas"),
        ("number,answer,answer\n1,debris,cone\n", "several columns answer"),
        ("number,number,answer\n9,1,cone\n", "several columns number"),
        ("number,answer\n1,debris,cone\n", "line 2 has more cells than the head"),
        ("number,answer\n1," + "x" * 200_000, "field larger than"),
        ("number,answer\n1," + "x" * 100_000, "is no choice for object"),
        ("number,answer\n" + "9" * 100_000 + ",cone", "the key has no picture"),
        ("number,answer\n1,\"=cmd|' /C calc'!A0\"", "is no choice for object"),
        ("number,answer\n1,\x1b[2J\0", "is no choice for object"),
        (b"number,answer\n" + bytes(17 << 20), "larger than 16 MiB"),
        ("number,question,answer\n1,weather,cone\n", "answers to another test"),
    ],
    ids=range(13),
)
def test_hostile_answers_are_one_short_line(naming, key, tmp_path, capsys, data, said):
    assert scored(naming, key, tmp_path, data) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1
    assert len(error) < 800 + len(str(tmp_path))
    assert "\x1b" not in error


@pytest.mark.parametrize("name", ["[/x].csv", "[bold]x.csv", "a|b.csv", "a\nb.csv"])
def test_readers_have_any_name(naming, key, tmp_path, capsys, monkeypatch, name):
    monkeypatch.setenv("COLUMNS", "400")
    assert scored(naming, key, tmp_path, GOOD, name=name) == 0
    printed = capsys.readouterr().out
    assert all(part in printed for part in name.split())
    assert scored(naming, key, tmp_path, GOOD, "--markdown", name=name) == 0
    lines = capsys.readouterr().out.replace("\\|", "").splitlines()
    assert {line.count("|") for line in lines} == {6}


def test_a_file_that_is_named_twice_is_one_reader(naming, key, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert scored(naming, key, tmp_path, GOOD, "a.csv", "--json") == 0
    assert json.loads(capsys.readouterr().out)["overall"]["n"] == 5


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"question": "nope"}, "'cone' is no choice for 'nope'"),
        ({"truth": "[/nope]"}, "'[/nope]' is no choice for 'object'"),
        ({"number": 2}, "picture 2 occurs twice"),
        ({"number": "9" * 5000}, "is no number"),
        ({"number": "-1"}, "'-1' is no number"),
        ({"pixels": "1_0"}, "'1_0' is no number"),
    ],
)
def test_a_key_that_is_none_is_one_line(naming, key, tmp_path, capsys, change, said):
    assert scored(naming, [replace(key[0], **change), *key[1:]], tmp_path, GOOD) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1


def test_a_place_that_cannot_be_made_is_one_line(naming, tmp_path, capsys):
    (tmp_path / "file").write_text("in the way")
    for out in ("file", "file/below"):
        words = ["make", "--out", str(tmp_path / out), "--per-concept", "1", "--only", "cone"]
        assert naming.main(words) == 2
        assert capsys.readouterr().err.count("\n") == 1


def test_partial_readers_share_the_work(naming, key, tmp_path, capsys):
    write_key(naming, tmp_path / "key.csv", key)
    write_answers(tmp_path / "a.csv", {1: "cone", 2: "cone"})
    write_answers(tmp_path / "b.csv", {3: "debris", 4: "weather_wet", 5: ""})
    words = ["score", "--key", str(tmp_path / "key.csv"), "--partial", "--json", "--answers"]
    assert naming.main([*words, str(tmp_path / "a.csv"), str(tmp_path / "b.csv")]) == 0
    assert json.loads(capsys.readouterr().out)["overall"]["n"] == 4
    write_answers(tmp_path / "none.csv", {1: ""})
    assert naming.main([*words, str(tmp_path / "none.csv")]) == 2
