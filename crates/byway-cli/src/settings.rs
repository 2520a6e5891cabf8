//! The settings that `--preset` and `--set` make.

use crate::args::SettingArgs;
use crate::failure::Failure;
use byway::{Config, ConfigError};
use byway_dialect_ns2::Settings;
use byway_lab::scenario::{HasText, apply_overrides};

/// Settings for real sockets.
pub(crate) fn config(args: &SettingArgs) -> Result<Config, Failure> {
    with(args, Config::preset)
}

/// Settings for simulated hosts, which may imitate ns-2, too.
pub(crate) fn simulated(args: &SettingArgs) -> Result<Settings, Failure> {
    with(args, Settings::preset)
}

fn with<S: HasText>(
    args: &SettingArgs,
    preset: fn(&str) -> Result<S, ConfigError>,
) -> Result<S, Failure> {
    let base = preset(&args.preset)
        .map_err(|e| Failure::wrong(format!("--preset {}: {}", args.preset, e.problem)))?;
    apply_overrides(&base, &args.set).map_err(|problems| Failure::wrong(problems.join("\n")))
}
