//===- blockscale-bench.cpp - Times compiled functions on the CPU ---------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A benchmark is a case, a CPU to generate code for and a number of threads.
// Each repetition is a round: calls of the function and of memcpy in turn, with
// as many bytes read and written and as many threads. Its time is that of the
// fastest call, and its ratio is to the fastest memcpy of the same round, so
// that what disturbs the machine for longer than a round disturbs both.
//
//===----------------------------------------------------------------------===//

#include "CompiledCase.h"

#include "blockscale/Runtime/ThreadPool.h"

#include "benchmark/benchmark.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <limits>
#include <set>

using namespace blockscale;
using namespace blockscale::bench;
namespace cl = llvm::cl;

static cl::OptionCategory category("blockscale-bench options");
static cl::opt<std::string> casesFile("cases",
                                      cl::desc("File of the modules to time"),
                                      cl::value_desc("file"),
                                      cl::init(BLOCKSCALE_BENCH_CASES),
                                      cl::cat(category));
static cl::list<std::string>
    cpus("cpus", cl::CommaSeparated,
         cl::desc("CPUs to generate code for (default: host, x86-64-v3 and "
                  "x86-64)"),
         cl::value_desc("names"), cl::cat(category));

/// Rounds that a median is taken of.
static constexpr int kRounds = 7;
/// A round ends after this many calls or seconds.
static constexpr int kCallsPerRound = 5;
static constexpr double kSecondsPerRound = 0.2;

static double measure(llvm::function_ref<void()> call) {
  auto start = std::chrono::steady_clock::now();
  call();
  std::chrono::duration<double> elapsed =
      std::chrono::steady_clock::now() - start;
  return elapsed.count();
}

/// memcpy of `bytes`, read and written, on the threads that kernels run on.
class Memcpy {
public:
  explicit Memcpy(int64_t bytes) : source(bytes / 2), target(bytes / 2) {}

  void call() {
    runtime::parallelFor(
        kParts,
        [](void *self, int64_t begin, int64_t end) {
          auto &copy = *static_cast<Memcpy *>(self);
          int64_t size = copy.source.getNumBytes();
          int64_t first = size * begin / kParts, last = size * end / kParts;
          std::memcpy(copy.target.getData() + first,
                      copy.source.getData() + first, last - first);
        },
        this);
    benchmark::DoNotOptimize(target.getData());
    benchmark::ClobberMemory();
  }

private:
  static constexpr int64_t kParts = 64;
  Pages source, target;
};

/// A case for one CPU, or why there is none.
struct Compiled {
  std::string key;
  std::unique_ptr<CompiledCase> function;
  std::string error;
};

/// Leaves `source` for `cpu` in `last`. Compiles anew only where the case or
/// the CPU changes: repetitions come one after another.
static void compile(const Case &source, const std::string &cpu,
                    Compiled &last) {
  std::string key = source.name + "/" + cpu;
  if (last.key == key)
    return;
  last = {key, nullptr, ""};
  HostTarget target;
  target.cpu = cpu;
  auto created = CompiledCase::create(source, target);
  if (created)
    last.function = std::move(*created);
  else
    last.error = llvm::toString(created.takeError());
}

static std::set<std::string> failed;

static void fail(benchmark::State &state, const std::string &key,
                 const std::string &error) {
  failed.insert(key);
  state.SkipWithError(error.c_str());
}

static void run(benchmark::State &state, const Case &source,
                const std::string &cpu, int threads, Compiled &compiled) {
  runtime::setNumThreads(threads);
  compile(source, cpu, compiled);
  if (!compiled.function)
    return fail(state, compiled.key, compiled.error);
  CompiledCase &function = *compiled.function;
  int64_t bytes = function.getNumBytes();
  Memcpy copy(bytes);
  copy.call();
  for (auto _ : state) {
    double best = std::numeric_limits<double>::infinity(), bestCopy = best;
    double spent = 0;
    for (int i = 0; i < kCallsPerRound && spent < kSecondsPerRound; ++i) {
      llvm::Error error = llvm::Error::success();
      double copied = measure([&] { copy.call(); });
      double called = measure([&] { error = function.call(); });
      if (error)
        return fail(state, compiled.key, llvm::toString(std::move(error)));
      best = std::min(best, called);
      bestCopy = std::min(bestCopy, copied);
      spent += called + copied;
    }
    state.SetIterationTime(best);
    state.counters["GBps"] = bytes / best / 1e9;
    state.counters["memcpy_GBps"] = bytes / bestCopy / 1e9;
    state.counters["of_memcpy"] = bestCopy / best;
  }
}

int main(int argc, char **argv) {
  benchmark::Initialize(&argc, argv);
  cl::HideUnrelatedOptions(category);
  cl::ParseCommandLineOptions(
      argc, argv,
      "Times compiled functions of the blockscale dialect on this CPU\n\n"
      "Options of Google Benchmark are taken too: --benchmark_filter=REGEX, "
      "--benchmark_out=FILE.\nExit status: 0 success, 1 a case failed.\n");
  auto cases = readCases(casesFile);
  if (!cases) {
    llvm::errs() << "blockscale-bench: " << llvm::toString(cases.takeError())
                 << "\n";
    return 1;
  }
  if (cpus.empty())
    for (const char *cpu : {"host", "x86-64-v3", "x86-64"})
      cpus.push_back(cpu);
  Compiled compiled;
  for (const Case &source : *cases)
    for (const std::string &cpu : cpus)
      for (int threads : {1, 2}) {
        // What a second thread brings is the same on every CPU.
        if (threads > 1 && cpu != "host")
          continue;
        std::string name =
            source.name + "/" + cpu + "/" + std::to_string(threads);
        benchmark::RegisterBenchmark(
            name.c_str(),
            [&source, &compiled, cpu, threads](benchmark::State &state) {
              run(state, source, cpu, threads, compiled);
            })
            ->Iterations(1)
            ->Repetitions(kRounds)
            ->ReportAggregatesOnly()
            ->UseManualTime()
            ->Unit(benchmark::kMillisecond);
      }
  benchmark::RunSpecifiedBenchmarks();
  for (const std::string &key : failed)
    llvm::errs() << "blockscale-bench: FAILED: " << key << "\n";
  return failed.empty() ? 0 : 1;
}
