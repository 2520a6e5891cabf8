//! A packet as text.

use byway_wire::{
    Causes, Chunk, Data, IData, IForwardTsn, Packet, Param, Params, RawParam, Sack, Tsn,
    cause_code, chunk_type,
};

/// Reads packets, and takes tags and initial TSNs from INIT and INIT ACK.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reader {
    /// Tags that packets to A and to Z carry.
    pub(crate) tags: [u32; 2],
    /// The TSNs of the first DATA chunks of A and of Z.
    pub(crate) initial: [Tsn; 2],
    /// Draws windows of SACKs, in units of this number of bytes.
    pub(crate) window_unit: Option<u32>,
}

impl Reader {
    /// A TSN of `side`'s data, counted from 1.
    fn number(&self, side: usize, tsn: Tsn) -> i32 {
        tsn.ahead_of(self.initial[side]).wrapping_add(1)
    }

    /// The TSN with this number.
    pub(crate) fn tsn(&self, side: usize, number: u32) -> Tsn {
        self.initial[side].plus(number.wrapping_sub(1))
    }

    pub(crate) fn read(&mut self, from: usize, bytes: &[u8]) -> String {
        let Ok(packet) = Packet::parse(bytes) else {
            return "nothing".to_owned();
        };
        let mut texts = Vec::new();
        for raw in packet.chunks() {
            match raw.map(|r| (r.kind, r.parse())) {
                Ok((_, Ok(chunk))) => texts.push(self.chunk(from, &chunk)),
                Ok((kind, Err(_))) => texts.push(format!("broken {kind}")),
                Err(_) => texts.push("broken".to_owned()),
            }
        }
        texts.join(", ")
    }

    fn chunk(&mut self, from: usize, chunk: &Chunk<'_>) -> String {
        match chunk {
            Chunk::Init(i) | Chunk::InitAck(i) => {
                self.tags[from] = i.initiate_tag;
                self.initial[from] = i.initial_tsn;
                let name = matches!(chunk, Chunk::Init(_));
                (if name { "INIT" } else { "INIT ACK" }).to_owned()
            }
            Chunk::Data(d) => self.data(from, d),
            Chunk::IData(d) => self.i_data(from, d),
            Chunk::IForwardTsn(f) => self.i_forward_tsn(from, f),
            Chunk::Sack(s) => self.sack(from, s),
            Chunk::Shutdown(s) => {
                format!("SHUTDOWN {}", self.number(1 - from, s.cumulative_tsn_ack))
            }
            Chunk::Abort(a) => {
                let t = if a.tag_reflected { " (T)" } else { "" };
                format!("ABORT{t}{}", causes(a.causes))
            }
            Chunk::ShutdownComplete(c) => {
                let t = if c.tag_reflected { " (T)" } else { "" };
                format!("SHUTDOWN COMPLETE{t}")
            }
            Chunk::Error(e) => format!("ERROR{}", causes(e.causes)),
            Chunk::Heartbeat(_) => "HEARTBEAT".to_owned(),
            Chunk::HeartbeatAck(_) => "HEARTBEAT ACK".to_owned(),
            Chunk::CookieEcho(_) => "COOKIE ECHO".to_owned(),
            Chunk::CookieAck => "COOKIE ACK".to_owned(),
            Chunk::ShutdownAck => "SHUTDOWN ACK".to_owned(),
            Chunk::Pad(_) => "PAD".to_owned(),
            Chunk::Timestamp(t) => match (t.sent, t.echo) {
                (Some(_), Some(_)) => "TS with echo",
                (_, None) => "TS",
                (None, Some(_)) => "echo",
            }
            .to_owned(),
            Chunk::Unknown(raw) => format!("type {}", raw.kind),
            Chunk::Auth(_) => "AUTH".to_owned(),
            Chunk::Asconf(a) => format!("ASCONF{}", changes(a.params)),
            Chunk::AsconfAck(a) => format!("ASCONF-ACK{}", changes(a.params)),
            _ => chunk_type::name(chunk_type::PAD)
                .unwrap_or_default()
                .to_owned(),
        }
    }

    fn data(&self, from: usize, d: &Data<'_>) -> String {
        let mut text = format!("DATA {}", self.number(from, d.tsn));
        text += &marks(d.stream_id, d.unordered, d.immediate);
        match (d.begin, d.end) {
            (true, true) => {}
            (true, false) => text += " begin",
            (false, false) => text += " middle",
            (false, true) => text += " end",
        }
        text
    }

    /// `m2`: MID 2; `f3`: FSN 3.
    fn i_data(&self, from: usize, d: &IData<'_>) -> String {
        let mut text = format!("I-DATA {}", self.number(from, d.tsn));
        text += &marks(d.stream_id, d.unordered, d.immediate);
        text += &format!(" m{}", d.mid);
        match (d.begin, d.end) {
            (true, true) => {}
            (true, false) => text += " begin",
            (false, false) => text += &format!(" f{}", d.fsn()),
            (false, true) => text += &format!(" f{} end", d.fsn()),
        }
        text
    }

    fn i_forward_tsn(&self, from: usize, f: &IForwardTsn<'_>) -> String {
        let mut text = format!("I-FORWARD-TSN {}", self.number(from, f.new_cumulative_tsn));
        for s in f.skipped() {
            let kind = if s.unordered { " U" } else { "" };
            text += &format!(" s{}{kind} m{}", s.stream_id, s.mid);
        }
        text
    }

    fn sack(&self, from: usize, s: &Sack<'_>) -> String {
        let cumulative = self.number(1 - from, s.cumulative_tsn_ack);
        let mut text = format!("SACK {cumulative}");
        for (a, b) in s.gap_blocks() {
            let [first, last] = [a, b].map(|n| cumulative + i32::from(n));
            text += &format!(" [{first}-{last}]");
        }
        for d in s.duplicates() {
            text += &format!(" twice {}", self.number(1 - from, d));
        }
        if s.flags != 0 {
            text += &format!(" answers {}", s.flags >> 6);
        }
        if let Some(unit) = self.window_unit {
            text += &format!(" R{}", s.a_rwnd / unit);
        } else if s.a_rwnd == 0 {
            text += " closed";
        }
        text
    }
}

/// What DATA and I-DATA say of their stream and of themselves, but for the first stream.
fn marks(stream: u16, unordered: bool, immediate: bool) -> String {
    let mut text = String::new();
    if stream != 0 {
        text += &format!(" s{stream}");
    }
    if unordered {
        text += " U";
    }
    if immediate {
        text += " I";
    }
    text
}

/// The changes of an ASCONF, or the answers to them.
fn changes(params: Params<'_>) -> String {
    let text = |raw: RawParam<'_>| match raw.parse() {
        Ok(Param::AddIp { address, .. }) => format!(" +{address}"),
        Ok(Param::DeleteIp { address, .. }) => format!(" -{address}"),
        Ok(Param::SetPrimary { address, .. }) => format!(" *{address}"),
        Ok(Param::SuccessIndication { .. }) => " done".to_owned(),
        Ok(Param::ErrorCauseIndication { causes: c, .. }) => causes(c),
        _ => " ?".to_owned(),
    };
    params.iter().map_while(Result::ok).map(text).collect()
}

fn causes(causes: Causes<'_>) -> String {
    let names = causes.iter().map_while(Result::ok);
    names
        .map(|c| format!(": {}", cause_code::name(c.code).unwrap_or("unknown cause")))
        .collect()
}
