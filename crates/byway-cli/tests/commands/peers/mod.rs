//! Processes of the command that talk to each other over loopback.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::io::{BufRead, BufReader, Read};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// Timers so short that a lost peer is noticed soon.
pub(crate) const HASTY: [&str; 10] = [
    "--set",
    "rto.min=20ms",
    "--set",
    "rto.initial=50ms",
    "--set",
    "rto.max=100ms",
    "--set",
    "failure.association_max_retrans=4",
    "--set",
    "failure.path_max_retrans=2",
];

pub(crate) fn byway() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_byway"));
    command.env_remove("NO_COLOR");
    // Who sends: not the user who runs the tests.
    command.env("XDG_STATE_HOME", folder_of("state"));
    // It is not there: most tests kill what they start, and nobody looks for it.
    command.env("XDG_RUNTIME_DIR", folder_of("run"));
    command
}

/// This process may have as many descriptors as it is ever allowed: tests have both ends of many connections.
pub(crate) fn raise_limit() {
    let most = getrlimit(Resource::Nofile).maximum;
    let limit = Rlimit {
        current: most,
        maximum: most,
    };
    setrlimit(Resource::Nofile, limit).unwrap();
}

/// The command in a shell that has run `first`.
pub(crate) fn byway_after(first: &str) -> Command {
    let mut shell = Command::new("bash");
    let script = format!("{first}; exec \"$0\" \"$@\"");
    shell.args(["-c", &script, env!("CARGO_BIN_EXE_byway")]);
    shell.env("XDG_RUNTIME_DIR", folder_of("run"));
    shell
}

fn folder_of(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(name)
}

/// Another user, or another host.
pub(crate) fn stranger() -> Command {
    let mut command = byway();
    command.env("XDG_STATE_HOME", folder_of("state-of-a-stranger"));
    command
}

pub(crate) fn run(args: &[&str]) -> Output {
    byway().args(args).output().expect("the command was built")
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A new folder for one test.
pub(crate) fn folder(name: &str) -> PathBuf {
    let dir = folder_of(name);
    let _ = std::fs::remove_dir_all(&dir);
    std::fs::create_dir_all(&dir).unwrap();
    dir
}

/// Bytes without a pattern that a wrong offset could hide behind.
pub(crate) fn contents(len: usize) -> Vec<u8> {
    let mut x: u32 = 12_345;
    let mut next = || {
        x = x.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (x >> 24) as u8
    };
    (0..len).map(|_| next()).collect()
}

/// A running `byway recv` or `byway listen`, and where it listens.
pub(crate) struct Server {
    pub(crate) child: Child,
    /// For `--to`.
    pub(crate) addresses: String,
    /// With `--metrics`, where they are.
    pub(crate) metrics: Option<SocketAddr>,
    pub(crate) rest: BufReader<std::process::ChildStderr>,
}

impl Server {
    /// Starts `args` on two loopback addresses with a free UDP port, without protection.
    pub(crate) fn start(args: &[&str]) -> Server {
        Server::start_at(args, "127.0.0.1:0,127.0.0.2:0")
    }

    /// Starts `args` where no file may be longer than `blocks` blocks of 1024 bytes.
    pub(crate) fn start_limited(args: &[&str], blocks: u32) -> Server {
        Server::start_with(&format!("ulimit -f {blocks}"), args)
    }

    /// Starts `args` with so many descriptors.
    pub(crate) fn start_with_descriptors(args: &[&str], most: u32) -> Server {
        Server::start_with(&format!("ulimit -n {most}"), args)
    }

    /// Starts `args` in a shell that has run `first`.
    fn start_with(first: &str, args: &[&str]) -> Server {
        Server::start_as(byway_after(first), args, "127.0.0.1:0,127.0.0.2:0")
    }

    /// Starts `args` on these addresses.
    pub(crate) fn start_at(args: &[&str], bind: &str) -> Server {
        Server::start_as(byway(), args, bind)
    }

    /// Starts `args` by a command of its own.
    pub(crate) fn start_by(command: Command, args: &[&str]) -> Server {
        Server::start_as(command, args, "127.0.0.1:0,127.0.0.2:0")
    }

    /// Starts `args` with --quiet: the address is not said.
    pub(crate) fn start_quiet(args: &[&str]) -> Server {
        let socket = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        let addresses = socket.local_addr().unwrap().to_string();
        drop(socket);
        let mut command = byway();
        command
            .args(args)
            .args(["--unprotected", "--bind", &addresses]);
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let rest = BufReader::new(child.stderr.take().unwrap());
        let asks = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        asks.connect(&addresses).unwrap();
        // Refused by the kernel until somebody listens.
        wait_until(|| asks.send(&[0]).and_then(|_| asks.send(&[0])).is_ok());
        Server {
            child,
            addresses,
            metrics: None,
            rest,
        }
    }

    fn start_as(mut command: Command, args: &[&str], bind: &str) -> Server {
        let mut child = command
            .args(args)
            .args(["--unprotected", "--bind", bind])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let (mut line, mut rest) = first_line(&mut child);
        let metrics = metrics_at(&line);
        if metrics.is_some() {
            line.clear();
            rest.read_line(&mut line).unwrap();
        }
        // "listening on A, B, SCTP port 5001", or with --json {"addresses":["A","B"],...}
        let json: Option<serde_json::Value> = serde_json::from_str(&line).ok();
        let listed = json.as_ref().and_then(|v| v["addresses"].as_array());
        let addresses = match listed {
            Some(listed) => {
                let each = listed.iter().map(|a| a.as_str().expect("an address"));
                each.collect::<Vec<_>>().join(",")
            }
            None => line
                .strip_prefix("listening on ")
                .and_then(|l| l.split(", SCTP").next())
                .unwrap_or_else(|| panic!("{line}"))
                .replace(", ", ","),
        };
        Server {
            child,
            addresses,
            metrics,
            rest,
        }
    }

    /// Waits for a line on standard error that has this part.
    pub(crate) fn says(&mut self, part: &str) -> String {
        let rest = &mut self.rest;
        heard(self.child.id(), part, |line| rest.read_line(line).unwrap())
    }

    /// Waits for a line on standard output that has this part: who ends a command before it has printed a result may
    /// not see it.
    pub(crate) fn prints(&mut self, part: &str) -> String {
        let pid = self.child.id();
        let out = self.child.stdout.as_mut().unwrap();
        heard(pid, part, |line| {
            let (mut bytes, mut byte) = (Vec::new(), [0]);
            // By the byte: what follows is left to others.
            while !bytes.ends_with(b"\n") && out.read(&mut byte).unwrap() == 1 {
                bytes.push(byte[0]);
            }
            line.push_str(&text(&bytes));
            bytes.len()
        })
    }

    pub(crate) fn finish(mut self) -> (Option<i32>, Vec<u8>, String) {
        let mut out = Vec::new();
        self.child
            .stdout
            .take()
            .unwrap()
            .read_to_end(&mut out)
            .unwrap();
        let mut err = String::new();
        self.rest.read_to_string(&mut err).unwrap();
        (self.child.wait().unwrap().code(), out, err)
    }
}

/// A test that fails leaves no process behind.
impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The address of the metrics, if the line names it.
pub(crate) fn metrics_at(line: &str) -> Option<SocketAddr> {
    let json: Option<serde_json::Value> = serde_json::from_str(line).ok();
    let url = match json.as_ref().and_then(|v| v["url"].as_str()) {
        Some(url) => url,
        None => line.strip_prefix("metrics at ")?,
    };
    url.trim()
        .strip_prefix("http://")?
        .strip_suffix("/metrics")?
        .parse()
        .ok()
}

/// A running `byway recv` that is attacked.
pub(crate) struct Victim {
    pub(crate) server: Server,
    dir: PathBuf,
    pub(crate) to: SocketAddr,
}

impl Victim {
    pub(crate) fn new(name: &str) -> Victim {
        Victim::at(name, "127.0.0.1:0,127.0.0.2:0")
    }

    /// The same at these addresses.
    pub(crate) fn at(name: &str, bind: &str) -> Victim {
        let dir = folder(name);
        let inbox = dir.join("inbox");
        let server = Server::start_at(&["recv", "--dir", inbox.to_str().unwrap()], bind);
        let to = server.addresses.split(',').next().unwrap().parse().unwrap();
        Victim { server, dir, to }
    }

    /// The process lives, serves a good sender, and said nothing of a panic.
    pub(crate) fn stays_well(mut self) {
        let file = self.dir.join("good.bin");
        std::fs::write(&file, contents(100_000)).unwrap();
        let to = &self.server.addresses;
        let out = run(&["send", file.to_str().unwrap(), "--to", to]);
        assert!(out.status.success(), "{}", text(&out.stderr));
        assert!(self.server.child.try_wait().unwrap().is_none());
        signal(&self.server.child, "TERM");
        let (status, _, err) = self.server.finish();
        assert_eq!(status, Some(143), "{err}");
        assert!(!err.contains("panicked"), "{err}");
        std::fs::remove_dir_all(&self.dir).unwrap();
    }
}

/// A file too large to be sent before a test has acted.
pub(crate) fn endless(dir: &Path) -> PathBuf {
    let file = dir.join("endless.bin");
    std::fs::File::create(&file)
        .unwrap()
        .set_len(1 << 40)
        .unwrap();
    file
}

/// The partial files of this name, `NAME.KEY.part`, and their lengths.
pub(crate) fn parts(inbox: &Path, name: &str) -> Vec<(PathBuf, u64)> {
    let of = |entry: std::io::Result<std::fs::DirEntry>| {
        let entry = entry.ok()?;
        let file = entry.file_name().into_string().ok()?;
        let key = file.strip_prefix(name)?.strip_prefix('.')?;
        let (key, end) = key.split_once('.')?;
        (key.len() == 16 && end == "part").then_some(())?;
        Some((entry.path(), entry.metadata().ok()?.len()))
    };
    std::fs::read_dir(inbox).map_or(Vec::new(), |all| all.filter_map(of).collect())
}

/// Waits until more than `bytes` of a file have been written; its partial file.
pub(crate) fn wait_for_more(inbox: &Path, name: &str, bytes: u64) -> PathBuf {
    let begun = || parts(inbox, name).into_iter().find(|p| p.1 > bytes);
    wait_until(|| begun().is_some());
    begun().expect("it was there").0
}

/// Waits until so much of a file has been written that it outlives its association (a block of 4096 bytes: the first
/// messages of a file are smaller); its partial file.
pub(crate) fn wait_for(inbox: &Path, name: &str) -> PathBuf {
    wait_for_more(inbox, name, 4096)
}

/// The first line that a command says on standard error, and what follows.
pub(crate) fn first_line(child: &mut Child) -> (String, BufReader<ChildStderr>) {
    let mut said = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    said.read_line(&mut line).unwrap();
    (line, said)
}

/// Reads lines of this process until one has this part.
fn heard(pid: u32, part: &str, mut next: impl FnMut(&mut String) -> usize) -> String {
    let (done, end) = std::sync::mpsc::channel::<()>();
    // Without it, the line would be waited for without end.
    let guard = std::thread::spawn(move || {
        use std::sync::mpsc::RecvTimeoutError::Timeout;
        if end.recv_timeout(Duration::from_secs(30)) == Err(Timeout) {
            let pid = pid.to_string();
            let _ = Command::new("kill").args(["-s", "KILL", &pid]).status();
        }
    });
    let (mut line, mut all) = (String::new(), String::new());
    while !line.contains(part) {
        line.clear();
        let read = next(&mut line);
        all.push_str(&line);
        assert_ne!(read, 0, "it ended, or was killed after 30 s: {all}");
    }
    drop(done);
    guard.join().unwrap();
    line
}

/// Waits, and fails a test that hangs.
pub(crate) fn wait_until(what: impl Fn() -> bool) {
    wait_within(Duration::from_secs(60), what);
}

/// The same with this limit.
pub(crate) fn wait_within(limit: Duration, what: impl Fn() -> bool) {
    let begun = Instant::now();
    while !what() {
        assert!(begun.elapsed() < limit, "nothing happens");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// What a process has filled of its memory, in KiB: without the pages of its file.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub(crate) fn filled(child: &Child) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
    let line = status.lines().find_map(|l| l.strip_prefix("RssAnon:"));
    let number = line.and_then(|l| l.split_whitespace().next()?.parse().ok());
    number.expect("Linux says how much")
}

/// Sends a signal: INT, TERM, HUP, STOP, KILL.
pub(crate) fn signal(child: &Child, name: &str) {
    let pid = child.id().to_string();
    let sent = Command::new("kill").args(["-s", name, &pid]).status();
    assert!(sent.unwrap().success(), "kill -s {name} {pid}");
    if name == "STOP" {
        // On a busy host its threads go on until they have a processor again.
        wait_until(|| is_stopped(&pid));
    }
}

/// A mask of signals of a process, as /proc has it (`SigCgt`: those that it handles, `SigIgn`: that it ignores).
fn signals_of(pid: &str, mask: &str) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|l| l.strip_prefix(mask)).unwrap();
    u64::from_str_radix(line.trim_start_matches(':').trim(), 16).unwrap()
}

/// Waits until a command has taken SIGTERM over.
pub(crate) fn takes_signals(child: &Child) {
    const TERM: u64 = 1 << 14;
    let pid = child.id().to_string();
    wait_until(|| signals_of(&pid, "SigCgt") & TERM != 0);
}

/// Whether these tests run where SIGHUP is ignored (`nohup`): so do the commands then.
pub(crate) fn ignores_hang_up() -> bool {
    signals_of("self", "SigIgn") & 1 == 1
}

/// Whether all threads of a process have stopped; yes where the kernel does not tell.
fn is_stopped(pid: &str) -> bool {
    let Ok(threads) = std::fs::read_dir(format!("/proc/{pid}/task")) else {
        return true;
    };
    threads.flatten().all(|thread| {
        let said = std::fs::read_to_string(thread.path().join("stat")).unwrap_or_default();
        // "12 (name) T 1 ...": the name may have anything in it.
        said.rsplit_once(") ")
            .is_none_or(|(_, rest)| rest.starts_with('T'))
    })
}

/// The exit status of a process that must end within `limit`; it is killed if it does not.
pub(crate) fn ends_within(child: &mut Child, limit: Duration) -> Option<i32> {
    let begun = Instant::now();
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return status.code();
        }
        if begun.elapsed() > limit {
            child.kill().unwrap();
            child.wait().unwrap();
            panic!("still running after {limit:?}");
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}
