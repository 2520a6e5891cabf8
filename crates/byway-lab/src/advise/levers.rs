//! The settings that are tried, for each target, and what they are called there.
//!
//! Each lever has the choices that are tried besides the default. A choice is one setting or
//! several that belong together.

/// A setting and its value, as `--set` takes them.
pub(super) type Set = (&'static str, &'static str);

/// The choices of one lever.
pub(super) type Lever = &'static [&'static [Set]];

const PMR: &str = "failure.path_max_retrans";
const PFMR: &str = "failover.potentially_failed.max_retrans";

/// Timers and thresholds that every stack has, in byway's names.
const RTO_MIN: Lever = &[
    &[("rto.min", "500 ms")],
    &[("rto.min", "300 ms")],
    &[("rto.min", "200 ms")],
    &[("rto.min", "100 ms")],
    &[("rto.min", "50 ms")],
];
const RTO_MAX: Lever = &[
    &[("rto.max", "10 s")],
    &[("rto.max", "3 s")],
    &[("rto.max", "1 s")],
];
const HB_INTERVAL: Lever = &[&[("hb.interval", "5 s")], &[("hb.interval", "1 s")]];
const PATH_MAX_RETRANS: Lever = &[&[(PMR, "3")], &[(PMR, "2")], &[(PMR, "1")]];
const SACK_DELAY: Lever = &[
    &[("sack.delay", "100 ms")],
    &[("sack.delay", "50 ms")],
    &[("sack.delay", "20 ms")],
];

/// byway, from the preset `byway`.
pub(super) const BYWAY: &[Lever] = &[
    &[&[("failover.probe_timeout.moves", "AtOnce")]],
    &[
        &[("failover.probe_timeout.margin", "20 ms")],
        &[("failover.probe_timeout.margin", "60 ms")],
        &[("failover.probe_timeout.margin", "200 ms")],
    ],
    &[
        &[
            ("sack.delay", "50 ms"),
            ("failover.probe_timeout.ack_delay", "50 ms"),
        ],
        &[
            ("sack.delay", "20 ms"),
            ("failover.probe_timeout.ack_delay", "20 ms"),
        ],
    ],
    HB_INTERVAL,
    RTO_MIN,
    RTO_MAX,
    &[&[(PMR, "2")], &[(PMR, "0")]],
    &[&[(PFMR, "1")], &[(PFMR, "2")]],
    &[
        &[("retransmission.target", "AllRtxSame")],
        &[("retransmission.target", "AllRtxAlt")],
    ],
    &[&[("hb.failed", "OncePerRto")]],
    &[
        &[("failover.primary_switch", "Cpt(0)")],
        &[("failover.primary_switch", "Psmr(2)")],
    ],
    &[&[(
        "failure.detection",
        "{ Probing = { dmax = \"2 s\", n = 8 } }",
    )]],
    &[&[("failover.estimate", "on")]],
    &[&[("concurrent", "on")]],
];

/// byway, from the preset `rfc9260`.
pub(super) const STANDARD: &[Lever] = &[
    RTO_MIN,
    RTO_MAX,
    HB_INTERVAL,
    &[&[(PMR, "2")], &[(PMR, "0")]],
    &[&[(PFMR, "1")], &[(PFMR, "2")]],
    SACK_DELAY,
    &[&[("retransmission.rack", "on")]],
    &[&[("hb.failed", "OncePerRto")]],
];

/// What Linux' `net.sctp` has.
pub(super) const LINUX: &[Lever] = &[
    RTO_MIN,
    RTO_MAX,
    &[&[("rto.initial", "1 s")]],
    HB_INTERVAL,
    PATH_MAX_RETRANS,
    &[&[(PFMR, "1")], &[(PFMR, "2")]],
    SACK_DELAY,
];

/// What usrsctp's socket options have.
pub(super) const USRSCTP: &[Lever] = &[
    RTO_MIN,
    RTO_MAX,
    HB_INTERVAL,
    PATH_MAX_RETRANS,
    &[&[(PFMR, "0")], &[(PFMR, "1")], &[(PFMR, "2")]],
    SACK_DELAY,
];
