//! `--config FILE`: options in a file, which give way to those of the command line.

use crate::args::Cli;
use crate::failure::Failure;
use crate::secrets::hidden;
use crate::settings::config;
use crate::terminal::print;
use byway_lab::options::{Given, Known, Takes, read};
use byway_lab::scenario::apply_overrides;
use byway_lab::source::{Problem, bounded};
use byway_tls::Ticket;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, CommandFactory, Parser};
use std::collections::BTreeMap;
use std::error::Error;
use std::ffi::OsString;
use std::fmt::Write;
use std::io;
use std::path::{Path, PathBuf};

/// Options that are read from a file.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct ConfigArgs {
    /// Take options from this TOML file, too: its keys are their long names, such as to = "@ticket".
    /// An option of the command line takes the place of the file's
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Print such a file with all options, those that are set and, as comments, the others, and do
    /// nothing else. A ticket is left out
    #[arg(long)]
    pub(crate) print_config: bool,
}

/// Those that a file does not have.
const NOT_IN_FILES: [&str; 4] = ["config", "print-config", "help", "version"];
/// Longest file that is read.
const LONGEST: u64 = 1 << 20;

/// What the command line asks for.
pub(crate) enum Asked {
    Command(Box<Cli>),
    /// It is done.
    Nothing,
}

/// Why it cannot be read.
pub(crate) enum Unread {
    /// What clap says.
    Clap(clap::Error),
    Failure(Failure),
}

impl From<Failure> for Unread {
    fn from(failure: Failure) -> Unread {
        Unread::Failure(failure)
    }
}

/// Reads the command line, with the options of the file that it names.
pub(crate) fn parse(words: Vec<OsString>) -> Result<Asked, Unread> {
    let said = words.clone();
    read_words(words).map_err(|unread| match unread {
        Unread::Clap(error) => Unread::Clap(with_commands(error, &said)),
        Unread::Failure(failure) => Unread::Failure(failure),
    })
}

/// Says which commands have an option that this one has not: who forgot on which side he is does not mean the option
/// that is spelt most alike.
fn with_commands(mut error: clap::Error, words: &[OsString]) -> clap::Error {
    let Some(ContextValue::String(argument)) = error.get(ContextKind::InvalidArg) else {
        return error;
    };
    let name = argument.split(['=', ' ']).next().unwrap_or_default();
    let long = name.trim_start_matches('-').to_owned();
    let all = Cli::command();
    let has = |command: &&Command| {
        command
            .get_arguments()
            .any(|a| a.get_long() == Some(&*long))
    };
    let others: Vec<&str> = all
        .get_subcommands()
        .filter(has)
        .map(Command::get_name)
        .collect();
    let here = words.iter().find(|w| all.find_subcommand(w).is_some());
    let is_here = |name: &&str| here.is_some_and(|here| here == *name);
    // What nearly all have says nothing.
    if error.kind() != ErrorKind::UnknownArgument
        || !(1..=5).contains(&others.len())
        || others.iter().any(is_here)
    {
        return error;
    }
    let tip = format!("--{long} is an option of byway {}", others.join(", "));
    error.remove(ContextKind::SuggestedArg);
    // It is that of the option which is spelt most alike.
    error.remove(ContextKind::Usage);
    error.insert(
        ContextKind::Suggested,
        ContextValue::StyledStrs(vec![tip.into()]),
    );
    error
}

fn read_words(words: Vec<OsString>) -> Result<Asked, Unread> {
    let names = |option: &str| {
        let with_value = format!("{option}=");
        let is = |w: &OsString| w == option || w.to_string_lossy().starts_with(&with_value);
        words.iter().take_while(|w| *w != "--").any(is)
    };
    if !names("--config") && !names("--print-config") {
        let cli = Cli::try_parse_from(words).map_err(Unread::Clap)?;
        return Ok(Asked::Command(Box::new(cli)));
    }
    let mut all = Cli::command();
    all.build();
    // What is wrong with the words themselves is told below.
    let found = Cli::command().ignore_errors(true);
    let found = found.try_get_matches_from(&words).ok();
    let command = found.as_ref().and_then(ArgMatches::subcommand);
    let Some((name, matches)) = command else {
        let cli = Cli::try_parse_from(words).map_err(Unread::Clap)?;
        return Ok(Asked::Command(Box::new(cli)));
    };
    let of_file = match file_of(matches) {
        Some(file) => Some((file, given(&all, name, file)?)),
        None => None,
    };
    let words = match &of_file {
        Some((_, given)) => with_options(&words, name, given, matches),
        None => words.clone(),
    };
    let parsed = Cli::try_parse_from(&words);
    let is_incomplete = |e: &clap::Error| e.kind() == ErrorKind::MissingRequiredArgument;
    match parsed {
        Ok(_) if names("--print-config") => print_options(&all, name, &words)?,
        Err(error) if names("--print-config") && is_incomplete(&error) => {
            print_options(&all, name, &words)?;
        }
        Ok(cli) => return Ok(Asked::Command(Box::new(cli))),
        Err(error) => return Err(told(error, of_file)),
    }
    Ok(Asked::Nothing)
}

fn file_of(matches: &ArgMatches) -> Option<&PathBuf> {
    // Other commands have no such option.
    matches.try_get_one::<PathBuf>("config").ok().flatten()
}

/// What is wrong when both are taken together: it says what came from the file.
fn told(error: clap::Error, of_file: Option<(&PathBuf, Vec<Given>)>) -> Unread {
    let Some((file, given)) = of_file.filter(|_| error.use_stderr()) else {
        return Unread::Clap(error);
    };
    let names: Vec<String> = given.iter().map(|g| format!("--{}", g.name)).collect();
    let names = match names.is_empty() {
        true => "no option".to_owned(),
        false => names.join(", "),
    };
    let error = error.to_string();
    let error = error.trim_end().trim_start_matches("error: ");
    let words = format!("{error}\n{} gives {names}", file.display());
    Unread::Failure(Failure::wrong(words))
}

/// The options of a file.
fn given(all: &Command, name: &str, file: &Path) -> Result<Vec<Given>, Failure> {
    let text = contents(file).map_err(|e| Failure::file("read the options", file, &e))?;
    let known: Vec<Known> = in_files(all, name).map(|(known, _)| known).collect();
    let mut check = |argument: &str| check(name, argument);
    let command = format!("byway {name}");
    let shown = file.display().to_string();
    read(&shown, &text, &command, &known, &mut check).map_err(|mut problems| {
        problems.0.iter_mut().for_each(hide);
        Failure::wrong(problems.to_string())
    })
}

fn contents(file: &Path) -> io::Result<String> {
    let is_no_text = |e| io::Error::new(io::ErrorKind::InvalidData, e);
    String::from_utf8(bounded(file, LONGEST)?).map_err(is_no_text)
}

/// A line that may have a ticket is not shown: only its beginning would be known as one.
fn hide(problem: &mut Problem) {
    let is_secret = |line: &str| line.trim_start().starts_with("to") || hidden(line) != line;
    if is_secret(&problem.text) {
        let key = problem.text.split('=').next().unwrap_or_default();
        problem.text = match problem.text.contains('=') {
            true => format!("{key}= ..."),
            false => "...".to_owned(),
        };
        problem.columns = 0..0;
    }
}

/// The options that a file may have, in the order of the help, with what clap knows of them.
fn in_files<'a>(all: &'a Command, name: &str) -> impl Iterator<Item = (Known, &'a Arg)> {
    let command = all.find_subcommand(name);
    let options = command.into_iter().flat_map(Command::get_arguments);
    options.filter_map(|option| {
        let long = option.get_long()?;
        if NOT_IN_FILES.contains(&long) {
            return None;
        }
        let takes = match option.get_action() {
            _ if long == "set" => Takes::Settings,
            ArgAction::SetTrue => Takes::Flag,
            ArgAction::Count => Takes::Count,
            ArgAction::Append => Takes::Many,
            ArgAction::Set => Takes::One,
            _ => return None,
        };
        let name = long.to_owned();
        Some((Known { name, takes }, option))
    })
}

/// What is wrong with an argument by itself.
fn check(command: &str, argument: &str) -> Result<(), String> {
    if let Some(setting) = argument.strip_prefix("--set=") {
        return check_setting(setting);
    }
    let Err(error) = Cli::command().try_get_matches_from(["byway", command, argument]) else {
        return Ok(());
    };
    match error.kind() {
        // What others would make right.
        ErrorKind::MissingRequiredArgument | ErrorKind::ArgumentConflict => Ok(()),
        ErrorKind::InvalidValue => Err(match error.get(ContextKind::ValidValue) {
            Some(ContextValue::Strings(right)) if !right.is_empty() => {
                format!("expected {}", right.join(", "))
            }
            _ => "a value is missing".to_owned(),
        }),
        _ => Err(match error.source() {
            Some(why) => why.to_string(),
            None => first_line(&error),
        }),
    }
}

fn first_line(error: &clap::Error) -> String {
    let text = error.to_string();
    let line = text.lines().next().unwrap_or_default();
    line.trim_start_matches("error: ").to_owned()
}

/// What is wrong with KEY=VALUE. Whether settings fit each other is asked when all are known.
fn check_setting(text: &str) -> Result<(), String> {
    let setting = text.parse()?;
    let base = config(&crate::args::SettingArgs::default()).map_err(|f| f.message)?;
    let Err(problems) = apply_overrides(&base, &[setting]) else {
        return Ok(());
    };
    let of_this = format!("--set {text}: ");
    let why = problems.iter().find_map(|p| p.strip_prefix(&of_this));
    why.map_or(Ok(()), |why| Err(why.to_owned()))
}

/// The words of a command line with the options of a file behind the command. Those that the command line
/// has are left out; of settings the last one holds.
fn with_options(
    words: &[OsString],
    name: &str,
    given: &[Given],
    matches: &ArgMatches,
) -> Vec<OsString> {
    let is_said = |option: &str| {
        let id = option.replace('-', "_");
        option != "set" && matches!(source(matches, &id), Some(ValueSource::CommandLine))
    };
    let at = words.iter().position(|w| w == name).unwrap_or(0);
    let (before, behind) = words.split_at((at + 1).min(words.len()));
    let of_file = given.iter().filter(|g| !is_said(&g.name));
    let of_file = of_file.flat_map(|g| g.arguments.iter().map(OsString::from));
    let before = before.iter().cloned().chain(of_file);
    before.chain(behind.iter().cloned()).collect()
}

/// Where the value of an option comes from; clap panics for what the command has not.
fn source(matches: &ArgMatches, id: &str) -> Option<ValueSource> {
    let is_there = matches.ids().any(|i| i.as_str() == id);
    is_there.then(|| matches.value_source(id)).flatten()
}

/// Prints a file with all options.
fn print_options(all: &Command, name: &str, words: &[OsString]) -> Result<(), Failure> {
    let found = Cli::command().ignore_errors(true);
    let found = found.try_get_matches_from(words).ok();
    let Some((_, matches)) = found.as_ref().and_then(ArgMatches::subcommand) else {
        return Ok(());
    };
    print(&file(all, name, matches))
}

/// The text of a file with these options.
fn file(all: &Command, name: &str, matches: &ArgMatches) -> String {
    let mut out = format!(
        "# Options of byway {name}: byway {name} --config FILE. Lines with # set nothing.\n\
         # Paths are those of the folder in which the command runs.\n"
    );
    let (settings, others): (Vec<_>, Vec<_>) =
        in_files(all, name).partition(|(known, _)| known.takes == Takes::Settings);
    // A table ends with the file.
    for (known, option) in others.into_iter().chain(settings) {
        let help = option.get_long_help().or(option.get_help());
        out.push('\n');
        let help = help.map(ToString::to_string).unwrap_or_default();
        for line in help.lines().filter(|line| !line.is_empty()) {
            let _ = writeln!(out, "# {line}");
        }
        let id = option.get_id().as_str();
        let is_said = source(matches, id) == Some(ValueSource::CommandLine);
        let raw = match source(matches, id) {
            Some(_) => matches.get_raw(id),
            None => None,
        };
        let values: Vec<String> = raw
            .into_iter()
            .flatten()
            .map(|v| v.to_string_lossy().into_owned())
            .collect();
        out.push_str(&line(&known, option, is_said, &values, matches));
    }
    out
}

/// The line of an option, a comment if it is not set.
fn line(
    known: &Known,
    option: &Arg,
    is_said: bool,
    values: &[String],
    matches: &ArgMatches,
) -> String {
    let name = &known.name;
    let hash = if is_said { "" } else { "# " };
    match known.takes {
        Takes::Flag => format!("{hash}{name} = {is_said}\n"),
        Takes::Count => {
            let times = matches.get_count(option.get_id().as_str());
            format!("{hash}{name} = {times}\n")
        }
        Takes::Settings => {
            let mut out = format!("{hash}[{name}]\n");
            let pair = |setting: &String| {
                let (key, value) = setting.split_once('=')?;
                Some((key.trim().to_owned(), value.trim().to_owned()))
            };
            // The last one of a key holds.
            let settings: BTreeMap<String, String> = values.iter().filter_map(pair).collect();
            for (key, value) in &settings {
                // What is a value cannot be a table, too: the longer key stands as a whole then.
                let is_below = |k: &String| key.strip_prefix(k).is_some_and(|r| r.starts_with('.'));
                let key = match settings.keys().any(is_below) {
                    true => quoted(key),
                    false => key.clone(),
                };
                let _ = writeln!(out, "{key} = {}", quoted(value));
            }
            if values.is_empty() {
                out.push_str("# rto.min = \"100 ms\"\n");
            }
            out
        }
        Takes::One | Takes::Many if values.iter().any(|v| Ticket::is_meant(v)) => {
            format!("# {name} = ...   a ticket is not printed; \"@FILE\" reads it from a file\n")
        }
        Takes::One | Takes::Many => {
            let value = match values {
                [] => quoted(&placeholder(option)),
                [one] if known.takes == Takes::One => quoted(one),
                many => {
                    let many: Vec<String> = many.iter().map(|v| quoted(v)).collect();
                    format!("[{}]", many.join(", "))
                }
            };
            format!("{hash}{name} = {value}\n")
        }
    }
}

/// What stands for a value in the help.
fn placeholder(option: &Arg) -> String {
    let names = option.get_value_names().unwrap_or_default();
    names
        .first()
        .map_or("VALUE".to_owned(), ToString::to_string)
}

/// A text in TOML. Its basic strings are those of JSON, but for DEL.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text)
        .to_string()
        .replace('\u{7f}', "\\u007F")
}
