//! Chunks of runs as bytes: what a worker is asked for, and what it answers.
//!
//! Both begin with a mark. Then come records as in a journal: length, CRC32c,
//! contents. The first is a header, JSON. In an answer each other record is one
//! run: how long it took, and for each step of its chain whether there is a
//! record, and that record.

use super::deal::Share;
use super::journal::{next_record, record, take};
use super::rows::Answer;
use super::store::{put_record, take_record};
use serde::{Deserialize, Serialize};

const ASK: &[u8] = b"byway.chunk/1\n";
const ANSWER: &[u8] = b"byway.rows/1\n";

/// Runs that one worker is asked for.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Ask {
    /// The hash of the plan.
    pub(super) plan: String,
    /// The number of the chunk.
    pub(super) number: u64,
    /// The worker begins no other run after as many seconds.
    pub(super) seconds: f64,
    /// Chains, and places of their seeds.
    pub(super) runs: Vec<Share>,
}

/// The first record of an answer.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Head {
    /// The hash of the plan.
    pub(super) plan: String,
    /// The number of the chunk.
    pub(super) number: u64,
    /// Runs that follow: the first ones that were asked for.
    pub(super) runs: usize,
}

impl Ask {
    pub(super) fn encode(&self) -> Vec<u8> {
        encoded(ASK, self)
    }

    pub(super) fn decode(bytes: &[u8]) -> Result<Ask, String> {
        let mut rest = bytes;
        let ask: Ask = decoded(ASK, &mut rest).ok_or("these bytes are no chunk of runs")?;
        match rest {
            [] => Ok(ask),
            _ => Err("there are bytes behind the chunk".to_owned()),
        }
    }
}

/// The runs of some shares, one after the other: chains, and places of their seeds.
pub(super) fn places(shares: &[Share]) -> impl Iterator<Item = (usize, usize)> + '_ {
    let one = |(chain, range): &Share| {
        let chain = *chain;
        range.clone().map(move |place| (chain, place))
    };
    shares.iter().flat_map(one)
}

impl Head {
    pub(super) fn encode(&self) -> Vec<u8> {
        encoded(ANSWER, self)
    }

    /// Takes the head of an answer off `rest`.
    pub(super) fn decode(rest: &mut &[u8]) -> Option<Head> {
        decoded(ANSWER, rest)
    }
}

fn encoded(mark: &[u8], head: &impl Serialize) -> Vec<u8> {
    let mut bytes = mark.to_vec();
    // Plain structures of texts and numbers can always be written.
    bytes.extend(record(&serde_json::to_vec(head).unwrap_or_default()));
    bytes
}

fn decoded<'a, T: Deserialize<'a>>(mark: &[u8], rest: &mut &'a [u8]) -> Option<T> {
    *rest = rest.strip_prefix(mark)?;
    serde_json::from_slice(next_record(rest)?).ok()
}

/// Appends the answer to one run, which took as many seconds.
pub(super) fn put_answer(bytes: &mut Vec<u8>, seconds: f32, answer: &Answer) {
    let mut contents = seconds.to_le_bytes().to_vec();
    for step in answer {
        contents.push(u8::from(step.is_some()));
        if let Some(record) = step {
            put_record(&mut contents, record);
        }
    }
    bytes.extend(record(&contents));
}

/// Takes the answer to one run off `rest`: `values` of each step that `wanted`
/// names. None if it cannot be that.
pub(super) fn take_answer(
    rest: &mut &[u8],
    values: usize,
    wanted: &[bool],
) -> Option<(f32, Answer)> {
    let mut contents = next_record(rest)?;
    let inside = &mut contents;
    let seconds = f32::from_le_bytes(take(inside)?);
    let steps = wanted.iter().map(|wanted| {
        let [there] = take(inside)?;
        match (there, wanted) {
            (0, false) => Some(None),
            (1, true) => take_record(inside, Some(values)).map(Some),
            _ => None,
        }
    });
    let answer = steps.collect::<Option<Answer>>()?;
    let sound = inside.is_empty() && seconds >= 0.0 && seconds.is_finite();
    sound.then_some((seconds, answer))
}
