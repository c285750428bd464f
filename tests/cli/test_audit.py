"""`--audit` on a command line: what is said, what is printed, what is left alone."""

from __future__ import annotations

HUNTER = '''
from vlmfail.agents import SearchAgent


class Hunter(SearchAgent):
    """Tries night, night with rain and rain, and reports all of them."""

    def setup(self):
        self.left = [frozenset(one) for one in (["night"], ["night", "car"], ["rain"])]
        self.told = []

    def ask(self, n):
        batch, self.left = self.left[:n], self.left[n:]
        return batch

    def tell(self, evaluations):
        self.told += [evaluation.candidate for evaluation in evaluations]

    def reports(self):
        return self.told
'''
SIZE = ("-m", "my_model.py:careful", "--budget", 9, "--trials", 3, "--no-report")


def test_reported_modes_are_audited_after_the_search(cli, tmp_path):
    (tmp_path / "hunter.py").write_text(HUNTER)
    search = ("search", "world.py:Small", "-s", "hunter.py:Hunter", *SIZE)
    found = cli(*search, "--out", "a", "--json").json
    assert found["audit"] is None
    assert "modes_at_1k" not in found["metrics"]
    audited = cli("resume", "a", "--audit", "--no-report", "--json").json
    # By night the model goes on: right without a car, wrong with one. {car} alone it sees.
    verdicts = {"+".join(one["candidate"]): one["verdict"] for one in audited["audit"]}
    assert verdicts == {"night": "false", "night+car": "not minimal", "rain": "false"}
    assert audited["metrics"]["false_reports"] == 2 / 3
    assert audited["metrics"]["modes_at_1k"] == 0.0
    for same in ("calls", "outcomes", "failure_modes", "evaluations"):
        assert audited[same] == found[same]
    said = cli("resume", "a", "--audit", "--no-report").out
    assert "by an audit on 60 fresh trials: 0.0 modes at 1k · 3 reports, 0 good, 2 false" in said
    at_once = cli(*search, "--out", "b", "--audit", "--json").json
    assert at_once["audit"] == audited["audit"]


def test_of_a_searcher_without_reports_the_confirmed_modes_are_audited(cli, search):
    done = search("--out", "a", "--audit", "--json")
    assert "nothing to audit: the searcher reports no modes of its own" in done.err
    assert done.json["audit"] == []
    done = cli("resume", "a", "--confirm", "--audit", "--no-report", "--json")
    assert "nothing to audit" not in done.err
    assert [one["verdict"] for one in done.json["audit"]] == ["good"]
    assert done.json["metrics"]["modes_at_1k"] > 0


def test_a_landscape_needs_no_trial(cli):
    words = ("search", "VLMFail-Planted-v0", "-s", "random", "--budget", 20, "--no-report")
    done = cli(*words, "--out", "a", "--audit", "--json")
    assert "audited by its true rates" in done.err
    assert done.json["audit"] is None
    assert done.json["metrics"]["modes_at_1k"] == 0.0
