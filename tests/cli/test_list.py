"""`vlmfail list` speaks of what a user types and gets."""

from __future__ import annotations

import re

from vlmfail.models.pictures.sources import RENDERERS
from vlmfail.models.policies.registry import POLICY_PREFIXES
from vlmfail.models.registry import PREFIXES


def test_names_are_what_a_user_types(cli):
    names = cli("list", "--json").json
    assert "folder:PATH" in names["renderers"]
    assert "openai-image:MODEL[@URL]" in names["renderers"]
    assert "openai:MODEL[@http://HOST/v1]" in names["models"]
    assert "vla-eval:ws://HOST:PORT" in names["policies"]
    for registry, section in (
        (RENDERERS, "renderers"), (PREFIXES, "models"), (POLICY_PREFIXES, "policies"),
    ):  # fmt: skip
        for prefix in registry.names():
            assert any(name.startswith(f"{prefix}:") for name in names[section])


def test_descriptions_are_sentences_without_our_own_names(cli):
    for section, rows in cli("list", "--json").json["descriptions"].items():
        for name, text in rows.items():
            assert text, name
            assert not re.search(r"`|core\.\w|models\.\w|Return the", text), (section, name, text)
            assert text.count(f"{name.partition(':')[0]}:") == 0, "the form stands in the name"


def test_concepts_are_counted_as_sets_hold_them(cli):
    said = cli("list").out
    assert "Sets of up to 5 of 32 concepts in a kitchen" in said
    listed = cli("list", "--concepts", "VLMFail-Indoor-v0").out
    assert listed.startswith("VLMFail-Indoor-v0: 32 concepts, and kitchen, in every scene")
    assert cli("list", "--concepts", "VLMFail-Driving-v0").out.startswith(
        "VLMFail-Driving-v0: 30 concepts\n"
    )


def test_a_search_says_which_searcher_auto_became_and_why(cli):
    words = ("--budget", 4, "--trials", 2, "--no-report", "-m", "my_model.py:careful")
    done = cli("search", "world.py:Small", "-s", "auto:rate", *words)
    assert "searcher level-set, chosen by auto:rate: it proposes the sets" in done.err
    assert "run: runs/world-small-level-set-" in done.out
    done = cli("search", "world.py:Small", "-s", "auto:best", *words)
    assert (done.code, done.out) == (2, "")
    assert "goal of auto 'best'" in done.err
    assert {"auto", "auto:rate"} <= set(cli("list", "--json").json["searchers"])
