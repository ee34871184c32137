//! `chunk_eval`.

use std::collections::BTreeSet;

use paddle_core::ops::{ChunkEval, ChunkPart};

use super::Evaluate;
use crate::messages;
use crate::reference::call::{Call, Results};
use crate::reference::sequences::{offsets, sequences};
use crate::reference::values::Values;

/// The chunks of a sequence: first token, the one behind the last, and kind.
fn chunks(op: &ChunkEval, tags: &[i64]) -> BTreeSet<(usize, usize, i64)> {
    let (mut chunks, mut open) = (BTreeSet::new(), None);
    for (at, tag) in tags.iter().map(|&tag| op.tag(tag)).enumerate() {
        let goes_on = match (open, tag) {
            (Some((_, kind)), Some((own, part))) => {
                kind == own && !matches!(part, ChunkPart::Begin | ChunkPart::Single)
            }
            _ => false,
        };
        if let Some((begin, kind)) = open.filter(|_| !goes_on) {
            chunks.insert((begin, at, kind));
            open = None;
        }
        let Some((kind, part)) = tag else { continue };
        let begin = open.map_or(at, |(begin, _)| begin);
        open = Some((begin, kind));
        if matches!(part, ChunkPart::End | ChunkPart::Single) {
            chunks.insert((begin, at + 1, kind));
            open = None;
        }
    }
    chunks.extend(open.map(|(begin, kind)| (begin, tags.len(), kind)));
    chunks.into_iter().filter(|&(_, _, kind)| op.counts(kind)).collect()
}

impl Evaluate for ChunkEval {
    fn evaluate(&self, call: &Call<'_>) -> Results {
        let (Values::I64(found), Values::I64(right)) = (call.read(0), call.read(1)) else {
            panic!("the shape rule wants tags of type i64");
        };
        messages::same_lengths(&offsets(call, 2, found.len()), &offsets(call, 3, right.len()))?;
        for tags in [&found, &right] {
            if let Some(at) = tags.iter().position(|tag| !(0..self.tags() as i64).contains(tag)) {
                return Err(messages::class_out_of_range(tags[at], at, self.tags()));
            }
        }
        let mut counts = vec![0; 3];
        for tokens in sequences(call, 2, found.len()) {
            let both = [&found, &right].map(|tags| chunks(self, &tags[tokens.clone()]));
            counts[0] += both[0].len() as i64;
            counts[1] += both[1].len() as i64;
            counts[2] += both[0].intersection(&both[1]).count() as i64;
        }
        Ok(vec![Values::I64(counts)])
    }
}
