//! A `byway forward` and what is around it: TCP targets, a `byway serve`.

use crate::peers::{Server, byway, contents};
use std::io::{BufReader, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

/// Gives each connection of a new TCP port to `serve`; HOST:PORT.
pub(crate) fn tcp_server(serve: fn(TcpStream)) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    thread::spawn(move || {
        for tcp in listener.incoming() {
            let tcp = tcp.unwrap();
            thread::spawn(move || serve(tcp));
        }
    });
    address
}

/// Sends everything back, once the other side has ended.
pub(crate) fn echo_at_the_end(mut tcp: TcpStream) {
    let mut all = Vec::new();
    tcp.read_to_end(&mut all).unwrap();
    tcp.write_all(&all).unwrap();
}

pub(crate) fn echo(mut tcp: TcpStream) {
    let mut copy = tcp.try_clone().unwrap();
    // It ends with the connection, however that ends.
    let _ = std::io::copy(&mut copy, &mut tcp);
}

/// A `byway forward`, ended with the test.
pub(crate) struct Forward {
    pub(crate) server: Server,
    pub(crate) doors: Vec<String>,
}

impl Forward {
    pub(crate) fn start(targets: &[&str], to: &str) -> Forward {
        Forward::start_by(byway(), targets, to)
    }

    /// A door for each of `targets`; `--socks` and `--http` stand for a proxy, and come last.
    pub(crate) fn start_by(mut command: Command, targets: &[&str], to: &str) -> Forward {
        command.arg("forward");
        Forward::start_as(command, targets, to)
    }

    /// The same with a command that has `forward` and other options already.
    pub(crate) fn start_as(mut command: Command, targets: &[&str], to: &str) -> Forward {
        command.args(["--to", to]);
        for target in targets {
            let (option, address) = match *target {
                "" => ("--listen", "127.0.0.1:0".to_owned()),
                "--socks" | "--http" => (*target, "127.0.0.1:0".to_owned()),
                named => ("--listen", format!("127.0.0.1:0={named}")),
            };
            command.args([option, &address]);
        }
        let mut child: Child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let rest = BufReader::new(child.stderr.take().unwrap());
        let mut server = Server {
            child,
            addresses: String::new(),
            metrics: None,
            rest,
        };
        // "forwarding 127.0.0.1:40000 to ..."
        let doors = targets.iter().map(|_| {
            let line = server.says("forwarding ");
            line.split(' ').nth(1).unwrap().to_owned()
        });
        let doors = doors.collect();
        Forward { server, doors }
    }

    pub(crate) fn connect(&self, door: usize) -> TcpStream {
        let tcp = TcpStream::connect(&self.doors[door]).unwrap();
        tcp.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        tcp
    }
}

impl Drop for Forward {
    fn drop(&mut self) {
        let _ = self.server.child.kill();
        let _ = self.server.child.wait();
    }
}

pub(crate) fn serve(allowed: &[&str]) -> Server {
    let mut args = vec!["serve"];
    for target in allowed {
        args.extend(["--allow", target]);
    }
    Server::start(&args)
}

pub(crate) fn end(mut server: Server) {
    server.child.kill().unwrap();
    server.child.wait().unwrap();
}

/// What a connection says when it was reset, and not ended.
/// Sends so many megabytes to [`echo_at_the_end`], and takes them back whole.
pub(crate) fn all_comes_back(mut tcp: TcpStream, megabytes: usize) {
    let sent = contents(megabytes * 1_000_000);
    tcp.write_all(&sent).unwrap();
    tcp.shutdown(Shutdown::Write).unwrap();
    let mut came = Vec::new();
    tcp.read_to_end(&mut came).unwrap();
    assert!(came == sent, "{} of {} bytes", came.len(), sent.len());
}

pub(crate) fn is_reset(mut tcp: TcpStream) -> bool {
    let read = tcp.read(&mut [0; 10]);
    read.is_err_and(|e| e.kind() == ErrorKind::ConnectionReset)
}
