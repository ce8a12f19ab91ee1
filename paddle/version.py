"""Versions. `full_version` is the official API level with ours as a local tag, since packages compare it; `xla` is ours."""

xla = "0.1.0"
major, minor, patch, rc = "3", "3", "1", 0
full_version = f"{major}.{minor}.{patch}+xla.{xla}"
commit = "unknown"
is_tagged = True
istaged = is_tagged
with_mkl = "OFF"
with_pip_cuda_libraries = "OFF"
cuda_version = "False"
cudnn_version = "False"
hip = "False"
xpu_xre_version = xpu_version = xpu_xccl_version = xpu_xhpc_version = nccl_version = tensorrt_version = "False"
with_hml = "OFF"

__all__ = ["cuda", "cudnn", "nccl", "show", "xpu", "xpu_xre", "xpu_xccl", "xpu_xhpc", "tensorrt", "cuda_archs"]


def show() -> None:
    """Print the versions: the official API level, ours, and that of the engine.

    Example:
        >>> paddle.version.show()  # doctest: +ELLIPSIS
        full_version: 3.3.1...
    """
    import jax

    print(f"full_version: {full_version}\npaddle-xla: {xla}\njax: {jax.__version__}")


def cuda() -> str:
    """The CUDA version of a build with CUDA; "False", since the engine brings its own."""
    return cuda_version


def cudnn() -> str:
    return cudnn_version


def nccl() -> str:
    return nccl_version


def xpu() -> str:
    return xpu_version


def xpu_xre() -> str:
    return xpu_xre_version


def xpu_xccl() -> str:
    return xpu_xccl_version


def xpu_xhpc() -> str:
    return xpu_xhpc_version


def tensorrt() -> str:
    return tensorrt_version


def cuda_archs() -> list[int]:
    return []


def mkl() -> str:
    return with_mkl


def hml() -> str:
    return with_hml


def cinn() -> bool:
    return False
