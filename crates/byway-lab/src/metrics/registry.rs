//! All metrics that can be requested.

use super::metric::Metric;
use super::standard;
use crate::source::{listed, nearest};

/// All metrics that can be requested.
#[derive(Clone, Debug)]
pub struct Metrics {
    all: Vec<Metric>,
}

impl Default for Metrics {
    fn default() -> Metrics {
        Metrics::standard()
    }
}

impl Metrics {
    /// Those of byway.
    #[must_use]
    pub fn standard() -> Metrics {
        Metrics {
            all: standard::all(),
        }
    }

    /// These and one more. It replaces one of the same name.
    #[must_use]
    pub fn with(mut self, metric: Metric) -> Metrics {
        match self.all.iter_mut().find(|m| m.name() == metric.name()) {
            Some(known) => *known = metric,
            None => self.all.push(metric),
        }
        self
    }

    /// All of them, families by their name with `#`.
    pub fn iter(&self) -> impl Iterator<Item = &Metric> {
        self.all.iter()
    }

    /// The metric of this name.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<Metric> {
        self.all.iter().find_map(|metric| metric.named(name))
    }

    /// What to say of a name that is not known.
    #[must_use]
    pub fn hint(&self, name: &str) -> String {
        let names = || self.all.iter().map(Metric::name);
        match nearest(name, names()) {
            Some(near) => format!("did you mean \"{near}\"?"),
            None => format!("there are {}", listed(names())),
        }
    }

    /// Those that every results file has, for runs with at most `paths`
    /// paths and `failures` scripted failures.
    #[must_use]
    pub fn columns(&self, paths: usize, failures: usize) -> Vec<Metric> {
        let single = |m: &&Metric| m.always && !m.is_family();
        let mut columns: Vec<Metric> = self.all.iter().filter(single).cloned().collect();
        for (families, count) in [
            (standard::FAILURE_COLUMNS, failures),
            (standard::PATH_COLUMNS, paths),
        ] {
            for k in 1..=count {
                let names = families.iter().map(|f| f.replace('#', &k.to_string()));
                columns.extend(names.filter_map(|name| self.find(&name)));
            }
        }
        columns
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::comparison;

    #[test]
    fn every_metric_is_described_and_found_by_its_name() {
        let metrics = Metrics::standard();
        for metric in metrics.iter() {
            assert!(!metric.info().about.is_empty(), "{metric:?}");
            let name = metric.name().replace('#', "1");
            let found = metrics.find(&name).unwrap_or_else(|| panic!("{name}"));
            assert_eq!(found.name(), name);
            assert!(!found.info().about.contains('#'), "{name}");
        }
        assert!(metrics.find("nothing").is_none());
        assert!(metrics.find("path#_bytes").is_none());
        assert!(metrics.hint("transfer").contains("transfer_s"));
    }

    #[test]
    fn a_metric_of_ones_own_is_one_like_any_other() {
        let run = &comparison().results[0];
        let metrics = Metrics::standard()
            .with(Metric::new("kilobytes", "kB", |run| {
                Some(run.delivered_bytes as f64 / 1e3)
            }))
            .with(Metric::family("more_than_#", "", |run, n| {
                Some(f64::from(u8::from(run.delivered_bytes as f64 > n[0])))
            }));
        let own = metrics.find("kilobytes").unwrap();
        assert_eq!(own.value(run), Some(run.delivered_bytes as f64 / 1e3));
        assert_eq!(metrics.find("more_than_0").unwrap().value(run), Some(1.0));
        let columns = metrics.columns(2, 1);
        assert!(columns.iter().any(|m| m.name() == "kilobytes"));
        assert!(columns.iter().any(|m| m.name() == "path2_bytes"));
        assert!(columns.iter().all(|m| m.name() != "more_than_0"));
        let replaced = metrics.with(Metric::new("kilobytes", "kB", |_| Some(0.0)));
        assert_eq!(replaced.find("kilobytes").unwrap().value(run), Some(0.0));
        assert_eq!(replaced.columns(2, 1).len(), columns.len());
    }
}
