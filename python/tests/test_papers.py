"""Claims and failover times."""

from __future__ import annotations

import pytest

import byway


def test_a_claim_is_run_again() -> None:
    found = byway.reproduce("cortes-2008/D1")
    claim = found["D1"]
    assert claim.paper == "cortes-2008" and found.claims == (claim,)
    assert claim.verdict == "not_reproduced" and not claim.reproduced and claim.reason
    assert found.command == "byway reproduce cortes-2008/D1" and found.runs > 0
    check = claim.checks[0]
    assert check.paper and check.byway and check.holds == (check.outcome == "holds")
    assert list(found.to_pandas()["claim"]) == ["D1"] * len(claim.checks)
    assert "D1" in str(found) and claim.checks[0].what[:10] in found._repr_html_()
    with pytest.raises(KeyError, match="there are D1"):
        found["A3"]


def test_a_figure_has_points_and_a_picture() -> None:
    found = byway.reproduce("cortes-2008/2")
    figure = found.figures[0]
    assert figure.name == "cortes-2008 figure 2" and figure.panels[0]["lines"]
    assert {"x", "y", "low_95"} <= set(figure.to_pandas().columns)
    assert found.plot()._repr_png_().startswith(b"\x89PNG")  # type: ignore[attr-defined]


def test_failover_times_are_those_of_the_papers() -> None:
    # caro-2006 section II: 63 s with RFC 2960's settings, 360 s at worst.
    found = byway.failover_time({"failover.potentially_failed": "off"})
    inactive = found["inactive"]
    assert inactive["best"].seconds_s == 63 and inactive["worst"].seconds_s == 360
    assert sum(s.times * s.each_s for s in inactive["best"].steps) == 63
    assert found.command == "byway failover-time --set failover.potentially_failed=off"
    assert "63 s" in str(found) and found.advice
    assert found.to_pandas().loc["inactive", "worst"] == 360
    assert found.plot()._repr_png_().startswith(b"\x89PNG")  # type: ignore[attr-defined]
    with pytest.raises(KeyError):
        found["soon"]


def test_the_settings_of_a_question_are_dictionaries_too() -> None:
    a = byway.failover_time({"rto.min": "300 ms"}, rtt="20 ms")
    b = byway.failover_time({"rto": {"min": "300 ms"}}, rtt="20 ms")
    assert a.milestones == b.milestones and a.steps[0].each_s == 0.3
    assert a.command == b.command == "byway failover-time --set 'rto.min=300 ms' --rtt '20 ms'"
