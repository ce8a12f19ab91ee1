"""The calls that `compare_official_nn.py` makes: expressions over paddle, F, nn and the makers of inputs that `inputs` there
defines: A(shape) floating, P(shape) positive, U(shape) between 0 and 1, I(high, shape) integers, B(shape) bool; L(layer, *inputs) runs a layer
whose parameters are set to known numbers."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

FLOATS = ("float32", "float64")
REDUCTIONS = ("'mean'", "'sum'", "'none'", "'x'")
SPATIAL = {1: "7", 2: "7, 6", 3: "5, 6, 4"}
FORMATS = {1: ("NCL", "NLC"), 2: ("NCHW", "NHWC"), 3: ("NCDHW", "NDHWC")}


def shape(n: int, channels: int, layout: str) -> str:
    return f"2, {channels}, {SPATIAL[n]}" if layout.startswith("NC") else f"2, {SPATIAL[n]}, {channels}"


def convolutions() -> Iterator[str]:
    for n in (1, 2, 3):
        k = ", ".join(["3", "2", "3"][:n])
        full = "[[0, 0], [0, 0], " + ", ".join(["[1, 2]", "[0, 1]", "[1, 1]"][:n]) + "]"
        last = "[[0, 0], " + ", ".join(["[1, 2]", "[0, 1]", "[1, 1]"][:n]) + ", [0, 0]]"
        paddings = ["0", "1", str([1, 2, 0][:n]), str([1, 2, 0, 1, 1, 0][: 2 * n]), "'SAME'", "'VALID'", "'same'", full]
        paddings += ["-1", "[1]", "[1, 2, 3, 4, 5]", "'full'", "None", last]
        for layout, padding in product(FORMATS[n], paddings):
            x = shape(n, 4, layout)
            yield f"F.conv{n}d(A({x}), A(6, 4, {k}), A(6), padding={padding}, data_format='{layout}')"
            yield f"F.conv{n}d_transpose(A({x}), A(4, 6, {k}), A(6), padding={padding}, data_format='{layout}')"
        for stride, dilation, groups in product(("1", "2", str([2, 1, 2][:n])), ("1", "2"), (1, 2)):
            s = f"stride={stride}, padding=1, dilation={dilation}, groups={groups}"
            yield f"F.conv{n}d(A({shape(n, 4, 'NC')}), A(6, {4 // groups}, {k}), None, {s})"
            yield f"F.conv{n}d_transpose(A({shape(n, 4, 'NC')}), A(4, {6 // groups}, {k}), None, {s})"
            yield f"F.conv{n}d_transpose(A({shape(n, 4, 'NC')}), A(4, {6 // groups}, {k}), A(6), {s}, output_padding={int(stride == '2')})"
        for size in ("None", "15", str([15, 14, 11][:n]), str([14, 13, 10][:n]), "[2]", "100"):
            yield f"F.conv{n}d_transpose(A({shape(n, 4, 'NC')}), A(4, 6, {k}), stride=2, output_size={size})"
        for bad in (
            f"A({shape(n, 4, 'NC')}), A(6, 3, {k})",
            f"A({shape(n, 4, 'NC')}), A(6, 4, {k}), A(5)",
            f"A({shape(n, 4, 'NC')}), A(6, 4, {k}), groups=3",
            f"A({shape(n, 4, 'NC')}), A(6, 4, {k}), stride=0",
            f"A({shape(n, 4, 'NC')}), A(6, 4, {k}), dilation=0",
            f"A({shape(n, 4, 'NC')}), A(6, 4, {k}), data_format='x'",
            f"A(4, {SPATIAL[n]}), A(6, 4, {k})",
            f"A(2, 4{', 1' * n}), A(6, 4, {k})",
            f"A(0, 4, {SPATIAL[n]}), A(6, 4, {k})",
        ):
            yield f"F.conv{n}d({bad})"
            yield f"F.conv{n}d_transpose({bad.replace('A(6, 4', 'A(4, 6').replace('A(6, 3', 'A(3, 6')})"


def pooling() -> Iterator[str]:
    for n in (1, 2, 3):
        kernels = ("2", "3", str([3, 2, 2][:n]))
        paddings = ["0", "1", str([1, 0, 1][:n]), str([1, 0, 0, 1, 1, 1][: 2 * n]), "'SAME'", "'VALID'", "5", "'x'"]
        for kernel, stride, padding, ceil in product(kernels, ("None", "2", "1"), paddings, (False, True)):
            s = f"A({shape(n, 3, 'NC')}), {kernel}, {stride}, {padding}, ceil_mode={ceil}"
            yield f"F.max_pool{n}d({s})"
            yield f"F.avg_pool{n}d({s})"
            yield f"F.avg_pool{n}d({s}, exclusive=False)"
            if "'" not in padding and kernel != "2":
                yield f"F.max_pool{n}d({s}, return_mask=True)"
        last = FORMATS[n][1]
        x = f"A({shape(n, 3, last)})"
        if n > 1:
            for ceil in (False, True):
                yield f"F.max_pool{n}d({x}, 3, 2, 1, ceil_mode={ceil}, data_format='{last}')"
                yield f"F.avg_pool{n}d({x}, 3, 2, 1, ceil_mode={ceil}, data_format='{last}')"
                yield f"F.avg_pool{n}d(A({shape(n, 3, 'NC')}), 3, 2, 1, {ceil}, divisor_override=2)"
        for size in ("1", "3", "7", str([2, 3, 2][:n]), str([None, 3, 2][:n]), "None", "0", "-1", "[1, 2, 3, 4]"):
            x = f"A({shape(n, 3, 'NC')})"
            yield f"F.adaptive_avg_pool{n}d({x}, {size})"
            yield f"F.adaptive_max_pool{n}d({x}, {size})"
            yield f"F.adaptive_max_pool{n}d({x}, {size}, return_mask=True)"
            if n > 1:
                yield f"F.adaptive_avg_pool{n}d(A({shape(n, 3, last)}), {size}, data_format='{last}')"
        for p in ("2", "1", "3.0", "float('inf')", "0", "-1"):
            if n < 3:
                yield f"F.lp_pool{n}d(A({shape(n, 3, 'NC')}), {p}, 2)"
                yield f"F.lp_pool{n}d(A({shape(n, 3, 'NC')}), {p}, 3, 2, 1, True)"
        for k, s, p, size in (("2", "None", "0", "None"), ("3", "2", "1", "None"), ("2", "2", "0", str([7, 7, 5][:n]))):
            pooled = f"F.max_pool{n}d(A(1, 2, {SPATIAL[n]}), {k}, {s}, {p}, return_mask=True)"
            yield f"F.max_unpool{n}d(*{pooled}, {k}, {s}, {p}, output_size={size})"
        for bad in ("0", "-1", "[1, 2, 3, 4]", "100"):
            yield f"F.max_pool{n}d(A({shape(n, 3, 'NC')}), {bad})"
            yield f"F.avg_pool{n}d(A({shape(n, 3, 'NC')}), {bad})"
        yield f"F.max_pool{n}d(A(3, {SPATIAL[n]}), 2)"
        yield f"F.avg_pool{n}d(A(3), 2)"
    for u in ("0.1", "0.5", "0.9"):
        for size, kernel in (("3", "None"), ("[3, 4]", "2"), ("5", "[2, 1]")):
            yield f"F.fractional_max_pool2d(A(1, 2, 9, 8), {size}, {kernel}, random_u={u}, return_mask=True)"
            if size != "[3, 4]":
                yield f"F.fractional_max_pool3d(A(1, 2, 9, 8, 7), {size}, random_u={u})"


def normalization() -> Iterator[str]:
    for x, layout in (
        ("4, 3", "NC"),
        ("4, 3, 5", "NCL"),
        ("2, 3, 4, 5", "NCHW"),
        ("2, 4, 5, 3", "NHWC"),
        ("2, 3, 2, 3, 2", "NCDHW"),
    ):
        for training, affine, stats in product((True, False), ("A(3), A(3)", "None, None"), ("None", "True", "False")):
            yield f"[m := A(3), v := P(3), F.batch_norm(A({x}), m.detach(), v.detach(), {affine}, {training}, 0.8, data_format='{layout}', use_global_stats={stats})]"
        yield f"stats(lambda m, v: F.batch_norm(A({x}), m, v, training=True, momentum=0.7, data_format='{layout}'), 3)"
        c = {"NHWC": 5}.get(layout, 3)
        yield f"F.instance_norm(A({x}), weight=A({c if layout != 'NHWC' else 4}), bias=A({c if layout != 'NHWC' else 4}))"
        yield f"F.instance_norm(A({x}), eps=1e-2)"
    for s in ("[5]", "[4, 5]", "5", "[3, 4, 5]", "[4]", "[]"):
        yield f"F.layer_norm(A(2, 3, 4, 5), {s})"
        yield f"F.layer_norm(A(2, 3, 4, 5), {s}, A(5), A(5))"
    yield "F.layer_norm(A(2, 3, 4), [3, 4], A(12), A(12), 1e-3)"
    yield "F.layer_norm(A(2, 3, 4), [3, 4], A(3, 4), A(3, 4), 1e-3)"
    yield "F.layer_norm(A(2, 3), [3], A(3), None)"
    for g, layout in product((1, 2, 3, 4, 6, 0), ("NCHW", "NHWC")):
        yield f"F.group_norm(A({'2, 6, 3, 4' if layout == 'NCHW' else '2, 3, 4, 6'}), {g}, 1e-3, A(6), A(6), data_format='{layout}')"
    yield "F.group_norm(A(2, 6), 3)"
    yield "F.group_norm(A(2, 6, 4), 3, data_format='NCL')"
    for size, layout in product((1, 2, 3, 5), ("NCHW", "NHWC")):
        yield f"F.local_response_norm(A(2, 6, 5, 5), {size}, 0.1, 0.7, 2.0, data_format='{layout}')"
    yield "F.local_response_norm(A(2, 6, 5), 3, data_format='NCL')"
    yield "F.local_response_norm(A(2, 6), 3)"
    for p, axis in product((1, 2, 3, 0.5, 0), (0, 1, -1, 3)):
        yield f"F.normalize(A(3, 4), {p}, {axis})"
    yield "F.rms_norm(A(2, 3, 4), [4], A(4))"
    for x in ("A(2, 3)", "A(3)", "A(2, 4, 5, 5)"):
        yield f"F.batch_norm({x}, A(3).detach(), P(3).detach(), training=True)"
        yield f"F.instance_norm({x})"
        yield f"F.group_norm({x}, 2)"


def losses() -> Iterator[str]:
    pair = "A(4, 3), A(4, 3)"
    for r in REDUCTIONS:
        yield from (
            f"F.mse_loss({pair}, {r})",
            f"F.l1_loss({pair}, {r})",
            f"F.smooth_l1_loss({pair}, {r})",
            f"F.smooth_l1_loss({pair}, {r}, 0.3)",
            f"F.smooth_l1_loss({pair}, {r}, 2.0, is_huber=False)",
            f"F.kl_div(A(4, 3), U(4, 3), {r})",
            f"F.kl_div(A(4, 3), A(4, 3), {r}, log_target=True)",
            f"F.soft_margin_loss(A(4, 3), S(4, 3), {r})",
            f"F.margin_ranking_loss(A(4), A(4), S(4), 0.2, {r})",
            f"F.hinge_embedding_loss(A(4, 3), S(4, 3), 1.3, {r})",
            f"F.cosine_embedding_loss(A(4, 3), A(4, 3), S(4), 0.1, {r})",
            f"F.binary_cross_entropy(U(4, 3), U(4, 3), None, {r})",
            f"F.binary_cross_entropy(U(4, 3), U(4, 3), P(3), {r})",
            f"F.binary_cross_entropy_with_logits(A(4, 3), U(4, 3), P(3), {r}, P(3))",
            f"F.nll_loss(A(4, 3), I(3, 4), None, -100, {r})",
            f"F.nll_loss(A(4, 3), I(3, 4), P(3), 1, {r})",
            f"F.nll_loss(A(2, 3, 4, 5), I(3, 2, 4, 5), P(3), 2, {r})",
            f"F.poisson_nll_loss(A(4, 3), P(4, 3), reduction={r})",
            f"F.poisson_nll_loss(P(4, 3), P(4, 3), False, True, 1e-3, {r})",
            f"F.gaussian_nll_loss(A(4, 3), A(4, 3), P(4, 3), True, 1e-6, {r})",
            f"F.gaussian_nll_loss(A(4, 3), A(4, 3), P(4, 1), reduction={r})",
            f"F.multi_label_soft_margin_loss(A(4, 3), one(4, 3), P(3), {r})",
            f"F.multi_margin_loss(A(4, 3), I(3, 4), reduction={r})",
            f"F.multi_margin_loss(A(4, 3), I(3, 4), 2, 0.5, P(3), {r})",
            f"F.multi_margin_loss(A(4, 3), I(3, 4), 3, reduction={r})",
            f"F.triplet_margin_loss(A(4, 3), A(4, 3), A(4, 3), reduction={r})",
            f"F.triplet_margin_loss(A(4, 3), A(4, 3), A(4, 3), 2.0, 1.0, swap=True, reduction={r})",
            f"F.triplet_margin_with_distance_loss(A(4, 3), A(4, 3), A(4, 3), swap=True, reduction={r})",
            f"F.sigmoid_focal_loss(A(4, 3), one(4, 3), reduction={r})",
            f"F.sigmoid_focal_loss(A(4, 3), one(4, 3), paddle.to_tensor([2.0], dtype=dt), 0.3, 1.5, {r})",
            f"F.ctc_loss(A(6, 2, 5), (I(4, 2, 3) + 1).astype('int32'), t([6, 5]), t([3, 2]), 0, {r})",
            f"F.ctc_loss(A(6, 2, 5), I(4, 2, 3).astype('int32'), t([6, 5]), t([3, 2]), 4, {r}, norm_by_times=True)",
            f"F.rnnt_loss(A(2, 4, 3, 5), (I(4, 2, 2) + 1).astype('int32'), t([4, 3], 'int32'), t([2, 1], 'int32'), 0, 0.0, {r})",
            f"F.multi_label_margin_loss(A(4, 3), I(3, 4, 3), {r})"
            if False
            else f"F.huber_loss({pair}, {r})"
            if False
            else f"F.l1_loss({pair}, reduction={r})",
        )
        for axis, soft, ignore, weight, smooth in product(
            (-1, 1), (False, True), (-100, 1), ("None", "P(3)"), (0.0, 0.1)
        ):
            x, label = ("A(4, 3)", "I(3, 4)") if axis == -1 else ("A(2, 3, 4)", "I(3, 2, 4)")
            if soft:
                label = "F.softmax(A(4, 3).detach())" if axis == -1 else "F.softmax(A(2, 3, 4).detach(), 1)"
            yield f"F.cross_entropy({x}, {label}, {weight}, {ignore}, {r}, {soft}, {axis}, label_smoothing={smooth})"
        yield f"F.cross_entropy(U(4, 3), I(3, 4), None, -100, {r}, use_softmax=False)"
        yield f"F.cross_entropy(A(4, 3), I(3, 4, 1), P(3), 2, {r})"
        yield f"F.cross_entropy(A(2, 3, 4, 5), I(3, 2, 4, 5), P(3), 0, {r}, axis=1)"
        yield f"F.cross_entropy(A(2, 4, 5, 3), I(3, 2, 4, 5, 1), P(3), 0, {r})"
    yield from (
        "F.softmax_with_cross_entropy(A(4, 3), I(3, 4, 1))",
        "F.softmax_with_cross_entropy(A(4, 3), F.softmax(A(4, 3).detach()), True)",
        "F.softmax_with_cross_entropy(A(4, 3), I(3, 4, 1), ignore_index=1, return_softmax=True)",
        "F.softmax_with_cross_entropy(A(4, 3, 2), I(3, 4, 1, 2), axis=1)",
        "F.square_error_cost(A(4, 3), A(4, 3))",
        "F.log_loss(U(4, 1), U(4, 1))",
        "F.log_loss(U(4, 1), U(4, 1), 1e-2)",
        "F.dice_loss(F.softmax(A(4, 3)), I(3, 4, 1))",
        "F.npair_loss(A(4, 3), A(4, 3), t([0., 1., 0., 2.]))",
        "F.hsigmoid_loss(A(4, 3), I(5, 4), 5, A(4, 3), A(4))",
        "F.hsigmoid_loss(A(4, 3), I(5, 4), 5, A(4, 3))",
        "F.hsigmoid_loss(A(2, 3), I(5, 2), 5, A(5, 3), None, t([[0, 2, -1], [1, 3, 4]]), t([[0, 1, -1], [1, 0, 1]]))",
        "F.margin_cross_entropy(F.normalize(A(4, 3)), I(3, 4), 1.0, 0.5, 0.0, 8.0, return_softmax=True, reduction=None)",
        "F.margin_cross_entropy(F.normalize(A(4, 3)), I(3, 4), 1.1, 0.3, 0.2, 4.0)",
        "F.adaptive_log_softmax_with_loss(A(4, 6), I(10, 4), A(6, 4), [[A(6, 3), A(3, 3)], [A(6, 2), A(2, 5)]], [2, 5, 10], A(4))",
        "F.adaptive_log_softmax_with_loss(A(4, 6), I(10, 4), A(6, 5), [[A(6, 3), A(3, 3)], [A(6, 2), A(2, 4)]], [3, 6, 10])",
    )
    for name in (
        "mse_loss",
        "l1_loss",
        "smooth_l1_loss",
        "kl_div",
        "binary_cross_entropy",
        "soft_margin_loss",
        "cross_entropy",
        "nll_loss",
        "binary_cross_entropy_with_logits",
        "multi_margin_loss",
        "poisson_nll_loss",
        "square_error_cost",
        "sigmoid_focal_loss",
    ):
        for args in (
            "A(4, 3), A(4, 2)",
            "A(4, 3), A(4, 3, 1)",
            "A(4, 3), I(9, 4)",
            "A(4, 3), I(3, 5)",
            "A(0, 3), A(0, 3)",
            "A(4, 3), A(4)",
            "A(), A()",
            "A(4, 3), A(3)",
            "A(4, 3), None",
        ):
            yield f"F.{name}({args})"
    for ignore in (-100, 255, -1, 0):
        yield f"F.cross_entropy(A(4, 3), t([0, {ignore}, 2, 1]), ignore_index={ignore})"
        yield f"F.cross_entropy(A(2, 3), t([{ignore}, {ignore}]), ignore_index={ignore})"
        yield f"F.nll_loss(A(4, 3), t([0, {ignore}, 2, 1]), ignore_index={ignore})"


def vision() -> Iterator[str]:
    for n, modes in (
        (1, ("nearest", "linear", "area")),
        (2, ("nearest", "bilinear", "bicubic", "area")),
        (3, ("nearest", "trilinear", "area")),
    ):
        sizes = [
            f"size={s}"
            for s in (str([9, 4, 6][:n]), str([3, 11, 2][:n]), str([7, 6, 5][:n]), "5", "0", "[1, 2, 3, 4]", "-1")
        ]
        sizes += [f"scale_factor={s}" for s in ("2", "0.5", "1.7", str([0.4, 2.3, 1.5][:n]), "0", "[2]")]
        for mode, size, align, align_mode in product(modes, sizes, (False, True), (0, 1)):
            if align_mode and "linear" not in mode:
                continue
            yield f"F.interpolate(A(2, 2, {SPATIAL[n]}), {size}, mode='{mode}', align_corners={align}, align_mode={align_mode})"
        last = FORMATS[n][1]
        for mode, size in product(modes, sizes[:1]):
            yield f"F.interpolate(A({shape(n, 2, last)}), {size}, mode='{mode}', data_format='{last}')"
    yield "F.interpolate(A(2, 2, 4, 4))"
    yield "F.interpolate(A(2, 2, 4, 4), size=[3, 3], scale_factor=2)"
    yield "F.interpolate(A(2, 2, 4, 4), size=[3, 3], mode='x')"
    yield "F.interpolate(A(2, 2, 4, 4), size=[3, 3], mode='trilinear')"
    yield "F.interpolate(A(2, 2, 4), size=[3], mode='bilinear')"
    yield "F.interpolate(A(2, 2, 4, 4), scale_factor=1.3, mode='bilinear', recompute_scale_factor=True)"
    yield "F.upsample(A(2, 2, 4, 4), scale_factor=2, mode='bilinear')"
    for mode, pad, align in product(
        ("bilinear", "nearest", "x"), ("zeros", "border", "reflection", "x"), (True, False)
    ):
        yield f"F.grid_sample(A(2, 3, 4, 5), A(2, 3, 2, 2), '{mode}', '{pad}', {align})"
        yield f"F.grid_sample(A(2, 3, 4, 5), A(2, 3, 2, 2) * 3, '{mode}', '{pad}', {align})"
        yield f"F.grid_sample(A(1, 2, 3, 4, 5), A(1, 2, 3, 2, 3), '{mode}', '{pad}', {align})"
    for align in (True, False):
        yield f"F.affine_grid(A(2, 2, 3), [2, 3, 4, 5], {align})"
        yield f"F.affine_grid(A(2, 3, 4), [2, 3, 2, 4, 5], {align})"
    for n, pads in ((1, "[1, 2]"), (2, "[1, 2, 2, 1]"), (3, "[1, 2, 2, 1, 1, 0]")):
        for mode, layout in product(("constant", "reflect", "replicate", "circular", "x"), FORMATS[n]):
            yield f"F.pad(A({shape(n, 2, layout)}), {pads}, '{mode}', 0.5, '{layout}')"
        yield f"F.pad(A({shape(n, 2, 'NC')}), [-1, -2] + [0] * {2 * n - 2})"
        yield f"F.pad(A({shape(n, 2, 'NC')}), [9, 9] + [0] * {2 * n - 2}, 'reflect')"
    yield from (
        "F.pad(A(2, 3), [1, 2, 0, 1])",
        "F.pad(A(2, 3), [1, 2])",
        "F.pad(A(2, 3), 1)",
        "F.pad(A(2, 3, 4), [1, 1, 0, 2, 3, 0], pad_from_left_axis=False)",
        "F.pad(A(2, 3, 4), [1, 1, 0, 2, 3, 0], value=2.0)",
        "F.pad(A(2, 2, 3, 4), t([1, 0, 2, 1]))",
        "F.zeropad2d(A(2, 2, 3, 4), [1, 2, 0, 1])",
        "F.zeropad2d(A(2, 3, 4, 2), 1, 'NHWC')",
        "F.pad(A(2, 3), [1])",
        "F.pad(A(2, 3), [1, 2, 3])",
        "F.pad(I(5, 2, 3), [1, 1, 1, 1])",
    )
    for k, s, p, d in (
        ("2", 1, "0", 1),
        ("[3, 2]", 2, "1", 1),
        ("2", 1, "[1, 0]", 2),
        ("3", 2, "[1, 2, 0, 1]", 1),
        ("9", 1, "0", 1),
        ("2", 0, "0", 1),
    ):
        yield f"F.unfold(A(2, 3, 7, 6), {k}, {s}, {p}, {d})"
    for size, k, s, p, length in (
        ("[4, 5]", "2", 1, "0", 12),
        ("[4, 4]", "2", 2, "0", 4),
        ("[5, 5]", "3", 2, "1", 9),
        ("[4, 5]", "2", 1, "0", 11),
    ):
        yield f"F.fold(A(2, {3 * (9 if k == '3' else 4)}, {length}), {size}, {k}, {s}, {p})"
    for r in (1, 2, 3):
        for layout in ("NCHW", "NHWC", "x"):
            x = "2, 4, 4, 6" if layout != "NHWC" else "2, 4, 6, 4"
            yield f"F.pixel_shuffle(A({x}), {r}, '{layout}')"
            yield f"F.pixel_unshuffle(A({x}), {r}, '{layout}')"
            yield f"F.channel_shuffle(A({x}), {r}, '{layout}')"
    for layout in ("NCHW", "NHWC"):
        yield f"F.temporal_shift(A(4, 8, 3, 2), 2, 0.25, data_format='{layout}')"
    yield "F.temporal_shift(A(4, 8, 3, 2), 3)"
    yield "F.temporal_shift(A(4, 8, 3, 2), 2, 0.6)"


ACTIVATIONS = """relu relu6 elu celu selu gelu hardshrink hardsigmoid hardswish hardtanh leaky_relu log_sigmoid mish silu sigmoid softplus
softshrink softsign swish tanh tanhshrink thresholded_relu softmax log_softmax""".split()


def activations() -> Iterator[str]:
    for name in ACTIVATIONS:
        for x in ("A(2, 3)", "A()", "A(0, 3)", "I(5, 2, 3)", "B(2, 3)", "special()", "A(2, 3) * 30"):
            yield f"F.{name}({x})"
    settings = {
        "elu": ("0.3", "-0.5"), "celu": ("0.3", "0"), "selu": ("1.2, 0.5", "0.5, 1.0", "1.5, -1"), "gelu": ("True",), "hardshrink": ("0.2", "-0.2"),
        "hardsigmoid": ("0.2, 0.3",), "hardtanh": ("-0.3, 0.7", "1, -1"), "leaky_relu": ("0.3", "-0.1"), "softplus": ("2, 0.5", "0.5, 1"),
        "softshrink": ("0.2", "-0.2"), "thresholded_relu": ("0.2", "-1.0, 5.0", "0.3, 2.0"), "softmax": ("0", "1", "-2", "2", "0, 'float64'", "-1, 'float16'"),
        "log_softmax": ("0", "1", "-2", "2", "0, 'float64'"),
    }  # fmt: skip
    for name, options in settings.items():
        for option in options:
            yield f"F.{name}(A(2, 3), {option})"
    for axis in (0, 1, -1, 2):
        yield f"F.glu(A(4, 6), {axis})"
        yield f"F.maxout(A(2, 4, 3, 4), 2, {axis})"
    yield from (
        "F.maxout(A(2, 4, 3, 4), 3)",
        "F.prelu(A(2, 3, 4), A(1))",
        "F.prelu(A(2, 3, 4), A(3))",
        "F.prelu(A(2, 4, 3), A(3), 'NLC')",
        "F.prelu(A(2, 3, 4), A(4))",
        "F.prelu(A(2, 3, 4), A(2))",
        "F.prelu(A(3), A(1))",
        "F.rrelu(A(2, 3), 0.1, 0.3, training=False)",
        "F.rrelu(A(2, 3), 0.5, 0.3)",
        "F.rrelu(A(2, 3), -1, 0.3)",
        "F.swiglu(A(2, 6))",
        "F.swiglu(A(2, 6), A(2, 6))",
        "F.swiglu(A(2, 5))",
        "F.glu(A(4, 5))",
        "F.gumbel_softmax(A(2, 3), -1.0)",
        "F.gumbel_softmax(A(2, 3), 1.0, axis=4)",
    )


def common() -> Iterator[str]:
    yield from (
        "F.linear(A(2, 3), A(3, 4), A(4))", "F.linear(A(2, 5, 3), A(3, 4))", "F.linear(A(3), A(3, 4), A(4))", "F.linear(A(2, 3), A(4, 4))", "F.linear(A(2, 3), A(3, 4), A(3))",
        "F.linear(A(0, 3), A(3, 4), A(4))", "F.linear(A(2, 3), A(3, 4), A(1))", "F.bilinear(A(2, 3), A(2, 4), A(5, 3, 4), A(1, 5))", "F.bilinear(A(2, 3), A(2, 4), A(5, 3, 3))",
        "F.embedding(I(5, 2, 3), A(5, 4))", "F.embedding(I(5, 2, 3), A(5, 4), padding_idx=2)", "F.embedding(I(5, 2, 3), A(5, 4), padding_idx=-1)", "F.embedding(I(9, 2), A(5, 4))",
        "F.embedding(I(5, 2), A(5, 4), max_norm=1.0)", "F.embedding(I(5, 2, 3), A(5, 4), scale_grad_by_freq=True)", "F.embedding(t(3), A(5, 4))", "F.embedding(I(5, 0), A(5, 4))",
        "F.embedding(A(2), A(5, 4))", "F.embedding(I(5, 2), A(5, 4), padding_idx=5)", "F.embedding(I(5, 2).astype('int32'), A(5, 4))",
        "F.one_hot(I(5, 2, 3), 5)", "F.one_hot(t(3), 5)", "F.one_hot(I(9, 3), 5)", "F.one_hot(I(5, 3), 0)", "F.one_hot(A(3), 5)", "F.one_hot(I(5, 3), -1)",
        "F.label_smooth(one(4, 3))", "F.label_smooth(one(4, 3), epsilon=0.3)", "F.label_smooth(one(4, 3), U(1, 3), 0.2)", "F.label_smooth(one(4, 3), epsilon=1.5)",
        "F.cosine_similarity(A(3, 4), A(3, 4))", "F.cosine_similarity(A(3, 4), A(3, 4), 0, 1e-2)", "F.cosine_similarity(A(3, 4), A(4))", "F.cosine_similarity(A(2, 3, 4), A(2, 1, 4), -1)",
        "F.pairwise_distance(A(3, 4), A(3, 4))", "F.pairwise_distance(A(3, 4), A(3, 4), 1.0, 1e-3, True)", "F.pairwise_distance(A(3, 4), A(4), float('inf'))", "F.pairwise_distance(A(3, 4), A(3, 4), 0)",
        "F.pdist(A(4, 3))", "F.pdist(A(4, 3), 1.0)", "F.pdist(A(4, 3), float('inf'))", "F.pdist(A(1, 3))", "F.pdist(A(4))",
        "F.sequence_mask(t([1, 3, 2]))", "F.sequence_mask(t([1, 3, 2]), 5, 'float32')", "F.sequence_mask(t([[1], [3]]), 2)", "F.sequence_mask(t([1, 3]), 0)",
        "F.diag_embed(A(2, 3))", "F.diag_embed(A(2, 3), -1, 0, 2)", "F.diag_embed(A(2, 3), 1, 1, 1)",
        "F.gather_tree(I(5, 3, 2, 2), I(2, 3, 2, 2))", "F.class_center_sample(I(5, 4), 5, 5)",
        "F.dropout(A(2, 3), 0.3, training=False)", "F.dropout(A(2, 3), 0.3, training=False, mode='downscale_in_infer')", "F.dropout(A(2, 3), 0.0)", "F.dropout(A(2, 3), 1.0)",
        "F.dropout(A(2, 3), 0.5, axis=3)", "F.dropout(A(2, 3), -0.1)", "F.dropout(A(2, 3), 2)", "F.dropout2d(A(2, 3, 4, 4), 0.5, False)", "F.dropout2d(A(2, 3), 0.5)", "F.dropout3d(A(2, 3, 4, 4), 0.5)",
        "F.dropout3d(A(2, 3, 2, 2, 2), 0.0)", "F.alpha_dropout(A(2, 3), 0.5, False)", "F.alpha_dropout(A(2, 3), 1.0)", "F.alpha_dropout(A(2, 3), 1.5)", "F.feature_alpha_dropout(A(2, 3, 4), 0.5, False)",
    )  # fmt: skip


def attention() -> Iterator[str]:
    q, k = "A(2, 4, 2, 8)", "A(2, 5, 2, 8), A(2, 5, 2, 8)"
    for mask in ("None", "A(2, 2, 4, 5)", "A(1, 1, 4, 5)", "B(2, 2, 4, 5)", "A(4, 5)", "B(2, 1, 1, 5)"):
        yield f"F.scaled_dot_product_attention({q}, {k}, {mask})"
    yield from (
        "F.scaled_dot_product_attention(A(2, 4, 2, 8), A(2, 4, 2, 8), A(2, 4, 2, 8), is_causal=True)",
        f"F.scaled_dot_product_attention({q}, {k}, is_causal=True)",
        f"F.scaled_dot_product_attention({q}, {k}, scale=0.3)",
        "F.scaled_dot_product_attention(A(4, 2, 8), A(5, 2, 8), A(5, 2, 8))",
        "F.scaled_dot_product_attention(A(2, 4, 4, 8), A(2, 5, 2, 8), A(2, 5, 2, 8))",
        "F.scaled_dot_product_attention(A(2, 4, 2, 8), A(2, 5, 2, 7), A(2, 5, 2, 8))",
        "F.scaled_dot_product_attention(A(4, 8), A(5, 8), A(5, 8))",
        "F.softmax_mask_fuse(A(1), A(1))"
        if False
        else "paddle.incubate.softmax_mask_fuse(A(1, 2, 4, 4), A(1, 1, 4, 4))",
        "paddle.incubate.softmax_mask_fuse_upper_triangle(A(1, 2, 4, 4))",
    )
    IF = "paddle.incubate.nn.functional"
    yield from (
        f"{IF}.fused_linear(A(2, 3), A(3, 4), A(4))", f"{IF}.fused_linear(A(2, 3), A(4, 3), A(4), True)", f"{IF}.fused_matmul_bias(A(2, 3), A(3, 4), A(4), False, False)",
        f"{IF}.fused_bias_dropout_residual_layer_norm(A(2, 3, 4), A(2, 3, 4), A(4), A(4), A(4), 0.0)",
        f"{IF}.fused_feedforward(A(2, 3, 4), A(4, 6), A(6, 4), A(6), A(4), dropout1_rate=0.0, dropout2_rate=0.0, ln2_scale=A(4), ln2_bias=A(4))",
        f"{IF}.fused_feedforward(A(2, 3, 4), A(4, 6), A(6, 4), A(6), A(4), A(4), A(4), dropout1_rate=0.0, dropout2_rate=0.0, pre_layer_norm=True, activation='gelu')",
        f"{IF}.fused_rotary_position_embedding(A(2, 3, 2, 4), A(2, 3, 2, 4))", f"{IF}.fused_rms_norm(A(2, 4), A(4), None, 1e-5, 1)", f"{IF}.fused_layer_norm(A(2, 4), A(4), A(4), 1e-5)",
        f"{IF}.swiglu(A(2, 6))", f"{IF}.fused_dropout_add(A(2, 3), A(2, 3), 0.0)", f"{IF}.fused_linear_activation(A(2, 3), A(3, 4), A(4), activation='relu')",
    )  # fmt: skip


def recurrent() -> Iterator[str]:
    for name, direction, layers, major in product(
        ("SimpleRNN", "LSTM", "GRU"), ("forward", "bidirect"), (1, 2), (False, True)
    ):
        x = "A(3, 5, 4)" if not major else "A(5, 3, 4)"
        make = f"nn.{name}(4, 3, {layers}, '{direction}', {major})"
        n = layers * (2 if direction == "bidirect" else 1)
        state = f"(A({n}, 3, 3), A({n}, 3, 3))" if name == "LSTM" else f"A({n}, 3, 3)"
        yield f"L({make}, {x})"
        yield f"L({make}, {x}, {state})"
        yield f"L({make}, {x}, None, t([5, 2, 3]))"
        yield f"L({make}, {x}, {state}, t([1, 5, 4]))"
    yield from (
        "L(nn.SimpleRNN(4, 3, activation='relu'), A(3, 5, 4))", "L(nn.LSTM(4, 6, proj_size=3), A(3, 5, 4))", "L(nn.LSTM(4, 3), A(3, 5, 5))", "L(nn.GRU(4, 3), A(3, 4))",
        "L(nn.SimpleRNNCell(4, 3), A(2, 4))", "L(nn.SimpleRNNCell(4, 3, 'relu'), A(2, 4), A(2, 3))", "L(nn.LSTMCell(4, 3), A(2, 4))", "L(nn.LSTMCell(4, 3), A(2, 4), (A(2, 3), A(2, 3)))",
        "L(nn.GRUCell(4, 3), A(2, 4), A(2, 3))", "L(nn.LSTMCell(4, 6, proj_size=3), A(2, 4))", "L(nn.RNN(nn.GRUCell(4, 3), is_reverse=True), A(2, 5, 4))",
        "L(nn.BiRNN(nn.LSTMCell(4, 3), nn.LSTMCell(4, 3)), A(2, 5, 4))", "L(nn.RNN(nn.LSTMCell(4, 3)), A(2, 5, 4), None, t([3, 5]))", "nn.LSTM(4, 3, direction='x')", "nn.GRUCell(4, 0)", "nn.SimpleRNNCell(4, 3, 'x')",
    )  # fmt: skip


def transformers() -> Iterator[str]:
    for args in ("", "A(2, 5, 8)", "A(2, 5, 8), A(2, 5, 8), A(2, 1, 4, 5)"):
        if args:
            yield f"L(nn.MultiHeadAttention(8, 2), A(2, 4, 8), {args if args.count('(') > 1 else args + ', ' + args})"
    yield from (
        "L(nn.MultiHeadAttention(8, 2), A(2, 4, 8))", "L(nn.MultiHeadAttention(8, 2, need_weights=True), A(2, 4, 8))", "L(nn.MultiHeadAttention(8, 2, kdim=6, vdim=4), A(2, 4, 8), A(2, 5, 6), A(2, 5, 4))",
        "L(nn.MultiHeadAttention(8, 2), A(2, 4, 8), None, None, B(2, 1, 4, 4))", "nn.MultiHeadAttention(8, 3)", "nn.MultiHeadAttention(0, 1)",
        "L(nn.TransformerEncoderLayer(8, 2, 16, 0.0), A(2, 4, 8))", "L(nn.TransformerEncoderLayer(8, 2, 16, 0.0, 'gelu', normalize_before=True), A(2, 4, 8), A(2, 1, 4, 4))",
        "L(nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, 0.0), 2, nn.LayerNorm(8)), A(2, 4, 8))",
        "L(nn.TransformerDecoderLayer(8, 2, 16, 0.0), A(2, 4, 8), A(2, 5, 8))", "L(nn.TransformerDecoderLayer(8, 2, 16, 0.0, normalize_before=True), A(2, 4, 8), A(2, 5, 8), A(2, 1, 4, 4), A(2, 1, 4, 5))",
        "L(nn.Transformer(8, 2, 1, 1, 16, 0.0), A(2, 4, 8), A(2, 5, 8))", "nn.Transformer.generate_square_subsequent_mask(nn.Transformer(8, 2, 1, 1, 16), 4)", "L(nn.TransformerEncoderLayer(8, 2, 16, 0.0), A(2, 4, 7))",
    )  # fmt: skip


LAYERS = {
    "Linear(4, 3)": "A(2, 4)", "Linear(4, 3, bias_attr=False)": "A(2, 4)", "Bilinear(3, 4, 5)": "A(2, 3), A(2, 4)", "Embedding(5, 3)": "I(5, 2)", "Embedding(5, 3, padding_idx=0)": "I(5, 2)",
    "Conv1D(4, 6, 3)": "A(2, 4, 7)", "Conv2D(4, 6, 3, 2, 1, groups=2)": "A(2, 4, 7, 6)", "Conv2D(4, 6, [3, 2], padding='SAME', bias_attr=False)": "A(2, 4, 7, 6)", "Conv3D(2, 4, 2)": "A(1, 2, 4, 4, 4)",
    "Conv2D(4, 6, 3, padding=1, padding_mode='reflect')": "A(2, 4, 7, 6)", "Conv2D(4, 6, 3, padding=2, padding_mode='circular')": "A(2, 4, 7, 6)", "Conv2D(4, 6, 3, padding=[1, 2], padding_mode='replicate')": "A(2, 4, 7, 6)",
    "Conv1DTranspose(4, 6, 3, 2)": "A(2, 4, 7)", "Conv2DTranspose(4, 6, 3, 2, 1, 1)": "A(2, 4, 5, 5)", "Conv3DTranspose(2, 4, 2, 2)": "A(1, 2, 3, 3, 3)", "Conv2D(4, 6, 3, data_format='NHWC')": "A(2, 7, 6, 4)",
    "BatchNorm1D(3)": "A(4, 3)", "BatchNorm1D(3, data_format='NLC')": "A(4, 5, 3)", "BatchNorm2D(3, 0.8, 1e-3)": "A(2, 3, 4, 4)", "BatchNorm2D(3, use_global_stats=True)": "A(2, 3, 4, 4)",
    "BatchNorm3D(3)": "A(2, 3, 2, 2, 2)", "BatchNorm(3, act='relu')": "A(2, 3, 4, 4)", "SyncBatchNorm(3)": "A(2, 3, 4, 4)", "BatchNorm2D(3, weight_attr=False, bias_attr=False)": "A(2, 3, 4, 4)", "BatchNorm2D(4)": "A(2, 3, 4, 4)",
    "LayerNorm(4)": "A(2, 3, 4)", "LayerNorm([3, 4], 1e-3)": "A(2, 3, 4)", "LayerNorm(4, weight_attr=False)": "A(2, 3, 4)", "LayerNorm(4, bias_attr=False)": "A(2, 3, 4)", "LayerNorm(5)": "A(2, 3, 4)",
    "GroupNorm(2, 4)": "A(2, 4, 3)", "GroupNorm(3, 4)": "A(2, 4, 3)", "InstanceNorm1D(3)": "A(2, 3, 5)", "InstanceNorm2D(3)": "A(2, 3, 4, 5)", "InstanceNorm3D(3)": "A(2, 3, 2, 3, 4)", "InstanceNorm2D(3, weight_attr=False, bias_attr=False)": "A(2, 3, 4, 5)",
    "LocalResponseNorm(3)": "A(2, 5, 4, 4)", "RMSNorm(4)": "A(2, 4)", "RMSNorm([3, 4])": "A(2, 3, 4)", "PReLU()": "A(2, 3)", "PReLU(3, 0.1)": "A(2, 3, 4)", "RReLU()": None, "Maxout(2)": "A(2, 4, 3, 3)", "GLU()": "A(2, 4)", "Softmax2D()": "A(2, 3, 4, 4)", "Swish()": "A(2)",
    "MaxPool1D(2)": "A(2, 3, 6)", "MaxPool2D(2, 2, return_mask=True)": "A(2, 3, 6, 6)", "MaxPool3D(2)": "A(1, 2, 4, 4, 4)", "AvgPool1D(2)": "A(2, 3, 6)", "AvgPool2D(3, 2, 1, exclusive=False)": "A(2, 3, 6, 6)", "AvgPool3D(2)": "A(1, 2, 4, 4, 4)",
    "AdaptiveAvgPool1D(2)": "A(2, 3, 6)", "AdaptiveAvgPool2D([2, None])": "A(2, 3, 6, 6)", "AdaptiveAvgPool3D(2)": "A(1, 2, 4, 4, 4)", "AdaptiveMaxPool1D(2)": "A(2, 3, 6)", "AdaptiveMaxPool2D(3, True)": "A(2, 3, 6, 6)", "AdaptiveMaxPool3D(2)": "A(1, 2, 4, 4, 4)",
    "LPPool1D(2, 3)": "A(2, 3, 6)", "LPPool2D(2, 3)": "A(2, 3, 6, 6)", "FractionalMaxPool2D(3, random_u=0.3)": "A(1, 2, 7, 7)", "FractionalMaxPool3D(3, random_u=0.3)": "A(1, 2, 7, 7, 7)",
    "Pad1D(1)": "A(2, 3, 4)", "Pad2D([1, 2, 0, 1], 'reflect')": "A(2, 3, 4, 4)", "Pad3D(1, 'replicate')": "A(1, 2, 3, 3, 3)", "ZeroPad2D(1)": "A(1, 2, 3, 3)", "ZeroPad1D(1)": "A(1, 2, 3)", "ZeroPad3D(1)": "A(1, 2, 3, 3, 3)",
    "PixelShuffle(2)": "A(1, 4, 3, 3)", "PixelUnshuffle(2)": "A(1, 2, 4, 4)", "ChannelShuffle(2)": "A(1, 4, 3, 3)", "Upsample(scale_factor=2)": "A(1, 2, 3, 3)", "UpsamplingBilinear2D([5, 5])": "A(1, 2, 3, 3)", "UpsamplingNearest2D(scale_factor=2)": "A(1, 2, 3, 3)",
    "Fold([4, 5], 2)": "A(2, 12, 12)", "Unfold(2)": "A(2, 3, 4, 4)", "Flatten()": "A(2, 3, 4)", "Flatten(0, 1)": "A(2, 3, 4)", "Unflatten(1, [3, 2])": "A(2, 6)", "Identity()": "A(2)", "CosineSimilarity(1)": "A(2, 3), A(2, 3)", "PairwiseDistance()": "A(2, 3), A(2, 3)",
    "Dropout(0.0)": "A(2, 3)", "Dropout(0.5)": None, "Dropout2D(0.3)": None, "Dropout3D(0.3)": None, "AlphaDropout(0.3)": None, "FeatureAlphaDropout(0.3)": None, "MaxUnPool2D(2)": None, "MaxUnPool1D(2)": None, "MaxUnPool3D(2)": None,
    "SpectralNorm([4, 3], power_iters=2)": "A(4, 3)", "HSigmoidLoss(3, 5)": "A(2, 3), I(5, 2)", "AdaptiveLogSoftmaxWithLoss(6, 10, [2, 5])": None, "CrossEntropyLoss(P(3), 1)": "A(4, 3), I(3, 4)", "CrossEntropyLoss(soft_label=True)": "A(4, 3), U(4, 3)",
    "NLLLoss()": "A(4, 3), I(3, 4)", "BCELoss()": "U(4, 3), U(4, 3)", "BCEWithLogitsLoss(pos_weight=P(3))": "A(4, 3), U(4, 3)", "KLDivLoss('batchmean')": "A(4, 3), U(4, 3)", "SmoothL1Loss(delta=0.5)": "A(4, 3), A(4, 3)", "MarginRankingLoss(0.1)": "A(4), A(4), S(4)",
    "CTCLoss()": "A(6, 2, 5), (I(4, 2, 3) + 1).astype('int32'), t([6, 5]), t([3, 2])", "RNNTLoss()": None, "HingeEmbeddingLoss()": "A(4), S(4)", "CosineEmbeddingLoss()": "A(4, 3), A(4, 3), S(4)", "TripletMarginLoss()": "A(4, 3), A(4, 3), A(4, 3)", "SoftMarginLoss()": "A(4), S(4)",
    "MultiLabelSoftMarginLoss()": "A(4, 3), one(4, 3)", "MultiMarginLoss()": "A(4, 3), I(3, 4)", "GaussianNLLLoss()": "A(4), A(4), P(4)", "PoissonNLLLoss()": "A(4), P(4)", "TripletMarginWithDistanceLoss()": "A(4, 3), A(4, 3), A(4, 3)", "L1Loss('sum')": "A(3), A(3)", "MSELoss('none')": "A(3), A(3)",
    "Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 2))": "A(2, 4)", "LayerList([nn.Linear(2, 2), nn.ReLU()])": None, "LayerDict({'a': nn.Linear(2, 2)})": None, "ParameterList([])": None,
    "LSTM(4, 3)": None, "GRUCell(4, 3)": None, "SimpleRNN(4, 3, 2, 'bidirect')": None, "MultiHeadAttention(8, 2)": None, "TransformerEncoderLayer(8, 2, 16)": None, "Transformer(8, 2, 1, 1, 16)": None,
}  # fmt: skip


def layers() -> Iterator[str]:
    for make, inputs in LAYERS.items():
        yield f"repr(nn.{make})"
        yield f"[(k, list(v.shape), str(v.dtype)[-7:]) for k, v in nn.{make}.state_dict().items()]"
        if inputs:
            yield f"L(nn.{make}, {inputs})"
            yield f"E(nn.{make}, {inputs})"
    for name in ("CELU", "ELU", "GELU", "Hardshrink", "Hardsigmoid", "Hardswish", "Hardtanh", "LeakyReLU", "LogSigmoid", "LogSoftmax", "Mish", "ReLU", "ReLU6", "SELU", "Sigmoid", "Silu",
                 "Softmax", "Softplus", "Softshrink", "Softsign", "Tanh", "Tanhshrink", "ThresholdedReLU"):  # fmt: skip
        yield f"repr(nn.{name}())"
        yield f"L(nn.{name}(), A(2, 3))"


FAMILIES = {
    f.__name__: f
    for f in (
        convolutions,
        pooling,
        normalization,
        losses,
        vision,
        activations,
        common,
        attention,
        recurrent,
        transformers,
        layers,
    )
}


def calls(family: str = "") -> Iterator[tuple[str, str]]:
    """(expression, type of the floating inputs)."""
    for name, function in FAMILIES.items():
        if family not in name:
            continue
        for number, expression in enumerate(function()):
            yield expression, "float32"
            if (
                "repr" in expression
                or "state_dict" in expression
                or name == "recurrent"
                or name == "pooling"
                and number % 6
            ):
                continue
            yield expression, "float64"
            if name in ("activations", "common", "losses", "normalization"):
                yield expression, "float16"
