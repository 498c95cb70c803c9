//===- DeviceQuantizer.h - Arithmetic of a recipe ---------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A device quantizer is the code of a thread that quantizes the blocks it holds
// in registers. The kernel around it (QuantizeKernel) knows memory and no
// recipe; it knows a recipe and no memory. The operations and their order are
// those of Numerics/BlockScale.h.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_DEVICEEMISSION_DEVICEQUANTIZER_H
#define BLOCKSCALE_LIB_CONVERSION_DEVICEEMISSION_DEVICEQUANTIZER_H

#include "BlockElements.h"
#include "CvtEmitter.h"
#include "blockscale/IR/OpOperands.h"
#include "blockscale/Numerics/Recipe.h"

namespace blockscale {

class DeviceQuantizer {
public:
  explicit DeviceQuantizer(CvtEmitter &cvt) : cvt(cvt) {}
  virtual ~DeviceQuantizer();

  /// Derives the constants that all blocks of a thread share. `global` is f32,
  /// or null where absent.
  virtual void setGlobal(KernelBuilder &b, emit::Lanes global) = 0;

  struct Scales {
    /// The scale bytes, two in an i16 with the first low; the byte of a missing
    /// second block is 0.
    llvm::SmallVector<emit::Lanes, 2> pairs;
    /// The factor of each block, which `encode` takes.
    llvm::SmallVector<emit::Lanes, 4> factors;
  };

  /// Scales of blocks from their amaxes, and their elements where
  /// the recipe asks for them.
  virtual Scales computeScales(KernelBuilder &b,
                               llvm::ArrayRef<emit::Lanes> amaxes,
                               llvm::ArrayRef<BlockElements> blocks) = 0;

  /// Codes of a block as i32 words, in element order. Rounding is stochastic
  /// where there are random words, one for four elements.
  llvm::SmallVector<mlir::Value> encode(KernelBuilder &b,
                                        const BlockElements &block,
                                        emit::Lanes factor,
                                        mlir::ValueRange randomWords);

  /// Elements (a vector of f32) as the format's cast takes them, each with the
  /// factor of its block.
  virtual emit::Lanes scale(KernelBuilder &b, emit::Lanes elements,
                            emit::Lanes factors) = 0;

protected:
  virtual numerics::ElementFormat getFormat() const = 0;

  CvtEmitter &cvt;
};

/// Creates the quantizer of any recipe.
std::unique_ptr<DeviceQuantizer>
createDeviceQuantizer(CvtEmitter &cvt, numerics::Recipe recipe,
                      numerics::ElementFormat format, GlobalKind global,
                      bool amaxIsGiven);

/// Creates the quantizer of a recipe of NVFP4. If `amaxIsGiven`, amaxes come
/// from an operand and not from the elements.
std::unique_ptr<DeviceQuantizer> createNvfp4Quantizer(CvtEmitter &cvt,
                                                      numerics::Recipe recipe,
                                                      GlobalKind global,
                                                      bool amaxIsGiven);

std::unique_ptr<DeviceQuantizer>
createFourOverSixQuantizer(CvtEmitter &cvt, numerics::Recipe recipe,
                           GlobalKind global);

std::unique_ptr<DeviceQuantizer>
createMxQuantizer(CvtEmitter &cvt, numerics::Recipe recipe,
                  numerics::ElementFormat format);

} // namespace blockscale

#endif // BLOCKSCALE_LIB_CONVERSION_DEVICEEMISSION_DEVICEQUANTIZER_H
