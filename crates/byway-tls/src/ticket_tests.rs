use super::*;
use proptest::prelude::*;

fn ticket() -> Ticket {
    Ticket {
        service: Service::Files,
        sctp_port: 5001,
        server: [0xab; 16],
        secret: Some(Secret(Zeroizing::new([0xcd; 16]))),
        expires: None,
        addresses: vec![
            "10.0.0.1:9899".parse().unwrap(),
            "10.1.0.1:9899".parse().unwrap(),
        ],
    }
}

/// What a ticket says.
fn said(t: &Ticket) -> String {
    let secret = t.secret.as_ref().map(|s| *s.bytes());
    format!("{t:?} {secret:?}")
}

#[test]
fn a_ticket_is_one_word_of_a_hundred_characters() {
    let text = ticket().to_text();
    assert_eq!(
        &**text,
        "byway1-g4erhcnl-vov2xk5l-vov2xk5l-vov2xk5l-zxg43ton-zxg43ton-zxg43ton-zubaicqa-aaasnkye-biaqaajg-vm664cuk"
    );
    assert_eq!(said(&Ticket::parse(&text).unwrap()), said(&ticket()));
}

#[test]
fn a_ticket_is_read_as_mail_programs_and_people_write_it() {
    let text = ticket().to_text();
    let wrapped: String = text.replace("-z", "-\r\n  z");
    let typed = text.replace('o', "0").replace('l', "1").replace('b', "8");
    // The prefix keeps its letters.
    let typed = typed.replacen("8yway1", "byway1", 1);
    for other in [
        text.to_uppercase(),
        wrapped,
        typed,
        text[7..].replace('-', ""),
    ] {
        let other = match other.starts_with("byway") || other.starts_with("BYWAY") {
            true => other,
            false => format!("byway1-{other}"),
        };
        let read = Ticket::parse(&other).unwrap_or_else(|e| panic!("{other}: {e}"));
        assert_eq!(said(&read), said(&ticket()));
    }
}

#[test]
fn each_mistake_has_its_words() {
    let text = ticket().to_text().to_string();
    for (wrong, words) in [
        (String::new(), "not a ticket"),
        ("10.0.0.1".to_owned(), "not a ticket"),
        (text.replacen('1', "2", 1), "version 2"),
        (text.replacen("byway1-g", "byway1-!", 1), "character 1"),
        ("byway1-".to_owned(), "cut short: 0 of"),
        (text[..60].to_owned(), "cut short"),
        (text[..text.len() - 1].to_owned(), "cut short"),
        (format!("{text}aaaaaaaa"), "mistyped"),
        (text.replacen("vov2", "vov3", 1), "checksum"),
    ] {
        let error = Ticket::parse(&wrong).unwrap_err();
        assert!(error.to_string().contains(words), "{wrong}: {error}");
        assert!(!format!("{error:?} {error}").contains("g4erhcnl"));
    }
    assert!(Ticket::is_meant(&text) && Ticket::is_meant("byway2-x"));
    let joined = text.replacen("byway1-", "byway1", 1);
    assert!(Ticket::is_meant(&joined));
    assert_eq!(Ticket::parse(&joined).unwrap_err(), TicketError::NotATicket);
    for other in ["byway", "byway-1", "10.0.0.1", "bywayhost-1", "byway1"] {
        assert!(!Ticket::is_meant(other), "{other}");
    }
}

#[test]
fn every_cut_and_every_wrong_character_is_found() {
    let text = ticket().to_text();
    for len in 0..text.len() {
        assert!(Ticket::parse(&text[..len]).is_err(), "{len}");
    }
    for at in "byway1-".len()..text.len() {
        let was = text.as_bytes()[at];
        for to in b"abcdefghijklmnopqrstuvwxyz234567" {
            if was == b'-' || was == *to {
                continue;
            }
            let mut other = text.as_bytes().to_vec();
            other[at] = *to;
            let found = Ticket::parse(std::str::from_utf8(&other).unwrap());
            // The last character has bits that say nothing.
            if let Ok(found) = found {
                assert_eq!(at, text.len() - 1);
                assert_eq!(said(&found), said(&ticket()));
            }
        }
    }
}

#[test]
fn contents_that_no_byway_writes_are_refused_though_the_checksum_is_right() {
    for (at, value, words) in [
        (1, 0, "unknown service"),
        (1, 0x29, "another version"),
        (1, 1, "kind"),
        (36, 0, "no address"),
        (36, 9, "too many"),
        (36, 3, "contents too short"),
        (37, 5, "unknown kind"),
    ] {
        let mut bytes = ticket().to_bytes().to_vec();
        bytes.truncate(bytes.len() - CHECKSUM);
        bytes[at] = value;
        let sum = checksum(&bytes);
        bytes.extend_from_slice(&sum);
        let error = Ticket::parse(&format!("byway1-{}", BASE32.encode(&bytes))).unwrap_err();
        let damaged = matches!(error, TicketError::Damaged(_));
        assert!(
            damaged && (words == "kind" || error.to_string().contains(words)),
            "{error}"
        );
    }
}

#[test]
fn no_secret_is_in_debug_output() {
    let shown = format!("{:?}", ticket());
    assert!(
        shown.contains("Secret(..)") && !shown.contains("205"),
        "{shown}"
    );
}

proptest! {
    #[test]
    fn any_ticket_is_read_as_it_was_written(
        service in 0..3_usize,
        sctp_port in 1..=u16::MAX,
        server: [u8; 16],
        secret: Option<[u8; 16]>,
        expires: Option<u64>,
        addresses in prop::collection::vec(any::<(IpAddr, u16)>(), 1..=MOST_ADDRESSES),
    ) {
        let ticket = Ticket {
            service: Service::ALL[service],
            sctp_port,
            server,
            secret: secret.map(|s| Secret(Zeroizing::new(s))),
            expires,
            addresses: addresses.into_iter().map(SocketAddr::from).collect(),
        };
        let read = Ticket::parse(&ticket.to_text());
        prop_assert_eq!(said(&read.unwrap()), said(&ticket));
    }

    #[test]
    fn no_text_panics(text in "(byway1-)?[a-z2-7 -]{0,300}", any in ".*") {
        let _ = (Ticket::parse(&text), Ticket::parse(&any), Ticket::is_meant(&any));
    }
}
