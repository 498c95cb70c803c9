//===- MatrixDescriptor.h - Matrices in shared memory -----------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Instructions of tensor cores take a matrix in shared memory by a descriptor
// of 64 bits, whose low bits are its address (PTX ISA, "Shared memory
// descriptor" of tcgen05, "Matrix Descriptor Format" of wgmma).
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_PRODUCTS_MATRIXDESCRIPTOR_H
#define BLOCKSCALE_LIB_CONVERSION_PRODUCTS_MATRIXDESCRIPTOR_H

#include "DeviceEmission/KernelBuilder.h"
#include "Emission/Lanes.h"

namespace blockscale::products {

/// Addresses in descriptors count units of 16 bytes.
inline constexpr int64_t kDescriptorUnit = 16;

/// The offsets in the descriptor of rows of 128 bytes that are swizzled. Groups
/// of eight of them, which are rows of a K-major operand or elements of K of an
/// MN-major one, are 1024 bytes apart. Of the latter, tiles of 64 rows follow
/// each other; the former has no such.
inline constexpr uint64_t getTileOffsets(bool isMnMajor) {
  uint64_t leading = isMnMajor ? 8192 / kDescriptorUnit : 1;
  return leading << 16 | uint64_t(1024 / kDescriptorUnit) << 32;
}
/// What 16 elements of K of such a tile are apart, in units of descriptors.
inline constexpr int64_t getInstructionUnits(bool isMnMajor) {
  return (isMnMajor ? 16 * 128 : 16 * 2) / kDescriptorUnit;
}

/// The descriptor of what is at `pointer`; `rest` are its other bits.
inline mlir::Value emitDescriptor(KernelBuilder &b, mlir::Value pointer,
                                  uint64_t rest) {
  // The bits that an address in shared memory may have.
  constexpr uint32_t addressMask = 0x3FFFF;
  emit::Lanes address(
      b, mlir::LLVM::PtrToIntOp::create(b, b.getI64Type(), pointer));
  emit::Lanes start = (address & addressMask) >> llvm::Log2_64(kDescriptorUnit);
  return start | start.like(rest);
}

} // namespace blockscale::products

#endif // BLOCKSCALE_LIB_CONVERSION_PRODUCTS_MATRIXDESCRIPTOR_H
