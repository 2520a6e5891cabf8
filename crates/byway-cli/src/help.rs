//! What the help of all commands has in common.

use clap::Arg;

/// Who is let in, and who this is.
pub(crate) const KEYS: &str = "Tickets and keys";
/// Addresses, ports and what is below.
pub(crate) const NETWORK: &str = "Network";
/// What a command tells while it runs and afterwards.
pub(crate) const REPORTS: &str = "Reports and logs";
/// What few people need.
pub(crate) const RARE: &str = "Rarely needed";

/// What `-h` shows of the options under a heading. Those without one are all there.
const COMMON: [&str; 11] = [
    "uses",
    "ticket-to",
    "valid-for",
    "authorized",
    "key",
    "unprotected",
    "bind",
    "quiet",
    "report",
    "log",
    "metrics",
];

/// Leaves an option to `--help` if it is not among the common ones.
pub(crate) fn in_short_help(arg: Arg) -> Arg {
    let is_common = |arg: &Arg| match arg.get_help_heading() {
        None => true,
        Some(_) => arg.get_long().is_some_and(|name| COMMON.contains(&name)),
    };
    let hidden = !is_common(&arg);
    arg.hide_short_help(hidden)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::Cli;
    use clap::{Command, CommandFactory};

    /// Columns of a terminal that people have.
    const COLUMNS: usize = 80;
    /// Of these an example takes fewer: some programs that show it add a border.
    const EXAMPLE: usize = 78;

    /// Each command and each of its subcommands, with what calls it.
    fn all() -> Vec<(String, Command)> {
        fn collect(name: String, command: &Command, all: &mut Vec<(String, Command)>) {
            for one in command.get_subcommands() {
                collect(format!("{name} {}", one.get_name()), one, all);
            }
            all.push((name, command.clone()));
        }
        let mut command = Cli::command().term_width(COLUMNS);
        command.build();
        let mut all = Vec::new();
        collect("byway".to_owned(), &command, &mut all);
        all
    }

    fn widest(text: &str) -> usize {
        text.lines()
            .map(|line| line.chars().count())
            .max()
            .unwrap_or(0)
    }

    #[test]
    fn no_line_of_the_help_is_wider_than_a_terminal() {
        let commands = all();
        assert!(commands.len() > 25, "{}", commands.len());
        for (name, mut command) in commands {
            for help in [command.render_help(), command.render_long_help()] {
                let help = help.to_string();
                assert!(widest(&help) <= COLUMNS, "{name}\n{help}");
            }
        }
    }

    /// A page of a terminal or two, and first what most people need.
    #[test]
    fn the_short_help_of_everyday_commands_is_short() {
        let firsts = [
            ("recv", &["--dir", "--once", "--force"][..]),
            ("send", &["--to", "--dry-run", "--limit"]),
            ("forward", &["--listen", "--socks", "--http", "--to"]),
            ("serve", &["--allow"]),
            ("listen", &["--help"]),
            ("cat", &["--to"]),
        ];
        for (name, mut command) in all() {
            let Some((_, first)) = firsts.iter().find(|f| name == format!("byway {}", f.0)) else {
                continue;
            };
            let long = command.render_long_help().to_string();
            let short = command.render_help().to_string();
            let options = short.split("Examples:").next().unwrap_or_default();
            assert!(options.lines().count() <= 48, "{name}\n{short}");
            for help in [&short, &long] {
                let shown = help.split("\nOptions:\n").nth(1).unwrap_or_default();
                let shown = shown
                    .split("\nTickets and keys:\n")
                    .next()
                    .unwrap_or_default();
                let is_option = |word: &&str| word.starts_with("--");
                let shown: Vec<&str> = shown
                    .lines()
                    .filter(|line| line.trim_start().starts_with('-'))
                    .filter_map(|line| line.split_whitespace().find(is_option))
                    .collect();
                assert_eq!(shown.get(..first.len()), Some(*first), "{name}\n{help}");
            }
            let at = |heading: &str| long.find(&format!("\n{heading}:\n"));
            let order = [KEYS, NETWORK, REPORTS, RARE].map(at);
            assert!(
                order.is_sorted() && order[0].is_some(),
                "{name} {order:?}\n{long}"
            );
            assert!(!short.contains(RARE), "{name}\n{short}");
        }
    }

    /// clap breaks what is too long and knows nothing of columns.
    #[test]
    fn examples_are_lines_that_nobody_breaks_again() {
        let mut count = 0;
        for (name, command) in all() {
            let footer = command.get_after_help().map(ToString::to_string);
            let footer = footer.unwrap_or_default();
            let lines = footer.lines().filter(|line| line.starts_with(' '));
            for line in lines {
                count += 1;
                assert!(line.chars().count() <= EXAMPLE, "{name}: {line}");
                assert!(!line.trim_start().contains("   "), "{name}: {line}");
            }
            // And paragraphs are single lines, which clap fills.
            let paragraphs = footer.split("\n\n").filter(|p| !p.contains("\n  "));
            for paragraph in paragraphs.filter(|p| !p.starts_with(' ')) {
                assert!(!paragraph.contains('\n'), "{name}: {paragraph}");
            }
        }
        assert!(count > 100, "{count}");
    }
}
