//! The settings that `--preset` and `--set` make.

use crate::args::SettingArgs;
use crate::failure::Failure;
use byway::{Config, ConfigError};
use byway_dialect_ns2::Settings;
use byway_lab::scenario::{HasText, apply_overrides};

/// The preset of everything that is simulated or computed, so that it can be compared.
pub(crate) const STANDARD: &str = "rfc9260";

/// Settings for real sockets.
pub(crate) fn config(args: &SettingArgs) -> Result<Config, Failure> {
    with(args, "byway", Config::preset)
}

/// Settings for simulated hosts, which may imitate ns-2, too.
pub(crate) fn simulated(args: &SettingArgs) -> Result<Settings, Failure> {
    with(args, STANDARD, Settings::preset)
}

fn with<S: HasText>(
    args: &SettingArgs,
    default: &str,
    preset: fn(&str) -> Result<S, ConfigError>,
) -> Result<S, Failure> {
    let name = args.preset.as_deref().unwrap_or(default);
    let base =
        preset(name).map_err(|e| Failure::wrong(format!("--preset {name}: {}", e.problem)))?;
    apply_overrides(&base, &args.set).map_err(|problems| Failure::wrong(problems.join("\n")))
}
