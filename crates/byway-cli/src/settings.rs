//! The settings that `--preset` and `--set` make.

use crate::args::SettingArgs;
use crate::failure::Failure;
use byway::{Config, ConfigError};
use byway_dialect_ns2::Settings;
use byway_lab::scenario::{HasText, apply_overrides};

/// The preset of everything that is simulated or computed, so that it can be compared.
pub(crate) const STANDARD: &str = "rfc9260";

/// What a command for real sockets makes of settings.
#[derive(Copy, Clone)]
pub(crate) struct Usage {
    /// Made of the preset; options change it.
    pub(crate) defaults: fn(Config) -> Config,
    /// Made of the result: what the command cannot do without.
    pub(crate) needs: fn(Config) -> Config,
}

impl Usage {
    /// Settings are taken as they are.
    pub(crate) const PLAIN: Usage = Usage {
        defaults: |config| config,
        needs: |config| config,
    };
}

/// Settings for real sockets.
pub(crate) fn config(args: &SettingArgs) -> Result<Config, Failure> {
    config_for(args, Usage::PLAIN)
}

/// Settings for real sockets, of such a command.
pub(crate) fn config_for(args: &SettingArgs, usage: Usage) -> Result<Config, Failure> {
    let preset = |name: &str| Config::preset(name).map(usage.defaults);
    with(args, "byway", preset).map(usage.needs)
}

/// Settings for simulated hosts, which may imitate ns-2, too.
pub(crate) fn simulated(args: &SettingArgs) -> Result<Settings, Failure> {
    with(args, STANDARD, Settings::preset)
}

fn with<S: HasText>(
    args: &SettingArgs,
    default: &str,
    preset: impl Fn(&str) -> Result<S, ConfigError>,
) -> Result<S, Failure> {
    let name = args.preset.as_deref().unwrap_or(default);
    let base =
        preset(name).map_err(|e| Failure::wrong(format!("--preset {name}: {}", e.problem)))?;
    apply_overrides(&base, &args.set).map_err(|problems| Failure::wrong(problems.join("\n")))
}
