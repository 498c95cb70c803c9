//===- LaunchSite.h - Where a kernel is launched ----------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_DEVICEEMISSION_LAUNCHSITE_H
#define BLOCKSCALE_LIB_CONVERSION_DEVICEEMISSION_LAUNCHSITE_H

#include "DevicePlaces.h"
#include "Emission/CallSite.h"
#include "KernelBuilder.h"
#include "KernelSignature.h"
#include "KernelTable.h"
#include "blockscale/IR/BlockScaleDialect.h"
#include "blockscale/Target/Chip.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"

namespace blockscale {

/// Largest number of CTAs along y and z (CUDA).
inline constexpr int64_t kMaxGridY = 65535;

/// The aligned pointer of `memref` as a pointer to global memory.
mlir::Value getGlobalPointer(mlir::ImplicitLocOpBuilder &b, mlir::Value memref);

/// Asserts that the first element of `memref` is aligned as its buffer is.
void requireAlignment(mlir::ImplicitLocOpBuilder &b, mlir::Value memref,
                      int64_t alignment);

/// Emits that a thread waits until the launches before have ended and what they
/// have stored is there.
void emitLaunchWait(KernelBuilder &b);

/// The quotient ceil(value / divisor) of an index.
emit::Lanes getCeilDiv(mlir::ImplicitLocOpBuilder &b, mlir::Value value,
                       int64_t divisor);

/// The part of a kernel's name that says what a global operand is; empty where
/// it is absent.
std::string getGlobalName(const GlobalOperand &global);

/// A place in host code. Launches stand there, in the order of their calls; a
/// launch sees what those before it wrote.
class Launcher {
public:
  /// Launches stand before `op`.
  Launcher(mlir::Operation *op, KernelTable &kernels, const target::Chip &chip)
      : b(op->getLoc(), op), kernels(kernels), chip(chip) {}

  struct Shape {
    /// Threads of a block.
    int64_t threads;
    /// CTAs along x, and matrices along y and z; one if null.
    mlir::Value blocks;
    mlir::Value matrices;
    /// Bytes that a thread loads before it uses any; 0 where other things
    /// than memory decide.
    int64_t threadBytes = 0;
    /// CTAs for whose registers a multiprocessor has room; 0 leaves it to the
    /// assembler.
    int64_t residentBlocks = 0;
    /// Bytes of getDynamicSharedMemory.
    int64_t sharedBytes = 0;
    /// CTAs of a cluster, along x.
    int64_t clusterBlocks = 1;
    /// Whether `body` emits the waits for the launch before, where launches
    /// overlap; otherwise every thread waits first of all.
    bool waitsInBody = false;
  };

  /// Launches a kernel whose operands `signature` lists, and whose code `body`
  /// emits: a buffer arrives as a pointer to global memory, an index as i64, an
  /// f32 or a tensor map as it is. Variables of the signature hold parameters
  /// of the kernel while `body` runs. `stem` is what the name of the kernel
  /// begins with.
  void launch(const llvm::Twine &stem, const Shape &shape,
              const KernelSignature &signature,
              llvm::function_ref<void(KernelBuilder &)> body);

  const target::Chip &getChip() const { return chip; }

  /// Whether `memref` is a buffer of the call that a kernel launched here may
  /// load before it waits for the launch before: launches overlap, and nothing
  /// that the call does writes to the buffer. The first launch of a call begins
  /// when all before the call has ended, unless the function has settled
  /// arguments (docs/LaunchPlan.md); then what is before the call does not
  /// write to the buffer either.
  bool canLoadBeforeWait(mlir::Value memref) const;

  mlir::ImplicitLocOpBuilder b;

protected:
  /// Where parts of buffers begin that only the device knows; null where there
  /// are none.
  DevicePlaces *places = nullptr;

private:
  mlir::gpu::GPUFuncOp createFunction(mlir::gpu::GPUModuleOp module,
                                      const Shape &shape,
                                      const KernelSignature &signature,
                                      mlir::TypeRange types);

  KernelTable &kernels;
  const target::Chip &chip;
};

/// The place of a kernel in host code.
class LaunchSite : public Launcher {
public:
  /// `places` are those of the kernel.
  LaunchSite(KernelOp kernel, KernelTable &kernels, const target::Chip &chip,
             DevicePlaces &places);

  /// Whether the kernel's outputs are the results of its ops, each once, and
  /// its buffers dense. Emits an error where not.
  llvm::LogicalResult verify();
  /// Whether the kernel's operands are in memory, and its buffers dense. Emits
  /// an error where not.
  llvm::LogicalResult verifyOperands();

  /// Emits an error that says why the op has no kernel.
  llvm::LogicalResult refuse(const llvm::Twine &reason);

  /// The buffer or scalar of an operand or result of the op; null if absent.
  mlir::Value lookup(mlir::Value logical) const { return call.lookup(logical); }

  /// Asserts the rules that `call` has collected.
  void emitAsserts();

  /// Sizes of buffers, and rules that they must keep.
  emit::CallSite call;

private:
  KernelOp kernel;
};

} // namespace blockscale

#endif // BLOCKSCALE_LIB_CONVERSION_DEVICEEMISSION_LAUNCHSITE_H
