//! The senders that are compared.

use super::flow::{Receiver, Sender};
use super::guest::{Guest, Kernel};
use super::network::{End, Network};
use super::schedule::Schedule;
use crate::children::Owned;
use crate::failure::{Failure, Kind};
use byway_papers::reproduce::real::{
    Arm, DECOUPLED, Measured, STANDARD, UNPLUGGED_AFTER_S, simulated,
};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// First UDP port of the receivers; one for each association.
const FIRST_PORT: u16 = 9900;
/// Time for the receivers to open their sockets.
const OPENING: Duration = Duration::from_secs(1);
/// Least messages that have arrived before the unplugging, of those that were due.
const STEADY: f64 = 0.8;

/// What is known of an arm before it is run.
struct Planned {
    name: &'static str,
    sender: String,
    paper_s: Option<f64>,
    /// The policy of the scenario that it corresponds to.
    policy: &'static str,
    by: By,
}

/// Who sends.
#[derive(Copy, Clone)]
enum By {
    Byway((&'static str, &'static [(&'static str, &'static str)])),
    Kernel(Kernel),
}

/// All arms, with what runs for them.
pub(super) struct Running<'a> {
    network: &'a Network,
    guest: Result<&'a Guest, String>,
    phases: usize,
    arms: Vec<(Planned, Vec<Receiver>)>,
    senders: Vec<Sender>,
    kernels: Vec<Owned>,
}

/// The arms. What figure 2 of the paper shows: the first message over the other path 64 s and
/// 11.0 s after the unplugging.
fn planned(kernel: Option<&str>) -> [Planned; 4] {
    let linux = |what: &str| match kernel {
        Some(version) => format!("the SCTP of Linux {version}, {what}"),
        None => format!("the SCTP of a Linux kernel, {what}"),
    };
    [
        Planned {
            name: "standard",
            sender: byway(STANDARD),
            paper_s: Some(64.0),
            policy: "standard",
            by: By::Byway(STANDARD),
        },
        Planned {
            name: "decoupled",
            sender: byway(DECOUPLED),
            paper_s: Some(11.0),
            policy: "decoupled",
            by: By::Byway(DECOUPLED),
        },
        Planned {
            name: "Linux, no PF",
            sender: linux(
                "without the potentially failed state (RFC 7829), which the paper's kernel did not have",
            ),
            paper_s: None,
            policy: "",
            by: By::Kernel(Kernel::NoPf),
        },
        Planned {
            name: "Linux, defaults",
            sender: linux("as it comes"),
            paper_s: None,
            policy: "",
            by: By::Kernel(Kernel::Defaults),
        },
    ]
}

fn byway((preset, set): (&str, &[(&str, &str)])) -> String {
    let set = set
        .iter()
        .map(|(key, value)| format!(" --set '{key}={value}'"));
    format!("byway cat --preset {preset}{}", set.collect::<String>())
}

impl<'a> Running<'a> {
    /// Starts the receivers.
    pub(super) fn begin(
        network: &'a Network,
        guest: Result<&'a Guest, &String>,
        phases: usize,
    ) -> Result<Running<'a>, Failure> {
        let program = own_program()?;
        let mut ports = FIRST_PORT..;
        let mut arms = Vec::new();
        for arm in planned(guest.ok().map(Guest::version)) {
            let mut receivers = Vec::new();
            for port in ports.by_ref().take(phases) {
                let mut command = match (arm.by, guest) {
                    (By::Byway(_), _) => network.program(End::Receiver, &program),
                    (By::Kernel(_), Ok(guest)) => guest.opposite(&program),
                    (By::Kernel(_), Err(_)) => continue,
                };
                let bind = match arm.by {
                    By::Byway(_) => addresses(End::Receiver, Some(port)),
                    By::Kernel(_) => Guest::addresses(port),
                };
                command.args([
                    "listen",
                    "--unprotected",
                    "--quiet",
                    "--preset",
                    "rfc2960",
                    "--give-up",
                    "1h",
                ]);
                command.args(["--bind", &bind]);
                receivers.push(Receiver::start(&mut command)?);
            }
            arms.push((arm, receivers));
        }
        std::thread::sleep(OPENING);
        Ok(Running {
            network,
            guest: guest.map_err(Clone::clone),
            phases,
            arms,
            senders: Vec::new(),
            kernels: Vec::new(),
        })
    }

    /// Starts the senders, which send when `schedule` says.
    pub(super) fn send(&mut self, schedule: &Schedule) -> Result<(), Failure> {
        let program = own_program()?;
        for (at, (arm, _)) in self.arms.iter().enumerate() {
            let first = FIRST_PORT + (at * self.phases) as u16;
            match (arm.by, &self.guest) {
                (By::Byway((preset, set)), _) => {
                    for phase in 0..self.phases {
                        let to = addresses(End::Receiver, Some(first + phase as u16));
                        let mut command = self.network.program(End::Sender, &program);
                        command.args(["cat", "--quiet", "--to", &to, "--preset", preset]);
                        command.args(["--bind", &addresses(End::Sender, None)]);
                        for (key, value) in set {
                            command.args(["--set", &format!("{key}={value}")]);
                        }
                        let phases = (phase, self.phases);
                        self.senders
                            .push(Sender::start(&mut command, schedule, phases)?);
                    }
                }
                (By::Kernel(kernel), Ok(guest)) => {
                    self.kernels.push(guest.send(kernel, first, self.phases)?);
                }
                (By::Kernel(_), Err(_)) => {}
            }
        }
        Ok(())
    }

    /// Whether every association carries what it is given.
    pub(super) fn check(&mut self) -> Result<(), Failure> {
        for sender in &mut self.senders {
            sender.check()?;
        }
        let due = f64::from(Schedule::messages()) * UNPLUGGED_AFTER_S / 100.0;
        for (arm, receivers) in &self.arms {
            for (phase, receiver) in receivers.iter().enumerate() {
                let messages = receiver.messages();
                if f64::from(messages) < due * STEADY {
                    return Err(Failure::new(
                        Kind::Failed,
                        format!(
                            "{}, association {}: {messages} of {due:.0} messages have arrived before the unplugging; the machine is too busy, or the sender did not begin",
                            arm.name,
                            phase + 1
                        ),
                    ));
                }
            }
        }
        Ok(())
    }

    /// Ends everything; what was seen. The path was unplugged between the two times.
    pub(super) fn end(self, unplugged: (Instant, Instant)) -> Result<Vec<Arm>, Failure> {
        let mut out = Vec::new();
        for (arm, receivers) in self.arms {
            let measured = match (arm.by, &self.guest) {
                (By::Kernel(_), Err(why)) => Measured::Not(why.clone()),
                _ => Measured::Flows(receivers.into_iter().map(|r| r.end(unplugged)).collect()),
            };
            let simulated = match arm.policy {
                "" => None,
                policy => Some(simulated(policy).map_err(|e| Failure::new(Kind::Failed, e))?),
            };
            out.push(Arm {
                name: arm.name.to_owned(),
                sender: arm.sender,
                paper_s: arm.paper_s,
                simulated,
                measured,
            });
        }
        Ok(out)
    }
}

/// Both addresses of an end.
fn addresses(end: End, port: Option<u16>) -> String {
    let port = port.map_or(String::new(), |p| format!(":{p}"));
    format!("{}{port},{}{port}", end.address(1), end.address(2))
}

/// This program, which runs again as `byway cat` and `byway listen`.
fn own_program() -> Result<PathBuf, Failure> {
    std::env::current_exe().map_err(|e| Failure::file("find", Path::new("byway"), &e))
}
