//! A measurement: which programs run, how often, and in which order.

use crate::report::{Better, Report};
use crate::series::{Figures, Series};
use anyhow::Result;

/// One program with one setting.
pub(crate) struct Contender {
    /// Name of the program.
    pub(crate) name: &'static str,
    /// Contenders of equal setting are compared.
    pub(crate) setting: &'static str,
    /// Ours, not a peer.
    pub(crate) ours: bool,
    /// One run.
    pub(crate) run: Box<dyn FnMut() -> Result<Figures>>,
}

/// A measurement before it is run.
pub(crate) struct Plan {
    /// Name on the command line.
    pub(crate) name: &'static str,
    /// The setting whose ratio counts.
    pub(crate) headline: &'static str,
    /// The figure that is compared.
    pub(crate) figure: &'static str,
    /// Of this figure.
    pub(crate) unit: &'static str,
    /// Which way the figure is good.
    pub(crate) better: Better,
    /// All programs, in the order of a round. Of one setting, the first of ours is the one whose
    /// ratio counts.
    pub(crate) contenders: Vec<Contender>,
    /// What is not measured, and why.
    pub(crate) notes: Vec<String>,
}

/// Runs all contenders in turn, A B A B, so that a change of the machine's load meets them all.
///
/// A peer that fails ends the measurement. One of ours that fails in its first run is left out
/// and reported as missing.
pub(crate) fn measure(plan: Plan, runs: u32, warm_up: u32) -> Result<Report> {
    let mut missing = Vec::new();
    let mut series: Vec<_> = plan
        .contenders
        .into_iter()
        .map(|contender| {
            (
                Series::new(contender.name, contender.setting, contender.ours),
                contender,
            )
        })
        .collect();
    for round in 0..warm_up + runs {
        eprintln!("round {} of {}", round + 1, warm_up + runs);
        let mut absent = Vec::new();
        for (index, (samples, contender)) in series.iter_mut().enumerate() {
            let what = || format!("{} ({})", contender.name, contender.setting);
            match (contender.run)() {
                Ok(figures) if round >= warm_up => samples.push(figures),
                Ok(_) => {}
                Err(error) if contender.ours && round == 0 => {
                    missing.push(format!("{}: {error:#}", what()));
                    absent.push(index);
                }
                Err(error) => return Err(error.context(what())),
            }
        }
        for index in absent.into_iter().rev() {
            series.remove(index);
        }
    }
    Ok(Report {
        name: plan.name,
        headline: plan.headline,
        figure: plan.figure,
        unit: plan.unit,
        better: plan.better,
        runs,
        series: series.into_iter().map(|(samples, _)| samples).collect(),
        missing,
        notes: plan.notes,
    })
}
