//! A file that is written by a thread of its own, from a queue with a bound.
//!
//! Who gives it something never waits: what does not fit is dropped and counted. A disk that is full or
//! slow costs the file, and not the transfer.

use crate::failure::Failure;
use crate::terminal::say;
use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Things that wait at most.
const MOST: usize = 32 * 1024;
/// Bytes that wait at most, as those who give them count.
const MOST_BYTES: usize = 24 << 20;
/// Bytes that are written at once, and how long they wait for others.
const BLOCK: usize = 256 * 1024;
const PAUSE: Duration = Duration::from_millis(100);
/// How long the end of a command waits for the disk.
const LAST: Duration = Duration::from_secs(3);

/// Where it goes.
#[derive(Debug)]
pub(super) enum Sink {
    /// A file, and how much of it is whole.
    File {
        option: &'static str,
        path: PathBuf,
        file: File,
        /// None where others may add to it, too.
        whole: Option<u64>,
    },
    StandardError,
}

impl Sink {
    /// A new file, in place of one that is there; `keep` adds to that one.
    pub(super) fn file(option: &'static str, path: &Path, keep: bool) -> Result<Sink, Failure> {
        let mut options = File::options();
        options.create(true).write(true);
        match keep {
            true => options.append(true),
            false => options.truncate(true),
        };
        let file = options.open(path);
        let file =
            file.map_err(|e| Failure::file(&format!("write what {option} asks for to"), path, &e))?;
        Ok(Sink::File {
            option,
            path: path.to_owned(),
            file,
            whole: (!keep).then_some(0),
        })
    }

    /// Writes all of it or, to a file, nothing.
    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Sink::File { file, whole, .. } => {
                let before = whole.or_else(|| file.metadata().ok().map(|m| m.len()));
                if let Err(error) = file.write_all(bytes) {
                    // What was written of it would not be read. A pipe cannot be cut.
                    if let Some(before) = before {
                        let _ = file.set_len(before);
                        let _ = file.seek(SeekFrom::Start(before));
                    }
                    return Err(error);
                }
                *whole = whole.map(|whole| whole + bytes.len() as u64);
                Ok(())
            }
            // As `terminal::say`: who cannot be told is not told.
            Sink::StandardError => {
                let _ = io::stderr().lock().write_all(bytes);
                Ok(())
            }
        }
    }

    fn name(&self) -> String {
        match self {
            Sink::File { option, path, .. } => format!("{option} {}", path.display()),
            Sink::StandardError => "standard error".to_owned(),
        }
    }
}

/// How much was written.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Written {
    pub(super) written: u64,
    /// What the disk did not take.
    pub(super) refused: u64,
    /// What did not fit into the queue.
    pub(super) dropped: u64,
}

enum Given<T> {
    One(T, usize),
    End,
}

/// A file that is being written.
pub(super) struct Writer<T> {
    queue: SyncSender<Given<T>>,
    waiting: Arc<AtomicUsize>,
    dropped: AtomicU64,
    ended: Mutex<Option<Receiver<Written>>>,
}

impl<T> std::fmt::Debug for Writer<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Writer").finish_non_exhaustive()
    }
}

impl<T: Send + 'static> Writer<T> {
    /// Begins with `head`. `encode` appends the bytes of one thing.
    pub(super) fn start(
        mut sink: Sink,
        head: &[u8],
        encode: impl FnMut(T, &mut Vec<u8>) + Send + 'static,
    ) -> Result<Writer<T>, Failure> {
        let name = sink.name();
        sink.write(head)
            .map_err(|e| Failure::new(crate::failure::Kind::Failed, format!("{name}: {e}")))?;
        let (queue, given) = sync_channel(MOST);
        let (end, ended) = sync_channel(1);
        let waiting = Arc::new(AtomicUsize::new(0));
        let work = Work {
            sink,
            waiting: waiting.clone(),
            block: Vec::new(),
            in_block: 0,
            since: Instant::now(),
            count: Written::default(),
            told: false,
        };
        let thread = std::thread::Builder::new().name("byway-record".to_owned());
        thread
            .spawn(move || {
                // Nobody may wait for it any more.
                let _ = end.send(work.run(&given, encode));
            })
            .map_err(|e| {
                Failure::new(
                    crate::failure::Kind::Failed,
                    format!("{name}: no thread: {e}"),
                )
            })?;
        Ok(Writer {
            queue,
            waiting,
            dropped: AtomicU64::new(0),
            ended: Mutex::new(Some(ended)),
        })
    }

    /// Takes something that holds so many bytes of memory, if there is room.
    pub(super) fn give(&self, thing: T, bytes: usize) {
        let waits = self.waiting.fetch_add(bytes, Ordering::Relaxed);
        if waits + bytes > MOST_BYTES || self.queue.try_send(Given::One(thing, bytes)).is_err() {
            self.waiting.fetch_sub(bytes, Ordering::Relaxed);
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Whether this would be dropped: what is not worth making then.
    pub(super) fn is_full(&self, bytes: usize) -> bool {
        let full = self.waiting.load(Ordering::Relaxed) + bytes > MOST_BYTES;
        if full {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
        full
    }

    /// Writes what waits; none if that was done, or took too long.
    pub(super) fn finish(&self) -> Option<Written> {
        let ended = self
            .ended
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take()?;
        let until = Instant::now() + LAST;
        // The queue may be full for a moment.
        let mut end = Given::End;
        loop {
            match self.queue.try_send(end) {
                Ok(()) => break,
                Err(std::sync::mpsc::TrySendError::Full(back)) if Instant::now() < until => {
                    end = back;
                    std::thread::sleep(Duration::from_millis(5));
                }
                Err(_) => return None,
            }
        }
        let left = until.saturating_duration_since(Instant::now());
        let written = ended.recv_timeout(left).ok()?;
        let dropped = self.dropped.load(Ordering::Relaxed);
        Some(Written { dropped, ..written })
    }
}

/// What the thread has.
struct Work {
    sink: Sink,
    waiting: Arc<AtomicUsize>,
    block: Vec<u8>,
    in_block: u64,
    /// Since when something waits in the block.
    since: Instant,
    count: Written,
    /// Whether it was told that the disk refuses.
    told: bool,
}

impl Work {
    fn run<T>(
        mut self,
        given: &Receiver<Given<T>>,
        mut encode: impl FnMut(T, &mut Vec<u8>),
    ) -> Written {
        loop {
            match given.recv_timeout(PAUSE) {
                Ok(Given::One(thing, bytes)) => {
                    if self.in_block == 0 {
                        self.since = Instant::now();
                    }
                    encode(thing, &mut self.block);
                    self.in_block += 1;
                    self.waiting.fetch_sub(bytes, Ordering::Relaxed);
                    if self.block.len() >= BLOCK || self.since.elapsed() >= PAUSE {
                        self.flush();
                    }
                }
                Err(RecvTimeoutError::Timeout) => self.flush(),
                Ok(Given::End) | Err(RecvTimeoutError::Disconnected) => {
                    self.flush();
                    return self.count;
                }
            }
        }
    }

    fn flush(&mut self) {
        if self.block.is_empty() {
            return;
        }
        match self.sink.write(&self.block) {
            Ok(()) => self.count.written += self.in_block,
            Err(error) => {
                self.count.refused += self.in_block;
                if !std::mem::replace(&mut self.told, true) {
                    say(format_args!(
                        "warning: {}: {error}; the command goes on, and what cannot be written there is left out",
                        self.sink.name()
                    ));
                }
            }
        }
        self.block.clear();
        self.in_block = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scratch(name: &str) -> PathBuf {
        std::env::temp_dir().join(format!("byway-writer-{name}-{}", std::process::id()))
    }

    fn lines(sink: Sink) -> Writer<String> {
        let encode = |line: String, out: &mut Vec<u8>| out.extend_from_slice(line.as_bytes());
        Writer::start(sink, b"head\n", encode).unwrap()
    }

    #[test]
    fn what_is_given_is_written_in_order_and_the_end_waits_for_it() {
        let path = scratch("order");
        let writer = lines(Sink::file("--log", &path, false).unwrap());
        let all: Vec<String> = (0..1000).map(|n| format!("{n}\n")).collect();
        for line in &all {
            writer.give(line.clone(), line.len());
        }
        let written = writer.finish().unwrap();
        assert_eq!(
            (written.written, written.dropped, written.refused),
            (1000, 0, 0)
        );
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(text, format!("head\n{}", all.concat()));
        assert_eq!(writer.finish(), None);
        std::fs::remove_file(&path).unwrap();
    }

    #[test]
    fn who_gives_too_much_does_not_wait_and_what_is_dropped_is_counted() {
        let path = scratch("slow");
        let (go, wait) = std::sync::mpsc::channel::<()>();
        let encode = move |byte: u8, out: &mut Vec<u8>| {
            if byte == 0 {
                let _ = wait.recv();
            }
            out.push(byte);
        };
        let sink = Sink::file("--pcap", &path, false).unwrap();
        let writer = Writer::start(sink, b"", encode).unwrap();
        let size = 1 << 20;
        for _ in 0..100 {
            writer.give(0, size);
        }
        let fits = MOST_BYTES / size;
        drop(go);
        let written = writer.finish().unwrap();
        assert_eq!(written.written + written.dropped, 100);
        // The one that is being written may have left the queue.
        assert!(
            (fits as u64..=fits as u64 + 1).contains(&written.written),
            "{written:?}"
        );
        std::fs::remove_file(&path).unwrap();
    }

    #[test]
    fn a_disk_that_refuses_is_counted_and_ends_nothing() {
        let full = Path::new("/dev/full");
        // Linux has it.
        if !full.exists() {
            return;
        }
        let sink = Sink::file("--log", full, true).unwrap();
        let writer =
            Writer::start(sink, b"", |byte: u8, out: &mut Vec<u8>| out.push(byte)).unwrap();
        for _ in 0..3 {
            writer.give(7, 1);
        }
        let written = writer.finish().unwrap();
        assert_eq!((written.written, written.refused), (0, 3));
    }
}
