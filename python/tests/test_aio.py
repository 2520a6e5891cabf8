"""byway.aio within one process: messages, streams, waiting, errors, loops."""

from __future__ import annotations

import asyncio
import contextlib
import pickle
import socket
import threading
from typing import Any

import numpy as np
import pytest

import byway
from byway import aio
from pairs import pair, run

# --- messages ------------------------------------------------------------------------------------


def test_messages_arrive_as_they_were_sent() -> None:
    async def main() -> None:
        async with pair() as (a, b):
            numbers = np.arange(8, dtype=np.uint16).reshape(2, 4)
            sent = [
                (b"bytes", b"bytes"),
                (bytearray(b"array"), b"array"),
                (memoryview(b"a view")[2:], b"view"),
                (memoryview(b"abcdef")[::2], b"ace"),
                (numbers, numbers.tobytes()),
                (numbers[:, ::2], numbers[:, ::2].tobytes()),
            ]
            for data, _ in sent:
                await a.send(data, stream=2, ppid=77)
            for _, expected in sent:
                message = await b.recv()
                assert (message.data, message.stream, message.ppid) == (expected, 2, 77)
                assert message.first and message.last and not message.unordered
            await a.send(b"x", unordered=True)
            assert (await b.recv()).unordered
            await a.drained()
            assert a.stats().bytes_acked == a.stats().bytes_queued

    run(main)


def test_a_long_message_arrives_in_parts() -> None:
    async def main() -> None:
        async with pair() as (a, b):
            data = np.random.default_rng(1).bytes(3_000_000)
            sending = asyncio.create_task(a.send(data))
            parts = [await b.recv()]
            while not parts[-1].last:
                parts.append(await b.recv())
            await sending
            assert len(parts) > 1
            assert [p.first for p in parts] == [True] + [False] * (len(parts) - 1)
            assert b"".join(p.data for p in parts) == data

    run(main)


def test_readers_of_one_stream_get_what_was_fetched_for_all() -> None:
    async def main() -> None:
        async with pair() as (a, b):
            for i in range(30):
                await a.send(bytes([i]), stream=i % 3)
            await a.drained()
            # Fetches all of them at once.
            assert (await b.recv()).data == bytes([0])
            assert [(await b.recv(stream=1)).data[0] for _ in range(10)] == list(range(1, 30, 3))
            assert [(await b.recv(stream=2)).data[0] for _ in range(10)] == list(range(2, 30, 3))
            assert [(await b.recv()).data[0] for _ in range(9)] == list(range(3, 30, 3))

    run(main)


def test_ten_thousand_senders_wait_in_their_order() -> None:
    async def main() -> None:
        async with pair() as (a, b):
            count = 10_000
            async with asyncio.TaskGroup() as tasks:
                for i in range(count):
                    tasks.create_task(a.send(i.to_bytes(4) * 250))
                await asyncio.sleep(0)
                got = [int.from_bytes((await b.recv()).data[:4]) for _ in range(count)]
            assert got == list(range(count))

    run(main, debug=False)


def test_two_tasks_that_receive_share_the_messages() -> None:
    async def main() -> None:
        async with pair() as (a, b):
            got: list[int] = []

            async def reader() -> int:
                count = 0
                with contextlib.suppress(byway.AssociationClosed):
                    while True:
                        got.append((await b.recv()).data[0])
                        count += 1
                        await asyncio.sleep(0)
                return count

            readers = [asyncio.create_task(reader()) for _ in range(2)]
            for i in range(200):
                await a.send(bytes([i]))
                if i % 10 == 0:
                    await asyncio.sleep(0.001)
            await a.shutdown()
            counts = await asyncio.gather(*readers)
            assert sorted(got) == list(range(200))
            assert min(counts) > 0

    run(main)


def test_what_never_has_to_wait_lets_others_run() -> None:
    async def main() -> None:
        async with pair() as (a, b):
            turns = 0

            async def other() -> None:
                nonlocal turns
                while True:
                    turns += 1
                    await asyncio.sleep(0)

            for _ in range(640):
                await a.send(b"x")
            await a.drained()
            task = asyncio.create_task(other())
            # All have arrived.
            for _ in range(640):
                await b.recv()
            assert 5 <= turns
            task.cancel()

    run(main)


# --- cancelling ----------------------------------------------------------------------------------


def test_cancelled_receivers_lose_no_message() -> None:
    async def main() -> None:
        async with pair() as (a, b):
            got: list[int] = []

            async def feed() -> None:
                for i in range(300):
                    await a.send(i.to_bytes(2))
                    await asyncio.sleep(0.0003)

            async def one() -> None:
                got.append(int.from_bytes((await b.recv()).data))

            feeding = asyncio.create_task(feed())
            cancelled = 0
            while len(got) < 300:
                tasks = [asyncio.create_task(one()) for _ in range(5)]
                await asyncio.sleep(0.001)
                for task in tasks:
                    task.cancel()
                done = await asyncio.gather(*tasks, return_exceptions=True)
                cancelled += sum(isinstance(d, asyncio.CancelledError) for d in done)
            await feeding
            assert got == list(range(300))
            assert cancelled > 0

    run(main)


def test_a_cancelled_sender_has_not_sent() -> None:
    async def main() -> None:
        async with pair(**{"buffer.send": 65536, "buffer.receive": 65536}) as (a, b):
            tasks = [asyncio.create_task(a.send(bytes([i]) * 1000)) for i in range(250)]
            await asyncio.sleep(0.05)
            for task in tasks[1::2]:
                task.cancel()
            got: list[int] = []

            async def reader() -> None:
                async for message in b:
                    got.append(message.data[0])

            reading = asyncio.create_task(reader())
            done = await asyncio.gather(*tasks, return_exceptions=True)
            await a.shutdown()
            await reading
            sent = [i for i, result in enumerate(done) if result is None]
            assert got == sent
            assert 125 <= len(sent) < 250

    run(main)


def test_a_cancelled_connect_leaves_nothing() -> None:
    async def main() -> None:
        async with await aio.bind("127.0.0.1:0") as endpoint:
            # Nobody answers there.
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as silent:
                silent.bind(("127.0.0.1", 0))
                with pytest.raises(TimeoutError):
                    async with asyncio.timeout(0.05):
                        await endpoint.connect(f"127.0.0.1:{silent.getsockname()[1]}", port=9)
            assert endpoint.association_count == 0

    run(main)


# --- streams -------------------------------------------------------------------------------------


def test_streams_read_like_those_of_asyncio() -> None:
    async def main() -> None:
        async with pair() as (a, b):
            _, writer = a.open_stream(1)
            reader, _ = b.open_stream(1)
            writer.write(b"first\nsecond\n")
            writer.writelines([b"12345", bytearray(b"67890"), memoryview(b"a;b")])
            await writer.drain()
            assert await reader.readline() == b"first\n"
            assert await reader.readuntil(b"nd\n") == b"second\n"
            assert await reader.readexactly(7) == b"1234567"
            assert await reader.read(3) == b"890"
            assert await reader.readuntil(b";") == b"a;"
            assert not reader.at_eof()
            writer.close()
            assert writer.is_closing()
            with pytest.raises(byway.AssociationClosed, match="closed"):
                writer.write(b"more")
            await a.shutdown()
            with pytest.raises(asyncio.IncompleteReadError) as error:
                await reader.readexactly(5)
            assert error.value.partial == b"b"
            assert reader.at_eof()
            assert await reader.read() == b"" == await reader.read(10) == await reader.readline()

    run(main)


def test_what_was_written_without_drain_arrives_whole() -> None:
    async def main() -> None:
        async with pair() as (a, b):
            _, writer = a.open_stream()
            reader, _ = b.open_stream()
            data = np.random.default_rng(2).bytes(4_000_000)
            for at in range(0, len(data), 100_000):
                writer.write(data[at : at + 100_000])
            reading = asyncio.create_task(reader.read())
            await a.shutdown()
            assert await reading == data
            assert [line async for line in reader] == []

    run(main)


def test_a_lost_association_does_not_look_like_the_end_of_a_stream() -> None:
    async def main() -> None:
        async with pair() as (a, b):
            reader, _ = b.open_stream()
            await a.send(b"half")
            await a.drained()
            a.abort("the disk is full")
            with pytest.raises(byway.AssociationLost, match="the disk is full"):
                await reader.read()

    run(main)


# --- paths, events, the end ----------------------------------------------------------------------


def test_paths_and_events_have_types_and_units() -> None:
    async def main() -> None:
        async with pair(**{"rto": {"min": "50 ms"}}) as (a, b):
            await a.send(b"x")
            await a.drained()
            first, second = a.paths()
            assert (first.id, first.primary, second.id, second.primary) == (0, True, 1, False)
            assert first.state is aio.PathState.ACTIVE
            assert first.srtt_s is not None and 0 < first.srtt_s < 1
            assert first.cwnd >= 1500 and first.remote.startswith("127.0.0.1:")
            while a.paths()[1].state is not aio.PathState.ACTIVE:
                await asyncio.sleep(0.01)
            a.set_primary(second)
            a.request_heartbeat(0)
            assert a.paths()[1].primary
            assert 'rto.min = "50 ms"' in a.settings()
            await a.shutdown()
            seen = [event async for event in a.events()]
            assert aio.Up(False, 10, 10) in seen
            assert aio.PrimaryChanged(0, 1) in seen
            assert seen[-1] == aio.ShutdownComplete()
            others = [event async for event in b.events()]
            assert aio.PeerShutdown() in others
            assert a.events_missed == 0 and a.is_closed and b.is_closed

    run(main)


def test_the_association_that_holds_most_is_lost_when_memory_is_out() -> None:
    async def send_all(association: aio.Association) -> byway.AssociationLost:
        with pytest.raises(byway.AssociationLost) as lost:
            while True:
                await association.send(bytes(10_000))
        return lost.value

    async def main() -> None:
        settings = {"buffer.receive": "8 MiB"}
        async with contextlib.AsyncExitStack() as opened:
            server = await opened.enter_async_context(
                await aio.bind("127.0.0.1:0", port=7, settings=settings, max_memory=512 << 10)
            )
            # Nobody reads. One alone waits when it holds its share; the half of it that each of two may hold and the
            # share of the third are more than there is.
            senders, associations, accepted = [], [], []
            for host in (2, 3, 4):
                client = await opened.enter_async_context(await aio.bind(f"127.0.0.{host}:0"))
                associations.append(await client.connect(server.addresses, port=7))
                accepted.append(await server.accept())
                senders.append(asyncio.create_task(send_all(associations[-1])))
                if host == 2:
                    done, _ = await asyncio.wait(senders, timeout=0.5)
                    assert not done
            ended, _ = await asyncio.wait(senders, return_when=asyncio.FIRST_COMPLETED)
            for sender in ended:
                assert sender.result().cause == "aborted by peer"
                with pytest.raises(byway.AssociationLost) as lost:
                    await accepted[senders.index(sender)].wait_closed()
                assert lost.value.cause == "out of memory"
            for association in associations:
                association.abort()
            await asyncio.wait(senders)

    run(main)


@pytest.mark.parametrize("limit", ["backlog", "max_associations", "max_memory"])
def test_limits_that_make_no_sense(limit: str) -> None:
    async def main() -> None:
        for value in (0, -1, 2**60, 1.5, True, "many"):
            given: Any = {limit: value}
            with pytest.raises(byway.SettingError, match=f"{limit}: found {value!r}, expected"):
                await aio.bind("127.0.0.1:0", **given)

    run(main)


def test_a_lost_association_says_why_and_what_was_not_delivered() -> None:
    async def main() -> None:
        async with pair(**{"buffer.receive": 65536}) as (a, b):
            # More than the peer has room for.
            for n in range(200):
                await a.send(bytes(1000), context=2**64 - 1 - n)
            a.abort("enough")
            with pytest.raises(byway.AssociationLost) as lost:
                await a.wait_closed()
            assert lost.value.cause == "aborted locally"
            assert 100 <= lost.value.undelivered_messages <= 200
            left = a.undelivered()
            assert len(left) == lost.value.undelivered_messages and left == a.undelivered()
            assert all(len(m.data) + m.acknowledged == 1000 and m.stream == 0 for m in left)
            assert [m.context for m in left] == [2**64 - 1 - m.ssn for m in left]
            assert lost.value.unacknowledged + lost.value.unsent == left
            assert lost.value.unsent and all(m.sent for m in lost.value.unacknowledged)
            assert pickle.loads(pickle.dumps(lost.value)).unsent == lost.value.unsent
            assert not left[-1].sent and [m.ssn for m in left] == list(range(200 - len(left), 200))
            with pytest.raises(byway.AssociationLost) as lost:
                while True:
                    await b.recv()
            assert lost.value.cause == "aborted by peer" and "enough" in lost.value.reason
            assert isinstance(lost.value, byway.Error) and isinstance(lost.value, ConnectionError)
            again = pickle.loads(pickle.dumps(lost.value))
            assert vars(again) == vars(lost.value) and str(again) == str(lost.value)
            for use in (a.send(b"x"), a.shutdown(), a.drained(), a.recv()):
                with pytest.raises(byway.AssociationLost) as lost:
                    await use
                assert lost.value.unacknowledged + lost.value.unsent == left
            with pytest.raises(ValueError, match="context"):
                await b.send(b"x", context=-1)

    run(main)


def test_an_exception_in_a_with_block_aborts() -> None:
    async def main() -> None:
        async with await aio.bind("127.0.0.1:0", port=7) as server:
            with pytest.raises(ZeroDivisionError):
                async with await aio.connect(server.addresses, port=7):
                    # Who aborts before that is not accepted any more.
                    accepted = await server.accept()
                    raise ZeroDivisionError
            with pytest.raises(byway.AssociationLost, match="ZeroDivisionError"):
                await accepted.recv()

    run(main)


def test_a_closed_endpoint_says_so() -> None:
    async def main() -> None:
        endpoint = await aio.bind("127.0.0.1:0", port=7)
        accepting = asyncio.create_task(endpoint.accept())
        await asyncio.sleep(0)
        await endpoint.close()
        await endpoint.close()
        with pytest.raises(byway.EndpointClosed, match="bind another"):
            await accepting
        with pytest.raises(byway.EndpointClosed):
            await endpoint.accept()
        with pytest.raises(byway.EndpointClosed):
            await endpoint.connect("127.0.0.1:9", port=7)
        assert [a async for a in endpoint] == []
        # The port is free again.
        async with await aio.bind(endpoint.addresses, port=7) as again:
            assert again.addresses == endpoint.addresses

    run(main)


# --- what is given -------------------------------------------------------------------------------


def test_addresses_are_taken_as_people_write_them() -> None:
    async def main() -> None:
        async with await aio.bind(["127.0.0.1:0", "127.0.0.2"]) as one:
            ports = {a.rpartition(":")[2] for a in one.addresses}
            assert len(ports) == 1 and one.port == int(ports.pop())
        async with await aio.bind("localhost:0") as named:
            assert any(a.startswith("127.0.0.1:") for a in named.addresses)
        if socket.has_ipv6 and hasattr(socket, "AF_INET6"):
            with contextlib.suppress(byway.AddressError):
                async with await aio.bind(["[::1]:0", "127.0.0.1:0"], port=7) as both:
                    assert both.addresses[0].startswith("[::1]:")
                    async with await aio.connect(both.addresses, port=7) as association:
                        assert len(association.paths()) == 2

    run(main)


@pytest.mark.parametrize(
    ("local", "words"),
    [
        ("192.0.2.1:0", "this host does not have the address"),
        ("no-such-host.invalid", "neither an address nor a known host"),
        ("127.0.0.1:udp", '"udp" is not a UDP port'),
        ("127.0.0.1:70000", '"70000" is not a UDP port'),
        (["127.0.0.1:0", "127.0.0.1:0"], "is listed twice"),
        ("", "an address is missing"),
        ([], "address"),
        ("224.0.0.1:0", "224.0.0.1"),
        ("[::1%nocard]:0", "no interface nocard"),
    ],
)
def test_a_wrong_address_says_what_would_be_right(local: str | list[str], words: str) -> None:
    async def main() -> None:
        with pytest.raises(byway.AddressError) as error:
            await aio.bind(local)
        assert words in str(error.value)

    run(main)


def test_without_udp_messages_pass_and_errors_say_what_to_do() -> None:
    async def main() -> None:
        with pytest.raises(byway.AddressError, match='expected "udp", "none" or "both"'):
            await aio.bind("127.0.10.1", encapsulation="ip")
        with pytest.raises(byway.AddressError, match="leave the port out"):
            await aio.bind("127.0.10.1:9899", encapsulation="none")
        try:
            server = await aio.bind("127.0.10.1", encapsulation="none", port=5001)
        except byway.AddressError as error:
            if error.errno != 1:  # EPERM
                raise
            pytest.skip("no CAP_NET_RAW")
        async with server:
            assert server.addresses == ["127.0.10.1:0"]
            with pytest.raises(byway.AddressError, match="SCTP port 5001 of 127.0.10.1"):
                await aio.bind("127.0.10.1", encapsulation="none", port=5001)
            with pytest.raises(byway.AddressError, match="leave the port out"):
                await aio.connect("127.0.10.1:9899", port=5001, encapsulation="none")
            async with await aio.connect(
                "127.0.10.1", port=5001, encapsulation="none", beside_kernel_sctp=True
            ) as association:
                await association.send(b"hello")
                accepted = await server.accept()
                assert (await accepted.recv()).data == b"hello"
                assert [path.remote for path in association.paths()] == ["127.0.10.1:0"]

    run(main)


def test_a_taken_port_has_the_number_of_the_system() -> None:
    async def main() -> None:
        async with await aio.bind("127.0.0.1:0") as endpoint:
            with pytest.raises(byway.AddressError, match="another socket has this port") as error:
                await aio.bind(endpoint.addresses)
            assert error.value.errno == 98 and isinstance(error.value, OSError)

    run(main)


@pytest.mark.parametrize(
    ("settings", "place", "words"),
    [
        ({"rto.min": "soon"}, "rto.min", "soon"),
        ({"rto": {"min": "2 s", "max": "1 s"}}, "rto", "rto.max"),
        ({"rto.mim": "1 s"}, "rto.mim", "rto.mim"),
        ({"hb.interval": -1}, "hb.interval", "-1"),
        ({"failover": 3}, "failover", "3"),
    ],
)
def test_a_wrong_setting_has_the_words_of_the_command(
    settings: dict[str, object], place: str, words: str
) -> None:
    async def main() -> None:
        with pytest.raises(byway.SettingError) as error:
            await aio.bind("127.0.0.1:0", settings=settings)
        assert words in str(error.value) and "--set" not in str(error.value)
        assert error.value.problems[0].place.startswith(place)

    run(main)


def test_a_wrong_preset_names_those_that_there_are() -> None:
    async def main() -> None:
        with pytest.raises(byway.SettingError, match="rfc2960"):
            await aio.bind("127.0.0.1:0", preset="rfc9999")

    run(main)


def test_wrong_messages_are_refused_and_the_association_continues() -> None:
    async def main() -> None:
        async with pair() as (a, b):
            with pytest.raises(TypeError, match="text.encode"):
                await a.send("text")
            for wrong in (5, None, ["x"], object()):
                with pytest.raises(TypeError, match="buffer"):
                    await a.send(wrong)
            with pytest.raises(byway.SendRefused, match="at least one byte"):
                await a.send(b"")
            with pytest.raises(byway.SendRefused, match="0 to 9"):
                await a.send(b"x", stream=10)
            with pytest.raises(byway.SendRefused, match="max_message"):
                await a.send(bytes(17 << 20))
            for number in (-1, 65536, 10**30):
                with pytest.raises(byway.SendRefused, match="0 to 65535"):
                    await a.send(b"x", stream=number)
                with pytest.raises(byway.SendRefused):
                    await b.recv(stream=number)
            with pytest.raises(TypeError, match="stream is a number"):
                await a.send(b"x", stream="1")  # type: ignore[arg-type]
            with pytest.raises(byway.SendRefused, match="path 9"):
                a.set_primary(9)
            await a.send(b"still there")
            assert (await b.recv()).data == b"still there"

    run(main)


def test_a_refused_peer_port_fails_the_connect() -> None:
    async def main() -> None:
        async with await aio.bind("127.0.0.1:0", port=7) as server:
            with pytest.raises(byway.ConnectFailed, match="SCTP port 8") as error:
                await aio.connect(server.addresses, port=8)
            assert error.value.cause == "aborted by peer"
            with pytest.raises(byway.AddressError, match="1 to 65535"):
                await aio.connect(server.addresses, port=0)
            with pytest.raises(TypeError, match="SCTP port"):
                await aio.connect(server.addresses, port="7")  # type: ignore[arg-type]

    run(main)


# --- loops ---------------------------------------------------------------------------------------


def test_several_loops_in_several_threads() -> None:
    errors: list[BaseException] = []

    async def main() -> None:
        async with pair() as (a, b):
            for i in range(200):
                await a.send(i.to_bytes(2))
                assert (await b.recv()).data == i.to_bytes(2)

    def thread() -> None:
        try:
            run(main)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=thread) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert errors == []


def test_another_loop_is_refused() -> None:
    async def main() -> None:
        async with pair() as (a, b):

            def elsewhere() -> None:
                async def use() -> None:
                    for use in (a.send(b"x"), b.recv(), a.drained(), a.shutdown()):
                        with pytest.raises(byway.WrongLoop, match="another event loop"):
                            await use

                asyncio.run(use())

            await asyncio.to_thread(elsewhere)

    run(main)


@pytest.mark.parametrize("tidy", [True, False])
def test_a_loop_that_is_closed_aborts_its_associations(tidy: bool) -> None:
    """`tidy` as asyncio.run does it; else the loop is only closed and forgotten."""

    async def main() -> None:
        async with await aio.bind("127.0.0.1:0", port=7) as server:
            address = server.addresses[0]
            kept: list[object] = []

            def elsewhere() -> None:
                async def leave() -> None:
                    association = await aio.connect(address, port=7)
                    await association.send(b"x")
                    kept.append(association)
                    kept.append(asyncio.create_task(association.recv()))
                    await asyncio.sleep(0.05)

                if tidy:
                    asyncio.run(leave())
                else:
                    loop = asyncio.new_event_loop()
                    loop.run_until_complete(leave())
                    kept[1].cancel()  # type: ignore[attr-defined]
                    loop.run_until_complete(asyncio.sleep(0))
                    loop.close()
                    kept.pop()

            accepting = asyncio.create_task(server.accept())
            await asyncio.to_thread(elsewhere)
            accepted = await accepting
            assert (await accepted.recv()).data == b"x"
            if not tidy:
                import gc

                gc.collect()
            with pytest.raises(byway.AssociationLost, match="event loop"):
                await accepted.recv()

    run(main)
