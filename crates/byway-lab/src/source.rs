//! A TOML text as a tree with the place of each value.
//!
//! Every problem is collected with its line, what was found and what would be
//! right, so that a file can be corrected in one pass.

use std::cell::RefCell;
use std::fmt;
use std::io::{self, Read};
use std::ops::Range;
use std::path::{Path, PathBuf};
use toml::de::{DeTable, DeValue};

/// What is in a file, which may be a device that never ends.
///
/// # Errors
/// Those of the system, and [`io::ErrorKind::FileTooLarge`] if it has more than `longest` bytes.
pub fn bounded(file: &Path, longest: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    std::fs::File::open(file)?
        .take(longest + 1)
        .read_to_end(&mut bytes)?;
    if bytes.len() as u64 > longest {
        let why = format!("it has more than {longest} bytes");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, why));
    }
    Ok(bytes)
}

/// One thing wrong with a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The file's name, or a substitute for it.
    pub file: String,
    /// Line, counted from 1; 0 when the whole file is meant.
    pub line: usize,
    /// What was found and what would be right.
    pub message: String,
    /// The line itself.
    pub text: String,
    /// Where on that line, in characters.
    pub columns: Range<usize>,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.line == 0 {
            return write!(f, "{}: {}", self.file, self.message);
        }
        writeln!(f, "{}:{}: {}", self.file, self.line, self.message)?;
        let (line, marks) = self.excerpt();
        write!(f, "{:5} | {line}\n      | {marks}", self.line)
    }
}

/// Most characters of a line that are shown.
const EXCERPT: usize = 120;

impl Problem {
    /// The line, or what stands around the problem if it is long, and under it the marks
    /// that point at the problem.
    #[must_use]
    pub fn excerpt(&self) -> (String, String) {
        let length = self.text.chars().count();
        let start = self.columns.start.min(length);
        // A long line is cut so that the problem begins in its first half.
        let skipped = match length > EXCERPT {
            true => start.saturating_sub(EXCERPT / 2),
            false => 0,
        };
        let mut line: String = self.text.chars().skip(skipped).take(EXCERPT).collect();
        let mut before = start - skipped;
        if length > skipped + EXCERPT {
            line.push('…');
        }
        if skipped > 0 {
            line.insert(0, '…');
            before += 1;
        }
        let marked = self.columns.len().clamp(1, (EXCERPT + 1 - before).max(1));
        (line, " ".repeat(before) + &"^".repeat(marked))
    }
}

/// All that is wrong with a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problems(pub Vec<Problem>);

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, problem) in self.0.iter().enumerate() {
            if i > 0 {
                writeln!(f)?;
            }
            problem.fmt(f)?;
        }
        Ok(())
    }
}

impl Problems {
    /// What is wrong with a scenario, with the number of problems before it.
    #[must_use]
    pub fn of_scenario(&self) -> String {
        let what = if self.0.len() == 1 {
            "problem"
        } else {
            "problems"
        };
        format!("{} {what} in the scenario\n{self}", self.0.len())
    }
}

impl std::error::Error for Problems {}

/// A value and where it stood.
#[derive(Clone, Debug)]
pub(crate) struct Item {
    pub(crate) node: Node,
    pub(crate) span: Range<usize>,
}

/// A value.
#[derive(Clone, Debug)]
pub(crate) enum Node {
    Text(String),
    Integer(i64),
    Float(f64),
    Bool(bool),
    List(Vec<Item>),
    Table(Table),
    /// A date or a number that TOML knows and nothing here takes.
    Other(&'static str),
}

/// A table, in the order of the file.
#[derive(Clone, Debug, Default)]
pub(crate) struct Table {
    pub(crate) entries: Vec<Entry>,
}

/// A key with its value.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) key: String,
    pub(crate) key_span: Range<usize>,
    pub(crate) value: Item,
}

impl Item {
    fn from_toml(span: Range<usize>, value: &DeValue<'_>) -> Item {
        let node = match value {
            DeValue::String(s) => Node::Text(s.to_string()),
            DeValue::Integer(i) => match i64::from_str_radix(i.as_str(), i.radix()) {
                Ok(i) => Node::Integer(i),
                Err(_) => Node::Other("a number beyond 64 bits"),
            },
            DeValue::Float(x) => x
                .as_str()
                .parse()
                .map_or(Node::Other("a number"), Node::Float),
            DeValue::Boolean(b) => Node::Bool(*b),
            DeValue::Datetime(_) => Node::Other("a date"),
            DeValue::Array(list) => Node::List(
                list.iter()
                    .map(|i| Item::from_toml(i.span(), i.get_ref()))
                    .collect(),
            ),
            DeValue::Table(table) => Node::Table(Table::from_toml(table)),
        };
        Item { node, span }
    }

    /// A single value, as in `--set rto.min=100ms`: TOML where it
    /// is TOML, else plain text.
    pub(crate) fn alone(text: &str) -> Item {
        match DeValue::parse(text) {
            Ok(value) => Item::from_toml(value.span(), value.get_ref()),
            Err(_) => Item {
                node: Node::Text(text.to_owned()),
                span: 0..text.len(),
            },
        }
    }

    fn shift(&mut self, by: usize) {
        self.span = self.span.start + by..self.span.end + by;
        match &mut self.node {
            Node::List(items) => items.iter_mut().for_each(|i| i.shift(by)),
            Node::Table(table) => table.shift(by),
            _ => {}
        }
    }

    /// The value in a few words, for messages.
    pub(crate) fn shown(&self) -> String {
        match &self.node {
            Node::Text(s) => format!("\"{s}\""),
            Node::Integer(i) => i.to_string(),
            Node::Float(x) => x.to_string(),
            Node::Bool(b) => b.to_string(),
            Node::List(_) => "a list".to_owned(),
            Node::Table(_) => "a table".to_owned(),
            Node::Other(what) => (*what).to_owned(),
        }
    }
}

impl Table {
    fn from_toml(table: &DeTable<'_>) -> Table {
        let mut entries: Vec<Entry> = table
            .iter()
            .map(|(key, value)| Entry {
                key: key.get_ref().to_string(),
                key_span: key.span(),
                value: Item::from_toml(value.span(), value.get_ref()),
            })
            .collect();
        entries.sort_by_key(|e| e.key_span.start);
        Table { entries }
    }

    fn shift(&mut self, by: usize) {
        for entry in &mut self.entries {
            entry.key_span = entry.key_span.start + by..entry.key_span.end + by;
            entry.value.shift(by);
        }
    }

    /// The value of `key`, to be changed.
    pub(crate) fn get_mut(&mut self, key: &str) -> Option<&mut Entry> {
        self.entries.iter_mut().find(|e| e.key == key)
    }

    /// The value of `key`.
    pub(crate) fn get(&self, key: &str) -> Option<&Entry> {
        self.entries.iter().find(|e| e.key == key)
    }
}

/// A file being read, and what was found wrong with it so far.
///
/// A second file may be read beside it: its places count on after those of the
/// first, so that a tree made of parts of both still knows where each stood.
pub(crate) struct Source<'a> {
    files: Vec<File<'a>>,
    /// Where files are that it names; none if it is not a file itself.
    folder: Option<PathBuf>,
    problems: RefCell<Vec<(usize, Problem)>>,
}

/// One of the files of a [`Source`].
struct File<'a> {
    name: &'a str,
    text: &'a str,
    /// Where its places begin.
    begin: usize,
}

impl<'a> Source<'a> {
    pub(crate) fn new(name: &'a str, text: &'a str) -> Source<'a> {
        Source {
            files: vec![File {
                name,
                text,
                begin: 0,
            }],
            folder: None,
            problems: RefCell::default(),
        }
    }

    /// Files that it names are in this folder; without one they are refused.
    pub(crate) fn in_folder(mut self, folder: Option<&Path>) -> Source<'a> {
        self.folder = folder.map(Path::to_owned);
        self
    }

    /// Where files are that it names.
    pub(crate) fn folder(&self) -> Option<&Path> {
        self.folder.as_deref()
    }

    /// Reads another file beside those that there are.
    pub(crate) fn and(mut self, name: &'a str, text: &'a str) -> Source<'a> {
        let begin = self.files.last().map_or(0, |f| f.begin + f.text.len() + 1);
        self.files.push(File { name, text, begin });
        self
    }

    /// The file as a tree; what is not TOML is noted.
    pub(crate) fn parse(&self) -> Table {
        self.parse_file(0)
    }

    /// The file at place `index` as a tree; what is not TOML is noted.
    pub(crate) fn parse_file(&self, index: usize) -> Table {
        let Some(file) = self.files.get(index) else {
            return Table::default();
        };
        let (table, errors) = DeTable::parse_recoverable(file.text);
        for error in errors {
            let message = format!("this is not TOML: {}", error.message().replace('\n', "; "));
            let span = error.span().unwrap_or(0..0);
            self.problem(&(span.start + file.begin..span.end + file.begin), message);
        }
        let mut table = Table::from_toml(table.get_ref());
        table.shift(file.begin);
        table
    }

    /// The text at `span`, as it was written.
    pub(crate) fn written(&self, span: &Range<usize>) -> &'a str {
        let (_, file) = self.file_at(span.start);
        file.text
            .get(span.start - file.begin..span.end.saturating_sub(file.begin))
            .unwrap_or_default()
    }

    fn file_at(&self, place: usize) -> (usize, &File<'a>) {
        // The first begins at 0, so there is always one.
        let index = self.files.partition_point(|f| f.begin <= place) - 1;
        (index, &self.files[index])
    }

    /// Notes a problem at `span`.
    pub(crate) fn problem(&self, span: &Range<usize>, message: impl Into<String>) {
        let (index, file) = self.file_at(span.start);
        let start = (span.start - file.begin).min(file.text.len());
        let before = file.text.get(..start).unwrap_or(file.text);
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        let text = file
            .text
            .get(line_start..)
            .unwrap_or("")
            .lines()
            .next()
            .unwrap_or("");
        let chars = |to: usize| {
            file.text
                .get(line_start..to)
                .map_or(0, |s| s.chars().count())
        };
        let end = span.end.saturating_sub(file.begin);
        let end = end.min(line_start + text.len()).max(start);
        let problem = Problem {
            file: file.name.to_owned(),
            line: before.matches('\n').count() + 1,
            message: message.into(),
            text: text.replace('\t', " "),
            columns: chars(start)..chars(end),
        };
        self.note(index, problem);
    }

    /// Notes a problem of the first file as a whole.
    pub(crate) fn problem_at_start(&self, message: impl Into<String>) {
        self.problem_of(0, message.into());
    }

    /// Notes a problem of the scenario's file as a whole: the last one.
    pub(crate) fn problem_of_file(&self, message: impl Into<String>) {
        self.problem_of(self.files.len() - 1, message.into());
    }

    fn problem_of(&self, file: usize, message: String) {
        let problem = Problem {
            file: self.files[file].name.to_owned(),
            line: 0,
            message,
            text: String::new(),
            columns: 0..0,
        };
        self.note(file, problem);
    }

    /// What is wrong in the same way in every cell of a grid is said once.
    fn note(&self, file: usize, problem: Problem) {
        let mut problems = self.problems.borrow_mut();
        if !problems.iter().any(|(_, p)| *p == problem) {
            problems.push((file, problem));
        }
    }

    /// How many problems were noted.
    pub(crate) fn problem_count(&self) -> usize {
        self.problems.borrow().len()
    }

    /// The value when nothing was wrong, else all that was, in file order.
    pub(crate) fn finish<T>(self, value: Option<T>) -> Result<T, Problems> {
        let mut problems = self.problems.into_inner();
        problems.sort_by_key(|(file, p)| (*file, p.line));
        let problems: Vec<Problem> = problems.into_iter().map(|(_, p)| p).collect();
        match value {
            Some(value) if problems.is_empty() => Ok(value),
            _ => Err(Problems(problems)),
        }
    }
}

/// The known name nearest to `found`, if one is near enough to be meant.
pub(crate) fn nearest<'n>(
    found: &str,
    known: impl IntoIterator<Item = &'n str>,
) -> Option<&'n str> {
    known
        .into_iter()
        .map(|name| (distance(&found.to_lowercase(), &name.to_lowercase()), name))
        .min_by_key(|(d, _)| *d)
        .filter(|(d, name)| *d <= 1 + name.chars().count() / 4)
        .map(|(_, name)| name)
}

/// Edits between two words (insertion, deletion, replacement).
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, ca) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, cb) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(ca != *cb);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

/// "a, b and c".
pub(crate) fn listed<'n>(names: impl IntoIterator<Item = &'n str>) -> String {
    let names: Vec<&str> = names.into_iter().collect();
    match names.as_slice() {
        [] => "none".to_owned(),
        [one] => (*one).to_owned(),
        [rest @ .., last] => format!("{} and {last}", rest.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_typing_error_finds_the_name_that_was_meant() {
        let known = ["rate", "delay", "queue", "loss"];
        assert_eq!(nearest("dealy", known), Some("delay"));
        assert_eq!(nearest("Rate", known), Some("rate"));
        assert_eq!(nearest("colour", known), None);
    }

    #[test]
    fn a_problem_shows_line_and_place() {
        let source = Source::new("a.toml", "x = 1\nrate = \"ten\"\n");
        source.problem(&(13..18), "not a rate");
        let shown = source.finish::<()>(None).unwrap_err().to_string();
        assert_eq!(
            shown,
            "a.toml:2: not a rate\n    2 | rate = \"ten\"\n      |        ^^^^^"
        );
    }

    #[test]
    fn of_a_long_line_the_part_with_the_problem_is_shown() {
        let text = format!(
            "x = [{}\"ten\"{}]\n",
            "1, ".repeat(50_000),
            ", 1".repeat(50_000)
        );
        let start = text.find('"').unwrap();
        let source = Source::new("a.toml", &text);
        source.problem(&(start..start + 5), "not a number");
        source.problem(&(0..text.len() - 1), "too long");
        let found = source.finish::<()>(None).unwrap_err();
        let (line, marks) = found.0[0].excerpt();
        assert_eq!(line.chars().count(), EXCERPT + 2);
        let at = marks.find('^').unwrap();
        let pointed: String = line.chars().skip(at).take(marks.len() - at).collect();
        assert_eq!(pointed, "\"ten\"");
        let (line, marks) = found.0[1].excerpt();
        assert!(line.starts_with("x = [1,") && line.ends_with('…'));
        assert_eq!(marks, "^".repeat(EXCERPT + 1));
        assert!(found.to_string().len() < 1000);
    }
}
