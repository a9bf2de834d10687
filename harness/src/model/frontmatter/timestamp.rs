//! Dates and times as YAML 1.1 types them, and as JSON can show them.

/// An instant in nanoseconds since 1970, a time without a zone taken as UTC.
pub(super) type Instant = i128;

const SECOND: i128 = 1_000_000_000;

/// The instant of a scalar that YAML 1.1 reads as a timestamp.
pub(super) fn of_yaml(text: &str) -> Option<Instant> {
    let bytes = text.as_bytes();
    // Quick way out: nearly no scalar begins with a year.
    if bytes.len() < 8 || bytes[4] != b'-' || !bytes[..4].iter().all(u8::is_ascii_digit) {
        return None;
    }
    let mut reader = Reader { rest: text };
    let instant = reader.date_time(false)?;
    // A date alone has two digits each for month and day.
    (text.contains(':') || text.len() == 10).then_some(instant)
}

/// The instant that a JSON string shows: ISO 8601 as the usual libraries print it, with `T` or
/// a space, with or without seconds, fraction and zone.
pub(super) fn of_json(text: &str) -> Option<Instant> {
    Reader { rest: text }.date_time(true)
}

/// Whether both are the same instant, for libraries that keep no more than milliseconds.
pub(super) fn same(a: Instant, b: Instant) -> bool {
    (a - b).abs() < SECOND / 1000
}

struct Reader<'a> {
    rest: &'a str,
}

impl Reader<'_> {
    fn date_time(&mut self, loose: bool) -> Option<Instant> {
        let year = self.number(4, 4)?;
        self.eat("-")?;
        let month = self.number(1, 2)?;
        self.eat("-")?;
        let day = self.number(1, 2)?;
        let date = days(year, month, day)? * 86_400 * SECOND;
        if self.rest.is_empty() {
            return Some(date);
        }
        if self.eat("T").or_else(|| self.eat("t")).is_none() {
            self.blanks()?;
        }
        let hour = self.number(1, 2)?;
        self.eat(":")?;
        let minute = self.number(2, 2)?;
        let mut second = 0;
        if !loose || self.rest.starts_with(':') {
            self.eat(":")?;
            second = self.number(2, 2)?;
        }
        let fraction = match self.eat(".") {
            Some(()) => self.fraction(),
            None => 0,
        };
        if hour > 23 || minute > 59 || second > 60 {
            return None;
        }
        let _ = self.blanks();
        let zone = self.zone(loose)?;
        let seconds = (hour * 60 + minute - zone) * 60 + second;
        self.rest
            .is_empty()
            .then_some(date + seconds * SECOND + fraction)
    }

    /// The offset from UTC in minutes.
    fn zone(&mut self, loose: bool) -> Option<i128> {
        if self.rest.is_empty() {
            return Some(0);
        }
        if self.eat("Z").is_some() || loose && (self.eat("z").or_else(|| self.eat("UTC"))).is_some()
        {
            return Some(0);
        }
        let sign = if self.eat("+").is_some() {
            1
        } else {
            self.eat("-")?;
            -1
        };
        let hours = self.number(1, 2)?;
        let _ = self.eat(":");
        let minutes = if self.rest.is_empty() {
            0
        } else {
            self.number(2, 2)?
        };
        (hours <= 24 && minutes <= 59).then_some(sign * (hours * 60 + minutes))
    }

    fn eat(&mut self, text: &str) -> Option<()> {
        self.rest = self.rest.strip_prefix(text)?;
        Some(())
    }

    fn blanks(&mut self) -> Option<()> {
        let rest = self.rest.trim_start_matches([' ', '\t']);
        let any = rest.len() < self.rest.len();
        self.rest = rest;
        any.then_some(())
    }

    /// The digits up to the next other character.
    fn digits(&mut self) -> &str {
        let end = self
            .rest
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(self.rest.len());
        let (digits, rest) = self.rest.split_at(end);
        self.rest = rest;
        digits
    }

    fn number(&mut self, least: usize, most: usize) -> Option<i128> {
        let end = self
            .rest
            .bytes()
            .take(most)
            .take_while(u8::is_ascii_digit)
            .count();
        if end < least {
            return None;
        }
        let (digits, rest) = self.rest.split_at(end);
        self.rest = rest;
        digits.parse().ok()
    }

    /// Digits behind the point, in nanoseconds.
    fn fraction(&mut self) -> i128 {
        let digits = self.digits();
        let nine = &digits[..digits.len().min(9)];
        let value: i128 = nine.parse().unwrap_or(0);
        value * 10_i128.pow(9 - nine.len() as u32)
    }
}

/// Days since 1970-01-01 in the Gregorian calendar; `None` for a date that does not exist.
fn days(year: i128, month: i128, day: i128) -> Option<i128> {
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let last = match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 if leap => 29,
        2 => 28,
        _ => return None,
    };
    if day < 1 || day > last {
        return None;
    }
    // Years that begin in March, so that the leap day is the last of its year.
    let shifted = if month > 2 { year } else { year - 1 };
    let in_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let leaps = shifted.div_euclid(4) - shifted.div_euclid(100) + shifted.div_euclid(400);
    Some(shifted * 365 + leaps + in_year - 719_468)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_of_known_dates() {
        assert_eq!(days(1970, 1, 1), Some(0));
        assert_eq!(days(2000, 3, 1), Some(11_017));
        assert_eq!(days(2026, 1, 31), Some(20_484));
        assert_eq!(days(2024, 2, 29), Some(19_782));
        assert_eq!(days(1969, 12, 31), Some(-1));
        for (year, month, day) in [(2025, 2, 29), (1900, 2, 29), (2026, 13, 1), (2026, 4, 31)] {
            assert_eq!(days(year, month, day), None);
        }
    }

    #[test]
    fn yaml_timestamps() {
        let noon = of_json("2026-01-31T12:00:00Z");
        assert!(noon.is_some());
        for text in [
            "2026-01-31T12:00:00Z",
            "2026-01-31 12:00:00",
            "2026-1-31t12:00:00.000 Z",
            "2026-01-31T14:00:00+02:00",
            "2026-01-31 07:00:00 -5",
        ] {
            assert_eq!(of_yaml(text), noon, "{text}");
        }
        for text in [
            "2026-1-31",
            "2026-02-30",
            "2026-01-31T12:00",
            "2026-01-31T12",
            "2026-01",
            "2026-01-31 noon",
            "12026-01-31",
            "2026-01-31T25:00:00Z",
            "2026-01-31é",
        ] {
            assert_eq!(of_yaml(text), None, "{text}");
        }
    }
}
