/// How far two scores are from being in order by a margin: `max(0, margin - label (left - right))`.
///
/// * `label`: 1.0 where the left one is to rank above the right one, -1.0 where it is the other way round.
/// * `left`, `right`: the scores.
/// * `margin`: by how much.
pub fn margin_rank_loss(label: _, left: _, right: _, #[default = 0.1] margin: f32) -> _ {
    relu(margin - label * (left - right))
}
