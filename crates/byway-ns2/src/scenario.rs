//! Scenario files: hosts, links, losses and events as JSON.

use anyhow::{Context, Result, bail};
use serde::Deserialize;
use std::path::Path;

/// One scenario of the validation suite.
#[derive(Debug, Deserialize)]
pub struct Scenario {
    /// Its name, which is also the name of its trace.
    pub name: String,
    /// Which build of ns-2 the trace is from.
    #[serde(default)]
    pub trace: String,
    /// The two ends; none where the scenario is not known.
    #[serde(default)]
    pub hosts: Vec<Host>,
    /// Links, each with two directions.
    #[serde(default)]
    pub links: Vec<Link>,
    /// What happens when.
    #[serde(default)]
    pub events: Vec<TimedEvent>,
    /// Packets that links lose.
    #[serde(default)]
    pub loss_models: Vec<Loss>,
}

/// Which constants the module was compiled with.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Build {
    /// ns-2.35 as it is: the base class with RFC 4960's windows.
    Stock,
    /// The same with RFC 2960's windows.
    Rfc2960,
}

/// A host's part. [`Scenario::read`] gives the first to the host that has data: in ns-2 its
/// agent sends INIT, whatever the file calls it.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Sends INIT, and the data.
    Initiator,
    /// Answers.
    Responder,
}

/// One end.
#[derive(Debug, Deserialize)]
pub struct Host {
    /// Which end it is.
    pub role: Role,
    /// ns-2's class, which says what policies it runs.
    pub agent_class: String,
    /// The nodes that are its interfaces.
    pub interfaces: Vec<u32>,
    /// Its settings.
    pub params: Params,
    /// The peer's interface that is its primary destination; the last one if
    /// it is not said.
    pub primary_destination: Option<u32>,
}

/// ns-2's settings, by their names there, without what all scenarios leave off.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(
    missing_docs,
    reason = "the names are ns-2's; its manual explains them"
)]
pub struct Params {
    pub association_max_retrans: u32,
    pub path_max_retrans: u32,
    pub change_primary_thresh: i64,
    pub max_init_retransmits: u32,
    pub heartbeat_interval: u32,
    pub mtu: u32,
    pub initial_rwnd: u32,
    pub initial_ssthresh: u32,
    pub initial_rto: f64,
    pub min_rto: f64,
    pub max_rto: f64,
    pub fast_rtx_trigger: u8,
    pub num_out_streams: u16,
    pub num_unrel_streams: u16,
    pub unordered: u8,
    pub data_chunk_size: u32,
    pub use_delayed_sacks: u8,
    pub sack_delay: f64,
    pub use_max_burst: u8,
    pub rtx_to_alt: u8,
    pub dormant_action: u8,
    pub initial_swnd: u32,
    /// What the CMT class knows besides.
    #[serde(flatten)]
    pub cmt: Cmt,
    /// 2 where the file does not say.
    #[serde(default = "two")]
    pub initial_cwnd: u32,
}

/// Settings of ns-2's CMT class.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(default)]
#[expect(missing_docs, reason = "the names are ns-2's")]
pub struct Cmt {
    #[serde(rename = "useCmtReordering")]
    pub reordering: u8,
    #[serde(rename = "useCmtCwnd")]
    pub cwnd: u8,
    #[serde(rename = "useCmtDelAck")]
    pub delayed_acks: u8,
    /// 0 asap, 1 same, 2 ssthresh, 3 loss rate, 4 cwnd.
    #[serde(rename = "eCmtRtxPolicy")]
    pub rtx_policy: u8,
    #[serde(rename = "useCmtPF")]
    pub pf: u8,
    #[serde(rename = "cmtPFCwnd")]
    pub pf_cwnd: u32,
}

fn two() -> u32 {
    2
}

/// A link between two nodes.
#[derive(Debug, Deserialize)]
#[expect(missing_docs, reason = "the names say it, with their units")]
pub struct Link {
    pub a: u32,
    pub b: u32,
    pub bandwidth_bps: f64,
    pub delay_s: f64,
    pub queue_limit_a_to_b_pkts: u32,
    pub queue_limit_b_to_a_pkts: u32,
}

/// Packets that one direction of a link loses.
#[derive(Debug, Deserialize)]
pub struct Loss {
    /// From this node.
    pub from: u32,
    /// To this one.
    pub to: u32,
    /// Which ones, counted from 0 over all packets offered.
    pub packet_ordinals: Vec<u64>,
}

/// Something that happens at a set time.
#[derive(Debug, Deserialize)]
pub struct TimedEvent {
    /// When, in seconds.
    pub time_s: f64,
    /// The host whose agent does it; the initiator if it is not said.
    #[serde(default)]
    pub agent: Option<Role>,
    /// What.
    #[serde(flatten)]
    pub what: What,
}

/// What can happen.
#[derive(Debug, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum What {
    /// An endless source of data starts, and sets up the association.
    AppStart,
    /// The same, with so many bytes.
    AppSend {
        /// How many.
        bytes: u64,
    },
    /// The sender closes without a word.
    AppStop,
    /// The sender chooses this node as its primary destination.
    SetPrimary {
        /// The node.
        dest: u32,
    },
    /// The sender sends everything from this node's interface.
    ForceSource {
        /// The node.
        source: u32,
    },
    /// A link goes down for good, in both directions.
    LinkDown {
        /// One end.
        a: u32,
        /// The other.
        b: u32,
    },
    /// A link works again.
    LinkUp {
        /// One end.
        a: u32,
        /// The other.
        b: u32,
    },
    /// The run ends.
    End,
}

impl What {
    /// Whether it is an agent that does it, not the network.
    fn is_of_an_agent(&self) -> bool {
        !matches!(
            self,
            What::LinkDown { .. } | What::LinkUp { .. } | What::End
        )
    }
}

impl Scenario {
    /// Reads a scenario.
    ///
    /// # Errors
    /// When the file cannot be read or does not describe a scenario.
    pub fn read(path: &Path) -> Result<Scenario> {
        let text =
            std::fs::read_to_string(path).with_context(|| format!("reading {}", path.display()))?;
        let mut scenario: Scenario = serde_json::from_str(&text)
            .with_context(|| format!("{} is no scenario", path.display()))?;
        scenario.let_the_sender_begin()?;
        Ok(scenario)
    }

    /// Makes the host that has data the initiator, by the agents of the events.
    fn let_the_sender_begin(&mut self) -> Result<()> {
        let agents = || self.events.iter().filter(|e| e.what.is_of_an_agent());
        let of = |event: &TimedEvent| event.agent.unwrap_or(Role::Initiator);
        let Some(sender) = agents().map(of).next() else {
            return Ok(());
        };
        if let Some(other) = agents().find(|e| of(e) != sender) {
            bail!(
                "{}: the event at {} s is of another host than the one before; one of them alone can have data and change its destinations",
                self.name,
                other.time_s
            );
        }
        if sender == Role::Responder {
            for host in &mut self.hosts {
                host.role = match host.role {
                    Role::Initiator => Role::Responder,
                    Role::Responder => Role::Initiator,
                };
            }
        }
        Ok(())
    }

    /// The end of the run in seconds.
    #[must_use]
    pub fn end_s(&self) -> f64 {
        let last = self.events.iter().map(|e| e.time_s);
        last.fold(0.0, f64::max)
    }

    /// Which constants the module had.
    #[must_use]
    pub fn build(&self) -> Build {
        if self.trace.contains("RFC 2960") {
            Build::Rfc2960
        } else {
            Build::Stock
        }
    }

    /// The host of a role.
    ///
    /// # Errors
    /// When there is none.
    pub fn host(&self, role: Role) -> Result<&Host> {
        match self.hosts.iter().find(|h| h.role == role) {
            Some(h) => Ok(h),
            None => bail!("{}: no {role:?} among the hosts", self.name),
        }
    }
}
