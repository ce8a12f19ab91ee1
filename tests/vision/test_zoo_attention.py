"""Networks with attention: keys and shapes of PaddleClas and timm, results of one small network of each kind."""

import json

import numpy as np
import pytest
from vision import zoo_paddleclas, zoo_timm

import paddle
from paddle.vision import create_model

from _check import sampled

PADDLECLAS = json.loads(zoo_paddleclas.TABLE.read_text())
TIMM = json.loads(zoo_timm.TABLE.read_text())
# one of each kind runs; the scripts compare all of `RUNS`
KINDS = (
    "cae_base_patch16_224 CLIP_vit_base_patch16_224 CSWinTransformer_tiny_224 CvT_13_224 DSNet_tiny MobileViT_XXS"
    " MobileViTV2_x0_5 MobileViTV3_XXS_L2 NextViT_small_224 SVTR_tiny SwinTransformerV2_tiny_patch4_window8_256"
    " PVT_V2_B2_Linear pcpvt_small alt_gvt_small UniFormer_base_ls VAN_B0 cait_xxs24_224 deit3_small_patch16_224 efficientformer_l1"
    " focalnet_huge_fl3 poolformer_s12 caformer_s18 xcit_tiny_12_p8_224"
).split()
PVT = {"pvt_tiny": 13229288, "pvt_small": 24485864, "pvt_medium": 44208104, "pvt_large": 61369320}


def test_every_name_is_compared():
    attention = zoo_paddleclas.ATTENTION
    assert list(PADDLECLAS)[: len(attention)] == attention and list(TIMM) == zoo_timm.NAMES
    assert {*zoo_paddleclas.RUNS, *zoo_paddleclas.CONVOLUTIONS} <= set(PADDLECLAS) and set(zoo_timm.RUNS) <= set(TIMM)


@pytest.mark.parametrize("name", sorted({*zoo_paddleclas.ATTENTION[::4], *(set(KINDS) & set(PADDLECLAS))}))
def test_keys_and_shapes_are_those_of_paddleclas(name):
    model, want = zoo_paddleclas.ours(paddle, name), PADDLECLAS[name]
    assert zoo_paddleclas.structure(model) == want["structure"] and zoo_paddleclas.trainable(model) == want["trainable"]


@pytest.mark.parametrize("name", sorted({*zoo_timm.NAMES[::6], *(set(KINDS) & set(TIMM))}))
def test_keys_and_shapes_are_those_of_timm(name):
    assert zoo_timm.structure(zoo_paddleclas.ours(paddle, name)) == TIMM[name]["structure"]


@pytest.mark.parametrize("name", sampled(KINDS))
@pytest.mark.slow
def test_results_are_those_of_the_original(name):
    size, options = (zoo_paddleclas.RUNS if name in PADDLECLAS else zoo_timm.RUNS)[name][:2]
    got = zoo_paddleclas.run(paddle, zoo_paddleclas.ours(paddle, name, num_classes=7, **options), name, size)
    assert zoo_paddleclas.gap(name, got, {**PADDLECLAS, **TIMM}[name]["output"]) < 1e-4


@pytest.mark.parametrize("name", PVT)
def test_pyramid_vision_transformer(name):
    with paddle.LazyGuard():
        model = create_model(name)
    assert sum(np.prod(p.shape) for p in model.parameters()) == PVT[name]


def test_pyramid_vision_transformer_runs():
    model = create_model("pvt_tiny", num_classes=5, img_size=64)
    assert model(paddle.rand([1, 3, 64, 64])).shape == [1, 5]


def test_a_picture_that_does_not_fit_is_an_error():
    with pytest.raises(ValueError, match="img_size, 64 gives stage 3 an edge of 4, which stripes of 7"):
        create_model("cswin_transformer_tiny_224", img_size=64)
    with pytest.raises(ValueError, match="img_size, 60 gives stage 1"):
        create_model("swin_transformer_v2_tiny_patch4_window8_256", img_size=60)
    with pytest.raises(ValueError, match="a picture of 16x16 patches, which windows of 7 do not fill"):
        create_model("alt_gvt_small", num_classes=2)(paddle.zeros([1, 3, 64, 64]))
    with pytest.raises(ValueError, match=r"got a picture of \[16, 40\], of img_size \[48, 320\]"):
        create_model("svtr_tiny", num_classes=2)(paddle.zeros([1, 3, 16, 40]))


def test_tokens_in_the_space_of_texts():
    model = create_model("clip_vit_base_patch32_224", img_size=64, depth=1)
    assert model.embed(paddle.rand([1, 3, 64, 64])).shape == [1, 5, 512]
