# ===- job.py - One product, run and checked ------------------------------===#
#
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Runs a module on real operands and compares all it returns with the reference."""

from dataclasses import dataclass

import numpy as np

import blockscale_reference as reference
import module


@dataclass
class Outcome:
    """Of one product y = x W^T of [M, K] by [N, K] (or [E, N, K])."""

    shape: tuple  # M, N, K
    seconds: tuple  # tools.Seconds
    bytes_differing: int = 0
    first_difference: str = ""
    outside_bound: int = 0  # elements of y
    sqnr: float = 0.0  # dB, against the exact product of the bf16 operands
    bf16_bytes: int = 0  # of x and w
    quantized_bytes: int = 0  # data, scales with their padding, global scales

    @property
    def correct(self):
        return self.bytes_differing == 0 and self.outside_bound == 0

    def compare(self, name, got, want):
        """Bytes of a returned array against the reference's, padding included."""
        want = np.asarray(want, order="C")
        self.quantized_bytes += want.nbytes
        if got.shape != want.shape or got.dtype != want.dtype:
            self._differ(
                want.nbytes,
                f"{name}: expected {want.dtype}{want.shape}, "
                f"but got {got.dtype}{got.shape}",
            )
            return
        got, expected = (np.frombuffer(a.tobytes(), np.uint8) for a in (got, want))
        at = np.flatnonzero(got != expected)
        if at.size:
            first = at[0]
            self._differ(
                at.size,
                f"{name}: byte {first} of {want.dtype}{want.shape} is "
                f"{got[first]:#04x}, expected {expected[first]:#04x}",
            )

    def _differ(self, count, text):
        self.bytes_differing += int(count)
        self.first_difference = self.first_difference or text

    def judge_product(self, y, quantized, exact):
        """`y` against the product of the quantized operands and the exact one."""
        self.outside_bound = int(
            np.sum(~(np.abs(y - quantized.value) <= quantized.bound()))
        )
        noise = np.sum(np.square(y.astype(np.float64) - exact.value))
        with np.errstate(divide="ignore"):
            self.sqnr = 10 * np.log10(np.sum(np.square(exact.value)) / noise)


def dense(tools, format, x, w):
    """The outcome for bf16 bits x [M, K] and w [N, K] (uint16)."""
    text, names = module.dense(format, x.shape[1], w.shape[0])
    got, seconds = tools.run(text, module.DENSE, {"x": x, "w": w}, names)
    qx, qw = format.quantize(x), format.quantize(w)
    outcome = _check_operands(got, seconds, x, w, qx, qw, reference.swizzle(qx.scale))
    outcome.judge_product(
        got["y"],
        reference.scaled_matmul(qx.values, qw.values, qx.factor * qw.factor),
        reference.scaled_matmul(*map(reference.from_bf16, (x, w))),
    )
    return outcome


def grouped(tools, format, x, w, ends):
    """The outcome for bf16 bits x [M, K] and w [E, N, K]; `ends` has E offsets."""
    tokens, k = x.shape
    experts, n, _ = w.shape
    text, names = module.grouped(format, tokens, k, n, experts)
    inputs = {"x": x, "w": w, "ends": np.asarray(ends, np.int32)}
    got, seconds = tools.run(text, module.GROUPED, inputs, names)
    qx, qw = format.quantize(x), format.quantize(w)
    scales = reference.swizzle_groups(qx.scale, ends, 0)
    outcome = _check_operands(got, seconds, x, w, qx, qw, scales)
    factors = np.broadcast_to(qx.factor * qw.factor, experts)
    multiply = reference.scaled_grouped_matmul
    outcome.judge_product(
        got["y"],
        multiply(qx.values, qw.values, ends, factors),
        multiply(*map(reference.from_bf16, (x, w)), ends),
    )
    return outcome


def _check_operands(got, seconds, x, w, qx, qw, sx):
    outcome = Outcome((x.shape[0], *w.shape[-2:]), seconds)
    outcome.bf16_bytes = x.nbytes + w.nbytes
    outcome.compare("x data", got["qx"], qx.data)
    outcome.compare("x scales", got["sx"], sx)
    outcome.compare("w data", got["qw"], qw.data)
    outcome.compare("w scales", got["sw"], reference.swizzle(qw.scale))
    for name, operand in (("gx", qx), ("gw", qw)):
        if operand.global_scale is not None:
            outcome.compare(name, got[name], operand.global_scale)
    return outcome
