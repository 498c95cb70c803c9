//===- Ptxas.cpp - Run NVIDIA's assembler ---------------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Emit/Ptxas.h"
#include "Process.h"

#include "llvm/ADT/StringExtras.h"

using llvm::StringRef;

namespace blockscale {

/// The number before `unit` in a list such as "8 bytes stack frame, 0 bytes
/// spill stores", or 0 where the list has no such item.
static uint64_t getQuantity(StringRef list, StringRef unit) {
  llvm::SmallVector<StringRef> items;
  list.split(items, ',');
  for (StringRef item : items) {
    item = item.trim();
    uint64_t value = 0;
    if (!item.consumeInteger(10, value) && item.trim() == unit)
      return value;
  }
  return 0;
}

/// Lines of one entry function:
///
///   ptxas info    : Compiling entry function 'f' for 'sm_100a'
///   ptxas info    : Function properties for f
///       0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
///   ptxas info    : Used 56 registers, used 0 barriers, 16 bytes smem
llvm::Expected<std::vector<KernelResources>>
parsePtxasReport(StringRef report) {
  std::vector<KernelResources> kernels;
  bool complete = true;
  for (StringRef line : llvm::split(report, '\n')) {
    auto [before, entry] = line.split("Compiling entry function '");
    if (!entry.empty()) {
      if (!complete)
        break;
      complete = false;
      kernels.emplace_back();
      kernels.back().name = entry.take_until([](char c) { return c == '\''; });
      continue;
    }
    if (complete)
      continue;
    KernelResources &kernel = kernels.back();
    if (line.contains("bytes stack frame")) {
      kernel.stackBytes = getQuantity(line, "bytes stack frame");
      kernel.spillStoreBytes = getQuantity(line, "bytes spill stores");
      kernel.spillLoadBytes = getQuantity(line, "bytes spill loads");
    }
    auto [prefix, used] = line.split(": Used ");
    if (used.empty())
      continue;
    kernel.registers = getQuantity(used, "registers");
    kernel.sharedBytes = getQuantity(used, "bytes smem");
    complete = true;
  }
  if (!complete)
    return llvm::createStringError(
        llvm::Twine("expected ptxas to report the registers of '") +
        kernels.back().name + "'");
  return kernels;
}

llvm::Expected<Assembly> assemblePtx(StringRef ptxas, StringRef ptx,
                                     StringRef chip) {
  auto input = TemporaryFile::create("ptx");
  if (!input)
    return input.takeError();
  auto output = TemporaryFile::create("cubin");
  if (!output)
    return output.takeError();
  if (llvm::Error error = input->write(ptx))
    return error;
  std::string arch = ("-arch=" + chip).str();
  auto run = runProgram(
      ptxas, {arch, "-v", input->getPath(), "-o", output->getPath()});
  if (!run)
    return run.takeError();
  if (run->status != 0)
    return llvm::createStringError(
        llvm::Twine("'") + ptxas + "' failed with status " +
        llvm::Twine(run->status) + ":\n" + StringRef(run->text).rtrim());
  auto kernels = parsePtxasReport(run->text);
  if (!kernels)
    return kernels.takeError();
  auto cubin = output->read();
  if (!cubin)
    return cubin.takeError();
  return Assembly{std::move(*cubin), std::move(*kernels)};
}

} // namespace blockscale
