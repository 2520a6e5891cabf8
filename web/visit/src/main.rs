//! `byway-web-visit FOLDER BYWAY [--only TEXT] [--pictures FOLDER] [--frames] [--soak MINUTES]`: visits the page in
//! FOLDER with headless Chromium, as a person would, and compares its results with those of the command BYWAY.
//! `--only` chooses checks by their names. The others make no checks: `--pictures` writes pictures of the page,
//! `--frames` measures how many it draws, `--soak` how much memory a long run takes.

mod attacks;
mod colours;
mod doubts;
mod drawn;
mod follow;
mod frames;
mod hands;
mod hints;
mod keys;
mod limits;
mod looks;
mod pace;
mod same;
mod scenes;
mod served;
mod shell;
mod tour;
mod visitor;
mod words;

use anyhow::{Context, Result, bail};
use std::env::args_os;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};
use visitor::Visitor;

/// A check by its name.
type Check = (&'static str, fn(&Visitor) -> Result<String>);

/// The longest first: they go on at the same time.
const CHECKS: &[Check] = &[
    (
        "the ten stops of the tour, the first five, each to the command's result",
        tour::first_stops,
    ),
    (
        "the ten stops of the tour, the other five, each to the command's result",
        tour::last_stops,
    ),
    ("each hint's action shows what it promises", hints::kept),
    (
        "packets are seen: slow motion at the set-up, events, timeouts and moves",
        pace::packets_are_seen,
    ),
    (
        "texts, buttons and drawings are those of the run",
        drawn::texts_and_drawings,
    ),
    (
        "packets move; copies and saved files are what they say",
        drawn::packets_and_copies,
    ),
    ("each stop has its own text and figure", drawn::stops),
    ("a policy by keyboard", drawn::policy_by_keyboard),
    (
        "values that cannot be, in the command's words",
        attacks::values,
    ),
    (
        "addresses that hold no scene, in the command's words",
        attacks::fragments,
    ),
    (
        "scenes that cannot be or are far too large, by their addresses",
        scenes::hostile,
    ),
    (
        "no wider than the window, from 360 to 1280 pixels",
        looks::widths,
    ),
    ("no word of a table is broken", looks::whole_words),
    (
        "cut, heal, rate, delay, loss, policies and seed, to the command's result",
        hands::a_visit,
    ),
    (
        "reset and undo: the address opens what is shown",
        hands::reset,
    ),
    ("everything by keyboard", hands::keyboard),
    (
        "the previous and the next stop, and a stop's address",
        tour::onwards,
    ),
    (
        "back and forward lead through the tour and keep what was done",
        tour::back_and_forward,
    ),
    ("many clicks at once", attacks::clicks),
    (
        "memory that decides on the window, to the command's result",
        attacks::window,
    ),
    (
        "slow motion is a choice, and the pace is told",
        pace::slow_motion_is_a_choice,
    ),
    ("every name of the field is explained", words::explained),
    (
        "the list of words by mouse, keyboard and finger",
        words::opened,
    ),
    ("keys can be switched off", keys::switched_off),
    ("changes are undone, at 400 events too", keys::undone),
    (
        "a scene that needs too much memory is stopped",
        limits::full,
    ),
    ("memory that ends is told", limits::exhausted),
    ("the work of a frame is bounded", limits::work_of_a_frame),
    ("the window changes its size while it runs", looks::resized),
    (
        "the page opens from its folder, and asks for nothing else",
        looks::opens,
    ),
    ("the page opens from a web server", served::from_a_server),
    (
        "a scene's address opens in the page and in the command",
        hands::addresses,
    ),
    (
        "three paths, and a scene with more policies than lanes",
        scenes::three_paths,
    ),
    (
        "all paths cut: the association is lost, and there is a way on",
        attacks::all_cut,
    ),
    ("reload in the middle of a run", attacks::reload),
    ("a program that fails is told, once", attacks::failure),
    ("three policies and a long run: time goes on", attacks::long),
    ("stops again and again need no more memory", attacks::memory),
    ("names of controls, and contrast of texts", looks::readable),
    (
        "nothing is told by colour alone",
        colours::nothing_by_colour_alone,
    ),
    ("still, for people who ask for reduced motion", looks::still),
    (
        "control: with another seed the results differ",
        doubts::another_seed,
    ),
    (
        "control: a page that loads from elsewhere is found",
        doubts::loads_from_elsewhere,
    ),
];

/// Those that measure, one after the other.
const ALONE: &[Check] = &[
    ("frames in ten seconds with three policies", frames::three),
    (
        "control: frames are missed when the page is kept busy",
        doubts::kept_busy,
    ),
];

/// How many checks go on at a time, each with a browser of its own: most of them wait.
const AT_A_TIME: usize = 3;

fn main() -> ExitCode {
    match visit() {
        Ok(0) => ExitCode::SUCCESS,
        // No trace of calls: the lines above say what is wrong.
        Ok(_) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("{error:#}");
            ExitCode::FAILURE
        }
    }
}

/// How many checks failed.
fn visit() -> Result<usize> {
    let (mut pictures, mut only, mut places) = (None, String::new(), Vec::new());
    let (mut soak, mut table) = (None, false);
    let mut args = args_os().skip(1);
    while let Some(arg) = args.next() {
        match arg.to_str() {
            Some("--pictures") => pictures = args.next().map(PathBuf::from),
            Some("--only") => only = args.next().unwrap_or_default().to_string_lossy().into(),
            Some("--frames") => table = true,
            Some("--soak") => soak = args.next(),
            _ => places.push(PathBuf::from(arg)),
        }
    }
    let [folder, byway] = places.as_slice() else {
        bail!(
            "usage: byway-web-visit FOLDER BYWAY [--only TEXT] [--pictures FOLDER] [--frames] [--soak MINUTES]"
        );
    };
    let work = Work::new()?;
    // Of a copy in another place: all that the page needs is in its folder.
    let page = work.0.join("page");
    copy(folder, &page)?;
    let measures = table || soak.is_some() || pictures.is_some();
    let chosen = |checks: &[Check]| -> Vec<Check> {
        if measures && only.is_empty() {
            return Vec::new();
        }
        let named = checks.iter().filter(|(name, _)| name.contains(&only));
        named.copied().collect()
    };
    let (checks, alone) = (chosen(CHECKS), chosen(ALONE));
    let visitors = (0..checks.len().clamp(1, AT_A_TIME))
        .map(|i| {
            let own = work.0.join(i.to_string());
            std::fs::create_dir_all(&own)?;
            Visitor::new(&page, byway, &own)
        })
        .collect::<Result<Vec<_>>>()?;
    let next = AtomicUsize::new(0);
    let results: Vec<bool> = std::thread::scope(|scope| {
        let workers: Vec<_> = visitors
            .into_iter()
            .map(|visitor| {
                let (next, checks) = (&next, &checks);
                scope.spawn(move || {
                    let mut results = Vec::new();
                    while let Some(check) = checks.get(next.fetch_add(1, Ordering::Relaxed)) {
                        results.push(carry_out(&visitor, *check));
                    }
                    results
                })
            })
            .collect();
        let ended = workers.into_iter().map(|worker| worker.join());
        ended
            .flat_map(|results| results.unwrap_or_else(|_| vec![false]))
            .collect()
    });
    let mut failed = results.iter().filter(|passed| !**passed).count();
    let mut passed = results.len() - failed;
    if !alone.is_empty() || measures {
        let visitor = Visitor::new(&page, byway, &work.0)?;
        for check in &alone {
            match carry_out(&visitor, *check) {
                true => passed += 1,
                false => failed += 1,
            }
        }
        if let Some(minutes) = soak {
            let minutes = minutes.to_string_lossy().parse().context("minutes")?;
            limits::soak(&visitor, minutes)?;
        }
        if table {
            frames::table(&visitor, 5)?;
        }
        if let Some(pictures) = pictures {
            looks::pictures(&visitor, &pictures)?;
        }
    }
    println!("{passed} passed, {failed} failed");
    Ok(failed)
}

/// Carries out a check, prints its result, and returns whether it passed.
fn carry_out(visitor: &Visitor, (name, check): Check) -> bool {
    let said = visitor.fresh().and_then(|()| {
        let said = check(visitor)?;
        visitor.no_problems()?;
        Ok(said)
    });
    match &said {
        Ok(said) if said.is_empty() => println!("PASS {name}"),
        Ok(said) => println!("PASS {name}: {said}"),
        Err(error) => println!("FAIL {name}: {error:#}"),
    }
    said.is_ok()
}

/// A folder that is gone at the end.
struct Work(PathBuf);

impl Work {
    fn new() -> Result<Work> {
        let folder = std::env::temp_dir().join(format!("byway-visit-{}", std::process::id()));
        std::fs::create_dir_all(&folder)?;
        Ok(Work(folder))
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Copies the files of a folder.
pub fn copy(from: &Path, to: &Path) -> Result<()> {
    std::fs::create_dir_all(to)?;
    let entries = std::fs::read_dir(from)
        .with_context(|| format!("cannot read {}; build the page first", from.display()))?;
    for entry in entries {
        let file = entry?;
        std::fs::copy(file.path(), to.join(file.file_name()))?;
    }
    Ok(())
}
