//! Errors quote what was typed, and a ticket in the wrong place is a secret.

use byway_tls::TICKET_PREFIX;
use std::borrow::Cow;

/// What is shown of one, the prefix included: nothing of its secret.
const SHOWN: usize = 15;

/// The text with tickets cut short.
pub(crate) fn hidden(text: &str) -> Cow<'_, str> {
    if !text.contains(TICKET_PREFIX) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(TICKET_PREFIX) {
        let (before, ticket) = rest.split_at(at);
        let end = ticket.find(|c: char| !c.is_ascii_alphanumeric() && c != '-');
        let (ticket, after) = ticket.split_at(end.unwrap_or(ticket.len()));
        out.push_str(before);
        match ticket.get(..SHOWN) {
            Some(begin) => out.extend([begin, "..."]),
            None => out.push_str(ticket),
        }
        rest = after;
    }
    out.push_str(rest);
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tickets_are_cut_short_wherever_they_stand() {
        let ticket = "byway1-g4erhcnl-vov2xk5l-zxg43ton";
        for (text, shown) in [
            ("no ticket", "no ticket"),
            ("byway1-", "byway1-"),
            (ticket, "byway1-g4erhcnl..."),
            (
                &format!("cannot read {ticket}: no"),
                "cannot read byway1-g4erhcnl...: no",
            ),
            (
                &format!("'{ticket}' and {ticket}"),
                "'byway1-g4erhcnl...' and byway1-g4erhcnl...",
            ),
        ] {
            assert_eq!(hidden(text), shown, "{text}");
        }
    }
}
