#!/usr/bin/env python3
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Layers of order chain on a GPU: the bits of PyTorch, and of a row in any company.

  scripts/gpu/check_same_bits.py [--draws N] [--seed S] [--only PART,..]  # on the machine with it
  scripts/gpu/check_same_bits.py --cpu                # what needs no GPU, shorter

Needs torch and the package blockscale. Parts:

  layers   QuantizedLinear has the bits of F.linear of the dequantized weight, at many M
  experts  QuantizedStack has those of F.linear of each group
  rows     a model of norms, linear layers, gated MLPs and experts gives a row the same bits
           alone and in random batches, layer by layer and compiled; N draws of each
  ops      norm, softmax, rotary embedding and attention give a row the same bits alone, in random
           batches and with padding; N draws of each
  model    log-probabilities of a decoder of Qwen3's kind, in batches of 1 to 64 sequences that
           are padded, are those of the bf16 model of the dequantized weights in one pass

The other side of `layers`, `experts` and `model` is cuBLAS without workspace, which splits no K,
on a Hopper GPU. Prints `N passed, N failed` at the end.
"""

import argparse
import copy
import os
import sys

# Before torch is imported: cuBLAS splits K where it has memory for sums.
os.environ |= {"CUBLAS_WORKSPACE_CONFIG": ":0:0", "CUBLASLT_WORKSPACE_SIZE": "0"}

import torch
from torch import nn
from torch.nn import functional as F

import blockscale.torch

OPS = torch.ops.blockscale
PARTS = ("layers", "experts", "rows", "ops", "model")
#: An amax of which NVFP4's global scale, amax / 2688, is a power of two.
EXACT = {"amax": 2688.0 * 2.0 ** -9}
RULES = {
    "MXFP8": {"format": "mxfp8", "weight_only": True},
    "MXFP4": {"format": "mxfp4", "weight_only": True},
    "NVFP4, no global scale": {"format": "nvfp4", "weight_only": True, "global_scale": "none"},
    "NVFP4, a power of two": {"format": "nvfp4", "weight_only": True, "global_scale": EXACT},
    "MXFP8 by MXFP8": {"format": "mxfp8"},
    "NVFP4 by NVFP4": {"format": "nvfp4", "global_scale": EXACT},
}
ROWS = (1, 2, 16, 17, 64, 100, 128, 256, 1000, 4096)
WEIGHTS = ((4096, 4096), (1024, 2880))


class Checks:
    def __init__(self):
        self.passed = self.failed = 0

    def check(self, name, differ, total):
        """That 0 of the outputs differ."""
        self.passed, self.failed = self.passed + (not differ), self.failed + bool(differ)
        print(f"  {'FAIL' if differ else 'pass'} {name}: {differ} of {total} differ", flush=True)


def count_different(one, other):
    kind = {2: torch.int16, 4: torch.int32}[one.element_size()]
    return int((one.contiguous().view(kind) != other.contiguous().view(kind)).sum())


def draw(*shape, device, spread=2.0):
    exponents = (torch.randn(*shape, device=device) * spread).round()
    return (torch.randn(*shape, device=device) * torch.exp2(exponents)).bfloat16()


def quantize(model, rule, order="chain"):
    policy = {"version": 1, "leave_last_projection": False, "rules": [rule]}
    blockscale.torch.quantize_(model, policy, order=order)
    return model


def through(module, x):
    """What a layer multiplies x as: its own values, or those of its codes."""
    form = module.form.activation
    if form is None:
        return x
    scale = None if module.input_global is None else module.input_global / 2688
    data, scales = OPS.quantize(x, scale, format=form.format)
    return OPS.dequantize(data, scales, scale, in_features=x.shape[-1], format=form.format,
                          dtype=torch.bfloat16)


def make_layer(rule, n, k, device, bias=False):
    model = nn.Sequential(nn.Linear(k, n, bias=bias)).bfloat16().eval().to(device)
    model[0].weight.copy_(draw(n, k, device=device) / 16)
    return model


def join_layers(layers):
    """The experts whose weights and biases are those of quantized layers without global scales."""
    from blockscale.torch import QuantizedStack
    device = layers[0].data.device
    # On the CPU their codes are in row-major order, as a stack takes them.
    layers = [copy.deepcopy(each).cpu() for each in layers]
    first = layers[0]
    data, scales, bias = (None if getattr(first, name) is None else
                          torch.stack([getattr(each, name) for each in layers])
                          for name in ("data", "scales", "bias"))
    return QuantizedStack(data, scales, None, bias, in_features=first.in_features,
                          out_features=first.out_features, form=first.form).to(device)


def check_layers(checks, device, draws):
    for name, rule in RULES.items():
        free = differ = total = 0
        for (n, k), bias in zip(WEIGHTS, (False, True)):
            plain = make_layer(rule, n, k, device, bias)
            layer = quantize(copy.deepcopy(plain), rule)[0]
            other = quantize(plain, rule, "free")[0]
            weight = layer.weight.dequantize()
            for rows in ROWS:
                x = draw(rows, k, device=device)
                wanted = F.linear(through(layer, x), weight, layer.bias)
                differ += count_different(layer(x), wanted)
                free += count_different(other(x), wanted)
                total += wanted.numel()
        checks.check(f"{name} beside F.linear (free order: {free})", differ, total)


def check_experts(checks, device, draws):
    for name in ("MXFP8", "NVFP4, no global scale", "MXFP8 by MXFP8"):
        stack = join_layers([
            quantize(make_layer(RULES[name], 1024, 2048, device, True), RULES[name])[0]
            for _ in range(8)])
        differ = total = 0
        for counts in ((1, 16, 100, 0, 333, 512, 7, 64), (0, 0, 1, 0, 2, 0, 1, 0), (2048,) * 8):
            ends = torch.tensor(counts).cumsum(0)
            x = draw(int(ends[-1]), 2048, device=device)
            y, values = stack(x, ends.int().to(device)), stack.weight.dequantize()
            for group, (count, end) in enumerate(zip(counts, ends.tolist())):
                rows = slice(end - count, end)
                wanted = F.linear(through(stack, x[rows]), values[group], stack.bias[group])
                differ += count_different(y[rows], wanted)
                total += wanted.numel()
        checks.check(f"{name}, 8 groups beside F.linear", differ, total)


class Experts(nn.Module):
    """Experts that a quantized layer routes to: rows are sorted by their expert."""

    def __init__(self, count, width, inner):
        super().__init__()
        self.count = count
        self.router = nn.Linear(width, count * 4, bias=False)
        self.ups = nn.ModuleList(nn.Linear(width, inner, bias=False) for _ in range(count))

    def join(self):
        """The quantized layers of all experts as one stack."""
        self.ups = join_layers(list(self.ups))

    def forward(self, x):
        chosen = self.router(x)[:, :self.count].float().argmax(-1)
        order = torch.sort(chosen, stable=True).indices
        ends = torch.searchsorted(chosen[order], torch.arange(self.count, device=x.device),
                                  right=True).int()
        y = self.ups(x[order], ends)
        return torch.empty_like(y).index_copy_(0, order, y)


class Block(nn.Module):
    """The parts of a model whose rows do not read one another."""

    def __init__(self, width=512):
        super().__init__()
        self.norm, self.last = nn.RMSNorm(width), nn.RMSNorm(width)
        self.gate, self.up = (nn.Linear(width, 1536, bias=False) for _ in range(2))
        self.down = nn.Linear(1536, width, bias=False)
        self.experts = Experts(8, width, width)
        self.head = nn.Linear(width, 1024)

    def forward(self, x):
        h = self.norm(x)
        x = x + self.down(F.silu(self.gate(h)) * self.up(h))
        return self.head(x + self.experts(self.last(x)))


def check_rows(checks, device, draws):
    random = torch.Generator().manual_seed(torch.initial_seed())

    def choose(least, most):
        return int(torch.randint(least, most + 1, (), generator=random))
    for name in ("MXFP8", "NVFP4, no global scale", "MXFP8 by MXFP8"):
        model = quantize(Block().bfloat16().eval().to(device), RULES[name])
        model.experts.join()
        compiled = torch.compile(model, backend="blockscale", dynamic=True,
                                 options={"rest": "eager"})
        for kind, call in (("layer by layer", model), ("compiled", compiled)):
            rows = draw(256, 512, device=device, spread=1)
            alone = torch.cat([call(row[None]) for row in rows[:32]])
            differ = total = 0
            for _ in range(draws):
                count, start = choose(2, 256), choose(0, 31)
                others = torch.randperm(256, generator=random)[:count].to(device)
                place = choose(0, count - 1)
                others[place] = start
                y = call(rows[others])[place]
                differ += count_different(y, alone[start])
                total += y.numel()
            checks.check(f"{name}, {kind}: rows of {draws} batches of 2 to 256", differ, total)


def check_ops(checks, device, draws):
    random = torch.Generator().manual_seed(torch.initial_seed())

    def choose(least, most):
        return int(torch.randint(least, most + 1, (), generator=random))

    def check(name, call, rows, alone):
        """That `call`, of the rows of some numbers, gives each what it has alone."""
        differ = total = 0
        for _ in range(draws):
            numbers = torch.randperm(rows, generator=random)[:choose(2, rows)]
            found = call(numbers.to(device))
            for place, number in enumerate(numbers.tolist()):
                differ += count_different(found[place], alone[number])
                total += found[place].numel()
        checks.check(f"{name}: rows of {draws} batches of 2 to {rows}", differ, total)

    for dtype in (torch.bfloat16, torch.float16, torch.float32):
        kind = str(dtype).removeprefix("torch.")
        for width in (64, 1000, 4096):
            x = draw(96, width, device=device).to(dtype)
            weight = draw(1, width, device=device)[0].to(dtype)
            check(f"rms_norm {kind} {width}",
                  lambda numbers: OPS.rms_norm(x[numbers], weight, 1e-6), 96,
                  [OPS.rms_norm(row[None], weight, 1e-6)[0] for row in x])
            padded = F.pad(x, (0, 777), value=-torch.inf)
            for name in ("softmax", "log_softmax"):
                op = getattr(OPS, name)
                check(f"{name} {kind} {width}, padded",
                      lambda numbers: op(padded[numbers])[:, :width], 96,
                      [op(row[None])[0] for row in x])
        q = draw(96, 8, 3, 128, device=device).to(dtype)
        cos, sin = (draw(96, 1, 3, 128, device=device, spread=1) for _ in range(2))
        check(f"rotary_embedding {kind}",
              lambda numbers: OPS.rotary_embedding(q[numbers], cos[numbers], sin[numbers]), 96,
              [OPS.rotary_embedding(*(each[i:i + 1] for each in (q, cos, sin)))[0]
               for i in range(96)])
        check_attention(checks, device, draws, choose, dtype, kind)


def check_attention(checks, device, draws, choose, dtype, kind):
    """Queries of sequences of one to 700 keys, one at a time over just their keys; and of random
    ranges of queries in batches, over keys that are padded with NaN."""
    count, heads, groups, width, longest = 6, 8, 2, 64, 700
    lengths = torch.tensor([choose(1, longest) for _ in range(count - 1)] + [longest])
    q, k, v = (draw(count, each, longest, width, device=device, spread=1).to(dtype)
               for each in (heads, groups, groups))
    wanted = torch.zeros_like(q)
    for number, length in enumerate(lengths.tolist()):
        # All of the shortest ones, and some of each.
        for place in range(0, length, 1 if length < 100 else 37):
            part = slice(number, number + 1)
            wanted[part, :, place:place + 1] = OPS.attention(
                q[part, :, place:place + 1], k[part, :, :place + 1], v[part, :, :place + 1])
    differ = total = 0
    for number in range(draws):
        chosen = torch.randperm(count)[:choose(1, count)]
        first = choose(0, longest - 1)
        queries = torch.arange(first, min(longest, first + choose(1, 80)))
        padding = choose(0, 300)
        keys, values = (F.pad(each[chosen], (0, 0, 0, padding), value=torch.nan)
                        for each in (k, v))
        options = {"lengths": lengths[chosen].to(device), "positions": queries.to(device)}
        mask = None
        if number % 3 == 1:  # The same by a mask.
            seen = torch.arange(keys.shape[2])
            mask = ((seen <= queries[:, None]) & (seen < lengths[chosen, None, None])
                    )[:, None].to(device)
            options = {}
        found = OPS.attention(q[chosen][:, :, queries], keys, values, mask, **options)
        for place, sequence in enumerate(chosen.tolist()):
            length = int(lengths[sequence])
            for at, query in enumerate(queries.tolist()):
                if query < length and query % (1 if length < 100 else 37) == 0:
                    differ += count_different(found[place, :, at], wanted[sequence, :, query])
                    total += heads * width
    checks.check(f"attention {kind}: queries of {draws} batches of 1 to {count} sequences",
                 differ, total)


class Norm(nn.RMSNorm):
    """A norm whose sums have BlockScale's order."""

    def forward(self, x):
        return OPS.rms_norm(x, self.weight, self.eps)


class Layer(nn.Module):
    """A layer of Qwen3's kind. What is not a linear layer is an op whose rows have the same bits in
    any company, or one on elements."""

    def __init__(self, width, heads, groups, size, inner):
        super().__init__()
        self.size = size
        self.q_proj = nn.Linear(width, heads * size, bias=False)
        self.k_proj, self.v_proj = (nn.Linear(width, groups * size, bias=False) for _ in range(2))
        self.o_proj = nn.Linear(heads * size, width, bias=False)
        self.q_norm, self.k_norm = Norm(size), Norm(size)
        self.gate_proj, self.up_proj = (nn.Linear(width, inner, bias=False) for _ in range(2))
        self.down_proj = nn.Linear(inner, width, bias=False)
        self.before, self.behind = Norm(width), Norm(width)

    def forward(self, x, tables, lengths):
        h = self.before(x)
        q, k, v = (each(h).unflatten(-1, (-1, self.size)).transpose(1, 2)
                   for each in (self.q_proj, self.k_proj, self.v_proj))
        q, k = (OPS.rotary_embedding(each, *tables) for each in (self.q_norm(q), self.k_norm(k)))
        made = OPS.attention(q, k, v, lengths=lengths, causal=True)
        x = x + self.o_proj(made.transpose(1, 2).flatten(2))
        h = self.behind(x)
        return x + self.down_proj(F.silu(self.gate_proj(h)) * self.up_proj(h))


class Decoder(nn.Module):
    def __init__(self, words=1024, width=256, layers=2, heads=4, groups=2, size=64, inner=768):
        super().__init__()
        self.size = size
        self.embed = nn.Embedding(words, width)
        self.layers = nn.ModuleList(Layer(width, heads, groups, size, inner)
                                    for _ in range(layers))
        self.norm, self.lm_head = Norm(width), nn.Linear(width, words, bias=False)

    def forward(self, tokens, lengths):
        """The log-probabilities [B, T, words] of sequences with padding behind their lengths."""
        places = torch.arange(tokens.shape[1], device=tokens.device)
        angles = places[:, None] * 10000.0 ** -(torch.arange(
            self.size // 2, device=tokens.device) * 2 / self.size)
        angles = torch.cat([angles, angles], -1)
        x = self.embed(tokens)
        for layer in self.layers:
            x = layer(x, (angles.cos(), angles.sin()), lengths)
        return OPS.log_softmax(self.lm_head(self.norm(x)).float())


def check_model(checks, device, draws, length=160, count=128):
    for name in ("NVFP4, a power of two", "MXFP8", "MXFP4"):
        plain = Decoder().bfloat16().eval().to(device)
        ours = quantize(copy.deepcopy(plain), RULES[name])
        for path, module in ours.named_modules():
            if hasattr(module, "form"):
                plain.get_submodule(path).weight.copy_(module.weight.dequantize())
        tokens = torch.randint(0, 1024, (count, length), device=device)
        lengths = torch.randint(1, length + 1, (count,))
        wanted = plain(tokens, torch.full((count,), length, device=device))
        differ = total = start = 0
        sizes = []
        while start < count:
            size = 64 if not sizes else int(torch.randint(1, 33, ()))
            sizes.append(size)
            batch = torch.arange(start, min(start + size, count))
            # Behind the end of a sequence there is padding, which no token of it reads.
            longest = int(lengths[batch].max())
            padded = torch.where(torch.arange(longest)[None] < lengths[batch, None],
                                 tokens[batch, :longest].cpu(), 0).to(device)
            found = ours(padded, lengths[batch].to(device))
            for place, number in enumerate(batch.tolist()):
                one, other = (each[:lengths[number]].view(torch.int32)
                              for each in (found[place], wanted[number]))
                differ += int((one != other).sum())
                total += one.numel()
            start += size
        checks.check(f"{name}: log-probabilities of {count} sequences in {len(sizes)} batches",
                     differ, total)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--cpu", action="store_true")
    parser.add_argument("--draws", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default=",".join(PARTS))
    options = parser.parse_args()
    wanted = options.only.split(",")
    unknown = [each for each in wanted if each not in PARTS]
    if unknown:
        parser.error(f"expected parts of {', '.join(PARTS)}, but got {', '.join(unknown)}")
    device = "cpu" if options.cpu else "cuda"
    if options.cpu:
        # The CPU's products of PyTorch add in other orders.
        wanted, options.draws = ["rows", "ops"], min(options.draws, 2)
    else:
        print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}, seed {options.seed}")
    checks = Checks()
    with torch.no_grad():
        for part in wanted:
            print(part, flush=True)
            torch.manual_seed(options.seed)
            globals()[f"check_{part}"](checks, device, options.draws)
    print(f"{checks.passed} passed, {checks.failed} failed")
    return 1 if checks.failed or not checks.passed else 0


if __name__ == "__main__":
    sys.exit(main())
