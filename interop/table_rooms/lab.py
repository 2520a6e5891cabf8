"""Two hosts with two paths, and a switch for each path between them, in network namespaces.

    byway  path1 --- a1 br1 b1 --- path1  peer      10.N.1.1, fdN:1::1      10.N.1.2, fdN:1::2
           path2 --- a2 br2 b2 --- path2            10.N.2.1, fdN:2::1      10.N.2.2, fdN:2::2

Behind translators (`Lab.translate`), byway's programs are one host further, and `a` translates:

    byway  path1 --- in1  a  path1 --- ...          192.168.1.1, fdc0:1::1
           path2 --- in2     path2 --- ...          192.168.2.1, fdc0:2::1

A card that goes down is seen by its own host alone: the other one hears nothing more. With the Linux
guest, the switches and the peer are the guest's (guest.py).
"""

import os
import signal
import subprocess
import time
from pathlib import Path

RATE = "10mbit"
UDP_PORT = 9899


class Failed(Exception):
    """Why a case failed."""


def run(*words: str, stdin: str | None = None, check: bool = True) -> str:
    """Runs a command and returns its output; what it says is shown only when it fails."""
    done = subprocess.run(words, input=stdin, capture_output=True, text=True, check=False)
    if check and done.returncode != 0:
        raise RuntimeError(f"{' '.join(words)}: {done.stderr.strip()}")
    return done.stdout


def enter(ns: str) -> list[str]:
    """The words before a command that runs in a namespace."""
    return ["nsenter", f"--net=/run/netns/{ns}", "--"]


def on(ns: str, *words: str, stdin: str | None = None, check: bool = True) -> str:
    return run(*enter(ns), *words, stdin=stdin, check=check)


def batch(ns: str, *lines: str) -> None:
    """Several commands of ip in one process."""
    run("ip", "-n", ns, "-batch", "-", stdin="\n".join(lines) + "\n")


# Addresses outlive a card that is down, and no address waits for duplicates of it. What the kernel
# says of packets without a receiver is kept back while `mute` has a card.
HOST = """
echo 0 >/proc/sys/net/ipv4/conf/all/rp_filter
for k in all default; do
    echo 0 >/proc/sys/net/ipv6/conf/$k/accept_dad
    echo 1 >/proc/sys/net/ipv6/conf/$k/keep_addr_on_down
    echo 1 >/proc/sys/net/ipv4/conf/$k/arp_ignore
    echo 2 >/proc/sys/net/ipv4/conf/$k/arp_announce
done
"""

# A translator: each binding has a UDP port of its own, and what has no binding is dropped without a word.
TRANSLATOR = """table inet translator {
    chain leaving {
        type nat hook postrouting priority srcnat;
        oifname { path1, path2 } masquerade fully-random
    }
    chain arrival {
        type filter hook input priority 0;
        iifname { path1, path2 } meta l4proto udp drop
    }
}"""

# What arrives on a card in `deaf` is dropped; of what arrives on a card in `no_abort`, the packets
# whose first chunk is an ABORT (type 6), in UDP or without; a card in `mute` sends no ICMP errors.
RULES = """table inet lab {
    set deaf { type ifname; }
    set no_abort { type ifname; }
    set mute { type ifname; }
    chain arrival {
        type filter hook prerouting priority -300;
        iifname @deaf drop
        iifname @no_abort meta l4proto udp @th,160,8 6 drop
        iifname @no_abort meta l4proto sctp @th,96,8 6 drop
    }
    chain leaving {
        type filter hook output priority 0;
        oifname @mute icmp type destination-unreachable drop
        oifname @mute icmpv6 type { destination-unreachable, parameter-problem } drop
    }
}"""


class Process:
    """A program of a case, with what it printed and said."""

    def __init__(self, words: list[str], out: Path, kill=None) -> None:
        self.out, self.log = out, out.with_suffix(".log")
        self._kill = kill
        with self.out.open("ab") as o, self.log.open("ab") as e:
            self.popen = subprocess.Popen(words, stdout=o, stderr=e, start_new_session=True)

    def running(self) -> bool:
        return self.popen.poll() is None

    def wait(self, limit: float) -> int:
        try:
            return self.popen.wait(max(limit, 0.1))
        except subprocess.TimeoutExpired:
            raise Failed(f"{self.out.stem} did not end; {self.tail()}") from None

    def kill(self) -> None:
        """Ends it at once, without a word to its peer."""
        if self._kill is not None:
            self._kill()
        elif self.running():
            os.kill(self.popen.pid, signal.SIGKILL)
        self.popen.wait(10)

    def stop(self) -> None:
        """The end of a case: nothing stays."""
        if self.running():
            try:
                self.kill()
            except (subprocess.TimeoutExpired, RuntimeError, ProcessLookupError):
                pass
        if self.running():
            os.killpg(self.popen.pid, signal.SIGKILL)
            self.popen.wait()

    def lines(self) -> list[str]:
        return self.out.read_text(errors="replace").splitlines()

    def tail(self) -> str:
        said = (self.log.read_text(errors="replace") + self.out.read_text(errors="replace")).splitlines()
        return f"{self.out.stem} says: {' / '.join(said[-3:])[:400]}"


class Lab:
    """The namespaces of one cell. `a` is byway's host; the peer's is `b` here, or in the guest."""

    def __init__(self, number: int, family: int, udp: bool, guest=None) -> None:
        self.number, self.family, self.udp, self.guest = number, family, udp, guest
        base = f"table{os.getpid()}-{number}"
        self.a, self.m, self.b = f"{base}-a", f"{base}-m", f"{base}-b"
        # Where byway's programs run.
        self.home = self.a
        self.made: list[str] = []
        self.processes: list[Process] = []
        try:
            self.build()
        except BaseException:
            # Whoever asked for it has nothing to close.
            self.delete_namespaces()
            raise

    def build(self) -> None:
        self.host(self.a)
        if self.guest is None:
            self.host(self.b)
            self.space(self.m)
            for i in (1, 2):
                batch(self.m, f"link add br{i} type bridge forward_delay 0 mcast_snooping 0", f"link set br{i} up")
                self.cable(self.a, 1, i, self.m, f"br{i}", f"a{i}")
                self.cable(self.b, 2, i, self.m, f"br{i}", f"b{i}")
        else:
            for i in (1, 2):
                self.cable(self.a, 1, i, self.guest.switch, f"br{i}", f"n{self.number}p{i}")
            self.guest.host(self)
        on(self.a, "nft", "-f", "-", stdin=RULES)

    def space(self, ns: str) -> None:
        run("ip", "netns", "add", ns)
        self.made.append(ns)
        on(ns, "sh", "-c", "echo 1 >/proc/sys/net/ipv6/conf/default/disable_ipv6", check=False)

    def host(self, ns: str) -> None:
        run("ip", "netns", "add", ns)
        self.made.append(ns)
        on(ns, "sh", "-c", HOST)
        run("ip", "-n", ns, "link", "set", "lo", "up")

    def cable(self, ns: str, side: int, path: int, switch: str, bridge: str, port: str) -> None:
        """Card path{path} of a host, to a port of a switch."""
        card = f"path{path}"
        run("ip", "-n", ns, "link", "add", card, "type", "veth", "peer", "name", port, "netns", switch)
        batch(switch, f"link set {port} master {bridge}", f"link set {port} up")
        batch(
            ns,
            *(f"addr add {self.address(side, path, f)}/{m} dev {card}{d}" for f, m, d in ((4, 24, ""), (6, 64, " nodad"))),
            f"link set {card} up",
        )
        # Whole packets, as a wire has them, and not more of them than a wire could carry.
        on(ns, "ethtool", "-K", card, "tso", "off", "gso", "off", "gro", "off", "tx-udp-segmentation", "off", check=False)
        on(ns, *f"tc qdisc replace dev {card} root tbf rate {RATE} burst 16k latency 100ms".split())

    def address(self, side: int, path: int, family: int | None = None) -> str:
        """Of byway (side 1) or the peer (side 2)."""
        if (family or self.family) == 6:
            return f"fd{self.number:02x}:{path}::{side}"
        return f"10.{self.number}.{path}.{side}"

    def addresses(self, side: int) -> list[str]:
        return [self.address(side, path) for path in (1, 2)]

    # --- translators (NAT)

    def inside(self, path: int, host: int = 1, family: int | None = None) -> str:
        """Of byway behind the translators, or of the translator there (host 2)."""
        return f"fdc0:{path}::{host}" if (family or self.family) == 6 else f"192.168.{path}.{host}"

    def translate(self) -> None:
        """Until `restore`, byway's programs are behind translators: each card leads to a card of its own here, and what
        leaves there has the address of that card, and a UDP port of the translator's. Two uplinks share nothing but this
        namespace."""
        self.home = f"{self.a}-inside"
        self.host(self.home)
        for path in (1, 2):
            run("ip", "-n", self.home, "link", "add", f"path{path}", "type", "veth", "peer", "name", f"in{path}", "netns", self.a)
            for ns, card, host in ((self.home, f"path{path}", 1), (self.a, f"in{path}", 2)):
                batch(
                    ns,
                    *(f"addr add {self.inside(path, host, f)}/{m} dev {card}{d}" for f, m, d in ((4, 24, ""), (6, 64, " nodad"))),
                    f"link set {card} up",
                )
                on(ns, "ethtool", "-K", card, "tso", "off", "gso", "off", "gro", "off", "tx-udp-segmentation", "off", check=False)
            batch(self.home, *(self.route_out(path, f) for f in (4, 6)))
        on(self.a, "sh", "-c", "echo 1 >/proc/sys/net/ipv4/ip_forward; echo 1 >/proc/sys/net/ipv6/conf/all/forwarding")
        on(self.a, "nft", "-f", "-", stdin=TRANSLATOR)

    def route_out(self, path: int, family: int) -> str:
        network = f"fd{self.number:02x}:{path}::/64" if family == 6 else f"10.{self.number}.{path}.0/24"
        return f"route replace {network} via {self.inside(path, 2, family)}"

    def forget_bindings(self) -> None:
        """The translator: the next packet of byway has another port, and no side is told."""
        on(self.a, "conntrack", "-F")

    def end_translation(self) -> None:
        if self.home == self.a:
            return
        run("ip", "netns", "del", self.home)
        self.made.remove(self.home)
        self.home = self.a
        on(self.a, "sh", "-c", "echo 0 >/proc/sys/net/ipv4/ip_forward; echo 0 >/proc/sys/net/ipv6/conf/all/forwarding")
        on(self.a, "nft", "delete table inet translator")
        on(self.a, "conntrack", "-F")

    # --- what happens to the paths

    def ip(self, side: int, *words: str) -> None:
        """`ip` with these words on the host of a side."""
        if side == 1:
            run("ip", "-n", self.a, *words)
        elif self.guest is None:
            run("ip", "-n", self.b, *words)
        else:
            self.guest.ip(self, *words)

    def card(self, side: int, path: int, up: bool) -> None:
        self.ip(side, "link", "set", f"path{path}", "up" if up else "down")

    def switch(self, path: int, up: bool) -> None:
        """A path without the guest: neither side sees more than silence."""
        run("ip", "-n", self.m, "link", "set", f"br{path}", "up" if up else "down")

    def own_address(self, side: int, path: int, verb: str) -> None:
        """An address of a host comes (add) or goes (del)."""
        length = 64 if self.family == 6 else 24
        translated = side == 1 and self.home != self.a
        address = self.inside(path) if translated else self.address(side, path)
        words = ["addr", verb, f"{address}/{length}", "dev", f"path{path}"]
        if self.family == 6 and verb == "add":
            words.append("nodad")
        if not translated:
            self.ip(side, *words)
            return
        run("ip", "-n", self.home, *words)
        if verb == "add":
            batch(self.home, self.route_out(path, self.family)) # it went with the address
        elif self.family == 6:
            # Unlike in IPv4, a route stays whose gateway no address of the card can reach.
            run("ip", "-n", self.home, "-6", "route", "flush", "dev", f"path{path}", check=False)

    def rule(self, name: str, holds: bool) -> None:
        """Whether a rule of RULES holds for both cards of byway's host."""
        elements = f"; add element inet lab {name} {{ path1, path2 }}" if holds else ""
        on(self.a, "nft", f"flush set inet lab {name}{elements}")

    def crossed(self) -> dict[tuple[int, str], int]:
        """Bytes that byway's cards sent and received so far, by path and direction."""
        found = {}
        for line in on(self.a, "cat", "/proc/net/dev").splitlines():
            card, _, numbers = line.strip().partition(":")
            if card in ("path1", "path2"):
                columns = numbers.split()
                found[int(card[-1]), "rx"] = int(columns[0])
                found[int(card[-1]), "tx"] = int(columns[8])
        return found

    def restore(self) -> None:
        """As it was in the beginning, for the next case."""
        for process in self.processes:
            process.stop()
        self.processes = []
        self.end_translation()
        on(self.a, "nft", "flush set inet lab deaf; flush set inet lab no_abort; flush set inet lab mute")
        for side in (1, 2):
            for path in (1, 2):
                self.card(side, path, True)
                try:
                    self.own_address(side, path, "add")
                except RuntimeError:
                    pass # it is there

    def close(self) -> None:
        for process in self.processes:
            process.stop()
        if self.guest is not None:
            self.guest.forget(self)
        self.delete_namespaces()

    def delete_namespaces(self) -> None:
        for ns in self.made:
            run("ip", "netns", "del", ns, check=False)

    # --- programs

    def start(self, words: list[str], out: Path, ns: str | None = None, kill=None) -> Process:
        process = Process((enter(ns) if ns else []) + words, out, kill)
        self.processes.append(process)
        return process

    def capture(self, path: Path) -> Process:
        """Both cards of byway's host. The taps are before the rules, so that they show every packet of both ends."""
        words = ["dumpcap", "-q", "-p", "-B", "8", "-i", "path1", "-i", "path2", "-w", str(path)]
        process = self.start(words, path.with_suffix(".dumpcap"), self.a)
        await_true(lambda: path.exists() and path.stat().st_size > 0, 5, "the capture did not start")
        return process

    def end_capture(self, process: Process) -> None:
        time.sleep(0.3)  # what is still in dumpcap's buffer
        process.popen.send_signal(signal.SIGTERM)
        process.wait(5)


def await_true(what, limit: float, problem: str, step: float = 0.05) -> None:
    end = time.monotonic() + limit
    while not what():
        if time.monotonic() > end:
            raise Failed(problem)
        time.sleep(step)
