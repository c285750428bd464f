"""Audits on fresh trials beside those by the true rates."""

from __future__ import annotations

from vlmfail.benchmarks import audit_agreement


def test_every_report_is_judged_both_ways(capsys):
    sizes = {"level": "easy", "budget": 60, "trials": 20, "removals": 10}
    counts = audit_agreement.agreement("greedy-oracle", "needles", 3, **sizes)
    assert sum(counts.values()) > 3
    assert {true for true, _ in counts} == {"good"}, "it confirms true, minimal modes alone"
    assert audit_agreement.main(["--landscapes", "1", "--budget", "30"]) == 0
    assert capsys.readouterr().out.count("\n") == 5
