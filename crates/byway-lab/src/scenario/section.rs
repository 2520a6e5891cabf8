//! Reads the keys of one table, and notes wrong values and unknown keys.

use crate::source::{Entry, Item, Node, Source, Table, listed, nearest};
use crate::units::parse_duration;
use std::cell::RefCell;
use std::ops::Range;
use std::time::Duration;

/// A table with a title for messages.
pub(crate) struct Section<'s> {
    pub(crate) source: &'s Source<'s>,
    pub(super) table: &'s Table,
    title: String,
    span: Range<usize>,
    asked: RefCell<Vec<&'static str>>,
}

impl<'s> Section<'s> {
    pub(crate) fn new(
        source: &'s Source<'s>,
        title: impl Into<String>,
        table: &'s Table,
        span: Range<usize>,
    ) -> Self {
        Section {
            source,
            table,
            title: title.into(),
            span,
            asked: RefCell::default(),
        }
    }

    /// The value of `key`, which is known from now on.
    pub(crate) fn entry(&self, key: &'static str) -> Option<&'s Entry> {
        self.asked.borrow_mut().push(key);
        self.table.get(key)
    }

    /// Notes a problem with an entry: "key in [title]: message".
    pub(crate) fn wrong(&self, entry: &Entry, message: impl AsRef<str>) {
        let message = format!("{} in {}: {}", entry.key, self.title, message.as_ref());
        self.source.problem(&entry.value.span, message);
    }

    /// Notes a problem with the table as a whole.
    pub(crate) fn wrong_here(&self, message: impl AsRef<str>) {
        self.source
            .problem(&self.span, format!("{}: {}", self.title, message.as_ref()));
    }

    /// The value of `key`, read by `parse` from text; numbers without a unit
    /// reach it as text too, so that it can name the unit.
    pub(crate) fn read<T>(
        &self,
        key: &'static str,
        parse: impl Fn(&str) -> Result<T, String>,
    ) -> Option<T> {
        let entry = self.entry(key)?;
        self.read_entry(entry, parse)
    }

    pub(crate) fn read_entry<T>(
        &self,
        entry: &Entry,
        parse: impl Fn(&str) -> Result<T, String>,
    ) -> Option<T> {
        let text = match &entry.value.node {
            Node::Text(text) => text.clone(),
            Node::Integer(i) => i.to_string(),
            Node::Float(x) => x.to_string(),
            _ => {
                self.wrong(
                    entry,
                    format!(
                        "found {}, expected text such as \"10 Mbit/s\"",
                        entry.value.shown()
                    ),
                );
                return None;
            }
        };
        parse(&text)
            .map_err(|message| self.wrong(entry, message))
            .ok()
    }

    /// Plain text.
    pub(crate) fn text(&self, key: &'static str) -> Option<String> {
        let entry = self.entry(key)?;
        match &entry.value.node {
            Node::Text(text) => Some(text.trim().to_owned()),
            _ => {
                self.wrong(
                    entry,
                    format!("found {}, expected text in quotes", entry.value.shown()),
                );
                None
            }
        }
    }

    /// A duration.
    pub(crate) fn duration(&self, key: &'static str) -> Option<Duration> {
        self.read(key, parse_duration)
    }

    /// A whole number from `range`.
    pub(crate) fn integer(
        &self,
        key: &'static str,
        range: std::ops::RangeInclusive<u64>,
    ) -> Option<u64> {
        let entry = self.entry(key)?;
        let found = match entry.value.node {
            Node::Integer(i) => u64::try_from(i).ok().filter(|i| range.contains(i)),
            _ => None,
        };
        if found.is_none() {
            let upper = match *range.end() {
                u64::MAX => " or more".to_owned(),
                end => format!(" to {end}"),
            };
            self.wrong(
                entry,
                format!(
                    "found {}, expected a whole number, {}{upper}",
                    entry.value.shown(),
                    range.start()
                ),
            );
        }
        found
    }

    /// One of a few words.
    pub(crate) fn word<T: Copy>(&self, key: &'static str, words: &[(&str, T)]) -> Option<T> {
        let entry = self.entry(key)?;
        let names = || words.iter().map(|(word, _)| *word);
        if let Node::Text(text) = &entry.value.node
            && let Some((_, value)) = words.iter().find(|(word, _)| word == text)
        {
            return Some(*value);
        }
        let hint = match &entry.value.node {
            Node::Text(text) => {
                nearest(text, names()).map_or(String::new(), |n| format!("; did you mean \"{n}\"?"))
            }
            _ => String::new(),
        };
        self.wrong(
            entry,
            format!(
                "found {}, expected one of {}{hint}",
                entry.value.shown(),
                listed(names())
            ),
        );
        None
    }

    /// Whole numbers of at least 1.
    pub(crate) fn counts(&self, key: &'static str) -> Vec<u64> {
        let Some(entry) = self.entry(key) else {
            return Vec::new();
        };
        let items: &[Item] = match &entry.value.node {
            Node::List(items) => items,
            _ => {
                self.wrong(
                    entry,
                    format!(
                        "found {}, expected a list such as [3, 7]",
                        entry.value.shown()
                    ),
                );
                return Vec::new();
            }
        };
        let mut counts = Vec::new();
        for item in items {
            match item.node {
                Node::Integer(i) if i >= 1 => counts.push(i.unsigned_abs()),
                _ => self.source.problem(
                    &item.span,
                    format!(
                        "{} in {}: found {}, expected whole numbers from 1, such as [3, 7]",
                        entry.key,
                        self.title,
                        item.shown()
                    ),
                ),
            }
        }
        counts
    }

    /// Notes that `key` is missing.
    pub(crate) fn missing(&self, key: &str, example: &str) {
        self.wrong_here(format!(
            "{key} is missing; write for instance {key} = {example}"
        ));
    }

    /// The value, or a note that `key` is missing. A key that is there but
    /// wrong has been noted already.
    pub(crate) fn required<T>(&self, value: Option<T>, key: &str, example: &str) -> Option<T> {
        if value.is_none() && self.table.get(key).is_none() {
            self.missing(key, example);
        }
        value
    }

    /// Notes every key that was not read.
    pub(crate) fn finish(self) {
        let asked = self.asked.into_inner();
        for entry in &self.table.entries {
            if !asked.contains(&entry.key.as_str()) {
                unknown_key(self.source, &self.title, entry, asked.iter().copied());
            }
        }
    }
}

/// Notes a key that is not known here, with the one that may be meant.
pub(super) fn unknown_key<'n>(
    source: &Source<'_>,
    title: &str,
    entry: &Entry,
    known: impl IntoIterator<Item = &'n str>,
) {
    let mut known: Vec<&str> = known.into_iter().collect();
    // Some are read twice.
    let mut seen = std::collections::BTreeSet::new();
    known.retain(|key| seen.insert(*key));
    let hint = match nearest(&entry.key, known.iter().copied()) {
        Some(name) => format!("did you mean \"{name}\"?"),
        None => format!("there are {}", listed(known)),
    };
    source.problem(
        &entry.key_span,
        format!("\"{}\" is not a key of {title}; {hint}", entry.key),
    );
}

/// The tables of `[[key]]`.
pub(crate) fn tables<'s>(
    section: &Section<'s>,
    key: &'static str,
) -> Vec<(&'s Table, Range<usize>)> {
    let Some(entry) = section.entry(key) else {
        return Vec::new();
    };
    let Node::List(items) = &entry.value.node else {
        section.wrong(
            entry,
            format!("written [[{key}]], with two brackets, once for each"),
        );
        return Vec::new();
    };
    let mut found = Vec::new();
    for item in items {
        match &item.node {
            Node::Table(table) => found.push((table, item.span.clone())),
            _ => section.source.problem(
                &item.span,
                format!("found {}, expected a table [[{key}]]", item.shown()),
            ),
        }
    }
    found
}

/// Where a table is named in the file.
pub(super) fn header(entry: &Entry) -> Range<usize> {
    entry.key_span.clone()
}
