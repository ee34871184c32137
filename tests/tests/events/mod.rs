//! Events as words, of which traces are made.

use paddle::{Event, EventKind};

/// What a handler sees, in a word: `BT BP0 BI0.0 EI0.0 EP0 ET`.
pub(crate) fn word(event: &Event<'_>) -> String {
    match event.kind() {
        EventKind::BeginTraining => "BT".to_string(),
        EventKind::BeginPass { pass } => format!("BP{pass}"),
        EventKind::BeginIteration { pass, batch } => format!("BI{pass}.{batch}"),
        EventKind::EndIteration { pass, batch, .. } => format!("EI{pass}.{batch}"),
        EventKind::EndPass { pass, .. } => format!("EP{pass}"),
        EventKind::EndTraining => "ET".to_string(),
    }
}
