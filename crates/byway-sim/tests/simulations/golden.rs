//! One golden run: with every idea switched off and the defaults of RFC 9260,
//! the same packets leave at the same nanoseconds, byte for byte, whatever is
//! added to byway. A change of the defaults changes the digest below, on purpose
//! and with a word in the changelog.

use crate::common::{LIMIT, core_link, dumbbells, transfer};
use byway_core::Config;
use byway_core::time::Instant;
use byway_sim::host::Sender;
use byway_sim::net::{Capture, LinkChange, LossModel};

/// FNV-1a, 64 bits.
fn digest(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |h, b| {
        (h ^ u64::from(*b)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// Losses on both paths, and a primary that is away from 2 s to 6 s.
fn golden_run(config: &Config) -> Vec<u8> {
    let lossy = || {
        core_link()
            .loss(LossModel::Uniform(0.01))
            .capture(Capture::Sent)
    };
    let primary = lossy()
        .at(Instant::from_millis(2000), LinkChange::DOWN)
        .at(Instant::from_millis(6000), LinkChange::Up);
    let d = dumbbells(&[primary, lossy()]);
    let (mut sim, a, _) = transfer(&d, config, 1 << 20, 3);
    assert!(sim.run_until_done(LIMIT, |s| {
        s.app::<Sender>(a)
            .is_some_and(|b| b.report().ended_at.is_some())
    }));
    let mut file = Vec::new();
    sim.network_mut().write_pcapng(&mut file).unwrap();
    file
}

#[test]
fn the_defaults_send_the_golden_packets() {
    let file = golden_run(&Config::rfc9260());
    assert_eq!(
        (file.len(), digest(&file)),
        (1_173_148, 4_341_611_933_004_315_491)
    );
}

#[test]
fn the_preset_of_the_papers_sends_the_golden_packets() {
    let file = golden_run(&Config::rfc2960());
    assert_eq!(
        (file.len(), digest(&file)),
        (1_196_760, 6_492_901_717_018_730_047)
    );
}
