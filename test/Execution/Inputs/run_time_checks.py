# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Calls functions of plain ops with arguments that fit and with some that do not, which are
errors of the call with a text of this file, on the CPU and in launch plans of five chips.

Usage: run_time_checks.py FOLDER
"""

import re
import sys
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

sys.path.append(str(Path(__file__).resolve().parents[2]))

from batches import run_lines
from expect import Expectations
from module import Module, ModuleError

ROWS = "affine_map<(i) -> (i)>"


def row(size, dtype="float32"):
    return np.arange(1, size + 1).astype(dtype)


def matrix(rows, cols):
    return row(rows * cols).reshape(rows, cols)


def whole(*numbers, dtype="int64"):
    return np.array(numbers, dtype)


def index(number):
    return np.int64(number)


@dataclass
class Case:
    """A function with arguments that fit, what it gives for them, and arguments that do not
    fit, with the message."""

    name: str
    text: str
    fits: list
    breaks: list = field(default_factory=list)
    #: Whether the host of a chip knows what is compared.
    on_chip: bool = False
    #: Whether a call that fails may leave memory: buffers that loops carry or callees return,
    #: which only run time says who owns.
    leaves_memory: bool = False


CASES = [
    Case("generic", f"""
func.func @generic(%x: tensor<?xf32>, %n: index) -> tensor<?xf32> {{
  %e = tensor.empty(%n) : tensor<?xf32>
  %y = linalg.generic {{indexing_maps = [{ROWS}, {ROWS}], iterator_types = ["parallel"]}} ins(%x : tensor<?xf32>) outs(%e : tensor<?xf32>) {{
  ^bb0(%a: f32, %o: f32):
    %b = arith.addf %a, %a : f32
    linalg.yield %b : f32
  }} -> tensor<?xf32>
  return %y : tensor<?xf32>
}}""", [((row(4), index(4)), 2 * row(4)), ((row(0), index(0)), row(0))],
         [((row(6), index(4)), "linalg.generic at .*: expected dimension 0 of operand 1 to be dimension 0 of operand 0, but got 4"),
          ((row(6), index(-1)), "tensor.empty at .*: expected size 0 to be at least 0, but got -1")],
         on_chip=True),
    Case("elementwise", """
func.func @elementwise(%x: tensor<?x?xf32>, %y: tensor<?x?xf32>) -> tensor<?x?xf32> {
  %z = arith.addf %x, %y : tensor<?x?xf32>
  return %z : tensor<?x?xf32>
}""", [((matrix(2, 3), matrix(2, 3)), 2 * matrix(2, 3))],
         [((matrix(2, 3), matrix(2, 2)), "arith.addf at .*: expected dimension 1 of operand 1 to be dimension 1 of operand 0, but got 2"),
          ((matrix(2, 3), matrix(9, 3)), "arith.addf at .*: expected dimension 0 of operand 1 .*, but got 9")],
         on_chip=True),
    Case("named", """
func.func @named(%a: tensor<?x?xf32>, %b: tensor<?x4xf32>) -> tensor<?x4xf32> {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %m = tensor.dim %a, %c0 : tensor<?x?xf32>
  %e = tensor.empty(%m) : tensor<?x4xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<?x4xf32>) -> tensor<?x4xf32>
  %y = linalg.matmul ins(%a, %b : tensor<?x?xf32>, tensor<?x4xf32>) outs(%f : tensor<?x4xf32>) -> tensor<?x4xf32>
  return %y : tensor<?x4xf32>
}""", [((matrix(2, 3), matrix(3, 4)), matrix(2, 3) @ matrix(3, 4))],
         [((matrix(2, 3), matrix(2, 4)), "linalg.matmul at .*: expected dimension 0 of operand 1 to be dimension 1 of operand 0, but got 2")],
         on_chip=True),
    Case("window", """
func.func @window(%x: tensor<?xf32>, %k: tensor<?xf32>, %e: tensor<?xf32>) -> tensor<?xf32> {
  %y = linalg.conv_1d ins(%x, %k : tensor<?xf32>, tensor<?xf32>) outs(%e : tensor<?xf32>) -> tensor<?xf32>
  return %y : tensor<?xf32>
}""", [((row(4), row(2), row(3)), row(3) + np.convolve(row(4), row(2)[::-1], "valid")),
       ((row(1), row(3), row(0)), row(0))],
         [((row(4), row(2), row(4)), "linalg.conv_1d at .*: expected dimension 0 of operand 0 to be at least what the loops of the op read or write, but got 4")],
         on_chip=True),
    # Rows that are repeated, and rows that are read again and again.
    Case("repeated", f"""
func.func @repeated(%x: tensor<?xf32>, %y: tensor<?xf32>, %e: tensor<?xf32>) -> tensor<?xf32> {{
  %z = linalg.generic {{indexing_maps = [affine_map<(i) -> (i floordiv 2)>, affine_map<(i) -> (i mod 3)>, {ROWS}], iterator_types = ["parallel"]}} ins(%x, %y : tensor<?xf32>, tensor<?xf32>) outs(%e : tensor<?xf32>) {{
  ^bb0(%a: f32, %b: f32, %o: f32):
    %c = arith.addf %a, %b : f32
    linalg.yield %c : f32
  }} -> tensor<?xf32>
  return %z : tensor<?xf32>
}}""", [((row(3), row(3), row(5)), whole(2, 3, 5, 3, 5, dtype="float32")),
        ((row(1), row(2), row(2)), whole(2, 3, dtype="float32")), ((row(0), row(0), row(0)), row(0))],
         [((row(2), row(3), row(5)), "linalg.generic at .*: expected dimension 0 of operand 0 to be at least what the loops of the op read or write, but got 2"),
          ((row(3), row(2), row(5)), "linalg.generic at .*: expected dimension 0 of operand 1 to be at least what the loops of the op read or write, but got 2"),
          ((row(1), row(1), row(2)), "linalg.generic at .*: expected dimension 0 of operand 1 .*, but got 1")],
         on_chip=True),
    Case("cast", """
func.func @cast(%x: tensor<?x?xf32>) -> tensor<4x?xf32> {
  %y = arith.addf %x, %x : tensor<?x?xf32>
  %z = tensor.cast %y : tensor<?x?xf32> to tensor<4x?xf32>
  return %z : tensor<4x?xf32>
}""", [((matrix(4, 2),), 2 * matrix(4, 2))],
         [((matrix(3, 2),), "tensor.cast at .*: expected dimension 0 of the source to be 4, but got 3")],
         on_chip=True),
    Case("slice", """
func.func @slice(%x: tensor<?xf32>, %o: index, %n: index) -> tensor<?xf32> {
  %y = tensor.extract_slice %x[%o] [%n] [1] : tensor<?xf32> to tensor<?xf32>
  return %y : tensor<?xf32>
}""", [((row(8), index(2), index(6)), row(8)[2:]), ((row(8), index(8), index(0)), row(0))],
         [((row(8), index(1000000), index(4)), "tensor.extract_slice at .*: expected offset 0 to be at most dimension 0 of the source without the part, but got 1000000"),
          ((row(8), index(2**62), index(4)), "expected offset 0 .*, but got 4611686018427387904"),
          ((row(8), index(-1), index(4)), "expected offset 0 to be at least 0, but got -1"),
          ((row(8), index(0), index(9)), "expected size 0 to be at most dimension 0 of the source, but got 9"),
          ((row(8), index(0), index(-2)), "expected size 0 to be at least 0, but got -2"),
          ((row(8), index(3), index(6)), "expected offset 0 .*, but got 3")],
         on_chip=True),
    Case("strided", """
func.func @strided(%x: tensor<9xf32>, %n: index, %s: index) -> tensor<?xf32> {
  %y = tensor.extract_slice %x[1] [%n] [%s] : tensor<9xf32> to tensor<?xf32>
  return %y : tensor<?xf32>
}""", [((row(9), index(3), index(3)), row(9)[1::3]), ((row(9), index(1), index(100)), row(9)[1:2])],
         [((row(9), index(4), index(3)), "tensor.extract_slice at .*: expected the end of the part in dimension 0 to be at most 9, but got 11"),
          ((row(9), index(2), index(2**62)), "expected the end of the part in dimension 0 to be at most 9, but got 11"),
          ((row(9), index(2), index(0)), "expected stride 0 to be at least 1, but got 0")]),
    Case("insert", """
func.func @insert(%x: tensor<?xf32>, %y: tensor<8xf32>, %o: index, %n: index) -> tensor<8xf32> {
  %z = tensor.insert_slice %x into %y[%o] [%n] [1] : tensor<?xf32> into tensor<8xf32>
  return %z : tensor<8xf32>
}""", [((row(2), row(8), index(6), index(2)), np.r_[row(6), row(2)])],
         [((row(2), row(8), index(7), index(2)), "tensor.insert_slice at .*: expected offset 0 to be at most dimension 0 of the destination without the part, but got 7"),
          ((row(3), row(8), index(0), index(2)), "expected dimension 0 of the source to be size 0, but got 3"),
          ((row(1), row(8), index(0), index(2)), "expected dimension 0 of the source to be size 0, but got 1")],
         on_chip=True),
    Case("pad", """
func.func @pad(%x: tensor<?xf32>, %l: index, %h: index) -> tensor<?xf32> {
  %zero = arith.constant 0.0 : f32
  %y = tensor.pad %x low[%l] high[%h] {
  ^bb0(%i: index):
    tensor.yield %zero : f32
  } : tensor<?xf32> to tensor<?xf32>
  return %y : tensor<?xf32>
}""", [((row(3), index(1), index(2)), np.r_[0, row(3), 0, 0].astype("float32"))],
         [((row(3), index(-1), index(2)), "tensor.pad at .*: expected low 0 to be at least 0, but got -1"),
          ((row(3), index(0), index(-1)), "expected high 0 to be at least 0, but got -1")],
         on_chip=True),
    Case("concat", """
func.func @concat(%x: tensor<?x?xf32>, %y: tensor<?x?xf32>) -> tensor<?x?xf32> {
  %z = tensor.concat dim(0) %x, %y : (tensor<?x?xf32>, tensor<?x?xf32>) -> tensor<?x?xf32>
  return %z : tensor<?x?xf32>
}""", [((matrix(2, 3), matrix(1, 3)), np.r_[matrix(2, 3), matrix(1, 3)])],
         [((matrix(2, 3), matrix(1, 4)), "tensor.concat at .*: expected dimension 1 of operand 1 to be dimension 1 of operand 0, but got 4")],
         on_chip=True),
    Case("expand", """
func.func @expand(%x: tensor<?xf32>, %m: index, %n: index) -> tensor<?x?xf32> {
  %y = tensor.expand_shape %x [[0, 1]] output_shape [%m, %n] : tensor<?xf32> into tensor<?x?xf32>
  return %y : tensor<?x?xf32>
}""", [((row(6), index(2), index(3)), matrix(2, 3))],
         [((row(6), index(2), index(4)), r"tensor.expand_shape at .*: expected dimension 0 of the result \* dimension 1 of the result to be dimension 0 of the source, but got 8"),
          ((row(6), index(-2), index(-3)), "expected size 0 to be at least 0, but got -2"),
          ((row(0), index(2**32), index(2**32)), "expected .* to be dimension 0 of the source, but got 9223372036854775807")],
         on_chip=True),
    # The bytes of what a function makes for itself are counted in 64 bits.
    Case("made", """
func.func @made(%x: tensor<4xf32>, %m: index, %n: index, %i: index) -> tensor<4xf32> {
  %e = tensor.empty(%m, %n) : tensor<?x?xf32>
  %y = tensor.insert_slice %x into %e[%i, 0] [1, 4] [1, 1] : tensor<4xf32> into tensor<?x?xf32>
  %z = tensor.extract_slice %y[%i, 0] [1, 4] [1, 1] : tensor<?x?xf32> to tensor<4xf32>
  %w = arith.addf %z, %z : tensor<4xf32>
  return %w : tensor<4xf32>
}""", [((row(4), index(3), index(5), index(2)), 2 * row(4))],
         [((row(4), index(2**60), index(16), index(2**40)), "tensor.empty at .*: expected the result to have less than 2\\^63 bytes, but got 9223372036854775807"),
          ((row(4), index(2**31), index(2**30), index(1)), "expected the result to have less than 2\\^63 bytes, .*"),
          ((row(4), index(2**62 + 3), index(4), index(2)), "expected the result to have less than 2\\^63 bytes, .*")]),
    Case("made_by_padding", """
func.func @made_by_padding(%x: tensor<?xf32>, %l: index, %h: index) -> tensor<1xf32> {
  %zero = arith.constant 0.0 : f32
  %y = tensor.pad %x low[%l] high[%h] {
  ^bb0(%i: index):
    tensor.yield %zero : f32
  } : tensor<?xf32> to tensor<?xf32>
  %z = tensor.extract_slice %y[%l] [1] [1] : tensor<?xf32> to tensor<1xf32>
  %w = arith.addf %z, %z : tensor<1xf32>
  return %w : tensor<1xf32>
}""", [((row(3), index(2), index(0)), 2 * row(1))],
         [((row(3), index(2**62), index(2**62)), "tensor.pad at .*: expected the result to have less than 2\\^63 bytes, .*"),
          ((row(3), index(2**63 - 1), index(2**63 - 1)), "expected the result to have less than 2\\^63 bytes, .*")]),
    Case("reshape", """
func.func @reshape(%x: tensor<?xf32>, %m: index) -> tensor<?x2xf32> {
  %c2 = arith.constant 2 : index
  %s = tensor.from_elements %m, %c2 : tensor<2xindex>
  %y = tensor.reshape %x(%s) : (tensor<?xf32>, tensor<2xindex>) -> tensor<?x2xf32>
  return %y : tensor<?x2xf32>
}""", [((row(6), index(3)), matrix(3, 2))],
         [((row(6), index(4)), "expected .* to be dimension 0 of the source, but got 8")],
         on_chip=True),
    Case("element", """
func.func @element(%x: tensor<?xf32>, %i: index, %j: index) -> tensor<?xf32> {
  %v = tensor.extract %x[%i] : tensor<?xf32>
  %y = tensor.insert %v into %x[%j] : tensor<?xf32>
  return %y : tensor<?xf32>
}""", [((row(3), index(2), index(0)), whole(3, 2, 3, dtype="float32"))],
         [((row(3), index(3), index(0)), "tensor.extract at .*: expected index 0 to be below the size of dimension 0, but got 3"),
          ((row(3), index(-1), index(0)), "tensor.extract at .*: expected index 0 to be at least 0, but got -1"),
          ((row(3), index(0), index(5)), "tensor.insert at .*: expected index 0 to be below the size of dimension 0, but got 5")],
         on_chip=True),
    Case("gather", f"""
func.func @gather(%i: tensor<?xi64>, %x: tensor<?xf32>) -> tensor<?xf32> {{
  %c0 = arith.constant 0 : index
  %n = tensor.dim %i, %c0 : tensor<?xi64>
  %e = tensor.empty(%n) : tensor<?xf32>
  %two = arith.addf %x, %x : tensor<?xf32>
  %y = linalg.generic {{indexing_maps = [{ROWS}, {ROWS}], iterator_types = ["parallel"]}} ins(%i : tensor<?xi64>) outs(%e : tensor<?xf32>) {{
  ^bb0(%k: i64, %o: f32):
    %j = arith.index_cast %k : i64 to index
    %v = tensor.extract %two[%j] : tensor<?xf32>
    linalg.yield %v : f32
  }} -> tensor<?xf32>
  return %y : tensor<?xf32>
}}""", [((whole(2, 0), row(3)), whole(6, 2, dtype="float32")), ((whole(), row(0)), row(0))],
         [((whole(2, 3), row(3)), "tensor.extract at .*: expected index 0 to be below the size of dimension 0, but got 3"),
          ((whole(2, -7), row(3)), "tensor.extract at .*: expected index 0 to be at least 0, but got -7"),
          ((whole(0), row(0)), "expected index 0 to be below .*, but got 0")]),
    Case("clamped", f"""
func.func @clamped(%i: tensor<?xi64>, %x: tensor<?xf32>) -> tensor<?xf32> {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = tensor.dim %i, %c0 : tensor<?xi64>
  %m = tensor.dim %x, %c0 : tensor<?xf32>
  %e = tensor.empty(%n) : tensor<?xf32>
  %y = linalg.generic {{indexing_maps = [{ROWS}, {ROWS}], iterator_types = ["parallel"]}} ins(%i : tensor<?xi64>) outs(%e : tensor<?xf32>) {{
  ^bb0(%k: i64, %o: f32):
    %j = arith.index_cast %k : i64 to index
    %last = arith.subi %m, %c1 : index
    %low = arith.maxsi %j, %c0 : index
    %place = arith.minsi %low, %last : index
    %v = tensor.extract %x[%place] : tensor<?xf32>
    linalg.yield %v : f32
  }} -> tensor<?xf32>
  return %y : tensor<?xf32>
}}""", [((whole(2, 9, -9), row(3)), whole(3, 3, 1, dtype="float32")), ((whole(), row(0)), row(0))],
         [((whole(0), row(0)), "tensor.extract at .*: expected index 0 to be at least 0, but got -1")],
         on_chip=True),
    # The lesser of two places is a place where one of them is.
    Case("lesser", f"""
func.func @lesser(%e: tensor<?xf32>, %x: tensor<?xf32>, %most: index) -> tensor<?xf32> {{
  %y = linalg.generic {{indexing_maps = [{ROWS}], iterator_types = ["parallel"]}} outs(%e : tensor<?xf32>) {{
  ^bb0(%o: f32):
    %i = linalg.index 0 : index
    %place = arith.minsi %i, %most : index
    %v = tensor.extract %x[%place] : tensor<?xf32>
    linalg.yield %v : f32
  }} -> tensor<?xf32>
  return %y : tensor<?xf32>
}}""", [((row(3), row(3), index(7)), row(3)), ((row(4), row(2), index(1)), whole(1, 2, 2, 2, dtype="float32"))],
         [((row(4), row(3), index(7)), "tensor.extract at .*: expected index 0 to be below the size of dimension 0, but got 3"),
          ((row(4), row(3), index(-1)), "tensor.extract at .*: expected index 0 to be at least 0, but got -1")]),
    Case("reverse", f"""
func.func @reverse(%e: tensor<?xf32>, %x: tensor<?xf32>) -> tensor<?xf32> {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %m = tensor.dim %x, %c0 : tensor<?xf32>
  %y = linalg.generic {{indexing_maps = [{ROWS}], iterator_types = ["parallel"]}} outs(%e : tensor<?xf32>) {{
  ^bb0(%o: f32):
    %i = linalg.index 0 : index
    %last = arith.subi %m, %c1 : index
    %place = arith.subi %last, %i : index
    %v = tensor.extract %x[%place] : tensor<?xf32>
    linalg.yield %v : f32
  }} -> tensor<?xf32>
  return %y : tensor<?xf32>
}}""", [((row(3), row(3)), row(3)[::-1]), ((row(2), row(3)), row(3)[:0:-1]), ((row(0), row(0)), row(0))],
         [((row(4), row(3)), "tensor.extract at .*: expected index 0 to be at least 0, but got -1")],
         on_chip=True),
    Case("dimension", """
func.func @dimension(%x: tensor<?x?xf32>, %i: index) -> index {
  %n = tensor.dim %x, %i : tensor<?x?xf32>
  return %n : index
}""", [((matrix(2, 3), index(1)), np.array(3))],
         [((matrix(2, 3), index(2)), "tensor.dim at .*: expected the dimension to be at most 1, but got 2"),
          ((matrix(2, 3), index(-1)), "tensor.dim at .*: expected the dimension to be at least 0, but got -1")]),
    Case("quotient", """
func.func @quotient(%a: i32, %b: i32) -> i32 {
  %c = arith.divsi %a, %b : i32
  return %c : i32
}""", [((np.int32(7), np.int32(-2)), np.array(-3, "int32")), ((np.int32(7), np.int32(-1)), np.array(-7, "int32"))],
         [((np.int32(7), np.int32(0)), "arith.divsi at .*: expected another divisor than 0, but got 0"),
          ((np.int32(-2**31), np.int32(-1)), "arith.divsi at .*: expected another divisor of the smallest number than -1, but got -1")]),
    Case("quotients", """
func.func @quotients(%a: tensor<?xi32>, %b: tensor<?xi32>) -> tensor<?xi32> {
  %c = arith.remsi %a, %b : tensor<?xi32>
  return %c : tensor<?xi32>
}""", [((whole(7, -7, dtype="int32"), whole(2, 2, dtype="int32")), whole(1, -1, dtype="int32"))],
         [((whole(7, 7, dtype="int32"), whole(2, 0, dtype="int32")), "arith.remsi at .*: expected another divisor than 0, but got 0"),
          ((whole(-2**31, dtype="int32"), whole(-1, dtype="int32")), "arith.remsi at .*: expected another divisor of the smallest number than -1, but got -1")]),
    Case("step", """
func.func @step(%x: tensor<8xf32>, %s: index) -> tensor<8xf32> {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %one = arith.constant 1.0 : f32
  %y = scf.for %i = %c0 to %c8 step %s iter_args(%t = %x) -> tensor<8xf32> {
    %u = tensor.insert %one into %t[%i] : tensor<8xf32>
    scf.yield %u : tensor<8xf32>
  }
  return %y : tensor<8xf32>
}""", [((row(8), index(8)), row(8))],
         [((row(8), index(0)), "scf.for at .*: expected a step to be at least 1, but got 0")]),
    # What a loop and a branch compare is known only there.
    Case("nested", """
func.func @nested(%x: tensor<?xf32>, %n: index, %b: i1) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %two = arith.addf %x, %x : tensor<?xf32>
  %y = scf.for %i = %c0 to %n step %c1 iter_args(%t = %two) -> tensor<?xf32> {
    %z = scf.if %b -> tensor<?xf32> {
      %p = tensor.extract_slice %x[%i] [2] [1] : tensor<?xf32> to tensor<2xf32>
      %q = arith.mulf %p, %p : tensor<2xf32>
      %u = tensor.insert_slice %q into %t[%i] [2] [1] : tensor<2xf32> into tensor<?xf32>
      scf.yield %u : tensor<?xf32>
    } else {
      scf.yield %t : tensor<?xf32>
    }
    scf.yield %z : tensor<?xf32>
  }
  %d = arith.addf %y, %x : tensor<?xf32>
  return %d : tensor<?xf32>
}""", [((row(4), index(3), np.bool_(False)), 3 * row(4)), ((row(2), index(1), np.bool_(True)), whole(2, 6, dtype="float32"))],
         [((row(4), index(4), np.bool_(True)), "tensor.extract_slice at .*: expected offset 0 to be at most dimension 0 of the source without the part, but got 3")], leaves_memory=True),
    # The callee leaves with an error, and so does who called it.
    Case("caller", """
func.func private @callee(%x: tensor<?xf32>, %o: index) -> tensor<?xf32> {
  %y = tensor.extract_slice %x[%o] [2] [1] : tensor<?xf32> to tensor<2xf32>
  %z = arith.addf %y, %y : tensor<2xf32>
  %c = tensor.cast %z : tensor<2xf32> to tensor<?xf32>
  return %c : tensor<?xf32>
}
func.func @caller(%x: tensor<?xf32>, %o: index) -> tensor<?xf32> {
  %two = arith.addf %x, %x : tensor<?xf32>
  %y = func.call @callee(%two, %o) : (tensor<?xf32>, index) -> tensor<?xf32>
  %z = func.call @callee(%y, %o) : (tensor<?xf32>, index) -> tensor<?xf32>
  return %z : tensor<?xf32>
}""", [((row(4), index(0)), 8 * row(2))],
         [((row(4), index(1)), "tensor.extract_slice at .*: expected offset 0 .*, but got 1"),
          ((row(4), index(7)), "tensor.extract_slice at .*: expected offset 0 .*, but got 7")],
         leaves_memory=True),
]

folder = Path(sys.argv[1])
expect = Expectations()


def call(module, case, arguments):
    """The result, or the message of the call."""
    try:
        return module.call(case.name, *arguments)[0]
    except ModuleError as error:
        return str(error)


def compare(found, wanted):
    if isinstance(found, str):
        return found
    return None if np.array_equal(found, wanted) else f"{found.tolist()} for {wanted.tolist()}"


def match(found, message):
    if not isinstance(found, str):
        return f"no error, {found.tolist()}"
    # Launch plans say the relation, too.
    found = re.sub(r" \([<>=]+ -?\d+\), but got", ", but got", found)
    return None if re.search(message + "$", found.strip(), re.M) else f"'{found}' for '{message}'"


module = Module("".join(case.text for case in CASES), folder)
for case in CASES:
    for arguments, wanted in case.fits:
        expect.record(f"@{case.name} {arguments}", compare(call(module, case, arguments), wanted))
    for arguments, message in case.breaks:
        found = call(module, case, arguments)
        if case.leaves_memory and isinstance(found, str):
            found = re.sub(r"; \d+ allocations were not freed$", "", found)
        expect.record(f"@{case.name} {arguments}", match(found, message))

# Results of the caller that have other sizes than what is computed.
slots = module.arguments("elementwise")
for shape, number in (((2, 4), 4), ((1, 3), 1)):
    try:
        module._invoke("elementwise", slots, [matrix(2, 3), matrix(2, 3)],
                       [(shape, np.dtype("float32"))])
        problem = "no error"
    except ModuleError as error:
        problem = match(str(error), "expected dimension . of (result 0|the destination) to be .*, "
                                    f"but got {number}")
    expect.record(f"a result of {shape}", problem)


CHIPS = ("sm_80", "sm_89", "sm_90a", "sm_100a", "sm_120a")


def run_on(target, case, arguments):
    """The result of blockscale-run, or its message."""
    files = []
    for number, argument in enumerate(arguments):
        files.append(folder / f"{number}.npy")
        np.save(files[-1], np.asarray(argument))
    out = folder / "out.npy"
    [(status, printed)] = run_lines([[
        folder / f"{case.name}.mlir", f"--entry={case.name}", "--on=emulator", f"--target={target}",
        *(f"--in={file}" for file in files), f"--out={out}"]])
    return printed if status else np.load(out)


for number, case in enumerate(case for case in CASES if case.on_chip):
    (folder / f"{case.name}.mlir").write_text(case.text)
    arguments, wanted = case.fits[0]
    chip = CHIPS[number % len(CHIPS)]
    expect.record(f"@{case.name} {arguments} on {chip}",
                  compare(run_on(chip, case, arguments), wanted))
    arguments, message = case.breaks[0]
    for chip in CHIPS:
        expect.record(f"@{case.name} {arguments} on {chip}",
                      match(run_on(chip, case, arguments), message))
expect.finish()
