//! Tickets, keys and encryption, with running processes and somebody on the way.

use crate::host::Host;
use crate::peers::{self, byway, contents, folder, run, stranger, text};
use crate::raw::Raw;
use crate::relay::{DATA, Onward, Relay, Way, chunks, with_chunk};
use byway_tls::{Secret, Ticket};
use byway_wire::chunk_type;
use std::collections::HashMap;
use std::io::{Read, Write};
use std::net::{IpAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::Ordering;

/// A file, and the folder where it shall arrive.
struct Case {
    dir: PathBuf,
    file: String,
    inbox: String,
}

impl Case {
    fn new(name: &str, length: usize) -> Case {
        let dir = folder(&format!("ticket-{name}"));
        let file = dir.join("treasure-map.bin");
        std::fs::write(&file, contents(length)).unwrap();
        Case {
            file: file.to_str().unwrap().to_owned(),
            inbox: dir.join("inbox").to_str().unwrap().to_owned(),
            dir,
        }
    }

    fn recv(&self, more: &[&str]) -> Host {
        Host::start(&[&["recv", "--dir", &self.inbox], more].concat())
    }

    fn send(&self, to: &str) -> Output {
        run(&self.words(to))
    }

    fn words<'a>(&'a self, to: &'a str) -> [&'a str; 6] {
        ["send", &self.file, "--to", to, "--retries", "0"]
    }

    fn arrived(&self) -> Option<Vec<u8>> {
        std::fs::read(Path::new(&self.inbox).join("treasure-map.bin")).ok()
    }

    /// Nothing has been stored, not even in part.
    fn nothing_came(&self) -> bool {
        std::fs::read_dir(&self.inbox).is_ok_and(|mut all| all.next().is_none())
    }

    fn path(&self, name: &str) -> String {
        self.dir.join(name).to_str().unwrap().to_owned()
    }
}

/// The command was refused, with these words and without the ticket.
fn refused(out: &Output, words: &str, ticket: &str) {
    let said = text(&out.stderr);
    assert_eq!(out.status.code(), Some(4), "{said}");
    assert!(said.contains(words), "{said}");
    assert!(!said.contains(&ticket[20..40]), "{said}");
}

#[test]
fn a_file_arrives_by_ticket_and_nobody_on_the_way_sees_it() {
    let case = Case::new("file", 3_000_000);
    let recv = case.recv(&[]);
    let relay = Relay::honest(recv.address());
    let ticket = recv.by_way_of(relay.address);
    let out = case.send(&ticket);
    assert!(out.status.success(), "{}", text(&out.stderr));
    assert!(case.arrived().unwrap() == contents(3_000_000));
    // The ticket is used up.
    let secret = recv.ticket[20..40].to_owned();
    let (status, _, said) = recv.finish();
    assert_eq!(status, Some(0), "{said}");
    for said in [said, text(&out.stderr)] {
        assert!(!said.contains(&secret), "a secret was said: {said}");
        assert!(!said.contains("not encrypted"), "{said}");
    }
    assert!(relay.seen.lock().unwrap().len() > 3_000_000);
    let all = contents(3_000_000);
    for part in [
        b"treasure-map".as_slice(),
        &all[..12],
        &all[2_000_000..2_000_012],
    ] {
        assert!(!relay.saw(part));
    }
}

/// That the relay sees what is not encrypted, by the same means.
#[test]
fn in_plain_mode_the_screen_says_that_everything_is_seen() {
    let case = Case::new("plain", 100_000);
    let mut server = peers::Server::start(&["recv", "--dir", &case.inbox]);
    let first = server.addresses.split(',').next().unwrap();
    let relay = Relay::honest(first.parse().unwrap());
    let out = case.send(&relay.address.to_string());
    assert!(out.status.success(), "{}", text(&out.stderr));
    assert!(text(&out.stderr).contains("not encrypted: whoever is on the way"));
    server.says("not encrypted: whoever is on the way");
    assert!(relay.saw(b"treasure-map") && relay.saw(&contents(100_000)[50_000..50_012]));
    server.child.kill().unwrap();
    server.child.wait().unwrap();
}

#[test]
fn a_ticket_is_read_from_a_file_and_written_to_one_that_nobody_else_reads() {
    use std::os::unix::fs::PermissionsExt;
    let case = Case::new("at-file", 50_000);
    let kept = case.path("ticket");
    let mut recv = byway();
    recv.args(["recv", "--dir", &case.inbox, "--ticket-to", &kept])
        .args(["--bind", "127.0.0.1:0"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let recv = recv.spawn().unwrap();
    peers::wait_until(|| Path::new(&kept).exists());
    let mode = std::fs::metadata(&kept).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    // As a mail program wraps it.
    let ticket = std::fs::read_to_string(&kept).unwrap();
    std::fs::write(&kept, format!("  {}\n {}", &ticket[..40], &ticket[40..])).unwrap();
    let out = case.send(&format!("@{kept}"));
    assert!(out.status.success(), "{}", text(&out.stderr));
    let out = recv.wait_with_output().unwrap();
    assert_eq!((out.status.code(), &*out.stdout), (Some(0), &b""[..]));
    assert!(!text(&out.stderr).contains(&ticket[20..40]));
    assert!(case.arrived().unwrap() == contents(50_000));
    let empty = std::path::Path::new(&case.file).with_file_name("not-yet");
    std::fs::write(&empty, "\n").unwrap();
    let early = case.send(&format!("@{}", empty.display()));
    assert_eq!(early.status.code(), Some(2));
    let said = text(&early.stderr);
    assert!(said.contains("not-yet: nothing is in it"), "{said}");
    let missing = case.send("@nowhere/ticket");
    assert_eq!(missing.status.code(), Some(2));
    assert!(text(&missing.stderr).contains("nowhere/ticket: No such file"));
}

/// The kernel sends nothing to such an address from a socket of IPv4.
#[test]
fn a_ticket_with_ipv4_addresses_that_are_mapped_into_ipv6_is_used() {
    let case = Case::new("mapped", 10_000);
    let recv = case.recv(&[]);
    let mut ticket = Ticket::parse(&recv.ticket).unwrap();
    for address in &mut ticket.addresses {
        let IpAddr::V4(v4) = address.ip() else {
            panic!("{address}");
        };
        *address = (v4.to_ipv6_mapped(), address.port()).into();
    }
    let out = case.send(&ticket.to_text());
    assert!(out.status.success(), "{}", text(&out.stderr));
    assert_eq!(case.arrived(), Some(contents(10_000)));
    recv.finish();
}

#[test]
fn wrong_used_and_expired_tickets_are_refused_before_a_file_is_named() {
    let case = Case::new("refused", 10_000);
    let recv = case.recv(&["--uses", "2"]);
    let mut ticket = Ticket::parse(&recv.ticket).unwrap();
    ticket.secret = Some(Secret::generate().unwrap());
    refused(&case.send(&ticket.to_text()), "old or wrong", &recv.ticket);
    // Another key: the ticket of an earlier run at the same address.
    ticket.server = [7; 16];
    let out = case.send(&ticket.to_text());
    refused(&out, "ask for a new ticket", &recv.ticket);
    assert!(case.nothing_came());

    let out = case.send(&recv.ticket);
    assert!(out.status.success(), "{}", text(&out.stderr));
    refused(&case.send(&recv.ticket), "used already", &recv.ticket);
    let mut other = stranger();
    let out = other.args(case.words(&recv.ticket)).output().unwrap();
    // The second and last one.
    assert!(out.status.success(), "{}", text(&out.stderr));
    let (status, _, said) = recv.finish();
    assert_eq!(status, Some(0), "{said}");
    assert!(
        said.contains("another ticket than the one in force"),
        "{said}"
    );
    assert!(said.contains("was used already"), "{said}");

    let recv = case.recv(&["--valid-for", "1s", "--uses", "any"]);
    let mut ticket = Ticket::parse(&recv.ticket).unwrap();
    std::thread::sleep(std::time::Duration::from_millis(2100));
    refused(&case.send(&recv.ticket), "expired", &recv.ticket);
    // A clock that is wrong does not help.
    ticket.expires = None;
    refused(&case.send(&ticket.to_text()), "expired", &recv.ticket);
    recv.end();
}

#[test]
fn a_ticket_that_nobody_uses_in_time_ends_the_command() {
    let case = Case::new("late", 1);
    let recv = case.recv(&["--valid-for", "1s"]);
    let (status, _, said) = recv.finish();
    assert_eq!(status, Some(1), "{said}");
    assert!(
        said.contains("nobody came with the ticket within 1 s"),
        "{said}"
    );
}

#[test]
fn mistyped_cut_foreign_and_misplaced_tickets_are_told_from_each_other() {
    let case = Case::new("mistyped", 1);
    let recv = case.recv(&[]);
    let ticket = recv.ticket.clone();
    let at = ticket.len() - 5;
    let other = if &ticket[at..=at] == "a" { "b" } else { "a" };
    let mistyped = format!("{}{other}{}", &ticket[..at], &ticket[at + 1..]);
    let serve = Host::start(&["serve", "--allow", "127.0.0.1:1"]);
    for (to, words) in [
        (mistyped, "its checksum is wrong"),
        (ticket[..60].to_owned(), "cut short"),
        (ticket.replacen("byway1", "byway7", 1), "version 7"),
        (ticket[7..].to_owned(), "neither an address nor"),
        (ticket.replacen("byway1-", "byway1", 1), "not a ticket"),
        (serve.ticket.clone(), "a ticket of `byway serve`"),
    ] {
        let out = case.send(&to);
        let said = text(&out.stderr);
        assert_eq!(out.status.code(), Some(2), "{said}");
        assert!(said.contains(words), "{said}");
        assert!(!said.contains(&to[20..40]), "{said}");
    }
    // Doctor takes one of `recv`, and leaves it to who sends.
    let out = run(&["doctor", "--to", &ticket, "--heartbeats", "3", "--json"]);
    let said = text(&out.stderr);
    assert_eq!(out.status.code(), Some(0), "{said}");
    let found: serde_json::Value = serde_json::from_slice(&out.stdout).unwrap();
    assert!(
        found["pairs"][0]["rate_bit_s"].as_f64() > Some(0.0),
        "{found}"
    );
    assert!(!said.contains(&ticket[20..40]) && !text(&out.stdout).contains(&ticket[20..40]));
    let out = run(&["doctor", "--to", &serve.ticket]);
    assert!(text(&out.stderr).contains("a ticket of `byway serve`"));
    assert!(case.send(&ticket).status.success());
    recv.end();
    serve.end();
}

#[test]
fn plain_and_protected_sides_tell_each_other_what_is_wrong() {
    let case = Case::new("mixed", 10_000);
    // A plain sender: its file is not looked at.
    let recv = case.recv(&[]);
    let out = case.send(&recv.address().to_string());
    assert_eq!(out.status.code(), Some(4));
    let said = text(&out.stderr);
    assert!(
        said.contains("--to TICKET") && said.contains("--unprotected"),
        "{said}"
    );
    assert!(case.nothing_came());
    let (_, _, said) = recv.end();
    assert!(
        said.contains("no TLS") && !said.contains("treasure"),
        "{said}"
    );
    // Plain receivers, of files and of anything.
    let ticket = Ticket::parse(&case.recv(&[]).ticket).unwrap();
    let plain = peers::Server::start(&["recv", "--dir", &case.inbox]);
    let pipe = peers::Server::start(&["listen"]);
    for (mut server, command, service) in [
        (plain, vec!["send", &case.file], byway_tls::Service::Files),
        (pipe, vec!["cat", &case.file], byway_tls::Service::Pipe),
    ] {
        let mut ticket = ticket.clone();
        ticket.service = service;
        ticket.addresses = vec![server.addresses.split(',').next().unwrap().parse().unwrap()];
        let to = ticket.to_text();
        let out = run(&[&command[..], &["--to", &*to]].concat());
        let said = text(&out.stderr);
        assert!(!out.status.success());
        assert!(said.contains("this side was started without"), "{said}");
        if command[0] == "cat" {
            let (status, out, said) = server.finish();
            assert_eq!((status, &*out), (Some(4), &b""[..]), "{said}");
        } else {
            server.says("this side was started without");
            server.child.kill().unwrap();
            server.child.wait().unwrap();
        }
    }
    assert!(case.nothing_came());
}

/// Programs that speak SCTP and no TLS, and nobody at all.
#[test]
fn what_answers_without_tls_or_not_at_all_is_told() {
    let case = Case::new("mute", 10_000);
    let mut ticket = Ticket::parse(&case.recv(&[]).ticket).unwrap();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let server = runtime.block_on(async {
        let local = ["127.0.0.1:0".parse().unwrap()];
        byway::Endpoint::bind(byway::EndpointOptions::new(local).sctp_port(5001)).unwrap()
    });
    ticket.addresses = server.local_addresses();
    // It has ended when its ticket is used.
    let gone = case.recv(&[]).ticket.clone();
    let nobody = byway()
        .args(case.words(&gone))
        .args(["--connect-timeout", "500ms"])
        .output()
        .unwrap();
    let said = text(&nobody.stderr);
    assert_eq!(nobody.status.code(), Some(3), "{said}");
    assert!(said.contains("ticket ends with the command"), "{said}");
    for (answer, status, words) in [
        (None, 3, "not within 500 ms to TLS"),
        (Some("hello"), 4, "the other side does not encrypt"),
    ] {
        let accepted = server.clone();
        let talk = runtime.spawn(async move {
            let association = accepted.accept().await.unwrap();
            if let Some(answer) = answer {
                let message = byway::Message::new(0, answer);
                association.send(message).await.unwrap();
            }
            association.closed().await
        });
        let out = byway()
            .args(case.words(&ticket.to_text()))
            .args(["--connect-timeout", "500ms"])
            .output()
            .unwrap();
        let said = text(&out.stderr);
        assert_eq!(out.status.code(), Some(status), "{said}");
        assert!(
            said.contains(words) && said.contains("printed a ticket"),
            "{said}"
        );
        runtime.block_on(talk).unwrap();
    }
}

/// DATA chunks of the client that carry a sealed message, whole.
fn sealed(packet: &[u8]) -> Vec<(usize, usize)> {
    let all = chunks(packet).into_iter();
    let data = all.filter(|(at, kind, length)| {
        let ppid = packet.get(at + 12..at + DATA);
        *kind == 0 && *length > DATA && ppid == Some(&byway_tls::SEALED_PPID.to_be_bytes())
    });
    data.map(|(at, _, length)| (at + DATA, at + length))
        .collect()
}

/// Sends a file while somebody on the way does this; both sides must notice.
fn tampered(name: &str, tamper: impl FnMut(Way, Vec<u8>) -> Onward + Send + 'static) {
    let case = Case::new(name, 2_000_000);
    let recv = case.recv(&[]);
    let relay = Relay::start(recv.address(), tamper);
    let out = case.send(&recv.by_way_of(relay.address));
    let said = text(&out.stderr);
    assert!(!out.status.success(), "{said}");
    assert!(case.arrived().is_none());
    let (_, _, theirs) = recv.end();
    let noticed = "was changed on the way";
    assert!(
        said.contains(noticed) || theirs.contains(noticed),
        "{said}{theirs}"
    );
}

#[test]
fn a_changed_bit_is_noticed() {
    let mut count = 0;
    tampered("changed", move |way, mut packet| {
        if way == Way::ToServer
            && let Some((at, end)) = sealed(&packet).first().copied()
        {
            count += 1;
            // One alone may be a copy of what has arrived, which SCTP drops.
            if count >= 20 {
                packet[(at + end) / 2] ^= 4;
            }
        }
        vec![(way, packet)]
    });
}

#[test]
fn a_message_that_is_repeated_in_place_of_another_is_noticed() {
    let mut kept = HashMap::<usize, Vec<u8>>::new();
    let mut count = 0;
    tampered("repeated", move |way, mut packet| {
        // One of the same length, in the same place: SCTP sees nothing.
        if way == Way::ToServer
            && let Some((at, end)) = sealed(&packet).first().copied()
        {
            count += 1;
            match kept.get(&(end - at)) {
                Some(earlier) if count > 20 => packet[at..end].copy_from_slice(earlier),
                _ => drop(kept.insert(end - at, packet[at..end].to_vec())),
            }
        }
        vec![(way, packet)]
    });
}

#[test]
fn a_handshake_that_was_tampered_with_lets_nobody_in() {
    let case = Case::new("handshake", 10_000);
    let recv = case.recv(&[]);
    let mut count = 0;
    let relay = Relay::start(recv.address(), move |way, mut packet| {
        let data = chunks(&packet).into_iter().find(|c| c.1 == 0);
        if let Some((at, _, length)) = data {
            count += 1;
            if count == 2 {
                packet[at + length - 20] ^= 1;
            }
        }
        vec![(way, packet)]
    });
    let out = case.send(&recv.by_way_of(relay.address));
    assert!(!out.status.success());
    assert!(case.nothing_came());
    recv.end();
}

/// send -> SHUTDOWN -> lost, again and again: the receiver has the end of the other program, which is sealed.
#[test]
fn a_transfer_by_ticket_is_whole_although_no_shutdown_comes() {
    let case = Case::new("no-shutdown", 10_000);
    let recv = case.recv(&["--once"]);
    let (relay, dropped) = Relay::without(chunk_type::SHUTDOWN, recv.address());
    let out = case.send(&recv.by_way_of(relay.address));
    assert_eq!(out.status.code(), Some(0), "{}", text(&out.stderr));
    let (status, _, said) = recv.finish();
    assert_eq!(status, Some(0), "{said}");
    assert_eq!(case.arrived().unwrap(), contents(10_000));
    assert!(dropped.load(Ordering::Relaxed) > 0);
}

/// Somebody on the way ends the association in good order, in the name of the sender.
#[test]
fn a_transfer_that_was_cut_off_is_noticed() {
    let case = Case::new("cut", 4_000_000);
    let mut listen = byway();
    let ticket = case.path("ticket");
    listen
        .args(["listen", "--bind", "127.0.0.1:0", "--ticket-to", &ticket])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let listen = listen.spawn().unwrap();
    peers::wait_until(|| Path::new(&ticket).exists());
    let mut parsed = Ticket::parse(&std::fs::read_to_string(&ticket).unwrap()).unwrap();
    let (mut count, mut cut, mut theirs) = (0, false, [0; 4]);
    let relay = Relay::start(parsed.addresses[0], move |way, packet| {
        if way == Way::ToClient {
            for (at, kind, _) in chunks(&packet) {
                if kind == 0 {
                    // What is acknowledged to the server.
                    theirs.copy_from_slice(&packet[at + 4..at + 8]);
                }
                if cut && kind == 8 {
                    // SHUTDOWN ACK: the end. Its tag is the client's; the server's was kept.
                    return Vec::new();
                }
            }
            return if cut { Vec::new() } else { vec![(way, packet)] };
        }
        count += sealed(&packet).len();
        if count > 100 {
            let first = !std::mem::replace(&mut cut, true);
            let shutdown = with_chunk(&packet, 7, 0, &theirs);
            let complete = with_chunk(&packet, 14, 0, &[]);
            return match first {
                true => vec![(way, shutdown)],
                // The client repeats itself; by then the server has sent SHUTDOWN ACK.
                false => vec![(way, complete)],
            };
        }
        vec![(way, packet)]
    });
    parsed.addresses = vec![relay.address];
    let text_of = parsed.to_text();
    let mut cat = byway()
        .args(["cat", &case.file, "--to", &text_of])
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let out = listen.wait_with_output().unwrap();
    let said = text(&out.stderr);
    assert_eq!(out.status.code(), Some(4), "{said}");
    assert!(said.contains("the transfer was cut off"), "{said}");
    assert!(out.stdout.len() < 4_000_000);
    cat.kill().unwrap();
    cat.wait().unwrap();
}

#[test]
fn a_pipe_by_ticket_ends_with_all_that_was_sent() {
    let case = Case::new("pipe", 1_000_000);
    let ticket = case.path("ticket");
    let listen = byway()
        .args(["listen", "--bind", "127.0.0.1:0", "--ticket-to", &ticket])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    peers::wait_until(|| Path::new(&ticket).exists());
    let out = run(&["cat", &case.file, "--to", &format!("@{ticket}")]);
    assert!(out.status.success(), "{}", text(&out.stderr));
    let out = listen.wait_with_output().unwrap();
    assert_eq!(out.status.code(), Some(0));
    assert!(out.stdout == contents(1_000_000));
    let out = run(&["cat", "-", "--to", "-"]);
    assert!(text(&out.stderr).contains("cannot be both"));
}

/// A user with a folder of settings.
fn user(case: &Case, name: &str) -> (PathBuf, String) {
    let folder = case.dir.join(name);
    let out = as_user(&folder).args(["key", "new"]).output().unwrap();
    assert!(out.status.success(), "{}", text(&out.stderr));
    let line = text(&out.stdout);
    assert!(line.starts_with("byway-ed25519 "), "{line}");
    (folder, line)
}

fn as_user(folder: &Path) -> Command {
    let mut command = byway();
    command.env("XDG_CONFIG_HOME", folder);
    command
}

#[test]
fn only_those_whose_keys_are_in_the_file_are_let_in() {
    let case = Case::new("keys", 10_000);
    let (server, _) = user(&case, "server");
    let (friend, line) = user(&case, "friend");
    let keys = case.path("authorized_keys");
    std::fs::write(&keys, "# nobody yet\n").unwrap();
    let args = ["recv", "--dir", &case.inbox, "--authorized", &keys];
    let recv = Host::start_by(as_user(&server), &args);
    let send = |by: &Path| as_user(by).args(case.words(&recv.ticket)).output().unwrap();
    let out = send(&friend);
    // It has no secret, and may be said.
    let said = text(&out.stderr);
    assert_eq!(out.status.code(), Some(4), "{said}");
    let key = line.split(' ').nth(1).unwrap();
    assert!(
        said.contains("must add this line") && said.contains(key),
        "{said}"
    );
    assert!(case.nothing_came());
    // Without a key at all.
    let out = send(&case.dir.join("nobody"));
    assert_eq!(out.status.code(), Some(1));
    assert!(text(&out.stderr).contains("byway key new makes one"));
    // It takes effect at once.
    std::fs::write(&keys, format!("# friends\n{line}")).unwrap();
    let out = send(&friend);
    assert!(out.status.success(), "{}", text(&out.stderr));
    assert!(case.arrived().unwrap() == contents(10_000));
    let (_, _, said) = recv.end();
    assert!(
        said.contains("is not authorised; to let it in") && said.contains(key),
        "{said}"
    );
}

#[test]
fn keys_of_both_sides_serve_with_addresses_too() {
    let case = Case::new("both-keys", 10_000);
    let (server, theirs) = user(&case, "server");
    let (friend, mine) = user(&case, "friend");
    let (keys, known) = (case.path("authorized_keys"), case.path("known"));
    std::fs::write(&keys, mine).unwrap();
    std::fs::write(&known, "").unwrap();
    let args = ["recv", "--dir", &case.inbox, "--authorized", &keys];
    let recv = Host::start_by(as_user(&server), &args);
    let to = recv.address().to_string();
    let send = || {
        let words = [&case.words(&to)[..], &["--authorized", &known]].concat();
        as_user(&friend).args(words).output().unwrap()
    };
    assert!(text(&send().stderr).contains("has no key"));
    let (_, stranger) = user(&case, "stranger");
    std::fs::write(&known, stranger).unwrap();
    let out = send();
    let said = text(&out.stderr);
    assert!(said.contains("add this line"), "{said}");
    assert!(said.contains(theirs.split(' ').nth(1).unwrap()), "{said}");
    std::fs::write(&known, theirs).unwrap();
    let out = send();
    assert!(out.status.success(), "{}", text(&out.stderr));
    recv.end();
}

#[test]
fn key_files_are_made_once_and_only_for_their_owner() {
    use std::os::unix::fs::PermissionsExt;
    let case = Case::new("key-file", 1);
    let (folder, line) = user(&case, "me");
    let file = folder.join("byway/key");
    let mode = std::fs::metadata(&file).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let again = as_user(&folder).args(["key", "new"]).output().unwrap();
    assert_eq!(again.status.code(), Some(2));
    assert!(text(&again.stderr).contains("is there already"));
    let show = as_user(&folder).args(["key", "show"]).output().unwrap();
    assert_eq!(text(&show.stdout), line);
    assert!(text(&show.stderr).contains("SHA256:"));
    let open = std::fs::Permissions::from_mode(0o644);
    std::fs::set_permissions(&file, open).unwrap();
    let show = as_user(&folder).args(["key", "show"]).output().unwrap();
    assert!(
        text(&show.stderr).contains("chmod 600"),
        "{}",
        text(&show.stderr)
    );
    std::fs::write(&file, "nonsense").unwrap();
    let closed = std::fs::Permissions::from_mode(0o600);
    std::fs::set_permissions(&file, closed).unwrap();
    let show = as_user(&folder).args(["key", "show"]).output().unwrap();
    assert!(text(&show.stderr).contains("no Ed25519 key"));
}

#[test]
fn a_tunnel_by_ticket_carries_tcp_and_nobody_on_the_way_sees_it() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let target = listener.local_addr().unwrap().to_string();
    std::thread::spawn(move || {
        for tcp in listener.incoming() {
            let mut tcp = tcp.unwrap();
            let mut copy = tcp.try_clone().unwrap();
            std::thread::spawn(move || std::io::copy(&mut copy, &mut tcp));
        }
    });
    let serve = Host::start(&["serve", "--allow", &target]);
    let relay = Relay::honest(serve.address());
    let door = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let ticket = serve.by_way_of(relay.address);
    let mut forward = byway()
        .args([
            "forward",
            "--quiet",
            "--listen",
            &door.to_string(),
            "--to",
            &ticket,
        ])
        .spawn()
        .unwrap();
    peers::wait_until(|| TcpStream::connect(door).is_ok());
    let sent = contents(300_000);
    let connections: Vec<_> = (0..20)
        .map(|_| {
            let sent = sent.clone();
            std::thread::spawn(move || {
                let mut tcp = TcpStream::connect(door).unwrap();
                let mut writer = tcp.try_clone().unwrap();
                let copy = sent.clone();
                std::thread::spawn(move || writer.write_all(&copy).unwrap());
                let mut came = vec![0; sent.len()];
                tcp.read_exact(&mut came).unwrap();
                assert!(came == sent);
            })
        })
        .collect();
    for connection in connections {
        connection.join().unwrap();
    }
    assert!(!relay.saw(&sent[1000..1012]) && !relay.saw(target.as_bytes()));
    forward.kill().unwrap();
    forward.wait().unwrap();
    // A wrong ticket ends the command, with words.
    let mut wrong = Ticket::parse(&serve.ticket).unwrap();
    wrong.secret = Some(Secret::generate().unwrap());
    let out = byway()
        .args([
            "forward",
            "--listen",
            "127.0.0.1:0",
            "--to",
            &wrong.to_text(),
        ])
        .output()
        .unwrap();
    refused(&out, "old or wrong", &serve.ticket);
    let (_, _, said) = serve.end();
    assert!(said.contains("another ticket"), "{said}");
}

#[test]
fn what_was_begun_with_one_ticket_goes_on_with_the_next() {
    let case = Case::new("next", 30_000_000);
    let mut recv = case.recv(&[]);
    let address = recv.address().to_string();
    let mut send = byway()
        .args(case.words(&recv.ticket))
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    peers::wait_for_more(Path::new(&case.inbox), "treasure-map.bin", 1_000_000);
    recv.child.as_mut().unwrap().kill().unwrap();
    send.kill().unwrap();
    send.wait().unwrap();
    drop(recv);
    let again = Host::start_at(byway(), &["recv", "--dir", &case.inbox], &address);
    let out = case.send(&again.ticket);
    let said = text(&out.stderr);
    assert!(
        out.status.success() && said.contains("resumes at"),
        "{said}"
    );
    assert!(case.arrived().unwrap() == contents(30_000_000));
}

#[test]
fn strangers_who_say_nothing_or_nonsense_keep_nobody_out() {
    let case = Case::new("strangers", 100_000);
    let recv = case.recv(&[]);
    let to = [recv.address()];
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let all = runtime.block_on(async {
        let mut all = Vec::new();
        for n in 0..60_u8 {
            let local = ["127.0.0.1:0".parse().unwrap()];
            let endpoint = byway::Endpoint::bind(byway::EndpointOptions::new(local)).unwrap();
            let association = endpoint.connect(&to, 5001).await.unwrap();
            let (ppid, payload) = match n % 6 {
                0 => (byway_tls::HANDSHAKE_PPID, vec![n; 3]),
                1 => (
                    byway_tls::HANDSHAKE_PPID,
                    [&[1, 0][..], &contents(900)].concat(),
                ),
                2 => (
                    byway_tls::HANDSHAKE_PPID,
                    [&[1, 1][..], &contents(90)].concat(),
                ),
                3 => (byway_tls::SEALED_PPID, contents(100)),
                4 => (0, contents(40_000)),
                // Says nothing.
                _ => (0, Vec::new()),
            };
            if !payload.is_empty() {
                let mut message = byway::Message::new(u16::from(n) % 3, payload);
                message.ppid = ppid;
                association.send(message).await.unwrap();
            }
            all.push((endpoint, association));
        }
        all
    });
    let out = case.send(&recv.ticket);
    assert!(out.status.success(), "{}", text(&out.stderr));
    assert!(case.arrived().unwrap() == contents(100_000));
    let (status, _, said) = recv.finish();
    assert_eq!(status, Some(0), "{said}");
    drop(runtime.enter());
    drop(all);
}

/// 1,024 may ask at once, 256 of one host.
#[test]
fn hosts_that_take_all_places_to_ask_and_say_nothing_keep_nobody_out() {
    let case = Case::new("silent-hosts", 100_000);
    let recv = case.recv(&[]);
    let to = recv.address();
    let mut silent: Vec<Raw> = (2..=6).map(|host| Raw::from_host(host, to)).collect();
    for port in 0..250 {
        for raw in &mut silent {
            raw.join(4000 + port);
            // Below the rate at which newcomers are answered.
            std::thread::sleep(std::time::Duration::from_millis(2));
        }
    }
    let out = case.send(&recv.ticket);
    assert!(out.status.success(), "{}", text(&out.stderr));
    assert!(case.arrived().unwrap() == contents(100_000));
    let (status, _, said) = recv.finish();
    assert_eq!(status, Some(0), "{said}");
    let gone = "too many are asking to be let in at once";
    assert!(said.contains(gone), "{said}");
}

#[test]
fn a_dry_run_says_what_would_be_sent_and_sends_nothing() {
    let case = Case::new("dry", 10_000);
    let recv = case.recv(&[]);
    let words = [&case.words(&recv.ticket)[..], &["--dry-run"]].concat();
    let out = run(&words);
    let said = text(&out.stdout);
    assert!(out.status.success(), "{}", text(&out.stderr));
    let expected = format!(
        "treasure-map.bin: 10.0 kB\nwould send 10.0 kB to {}, encrypted\n",
        recv.address()
    );
    assert_eq!(said, expected);
    let plain = run(&[
        "send",
        &case.file,
        "--to",
        "127.0.0.1",
        "--dry-run",
        "--json",
    ]);
    let value: serde_json::Value = serde_json::from_slice(&plain.stdout).unwrap();
    assert_eq!(value["encrypted"], false);
    assert_eq!(value["to"][0], "127.0.0.1:9899");
    assert_eq!(value["files"][0]["bytes"], 10_000);
    assert!(case.nothing_came());
    // At a limit, all of it arrives.
    let words = [&case.words(&recv.ticket)[..], &["--limit", "1Mbit/s"]].concat();
    let out = run(&words);
    assert!(out.status.success(), "{}", text(&out.stderr));
    assert!(case.arrived().unwrap() == contents(10_000));
}

/// A sender that is killed and run again is the same one for the ticket, and goes on.
#[test]
fn a_ticket_lets_its_sender_come_back() {
    let case = Case::new("back", 30_000_000);
    let recv = case.recv(&[]);
    let mut send = byway()
        .args(case.words(&recv.ticket))
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let inbox = Path::new(&case.inbox);
    peers::wait_for_more(inbox, "treasure-map.bin", 1_000_000);
    send.kill().unwrap();
    send.wait().unwrap();
    // Nobody else may use it meanwhile.
    let out = stranger().args(case.words(&recv.ticket)).output().unwrap();
    refused(&out, "used already", &recv.ticket);
    let out = case.send(&recv.ticket);
    let said = text(&out.stderr);
    assert!(
        out.status.success() && said.contains("resumes at"),
        "{said}"
    );
    assert!(case.arrived().unwrap() == contents(30_000_000));
    assert_eq!(recv.finish().0, Some(0));
}
