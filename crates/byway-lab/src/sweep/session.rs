//! A sweep on the disk: begun, interrupted, resumed, finished.

use super::results::Results;
use crate::engine::{
    EngineError, FORMAT, Header, Options, Plan, Resumed, Store, Wording, run, try_out,
};
use crate::trouble::Trouble;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

pub(super) const WORDING: Wording = Wording {
    foreign: "this is not a journal of byway sweep; choose another --out, or move it away",
    damaged: "--restart begins again from nothing",
    busy: "another sweep is writing it; wait for its end, or choose another --out",
};
/// The kind in the headers of its journals.
const OF: &str = "sweep";

/// How a sweep on the disk is run.
pub struct Session<'a> {
    /// The results file. While the sweep runs, its rows gather in a journal
    /// beside it, `FILE.journal`.
    pub file: &'a Path,
    /// Identifies this program. If another one began the sweep, some runs of it
    /// are repeated and must give the same values.
    pub program: &'a str,
    /// Deletes the files of an earlier sweep.
    pub restart: bool,
    /// Threads; 0 for as many as there are processors.
    pub threads: usize,
    /// Ends the sweep once it is true.
    pub cancel: Option<&'a AtomicBool>,
    /// Gets the number of finished runs and the greatest number that there will be.
    pub progress: Option<&'a (dyn Fn(usize, usize) + Sync)>,
    /// Called once with what was found of an earlier sweep.
    pub found: Option<&'a (dyn Fn(Found) + Sync)>,
}

/// What was found of an earlier sweep.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// The results are there already.
    Finished,
    /// Some runs are done already.
    Partly(Resumed),
}

/// Runs `plan`, or resumes it where it ended, and writes its results.
///
/// # Errors
/// When it was interrupted, files cannot be written, or what is there belongs
/// to something else. Finished rows are kept, and the same call
/// resumes with them.
pub fn sweep(plan: &Plan, session: &Session<'_>) -> Result<Results, EngineError> {
    let store = match begin(plan, session)? {
        Begun::Finished(results) => {
            remove(&journal_path(session.file))?;
            return Ok(results);
        }
        Begun::Open(store) => store,
    };
    let options = Options {
        threads: session.threads,
        store: Some(&store),
        progress: session.progress,
        cancel: session.cancel,
        strict: false,
    };
    let done = run(&[plan], &options)?;
    let results = Results::new(plan, done.rows.into_iter().flatten().collect());
    results.write(session.file)?;
    end(store, session.file)?;
    Ok(results)
}

/// What is there when a sweep begins.
pub(super) enum Begun {
    /// Its results. A kill between writing them and removing the journal may have
    /// left that, too.
    Finished(Results),
    /// The finished runs so far.
    Open(Store),
}

/// Opens the files of a sweep.
pub(super) fn begin(plan: &Plan, session: &Session<'_>) -> Result<Begun, EngineError> {
    let journal_path = journal_path(session.file);
    // Before anything is removed, replaced or read: a device has no end.
    for path in [session.file, &journal_path] {
        only_files(path)?;
    }
    if let Some(folder) = session.file.parent().filter(|p| !p.as_os_str().is_empty()) {
        std::fs::create_dir_all(folder).map_err(|e| Trouble::file("make the folder", folder, e))?;
    }
    if session.restart {
        remove(&journal_path)?;
        remove(session.file)?;
    }
    let tell = |what| {
        if let Some(found) = session.found {
            found(what);
        }
    };
    if let Some(results) = finished(plan, session.file)? {
        tell(Found::Finished);
        return Ok(Begun::Finished(results));
    }
    Ok(Begun::Open(open(plan, session, &journal_path, &tell)?))
}

/// Removes the journal of a results file that has all its rows now.
pub(super) fn end(store: Store, file: &Path) -> Result<(), EngineError> {
    drop(store);
    Ok(remove(&journal_path(file))?)
}

/// The journal of a results file.
#[must_use]
pub fn journal_path(file: &Path) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(".journal");
    PathBuf::from(name)
}

pub(super) fn remove(path: &Path) -> Result<(), Trouble> {
    match std::fs::remove_file(path) {
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => Err(Trouble::file("remove", path, e)),
        _ => Ok(()),
    }
}

/// Refuses what cannot be a file, and what is there and none: a device, a pipe, a folder.
fn only_files(path: &Path) -> Result<(), Trouble> {
    let problem = match std::fs::metadata(path) {
        _ if path.file_name().is_none() => "this is no file's name; choose another --out",
        _ if path.to_string_lossy().contains("://") => {
            "this is a URL, which --dask alone can write; choose another --out"
        }
        Ok(there) if there.is_dir() => "this is a folder, and no file; choose another --out",
        Ok(there) if !there.is_file() => {
            "this is a device or a pipe, and no file; choose another --out"
        }
        _ => return Ok(()),
    };
    Err(Trouble::foreign(path, problem))
}

/// The results, if the file has them already.
fn finished(plan: &Plan, file: &Path) -> Result<Option<Results>, Trouble> {
    if !file.exists() {
        return Ok(None);
    }
    let results = Results::read(file).map_err(|e| match e {
        Trouble::Foreign { path, problem } => Trouble::Foreign {
            path,
            problem: format!(
                "{problem}; it is in the way: choose another --out, or --restart to replace it"
            ),
        },
        other => other,
    })?;
    if results.about.plan == plan.hash() {
        return Ok(Some(results));
    }
    Err(Trouble::foreign(
        file,
        format!(
            "holds the results of another sweep or of an earlier text of this one (\"{}\"); choose another --out, or --restart to replace them",
            results.about.name
        ),
    ))
}

fn open(
    plan: &Plan,
    session: &Session<'_>,
    path: &Path,
    tell: &dyn Fn(Found),
) -> Result<Store, EngineError> {
    let ours = header(plan, session.program);
    if !path.exists() {
        return Ok(Store::begin(path, &WORDING, &ours)?);
    }
    let (store, resumed) = Store::open(path, &WORDING, |header| check(header, &ours))?;
    tell(Found::Partly(resumed));
    // Another build may still give the same numbers: it is tried out.
    if store.is_of_another(session.program) && try_out(&[plan], &store, session.cancel)?.is_some() {
        let problem = "was started by another version of byway, which gives other numbers for the same run; finish it with that one, or --restart";
        return Err(Trouble::foreign(path, problem).into());
    }
    Ok(store)
}

/// What a journal of `plan` begins with.
pub(super) fn header(plan: &Plan, program: &str) -> Header {
    Header {
        of: OF.to_owned(),
        format: FORMAT.to_owned(),
        name: plan.name.clone(),
        plan: plan.hash(),
        release: env!("CARGO_PKG_VERSION").to_owned(),
        program: program.to_owned(),
        ..Header::default()
    }
}

/// Whether runs under this header are of the plan whose header is `ours`.
fn check(header: &Header, ours: &Header) -> Result<(), String> {
    if header.of != ours.of {
        return Err(WORDING.foreign.to_owned());
    }
    if header.format != ours.format {
        return Err(format!(
            "written in the form {}, this byway knows {FORMAT}; finish it with the one that began it, or --restart",
            header.format
        ));
    }
    if header.plan != ours.plan {
        return Err(format!(
            "holds runs of another sweep or of an earlier text of this one (\"{}\"); undo the change to resume it, choose another --out, or --restart to throw its runs away",
            header.name
        ));
    }
    Ok(())
}
