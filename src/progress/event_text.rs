//! The text of an event.

use super::Moment;
use crate::event::EventKind;

/// `cost 0.1234, accuracy 0.9712, 15300 rows/s`.
pub(super) fn figures(moment: &Moment<'_>) -> String {
    let mut text = String::new();
    for (name, value) in moment.figures() {
        text += &format!("{name} {}, ", number(value));
    }
    text + &format!("{:.0} rows/s", moment.rate)
}

/// The figures with their place, at the end of a batch or a pass: `pass 3, batch 7: ..`.
pub(super) fn line(moment: &Moment<'_>) -> Option<String> {
    let place = match moment.kind {
        EventKind::EndIteration { pass, batch, .. } => format!("pass {pass}, batch {batch}"),
        EventKind::EndPass { pass, .. } => format!("pass {pass}"),
        EventKind::BeginTraining
        | EventKind::BeginPass { .. }
        | EventKind::BeginIteration { .. }
        | EventKind::EndTraining => return None,
    };
    Some(format!("{place}: {}", figures(moment)))
}

/// A number with about four digits.
fn number(value: f32) -> String {
    let digits = value.abs();
    if value == 0.0 || (1e-2..1e5).contains(&digits) || !value.is_finite() {
        format!("{value:.4}")
    } else {
        format!("{value:.3e}")
    }
}

#[cfg(test)]
mod tests {
    use super::number;

    #[test]
    fn numbers_of_all_sizes() {
        let text = [0.0, 0.5, -12.345_67, 0.001_234_5, 2.5e7, f32::NAN, f32::INFINITY].map(number);
        assert_eq!(text, ["0.0000", "0.5000", "-12.3457", "1.234e-3", "2.500e7", "NaN", "inf"]);
    }
}
