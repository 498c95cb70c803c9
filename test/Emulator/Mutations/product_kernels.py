# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The project's own products of SM100 that are broken: one of each form that a tile, its loads and
its epilogue have, and two of a plain operand, where NVFP4 weights are decoded and K is split, and
where MXFP8 ones are and rows come in groups; two of Hopper, where NVFP4 weights are decoded and K
is split in a cluster, and where MXFP8 weights are prepacked and rows come in groups; two of
consumer Blackwell, where the last stage of NVFP4 has one step, and where two stages of MXFP8 share
scales and rows come in groups; and two of Ampere, where NVFP4 weights are decoded by two teams of
warps and K is split, and where a large tile of MXFP8 has rows in groups. Each has several tiles
for each cluster, a ring of stages that wraps twice, rows and columns at the end that fill no tile,
and scales that differ from block to block. Those of Ampere and those of a plain operand on SM100
also have NaN where nothing may be read (`_spoil`). Their results are compared with numpy before
any place is broken.
"""

import json
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

sys.path.append(str(Path(__file__).resolve().parents[2] / "Execution" / "Inputs"))

import cases
import exact
from prepacked import PREPACKED, prepacked_storage
from products import PLAIN, Case, Op, data
from ptx_sites import split_statements
from reference import swizzle

# What a tensor map of a plan has that `--arg=map` does not take in this form.
NOT_PASSED = ("address", "element", "l2_promotion")
NVFP4 = dict(scale="f8E4M3FN", a="f4E2M1FN", b="f4E2M1FN")
MXFP8 = dict(scale="f8E8M0FNU", a="f8E4M3FN", b="f8E5M2")
LINEAR = dict(layout_a="swizzled", layout_b="swizzled")
GROUPED_ROWS = dict(kind="rows", layout_a="grouped", layout_b="swizzled")
GROUPED_K = dict(kind="columns", layout_a="grouped", layout_b="grouped")
PLAIN_NVFP4 = dict(scale="f8E4M3FN", a="bf16", b="f4E2M1FN", layout_b="swizzled")
HOPPER_NVFP4 = dict(**PLAIN_NVFP4, result="bf16")
HOPPER_MXFP8 = dict(kind="rows", scale="f8E8M0FNU", a="bf16", b="f8E4M3FN", result="bf16",
                    layout_b="swizzled", is_prepacked=True)
PLAIN_MXFP8 = dict(kind="rows", scale="f8E8M0FNU", a="bf16", b="f8E4M3FN", result="bf16",
                 layout_b="swizzled")
SWIGLU = """
#swizzled = #blockscale.layout<swizzle_128x4>
#id = affine_map<(i, j) -> (i, j)>
func.func @mm(%a: {a}, %g: {b}, %u: {b}, %sa: {sa}, %sg: {sb}, %su: {sb})
    -> (tensor<{m}x{n}xf8E4M3FN>, tensor<{m}x{c}xf8E8M0FNU, #swizzled>) {{
  %one = arith.constant 1.0 : f32
  %x = blockscale.scaled_mm %a, %g scales(%sa, %sg) block [1, 32]
      {{blockscale.schedule = {schedule}}}
      : {a}, {b}, {sa}, {sb} -> tensor<{m}x{n}xbf16>
  %y = blockscale.scaled_mm %a, %u scales(%sa, %su) block [1, 32]
      {{blockscale.schedule = {schedule}}}
      : {a}, {b}, {sa}, {sb} -> tensor<{m}x{n}xbf16>
  %e = tensor.empty() : tensor<{m}x{n}xbf16>
  %h = linalg.generic {{indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}}
      ins(%x, %y : tensor<{m}x{n}xbf16>, tensor<{m}x{n}xbf16>) outs(%e : tensor<{m}x{n}xbf16>) {{
  ^bb0(%p: bf16, %q: bf16, %o: bf16):
    %0 = arith.extf %p : bf16 to f32
    %1 = arith.extf %q : bf16 to f32
    %2 = arith.negf %0 : f32
    %3 = math.exp %2 : f32
    %4 = arith.addf %3, %one : f32
    %5 = arith.divf %0, %4 : f32
    %6 = arith.mulf %5, %1 : f32
    %7 = arith.truncf %6 : f32 to bf16
    linalg.yield %7 : bf16
  }} -> tensor<{m}x{n}xbf16>
  %d, %s = blockscale.quantize %h block [1, 32] recipe rceil
      : tensor<{m}x{n}xbf16> -> tensor<{m}x{n}xf8E4M3FN>, tensor<{m}x{c}xf8E8M0FNU, #swizzled>
  return %d, %s : tensor<{m}x{n}xf8E4M3FN>, tensor<{m}x{c}xf8E8M0FNU, #swizzled>
}}
"""


@dataclass
class Product:
    """`schedule` has the fields of a GEMM schedule but for `band`, `ends` the ends of
    groups. `epilogue` is what follows two products of one A. `is_spoiled` says whether the
    arguments are those of `_spoil`."""

    name: str
    op: Op
    schedule: str
    ends: tuple = ()
    epilogue: str = ""
    chip: str = "sm_100a"
    is_spoiled: bool = False


PRODUCTS = (
    Product("gemm_128x128", Op("mm", **NVFP4, **LINEAR, shape=dict(B=(), M=300, N=260, K=1376)),
            "rows = 128, cols = 128, stages = 2, ctas = 2"),
    Product("gemm_128x256", Op("mm", **MXFP8, **LINEAR, result="bf16", bias="f32",
                               shape=dict(B=(), M=300, N=264, K=672)),
            "rows = 128, cols = 256, stages = 2, ctas = 2"),
    Product("gemm_pair", Op("mm", **NVFP4, **LINEAR, result="bf16", global_a="rank_0",
                            shape=dict(B=(), M=520, N=264, K=1376)),
            "rows = 256, cols = 256, stages = 2, ctas = 2"),
    Product("gemm_pair_multicast", Op("mm", **MXFP8, **LINEAR,
                                      shape=dict(B=(), M=520, N=260, K=672)),
            "rows = 256, cols = 256, stages = 2, ctas = 4, multicast = 2"),
    Product("gemm_rows", Op("mm", **NVFP4, **GROUPED_ROWS, shape=dict(M=300, N=260, K=1376, G=3)),
            "rows = 128, cols = 128, stages = 2, ctas = 2", ends=(70, 70, 290)),
    Product("gemm_columns", Op("mm", **MXFP8, **GROUPED_K, shape=dict(M=150, N=200, K=1376, G=3)),
            "rows = 128, cols = 128, stages = 2, ctas = 2", ends=(416, 416, 1376)),
    Product("gemm_swiglu", Op("mm", **MXFP8, **LINEAR, shape=dict(B=(), M=300, N=288, K=672)),
            "rows = 256, cols = 256, stages = 2, ctas = 2", epilogue=SWIGLU),
    Product("gemm_splits", Op("mm", **NVFP4, **LINEAR, shape=dict(B=(), M=300, N=130, K=2656)),
            "rows = 128, cols = 128, stages = 2, ctas = 2, splits = 2"),
    Product("gemm_hopper_splits", Op("mm", **HOPPER_NVFP4, shape=dict(B=(), M=72, N=197, K=1376)),
            "rows = 32, cols = 128, stages = 2, ctas = 4, splits = 2", chip="sm_90a"),
    Product("gemm_hopper_rows", Op("mm", **HOPPER_MXFP8, shape=dict(M=72, N=200, K=736, G=3)),
            "rows = 32, cols = 128, stages = 2, ctas = 2", ends=(20, 20, 65), chip="sm_90a"),
    Product("gemm_warp_tail", Op("mm", **NVFP4, **LINEAR, result="bf16", global_a="rank_0",
                                 shape=dict(B=(), M=150, N=140, K=672)),
            "rows = 128, cols = 128, stages = 2, ctas = 2", chip="sm_120a"),
    Product("gemm_warp_rows", Op("mm", **MXFP8, **GROUPED_ROWS, result="bf16",
                                 shape=dict(M=300, N=120, K=352, G=3)),
            "rows = 128, cols = 128, stages = 2, ctas = 2", ends=(20, 20, 290), chip="sm_120a"),
    Product("gemm_mma_splits", Op("mm", **{**HOPPER_NVFP4, "result": "f32"},
                                  shape=dict(B=(), M=21, N=133, K=3680)),
            "rows = 16, cols = 128, stages = 3, ctas = 2, splits = 2", chip="sm_80",
            is_spoiled=True),
    # N is odd, so that results are stored one by one. Rows of no group fill more than half of a
    # tile, as many as a thread's loop has code for.
    Product("gemm_mma_rows", Op("mm", **PLAIN_MXFP8, shape=dict(M=240, N=203, K=608, G=3)),
            "rows = 128, cols = 128, stages = 3, ctas = 2", ends=(20, 20, 170), chip="sm_80",
            is_spoiled=True),
    Product("gemm_plain_splits", Op("mm", **PLAIN_NVFP4, shape=dict(B=(), M=37, N=197, K=1376)),
            "rows = 16, cols = 128, stages = 2, ctas = 2, splits = 2", is_spoiled=True),
    Product("gemm_plain_rows", Op("mm", **PLAIN_MXFP8, shape=dict(M=300, N=200, K=736, G=3)),
            "rows = 64, cols = 128, stages = 2, ctas = 2", ends=(70, 70, 290),
            is_spoiled=True),
)
# By element type, and of scales: the code of 1 and that of NaN, which E2M1 does not have.
ONES = {"f4E2M1FN": 0x2, "f8E4M3FN": 0x38}
NANS = {"bf16": 0x7FC0, "f8E4M3FN": 0x7F, "f8E8M0FNU": 0xFF}


def _spoil(op, random, scales):
    """Codes of A, which is plain, and of B, and changes the scales of B, so that more faults
    change results:

    * Each 16th row begins with NaN, if its type has one. Who reads beyond K of the row before
      reads that, and NaN times 0 is NaN. Others have NaN in the middle, which other code decodes.
    * Row 7 of B is 0, so that its results are.
    * One scale of row 3 of B is NaN. Its block and those of A have no zeros and one sign, so that
      an infinity in the place of NaN would give infinities.
    * Scales of E4M3 have all mantissas and both signs.
    """
    lead = scales.shape[:-2]
    a = data(random, op.a, (op.shape["M"], op.shape["K"]))
    b = data(random, op.b, (*lead, op.shape["N"], op.shape["K"]))
    if op.scale == "f8E4M3FN":
        scales |= random.choice(np.array([*range(8), *range(0x80, 0x88)], np.uint8), scales.shape)
    column = scales.shape[-1] // 3
    block = slice(column * op.block, (column + 1) * op.block)
    scales[..., 3, column] = NANS[op.scale]
    b[..., 3, block] = ONES[op.b]
    a[..., block] &= 0x7FFF
    b[..., 7, :] = 0
    for codes, element in ((a, op.a), (b, op.b)):
        if element in NANS:
            codes[..., 5::16, 0] = NANS[element]
            codes[..., 9::16, op.shape["K"] // 2] = NANS[element]
    return a, b


def _arguments(product, random):
    """The stored arguments, and numpy's verdict on a result or nothing."""
    op, shape = product.op, product.op.shape
    columns = shape["K"] // op.block
    of_b = (len(product.ends),) if op.kind == "rows" else ()
    sides = {side: (*lead, shape[rows], columns) for side, element, lead, rows in
             (("sa", op.a, (), "M"), ("sb", op.b, of_b, "N")) if element not in PLAIN}
    scales = {side: exact.scales(random, op.scale, of_side) for side, of_side in sides.items()}
    if product.is_spoiled:
        a, b = _spoil(op, random, scales["sb"])
        case = Case(op, random, product.ends, a=a, b=b, **scales)
        # These kernels take no scale of the padding.
        case.arguments[-1] = swizzle(scales["sb"], fill=NANS[op.scale])
        return case.arguments, case.problem
    case = Case(op, random, product.ends, **scales)
    if op.is_prepacked:
        case.arguments[1] = prepacked_storage(case.codes[1], op.b)
    if not product.epilogue:
        return case.arguments, case.problem
    other = Case(op, random, product.ends, sa=scales["sa"], sb=scales["sb"][::-1])
    (a, gate, sa, sg), (_, up, _, su) = case.arguments, other.arguments
    return [a, gate, up, sa, sg, su], None


def _with_schedule(text, schedule):
    return text.replace("\n      : ", f" {{blockscale.schedule = {schedule}}}\n      : ", 1)


def _text(product):
    fields = product.schedule.replace("ctas", "band = 2, ctas")
    schedule = f"#blockscale.gemm_schedule<{fields}>"
    # The function takes prepacked data as they are.
    op = replace(product.op, dynamic="", is_prepacked=False)
    if product.op.is_prepacked:
        b = op.tensor("GNK", op.b)
        return _with_schedule(op.text().replace(b, f"{b[:-1]}, {PREPACKED}>"), schedule)
    if not product.epilogue:
        return _with_schedule(op.text(), schedule)
    m, n = (op.shape[letter] for letter in "MN")
    return product.epilogue.format(
        a=op.tensor("MK", op.a), b=op.tensor("NK", op.b), m=m, n=n, c=n // 32, schedule=schedule,
        sa=op.tensor("Mk", op.scale, "swizzled"), sb=op.tensor("Nk", op.scale, "swizzled"))


def _compile(program, path, chip, emit):
    return subprocess.run([program, path, f"--target={chip}", f"--emit={emit}", "-o", "-"],
                          stdout=subprocess.PIPE, check=True, text=True).stdout


def _on_cpu(run, path, arguments, folder, count):
    """The results of a function, as the CPU computes them."""
    command = [run, path, "--on=cpu", "--optimize=0"]
    for i, array in enumerate(arguments):
        np.save(folder / f"in{i}.npy", array)
        command += ["--in", folder / f"in{i}.npy"]
    outputs = [folder / f"out{i}.npy" for i in range(count)]
    for output in outputs:
        command += ["--out", output]
    subprocess.run(command, check=True)
    return [np.load(output) for output in outputs]


def _parameter(parameter):
    if "tensor_map" in parameter:
        fields = parameter["tensor_map"]
        address = fields["address"]
        return cases.PlanMap(address["buffer"], {
            **{key: value for key, value in fields.items() if key not in NOT_PASSED},
            "type": fields["element"], "offset": address.get("offset", 0)})
    if "buffer" in parameter:
        assert not parameter.get("offset"), parameter
        return parameter["buffer"]
    return cases.Scalar("u64", parameter["i64"])


def _check(product, problem, names, wanted):
    """Numpy's verdict on the kernel's results; the CPU's where results are rounded twice."""
    def check(outputs):
        arrays = [outputs[name] for name in names]
        if wanted:
            for got, want in zip(arrays, wanted, strict=True):
                same = np.array_equal(got.view(np.uint8), want.view(np.uint8))
                assert same, "not the CPU's bytes"
            return
        got = arrays[0]
        if "splits" in product.schedule and got.ndim == 3:
            # The parts of each CTA, which another kernel adds.
            got = got.sum(axis=0, dtype=np.float32)[:, :product.op.shape["N"]]
        said = problem(got)
        assert said is None, said
    return check


def product_cases(program, run):
    """The launches of the products. `program` is blockscale-compile, `run` blockscale-run."""
    for number, product in enumerate(PRODUCTS):
        random = np.random.default_rng(number)
        arguments, problem = _arguments(product, random)
        with tempfile.TemporaryDirectory() as name:
            path = Path(name) / "module.mlir"
            path.write_text(_text(product))
            plan = json.loads(_compile(program, path, product.chip, "plan"))["functions"][0]
            ptx = split_statements(_compile(program, path, product.chip, "ptx"))
            wanted = [] if problem else _on_cpu(run, path, arguments, Path(name),
                                                len(plan["results"]))
        launch = next(step["launch"] for step in plan["steps"]
                      if step["launch"]["kernel"].startswith("scaled_"))
        parameters = [_parameter(each) for each in launch["parameters"]]
        results = [each for each in plan["results"] + plan["workspaces"]
                   if each["name"] in parameters]
        buffers = [cases.Buffer(each["name"], array)
                   for each, array in zip(plan["arguments"], arguments, strict=True)]
        buffers += [cases.Buffer(each["name"], None, tuple(each["shape"]),
                                 np.dtype(each["dtype"]), True) for each in results]
        yield cases.Case(
            name=product.name, text=ptx.encode(), kernel=launch["kernel"],
            chip=int(re.search(r"\d+", product.chip)[0]),
            grid=tuple(launch["grid"]), block=launch["block"][0], shared=launch["shared"],
            cluster=launch["cluster"][0], buffers=buffers, arguments=parameters,
            check=_check(product, problem, [each["name"] for each in results], wanted),
            options=("--require-fences",))
