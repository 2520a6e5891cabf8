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

/// The text in the language of manual pages: paragraphs are filled, and lines that are indented stay as they
/// are.
fn lines(text: &str) -> String {
    let mut section = String::new();
    let mut is_filled = true;
    for line in text.lines() {
        let fills = !line.starts_with(' ') && !line.is_empty();
        match (line, fills) {
            ("Examples:", _) => {
                section.push_str(if is_filled { "" } else { ".fi\n" });
                section.push_str(".SH EXAMPLES\n.nf\n");
                is_filled = false;
                continue;
            }
            _ if section.is_empty() => {
                section.push_str(if fills {
                    ".SH NOTES\n"
                } else {
                    ".SH NOTES\n.nf\n"
                });
            }
            (_, true) => section.push_str(if is_filled { ".PP\n" } else { ".fi\n.PP\n" }),
            (_, false) if line.is_empty() && is_filled => continue,
            (_, false) if is_filled => section.push_str(".nf\n"),
            _ => {}
        }
        is_filled = fills;
        let line = line
            .replace('\\', "\\e")
            .replace('-', "\\-")
            .replace('\'', "\\(aq");
        // What begins with a point would be a command.
        section.push_str(if line.starts_with('.') { "\\&" } else { "" });
        section.push_str(&line);
        section.push('\n');
    }
    section + if is_filled { "" } else { ".fi\n" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_a_page_are_those_of_the_help() {
        let page = lines(
            "Keys: q ends.\n\nExamples:\n  byway send a \\\n    --to 'x'\n\n  byway send b\n\n.profile",
        );
        let expected = ".SH NOTES\nKeys: q ends.\n.SH EXAMPLES\n.nf\n  byway send a \\e\n    \\-\\-to \\(aqx\\(aq\n\n  \
            byway send b\n\n.fi\n.PP\n\\&.profile\n";
        assert_eq!(page, expected);
        assert_eq!(
            lines("A file:\n  a = 1\nand so on"),
            ".SH NOTES\nA file:\n.nf\n  a = 1\n.fi\n.PP\nand so on\n"
        );
    }
}
