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
    own, called in order. Sums of products of `order chain` have the bits of
    tensor cores (docs/Numerics.md, section 13). Each `amax_over_ranks` becomes a
    call of `blockscale_reduce_over_ranks`.
  }];
  let options = [
    Option<"tensorCores", "tensor-cores", "::blockscale::numerics::TensorCores",
           /*default=*/"::blockscale::numerics::TensorCores::Hopper",
           "Whose sums products of order chain have", [{::llvm::cl::values(
             clEnumValN(::blockscale::numerics::TensorCores::Ampere, "ampere", "A100"),
             clEnumValN(::blockscale::numerics::TensorCores::Ada, "ada", "L40S"),
             clEnumValN(::blockscale::numerics::TensorCores::Hopper, "hopper", "H100 and H200"),
             clEnumValN(::blockscale::numerics::TensorCores::Blackwell, "blackwell", "B200"),
             clEnumValN(::blockscale::numerics::TensorCores::ConsumerBlackwell,
                        "consumer-blackwell", "RTX PRO 6000"))}]>
  ];
  let dependentDialects = [
    "::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect",
    "::mlir::func::FuncDialect", "::mlir::LLVM::LLVMDialect",
    "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect",
    "::mlir::vector::VectorDialect"];
}

def AssertProductSizes : Pass<"blockscale-assert-product-sizes"> {
  let summary = "Assert the sizes of operands of products before these move";
  let description = [{
    The pipelines of GPUs bring scales and data of products into the layouts that
    kernels read, and tiles of 128x4 scales do not tell how many of them there
    were. So the rules about sizes that types leave open are asserted on the
    operands as the program has them, and the product is marked with
    `blockscale.sizes_asserted`: its kernel checks its results alone. The rules and
    their texts are those that a kernel on the CPU checks before its call. Sizes of
    scales that are tiles in the program are compared as numbers of tiles, and those
    of prepacked data where their blocks are read.
  }];
  let dependentDialects = [
    "::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect",
    "::mlir::cf::ControlFlowDialect", "::mlir::tensor::TensorDialect"];
}

def ExpandBF16 : Pass<"blockscale-expand-bf16"> {
  let summary = "Convert between f32 and bf16 with integers";
  let description = [{
    LLVM's truncation is a library call on most hosts, and on hosts with AVX-512
    BF16 it is an instruction that takes subnormal numbers for zero. NaN becomes
    0x7FFF, as it does on GPUs. A bf16 that is loaded in one block and extended in
    another is truncated as well. Integers become bf16, and bf16 becomes integers,
    through f32; an f64 becomes bf16 through the f32 that rounds as it does.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def LowerNarrowFloats
    : Pass<"blockscale-lower-narrow-floats", "::mlir::ModuleOp"> {
  let summary = "Compute with f4, f6 and f8 by their codes";
  let description = [{
    Targets have no arithmetic on f4E2M1FN, f6E2M3FN, f6E3M2FN, f8E4M3FN, f8E5M2
    and f8E8M0FNU. Casts to and from them become integer and f32 arithmetic on the
    codes, by the formulas of Numerics (docs/Numerics.md, section 19). Other ops
    of arith and math compute in f32, and their result is rounded. It is the same
    on every target. So is an `arith.truncf` to bf16, f16 or f32 in another
    direction than to the nearest even number, which no target has: the nearest
    number is moved to its neighbour where it lies on the wrong side.

    The pass is before the first canonicalization, as MLIR's folds make code 0 of
    an infinity or a NaN that is cast to f4 or f6. It is behind
    blockscale-raise-quantizers, which reads the casts.

    Ops on tensors become linalg ops, and named linalg ops that compute with
    these types become `linalg.generic`. An op of linalg or tensor that reads or
    makes elements of f4 and f6 tensors does so in bytes, which
    `builtin.unrealized_conversion_cast` sees as the storage form of the tensor;
    blockscale-materialize-storage removes these casts.

    Example (test/Conversion/lower-narrow-floats.mlir):

    ```mlir
    %y = arith.extf %x : f8E8M0FNU to f32
    ```

    becomes

    ```mlir
    %code = arith.bitcast %x : f8E8M0FNU to i8
    %word = arith.extui %code : i8 to i32
    %bits = arith.shli %word, %c23 : i32
    ...
    %y = arith.bitcast %chosen : i32 to f32
    ```
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect",
    "::mlir::math::MathDialect", "::mlir::tensor::TensorDialect",
    "::mlir::vector::VectorDialect"];
}

def ExpandCopies : Pass<"blockscale-expand-copies"> {
  let summary = "Turn strided copies into linalg.generic";
  let description = [{
    convert-memref-to-llvm turns a copy between contiguous memrefs into a memcpy,
    and any other copy into a call of a library that we do not link. This pass
    turns the latter into a `linalg.generic`, for convert-linalg-to-loops.
  }];
  let dependentDialects = ["::mlir::linalg::LinalgDialect"];
}

def ExpandReshapes : Pass<"blockscale-expand-reshapes"> {
  let summary = "Turn reshapes into several dynamic sizes into casts";
  let description = [{
    If a dimension is expanded to one dynamic size, expand-strided-metadata computes
    it from the other sizes; if there are two, it reads memory that it does not own.
    This pass takes several dynamic sizes of a `memref.expand_shape` from its output
    shape and makes a `memref.reinterpret_cast`.
  }];
  let dependentDialects = [
    "::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect",
    "::mlir::memref::MemRefDialect"];
}

def OrderReductions : Pass<"blockscale-order-reductions"> {
  let summary = "Reduce rows in an order that every target has";
  let description = [{
    Turns linalg ops on memrefs that reduce their last dimension, of a static
    size K, by sums, products, maxima or minima in f32 into loops. The order of the
    loops depends on K alone (include/blockscale/Analysis/RowProgram.h) and is that
    of the GPU kernels, so that sums have the same bits.
  }];
  let dependentDialects = [
    "::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect",
    "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect"];
}

def OutlineLinalg : Pass<"blockscale-outline-linalg", "::mlir::ModuleOp"> {
  let summary = "Move linalg ops to functions, one for all that are the same";
  let description = [{
    Each linalg op on memrefs that has a loop, and no assertion in its body, becomes
    a call of a private function. Ops that differ in no more than the values of
    their operands share one. So LLVM optimizes the loops of a layer once, however
    many layers a model has, and never all of them in one function.
  }];
  let dependentDialects = [
    "::mlir::func::FuncDialect", "::mlir::LLVM::LLVMDialect"];
}

def ReportAsserts : Pass<"blockscale-report-asserts", "::mlir::ModuleOp"> {
  let summary = "Report assertions that do not hold, and leave the function";
  let description = [{
    Upstream lowers `cf.assert` to a call that ends the process. This pass makes it a
    branch to a call of `blockscale_report_error` with the message and the number that
    is compared, and a return. A function that the module calls returns, besides its
    results, whether all assertions have held, and who calls it leaves, too: the call
    of the module fails with this error, and what its results hold is not defined.
    What is freed later on every path is freed before the function is left; what only
    run time knows the owner of, as buffers that loops carry, is not.

    Assertions in regions stay: the pass runs behind the lowering of `scf`. A public
    function that the module calls leaves and does not say so; its signature is for
    callers outside.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::cf::ControlFlowDialect",
    "::mlir::LLVM::LLVMDialect", "::mlir::memref::MemRefDialect",
    "::mlir::ub::UBDialect"];
}

def PassTensorMaps : Pass<"blockscale-pass-tensor-maps", "::mlir::ModuleOp"> {
  let summary = "Pass tensor maps to kernels by value";
  let description = [{
    A kernel of products has tensor maps (`blockscale.tensor_map`) as parameters, which
    the hardware reads where they are: 128 bytes at a multiple of 64, that do not
    change. `convert-gpu-to-nvvm` keeps no attribute that says so, and the parameter
    would be a pointer. This pass runs behind it, while the launches stand in the
    module, and makes these parameters such bytes. With it, upstream's passes end in
    the PTX of `blockscale-compile --emit=ptx`, which runs them, too:

    ```text
    blockscale-to-gpu{chip=sm_90a},
    gpu.module(convert-scf-to-cf,convert-gpu-to-nvvm,convert-nvvm-to-llvm,reconcile-unrealized-casts),
    blockscale-pass-tensor-maps,gpu-module-to-binary{format=isa}
    ```
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect", "::mlir::NVVM::NVVMDialect"];
}

def RetypeBF16 : Pass<"blockscale-retype-bf16"> {
  let summary = "Hold bf16 that is moved only as i16";
  let description = [{
    On CPUs without instructions for bf16, LLVM extends a bf16 that is live from
    one block to the next and truncates it again, by a call of a library that
    objects do not link and that loses payloads of NaN. In functions of the LLVM
    dialect that load, store, select and cast bf16 but do not compute with it, this
    pass turns bf16 into i16.
  }];
}

def InternalizeFunctions
    : Pass<"blockscale-internalize-functions", "::mlir::ModuleOp"> {
  let summary = "Keep functions out of the symbol table of the object";
  let description = [{
    Gives every `func.func` with a body internal linkage, which
    convert-func-to-llvm keeps. An object then exports only the
    `_mlir_ciface_NAME` wrappers of public functions: private functions and kernels
    of two objects do not collide, and a function may be called `main`.
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
    Gives `blockscale_parallel_for`, `blockscale_report_error` and
    `blockscale_reduce_over_ranks`, if the module declares them, weak definitions
    that need libc only: one call for the whole range, and a message on standard
    error followed by `abort`. Strong definitions of an embedder replace them.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

def BranchOnRows : Pass<"blockscale-branch-on-rows"> {
  let summary = "Choose kernels of products by the rows of each call";
  let description = [{
    A product whose A has a dynamic number of rows, M, is compiled for many
    rows, and one tile cannot be right for a few, too: one of 256 rows decodes
    and multiplies as long for 1 row as for 256. For a chip with kernels of
    products, this pass makes a branch (`scf.if`) on M around each
    `blockscale.kernel` of such a product, where some numbers of rows would take
    more than `gain` times as long as with their best tile, by the model of
    blockscale-choose-schedules. There are up to three bounds, the smallest of
    which is asked for first. A kernel of few rows is the same one with the
    attribute `blockscale.max_rows` on its products, by which schedules are
    chosen. A remark (category `gpu-launch`) says the tiles and the bounds.

    It runs on memrefs, where kernels have no results, so that whatever is fused
    with a product is in both branches. Of rows in groups, the bounds are those
    of a group times the number of groups. Products that have a schedule are
    left.

    Example (test/Conversion/branch-on-rows.mlir):

    ```mlir
    blockscale.kernel ins(%x, %w, %s : memref<?x4096xbf16>, ...)
        outs(%y : memref<?x4096xbf16>) family product {...}
    ```

    becomes

    ```mlir
    %m = memref.dim %x, %c0 : memref<?x4096xbf16>
    %few = arith.cmpi ule, %m, %c16 : index
    scf.if %few {
      blockscale.kernel ins(%x, %w, %s : ...) ... {
        ... blockscale.scaled_mm ... {blockscale.max_rows = 16 : i64} ...
      }
    } else {
      blockscale.kernel ins(%x, %w, %s : ...) ...
    }
    ```
  }];
  let options = [
    Option<"chip", "chip", "std::string", /*default=*/"\"sm_100a\"",
           "GPU to generate code for">,
    Option<"gain", "gain", "double", /*default=*/"1.25",
           "How many times as long as with the best tile rows may take">];
  let dependentDialects = [
    "::blockscale::BlockScaleDialect", "::mlir::arith::ArithDialect",
    "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect"];
}

def ChooseSchedules : Pass<"blockscale-choose-schedules"> {
  let summary = "Choose tiles and stages of matrix products";
  let description = [{
    For a chip with kernels of products, gives each `scaled_mm` and
    `scaled_grouped_mm` the attribute `blockscale.schedule`, unless it has one:
    the schedule with the least time by the model of the instruction that
    multiplies, or the given schedule, or that of a product which shares its
    kernel. The model is lib/Conversion/Products/ProductTimeline.h, with the
    coefficients of the family (lib/Conversion/To*/*Family.cpp). A remark
    (category `gpu-launch`) gives the numbers.

    The option `tuned` names a folder of measured choices (docs/Tuning.md). They
    are read, and nothing is measured: a product without a valid choice has the
    model's schedule, and a remark says why. On a module the pass leaves the
    attribute `blockscale.choices`, a record of what was chosen, by what, and,
    where the option `candidates` asks for them, of the model's best.

    Example (test/Conversion/ToTcgen05/schedules.mlir):

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
           "Schedule of all products that have none; chosen where empty">,
    Option<"tuned", "tuned", "std::string", /*default=*/"\"\"",
           "Folder of measured choices, which go before the model's">,
    Option<"candidates", "candidates", "unsigned", /*default=*/"0",
           "Most schedules of a product to record with their predicted times">];
  let dependentDialects = ["::blockscale::BlockScaleDialect"];
}

def ChooseStrips : Pass<"blockscale-choose-strips"> {
  let summary = "Write down what a warp of a strip kernel has of x";
  let description = [{
    Gives each kernel of the family `strips` the attribute `blockscale.strip`,
    unless it has one: the rows and columns of x that one warp quantizes. The
    lowering obeys it; an unsupported form is an error that lists the supported
    ones. A remark (category `gpu-launch`) gives the sectors of memory that each
    supported form loads and stores.

    Example (test/Conversion/ToGPU/strips.mlir):

    ```mlir
    blockscale.kernel ins(%x : memref<64x128xbf16>) outs(...)
        attributes {blockscale.strip = array<i64: 64, 64>} {...}
    ```
  }];
  let options = [
    Option<"chip", "chip", "std::string", /*default=*/"\"sm_100a\"",
           "GPU to generate code for">];
  let dependentDialects = ["::blockscale::BlockScaleDialect"];
}

def PlainToLoops : Pass<"blockscale-plain-to-loops", "::mlir::ModuleOp"> {
  let summary = "Turn what has no kernel of ours into parallel loops of a GPU";
  let description = [{
    Every linalg op on memrefs that is in no `blockscale.kernel` becomes an
    `scf.parallel`, each iteration of which computes an element of the result: the
    parallel loops of the op are around all others, whose order stays. Rows that
    blockscale-order-reductions reduces on the CPU are reduced in the same order, so
    that results have the same bits. What the host would compute of elements of
    memory (loads, stores, and scalars of what is loaded) becomes a loop of one
    iteration. blockscale-lower-kernels-to-gpu makes each of these loops a *plain
    kernel*. A remark (category `gpu-launch`) names each op.

    A size or a condition that depends on an element of memory is an error: the host
    decides it before anything runs. So is an offset, but for that of a part which a
    kernel of a row quantizer writes to: what computes it of elements of arguments
    that do not change is marked `blockscale.place` in front of the kernel, which
    computes it then.

    Example (test/Conversion/plain-to-loops.mlir):

    ```mlir
    linalg.transpose ins(%x : memref<?x8xf32>) outs(%y : memref<8x?xf32>)
        permutation = [1, 0]
    ```

    becomes

    ```mlir
    scf.parallel (%i, %j) = (%c0, %c0) to (%c8, %m) step (%c1, %c1) {
      %0 = memref.load %x[%j, %i] : memref<?x8xf32>
      memref.store %0, %y[%i, %j] : memref<8x?xf32>
      scf.reduce
    } {blockscale.plain = "transpose_f32"}
    ```
  }];
  let dependentDialects = [
    "::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect",
    "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect"];
}

def LowerKernelsToGPU
    : Pass<"blockscale-lower-kernels-to-gpu", "::mlir::ModuleOp"> {
  let summary = "Turn kernels on memrefs into gpu.func and gpu.launch_func";
  let description = [{
    Every `blockscale.kernel` on memrefs becomes a `gpu.launch_func` or two, by
    the lowering of its `family` (the one that blockscale-form-kernels would give
    it where it names none), and its code a `gpu.func` in `gpu.module @blockscale_kernels`, whose target is
    the chip. Kernels that differ in the number of rows only share a function.
    The host function's memrefs are taken to be device memory. An `scf.parallel` of
    the host becomes a launch of a plain kernel, in which a thread computes an
    iteration.

    The pass supports the kernels of one op that docs/Lowering.md, section 8,
    lists, and quantizations of one x that meet the clauses of
    include/blockscale/Analysis/FusionLegality.h, on memrefs of identity layout.
    Anything else is an error at the op. The attribute `llvm.align` of a kernel's
    argument is the alignment that its buffer must have.

    A launch of `quantize` passes x, data, scales, the global operand, the number
    of rows of a matrix and, if the kernel distinguishes matrices, their number.
    For an empty tensor a size of the grid is 0, and nothing must be launched. Sizes
    that the types do not show to agree are asserted.

    With `overlap-launches`, launches have `blockscale.programmatic`, and kernels
    the instructions that this needs (docs/LaunchPlan.md, launches that overlap).
    On a chip without them, a remark says that there are none.

    Example (test/Conversion/ToGPU/launch.mlir):

    ```mlir
    gpu.launch_func @blockscale_kernels::@quantize_e2m1_torchao_bf16_k4096_swizzled
        blocks in (%grid, %c1, %c1) threads in (%c128, %c1, %c1)
        args(%x : !llvm.ptr<1>, %data : !llvm.ptr<1>, %scales : !llvm.ptr<1>, %rows : i64)
    ```
  }];
  let dependentDialects = [
    "::blockscale::BlockScaleDialect", "::mlir::affine::AffineDialect",
    "::mlir::arith::ArithDialect", "::mlir::cf::ControlFlowDialect",
    "::mlir::gpu::GPUDialect",
    "::mlir::LLVM::LLVMDialect", "::mlir::memref::MemRefDialect",
    "::mlir::NVVM::NVVMDialect", "::mlir::scf::SCFDialect"];
  let options = [
    Option<"chip", "chip", "std::string", /*default=*/"\"sm_100a\"",
           "GPU to generate code for">,
    Option<"overlapLaunches", "overlap-launches", "bool", /*default=*/"false",
           "Let launches begin before those before them have ended "
           "(programmatic dependent launch), on chips that can">
  ];
}

#endif // BLOCKSCALE_CONVERSION_PASSES_TD
