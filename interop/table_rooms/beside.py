"""byway without UDP on a host whose kernel has SCTP, in the guest: refused; aborted by the kernel where it is started all
the same; and with the filter of docs/networks.md it works. `byway doctor` says what is the matter."""

import hashlib
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

from .guest import Guest
from .lab import Failed, Lab, await_true, enter, run

DOCS = Path(__file__).resolve().parent.parent.parent / "docs/networks.md"
SIZE = 1_000_000


def recipes() -> tuple[str, str]:
    """The filters that the documents give: the table of nft, and the line of iptables."""
    text = DOCS.read_text()
    nft = re.search(r"^ +table inet byway \{.*?^      \}$", text, re.M | re.S)
    iptables = re.search(r"^ +(iptables -A OUTPUT .*)$", text, re.M)
    if nft is None or iptables is None:
        raise Failed(f"{DOCS.name} has no table of nft or no line of iptables against the kernel's ABORTs")
    return nft.group(0), iptables.group(1)


class Beside:
    def __init__(self, guest: Guest, byway: str, number: int) -> None:
        self.guest, self.byway = guest, byway
        self.lab = Lab(number, 4, False, guest)
        self.inside = f"nsenter --net=/run/netns/c{number} --"
        self.here, self.there = self.lab.address(1, 1), self.lab.address(2, 1)

    def checks(self) -> Iterator[tuple[str, str]]:
        """What was tried, and what came of it; raises Failed."""
        library = next(w for w in run("ldd", self.byway).split() if w.endswith("/libgcc_s.so.1"))
        self.guest.put(Path(self.byway), "/root/byway")
        self.guest.put(Path(library), "/lib/x86_64-linux-gnu/libgcc_s.so.1")
        yield "it is refused", self.refused()
        for udp_port, more, words in (
            (0, "", "does not interfere: byway uses UDP"),
            (9899, "", "takes UDP port 9899"),
            (0, "--encapsulation none", "modprobe -r sctp"),
        ):
            yield f"doctor, net.sctp.udp_port={udp_port} {more}", self.doctor(udp_port, more, words)
        yield "without a filter the kernel aborts", self.aborted()
        tool = self.filter()
        yield f"with the filter of the documents ({tool}), to the guest", self.received()
        yield f"with the filter of the documents ({tool}), from the guest", self.sent()

    def filter(self) -> str:
        """The nft table, where the kernel has the family inet (user-mode Linux has not), else the line of iptables."""
        nft, iptables = recipes()
        loaded = self.guest.run(f"{self.inside} nft -f - <<'END' 2>&1 && echo loaded\n{nft}\nEND", check=False)
        if loaded.strip().endswith("loaded"):
            return "nft"
        self.guest.run(f"{self.inside} {iptables}")
        return "iptables"

    def say(self, command: str) -> tuple[int, str]:
        """A command in the guest: its status, and all it said."""
        words = self.guest.words(f"{self.inside} {command} 2>&1", 30)
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        return done.returncode, " ".join(done.stdout.split())

    def refused(self) -> str:
        status, said = self.say(f"/root/byway listen --unprotected --encapsulation none --bind {self.there}")
        if status != 1 or "modprobe -r sctp" not in said:
            raise Failed(f"status {status}: {said[-300:]}")
        return "with what to do"

    def doctor(self, udp_port: int, more: str, words: str) -> str:
        self.guest.run(f"{self.inside} sysctl -qw net.sctp.udp_port={udp_port}")
        _, said = self.say(f"/root/byway doctor --to {self.here} --wait 1s {more}")
        self.guest.run(f"{self.inside} sysctl -qw net.sctp.udp_port=0")
        if words not in said:
            raise Failed(f"doctor does not say '{words}': {said[-600:]}")
        return words

    def listen(self, folder: Path):
        command = f"/root/byway listen --unprotected --encapsulation none --beside-kernel-sctp --bind {self.there}"
        process = self.lab.start(self.guest.words(f"{self.inside} timeout 30 {command}"), folder / "listen.out")
        proc = f"{self.inside} grep -q ':0084 ' /proc/net/raw"
        await_true(lambda: self.guest.run(f"{proc} && echo yes", check=False).strip() == "yes", 10, "byway did not listen")
        return process

    def cat(self, file: Path) -> subprocess.CompletedProcess[str]:
        words = [*enter(self.lab.a), "timeout", "30", self.byway, "cat", str(file), "--to", self.there, "--encapsulation", "none"]
        return subprocess.run(words, capture_output=True, text=True, check=False)

    def aborted(self) -> str:
        process = self.listen(self.guest.folder)
        done = self.cat(Path("/dev/null"))
        process.stop()
        self.guest.run("killall byway", check=False)
        if done.returncode != 3 or "the peer aborted" not in done.stderr:
            raise Failed(f"status {done.returncode}: {done.stderr[-300:]}")
        return "as the documents say"

    def file(self) -> Path:
        file = self.guest.folder / "beside"
        file.write_bytes(hashlib.shake_256(b"beside").digest(SIZE))
        return file

    def received(self) -> str:
        file = self.file()
        process = self.listen(self.guest.folder)
        process.out.write_bytes(b"")
        done = self.cat(file)
        status = process.wait(15)
        if done.returncode != 0 or status != 0 or process.out.read_bytes() != file.read_bytes():
            raise Failed(f"status {done.returncode} and {status}: {done.stderr[-300:]}")
        return f"{SIZE} bytes"

    def sent(self) -> str:
        file, out = self.file(), self.guest.folder / "received.out"
        self.guest.put(file, "/tmp/beside")
        words = [self.byway, "listen", "--unprotected", "--encapsulation", "none", "--bind", self.here]
        process = self.lab.start(words, out, self.lab.a)
        await_true(lambda: ":0084 " in run(*enter(self.lab.a), "cat", "/proc/net/raw"), 10, "byway did not listen")
        status, said = self.say(
            f"/root/byway cat /tmp/beside --to {self.here} --encapsulation none --beside-kernel-sctp --bind {self.there}"
        )
        if status != 0 or process.wait(15) != 0 or out.read_bytes() != file.read_bytes():
            raise Failed(f"status {status}: {said[-300:]}")
        return f"{SIZE} bytes"

    def close(self) -> None:
        self.guest.run("killall byway", check=False)
        self.lab.close()
