//! Does a visitor who follows a stop's hint see what it promises?
//!
//! Each hint is followed with the page's own keys and fields, at the times that it names. The page is one for
//! reduced motion, so that it stands still until time is told to go on: the same act at the same time gives the
//! same figures.

use crate::visitor::Visitor;
use crate::{follow, looks};
use anyhow::{Context, Result, ensure};

/// A hint by its stop: all that it says, and what is seen by whom follows it.
type Hint = (u32, &'static str, fn(&Visitor) -> Result<String>);

/// The whole text stands here: who changes a promise in `stops.toml` has to change its check, too.
const HINTS: &[Hint] = &[
    (
        1,
        "Watch the state of the primary in each lane, faster with Speed: the old standard calls it active for more \
         than a minute. Then press Reset, and heal the path at 20 s (key 1). The old standard does not see that \
         before its next timeout, at 34 s.",
        follow::a_path_dies,
    ),
    (
        2,
        "Press Reset, and set the loss of the alternate path to 0 % at the start: AllRtxAlt is ready sooner. Press \
         Reset again, which forgets that, and set it to 10 % at the start: AllRtxSame is.",
        follow::which_path,
    ),
    (
        3,
        "Compare the RTO of the alternate path in both lanes. It stands below each network.",
        follow::stale_rto,
    ),
    (
        4,
        "Press Reset, and set the alternate path's delay to 500 ms at the start. AllRtxAlt takes much longer; \
         FrSameRtoAlt+MFR, which rarely uses that path, hardly.",
        follow::compromise,
    ),
    (
        5,
        "Go on to 40 s, faster with Speed: the reader of AllRtxSame has got nothing since the failure, the others a \
         little now and then. Then press Reset, and cut the alternate path too at 10 s (key 2): all three \
         associations are lost, after more than two minutes.",
        follow::schemes,
    ),
    (
        6,
        "Press Reset, give both paths 1 % loss at the start, and try the seeds 2 and 3. PMR 5 stalls for half a \
         minute each time, the others for one to five seconds.",
        follow::sooner,
    ),
    (
        7,
        "Press Reset, and give the alternate path a delay of 500 ms at the start. PMR 0 gives up its paths most \
         often; PMR 5, which hardly ever does, makes its reader wait longest.",
        follow::without_need,
    ),
    (
        8,
        "At 40 s, look which path has the new data in each lane: the primary with \"always back\", the alternate \
         path with CPT 0, which is ready sooner.",
        follow::come_back,
    ),
    (
        9,
        "Heal the primary at 35 s (key 1). The decoupled sender has left it at 26 s: its reader waited 11 s. The \
         standard sees that it is healed at its next timeout, at 46 s: its reader waits 31 s. Without that it would \
         be 63 s.",
        follow::decoupled,
    ),
    (
        10,
        "Cut path 2 at 7 s for good (key 2). Each timeout stops CMT's reader, twice as long as the one before; \
         CMT-PF's reader waits a second.",
        follow::both_at_once,
    ),
];

/// The hint of each stop.
pub fn kept(v: &Visitor) -> Result<String> {
    looks::calmed(v, |v| {
        let mut said = Vec::new();
        for (stop, words, follow) in HINTS {
            follow::begin(v, *stop)?;
            let hint = v.text("document.getElementById('stop-try').textContent")?;
            ensure!(
                hint == format!("Try: {words}"),
                "stop {stop}: the hint says \"{hint}\", and the check is of \"{words}\""
            );
            let seen = follow(v).with_context(|| format!("stop {stop}: \"{hint}\""))?;
            said.push(format!("{stop}: {seen}"));
        }
        Ok(said.join("; "))
    })
}
