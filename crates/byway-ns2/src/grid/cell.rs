//! The table of ns-2's means.

use super::run::{Failure, Setting};
use crate::scenario::{Build, Cmt};
use anyhow::{Context, Result, anyhow, bail};
use byway_lab::stats::Sample;
use std::collections::BTreeMap;
use std::fmt;
use std::io::Read;
use std::path::Path;
use std::str::FromStr;

/// One line of the table.
#[derive(Clone, Debug)]
pub struct Cell {
    /// The grid that it belongs to.
    pub experiment: String,
    /// ns-2's build, as the table names it.
    pub variant: String,
    /// The retransmission scheme's name.
    pub scheme: String,
    /// What is run.
    pub setting: Setting,
    /// ns-2's transfer times, seconds.
    pub transfer: Sample,
    /// ns-2's detection times, seconds; empty without a failure.
    pub detection: Sample,
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let s = &self.setting;
        write!(
            f,
            "{} {} {}{} {} MB {:.0}%/{:.0}% {:.0}/{:.0} ms PMR {}",
            self.experiment,
            self.variant,
            self.scheme,
            s.retransmission(),
            s.size >> 20,
            s.loss(0) * 100.0,
            s.loss(1) * 100.0,
            s.delay_ns[0] as f64 / 1e6,
            s.delay_ns[1] as f64 / 1e6,
            s.pmr
        )?;
        if let Some(cpt) = s.cpt {
            write!(f, " CPT {cpt}")?;
        }
        if s.dormant != 0 {
            write!(f, " dormant {}", s.dormant)?;
        }
        Ok(())
    }
}

/// Reads a table, packed (`.gz`) or not.
///
/// # Errors
/// When the file cannot be read or a column is missing.
pub fn read(path: &Path) -> Result<Vec<Cell>> {
    parse(&read_text(path)?).with_context(|| format!("{}", path.display()))
}

/// A table's text, packed or not.
///
/// # Errors
/// When the file cannot be read.
pub fn read_text(path: &Path) -> Result<String> {
    let bytes = std::fs::read(path).with_context(|| format!("reading {}", path.display()))?;
    let mut text = String::new();
    if path.extension().is_some_and(|e| e == "gz") {
        flate2::read::GzDecoder::new(&bytes[..])
            .read_to_string(&mut text)
            .with_context(|| format!("unpacking {}", path.display()))?;
    } else {
        text = String::from_utf8(bytes).with_context(|| format!("{}", path.display()))?;
    }
    Ok(text)
}

fn parse(text: &str) -> Result<Vec<Cell>> {
    let mut lines = text.lines().enumerate();
    let (_, head) = lines.next().ok_or_else(|| anyhow!("the table is empty"))?;
    let names: Vec<&str> = head.split(',').map(str::trim).collect();
    let mut cells = Vec::new();
    for (number, line) in lines {
        if line.trim().is_empty() {
            continue;
        }
        let fields: Vec<&str> = line.split(',').map(str::trim).collect();
        let place = || format!("line {}", number + 1);
        if fields.len() != names.len() {
            let (have, want) = (fields.len(), names.len());
            return Err(anyhow!("{have} fields, but {want} columns")).with_context(place);
        }
        let line = Line(names.iter().copied().zip(fields).collect());
        cells.push(line.cell().with_context(place)?);
    }
    Ok(cells)
}

/// Fields by their columns' names.
struct Line<'a>(BTreeMap<&'a str, &'a str>);

impl Line<'_> {
    fn text(&self, name: &str) -> Result<&str> {
        let field = self.0.get(name).copied();
        field.ok_or_else(|| anyhow!("no column {name}"))
    }

    fn number<T: FromStr>(&self, name: &str) -> Result<T> {
        let text = self.text(name)?;
        let number = text.parse().ok();
        number.ok_or_else(|| anyhow!("{name} = {text:?} is no such number"))
    }

    /// A share in millionths.
    fn ppm(&self, name: &str) -> Result<u32> {
        let share: f64 = self.number(name)?;
        if !(0.0..=1.0).contains(&share) {
            bail!("{name} = {share} is no share: 0 to 1");
        }
        Ok((share * 1e6).round() as u32)
    }

    /// A time that the file may leave out, or that is negative for never.
    fn moment_ns(&self, name: &str) -> Result<Option<u64>> {
        let seconds: f64 = self.number(name)?;
        Ok((seconds >= 0.0).then_some((seconds * 1e9).round() as u64))
    }

    fn delay_ns(&self, name: &str) -> Result<u64> {
        let text = self.text(name)?;
        let ms: Option<f64> = text.strip_suffix("ms").and_then(|t| t.parse().ok());
        match ms {
            Some(ms) if ms >= 0.0 => Ok((ms * 1e6).round() as u64),
            _ => bail!("{name} = {text:?} is no delay such as 25ms"),
        }
    }

    fn sample(&self, n: &str, mean: &str, sd: &str) -> Result<Sample> {
        let n = self.number(n)?;
        if n == 0 {
            return Ok(Sample::default());
        }
        Ok(Sample {
            n,
            mean: self.number(mean)?,
            sd: self.number(sd)?,
        })
    }

    /// What the table says of CMT; the authors' scripts have all else on.
    fn cmt(&self) -> Result<Cmt> {
        if self.text("class")? != "SCTP/CMT" {
            return Ok(Cmt::default());
        }
        Ok(Cmt {
            reordering: 1,
            cwnd: 1,
            delayed_acks: 1,
            rtx_policy: self.number("cmtrtx")?,
            pf: self.number("cmtpf")?,
            pf_cwnd: self.number("pfcwnd")?,
        })
    }

    fn cell(&self) -> Result<Cell> {
        let variant = self.text("variant")?;
        let failure = match self.moment_ns("fail_at")? {
            None => None,
            Some(at_ns) => Some(Failure {
                path: self.number("fail_path")?,
                at_ns,
                repaired_ns: self.moment_ns("repair_at")?,
            }),
        };
        let cpt: u32 = self.number("cpt")?;
        Ok(Cell {
            experiment: self.text("experiment")?.to_owned(),
            scheme: self.text("scheme")?.to_owned(),
            setting: Setting {
                stock: build(variant)? == Build::Stock,
                class: self.text("class")?.to_owned(),
                rtx_to_alt: self.number("rta")?,
                size: self.number("size")?,
                loss_ppm: [self.ppm("loss0")?, self.ppm("loss1")?],
                delay_ns: [self.delay_ns("d0")?, self.delay_ns("d1")?],
                pmr: self.number("pmr")?,
                // As good as never: the scripts' way to say so.
                cpt: (cpt < 1_000_000).then_some(cpt),
                dormant: self.number("dormant")?,
                receive_window: self.number("rbuf")?,
                initial_ssthresh: self.number("issthresh")?,
                chunk: self.number("chunk")?,
                delayed_sacks: self.number::<u8>("delsack")? != 0,
                queue: self.number("qlimit")?,
                cmt: self.cmt()?,
                failure,
            },
            variant: variant.to_owned(),
            transfer: self.sample("n_ok", "transfer_mean", "transfer_sd")?,
            detection: self.sample("n_detect", "detect_mean", "detect_sd")?,
        })
    }
}

fn build(variant: &str) -> Result<Build> {
    if variant.starts_with("stock") {
        Ok(Build::Stock)
    } else if variant.starts_with("rfc2960") {
        Ok(Build::Rfc2960)
    } else {
        bail!("variant {variant:?}; there are stock-2.35 and rfc2960-floor2");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "experiment,variant,scheme,class,rta,size,loss0,loss1,d0,d1,pmr,cpt,\
        dormant,rbuf,chunk,issthresh,delsack,fail_path,fail_at,repair_at,qlimit,n_ok,\
        transfer_mean,transfer_sd,n_detect,detect_mean,detect_sd";
    const LINE: &str = "g,rfc2960-floor2,AllRtxAlt,SCTP,1,4194304,0.01,0.05,25ms,85ms,5,\
        1000000,0,65536,1468,65536,1,0,4,-1,50,16,86.2,3.7,0,,";

    #[test]
    fn a_line_is_read_by_its_columns() -> Result<()> {
        let cells = parse(&format!("{HEAD}\n{LINE}\n"))?;
        let c = &cells[0];
        assert_eq!(c.setting.loss_ppm, [10_000, 50_000]);
        assert_eq!(c.setting.delay_ns, [25_000_000, 85_000_000]);
        assert_eq!(c.setting.cpt, None);
        let failure = c.setting.failure.ok_or_else(|| anyhow!("a failure"))?;
        assert_eq!((failure.at_ns, failure.repaired_ns), (4_000_000_000, None));
        assert_eq!((c.transfer.n, c.transfer.mean), (16, 86.2));
        assert_eq!(c.detection, Sample::default());
        Ok(())
    }

    #[test]
    fn a_cmt_cell_names_its_policy_for_retransmissions() -> Result<()> {
        let (head, line) = (
            format!("{HEAD},cmtrtx,cmtpf,pfcwnd"),
            LINE.replace("AllRtxAlt,SCTP,", "CMT-PF2,SCTP/CMT,"),
        );
        let name = |rtx| -> Result<String> {
            Ok(parse(&format!("{head}\n{line},{rtx},1,2\n"))?[0].to_string())
        };
        assert!(name(0)?.starts_with("g rfc2960-floor2 CMT-PF2 RTX-ASAP 4 MB"));
        assert!(name(4)?.starts_with("g rfc2960-floor2 CMT-PF2 RTX-CWND 4 MB"));
        let other = parse(&format!("{HEAD}\n{LINE}\n"))?[0].to_string();
        assert!(
            other.starts_with("g rfc2960-floor2 AllRtxAlt 4 MB"),
            "{other}"
        );
        Ok(())
    }

    #[test]
    fn what_is_wrong_is_said_with_its_line() {
        let table = [
            ("0.01,0.05", "0.01,5", "loss1 = 5 is no share"),
            ("85ms", "85", "is no delay such as 25ms"),
            ("rfc2960-floor2", "ns-3", "there are stock-2.35"),
            (",1,0,4", ",1,0", "fields, but 27 columns"),
        ];
        for (from, to, expected) in table {
            let error = parse(&format!("{HEAD}\n{}\n", LINE.replace(from, to))).err();
            let text = error.map(|e| format!("{e:#}")).unwrap_or_default();
            assert!(text.contains(expected), "{text}");
            assert!(text.contains("line 2"), "{text}");
        }
    }
}
