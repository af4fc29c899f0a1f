//! Parts of a date in UTC, of seconds since the Unix epoch.

/// Seconds that a year from 0001 to 9999 has, and no others.
const SECONDS: std::ops::Range<f64> = -62_135_596_800.0..253_402_300_800.0;
const DAY: i64 = 86_400;

pub(super) fn function(name: &str) -> Option<fn(f64) -> f64> {
    Some(match name {
        "minute" => |seconds| of(seconds, |day| day.second / 60 % 60),
        "hour" => |seconds| of(seconds, |day| day.second / 3600),
        "day_of_week" => |seconds| of(seconds, |day| (day.number + 4).rem_euclid(7)),
        "day_of_month" => |seconds| of(seconds, |day| day.of_month),
        "day_of_year" => |seconds| of(seconds, |day| day.number - number_of(day.year, 1, 1) + 1),
        "days_in_month" => |seconds| {
            of(seconds, |day| {
                let (year, month) =
                    if day.month == 12 { (day.year + 1, 1) } else { (day.year, day.month + 1) };
                number_of(year, month, 1) - number_of(day.year, day.month, 1)
            })
        },
        "month" => |seconds| of(seconds, |day| day.month),
        "year" => |seconds| of(seconds, |day| day.year),
        _ => return None,
    })
}

struct Day {
    /// Days since the epoch.
    number: i64,
    /// Of the day.
    second: i64,
    year: i64,
    month: i64,
    of_month: i64,
}

fn of(seconds: f64, part: fn(&Day) -> i64) -> f64 {
    if !SECONDS.contains(&seconds) {
        return f64::NAN;
    }
    let seconds = seconds.trunc() as i64;
    let number = seconds.div_euclid(DAY);
    // Years that begin in March have their leap day at the end: 400 of them have 146,097 days.
    let day = number + 719_468;
    let era = day.div_euclid(146_097);
    let of_era = day.rem_euclid(146_097);
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let march_month = (5 * of_year + 2) / 153;
    let month = if march_month < 10 { march_month + 3 } else { march_month - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    let of_month = of_year - (153 * march_month + 2) / 5 + 1;
    let day = Day { number, second: seconds.rem_euclid(DAY), year, month, of_month };
    part(&day) as f64
}

/// Days since the epoch.
fn number_of(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + of_year;
    era * 146_097 + of_era - 719_468
}
