//! A new ticket, where the user sees it.

use super::args::{GateArgs, Uses};
use super::commands;
use crate::failure::{Failure, Kind};
use crate::net::about::about;
use crate::terminal::{print, say, say_part};
use byway_lab::units::format_duration;
use byway_tls::{MOST_ADDRESSES, Service, Ticket};
use qrcode::render::unicode::Dense1x2;
use qrcode::{EcLevel, QrCode};
use std::fs::OpenOptions;
use std::io::{IsTerminal, Write};
use std::net::{IpAddr, SocketAddr};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use zeroize::Zeroizing;

/// Where a ticket may go.
#[derive(Copy, Clone, Debug)]
pub(in crate::net) struct Output {
    /// Whether standard output is for data: then it goes to standard error.
    pub(in crate::net) data: bool,
    /// As JSON.
    pub(in crate::net) json: bool,
    /// Without any words.
    pub(in crate::net) quiet: bool,
}

/// Those of an endpoint that mean the same on another machine.
pub(super) fn addresses(local: &[SocketAddr]) -> Result<Vec<SocketAddr>, Failure> {
    let means = |a: &&SocketAddr| match a.ip() {
        IpAddr::V4(ip) => !ip.is_unspecified(),
        IpAddr::V6(ip) => !ip.is_unspecified() && !ip.is_unicast_link_local(),
    };
    let mut all: Vec<SocketAddr> = local.iter().filter(means).copied().collect();
    if all.is_empty() {
        return Err(Failure::wrong(
            "a ticket needs an address that others reach: name one with --bind, which is neither 0.0.0.0 nor of one link",
        ));
    }
    if all.len() > MOST_ADDRESSES {
        say(format_args!(
            "warning: the ticket names the first {MOST_ADDRESSES} of {} addresses",
            all.len()
        ));
        all.truncate(MOST_ADDRESSES);
    }
    Ok(all)
}

/// Gives the ticket to the user.
pub(super) fn tell(
    ticket: &Ticket,
    uses: Uses,
    args: &GateArgs,
    output: Output,
) -> Result<(), Failure> {
    let text = ticket.to_text();
    let words = words(ticket, uses, args);
    if let Some(file) = &args.ticket_to {
        write(file, &text).map_err(|e| Failure::file("write the ticket to", file, &e))?;
        if !output.quiet {
            say(format_args!(
                "the ticket is in {}. {words}; {}",
                file.display(),
                example(ticket.service, &format!("@{}", file.display()))
            ));
        }
        return Ok(());
    }
    if !(output.quiet || output.json) {
        if std::io::stderr().is_terminal()
            && let Some(code) = qr(&text)
        {
            say(code);
        }
        say(format_args!(
            "{words}. On the other side: {}",
            example(ticket.service, "TICKET")
        ));
    }
    let line = Zeroizing::new(match output.json {
        // Its characters need no escape.
        true => format!(
            "{{\"schema\":\"byway.ticket/1\",\"ticket\":\"{}\"}}\n",
            &**text
        ),
        false => format!("{}\n", &**text),
    });
    if output.data {
        // As it is: for a program it is JSON already.
        say_part(&line);
        return Ok(());
    }
    print(&line)
}

fn words(ticket: &Ticket, uses: Uses, args: &GateArgs) -> String {
    let time = args
        .valid_for
        .map_or(String::new(), |t| format!(" within {}", format_duration(t)));
    match (&args.authorized, uses) {
        (Some(file), _) => format!(
            "This ticket is no secret: it lets in those whose keys are in {}",
            file.display()
        ),
        (None, Uses::AtMost(1)) => format!(
            "Who has this ticket may {} once{time}: give it to nobody else",
            what(ticket.service)
        ),
        (None, Uses::AtMost(n)) => format!(
            "The first {n} who have this ticket may {}{time}: give it to nobody else",
            what(ticket.service)
        ),
        (None, Uses::Any) => format!(
            "Who has this ticket may {}{time}, again and again: give it to nobody else",
            what(ticket.service)
        ),
    }
}

fn what(service: Service) -> &'static str {
    match service {
        Service::Files => "send files here",
        Service::Pipe => "send data here",
        Service::Tunnel => "connect to what --allow names",
    }
}

fn example(service: Service, ticket: &str) -> String {
    let rest = match service {
        Service::Files => "FILE ",
        Service::Pipe => "",
        Service::Tunnel => "--listen 127.0.0.1:8080 ",
    };
    format!("{} {rest}--to {ticket}", commands(service).1)
}

/// As a QR code: in large letters, which take two thirds of the room.
fn qr(text: &str) -> Option<String> {
    let large = Zeroizing::new(text.to_uppercase());
    let code = QrCode::with_error_correction_level(&*large, EcLevel::L).ok()?;
    // For a dark screen: its light parts are drawn.
    let mut image = code.render::<Dense1x2>();
    let image = image
        .dark_color(Dense1x2::Light)
        .light_color(Dense1x2::Dark);
    Some(image.build())
}

/// To a file that only its owner reads.
fn write(file: &Path, text: &str) -> std::io::Result<()> {
    // Complete before it has its name: somebody may wait for it.
    let mut draft = file.as_os_str().to_owned();
    draft.push(".new");
    let draft = Path::new(&draft);
    let mut options = OpenOptions::new();
    let _ = std::fs::remove_file(draft);
    let mut made = options
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(draft)?;
    made.write_all(text.as_bytes())?;
    made.write_all(b"\n")?;
    made.sync_all()?;
    std::fs::rename(draft, file)
}

/// Of a ticket that has expired by this machine's clock.
pub(super) fn has_expired(ticket: &Ticket) -> Option<Failure> {
    let past = now().checked_sub(ticket.expires?)?;
    let ago = about(Duration::from_secs(past));
    Some(Failure::new(
        Kind::Refused,
        format!("the ticket has expired {ago} ago, by this machine's clock; ask for a new one"),
    ))
}

/// Seconds since 1970.
pub(super) fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |d| d.as_secs())
}
