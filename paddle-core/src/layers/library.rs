//! Layers that are written in the language itself. Each is a file of `library/`, a sub-network like those that users
//! write. The front end parses a file when a network calls the layer.

/// A layer written in the language.
#[derive(Clone, Copy, Debug)]
pub struct LibraryLayer {
    /// The name of the `pub fn` in the file.
    pub name: &'static str,
    /// The source in the file.
    pub source: &'static str,
}

macro_rules! library {
    ($($name:ident)*) => {
        /// Every layer of the library.
        pub const LIBRARY: &[LibraryLayer] = &[$(LibraryLayer {
            name: stringify!($name),
            source: include_str!(concat!("library/", stringify!($name), ".rs")),
        }),*];
    };
}

library! {
    attention
    beam_search
    bidirectional_gru
    bidirectional_lstm
    cached_attention
    channel_shuffle
    contrastive_loss
    conv1d
    cos_sim
    dot_product_attention
    equal_all
    global_pool2d
    gru
    gru_unit
    l1_loss
    l2_normalize
    log_softmax
    lstm
    lstm_unit
    margin_rank_loss
    mse_loss
    multi_head_attention
    pixel_shuffle
    pixel_unshuffle
    pool1d
    sequence_attention
    sequence_conv_pool
    simple_img_conv_pool
    smooth_l1
    square_error_cost
    squared_l2_distance
    stacked_gru
    stacked_lstm
    triplet_loss
    zeros_like
}
