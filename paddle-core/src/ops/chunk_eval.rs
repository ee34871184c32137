//! `chunk_eval`: how many chunks of tagged sequences are right.

use super::rules::labels;
use super::{
    AccuracyClass, Attribute, AttributeValue, Effects, Infer, Mismatch, MismatchKind, OfShards, Operation,
    Sample, Schema, Slot,
};
use crate::program::{DType, Type};

/// How tags mark chunks: names, phrases, whatever is marked by its begin and its end. A tag is
/// `kind · tags + part`, with the parts of each scheme in the order below.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChunkScheme {
    /// One tag for each kind: neighbours of a kind are one chunk.
    Plain,
    /// Begin, inside.
    Iob,
    /// Inside, end.
    Ioe,
    /// Begin, inside, end, single.
    Iobes,
}

/// A part of a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChunkPart {
    /// The first token.
    Begin,
    /// A token that neither begins nor ends it.
    Inside,
    /// The last token.
    End,
    /// The only token.
    Single,
}

/// What a tag says: its kind of chunk, and the part of one.
pub type ChunkTag = (i64, ChunkPart);

impl ChunkScheme {
    /// All schemes.
    pub const ALL: [ChunkScheme; 4] =
        [ChunkScheme::Plain, ChunkScheme::Iob, ChunkScheme::Ioe, ChunkScheme::Iobes];

    /// PaddlePaddle's name.
    pub fn name(self) -> &'static str {
        match self {
            ChunkScheme::Plain => "plain",
            ChunkScheme::Iob => "IOB",
            ChunkScheme::Ioe => "IOE",
            ChunkScheme::Iobes => "IOBES",
        }
    }

    /// The parts that have a tag, in the order of the tags.
    pub fn parts(self) -> &'static [ChunkPart] {
        use ChunkPart::{Begin, End, Inside, Single};
        match self {
            ChunkScheme::Plain => &[Inside],
            ChunkScheme::Iob => &[Begin, Inside],
            ChunkScheme::Ioe => &[Inside, End],
            ChunkScheme::Iobes => &[Begin, Inside, End, Single],
        }
    }
}

impl AttributeValue for ChunkScheme {
    fn to_attribute(&self) -> Attribute {
        Attribute::Text(self.name().to_string())
    }

    fn from_attribute(attribute: &Attribute) -> Option<Self> {
        match attribute {
            Attribute::Text(name) => ChunkScheme::ALL.into_iter().find(|scheme| scheme.name() == name),
            _ => None,
        }
    }
}

/// The numbers of chunks in tagged sequences: those that were found, those that are right, and those that are both, with
/// the same kind, first and last token. Tjong Kim Sang and Buchholz, "Introduction to the CoNLL-2000 shared task:
/// chunking", 2000.
///
/// `Inference` and `Label`: i64 tags `[_]` or `[_, 1]`, in sequences of the same rows and lengths; the tag behind those
/// of all kinds is outside of chunks. `Counts`: i64 `[3]`. A tag out of range is an error at run time.
#[derive(Clone, Debug, PartialEq)]
pub struct ChunkEval {
    /// The number of kinds.
    pub num_chunk_types: i64,
    /// How tags mark chunks.
    pub chunk_scheme: ChunkScheme,
    /// The kinds whose chunks do not count.
    pub excluded_chunk_types: Vec<i64>,
}

attributes!(ChunkEval { num_chunk_types: 1, chunk_scheme = ChunkScheme::Iob, excluded_chunk_types = Vec::new() });

impl ChunkEval {
    /// The number of tags, the one outside of chunks included.
    pub fn tags(&self) -> usize {
        let kinds = usize::try_from(self.num_chunk_types).unwrap_or(0);
        kinds.saturating_mul(self.chunk_scheme.parts().len()).saturating_add(1)
    }

    /// What a tag says; `None` if it is outside of chunks.
    pub fn tag(&self, tag: i64) -> Option<ChunkTag> {
        let parts = self.chunk_scheme.parts();
        let (kind, part) = (tag.div_euclid(parts.len() as i64), tag.rem_euclid(parts.len() as i64));
        (kind < self.num_chunk_types).then(|| (kind, parts[part as usize]))
    }

    /// Whether a chunk begins with a token, given the one before.
    pub fn begins(before: Option<ChunkTag>, now: Option<ChunkTag>) -> bool {
        let Some((kind, part)) = now else { return false };
        let Some((last, before)) = before else { return true };
        let is_over = matches!(before, ChunkPart::End | ChunkPart::Single);
        kind != last || is_over || matches!(part, ChunkPart::Begin | ChunkPart::Single)
    }

    /// Whether a chunk ends before a token, given the one before.
    pub fn ends(before: Option<ChunkTag>, now: Option<ChunkTag>) -> bool {
        before.is_some() && (now.is_none() || ChunkEval::begins(before, now))
    }

    /// Whether chunks of a kind count.
    pub fn counts(&self, kind: i64) -> bool {
        !self.excluded_chunk_types.contains(&kind)
    }
}

impl Operation for ChunkEval {
    fn schema(&self) -> &'static Schema {
        const {
            &Schema {
                name: "chunk_eval",
                doc: "The numbers of chunks that were found, that are right, and that are both.",
                inputs: &[
                    Slot::of("Inference").with_offsets().without_gradient(),
                    Slot::of("Label").with_offsets().without_gradient(),
                ],
                outputs: &[Slot::of("Counts")],
                accuracy: AccuracyClass::Exact("whole numbers"),
                effects: Effects { differentiable: false, of_shards: &[OfShards::Sum], ..Effects::PURE },
            }
        }
    }

    fn is_ours(&self) -> bool {
        true
    }

    fn infer(&self, cx: &Infer<'_>) -> Result<Vec<Type>, Mismatch> {
        labels::check_sequences(cx, 1, 0)?;
        labels::check_sequences(cx, 0, 1)?;
        let most = i64::MAX / self.chunk_scheme.parts().len() as i64;
        if !(1..most).contains(&self.num_chunk_types) {
            let message = format!(
                "`{}` needs at least one kind of chunk, and not {}",
                cx.operator, self.num_chunk_types
            );
            return Err(cx.fail(MismatchKind::Attribute, message));
        }
        Ok(vec![Type::new(DType::I64, [3])])
    }

    #[inline]
    fn samples() -> Vec<Sample> {
        let of = |op: ChunkEval, lengths: &[usize], dims: &[i64]| {
            let tags = op.tags() as f64;
            let found = Sample::of(op).sequences(lengths, dims).dtype(DType::I64).within(0.0, tags);
            found.sequences(lengths, &[]).dtype(DType::I64).within(0.0, tags)
        };
        let op = |num_chunk_types, chunk_scheme, excluded: &[i64]| ChunkEval {
            num_chunk_types,
            chunk_scheme,
            excluded_chunk_types: excluded.to_vec(),
        };
        vec![
            of(op(2, ChunkScheme::Iob, &[]), &[9, 1, 30], &[1]),
            of(op(1, ChunkScheme::Ioe, &[]), &[0, 20, 0, 2], &[]),
            of(op(1, ChunkScheme::Iobes, &[]), &[40], &[]),
            of(op(3, ChunkScheme::Plain, &[1]), &[25, 12], &[1]),
            of(op(2, ChunkScheme::Iob, &[]), &[], &[]),
        ]
    }
}
