//! Several endpoints that serve one port together ([`Part`]).

use crate::common::{A, PORTS, Z, address, plain};
use byway_core::config::Part;
use byway_core::time::Instant;
use byway_core::{AssocId, ConnectError, Endpoint, EndpointConfig};

fn part(number: u32, of: u32, change: impl FnOnce(&mut EndpointConfig)) -> Endpoint {
    let mut config = EndpointConfig::new(PORTS[A], vec![address(0, A)], [number as u8; 32]);
    config.part = Part { number, of };
    change(&mut config);
    Endpoint::new(config).unwrap()
}

#[test]
fn an_id_names_the_part_too() {
    let mut parts: Vec<_> = (0..3).map(|n| part(n, 3, |_| {})).collect();
    let mut seen = Vec::new();
    for round in 0..5_u16 {
        for (number, core) in (0..).zip(&mut parts) {
            let port = 1000 + round;
            let id = core.connect(Instant::ZERO, &[address(0, Z)], port, plain());
            let id = id.unwrap();
            assert_eq!(id.part(3), number);
            assert!(!seen.contains(&id), "{id} twice");
            assert_eq!(AssocId::parse(&id.to_string()), Some(id));
            seen.push(id);
        }
    }
    // Alone, as ever.
    let id = part(0, 1, |_| {}).connect(Instant::ZERO, &[address(0, Z)], 7, plain());
    assert_eq!(id.unwrap().to_string(), "0.1");
    // What nobody has given names a part, too, where it is refused.
    assert_eq!(AssocId::parse("0.0").unwrap().part(3), 0);
}

#[test]
fn a_part_has_its_share_of_a_limit_and_at_least_one() {
    for (limit, of, share) in [(10, 1, 10), (10, 3, 3), (2, 3, 1), (0, 3, 0)] {
        let mut core = part(0, of, |c| c.max_associations = limit);
        for n in 0..share {
            let port = 1000 + n as u16;
            core.connect(Instant::ZERO, &[address(0, Z)], port, plain())
                .unwrap();
        }
        let more = core.connect(Instant::ZERO, &[address(0, Z)], 7, plain());
        assert_eq!(more, Err(ConnectError::TooMany(share)), "{limit} by {of}");
    }
}

#[test]
fn a_part_that_cannot_be_is_refused() {
    for (number, of) in [(0, 0), (1, 1), (3, 3), (0, 65)] {
        let mut config = EndpointConfig::new(PORTS[A], vec![address(0, A)], [7; 32]);
        config.part = Part { number, of };
        let error = Endpoint::new(config).unwrap_err();
        assert_eq!(error.field, "part");
    }
}
