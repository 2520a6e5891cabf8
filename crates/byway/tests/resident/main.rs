//! The resident memory of a process stays within its account and a constant, whatever strangers
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

/// What the process takes beside its account, in KiB: the program, its runtime, the buffers of its
/// sockets, and a task for each association.
const BESIDE: u64 = 6 * 1024;
/// Ceilings of memory, in KiB, by turns: one that leaves room for much, and one that the programs reach.
const CEILINGS: [u64; 2] = [24 * 1024, 512];

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
        let mut program = Program::new(seed, server.address);
        let (mut most, mut largest) = (0, 0);
        for turn in 0..turns {
            program.turn();
            let (account, resident) = server.sample();
            let beside = resident.saturating_sub(account);
            (most, largest) = (most.max(beside), largest.max(account));
            assert!(
                beside <= BESIDE,
                "seed {seed}, turn {turn}: {resident} KiB are resident, the account has {account}"
            );
            assert!(
                account <= ceiling,
                "seed {seed}, turn {turn}: {account} KiB"
            );
        }
        let shed = server.shed();
        println!("seed {seed}: {most} KiB beside an account of up to {largest} KiB, {shed} let go");
        all_shed += shed;
        assert!(
            largest > ceiling.min(4096) / 2,
            "the programs make it keep something"
        );
        // Strangers that are gone leave nothing.
        program.leave();
        let (account, resident) = server.sample_when(|account| account < 256);
        let beside = resident.saturating_sub(account);
        println!("seed {seed}: {beside} KiB beside {account} KiB when all have gone");
        assert!(
            beside <= BESIDE,
            "{resident} KiB after all, account {account}"
        );
    }
    assert!(!low || all_shed > 0, "the programs reach the low ceiling");
}
