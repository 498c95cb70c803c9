//===- QuantizeSpec.h - What a quantize kernel computes ---------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_TOGPU_ROWS_QUANTIZESPEC_H
#define BLOCKSCALE_LIB_CONVERSION_TOGPU_ROWS_QUANTIZESPEC_H

#include "DeviceEmission/BlockDecoding.h"
#include "DeviceEmission/DeviceQuantizer.h"
#include "DeviceEmission/ElementSource.h"
#include "GlobalPrologue.h"
#include "blockscale/IR/BlockScaleDialect.h"
#include "blockscale/Target/Chip.h"

#include "llvm/Support/MathExtras.h"

namespace blockscale {

/// The part of a kernel's name that says which dimension groups cut; empty
/// where there are none.
llvm::StringRef getGroupName(GroupDim dim);

/// Everything that the code of a quantize kernel depends on. The number of rows
/// and of matrices is given at launch, so kernels of one spec are one kernel.
struct QuantizeSpec {
  numerics::Recipe recipe;
  numerics::ElementFormat format;
  /// The source of x: memory, or elementwise ops on what memory holds.
  std::shared_ptr<const ElementSource> source;
  /// The type of the elements of x: bf16, f16 or f32.
  mlir::Type inputType;
  /// Elements of a row, whose last block may have fewer than others, and of a
  /// block.
  int64_t rowElements;
  int64_t blockElements;
  /// Whether the length of rows is known at launch alone. Each block is a row
  /// of the kernel then: codes, linear scales and random words of blocks follow
  /// each other as the blocks do.
  bool takesBlocks = false;
  /// Scales in 128x4 tiles rather than linear: of the matrix, or of groups.
  bool swizzled = false;
  bool groupedTiles = false;
  /// Whether the kernel tells matrices of a batch apart. Otherwise a batch is
  /// one matrix of all rows.
  bool batched;
  GlobalOperand global;
  /// How the kernel computes the global operand; empty where it is in memory,
  /// or absent.
  GlobalPrologue globalPrologue;
  /// Whether block amaxes are an operand.
  bool amaxIsGiven;
  bool stochastic;
  /// Whether random bits go by the place of x in a larger tensor.
  bool isPlaced;
  GroupDim groupDim;
  /// Whether the kernel checks the ends of groups.
  bool checksEnds;
  /// Whether codes are stored in the prepacked layout rather than in rows.
  bool isPrepacked = false;
  /// Whether threads are quads (QuadKernel.h), as those of prepacked codes are.
  bool isInQuads = false;
  /// How the values of the codes are computed, if they are stored.
  std::optional<BlockDecoding> decoding;
  /// Bytes that CTAs load for each element where they compute x from whole
  /// rows; 0 where they do not.
  int64_t ownedBytes = 0;

  bool ownsRows() const { return ownedBytes != 0; }
  int64_t getBlockElements() const { return blockElements; }
  int64_t getBlocksPerRow() const {
    return llvm::divideCeil(rowElements, getBlockElements());
  }
  /// Elements of a last block that is not whole.
  int64_t getTailElements() const { return rowElements % getBlockElements(); }
  /// What ends of groups are multiples of.
  int64_t getGroupUnit() const {
    return groupDim == GroupDim::Columns ? getBlockElements() : 1;
  }
  int64_t getInputBytes() const {
    return inputType.getIntOrFloatBitWidth() / 8;
  }
  int64_t getDataBits() const {
    return numerics::getFormatInfo(format).storageBits;
  }
  /// Bytes of the values of the codes of a row.
  int64_t getDecodedRowBytes() const {
    return rowElements * decoding->getValueBits() / 8;
  }
  /// Bytes of the data of a row.
  int64_t getRowBytes() const {
    return llvm::divideCeil(rowElements * getDataBits(), 8);
  }

  /// The name of the kernel, for example
  /// `quantize_e2m1_torchao_bf16_k4096_swizzled_scaled`, on sm_90a with `_sm90`
  /// at its end.
  std::string getKernelName(const target::Chip &chip) const;
};

/// The operands of a `blockscale.kernel` by their meaning, and the parameters
/// of its code while that is emitted. Null where absent.
struct QuantizeOperands {
  mlir::Value x, data, scale;
  /// What the values of the codes are stored to.
  mlir::Value decoded;
  mlir::Value global, blockAmax, rng, offsets;
  /// What an amax and a global scale that the kernel computes are stored to.
  mlir::Value storedAmax, storedScale;
  /// Sizes: the rows of a matrix, the matrices, the number of offsets, and that
  /// of the tiles of groups.
  emit::Lanes rows, matrices, groups, tiles;
  /// The inputs that x is computed from where it is not in memory, and the
  /// buffers that computed values are kept in.
  llvm::SmallVector<mlir::Value> inputs;
};

/// Reads the spec off a quantize of a kernel on memrefs. What `chip` cannot run
/// is an error at the op concerned. `from` is x or, where other code computes
/// that, an input of its shape.
mlir::FailureOr<QuantizeSpec>
analyzeQuantize(KernelOp kernel, QuantizeOp quantize, mlir::Value from,
                const target::Chip &chip, QuantizeOperands &operands);

} // namespace blockscale

#endif // BLOCKSCALE_LIB_CONVERSION_TOGPU_ROWS_QUANTIZESPEC_H
