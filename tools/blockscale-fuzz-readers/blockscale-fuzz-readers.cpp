//===- blockscale-fuzz-readers.cpp - Damaged files ------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Gives bytes to the readers of files: bundles, launch plans, JSON, .npy, files
// of tensors, and the answers of the program that reads bytecode. They may
// refuse anything, but must end; and what a reader of plans or of files of
// tensors takes, it takes again as it is written. The first byte of an input
// names the reader.
//
//===----------------------------------------------------------------------===//

#include "Fuzzer.h"

#include "blockscale/Checkpoint/FileLayout.h"
#include "blockscale/Driver/BytecodeAnswer.h"
#include "blockscale/Runtime/Bundle.h"
#include "blockscale/Runtime/Json.h"
#include "blockscale/Runtime/NpyHeader.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/CRC.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/FormatVariadic.h"

#include <array>

using namespace llvm;
using namespace blockscale::runtime;

namespace blockscale {

static constexpr size_t kMaxBytes = 1 << 16;
/// What the text of an answer may have.
static constexpr uint64_t kLongestAnswer = 1 << 12;

/// Words and numbers of plans, JSON and headers.
static constexpr StringRef kTokens[] = {
    "{",      "}",      "[",
    "]",      ",",      ":",
    "null",   "true",   "\"\"",
    "0",      "-1",     "4294967296",
    "1e999",  "0.5",    "9223372036854775807",
    "descr",  "shape",  "fortran_order",
    "False",  "(3,)",   "'<f4'",
    "kernel", "buffer", "i64",
    "dtype",  "BF16",   "data_offsets",
    "max",    "count",  "reduce_over_ranks"};

static std::string_view toView(StringRef text) {
  return {text.data(), text.size()};
}

/// A plan that was read is the same behind its own text.
static void checkPlan(const LaunchPlan &plan) {
  std::string text = writeLaunchPlan(plan);
  Result<LaunchPlan> again = parseLaunchPlan(text);
  if (!again.ok() || writeLaunchPlan(*again) != text)
    reportFatalInternalError("a launch plan is not what it was written from");
}

static bool readBundle(StringRef bytes) {
  return Bundle::parse(bytes.str()).ok();
}

/// A bundle of one target with right checksums: its plan, PTX and constants,
/// a NUL between them.
static bool readMadeBundle(StringRef parts) {
  auto [plan, others] = parts.split('\0');
  auto [ptx, constants] = others.split('\0');
  BundleContent content;
  content.targets.push_back({plan.str(), ptx.str(), /*cubin=*/""});
  while (!constants.empty()) {
    auto [constant, rest] = constants.split('\0');
    content.constants.push_back(constant.str());
    constants = rest;
  }
  return readBundle(writeBundle(content));
}

/// A bundle whose checksums are made right, so that what they guard is read
/// (docs/LaunchPlan.md has the layout).
static bool readMendedBundle(StringRef damaged) {
  constexpr size_t headerBytes = 32, entryBytes = 24, checksumAt = 24;
  std::string bytes = damaged.str();
  if (bytes.size() < headerBytes)
    return readBundle(bytes);
  auto getNumber = [&](size_t at) {
    return support::endian::read32le(bytes.data() + at);
  };
  auto getChecksum = [&](size_t first, size_t size, uint32_t before = 0) {
    return crc32(before, arrayRefFromStringRef(bytes).slice(first, size));
  };
  auto setNumber = [&](size_t at, uint32_t number) {
    support::endian::write32le(bytes.data() + at, number);
  };
  size_t room = (bytes.size() - headerBytes) / entryBytes;
  size_t count = std::min<size_t>(getNumber(12), room);
  for (size_t i = 0; i < count; ++i) {
    size_t at = headerBytes + i * entryBytes;
    size_t offset = getNumber(at + 8), size = getNumber(at + 16);
    if (offset <= bytes.size() && size <= bytes.size() - offset)
      setNumber(at + 4, getChecksum(offset, size));
  }
  setNumber(checksumAt, getChecksum(headerBytes, count * entryBytes,
                                    getChecksum(0, checksumAt)));
  return readBundle(bytes);
}

static bool readJson(StringRef text) { return parseJson(toView(text)).ok(); }

static bool readPlan(StringRef text) {
  Result<LaunchPlan> plan = parseLaunchPlan(toView(text));
  if (plan.ok())
    checkPlan(*plan);
  return plan.ok();
}

static bool readHeader(StringRef text) {
  Result<NpyHeader> header = parseNpyHeader(toView(text));
  if (header.ok())
    formatNpyHeader(header->type, header->shape);
  return header.ok();
}

static bool readNpyFile(StringRef bytes) {
  std::string_view file = toView(bytes);
  Result<NpyPreamble> preamble =
      parseNpyPreamble(file.substr(0, kNpyPreambleLength), file.size());
  return preamble.ok() && readHeader(bytes.substr(preamble->headerOffset,
                                                  preamble->headerLength));
}

static bool readAnswer(StringRef bytes) {
  auto answer = parseAnswer(bytes, kLongestAnswer);
  return answer && answer->ok();
}

/// What was read is laid out as a file with the same contents, if its header is
/// one that is written.
static void checkContents(const checkpoint::FileContents &contents) {
  std::vector<checkpoint::TensorDescription> tensors(contents.tensors.begin(),
                                                     contents.tensors.end());
  Result<checkpoint::FileLayout> layout =
      checkpoint::layOutFile(contents.format, tensors, contents.metadata);
  // Longer names are read than are written, and alignments make files large.
  constexpr uint64_t mostBytes = 1 << 20;
  if (!layout.ok() || layout->fileBytes > mostBytes)
    return;
  std::string file = layout->header;
  file.resize(layout->fileBytes);
  Result<checkpoint::FileContents> again = checkpoint::readContents(file);
  auto fail = [] {
    reportFatalInternalError("a file of tensors is not what it was laid out "
                             "as");
  };
  if (!again.ok() || again->tensors.size() != tensors.size() ||
      again->metadata.size() != contents.metadata.size())
    fail();
  for (auto [found, expected] : zip(again->tensors, contents.tensors))
    if (found.name != expected.name || found.type != expected.type ||
        found.shape != expected.shape || found.bytes != expected.bytes)
      fail();
  for (auto [found, expected] : zip(again->metadata, contents.metadata))
    if (found.key != expected.key || found.type != expected.type ||
        found.elementType != expected.elementType ||
        found.count != expected.count || found.value != expected.value)
      fail();
}

static bool readTensorFile(StringRef bytes) {
  Result<checkpoint::FileContents> contents =
      checkpoint::readContents(toView(bytes));
  if (contents.ok())
    checkContents(*contents);
  return contents.ok();
}

/// The header of a safetensors file, with some data behind it.
static bool readTensorHeader(StringRef text) {
  std::string file(sizeof(uint64_t), 0);
  support::endian::write64le(file.data(), text.size());
  file += text;
  file.resize(file.size() + 16);
  return readTensorFile(file);
}

namespace {
struct Reader {
  const char *name;
  bool (*read)(StringRef bytes);
};
} // namespace

/// By the rest of the first byte of an input. That of binary files is not
/// ASCII, so that their bytes are mutated; that of texts is, so that their
/// words are.
static constexpr Reader kReaders[] = {{"bundle", readBundle},
                                      {"made bundle", readMadeBundle},
                                      {"JSON", readJson},
                                      {"plan", readPlan},
                                      {"npy", readNpyFile},
                                      {"npy header", readHeader},
                                      {"answer", readAnswer},
                                      {"mended bundle", readMendedBundle},
                                      {"tensor file", readTensorFile},
                                      {"tensor header", readTensorHeader}};

namespace {
class ReaderFuzzer : public Fuzzer {
public:
  const char *getName() const override { return "blockscale-fuzz-readers"; }
  const char *getOverview() const override {
    return "Gives damaged files to their readers; reports crashes only\n";
  }
  const Vocabulary &getVocabulary() const override {
    static const Vocabulary vocabulary = {kTokens, "_"};
    return vocabulary;
  }
  std::string getText(StringRef input) const override { return input.str(); }
  void run(StringRef input) override {
    if (input.empty() || input.size() > kMaxBytes)
      return;
    size_t reader =
        static_cast<unsigned char>(input.front()) % std::size(kReaders);
    ++given[reader];
    accepted[reader] += kReaders[reader].read(input.drop_front());
  }
  std::string getSummary() const override {
    std::string summary;
    for (auto [i, reader] : llvm::enumerate(kReaders))
      summary += formatv("{0}{1}: {2} read, {3} accepted", i ? "; " : "",
                         reader.name, given[i], accepted[i]);
    return summary;
  }

private:
  std::array<unsigned, std::size(kReaders)> given = {};
  std::array<unsigned, std::size(kReaders)> accepted = {};
};
} // namespace

Fuzzer &getFuzzer() {
  static ReaderFuzzer fuzzer;
  return fuzzer;
}

} // namespace blockscale
