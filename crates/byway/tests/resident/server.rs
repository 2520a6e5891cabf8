//! The process that is measured: this test program again.

use byway::{Association, Endpoint, EndpointOptions};
use std::io::{BufRead, BufReader, Write};
use std::net::SocketAddr;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

pub(crate) const PORT: u16 = 7;

/// Says that this process is the server, with this ceiling of memory in bytes.
const IS_SERVER: &str = "BYWAY_RESIDENT_SERVER";

pub(crate) struct Server {
    child: Child,
    asks: ChildStdin,
    answers: BufReader<ChildStdout>,
    pub(crate) address: SocketAddr,
}

impl Server {
    pub(crate) fn start(max_memory: usize) -> Server {
        let mut child = Command::new(std::env::current_exe().expect("a program"))
            .args(["--exact", "server::serve", "--ignored", "--nocapture"])
            .env(IS_SERVER, max_memory.to_string())
            // Freed pages go back at once, so that what is resident is what is kept.
            .env(
                "_RJEM_MALLOC_CONF",
                "dirty_decay_ms:0,muzzy_decay_ms:0,narenas:1",
            )
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("this program runs");
        let asks = child.stdin.take().expect("it is piped");
        let answers = BufReader::new(child.stdout.take().expect("it is piped"));
        let mut server = Server {
            child,
            asks,
            answers,
            address: SocketAddr::from(([0; 4], 0)),
        };
        server.address = server.line("at ").parse().expect("an address");
        server
    }

    /// The rest of the next line that has this word in it: the test harness writes, too.
    fn line(&mut self, word: &str) -> String {
        loop {
            let mut line = String::new();
            let read = self.answers.read_line(&mut line).expect("it writes lines");
            assert_ne!(read, 0, "the server has ended");
            if let Some((_, rest)) = line.split_once(word) {
                return rest.trim().to_owned();
            }
        }
    }

    /// Associations that were let go because the ceiling was reached.
    pub(crate) fn shed(&mut self) -> u64 {
        // The line behind that of the account.
        self.account();
        self.line("shed ").parse().expect("a number")
    }

    /// Bytes of the account, in KiB.
    fn account(&mut self) -> u64 {
        self.asks.write_all(b"\n").expect("it reads");
        let bytes: u64 = self.line("account ").parse().expect("a number");
        bytes / 1024
    }

    /// The memory of the process that is no file, in KiB.
    fn resident(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id()));
        let status = status.expect("it lives");
        let line = status.lines().find_map(|l| l.strip_prefix("RssAnon:"));
        let number = line.and_then(|l| l.split_whitespace().next()?.parse().ok());
        number.expect("Linux says how much")
    }

    /// Account and resident memory, once what was sent has been read.
    pub(crate) fn sample(&mut self) -> (u64, u64) {
        let mut before = self.account();
        loop {
            std::thread::sleep(Duration::from_millis(20));
            let resident = self.resident();
            let after = self.account();
            if before == after {
                return (after, resident);
            }
            before = after;
        }
    }

    /// The same, once the account is as it should be.
    pub(crate) fn sample_when(&mut self, right: impl Fn(u64) -> bool) -> (u64, u64) {
        let begun = Instant::now();
        loop {
            let sample = self.sample();
            if right(sample.0) {
                return sample;
            }
            assert!(begun.elapsed() < Duration::from_secs(60), "{sample:?}");
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Of three associations one is read, one is read slowly, and one not at all. What was not read
/// of one that has ended is thrown away.
async fn keep(association: Association, n: usize) {
    let read = async {
        while n % 3 < 2 && association.recv().await.is_some() {
            if n % 3 == 1 {
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        }
        std::future::pending::<()>().await;
    };
    tokio::select! {
        _ = association.closed() => {}
        () = read => {}
    }
}

#[test]
#[ignore = "the server of another test, in a process of its own"]
fn serve() {
    let Ok(max_memory) = std::env::var(IS_SERVER) else {
        return;
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    runtime.block_on(async {
        let mut options = EndpointOptions::new([SocketAddr::from(([127, 0, 0, 1], 0))]);
        options = options.sctp_port(PORT);
        options.max_memory = max_memory.parse().expect("bytes");
        let endpoint = Endpoint::bind(options).expect("a socket");
        println!("at {}", endpoint.local_addresses()[0]);
        let asked = endpoint.clone();
        std::thread::spawn(move || {
            for _ in std::io::stdin().lines() {
                println!("account {}", asked.memory());
                println!("shed {}", asked.stats().shed);
            }
            std::process::exit(0);
        });
        let mut n = 0;
        while let Some(association) = endpoint.accept().await {
            n += 1;
            tokio::spawn(keep(association, n));
        }
    });
}
