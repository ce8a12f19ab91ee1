"""Quantisation of saved models, folder in, folder out."""

from __future__ import annotations

from typing import Any

from paddle.static.quantization import PostTrainingQuantization, WeightQuantization


def quant_post_static(
    executor: Any,
    model_dir: str,
    quantize_model_path: str,
    batch_generator: Any = None,
    sample_generator: Any = None,
    data_loader: Any = None,
    model_filename: str | None = None,
    params_filename: str | None = None,
    save_model_filename: str = "model.pdmodel",
    save_params_filename: str = "model.pdiparams",
    batch_size: int = 1,
    batch_nums: int | None = None,
    scope: Any = None,
    algo: str = "hist",
    round_type: str = "round",
    hist_percent: float = 0.9999,
    bias_correction: bool = False,
    quantizable_op_type: Any = ("conv2d", "depthwise_conv2d", "conv2d_transpose", "mul", "matmul", "matmul_v2"),
    is_full_quantize: bool = False,
    weight_bits: int = 8,
    activation_bits: int = 8,
    activation_quantize_type: str = "range_abs_max",
    weight_quantize_type: str = "channel_wise_abs_max",
    optimize_model: bool = False,
    onnx_format: bool = True,
    skip_tensor_list: Any = None,
    deploy_backend: Any = None,
) -> None:
    """Quantise a saved model with data; the arguments are those of `paddle.static.quantization.PostTrainingQuantization`.

    Args:
        executor: accepted.
        model_dir: a folder, or the beginning of the file names.
        quantize_model_path: the folder of the result.
        batch_generator, sample_generator, data_loader: one of them gives the data.
        save_model_filename, save_params_filename: names of the files of the result.
        onnx_format, deploy_backend: accepted.
        the others: see there.
    """
    ptq = PostTrainingQuantization(
        executor, model_dir, scope, model_filename, params_filename, batch_generator, sample_generator, data_loader,
        batch_size, batch_nums, algo, hist_percent, list(quantizable_op_type), round_type,
        is_full_quantize=is_full_quantize, bias_correction=bias_correction, activation_bits=activation_bits,
        weight_bits=weight_bits, activation_quantize_type=activation_quantize_type,
        weight_quantize_type=weight_quantize_type, optimize_model=optimize_model, skip_tensor_list=skip_tensor_list,
    )  # fmt: skip
    ptq.quantize()
    ptq.save_quantized_model(quantize_model_path, save_model_filename, save_params_filename)


quant_post = quant_post_static


def quant_post_dynamic(
    model_dir: str,
    save_model_dir: str,
    model_filename: str | None = None,
    params_filename: str | None = None,
    save_model_filename: str = "model.pdmodel",
    save_params_filename: str = "model.pdiparams",
    quantizable_op_type: Any = ("conv2d", "mul"),
    weight_bits: int = 8,
    generate_test_model: bool = False,
) -> None:
    """Make the weights of a saved model integers, without data.

    Args:
        model_dir, model_filename, params_filename: the model.
        save_model_dir, save_model_filename, save_params_filename: the result.
        quantizable_op_type: kinds of operators.
        weight_bits: 8 or 16.
        generate_test_model: accepted.
    """
    WeightQuantization(model_dir, model_filename, params_filename).quantize_weight_to_int(
        save_model_dir, save_model_filename, save_params_filename, list(quantizable_op_type), weight_bits
    )


quant_post_only_weight = quant_post_dynamic
