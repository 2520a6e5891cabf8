//! Means with their uncertainty, and what differs significantly.

use statrs::distribution::{ContinuousCDF, StudentsT};

/// What is known of some runs.
#[derive(Copy, Clone, Debug, Default, PartialEq)]
pub struct Sample {
    /// How many.
    pub n: u32,
    /// Their mean; 0 without runs.
    pub mean: f64,
    /// Their standard deviation; 0 for fewer than two runs.
    pub sd: f64,
}

impl Sample {
    /// Of these values.
    #[must_use]
    pub fn of(values: &[f64]) -> Sample {
        if values.is_empty() {
            return Sample::default();
        }
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let squares: f64 = values.iter().map(|v| (v - mean).powi(2)).sum();
        Sample {
            n: u32::try_from(values.len()).unwrap_or(u32::MAX),
            mean,
            sd: (squares / (n - 1.0).max(1.0)).sqrt(),
        }
    }

    /// Variance of the mean.
    fn variance(&self) -> f64 {
        self.sd * self.sd / f64::from(self.n.max(1))
    }

    /// Half the width of the interval that holds the mean with this confidence
    /// (Student's t); none for fewer than two runs.
    #[must_use]
    pub fn half_width(&self, confidence: f64) -> Option<f64> {
        if self.n < 2 {
            return None;
        }
        if self.sd == 0.0 {
            return Some(0.0);
        }
        Some(t_point(confidence, f64::from(self.n - 1))? * self.variance().sqrt())
    }
}

/// Student's t beyond which lies half of what `confidence` leaves over.
fn t_point(confidence: f64, freedom: f64) -> Option<f64> {
    let t = StudentsT::new(0.0, 1.0, freedom).ok()?;
    Some(t.inverse_cdf(0.5 + confidence / 2.0))
}
