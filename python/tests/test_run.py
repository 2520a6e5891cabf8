"""Runs: the same figures as the command, and arrays that nobody copied."""

from __future__ import annotations

import copy
import dataclasses
import json
import multiprocessing
import pickle
import threading
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import byway


def test_the_built_in_scenario_gives_its_known_figures() -> None:
    runs = byway.run(only=["RFC 9260", "probe timeout"])
    assert [r.policy for r in runs] == ["RFC 9260", "probe timeout"]
    first = runs["RFC 9260"]
    assert first.transfer_s == 9.597708 and first.stall_s == 1.136176
    assert first.detections[0].suspect_after_s == 1.007603
    assert first.outcome.kind == "complete"
    assert runs.command == "byway run --only 'RFC 9260' --only 'probe timeout'"


def test_every_figure_of_the_command_is_an_attribute() -> None:
    runs = byway.run(only="RFC 9260")
    raw = runs.to_dict()
    result = runs[0]
    assert set(raw["results"][0]) <= {f.name for f in dataclasses.fields(result)}
    assert set(raw["results"][0]["paths"][0]) <= {
        f.name for f in dataclasses.fields(result.paths[0])
    }
    assert set(raw["scenario"]) == {f.name for f in dataclasses.fields(runs.scenario)}
    assert set(raw["scenario"]["paths"][0]) == {
        f.name for f in dataclasses.fields(runs.scenario.paths[0])
    }
    assert set(raw["scenario"]["events"][0]) == {
        f.name for f in dataclasses.fields(runs.scenario.events[0])
    }


def test_a_file_a_text_and_a_dictionary_are_the_same_scenario(
    small: dict[str, Any], tmp_path: Path
) -> None:
    text = byway.to_toml(small)
    file = tmp_path / "small.toml"
    file.write_text(text)
    digests = {byway.run(source)[0].digest for source in (small, text, file, str(file))}
    assert len(digests) == 1
    again = tmp_path / "again.toml"
    runs = byway.run(small, seed=7)
    command = runs.save(again)
    assert command == f"byway run {again}"
    assert byway.run(again)[0].digest == runs[0].digest != digests.pop()


def test_settings_reach_every_policy_and_policies_replace_those_of_the_file(
    small: dict[str, Any],
) -> None:
    plain = byway.run(small)[0]
    dotted = byway.run(small, settings={"rto.min": "300 ms"})[0]
    nested = byway.run(small, settings={"rto": {"min": "300 ms"}})[0]
    assert dotted.digest == nested.digest != plain.digest
    assert dotted.stall_s is not None and plain.stall_s is not None
    assert dotted.stall_s < plain.stall_s
    runs = byway.run(small, policies={"RFC 9260": {}, "v2, 0.3 s": {"rto.min": "300 ms"}})
    assert [r.policy for r in runs] == ["RFC 9260", "v2, 0.3 s"]
    assert runs[0].transfer_s == plain.transfer_s and runs[1].transfer_s == dotted.transfer_s


def test_arrays_are_views_of_what_rust_made() -> None:
    result = byway.run(only="RFC 9260")[0]
    series = result.series
    arrays = [series.received_t, series.received]
    for path in series.paths:
        arrays += [getattr(path, f.name) for f in dataclasses.fields(path) if f.name != "name"]
    assert len(arrays) == 18
    again = result.series
    for array in arrays:
        assert array.base is not None and not array.flags.owndata
        assert not array.flags.writeable
        with pytest.raises(ValueError, match="read-only"):
            array[:1] = 0
        with pytest.raises(ValueError, match="WRITEABLE"):
            array.flags.writeable = True
    assert series.received.__array_interface__["data"] == again.received.__array_interface__["data"]
    assert again.paths[0].cwnd.base is series.paths[0].cwnd.base


def test_arrays_outlive_the_run() -> None:
    received = byway.run(only="RFC 9260")[0].series.received
    assert received.max() == 5777 and np.all(received >= 0)


def test_the_series_fit_the_figures() -> None:
    result = byway.run(only="RFC 9260")[0]
    series = result.series
    assert np.all(np.diff(series.received_t) >= 0)
    assert len(series.paths[0].timeouts) == result.paths[0].timeouts
    # A run ends after the last byte, and a width of 0.1 s is cut at its end.
    assert sum(p.sent.sum() for p in series.paths) == pytest.approx(
        sum(p.bytes for p in result.paths), rel=0.01
    )
    states = [byway.STATES[i] for i in series.paths[0].state]
    assert states[-1] == "potentially_failed"
    assert result.events[0].words == "fails"


def test_frames_have_the_figures() -> None:
    runs = byway.run(only=["RFC 9260", "byway"])
    frame = runs.to_pandas()
    assert frame.loc["RFC 9260", "stall_s"] == runs[0].stall_s
    assert runs.to_polars()["policy"].to_list() == ["RFC 9260", "byway"]
    dataset = runs.to_xarray()
    assert dict(dataset.sizes) == {"policy": 2, "path": 2}
    assert dataset["stall_s"].attrs["units"] == "s"
    assert float(dataset["path_timeouts"].sel(policy="RFC 9260", path="primary")) == 1
    long = runs[0].series.to_pandas()
    assert set(long["quantity"]) == {"received", "cwnd", "rto", "state", "timeout"}


def test_lost_transfers_have_no_figures_and_say_why(small: dict[str, Any]) -> None:
    small["event"] = [{"at": "400 ms", "path": p, "do": "down"} for p in (1, 2)]
    settings = {"failure.association_max_retrans": 2, "failure.path_max_retrans": 1}
    runs = byway.run(small, settings=settings)
    assert runs[0].transfer_s is None and runs[0].outcome.kind == "lost"
    assert "Association.Max.Retrans" in str(runs[0].outcome)
    assert np.isnan(runs.to_pandas()["transfer_s"].iloc[0])
    for kind in ("timeline", "tsn", "cwnd", "states"):
        assert runs.plot(kind)


@pytest.mark.parametrize("kind", ["timeline", "tsn", "cwnd", "states"])
def test_plots_are_pictures_with_titles_and_units(kind: str) -> None:
    figure = byway.run(only=["RFC 9260", "byway"]).plot(kind)
    png = figure._repr_png_()  # type: ignore[attr-defined]
    assert png.startswith(b"\x89PNG") and len(png) > 10_000
    axes = figure.get_axes()[-1]
    assert "s" in axes.get_xlabel().split() or "seconds" in axes.get_xlabel()


def test_a_plot_that_does_not_exist_names_those_that_do() -> None:
    with pytest.raises(byway.SettingError, match="timeline, tsn, cwnd, states"):
        byway.run(only="byway").plot("pie")


def test_notebooks_and_terminals_show_a_table(tmp_path: Path) -> None:
    runs = byway.run(only=["RFC 9260"])
    html = runs._repr_html_()
    assert "<td style='text-align:right'>1.136</td>" in html
    assert "<code>byway run --only &#x27;RFC 9260&#x27;</code>" in html
    assert "RFC 9260               9.60 s" in byway.run().table() and "transfer" in str(runs)
    assert "1.136" in runs[0]._repr_html_()
    report = Path(runs.report(tmp_path / "report.html")).read_text()
    assert report.lower().startswith("<!doctype html>")


def test_captures_are_written(small: dict[str, Any], tmp_path: Path) -> None:
    byway.run(small, captures=tmp_path / "new")
    files = list((tmp_path / "new").iterdir())
    assert [f.suffix for f in files] == [".pcapng"] and files[0].stat().st_size > 10_000


def test_other_threads_go_on_while_a_run_goes_on() -> None:
    # About a second of work; a thread that had to wait for it would count nothing meanwhile.
    long = {
        "path": [{"rate": "100 Mbit/s", "delay": "5 ms"}],
        "traffic": {"kind": "bulk", "size": "200 MB"},
    }
    counted: list[float] = []
    done = threading.Event()

    def count() -> None:
        while not done.wait(0.001):
            counted.append(time.perf_counter())

    thread = threading.Thread(target=count)
    thread.start()
    began = time.perf_counter()
    byway.run(long)
    ended = time.perf_counter()
    done.set()
    thread.join()
    during = [t for t in counted if began < t < ended]
    assert len(during) > 10, f"{len(during)} in {ended - began} s"


def test_threads_may_run_at_once(small: dict[str, Any]) -> None:
    digests: list[str] = []
    threads = [
        threading.Thread(target=lambda: digests.append(byway.run(small)[0].digest))
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(digests) == 8 and len(set(digests)) == 1


def test_progress_is_told_and_its_exception_comes_out(small: dict[str, Any]) -> None:
    seen: list[tuple[int, int]] = []
    byway.run(small, progress=lambda done, most: seen.append((done, most)))
    assert seen[-1] == (1000, 1000)

    def broken(done: int, most: int) -> None:
        raise LookupError("no more")

    with pytest.raises(LookupError, match="no more"):
        byway.run(small, progress=broken)


def test_settings_that_contradict_each_other_are_warned_of(small: dict[str, Any]) -> None:
    with pytest.warns(UserWarning, match="sack.delay"):
        byway.run(small, settings={"rto.min": "100 ms"})
    small["protocol"] = {"rto.min": "100 ms"}
    assert "sack.delay" in byway.check(small)[0]


def test_errors_can_be_sent_to_other_processes() -> None:
    with pytest.raises(byway.ScenarioError) as caught:
        byway.run({"colour": 1})
    again = pickle.loads(pickle.dumps(caught.value))
    assert again.problems == caught.value.problems and str(again) == str(caught.value)
    store = byway.StoreError("disk full", 28, "/x")
    copy = pickle.loads(pickle.dumps(store))
    assert (str(copy), copy.errno, copy.filename) == ("disk full", 28, "/x")


def test_scenarios_and_results_of_sweeps_can_be_sent_to_other_processes(
    small: dict[str, Any], tmp_path: Path
) -> None:
    read = byway.scenario(small, seed=7)
    out = tmp_path / "r.parquet"
    results = byway.sweep(small, axes={"rto.min": ["1 s"]}, seeds=3, out=out)
    spawned = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=spawned) as pool:
        # There and back.
        again = pool.submit(copy.copy, read).result()
        same = pool.submit(copy.copy, results).result()
        told = pool.submit(str, results).result()
        grid = pool.submit(byway.sweep, read, axes={"rto.min": ["1 s"]}, seeds=2).result()
    assert (again.seed, again.to_toml()) == (7, read.to_toml())
    assert same.to_pandas().equals(results.to_pandas())
    assert (same.file, same.command) == (results.file, results.command)
    assert (same.to_toml(), told) == (results.to_toml(), str(results))
    assert "rto.min" in same.to_toml() and len(grid) == 2


def test_rows_and_threads_may_be_numbers_of_numpy(small: dict[str, Any]) -> None:
    one: Any = np.int64(1)
    results = byway.sweep(small, axes={"rto.min": ["1 s"]}, seeds=2, threads=one)
    worst = results.columns["metrics"]["stall_s"].argmax()
    assert results.run(worst).results[0].digest == results.run(int(worst)).results[0].digest
    assert results.table(100 * one) == results.table()


def test_runs_say_what_to_send_in_their_place(small: dict[str, Any]) -> None:
    runs = byway.run(small)
    for what in (runs, runs[0]):
        with pytest.raises(TypeError, match=r"to_dict\(\).*to_toml\(\)"):
            pickle.dumps(what)


def test_json_is_that_of_the_command() -> None:
    runs = byway.run(only="byway")
    assert json.loads(json.dumps(runs.to_dict()))["schema"] == "byway.run/1"
    assert runs[0].to_dict()["policy"] == "byway"
