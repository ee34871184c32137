//! What the log of commits proves.

use std::collections::{BTreeMap, BTreeSet};

use super::SHARDS;

/// Checks that each sample of each pass is committed exactly once: the batches of a pass follow each other without a gap, each
/// with the rows that the loop gave it, and no two have the same content; and each pass has the content of the first.
///
/// A master that was started again says from which version it goes on: what was committed from there on is void.
pub(crate) fn check(log: &str, passes: u64, rows: impl Fn(u64, u64) -> u64, batches: u64) {
    let mut lines: Vec<&str> = Vec::new();
    for line in log.lines() {
        match line.strip_prefix("resume ") {
            // A master that was killed has left half a line.
            None if line.contains(" round=") => lines.push(line),
            None => {}
            Some(resumed) => {
                let version = resumed.rsplit_once("version=").unwrap().1.parse().unwrap();
                assert!(version <= lines.len(), "{log}");
                lines.truncate(version);
            }
        }
    }
    let mut contents: Vec<String> = Vec::new();
    let mut versions = 0;
    let mut next: BTreeMap<u64, u64> = BTreeMap::new();
    let mut newest = (0, 0);
    for line in &lines {
        let fields = line.strip_prefix("commit ").unwrap_or_else(|| panic!("{line}"));
        let fields: BTreeMap<_, _> = fields.split(' ').filter_map(|field| field.split_once('=')).collect();
        let number = |name: &str| -> u64 { fields[name].parse().unwrap() };
        assert_eq!(number("version"), versions, "{line}");
        let pass = number("pass");
        assert_eq!(pass, versions / batches, "{line}");
        let (first, end) = fields["samples"].split_once("..").unwrap();
        let (first, end): (u64, u64) = (first.parse().unwrap(), end.parse().unwrap());
        let next = next.entry(pass).or_default();
        assert_eq!(first, *next, "{line}");
        assert_eq!(end - first, rows(pass, number("batch")), "{line}");
        *next = end;
        assert!((1..=SHARDS).contains(&number("shards")), "{line}");
        // A later commit is never of an earlier epoch.
        let epoch = (number("election"), number("round"));
        assert!(epoch >= newest, "{line}");
        newest = epoch;
        match contents.get((versions % batches) as usize) {
            None => contents.push(fields["content"].to_string()),
            Some(first) => assert_eq!(first, fields["content"], "{line}"),
        }
        versions += 1;
    }
    assert_eq!(versions, passes * batches);
    assert!(next.values().all(|samples| *samples == next[&0]) && next.len() as u64 == passes);
    assert_eq!(
        contents.iter().collect::<BTreeSet<_>>().len() as u64,
        batches,
        "two batches have one content"
    );
}
