//! `byway-web-visit FOLDER BYWAY [--only TEXT] [--pictures FOLDER]`: visits the page in FOLDER with headless
//! Chromium, as a person would, and compares its results with those of the command BYWAY. `--only` chooses
//! checks by their names, `--pictures` writes pictures of the page.

mod attacks;
mod hands;
mod looks;
mod tour;
mod visitor;

use anyhow::{Result, bail};
use std::env::args_os;
use std::path::PathBuf;
use visitor::Visitor;

/// A check by its name.
type Check = (&'static str, fn(&Visitor) -> Result<String>);

const CHECKS: &[Check] = &[
    (
        "the page opens from its folder, and asks for nothing else",
        looks::opens,
    ),
    (
        "the ten stops of the tour, each to the command's result",
        tour::ten_stops,
    ),
    (
        "the previous and the next stop, and a stop's address",
        tour::onwards,
    ),
    (
        "cut, heal, rate, delay, loss, policies and seed, to the command's result",
        hands::a_visit,
    ),
    (
        "a scene's address opens in the page and in the command",
        hands::addresses,
    ),
    ("everything by keyboard", hands::keyboard),
    (
        "values that cannot be, in the command's words",
        attacks::values,
    ),
    (
        "addresses that hold no scene, in the command's words",
        attacks::fragments,
    ),
    (
        "all paths cut: the association is lost, and there is a way on",
        attacks::all_cut,
    ),
    ("many clicks at once", attacks::clicks),
    ("reload in the middle of a run", attacks::reload),
    ("three policies and a long run: time goes on", attacks::long),
    (
        "no wider than the window, from 360 to 1280 pixels",
        looks::widths,
    ),
    ("names of controls, and contrast of texts", looks::readable),
    ("still, for people who ask for reduced motion", looks::still),
    ("frames in ten seconds with three policies", looks::frames),
];

fn main() -> Result<()> {
    let (mut pictures, mut only, mut places) = (None, String::new(), Vec::new());
    let mut args = args_os().skip(1);
    while let Some(arg) = args.next() {
        match arg.to_str() {
            Some("--pictures") => pictures = args.next().map(PathBuf::from),
            Some("--only") => only = args.next().unwrap_or_default().to_string_lossy().into(),
            _ => places.push(PathBuf::from(arg)),
        }
    }
    let [folder, byway] = places.as_slice() else {
        bail!("usage: byway-web-visit FOLDER BYWAY [--only TEXT] [--pictures FOLDER]");
    };
    let visitor = Visitor::new(folder, byway)?;
    let (mut passed, mut failed) = (0, 0);
    for (name, check) in CHECKS.iter().filter(|(name, _)| name.contains(&only)) {
        match carry_out(&visitor, *check) {
            Ok(said) if said.is_empty() => println!("PASS {name}"),
            Ok(said) => println!("PASS {name}: {said}"),
            Err(error) => {
                println!("FAIL {name}: {error:#}");
                failed += 1;
                continue;
            }
        }
        passed += 1;
    }
    if let Some(pictures) = pictures {
        looks::pictures(&visitor, &pictures)?;
    }
    println!("{passed} passed, {failed} failed");
    // No trace of calls: the lines above say what is wrong.
    std::process::exit(i32::from(failed > 0));
}

fn carry_out(visitor: &Visitor, check: fn(&Visitor) -> Result<String>) -> Result<String> {
    visitor.fresh()?;
    let said = check(visitor)?;
    visitor.no_problems()?;
    Ok(said)
}
