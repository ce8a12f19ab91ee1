"""Parameter servers: processes that hold embedding tables and dense parameters for workers that train.

Programs use them through `paddle.distributed.fleet`; these are the parts.
"""

from .client import Client, GeoClient
from .server import Server
from .tables import DenseTable, SparseTable
from .transport import TCP, Local, Ray, serve

__all__ = ["TCP", "Client", "DenseTable", "GeoClient", "Local", "Ray", "Server", "SparseTable", "serve"]
