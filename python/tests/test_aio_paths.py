"""byway.aio within one process: what the user wants of paths and streams, and of hostile peers."""

from __future__ import annotations

import asyncio
from typing import Any, Self

import pytest

import byway
from byway import aio
from byway._aio_facts import event
from pairs import HERE, pair, pair_of, run, served

SIZE = 20_000

ONE = ["127.0.0.1:0"]

# No delay of a busy host looks like a loss.
PATIENT = {"rto": {"min": "10 s", "initial": "10 s"}}

# A path that is cut is noticed, and its return, too.
QUICK = {
    "rto": {"min": "300 ms", "initial": "300 ms"},
    "sack.delay": "10 ms",
    "hb.interval": "100 ms",
}


async def all_active(*associations: aio.Association) -> None:
    while any(p.state is not aio.PathState.ACTIVE for a in associations for p in a.paths()):
        await asyncio.sleep(0.01)


async def in_use(association: aio.Association, path: int) -> None:
    while not association.paths()[path].in_use:
        await asyncio.sleep(0.01)


async def carried(association: aio.Association) -> list[int]:
    """Sends messages. Returns the bytes that each path carried first."""
    before = [path.data_bytes_sent for path in association.paths()]
    for _ in range(SIZE // 1000):
        await association.send(bytes(1000))
    await association.drained()
    return [p.data_bytes_sent - n for p, n in zip(association.paths(), before, strict=True)]


def backups(association: aio.Association) -> list[bool]:
    return [path.backup for path in association.paths()]


# --- backups -------------------------------------------------------------------------------------


def test_a_path_that_is_a_backup_carries_nothing_while_another_is_active() -> None:
    async def main() -> None:
        async with pair_of("rfc9260", PATIENT) as (a, b):
            await all_active(a, b)
            assert backups(a) == [False, False]
            assert await carried(a) == [SIZE, 0]
            a.set_backup(0, True)
            assert backups(a) == [True, False] and a.paths()[1].in_use
            assert await carried(a) == [0, SIZE]
            # The peer knows nothing of it.
            assert backups(b) == [False, False]
            assert await carried(b) == [SIZE, 0]
            # The primary path is still the primary.
            assert a.paths()[0].primary
            # If all rest, none does.
            a.set_backup(a.paths()[1], True)
            assert backups(a) == [True, True]
            assert sum(await carried(a)) == SIZE
            # A message that names its path goes there.
            a.set_backup(1, False)
            before = a.paths()[0].data_bytes_sent
            await a.send(b"x", path=0)
            await a.drained()
            assert a.paths()[0].data_bytes_sent == before + 1
            a.set_backup(0, False)
            assert await carried(a) == [SIZE, 0]
            # So does the primary path.
            a.set_backup(1, True)
            a.set_primary(1)
            assert backups(a) == [False, False]
            assert await carried(a) == [0, SIZE]

    run(main)


class Half(asyncio.DatagramProtocol):
    """One side of a relay."""

    transport: asyncio.DatagramTransport

    def __init__(self, relay: Relay) -> None:
        self.relay = relay

    def connection_made(self, transport: asyncio.DatagramTransport) -> None:  # type: ignore[override]
        self.transport = transport

    def datagram_received(self, data: bytes, addr: tuple[str | Any, int]) -> None:
        self.relay.came(self, data, addr)


class Relay:
    """A way to one address of a server, for one client, which can be cut."""

    def __init__(self) -> None:
        self.cut = False
        self.client: tuple[str | Any, int] | None = None

    @classmethod
    async def start(cls, server: str) -> Self:
        relay = cls()
        loop = asyncio.get_running_loop()
        host, _, port = server.rpartition(":")
        made = loop.create_datagram_endpoint(lambda: Half(relay), local_addr=(host, 0))
        relay.outer = (await made)[1]
        made = loop.create_datagram_endpoint(lambda: Half(relay), remote_addr=(host, int(port)))
        relay.inner = (await made)[1]
        return relay

    outer: Half
    inner: Half

    @property
    def address(self) -> str:
        host, port = self.outer.transport.get_extra_info("sockname")
        return f"{host}:{port}"

    @property
    def port(self) -> int:
        """The port that the server sees."""
        port: int = self.inner.transport.get_extra_info("sockname")[1]
        return port

    def came(self, half: Half, data: bytes, source: tuple[str | Any, int]) -> None:
        if half is self.outer:
            self.client = source
        if self.cut or self.client is None:
            return
        if half is self.outer:
            self.inner.transport.sendto(data)
        else:
            self.outer.transport.sendto(data, self.client)

    def close(self) -> None:
        self.outer.transport.close()
        self.inner.transport.close()


def test_a_backup_carries_data_while_the_other_path_is_cut_and_no_longer() -> None:
    async def main() -> None:
        async with await aio.bind(HERE, port=7, preset="rfc9260", settings=QUICK) as server:
            relay = await Relay.start(server.addresses[0])
            # A peer is taken to have one UDP port for all of its addresses.
            here = ["127.0.0.1:0", f"127.0.0.2:{relay.port}"]
            client = await aio.bind(here, preset="rfc9260", settings=QUICK)
            a = await client.connect([relay.address, server.addresses[1]], port=7)
            b = await server.accept()
            await all_active(a, b)
            # The primary path rests, so the other one has the data.
            a.set_primary(1)
            a.set_backup(1, True)
            await in_use(a, 0)
            assert a.paths()[1].primary
            relay.cut = True
            await carried(a)
            cut, backup = a.paths()
            assert backup.backup and backup.in_use and backup.data_bytes_sent > 0
            assert cut.state is not aio.PathState.ACTIVE and cut.failures > 0
            assert cut.trouble in ("t3_rtx", "heartbeat_lost", "unreachable")
            assert cut.data_bytes_lost > 0
            relay.cut = False
            await in_use(a, 0)
            assert backups(a) == [False, True]
            assert a.paths()[0].trouble is None
            # Without it the primary path has the data.
            a.set_backup(1, False)
            await in_use(a, 1)
            seen = []
            await a.shutdown()
            async for happened in a.events():
                if isinstance(happened, aio.DataPathChanged):
                    seen.append((happened.old, happened.new))
            assert seen[:2] == [(0, 1), (1, 0)] and len(seen) >= 5
            await b.wait_closed()
            await client.close()
            relay.close()

    run(main)


def test_a_backup_of_a_path_that_is_not_there_is_refused() -> None:
    async def main() -> None:
        async with pair() as (a, b):
            for backup in (True, False):
                with pytest.raises(byway.SendRefused, match="path 9 does not exist"):
                    a.set_backup(9, backup)
            with pytest.raises(byway.SendRefused, match="0 to 255"):
                a.set_backup(-1, True)
            with pytest.raises(TypeError, match="bool"):
                a.set_backup(0, "yes")  # type: ignore[arg-type]
            assert backups(a) == [False, False]
            await a.shutdown()
            await b.wait_closed()
            for ended in (a, b):
                with pytest.raises(byway.AssociationClosed):
                    ended.set_backup(0, True)

    run(main)


# --- the peer's choice ---------------------------------------------------------------------------


def test_the_peer_is_asked_to_send_to_another_address() -> None:
    async def main() -> None:
        async with pair() as (a, b):
            await all_active(a, b)
            assert [p.primary for p in b.paths()] == [True, False]
            second = a.paths()[1]
            for wanted in (second, second.local, "127.0.0.1", second.local.partition(":")[0]):
                a.set_peer_primary(wanted)
                async for happened in a.events():
                    if isinstance(happened, aio.AddressChanged):
                        break
                now = next(p for p in b.paths() if p.primary)
                first = wanted == "127.0.0.1"
                assert now.remote.startswith("127.0.0.1:" if first else "127.0.0.2:"), wanted
            with pytest.raises(byway.SendRefused, match="192.0.2.1 is not an address of this side"):
                a.set_peer_primary("192.0.2.1")
            with pytest.raises(byway.AddressError, match="is not an address; write"):
                a.set_peer_primary("localhost")

    run(main)


def test_a_peer_without_changes_of_addresses_cannot_be_asked() -> None:
    async def main() -> None:
        async with pair_of("rfc9260", {}) as (a, _):
            with pytest.raises(byway.SendRefused, match="RFC 5061"):
                a.set_peer_primary("127.0.0.2")

    run(main)


# --- streams -------------------------------------------------------------------------------------


@pytest.mark.parametrize("scheduler", ["Priority", "FirstCome"])
def test_the_value_of_a_stream_is_its_priority(scheduler: str) -> None:
    async def main() -> None:
        settings = {"streams.scheduler": scheduler, "buffer.receive": 65536}
        async with pair_of("byway", settings) as (a, b):
            a.set_stream_value(1, 9)
            # The peer has room for less than half of them.
            for _ in range(150):
                await a.send(bytes(1000), stream=1)
            await a.send(b"urgent", stream=2)
            place = [(await b.recv()).stream for _ in range(151)].index(2)
            assert place < 100 if scheduler == "Priority" else place == 150
            with pytest.raises(byway.SendRefused, match="stream 10 does not exist"):
                a.set_stream_value(10, 1)
            with pytest.raises(byway.SendRefused, match="value 65536"):
                a.set_stream_value(1, 65536)

    run(main)


@pytest.mark.parametrize("offered", [True, False])
def test_messages_interleave_if_both_sides_offer_it(offered: bool) -> None:
    async def main() -> None:
        async with pair(**{"streams.interleaving": offered}) as (a, b):
            assert a.interleaves is b.interleaves is offered

    run(main)


def test_a_message_that_the_peer_gives_up_has_an_event() -> None:
    told = event("PartsGivenUp", {"stream": 3, "unordered": False})
    assert told == aio.PartsGivenUp(3, False)


# --- hostile peers -------------------------------------------------------------------------------


def test_handshakes_are_limited_until_the_peer_has_proved_who_it_is() -> None:
    async def main() -> None:
        async with served(ONE) as (server, a, b):
            for _ in range(2000):
                assert b.take_handshake()
                b.give_handshake_back()
            answers = [b.take_handshake() for _ in range(2000)]
            assert answers[0] and 20 <= sum(answers) < 1000
            refused = server.stats().refusals["handshakes_refused"]
            assert refused == len(answers) - sum(answers)
            b.abort("too many handshakes")
            with pytest.raises(byway.AssociationLost, match="too many handshakes"):
                await a.recv()

    run(main)


def test_a_host_that_breaks_the_protocol_of_the_application_is_barred() -> None:
    async def main() -> None:
        async with served(ONE) as (server, a, b):
            assert not b.bars_violator()
            for _ in range(1000):
                b.count_violation()
            assert b.bars_violator()
            assert server.stats().refusals["violators_refused"] == 1
            # An association that is up stays.
            assert not a.is_closed and not b.is_closed

    run(main)


def test_an_endpoint_says_how_much_its_peers_make_it_keep() -> None:
    async def main() -> None:
        async with served(ONE) as (server, a, b):
            before = server.memory
            await a.send(bytes(200_000))
            await a.drained()
            assert server.memory >= before + 200_000
            await b.recv()
            assert server.memory < before + 100_000

    run(main)
