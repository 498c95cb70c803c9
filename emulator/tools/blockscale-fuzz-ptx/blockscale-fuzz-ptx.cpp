//===- blockscale-fuzz-ptx.cpp - Random PTX for the emulator --------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Fuzzer.h"
#include "KernelGenerator.h"
#include "PtxTarget.h"

#include "blockscale/Emulator/InstructionSet.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;

namespace blockscale {

static constexpr size_t kMaxTextSize = 1 << 16;

/// What the table of instructions does not have.
static constexpr StringRef kTokens[] = {
    ".reg",
    ".pred",
    ".b8",
    ".b16",
    ".b32",
    ".b64",
    ".b128",
    ".f32",
    ".shared",
    ".local",
    ".global",
    ".const",
    ".param",
    ".align",
    ".func",
    ".entry",
    ".extern",
    ".visible",
    ".v2",
    ".v4",
    "@%p1",
    "@!%p1",
    "_",
    "%tid.x",
    "%laneid",
    "%ctaid.x",
    "%clock64",
    "WARP_SZ",
    "0",
    "1",
    "2",
    "3",
    "4",
    "7",
    "8",
    "16",
    "31",
    "32",
    "33",
    "63",
    "64",
    "127",
    "128",
    "255",
    "256",
    "512",
    "-1",
    "0xFFFFFFFF",
    "0x80000000",
    "1048576",
    "4294967296",
    "0f7FC00000",
    "0f00000001",
    "0fFF800000",
    "0d7FF8000000000000",
    "9223372036854775807",
    "1099511627776",
};

/// The tokens above, and the words of every instruction.
static ArrayRef<StringRef> getTokens() {
  static const SmallSetVector<StringRef, 0> tokens = [] {
    SmallSetVector<StringRef, 0> set;
    set.insert(std::begin(kTokens), std::end(kTokens));
    for (const emulator::InstructionForm &form :
         emulator::getInstructionForms()) {
      set.insert(form.words.begin(), form.words.end());
      for (const emulator::ModifierGroup &group : form.groups)
        set.insert(group.choices.begin(), group.choices.end());
    }
    return set;
  }();
  return tokens.getArrayRef();
}

namespace {
class PtxFuzzer : public Fuzzer {
public:
  const char *getName() const override { return "blockscale-fuzz-ptx"; }
  const char *getOverview() const override {
    return "Parses and executes random PTX; reports crashes only\n";
  }
  const Vocabulary &getVocabulary() const override {
    static const Vocabulary vocabulary = {getTokens(), "_$:"};
    return vocabulary;
  }
  std::string getText(StringRef input) const override {
    return isDescription(input) ? generatePtx(input.drop_front()) : input.str();
  }
  void run(StringRef input) override {
    std::string text = getText(input);
    if (text.size() > kMaxTextSize)
      return;
    PtxProgress progress = runPtx(text);
    if (!isDescription(input))
      return;
    ++generated;
    verified += progress != PtxProgress::Refused;
    executed += progress == PtxProgress::Executed;
  }
  std::string getSummary() const override {
    return formatv("generated {0}, verified {1}, executed {2}", generated,
                   verified, executed);
  }

private:
  unsigned generated = 0;
  unsigned verified = 0;
  unsigned executed = 0;
};
} // namespace

Fuzzer &getFuzzer() {
  static PtxFuzzer fuzzer;
  return fuzzer;
}

} // namespace blockscale
