#!/usr/bin/env python3
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models of PyTorch on a GPU, quantized and compiled, beside the same on the CPU.

  scripts/gpu/check_torch.py [--commit ID] [--only PART,..]    # on the machine with the GPU
  scripts/gpu/check_torch.py --cpu                             # shows that it runs, without one

Needs torch, transformers and the package blockscale with its extra for torch. Parts:

  bytes     weights that the GPU quantizes, and activations, have the CPU's bytes
  encoder   an encoder of MiniLM's shape, both operands NVFP4 and MXFP8, by the backend
  decoder   a decoder of Llama's kind, weights alone, in a CUDA graph, too
  steps     steps of decoding with a cache
  experts   Mixtral and gpt-oss of small sizes
  lengths   50 random lengths compile once; graphs have no breaks
  threads   10 threads call 1,000 times each, with the right results and no growth of memory
  refused   wrong inputs are exceptions that say what to change, and the GPU works afterwards
  checkpoints  files that the GPU quantizes have the CPU's bytes
  ahead     a program compiled ahead, to machine code, has the CPU's bytes
  devices   where there are several GPUs, each has the first one's results, from threads, too

Prints the head of a log, and `N passed, N failed` at the end.
"""

import argparse
import copy
import itertools
import random
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks/gpu"))

from torch_models import get_position_argument, print_head, weights_only

OPS = torch.ops.blockscale
PARTS = ("bytes", "encoder", "decoder", "steps", "experts", "lengths", "threads", "refused",
         "checkpoints", "ahead", "devices")


class Checks:
    def __init__(self):
        self.passed = self.failed = 0

    def check(self, name, holds, detail=""):
        self.passed, self.failed = self.passed + bool(holds), self.failed + (not holds)
        print(f"  {'pass' if holds else 'FAIL'} {name}{': ' if detail else ''}{detail}", flush=True)


def distance(one, other):
    one, other = one.float().cpu(), other.float().cpu()
    return ((one - other).norm() / other.norm()).item()


def make(kind, **sizes):
    import transformers
    model, config = {
        "encoder": ("BertModel", "BertConfig"), "decoder": ("LlamaForCausalLM", "LlamaConfig"),
        "mixtral": ("MixtralForCausalLM", "MixtralConfig"),
        "gpt-oss": ("GptOssForCausalLM", "GptOssConfig")}[kind]
    torch.manual_seed(0)
    made = getattr(transformers, model)(getattr(transformers, config)(**sizes))
    for parameter in made.parameters():
        if parameter.dim() > 2:
            torch.nn.init.normal_(parameter, std=0.02)
    return made.bfloat16().eval()


ENCODER = dict(vocab_size=1000, hidden_size=384, intermediate_size=1536, num_hidden_layers=2,
               num_attention_heads=12)
DECODER = dict(vocab_size=1000, hidden_size=512, intermediate_size=1024, num_hidden_layers=2,
               num_attention_heads=4, num_key_value_heads=1)
MIXTRAL = dict(DECODER, num_local_experts=8, num_experts_per_tok=2)
GPT_OSS = dict(DECODER, num_local_experts=8, num_experts_per_tok=4, head_dim=128)


def both(fmt):
    return {"version": 1, "rules": [{"format": fmt}]}


def check_bytes(checks, device):
    import blockscale.torch
    x = torch.randn(300, 384).bfloat16()
    for fmt in ("nvfp4", "mxfp8", "mxfp6_e2m3", "mxfp4"):
        here, there = OPS.quantize(x, format=fmt), OPS.quantize(x.to(device), format=fmt)
        checks.check(f"activations in {fmt}",
                     all(torch.equal(a, b.cpu()) for a, b in zip(here, there)))
    for norm, fmt in itertools.product((torch.nn.LayerNorm, torch.nn.RMSNorm), ("nvfp4", "mxfp8")):
        check_norm(checks, device, norm, fmt, x)
    for fmt in ("nvfp4", "mxfp8", "mxfp4"):
        model = make("decoder", **DECODER)
        moved = copy.deepcopy(model).to(device)
        blockscale.torch.quantize_(model, weights_only(fmt))
        blockscale.torch.quantize_(moved, weights_only(fmt))
        states = model.state_dict(), moved.state_dict()
        same = [torch.equal(states[0][name], states[1][name].cpu()) for name in states[0]]
        checks.check(f"weights in {fmt}, quantized there", all(same) and len(same) > 20)
        # What was quantized here is brought into the GPU's order, and back.
        states = model.state_dict(), model.to(device).cpu().state_dict()
        checks.check(f"weights in {fmt}, moved there and back",
                     all(torch.equal(states[0][name], states[1][name]) for name in states[0]))


class QuantizedNorm(torch.nn.Module):
    """The first of a layer: what its activations are quantized to."""

    def __init__(self, norm, fmt):
        super().__init__()
        self.norm, self.fmt = norm, fmt

    def forward(self, x):
        return OPS.quantize(self.norm(x), format=self.fmt)


def check_norm(checks, device, norm, fmt, x):
    """Norms of ours have the CPU's bytes, and so have the codes of what they compute."""
    import blockscale.torch
    from blockscale.torch import _cuda
    model = QuantizedNorm(norm(x.shape[1]).bfloat16(), fmt).eval()
    torch.nn.init.normal_(model.norm.weight)
    imported = blockscale.torch.from_export(torch.export.export(model, (x,)))
    options = {} if device == "cpu" else dict(target=_cuda.get_chip(0), on="cuda")
    here, there = imported.compile()(x), imported.compile(**options)(x.to(device))
    checks.check(f"{norm.__name__}, and activations in {fmt}",
                 all(torch.equal(a.view(torch.uint8), b.cpu().view(torch.uint8))
                     for a, b in zip(here, there)))


def check_encoder(checks, device):
    import blockscale.torch
    ids = torch.randint(0, 1000, (3, 21))
    for fmt in ("nvfp4", "mxfp8"):
        model = make("encoder", **ENCODER)
        plain = model(ids).last_hidden_state
        blockscale.torch.quantize_(model, both(fmt))
        here = model(ids).last_hidden_state
        model.to(device)
        there = model(ids.to(device)).last_hidden_state
        compiled = torch.compile(model, backend="blockscale")
        found = compiled(ids.to(device)).last_hidden_state
        checks.check(f"{fmt}: layer by layer", distance(there, here) < 0.03,
                     f"{distance(there, here):.4f}")
        checks.check(f"{fmt}: compiled", distance(found, here) < 0.05,
                     f"{distance(found, here):.4f}; from plain {distance(found, plain):.3f}")
        for explanation in blockscale.torch.explain(model, ids.to(device)):
            print("   ", str(explanation).replace("\n", "\n    "))


def check_graph(checks, name, compiled, ids, wanted):
    """The same in a CUDA graph, for other tokens than it was captured with."""
    static = ids.clone().fill_(1)
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(3):
            compiled(static)
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        out = compiled(static)
    static.copy_(ids)
    graph.replay()
    torch.cuda.synchronize()
    checks.check(f"{name}: in a CUDA graph", torch.equal(out, wanted))


def check_decoder(checks, device):
    import blockscale.torch
    for fmt, count in (("nvfp4", 1), ("mxfp8", 40), ("mxfp4", 300), ("mxfp6_e3m2", 5)):
        ids = torch.randint(0, 1000, (1, count))
        model = make("decoder", **DECODER)
        blockscale.torch.quantize_(model, weights_only(fmt))
        here = model(ids, use_cache=False).logits
        model.to(device)
        there = model(ids.to(device), use_cache=False).logits
        checks.check(f"{fmt}, {count} tokens: layer by layer", distance(there, here) < 0.02,
                     f"{distance(there, here):.4f}")
        compiled = torch.compile(lambda ids: model(ids, use_cache=False).logits,
                                 backend="blockscale")
        found = compiled(ids.to(device))
        checks.check(f"{fmt}, {count} tokens: compiled", distance(found, here) < 0.02,
                     f"{distance(found, here):.4f}")
        if device != "cpu":
            check_graph(checks, f"{fmt}, {count} tokens", compiled, ids.to(device), found)
            torch._dynamo.reset()
            compiled = torch.compile(lambda ids: model(ids, use_cache=False).logits,
                                     backend="blockscale", mode="reduce-overhead")
            for _ in range(4):
                found = compiled(ids.to(device)).clone()
            checks.check(f"{fmt}, {count} tokens: reduce-overhead", distance(found, here) < 0.02,
                         f"{distance(found, here):.4f}")
        torch._dynamo.reset()


def check_steps(checks, device):
    """Steps of decoding by the backend, whose attentions are products, beside the model's."""
    from transformers import StaticCache

    import blockscale.torch
    model = make("decoder", **DECODER)
    blockscale.torch.quantize_(model, weights_only("nvfp4"))
    model.to(device)
    heard = []

    def decode(compile):
        cache = StaticCache(config=model.config, max_cache_len=96)

        def step(ids, position):
            return model(ids, past_key_values=cache, use_cache=True,
                         **get_position_argument(model, position)).logits[:, -1]
        torch.manual_seed(0)
        found = [step(torch.randint(0, 1000, (2, 50), device=device),
                      torch.arange(50, device=device))]
        step = compile(step)
        found += [step(torch.randint(0, 1000, (2, 1), device=device),
                       torch.tensor([number], device=device)) for number in range(50, 60)]
        return torch.stack(found)

    def compile(function):
        import blockscale.torch._backend as backend
        compiled = torch.compile(function, backend="blockscale", fullgraph=True)

        def call(*args):
            with backend._listen() as explanations:
                found = compiled(*args)
            heard.extend(explanations)
            return found.clone()
        return call
    wanted, found = decode(lambda function: function), decode(compile)
    taken = [what for explanation in heard for what, _ in explanation.taken]
    is_rewritten = device == "cpu" or taken.count("products in place of") == 2
    checks.check("10 steps of decoding", distance(found, wanted) < 0.02 and is_rewritten,
                 f"{distance(found, wanted):.4f}; took {taken}")


def check_experts(checks, device):
    import blockscale.torch
    for kind, sizes, fmt in (("mixtral", MIXTRAL, "nvfp4"), ("gpt-oss", GPT_OSS, "mxfp4"),
                             ("mixtral", MIXTRAL, "exact")):
        model = make(kind, **sizes)
        ids = torch.randint(0, 1000, (2, 33))
        blockscale.torch.quantize_(model, both("nvfp4") if fmt == "exact" else weights_only(fmt))
        here = model(ids, use_cache=False).logits
        model.to(device)
        there = model(ids.to(device), use_cache=False).logits
        # A token near two experts may take the other one, since sums have another order.
        bound = 0.3 if fmt == "exact" else 0.1
        checks.check(f"{kind}, {fmt}: layer by layer", distance(there, here) < bound,
                     f"{distance(there, here):.4f}")
        compiled = torch.compile(lambda ids: model(ids, use_cache=False).logits,
                                 backend="blockscale", fullgraph=True)
        found = compiled(ids.to(device))
        checks.check(f"{kind}, {fmt}: compiled", distance(found, here) < bound,
                     f"{distance(found, here):.4f}")
        torch._dynamo.reset()


def check_lengths(checks, device):
    import blockscale.torch
    generator = random.Random(0)
    for kind, sizes, policy in (("encoder", ENCODER, both("mxfp8")),
                                ("decoder", DECODER, weights_only("nvfp4"))):
        model = make(kind, **sizes)
        blockscale.torch.quantize_(model, policy)
        model.to(device)
        torch._dynamo.reset()
        torch._dynamo.utils.counters.clear()
        compiled = torch.compile(model, backend="blockscale", dynamic=True, fullgraph=True)
        wrong = []
        for length in [17, *[generator.randint(2, 500) for _ in range(50)]]:
            ids = torch.randint(0, 1000, (2, length), device=device)
            found, wanted = compiled(ids)[0], model(ids)[0]
            if not distance(found, wanted) < 0.05:
                wrong.append(length)
        graphs = torch._dynamo.utils.counters["stats"]["unique_graphs"]
        checks.check(f"{kind}: 50 lengths", graphs == 1 and not wrong,
                     f"{graphs} graphs, wrong at {wrong}")
        explained = torch._dynamo.explain(model)(ids)
        checks.check(f"{kind}: no graph break", explained.graph_break_count == 0,
                     f"{explained.graph_count} graphs, {explained.op_count} ops")


def check_threads(checks, device):
    data, scales = OPS.quantize(torch.randn(256, 128).bfloat16(), format="nvfp4")
    from blockscale.torch._forms import get_layout
    layout = get_layout(torch.device(device, 0) if device != "cpu" else torch.device("cpu"), True)
    options = dict(out_features=256, format="nvfp4", layout=layout)
    data, scales = (each.to(device) for each in OPS.pack(
        data, scales, out_features=256, in_features=128, format="nvfp4", before="row_major",
        after=layout))
    inputs = [torch.randn(rows, 128, device=device).bfloat16() for rows in (1, 7, 33, 130)]

    def call(x):
        return OPS.linear_weight_only(x, data, scales, None, None, **options)
    wanted = [call(x) for x in inputs]
    wrong = []

    def work(number):
        stream = torch.cuda.Stream() if device != "cpu" else None
        with torch.no_grad(), torch.cuda.stream(stream):
            for turn in range(1000 if device != "cpu" else 20):
                which = (number + turn) % len(inputs)
                found = call(inputs[which])
                if turn % 50 == 0:
                    if stream:
                        stream.synchronize()
                    if not torch.equal(found, wanted[which]):
                        wrong.append((number, turn))
    if device != "cpu":
        torch.cuda.synchronize()
    before = torch.cuda.memory_allocated() if device != "cpu" else 0
    start = time.perf_counter()
    threads = [threading.Thread(target=work, args=(number,)) for number in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    seconds = time.perf_counter() - start
    if device != "cpu":
        torch.cuda.synchronize()
    grown = (torch.cuda.memory_allocated() if device != "cpu" else 0) - before
    checks.check("10 threads", not wrong and grown == 0,
                 f"{seconds:.1f} s, wrong {wrong[:3]}, {grown} bytes more")


def check_refused(checks, device):
    import blockscale
    if device == "cpu":
        print("  needs a GPU")
        return
    from blockscale.torch._forms import get_layout
    layout = get_layout(torch.device(device, 0), True)
    x = torch.randn(4, 128, device=device).bfloat16()
    row_major = OPS.quantize(torch.randn(128, 128, device=device).bfloat16(), format="nvfp4")
    data, scales = OPS.pack(*row_major, out_features=128, in_features=128, format="nvfp4",
                            before="row_major", after=layout)
    one = torch.tensor(1.0, device=device)
    linear = dict(out_features=128, format="nvfp4", layout=layout)
    exact = dict(linear, input_format="nvfp4")
    ends = torch.tensor([4], dtype=torch.int32, device=device)
    wide = OPS.linear_weight_only
    cases = [
        ("x in the CPU's memory", lambda: wide(x.cpu(), data, scales, None, None, **linear)),
        ("data there", lambda: wide(x, data.cpu(), scales, None, None, **linear)),
        ("scales there", lambda: wide(x, data, scales.cpu(), None, None, **linear)),
        ("a bias there", lambda: wide(x, data, scales, None, torch.zeros(128), **linear)),
        ("a global scale there", lambda: wide(x, data, scales, one.cpu(), None, **linear)),
        ("f32 x", lambda: wide(x.float(), data, scales, None, None, **linear)),
        ("f64 x", lambda: wide(x.double(), data, scales, None, None, **linear)),
        ("integers", lambda: wide(x.long(), data, scales, None, None, **linear)),
        ("fewer columns", lambda: wide(x[:, :64], data, scales, None, None, **linear)),
        ("no whole blocks", lambda: wide(x[:, :100], data, scales, None, None, **linear)),
        ("codes of another dtype", lambda: wide(x, data.int(), scales, None, None, **linear)),
        ("codes of other rows", lambda: wide(x, data[1:], scales, None, None, **linear)),
        ("scales of other rows", lambda: wide(x, data, scales[..., 1:], None, None, **linear)),
        ("other out_features", lambda: wide(x, data, scales, None, None,
                                            **dict(linear, out_features=500))),
        ("another order", lambda: wide(x, data, scales, None, None,
                                       **dict(linear, layout="row_major"))),
        ("no order", lambda: wide(x, data, scales, None, None, **dict(linear, layout="best"))),
        ("no format", lambda: wide(x, data, scales, None, None, **dict(linear, format="fp4"))),
        ("f64 global scale", lambda: wide(x, data, scales, one.double(), None, **linear)),
        ("global scales of 3", lambda: wide(x, data, scales, one.repeat(3), None, **linear)),
        ("a global scale without memory", lambda: wide(x, data, scales, one.expand(128), None,
                                                       **linear)),
        ("codes with gaps", lambda: wide(x, torch.stack([data, data], -1)[..., 0], scales, None,
                                         None, **linear)),
        ("a short bias", lambda: wide(x, data, scales, None, one.repeat(3), **linear)),
        ("a bias of integers", lambda: wide(x, data, scales, None, one.repeat(128).long(),
                                            **linear)),
        ("transforms of f16", lambda: wide(x.half(), data, scales, None, None,
                                           **dict(linear, rht=True))),
        ("no input scale", lambda: OPS.linear_quantized(
            x, data, scales, None, None, None, **dict(exact, input_scaling="amax"))),
        ("a needless input scale", lambda: OPS.linear_quantized(
            x, data, scales, None, None, one, **exact)),
        ("an unknown scaling", lambda: OPS.linear_quantized(
            x, data, scales, None, None, None, **dict(exact, input_scaling="best"))),
        ("MX beside NVFP4", lambda: OPS.linear_quantized(
            x, data, scales, None, None, None, **dict(exact, input_format="mxfp8"))),
        ("offsets of int64", lambda: OPS.grouped_linear_weight_only(
            x, data[None], scales[None], None, None, ends.long(), **linear)),
        ("offsets there", lambda: OPS.grouped_linear_weight_only(
            x, data[None], scales[None], None, None, ends.cpu(), **linear)),
        ("no stack", lambda: OPS.grouped_linear_weight_only(
            x, data, scales, None, None, ends, **linear)),
        ("a row to quantize", lambda: OPS.quantize(x[0], format="nvfp4")),
        ("integers to quantize", lambda: OPS.quantize(x.long(), format="nvfp4")),
        ("no recipe", lambda: OPS.quantize(x, format="nvfp4", recipe="best")),
    ]
    wanted = wide(x, data, scales, None, None, **linear)
    for name, function in cases:
        try:
            function()
            torch.cuda.synchronize()
            checks.check(name, False, "no exception")
        except Exception as error:  # Whatever is raised is judged below.
            kind, text = type(error), str(error).splitlines()[0]
            holds = isinstance(error, blockscale.Error) and "expected" in text
            checks.check(name, holds, f"{kind.__name__}: {text[:160]}")
    # Views whose address and strides tensor maps do not take are copied.
    torch.testing.assert_close(wide(torch.cat([x, x], 1)[:, 1:129], data, scales, None, None,
                                    **linear),
                               wide(torch.cat([x, x], 1)[:, 1:129].clone(), data, scales, None,
                                    None, **linear))
    checks.check("the GPU works afterwards",
                 torch.equal(wide(x, data, scales, None, None, **linear), wanted))


def check_checkpoints(checks, device):
    """Files that the GPU quantizes, in every layout, beside those of the CPU."""
    from blockscale import checkpoint
    from blockscale._native._checkpoint import lay_out
    from blockscale.checkpoint._quantize import _gpu
    _gpu.DEVICE = device
    on = "cpu" if device == "cpu" else "cuda"
    generator = torch.Generator().manual_seed(0)
    with tempfile.TemporaryDirectory() as folder:
        for kind, dtype in (("BF16", torch.bfloat16), ("F16", torch.float16),
                            ("F32", torch.float32)):
            tensors = {f"{name}.weight": torch.randn(shape, generator=generator).to(dtype)
                       for name, shape in (("a.gate_proj", (4096, 1024)),
                                           ("a.up_proj", (4096, 1024)),
                                           ("a.down_proj", (1024, 4096)))}
            layout = lay_out("safetensors", [(name, kind, tuple(x.shape))
                                             for name, x in tensors.items()])
            data = bytearray(layout.nbytes)
            data[:len(layout.header)] = layout.header
            for offset, x in zip(layout.offsets, tensors.values()):
                data[offset:offset + x.nbytes] = x.reshape(-1).view(torch.uint8).numpy().tobytes()
            source = Path(folder, f"{kind}.safetensors")
            source.write_bytes(data)
            for family, rule in (
                    ("modelopt", {"format": "nvfp4"}), ("compressed-tensors", {"format": "nvfp4"}),
                    ("modelopt", {"format": "nvfp4", "recipe": "te"}),
                    ("modelopt", {"format": "nvfp4", "recipe": "te_4over6_mse"}),
                    ("modelopt", {"format": "nvfp4", "weights": {"sweep": True}}),
                    ("torchao", {"format": "nvfp4"}), ("modelopt", {"format": "mxfp8"}),
                    ("compressed-tensors", {"format": "mxfp4"})):
                if rule["format"] == "nvfp4":
                    rule = {**rule, "activations": {"global_scale": {"amax": 4.0},
                                                    "recipe": rule.get("recipe", "modelopt")}}
                made = []
                for number, place in enumerate(("cpu", on)):
                    path = Path(folder, f"{number}.safetensors")
                    path.unlink(missing_ok=True)
                    checkpoint.quantize(source, path, {"version": 1, "rules": [rule]},
                                        layout=family, on=place)
                    made.append(path.read_bytes())
                checks.check(f"{family} {kind} {rule}", made[0] == made[1])


class QuantizedMlp(torch.nn.Module):
    """Codes and scales of what a small network computes from small whole numbers, whose sums are
    exact in any order."""

    def __init__(self):
        super().__init__()
        self.first = torch.nn.Linear(64, 96)
        with torch.no_grad():
            for each in (self.first.weight, self.first.bias):
                each.copy_(torch.randint(-3, 4, each.shape))

    def forward(self, x):
        return OPS.quantize(torch.relu(self.first(x)), format="nvfp4")


def check_ahead(checks, device):
    import blockscale.torch
    from blockscale.torch import _cuda
    torch.manual_seed(0)
    model, x = QuantizedMlp(), torch.randint(-3, 4, (5, 64)).float()
    rows = torch.export.Dim("rows", min=2, max=1000)
    imported = blockscale.torch.from_export(
        torch.export.export(model, (x,), dynamic_shapes={"x": {0: rows}}))
    on, target = ("cpu", "cpu") if device == "cpu" else ("cuda", _cuda.get_chip(0))
    ahead = imported.compile_ahead(targets=[target])
    here = imported.compile()
    functions = {"loaded": imported.load(ahead, target=target, on=on),
                 "compiled": imported.compile(target=target, on=on)}
    for name, there in functions.items():
        checks.check(name, there.compiled.is_loaded == (name == "loaded") and all(
            torch.equal(one, other.cpu()) for rows in (2, 5, 300) for one, other in zip(
                here(x[:1].repeat(rows, 1)), there(x[:1].repeat(rows, 1).to(device)))))
    checks.check("the file has machine code", b"\x7fELF" in ahead, f"{len(ahead)} bytes")


def check_devices(checks, device):
    import blockscale
    import blockscale.torch
    count = 0 if device == "cpu" else torch.cuda.device_count()
    if count < 2:
        print(f"  needs several GPUs, but there is {count}")
        return
    model = make("decoder", **DECODER)
    blockscale.torch.quantize_(model, weights_only("nvfp4"))
    models = [copy.deepcopy(model).to(f"cuda:{number}") for number in range(count)]
    ids = torch.randint(0, 1000, (2, 33))

    def run(number, function=None):
        with torch.no_grad():
            model = models[number] if function is None else function
            return model(
                ids.to(f"cuda:{number}"), use_cache=False).logits.cpu()
    wanted = run(0)
    checks.check("layer by layer", all(torch.equal(run(each), wanted) for each in range(count)))
    compiled = [torch.compile(each, backend="blockscale", fullgraph=True) for each in models]
    found = [run(number, function) for number, function in enumerate(compiled)]
    checks.check("compiled", all(torch.equal(each, found[0]) for each in found))
    with ThreadPoolExecutor(count) as pool:
        turns = [number for _ in range(50) for number in range(count)]
        checks.check("from threads", all(torch.equal(each, wanted)
                                         for each in pool.map(run, turns)))
    layer = models[0].model.layers[0].mlp.gate_proj
    try:
        layer(torch.zeros(2, 512, device="cuda:1", dtype=torch.bfloat16))
        checks.check("x on another GPU", False, "no exception")
    except blockscale.Error as error:
        checks.check("x on another GPU", "expected" in str(error), str(error).splitlines()[0])


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--commit", default="unknown", help="for the head of the log")
    parser.add_argument("--cpu", action="store_true", help="without a GPU")
    parser.add_argument("--only", default=",".join(PARTS))
    options = parser.parse_args()
    device = "cpu" if options.cpu else "cuda"
    print_head(options.commit)
    import blockscale.torch  # noqa: F401 (defines the ops)
    checks = Checks()
    for part in options.only.split(","):
        print(part, flush=True)
        start = time.perf_counter()
        try:
            with torch.no_grad():
                globals()[f"check_{part}"](checks, device)
        except Exception as error:  # The other parts still run.
            checks.check(part, False, f"{type(error).__name__}: {error}")
        torch._dynamo.reset()
        print(f"  {time.perf_counter() - start:.1f} s", flush=True)
    print(f"{checks.passed} passed, {checks.failed} failed")
    return 1 if checks.failed or not checks.passed else 0


if __name__ == "__main__":
    sys.exit(main())
