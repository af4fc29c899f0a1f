//! Escapes in texts of a query, which are those of Go.

use std::str::Chars;

/// Whether an escape is a byte that is no letter by itself.
pub(super) fn has_byte(text: &str) -> bool {
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        if letter == '\\' && letters.next() == Some('x') {
            let digit = letters.clone().next().and_then(|digit| digit.to_digit(16));
            if digit.is_some_and(|digit| digit >= 8) {
                return true;
            }
        }
    }
    false
}

/// What a text says; `None` if an escape of it is none: the parser refuses it.
pub(super) fn read(text: &str) -> Option<String> {
    let mut found = String::with_capacity(text.len());
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        found.push(match letter {
            '\\' => escape(&mut letters)?,
            _ => letter,
        });
    }
    Some(found)
}

fn escape(letters: &mut Chars<'_>) -> Option<char> {
    Some(match letters.next()? {
        'a' => '\u{7}',
        'b' => '\u{8}',
        'f' => '\u{c}',
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        'v' => '\u{b}',
        letter @ ('\\' | '\'' | '"') => letter,
        'x' => code(letters, 0, 2, 16)?,
        'u' => code(letters, 0, 4, 16)?,
        'U' => code(letters, 0, 8, 16)?,
        first @ '0'..='7' => code(letters, first.to_digit(8)?, 2, 8)?,
        _ => return None,
    })
}

fn code(letters: &mut Chars<'_>, first: u32, digits: usize, radix: u32) -> Option<char> {
    let mut code = first;
    for _ in 0..digits {
        code = code.checked_mul(radix)?.checked_add(letters.next()?.to_digit(radix)?)?;
    }
    char::from_u32(code)
}
