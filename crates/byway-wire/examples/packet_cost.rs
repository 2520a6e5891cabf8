//! Prints what one packet costs: building, reading, and how much of it is the
//! checksum.
//!
//! ```text
//! cargo run --release -p byway-wire --example packet_cost
//! ```

use std::hint::black_box;
use std::time::Instant;

use byway_wire::crc32c::checksum;
use byway_wire::{Checksum, Chunk, CommonHeader, Data, Packet, PacketBuilder, Tsn};

const HEADER: CommonHeader = CommonHeader {
    source_port: 9_899,
    destination_port: 9_899,
    verification_tag: 7,
};
const ROUNDS: u32 = 20_000;

/// The fastest of several runs: what the code costs when nothing disturbs it.
fn nanoseconds<T>(mut run: impl FnMut() -> T) -> f64 {
    let time = |_| {
        let start = Instant::now();
        for _ in 0..ROUNDS {
            black_box(run());
        }
        start.elapsed().as_nanos() as f64 / f64::from(ROUNDS)
    };
    (0..50).map(time).fold(f64::MAX, f64::min)
}

fn data(payload: &[u8]) -> Data<'_> {
    Data {
        tsn: Tsn(1),
        stream_id: 2,
        ssn: 3,
        ppid: 4,
        unordered: false,
        begin: true,
        end: true,
        immediate: false,
        payload,
    }
}

fn build(buf: &mut Vec<u8>, payload: &[u8], sum: Checksum) {
    buf.clear();
    let mut packet = PacketBuilder::new(buf, HEADER);
    packet.data(&data(payload));
    packet.finish(sum);
}

fn payload_len(bytes: &[u8], verify: bool) -> usize {
    let Ok(packet) = Packet::parse(bytes) else {
        return 0;
    };
    if verify && !packet.checksum_is_valid() {
        return 0;
    }
    packet
        .chunks()
        .flatten()
        .flat_map(|raw| raw.parse())
        .fold(0, |sum, chunk| match chunk {
            Chunk::Data(data) => sum + data.payload.len(),
            _ => sum,
        })
}

fn main() {
    println!(
        "packet  build  build+sum  read  read+verify  checksum alone  sack(4 gaps): build+sum  read+verify  [ns]"
    );
    for len in [64, 576, 1_200, 1_452, 8_952] {
        let payload = vec![0x5A; len - 28];
        let mut buf = Vec::with_capacity(len + 4);
        let plain = nanoseconds(|| build(black_box(&mut buf), black_box(&payload), Checksum::Zero));
        let summed =
            nanoseconds(|| build(black_box(&mut buf), black_box(&payload), Checksum::Crc32c));
        let read = nanoseconds(|| payload_len(black_box(&buf), false));
        let verified = nanoseconds(|| payload_len(black_box(&buf), true));
        let sum = nanoseconds(|| checksum(black_box(&buf)));
        let gaps = [(2, 3), (5, 9), (11, 11), (14, 20)];
        let sack = nanoseconds(|| {
            buf.clear();
            let mut packet = PacketBuilder::new(black_box(&mut buf), HEADER);
            packet.sack(Tsn(1), 65_536, black_box(&gaps), &[]);
            packet.finish(Checksum::Crc32c);
        });
        let sack_read = nanoseconds(|| {
            let packet = Packet::parse(black_box(&buf))
                .ok()
                .filter(Packet::checksum_is_valid);
            for chunk in packet
                .iter()
                .flat_map(Packet::chunks)
                .flatten()
                .flat_map(|raw| raw.parse())
            {
                if let Chunk::Sack(sack) = chunk {
                    black_box(
                        sack.gap_blocks()
                            .map(|(start, end)| u32::from(end - start))
                            .sum::<u32>(),
                    );
                }
            }
        });
        println!(
            "{len:6}  {plain:5.1}  {summed:9.1}  {read:4.1}  {verified:11.1}  {sum:14.1}  {sack:23.1}  {sack_read:11.1}"
        );
    }
}
