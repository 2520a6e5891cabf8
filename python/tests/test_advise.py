"""Advice."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import byway

PATHS = ["rtt=20ms,rate=10M", "rtt=60ms,rate=5M,loss=0.5%"]


def test_settings_are_recommended_for_paths(tmp_path: Path) -> None:
    found = byway.advise(PATHS, traffic="requests 500B/1s", runs=(1, 8))
    assert found.recommended.role == "recommended" and found.recommended.runs == 8
    assert found.rows[0].stall_mean_s.low <= found.rows[0].stall_mean_s.value
    assert found.lines["byway"] and found.verdicts["byway"]
    assert "--runs 1,8" in found.command and "--traffic 'requests 500B/1s'" in found.command
    assert len(found.to_pandas()) == len(found.rows) and "recommended" in found._repr_html_()
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


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"paths": []}, "no path is described"),
        ({"paths": ["rtt=20ms,rtae=10M"]}, "rtae"),
        ({"paths": [{"rtt": "20 ms", "rate": "fast"}]}, "path[0].rate"),
        ({"paths": {"rtt": "20 ms"}}, "expected a list"),
        ({"paths": "no-such-file.toml"}, "cannot read"),
        ({"paths": [3]}, ""),
        ({"paths": PATHS, "traffic": "lots"}, "lots"),
        ({"paths": PATHS, "hurts": "pride"}, "pride"),
        ({"paths": PATHS, "max_stall": "soon"}, "soon"),
        ({"paths": PATHS, "targets": "windows"}, "byway, linux and usrsctp"),
        ({"paths": PATHS, "targets": []}, "nobody to advise"),
        ({"paths": PATHS, "runs": 5}, "runs: found 5"),
        ({"paths": PATHS, "runs": (0, 8)}, "runs: found"),
        ({"paths": PATHS, "seed": -1}, "seed: found -1"),
    ],
)
def test_a_wrong_request_is_refused(arguments: Any, words: str) -> None:
    with pytest.raises(byway.InputError) as caught:
        byway.advise(**{"runs": (1, 8)} | arguments)
    assert words in str(caught.value) and "--" not in str(caught.value)
