//! Where a bucket is, from the URL of the table and from the variables that other programs read too.

use super::keys;
use crate::error::{Error, Result};
use rusty_s3::{Bucket, Credentials, UrlStyle};
use std::env;
use std::net::IpAddr;
use std::path::{Path, PathBuf};

/// Certificates of authorities, where systems have them.
const ROOTS: [&str; 3] =
    ["/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/cert.pem"];

/// Where and how.
#[derive(Clone, Debug)]
pub(super) struct Settings {
    pub(super) bucket: Bucket,
    /// Empty, or with a slash at its end.
    pub(super) prefix: String,
    /// Certificates of authorities; `None` without TLS.
    pub(super) roots: Option<PathBuf>,
    /// How keys are read.
    pub(super) keys: fn() -> Result<Credentials>,
}

impl Settings {
    /// From `BUCKET/PREFIX` and the environment.
    pub(super) fn read(table: &Path, rest: &str) -> Result<Self> {
        Self::of(table, rest, &|name| env::var(name).ok().filter(|value| !value.is_empty()))
    }

    pub(super) fn of(
        table: &Path,
        rest: &str,
        variable: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Self> {
        let wrong = |found: &str| Error::Server {
            expected: "a table as s3://BUCKET/PREFIX".into(),
            found: found.into(),
            next: "give the bucket and a prefix of the table's own",
            may_pass: false,
        };
        let (name, prefix) = rest.split_once('/').unwrap_or((rest, ""));
        let prefix = prefix.trim_end_matches('/');
        let is_plain = |part: &str| !matches!(part, "" | "." | "..");
        if name.is_empty() || prefix.is_empty() || !prefix.split('/').all(is_plain) {
            return Err(wrong(&table.display().to_string()));
        }
        let region = variable("AWS_REGION").or_else(|| variable("AWS_DEFAULT_REGION"));
        let region = region.unwrap_or_else(|| "us-east-1".to_owned());
        let own = variable("AWS_ENDPOINT_URL_S3").or_else(|| variable("AWS_ENDPOINT_URL"));
        // TLS of S3 itself is for one level of names, so a bucket with a point is in the path.
        let style = match own.is_some() || name.contains('.') {
            true => UrlStyle::Path,
            false => UrlStyle::VirtualHost,
        };
        let endpoint = own.unwrap_or_else(|| format!("https://s3.{region}.amazonaws.com"));
        let url: url::Url = endpoint.parse().map_err(|_| wrong_endpoint(&endpoint))?;
        let is_plain_text = url.scheme() == "http";
        let is_allowed = variable("AWS_ALLOW_HTTP").is_some_and(|value| value == "true");
        if is_plain_text && !is_here(&url) && !is_allowed {
            return Err(Error::Server {
                expected: "https: keys and samples would be readable on the way".into(),
                found: endpoint,
                next: "use https, or say AWS_ALLOW_HTTP=true",
                may_pass: false,
            });
        }
        let bucket = Bucket::new(url, style, name.to_owned(), region)
            .map_err(|_| wrong_endpoint(&endpoint))?;
        let roots = match (is_plain_text, variable("SSL_CERT_FILE")) {
            (true, _) => None,
            (false, Some(file)) => Some(PathBuf::from(file)),
            (false, None) => {
                let mut found = ROOTS.iter().map(PathBuf::from);
                Some(found.find(|path| baro_sys::files::exists(path)).ok_or(Error::Server {
                    expected: "certificates of authorities".into(),
                    found: format!("none of {}", ROOTS.join(", ")),
                    next: "install ca-certificates, or name a file in SSL_CERT_FILE",
                    may_pass: false,
                })?)
            }
        };
        Ok(Settings { bucket, prefix: format!("{prefix}/"), roots, keys: keys::read })
    }
}

fn wrong_endpoint(found: &str) -> Error {
    Error::Server {
        expected: "an address as https://HOST:PORT in AWS_ENDPOINT_URL".into(),
        found: found.into(),
        next: "correct it, or leave it out for S3 itself",
        may_pass: false,
    }
}

/// Whether an address is of this machine.
fn is_here(url: &url::Url) -> bool {
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}
