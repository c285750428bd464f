from __future__ import annotations

import json
import os
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

from vlmfail.core import Picture, UsageError
from vlmfail.models.pictures.sources import PictureRequest, UndrawnPictureError, make_source


def save(path, shade=0, size=(12, 9)):
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(np.full((size[1], size[0], 3), shade, np.uint8)).save(path)
    return path


@pytest.fixture
def root(tmp_path):
    """A folder with two sets: three pictures of one, one of the other."""
    root = tmp_path / "mine"
    for shade, name in enumerate(("a.png", "b.JPG", "c.webp")):
        save(root / "toddler+knife_edge" / name, 60 * shade)
    save(root / "kitchen" / "only.png", 200)
    (root / "kitchen" / "notes.txt").write_text("no picture")
    (root / "kitchen" / ".hidden.png").write_text("no picture")
    (root / ".cache").mkdir()
    return root


def ask(source, ids, trial=0, run_seed=0):
    return source.draw(PictureRequest(ids, "", trial, run_seed, trial))


def test_a_set_has_the_pictures_of_its_folder_whatever_the_order_of_its_name(root, catalogue):
    source = make_source(f"folder:{root}", catalogue)
    drawn = [ask(source, ("knife_edge", "toddler"), trial) for trial in range(3)]
    files = [each.record["file"] for each in drawn]
    assert sorted(files) == sorted(
        f"toddler+knife_edge/{name}" for name in ("a.png", "b.JPG", "c.webp")
    )
    assert drawn[0].picture == Picture.from_file(root / files[0])
    again = [ask(make_source(f"folder:{root}", catalogue), ("knife_edge", "toddler"), trial)
             for trial in range(3)]  # fmt: skip
    assert [each.picture for each in again] == [each.picture for each in drawn]


def test_no_picture_comes_twice_and_copies_are_one_picture(root, catalogue):
    folder = root / "toddler+knife_edge"
    (folder / "copy of a.png").write_bytes((folder / "a.png").read_bytes())
    save(folder / "same pixels.webp", 0).rename(folder / "0.webp")
    source = make_source(f"folder:{root}", catalogue)
    assert source.supply == {("knife_edge", "toddler"): 3, ("kitchen",): 1}
    drawn = [ask(source, ("knife_edge", "toddler"), trial).picture for trial in range(3)]
    assert len(set(drawn)) == 3
    for trial in (3, 400):
        with pytest.raises(UndrawnPictureError, match="holds 3 different pictures") as error:
            ask(source, ("knife_edge", "toddler"), trial)
        assert error.value.used_up
    with pytest.raises(UndrawnPictureError, match="holds 1 picture of this set"):
        ask(source, ("kitchen",), 1)


def test_another_run_seed_may_take_another_order(root, catalogue):
    source = make_source(f"folder:{root}", catalogue)
    orders = {
        tuple(ask(source, ("knife_edge", "toddler"), t, seed).record["file"] for t in range(3))
        for seed in range(12)
    }
    assert len(orders) > 1


def test_a_set_without_pictures_is_undrawn_and_not_tried_again(root, catalogue):
    source = make_source(f"folder:{root}", catalogue)
    with pytest.raises(UndrawnPictureError, match=r"no picture of stove_on .*2 sets"):
        ask(source, ("stove_on",))
    assert source.varies is False


@pytest.mark.parametrize("kind", ["json", "csv"])
def test_an_index_names_files_anywhere_below(root, kind, catalogue):
    rows = [("knife_edge+toddler", "kitchen/only.png"), ("stove_on", "toddler+knife_edge/a.png")]
    if kind == "json":
        value = [{"concepts": key.split("+"), "file": file} for key, file in rows]
        (root / "pictures.json").write_text(json.dumps(value))
    else:
        lines = ["concepts,file", *(",".join(row) for row in rows)]
        (root / "pictures.csv").write_text("\ufeff" + "\n".join(lines), encoding="utf-8")
    source = make_source(f"folder:{root}", catalogue)
    assert ask(source, ("knife_edge", "toddler")).record["file"] == "kitchen/only.png"
    with pytest.raises(UndrawnPictureError):
        ask(source, ("kitchen",))


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("{", "cannot be read"),
        ("{}", "expected a list"),
        ("[1]", "expected a list"),
        ("[{}]", "entry 1, has no concepts"),
        ('[{"concepts": ["stove_on"]}]', "has no file"),
        ('[{"concepts": 5, "file": "a.png"}]', "has no concepts"),
        ('[{"concepts": [["x"]], "file": "a.png"}]', "has no concepts"),
        ('[{"concepts": ["stove_onn"], "file": "a.png"}]', "did you mean stove_on"),
        ('[{"concepts": ["stove_on", "stove_on"], "file": "a.png"}]', "twice"),
        ('[{"concepts": ["stove_on"], "file": "../secret.png"}]', "lies below"),
        ('[{"concepts": ["stove_on"], "file": "kitchen/../../secret.png"}]', "lies below"),
        ('[{"concepts": ["stove_on"], "file": "/etc/passwd.png"}]', "lies below"),
        ('[{"concepts": ["stove_on"], "file": "a\\u0000.png"}]', "lies below"),
        ('[{"concepts": ["stove_on"], "file": "notes.txt"}]', "expected .png"),
        ('[{"concepts": ["stove_on"], "file": "none.png"}]', "cannot be read"),
        ('[{"concepts": ["stove_on"], "file": "\\ud800.png"}]', "no file can have this name"),
        ('[{"concepts": ["stove_on"], "file": "\\ud800/a.png"}]', "no file can have this name"),
        ("[" * 100_000, "cannot be read"),
    ],
)
def test_a_wrong_index_is_one_clear_line_before_the_run(root, text, part, catalogue):
    save(root.parent / "secret.png")
    (root / "pictures.json").write_text(text)
    with pytest.raises(UsageError, match=part) as told:
        make_source(f"folder:{root}", catalogue)
    assert "\n" not in str(told.value)


def test_a_damaged_picture_is_told_before_the_run(root, catalogue):
    whole = (root / "kitchen" / "only.png").read_bytes()
    (root / "kitchen" / "bad.png").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(UsageError, match=r"bad\.png") as told:
        make_source(f"folder:{root}", catalogue)
    assert "\n" not in str(told.value)


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("knife_egde", "did you mean knife_edge"),
        ("knife_edge+", "unknown"),
        ("toddler+toddler", "twice"),
        ("<img src=x>", "unknown"),
    ],
)
def test_a_folder_of_no_set_is_told(root, name, part, catalogue):
    save(root / name / "a.png")
    with pytest.raises(UsageError, match=part):
        make_source(f"folder:{root}", catalogue)


def test_an_empty_folder_and_two_indices_are_told(root, tmp_path, catalogue):
    (tmp_path / "empty").mkdir()
    with pytest.raises(UsageError, match=r"holds no pictures: .*`vlmfail list --concepts`"):
        make_source(f"folder:{tmp_path / 'empty'}", catalogue)
    save(tmp_path / "empty" / "a.png")
    with pytest.raises(UsageError, match="holds 1 picture, of which no set is named"):
        make_source(f"folder:{tmp_path / 'empty'}", catalogue)
    (tmp_path / "bare" / "stove_on").mkdir(parents=True)
    with pytest.raises(UsageError, match=r"no folder in .*bare' holds a picture"):
        make_source(f"folder:{tmp_path / 'bare'}", catalogue)
    (root / "pictures.json").write_text("[]")
    (root / "pictures.csv").write_text("concepts,file")
    with pytest.raises(UsageError, match="both"):
        make_source(f"folder:{root}", catalogue)


def test_a_pipe_is_not_waited_for(root, catalogue):
    os.mkfifo(root / "pictures.json")
    with pytest.raises(UsageError, match="is no file"):
        make_source(f"folder:{root}", catalogue)
    (root / "pictures.json").unlink()
    os.mkfifo(root / "kitchen" / "pipe.png")
    with pytest.raises(UsageError, match=r"pipe\.png' is no regular file"):
        make_source(f"folder:{root}", catalogue)


def test_a_picture_that_becomes_a_pipe_meanwhile_is_not_waited_for(root, catalogue):
    source = make_source(f"folder:{root}", catalogue)
    (root / "kitchen" / "only.png").unlink()
    os.mkfifo(root / "kitchen" / "only.png")
    with pytest.raises(UndrawnPictureError, match="no regular file"):
        ask(source, ("kitchen",))


@pytest.mark.parametrize("what", ["file", "folder", "indexed file", "indexed folder", "index"])
def test_a_link_out_of_the_folder_is_refused(root, tmp_path, what, catalogue):
    secret = save(tmp_path / "elsewhere" / "secret.png", 3)
    row = '[{"concepts": ["stove_on"], "file": "%s"}]'
    if what == "file":
        (root / "kitchen" / "link.png").symlink_to(secret)
    elif what == "folder":
        (root / "stove_on").symlink_to(secret.parent)
    elif what == "indexed file":
        (root / "kitchen" / "link.png").symlink_to(secret)
        (root / "pictures.json").write_text(row % "kitchen/link.png")
    elif what == "indexed folder":
        (root / "deep").symlink_to(secret.parent)
        (root / "pictures.json").write_text(row % "deep/secret.png")
    else:
        (tmp_path / "elsewhere" / "pictures.json").write_text(row % "kitchen/only.png")
        (root / "pictures.json").symlink_to(tmp_path / "elsewhere" / "pictures.json")
    with pytest.raises(UsageError, match="a link out of") as told:
        make_source(f"folder:{root}", catalogue)
    assert "\n" not in str(told.value)


def test_links_that_stay_inside_and_a_folder_that_is_one_itself_are_fine(root, tmp_path, catalogue):
    (root / "kitchen" / "same.png").symlink_to(root / "toddler+knife_edge" / "a.png")
    (root / "stove_on").symlink_to("kitchen")
    (tmp_path / "link").symlink_to(root)
    source = make_source(f"folder:{tmp_path / 'link'}", catalogue)
    assert [ask(source, ids).record["of"] for ids in (("kitchen",), ("stove_on",))] == [2, 2]


def test_a_picture_that_changes_meanwhile_is_not_shown(root, catalogue):
    source = make_source(f"folder:{root}", catalogue)
    save(root / "kitchen" / "only.png", 17)
    with pytest.raises(UndrawnPictureError, match="changed"):
        ask(source, ("kitchen",))


def test_its_identity_follows_the_pictures_and_not_the_place(root, tmp_path, catalogue):
    import shutil

    before = make_source(f"folder:{root}", catalogue).identity()
    shutil.copytree(root, tmp_path / "moved")
    assert make_source(f"folder:{tmp_path / 'moved'}", catalogue).identity() == before
    save(root / "kitchen" / "more.png", 3)
    assert make_source(f"folder:{root}", catalogue).identity() != before


@pytest.fixture
def implying(catalogue):
    """The catalogue, whose kitchen is in every picture."""
    return replace(catalogue, implied=("kitchen",))


@pytest.mark.parametrize("kind", ["folders", "json", "csv"])
def test_what_every_picture_shows_is_no_part_of_a_set(tmp_path, kind, implying):
    root = tmp_path / "mine"
    save(root / "stove_on" / "a.png", 1)
    save(root / "kitchen+stove_on" / "b.png", 2)
    save(root / "toddler+kitchen+knife_edge" / "c.png", 3)
    rows = [(path.parent.name, path.relative_to(root).as_posix()) for path in root.glob("*/*")]
    if kind == "json":
        value = [{"concepts": key.split("+"), "file": file} for key, file in rows]
        (root / "pictures.json").write_text(json.dumps(value))
    elif kind == "csv":
        (root / "pictures.csv").write_text("\n".join(["concepts,file", *map(",".join, rows)]))
    source = make_source(f"folder:{root}", implying)
    assert [ask(source, ("stove_on",), trial).record["of"] for trial in (0, 1)] == [2, 2]
    drawn = ask(source, ("knife_edge", "toddler"))
    assert drawn.record["file"] == "toddler+kitchen+knife_edge/c.png"


@pytest.mark.parametrize("kind", ["folders", "json", "csv"])
def test_what_every_picture_shows_is_no_set_by_itself(root, kind, implying):
    if kind == "json":
        value = [{"concepts": ["kitchen"], "file": "kitchen/only.png"}]
        (root / "pictures.json").write_text(json.dumps(value))
    elif kind == "csv":
        (root / "pictures.csv").write_text("concepts,file\nkitchen,kitchen/only.png")
    with pytest.raises(UsageError, match=r"names kitchen alone.*e\.g\. knife_edge") as told:
        make_source(f"folder:{root}", implying)
    assert "\n" not in str(told.value)


def test_an_example_in_a_message_is_a_set_that_can_be(tmp_path, implying):
    (tmp_path / "empty").mkdir()
    with pytest.raises(UsageError, match=r"as in knife_edge\+stove_on"):
        make_source(f"folder:{tmp_path / 'empty'}", implying)


def told(spec, catalogue):
    with pytest.raises(UsageError) as error:
        make_source(spec, catalogue)
    assert "\n" not in str(error.value)
    return str(error.value)


def test_a_folder_that_is_not_there_says_what_is_and_what_to_type(root, catalogue):
    said = told(f"folder:{root}s", catalogue)
    assert f"there is no folder '{root}s': did you mean --renderer 'folder:{root}'?" in said
    assert "--renderer folder:PATH" in told("folder:/nowhere/at/all", catalogue)
    assert "expected folder:PATH" in told("folder:", catalogue)


def test_a_file_in_place_of_the_folder_is_told_apart(root, catalogue):
    said = told(f"folder:{root / 'kitchen' / 'only.png'}", catalogue)
    assert "is a file" in said
    assert "--renderer folder:PATH" in said


def test_an_unknown_concept_and_a_damaged_picture_say_what_to_do(root, catalogue):
    save(root / "knife_egde" / "a.png")
    said = told(f"folder:{root}", catalogue)
    assert "did you mean knife_edge? `vlmfail list --concepts`" in said
    (root / "knife_egde").rename(root / "stove_on")
    (root / "stove_on" / "a.png").write_text("no picture")
    said = told(f"folder:{root}", catalogue)
    assert "stove_on/a.png'" in said
    assert said.endswith("replace it, or take it out of the folder")


def test_a_folder_that_may_not_be_read_is_told(root, catalogue, monkeypatch):
    from pathlib import Path

    def refuse(self):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "iterdir", refuse)
    assert "cannot be read (Permission denied)" in told(f"folder:{root}", catalogue)
