//===- TunedSchedules.cpp - Measured choices of schedules -----------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TunedSchedules.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/SHA256.h"

using namespace mlir;
namespace json = llvm::json;

namespace blockscale::products {

/// The version of the files, in manifests and choices.
static constexpr int64_t kTunedVersion = 1;
static constexpr llvm::StringLiteral kManifest = "manifest.json";
/// Limits of what is read, beyond those of any choice: the parser is recursive.
static constexpr uint64_t kMaxBytes = 1 << 20;
static constexpr int kMaxDepth = 16;

namespace {

/// A file that was read whole.
struct JsonFile {
  std::string text;
  json::Value value = nullptr;
};

struct Manifest {
  std::string chip, compiler, gpu;
};

} // namespace

template <typename... Ts>
static llvm::Error makeMiss(const char *format, Ts &&...values) {
  return llvm::createStringError(
      llvm::formatv(format, std::forward<Ts>(values)...).str());
}

/// Whether brackets are nested deeper than in any choice; those in strings
/// count too.
static bool isTooDeep(StringRef text) {
  int depth = 0;
  return llvm::any_of(text, [&](char c) {
    depth += c == '[' || c == '{' ? 1 : c == ']' || c == '}' ? -1 : 0;
    return depth > kMaxDepth;
  });
}

static llvm::Expected<JsonFile> readJson(StringRef path) {
  llvm::sys::fs::file_status status;
  if (std::error_code code = llvm::sys::fs::status(path, status))
    return makeMiss("'{0}' cannot be read: {1}", path, code.message());
  if (status.type() != llvm::sys::fs::file_type::regular_file ||
      status.getSize() > kMaxBytes)
    return makeMiss("expected '{0}' to be a file of up to {1} bytes", path,
                    kMaxBytes);
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/false,
                                            /*RequiresNullTerminator=*/false);
  if (!buffer)
    return makeMiss("'{0}' cannot be read: {1}", path,
                    buffer.getError().message());
  JsonFile file{(*buffer)->getBuffer().str()};
  if (file.text.size() > kMaxBytes || isTooDeep(file.text))
    return makeMiss("expected '{0}' to be nested up to {1} deep", path,
                    kMaxDepth);
  llvm::Expected<json::Value> value = json::parse(file.text);
  if (!value)
    return makeMiss("'{0}' is not JSON: {1}", path,
                    llvm::toString(value.takeError()));
  file.value = std::move(*value);
  return file;
}

/// The members of an object that has these and no others.
static llvm::Expected<const json::Object *>
getMembers(const json::Value &value, StringRef path, StringRef what,
           ArrayRef<StringRef> names) {
  const json::Object *object = value.getAsObject();
  if (!object)
    return makeMiss("expected {0} in '{1}' to be an object", what, path);
  for (StringRef name : names)
    if (!object->get(name))
      return makeMiss("expected {0} in '{1}' to have '{2}'", what, path, name);
  for (const auto &[name, member] : *object)
    if (!llvm::is_contained(names, StringRef(name)))
      return makeMiss("expected the members of {0} in '{1}' to be {2}, but got "
                      "'{3}'",
                      what, path, llvm::join(names, ", "), StringRef(name));
  return object;
}

static llvm::Error checkVersion(const json::Object &object, StringRef path) {
  if (object.getInteger("version") == kTunedVersion)
    return llvm::Error::success();
  return makeMiss("expected '{0}' to be of version {1}", path, kTunedVersion);
}

static llvm::Expected<Manifest> readManifest(StringRef folder) {
  SmallString<128> path(folder);
  llvm::sys::path::append(path, kManifest);
  llvm::Expected<JsonFile> file = readJson(path);
  if (!file)
    return file.takeError();
  // The folder's name is the beginning of the hash, so that a manifest that
  // was changed does not speak for other measurements.
  std::string digest =
      llvm::toHex(llvm::SHA256::hash(llvm::arrayRefFromStringRef(file->text)),
                  /*LowerCase=*/true);
  SmallString<128> absolute(folder);
  if (std::error_code code = llvm::sys::fs::make_absolute(absolute))
    return makeMiss("'{0}' has no absolute path: {1}", folder, code.message());
  llvm::sys::path::remove_dots(absolute, /*remove_dot_dot=*/true);
  StringRef name = llvm::sys::path::filename(absolute);
  constexpr size_t kDigits = 16;
  if (name != StringRef(digest).take_front(kDigits))
    return makeMiss(
        "expected the folder of '{0}' to have the name {1}, but got "
        "'{2}'",
        path, StringRef(digest).take_front(kDigits), name);
  auto members = getMembers(file->value, path, "the manifest",
                            {"version", "chip", "compiler", "gpu",
                             "multiprocessors", "driver", "policy", "unit"});
  if (!members)
    return members.takeError();
  if (llvm::Error error = checkVersion(**members, path))
    return std::move(error);
  auto chip = (*members)->getString("chip");
  auto compiler = (*members)->getString("compiler");
  auto gpu = (*members)->getString("gpu");
  auto driver = (*members)->getString("driver");
  auto count = (*members)->getInteger("multiprocessors");
  if (!chip || !compiler || !gpu || !driver || !count ||
      !(*members)->getString("policy") || !(*members)->getString("unit"))
    return makeMiss("expected texts, and a number of multiprocessors, in '{0}'",
                    path);
  return Manifest{chip->str(), compiler->str(), gpu->str()};
}

/// Nothing, or why measurements of an environment do not count.
static llvm::Error checkManifest(const Manifest &manifest, StringRef folder,
                                 const target::Chip &chip) {
  if (manifest.chip != StringRef(chip.name))
    return makeMiss("expected choices for {0}, but '{1}' has those for {2}",
                    StringRef(chip.name), folder, manifest.chip);
  if (manifest.compiler != getCompilerVersion())
    return makeMiss(
        "expected choices for kernels of version {0}, but '{1}' has "
        "those of {2}",
        getCompilerVersion(), folder, manifest.compiler);
  return llvm::Error::success();
}

/// The folders in `root` that have a manifest, in order of their names.
static std::vector<std::string> listEnvironments(StringRef root) {
  std::vector<std::string> folders;
  std::error_code error;
  for (llvm::sys::fs::directory_iterator each(root, error), end;
       !error && each != end; each.increment(error)) {
    SmallString<128> manifest(each->path());
    llvm::sys::path::append(manifest, kManifest);
    if (llvm::sys::fs::exists(manifest))
      folders.push_back(each->path());
  }
  llvm::sort(folders);
  return folders;
}

TunedSchedules::TunedSchedules(StringRef root, const target::Chip &chip) {
  SmallString<128> manifest(root);
  llvm::sys::path::append(manifest, kManifest);
  bool isEnvironment = llvm::sys::fs::exists(manifest);
  std::vector<std::string> folders =
      isEnvironment ? std::vector{root.str()} : listEnvironments(root);
  if (folders.empty())
    miss = llvm::formatv("'{0}' has no environment", root);
  for (const std::string &each : folders) {
    llvm::Expected<Manifest> read = readManifest(each);
    llvm::Error error =
        read ? checkManifest(*read, each, chip) : read.takeError();
    if (error) {
      miss += (miss.empty() ? "" : "; ") + llvm::toString(std::move(error));
      continue;
    }
    if (!folder.empty()) {
      miss = llvm::formatv("expected one environment for {0} in '{1}', but got "
                           "'{2}' and '{3}'; name one of them",
                           StringRef(chip.name), root, folder, each);
      return;
    }
    folder = each;
    gpu = read->gpu;
  }
  if (!folder.empty())
    miss.clear();
}

/// The candidate with these parameters.
static llvm::Expected<GemmScheduleAttr>
findSchedule(const json::Value &value, StringRef path,
             ArrayRef<ScheduleCandidate> candidates) {
  SmallVector<StringRef> names;
  for (const auto &[name, parameter] :
       getParameters(candidates.front().schedule))
    names.push_back(name);
  auto members = getMembers(value, path, "the schedule", names);
  if (!members)
    return members.takeError();
  auto isSame = [&](const ScheduleCandidate &candidate) {
    return llvm::all_of(
        getParameters(candidate.schedule), [&](const auto &parameter) {
          return (*members)->getInteger(parameter.first) == parameter.second;
        });
  };
  const auto *found = llvm::find_if(candidates, isSame);
  if (found == candidates.end())
    return makeMiss(
        "expected the schedule in '{0}' to be one that this compiler "
        "considers for the product",
        path);
  return found->schedule;
}

llvm::Expected<GemmScheduleAttr>
TunedSchedules::find(const ProductKey &key,
                     ArrayRef<ScheduleCandidate> candidates) const {
  if (!miss.empty())
    return llvm::createStringError(miss);
  SmallString<128> path(folder);
  llvm::sys::path::append(path, key.getName() + ".json");
  llvm::Expected<JsonFile> file = readJson(path);
  if (!file)
    return file.takeError();
  auto members =
      getMembers(file->value, path, "the choice",
                 {"version", "key", "schedule", "measured_at", "candidates"});
  if (!members)
    return members.takeError();
  if (llvm::Error error = checkVersion(**members, path))
    return std::move(error);
  const json::Array *measured = (*members)->getArray("candidates");
  if (!(*members)->getString("measured_at") || !measured)
    return makeMiss("expected 'measured_at' in '{0}' to be a text, and "
                    "'candidates' a list",
                    path);
  for (const json::Value &each : *measured) {
    auto candidate = getMembers(each, path, "a candidate",
                                {"schedule", "predicted_ns", "measured"});
    if (!candidate)
      return candidate.takeError();
  }
  SmallVector<StringRef> names = llvm::to_vector(llvm::map_range(
      key.fields, [](const ProductKey::Field &field) { return field.name; }));
  auto found = getMembers(*(*members)->get("key"), path, "the key", names);
  if (!found)
    return found.takeError();
  for (const ProductKey::Field &field : key.fields)
    if ((*found)->getString(field.name) != StringRef(field.value))
      return makeMiss("expected '{0}' of the key in '{1}' to be {2}",
                      field.name, path, field.value);
  return findSchedule(*(*members)->get("schedule"), path, candidates);
}

} // namespace blockscale::products
