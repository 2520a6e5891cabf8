//! The papers' figures, drawn again from the runs.
//!
//! A figure is made in two steps: [`FigureSpec::draw`] takes numbers from cells
//! and single runs and says what lines go where; [`svg`] makes pictures of that.

pub mod cdf;
mod csv;
pub mod curves;
pub mod ladder;
mod layout;
pub mod over_time;
mod parts;
mod pick;
mod printed;
pub mod several;
pub mod svg;
mod ticks;
pub mod timeline;

pub use layout::Data;
pub use parts::{Figure, Line, Panel, Point, Source, Style};

use super::study::Effort;
use serde::Deserialize;

/// A figure, as `claims.toml` says it.
#[derive(Clone, Debug, Deserialize)]
pub struct FigureSpec {
    /// Its number in the paper.
    pub id: String,
    /// What it shows.
    pub title: String,
    /// What should be said of how it was drawn, besides what is said of every
    /// figure.
    #[serde(default)]
    pub caption: String,
    /// The study that it draws.
    pub study: String,
    /// What the paper prints of it.
    #[serde(default)]
    paper: Vec<printed::Printed>,
    /// The kind, and what it needs.
    #[serde(flatten)]
    pub kind: Kind,
}

/// The kinds of figures.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Kind {
    /// Means along an axis of the study.
    Curves(curves::Curves),
    /// Distributions of a measure over runs.
    Cdf(cdf::Cdf),
    /// Means of several measures side by side.
    Several(several::Several),
    /// Single runs over time.
    OverTime(over_time::OverTime),
    /// The packets of single runs.
    Timeline(timeline::Timeline),
}

impl FigureSpec {
    /// Draws it.
    ///
    /// # Errors
    /// When a single run that it shows cannot be made.
    pub fn draw(&self, paper: &str, data: Data<'_>) -> Result<Figure, String> {
        let mut figure = match &self.kind {
            Kind::Curves(k) => k.draw(data),
            Kind::Cdf(k) => k.draw(data),
            Kind::Several(k) => k.draw(data),
            Kind::OverTime(k) => k.draw(data)?,
            Kind::Timeline(k) => k.draw(data)?,
        };
        self.paper.iter().for_each(|p| p.add_to(&mut figure));
        figure.name = format!("{paper} figure {}", self.id);
        figure.title.clone_from(&self.title);
        if !self.caption.is_empty() {
            figure.caption = format!("{} {}", self.caption, figure.caption);
        }
        if figure.shows(Source::Paper) {
            figure
                .caption
                .push_str(" Diamonds and dashed lines: what the paper prints.");
        }
        figure.command = format!("byway reproduce {paper}/{}", self.id);
        if data.runs.effort == Effort::Full {
            figure.command.push_str(" --full");
        }
        if data.first_seed != 1 {
            let seeds = format!(" --seeds-from {}", data.first_seed);
            figure.command.push_str(&seeds);
        }
        Ok(figure)
    }
}

impl Kind {
    /// The measures that it shows of cells.
    #[must_use]
    pub fn measures(&self) -> Vec<&str> {
        match self {
            Kind::Curves(k) => vec![k.measure()],
            Kind::Cdf(k) => vec![k.measure()],
            Kind::Several(k) => k.measures(),
            Kind::OverTime(k) => k.measures(),
            Kind::Timeline(_) => Vec::new(),
        }
    }
}
