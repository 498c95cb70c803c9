//===- TrustedFolder.cpp - A folder that no stranger can change -----------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Runtime/TrustedFolder.h"

#include "HiddenName.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace blockscale::runtime;

//===----------------------------------------------------------------------===//
// Owners
//===----------------------------------------------------------------------===//

/// The number of a user; false where there is none of that name.
static bool findUser(const std::string &name, unsigned &number) {
  const char *end = name.data() + name.size();
  auto [parsed, error] = std::from_chars(name.data(), end, number);
  if (error == std::errc() && parsed == end)
    return true;
  std::vector<char> buffer(1024);
  passwd entry, *found = nullptr;
  int failure;
  while ((failure = getpwnam_r(name.c_str(), &entry, buffer.data(),
                               buffer.size(), &found)) == ERANGE)
    buffer.resize(2 * buffer.size());
  if (failure != 0 || !found)
    return false;
  number = found->pw_uid;
  return true;
}

Result<TrustedOwners> TrustedOwners::parse(std::string_view users) {
  TrustedOwners owners;
  while (!users.empty()) {
    size_t comma = std::min(users.find(','), users.size());
    std::string name(users.substr(0, comma));
    unsigned number;
    if (!findUser(name, number))
      return Status::failure("expected names or numbers of users, separated "
                             "by commas, but got '" +
                             name + "'");
    owners.named.push_back(number);
    users.remove_prefix(std::min(comma + 1, users.size()));
  }
  return owners;
}

bool TrustedOwners::has(unsigned user) const {
  return user == 0 || user == geteuid() ||
         std::find(named.begin(), named.end(), user) != named.end();
}

//===----------------------------------------------------------------------===//
// Rules
//===----------------------------------------------------------------------===//

static Status fail(const std::string &path, std::string_view action) {
  ErrorKind kind = errno == ENOENT ? ErrorKind::NotFound : ErrorKind::File;
  return Status::failure(systemFailure(path, action, errno).message(), kind);
}

static Status checkOwner(const std::string &path, const struct stat &info,
                         const TrustedOwners &owners) {
  if (owners.has(info.st_uid))
    return Status::success();
  return Status::failure("expected '" + path + "' to belong to user " +
                         std::to_string(geteuid()) +
                         ", root or another trusted user, but it belongs to "
                         "user " +
                         std::to_string(info.st_uid));
}

/// Whether its owner alone can write to what is there. In a sticky folder, as
/// /tmp is, others can add files, but do nothing to those of another owner.
static Status checkMode(const std::string &path, const struct stat &info) {
  constexpr mode_t kOthers = S_IWGRP | S_IWOTH;
  bool isSticky = S_ISDIR(info.st_mode) && (info.st_mode & S_ISVTX);
  if (!(info.st_mode & kOthers) || isSticky)
    return Status::success();
  char mode[16];
  std::snprintf(mode, sizeof(mode), "%04o", info.st_mode & 07777u);
  return Status::failure("expected '" + path +
                         "' to be writable by its owner alone, but its mode "
                         "is " +
                         mode);
}

//===----------------------------------------------------------------------===//
// The way to a folder
//===----------------------------------------------------------------------===//

namespace {

/// Goes from the root to a folder, name by name, and looks at each.
class Walk {
public:
  Walk(const TrustedOwners &owners, bool isMade)
      : owners(owners), isMade(isMade) {}

  Result<FileDescriptor> run(const std::string &path);

private:
  static constexpr int kMaxLinks = 40; // the kernel's own limit

  Status begin();
  Status enter(const std::string &name);
  Status follow(const FileDescriptor &link, const std::string &linkPath);
  void push(const std::string &path);

  const TrustedOwners &owners;
  bool isMade;
  /// Where it is.
  FileDescriptor current;
  std::string place;
  /// The names to go, the next one last.
  std::vector<std::string> names;
  int links = 0;
};

} // namespace

void Walk::push(const std::string &path) {
  size_t end = path.size();
  while (end > 0) {
    size_t slash = path.rfind('/', end - 1);
    size_t begin = slash == std::string::npos ? 0 : slash + 1;
    if (begin < end && path.compare(begin, end - begin, ".") != 0)
      names.push_back(path.substr(begin, end - begin));
    end = slash == std::string::npos ? 0 : slash;
  }
}

Status Walk::begin() {
  place = "";
  current = FileDescriptor::open("/", O_PATH | O_DIRECTORY);
  struct stat info;
  if (!current.isValid() || fstat(current.get(), &info) != 0)
    return fail("/", "open");
  Status status = checkOwner("/", info, owners);
  return status.ok() ? checkMode("/", info) : status;
}

/// Puts what a link points to in its place.
Status Walk::follow(const FileDescriptor &link, const std::string &linkPath) {
  char target[PATH_MAX];
  ssize_t length = readlinkat(link.get(), "", target, sizeof(target));
  if (length > 0 && ++links > kMaxLinks) {
    errno = ELOOP;
    length = -1;
  }
  if (length <= 0)
    return fail(linkPath, "open");
  std::string text(target, length);
  push(text);
  return text[0] == '/' ? begin() : Status::success();
}

Status Walk::enter(const std::string &name) {
  std::string path = place + "/" + name;
  constexpr int kFlags = O_PATH | O_NOFOLLOW | O_CLOEXEC;
  FileDescriptor next(openat(current.get(), name.c_str(), kFlags));
  if (!next.isValid() && errno == ENOENT && isMade) {
    if (mkdirat(current.get(), name.c_str(), 0755) != 0 && errno != EEXIST)
      return fail(path, "make");
    next = FileDescriptor(openat(current.get(), name.c_str(), kFlags));
  }
  struct stat info;
  if (!next.isValid() || fstat(next.get(), &info) != 0)
    return fail(path, "open");
  Status status = checkOwner(path, info, owners);
  if (status.ok() && S_ISLNK(info.st_mode))
    return follow(next, path);
  if (status.ok())
    status = checkMode(path, info);
  if (!status.ok())
    return status;
  if (!S_ISDIR(info.st_mode)) {
    errno = ENOTDIR;
    return fail(path, "open");
  }
  current = std::move(next);
  place = std::move(path);
  return Status::success();
}

Result<FileDescriptor> Walk::run(const std::string &path) {
  if (path.empty() || path[0] != '/') {
    char *here = getcwd(nullptr, 0);
    if (!here)
      return fail(path, "open");
    push(path);
    push(here);
    std::free(here);
  } else {
    push(path);
  }
  Status status = begin();
  while (status.ok() && !names.empty()) {
    std::string name = std::move(names.back());
    names.pop_back();
    status = enter(name);
  }
  if (!status.ok())
    return status;
  return std::move(current);
}

//===----------------------------------------------------------------------===//
// The folder
//===----------------------------------------------------------------------===//

Result<TrustedFolder> TrustedFolder::open(const std::string &path,
                                          const TrustedOwners &owners,
                                          bool isMade) {
  Result<FileDescriptor> found = Walk(owners, isMade).run(path);
  if (!found.ok())
    return found.status();
  return TrustedFolder(path, std::move(*found), owners);
}

Result<FileDescriptor> TrustedFolder::openFile(const std::string &name) const {
  std::string file = path + "/" + name;
  // Without waiting for what is no file: a pipe that nobody writes to.
  constexpr int kFlags =
      O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
  FileDescriptor opened(openat(descriptor.get(), name.c_str(), kFlags));
  struct stat info;
  if (!opened.isValid() || fstat(opened.get(), &info) != 0)
    return fail(file, "open");
  if (!S_ISREG(info.st_mode))
    return Status::failure("expected '" + file + "' to be a regular file",
                           ErrorKind::File);
  Status status = checkOwner(file, info, owners);
  if (status.ok())
    status = checkMode(file, info);
  if (!status.ok())
    return status;
  return opened;
}

/// `path` is what messages call the folder.
static Status replaceIn(const FileDescriptor &folder, const std::string &path,
                        const std::string &name, std::string_view bytes) {
  std::string file = path + "/" + name;
  std::string hidden = makeHiddenName();
  FileDescriptor made(
      openat(folder.get(), hidden.c_str(),
             O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644));
  if (!made.isValid())
    return fail(file, "create");
  if (made.write(bytes) && made.close() &&
      renameat(folder.get(), hidden.c_str(), folder.get(), name.c_str()) == 0)
    return Status::success();
  Status failed = fail(file, "write");
  unlinkat(folder.get(), hidden.c_str(), 0);
  return failed;
}

Status TrustedFolder::writeFile(const std::string &name,
                                std::string_view bytes) const {
  return replaceIn(descriptor, path, name, bytes);
}

Status blockscale::runtime::replaceFile(const std::string &path,
                                        std::string_view bytes) {
  size_t slash = path.rfind('/');
  bool isBare = slash == std::string::npos;
  std::string folder = isBare ? "." : path.substr(0, slash);
  FileDescriptor opened =
      FileDescriptor::open(folder + "/", O_PATH | O_DIRECTORY);
  if (!opened.isValid())
    return fail(path, "write");
  return replaceIn(opened, folder, isBare ? path : path.substr(slash + 1),
                   bytes);
}
