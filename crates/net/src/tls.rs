//! TLS below HTTP: a certificate that is read again when it changes, and the bytes of a connection.
//!
//! The protocol is rustls', with the algorithms of ring: TLS 1.2 and 1.3 and nothing older. There is no
//! HTTP/2, so `http/1.1` is all that is agreed on.
//!
//! A certificate that is renewed, as by certbot, is taken by connections that come afterwards. One that cannot
//! be read or does not fit its key leaves the one before in use, and the reason is told once.
//!
//! Invariant: at an address with TLS no byte of HTTP is answered in the clear, but that TLS was expected.
//! No file holds up the server: a
//! pipe in the place of one is refused. Held by `tests/tls`.

mod stream;

pub(crate) use stream::{NoTls, Stream};

use baro_sys::{clock, files, schedule};
use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// A chain of certificates has a few KiB.
const FILE_BYTES_MAX: u64 = 256 << 10;
/// How old what is known may be.
const FRESH_NS: u64 = 2_000_000_000;
/// Bits of a mode that give a key away: of one's own, and of root's, whose group may read it.
const SHARED: u32 = 0o077;
const SHARED_OF_ROOT: u32 = 0o027;

/// A certificate and its key, in files of PEM.
#[derive(Debug)]
pub struct Tls {
    certificate: PathBuf,
    key: PathBuf,
    known: Mutex<Known>,
}

#[derive(Debug)]
struct Known {
    read_ns: u64,
    /// The bytes of both files, of which the configuration was made.
    files: [Vec<u8>; 2],
    config: Arc<ServerConfig>,
    /// Why they could not be read, the last time, and whether that was told.
    fault: Option<(String, bool)>,
}

impl Tls {
    /// Reads both files. Blocks for reading.
    ///
    /// # Errors
    /// In words, with the path: a file cannot be read, has nothing of its kind in it, or the key is not that
    /// of the certificate, or is not its owner's alone.
    pub fn open(certificate: &Path, key: &Path) -> Result<Self, String> {
        let (certificate, key) = (certificate.to_owned(), key.to_owned());
        let files = read(&certificate, &key)?;
        let config = config(&certificate, &key, &files)?;
        let read_ns = clock::monotonic_ns();
        let known = Known { read_ns, files, config, fault: None };
        Ok(Tls { certificate, key, known: Mutex::new(known) })
    }

    /// Reads both again if that was not done for two seconds; called some times a second.
    pub fn look(&self) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let now_ns = clock::monotonic_ns();
        if now_ns.saturating_sub(known.read_ns) < FRESH_NS {
            return;
        }
        known.read_ns = now_ns;
        let found = read(&self.certificate, &self.key).and_then(|files| {
            let same = files == known.files;
            Ok(if same {
                None
            } else {
                Some((config(&self.certificate, &self.key, &files)?, files))
            })
        });
        match found {
            Ok(None) => known.fault = None,
            Ok(Some((config, files))) => {
                (known.config, known.files, known.fault) = (config, files, None);
            }
            Err(fault) => {
                let told =
                    known.fault.as_ref().is_some_and(|(before, told)| *told && *before == fault);
                known.fault = Some((fault, told));
            }
        }
    }

    /// Why the certificate before is in use still, if that has not been told.
    #[must_use]
    pub fn take_fault(&self) -> Option<String> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let (fault, told) = known.fault.as_mut().filter(|(_, told)| !told)?;
        *told = true;
        Some(fault.clone())
    }

    pub(crate) fn config(&self) -> Arc<ServerConfig> {
        Arc::clone(&self.known.lock().unwrap_or_else(PoisonError::into_inner).config)
    }
}

/// The bytes of both files.
fn read(certificate: &Path, key: &Path) -> Result<[Vec<u8>; 2], String> {
    let bytes = |path: &Path, is_secret: bool| {
        let failed = |said: &dyn std::fmt::Display| format!("{}: {said}", path.display());
        let file = files::open_regular(path).map_err(|error| error.to_string())?;
        let about = file.metadata().map_err(|error| failed(&error))?;
        if let Some(said) = exposed(about.uid(), about.mode()).filter(|_| is_secret) {
            return Err(failed(&said));
        }
        let mut bytes = Vec::new();
        file.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes).map_err(|error| failed(&error))?;
        if bytes.len() as u64 > FILE_BYTES_MAX {
            return Err(failed(&format!("expected at most {FILE_BYTES_MAX} bytes, found more")));
        }
        Ok(bytes)
    };
    Ok([bytes(certificate, false)?, bytes(key, true)?])
}

/// What is wrong with a key of this owner and mode, if it may be others' too.
fn exposed(owner: u32, mode: u32) -> Option<String> {
    let user = schedule::user_id();
    let mode = mode & 0o7777;
    if owner != user && owner != 0 {
        return Some(format!(
            "expected a key of user {user} or root, found one of user {owner}: whoever owns it reads it"
        ));
    }
    let shared = if owner == 0 { SHARED_OF_ROOT } else { SHARED };
    (mode & shared != 0).then(|| {
        format!(
            "expected a key that nobody but its owner can read (of root's, its group too), found mode \
             {mode:04o}: chmod 600, or as root chmod 640"
        )
    })
}

fn config(
    certificate: &Path,
    key: &Path,
    files: &[Vec<u8>; 2],
) -> Result<Arc<ServerConfig>, String> {
    let of = |path: &Path, said: String| format!("{}: {said}", path.display());
    let chain: Vec<CertificateDer<'static>> = CertificateDer::pem_slice_iter(&files[0])
        .collect::<Result<_, _>>()
        .map_err(|error| of(certificate, format!("expected certificates in PEM: {error}")))?;
    if chain.is_empty() {
        return Err(of(certificate, "expected certificates in PEM, found none".to_owned()));
    }
    let secret = PrivateKeyDer::from_pem_slice(&files[1])
        .map_err(|error| of(key, format!("expected a private key in PEM: {error}")))?;
    let builder = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?;
    let mut config =
        builder.with_no_client_auth().with_single_cert(chain, secret).map_err(|error| {
            of(key, format!("expected the key of {}: {error}", certificate.display()))
        })?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}
