//! A metric of one's own in a sweep: how many bytes are sent for each byte
//! that is delivered.
//!
//! ```text
//! cargo run --release -p byway-lab --example own_metric
//! ```

use byway_lab::engine::{Options, run};
use byway_lab::metrics::{Metric, Metrics};
use byway_lab::sweep::{Results, parse};
use byway_lab::terminal::Terminal;

/// A file over two paths, of which the first loses packets.
const SWEEP: &str = r#"
name = "overhead"
description = "Bytes sent for each byte delivered, by the loss of path 1."
seeds = 5
metrics = ["overhead", "transfer_s"]

[[axis]]
key = "loss1"
values = [2, 5, 10]

[scenario]
limit = "100 s"
traffic = { kind = "bulk", size = "500 kB" }
[[scenario.path]]
name = "first"
rate = "10 Mbit/s"
delay = "20 ms"
[[scenario.path]]
name = "second"
rate = "10 Mbit/s"
delay = "20 ms"
"#;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // The metric: its name, its unit, and how a run's result gives it. A run
    // that delivers nothing has no such value.
    let overhead = Metric::new("overhead", "", |run| {
        let sent: u64 = run.paths.iter().map(|path| path.bytes).sum();
        let delivered = run.delivered_bytes;
        (delivered > 0).then(|| sent as f64 / delivered as f64)
    })
    .about("SCTP bytes sent for each payload byte delivered");

    // It stands beside those of byway, so the sweep may ask for it by name.
    let metrics = Metrics::standard().with(overhead);
    let plan = parse(
        "overhead.toml",
        SWEEP,
        &|_| Err("not here".into()),
        &metrics,
    )?;

    // All cells with all seeds, on all processors.
    let done = run(&[&plan], &Options::default())?;
    let results = Results::new(&plan, done.rows.into_iter().flatten().collect());
    let terminal = Terminal {
        width: 80,
        colour: false,
    };
    print!("{}", results.table(terminal));
    // `results.write(path)` keeps them as Parquet; each row has the metric.

    let place = results.metric("overhead")?;
    let mean = |cell: usize| results.sample(cell, place).mean;
    assert!(mean(0) > 1.0, "headers are sent, too");
    assert!(mean(2) > mean(0), "lost bytes are retransmitted");
    Ok(())
}
