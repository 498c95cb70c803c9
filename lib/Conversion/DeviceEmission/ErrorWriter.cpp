//===- ErrorWriter.cpp - Kernels that report errors -----------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ErrorWriter.h"
#include "Emission/LoopEmitter.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"

#include <cstddef>

using namespace mlir;
using blockscale::runtime::ErrorOp;
using blockscale::runtime::ErrorRecord;
using blockscale::runtime::ErrorRecordVariable;
using blockscale::runtime::ErrorRule;
using blockscale::runtime::kErrorRecordSymbol;

namespace blockscale {

using emit::Lanes;

/// The NVPTX address space of global memory.
static constexpr unsigned kGlobalMemory = 1;
static constexpr int64_t kRecordAlignment = 16;

/// The address of the module's ErrorRecordVariable, which begins as zeros.
static Value getVariable(KernelBuilder &b) {
  auto module =
      b.getBlock()->getParentOp()->getParentOfType<gpu::GPUModuleOp>();
  if (!module.lookupSymbol(kErrorRecordSymbol)) {
    constexpr int64_t words = sizeof(ErrorRecordVariable) / sizeof(int64_t);
    auto type = RankedTensorType::get({words}, b.getI64Type());
    auto outside = OpBuilder::atBlockBegin(module.getBody());
    LLVM::GlobalOp::create(
        outside, b.getLoc(), LLVM::LLVMArrayType::get(b.getI64Type(), words),
        /*isConstant=*/false, LLVM::Linkage::External, kErrorRecordSymbol,
        DenseElementsAttr::get(type, int64_t{0}), kRecordAlignment,
        kGlobalMemory);
  }
  auto pointer = LLVM::LLVMPointerType::get(b.getContext(), kGlobalMemory);
  return LLVM::AddressOfOp::create(b, pointer, kErrorRecordSymbol);
}

void emitErrorRecord(KernelBuilder &b, ErrorOp op, Lanes rule, Lanes group,
                     Lanes expected, Lanes found) {
  auto place = [&](Value pointer, int64_t byte) {
    return b.offset(pointer, b.getI8Type(), b.i64(byte));
  };
  Value variable = getVariable(b);
  auto pointer = LLVM::LLVMPointerType::get(b.getContext(), kGlobalMemory);
  constexpr unsigned wordBytes = sizeof(int64_t);
  Lanes given(b, b.load(b.getI64Type(),
                        place(variable, offsetof(ErrorRecordVariable, address)),
                        wordBytes));
  Value own = place(variable, offsetof(ErrorRecordVariable, record));
  Value record = LLVM::SelectOp::create(
      b, emit::isEqual(given, 0), own,
      LLVM::IntToPtrOp::create(b, pointer, Value(given)));
  // The rule goes first and decides who writes the rest.
  Lanes ruleAndOp =
      rule | rule.like(runtime::packRuleAndOp(ErrorRule::None, op));
  Value swapped = LLVM::AtomicCmpXchgOp::create(
      b, place(record, offsetof(ErrorRecord, ruleAndOp)), rule.like(0),
      ruleAndOp, LLVM::AtomicOrdering::monotonic,
      LLVM::AtomicOrdering::monotonic);
  Value isWriter = LLVM::ExtractValueOp::create(b, swapped, 1);
  emit::emitIf(b, isWriter, [&] {
    b.store(group, place(record, offsetof(ErrorRecord, group)), wordBytes);
    b.store(expected, place(record, offsetof(ErrorRecord, expected)),
            wordBytes);
    b.store(found, place(record, offsetof(ErrorRecord, found)), wordBytes);
  });
}

} // namespace blockscale
