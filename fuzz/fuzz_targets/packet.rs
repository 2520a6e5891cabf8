//! Bytes from anywhere: walk them in every way, write again what could be read,
//! and compare. The checks are those of the property tests of `byway-wire`.
#![no_main]

#[path = "../../crates/byway-wire/tests/wire/exercise.rs"]
mod exercise;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| exercise::exercise(bytes));
