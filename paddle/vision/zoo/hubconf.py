"""The library for `paddle.hub`: every network is a function of this module."""

from functools import partial as _partial

from paddle.vision.zoo import create_model as _create_model
from paddle.vision.zoo import list_models as _list_models

dependencies = ["paddle"]
globals().update({_name: _partial(_create_model, _name) for _name in _list_models()})
