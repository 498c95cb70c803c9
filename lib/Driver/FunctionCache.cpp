//===- FunctionCache.cpp - Compiled functions in a folder -----------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Driver/FunctionCache.h"

#include "BuildIdentity.h"

#include "blockscale/Conversion/ScheduleChoice.h"
#include "blockscale/Runtime/FileOutput.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/SHA256.h"

using namespace mlir;
namespace fs = llvm::sys::fs;
namespace path = llvm::sys::path;

namespace blockscale {

static constexpr const char *kCacheVariable = "BLOCKSCALE_CACHE_DIR";

//===----------------------------------------------------------------------===//
// Keys
//===----------------------------------------------------------------------===//

namespace {

/// A hash of parts, each with its size before it.
class Hash {
public:
  void add(StringRef part) {
    uint64_t size = part.size();
    sha.update(StringRef(reinterpret_cast<const char *>(&size), sizeof(size)));
    sha.update(part);
  }
  bool addFile(const Twine &file) {
    auto buffer = llvm::MemoryBuffer::getFile(file);
    if (buffer)
      add((*buffer)->getBuffer());
    return static_cast<bool>(buffer);
  }
  bool addFolder(StringRef folder);
  std::string take() { return llvm::toHex(sha.final(), /*LowerCase=*/true); }

private:
  llvm::SHA256 sha;
};

} // namespace

/// Adds the names and contents of all files in a folder.
bool Hash::addFolder(StringRef folder) {
  std::vector<std::string> files;
  std::error_code error;
  for (fs::recursive_directory_iterator it(folder, error), end;
       it != end && !error; it.increment(error))
    if (fs::is_regular_file(it->path()))
      files.push_back(it->path());
  if (error)
    return false;
  llvm::sort(files);
  return llvm::all_of(files, [&](const std::string &file) {
    add(StringRef(file).drop_front(folder.size()));
    return addFile(file);
  });
}

std::optional<std::string> computeCacheKey(const CacheInputs &inputs) {
  const std::string &build = getBuildIdentity();
  if (build.empty())
    return std::nullopt;
  Hash hash;
  hash.add(build);
  hash.add(std::to_string(kSavedFunctionVersion));
  hash.add(getCompilerVersion());
  for (StringRef part :
       {inputs.source, StringRef(inputs.name), StringRef(inputs.entry),
        StringRef(inputs.target), StringRef(inputs.cpu),
        StringRef(inputs.fuse ? "1" : "0"),
        StringRef(inputs.checks ? "1" : "0")})
    hash.add(part);
  bool isRead = true;
  if (!inputs.policy.empty())
    isRead &= hash.addFile(inputs.policy);
  hash.add("tuned");
  if (!inputs.tuned.empty())
    isRead &= hash.addFolder(inputs.tuned);
  return isRead ? std::optional(hash.take()) : std::nullopt;
}

//===----------------------------------------------------------------------===//
// The folder
//===----------------------------------------------------------------------===//

std::optional<FunctionCache> FunctionCache::open() {
  std::string folder =
      llvm::sys::Process::GetEnv(kCacheVariable).value_or(std::string());
  if (folder.empty())
    return std::nullopt;
  return FunctionCache(folder);
}

/// The first characters of keys are folders, so that none has too many files.
std::string FunctionCache::getPath(const std::string &key) const {
  llvm::SmallString<128> file(folder);
  path::append(file, StringRef(key).take_front(2), key + ".bsf");
  return file.str().str();
}

std::optional<SavedFunction> FunctionCache::find(const std::string &key) const {
  auto buffer = llvm::MemoryBuffer::getFile(getPath(key), /*IsText=*/false,
                                            /*RequiresNullTerminator=*/false);
  if (!buffer)
    return std::nullopt;
  runtime::Result<SavedFunction> saved =
      readSavedFunction((*buffer)->getBuffer());
  if (!saved.ok() || saved->key != key)
    return std::nullopt;
  return std::move(*saved);
}

void FunctionCache::store(const SavedFunction &saved,
                          const std::string &name) const {
  runtime::Result<std::string> bytes = writeSavedFunction(saved);
  std::string file = getPath(saved.key);
  if (!bytes.ok() || fs::create_directories(path::parent_path(file)))
    return;
  std::string about =
      llvm::formatv("{0:2}\n", llvm::json::Value(llvm::json::Object{
                                   {"version", getCompilerVersion()},
                                   {"source", llvm::json::fixUTF8(name)},
                                   {"function", saved.signature.name},
                                   {"target", saved.target},
                                   {"bytes", bytes->size()}}))
          .str();
  // One after the other: what finds the function needs no other file.
  if (runtime::writeFileAtomically(file, *bytes).ok())
    (void)runtime::writeFileAtomically(
        path::parent_path(file).str() + "/" + saved.key + ".json", about);
}

} // namespace blockscale
