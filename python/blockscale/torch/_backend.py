# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""torch.compile(model, backend="blockscale")."""

from __future__ import annotations

import contextlib
import contextvars
import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch import fx
from torch._functorch.aot_autograd import get_graph_being_compiled
from torch._inductor.custom_graph_pass import CustomGraphPass, get_hash_for_files

from blockscale._errors import ArgumentError
from blockscale.torch._kernels import LOG
from blockscale.torch._partition import Explanation, Partition

#: Where Inductor runs the pass.
_HOOK = "post_grad_custom_pre_pass"
_RESTS = ("inductor", "eager")
#: Explanations of what is compiled, while explain() listens.
_HEARD: contextvars.ContextVar[list[Explanation] | None] = contextvars.ContextVar(
    "heard", default=None)


#: What decides how a graph is rewritten: its results are no results of other versions of these.
_SOURCES = tuple(os.path.join(os.path.dirname(os.path.abspath(__file__)), name) for name in (
    "_attention.py", "_backend.py", "_few_rows.py", "_ordered_attention.py", "_partition.py",
    "_regions.py", "_region_module.py", "_products_kernels.py", "_small_nodes.py"))


class _Pass(CustomGraphPass):
    """The rewriting of a graph, as Inductor runs it and knows what it has of it in its cache."""

    def __init__(self, pairs: bool, merges: bool, attention: bool, decoding: bool):
        self._options = pairs, merges, attention, decoding

    def __call__(self, graph: fx.Graph) -> None:
        is_saving = "forward" in get_graph_being_compiled()
        explanation = Partition(graph, *self._options, is_saving=is_saving).run()
        _name_fallbacks(graph)
        LOG.info("%s", explanation)
        heard = _HEARD.get()
        if heard is not None:
            heard.append(explanation)

    def uuid(self) -> Any:
        return get_hash_for_files(_SOURCES, repr(self._options))


def _name_fallbacks(graph: fx.Graph) -> None:
    """Tells Inductor that it calls ops of ours as they are. It would find that out by itself, but
    for each op that is new to it it writes down the arguments with all that they were computed
    from, and behind some layers of calls that takes minutes or never ends."""
    from torch._inductor.lowering import lowerings, make_fallback, tag_to_layout_constraint
    from torch._library.utils import get_layout_constraint_tag
    for node in graph.nodes:
        # An op that writes to an argument is one of a node that gives what it writes.
        for op in (node.target, *node.args[:1]):
            if (isinstance(op, torch._ops.OpOverload) and op.namespace == "blockscale"
                    and op not in lowerings):
                tag = get_layout_constraint_tag(op, with_default=True)
                make_fallback(op, tag_to_layout_constraint(tag), warn=False)


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
        "merges": False keeps layers that read the same activations apart;
        "attention": False leaves attentions to Inductor;
        "decoding": False makes no regions of layers with plain activations and few rows.
    """
    given = dict(options or {})
    rest = _read_choice(given, "rest", "inductor", _RESTS)
    pairs = _read_choice(given, "pairs", True, (True, False))
    merges = _read_choice(given, "merges", True, (True, False))
    attention = _read_choice(given, "attention", True, (True, False))
    decoding = _read_choice(given, "decoding", True, (True, False))
    rewrite = _Pass(pairs, merges, attention, decoding)
    if rest == "eager":
        if given or mode not in (None, "default"):
            raise ArgumentError("expected no options of Inductor with rest='eager', but got "
                                f"{', '.join(given) or f'mode {mode!r}'}")
        return _compile_eager(graph_module, inputs, rewrite)
    return _compile_inductor(graph_module, inputs, mode, given, rewrite)


def _compile_inductor(graph_module: fx.GraphModule, inputs: Sequence[Any], mode: str | None,
                      options: dict[str, Any], rewrite: _Pass) -> Callable[..., Any]:
    from torch._inductor import list_mode_options
    from torch._inductor.compile_fx import compile_fx

    if options.get(_HOOK) is not None:
        raise ArgumentError(f"expected no option '{_HOOK}': the backend has a pass there")
    patches = {**(list_mode_options(mode) if mode and mode != "default" else {}), **options,
               _HOOK: rewrite}
    compiled: Callable[..., Any] = compile_fx(graph_module, inputs, config_patches=patches)
    return compiled


def _compile_eager(graph_module: fx.GraphModule, inputs: Sequence[Any], rewrite: _Pass
                   ) -> Callable[..., Any]:
    # Decompositions of Inductor read what this module has, which they do not import.
    from functorch.compile import make_boxed_func
    from torch._dynamo.backends.common import aot_autograd
    from torch._inductor import lowering  # noqa: F401
    from torch._inductor.decomposition import select_decomp_table

    def compile_graph(module: fx.GraphModule, _: Any) -> Any:
        rewrite(module.graph)
        module.recompile()
        return make_boxed_func(module.forward)
    compiled: Callable[..., Any] = aot_autograd(
        fw_compiler=compile_graph, bw_compiler=compile_graph,
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
