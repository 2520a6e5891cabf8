//! Identifiers of the parts of a network.

use core::fmt;

/// A host or a router, numbered from zero in the order in which they were added.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct NodeId(pub(crate) u32);

/// A one-way link, numbered from zero in the order in which they were added.
///
/// The number also selects the link's random streams, so a link that is added
/// later changes nothing for the links before it.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct LinkId(pub(crate) u32);

/// A timer slot of a node.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct TimerId(pub(crate) u32);

/// A source of cross traffic, numbered from zero in the order in which they were added.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct TrafficId(pub(crate) u32);

/// One end of a link: a router, or one interface of a host.
///
/// A [`NodeId`] turns into the node's interface 0, which for a router is the router itself.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Port {
    /// The host or router.
    pub node: NodeId,
    /// Which interface of the host, from 0; always 0 for a router.
    pub interface: u8,
}

impl NodeId {
    /// The node's number.
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }

    /// Interface `number` (from 0) of this host.
    #[must_use]
    pub const fn interface(self, number: u8) -> Port {
        Port {
            node: self,
            interface: number,
        }
    }
}

impl LinkId {
    /// The link's number.
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

impl TrafficId {
    /// The source's number.
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

impl From<NodeId> for Port {
    fn from(node: NodeId) -> Port {
        node.interface(0)
    }
}

impl fmt::Display for Port {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "node {} interface {}", self.node.0, self.interface)
    }
}
