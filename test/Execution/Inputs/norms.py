# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The text of norms as frontends write them: linalg ops that reduce the rows of x, one
value a row from that, and ops on the elements."""

from dataclasses import dataclass

from block_shapes import tensor

EPSILON = "9.99999974E-6"


@dataclass
class Norm:
    """`kind` is rms, layer or softmax. With `keeps_dim` rows have a dimension of 1.
    `residual` is added to x before."""

    kind: str
    x: str
    weight: str
    residual: bool = False
    keeps_dim: bool = False

    def operands(self, shape):
        """Types of the arguments."""
        x, column = tensor(shape, self.x), tensor(shape[-1:], self.weight)
        columns = {"rms": 1, "layer": 2, "softmax": 0}[self.kind]
        return [x] * (1 + self.residual) + [column] * columns

    def text(self, n, arguments, shape):
        """The lines that compute call number n, the name of its result, and of the sum
        where there is a residual, else None."""
        return _Text(self, f"%n{n}_", shape).write(*arguments)


class _Text:
    def __init__(self, norm, prefix, shape):
        self.norm, self.prefix, self.shape = norm, prefix, shape
        self.rank, self.lines, self.names = len(shape), [], 0
        rows = shape[:-1] + ((1,) if norm.keeps_dim else ())
        self.rows = tensor(rows, "f32")
        dims = [f"d{i}" for i in range(self.rank)]
        domain = ", ".join(dims)

        def map_of(results):
            return f"affine_map<({domain}) -> ({', '.join(results)})>"

        self.maps = {"x": map_of(dims), "column": map_of(dims[-1:]),
                     "row": map_of(dims[:-1] + ["0"] * norm.keeps_dim)}
        row_dims = ", ".join(f"d{i}" for i in range(len(rows)))
        self.row_map = f"affine_map<({row_dims}) -> ({row_dims})>"
        self.row_rank = len(rows)

    def new(self):
        self.names += 1
        return f"{self.prefix}{self.names}"

    def line(self, text):
        name = self.new()
        self.lines.append(f"  {name} = {text}\n")
        return name

    def empty(self, type, x):
        sizes = []
        for i, size in enumerate(self.shape):
            if size is None:
                index = self.line(f"arith.constant {i} : index")
                source = tensor(self.shape, self.norm.x)
                sizes.append(self.line(f"tensor.dim {x}, {index} : {source}"))
        return self.line(f"tensor.empty({', '.join(sizes)}) : {type}")

    def generic(self, maps, inputs, types, init, result, iterators, body, last):
        """An op whose body is `body` of names {0}, {1}, .. and yields `last`."""
        arguments = [f"%x{i}: {element(type)}" for i, type in enumerate([*types, result])]
        lines = "".join(f"    {line}\n" for line in body)
        return self.line(
            f"linalg.generic {{indexing_maps = [{', '.join(maps)}], iterator_types = "
            f"[{', '.join(iterators)}]}} ins({', '.join(inputs)} : {', '.join(types)}) "
            f"outs({init} : {result}) {{\n  ^bb0({', '.join(arguments)}):\n{lines}"
            f"    linalg.yield {last} : {element(result)}\n  }} -> {result}")

    def reduce(self, x, inputs, types, maps, combiner, start, body):
        """Of %v, which `body` computes."""
        constant = self.line(f"arith.constant {start} : f32")
        init = self.line(f"linalg.fill ins({constant} : f32) outs({self.empty(self.rows, x)} : "
                         f"{self.rows}) -> {self.rows}")
        accumulated = f"%x{len(inputs)}"
        return self.generic([*maps, self.maps["row"]], inputs, types, init, self.rows,
                            ['"parallel"'] * (self.rank - 1) + ['"reduction"'],
                            [*body, f"%r = arith.{combiner} {accumulated}, %v : f32"], "%r")

    def of_rows(self, x, row, body):
        """%v of %x0, a value of the row."""
        return self.generic([self.row_map] * 2, [row], [self.rows], self.empty(self.rows, x),
                            self.rows, ['"parallel"'] * self.row_rank, body, "%v")

    def of_elements(self, x, inputs, types, maps, body, last):
        type = tensor(self.shape, self.norm.x)
        return self.generic([*maps, self.maps["x"]], inputs, types, self.empty(type, x), type,
                            ['"parallel"'] * self.rank, body, last)

    def read(self, i, type, name):
        """The f32 `name` of argument i, from an element of `type`."""
        if type == "f32":
            zero = "0x80000000"
            return [f"%m{i} = arith.constant {zero} : f32",
                    f"{name} = arith.addf %x{i}, %m{i} : f32"]
        return [f"{name} = arith.extf %x{i} : {type} to f32"]

    def round(self, name):
        """%y as an element of x."""
        if self.norm.x == "f32":
            return [], name
        return [f"%y = arith.truncf {name} : f32 to {self.norm.x}"], "%y"

    def write(self, x, *others):
        kind, type = self.norm.kind, tensor(self.shape, self.norm.x)
        total = None
        if self.norm.residual:
            rounding, last = self.round("%s")
            body = [*self.read(0, self.norm.x, "%a"), *self.read(1, self.norm.x, "%b"),
                    "%s = arith.addf %a, %b : f32", *rounding]
            x = total = self.of_elements(x, [x, others[0]], [type] * 2, [self.maps["x"]] * 2, body,
                                         last)
            others = others[1:]
        result = getattr(self, kind)(x, type, *others)
        return "".join(self.lines), result, total

    def count(self):
        return f"%k = arith.constant {float(self.shape[-1])!r} : f32"

    def inverse(self, x, row):
        """1 / sqrt(row / K + epsilon)"""
        return self.of_rows(x, row, [
            self.count(), f"%e = arith.constant {EPSILON} : f32", "%one = arith.constant 1.0 : f32",
            "%a = arith.divf %x0, %k : f32", "%b = arith.addf %a, %e : f32",
            "%c = math.sqrt %b : f32",
            "%v = arith.divf %one, %c : f32"])

    def rms(self, x, type, weight):
        squares = self.reduce(x, [x], [type], [self.maps["x"]], "addf", "0.0",
                              [*self.read(0, self.norm.x, "%a"), "%v = arith.mulf %a, %a : f32"])
        rounding, last = self.round("%p")
        return self.of_elements(
            x, [x, self.inverse(x, squares), weight],
            [type, self.rows, tensor(self.shape[-1:], self.norm.weight)],
            [self.maps[name] for name in ("x", "row", "column")],
            [*self.read(0, self.norm.x, "%a"), *self.read(2, self.norm.weight, "%w"),
             "%n = arith.mulf %a, %x1 : f32", "%p = arith.mulf %n, %w : f32", *rounding], last)

    def layer(self, x, type, weight, bias):
        maps = [self.maps["x"], self.maps["row"]]
        sums = self.reduce(x, [x], [type], maps[:1], "addf", "0.0", self.read(0, self.norm.x, "%v"))
        mean = self.of_rows(x, sums, [self.count(), "%v = arith.divf %x0, %k : f32"])
        squares = self.reduce(x, [x, mean], [type, self.rows], maps, "addf", "0.0",
                              [*self.read(0, self.norm.x, "%a"), "%d = arith.subf %a, %x1 : f32",
                               "%v = arith.mulf %d, %d : f32"])
        column = tensor(self.shape[-1:], self.norm.weight)
        rounding, last = self.round("%s")
        return self.of_elements(
            x, [x, mean, self.inverse(x, squares), weight, bias],
            [type, self.rows, self.rows, column, column],
            [*maps, self.maps["row"], self.maps["column"], self.maps["column"]],
            [*self.read(0, self.norm.x, "%a"), *self.read(3, self.norm.weight, "%w"),
             *self.read(4, self.norm.weight, "%b"), "%d = arith.subf %a, %x1 : f32",
             "%n = arith.mulf %d, %x2 : f32", "%p = arith.mulf %n, %w : f32",
             "%s = arith.addf %p, %b : f32", *rounding], last)

    def softmax(self, x, type):
        maps = [self.maps["x"], self.maps["row"]]
        most = self.reduce(x, [x], [type], maps[:1], "maximumf", "0xFF800000",
                           self.read(0, self.norm.x, "%v"))

        def weigh(name):
            """exp(x - most)"""
            return [*self.read(0, self.norm.x, "%a"), "%d = arith.subf %a, %x1 : f32",
                    f"{name} = math.exp %d : f32"]

        sums = self.reduce(x, [x, most], [type, self.rows], maps, "addf", "0.0", weigh("%v"))
        rounding, last = self.round("%q")
        return self.of_elements(x, [x, most, sums], [type, self.rows, self.rows],
                                [*maps, self.maps["row"]],
                                [*weigh("%p"), "%q = arith.divf %p, %x2 : f32", *rounding], last)


def element(type):
    return type.removeprefix("tensor<").removesuffix(">").split("x")[-1]
