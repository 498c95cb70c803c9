//===- Bundle.cpp - A module's plans and PTX in one file ------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Runtime/Bundle.h"

#include "BundleFormat.h"
#include "Crc32.h"
#include "PtxHeader.h"

#include "blockscale/Runtime/FileDescriptor.h"

#include <cerrno>
#include <fcntl.h>

using namespace blockscale::runtime;

static void append(std::string &bytes, uint64_t number, size_t size) {
  for (size_t i = 0; i < size; ++i)
    bytes += static_cast<char>(number >> (8 * i));
}

std::string blockscale::runtime::writeBundle(const BundleContent &content) {
  std::vector<std::pair<SectionKind, std::string_view>> sections;
  for (const BundleContent::Target &target : content.targets) {
    sections.emplace_back(SectionKind::Plan, target.plan);
    if (!target.ptx.empty())
      sections.emplace_back(SectionKind::PTX, target.ptx);
    if (!target.cubin.empty())
      sections.emplace_back(SectionKind::Cubin, target.cubin);
  }
  for (const std::string &constant : content.constants)
    sections.emplace_back(SectionKind::Constant, constant);

  size_t tableEnd = kBundleHeaderBytes + sections.size() * kBundleEntryBytes;
  std::string table;
  uint64_t offset = getNextSection(tableEnd);
  for (auto [kind, section] : sections) {
    append(table, static_cast<uint32_t>(kind), 4);
    append(table, computeCrc32(section), 4);
    append(table, offset, 8);
    append(table, section.size(), 8);
    offset = getNextSection(offset + section.size());
  }

  std::string bytes(kBundleMagic);
  append(bytes, kBundleVersion, 4);
  append(bytes, sections.size(), 4);
  append(bytes, offset, 8);
  append(bytes, computeCrc32(table, computeCrc32(bytes)), 4);
  append(bytes, 0, 4);
  bytes += table;
  bytes.reserve(offset);
  for (auto [kind, section] : sections) {
    bytes.resize(getNextSection(bytes.size()));
    bytes += section;
  }
  bytes.resize(offset);
  return bytes;
}

Result<std::shared_ptr<const Bundle>>
Bundle::create(LaunchPlan plan, std::string ptx, std::string_view cubin) {
  size_t size = ptx.size();
  ptx += '\0';
  ptx += cubin;
  std::shared_ptr<Bundle> bundle(new Bundle(std::move(ptx)));
  std::string_view bytes = bundle->bytes;
  Target target{
      std::move(plan), bytes.substr(0, size), {}, bytes.substr(size + 1)};
  if (!target.ptx.empty()) {
    Result<PtxHeader> header = parsePtxHeader(target.ptx);
    if (!header.ok())
      return header.status();
    target.ptxVersion = header->version;
  }
  bundle->targets.push_back(std::move(target));
  return std::shared_ptr<const Bundle>(std::move(bundle));
}

std::vector<std::string_view> Bundle::getChips() const {
  std::vector<std::string_view> chips;
  chips.reserve(targets.size());
  for (const Target &target : targets)
    chips.push_back(target.plan.chip);
  return chips;
}

static Result<std::string> readFile(const std::string &path) {
  FileDescriptor file = FileDescriptor::open(path, O_RDONLY);
  auto fail = [&](const char *action) {
    return Status::failure(systemFailure(path, action, errno).message(),
                           ErrorKind::File);
  };
  if (!file.isValid())
    return fail("open");
  constexpr size_t kStep = 1 << 20;
  std::string bytes;
  while (true) {
    size_t done = bytes.size();
    bytes.resize(done + kStep);
    ptrdiff_t count = file.read(done, &bytes[done], kStep);
    if (count < 0)
      return fail("read");
    bytes.resize(done + count);
    if (static_cast<size_t>(count) < kStep)
      return bytes;
  }
}

Result<std::shared_ptr<const Bundle>> Bundle::read(const std::string &path) {
  Result<std::string> bytes = readFile(path);
  if (!bytes.ok())
    return bytes.status();
  Result<std::shared_ptr<const Bundle>> bundle = parse(std::move(*bytes));
  if (!bundle.ok())
    return Status::failure(path + ": " + bundle.message(),
                           bundle.status().kind());
  return bundle;
}
