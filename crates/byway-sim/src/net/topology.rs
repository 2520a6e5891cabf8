//! Building a network from hosts, routers and one-way links.

use super::address::AddressTable;
use super::error::TopologyError;
use super::event::{MAX_NUMBER, Simultaneous};
use super::ids::{LinkId, NodeId, Port, TrafficId};
use super::link::{Link, LinkConfig};
use super::network::{Network, Parts, Wire};
use super::route::{Feeder, Graph, Routes};
use super::traffic::{TrafficConfig, TrafficSource};
use std::net::IpAddr;

/// Collects hosts, routers, links, routes and cross traffic.
/// [`build`](TopologyBuilder::build) checks them.
#[derive(Debug, Default, Clone)]
pub struct TopologyBuilder {
    nodes: Vec<Node>,
    links: Vec<(Port, Port, LinkConfig)>,
    addresses: Vec<(IpAddr, Port)>,
    routes: Vec<(Port, IpAddr, LinkId)>,
    traffic: Vec<(IpAddr, IpAddr, TrafficConfig)>,
    event_per_hop: bool,
    simultaneous: Simultaneous,
    log: bool,
}

#[derive(Debug, Clone)]
struct Node {
    name: String,
    /// Number of interfaces; `None` for a router.
    interfaces: Option<usize>,
}

impl TopologyBuilder {
    /// An empty topology.
    #[must_use]
    pub fn new() -> TopologyBuilder {
        TopologyBuilder::default()
    }

    /// Adds a host with one interface per address. Hosts do not forward packets.
    pub fn add_host(&mut self, name: &str, interfaces: &[IpAddr]) -> NodeId {
        let node = self.add_node(name, Some(interfaces.len()));
        for (i, address) in interfaces.iter().enumerate().take(u8::MAX.into()) {
            self.addresses.push((*address, node.interface(i as u8)));
        }
        node
    }

    /// Adds a router.
    pub fn add_router(&mut self, name: &str) -> NodeId {
        self.add_node(name, None)
    }

    fn add_node(&mut self, name: &str, interfaces: Option<usize>) -> NodeId {
        self.nodes.push(Node {
            name: name.to_owned(),
            interfaces,
        });
        NodeId((self.nodes.len() - 1) as u32)
    }

    /// Adds an address to an interface, for example an IPv6 address to an IPv4 one.
    pub fn add_address(&mut self, port: impl Into<Port>, address: IpAddr) {
        self.addresses.push((address, port.into()));
    }

    /// Adds a one-way link.
    pub fn add_link(
        &mut self,
        from: impl Into<Port>,
        to: impl Into<Port>,
        config: LinkConfig,
    ) -> LinkId {
        self.links.push((from.into(), to.into(), config));
        LinkId((self.links.len() - 1) as u32)
    }

    /// Adds two equal links, one in each direction. Each has its own random streams.
    pub fn add_duplex(
        &mut self,
        a: impl Into<Port>,
        b: impl Into<Port>,
        config: LinkConfig,
    ) -> (LinkId, LinkId) {
        let (a, b) = (a.into(), b.into());
        (
            self.add_link(a, b, config.clone()),
            self.add_link(b, a, config),
        )
    }

    /// Adds a route: packets for `dst` leave `at` over `link` instead of the shortest
    /// route.
    pub fn add_route(&mut self, at: impl Into<Port>, dst: IpAddr, link: LinkId) {
        self.routes.push((at.into(), dst, link));
    }

    /// Adds a source of cross traffic between two hosts' addresses.
    pub fn add_traffic(&mut self, src: IpAddr, dst: IpAddr, config: TrafficConfig) -> TrafficId {
        self.traffic.push((src, dst, config));
        TrafficId((self.traffic.len() - 1) as u32)
    }

    /// Records what happens to every packet on every link, see
    /// [`Network::take_log`]. Default: off.
    pub fn record_log(&mut self, on: bool) {
        self.log = on;
    }

    /// Makes every hop an event instead of following packets ahead of time. It is slower
    /// and has the same result, so it is for tests. Default: off.
    pub fn event_per_hop(&mut self, on: bool) {
        self.event_per_hop = on;
    }

    /// The order of events at the same nanosecond.
    /// Default: [`Simultaneous::ByLink`].
    pub fn simultaneous(&mut self, order: Simultaneous) {
        self.simultaneous = order;
    }

    /// Checks all parts and builds the network. All random numbers derive from
    /// `seed`.
    ///
    /// # Errors
    /// Names the first invalid part.
    pub fn build(&self, seed: u64) -> Result<Network, TopologyError> {
        let vertices = self.vertices()?;
        let addresses: Vec<(IpAddr, u32)> = self
            .addresses
            .iter()
            .map(|(address, port)| {
                let what = || format!("address {address}");
                Ok((*address, vertices.find(*port, what)?))
            })
            .collect::<Result<_, TopologyError>>()?;
        let mut addresses =
            AddressTable::new(&addresses).map_err(TopologyError::DuplicateAddress)?;
        let (links, graph) = self.links(seed, &vertices, &addresses)?;
        let routes = Routes::new(&graph);
        let feeders = routes
            .feeders(&graph)
            .map_err(|circle| TopologyError::RoutingLoop {
                to: vertices.ports[graph.interfaces[circle.column as usize] as usize],
                link: LinkId(circle.link),
            })?;
        let wires = self
            .links
            .iter()
            .zip(&graph.links)
            .zip(&feeders)
            .map(|(((_, _, config), &(_, to, _)), feeder)| Wire {
                to,
                to_router: graph.forwards[to as usize],
                capture: config.capture,
                ahead: !self.event_per_hop
                    && self.simultaneous == Simultaneous::ByLink
                    && match *feeder {
                        Feeder::Interface => true,
                        Feeder::Link(feeding) => links[feeding as usize].keeps_order(),
                        Feeder::None | Feeder::Several => false,
                    },
            })
            .collect();
        let sources = self.sources(seed, &mut addresses)?;
        Ok(Network::new(Parts {
            columns: graph.columns(),
            ports: vertices.ports,
            first_vertex: vertices.first,
            names: self.nodes.iter().map(|n| n.name.clone()).collect(),
            wires,
            addresses,
            links,
            graph,
            routes,
            sources,
            log: self.log,
            simultaneous: self.simultaneous,
        }))
    }

    fn vertices(&self) -> Result<Vertices, TopologyError> {
        let mut vertices = Vertices::default();
        for (i, node) in self.nodes.iter().enumerate() {
            vertices.first.push(vertices.ports.len() as u32);
            let count = node.interfaces.unwrap_or(1);
            if !(1..=usize::from(u8::MAX)).contains(&count) {
                return Err(TopologyError::InterfaceCount {
                    host: node.name.clone(),
                    count,
                });
            }
            for number in 0..count {
                vertices
                    .ports
                    .push(NodeId(i as u32).interface(number as u8));
                vertices.forwards.push(node.interfaces.is_none());
            }
        }
        vertices.first.push(vertices.ports.len() as u32);
        Ok(vertices)
    }

    fn links(
        &self,
        seed: u64,
        vertices: &Vertices,
        addresses: &AddressTable,
    ) -> Result<(Vec<Link>, Graph), TopologyError> {
        check_count("links", self.links.len())?;
        let mut graph = Graph {
            forwards: vertices.forwards.clone(),
            interfaces: (0..vertices.ports.len() as u32)
                .filter(|v| !vertices.forwards[*v as usize])
                .collect(),
            ..Graph::default()
        };
        let mut links = Vec::with_capacity(self.links.len());
        for (i, (from, to, config)) in self.links.iter().enumerate() {
            let what = || format!("link {i}");
            let from = vertices.find(*from, what)?;
            let to = vertices.find(*to, what)?;
            graph.links.push((from, to, config.cost.max(1)));
            links.push(Link::new(config, seed, i as u32).map_err(|bad| bad.of(what()))?);
        }
        let columns = graph.columns();
        for (at, dst, link) in &self.routes {
            let vertex = vertices.find(*at, || format!("the route to {dst}"))?;
            let target = addresses
                .vertex(dst)
                .ok_or_else(|| TopologyError::NoSuchAddress {
                    what: format!("the route at {at}"),
                    address: *dst,
                })?;
            if graph.links.get(link.index()).map(|l| l.0) != Some(vertex) {
                return Err(TopologyError::RouteNotHere {
                    at: *at,
                    link: *link,
                });
            }
            graph
                .overrides
                .push((vertex, columns[target as usize], link.0));
        }
        Ok((links, graph))
    }

    fn sources(
        &self,
        seed: u64,
        addresses: &mut AddressTable,
    ) -> Result<Vec<TrafficSource>, TopologyError> {
        check_count("traffic sources", self.traffic.len())?;
        let mut sources = Vec::with_capacity(self.traffic.len());
        for (i, (src, dst, config)) in self.traffic.iter().enumerate() {
            let what = || format!("traffic source {i}");
            let missing = |address| TopologyError::NoSuchAddress {
                what: what(),
                address,
            };
            let from = addresses.vertex(src).ok_or_else(|| missing(*src))?;
            let _ = addresses.vertex(dst).ok_or_else(|| missing(*dst))?;
            let ends = (addresses.intern(*src), addresses.intern(*dst));
            let source = TrafficSource::new(config, ends, from, seed, i as u32)
                .map_err(|bad| bad.of(what()))?;
            sources.push(source);
        }
        Ok(sources)
    }
}

fn check_count(what: &'static str, count: usize) -> Result<(), TopologyError> {
    if count < MAX_NUMBER as usize {
        return Ok(());
    }
    Err(TopologyError::TooMany {
        what,
        count,
        max: MAX_NUMBER - 1,
    })
}

/// All ports in one list.
#[derive(Default)]
struct Vertices {
    ports: Vec<Port>,
    forwards: Vec<bool>,
    /// The first vertex of each node, and the number of vertices at the end.
    first: Vec<u32>,
}

impl Vertices {
    fn find(&self, port: Port, what: impl Fn() -> String) -> Result<u32, TopologyError> {
        let missing = || TopologyError::NoSuchPort { what: what(), port };
        let node = port.node.index();
        let end = *self.first.get(node + 1).ok_or_else(missing)?;
        let vertex = self.first[node] + u32::from(port.interface);
        if vertex < end {
            Ok(vertex)
        } else {
            Err(missing())
        }
    }
}
