//! Cells as ns-2 ran them: `ns2.csv` beside a paper's claims.
//!
//! A line a cell and measure: the study, its axes, then the measure, the number
//! of runs, their mean and standard deviation, and, where the claims ask for a
//! distribution, the values themselves, separated by blanks.

use super::cells::{Cell, Cells, Place, Value};
use super::sample::{Run, Sample};

/// Columns that are no axes.
const OTHERS: [&str; 6] = ["study", "measure", "n", "mean", "sd", "values"];

/// The cells of one study in a table.
///
/// # Errors
/// The line that cannot be read, and why.
pub fn read(table: &str, study: &str) -> Result<Cells, String> {
    let mut lines = table.lines().enumerate();
    let Some((_, head)) = lines.next() else {
        return Ok(Cells::default());
    };
    let head: Vec<&str> = head.split(',').collect();
    let mut cells: Vec<Cell> = Vec::new();
    for (number, line) in lines {
        let fields: Vec<&str> = line.split(',').collect();
        let field = |name: &str| {
            let at = head.iter().position(|h| *h == name);
            at.and_then(|at| fields.get(at)).copied().unwrap_or("")
        };
        if field("study") != study {
            continue;
        }
        let wrong = |what: &str| format!("line {}: {what}", number + 1);
        if fields.len() != head.len() {
            let counts = format!("{} fields, but {} columns", fields.len(), head.len());
            return Err(wrong(&counts));
        }
        let place: Place = head
            .iter()
            .zip(&fields)
            .filter(|(h, f)| !OTHERS.contains(h) && !f.is_empty())
            .map(|(h, f)| ((*h).to_owned(), Value::read(f)))
            .collect();
        let figure = |name: &str| {
            let text = field(name);
            text.parse::<f64>()
                .map_err(|_| wrong(&format!("{name} = {text:?} is no number")))
        };
        let values: Vec<Run> = (1..)
            .zip(field("values").split_whitespace())
            .map(|(i, text)| {
                let value = text.parse().map_err(|_| wrong("values are numbers"))?;
                Ok(Run::new(i, value))
            })
            .collect::<Result<_, String>>()?;
        let measure = field("measure").to_owned();
        let n = figure("n")? as usize;
        let sample = Sample {
            n,
            all: n,
            mean: figure("mean")?,
            sd: figure("sd")?,
            kind: super::measure::kind(&measure),
            runs: values,
        };
        match cells.iter_mut().find(|c| c.place == place) {
            Some(cell) => {
                cell.samples.insert(measure, sample);
            }
            None => cells.push(Cell {
                place,
                samples: [(measure, sample)].into(),
            }),
        }
    }
    Ok(Cells(cells))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_read_by_its_columns() {
        let table = "study,policy,loss1,pmr,measure,n,mean,sd,values\n\
            a,,3,0,transfer_s,5,75.5,1.5,\n\
            a,,3,0,failovers,2,1,1.4,0 2\n\
            b,X,1,,transfer_s,1,18,0,\n";
        let cells = read(table, "a").unwrap();
        assert_eq!(cells.0.len(), 1);
        assert_eq!(cells.0[0].place.get("pmr"), Some(&Value::Number(0.0)));
        assert!(!cells.0[0].place.contains_key("policy"));
        let any = cells.0[0].sample("failovers >= 1").unwrap();
        assert_eq!((any.n, any.mean), (2, 0.5));
        assert_eq!(read(table, "b").unwrap().0[0].samples["transfer_s"].n, 1);
        let broken = table.replace("75.5", "x");
        assert!(read(&broken, "a").unwrap_err().contains("line 2: mean"));
    }
}
