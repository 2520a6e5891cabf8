//! What the help of all commands has in common.

#[cfg(test)]
mod tests {
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
