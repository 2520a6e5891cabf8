//! Settings as lines that a target takes.

use super::candidates::{Candidate, Target};
use byway_core::units::parse_duration;

/// A setting of byway, what Linux and usrsctp call it, and what to know there.
struct Name {
    key: &'static str,
    linux: &'static str,
    usrsctp: &'static str,
}

const fn name(key: &'static str, linux: &'static str, usrsctp: &'static str) -> Name {
    Name {
        key,
        linux,
        usrsctp,
    }
}

/// Linux: Documentation/networking/ip-sysctl.rst and net/sctp/sysctl.c. usrsctp: RFC 6458 and
/// RFC 7829 section 7, `usrsctplib/netinet/sctp_uio.h`. Times are milliseconds in both.
const NAMES: &[Name] = &[
    name("rto.min", "net.sctp.rto_min", "srto_min"),
    name("rto.max", "net.sctp.rto_max", "srto_max"),
    name("rto.initial", "net.sctp.rto_initial", "srto_initial"),
    name("hb.interval", "net.sctp.hb_interval", "spp_hbinterval"),
    name(
        "failure.path_max_retrans",
        "net.sctp.path_max_retrans",
        "spp_pathmaxrxt",
    ),
    name(
        "failover.potentially_failed.max_retrans",
        "net.sctp.pf_retrans",
        "spt_pathpfthld",
    ),
    name("sack.delay", "net.sctp.sack_timeout", "sack_delay"),
];

/// The lines of a candidate's settings.
pub(super) fn lines(candidate: &Candidate) -> Vec<String> {
    match candidate.target {
        Target::Byway => byway(candidate),
        Target::Linux => linux(candidate),
        Target::Usrsctp => usrsctp(candidate),
    }
}

/// Arguments of the commands.
fn byway(candidate: &Candidate) -> Vec<String> {
    let mut lines = vec![format!("--preset {}", candidate.preset)];
    let all = candidate.overrides();
    lines.extend(all.iter().map(|s| match s.value.contains([' ', '{', '(']) {
        true => format!("--set '{}={}'", s.key, s.value),
        false => format!("--set {}={}", s.key, s.value),
    }));
    lines
}

/// Milliseconds, or the number itself.
fn number(value: &str) -> String {
    parse_duration(value).map_or_else(|_| value.to_owned(), |d| d.as_millis().to_string())
}

/// Lines of `sysctl.conf`.
fn linux(candidate: &Candidate) -> Vec<String> {
    let mut lines: Vec<String> = candidate
        .settings
        .iter()
        .filter_map(|(key, value)| {
            let name = NAMES.iter().find(|n| n.key == key)?;
            Some(format!("{} = {}", name.linux, number(value)))
        })
        .collect();
    // rto_min is refused above rto_max, and rto_max below rto_min, so the order matters only
    // for values that cross the old ones: none here do.
    if candidate
        .settings
        .iter()
        .any(|(k, _)| k.contains("potentially_failed"))
    {
        lines.push("net.sctp.pf_enable = 1".to_owned());
    }
    if lines.is_empty() {
        lines.push("# the defaults".to_owned());
    }
    lines
}

/// Lines of C: a socket option each.
fn usrsctp(candidate: &Candidate) -> Vec<String> {
    let field = |key: &str| {
        let (_, value) = candidate.settings.iter().find(|(k, _)| k == key)?;
        let name = NAMES.iter().find(|n| n.key == key)?;
        Some(format!(".{} = {}", name.usrsctp, number(value)))
    };
    let mut lines = Vec::new();
    let mut option = |structure: &str, variable: &str, name: &str, fields: Vec<String>| {
        lines.push(format!("struct {structure} {variable} = {{"));
        lines.extend(fields.iter().map(|field| format!("  {field},")));
        lines.push("};".to_owned());
        lines.push(format!("usrsctp_setsockopt(sock, IPPROTO_SCTP, {name},"));
        lines.push(format!(
            "                   &{variable}, sizeof({variable}));"
        ));
    };
    // Fields that are 0 keep their values (RFC 6458 section 8.1.1). RTO.Initial must lie
    // between RTO.Min and RTO.Max, so it is lowered with RTO.Max.
    let mut rto: Vec<String> = ["rto.initial", "rto.max", "rto.min"]
        .iter()
        .filter_map(|key| field(key))
        .collect();
    if !rto.is_empty() {
        rto.insert(0, ".srto_assoc_id = SCTP_FUTURE_ASSOC".to_owned());
        option("sctp_rtoinfo", "rto", "SCTP_RTOINFO", rto);
    }
    let interval = field("hb.interval");
    let errors = field("failure.path_max_retrans");
    if interval.is_some() || errors.is_some() {
        let mut fields = vec![".spp_assoc_id = SCTP_FUTURE_ASSOC".to_owned()];
        fields.extend(
            interval
                .iter()
                .map(|_| ".spp_flags = SPP_HB_ENABLE".to_owned()),
        );
        fields.extend(interval.into_iter().chain(errors.clone()));
        option("sctp_paddrparams", "peer", "SCTP_PEER_ADDR_PARAMS", fields);
    }
    if let Some(threshold) = field("failover.potentially_failed.max_retrans") {
        // The option sets both thresholds, so Path.Max.Retrans goes with it (5 by default).
        let errors = errors.map_or_else(
            || ".spt_pathmaxrxt = 5".to_owned(),
            |e| e.replace("spp_pathmaxrxt", "spt_pathmaxrxt"),
        );
        let fields = vec![
            ".spt_assoc_id = SCTP_FUTURE_ASSOC".to_owned(),
            errors,
            threshold,
        ];
        option(
            "sctp_paddrthlds",
            "thresholds",
            "SCTP_PEER_ADDR_THLDS",
            fields,
        );
    }
    if let Some(delay) = field("sack.delay") {
        let fields = vec![".sack_assoc_id = SCTP_FUTURE_ASSOC".to_owned(), delay];
        option("sctp_sack_info", "sack", "SCTP_DELAYED_SACK", fields);
    }
    if lines.is_empty() {
        lines.push("/* the defaults */".to_owned());
    }
    lines
}

/// What to know of the lines.
pub(super) fn remarks(candidate: &Candidate) -> Vec<&'static str> {
    let sets = |key: &str| candidate.settings.iter().any(|(k, _)| k == key);
    let mut found = Vec::new();
    match candidate.target {
        Target::Byway => {
            if sets("sack.delay") {
                found.push("sack.delay acts at the receiver: set it on both sides");
            }
        }
        Target::Linux => {
            found.push(
                "milliseconds; associations that begin later take them. The kernel refuses what \
                 is out of range (EINVAL), rounds timers up to 1/HZ s (4 ms at 250 Hz)",
            );
            if sets("sack.delay") {
                found.push("sack_timeout acts at the receiver: set it on both sides (1 to 500)");
            }
            if sets("failure.path_max_retrans") {
                found.push("path_max_retrans is at least 1; pf_retrans is below it");
            }
        }
        Target::Usrsctp => {
            found.push("milliseconds; before usrsctp_connect() or usrsctp_listen()");
            if sets("sack.delay") {
                found.push("sack_delay acts at the receiver: set it on both sides (1 to 500)");
            }
            if sets("rto.min") && !sets("rto.initial") {
                found.push("srto_initial is 1000 by default and must lie between the other two");
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::advise::baselines;

    fn candidate(target: Target, settings: &[(&str, &str)]) -> Candidate {
        let mut candidate = baselines(target).remove(0);
        let settings = settings.iter();
        candidate.settings = settings.map(|(k, v)| ((*k).into(), (*v).into())).collect();
        candidate
    }

    const SETTINGS: &[(&str, &str)] = &[
        ("rto.min", "100 ms"),
        ("rto.max", "3 s"),
        ("failover.potentially_failed.max_retrans", "1"),
        ("hb.interval", "5 s"),
    ];

    #[test]
    fn linux_takes_milliseconds_under_its_own_names() {
        let lines = lines(&candidate(Target::Linux, SETTINGS));
        assert_eq!(
            lines,
            [
                "net.sctp.rto_min = 100",
                "net.sctp.rto_max = 3000",
                "net.sctp.pf_retrans = 1",
                "net.sctp.hb_interval = 5000",
                "net.sctp.pf_enable = 1"
            ]
        );
    }

    #[test]
    fn usrsctp_takes_socket_options() {
        let lines = lines(&candidate(Target::Usrsctp, SETTINGS)).join("\n");
        for part in [
            "struct sctp_rtoinfo rto = {\n  .srto_assoc_id = SCTP_FUTURE_ASSOC,\n  \
             .srto_max = 3000,\n  .srto_min = 100,\n};",
            ".spp_flags = SPP_HB_ENABLE,\n  .spp_hbinterval = 5000",
            ".spt_pathmaxrxt = 5,\n  .spt_pathpfthld = 1",
            "SCTP_PEER_ADDR_THLDS,\n                   &thresholds, sizeof(thresholds)",
        ] {
            assert!(lines.contains(part), "{part} in\n{lines}");
        }
    }

    #[test]
    fn byway_takes_arguments_that_a_shell_keeps_together() {
        let lines = lines(&candidate(Target::Byway, SETTINGS));
        assert_eq!(lines[0], "--preset byway");
        assert_eq!(lines[1], "--set 'rto.min=100 ms'");
    }
}
