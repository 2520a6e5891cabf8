use super::super::journal::{self, MARK};
use super::*;

const WORDING: Wording = Wording {
    foreign: "this is no file of kept runs; name another one, or move it away",
    damaged: "name another file",
    busy: "another process is writing it",
};

fn names(all: &[&str]) -> Arc<[String]> {
    all.iter().map(|n| (*n).to_owned()).collect()
}

fn record(values: &[f64]) -> Record {
    Record {
        status: Status::Lost,
        reason: "why".to_owned(),
        values: values.to_vec(),
    }
}

/// A file of that name that is not there, in a new folder.
fn file(name: &str) -> PathBuf {
    let dir = std::env::temp_dir().join(format!("byway-store-{}-{name}", std::process::id()));
    let _ = std::fs::remove_dir_all(&dir);
    std::fs::create_dir_all(&dir).unwrap();
    dir.join(name)
}

fn begin(path: &Path) -> Store {
    Store::begin(path, &WORDING, &Header::default()).unwrap()
}

fn open(path: &Path) -> (Store, Resumed) {
    Store::open(path, &WORDING, |_| Ok(())).unwrap()
}

const ONE: Key = ([1; 16], 7);
const TWO: Key = ([2; 16], 7);

#[test]
fn runs_are_there_again_and_a_torn_one_is_not_wherever_it_was_torn() {
    let path = file("runs");
    let store = begin(&path);
    let ab = names(&["a", "b"]);
    let (one, two) = (record(&[0.1 + 0.2, f64::NAN]), record(&[1e-9, 2.0]));
    assert!(store.get(ONE.0, ONE.1, &ab).is_none());
    store.add(ONE.0, ONE.1, &ab, &one).unwrap();
    let end = std::fs::metadata(&path).unwrap().len();
    store.add(TWO.0, TWO.1, &ab, &two).unwrap();
    assert_eq!(store.runs(), 2);
    drop(store);
    let bytes = std::fs::read(&path).unwrap();
    for len in end..bytes.len() as u64 {
        std::fs::write(&path, &bytes[..len as usize]).unwrap();
        let (store, resumed) = open(&path);
        let torn = len - end;
        assert_eq!(resumed, Resumed { runs: 1, torn });
        let known = store.get(ONE.0, ONE.1, &ab).unwrap();
        assert_eq!((known.status, known.reason.as_str()), (Status::Lost, "why"));
        assert_eq!(known.values[0].to_bits(), (0.1_f64 + 0.2).to_bits());
        assert!(known.values[1].is_nan());
        assert!(store.get(ONE.0, ONE.1, &names(&["a", "c"])).is_none());
        assert!(store.get(TWO.0, TWO.1, &ab).is_none());
        store.add(TWO.0, TWO.1, &ab, &two).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), bytes, "goes on from there");
    }
    // A changed byte, too, is found.
    let mut damaged = bytes.clone();
    damaged[end as usize + 12] ^= 1;
    std::fs::write(&path, damaged).unwrap();
    assert!(open(&path).0.get(TWO.0, TWO.1, &ab).is_none());
}

#[test]
fn a_file_that_is_cut_anywhere_keeps_the_runs_before() {
    let path = file("cut");
    let store = begin(&path);
    let ab = names(&["a", "b"]);
    for seed in 0..20 {
        let one = record(&[seed as f64, 1.0]);
        store.add(ONE.0, seed, &ab, &one).unwrap();
    }
    store.sync().unwrap();
    drop(store);
    let bytes = std::fs::read(&path).unwrap();
    let read = |bytes: &[u8]| {
        let check = |_: &Header| Ok(());
        journal::read(bytes, &WORDING, check, Entry::decode)
    };
    let (whole, end) = read(&bytes).unwrap();
    assert_eq!((whole.rows.len(), end), (21, bytes.len() as u64));
    let mut known = 0;
    for len in MARK.len()..bytes.len() {
        match read(&bytes[..len]) {
            Ok((found, end)) => {
                assert_eq!(end + found.torn, len as u64);
                assert!(found.rows.len() >= known, "cut at {len}");
                known = found.rows.len();
            }
            Err(problem) => assert!(problem.contains("name another file"), "{problem}"),
        }
    }
    assert_eq!(known, 20);
    // A changed byte costs the runs from there on, no others.
    for at in (MARK.len() + 300..bytes.len()).step_by(97) {
        let mut bytes = bytes.clone();
        bytes[at] ^= 0x10;
        let (found, _) = read(&bytes).unwrap();
        assert!(found.rows.len() < whole.rows.len() && found.torn > 0);
    }
}

#[test]
fn a_run_that_was_asked_for_other_metrics_has_all_of_them() {
    let path = file("metrics");
    let store = begin(&path);
    store
        .add(ONE.0, ONE.1, &names(&["a"]), &record(&[1.0]))
        .unwrap();
    store
        .add(ONE.0, ONE.1, &names(&["c"]), &record(&[3.0]))
        .unwrap();
    drop(store);
    let (store, resumed) = open(&path);
    assert_eq!(resumed, Resumed { runs: 1, torn: 0 });
    let known = store.get(ONE.0, ONE.1, &names(&["a", "c"])).unwrap();
    assert_eq!(known.values, [1.0, 3.0]);
}

#[test]
fn a_foreign_file_is_refused_and_left_alone() {
    let path = file("notes");
    for (text, part) in [
        (&b"my notes\n"[..], "no file of kept runs"),
        (b"PAR1 something", "no file of kept runs"),
        (b"", "no file of kept runs"),
        (b"byway.journal/1\n and so on", "no file of kept runs"),
        (MARK, "beginning is damaged"),
    ] {
        std::fs::write(&path, text).unwrap();
        let trouble = Store::open(&path, &WORDING, |_| Ok(())).map(drop);
        let trouble = trouble.unwrap_err();
        assert!(matches!(trouble, Trouble::Foreign { .. }), "{trouble}");
        let why = trouble.to_string();
        assert!(why.contains(part) && why.contains("notes: "), "{why}");
        assert_eq!(std::fs::read(&path).unwrap(), text, "left alone");
    }
    begin(&path);
    let refused = Store::open(&path, &WORDING, |_| Err("not ours".to_owned()));
    assert!(
        refused
            .map(drop)
            .unwrap_err()
            .to_string()
            .contains("not ours")
    );
}

#[test]
fn two_processes_do_not_share_a_file() {
    let path = file("two");
    let first = begin(&path);
    let second = || Store::open(&path, &WORDING, |_| Ok(())).map(drop);
    assert!(
        second()
            .unwrap_err()
            .to_string()
            .contains("another process")
    );
    let begun = Store::begin(&path, &WORDING, &Header::default()).map(drop);
    assert!(begun.unwrap_err().to_string().contains("another process"));
    drop(first);
    second().unwrap();
}
