# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""blockscale-checkpoint: reads, checks, converts and quantizes checkpoints.

    blockscale-checkpoint list MODEL
    blockscale-checkpoint check MODEL --tensor-parallel=2,4,8
    blockscale-checkpoint quantize MODEL RESULT --format=nvfp4 --weight-only
    blockscale-checkpoint calibrate MODEL TEXTS -o AMAXES
    blockscale-checkpoint convert MODEL RESULT --to=compressed-tensors
    blockscale-checkpoint diff MODEL OTHER

Each of them imports what it alone needs, so that it starts soon.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import io
import json
import os
import resource
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import blockscale
from blockscale._errors import ArgumentError, Error
from blockscale._files import write
from blockscale._ops import FORMATS
from blockscale._tables import make_table
from blockscale._text import escape, escape_lines
from blockscale.checkpoint._bar import Bar
from blockscale.checkpoint._check._claims import LOADERS
from blockscale.checkpoint._checkpoint import Checkpoint
from blockscale.checkpoint._checkpoint import open as open_checkpoint
from blockscale.checkpoint._families import FAMILIES, TARGETS
from blockscale.checkpoint._jobs._plan import SHARD_BYTES
from blockscale.checkpoint._layouts import PLAIN_DTYPES
from blockscale.checkpoint._measure import MEASURED
from blockscale.checkpoint._summary import Summary, format_bytes

PROGRAM = "blockscale-checkpoint"
_CACHE = "BLOCKSCALE_CACHE_DIR"


def _parse_size(text: str) -> int:
    """A number of bytes, as "5GB" or "512MiB"."""
    units = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "KIB": 2**10, "MIB": 2**20,
             "GIB": 2**30}
    number = text.rstrip("BbGgIiKkMm")
    unit = text[len(number):].upper()
    if not number.isdigit() or unit not in units or int(number) == 0:
        raise argparse.ArgumentTypeError(f"expected a size as 5GB or 512MiB, but got '{text}'")
    return int(number) * units[unit]


def _parse_count(text: str) -> int:
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"expected a number from 1 on, but got '{text}'")
    return int(text)


@contextlib.contextmanager
def _watch(options: argparse.Namespace) -> Iterator[Callable[[str, int, int], None] | None]:
    """The progress of a job: a bar on a terminal, or lines where --progress asks for them."""
    mode = options.progress
    if mode == "none" or (mode == "auto" and not sys.stderr.isatty()):
        yield None
        return
    bar = Bar()
    try:
        yield bar
    finally:
        bar.close()


def _show(text: str) -> None:
    shown = escape_lines(text)
    sys.stdout.write(shown if shown.endswith("\n") else shown + "\n")


def _describe_weights(checkpoint: Checkpoint) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = [("weight", "layout", "shape", "bytes", "parts")]
    rows += [(weight.name, weight.layout.name, "x".join(map(str, weight.shape)), str(weight.nbytes),
              " ".join(part.name.removeprefix(weight.name) for part in weight.parts.values()))
             for weight in checkpoint.weights.values()]
    for unknown in checkpoint.unexplained:
        tensors = [checkpoint.tensors[name] for name in unknown.tensors]
        rows.append((unknown.name, str(unknown), "", str(sum(each.nbytes for each in tensors)),
                     " ".join(each.name.removeprefix(unknown.name) for each in tensors)))
    return rows


def run_list(options: argparse.Namespace) -> int:
    """Shows weights, or all tensors."""
    checkpoint = open_checkpoint(options.source)
    if options.json:
        members = {
            "path": checkpoint.path, "files": list(checkpoint.files), "bytes": checkpoint.nbytes,
            "scheme": checkpoint.scheme.describe(), "names": checkpoint.describe_names(),
            "weights": [{"name": weight.name, "layout": weight.layout.name,
                         "format": weight.format or weight.dtype, "shape": list(weight.shape),
                         "bytes": weight.nbytes,
                         "parts": {role: part.name for role, part in weight.parts.items()}}
                        for weight in checkpoint.weights.values()],
            "unknown": [{"name": each.name, "format": str(each), "parts": list(each.tensors)}
                        for each in checkpoint.unexplained],
            "tensors": [{"name": tensor.name, "dtype": tensor.dtype, "shape": list(tensor.shape),
                         "bytes": tensor.nbytes, "file": os.path.basename(tensor.file),
                         "offset": tensor.offset} for tensor in checkpoint.tensors.values()]}
        _show(json.dumps(members, indent=1))
        return 0
    if options.tensors:
        rows: list[tuple[str, ...]] = [("tensor", "dtype", "shape", "bytes", "file")]
        rows += [(tensor.name, tensor.dtype, "x".join(map(str, tensor.shape)), str(tensor.nbytes),
                  os.path.basename(tensor.file)) for tensor in checkpoint.tensors.values()]
        _show(make_table(rows, (3,)))
    else:
        _show(make_table(_describe_weights(checkpoint), (3,)))
    _show(f"{len(checkpoint.tensors)} tensors in {len(checkpoint.files)} "
          f"{'file' if len(checkpoint.files) == 1 else 'files'}, "
          f"{format_bytes(checkpoint.nbytes)}; {escape(checkpoint.scheme.describe())}")
    if names := checkpoint.describe_names():
        _show(escape(names))
    return 0


def _parse_degrees(text: str) -> list[int]:
    degrees = text.split(",")
    if not all(each.isdigit() and int(each) > 0 for each in degrees):
        raise argparse.ArgumentTypeError(f"expected numbers of parts as 2,4,8, but got '{text}'")
    return list(map(int, degrees))


def run_check(options: argparse.Namespace) -> int:
    """Checks a checkpoint; 1 where it has faults."""
    from blockscale.checkpoint._check._check import check
    report = check(options.source, tensor_parallel=options.tensor_parallel,
                   loaders=options.loader)
    _show(report.to_json() if options.json else str(report))
    return int(report.has_faults or (options.strict and not report.is_clean))


def run_convert(options: argparse.Namespace) -> int:
    """Converts a checkpoint; 1 with --exact where numbers change."""
    from blockscale.checkpoint._convert._convert import convert
    with _watch(options) as progress:
        found = convert(options.source, options.destination, options.to, format=options.format,
                        dtype=options.dtype, resume=options.resume, threads=options.threads,
                        sync=options.sync, progress=progress, shard_bytes=options.shard_size,
                        cluster=options.cluster, allow=options.allow, leave=options.leave)
    if options.json:
        write(options.json, found.to_json().encode())
    if not options.quiet:
        _show(str(found))
    return int(options.exact and not found.is_exact)


def run_calibrate(options: argparse.Namespace) -> int:
    """Measures activations, and writes their amaxes."""
    from blockscale.checkpoint._quantize._calibrate import calibrate, read_texts
    amaxes = calibrate(options.source, read_texts(options.texts), tokens=options.tokens,
                       on=options.on)
    write(options.output, (json.dumps(amaxes, indent=1) + "\n").encode())
    _show(f"{len(amaxes)} layers")
    return 0


def run_diff(options: argparse.Namespace) -> int:
    """Compares two checkpoints; 1 where they differ."""
    from blockscale.checkpoint._diff import diff
    with _watch(options) as progress:
        found = diff(options.first, options.second, threads=options.threads, progress=progress)
    _show(found.to_json() if options.json else found.describe(options.shown))
    is_alike = found.is_equal if options.sqnr is None else found.is_within(options.sqnr)
    return int(not is_alike)


def _make_policy(options: argparse.Namespace) -> Any:
    if (options.policy is None) == (options.format is None):
        raise ArgumentError("expected --policy or --format, but got "
                            f"{'both' if options.policy else 'neither'}")
    if options.policy is not None:
        for name in ("recipe", "sweep", "weight_only"):
            if getattr(options, name):
                raise ArgumentError(f"expected --{name.replace('_', '-')} with --format, but got "
                                    "--policy, whose rules say it")
        return options.policy
    rule: dict[str, Any] = {"format": options.format}
    weights: dict[str, Any] = {}
    if options.recipe:
        weights["recipe"] = options.recipe
    if options.sweep:
        weights["sweep"] = True
    if weights:
        rule["weights"] = weights
    if options.weight_only:
        rule["weight_only"] = True
    return {"version": 1, "rules": [rule]}


def _write_reports(options: argparse.Namespace, summary: Summary) -> None:
    for path, text in ((options.json, summary.to_json), (options.plot, summary.to_svg)):
        if path:
            write(path, text().encode())


def run_quantize(options: argparse.Namespace) -> int:
    """Quantizes a plain checkpoint."""
    from blockscale.checkpoint._quantize._quantize import quantize
    with _watch(options) as progress:
        summary = quantize(
            options.source, options.destination, _make_policy(options), layout=options.layout,
            on=options.on, amaxes=options.amaxes, resume=options.resume, threads=options.threads,
            sync=options.sync, progress=progress, measured=options.measured,
            shard_bytes=options.shard_size, cluster=options.cluster, allow=options.allow,
            leave=options.leave)
    _write_reports(options, summary)
    if not options.quiet:
        _show(str(summary))
        worst = summary.list_worst(3)
        if len(summary.quantized) > 3:
            _show("worst: " + ", ".join(
                f"{escape(layer.name)} ({layer.sqnr:.2f} dB)" for layer in worst))
    return 0


def _add_job_options(parser: argparse.ArgumentParser) -> None:
    """Options of all commands that write a checkpoint."""
    parser.add_argument("source", metavar="MODEL",
                        help="a folder, an index, or a file of safetensors or GGUF")
    parser.add_argument("destination", metavar="RESULT",
                        help="a new folder, or a new file that ends in .safetensors or .gguf")
    parser.add_argument("--resume", action="store_true",
                        help="go on with a job of the same arguments that did not end")
    parser.add_argument("--threads", type=_parse_count, metavar="N",
                        help="threads that work; three for each core without it")
    parser.add_argument("--cluster", metavar="[=ADDRESS]",
                        help="work on a Ray cluster: that of ADDRESS or RAY_ADDRESS, else one of "
                             "processes of this machine; MODEL and RESULT may be URLs then, and "
                             "--threads are those of each worker")
    parser.add_argument("--allow", action="append", default=[], metavar="RULE",
                        help="go on where the source or the result breaks this rule of check, "
                             "which is told; others end the job")
    parser.add_argument("--leave", action="append", default=[], metavar="NAME",
                        help="leave quantized weights of these names as they are, with their "
                             "configuration, where no layout explains them; * stands for anything")
    parser.add_argument("--sync", action="store_true",
                        help="wait until all is on the disk before the result takes its name")
    parser.add_argument("--shard-size", type=_parse_size, default=SHARD_BYTES, metavar="SIZE",
                        help="bytes of a file of the result (5GB)")
    parser.add_argument("--progress", choices=("auto", "bar", "none"), default="auto",
                        help="a bar with rate and time left; auto shows it on a terminal")


def _make_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=PROGRAM, description="Reads, checks, converts and quantizes checkpoints of models.",
        epilog="docs/Checkpoints.md describes the layouts, docs/CheckpointFaults.md what can be "
               "wrong with them.")
    parser.add_argument("--version", action="version",
                        version=f"{PROGRAM} {blockscale.__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    shown = commands.add_parser("list", help="show weights and tensors",
                                description="Shows the weights of a checkpoint and their layouts.")
    shown.add_argument("source", metavar="MODEL",
                       help="a folder, an index, or a file of safetensors or GGUF")
    shown.add_argument("--tensors", action="store_true", help="show all tensors instead")
    shown.add_argument("--json", action="store_true", help="write JSON with both")
    shown.set_defaults(run=run_list)

    checked = commands.add_parser(
        "check", help="find what is wrong with a checkpoint",
        description="Checks a checkpoint by the rules of docs/CheckpointFaults.md. The exit status "
                    "is 1 where it has faults.")
    checked.add_argument("source", metavar="MODEL",
                         help="a folder, an index, or a file of safetensors or GGUF")
    checked.add_argument("--tensor-parallel", type=_parse_degrees, default=[], metavar="N,..",
                         help="numbers of parts that weights are cut in")
    checked.add_argument("--loader", action="append", default=[], metavar="NAME",
                         help="tell what this loader does: " + ", ".join(LOADERS) + "; all "
                              "without it")
    checked.add_argument("--strict", action="store_true", help="warnings are faults, too")
    checked.add_argument("--json", action="store_true", help="write JSON")
    checked.set_defaults(run=run_check)

    converted = commands.add_parser(
        "convert", help="store a quantized checkpoint in another layout",
        description="Converts a quantized checkpoint to another layout, exactly where there is a "
                    "way, and says which blocks change.")
    _add_job_options(converted)
    converted.add_argument("--to", choices=TARGETS, required=True, help="the layout")
    converted.add_argument("--format", choices=list(FORMATS),
                           help="quantize weights of other formats again, to this one")
    converted.add_argument("--dtype", choices=list(PLAIN_DTYPES.values()),
                           help="of plain numbers; that of the configuration without it")
    converted.add_argument("--exact", action="store_true",
                           help="exit with 1 where numbers change")
    converted.add_argument("--json", metavar="FILE", help="write what became of each layer")
    converted.add_argument("--quiet", action="store_true", help="show no table")
    converted.set_defaults(run=run_convert)

    measured = commands.add_parser(
        "calibrate", help="measure the activations of a model on texts",
        description="Writes the amaxes of a model's activations for --amaxes of quantize. Needs "
                    "PyTorch and transformers.")
    measured.add_argument("source", metavar="MODEL",
                          help="a folder that transformers loads, with a tokenizer")
    measured.add_argument("texts", metavar="TEXTS", help="a file with a text on each line")
    measured.add_argument("-o", dest="output", metavar="FILE", required=True,
                          help="the file of JSON for the amaxes")
    measured.add_argument("--tokens", type=_parse_count, default=512, metavar="N",
                          help="at most so many of each text (512)")
    measured.add_argument("--on", choices=("cpu", "cuda"), default="cpu",
                          help="where the model runs (cpu)")
    measured.set_defaults(run=run_calibrate)

    compared = commands.add_parser(
        "diff", help="compare two checkpoints by their numbers",
        description="Compares the numbers of two checkpoints in any layouts. The exit status is 1 "
                    "where they differ.")
    compared.add_argument("first", metavar="MODEL", help="the reference")
    compared.add_argument("second", metavar="OTHER", help="what is compared with it")
    compared.add_argument("--sqnr", type=float, metavar="DB",
                          help="let numbers differ, with at least this ratio in each tensor")
    compared.add_argument("--shown", type=_parse_count, default=20, metavar="N",
                          help="tensors that are shown, the least alike first (20)")
    compared.add_argument("--threads", type=_parse_count, metavar="N",
                          help="threads that work; one for each core without it")
    compared.add_argument("--progress", choices=("auto", "bar", "none"), default="auto",
                          help="a bar with rate and time left; auto shows it on a terminal")
    compared.add_argument("--json", action="store_true", help="write JSON")
    compared.set_defaults(run=run_diff)

    quantized = commands.add_parser(
        "quantize", help="quantize a plain checkpoint",
        description="Quantizes a plain checkpoint by a policy (docs/Policy.md).")
    _add_job_options(quantized)
    quantized.add_argument("--policy", metavar="FILE", help="a policy, whose locations are names "
                                                            "of layers")
    quantized.add_argument("--format", choices=list(FORMATS),
                           help="one format for all layers, instead of a policy")
    quantized.add_argument("--recipe", metavar="NAME", help="with --format: the rounding")
    quantized.add_argument("--sweep", action="store_true",
                           help="with --format: search the scale of each block")
    quantized.add_argument("--weight-only", action="store_true",
                           help="with --format: activations stay plain")
    quantized.add_argument("--layout", choices=[each for each in FAMILIES if each != "plain"],
                           default="modelopt", help="how the result is stored (modelopt)")
    quantized.add_argument("--amaxes", metavar="FILE",
                           help="JSON with the amaxes of activations by the names of layers")
    quantized.add_argument("--on", choices=("cpu", "cuda"), default="cpu",
                           help="where numbers are quantized, with the same bytes (cpu)")
    quantized.add_argument("--measured", type=_parse_count, default=MEASURED, metavar="N",
                           help=f"measure the error of one row of N ({MEASURED}); 1 for all")
    quantized.add_argument("--json", metavar="FILE", help="write what became of each layer")
    quantized.add_argument("--plot", metavar="FILE", help="draw the SQNR of layers as SVG")
    quantized.add_argument("--quiet", action="store_true", help="show no table")
    quantized.set_defaults(run=run_quantize)
    return parser


def _keep_kernels() -> None:
    """Keeps compiled kernels in the user's cache, unless the environment names a folder, or none:
    they have no numbers of a checkpoint, and are the same again and again."""
    if _CACHE in os.environ:
        return
    folder = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    if os.path.isabs(folder):
        os.environ[_CACHE] = os.path.join(folder, "blockscale")


def _save_addresses() -> None:
    """Where addresses are limited, as by `ulimit -v`, has threads share memory to allocate from.
    Each takes 128 MiB of addresses else, and LLVM ends a process that has none for a thread."""
    if resource.getrlimit(resource.RLIMIT_AS)[0] != resource.RLIM_INFINITY:
        arena_max = -8  # M_ARENA_MAX of glibc.
        with contextlib.suppress(AttributeError):
            ctypes.CDLL(None).mallopt(arena_max, 2)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the program; its exit status: 0, 1 where a check finds faults or checkpoints differ,
    and 2 for what cannot be done."""
    given = sys.argv[1:] if arguments is None else arguments
    # An address is always behind "=": what follows --cluster may be MODEL.
    options = _make_parser().parse_args(
        ["--cluster=" if each == "--cluster" else each for each in given])
    _keep_kernels()
    _save_addresses()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # Names of files have characters that the terminal's encoding may lack.
            stream.reconfigure(errors="backslashreplace")
    try:
        status: int = options.run(options)
        return status
    except (Error, ImportError) as error:
        has_lines = getattr(error, "has_lines", True)
        lines = str(error).split("\n") if has_lines else [str(error)]
    except RuntimeError as error:
        # Where address space is limited, the stacks of threads are what has no room first.
        if "can't start new thread" not in str(error):
            raise
        lines = ["expected memory for one more thread, but got none; --threads says how many work"]
    except MemoryError:
        lines = [f"expected more memory for '{options.command}', but got none"]
    except KeyboardInterrupt:
        lines = ["interrupted"]
        if hasattr(options, "resume"):
            lines[0] += "; the same command with --resume goes on"
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 2
    except OSError as error:
        lines = [f"cannot use '{error.filename}': {error.strerror}"]
    for line in lines:
        print(f"{PROGRAM}: error: {escape(line)}", file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main())
