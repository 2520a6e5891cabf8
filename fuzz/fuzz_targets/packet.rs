//! Arbitrary bytes are read in every way; what could be read is written again and
//! compared. The checks are those of the property tests of `byway-wire`.
#![no_main]

#[path = "../../crates/byway-wire/tests/wire/exercise.rs"]
mod exercise;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| exercise::exercise(bytes));
