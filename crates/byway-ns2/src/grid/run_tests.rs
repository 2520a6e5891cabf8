use super::*;

fn setting() -> Setting {
    Setting {
        stock: false,
        class: "SCTP/MultipleFastRtx".to_owned(),
        rtx_to_alt: 2,
        size: 1 << 20,
        loss_ppm: [0, 0],
        delay_ns: [25_000_000; 2],
        pmr: 5,
        cpt: None,
        dormant: 0,
        receive_window: 65_536,
        initial_ssthresh: 65_536,
        chunk: 1468,
        delayed_sacks: true,
        queue: 50,
        cmt: crate::scenario::Cmt::default(),
        failure: None,
    }
}

#[test]
fn a_run_repeats_and_losses_follow_the_seed() -> Result<()> {
    let lossy = Setting {
        loss_ppm: [30_000, 0],
        ..setting()
    };
    let time = |seed| Ok::<_, anyhow::Error>(run(&lossy, seed)?.transfer_s);
    assert_eq!(time(1)?, time(1)?);
    assert_ne!(time(1)?, time(2)?);
    assert!(time(1)? > run(&setting(), 1)?.transfer_s);
    Ok(())
}

#[test]
fn a_failure_is_detected_after_six_timeouts_and_the_rest_goes_elsewhere() -> Result<()> {
    // RTO 1, 2, 4, 8, 16, 32 s: the sixth error passes PMR 5 after 63 s.
    let same = Setting {
        class: "SCTP".to_owned(),
        rtx_to_alt: 0,
        failure: Some(Failure {
            path: 0,
            at_ns: 1_000_000_000,
            repaired_ns: None,
        }),
        ..setting()
    };
    let r = run(&same, 1)?;
    assert!(r.detection_s.is_some_and(|d| (63.0..63.2).contains(&d)));
    assert!(r.transfer_s.is_some_and(|t| t > 63.0));
    Ok(())
}

#[test]
fn an_association_that_never_stands_gives_nothing() -> Result<()> {
    let dead = Setting {
        failure: Some(Failure {
            path: 0,
            at_ns: 0,
            repaired_ns: None,
        }),
        ..setting()
    };
    let r = run(&dead, 1)?;
    assert_eq!((r.transfer_s, r.detection_s), (None, None));
    Ok(())
}

#[test]
fn schemes_that_are_not_built_are_told_apart() {
    for (class, built) in [
        ("SCTP", true),
        ("SCTP/MfrHbAfterRto", true),
        ("SCTP/MfrTimestamp", true),
        ("SCTP/CMT", true),
        ("SCTP/Unheard", false),
    ] {
        let s = Setting {
            class: class.to_owned(),
            ..setting()
        };
        assert_eq!(s.missing_policy().is_none(), built, "{class}");
    }
}
