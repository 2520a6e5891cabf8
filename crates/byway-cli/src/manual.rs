//! Manual pages, made from the help.

use crate::failure::Failure;
use clap::builder::Resettable;
use std::io::Write;
use std::path::Path;

/// Writes the page of a command, and those of its subcommands.
pub(crate) fn write(mut command: clap::Command, folder: &Path) -> Result<(), Failure> {
    std::fs::create_dir_all(folder).map_err(|e| Failure::file("make the folder", folder, &e))?;
    clap_mangen::generate_to(without_examples(command.clone()), folder)
        .map_err(|e| Failure::file("write manual pages to", folder, &e))?;
    command.build();
    add_examples(&command, "byway", folder)
}

/// The text behind the help is filled into paragraphs by the generator, and has lines.
fn without_examples(command: clap::Command) -> clap::Command {
    command
        .after_help(Resettable::Reset)
        .mut_subcommands(without_examples)
}

fn add_examples(command: &clap::Command, name: &str, folder: &Path) -> Result<(), Failure> {
    if let Some(text) = command.get_after_help() {
        let page = folder.join(format!("{name}.1"));
        let section = lines(&text.to_string());
        let added = std::fs::OpenOptions::new().append(true).open(&page);
        added
            .and_then(|mut file| file.write_all(section.as_bytes()))
            .map_err(|e| Failure::file("write", &page, &e))?;
    }
    let mut pages = command.get_subcommands().filter(|c| c.get_name() != "help");
    pages.try_for_each(|c| add_examples(c, &format!("{name}-{}", c.get_name()), folder))
}

/// A section whose lines stay as they are, in the language of manual pages.
fn lines(text: &str) -> String {
    let (title, body) = match text.strip_prefix("Examples:\n") {
        Some(body) => ("EXAMPLES", body),
        None => ("NOTES", text),
    };
    let mut section = format!(".SH {title}\n.nf\n");
    for line in body.lines() {
        let line = line
            .replace('\\', "\\e")
            .replace('-', "\\-")
            .replace('\'', "\\(aq");
        // What begins with a point would be a command.
        section.push_str(if line.starts_with('.') { "\\&" } else { "" });
        section.push_str(&line);
        section.push('\n');
    }
    section + ".fi\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_a_page_are_those_of_the_help() {
        let page = lines("Examples:\n  byway send a \\\n    --to 'x'\n.profile");
        let expected =
            ".SH EXAMPLES\n.nf\n  byway send a \\e\n    \\-\\-to \\(aqx\\(aq\n\\&.profile\n.fi\n";
        assert_eq!(page, expected);
    }
}
