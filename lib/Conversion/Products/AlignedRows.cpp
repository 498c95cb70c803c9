//===- AlignedRows.cpp - Rows of codes where copies begin -----------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AlignedRows.h"
#include "DeviceEmission/DeviceCode.h"
#include "GemmSpec.h"
#include "blockscale/IR/ConstantBytes.h"
#include "blockscale/Numerics/DataLayout.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/SymbolTable.h"

using namespace mlir;

namespace blockscale::products {

static constexpr int64_t kAlignThreads = 128;
/// The bytes that a thread moves: those of the codes of a block of NVFP4, or
/// fewer where rows of MN-major operands are no multiple of these.
static int64_t getBlockBytes(int64_t rowBytes) {
  constexpr int64_t most = 8;
  return std::min<int64_t>(rowBytes & -rowBytes, most);
}

//===----------------------------------------------------------------------===//
// Constants
//===----------------------------------------------------------------------===//

/// The elements `value`, bytes, with zeros behind each `rowBytes` of them, so
/// that rows have `pitch`.
static SmallVector<uint8_t> alignBytes(Attribute value, int64_t count,
                                       int64_t rowBytes, int64_t pitch) {
  ConstantBytes raw(value);
  int64_t rows = count / rowBytes;
  SmallVector<uint8_t> aligned(rows * pitch, numerics::kDataPadding);
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < rowBytes; ++j)
      aligned[i * pitch + j] = raw.bytes[raw.isSplat ? 0 : i * rowBytes + j];
  return aligned;
}

/// Whether `symbol` is a constant with these contents.
static bool isConstantOf(Operation *symbol, MemRefType type,
                         ArrayRef<uint8_t> bytes) {
  auto global = dyn_cast_if_present<memref::GlobalOp>(symbol);
  if (!global || !global.getConstant() || global.getType() != type)
    return false;
  ConstantBytes found(global.getConstantInitValue());
  if (found.isSplat)
    return llvm::all_of(bytes, [&](uint8_t byte) {
      return byte == static_cast<uint8_t>(found.bytes[0]);
    });
  return llvm::equal(bytes, found.bytes, [](uint8_t x, char y) {
    return x == static_cast<uint8_t>(y);
  });
}

/// The constant that `memory` is, with rows moved apart. Products of one
/// constant share it. Null where `memory` is no constant of bytes.
///
///   memref.global "private" constant @w : memref<40x24xi8> = ..
///   ->  memref.global "private" constant @w_rows_of_32 : memref<40x32xi8> = ..
static Value alignConstant(ImplicitLocOpBuilder &b, Value memory,
                           int64_t rowBytes, int64_t pitch) {
  auto get = memory.getDefiningOp<memref::GetGlobalOp>();
  if (!get || get.getType().getElementTypeBitWidth() != 8 ||
      get.getType().getShape().back() != rowBytes)
    return {};
  auto module = get->getParentOfType<ModuleOp>();
  SymbolTable symbols(module);
  auto global = symbols.lookup<memref::GlobalOp>(get.getName());
  Attribute value = global && global.getConstant()
                        ? global.getConstantInitValue()
                        : Attribute();
  if (ConstantBytes(value).bytes.empty())
    return {};

  SmallVector<int64_t> shape(get.getType().getShape());
  SmallVector<uint8_t> bytes =
      alignBytes(value, get.getType().getNumElements(), rowBytes, pitch);
  shape.back() = pitch;
  auto type = MemRefType::get(shape, get.getType().getElementType());
  std::string name = (global.getSymName() + "_rows_of_" + Twine(pitch)).str();
  if (!isConstantOf(symbols.lookup(name), type, bytes)) {
    auto tensor = RankedTensorType::get(shape, type.getElementType());
    OpBuilder outside(global);
    auto aligned = memref::GlobalOp::create(
        outside, global.getLoc(), name, global.getSymVisibilityAttr(), type,
        getConstantOf(bytes, tensor, value), /*constant=*/true,
        global.getAlignmentAttr());
    name = symbols.insert(aligned).str();
  }
  return memref::GetGlobalOp::create(b, type, name);
}

//===----------------------------------------------------------------------===//
// Other data
//===----------------------------------------------------------------------===//

/// Emits the kernel that moves `blocks` (i64) blocks of codes.
static void emitAlign(KernelBuilder &b, int64_t rowBytes, int64_t pitch,
                      Value data, Value aligned, Value blocks) {
  int64_t blockBytes = getBlockBytes(rowBytes);
  Value number = emitGlobalThreadNumber(b, kAlignThreads);
  emit::emitIf(b, isBelow(b, number, toIndex(b, blocks)), [&] {
    Value row = emit::div(b, number, rowBytes / blockBytes);
    Value first = emit::mul(b, number, blockBytes);
    Value moved = emit::add(b, first, emit::mul(b, row, pitch - rowBytes));
    Value source = emitAddress(b, data, b.getI8Type(), first);
    Value target = emitAddress(b, aligned, b.getI8Type(), moved);
    if (blockBytes % kWordBytes == 0)
      return emitStoreWords(b, emitLoadWords(b, source, blockBytes, blockBytes),
                            target, blockBytes);
    Type type = b.getIntegerType(8 * blockBytes);
    b.store(b.load(type, source, blockBytes), target, blockBytes);
  });
}

/// A workspace with the rows of `memory`, moved apart.
static Value launchAlign(LaunchSite &site, Value memory, int64_t rowBytes,
                         int64_t pitch, Value rows) {
  ImplicitLocOpBuilder &b = site.b;
  int64_t blockBytes = getBlockBytes(rowBytes);
  auto type = MemRefType::get({ShapedType::kDynamic}, b.getI8Type());
  Value aligned =
      memref::AllocOp::create(b, type, ValueRange{emit::mul(b, rows, pitch)});
  Value blocks = emit::mul(b, rows, rowBytes / blockBytes);
  site.launch("align_rows_of_" + Twine(rowBytes),
              {kAlignThreads, getCeilDiv(b, blocks, kAlignThreads), {}},
              {{memory, blockBytes}, {aligned, kCopyBytes}, {blocks}},
              [&](KernelBuilder &b) {
                emitAlign(b, rowBytes, pitch, memory, aligned, blocks);
              });
  return aligned;
}

AlignedRows alignRows(LaunchSite &site, Value memory, int64_t bits, Value rows,
                      OpFoldResult depth) {
  std::optional<int64_t> known = getConstantIntValue(depth);
  if (!known || *known * bits / 8 % kCopyBytes == 0)
    return {memory, /*pitch=*/Value()};
  int64_t rowBytes = *known * bits / 8;
  int64_t pitch = llvm::alignTo<kCopyBytes>(rowBytes);
  AlignedRows aligned{Value(), emit::getIndex(site.b, pitch)};
  aligned.memory = alignConstant(site.b, memory, rowBytes, pitch);
  aligned.isWorkspace = !aligned.memory;
  if (aligned.isWorkspace)
    aligned.memory = launchAlign(site, memory, rowBytes, pitch, rows);
  return aligned;
}

} // namespace blockscale::products
