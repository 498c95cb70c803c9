//===- CpuInstructions.cpp - Functions of the CPU's own -------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CpuInstructions.h"
#include "blockscale/Conversion/BF16Products.h"
#include "blockscale/Conversion/E2M1.h"
#include "blockscale/IR/Upstream.h"
#include "blockscale/Numerics/Codec.h"

#include "llvm/ADT/Sequence.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/IntrinsicsX86.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/Target/TargetMachine.h"

namespace blockscale {

/// The bits of the magnified value of a code.
static uint32_t getBits(uint32_t code) {
  return numerics::toBits(
      numerics::decodeMagnified(numerics::ElementFormat::E2M1, code, 0));
}

template <typename T>
static llvm::Constant *createConstants(llvm::IRBuilderBase &b, unsigned count,
                                       llvm::function_ref<T(unsigned)> get) {
  llvm::SmallVector<T> values;
  for (unsigned i = 0; i < count; ++i)
    values.push_back(get(i));
  return llvm::ConstantDataVector::get(b.getContext(), values);
}

/// A register with the numbers of the first codes.
static llvm::Value *createTable(llvm::IRBuilderBase &b, unsigned count) {
  return b.CreateBitCast(createConstants<uint32_t>(b, count, getBits),
                         llvm::FixedVectorType::get(b.getFloatTy(), count));
}

/// AVX-512: a register has the numbers of all codes, and of a word the lowest
/// four bits count.
static llvm::Value *lookUp16(llvm::IRBuilderBase &b, llvm::Value *words) {
  return b.CreateIntrinsic(llvm::Intrinsic::x86_avx512_permvar_sf_512, {},
                           {createTable(b, 16), words});
}

/// AVX2: a register has the magnitudes, of a word the lowest three bits count,
/// and the sign comes from the fourth.
static llvm::Value *lookUp8(llvm::IRBuilderBase &b, llvm::Value *words) {
  llvm::Value *table = createTable(b, 8);
  llvm::SmallVector<llvm::Value *> halves;
  for (int first : {0, 8})
    halves.push_back(b.CreateIntrinsic(
        llvm::Intrinsic::x86_avx2_permps, {},
        {table, b.CreateShuffleVector(
                    words, llvm::to_vector(llvm::seq(first, first + 8)))}));
  llvm::Value *magnitudes = b.CreateShuffleVector(
      halves[0], halves[1], llvm::to_vector(llvm::seq(0, 16)));
  llvm::Value *signs =
      b.CreateAnd(b.CreateShl(words, 28), numerics::kFloatSignMask);
  llvm::Value *bits =
      b.CreateOr(b.CreateBitCast(magnitudes, words->getType()), signs);
  return b.CreateBitCast(bits, magnitudes->getType());
}

//===----------------------------------------------------------------------===//
// bf16
//===----------------------------------------------------------------------===//

/// The bits of the bf16 of a code.
static uint16_t getBF16Bits(numerics::ElementFormat format, uint32_t code) {
  return static_cast<uint16_t>(
      numerics::toBits(numerics::decodeBits(format, code)) >> 16);
}

/// Words whose lowest four bits are codes. Of a word the lowest five bits
/// count, so that the numbers are in the register twice.
static llvm::Value *decodePacked(llvm::IRBuilderBase &b,
                                 numerics::ElementFormat format,
                                 llvm::Value *words) {
  llvm::Constant *table = createConstants<uint16_t>(
      b, kBF16Words, [&](unsigned i) { return getBF16Bits(format, i % 16); });
  return b.CreateIntrinsic(llvm::Intrinsic::x86_avx512_permvar_hi_512, {},
                           {table, words});
}

/// Two registers have the high bytes of numbers, and two the low ones, for the
/// lowest seven bits of a byte; the sign is the eighth.
static llvm::Value *decodeBytes(llvm::IRBuilderBase &b,
                                numerics::ElementFormat format,
                                llvm::Value *bytes) {
  auto lookUp = [&](unsigned shift) {
    auto createHalf = [&](unsigned first) {
      return createConstants<uint8_t>(b, kBF16Bytes, [&](unsigned i) {
        return static_cast<uint8_t>(getBF16Bits(format, first + i) >> shift);
      });
    };
    return b.CreateIntrinsic(llvm::Intrinsic::x86_avx512_vpermi2var_qi_512, {},
                             {createHalf(0), bytes, createHalf(kBF16Bytes)});
  };
  llvm::Value *high = lookUp(8), *low = lookUp(0);
  if (numerics::getFormatInfo(format).bits == 8)
    high = b.CreateOr(high, b.CreateAnd(bytes, 0x80));
  llvm::SmallVector<int> order;
  for (int64_t word = 0; word < kBF16Bytes; ++word) {
    auto byte = static_cast<int>(getUnpackedByte(word));
    order.append({byte, static_cast<int>(kBF16Bytes) + byte});
  }
  return b.CreateBitCast(
      b.CreateShuffleVector(low, high, order),
      llvm::FixedVectorType::get(b.getInt16Ty(), kBF16Bytes));
}

static llvm::Value *addProducts(llvm::IRBuilderBase &b,
                                llvm::Function &function) {
  auto toBF16 = [&](unsigned argument) {
    return b.CreateBitCast(
        function.getArg(argument),
        llvm::FixedVectorType::get(b.getBFloatTy(), kBF16Words));
  };
  return b.CreateIntrinsic(llvm::Intrinsic::x86_avx512bf16_dpbf16ps_512, {},
                           {function.getArg(0), toBF16(1), toBF16(2)});
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

static llvm::Type *getVector(llvm::Type *element, int64_t count) {
  return llvm::FixedVectorType::get(element, static_cast<unsigned>(count));
}

/// Whether a function has a body, an attribute, and a type.
static bool isOfKind(const llvm::Function &function, llvm::StringRef attribute,
                     llvm::ArrayRef<llvm::Type *> arguments,
                     llvm::Type *result) {
  return !function.isDeclaration() && function.hasFnAttribute(attribute) &&
         function.getFunctionType() ==
             llvm::FunctionType::get(result, arguments, /*isVarArg=*/false);
}

/// Gives a function a body that returns what `create` does.
static void
replaceBody(llvm::Function &function,
            llvm::function_ref<llvm::Value *(llvm::IRBuilderBase &)> create) {
  llvm::GlobalValue::LinkageTypes linkage = function.getLinkage();
  function.deleteBody();
  // Without a body it was external.
  function.setLinkage(linkage);
  llvm::IRBuilder<> b(
      llvm::BasicBlock::Create(function.getContext(), "", &function));
  b.CreateRet(create(b));
}

/// The format of codes that a function decodes to bf16; none if it is another
/// function.
static std::optional<numerics::ElementFormat>
getDecodedFormat(const llvm::Function &function) {
  llvm::StringRef name =
      function.getFnAttribute(kDecodesToBF16).getValueAsString();
  llvm::LLVMContext &context = function.getContext();
  llvm::Type *word = llvm::Type::getInt16Ty(context);
  llvm::Type *byte = llvm::Type::getInt8Ty(context);
  for (numerics::ElementFormat format : numerics::kElementFormats) {
    // Fixed-point codes are two's complement: no bit of theirs is the sign
    // alone.
    if (name != llvm::StringRef(numerics::getFormatInfo(format).name) ||
        numerics::isFixedPoint(format))
      continue;
    bool isPacked = numerics::isPacked(format);
    int64_t count = isPacked ? kBF16Words : kBF16Bytes;
    if (isOfKind(function, kDecodesToBF16,
                 {getVector(isPacked ? word : byte, count)},
                 getVector(word, count)))
      return format;
  }
  return std::nullopt;
}

static void useBF16Instructions(llvm::Function &function) {
  llvm::LLVMContext &context = function.getContext();
  llvm::Type *words = getVector(llvm::Type::getInt16Ty(context), kBF16Words);
  llvm::Type *sums = getVector(llvm::Type::getFloatTy(context), kBF16Words / 2);
  if (isOfKind(function, kHasBF16Products, {}, llvm::Type::getInt1Ty(context)))
    replaceBody(function, [](llvm::IRBuilderBase &b) { return b.getTrue(); });
  else if (isOfKind(function, kAddsBF16Products, {sums, words, words}, sums))
    replaceBody(function, [&](llvm::IRBuilderBase &b) {
      return addProducts(b, function);
    });
  else if (auto format = getDecodedFormat(function))
    replaceBody(function, [&](llvm::IRBuilderBase &b) {
      llvm::Value *codes = function.getArg(0);
      return numerics::isPacked(*format) ? decodePacked(b, *format, codes)
                                         : decodeBytes(b, *format, codes);
    });
}

void useCpuInstructions(llvm::Module &module,
                        const llvm::TargetMachine &machine) {
  if (!machine.getTargetTriple().isX86())
    return;
  const llvm::MCSubtargetInfo &subtarget = upstream::getSubtarget(machine);
  bool has16 = subtarget.checkFeatures("+avx512f");
  bool has8 = subtarget.checkFeatures("+avx2");
  bool hasBF16 = subtarget.checkFeatures("+avx512bf16,+avx512bw,+avx512vbmi");
  llvm::LLVMContext &context = module.getContext();
  llvm::Type *words = getVector(llvm::Type::getInt32Ty(context), kLanesOfE2M1);
  llvm::Type *numbers =
      getVector(llvm::Type::getFloatTy(context), kLanesOfE2M1);
  for (llvm::Function &function : module) {
    if (hasBF16)
      useBF16Instructions(function);
    if ((has16 || has8) && isOfKind(function, kDecodesE2M1, {words}, numbers))
      replaceBody(function, [&](llvm::IRBuilderBase &b) {
        return has16 ? lookUp16(b, function.getArg(0))
                     : lookUp8(b, function.getArg(0));
      });
  }
}

} // namespace blockscale
