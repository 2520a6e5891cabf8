//! The settings that `--preset` and `--set` make.

use crate::args::SettingArgs;
use crate::failure::Failure;
use byway::Config;
use byway_lab::scenario::apply_overrides;

/// The settings that `--preset` and `--set` make.
pub(crate) fn config(args: &SettingArgs) -> Result<Config, Failure> {
    let base = Config::preset(&args.preset)
        .map_err(|e| Failure::wrong(format!("--preset {}: {}", args.preset, e.problem)))?;
    apply_overrides(&base, &args.set).map_err(|problems| Failure::wrong(problems.join("\n")))
}
