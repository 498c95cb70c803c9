# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""torch.compile(model, backend="blockscale")."""

from __future__ import annotations

import contextlib
import contextvars
from typing import Any, Callable, Iterator, Sequence

import torch
from torch import fx

from blockscale._errors import ArgumentError
from blockscale.torch._kernels import LOG
from blockscale.torch._partition import Explanation, Partition

_RESTS = ("inductor", "eager")
#: Explanations of what is compiled, while explain() listens.
_HEARD: contextvars.ContextVar[list[Explanation] | None] = contextvars.ContextVar(
    "heard", default=None)


def _partition(graph_module: fx.GraphModule, pairs: bool, merges: bool) -> None:
    explanation = Partition(graph_module, pairs, merges).run()
    LOG.info("%s", explanation)
    heard = _HEARD.get()
    if heard is not None:
        heard.append(explanation)


def _read_choice(options: dict[str, Any], name: str, default: Any, known: Sequence[Any]) -> Any:
    value = options.pop(name, default)
    if value not in known:
        raise ArgumentError(f"expected option '{name}' to be one of "
                            f"{', '.join(map(repr, known))}, but got {value!r}")
    return value


def blockscale_backend(graph_module: fx.GraphModule, inputs: Sequence[Any], *,
                       mode: str | None = None, options: dict[str, Any] | None = None
                       ) -> Callable[..., Any]:
    """The backend "blockscale" of torch.compile: layers of quantize_, with what is before and
    behind them, are calls of kernels of ours; the rest is Inductor's.

    Args:
      mode: that of Inductor: "reduce-overhead" captures CUDA graphs.
      options: those of Inductor, and
        "rest": "inductor", or "eager" to run all other ops one by one;
        "pairs": False keeps the product of a gate and an up projection out of one kernel;
        "merges": False keeps layers that read the same activations apart.
    """
    given = dict(options or {})
    rest = _read_choice(given, "rest", "inductor", _RESTS)
    pairs = _read_choice(given, "pairs", True, (True, False))
    merges = _read_choice(given, "merges", True, (True, False))
    if rest == "eager":
        if given or mode not in (None, "default"):
            raise ArgumentError("expected no options of Inductor with rest='eager', but got "
                                f"{', '.join(given) or f'mode {mode!r}'}")
        return _compile_eager(graph_module, inputs, pairs, merges)
    return _compile_inductor(graph_module, inputs, mode, given, pairs, merges)


def _compile_inductor(graph_module: fx.GraphModule, inputs: Sequence[Any], mode: str | None,
                      options: dict[str, Any], pairs: bool, merges: bool) -> Callable[..., Any]:
    from torch._inductor import list_mode_options
    from torch._inductor.compile_fx import compile_fx, compile_fx_inner

    def inner(module: fx.GraphModule, example_inputs: Any, **kwargs: Any) -> Any:
        if not kwargs.get("is_backward", False):
            _partition(module, pairs, merges)
        return compile_fx_inner(module, example_inputs, **kwargs)
    patches = {**(list_mode_options(mode) if mode and mode != "default" else {}), **options}
    compiled: Callable[..., Any] = compile_fx(graph_module, inputs, inner_compile=inner,
                                              config_patches=patches or None)
    return compiled


def _compile_eager(graph_module: fx.GraphModule, inputs: Sequence[Any], pairs: bool,
                   merges: bool) -> Callable[..., Any]:
    from functorch.compile import make_boxed_func
    from torch._dynamo.backends.common import aot_autograd
    from torch._inductor.decomposition import select_decomp_table

    def compile_forward(module: fx.GraphModule, _: Any) -> Any:
        _partition(module, pairs, merges)
        return make_boxed_func(module.forward)

    def compile_backward(module: fx.GraphModule, _: Any) -> Any:
        return make_boxed_func(module.forward)
    compiled: Callable[..., Any] = aot_autograd(
        fw_compiler=compile_forward, bw_compiler=compile_backward,
        decompositions=select_decomp_table())(graph_module, inputs)
    return compiled


@contextlib.contextmanager
def _listen() -> Iterator[list[Explanation]]:
    heard: list[Explanation] = []
    token = _HEARD.set(heard)
    try:
        yield heard
    finally:
        _HEARD.reset(token)


def explain(model: Callable[..., Any], *args: Any, dynamic: bool | None = None,
            options: dict[str, Any] | None = None, **kwargs: Any) -> list[Explanation]:
    """What the backend makes of each graph of a model, or of a function: what its calls have in
    them, and why what is beside our layers was left. The model is compiled anew and called once.

    Args:
      args, kwargs: of the call.
      dynamic: as torch.compile takes it.
      options: of the backend; the rest runs op by op.
    """
    compiled = torch.compile(model, backend="blockscale", dynamic=dynamic,
                             options={**(options or {}), "rest": "eager"})
    with _listen() as heard:
        compiled(*args, **kwargs)
    return heard
