#!/usr/bin/env python3
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Curves of the loss of a small GPT, trained on bytes of English text in each form.

  apt-get install dict-gcide                                        # 40 MB of a dictionary
  python3 benchmarks/gpu/train_curves.py [--commit ID] [--out FOLDER]    # on the machine with GPUs
  python3 benchmarks/gpu/train_curves.py --tiny [--text FILE]            # a small one, on the CPU

Needs torch and the package blockscale with its extra for torch. The model has 25 M parameters in
f32: 8 layers of width 512, heads of 64, and 256 tokens, the bytes. Products are those of autocast
in bf16, and in the linear layers of the blocks those of a form:

  bf16                 plain layers
  mxfp8, nvfp4         blockscale.torch.prepare_training_
  nvfp4-plain          nvfp4 without the Hadamard transform
  nvfp4-nearest        nvfp4 without stochastic rounding
  nvfp4-rows           nvfp4 with weights in blocks of a row of 16, not 16x16
  nvfp4-last1, -last2  nvfp4 with the last block, or the last two, of plain layers

A step is AdamW's with 64 sequences of 256 bytes, drawn from the first 32 MiB of the text by the
seed, in each form the same. The model is compiled whole, once for all seeds of a form, and a step
is one CUDA graph. Forms are processes, all at once, spread over the GPUs. `nvfp4` is trained with
its first seed twice.

Prints the losses of each form: the mean of three seeds at some steps, each seed's mean over the
last steps, and that over bf16's. Then come the sums of a product of the last model, `up` of the
first block: how many of its results differ from the exact sum of the same codes, rounded to bf16,
and the norm of what they differ by, over that of the result and over that of what the rounding
itself changes. Last come the bars. Writes train_curves.json and train_curves.svg. The exit status
is 1 if a bar is missed.
"""

import argparse
import dataclasses
import gzip
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import torch
from torch import nn
from torch.nn import functional as F

sys.path.insert(0, str(Path(__file__).resolve().parent))

from chart import draw_curves
from torch_models import capture, print_head, report_bar

FORMS = ("bf16", "mxfp8", "nvfp4", "nvfp4-plain", "nvfp4-nearest", "nvfp4-rows",
         "nvfp4-last1", "nvfp4-last2")
#: How many of the last blocks have plain layers.
PLAIN_BLOCKS = {"last1": 1, "last2": 2}
#: The most that the mean loss of the last steps is above that of bf16, as a share of it.
BARS = {"mxfp8": 0.01, "nvfp4": 0.02, "nvfp4-last1": 0.02}
#: The least share of its first loss that bf16 loses.
LEAST_FALL = 0.5
TEXT = Path("/usr/share/dictd/gcide.dict.dz")
TEXT_BYTES = 32 << 20
LAST = 100
#: How many steps a point of a curve is the mean of.
SPAN = 20


@dataclasses.dataclass(frozen=True)
class Sizes:
    layers: int = 8
    width: int = 512
    heads: int = 8
    length: int = 256
    batch: int = 64


TINY = Sizes(layers=3, width=64, heads=2, length=32, batch=4)


class Block(nn.Module):
    def __init__(self, sizes):
        super().__init__()
        width = sizes.width
        self.heads = sizes.heads
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(2))
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        q, k, v = self.qkv(self.norms[0](x)).unflatten(-1, (3, self.heads, -1)).unbind(2)
        y = F.scaled_dot_product_attention(*(each.transpose(1, 2) for each in (q, k, v)),
                                           is_causal=True)
        x = x + self.out(y.transpose(1, 2).flatten(2))
        return x + self.down(F.gelu(self.up(self.norms[1](x))))


class Gpt(nn.Module):
    def __init__(self, sizes):
        super().__init__()
        self.bytes = nn.Embedding(256, sizes.width)
        self.places = nn.Parameter(torch.randn(sizes.length, sizes.width) * 0.02)
        self.blocks = nn.ModuleList(Block(sizes) for _ in range(sizes.layers))
        self.norm, self.head = nn.LayerNorm(sizes.width), nn.Linear(sizes.width, 256, bias=False)
        nn.init.normal_(self.bytes.weight, std=0.02)
        for name, each in self.named_parameters():
            if name.startswith("blocks") and each.dim() == 2:
                # Those that add to x are smaller, the more layers there are.
                adds = name.endswith(("out.weight", "down.weight"))
                nn.init.normal_(each, std=0.02 / math.sqrt(2 * sizes.layers if adds else 1))

    def forward(self, ids):
        x = self.bytes(ids) + self.places
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


def get_form(name):
    from blockscale import get_training_form
    form = get_training_form(name.split("-")[0])
    change = {"plain": (("wgrad_gradient", "wgrad_input"), {"sign_mask": None}),
              "nearest": (("dgrad_gradient", "wgrad_gradient"), {"is_stochastic": False}),
              "rows": (("forward_weight", "dgrad_weight"), {"is_square": False})}
    for each in name.split("-")[1:]:
        if each in PLAIN_BLOCKS:
            continue
        names, values = change[each]
        form = dataclasses.replace(form, **{
            operand: dataclasses.replace(getattr(form, operand), **values) for operand in names})
    return form


def read_text(path):
    with gzip.open(path) if path.suffix in (".dz", ".gz") else path.open("rb") as file:
        return torch.frombuffer(bytearray(file.read(TEXT_BYTES)), dtype=torch.uint8)


class Trainer:
    """Runs of one form, all by one compiled model."""

    def __init__(self, form, options):
        self.options, self.sizes = options, TINY if options.tiny else Sizes()
        self.device = "cpu" if options.tiny else "cuda"
        self.text = read_text(options.text).to(self.device)
        self.model = Gpt(self.sizes).to(self.device)
        if form != "bf16":
            import blockscale.torch
            plain = PLAIN_BLOCKS.get(form.split("-")[-1], 0)
            blockscale.torch.prepare_training_(self.model.blocks[:len(self.model.blocks) - plain],
                                               get_form(form), leave_last_projection=False)
        self.compute = self._compute if options.tiny else torch.compile(self._compute,
                                                                        fullgraph=True)
        self.step = self._prepare()

    def _compute(self, ids, wanted):
        with torch.autocast(self.device, torch.bfloat16):
            logits = self.model(ids)
        return F.cross_entropy(logits.float().flatten(0, 1), wanted.flatten())

    def _make_optimizer(self):
        rate = torch.tensor(0.0, device=self.device)
        matrices = [each for each in self.model.parameters() if each.dim() > 1]
        others = [each for each in self.model.parameters() if each.dim() <= 1]
        return torch.optim.AdamW([{"params": matrices, "weight_decay": 0.1, "lr": rate},
                                  {"params": others, "weight_decay": 0.0, "lr": rate}],
                                 betas=(0.9, 0.95), fused=True, capturable=not self.options.tiny)

    def _prepare(self):
        """A step on `ids` as one call, which a CUDA graph has on a GPU."""
        sizes = self.sizes
        self.ids = torch.zeros(sizes.batch, sizes.length + 1, dtype=torch.long, device=self.device)
        self.loss = torch.zeros((), device=self.device)
        self.optimizer = self._make_optimizer()

        def step():
            loss = self.compute(self.ids[:, :-1], self.ids[:, 1:])
            for each in self.model.parameters():
                if each.grad is not None:
                    each.grad.zero_()
            loss.backward()
            nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
            self.optimizer.step()
            self.loss.copy_(loss.detach())
        return capture(step, self.device)

    def _begin(self, seed):
        """As a new model and a new optimizer, in the same memory."""
        torch.manual_seed(seed)
        self.model.load_state_dict(Gpt(self.sizes).to(self.device).state_dict())
        for state in self.optimizer.state.values():
            for each in state.values():
                each.zero_()
        torch.manual_seed(seed)

    def run(self, seed):
        """The loss of each step."""
        sizes, steps, rate = self.sizes, self.options.steps, self.options.rate
        self._begin(seed)
        first = torch.randint(len(self.text) - sizes.length, (steps, sizes.batch, 1),
                              generator=torch.Generator().manual_seed(seed)).to(self.device)
        places = torch.arange(sizes.length + 1, device=self.device)
        warm = max(1, steps // 15)
        losses = torch.empty(steps, device=self.device)
        for step in range(steps):
            self.ids.copy_(self.text[first[step] + places])
            share = min((step + 1) / warm, 0.55 + 0.45 * math.cos(math.pi * step / steps))
            for group in self.optimizer.param_groups:
                group["lr"].fill_(rate * share)
            self.step()
            losses[step] = self.loss
        return losses.tolist()


def compare_sums(trainer, form):
    """The share of results of a forward product that are not the exact sums of its codes, rounded;
    the norm of the difference over that of the sums, and over that of their rounding."""
    from blockscale.torch import fake_quantize, train_linear
    layer, seen = trainer.model.blocks[0].up, []
    hook = layer.register_forward_pre_hook(lambda _, given: seen.append(given[0]))
    with torch.no_grad(), torch.autocast(trainer.device, torch.bfloat16):
        trainer.model(trainer.ids[:, :-1])
        hook.remove()
        x, weight = seen[0].flatten(0, 1).bfloat16(), layer.weight.bfloat16()
        found = train_linear(x, weight, form=form)
    values = []
    for tensor, operand in ((x, form.forward_input), (weight, form.forward_weight)):
        size = 16 if operand.format == "nvfp4" else 32
        values.append(fake_quantize(
            tensor.float(), format=operand.format, recipe=operand.recipe, scaling=operand.scaling,
            block=(size, size) if operand.is_square else None).double())
    exact = values[0] @ values[1].t()
    rounded = exact.bfloat16().double()
    change = (found.double() - rounded).norm()
    return [float((found != rounded).double().mean()), float(change / exact.norm()),
            float(change / (rounded - exact).norm())]


def train(form, options):
    """What a process of a form prints: one line of JSON."""
    # Sums of a run are in one order, so that it repeats.
    torch.use_deterministic_algorithms(True)
    torch.utils.deterministic.fill_uninitialized_memory = False
    kernels = torch.nn.attention.SDPBackend
    with torch.nn.attention.sdpa_kernel(
            kernels.MATH if options.tiny else kernels.FLASH_ATTENTION):
        trainer = Trainer(form, options)
        found = {"form": form, "losses": [], "seconds": [],
                 "parameters": sum(each.numel() for each in trainer.model.parameters())}
        for seed in range(options.seeds):
            begin = time.perf_counter()
            found["losses"].append(trainer.run(seed))
            found["seconds"].append(time.perf_counter() - begin)
        if form == "nvfp4":
            found["repeats"] = trainer.run(0) == found["losses"][0]
        if form != "bf16":
            found["sums"] = compare_sums(trainer, get_form(form))
    print(json.dumps(found), flush=True)


def start(form, gpu, folder):
    """The process of a form, which writes to a file. Its compilers have files of their own in a
    folder, too, so that they do not wait for those of others."""
    folder = Path(folder) / form
    folder.mkdir()
    environment = os.environ | {"CUBLAS_WORKSPACE_CONFIG": ":4096:8",
                                "TORCHINDUCTOR_COMPILE_THREADS": "8",
                                "TORCHINDUCTOR_CACHE_DIR": str(folder / "inductor"),
                                "TRITON_CACHE_DIR": str(folder / "triton")}
    if gpu is not None:
        environment["CUDA_VISIBLE_DEVICES"] = str(gpu)
    with (folder / "found").open("w") as file:
        return subprocess.Popen([sys.executable, __file__, *sys.argv[1:], "--form", form],
                                stdout=file, env=environment)


def train_all(forms, options, folder):
    """What the process of each form wrote, by its name."""
    gpus = 1 if options.tiny else torch.cuda.device_count()
    # Those that take longest begin, and GPUs have as many each as there are.
    order = sorted(forms, key=lambda form: not form.startswith("nvfp4"))
    running = {form: start(form, None if options.tiny else number % gpus, folder)
               for number, form in enumerate(order)}
    found = {}
    while running:
        for form, process in list(running.items()):
            if process.poll() is None:
                continue
            if process.returncode:
                for each in running.values():
                    each.kill()
                sys.exit(f"expected {form} to train, but its process ended with "
                         f"{process.returncode}")
            text = (Path(folder) / form / "found").read_text()
            found[form] = json.loads(text.splitlines()[-1])
            seconds = ", ".join(f"{each:.0f}" for each in found[form]["seconds"])
            means = ", ".join(f"{each:.4f}" for each in get_means(found[form]["losses"]))
            print(f"{form}: {found[form]['parameters'] / 1e6:.1f} M parameters, seconds of runs "
                  f"{seconds}, losses in the end {means}", flush=True)
            del running[form]
        time.sleep(0.2)
    return {form: found[form] for form in forms}


def get_means(losses):
    """The mean of the last steps of each seed."""
    return [statistics.fmean(each[-LAST:]) for each in losses]


def find_points(losses):
    """The curve of the mean of all seeds."""
    means = [statistics.fmean(each) for each in zip(*losses)]
    return [round(statistics.fmean(means[i:i + SPAN]), 4) for i in range(0, len(means), SPAN)]


def print_sums(found):
    for form, each in found.items():
        if "sums" in each:
            share, of_result, of_rounding = each["sums"]
            print(f"{form}: {share:.3%} of the results of a product are not the exact sums, "
                  f"rounded; the change is {of_result:.1e} of the result, {of_rounding:.1e} of the "
                  "rounding")
    print()


def print_losses(found, steps):
    shown = sorted({step for step in (0, 50, 100, 200, 400, 700, 1000, 1250) if step < steps})
    print("\n| form | " + " | ".join(map(str, shown)) + f" | last {LAST}, by seed | of bf16's |\n"
          + "| --- " * (len(shown) + 3) + "|")
    for form, each in found.items():
        means = get_means(each["losses"])
        row = [f"{statistics.fmean(losses[step] for losses in each['losses']):.3f}"
               for step in shown]
        share = ""
        if "bf16" in found:
            plain = statistics.fmean(get_means(found["bf16"]["losses"]))
            share = f"{statistics.fmean(means) / plain:.4f}"
        print(f"| {form} | " + " | ".join(row) + " | " + ", ".join(f"{mean:.4f}" for mean in means)
              + f" | {share} |")
    print()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--commit", default="unknown", help="for the head of the log")
    parser.add_argument("--text", type=Path, default=TEXT, help="gzip if it ends in .dz or .gz")
    parser.add_argument("--steps", type=int, default=1500)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--rate", type=float, default=1e-3, help="the largest learning rate")
    parser.add_argument("--only", default=",".join(FORMS), help="forms to train")
    parser.add_argument("--out", type=Path, default=Path("."), help="where files are written")
    parser.add_argument("--tiny", action="store_true")
    parser.add_argument("--form", help=argparse.SUPPRESS)
    options = parser.parse_args()
    chosen = options.only.split(",")
    unknown = [each for each in chosen if each not in FORMS]
    if unknown:
        parser.error(f"expected forms of {', '.join(FORMS)}, but got {', '.join(unknown)}")
    if not options.text.is_file():
        parser.error(f"expected a text at {options.text}, which dict-gcide installs, but there is "
                     "none")
    if options.form:
        train(options.form, options)
        return 0
    print_head(options.commit)
    with tempfile.TemporaryDirectory() as folder:
        found = train_all(chosen, options, folder)
    print_losses(found, options.steps)
    print_sums(found)
    options.out.mkdir(parents=True, exist_ok=True)
    points = {form: find_points(each["losses"]) for form, each in found.items()}
    curves = {"title": f"Loss of a byte of English text, mean of {options.seeds} seeds",
              "points": points, "span": SPAN}
    (options.out / "train_curves.json").write_text(json.dumps(curves))
    (options.out / "train_curves.svg").write_text(draw_curves(**curves))
    met = True
    if "nvfp4" in found:
        met &= report_bar("nvfp4 repeats bit by bit", float(found["nvfp4"]["repeats"]), 1)
    if "bf16" in found:
        losses = found["bf16"]["losses"]
        plain = statistics.fmean(get_means(losses))
        met &= report_bar("bf16 loses of its first loss",
                          1 - plain / statistics.fmean(each[0] for each in losses), LEAST_FALL)
        for form, bar in BARS.items():
            if form in found:
                share = statistics.fmean(get_means(found[form]["losses"])) / plain
                met &= report_bar(f"{form} over bf16", share, 1 + bar, at_most=True)
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
