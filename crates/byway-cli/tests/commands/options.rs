//! Options from a file: `--config` and `--print-config`.

use crate::peers::{Server, byway, folder, run, text};
use crate::tunnel::{echo, end, tcp_server};
use std::io::{BufReader, Read, Write};
use std::net::TcpStream;
use std::process::Stdio;

const TICKET: &str = "byway1-g4erhcnl-vov2xk5l-vov2xk5l-vov2xk5l-zxg43ton-zxg43ton";

/// A file with this text.
fn file(name: &str, text: &str) -> String {
    let file = folder(&format!("options-{name}")).join("mine.toml");
    std::fs::write(&file, text).unwrap();
    file.to_str().unwrap().to_owned()
}

#[test]
fn a_tunnel_runs_from_two_files() {
    let target = tcp_server(echo);
    let there = file(
        "serve",
        &format!("allow = [\"{target}\"]\ngive-up = \"1h\"\n"),
    );
    let serve = Server::start(&["serve", "--config", &there]);
    let to = serve.addresses.split(',').map(|a| format!("\"{a}\""));
    let to = to.collect::<Vec<_>>().join(", ");
    let words = format!(
        "# the other end\nto = [{to}]\nlisten = \"127.0.0.1:0\"\n\n[set]\nrto.min = \"50 ms\"\n"
    );
    let here = file("forward", &words);
    let mut child = byway()
        .args(["forward", "--config", &here])
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let rest = BufReader::new(child.stderr.take().unwrap());
    let mut forward = Server {
        child,
        addresses: String::new(),
        metrics: None,
        rest,
    };
    let line = forward.says("forwarding ");
    let mut tcp = TcpStream::connect(line.split(' ').nth(1).unwrap()).unwrap();
    tcp.write_all(b"hello").unwrap();
    let mut came = [0; 5];
    tcp.read_exact(&mut came).unwrap();
    assert_eq!(&came, b"hello");
    end(forward);
    end(serve);
}

#[test]
fn what_is_wrong_in_a_file_is_told_with_its_line() {
    for (n, (line, part)) in [
        (
            "lisen = \"127.0.0.1:0\"",
            "\"lisen\" is no option of byway forward; did you mean \"listen\"?",
        ),
        (
            "allow = \"127.0.0.1:1\"",
            "\"allow\" is no option of byway forward; there are listen, socks",
        ),
        ("connect-timeout = 20", "connect-timeout: "),
        (
            "encapsulation = \"tcp\"",
            "encapsulation: expected udp, none, both",
        ),
        ("port = 0", "port: 0 is not in 1..=65535"),
        (
            "quiet = \"yes\"",
            "quiet: found \"yes\", expected true or false",
        ),
        ("set.rto.mim = \"1 s\"", "did you mean \"min\"?"),
        ("set.rto.min = \"soon\"", "set.rto.min: "),
        ("config = \"other.toml\"", "\"config\" is no option"),
        ("quiet = maybe", "this is not TOML"),
    ]
    .into_iter()
    .enumerate()
    {
        let file = file(
            &format!("wrong{n}"),
            &format!("to = \"127.0.0.1\"\n\n{line}\n"),
        );
        let out = run(&["forward", "--config", &file]);
        let said = text(&out.stderr);
        assert_eq!(out.status.code(), Some(2), "{line}: {said}");
        assert!(said.contains(&format!("{file}:3: ")), "{line}: {said}");
        assert!(said.contains(part), "{line}: {said}");
    }
    let nowhere = run(&["serve", "--config", "no/such/file"]);
    assert_eq!(nowhere.status.code(), Some(1));
    assert!(text(&nowhere.stderr).contains("cannot read the options no/such/file"));
    // What is missing, or does not go together, says what the file has.
    let some = file("some", "authorized = \"friends\"\nallow = [\"a:1\"]\n");
    let out = run(&["serve", "--config", &some, "--unprotected"]);
    let said = text(&out.stderr);
    assert_eq!(out.status.code(), Some(2), "{said}");
    assert!(said.contains("cannot be used with"), "{said}");
    assert!(
        said.contains(&format!("{some} gives --authorized, --allow")),
        "{said}"
    );
    let none = file("none", "quiet = true\n");
    let out = run(&["serve", "--config", &none]);
    let said = text(&out.stderr);
    assert!(said.contains("--allow <HOST:PORT>"), "{said}");
    assert!(said.contains(&format!("{none} gives --quiet")), "{said}");
}

#[test]
fn an_option_of_the_other_side_is_told_with_its_commands() {
    for (words, part) in [
        (
            &["recv", "--to", "x"][..],
            "tip: --to is an option of byway send, forward, cat, doctor, advise",
        ),
        (
            &["send", "a", "--dir", "x"],
            "tip: --dir is an option of byway recv",
        ),
        (
            &["forward", "--allow", "a:1"],
            "tip: --allow is an option of byway serve",
        ),
        // What no command has is spelt wrong.
        (
            &["recv", "--onc"],
            "tip: a similar argument exists: '--once'",
        ),
    ] {
        let out = run(words);
        let said = text(&out.stderr);
        assert_eq!(out.status.code(), Some(2), "{said}");
        assert!(said.contains(part), "{words:?}: {said}");
        assert!(!said.contains("--authorized"), "{words:?}: {said}");
    }
}

#[test]
fn the_command_line_wins_and_what_is_printed_is_such_a_file() {
    let text_of_file = "to = \"@ticket\"\nlisten = [\"127.0.0.1:1\", \"127.0.0.1:2=a:2\"]\n\
        connect-timeout = \"5 s\"\nverbose = 1\n[set]\nrto.min = \"50 ms\"\nrto.max = \"9 s\"\n";
    let first = file("first", text_of_file);
    let more = [
        "--connect-timeout",
        "3 s",
        "--listen",
        "127.0.0.1:3",
        "--set",
        "rto.min=70 ms",
    ];
    let words = [
        &["forward", "--config", &first, "--print-config"],
        &more[..],
    ]
    .concat();
    let out = run(&words);
    let printed = text(&out.stdout);
    assert!(out.status.success(), "{}", text(&out.stderr));
    for line in [
        "to = [\"@ticket\"]",
        "listen = [\"127.0.0.1:3\"]",
        "connect-timeout = \"3 s\"",
        "verbose = 1",
        "# quiet = false",
        "# port = \"5001\"",
        "# socks = \"ADDR:PORT\"",
    ] {
        assert!(printed.lines().any(|l| l == line), "{line}: {printed}");
    }
    assert!(!printed.contains("127.0.0.1:1"), "{printed}");
    // The last setting holds; a file has each once.
    assert!(
        printed.contains("[set]\nrto.max = \"9 s\"\nrto.min = \"70 ms\"\n"),
        "{printed}"
    );
    let second = file("second", &printed);
    let again = run(&["forward", "--config", &second, "--print-config"]);
    assert_eq!(text(&again.stdout), printed, "{}", text(&again.stderr));
    // Without options, each command prints a file that sets nothing.
    for command in ["serve", "forward", "recv", "send", "listen", "cat"] {
        let out = run(&[command, "--print-config"]);
        let printed = text(&out.stdout);
        assert!(out.status.success(), "{command}: {}", text(&out.stderr));
        let is_comment = |l: &str| l.is_empty() || l.starts_with('#');
        assert!(printed.lines().all(is_comment), "{command}: {printed}");
        assert!(
            printed.contains("# bind = ") && printed.contains("# [set]"),
            "{printed}"
        );
    }
    let out = run(&["forward", "--print-config", "--conect-timeout", "1 s"]);
    assert_eq!(out.status.code(), Some(2), "{}", text(&out.stdout));
}

#[test]
fn a_ticket_in_a_file_is_never_shown() {
    for (n, line) in [
        format!("to = \"{TICKET}\""),
        format!("to = \"{TICKET}"),
        format!("to = {TICKET}"),
        format!("to = [\"{TICKET}\", 1.5.5]"),
        format!("listen = \"{TICKET}\""),
        format!("port = \"{TICKET}\""),
        format!("encapsulation = \"{TICKET}\""),
        format!("quiet = \"{TICKET}\""),
        format!("set.rto.min = \"{TICKET}\""),
        format!("\"{TICKET}\" = 1"),
        // A line that is cut for the screen.
        format!("to = [{:100}\"{TICKET}\", {{ a = 1 }}]", ""),
    ]
    .iter()
    .enumerate()
    {
        let file = file(&format!("secret{n}"), &format!("{line}\n"));
        for words in [
            &["forward", "--config", &file, "--listen", "127.0.0.1:0"][..],
            &["forward", "--config", &file, "--print-config"],
            &["forward", "--config", &file, "--unknown"],
        ] {
            let out = run(words);
            let said = text(&out.stderr) + &text(&out.stdout);
            assert!(
                !said.contains("vov2") && !said.contains("zxg4"),
                "{line}: {said}"
            );
            assert!(!said.is_empty(), "{line}");
        }
    }
}
