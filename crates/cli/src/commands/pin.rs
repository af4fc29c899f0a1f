//! `baro pin`: keeps a window of time from being recycled, lists such windows, releases them.

use super::{Format, print_json};
use crate::failure::{Outcome, Result};
use crate::size;
use crate::time;
use baro_ondisk::{Pin, PinState};
use baro_recorder::PinRequest;
use baro_recorder::inspect::{pin_in_store, release_in_store};
use baro_store::{Damage, Loss, Store};
use baro_sys::clock;
use clap::Args;
use clap::builder::NonEmptyStringValueParser;
use serde_json::{Value, json};
use std::path::PathBuf;

#[derive(Debug, Args)]
#[command(after_help = "Example: baro pin /data/s --before 30s --name fault")]
pub(crate) struct Arguments {
    /// The store
    ///
    /// Whether it is recorded into or not; without a recorder the moment is the end of what was
    /// recorded.
    store: PathBuf,
    /// How far the window reaches back
    #[arg(long, default_value = "60s", value_parser = size::nanoseconds, value_name = "TIME")]
    before: u64,
    /// How far it goes on
    #[arg(long, default_value = "0s", value_parser = size::nanoseconds, value_name = "TIME")]
    after: u64,
    /// A name for it
    #[arg(long, default_value = "")]
    name: String,
    /// List the store's pins instead
    #[arg(long, conflicts_with_all = ["before", "after", "name", "release"])]
    list: bool,
    /// Release the pin of this id or name instead
    #[arg(long, value_name = "ID", value_parser = NonEmptyStringValueParser::new(), conflicts_with_all = ["before", "after", "name"])]
    release: Option<String>,
    /// text or json
    #[arg(long, value_enum, default_value_t, value_name = "FORM", hide_possible_values = true)]
    format: Format,
}

pub(crate) fn run(arguments: &Arguments) -> Result<Outcome> {
    if arguments.list {
        return list(arguments);
    }
    if let Some(pin) = &arguments.release {
        return release(arguments, pin);
    }
    let request = PinRequest {
        name: arguments.name.clone(),
        before_ns: arguments.before,
        after_ns: arguments.after,
    };
    let pin = pin_in_store(&arguments.store, &request)?;
    if arguments.after > 0 && !super::is_recorded(&arguments.store)? {
        say!("note: nobody records into this store: nothing comes after this moment (--after)");
    }
    match arguments.format {
        Format::Text => print(&pin, true),
        Format::Json => print_json(&as_json(&pin, true))?,
    }
    Ok(Outcome::lost_if(!pin.reason.is_empty()))
}

fn list(arguments: &Arguments) -> Result<Outcome> {
    let store = Store::open(&arguments.store)?;
    let is_recorded = super::is_recorded(&arguments.store)?;
    // Copies that a pin holds and that somebody has taken away.
    let damage: Vec<Damage> =
        store.damage().into_iter().filter(|one| matches!(one.loss, Loss::Copies(_))).collect();
    match arguments.format {
        Format::Text if store.pins().next().is_none() => out!("no pins"),
        Format::Text => {
            out!("{:16} {:7} WINDOW, NAME", "ID", "STATE");
            store.pins().for_each(|pin| print(pin, is_recorded));
        }
        Format::Json => {
            let pins = store.pins().map(|pin| as_json(pin, is_recorded));
            let pins: Vec<Value> = pins.collect();
            let told: Vec<String> = damage.iter().map(ToString::to_string).collect();
            print_json(&json!({ "pins": pins, "damage": told }))?;
        }
    }
    for (name, why) in store.pins_damaged() {
        say!("{name}: {why}");
    }
    damage.iter().for_each(|damage| say!("damage: {damage}"));
    Ok(Outcome::lost_if(!store.pins_damaged().is_empty() || !damage.is_empty()))
}

fn release(arguments: &Arguments, wanted: &str) -> Result<Outcome> {
    let store = Store::open(&arguments.store)?;
    let pin = find(&store, wanted)?;
    release_in_store(&arguments.store, pin.id)?;
    match arguments.format {
        Format::Text => out!("released {:016x} {}", pin.id, pin.name),
        Format::Json => print_json(&json!({ "released": format!("{:016x}", pin.id) }))?,
    }
    Ok(Outcome::Done)
}

/// The pin of this id or name. Which of several is meant nobody can know.
pub(crate) fn find<'a>(store: &'a Store, wanted: &str) -> Result<&'a Pin> {
    match store.pins_of(wanted).as_slice() {
        [pin] => Ok(pin),
        [] => Err(format!("no pin {wanted}; baro pin STORE --list tells which there are").into()),
        several => {
            let ids: Vec<_> = several.iter().map(|pin| format!("{:016x}", pin.id)).collect();
            Err(format!(
                "pin {wanted}: expected a name that one pin has, found {}: give the id of one: {}",
                several.len(),
                ids.join(", ")
            )
            .into())
        }
    }
}

fn print(pin: &Pin, is_recorded: bool) {
    let (from_ns, to_ns) = pin.window_ns();
    out!(
        "{:016x} {:7} {} to {}{}{}",
        pin.id,
        said_state(pin, is_recorded),
        time::show(from_ns),
        time::show(to_ns),
        if pin.name.is_empty() { String::new() } else { format!(" {:?}", pin.name) },
        why(pin, is_recorded),
    );
}

/// Its state as people read it: what nobody ends any more is not called open.
pub(super) fn said_state(pin: &Pin, is_recorded: bool) -> &'static str {
    if is_left(pin, is_recorded) { "left" } else { state(pin) }
}

/// Whether it is open and its window is over, and nobody ends it, since nobody records: its recorder ended before.
fn is_left(pin: &Pin, is_recorded: bool) -> bool {
    let (_, to_ns) = pin.window_ns();
    pin.state == PinState::Open && !is_recorded && to_ns < clock::realtime_ns()
}

/// What is to be said of its state, behind a colon.
pub(super) fn why(pin: &Pin, is_recorded: bool) -> String {
    let left = "its recorder ended before the window did, so it has what came until then";
    match (is_left(pin, is_recorded), pin.reason.as_str()) {
        (true, "") => format!(": {left}"),
        (true, reason) => format!(": {left}; {reason}"),
        (false, "") => String::new(),
        (false, reason) => format!(": {reason}"),
    }
}

fn state(pin: &Pin) -> &'static str {
    match pin.state {
        PinState::Asked => "asked",
        PinState::Open => "open",
        PinState::Whole => "whole",
        PinState::Short => "short",
        PinState::Refused => "refused",
    }
}

/// A pin as JSON; its keys are those of `baro info` too.
pub(crate) fn as_json(pin: &Pin, is_recorded: bool) -> Value {
    let (from_ns, to_ns) = pin.window_ns();
    json!({
        "id": format!("{:016x}", pin.id),
        "name": pin.name,
        "state": state(pin),
        "reason": pin.reason,
        "left": is_left(pin, is_recorded),
        "from_ns": from_ns,
        "to_ns": to_ns,
        "moment_ns": pin.realtime_ns,
        "before_ns": pin.before_ns,
        "after_ns": pin.after_ns,
        "first_epoch": pin.first_epoch,
        "last_epoch": (pin.last_epoch != u64::MAX).then_some(pin.last_epoch),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pin_that_nobody_ends_any_more_is_told() {
        let now_ns = clock::realtime_ns();
        let open = Pin { state: PinState::Open, realtime_ns: now_ns, ..Pin::default() };
        assert_eq!(why(&open, true), "");
        let left = Pin { realtime_ns: now_ns - 60_000_000_000, ..open };
        assert_eq!(why(&left, true), "");
        assert_eq!(why(&Pin { after_ns: 3_600_000_000_000, ..left.clone() }, false), "");
        let said = ": its recorder ended before the window did, so it has what came until then";
        assert_eq!(why(&left, false), said);
        assert_eq!((said_state(&left, true), said_state(&left, false)), ("open", "left"));
        let short = Pin { reason: "1 s is missing".to_owned(), ..left };
        assert_eq!(why(&short, false), format!("{said}; 1 s is missing"));
        assert_eq!(why(&Pin { state: PinState::Short, ..short }, false), ": 1 s is missing");
    }
}
