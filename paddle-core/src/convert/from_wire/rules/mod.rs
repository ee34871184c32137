//! Rules for operators that are not read as they are [defined](crate::convert::derived). PaddlePaddle's have forms that
//! ours lack: legacy names and versions, attributes that come from inputs, other layouts and axes.
//!
//! A rule reads slots and attributes, appends our operators, and says which of their outputs are the variables in the
//! output slots. A rule returns `false` for a form that ours lacks, such as a slice along the rows; the operator then
//! stays foreign. Slots that no rule reads (`XShape`, `StepScopes`) are dead.

mod array_loops;
mod arrays;
mod attributes_as_inputs;
mod beams;
mod boxes;
mod class_ids;
mod collected_arrays;
mod complex;
mod conditional_blocks;
mod constants;
mod constants_like;
mod counted;
mod diagonals;
mod einsum;
mod elementwise;
mod foreign;
mod found_values;
mod frames;
mod gather_and_sort;
mod graphs;
mod groups;
mod images;
mod interpolation;
mod iteration_bound;
mod kept_boxes;
mod loop_frames;
mod making_sequences;
mod matrix_products;
mod measures;
mod noise_contrast;
mod normalisation;
mod padded_sequences;
mod pairs;
mod prior_boxes;
mod proposals;
mod puts;
mod pyramids;
mod quantised;
mod raised_while;
mod random;
mod rank_tables;
mod recurrent;
mod recurrent_sequences;
mod reductions;
mod reshape_concat;
mod sampling;
mod scans;
mod sequences;
mod shuffles;
mod slice_pad_tile;
mod split_by_mask;
mod square_matrices;
mod squeeze_flatten;
mod trees_and_windows;
mod updates;
mod varying_sizes;
mod viterbi;
mod volumes;
mod yolo_box;

pub(super) use self::array_loops::ArrayLoop;
pub(super) use self::arrays::Array;
pub(super) use self::rank_tables::{RankTable, TableName};
use crate::convert::derived::{self, float};
use crate::convert::dialect::OURS;
use crate::convert::draft::Mix;
use crate::convert::from_wire::{ConvertError, Fault, Reader, Reading, THIRD_VERSION, one};
use crate::convert::ours::constants::constant;
use crate::convert::sites::note_gradients;
use crate::convert::types::dtype;
use crate::ops::compositions::narrow::Rest;
use crate::ops::{Assign, Binary, BinaryKind, Cast, InterpolateKind, Op, Reshape, Scale, UnaryKind};
use crate::program::{Dim, Role};
use crate::wire::VarKind;

/// Reads one operator; `false` if it has a form that ours lacks.
pub(super) type Rule = fn(&mut Reading<'_, '_>) -> Result<bool, ConvertError>;

/// The rule for an operator with this name.
#[rustfmt::skip]
fn rule(name: &str) -> Option<Rule> {
    Some(match name {
        "assign"                                                            => |x| x.assign(),
        "clip"                                                              => |x| x.clip(),
        "pow"                                                               => |x| x.power(),
        "shape"                                                             => |x| x.shape(),
        "size"                                                              => |x| x.number_of_elements(),
        "nll_loss"                                                          => |x| x.nll_loss(),
        "unbind" | "unstack"                                                => |x| x.unstack(),
        "huber_loss"                                                        => |x| x.huber_loss(),
        "modified_huber_loss"                                               => |x| x.modified_huber_loss(),
        "kldiv_loss"                                                        => |x| x.kldiv_loss(),
        "sigmoid_cross_entropy_with_logits"                                 => |x| x.sigmoid_cross_entropy(),
        "prelu"                                                             => |x| x.prelu(),
        "scale"                                                             => |x| x.scale(),
        "increment"                                                         => |x| x.increment(),
        "sum"                                                               => |x| x.sum(),
        "print"                                                             => |x| x.print(),
        "merge_selected_rows" | "get_tensor_from_selected_rows"             => |x| x.as_dense(),
        "label_smooth"                                                      => |x| x.label_smooth(),
        "fill_any_like" | "fill_zeros_like"                                 => |x| x.fill_like(),
        "equal_all"                                                         => |x| x.equal_all(),
        "is_empty"                                                          => |x| x.is_empty(),
        "fill_constant_batch_size_like" | "uniform_random_batch_size_like"  => |x| x.constant_batch_size_like(),
        "cast"                                                              => |x| x.cast(),
        "addmm"                                                             => |x| x.addmm(),
        "bmm" | "matmul" | "matmul_v2"                                      => |x| x.matmul("Y"),
        "dot"                                                               => |x| x.dot(),
        "mul"                                                               => |x| x.mul(),
        "mv"                                                                => |x| x.matmul("Vec"),
        "maxout"                                                            => |x| x.maxout(),
        "mean"                                                              => |x| x.mean(),
        "concat"                                                            => |x| x.concat(),
        "reshape" | "reshape2"                                              => |x| x.reshape(),
        "squeeze" | "squeeze2"                                              => |x| x.squeeze(),
        "unsqueeze" | "unsqueeze2"                                          => |x| x.unsqueeze(),
        "flatten" | "flatten2"                                              => |x| x.flatten(),
        "flatten_contiguous_range"                                          => |x| x.flatten_range(),
        "slice" | "slice_grad" | "strided_slice" | "strided_slice_grad"     => |x| x.slice(),
        "split"                                                             => |x| x.split(),
        "transpose" | "transpose2"                                          => |x| x.transpose(),
        "log_softmax"                                                       => |x| x.log_softmax(),
        "softmax" | "softmax_grad"                                          => |x| x.softmax(),
        "softmax_with_cross_entropy" | "softmax_with_cross_entropy_grad"    => |x| x.softmax_with_cross_entropy(),
        "crf_decoding"                                                      => |x| x.crf_decoding(),
        "linear_chain_crf"                                                  => |x| x.linear_chain_crf(),
        "viterbi_decode"                                                    => |x| x.viterbi_decode(),
        "cross_entropy2"                                                    => |x| x.cross_entropy2(),
        "lookup_table" | "lookup_table_v2"                                  => |x| x.lookup_table(),
        "top_k" | "top_k_v2" | "argsort"                                    => |x| x.top_k(),
        "top_k_grad" | "top_k_v2_grad" | "argsort_grad"                     => |x| x.top_k(),
        "arg_max" | "arg_min"                                               => |x| x.arg_max(),
        "assign_value"                                                      => |x| x.assign_value(),
        "auc"                                                               => |x| x.auc(),
        "cumsum"                                                            => |x| x.cumsum(),
        "expand_as_v2"                                                      => |x| x.expand_as(),
        "expand"                                                            => |x| x.tile("expand_times", "ExpandTimes", "expand_times_tensor"),
        "expand_v2"                                                         => |x| x.expand_v2(),
        "diag_v2"                                                           => |x| x.diagonal(),
        "eye"                                                               => |x| x.eye(),
        "flip"                                                              => |x| x.flip(),
        "gather" | "gather_grad" | "rust.gather" | "rust.gather_grad"       => |x| x.gather(),
        "gather_nd"                                                         => |x| x.gather_nd(),
        "index_select"                                                      => |x| x.index_select(),
        "linspace" | "logspace"                                             => |x| x.linspace(),
        "masked_select"                                                     => |x| x.masked_select(),
        "meshgrid"                                                          => |x| x.meshgrid(),
        "multiplex"                                                         => |x| x.multiplex(),
        "one_hot" | "one_hot_v2"                                            => |x| x.one_hot(),
        "pad"                                                               => |x| x.pad(),
        "pad2d"                                                             => |x| x.pad2d(),
        "pad3d"                                                             => |x| x.pad3d(),
        "range"                                                             => |x| x.range(),
        "roll"                                                              => |x| x.roll(),
        "scatter"                                                           => |x| x.scatter(),
        "scatter_nd_add"                                                    => |x| x.scatter_nd_add(),
        "stack"                                                             => |x| x.stack(),
        "take_along_axis" | "take_along_axis_grad"                          => |x| x.take_along_axis(),
        "tile"                                                              => |x| x.tile("repeat_times", "RepeatTimes", "repeat_times_tensor"),
        "tril_triu"                                                         => |x| x.triangle(),
        "anchor_generator"                                                  => |x| x.anchor_generator(),
        "box_clip"                                                          => |x| x.box_clip(),
        "box_coder"                                                         => |x| x.box_coder(),
        "density_prior_box"                                                 => |x| x.density_prior_box(),
        "iou_similarity"                                                    => |x| x.iou_similarity(),
        "matrix_nms"                                                        => |x| x.matrix_nms(),
        "multiclass_nms" | "multiclass_nms2" | "multiclass_nms3"            => |x| x.multiclass_nms(),
        "nms"                                                               => |x| x.nms(),
        "prior_box"                                                         => |x| x.prior_box(),
        "yolo_box"                                                          => |x| x.yolo_box(),
        "roi_align"                                                         => |x| x.roi_align(),
        "where_index"                                                       => |x| x.where_index(),
        "conv2d" | "conv2d_grad" | "depthwise_conv2d" | "depthwise_conv2d_grad" => |x| x.conv2d(),
        "conv2d_transpose" | "depthwise_conv2d_transpose"                   => |x| x.conv2d_transpose(),
        "batch_norm" | "batch_norm_grad"                                    => |x| x.batch_norm(),
        "layer_norm" | "layer_norm_grad"                                    => |x| x.layer_norm(),
        "group_norm" | "group_norm_grad"                                    => |x| x.group_norm(),
        "instance_norm"                                                     => |x| x.instance_norm(),
        "norm"                                                              => |x| x.norm(),
        "frobenius_norm"                                                    => |x| x.frobenius_norm(),
        "logsumexp"                                                         => |x| x.logsumexp(),
        "p_norm"                                                            => |x| x.p_norm(),
        "l1_norm"                                                           => |x| x.total_norm(UnaryKind::Abs),
        "squared_l2_norm"                                                   => |x| x.total_norm(UnaryKind::Square),
        "clip_by_norm"                                                      => |x| x.clip_by_norm(),
        "dropout" | "dropout_grad"                                          => |x| x.dropout(),
        "max_pool2d_with_index" | "max_pool2d_with_index_grad"              => |x| x.max_pool2d_with_index(),
        "conv3d"                                                            => |x| x.conv3d(),
        "pool3d" | "max_pool3d_with_index"                                  => |x| x.pool3d(),
        "pool2d" | "pool2d_grad"                                            => |x| x.pool2d(),
        "nearest_interp" | "nearest_interp_v2" | "nearest_interp_v2_grad"   => |x| x.interpolate(InterpolateKind::Nearest),
        "bilinear_interp" | "bilinear_interp_v2" | "bilinear_interp_v2_grad" => |x| x.interpolate(InterpolateKind::Bilinear),
        "bicubic_interp_v2"                                                 => |x| x.resample(Some(Mix::Cubic(-0.75))),
        "trilinear_interp_v2"                                               => |x| x.resample(Some(Mix::Linear)),
        "linear_interp_v2"                                                  => |x| x.interpolate_signals(),
        "channel_shuffle" | "shuffle_channel"                               => |x| x.channel_shuffle(),
        "pixel_shuffle"                                                     => |x| x.pixel_shuffle(),
        "pixel_unshuffle"                                                   => |x| x.pixel_unshuffle(),
        "einsum"                                                            => |x| x.einsum(),
        "fill_constant" | "uniform_random" | "gaussian_random"              => |x| x.constant(),
        "truncated_gaussian_random"                                         => |x| x.constant(),
        "bernoulli"                                                         => |x| x.bernoulli(),
        "randint"                                                           => |x| x.randint(),
        "randperm"                                                          => |x| x.randperm(),
        "sequence_concat"                                                   => |x| x.sequence_concat(),
        "sequence_erase"                                                    => |x| x.sequence_erase(),
        "sequence_pad"                                                      => |x| x.sequence_pad(),
        "sequence_reshape"                                                  => |x| x.sequence_reshape(),
        "sequence_slice"                                                    => |x| x.sequence_slice(),
        "sequence_unpad"                                                    => |x| x.sequence_unpad(),
        "sequence_conv"                                                     => |x| x.sequence_conv(),
        "sequence_enumerate"                                                => |x| x.sequence_enumerate(),
        "sequence_expand_as" | "sequence_expand"                            => |x| x.sequence_expand(),
        "sequence_mask"                                                     => |x| x.sequence_mask(),
        "sequence_pool" | "sequence_pool_grad"                              => |x| x.sequence_pool(),
        "warpctc"                                                           => |x| x.warpctc(),
        "lod_reset"                                                         => |x| x.lod_reset(),
        "chunk_eval"                                                        => |x| x.chunk_eval(),
        "cos_sim"                                                           => |x| x.cosine_similarity(),
        "ctc_align"                                                         => |x| x.ctc_align(),
        "edit_distance"                                                     => |x| x.edit_distance(),
        "gru"                                                               => |x| x.gru(),
        "gru_unit"                                                          => |x| x.gru_unit(),
        "hierarchical_sigmoid"                                              => |x| x.hierarchical_sigmoid(),
        "lstm"                                                              => |x| x.lstm(),
        "nce"                                                               => |x| x.nce(),
        "row_conv"                                                          => |x| x.row_conv(),
        "sequence_scatter"                                                  => |x| x.sequence_scatter(),
        "rnn"                                                               => |x| x.rnn(),
        "split_lod_tensor"                                                  => |x| x.split_by_mask(),
        "merge_lod_tensor" | "merge_lod_tensor_infer"                       => |x| x.merge_by_mask(),
        "write_to_array"                                                    => |x| x.write_to_array(),
        "read_from_array"                                                   => |x| x.read_from_array(),
        "lod_array_length"                                                  => |x| x.array_length(),
        "lod_rank_table"                                                    => |x| x.rank_table(),
        "max_sequence_len"                                                  => |x| x.max_sequence_len(),
        "lod_tensor_to_array"                                               => |x| x.steps_of_sequences(),
        "array_to_lod_tensor"                                               => |x| x.sequences_of_steps(),
        "shrink_rnn_memory"                                                 => |x| x.shrink_memory(),
        "reorder_lod_tensor_by_rank"                                        => |x| x.reorder_by_rank(),
        "tensor_array_to_tensor"                                            => |x| x.array_to_tensor(),
        "while"                                                             => raised_while::raise_while,
        "conditional_block" | "conditional_block_infer"                     => |x| x.conditional_block(),
        "select_input"                                                      => |x| x.select_input(),
        "set_value"                                                         => |x| x.set_value(),
        "put_along_axis"                                                    => |x| x.put_along_axis(),
        "index_sample"                                                      => |x| x.index_sample(),
        "index_add"                                                         => |x| x.index_add(),
        "index_put"                                                         => |x| x.index_put(),
        "unpool"                                                            => |x| x.unpool(),
        "searchsorted"                                                      => |x| x.searchsorted(),
        "kthvalue"                                                          => |x| x.kthvalue(),
        "lp_pool2d"                                                         => |x| x.power_pool(),
        "rrelu"                                                             => |x| x.random_slope(),
        "median"                                                            => |x| x.median(),
        "histogram"                                                         => |x| x.histogram(),
        "repeat_interleave"                                                 => |x| x.repeat_interleave(),
        "crop" | "crop_tensor"                                              => |x| x.crop(),
        "distribute_fpn_proposals"                                          => |x| x.distribute_proposals(),
        "collect_fpn_proposals"                                             => |x| x.collect_proposals(),
        "im2sequence"                                                       => |x| x.im2sequence(),
        "beam_search"                                                       => |x| x.beam_search(),
        "beam_search_decode"                                                => |x| x.beam_search_decode(),
        "gather_tree"                                                       => |x| x.gather_tree(),
        "cumprod"                                                           => |x| x.cumprod(),
        "logcumsumexp"                                                      => |x| x.logcumsumexp(),
        "cummax" | "cummin"                                                 => |x| x.running_extreme(),
        "grid_sampler"                                                      => |x| x.grid_sampler(),
        "affine_grid"                                                       => |x| x.affine_grid(),
        "deformable_conv" | "deformable_conv_v1"                            => |x| x.deformable_conv(),
        "temporal_shift"                                                    => |x| x.temporal_shift(),
        "frame"                                                             => |x| x.frame(),
        "overlap_add"                                                       => |x| x.overlap_add(),
        "fold"                                                              => |x| x.fold(),
        "lerp"                                                              => |x| x.lerp(),
        "atan2"                                                             => |x| x.atan2(),
        "isclose" | "allclose"                                              => |x| x.is_close(),
        "cross"                                                             => |x| x.cross(),
        "dist"                                                              => |x| x.distance(),
        "kron"                                                              => |x| x.kron(),
        "broadcast_tensors"                                                 => |x| x.broadcast_all(),
        "bilinear_tensor_product"                                           => |x| x.bilinear_tensor_product(),
        "multi_dot"                                                         => |x| x.multi_dot(),
        "spectral_norm"                                                     => |x| x.spectral_norm(),
        "data_norm"                                                         => |x| x.data_norm(),
        "shard_index"                                                       => |x| x.shard_index(),
        "diagonal"                                                          => |x| x.diagonals(),
        "trace"                                                             => |x| x.trace(),
        "diag_embed"                                                        => |x| x.diagonals_of_lists(),
        "tril_indices" | "triu_indices"                                     => |x| x.places_of_triangle(),
        "graph_send_recv"                                                   => |x| x.graph_send_recv(),
        "graph_send_ue_recv"                                                => |x| x.graph_send_ue_recv(),
        "graph_send_uv"                                                     => |x| x.graph_send_uv(),
        "segment_pool"                                                      => |x| x.segment_pool(),
        "reduce_amax" | "reduce_amin"                                       => |x| x.reduce(),
        "bitwise_and" | "bitwise_not" | "bitwise_or" | "bitwise_xor"        => |x| x.bitwise(),
        "unique" | "unique_consecutive"                                     => |x| x.unique(),
        "bincount"                                                          => |x| x.bincount(),
        "matrix_power"                                                      => |x| x.matrix_power(),
        "determinant"                                                       => |x| x.determinant(),
        "inverse"                                                           => |x| x.inverse(),
        "affine_channel"                                                    => |x| x.affine_channel(),
        "renorm"                                                            => |x| x.renorm(),
        "angle" | "conj" | "imag" | "real"                                  => |x| x.part_of_real(),
        "conv3d_transpose"                                                  => |x| x.conv3d_transpose(),
        "as_complex" | "as_real" | "complex" | "fft_c2c" | "fft_c2r" | "fft_r2c" => |x| x.of_complex(),
        "masked_fill"                                                       => |x| x.masked_fill(),
        "quantize_linear"                                                   => |x| x.quantize_linear(),
        "dequantize_linear"                                                 => |x| x.dequantize_linear(),
        "fake_quantize_dequantize_moving_average_abs_max"                   => |x| x.fake_quantize_dequantize(),
        "fake_quantize_dequantize_abs_max"                                  => |x| x.fake_quantize_dequantize(),
        "fake_channel_wise_quantize_dequantize_abs_max"                     => |x| x.fake_quantize_dequantize(),
        "generate_proposals_v2"                                             => |x| x.generate_proposals(),
        // Our own operators.
        // Families, and operators that are read as they are defined.
        _ => match derived::named(name)? {
            Op::Binary(_) | Op::Compare(_)                                  => |x| x.aligned(),
            Op::Logical(_) | Op::Not(_)                                     => |x| x.logical(),
            Op::Predicate(_)                                                => |x| x.predicate(),
            Op::Reduce(_)                                                   => |x| x.reduce(),
            Op::Unary(_) | Op::UnaryGrad(_) | Op::Loss(_) | Op::LossGrad(_) => |x| x.formula(),
            Op::Update(_)                                                   => |x| x.update(),
            _                                                               => |x| x.defined(),
        },
    })
}

/// Whether [`from_wire`](crate::convert::from_wire) has a rule for operators of this type. The others stay foreign, as do forms
/// of an operator that its rule does not know.
pub fn is_known(op_type: &str) -> bool {
    rule(op_type).is_some()
}

impl Reading<'_, '_> {
    /// Reads the operator by its rule, or keeps it as foreign.
    pub(super) fn operator(&mut self) -> Result<(), ConvertError> {
        self.check_narrow()?;
        let is_complex = self.has_complex()?;
        let known = match rule(&self.desc.r#type) {
            _ if is_complex => self.by_rule(|x| x.of_complex())?,
            Some(rule) => self.by_rule(rule)?,
            None => false,
        };
        match known {
            true => {}
            // An operator of ours has its meaning in our dialect alone.
            false if self.desc.r#type.starts_with(OURS) => return Err(Fault::NoHeader.into()),
            false if self.reader.found.is_some() => return Err(self.unsupported().into()),
            false => self.foreign()?,
        }
        // Operators that update a parameter name its gradient too.
        if self.site.role != Role::Optimize {
            let Reader { draft, versions, blocks, gradients, .. } = &mut *self.reader;
            let find = |name: &str| versions.read(blocks, self.block, name).ok();
            note_gradients(&draft.program, self.desc, find, gradients)?;
        }
        Ok(())
    }

    /// A copy. A copy to a variable that outlives the run is a store.
    fn assign(&mut self) -> Result<bool, ConvertError> {
        if self.is_array("X") {
            return self.copy_of_array();
        }
        let desc = self.desc;
        let name = one(desc.output("Out"), "Out")?;
        let x = match self.input("X") {
            // A loop around it only passes on what an inner loop would have, had anything read it.
            Err(Fault::Undefined { .. }) if !self.reader.read.contains(name) => {
                return Ok(true);
            }
            x => x?,
        };
        match self.reader.lasting(self.block, name) {
            Some(lasting) => {
                self.reader.store(self.block, name, lasting, x, self.site)?;
                Ok(true)
            }
            None => self.out(Assign, &[x]),
        }
    }

    /// An element-wise operator of two values. `axis` says where in `X` the dimensions of `Y` start. Ours align the ends, so
    /// `Y` gets trailing dimensions of 1. PaddlePaddle's comparisons have the attribute, but align the ends, too.
    fn aligned(&mut self) -> Result<bool, ConvertError> {
        let (x, mut y) = (self.input("X")?, self.input("Y")?);
        let axis = match self.desc.r#type.starts_with("elementwise_") {
            true => self.desc.attr_long("axis")?.unwrap_or(-1),
            false => -1,
        };
        let (x_rank, y_rank) = (self.ty(x).rank() as i64, self.ty(y).rank() as i64);
        if axis >= 0 && y_rank > 0 {
            let missing = x_rank - axis - y_rank;
            if missing < 0 {
                return Ok(false);
            }
            if missing > 0 {
                let mut dims = self.ty(y).dims.clone();
                dims.extend(std::iter::repeat_n(Dim::from(1), missing as usize));
                y = self.emit(Reshape { dims }, &[y])?;
            }
        } else if axis < -1 {
            return Ok(false);
        }
        let Ok(op) = Op::from_attributes(&self.desc.r#type, Vec::new()) else { return Ok(false) };
        self.out(op, &[x, y])
    }

    /// The bias may be added before the multiplication.
    fn scale(&mut self) -> Result<bool, ConvertError> {
        if self.has(&["ScaleTensor"]) {
            return self.scale_by_value();
        }
        let x = self.input("X")?;
        let Scale { mut scale, mut bias } = self.attributes_of()?;
        if !self.ty(x).dtype.is_float() {
            (scale, bias) = (scale.trunc(), bias.trunc());
        }
        if !self.bool("bias_after_scale", true)? {
            bias *= scale;
        }
        self.out(Scale { scale, bias }, &[x])
    }

    fn increment(&mut self) -> Result<bool, ConvertError> {
        let x = self.input("X")?;
        let step = float(self.desc, "step")?.unwrap_or(1.0);
        self.out(Scale { scale: 1.0, bias: step }, &[x])
    }

    /// Adds any number of values in their order.
    fn sum(&mut self) -> Result<bool, ConvertError> {
        let inputs = self.inputs("X")?;
        let Some((&last, before)) = inputs.split_last() else {
            return Err(Fault::Slot { slot: "X", found: 0, expected: 1 }.into());
        };
        let Some((&first, others)) = before.split_first() else { return self.out(Assign, &[last]) };
        let mut sum = first;
        for &other in others {
            sum = self.emit(Binary { kind: BinaryKind::Add }, &[sum, other])?;
        }
        self.out(Binary { kind: BinaryKind::Add }, &[sum, last])
    }

    /// PaddlePaddle may represent a gradient by some of its rows. Ours are values like any other, so this is a copy.
    fn as_dense(&mut self) -> Result<bool, ConvertError> {
        let x = self.input("X")?;
        self.out(Assign, &[x])
    }

    /// Ours prints nothing.
    fn print(&mut self) -> Result<bool, ConvertError> {
        let x = self.input("In")?;
        self.out(Assign, &[x])
    }

    /// `(1 - ε) · x + ε · prior`. Without a prior, each class has the same.
    fn label_smooth(&mut self) -> Result<bool, ConvertError> {
        let x = self.input("X")?;
        let epsilon = float(self.desc, "epsilon")?.unwrap_or(0.0);
        if self.has(&["PriorDist"]) {
            let prior = self.input("PriorDist")?;
            let prior = self.emit(Scale { scale: epsilon, bias: 0.0 }, &[prior])?;
            let kept = self.emit(Scale { scale: 1.0 - epsilon, bias: 0.0 }, &[x])?;
            return self.out(Binary { kind: BinaryKind::Add }, &[kept, prior]);
        }
        match self.ty(x).dims.last().and_then(Dim::constant) {
            Some(classes) if classes > 0 => {
                self.out(Scale { scale: 1.0 - epsilon, bias: epsilon / classes as f64 }, &[x])
            }
            _ => Ok(false),
        }
    }

    fn cast(&mut self) -> Result<bool, ConvertError> {
        let x = self.input("X")?;
        let attribute = "out_dtype";
        let to = self.desc.attr_int(attribute)?.ok_or(Fault::MissingAttribute { attribute })?;
        let Ok(kind) = VarKind::try_from(to) else { return Ok(false) };
        let rest = if self.reader.version >= THIRD_VERSION { Rest::Rounded } else { Rest::Cut };
        if let Some(narrow) = self.at().narrowed(x, kind, rest)? {
            return self.out(Assign, &[narrow]);
        }
        match dtype(kind) {
            Some(dtype) => self.out(Cast { dtype }, &[x]),
            None => Ok(false),
        }
    }

    fn constant(&mut self) -> Result<bool, ConvertError> {
        if self.has(&["ValueTensor", "ShapeTensor", "ShapeTensorList"]) {
            return self.constant_of_values();
        }
        match constant(&self.reader.draft.program, self.desc)? {
            Some(op) => {
                let rows = self.inputs("Rows")?;
                self.out(op, &rows)
            }
            None => Ok(false),
        }
    }
}
