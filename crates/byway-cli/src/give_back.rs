//! What a crowd of peers made the process take goes back to the system when they have gone.
//!
//! Where there is glibc, the allocator is glibc's. It keeps what was freed as long as something that lives stands
//! behind it. Four things make it give back nearly all: all threads share one arena, as each keeps pages of its own;
//! the free pieces that each thread keeps for itself are taken from it, as each may be the last in its page;
//! `malloc_trim` gives back every free page, wherever it stands; and all this is done when peers have gone, not on
//! a tick. Elsewhere the system's allocator does what it does.

use byway::Endpoint;
use std::convert::Infallible;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::sync::mpsc;
use tokio::time::Instant;

/// A crowd leaves in many steps; so long after the first of them goes back what has become free by then.
const PAUSE: Duration = Duration::from_secs(2);
/// And once more so long after the last of them. The runtime's threads for blocking work end ten seconds after the last of it, with the
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

/// Gives memory back whenever that of an endpoint's associations has fallen, and once more when the endpoint has
/// ended.
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

/// Gives memory back when an endpoint has ended that has connected: who connects again has another one, and what the
/// lost association carried goes after it. Before that its memory falls with each acknowledgement, and grows again.
pub(crate) fn after(endpoint: &Endpoint) {
    let mut freed = endpoint.freed();
    tokio::spawn(async move {
        while freed.next().await.is_some() {
            tokio::time::sleep(PAUSE).await;
        }
        soon();
    });
}

/// A time at which memory is given back.
struct Time {
    pause: Duration,
    /// Whether the pause begins with the last departure, or with the first one.
    after_last: bool,
    /// When it began; none while nobody waits for its end.
    since: Mutex<Option<Instant>>,
}

static TIMES: [Time; 2] = [Time::new(PAUSE, false), Time::new(LATER, true)];

impl Time {
    const fn new(pause: Duration, after_last: bool) -> Time {
        Time {
            pause,
            after_last,
            since: Mutex::new(None),
        }
    }

    /// Others have gone. Who must wait for the time, if nobody does yet.
    fn begin(&'static self) -> Option<Waiting> {
        let mut since = self.since();
        let waits = since.is_some();
        if !waits || self.after_last {
            *since = Some(Instant::now());
        }
        match waits {
            true => None,
            false => Some(Waiting(Some(self))),
        }
    }

    fn since(&self) -> MutexGuard<'_, Option<Instant>> {
        self.since.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Waits for a time. Where its runtime ends meanwhile, the next one waits anew.
struct Waiting(Option<&'static Time>);

impl Waiting {
    async fn over(mut self) {
        while let Some(due) = self.due() {
            tokio::time::sleep_until(due).await;
        }
    }

    /// When the time comes; none if it has. Then whoever goes is no longer waited for.
    fn due(&mut self) -> Option<Instant> {
        let time = self.0?;
        let mut since = time.since();
        let due = since.map(|since| since + time.pause);
        if due.is_some_and(|due| due > Instant::now()) {
            return due;
        }
        *since = None;
        self.0 = None;
        None
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        if let Some(time) = self.0 {
            *time.since() = None;
        }
    }
}

/// Many others have gone: gives memory back in a while, and what has become free after that.
pub(crate) fn soon() {
    // Without a runtime the process ends.
    let Ok(runtime) = Handle::try_current() else {
        return;
    };
    for time in &TIMES {
        if let Some(waiting) = time.begin() {
            runtime.spawn(async {
                waiting.over().await;
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
    use byway::{Endpoint, EndpointOptions, Message};
    use std::net::SocketAddr;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::mpsc;
    use tokio::time::sleep;

    /// All threads of the process are asked, those of another test, too.
    static ALONE: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());

    /// How often memory is given back from now on.
    fn counted() -> impl Fn() -> usize {
        let asked = Arc::new(AtomicUsize::new(0));
        let count = asked.clone();
        add_thread(move |task| {
            count.fetch_add(1, Ordering::Relaxed);
            task();
        });
        move || asked.load(Ordering::Relaxed)
    }

    /// A runtime of this thread, whose time passes at once.
    fn hurried() -> tokio::runtime::Runtime {
        let mut builder = tokio::runtime::Builder::new_current_thread();
        builder.enable_all().start_paused(true).build().unwrap()
    }

    /// A receiver once kept 1.4 MB until the next crowd had gone.
    #[tokio::test(start_paused = true)]
    async fn what_becomes_free_after_the_first_time_goes_back_as_well() {
        let _alone = ALONE.lock().await;
        let times = counted();
        for all in [2, 4] {
            // Many leave at once.
            soon();
            soon();
            sleep(PAUSE * 2).await;
            assert_eq!(times(), all - 1);
            sleep(LATER).await;
            assert_eq!(times(), all);
        }
    }

    /// It was so long after the first one, and what the others had left was kept.
    #[tokio::test(start_paused = true)]
    async fn the_last_of_a_crowd_that_leaves_slowly_is_waited_for() {
        let _alone = ALONE.lock().await;
        let times = counted();
        let second = Duration::from_secs(1);
        soon();
        sleep(6 * second).await;
        assert_eq!(times(), 1);
        soon();
        sleep(LATER - second).await;
        assert_eq!(times(), 2);
        sleep(2 * second).await;
        assert_eq!(times(), 3);
    }

    /// Nothing went back any more.
    #[test]
    fn a_runtime_that_ends_meanwhile_leaves_it_to_the_next() {
        let _alone = ALONE.blocking_lock();
        let times = counted();
        // One has waited for a while, one has not begun to.
        for pause in [PAUSE / 2, Duration::ZERO] {
            hurried().block_on(async {
                soon();
                sleep(pause).await;
            });
        }
        assert_eq!(times(), 0);
        hurried().block_on(async {
            soon();
            sleep(PAUSE * 2).await;
            assert_eq!(times(), 1);
            sleep(LATER).await;
            assert_eq!(times(), 2);
        });
    }

    /// Each acknowledgement of a transfer made some memory free, and every two seconds the threads were asked.
    #[test]
    fn who_connects_gives_nothing_back_before_the_end_of_its_endpoint() {
        let _alone = ALONE.blocking_lock();
        let times = counted();
        let at = |from: &str| EndpointOptions::new([from.parse::<SocketAddr>().unwrap()]);
        // The time of endpoints does not hurry.
        let others = tokio::runtime::Runtime::new().unwrap();
        let (called, calling, sender, receiver) = others.block_on(async {
            let called = Endpoint::bind(at("127.0.0.1:0").sctp_port(5001)).unwrap();
            let calling = Endpoint::bind(at("127.0.0.1:0")).unwrap();
            let to = [called.local_addresses()[0]];
            let (sender, receiver) = tokio::join!(calling.connect(&to, 5001), called.accept());
            (called, calling, sender.unwrap(), receiver.unwrap())
        });
        hurried().block_on(async {
            after(&calling);
            let mut freed = calling.freed();
            let drains = others.spawn(async move {
                let message = Message::new(0, vec![7; 200_000]);
                sender.send(message).await.unwrap();
                while receiver.recv().await.is_some() {}
            });
            assert!(freed.next().await.is_some());
            sleep(LATER * 2).await;
            assert_eq!(times(), 0);
            let ends = others.spawn(async move { calling.abort(b"done").await });
            while times() < 2 {
                sleep(PAUSE).await;
            }
            ends.await.unwrap();
            drains.await.unwrap();
        });
        drop((called, others));
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
