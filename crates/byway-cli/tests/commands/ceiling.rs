//! The ceiling of memory (`--max-memory`) of a running command: strangers reach it, and a good peer is served beside
//! them.

use crate::open_metrics::scrape_anew;
use crate::peers::{self, Server, contents, folder, signal, text, wait_until};
use crate::raw::{Raw, init_fields};
use crate::spoken::{Speaker, bounded, runtime};
use byway_wire::{Data, InitFields, Tsn, cause_code};
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

const CEILING: [&str; 2] = ["--max-memory", "4 MiB"];
const BYTES: f64 = (4 << 20) as f64;

/// What is kept, as a part of the ceiling, after each of five hosts has had its turn. The first four fill it up to
/// where others have no more than their share; with what the fifth and a last one take it is more than fifteen
/// sixteenths, where the one that holds most is let go: the first one.
const HOARDS: [f64; 5] = [0.24, 0.46, 0.68, 0.85, 0.91];

/// A message in a stream whose first one never comes.
fn waiting(tsn: Tsn) -> Data<'static> {
    Data {
        tsn,
        stream_id: 0,
        // Never 0, which would be the next one.
        ssn: tsn.0 as u16,
        ppid: 0,
        unordered: false,
        begin: true,
        end: true,
        immediate: true,
        payload: &[7; 1000],
    }
}

/// A packet of them, in order: they are acknowledged, and kept. It takes 16,000 to 25,000 bytes.
fn hoard(raw: &mut Raw) {
    let tsns: Vec<Tsn> = (0..16).map(|_| raw.next_tsn()).collect();
    let each = |tsn: &Tsn| waiting(*tsn);
    let bytes = raw.packet(raw.tag, |b| tsns.iter().map(each).for_each(|d| b.data(&d)));
    raw.deliver(&bytes, tsns[15]);
}

/// A command that is attacked, and where its metrics are.
struct Attacked {
    to: SocketAddr,
    metrics: SocketAddr,
}

impl Attacked {
    fn of(server: &Server) -> Attacked {
        Attacked {
            to: server.addresses.split(',').next().unwrap().parse().unwrap(),
            metrics: server.metrics.unwrap(),
        }
    }

    /// An association of this host.
    fn up(&self, host: u8) -> Raw {
        let mut raw = Raw::from_host(host, self.to);
        raw.ask();
        raw.echo();
        raw
    }

    /// A value as it is now.
    fn value(&self, name: &str, labels: &[(&str, &str)]) -> f64 {
        scrape_anew(self.metrics).values(name, labels)[0]
    }

    fn memory(&self) -> f64 {
        self.value("byway_memory_bytes", &[])
    }

    fn refused(&self, rule: &str) -> f64 {
        self.value("byway_refused_total", &[("rule", rule)])
    }

    /// One of them makes it keep more, until it is this part of the ceiling.
    fn fill(&self, raw: &mut Raw, part: f64) {
        let mut kept = self.memory();
        while kept < part * BYTES {
            let many = ((part * BYTES - kept) / 25_000.0).ceil();
            (0..many as usize).for_each(|_| hoard(raw));
            // On a busy machine a look serves for longer, and may be older than the packets.
            let least = kept + many * 14_000.0;
            wait_until(|| self.memory() >= least);
            kept = self.memory();
        }
    }

    /// Six hosts make it keep as much as they can, in turn, until one is let go if `most` is the ceiling. A good peer
    /// sends a block after each.
    async fn hoarders(&self, good: &Speaker, blocks: &[&[u8]], most: f64) -> Vec<Raw> {
        let mut all: Vec<Raw> = (11..17).map(|host| self.up(host)).collect();
        for ((raw, part), block) in all.iter_mut().zip(HOARDS).zip(blocks) {
            self.fill(raw, part);
            good.data(block).await;
            good.acknowledged().await;
        }
        while self.memory() < most * BYTES && self.refused("associations_shed") == 0.0 {
            hoard(&mut all[HOARDS.len()]);
        }
        all
    }

    /// Only the first one was let go, with the reason, and what is kept is below the ceiling.
    fn has_let_the_first_go(&self, hoarders: &[Raw]) {
        assert_eq!(hoarders[0].hear_cause(), cause_code::OUT_OF_RESOURCE);
        for raw in &hoarders[1..] {
            assert!(raw.lives());
        }
        assert_eq!(self.refused("associations_shed"), 1.0);
        let kept = self.memory();
        assert!(kept > BYTES / 2.0 && kept <= BYTES, "{kept}");
    }

    /// All of them end, and what they held is free.
    fn is_free_after(&self, hoarders: &[Raw]) {
        for raw in hoarders {
            raw.inject(|b| b.abort(false, |_| {}));
        }
        wait_until(|| self.memory() < BYTES / 32.0);
    }
}

fn recv(dir: &Path, more: &[&str]) -> Server {
    let inbox = dir.join("inbox");
    let args = ["recv", "--json", "--metrics", "127.0.0.1:0", "--dir"];
    Server::start(&[&args[..], &[inbox.to_str().unwrap()], more].concat())
}

/// An offer of this file, which was taken.
async fn begun(server: &Server, whole: &[u8]) -> Speaker {
    let good = Speaker::connect(server, "127.0.0.1:0", 0).await;
    good.offer(1, whole.len(), "good.bin").await;
    good.start(0).await;
    good
}

/// A file that is sent by hand, in blocks beside the hoarders.
async fn with_a_file(server: &Server, whole: &[u8], most: f64, beside: impl Fn(&Attacked, &[Raw])) {
    let attacked = Attacked::of(server);
    let good = begun(server, whole).await;
    let blocks: Vec<&[u8]> = whole.chunks(whole.len() / HOARDS.len()).collect();
    let hoarders = attacked.hoarders(&good, &blocks, most).await;
    beside(&attacked, &hoarders);
    good.end(whole).await;
    attacked.is_free_after(&hoarders);
    good.close().await;
}

/// The line of JSON about the good file, which came whole, and all that was said.
fn ended(mut server: Server, dir: &Path, whole: &[u8]) -> (serde_json::Value, String) {
    assert!(std::fs::read(dir.join("inbox/good.bin")).unwrap() == whole);
    let line = server.prints("good.bin");
    signal(&server.child, "TERM");
    let (status, _, said) = server.finish();
    assert_eq!(status, Some(143), "{said}");
    assert!(!said.contains("panicked"), "{said}");
    let result: serde_json::Value = serde_json::from_str(&line).unwrap();
    assert_eq!(result["ok"], true, "{result}");
    (result, said)
}

#[test]
fn a_receiver_at_its_ceiling_lets_go_who_holds_most_and_the_good_file_completes() {
    let dir = folder("ceiling");
    let server = recv(&dir, &CEILING);
    let whole = contents(200_000);
    runtime().block_on(bounded(with_a_file(
        &server,
        &whole,
        1.0,
        Attacked::has_let_the_first_go,
    )));
    let (result, said) = ended(server, &dir, &whole);
    let counted = &result["refused_by_endpoint"];
    assert_eq!(counted["associations_shed"], 1, "{counted}");
    // The rule, and why an association has ended: each in a line of its own, with the peer.
    for part in [
        "associations aborted, because memory is scarce (max_memory)",
        "the memory of this endpoint is scarce (max_memory), and this association held most of it",
    ] {
        let mut lines = said.lines().filter(|line| line.contains(part));
        let names = lines.any(|line| line.contains("127.0.0.11:"));
        assert!(names, "{part}: {said}");
    }
}

/// The same hoards below the default ceiling.
#[test]
fn a_receiver_below_its_ceiling_lets_nobody_go() {
    let dir = folder("below-the-ceiling");
    let server = recv(&dir, &[]);
    let whole = contents(200_000);
    let all_live = |attacked: &Attacked, hoarders: &[Raw]| {
        assert!(hoarders.iter().all(Raw::lives));
        let kept = attacked.memory();
        assert!(kept > 1.1 * BYTES, "{kept}");
    };
    runtime().block_on(bounded(with_a_file(&server, &whole, 1.1, all_live)));
    let (result, _) = ended(server, &dir, &whole);
    for rule in ["associations_shed", "data_shed", "associations_for_memory"] {
        assert_eq!(result["refused_by_endpoint"][rule], 0, "{rule}");
    }
}

/// Above three quarters a host that has eight associations is told at once that there is no room, and a newcomer is let
/// in. Above seven eighths what comes of those that hold their share is dropped, and a good file goes on.
#[test]
fn a_receiver_near_its_ceiling_takes_no_more_of_a_host_and_of_who_holds_its_share() {
    let dir = folder("near-the-ceiling");
    let server = recv(&dir, &CEILING);
    // One message, and less than the share of an association.
    let whole = contents(100_000);
    runtime().block_on(bounded(async {
        let attacked = Attacked::of(&server);
        let good = begun(&server, &whole).await;
        let many: Vec<Raw> = (0..8).map(|_| attacked.up(18)).collect();
        let mut hoarders: Vec<Raw> = (11..16).map(|host| attacked.up(host)).collect();
        for (raw, part) in hoarders.iter_mut().zip([0.24, 0.45, 0.65, 0.85, 0.88]) {
            attacked.fill(raw, part);
        }
        let one_more = Raw::from_host(18, attacked.to);
        one_more.send(0, |b| b.init(false, &init_fields(), |_| {}));
        assert_eq!(one_more.hear_cause(), cause_code::OUT_OF_RESOURCE);
        let newcomer = attacked.up(17);
        assert!(newcomer.lives());
        hoarders.push(newcomer);
        let before = attacked.memory();
        let first = &mut hoarders[0];
        first.next_tsn();
        let behind_a_gap = waiting(first.next_tsn());
        first.inject(|b| b.data(&behind_a_gap));
        assert!(first.lives());
        assert_eq!(attacked.refused("data_shed"), 1.0);
        assert!(attacked.memory() <= before);
        good.data(&whole).await;
        good.end(&whole).await;
        hoarders.extend(many);
        attacked.is_free_after(&hoarders);
        good.close().await;
    }));
    let (result, _) = ended(server, &dir, &whole);
    let counted = &result["refused_by_endpoint"];
    assert_eq!(counted["associations_for_memory"], 1, "{counted}");
    assert_eq!(counted["associations_shed"], 0, "{counted}");
}

/// The same for the half that one host may have: what it holds keeps no other host out.
#[test]
fn a_host_at_its_half_is_shed_and_keeps_no_other_out() {
    let dir = folder("half-the-ceiling");
    let mut server = recv(&dir, &CEILING);
    let attacked = Attacked::of(&server);
    let mut hoarders: Vec<Raw> = (0..3).map(|_| attacked.up(11)).collect();
    for (raw, part) in hoarders.iter_mut().zip([0.24, 0.42]) {
        attacked.fill(raw, part);
    }
    // Above three quarters of the half.
    let newcomer = Raw::from_host(11, attacked.to);
    newcomer.send(0, |b| b.init(false, &init_fields(), |_| {}));
    assert_eq!(newcomer.hear_cause(), cause_code::OUT_OF_RESOURCE);
    let other = attacked.up(12);
    while attacked.refused("associations_shed") == 0.0 {
        hoard(&mut hoarders[2]);
    }
    let first = hoarders.remove(0);
    assert_eq!(first.hear_cause(), cause_code::OUT_OF_RESOURCE);
    hoarders.push(other);
    assert!(hoarders.iter().all(Raw::lives));
    assert!(attacked.memory() < 0.4 * BYTES);
    attacked.is_free_after(&hoarders);
    server.says("associations aborted, because memory is scarce (max_memory)");
}

/// Those who wait behind the association of a `listen`.
#[test]
fn a_listen_at_its_ceiling_lets_go_who_holds_most_and_the_pipe_goes_on() {
    let args = ["listen", "--metrics", "127.0.0.1:0"];
    let mut server = Server::start(&[&args[..], &CEILING].concat());
    let attacked = Attacked::of(&server);
    let blocks: Vec<Vec<u8>> = (1..=HOARDS.len()).map(|n| contents(1000 * n)).collect();
    let blocks: Vec<&[u8]> = blocks.iter().map(Vec::as_slice).collect();
    runtime().block_on(bounded(async {
        let good = Speaker::connect(&server, "127.0.0.1:0", 0).await;
        // The first one is the pipe.
        good.data(b"").await;
        good.acknowledged().await;
        let hoarders = attacked.hoarders(&good, &blocks, 1.0).await;
        attacked.has_let_the_first_go(&hoarders);
        attacked.is_free_after(&hoarders);
        good.close().await;
    }));
    server.says("associations aborted, because memory is scarce (max_memory)");
    let (status, out, said) = server.finish();
    assert_eq!(status, Some(0), "{said}");
    // Each message begins with the byte that `Speaker` puts before it.
    let mut whole = vec![4];
    for block in blocks {
        whole.push(4);
        whole.extend(block);
    }
    assert!(out == whole, "{} bytes of {}", out.len(), whole.len());
}

/// D4: what waits to be accepted, behind the association of a `listen`, hoards and is aborted by its peer, again and
/// again. Nothing of it stays, in the account or in the memory of the process.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[test]
fn what_nobody_accepted_leaves_no_memory_in_a_process_when_its_peer_aborts() {
    const ROUNDS: usize = 48;
    const WAITING: usize = 20;
    let server = Server::start(&["listen", "--metrics", "127.0.0.1:0"]);
    let attacked = Attacked::of(&server);
    // The first one is the pipe.
    let pipe = attacked.up(11);
    let empty = attacked.memory();
    let mut kept = Vec::new();
    for round in 0..ROUNDS {
        let waiting: Vec<Raw> = (0..WAITING)
            .map(|_| {
                let mut raw = Raw::from_host(12, attacked.to);
                raw.join(4000);
                (0..4).for_each(|_| hoard(&mut raw));
                raw
            })
            .collect();
        if round == 0 {
            // 64 messages of 1000 bytes each.
            let kept = attacked.memory() - empty;
            assert!(kept > WAITING as f64 * 64_000.0, "{kept} bytes");
        }
        for raw in waiting {
            raw.inject(|b| b.abort(false, |_| {}));
        }
        kept.push(peers::filled(&server.child));
    }
    // The tags of their cookies are left.
    wait_until(|| attacked.memory() < empty + 400.0 * ROUNDS as f64 * WAITING as f64);
    // What one round needs is kept by the allocator. All of them together had sixty times a mebibyte.
    let (first, last) = (kept[1], peers::filled(&server.child));
    assert!(last < first + 4096, "{last} KiB of {kept:?}");
    assert!(pipe.lives());
}

/// R12: a message of one byte in a high stream, which nobody has read, costs two bytes for each stream up to it, and
/// they are in the account, which is not less than what the process has filled.
#[test]
fn what_a_high_stream_takes_is_little_and_in_the_account() {
    const HIGH: u16 = 65_534;
    const PEERS: u8 = 16;
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    const BESIDE: f64 = (1 << 20) as f64;
    let streams = "setup.max_inbound_streams=65535";
    let args = ["listen", "--metrics", "127.0.0.1:0", "--set", streams];
    let mut server = Server::start(&args);
    let attacked = Attacked::of(&server);
    // The first one is the pipe, and the others wait behind it.
    let all: Vec<Raw> = (11..=11 + PEERS)
        .map(|host| {
            let mut raw = Raw::from_host(host, attacked.to);
            raw.wait(Duration::from_millis(50));
            let fields = InitFields {
                outbound_streams: u16::MAX,
                ..init_fields()
            };
            raw.ask_for(&fields, |_| {});
            raw.echo();
            raw
        })
        .collect();
    let before = attacked.memory();
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    let filled = peers::filled(&server.child);
    for mut raw in all.into_iter().skip(1) {
        let tsn = raw.next_tsn();
        let high = Data {
            stream_id: HIGH,
            ssn: 0,
            payload: b"x",
            ..waiting(tsn)
        };
        let bytes = raw.packet(raw.tag, |b| b.data(&high));
        raw.deliver(&bytes, tsn);
    }
    let each = (attacked.memory() - before) / f64::from(PEERS);
    let table = 2.0 * (f64::from(HIGH) + 1.0);
    assert!(each >= table && each < table + 10_000.0, "{each}");
    // Beside the account the metrics are written anew, and such.
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        let grown = peers::filled(&server.child).saturating_sub(filled) as f64 * 1024.0;
        let charged = each * f64::from(PEERS);
        assert!(grown < charged + BESIDE, "{grown} for {charged}");
    }
    assert!(server.child.try_wait().unwrap().is_none());
    server.child.kill().unwrap();
}

#[test]
fn a_ceiling_below_what_two_senders_need_is_refused() {
    for command in [&["recv"][..], &["listen"], &["serve", "--allow", "a:1"]] {
        let out = peers::run(&[command, &["--max-memory", "4 MB"]].concat());
        let said = text(&out.stderr);
        assert_eq!(out.status.code(), Some(2), "{said}");
        assert!(said.contains("4 MiB at least"), "{said}");
    }
}
