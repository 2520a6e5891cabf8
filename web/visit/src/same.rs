//! Is the page's result that of the command?

use crate::shell::in_shell;
use crate::visitor::Visitor;
use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::ffi::OsStr;

impl Visitor {
    /// Runs the scene to its end, and compares the result with the command's, byte for byte, and with
    /// what the page shows.
    pub fn same_as_the_command(&self) -> Result<()> {
        self.click("#finish")?;
        self.until("the scene ends", "byway.over()")?;
        let file = self.work.join("scene.toml");
        std::fs::write(&file, self.text("byway.toml()")?)?;
        let (said, _) =
            self.command(&[OsStr::new("run"), file.as_os_str(), OsStr::new("--json")])?;
        self.compare(&said)?;
        self.shows(&serde_json::from_str(&said)?)
    }

    /// Fails unless `said` is the page's result.
    pub fn compare(&self, said: &str) -> Result<()> {
        let page = self.text("byway.json()")?;
        let mut lines = page.lines().zip(said.lines()).enumerate();
        let first = lines.find(|(_, (page, command))| page != command);
        ensure!(
            page == said,
            "the page's result is not the command's: {} and {} bytes, first other line (number, page, command): \
             {first:?}; the scene is {:?}",
            page.len(),
            said.len(),
            self.text("byway.toml()")?
        );
        Ok(())
    }

    /// Fails unless the page shows what the result has.
    pub fn shows(&self, result: &Value) -> Result<()> {
        let view = self.value("byway.view()")?;
        let results = result["results"].as_array().context("results")?;
        for (lane, result) in view["lanes"]
            .as_array()
            .context("lanes")?
            .iter()
            .zip(results)
        {
            for (shown, known) in [
                ("policy", "policy"),
                ("read_bytes", "delivered_bytes"),
                ("retransmissions", "retransmissions"),
                ("failovers", "failovers"),
                ("spurious_failovers", "spurious_failovers"),
                ("transfer", "transfer_s"),
                ("outcome", "outcome"),
            ] {
                ensure!(
                    lane[shown] == result[known],
                    "{}: the page shows {shown} {}, the result has {}",
                    lane["policy"],
                    lane[shown],
                    result[known]
                );
            }
            let measured = result["measures"]["paths"].as_array().context("paths")?;
            for (i, path) in measured.iter().enumerate() {
                let shown = &lane["paths"][i]["given_up"];
                ensure!(
                    *shown == path["failures"],
                    "{}: path {} is given up {shown} times, in the result {}",
                    lane["policy"],
                    i + 1,
                    path["failures"]
                );
            }
            let stall = |v: &Value| v.as_f64().unwrap_or(0.0);
            let (shown, known) = (
                stall(&lane["longest"][1]),
                stall(&result["stall"]["length_s"]),
            );
            ensure!(
                (shown - known).abs() < 1e-4,
                "longest stall {shown} and {known}"
            );
        }
        Ok(())
    }

    /// What the command prints, and what it says of mistakes.
    pub fn command(&self, args: &[&OsStr]) -> Result<(String, String)> {
        let [byway, out, said, wrong] = [
            self.byway.clone(),
            self.work.join("out"),
            self.work.join("said"),
            self.work.join("wrong"),
        ]
        .map(|path| in_shell(path.as_os_str()));
        let args: Vec<String> = args.iter().map(|arg| in_shell(arg)).collect();
        self.shell.borrow_mut().run(&format!(
            "{byway} {} --out {out} >{said} 2>{wrong}",
            args.join(" ")
        ))?;
        let read = |name| std::fs::read_to_string(self.work.join(name));
        Ok((read("said")?, read("wrong")?))
    }
}
