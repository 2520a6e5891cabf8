"""byway.aio between processes: files, the command, signals, forks, cut paths."""

from __future__ import annotations

import asyncio
import hashlib
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from byway import aio

PYTHON = Path(__file__).parent.parent
EXAMPLES = PYTHON / "examples"
LIMIT = 60
COMMAND = Path(os.environ.get("BYWAY", PYTHON.parent / "target/release/byway"))

needs_command = pytest.mark.skipif(
    not COMMAND.exists(),
    reason=f"no {COMMAND}; build it with `cargo build --release`, or set BYWAY",
)


@pytest.fixture
def started() -> Iterator[list[subprocess.Popen[str]]]:
    """Processes that are ended with the test."""
    processes: list[subprocess.Popen[str]] = []
    yield processes
    for process in processes:
        if process.poll() is None:
            process.kill()
        process.communicate()


Started = list[subprocess.Popen[str]]


def start(started: Started, *command: str | Path) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [str(c) for c in command],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        text=True,
    )
    started.append(process)
    return process


def script(started: Started, text: str, *args: str) -> subprocess.Popen[str]:
    return start(started, sys.executable, "-X", "dev", "-c", text, *args)


def line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def ended(process: subprocess.Popen[str], status: int = 0) -> str:
    out, err = process.communicate(timeout=LIMIT)
    assert process.returncode == status, f"status {process.returncode}: {out}\n{err}"
    assert "Traceback" not in err, err
    return out + err


# --- files ---------------------------------------------------------------------------------------


def test_a_file_passes_between_two_processes(started: Started, tmp_path: Path) -> None:
    data = os.urandom(5_000_000)
    (tmp_path / "file").write_bytes(data)
    paths = ["127.0.0.1:0", "127.0.0.2:0"]
    receiver = start(
        started, sys.executable, EXAMPLES / "recv_file.py", tmp_path / "got", "--bind", *paths
    )
    listening = line(receiver)
    to = re.findall(r"[\d.]+:\d+", listening)
    assert len(to) == 2, listening
    sender = start(
        started, sys.executable, EXAMPLES / "send_file.py", tmp_path / "file", "--to", *to,
        "--from", "127.0.0.1", "127.0.0.2",
    )  # fmt: skip
    digest = hashlib.sha256(data).hexdigest()
    assert digest in ended(sender)
    assert digest in ended(receiver)
    assert (tmp_path / "got").read_bytes() == data


def test_the_receiver_says_when_the_sender_is_interrupted(started: Started, tmp_path: Path) -> None:
    """Ctrl-C in the middle: both end at once, the receiver with the reason."""
    (tmp_path / "file").write_bytes(bytes(1_000_000))
    receiver = start(
        started,
        sys.executable,
        EXAMPLES / "recv_file.py",
        tmp_path / "got",
        "--bind",
        "127.0.0.1:0",
    )
    address = re.findall(r"[\d.]+:\d+", line(receiver))[0]
    # Sends half of a file and waits for more.
    sender = script(
        started,
        """
import asyncio, sys
from byway import aio

async def main():
    async with await aio.connect(sys.argv[1], port=5001) as association:
        reader, writer = association.open_stream(0)
        writer.write(b'{"name": "half", "size": 1000000}\\n' + bytes(500000))
        await writer.drain()
        print("half", flush=True)
        await reader.read()

try:
    asyncio.run(main())
except KeyboardInterrupt:
    sys.exit(130)
""",
        address,
    )
    assert line(sender) == "half"
    # An association that ends before it is accepted is not accepted: the receiver would wait on.
    began = time.monotonic()
    while not (tmp_path / "got").exists():
        assert time.monotonic() - began < LIMIT, "the receiver has not begun its file"
        time.sleep(0.01)
    began = time.monotonic()
    sender.send_signal(signal.SIGINT)
    ended(sender, 130)
    assert "the peer aborted" in ended(receiver, 1)
    # Far from any timeout of the protocol.
    assert time.monotonic() - began < LIMIT / 2


# --- the command ---------------------------------------------------------------------------------


@needs_command
def test_the_command_sends_to_python(started: Started, tmp_path: Path) -> None:
    data = os.urandom(2_000_000)
    (tmp_path / "file").write_bytes(data)

    async def main() -> bytes:
        async with await aio.bind("127.0.0.1:0", port=5001) as endpoint:
            cat = start(started, COMMAND, "cat", tmp_path / "file", "--to", endpoint.addresses[0])
            async with asyncio.timeout(LIMIT):
                association = await endpoint.accept()
                reader, _ = association.open_stream(0)
                got = await reader.read()
            await asyncio.to_thread(ended, cat)
            return got

    assert asyncio.run(main()) == data


@needs_command
def test_python_sends_to_the_command(started: Started, tmp_path: Path) -> None:
    data = os.urandom(2_000_000)

    async def main() -> None:
        # A port that was free a moment ago.
        async with await aio.bind("127.0.0.1:0") as endpoint:
            address = endpoint.addresses[0]
        with (tmp_path / "got").open("wb") as sink:
            listen = subprocess.Popen(
                [COMMAND, "listen", "--unprotected", "--bind", address],
                stdout=sink,
                stderr=subprocess.PIPE,
                text=True,
            )
        started.append(listen)
        assert listen.stderr is not None
        assert "listening" in await asyncio.to_thread(listen.stderr.readline)
        async with await aio.connect(address, port=5001) as association:
            _, writer = association.open_stream(0)
            writer.write(data)
            await writer.drain()
        await asyncio.to_thread(listen.wait, LIMIT)
        assert listen.returncode == 0

    asyncio.run(main())
    assert (tmp_path / "got").read_bytes() == data


# --- ends of processes ---------------------------------------------------------------------------

SERVER_AND_PEER = """
import asyncio, os, signal, sys, threading
import byway
from byway import aio

async def peer(address):
    association = await aio.connect(address, port=7)
    await association.send(b"x")
    await association.drained()
    # The other has accepted it: one that is lost before is accepted by nobody.
    await association.recv()
    return association
"""


def in_the_middle(started: Started, text: str, *, status: int = 0, kill: int | None = None) -> str:
    """Runs a peer that ends in the middle. How its association was lost for this side."""

    async def main() -> str:
        settings = {"rto.initial": "50 ms", "rto.min": "50 ms", "rto.max": "50 ms",
                    "failure.association_max_retrans": 3}  # fmt: skip
        async with await aio.bind("127.0.0.1:0", port=7, settings=settings) as server:
            other = script(started, SERVER_AND_PEER + text, server.addresses[0])
            async with asyncio.timeout(LIMIT):
                association = await server.accept()
                await association.recv()
                await association.send(b"y")
                if kill is not None:
                    # Until the other is ready for it.
                    await asyncio.to_thread(line, other)
                    other.send_signal(kill)
                while True:
                    try:
                        # To a peer that does not read: what it has is not the end.
                        await association.send(b"y")
                        await asyncio.sleep(0.02)
                    except aio.AssociationLost as lost:
                        reason = f"{lost.cause}: {lost.reason}"
                        break
            out = await asyncio.to_thread(ended, other, status)
            return reason + "\n" + out

    return asyncio.run(main())


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        # asyncio.run closes its loop.
        ("asyncio.run(peer(sys.argv[1]))", "event loop"),
        # The interpreter ends with an open loop.
        (
            "loop = asyncio.new_event_loop()\n"
            "kept = loop.run_until_complete(peer(sys.argv[1]))\n"
            "import warnings; warnings.simplefilter('ignore')\n",
            "has ended|was closed",
        ),
        # The same with a task and a thread that wait.
        (
            "async def main():\n"
            "    a = await peer(sys.argv[1])\n"
            "    waiting = asyncio.create_task(a.recv())\n"
            "    await asyncio.sleep(0.05)\n"
            "    sys.exit(0)\n"
            "asyncio.run(main())\n",
            "event loop",
        ),
    ],
)
def test_a_program_that_ends_in_the_middle_aborts(started: Started, text: str, reason: str) -> None:
    assert re.match(rf"aborted by peer: .*({reason})", in_the_middle(started, text))


def test_ctrl_c_ends_a_program_that_waits(started: Started) -> None:
    text = """
async def main():
    a = await peer(sys.argv[1])
    async with a:
        print("ready", flush=True)
        async for message in a:
            pass

try:
    asyncio.run(main())
except KeyboardInterrupt:
    print("interrupted")
"""
    out = in_the_middle(started, text, kill=signal.SIGINT)
    assert out.startswith("aborted by peer") and "CancelledError" in out
    assert "interrupted" in out


def test_ctrl_c_ends_a_program_that_never_waits(started: Started) -> None:
    text = """
async def main():
    a = await peer(sys.argv[1])
    mine = await aio.bind(["127.0.0.1:0"], port=9)
    other = await aio.connect(mine.addresses, port=9)
    accepted = await mine.accept()
    async def forever():
        while True:
            await accepted.recv()
    asyncio.create_task(forever())
    print("ready", flush=True)
    while True:
        await other.send(bytes(10))

try:
    asyncio.run(main())
except KeyboardInterrupt:
    print("interrupted")
"""
    assert "interrupted" in in_the_middle(started, text, kill=signal.SIGINT)


def test_a_killed_peer_is_noticed(started: Started) -> None:
    text = """
async def main():
    a = await peer(sys.argv[1])
    print("ready", flush=True)
    await asyncio.sleep(1000)

asyncio.run(main())
"""
    out = in_the_middle(started, text, kill=signal.SIGKILL, status=-signal.SIGKILL)
    # The kernel says by ICMP that nobody has the port any more. So does a translator that has forgotten the binding
    # of a peer that is still there: the side that accepted does not end by it.
    assert out.startswith("peer unreachable: the peer could not be reached on any path")


def test_a_killed_server_is_noticed_by_its_port(started: Started) -> None:
    text = """
async def main():
    server = await aio.bind("127.0.0.1:0", port=7)
    print(server.addresses[0], flush=True)
    accepted = await server.accept()
    await accepted.recv()
    print("ready", flush=True)
    await asyncio.sleep(1000)

asyncio.run(main())
"""

    async def main() -> str:
        server = script(started, "import asyncio\nfrom byway import aio\n" + text)
        settings = {"rto.initial": "50 ms", "rto.min": "50 ms"}
        address = await asyncio.to_thread(line, server)
        association = await aio.connect(address, port=7, settings=settings)
        await association.send(b"x")
        assert await asyncio.to_thread(line, server) == "ready"
        server.send_signal(signal.SIGKILL)
        with pytest.raises(aio.AssociationLost) as lost:
            async with asyncio.timeout(LIMIT):
                while True:
                    await association.send(b"y")
                    await asyncio.sleep(0.02)
        await asyncio.to_thread(ended, server, -signal.SIGKILL)
        return f"{lost.value.cause}: {lost.value.reason}"

    assert asyncio.run(main()).startswith("port unreachable: nothing listens on the peer's UDP")


def test_a_forked_process_is_told(started: Started) -> None:
    text = """
async def use(association, server):
    for action in (association.paths, association.stats, lambda: association.abort("child")):
        try:
            action()
        except byway.WrongProcess as error:
            assert "os.fork" in str(error)
        else:
            print("not refused", action)
    repr(association), repr(server)
    # What it makes itself works.
    async with await aio.bind("127.0.0.1:0", port=9) as own:
        async with await aio.connect(own.addresses, port=9) as mine:
            await mine.send(b"from the child")
            print((await (await own.accept()).recv()).data.decode(), flush=True)

async def main():
    server = await aio.bind("127.0.0.1:0", port=8)
    a = await aio.connect(server.addresses, port=8)
    b = await server.accept()
    waiting = asyncio.create_task(b.recv())
    await asyncio.sleep(0)
    child = os.fork()
    if child == 0:
        status = 1
        try:
            # In a thread of its own, as the loop of the parent is still set here.
            thread = threading.Thread(target=lambda: asyncio.run(use(a, server)))
            thread.start()
            thread.join()
            del a, b, server, waiting
            import gc; gc.collect()
            status = 0
        finally:
            os._exit(status)
    assert os.waitpid(child, 0)[1] == 0
    # The parent goes on.
    await a.send(b"still here")
    print((await waiting).data.decode(), flush=True)
    await a.shutdown()
    await server.close()

asyncio.run(main())
"""
    other = script(started, SERVER_AND_PEER + text)
    assert ended(other).split("\n")[:2] == ["from the child", "still here"]


# --- a path that is cut --------------------------------------------------------------------------


@pytest.fixture
def two_cables() -> Iterator[tuple[str, str]]:
    """Two network namespaces with two cables of 60 Mbit/s between them."""
    if os.geteuid() != 0:
        pytest.skip("needs root, for network namespaces")
    if shutil.which("ip") is None or shutil.which("tc") is None:
        pytest.skip("needs ip and tc (iproute2)")
    a, z = f"byway-a{os.getpid()}", f"byway-z{os.getpid()}"

    def do(command: str) -> None:
        subprocess.run(command.split(), check=True, capture_output=True)

    try:
        try:
            for ns in (a, z):
                do(f"ip netns add {ns}")
                do(f"ip -n {ns} link set lo up")
        except subprocess.CalledProcessError as error:
            pytest.skip(f"cannot make network namespaces: {error.stderr.decode().strip()}")
        for n in (1, 2):
            do(f"ip -n {a} link add e{n} type veth peer name e{n} netns {z}")
            for ns, host in ((a, 1), (z, 2)):
                do(f"ip -n {ns} addr add 10.9{n}.0.{host}/24 dev e{n}")
                do(f"ip -n {ns} link set e{n} up")
                shape = "root tbf rate 60mbit burst 20kb latency 50ms"
                do(f"ip netns exec {ns} tc qdisc replace dev e{n} {shape}")
        yield a, z
    finally:
        for ns in (a, z):
            subprocess.run(["ip", "netns", "del", ns], check=False, capture_output=True)


def test_a_file_survives_a_cut_path(
    two_cables: tuple[str, str], started: Started, tmp_path: Path
) -> None:
    a, z = two_cables
    data = os.urandom(30_000_000)
    (tmp_path / "file").write_bytes(data)
    inside = ("ip", "netns", "exec")
    receiver = start(
        started, *inside, z, sys.executable, EXAMPLES / "recv_file.py", tmp_path / "got",
        "--bind", "10.91.0.2", "10.92.0.2",
    )  # fmt: skip
    assert "listening" in line(receiver)
    sender = start(
        started, *inside, a, sys.executable, EXAMPLES / "send_file.py", tmp_path / "file",
        "--to", "10.91.0.2", "10.92.0.2", "--from", "10.91.0.1", "10.92.0.1",
    )  # fmt: skip
    # At 60 Mbit/s the file takes four seconds; after the first report the path is cut.
    told = line(sender)
    while "acknowledged" not in told:
        told = line(sender)
    assert "path 10.91.0.2" in told
    subprocess.run(["ip", "-n", z, "link", "set", "e1", "down"], check=True)
    out = ended(sender)
    assert "event: failover, data goes to path 1 instead of 0" in out
    assert "path 10.92.0.2" in out
    digest = hashlib.sha256(data).hexdigest()
    assert digest in out and digest in ended(receiver)
    assert (tmp_path / "got").read_bytes() == data
