# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How a linear layer is quantized in training: a form for both operands of its three products.

With x [M, K], a weight [N, K] and the gradient of y [M, N], these are

    forward  y  = x weight^T                 sums along K
    dgrad    dx = gradient weight            sums along N
    wgrad    dw = gradient^T x               sums along M
"""

from __future__ import annotations

import dataclasses
import functools
import json
from collections.abc import Callable, Mapping
from typing import Any

from blockscale._errors import ArgumentError, CompileError
from blockscale._forms import OperandForm
from blockscale._jit import jit
from blockscale._ops import FORMATS, hadamard, quantize
from blockscale._types import Spec

#: The signs of the Hadamard transform that TransformerEngine has.
SIGN_MASK = 0xD7E8
#: Neighbours that it mixes.
SEGMENT = 16
_SCALINGS = ("none", "dynamic")


@dataclasses.dataclass(frozen=True)
class TrainingOperand:
    """How an operand of a product is quantized. Its blocks lie along the dimension that the product
    sums, or are squares.

    Attributes:
      format: "nvfp4", "mxfp8", "mxfp8_e5m2", "mxfp6_e2m3", "mxfp6_e3m2", "mxfp4" or "mxint8".
      recipe: the rounding (docs/Spec.md, section 2); None for the format's default.
      is_square: whether blocks are [B, B], so that the operand and its transpose have one set of
        codes.
      scaling: of NVFP4's global scale: "none", or "dynamic" by the amax of what is quantized.
      sign_mask: the signs of a Hadamard transform along the summed dimension before (docs/Spec.md,
        hadamard); None for no transform.
      is_stochastic: whether E2M1 codes are rounded stochastically.
    """

    format: str
    recipe: str | None = None
    is_square: bool = False
    scaling: str = "none"
    sign_mask: int | None = None
    is_stochastic: bool = False

    def __post_init__(self) -> None:
        for what, value, known in (("format", self.format, FORMATS),
                                   ("scaling", self.scaling, _SCALINGS)):
            if value not in known:
                raise ArgumentError(f"expected {what} of an operand to be one of "
                                    f"{', '.join(known)}, but got {value!r}")
        if self.scaling != "none" and self.format != "nvfp4":
            raise ArgumentError("expected scaling 'none' but of nvfp4, but got "
                                f"{self.scaling!r} of {self.format}")
        if self.sign_mask is not None and not isinstance(self.sign_mask, int):
            raise ArgumentError(f"expected sign_mask to be 16 bits or None, but got "
                                f"{self.sign_mask!r}")
        _verify(self)

    @property
    def form(self) -> OperandForm:
        return OperandForm(self.format, self.recipe, self.scaling)

    @property
    def block(self) -> int:
        """The elements of a block along the summed dimension."""
        return FORMATS[self.format][2]

    def describe(self) -> str:
        """As "nvfp4 te, 16x16"."""
        text = f"{self.format} {self.form.resolved_recipe}"
        text += f", {self.block}x{self.block}" if self.is_square else ""
        text += ", transformed" if self.sign_mask is not None else ""
        return text + (", stochastic" if self.is_stochastic else "")


@functools.cache
def _verify(operand: TrainingOperand) -> None:
    """Has the dialect judge an operand: its rules are those of `quantize` and `hadamard`."""
    size = operand.block

    def judge(x: Any, rng: Any) -> Any:
        if operand.sign_mask is not None:
            x = hadamard(x, 1, sign_mask=operand.sign_mask)
        return quantize(x, format=operand.format, recipe=operand.recipe,
                        block=(size, size) if operand.is_square else (1, size),
                        rng=rng if operand.is_stochastic else None)
    try:
        jit(judge).trace(Spec((None, None), "bf16"), Spec((2,), "i64"))
    except CompileError as error:
        texts = "; ".join(each.message for each in error.diagnostics) or str(error)
        raise ArgumentError(f"expected an operand that the dialect quantizes, but got "
                            f"{operand.format}, recipe {operand.recipe}: {texts}") from error


#: The products of a layer and their operands, as fields of a form.
PRODUCTS = {"forward": ("forward_input", "forward_weight"),
            "dgrad": ("dgrad_gradient", "dgrad_weight"),
            "wgrad": ("wgrad_gradient", "wgrad_input")}
#: The operands whose products sum along rows of their tensors. Their codes are transposed.
TRANSPOSED = ("dgrad_weight", "wgrad_gradient", "wgrad_input")


@dataclasses.dataclass(frozen=True)
class TrainingForm:
    """How a linear layer is quantized in training: the operands of its three products, the first of
    which is x or the gradient of y."""

    forward_input: TrainingOperand
    forward_weight: TrainingOperand
    dgrad_gradient: TrainingOperand
    dgrad_weight: TrainingOperand
    wgrad_gradient: TrainingOperand
    wgrad_input: TrainingOperand
    #: The form as one line, which read_form() reads.
    text: str = dataclasses.field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        for product, names in PRODUCTS.items():
            operands = [getattr(self, name) for name in names]
            for name, operand in zip(names, operands):
                if not isinstance(operand, TrainingOperand):
                    raise ArgumentError(f"expected {name} to be a TrainingOperand, but got "
                                        f"{type(operand).__name__}")
            for what in ("format", "sign_mask"):
                a, b = (getattr(operand, what) for operand in operands)
                if a != b:
                    raise ArgumentError(f"expected operands of {product} of one {what}, but got "
                                        f"{a!r} of {names[0]} and {b!r} of {names[1]}")
        object.__setattr__(self, "text", json.dumps(
            {name: dataclasses.asdict(each) for name, each in self.operands.items()},
            separators=(",", ":")))

    @property
    def operands(self) -> dict[str, TrainingOperand]:
        return {name: getattr(self, name) for names in PRODUCTS.values() for name in names}

    @property
    def stochastic(self) -> tuple[str, ...]:
        """The operands that take random bits, each its own."""
        return tuple(name for name, each in self.operands.items() if each.is_stochastic)

    @property
    def dynamic(self) -> tuple[str, ...]:
        """The operands with global scales by their amaxes."""
        return tuple(name for name, each in self.operands.items() if each.scaling == "dynamic")

    def describe(self) -> str:
        return "; ".join(f"{product} {getattr(self, a).describe()} by "
                         f"{getattr(self, b).describe()}" for product, (a, b) in PRODUCTS.items())


@functools.cache
def read_form(text: str) -> TrainingForm:
    """The form that the text of one says."""
    try:
        read = json.loads(text)
        return TrainingForm(**{name: TrainingOperand(**each) for name, each in read.items()})
    except (TypeError, ValueError, AttributeError) as error:
        if isinstance(error, ArgumentError):
            raise
        raise ArgumentError(f"expected a form of training in JSON, but got {text!r}: {error}"
                            ) from error


def _make_mxfp8() -> TrainingForm:
    """torchao's MXFP8Linear and MXFP8TrainingOpConfig, by default."""
    one = TrainingOperand("mxfp8", "rceil")
    return TrainingForm(one, one, one, one, one, one)


def _make_mxfp8_squares() -> TrainingForm:
    """The same with weights in blocks of 32x32, of which torchao has the quantizer."""
    square = TrainingOperand("mxfp8", "rceil", is_square=True)
    return dataclasses.replace(_make_mxfp8(), forward_weight=square, dgrad_weight=square)


def _make_nvfp4(recipe: str) -> TrainingForm:
    """TransformerEngine's NVFP4BlockScaling, by default, and torchao's NVFP4TrainingConfig, each
    with a recipe of its own."""
    row = TrainingOperand("nvfp4", recipe, scaling="dynamic")
    square = dataclasses.replace(row, is_square=True)
    transformed = dataclasses.replace(row, sign_mask=SIGN_MASK)
    return TrainingForm(
        forward_input=row, forward_weight=square,
        dgrad_gradient=dataclasses.replace(row, is_stochastic=True), dgrad_weight=square,
        wgrad_gradient=dataclasses.replace(transformed, is_stochastic=True),
        wgrad_input=transformed)


_NAMED: Mapping[str, Callable[[], TrainingForm]] = {
    "mxfp8": _make_mxfp8, "mxfp8_32x32": _make_mxfp8_squares,
    "nvfp4": functools.partial(_make_nvfp4, "te"),
    "nvfp4_torchao": functools.partial(_make_nvfp4, "torchao_training")}

#: A form, or the name of one.
AnyForm = str | TrainingForm


@functools.cache
def get_training_form(name: str) -> TrainingForm:
    """A form by its name: "mxfp8", "mxfp8_32x32", "nvfp4" or "nvfp4_torchao"
    (docs/Training.md).

    Raises: ArgumentError for a name that is none.
    """
    if name not in _NAMED:
        raise ArgumentError(f"expected a form of training, or one of {', '.join(_NAMED)}, but got "
                            f"{name!r}")
    return _NAMED[name]()


def to_form(form: AnyForm) -> TrainingForm:
    """A form that is given by itself or by its name."""
    return form if isinstance(form, TrainingForm) else get_training_form(form)
