"""How tensors print, under the official module path."""

from ..engine.printing import set_printoptions
from ..engine.printing import tensor_text as to_string
