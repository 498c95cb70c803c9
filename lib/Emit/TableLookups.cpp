//===- TableLookups.cpp - Numbers from a register -------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TableLookups.h"
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

/// A register of numbers, given by their bits.
static llvm::Value *createTable(llvm::IRBuilderBase &b, unsigned count,
                                llvm::function_ref<uint32_t(uint32_t)> get) {
  llvm::SmallVector<uint32_t> bits;
  for (uint32_t i = 0; i < count; ++i)
    bits.push_back(get(i));
  llvm::Constant *words = llvm::ConstantDataVector::get(b.getContext(), bits);
  return b.CreateBitCast(words,
                         llvm::FixedVectorType::get(b.getFloatTy(), count));
}

/// AVX-512: a register has the numbers of all codes, and of a word the lowest
/// four bits count.
static llvm::Value *lookUp16(llvm::IRBuilderBase &b, llvm::Value *words) {
  return b.CreateIntrinsic(llvm::Intrinsic::x86_avx512_permvar_sf_512, {},
                           {createTable(b, 16, getBits), words});
}

/// AVX2: a register has the magnitudes, of a word the lowest three bits count,
/// and the sign comes from the fourth.
static llvm::Value *lookUp8(llvm::IRBuilderBase &b, llvm::Value *words) {
  llvm::Value *table = createTable(b, 8, getBits);
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

/// Whether a function is one that decodes vectors as E2M1.h says.
static bool decodesE2M1(const llvm::Function &function) {
  llvm::LLVMContext &context = function.getContext();
  auto getVector = [](llvm::Type *element) {
    return llvm::FixedVectorType::get(element, kLanesOfE2M1);
  };
  return !function.isDeclaration() && function.hasFnAttribute(kDecodesE2M1) &&
         function.getFunctionType() ==
             llvm::FunctionType::get(
                 getVector(llvm::Type::getFloatTy(context)),
                 {getVector(llvm::Type::getInt32Ty(context))},
                 /*isVarArg=*/false);
}

void useTableLookups(llvm::Module &module, const llvm::TargetMachine &machine) {
  if (!machine.getTargetTriple().isX86())
    return;
  const llvm::MCSubtargetInfo &subtarget = upstream::getSubtarget(machine);
  bool has16 = subtarget.checkFeatures("+avx512f");
  if (!has16 && !subtarget.checkFeatures("+avx2"))
    return;
  for (llvm::Function &function : module) {
    if (!decodesE2M1(function))
      continue;
    llvm::GlobalValue::LinkageTypes linkage = function.getLinkage();
    function.deleteBody();
    // Without a body it was external.
    function.setLinkage(linkage);
    llvm::IRBuilder<> b(
        llvm::BasicBlock::Create(module.getContext(), "", &function));
    llvm::Value *words = function.getArg(0);
    b.CreateRet(has16 ? lookUp16(b, words) : lookUp8(b, words));
  }
}

} // namespace blockscale
