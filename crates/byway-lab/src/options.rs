//! A file with the options of a command: TOML, whose keys are the long names of the options.

use crate::source::{Entry, Item, Node, Problems, Source, Table, listed, nearest};
use std::ops::Range;

/// What an option takes in a file.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Takes {
    /// `true` or `false`.
    Flag,
    /// How often it is said, a number; `true` is once.
    Count,
    /// One value.
    One,
    /// One value, or a list of them.
    Many,
    /// A table of settings, whose keys may be tables, too: `rto.min = "100 ms"`.
    Settings,
}

/// An option that a file may have.
#[derive(Clone, Debug)]
pub struct Known {
    /// Its long name, without the dashes.
    pub name: String,
    /// What it takes.
    pub takes: Takes,
}

/// An option that a file has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Given {
    /// Its long name, without the dashes.
    pub name: String,
    /// The arguments of a command line that say the same: none for a flag that is `false`.
    pub arguments: Vec<String>,
}

/// Most times that an option is said which counts.
const MOST: i64 = 9;

/// Reads the options of `command`. `check` says what is wrong with an argument, or nothing.
///
/// # Errors
/// All that is wrong with the file, with its lines.
pub fn read(
    file: &str,
    text: &str,
    command: &str,
    known: &[Known],
    check: &mut dyn FnMut(&str) -> Result<(), String>,
) -> Result<Vec<Given>, Problems> {
    let source = Source::new(file, text);
    let mut reader = Reader {
        source: &source,
        check,
    };
    let mut options = Vec::new();
    for entry in &source.parse().entries {
        let names = || known.iter().map(|k| k.name.as_str());
        let Some(option) = known.iter().find(|k| k.name == entry.key) else {
            let hint = match nearest(&entry.key, names()) {
                Some(near) => format!("did you mean \"{near}\"?"),
                None => format!("there are {}", listed(names())),
            };
            let message = format!("\"{}\" is no option of {command}; {hint}", entry.key);
            source.problem(&entry.key_span, message);
            continue;
        };
        options.push(Given {
            name: option.name.clone(),
            arguments: reader.arguments(option, entry),
        });
    }
    source.finish(Some(options))
}

struct Reader<'a> {
    source: &'a Source<'a>,
    check: &'a mut dyn FnMut(&str) -> Result<(), String>,
}

impl Reader<'_> {
    fn arguments(&mut self, option: &Known, entry: &Entry) -> Vec<String> {
        let (name, item) = (&option.name, &entry.value);
        let mut out = Vec::new();
        match (option.takes, &item.node) {
            (Takes::Flag | Takes::Count, Node::Bool(said)) => {
                out.extend(said.then(|| format!("--{name}")));
            }
            (Takes::Flag, _) => self.expected(name, item, "true or false"),
            (Takes::Count, Node::Integer(times @ 0..=MOST)) => {
                out.extend((0..*times).map(|_| format!("--{name}")));
            }
            (Takes::Count, _) => self.expected(name, item, "a number from 0 to 9"),
            (Takes::Settings, Node::Table(table)) => self.settings(name, "", table, &mut out),
            (Takes::Settings, _) => {
                self.expected(name, item, "a table, such as set.rto.min = \"100 ms\"");
            }
            (Takes::Many, Node::List(items)) => {
                for item in items {
                    out.extend(self.valued(name, item, "a text or a number"));
                }
            }
            (Takes::Many, _) => {
                let right = "a text or a number, or a list of them";
                out.extend(self.valued(name, item, right));
            }
            (Takes::One, _) => out.extend(self.valued(name, item, "one text or number")),
        }
        out
    }

    /// `--name=value`, if it can be.
    fn valued(&mut self, name: &str, item: &Item, right: &str) -> Option<String> {
        let Some(value) = text(item) else {
            self.expected(name, item, right);
            return None;
        };
        self.checked(format!("--{name}={value}"), name, item.span.clone())
    }

    /// An argument, if nothing is wrong with it; what is wrong is told of `name` at this place.
    fn checked(&mut self, argument: String, name: &str, place: Range<usize>) -> Option<String> {
        match (self.check)(&argument) {
            Ok(()) => Some(argument),
            Err(why) => {
                self.source.problem(&place, format!("{name}: {why}"));
                None
            }
        }
    }

    /// The settings of a table; those of the tables in it have its key before their own.
    fn settings(&mut self, name: &str, above: &str, table: &Table, out: &mut Vec<String>) {
        for entry in &table.entries {
            let key = format!("{above}{}", entry.key);
            match (&entry.value.node, text(&entry.value)) {
                (Node::Table(below), _) => self.settings(name, &format!("{key}."), below, out),
                (_, Some(value)) => {
                    let place = entry.key_span.start..entry.value.span.end;
                    let argument = format!("--{name}={key}={value}");
                    out.extend(self.checked(argument, &format!("{name}.{key}"), place));
                }
                (_, None) => {
                    let right = "a text, a number, true or false";
                    self.expected(&format!("{name}.{key}"), &entry.value, right);
                }
            }
        }
    }

    fn expected(&self, name: &str, item: &Item, right: &str) {
        let message = format!("{name}: found {}, expected {right}", item.shown());
        self.source.problem(&item.span, message);
    }
}

/// A value as it stands in an argument.
fn text(item: &Item) -> Option<String> {
    match &item.node {
        Node::Text(text) => Some(text.clone()),
        Node::Integer(_) | Node::Float(_) | Node::Bool(_) => Some(item.shown()),
        Node::List(_) | Node::Table(_) | Node::Other(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Result<Vec<String>, String> {
        let known = [
            ("allow", Takes::Many),
            ("unprotected", Takes::Flag),
            ("verbose", Takes::Count),
            ("connect-timeout", Takes::One),
            ("set", Takes::Settings),
        ];
        let known = known.map(|(name, takes)| Known {
            name: name.to_owned(),
            takes,
        });
        let mut check = |argument: &str| match argument.contains("wrong") {
            true => Err("that is wrong, such as right".to_owned()),
            false => Ok(()),
        };
        match read("mine.toml", text, "byway serve", &known, &mut check) {
            Ok(given) => Ok(given.into_iter().flat_map(|g| g.arguments).collect()),
            Err(problems) => Err(problems.to_string()),
        }
    }

    #[test]
    fn options_become_arguments_in_the_order_of_the_file() {
        let text = "connect-timeout = \"5 s\"\nallow = [\"a:1\", \"b:2\"]\nunprotected = true\n\
            verbose = 2\n[set]\nrto.min = \"100 ms\"\nfailover = { revival = false }\n";
        let arguments = [
            "--connect-timeout=5 s",
            "--allow=a:1",
            "--allow=b:2",
            "--unprotected",
            "--verbose",
            "--verbose",
            "--set=rto.min=100 ms",
            "--set=failover.revival=false",
        ];
        assert_eq!(of(text).unwrap(), arguments);
        assert_eq!(of("allow = \"a:1\"\n").unwrap(), ["--allow=a:1"]);
        let off = "unprotected = false\nverbose = 0\n";
        assert_eq!(of(off).unwrap(), [""; 0]);
    }

    #[test]
    fn what_is_wrong_is_told_with_its_line_and_what_would_be_right() {
        for (line, part) in [
            (
                "alow = \"a\"",
                "\"alow\" is no option of byway serve; did you mean \"allow\"?",
            ),
            (
                "colour = 1",
                "there are allow, unprotected, verbose, connect-timeout and set",
            ),
            (
                "unprotected = \"yes\"",
                "found \"yes\", expected true or false",
            ),
            ("verbose = 12", "found 12, expected a number from 0 to 9"),
            (
                "connect-timeout = [\"1 s\"]",
                "found a list, expected one text or number",
            ),
            (
                "allow = [[\"a\"]]",
                "found a list, expected a text or a number",
            ),
            (
                "allow = [\"a:1\", \"wrong\"]",
                "allow: that is wrong, such as right",
            ),
            (
                "set = \"rto.min=1\"",
                "expected a table, such as set.rto.min",
            ),
            ("set.rto.min = \"wrong\"", "set.rto.min: that is wrong"),
            ("set.rto.min = []", "set.rto.min: found a list"),
            ("allow \"a\"", "this is not TOML"),
        ] {
            let told = of(&format!("# mine\n\n{line}\n")).unwrap_err();
            assert!(told.starts_with("mine.toml:3: "), "{told}");
            assert!(told.contains(part), "{told}");
        }
        let told = of("alow = 1\nverbose = 1\nverbos = 1\n").unwrap_err();
        assert!(
            told.contains("mine.toml:1") && told.contains("mine.toml:3"),
            "{told}"
        );
    }
}
