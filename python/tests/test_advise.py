"""Advice."""

from __future__ import annotations

import json
import re
from html import escape
from pathlib import Path
from typing import Any

import pytest

import byway

PATHS = ["rtt=20ms,rate=10M", "rtt=60ms,rate=5M,loss=0.5%"]


def test_settings_are_recommended_for_paths(tmp_path: Path) -> None:
    found = byway.advise(PATHS, traffic="requests 500B/1s", runs=(1, 8))
    assert found.recommended.role == "recommended" and found.recommended.runs == 8
    assert found.rows[0].stall_mean_s.low <= found.rows[0].stall_mean_s.value
    assert found.lines["byway"][0].startswith("--preset ")
    # One for each default that is not the advice itself, each with its verdict and figures.
    raw = found.to_dict()["targets"][0]
    advised = raw["rows"][0]["candidate"]
    others = [r for r in raw["rows"] if r["role"] == "default" and r["candidate"] != advised]
    assert len(found.verdicts["byway"]) == len(others) >= 3
    shown = r"(better|worse|no difference shown)"
    figures = r"[+-][\d.]+( ms)? \[[+-][\d.]+, [+-][\d.]+\] \(" + shown + r"\)"
    parts = rf"{shown}; stall {figures}, moves/hour {figures}, on nearby paths {figures}"
    for words in found.verdicts["byway"]:
        assert re.match(parts, words), words
    assert "--runs 1,8" in found.command and "--traffic 'requests 500B/1s'" in found.command
    assert list(found.to_pandas()["name"]) == [r.name for r in found.rows]
    html = found._repr_html_()
    assert html.count("<tr>") == 1 + len(found.rows)
    for row in found.rows:
        stall = row.stall_mean_s
        cells = (
            f"<td style='text-align:left'>{row.name} (byway)</td>"
            f"<td>{stall.value:.3g} ({stall.low:.3g} to {stall.high:.3g})</td>"
        )
        assert cells in html, html
    assert escape("\n".join(found.lines["byway"])) in html and escape(found.command) in html
    assert found.plot()._repr_png_().startswith(b"\x89PNG")  # type: ignore[attr-defined]
    written = found.save(tmp_path / "advice")
    assert {"advice.json", "byway-death.toml"} <= {p.name for p in written}
    assert byway.plan(tmp_path / "advice" / "byway-death.toml").seeds
    dictionaries = [
        {"rtt": "20 ms", "rate": "10 Mbit/s"},
        {"rtt": "60 ms", "rate": "5 Mbit/s", "loss": "0.5 %"},
    ]
    again = byway.advise(dictionaries, traffic="requests 500B/1s", runs=(1, 8))
    assert again.lines == found.lines and again.rows == found.rows


def test_advice_comes_within_a_time_and_names_the_runs_that_give_it_again() -> None:
    paths = ["rtt=20ms,rate=1M", "rtt=60ms,rate=1M"]
    within = "6 s"
    while True:
        try:
            found = byway.advise(
                paths, traffic="requests 500B/1s", targets="linux", within=within
            )
            break
        except byway.SettingError as error:
            # How long a machine needs that does other things, too.
            needed = re.search(r"too short: .*write within=(\d+)s or more", str(error))
            assert needed, error
            within = f"{int(needed[1]) + 2} s"
    effort = found.effort
    assert effort.search >= 1 and effort.check >= 8
    assert f"--runs {effort.search},{effort.check}" in found.command
    again = byway.advise(
        paths,
        traffic="requests 500B/1s",
        targets="linux",
        runs=(effort.search, effort.check),
    )
    assert again.to_dict() == found.to_dict()


def test_what_byway_doctor_measured_is_a_description(tmp_path: Path) -> None:
    measured = {
        "schema": "byway.doctor/1",
        "pairs": [
            {"local": "10.0.0.2", "remote": "10.0.0.1:9899", "answers": True, "rtt_ms": 20.0,
             "loss_round_trip": 0.02, "rate_bit_s": 1e6},
            {"local": "10.1.0.2", "remote": "10.1.0.1:9899", "answers": True, "rtt_ms": 60.0,
             "loss_round_trip": 0.0, "rate_bit_s": None},
            {"local": "10.2.0.2", "remote": "10.2.0.1:9899", "answers": False, "why": "down"},
        ],
    }  # fmt: skip
    file = tmp_path / "doctor.json"
    file.write_text(json.dumps(measured))
    found = byway.advise(file, traffic="requests 500B/1s", targets="linux", runs=(1, 8))
    assert len(found.to_dict()["paths"]) == 2
    unmeasured = "The rate of 10.1.0.2 - 10.1.0.1:9899 was not measured; 10.0 Mbit/s is taken."
    assert unmeasured in found.notes
    assert f"--paths {file}" in found.command


def test_as_many_runs_are_done_as_asked_for() -> None:
    found = byway.advise(PATHS, traffic="requests 500B/1s", targets="usrsctp", runs=(1, 12))
    assert (found.effort.search, found.effort.check) == (1, 12)
    assert {r.runs for r in found.rows} == {12} and "--runs 1,12" in found.command


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"paths": []}, "no path is described"),
        ({"paths": ["rtt=20ms,rtae=10M"]}, "rtae"),
        ({"paths": [{"rtt": "20 ms", "rate": "fast"}]}, "path[0].rate"),
        ({"paths": {"rtt": "20 ms"}}, "expected a list"),
        ({"paths": "no-such-file.toml"}, "cannot read"),
        ({"paths": [3]}, "paths, path: a path is a table [[path]]\n      | path = [3]\n"),
        ({"paths": PATHS, "traffic": "lots"}, "lots"),
        ({"paths": PATHS, "hurts": "pride"}, "pride"),
        ({"paths": PATHS, "max_stall": "soon"}, "soon"),
        ({"paths": PATHS, "targets": "windows"}, "byway, linux and usrsctp"),
        ({"paths": PATHS, "targets": []}, "nobody to advise"),
        ({"paths": PATHS, "targets": 3}, "targets: found 3"),
        ({"paths": PATHS, "targets": [3]}, "targets: found [3]"),
        ({"paths": None}, "paths: found None"),
        ({"paths": PATHS, "runs": 5}, "runs: found 5"),
        ({"paths": PATHS, "runs": (1, 2, 3)}, "runs: found (1, 2, 3)"),
        ({"paths": PATHS, "runs": (True, 8)}, "runs: found (True, 8)"),
        ({"paths": PATHS, "runs": None, "within": "soon"}, "within: "),
        ({"paths": PATHS, "runs": None, "within": 60}, 'within: found 60, expected a time'),
        ({"paths": PATHS, "runs": None, "within": "1 ms"}, "within=1 ms is too short"),
        ({"paths": PATHS, "runs": (0, 8)}, "runs: found (0, 8)"),
        ({"paths": PATHS, "runs": (1, 1)}, "runs: found (1, 1), expected two whole numbers"),
        ({"paths": PATHS, "seed": -1}, "seed: found -1"),
    ],
)
def test_a_wrong_request_is_refused(arguments: Any, words: str) -> None:
    with pytest.raises(byway.InputError) as caught:
        byway.advise(**{"runs": (1, 8)} | arguments)
    assert words in str(caught.value) and "--" not in str(caught.value)
