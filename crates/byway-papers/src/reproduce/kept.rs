//! Results of runs, kept in a file, so that what was interrupted goes on where
//! it was and nothing is run twice.
//!
//! The file is a [`byway_lab::journal`]; a row is a run: what identifies it (the
//! paper, its scenario with all settings as a digest, the place, the seed),
//! then each measure as `name=value`, parted by tabs; a measure that the run
//! does not have has no value. The header names the release, the figures that
//! the build gives ([`super::identity`]) and the program.

use super::identity;
use byway_lab::journal::{Found, Journal, Kind};
use byway_lab::trouble::Trouble;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The measures of a run; those that it does not have are none.
pub(super) type Figures = BTreeMap<String, Option<f64>>;

const KIND: Kind = Kind {
    mark: b"byway.runs/2\n",
    foreign: "this is no file of kept runs; name another one, or move it away",
    damaged: "name another file",
    busy: "another byway reproduce is keeping its runs there; wait for its end, or name another file",
};
/// What files of before the journal began with: lines without checksums.
const LINES: &[u8] = b"byway runs 1, ";
const RELEASE: &str = env!("CARGO_PKG_VERSION");

/// Whose runs these are.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Header {
    /// The release.
    release: String,
    /// [`identity::figures`] of the build that began the file.
    figures: String,
    /// The program that began it.
    program: String,
}

impl Header {
    /// Says why runs under `self` are none of a build with the header `ours`.
    fn check(&self, ours: &Header) -> Result<(), String> {
        if self.release != ours.release {
            return Err(format!(
                "holds runs of byway {}, this is {}; finish it with that one, or name another file",
                self.release, ours.release
            ));
        }
        if self.figures != ours.figures {
            return Err(format!(
                "holds runs of another build of byway {RELEASE}, which simulates differently (the \
                 same runs give {} there, {} here); finish it with that one, or name another file",
                self.figures, ours.figures
            ));
        }
        Ok(())
    }
}

/// What a file held when it was opened.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Resumed {
    /// Runs.
    pub runs: usize,
    /// Bytes of a half-written one that were cut off.
    pub torn: u64,
}

/// What is known, and where more is added.
pub(super) struct Kept {
    known: BTreeMap<String, Figures>,
    file: Option<KeptFile>,
}

struct KeptFile {
    path: PathBuf,
    /// Whether another program began it.
    others: bool,
    open: Mutex<Open>,
}

struct Open {
    journal: Journal,
    /// Runs in it.
    runs: usize,
}

impl Kept {
    /// Keeps nothing.
    pub(super) fn nothing() -> Kept {
        Kept {
            known: BTreeMap::new(),
            file: None,
        }
    }

    /// Reads a file, or begins it. `program` is what tells this program from
    /// others.
    ///
    /// # Errors
    /// When it cannot be read or written, is of another kind, release or build,
    /// or another process has it open. Such a file is left as it is.
    pub(super) fn open(path: &Path, program: &str) -> Result<(Kept, Option<Resumed>), Trouble> {
        let figures = identity::figures().map_err(|why| Trouble::foreign(path, why))?;
        let ours = Header {
            release: RELEASE.to_owned(),
            figures,
            program: program.to_owned(),
        };
        Kept::open_as(path, &ours)
    }

    fn open_as(path: &Path, ours: &Header) -> Result<(Kept, Option<Resumed>), Trouble> {
        let kept = |known: BTreeMap<String, Figures>, journal, others| Kept {
            file: Some(KeptFile {
                path: path.to_owned(),
                others,
                open: Mutex::new(Open {
                    journal,
                    runs: known.len(),
                }),
            }),
            known,
        };
        let is_new = match std::fs::metadata(path) {
            Err(_) => true,
            Ok(there) if there.is_file() => there.len() == 0,
            Ok(_) => {
                return Err(Trouble::foreign(
                    path,
                    "nothing that runs can be kept in; name another file",
                ));
            }
        };
        if is_new {
            // An empty file that a link leads to is begun where it is.
            let place = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
            let journal = Journal::create(&place, &KIND, ours)?;
            return Ok((kept(BTreeMap::new(), journal, false), None));
        }
        refuse_lines(path)?;
        let (journal, Found { header, rows, torn }) =
            Journal::open(path, &KIND, |header: &Header| header.check(ours), decode)?;
        let mut known: BTreeMap<String, Figures> = BTreeMap::new();
        for (key, figures) in rows {
            // Asked again for other measures, a run stands there twice.
            known.entry(key).or_default().extend(figures);
        }
        let resumed = Resumed {
            runs: known.len(),
            torn,
        };
        let others = header.program != ours.program;
        Ok((kept(known, journal, others), Some(resumed)))
    }

    /// Whether runs are kept, so that they need names.
    pub(super) fn keeps(&self) -> bool {
        self.file.is_some()
    }

    /// Whether another program began the file, so that what it holds is to be
    /// tried out.
    pub(super) fn is_of_another_program(&self) -> bool {
        self.file.as_ref().is_some_and(|file| file.others)
    }

    /// What is known of a run.
    pub(super) fn known(&self, key: &str) -> Option<&Figures> {
        self.known.get(key)
    }

    /// All that is known.
    #[cfg(test)]
    pub(super) fn all(&self) -> &BTreeMap<String, Figures> {
        &self.known
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
        let Some(file) = &self.file else {
            return Ok(());
        };
        let mut open = file.lock();
        if let Err(trouble) = open.journal.append(&encode(key, figures)) {
            return Err(goes_on(&trouble, open.runs));
        }
        open.runs += usize::from(!self.known.contains_key(key));
        Ok(())
    }

    /// Brings all runs to the disk.
    ///
    /// # Errors
    /// When that fails.
    pub(super) fn sync(&self) -> Result<(), String> {
        let Some(file) = &self.file else {
            return Ok(());
        };
        let mut open = file.lock();
        let synced = open.journal.sync();
        synced.map_err(|trouble| goes_on(&trouble, open.runs))
    }

    /// Why the file is refused when a run of it, done again, gives something
    /// else.
    pub(super) fn gives_others(&self, run: &str, measure: &str, then: &str, now: &str) -> Trouble {
        let path = self.file.as_ref().map_or(Path::new(""), |f| &f.path);
        Trouble::foreign(
            path,
            format!(
                "was begun by another build of byway {RELEASE}, which simulates differently: {run}, \
                 {measure} is {then} there, {now} here; finish it with that one, or name another \
                 file"
            ),
        )
    }
}

impl KeptFile {
    fn lock(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn goes_on(trouble: &Trouble, runs: usize) -> String {
    format!(
        "{trouble}; the {runs} runs that it holds are not lost: the same command goes on with them"
    )
}

/// Says of a file of before the journal what it is.
fn refuse_lines(path: &Path) -> Result<(), Trouble> {
    use std::io::Read;
    let mut begin = [0; LINES.len()];
    let read = std::fs::File::open(path).and_then(|mut file| file.read_exact(&mut begin));
    if read.is_ok() && begin == LINES {
        return Err(Trouble::foreign(
            path,
            "holds runs as lines without checksums, as byway kept them before; name another file",
        ));
    }
    Ok(())
}

fn encode(key: &str, figures: &Figures) -> Vec<u8> {
    let mut line = key.to_owned();
    for (name, value) in figures {
        // Writing to a string cannot fail. A number is written so that reading
        // it gives the same.
        let _ = match value {
            Some(value) => write!(line, "\t{name}={value}"),
            None => write!(line, "\t{name}="),
        };
    }
    line.into_bytes()
}

fn decode(contents: &[u8]) -> Option<(String, Figures)> {
    let mut fields = std::str::from_utf8(contents).ok()?.split('\t');
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    fn figures(value: f64) -> Figures {
        [("a".to_owned(), Some(value)), ("b".to_owned(), None)].into()
    }

    fn ours() -> Header {
        Header {
            release: RELEASE.to_owned(),
            figures: "0123".to_owned(),
            program: "this one".to_owned(),
        }
    }

    fn open(path: &Path) -> (Kept, Option<Resumed>) {
        Kept::open_as(path, &ours()).unwrap()
    }

    fn refused(path: &Path, ours: &Header) -> String {
        let before = std::fs::read(path).ok();
        let trouble = Kept::open_as(path, ours).map(drop).unwrap_err();
        assert!(matches!(trouble, Trouble::Foreign { .. }), "{trouble}");
        assert_eq!(std::fs::read(path).ok(), before, "left alone");
        trouble.to_string()
    }

    /// A file of that name that is not there, in a folder of its own.
    fn file(name: &str) -> PathBuf {
        let dir = std::env::temp_dir().join(format!("byway-kept-{}-{name}", std::process::id()));
        let _ = std::fs::remove_dir_all(&dir);
        std::fs::create_dir_all(&dir).unwrap();
        dir.join(name)
    }

    #[test]
    fn runs_are_there_again_and_a_torn_one_is_not_wherever_it_was_torn() {
        let path = file("runs");
        let (kept, resumed) = open(&path);
        assert_eq!(resumed, None);
        assert_eq!(kept.get("one", &["a"].into()), None);
        kept.add("one", &figures(0.1 + 0.2)).unwrap();
        let one = std::fs::metadata(&path).unwrap().len();
        kept.add("two", &figures(1e-9)).unwrap();
        drop(kept);
        let bytes = std::fs::read(&path).unwrap();
        for len in one..bytes.len() as u64 {
            std::fs::write(&path, &bytes[..len as usize]).unwrap();
            let (kept, resumed) = open(&path);
            let torn = len - one;
            assert_eq!(resumed, Some(Resumed { runs: 1, torn }));
            let known = kept.get("one", &["a", "b"].into());
            assert_eq!(known, Some(figures(0.1 + 0.2)));
            assert_eq!(kept.get("one", &["a", "c"].into()), None);
            assert_eq!(kept.get("two", &["a"].into()), None);
            kept.add("two", &figures(1e-9)).unwrap();
            assert_eq!(std::fs::read(&path).unwrap(), bytes, "goes on from there");
        }
        // A changed byte, too, is found.
        let mut damaged = bytes.clone();
        damaged[one as usize + 12] ^= 1;
        std::fs::write(&path, damaged).unwrap();
        assert_eq!(open(&path).0.get("two", &["a"].into()), None);
    }

    #[test]
    fn a_run_that_was_asked_for_other_measures_has_all_of_them() {
        let path = file("measures");
        let (kept, _) = open(&path);
        kept.add("one", &[("a".to_owned(), Some(1.0))].into())
            .unwrap();
        kept.add("one", &[("c".to_owned(), None)].into()).unwrap();
        drop(kept);
        let (kept, resumed) = open(&path);
        assert_eq!(resumed, Some(Resumed { runs: 1, torn: 0 }));
        assert!(kept.get("one", &["a", "c"].into()).is_some());
    }

    #[test]
    fn a_foreign_file_is_refused_and_left_alone() {
        let path = file("notes");
        for (text, part) in [
            ("my notes\n", "no file of kept runs"),
            ("byway.journal/1\n and so on", "no file of kept runs"),
            ("byway runs 1, byway 0.1.0\none\ta=1\n", "without checksums"),
            ("byway.runs/2\n", "beginning is damaged"),
        ] {
            std::fs::write(&path, text).unwrap();
            let why = refused(&path, &ours());
            assert!(why.contains(part) && why.contains("notes: "), "{why}");
            assert!(why.contains("name another"), "{why}");
        }
        let folder = path.parent().unwrap();
        assert!(refused(folder, &ours()).contains("nothing that runs can be kept in"));
        // An empty one is nobody's.
        std::fs::write(&path, "").unwrap();
        assert_eq!(open(&path).1, None);
        assert!(open(&path).1.is_some());
    }

    #[test]
    fn runs_of_another_release_or_build_are_refused() {
        let path = file("others");
        let (kept, _) = open(&path);
        kept.add("one", &figures(1.0)).unwrap();
        drop(kept);
        let mut newer = ours();
        newer.release = "99.0.0".to_owned();
        let why = refused(&path, &newer);
        let parts = format!("holds runs of byway {RELEASE}, this is 99.0.0");
        assert!(why.contains(&parts), "{why}");
        let mut changed = ours();
        changed.figures = "4567".to_owned();
        let why = refused(&path, &changed);
        for part in [
            "simulates differently",
            "0123 there, 4567 here",
            "finish it with",
        ] {
            assert!(why.contains(part), "{why}");
        }
        // Another program with the same figures goes on, but tries runs out.
        let mut rebuilt = ours();
        rebuilt.program = "the same, built again".to_owned();
        let (kept, resumed) = Kept::open_as(&path, &rebuilt).unwrap();
        assert_eq!(resumed, Some(Resumed { runs: 1, torn: 0 }));
        assert!(kept.is_of_another_program());
        drop(kept);
        assert!(!open(&path).0.is_of_another_program());
    }

    #[test]
    fn two_processes_do_not_share_a_file() {
        let path = file("two");
        let first = open(&path);
        let why = refused(&path, &ours());
        assert!(why.contains("another byway reproduce is keeping"), "{why}");
        drop(first);
        open(&path);
    }
}
