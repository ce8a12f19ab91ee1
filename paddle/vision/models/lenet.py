"""LeNet (LeCun et al., "Gradient-based learning applied to document recognition", 1998), the official variant."""

from __future__ import annotations

from typing import Any

from ... import nn

__all__ = ["LeNet"]


class LeNet(nn.Layer):
    """Two convolutions with max pooling and three linear layers, for pictures [N, 1, 28, 28].

    Args:
        num_classes: outputs; 0 leaves out the linear layers, and the result is the features [N, 16, 5, 5].

    Example:
        >>> paddle.vision.models.LeNet()(paddle.zeros([2, 1, 28, 28])).shape
        [2, 10]
    """

    def __init__(self, num_classes: int = 10):
        super().__init__()
        self.num_classes = num_classes
        self.features = nn.Sequential(
            nn.Conv2D(1, 6, 3, stride=1, padding=1),
            nn.ReLU(),
            nn.MaxPool2D(2, 2),
            nn.Conv2D(6, 16, 5, stride=1, padding=0),
            nn.ReLU(),
            nn.MaxPool2D(2, 2),
        )
        if num_classes > 0:
            self.fc = nn.Sequential(nn.Linear(400, 120), nn.Linear(120, 84), nn.Linear(84, num_classes))

    def forward(self, inputs: Any) -> Any:
        x = self.features(inputs)
        return self.fc(x.flatten(1)) if self.num_classes > 0 else x
