//===- Upstream.h - Where releases of LLVM differ ---------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The project builds with two releases of LLVM from one source. Whatever they
// have under different names or in another order of arguments stands here,
// under one name, and no other file asks for the release. Operations and
// classes are parameters of templates where a file that only needs a type would
// otherwise read the headers of their dialects.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_IR_UPSTREAM_H
#define BLOCKSCALE_IR_UPSTREAM_H

#include "mlir/Dialect/GPU/IR/CompilationInterfaces.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/OperationSupport.h"
#include "llvm/Config/llvm-config.h"

namespace llvm {
class MCSubtargetInfo;
} // namespace llvm

namespace blockscale {

/// What a GPU module was compiled to. The declarations that MLIR makes of the
/// methods of a target attribute name it without a namespace.
#if LLVM_VERSION_MAJOR >= 23
using mlir::gpu::SerializedObject;
#else
using SerializedObject = mlir::SmallVector<char, 0>;
#endif

namespace upstream {

/// The release of LLVM and MLIR that this is built with.
inline constexpr unsigned kRelease = LLVM_VERSION_MAJOR;

/// Properties of an operation that is not made yet.
#if LLVM_VERSION_MAJOR >= 23
using Properties = mlir::PropertyRef;
#else
using Properties = mlir::OpaqueProperties;
#endif

/// The attribute of a func.func whose words are attributes of LLVM's function.
#if LLVM_VERSION_MAJOR >= 23
inline constexpr const char *kPassthrough = "llvm.passthrough";
#else
inline constexpr const char *kPassthrough = "passthrough";
#endif

/// The enumeration that an operation's attribute `kind` has.
template <typename Op>
using KindOf = decltype(std::declval<Op>().getKind());

/// Allocates a buffer as `options`, those of a bufferization, say.
template <typename Options>
mlir::FailureOr<mlir::Value>
createAlloc(const Options &options, mlir::OpBuilder &builder,
            mlir::Location location, mlir::MemRefType type,
            mlir::ValueRange sizes) {
#if LLVM_VERSION_MAJOR >= 23
  return options.allocationFn(builder, location, type, sizes,
                              options.bufferAlignment);
#else
  return options.createAlloc(builder, location, type, sizes);
#endif
}

/// Copies a buffer as `options`, those of a bufferization, say.
template <typename Options>
mlir::LogicalResult
createMemCpy(const Options &options, mlir::OpBuilder &builder,
             mlir::Location location, mlir::Value from, mlir::Value to) {
#if LLVM_VERSION_MAJOR >= 23
  return options.memCpyFn(builder, location, from, to);
#else
  return options.createMemCpy(builder, location, from, to);
#endif
}

/// A barrier of `threads` threads, which `Barrier` (NVVM::BarrierOp) knows by
/// its number.
template <typename Barrier, typename Builder>
Barrier createBarrier(Builder &builder, mlir::Value number,
                      mlir::Value threads) {
#if LLVM_VERSION_MAJOR >= 23
  return Barrier::create(builder, number, threads);
#else
  return Barrier::create(builder, /*res=*/mlir::Type(), number, threads,
                         /*reductionOp=*/{},
                         /*reductionPredicate=*/mlir::Value());
#endif
}

/// Converts two codes of type `from` to f16 by `Convert`
/// (NVVM::ConvertF8x2ToF16x2Op).
template <typename Convert, typename Builder>
Convert createF8x2ToF16x2(Builder &builder, mlir::Type result,
                          mlir::Value codes, mlir::Type from) {
#if LLVM_VERSION_MAJOR >= 23
  return Convert::create(builder, result, codes, from);
#else
  return Convert::create(builder, result, codes, /*relu=*/false, from);
#endif
}

/// What a machine has, of llvm::TargetMachine.
template <typename Machine>
const llvm::MCSubtargetInfo &getSubtarget(const Machine &machine) {
#if LLVM_VERSION_MAJOR >= 23
  return machine.getMCSubtargetInfo();
#else
  return *machine.getMCSubtargetInfo();
#endif
}

/// The name of a feature of CPUs, of llvm::SubtargetFeatureKV.
template <typename Feature>
llvm::StringRef getFeatureName(const Feature &feature) {
#if LLVM_VERSION_MAJOR >= 23
  return feature.key();
#else
  return feature.Key;
#endif
}

} // namespace upstream
} // namespace blockscale

#endif // BLOCKSCALE_IR_UPSTREAM_H
