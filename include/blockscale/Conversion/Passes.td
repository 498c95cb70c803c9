//===- Passes.td - Lowerings to targets --------------------*- tablegen -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_CONVERSION_PASSES_TD
#define BLOCKSCALE_CONVERSION_PASSES_TD

include "mlir/Pass/PassBase.td"

def LowerKernelsToCPU
    : Pass<"blockscale-lower-kernels-to-cpu", "::mlir::ModuleOp"> {
  let summary = "Turn kernels on memrefs into functions of vector loops";
  let description = [{
    Every `blockscale.kernel` becomes a private function that computes a range
    of its items (rows, bands of 128 rows or panels of 32, by op), and a call of
    it for all items, marked `blockscale.parallel`. Sizes that types do not tell
    are checked before the call: where a rule does not hold, the kernel is
    skipped and `blockscale_report_error` called with the rule and the size.
    Ops of one kernel that do not depend on each other become functions of their
    own, called in order.
  }];
  let dependentDialects = [
    "::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect",
    "::mlir::func::FuncDialect", "::mlir::LLVM::LLVMDialect",
    "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect",
    "::mlir::vector::VectorDialect"];
}

def ExpandBF16 : Pass<"blockscale-expand-bf16"> {
  let summary = "Convert between f32 and bf16 with integers";
  let description = [{
    LLVM's truncation is a library call on most hosts, and on those with AVX-512
    BF16 an instruction that takes subnormal numbers for zero. NaN becomes
    0x7FFF, as it does on GPUs. A bf16 that is extended in another block than the
    one that loads it is truncated, too.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def ExpandCopies : Pass<"blockscale-expand-copies"> {
  let summary = "Turn strided copies into linalg.generic";
  let description = [{
    convert-memref-to-llvm makes a memcpy of a copy between contiguous memrefs,
    and of any other a call of a library that we do not link. The latter become
    a `linalg.generic` here, for convert-linalg-to-loops.
  }];
  let dependentDialects = ["::mlir::linalg::LinalgDialect"];
}

def ExpandReshapes : Pass<"blockscale-expand-reshapes"> {
  let summary = "Turn reshapes into several dynamic sizes into casts";
  let description = [{
    expand-strided-metadata computes the one dynamic size that a dimension is
    expanded to from the others, and reads memory it does not own where there
    are two. A `memref.expand_shape` to several takes them from its output shape
    here and becomes a `memref.reinterpret_cast`.
  }];
  let dependentDialects = [
    "::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect",
    "::mlir::memref::MemRefDialect"];
}

def OrderReductions : Pass<"blockscale-order-reductions"> {
  let summary = "Reduce rows in an order that every target has";
  let description = [{
    Turns linalg ops on memrefs that reduce their last dimension, of a static
    size K, by sums, products, maxima or minima in f32 into loops. Their order
    depends on K alone (include/blockscale/Analysis/RowProgram.h) and is that of
    kernels on a GPU, so that sums have the same bits.
  }];
  let dependentDialects = [
    "::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect",
    "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect"];
}

def RetypeBF16 : Pass<"blockscale-retype-bf16"> {
  let summary = "Hold bf16 that is moved only as i16";
  let description = [{
    On CPUs without instructions for bf16 LLVM extends what a register holds from
    one block to the next, and truncates it again: by a call of a library that
    objects do not link, and that knows no payloads of NaN. In functions of the
    LLVM dialect that load, store, select and cast bf16, but do not compute with
    it, it becomes i16.
  }];
}

def InternalizeFunctions
    : Pass<"blockscale-internalize-functions", "::mlir::ModuleOp"> {
  let summary = "Keep functions out of the symbol table of the object";
  let description = [{
    Gives every `func.func` with a body internal linkage, for convert-func-to-llvm
    to pass on. What an object then exports are the `_mlir_ciface_NAME` wrappers
    of public functions: private functions and kernels of two objects do not
    collide, and a function may be called `main`.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

def ParallelizeCalls
    : Pass<"blockscale-parallelize-calls", "::mlir::ModuleOp"> {
  let summary = "Give calls marked blockscale.parallel to the host's threads";
  let description = [{
    Works on the LLVM dialect. The last two arguments of a marked call are the
    begin and end of an iteration range; it becomes a call of
    `blockscale_parallel_for`, which splits the range over threads.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

def DefineSerialRuntime
    : Pass<"blockscale-define-serial-runtime", "::mlir::ModuleOp"> {
  let summary = "Define weak, serial versions of the runtime functions";
  let description = [{
    Gives `blockscale_parallel_for` and `blockscale_report_error`, where the
    module declares them, weak definitions that need libc only: the range in one
    call, and a message on standard error followed by `abort`. An embedder that
    defines them strongly replaces them.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

def ChooseSchedules : Pass<"blockscale-choose-schedules"> {
  let summary = "Choose tiles and stages of matrix products";
  let description = [{
    For a chip with block-scaled products, gives each `scaled_mm` and
    `scaled_grouped_mm` the attribute `blockscale.schedule`, unless it has one:
    the schedule that takes the fewest clocks by
    include/blockscale/Analysis/GemmTimeline.h, or the one given, or that of a
    product which shares its kernel. A remark (category `gpu-launch`) says by
    which numbers.

    Example (test/Conversion/ToSM100/schedules.mlir):

    ```mlir
    %0 = blockscale.scaled_mm %a, %b scales(%sa, %sb) block [1, 16]
        {blockscale.schedule = #blockscale.gemm_schedule<rows = 128, cols = 256,
            stages = 4, band = 8, ctas = 148>} : ...
    ```
  }];
  let options = [
    Option<"chip", "chip", "std::string", /*default=*/"\"sm_100a\"",
           "GPU to generate code for">,
    Option<"schedule", "schedule", "std::string", /*default=*/"\"\"",
           "Schedule of all products that have none; chosen where empty">];
  let dependentDialects = ["::blockscale::BlockScaleDialect"];
}

def ChooseTiles : Pass<"blockscale-choose-tiles"> {
  let summary = "Write down what a warp of a patch kernel has of x";
  let description = [{
    Gives each kernel for blocks of several rows, or of several results of one x,
    the attribute `blockscale.tile`, unless it has one: the rows and columns of x
    of a warp. The lowering obeys it, and refuses one that the kernel cannot have
    with a list of those that it can. A remark (category `gpu-launch`) says how
    many sectors of memory each of these takes to load and store.

    Example (test/Conversion/ToGPU/tiles.mlir):

    ```mlir
    blockscale.kernel ins(%x : memref<64x128xbf16>) outs(...)
        attributes {blockscale.tile = array<i64: 64, 64>} {...}
    ```
  }];
  let options = [
    Option<"chip", "chip", "std::string", /*default=*/"\"sm_100a\"",
           "GPU to generate code for">];
  let dependentDialects = ["::blockscale::BlockScaleDialect"];
}

def LowerKernelsToGPU
    : Pass<"blockscale-lower-kernels-to-gpu", "::mlir::ModuleOp"> {
  let summary = "Turn kernels on memrefs into gpu.func and gpu.launch_func";
  let description = [{
    Every `blockscale.kernel` on memrefs becomes a `gpu.launch_func` or two, and
    its code a `gpu.func` in `gpu.module @blockscale_kernels`, whose target is
    the chip. Kernels that differ in the number of rows only share a function.
    The host function's memrefs are taken to be device memory.

    Supported are the kernels of one op that docs/Lowering.md, section 8, has,
    and quantizations of one x that meet the clauses of
    include/blockscale/Analysis/FusionLegality.h, on memrefs of identity layout.
    Anything else is an error at the op. The alignment that a buffer must have is `llvm.align` of the kernel's
    argument.

    A launch of `quantize` passes x, data, scales, the global operand, the rows of a matrix
    and, where the kernel tells matrices apart, their number. For an empty tensor
    a size of the grid is 0: nothing is to be launched. Sizes that types do not
    show to agree are asserted.

    Example (test/Conversion/ToGPU/launch.mlir):

    ```mlir
    gpu.launch_func @blockscale_kernels::@quantize_e2m1_torchao_bf16_k4096_swizzled
        blocks in (%grid, %c1, %c1) threads in (%c128, %c1, %c1)
        args(%x : !llvm.ptr<1>, %data : !llvm.ptr<1>, %scales : !llvm.ptr<1>, %rows : i64)
    ```
  }];
  let dependentDialects = [
    "::blockscale::BlockScaleDialect", "::mlir::arith::ArithDialect",
    "::mlir::cf::ControlFlowDialect", "::mlir::gpu::GPUDialect",
    "::mlir::LLVM::LLVMDialect", "::mlir::memref::MemRefDialect",
    "::mlir::NVVM::NVVMDialect", "::mlir::scf::SCFDialect"];
  let options = [
    Option<"chip", "chip", "std::string", /*default=*/"\"sm_100a\"",
           "GPU to generate code for">
  ];
}

#endif // BLOCKSCALE_CONVERSION_PASSES_TD
