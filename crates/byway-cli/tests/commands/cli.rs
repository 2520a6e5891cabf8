//! The command from outside: arguments, output, exit statuses, files moved
//! between processes.

use crate::peers::{
    HASTY, Server, byway, contents, endless, folder, run, signal, text, wait_for, wait_for_more,
};
use std::io::{Read, Write};
use std::process::{Child, ChildStdin, Stdio};

/// A scenario that takes no time to run.
const SMALL: &str = r#"
name = "small"
description = "One megabyte, the first path dies."
limit = "100 s"
[[path]]
rate = "10 Mbit/s"
delay = "20 ms"
[[path]]
rate = "10 Mbit/s"
delay = "20 ms"
[[event]]
at = "500 ms"
path = 1
do = "down"
[traffic]
kind = "bulk"
size = "1 MB"
[[policy]]
name = "default"
[[policy]]
name = "fast"
rto.min = "100 ms"
rto.initial = "500 ms"
sack.delay = "20 ms"
"#;

#[test]
fn the_help_shows_examples_and_exit_statuses() {
    let out = run(&["--help"]);
    assert!(out.status.success());
    let help = text(&out.stdout);
    for part in [
        "byway run",
        "byway send video.mkv --to",
        "Exit status: 0 done",
    ] {
        assert!(help.contains(part), "{part}\n{help}");
    }
    for command in [
        "run",
        "send",
        "recv",
        "listen",
        "cat",
        "check",
        "scenario",
        "settings",
        "failover-time",
    ] {
        assert!(run(&[command, "--help"]).status.success(), "{command}");
    }
    assert!(text(&run(&["--version"]).stdout).starts_with("byway "));
    assert!(text(&run(&["completions", "bash"]).stdout).contains("_byway"));
    assert_eq!(run(&["flight"]).status.code(), Some(2));
}

#[test]
fn each_command_has_a_manual_page() {
    let dir = folder("manual");
    let out = run(&["man", dir.to_str().unwrap()]);
    assert!(out.status.success(), "{}", text(&out.stderr));
    let help = text(&run(&["--help"]).stdout);
    let listed = help.split("Commands:\n").nth(1).unwrap();
    let names = listed
        .lines()
        .take_while(|line| !line.is_empty() && line.starts_with("  "))
        .filter(|line| line.starts_with("  ") && !line.starts_with("   "))
        .filter_map(|line| line.split_whitespace().next())
        .filter(|name| *name != "help");
    let mut count = 0;
    for name in names {
        let page = dir.join(format!("byway-{name}.1"));
        let page = std::fs::read_to_string(&page).unwrap_or_else(|e| panic!("{name}: {e}"));
        assert!(
            page.contains(&format!("byway\\-{}", name.replace('-', "\\-"))),
            "{name}"
        );
        count += 1;
    }
    assert!(count > 15, "{help}");
    let forward = std::fs::read_to_string(dir.join("byway-forward.1")).unwrap();
    assert!(
        forward.contains(".SH EXAMPLES\n.nf\n  # the ticket")
            && forward.contains(".fi\n.PP\nThen a program"),
        "{forward}"
    );
    // What the printer of manual pages says of them, where there is one.
    for page in std::fs::read_dir(&dir).unwrap().map(|e| e.unwrap().path()) {
        let printed = std::process::Command::new("groff")
            .args(["-man", "-ww", "-z"])
            .arg(&page)
            .output();
        if let Ok(printed) = printed {
            let said = text(&printed.stderr);
            assert!(
                said.is_empty() || said.contains("cannot open"),
                "{}: {said}",
                page.display()
            );
        }
    }
}

#[test]
fn the_printed_scenario_is_one_that_can_be_checked() {
    let dir = folder("scenario");
    let file = dir.join("mine.toml");
    std::fs::write(&file, run(&["scenario"]).stdout).unwrap();
    let out = run(&["check", file.to_str().unwrap()]);
    assert!(out.status.success(), "{}", text(&out.stderr));
    assert!(
        text(&out.stdout).ends_with("no mistakes; 2 paths, 1 event, 8 policies\n"),
        "{}",
        text(&out.stdout)
    );
}

#[test]
fn the_same_seed_prints_the_same_and_another_seed_does_not() {
    let dir = folder("seed");
    let file = dir.join("small.toml");
    std::fs::write(
        &file,
        SMALL.replace(
            "rate = \"10 Mbit/s\"",
            "rate = \"10 Mbit/s\"
loss = \"1 %\"",
        ),
    )
    .unwrap();
    let json = |seed: &str, out: &str| {
        let out = dir.join(out);
        let args = [
            "run",
            file.to_str().unwrap(),
            "--seed",
            seed,
            "--json",
            "--out",
            out.to_str().unwrap(),
        ];
        let found = run(&args);
        assert!(found.status.success(), "{}", text(&found.stderr));
        assert!(out.join("report.html").exists());
        text(&found.stdout)
    };
    let first = json("7", "a");
    assert_eq!(first, json("7", "b"));
    assert_ne!(first, json("8", "c"));
}

#[test]
fn machines_and_keys_are_json_for_programs() {
    let json = |args: &[&str]| {
        let out = run(args);
        assert!(out.status.success(), "{}", text(&out.stderr));
        assert_eq!(text(&out.stderr), "");
        serde_json::from_slice::<serde_json::Value>(&out.stdout).unwrap()
    };
    let all = json(&["machine", "--format", "json"]);
    let name = all["machines"][0]["name"].as_str().unwrap();
    let machine = json(&["machine", name, "--format", "json"]);
    assert_eq!(machine["schema"], "byway.machine/1");
    let states = machine["states"].as_array().unwrap();
    let known = |arc: &serde_json::Value| states.iter().any(|s| s["name"] == arc["from"]);
    let arcs = machine["arcs"].as_array().unwrap();
    assert!(!arcs.is_empty() && arcs.iter().all(known), "{machine}");

    let folder = folder("key-json");
    let file = folder.join("key");
    let file = file.to_str().unwrap();
    let made = json(&["key", "new", "--key", file, "--json"]);
    let shown = json(&["key", "show", "--key", file, "--json"]);
    assert_eq!(made, shown);
    assert_eq!(made["schema"], "byway.key/1");
    let line = run(&["key", "show", "--key", file]);
    assert_eq!(text(&line.stdout).trim_end(), made["public_key"]);
    assert!(text(&line.stderr).contains(made["fingerprint"].as_str().unwrap()));
}

#[test]
fn failover_times_are_explained_and_written_as_json() {
    let out = run(&[
        "failover-time",
        "--preset",
        "rfc2960",
        "--set",
        "retransmission.target=AllRtxSame",
    ]);
    assert!(out.status.success(), "{}", text(&out.stderr));
    let shown = text(&out.stdout);
    for part in [
        "1 + 2 + 4 + 8 + 16 + 32 (T3) = 63 s",
        "6 x 60 (T3) = 360 s",
        "What follows",
    ] {
        assert!(shown.contains(part), "{part}\n{shown}");
    }
    let out = run(&["failover-time", "--rto", "4 s", "--json"]);
    let value: serde_json::Value = serde_json::from_slice(&out.stdout).unwrap();
    assert_eq!(value["schema"], "byway.failover-time/1");
    assert_eq!(value["rto_s"][1], 4.0);
    let suspect = &value["together"][0];
    assert_eq!(suspect["goal"], "suspect");
    assert_eq!(suspect["cases"][1]["seconds_s"], 4.0);
    assert_eq!(suspect["cases"][1]["steps"][0]["waiting"], "t3");
    let refused = run(&["failover-time", "--rto", "2 min"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(text(&refused.stderr).contains("rto.max (60 s)"));
}

#[test]
fn the_json_has_the_fields_that_scripts_rely_on() {
    let dir = folder("json");
    let file = dir.join("small.toml");
    std::fs::write(&file, SMALL).unwrap();
    let out = run(&[
        "run",
        file.to_str().unwrap(),
        "--json",
        "--out",
        dir.to_str().unwrap(),
    ]);
    let value: serde_json::Value = serde_json::from_slice(&out.stdout).unwrap();
    assert_eq!(value["schema"], "byway.run/1");
    let keys = |v: &serde_json::Value| {
        v.as_object()
            .unwrap()
            .keys()
            .cloned()
            .collect::<Vec<_>>()
            .join(" ")
    };
    assert_eq!(
        keys(&value["scenario"]),
        "description events limit_s name paths seed traffic"
    );
    assert_eq!(
        keys(&value["results"][0]),
        "delivered_bytes delivered_s detections digest duplicates end_s failovers failovers_away fast_retransmits measures \
         note outcome paths policy retransmissions rwnd_blocked_episodes rwnd_blocked_s \
         spurious_failovers spurious_failovers_known stall timeouts transfer_s"
    );
    assert_eq!(
        keys(&value["results"][0]["paths"][0]),
        "bytes data_bytes heartbeats name packets retransmissions retransmitted_bytes timeouts"
    );
    assert_eq!(
        keys(&value["results"][0]["detections"][0]),
        "at_s inactive_after_s path suspect_after_s"
    );
    assert_eq!(value["results"][0]["outcome"]["is"], "complete");
    assert_eq!(value["results"][0]["delivered_bytes"], 1_000_000);
}

#[test]
fn a_run_prints_table_picture_and_files() {
    let dir = folder("run");
    let file = dir.join("small.toml");
    std::fs::write(&file, SMALL).unwrap();
    let out = run(&[
        "run",
        file.to_str().unwrap(),
        "--pcap",
        "--out",
        dir.to_str().unwrap(),
        "--only",
        "fast",
    ]);
    let shown = text(&out.stdout);
    assert!(out.status.success(), "{}", text(&out.stderr));
    for part in [
        "longest",
        "path 1",
        "X path fails",
        "With fast the transfer stalled for",
        "report.html",
    ] {
        assert!(shown.contains(part), "{part}\n{shown}");
    }
    assert!(!shown.contains('\x1b'), "no colours in a pipe");
    assert!(
        shown
            .lines()
            .filter(|l| !l.starts_with("written"))
            .all(|l| l.chars().count() <= 100),
        "{shown}"
    );
    let capture = std::fs::read(dir.join("1-fast.pcapng")).unwrap();
    assert_eq!(
        capture[..4],
        [0x0a, 0x0d, 0x0d, 0x0a],
        "a section header block"
    );
    let wrong = run(&[
        "run",
        file.to_str().unwrap(),
        "--only",
        "slow",
        "--out",
        dir.to_str().unwrap(),
    ]);
    assert_eq!(wrong.status.code(), Some(2));
    assert!(text(&wrong.stderr).contains("there are \"default\", \"fast\""));
}

#[test]
fn the_table_of_the_readme_is_what_the_command_prints() {
    let readme = std::fs::read_to_string("../../README.md").unwrap();
    let (_, after) = readme.split_once("policy                   time").unwrap();
    let rows = after.lines().skip(1).take_while(|line| *line != "...");
    let rows: Vec<&str> = rows.collect();
    assert!(rows.len() >= 4, "{rows:?}");
    let dir = folder("readme-table");
    let out = run(&["run", "--out", dir.to_str().unwrap()]);
    let shown = text(&out.stdout);
    for row in rows {
        assert!(shown.lines().any(|line| line == row), "{row}\n{shown}");
    }
}

#[test]
fn a_wrong_scenario_is_refused_with_its_lines() {
    let dir = folder("wrong");
    let file = dir.join("wrong.toml");
    std::fs::write(
        &file,
        SMALL.replacen("20 ms", "20", 1).replacen("1 MB", "1 MO", 1),
    )
    .unwrap();
    let out = run(&[
        "run",
        file.to_str().unwrap(),
        "--out",
        dir.to_str().unwrap(),
    ]);
    assert_eq!(out.status.code(), Some(2));
    let shown = text(&out.stderr);
    for part in [
        "2 problems in the scenario",
        "wrong.toml:7: delay in [[path]]: '20' has no unit",
        "wrong.toml:17: size in [traffic]",
    ] {
        assert!(shown.contains(part), "{part}\n{shown}");
    }
    let out = run(&["check", file.to_str().unwrap(), "--json"]);
    assert_eq!(out.status.code(), Some(2));
    let value: serde_json::Value = serde_json::from_slice(&out.stdout).unwrap();
    assert_eq!(value["problems"][0]["line"], 7);
    let out = run(&["run", "no-such-file.toml"]);
    assert_eq!(out.status.code(), Some(2));
    assert!(text(&out.stderr).contains("byway scenario"));
}

#[test]
fn settings_that_contradict_each_other_are_warned_of() {
    let dir = folder("warnings");
    let file = dir.join("odd.toml");
    let odd = SMALL.replacen("sack.delay = \"20 ms\"", "sack.delay = \"200 ms\"", 1);
    std::fs::write(&file, odd).unwrap();
    let file = file.to_str().unwrap();
    let warning = "warning: policy \"fast\": sack.delay = 200 ms: is not below rto.min";
    let out = run(&["check", file]);
    assert!(out.status.success());
    assert!(text(&out.stderr).contains(warning), "{}", text(&out.stderr));
    let json: serde_json::Value =
        serde_json::from_slice(&run(&["check", file, "--json"]).stdout).unwrap();
    assert_eq!(json["warnings"][0]["policy"], "fast");
    let report = dir.to_str().unwrap();
    let out = run(&["run", file, "--out", report]);
    assert!(text(&out.stderr).contains(warning), "{}", text(&out.stderr));
}

#[test]
fn settings_are_listed_as_they_are_written() {
    let shown = text(&run(&["settings", "--preset", "rfc2960", "--set", "rto.max=10s"]).stdout);
    for line in [
        "rto.initial = \"3 s\"",
        "rto.max = \"10 s\"",
        "failover.potentially_failed = \"off\"  # off, on",
        "retransmission.target = \"AllRtxAlt\"  # AllRtxSame, AllRtxAlt, FrSameRtoAlt",
        "congestion.initial_cwnd = { Pmdcs = 2 }  # Rfc9260, Rfc4960, Pmdcs",
        "congestion.max_burst = 4  # a number, or off",
        // What is off is a comment: the list can be put into a scenario.
        "concurrent = \"off\"  # off, on",
        "# concurrent.dac = false  # when on",
        "# concurrent.rtx = \"Ssthresh\"  # when on; Same, Asap, Cwnd, Ssthresh, LossRate",
        "# failover.probe_timeout.margin = \"5 ms\"  # when on",
    ] {
        assert!(shown.lines().any(|l| l == line), "{line}\n{shown}");
    }
    let out = run(&["settings", "--preset", "rfc2960", "--json"]);
    let value: serde_json::Value = serde_json::from_slice(&out.stdout).unwrap();
    assert_eq!(value["schema"], "byway.settings/1");
    let list = value["settings"].as_array().unwrap();
    let of = |key: &str| list.iter().find(|s| s["key"] == key).unwrap();
    assert_eq!(of("rto.initial")["value"], "3 s");
    let rtx = of("concurrent.rtx");
    assert_eq!(
        (&rtx["on"], &rtx["choices"][4]),
        (&false.into(), &"LossRate".into())
    );
    assert_eq!(of("concurrent")["value"], "off");
    // A value of the list can be set as it is.
    for setting in list
        .iter()
        .filter(|s| s["on"] == true && s["value"].is_string())
    {
        let set = format!(
            "{}={}",
            setting["key"].as_str().unwrap(),
            setting["value"].as_str().unwrap()
        );
        let out = run(&["settings", "--preset", "rfc2960", "--set", &set]);
        assert!(out.status.success(), "{set}: {}", text(&out.stderr));
    }
    let wrong = run(&["settings", "--set", "rto.mim=1s"]);
    assert_eq!(wrong.status.code(), Some(2));
    assert!(text(&wrong.stderr).contains("\"mim\" is not a setting of rto; did you mean \"min\"?"));
}

#[test]
fn files_arrive_whole_over_two_paths() {
    let dir = folder("files");
    let (inbox, big, empty) = (
        dir.join("inbox"),
        dir.join("big.bin"),
        dir.join("empty.txt"),
    );
    std::fs::write(&big, contents(3_000_000)).unwrap();
    std::fs::write(&empty, b"").unwrap();
    let server = Server::start(&["recv", "--once", "--dir", inbox.to_str().unwrap()]);
    let out = run(&[
        "send",
        big.to_str().unwrap(),
        empty.to_str().unwrap(),
        "--to",
        &server.addresses,
        "--json",
    ]);
    assert!(out.status.success(), "{}", text(&out.stderr));
    let value: serde_json::Value = serde_json::from_slice(&out.stdout).unwrap();
    assert_eq!(
        (&value["ok"], &value["files"][0]["bytes"]),
        (&true.into(), &3_000_000.into())
    );
    let (code, _, err) = server.finish();
    assert_eq!(code, Some(0), "{err}");
    assert!(err.contains("longest stall"), "{err}");
    assert_eq!(
        std::fs::read(inbox.join("big.bin")).unwrap(),
        contents(3_000_000)
    );
    assert_eq!(std::fs::read(inbox.join("empty.txt")).unwrap(), b"");
}

#[test]
fn a_send_goes_on_from_what_is_there() {
    let dir = folder("resume");
    let (inbox, file) = (dir.join("inbox"), dir.join("a.bin"));
    let args = ["recv", "--dir", inbox.to_str().unwrap()];
    for changed in [false, true] {
        std::fs::write(&file, contents(40_000_000)).unwrap();
        let mut server = Server::start(&args);
        let to = server.addresses.clone();
        let mut send = byway()
            .args(["send", file.to_str().unwrap(), "--quiet", "--to", &to])
            .spawn()
            .unwrap();
        let part = wait_for_more(&inbox, "a.bin", 200_000);
        for child in [&mut send, &mut server.child] {
            child.kill().unwrap();
            child.wait().unwrap();
        }
        let there = std::fs::metadata(&part).unwrap().len();
        if changed {
            std::fs::write(&part, vec![1; there as usize]).unwrap();
        }
        let server = Server::start_at(&[&args[..], &["--once"]].concat(), &to);
        let out = run(&["send", file.to_str().unwrap(), "--to", &to, "--json"]);
        let value: serde_json::Value = serde_json::from_slice(&out.stdout).unwrap();
        let resumed = if changed { 0 } else { there };
        assert_eq!(value["files"][0]["resumed_from"], resumed, "{value}");
        assert_eq!(server.finish().0, Some(0));
        assert!(std::fs::read(inbox.join("a.bin")).unwrap() == contents(40_000_000));
        assert!(!part.exists());
        std::fs::remove_dir_all(&inbox).unwrap();
    }
    std::fs::remove_dir_all(&dir).unwrap();
}

#[test]
fn what_is_there_is_replaced_only_by_force() {
    let dir = folder("force");
    let (inbox, file) = (dir.join("inbox"), dir.join("a.bin"));
    std::fs::create_dir_all(&inbox).unwrap();
    std::fs::write(&file, b"new").unwrap();
    std::fs::write(inbox.join("a.bin"), b"old").unwrap();
    let args = [
        "recv",
        "--once",
        "--dir",
        inbox.to_str().unwrap(),
        "--force",
    ];
    let server = Server::start(&args[..4]);
    let out = run(&["send", file.to_str().unwrap(), "--to", &server.addresses]);
    assert_eq!(out.status.code(), Some(4));
    assert!(
        text(&out.stderr).contains("a.bin exists already"),
        "{}",
        text(&out.stderr)
    );
    assert_eq!(server.finish().0, Some(4));
    assert_eq!(std::fs::read(inbox.join("a.bin")).unwrap(), b"old");
    let server = Server::start(&args);
    assert!(
        run(&["send", file.to_str().unwrap(), "--to", &server.addresses])
            .status
            .success()
    );
    assert_eq!(server.finish().0, Some(0));
    assert_eq!(std::fs::read(inbox.join("a.bin")).unwrap(), b"new");
}

#[test]
fn a_pipe_carries_bytes_to_the_end() {
    let server = Server::start(&["listen"]);
    let mut cat = byway()
        .args(["cat", "--to", &server.addresses])
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    cat.stdin
        .take()
        .unwrap()
        .write_all(&contents(300_000))
        .unwrap();
    assert!(cat.wait().unwrap().success());
    let (code, out, _) = server.finish();
    assert_eq!((code, out == contents(300_000)), (Some(0), true));
}

/// A `listen` and a `cat` with these arguments, whose first bytes have arrived: the association is established. The
/// input of `cat` stays open.
fn cat_to_listen(args: &[&str]) -> (Server, Child, ChildStdin) {
    let mut server = Server::start(&["listen"]);
    let mut cat = byway()
        .args(["cat", "--to", &server.addresses])
        .args(args)
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = cat.stdin.take().unwrap();
    input.write_all(b"first").unwrap();
    let mut first = [0; 5];
    let out = server.child.stdout.as_mut().unwrap();
    out.read_exact(&mut first).unwrap();
    (server, cat, input)
}

/// What such a `cat` says when its `listen` is killed, and `more` is to be sent.
fn words_of_a_cat_whose_listen_vanishes(args: &[&str], more: &[u8]) -> String {
    let (mut server, cat, mut input) = cat_to_listen(args);
    server.child.kill().unwrap();
    server.child.wait().unwrap();
    input.write_all(more).unwrap();
    let out = cat.wait_with_output().unwrap();
    assert_eq!(out.status.code(), Some(3), "{}", text(&out.stderr));
    text(&out.stderr).to_owned()
}

#[test]
fn a_lost_association_is_reported_and_fails() {
    let shown = words_of_a_cat_whose_listen_vanishes(&HASTY, b"second");
    assert!(shown.contains("the association was lost"), "{shown}");
}

/// The timers are those of the preset: counting errors alone would take minutes.
#[test]
fn a_cat_gives_up_a_listen_that_has_vanished() {
    // With nothing but an input that stays open, and with data under way.
    for more in [&b""[..], b"second"] {
        let shown = words_of_a_cat_whose_listen_vanishes(&["--give-up", "300ms"], more);
        assert!(
            shown.contains("nothing was heard from the other side for 300 ms"),
            "{shown}"
        );
    }
}

/// The other side is stopped, so nothing says that it is gone. What is said in the outage is what ends it.
#[test]
fn a_cat_names_the_option_that_ends_an_outage() {
    let (mut server, cat, mut input) = cat_to_listen(&[
        "--give-up",
        "3s",
        "--set",
        "rto.min=20ms",
        "--set",
        "rto.initial=50ms",
    ]);
    signal(&server.child, "STOP");
    input.write_all(b"second").unwrap();
    let out = cat.wait_with_output().unwrap();
    server.child.kill().unwrap();
    server.child.wait().unwrap();
    let shown = text(&out.stderr);
    assert_eq!(out.status.code(), Some(3), "{shown}");
    let told = shown.split_once("no path answers; unless one does, the association ends in about ");
    let told = told.and_then(|(_, told)| told.split_once(" s (--give-up)"));
    let told: u64 = told.expect(&shown).0.parse().expect(&shown);
    // Some of it is over when the outage is noticed.
    assert!((1..=3).contains(&told), "{shown}");
    let end = "nothing was heard from the other side for 3 s (--give-up)";
    assert!(shown.contains(end), "{shown}");
}

#[test]
fn a_send_whose_receiver_vanishes_fails_when_its_retries_are_used_up() {
    let dir = folder("vanished");
    let inbox = dir.join("inbox");
    let mut server = Server::start(&["recv", "--dir", inbox.to_str().unwrap()]);
    let send = byway()
        .args([
            "send",
            endless(&dir).to_str().unwrap(),
            "--to",
            &server.addresses,
        ])
        .args(["--retries", "1", "--connect-timeout", "100ms"])
        .args(HASTY)
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    wait_for(&inbox, "endless.bin");
    server.child.kill().unwrap();
    server.child.wait().unwrap();
    let out = send.wait_with_output().unwrap();
    let shown = text(&out.stderr);
    assert_eq!(out.status.code(), Some(3), "{shown}");
    assert!(
        shown.contains("setting up again, attempt 1 of 1"),
        "{shown}"
    );
    assert!(
        shown.contains(": potentially failed, was active"),
        "{shown}"
    );
    std::fs::remove_dir_all(&dir).unwrap();
}

#[test]
fn a_send_is_resumed_when_its_receiver_comes_back() {
    let dir = folder("back");
    let (inbox, file) = (dir.join("inbox"), dir.join("a.bin"));
    std::fs::write(&file, contents(50_000_000)).unwrap();
    let args = ["recv", "--dir", inbox.to_str().unwrap()];
    let mut server = Server::start(&args);
    let addresses = server.addresses.clone();
    let send = byway()
        .args(["send", file.to_str().unwrap(), "--to", &addresses, "--json"])
        .args(HASTY)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    wait_for(&inbox, "a.bin");
    server.child.kill().unwrap();
    server.child.wait().unwrap();
    let mut again = byway()
        .args(args)
        .args(["--unprotected", "--quiet", "--bind", &addresses])
        .spawn()
        .unwrap();
    let out = send.wait_with_output().unwrap();
    again.kill().unwrap();
    again.wait().unwrap();
    let value: serde_json::Value = serde_json::from_slice(&out.stdout).unwrap();
    assert_eq!(
        (out.status.code(), &value["ok"]),
        (Some(0), &true.into()),
        "{value}"
    );
    assert!(std::fs::read(inbox.join("a.bin")).unwrap() == contents(50_000_000));
    std::fs::remove_dir_all(&dir).unwrap();
}

#[test]
fn a_receiver_gives_up_a_sender_that_has_vanished() {
    let dir = folder("given-up");
    let inbox = dir.join("inbox");
    let mut server = Server::start(&[
        "recv",
        "--once",
        "--give-up",
        "300ms",
        "--dir",
        inbox.to_str().unwrap(),
    ]);
    let mut send = byway()
        .args([
            "send",
            endless(&dir).to_str().unwrap(),
            "--quiet",
            "--to",
            &server.addresses,
        ])
        .spawn()
        .unwrap();
    wait_for(&inbox, "endless.bin");
    send.kill().unwrap();
    send.wait().unwrap();
    server.says("the other side sent nothing more for 300 ms");
    // No transfer was completed: it waits for the sender to come back.
    signal(&server.child, "TERM");
    assert_eq!(server.finish().0, Some(143));
    std::fs::remove_dir_all(&dir).unwrap();
}

#[test]
fn one_address_is_warned_of_and_a_name_means_all_of_its_addresses() {
    let dir = folder("one");
    let (inbox, file) = (dir.join("inbox"), dir.join("a.bin"));
    std::fs::write(&file, b"a").unwrap();
    let args = ["recv", "--dir", inbox.to_str().unwrap(), "--once"];
    let mut server = Server::start_at(&args, "127.0.0.1:0");
    server.says("no redundancy");
    let to = server.addresses.replace("127.0.0.1", "localhost");
    let out = run(&["send", file.to_str().unwrap(), "--to", &to]);
    let shown = text(&out.stderr);
    assert!(out.status.success(), "{shown}");
    assert!(
        shown.contains("the other side has one address only"),
        "{shown}"
    );
    assert_eq!(server.finish().0, Some(0));
    let server = Server::start(&args);
    let wrong = ["send", file.to_str().unwrap(), "--port", "5999", "--to"];
    let out = run(&[&wrong[..], &[&server.addresses]].concat());
    let shown = text(&out.stderr);
    assert_eq!(out.status.code(), Some(3), "{shown}");
    assert!(shown.contains("SCTP port 5999 was refused"), "{shown}");
    let out = run(&["send", file.to_str().unwrap(), "--to", &server.addresses]);
    assert!(!text(&out.stderr).contains("the other side has one"));
    assert_eq!(server.finish().0, Some(0));
}

#[test]
fn advice_rests_on_what_was_measured_just_now() {
    let dir = folder("measured");
    let out = dir.join("advice");
    let mut server = Server::start(&["recv", "--dir", dir.join("inbox").to_str().unwrap()]);
    let words = ["--traffic", "requests 500B/1s", "--runs", "1,8", "--json"];
    let place = ["--for", "linux", "--out", out.to_str().unwrap()];
    let done = run(&[&["advise", "--to", &server.addresses][..], &words, &place].concat());
    assert!(done.status.success(), "{}", text(&done.stderr));
    let advice: serde_json::Value = serde_json::from_slice(&done.stdout).unwrap();
    let paths = advice["paths"].as_array().unwrap();
    assert_eq!(paths.len(), 2, "{paths:?}");
    assert!(paths[0].as_str().unwrap().contains("127.0.0."), "{paths:?}");
    assert!(out.join("linux.conf").exists());
    server.child.kill().unwrap();
    server.child.wait().unwrap();
    // Nobody answers: nothing is simulated.
    let silent = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    let to = silent.local_addr().unwrap().to_string();
    let done = run(&["advise", "--to", &to, "--within", "1h"]);
    assert_eq!(done.status.code(), Some(1));
    let said = text(&done.stderr);
    assert!(
        said.contains("no pair of addresses answers:\n  pair 1: "),
        "{said}"
    );
    let path = ["--path", "rtt=1ms,rate=1M"];
    for (words, part) in [
        (
            [&["--to", "127.0.0.1"][..], &path].concat(),
            "cannot be used with",
        ),
        (
            [&["--bind", "127.0.0.1"][..], &path].concat(),
            "cannot be used with",
        ),
        (
            [&["--port", "5002"][..], &path].concat(),
            "cannot be used with",
        ),
        (vec!["--bind", "127.0.0.1"], "--to"),
    ] {
        let done = run(&[&["advise"][..], &words].concat());
        let said = text(&done.stderr);
        assert_eq!(done.status.code(), Some(2), "{words:?}: {said}");
        assert!(said.contains(part), "{words:?}: {said}");
    }
}

#[test]
fn nobody_there_is_reported_and_fails() {
    let dir = folder("nobody");
    let file = dir.join("a.bin");
    std::fs::write(&file, b"a").unwrap();
    // A socket that never answers, so that the port is nobody else's.
    let silent = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    let to = silent.local_addr().unwrap().to_string();
    let out = run(&[
        "send",
        file.to_str().unwrap(),
        "--to",
        &to,
        "--connect-timeout",
        "200ms",
    ]);
    assert_eq!(out.status.code(), Some(3));
    assert!(
        text(&out.stderr).contains("no answer within 200 ms"),
        "{}",
        text(&out.stderr)
    );
}

#[test]
fn wrong_arguments_say_what_would_be_right() {
    let dir = folder("arguments");
    let file = dir.join("a.bin");
    std::fs::write(&file, b"a").unwrap();
    let file = file.to_str().unwrap();
    for (args, part) in [
        (
            &["send", file, "--to", "127.0.0.1:x"][..],
            "\"x\" is not a UDP port",
        ),
        (
            &["send", file, "--to", "127.0.0.1,127.0.0.1"],
            "is listed twice",
        ),
        (
            &["send", "/dev/null", "--to", "127.0.0.1"],
            "is not a file or a folder; send what it has with: byway cat",
        ),
        (
            &["send", file, "--to", "127.0.0.1", "--preset", "rfc1"],
            "there are byway, rfc9260, rfc2960, caro2006 and caro2006-proposed",
        ),
        (
            &["send", file, "--to", "127.0.0.1", "--set", "rto.min"],
            "write KEY=VALUE",
        ),
        (
            &["send", file, "--to", "127.0.0.1", "--set", "rto.min=5"],
            "has no unit",
        ),
        (&["recv", "--bind", "224.0.0.1"], "multicast"),
        (&["send", file, "--to", "127.0.0.1:0"], "has UDP port 0"),
        (
            &[
                "recv",
                "--bind",
                "127.0.0.1:9899",
                "--encapsulation",
                "none",
            ],
            "leave the port out",
        ),
        (&["recv", "--give-up", "soon"], "200 ms"),
    ] {
        let out = run(args);
        assert_eq!(
            out.status.code(),
            Some(2),
            "{args:?}: {}",
            text(&out.stderr)
        );
        assert!(
            text(&out.stderr).contains(part),
            "{args:?}: {}",
            text(&out.stderr)
        );
    }
}
