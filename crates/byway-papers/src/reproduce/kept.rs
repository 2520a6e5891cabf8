//! The file of kept runs (`byway reproduce --runs`): whose runs it holds, and
//! when they are refused.
//!
//! The file is a store of the laboratory's engine. Its header names the
//! release, the figures that the build gives ([`super::identity`]) and the
//! program.

use super::identity;
use super::plan::StudyPlan;
use super::report::ReproduceError;
use byway_lab::engine::{self, Differs, Header, Plan, Resumed, Store, Wording};
use byway_lab::trouble::Trouble;
use std::io::Read;
use std::path::Path;

const WORDING: Wording = Wording {
    foreign: "this is no file of kept runs; name another one, or move it away",
    damaged: "name another file",
    busy: "another byway reproduce is keeping its runs there; wait for its end, or name another file",
};
/// The form of its rows, and what headers say that they are of.
const FORMAT: &str = "byway.runs/3";
const OF: &str = "reproduce";
/// What files of earlier forms begin with, and what is said of them.
const EARLIER: [(&[u8], &str); 2] = [
    (
        b"byway runs 1, ",
        "holds runs as lines without checksums, as byway kept them before; name another file",
    ),
    (
        b"byway.runs/2\n",
        "holds runs in the form byway.runs/2, as byway kept them before; name another file",
    ),
];
const RELEASE: &str = env!("CARGO_PKG_VERSION");

/// Reads a file, or begins it. `program` identifies this program.
///
/// # Errors
/// When it cannot be read or written, is of another kind, release or build,
/// or another process has it open. Such a file is left as it is.
pub(super) fn open(path: &Path, program: &str) -> Result<(Store, Option<Resumed>), Trouble> {
    let figures = identity::figures().map_err(|why| Trouble::foreign(path, why))?;
    open_as(path, &header(figures, program))
}

fn header(figures: String, program: &str) -> Header {
    Header {
        of: OF.to_owned(),
        format: FORMAT.to_owned(),
        release: RELEASE.to_owned(),
        figures,
        program: program.to_owned(),
        ..Header::default()
    }
}

fn open_as(path: &Path, ours: &Header) -> Result<(Store, Option<Resumed>), Trouble> {
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
        return Ok((Store::begin(&place, &WORDING, ours)?, None));
    }
    refuse_earlier(path)?;
    let (store, resumed) = Store::open(path, &WORDING, |header| check(header, ours))?;
    Ok((store, Some(resumed)))
}

/// Says why runs under `header` are none of a build with the header `ours`.
fn check(header: &Header, ours: &Header) -> Result<(), String> {
    if (&header.of, &header.format) != (&ours.of, &ours.format) {
        return Err(WORDING.foreign.to_owned());
    }
    if header.release != ours.release {
        return Err(format!(
            "holds runs of byway {}, this is {}; finish it with that one, or name another file",
            header.release, ours.release
        ));
    }
    if header.figures != ours.figures {
        return Err(format!(
            "holds runs of another build of byway {RELEASE}, which simulates differently (the \
             same runs give {} there, {} here); finish it with that one, or name another file",
            header.figures, ours.figures
        ));
    }
    Ok(())
}

/// Says of a file of an earlier form what it is.
fn refuse_earlier(path: &Path) -> Result<(), Trouble> {
    let mut begin = Vec::new();
    let read = std::fs::File::open(path).and_then(|file| file.take(32).read_to_end(&mut begin));
    let found = EARLIER.iter().find(|(mark, _)| begin.starts_with(mark));
    match (read, found) {
        (Ok(_), Some((_, what))) => Err(Trouble::foreign(path, *what)),
        _ => Ok(()),
    }
}

/// Repeats some runs of a store that another program than `program` began.
///
/// # Errors
/// When one gives other values now.
pub(super) fn try_out(
    plans: &[StudyPlan],
    store: &Store,
    program: &str,
) -> Result<(), ReproduceError> {
    if !store.is_of_another(program) {
        return Ok(());
    }
    let all: Vec<&Plan> = plans.iter().map(|p| &p.plan).collect();
    let found = engine::try_out(&all, store, None).map_err(|e| e.to_string())?;
    let Some(Differs {
        plan,
        cell,
        seed,
        metric,
        then,
        now,
    }) = found
    else {
        return Ok(());
    };
    let run = plans[plan].run_words(cell, seed);
    let words = |value: f64| match value.is_nan() {
        true => "none".to_owned(),
        false => value.to_string(),
    };
    let what = match metric.as_str() {
        "" => "it ends otherwise".to_owned(),
        metric => format!("{metric} is {} there, {} here", words(then), words(now)),
    };
    let problem = format!(
        "was begun by another build of byway {RELEASE}, which simulates differently: {run}, \
         {what}; finish it with that one, or name another file"
    );
    let path = store.path().unwrap_or(Path::new(""));
    Err(Trouble::foreign(path, problem).into())
}

#[cfg(test)]
mod tests;
