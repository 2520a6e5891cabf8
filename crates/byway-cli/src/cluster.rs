//! `byway sweep FILE --dask ADDRESS`: the Python package `byway` speaks with Dask, so
//! the command becomes `python3 -m byway.dask`.

use crate::args::SweepArgs;
use crate::failure::{Failure, Kind};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

/// The variable that names the interpreter.
const PYTHON: &str = "BYWAY_PYTHON";
const VERSION: &str = env!("CARGO_PKG_VERSION");
/// Prints what there is, a line for each: the version of byway; the word Dask.
const LOOK: &str = "\
try:
    import byway.dask
except ModuleNotFoundError as error:
    if not str(error.name).startswith('byway'):
        raise
else:
    print(byway.__version__)
    # To load it would take half a second.
    import importlib.util
    if importlib.util.find_spec('distributed'):
        print('Dask')
";

/// Puts Python in the place of this process, so that signals, output and exit status
/// are Python's. It returns only why that cannot be.
pub(crate) fn become_dask(file: &Path, scheduler: &str, args: &SweepArgs) -> Failure {
    let python = std::env::var_os(PYTHON).filter(|name| !name.is_empty());
    let python = python.unwrap_or_else(|| "python3".into());
    let shown = python.to_string_lossy().into_owned();
    let starts = |error| {
        let message = format!(
            "cannot start {shown}: {error}; {PYTHON} may name the Python that has the package byway"
        );
        Failure::new(Kind::Failed, message)
    };
    // Not from the current folder: in `python/` of the source tree there is a package without
    // what is compiled of it.
    let python_here = || {
        let mut command = Command::new(&python);
        command.env("PYTHONSAFEPATH", "1");
        command
    };
    let found = match python_here().args(["-c", LOOK]).output() {
        Ok(found) => found,
        Err(error) => return starts(error),
    };
    if !found.status.success() {
        let why = String::from_utf8_lossy(&found.stderr);
        let message = format!("{shown} cannot load the package byway:\n{}", why.trim_end());
        return Failure::new(Kind::Failed, message);
    }
    if let Err(message) = usable(&shown, &String::from_utf8_lossy(&found.stdout)) {
        return Failure::new(Kind::Failed, message);
    }
    let mut command = python_here();
    command.args(["-m", "byway.dask", "--scheduler", scheduler]);
    for (name, value) in [("--out", &args.out), ("--journal", &args.journal)] {
        if let Some(value) = value {
            command.arg(name).arg(value);
        }
    }
    let flags = [("--restart", args.restart), ("--json", args.json)];
    command.args(flags.iter().filter(|f| f.1).map(|f| f.0));
    starts(command.arg("--").arg(file).exec())
}

/// Whether the Python package that was `found` can be used, or what to install.
fn usable(python: &str, found: &str) -> Result<(), String> {
    let install = format!(
        "{python} -m pip install 'byway[dask]=={VERSION}', or './python[dask]' in the source tree of this byway; {PYTHON} may name another Python"
    );
    let mut lines = found.lines();
    match (lines.next(), lines.next()) {
        (Some(VERSION), Some(_)) => Ok(()),
        (Some(VERSION), None) => Err(format!("{python} has no Dask: {install}")),
        (Some(other), _) => Err(format!(
            "{python} has the package byway {other}, this is byway {VERSION}: {install}"
        )),
        (None, _) => Err(format!(
            "{python} has no package byway with Dask: {install}"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_named_with_what_to_install() {
        assert_eq!(usable("p", &format!("{VERSION}\nDask\n")), Ok(()));
        for (found, part) in [
            (
                "",
                "p has no package byway with Dask: p -m pip install 'byway[dask]==",
            ),
            (
                "9.9.9\nDask\n",
                "p has the package byway 9.9.9, this is byway",
            ),
            (VERSION, "p has no Dask: p -m pip install"),
        ] {
            let message = usable("p", found).unwrap_err();
            assert!(message.starts_with(part), "{message}");
        }
    }
}
