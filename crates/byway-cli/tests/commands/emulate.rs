//! `byway emulate --relay` and `byway run --real`: a scenario's network between sockets of this host,
//! without any rights.

use crate::peers::{byway, ends_within, folder, run, signal, text};
use rustix::fs::{Mode, OFlags, open};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, tcgetattr};
use serde_json::Value;
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, UdpSocket};
use std::path::PathBuf;
use std::process::{Child, ChildStderr, Stdio};
use std::time::Duration;

/// For what hangs.
const SOON: Duration = Duration::from_secs(10);

/// Two fast paths.
const PATHS: &str = "[[path]]\nname = \"a\"\nrate = \"100 Mbit/s\"\ndelay = \"1 ms\"\n\
    [[path]]\nname = \"b\"\nrate = \"100 Mbit/s\"\ndelay = \"1 ms\"\n\
    [traffic]\nkind = \"bulk\"\nsize = \"300 kB\"\n[[policy]]\nname = \"one\"\n";

fn scenario(name: &str, text: &str) -> PathBuf {
    let file = folder(name).join("s.toml");
    std::fs::write(&file, text).unwrap();
    file
}

/// A `byway emulate --relay` that runs.
struct Relay {
    child: Child,
    /// Where to send to, a path each.
    listens: Vec<SocketAddr>,
    said: BufReader<ChildStderr>,
}

impl Relay {
    /// Relays each of the first paths to these targets.
    fn start(name: &str, text: &str, targets: &[SocketAddr], more: &[&str]) -> Relay {
        Relay::start_from(name, text, targets, more, Stdio::null())
    }

    fn start_from(
        name: &str,
        text: &str,
        targets: &[SocketAddr],
        more: &[&str],
        input: Stdio,
    ) -> Relay {
        let mut command = byway();
        command.arg("emulate").arg(scenario(name, text)).args(more);
        for target in targets {
            command.args(["--relay", &format!("0={target}")]);
        }
        let mut child = command
            .stdin(input)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut said = BufReader::new(child.stderr.take().unwrap());
        let mut listens = Vec::new();
        while listens.len() < targets.len() {
            let mut line = String::new();
            assert!(said.read_line(&mut line).unwrap() > 0, "it has ended");
            let mut words = line.split_whitespace();
            let address = words.find_map(|word| word.parse::<SocketAddr>().ok());
            listens.extend(address);
        }
        Relay {
            child,
            listens,
            said,
        }
    }

    /// Interrupts it: what it says, and the table, with the six numbers of each line.
    fn interrupted(mut self) -> (String, Vec<[u64; 6]>) {
        signal(&self.child, "INT");
        assert_eq!(ends_within(&mut self.child, SOON), Some(130));
        self.told()
    }

    fn told(mut self) -> (String, Vec<[u64; 6]>) {
        let (mut table, mut said) = (String::new(), String::new());
        let mut out = self.child.stdout.take().unwrap();
        out.read_to_string(&mut table).unwrap();
        self.said.read_to_string(&mut said).unwrap();
        let row = |line: &str| {
            let mut words = line.split_whitespace().rev().map(str::parse);
            let mut row = [0; 6];
            for cell in row.iter_mut().rev() {
                *cell = words.next()?.ok()?;
            }
            Some(row)
        };
        let rows = table.lines().filter_map(row).collect();
        (said, rows)
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Answers each datagram with the port from which it came.
fn echo() -> SocketAddr {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let at = socket.local_addr().unwrap();
    std::thread::spawn(move || {
        let mut block = [0; 2048];
        while let Ok((n, from)) = socket.recv_from(&mut block) {
            let answer = format!("{} from {}", text(&block[..n]), from.port());
            socket.send_to(answer.as_bytes(), from).unwrap();
        }
    });
    at
}

fn client() -> UdpSocket {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.set_read_timeout(Some(SOON)).unwrap();
    socket
}

fn ask(socket: &UdpSocket, to: SocketAddr, words: &str) -> String {
    socket.send_to(words.as_bytes(), to).unwrap();
    let mut block = [0; 2048];
    let (n, from) = socket.recv_from(&mut block).unwrap();
    assert_eq!(
        from, to,
        "an answer comes from where the client has sent to"
    );
    text(&block[..n])
}

#[test]
fn each_answer_comes_back_to_the_client_that_asked() {
    let target = echo();
    let relay = Relay::start("relay-answers", PATHS, &[target, target], &[]);
    let to = relay.listens.clone();
    let clients = [client(), client(), client()];
    let mut ports = Vec::new();
    for round in 0..3 {
        for (i, socket) in clients.iter().enumerate() {
            for (path, to) in to.iter().enumerate() {
                let words = format!("{round} {i} {path}");
                let answer = ask(socket, *to, &words);
                let (asked, port) = answer.split_once(" from ").unwrap();
                assert_eq!(asked, words);
                ports.push((i, path, port.to_owned()));
            }
        }
    }
    ports.sort();
    ports.dedup();
    assert_eq!(
        ports.len(),
        6,
        "a client keeps its port at the target: {ports:?}"
    );
    // A client that changes its port gets its answers there.
    let moved = client();
    assert!(ask(&moved, to[0], "moved").starts_with("moved from "));
    let (said, rows) = relay.interrupted();
    assert!(said.contains("interrupted"), "{said}");
    assert_eq!(rows.len(), 4);
    for (row, packets) in rows.iter().zip([10, 10, 9, 9]) {
        assert_eq!(*row, [packets, packets, 0, 0, 0, 0]);
    }
}

#[test]
fn a_link_drops_what_its_scenario_says() {
    let lossy = PATHS.replacen("delay = \"1 ms\"", "delay = \"1 ms\"\nloss = \"100 %\"", 1);
    let target = echo();
    let relay = Relay::start("relay-loss", &lossy, &[target, target], &[]);
    let socket = client();
    for _ in 0..5 {
        socket.send_to(b"lost", relay.listens[0]).unwrap();
    }
    assert!(ask(&socket, relay.listens[1], "kept").starts_with("kept"));
    // 1500 bytes with the headers of IPv4 and UDP, and one more: as where Don't Fragment is set.
    socket.send_to(&[b'x'; 1472], relay.listens[0]).unwrap();
    socket.send_to(&[b'x'; 1473], relay.listens[0]).unwrap();
    ask(&socket, relay.listens[1], "kept");
    let (said, rows) = relay.interrupted();
    assert!(said.contains("a: 1 datagram longer than the MTU"), "{said}");
    assert_eq!(rows[0], [6, 0, 6, 0, 0, 0]);
    assert_eq!(rows[2], [2, 2, 0, 0, 0, 0]);
}

#[test]
fn a_target_that_is_not_there_is_told_and_may_come_later() {
    let free = UdpSocket::bind("127.0.0.1:0").unwrap();
    let target = free.local_addr().unwrap();
    drop(free);
    let mut relay = Relay::start("relay-nobody", PATHS, &[target], &[]);
    let socket = client();
    // The second one learns what became of the first.
    let mut said = String::new();
    while !said.contains("nothing listens at") {
        socket.send_to(b"hello", relay.listens[0]).unwrap();
        said.clear();
        relay.said.read_line(&mut said).unwrap();
    }
    assert!(said.contains(&target.to_string()), "{said}");
    let late = UdpSocket::bind(target).unwrap();
    late.set_read_timeout(Some(SOON)).unwrap();
    socket.send_to(b"now", relay.listens[0]).unwrap();
    let mut block = [0; 99];
    let (n, _) = late.recv_from(&mut block).unwrap();
    assert_eq!(&block[..n], b"now");
    let (said, _) = relay.interrupted();
    assert!(said.contains("found nothing that listens"), "{said}");
}

#[test]
fn keys_cut_a_path_and_restore_it() {
    let target = echo();
    let (reader, mut writer) = std::io::pipe().unwrap();
    let targets = [target, target];
    let mut relay = Relay::start_from("relay-keys", PATHS, &targets, &["--keys"], reader.into());
    let to = relay.listens.clone();
    let mut hears = |part: &str| {
        let mut line = String::new();
        while !line.contains(part) {
            line.clear();
            assert!(relay.said.read_line(&mut line).unwrap() > 0, "no {part}");
        }
    };
    hears("1 a, 2 b");
    let socket = client();
    ask(&socket, to[0], "before");
    writer.write_all(b"1").unwrap();
    hears("a is cut");
    // The links learn of it within a moment, and then nothing passes.
    socket
        .set_read_timeout(Some(Duration::from_millis(300)))
        .unwrap();
    let mut block = [0; 99];
    let passes = |_: &u32| {
        socket.send_to(b"cut?", to[0]).unwrap();
        socket.recv_from(&mut block).is_ok()
    };
    assert!((0..100).take_while(passes).count() < 100);
    socket.set_read_timeout(Some(SOON)).unwrap();
    ask(&socket, to[1], "the other path");
    // No path has this number, and other keys do nothing.
    writer.write_all(b"9x1").unwrap();
    hears("a is restored");
    let again = |_: &u32| {
        socket
            .set_read_timeout(Some(Duration::from_millis(300)))
            .unwrap();
        socket.send_to(b"back?", to[0]).unwrap();
        socket.recv_from(&mut [0; 99]).is_err()
    };
    assert!((0..100).take_while(again).count() < 100);
    writer.write_all(b"q").unwrap();
    assert_eq!(ends_within(&mut relay.child, SOON), Some(0));
    let (_, rows) = relay.told();
    assert!(rows[0][5] > 0, "{rows:?}");
    assert_eq!(rows[2], [1, 1, 0, 0, 0, 0]);
}

#[test]
fn a_terminal_gives_keys_at_once_and_is_left_as_it_was() {
    let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&ours).unwrap();
    unlockpt(&ours).unwrap();
    let name = ptsname(&ours, Vec::new()).unwrap();
    let theirs = open(&*name, OFlags::RDWR | OFlags::NOCTTY, Mode::empty()).unwrap();
    let before = tcgetattr(&theirs).unwrap().local_modes;
    let target = echo();
    let input = Stdio::from(theirs.try_clone().unwrap());
    let mut relay = Relay::start_from("relay-terminal", PATHS, &[target, target], &[], input);
    let mut line = String::new();
    relay.said.read_line(&mut line).unwrap();
    assert!(line.contains("keys cut and restore"), "{line}");
    let now = tcgetattr(&theirs).unwrap().local_modes;
    assert!(!now.intersects(LocalModes::ICANON | LocalModes::ECHO));
    assert!(now.contains(LocalModes::ISIG), "Ctrl-C is a signal");
    File::from(ours.try_clone().unwrap())
        .write_all(b"2")
        .unwrap();
    line.clear();
    relay.said.read_line(&mut line).unwrap();
    assert!(line.contains("b is cut"), "{line}");
    relay.interrupted();
    assert_eq!(tcgetattr(&theirs).unwrap().local_modes, before);
}

#[test]
fn a_command_runs_beside_the_relay_and_ends_it() {
    let target = echo();
    let file = scenario("relay-command", PATHS);
    let file = file.to_str().unwrap();
    let relay = format!("0={target}");
    let emulate = |command: &str| {
        let out = run(&[
            "emulate", file, "--relay", &relay, "--", "sh", "-c", command,
        ]);
        (out.status.code(), text(&out.stdout), text(&out.stderr))
    };
    let (status, out, err) = emulate("echo done");
    assert_eq!(status, Some(0), "{err}");
    assert!(
        out.starts_with("done\n") && out.contains("delivered"),
        "{out}"
    );
    let out = run(&[
        "emulate", file, "--relay", &relay, "--json", "--for", "10 ms",
    ]);
    let [told, counted] =
        [&out.stderr, &out.stdout].map(|s| serde_json::from_slice::<serde_json::Value>(s).unwrap());
    assert_eq!(told["paths"][0]["arrives_at"], target.to_string());
    assert_eq!(counted["schema"], "byway.emulate/1");
    assert_eq!(counted["paths"][0]["to_receiver"]["packets"], 0);
    let (status, _, err) = emulate("exit 7");
    assert_eq!(status, Some(1));
    assert!(err.contains("the command ended with"), "{err}");
    let out = run(&["emulate", file, "--relay", &relay, "--for", "10 ms"]);
    assert_eq!(out.status.code(), Some(0), "{}", text(&out.stderr));
}

#[test]
fn what_is_wrong_is_said_before_anything_runs() {
    let file = scenario("relay-wrong", PATHS);
    let file = file.to_str().unwrap();
    let taken = UdpSocket::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let in_use = format!("{port}=9");
    for (args, status, part) in [
        (
            &["--relay", in_use.as_str()][..],
            1,
            "another program has this port",
        ),
        (
            &["--relay", "192.0.2.1:7001=9"],
            1,
            "does not have the address",
        ),
        (
            &["--relay", "0=9", "--relay", "0=9", "--relay", "0=9"],
            2,
            "the scenario has 2 paths",
        ),
        (&["--relay", "7001"], 2, "expected LISTEN=TARGET"),
        (&["--relay", "7001=0"], 2, "nothing can listen there"),
        (&["--relay", "7001=7001"], 2, "would relay to itself"),
        (&["--relay", "x=7001"], 2, "found \"x\""),
        (
            &["--relay", "7001=127.0.0.1:9@::1"],
            2,
            "one is IPv4, the other IPv6",
        ),
        (&["--relay", "7001=9@here"], 2, "expected an IP address"),
        (
            &["--relay", "7001=9", "--name", "x"],
            2,
            "cannot be used with",
        ),
        (
            &["--relay", "7001=9", "--receiver", "true"],
            2,
            "--receiver needs a command",
        ),
        (&["--keys"], 2, "--keys needs a command"),
        (&["--for", "1 s"], 2, "--relay"),
    ] {
        let out = run(&[&["emulate", file], args].concat());
        let err = text(&out.stderr);
        assert_eq!(out.status.code(), Some(status), "{args:?}: {err}");
        assert!(err.contains(part), "{args:?}: {err}");
    }
    drop(taken);
    let bad = scenario(
        "relay-bad-trace",
        &PATHS.replacen("rate = \"100 Mbit/s\"", "trace = \"t\"", 1),
    );
    std::fs::write(bad.with_file_name("t"), "1\n2\n1\n").unwrap();
    let out = run(&["emulate", bad.to_str().unwrap(), "--relay", "0=9"]);
    let err = text(&out.stderr);
    assert_eq!(out.status.code(), Some(2), "{err}");
    assert!(
        err.contains("s.toml:3:") && err.contains("/t:3: 1 comes after 2"),
        "{err}"
    );
}

#[test]
fn a_scenario_with_a_trace_and_jitter_is_simulated_and_run_over_sockets() {
    let text_of = PATHS.replacen(
        "rate = \"100 Mbit/s\"",
        "trace = \"up.trace\"\njitter = \"2 ms\"",
        1,
    );
    let file = scenario("real-trace", &text_of);
    // Twelve packets each 10 ms: 14 Mbit/s.
    let lines: String = (0..12)
        .map(|i| format!("{}\n", 1 + i % 12 * 9 / 11))
        .collect();
    std::fs::write(file.with_file_name("up.trace"), lines).unwrap();
    let out_folder = file.with_file_name("out");
    for more in [&[][..], &["--real"]] {
        let args = [
            "run",
            file.to_str().unwrap(),
            "--json",
            "--out",
            out_folder.to_str().unwrap(),
        ];
        let out = run(&[&args, more].concat());
        let err = text(&out.stderr);
        assert_eq!(out.status.code(), Some(0), "{err}");
        let all: Value = serde_json::from_slice(&out.stdout).unwrap();
        let result = &all["results"][0];
        assert_eq!(result["outcome"]["is"], "complete", "{result}");
        assert_eq!(result["delivered_bytes"], 300_000);
        assert_eq!(result["paths"].as_array().unwrap().len(), 2);
        assert!(
            result["paths"][0]["data_bytes"].as_u64() >= Some(300_000),
            "{result}"
        );
        let real = all["scenario"]["description"]
            .as_str()
            .unwrap()
            .contains("In real time");
        assert_eq!(real, !more.is_empty());
        let words = all["scenario"]["paths"][0]["words"].as_str().unwrap();
        assert!(
            words.contains("a trace of") && words.contains("2 ms of jitter"),
            "{words}"
        );
        assert!(out_folder.join("report.html").exists());
    }
}

#[test]
fn a_path_that_dies_is_left_over_sockets_too() {
    let events = "[[event]]\nat = \"100 ms\"\npath = 1\ndo = \"down\"\n";
    let slow = PATHS.replace("100 Mbit/s", "5 Mbit/s");
    let settings = "preset = \"byway\"\n";
    let file = scenario("real-death", &format!("{slow}{settings}{events}"));
    let out_folder = file.with_file_name("out");
    let args = [
        "run",
        file.to_str().unwrap(),
        "--real",
        "--json",
        "--out",
        out_folder.to_str().unwrap(),
    ];
    let out = run(&args);
    let err = text(&out.stderr);
    assert_eq!(out.status.code(), Some(0), "{err}");
    let all: Value = serde_json::from_slice(&out.stdout).unwrap();
    let result = &all["results"][0];
    assert_eq!(result["outcome"]["is"], "complete", "{result}");
    assert!(
        result["paths"][1]["data_bytes"].as_u64() > Some(0),
        "{result}"
    );
    assert!(result["failovers"].as_u64() > Some(0), "{result}");
}

#[test]
fn settings_of_the_simulator_alone_are_refused() {
    let file = scenario("real-ns2", &format!("{PATHS}preset = \"ns2\"\n"));
    let out = run(&["run", file.to_str().unwrap(), "--real"]);
    let err = text(&out.stderr);
    assert_eq!(out.status.code(), Some(2), "{err}");
    assert!(err.contains("\"one\" has settings ns2.*"), "{err}");
}
