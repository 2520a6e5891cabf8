//! The user's own policies. They are code, so they are not serialized.

use crate::cc::StartCongestionControl;
use crate::policy::{Detector, Failover, RetransmissionTarget};
use core::fmt;
use std::sync::Arc;

/// A policy that all associations of a configuration share. Two are equal if they are
/// the same object.
pub struct Shared<P: ?Sized>(Arc<P>);

impl<P: ?Sized> Shared<P> {
    /// The policy.
    #[must_use]
    pub fn get(&self) -> &P {
        &self.0
    }
}

impl<P: ?Sized> Clone for Shared<P> {
    fn clone(&self) -> Self {
        Shared(self.0.clone())
    }
}

impl<P: ?Sized + fmt::Debug> fmt::Debug for Shared<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl<P: ?Sized> PartialEq for Shared<P> {
    fn eq(&self, other: &Self) -> bool {
        core::ptr::addr_eq(Arc::as_ptr(&self.0), Arc::as_ptr(&other.0))
    }
}

/// The user's own policies, which replace built-in ones; none by default.
///
/// They are code, so a serialized [`Config`](super::Config) does not contain them. They
/// cost nothing if they are not used.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Custom {
    /// Replaces `congestion.algorithm`.
    pub congestion: Option<Shared<dyn StartCongestionControl>>,
    /// Replaces `retransmission.target` and `concurrent.rtx`.
    pub retransmission: Option<Shared<dyn RetransmissionTarget>>,
    /// Replaces the rules of `failover` for which [`Failover`] has a method.
    pub failover: Option<Shared<dyn Failover>>,
    /// Replaces `failure.detection` and `failure.path_detection`.
    pub detection: Option<Shared<dyn Detector>>,
}

impl Custom {
    /// No policies.
    #[must_use]
    pub fn new() -> Custom {
        Custom::default()
    }

    /// Sets the congestion control: any
    /// [`CongestionControl`](crate::cc::CongestionControl) that can be cloned. Each
    /// path gets its own clone.
    #[must_use]
    pub fn congestion(mut self, control: impl StartCongestionControl + 'static) -> Custom {
        self.congestion = Some(Shared(Arc::new(control)));
        self
    }

    /// Sets the policy that chooses the path of a retransmission.
    #[must_use]
    pub fn retransmission(mut self, target: impl RetransmissionTarget + 'static) -> Custom {
        self.retransmission = Some(Shared(Arc::new(target)));
        self
    }

    /// Sets the policy that chooses the path of new data and the state of a path with
    /// errors.
    #[must_use]
    pub fn failover(mut self, failover: impl Failover + 'static) -> Custom {
        self.failover = Some(Shared(Arc::new(failover)));
        self
    }

    /// Sets the policy that decides when a path has failed.
    #[must_use]
    pub fn detection(mut self, detector: impl Detector + 'static) -> Custom {
        self.detection = Some(Shared(Arc::new(detector)));
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::Rfc9260Control;
    use crate::config::{Config, FailoverConfig};

    #[test]
    fn a_custom_policy_is_equal_to_itself_alone() {
        let own = Custom::new()
            .congestion(Rfc9260Control)
            .failover(FailoverConfig::default());
        assert_eq!(own, own.clone());
        let other = own.clone().failover(FailoverConfig::default());
        assert_ne!(own, other);
        let c = Config {
            custom: own,
            ..Config::default()
        };
        assert_ne!(c, Config::default());
        c.check().unwrap();
    }
}
