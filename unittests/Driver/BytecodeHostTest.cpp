//===- BytecodeHostTest.cpp - Bytecode in hosts of all kinds --------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Whatever the host of the library does with threads, signals, files and
// limits, a good file is read and a damaged one is refused as such.
//
//===----------------------------------------------------------------------===//

#include "BytecodeFixture.h"

#include <atomic>
#include <csignal>
#include <fcntl.h>
#include <pthread.h>
#include <set>
#include <sys/resource.h>
#include <sys/wait.h>
#include <thread>

using namespace blockscale;

namespace {

class BytecodeHostTest : public FakeReader {
protected:
  /// A good file and a damaged one, each with its own outcome.
  static void expectBoth() {
    Reading good(writeBytecode());
    EXPECT_TRUE(good.isGood()) << good.error;
    Reading damaged(readDamaged());
    EXPECT_TRUE(damaged.isDamaged()) << damaged.error;
  }
};

/// What a signal does while this is there.
class Disposition {
public:
  Disposition(int signal, void (*handler)(int)) : signal(signal) {
    struct sigaction action = {};
    action.sa_handler = handler;
    sigaction(signal, &action, &before);
  }
  ~Disposition() { sigaction(signal, &before, nullptr); }

private:
  int signal;
  struct sigaction before;
};

/// The files that the host can have while this is there.
class FileLimit {
public:
  explicit FileLimit(rlim_t most) {
    getrlimit(RLIMIT_NOFILE, &before);
    struct rlimit limit = {most, before.rlim_max};
    setrlimit(RLIMIT_NOFILE, &limit);
  }
  ~FileLimit() { setrlimit(RLIMIT_NOFILE, &before); }

private:
  struct rlimit before;
};

std::atomic<int> numForks = 0;

// What other threads hold at the moment, locks of malloc among them, cannot
// matter, since no copy of the host's memory goes on running.
TEST_F(BytecodeHostTest, IsNotForked) {
  pthread_atfork([] { ++numForks; }, nullptr, nullptr);
  expectBoth();
  EXPECT_EQ(numForks, 0);
}

// Many at once, beside threads that hold the lock of malloc again and again and
// threads that fork without executing anything, whose forks have what is open.
TEST_F(BytecodeHostTest, MayHaveThreads) {
  std::atomic<bool> isOver = false;
  std::vector<std::thread> others, readers;
  std::atomic<int> forked = 0;
  others.emplace_back([&] {
    while (!isOver)
      free(malloc(1 << 20));
  });
  others.emplace_back([&] {
    std::vector<pid_t> ids;
    while (!isOver) {
      pid_t id = fork();
      if (id == 0) {
        pause();
        _exit(0);
      }
      ids.push_back(id);
      ++forked;
      usleep(20000);
    }
    for (pid_t id : ids) {
      kill(id, SIGKILL);
      waitpid(id, nullptr, 0);
    }
  });
  auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < 6; ++i)
    readers.emplace_back(expectBoth);
  for (std::thread &reader : readers)
    reader.join();
  isOver = true;
  for (std::thread &other : others)
    other.join();
  EXPECT_GT(forked, 0);
  EXPECT_LT(std::chrono::steady_clock::now() - start,
            std::chrono::seconds(1200));
}

// A thread that blocks everything.
TEST_F(BytecodeHostTest, MayBlockSignals) {
  std::thread([] {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, nullptr);
    expectBoth();
  }).join();
}

// A host that ignores signals, or takes its children's ends before the library
// can: the outcome does not depend on an exit status.
TEST_F(BytecodeHostTest, MayIgnoreSignals) {
  for (int signal : {SIGCHLD, SIGPIPE, SIGALRM, SIGXCPU, SIGABRT, SIGSEGV}) {
    Disposition ignored(signal, SIG_IGN);
    expectBoth();
  }
  Disposition reaping(SIGCHLD, [](int) {
    while (waitpid(-1, nullptr, WNOHANG) > 0) {
    }
  });
  expectBoth();
}

// What the host ignores, the reader does not.
TEST_F(BytecodeHostTest, GivesTheReaderNoIgnoredSignals) {
  Disposition ignored(SIGTERM, SIG_IGN);
  Reading reading(writeBytecode(),
                  create("grep SigIgn /proc/self/status > " + directory +
                         "/ignored\nexec " + reader));
  EXPECT_TRUE(reading.isGood()) << reading.error;
  // glibc has two signals of its own, 32 and 33.
  constexpr uint64_t internal = uint64_t(3) << 31;
  std::string name, mask;
  ASSERT_TRUE(std::ifstream(directory + "/ignored") >> name >> mask);
  EXPECT_EQ(std::stoull(mask, nullptr, 16) & ~internal, 0u);
}

// A limit of a CPU's time is a signal, which the reader receives although the
// thread that starts it blocks all of them.
TEST_F(BytecodeHostTest, GivesTheReaderNoBlockedSignals) {
  std::thread([&] {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, nullptr);
    std::string content =
        readFile(BLOCKSCALE_TEST_DATA "/bytecode/endless.mlirbc");
    ASSERT_FALSE(content.empty());
    auto answer = askBytecodeReader(reader, content);
    ASSERT_TRUE(answer.ok()) << answer.message();
    EXPECT_EQ(answer->kind, BytecodeAnswer::Kind::Damaged);
  }).join();
}

// Files of the host that are not closed at an exec do not reach the reader.
TEST_F(BytecodeHostTest, GivesTheReaderNoFiles) {
  int kept = open("/dev/null", O_RDONLY);
  ASSERT_GE(kept, 3);
  Reading reading(writeBytecode(), create("ls /proc/$$/fd > " + directory +
                                          "/files\nexec " + reader));
  close(kept);
  EXPECT_TRUE(reading.isGood()) << reading.error;
  std::ifstream stream(directory + "/files");
  std::set<int> files;
  for (int file = 0; stream >> file;)
    files.insert(file);
  EXPECT_EQ(files.count(0) + files.count(1) + files.count(2), 3u);
  EXPECT_EQ(files.count(kept), 0u);
}

// A service without standard streams: the reader has them all the same.
TEST_F(BytecodeHostTest, MayHaveClosedItsStreams) {
  fflush(nullptr);
  int saved[3];
  for (int file : {0, 1, 2}) {
    saved[file] = fcntl(file, F_DUPFD_CLOEXEC, 10);
    close(file);
  }
  Reading good(writeBytecode());
  Reading damaged(readDamaged());
  for (int file : {0, 1, 2}) {
    if (saved[file] < 0)
      continue;
    dup2(saved[file], file);
    close(saved[file]);
  }
  EXPECT_TRUE(good.isGood()) << good.error;
  EXPECT_TRUE(damaged.isDamaged()) << damaged.error;
}

// A host that can open no more files is told so; the file is not called
// damaged.
TEST_F(BytecodeHostTest, MayHaveNoFilesLeft) {
  std::string content = writeBytecode();
  std::string error;
  {
    FileLimit limit(3);
    error = askBytecodeReader(reader, content).message();
  }
  EXPECT_EQ(error.find("cannot start '" + reader + "': "), 0u) << error;
}

} // namespace
