//! Programs that failed once, made small.
