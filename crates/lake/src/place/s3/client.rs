//! Requests to a server of S3: signed, bounded in time and bytes, and asked again where that does no harm.

use super::settings::Settings;
use crate::error::{Error, Result};
use baro_sys::{clock, files, termination};
use rusty_s3::actions::{CompleteMultipartUploadResponse, CreateMultipartUpload, ListObjectsV2};
use rusty_s3::{Bucket, Credentials, Method, S3Action};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use ureq::Agent;
use ureq::http::Request;
use ureq::http::request::Builder;
use ureq::tls::{PemItem, RootCerts, TlsConfig, parse_pem};

/// How long a signature counts.
const SIGNED_FOR: Duration = Duration::from_secs(900);
/// How long a connection may take to be made, and a request with its answer.
const CONNECT_MAX: Duration = Duration::from_secs(10);
const REQUEST_MAX: Duration = Duration::from_secs(300);
/// Tries of what may be asked for again, and the first pause, which doubles.
const TRIES: u32 = 5;
const PAUSE_NS: u64 = if cfg!(test) { 100_000 } else { 200_000_000 };
/// Bytes of an answer that is no file, and of the file of certificates.
const ANSWER_BYTES_MAX: u64 = 1 << 20;
const ROOTS_BYTES_MAX: u64 = 16 << 20;

/// What there is of a name.
#[derive(Debug)]
pub(super) enum Answer<T> {
    Is(T),
    IsMissing,
}

/// Names of a list, and where it goes on.
#[derive(Debug)]
pub(super) struct Listed {
    pub(super) keys: Vec<String>,
    pub(super) next: Option<String>,
}

/// A server, a bucket, and who asks.
#[derive(Debug)]
pub(super) struct Client {
    agent: Agent,
    bucket: Bucket,
    read_keys: fn() -> Result<Credentials>,
    keys: Mutex<Arc<Credentials>>,
}

/// What a server says, read whole.
struct Said {
    status: u16,
    headers: ureq::http::HeaderMap,
    /// Empty if there are more bytes than were asked for.
    body: Vec<u8>,
    is_larger: bool,
}

impl Client {
    pub(super) fn new(settings: &Settings) -> Result<Self> {
        let mut config = Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .timeout_connect(Some(CONNECT_MAX))
            .timeout_global(Some(REQUEST_MAX))
            .user_agent(concat!("barograph/", env!("CARGO_PKG_VERSION")));
        if let Some(roots) = &settings.roots {
            config = config.tls_config(tls(roots)?);
        }
        let agent = Agent::new_with_config(config.build());
        let (read_keys, keys) = (settings.keys, Mutex::new(Arc::new((settings.keys)()?)));
        Ok(Client { agent, bucket: settings.bucket.clone(), read_keys, keys })
    }

    /// Reads the keys again.
    pub(super) fn renew(&self) -> Result<()> {
        let read = Arc::new((self.read_keys)()?);
        *self.keys.lock().unwrap_or_else(PoisonError::into_inner) = read;
        Ok(())
    }

    fn keys(&self) -> Arc<Credentials> {
        Arc::clone(&self.keys.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Names below a prefix, without those in folders of it.
    pub(super) fn list(
        &self,
        prefix: &str,
        next: Option<&str>,
        most: usize,
        bytes_max: u64,
    ) -> Result<Listed> {
        let said = self.again(bytes_max, &[], |client, keys| {
            let mut action = ListObjectsV2::new(&client.bucket, Some(keys));
            action.with_prefix(prefix);
            action.with_delimiter("/");
            action.with_max_keys(most);
            if let Some(next) = next {
                action.with_continuation_token(next);
            }
            signed(&action)
        })?;
        let text = self.expect(&said, &[200])?;
        let list = ListObjectsV2::parse_response(&text).map_err(|error| Error::Server {
            expected: "a list of names (ListObjectsV2)".into(),
            found: format!("{error} in {}", crate::error::cut(&text)),
            next: "is it a server of S3?",
            may_pass: true,
        })?;
        let folders = list.common_prefixes.into_iter().map(|folder| folder.prefix);
        let folders = folders.map(|folder| folder.trim_end_matches('/').to_owned());
        let keys = list.contents.into_iter().map(|file| file.key).chain(folders).collect();
        Ok(Listed { keys, next: list.next_continuation_token })
    }

    /// A file of at most so many bytes.
    pub(super) fn get(&self, key: &str, bytes_max: u64) -> Result<Answer<Vec<u8>>> {
        let said = self.again(bytes_max.max(ANSWER_BYTES_MAX), &[], |client, keys| {
            signed(&client.bucket.get_object(Some(keys), key))
        })?;
        if self.is_missing(&said)? {
            return Ok(Answer::IsMissing);
        }
        match said.status {
            200 if said.is_larger || said.body.len() as u64 > bytes_max => Err(Error::Table {
                file: key.to_owned(),
                what: "size",
                expected: format!("at most {bytes_max} bytes"),
                found: "more".to_owned(),
            }),
            200 => Ok(Answer::Is(said.body)),
            _ => Err(self.refused(&said)),
        }
    }

    /// Bytes of a file.
    pub(super) fn head(&self, key: &str) -> Result<Answer<u64>> {
        let said = self.again(ANSWER_BYTES_MAX, &[], |client, keys| {
            signed(&client.bucket.head_object(Some(keys), key))
        })?;
        if self.is_missing(&said)? {
            return Ok(Answer::IsMissing);
        }
        let bytes = said.headers.get("content-length").and_then(|bytes| bytes.to_str().ok());
        match (said.status, bytes.and_then(|bytes| bytes.parse().ok())) {
            (200, Some(bytes)) => Ok(Answer::Is(bytes)),
            _ => Err(self.refused(&said)),
        }
    }

    /// Puts a file if there is none of the name; false if there is one. The error of a lost answer leaves open
    /// whether it is there.
    pub(super) fn put_new(&self, key: &str, bytes: &[u8], conflicts_max: u32) -> Result<bool> {
        let mut number = 0;
        loop {
            number += 1;
            let keys = self.keys();
            let mut action = self.bucket.put_object(Some(&keys), key);
            action.headers_mut().insert("if-none-match", "*");
            let request = signed(&action).header("if-none-match", "*");
            let said = self.ask(request, bytes, ANSWER_BYTES_MAX)?;
            match said.status {
                200 => return Ok(true),
                412 => return Ok(false),
                // Somebody else puts the same name now: who of us has it is not known yet.
                409 if number < conflicts_max => pause(number)?,
                _ => return Err(self.refused(&said)),
            }
        }
    }

    /// Puts a file that no commit names yet.
    pub(super) fn put(&self, key: &str, bytes: &[u8]) -> Result<()> {
        let said = self.again(ANSWER_BYTES_MAX, bytes, |client, keys| {
            signed(&client.bucket.put_object(Some(keys), key))
        })?;
        self.expect(&said, &[200]).map(|_| ())
    }

    /// Begins a file in parts; returns what the server calls it.
    pub(super) fn begin(&self, key: &str) -> Result<String> {
        let said = self.again(ANSWER_BYTES_MAX, &[], |client, keys| {
            signed(&client.bucket.create_multipart_upload(Some(keys), key))
        })?;
        let text = self.expect(&said, &[200])?;
        let parsed = CreateMultipartUpload::parse_response(&text);
        parsed.map(|begun| begun.upload_id().to_owned()).map_err(|_| self.refused(&said))
    }

    /// Puts a part; returns its tag.
    pub(super) fn part(&self, key: &str, id: &str, number: u16, bytes: &[u8]) -> Result<String> {
        let said = self.again(ANSWER_BYTES_MAX, bytes, |client, keys| {
            signed(&client.bucket.upload_part(Some(keys), key, number, id))
        })?;
        self.expect(&said, &[200])?;
        let tag = said.headers.get("etag").and_then(|tag| tag.to_str().ok());
        tag.map(str::to_owned).ok_or_else(|| self.refused(&said))
    }

    /// Makes a file of its parts. Asked for again it may say that there are no parts: then the file is looked
    /// for before the commit.
    pub(super) fn complete(&self, key: &str, id: &str, tags: &[String]) -> Result<()> {
        let tags = || tags.iter().map(String::as_str);
        let keys = self.keys();
        let body = self.bucket.complete_multipart_upload(Some(&keys), key, id, tags()).body();
        let said = self.again(ANSWER_BYTES_MAX, body.as_bytes(), |client, keys| {
            signed(&client.bucket.complete_multipart_upload(Some(keys), key, id, tags()))
        })?;
        let text = self.expect(&said, &[200, 404])?;
        // It begins to answer before it is done, and says then what went wrong.
        match said.status == 404 || CompleteMultipartUploadResponse::parse(&text).is_ok() {
            true => Ok(()),
            false => Err(self.refused(&said)),
        }
    }

    /// Lets parts go.
    pub(super) fn give_up(&self, key: &str, id: &str) -> Result<()> {
        let said = self.again(ANSWER_BYTES_MAX, &[], |client, keys| {
            signed(&client.bucket.abort_multipart_upload(Some(keys), key, id))
        })?;
        self.expect(&said, &[200, 204, 404]).map(|_| ())
    }

    /// Removes a file, if it is there.
    pub(super) fn remove(&self, key: &str) -> Result<()> {
        let said = self.again(ANSWER_BYTES_MAX, &[], |client, keys| {
            signed(&client.bucket.delete_object(Some(keys), key))
        })?;
        self.expect(&said, &[200, 204, 404]).map(|_| ())
    }

    /// Asks what may be asked for again, until there is an answer that is not of the moment.
    fn again(
        &self,
        bytes_max: u64,
        body: &[u8],
        request: impl Fn(&Client, &Credentials) -> Builder,
    ) -> Result<Said> {
        let mut number = 0;
        loop {
            number += 1;
            match self.ask(request(self, &self.keys()), body, bytes_max) {
                Ok(said) if number < TRIES && is_of_the_moment(said.status) => pause(number)?,
                Err(error) if number < TRIES && error.may_pass() => pause(number)?,
                done => return done,
            }
        }
    }

    fn ask(&self, request: Builder, body: &[u8], bytes_max: u64) -> Result<Said> {
        let failed = |found: String| Error::Server {
            expected: format!("an answer of {}", self.host()),
            found,
            next: "look at the network and the address; the next try goes on",
            may_pass: true,
        };
        let request = request.body(body).map_err(|error| failed(error.to_string()))?;
        let answer = self.agent.run(request).map_err(|error| failed(said_plainly(&error)))?;
        let (parts, mut answer) = answer.into_parts();
        // One byte more, so that too many are known from enough.
        let body = answer.with_config().limit(bytes_max.saturating_add(1)).read_to_vec();
        let (body, is_larger) = match body {
            Err(ureq::Error::BodyExceedsLimit(_)) => (Vec::new(), true),
            other => (other.map_err(|error| failed(said_plainly(&error)))?, false),
        };
        Ok(Said { status: parts.status.as_u16(), headers: parts.headers, body, is_larger })
    }

    /// The text of an answer with one of these codes.
    fn expect(&self, said: &Said, codes: &[u16]) -> Result<String> {
        if !codes.contains(&said.status) || said.is_larger {
            return Err(self.refused(said));
        }
        Ok(String::from_utf8_lossy(&said.body).into_owned())
    }

    /// Whether a file is not there; a bucket that is not there is something else.
    fn is_missing(&self, said: &Said) -> Result<bool> {
        match said.status {
            404 if said.of("Code").as_deref() == Some("NoSuchBucket") => Err(self.refused(said)),
            code => Ok(code == 404),
        }
    }

    fn host(&self) -> String {
        let url = self.bucket.base_url();
        let port = url.port().map_or(String::new(), |port| format!(":{port}"));
        format!("{}{port}", url.host_str().unwrap_or_default())
    }

    /// What a refusal means, and what to do.
    fn refused(&self, said: &Said) -> Error {
        let code = said.of("Code").unwrap_or_default();
        let message = said.of("Message").unwrap_or_default();
        let found = crate::error::cut(&format!("{} {code} {message}", said.status));
        let bucket = self.bucket.name();
        let expected = format!("bucket {bucket} of {} to take it", self.host());
        let (next, may_pass) = match (said.status, code.as_str()) {
            (_, "ExpiredToken" | "TokenRefreshRequired" | "InvalidToken") => (
                "the keys have expired: write new ones into ~/.aws/credentials, they are read at each try",
                true,
            ),
            (_, "RequestTimeTooSkewed" | "RequestExpired") => {
                ("the clock of this machine or of the server is wrong: set it", true)
            }
            (_, "NoSuchBucket") => ("make the bucket, or name the one that is there", true),
            (_, "InvalidAccessKeyId" | "SignatureDoesNotMatch") => {
                ("the keys are wrong, or of another server", true)
            }
            (301 | 307 | 308, _) | (400, "AuthorizationHeaderMalformed") => {
                ("the bucket is in another region: set AWS_REGION", false)
            }
            (401 | 403, _) => ("let these keys list, read, put and delete below the prefix", true),
            (501, _) => ("this server does not know what is asked for: use a newer one", false),
            (507, _) => ("make room there", true),
            _ => ("the next try goes on", true),
        };
        Error::Server { expected, found, next, may_pass }
    }
}

impl Said {
    /// The text of an element of an answer that says what is wrong.
    fn of(&self, element: &str) -> Option<String> {
        let text = String::from_utf8_lossy(&self.body);
        let (_, rest) = text.split_once(&format!("<{element}>"))?;
        let (text, _) = rest.split_once(&format!("</{element}>"))?;
        Some(text.to_owned())
    }
}

/// A request with its signature, which is in the address: it is never shown.
fn signed<'a, A: S3Action<'a>>(action: &A) -> Builder {
    let method = match A::METHOD {
        Method::Head => "HEAD",
        Method::Get => "GET",
        Method::Post => "POST",
        Method::Put => "PUT",
        Method::Delete => "DELETE",
    };
    Request::builder().method(method).uri(action.sign(SIGNED_FOR).as_str())
}

/// Whether a server may say something else in a moment.
fn is_of_the_moment(code: u16) -> bool {
    matches!(code, 408 | 429 | 500 | 502 | 503 | 504)
}

/// Waits before the next try; not if it is to end.
fn pause(number: u32) -> Result<()> {
    let ends_ns = clock::monotonic_ns().saturating_add(PAUSE_NS << number.min(6));
    while clock::monotonic_ns() < ends_ns {
        if termination::requested().is_some() {
            return Err(Error::Ended);
        }
        clock::sleep_ns(PAUSE_NS / 4);
    }
    Ok(())
}

/// What went wrong, without the address, in which the signature is.
fn said_plainly(error: &ureq::Error) -> String {
    match error {
        ureq::Error::Timeout(_) => "none in time".to_owned(),
        ureq::Error::HostNotFound => "no such host".to_owned(),
        ureq::Error::ConnectionFailed => "no connection".to_owned(),
        ureq::Error::BadUri(_) => "an address that cannot be asked".to_owned(),
        other => crate::error::cut(&other.to_string()),
    }
}

/// TLS with these authorities.
fn tls(roots: &Path) -> Result<TlsConfig> {
    let text = files::read_text(roots, ROOTS_BYTES_MAX)?;
    let items = parse_pem(text.as_bytes()).filter_map(std::result::Result::ok);
    let certificates: Vec<_> = items
        .filter_map(|item| match item {
            PemItem::Certificate(certificate) => Some(certificate),
            _ => None,
        })
        .collect();
    if certificates.is_empty() {
        return Err(Error::Server {
            expected: "certificates of authorities (PEM)".into(),
            found: format!("none in {}", roots.display()),
            next: "name a file that has some in SSL_CERT_FILE",
            may_pass: false,
        });
    }
    Ok(TlsConfig::builder()
        .root_certs(RootCerts::from(certificates))
        .unversioned_rustls_crypto_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .build())
}
