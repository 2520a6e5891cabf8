//! What a crowd of peers made the process take goes back to the system when they have gone.
//!
//! Where there is glibc, the allocator is glibc's. It keeps what was freed as long as something that lives stands
//! behind it. Four things make it give back nearly all: all threads share one arena, as each keeps pages of its own;
//! the free pieces that each thread keeps for itself are taken from it, as each may be the last in its page;
//! `malloc_trim` gives back every free page, wherever it stands; and all this is done when peers have gone, not on
//! a tick. Elsewhere the system's allocator does what it does.

use byway::Endpoint;
use std::convert::Infallible;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::sync::mpsc;

/// A crowd leaves in many steps; so long after the first of them goes back what has become free by then.
const PAUSE: Duration = Duration::from_secs(2);
/// And once more after this time. The runtime's threads for blocking work end ten seconds after the last of it, with the
/// free pieces that they have kept; and a thread that got no processor in time was not asked for its own.
const LATER: Duration = Duration::from_secs(13);

/// Something to do on a thread.
pub(crate) type Task = Box<dyn FnOnce() + Send>;

/// Gives a task to one thread.
type Thread = Box<dyn Fn(Task) + Send>;

/// Threads that are not the runtime's.
static THREADS: Mutex<Vec<Thread>> = Mutex::new(Vec::new());

/// There is such a thread, which runs a task some time after `thread` was called with it.
pub(crate) fn add_thread(thread: impl Fn(Task) + Send + 'static) {
    let mut threads = THREADS.lock().unwrap_or_else(PoisonError::into_inner);
    threads.push(Box::new(thread));
}

/// This thread, which waits for this future, is one as well.
pub(crate) async fn on_this_thread() -> Infallible {
    let (tasks, mut given) = mpsc::unbounded_channel::<Task>();
    add_thread(move |task| {
        // When nobody waits any more, the process ends.
        let _ = tasks.send(task);
    });
    loop {
        match given.recv().await {
            Some(task) => task(),
            None => std::future::pending().await,
        }
    }
}

/// Before the first thread of a command that others reach.
pub(crate) fn prepare() {
    of_system::prepare();
}

/// Gives memory back whenever that of the endpoint's associations has fallen, and once more when the endpoint has
/// ended: who connects again has another one, and what the lost association carried goes after it.
pub(crate) fn follow(endpoint: &Endpoint) {
    let mut freed = endpoint.freed();
    tokio::spawn(async move {
        while freed.next().await.is_some() {
            soon();
            tokio::time::sleep(PAUSE).await;
        }
        soon();
    });
}

/// When memory is given back, and whether it will be.
static TIMES: [(Duration, AtomicBool); 2] = [
    (PAUSE, AtomicBool::new(false)),
    (LATER, AtomicBool::new(false)),
];

/// Many others have gone: gives memory back in a while, and what has become free after that.
pub(crate) fn soon() {
    // Without a runtime the process ends.
    let Ok(runtime) = Handle::try_current() else {
        return;
    };
    for (time, will) in &TIMES {
        if !will.swap(true, Ordering::Relaxed) {
            runtime.spawn(async {
                tokio::time::sleep(*time).await;
                will.store(false, Ordering::Relaxed);
                of_system::give_back().await;
            });
        }
    }
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[expect(
    unsafe_code,
    reason = "the C library has no safe functions for its allocator"
)]
mod of_system {
    use super::THREADS;
    use std::collections::HashSet;
    use std::hint::black_box;
    use std::sync::PoisonError;
    use std::time::Duration;
    use tokio::sync::oneshot;

    /// Rounds of tasks by which the threads of the runtime are reached, as many tasks as threads: one that sleeps leaves
    /// the next task to another, if that one has a processor.
    const ROUNDS: usize = 20;

    /// Each sleeps so long, with its thread.
    const SLEEP: Duration = Duration::from_micros(500);

    /// A thread that is busy for longer keeps what it has.
    const BUSY: Duration = Duration::from_secs(1);

    /// Free pieces of one size that a thread keeps.
    const KEPT: usize = 7;

    /// The sizes of the pieces that it keeps, in bytes: 24, 40, 56 ... 1032.
    const LEAST: usize = 24;
    const MOST: usize = 1032;
    const STEP: usize = 16;

    /// Buffers of a transfer come and go: below one megabyte they come from the arena, and up to four stay at its
    /// end. With glibc's numbers, 128 KiB for both, the system fills the same pages with zeros again and again.
    const MAPPED: libc::c_int = 1 << 20;
    const STAYS: libc::c_int = 4 << 20;

    /// All threads share one arena.
    pub(super) fn prepare() {
        for (what, number) in [
            (libc::M_ARENA_MAX, 1),
            (libc::M_MMAP_THRESHOLD, MAPPED),
            (libc::M_TRIM_THRESHOLD, STAYS),
        ] {
            // SAFETY: it sets a number under a lock of the allocator. If it refuses, more memory stays.
            let _ = unsafe { libc::mallopt(what, number) };
        }
    }

    /// Gives back all pages that are free.
    pub(super) async fn give_back() {
        let threads = tokio::runtime::Handle::current().metrics().num_workers();
        let task = || {
            tokio::spawn(async {
                let pieces = kept_pieces();
                std::thread::sleep(SLEEP);
                (std::thread::current().id(), pieces)
            })
        };
        let (mut reached, mut pieces) = (HashSet::new(), Vec::new());
        for _ in 0..ROUNDS {
            let tasks: Vec<_> = std::iter::repeat_with(task).take(threads).collect();
            for task in tasks {
                // It fails with the runtime only.
                if let Ok((thread, its)) = task.await {
                    reached.insert(thread);
                    pieces.push(its);
                }
            }
            if reached.len() == threads {
                break;
            }
        }
        for others in of_other_threads() {
            if let Ok(Ok(others)) = tokio::time::timeout(BUSY, others).await {
                pieces.push(others);
            }
        }
        // A thread that ends keeps nothing.
        if let Ok(thread) = std::thread::Builder::new().spawn(move || drop(pieces)) {
            // It cannot panic.
            let _ = thread.join();
        }
        // SAFETY: it takes the locks of the allocator and changes free memory only. It returns whether there was any.
        let _ = unsafe { libc::malloc_trim(0) };
    }

    /// The free pieces of the threads that are not the runtime's.
    fn of_other_threads() -> Vec<oneshot::Receiver<Vec<Vec<u8>>>> {
        let threads = THREADS.lock().unwrap_or_else(PoisonError::into_inner);
        let ask = |thread: &super::Thread| {
            let (done, pieces) = oneshot::channel();
            thread(Box::new(move || {
                // Nobody waits any more: they go back to this thread.
                let _ = done.send(kept_pieces());
            }));
            pieces
        };
        threads.iter().map(ask).collect()
    }

    /// The free pieces that this thread keeps for itself, and new ones where it keeps fewer.
    fn kept_pieces() -> Vec<Vec<u8>> {
        let of_size = |len| [(); KEPT].map(|()| black_box(Vec::with_capacity(len)));
        (LEAST..=MOST).step_by(STEP).flat_map(of_size).collect()
    }
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
mod of_system {
    pub(super) fn prepare() {}

    pub(super) async fn give_back() {}
}

#[cfg(all(test, target_os = "linux", target_env = "gnu"))]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::AtomicUsize;
    use std::sync::mpsc;

    /// All threads of the process are asked, those of another test, too.
    static ALONE: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());

    /// A receiver once kept 1.4 MB until the next crowd had gone.
    #[tokio::test(start_paused = true)]
    async fn what_becomes_free_after_the_first_time_goes_back_as_well() {
        let _alone = ALONE.lock().await;
        let asked = Arc::new(AtomicUsize::new(0));
        let count = asked.clone();
        add_thread(move |task| {
            count.fetch_add(1, Ordering::Relaxed);
            task();
        });
        let now = || asked.load(Ordering::Relaxed);
        for all in [2, 4] {
            // Many leave at once.
            soon();
            soon();
            tokio::time::sleep(PAUSE * 2).await;
            assert_eq!(now(), all - 1);
            tokio::time::sleep(LATER).await;
            assert_eq!(now(), all);
        }
    }

    /// What they keep for themselves was left with them: a crowd's last pieces held a megabyte of pages.
    #[tokio::test(flavor = "multi_thread")]
    async fn threads_that_are_not_the_runtimes_are_asked_as_well() {
        let _alone = ALONE.lock().await;
        let (tasks, given) = mpsc::channel::<Task>();
        let thread = std::thread::spawn(move || {
            let task = given.recv_timeout(Duration::from_secs(60)).unwrap();
            task();
        });
        add_thread(move |task| {
            // It has ended after the first one.
            let _ = tasks.send(task);
        });
        of_system::give_back().await;
        thread.join().unwrap();
    }
}
