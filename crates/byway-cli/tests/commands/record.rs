//! What a transfer leaves behind: `--pcap`, `--pcap-secrets`, `--report` and `--log`.

use crate::host::Host;
use crate::peers::{
    HASTY, Server, byway, contents, endless, ends_within, folder, run, signal, text, wait_for,
    wait_for_more, wait_until,
};
use serde_json::Value;
use std::collections::BTreeSet;
use std::net::UdpSocket;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

fn word(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// The port of "127.0.0.1:P,127.0.0.2:P".
fn port(addresses: &str) -> u16 {
    addresses.rsplit(':').next().unwrap().parse().unwrap()
}

/// The lines of a log, each an object.
fn log(path: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(path).unwrap();
    assert!(text.ends_with('\n'), "{text}");
    let line = |line| serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line}"));
    text.lines().map(line).collect()
}

fn events<'a>(log: &'a [Value], event: &str) -> Vec<&'a Value> {
    log.iter().filter(|line| line["event"] == event).collect()
}

/// What the plots of a page draw.
fn drawn(page: &Path) -> Value {
    let text = std::fs::read_to_string(page).unwrap();
    let (_, data) = text
        .split_once("<script type=\"application/json\" id=\"data\">")
        .unwrap();
    let (data, _) = data.split_once("</script>").unwrap();
    serde_json::from_str(data).unwrap()
}

/// The packets of a capture of these UDP ports (or of none), as fields of tshark; none without tshark.
fn dissected(capture: &Path, ports: &[u16], filter: &str, fields: &[&str]) -> Option<Vec<String>> {
    let mut tshark = Command::new("tshark");
    tshark.args(["-n", "-r"]).arg(capture);
    // Payload is random bytes: nothing above SCTP is to be guessed from it.
    for setting in [
        "sctp.checksum:CRC 32c",
        "sctp.tsn_analysis:FALSE",
        "sctp.reassembly:FALSE",
        "sctp.ulp_dissection:FALSE",
        "ip.check_checksum:TRUE",
        "udp.check_checksum:TRUE",
    ] {
        tshark.args(["-o", setting]);
    }
    for port in ports {
        tshark.args(["-d", &format!("udp.port=={port},sctp")]);
    }
    tshark.args(["-Y", filter, "-T", "fields"]);
    for field in fields {
        tshark.args(["-e", field]);
    }
    let Ok(out) = tshark.output() else {
        println!("skipped: no tshark");
        return None;
    };
    assert!(out.status.success(), "{}", text(&out.stderr));
    Some(text(&out.stdout).lines().map(str::to_owned).collect())
}

/// What no packet of a capture may be. Status 0 is bad, 1 is good; severity 0x800000 is an error.
const UNCLEAN: &str = "!sctp || _ws.malformed || _ws.expert.severity == 0x800000 || !(sctp.checksum.status == 1) || \
                       ip.checksum.status == 0 || udp.checksum.status == 0";

/// Every packet dissects clean, and there are some of both directions.
fn is_clean(capture: &Path, ports: &[u16]) {
    let Some(bad) = dissected(
        capture,
        ports,
        UNCLEAN,
        &["frame.number", "_ws.expert.message"],
    ) else {
        return;
    };
    assert_eq!(bad, [] as [String; 0], "{}", capture.display());
    let directions = ["frame.packet_flags_direction"];
    let all = dissected(capture, ports, "sctp", &directions).unwrap();
    let kinds: BTreeSet<&str> = all.iter().map(String::as_str).collect();
    assert_eq!(kinds.len(), 2, "{kinds:?} of {}", all.len());
    // The check fails where it must: one byte of the last packet is another one.
    let mut bytes = std::fs::read(capture).unwrap();
    let at = bytes.len() - 40;
    bytes[at] ^= 1;
    let changed = capture.with_extension("changed");
    std::fs::write(&changed, bytes).unwrap();
    let bad = dissected(&changed, ports, UNCLEAN, &["frame.number"]).unwrap();
    assert_eq!(bad, [all.len().to_string()]);
}

/// A file, its inbox, and where both sides record.
struct Case {
    dir: PathBuf,
    inbox: PathBuf,
    file: PathBuf,
}

impl Case {
    fn new(name: &str, length: usize) -> Case {
        let dir = folder(&format!("record-{name}"));
        let file = dir.join("file.bin");
        std::fs::write(&file, contents(length)).unwrap();
        Case {
            inbox: dir.join("inbox"),
            file,
            dir,
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.join(name)
    }

    fn recv(&self, more: &[&str]) -> Server {
        Server::start(&[&["recv", "--once", "--dir", word(&self.inbox)], more].concat())
    }
}

#[test]
fn both_sides_leave_packets_a_page_and_a_log() {
    let case = Case::new("all", 3_000_000);
    let names =
        |side: &str| ["pcapng", "html", "log"].map(|end| case.path(&format!("{side}.{end}")));
    let [pcap, page, journal] = names("recv");
    let log_to = format!("json:{}", journal.display());
    let record = [
        "--pcap",
        word(&pcap),
        "--report",
        word(&page),
        "--log",
        &log_to,
    ];
    let server = case.recv(&record);
    let to = server.addresses.clone();
    let [sent_pcap, sent_page, sent_journal] = names("send");
    let sent_log_to = format!("json:{}", sent_journal.display());
    let out = run(&[
        "send",
        word(&case.file),
        "--to",
        &to,
        "--bind",
        "127.0.0.1,127.0.0.2",
        "--pcap",
        word(&sent_pcap),
        "--report",
        word(&sent_page),
        "--log",
        &sent_log_to,
    ]);
    let said = text(&out.stderr);
    assert!(out.status.success(), "{said}");
    for part in ["report: ", "capture: "] {
        assert!(said.contains(part), "{said}");
    }
    let (status, _, said) = server.finish();
    assert_eq!(status, Some(0), "{said}");

    // Both captures have the same DATA, all of the file.
    let udp = [port(&to)];
    let tsns = |capture: &Path| {
        let lines = dissected(capture, &udp, "sctp.data_tsn_raw", &["sctp.data_tsn_raw"])?;
        let tsns = lines.iter().flat_map(|line| line.split(','));
        Some(tsns.map(str::to_owned).collect::<BTreeSet<String>>())
    };
    for capture in [&pcap, &sent_pcap] {
        is_clean(capture, &udp);
    }
    assert_eq!(tsns(&pcap), tsns(&sent_pcap));
    assert!(tsns(&pcap).is_none_or(|tsns| tsns.len() > 300));
    if let Some(both) = dissected(&pcap, &udp, "sctp", &["ip.dst"]) {
        let ends: BTreeSet<String> = both.into_iter().collect();
        assert_eq!(
            ends,
            BTreeSet::from(["127.0.0.1".to_owned(), "127.0.0.2".to_owned()])
        );
    }

    pages_agree(&drawn(&sent_page), &drawn(&page));
    is_logged(&journal, "the other side set it up");
    is_logged(&sent_journal, "this side set it up");
}

/// All that was sent was acknowledged, and came.
fn pages_agree(sent: &Value, received: &Value) {
    let line = |page: &Value, name: &str| {
        let lines = page["lines"].as_array().unwrap();
        let found = lines.iter().find(|l| l["name"] == name);
        let found = found.unwrap_or_else(|| panic!("no {name}: {lines:?}"));
        let last = found["line"]["v"].as_array().unwrap().last();
        last.unwrap().as_f64().unwrap()
    };
    let chunks = line(sent, "sent and acknowledged");
    assert!(chunks > 300.0, "{chunks}");
    assert_eq!(line(received, "received"), chunks - 1.0);
    for page in [sent, received] {
        let run = &page["runs"][0];
        let names = run["names"].as_array().unwrap();
        assert_eq!(names.len(), 2, "{names:?}");
        assert_eq!(run["paths"].as_array().unwrap().len(), 2);
        assert_eq!(run["note"], "ended in good order");
    }
    let of_path = &sent["runs"][0]["paths"][0];
    for curve in ["cwnd", "flight", "rtt", "rto", "rate"] {
        let points = of_path[curve]["t"].as_array().unwrap();
        assert!(!points.is_empty(), "{curve}");
    }
}

/// The log has lines of JSON with the association, its paths and its end.
fn is_logged(journal: &Path, cause: &str) {
    let log = log(journal);
    let [up] = events(&log, "association_up")[..] else {
        panic!("{log:?}");
    };
    let of_up = (&up["cause"], &up["association"]);
    assert_eq!(of_up, (&cause.into(), &1.into()));
    assert_eq!(events(&log, "association_ended").len(), 1);
    assert_eq!(events(&log, "done").len(), 1);
    assert_eq!(log.last().unwrap()["event"], "done");
    for line in &log {
        let time = line["time"].as_str().unwrap();
        assert!(time.len() == 27 && time.ends_with('Z'), "{time}");
    }
    let added = events(&log, "path_added");
    assert_eq!(added.len(), 2, "{log:?}");
    for line in added {
        let ends = [&line["local"], &line["remote"]];
        assert!(ends.iter().all(|end| end.is_string()), "{line}");
    }
}

/// Two relays, one for each address of loopback, of which the first can be cut. Each keeps the host that
/// is behind it: path 1 stays on 127.0.0.1.
struct Cables {
    cut: Arc<AtomicBool>,
    addresses: String,
}

/// One port on both addresses.
fn pair() -> [UdpSocket; 2] {
    loop {
        let first = UdpSocket::bind("127.0.0.1:0").unwrap();
        let port = first.local_addr().unwrap().port();
        if let Ok(second) = UdpSocket::bind(("127.0.0.2", port)) {
            return [first, second];
        }
    }
}

impl Cables {
    fn to(server: u16) -> Cables {
        let cut = Arc::new(AtomicBool::new(false));
        let (outer, inner) = (pair(), pair());
        let port = outer[0].local_addr().unwrap().port();
        for (path, (outer, inner)) in outer.into_iter().zip(inner).enumerate() {
            let host = format!("127.0.0.{}:{server}", path + 1);
            inner.connect(host).unwrap();
            outer
                .set_read_timeout(Some(Duration::from_secs(60)))
                .unwrap();
            let (outer, inner) = (Arc::new(outer), Arc::new(inner));
            let (back, from_server) = (outer.clone(), inner.clone());
            let client = Arc::new(std::sync::Mutex::new(None));
            let known = client.clone();
            let dead = [cut.clone(), cut.clone()]
                .map(|cut| move || path == 0 && cut.load(Ordering::Relaxed));
            let [dead, dead_too] = dead;
            std::thread::spawn(move || {
                let mut room = [0; 70_000];
                while let Ok((n, from)) = outer.recv_from(&mut room) {
                    *client.lock().unwrap() = Some(from);
                    if !dead() {
                        let _ = inner.send(&room[..n]);
                    }
                }
            });
            std::thread::spawn(move || {
                let mut room = [0; 70_000];
                loop {
                    // Refused while nobody listens.
                    let Ok(n) = from_server.recv(&mut room) else {
                        continue;
                    };
                    let to = *known.lock().unwrap();
                    if let Some(to) = to.filter(|_| !dead_too()) {
                        let _ = back.send_to(&room[..n], to);
                    }
                }
            });
        }
        Cables {
            cut,
            addresses: format!("127.0.0.1:{port},127.0.0.2:{port}"),
        }
    }
}

#[test]
fn a_path_that_dies_is_in_the_log_with_its_cause_and_in_the_page() {
    let case = Case::new("cut", 4_000_000);
    let server = case.recv(&[]);
    let cables = Cables::to(port(&server.addresses));
    let (page, journal) = (case.path("send.html"), case.path("send.log"));
    let log_to = format!("json:{}", journal.display());
    let send = byway()
        .args(["send", word(&case.file), "--to", &cables.addresses])
        .args(["--bind", "127.0.0.1,127.0.0.2", "--limit", "20Mbit/s"])
        .args(["--report", word(&page), "--log", &log_to])
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    wait_for_more(&case.inbox, "file.bin", 500_000);
    cables.cut.store(true, Ordering::Relaxed);
    let out = send.wait_with_output().unwrap();
    assert!(out.status.success(), "{}", text(&out.stderr));
    let (status, _, said) = server.finish();
    assert_eq!(status, Some(0), "{said}");

    let log = log(&journal);
    let changes = events(&log, "path_changed");
    let failed = changes
        .iter()
        .find(|line| line["before"] == "active" && line["state"] == "potentially failed");
    let failed = failed.unwrap_or_else(|| panic!("{log:#?}"));
    assert!(failed["remote"].as_str().unwrap().starts_with("127.0.0.1:"));
    let cause = failed["cause"].as_str().unwrap();
    assert!(
        cause.contains("probe timeout") || cause.contains("T3-rtx"),
        "{cause}"
    );
    let moved = events(&log, "data_path");
    let first = moved.first().unwrap_or_else(|| panic!("{log:#?}"));
    assert!(first["remote"].as_str().unwrap().starts_with("127.0.0.2:"));
    assert!(!events(&log, "resent").is_empty(), "{log:#?}");

    let drawn = drawn(&page);
    let run = &drawn["runs"][0];
    let states = run["paths"][0]["states"].as_array().unwrap();
    assert!(
        states.iter().any(|s| s[1] == "potentially_failed"),
        "{states:?}"
    );
    let marks = run["events"].as_array().unwrap();
    let words = |m: &&Value| m["words"].as_str().unwrap() == "potentially failed";
    let mark = marks
        .iter()
        .find(words)
        .unwrap_or_else(|| panic!("{marks:?}"));
    assert_eq!((&mark["path"], &mark["failure"]), (&0.into(), &true.into()));
    let html = std::fs::read_to_string(&page).unwrap();
    assert!(html.contains("1 path failed"), "the summary");
}

#[test]
fn an_interrupted_command_and_one_that_lost_its_peer_leave_the_same() {
    for (end, status) in [("INT", 130), ("KILL", 3)] {
        let case = Case::new(&format!("ended-{end}"), 0);
        let mut server = case.recv(&[]);
        let [pcap, page, journal] =
            ["pcapng", "html", "log"].map(|e| case.path(&format!("send.{e}")));
        let log_to = format!("text:{}", journal.display());
        let mut send = byway()
            .args(["send", word(&endless(&case.dir)), "--to", &server.addresses])
            .args(["--retries", "0", "--limit", "50Mbit/s", "--quiet"])
            .args([
                "--pcap",
                word(&pcap),
                "--report",
                word(&page),
                "--log",
                &log_to,
            ])
            .args(HASTY)
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        wait_for(&case.inbox, "endless.bin");
        match end {
            "INT" => signal(&send, end),
            _ => signal(&server.child, end),
        }
        let ended = ends_within(&mut send, Duration::from_secs(30));
        assert_eq!(ended, Some(status), "{end}");
        let _ = server.child.kill();
        server.child.wait().unwrap();

        is_clean(&pcap, &[port(&server.addresses)]);
        let run = &drawn(&page)["runs"][0];
        let note = run["note"].as_str().unwrap();
        assert_ne!(note, "ended in good order");
        let html = std::fs::read_to_string(&page).unwrap();
        assert!(html.contains("<p class=\"alert\">"), "{end}");
        let text = std::fs::read_to_string(&journal).unwrap();
        let lost = text
            .lines()
            .find(|l| l.contains(" association_lost association 1: "));
        assert!(lost.is_some(), "{end}: {text}");
        let last = text.lines().last().unwrap();
        assert!(last.contains(" failed: byway send; "), "{last}");
    }
}

/// A transfer by ticket, beside a stranger whose secret is wrong.
struct Sealed {
    case: Case,
    /// What the receiver has captured.
    pcap: PathBuf,
    udp: u16,
    /// The secrets of the receiver and the sender.
    secrets: [PathBuf; 2],
}

impl Sealed {
    fn transfer(name: &str) -> Sealed {
        let case = Case::new(name, 20_000);
        let secrets = ["recv.keys", "send.keys"].map(|name| case.path(name));
        // One is there, for all to read.
        std::fs::write(&secrets[0], "").unwrap();
        let pcap = case.path("recv.pcapng");
        let inbox = word(&case.inbox);
        let record = ["--pcap", word(&pcap), "--pcap-secrets", word(&secrets[0])];
        let recv = Host::start(&[&["recv", "--dir", inbox], &record[..]].concat());
        let udp = recv.address().port();
        let mut other = byway_tls::Ticket::parse(&recv.ticket).unwrap();
        other.secret = Some(byway_tls::Secret::generate().unwrap());
        let other = other.to_text().to_string();
        let send = |to: &str, more: &[&str]| {
            run(&[&["send", word(&case.file), "--to", to], more].concat())
        };
        let out = send(&other, &["--retries", "0"]);
        assert_eq!(out.status.code(), Some(4), "{}", text(&out.stderr));
        let out = send(&recv.ticket, &["--pcap-secrets", word(&secrets[1])]);
        assert!(out.status.success(), "{}", text(&out.stderr));
        let (status, _, said) = recv.finish();
        assert_eq!(status, Some(0), "{said}");
        Sealed {
            case,
            pcap,
            udp,
            secrets,
        }
    }

    fn unseal(&self, pcap: &Path, secrets: &Path, out: &Path) -> std::process::Output {
        let (pcap, secrets, out) = (word(pcap), word(secrets), word(out));
        run(&["unseal", pcap, "--secrets", secrets, "--out", out])
    }
}

fn has(bytes: &[u8], what: &[u8]) -> bool {
    bytes.windows(what.len()).any(|w| w == what)
}

/// How many parts of the file are there. What is cut in two by the border of a chunk is not found.
fn parts_in(bytes: &[u8]) -> usize {
    let file = contents(20_000);
    let parts = (0..20).map(|n| &file[n * 997..n * 997 + 12]);
    parts.filter(|part| has(bytes, part)).count()
}

fn mode(path: &Path) -> u32 {
    use std::os::unix::fs::PermissionsExt;
    std::fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn secrets_are_written_for_the_owner_when_asked_for_and_are_those_of_both_sides() {
    let sealed = Sealed::transfer("secrets");
    let [here, there] = [0, 1].map(|i| std::fs::read_to_string(&sealed.secrets[i]).unwrap());
    let sorted = |text: &str| text.lines().map(str::to_owned).collect::<BTreeSet<_>>();
    // Nothing is kept of the stranger.
    assert_eq!(sorted(&here), sorted(&there));
    let labels: BTreeSet<&str> = here.lines().filter_map(|l| l.split(' ').next()).collect();
    let expected = [
        "CLIENT_HANDSHAKE_TRAFFIC_SECRET",
        "CLIENT_TRAFFIC_SECRET_0",
        "SERVER_HANDSHAKE_TRAFFIC_SECRET",
        "SERVER_TRAFFIC_SECRET_0",
    ];
    assert_eq!(labels, BTreeSet::from(expected));
    assert_eq!(sealed.secrets.each_ref().map(|path| mode(path)), [0o600; 2]);
    // The capture has none, and tells of the sealed messages what they are.
    let bytes = std::fs::read(&sealed.pcap).unwrap();
    let secret = here.lines().next().unwrap().rsplit(' ').next().unwrap();
    assert!(!has(&bytes, secret.as_bytes()));
    assert!(!has(&bytes, b"file.bin") && parts_in(&bytes) == 0);
    let ppid = "sctp.data_payload_proto_id";
    let ppids = dissected(&sealed.pcap, &[sealed.udp], "sctp.data_tsn_raw", &[ppid]);
    if let Some(ppids) = ppids {
        let sealed = byway_tls::SEALED_PPID.to_string();
        let has_it = |line: &String| line.split(',').any(|ppid| ppid == sealed);
        assert!(ppids.iter().any(has_it), "{ppids:?}");
    }
}

#[test]
fn a_capture_is_unsealed_with_the_secrets_of_either_side_and_no_others() {
    let sealed = Sealed::transfer("unseal");
    let open = sealed.case.path("open.pcapng");
    let bytes = std::fs::read(&sealed.pcap).unwrap();
    for secrets in &sealed.secrets {
        let out = sealed.unseal(&sealed.pcap, secrets, &open);
        assert!(out.status.success(), "{}", text(&out.stderr));
        let said = text(&out.stdout);
        // The stranger's is not among them.
        assert!(said.contains(" of 2 associations opened; "), "{said}");
        let opened = std::fs::read(&open).unwrap();
        assert_eq!(opened.len(), bytes.len());
        assert!(has(&opened, b"file.bin") && parts_in(&opened) > 15);
        is_clean(&open, &[sealed.udp]);
        assert_eq!(mode(&open), 0o600);
        std::fs::remove_file(&open).unwrap();
    }
    let lines = std::fs::read_to_string(&sealed.secrets[0]).unwrap();
    let random = lines.split(' ').nth(1).unwrap();
    let other = sealed.case.path("other.keys");
    std::fs::write(&other, lines.replace(random, &"0".repeat(64))).unwrap();
    let out = sealed.unseal(&sealed.pcap, &other, &open);
    let said = text(&out.stdout);
    assert!(
        said.starts_with("0 messages of 2 associations opened; "),
        "{said}"
    );
    assert!(std::fs::read(&open).unwrap() == bytes);
    // What is neither says so.
    for (pcap, secrets, words) in [
        (
            &sealed.pcap,
            &sealed.case.file,
            "it must be what --pcap-secrets writes",
        ),
        (
            &sealed.case.file,
            &sealed.secrets[0],
            "it is no pcapng of --pcap",
        ),
    ] {
        let out = sealed.unseal(pcap, secrets, &open);
        assert_eq!(out.status.code(), Some(2));
        assert!(text(&out.stderr).contains(words), "{}", text(&out.stderr));
    }
}

#[test]
fn a_full_disk_ends_no_transfer_and_is_told_once() {
    if !Path::new("/dev/full").exists() {
        println!("skipped: no /dev/full");
        return;
    }
    let case = Case::new("full", 100_000);
    let server = case.recv(&[]);
    let send = |more: &[&str]| {
        let to = server.addresses.as_str();
        run(&[&["send", word(&case.file), "--to", to], more].concat())
    };
    // The begin of a capture is written before anything is sent.
    let refused = send(&["--pcap", "/dev/full"]);
    assert_eq!(refused.status.code(), Some(1));
    let said = text(&refused.stderr);
    assert!(said.contains("--pcap /dev/full: No space left"), "{said}");
    assert!(!case.inbox.join("file.bin").exists());
    let nowhere = case.path("missing/page.html");
    let refused = send(&["--report", word(&nowhere)]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(!case.inbox.join("file.bin").exists());

    let out = send(&["--log", "json:/dev/full"]);
    let said = text(&out.stderr);
    assert!(out.status.success(), "{said}");
    assert_eq!(
        said.matches("--log /dev/full: No space left").count(),
        1,
        "{said}"
    );
    assert!(
        said.contains("lines left out, which could not be written"),
        "{said}"
    );
    let (status, _, said) = server.finish();
    assert_eq!(status, Some(0), "{said}");
}

#[test]
fn a_tunnel_is_recorded_and_its_log_on_the_screen_is_json_alone() {
    let dir = folder("record-tunnel");
    let (pcap, page) = (dir.join("serve.pcapng"), dir.join("serve.html"));
    let target = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let allowed = target.local_addr().unwrap().to_string();
    let mut serve = Host::start(&[
        "serve",
        "--allow",
        &allowed,
        "--pcap",
        word(&pcap),
        "--report",
        word(&page),
        "--json",
        "--log",
        "json",
    ]);
    let udp = serve.address().port();
    let local = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let journal = dir.join("forward.log");
    let log_to = format!("json:{}", journal.display());
    let mut forward = byway()
        .args([
            "forward",
            "--listen",
            &local.to_string(),
            "--to",
            &serve.ticket,
            "--log",
            &log_to,
        ])
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    wait_until(|| {
        std::fs::read_to_string(&journal).is_ok_and(|log| log.contains("association_up"))
    });
    use std::io::{Read, Write};
    let connected = || std::net::TcpStream::connect(local).ok();
    wait_until(|| connected().is_some());
    let mut client = connected().unwrap();
    client.write_all(b"hello").unwrap();
    let mut got = [0; 5];
    // The connection that was only tried came first, perhaps.
    loop {
        let (mut stream, _) = target.accept().unwrap();
        if stream.read_exact(&mut got).is_ok() {
            break;
        }
    }
    assert_eq!(&got, b"hello");
    signal(&forward, "TERM");
    ends_within(&mut forward, Duration::from_secs(20));
    signal(serve.child.as_ref().unwrap(), "INT");
    ends_within(serve.child.as_mut().unwrap(), Duration::from_secs(20));
    let (_, _, said) = serve.finish();
    for line in said.lines() {
        let _: Value = serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line}"));
    }
    assert!(said.contains("\"event\":\"association_lost\""), "{said}");
    is_clean(&pcap, &[udp]);
    assert_eq!(drawn(&page)["runs"].as_array().unwrap().len(), 1);
}

#[test]
fn without_udp_a_capture_has_sctp_over_ip() {
    let case = Case::new("raw", 300_000);
    let [recv, send] = ["recv", "send"].map(|side| case.path(&format!("{side}.pcapng")));
    let raw = ["--encapsulation", "none"];
    let mut server = byway()
        .args([
            "recv",
            "--unprotected",
            "--once",
            "--dir",
            word(&case.inbox),
        ])
        .args(["--bind", "127.0.15.1,127.0.15.2", "--pcap", word(&recv)])
        .args(raw)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let sent = byway()
        .args([
            "send",
            word(&case.file),
            "--to",
            "127.0.15.1,127.0.15.2",
            "--retry-for",
            "10s",
        ])
        .args(["--pcap", word(&send)])
        .args(raw)
        .output()
        .unwrap();
    let said = text(&sent.stderr);
    if said.contains("CAP_NET_RAW") || said.contains("sctp.ko") {
        println!("skipped: {said}");
        let _ = server.kill();
        server.wait().unwrap();
        return;
    }
    assert!(sent.status.success(), "{said}");
    assert!(server.wait().unwrap().success());
    for capture in [recv, send] {
        is_clean(&capture, &[]);
        let udp = dissected(&capture, &[], "udp", &["frame.number"]);
        assert!(udp.is_none_or(|udp| udp.is_empty()));
    }
}
