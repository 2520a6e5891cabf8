"""Wrong things everywhere: the same words as the command's, with the key's place."""

from __future__ import annotations

import datetime
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import byway
from byway import _native


def places(error: byway.InputError) -> list[str]:
    """Where its problems are."""
    return [p.place for p in error.problems]


def refused(source: Any, **arguments: Any) -> byway.InputError:
    """The error that comes of running this."""
    with pytest.raises(byway.InputError) as caught:
        byway.run(source, **arguments)
    return caught.value


def test_a_dictionary_is_refused_in_the_words_of_a_file(
    small: dict[str, Any], tmp_path: Path
) -> None:
    small["path"][1]["rate"] = "ten"
    small["path"][0]["dealy"] = small["path"][0].pop("delay")
    error = refused(small)
    assert isinstance(error, byway.ScenarioError)
    file = tmp_path / "wrong.toml"
    file.write_text(byway.to_toml(small))
    same = refused(file)
    assert [p.message for p in error.problems] == [p.message for p in same.problems]
    assert places(error) == ["path[0]", "path[0].dealy", "path[1].rate"]
    assert all(p.line == 0 for p in error.problems)
    lines = [f"{line}" for line in file.read_text().splitlines()]
    where = [lines.index("[[path]]"), *(lines.index(p.text) for p in error.problems[1:])]
    assert [p.line for p in same.problems] == [n + 1 for n in where]
    assert same.problems[0].file == str(file)
    assert 'did you mean "delay"?' in str(error) and "path[1].rate: rate in [[path]]" in str(error)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (float("nan"), "NaN"),
        (float("inf"), "inf"),
        (-1, "'-1' is not a duration"),
        (45, "'45' has no unit"),
        (10**30, "beyond 64 bits"),
        (-(10**30), "beyond 64 bits"),
        pytest.param(10**5000, "beyond 64 bits", id="huge"),
        (True, "found true"),
        (None, "found None"),
        ({"a"}, "found a set"),
        (b"45 ms", "found a bytes"),
        (object(), "found an object"),
        (datetime.timedelta(seconds=1), "found a timedelta"),
        ("45 parsecs", "parsecs"),
        pytest.param("\ud800", "surrogate", id="half a pair"),
        ("a\x00b", "is not a duration"),
        ("45 ms\n", ""),
        ([], "found a list"),
        ({}, "found a table"),
        (np.float64(3.0), "'3' has no unit"),
        (np.int64(3), "'3' has no unit"),
        (np.array([1.0, 2.0]), "found a list"),
        (1e300, "has no unit"),
        (3 + 4j, "found a complex"),
    ],
)
def test_a_wrong_delay_is_refused_where_it_stands(
    small: dict[str, Any], value: Any, words: str
) -> None:
    small["path"][1]["delay"] = value
    if not words:
        byway.scenario(small)
        return
    error = refused(small)
    assert places(error) == ["path[1].delay"], str(error)
    assert words.lower() in str(error).lower()


@pytest.mark.parametrize("seed", [-1, 1.5, "1", 2**63, 2**64, True, [1], float("nan")])
def test_a_wrong_seed_is_refused(seed: Any) -> None:
    error = refused(None, seed=seed)
    words = f"expected a whole number, 0 to {2**63 - 1}"
    assert places(error) == ["seed"] and words in str(error)


def test_the_greatest_seed_is_in_the_scenario_s_text(small: dict[str, Any]) -> None:
    run = byway.run(small, seed=2**63 - 1)
    assert run.scenario.seed == 2**63 - 1
    again = byway.run(run.to_toml())
    assert [r.digest for r in again] == [r.digest for r in run]


AXES = {"rto.min": ["100 ms", "1 s"]}
UNTYPED: Any = byway


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda s, f: UNTYPED.run(s, only=5), "only: found 5, expected names of policies"),
        (lambda s, f: UNTYPED.run(s, only=[]), "only: found [], expected names of policies"),
        (lambda s, f: UNTYPED.run(s, only=[5]), "only: found [5], expected names of policies"),
        (lambda s, f: UNTYPED.run(s, captures=5), "captures: found 5, expected a file's name"),
        (lambda s, f: UNTYPED.run(s, captures=f), "is a file, expected a folder"),
        (lambda s, f: UNTYPED.run(s, progress=5), "progress: found 5, expected a function"),
        (lambda s, f: UNTYPED.sweep(s, axes=AXES, out=5), "out: found 5, expected a file's name"),
        (lambda s, f: UNTYPED.sweep(s, axes=AXES, progress=5), "progress: found 5, expected"),
        (lambda s, f: UNTYPED.sweep(s, axes=AXES, threads=-1), "threads: found -1, expected a whole"),
        (lambda s, f: UNTYPED.sweep(s, axes=AXES, chunk_seconds="x"), "chunk_seconds: found 'x'"),
        (lambda s, f: UNTYPED.read_results(5), "path: found 5, expected a file's name"),
        (lambda s, f: UNTYPED.reproduce("A3", runs=5), "runs: found 5, expected a file's name"),
        (lambda s, f: UNTYPED.reproduce("A3", progress=5), "progress: found 5, expected a function"),
        (lambda s, f: UNTYPED.advise(["rtt=1ms"] * 2, progress=5), "progress: found 5, expected"),
    ],
)
def test_arguments_of_the_wrong_kind_are_refused_before_anything_runs(
    call: Any,
    words: str,
    small: dict[str, Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def runs(*_: object, **__: object) -> None:
        raise AssertionError("something ran")

    for name in ("run", "sweep", "reproduce", "advise", "read_results"):
        monkeypatch.setattr(_native, name, runs)
    file = tmp_path / "file"
    file.touch()
    with pytest.raises(byway.SettingError) as caught:
        call(small, str(file))
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda r: r.table("x"), "width: found 'x', expected a whole number"),
        (lambda r: r.picture(True), "width: found True, expected a whole number"),
        (lambda r: r.save(b"x"), "path: found b'x', expected a file's name"),
        (lambda r: r.report(5), "path: found 5, expected a file's name"),
    ],
)
def test_wrong_questions_to_runs_are_refused(
    call: Any, words: str, small: dict[str, Any]
) -> None:
    with pytest.raises(byway.SettingError) as caught:
        call(byway.run(small))
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda r: r.means(5), "metric: found 5, expected the name of a metric"),
        (lambda r: r.compare("rto.min", of=5), "of: found 5, expected names of metrics"),
        (lambda r: r.compare("rto.min", of=[5]), "of: found [5], expected names of metrics"),
        (lambda r: r.compare("rto.min", confidence="x"), "confidence: found 'x', expected a number"),
        (lambda r: UNTYPED.compare(r, axis="rto.min", values=5), "values: found 5, expected two"),
        (lambda r: r.save(5), "path: found 5, expected a file's name"),
        (lambda r: r.scenario(99), "row: found 99, expected a whole number, 0 to 3"),
        (lambda r: r.run("x"), "row: found 'x', expected a whole number, 0 to 3"),
        (lambda r: r.run(True), "row: found True, expected a whole number, 0 to 3"),
    ],
)
def test_wrong_questions_to_results_are_refused(
    call: Any, words: str, small: dict[str, Any]
) -> None:
    results = byway.sweep(small, axes=AXES, seeds=2)
    with pytest.raises((byway.SettingError, IndexError)) as caught:
        call(results)
    assert words in str(caught.value)


def test_of_a_long_line_the_part_with_the_problem_is_shown(small: dict[str, Any]) -> None:
    with pytest.raises(byway.SweepError) as caught:
        byway.sweep(small, axes=AXES, seeds=[*range(200_000), -1])
    assert "199999, -1]" in str(caught.value) and len(str(caught.value)) < 1000


def test_a_tilde_is_the_home_folder(
    small: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (tmp_path / "home").mkdir()
    monkeypatch.chdir(tmp_path)
    one = byway.run(small)
    one.save("~/small.toml")
    again = byway.run("~/small.toml")
    assert again[0].digest == one[0].digest
    assert again.command == f"byway run {tmp_path}/home/small.toml"
    results = byway.sweep("~/small.toml", axes=AXES, seeds=2, out="~/r.parquet")
    assert results.file == tmp_path / "home" / "r.parquet"
    assert len(byway.read_results("~/r.parquet")) == 4
    assert [p.name for p in tmp_path.iterdir()] == ["home"]


def test_a_place_that_is_refused_leaves_no_folder(
    small: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(byway.StoreError, match="this is a URL"):
        byway.sweep(small, axes=AXES, seeds=2, out="s3://bucket/r.parquet")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("source", "words"),
    [
        (5, "found an int"),
        (b"\xff\xfe", "found a bytes"),
        (["a"], "found a list"),
        ("no-such-file.toml", "cannot read no-such-file.toml"),
        ("", "cannot read"),
        ("a\x00b", "cannot read"),
        ("/", "cannot read /"),
        ("= 1\n", "this is not TOML"),
        ({1: 2}, "found an int as a key"),
        pytest.param({"\udcff": 2}, "surrogate", id="half a pair"),
        ({}, "there is no path"),
    ],
)
def test_what_is_no_scenario_is_refused(source: Any, words: str) -> None:
    assert words in str(refused(source))


def test_names_of_files_need_not_be_unicode(small: dict[str, Any], tmp_path: Path) -> None:
    name = os.fsencode(tmp_path) + b"/\xff\xfe.toml"
    with open(name, "w") as file:
        file.write(byway.to_toml(small))
    assert byway.run(os.fsdecode(name))[0].outcome.kind == "complete"
    assert byway.run(Path(os.fsdecode(name)))[0].outcome.kind == "complete"


def test_keys_may_be_any_text(small: dict[str, Any]) -> None:
    small["größe"] = 1
    small["a b"] = 1
    small['"'] = 1
    small["line\nfeed"] = 1
    assert places(refused(small)) == ["größe", "a b", '"', "line\nfeed"]


def test_a_key_given_twice_is_refused(small: dict[str, Any]) -> None:
    small["protocol"] = {"rto": {"min": "1 s"}, "rto.min": "2 s"}
    error = refused(small)
    assert places(error) == ["protocol.rto.min"] and "given twice" in str(error)
    small["protocol"] = {"rto.min": "1 s", "rto": {"max": "50 s"}}
    byway.scenario(small)


def test_a_list_that_holds_itself_is_refused(small: dict[str, Any]) -> None:
    small["path"].append(small["path"])
    assert "nested too deeply" in str(refused(small))


def test_a_scenario_with_a_billion_of_something_is_refused(small: dict[str, Any]) -> None:
    small["traffic"] = {
        "kind": "periodic", "message": "1 B", "every": "1 ns", "count": 10**9,
    }  # fmt: skip
    assert places(refused(small)) == ["traffic.count"]
    with pytest.raises(byway.SweepError, match="1 to 1000000"):
        byway.sweep(small, axes={"rto.min": ["1 s"]}, seeds=10**9)
    with pytest.raises(byway.SweepError, match="at most 100000 cells and 2000000 runs"):
        loss = [f"{i / 1000} %" for i in range(1000)]
        byway.sweep(small, axes={"path.1.loss": loss, "path.2.loss": loss}, seeds=3)
    with pytest.raises(byway.SweepError, match="found a list of 1000000000"):
        byway.sweep(axes={"rto.min": ["1 s"]}, seeds=range(10**9))


@pytest.mark.parametrize(
    ("settings", "place", "words"),
    [
        ({"rto.mim": "1 s"}, "rto.mim", 'did you mean "min"?'),
        ({"rto.min": 100}, "rto.min", "unit"),
        ({"rto": 5}, "rto", ""),
        ({"rto.min": "70 s"}, "", "rto.m"),
        ({"failure.path_max_retrans": -1}, "failure.path_max_retrans", "-1"),
        ({"failure.path_max_retrans": 1e99}, "failure.path_max_retrans", ""),
        ({"failover.potentially_failed": None}, "settings.failover.potentially_failed", "None"),
    ],
)
def test_a_wrong_setting_is_refused(settings: Any, place: str, words: str) -> None:
    error = refused(None, settings=settings)
    assert isinstance(error, byway.SettingError)
    assert places(error) == [place], str(error)
    assert words in str(error) and "--set" not in str(error)


def test_wrong_policies_are_refused(small: dict[str, Any]) -> None:
    error = refused(small, policies={"a": {"rto.mni": "1 s"}, "b": {}})
    assert places(error) == ['policies["a"].rto.mni'], str(error)
    assert places(refused(small, policies={"a": {"name": "b"}})) == ['policies["a"].name']
    assert "there is no policy" in str(refused(small, policies={}))
    assert "expected a dictionary of settings" in str(refused(small, policies={"a": 3}))
    assert "found a list" in str(refused(small, policies=["a"]))
    assert 'there are "rfc9260"' in str(refused(small, only=["b"]))
    assert "expected names" in str(refused(small, only=[3]))


@pytest.mark.parametrize(
    ("arguments", "place"),
    [
        ({"rtt": 90}, "rtt"),
        ({"rtt": "0 s"}, "rtt"),
        ({"rtt": "2 h"}, "rtt"),
        ({"rto": "1 ms"}, "rto"),
        ({"rto": float("nan")}, "rto"),
        ({"preset": "rfc0"}, "preset"),
        ({"settings": {"x": 1}}, "x"),
        ({"settings": [1]}, ""),
    ],
)
def test_a_wrong_question_is_refused(arguments: Any, place: str) -> None:
    with pytest.raises(byway.SettingError) as caught:
        byway.failover_time(**arguments)
    assert places(caught.value) == [place]
    assert "--" not in str(caught.value)


def test_what_packages_are_missing_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(byway.MissingPackage, match=r"pip install polars \(or byway\[polars\]\)"):
        byway.run(only="byway").to_polars()


@pytest.mark.parametrize(
    ("what", "words"),
    [
        ("A99", '"A99" is no paper, claim or figure here'),
        ("caro-2004/A3", "\"caro-2004/A3\" is no paper"),
        ("caro-2006/99", "is no paper"),
        ("", "is no paper"),
    ],
)
def test_a_claim_that_does_not_exist_is_refused(what: str, words: str) -> None:
    with pytest.raises(byway.SettingError, match=words):
        byway.reproduce(what)


def test_too_many_paths_are_refused_at_once(small: dict[str, Any]) -> None:
    small["path"] = [small["path"][0]] * 100_000
    error = refused(small)
    assert "100000 paths; at most 8" in error.problems[0].message
