//! Errors of sockets as Python's exceptions. The classes are in `byway/net_errors.py`; the
//! words are those of the crate `byway`, which the command prints too.

use byway::{BindError, Closed, CommandError, ConnectError, LossReason, SendError};
use pyo3::exceptions::PyRuntimeError;
use pyo3::{PyErr, import_exception};

import_exception!(byway.errors, SettingError);
import_exception!(byway.net_errors, AddressError);
import_exception!(byway.net_errors, AssociationClosed);
import_exception!(byway.net_errors, AssociationLost);
import_exception!(byway.net_errors, ConnectFailed);
import_exception!(byway.net_errors, EndpointClosed);
import_exception!(byway.net_errors, SendRefused);
import_exception!(byway.net_errors, WrongProcess);

/// The cause and the words of the reason.
pub(super) fn reason(reason: &LossReason) -> (&'static str, String) {
    (reason.name(), reason.to_string())
}

/// An address that cannot be used.
pub(super) fn address(message: String, number: Option<i32>) -> PyErr {
    AddressError::new_err((message, number))
}

/// A setting that cannot work.
pub(super) fn setting(field: &str, value: &str, problem: &str) -> PyErr {
    settings(&[(field.to_owned(), format!("{field} = {value}: {problem}"))])
}

/// Settings that cannot work: each with its key and the words.
pub(super) fn settings(problems: &[(String, String)]) -> PyErr {
    let count = match problems.len() {
        1 => "1 problem".to_owned(),
        n => format!("{n} problems"),
    };
    let lines: Vec<&str> = problems
        .iter()
        .map(|(_, message)| message.as_str())
        .collect();
    let message = format!("{count} in the settings\n{}", lines.join("\n"));
    // File, line, place, message and text of each.
    let found: Vec<(&str, usize, String, String, &str)> = problems
        .iter()
        .map(|(key, message)| ("settings", 0, key.clone(), message.clone(), ""))
        .collect();
    SettingError::new_err((message, found))
}

/// An argument that cannot work. The words name it.
fn argument(name: &'static str, message: String) -> PyErr {
    let problem = ("settings", 0, name, message.clone(), "");
    SettingError::new_err((message, vec![problem]))
}

pub(super) fn bind(error: BindError) -> PyErr {
    match error {
        BindError::Socket { ref source, .. } | BindError::Raw { ref source, .. } => {
            let number = source.raw_os_error();
            address(error.to_string(), number)
        }
        BindError::Addresses(ref source) => address(error.to_string(), source.raw_os_error()),
        BindError::UdpPort(_)
        | BindError::SctpPortInUse { .. }
        | BindError::KernelSctp
        | BindError::NoAddress => address(error.to_string(), None),
        BindError::Workers(_) | BindError::WorkersWithoutUdp(_) => {
            argument("workers", error.to_string())
        }
        // The list of local addresses.
        BindError::Config(e) if e.field.contains("local") => address(e.to_string(), None),
        BindError::Config(e) => setting(e.field, &e.value, &e.problem),
        other => PyRuntimeError::new_err(other.to_string()),
    }
}

pub(super) fn connect(error: &ConnectError) -> PyErr {
    use byway_core::ConnectError as Refused;
    let message = error.to_string();
    match error {
        ConnectError::Refused(Refused::Config(e)) => setting(e.field, &e.value, &e.problem),
        ConnectError::Refused(
            Refused::NoAddress | Refused::BadAddress(_) | Refused::NoSource(_),
        )
        | ConnectError::NoUdpPort(_)
        | ConnectError::UdpPort(_) => address(message, None),
        ConnectError::Failed {
            closed: Closed::Lost { reason: why, .. },
            ..
        } => {
            let (cause, words) = reason(why);
            ConnectFailed::new_err((message, words, cause))
        }
        ConnectError::EndpointClosed => EndpointClosed::new_err(message),
        _ => ConnectFailed::new_err((message,)),
    }
}

/// Whether there was no room.
pub(super) fn would_block(error: &SendError) -> bool {
    matches!(error, SendError::Refused(CommandError::WouldBlock { .. }))
}

pub(super) fn send(error: &SendError) -> PyErr {
    match error {
        SendError::Ended(end) => closed(end),
        SendError::Refused(CommandError::Gone | CommandError::ShuttingDown) => {
            AssociationClosed::new_err(error.to_string())
        }
        _ => SendRefused::new_err(error.to_string()),
    }
}

pub(super) fn closed(closed: &Closed) -> PyErr {
    let message = closed.to_string();
    match closed {
        Closed::Gracefully => AssociationClosed::new_err(message),
        Closed::Lost {
            reason: why,
            undelivered_messages,
        } => {
            let (cause, words) = reason(why);
            AssociationLost::new_err((message, words, cause, *undelivered_messages))
        }
        _ => EndpointClosed::new_err(message),
    }
}
