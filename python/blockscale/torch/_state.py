# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a state dict holds of a quantized weight, and what is checked when one is loaded.

Codes of two formats are the same bytes to PyTorch. So each weight has a mark in the state dict: a
tensor of bytes that says in which form its codes are. It is a tensor because files of safetensors
have nothing else, and of one size because loaders that copy into place ask for the size before.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensor

from blockscale._errors import ArgumentError
from blockscale._forms import SCALINGS, LayerForm, OperandForm
from blockscale._json import parse
from blockscale._ops import FORMATS, ORDERS
from blockscale.torch._forms import ROW_MAJOR, get_storage

if TYPE_CHECKING:
    from blockscale.torch._modules import QuantizedWeight

#: The version of this page: of the members of a mark, and of what the tensors beside it mean.
VERSION = 1
#: The name of the mark behind that of the weight, which is PyTorch's for what is no parameter.
MARK = "_extra_state"
#: The bytes of a mark: JSON, and spaces behind it.
MARK_BYTES = 512
#: The tensors of a weight.
_TENSORS = ("data", "scales", "global_scale", "input_global")
#: How to load what was written without marks.
_HINT = ("a dict of an older version has none: if its model was quantized by the policy of this "
         "one, load blockscale.torch.mark_state_dict(state, model)")


def list_tensors(module: QuantizedWeight) -> dict[str, tuple[torch.dtype, list[int]]]:
    """The dtype and the shape of each tensor that a state dict holds of a weight beside its mark
    and its bias: codes and scales in row-major order, whatever the order in memory."""
    batch = list(module.data.shape[:1]) if module.is_stack else []
    data, scales = get_storage(module.out_features, module.in_features, module.form.weight.format,
                               ROW_MAJOR)
    tensors = {"data": (torch.uint8, [*batch, *data]), "scales": (torch.uint8, [*batch, *scales])}
    if module.global_scale is not None:
        tensors["global_scale"] = torch.float32, batch
    if module.input_global is not None:
        tensors["input_global"] = torch.float32, []
    return tensors


def _describe_operand(form: OperandForm | None) -> dict[str, Any]:
    if form is None:
        return {"format": "plain"}
    return {"format": form.format, "block": form.block, "recipe": form.resolved_recipe,
            "global_scale": form.scaling, "sweep": form.is_swept}


def _describe(form: LayerForm) -> dict[str, Any]:
    """The members of a mark: all that decides what codes stand for and how a layer computes."""
    operands = {"weights": form.weight, "activations": form.activation}
    members = {f"{member} of {name}": value for name, operand in operands.items()
               for member, value in _describe_operand(operand).items()}
    rows = {"rows of plain activations": form.plain_rows} if form.plain_rows else {}
    order = {"order": form.order} if form.order != ORDERS[0] else {}
    return {"version": VERSION, **members, "rht": form.rht, "cast": form.cast, **rows, **order}


def make_mark(form: LayerForm) -> Tensor:
    text = json.dumps(_describe(form)).encode().ljust(MARK_BYTES)
    return torch.frombuffer(bytearray(text), dtype=torch.uint8)


def _read_mark(mark: Any) -> dict[str, Any] | str:
    """The members of a mark, or why it is none."""
    if not isinstance(mark, Tensor) or mark.dtype != torch.uint8 or mark.dim() != 1:
        found = (f"{mark.dtype} of shape {list(mark.shape)}" if isinstance(mark, Tensor)
                 else type(mark).__name__)
        return f"expected a mark of bytes, but got {found}"
    try:
        members = parse(bytes(mark.cpu().tolist()), "it")
    except ArgumentError:
        return "expected a mark of JSON, but got other bytes"
    if not isinstance(members, dict):
        return f"expected a mark with members, but got {type(members).__name__}"
    if members.get("version") != VERSION:
        return (f"expected a mark of version {VERSION}, but got {members.get('version')!r}, which "
                "another version of BlockScale wrote")
    return members


def _read_operand(members: Mapping[str, Any], name: str) -> OperandForm | None:
    format = members.get(f"format of {name}")
    if format == "plain":
        return None
    if format not in FORMATS:
        raise ArgumentError(f"expected a format of {name} of {', '.join(FORMATS)}, or plain, but "
                            f"got {format!r}")
    scaling = members.get(f"global_scale of {name}")
    if scaling not in SCALINGS:
        raise ArgumentError(f"expected a global_scale of {name} of {', '.join(SCALINGS)}, but got "
                            f"{scaling!r}")
    # A scale that a file has is a tensor beside the mark.
    return OperandForm(format, members.get(f"recipe of {name}"), scaling,
                       is_swept=members.get(f"sweep of {name}") is True)


def read_form(mark: Any) -> LayerForm:
    """The form that a mark stands for.

    Raises: ArgumentError for what is no mark of this version.
    """
    members = _read_mark(mark)
    if isinstance(members, str):
        raise ArgumentError(members)
    weight = _read_operand(members, "weights")
    if weight is None:
        raise ArgumentError("expected a mark of a quantized weight, but got a plain one's")
    form = LayerForm(weight, _read_operand(members, "activations"), members.get("rht") is True,
                     members.get("cast"), members.get("rows of plain activations", 0),
                     members.get("order", ORDERS[0]))
    problem = compare_mark(mark, form)
    if problem:
        raise ArgumentError(problem)
    return form


def _list_members(members: Mapping[str, Any], names: list[str]) -> str:
    return ", ".join(f"{name} {members.get(name, 'none')}" for name in names)


def compare_mark(mark: Any, form: LayerForm) -> str:
    """Why codes with a mark are no codes of a form; "" if they are."""
    found, own = _read_mark(mark), _describe(form)
    if isinstance(found, str):
        return found
    names = [name for name in dict.fromkeys([*own, *found])
             if own.get(name, "none") != found.get(name, "none")]
    if not names:
        return ""
    return (f"expected {_list_members(own, names)}, as the layer has it, but got "
            f"{_list_members(found, names)}; quantize the model by the policy that the state dict "
            "was saved with")


def check_tensor(name: str, found: Any, expected: tuple[torch.dtype, list[int]] | None
                  ) -> str:
    if expected is None:
        return f"'{name}': expected no such tensor, since the layer's form has none"
    if isinstance(found, Tensor) and (found.dtype, list(found.shape)) == expected:
        return ""
    text = (f"{found.dtype} of shape {list(found.shape)}" if isinstance(found, Tensor)
            else type(found).__name__)
    return f"'{name}': expected {expected[0]} of shape {expected[1]}, but got {text}"


def _find_no_numbers(codes: Tensor, element: str) -> str:
    """How many bytes are no numbers of an element type of FORMATS; "" if all are."""
    if element == "f8E8M0FNU":
        wrong, what = codes == 0xFF, "NaN"
    elif element == "f8E4M3FN":
        wrong, what = (codes & 0x7F) == 0x7F, "NaN"
    elif element == "f8E5M2":
        wrong, what = (codes & 0x7F) >= 0x7C, "infinite or NaN"
    else:
        return ""
    count = int(wrong.sum())
    return f"{count} {what}" if count else ""


def find_wrong_codes(format: str, data: Tensor, scales: Tensor) -> Iterator[tuple[str, str]]:
    """What is wrong with the bytes of codes and block scales, behind "data" or "scales": weights
    are numbers, and scales are not negative."""
    for member, what, tensor, element in zip(("data", "scales"), ("codes", "scales"),
                                             (data, scales), FORMATS[format][:2]):
        found = _find_no_numbers(tensor, element)
        if found:
            yield member, f"expected {what} that are numbers, but got {found}"
    if format == "nvfp4" and ((scales & 0x80) != 0).any():
        yield "scales", "expected scales that are not negative, but got some"


def find_wrong_scale(value: Tensor) -> str:
    """What is wrong with global scales, or with amaxes that stand for them; "" if nothing is."""
    wrong = ~((value > 0) & value.isfinite())
    if not wrong.any():
        return ""
    return f"expected a positive, finite number, but got {value[wrong][0].item()}"


def find_wrong_numbers(format: str, tensors: Mapping[str, Tensor | None]) -> Iterator[
        tuple[str, str]]:
    """What is wrong with the numbers of a quantized weight, behind the name of the tensor. Tensors
    without memory have none."""
    known = {name: tensor for name, tensor in tensors.items()
             if tensor is not None and not tensor.is_meta and not isinstance(tensor, FakeTensor)}
    empty = torch.empty(0, dtype=torch.uint8)
    yield from find_wrong_codes(format, known.get("data", empty), known.get("scales", empty))
    for name in ("global_scale", "input_global"):
        problem = find_wrong_scale(known[name]) if name in known else ""
        if problem:
            yield name, problem


def is_no_mark(value: Any) -> bool:
    """Whether it is what torch.distributed has in the place of a mark that it was not given."""
    return type(value).__name__ == "_EXTRA_STATE"


def find_entries(module: QuantizedWeight, state: Mapping[str, Any], prefix: str) -> dict[str, Any]:
    """The entries of a weight in a state dict, by their names there. Loaders of files in parts fill
    up what a part does not have: with the tensors of the layer itself, and with what stands for a
    mark."""
    def is_own(name: str, value: Any) -> bool:
        if name == MARK:
            return is_no_mark(value)
        own = module._buffers.get(name)
        return value is own or (
            isinstance(value, Tensor) and own is not None and not own.is_meta
            and (value.shape, value.dtype) == (own.shape, own.dtype)
            and value.data_ptr() == own.data_ptr())
    names = [*_TENSORS, "weight", MARK]
    return {name: state[prefix + name] for name in names
            if prefix + name in state and not is_own(name, state[prefix + name])}


def check_state(module: QuantizedWeight, state: Mapping[str, Any], prefix: str) -> list[str]:
    """What is wrong with the entries of a weight in a state dict, or in a part of one.

    A dict may come in parts, as in the files of a large model. The mark then comes before the
    tensors, or with them: `module.awaited` has the names of those that it still stands for.
    """
    name, entries = prefix.removesuffix("."), find_entries(module, state, prefix)
    if "weight" in entries:
        return [(f"'{prefix}weight': expected the codes of a quantized weight, but got a plain "
                 "one; load it into the plain model, and quantize that")]
    held = list_tensors(module)
    tensors = [each for each in _TENSORS if each in entries]
    awaited = set(held) if MARK in entries else module.awaited
    if MARK in entries:
        problem = compare_mark(entries[MARK], module.form)
        if problem:
            return [f"'{name}': {problem}"]
    problems = [check_tensor(prefix + each, state[prefix + each], held.get(each))
                for each in tensors]
    unmarked = [each for each in tensors if each in held and each not in awaited]
    if unmarked:
        problems.append(f"'{prefix}{unmarked[0]}': expected a mark '{prefix}{MARK}', which says "
                        f"in which form its codes are, but got none; {_HINT}")
    problems = [each for each in problems if each]
    if not problems:
        problems = [f"'{prefix}{each}': {problem}" for each, problem in find_wrong_numbers(
            module.form.weight.format, {each: entries[each] for each in tensors})]
    if not problems:
        module.awaited = awaited - set(tensors)
    return problems
