//! Chunks of tagged sequences: names, phrases, whatever is marked by its begin and its end.

use super::error::{class, same_length};
use super::{Measure, MeasureError, Sequences};

/// How tags mark chunks. A tag is `kind · tags + tag`, with the tags of each scheme in the order below: in `Iob`, 0 begins
/// a chunk of kind 0, 1 is inside of it, 2 begins one of kind 1. The tag behind those of all kinds is outside of chunks. It is
/// the numbering of PaddlePaddle's `chunk_eval`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    /// One tag for each kind: neighbours of a kind are one chunk.
    Plain,
    /// Begin, inside: IOB2. A tag inside of a chunk that has not begun begins one.
    Iob,
    /// Inside, end: IOE2.
    Ioe,
    /// Begin, inside, end, single.
    Iobes,
}

impl Scheme {
    /// The number of tags of a kind.
    fn tags(self) -> usize {
        match self {
            Scheme::Plain => 1,
            Scheme::Iob | Scheme::Ioe => 2,
            Scheme::Iobes => 4,
        }
    }

    /// Whether a tag begins a chunk behind any tag, and whether it ends its chunk before any tag.
    fn borders(self, tag: usize) -> (bool, bool) {
        match (self, tag) {
            (Scheme::Plain, _) => (false, false),
            (Scheme::Iob, tag) => (tag == 0, false),
            (Scheme::Ioe, tag) => (false, tag == 1),
            (Scheme::Iobes, tag) => (tag == 0 || tag == 3, tag >= 2),
        }
    }
}

/// F1 of chunks: the harmonic mean of the part of the predicted chunks that are right, with kind, begin and end, and of the part
/// of the right chunks that were predicted. Tjong Kim Sang and Buchholz, "Introduction to the CoNLL-2000 shared task:
/// chunking", 2000.
///
/// A batch is the tags that were predicted for its sequences, and the right ones. Quotients without anything to divide by
/// are 0.
///
/// ```
/// use paddle::metrics::{Chunks, Measure, Scheme};
///
/// // Two kinds: 0 and 1 are the tags of the first, 2 and 3 of the second; 4 is outside.
/// let mut chunks = Chunks::new(Scheme::Iob, 2);
/// chunks.add(([[0, 1, 4, 2, 4]].iter().collect(), [[0, 1, 4, 2, 3]].iter().collect()))?;
/// assert_eq!((chunks.precision(), chunks.recall(), chunks.value()), (0.5, 0.5, 0.5));
/// # Ok::<(), paddle::metrics::MeasureError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chunks {
    scheme: Scheme,
    kinds: usize,
    both: u64,
    predicted: u64,
    right: u64,
}

impl Chunks {
    /// Counts chunks of this many kinds.
    pub fn new(scheme: Scheme, kinds: usize) -> Self {
        Chunks { scheme, kinds, both: 0, predicted: 0, right: 0 }
    }

    /// The part of the predicted chunks that are right.
    pub fn precision(&self) -> f64 {
        self.both as f64 / self.predicted.max(1) as f64
    }

    /// The part of the right chunks that were predicted.
    pub fn recall(&self) -> f64 {
        self.both as f64 / self.right.max(1) as f64
    }

    /// The number of tags, the one outside of chunks included.
    fn tags(&self) -> usize {
        self.kinds * self.scheme.tags() + 1
    }

    /// The chunks of a sequence: begin, end and kind.
    fn of(&self, sequence: &[i64]) -> Vec<(usize, usize, i64)> {
        let (tags, outside) = (self.scheme.tags() as i64, self.tags() as i64 - 1);
        let (mut chunks, mut open) = (Vec::new(), None);
        for (at, &tag) in sequence.iter().enumerate() {
            let (kind, tag) = (tag / tags, tag % tags);
            let is_outside = kind * tags + tag == outside;
            let (begins, ends) = self.scheme.borders(tag as usize);
            if let Some((begin, open_kind)) = open
                && (is_outside || begins || open_kind != kind)
            {
                chunks.push((begin, at, open_kind));
                open = None;
            }
            if !is_outside {
                let (begin, kind) = *open.get_or_insert((at, kind));
                if ends {
                    chunks.push((begin, at + 1, kind));
                    open = None;
                }
            }
        }
        chunks.extend(open.map(|(begin, kind)| (begin, sequence.len(), kind)));
        chunks
    }
}

impl Measure for Chunks {
    type Batch<'a> = (Sequences<'a>, Sequences<'a>);

    fn add(&mut self, (predicted, right): Self::Batch<'_>) -> Result<(), MeasureError> {
        same_length(predicted.len(), right.len())?;
        for (predicted, right) in predicted.iter().zip(right.iter()) {
            same_length(predicted.len(), right.len())?;
        }
        for tags in [&predicted, &right] {
            tags.tokens()
                .iter()
                .enumerate()
                .try_for_each(|(at, &tag)| class(at, tag, self.tags()).map(drop))?;
        }
        for (predicted, right) in predicted.iter().zip(right.iter()) {
            let [predicted, right] = [predicted, right].map(|tags| self.of(tags));
            // No two chunks of a sequence are the same.
            self.both += predicted.iter().filter(|chunk| right.binary_search(chunk).is_ok()).count() as u64;
            self.predicted += predicted.len() as u64;
            self.right += right.len() as u64;
        }
        Ok(())
    }

    fn merge(&mut self, other: &Self) -> Result<(), MeasureError> {
        if (self.scheme, self.kinds) != (other.scheme, other.kinds) {
            return Err(MeasureError::Settings);
        }
        self.both += other.both;
        self.predicted += other.predicted;
        self.right += other.right;
        Ok(())
    }

    fn value(&self) -> f64 {
        2.0 * self.both as f64 / (self.predicted + self.right).max(1) as f64
    }
}
