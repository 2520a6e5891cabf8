//! The tour: its stops with their scenes, and the figures with their data.

use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::Path;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    stop: Vec<Stop>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Stop {
    title: String,
    scene: String,
    paper: String,
    figure: String,
    #[serde(default)]
    panel: String,
    caption: String,
    x: String,
    y: String,
    text: String,
    r#try: String,
    /// Simulated seconds in a second at which it begins.
    #[serde(default = "real_time")]
    speed: f64,
}

fn real_time() -> f64 {
    1.0
}

/// A stop, as the page has it.
#[derive(Serialize)]
struct Shown {
    title: String,
    paper: String,
    caption: String,
    x: String,
    y: String,
    text: String,
    r#try: String,
    speed: f64,
    /// The text of its scenario.
    scene: String,
    name: String,
    lines: Vec<Line>,
}

/// A line of a figure.
#[derive(Serialize)]
struct Line {
    name: String,
    simulator: String,
    points: Vec<[f64; 2]>,
}

/// The script with all of it.
pub fn script(repository: &Path) -> Result<String> {
    let file = repository.join("web/stops.toml");
    let stops: File = toml::from_str(&read(&file)?)
        .with_context(|| format!("cannot understand {}", file.display()))?;
    let shown: Result<Vec<Shown>> = stops
        .stop
        .into_iter()
        .map(|stop| {
            let place = format!("stop \"{}\"", stop.title);
            show(repository, stop).context(place)
        })
        .collect();
    Ok(format!(
        "window.BYWAY_TOUR = {};\n",
        serde_json::to_string(&shown?)?
    ))
}

fn read(file: &Path) -> Result<String> {
    fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))
}

fn show(repository: &Path, stop: Stop) -> Result<Shown> {
    let scene = repository.join(format!("web/scenes/{}.toml", stop.scene));
    let data = repository.join(format!("experiments/results-full/{}.csv", stop.figure));
    let lines = lines(&read(&data)?, &stop.panel)?;
    if lines.is_empty() {
        bail!("{} has no panel \"{}\"", data.display(), stop.panel);
    }
    // What the page's slider has.
    if !(0.01..=10.0).contains(&stop.speed) {
        bail!("its speed is {}; from 0.01 to 10", stop.speed);
    }
    Ok(Shown {
        title: stop.title,
        paper: stop.paper,
        caption: stop.caption,
        x: stop.x,
        y: stop.y,
        text: stop.text,
        r#try: stop.r#try,
        speed: stop.speed,
        scene: read(&scene)?,
        name: format!("{}.toml", stop.scene),
        lines,
    })
}

/// The lines of a panel: `panel,line,source,x,y,...`. What the paper prints is left out: a mark may have
/// one coordinate alone.
fn lines(csv: &str, panel: &str) -> Result<Vec<Line>> {
    let mut lines: Vec<Line> = Vec::new();
    for row in csv.lines().skip(1) {
        let cells = cells(row);
        let [of, name, simulator, x, y, ..] = cells.as_slice() else {
            bail!("a row has too few cells: {row}");
        };
        if of != panel || simulator == "paper" {
            continue;
        }
        let point = [number(x)?, number(y)?];
        match lines
            .iter_mut()
            .find(|l| l.name == *name && l.simulator == *simulator)
        {
            Some(line) => line.points.push(point),
            None => lines.push(Line {
                name: name.clone(),
                simulator: simulator.clone(),
                points: vec![point],
            }),
        }
    }
    // The lines of single runs have a point for each message: the eye needs fewer.
    for line in &mut lines {
        let step = line.points.len().div_ceil(200);
        let last = line.points.len() - 1;
        let points = line.points.iter().enumerate();
        line.points = points
            .filter(|(i, _)| i % step == 0 || *i == last)
            .map(|(_, p)| *p)
            .collect();
    }
    Ok(lines)
}

fn number(cell: &str) -> Result<f64> {
    cell.parse()
        .with_context(|| format!("\"{cell}\" is not a number"))
}

/// The cells of a row, some of them in quotes.
fn cells(row: &str) -> Vec<String> {
    let mut cells = vec![String::new()];
    let mut quoted = false;
    for c in row.chars() {
        match c {
            '"' => quoted = !quoted,
            ',' if !quoted => cells.push(String::new()),
            c => cells
                .last_mut()
                .expect("there is one from the start")
                .push(c),
        }
    }
    cells
}
