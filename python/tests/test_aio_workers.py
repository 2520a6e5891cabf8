"""byway.aio: an endpoint with several workers is one endpoint."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import sys
from pathlib import Path
from typing import Any

import pytest

import byway
from byway import aio
from pairs import HERE, run

UDP = Path("/proc/net/udp")


def sockets(address: str) -> int:
    """How many sockets of this host have the address."""
    host, _, port = address.rpartition(":")
    place = f"{int.from_bytes(socket.inet_aton(host), sys.byteorder):08X}:{int(port):04X}"
    return sum(line.split()[1] == place for line in UDP.read_text().splitlines()[1:])


async def echo(endpoint: aio.Endpoint) -> None:
    """Sends back what comes, until the endpoint is closed."""

    async def answer(association: aio.Association) -> None:
        async for message in association:
            await association.send(message.data, stream=message.stream)

    async with asyncio.TaskGroup() as tasks:
        async for association in endpoint:
            tasks.create_task(answer(association))


async def exchange(association: aio.Association, text: bytes) -> None:
    for n in range(5):
        await association.send(text * 500, stream=n)
    came = [await association.recv() for _ in range(5)]
    assert sorted(m.stream for m in came) == list(range(5))
    assert {m.data for m in came} == {text * 500}


@pytest.mark.skipif(not UDP.exists(), reason="no /proc/net/udp")
def test_each_worker_has_sockets_of_its_own_and_they_go_with_the_endpoint() -> None:
    async def main() -> None:
        for binding, count in (
            (aio.bind(HERE), 1),
            (aio.bind(HERE, workers=1), 1),
            (aio.bind(HERE, workers=3), 3),
        ):
            async with await binding as endpoint:
                addresses = endpoint.addresses
                assert [sockets(a) for a in addresses] == [count, count]
                with pytest.raises(byway.AddressError, match="another socket has this port"):
                    await aio.bind(addresses, workers=2)
            assert [sockets(a) for a in addresses] == [0, 0]

    run(main)


def test_clients_of_several_workers_meet_one_endpoint() -> None:
    async def main() -> None:
        count = 12
        async with await aio.bind(HERE, port=7, workers=3) as server:
            echoing = asyncio.create_task(echo(server))
            clients = [
                await aio.connect(server.addresses, port=7, local=["127.0.0.1", "127.0.0.2"])
                for _ in range(count)
            ]
            assert server.association_count == count
            texts = [bytes([65 + n]) for n in range(count)]
            await asyncio.gather(*map(exchange, clients, texts))
            stats = server.stats()
            assert stats.inits >= count and stats.refused == 0
            assert stats.datagrams_received > 5 * count and stats.datagrams_handed_over == 0
            for client in clients:
                assert len(client.paths()) == 2
                await client.shutdown()
        await echoing
        assert server.association_count == 0

    run(main)


def test_who_connects_may_have_several_workers_too() -> None:
    async def main() -> None:
        async with contextlib.AsyncExitStack() as stack:
            servers = [
                await stack.enter_async_context(await aio.bind(HERE, port=port))
                for port in range(7, 13)
            ]
            echoing = [asyncio.create_task(echo(server)) for server in servers]
            client = await stack.enter_async_context(await aio.bind(HERE, workers=2, accept=False))
            associations = [await client.connect(s.addresses, port=s.port) for s in servers]
            assert client.association_count == len(servers)
            for association in associations:
                await exchange(association, b"x")
            with pytest.raises(byway.ConnectFailed):
                await client.connect(servers[0].addresses, port=8)
        await asyncio.gather(*echoing)

    run(main)


def test_a_limit_is_that_of_all_workers_together() -> None:
    async def main() -> None:
        async with await aio.bind("127.0.0.1:0", port=7, workers=2, max_associations=4) as server:
            quick = {"rto": {"min": "100 ms", "initial": "100 ms"}, "setup.max_init_retransmits": 2}
            kept = []
            refused = 0
            for _ in range(24):
                with contextlib.suppress(byway.ConnectFailed):
                    kept.append(await aio.connect(server.addresses, port=7, settings=quick))
                    continue
                refused += 1
            # Each worker has two of them.
            assert (len(kept), refused) == (4, 20)
            assert server.stats().refused >= refused
            for association in kept:
                association.abort()

    run(main)


@pytest.mark.parametrize(
    ("workers", "words"),
    [
        (0, "0 workers: give 1 to 64"),
        (65, "65 workers: give 1 to 64"),
        (10**6, "1000000 workers: give 1 to 64"),
        (-1, "workers: found -1, expected a whole number, 1 to 64"),
        (2**60, f"workers: found {2**60}, expected a whole number, 1 to 64"),
        (1.0, "workers: found 1.0, expected a whole number, 1 to 64"),
        (True, "workers: found True, expected a whole number, 1 to 64"),
        ("all", "workers: found 'all', expected a whole number, 1 to 64"),
        (None, "workers: found None, expected a whole number, 1 to 64"),
    ],
)
def test_a_number_of_workers_that_cannot_work(workers: Any, words: str) -> None:
    async def main() -> None:
        with pytest.raises(byway.SettingError) as error:
            await aio.bind("127.0.0.1:0", workers=workers)
        assert words in str(error.value)
        assert error.value.problems[0].place == "workers"

    run(main)


@pytest.mark.parametrize("encapsulation", ["none", "both"])
def test_several_workers_need_udp(encapsulation: str) -> None:
    async def main() -> None:
        with pytest.raises(byway.SettingError) as error:
            await aio.bind("127.0.10.1", encapsulation=encapsulation, workers=2)
        assert "2 workers need UDP" in str(error.value)
        assert "Use UDP alone, or 1 worker" in str(error.value)
        assert error.value.problems[0].place == "workers"

    run(main)
