/// A convolution along sequences, then pooling: the block of models that read texts by a few words at a time. Kim (2014).
///
/// * `x`: the sequences, of tokens `[_, D]`.
/// * `filters`, `filter_size`: how many filters, and how many tokens one sees.
/// * `pool_kind`: how the tokens of a sequence become a row, as in `sequence_pool`.
pub fn sequence_conv_pool(
    x: _,
    filters: usize,
    filter_size: usize,
    #[default = max] pool_kind: Word,
    #[default = identity] act: Activation,
) -> _ {
    let conv = sequence_conv(x, filters, filter_size, act = act);
    sequence_pool(conv, pool_kind)
}
