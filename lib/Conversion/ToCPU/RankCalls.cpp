//===- RankCalls.cpp - Calls that reduce over ranks -----------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RankCalls.h"
#include "Emission/RuntimeFunction.h"
#include "blockscale/IR/BlockScaleDialect.h"
#include "blockscale/Runtime/RankReduction.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

using namespace mlir;

namespace blockscale::cpu {

/// The declaration of the host's function; null, with a diagnostic, where the
/// module has something else of that name.
static LLVM::LLVMFuncOp getFunction(ModuleOp module) {
  MLIRContext *context = module.getContext();
  Type i32 = IntegerType::get(context, 32);
  return emit::declareRuntimeFunction(module, "blockscale_reduce_over_ranks",
                                      {LLVM::LLVMPointerType::get(context),
                                       IntegerType::get(context, 64), i32,
                                       i32});
}

/// A pointer to the first element.
static Value getPointer(ImplicitLocOpBuilder &b, Value memref) {
  auto metadata = memref::ExtractStridedMetadataOp::create(b, memref);
  Value address = memref::ExtractAlignedPointerAsIndexOp::create(b, memref);
  Value width = arith::ConstantIndexOp::create(b, sizeof(float));
  Value offset = arith::MulIOp::create(b, metadata.getOffset(), width);
  address = arith::AddIOp::create(b, address, offset);
  address = arith::IndexCastOp::create(b, b.getI64Type(), address);
  return LLVM::IntToPtrOp::create(b, LLVM::LLVMPointerType::get(b.getContext()),
                                  address);
}

static Value countElements(ImplicitLocOpBuilder &b, Value memref) {
  Value count = arith::ConstantIndexOp::create(b, 1);
  for (int64_t dim = 0; dim < cast<MemRefType>(memref.getType()).getRank();
       ++dim) {
    Value size = memref::DimOp::create(b, memref, dim);
    count = arith::MulIOp::create(b, count, size);
  }
  return arith::IndexCastOp::create(b, b.getI64Type(), count);
}

LogicalResult lowerRankReductions(ModuleOp module) {
  SmallVector<AmaxOverRanksOp> ops;
  module.walk([&](AmaxOverRanksOp op) { ops.push_back(op); });
  if (ops.empty())
    return success();
  LLVM::LLVMFuncOp function = getFunction(module);
  if (!function)
    return failure();
  for (AmaxOverRanksOp op : ops) {
    ImplicitLocOpBuilder b(op.getLoc(), op);
    auto number = [&](auto value) -> Value {
      return LLVM::ConstantOp::create(b, b.getI32Type(),
                                      static_cast<int32_t>(value));
    };
    LLVM::CallOp::create(b, function,
                         ValueRange{getPointer(b, op.getAmax()),
                                    countElements(b, op.getAmax()),
                                    number(runtime::NpyType::Float32),
                                    number(runtime::ReductionKind::Max)});
    op.erase();
  }
  return success();
}

} // namespace blockscale::cpu
