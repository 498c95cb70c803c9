# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The readers of files in Python, each with a good file, how mutants of it are made, and the calls
that read it."""

from __future__ import annotations

import contextlib
import dataclasses
import io
import itertools
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import blockscale
import decoders
import mutants
from blockscale import checkpoint
from blockscale.checkpoint._jobs import _journal, _places, _remote
from blockscale.checkpoint._jobs._distribute import open_mirror
from limited import Limited

COMMAND = ("blockscale.checkpoint._command", "main")
WEIGHT_ONLY = {"version": 1, "rules": [
    {"match": {"location": "*.{q,k,v}_proj"}, "leave": True},
    {"match": {"n": {"min": 1}}, "format": "nvfp4", "weights": {"sweep": False},
     "activations": {"global_scale": {"amax": 4.0}}}]}
READING = (["list", "--tensors", "@"], ["check", "@", "--tensor-parallel=2"],
           ["convert", "@", "%", "--to=plain"], ["diff", "@", "@"],
           ["convert", "@", "%", "--to=compressed-tensors"])
PLAIN = (["list", "@"], ["check", "@"], ["quantize", "@", "%", "--format=mxfp8"],
         ["diff", "@", "@"])


@dataclasses.dataclass
class Reader:
    """A reader.

    Attributes:
      name: for messages.
      folder: a copy of it is what calls read.
      file: of that folder, which is mutated.
      change: how.
      calls: arguments of blockscale-checkpoint, by turns; "@" is the folder, "@/x" a file of it,
        "%" a result. With `function`, its arguments.
      function: a module and a function instead of the command.
      statuses: with which it may end.
    """

    name: str
    folder: Path
    file: str
    change: Callable[[bytes, Any], bytes]
    calls: Sequence[Sequence[str]]
    function: tuple[str, str] = COMMAND
    statuses: tuple[int, ...] = (0, 1, 2)


@dataclasses.dataclass
class Tally:
    """What became of mutants: how many ended with each status, the faults, and the largest
    memory."""

    statuses: dict[int, int] = dataclasses.field(default_factory=dict)
    faults: list[str] = dataclasses.field(default_factory=list)
    memory: int = 0


def run(reader: Reader, limited: Limited, seed: Any, count: int, kept: Path | None = None) -> Tally:
    """Reads mutants; those that are read badly are kept in a folder."""
    tally = Tally()
    good = (reader.folder / reader.file).read_bytes()
    for number, data in enumerate(mutants.list_mutants(good, reader.change, seed, count)):
        with tempfile.TemporaryDirectory(prefix="blockscale-") as scratch:
            folder, result = Path(scratch, "m"), Path(scratch, "r")
            shutil.copytree(reader.folder, folder)
            if (folder / "r.partial").exists():
                (folder / "r.partial").rename(Path(scratch, "r.partial"))
                (Path(scratch) / reader.file).write_bytes(data)
            else:
                (folder / reader.file).write_bytes(data)
            call = reader.calls[number % len(reader.calls)]
            arguments = [each.replace("@", str(folder)).replace("%", str(result))
                         for each in call]
            outcome = (limited.command(*arguments) if reader.function == COMMAND else
                       limited.call(*reader.function, *arguments))
            fault = outcome.find_fault(reader.statuses)
            if not fault and outcome.status and result.exists():
                fault = "a result behind an error"
        tally.statuses[outcome.status] = tally.statuses.get(outcome.status, 0) + 1
        tally.memory = max(tally.memory, outcome.memory)
        if fault:
            tally.faults.append(f"{reader.name}, mutant {number} of seed {seed}, {' '.join(call)}: "
                                f"{fault}\n{outcome.text[-3000:]}")
            if kept is not None:
                kept.mkdir(parents=True, exist_ok=True)
                (kept / f"{reader.name}-{seed}-{number}").write_bytes(data)
    return tally


class _Stop(Exception):
    pass


def _stop_after(count: int):
    done = itertools.count(1)

    def progress(*_):
        if next(done) == count:
            raise _Stop
    return progress


def _write(folder: Path, tensors, config, shards=1) -> Path:
    folder.mkdir(parents=True)
    names = list(tensors)
    places = {}
    for number in range(shards):
        file = f"model-{number + 1}.safetensors" if shards > 1 else "model.safetensors"
        part = {name: tensors[name] for name in names[number::shards]}
        (folder / file).write_bytes(decoders.pack_file(part))
        places.update(dict.fromkeys(part, file))
    if shards > 1:
        (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": places}))
    (folder / "config.json").write_text(json.dumps(config))
    return folder


def _write_fp8(folder: Path) -> Path:
    weight = decoders.make_weight(1, (256, 256)).astype(decoders.DTYPES["F8_E4M3"])
    tensors = {f"model.layers.0.mlp.{name}_proj.weight": weight for name in ("up", "down")}
    tensors |= {f"{name}_scale_inv": np.full((2, 2), 0.5, np.float32) for name in tensors}
    return _write(folder, tensors, {"hidden_size": 256, "quantization_config": {
        "quant_method": "fp8", "weight_block_size": [128, 128], "activation_scheme": "dynamic",
        "modules_to_not_convert": ["lm_head"]}})


def make_checkpoints(folder: Path) -> list[Reader]:
    """Readers of what blockscale-checkpoint reads, with files in a folder."""
    tensors, config = decoders.make_tensors("dense"), decoders.CONFIGS["dense"]
    plain = _write(folder / "plain", tensors, config)
    shards = _write(folder / "shards", tensors, config, 3)
    amaxes = {name.removesuffix(".weight"): 3.5 for name in tensors
              if name.endswith("_proj.weight")}
    for name in ("modelopt", "compressed-tensors", "torchao"):
        checkpoint.quantize(plain, folder / name, {"version": 1, "rules": [{"format": "nvfp4"}]},
                            layout=name, amaxes=amaxes)
    gptoss = _write(folder / "gptoss-plain", decoders.make_tensors("gptoss"),
                    decoders.CONFIGS["gptoss"])
    checkpoint.quantize(gptoss, folder / "gptoss", {"version": 1, "rules": [
        {"format": "mxfp4", "weight_only": True}]}, layout="gpt-oss")
    (folder / "gguf").mkdir()
    checkpoint.quantize(plain, folder / "gguf" / "model.gguf", {"version": 1, "rules": [
        {"format": "mxfp4", "weight_only": True}]}, layout="gguf")
    shutil.copytree(folder / "modelopt", folder / "modelopt-alone")
    (folder / "modelopt-alone" / "config.json").unlink()
    (plain / "policy.json").write_text(json.dumps(WEIGHT_ONLY))
    (plain / "amaxes.json").write_text(json.dumps(amaxes))
    fp8 = _write_fp8(folder / "fp8")
    stopped = folder / "stopped"
    shutil.copytree(plain, stopped)
    with contextlib.suppress(_Stop):
        checkpoint.quantize(stopped, stopped / "r", {"version": 1, "rules": [
            {"format": "mxfp8"}]}, progress=_stop_after(5), threads=1)
    gguf = [[each.replace("@", "@/model.gguf") for each in call] for call in READING]
    configs = [Reader(f"config.json of {name}", folder / name, "config.json", mutants.change_text,
                      READING) for name in ("modelopt", "compressed-tensors", "torchao", "gptoss")]
    return [
        Reader("header of safetensors", plain, "model.safetensors", mutants.change_header, PLAIN),
        Reader("header of NVFP4", folder / "modelopt", "model.safetensors", mutants.change_header,
               READING),
        Reader("index", shards, "model.safetensors.index.json", mutants.change_text, PLAIN),
        Reader("config.json", plain, "config.json", mutants.change_text, PLAIN), *configs,
        Reader("config.json of fp8", fp8, "config.json", mutants.change_text, READING),
        Reader("hf_quant_config.json", folder / "modelopt-alone", "hf_quant_config.json",
               mutants.change_text, READING),
        Reader("metadata of torchao", folder / "torchao", "model.safetensors",
               mutants.change_metadata, READING),
        Reader("GGUF", folder / "gguf", "model.gguf", mutants.change_start, gguf),
        Reader("policy", plain, "policy.json", mutants.change_text,
               (["quantize", "@", "%", "--policy=@/policy.json", "--quiet"],)),
        Reader("amaxes", plain, "amaxes.json", mutants.change_text,
               (["quantize", "@", "%", "--format=nvfp4", "--amaxes=@/amaxes.json"],)),
        Reader("journal", stopped, "r.partial/.blockscale-journal", mutants.change_bytes,
               (["quantize", "@", "%", "--format=mxfp8", "--resume"],)),
    ]


def read_remote(url: str) -> int:
    """Reads a checkpoint behind a URL as a cluster does."""
    snapshot = _remote.Mirror.take(url)
    with tempfile.TemporaryDirectory(prefix="blockscale-") as folder:
        found = open_mirror(snapshot, folder)
        for weight in found.weights.values():
            for part in weight.parts.values():
                part.bytes()
    return 0


def read_remote_journal(url: str) -> int:
    _places._read_remote_journal(_remote.Remote(url), "identity")
    return 0


def make_remotes(folder: Path) -> list[Reader]:
    """Readers of object storage, which is a folder here; without fsspec there are none."""
    try:
        import fsspec  # noqa: F401
    except ImportError:
        return []
    tensors = decoders.make_tensors("dense")
    plain = _write(folder / "remote", tensors, decoders.CONFIGS["dense"])
    journal = folder / "remote-journal"
    journal.mkdir()
    _places._write_remote_journal(_remote.Remote(f"local://{journal}"), "identity",
                                  {number: {"lost": number} for number in range(9)})
    return [Reader("mirror", plain, "model.safetensors", mutants.change_header, (["local://@"],),
                   (__name__, "read_remote"), (0, 2)),
            Reader("journal in object storage", journal, _journal.NAME, mutants.change_bytes,
                   (["local://@"],), (__name__, "read_remote_journal"), (0, 2))]


def load_ahead(path: str) -> int:
    blockscale.load(path)
    return 0


def import_model(path: str) -> int:
    """blockscale-import of a file. The module is no message, and may have what the file has."""
    from blockscale._import import main
    return main([path, "-o", f"{path}.out"])


_MODULE = b"""func.func @forward(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = linalg.exp ins(%x : tensor<4x8xf32>) outs(%x : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}
"""


def _make_onnx() -> bytes:
    from onnx import TensorProto, helper
    weight = helper.make_tensor("w", TensorProto.FLOAT, (8, 4), np.arange(32, dtype=np.float32))
    kinds = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
             for name, shape in (("x", ("rows", 8)), ("y", ("rows", 4)))]
    graph = helper.make_graph([helper.make_node("MatMul", ["x", "w"], ["a"]),
                               helper.make_node("Relu", ["a"], ["y"])], "g", kinds[:1], kinds[1:],
                              [weight])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)],
                             ir_version=10).SerializeToString()


def _make_pt2() -> bytes:
    import torch
    module = torch.nn.Sequential(torch.nn.Linear(8, 4), torch.nn.ReLU())
    file = io.BytesIO()
    torch.export.save(torch.export.export(module, (torch.ones(2, 8),)), file)
    return file.getvalue()


def _export():
    """A function that JAX exported."""
    import jax
    import jax.numpy as jnp
    return jax.export.export(jax.jit(lambda x: jnp.maximum(x @ jnp.ones((8, 4)), 0)))(
        jax.ShapeDtypeStruct((2, 8), jnp.float32))


def _make_bytecode() -> bytes:
    tool = Path(os.environ["BLOCKSCALE_LIBRARY"]).parents[1] / "bin/blockscale-opt"
    return subprocess.run([tool, "-", "--emit-bytecode"], input=_MODULE, capture_output=True,
                          check=True).stdout


def _make_tosa() -> bytes:
    """A program that others wrote. It is read where the program is that reads it."""
    if not (os.environ.get("BLOCKSCALE_TOSA_OPT") or shutil.which("tosa-opt")):
        raise ImportError
    return (Path(__file__).parents[1] / "Data/tosa/program.tosa").read_bytes()


def _make_ahead() -> bytes:
    return blockscale.compile_ahead(_MODULE, targets=["cpu"])


#: Files of models and of compiled functions: the end of the name, how one is made, and how mutants
#: of it are.
IMPORTS = {
    "text of MLIR": (".mlir", lambda: _MODULE, mutants.change_bytes),
    "bytecode of MLIR": (".mlirbc", _make_bytecode, mutants.change_bytes),
    "programs of TOSA": (".tosa", _make_tosa, mutants.change_bytes),
    "compiled functions": (".bsa", _make_ahead, mutants.change_start),
    "models of ONNX": (".onnx", _make_onnx, mutants.change_bytes),
    "exports of JAX": (".jax", lambda: bytes(_export().serialize()), mutants.change_bytes),
    "text of StableHLO": (".stablehlo", lambda: str(_export().mlir_module()).encode(),
                          mutants.change_bytes),
    "artifacts of StableHLO": (".stablehlo", lambda: bytes(_export().mlir_module_serialized),
                               mutants.change_bytes),
    "programs of PyTorch": (".pt2", _make_pt2, mutants.change_bytes),
}


def make_imports(folder: Path, names: Sequence[str]) -> list[Reader]:
    """Readers of some of IMPORTS, where the packages are that they need."""
    found = []
    for name in names:
        ending, make, change = IMPORTS[name]
        try:
            data = make()
        except ImportError:
            continue
        place = folder / name
        place.mkdir(parents=True)
        (place / f"model{ending}").write_bytes(data)
        function = "load_ahead" if ending == ".bsa" else "import_model"
        found.append(Reader(name, place, f"model{ending}", change, ([f"@/model{ending}"],),
                            (__name__, function)))
    return found
