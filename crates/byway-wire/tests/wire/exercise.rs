//! Reads bytes in every way the crate offers and holds what was read against
//! what comes out when it is written again. Shared by the property tests and
//! the fuzz target `packet`.

use byway_wire::{
    Cause, CauseWriter, Causes, Checksum, Chunk, ChunkError, Packet, PacketBuilder, Param,
    ParamWriter, Params, RawChunk, RawParam,
};

/// Panics when something that was read does not survive being written.
pub(crate) fn exercise(bytes: &[u8]) {
    let Ok(packet) = Packet::parse(bytes) else {
        assert!(bytes.len() < 12, "a common header was refused");
        return;
    };
    assert_eq!(packet.as_bytes(), bytes);
    let _ = packet.checksum_is_valid();
    let mut chunks = packet.chunks();
    let mut left = bytes.len();
    let mut parsed = Vec::new();
    while let Some(raw) = chunks.next() {
        let Ok(raw) = raw else {
            assert!(
                chunks.next().is_none(),
                "the walk went on behind a broken length"
            );
            break;
        };
        assert!(chunks.rest().len() < left, "the walk did not progress");
        left = chunks.rest().len();
        assert_eq!(&raw.bytes[4..], raw.value);
        let _ = RawChunk::unknown_action(raw.kind).stops();
        if let Ok(chunk) = raw.parse() {
            walk(&chunk);
            parsed.push(chunk);
        }
    }
    write_again(&packet, &parsed);
}

fn walk(chunk: &Chunk<'_>) {
    match chunk {
        Chunk::Init(init) | Chunk::InitAck(init) => params(init.params),
        Chunk::Asconf(asconf) => params(asconf.params),
        Chunk::AsconfAck(ack) => params(ack.params),
        Chunk::ReConfig(config) => params(config.params),
        Chunk::Abort(abort) => causes(abort.causes),
        Chunk::Error(error) => causes(error.causes),
        Chunk::Sack(sack) => {
            assert_eq!(sack.gap_blocks().count(), sack.gap_block_count());
            assert_eq!(sack.duplicates().count(), sack.duplicate_count());
        }
        Chunk::ForwardTsn(forward) => drop(forward.skipped().last()),
        Chunk::IForwardTsn(forward) => drop(forward.skipped().last()),
        Chunk::IData(data) => assert_eq!(data.ppid().is_some(), data.begin),
        _ => {}
    }
}

fn params(list: Params<'_>) {
    for raw in list {
        let Ok(raw) = raw else { return };
        let _ = RawParam::unknown_action(raw.kind).reports();
        assert!(list.find(raw.kind).is_some());
        let Ok(param) = raw.parse() else { continue };
        let mut again = Vec::new();
        assert!(ParamWriter::over(&mut again).param(&param));
        let reread = Params::new(&again)
            .iter()
            .next()
            .map(|raw| raw.and_then(|raw| raw.parse()));
        assert_eq!(reread, Some(Ok(param)));
        if let Param::ErrorCauseIndication { causes: inner, .. } = param {
            causes(inner);
        }
    }
}

fn causes(list: Causes<'_>) {
    for raw in list {
        let Ok(raw) = raw else { return };
        let Ok(cause) = raw.parse() else { continue };
        let mut again = Vec::new();
        assert!(CauseWriter::over(&mut again).cause(&cause));
        let reread: Option<Result<Cause<'_>, _>> = Causes::new(&again)
            .iter()
            .next()
            .map(|raw| raw.and_then(|raw| raw.parse()));
        assert_eq!(reread, Some(Ok(cause)));
    }
}

/// Chunks that were read come back equal after being written, and the written
/// packet is sound.
fn write_again(packet: &Packet<'_>, chunks: &[Chunk<'_>]) {
    let mut buf = vec![0xEE; 3];
    let mut builder = PacketBuilder::new(&mut buf, packet.header());
    for chunk in chunks {
        builder.chunk(chunk);
    }
    assert_eq!(builder.chunk_count(), chunks.len());
    let len = builder.finish(Checksum::Crc32c);
    assert_eq!(len + 3, buf.len());
    let again = Packet::parse(&buf[3..]).expect("a header was written");
    assert!(again.checksum_is_valid());
    assert_eq!(again.header(), packet.header());
    let reread: Result<Vec<Chunk<'_>>, ChunkError> = again
        .chunks()
        .map(|raw| raw.and_then(|raw| raw.parse()))
        .collect();
    assert_eq!(reread.as_deref(), Ok(chunks));
}
