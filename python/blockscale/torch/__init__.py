# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs of PyTorch as modules of the dialect, and back as callables.

    import blockscale.torch

    program = torch.export.export(model, (x,))       # torchao quantized the model
    imported = blockscale.torch.from_export(program)
    print(imported.module)                           # MLIR
    y = imported.compile()(x)

Needs torch, and torchao for weights that it quantized: `pip install blockscale[torch]`.
docs/Torch.md of the project says which ops there are.
"""

from importlib import import_module as _import_module

try:
    _import_module("torch")
except ImportError as error:
    raise ImportError("expected torch to be installed for blockscale.torch; "
                      "pip install torch torchao") from error

from typing import Any as _Any

from blockscale._errors import UnsupportedError
from blockscale.torch._calibrate import calibrate
from blockscale.torch._checkpoint import load_quantized_
from blockscale.torch._cuda import synchronize
from blockscale.torch._fake_quantize import fake_quantize
from blockscale.torch._gated_modules import TrainedGatedMlp
from blockscale.torch._gated_ops import train_gated_mlp
from blockscale.torch._mark import mark_state_dict
from blockscale.torch._modules import QuantizedExperts, QuantizedLinear, QuantizedStack
from blockscale.torch._plain_linear import OrderedLinear, order_linear_
from blockscale.torch._program import Function, Imported, from_export, from_graph
from blockscale.torch._qat import FakeQuantizedLinear, convert_qat_, prepare_qat_
from blockscale.torch._quantize_model import quantize_
from blockscale.torch._ranks import reduce_over_ranks
from blockscale.torch._refit import refit_
from blockscale.torch._summary import LayerSummary, Summary
from blockscale.torch._training import TrainedExperts, prepare_training_
from blockscale.torch._training_layers import TrainedLinear
from blockscale.torch._training_ops import draw_rng, train_grouped_linear, train_linear

# They have no names for users but those of torch.ops.blockscale, and what peft finds.
_import_module("blockscale.torch._gradients")
_import_module("blockscale.torch._lora")
_import_module("blockscale.torch._rows")

__all__ = ["FakeQuantizedLinear", "Function", "Imported", "LayerSummary", "OrderedLinear",
           "QuantizedExperts", "QuantizedLinear", "QuantizedStack", "Summary", "TrainedExperts",
           "TrainedGatedMlp", "TrainedLinear", "UnsupportedError", "calibrate", "convert_qat_",
           "draw_rng", "explain", "fake_quantize", "from_export", "from_graph", "load_quantized_",
           "mark_state_dict", "order_linear_", "prepare_qat_", "prepare_training_", "quantize_",
           "reduce_over_ranks", "refit_", "synchronize", "train_gated_mlp",
           "train_grouped_linear", "train_linear"]


def __getattr__(name: str) -> _Any:
    # What compiles graphs needs parts of torch that take long to import.
    if name == "explain":
        from blockscale.torch._backend import explain
        return explain
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
