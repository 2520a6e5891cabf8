//! What the papers say, worked out from settings: machine, failover-time.

use crate::args::{FailoverTimeArgs, MachineArgs, MachineFormat};
use crate::failure::Failure;
use crate::settings::simulated;
use crate::terminal::{print, print_json};
use byway_papers::failover_time::{self, Question};
use byway_papers::machine::{self, Format};

pub(crate) fn machine(args: &MachineArgs) -> Result<(), Failure> {
    if args.page {
        return print(&machine::page());
    }
    let Some(name) = &args.name else {
        if matches!(args.format, MachineFormat::Json) {
            let each = machine::names().into_iter();
            let each = each.map(|(name, what)| serde_json::json!({"name": name, "what": what}));
            return print_json(&serde_json::json!({
                "schema": "byway.machines/1", "machines": each.collect::<Vec<_>>(),
            }));
        }
        let lines = machine::names()
            .into_iter()
            .map(|(name, what)| format!("{name:12}  {what}\n"));
        return print(&lines.collect::<String>());
    };
    let format = match args.format {
        MachineFormat::Text => Format::Text,
        MachineFormat::Mermaid => Format::Mermaid,
        MachineFormat::Dot => Format::Dot,
        MachineFormat::Json => Format::Json,
    };
    let config = simulated(&args.settings)?;
    print(&machine::render(name, &config, format).map_err(Failure::wrong)?)
}

pub(crate) fn failover_time(args: &FailoverTimeArgs) -> Result<(), Failure> {
    let mut name = args
        .settings
        .preset
        .clone()
        .unwrap_or_else(|| crate::settings::STANDARD.to_owned());
    for setting in &args.settings.set {
        name.push_str(&format!(", {} = {}", setting.key, setting.value));
    }
    let question = Question {
        name,
        config: simulated(&args.settings)?,
        rtt: args.rtt,
        rto: args.rto,
    };
    let found =
        failover_time::failover_time(&question).map_err(|e| Failure::wrong(e.to_string()))?;
    if args.json {
        return print_json(&found);
    }
    print(&failover_time::render(&found))
}
