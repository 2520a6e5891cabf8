//! `byway top`: finds the running commands of its user, and leaves the terminal as it was.

use crate::open_metrics::scrape;
use crate::peers::{
    Server, byway, endless, ends_within, first_line, folder, metrics_at, signal, text,
    wait_for_more, wait_until,
};
use crate::relay::Relay;
use crate::tunnel;
use rustix::fs::{Mode, OFlags, open};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, Winsize, tcgetattr, tcsetwinsize};
use serde_json::Value;
use std::fs::{File, Permissions, set_permissions};
use std::io::{Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Where processes of one test find each other. Names of sockets have 107 bytes at most, and the
/// folder of the tests may have more.
struct Place(PathBuf);

impl Place {
    fn new(name: &str) -> Place {
        let dir = std::env::temp_dir().join(format!("byway-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&dir);
        std::fs::create_dir(&dir).unwrap();
        set_permissions(&dir, Permissions::from_mode(0o700)).unwrap();
        Place(dir)
    }

    fn byway(&self) -> Command {
        let mut command = byway();
        command.env("XDG_RUNTIME_DIR", &self.0);
        command
    }

    fn top(&self, args: &[&str]) -> (Option<i32>, String, String) {
        let out = self.byway().arg("top").args(args).output().unwrap();
        (out.status.code(), text(&out.stdout), text(&out.stderr))
    }

    fn socket(&self, of: &Child) -> PathBuf {
        self.0.join(format!("byway/{}.sock", of.id()))
    }

    /// A transfer between two addresses at each side that goes on.
    fn transfer(&self, name: &str) -> (Server, Child) {
        let dir = folder(name);
        let inbox = dir.join("inbox");
        let args = ["recv", "--dir", inbox.to_str().unwrap()];
        let server = Server::start_by(self.byway(), &args);
        let sender = self
            .byway()
            .args(["send", endless(&dir).to_str().unwrap()])
            .args(["--to", &server.addresses, "--bind", "127.0.0.3,127.0.0.4"])
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        wait_for_more(&inbox, "endless.bin", 1_000_000);
        (server, sender)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn end(server: Server, mut sender: Child) {
    let mut server = server;
    for child in [&mut sender, &mut server.child] {
        child.kill().unwrap();
        child.wait().unwrap();
    }
}

/// Asks a process as `byway top` does.
fn ask(socket: &Path, line: &str) -> String {
    let mut unix = UnixStream::connect(socket).unwrap();
    unix.set_read_timeout(Some(Duration::from_secs(30)))
        .unwrap();
    unix.write_all(line.as_bytes()).unwrap();
    unix.shutdown(std::net::Shutdown::Write).unwrap();
    let mut answer = String::new();
    // A reset is no answer, too: what was said was too long to be read.
    let _ = unix.read_to_string(&mut answer);
    answer
}

#[test]
fn one_table_has_both_ends_and_both_paths_and_a_path_is_preferred_by_its_number() {
    let place = Place::new("top");
    let (status, out, said) = place.top(&["--once"]);
    assert_eq!((status, out.as_str()), (Some(0), ""), "{said}");
    assert!(said.contains("no send, recv"), "{said}");

    let (server, sender) = place.transfer("top-once");
    let (status, table, said) = place.top(&["--once"]);
    assert_eq!(status, Some(0), "{said}");
    for process in ["recv", "send"] {
        assert!(table.contains(&format!("{process} (process ")), "{table}");
    }
    for remote in server.addresses.split(',') {
        assert!(table.contains(remote), "{table}");
    }
    assert_eq!(table.matches("#0 ESTABLISHED").count(), 2, "{table}");
    assert_eq!(table.matches(" active ").count(), 4, "{table}");
    assert!(
        table.lines().all(|line| line.chars().count() <= 80),
        "{table}"
    );
    // The columns of rates have no room for their unit.
    assert!(table.contains("path to (rates: bit/s)"), "{table}");
    // Without a terminal it is one table, too.
    let (status, same, _) = place.top(&[]);
    assert_eq!(
        (status, same.lines().count()),
        (Some(0), table.lines().count())
    );

    let sender_now = || {
        let (_, json, _) = place.top(&["--json"]);
        let found: Value = serde_json::from_str(&json).unwrap();
        let all = found["processes"].as_array().unwrap();
        all.iter().find(|p| p["command"] == "send").unwrap().clone()
    };
    let primary = |process: &Value| {
        let paths = process["associations"][0]["paths"]
            .as_array()
            .unwrap()
            .clone();
        paths.iter().position(|p| p["primary"] == true).unwrap()
    };
    let before = sender_now();
    let other = 1 - primary(&before);
    let id = before["associations"][0]["id"].as_str().unwrap();
    let socket = place.socket(&sender);
    let answer = ask(&socket, &format!("prefer {id} {other}\n"));
    assert_eq!(answer, "{\"ok\":true}\n");
    wait_until(|| primary(&sender_now()) == other);
    let now = sender_now();
    assert_eq!(
        now["associations"][0]["paths"][other]["in_use"], true,
        "{now}"
    );
    assert!(now["associations"][0]["moves"].as_u64() > Some(0), "{now}");
    let used = |process: &Value, path: usize| {
        let path = process["associations"][0]["paths"][path].clone();
        (path["in_use"] == true, path["backup"] == true)
    };
    for (word, resting, in_use) in [("rest", true, 1 - other), ("use", false, other)] {
        let answer = ask(&socket, &format!("{word} {id} {other}\n"));
        assert_eq!(answer, "{\"ok\":true}\n");
        wait_until(|| used(&sender_now(), other) == (in_use == other, resting));
        assert!(used(&sender_now(), in_use).0);
    }
    for wrong in [
        "prefer 0.77 0\n",
        "prefer 0.1 7\n",
        "rest 0.77 0\n",
        "rest 0.1 7\n",
        "use x y\n",
        "prefer\n",
        "prefer x y\n",
        "\u{1b}\n",
    ] {
        assert!(ask(&socket, wrong).contains("\"ok\":false"), "{wrong:?}");
    }
    // No line, or one that does not end.
    assert_eq!(ask(&socket, ""), "");
    assert_eq!(ask(&socket, &"a".repeat(10_000)), "");
    end(server, sender);
}

#[test]
fn a_tunnel_says_how_many_connections_it_carries_and_has_carried() {
    let place = Place::new("top-tunnel");
    let target = tunnel::tcp_server(tunnel::echo);
    let args = ["serve", "--allow", &target, "--metrics", "127.0.0.1:0"];
    let serve = Server::start_by(place.byway(), &args);
    let metrics = serve.metrics.unwrap();
    let forward = tunnel::Forward::start_by(place.byway(), &[""], &serve.addresses);
    let connection = || {
        let mut tcp = forward.connect(0);
        tcp.write_all(b"x").unwrap();
        tcp.read_exact(&mut [0]).unwrap();
        tcp
    };
    let told = |open: u64, so_far: u64| {
        let (_, json, _) = place.top(&["--json"]);
        let found: Value = serde_json::from_str(&json).unwrap();
        let all = found["processes"].as_array().unwrap();
        let of = serde_json::json!({"connections": open, "connections_opened": so_far});
        let is = |p: &Value| p["tunnel"] == of && p["associations"][0]["tunnel"] == of;
        all.len() == 2 && all.iter().all(is)
    };
    let mut open = vec![connection(), connection(), connection()];
    wait_until(|| told(3, 3));
    open.truncate(1);
    wait_until(|| told(1, 3));
    drop(connection());
    wait_until(|| told(1, 4));
    let (_, table, _) = place.top(&["--once"]);
    let words = "#0 ESTABLISHED, 1 TCP connection open, 4 so far";
    assert_eq!(table.matches(words).count(), 2, "{table}");
    let scraped = || {
        let scrape = scrape(metrics);
        [
            "byway_tunnel_connections",
            "byway_tunnel_connections_opened_total",
        ]
        .map(|name| scrape.values(name, &[]))
    };
    wait_until(|| scraped() == [[1.0], [4.0]]);
    tunnel::end(serve);
}

#[test]
fn a_socket_is_its_users_alone_and_goes_with_its_process() {
    let place = Place::new("top-sockets");
    let (server, mut sender) = place.transfer("top-gone");
    let (mine, other) = (place.socket(&sender), place.socket(&server.child));
    let mode = |path: &Path| std::fs::metadata(path).unwrap().mode() & 0o777;
    assert_eq!((mode(&mine), mode(&place.0.join("byway"))), (0o600, 0o700));
    signal(&sender, "TERM");
    assert_eq!(ends_within(&mut sender, Duration::from_secs(10)), Some(143));
    assert!(!mine.exists());

    // One that is stopped is named, and does not hold the others up.
    signal(&server.child, "STOP");
    let (status, table, said) = place.top(&["--once"]);
    assert_eq!(status, Some(0), "{said}");
    assert!(
        table.contains("it does not answer; is it stopped?"),
        "{table}"
    );
    let mut server = server;
    server.child.kill().unwrap();
    server.child.wait().unwrap();
    assert!(other.exists());
    let (_, json, _) = place.top(&["--json"]);
    let found: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(
        found["processes"].as_array().map(Vec::len),
        Some(0),
        "{found}"
    );
    assert!(!other.exists(), "a dead socket is removed");

    // What others can write to is not read.
    set_permissions(place.0.join("byway"), Permissions::from_mode(0o770)).unwrap();
    let (status, _, said) = place.top(&["--once"]);
    assert_eq!(status, Some(1), "{said}");
    assert!(said.contains("no folder of this user's alone"), "{said}");
}

/// The first path goes by a relay, which is cut.
#[test]
fn a_path_that_dies_is_told_with_its_cause_by_top_and_by_the_metrics() {
    let place = Place::new("top-cut");
    let dir = folder("top-cut");
    let inbox = dir.join("inbox");
    let args = ["recv", "--dir", inbox.to_str().unwrap()];
    let server = Server::start_by(place.byway(), &args);
    let [first, second] = server.addresses.split(',').collect::<Vec<_>>()[..] else {
        panic!("two addresses: {}", server.addresses);
    };
    let cut = Arc::new(AtomicBool::new(false));
    let is_cut = cut.clone();
    let relay = Relay::start(first.parse().unwrap(), move |way, packet| {
        match is_cut.load(Ordering::Relaxed) {
            true => Vec::new(),
            false => vec![(way, packet)],
        }
    });
    let mut sender = place
        .byway()
        .args([
            "send",
            endless(&dir).to_str().unwrap(),
            "--limit",
            "20Mbit/s",
        ])
        .args(["--to", &format!("{},{second}", relay.address)])
        .args(["--bind", "127.0.0.1,127.0.0.2", "--metrics", "127.0.0.1:0"])
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let (line, mut said) = first_line(&mut sender);
    let metrics = metrics_at(&line).unwrap_or_else(|| panic!("{line}"));
    std::thread::spawn(move || std::io::copy(&mut said, &mut std::io::sink()));
    wait_for_more(&inbox, "endless.bin", 1_000_000);
    let of = [("path", "0")];
    let failures = || scrape(metrics).values("byway_path_failures_total", &of)[0];
    let before = failures();

    cut.store(true, Ordering::Relaxed);
    wait_until(|| failures() > before);
    let remote = relay.address.to_string();
    let (_, table, _) = place.top(&["--once"]);
    assert!(table.contains("     in doubt: "), "{table}");
    let (_, json, _) = place.top(&["--json"]);
    let found: Value = serde_json::from_str(&json).unwrap();
    let all = found["processes"].as_array().unwrap();
    let process = all.iter().find(|p| p["command"] == "send").unwrap();
    let association = &process["associations"][0];
    let path = &association["paths"][0];
    assert_eq!(path["remote"], remote.as_str(), "{association}");
    assert!(
        path["trouble"].is_string() && path["state"] != "active",
        "{association}"
    );
    assert!(association["moves"].as_u64() > Some(0), "{association}");
    let what = association["latest"]["what"].as_str().unwrap();
    assert!(what.contains(&remote), "{what}");
    let scrape = scrape(metrics);
    let in_use = scrape.values("byway_path_in_use", &[("path", "1")]);
    assert_eq!(in_use, [1.0]);
    let active = scrape.values("byway_path_state", &[("path", "0"), ("state", "active")]);
    assert_eq!(active, [0.0]);
    end(server, sender);
}

/// A process that says what it likes.
#[test]
fn what_a_process_says_does_not_steer_the_terminal() {
    let place = Place::new("top-liar");
    let dir = place.0.join("byway");
    std::fs::create_dir(&dir).unwrap();
    set_permissions(&dir, Permissions::from_mode(0o700)).unwrap();
    for (pid, answer) in [
        (11, "{\"schema\":\"byway.process/9\"}\n".to_owned()),
        (12, "garbage\u{1b}[2J\n".to_owned()),
        (13, String::new()),
        (14, "{\"schema\":\"byway.process/1\",\"pid\":14,\"command\":\"\\u001b[2Jx\",\"version\":\"\",\"endpoint\":null,\"associations\":[]}\n".to_owned()),
    ] {
        let listener = UnixListener::bind(dir.join(format!("{pid}.sock"))).unwrap();
        std::thread::spawn(move || {
            for unix in listener.incoming() {
                let mut unix = unix.unwrap();
                let _ = unix.read(&mut [0; 64]);
                let _ = unix.write_all(answer.as_bytes());
            }
        });
    }
    std::fs::write(dir.join("15.sock"), "no socket").unwrap();
    let (status, table, said) = place.top(&["--once"]);
    assert_eq!(status, Some(0), "{said}");
    assert!(!table.contains('\u{1b}'), "{table:?}");
    for pid in [11, 12] {
        assert!(
            table.contains(&format!("process {pid}: it is of another release")),
            "{table}"
        );
    }
    assert!(
        table.contains("process 13: its answer was cut short"),
        "{table}"
    );
    assert!(dir.join("15.sock").exists());
}

/// A terminal of 80 columns with `byway top` in it.
struct Terminal {
    child: Child,
    ours: File,
    theirs: OwnedFd,
    shown: Arc<Mutex<String>>,
}

impl Terminal {
    fn start(place: &Place, columns: u16) -> Terminal {
        let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&ours).unwrap();
        unlockpt(&ours).unwrap();
        let name = ptsname(&ours, Vec::new()).unwrap();
        let flags = OFlags::RDWR | OFlags::NOCTTY;
        let theirs = open(&*name, flags, Mode::empty()).unwrap();
        let size = Winsize {
            ws_row: 24,
            ws_col: columns,
            ws_xpixel: 0,
            ws_ypixel: 0,
        };
        tcsetwinsize(&ours, size).unwrap();
        let end = || Stdio::from(theirs.try_clone().unwrap());
        let child = place
            .byway()
            .args(["top"])
            .stdin(end())
            .stdout(end())
            .stderr(end())
            .spawn()
            .unwrap();
        let ours = File::from(ours);
        let shown = Arc::new(Mutex::new(String::new()));
        let (mut reader, screen) = (ours.try_clone().unwrap(), shown.clone());
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(n) = reader.read(&mut bytes) {
                screen.lock().unwrap().push_str(&text(&bytes[..n]));
            }
        });
        Terminal {
            child,
            ours,
            theirs,
            shown,
        }
    }

    fn shown(&self) -> String {
        self.shown.lock().unwrap().clone()
    }

    fn shows(&self, part: &str) {
        wait_until(|| self.shown().contains(part));
    }

    /// Whether lines are edited and echoed, as a shell finds them.
    fn is_as_before(&self) -> bool {
        let modes = tcgetattr(self.theirs.as_fd()).unwrap().local_modes;
        modes.contains(LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG)
    }

    fn ends_with(mut self, status: i32) {
        let limit = Duration::from_secs(10);
        assert_eq!(ends_within(&mut self.child, limit), Some(status));
        assert!(self.is_as_before());
        // The cursor, and the screen of before.
        self.shows("\u{1b}[?25h\u{1b}[?1049l");
    }
}

#[test]
fn on_a_terminal_it_lives_until_q_ctrl_c_or_a_signal_and_puts_the_terminal_back() {
    let place = Place::new("top-live");
    let (server, sender) = place.transfer("top-live");
    let mut first = Terminal::start(&place, 80);
    first.shows("q ends");
    first.shows("path to (rates: bit/s)");
    first.shows("loss: % of payload");
    assert!(!first.is_as_before());
    for remote in server.addresses.split(',') {
        first.shows(remote);
    }
    // The second look has losses of a second; a path is chosen and preferred.
    first.shows(" %");
    first.ours.write_all(b"p").unwrap();
    first.shows("choose a path first");
    first.ours.write_all(b"\x1b[B\x1b[Bp").unwrap();
    first.shows("it is the primary path now");
    first.ours.write_all(b"r").unwrap();
    first.shows("it rests");
    // The next look knows of it.
    first.shows(">b 127.0.0.");
    first.ours.write_all(b"r").unwrap();
    first.shows("it rests no more");
    first.ours.write_all(b"q").unwrap();
    first.ends_with(0);

    let mut second = Terminal::start(&place, 140);
    second.shows(" -> 127.0.0.1:");
    second.ours.write_all(b"\x03").unwrap();
    second.ends_with(130);

    let third = Terminal::start(&place, 80);
    third.shows("q ends");
    signal(&third.child, "TERM");
    third.ends_with(143);
    end(server, sender);
}
