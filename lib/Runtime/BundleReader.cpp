//===- BundleReader.cpp - Bundles from bytes ------------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BundleFormat.h"
#include "Crc32.h"
#include "PtxHeader.h"
#include "blockscale/Runtime/Bundle.h"

namespace blockscale::runtime {

/// Reads one bundle; the first failure counts.
class BundleReader {
public:
  explicit BundleReader(Bundle &bundle) : bundle(bundle), bytes(bundle.bytes) {}

  Status read();

private:
  void fail(const std::string &message) {
    if (status.ok())
      status = Status::failure(message, ErrorKind::InvalidBundle);
  }
  bool ok() const { return status.ok(); }

  uint64_t getNumber(size_t offset, size_t size) const;
  void readHeader();
  void readTable();
  void checkZeros(uint64_t begin, uint64_t end, const std::string &where);
  void readSection(size_t number);
  void readPlan(size_t number, std::string_view text);
  void readPtx(size_t number, std::string_view text);
  void readCubin(size_t number, std::string_view content);
  void checkKernels();

  Bundle &bundle;
  std::string_view bytes;
  std::vector<BundleSection> sections;
  std::vector<std::string_view> constants;
  Status status = Status::success();
};

} // namespace blockscale::runtime

using namespace blockscale::runtime;

static std::string formatHex(uint64_t number, int digits) {
  std::string text = "0x";
  for (int i = digits - 1; i >= 0; --i)
    text += "0123456789ABCDEF"[(number >> (4 * i)) & 0xF];
  return text;
}

static std::string formatBytes(std::string_view bytes) {
  std::string text;
  for (char byte : bytes)
    text += (text.empty() ? "" : " ") +
            formatHex(static_cast<uint8_t>(byte), 2).substr(2);
  return text;
}

uint64_t BundleReader::getNumber(size_t offset, size_t size) const {
  uint64_t number = 0;
  for (size_t i = 0; i < size; ++i)
    number |= static_cast<uint64_t>(static_cast<uint8_t>(bytes[offset + i]))
              << (8 * i);
  return number;
}

void BundleReader::readHeader() {
  std::string_view magic = bytes.substr(0, kBundleMagic.size());
  if (magic != kBundleMagic)
    return fail("expected a bundle, which begins with the bytes " +
                formatBytes(kBundleMagic) + ", but got " +
                (magic.empty() ? "an empty file" : formatBytes(magic)));
  if (bytes.size() < kBundleHeaderBytes)
    return fail("expected a bundle to have at least " +
                std::to_string(kBundleHeaderBytes) + " bytes, but got " +
                std::to_string(bytes.size()));
  // Before the rest, which another version may have changed.
  if (uint64_t version = getNumber(8, 4); version != kBundleVersion)
    return fail("expected version " + std::to_string(kBundleVersion) +
                " of bundles, but got " + std::to_string(version));
  if (uint64_t size = getNumber(16, 8); size != bytes.size())
    return fail("expected a bundle of " + std::to_string(size) +
                " bytes, as its header says, but got " +
                std::to_string(bytes.size()));
  if (uint64_t zero = getNumber(28, 4); zero != 0)
    fail("expected 0 at byte 28 of a bundle, but got " + std::to_string(zero));
}

void BundleReader::readTable() {
  uint64_t count = getNumber(12, 4);
  uint64_t room = (bytes.size() - kBundleHeaderBytes) / kBundleEntryBytes;
  if (count > room)
    return fail("expected the number of sections to be at most " +
                std::to_string(room) + ", for which there is room, but got " +
                std::to_string(count));
  std::string_view table =
      bytes.substr(kBundleHeaderBytes, count * kBundleEntryBytes);
  uint32_t crc = computeCrc32(table, computeCrc32(bytes.substr(0, 24)));
  if (uint64_t expected = getNumber(24, 4); crc != expected)
    return fail("expected the header and table to have the CRC-32 " +
                formatHex(expected, 8) + ", but got " + formatHex(crc, 8));
  uint64_t end = kBundleHeaderBytes + table.size();
  for (size_t i = 0; i < count && ok(); ++i) {
    size_t at = kBundleHeaderBytes + i * kBundleEntryBytes;
    BundleSection section{static_cast<uint32_t>(getNumber(at, 4)),
                          static_cast<uint32_t>(getNumber(at + 4, 4)),
                          getNumber(at + 8, 8), getNumber(at + 16, 8)};
    if (section.offset != getNextSection(end))
      return fail("expected section " + std::to_string(i) +
                  " to begin at byte " + std::to_string(getNextSection(end)) +
                  ", but got " + std::to_string(section.offset));
    if (section.offset > bytes.size() ||
        section.size > bytes.size() - section.offset)
      return fail("expected section " + std::to_string(i) +
                  " to end before byte " + std::to_string(bytes.size()) +
                  ", but it begins at " + std::to_string(section.offset) +
                  " and has " + std::to_string(section.size) + " bytes");
    checkZeros(end, section.offset, "before section " + std::to_string(i));
    end = section.offset + section.size;
    sections.push_back(section);
  }
  if (ok() && getNextSection(end) != bytes.size())
    return fail("expected the last section to be followed by the end at byte " +
                std::to_string(getNextSection(end)) + ", but got " +
                std::to_string(bytes.size()));
  checkZeros(end, bytes.size(), "at the end");
}

void BundleReader::checkZeros(uint64_t begin, uint64_t end,
                              const std::string &where) {
  for (uint64_t i = begin; i < end && ok(); ++i)
    if (bytes[i] != 0)
      fail("expected zeros " + where + ", but got " +
           formatHex(getNumber(i, 1), 2) + " at byte " + std::to_string(i));
}

static std::string getName(const BundleSection &section) {
  switch (static_cast<SectionKind>(section.kind)) {
  case SectionKind::Plan:
    return "plan";
  case SectionKind::PTX:
    return "PTX";
  case SectionKind::Constant:
    return "constant";
  case SectionKind::Cubin:
    return "cubin";
  }
  return "";
}

void BundleReader::readSection(size_t number) {
  const BundleSection &section = sections[number];
  std::string name = getName(section);
  if (name.empty())
    return fail(
        "expected the kind of section " + std::to_string(number) +
        " to be 1 (plan), 2 (PTX), 3 (constant) or 4 (cubin), but got " +
        std::to_string(section.kind));
  std::string_view content = bytes.substr(section.offset, section.size);
  if (uint32_t crc = computeCrc32(content); crc != section.crc)
    return fail("expected section " + std::to_string(number) + " (" + name +
                ") to have the CRC-32 " + formatHex(section.crc, 8) +
                ", but got " + formatHex(crc, 8));
  if (section.kind == static_cast<uint32_t>(SectionKind::Constant))
    constants.push_back(content);
}

void BundleReader::readPlan(size_t number, std::string_view text) {
  Result<LaunchPlan> plan = parseLaunchPlan(text, constants);
  if (!plan.ok())
    return fail("section " + std::to_string(number) +
                " (plan):" + plan.message());
  for (std::string_view chip : bundle.getChips())
    if (chip == plan->chip)
      return fail("expected plans for different chips, but got " + plan->chip +
                  " twice");
  bundle.targets.push_back({std::move(*plan), {}, {}, {}});
}

void BundleReader::readPtx(size_t number, std::string_view text) {
  std::string where = "section " + std::to_string(number) + " (PTX): ";
  if (bundle.targets.empty() || !bundle.targets.back().ptx.empty())
    return fail(where + "expected it to follow the plan of its kernels");
  Result<PtxHeader> header = parsePtxHeader(text);
  if (!header.ok())
    return fail(where + header.message());
  Bundle::Target &target = bundle.targets.back();
  if (header->chip != target.plan.chip)
    return fail(where + "expected .target " + target.plan.chip +
                ", as the plan says, but got " + header->chip);
  target.ptx = text;
  target.ptxVersion = header->version;
}

void BundleReader::readCubin(size_t number, std::string_view content) {
  std::string where = "section " + std::to_string(number) + " (cubin): ";
  if (bundle.targets.empty() || bundle.targets.back().ptx.empty() ||
      !bundle.targets.back().cubin.empty())
    return fail(where + "expected it to follow the PTX of its kernels");
  constexpr std::string_view kElf = "\x7F"
                                    "ELF";
  std::string_view magic = content.substr(0, kElf.size());
  if (magic != kElf)
    return fail(where + "expected it to begin with the bytes " +
                formatBytes(kElf) + ", but got " + formatBytes(magic));
  bundle.targets.back().cubin = content;
}

void BundleReader::checkKernels() {
  for (const Bundle::Target &target : bundle.targets)
    if (target.ptx.empty() && !target.plan.kernels.empty())
      fail("expected PTX for the " +
           std::to_string(target.plan.kernels.size()) + " kernels of " +
           target.plan.chip + ", but got none");
}

Status BundleReader::read() {
  readHeader();
  if (ok())
    readTable();
  for (size_t i = 0; i < sections.size() && ok(); ++i)
    readSection(i);
  for (size_t i = 0; i < sections.size() && ok(); ++i) {
    std::string_view text = bytes.substr(sections[i].offset, sections[i].size);
    if (sections[i].kind == static_cast<uint32_t>(SectionKind::Plan))
      readPlan(i, text);
    else if (sections[i].kind == static_cast<uint32_t>(SectionKind::PTX))
      readPtx(i, text);
    else if (sections[i].kind == static_cast<uint32_t>(SectionKind::Cubin))
      readCubin(i, text);
  }
  checkKernels();
  return status;
}

Result<std::shared_ptr<const Bundle>> Bundle::parse(std::string bytes) {
  std::shared_ptr<Bundle> bundle(new Bundle(std::move(bytes)));
  Status status = BundleReader(*bundle).read();
  if (!status.ok())
    return status;
  return std::shared_ptr<const Bundle>(std::move(bundle));
}
