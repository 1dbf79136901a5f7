//! Axes: numbers to places on paper, round numbers to put on them, and how numbers are written.

/// An axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scale {
    low: f64,
    high: f64,
    from: f64,
    to: f64,
    log: bool,
}

impl Scale {
    /// An axis for the numbers from `low` to `high`, drawn from `from` to `to`.
    pub fn linear(low: f64, high: f64, from: f64, to: f64) -> Scale {
        let (low, high) = if high > low { (low, high) } else { (low - 0.5, low + 0.5) };
        Scale { low, high, from, to, log: false }
    }

    /// The same by ratios, for positive numbers.
    pub fn log(low: f64, high: f64, from: f64, to: f64) -> Scale {
        let low = low.max(f64::MIN_POSITIVE);
        let (low, high) = if high > low { (low, high) } else { (low / 1.5, low * 1.5) };
        Scale { low, high, from, to, log: true }
    }

    /// An axis for these numbers with some room around them: by ratios if they are positive and far from each other.
    pub fn fitting(numbers: impl Iterator<Item = f64>, from: f64, to: f64) -> Scale {
        let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
        for number in numbers.filter(|number| number.is_finite()) {
            (low, high) = (low.min(number), high.max(number));
        }
        if low > high {
            (low, high) = (0.0, 1.0);
        }
        if low > 0.0 && high / low > 2.5 {
            return Scale::log(low / 1.06, high * 1.06, from, to);
        }
        let room = (high - low).max(high.abs() * 0.02) * 0.08;
        let bottom = if low >= 0.0 { (low - room).max(0.0) } else { low - room };
        Scale::linear(bottom, high + room, from, to)
    }

    /// Whether equal ratios are equally far apart.
    pub fn is_log(&self) -> bool {
        self.log
    }

    /// Where a number is drawn; numbers outside are drawn at the nearer end.
    pub fn at(&self, number: f64) -> f64 {
        let number = if number.is_nan() { self.low } else { number.clamp(self.low, self.high) };
        let share = if self.log {
            (number / self.low).ln() / (self.high / self.low).ln()
        } else {
            (number - self.low) / (self.high - self.low)
        };
        self.from + share * (self.to - self.from)
    }

    /// Round numbers on it, about as many as are asked for.
    pub fn ticks(&self, count: usize) -> Vec<f64> {
        if self.log { self.log_ticks(count) } else { self.linear_ticks(count) }
    }

    fn linear_ticks(&self, count: usize) -> Vec<f64> {
        let rough = (self.high - self.low) / count.max(1) as f64;
        let power = 10f64.powf(rough.log10().floor());
        let step = [1.0, 2.0, 2.5, 5.0, 10.0].into_iter().map(|factor| factor * power).find(|step| *step >= rough);
        let step = step.unwrap_or(rough);
        let first = (self.low / step - 1e-9).ceil();
        (0..=count * 2).map(|k| (first + k as f64) * step).take_while(|tick| *tick <= self.high + step * 1e-9).collect()
    }

    fn log_ticks(&self, count: usize) -> Vec<f64> {
        let families: [&[f64]; 5] = [
            &[1.0],
            &[1.0, 3.0],
            &[1.0, 2.0, 5.0],
            &[1.0, 1.5, 2.0, 3.0, 5.0, 7.0],
            &[1.0, 1.2, 1.4, 1.6, 1.8, 2.0, 2.5, 3.0, 3.5, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0],
        ];
        let decades = self.low.log10().floor() as i32..=self.high.log10().ceil() as i32;
        let in_family = |family: &[f64]| -> Vec<f64> {
            let all = decades.clone().flat_map(|decade| family.iter().map(move |factor| factor * 10f64.powi(decade)));
            all.filter(|tick| (self.low..=self.high).contains(tick)).collect()
        };
        let candidates = families.map(in_family);
        candidates.into_iter().min_by_key(|ticks| ticks.len().abs_diff(count)).unwrap_or_default()
    }

    /// Powers of two on it, as many as fit.
    pub fn powers_of_two(&self, most: usize) -> Vec<f64> {
        let all: Vec<f64> =
            (0..63).map(|power| (1u64 << power) as f64).filter(|tick| (self.low..=self.high).contains(tick)).collect();
        let step = all.len().div_ceil(most.max(1)).max(1);
        all.into_iter().step_by(step).collect()
    }
}

/// A measured number with four digits: `1.074`, `12.35`, `123.5`, `1235`.
pub fn figure(number: f64) -> String {
    if !number.is_finite() {
        return "–".to_owned();
    }
    let size = number.abs();
    let decimals = match size {
        _ if size >= 999.95 => 0,
        _ if size >= 99.995 => 1,
        _ if size >= 9.9995 => 2,
        _ if size >= 0.1 || size == 0.0 => 3,
        _ if size >= 0.001 => 5,
        _ => return format!("{number:.3e}"),
    };
    format!("{number:.decimals$}")
}

/// A number on an axis, without needless zeros.
pub fn short(number: f64) -> String {
    if number.abs() >= 1e6 || (number != 0.0 && number.abs() < 1e-4) {
        return format!("{number:e}");
    }
    let text = format!("{number:.4}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// A fraction: `1.2 %`.
pub fn percent(fraction: f64) -> String {
    if !fraction.is_finite() {
        return "–".to_owned();
    }
    // No sign for nothing.
    let percent = (fraction * 1000.0).round() / 10.0 + 0.0;
    if percent.abs() >= 100.0 { format!("{percent:.0} %") } else { format!("{percent:.1} %") }
}

/// A fraction as a tolerance: `2 %`.
pub fn tolerance(fraction: f64) -> String {
    format!("{} %", short(fraction * 100.0))
}

/// A count with commas.
pub fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `1 point`, `1,000 points`.
pub fn plural(number: u64, word: &str) -> String {
    format!("{} {word}{}", count(number), if number == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_where_they_belong() {
        let scale = Scale::linear(0.0, 10.0, 100.0, 0.0);
        assert_eq!([0.0, 5.0, 10.0, 20.0, -1.0].map(|number| scale.at(number)), [100.0, 50.0, 0.0, 0.0, 100.0]);
        let scale = Scale::log(1.0, 16.0, 0.0, 4.0);
        assert!((scale.at(4.0) - 2.0).abs() < 1e-12 && (scale.at(0.0)).abs() < 1e-12);
        assert!(Scale::linear(3.0, 3.0, 0.0, 1.0).at(3.0).is_finite());
        assert!(Scale::log(3.0, 3.0, 0.0, 1.0).at(f64::NAN).is_finite());
        for scale in [Scale::fitting([].into_iter(), 0.0, 1.0), Scale::fitting([0.0].into_iter(), 0.0, 1.0)] {
            assert!(scale.at(0.0).is_finite() && !scale.ticks(5).is_empty());
        }
    }

    #[test]
    fn ticks_are_round_and_inside() {
        let close = |found: Vec<f64>, expected: &[f64]| {
            assert!(
                found.len() == expected.len() && found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-9),
                "{found:?}"
            );
        };
        close(Scale::linear(0.93, 1.31, 0.0, 1.0).ticks(5), &[1.0, 1.1, 1.2, 1.3]);
        close(Scale::linear(0.0, 100.0, 0.0, 1.0).ticks(5), &[0.0, 20.0, 40.0, 60.0, 80.0, 100.0]);
        close(Scale::log(0.9, 11.0, 0.0, 1.0).ticks(4), &[1.0, 2.0, 5.0, 10.0]);
        close(Scale::log(1.0, 32.0, 0.0, 1.0).powers_of_two(8), &[1.0, 2.0, 4.0, 8.0, 16.0, 32.0]);
        close(Scale::log(1.0, 64.0, 0.0, 1.0).powers_of_two(4), &[1.0, 4.0, 16.0, 64.0]);
        for (low, high) in [(1e-9, 2e-9), (1.0, 1.0001), (1e12, 3e12)] {
            let ticks = Scale::linear(low, high, 0.0, 1.0).ticks(5);
            assert!((3..=11).contains(&ticks.len()), "{low} {ticks:?}");
        }
    }

    #[test]
    fn numbers_are_written_with_four_digits() {
        let numbers = [0.0, 0.01234, 0.1234, 1.0744, 9.9996, 12.345, 999.96, 12345.6, f64::NAN];
        let text = numbers.map(figure);
        assert_eq!(text, ["0.000", "0.01234", "0.123", "1.074", "10.00", "12.35", "1000", "12346", "–"]);
        assert_eq!([percent(0.0123), percent(-0.0001), percent(3.0)], ["1.2 %", "0.0 %", "300 %"]);
        assert_eq!([short(1.50), short(2.0), short(0.025)], ["1.5", "2", "0.025"]);
        assert_eq!([count(7), count(1234), count(1_234_567)], ["7", "1,234", "1,234,567"]);
        assert_eq!([tolerance(0.02), tolerance(0.005)], ["2 %", "0.5 %"]);
    }
}
