//! A few threads on which many associations are served. The work on one association
//! stays on one thread, because its state is not shared.

use crate::give_back;
use std::future::Future;
use std::pin::Pin;
use tokio::sync::mpsc;
use tokio::task::LocalSet;

/// Most threads: they write files, whose pages the kernel writes back by itself.
const MOST: usize = 4;

type Work = Box<dyn FnOnce() -> Pin<Box<dyn Future<Output = ()>>> + Send>;

/// The threads. They end with the process.
pub(super) struct Workers {
    queues: Vec<mpsc::UnboundedSender<Work>>,
    next: usize,
}

impl Workers {
    /// Starts as many threads as there are processors, at most four. Must be called inside
    /// a runtime.
    ///
    /// # Errors
    /// When the system gives no thread at all.
    pub(super) fn start() -> std::io::Result<Workers> {
        let wanted = std::thread::available_parallelism().map_or(1, usize::from);
        let mut queues = Vec::new();
        for _ in 0..wanted.min(MOST) {
            let (queue, mut works) = mpsc::unbounded_channel::<Work>();
            let runtime = tokio::runtime::Handle::current();
            let thread = std::thread::Builder::new()
                .name("byway-serve".to_owned())
                .spawn(move || {
                    let all = LocalSet::new();
                    let serve = all.run_until(async {
                        while let Some(work) = works.recv().await {
                            tokio::task::spawn_local(work());
                        }
                    });
                    runtime.block_on(serve);
                });
            match thread {
                Ok(_) => {
                    let of_thread = queue.clone();
                    give_back::add_thread(move |task| {
                        let work: Work = Box::new(move || Box::pin(async move { task() }));
                        // As in `run`.
                        let _ = of_thread.send(work);
                    });
                    queues.push(queue);
                }
                // Fewer threads do as well.
                Err(_) if !queues.is_empty() => break,
                Err(e) => return Err(e),
            }
        }
        Ok(Workers { queues, next: 0 })
    }

    /// Runs `work` on one of the threads, beside what runs there.
    pub(super) fn run<F>(&mut self, work: impl FnOnce() -> F + Send + 'static)
    where
        F: Future<Output = ()> + 'static,
    {
        self.next = (self.next + 1) % self.queues.len();
        let work: Work = Box::new(move || Box::pin(work()));
        // A thread takes work until the process ends.
        let _ = self.queues[self.next].send(work);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;
    use std::collections::HashSet;
    use std::time::Duration;

    #[tokio::test]
    async fn ten_thousand_waiting_works_need_a_few_threads() {
        let mut workers = Workers::start().unwrap();
        let (done, mut ended) = mpsc::unbounded_channel();
        let (go, _) = tokio::sync::watch::channel(false);
        for n in 0..10_000_u32 {
            let (done, mut gone) = (done.clone(), go.subscribe());
            workers.run(move || async move {
                // Not shared between threads.
                let mine = Cell::new(n);
                let _ = gone.wait_for(|go| *go).await;
                let _ = done.send((mine.get(), std::thread::current().id()));
            });
        }
        go.send_replace(true);
        let (mut sum, mut threads) = (0_u64, HashSet::new());
        for _ in 0..10_000 {
            let n = tokio::time::timeout(Duration::from_secs(60), ended.recv()).await;
            let (n, thread) = n.unwrap().unwrap();
            sum += u64::from(n);
            threads.insert(thread);
        }
        assert_eq!(sum, 9_999 * 10_000 / 2);
        assert!(threads.len() <= MOST, "{}", threads.len());
    }
}
