"""Losses between a teacher and a student, on tensors of layers and of programs alike."""

from __future__ import annotations

from typing import Any

import paddle
import paddle.nn.functional as F


def _fixed(teacher: Any) -> Any:
    return teacher.detach()


def l2_loss(teacher: Any, student: Any) -> Any:
    """The mean squared difference."""
    return F.mse_loss(student, _fixed(teacher))


def l1_loss(teacher: Any, student: Any) -> Any:
    """The mean difference."""
    return F.l1_loss(student, _fixed(teacher))


def smooth_l1_loss(teacher: Any, student: Any) -> Any:
    """The Huber loss."""
    return F.smooth_l1_loss(student, _fixed(teacher))


def soft_label_loss(
    teacher: Any, student: Any, teacher_temperature: float = 1.0, student_temperature: float = 1.0
) -> Any:
    """The cross entropy of softened distributions (Hinton et al., "Distilling the Knowledge in a Neural Network", 2015)."""
    target = F.softmax(_fixed(teacher) / teacher_temperature)
    return -(target * F.log_softmax(student / student_temperature)).sum(-1).mean()


def kl_loss(teacher: Any, student: Any, temperature: float = 1.0) -> Any:
    """The divergence of softened distributions, a mean over rows, times the square of the temperature."""
    target = F.softmax(_fixed(teacher) / temperature)
    return F.kl_div(F.log_softmax(student / temperature), target, reduction="batchmean") * temperature**2


def fsp_matrix(x: Any, y: Any) -> Any:
    """[N, C1, H, W] and [N, C2, H, W] to [N, C1, C2]: the products of channels, means over places."""
    places = x.shape[2] * x.shape[3]
    return paddle.matmul(x.flatten(2), y.flatten(2), transpose_y=True) / places


def fsp_loss(teacher1: Any, teacher2: Any, student1: Any, student2: Any) -> Any:
    """The squared difference of how two features of a network relate (Yim et al., "A Gift from Knowledge Distillation",
    2017)."""
    return F.mse_loss(fsp_matrix(student1, student2), _fixed(fsp_matrix(teacher1, teacher2)))


def dkd_loss(teacher: Any, student: Any, temperature: float = 1.0, alpha: float = 1.0, beta: float = 1.0) -> Any:
    """The divergence of "the teacher's class or not", and the one among the other classes, with weights of their own (Zhao
    et al., "Decoupled Knowledge Distillation", 2022)."""
    teacher, student = _fixed(teacher) / temperature, student / temperature
    mask = F.one_hot(teacher.argmax(-1), teacher.shape[-1])
    parts = []
    for logits in (teacher, student):
        log_all = F.log_softmax(logits)
        log_top = (log_all * mask).sum(-1, keepdim=True)
        log_rest = F.log_softmax(logits - 1e4 * mask)
        share = log_top.exp().clip(1e-7, 1 - 1e-7)
        parts.append((share, log_rest))
    (p, rest_t), (q, rest_s) = parts
    target = (p * (p / q).log() + (1 - p) * ((1 - p) / (1 - q)).log()).sum(-1)
    others = (rest_t.exp() * (rest_t - rest_s) * (1 - mask)).sum(-1)
    return (alpha * target + beta * others).mean() * temperature**2


def skd_loss(teacher: Any, student: Any, multiplier: float | None = None) -> Any:
    """The cross entropy of logits that are brought to mean 0 and the same length (Guo et al., "Reducing the Teacher-Student
    Gap via Spherical Knowledge Distillation", 2020)."""
    teacher = _fixed(teacher)
    length = teacher.std(1, keepdim=True) if multiplier is None else multiplier

    def spherical(x: Any) -> Any:
        return F.layer_norm(x, x.shape[1:], epsilon=1e-7) * length

    return soft_label_loss(spherical(teacher), spherical(student))


def relation_distances(teacher: Any, student: Any) -> Any:
    """How far samples lie apart, relative to the mean (Park et al., "Relational Knowledge Distillation", 2019)."""

    def distances(x: Any) -> Any:
        x = x.reshape([x.shape[0], -1])
        squares = ((x.unsqueeze(0) - x.unsqueeze(1)) ** 2).sum(-1)
        apart = (squares + 1e-12).sqrt() * (1 - paddle.eye(x.shape[0]))
        return apart / (apart.sum() / (x.shape[0] * (x.shape[0] - 1)))

    return F.smooth_l1_loss(distances(student), _fixed(distances(teacher)))
