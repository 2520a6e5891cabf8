//! Small messages between two processes over UDP on loopback.

use super::transfer::{self, Load, Program};
use crate::peers::Workspace;
use crate::plan::{Contender, Plan};
use crate::report::Better;
use anyhow::Result;

/// Settings, with the bytes of a message.
const SIZES: [(&str, u64); 2] = [("64-byte messages", 64), ("1,000-byte messages", 1000)];

/// Messages of a run: of ours, and of slower programs.
const COUNT: u64 = 2_000_000;
const FEW: u64 = 200_000;

/// Ours, and the peers; `light`: fewer messages, and without the peer that needs Go.
pub(crate) fn plan(workspace: &Workspace, light: bool) -> Result<Plan> {
    let usrsctp = transfer::usrsctp(workspace)?;
    let ours = workspace.byway_bench();
    let mut notes = Vec::new();
    let pion = match light {
        true => Err("left out by --light".into()),
        false => workspace.go_peer("pion").map_err(|e| format!("{e:#}")),
    };
    if let Err(why) = &pion {
        notes.push(format!("pion: {why}"));
    }
    let count = if light { FEW } else { COUNT };
    let few = if light { FEW / 4 } else { FEW };
    let mut contenders = Vec::new();
    for (setting, message) in SIZES {
        let mut add = |name, ours, program: Program, count: u64| {
            let bytes = count * message;
            contenders.push(Contender {
                name,
                setting,
                ours,
                run: Box::new(move || program.run(Load { bytes, message })?.messages()),
            });
        };
        add("byway", true, Program::Byway(ours.clone(), &[]), count);
        for (name, nagle) in [("usrsctp", false), ("usrsctp, Nagle", true)] {
            let program = usrsctp.clone();
            add(name, false, Program::Usrsctp { program, nagle }, few);
        }
        if let Ok(pion) = &pion {
            add("pion", false, Program::Pion(pion.clone()), few);
        }
    }
    Ok(Plan {
        name: "messages",
        headline: SIZES[0].0,
        figure: "messages_per_s",
        unit: "messages/s",
        better: Better::Larger,
        contenders,
        notes,
    })
}
