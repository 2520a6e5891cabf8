//! A figure with its uncertainty.

use statrs::distribution::{ContinuousCDF, StudentsT};

/// A figure, its standard error, and how well that is known.
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct Estimate {
    /// The figure.
    pub value: f64,
    /// Its standard error; 0 if nothing in it is chance.
    pub error: f64,
    /// Degrees of freedom of the error.
    freedom: f64,
}

impl Estimate {
    /// A figure with a standard error of so many degrees of freedom.
    pub(super) fn new(value: f64, error: f64, freedom: f64) -> Estimate {
        Estimate {
            value,
            error,
            freedom,
        }
    }

    /// A figure in which nothing is chance.
    pub(super) fn certain(value: f64) -> Estimate {
        Estimate::new(value, 0.0, f64::INFINITY)
    }

    /// A figure that each of several independent clusters moved so far. None for
    /// fewer than two clusters.
    pub(super) fn of_pulls(value: f64, pulls: impl Iterator<Item = f64>) -> Option<Estimate> {
        let (mut count, mut squares) = (0.0, 0.0);
        for pull in pulls {
            count += 1.0;
            squares += pull * pull;
        }
        let freedom = count - 1.0;
        (freedom >= 1.0).then(|| Estimate::new(value, (squares * count / freedom).sqrt(), freedom))
    }

    /// A figure that moves by `mine` with this one and by `theirs` with another
    /// that is independent of it; degrees of freedom by Welch and Satterthwaite.
    pub(super) fn plus(
        self,
        other: Estimate,
        mine: f64,
        theirs: f64,
        value: f64,
    ) -> Option<Estimate> {
        let (a, b) = ((mine * self.error).powi(2), (theirs * other.error).powi(2));
        let sum = a + b;
        if sum == 0.0 {
            return Some(Estimate::certain(value));
        }
        let freedom = sum.powi(2) / (a * a / self.freedom + b * b / other.freedom);
        Some(Estimate::new(value, sum.sqrt(), freedom))
    }

    /// The figure with its sign turned.
    pub(super) fn negative(self) -> Estimate {
        Estimate {
            value: -self.value,
            ..self
        }
    }

    /// Half the width of the interval with this confidence (Student's t).
    #[must_use]
    pub fn half(&self, confidence: f64) -> f64 {
        if self.error == 0.0 {
            return 0.0;
        }
        let freedom = self.freedom.min(1e6);
        StudentsT::new(0.0, 1.0, freedom).map_or(f64::INFINITY, |t| {
            t.inverse_cdf(0.5 + confidence / 2.0) * self.error
        })
    }

    /// The interval with this confidence.
    #[must_use]
    pub fn interval(&self, confidence: f64) -> Option<(f64, f64)> {
        let half = self.half(confidence);
        Some((self.value - half, self.value + half))
    }
}
