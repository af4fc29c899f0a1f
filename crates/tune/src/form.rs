//! How the kernel shows a setting and how it wants it written. Pure: texts in, texts out.
//!
//! Many files do not read back as they were written: a list with the chosen word in brackets, a
//! table with one line a device, a set that is changed by `+name`, a pair of files of which
//! writing one clears the other. Each is turned into a `state`: one canonical line which, written
//! back by [`Target::writes`], makes the file read the same again. Invariant: that round trip.
//! Tests: below, and the simulated kernel in `src/journal/tests.rs`.

/// Files of which one holds the value and the other reads 0 (mm/page-writeback.c).
pub(crate) const PAIRS: [(&str, &str); 2] = [
    ("/proc/sys/vm/dirty_bytes", "/proc/sys/vm/dirty_ratio"),
    ("/proc/sys/vm/dirty_background_bytes", "/proc/sys/vm/dirty_background_ratio"),
];

/// What is read and written as one, and undone as one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Target {
    /// The file; of a pair the first.
    pub(crate) path: String,
    pub(crate) form: Form,
}

/// How a file shows its state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Form {
    /// One value, or a list of words with the chosen one in brackets. State: the value.
    Whole,
    /// The line of `key`. State: what follows the key, empty where there is no such line.
    Line { key: String, unset: String },
    /// A set of words. State: `+name` or `-name`.
    Member { name: String },
    /// Two files, see [`PAIRS`]. State: `bytes N` or `ratio N`, naming the file in force.
    Pair,
}

impl Target {
    /// A file that holds one value.
    pub(crate) fn whole(path: String) -> Target {
        Target { path, form: Form::Whole }
    }

    /// The name in reports: the path, with the key of a line or the name of a member.
    pub(crate) fn name(&self) -> String {
        match &self.form {
            Form::Whole | Form::Pair => self.path.clone(),
            Form::Line { key: word, .. } | Form::Member { name: word } => {
                format!("{} {word}", self.path)
            }
        }
    }

    /// The files to read for [`Target::state`], in its order.
    pub(crate) fn files(&self) -> Vec<&str> {
        let ratio = PAIRS.iter().find(|(bytes, _)| *bytes == self.path).map(|(_, ratio)| *ratio);
        match self.form {
            Form::Pair => [self.path.as_str()].into_iter().chain(ratio).collect(),
            _ => vec![&self.path],
        }
    }

    /// The state that these texts show; none where the file has a form other than expected.
    pub(crate) fn state(&self, texts: &[String]) -> Option<String> {
        let text = texts.first()?;
        match &self.form {
            Form::Whole if text.trim().lines().count() > 1 => None,
            Form::Whole => Some(chosen(text).map_or_else(|| canonical(text), str::to_owned)),
            Form::Line { key, .. } => {
                let mut lines = text.lines().map(canonical);
                let rest = lines.find_map(|line| {
                    line.strip_prefix(key.as_str())?.strip_prefix(' ').map(str::to_owned)
                });
                Some(rest.unwrap_or_default())
            }
            Form::Member { name } => {
                let sign = if text.split_whitespace().any(|word| word == name) { '+' } else { '-' };
                Some(format!("{sign}{name}"))
            }
            Form::Pair => match (canonical(text), canonical(texts.get(1)?)) {
                (bytes, ratio) if bytes == "0" => Some(format!("ratio {ratio}")),
                (bytes, _) => Some(format!("bytes {bytes}")),
            },
        }
    }

    /// The writes, file and text, which bring `state` about.
    pub(crate) fn writes<'a>(&'a self, state: &'a str) -> Vec<(&'a str, String)> {
        match &self.form {
            Form::Whole | Form::Member { .. } => vec![(&self.path, state.to_owned())],
            Form::Line { key, unset } => {
                let rest = if state.is_empty() { unset } else { state };
                vec![(&self.path, format!("{key} {rest}"))]
            }
            Form::Pair => {
                let (word, value) = state.split_once(' ').unwrap_or(("bytes", state));
                let files = self.files();
                let ratio = files.get(1).copied().unwrap_or(&self.path);
                match word {
                    // The kernel clears the bytes only where the ratio changes, and it reads 0
                    // already while the bytes are in force.
                    "ratio" if value == "0" => vec![(ratio, "1".into()), (ratio, "0".into())],
                    "ratio" => vec![(ratio, value.to_owned())],
                    _ => vec![(&self.path, value.to_owned())],
                }
            }
        }
    }

    /// Whether `found` is what was `wanted`; a line may show more words than were written
    /// (`io.max` lists all four limits).
    pub(crate) fn agrees(&self, wanted: &str, found: &str) -> bool {
        let has = |word: &str| found.split(' ').any(|other| other == word);
        match self.form {
            Form::Line { .. } if !wanted.is_empty() => wanted.split(' ').all(has),
            _ => wanted == found,
        }
    }

    /// What the kernel sets anew by itself when this file is written: files, and a directory with all of
    /// its files. A queue's scheduler brings its own parameters and numbers; mq-deadline follows the
    /// number of requests with its `async_depth`, which later kernels have beside it.
    pub(crate) fn disturbs(&self) -> (Option<String>, Vec<String>) {
        let of = |name| self.path.strip_suffix(name).filter(|queue| queue.ends_with("/queue/"));
        if let Some(queue) = of("scheduler") {
            let files = ["nr_requests", "async_depth", "wbt_lat_usec"];
            let files = files.iter().map(|name| format!("{queue}{name}"));
            return (Some(format!("{queue}iosched")), files.collect());
        }
        let depths = |queue| ["iosched/async_depth", "async_depth"].map(|n| format!("{queue}{n}"));
        (None, of("nr_requests").map_or_else(Vec::new, |queue| depths(queue).to_vec()))
    }
}

/// Words with single spaces between them, nothing around them.
pub(crate) fn canonical(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The one word in brackets.
fn chosen(text: &str) -> Option<&str> {
    let inside = |word| str::strip_suffix(str::strip_prefix(word, '[')?, ']');
    let mut words = text.split_whitespace().filter_map(inside);
    let word = words.next().filter(|word| !word.is_empty());
    if words.next().is_some() { None } else { word }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(form: Form, text: &str) -> Option<String> {
        Target { path: "/sys/x".into(), form }.state(&[text.to_owned()])
    }

    #[test]
    fn reads_what_the_kernel_shows() {
        let line = |key: &str| Form::Line { key: key.into(), unset: "default".into() };
        let member = |name: &str| Form::Member { name: name.into() };
        let weights = "default 100\n8:0 200\n8:16  300\n";
        for (form, text, expected) in [
            (Form::Whole, "128\n", Some("128")),
            (Form::Whole, "4096\t16384\t4194304\n", Some("4096 16384 4194304")),
            (Form::Whole, "none [mq-deadline] bfq \n", Some("mq-deadline")),
            (Form::Whole, "[a] [b]\n", Some("[a] [b]")),
            (Form::Whole, "[]\n", Some("[]")),
            (Form::Whole, "", Some("")),
            (Form::Whole, weights, None),
            (line("8:0"), weights, Some("200")),
            (line("8:16"), weights, Some("300")),
            (line("8:1"), weights, Some("")),
            (member("io"), "cpu io memory\n", Some("+io")),
            (member("i"), "cpu io memory\n", Some("-i")),
        ] {
            assert_eq!(state(form, text).as_deref(), expected, "{text:?}");
        }
    }

    #[test]
    fn writes_the_file_of_a_pair_that_is_in_force() {
        let (bytes, ratio) = PAIRS[0];
        let pair = Target { path: bytes.into(), form: Form::Pair };
        let read = |bytes: &str, ratio: &str| pair.state(&[bytes.into(), ratio.into()]).unwrap();
        assert_eq!(read("0\n", "20\n"), "ratio 20");
        assert_eq!(read("8192\n", "0\n"), "bytes 8192");
        assert_eq!(pair.writes("ratio 20"), [(ratio, "20".to_owned())]);
        assert_eq!(pair.writes("bytes 8192"), [(bytes, "8192".to_owned())]);
        assert_eq!(pair.writes("ratio 0"), [(ratio, "1".to_owned()), (ratio, "0".to_owned())]);
    }

    #[test]
    fn takes_a_line_away_that_was_not_there() {
        let form = Form::Line { key: "8:0".into(), unset: "rbps=max wbps=max".into() };
        let line = Target { path: "/sys/fs/cgroup/a/io.max".into(), form };
        assert_eq!(line.writes("")[0].1, "8:0 rbps=max wbps=max");
        assert_eq!(line.writes("wbps=9")[0].1, "8:0 wbps=9");
        assert!(line.agrees("wbps=9", "rbps=max wbps=9 riops=max"));
        assert!(!line.agrees("wbps=9", "rbps=max wbps=90 riops=max"));
        assert!(!line.agrees("", "wbps=9"));
    }
}
