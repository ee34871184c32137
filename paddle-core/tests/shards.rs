//! What `shard` makes of networks, as text, and which it refuses.

use paddle_core::ops::Program;
use paddle_core::passes::shard::{ShardInput, ShardNumber, Sharding, shard};
use paddle_core::text;

/// A network of inputs and operators, which returns `cost`.
fn network(head: &str, inputs: &str, operators: &str) -> Program {
    let text = format!(
        "program {{ rows _ {head} parameter w: f32[2, 1] = fill_constant(value=0.5)\n\
         block 0 ({inputs}) {{ {operators} return cost }} }}"
    );
    text::parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// The network for a shard, and what it is fed with.
fn sharded(mut program: Program) -> Result<(String, Sharding), String> {
    let batch = program.find_rows("_");
    let sharding = shard(&mut program, batch).map_err(|error| error.to_string())?;
    program.verify().unwrap_or_else(|error| panic!("{error}\n{program}"));
    Ok((program.to_string(), sharding))
}

#[test]
fn means_constants_and_draws_take_the_place_of_the_shard_into_account() {
    let network = network(
        "tokens _.words of _",
        "x: f32[_, 2], words: f32[_.words, 2], rate: f32[]",
        "noise: f32[_, 2] = gaussian_random(ty=f32[_, 2])
         noisy: f32[_, 2] = elementwise_add(x, noise)
         y: f32[_, 1] = matmul_v2(noisy, w)
         mean: f32[] = reduce_mean(y)
         of_words: f32[] = reduce_mean(words)
         weighted: f32[] = elementwise_mul(of_words, rate)
         both: f32[] = elementwise_sub(mean, weighted)
         added: f32[] = elementwise_add(both, rate)
         half: f32[] = scale(added, scale=0.5, bias=1.0)
         cost: f32[] = assign(half)",
    );
    let (text, sharding) = sharded(network).unwrap();
    assert_eq!(
        text,
        "program {
  rows _
  tokens _.words of _
  parameter w: f32[2, 1] = fill_constant(value=0.5)
  block 0 (x: f32[_, 2], words: f32[_.words, 2], rate: f32[], shard_before: i64[], shard_share: f32[], shard_share_1: f32[]) {
    row_numbers: i64[_] = row_numbers()
    elementwise_add: i64[_] = elementwise_add(row_numbers, shard_before)
    noise: f32[_, 2] = gaussian_random(elementwise_add)
    noisy: f32[_, 2] = elementwise_add(x, noise)
    y: f32[_, 1] = matmul_v2(noisy, w)
    mean: f32[] = reduce_mean(y)
    elementwise_mul: f32[] = elementwise_mul(mean, shard_share)
    of_words: f32[] = reduce_mean(words)
    elementwise_mul_1: f32[] = elementwise_mul(of_words, shard_share_1)
    weighted: f32[] = elementwise_mul(elementwise_mul_1, rate)
    both: f32[] = elementwise_sub(elementwise_mul, weighted)
    elementwise_mul_2: f32[] = elementwise_mul(rate, shard_share)
    added: f32[] = elementwise_add(both, elementwise_mul_2)
    half: f32[] = scale(added, scale=0.5)
    scale: f32[] = scale(shard_share)
    elementwise_add_1: f32[] = elementwise_add(half, scale)
    cost: f32[] = assign(elementwise_add_1)
    return cost
  }
}
"
    );
    let input = |number, tokens| ShardInput { number, tokens };
    let (before, share) = (ShardNumber::Before, ShardNumber::Share);
    assert_eq!(sharding.inputs, [input(before, None), input(share, None), input(share, Some(1))]);
    assert_eq!(sharding.outputs, [None]);
}

#[test]
fn a_cost_without_rows_is_divided_among_the_shards() {
    let network = network("", "x: f32[_, 2]", "cost: f32[] = reduce_mean(w)");
    let (text, _) = sharded(network).unwrap();
    assert!(text.contains("= elementwise_mul(cost, shard_share)\n    return elementwise_mul\n"), "{text}");
}

#[test]
fn a_sum_of_products_over_rows_is_one() {
    let operators = "products: f32[2, 2] = matmul_v2(x, x, trans_x=true)
         column: f32[2, 1] = matmul_v2(products, w)
         cost: f32[] = reduce_sum(column)";
    let (text, sharding) = sharded(network("", "x: f32[_, 2]", operators)).unwrap();
    assert!(!text.contains("shard_") && sharding.inputs.is_empty(), "{text}");
}

fn refused(head: &str, inputs: &str, operators: &str) -> String {
    match sharded(network(head, inputs, operators)) {
        Err(error) => error,
        Ok((text, _)) => panic!("not refused:\n{text}"),
    }
}

fn because(why: &str) -> String {
    format!(
        "the cost cannot be computed in shards, because it is no sum or mean over rows: {why}; train without shards, or \
         compute it of each row alone"
    )
}

#[test]
fn what_depends_on_the_number_of_rows_is_refused() {
    let counted = "ones: f32[(_)] = fill_constant(value=1.0, ty=f32[(_)]) cost: f32[] = reduce_sum(ones)";
    assert_eq!(
        refused("", "x: f32[_, 2]", counted),
        because("`fill_constant` depends on the number of rows")
    );
    let sizes = refused("", "x: f32[_, 2], y: f32[3, _]", "cost: f32[] = reduce_mean(x)");
    let expected =
        "the size of `y` depends on the number of rows, so it cannot be computed in shards; train without";
    assert_eq!(sizes, expected);
    let compared =
        refused("size T check _ = T: \"\"", "x: f32[_, 2], y: f32[2, T]", "cost: f32[] = reduce_mean(x)");
    let expected = "the network compares the number of rows with another size, so it cannot be computed in shards; train without";
    assert_eq!(compared, expected);
}

#[test]
fn blocks_that_all_rows_decide_on_are_refused() {
    let looped = "one: f32[] = fill_constant(value=1.0)
         total: f32[] = reduce_sum(x)
         mean: f32[] = reduce_mean(x)
         end: f32[] = while(mean) {
           block 1 (a: f32[]) { more: bool[] = less_than(one, total) yield more }
           block 2 (b: f32[]) { twice: f32[] = scale(b, scale=2.0) yield twice }
         }
         cost: f32[] = assign(end)";
    let not_linear = "`less_than` is not linear, and reads a sum or a mean over all rows";
    assert_eq!(refused("", "x: f32[_, 2]", looped), because(not_linear));
    let decided = "total: f32[] = reduce_sum(x)
         mean: f32[] = reduce_mean(x)
         end: f32[] = while(mean) {
           block 1 (a: f32[]) { yield flag }
           block 2 (b: f32[]) { next: f32[] = elementwise_mul(b, b) yield next }
         }
         cost: f32[] = assign(end)";
    let squared = "`elementwise_mul` is not linear, and reads a sum or a mean over all rows";
    assert_eq!(refused("", "x: f32[_, 2], flag: bool[]", decided), because(squared));
    let begins = "zero: f32[] = fill_constant(value=0.0)
         end: f32[] = while(zero) {
           block 1 (a: f32[]) { yield flag }
           block 2 (b: f32[]) { mean: f32[] = reduce_mean(x) next: f32[] = elementwise_add(b, mean) yield next }
         }
         cost: f32[] = assign(end)";
    let ways = "`while` has a sum or a mean over all rows on one way, and another value on the other";
    assert_eq!(refused("", "x: f32[_, 2], flag: bool[]", begins), because(ways));
}

#[test]
fn sums_may_be_the_state_of_a_loop() {
    let operators = "mean: f32[] = reduce_mean(x)
         end: f32[] = while(mean) {
           block 1 (a: f32[]) { yield flag }
           block 2 (b: f32[]) { more: f32[] = reduce_sum(x) next: f32[] = elementwise_add(b, more) yield next }
         }
         cost: f32[] = assign(end)";
    sharded(network("", "x: f32[_, 2], flag: bool[]", operators)).unwrap();
}

#[test]
fn draws_in_branches_need_the_numbers_of_their_rows() {
    let operators = "zero: f32[] = fill_constant(value=0.0)
         column: f32[_, 1] = matmul_v2(x, w)
         positive: bool[_, 1] = greater_than(column, zero)
         chosen: f32[_, 1] = if(positive) {
           block 1 on _.1 of _ {
             own: f32[_.1, 1] = gather_rows(column)
             left: f32[_.1, 1], mask: bool[_.1, 1] = dropout(own)
             yield left
           }
           block 2 on _.2 of _ { others: f32[_.2, 1] = gather_rows(column) yield others }
         }
         cost: f32[] = reduce_mean(chosen)";
    let why = "`dropout` draws its numbers by their places in the batch, and not by the rows";
    assert_eq!(refused("", "x: f32[_, 2]", operators), because(why));
}
