//! The resident memory of a process grows by what its account does and a constant, whatever strangers
//! do: a server of this library in a process of its own, with an allocator that gives freed pages
//! back at once, and random hostile programs by seed over raw sockets.
//!
//! `BYWAY_RESIDENT_SEEDS=FROM..TO` runs other seeds than those of a test run, and
//! `BYWAY_RESIDENT_TURNS=N` longer programs.

mod hostile;
mod server;

use hostile::Program;
use server::Server;

#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// What the process takes beside its account and what it had before a program, in KiB: the buffers of its sockets,
/// and a task for each association. The library itself and its runtime are in what it had.
const BESIDE: u64 = 2 * 1024;
/// Ceilings of memory, in KiB, by turns: one that leaves room for much, and one that the programs reach.
const CEILINGS: [u64; 2] = [24 * 1024, 512];
/// What may be left with each of them when all have gone, in KiB: pages in which something small is kept. The programs
/// reach some 14 MiB with the first one.
const LEFT: [u64; 2] = [4 * 1024, 2 * 1024];
/// How much more may be left after a second program: a leak goes on.
const MORE: u64 = 1536;

fn setting(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

#[test]
fn resident_memory_stays_within_the_account_under_random_hostile_programs() {
    let turns = setting("BYWAY_RESIDENT_TURNS").map_or(40, |n| n.parse().expect("a number"));
    let seeds = setting("BYWAY_RESIDENT_SEEDS").map_or(1..5, |range| {
        let (from, to) = range.split_once("..").expect("FROM..TO");
        from.parse().expect("a number")..to.parse().expect("a number")
    });
    let low = seeds.clone().any(|seed| seed % 2 == 1);
    let mut all_shed = 0;
    for seed in seeds {
        let ceiling = CEILINGS[seed as usize % 2];
        let mut server = Server::start(ceiling as usize * 1024);
        let (account, resident) = server.sample();
        let empty = resident - account;
        let (mut largest, mut left) = (0, Vec::<u64>::new());
        // The second program finds what the first one left.
        for seed in [seed, seed + 1_000_000] {
            let mut program = Program::new(seed, server.address);
            let had = empty + left.last().unwrap_or(&0);
            let mut most = 0;
            for turn in 0..turns {
                program.turn();
                let (account, resident) = server.sample();
                let beside = resident.saturating_sub(account + had);
                (most, largest) = (most.max(beside), largest.max(account));
                assert!(
                    beside <= BESIDE,
                    "seed {seed}, turn {turn}: {resident} KiB are resident, the account has {account}, {had} were there before"
                );
                assert!(
                    account <= ceiling,
                    "seed {seed}, turn {turn}: {account} KiB"
                );
            }
            println!("seed {seed}: {most} KiB beside {had} and an account of up to {largest} KiB");
            // Strangers that are gone leave nothing.
            program.leave();
            let (account, resident) = server.sample_when(|account| account < 256);
            left.push(resident.saturating_sub(account + empty));
        }
        let shed = server.shed();
        println!("seed {seed}: {left:?} KiB when all have gone, {shed} let go");
        all_shed += shed;
        assert!(
            largest > ceiling.min(4096) / 2,
            "the programs make it keep something"
        );
        assert!(
            left[0] <= LEFT[seed as usize % 2] && left[1] <= left[0] + MORE,
            "seed {seed}: {left:?} KiB are left"
        );
    }
    assert!(!low || all_shed > 0, "the programs reach the low ceiling");
}
