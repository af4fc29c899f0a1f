//! Random series, and random questions about them.

use crate::prometheus::{MS, Question};
use baro_promql::testing::Memory;
use baro_promql::{ABSENT, Labels, Times};
use std::fmt::Write as _;

const METRICS: [&str; 3] = ["a", "b", "c"];
const SITES: [&str; 3] = ["x", "y", "z"];
/// Steps that are loaded.
const POINTS: u64 = 40;

pub(crate) struct Draw(u64);

impl Draw {
    pub(crate) fn new(seed: u64) -> Self {
        Draw(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % limit.max(1)
    }

    fn pick<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[self.below(of.len() as u64) as usize]
    }

    pub(crate) fn question(&mut self) -> Question {
        let step_ms = [1_000, 15_000, 60_000, 77_000][self.below(4) as usize];
        let mut question = Question {
            load: format!("load {step_ms}ms\n"),
            memory: Memory::default(),
            expression: String::new(),
            times: Times::at(0),
            scale: 0.0,
        };
        for metric in METRICS {
            for site in SITES {
                if self.below(5) > 0 {
                    self.series(metric, site, step_ms, &mut question);
                }
            }
        }
        let end_ms = step_ms * POINTS as i64;
        let at_ms = self.below(end_ms as u64) as i64;
        question.times = match self.below(3) {
            0 => Times::at(at_ms * MS),
            _ => {
                let step_ms = 1 + self.below(end_ms as u64 / 4) as i64;
                let length_ms = self.below((step_ms * 12) as u64) as i64;
                Times::range(at_ms * MS, (at_ms + length_ms) * MS, step_ms * MS)
            }
        };
        question.expression = self.vector(4, step_ms);
        question
    }

    fn series(&mut self, metric: &str, site: &str, step_ms: i64, question: &mut Question) {
        let line = self.below(2);
        write!(question.load, "  {metric}{{site=\"{site}\",line=\"{line}\"}}").unwrap();
        let labels = [("__name__", metric), ("site", site), ("line", &line.to_string())];
        let labels = Labels::new(labels.map(|(a, b)| (a.to_owned(), b.to_owned())));
        let (counter, mut count) = (self.below(2) == 0, 0.0);
        for point in 0..POINTS as i64 {
            let value = match (self.below(20), counter) {
                (0, _) => None,
                (1, _) => Some(ABSENT),
                (2, false) => Some([f64::NAN, f64::INFINITY, 0.0, -0.0][self.below(4) as usize]),
                (3, true) => {
                    count = self.below(3) as f64;
                    Some(count)
                }
                (_, true) => {
                    count += self.below(100) as f64 / 4.0;
                    Some(count)
                }
                (_, false) => Some(self.below(2_000) as f64 / 8.0 - 100.0),
            };
            match value {
                None => question.load.push_str(" _"),
                Some(value) => {
                    question.memory.insert(labels.clone(), point * step_ms * MS, value);
                    match value {
                        _ if value.to_bits() == ABSENT.to_bits() => {
                            question.load.push_str(" stale")
                        }
                        _ if value.is_nan() => question.load.push_str(" NaN"),
                        f64::INFINITY => question.load.push_str(" Inf"),
                        _ => {
                            question.scale = question.scale.max(value.abs());
                            write!(question.load, " {value}").unwrap();
                        }
                    }
                }
            }
        }
        question.load.push('\n');
    }

    fn selector(&mut self) -> String {
        let metric = self.pick(&METRICS);
        let matcher = match self.below(5) {
            0 => format!("{{site=\"{}\"}}", self.pick(&SITES)),
            1 => "{site=~\"x|y\"}".to_owned(),
            2 => "{line!=\"0\"}".to_owned(),
            _ => String::new(),
        };
        format!("{metric}{matcher}")
    }

    fn shift(&mut self, step_ms: i64) -> String {
        match self.below(12) {
            0 => format!(" offset {}ms", self.below(5 * step_ms as u64)),
            1 => format!(" offset -{}ms", self.below(5 * step_ms as u64)),
            2 => format!(" @ {}", self.below(40 * step_ms as u64) as f64 / 1000.0),
            3 => [" @ start()", " @ end()"][self.below(2) as usize].to_owned(),
            _ => String::new(),
        }
    }

    fn range(&mut self, depth: u32, step_ms: i64) -> String {
        let length = 1 + self.below(12 * step_ms as u64);
        let shift = self.shift(step_ms);
        if depth > 1 && self.below(4) == 0 {
            let inner = self.vector(depth - 1, step_ms);
            let step = match self.below(3) {
                0 => String::new(),
                _ => format!("{}ms", 1 + self.below(3 * step_ms as u64)),
            };
            // Not too many steps.
            let step =
                if length > 600_000 || step_ms > 30_000 { format!("{step_ms}ms") } else { step };
            return format!("({inner})[{length}ms:{step}]{shift}");
        }
        format!("{}[{length}ms]{shift}", self.selector())
    }

    fn number(&mut self) -> String {
        self.pick(&["0", "1", "2", "0.5", "-1", "10", "NaN", "+Inf"]).to_owned()
    }

    fn modifier(&mut self) -> &'static str {
        const ALL: [&str; 5] =
            ["", " by (site)", " by (line)", " without (site)", " by (site, line)"];
        ALL[self.below(5) as usize]
    }

    fn vector(&mut self, depth: u32, step_ms: i64) -> String {
        match self.below(10) {
            _ if depth == 0 => format!("{}{}", self.selector(), self.shift(step_ms)),
            0 => format!("{}{}", self.selector(), self.shift(step_ms)),
            1 | 2 => self.over_time(depth, step_ms),
            3 | 4 => self.aggregation(depth, step_ms),
            5 => self.function(depth, step_ms),
            6 => {
                let inner = self.vector(depth - 1, step_ms);
                let operator =
                    self.pick(&["+", "-", "*", "/", "%", "^", ">", "<=", "== bool", "!="]);
                match self.below(2) {
                    0 => format!("({inner}) {operator} {}", self.number()),
                    _ => format!("{} {operator} ({inner})", self.number()),
                }
            }
            7 => {
                let [left, right] = [(); 2].map(|()| self.vector(depth - 1, step_ms));
                let how = self.pick(&["", " on (site)", " ignoring (line)", " on ()"]);
                format!("({left}) {}{how} ({right})", self.pick(&["and", "or", "unless"]))
            }
            _ => {
                let [left, right] = [(); 2].map(|()| self.vector(depth - 1, step_ms));
                let operator =
                    self.pick(&["+", "-", "*", "/", "%", "^", "atan2", ">", "<=", "== bool", "!="]);
                let how = self.pick(&[
                    "",
                    "",
                    " on (site)",
                    " on (site, line)",
                    " ignoring (line)",
                    " on (site) group_left ()",
                    " on (site) group_right (line)",
                    " ignoring (line) group_left (line)",
                ]);
                format!("({left}) {operator}{how} ({right})")
            }
        }
    }

    fn over_time(&mut self, depth: u32, step_ms: i64) -> String {
        const NAMES: &str = "rate increase delta irate idelta deriv changes resets avg_over_time \
                             sum_over_time min_over_time max_over_time count_over_time \
                             last_over_time present_over_time stddev_over_time stdvar_over_time \
                             absent_over_time first_over_time";
        let of = self.range(depth, step_ms);
        match self.below(12) {
            0 => {
                let q = self.pick(&["0.5", "0.9", "-1", "2"]);
                format!("quantile_over_time({q}, {of})")
            }
            1 => format!("predict_linear({of}, {})", self.number()),
            _ => format!("{}({of})", self.word(NAMES)),
        }
    }

    fn aggregation(&mut self, depth: u32, step_ms: i64) -> String {
        let inner = self.vector(depth - 1, step_ms);
        let modifier = self.modifier();
        match self.below(6) {
            0 => {
                let name = self.word("topk bottomk");
                format!("{name}{modifier} ({}, {inner})", self.below(4))
            }
            1 => {
                let q = self.pick(&["0", "0.3", "1", "2"]);
                format!("quantile{modifier} ({q}, {inner})")
            }
            // Of what was recorded: the last digit of what is made of it is the machine's.
            2 => format!("count_values{modifier} (\"v\", {})", self.selector()),
            _ => {
                let name = self.word("sum avg min max count group stddev stdvar");
                format!("{name}{modifier} ({inner})")
            }
        }
    }

    fn function(&mut self, depth: u32, step_ms: i64) -> String {
        const NAMES: &str = "abs ceil floor sqrt exp ln log2 log10 sgn deg rad timestamp absent sort \
                             sort_desc sin atan";
        const DATES: &str =
            "minute hour day_of_week day_of_month days_in_month month year day_of_year";
        let inner = self.vector(depth - 1, step_ms);
        match self.below(10) {
            0 => format!("clamp({inner}, {}, {})", self.number(), self.number()),
            1 => format!("round({inner}, {})", self.pick(&["0.1", "1", "5", "0.25"])),
            2 => {
                format!("label_replace({inner}, \"line\", \"$1-$2\", \"site\", \"(x|y)(.*)\")")
            }
            3 => format!("label_join({inner}, \"both\", \"/\", \"site\", \"line\")"),
            4 => format!("vector(scalar({inner}))"),
            5 => format!("-({inner})"),
            // Of no others than times: of infinity Go makes a year of its own.
            6 => format!("{}(timestamp({inner}) * 40000)", self.word(DATES)),
            _ => format!("{}({inner})", self.word(NAMES)),
        }
    }

    fn word<'a>(&mut self, of: &'a str) -> &'a str {
        let words: Vec<&str> = of.split_whitespace().collect();
        self.pick(&words)
    }
}
