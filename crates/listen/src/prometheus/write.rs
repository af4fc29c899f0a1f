//! `POST /api/v1/write`: remote write into a lane.
//!
//! Its body is one block of snappy, which says how large it is unpacked: that is checked before memory is
//! taken. Memory is taken as bytes come and as samples are made, so that a client who sends slowly has little. Samples of floats are written; histograms and exemplars have no place in a store, so they are
//! counted and refused. A time is milliseconds, a value keeps its bits, the marker of staleness too.

use super::making::{Made, Making};
use super::unpack;
use crate::held::{self, Ended};
use crate::routes::App;
use crate::sink::{Overload, Sink};
use baro_net::{Body, Encoding, Pass, Request, Response};
use baro_sources::remote_write::{self, Version};

/// Senders have a few hundred KiB; what is larger is sent in parts after 413.
const PACKED_BYTES_MAX: usize = 16 << 20;
const UNPACKED_BYTES_MAX: usize = 64 << 20;
const CONTENT_TYPE: &str = "application/x-protobuf";
const PROTO_2: &str = "io.prometheus.write.v2.Request";
const FAULTS_TOLD: usize = 10;

/// The version that a request says it has.
fn version(request: &Request) -> Result<Version, String> {
    let said = request.header("content-type").unwrap_or(CONTENT_TYPE);
    let mut parts = said.split(';').map(str::trim);
    let kind = parts.next().unwrap_or_default();
    let proto = parts.find_map(|part| part.strip_prefix("proto="));
    match (kind.eq_ignore_ascii_case(CONTENT_TYPE), proto) {
        (true, None | Some("prometheus.WriteRequest")) => Ok(Version::One),
        (true, Some(PROTO_2)) => Ok(Version::Two),
        _ => Err(format!(
            "expected Content-Type {CONTENT_TYPE}, also with proto={PROTO_2}, found {said:?}"
        )),
    }
}

fn answered(status: u16, said: &str, written: u64) -> Response {
    let response = match said {
        "" => Response::empty(status),
        said => Response::of(status, "text/plain; charset=utf-8", format!("{said}\n")),
    };
    let response = response
        .with("X-Prometheus-Remote-Write-Samples-Written", written.to_string())
        .with("X-Prometheus-Remote-Write-Histograms-Written", "0")
        .with("X-Prometheus-Remote-Write-Exemplars-Written", "0");
    if status == 503 { response.with("Retry-After", "1") } else { response }
}

/// What is refused before anybody has looked at samples.
pub(crate) fn refused(status: u16, said: &str) -> Response {
    answered(status, said, 0)
}

/// What a request has beside samples.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    pub(crate) series: u64,
    pub(crate) histograms: u64,
    pub(crate) exemplars: u64,
}

pub(crate) fn answer(
    app: &App,
    pass: &Pass,
    request: &Request,
    body: &mut Body<'_, '_>,
) -> Response {
    let version = match version(request) {
        Ok(version) => version,
        Err(said) => return refused(415, &said),
    };
    // Old senders do not say it, and Prometheus takes that too.
    if request.encoding != Encoding::Other("snappy".to_owned())
        && let Some(found) = request.header("content-encoding")
    {
        return refused(415, &format!("expected Content-Encoding: snappy, found {found:?}"));
    }
    let mut sink = app.sink(pass);
    let mut counts = Counts::default();
    let taken = take(app, pass, &mut sink, &mut counts, body, version);
    app.metrics.wrote(sink.samples, sink.faults.lines);
    match taken {
        Err(Ended::Overload(overload)) => {
            app.overloaded(&overload);
            // Some are pushed, but none is acknowledged: the sender repeats all of it.
            answered(overload.status(), &overload.to_string(), 0)
        }
        Err(Ended::Body(error)) => answered(error.status(), &error.to_string(), 0),
        Err(Ended::Refused(status, said)) => answered(status, &said, 0),
        Ok(()) => {
            let mut said: Vec<String> = sink
                .faults
                .first
                .iter()
                .take(FAULTS_TOLD)
                .map(|fault| format!("series {}: {}", fault.line, fault.said))
                .collect();
            let more = sink.faults.lines.saturating_sub(said.len() as u64);
            if more > 0 {
                said.push(format!("{more} series more were refused"));
            }
            let Counts { series, histograms, exemplars } = counts;
            if histograms > 0 {
                said.push(format!(
                    "{histograms} native histograms were refused: a store has no place for them"
                ));
            }
            if exemplars > 0 && version == Version::Two {
                said.push(format!(
                    "{exemplars} exemplars were refused: a store has no place for them"
                ));
            }
            if said.is_empty() {
                return answered(204, "", sink.samples);
            }
            let text = format!(
                "{}; {} samples of {series} series are kept",
                said.join("; "),
                sink.samples
            );
            answered(400, &text, sink.samples)
        }
    }
}

fn take(
    app: &App,
    pass: &Pass,
    sink: &mut Sink<'_>,
    counts: &mut Counts,
    body: &mut Body<'_, '_>,
    version: Version,
) -> Result<(), Ended> {
    let mut share = app.flight.take(0).map_err(Overload::from)?;
    let too_large =
        |bytes: usize| Ended::Refused(413, format!("expected at most {bytes} bytes, found more"));
    let packed = held::read(body, PACKED_BYTES_MAX, 0, &mut share)?;
    let refused = |why| match why {
        unpack::Refused::TooLarge => too_large(UNPACKED_BYTES_MAX),
        unpack::Refused::NoSnappy => {
            Ended::Refused(400, "expected one block of snappy, found other bytes".to_owned())
        }
    };
    let length = unpack::unpacked_bytes(&packed, UNPACKED_BYTES_MAX).map_err(refused)?;
    share.hold((packed.capacity() + length) as u64).map_err(Overload::from)?;
    let message = unpack::unpack(&packed).map_err(refused)?;
    drop(packed);
    let own = message.capacity() + remote_write::symbols_bytes(&message, version);
    share.hold(own as u64).map_err(Overload::from)?;
    let made = Made::new(own as u64, app.flight.max_bytes(), &mut share);
    let mut making = Making::new(sink, pass, counts, made)?;
    match remote_write::read(&message, version, |number, series| making.take(number, series)) {
        Ok(taken) => taken?,
        Err(_) => {
            let said = "expected a message of remote write in protobuf, of the version that Content-Type \
                        says, found other bytes";
            return Err(Ended::Refused(400, said.to_owned()));
        }
    }
    making.push()?;
    Ok(sink.durable(&app.acks)?)
}
