//===- ErrorWriter.cpp - Kernels that report errors -----------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ErrorWriter.h"
#include "Emission/LoopEmitter.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/MathExtras.h"

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

/// The address of the module's ErrorRecordVariable of `bytes` bytes, which
/// begins as zeros.
static Value getVariable(KernelBuilder &b, size_t bytes) {
  auto module =
      b.getBlock()->getParentOp()->getParentOfType<gpu::GPUModuleOp>();
  auto words = static_cast<int64_t>(bytes / sizeof(int64_t));
  auto type = RankedTensorType::get({words}, b.getI64Type());
  auto array = LLVM::LLVMArrayType::get(b.getI64Type(), words);
  auto zeros = DenseElementsAttr::get(type, int64_t{0});
  if (auto known = module.lookupSymbol<LLVM::GlobalOp>(kErrorRecordSymbol)) {
    if (array.getNumElements() >
        cast<LLVM::LLVMArrayType>(known.getGlobalType()).getNumElements()) {
      known.setGlobalType(array);
      known.setValueAttr(zeros);
    }
  } else {
    auto outside = OpBuilder::atBlockBegin(module.getBody());
    LLVM::GlobalOp::create(outside, b.getLoc(), array, /*isConstant=*/false,
                           LLVM::Linkage::External, kErrorRecordSymbol, zeros,
                           kRecordAlignment, kGlobalMemory);
  }
  auto pointer = LLVM::LLVMPointerType::get(b.getContext(), kGlobalMemory);
  return LLVM::AddressOfOp::create(b, pointer, kErrorRecordSymbol);
}

/// `text` as the words of a record: with a 0 behind it, and cut where it is too
/// long.
static SmallVector<int64_t> packText(StringRef text) {
  constexpr StringLiteral rest = "...";
  std::string bytes = text.str();
  if (bytes.size() >= runtime::kErrorTextBytes) {
    size_t length = runtime::kErrorTextBytes - rest.size() - 1;
    // Not within a character of UTF-8.
    while (length > 0 && (bytes[length] & 0xC0) == 0x80)
      --length;
    bytes = bytes.substr(0, length) + rest.str();
  }
  bytes.resize(llvm::alignTo(bytes.size() + 1, sizeof(int64_t)));
  SmallVector<int64_t> words;
  for (size_t i = 0; i < bytes.size(); i += sizeof(int64_t))
    words.push_back(llvm::support::endian::read64le(bytes.data() + i));
  return words;
}

/// Writes a record, with a text unless that is empty.
static void emitRecord(KernelBuilder &b, ErrorOp op, Lanes rule, Lanes group,
                       Lanes expected, Lanes found, StringRef text) {
  auto place = [&](Value pointer, int64_t byte) {
    return b.offset(pointer, b.getI8Type(), b.i64(byte));
  };
  Value variable =
      getVariable(b, text.empty() ? runtime::kShortErrorVariableBytes
                                  : sizeof(ErrorRecordVariable));
  auto pointer = LLVM::LLVMPointerType::get(b.getContext(), kGlobalMemory);
  constexpr unsigned wordBytes = sizeof(int64_t);
  Lanes given = b.load(b.getI64Type(),
                       place(variable, offsetof(ErrorRecordVariable, address)),
                       wordBytes);
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
    if (text.empty())
      return;
    int64_t byte = offsetof(ErrorRecord, text);
    for (int64_t word : packText(text)) {
      b.store(b.i64(word), place(record, byte), wordBytes);
      byte += wordBytes;
    }
  });
}

void emitErrorRecord(KernelBuilder &b, ErrorOp op, Lanes rule, Lanes group,
                     Lanes expected, Lanes found) {
  emitRecord(b, op, rule, group, expected, found, /*text=*/"");
}

void emitErrorRecord(KernelBuilder &b, StringRef text, Lanes expected,
                     Lanes found) {
  Lanes rule = found.like(static_cast<int64_t>(ErrorRule::Assertion));
  emitRecord(b, ErrorOp::None, rule, /*group=*/found.like(0), expected, found,
             text);
}

} // namespace blockscale
