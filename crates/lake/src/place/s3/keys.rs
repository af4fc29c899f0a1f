//! Keys: from the environment, or from the file that other programs read too.

use crate::error::{Error, Result};
use baro_sys::files;
use rusty_s3::Credentials;
use std::env;
use std::path::{Path, PathBuf};

/// Bytes of the file at most.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// Reads the keys as they are now: what hands out short-lived ones writes them anew.
pub(super) fn read() -> Result<Credentials> {
    let variable = |name: &str| env::var(name).ok().filter(|value| !value.is_empty());
    if let (Some(key), Some(secret)) =
        (variable("AWS_ACCESS_KEY_ID"), variable("AWS_SECRET_ACCESS_KEY"))
    {
        return Ok(credentials(key, secret, variable("AWS_SESSION_TOKEN")));
    }
    let profile = variable("AWS_PROFILE").unwrap_or_else(|| "default".to_owned());
    let file = variable("AWS_SHARED_CREDENTIALS_FILE").map(PathBuf::from);
    let file = file.or_else(|| Some(Path::new(&variable("HOME")?).join(".aws/credentials")));
    let missing = |found: String| Error::Server {
        expected: "keys in AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or in ~/.aws/credentials"
            .into(),
        found,
        next: "set them for this user or service; they are read again at each try",
        may_pass: true,
    };
    let Some(file) = file else { return Err(missing("neither, and no HOME".to_owned())) };
    if !files::exists(&file) {
        return Err(missing(format!("neither, and no {}", file.display())));
    }
    let text = files::read_text(&file, FILE_BYTES_MAX)?;
    of_profile(&text, &profile)
        .ok_or_else(|| missing(format!("no keys of profile {profile} in {}", file.display())))
}

fn credentials(key: String, secret: String, token: Option<String>) -> Credentials {
    match token {
        Some(token) => Credentials::new_with_token(key, secret, token),
        None => Credentials::new(key, secret),
    }
}

/// Those of a profile in the text of such a file.
fn of_profile(text: &str, profile: &str) -> Option<Credentials> {
    let (mut is_ours, mut found) = (false, [const { None::<String> }; 3]);
    for line in text.lines().map(str::trim) {
        if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            is_ours = name.trim() == profile;
        } else if is_ours && let Some((name, value)) = line.split_once('=') {
            let names = ["aws_access_key_id", "aws_secret_access_key", "aws_session_token"];
            let at = names.iter().position(|known| known.eq_ignore_ascii_case(name.trim()));
            if let Some(place) = at.and_then(|at| found.get_mut(at)) {
                *place = Some(value.trim().to_owned()).filter(|value| !value.is_empty());
            }
        }
    }
    let [key, secret, token] = found;
    Some(credentials(key?, secret?, token))
}

#[cfg(test)]
mod tests {
    use super::of_profile;

    #[test]
    fn the_keys_of_a_profile_are_its_own() {
        let text = "[default]\naws_access_key_id = a\naws_secret_access_key=b=c\n# x\n[plant]\n\
                    AWS_ACCESS_KEY_ID=d\naws_secret_access_key = e\naws_session_token = f\n[half]\n\
                    aws_access_key_id = g\n";
        let keys = |profile| of_profile(text, profile);
        let found = keys("default").unwrap();
        assert_eq!((found.key(), found.secret(), found.token()), ("a", "b=c", None));
        assert_eq!(keys("plant").unwrap().token(), Some("f"));
        assert!(keys("half").is_none() && keys("other").is_none());
    }
}
