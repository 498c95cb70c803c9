//===- KernelTexts.cpp - PTX that was made before -------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelTexts.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Bitcode/BitcodeWriter.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/SHA256.h"
#include "llvm/Support/raw_ostream.h"

namespace blockscale {

std::string hashKernel(const llvm::Module &module, const PtxTarget &target) {
  llvm::SmallString<0> bytes;
  llvm::raw_svector_ostream os(bytes);
  // None of these names holds a NUL.
  os << target.chip << '\0' << target.features << '\0';
  llvm::WriteBitcodeToFile(module, os);
  return llvm::toStringRef(
             llvm::SHA256::hash(llvm::arrayRefFromStringRef(bytes)))
      .str();
}

std::optional<std::string> KernelTexts::find(llvm::StringRef hash) {
  std::lock_guard<std::mutex> lock(mutex);
  auto found = texts.find(hash);
  if (found == texts.end())
    return std::nullopt;
  return found->second;
}

void KernelTexts::add(llvm::StringRef hash, llvm::StringRef text) {
  std::lock_guard<std::mutex> lock(mutex);
  // Another thread may have compiled the same kernel at the same time.
  if (text.size() > mostBytes || !texts.try_emplace(hash, text).second)
    return;
  order.push_back(hash.str());
  bytes += text.size();
  for (; bytes > mostBytes; order.pop_front()) {
    auto oldest = texts.find(order.front());
    bytes -= oldest->second.size();
    texts.erase(oldest);
  }
}

KernelTexts &getKernelTexts() {
  // A thousand kernels of products. Not destroyed, as threads may compile until
  // the process ends.
  static auto *texts = new KernelTexts(size_t(64) << 20);
  return *texts;
}

} // namespace blockscale
