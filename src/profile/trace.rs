//! A profile as a trace, in the format of Chrome's trace viewer: `Trace Event Format`, complete events.

use std::cmp::Reverse;
use std::time::Duration;

use paddle_core::plan::{LaunchProfile, PartKind};
use serde_json::{Value, json};

use super::Profile;

/// The trace: steps, their parts, and the launches in these, in the order in which they begin.
pub(super) fn chrome(profile: &Profile) -> String {
    let steps = profile.steps.iter().enumerate();
    let mut events: Vec<_> = steps
        .map(|(at, &(begin, time))| (begin, time, event(&format!("step {at}"), "step", json!({}))))
        .collect();
    for plan in &profile.plans {
        for part in &plan.parts {
            let name = match part.kind {
                PartKind::Begin => "begin",
                PartKind::Compute => "compute",
                PartKind::Update => "update",
            };
            events.push((part.begin, part.time, event(name, "part", json!({}))));
        }
        for run in &plan.events {
            let launch = &plan.launches[run.launch as usize];
            events.push((
                run.begin,
                run.time,
                event(&launch.operators.join(" + "), part(launch), arguments(launch)),
            ));
        }
    }
    // What contains others is in front of them; it takes longer, and comes first where it takes as long.
    events.sort_by_key(|&(begin, time, _)| (begin, Reverse(time)));
    let events: Vec<Value> =
        events.into_iter().map(|(begin, time, event)| placed(event, begin, time)).collect();
    json!({ "displayTimeUnit": "ms", "traceEvents": events }).to_string()
}

/// The part of a step that a launch belongs to.
pub(super) fn part(launch: &LaunchProfile) -> &'static str {
    launch.role.map_or("move", |role| role.name())
}

fn event(name: &str, category: &str, arguments: Value) -> Value {
    json!({ "name": name, "cat": category, "ph": "X", "pid": 1, "tid": 1, "args": arguments })
}

/// The event with its times, in microseconds.
fn placed(mut event: Value, begin: Duration, time: Duration) -> Value {
    let micros = |time: Duration| time.as_nanos() as f64 / 1000.0;
    event["ts"] = micros(begin).into();
    event["dur"] = micros(time).into();
    event
}

fn arguments(launch: &LaunchProfile) -> Value {
    let place = launch.place.as_ref().map(|place| place.to_string());
    json!({ "value": launch.value, "place": place })
}
