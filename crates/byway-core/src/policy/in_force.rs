//! Which policies are in force: the user's own (`Config::custom`) or the built-in ones.

use super::{Detection, Detector, Failover};
use crate::config::Config;

impl Config {
    /// The detector of a path: the user's own, or else `own`, the detector set for it.
    pub(crate) fn detector<'a>(&'a self, own: &'a Detection) -> &'a dyn Detector {
        match &self.custom.detection {
            Some(custom) => custom.get(),
            None => own,
        }
    }

    /// The failover policy: the user's own or the built-in one.
    pub(crate) fn failover(&self) -> &dyn Failover {
        match &self.custom.failover {
            Some(custom) => custom.get(),
            None => &self.failover,
        }
    }
}
