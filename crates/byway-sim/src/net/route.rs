//! Shortest routes, and the links over which packets can be followed ahead of time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The network as numbers. A vertex is a router or one interface of a host.
#[derive(Debug, Default)]
pub(crate) struct Graph {
    /// Per vertex: whether it is a router; interfaces do not forward.
    pub(crate) forwards: Vec<bool>,
    /// Per link: from, to, cost (at least 1).
    pub(crate) links: Vec<(u32, u32, u32)>,
    /// Vertices of interfaces, in order; their places are the columns.
    pub(crate) interfaces: Vec<u32>,
    /// Explicit routes: vertex, column, link.
    pub(crate) overrides: Vec<(u32, u32, u32)>,
}

impl Graph {
    /// Per vertex: its column, or `u32::MAX` for a router.
    pub(crate) fn columns(&self) -> Vec<u32> {
        let mut columns = vec![NONE; self.forwards.len()];
        for (column, vertex) in self.interfaces.iter().enumerate() {
            columns[*vertex as usize] = column as u32;
        }
        columns
    }
}

/// Next links by vertex and destination column.
#[derive(Debug, Default)]
pub(crate) struct Routes {
    /// Per vertex: its row, or `SINGLE | link` if all its packets take one link.
    rows: Vec<u32>,
    columns: usize,
    next: Vec<u32>,
}

/// A routing loop: explicit routes send packets for this column through this link
/// again and again.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Circle {
    pub(crate) column: u32,
    pub(crate) link: u32,
}

/// Where the packets of a link come from.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Feeder {
    None,
    /// The host interface at which the link starts.
    Interface,
    /// One link, and no other.
    Link(u32),
    Several,
}

const NONE: u32 = u32::MAX;
const SINGLE: u32 = 1 << 31;

impl Routes {
    /// Computes shortest routes by cost, equal costs going to the lower link number.
    pub(crate) fn new(graph: &Graph) -> Routes {
        let mut outgoing = vec![Vec::new(); graph.forwards.len()];
        let mut incoming = vec![Vec::new(); graph.forwards.len()];
        for (i, &(from, to, _)) in graph.links.iter().enumerate() {
            outgoing[from as usize].push(i as u32);
            // Only routers forward, and most links of a large network start at
            // interfaces.
            if graph.forwards[from as usize] {
                incoming[to as usize].push(i as u32);
            }
        }
        let columns = graph.interfaces.len();
        let mut rows = Vec::with_capacity(outgoing.len());
        let mut tabled = Vec::new();
        for (vertex, links) in outgoing.iter().enumerate() {
            // An interface with one link needs no table; large networks consist of those.
            if let ([only], false) = (links.as_slice(), graph.forwards[vertex]) {
                rows.push(SINGLE | *only);
            } else {
                rows.push(tabled.len() as u32);
                tabled.push(vertex);
            }
        }
        let mut routes = Routes {
            rows,
            columns,
            next: vec![NONE; tabled.len() * columns],
        };
        for (column, &target) in graph.interfaces.iter().enumerate() {
            let distance = distances(graph, &incoming, target);
            for (row, &vertex) in tabled.iter().enumerate() {
                let via = |link: &u32| {
                    let (_, to, cost) = graph.links[*link as usize];
                    let usable = to == target || graph.forwards[to as usize];
                    let rest = if usable { distance[to as usize] } else { None };
                    rest.map(|d| (d + u64::from(cost), *link))
                };
                let best = outgoing[vertex].iter().filter_map(via).min();
                if vertex as u32 != target {
                    routes.next[row * columns + column] = best.map_or(NONE, |(_, link)| link);
                }
            }
        }
        for &(vertex, column, link) in &graph.overrides {
            let row = routes.rows[vertex as usize];
            if row & SINGLE == 0 {
                routes.next[row as usize * columns + column as usize] = link;
            }
        }
        routes
    }

    /// The link from `vertex` towards `column`.
    #[inline]
    pub(crate) fn next(&self, vertex: u32, column: u32) -> Option<u32> {
        let row = self.rows[vertex as usize];
        if row & SINGLE != 0 {
            return Some(row & !SINGLE);
        }
        let link = self.next[row as usize * self.columns + column as usize];
        (link != NONE).then_some(link)
    }

    /// Total cost of the route from `vertex` to `column`, if there is one.
    pub(crate) fn cost(&self, graph: &Graph, vertex: u32, column: u32) -> Option<u64> {
        let target = graph.interfaces[column as usize];
        let (mut at, mut total) = (vertex, 0);
        while at != target {
            let (_, to, cost) = graph.links[self.next(at, column)? as usize];
            if to != target && !graph.forwards[to as usize] {
                return None;
            }
            total += u64::from(cost);
            at = to;
        }
        Some(total)
    }

    /// Follows the routes of all packets that hosts can send, and finds for each link
    /// where its packets come from.
    ///
    /// # Errors
    /// The first routing loop.
    pub(crate) fn feeders(&self, graph: &Graph) -> Result<Vec<Feeder>, Circle> {
        let mut feeders = vec![Feeder::None; graph.links.len()];
        // Per link: the column and the start of the last walk that used it.
        let mut visited = vec![(NONE, NONE); graph.links.len()];
        for column in 0..self.columns as u32 {
            for &start in &graph.interfaces {
                let mut at = start;
                let mut from = Feeder::Interface;
                while at != graph.interfaces[column as usize]
                    && (at == start || graph.forwards[at as usize])
                {
                    let Some(link) = self.next(at, column) else {
                        break;
                    };
                    let feeder = &mut feeders[link as usize];
                    *feeder = match *feeder {
                        Feeder::None => from,
                        same if same == from => same,
                        _ => Feeder::Several,
                    };
                    if visited[link as usize] == (column, start) {
                        return Err(Circle { column, link });
                    }
                    // An earlier walk to this column has recorded the rest of the route.
                    let known = visited[link as usize].0 == column;
                    visited[link as usize] = (column, start);
                    if known {
                        break;
                    }
                    from = Feeder::Link(link);
                    at = graph.links[link as usize].1;
                }
            }
        }
        Ok(feeders)
    }
}

/// Cost from every router to `target`; `incoming` are the links from routers by
/// where they end.
fn distances(graph: &Graph, incoming: &[Vec<u32>], target: u32) -> Vec<Option<u64>> {
    let mut distance = vec![None; incoming.len()];
    let mut heap = BinaryHeap::from([Reverse((0u64, target))]);
    while let Some(Reverse((d, vertex))) = heap.pop() {
        if distance[vertex as usize].is_some() {
            continue;
        }
        distance[vertex as usize] = Some(d);
        for &link in &incoming[vertex as usize] {
            let (from, _, cost) = graph.links[link as usize];
            heap.push(Reverse((d + u64::from(cost), from)));
        }
    }
    distance
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Interfaces 0 and 1, routers 2 to 4.
    fn graph(links: &[(u32, u32, u32)]) -> Graph {
        Graph {
            forwards: vec![false, false, true, true, true],
            links: links.to_vec(),
            interfaces: vec![0, 1],
            overrides: Vec::new(),
        }
    }

    #[test]
    fn the_cheapest_way_wins_and_ties_go_to_the_lower_link() {
        // 0 -> 2 -> 3 -> 1 costs 3; 2 -> 4 -> 1 costs 4.
        let g = graph(&[(0, 2, 1), (2, 4, 2), (2, 3, 1), (4, 1, 1), (3, 1, 1)]);
        let routes = Routes::new(&g);
        assert_eq!(routes.next(2, 1), Some(2));
        assert_eq!(routes.cost(&g, 0, 1), Some(3));
        assert_eq!(routes.cost(&g, 1, 0), None, "no links lead back");
        let tie = graph(&[(0, 2, 1), (2, 4, 1), (2, 3, 1), (4, 1, 1), (3, 1, 1)]);
        assert_eq!(Routes::new(&tie).next(2, 1), Some(1));
    }

    #[test]
    fn explicit_routes_win_and_circles_are_found() {
        let mut g = graph(&[(0, 2, 1), (2, 3, 1), (3, 1, 1), (3, 2, 1), (2, 1, 9)]);
        g.overrides = vec![(2, 1, 4)];
        let routes = Routes::new(&g);
        assert_eq!(routes.next(2, 1), Some(4));
        assert!(routes.feeders(&g).is_ok());
        g.overrides = vec![(3, 1, 3)];
        let circle = Routes::new(&g).feeders(&g).unwrap_err();
        assert_eq!(circle.column, 1);
    }

    #[test]
    fn feeders_tell_single_ways_from_merging_ones() {
        // Interfaces 0 and 1 both send to 5 through router 2.
        let g = Graph {
            forwards: vec![false, false, true, true, true, false],
            links: vec![(0, 2, 1), (1, 2, 1), (2, 3, 1), (3, 5, 1)],
            interfaces: vec![0, 1, 5],
            overrides: Vec::new(),
        };
        let feeders = Routes::new(&g).feeders(&g).expect("no circle");
        assert_eq!(
            feeders,
            [
                Feeder::Interface,
                Feeder::Interface,
                Feeder::Several,
                Feeder::Link(2)
            ]
        );
    }

    #[test]
    fn hosts_do_not_forward() {
        let g = Graph {
            forwards: vec![false, false, false],
            links: vec![(0, 1, 1), (1, 2, 1)],
            interfaces: vec![0, 1, 2],
            overrides: Vec::new(),
        };
        assert_eq!(Routes::new(&g).cost(&g, 0, 2), None);
    }
}
