//! The two hosts: network namespaces with a TUN device for each path.

use super::shells::HostArg;
use crate::failure::{Failure, Kind};
use crate::namespace::Namespace;
use byway_lab::emulation::End;
use std::path::Path;
use std::process::Command;
use tun_rs::{DeviceBuilder, Layer, SyncDevice};

/// Largest packet of a path.
const MTU: u16 = 1500;
/// Both ends.
const ENDS: [End; 2] = [End::Sender, End::Receiver];

/// The namespaces of the hosts.
pub(super) struct Hosts {
    sender: Namespace,
    receiver: Namespace,
}

/// A host's end of a path.
pub(super) struct Device {
    pub(super) end: End,
    /// Counted from 0.
    pub(super) path: usize,
    pub(super) tun: SyncDevice,
}

impl Hosts {
    /// Makes NAME-sender and NAME-receiver, and in each the devices path1, path2, and so on.
    pub(super) fn make(name: &str, paths: usize) -> Result<(Hosts, Vec<Device>), Failure> {
        let hosts = Hosts {
            sender: Namespace::make(HostArg::Sender.namespace(name))?,
            receiver: Namespace::make(HostArg::Receiver.namespace(name))?,
        };
        let mut devices = Vec::new();
        for path in 0..paths {
            for end in ENDS {
                let tun = hosts.device(end, path)?;
                devices.push(Device { end, path, tun });
            }
        }
        Ok((hosts, devices))
    }

    fn device(&self, end: End, path: usize) -> Result<SyncDevice, Failure> {
        let made_as = format!("bw{}-{path}", std::process::id());
        let said = |e: std::io::Error| {
            Failure::new(
                Kind::Failed,
                format!("cannot make a TUN device (is there /dev/net/tun?): {e}"),
            )
        };
        let tun = DeviceBuilder::new()
            .name(&made_as)
            .layer(Layer::L3)
            .mtu(MTU)
            .enable(false)
            .build_sync()
            .map_err(said)?;
        tun.set_nonblocking(true).map_err(said)?;
        let (host, name) = (self.host(end), format!("path{}", path + 1));
        crate::children::run(Command::new("ip").args([
            "link",
            "set",
            &made_as,
            "netns",
            host.name(),
            "name",
            &name,
        ]))?;
        let address = format!("{}/24", end.address(path));
        host.ip(&["addr", "add", &address, "dev", &name])?;
        host.ip(&["link", "set", &name, "up"])?;
        Ok(tun)
    }

    fn host(&self, end: End) -> &Namespace {
        match end {
            End::Sender => &self.sender,
            End::Receiver => &self.receiver,
        }
    }

    /// The name of a host's namespace.
    pub(super) fn name(&self, end: End) -> &str {
        self.host(end).name()
    }

    /// A program at an end.
    pub(super) fn program(&self, end: End, program: &Path) -> Command {
        self.host(end).program(program)
    }
}
