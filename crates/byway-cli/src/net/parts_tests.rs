use super::*;

const LIMITS: Limits = Limits {
    age: Duration::from_secs(100),
    files: 8,
    bytes: None,
};

fn at(second: u64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(second)
}

/// Parts of these hosts (0: nobody knows) with so many bytes, one a second.
fn table(of: &[(u8, u64)]) -> Table {
    let part = |(second, &(host, bytes)): (usize, &(u8, u64))| {
        let host = (host > 0).then(|| IpAddr::from([10, 0, 0, host]));
        let part = Part {
            host,
            bytes,
            written: at(second as u64),
        };
        (format!("{second:02}"), part)
    };
    of.iter().enumerate().map(part).collect()
}

#[test]
fn too_many_parts_of_one_host_leave_those_of_others_alone() {
    for (of, gone) in [
        (&[(1, 9), (2, 9), (1, 9), (2, 9)][..], &[][..]),
        // A quarter of eight for each: the oldest one goes.
        (&[(1, 9), (2, 9), (1, 9), (1, 9)], &["00"]),
        (&[(2, 9), (1, 1), (1, 1), (1, 1), (1, 1)], &["01", "02"]),
        // What is older than the process has no quarter, and counts as one host.
        (
            &[
                (0, 9),
                (0, 9),
                (0, 9),
                (0, 9),
                (0, 9),
                (0, 9),
                (1, 9),
                (1, 9),
            ],
            &[],
        ),
        (
            &[
                (0, 9),
                (0, 9),
                (0, 9),
                (0, 9),
                (0, 9),
                (0, 9),
                (1, 9),
                (1, 9),
                (2, 9),
            ],
            &["00"],
        ),
    ] {
        assert_eq!(leavers(&table(of), &LIMITS, 1000, at(20)), gone, "{of:?}");
    }
}

#[test]
fn too_many_bytes_are_taken_from_the_host_that_has_the_most() {
    for (of, gone) in [
        (&[(1, 60), (2, 40)][..], &[][..]),
        (&[(1, 60), (2, 41)], &["00"]),
        (&[(1, 30), (2, 41), (1, 31)], &["00"]),
        // One that is larger than all may be alone goes as well.
        (&[(1, 101)], &["00"]),
    ] {
        assert_eq!(leavers(&table(of), &LIMITS, 100, at(20)), gone, "{of:?}");
    }
}

#[test]
fn what_nobody_came_back_for_goes_and_a_clock_that_was_set_back_removes_nothing() {
    let all = table(&[(1, 9), (0, 9)]);
    assert!(leavers(&all, &LIMITS, 1000, at(100)).is_empty());
    assert_eq!(leavers(&all, &LIMITS, 1000, at(101)), ["00"]);
    assert_eq!(leavers(&all, &LIMITS, 1000, at(102)), ["00", "01"]);
    let later = table(&[(1, 9); 2]);
    assert!(leavers(&later, &LIMITS, 1000, SystemTime::UNIX_EPOCH).is_empty());
}

#[test]
fn only_names_of_partial_files_are_such() {
    assert!(is_part("a.bin.0123456789abcdef.part"));
    assert!(is_part("a.0123456789abcdef.tree.part"));
    for name in [
        "a.bin",
        "a.part",
        ".0123456789abcdef.part",
        "a.0123456789abcde.part",
        "a.0123456789abcdeg.part",
        "a.0123456789ABCDEF.part",
        "a.0123456789abcdef.part.bin",
        "a.tree.part",
    ] {
        assert!(!is_part(name), "{name}");
    }
}
