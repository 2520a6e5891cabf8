"""Sweeps: what `byway sweep` and `byway compare` do."""

from __future__ import annotations

import json
import os
import shlex
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from . import _given, _native
from ._frames import need
from ._native import Plan, Scenario
from ._run import Comparison, Progress, run
from .errors import SettingError, SweepError

if TYPE_CHECKING:
    import distributed
    import pandas
    import polars
    import xarray
    from matplotlib.figure import Figure

STATUSES = ("complete", "lost", "out_of_time", "out_of_events", "refused")
"""How a run of a sweep can end."""

Axes: TypeAlias = "Mapping[str, Any] | Sequence[Mapping[str, Any]]"
"""What varies: see `sweep`."""


def _axis(name: str, values: Any) -> dict[str, Any]:
    """One axis of a mapping, as a file has it."""
    if isinstance(values, Mapping):
        if "values" in values:
            return {"name": name} | dict(values)
        return {"name": name, "values": [{"name": k, **dict(v)} for k, v in values.items()]}
    if isinstance(values, str):
        raise TypeError(f"{name}: found {values!r}, which is no list")
    return {"key": name, "values": list(values)}


def _dictionary(source: Any, given: dict[str, Any]) -> Any:
    """The sweep as one thing to be read."""
    given = {k: v for k, v in given.items() if v is not None}
    axes = given.pop("axes", None)
    if axes is None and not given:
        if source is None:
            raise SweepError(
                "there is nothing to sweep; name a sweep file, or give a scenario and axes: "
                'byway.sweep(scenario, axes={"rto.min": ["100 ms", "1 s"]}, seeds=30)'
            )
        return source
    whole: dict[str, Any] = {"name": "sweep"} | given
    whole["scenario"] = "built-in" if source is None else source
    if isinstance(axes, Mapping):
        try:
            whole["axis"] = [_axis(k, v) for k, v in axes.items()]
        except (TypeError, ValueError) as error:
            raise SweepError(
                'axes: expected lists of values, such as {"rto.min": ["100 ms", "1 s"]}, or named '
                'values with what they set, such as {"timers": {"short": {"rto.min": "100 ms"}}} '
                f"({error})"
            ) from error
    elif axes is not None:
        whole["axis"] = axes
    return whole


def plan(
    source: Any = None,
    *,
    axes: Axes | None = None,
    seeds: int | Sequence[int] | Mapping[str, int] | None = None,
    metrics: Sequence[str] | None = None,
    policies: Sequence[str] | None = None,
    stop: Mapping[str, Any] | None = None,
    skip: Sequence[Mapping[str, Any]] | None = None,
    name: str | None = None,
    description: str | None = None,
) -> Plan:
    """Reads and checks a sweep, and runs nothing: its cells, axes, seeds and text. The
    arguments are those of `sweep`.

    Raises SweepError with every mistake and its place.
    """
    given = dict(
        axes=axes, seeds=seeds, metrics=metrics, policies=policies, stop=stop, skip=skip,
        name=name, description=description,
    )  # fmt: skip
    whole = _dictionary(_given.source(source), given)
    if isinstance(whole, Mapping):
        whole = dict(whole)
        if isinstance(whole.get("scenario"), Mapping):
            whole["scenario"] = dict(whole["scenario"])
    return _native.read_plan(whole)


def sweep(
    source: Any = None,
    *,
    axes: Axes | None = None,
    seeds: int | Sequence[int] | Mapping[str, int] | None = None,
    metrics: Sequence[str] | None = None,
    policies: Sequence[str] | None = None,
    stop: Mapping[str, Any] | None = None,
    skip: Sequence[Mapping[str, Any]] | None = None,
    name: str | None = None,
    description: str | None = None,
    out: str | os.PathLike[str] | None = None,
    restart: bool = False,
    threads: int = 0,
    progress: Progress | None = None,
    client: distributed.Client | None = None,
    chunk_seconds: float = 2.0,
    journal: str | os.PathLike[str] | None = None,
    storage_options: Mapping[str, Any] | None = None,
) -> SweepResults:
    """Runs a grid of scenarios with many seeds on all processors, as `byway sweep` does.

    source: without `axes`, a sweep: a file's name, TOML text, a dictionary with the keys of a
        sweep file, or a `Plan`. With `axes`, the scenario that varies: all that `byway.run`
        takes, None for the built-in one.
    axes: what varies. A key of the scenario or a setting with its values,
        `{"path.*.loss": ["0 %", "3 %"], "rto.min": ["100 ms", "1 s"]}`, or a name with named
        values and what each one sets, `{"timers": {"default": {}, "short": {"rto.min":
        "100 ms"}}}`, or tables as in a file, `[{"name": "loss", "key": "path.*.loss",
        "values": [...]}]`. Several policies of the scenario are one more axis, `policy`.
    seeds: how many (default 30), or which: `[4, 7]`, `range(100, 130)`.
    metrics: what tables show; `byway.metrics()` lists all that is measured.
    policies: the policies of the scenario that are run.
    stop: when a cell has had enough runs, as in a file: `{"metrics": ["transfer_s"],
        "within": "10 %", "confidence": "90 %"}`.
    skip: cells that are left out.
    out: the results file (Parquet). Runs that are finished gather in a journal beside it:
        after an interruption, the same call goes on with them. None keeps all in memory.
    restart: throws away what an earlier sweep left at `out`.
    threads: how many; 0 for as many as there are processors. The results are the same.
    progress: called now and then with the number of finished runs, and of all runs.
    client: a client of Dask, whose workers do the runs (`docs/cluster.md`). The results are
        the same, byte for byte. The next three are for it alone.
    chunk_seconds: how long the runs that a worker gets at a time take together.
    journal: the folder of the journal; beside `out` if nothing is said. `out` may be a URL of
        fsspec with a client, such as `s3://bucket/loss.parquet`; the journal is in `out/` then.
    storage_options: what fsspec wants to know to open that URL.

    The GIL is released meanwhile; Ctrl-C ends the sweep and keeps the journal.

    Raises SweepError with every mistake and its place, StoreError if `out` cannot be used.
    """
    source = _given.source(source)
    changes: dict[str, Any] = dict(
        axes=axes, seeds=seeds, metrics=metrics, policies=policies, stop=stop, skip=skip,
        name=name, description=description,
    )  # fmt: skip
    if isinstance(source, Plan):
        if more := [k for k, v in changes.items() if v is not None]:
            raise SettingError(
                f"{', '.join(more)}: a Plan has its own; give what it was made of, or plan(...) again"
            )
        planned = source
    else:
        planned = plan(source, **changes)
    threads = _given.number("threads", threads, 0, 4096)
    _given.seconds("chunk_seconds", chunk_seconds, 0.01, 3600)
    _given.function("progress", progress, _given.PROGRESS)
    out = _given.file_or_none("out", out)
    if client is None:
        for what, given in (("journal", journal), ("storage_options", storage_options)):
            if given is not None:
                raise SettingError(f"{what}: is for a sweep on a cluster; give a client=, too")
    else:
        from .dask import sweep_in

        done = sweep_in(
            planned, out, client=client, journal=journal, restart=restart,
            chunk_seconds=chunk_seconds, progress=progress, storage_options=storage_options,
        )  # fmt: skip
        return SweepResults(done, _command(source, planned, out, client), planned)
    done = _native.sweep(
        planned, out=out, restart=restart, threads=threads, program=_program(), progress=progress
    )
    return SweepResults(done, _command(source, planned, out), planned)


def _program() -> str:
    """Identifies this build, as the command does."""
    file = Path(_native.__file__)
    try:
        stat = file.stat()
    except OSError:
        return f"byway {_native.__version__} python"
    return f"byway {_native.__version__} python {stat.st_size} {stat.st_mtime_ns}"


def _command(
    source: Any,
    planned: Plan,
    out: str | os.PathLike[str] | None,
    client: distributed.Client | None = None,
) -> str:
    is_file = isinstance(source, (str, os.PathLike)) and not _given.is_text(source)
    text = Path(source).read_text() if is_file and Path(source).is_file() else ""
    name = os.fspath(source) if text == planned.to_toml() and text else f"{planned.name}.toml"
    words = ["byway", "sweep", name]
    words += ["--out", os.fspath(out)] if out is not None else []
    # A store is for a cluster alone; files are the same on one machine.
    if client is not None and out is not None and "://" in os.fspath(out):
        words += ["--dask", client.scheduler.address if client.scheduler else "ADDRESS"]
    return shlex.join(words)


def read_results(path: str | os.PathLike[str]) -> SweepResults:
    """Reads the results file of a sweep, of this package or of `byway sweep`.

    Raises StoreError if it cannot be read, is damaged, or is of somebody else.
    """
    return SweepResults(_native.read_results(_given.file("path", path)), "")


@dataclass(frozen=True)
class Metric:
    """Something measured of each run."""

    name: str
    """Its name, such as `transfer_s`."""
    about: str
    """What it is, with its unit."""


class SweepResults:
    """The rows of a sweep: one for each run of each cell."""

    def __init__(self, native: _native.Results, command: str, planned: Plan | None = None) -> None:
        self._native = native
        self._text = "" if planned is None else planned.to_toml()
        self.name: str = native.name
        """The sweep's name."""
        self.description: str = native.description
        """What it is about."""
        self.file: Path | None = None if native.file is None else Path(native.file)
        """The results file; None if it was kept in memory."""
        self.axes: dict[str, list[str]] = dict(native.axes)
        """What varies: the axes with their values, in the order of the plan."""
        self.cells: list[list[str]] = native.cells
        """The value of each cell on each axis."""
        self.seeds: list[int] = native.seeds
        """The seeds that each cell may have."""
        self.metrics: list[Metric] = [Metric(*m) for m in native.metrics]
        """All that was measured."""
        self.shown: list[str] = native.shown
        """Names of the metrics that tables show."""
        self.command: str = command
        """The command that gives the same rows; a sweep that is no file yet is written first,
        with the text of `to_toml`. Empty for results that were read from a file."""

    def __len__(self) -> int:
        return len(self._native)

    def __reduce__(self) -> tuple[Any, tuple[bytes, str, Path | None, str]]:
        """Pickled as the results file, with what is not in it."""
        with tempfile.TemporaryDirectory(prefix="byway-") as folder:
            file = Path(folder) / "results.parquet"
            self._native.write(file)
            return _unpickled, (file.read_bytes(), self.command, self.file, self._text)

    @cached_property
    def columns(self) -> dict[str, Any]:
        """The columns as arrays, one value for each run: `cell` (a place in `cells`), `seed`,
        `status` (a place in `byway._sweep.STATUSES`), and the metrics by their names in
        `metrics`; `reason` is a list. Arrays cannot be written, and numpy did not copy them."""
        return self._native.columns()

    def _metric(self, name: str | None) -> str:
        if name is None:
            return self.shown[0] if self.shown else self.metrics[0].name
        if not isinstance(name, str):
            raise SettingError(f"metric: found {name!r}, expected the name of a metric")
        self._native.means(name)  # Says so if it is not known.
        return name

    def about(self, metric: str) -> str:
        """What a metric is, with its unit."""
        return next(m.about for m in self.metrics if m.name == self._metric(metric))

    def _labels(self) -> list[tuple[str, NDArray[np.intp], list[str]]]:
        """For each axis its name, the place of each row's value, and the values."""
        cell = self.columns["cell"].astype(np.intp)
        found = []
        for i, (name, values) in enumerate(self.axes.items()):
            at = {v: k for k, v in enumerate(values)}
            places = np.array([at[c[i]] for c in self.cells], dtype=np.intp)
            found.append((name, places[cell], values))
        return found

    def to_pandas(self) -> pandas.DataFrame:
        """One row for each run: the axes as categories in the order of the plan, `seed`,
        `status`, `reason`, and the metrics, NaN where there is nothing."""
        pd = need("pandas", "pandas", "SweepResults.to_pandas()")
        columns: dict[str, Any] = {}
        for name, codes, values in self._labels():
            columns[name] = pd.Categorical.from_codes(codes, values, ordered=True)
        columns["seed"] = self.columns["seed"]
        columns["status"] = pd.Categorical.from_codes(self.columns["status"].astype(int), STATUSES)
        columns["reason"] = self.columns["reason"]
        columns |= self.columns["metrics"]
        frame: pandas.DataFrame = pd.DataFrame(columns)
        return frame

    def to_polars(self) -> polars.DataFrame:
        """The same as `to_pandas`, with the axes as enumerations, and null where there is
        nothing."""
        pl = need("polars", "polars", "SweepResults.to_polars()")
        columns: list[Any] = []
        for name, codes, values in self._labels():
            texts = np.array(values, dtype=object)[codes].tolist()
            columns.append(pl.Series(name, texts, dtype=pl.Enum(values)))
        columns.append(pl.Series("seed", self.columns["seed"]))
        status = [STATUSES[i] for i in self.columns["status"]]
        columns.append(pl.Series("status", status, dtype=pl.Enum(STATUSES)))
        columns.append(pl.Series("reason", self.columns["reason"], dtype=pl.String))
        for name, values in self.columns["metrics"].items():
            columns.append(pl.Series(name, values, nan_to_null=True))
        frame: polars.DataFrame = pl.DataFrame(columns)
        return frame

    def to_xarray(self) -> xarray.Dataset:
        """A grid: the axes and `seed` are dimensions, the metrics variables with `about` among
        their attributes, NaN where a run was not needed or gave nothing; `status` is text, empty
        where there was no run.

        Raises SweepError if the grid would have more than 50 million points.
        """
        xr = need("xarray", "xarray", "SweepResults.to_xarray()")
        labels = self._labels()
        shape = [len(values) for _, _, values in labels] + [len(self.seeds)]
        if np.prod(shape, dtype=float) > 50e6:
            raise SweepError(f"a grid of {shape} points is too large; use to_pandas() or to_polars()")
        at = {seed: k for k, seed in enumerate(self.seeds)}
        seeds = np.array([at[int(s)] for s in self.columns["seed"]], dtype=np.intp)
        where = tuple(codes for _, codes, _ in labels) + (seeds,)
        dims = [name for name, _, _ in labels] + ["seed"]
        variables: dict[str, Any] = {}
        for metric in self.metrics:
            grid = np.full(shape, np.nan)
            grid[where] = self.columns["metrics"][metric.name]
            variables[metric.name] = (dims, grid, {"about": metric.about})
        status = np.full(shape, "", dtype="<U13")
        status[where] = np.array(STATUSES)[self.columns["status"]]
        variables["status"] = (dims, status)
        dataset: xarray.Dataset = xr.Dataset(
            variables,
            coords={name: values for name, _, values in labels} | {"seed": self.seeds},
            attrs={"name": self.name, "description": self.description, "command": self.command},
        )
        return dataset

    def means(self, metric: str | None = None) -> list[tuple[list[str], float, float | None, int]]:
        """For each cell its values on the axes, and of `metric` (by default the first one that
        tables show) the mean, half the width of its interval (None with too few runs) and the
        number of runs.

        Raises SweepError for a metric that is not known.
        """
        found = self._native.means(self._metric(metric))
        return [(c, *m) for c, m in zip(self.cells, found, strict=True)]

    def to_toml(self) -> str:
        """The sweep as the text of a file that `byway sweep` takes; empty for results that were
        read from a file."""
        return self._text

    def summary(self) -> dict[str, Any]:
        """What `byway sweep --json` prints."""
        whole: dict[str, Any] = json.loads(self._native.summary())
        return whole

    def table(self, width: int = 100) -> str:
        """The table that `byway sweep` prints: means with their intervals."""
        return self._native.table(_given.width(width))

    def scenario(self, row: int) -> Scenario:
        """The scenario of a row, counted from 0, with its seed: running it gives the numbers
        of the row. Raises IndexError for a row that is not there."""
        return self._native.scenario(self._row(row))

    def _row(self, row: int) -> int:
        number = _given.whole(row)
        if number is None or not -len(self) <= number < len(self):
            raise IndexError(f"row: found {row!r}, expected a whole number, 0 to {len(self) - 1}")
        return number % len(self)

    def run(self, row: int) -> Comparison:
        """Runs a row again, with its series and reports; `byway run --row FILE:N` does the
        same, with rows counted from 1."""
        again = run(self.scenario(row))
        if self.file is not None:
            number = self._row(row) + 1
            again.command = shlex.join(["byway", "run", "--row", f"{self.file}:{number}"])
        return again

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the results file. Raises StoreError if it cannot be written."""
        self._native.write(_given.file("path", path))

    def compare(
        self,
        axis: str,
        a: str | None = None,
        b: str | None = None,
        *,
        of: str | Sequence[str] | None = None,
        confidence: float | None = None,
    ) -> SweepComparison:
        """Holds two values of an axis against each other; see `byway.compare`."""
        values = None if a is None and b is None else (a, b)
        return compare(self, axis=axis, values=values, of=of, confidence=confidence)

    def plot(
        self, metric: str | None = None, *, x: str | None = None, hue: str | None = None
    ) -> Figure:
        """A matplotlib figure of a metric's mean in each cell, with the interval of the mean.

        x: the axis that goes to the right; by default the one with the most values.
        hue: the axis whose values have colours; by default the one with the next most. Other
            axes become panels.

        Raises SweepError for a metric or an axis that is not known.
        """
        from . import _plot

        return _plot.sweep(self, self._metric(metric), x, hue)

    def __str__(self) -> str:
        title = f"{self.name}: {self.description}\n" if self.description else f"{self.name}\n"
        return f"{title}{len(self.cells)} cells, {len(self)} runs\n\n{self.table()}"

    def __repr__(self) -> str:
        return f"<SweepResults {self.name!r}: {len(self.cells)} cells, {len(self)} runs>"

    def _repr_html_(self) -> str:
        most = 40
        head = [*self.axes, "runs", *self.shown]
        means = {m: self._native.means(m) for m in self.shown}
        runs = np.bincount(self.columns["cell"].astype(np.intp), minlength=len(self.cells))
        lines = []
        for i, cell in enumerate(self.cells[:most]):
            texts = [*cell, str(runs[i])]
            texts += [_interval(*means[m][i]) for m in self.shown]
            lines.append("<tr>" + "".join(f"<td>{escape(t)}</td>" for t in texts) + "</tr>")
        more = len(self.cells) - most
        rest = f"<p>and {more} more cells</p>" if more > 0 else ""
        heads = "".join(f"<th>{escape(h)}</th>" for h in head)
        command = f"<p><code>{escape(self.command)}</code></p>" if self.command else ""
        return (
            f"<p>{escape(self.name)}: {len(self.cells)} cells, {len(self)} runs</p>"
            f"<table><tr>{heads}</tr>{''.join(lines)}</table>{rest}{command}"
        )


def _unpickled(content: bytes, command: str, place: Path | None, text: str) -> SweepResults:
    """Results that were pickled."""
    with tempfile.TemporaryDirectory(prefix="byway-") as folder:
        file = Path(folder) / "results.parquet"
        file.write_bytes(content)
        results = SweepResults(_native.read_results(file), command)
    results.file, results._text = place, text
    return results


def _interval(mean: float, half: float | None, runs: int) -> str:
    if runs == 0:
        return "-"
    if half is None:
        return f"{mean:.4g}"
    # What is left of equal numbers after their mean is taken is nothing.
    return f"{mean:.4g} ± {0 if half < 1e-12 * abs(mean) else half:.2g}"


@dataclass(frozen=True)
class Pair:
    """One metric of one cell on both sides."""

    cell: tuple[str, ...]
    """The cell's value on each axis of the comparison."""
    metric: str
    """The metric."""
    a: float | None
    """Its mean on side A; None without runs."""
    b: float | None
    """Its mean on side B."""
    difference: float | None
    """B less A; None with too few runs."""
    half_width: float | None
    """Half the width of the difference's interval."""
    p: float | None
    """Probability that this is chance, corrected for all comparisons (Holm)."""
    significant: bool
    """Whether it differs."""
    paired: int | None
    """Runs that met the same chances on both sides; None if they were compared as wholes."""
    completed: tuple[tuple[int, int], tuple[int, int]]
    """Runs completed and all runs, of A and of B."""


@dataclass(frozen=True)
class SweepComparison:
    """Which cells differ, and by how much."""

    a: str
    """What is subtracted."""
    b: str
    """What it is subtracted from."""
    confidence: float
    """Confidence of the intervals."""
    axes: tuple[str, ...]
    """The axes that name a cell."""
    pairs: tuple[Pair, ...]
    """Each cell and metric that both have."""
    unmatched: int
    """Cells that only one side has."""
    command: str
    """The command that says the same; empty for results that are not in a file."""
    _raw: dict[str, Any] = field(repr=False)
    _table: str = field(repr=False)

    def to_dict(self) -> dict[str, Any]:
        """What `byway compare --json` prints of it."""
        return self._raw

    def table(self) -> str:
        """The table that `byway compare` prints."""
        return self._table

    def to_pandas(self) -> pandas.DataFrame:
        """One row for each cell and metric."""
        pd = need("pandas", "pandas", "SweepComparison.to_pandas()")
        names = ("metric", "a", "b", "difference", "half_width", "p", "significant")
        rows = [
            dict(zip(self.axes, p.cell, strict=True)) | {n: getattr(p, n) for n in names}
            for p in self.pairs
        ]
        frame: pandas.DataFrame = pd.DataFrame(rows)
        return frame

    def __str__(self) -> str:
        return self._table

    def _repr_html_(self) -> str:
        head = [*self.axes, "metric", f"A: {self.a}", f"B: {self.b}", "B - A", ""]
        lines = []
        for p in self.pairs:
            texts = [*p.cell, p.metric, _number(p.a), _number(p.b)]
            difference = p.difference
            texts.append("-" if difference is None else _interval(difference, p.half_width, 1))
            texts.append("*" if p.significant else "")
            lines.append("<tr>" + "".join(f"<td>{escape(t)}</td>" for t in texts) + "</tr>")
        heads = "".join(f"<th>{escape(h)}</th>" for h in head)
        command = f"<p><code>{escape(self.command)}</code></p>" if self.command else ""
        return (
            f"<table><tr>{heads}</tr>{''.join(lines)}</table>"
            f"<p>* differs, at {self.confidence * 100:g} % confidence for all comparisons together</p>"
            f"{command}"
        )


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.4g}"


def compare(
    a: SweepResults | str | os.PathLike[str],
    b: SweepResults | str | os.PathLike[str] | None = None,
    *,
    axis: str | None = None,
    values: tuple[str | None, str | None] | None = None,
    of: str | Sequence[str] | None = None,
    confidence: float | None = None,
) -> SweepComparison:
    """Says which cells differ and by how much, as `byway compare` does.

    a, b: two results, or files of them, held against each other cell by cell; or
    axis: one result, and the axis whose values are held against each other.
    values: two values of the axis; by default the first and the last one.
    of: the metrics; by default those that tables show.
    confidence: of all intervals together, 0 to 1; by default that of the sweep.

    Raises SettingError when they have nothing in common, StoreError if a file cannot be read.
    """
    of = [] if of is None else _given.names("of", of, "metrics")
    if confidence is not None and not isinstance(confidence, (int, float)):
        raise SettingError(f"confidence: found {confidence!r}, expected a number, such as 0.95")
    if values is not None and (not isinstance(values, Sequence) or len(values) != 2):
        raise SettingError(f"values: found {values!r}, expected two values of the axis")
    left = a if isinstance(a, SweepResults) else read_results(a)
    words = ["byway", "compare", str(left.file)]
    if axis is None:
        if b is None:
            raise SettingError(
                "two results are compared: compare(a, b); or values of an axis of one: "
                'compare(a, axis="policy")'
            )
        right = b if isinstance(b, SweepResults) else read_results(b)
        named = (str(left.file or "A"), left._native), (str(right.file or "B"), right._native)
        raw, table = _native.compare_files(*named, of, confidence, 100)
        words += [str(right.file)]
        files = [left.file, right.file]
    else:
        if b is not None:
            raise SettingError("compare takes either two results, or one with axis=")
        known = left.axes.get(axis, [""])
        first, second = values or (None, None)
        pair = (known[0] if first is None else first, known[-1] if second is None else second)
        raw, table = _native.compare_values(left._native, axis, pair, of, confidence, 100)
        words += ["--by", axis, *pair]
        files = [left.file]
    for metric in of:
        words += ["--metric", metric]
    words += ["--confidence", str(confidence)] if confidence is not None else []
    return _comparison(raw, table, shlex.join(words) if all(files) else "")


def _comparison(text: str, table: str, command: str) -> SweepComparison:
    raw = json.loads(text)
    pairs = []
    for p in raw["pairs"]:
        difference = p["difference"] or {}
        pairs.append(
            Pair(
                cell=tuple(p["cell"]),
                metric=p["metric"],
                a=p["a"]["mean"] if p["a"]["n"] else None,
                b=p["b"]["mean"] if p["b"]["n"] else None,
                difference=difference.get("mean"),
                half_width=difference.get("half_width"),
                p=p["p_corrected"],
                significant=p["significant"],
                paired=p["paired"],
                completed=(tuple(p["completed"][0]), tuple(p["completed"][1])),
            )
        )
    return SweepComparison(
        raw["a"], raw["b"], raw["confidence"], tuple(raw["axes"]), tuple(pairs),
        raw["unmatched"], command, raw, table,
    )  # fmt: skip


def metrics() -> str:
    """All that is measured of each run, as `byway sweep --schema` prints it."""
    return _native.metrics()
