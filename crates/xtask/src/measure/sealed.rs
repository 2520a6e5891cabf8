//! What encryption costs: `byway cat` to `byway listen` over loopback, by ticket and plain.

use super::Arguments;
use super::transfer::{free_udp_port, wait_for_port};
use crate::peers::Workspace;
use crate::process::{children_cpu, limited, stop};
use anyhow::{Context, Result, ensure};
use serde_json::json;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Instant;

const BYTES: u64 = 1 << 30;

/// Builds the command, runs both in turn, and prints the medians; the last line is JSON. `ratio` is
/// the sealed rate by the plain one.
pub(crate) fn run(workspace: &Workspace, arguments: &Arguments) -> Result<()> {
    let byway = arguments.byway(workspace)?;
    let folder = std::env::temp_dir().join(format!("byway-sealed-{}", std::process::id()));
    std::fs::create_dir_all(&folder).context("a folder for files")?;
    let input = folder.join("input");
    std::fs::File::create(&input)?.set_len(BYTES)?;
    let (mut sealed, mut plain) = (Runs::default(), Runs::default());
    for round in 0..arguments.warm_up + arguments.runs {
        eprintln!(
            "round {} of {}",
            round + 1,
            arguments.warm_up + arguments.runs
        );
        let counted = round >= arguments.warm_up;
        for (runs, ticket) in [
            (&mut plain, None),
            (&mut sealed, Some(folder.join("ticket"))),
        ] {
            let (rate, cpu) = transfer(&byway, &input, ticket)?;
            if counted {
                runs.rates.push(rate);
                runs.cpu.push(cpu);
            }
        }
    }
    std::fs::remove_dir_all(&folder)?;
    let (rate, plain_rate) = (median(&mut sealed.rates), median(&mut plain.rates));
    let (cpu, plain_cpu) = (median(&mut sealed.cpu), median(&mut plain.cpu));
    println!(
        "sealed: medians of {} runs, 1 GiB from `byway cat` to `byway listen` over loopback\n\n\
         {rate:>8.0} MB/s sealed, {plain_rate:.0} MB/s plain\n\
         {cpu:>8.2} s of processors for 1 GB sealed, {plain_cpu:.2} s plain, both ends\n",
        arguments.runs,
    );
    println!(
        "{}",
        json!({
            "name": "sealed",
            "ratio": rate / plain_rate,
            "mb_per_s": rate,
            "mb_per_s_plain": plain_rate,
            "cpu_s_per_gb": cpu,
            "cpu_s_per_gb_plain": plain_cpu,
        })
    );
    Ok(())
}

#[derive(Default)]
struct Runs {
    rates: Vec<f64>,
    cpu: Vec<f64>,
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// MB/s, and seconds of processors for 1 GB.
fn transfer(byway: &Path, input: &Path, ticket: Option<PathBuf>) -> Result<(f64, f64)> {
    let port = free_udp_port()?;
    let address = format!("127.0.0.1:{port}");
    let (mut listen, mut cat) = (limited(byway), limited(byway));
    listen.args(["listen", "--quiet", "--bind", &address]);
    cat.args(["cat", "--quiet"]).arg(input).arg("--to");
    match &ticket {
        Some(file) => {
            let _ = std::fs::remove_file(file);
            listen.arg("--ticket-to").arg(file);
            cat.arg(format!("@{}", file.display()));
        }
        None => {
            listen.arg("--unprotected");
            cat.arg(&address);
        }
    }
    let before = children_cpu()?;
    let mut listen = listen
        .stdout(Stdio::null())
        .spawn()
        .context("cannot start byway listen")?;
    let sent = wait_for_port(&mut listen, port).and_then(|()| {
        let begun = Instant::now();
        let status = cat.status().context("cannot start byway cat")?;
        ensure!(status.success(), "byway cat ended with {status}");
        Ok(begun.elapsed())
    });
    if sent.is_err() {
        stop(&listen);
    }
    let status = listen.wait()?;
    let seconds = sent?.as_secs_f64();
    ensure!(status.success(), "byway listen ended with {status}");
    let cpu = children_cpu()?.saturating_sub(before).as_secs_f64();
    Ok((BYTES as f64 / 1e6 / seconds, cpu / (BYTES as f64 / 1e9)))
}
