//! TLS handshakes at a running receiver, faster than it answers them.

use crate::host::Host;
use crate::open_metrics;
use crate::peers::{self, contents, folder, run, text};
use byway::{Association, Endpoint, EndpointOptions, Message};
use byway_tls::{Answer, Expect, HANDSHAKE_PPID, Handshake, Refusal, SecretKey, Service, Ticket};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

/// What one host may begin at once, and in each second.
const AT_ONCE: u64 = 256;
const A_SECOND: u64 = 20;

/// One that has the ticket, but another secret.
struct Stranger {
    endpoint: Endpoint,
    to: SocketAddr,
    key: SecretKey,
    ticket: Ticket,
}

impl Stranger {
    fn new(ticket: &str, from: &str) -> Stranger {
        let ticket = Ticket::parse(ticket).unwrap();
        let local: SocketAddr = from.parse().unwrap();
        Stranger {
            endpoint: Endpoint::bind(EndpointOptions::new([local])).unwrap(),
            to: ticket.addresses[0],
            key: SecretKey::generate().unwrap(),
            ticket,
        }
    }

    /// A handshake whose first message has left.
    async fn begin(&self) -> (Association, Handshake) {
        let association = self.endpoint.connect(&[self.to], 5001).await.unwrap();
        let expect = Expect::fingerprint(self.ticket.server);
        let mut handshake = Handshake::client(&self.key, expect, Service::Files).unwrap();
        tell(&association, &mut handshake).await;
        (association, handshake)
    }

    /// Half a handshake: whether it was answered; if not, why.
    async fn half(&self) -> Result<(), String> {
        let (association, _) = self.begin().await;
        let answered = association.recv().await.is_some();
        let _ = association.abort(b"enough");
        match answered {
            true => Ok(()),
            false => Err(association.closed().await.to_string()),
        }
    }

    /// A whole one, with a secret that is wrong: the answer to it.
    async fn whole(&self) -> Option<Answer> {
        let (association, mut handshake) = self.begin().await;
        while !handshake.is_done() {
            let received = association.recv().await?;
            handshake.receive(&received.payload).unwrap();
            tell(&association, &mut handshake).await;
        }
        let mut session = handshake.finish().unwrap();
        let wrong = Ticket {
            secret: Some(byway_tls::Secret::generate().unwrap()),
            ..self.ticket.clone()
        };
        let request = session.witness.request(Some(&wrong)).encode();
        let sealed = session.sealer.seal_admission(&request).unwrap();
        let mut message = Message::new(0, sealed);
        message.ppid = byway_tls::SEALED_PPID;
        association.send(message).await.unwrap();
        session.sealer.sent(0);
        let answer = association.recv().await?;
        let _ = association.abort(b"enough");
        match session.opener.open(0, &answer.payload).unwrap() {
            byway_tls::Opened::Admission(plain) => Answer::decode(&plain),
            other => panic!("{other:?}"),
        }
    }
}

async fn tell(association: &Association, handshake: &mut Handshake) {
    while let Some(bytes) = handshake.next_message() {
        let mut message = Message::new(0, bytes);
        message.ppid = HANDSHAKE_PPID;
        // Refused when it has ended already.
        let _ = association.send(message).await;
    }
}

// They were in no account: 1,024 of them take as much as a small ceiling, beside it.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[test]
fn handshakes_under_way_are_in_the_account_of_memory() {
    const COUNT: usize = 100;
    let dir = folder("handshakes-kept");
    let args = ["recv", "--metrics", "127.0.0.1:0", "--dir"];
    let mut recv = Host::start(&[&args[..], &[dir.to_str().unwrap()]].concat());
    let (line, _said) = peers::first_line(recv.child.as_mut().unwrap());
    let metrics = peers::metrics_at(&line).unwrap();
    let child = recv.child.as_ref().unwrap();
    let account = || open_metrics::scrape(metrics).values("byway_memory_bytes", &[])[0];
    let filled = || peers::filled(child) as f64 * 1024.0;
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        // Each has ports of its own.
        let begin = async || {
            let stranger = Stranger::new(&recv.ticket, "127.0.0.7:0");
            let (association, handshake) = stranger.begin().await;
            // It has answered, and waits for what never comes.
            assert!(association.recv().await.is_some());
            (association, handshake, stranger)
        };
        // What is there once, whoever asks.
        let mut all = vec![begin().await];
        let before = (account(), filled());
        while all.len() <= COUNT {
            all.push(begin().await);
        }
        let grown = (account() - before.0, filled() - before.1);
        assert!(grown.0 > (COUNT * 32 * 1024) as f64, "{grown:?}");
        assert!(grown.1 < grown.0 + 1_000_000.0, "{grown:?}");
        for (association, ..) in &all {
            association.abort(b"enough").unwrap();
        }
    });
    peers::wait_until(|| account() < 100_000.0);
}

/// Strangers with a wrong secret, as fast as it goes, would have the processors.
#[test]
fn handshakes_of_one_host_have_a_rate_and_leave_others_theirs() {
    let dir = folder("handshakes");
    let inbox = dir.join("inbox");
    let recv = Host::start(&["recv", "--json", "--dir", inbox.to_str().unwrap()]);
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let begun = Instant::now();
    let (stranger, answered, why) = runtime.block_on(async {
        let stranger = Stranger::new(&recv.ticket, "127.0.0.7:0");
        let refused = stranger.whole().await;
        assert!(
            matches!(refused, Some(Answer::Refused(Refusal::WrongSecret))),
            "{refused:?}"
        );
        let mut answered = 1;
        let why = loop {
            let half = tokio::time::timeout(Duration::from_secs(60), stranger.half());
            match half.await.expect("it is answered or refused") {
                Ok(()) => answered += 1,
                Err(why) => break why,
            }
            assert!(
                begun.elapsed() < Duration::from_secs(120),
                "{answered} answered"
            );
        };
        (stranger, answered, why)
    });
    assert!(
        why.contains("too many TLS handshakes in a short time"),
        "{why}"
    );
    let most = AT_ONCE + A_SECOND * (begun.elapsed().as_secs() + 1);
    assert!((AT_ONCE..=most).contains(&answered), "{answered} of {most}");
    // It goes on, and a sender of another host is served.
    let going_on = runtime.spawn(async move {
        loop {
            let _ = stranger.half().await;
        }
    });
    let file = dir.join("good.bin");
    std::fs::write(&file, contents(300_000)).unwrap();
    let to = ["--to", &recv.ticket, "--bind", "127.0.0.8:0"];
    let out = run(&[&["send", file.to_str().unwrap(), "--retries", "0"], &to[..]].concat());
    assert!(out.status.success(), "{}", text(&out.stderr));
    going_on.abort();
    let (status, out, said) = recv.finish();
    assert_eq!(status, Some(0), "{said}");
    assert!(std::fs::read(inbox.join("good.bin")).unwrap() == contents(300_000));
    assert!(said.contains("too many TLS handshakes"), "{said}");
    let report: serde_json::Value = serde_json::from_slice(&out).unwrap();
    let counted = report["refused_by_endpoint"]["handshakes_refused"].as_u64();
    assert!(counted >= Some(1), "{report}");
}
