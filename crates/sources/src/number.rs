//! Numbers and truth values as texts write them: one rule for CSV, JSON and line protocol.
//!
//! Digits alone are an integer of 64 bits and are refused if they are more, since as a float they
//! would lose their last digits without a word; digits that come to infinity are refused as well, and
//! those that come to 0 and are not 0.
//! `-0` is a float, since no integer has that sign.
//! The words `nan` and `inf` are floats where a form has them.
//!
//! Invariant: what is read has the value that was written, or is refused.

use crate::sample::Scalar;

/// Why a text is no number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NumberFault {
    /// It is none.
    Form,
    /// An integer that 64 bits do not hold.
    Integer,
    /// A number beyond the largest float, or one that is not 0 and nearer to 0 than any float.
    Float,
}

/// An integer, a float, or a truth value.
///
/// # Errors
/// The text is none of these.
pub fn scalar(text: &str) -> Result<Scalar<'static>, NumberFault> {
    if let Some(b't' | b'T' | b'f' | b'F') = text.as_bytes().first() {
        match text {
            "true" | "True" | "TRUE" => return Ok(Scalar::Boolean(true)),
            "false" | "False" | "FALSE" => return Ok(Scalar::Boolean(false)),
            _ => {}
        }
    }
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    if !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()) {
        // Only a float has a zero below zero; printed without places it looks so.
        if text.starts_with('-') && digits.bytes().all(|byte| byte == b'0') {
            return Ok(Scalar::Float(-0.0));
        }
        return text.parse().map(Scalar::Integer).map_err(|_| NumberFault::Integer);
    }
    float(text).map(Scalar::Float)
}

/// A float, also one without a point.
///
/// # Errors
/// The text is none, too large, or too small to be anything but 0.
pub(crate) fn float(text: &str) -> Result<f64, NumberFault> {
    let value: f64 = text.parse().map_err(|_| NumberFault::Form)?;
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    // Infinity is a word; digits that come to it are a number too large for 64 bits.
    if value.is_infinite()
        && digits.starts_with(|first: char| first.is_ascii_digit() || first == '.')
    {
        return Err(NumberFault::Float);
    }
    let significant = || digits.bytes().take_while(|byte| !matches!(byte, b'e' | b'E'));
    if value == 0.0 && significant().any(|byte| matches!(byte, b'1'..=b'9')) {
        return Err(NumberFault::Float);
    }
    Ok(value)
}

/// As [`float`], but for an integer that no float has and none is written as: it would lose its last digits.
///
/// # Errors
/// As [`float`], or it is such an integer.
pub(crate) fn exact_float(text: &str) -> Result<f64, NumberFault> {
    let value = float(text)?;
    match text.parse::<i128>() {
        Ok(integer) if value as i128 != integer && format!("{value}") != text => {
            Err(NumberFault::Integer)
        }
        _ => Ok(value),
    }
}

/// An integer of 64 bits with a sign or without.
///
/// # Errors
/// The text is none, or too large.
pub(crate) fn integer(text: &str) -> Result<Scalar<'static>, NumberFault> {
    if let Ok(value) = text.parse() {
        return Ok(Scalar::Integer(value));
    }
    match (text.parse(), scalar(text)) {
        (Ok(value), _) => Ok(Scalar::Unsigned(value)),
        (_, Err(fault)) => Err(fault),
        (_, Ok(_)) => Err(NumberFault::Form),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_integer_that_no_float_has_is_none() {
        for (text, value) in [
            ("9007199254740992", Ok(9_007_199_254_740_992.0)),
            ("9007199254740993", Err(NumberFault::Integer)),
            ("-9007199254740993", Err(NumberFault::Integer)),
            // As one is printed, in digits of which the last are not the float's.
            ("1614713189327649500", Ok(1_614_713_189_327_649_500.0)),
            ("9007199254740993.0", Ok(9_007_199_254_740_992.0)),
            ("0007", Ok(7.0)),
        ] {
            assert_eq!(exact_float(text), value, "{text}");
        }
    }

    #[test]
    fn a_number_that_would_become_another_is_refused() {
        for text in ["1e-400", "-1e-400", "+0.1E-999", "2.4e-324", "0.000001e-330", "1e400"] {
            assert_eq!(scalar(text), Err(NumberFault::Float), "{text}");
        }
        let zeros = ["0e-400", "-0.0", "0", "0.000e5", "00e-1"];
        for text in zeros {
            assert_eq!(float(text), Ok(0.0), "{text}");
        }
        // What exists is taken, however small.
        assert_eq!(scalar("5e-324"), Ok(Scalar::Float(5e-324)));
        assert_eq!(scalar("2.5e-324"), Ok(Scalar::Float(5e-324)));
        let long = format!("0.{}1", "0".repeat(400));
        assert_eq!(scalar(&long), Err(NumberFault::Float));
    }
}
