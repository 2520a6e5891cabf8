//! Puts the advice of `byway advise` to scenarios that it has not seen, and prints a page.
//!
//!     cargo run --release -p byway-lab --example advise_held_out > held-out.md
//!
//! Arguments choose descriptions: `advise_held_out requests radio`.

use byway_lab::advise::{
    Candidate, Fixed, HeldOut, Hooks, Request, Shown, Target, advise, baselines, held_out,
};

/// Paths, traffic, what hurts.
const DESCRIPTIONS: &[(&str, &[&str], &str)] = &[
    (
        "two uplinks, bulk",
        &["rtt=20ms,rate=10M", "rtt=60ms,rate=5M,loss=1%"],
        "bulk",
    ),
    (
        "two uplinks, stream",
        &["rtt=20ms,rate=10M,loss=0.5%", "rtt=60ms,rate=5M,loss=1%"],
        "paced 1kB/20ms",
    ),
    (
        "requests",
        &["rtt=40ms,rate=10M,loss=1%", "rtt=40ms,rate=10M,loss=1%"],
        "requests 500B/1s",
    ),
    (
        "satellite and mobile",
        &["rtt=500ms,rate=10M,loss=0.1%", "rtt=80ms,rate=5M,loss=1%"],
        "paced 500B/20ms",
    ),
    (
        "signalling in a data centre",
        &["rtt=1ms,rate=50M", "rtt=1ms,rate=50M"],
        "paced 200B/5ms",
    ),
    (
        "lossy radio",
        &["rtt=100ms,rate=2M,loss=3%", "rtt=50ms,rate=2M,loss=3%"],
        "paced 500B/50ms",
    ),
];
const EFFORT: Fixed = Fixed {
    search: 2,
    check: 16,
};
const RUNS: u32 = 16;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("| description | for | against | better | no difference shown | worse |");
    println!("|---|---|---|---|---|---|");
    let mut short = Vec::new();
    let mut controls = Controls::default();
    let chosen: Vec<String> = std::env::args().skip(1).collect();
    let is_chosen = |name: &str| chosen.is_empty() || chosen.iter().any(|c| name.contains(c));
    for (name, paths, traffic) in DESCRIPTIONS.iter().filter(|d| is_chosen(d.0)) {
        let mut request = Request {
            targets: Target::ALL.to_vec(),
            ..Request::default()
        };
        for path in *paths {
            request.add_path(path)?;
        }
        request.set_traffic(traffic)?;
        let advice = advise(&request, &EFFORT, &Hooks::default())?;
        for target in &advice.targets {
            let advised = &target.rows[0].candidate;
            let others = baselines(target.target);
            let cells = held_out(&request, advised, &others, RUNS)?;
            for (i, other) in others.iter().enumerate() {
                let of: Vec<&HeldOut> = cells.iter().filter(|c| c.against == i).collect();
                let count = |shown| of.iter().filter(|c| c.score.shown == shown).count();
                let same = if other == advised { " (the same)" } else { "" };
                println!(
                    "| {name} | {} | {}{same} | {} | {} | {} |",
                    target.target.name(),
                    other.default,
                    count(Shown::Better),
                    count(Shown::Nothing),
                    count(Shown::Worse)
                );
                let not = of.iter().filter(|c| c.score.shown != Shown::Better);
                short.extend(
                    not.filter(|_| other != advised)
                        .map(|c| line(name, other, c)),
                );
            }
            controls.add(&request, advised, &others[..1], &cells)?;
        }
        println!(
            "<!-- {name}: {} -->",
            settings(
                &advice
                    .targets
                    .iter()
                    .map(|t| &t.rows[0].candidate)
                    .collect::<Vec<_>>()
            )
        );
    }
    println!("\nCells in which the advice does not beat a default:\n");
    println!("| description | for | against | variation | score | stall, ms | moves/hour |");
    println!("|---|---|---|---|---|---|---|");
    short.iter().for_each(|line| println!("{line}"));
    println!("\n{}", controls.words());
    Ok(())
}

fn settings(candidates: &[&Candidate]) -> String {
    let words = candidates.iter().map(|c| {
        let settings: Vec<String> = c.settings.iter().map(|(k, v)| format!("{k}={v}")).collect();
        format!("{} {} {}", c.target.name(), c.preset, settings.join(" "))
    });
    words.collect::<Vec<_>>().join("; ")
}

fn line(name: &str, other: &Candidate, cell: &HeldOut) -> String {
    let of = |c: &byway_lab::advise::Comparison, scale: f64, digits: usize| {
        format!(
            "{:+.digits$} [{:+.digits$}, {:+.digits$}]",
            c.mean * scale,
            c.low * scale,
            c.high * scale
        )
    };
    format!(
        "| {name} | {} | {} | {} | {} ({}) | {} | {} |",
        other.target.name(),
        other.default,
        cell.variation,
        of(&cell.score, 1.0, 3),
        cell.score.shown.words(),
        of(&cell.stall_s, 1e3, 0),
        of(&cell.moves_per_hour, 1.0, 1)
    )
}

/// The check turned against itself.
#[derive(Default)]
struct Controls {
    swapped: usize,
    swapped_better: usize,
    equal: usize,
    equal_nothing: usize,
}

impl Controls {
    /// The own default put in the place of the advice must not beat it where the advice did;
    /// the advice against itself must show nothing.
    fn add(
        &mut self,
        request: &Request,
        advised: &Candidate,
        default: &[Candidate],
        cells: &[HeldOut],
    ) -> Result<(), Box<dyn std::error::Error>> {
        let both = [advised.clone(), default[0].clone()];
        let swapped = held_out(request, &default[0], &both[..1], RUNS)?;
        let forward = cells.iter().filter(|c| c.against == 0);
        for (f, s) in forward.zip(&swapped) {
            if f.score.shown == Shown::Better {
                self.swapped += 1;
                self.swapped_better += usize::from(s.score.shown != Shown::Worse);
            }
        }
        let equal = held_out(request, advised, &both[..1], RUNS)?;
        self.equal += equal.len();
        self.equal_nothing += equal
            .iter()
            .filter(|c| c.score.shown == Shown::Nothing)
            .count();
        Ok(())
    }

    fn words(&self) -> String {
        format!(
            "Controls: with advice and own default swapped, {} of the {} cells that the advice won \
             are anything but worse; advice against itself shows no difference in {} of {} cells.",
            self.swapped_better, self.swapped, self.equal_nothing, self.equal
        )
    }
}
