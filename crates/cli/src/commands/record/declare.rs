//! What is declared before anything is recorded: `--declare` and `--layout`.

use super::Arguments;
use crate::failure::Result;
use baro_ondisk::{Layout, Type};
use baro_recorder::Recorder;

/// A series or channel to declare.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Series {
    name: String,
    kind: Type,
    unit: String,
}

/// The layout of a channel; `None`: that of `--channel`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ChannelLayout {
    channel: Option<String>,
    layout: Layout,
}

/// `NAME:TYPE[:UNIT]`. A name may hold colons: the type is looked for from the right.
pub(crate) fn series(text: &str) -> std::result::Result<Series, String> {
    let kind = |text: &str| {
        [Type::F64, Type::I64, Type::Bool, Type::Text, Type::Channel]
            .into_iter()
            .find(|k| k.name() == text)
    };
    let (head, last) = text.rsplit_once(':').unwrap_or(("", text));
    if let Some(kind) = kind(last).filter(|_| !head.is_empty()) {
        return Ok(Series { name: head.to_owned(), kind, unit: String::new() });
    }
    if let Some((name, kind)) = head.rsplit_once(':').and_then(|(n, k)| Some((n, kind(k)?)))
        && !name.is_empty()
    {
        return Ok(Series { name: name.to_owned(), kind, unit: last.to_owned() });
    }
    Err("expected NAME:TYPE or NAME:TYPE:UNIT with the type f64, i64, bool, text or channel"
        .to_owned())
}

/// `[CHANNEL=]FIELDS`.
pub(crate) fn layout(text: &str) -> std::result::Result<ChannelLayout, String> {
    // An equals sign behind the first colon is inside a field's unit.
    let before = text.find(':').unwrap_or(text.len());
    let equals = text.get(..before).and_then(|head| head.rfind('='));
    let (channel, fields) = match equals.and_then(|at| Some((text.get(..at)?, text.get(at + 1..)?)))
    {
        Some((channel, fields)) => (Some(channel.to_owned()), fields),
        None => (None, text),
    };
    let layout = fields.parse().map_err(|error: baro_ondisk::LayoutError| error.to_string())?;
    Ok(ChannelLayout { channel, layout })
}

/// Which declaration is of a name that has another type, and which layout one of no channel that this recording
/// can have. Other programs bring any (--attach).
pub(super) fn fault(arguments: &Arguments) -> Option<(&'static str, String)> {
    if arguments.generate
        && let Some(taken) = arguments.declare.iter().find(|one| one.name == "generated")
        && taken.kind != Type::Channel
    {
        let said = "generated: expected another name, since it is the channel of --generate";
        return Some(("declare", said.to_owned()));
    }
    if arguments.attach.is_some() {
        return None;
    }
    let framed = matches!(arguments.stdin, Some(super::Input::Raw | super::Input::Frames));
    let has = |channel: &str| {
        framed && channel == arguments.channel
            || arguments.generate && channel == "generated"
            || !arguments.udp.is_empty() && arguments.udp_frames.as_deref() == Some(channel)
            || arguments.declare.iter().any(|one| one.kind == Type::Channel && one.name == channel)
    };
    let channels = arguments.layout.iter();
    let mut channels =
        channels.map(|layout| layout.channel.as_deref().unwrap_or(&arguments.channel));
    channels.find(|channel| !has(channel)).map(|channel| {
        let said = format!(
            "{channel}: expected a channel of a source of this recording (--channel of --stdin raw or \
             frames, --udp-frames, generated, or one of --declare), found none of that name"
        );
        ("layout", said)
    })
}

/// Declares all that the command line asks for.
pub(super) fn all(arguments: &Arguments, recorder: &Recorder) -> Result<()> {
    for ChannelLayout { channel, layout } in &arguments.layout {
        let of_stdin = channel.is_none() || channel.as_ref() == Some(&arguments.channel);
        let sized = arguments.stdin == Some(super::Input::Raw) && of_stdin
            || arguments.generate && channel.as_deref() == Some("generated");
        if sized {
            layout.check_frame(arguments.frame_bytes)?;
        }
        let channel = channel.as_ref().unwrap_or(&arguments.channel);
        recorder.declare_channel_with_layout(channel, layout)?;
    }
    let wanted: Vec<_> =
        arguments.declare.iter().map(|s| (s.name.as_str(), s.kind, s.unit.as_str())).collect();
    recorder.declare(&wanted)?;
    for Series { name, unit, .. } in &arguments.declare {
        let known = recorder.declared(name).filter(|known| !unit.is_empty() && known.unit != *unit);
        if let Some(known) = known {
            let has = if known.unit.is_empty() { "no unit".to_owned() } else { known.unit };
            say!(
                "note: {name} has {has} in the store, and --declare says {unit}; its values are taken as they are"
            );
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_may_hold_colons_and_units_equals_signs() {
        let of = |text| series(text).map(|s| (s.name, s.kind, s.unit));
        let expected = |name: &str, kind, unit: &str| Ok((name.to_owned(), kind, unit.to_owned()));
        assert_eq!(of("temp:f64"), expected("temp", Type::F64, ""));
        assert_eq!(of("a:b:i64:1/s"), expected("a:b", Type::I64, "1/s"));
        assert_eq!(of("c:channel"), expected("c", Type::Channel, ""));
        assert_eq!(of("note:text"), expected("note", Type::Text, ""));
        for wrong in ["", "temp", "temp:", ":f64", "temp:string", "f64", ":f64:K"] {
            assert!(of(wrong).is_err(), "{wrong}");
        }
        let channel = |text| layout(text).map(|found| found.channel);
        assert_eq!(channel("c{a=\"b\"}=x:u8@0"), Ok(Some("c{a=\"b\"}".to_owned())));
        assert_eq!(channel("x:u8@0(a=b)"), Ok(None));
        assert!(layout("c=x:u8@0,y:u8@0").unwrap_err().contains("\"y\" at offset 0"));
    }
}
