# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Files of tensors from Python: what is laid out is read, and what is damaged is refused."""

import gc
import json
import tempfile
import unittest
from pathlib import Path

import ml_dtypes
import numpy as np

import blockscale as bs
from blockscale._native import _checkpoint
from blockscale._native._checkpoint import Array, Metadata, TensorFile, lay_out

INPUTS = Path(__file__).parent / "Inputs"


class FilesTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = Path(folder.name) / "tensors"

    def write(self, layout, *parts):
        data = bytearray(layout.nbytes)
        data[:len(layout.header)] = layout.header
        for offset, part in zip(layout.offsets, parts):
            data[offset:offset + len(part)] = part
        self.path.write_bytes(data)

    def refuse(self, data):
        self.path.write_bytes(data)
        with self.assertRaises(bs.FileError) as caught:
            TensorFile(self.path)
        self.assertEqual(caught.exception.status, "BLOCKSCALE_INVALID_CHECKPOINT")
        message = str(caught.exception)
        self.assertEqual(message[:len(str(self.path))], str(self.path))
        return message[len(str(self.path)) + 2:]


class SafetensorsTest(FilesTest):
    def test_what_is_laid_out_is_read(self):
        layout = lay_out("safetensors", [("w", "BF16", (2, 3)), ("ü", "F4", (4,)),
                                         ("none", "I64", (0, 2)), ("scalar", "F32", ())],
                         [Metadata("format", "string", "pt")])
        w, scalar = bytes(range(12)), np.float32(1.5).tobytes()
        self.write(layout, w, b"\x12\x34", b"", scalar)
        file = TensorFile(self.path)
        self.assertEqual(file.format, "safetensors")
        self.assertEqual([(tensor.name, tensor.type.name, tensor.shape, tensor.nbytes)
                          for tensor in file.tensors],
                         [("w", "BF16", (2, 3), 12), ("ü", "F4", (4,), 2),
                          ("none", "I64", (0, 2), 0), ("scalar", "F32", (), 4)])
        self.assertEqual([tensor.offset for tensor in file.tensors], list(layout.offsets))
        self.assertEqual(file.metadata, (Metadata("format", "string", "pt"),))
        self.assertEqual(file.view(file.tensors[0]).tobytes(), w)
        self.assertEqual(file.view(file.tensors[3]).tobytes(), scalar)
        self.assertEqual(file.data.tobytes(), self.path.read_bytes())

    def test_views_keep_the_file_and_cannot_be_written(self):
        self.write(lay_out("safetensors", [("w", "U8", (5,))]), b"abcde")
        file = TensorFile(self.path)
        view = file.view(file.tensors[0])[1:]
        self.path.unlink()
        del file
        gc.collect()
        self.assertEqual(view.tobytes(), b"bcde")
        with self.assertRaises(ValueError):
            view[0] = 1
        with self.assertRaises(ValueError):
            view.flags.writeable = True

    def test_released_bytes_are_read_again(self):
        data = np.random.default_rng(1).bytes(1 << 20)
        self.write(lay_out("safetensors", [("w", "U8", (1 << 20,))]), data)
        file = TensorFile(self.path)
        self.assertEqual(file.view(file.tensors[0]).tobytes(), data)
        file.release(0, file.data.nbytes)
        file.release(1 << 19, 1 << 62)
        self.assertEqual(file.view(file.tensors[0]).tobytes(), data)

    def test_damaged_files(self):
        def make(header, data=b""):
            text = json.dumps(header).encode()
            return len(text).to_bytes(8, "little") + text + data

        tensor = {"dtype": "U8", "shape": [4], "data_offsets": [0, 4]}
        self.assertEqual(self.refuse(make({"w": tensor}, b"abc")),
                         "tensor 'w' (byte 14 of the file): expected data_offsets in rising order "
                         "from 0 to 3, the bytes behind the header, but got [0, 4]")
        self.assertEqual(self.refuse(b""), "byte 0 of the file: expected the length of a header in "
                         "8 bytes, but got a file of 0 bytes")
        self.assertIn("expected dtype to be one of F32, ", self.refuse(
            make({"w": {**tensor, "dtype": "U9"}}, b"abcd")))

    def test_no_file(self):
        with self.assertRaisesRegex(bs.FileError, "tensors: cannot open: No such file") as caught:
            TensorFile(self.path)
        self.assertEqual(caught.exception.status, "BLOCKSCALE_FILE")

    def test_what_cannot_be_laid_out(self):
        for message, *arguments in (
                ("expected format to be one of safetensors, gguf, but got 'npz'", "npz", []),
                ("tensor 'w': expected the name of a storage type, but got 'F9'", "safetensors",
                 [("w", "F9", (1,))]),
                (r"expected a name without NUL, but got 'w\\x00'", "safetensors",
                 [("w\0", "U8", (1,))]),
                ("expected the name of a tensor to be UTF-8", "safetensors",
                 [("\udcff", "U8", (1,))]),
                ("expected strings as metadata of safetensors, but got 'k' of another type",
                 "safetensors", [], [Metadata("k", "u8", 1)])):
            with self.subTest(message):
                with self.assertRaisesRegex(bs.ArgumentError, message):
                    lay_out(*arguments)

    def test_types(self):
        self.assertEqual(_checkpoint.STORAGE_TYPES["F4"], ("F4", 2, 1, True, -1))
        self.assertEqual(_checkpoint.STORAGE_TYPES["NVFP4"], ("NVFP4", 64, 36, False, 40))


class OtherWritersTest(unittest.TestCase):
    """Files that the packages of the formats wrote (make_tensor_files.py)."""

    def read(self, name):
        file = TensorFile(INPUTS / name)
        layout = lay_out(file.format, [(tensor.name, tensor.type.name, tensor.shape)
                                       for tensor in file.tensors], file.metadata)
        # The same tensors, laid out here, are the same file.
        data = file.data.tobytes()
        self.assertEqual(layout.header, data[:len(layout.header)])
        self.assertEqual(layout.nbytes, len(data))
        self.assertEqual(layout.offsets, tuple(tensor.offset for tensor in file.tensors))
        return file, {tensor.name: (tensor.type.name, tensor.shape, file.view(tensor))
                      for tensor in file.tensors}

    def test_safetensors(self):
        file, tensors = self.read("written.safetensors")
        self.assertEqual(sorted((entry.key, entry.value) for entry in file.metadata),
                         [("format", "pt"), ("quote", '"\n\u00e9')])
        self.assertEqual({name: found[:2] for name, found in tensors.items()},
                         {"weight": ("BF16", (2, 8)), "scale": ("F8_E4M3", (4,)),
                          "codes": ("U8", (3, 2)), "empty": ("F32", (0, 3)), "global": ("F32", ())})
        self.assertEqual(tensors["weight"][2].view(ml_dtypes.bfloat16).astype(float).tolist(),
                         (np.arange(-8, 8) / 4).tolist())
        self.assertEqual(tensors["scale"][2].tolist(), [0x38, 0x30, 0x7E, 0x01])
        self.assertEqual(tensors["codes"][2].tolist(), list(range(6)))

    def test_gguf(self):
        file, tensors = self.read("written.gguf")
        self.assertEqual([(entry.key, entry.type) for entry in file.metadata],
                         [("general.architecture", "string"), ("llama.block_count", "u32"),
                          ("llama.rope.freq_base", "f32"), ("tokenizer.ggml.add_bos_token", "bool"),
                          ("tokenizer.ggml.tokens", "array"), ("tokenizer.ggml.scores", "array")])
        self.assertEqual(file.metadata[2].value, 10000.0)
        self.assertEqual(file.metadata[4].value, Array("string", ["a", "\u00e9", ""]))
        self.assertEqual(file.metadata[5].value.elements.tolist(), [0.5, -1.5, 0.0])
        self.assertEqual(tensors["half"][:2], ("F16", (1, 64)))
        kind, shape, x = tensors["x"]
        self.assertEqual((kind, shape, tensors["x.mxfp4"][:2]),
                         ("F32", (4, 64), ("MXFP4", (4, 64))))
        # Quantized by that package.
        self.assertEqual(_checkpoint.quantize_gguf("MXFP4", "F32", 4, 64, x).tobytes(),
                         tensors["x.mxfp4"][2].tobytes())


class GgufTest(FilesTest):
    METADATA = (
        Metadata("general.architecture", "string", "llama"),
        Metadata("general.alignment", "u32", 64),
        Metadata("bytes", "string", "\udcff"),
        *(Metadata(kind, kind, value) for kind, value in (
            ("u8", 255), ("i8", -128), ("u16", 65535), ("i16", -1), ("u32", 2**32 - 1),
            ("i32", -2**31), ("u64", 2**64 - 1), ("i64", -2**63), ("bool", True), ("f32", 0.5),
            ("f64", 0.1))),
        Metadata("tokens", "array", Array("string", ["a", "", "\udcfe"])),
        Metadata("nested", "array", Array("array", [Array("string", ["x"]), Array("array", [])])))

    def test_what_is_laid_out_is_read(self):
        numbers = Metadata("numbers", "array", Array("i16", np.array([1, -2], np.int16)))
        layout = lay_out("gguf", [("w", "MXFP4", (2, 3, 32)), ("v", "F32", ())],
                         (*self.METADATA, numbers))
        w = bytes(range(102))
        self.write(layout, w, b"abcd")
        file = TensorFile(self.path)
        self.assertEqual(file.format, "gguf")
        self.assertEqual(file.metadata[:-1], self.METADATA)
        array = file.metadata[-1].value
        self.assertEqual((array.type, array.elements.dtype, array.elements.tolist()),
                         ("i16", np.int16, [1, -2]))
        self.assertEqual([(tensor.name, tensor.type.name, tensor.shape) for tensor in file.tensors],
                         [("w", "MXFP4", (2, 3, 32)), ("v", "F32", ())])
        self.assertTrue(all(offset % 64 == 0 for offset in layout.offsets))
        self.assertEqual(file.view(file.tensors[0]).tobytes(), w)
        # What was read is written again as it was.
        self.assertEqual(lay_out("gguf", [("w", "MXFP4", (2, 3, 32)), ("v", "F32", ())],
                                 file.metadata), layout)

    def test_damaged_files(self):
        header = lay_out("gguf", [("w", "F32", (2,))], [Metadata("k", "bool", True)]).header
        self.assertEqual(self.refuse(header + b"1234567"),
                         f"byte {len(header) + 7} of the file: expected a file of at least "
                         f"{len(header) + 8} bytes, where 'w' ends, but got one of "
                         f"{len(header) + 7}")
        self.assertEqual(self.refuse(header[:4] + b"\4" + header[5:]),
                         "byte 8 of the file: expected version 2 or 3, but got 4")

    def test_values_of_other_types(self):
        for kind, value in (("u8", 256), ("u8", -1), ("i32", 0.5), ("bool", 2), ("f32", "a")):
            with self.subTest(kind=kind, value=value):
                with self.assertRaisesRegex(bs.ArgumentError,
                                            f"expected numbers of {kind}, but got"):
                    lay_out("gguf", [], [Metadata("k", kind, value)])
        with self.assertRaisesRegex(bs.ArgumentError, "one of u8, .*, but got 'f16'"):
            lay_out("gguf", [], [Metadata("k", "f16", 1)])


if __name__ == "__main__":
    unittest.main()
