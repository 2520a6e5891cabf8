//! How many descriptors the peers of `idle` need, and in how many processes they have them.

use anyhow::{Result, ensure};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Descriptors of an endpoint with one address: its socket, one that tells of changes of the host's
/// addresses, and two for questions about routes, of the driver and of the core.
const EACH: u64 = 4;
/// What a process has beside them.
const BESIDE: u64 = 64;
/// Most processes.
const MOST: u64 = 16;

/// Raises the limit of descriptors, which the processes of the peers take over, and tells in how many
/// processes so many peers are held.
///
/// # Errors
/// The limit that is needed, and how it is set.
pub(super) fn processes(associations: usize) -> Result<usize> {
    let all = associations as u64;
    let limit = raise(EACH * all + BESIDE)?;
    let processes = all.div_ceil(places(limit).max(1));
    let needed = EACH * all.div_ceil(MOST) + BESIDE;
    ensure!(
        limit >= needed && processes <= MOST,
        "{all} idle associations need {EACH} descriptors each and are held in at most {MOST} processes, which may \
         have {limit} descriptors each here; they need {needed}: run `ulimit -n {needed}` in this shell before (above \
         its hard limit as root), or take fewer --associations"
    );
    Ok(usize::try_from(processes)?)
}

/// Associations that a process with such a limit holds.
fn places(limit: u64) -> u64 {
    limit.saturating_sub(BESIDE) / EACH
}

/// So many associations in so many parts that differ by one at most.
pub(super) fn parts(associations: usize, processes: usize) -> impl Iterator<Item = usize> {
    let part = move |n: usize| n * associations / processes;
    (0..processes).map(move |n| part(n + 1) - part(n))
}

/// Raises the limit of a process that holds so many associations.
///
/// # Errors
/// The limit that is needed.
pub(super) fn enough_for(associations: usize) -> Result<()> {
    let needed = EACH * associations as u64 + BESIDE;
    let limit = raise(needed)?;
    ensure!(
        limit >= needed,
        "{associations} associations need {needed} descriptors, and this process may have {limit}"
    );
    Ok(())
}

/// Raises the limit to `wanted`, or as far as this process may: beyond the hard limit as root, with
/// CAP_SYS_RESOURCE (at most `fs.nr_open`). Returns it.
fn raise(wanted: u64) -> Result<u64> {
    let hard = getrlimit(Resource::Nofile).maximum;
    let set = |current, maximum| setrlimit(Resource::Nofile, Rlimit { current, maximum });
    let (enough, wanted) = (hard.is_none_or(|hard| hard >= wanted), Some(wanted));
    if !enough && set(wanted, wanted).is_ok() {
        return Ok(wanted.unwrap_or(u64::MAX));
    }
    set(hard, hard)?;
    Ok(hard.unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_process_has_the_descriptors_of_its_part() {
        for (all, limit, expected) in [
            (10_000, 40_064, 1),
            (10_000, 40_063, 2),
            (10_000, 20_000, 3),
            (10_000, 4096, 10),
            (7, 1024, 1),
        ] {
            let processes = (all as u64).div_ceil(places(limit)) as usize;
            assert_eq!(processes, expected, "{all} with {limit}");
            let parts: Vec<usize> = parts(all, processes).collect();
            assert_eq!(parts.iter().sum::<usize>(), all);
            let most = parts.into_iter().max().unwrap() as u64;
            assert!(EACH * most + BESIDE <= limit);
        }
    }
}
