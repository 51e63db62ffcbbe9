//! Numbers and switches, as the kernel reads them.

/// A number as the kernel reads it (`kstrtoint`, `get_option`): decimal, hexadecimal behind `0x`, octal behind `0`.
pub(crate) fn number(text: &str) -> Option<i64> {
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => (-1, digits),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    };
    let hexadecimal = digits
        .strip_prefix("0x")
        .or_else(|| digits.strip_prefix("0X"));
    let (digits, base) = match hexadecimal {
        Some(digits) => (digits, 16),
        None if digits.len() > 1 && digits.starts_with('0') => (&digits[1..], 8),
        None => (digits, 10),
    };
    // Another sign would be taken.
    let first = digits.chars().next()?;
    let value = i64::from_str_radix(digits, base).ok();
    value
        .filter(|_| first.is_digit(base))
        .map(|value| sign * value)
}

/// A switch as the kernel reads it (`kstrtobool`).
pub(crate) fn switch(text: &str) -> Option<bool> {
    match text.to_ascii_lowercase().as_str() {
        "1" | "y" | "yes" | "t" | "true" | "on" => Some(true),
        "0" | "n" | "no" | "f" | "false" | "off" => Some(false),
        _ => None,
    }
}
