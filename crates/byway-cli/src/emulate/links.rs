//! Carries packets between the devices, when the emulation says so.

use super::cuts::Cuts;
use super::due::until_due;
use super::hosts::Device;
use crate::failure::{Failure, Kind};
use crate::waiting::wait;
use byway_lab::emulation::{Emulation, Out};
use rustix::event::{PollFd, PollFlags};
use rustix::io::Errno;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Largest packet of the network layer.
pub(super) const LARGEST: usize = 65_535;
/// Packets that are read from one place before the next one's turn.
pub(super) const BATCH: usize = 64;

/// Carries packets until `stop`; the emulation comes back with its counters.
pub(super) fn carry(
    mut emulation: Emulation,
    devices: &[Device],
    cuts: &Cuts,
    stop: &AtomicBool,
) -> Result<Emulation, Failure> {
    let begun = Instant::now();
    let mut block = vec![0; LARGEST];
    while !stop.load(Ordering::Relaxed) {
        for readable in readable(devices, until_due(&emulation, begun))? {
            take_in(&mut emulation, devices, readable, begun, &mut block)?;
        }
        deliver(&mut emulation, devices, begun.elapsed())?;
        cuts.apply(&mut emulation);
    }
    Ok(emulation)
}

/// Waits for packets; the devices that have some.
fn readable(devices: &[Device], time: Duration) -> Result<Vec<usize>, Failure> {
    let mut fds: Vec<PollFd<'_>> = devices
        .iter()
        .map(|d| PollFd::new(&d.tun, PollFlags::IN))
        .collect();
    wait(&mut fds, time).map_err(|e| failed("wait for", e))?;
    let readable = |(i, fd): (usize, &PollFd<'_>)| (!fd.revents().is_empty()).then_some(i);
    Ok(fds.iter().enumerate().filter_map(readable).collect())
}

/// Takes packets from a device into the emulation.
fn take_in(
    emulation: &mut Emulation,
    devices: &[Device],
    at: usize,
    begun: Instant,
    block: &mut [u8],
) -> Result<(), Failure> {
    let device = &devices[at];
    for _ in 0..BATCH {
        let n = match device.tun.recv(block) {
            Ok(n) => n,
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => return Ok(()),
            Err(e) => return Err(failed("read from", e)),
        };
        // What is due comes out before the next one goes in.
        let now = begun.elapsed();
        deliver(emulation, devices, now)?;
        emulation.offer(now, device.end, device.path, &block[..n]);
    }
    Ok(())
}

/// Writes what has come out to the devices.
fn deliver(emulation: &mut Emulation, devices: &[Device], now: Duration) -> Result<(), Failure> {
    while let Some(Out {
        end, path, packet, ..
    }) = emulation.take(now)
    {
        let device = devices.iter().find(|d| d.end == end && d.path == path);
        if let Some(device) = device {
            match device.tun.send(&packet) {
                Ok(_) => {}
                // The host's own queue is full, it does not take flipped bits of a header, or somebody has set
                // the card down.
                Err(e) if dropped(&e) => {}
                Err(e) => return Err(failed("write to", e)),
            }
        }
        emulation.recycle(packet);
    }
    Ok(())
}

/// Whether a host drops a packet, as a card would.
fn dropped(e: &io::Error) -> bool {
    let is_down = e.raw_os_error() == Some(Errno::IO.raw_os_error());
    is_down
        || matches!(
            e.kind(),
            io::ErrorKind::WouldBlock | io::ErrorKind::InvalidInput
        )
}

fn failed(doing: &str, e: io::Error) -> Failure {
    Failure::new(Kind::Failed, format!("cannot {doing} a TUN device: {e}"))
}
