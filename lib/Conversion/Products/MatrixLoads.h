//===- MatrixLoads.h - Operands by ldmatrix ---------------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_PRODUCTS_MATRIXLOADS_H
#define BLOCKSCALE_LIB_CONVERSION_PRODUCTS_MATRIXLOADS_H

#include "DeviceEmission/KernelBuilder.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

namespace blockscale::products {

/// The words (i32) that the thread gets of four matrices of 8 x 8 elements of
/// 16 bits by ldmatrix.x4, which transposes each where `layout` is that of
/// columns. Each thread of the warp gives the address of a row.
inline llvm::SmallVector<mlir::Value>
loadMatrices(KernelBuilder &b, mlir::Value address,
             mlir::NVVM::MMALayout layout) {
  constexpr int64_t matrices = 4, side = 8;
  auto type = mlir::LLVM::LLVMStructType::getLiteral(
      b.getContext(), llvm::SmallVector<mlir::Type>(matrices, b.getI32Type()));
  mlir::Value all = mlir::NVVM::LdMatrixOp::create(
      b, type, address, matrices, layout,
      mlir::NVVM::LdStMatrixShapeAttr::get(b.getContext(), side, side),
      mlir::NVVM::LdStMatrixEltType::B16);
  llvm::SmallVector<mlir::Value> words;
  for (int64_t i = 0; i < matrices; ++i)
    words.push_back(mlir::LLVM::ExtractValueOp::create(b, all, i));
  return words;
}

} // namespace blockscale::products

#endif // BLOCKSCALE_LIB_CONVERSION_PRODUCTS_MATRIXLOADS_H
