"""Where the results of a sweep come: a file, or an object store by fsspec."""

from __future__ import annotations

import contextlib
import hashlib
import os
import time
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from . import _given
from ._native import journal_path
from .errors import MissingPackage, StoreError

WHOLE_OR_NOT = {"s3", "s3a", "gs", "gcs", "abfs", "abfss", "az", "adl", "oss", "r2", "http"}
"""Stores where an object is whole or not there; elsewhere it is put under another name first."""
TRIES = 3


class Place:
    """Where results belong, and where they and their journal are meanwhile."""

    def __init__(
        self,
        out: str | os.PathLike[str],
        journal: str | os.PathLike[str] | None,
        options: Mapping[str, Any] | None,
    ) -> None:
        self.shown = _given.file("out", out)
        journal = _given.file_or_none("journal", journal)
        name = Path(self.shown).name
        if self.shown.startswith("file://"):
            self.shown = self.shown.removeprefix("file://")
        self.options = dict(options or {})
        self.url = self.shown if "://" in self.shown else None
        if self.url is not None:
            name = self.url.rstrip("/").rsplit("/", 1)[-1]
        elif journal is not None:
            # A shared folder: the journal is elsewhere, and so the results are put there.
            self.url = "file://" + os.path.abspath(self.shown)
        if self.url is None:
            self.local = Path(self.shown)
        else:
            self.local = Path(journal or "out") / _copy(name, self.url)
        self.journal = journal_path(self.local)
        if self.url is not None:
            self._open()
        try:
            self.local.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            folder = self.local.parent
            raise StoreError(f"cannot make the folder {folder}: {error}", error.errno) from error

    def _open(self) -> None:
        assert self.url is not None
        try:
            import fsspec
        except ImportError:
            raise MissingPackage(
                f"{self.shown} needs the package fsspec: pip install 'byway[dask]'"
            ) from None
        try:
            self.fs, self.path = fsspec.core.url_to_fs(self.url, **self.options)
        except ImportError as error:
            raise MissingPackage(f"{self.shown}: {error}") from error
        except Exception as error:
            raise StoreError(f"cannot use {self.shown}: {_words(error)}") from error
        protocol = self.url.split("://", 1)[0]
        if not self.path.strip("/") or self.url.endswith("/"):
            raise StoreError(
                f"{self.shown}: this is a folder, and no file; name the file, such as "
                f"{self.url.rstrip('/') or self.url}/results.parquet"
            )
        if protocol == "file":
            _only_files(self.path)
        self.direct = protocol in WHOLE_OR_NOT

    def fetch(self, restart: bool) -> None:
        """Brings results that are there already, so that they are judged as a file is."""
        if self.url is None or restart or self.local.exists():
            return
        part = self.local.with_name(self.local.name + ".byway-fetched")
        try:
            # What is there may have changed since somebody looked.
            self.fs.invalidate_cache()
            # `exists` answers False for a store that does not answer.
            self.fs.info(self.path)
        except FileNotFoundError as error:
            cause = error.__cause__ or error.__context__
            if isinstance(cause, OSError) and not isinstance(cause, FileNotFoundError):
                raise StoreError(f"cannot read {self.shown}: {_words(cause)}") from error
            return
        except Exception as error:
            raise StoreError(f"cannot read {self.shown}: {_words(error)}") from error
        try:
            self.fs.get_file(self.path, os.fspath(part))
            part.replace(self.local)
        except Exception as error:
            with contextlib.suppress(OSError):
                part.unlink()
            raise StoreError(f"cannot read {self.shown}: {_words(error)}") from error

    def put(self) -> None:
        """Puts the results where they belong: whole, or not at all."""
        if self.url is None:
            return
        for attempt in range(1, TRIES + 1):
            try:
                self._put()
                return
            except Exception as error:
                if attempt == TRIES:
                    raise StoreError(
                        f"cannot write {self.shown}: {_words(error)}\n"
                        f"the results are in {self.local}; the same call puts them there"
                    ) from error
                time.sleep(attempt)

    def _put(self) -> None:
        size = self.local.stat().st_size
        if self.direct:
            self.fs.put_file(os.fspath(self.local), self.path)
        else:
            folder = self.fs._parent(self.path)
            if folder:
                self.fs.makedirs(folder, exist_ok=True)
            part = f"{self.path}.byway-{uuid.uuid4().hex[:12]}"
            try:
                self.fs.put_file(os.fspath(self.local), part)
                self.fs.mv(part, self.path)
            except BaseException:
                with contextlib.suppress(Exception):
                    self.fs.rm_file(part)
                raise
        self.fs.invalidate_cache()
        there = self.fs.info(self.path)["size"]
        if there != size:
            raise OSError(f"{size} bytes were put there, {there} are there")

    def clean(self) -> None:
        """Removes the copy here, now that the results are where they belong."""
        if self.url is not None:
            self.local.unlink(missing_ok=True)


def _copy(name: str, url: str) -> str:
    """The name of the copy here: that of no other results, nor of the ones in that folder."""
    digest = hashlib.sha256(url.encode()).hexdigest()[:12]
    return f"{Path(name).stem}-{digest}{Path(name).suffix}"


def _only_files(path: str) -> None:
    """Refuses what is there and no file: a device has no end, and would be replaced."""
    if os.path.exists(path) and not os.path.isfile(path):
        what = "a folder" if os.path.isdir(path) else "a device or a pipe"
        raise StoreError(f"{path}: this is {what}, and no file; choose another out=")


def _words(error: BaseException) -> str:
    return str(error) or type(error).__name__
