import numpy as np
import pytest
from PIL import Image

import paddle
from paddle.utils.plot import Ploter, plot_run


def pixels(path, colour):
    picture = np.asarray(Image.open(path).convert("RGB"))
    return np.argwhere((picture == colour).all(-1))


def size(path):
    with Image.open(path) as picture:
        return picture.size


BLUE, RED = (31, 119, 180), (214, 39, 40)


def test_curves_are_drawn_where_they_belong(tmp_path):
    p = Ploter("falling", "flat")
    for step in range(50):
        p.append("falling", step, 1.0 - step / 49)
        p.append("flat", step, paddle.to_tensor(0.0))
    p.plot(str(tmp_path / "new" / "a.png"))
    blue, red = pixels(tmp_path / "new" / "a.png", BLUE), pixels(tmp_path / "new" / "a.png", RED)
    blue = blue[blue[:, 1] < 430]  # not the legend
    left, right = blue[blue[:, 1].argmin()], blue[blue[:, 1].argmax()]
    assert left[0] < right[0] - 150  # the picture's rows count from the top
    red = red[red[:, 1] < 430]
    assert np.ptp(red[:, 0]) <= 2 and abs(red[:, 0].mean() - blue[:, 0].max()) < 15
    p.reset()
    p.plot(str(tmp_path / "empty.png"))
    assert not [c for c in pixels(tmp_path / "empty.png", BLUE) if c[1] < 430]
    with pytest.raises(ValueError):
        p.append("other", 0, 0)
    with pytest.raises(TypeError):
        p.append("flat", 0, [1, 2])


@pytest.mark.parametrize(
    "values",
    [[], [1.0], [float("nan")], [float("inf"), 2.0], [3.0, 3.0], [1e-300, 1e300], [-5, 0, 5e-9], [-1e308, 1e308]],
)
def test_odd_curves(tmp_path, values):
    p = Ploter("a")
    for i, v in enumerate(values):
        p.append("a", i, v)
    p.plot(str(tmp_path / "a.png"))


def test_a_run(tmp_path):
    with paddle.visual_log.LogWriter(tmp_path / "run") as w:
        for i in range(20):
            w.add_scalar("train/loss", (-1.0) ** i, i)
            w.add_scalar("train/acc", i / 20, i)
    plot_run(str(tmp_path / "run"), str(tmp_path / "both.png"))
    assert size(tmp_path / "both.png") == (960, 320)
    plot_run(str(tmp_path / "run"), str(tmp_path / "one.png"), ["train/loss"])
    plot_run(str(tmp_path / "run"), str(tmp_path / "smooth.png"), ["train/loss"], smooth=0.9)
    assert size(tmp_path / "one.png") == (480, 320)
    with pytest.raises(ValueError):
        plot_run(str(tmp_path / "run"), str(tmp_path / "x.png"), ["nothing"])
    with pytest.raises(ValueError):
        plot_run(str(tmp_path / "run"), str(tmp_path / "x.png"), smooth=1.0)
