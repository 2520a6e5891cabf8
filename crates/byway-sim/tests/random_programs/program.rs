//! What a random program is made of. Everything is a small number, so that
//! failures shrink well and are short when written down.

use crate::settings::{Settings, settings};
use proptest::collection::vec;
use proptest::prelude::*;

/// Two endpoints, the network between them, and what they do.
#[derive(Clone, Debug, Default)]
pub(crate) struct Program {
    pub(crate) seed: u8,
    /// Whether packets carry checksums; else the network drops what it damaged.
    pub(crate) checksums: bool,
    /// Whether both sides set up at once.
    pub(crate) both_connect: bool,
    pub(crate) paths: Vec<PathPlan>,
    pub(crate) settings: [Settings; 2],
    pub(crate) steps: Vec<Step>,
}

impl Program {
    /// The same program without changes of addresses (RFC 5061) and what goes with them.
    pub(crate) fn without_changes_of_addresses(mut self) -> Program {
        self.settings.iter_mut().for_each(|s| s.asconf &= 8);
        self.steps
            .retain(|s| !matches!(s.op, Op::Addresses(_) | Op::PeerPrimary(_)));
        self
    }
}

/// One path: a link each way.
#[derive(Clone, Debug, Default)]
pub(crate) struct PathPlan {
    pub(crate) delay_ms: u8,
    /// Of packets, in percent.
    pub(crate) loss: u8,
    pub(crate) reorder: u8,
    pub(crate) duplicate: u8,
    pub(crate) corrupt: u8,
    /// Packets that wait at a 10 Mb/s link; 0 for an unlimited rate.
    pub(crate) queue: u8,
    /// Begin and length in units of 100 ms; a length of 0 is for ever. Of one
    /// direction: 0 and 1, or 2 for both.
    pub(crate) outages: Vec<(u8, u8, u8)>,
}

#[derive(Clone, Debug)]
pub(crate) struct Step {
    /// Time since the step before.
    pub(crate) wait_ms: u16,
    pub(crate) side: usize,
    pub(crate) op: Op,
}

#[derive(Clone, Debug)]
pub(crate) enum Op {
    Send {
        stream: u8,
        len: u32,
        count: u8,
        unordered: bool,
        path: Option<u8>,
    },
    SetPrimary(u8),
    Heartbeat(u8),
    /// The side has these of its addresses from now on, one bit for each; at least one.
    Addresses(u8),
    /// The peer is asked to send to the address of this path.
    PeerPrimary(u8),
    EnableHeartbeats(u8, bool),
    /// Stops or goes on reading.
    Reading(bool),
    Connect,
    Shutdown,
    Abort,
    /// The endpoint is replaced by a fresh one; the first side sets up again.
    Restart,
}

fn path() -> impl Strategy<Value = PathPlan> {
    let rarely = |most: u8| prop_oneof![3 => Just(0u8), 1 => 0..most];
    let outage = (0..200u8, 0..100u8, 0..3u8);
    (
        0..120u8,
        prop_oneof![2 => Just(0u8), 2 => 0..5u8, 1 => 0..40u8],
        rarely(30),
        rarely(30),
        rarely(20),
        // A queue of one packet lets a heartbeat through and never the data
        // behind it.
        prop_oneof![3 => Just(0u8), 1 => 3..60u8],
        prop_oneof![2 => Just(Vec::new()), 1 => vec(outage, 1..3)],
    )
        .prop_map(
            |(delay_ms, loss, reorder, duplicate, corrupt, queue, outages)| PathPlan {
                delay_ms,
                loss,
                reorder,
                duplicate,
                corrupt,
                queue,
                outages,
            },
        )
}

fn length() -> impl Strategy<Value = u32> {
    prop_oneof![
        4 => 1..200u32,
        4 => 200..5000u32,
        1 => 1440..1470u32,
        1 => 5000..200_000u32,
    ]
}

fn send() -> impl Strategy<Value = Op> {
    let path = prop_oneof![4 => Just(None), 1 => (0..4u8).prop_map(Some)];
    (0..12u8, length(), 1..20u8, any::<bool>(), path).prop_map(
        |(stream, len, count, unordered, path)| Op::Send {
            stream,
            len,
            // Many are small ones.
            count: if len > 5000 { 1 } else { count },
            unordered,
            path,
        },
    )
}

fn mild_op() -> impl Strategy<Value = Op> {
    prop_oneof![
        12 => send(),
        1 => (0..4u8).prop_map(Op::SetPrimary),
        1 => (0..4u8).prop_map(Op::Heartbeat),
        1 => (0..4u8).prop_map(Op::PeerPrimary),
        // The first address stays, so that the sides never lose each other.
        2 => (0..16u8).prop_map(|mask| Op::Addresses(mask | 1)),
        1 => (0..4u8, any::<bool>()).prop_map(|(p, on)| Op::EnableHeartbeats(p, on)),
        1 => any::<bool>().prop_map(Op::Reading),
    ]
}

fn any_op() -> impl Strategy<Value = Op> {
    prop_oneof![
        30 => mild_op(),
        2 => Just(Op::Connect),
        2 => (1..16u8).prop_map(Op::Addresses),
        1 => Just(Op::Shutdown),
        1 => Just(Op::Restart),
        1 => Just(Op::Abort),
    ]
}

fn steps(op: impl Strategy<Value = Op>) -> impl Strategy<Value = Vec<Step>> {
    let wait = prop_oneof![2 => Just(0u16), 4 => 0..300u16, 1 => 0..20_000u16];
    let step = (wait, 0..2usize, op).prop_map(|(wait_ms, side, op)| Step { wait_ms, side, op });
    vec(step, 0..40)
}

/// Any program at all.
pub(crate) fn any_program() -> impl Strategy<Value = Program> {
    (
        any::<u8>(),
        any::<bool>(),
        prop_oneof![4 => Just(false), 1 => Just(true)],
        vec(path(), 1..=4),
        [settings(), settings()],
        steps(any_op()),
    )
        .prop_map(
            |(seed, checksums, both_connect, paths, settings, steps)| Program {
                seed,
                checksums,
                both_connect,
                paths,
                settings,
                steps,
            },
        )
}

/// A program whose network loses little, where nobody restarts or aborts: no
/// failure may be reported.
pub(crate) fn calm_program() -> impl Strategy<Value = Program> {
    let path =
        (0..120u8, 0..3u8, 0..20u8, 0..10u8).prop_map(|(delay_ms, loss, reorder, duplicate)| {
            PathPlan {
                delay_ms,
                loss,
                reorder,
                duplicate,
                ..PathPlan::default()
            }
        });
    (
        any::<u8>(),
        any::<bool>(),
        vec(path, 1..=4),
        [settings(), settings()],
        steps(mild_op()),
    )
        .prop_map(|(seed, both_connect, paths, mut settings, steps)| {
            let of_addresses = |s: &Step| matches!(s.op, Op::Addresses(_));
            let changes = steps.iter().any(of_addresses);
            for s in &mut settings {
                // All streams exist on both sides: a message for one that the
                // peer does not allow ends the association.
                s.streams -= s.streams % 16;
                // Without changes of addresses a peer loses the addresses that go.
                s.asconf = 2 + s.asconf % 6;
                // An address that goes leaves a path without a way in this network. With
                // some settings the silence of an idle path ends the association.
                if changes {
                    *s = Settings {
                        asconf: s.asconf,
                        interleaving: s.interleaving,
                        ..Settings::default()
                    };
                }
            }
            Program {
                seed,
                checksums: false,
                // An INIT from an address that the first one did not list looks like a
                // restart to a side that is set up already (RFC 9260 section 5.2.2).
                both_connect: both_connect && !changes,
                paths,
                settings,
                steps,
            }
        })
}
