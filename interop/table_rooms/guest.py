"""The Linux guest, whose kernel has SCTP: booted once, with a network namespace for each cell."""

import os
import shutil
import subprocess
from pathlib import Path

from .lab import HOST, RATE, UDP_PORT, Failed, Lab, Process, run

HERE = Path(__file__).resolve().parent.parent / "linux-peer"

# A switch for each path between the guest's card and its namespaces.
SWITCHES = """
for i in 1 2; do
    ip link add br$i type bridge forward_delay 0 mcast_snooping 0
    ip addr flush dev path$i
    ip link set path$i master br$i
    ip link set br$i up
done
echo 65536 >/proc/sys/net/core/rmem_max 2>/dev/null
true
"""


class Guest:
    def __init__(self, folder: Path) -> None:
        self.name = os.environ.get("INTEROP_GUEST") or f"table{os.getpid()}"
        self.switch = f"{self.name}-vm"
        self.folder = folder
        self.ours = "INTEROP_GUEST" not in os.environ

    def boot(self) -> str | None:
        """Builds and boots it, if it is not there; why not, if it cannot be."""
        if self.ours:
            for step in (["build"], ["boot", "-n", self.name]):
                done = subprocess.run([str(HERE / step[0]), *step[1:]], capture_output=True, text=True, check=False)
                if done.returncode != 0:
                    return f"{step[0]}: {' '.join(done.stderr.strip().splitlines()[-2:])}"
        return None

    def prepare(self, peer: Path) -> None:
        self.put(peer, "/root/exchange-peer")
        self.run(SWITCHES)

    def stop(self) -> None:
        if self.ours:
            subprocess.run([str(HERE / "stop"), "-n", self.name], capture_output=True, check=False)

    def words(self, command: str, limit: int | None = None) -> list[str]:
        limited = [] if limit is None else ["-t", str(limit)]
        return [str(HERE / "guest"), "-n", self.name, *limited, command]

    def run(self, command: str, check: bool = True) -> str:
        return run(*self.words(command, 30), check=check)

    def put(self, local: Path, remote: str) -> None:
        run(str(HERE / "guest"), "-n", self.name, "-p", str(local), remote)

    # --- one cell's host in the guest

    def host(self, lab: Lab) -> None:
        ns = f"c{lab.number}"
        lines = [f"ip netns add {ns}", f"ip -n {ns} link set lo up", f"nsenter --net=/run/netns/{ns} sh -c '{HOST}'"]
        for i in (1, 2):
            lines += [
                f"ip link add c{lab.number}p{i} type veth peer name path{i} netns {ns}",
                f"ip link set c{lab.number}p{i} master br{i} up",
                f"ip -n {ns} addr add {lab.address(2, i, 4)}/24 dev path{i}",
                f"ip -n {ns} -6 addr add {lab.address(2, i, 6)}/64 dev path{i} nodad",
                f"ip -n {ns} link set path{i} up",
                f"nsenter --net=/run/netns/{ns} ethtool -K path{i} gso off tso off gro off tx-sctp-segmentation off >/dev/null",
                f"nsenter --net=/run/netns/{ns} tc qdisc replace dev path{i} root tbf rate {RATE} burst 16k latency 100ms",
            ]
        port = UDP_PORT if lab.udp else 0
        lines.append(
            f"nsenter --net=/run/netns/{ns} sysctl -qw net.sctp.udp_port={port} net.sctp.encap_port={port}"
            " net.sctp.addip_enable=1 net.sctp.auth_enable=1 net.sctp.default_auto_asconf=1"
        )
        self.run("set -e\n" + "\n".join(lines))

    def ip(self, lab: Lab, *words: str) -> None:
        self.run(f"ip -n c{lab.number} {' '.join(words)}")

    def offers_changes(self, lab: Lab, yes: bool) -> None:
        """Whether the kernel offers changes of addresses (RFC 5061)."""
        self.run(f"nsenter --net=/run/netns/c{lab.number} sysctl -qw net.sctp.addip_enable={int(yes)}")

    def interleaves(self, lab: Lab, yes: bool) -> None:
        """Whether a program may have the kernel offer I-DATA (RFC 8260)."""
        self.run(f"nsenter --net=/run/netns/c{lab.number} sysctl -qw net.sctp.intl_enable={int(yes)}")

    def forget(self, lab: Lab) -> None:
        self.run(f"ip netns del c{lab.number}", check=False)

    def start(self, lab: Lab, words: list[str], out: Path) -> Process:
        """A program in the cell's namespace. Its process id is in a file, so that it can be killed there."""
        pid = f"/tmp/c{lab.number}.{out.stem}.pid"
        command = f"echo $$ >{pid}; exec nsenter --net=/run/netns/c{lab.number} -- {' '.join(words)}"
        return lab.start(self.words(command), out, kill=lambda: self.run(f"kill -KILL $(cat {pid})", check=False))

    def listens(self, lab: Lab, port: int) -> bool:
        return bool(self.run(f"nsenter --net=/run/netns/c{lab.number} grep -w {port} /proc/net/sctp/eps", check=False))


def usable() -> str | None:
    """Why there can be no guest here."""
    if not os.path.exists("/dev/net/tun"):
        return "no /dev/net/tun"
    if shutil.which("gcc") is None:
        return "no gcc"
    return None


__all__ = ["Guest", "Failed", "usable"]
