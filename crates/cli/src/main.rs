//! baro: records sensor data without ever making the producer wait.
//!
//! Thin: one file per command in `commands/`, each over the libraries. Results go to stdout,
//! diagnostics to stderr. Exit codes: 0 ok, 1 failed, 2 usage, 3 finished, but data was lost or a
//! stated claim was not met. Verbs that run a command end with its code; what they fail at themselves is
//! 125, a command that cannot be run 126, one that is not there 127.

#[macro_use(out, say, row, status)]
extern crate baro_command;

mod advice;
mod commands;
mod nearest;
#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "a test")]
mod pages;
mod settings;
mod time;
mod typed;

use baro_command::failure::{FAILED, Mistake, NotStarted, USAGE, WRAPPER_FAILED};
use baro_command::{failure, size};
use clap::{CommandFactory, FromArgMatches, Parser};
use std::process::ExitCode;

// So that `bench push` can prove that a push allocates nothing; it costs one addition.
#[global_allocator]
static ALLOCATOR: baro_sys::counters::CountingAllocator = baro_sys::counters::CountingAllocator;

/// Records sensor and control data without ever making the producer wait.
#[derive(Debug, Parser)]
#[command(name = "baro", version, max_term_width = 100, arg_required_else_help = true)]
struct Arguments {
    #[command(subcommand)]
    command: commands::Command,
}

fn main() -> ExitCode {
    // A file of somebody else that its reader gives up on is refused in words of ours.
    let before = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if !baro_export::parquet::is_panic_caught() {
            before(panic);
        }
    }));
    baro_sys::termination::survive_file_limits();
    let typed = typed::with_negative_values(std::env::args_os().collect());
    // What we fail at must not be taken for how the command ended.
    let failed = if commands::wraps(&typed) { WRAPPER_FAILED } else { FAILED };
    let program = commands::help::arranged(Arguments::command(), &typed);
    let arguments = match settings::merge(&program, typed.clone()) {
        Ok(arguments) => arguments,
        Err(error) => {
            baro_command::say_lines(&format!("baro: {error}"));
            return ExitCode::from(USAGE);
        }
    };
    let parsed = program.try_get_matches_from(arguments);
    let arguments = match parsed.and_then(|found| Arguments::from_arg_matches(&found)) {
        Ok(arguments) => arguments,
        // It quotes what was given, in a file of settings too.
        Err(mut error) if error.use_stderr() => {
            advice::suggest(&mut error, &typed);
            say_mistake(&error, &typed);
            return ExitCode::from(USAGE);
        }
        Err(help) => {
            return match help.print() {
                Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
                    say!("baro: {}", baro_command::unprinted(&error));
                    ExitCode::FAILURE
                }
                _ => ExitCode::SUCCESS,
            };
        }
    };
    match baro_command::outcome(commands::run(arguments.command)) {
        Ok(outcome) => outcome.code(),
        // Whoever has read enough, as head does, is no failure of ours.
        Err(_) if baro_command::reader_has_gone() => ExitCode::SUCCESS,
        Err(failure) => {
            if let Some(mistake) = failure.cause::<clap::Error>() {
                say_mistake(mistake, &typed);
                return ExitCode::from(USAGE);
            }
            say!("baro: {}", advice::told(&failure, &typed));
            if failure.cause::<Mistake>().is_some() {
                return ExitCode::from(USAGE);
            }
            ExitCode::from(failure.cause().map_or(failed, NotStarted::code))
        }
    }
}

/// A mistake on the command line, said as all else is.
fn say_mistake(mistake: &clap::Error, typed: &[std::ffi::OsString]) {
    let text = advice::plainly(&mistake.render().to_string(), &Arguments::command(), typed);
    let advice = advice::of_mistake(mistake, typed);
    baro_command::say_lines(&format!("baro: {text}{advice}"));
}
