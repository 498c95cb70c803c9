# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which parts of a graph of aten ops become regions, and which layers one product.

Around our layers a region takes

* of layers that quantize their activations: all that read the same activations, which are
  quantized once, and the norm or activation that makes these, if it is written out in elementwise
  ops and means along rows;
* of all layers: elementwise ops behind them, as an activation, and the product of two layers that
  read the same activations, as of a gate and an up projection.

Layers with plain activations that read the same tensor, as of queries, keys and values, and that no
region has, become one product, if their weights lie behind one another in memory.

Beside them, attentions of one query become batched products (_attention.py), and in graphs whose
layers have sums of order chain all attentions become ops of ours (_ordered_attention.py). What is
between these in a step of decoding becomes fewer launches (_small_nodes.py, _few_rows.py).
"""

from __future__ import annotations

import dataclasses
import math
import operator
from collections.abc import Iterable, Sequence
from typing import Any

import torch
from torch import fx

from blockscale._errors import Error
from blockscale._ops import ORDERS
from blockscale.torch._attention import Rewriter, is_attention
from blockscale.torch._elements import COPY_OPS, ELEMENT_OPS
from blockscale.torch._few_rows import FewRowsRewriter
from blockscale.torch._kernels import FEW_ROWS
from blockscale.torch._ordered_attention import OrderedRewriter, is_any_attention
from blockscale.torch._regions import Joined, Key, get_name, is_rows, read_region, write_region
from blockscale.torch._small_nodes import join_counters, share_arguments

WEIGHT_ONLY = "blockscale.linear_weight_only.default"
QUANTIZED = "blockscale.linear_quantized.default"
MERGED = "blockscale.merged_linear_weight_only.default"
REGION = "blockscale.region.default"
#: Ops of ours whose first kernel begins when all before it have ended, but for regions that have
#: such an op before them.
_CALLS = (WEIGHT_ONLY, QUANTIZED, MERGED, REGION)
#: Ops whose results may have other strides than what they stand for.
_OF_OTHER_STRIDES = (MERGED, *(f"blockscale.{name}.default" for name in (
    "attention", "rotary_embedding")))
_CONVERT = "prims.convert_element_type.default"
_VAR_MEAN = "aten.var_mean.correction"
_VIEW = "aten.view.default"
#: Elementwise ops that kernels of ours compute beside others, and those that compute nothing.
_COPIES = (*COPY_OPS, _CONVERT)
_ELEMENTWISE = {*_COPIES, *ELEMENT_OPS}
_FLOATS = (torch.float32, torch.bfloat16, torch.float16)
#: Ops of PyTorch that add numbers up, and choose the order by sizes and devices.
_SUMS = {f"aten.{name}" for name in (
    "addmm", "baddbmm", "bmm", "mm", "mv", "dot", "convolution", "_grouped_mm", "sum", "mean",
    "var", "var_mean", "cumsum", "_softmax", "_log_softmax", "linalg_vector_norm",
    "native_layer_norm", "_fused_rms_norm", "_scaled_dot_product_flash_attention",
    "_scaled_dot_product_efficient_attention", "_scaled_dot_product_cudnn_attention",
    "_scaled_dot_product_flash_attention_for_cpu")}
#: Ops before layers, and behind them, that a region has at most.
_LARGEST_REGION = 64
#: The most layers with plain activations of a region.
_MOST_LAYERS = 8
#: What names the result, the op, its arguments and keywords.
Op = tuple[Any, str, Sequence[Any], dict[str, Any]]


@dataclasses.dataclass
class Explanation:
    """What became of our ops in a graph.

    Attributes:
      taken: for each region, product or other op: what it is, and the nodes in it.
      left: why nodes beside our layers were left to the rest, by name.
      count: ops of the graph.
    """

    taken: list[tuple[str, tuple[str, ...]]] = dataclasses.field(default_factory=list)
    left: dict[str, str] = dataclasses.field(default_factory=dict)
    count: int = 0

    def __str__(self) -> str:
        calls = "1 call" if len(self.taken) == 1 else f"{len(self.taken)} calls"
        lines = [(f"{self.count} ops, of which {sum(len(nodes) for _, nodes in self.taken)} in "
                  f"{calls} of ours")]
        lines += [f"  took {what}: {', '.join(nodes)}" for what, nodes in self.taken]
        lines += [f"  left {name}: {reason}" for name, reason in self.left.items()]
        return "\n".join(lines)


def _is_tensor(node: Any) -> bool:
    return isinstance(node, fx.Node) and isinstance(node.meta.get("val"), torch.Tensor)


def _has_few_rows(layer: fx.Node) -> bool:
    """Whether a layer has as few rows as the small tiles of products, and always has."""
    lead = layer.meta["val"].shape[:-1]
    return all(isinstance(size, int) for size in lead) and math.prod(lead) <= FEW_ROWS


def _has_order(layer: fx.Node) -> bool:
    """Whether its sums have a defined order."""
    return bool(layer.kwargs.get("order", ORDERS[0]) != ORDERS[0])


def _name(node: fx.Node) -> str:
    return get_name(node.target) if node.op == "call_function" else node.op


def _get_x(layer: fx.Node) -> fx.Node:
    x: Any = layer.args[0]
    return x


def _has_known_arguments(node: fx.Node) -> bool:
    """Whether all arguments are tensors of floating-point numbers on one device, or numbers."""
    for each in node.all_input_nodes:
        value = each.meta.get("val")
        if not isinstance(value, torch.Tensor) or value.dtype not in _FLOATS:
            return False
        if value.device != node.meta["val"].device:
            return False
    return True


def _is_elementwise(node: fx.Node) -> bool:
    return (node.op == "call_function" and get_name(node.target) in _ELEMENTWISE
            and _is_tensor(node) and node.meta["val"].dtype in _FLOATS
            and _has_known_arguments(node))


def _is_row_mean(node: fx.Node) -> bool:
    """A mean, or a variance and a mean, along the last dimension, which stays with size 1."""
    name = _name(node)
    if name not in ("aten.mean.dim", _VAR_MEAN) or not _has_inputs_of_floats(node):
        return False
    rank = node.args[0].meta["val"].dim()
    dims = node.args[1] if len(node.args) > 1 else node.kwargs.get("dim")
    keeps = node.args[2] if len(node.args) > 2 else node.kwargs.get("keepdim", False)
    correction = node.kwargs.get("correction", 1)
    return (isinstance(dims, (list, tuple)) and [each % rank for each in dims] == [rank - 1]
            and bool(keeps) and (name != _VAR_MEAN or correction in (0, 0.0)))


def _is_row(node: fx.Node) -> bool:
    """Whether it is an input of the graph with a number for each column, or one."""
    return node.op == "placeholder" and bool(node.meta["val"].dim() < 2)


def _fits(node: fx.Node, lead: Sequence[Any]) -> bool:
    """Whether what a node reads has the rows of a layer's activations, or is one row."""
    values = [each.meta["val"] for each in node.all_input_nodes]
    return all(not isinstance(value, torch.Tensor) or value.dim() < 2 or is_rows(value, lead)
               for value in values)


def _is_producer(node: fx.Node) -> bool:
    if node.target is operator.getitem:
        source: Any = node.args[0]
        return _name(source) == _VAR_MEAN and _is_row_mean(source)
    return _is_elementwise(node) or _is_row_mean(node)


def _is_row_value(node: fx.Node) -> bool:
    """Whether it is one number for each row."""
    return _is_tensor(node) and node.meta["val"].shape[-1:] == (1,)


def _is_view(node: fx.Node) -> bool:
    """Whether a result may be the memory of an argument."""
    schema = getattr(node.target, "_schema", None)
    return _name(node) == "aten.reshape.default" or (schema is not None and any(
        each.alias_info is not None for each in schema.returns))


def _is_only_read(node: fx.Node) -> bool:
    """Whether it is an input of the graph to which no op writes, and of which none makes a view."""
    schemas = [getattr(user.target, "_schema", None) for user in node.users]
    return node.op == "placeholder" and not any(map(_is_view, node.users)) and all(
        schema is not None and not schema.is_mutable for schema in schemas)


def _computes(node: fx.Node) -> bool:
    """Whether it is more than a copy or a conversion."""
    return _name(node) not in _COPIES


def _has_inputs_of_floats(node: fx.Node) -> bool:
    return all(_is_tensor(each) and each.meta["val"].dtype in _FLOATS
               for each in node.all_input_nodes)


def _has_rows_apart(tensor: torch.Tensor) -> bool:
    """Whether a tensor is not row-major. Compares expressions, as is_rows()."""
    return list(map(str, tensor.stride())) != list(map(str, tensor.contiguous().stride()))


class Partition:
    """Rewrites a graph in place; `explanation` says how. `is_saving` says that a backward pass
    reads results of the graph, whose strides are those that it was traced with."""

    def __init__(self, graph: fx.Graph, pairs: bool = True, merges: bool = True,
                 attention: bool = True, decoding: bool = True, is_saving: bool = False):
        self._graph, self._is_saving = graph, is_saving
        self._pairs, self._merges, self._attention = pairs, merges, attention
        self._decoding = decoding
        self.explanation = Explanation()

    def run(self) -> Explanation:
        self.explanation.count = sum(node.op == "call_function" for node in self._graph.nodes)
        is_chain = any(_name(node).startswith("blockscale.") and _has_order(node)
                       for node in self._graph.nodes)
        if self._attention:
            self._rewrite_attentions(is_chain)
        FewRowsRewriter(self._graph).run()
        self.explanation.taken += [("one update", names) for names in join_counters(self._graph)]
        self._number()
        self._pending = [node for node in self._graph.nodes
                         if _name(node) in (WEIGHT_ONLY, QUANTIZED) and _is_tensor(_get_x(node))]
        self._take_sequences()
        while self._pending:
            x = _get_x(self._pending[0])
            layers = [layer for layer in self._pending if _get_x(layer) is x]
            self._pending = [layer for layer in self._pending if layer not in layers]
            exact = [layer for layer in layers if _name(layer) == QUANTIZED]
            if exact:
                self._take(exact, self._find_producer(x, exact))
            self._take_plain([layer for layer in layers if _name(layer) == WEIGHT_ONLY])
        if any(_name(node) in _OF_OTHER_STRIDES for node in self._graph.nodes):
            self._allow_strides()
        self._graph.eliminate_dead_code()
        if is_chain:
            self._name_free_sums()
        self._graph.lint()
        return self.explanation

    def _rewrite_attentions(self, is_chain: bool) -> None:
        ordered, products = OrderedRewriter(self._graph), Rewriter(self._graph)
        for node in filter(is_any_attention if is_chain else is_attention,
                           list(self._graph.nodes)):
            reason, what = "", "attention"
            if is_chain:
                reason = ordered.rewrite(node)
            elif not ordered.rewrite_step(node):
                reason, what = products.rewrite(node), "products in place of"
            if reason:
                self._leave(node, reason)
            else:
                self.explanation.taken.append((what, (node.name,)))
        if is_chain:
            self._graph.eliminate_dead_code()
            for node in list(self._graph.nodes):
                if ordered.rewrite_rotary(node):
                    self.explanation.taken.append(("a rotary embedding", (node.name,)))
        share_arguments(self._graph)

    def _name_free_sums(self) -> None:
        """Says of the ops that sum and are none of ours that their sums have no defined order,
        beside layers whose sums have one."""
        for node in self._graph.nodes:
            if _name(node).rpartition(".")[0] in _SUMS:
                self.explanation.left.setdefault(
                    node.name, "expected sums of order chain, as layers in the graph have them, "
                    f"but got {_name(node)} of PyTorch, whose order is not defined")

    def _number(self) -> None:
        self._order = {node: number for number, node in enumerate(self._graph.nodes)}

    # What a region has.

    def _find_producer(self, x: fx.Node, layers: list[fx.Node]) -> list[fx.Node]:
        """The ops that make x and whose results nothing else needs, in order; that of x itself
        may be needed by others."""
        found: list[fx.Node] = []
        lead = x.meta["val"].shape[:-1]
        inside, wanted = {*layers}, {x}
        node = x
        while wanted and node.op != "root" and len(found) < _LARGEST_REGION:
            if node in wanted:
                wanted.discard(node)
                if (_is_producer(node) and _fits(node, lead)
                        and (node is x or set(node.users) <= inside)):
                    found.append(node)
                    inside.add(node)
                    wanted |= set(node.all_input_nodes)
            node = node.prev
        return found[::-1] if any(map(_computes, found)) else []

    def _find_epilogue(self, layers: list[fx.Node]) -> list[fx.Node]:
        """Elementwise ops behind layers that read nothing else but a row of the graph's inputs, in
        order, as many as leave no more results than one, or than there are layers that
        quantize."""
        shape = layers[0].meta["val"].shape
        if any(layer.meta["val"].shape != shape for layer in layers):
            return []
        inside, found = set(layers), list[fx.Node]()
        pending = {user for layer in layers for user in layer.users}
        while pending and len(found) < _LARGEST_REGION:
            node = min(pending, key=self._order.__getitem__)
            pending.discard(node)
            if (node in inside or not _is_elementwise(node) or node.meta["val"].shape != shape
                    or any(read not in inside and not _is_row(read)
                           for read in node.all_input_nodes)):
                continue
            inside.add(node)
            found.append(node)
            pending |= set(node.users)
        most = len(layers) if _name(layers[0]) == QUANTIZED else 1
        for count in range(len(found), 0, -1):
            taken = [*layers, *found[:count]]
            outputs = [node for node in taken if set(node.users) - set(taken)]
            if len(outputs) <= most and any(map(_computes, found[:count])):
                return found[:count]
        return []

    # Regions.

    def _take_plain(self, layers: list[fx.Node]) -> None:
        """Layers with plain activations: those that elementwise ops join; then those that read the
        same; then those that elementwise ops follow. With few rows, the second come first: the
        time is that of reading weights, which one product does faster than two in one kernel."""
        if self._merges and layers and _has_few_rows(layers[0]):
            layers = self._merge(layers)
        if len(layers) > 1 and self._pairs:
            for first in list(layers):
                # The second of a pair is erased with the first.
                pair = self._find_pair(first, layers) if first in layers else []
                if pair and self._take(pair, []):
                    layers = [layer for layer in layers if layer not in pair]
        if self._merges:
            layers = self._merge(layers)
        for layer in layers:
            if self._find_epilogue([layer]):
                self._take([layer], [])

    def _take_sequences(self) -> None:
        """Layers with plain activations and few rows, as in decoding: one region from a layer, with
        the norm that makes its activations, to the last layer that can be reached by ops on rows.
        Their launches overlap (docs/LaunchPlan.md). Before that, layers that read the same
        activations become one product."""
        if not self._decoding:
            return
        for layer in list(self._pending):
            if layer in self._pending and self._is_followed(layer):
                same = [each for each in self._pending
                        if _get_x(each) is _get_x(layer) and self._is_followed(each)]
                pairs = {each for first in same for each in self._find_pair(first, same)}
                single = [each for each in same if each not in pairs]
                if self._merges and len(single) > 1:
                    left = self._merge(single)
                    self._pending = [each for each in self._pending
                                     if each not in single or each in left]
        layers = [node for node in self._graph.nodes
                  if _name(node) == MERGED
                  or (node in self._pending and self._is_followed(node))]
        while layers:
            nodes = self._grow(layers[0], layers)
            inside = [layer for layer in layers if layer in nodes]
            layers = [layer for layer in layers[1:] if layer not in nodes]
            # Of one layer, for the norm that is to have bits of its own.
            if len(inside) == 1 and not (_has_order(inside[0]) and any(map(_is_row_mean, nodes))):
                continue
            try:
                self._replace(nodes, inside)
            except (Error, _NoCall) as error:
                self._leave(inside[0], str(error))
                continue
            self._pending = [layer for layer in self._pending if layer not in nodes]

    def _is_followed(self, layer: fx.Node) -> bool:
        """Whether a region goes on behind a layer with plain activations. Where sums have a defined
        order, it does for any number of rows, as norms and activations have other bits in kernels
        of PyTorch."""
        return _name(layer) == WEIGHT_ONLY and (_has_few_rows(layer) or _has_order(layer))

    def _grow(self, first: fx.Node, layers: list[fx.Node]) -> list[fx.Node]:
        """The nodes of a region that begins with a layer and the norm before it, in order."""
        lead = _get_x(first).meta["val"].shape[:-1]
        same = [layer for layer in layers if _get_x(layer) is _get_x(first)]
        inside = set(self._find_producer(_get_x(first), same))
        begin = min((self._order[node] for node in inside), default=self._order[first])
        count = 0
        for node in list(self._graph.nodes):
            reads = node.all_input_nodes
            x: Any = node.args[0] if node.args else None
            is_layer = node in layers
            if self._order[node] < begin or node in inside:
                continue
            if is_layer and count == _MOST_LAYERS:
                break
            if (all(read in inside or self._order[read] < begin for read in reads)
                    and (node is first or x in inside if is_layer else
                         any(read in inside for read in reads)
                         and _is_producer(node) and _fits(node, lead))):
                inside.add(node)
                count += is_layer
        return self._prune(sorted(inside, key=self._order.__getitem__), layers)

    def _prune(self, nodes: list[fx.Node], layers: list[fx.Node]) -> list[fx.Node]:
        """Nodes without what cannot be a result of a region, but others need, and what comes of it:
        numbers of rows, pairs of them, and copies."""
        while True:
            inside = set(nodes)
            bad = next((node for node in reversed(nodes) if node not in layers
                        and set(node.users) - inside
                        and (_is_row_value(node) or not _is_tensor(node)
                             or not _computes(node))), None)
            if bad is None:
                return nodes
            dropped = {bad}
            for node in nodes:
                if dropped & set(node.all_input_nodes):
                    dropped.add(node)
            nodes = [node for node in nodes if node not in dropped]

    def _find_pair(self, first: fx.Node, layers: list[fx.Node]) -> list[fx.Node]:
        """Two layers of one shape whose results elementwise ops join to one."""
        return next(([first, second] for second in layers
                     if self._order[second] > self._order[first]
                     and self._find_epilogue([first, second])), [])

    def _take(self, layers: list[fx.Node], producer: list[fx.Node]) -> bool:
        """Makes a region of layers, what makes their activations, and what is behind them, if it
        can be a call; with less of that, if it cannot."""
        epilogue = self._find_epilogue(layers)
        behind = self._find_followers(layers, epilogue)
        attempts = [(producer, epilogue + behind), (producer, epilogue), (producer, []),
                    ([], epilogue), ([], [])]
        for number, (first, last) in enumerate(attempts):
            nodes = sorted({*first, *layers, *last}, key=self._order.__getitem__)
            if len(nodes) == 1 or (first, last) in attempts[:number]:
                continue
            try:
                self._replace(nodes, layers)
            except (Error, _NoCall) as error:
                self._leave(((last or first) or layers)[-1], str(error))
                continue
            self._pending = [layer for layer in self._pending if layer not in nodes]
            return True
        return False

    def _find_followers(self, layers: list[fx.Node], epilogue: list[fx.Node]) -> list[fx.Node]:
        """Layers that quantize what layers and the ops behind them make, if nothing else needs
        that, with what is behind them in turn."""
        if _name(layers[0]) != QUANTIZED:
            return []
        inside = {*layers, *epilogue}
        made = [node for node in inside if set(node.users) - inside]
        if len(made) != 1:
            return []
        followers = sorted(made[0].users, key=self._order.__getitem__)
        if any(layer not in self._pending or _name(layer) != QUANTIZED
               or _get_x(layer) is not made[0] for layer in followers):
            return []
        behind = self._find_epilogue(followers)
        return [*followers, *behind, *self._find_followers(followers, behind)]

    def _leave(self, node: fx.Node, reason: str) -> None:
        self.explanation.left[node.name] = reason.splitlines()[0]

    def _replace(self, nodes: list[fx.Node], layers: list[fx.Node]) -> None:
        """Puts a call in the place of nodes."""
        inside = set(nodes)
        outputs = [node for node in nodes if set(node.users) - inside]
        if any(not _is_tensor(node) for node in outputs):
            raise _NoCall("expected results that are tensors")
        ops, known, joined = _rewrite(nodes)
        parts = {part for each in joined for part in each.nodes}
        inputs: list[fx.Node] = []
        for node in nodes:
            inputs += [each for each in node.all_input_nodes
                       if each not in inside and each not in inputs]
        first = min((user for node in outputs for user in node.users if user not in inside),
                    key=self._order.__getitem__)
        late = [each for each in inputs if self._order[each] >= self._order[first]]
        if late:
            raise _NoCall(f"expected all operands before {first.name}, which needs a result, but "
                          f"got {late[0].name} after it")
        lead = _get_x(layers[0]).meta["val"].shape[:-1]
        if any(not is_rows(node.meta["val"], lead) for node in outputs):
            raise _NoCall("expected results with the rows of the layer's activations")
        if self._is_saving and any(_has_rows_apart(node.meta["val"]) for node in outputs):
            raise _NoCall("expected row-major results in a graph that a backward pass follows")
        described = [*[each for each in inputs if each not in parts], *joined]
        text = write_region(described, ops, [known.get(node, node) for node in outputs], lead,
                            self._find_settled(described, lead) if _has_few_rows(layers[0]) else ())
        read_region(text)
        given = [part for each in described
                 for part in (each.nodes if isinstance(each, Joined) else (each,))]
        with self._graph.inserting_before(first):
            call = self._graph.call_function(torch.ops.blockscale.region.default,
                                             (given, text))
            call.meta["val"] = [node.meta["val"].contiguous() for node in outputs]
            for number, node in enumerate(outputs):
                item = self._graph.call_function(operator.getitem, (call, number))
                item.meta = dict(node.meta, val=call.meta["val"][number])
                node.replace_all_uses_with(item, delete_user_cb=lambda user: user not in inside)
        self.explanation.taken.append(("a region", tuple(node.name for node in nodes)))
        for node in reversed(nodes):
            self._graph.erase_node(node)
        self._number()

    def _find_settled(self, inputs: list[fx.Node | Joined], lead: Sequence[Any]) -> list[int]:
        """The numbers of the inputs that are no rows, as weights, if nothing writes to them that
        may still run when kernels of the region begin: they are inputs of the graph to which it
        does not write, and a call of ours is before the region. That call's first kernel begins
        when all that came before the graph has ended."""
        parts = [each.nodes if isinstance(each, Joined) else (each,) for each in inputs]
        found = [number for number, nodes in enumerate(parts)
                 if len(nodes) > 1 or not is_rows(nodes[0].meta["val"], lead)]
        if not all(_is_only_read(node) for number in found for node in parts[number]):
            return []
        return found if self._is_behind_call(nodes[0] for nodes in parts) else []

    @staticmethod
    def _is_behind_call(nodes: Iterable[fx.Node]) -> bool:
        """Whether nodes need the result of a call of ours."""
        left, seen = list(nodes), set[fx.Node]()
        while left:
            node = left.pop()
            if node not in seen:
                seen.add(node)
                if _name(node) in _CALLS:
                    return True
                left += node.all_input_nodes
        return False

    # One product of several layers.

    def _merge(self, layers: list[fx.Node]) -> list[fx.Node]:
        """Makes one product of layers of one form that read the same activations. Returns the
        layers that are left."""
        forms: dict[Any, list[fx.Node]] = {}
        for layer in layers:
            options = {name: value for name, value in layer.kwargs.items()
                       if name != "out_features"}
            present = tuple(each is None for each in layer.args)
            dtypes = tuple(each.meta["val"].dtype for each in layer.args if _is_tensor(each))
            ranks = tuple(each.meta["val"].dim() for each in layer.args if _is_tensor(each))
            forms.setdefault((str(sorted(options.items())), present, dtypes, ranks[1:]),
                             []).append(layer)
        return [layer for same in forms.values() if len(same) == 1 or not self._merge_same(same)
                for layer in same]

    def _is_saved(self, node: fx.Node) -> bool:
        """Whether a backward pass reads a node, or a view of it."""
        return self._is_saving and any(
            user.op == "output" or (_is_view(user) and self._is_saved(user))
            for user in node.users)

    def _merge_same(self, layers: list[fx.Node]) -> bool:
        first = layers[0]
        scale = first.args[3] if len(first.args) > 3 else None
        if _is_tensor(scale) and not scale.meta["val"].dim():  # type: ignore[union-attr]
            self._leave(first, "expected a global scale for each row, as layers have whose weights "
                               "lie behind one another, but got one for all")
            return False
        operands = [each for layer in layers for each in layer.all_input_nodes]
        late = [each for each in operands if self._order[each] >= self._order[first]]
        if late:
            self._leave(first, f"expected all operands before {first.name}, but got "
                               f"{late[0].name} after it")
            return False
        saved = next(filter(self._is_saved, layers), None)
        if saved is not None:
            self._leave(first, "expected results that no backward pass reads, but got "
                               f"{saved.name}")
            return False
        sizes = [layer.kwargs["out_features"] for layer in layers]
        columns: list[Any] = [list(each) for each in zip(*[
            (*layer.args, *[None] * (5 - len(layer.args))) for layer in layers])]
        options = dict(first.kwargs, out_features=sizes)
        val = first.meta["val"]
        with self._graph.inserting_before(first):
            call = self._graph.call_function(
                torch.ops.blockscale.merged_linear_weight_only.default,
                (columns[0][0], *columns[1:5]), options)
            call.meta["val"] = val.new_empty([*val.shape[:-1], sum(sizes)])
            parts = self._graph.call_function(torch.ops.aten.split_with_sizes.default,
                                              (call, sizes, -1))
            parts.meta["val"] = list(torch.split(call.meta["val"], sizes, -1))
            for number, layer in enumerate(layers):
                item = self._graph.call_function(operator.getitem, (parts, number))
                item.meta = dict(layer.meta, val=parts.meta["val"][number])
                layer.replace_all_uses_with(item)
        self.explanation.taken.append(("one product", tuple(layer.name for layer in layers)))
        for layer in layers:
            self._graph.erase_node(layer)
        self._number()
        return True


    def _allow_strides(self) -> None:
        """Lets views take what has other strides than when they were traced, as a part of a merged
        product, whose rows do not lie behind one another, and views of it. A reshape is a view
        wherever one can be."""
        for node in self._graph.nodes:
            if _name(node) == _VIEW:
                node.target = torch.ops.aten.reshape.default


class _NoCall(Exception):
    """Why nodes cannot be one call."""


def _rewrite(nodes: Iterable[fx.Node]) -> tuple[list[Op], dict[fx.Node, Any], list[Joined]]:
    """Ops as importers know them, the keys of results that other ops have then, and inputs that
    are one: conversions, variances as means of squares, and merged layers as one."""
    ops: list[Op] = []
    joined: list[Joined] = []
    known: dict[fx.Node, Any] = {}
    parts: dict[fx.Node, tuple[Key, Key]] = {}

    def map_keys(value: Any) -> Any:
        return fx.node.map_arg(value, lambda each: known.get(each, each))

    def add(name: str, *args: Any, **kwargs: Any) -> Key:
        ops.append((key := Key(), name, args, kwargs))
        return key

    for node in nodes:
        name = _name(node)
        if node.target is operator.getitem:
            source, number = node.args
            known[node] = parts[source][number]
            continue
        args = map_keys(node.args)
        if name == _CONVERT:
            ops.append((node, "aten._to_copy.default", args[:1], {"dtype": args[1]}))
        elif name == _VAR_MEAN:
            mean = add("aten.mean.dim", args[0], [-1], True)
            centred = add("aten.sub.Tensor", args[0], mean)
            square = add("aten.mul.Tensor", centred, centred)
            parts[node] = add("aten.mean.dim", square, [-1], True), mean
        elif name == MERGED:
            x, *operands = args
            weights: list[Any] = []
            for parts_of in operands:
                weights.append(None if parts_of[0] is None else Joined(tuple(parts_of)))
                if weights[-1] is not None:
                    joined.append(weights[-1])
            ops.append((node, WEIGHT_ONLY, (x, *weights),
                        dict(node.kwargs, out_features=sum(node.kwargs["out_features"]))))
        elif name == "aten.mean.dim":
            # Of the last dimension, which has another number in a region.
            ops.append((node, name, (args[0], [-1], True), {}))
        else:
            ops.append((node, name, args, map_keys(node.kwargs)))
    return ops, known, joined
