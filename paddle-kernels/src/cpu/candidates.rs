//! The boxes that operators on detections consider, in the order in which they do.

use std::cmp::Ordering;

use crate::cpu::number::Float;

/// The candidates among boxes with these scores, those with the highest score first: at most `limit` (negative for all) whose score is
/// above `threshold`. Of equal scores, that of the box with the lower number is first. `room` has a place for each box; a candidate is
/// what `of` makes of the number of a box, and `number` gives the number back.
pub(crate) fn candidates<'a, T: Float, C>(
    scores: &[T],
    threshold: T,
    limit: i64,
    room: &'a mut [C],
    of: impl Fn(u32) -> C,
    number: impl Fn(&C) -> u32,
) -> &'a mut [C] {
    let mut count = 0;
    for (number, score) in scores.iter().enumerate() {
        if *score > threshold {
            room[count] = of(number as u32);
            count += 1;
        }
    }
    let mut chosen = &mut room[..count];
    let order = |a: &C, b: &C| {
        let (a, b) = (number(a), number(b));
        let by_score = scores[b as usize].partial_cmp(&scores[a as usize]).unwrap_or(Ordering::Equal);
        by_score.then(a.cmp(&b))
    };
    if let Some(most) = usize::try_from(limit).ok().filter(|&most| most < count) {
        chosen.select_nth_unstable_by(most, &order);
        chosen = &mut chosen[..most];
    }
    chosen.sort_unstable_by(order);
    chosen
}

#[cfg(test)]
mod tests {
    use super::candidates;

    #[test]
    fn the_highest_scores_are_first_and_equal_ones_in_the_order_of_the_boxes() {
        let scores = [0.5f32, 0.9, f32::NAN, 0.1, 0.9, 0.5, 0.2];
        for (limit, expected) in
            [(-1, &[1u32, 4, 0, 5, 6][..]), (4, &[1, 4, 0, 5]), (3, &[1, 4, 0]), (0, &[])]
        {
            let mut room = [0; 7];
            let found = candidates(&scores, 0.1, limit, &mut room, |number| number, |&number| number);
            assert_eq!(found, expected, "at most {limit}");
        }
    }
}
