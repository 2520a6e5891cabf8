//! A receiver at public addresses, in a network namespace of the test's own. `ATTACKS.md` of `byway-core` numbers the
//! attacks.

#![cfg(target_os = "linux")]

use crate::open_metrics::{self, scrape_anew};
use crate::peers::{Server, folder, signal, text};
use crate::raw::Raw;
use crate::skipped::skipped;
use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::process::Command;
use std::time::Duration;

/// Set where the addresses are there.
const INSIDE: &str = "BYWAY_TEST_INSIDE";

/// Runs a test of this file again, alone, in a new network namespace with the addresses. Without the right to make one
/// it is skipped.
fn again_inside(test: &str) {
    let ready = "ip link set lo up
        for address in 198.51.100.1/32 198.51.100.2/32; do ip addr add $address dev lo; done
        ip addr add 2001:db8::1/128 dev lo nodad";
    let inside = |first: &str| {
        let mut command = Command::new("unshare");
        command.args(["--net", "--", "sh", "-ec"]);
        command.arg(format!("{ready}\n{first}"));
        command
    };
    match inside("").output() {
        Err(e) => return skipped(&format!("unshare: {e}")),
        Ok(out) if !out.status.success() => return skipped(&text(&out.stderr)),
        Ok(_) => {}
    }
    let out = inside("exec \"$0\" \"$@\"")
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture"])
        .env(INSIDE, "1")
        .output()
        .unwrap();
    let said = text(&out.stdout) + &text(&out.stderr);
    assert!(out.status.success() && said.contains("1 passed"), "{said}");
}

/// R18: a peer with a public address lists some of this host, of this network or of no host, as they are and mapped
/// into IPv6. They become no paths.
#[test]
fn listed_addresses_of_a_narrower_scope_become_no_paths_of_a_process() {
    if std::env::var_os(INSIDE).is_none() {
        return again_inside(
            "public::listed_addresses_of_a_narrower_scope_become_no_paths_of_a_process",
        );
    }
    let dir = folder("public");
    let args = ["recv", "--metrics", "127.0.0.1:0", "--dir"];
    let args = [&args[..], &[dir.to_str().unwrap()]].concat();
    let server = Server::start_at(&args, "198.51.100.1:0,[2001:db8::1]:0");
    let to: SocketAddr = server.addresses.split(',').next().unwrap().parse().unwrap();
    let good: [IpAddr; 2] = [
        Ipv4Addr::new(198, 51, 100, 3).into(),
        Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 3).into(),
    ];
    let narrower: [Ipv4Addr; 5] = [
        [127, 0, 0, 1].into(),
        [10, 0, 0, 2].into(),
        [169, 254, 1, 1].into(),
        [100, 64, 0, 1].into(),
        [224, 0, 0, 1].into(),
    ];
    // As they are, and mapped. Each alone: the paths of an association are few.
    let mapped = narrower.map(|ip| IpAddr::from(ip.to_ipv6_mapped()));
    for bad in narrower.map(IpAddr::from).into_iter().chain(mapped) {
        let own = Ipv4Addr::new(198, 51, 100, 2).into();
        let mut raw = Raw::from_address(own, to);
        raw.wait(Duration::from_millis(50));
        raw.ask_with(|w| {
            for ip in [bad, good[0], good[1]] {
                w.address(ip);
            }
        });
        raw.echo();
        let told = scrape_anew(server.metrics.unwrap());
        let paths = told.of("byway_path_info", &[]);
        let remote = |s: &&open_metrics::Sample| {
            let at: SocketAddr = s.labels["remote"].parse().unwrap();
            at.ip()
        };
        let remotes: BTreeSet<IpAddr> = paths.iter().map(remote).collect();
        assert_eq!(remotes, [own, good[0], good[1]].into(), "{bad}");
        raw.inject(|b| b.abort(false, |_| {}));
    }
    signal(&server.child, "TERM");
    let (status, _, said) = server.finish();
    assert_eq!(status, Some(143), "{said}");
    std::fs::remove_dir_all(&dir).unwrap();
}
