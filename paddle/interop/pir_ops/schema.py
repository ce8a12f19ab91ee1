"""The interface of the operators of official model files (`pd_op`): operands, results and attributes, one operator a line.

    name | operands | results | attribute:kind=default ...

Kinds: b bool, i int32, l int64, f float32, d float64, s text, t data type, p place, I L F D S lists of those, A an array
of integers. An operator that ends in `_` and is not in the table has the interface of the name without it.
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

_ROWS = """
abs | x | out |
accuracy | x indices label | accuracy correct total |
acos | x | out |
acosh | x | out |
add | x y | out |
add_group_norm_silu | x residual scale bias | y residual_out mean variance | epsilon:d=1e-5 groups:i=-1 data_format:s=NCHW activation:s=
add_n | inputs | out |
add_position_encoding | x | out | alpha:f=1.0 beta:f=1.0
addmm | input x y | out | beta:f=1.0 alpha:f=1.0
affine_channel | x scale bias | out | data_layout:s=AnyLayout
affine_grid | input output_shape | output | align_corners:b=true
all | x | out | axis:L= keepdim:b=false
allclose | x y rtol atol | out | equal_nan:b=false
amax | x | out | axis:L= keepdim:b=false
amin | x | out | axis:L= keepdim:b=false
angle | x | out |
any | x | out | axis:L= keepdim:b=false
arange | start end step | out | dtype:t=float64 place:p=cpu
argmax | x axis | out | keepdims:b=false flatten:b=false dtype:t=int64
argmin | x axis | out | keepdims:b=false flatten:b=false dtype:t=int64
argsort | x | out indices | axis:i=-1 descending:b=false stable:b=false
as_complex | x | out |
as_real | x | out |
as_strided | input | out | dims:L= stride:L= offset:l=0
asin | x | out |
asinh | x | out |
assign | x | out |
assign_out_ | x output | out |
assign_pos | x cum_count eff_num_len | out |
assign_value |  | out | shape:I dtype:t values:D place:p=
assign_value_ | output | out | shape:I dtype:t values:D place:p=
atan | x | out |
atan2 | x y | out |
atanh | x | out |
baddbmm | input x y | out | beta:f=1.0 alpha:f=1.0
batch_norm | x mean variance scale bias | out mean_out variance_out saved_mean saved_variance reserve_space | is_test:b momentum:f epsilon:f data_format:s use_global_stats:b trainable_statistics:b
bce_loss | input label | out |
bernoulli | x | out |
bicubic_interp | x out_size size_tensor scale_tensor | output | data_format:s=NCHW out_d:i=0 out_h:i=0 out_w:i=0 scale:D= interp_method:s=bilinear align_corners:b=true align_mode:i=1
bilinear | x y weight bias | out |
bilinear_interp | x out_size size_tensor scale_tensor | output | data_format:s=NCHW out_d:i=0 out_h:i=0 out_w:i=0 scale:D= interp_method:s=bilinear align_corners:b=true align_mode:i=1
bincount | x weights minlength | out |
binomial | count prob | out |
bitwise_and | x y | out |
bitwise_left_shift | x y | out | is_arithmetic:b=true
bitwise_not | x | out |
bitwise_or | x y | out |
bitwise_right_shift | x y | out | is_arithmetic:b=true
bitwise_xor | x y | out |
bmm | x y | out |
box_coder | prior_box prior_box_var target_box | output_box | code_type:s=encode_center_size box_normalized:b=true axis:i=0 variance:F=
broadcast | x | out | ring_id:i=0 root:i=0
broadcast_tensors | input | out |
cast | x | out | dtype:t
ceil | x | out |
celu | x | out | alpha:f=1.0
channel_shuffle | x | out | groups:i data_format:s=NCHW
check_numerics | tensor | stats values | op_type:s= var_name:s= check_nan_inf_level:i=0 stack_height_limit:i=-1 output_dir:s=
cholesky | x | out | upper:b=false
cholesky_solve | x y | out | upper:b=false
class_center_sample | label | remapped_label sampled_local_class_center | num_classes:i num_samples:i ring_id:i=0 rank:i=0 nranks:i=1 fix_seed:b=false seed:i=0
clip | x min max | out |
clip_by_norm | x | out | max_norm:f
complex | real imag | out |
concat | x axis | out |
conj | x | out |
conv2d | input filter | out | strides:I=1,1 paddings:I=0,0 padding_algorithm:s=EXPLICIT dilations:I=1,1 groups:i=1 data_format:s=NCHW
conv2d_transpose | x filter output_size | out | strides:I=1,1 paddings:I=0,0 output_padding:I= padding_algorithm:s=EXPLICIT groups:i=1 dilations:I=1,1 data_format:s=NCHW
conv2d_transpose_bias | x filter bias output_size | out | strides:I=1,1 paddings:I=0,0 output_padding:I= padding_algorithm:s=EXPLICIT groups:i=1 dilations:I=1,1 data_format:s=NCHW
conv3d | input filter | out | strides:I=1,1,1 paddings:I=0,0,0 padding_algorithm:s=EXPLICIT groups:i=1 dilations:I=1,1,1 data_format:s=NCDHW
conv3d_transpose | x filter | out | strides:I=1,1,1 paddings:I=0,0,0 output_padding:I= output_size:I= padding_algorithm:s=EXPLICIT groups:i=1 dilations:I=1,1,1 data_format:s=NCHW
copysign | x y | out |
cos | x | out |
cosh | x | out |
crf_decoding | emission transition label length | viterbi_path |
crop | x shape offsets | out |
cross | x y | out | axis:i=9
cross_entropy_with_softmax | input label | softmax loss | soft_label:b=false use_softmax:b=true numeric_stable_mode:b=true ignore_index:i=-100 axis:i=-1
ctc_align | input input_length | output output_length | blank:i=0 merge_repeated:b=true padding_value:i=0
cummax | x | out indices | axis:i=-1 dtype:t=int64
cummin | x | out indices | axis:i=-1 dtype:t=int64
cumprod | x | out | dim:i exclusive:b=false reverse:b=false
cumsum | x axis | out | flatten:b=false exclusive:b=false reverse:b=false
data |  | out | name:s shape:A dtype:t place:p
deformable_conv | x offset filter mask | out | strides:I paddings:I dilations:I deformable_groups:i groups:i im2col_step:i
depend | x dep | out |
depthwise_conv2d | input filter | out | strides:I=1,1 paddings:I=0,0 padding_algorithm:s=EXPLICIT groups:i=1 dilations:I=1,1 data_format:s=NCHW
depthwise_conv2d_bias | input filter bias | out | strides:I=1,1 paddings:I=0,0 padding_algorithm:s=EXPLICIT groups:i=1 dilations:I=1,1 data_format:s=NCHW
depthwise_conv2d_transpose | x filter output_size | out | strides:I=1,1 paddings:I=0,0 output_padding:I= padding_algorithm:s=EXPLICIT groups:i=1 dilations:I=1,1 data_format:s=NCHW
dequantize_linear | x scale zero_point in_accum in_state | y out_state out_accum out_scale | quant_axis:i=0 bit_length:i=8 qmin:i=-128 qmax:i=127 round_type:i=0 is_test:b=true only_observer:b=false
det | x | out |
diag | x | out | offset:i=0 padding_value:f=0.0
diag_embed | input | out | offset:i=0 dim1:i=-2 dim2:i=-1
diagonal | x | out | offset:i=0 axis1:i=0 axis2:i=1
digamma | x | out |
dirichlet | alpha | out |
dist | x y | out | p:f=2.0
distribute_fpn_proposals | fpn_rois rois_num | multi_fpn_rois multi_level_rois_num restore_index | min_level:i max_level:i refer_level:i refer_scale:i pixel_offset:b
divide | x y | out |
dot | x y | out |
dropout | x seed_tensor p | out mask | is_test:b=false mode:s=downgrade_in_infer seed:i=0 fix_seed:b=false
edit_distance | hyps refs hypslength refslength | sequencenum out | normalized:b=false
eig | x | out_w out_v |
eigh | x | out_w out_v | UPLO:s=L
eigvals | x | out |
eigvalsh | x | eigenvalues eigenvectors | uplo:s=L is_test:b=false
einsum | x | out inner_cache xshape | equation:s
elementwise_pow | x y | out |
elu | x | out | alpha:f=1.0
embedding | x weight | out | padding_idx:l=-1 sparse:b=false
empty | shape | out | dtype:t=float32 place:p=cpu
empty_like | x | out | dtype:t=undefined place:p=
equal | x y | out |
equal_all | x y | out |
erf | x | out |
erfinv | x | out |
exp | x | out |
expand | x shape | out |
expand_as | x y | out | target_shape:L=
expm1 | x | out |
exponential_ | x | out | lam:f
eye | num_rows num_columns | out | dtype:t=float32 place:p=
fake_channel_wise_quantize_dequantize_abs_max | x | out out_scale | bit_length:i=8 round_type:i=1 quant_axis:i=0
fake_quantize_dequantize_abs_max | x | out out_scale | bit_length:i=8 round_type:i=1
fake_quantize_dequantize_moving_average_abs_max | x in_scale in_accum in_state | out out_scale out_state out_accum | moving_rate:f=0.9 bit_length:i=8 is_test:b=false round_type:i=1
fc | input w bias | out | in_num_col_dims:i=1 activation_type:s= padding_weights:b=false
feed |  | out | name:s col:i
fetch | x | out | name:s col:i
fft_c2c | x | out | axes:L normalization:s forward:b
fft_c2r | x | out | axes:L normalization:s forward:b last_dim_size:l=0
fft_r2c | x | out | axes:L normalization:s forward:b onesided:b
fill | x value | out |
fill_diagonal | x | out | value:f=0 offset:i=0 wrap:b=false
fill_diagonal_tensor | x y | out | offset:l=0 dim1:i=0 dim2:i=1
flash_attn | q k v fixed_seed_offset attn_mask | out softmax softmax_lse seed_offset | dropout:f=0.0 causal:b=false return_softmax:b=false is_test:b=false rng_name:s=
flatten | x | out | start_axis:i=1 stop_axis:i=1
flip | x | out | axis:I
floor | x | out |
floor_divide | x y | out |
fmax | x y | out |
fmin | x y | out |
fold | x | out | output_sizes:I kernel_sizes:I strides:I paddings:I dilations:I
fractional_max_pool2d | x | out mask | output_size:I kernel_size:I=0,0 random_u:f=0.0 return_mask:b=true
fractional_max_pool3d | x | out mask | output_size:I kernel_size:I=0,0,0 random_u:f=0.0 return_mask:b=true
frame | x | out | frame_length:i hop_length:i axis:i=-1
frobenius_norm | x axis | out | keep_dim:b reduce_all:b
full |  | out | shape:A value:d dtype:t=float32 place:p=cpu
full_ | output | out | shape:A value:d dtype:t=float32 place:p=cpu
full_batch_size_like | input | out | shape:I dtype:t value:d input_dim_idx:i output_dim_idx:i place:p=cpu
full_int_array |  | out | value:L dtype:t=float32 place:p=cpu
full_like | x value | out | dtype:t=undefined place:p=
full_with_tensor | value shape | out | dtype:t=float32
fused_attention | x ln_scale ln_bias qkv_weight qkv_bias cache_kv src_mask out_linear_weight out_linear_bias ln_scale_2 ln_bias_2 | ln_mean ln_var ln_out qkv_out qkv_bias_out transpose_out_2 qk_out qktv_out softmax_out attn_dropout_mask_out attn_dropout_out src_mask_out fmha_out out_linear_out dropout_mask_out ln_mean_2 ln_var_2 bias_dropout_residual_out cache_kv_out out | num_heads:i transpose_qkv_wb:b pre_layer_norm:b epsilon:f attn_dropout_rate:f is_test:b attn_dropout_fix_seed:b attn_dropout_seed:i attn_dropout_implementation:s dropout_rate:f dropout_fix_seed:b dropout_seed:i dropout_implementation:s ln_epsilon:f add_residual:b ring_id:i
fused_bias_act | x bias dequant_scales shift smooth | out | act_method:s=gelu compute_dtype:s=default quant_scale:f=-1 quant_round_type:i=1 quant_max_bound:f=127.0 quant_min_bound:f=-127.0
fused_bias_dropout_residual_layer_norm | x residual bias ln_scale ln_bias | y bias_dropout_residual_out dropout_mask_out ln_mean ln_variance | dropout_rate:f=0.5 is_test:b=false dropout_fix_seed:b=true dropout_seed:i=1 dropout_implementation:s=downgrade_in_infer ln_epsilon:f=1e-5
fused_bias_residual_layernorm | x bias residual norm_weight norm_bias | out residual_out mean variance | epsilon:f residual_alpha:f begin_norm_axis:i quant_scale:f quant_round_type:i quant_max_bound:f quant_min_bound:f
fused_conv2d_add_act | input filter bias residual_data | output outputs | strides:I=1,1 paddings:I=0,0 padding_algorithm:s=EXPLICIT dilations:I=1,1 groups:i=1 data_format:s=NCHW activation:s=relu split_channels:I= exhaustive_search:b=false workspace_size_MB:i=32 fuse_alpha:f=0.0
fused_dropout_add | x y seed_tensor | out seed_offset | p:f is_test:b mode:s seed:i=0 fix_seed:b=false
fused_elementwise_add | x y | out | axis:i=-1 fuse_activation:s= fuse_alpha:f=0.0 fuse_beta:f=0.0 fused_output_scale:f=1.0 fused_unsqueeze2_axes:I= scale_x:f=1.0 scale_y:f=1.0 scale_out:f=1.0
fused_elementwise_div | x y | out | axis:i=-1 fuse_activation:s= fuse_alpha:f=0.0 fuse_beta:f=0.0 fused_output_scale:f=1.0 fused_unsqueeze2_axes:I= scale_x:f=1.0 scale_y:f=1.0 scale_out:f=1.0
fused_elementwise_mul | x y | out | axis:i=-1 fuse_activation:s= fuse_alpha:f=0.0 fuse_beta:f=0.0 fused_output_scale:f=1.0 fused_unsqueeze2_axes:I= scale_x:f=1.0 scale_y:f=1.0 scale_out:f=1.0
fused_elementwise_sub | x y | out | axis:i=-1 fuse_activation:s= fuse_alpha:f=0.0 fuse_beta:f=0.0 fused_output_scale:f=1.0 fused_unsqueeze2_axes:I= scale_x:f=1.0 scale_y:f=1.0 scale_out:f=1.0
fused_elemwise_add_activation | x y | out intermediate_out | functor_list:S axis:i=-1 scale:f=0.0 save_intermediate_out:b=false
fused_embedding_eltwise_layernorm | ids embs bias scale | out | epsilon:f=0.00001
fused_fc_elementwise_layernorm | x w y bias0 scale bias1 | out mean variance | x_num_col_dims:i=1 activation_type:s= epsilon:f=0.00001 begin_norm_axis:i=1
fused_feedforward | x dropout1_seed dropout2_seed linear1_weight linear1_bias linear2_weight linear2_bias ln1_scale ln1_bias ln2_scale ln2_bias | out dropout1_mask dropout2_mask ln1_mean ln1_variance ln2_mean ln2_variance linear1_out ln1_out dropout1_out dropout2_out | pre_layer_norm:b ln1_epsilon:f ln2_epsilon:f act_method:s dropout1_prob:f dropout2_prob:f dropout1_implementation:s dropout2_implementation:s is_test:b dropout1_fix_seed:b dropout2_fix_seed:b dropout1_seed_val:i dropout2_seed_val:i add_residual:b ring_id:i
fused_gemm_epilogue | x y bias | out reserve_space | trans_x:b trans_y:b activation:s
fused_rms_norm_ext | x scale | y invvar | epsilon:f
fused_rms_norm_quant | x bias residual norm_weight norm_bias | out residual_out inv_var | epsilon:f begin_norm_axis:i quant_scale:f quant_round_type:i quant_max_bound:f quant_min_bound:f
fused_rotary_position_embedding | q k v sin cos position_ids | out_q out_k out_v | use_neox_rotary_style:b=true time_major:b=false rotary_emb_base:f=10000.0
fused_softmax_mask | x mask | out |
fused_softmax_mask_upper_triangle | X | Out |
gammaincc | x y | out |
gammaln | x | out |
gather | x index axis | out |
gather_nd | x index | out |
gather_tree | ids parents | out |
gaussian | shape | out | mean:f std:f seed:i dtype:t place:p=
gaussian_inplace | x | out | mean:f=0 std:f=1.0 seed:i=0
gelu | x | out | approximate:b=false
greater_equal | x y | out |
greater_than | x y | out |
grid_sample | x grid | out | mode:s=bilinear padding_mode:s=zeros align_corners:b=true
group_norm | x scale bias | y mean variance | epsilon:d=1e-5 groups:i=-1 data_format:s=NCHW
gumbel_softmax | x | out | temperature:f=1.0 hard:b=false axis:i=-1
hardshrink | x | out | threshold:f=0.5
hardsigmoid | x | out | slope:f=0.2 offset:f=0.5
hardswish | x | out |
hardtanh | x | out | t_min:f=0 t_max:f=24
heaviside | x y | out |
hinge_loss | logits labels | loss |
histogram | input weight | out | bins:l=100 min:f=0.0 max:f=0.0 density:b=false
hsigmoid_loss | x label w bias path code | out pre_out w_out | num_classes:i is_sparse:b
huber_loss | input label | out residual | delta:f
i0 | x | out |
i0e | x | out |
i1 | x | out |
i1e | x | out |
identity_loss | x | out | reduction:i=1
im2sequence | x y | out | kernels:I strides:I=1,1 paddings:I=0,0,0,0 out_stride:I=1,1
imag | x | out |
increment | x | out | value:f=1.0
index_add | x index add_value | out | axis:i=0
index_elementwise_get | x index | out | input_dims:L input_strides:L index_dims:L index_stride:L slice_offset:l=0 accumulate:b=true is_combined:b=false
index_elementwise_put | x index | out | value:f input_dims:L input_strides:L index_dims:L index_strides:L slice_offset:l
index_elementwise_put_with_tensor | x index value | out | input_dims:L input_strides:L index_dims:L index_strides:L slice_offset:l
index_put | x indices value | out | accumulate:b=false
index_sample | x index | out |
index_select | x index | out | axis:i=0
index_select_strided | x | out | index:l axis:i=0
instance_norm | x scale bias | y saved_mean saved_variance | epsilon:f=1e-5
int_bincount | x | out | low:l high:l dtype:l
interp_antialias | x out_size size_tensor scale_tensor | output | data_format:s=NCHW out_d:i=0 out_h:i=0 out_w:i=0 scale:D= interp_method:s=bilinear align_corners:b=true align_mode:i=1
inverse | x | out |
is_empty | x | out |
isclose | x y rtol atol | out | equal_nan:b=false
isfinite | x | out |
isinf | x | out |
isnan | x | out |
kldiv_loss | x label | out | reduction:s=mean log_target:b=false
kron | x y | out |
kthvalue | x | out indices | k:l=1 axis:i=-1 keepdim:b=false
l1_norm | x | out |
label_smooth | label prior_dist | out | epsilon:f=0.0
layer_norm | x scale bias | out mean variance | epsilon:f=1e-5 begin_norm_axis:i=1
leaky_relu | x | out | negative_slope:d=0.02
legacy_matmul | x y | out | transpose_x:b=false transpose_y:b=false alpha:f=1.0
legacy_reshape | x shape | out |
lerp | x y weight | out |
less_equal | x y | out |
less_than | x y | out |
lgamma | x | out |
linear_interp | x out_size size_tensor scale_tensor | output | data_format:s=NCHW out_d:i=0 out_h:i=0 out_w:i=0 scale:D= interp_method:s=bilinear align_corners:b=true align_mode:i=1
linear_v2 | input weight bias | out | transpose_weight:b=false
linspace | start stop number | out | dtype:t place:p
llm_int8_linear | x weight bias weight_scale | out | threshold:f=6.0
lod_reset | x y | out | target_lod:I= append:b=false
log | x | out |
log10 | x | out |
log1p | x | out |
log2 | x | out |
log_loss | input label | out | epsilon:f
log_softmax | x | out | axis:i=-1
logcumsumexp | x | out | axis:i=-1 flatten:b=false exclusive:b=false reverse:b=false
logical_and | x y | out |
logical_not | x | out |
logical_or | x y | out |
logical_xor | x y | out |
logit | x | out | eps:d=1e-6
logsigmoid | x | out |
logspace | start stop num base | out | dtype:t place:p=
logsumexp | x | out | axis:I= keepdim:b=false reduce_all:b=false
lookup_table | w ids | out | is_sparse:b=false is_distributed:b=false padding_idx:l=-1 remote_prefetch:b=false entry_config:s= is_test:b=false entry:s=none table_class:s=none table_names:S= trainer_id:i=0 slot:i=0 grad_inplace:b=false epmap:S= height_sections:L=
lp_pool2d | x | out | kernel_size:A strides:L=1,1 paddings:L=0,0 ceil_mode:b=false exclusive:b=true data_format:s=NCHW pooling_type:s= global_pooling:b=false adaptive:b=false padding_algorithm:s=EXPLICIT norm_type:f=0.0
lrn | x | out mid_out | n:i=5 k:f=2.0 alpha:f=0.0001 beta:f=0.75 data_format:s=AnyLayout
lstsq | x y rcond | solution residuals rank singular_values | driver:s=gels
lu | x | out pivots infos | pivot:b=true
lu_solve | b lu pivots | out | trans:s
lu_unpack | x y | pmat l u | unpack_ludata:b=true unpack_pivots:b=true
margin_cross_entropy | logits label | softmax loss | return_softmax:b=false ring_id:i=0 rank:i=0 nranks:i=1 margin1:f=1.0 margin2:f=0.5 margin3:f=0.0 scale:f=64.0
masked_fill | x mask value | out |
masked_select | x mask | out |
matmul | x y | out | transpose_x:b=false transpose_y:b=false
matmul_with_flatten | x y | out | x_num_col_dims:i=1 y_num_col_dims:i=1
matrix_nms | bboxes scores | out index roisnum | score_threshold:f nms_top_k:i keep_top_k:i post_threshold:f=0. use_gaussian:b=false gaussian_sigma:f=2. background_label:i=0 normalized:b=true
matrix_power | x | out | n:i
matrix_rank | x | out | tol:f use_default_tol:b=true hermitian:b=false
matrix_rank_tol | x atol_tensor | out | use_default_tol:b=true hermitian:b=false
max | x axis | out | keepdim:b=false
max_pool2d_v2 | x | out saved_idx | kernel_size:I strides:I=1,1 paddings:I=0,0 data_format:s=NCHW global_pooling:b=false adaptive:b=false
max_pool2d_with_index | x | out mask | kernel_size:I strides:I=1,1 paddings:I=0,0 global_pooling:b=false adaptive:b=false ceil_mode:b=false
max_pool3d_with_index | x | out mask | kernel_size:I strides:I=1,1,1 paddings:I=0,0,0 global_pooling:b=false adaptive:b=false ceil_mode:b=false
max_with_index | x | values indices | dim:l keepdim:b=false flatten:b=false
maximum | x y | out |
maxout | x | out | groups:i axis:i=1
mean | x axis | out | keepdim:b=false
mean_all | x | out |
median | x | out medians | axis:A= keepdim:b=true mode:s=avg
memcpy | x | out | dst_place_type:i
memcpy_d2h | x | out | dst_place_type:i
memcpy_h2d | x | out | dst_place_type:i
memory_efficient_attention | query key value bias cu_seqlens_q cu_seqlens_k causal_diagonal seqlen_k max_seqlen_q max_seqlen_k | output logsumexp seed_and_offset | causal:b dropout_p:d scale:f is_test:b
meshgrid | inputs | out |
min | x axis | out | keepdim:b=false
min_with_index | x | values indices | dim:l keepdim:b=false flatten:b=false
minimum | x y | out |
mish | x | out | lambda:f
mode | x | out indices | axis:i=-1 keepdim:b=false
multi_dot | x | out |
multiclass_nms3 | bboxes scores rois_num | out index nms_rois_num | score_threshold:f nms_top_k:i keep_top_k:i nms_threshold:f=0.3 normalized:b=true nms_eta:f=1.0 background_label:i=0
multihead_matmul | input w bias bias_qk | out | transpose_q:b=false transpose_k:b=true transpose_v:b=false alpha:f=1.0 head_number:i=1
multinomial | x num_samples | out | replacement:b=false
multiplex | inputs index | out |
multiply | x y | out |
mv | x vec | out |
nanmedian | x | out medians | axis:A= keepdim:b=true mode:s=avg
nearest_interp | x out_size size_tensor scale_tensor | output | data_format:s=NCHW out_d:i=0 out_h:i=0 out_w:i=0 scale:D= interp_method:s=bilinear align_corners:b=true align_mode:i=1
nextafter | x y | out |
nll_loss | input label weight | out total_weight | ignore_index:l=-100 reduction:s=mean
nms | x | out | threshold:f=1.0
nonzero | condition | out |
nop | x | out |
norm | x | out norm | axis:i epsilon:f is_test:b
not_equal | x y | out |
npu_identity | x | out | format:i=-1
number_count | numbers | out | upper_range:i
numel | x | size |
one_hot | x num_classes | out |
ones |  | out | shape:A dtype:t=float32 place:p=cpu
ones_like | x | out | dtype:t=undefined place:p=
overlap_add | x | out | hop_length:i axis:i=-1
p_norm | x | out | porder:f=2 axis:i=-1 epsilon:f=1.0e-12 keepdim:b=false asvector:b=false
pad | x pad_value | out | paddings:I
pad3d | x paddings | out | mode:s=constant pad_value:d=0.0 data_format:s=NCDHW
partial_concat | x | out | start_index:i=0 length:i=-1
partial_sum | x | out | start_index:i=0 length:i=-1
pixel_shuffle | x | out | upscale_factor:i=1 data_format:s=NCHW
pixel_unshuffle | x | out | downscale_factor:i=1 data_format:s=NCHW
poisson | x | out |
polygamma | x | out | n:i
pool2d | x kernel_size | out | strides:L paddings:L ceil_mode:b exclusive:b data_format:s pooling_type:s global_pooling:b adaptive:b padding_algorithm:s
pool3d | x | out | kernel_size:L strides:L paddings:L ceil_mode:b exclusive:b data_format:s pooling_type:s global_pooling:b adaptive:b padding_algorithm:s
pow | x | out | y:f=1.0
prelu | x alpha | out | data_format:s=NCHW mode:s=all
print | in | out | first_n:i message:s summarize:i print_tensor_name:b=true print_tensor_type:b=true print_tensor_shape:b=true print_tensor_layout:b=true print_tensor_lod:b=true print_phase:s=BOTH is_forward:b=true
prior_box | input image | out var | min_sizes:F max_sizes:F= aspect_ratios:F= variances:F= flip:b=true clip:b=true step_w:f=0.0 step_h:f=0.0 offset:f=0.5 min_max_aspect_ratios_order:b=false
prod | x axis | out | keepdim:b reduce_all:b
psroi_pool | x boxes boxes_num | out | pooled_height:i=1 pooled_width:i=1 output_channels:i=1 spatial_scale:f=1.0
put_along_axis | arr indices values | out | axis:i reduce:s=assign include_self:b=true
qr | x | q r | mode:s=reduced
quantize_linear | x scale zero_point in_accum in_state | y out_state out_accum out_scale | quant_axis:i=0 bit_length:i=8 qmin:i=-128 qmax:i=127 round_type:i=0 is_test:b=true only_observer:b=false
randint | shape | out | low:i high:i dtype:t=int64 place:p=
randperm |  | out | n:i dtype:t place:p=
range_v2 | start end step | out | dtype:t=float64 place:p=cpu
real | x | out |
reciprocal | x | out |
reduce | x | out | ring_id:i=0 root_id:i=0 reduce_type:i=0
reduce_as | x target | out |
relu | x | out |
relu6 | x | out |
remainder | x y | out |
renorm | x | out | p:f axis:i max_norm:f
repeat_interleave | x | out | repeats:i axis:i output_size:l=-1
repeat_interleave_with_tensor_index | x repeats | out | axis:i output_size:l=-1
reshape | x shape | out |
reverse | x axis | out |
rint | x | out |
rms_norm | x scale | y invvar | normalized_shape:L= epsilon:d=1e-5
rnn | x pre_state weight_list sequence_length dropout_state_in | out dropout_state_out state reserve | dropout_prob:f=0.0 is_bidirec:b=false input_size:i=10 hidden_size:i=100 num_layers:i=1 mode:s=RNN_TANH seed:i=0 is_test:b=false
roi_align | x boxes boxes_num | out | pooled_height:i=1 pooled_width:i=1 spatial_scale:f=1.0 sampling_ratio:i=-1 aligned:b=false
roi_pool | x boxes boxes_num | out arg_max | pooled_height:i=1 pooled_width:i=1 spatial_scale:f=1.0
roll | x shifts | out | axis:L=
round | x | out | decimals:i=0
row_conv | x filter | out |
rrelu | x | out noise | lower:f=0.125 upper:f=0.3333333333333333 is_test:b=false
rsqrt | x | out |
scale | x scale | out | bias:f=0.0 bias_after_scale:b=true
scatter | x index updates | out | overwrite:b=true
scatter_nd_add | x index updates | out |
searchsorted | sorted_sequence values | out | out_int32:b=false right:b=false
seed |  | out | seed:i deterministic:b rng_name:s force_cpu:b
segment_pool | x segment_ids | out summed_ids | pooltype:s=SUM
self_dp_attention | x | out | alpha:f=1.0 head_number:i=1
selu | x | out | scale:f=1.0507009873554804934193349852946 alpha:f=1.6732632423543772848170429916717
send_u_recv | x src_index dst_index out_size | out dst_count | reduce_op:s=SUM
sequence_conv | x padding_data filter | out | context_length:i padding_trainable:b=false context_start:i=0 context_stride:i=1
sequence_expand | x y | out | ref_level:i=-1
sequence_mask | x max_len | y | out_dtype:t
sequence_pool | x | out max_index | is_test:b=false pooltype:s=AVERAGE pad_value:f=0.0
sequence_softmax | x | out |
set_value | x starts ends steps | out | axes:L decrease_axes:L none_axes:L shape:L values:D
set_value_with_tensor | x values starts ends steps | out | axes:L decrease_axes:L none_axes:L
shadow_feed | x | out | dst_place_type:i
shape | input | out |
shape64 | input | out |
shard_index | input | out | index_num:i nshards:i shard_id:i ignore_value:i=-1
share_data | x | out |
shuffle_channel | x | out | group:i=1
sigmoid | x | out |
sigmoid_cross_entropy_with_logits | x label pos_weight | out | normalize:b=false ignore_index:i=-100
sign | x | out |
silu | x | out |
sin | x | out |
sinh | x | out |
skip_layernorm | x y scale bias | out | epsilon:f begin_norm_axis:i
slice | input starts ends | out | axes:L infer_flags:L decrease_axis:L
slogdet | x | out |
soft_relu | x | out | threshold:f=40.0
softmax | x | out | axis:i
softplus | x | out | beta:d=1.0 threshold:d=20.0
softshrink | x | out | threshold:f=0.5
softsign | x | out |
solve | x y | out |
spectral_norm | weight u v | out | dim:i=0 power_iters:i=1 eps:f=1e-12
split | x sections axis | out |
split_with_num | x axis | out | num:i
sqrt | x | out |
square | x | out |
squared_l2_norm | x | out |
squeeze | x axis | out |
stack | x | out | axis:i=0
standard_gamma | x | out |
stanh | x | out | scale_a:f=0.67 scale_b:f=1.7159
std | x | out | axis:L= keepdim:b=false unbiased:b=true correction:d=1
stft | x window | out | n_fft:i hop_length:i normalized:b onesided:b
strided_slice | x starts ends strides | out | axes:I
subtract | x y | out |
sum | x axis | out | dtype:t=undefined keepdim:b=false
svd | x | u s vh | full_matrices:b=false
svdvals | x | s |
swiglu | x y | out |
swish | x | out |
sync_batch_norm_ | x mean variance scale bias | out mean_out variance_out saved_mean saved_variance reserve_space | is_test:b momentum:f epsilon:f data_format:s use_global_stats:b trainable_statistics:b
take_along_axis | arr indices | out | axis:i
tan | x | out |
tanh | x | out |
tanh_shrink | x | out |
temporal_shift | x | out | seg_num:i shift_ratio:f=0.25 data_format:s=NCHW
thresholded_relu | x | out | threshold:f=1.0 value:f=0.0
tile | x repeat_times | out |
top_p_sampling | x ps threshold topp_seed | out ids topk_scores topk_ids | seed:l=-1 k:i=0 mode:s=truncate
topk | x k | out indices | axis:i=-1 largest:b=true sorted:b=true
trace | x | out | offset:i=0 axis1:i=0 axis2:i=1
trans_layout | x | out | perm:I
transpose | x | out | perm:I
triangular_solve | x y | out | upper:b=true transpose:b=false unitriangular:b=false
tril | x | out | diagonal:i=0
tril_indices |  | out | rows:i cols:i offset:i dtype:t place:p=
trilinear_interp | x out_size size_tensor scale_tensor | output | data_format:s=NCHW out_d:i=0 out_h:i=0 out_w:i=0 scale:D= interp_method:s=bilinear align_corners:b=true align_mode:i=1
triu | x | out | diagonal:i=0
triu_indices |  | out | row:i col:i offset:i dtype:t place:p=
trunc | input | out |
trunc_divide | x y | out |
truncated_gaussian_random |  | out | shape:I mean:f std:f seed:i a:f b:f dtype:t=float32 place:p=
unbind | input | out | axis:i=0
unfold | x | out | kernel_sizes:I strides:I paddings:I dilations:I
uniform | shape min max | out | dtype:t seed:i place:p=
uniform_random_batch_size_like | input | out | shape:I input_dim_idx:i=0 output_dim_idx:i=0 min:f=-1.0 max:f=1.0 seed:i=0 diag_num:i=0 diag_step:i=0 diag_val:f=1.0 dtype:t=float32
unique | x | out indices inverse counts | return_index:b=false return_inverse:b=false return_counts:b=false axis:I= dtype:t=int64 is_sorted:b=false
unique_consecutive | x | out index counts | return_inverse:b=false return_counts:b=false axis:I= dtype:t=float32
unpool | x indices output_size | out | ksize:I strides:I padding:I data_format:s
unpool3d | x indices | out | ksize:I strides:I=1,1,1 paddings:I=0,0,0 output_size:I=0,0,0 data_format:s=NCDHW
unsqueeze | x axis | out |
unstack | x | out | axis:i=0 num:i=0
var | x | out | axis:L= keepdim:b=false unbiased:b=true correction:d=1
variable_length_memory_efficient_attention | query key value seq_lens kv_seq_lens mask | out | scale:f causal:b pre_cache_length:i
variance | x | out | axis:L= keepdim:b=false
view_dtype | input | out | dtype:t
view_shape | input | out | dims:L=
view_slice | input | out | begin_idx:l end_idx:l
viterbi_decode | potentials transition_params lengths | scores path | include_bos_eos_tag:b=true
warpctc | logits label logits_length labels_length | loss warpctcgrad | blank:i=0 norm_by_times:b=false
weight_dequantize | x scale | out | algo:s=weight_only_int8 group_size:i=-1
weight_only_linear | x weight bias weight_scale | out | weight_dtype:s arch:i=80 group_size:i=-1
weight_quantize | x | out scale | algo:s=weight_only_int8 arch:i=80 group_size:i=-1
where | condition x y | out |
yolo_box | x img_size | boxes scores | anchors:I= class_num:i=1 conf_thresh:f=0.01 downsample_ratio:i=32 clip_bbox:b=true scale_x_y:f=1.0 iou_aware:b=false iou_aware_factor:f=0.5
zeros |  | out | shape:A dtype:t=float32 place:p=cpu
zeros_like | x | out | dtype:t=undefined place:p=
"""


class Interface(NamedTuple):
    """What an operator takes and gives; `attributes` maps names to (kind, default or None)."""

    operands: tuple[str, ...]
    results: tuple[str, ...]
    attributes: dict[str, tuple[str, Any]]


def _default(kind: str, text: str) -> Any:
    if kind in "ILFDSA":
        items = [t for t in text.split(",") if t]
        return [float(t) if kind in "FD" else t if kind == "S" else int(t) for t in items]
    if kind == "b":
        return text == "true"
    if kind in "il":
        return int(text)
    return float(text) if kind in "fd" else "" if text == "undefined" else text


@functools.cache
def interfaces() -> dict[str, Interface]:
    """All operators of the table by name."""
    found = {}
    for row in _ROWS.strip().splitlines():
        name, operands, results, attributes = (part.strip() for part in (row + " ").split("|"))
        table = {}
        for attribute in attributes.split():
            title, _, rest = attribute.partition(":")
            kind, given, default = rest.partition("=")
            table[title] = (kind, _default(kind, default) if given else None)
        found[name] = Interface(tuple(operands.split()), tuple(results.split()), table)
    return found


def interface(name: str) -> Interface | None:
    """The interface of an operator, None when it is not in the table."""
    found = interfaces()
    return found.get(name) or found.get(name.rstrip("_"))
