"""What servers announce, and what becomes of their numbers and ours."""

from __future__ import annotations

import importlib
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from vlmfail.core import UsageError
from vlmfail.envs.pickup.episode import checked_chunk
from vlmfail.models.policies.registry import is_policy, make_policy
from vlmfail.models.policies.vla_eval_conventions import (
    GRIPPERS,
    OUR_STATE,
    STATES,
    UnknownConventionError,
    conventions,
    laid_out,
)
from vlmfail.models.policies.vla_eval_spec import VlaEvalSpec, parse_vla_eval


def announced(form: str, dims: int) -> dict[str, Any]:
    return {"name": "x", "dims": dims, "format": form}


OPENVLA = {
    "action_spec": {
        "position": announced("delta_xyz", 3),
        "rotation": announced("axis_angle", 3),
        "gripper": announced("binary_close_positive", 1),
    },
    "observation_spec": {
        "image": announced("rgb_hwc_uint8", 0),
        "language": announced("language", 0),
    },
    "observation_params": {"seed": 0},
}
RAW = {"action_spec": {"actions": announced("raw", 0)}}
SEEN = {
    "image": np.arange(5 * 4 * 3, dtype=np.uint8).reshape(5, 4, 3),
    "instruction": "pick apple",
    "state": np.array([0.4, 0.1, 1.0, 0.5, 0.5, 0.5, 0.5, 0.045], np.float32),
}


def spec(text: str = "") -> VlaEvalSpec:
    return parse_vla_eval("ws://127.0.0.1:8000" + (f"?{text}" if text else ""))


def hello(**changes: Any) -> dict[str, Any]:
    return {**OPENVLA, **changes}


def acts(**changes: Any) -> dict[str, Any]:
    return {**OPENVLA["action_spec"], **changes}


def test_openvla_as_it_announces_itself() -> None:
    found = conventions(OPENVLA, spec())
    sent = found.observation(SEEN)
    assert list(sent) == ["images", "task_description"]
    assert list(sent["images"]) == ["primary"]
    assert np.array_equal(sent["images"]["primary"], SEEN["image"])
    assert sent["task_description"] == "pick apple"
    given = np.array([0.01, -0.02, 0.03, 0.1, 0.2, 0.3, 1.0])
    row = found.actions({"actions": given})
    assert row.shape == (1, 7)
    assert row.dtype == np.float32
    assert np.array_equal(row[0, :6], given[:6].astype(np.float32))
    assert row[0, 6] == -1.0  # its +1 closes, ours opens


@pytest.mark.parametrize(
    ("form", "closed", "opened"),
    [
        ("binary_close_positive", 1, -1),
        ("binary_close_negative", -1, 1),
        ("binary_close_01", 1, 0),
        ("continuous_01", 0, 1),
    ],
)
def test_every_gripper(form: str, closed: float, opened: float) -> None:
    found = conventions(hello(action_spec=acts(gripper=announced(form, 1))), spec())
    rows = found.actions({"actions": [[0] * 6 + [closed], [0] * 6 + [opened]]})
    assert rows[:, 6].tolist() == [-1.0, 1.0]


def test_names_are_those_of_the_package() -> None:
    specs = pytest.importorskip("vla_eval.specs")
    theirs = {value.format for value in vars(specs).values() if isinstance(value, specs.DimSpec)}
    assert set(GRIPPERS) <= theirs
    assert set(STATES) - {OUR_STATE} <= theirs
    assert {"delta_xyz", "axis_angle", "euler_xyz", "rgb_hwc_uint8", "raw"} <= theirs


def test_euler_angles_become_a_rotation_vector() -> None:
    found = conventions(hello(action_spec=acts(rotation=announced("euler_xyz", 3))), spec())
    (row,) = found.actions({"actions": [0, 0, 0, np.pi / 2, 0, np.pi / 2, -1]})
    # A quarter turn about x, then one about the fixed z: a third of a turn about (1, 1, 1).
    assert row[3:6] == pytest.approx(np.full(3, 2 * np.pi / 3 / np.sqrt(3)), abs=1e-6)
    pytest.importorskip("vla_eval")
    from vla_eval.rotation import axisangle_to_matrix, euler_xyz_to_matrix

    angles = np.array([0.3, -0.4, 0.5])
    (row,) = found.actions({"actions": [0, 0, 0, *angles, -1]})
    assert axisangle_to_matrix(row[3:6]) == pytest.approx(euler_xyz_to_matrix(angles), abs=1e-6)


def test_units_and_length_of_a_chunk() -> None:
    found = conventions(OPENVLA, spec("scale=0.05&turn_scale=0.5&chunk=3"))
    rows = found.actions({"actions": np.ones((10, 7))})
    assert rows.shape == (3, 7)
    assert rows[0].tolist() == pytest.approx([0.05] * 3 + [0.5] * 3 + [-1.0])


@pytest.mark.parametrize(
    "payload",
    [
        None, [], {}, {"actions": None}, {"actions": "open"}, {"actions": [[1, 2], [3]]},
        {"actions": np.zeros(8)}, {"actions": np.zeros((0, 7))}, {"actions": np.zeros((2, 2, 7))},
        {"actions": np.zeros((1001, 7))}, {"actions": [0, 0, 0, 0, 0, 0, np.nan]},
        {"actions": [1e300] * 7}, {"actions": {"position": [0, 0, 0]}}, {"actions": 3.0},
        {"actions": ["0"] * 7}, {"actions": [True] * 7}, {"actions": np.zeros(7, "M8[s]")},
        {"actions": [10**400] * 7},
    ],
)  # fmt: skip
def test_replies_that_are_no_actions(payload: Any) -> None:
    with pytest.raises(ValueError, match=r"server"):
        conventions(OPENVLA, spec()).actions(payload)


def test_a_convention_that_is_not_announced_must_be_stated() -> None:
    with pytest.raises(UnknownConventionError, match=r"does not announce its position.*\?position"):
        conventions(RAW, spec())
    stated = spec("position=delta_xyz&rotation=euler_xyz&gripper=continuous_01")
    assert conventions(RAW, stated).gripper == "continuous_01"
    wrong = acts(gripper=announced("raw", 1))
    with pytest.raises(UnknownConventionError, match="gripper 'raw' of 1"):
        conventions(hello(action_spec=wrong), spec())
    with pytest.raises(UnknownConventionError, match="position 'absolute_xyz'"):
        conventions(hello(action_spec=acts(position=announced("absolute_xyz", 3))), spec())
    with pytest.raises(UnknownConventionError, match="acts with base_motion"):
        conventions(hello(action_spec=acts(base_motion=announced("raw", 4))), spec())


@pytest.mark.parametrize(
    "params", [{"absolute_action": True}, {"control_mode": "arm_pd_ee_target_base_pose_gripper"}]
)
def test_absolute_control_is_refused_whatever_is_announced(params: dict[str, Any]) -> None:
    with pytest.raises(UnknownConventionError, match="absolute control"):
        conventions(hello(observation_params=params), spec())
    assert conventions(hello(observation_params=params), spec("position=delta_xyz"))


def test_state_when_the_server_asks_for_it() -> None:
    sees = {**OPENVLA["observation_spec"], "state": announced("eef_pos3_quat4_gripper1", 8)}
    sent = conventions(hello(observation_spec=sees), spec()).observation(SEEN)
    assert sent["states"].tolist() == pytest.approx([0.4, 0.1, 1.0, 0.5, 0.5, 0.5, 0.5, 0.5])
    asked = hello(observation_params={"send_state": True})
    with pytest.raises(UnknownConventionError, match=r"state 'raw'.*\?state="):
        conventions(asked, spec())
    assert "states" not in conventions(asked, spec("state=none")).observation(SEEN)
    assert conventions(asked, spec(f"state={OUR_STATE}")).state == OUR_STATE


def test_layouts_of_the_state() -> None:
    turn = 2 * np.pi / 3 / np.sqrt(3)
    fingers = [0.0225, -0.0225]
    found = laid_out(SEEN["state"], "eef_pos3_axisangle3_gripper2")
    assert found == pytest.approx([0.4, 0.1, 1.0, turn, turn, turn, *fingers])
    found = laid_out(SEEN["state"], "eef_pos3_euler3_gripper2")
    assert found == pytest.approx([0.4, 0.1, 1.0, np.pi / 2, 0, np.pi / 2, *fingers], abs=1e-5)
    assert laid_out(SEEN["state"], OUR_STATE) is SEEN["state"]


def test_cameras() -> None:
    named = {"agentview": announced("rgb_hwc_uint8", 0)}
    assert conventions(hello(observation_spec=named), spec()).camera == "agentview"
    assert conventions(hello(observation_spec=named), spec("camera=top")).camera == "top"
    two = {**named, "wrist": announced("rgb_hwc_uint8", 0)}
    for asked in ({"observation_spec": two}, {"observation_params": {"send_wrist_image": True}}):
        with pytest.raises(UnknownConventionError, match="wrist=omit"):
            conventions(hello(**asked), spec())
        assert conventions(hello(**asked), spec("wrist=omit"))
    with pytest.raises(UnknownConventionError, match="video_history"):
        conventions(hello(observation_params={"send_video_history": True}), spec())


def test_pictures_are_scaled() -> None:
    sent = conventions(OPENVLA, spec("size=32x16")).observation(SEEN)
    assert sent["images"]["primary"].shape == (16, 32, 3)
    assert sent["images"]["primary"].dtype == np.uint8


@pytest.mark.parametrize(
    "said",
    [
        {}, {"action_spec": 3}, {"action_spec": {"position": 5, b"x": {"format": 1}}},
        {"action_spec": {"position": {"format": ["x"], "dims": "3"}}},
        {"action_spec": {"position": {"format": "x" * 10**6, "dims": 3}}},
        {**OPENVLA, "observation_params": {"send_x\x1b[31m": np.ones(3), "send_y\x1b": 1}},
    ],
)  # fmt: skip
def test_hostile_announcements_are_one_short_line(said: dict[Any, Any]) -> None:
    with pytest.raises(UnknownConventionError) as caught:
        conventions(said, spec())
    text = str(caught.value)
    assert len(text) < 400
    assert text.isprintable()


# -- specs ----------------------------------------------------------------


def test_a_spec_with_all_its_options() -> None:
    found = parse_vla_eval("wss://gpu.example:8000/x/?timeout=5&size=224&chunk=8&wrist=omit")
    assert found.url == "wss://gpu.example:8000/x"
    assert (found.timeout, found.size, found.chunk) == (5.0, (224, 224), 8)
    assert found.text.startswith("vla-eval:wss://gpu.example:8000/x/?timeout=5")
    assert is_policy("vla-eval:ws://127.0.0.1:8000")


@pytest.mark.parametrize(
    ("rest", "says"),
    [
        ("", "address of a running model server"),
        ("http://127.0.0.1:8000", "address of a running model server"),
        ("127.0.0.1:8000", "address of a running model server"),
        ("ws://", "names no host"),
        ("ws://127.0.0.1:99999", "port"),
        ("ws://me:hunter2@127.0.0.1:8000", "no user or password"),
        ("ws://127.0.0.1:8000/a b", "blanks"),
        ("ws://127.0.0.1:8000/\n", "cannot be printed"),
        ("ws://127.0.0.1:8000?", "after '\\?'"),
        ("ws://127.0.0.1:8000?token=hunter2", "unknown option"),
        ("ws://127.0.0.1:8000?size=7", "size: expected"),
        ("ws://127.0.0.1:8000?size=1x2x3", "size: expected"),
        ("ws://127.0.0.1:8000?timeout=nan", "timeout: expected"),
        ("ws://127.0.0.1:8000?chunk=1_0", "chunk: expected"),
        ("ws://127.0.0.1:8000?gripper=firm", "gripper: expected one of binary"),
        ("ws://127.0.0.1:8000?chunk=1&chunk=2", "given twice"),
        ("ws://127.0.0.1:8000?camera=" + "x" * 9000, "at most"),
    ],
)
def test_specs_that_are_none(rest: str, says: str) -> None:
    with pytest.raises(UsageError, match=says) as caught:
        parse_vla_eval(rest)
    assert "hunter2" not in str(caught.value)
    assert len(str(caught.value)) < 400


def test_without_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    from vlmfail.core import MissingDependencyError
    from vlmfail.models.policies.vla_eval import vla_eval

    monkeypatch.setitem(sys.modules, "vla_eval.connection", None)
    with pytest.raises(MissingDependencyError, match=r"vlmfail\[vla-eval\]"):
        vla_eval("ws://127.0.0.1:8000")


def test_the_policy_of_the_manual(tmp_path: Path) -> None:
    manual = Path(__file__).parents[3] / "docs" / "policies.md"
    (code,) = re.findall(r"```python\n(.*?)```", manual.read_text(), re.DOTALL)
    (tmp_path / "mine.py").write_text(code)
    policy = make_policy(f"{tmp_path / 'mine.py'}:Mine")
    policy.reset("pick apple")
    assert checked_chunk(policy.act(SEEN)).shape == (4, 7)


def test_openvla_s_roll_pitch_yaw_is_stated_as_the_manual_says() -> None:
    manual = (Path(__file__).parents[3] / "docs" / "policies.md").read_text()
    (row,) = (line for line in manual.splitlines() if line.startswith("| OpenVLA |"))
    (query,) = re.findall(r"`\?([^`]*)`", row)
    assert f"ws://127.0.0.1:8000?{query}" in manual, "in the command, too"
    found = conventions(OPENVLA, spec(query))  # comes before what it announces
    angles = np.array([0.3, -0.2, 0.4])
    row_of = found.actions({"actions": [0, 0, 0, *angles, 1]})[0]
    from scipy.spatial.transform import Rotation

    expected = Rotation.from_euler("z", 0.4) * Rotation.from_euler("y", -0.2)
    expected = expected * Rotation.from_euler("x", 0.3)
    assert Rotation.from_rotvec(row_of[3:6]).as_matrix() == pytest.approx(
        expected.as_matrix(), abs=1e-6
    )


def test_the_specs_of_the_manual() -> None:
    manual = (Path(__file__).parents[3] / "docs" / "policies.md").read_text()
    queries = re.findall(r"`\?([^`]*=[^`]*)`", manual)
    assert len(queries) >= 3
    for query in queries:
        assert spec(query).text.endswith(query)


@pytest.mark.parametrize(
    ("module", "name", "attributes", "options", "refused"),
    [
        ("openvla", "OpenVLAModelServer", {}, "", ""),
        (
            "groot", "GR00TModelServer", {"invert_gripper": False, "_extra_obs_params": {}},
            "state=eef_pos3_quat4_gripper1", "state 'raw'",
        ),
        (
            "cogact", "CogACTModelServer", {},
            "position=delta_xyz&rotation=euler_xyz&gripper=continuous_01", "its position",
        ),
        (
            "pi0", "Pi0ModelServer", {"wrist_image_key": "wrist", "state_key": "state"},
            "position=delta_xyz&rotation=axis_angle&gripper=binary_close_positive&wrist=omit"
            "&state=eef_pos3_axisangle3_gripper2", "its position",
        ),
        (
            "xvla", "XVLAModelServer",
            {"benchmark_profile": "libero", "output_action_dim": 7, "_euler_offset": None,
             "_image_keys": ("agentview", "wrist"), "use_predicted_proprio": True},
            None, "absolute control",
        ),
    ],
)  # fmt: skip
def test_what_the_packages_own_servers_announce(
    module: str, name: str, attributes: dict[str, Any], options: str | None, refused: str
) -> None:
    pytest.importorskip("vla_eval", reason="the package vla-eval is not installed")
    kind = getattr(importlib.import_module(f"vla_eval.model_servers.{module}"), name)
    server = kind.__new__(kind)  # without its weights
    vars(server).update(attributes)
    said = {
        "observation_params": server.get_observation_params(),
        "action_spec": {key: one.to_dict() for key, one in server.get_action_spec().items()},
        "observation_spec": {
            key: one.to_dict() for key, one in server.get_observation_spec().items()
        },
    }
    if refused:
        with pytest.raises(UnknownConventionError, match=refused):
            conventions(said, spec())
    if options is not None:
        found = conventions(said, spec(options))
        assert found.actions({"actions": np.zeros((3, 7))}).shape == (3, 7)
        assert ("states" in found.observation(SEEN)) == ("state=" in options)
