//===- KernelOutlining.cpp - Kernels and their launches -------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelOutlining.h"
#include "LaunchSite.h"
#include "QuantizeArguments.h"
#include "QuantizeKernel.h"
#include "ScaleStore.h"
#include "ThreadMapping.h"

#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace blockscale {

gpu::GPUFuncOp getOrCreateQuantizeKernel(gpu::GPUModuleOp module, Location loc,
                                         const QuantizeSpec &spec,
                                         const target::Chip &chip) {
  std::string name = spec.getKernelName(chip);
  if (auto kernel = module.lookupSymbol<gpu::GPUFuncOp>(name))
    return kernel;
  auto b = OpBuilder::atBlockEnd(module.getBody());
  SmallVector<QuantizeArgument> arguments =
      getQuantizeArguments(module.getContext(), spec, chip);
  auto types = llvm::map_to_vector(
      arguments, [](const QuantizeArgument &each) { return each.type; });
  auto type = b.getFunctionType(types, {});
  auto kernel = gpu::GPUFuncOp::create(b, loc, name, type);
  kernel->setAttr(gpu::GPUDialect::getKernelFuncAttrName(), b.getUnitAttr());
  // `known_block_size` would become .maxntid, which only bounds the size.
  kernel->setAttr("nvvm.reqntid",
                  b.getDenseI32ArrayAttr({ThreadMapping::kThreads, 1, 1}));
  for (auto [i, argument] : llvm::enumerate(arguments))
    if (argument.alignment)
      kernel.setArgAttr(i, LLVM::LLVMDialect::getAlignAttrName(),
                        b.getI64IntegerAttr(argument.alignment));
  emitQuantizeKernel(kernel, spec, chip);
  return kernel;
}

/// Product of the sizes of dimensions [begin, end) of a memref.
static Value getSizeProduct(ImplicitLocOpBuilder &b, Value memref,
                            int64_t begin, int64_t end) {
  Value product = arith::ConstantIndexOp::create(b, 1);
  for (int64_t dim = begin; dim < end; ++dim)
    product = b.createOrFold<arith::MulIOp>(
        product, b.createOrFold<memref::DimOp>(memref, dim));
  return product;
}

/// Asserts that the first `count` dimensions of an operand `name`, if it is
/// there, are those of `like`.
static void requireSizes(ImplicitLocOpBuilder &b, Value operand, int64_t count,
                         Value like, StringRef name, StringRef source) {
  for (int64_t dim = 0; dim < count; ++dim) {
    Value found = b.createOrFold<memref::DimOp>(operand, dim);
    Value expected = b.createOrFold<memref::DimOp>(like, dim);
    Value holds = b.createOrFold<arith::CmpIOp>(arith::CmpIPredicate::eq, found,
                                                expected);
    if (!matchPattern(holds, m_One()))
      cf::AssertOp::create(b, holds,
                           ("expected dimension " + Twine(dim) + " of " + name +
                            " to fit " + source)
                               .str());
  }
}

/// Asserts that there is a value for each matrix, row, group or block.
static void requireOperandSizes(ImplicitLocOpBuilder &b,
                                const QuantizeOperands &operands) {
  if (auto type = operands.global
                      ? dyn_cast<MemRefType>(operands.global.getType())
                      : MemRefType())
    requireSizes(b, operands.global, type.getRank(),
                 operands.offsets ? operands.offsets : operands.x,
                 "the global operand",
                 operands.offsets ? "offsets" : "the shape of x");
  // The last dimension is static.
  if (Value amax = operands.blockAmax)
    requireSizes(b, amax, cast<MemRefType>(amax.getType()).getRank() - 1,
                 operands.x, "block_amax", "the shape of x");
}

void createQuantizeLaunch(ImplicitLocOpBuilder &b, gpu::GPUFuncOp kernel,
                          const QuantizeSpec &spec, const target::Chip &chip,
                          QuantizeOperands operands) {
  auto index = [&](int64_t value) -> Value {
    return arith::ConstantIndexOp::create(b, value);
  };
  auto ceilDiv = [&](Value value, int64_t divisor) -> Value {
    return b.createOrFold<arith::CeilDivUIOp>(value, index(divisor));
  };

  int64_t rank = cast<MemRefType>(operands.x.getType()).getRank();
  int64_t firstMatrixDim = spec.batched ? rank - 2 : 0;
  Value rows = getSizeProduct(b, operands.x, firstMatrixDim, rank - 1);
  Value matrices = getSizeProduct(b, operands.x, 0, firstMatrixDim);

  requireOperandSizes(b, operands);
  ThreadMapping mapping(spec, chip);
  Value lines = rows;
  if (spec.swizzled)
    lines = b.createOrFold<arith::MulIOp>(ceilDiv(rows, kTileRows),
                                          index(ThreadMapping::kRowStride));
  Value groups = ceilDiv(lines, mapping.linesPerGroup);
  gpu::KernelDim3 grid;
  // An empty grid is not launched (docs/LaunchPlan.md).
  grid.x = b.createOrFold<arith::MulIOp>(groups, index(mapping.blocksPerGroup));
  grid.y =
      b.createOrFold<arith::MinUIOp>(matrices, index(ThreadMapping::kMaxGridY));
  grid.z = ceilDiv(matrices, ThreadMapping::kMaxGridY);
  gpu::KernelDim3 block{index(ThreadMapping::kThreads), index(1), index(1)};

  operands.rows = rows;
  operands.matrices = matrices;
  if (operands.offsets)
    operands.groups = b.createOrFold<memref::DimOp>(operands.offsets, 0);
  SmallVector<Value> arguments;
  for (const QuantizeArgument &argument :
       getQuantizeArguments(b.getContext(), spec, chip)) {
    Value value = operands.*argument.place;
    if (isa<MemRefType>(value.getType()))
      value = getGlobalPointer(b, value);
    else if (value.getType().isIndex())
      value = arith::IndexCastOp::create(b, b.getI64Type(), value);
    arguments.push_back(value);
  }
  gpu::LaunchFuncOp::create(b, kernel, grid, block,
                            /*dynamicSharedMemorySize=*/Value(), arguments);
}

} // namespace blockscale
