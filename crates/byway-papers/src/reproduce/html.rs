//! Pieces of the page: figures, names and text.

use super::figure::{Figure, Source, svg};
use std::fmt::Write;

pub(in crate::reproduce) fn figure(out: &mut String, figure: &Figure) -> Result<(), String> {
    let id = anchor(&figure.name);
    let _ = writeln!(
        out,
        "<figure id=\"{id}\" data-figure=\"{}\">\n<h4>{}: {}</h4>\n{}<div class=\"panels\">",
        escape(&figure.name),
        escape(&figure.name),
        escape(&figure.title),
        legend(figure)
    );
    for panel in &figure.panels {
        let drawing = svg::panel(figure, panel).map_err(|e| format!("{}: {e}", figure.name))?;
        let label = format!("{}, {}", figure.name, panel.title);
        let drawing = drawing.replacen(
            "<svg ",
            &format!("<svg role=\"img\" aria-label=\"{}\" ", escape(&label)),
            1,
        );
        out.push_str(&drawing);
    }
    let file = format!("{}.csv", id);
    let _ = writeln!(
        out,
        "</div>\n<p class=\"again\" hidden><code></code> <button type=\"button\">Copy</button></p>\n\
         <figcaption>{} <a download=\"{file}\" href=\"data:text/csv;charset=utf-8,{}\">Its \
         data as CSV</a>.</figcaption>\n</figure>",
        escape(&figure.caption),
        percent_encoded(&figure.csv())
    );
    Ok(())
}

/// Names with their colours, and what lines and rings are.
fn legend(figure: &Figure) -> String {
    let mut out = String::from("<p class=\"legend\">");
    for (i, name) in figure.names.iter().enumerate() {
        let _ = write!(
            out,
            "<span><i style=\"--colour:var(--c{})\"></i>{}</span>",
            i % svg::COLOURS.len(),
            escape(name)
        );
    }
    let others = [Source::Ns2, Source::Paper].map(|s| figure.shows(s));
    if others.contains(&true) {
        let shown = [Source::Byway, Source::Ns2, Source::Paper];
        for source in shown.into_iter().filter(|s| figure.shows(*s)) {
            let _ = write!(
                out,
                "<span class=\"source\"><i class=\"{}\"></i>{}</span>",
                svg::mark(source),
                source.name()
            );
        }
    }
    out.push_str("</p>\n");
    out
}

pub(super) fn anchor(name: &str) -> String {
    name.replace(' ', "-")
}

pub(in crate::reproduce) fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

/// Percent-encodes what is not allowed in a URI (RFC 3986 section 2.1).
fn percent_encoded(text: &str) -> String {
    let mut out = String::with_capacity(text.len() * 2);
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b',' => {
                out.push(char::from(byte));
            }
            _ => {
                let _ = write!(out, "%{byte:02X}");
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_letter_is_encoded() {
        assert_eq!(percent_encoded("a b,\n%"), "a%20b,%0A%25");
    }
}
