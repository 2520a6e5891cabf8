//! The files to check an answer with: scenarios, sweeps, settings, the answer itself.

use super::answer::{Advice, TargetAdvice};
use super::candidates::Target;
use super::page;
use super::request::Request;
use super::situations::{Situation, scenario};

/// A file of the answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// Its name, without a folder.
    pub name: String,
    /// What it holds.
    pub text: String,
}

/// What a sweep of the check measures; the answer rests on these.
pub(super) const METRICS: &str = "[\"stall_s\", \"suspect_s\", \"spurious_failovers\", \
     \"delivered_bytes\", \"delivered_s\"]";

/// All files of an answer.
///
/// # Errors
/// When an answer is not that of this request.
pub fn files(request: &Request, advice: &Advice) -> Result<Vec<File>, String> {
    let mut files = Vec::new();
    let mut add = |name: String, text: String| files.push(File { name, text });
    add("advice.txt".to_owned(), advice.table());
    let json = serde_json::to_string_pretty(advice).map_err(|e| e.to_string())?;
    add("advice.json".to_owned(), json + "\n");
    add("advice.html".to_owned(), page::html(advice)?);
    for target in &advice.targets {
        let (name, text) = settings(target);
        add(name.to_owned(), text);
        for &situation in Situation::of(request.load) {
            let stem = stem(target.target, situation);
            add(
                format!("{stem}.scenario.toml"),
                scenario_text(request, target, situation)?,
            );
            add(format!("{stem}.toml"), sweep_text(target, situation));
        }
    }
    Ok(files)
}

/// The beginning of the names of a situation's files.
pub(super) fn stem(target: Target, situation: Situation) -> String {
    format!("{}-{}", target.name(), situation.name())
}

/// The lines that the target takes.
fn settings(target: &TargetAdvice) -> (&'static str, String) {
    let (name, comment) = match target.target {
        Target::Byway => ("byway.args", ""),
        Target::Linux => ("linux.conf", "# sysctl -p linux.conf\n"),
        Target::Usrsctp => (
            "usrsctp.c",
            "/* Before usrsctp_connect() or usrsctp_listen(). */\n",
        ),
    };
    (name, format!("{comment}{}\n", target.lines.join("\n")))
}

/// The scenario of a situation with all rows of the table as policies.
fn scenario_text(
    request: &Request,
    target: &TargetAdvice,
    situation: Situation,
) -> Result<String, String> {
    let rows = target.rows.iter();
    let policies: Result<Vec<_>, String> =
        rows.map(|row| row.candidate.policy(&row.name)).collect();
    Ok(scenario(request, situation, policies?).to_toml())
}

/// The sweep that runs the check of a situation again.
fn sweep_text(target: &TargetAdvice, situation: Situation) -> String {
    let stem = stem(target.target, situation);
    let first = target.rows.first().and_then(|r| r.samples.first());
    format!(
        "# The runs behind the table, again: byway sweep {stem}.toml\n\n\
         name = \"{stem}\"\n\
         description = \"The check of byway advise: {}.\"\n\
         scenario = \"{stem}.scenario.toml\"\n\
         seeds = {{ from = {}, count = {} }}\n\
         metrics = {METRICS}\n",
        situation.name(),
        first.map_or(1, |s| s.seed),
        target.rows.first().map_or(1, |r| r.samples.len().max(1))
    )
}
