//! Sweeps dealt out in chunks: to quick and slow, dying, old and lying workers.

use super::disk_tests::{Folder, session};
use super::tests::{GRID, SCENARIO, parse, plan};
use super::*;
use crate::engine::{Chunk, TakeError, Worker};
use crate::metrics::Metrics;
use std::path::Path;

const STOP: &str =
    "seeds = 30\n[stop]\nmetrics = [\"end_s\"]\nwithin = \"20 %\"\nleast = 4\nstep = 3";

/// Numbers that look like chance and are always the same.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (self.0 >> 33) as usize % n
    }
}

fn begin(plan: &Plan, file: &Path) -> Dealer {
    match Dealer::begin(plan.clone(), &session(file)).unwrap() {
        Dealt::Open(dealer) => *dealer,
        Dealt::Finished(_) => panic!("finished already"),
    }
}

fn written(plan: &Plan, file: &Path) -> Vec<u8> {
    sweep(plan, &session(file)).unwrap();
    std::fs::read(file).unwrap()
}

/// Deals out at most `most` chunks to three workers that answer in any order; one
/// chunk in five is lost. Gives how many chunks were taken.
fn deal(dealer: &mut Dealer, seed: u64, most: usize) -> usize {
    let worker = Worker::new(dealer.coordinator.plan().clone());
    let mut numbers = Numbers(seed);
    let mut out: Vec<Chunk> = Vec::new();
    let mut taken = 0;
    while taken < most {
        while out.len() < 3 {
            let Some(chunk) = dealer.coordinator.next(0.01, 3) else {
                break;
            };
            out.push(chunk);
        }
        if out.is_empty() {
            break;
        }
        let chunk = out.swap_remove(numbers.below(out.len()));
        if numbers.below(5) == 0 {
            dealer.coordinator.give_back(chunk.number, false);
            continue;
        }
        let rows = worker.run(&chunk.bytes, None).unwrap();
        assert!(dealer.coordinator.take(chunk.number, &rows).unwrap());
        assert!(
            !dealer.coordinator.take(chunk.number, &rows).unwrap(),
            "again"
        );
        taken += 1;
    }
    taken
}

#[test]
fn chunks_in_any_order_give_the_bytes_of_one_machine() {
    let folder = Folder::new("dealt");
    for (i, text) in [GRID.to_owned(), GRID.replace("seeds = 3", STOP)]
        .iter()
        .enumerate()
    {
        let plan = plan(text);
        let alone = written(&plan, &folder.file(&format!("alone{i}.parquet")));
        for seed in 0..4 {
            let file = folder.file(&format!("dealt{i}-{seed}.parquet"));
            let mut dealer = begin(&plan, &file);
            deal(&mut dealer, seed, usize::MAX);
            assert!(dealer.coordinator.is_done());
            let (done, most) = dealer.coordinator.progress();
            assert_eq!(done, most);
            assert_eq!(most < plan.runs(), i == 1, "some cells stop early");
            let written = dealer.write().unwrap();
            assert!(
                journal_path(&file).exists(),
                "until the results are where they belong"
            );
            written.end().unwrap();
            assert!(!journal_path(&file).exists());
            assert_eq!(std::fs::read(&file).unwrap(), alone, "{text}");
        }
    }
}

#[test]
fn one_machine_and_many_resume_each_other() {
    let folder = Folder::new("resumed");
    let plan = plan(&GRID.replace("seeds = 3", STOP));
    let alone = written(&plan, &folder.file("alone.parquet"));
    let file = folder.file("x.parquet");
    let mut dealer = begin(&plan, &file);
    assert_eq!(deal(&mut dealer, 1, 5), 5);
    let (before, _) = dealer.coordinator.progress();
    let unfinished = dealer.write().map(drop).unwrap_err();
    assert_eq!(unfinished.to_string(), "interrupted");
    let again = begin(&plan, &file);
    assert_eq!(again.coordinator.progress().0, before);
    // Nobody else may write meanwhile.
    let busy = Dealer::begin(plan.clone(), &session(&file))
        .map(drop)
        .unwrap_err();
    assert!(
        busy.to_string().contains("another sweep is writing it"),
        "{busy}"
    );
    drop(again);
    assert_eq!(written(&plan, &file), alone);
    let Dealt::Finished(results) = Dealer::begin(plan.clone(), &session(&file)).unwrap() else {
        panic!("it is finished");
    };
    assert_eq!(*results, Results::read(&file).unwrap());
}

#[test]
fn a_chunk_ends_when_its_time_is_over_and_grows_with_what_is_known() {
    let folder = Folder::new("pace");
    let plan = plan(&GRID.replace("seeds = 3", "seeds = 20"));
    let mut dealer = begin(&plan, &folder.file("x.parquet"));
    let worker = Worker::new(plan);
    let coordinator = &mut dealer.coordinator;
    let first = coordinator.next(1000.0, 1).unwrap();
    assert_eq!(first.runs, 1, "nothing is known of their time");
    let rows = worker.run(&first.bytes, None).unwrap();
    assert!(coordinator.take(first.number, &rows).unwrap());
    let run = coordinator.seconds_a_run();
    let second = coordinator.next(90.5 * run, 1).unwrap();
    assert_eq!(second.runs, 159 / 2, "half of what is left, for one thread");
    let third = coordinator.next(90.5 * run, 7).unwrap();
    assert_eq!(third.runs, 80 / 14);
    let least = coordinator.next(90.5 * run, 1000).unwrap();
    assert_eq!(least.runs, 4, "a twentieth of the time");
    coordinator.give_back(least.number, false);
    coordinator.give_back(third.number, false);
    coordinator.give_back(second.number, false);
    // A time that no run keeps: one run is done, the others come again.
    let short = coordinator.next(0.0, 1).unwrap();
    assert_eq!(short.runs, 1);
    let text = coordinator.describe(short.number);
    assert_eq!(text, "the run of cell 1 with seed 2");
    coordinator.give_back(short.number, false);
    // What is given back apart comes one by one, the rest together.
    let three = coordinator.next(20.5 * run, 26).unwrap();
    assert_eq!(three.runs, 159 / 52, "of what is left");
    assert_eq!(
        coordinator.describe(three.number),
        "3 runs of cell 1, from seed 2 to seed 4"
    );
    coordinator.give_back(three.number, true);
    let sizes = [0; 4].map(|_| coordinator.next(90.5 * run, 1).unwrap().runs);
    assert_eq!(sizes, [1, 1, 1, 156 / 2]);
}

#[test]
fn bytes_that_are_not_the_rows_asked_for_change_nothing() {
    let folder = Folder::new("lies");
    let plan = plan(GRID);
    let file = folder.file("x.parquet");
    let mut dealer = begin(&plan, &file);
    let worker = Worker::new(plan.clone());
    let coordinator = &mut dealer.coordinator;
    let other = super::tests::plan(&GRID.replace("seeds = 3", "seeds = 4"));
    let mut others = begin(&other, &folder.file("y.parquet"));
    let first = coordinator.next(1.0, 1).unwrap();
    let rows = worker.run(&first.bytes, None).unwrap();
    let size = || std::fs::metadata(journal_path(&file)).unwrap().len();
    let begun = size();
    let mut refused = |number: u64, bytes: &[u8], part: &str| {
        match coordinator.take(number, bytes) {
            Err(TakeError::Unusable { number: n, problem }) => {
                assert!(n == number && problem.contains(part), "{problem}");
            }
            other => panic!("{other:?} for {part}"),
        }
        assert_eq!(size(), begun);
    };
    for at in 0..rows.len() {
        let mut bytes = rows.clone();
        bytes[at] ^= 0x55;
        refused(first.number, &bytes, "");
        refused(first.number, &rows[..at], "");
    }
    let mut longer = rows.clone();
    longer.push(0);
    refused(first.number, &longer, "behind the last row");
    let chunk = others.coordinator.next(1.0, 1).unwrap();
    let lie = Worker::new(other).run(&chunk.bytes, None).unwrap();
    refused(first.number, &lie, "of another plan");
    let second = coordinator.next(1.0, 1).unwrap();
    let mut refused = |bytes: &[u8], part: &str| {
        let error = coordinator
            .take(second.number, bytes)
            .unwrap_err()
            .to_string();
        assert!(error.contains(part), "{error}");
    };
    refused(&rows, "those of chunk 0");
    assert!(coordinator.take(first.number, &rows).unwrap());
    assert!(
        !coordinator.take(77, &rows).unwrap(),
        "it was never dealt out"
    );
    assert!(size() > begun);
}

#[test]
fn a_worker_takes_chunks_of_its_own_plan_alone() {
    let folder = Folder::new("strange");
    let plan = plan(GRID);
    let other = Worker::new(super::tests::plan(&GRID.replace("seeds = 3", "seeds = 4")));
    let mut dealer = begin(&plan, &folder.file("x.parquet"));
    let chunk = dealer.coordinator.next(1.0, 1).unwrap();
    let error = other.run(&chunk.bytes, None).unwrap_err();
    assert!(error.contains("this worker was made ready for"), "{error}");
    let error = other.run(b"hello", None).unwrap_err();
    assert_eq!(error, "these bytes are no chunk of runs");
}

#[test]
fn a_description_needs_no_file_and_the_same_program() {
    let load = |path: &str| match path {
        "scenario.toml" => Ok((path.to_owned(), SCENARIO.to_owned())),
        _ => Err("not found".to_owned()),
    };
    let metrics = Metrics::standard();
    let (plan, made) = Description::of("sweep.toml", GRID, &load, &metrics).unwrap();
    assert_eq!(plan.hash(), parse(GRID).unwrap().hash());
    let bytes = made.to_bytes("byway 1");
    let come = Description::from_bytes(&bytes).unwrap();
    assert_eq!(come.plan("byway 1", &metrics).unwrap().hash(), made.hash());
    let error = come.plan("byway 2", &metrics).unwrap_err();
    assert!(
        error.starts_with("this worker has byway 2, the sweep was begun by byway 1;"),
        "{error}"
    );
    let text = String::from_utf8(bytes).unwrap();
    let changed = text.replace("20 ms", "21 ms");
    let error = Description::from_bytes(changed.as_bytes()).unwrap();
    let error = error.plan("byway 1", &metrics).unwrap_err();
    assert!(
        error.contains("and") && error.contains("where it was begun"),
        "{error}"
    );
    for (change, part) in [
        (
            text.replace("-description/1", "-description/7"),
            "has the form",
        ),
        (text.replace("\"build\"", "\"built\""), "unknown field"),
        (text[1..].to_owned(), "no description of a sweep"),
    ] {
        let error = Description::from_bytes(change.as_bytes()).unwrap_err();
        assert!(error.contains(part), "{error}");
    }
}
