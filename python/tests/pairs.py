"""Two associations in one process."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager

from byway import aio
from byway._aio_given import Settings

HERE = ["127.0.0.1:0", "127.0.0.2:0"]

Pair = tuple[aio.Association, aio.Association]


def pair(**settings: object) -> AbstractAsyncContextManager[Pair]:
    """Two associations over two paths."""
    return pair_of("byway", settings)


@contextlib.asynccontextmanager
async def pair_of(preset: str, settings: Settings) -> AsyncIterator[Pair]:
    """The same, from other settings."""
    async with served(HERE, preset, settings) as (_, a, b):
        yield a, b


@contextlib.asynccontextmanager
async def served(
    local: list[str], preset: str | None = None, settings: Settings | None = None
) -> AsyncIterator[tuple[aio.Endpoint, aio.Association, aio.Association]]:
    """The endpoint that accepts, the association that connects to it, and the one that it accepts."""
    async with (
        await aio.bind(local, port=7, preset=preset, settings=settings) as server,
        await aio.bind(local, preset=preset, settings=settings) as client,
    ):
        association = await client.connect(server.addresses, port=7)
        yield server, association, await server.accept()


def run(main: Callable[[], Awaitable[None]], debug: bool = True) -> None:
    async def limited() -> None:
        async with asyncio.timeout(30):
            await main()

    asyncio.run(limited(), debug=debug)
