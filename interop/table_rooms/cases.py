"""What a cell is put through. Each case is one exchange: 43 streams both ways at once (interop/common/exchange.h), over
two paths where the peer can; something happens in the middle of it; sums, ends and packets are compared."""

import math
import shutil
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from . import packets
from .lab import UDP_PORT, Failed, Lab, Process, await_true
from .packets import ABORT, AUTH, DATA, I_DATA, INIT, INIT_ACK, SHUTDOWN_COMPLETE, Packet
from .peers import BYWAY, PEER, Byway, Pion, Program

STREAMS = 43
# Its messages each way, with the last one, and the stream of the four large ones (interop/common/exchange.h). A message of
# WHOLE bytes fits a chunk on each path.
MESSAGES, LARGE, WHOLE = 805, 42, 1000
# So many of them must have left before the end of a large one that was handed over earlier.
OVERTAKEN = 100
# What byway says to a peer whose second fragment has the number 0.
REASON = b"the fragment with FSN 0 is not marked as the first one"
# What must have crossed each way before something happens, and on the other path before a cut ends; of 4.9 MB.
BEGUN, MOVED = 400_000, 200_000
# Seconds of a round trip on these paths whose queues are full both ways: they hold 100 ms each (lab.py).
ROUND_TRIP = 0.2
# How long nothing may arrive at a program when the path dies on which the other one sends. byway moves within three round
# trips, and what was in flight follows in two more, as the window of the other path grows: a second. T3-rtx of RFC 9260
# would take longer. The peers wait for T3-rtx, which takes as long as RTO.max at most (peers.py), and then do the same.
BYWAY_PAUSE = 5 * ROUND_TRIP
PEER_PAUSE = 2 + 5 * ROUND_TRIP
# The same where somebody moves, and nothing is lost by it: both paths work when the data of byway changes from one to the other.
# Its window there is a new one, a round trip behind one of full queues; the third is for a busy machine. It takes 0.2 to 0.25 s, as
# without a move. Where an address or a binding goes with what is in flight, BYWAY_PAUSE counts: T3-rtx is no way there either (0.2 to
# 0.6 s). How a peer moves is its own affair. It may wait for T3-rtx (usrsctp 2.7 s for a new binding or primary path), and twice, if
# what it repeats goes where the first went.
MOVE_PAUSE, PEER_MOVE_PAUSE = 3 * ROUND_TRIP, PEER_PAUSE + 2
# A guest on a busy machine has its processor late.
GUEST_LATE = 0.5
# And from the return of the peer's program to its data: byway finds it within a second, as after an outage of all paths
# (docs/networks.md), and a set-up and the first data take three round trips.
RETURN = 1 + 3 * ROUND_TRIP
SECRET, OTHER_SECRET = "known-to-both-sides", "known-to-the-peer-alone"


class PeersOwn(Failed):
    """A case failed by a fault of the peer that is known and comes at times: one more try is fair."""


@dataclass
class Cell:
    """A peer, how its packets travel, and who connects."""

    peer: str
    udp: bool
    family: int
    client: bool  # byway connects

    def __str__(self) -> str:
        role = "client" if self.client else "server"
        return f"{self.peer} {'UDP' if self.udp else 'raw'} IPv{self.family} {role}"


@dataclass
class Case:
    """One exchange under way."""

    lab: Lab
    cell: Cell
    byway: Program
    peer: Program
    folder: Path
    end: str = "graceful"
    byway_more: list[str] = field(default_factory=list)
    peer_more: list[str] = field(default_factory=list)
    byway_own: list[str] = field(default_factory=list)
    peer_own: list[str] = field(default_factory=list)
    # Where the other side connects to, if not to all of these.
    byway_seen: list[str] = field(default_factory=list)
    peer_seen: list[str] = field(default_factory=list)
    details: str = ""
    capture: Process | None = None
    packets: list[Packet] = field(default_factory=list)
    limit: float = 0

    def __post_init__(self) -> None:
        paths = (1,) if isinstance(self.peer, Pion) else (1, 2)
        self.byway_own = [self.lab.address(BYWAY, p) for p in paths]
        self.peer_own = [self.lab.address(PEER, p) for p in paths]

    # --- both programs

    def connect(self, run: int = 1) -> Process:
        """The side that connects begins, or comes back."""
        if self.cell.client:
            to = self.peer_seen or self.peer_own
            return self.byway.connect(self.out("byway"), self.byway_own, to, run, self.end, self.byway_more)
        to = self.byway_seen or self.byway_own
        return self.peer.connect(self.out("peer"), self.peer_own, to, run, self.end, self.peer_more)

    def accept(self, run: int = 1) -> Process:
        if self.cell.client:
            return self.peer.accepting(self.out("peer"), self.peer_own, run, self.peer_more)
        return self.byway.accepting(self.out("byway"), self.byway_own, run, self.byway_more)

    def out(self, name: str) -> Path:
        return self.folder / f"{name}.out"

    def run(self, middle: Callable[["Case"], None], hold: bool = False) -> None:
        """`hold`: the exchange does not end before `middle` is done, and what it began has had time."""
        self.limit = time.monotonic() + 45
        go_on = self.folder / "go-on"
        if hold:
            self.byway_more += ["--hold", str(go_on)]
        self.server = self.accept()
        self.capture = self.lab.capture(self.folder / "capture.pcapng")
        self.before = self.lab.crossed()
        self.client = self.connect()
        middle(self)
        if hold:
            time.sleep(0.5)
            go_on.touch()
        # A client that failed leaves its server behind.
        for process in (self.client, self.server):
            status = process.wait(self.limit - time.monotonic())
            if status != 0:
                raise Failed(f"status {status}: {process.tail()}")
        self.lab.end_capture(self.capture)
        self.judge()

    def swap(self, who: int, process: Process) -> None:
        """A program came back."""
        if (who == BYWAY) == self.cell.client:
            self.client = process
        else:
            self.server = process

    def of(self, who: int) -> Process:
        return self.client if (who == BYWAY) == self.cell.client else self.server

    # --- what crossed

    def crossed(self, path: int, way: str) -> int:
        return self.lab.crossed()[path, way] - self.before[path, way]

    def await_bytes(self, what: Callable[[dict], bool], problem: str) -> None:
        def there() -> bool:
            now = self.lab.crossed()
            if what({k: now[k] - self.before[k] for k in now}):
                return True
            for process in (self.client, self.server):
                if not process.running():
                    raise Failed(f"{problem}: {process.tail()}")
            return False

        await_true(there, max(self.limit - time.monotonic() - 5, 1), problem, 0.1)

    def begun(self, size: int = BEGUN, ways: tuple[str, ...] = ("rx", "tx")) -> None:
        """Until both directions are under way, or those that byway's cards receive or send."""
        self.await_bytes(lambda n: all(n[1, way] + n[2, way] > size for way in ways), "the exchange did not get going")

    def crosses(self) -> bool:
        """Whether each path needs both links: over IPv4 alone, usrsctp sends to byway's first address from its second
        one, and the other way round."""
        return self.cell.peer == "usrsctp" and not self.cell.udp and self.cell.family == 4

    def in_use(self, way: str) -> int:
        now = self.lab.crossed()
        return max((1, 2), key=lambda p: now[p, way] - self.before[p, way])

    # --- faults that are the peer's

    def fault_of_usrsctp(self) -> str | None:
        """What usrsctp is known to do when addresses change (interop/README.md), if the case failed by that."""
        if self.capture is None:
            return None
        peer = self.of(PEER)
        if peer.popen.poll() in (-signal.SIGSEGV, -signal.SIGABRT):
            return f"usrsctp was ended by signal {-peer.popen.poll()}"
        said = peer.log.read_text(errors="replace").splitlines() + peer.lines()
        if any("primary" in l and "Invalid argument" in l for l in said):
            return self.primary_refused()
        if any("Flight size" in l and "incorrect" in l for l in said):
            return "usrsctp says that it counted wrongly what is in flight"
        if not peer.running():
            return None
        try:
            self.lab.end_capture(self.capture)
            all_packets = packets.read(self.folder / "capture.pcapng", self.cell.udp, self.side(BYWAY) + self.side(PEER))
        except Failed:
            return None
        of_peer = packets.of(all_packets, self.side(PEER))
        answers = [p.time for p in of_peer if packets.ASCONF_ACK in p.chunks]
        data = [p.time for p in of_peer if DATA in p.chunks]
        # It speaks, has data left, and sent none since about the time of its last confirmation. If it waits for an
        # acknowledgement or for room, the fault is byway's.
        left = not any(l.startswith("end ") for l in peer.lines())
        if packets.not_taken(self.folder / "capture.pcapng", self.side(BYWAY), self.side(PEER)) is not None:
            return None
        if answers and data and left and data[-1] < answers[-1] + 1 and of_peer[-1].time > data[-1] + 10:
            return f"usrsctp sent no data for {of_peer[-1].time - data[-1]:.0f} s after its ASCONF-ACK"
        return None

    def primary_refused(self) -> str | None:
        """usrsctp takes an address of byway for its primary once a heartbeat to it was answered. It is its own fault that it
        did not if byway answered each."""
        self.lab.end_capture(self.capture)
        address = self.lab.address(BYWAY, 2)
        answered, others = packets.heartbeats_there(self.folder / "capture.pcapng", self.side(PEER), address)
        if answered == 0 or others > 0:
            return None
        return f"usrsctp could not make {address} its primary, where byway answered each of its {answered} heartbeats"

    # --- the verdict

    def judge(self) -> None:
        own, peer = self.out("byway").read_text().splitlines(), self.out("peer").read_text().splitlines()
        for name, sender, receiver in (("to the peer", own, peer), ("to byway", peer, own)):
            sent = sorted(l.removeprefix("sent ") for l in sender if l.startswith("sent "))
            received = sorted(l.removeprefix("received ") for l in receiver if l.startswith("received "))
            if len(sent) != STREAMS or sent != received:
                missing = [l for l in sent if l not in received][:2]
                raise Failed(f"{name}: {len(sent)} streams sent, {len(received)} received; not equal: {missing}")
        ends = [l for l in (peer if self.cell.client else own) if l.startswith("end ")]
        wanted = "end graceful" if self.end == "graceful" else "end aborted"
        if len(ends) != 1 or not ends[0].startswith(wanted):
            raise Failed(f"the server saw another end: {ends}")
        hosts = self.side(BYWAY) + self.side(PEER)
        self.packets = packets.read(self.folder / "capture.pcapng", None if self.byway.mixed else self.cell.udp, hosts)
        last = [c for p in self.packets[-40:] for c in p.chunks]
        wanted, other = (ABORT, SHUTDOWN_COMPLETE) if self.end == "abort" else (SHUTDOWN_COMPLETE, ABORT)
        if wanted not in last or other in last:
            raise Failed(f"the last chunks are {last[-12:]}, which is no {self.end} end")

    def side(self, who: int) -> list[str]:
        return [self.lab.address(who, p) for p in (1, 2)]

    def last_data(self, who: int) -> tuple[str, str]:
        last = packets.data_of(self.packets, self.side(who))[-1]
        return last.source, last.destination


# --- a path is cut and comes back ---------------------------------------------------------------------------------


def cut(case: Case, who: int) -> None:
    """The card of the path that `who` sends on goes down at its host, so that the other side hears nothing more, and
    comes up again when the other path has carried data both ways. Where there is one path, or each needs both cards, all
    are down for a second."""
    marks: dict[str, float] = {}
    alone = isinstance(case.peer, Pion) or case.crosses()

    def card(path: int, up: bool) -> None:
        # pion never sends again after an error of its socket: its path is cut at the switch.
        if who == PEER and isinstance(case.peer, Pion):
            case.lab.switch(path, up)
        else:
            case.lab.card(who, path, up)

    def middle(case: Case) -> None:
        case.begun()
        path = case.in_use("tx" if who == BYWAY else "rx")
        other = 3 - path
        cards = (1, 2) if alone else (path,)
        at = case.lab.crossed()
        for c in cards:
            card(c, False)
        marks.update(path=path, down=time.time())
        if alone:
            time.sleep(1)
        else:
            case.await_bytes(
                lambda n: all(n[other, way] > at[other, way] - case.before[other, way] + MOVED for way in ("rx", "tx")),
                f"path {other} did not take over",
            )
        for c in cards:
            card(c, True)
        marks["up"] = time.time()
        # Both sides are to find that out before the exchange ends: a heartbeat and its answer at least.
        at = case.lab.crossed()
        case.await_bytes(
            lambda n: all(n[path, way] > at[path, way] - case.before[path, way] + 300 for way in ("rx", "tx")),
            f"path {path} was not used any more",
        )

    case.run(middle, hold=True)
    path, up = int(marks["path"]), marks["up"]
    seen = [p for p in case.packets if p.time > up and (alone or p.path == path)]
    which = "all paths" if alone else f"path {path}"
    # Without another path, the messages that were held must have come this way.
    came = came_back(seen, case.side(BYWAY), case.side(PEER), needs_data=alone)
    case.details = f"{which} down for {up - marks['down']:.1f} s, then there: {came}"
    if not alone:
        case.details += f"; {pauses_of(case, short_pauses, who)}"


def pause(lines: list[str]) -> float:
    """The longest time in which nothing arrived at a program, by its own word; seconds."""
    said = [l.removeprefix("pause ") for l in lines if l.startswith("pause ")]
    if len(said) != 1 or not said[0].isdigit():
        raise Failed(f"the program's word of its longest pause is {said}")
    return int(said[0]) / 1000


def pauses_within(byway: list[str], peer: list[str], most_here: float, most_there: float) -> str:
    """How long nothing arrived at byway, and at the peer, which tells of byway's sending."""
    here, there = pause(byway), pause(peer)
    for name, by, at, bound in (("byway", "the peer", here, most_here), ("the peer", "byway", there, most_there)):
        if at > bound:
            raise Failed(f"nothing of {by} arrived at {name} for {at * 1000:.0f} ms, at most {bound * 1000:.0f}")
    return f"nothing arrived for {here * 1000:.0f} ms here, {there * 1000:.0f} ms there"


def short_pauses(byway: list[str], peer: list[str], who: int, late: float = 0) -> str:
    """Of an exchange on whose way a path died, on which `who` sent. `late`: what is allowed besides."""
    if who == PEER:
        return pauses_within(byway, peer, PEER_PAUSE + late, math.inf)
    return pauses_within(byway, peer, math.inf, BYWAY_PAUSE + late)


def both_pauses(byway: list[str], peer: list[str], most: float, late: float = 0) -> str:
    """Of an exchange in which somebody moved. `most`: of what byway sends."""
    return pauses_within(byway, peer, PEER_MOVE_PAUSE + late, most + late)


def pauses_of(case: Case, check: Callable[..., str], of: float) -> str:
    """One of the two above, of what the programs of a case said. `of`: its third value."""
    own, peer = (case.out(name).read_text().splitlines() for name in ("byway", "peer"))
    return check(own, peer, of, GUEST_LATE if case.cell.peer == "linux" else 0)


def moved_shortly(case: Case, most: float) -> None:
    case.details += f"; {pauses_of(case, both_pauses, most)}"


def returned(seen: list[Packet], peer: list[str], back: float, connects: bool) -> float:
    """Seconds from the return of the peer's program to its first data: what was on its way of the one that died is older
    than the set-up of the new association. `back`: it was started, or listens. One that connects is there when its INIT is:
    the guest may be slow to start it."""
    begun = [p.time for p in of_set_up(seen, peer) if p.time >= back]
    data = [p.time for p in packets.data_of(seen, peer) if begun and p.time > begun[0]]
    if not data:
        raise Failed("no data of the peer's new program was seen")
    took = data[0] - (begun[0] if connects else back)
    if took > RETURN:
        raise Failed(f"data of the peer came {took:.2f} s after its program was back, at most {RETURN:.2f}")
    return took


def of_set_up(seen: list[Packet], sources: list[str]) -> list[Packet]:
    return [p for p in packets.of(seen, sources) if INIT in p.chunks or INIT_ACK in p.chunks]


def came_back(seen: list[Packet], byway: list[str], peer: list[str], needs_data: bool) -> str:
    """What each side did on a path after it came back: data again, or at least a heartbeat that was answered there."""
    did = []
    for name, own, other in (("byway", byway, peer), ("the peer", peer, byway)):
        if packets.data_of(seen, own):
            did.append(f"data of {name}")
        elif not needs_data and packets.heartbeat_answered(seen, own, other):
            did.append(f"heartbeats of {name}, answered")
        else:
            or_heartbeats = "" if needs_data else ", and none of its heartbeats was answered there"
            raise Failed(f"after the path came back, no data of {name} crossed it{or_heartbeats}")
    return " and ".join(did)


def graceful(case: Case) -> None:
    cut(case, BYWAY)


def aborted(case: Case) -> None:
    """With DATA that the peer wants authenticated by a shared key (RFC 4895)."""
    case.end = "abort"
    if not isinstance(case.peer, Pion):
        case.byway_more += ["--auth-key", SECRET]
        case.peer_more += ["--auth-key", SECRET]
    cut(case, PEER)
    if isinstance(case.peer, Pion):
        return
    bare_data(case)


# --- a program is killed and comes back on the same ports ---------------------------------------------------------------


def back(case: Case, who: int) -> None:
    """Where the side that connects comes back, its INIT restarts the association (RFC 9260 section 5.2.2). Where the
    other one does, it answers what it does not know with ABORT, and the side that connects begins again."""
    client_dies = (who == BYWAY) == case.cell.client
    survivor = PEER if who == BYWAY else BYWAY
    more = case.byway_more if survivor == BYWAY else case.peer_more
    more += case.peer.again if survivor == PEER else case.byway.again
    begun = BEGUN
    if case.cell.peer == "linux" and survivor == PEER and client_dies:
        # The kernel takes the rest of a message that is half sent into the new association, before the COOKIE ACK. byway
        # discards that (RFC 9260 section 6), and at times the kernel never sends it again. So nothing waits in the kernel
        # when the association restarts: it sends slowly, and after the large messages.
        more += ["--every", "8"]
        begun = 1_700_000
    if case.cell.peer == "usrsctp" and survivor == PEER and client_dies:
        # A program that waits for room while the association restarts waits for ever: let there be room for all.
        more += ["--buffer", "16000000"]
    # pion acknowledges late while it sends much, and has sent all before byway gets going. It learns that byway is gone
    # only while it has something in flight.
    ways = ("rx",) if isinstance(case.peer, Pion) and survivor == PEER else ("rx", "tx")

    marks: dict[str, float] = {}

    def middle(case: Case) -> None:
        case.begun(begun, ways)
        # Neither the host of the dead program says so, nor does a kernel that ends its associations itself.
        case.lab.rule("mute", True)
        if client_dies:
            case.lab.rule("no_abort", who == PEER)
        else:
            case.lab.rule("deaf", True)
        case.of(who).kill()
        case.out("byway" if who == BYWAY else "peer").write_text("")
        if client_dies:
            marks["back"] = time.time()
            case.swap(who, case.connect(run=2))
        else:
            case.swap(who, case.accept(run=2))
            marks["back"] = time.time()
            case.lab.rule("deaf", False)

    case.run(middle)
    said = [l for l in case.out("peer" if who == BYWAY else "byway").read_text().splitlines() if " " not in l]
    # pion takes an INIT in an association for an error, and ends it.
    wanted = "restarted" if client_dies and not (survivor == PEER and isinstance(case.peer, Pion)) else "lost"
    if said != [wanted]:
        raise Failed(f"the side that stayed says {said}, not {wanted}")
    case.details = f"the side that stayed: {wanted}"
    if who == PEER:
        took = returned(case.packets, case.side(PEER), marks["back"], client_dies)
        case.details += f"; data of the peer {took * 1000:.0f} ms after it was back"
    if client_dies:
        inits = packets.count(packets.of(case.packets, case.side(who)), INIT)
        if inits < 2:
            raise Failed(f"{inits} INITs of the side that came back")


def peer_back(case: Case) -> None:
    back(case, PEER)


def byway_back(case: Case) -> None:
    back(case, BYWAY)


# --- addresses come and go (RFC 5061) -------------------------------------------------------------------------------------


def changes(case: Case, least: int) -> None:
    """Counts the changes, and where the last data went."""
    asked, answered = packets.count(case.packets, packets.ASCONF), packets.count(case.packets, packets.ASCONF_ACK)
    if asked < least or answered < least:
        raise Failed(f"{asked} ASCONF and {answered} ASCONF-ACK, not {least}")
    case.details = f"{asked} ASCONF, {answered} ASCONF-ACK"


def ends_at(case: Case, who: int, source: str | None, destination: str) -> None:
    last = case.last_data(who)
    if last[1] != destination or (source is not None and last[0] != source):
        name = "byway" if who == BYWAY else "the peer"
        raise Failed(f"the last data of {name} went {last[0]} to {last[1]}, not {source or 'any'} to {destination}")


def wildcard(family: int) -> str:
    return "::" if family == 6 else "0.0.0.0"


def byway_moves(case: Case, translated: bool = False) -> None:
    """A laptop: a new network comes to byway's host, and then the old one goes. byway follows its host."""
    lab = case.lab
    if translated:
        lab.translate()
    lab.own_address(BYWAY, 2, "del")
    case.byway_own = [wildcard(case.cell.family)]
    case.byway_seen = [lab.address(BYWAY, 1)]
    if case.cell.peer == "usrsctp":
        # What is in flight to an address that is deleted is not sent again: let nothing be.
        case.byway_more += ["--prefer", lab.inside(2) if translated else lab.address(BYWAY, 2)]

    def middle(case: Case) -> None:
        case.begun()
        lab.own_address(BYWAY, 2, "add")
        time.sleep(0.8)
        lab.own_address(BYWAY, 1, "del")
        time.sleep(0.5)

    case.run(middle, hold=True)
    changes(case, 2)
    moved_shortly(case, BYWAY_PAUSE)
    ends_at(case, BYWAY, lab.address(BYWAY, 2), lab.address(PEER, 2))
    ends_at(case, PEER, lab.address(PEER, 2), lab.address(BYWAY, 2))


def byway_moves_unnamed(case: Case) -> None:
    """The same, and byway names none of its addresses: an addition and a deletion have the wildcard, and the peer takes the
    source of the packet (RFC 5061 sections 4.2.1, 4.2.2). Where byway connects in UDP, from one translator to another."""
    case.byway_more += ["--wildcard", "always"]
    byway_moves(case, case.cell.udp and case.cell.client)
    named = packets.wildcards(case.folder / "capture.pcapng", case.side(BYWAY))
    if not named.added or not named.deleted:
        raise Failed(f"byway: {named}; one of each is wanted")
    case.details += f", of byway {named}"


# --- byway's host is behind translators (NAT) ---------------------------------------------------------------------


def set_up_once(case: Case) -> None:
    """There is one association from the beginning to the end: no INIT after its first DATA, and no side says that it was
    lost, or restarted."""
    first = packets.data_of(case.packets, case.side(BYWAY) + case.side(PEER))[0].time
    if late := [p for p in case.packets if INIT in p.chunks and p.time > first]:
        raise Failed(f"{len(late)} INITs after the first DATA")
    for name in ("byway", "peer"):
        if said := [l for l in case.out(name).read_text().splitlines() if l in ("lost", "restarted")]:
            raise Failed(f"{name} says {said}")


def translated(case: Case) -> None:
    """One uplink. In the middle the translator forgets the binding, so that byway has another UDP port, and nobody says so:
    the peer must follow (RFC 6951 section 5.4)."""
    lab = case.lab
    lab.translate()
    case.byway_own, case.peer_own = [lab.inside(1)], [lab.address(PEER, 1)]
    follows = not isinstance(case.peer, Pion)

    def middle(case: Case) -> None:
        case.begun()
        if not follows:
            return
        at = lab.crossed()
        lab.forget_bindings()
        case.await_bytes(
            lambda n: all(n[1, way] > at[1, way] - case.before[1, way] + MOVED for way in ("rx", "tx")),
            "nothing crossed by the new binding",
        )

    case.run(middle, hold=True)
    set_up_once(case)
    ports = list(dict.fromkeys(p.ports[0] for p in packets.data_of(case.packets, case.side(BYWAY))))
    to = list(dict.fromkeys(p.ports[1] for p in packets.data_of(case.packets, case.side(PEER))))
    if ports != to or len(ports) != (2 if follows else 1) or UDP_PORT in ports:
        raise Failed(f"DATA of byway from the ports {ports}, and of the peer to {to}")
    case.details = f"DATA from the ports {' and '.join(map(str, ports))}, and to them"
    if follows:
        # The acknowledgements that went to the old binding are lost.
        moved_shortly(case, BYWAY_PAUSE)


def two_uplinks(case: Case) -> None:
    """Two uplinks, each behind a translator. The peer knows the source of the second one by no list, and says so
    by an ABORT with the T bit (RFC 9260 section 8.4); that is no end of the association. Then byway tells it of the source
    (RFC 5061 section 4.2.1), and sends no DATA from there before the answer. The first uplink dies, and the second one carries
    the rest."""
    lab = case.lab
    lab.translate()
    case.byway_own = [lab.inside(p) for p in (1, 2)]

    def middle(case: Case) -> None:
        case.begun()
        time.sleep(2)
        path = case.in_use("tx")
        at = case.lab.crossed()
        case.lab.card(BYWAY, path, False)
        case.await_bytes(
            lambda n: all(n[3 - path, way] > at[3 - path, way] - case.before[3 - path, way] + MOVED for way in ("rx", "tx")),
            f"path {3 - path} did not take over",
        )

    case.run(middle, hold=True)
    set_up_once(case)
    case.details = told_of_source(case.packets, case.side(BYWAY), case.side(PEER))
    moved_shortly(case, BYWAY_PAUSE)


def told_of_source(seen: list[Packet], byway: list[str], peer: list[str]) -> str:
    """The peer denied a source of byway, and was told of it then. Between, byway sent no DATA from there."""
    denials = [p for p in packets.of(seen, peer) if packets.ABORT_OF_STRANGER in p.chunks]
    if not denials:
        raise Failed("the peer sent no ABORT with the T bit, so nothing is shown")
    source, denied = denials[0].destination, denials[0].time
    answers = [p.time for p in packets.of(seen, peer) if packets.ASCONF_ACK in p.chunks and p.destination == source]
    if not answers:
        raise Failed(f"{len(denials)} ABORTs with the T bit, and no ASCONF-ACK to {source}")
    data = [p.time for p in packets.data_of(seen, byway) if p.source == source]
    # What was on its way when the ABORT came.
    if early := [t for t in data if denied + ROUND_TRIP < t < answers[0]]:
        raise Failed(f"{len(early)} packets with DATA from {source}, which the peer had denied and not been told of")
    if not data:
        raise Failed(f"no DATA from {source}")
    return f"{len(denials)} ABORTs with the T bit, the peer knew {source} {answers[0] - denied:.2f} s later, then {len(data)} packets with DATA from there"


def late(case: Case) -> float:
    """Seconds by which the steps of the peer's own clock may come late: it runs in a guest, on a busy machine."""
    return 2 if case.cell.peer == "linux" else 0


def peer_moves(case: Case) -> None:
    """The peer binds one address, then the other; asks for data there, sends to byway's second address, and unbinds its
    first one."""
    lab = case.lab
    case.peer_own = [lab.address(PEER, 1)]
    second, byways = lab.address(PEER, 2), lab.address(BYWAY, 2)
    for change in (f"500:add:{second}", f"1200:prefer:{second}", f"1500:primary:{byways}", f"2200:rem:{case.peer_own[0]}"):
        case.peer_more += ["--at", change]
    if case.cell.peer == "usrsctp":
        # An ASCONF of usrsctp leaves behind the data that waits: let none wait.
        case.peer_more += ["--every", "8"]
    case.run(lambda case: time.sleep(2.5 + late(case)), hold=True)
    changes(case, 3)
    moved_shortly(case, MOVE_PAUSE)
    ends_at(case, BYWAY, byways, second)
    ends_at(case, PEER, second, byways)


def asks(case: Case) -> None:
    """Each side asks the other one to send to its second address."""
    lab = case.lab
    case.byway_more += ["--prefer", lab.address(BYWAY, 2)]
    case.peer_more += ["--at", f"800:prefer:{lab.address(PEER, 2)}"]
    case.run(lambda case: time.sleep(1.5 + late(case)), hold=True)
    changes(case, 2)
    moved_shortly(case, MOVE_PAUSE)
    ends_at(case, BYWAY, None, lab.address(PEER, 2))
    ends_at(case, PEER, None, lab.address(BYWAY, 2))


def keys(case: Case) -> None:
    """A shared key (RFC 4895): DATA of byway and changes of addresses both ways, all with the key's identifier. Before, the
    same with unlike secrets: the peer takes no DATA of byway, and neither side the other's changes."""
    lab = case.lab
    unlike = Case(lab, case.cell, Byway(lab), type(case.peer)(lab), case.folder / "unlike")
    unlike.folder.mkdir()
    for one, secret in ((unlike, OTHER_SECRET), (case, SECRET)):
        one.byway_more += ["--auth-key", SECRET, "--prefer", lab.address(BYWAY, 2)]
        one.peer_more += ["--auth-key", secret, "--at", f"800:prefer:{lab.address(PEER, 2)}"]
    refused(unlike)
    lab.restore()
    case.run(lambda case: time.sleep(1.5 + late(case)), hold=True)
    changes(case, 2)
    bare_data(case)
    ids = packets.key_identifiers(case.folder / "capture.pcapng", case.side(BYWAY), case.side(PEER))
    if ids != ({1}, {1}):
        raise Failed(f"the key identifiers of byway and of the peer are {ids}, not 1")
    case.details += f"; unlike secrets: {unlike.details}"


def refused(case: Case) -> None:
    """An exchange that does not get going: the sides have unlike secrets."""
    server = case.accept()
    capture = case.lab.capture(case.folder / "capture.pcapng")
    client = case.connect()
    time.sleep(3 + late(case))
    ended = [p.tail() for p in (client, server) if not p.running()]
    case.lab.end_capture(capture)
    if ended:
        raise Failed(f"with unlike secrets a program ended: {ended}")
    seen = packets.read(case.folder / "capture.pcapng", case.cell.udp, case.side(BYWAY) + case.side(PEER))
    of_byway, of_peer = packets.of(seen, case.side(BYWAY)), packets.of(seen, case.side(PEER))
    data, asked = len(packets.data_of(seen, case.side(BYWAY))), (packets.count(of_byway, packets.ASCONF), packets.count(of_peer, packets.ASCONF))
    # A SACK of the peer would be of DATA that it took.
    taken = packets.count(of_peer, packets.SACK), packets.count(seen, packets.ASCONF_ACK)
    if data < 3 or min(asked) < 1:
        raise Failed(f"with unlike secrets {data} packets with DATA and {asked} ASCONF, so nothing is shown")
    if taken != (0, 0):
        raise Failed(f"with unlike secrets the peer sent {taken[0]} SACK, and {taken[1]} ASCONF-ACK were sent")
    case.details = f"none of {data} packets with DATA and {sum(asked)} ASCONF was taken"


def bare_data(case: Case) -> None:
    """All DATA of byway is behind AUTH."""
    of_byway = packets.data_of(case.packets, case.side(BYWAY))
    bare = [p for p in of_byway if AUTH not in p.chunks or p.chunks.index(AUTH) > p.chunks.index(DATA)]
    if bare:
        raise Failed(f"{len(bare)} of {len(of_byway)} packets with DATA of byway have no AUTH before it")
    case.details += f"; {len(of_byway)} packets with DATA of byway, all behind AUTH"


def host_moves(case: Case) -> None:
    """net.sctp.default_auto_asconf: the kernel follows the addresses of its host."""
    lab = case.lab
    lab.own_address(PEER, 2, "del")
    case.peer_own, case.peer_seen = [wildcard(case.cell.family)], [lab.address(PEER, 1)]

    def middle(case: Case) -> None:
        case.begun()
        lab.own_address(PEER, 2, "add")
        time.sleep(1)
        lab.own_address(PEER, 1, "del")
        time.sleep(1)

    case.run(middle, hold=True)
    changes(case, 2)
    moved_shortly(case, BYWAY_PAUSE)
    ends_at(case, BYWAY, None, lab.address(PEER, 2))
    ends_at(case, PEER, lab.address(PEER, 2), lab.address(BYWAY, 2))


def without_changes(case: Case) -> None:
    """The peer offers no changes of addresses: another network of byway's host comes and goes, and nobody speaks of it."""
    lab = case.lab
    lab.own_address(BYWAY, 2, "del")
    case.byway_own, case.byway_seen = [wildcard(case.cell.family)], [lab.address(BYWAY, 1)]
    if case.cell.peer == "usrsctp":
        case.peer_more += ["--asconf", "0"]
    else:
        lab.guest.offers_changes(lab, False)

    def middle(case: Case) -> None:
        case.begun()
        lab.own_address(BYWAY, 2, "add")
        time.sleep(0.7)
        lab.own_address(BYWAY, 2, "del")

    try:
        case.run(middle, hold=True)
    finally:
        if lab.guest is not None:
            lab.guest.offers_changes(lab, True)
    spoken = packets.count(case.packets, packets.ASCONF) + packets.count(case.packets, packets.ASCONF_ACK)
    if spoken:
        raise Failed(f"{spoken} ASCONF and ASCONF-ACK, though the peer has none")
    ends_at(case, BYWAY, lab.address(BYWAY, 1), lab.address(PEER, 1))
    ends_at(case, PEER, None, lab.address(BYWAY, 1))
    case.details = "no ASCONF"


def mixed(case: Case) -> None:
    """Path 1 in UDP, path 2 without, in one association; the path that byway sends on is cut and comes back."""
    case.byway.mixed = True
    cut(case, BYWAY)
    counts = {(p, udp): 0 for p in (1, 2) for udp in (True, False)}
    for packet in case.packets:
        counts[packet.path, packet.in_udp] += 1
    if counts[1, False] or counts[2, False] < max(200, counts[2, True]):
        raise Failed(f"packets by path and whether in UDP: {counts}")
    case.details += f", path 2: {counts[2, False]} packets without UDP, {counts[2, True]} in it"


# --- messages interleave (RFC 8260) -------------------------------------------------------------------------------


def interleaves(case: Case) -> None:
    """Both sides send I-DATA in place of DATA, and large messages do not hold up those of other streams."""
    case.byway_more += ["--interleave", "yes"]
    if case.cell.peer == "linux":
        interleaves_with_linux(case)
        return
    case.peer_more += ["--interleave", "1"]
    case.run(lambda c: c.begun())
    case.details = only_i_data(case, fragments=True)


def interleaves_with_linux(case: Case) -> None:
    """Linux numbers the second fragment of a message 0, and not 1 (`sctp_chunk_assign_mid`), so only messages of one chunk
    have a way. Over IPv4, before: the kernel does not offer I-DATA, and all is DATA; and with fragments byway ends the
    association."""
    lab, whole, before = case.lab, ["--longest", str(WHOLE)], ""
    if case.cell.family == 4:
        before = f"; not offered: {not_offered(before_it(case, 'off', whole, whole))}"
    lab.guest.interleaves(lab, True)
    try:
        if case.cell.family == 4:
            before += f"; fragments: {cannot_be_put_together(before_it(case, 'fragments', [], ['--interleave', '1']))}"
        case.byway_more += whole
        case.peer_more += [*whole, "--interleave", "1"]
        case.run(lambda c: None)
    finally:
        lab.guest.interleaves(lab, False)
    case.details = only_i_data(case, fragments=False) + before


def before_it(case: Case, name: str, byway_more: list[str], peer_more: list[str]) -> Case:
    """Another exchange of the same two, in a folder of its own."""
    before = Case(case.lab, case.cell, Byway(case.lab), type(case.peer)(case.lab), case.folder / name)
    before.folder.mkdir()
    before.byway_more, before.peer_more = [*case.byway_more, *byway_more], peer_more
    return before


def not_offered(case: Case) -> str:
    case.run(lambda c: None)
    seen = packets.count(case.packets, DATA), packets.count(case.packets, I_DATA)
    if seen[0] < 2 * MESSAGES or seen[1]:
        raise Failed(f"the kernel does not offer I-DATA, and there are {seen[0]} DATA and {seen[1]} I-DATA chunks")
    return f"{seen[0]} DATA chunks"


def only_i_data(case: Case, fragments: bool) -> str:
    """The exchange had I-DATA both ways, and no DATA."""
    said = []
    for name, who in (("byway", BYWAY), ("the peer", PEER)):
        all_pieces = packets.pieces(case.folder / "capture.pcapng", case.side(who))
        said.append(interleaved(name, packets.of(case.packets, case.side(who)), all_pieces, fragments))
    return "; ".join(said)


def interleaved(name: str, own: list[Packet], all_pieces: list[packets.Piece], fragments: bool) -> str:
    """Of one side. With fragments: they are numbered from 0, and messages of other streams have overtaken large ones."""
    wrong, right = packets.count(own, DATA), packets.count(own, I_DATA)
    if wrong or right < MESSAGES:
        raise Failed(f"{name} sent {wrong} DATA chunks and {right} I-DATA chunks")
    if not fragments:
        whole = sum(p.begin and p.end for p in all_pieces)
        if len(all_pieces) != MESSAGES or whole != MESSAGES:
            raise Failed(f"{name} sent {len(all_pieces)} pieces, {whole} of them whole messages, not {MESSAGES}")
        return f"{right} I-DATA chunks of {name}"
    if bad := packets.misnumbered(all_pieces):
        raise Failed(f"{name}: {len(bad)} fragments are misnumbered, first: {bad[0]}")
    before = packets.overtaken(all_pieces, LARGE)
    if before < OVERTAKEN:
        raise Failed(f"{name}: {before} messages left before a large one that was there first, not {OVERTAKEN}")
    return f"{right} I-DATA chunks of {name}, {before} messages before a large one that was there first"


def cannot_be_put_together(case: Case) -> str:
    """The second fragment of Linux has the number 0: byway ends the association. When that is no longer so, the cells of Linux
    can have fragments as those of usrsctp have."""
    case.server = case.accept()
    capture = case.lab.capture(case.folder / "capture.pcapng")
    case.client = case.connect()
    byway = case.of(BYWAY)
    await_true(lambda: not byway.running(), 5 + late(case), "byway takes the fragments of Linux")
    case.lab.end_capture(capture)
    case.of(PEER).stop()
    seen = packets.read(case.folder / "capture.pcapng", case.cell.udp, case.side(BYWAY) + case.side(PEER))
    if byway.popen.returncode == 0 or ABORT not in [c for p in packets.of(seen, case.side(BYWAY)) for c in p.chunks]:
        raise Failed(f"status {byway.popen.returncode}, and no ABORT of byway: {byway.tail()}")
    if REASON not in (case.folder / "capture.pcapng").read_bytes():
        raise Failed(f"the ABORT of byway does not say '{REASON.decode()}'")
    if count := packets.count(seen, DATA):
        raise Failed(f"{count} DATA chunks")
    all_pieces = packets.pieces(case.folder / "capture.pcapng", case.side(PEER))
    if not numbered_as_linux_does(all_pieces):
        raise Failed(f"byway ended the association, and Linux numbers as RFC 8260 has it: {byway.tail()}")
    if bad := packets.misnumbered(packets.pieces(case.folder / "capture.pcapng", case.side(BYWAY))):
        raise Failed(f"byway: {len(bad)} fragments are misnumbered, first: {bad[0]}")
    return "the second one of Linux has the number 0, and byway ends the association"


def numbered_as_linux_does(all_pieces: list[packets.Piece]) -> bool:
    """Whether all second fragments of messages have the number 0."""
    second = {}
    for one, two in zip(all_pieces, all_pieces[1:]):
        if one.begin and not one.end and one.message == two.message:
            second[one.message] = two.fsn
    return bool(second) and set(second.values()) == {0}


# In the order of the table's columns.
ALL: dict[str, tuple[str, Callable[[Case], None]]] = {
    "cut here": ("byway's path is cut and comes back, graceful end", graceful),
    "cut there": ("the peer's path is cut and comes back, AUTH, abort", aborted),
    "mixed": ("path 1 in UDP, path 2 without, a path is cut and comes back", mixed),
    "peer back": ("the peer is killed and comes back", peer_back),
    "byway back": ("byway is killed and comes back", byway_back),
    "byway moves": ("byway's host changes its network", byway_moves),
    "wildcard": ("the same, byway's changes name the wildcard address", byway_moves_unnamed),
    "NAT": ("byway is behind a translator, which forgets the binding", translated),
    "two NATs": ("byway has two uplinks, each behind a translator", two_uplinks),
    "peer moves": ("the peer changes its address", peer_moves),
    "asks": ("each side asks for data at its second address", asks),
    "keys": ("a shared key, and unlike secrets", keys),
    "host moves": ("the peer's host changes its network", host_moves),
    "no ASCONF": ("the peer has none, byway's host gets a network and loses it", without_changes),
    "interleaved": ("messages of different streams interleave (I-DATA)", interleaves),
}
ADDRESSES = ("byway moves", "wildcard", "peer moves", "asks", "keys", "host moves", "no ASCONF")


def perform(name: str, lab: Lab, cell: Cell, peers: type[Program], folder: Path, keep: bool) -> str:
    """Returns what was seen; raises Failed."""
    folder.mkdir(parents=True, exist_ok=True)
    case = Case(lab, cell, Byway(lab), peers(lab), folder)
    if isinstance(case.peer, Pion):
        case.byway.client_port = case.byway.server_port = Pion.port
        # The other cell has byway's defaults: pion answers the third INIT.
        if cell.client and cell.family == 6:
            case.byway_more += ["--plain", "yes"]
    try:
        ALL[name][1](case)
    except Failed as problem:
        why = case.fault_of_usrsctp() if cell.peer == "usrsctp" and name in ADDRESSES else None
        raise PeersOwn(f"{why}; {problem}") if why else problem
    finally:
        lab.restore()
    if not keep:
        shutil.rmtree(folder, ignore_errors=True)
    return f"{case.details}, {len(case.packets)} packets dissect clean"

