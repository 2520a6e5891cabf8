"""Sweeps: rows, frames, comparisons and journals."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import byway

AXES = {"path.*.loss": ["0 %", "3 %"], "timers": {"default": {}, "short": {"rto.min": "300 ms"}}}


def swept(small: dict[str, Any], **more: Any) -> byway.SweepResults:
    """Four cells of three runs."""
    return byway.sweep(small, axes=AXES, seeds=3, metrics=["transfer_s", "stall_s"], **more)


def test_the_rows_are_those_of_single_runs(small: dict[str, Any]) -> None:
    results = swept(small)
    assert results.axes == {"path.*.loss": ["0 %", "3 %"], "timers": ["default", "short"]}
    assert len(results) == 12 and len(results.cells) == 4
    for row in (0, 5, 11, -1):
        again = results.run(row)[0]
        assert again.transfer_s == results.columns["metrics"]["transfer_s"][row]
    with pytest.raises(IndexError):
        results.scenario(12)


def test_rows_do_not_depend_on_threads_or_on_the_file(
    small: dict[str, Any], tmp_path: Path
) -> None:
    memory = swept(small, threads=1)
    file = swept(small, threads=2, out=tmp_path / "new folder" / "grid.parquet")
    read = byway.read_results(tmp_path / "new folder" / "grid.parquet")
    for name, values in memory.columns["metrics"].items():
        for other in (file, read):
            assert np.array_equal(values, other.columns["metrics"][name], equal_nan=True)
    assert read.axes == memory.axes and read.seeds == [1, 2, 3]
    memory.save(tmp_path / "saved.parquet")
    assert (tmp_path / "saved.parquet").read_bytes() == file.file.read_bytes()  # type: ignore[union-attr]


def test_columns_are_views_of_what_rust_made(small: dict[str, Any]) -> None:
    results = swept(small)
    column = results.columns["metrics"]["transfer_s"]
    assert column.base is not None and not column.flags.writeable and not column.flags.owndata
    assert results.columns["metrics"]["transfer_s"] is column


def test_frames_have_all_rows(small: dict[str, Any]) -> None:
    results = swept(small)
    pandas = results.to_pandas()
    assert list(pandas.columns[:5]) == ["path.*.loss", "timers", "seed", "status", "reason"]
    assert list(pandas["timers"].cat.categories) == ["default", "short"]
    polars = results.to_polars()
    assert polars["transfer_s"].to_list() == pandas["transfer_s"].to_list()
    grid = results.to_xarray()
    assert dict(grid.sizes) == {"path.*.loss": 2, "timers": 2, "seed": 3}
    at = {"path.*.loss": "3 %", "timers": "short", "seed": 2}
    row = pandas[
        (pandas["path.*.loss"] == "3 %") & (pandas["timers"] == "short") & (pandas["seed"] == 2)
    ]
    assert float(grid["stall_s"].sel(at)) == row["stall_s"].item()
    assert "(s)" in grid["stall_s"].attrs["about"]


def test_a_cell_that_needed_fewer_runs_has_gaps_in_the_grid(small: dict[str, Any]) -> None:
    stop = {"metrics": ["transfer_s"], "within": "10 %", "least": 3, "step": 1}
    results = byway.sweep(small, axes={"path.*.loss": ["0 %", "5 %"]}, seeds=6, stop=stop)
    grid = results.to_xarray().sel({"path.*.loss": "0 %"})
    assert int(np.isfinite(grid["transfer_s"].to_numpy()).sum()) == 3
    assert list(grid["status"].values).count("") == 3


def test_a_file_and_its_dictionary_are_the_same_plan(
    small: dict[str, Any], tmp_path: Path
) -> None:
    planned = byway.plan(small, axes=AXES, seeds=[4, 7], name="grid")
    file = tmp_path / "grid.toml"
    file.write_text(planned.to_toml())
    read = byway.plan(file)
    assert byway.sweep(planned).to_toml() == file.read_text()
    assert (read.cells, read.seeds, read.axes) == (planned.cells, [4, 7], planned.axes)
    first = byway.sweep(planned).columns["metrics"]["transfer_s"]
    assert np.array_equal(byway.sweep(str(file)).columns["metrics"]["transfer_s"], first)
    assert byway.sweep(file, out=tmp_path / "o.parquet").command == (
        f"byway sweep {file} --out {tmp_path / 'o.parquet'}"
    )


def test_scenarios_come_in_all_forms(small: dict[str, Any], tmp_path: Path) -> None:
    file = tmp_path / "small.toml"
    file.write_text(byway.to_toml(small))
    plans = [
        byway.plan(source, axes={"rto.min": ["1 s"]}, seeds=1)
        for source in (small, file, str(file), byway.to_toml(small), byway.scenario(small))
    ]
    assert {str(p.cells) for p in plans} == {"[['1 s']]"}
    assert len(byway.plan(axes={"path.1.loss": ["0 %", "1 %"]}, seeds=1).cells) == 16


def test_values_of_an_axis_are_compared(small: dict[str, Any], tmp_path: Path) -> None:
    results = swept(small, out=tmp_path / "a.parquet")
    found = results.compare("timers", of="stall_s")
    assert (found.a, found.b) == ("default", "short") and len(found.pairs) == 2
    pair = found.pairs[0]
    assert pair.cell == ("0 %",) and pair.significant and pair.paired == 3
    assert pair.a is not None and pair.b is not None and pair.difference is not None
    assert pair.difference == pytest.approx(pair.b - pair.a)
    assert found.command.endswith("--by timers default short --metric stall_s")
    assert list(found.to_pandas()["metric"]) == ["stall_s", "stall_s"] and "B - A" in str(found)
    assert "<table>" in found._repr_html_()


def test_two_results_are_compared(small: dict[str, Any], tmp_path: Path) -> None:
    a = byway.sweep(small, axes={"path.*.loss": ["0 %"]}, seeds=3, out=tmp_path / "a.parquet")
    small["protocol"] = {"rto.min": "300 ms"}
    b = byway.sweep(small, axes={"path.*.loss": ["0 %"]}, seeds=3, out=tmp_path / "b.parquet")
    by_file = byway.compare(tmp_path / "a.parquet", tmp_path / "b.parquet", of=["stall_s"])
    assert by_file.pairs == byway.compare(a, b, of=["stall_s"]).pairs
    assert by_file.pairs[0].significant
    assert by_file.command.startswith("byway compare ")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"axis": "colour"}, '"colour" is not an axis'),
        ({"axis": "timers", "values": ("default", "long")}, '"long" is not a value'),
        ({"axis": "timers", "of": "speed"}, "not a metric"),
        ({"axis": "timers", "confidence": 95}, "between 0 and 1"),
        ({"axis": "timers", "confidence": float("nan")}, "between 0 and 1"),
        ({}, "two results are compared"),
    ],
)
def test_comparisons_that_make_no_sense_are_refused(
    small: dict[str, Any], arguments: Any, words: str
) -> None:
    with pytest.raises(byway.SettingError, match=words):
        byway.compare(swept(small), **arguments)


@pytest.mark.parametrize(
    ("arguments", "place", "words"),
    [
        ({"axes": {"rto.mni": ["1 s"]}}, "axis[0].key", "rto.mni"),
        ({"axes": {"rto.min": [1]}}, "axis[0].values", "unit"),
        ({"axes": {"rto.min": []}}, "axis[0].values", "empty list"),
        ({"axes": {"t": {"a": {"rto.mni": "1 s"}}}}, "axis[0].values", "mni"),
        ({"axes": {"rto.min": ["1 s"]}, "seeds": 0}, "seeds", "whole number"),
        ({"axes": {"rto.min": ["1 s"]}, "seeds": [1, 1]}, "seeds", "each once"),
        ({"axes": {"rto.min": ["1 s"]}, "metrics": ["speed"]}, "metrics", "speed"),
        ({"axes": {"rto.min": ["1 s"]}, "metrics": ["path3_bytes"]}, "metrics", "paths 1 to 2"),
        ({"axes": {"rto.min": ["1 s"]}, "metrics": ["path0_bytes"]}, "metrics", "no path 0"),
        (
            {"axes": {"rto.min": ["1 s"]}, "stop": {"metrics": ["failure2_inactive_s"]}},
            "stop.metrics",
            "there is no scripted failure 2; the only scripted failure here is",
        ),
        ({"axes": {"rto.min": ["1 s"]}, "skip": [{"rto.min": "2 s"}]}, "skip[0].rto.min", "2 s"),
        ({"axes": {"seed": {"a": {}}}}, "axis[0]", "column"),
        ({"axes": {"rto.min": {1, 2}}, "stop": {"metrics": 3}}, "stop.metrics", ""),
    ],
)
def test_a_wrong_sweep_is_refused_where_it_is_wrong(
    small: dict[str, Any], arguments: Any, place: str, words: str
) -> None:
    with pytest.raises(byway.SweepError) as caught:
        byway.sweep(small, **arguments)
    assert place in [p.place for p in caught.value.problems], str(caught.value)
    assert words in str(caught.value)


def test_a_wrong_scenario_of_a_sweep_has_its_own_place(small: dict[str, Any]) -> None:
    small["path"][0]["rate"] = "ten"
    with pytest.raises(byway.SweepError) as caught:
        byway.sweep(small, axes={"rto.min": ["1 s"]}, seeds=1)
    problem = caught.value.problems[0]
    assert (problem.file, problem.place) == ("scenario", "path[0].rate")


def test_what_is_no_sweep_is_refused() -> None:
    for wrong, words in [(None, "nothing to sweep"), (3, "found an int"), ("x", "cannot read x")]:
        with pytest.raises(byway.SweepError, match=words):
            byway.sweep(wrong)
    with pytest.raises(byway.SweepError, match="expected lists of values"):
        byway.sweep(axes={"rto.min": 3})
    for threads in (-1, 1.5, True, 10**9):
        with pytest.raises(byway.SettingError, match="threads"):
            byway.sweep(axes={"path.1.loss": ["0 %"]}, threads=threads)  # type: ignore[arg-type]


def test_results_that_are_in_the_way_are_kept(small: dict[str, Any], tmp_path: Path) -> None:
    out = tmp_path / "grid.parquet"
    swept(small, out=out)
    before = out.read_bytes()
    small["traffic"]["size"] = "128 KiB"
    with pytest.raises(byway.StoreError, match="restart=True"):
        swept(small, out=out)
    assert out.read_bytes() == before
    swept(small, out=out, restart=True)
    assert out.read_bytes() != before
    out.write_bytes(before[:-9])
    with pytest.raises(byway.StoreError, match="cut off"):
        byway.read_results(out)
    with pytest.raises(byway.StoreError, match="cannot read") as caught:
        byway.read_results(tmp_path / "none")
    assert caught.value.errno == 2 and str(caught.value.filename).endswith("none")


@pytest.mark.parametrize(("x", "hue"), [(None, None), ("timers", None), ("timers", "path.*.loss")])
def test_sweeps_are_plotted(small: dict[str, Any], x: str | None, hue: str | None) -> None:
    results = swept(small)
    figure = results.plot("stall_s", x=x, hue=hue)
    assert figure._repr_png_().startswith(b"\x89PNG")  # type: ignore[attr-defined]
    assert figure.get_supylabel() == "stall, s"
    assert "<table>" in results._repr_html_() and "4 cells" in str(results)


def test_a_plot_of_nothing_known_is_refused(small: dict[str, Any]) -> None:
    results = swept(small)
    for arguments in ({"metric": "speed"}, {"x": "colour"}, {"x": "timers", "hue": "timers"}):
        with pytest.raises(byway.SweepError):
            results.plot(**arguments)


def test_what_is_no_file_is_neither_read_nor_replaced(
    small: dict[str, Any], tmp_path: Path
) -> None:
    pipe, folder = tmp_path / "pipe.parquet", tmp_path / "folder.parquet"
    os.mkfifo(pipe)
    folder.mkdir()
    for out, words in [(pipe, "a device or a pipe"), (folder, "a folder")]:
        for restart in (False, True):
            with pytest.raises(byway.StoreError) as refused:
                swept(small, out=out, restart=restart)
            expected = f"{out}: this is {words}, and no file; choose another out="
            assert str(refused.value) == expected
            assert refused.value.filename == str(out)
    assert pipe.is_fifo()
    # These have no end.
    for device in ("/dev/full", "/dev/zero"):
        with pytest.raises(byway.StoreError, match=f"{device}: this is a device"):
            swept(small, out=device)
        with pytest.raises(byway.StoreError, match=f"{device}: this is no file"):
            byway.read_results(device)
    with pytest.raises(OSError, match="No space left on device"):
        byway.run(small).save("/dev/full")


def test_progress_counts_the_runs(small: dict[str, Any]) -> None:
    seen: list[tuple[int, int]] = []
    swept(small, progress=lambda done, most: seen.append((done, most)))
    assert seen[-1] == (12, 12)
