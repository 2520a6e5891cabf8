//! `--metrics`: real transfers are scraped, and whoever asks does not disturb them.

use crate::open_metrics::{self, ask, parse, scrape};
use crate::peers::{
    Server, byway, contents, endless, first_line, folder, metrics_at, run, text, wait_for_more,
    wait_until,
};
use std::collections::BTreeSet;
use std::io::Write;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};

/// A free port.
const ANY: &str = "127.0.0.1:0";

/// A `byway recv` with metrics, and its folder.
fn recv(name: &str) -> (Server, SocketAddr, PathBuf) {
    let dir = folder(name);
    let inbox = dir.join("inbox");
    let args = ["recv", "--metrics", ANY, "--dir", inbox.to_str().unwrap()];
    let server = Server::start(&args);
    let metrics = server.metrics.expect("the address of the metrics");
    (server, metrics, dir)
}

/// A `byway send` with metrics.
fn send(file: &Path, to: &str) -> (Child, SocketAddr) {
    let mut child = byway()
        .args(["send", file.to_str().unwrap(), "--to", to])
        .args(["--bind", "127.0.0.3,127.0.0.4", "--metrics", ANY])
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let (line, mut said) = first_line(&mut child);
    // Somebody has to read it.
    std::thread::spawn(move || std::io::copy(&mut said, &mut std::io::sink()));
    let metrics = metrics_at(&line).unwrap_or_else(|| panic!("{line}"));
    (child, metrics)
}

/// The metrics that the dashboard asks for.
fn of_the_dashboard() -> BTreeSet<String> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/grafana.json");
    let dashboard: serde_json::Value =
        serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
    let panels = dashboard["panels"].as_array().unwrap();
    let targets = panels.iter().filter_map(|p| p["targets"].as_array());
    let mut names = BTreeSet::new();
    for target in targets.flatten() {
        let expression = target["expr"].as_str().unwrap();
        let words = expression.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        names.extend(words.filter(|w| w.starts_with("byway_")).map(str::to_owned));
    }
    names
}

#[test]
fn a_running_transfer_is_told_at_both_ends_and_the_dashboard_asks_for_what_there_is() {
    let (server, at_receiver, dir) = recv("metrics");
    let (mut sender, at_sender) = send(&endless(&dir), &server.addresses);
    wait_for_more(&dir.join("inbox"), "endless.bin", 1_000_000);

    let (first, other) = (scrape(at_sender), scrape(at_receiver));
    wait_for_more(&dir.join("inbox"), "endless.bin", 20_000_000);
    // A look serves all who ask in a tenth of a second, and the sender may wait for a processor longer than that.
    let acked = |s: &open_metrics::Scrape| s.values("byway_association_acked_bytes_total", &[])[0];
    wait_until(|| acked(&scrape(at_sender)) > acked(&first));
    let second = scrape(at_sender);
    for (scrape, command) in [(&first, "send"), (&other, "recv")] {
        let build = scrape.of("byway_build_info", &[("command", command)]);
        assert_eq!(build[0].labels["version"], env!("CARGO_PKG_VERSION"));
        assert_eq!(scrape.values("byway_associations", &[]), [1.0]);
        assert_eq!(scrape.values("byway_associations_unlisted", &[]), [0.0]);
        let up = [("association", "0"), ("state", "ESTABLISHED")];
        assert_eq!(scrape.values("byway_association_state", &up), [1.0]);
        for path in ["0", "1"] {
            let of = [("association", "0"), ("path", path)];
            for name in [
                "byway_path_srtt_seconds",
                "byway_path_rto_seconds",
                "byway_path_cwnd_bytes",
                "byway_path_pmtu_bytes",
                "byway_path_sent_bytes_total",
                "byway_path_received_bytes_total",
            ] {
                let [value] = scrape.values(name, &of)[..] else {
                    panic!("{name} of path {path}");
                };
                assert!(value > 0.0, "{name} of path {path}: {value}");
            }
            let states = scrape.of("byway_path_state", &of);
            let now: Vec<&str> = states
                .iter()
                .filter(|s| s.value == 1.0)
                .map(|s| s.labels["state"].as_str())
                .collect();
            assert_eq!((states.len(), now), (4, vec!["active"]));
        }
        assert_eq!(scrape.of("byway_path_info", &[]).len(), 2);
        assert_eq!(
            scrape.values("byway_path_in_use", &[]).iter().sum::<f64>(),
            1.0
        );
        let refused = scrape.of("byway_refused_total", &[]);
        // Of the endpoint, and of the command.
        assert_eq!(refused.len(), byway::Rule::ALL.len() + 9);
    }
    let ends = server.addresses.split(',');
    for (path, remote) in ends.enumerate() {
        let path = path.to_string();
        let told = first.of("byway_path_info", &[("path", &path)])[0];
        assert_eq!(told.labels["remote"], remote);
        assert!(told.labels["local"].starts_with("127.0.0."), "{told:?}");
    }
    // Counters grow.
    for name in [
        "byway_association_acked_bytes_total",
        "byway_datagrams_sent_total",
    ] {
        let value = |scrape: &open_metrics::Scrape| scrape.values(name, &[])[0];
        assert!(value(&second) > value(&first), "{name}");
    }
    let names: BTreeSet<String> = second.0.iter().map(|s| s.name.clone()).collect();
    let mut asked = of_the_dashboard();
    // A tunnel has these: top.rs.
    asked.retain(|name| !name.starts_with("byway_tunnel_"));
    assert!(asked.len() > 10, "{asked:?}");
    let missing: Vec<_> = asked.difference(&names).collect();
    assert!(missing.is_empty(), "the dashboard asks for {missing:?}");

    sender.kill().unwrap();
    sender.wait().unwrap();
    drop(server);
}

#[test]
fn what_is_no_open_metrics_is_found() {
    let good = "# HELP a_b c\n# TYPE a_b counter\na_b_total{x=\"1\",y=\"a\\\"}\"} 2\n# EOF\n";
    assert_eq!(parse(good).values("a_b_total", &[("y", "a\"}")]), [2.0]);
    for wrong in [
        "",
        "a 1\n# EOF\n",
        "# HELP a c\n# TYPE a gauge\na 1\na 1\n# EOF\n",
        "# HELP a c\n# TYPE a counter\na 1\n# EOF\n",
        "# HELP a c\n# TYPE a gauge\na{x=\"1} 1\n# EOF\n",
        "# HELP a c\n# TYPE a gauge\n# UNIT a bytes\na 1\n# EOF\n",
    ] {
        let read = std::panic::catch_unwind(|| parse(wrong));
        assert!(read.is_err(), "{wrong:?}");
    }
}

/// Descriptors of a process.
fn descriptors(server: &Server) -> usize {
    std::fs::read_dir(format!("/proc/{}/fd", server.child.id()))
        .unwrap()
        .count()
}

#[test]
fn a_thousand_connections_that_say_nothing_or_garbage_disturb_nobody() {
    let (server, metrics, dir) = recv("metrics-hostile");
    // The address is told before the server of the metrics has opened what it needs: it is up once it
    // has answered.
    assert!(!scrape(metrics).0.is_empty());
    let before = descriptors(&server);
    let mut held = Vec::new();
    for n in 0..1000_usize {
        let mut tcp = TcpStream::connect(metrics).unwrap();
        // It may have been closed meanwhile.
        let _ = match n % 4 {
            0 => Ok(()),
            1 => tcp.write_all(b"GET /metrics HTTP/1.1\r\nA: "),
            2 => tcp.write_all(&[0xff; 100]),
            _ => tcp.write_all(&[b'a'; 20_000]),
        };
        held.push(tcp);
    }
    let file = dir.join("good.bin");
    std::fs::write(&file, contents(3_000_000)).unwrap();
    let out = run(&["send", file.to_str().unwrap(), "--to", &server.addresses]);
    assert_eq!(out.status.code(), Some(0), "{}", text(&out.stderr));
    let came = std::fs::read(dir.join("inbox/good.bin")).unwrap();
    assert!(came == contents(3_000_000));

    // Who asks is served beside them.
    assert!(!scrape(metrics).0.is_empty());
    let now = descriptors(&server);
    assert!(now <= before + 24, "{before} descriptors, then {now}");
    for (request, status) in [
        (&b"GET /metrics HTTP/1.0\r\n\r\n"[..], "200"),
        (b"HEAD /metrics HTTP/1.1\r\nHost: a\r\n\r\n", "200"),
        (b"GET / HTTP/1.0\r\n\r\n", "404"),
        (b"DELETE /metrics HTTP/1.0\r\n\r\n", "405"),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", "400"),
    ] {
        let (head, body) = ask(metrics, request).unwrap();
        assert!(head.starts_with(&format!("HTTP/1.1 {status} ")), "{head}");
        assert_eq!(body.is_empty(), request.starts_with(b"HEAD"), "{head}");
    }
    drop(held);
    wait_until(|| descriptors(&server) <= before + 2);
    drop(server);
}

#[test]
fn a_port_in_use_is_named_with_what_to_do() {
    let taken = TcpListener::bind(ANY).unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let dir = folder("metrics-port");
    let file = dir.join("a.bin");
    std::fs::write(&file, "a").unwrap();
    let (dir, file) = (dir.to_str().unwrap(), file.to_str().unwrap());
    for args in [
        &["recv", "--unprotected", "--bind", ANY, "--dir", dir][..],
        &["send", file, "--to", "127.0.0.1:9"],
        &["serve", "--unprotected", "--bind", ANY, "--allow", "*:1"],
    ] {
        let out = byway()
            .args(args)
            .args(["--metrics", &address])
            .output()
            .unwrap();
        let said = text(&out.stderr);
        assert_eq!(out.status.code(), Some(1), "{said}");
        assert!(
            said.contains(&address) && said.contains("take another port"),
            "{said}"
        );
    }
    let out = run(&["send", file, "--to", "127.0.0.1:9", "--metrics", "here"]);
    let said = text(&out.stderr);
    assert_eq!(out.status.code(), Some(2), "{said}");
    assert!(
        said.contains("127.0.0.1") || said.contains("9464"),
        "{said}"
    );
}
