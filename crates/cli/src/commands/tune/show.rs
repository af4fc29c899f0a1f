//! `baro tune show`: the rows of the check as text for the files that make them last. Writes none.

use super::here::Here;
use crate::commands::{Format, print_json};
use crate::failure::{Outcome, Result};
use baro_tune::{Form, check, snippets};
use clap::{Args, ValueEnum};
use serde_json::json;

/// Who reads the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum As {
    /// /etc/sysctl.d
    Sysctl,
    /// /etc/fstab
    Fstab,
    /// /etc/udev/rules.d
    Udev,
    /// A drop-in for the recorder's unit, and /etc/tmpfiles.d
    Systemd,
}

impl As {
    fn form(self) -> Form {
        match self {
            As::Sysctl => Form::Sysctl,
            As::Fstab => Form::Fstab,
            As::Udev => Form::Udev,
            As::Systemd => Form::Systemd,
        }
    }
}

#[derive(Debug, Args)]
#[command(after_help = "Example: baro tune show /data/s --as udev")]
pub(crate) struct Show {
    #[command(flatten)]
    here: Here,
    /// Only these; else all
    #[arg(long = "as", value_enum, value_delimiter = ',', value_name = "FORM")]
    forms: Vec<As>,
    /// text or json
    #[arg(long, value_enum, default_value_t, value_name = "FORM", hide_possible_values = true)]
    format: Format,
}

pub(crate) fn run(arguments: &Show) -> Result<Outcome> {
    let here = arguments.here.look()?;
    let needs = check(&here);
    let mut forms: Vec<Form> = arguments.forms.iter().map(|one| one.form()).collect();
    if forms.is_empty() {
        forms.extend(Form::ALL);
    }
    let found: Vec<_> = forms.iter().flat_map(|form| snippets(&needs, &here, *form)).collect();
    match arguments.format {
        Format::Json => print_json(&json!({
            "snippets": found.iter().map(|snippet| json!({
                "as": snippet.form.name(),
                "file": snippet.file,
                "statements": snippet.statements,
                "text": snippet.text,
            })).collect::<Vec<_>>(),
        }))?,
        Format::Text => {
            for (number, snippet) in found.iter().enumerate() {
                if number > 0 {
                    out!("");
                }
                out!("# ==== {} ({})", snippet.file, snippet.form.name());
                snippet.text.lines().for_each(|line| out!("{line}"));
            }
            if found.is_empty() {
                let names: Vec<_> = forms.iter().map(|form| form.name()).collect();
                out!("# nothing to write down for {}", names.join(", "));
            }
        }
    }
    Ok(Outcome::Done)
}
