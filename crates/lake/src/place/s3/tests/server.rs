//! A server of S3 as far as a table needs one: files of a folder are its objects, so that what a table holds
//! is read as that of a folder is. It loses answers, is busy, or dies, as a test says.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

/// What happens to a request.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Fate {
    Fine,
    /// It is not done, and there is no answer.
    Lost,
    /// It is done, and there is no answer.
    AnswerLost,
    /// It is not done: this code, with this name.
    Refused(u16, &'static str),
    /// A name that is there is replaced.
    Replaces,
}

/// What a test wants of each request, by method and key.
pub(super) type Judge = dyn FnMut(&str, &str) -> Fate + Send;

#[derive(Default)]
struct Uploads {
    parts: BTreeMap<(String, u16), Vec<u8>>,
    begun: u64,
    open: BTreeMap<String, String>,
}

struct Inner {
    root: PathBuf,
    judge: Mutex<Box<Judge>>,
    uploads: Mutex<Uploads>,
    is_over: AtomicBool,
}

/// A running server; it ends when it is dropped.
pub(super) struct Server {
    pub(super) address: SocketAddr,
    inner: Arc<Inner>,
}

struct Request {
    method: String,
    key: String,
    query: BTreeMap<String, String>,
    headers: BTreeMap<String, String>,
    body: Vec<u8>,
}

impl Server {
    /// Objects of bucket `bucket` are the files below `root`.
    pub(super) fn over(root: &Path, judge: Box<Judge>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let inner = Arc::new(Inner {
            root: root.to_owned(),
            judge: Mutex::new(judge),
            uploads: Mutex::default(),
            is_over: AtomicBool::new(false),
        });
        let served = Arc::clone(&inner);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                if served.is_over.load(Ordering::Relaxed) {
                    return;
                }
                let served = Arc::clone(&served);
                std::thread::spawn(move || served.serve(stream.unwrap()));
            }
        });
        Server { address, inner }
    }

    /// Parts that nobody has finished or given up.
    pub(super) fn parts_left(&self) -> usize {
        self.inner.uploads.lock().unwrap().open.len()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.inner.is_over.store(true, Ordering::Relaxed);
        let _ = TcpStream::connect(self.address);
    }
}

impl Inner {
    fn serve(&self, stream: TcpStream) {
        let mut reader = BufReader::new(stream.try_clone().unwrap());
        let Some(request) = read(&mut reader) else { return };
        let fate = (self.judge.lock().unwrap())(&request.method, &request.key);
        let (code, headers, body) = match fate {
            Fate::Lost => return,
            Fate::Refused(code, name) => (code, String::new(), wrong(name)),
            fate => self.answer(&request, fate == Fate::Replaces),
        };
        if fate == Fate::AnswerLost {
            return;
        }
        let is_head = request.method == "HEAD";
        let length =
            if is_head { String::new() } else { format!("Content-Length: {}\r\n", body.len()) };
        let mut stream = stream;
        let head = format!("HTTP/1.1 {code} X\r\nConnection: close\r\n{length}{headers}\r\n");
        let _ = stream.write_all(head.as_bytes());
        if !is_head {
            let _ = stream.write_all(&body);
        }
    }

    fn answer(&self, request: &Request, replaces: bool) -> (u16, String, Vec<u8>) {
        let Request { method, key, query, headers, body } = request;
        assert!(query.contains_key("X-Amz-Signature"), "each request is signed");
        let signed = &query["X-Amz-SignedHeaders"];
        let path = self.root.join(key);
        let tag = |number: usize| format!("ETag: \"{number}\"\r\n");
        let mut uploads = self.uploads.lock().unwrap();
        match (method.as_str(), query.get("uploadId")) {
            ("GET", _) if query.contains_key("list-type") => (200, String::new(), self.list(query)),
            ("GET", _) => match fs::read(&path) {
                Ok(bytes) => (200, tag(bytes.len()), bytes),
                Err(_) => (404, String::new(), wrong("NoSuchKey")),
            },
            ("HEAD", _) => match fs::metadata(&path) {
                Ok(found) => (200, format!("Content-Length: {}\r\n", found.len()), Vec::new()),
                Err(_) => (404, "Content-Length: 0\r\n".into(), Vec::new()),
            },
            ("PUT", Some(id)) => {
                let number: u16 = query["partNumber"].parse().unwrap();
                uploads.parts.insert((id.clone(), number), body.clone());
                (200, tag(number.into()), Vec::new())
            }
            ("PUT", None) => {
                let is_new = headers.get("if-none-match").is_some_and(|value| value == "*");
                assert_eq!(is_new, signed.contains("if-none-match"), "what counts is signed");
                if is_new && path.exists() && !replaces {
                    return (412, String::new(), wrong("PreconditionFailed"));
                }
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(&path, body).unwrap();
                (200, tag(body.len()), Vec::new())
            }
            ("POST", None) => {
                uploads.begun += 1;
                let id = format!("upload {}", uploads.begun);
                uploads.open.insert(id.clone(), key.clone());
                let inner = format!("<Bucket>b</Bucket><Key>{key}</Key><UploadId>{id}</UploadId>");
                (200, String::new(), xml("InitiateMultipartUploadResult", &inner))
            }
            ("POST", Some(id)) => {
                if uploads.open.remove(id).is_none() {
                    return (404, String::new(), wrong("NoSuchUpload"));
                }
                let parts = uploads.parts.iter().filter(|((of, _), _)| of == id);
                let whole: Vec<u8> = parts.flat_map(|(_, bytes)| bytes.clone()).collect();
                uploads.parts.retain(|(of, _), _| of != id);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(&path, whole).unwrap();
                let inner = format!(
                    "<Location>x</Location><Bucket>b</Bucket><Key>{key}</Key><ETag>\"1\"</ETag>"
                );
                (200, String::new(), xml("CompleteMultipartUploadResult", &inner))
            }
            ("DELETE", Some(id)) => {
                uploads.open.remove(id);
                uploads.parts.retain(|(of, _), _| of != id);
                (204, String::new(), Vec::new())
            }
            ("DELETE", None) => {
                let _ = fs::remove_file(&path);
                (204, String::new(), Vec::new())
            }
            (method, _) => panic!("{method}"),
        }
    }

    /// Two names an answer, so that lists go on.
    fn list(&self, query: &BTreeMap<String, String>) -> Vec<u8> {
        let prefix = query.get("prefix").cloned().unwrap_or_default();
        let folder = self.root.join(&prefix);
        let mut names: Vec<(String, bool)> = fs::read_dir(folder)
            .into_iter()
            .flatten()
            .map(|entry| entry.unwrap())
            .map(|entry| (entry.file_name().into_string().unwrap(), entry.path().is_dir()))
            .collect();
        names.sort();
        let after = query.get("continuation-token").cloned().unwrap_or_default();
        names.retain(|(name, _)| *name > after);
        let (mut inner, is_cut) = (String::new(), names.len() > 2);
        names.truncate(2);
        for (name, is_folder) in &names {
            inner += &match is_folder {
                true => {
                    format!("<CommonPrefixes><Prefix>{prefix}{name}/</Prefix></CommonPrefixes>")
                }
                false => format!(
                    "<Contents><Key>{prefix}{name}</Key><LastModified>2026-01-01T00:00:00.000Z\
                     </LastModified><ETag>\"1\"</ETag><Size>1</Size><StorageClass>STANDARD</StorageClass>\
                     </Contents>"
                ),
            };
        }
        if is_cut {
            let last = &names[1].0;
            inner += &format!("<NextContinuationToken>{last}</NextContinuationToken>");
        }
        xml("ListBucketResult", &format!("<IsTruncated>{is_cut}</IsTruncated>{inner}"))
    }
}

fn xml(name: &str, inner: &str) -> Vec<u8> {
    let space = "http://s3.amazonaws.com/doc/2006-03-01/";
    format!("<?xml version=\"1.0\"?><{name} xmlns=\"{space}\">{inner}</{name}>").into_bytes()
}

fn wrong(code: &str) -> Vec<u8> {
    format!("<Error><Code>{code}</Code><Message>as a test wants</Message></Error>").into_bytes()
}

fn plain(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte == b'%' {
            let hex = [rest.next().unwrap(), rest.next().unwrap()];
            bytes.push(u8::from_str_radix(std::str::from_utf8(&hex).unwrap(), 16).unwrap());
        } else {
            bytes.push(byte);
        }
    }
    String::from_utf8(bytes).unwrap()
}

fn read(reader: &mut BufReader<TcpStream>) -> Option<Request> {
    let mut line = String::new();
    reader.read_line(&mut line).ok().filter(|bytes| *bytes > 0)?;
    let mut words = line.split(' ');
    let (method, target) = (words.next()?.to_owned(), words.next()?.to_owned());
    let mut headers = BTreeMap::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim().split_once(':') else { break };
        headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
    }
    let length = headers.get("content-length").map_or(0, |bytes| bytes.parse().unwrap());
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let (path, query) = target.split_once('?').unwrap_or((&target, ""));
    let key = plain(path.strip_prefix("/b").unwrap().trim_start_matches('/'));
    let pair = |part: &str| {
        let (name, value) = part.split_once('=').unwrap_or((part, ""));
        (plain(name), plain(value))
    };
    let query = query.split('&').filter(|part| !part.is_empty()).map(pair).collect();
    Some(Request { method, key, query, headers, body })
}
