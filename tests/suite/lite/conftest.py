"""A saved model and its `.nb` file, for all tests of paddlelite."""

import numpy as np
import pytest

import paddle
from paddle import nn
from paddle.static import InputSpec


class Saved:
    """A network of two inputs and two outputs, its files, and the formula in NumPy."""

    def __init__(self, folder):
        import paddlelite as lite

        paddle.seed(3)

        class Net(nn.Layer):
            def __init__(self):
                super().__init__()
                self.first, self.second = nn.Linear(16, 32), nn.Linear(32, 4)

            def forward(self, x, ids):
                hidden = nn.functional.relu(self.first(x))
                return self.second(hidden), ids + 1

        net = Net()
        net.eval()
        self.weights = [p.numpy() for p in net.parameters()]
        self.folder = folder
        specs = [InputSpec([None, 16], "float32", "x"), InputSpec([None], "int64", "ids")]
        paddle.jit.save(net, str(folder / "model"), input_spec=specs)
        self.model, self.params = str(folder / "model.pdmodel"), str(folder / "model.pdiparams")
        self.nb = self.optimised(lite, "model")

    def optimised(self, lite, name, target="x86", change=lambda opt: None):
        opt = lite.Opt()
        opt.set_model_file(self.model)
        opt.set_param_file(self.params)
        opt.set_valid_places(target)
        opt.set_optimize_out(str(self.folder / name))
        change(opt)
        return opt.run()

    def __call__(self, x):
        w1, b1, w2, b2 = self.weights
        return np.maximum(x @ w1 + b1, 0) @ w2 + b2


@pytest.fixture(scope="session")
def saved(tmp_path_factory):
    return Saved(tmp_path_factory.mktemp("lite"))


@pytest.fixture
def predictor(saved):
    import paddlelite as lite

    config = lite.MobileConfig()
    config.set_model_from_file(saved.nb)
    return lite.create_predictor(config)
