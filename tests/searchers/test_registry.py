from __future__ import annotations

from pathlib import Path

import pytest

from vlmfail.agents.agent import SearchAgent
from vlmfail.core import UnknownNameError, UsageError
from vlmfail.searchers import describe, make_searcher, searcher_names

PLUGIN = '''
from vlmfail.agents.agent import SearchAgent

class Mine(SearchAgent):
    """An agent of one's own."""
    def __init__(self, depth, speed=1):
        self.depth = depth
    def ask(self, n): return []
    def tell(self, evaluations): pass

class Unfinished(SearchAgent):
    def ask(self, n): return []

ready = Mine(3)
number = 7
'''


@pytest.fixture
def plugin(tmp_path: Path) -> str:
    path = tmp_path / "plugin.py"
    path.write_text(PLUGIN)
    return str(path)


@pytest.mark.parametrize("name", searcher_names())
def test_every_searcher_has_a_name_a_line_and_a_record(name: str) -> None:
    agent = make_searcher(name)
    assert agent.name == name
    assert 10 < len(describe(name)) < 120
    assert describe(name).endswith(".")
    assert type(agent)(**agent.config()).config() == agent.config()


def test_built_in_names() -> None:
    assert searcher_names()[:3] == ["random", "beam", "gpts"]


def test_close_matches_are_named() -> None:
    with pytest.raises(UnknownNameError, match=r"did you mean beam\?"):
        make_searcher("beams")
    with pytest.raises(UnknownNameError, match=r"argument of searcher beam 'widht'.*width"):
        make_searcher("beam", widht=3)
    with pytest.raises(UnknownNameError, match="there is none"):
        make_searcher("random", width=3)


def test_plugged_in_agents(plugin: str) -> None:
    agent = make_searcher(f"{plugin}:Mine", depth=4)
    assert agent.depth == 4  # type: ignore[attr-defined]
    assert make_searcher(type(agent), depth=5).depth == 5  # type: ignore[attr-defined]
    assert make_searcher(agent) is agent
    assert make_searcher(f"{plugin}:ready").depth == 3  # type: ignore[attr-defined]
    assert describe(f"{plugin}:Mine") == "An agent of one's own."


def test_factories_may_make_agents(plugin: str) -> None:
    mine = type(make_searcher(f"{plugin}:ready"))
    agent = make_searcher(lambda depth=2: mine(depth), depth=9)  # type: ignore[arg-type]
    assert agent.depth == 9  # type: ignore[attr-defined]


def test_what_is_no_agent_is_refused(plugin: str) -> None:
    with pytest.raises(UsageError, match="needs the arguments depth"):
        make_searcher(f"{plugin}:Mine")
    with pytest.raises(UsageError, match="takes no arguments here, got depth"):
        make_searcher(f"{plugin}:ready", depth=1)
    with pytest.raises(UsageError, match="tell"):
        make_searcher(f"{plugin}:Unfinished")
    with pytest.raises(UsageError, match="lacks bind, ask, tell"):
        make_searcher(f"{plugin}:number")


def test_a_class_outside_the_tree_needs_the_methods_only() -> None:
    class Duck:
        def bind(self, space: object, **settings: object) -> None: ...
        def ask(self, n: int) -> list[object]: ...  # type: ignore[empty-body]
        def tell(self, evaluations: object) -> None: ...

        def __call__(self) -> None:
            raise AssertionError("an agent is not a factory")

    assert isinstance(make_searcher(Duck), Duck)  # type: ignore[arg-type]
    ready = Duck()
    assert make_searcher(ready) is ready  # type: ignore[arg-type, comparison-overlap]
    assert not issubclass(Duck, SearchAgent)
