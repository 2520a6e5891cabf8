//! Memory that the system gives in pages and gets back when it is dropped.

use memmap2::MmapMut;
use std::ops::{Deref, DerefMut};

/// Zeros. A page of them takes memory when it is touched.
///
/// They are mapped for themselves: an allocator keeps what it gets back, and fills it with zeros, page by
/// page, when it gives it out again (glibc's does so from the second time on).
pub(crate) enum Pages {
    Mapped(MmapMut),
    /// Where the system maps nothing.
    Allocated(Box<[u8]>),
}

impl Pages {
    pub(crate) fn new(len: usize) -> Pages {
        let Ok(map) = MmapMut::map_anon(len) else {
            return Pages::Allocated(vec![0; len].into_boxed_slice());
        };
        // A huge page would take two megabytes for a first byte. A kernel without them refuses.
        #[cfg(target_os = "linux")]
        let _ = map.advise(memmap2::Advice::NoHugePage);
        Pages::Mapped(map)
    }
}

impl Deref for Pages {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Pages::Mapped(map) => map,
            Pages::Allocated(all) => all,
        }
    }
}

impl DerefMut for Pages {
    fn deref_mut(&mut self) -> &mut [u8] {
        match self {
            Pages::Mapped(map) => map,
            Pages::Allocated(all) => all,
        }
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use std::fs::File;
    use std::os::unix::fs::FileExt;

    /// Pages of the system that are in memory.
    fn resident(pages: &Pages) -> usize {
        let size = rustix::param::page_size();
        let first = pages.as_ptr() as usize / size;
        let mut entries = vec![0; pages.len().div_ceil(size) * 8];
        let map = File::open("/proc/self/pagemap").unwrap();
        map.read_exact_at(&mut entries, first as u64 * 8).unwrap();
        // The two highest bits of an entry: the page is present, or swapped out.
        entries.chunks(8).filter(|e| e[7] & 0xc0 != 0).count()
    }

    /// An allocator gave them back the first time only.
    #[test]
    fn what_was_filled_is_gone_each_time() {
        let size = rustix::param::page_size();
        let mut pages = Pages::new(32 << 16);
        for _ in 0..3 {
            assert_eq!(resident(&pages), 0);
            pages[0] = 1;
            assert_eq!(resident(&pages), 1);
            pages.fill(7);
            assert_eq!(resident(&pages), (32 << 16) / size);
            pages = Pages::new(32 << 16);
        }
        assert!(pages.iter().all(|byte| *byte == 0));
    }
}
