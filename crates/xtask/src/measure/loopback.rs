//! Bulk transfers between two processes over UDP on loopback: rate, and CPU time of both ends.

use super::transfer::{self, Load, Program};
use crate::peers::Workspace;
use crate::plan::{Contender, Plan};
use crate::report::Better;
use anyhow::Result;

/// Against other stacks of SCTP.
const SCTP: &str = "16 KiB messages";
/// Against QUIC, which is always encrypted.
const SEALED: &str = "16 KiB messages, sealed";
/// Against the same sockets without a protocol.
const BARE: &str = "16 KiB messages, by what sockets carry";

const MESSAGE: u64 = 16_384;
/// For slow programs, and for fast ones.
const BYTES: u64 = 256 << 20;
const MANY_BYTES: u64 = 1 << 30;

/// Ours, and the peers; `light`: those alone that are built in seconds.
pub(crate) fn plan(workspace: &Workspace, light: bool) -> Result<Plan> {
    let usrsctp = transfer::usrsctp(workspace)?;
    let ours = workspace.byway_bench();
    let byway = |words| Program::Byway(ours.clone(), words);
    let mut contenders = vec![
        contender("byway", SCTP, true, byway(&[]), BYTES),
        contender(
            "usrsctp",
            SCTP,
            false,
            Program::Usrsctp {
                program: usrsctp,
                nagle: false,
            },
            BYTES,
        ),
    ];
    let mut notes = Vec::new();
    if light {
        notes.push("quinn and pion, which --light leaves out".into());
    } else {
        match workspace.go_peer("pion") {
            Ok(pion) => {
                contenders.push(contender("pion", SCTP, false, Program::Pion(pion), BYTES));
            }
            Err(error) => notes.push(format!("pion: {error:#}")),
        }
        let quinn = Program::Quinn(workspace.cargo_peer("quinn")?);
        let sealed = byway(&["--sealed"]);
        contenders.push(contender("byway", SEALED, true, sealed, MANY_BYTES));
        let plain = byway(&[]);
        contenders.push(contender("byway, plain", SEALED, true, plain, MANY_BYTES));
        contenders.push(contender("quinn", SEALED, false, quinn.clone(), MANY_BYTES));
        contenders.push(Contender {
            name: "quinn, 256 KiB writes",
            setting: SEALED,
            ours: false,
            run: Box::new(move || {
                let (bytes, message) = (MANY_BYTES, 256 << 10);
                quinn.run(Load { bytes, message })?.bulk()
            }),
        });
    }
    contenders.push(contender("byway", BARE, true, byway(&[]), MANY_BYTES));
    let bare = Program::Bare(ours.clone());
    contenders.push(contender("sockets alone", BARE, false, bare, MANY_BYTES));
    Ok(Plan {
        name: "loopback",
        headline: SCTP,
        figure: "mb_per_s",
        unit: "MB/s",
        better: Better::Larger,
        contenders,
        notes,
    })
}

fn contender(
    name: &'static str,
    setting: &'static str,
    ours: bool,
    program: Program,
    bytes: u64,
) -> Contender {
    let message = MESSAGE;
    Contender {
        name,
        setting,
        ours,
        run: Box::new(move || program.run(Load { bytes, message })?.bulk()),
    }
}
