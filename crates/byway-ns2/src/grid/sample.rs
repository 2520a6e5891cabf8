//! Means with their uncertainty.

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
        let n = values.len() as f64;
        if values.is_empty() {
            return Sample::default();
        }
        let mean = values.iter().sum::<f64>() / n;
        let squares: f64 = values.iter().map(|v| (v - mean).powi(2)).sum();
        Sample {
            n: values.len() as u32,
            mean,
            sd: (squares / (n - 1.0).max(1.0)).sqrt(),
        }
    }

    /// Variance of the mean.
    fn variance(&self) -> f64 {
        self.sd * self.sd / f64::from(self.n.max(1))
    }

    /// Half the width of the 95 % interval of the difference of two means
    /// (Welch); none if either has fewer than two runs.
    #[must_use]
    pub fn half_width(&self, other: &Sample) -> Option<f64> {
        if self.n < 2 || other.n < 2 {
            return None;
        }
        let (a, b) = (self.variance(), other.variance());
        if a + b == 0.0 {
            return Some(0.0);
        }
        let freedom =
            (a + b).powi(2) / (a * a / f64::from(self.n - 1) + b * b / f64::from(other.n - 1));
        Some(t975(freedom) * (a + b).sqrt())
    }

    /// The sign of this mean less the other, if the difference is significant;
    /// 0 if it is not.
    #[must_use]
    pub fn sign(&self, other: &Sample) -> i8 {
        let difference = self.mean - other.mean;
        match self.half_width(other) {
            Some(width) if difference > width => 1,
            Some(width) if difference < -width => -1,
            _ => 0,
        }
    }
}

/// The 97.5 % point of Student's t, by Fisher's series around the normal
/// distribution; good to 0.2 % from 4 degrees of freedom on.
fn t975(freedom: f64) -> f64 {
    const Z: f64 = 1.959_963_985;
    let z2 = Z * Z;
    let terms = [
        (z2 + 1.0) / 4.0,
        ((5.0 * z2 + 16.0) * z2 + 3.0) / 96.0,
        (((3.0 * z2 + 19.0) * z2 + 17.0) * z2 - 15.0) / 384.0,
        ((((79.0 * z2 + 776.0) * z2 + 1482.0) * z2 - 1920.0) * z2 - 945.0) / 92160.0,
    ];
    let mut t = Z;
    let mut power = 1.0;
    for term in terms {
        power /= freedom.max(1.0);
        t += Z * term * power;
    }
    t
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn t_is_that_of_the_tables() {
        for (freedom, t) in [(4.0, 2.776), (5.0, 2.571), (10.0, 2.228), (30.0, 2.042)] {
            assert!((t975(freedom) / t - 1.0).abs() < 0.002, "{freedom}");
        }
    }

    #[test]
    fn mean_and_deviation() {
        let s = Sample::of(&[1.0, 2.0, 3.0, 4.0]);
        assert_eq!((s.n, s.mean), (4, 2.5));
        assert!((s.sd - 1.290_994).abs() < 1e-6);
        assert_eq!(Sample::of(&[]), Sample::default());
        assert_eq!(Sample::of(&[7.0]).sd, 0.0);
    }

    #[test]
    fn welch_of_two_equal_samples_has_their_common_freedom() {
        let s = |mean| Sample {
            n: 6,
            mean,
            sd: 1.0,
        };
        // t(10) * sqrt(2 / 6)
        let width = s(0.0).half_width(&s(0.0)).unwrap_or_default();
        assert!((width - 2.228 * (1.0_f64 / 3.0).sqrt()).abs() < 2e-3);
        assert_eq!(s(1.0).sign(&s(0.0)), 0);
        assert_eq!(s(2.0).sign(&s(0.0)), 1);
        assert_eq!(s(0.0).sign(&s(2.0)), -1);
    }
}
