# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The cases of gpu_plain.py: functions of ops that have no kernel of ours, and of loops
and branches of the host."""

from dataclasses import dataclass


@dataclass
class Case:
    """A function. `sizes` has a list for each call: a number for each `?` of the types of
    the arguments, in order. Integers of arguments are in [0, below)."""

    text: str
    sizes: tuple = ((),)
    below: int = 100


def generic(maps, iterators, inputs, outputs, result, body):
    """The text of a linalg.generic, of whose maps only the results are given."""
    dims = ", ".join(f"d{i}" for i in range(len(iterators)))
    maps = ", ".join(f"affine_map<({dims}) -> ({map})>" for map in maps)
    iterators = ", ".join(f'"{"parallel" if i == "p" else "reduction"}"' for i in iterators)
    inputs = f"ins({inputs}) " if inputs else ""
    return (f"linalg.generic {{indexing_maps = [{maps}], iterator_types = [{iterators}]}} "
            f"{inputs}outs({outputs}) {{\n{body}\n  }} -> {result}")


def reduction(name, x, dims, result, combine, start, element="f32"):
    """Reduces `dims` of a tensor of static shape `x`."""
    loops = "".join("r" if i in dims else "p" for i in range(len(x)))
    kept = ", ".join(f"d{i}" for i in range(len(x)) if i not in dims)
    tensor = f"tensor<{'x'.join(map(str, x))}x{element}>"
    body = f"""  ^bb0(%a: {element}, %c: {element}):
    %v = {combine} %c, %a : {element}
    linalg.yield %v : {element}"""
    op = generic([", ".join(f"d{i}" for i in range(len(x))), kept], loops, f"%x : {tensor}",
                 f"%f : {result}", result, body)
    return Case(f"""func.func @{name}(%x: {tensor}) -> {result} {{
  %s = arith.constant {start} : {element}
  %e = tensor.empty() : {result}
  %f = linalg.fill ins(%s : {element}) outs(%e : {result}) -> {result}
  %r = {op}
  return %r : {result}
}}
""")


CASES = {
    # Every element moves; sizes before and behind are dynamic, and there may be none.
    "transpose": Case("""func.func @f(%x: tensor<?x3x?x5xf32>) -> tensor<?x?x3x5xf32> {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %m = tensor.dim %x, %c0 : tensor<?x3x?x5xf32>
  %n = tensor.dim %x, %c2 : tensor<?x3x?x5xf32>
  %e = tensor.empty(%m, %n) : tensor<?x?x3x5xf32>
  %t = linalg.transpose ins(%x : tensor<?x3x?x5xf32>) outs(%e : tensor<?x?x3x5xf32>) permutation = [0, 2, 1, 3]
  return %t : tensor<?x?x3x5xf32>
}
""", ((3, 7), (1, 1), (0, 4), (2, 0))),
    # Bytes that nobody computes with.
    "transpose_f8": Case("""func.func @f(%x: tensor<6x9xf8E4M3FN>) -> tensor<9x6xf8E4M3FN> {
  %e = tensor.empty() : tensor<9x6xf8E4M3FN>
  %t = linalg.transpose ins(%x : tensor<6x9xf8E4M3FN>) outs(%e : tensor<9x6xf8E4M3FN>) permutation = [1, 0]
  return %t : tensor<9x6xf8E4M3FN>
}
"""),
    # Columns with a step, of which a size and the offset are known at run time.
    "slice": Case("""func.func @f(%x: tensor<8x?x6xbf16>, %o: index) -> (tensor<3x?x2xbf16>, tensor<?xbf16>) {
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %n = tensor.dim %x, %c1 : tensor<8x?x6xbf16>
  %h = arith.divui %n, %c2 : index
  %s = tensor.extract_slice %x[%o, 0, 1] [3, %h, 2] [2, 2, 3] : tensor<8x?x6xbf16> to tensor<3x?x2xbf16>
  %t = tensor.extract_slice %x[%o, 0, 3] [1, %n, 1] [1, 1, 1] : tensor<8x?x6xbf16> to tensor<?xbf16>
  return %s, %t : tensor<3x?x2xbf16>, tensor<?xbf16>
}
""", ((5,), (1,), (0,)), below=3),
    # Rows of which every other is replaced.
    "insert": Case("""func.func @f(%x: tensor<9x?xf32>, %y: tensor<3x?xf32>) -> tensor<9x?xf32> {
  %c1 = arith.constant 1 : index
  %n = tensor.dim %y, %c1 : tensor<3x?xf32>
  %r = tensor.insert_slice %y into %x[1, 0] [3, %n] [3, 1] : tensor<3x?xf32> into tensor<9x?xf32>
  return %r : tensor<9x?xf32>
}
""", ((11, 11), (12, 5))),
    "concat": Case("""func.func @f(%x: tensor<4x?xi32>, %y: tensor<4x3xi32>) -> tensor<4x?xi32> {
  %r = tensor.concat dim(1) %x, %y : (tensor<4x?xi32>, tensor<4x3xi32>) -> tensor<4x?xi32>
  return %r : tensor<4x?xi32>
}
""", ((5,), (0,))),
    "pad": Case("""func.func @f(%x: tensor<?x5xf32>, %n: index) -> tensor<?x8xf32> {
  %z = arith.constant 1.5 : f32
  %p = tensor.pad %x low[%n, 2] high[1, 1] {
  ^bb0(%i: index, %j: index):
    tensor.yield %z : f32
  } : tensor<?x5xf32> to tensor<?x8xf32>
  return %p : tensor<?x8xf32>
}
""", ((4,), (0,)), below=4),
    "broadcast": Case("""func.func @f(%x: tensor<?xf32>) -> tensor<4x?x3xf32> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?xf32>
  %e = tensor.empty(%n) : tensor<4x?x3xf32>
  %b = linalg.broadcast ins(%x : tensor<?xf32>) outs(%e : tensor<4x?x3xf32>) dimensions = [0, 2]
  return %b : tensor<4x?x3xf32>
}
""", ((6,),)),
    # Rows of a table, by numbers that are in memory.
    "embedding": Case(f"""func.func @f(%t: tensor<50x?xf32>, %ids: tensor<?x?xi64>) -> tensor<?x?x?xf32> {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %b = tensor.dim %ids, %c0 : tensor<?x?xi64>
  %s = tensor.dim %ids, %c1 : tensor<?x?xi64>
  %h = tensor.dim %t, %c1 : tensor<50x?xf32>
  %e = tensor.empty(%b, %s, %h) : tensor<?x?x?xf32>
  %r = {generic(["d0, d1", "d0, d1, d2"], "ppp", "%ids : tensor<?x?xi64>",
                "%e : tensor<?x?x?xf32>", "tensor<?x?x?xf32>", '''  ^bb0(%id: i64, %o: f32):
    %row = arith.index_cast %id : i64 to index
    %column = linalg.index 2 : index
    %v = tensor.extract %t[%row, %column] : tensor<50x?xf32>
    linalg.yield %v : f32''')}
  return %r : tensor<?x?x?xf32>
}}
""", ((17, 2, 5), (17, 0, 5)), below=50),
    # Of rows, columns, the middle, all; lengths around those of leaves.
    "sum_row": reduction("f", (3, 1000), (1,), "tensor<3xf32>", "arith.addf", "0.0"),
    "sum_short_row": reduction("f", (5, 33), (1,), "tensor<5xf32>", "arith.addf", "-0.0"),
    "sum_one": reduction("f", (4, 1), (1,), "tensor<4xf32>", "arith.addf", "0.5"),
    "sum_none": reduction("f", (4, 0), (1,), "tensor<4xf32>", "arith.addf", "0.5"),
    "product_row": reduction("f", (2, 95), (1,), "tensor<2xf32>", "arith.mulf", "1.0"),
    "max_row": reduction("f", (3, 4, 70), (2,), "tensor<3x4xf32>", "arith.maximumf", "0xFF800000"),
    "sum_columns": reduction("f", (70, 9), (0,), "tensor<9xf32>", "arith.addf", "0.0"),
    "sum_middle": reduction("f", (3, 40, 5), (1,), "tensor<3x5xf32>", "arith.addf", "0.0"),
    "sum_two": reduction("f", (3, 40, 5), (1, 2), "tensor<3xf32>", "arith.addf", "0.0"),
    "sum_all": reduction("f", (7, 70), (0, 1), "tensor<f32>", "arith.addf", "0.0"),
    "sum_bf16": reduction("f", (3, 70), (1,), "tensor<3xbf16>", "arith.addf", "0.0", "bf16"),
    "sum_f16": reduction("f", (3, 70), (1,), "tensor<3xf16>", "arith.addf", "0.0", "f16"),
    "sum_f64": reduction("f", (3, 70), (1,), "tensor<3xf64>", "arith.addf", "0.0", "f64"),
    "sum_i64": reduction("f", (3, 70), (1,), "tensor<3xi64>", "arith.addi", "7", "i64"),
    "max_i8": reduction("f", (3, 70), (1,), "tensor<3xi8>", "arith.maxsi", "-128", "i8"),
    # A length that is known at run time has the order of the loop.
    "sum_dynamic": Case(f"""func.func @f(%x: tensor<4x?xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {{
  %r = {generic(["d0, d1", "d0"], "pr", "%x : tensor<4x?xf32>", "%y : tensor<4xf32>",
                "tensor<4xf32>", '''  ^bb0(%a: f32, %c: f32):
    %q = arith.mulf %a, %a : f32
    %v = arith.addf %c, %q : f32
    linalg.yield %v : f32''')}
  return %r : tensor<4xf32>
}}
""", ((50,), (0,))),
    # The largest element and its place: two results, one of which the other needs.
    "argmax": Case(f"""func.func @f(%x: tensor<5x37xf32>) -> (tensor<5xf32>, tensor<5xi64>) {{
  %low = arith.constant 0xFF800000 : f32
  %zero = arith.constant 0 : i64
  %e = tensor.empty() : tensor<5xf32>
  %i = tensor.empty() : tensor<5xi64>
  %f = linalg.fill ins(%low : f32) outs(%e : tensor<5xf32>) -> tensor<5xf32>
  %g = linalg.fill ins(%zero : i64) outs(%i : tensor<5xi64>) -> tensor<5xi64>
  %r:2 = {generic(["d0, d1", "d0", "d0"], "pr", "%x : tensor<5x37xf32>",
                  "%f, %g : tensor<5xf32>, tensor<5xi64>", "(tensor<5xf32>, tensor<5xi64>)",
                  '''  ^bb0(%a: f32, %most: f32, %place: i64):
    %j = linalg.index 1 : index
    %k = arith.index_cast %j : index to i64
    %above = arith.cmpf ogt, %a, %most : f32
    %v = arith.select %above, %a, %most : f32
    %p = arith.select %above, %k, %place : i64
    linalg.yield %v, %p : f32, i64''')}
  return %r#0, %r#1 : tensor<5xf32>, tensor<5xi64>
}}
"""),
    # Attention weights: a mask of booleans, a causal one of indices, and a softmax whose
    # reduced values are broadcast over leading dimensions.
    "masked_softmax": Case(f"""func.func @f(%x: tensor<2x3x?x37xf32>, %m: tensor<2x37xi1>) -> tensor<2x3x?x37xf32> {{
  %c2 = arith.constant 2 : index
  %n = tensor.dim %x, %c2 : tensor<2x3x?x37xf32>
  %low = arith.constant -1.0e9 : f32
  %least = arith.constant 0xFF800000 : f32
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty(%n) : tensor<2x3x?x37xf32>
  %r = tensor.empty(%n) : tensor<2x3x?xf32>
  %masked = {generic(["d0, d1, d2, d3", "d0, d3", "d0, d1, d2, d3"], "pppp",
                     "%x, %m : tensor<2x3x?x37xf32>, tensor<2x37xi1>",
                     "%e : tensor<2x3x?x37xf32>", "tensor<2x3x?x37xf32>",
                     '''  ^bb0(%a: f32, %keep: i1, %o: f32):
    %i = linalg.index 2 : index
    %j = linalg.index 3 : index
    %past = arith.cmpi sle, %j, %i : index
    %both = arith.andi %keep, %past : i1
    %v = arith.select %both, %a, %low : f32
    linalg.yield %v : f32''')}
  %f = linalg.fill ins(%least : f32) outs(%r : tensor<2x3x?xf32>) -> tensor<2x3x?xf32>
  %most = {generic(["d0, d1, d2, d3", "d0, d1, d2"], "pppr", "%masked : tensor<2x3x?x37xf32>",
                   "%f : tensor<2x3x?xf32>", "tensor<2x3x?xf32>", '''  ^bb0(%a: f32, %c: f32):
    %v = arith.maximumf %c, %a : f32
    linalg.yield %v : f32''')}
  %p = {generic(["d0, d1, d2, d3", "d0, d1, d2", "d0, d1, d2, d3"], "pppp",
                "%masked, %most : tensor<2x3x?x37xf32>, tensor<2x3x?xf32>",
                "%e : tensor<2x3x?x37xf32>", "tensor<2x3x?x37xf32>",
                '''  ^bb0(%a: f32, %b: f32, %o: f32):
    %d = arith.subf %a, %b : f32
    %v = math.exp %d : f32
    linalg.yield %v : f32''')}
  %g = linalg.fill ins(%zero : f32) outs(%r : tensor<2x3x?xf32>) -> tensor<2x3x?xf32>
  %sum = {generic(["d0, d1, d2, d3", "d0, d1, d2"], "pppr", "%p : tensor<2x3x?x37xf32>",
                  "%g : tensor<2x3x?xf32>", "tensor<2x3x?xf32>", '''  ^bb0(%a: f32, %c: f32):
    %v = arith.addf %c, %a : f32
    linalg.yield %v : f32''')}
  %q = {generic(["d0, d1, d2, d3", "d0, d1, d2", "d0, d1, d2, d3"], "pppp",
                "%p, %sum : tensor<2x3x?x37xf32>, tensor<2x3x?xf32>",
                "%e : tensor<2x3x?x37xf32>", "tensor<2x3x?x37xf32>",
                '''  ^bb0(%a: f32, %b: f32, %o: f32):
    %v = arith.divf %a, %b : f32
    linalg.yield %v : f32''')}
  return %q : tensor<2x3x?x37xf32>
}}
""", ((4,), (0,))),
    "matmul": Case("""func.func @f(%a: tensor<?x100xf32>, %b: tensor<100x7xf32>) -> tensor<?x7xf32> {
  %c0 = arith.constant 0 : index
  %m = tensor.dim %a, %c0 : tensor<?x100xf32>
  %z = arith.constant 0.0 : f32
  %e = tensor.empty(%m) : tensor<?x7xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<?x7xf32>) -> tensor<?x7xf32>
  %r = linalg.matmul ins(%a, %b : tensor<?x100xf32>, tensor<100x7xf32>) outs(%f : tensor<?x7xf32>) -> tensor<?x7xf32>
  return %r : tensor<?x7xf32>
}
""", ((5,), (0,))),
    # Batches of bf16, with sums in f32, and with sums that are rounded each time.
    "batch_matmul": Case("""func.func @f(%a: tensor<3x?x12xbf16>, %b: tensor<3x12x5xbf16>, %k: tensor<3x?x?xbf16>, %l: tensor<3x?x5xbf16>) -> (tensor<3x?x5xf32>, tensor<3x?x5xbf16>) {
  %c1 = arith.constant 1 : index
  %m = tensor.dim %a, %c1 : tensor<3x?x12xbf16>
  %n = tensor.dim %k, %c1 : tensor<3x?x?xbf16>
  %z = arith.constant 0.0 : f32
  %y = arith.constant 0.0 : bf16
  %e = tensor.empty(%m) : tensor<3x?x5xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<3x?x5xf32>) -> tensor<3x?x5xf32>
  %r = linalg.batch_matmul ins(%a, %b : tensor<3x?x12xbf16>, tensor<3x12x5xbf16>) outs(%f : tensor<3x?x5xf32>) -> tensor<3x?x5xf32>
  %g = tensor.empty(%n) : tensor<3x?x5xbf16>
  %h = linalg.fill ins(%y : bf16) outs(%g : tensor<3x?x5xbf16>) -> tensor<3x?x5xbf16>
  %s = linalg.batch_matmul ins(%k, %l : tensor<3x?x?xbf16>, tensor<3x?x5xbf16>) outs(%h : tensor<3x?x5xbf16>) -> tensor<3x?x5xbf16>
  return %r, %s : tensor<3x?x5xf32>, tensor<3x?x5xbf16>
}
""", ((4, 6, 9, 9), (0, 2, 0, 0))),
    # A contraction whose first loop is the one that is summed over.
    "contraction": Case(f"""func.func @f(%a: tensor<20x3xf32>, %b: tensor<20x4xf32>, %c: tensor<3x4xf32>) -> tensor<3x4xf32> {{
  %r = {generic(["d0, d1", "d0, d2", "d1, d2"], "rpp", "%a, %b : tensor<20x3xf32>, tensor<20x4xf32>",
                "%c : tensor<3x4xf32>", "tensor<3x4xf32>", '''  ^bb0(%x: f32, %y: f32, %s: f32):
    %p = arith.mulf %x, %y : f32
    %v = arith.addf %s, %p : f32
    linalg.yield %v : f32''')}
  return %r : tensor<3x4xf32>
}}
"""),
    "conv": Case("""func.func @f(%x: tensor<2x7x8x3xf32>, %w: tensor<3x2x3x5xf32>, %y: tensor<2x3x7x5xf32>) -> tensor<2x3x7x5xf32> {
  %r = linalg.conv_2d_nhwc_hwcf {strides = dense<[2, 1]> : tensor<2xi64>, dilations = dense<1> : tensor<2xi64>} ins(%x, %w : tensor<2x7x8x3xf32>, tensor<3x2x3x5xf32>) outs(%y : tensor<2x3x7x5xf32>) -> tensor<2x3x7x5xf32>
  return %r : tensor<2x3x7x5xf32>
}
"""),
    # Booleans in memory, integers of all widths, and casts.
    "integers": Case(f"""func.func @f(%a: tensor<?xi8>, %b: tensor<?xi16>, %c: tensor<?xi64>, %k: tensor<?xi1>) -> (tensor<?xi1>, tensor<?xi16>, tensor<?xf16>, tensor<?xi64>) {{
  %c0 = arith.constant 0 : index
  %n = tensor.dim %a, %c0 : tensor<?xi8>
  %e1 = tensor.empty(%n) : tensor<?xi1>
  %e2 = tensor.empty(%n) : tensor<?xi16>
  %e3 = tensor.empty(%n) : tensor<?xf16>
  %e4 = tensor.empty(%n) : tensor<?xi64>
  %r:4 = {generic(["d0"] * 8, "p", "%a, %b, %c, %k : tensor<?xi8>, tensor<?xi16>, tensor<?xi64>, tensor<?xi1>",
                  "%e1, %e2, %e3, %e4 : tensor<?xi1>, tensor<?xi16>, tensor<?xf16>, tensor<?xi64>",
                  "(tensor<?xi1>, tensor<?xi16>, tensor<?xf16>, tensor<?xi64>)",
                  '''  ^bb0(%x: i8, %y: i16, %z: i64, %w: i1, %o1: i1, %o2: i16, %o3: f16, %o4: i64):
    %one = arith.constant 1 : i64
    %p = arith.extui %x : i8 to i16
    %lt = arith.cmpi slt, %p, %y : i16
    %q = arith.xori %lt, %w : i1
    %s = arith.subi %p, %y : i16
    %u = arith.sitofp %z : i64 to f16
    %h = arith.divf %u, %u : f16
    %t = arith.addf %u, %h : f16
    %z1 = arith.addi %z, %one : i64
    %d = arith.extsi %s : i16 to i64
    %v = arith.divsi %d, %z1 : i64
    %m = arith.remsi %d, %z1 : i64
    %vm = arith.muli %v, %m : i64
    linalg.yield %q, %s, %t, %vm : i1, i16, f16, i64''')}
  return %r#0, %r#1, %r#2, %r#3 : tensor<?xi1>, tensor<?xi16>, tensor<?xf16>, tensor<?xi64>
}}
""", ((33, 33, 33, 33), (0, 0, 0, 0))),
    # Elements by their places, and from a table of the module.
    "generate": Case("""func.func @f(%n: index) -> tensor<?x3xi32> {
  %t = arith.constant dense<[3, 1, 4, 1, 5]> : tensor<5xi32>
  %c5 = arith.constant 5 : index
  %r = tensor.generate %n {
  ^bb0(%i: index, %j: index):
    %s = arith.addi %i, %j : index
    %k = arith.remui %s, %c5 : index
    %v = tensor.extract %t[%k] : tensor<5xi32>
    tensor.yield %v : i32
  } : tensor<?x3xi32>
  return %r : tensor<?x3xi32>
}
""", below=9),
    # Scalars that the device computes from elements, before and behind a kernel that
    # reads them, and scalars of the host.
    "scalars": Case(f"""func.func @f(%x: tensor<8xf32>, %s: f32, %i: index, %n: i64, %w: tensor<4x?xf32>) -> (tensor<4x?xf32>, tensor<3xf32>, tensor<8xf32>, f32, i64) {{
  %c2 = arith.constant 2 : index
  %a = tensor.extract %x[%i] : tensor<8xf32>
  %b = tensor.extract %x[%c2] : tensor<8xf32>
  %p = arith.mulf %a, %b : f32
  %q = arith.addf %p, %s : f32
  %y = {generic(["d0, d1"], "pp", "", "%w : tensor<4x?xf32>", "tensor<4x?xf32>",
                '''  ^bb0(%o: f32):
    %v = arith.subf %o, %q : f32
    linalg.yield %v : f32''')}
  %c0 = arith.constant 0 : index
  %z = tensor.extract %y[%c2, %c0] : tensor<4x?xf32>
  %t = tensor.from_elements %z, %q, %s : tensor<3xf32>
  %u = tensor.insert %z into %x[%i] : tensor<8xf32>
  %k = arith.fptosi %b : f32 to i64
  %l = arith.addi %k, %n : i64
  return %y, %t, %u, %z, %l : tensor<4x?xf32>, tensor<3xf32>, tensor<8xf32>, f32, i64
}}
""", ((5,),), below=8),
    "splat": Case("""func.func @f(%x: tensor<2x3xf32>) -> tensor<4x5xf32> {
  %c1 = arith.constant 1 : index
  %a = tensor.extract %x[%c1, %c1] : tensor<2x3xf32>
  %r = tensor.splat %a : tensor<4x5xf32>
  return %r : tensor<4x5xf32>
}
"""),
    # Heads of attention: a dimension becomes two, and two become one.
    "reshapes": Case("""func.func @f(%x: tensor<?x?x32xf32>) -> tensor<?x16xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %b = tensor.dim %x, %c0 : tensor<?x?x32xf32>
  %s = tensor.dim %x, %c1 : tensor<?x?x32xf32>
  %h = tensor.expand_shape %x [[0], [1], [2, 3]] output_shape [%b, %s, 2, 16] : tensor<?x?x32xf32> into tensor<?x?x2x16xf32>
  %e = tensor.empty(%b, %s) : tensor<?x2x?x16xf32>
  %t = linalg.transpose ins(%h : tensor<?x?x2x16xf32>) outs(%e : tensor<?x2x?x16xf32>) permutation = [0, 2, 1, 3]
  %r = tensor.collapse_shape %t [[0, 1, 2], [3]] : tensor<?x2x?x16xf32> into tensor<?x16xf32>
  return %r : tensor<?x16xf32>
}
""", ((2, 3), (0, 3), (1, 0))),
    # One dimension becomes two whose sizes are known at run time.
    "expand": Case("""func.func @f(%x: tensor<?x6xf32>, %y: tensor<?x?xf32>) -> tensor<6x?x?xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %b = tensor.dim %y, %c0 : tensor<?x?xf32>
  %s = tensor.dim %y, %c1 : tensor<?x?xf32>
  %h = tensor.expand_shape %x [[0, 1], [2]] output_shape [%b, %s, 6] : tensor<?x6xf32> into tensor<?x?x6xf32>
  %e = tensor.empty(%b, %s) : tensor<6x?x?xf32>
  %t = linalg.transpose ins(%h : tensor<?x?x6xf32>) outs(%e : tensor<6x?x?xf32>) permutation = [2, 0, 1]
  return %t : tensor<6x?x?xf32>
}
""", ((12, 3, 4),)),
    # What a kernel of ours reads and what it gives have gaps.
    "gaps": Case("""func.func @f(%x: tensor<?x96xbf16>) -> (tensor<?x64xf8E4M3FN>, tensor<?x4xf8E8M0FNU>) {
  %c0 = arith.constant 0 : index
  %m = tensor.dim %x, %c0 : tensor<?x96xbf16>
  %s = tensor.extract_slice %x[0, 32] [%m, 64] [1, 1] : tensor<?x96xbf16> to tensor<?x64xbf16>
  %q, %t = blockscale.quantize %s block [1, 32] recipe rceil : tensor<?x64xbf16> -> tensor<?x64xf8E4M3FN>, tensor<?x2xf8E8M0FNU>
  %e = tensor.empty(%m) : tensor<?x4xf8E8M0FNU>
  %a = tensor.insert_slice %t into %e[0, 0] [%m, 2] [1, 1] : tensor<?x2xf8E8M0FNU> into tensor<?x4xf8E8M0FNU>
  %b = tensor.insert_slice %t into %a[0, 2] [%m, 2] [1, 1] : tensor<?x2xf8E8M0FNU> into tensor<?x4xf8E8M0FNU>
  return %q, %b : tensor<?x64xf8E4M3FN>, tensor<?x4xf8E8M0FNU>
}
""", ((5,), (0,))),
    # A parallel loop that writes an element many times: the last one stays.
    "overwritten": Case(f"""func.func @f(%x: tensor<6x5xf32>, %y: tensor<5xf32>) -> tensor<5xf32> {{
  %r = {generic(["d0, d1", "d1"], "pp", "%x : tensor<6x5xf32>", "%y : tensor<5xf32>",
                "tensor<5xf32>", '''  ^bb0(%a: f32, %o: f32):
    linalg.yield %a : f32''')}
  return %r : tensor<5xf32>
}}
"""),
    # More rows than a dimension of a grid has blocks.
    "tall": Case("""func.func @f(%x: tensor<?x3xi8>) -> tensor<3x?xi8> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x3xi8>
  %e = tensor.empty(%n) : tensor<3x?xi8>
  %t = linalg.transpose ins(%x : tensor<?x3xi8>) outs(%e : tensor<3x?xi8>) permutation = [1, 0]
  return %t : tensor<3x?xi8>
}
""", ((70000,),)),
    # Math of one rounding an op, and what blockscale-expand-math makes of functions.
    "math": Case(f"""func.func @f(%x: tensor<?x3xf32>, %y: tensor<3x?xf32>) -> tensor<3x?xf32> {{
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x3xf32>
  %e = tensor.empty(%n) : tensor<3x?xf32>
  %r = {generic(["d1, d0", "d0, d1", "d0, d1"], "pp", "%x, %y : tensor<?x3xf32>, tensor<3x?xf32>",
                "%e : tensor<3x?xf32>", "tensor<3x?xf32>", '''  ^bb0(%a: f32, %b: f32, %o: f32):
    %1 = math.absf %a : f32
    %2 = math.sqrt %1 : f32
    %3 = math.rsqrt %1 : f32
    %4 = math.floor %b : f32
    %5 = math.ceil %b : f32
    %6 = math.roundeven %b : f32
    %7 = math.round %b : f32
    %8 = math.trunc %b : f32
    %9 = math.copysign %2, %b : f32
    %10 = math.fma %9, %4, %5 : f32
    %11 = arith.addf %10, %6 : f32
    %12 = arith.subf %11, %7 : f32
    %13 = arith.maximumf %12, %8 : f32
    %14 = math.tanh %13 : f32
    %15 = math.erf %b : f32
    %16 = arith.minnumf %14, %15 : f32
    %17 = math.log %2 : f32
    %18 = arith.addf %16, %17 : f32
    %19 = math.exp %b : f32
    %20 = arith.divf %18, %19 : f32
    %21 = math.sin %20 : f32
    %22 = math.cos %b : f32
    %23 = arith.mulf %21, %22 : f32
    linalg.yield %23 : f32''')}
  return %r : tensor<3x?xf32>
}}
""", ((200, 200),)),
    # Constants of truth values, which MLIR packs into bits and memory does not.
    "flags": Case(f"""func.func @f(%x: tensor<3x11xf32>) -> (tensor<3x11xf32>, tensor<3x11xi1>, tensor<3x11xi1>) {{
  %flags = arith.constant dense<[{", ".join("true" if i * i % 7 < 3 else "false" for i in range(11))}]> : tensor<11xi1>
  %same = arith.constant dense<true> : tensor<11xi1>
  %e = tensor.empty() : tensor<3x11xf32>
  %d = tensor.empty() : tensor<3x11xi1>
  %r = {generic(["d1", "d0, d1", "d0, d1"], "pp", "%flags, %x : tensor<11xi1>, tensor<3x11xf32>",
                "%e : tensor<3x11xf32>", "tensor<3x11xf32>", '''  ^bb0(%a: i1, %b: f32, %o: f32):
    %n = arith.negf %b : f32
    %v = arith.select %a, %b, %n : f32
    linalg.yield %v : f32''')}
  %s = {generic(["d1", "d0, d1"], "pp", "%flags : tensor<11xi1>", "%d : tensor<3x11xi1>",
                "tensor<3x11xi1>", '''  ^bb0(%a: i1, %o: i1):
    linalg.yield %a : i1''')}
  %t = {generic(["d1", "d0, d1"], "pp", "%same : tensor<11xi1>", "%d : tensor<3x11xi1>",
                "tensor<3x11xi1>", '''  ^bb0(%a: i1, %o: i1):
    linalg.yield %a : i1''')}
  return %r, %s, %t : tensor<3x11xf32>, tensor<3x11xi1>, tensor<3x11xi1>
}}
"""),
    "absolute": Case(f"""func.func @f(%x: tensor<?xi32>, %y: tensor<?xi32>) -> tensor<?xi32> {{
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?xi32>
  %e = tensor.empty(%n) : tensor<?xi32>
  %r = {generic(["d0", "d0", "d0"], "p", "%x, %y : tensor<?xi32>, tensor<?xi32>",
                "%e : tensor<?xi32>", "tensor<?xi32>", '''  ^bb0(%a: i32, %b: i32, %o: i32):
    %d = arith.subi %a, %b : i32
    %v = math.absi %d : i32
    linalg.yield %v : i32''')}
  return %r : tensor<?xi32>
}}
""", ((200, 200),)),
    # Loops whose bounds the host knows: in place, with a number that is carried, of two
    # buffers that change places, one in the other.
    "loop": Case("""func.func @f(%x: tensor<?x6xf32>, %y: tensor<?x6xf32>, %n: index) -> (tensor<?x6xf32>, tensor<?x6xf32>, index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %r:3 = scf.for %i = %c0 to %n step %c1 iter_args(%a = %x, %b = %y, %k = %c1) -> (tensor<?x6xf32>, tensor<?x6xf32>, index) {
    %m = tensor.dim %a, %c0 : tensor<?x6xf32>
    %e = tensor.empty(%m) : tensor<?x6xf32>
    %s = linalg.sub ins(%a, %b : tensor<?x6xf32>, tensor<?x6xf32>) outs(%e : tensor<?x6xf32>) -> tensor<?x6xf32>
    %l = arith.muli %k, %c2 : index
    %t = scf.for %j = %i to %l step %c2 iter_args(%q = %s) -> tensor<?x6xf32> {
      %f = arith.index_cast %j : index to i64
      %g = arith.sitofp %f : i64 to f32
      %w = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} outs(%q : tensor<?x6xf32>) {
      ^bb0(%o: f32):
        %v = arith.addf %o, %g : f32
        linalg.yield %v : f32
      } -> tensor<?x6xf32>
      scf.yield %w : tensor<?x6xf32>
    }
    scf.yield %b, %t, %l : tensor<?x6xf32>, tensor<?x6xf32>, index
  }
  return %r#0, %r#1, %r#2 : tensor<?x6xf32>, tensor<?x6xf32>, index
}
""", ((3, 3), (0, 0)), below=5),
    "empty_loop": Case("""func.func @f(%x: tensor<4xf32>, %n: index) -> tensor<4xf32> {
  %c1 = arith.constant 1 : index
  %c9 = arith.constant 9 : index
  %r = scf.for %i = %c9 to %n step %c1 iter_args(%a = %x) -> tensor<4xf32> {
    %e = tensor.empty() : tensor<4xf32>
    %s = linalg.add ins(%a, %a : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
    scf.yield %s : tensor<4xf32>
  }
  return %r : tensor<4xf32>
}
""", below=5),
    # Rows that a loop takes one by one.
    "rows": Case("""func.func @f(%x: tensor<?x5xf32>) -> tensor<?x5xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %m = tensor.dim %x, %c0 : tensor<?x5xf32>
  %e = tensor.empty(%m) : tensor<?x5xf32>
  %r = scf.for %i = %c0 to %m step %c1 iter_args(%a = %e) -> tensor<?x5xf32> {
    %s = tensor.extract_slice %x[%i, 0] [1, 5] [1, 1] : tensor<?x5xf32> to tensor<5xf32>
    %f = tensor.empty() : tensor<5xf32>
    %t = linalg.exp ins(%s : tensor<5xf32>) outs(%f : tensor<5xf32>) -> tensor<5xf32>
    %l = arith.subi %m, %i : index
    %j = arith.subi %l, %c1 : index
    %u = tensor.insert_slice %t into %a[%j, 0] [1, 5] [1, 1] : tensor<5xf32> into tensor<?x5xf32>
    scf.yield %u : tensor<?x5xf32>
  }
  return %r : tensor<?x5xf32>
}
""", ((4,), (0,))),
    # What the host decides: by a size, by an argument that is a boolean, by both.
    "branch": Case("""func.func @f(%x: tensor<?x4xf32>, %b: i1, %n: index) -> (tensor<?x4xf32>, index) {
  %c0 = arith.constant 0 : index
  %c3 = arith.constant 3 : index
  %m = tensor.dim %x, %c0 : tensor<?x4xf32>
  %large = arith.cmpi sgt, %m, %c3 : index
  %both = arith.andi %large, %b : i1
  %one = arith.ori %large, %b : i1
  %k = arith.select %one, %m, %n : index
  %e = tensor.empty(%m) : tensor<?x4xf32>
  %r:2 = scf.if %both -> (tensor<?x4xf32>, index) {
    %s = linalg.add ins(%x, %x : tensor<?x4xf32>, tensor<?x4xf32>) outs(%e : tensor<?x4xf32>) -> tensor<?x4xf32>
    scf.yield %s, %k : tensor<?x4xf32>, index
  } else {
    %l = arith.addi %k, %n : index
    %t = scf.if %b -> tensor<?x4xf32> {
      %s = linalg.mul ins(%x, %x : tensor<?x4xf32>, tensor<?x4xf32>) outs(%e : tensor<?x4xf32>) -> tensor<?x4xf32>
      scf.yield %s : tensor<?x4xf32>
    } else {
      scf.yield %x : tensor<?x4xf32>
    }
    scf.yield %t, %l : tensor<?x4xf32>, index
  }
  return %r#0, %r#1 : tensor<?x4xf32>, index
}
""", ((5,), (5,), (2,), (2,), (0,))),
    # A condition that a loop carries on, and that a branch behind it asks even where no
    # iteration ran.
    "carried_condition": Case("""func.func @f(%x: tensor<?x4xf32>, %b: i1, %n: index) -> (tensor<?x4xf32>, index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %m = tensor.dim %x, %c0 : tensor<?x4xf32>
  %large = arith.cmpi sgt, %m, %c3 : index
  %e = tensor.empty(%m) : tensor<?x4xf32>
  %t, %last = scf.for %i = %c0 to %n step %c1 iter_args(%a = %x, %was = %b) -> (tensor<?x4xf32>, i1) {
    %s = scf.if %was -> tensor<?x4xf32> {
      %d = linalg.add ins(%a, %a : tensor<?x4xf32>, tensor<?x4xf32>) outs(%e : tensor<?x4xf32>) -> tensor<?x4xf32>
      scf.yield %d : tensor<?x4xf32>
    } else {
      scf.yield %a : tensor<?x4xf32>
    }
    scf.yield %s, %large : tensor<?x4xf32>, i1
  }
  %r = scf.if %large -> tensor<?x4xf32> {
    %s = linalg.mul ins(%t, %x : tensor<?x4xf32>, tensor<?x4xf32>) outs(%e : tensor<?x4xf32>) -> tensor<?x4xf32>
    scf.yield %s : tensor<?x4xf32>
  } else {
    scf.yield %t : tensor<?x4xf32>
  }
  %k = arith.select %last, %c3, %c0 : index
  return %r, %k : tensor<?x4xf32>, index
}
""", ((5,), (5,), (2,), (0,)), below=3),
    # A branch whose buffers would have sizes below 0 if it ran.
    "guarded": Case("""func.func @f(%x: tensor<?xf32>) -> tensor<4xf32> {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %z = arith.constant 2.0 : f32
  %n = tensor.dim %x, %c0 : tensor<?xf32>
  %more = arith.cmpi uge, %n, %c4 : index
  %e = tensor.empty() : tensor<4xf32>
  %r = scf.if %more -> tensor<4xf32> {
    %d = arith.subi %n, %c4 : index
    %s = tensor.extract_slice %x[%d] [4] [1] : tensor<?xf32> to tensor<4xf32>
    scf.yield %s : tensor<4xf32>
  } else {
    %f = linalg.fill ins(%z : f32) outs(%e : tensor<4xf32>) -> tensor<4xf32>
    scf.yield %f : tensor<4xf32>
  }
  return %r : tensor<4xf32>
}
""", ((7,), (3,))),
    # One of two arguments.
    "select": Case("""func.func @f(%x: tensor<?x3xf32>, %y: tensor<?x3xf32>, %b: i1) -> tensor<?x3xf32> {
  %r = scf.if %b -> tensor<?x3xf32> {
    scf.yield %x : tensor<?x3xf32>
  } else {
    scf.yield %y : tensor<?x3xf32>
  }
  return %r : tensor<?x3xf32>
}
""", ((4, 4), (4, 4), (4, 4), (0, 0))),
}
