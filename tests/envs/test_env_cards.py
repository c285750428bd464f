"""What the docstrings of the environments say of their arguments."""

from __future__ import annotations

import re
from dataclasses import fields

import pytest

from vlmfail.envs.driving.catalogue import DATA as DRIVING
from vlmfail.envs.driving.env import ID as DRIVING_ID
from vlmfail.envs.driving.env import DrivingEnv
from vlmfail.envs.indoor.catalogue import DATA as INDOOR
from vlmfail.envs.indoor.env import ID as INDOOR_ID
from vlmfail.envs.indoor.env import IndoorEnv
from vlmfail.envs.options import EnvOptions
from vlmfail.envs.registry import domain_options

CARDS = [(IndoorEnv, INDOOR_ID, INDOOR), (DrivingEnv, DRIVING_ID, DRIVING)]


@pytest.mark.parametrize(("env", "name", "data"), CARDS)
def test_a_card_lists_each_argument_where_it_belongs(env, name, data):
    card = env.__doc__.partition("## Arguments")[2].partition("##")[0]
    own, _, shared = card.partition("`vlmfail.envs.options.EnvOptions`:")
    named = set(re.findall(r"`(\w+)`(?! \(an)", re.sub(r"\([^)]*\)", "", shared)))
    assert named <= {each.name for each in fields(EnvOptions) if each.init}
    assert set(domain_options(name)) <= set(re.findall(r"`(\w+)` \(", own))
    for file in data.glob("*.json"):
        assert f"`{file.name}`" in own
