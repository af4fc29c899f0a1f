//! `POST /v1/metrics`: a request of OTLP into a lane.
//!
//! Its points are written as the series that Prometheus would make of them. Which are refused, and why, is a
//! partial success, of which the rest is kept. What cannot be decoded is refused before anything of it is taken.

use super::answer::Form;
use super::held;
use super::making::Making;
use crate::held::{Ended, read};
use crate::routes::App;
use crate::sink::{Overload, Sink};
use baro_net::{Body, BodyError, Encoding, Pass, Request, Response};
use baro_sources::otlp::{self, Counts};

/// Reasons that are told; all points are counted.
const REASONS_TOLD: usize = 10;

/// Takes the data points of a request, and answers.
pub(crate) fn answer(
    app: &App,
    pass: &Pass,
    request: &Request,
    body: &mut Body<'_, '_>,
) -> Response {
    let form = match Form::of(request) {
        Ok(form) => form,
        Err((form, said)) => return form.refused(415, &said),
    };
    if let Encoding::Other(other) = &request.encoding {
        let said = format!("expected Content-Encoding gzip or identity, found {other}");
        return form.refused(415, &said);
    }
    let mut sink = app.sink(pass);
    let taken = take(app, pass, &mut sink, form, body);
    app.metrics.wrote(sink.samples, sink.faults.lines);
    match taken {
        Ok(counts) => {
            app.metrics.exemplars(counts.exemplars);
            form.taken(sink.faults.lines, &said(&sink, counts))
        }
        Err(Ended::Overload(overload)) => {
            app.overloaded(&overload);
            // Some are pushed, but none is acknowledged: the sender repeats all of it.
            form.refused(overload.status(), &overload.to_string())
        }
        Err(Ended::Body(error)) => form.refused(error.status(), &error.to_string()),
        Err(Ended::Refused(status, said)) => form.refused(status, &said),
    }
}

/// What a request's sender is to know of it; nothing: all is well.
fn said(sink: &Sink<'_>, counts: Counts) -> String {
    let mut reasons: Vec<String> = Vec::new();
    for fault in &sink.faults.first {
        // Many points of a metric are refused for one reason.
        let is_told = reasons.iter().any(|told| told.ends_with(&fault.said));
        if !is_told && reasons.len() < REASONS_TOLD {
            reasons.push(format!("data point {}: {}", fault.line, fault.said));
        }
    }
    if counts.empty_metrics > 0 {
        let metrics = counts.empty_metrics;
        reasons.push(format!("{metrics} metrics have no data of a kind that is known here"));
    }
    if counts.long_resources > 0 {
        reasons.push(format!(
            "{} resources have no target_info, since their attributes are too long for a name of 1024 bytes, \
             or one has no name or comes twice",
            counts.long_resources
        ));
    }
    if sink.faults.lines > 0 {
        let (refused, points) = (sink.faults.lines, counts.points);
        reasons
            .push(format!("{refused} of {points} data points were refused, the others are kept"));
    }
    reasons.join("; ")
}

fn take(
    app: &App,
    pass: &Pass,
    sink: &mut Sink<'_>,
    form: Form,
    body: &mut Body<'_, '_>,
) -> Result<Counts, Ended> {
    let mut share = app.flight.take(0).map_err(Overload::from)?;
    let is_json = form == Form::Json;
    let (limit_bytes, of) = held::limit_bytes(&app.flight, is_json);
    let mut message = read(body, limit_bytes, 0, &mut share).map_err(|ended| match ended {
        Ended::Body(error @ BodyError::TooLarge { .. }) => {
            Ended::Refused(error.status(), format!("{error}{of}"))
        }
        other => other,
    })?;
    if is_json {
        share.hold(held::json_bytes(&message)).map_err(Overload::from)?;
        message = otlp::from_json(&message).map_err(|said| Ended::Refused(400, said))?;
    }
    let made_bytes = held::made_bytes(&app.flight);
    share.hold((message.capacity() + made_bytes) as u64).map_err(Overload::from)?;
    let mut making = Making::new(sink, pass, made_bytes)?;
    let read = otlp::read(&message, |number, point| making.take(number, point));
    let counts = read.map_err(|unreadable| Ended::Refused(400, unreadable.to_string()))??;
    making.push()?;
    sink.durable(&app.acks)?;
    Ok(counts)
}
