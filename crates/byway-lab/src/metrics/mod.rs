//! What is measured of a run: one table for sweeps, for the papers' claims and
//! for whoever adds a metric.
//!
//! A [`Metric`] has a name, a unit, a description and a function that takes
//! its value from a [`RunResult`](crate::result::RunResult). [`Metrics::standard`] holds those of byway;
//! [`Metrics::with`] adds one from outside.
//!
//! A name with `#` is that of a family: `path#_bytes` is found as
//! `path1_bytes`, `path2_bytes` and so on, and `done@#` as `done@4` or
//! `done@0.5`.

mod metric;
mod registry;
mod standard;
mod template;

pub use metric::{Kind, Metric, MetricInfo};
pub use registry::Metrics;
