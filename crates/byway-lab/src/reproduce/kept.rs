//! Results of runs, kept in a file, so that what was interrupted goes on where
//! it was and nothing is run twice.
//!
//! A line is a run: what identifies it, then each measure as `name=value`,
//! parted by tabs; a measure that the run does not have has no value. Lines are
//! only ever added. A last line that is not whole, as after a kill, is dropped.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// The measures of a run; those that it does not have are none.
pub(super) type Figures = BTreeMap<String, Option<f64>>;

/// The first line, by which a foreign file is told.
const HEAD: &str = concat!("byway runs 1, byway ", env!("CARGO_PKG_VERSION"));

/// What is known, and where more is added.
pub(super) struct Kept {
    known: BTreeMap<String, Figures>,
    file: Option<(PathBuf, Mutex<File>)>,
}

impl Kept {
    /// Keeps nothing.
    pub(super) fn nothing() -> Kept {
        Kept {
            known: BTreeMap::new(),
            file: None,
        }
    }

    /// Reads a file, or begins it.
    ///
    /// # Errors
    /// When it cannot be read or written, or is of another kind or release.
    pub(super) fn open(path: &Path) -> Result<Kept, String> {
        let said =
            |what: &str, e: &std::io::Error| format!("cannot {what} {}: {e}", path.display());
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(path)
            .map_err(|e| said("open", &e))?;
        let mut text = String::new();
        file.read_to_string(&mut text).map_err(|e| match e.kind() {
            ErrorKind::InvalidData => format!("{} is no file of kept runs", path.display()),
            _ => said("read", &e),
        })?;
        let whole = text.rfind('\n').map_or(0, |at| at + 1);
        let mut known = BTreeMap::new();
        if whole == 0 && HEAD.starts_with(text.as_str()) {
            write(&mut file, 0, &format!("{HEAD}\n")).map_err(|e| said("write", &e))?;
        } else {
            let mut lines = text.get(..whole).unwrap_or_default().lines();
            if lines.next() != Some(HEAD) {
                return Err(format!(
                    "{} holds no runs of this release (its first line is not \"{HEAD}\"); name \
                     another file",
                    path.display()
                ));
            }
            for (number, line) in (2..).zip(lines) {
                let (key, figures) = read_line(line)
                    .ok_or_else(|| format!("{}, line {number}: not a kept run", path.display()))?;
                known.insert(key, figures);
            }
            write(&mut file, whole as u64, "").map_err(|e| said("write", &e))?;
        }
        Ok(Kept {
            known,
            file: Some((path.to_owned(), Mutex::new(file))),
        })
    }

    /// What is known of a run, if that is all of `wanted`.
    pub(super) fn get(&self, key: &str, wanted: &BTreeSet<&str>) -> Option<Figures> {
        let known = self.known.get(key)?;
        let all = wanted.iter().all(|name| known.contains_key(*name));
        all.then(|| known.clone())
    }

    /// Adds a run.
    ///
    /// # Errors
    /// When it cannot be written.
    pub(super) fn add(&self, key: &str, figures: &Figures) -> Result<(), String> {
        let Some((path, file)) = &self.file else {
            return Ok(());
        };
        let mut line = key.to_owned();
        for (name, value) in figures {
            // Writing to a string cannot fail.
            let _ = match value {
                Some(value) => write!(line, "\t{name}={value}"),
                None => write!(line, "\t{name}="),
            };
        }
        line.push('\n');
        let mut file = file
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        file.write_all(line.as_bytes()).map_err(|e| {
            format!(
                "cannot write {}: {e}; the runs that it holds are not lost, go on with the same \
                 command",
                path.display()
            )
        })
    }
}

/// Cuts the file at `at`, and adds `text`.
fn write(file: &mut File, at: u64, text: &str) -> std::io::Result<()> {
    file.set_len(at)?;
    file.seek(SeekFrom::Start(at))?;
    file.write_all(text.as_bytes())
}

fn read_line(line: &str) -> Option<(String, Figures)> {
    let mut fields = line.split('\t');
    let key = fields.next()?.to_owned();
    let figures = fields
        .map(|field| {
            let (name, value) = field.split_once('=')?;
            let value = match value {
                "" => None,
                value => Some(value.parse().ok()?),
            };
            Some((name.to_owned(), value))
        })
        .collect::<Option<Figures>>()?;
    Some((key, figures))
}

/// A number for a text, the same on every machine (FNV-1a, 64 bits).
pub(super) fn fingerprint(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figures(value: f64) -> Figures {
        [("a".to_owned(), Some(value)), ("b".to_owned(), None)].into()
    }

    /// A file of that name that is not there, in a folder of its own.
    fn file(name: &str) -> PathBuf {
        let dir = std::env::temp_dir().join(format!("byway-kept-{}-{name}", std::process::id()));
        let _ = std::fs::remove_dir_all(&dir);
        std::fs::create_dir_all(&dir).unwrap();
        dir.join(name)
    }

    #[test]
    fn runs_are_there_again_and_half_a_line_is_not() {
        let path = file("runs");
        let kept = Kept::open(&path).unwrap();
        assert_eq!(kept.get("one", &["a"].into()), None);
        kept.add("one", &figures(0.1 + 0.2)).unwrap();
        kept.add("two", &figures(1e-9)).unwrap();
        drop(kept);
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, &text[..text.len() - 2]).unwrap();
        let kept = Kept::open(&path).unwrap();
        assert_eq!(
            kept.get("one", &["a", "b"].into()),
            Some(figures(0.1 + 0.2))
        );
        assert_eq!(kept.get("one", &["a", "c"].into()), None);
        assert_eq!(kept.get("two", &["a"].into()), None);
        kept.add("two", &figures(2.0)).unwrap();
        drop(kept);
        let kept = Kept::open(&path).unwrap();
        assert_eq!(kept.get("two", &["a"].into()), Some(figures(2.0)));
    }

    #[test]
    fn a_foreign_file_is_refused_and_left_alone() {
        let path = file("notes");
        std::fs::write(&path, "my notes\n").unwrap();
        let why = Kept::open(&path).err().unwrap();
        assert!(why.contains("holds no runs of this release"), "{why}");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "my notes\n");
        assert!(Kept::open(path.parent().unwrap()).is_err());
    }
}
