# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What is not imported is one error, which names ops with their lines, what was expected and
what was found."""

import dataclasses
import signal
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
from jax import lax

import blockscale
import blockscale.jax
from blockscale.jax import UnsupportedError, _apart, _graph, from_export, from_stablehlo
from blockscale.jax._file import import_file
from models import E2M1, E4M3, E5M2, E8M0, export_function, import_function, scaled_dot_general

X = np.zeros((4, 8), np.float32)


def call(name, *results):
    """A custom call of XLA."""
    def function(*args):
        return jax.ffi.ffi_call(name, list(results) if len(results) > 1 else results[0],
                                custom_call_api_version=2)(*args)
    return function


class TestOps(unittest.TestCase):
    def refuse(self, pattern, function, *args, platform="cpu"):
        with self.assertRaisesRegex(UnsupportedError, pattern) as raised:
            import_function(function, *args, platform=platform)
        self.assertEqual(len(str(raised.exception).splitlines()), len(raised.exception.problems))
        return raised.exception

    def test_all_unknown_ops_at_once(self):
        def function(x):
            y = lax.reduce_precision(x, 5, 3) + lax.reduce_precision(-x, 5, 3)
            return call("unknown_call", jax.ShapeDtypeStruct((4, 8), jnp.float32))(y)
        error = self.refuse("stablehlo.reduce_precision", function, X)
        self.assertIn("stablehlo.custom_call @unknown_call", str(error))
        first = function.__code__.co_firstlineno
        found = {problem.target: problem for problem in error.problems}
        self.assertEqual(len(found), 2)
        self.assertRegex(str(found["stablehlo.reduce_precision"]),
                         rf"test_refused.py:{first + 1}: .*reduce_precision.*expected an op that "
                         r"is imported, as docs/Doors.md lists them \(and 1 more of it\)")
        self.assertRegex(str(found["stablehlo.custom_call @unknown_call"]),
                         r"test_refused.py:\d+: jit\(function\)/ffi_call = ")

    def test_constants_of_other_types(self):
        for number, kind in ((1j, "complex<f32>"), (jnp.array([1, 0], jnp.int4), "i4")):
            self.refuse(f"constant: expected elements of f32, .*, but got {kind}",
                        lambda x, number=number: (x, jnp.asarray(number)), X)

    def test_unknown_in_a_composite(self):
        self.refuse("stablehlo.reduce_precision", lambda x: lax.composite(
            lambda x: lax.reduce_precision(x, 5, 3), "my.round")(x), X)

    def test_loops(self):
        self.refuse("expected a loop whose number of passes is decided by constants, .*, but got "
                    "one whose condition depends on inputs",
                    lambda x: lax.fori_loop(0, x.astype(int)[0, 0], lambda _, y: y + 1, x), X)
        self.refuse("expected a loop of at most 1000 passes, which stand one behind the other, but "
                    "got one of more", lambda x: lax.fori_loop(0, 1001, lambda _, y: y + 1, x), X)

    def test_sorts(self):
        self.refuse("expected a sort by one operand in ascending or descending order, but got one "
                    "by .*compare", lambda x: lax.sort((x, x), num_keys=2), X)
        for dtype in (np.uint32, E4M3):
            self.refuse("expected an order of signed integers or of floating-point numbers of 16 "
                        "bits or more, but got", lambda x: lax.sort(x), X.astype(dtype))

    def test_windows(self):
        self.refuse("expected a reduction by one of .* but got stablehlo.subtract",
                    lambda x: lax.reduce_window(x, np.float32(0), lax.sub, (1, 2), (1, 1), "VALID"),
                    X)
        self.refuse("expected windows that start from what add leaves as it is",
                    lambda x: lax.reduce_window(x, np.float32(3), lambda a, b: a + b, (1, 2),
                                                (1, 1), "VALID"), X)
        self.refuse(r"expected windows without base_dilations, but got \[1, 2\]",
                    lambda x: lax.reduce_window(x, np.float32(0), lax.add, (1, 2), (1, 1), "VALID",
                                                base_dilation=(1, 2)), X)
        self.refuse("expected windows of numbers, but got or of i1",
                    lambda x: lax.reduce_window(x, False, lax.bitwise_or, (1, 2), (1, 1), "VALID"),
                    X.astype(bool))
        self.refuse(r"expected padding of 0 or more, but got \[0, -1\] and \[0, 0\]",
                    lambda x: lax.reduce_window(x, np.float32(0), lax.add, (1, 2), (1, 1),
                                                ((0, 0), (-1, 0))), X)

    def test_convolutions(self):
        def convolve(x, w, **options):
            return lax.conv_general_dilated(x, w, (1,), "VALID", **options)
        x = np.zeros((2, 4, 8), np.float32)
        self.refuse("expected a convolution of one group of batches, but got 2",
                    lambda x: convolve(x, x[:, :, :3], batch_group_count=2), x)
        self.refuse("expected a convolution of floating-point numbers of 16 bits or more, but got "
                    "i32", lambda x: convolve(x, x[:, :, :3]), x.astype(np.int32))

    def test_writes(self):
        self.refuse("expected a scatter that replaces elements or adds to them, but got one by mul",
                    lambda x: x.at[1].mul(2), X)
        self.refuse("expected a scatter of numbers of 16 bits or more, or of integers, at signed "
                    "indices, but got f8E4M3FN at i32", lambda x, i: x.at[i].set(x[0]),
                    X.astype(E4M3), np.array([1, 2], np.int32))

    def test_updates(self):
        self.refuse("expected no part of f8E4M3FN to be replaced; convert it before",
                    lambda x, i: lax.dynamic_update_slice(x, x[:1], (i, 0)), X.astype(E4M3),
                    np.int32(1))

    def test_reductions(self):
        def reduce(function, *operands):
            starts = tuple(np.zeros((), each.dtype) for each in operands)
            return lax.reduce(operands, starts, function, (1,))
        self.refuse("expected a reduction of one tensor, or of numbers and their places as argmax "
                    "and argmin have it, but got one of two by add, maximum",
                    lambda x: reduce(lambda a, b: (a[0] + b[0], lax.max(a[1], b[1])), x, x), X)
        self.refuse("expected a reduction of one tensor, or of two, but got one of 3",
                    lambda x: reduce(lambda a, b: tuple(lax.add(*each) for each in zip(a, b)), x, x,
                                     x), X)
        self.refuse("expected an order of signed integers or of floating-point numbers .* but got "
                    "ui32", lambda x: jnp.argmax(x, axis=1), X.astype(np.uint32))
        self.refuse("expected a reduction by one of .* but got stablehlo.subtract",
                    lambda x: lax.reduce(x, np.float32(0), lambda a, b: a - b, (1,)), X)
        self.refuse("expected signed or floating-point numbers, but got unsigned ones",
                    lambda x: x.max(1), X.astype(np.uint32))

    def test_unsigned(self):
        for function in (lambda x: lax.div(x, np.uint32(3)), lambda x: lax.rem(x, np.uint32(3)),
                         lambda x: lax.clamp(np.uint32(1), x, np.uint32(5))):
            self.refuse("but got unsigned ones", function, X.astype(np.uint32))
        self.refuse("expected signed or floating-point numbers, but got ui32",
                    lambda x: lax.dot(x, x.T), X.astype(np.uint32))

    def test_total_order(self):
        self.refuse("in total order", lambda x: lax.lt_to_p.bind(x, x), X)

    def test_narrow_types(self):
        self.refuse("expected no arithmetic on f8E4M3FN", lambda x: x + x, X.astype(E4M3))
        self.refuse("expected no choice of f8E5M2", lambda m, x: lax.select(m, x, x),
                    X.astype(bool), X.astype(E5M2))
        self.refuse("expected no conversion of numbers to f8E8M0FNU: its rounding is not defined",
                    lambda x: x.astype(E8M0), X)
        self.refuse("expected a conversion of f32, bf16 or f16 to f8E4M3FN, but got one of i32",
                    lambda x: x.astype(E4M3), X.astype(np.int32))
        self.refuse("expected a conversion to floating-point numbers, but got one to i32",
                    lambda x: x.astype(np.int32), X.astype(E4M3))

    def test_4_bit_numbers(self):
        self.refuse("rows of a multiple of 16, but got", lambda x: x.astype(E2M1), X)
        self.refuse("rank 2 or more, but got", lambda x: x.astype(np.float32),
                    np.zeros(32, E2M1))
        self.refuse("expected no concatenation of f4E2M1FN", lambda x: jnp.concatenate([x, x]),
                    np.zeros((2, 32), E2M1))
        with self.assertRaisesRegex(blockscale.ArgumentError,
                                    r"x: expected an even last dimension .* but got \[4, 7\]"):
            import_function(lambda x: x.astype(np.float32), np.zeros((4, 7), E2M1))

    def test_types(self):
        with self.assertRaisesRegex(blockscale.ArgumentError,
                                    "x: expected an input of f32, .* but got f8E3M4"):
            import_function(lambda x: x, X.astype(ml_dtypes.float8_e3m4))

    def test_products_of_one_algorithm(self):
        for preset in ("BF16_BF16_F32_X3", "TF32_TF32_F32", "BF16_BF16_BF16"):
            self.refuse("expected a product by an algorithm that multiplies operands of bf16, f16 "
                        "or f32 once, with sums in f32, but got", lambda x, preset=preset: lax.dot(
                            x, x.T, precision=lax.DotAlgorithmPreset[preset]), X,
                        platform="cuda")

    def test_padding(self):
        self.refuse("expected padding of numbers of 16 bits or more by a constant",
                    lambda x, y: lax.pad(x, y, ((1, 0, 0), (0, 0, 0))), X, np.float32(1))

    def test_two_results_of_a_quantizer(self):
        shapes = jax.ShapeDtypeStruct((4, 64), E4M3), jax.ShapeDtypeStruct((4, 2), E8M0)
        self.refuse("expected a quantizer whose bytes are those of a recipe: XLA divides",
                    call("__op$quantize", *shapes), np.zeros((4, 64), np.float32))

    def test_block_scaled_dot(self):
        result = jax.ShapeDtypeStruct((4, 4), jnp.float32)

        def refuse(pattern, a, b, scale_a, scale_b, result=result):
            self.refuse(pattern, call("__op$block_scaled_dot", result), a, b, scale_a, scale_b,
                        platform="cuda")
        data, scale = np.zeros((4, 64), E4M3), np.ones((4, 2), E8M0)
        refuse("expected scales of f8E4M3FN for blocks of 16, or of f8E8M0FNU for blocks of 32, "
               "but got f8E8M0FNU for blocks of 64", data, data, scale[:, :1], scale[:, :1])
        refuse("to have scales of one type and block, but got f8E8M0FNU and f8E8M0FNU, 32 and 64",
               data, data, scale, scale[:, :1])
        refuse("expected both operands to be f8E4M3FN or f8E5M2 or f4E2M1FN .* but got "
               "f8E4M3FN and f8E5M2", data, data.astype(E5M2), scale, scale)
        refuse("expected operands .* with scales that differ from them in K alone", data, data,
               scale[:3], scale)
        refuse("expected a result .* but got tensor<4x4xf32> of tensor<4x64xf8E4M3FN> and "
               "tensor<4x32xf8E4M3FN>", data, data[:, :32], scale, scale[:, :1])
        refuse("expected a result of f32, bf16 or f16, but got f8E4M3FN", data, data, scale, scale,
               jax.ShapeDtypeStruct((4, 4), E4M3))
        self.refuse("expected two operands with scales, but got 3 operands",
                    call("__op$block_scaled_dot", result), data, data, scale, platform="cuda")

    def test_dequantize(self):
        data, scale = np.zeros((4, 64), E4M3), np.ones((4, 2), E8M0)
        self.refuse("expected a result of f32 or bf16 of the data's shape",
                    call("__op$dequantize", jax.ShapeDtypeStruct((4, 64), jnp.float16)), data,
                    scale)
        self.refuse(r"expected data \[.., M, K\] with scales \[.., M, K/B\], but got "
                    "tensor<4x64xf8E4M3FN> and tensor<3x2xf8E8M0FNU>",
                    call("__op$dequantize", jax.ShapeDtypeStruct((4, 64), jnp.float32)), data,
                    scale[:3])
        self.refuse("but got f8E8M0FNU for blocks of 64",
                    call("__op$dequantize", jax.ShapeDtypeStruct((4, 64), jnp.float32)), data,
                    scale[:, :1])


class TestExports(unittest.TestCase):
    def refuse(self, pattern, function, *args, **kwargs):
        with self.assertRaisesRegex(blockscale.ArgumentError, pattern):
            function(*args, **kwargs)

    def test_inputs_that_the_module_does_not_take(self):
        exported = jax.export.export(jax.jit(lambda x, y: x + y))(X, X)
        self.refuse("expected the export to keep 2 inputs, as its module takes, but got 1",
                    from_export, dataclasses.replace(exported, module_kept_var_idx=(0,)))

    def test_what_is_exported(self):
        exported = jax.export.export(jax.jit(lambda x: x), platforms=("cpu", "cuda"))(X)
        self.refuse("expected an export for one platform and one device, but got cpu, cuda and 1",
                    from_export, exported)
        size, = jax.export.symbolic_shape("b")
        exported = jax.export.export(jax.jit(lambda x: x + 1))(
            jax.ShapeDtypeStruct((size, 8), jnp.float32))
        self.refuse(r"expected inputs of sizes that are known, but got .*\[b,8\]", from_export,
                    exported)
        exported = dataclasses.replace(export_function(lambda x: x, X),
                                       ordered_effects=("print",))
        self.refuse(r"expected a function without effects, but got \('print',\)", from_export,
                    exported)
        exported = export_function(lambda x: (), X)
        self.refuse("expected a function with a result, but got none", from_export, exported)

    def test_arguments(self):
        self.refuse("expected a jax.export.Exported, its bytes or a pathlib.Path, but got int",
                    from_export, 3)
        self.refuse("expected MLIR text, a portable artifact or a pathlib.Path, but got int",
                    from_stablehlo, 3)
        exported = export_function(lambda x: x + 1, X)
        self.refuse("expected name to be an identifier, but got 'a b'", from_export, exported,
                    "a b")
        self.refuse("expected constants to be arguments or resources, but got 3", from_export,
                    exported, constants=3)
        with self.assertRaisesRegex(blockscale.FileError, "cannot read '/nowhere/x'"):
            from_export(Path("/nowhere/x"))

    def test_calls(self):
        function = import_function(lambda x, y=None: x + 1, X).compile()
        self.refuse(r"argument 0: expected float32 \[4, 8\], but got float32 \[4, 7\]", function,
                    X[:, :7])
        self.refuse(r"argument 0: expected float32 \[4, 8\], but got int32 \[4, 8\]", function,
                    X.astype(np.int32))
        self.refuse("expected arguments of the structure", function, X, X)
        self.refuse("expected on to be cpu or emulator, but got 'cuda'",
                    import_function(lambda x: x, X).compile, on="cuda")


class TestBytes(unittest.TestCase):
    """Bytes of files: whole ones are read, damaged ones are one error."""

    @classmethod
    def setUpClass(cls):
        x, y = np.ones((2, 32), np.float32), np.ones((3, 32), np.float32)
        cls.exported = export_function(scaled_dot_general(), x, y, platform="cuda")
        cls.module = str(from_export(cls.exported).module)

    def test_whole(self):
        data = self.exported.serialize()
        self.assertEqual(str(from_export(data).module), self.module)
        artifact = bytes(self.exported.mlir_module_serialized)
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "f").write_bytes(data)
            self.assertEqual(str(from_export(Path(folder) / "f").module), self.module)
            (Path(folder) / "m").write_bytes(artifact)
            self.assertEqual(str(from_stablehlo(Path(folder) / "m").module), self.module)
        self.assertEqual(str(from_stablehlo(self.exported.mlir_module()).module), self.module)

    def test_files(self):
        with tempfile.TemporaryDirectory() as folder:
            for name, data in (("f.jax", self.exported.serialize()),
                               ("f.stablehlo", self.exported.mlir_module_serialized)):
                path = Path(folder) / name
                path.write_bytes(data)
                self.assertEqual(str(import_file(str(path))), self.module)

    def test_damaged(self):
        data = bytes(self.exported.serialize())
        artifact = bytes(self.exported.mlir_module_serialized)
        spoiled = bytearray(artifact)
        spoiled[len(spoiled) // 2] ^= 0xFF
        for name, function, given in (
                ("a part", from_export, data[:len(data) // 2]), ("nothing", from_export, b""),
                ("noise", from_export, bytes(range(256)) * 4),
                ("a part of an artifact", from_stablehlo, artifact[:len(artifact) // 2]),
                ("a spoiled artifact", from_stablehlo, bytes(spoiled)),
                ("no text", from_stablehlo, b"\xff\xfe"), ("other text", from_stablehlo, "hello"),
                ("no main", from_stablehlo, "module {}")):
            with self.subTest(name), self.assertRaises(blockscale.ArgumentError) as raised:
                function(given)
            self.assertEqual(len(str(raised.exception).splitlines()), 1)
            self.assertTrue(str(raised.exception).startswith("expected"))

    def test_a_spoiled_artifact_in_an_export(self):
        data = bytearray(self.exported.serialize())
        place = data.index(b"ML\xefR")
        data[place + 60:place + 90] = bytes(30)
        with self.assertRaisesRegex(blockscale.ArgumentError, "damaged"):
            from_export(bytes(data))


    def test_strings_that_are_not_utf8(self):
        """Strings of Python could not be made of them, which would end the process."""
        exported = export_function(lambda unusual: jnp.tanh(unusual), X)
        data, artifact = bytes(exported.serialize()), bytes(exported.mlir_module_serialized)
        spoiled = artifact.replace(b"unusual", b"\xff" * 7)
        for read, given in ((from_export, data.replace(artifact, spoiled)),
                            (from_stablehlo, spoiled)):
            self.assertNotIn(given, (data, artifact))
            with self.assertRaisesRegex(blockscale.ArgumentError, "to be UTF-8, but got one"):
                read(given)

    def test_what_the_reader_cannot_end(self):
        """Each end of the process that reads bytes."""
        for function, what in ((from_export, r"the bytes of jax.export.Exported.serialize\(\)"),
                               (from_stablehlo, "a portable artifact of StableHLO")):
            for status, said, reason in (
                    (-signal.SIGABRT, b"", "its reader ended with status -6"),
                    (-signal.SIGXCPU, b"", "they take more than 10 s to read"),
                    (1, b"MemoryError", "they take more than 1024 MiB of memory to read"),
                    (-signal.SIGABRT, b"std::bad_alloc", "they take more than 1024 MiB")):
                with mock.patch.object(subprocess, "run", return_value=subprocess.CompletedProcess(
                        [], status, b"", said)), self.assertRaisesRegex(
                            blockscale.ArgumentError,
                            f"expected {what}, but got damaged ones: {reason}"):
                    function(b"ML\xefR")
        with (mock.patch.object(subprocess, "run", side_effect=OSError(12, "no memory")),
              self.assertRaisesRegex(blockscale.ArgumentError, "expected to start a process that "
                                                               "reads bytes, but got: no memory")):
            from_export(b"")

    def test_limits_of_the_reader(self):
        """Its memory and time follow from the size of the file."""
        code = ("import resource, _apart; _apart._limit_reading(1 << 20); "
                "print(resource.getrlimit(resource.RLIMIT_CPU)[0]); {}")
        folder = Path(_apart.__file__).parent

        def run(rest):
            return subprocess.run([sys.executable, "-c", code.format(rest)], cwd=folder,
                                  capture_output=True, text=True, check=False)
        self.assertEqual(run("bytearray(1 << 29)").stderr, "")
        self.assertIn("MemoryError", run("bytearray(1200 << 20)").stderr)
        self.assertEqual(run("").stdout, "12\n")


class TestModules(unittest.TestCase):
    """Modules of StableHLO that JAX does not make."""

    def refuse(self, pattern, text):
        with self.assertRaisesRegex(blockscale.Error, pattern):
            from_stablehlo(text)

    def test_endless_calls(self):
        for op in ("func.call @main(%x)", 'stablehlo.composite "a.b" %x {decomposition = @main}'):
            self.refuse("expected at most 200 calls in calls, but got more in @main", f"""
              func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {{
                %y = {op} : (tensor<2xf32>) -> tensor<2xf32>
                return %y : tensor<2xf32>
              }}""")
        calls = "".join(f"""
              func.func private @f{i}(%x: tensor<2xf32>) -> tensor<2xf32> {{
                %y = func.call @f{i + 1}(%x) : (tensor<2xf32>) -> tensor<2xf32>
                %z = func.call @f{i + 1}(%y) : (tensor<2xf32>) -> tensor<2xf32>
                return %z : tensor<2xf32>
              }}""" for i in range(40))
        with mock.patch.object(_graph, "_MAX_NODES", 1000):
            self.refuse("expected at most 1000 ops, but got more", f"""
              func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {{
                %y = func.call @f0(%x) : (tensor<2xf32>) -> tensor<2xf32>
                return %y : tensor<2xf32>
              }} {calls}
              func.func private @f40(%x: tensor<2xf32>) -> tensor<2xf32> {{
                %y = stablehlo.abs %x : tensor<2xf32>
                return %y : tensor<2xf32>
              }}""")

    def test_strings(self):
        """Escapes in them may stand for bytes that are no UTF-8; in comments, they are none."""
        text = """func.func @main(%x: tensor<2xf32> loc("IN")) -> tensor<2xf32> {
            %y = stablehlo.abs %x {a = "ATTRIBUTE"} : tensor<2xf32>  // COMMENT "
            return %y : tensor<2xf32>
          }"""
        for place in ("IN", "ATTRIBUTE"):
            for string in (r"\FF", r"\\\80", r"a\n\C3(\A9"):
                self.refuse("expected the strings of a module of StableHLO to be UTF-8, but got "
                            f"one in line {1 + (place != 'IN')} that is not",
                            text.replace(place, string))
            module = from_stablehlo(text.replace(place, r"\C3\A9 \\FF \"")).module
            self.assertIn("main", str(module).replace("forward", "main"))
        from_stablehlo(text.replace("COMMENT", r'"\FF'))
        self.refuse("expected MLIR text in UTF-8, but got other characters", "\udcff" + text)

    def test_what_nests_deep(self):
        """The parser of MLIR would overflow its stack."""
        for count in (300, 100_000):
            self.refuse(r"line 1, column \d+: expected text of MLIR to nest at most 256 levels "
                        "deep, but got level 257", "module attributes {a.b = " + "[" * count)
        text = """func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
            return %x : tensor<2xf32>
          }"""
        nested = "module attributes {a.b = " + "[" * 200 + "]" * 200 + "} {" + text + "}"
        self.assertEqual(str(from_stablehlo(nested).module), str(from_stablehlo(text).module))

    def test_what_is_no_tensor(self):
        self.refuse("x: expected an input of f32, .* but got !stablehlo.token", """
          func.func @main(%x: !stablehlo.token loc("x")) -> !stablehlo.token {
            return %x : !stablehlo.token
          }""")

    def test_sizes(self):
        self.refuse("expected an op that is imported", """
          func.func @main(%x: tensor<2xf32>, %n: tensor<1xi32>) -> tensor<?xf32> {
            %y = stablehlo.dynamic_reshape %x, %n : (tensor<2xf32>, tensor<1xi32>) -> tensor<?xf32>
            return %y : tensor<?xf32>
          }""")

    def test_a_declaration(self):
        self.refuse("expected the module to define @f", """
          func.func private @f(tensor<2xf32>) -> tensor<2xf32>
          func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
            %y = func.call @f(%x) : (tensor<2xf32>) -> tensor<2xf32>
            return %y : tensor<2xf32>
          }""")

    # Whatever op reads the numbers, the error names the conversion.
    def test_64_bits_without_a_sign(self):
        with self.assertRaises(UnsupportedError) as raised:
            from_stablehlo("""
              func.func @main(%x: tensor<2xf32>) -> tensor<2xui64> {
                %y = stablehlo.convert %x : (tensor<2xf32>) -> tensor<2xui64>
                %z = stablehlo.not %y : tensor<2xui64>
                return %z : tensor<2xui64>
              }""")
        self.assertEqual(raised.exception.target, "stablehlo.convert")
        self.assertIn("expected a conversion of floating-point numbers to at most 32 bits without "
                      "a sign, but got one to ui64", str(raised.exception))

    def test_ops(self):
        self.refuse("expected result_accuracy to be the default, but got .*ulps = 10", """
          func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
            %y = "stablehlo.exponential"(%x) {result_accuracy = #stablehlo.result_accuracy<
              ulps = 10, mode = #stablehlo.result_accuracy_mode<TOLERANCE>>}
              : (tensor<2xf32>) -> tensor<2xf32>
            return %y : tensor<2xf32>
          }""")
        self.refuse("expected a result like the operands, but got i32", """
          func.func @main(%x: tensor<2x3xf32>, %y: tensor<3x2xf32>) -> tensor<2x2xi32> {
            %z = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0]
              : (tensor<2x3xf32>, tensor<3x2xf32>) -> tensor<2x2xi32>
            return %z : tensor<2x2xi32>
          }""")
        self.refuse("expected elements to read, but got tensor<0x4xf32>", """
          func.func @main(%x: tensor<0x4xf32>, %i: tensor<2x1xi32>) -> tensor<2x4xf32> {
            %y = "stablehlo.gather"(%x, %i) {dimension_numbers = #stablehlo.gather<
              offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0],
              index_vector_dim = 1>, slice_sizes = array<i64: 0, 4>}
              : (tensor<0x4xf32>, tensor<2x1xi32>) -> tensor<2x4xf32>
            return %y : tensor<2x4xf32>
          }""")

    def test_a_function_of_several_blocks(self):
        self.refuse("expected a function to end in a return, but got cf.br", """
          func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
            cf.br ^next
          ^next:
            return %x : tensor<2xf32>
          }""")

    def test_dynamic_inputs(self):
        self.refuse("x: expected sizes that are known, but got tensor<[?]xf32>", """
          func.func @main(%x: tensor<?xf32> loc("x")) -> tensor<?xf32> {
            %y = stablehlo.abs %x : tensor<?xf32>
            return %y : tensor<?xf32>
          }""")


class TestMissing(unittest.TestCase):
    def test_no_jax(self):
        code = ("import sys; sys.modules['jax'] = None\n"
                "try: import blockscale.jax\nexcept ImportError as error: print(error)")
        output = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True,
                                check=True).stdout
        self.assertEqual(output, "expected jax to be installed for blockscale.jax; pip install "
                                 "jax\n")


if __name__ == "__main__":
    unittest.main()
