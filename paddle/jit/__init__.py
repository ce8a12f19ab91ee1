"""From imperative code to programs, and programs in files."""

from ..ir.buckets import Buckets
from . import marker
from .options import ignore_module, not_to_static, set_code_level, set_verbosity
from .saving import TranslatedLayer, json_to_pdmodel, load, save
from .stablehlo import export_stablehlo
from .static_function import enable_to_static, graph_breaks, to_static
