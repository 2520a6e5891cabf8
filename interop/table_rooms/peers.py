"""The programs of the table and their command lines: byway, usrsctp, the Linux kernel, pion/sctp."""

import time
from pathlib import Path

from .lab import UDP_PORT, Failed, Lab, Process, await_true, on

# SCTP ports of the side that connects and the one that accepts.
CLIENT_PORT, SERVER_PORT = 5001, 5002
LIMIT = 60  # seconds a program may run
# For peers that notice a dead path within a second or so.
TIMES = "--rto-initial 500 --rto-min 200 --rto-max 2000 --pmr 2 --pf 0 --heartbeat 500".split()
# Each side's number in the addresses of a lab.
BYWAY, PEER = 1, 2


def bound(lab: Lab, ns: str) -> bool:
    if lab.udp:
        return on(ns, "ss", "-Hanu", f"sport = :{UDP_PORT}").strip() != ""
    return ":0084 " in on(ns, "cat", "/proc/net/raw", "/proc/net/raw6")


class Program:
    """One side of an exchange. `own` are its addresses, `other` the peer's; `more` further options."""

    name = ""
    # So that one more association may follow.
    again = ["--again", "1"]

    def __init__(self, lab: Lab) -> None:
        self.lab = lab

    def accept(self, out: Path, own: list[str], run: int, more: list[str]) -> Process:
        raise NotImplementedError

    def connect(self, out: Path, own: list[str], other: list[str], run: int, end: str, more: list[str]) -> Process:
        raise NotImplementedError

    def ready(self) -> bool:
        raise NotImplementedError

    def accepting(self, out: Path, own: list[str], run: int, more: list[str]) -> Process:
        """`accept`, and waits until it listens."""
        process = self.accept(out, own, run, more)

        def there() -> bool:
            if not process.running():
                raise Failed(process.tail())
            return self.ready()

        await_true(there, 10, f"{self.name} did not listen")
        # The socket is open before the endpoint listens.
        time.sleep(0.3)
        return process


def with_port(address: str, udp: bool) -> str:
    bracketed = f"[{address}]" if ":" in address else address
    return f"{bracketed}:{UDP_PORT if udp else 0}"


class Byway(Program):
    name = "byway"
    program = ""
    client_port, server_port = CLIENT_PORT, SERVER_PORT
    mixed = False  # UDP, but not to the peer's second address

    def words(self, verb: str, own: list[str], run: int, more: list[str]) -> list[str]:
        udp = self.lab.udp
        return [
            self.program, verb, "--bind", ",".join(with_port(a, udp) for a in own),
            "--encapsulation", "both" if self.mixed else "udp" if udp else "none", "--run", str(run), "--limit", str(LIMIT), *more,
        ]  # fmt: skip

    def accept(self, out, own, run, more):
        words = self.words("accept", own, run, ["--port", str(self.server_port), *more])
        return self.lab.start(words, out, self.lab.home)

    def connect(self, out, own, other, run, end, more):
        to = ",".join(with_port(a, self.lab.udp and not (self.mixed and i)) for i, a in enumerate(other))
        ports = ["--port", str(self.client_port), "--peer-port", str(self.server_port)]
        words = self.words("connect", own, run, ["--to", to, "--end", end, *ports, *more])
        return self.lab.start(words, out, self.lab.home)

    def ready(self):
        return bound(self.lab, self.lab.home)


class Usrsctp(Program):
    name = "usrsctp"
    program = ""

    def launch(self, words: list[str], out: Path) -> Process:
        return self.lab.start([self.program, *words], out, self.lab.b)

    def words(self, verb: str, own: list[str], run: int, more: list[str]) -> list[str]:
        udp = str(UDP_PORT if self.lab.udp else 0)
        return [
            verb, "--port", str(SERVER_PORT), "--addr", ",".join(own), "--udp-port", udp, "--run", str(run),
            "--deadline", str(LIMIT), *TIMES, *more,
        ]  # fmt: skip

    def accept(self, out, own, run, more):
        return self.launch(self.words("accept", own, run, more), out)

    def connect(self, out, own, other, run, end, more):
        ports = ["--to", ",".join(other), "--local-port", str(CLIENT_PORT), "--end", end]
        return self.launch(self.words("connect", own, run, [*ports, *more]), out)

    def ready(self):
        return bound(self.lab, self.lab.b)


class Kernel(Usrsctp):
    name = "linux"
    program = "/root/exchange-peer"

    def launch(self, words: list[str], out: Path) -> Process:
        return self.lab.guest.start(self.lab, [self.program, *words], out)

    def ready(self):
        return self.lab.guest.listens(self.lab, SERVER_PORT)


class Pion(Program):
    name = "pion"
    program = ""
    port = 5000
    again = ["-again", "1"]

    def words(self, verb: str, own: list[str], run: int, more: list[str]) -> list[str]:
        return [self.program, "-local", with_port(own[0], True), "-run", str(run), *more, verb]

    def accept(self, out, own, run, more):
        return self.lab.start(self.words("accept", own, run, more), out, self.lab.b)

    def connect(self, out, own, other, run, end, more):
        more = ["-remote", with_port(other[0], True), "-end", end, *more]
        return self.lab.start(self.words("connect", own, run, more), out, self.lab.b)

    def ready(self):
        return bound(self.lab, self.lab.b)
