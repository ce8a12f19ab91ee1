"""Boxes: anchors, decoding, suppression, pooling of regions. They are the functions of paddle.vision.ops."""

from __future__ import annotations

from paddle.vision import ops

from .call import Call, translates, wants


@translates("yolo_box")
def yolo_box(op):
    boxes, scores = ops.yolo_box(
        op["X"], op["ImgSize"], op.attr("anchors", []), op.attr("class_num", 1), op.attr("conf_thresh", 0.01),
        op.attr("downsample_ratio", 32), bool(op.attr("clip_bbox", True)), scale_x_y=op.attr("scale_x_y", 1.0),
        iou_aware=bool(op.attr("iou_aware", False)), iou_aware_factor=op.attr("iou_aware_factor", 0.5),
    )  # fmt: skip
    return {"Boxes": boxes, "Scores": scores}


@translates("prior_box")
def prior_box(op):
    boxes, variances = ops.prior_box(
        op["Input"], op["Image"], op.attr("min_sizes"), op.attr("max_sizes", []) or None, op.attr("aspect_ratios", [1.0]),
        op.attr("variances", [0.1, 0.1, 0.2, 0.2]), bool(op.attr("flip", True)), bool(op.attr("clip", True)),
        [op.attr("step_w", 0.0), op.attr("step_h", 0.0)], op.attr("offset", 0.5),
        bool(op.attr("min_max_aspect_ratios_order", False)),
    )  # fmt: skip
    return {"Boxes": boxes, "Variances": variances}


@translates("box_coder")
def box_coder(op):
    variance = op["PriorBoxVar"] if op.has("PriorBoxVar") else op.attr("variance", []) or None
    out = ops.box_coder(
        op["PriorBox"], variance, op["TargetBox"], op.attr("code_type", "encode_center_size"),
        bool(op.attr("box_normalized", True)), axis=op.attr("axis", 0),
    )  # fmt: skip
    return {"OutputBox": out}


def _regions(op: Call) -> tuple:
    return op["X"], op["ROIs"], op["RoisNum"]


@translates("roi_align")
def roi_align(op):
    return ops.roi_align(
        *_regions(op), (op.attr("pooled_height", 1), op.attr("pooled_width", 1)), op.attr("spatial_scale", 1.0),
        op.attr("sampling_ratio", -1), bool(op.attr("aligned", False)),
    )  # fmt: skip


@translates("roi_pool")
def roi_pool(op):
    size = (op.attr("pooled_height", 1), op.attr("pooled_width", 1))
    return ops.roi_pool(*_regions(op), size, op.attr("spatial_scale", 1.0))


@translates("psroi_pool")
def psroi_pool(op):
    size = (op.attr("pooled_height", 1), op.attr("pooled_width", 1))
    return ops.psroi_pool(*_regions(op), size, op.attr("spatial_scale", 1.0))


@translates("matrix_nms")
def matrix_nms(op):
    out, counts, index = ops.matrix_nms(
        op["BBoxes"], op["Scores"], op.attr("score_threshold"), op.attr("post_threshold", 0.0), op.attr("nms_top_k"),
        op.attr("keep_top_k"), bool(op.attr("use_gaussian", False)), op.attr("gaussian_sigma", 2.0),
        op.attr("background_label", 0), bool(op.attr("normalized", True)), return_index=True,
    )  # fmt: skip
    return {"Out": out, "Index": index, "RoisNum": counts}


@translates("distribute_fpn_proposals")
def distribute_fpn_proposals(op):
    levels, order, counts = ops.distribute_fpn_proposals(
        op["FpnRois"], op.attr("min_level"), op.attr("max_level"), op.attr("refer_level"), op.attr("refer_scale"),
        bool(op.attr("pixel_offset", True)), op.get("RoisNum"),
    )  # fmt: skip
    return {"MultiFpnRois": levels, "RestoreIndex": order, "MultiLevelRoIsNum": counts}


@translates("generate_proposals_v2")
def generate_proposals_v2(op):
    rois, scores, counts = ops.generate_proposals(
        op["Scores"], op["BboxDeltas"], op["ImShape"], op["Anchors"], op["Variances"], op.attr("pre_nms_topN"),
        op.attr("post_nms_topN"), op.attr("nms_thresh"), op.attr("min_size"), op.attr("eta"),
        bool(op.attr("pixel_offset", True)), return_rois_num=wants(op, "RpnRoisNum"),
    )  # fmt: skip
    return {"RpnRois": rois, "RpnRoiProbs": scores, "RpnRoisNum": counts}
