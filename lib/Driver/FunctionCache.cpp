//===- FunctionCache.cpp - Compiled functions in a folder -----------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Driver/FunctionCache.h"

#include "BuildIdentity.h"

#include "blockscale/Conversion/ScheduleChoice.h"
#include "blockscale/Transforms/QuantizationPolicy.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/SHA256.h"
#include "llvm/Support/WithColor.h"

#include <mutex>
#include <set>
#include <sys/stat.h>

using namespace mlir;
namespace fs = llvm::sys::fs;
using blockscale::runtime::Result;
using blockscale::runtime::Status;
using blockscale::runtime::TrustedFolder;
using blockscale::runtime::TrustedOwners;

namespace blockscale {

static constexpr const char *kCacheVariable = "BLOCKSCALE_CACHE_DIR";
static constexpr const char *kOwnersVariable = "BLOCKSCALE_CACHE_OWNERS";

/// More are neither written nor read: code that is linked has less, and a file
/// that claims more is damaged.
static constexpr uint64_t kMostBytes = uint64_t(4) << 30;

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
  bool addPolicy(StringRef file);
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

/// Adds a policy and the file of amaxes that it names.
bool Hash::addPolicy(StringRef file) {
  Result<QuantizationPolicy> policy = readPolicy(file);
  return policy.ok() && addFile(file) &&
         (policy->amaxesFile.empty() || addFile(policy->amaxesFile));
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
        StringRef(inputs.checks ? "1" : "0"),
        StringRef(inputs.overlapLaunches ? "1" : "0")})
    hash.add(part);
  bool isRead = true;
  if (!inputs.policy.empty())
    isRead &= hash.addPolicy(inputs.policy);
  hash.add("tuned");
  if (!inputs.tuned.empty())
    isRead &= hash.addFolder(inputs.tuned);
  return isRead ? std::optional(hash.take()) : std::nullopt;
}

//===----------------------------------------------------------------------===//
// The folder
//===----------------------------------------------------------------------===//

/// Says what keeps a cache from being used. Processes go on without it, and
/// would not know otherwise why they compile.
static void warnOnce(const std::string &subject, const std::string &text) {
  static std::mutex mutex;
  static std::set<std::string> told;
  std::lock_guard<std::mutex> lock(mutex);
  if (told.insert(subject).second)
    llvm::WithColor::warning(llvm::errs(), "blockscale") << text << "\n";
}

namespace {
/// The users that a program names.
struct NamedOwners {
  std::mutex mutex;
  std::optional<TrustedOwners> owners;
};
} // namespace

static NamedOwners &getNamedOwners() {
  static auto *named = new NamedOwners;
  return *named;
}

void setCacheOwners(std::optional<TrustedOwners> owners) {
  NamedOwners &named = getNamedOwners();
  std::lock_guard<std::mutex> lock(named.mutex);
  named.owners = std::move(owners);
}

static TrustedOwners getCacheOwners() {
  {
    NamedOwners &named = getNamedOwners();
    std::lock_guard<std::mutex> lock(named.mutex);
    if (named.owners)
      return *named.owners;
  }
  std::string users =
      llvm::sys::Process::GetEnv(kOwnersVariable).value_or(std::string());
  Result<TrustedOwners> owners = TrustedOwners::parse(users);
  if (owners.ok())
    return *owners;
  warnOnce(kOwnersVariable, std::string("nobody is trusted by ") +
                                kOwnersVariable + ": " + owners.message());
  return {};
}

std::optional<FunctionCache> FunctionCache::open() {
  std::string folder =
      llvm::sys::Process::GetEnv(kCacheVariable).value_or(std::string());
  if (folder.empty())
    return std::nullopt;
  return FunctionCache(folder, getCacheOwners());
}

void FunctionCache::explain(const Status &status) const {
  if (!status.ok() && status.kind() == runtime::ErrorKind::InvalidArgument)
    warnOnce(folder, "the cache in '" + folder +
                         "' is not used: " + status.message() + "; " +
                         kOwnersVariable + " names other users to trust");
}

/// The first characters of keys are folders, so that none has too many files.
Result<TrustedFolder> FunctionCache::openFolder(const std::string &key,
                                                bool isMade) const {
  Result<TrustedFolder> opened =
      TrustedFolder::open(folder + "/" + key.substr(0, 2), owners, isMade);
  explain(opened.status());
  return opened;
}

/// All bytes of a file, if it has as many as its header says. Nothing is read,
/// and no memory is taken, for what is no saved function.
static std::unique_ptr<llvm::MemoryBuffer>
readWhole(const runtime::FileDescriptor &file) {
  char header[kSavedFunctionHeaderBytes];
  struct stat info;
  if (file.read(0, header, sizeof(header)) != sizeof(header) ||
      fstat(file.get(), &info) != 0)
    return nullptr;
  std::optional<uint64_t> size =
      getSavedFunctionBytes(std::string_view(header, sizeof(header)));
  if (!size || *size != static_cast<uint64_t>(info.st_size) ||
      *size > kMostBytes)
    return nullptr;
  auto buffer = llvm::WritableMemoryBuffer::getNewUninitMemBuffer(*size);
  if (!buffer || file.read(0, buffer->getBufferStart(), *size) !=
                     static_cast<ptrdiff_t>(*size))
    return nullptr;
  return buffer;
}

std::optional<SavedFunction> FunctionCache::find(const std::string &key) const {
  Result<TrustedFolder> opened = openFolder(key, /*isMade=*/false);
  if (!opened.ok())
    return std::nullopt;
  Result<runtime::FileDescriptor> file = opened->openFile(key + ".bsf");
  explain(file.status());
  auto bytes = file.ok() ? readWhole(*file) : nullptr;
  if (!bytes)
    return std::nullopt;
  Result<SavedFunction> saved = readSavedFunction(bytes->getBuffer());
  if (!saved.ok() || saved->key != key)
    return std::nullopt;
  return std::move(*saved);
}

void FunctionCache::store(const SavedFunction &saved,
                          const std::string &name) const {
  Result<std::string> bytes = writeSavedFunction(saved);
  if (!bytes.ok() || bytes->size() > kMostBytes)
    return;
  Result<TrustedFolder> opened = openFolder(saved.key, /*isMade=*/true);
  if (!opened.ok())
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
  if (opened->writeFile(saved.key + ".bsf", *bytes).ok())
    (void)opened->writeFile(saved.key + ".json", about);
}

} // namespace blockscale
