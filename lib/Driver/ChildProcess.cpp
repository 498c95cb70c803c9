//===- ChildProcess.cpp - A program that answers bytes with bytes ---------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ChildProcess.h"

#include "llvm/Support/Errno.h"

#include <array>
#include <csignal>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

using blockscale::runtime::Result;
using blockscale::runtime::Status;
using llvm::StringRef;
using llvm::sys::RetryAfterSignal;
using Clock = std::chrono::steady_clock;

namespace blockscale {

/// How often it is asked whether the child still runs. The end of the stream
/// tells it at once, unless another process has the socket too: a fork of the
/// host that does not execute a program.
static constexpr std::chrono::milliseconds kPollingInterval(100);

namespace {

/// A running child, which is ended with this.
class Child {
public:
  /// The error number, 0 for success. `end` becomes its standard input and
  /// output.
  int start(const std::string &program, int end);
  ~Child() { stop(); }

  /// Whether it has ended by itself. It is not there any more then.
  bool hasEnded();
  void stop();

private:
  /// 0 where there is none.
  pid_t id = 0;
};

/// Sends the input and collects the output.
class Exchange {
public:
  Exchange(int socket, StringRef input) : socket(socket), input(input) {}

  /// Waits until bytes can be sent or received, at most for an interval, and
  /// does so. Whether there was something to do.
  bool advance();

  bool isAtEnd() const { return atEnd; }
  const std::string &getOutput() const { return output; }

private:
  void send();
  void receive();

  int socket;
  StringRef input;
  bool isSent = false;
  bool atEnd = false;
  std::string output;
};

} // namespace

int Child::start(const std::string &program, int end) {
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t all, none;
  sigfillset(&all);
  sigemptyset(&none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setflags(&attributes,
                           POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  // The order matters, since `end` may be any of the three.
  posix_spawn_file_actions_adddup2(&files, end, STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&files, STDIN_FILENO, STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY,
                                   0);
  posix_spawn_file_actions_addclosefrom_np(&files, STDERR_FILENO + 1);
  std::string name = program;
  char *arguments[] = {name.data(), nullptr};
  int error =
      posix_spawn(&id, name.c_str(), &files, &attributes, arguments, environ);
  if (error != 0)
    id = 0;
  posix_spawn_file_actions_destroy(&files);
  posix_spawnattr_destroy(&attributes);
  return error;
}

bool Child::hasEnded() {
  // A failure says that the host has waited for it, or ignores SIGCHLD.
  if (id && RetryAfterSignal(-1, waitpid, id, nullptr, WNOHANG) != 0)
    id = 0;
  return id == 0;
}

void Child::stop() {
  if (hasEnded())
    return;
  kill(id, SIGKILL);
  RetryAfterSignal(-1, waitpid, id, nullptr, 0);
  id = 0;
}

void Exchange::send() {
  ssize_t count =
      ::send(socket, input.data(), input.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  if (count >= 0)
    input = input.drop_front(count);
  else if (errno != EAGAIN && errno != EINTR)
    // A program may answer, or end, without having read everything.
    input = {};
}

void Exchange::receive() {
  std::array<char, 1 << 16> buffer;
  ssize_t count = recv(socket, buffer.data(), buffer.size(), MSG_DONTWAIT);
  if (count > 0)
    output.append(buffer.data(), count);
  else
    atEnd = count == 0 || (errno != EAGAIN && errno != EINTR);
}

bool Exchange::advance() {
  if (input.empty() && !isSent) {
    // The end of the child's input, whoever else has the socket.
    shutdown(socket, SHUT_WR);
    isSent = true;
  }
  struct pollfd ready = {};
  ready.fd = socket;
  ready.events = isSent ? POLLIN : POLLIN | POLLOUT;
  if (poll(&ready, 1, kPollingInterval.count()) <= 0)
    return false;
  if (!isSent && (ready.revents & POLLOUT))
    send();
  if (ready.revents & ~POLLOUT)
    receive();
  return true;
}

static Result<std::string>
exchange(Child &child, const std::string &program, Exchange bytes,
         std::chrono::milliseconds limit,
         llvm::function_ref<bool(StringRef)> isWhole) {
  Clock::time_point end = Clock::now() + limit;
  while (!isWhole(bytes.getOutput()) && !bytes.isAtEnd()) {
    if (Clock::now() > end)
      return Status::failure(
          "expected '" + program + "' to answer within " +
          std::to_string(limit.count()) +
          " milliseconds, but it still runs after that time");
    // What it wrote before it ended is received first.
    if (!bytes.advance() && child.hasEnded() && !bytes.advance())
      break;
  }
  return bytes.getOutput();
}

Result<std::string> exchange(const std::string &program, StringRef input,
                             std::chrono::milliseconds limit,
                             llvm::function_ref<bool(StringRef)> isWhole) {
  int ends[2];
  std::string failed = "cannot start '" + program + "': ";
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    return Status::failure(failed + llvm::sys::StrError());
  Child child;
  int error = child.start(program, ends[1]);
  close(ends[1]);
  Result<std::string> output =
      error
          ? Status::failure(failed + llvm::sys::StrError(error))
          : exchange(child, program, Exchange(ends[0], input), limit, isWhole);
  close(ends[0]);
  return output;
}

} // namespace blockscale
