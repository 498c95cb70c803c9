//===- blockscale-launch.cpp - Run a bundle's function on .npy files ------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Listing.h"
#include "Options.h"
#include "OutputPaths.h"
#include "Tools.h"

#include "blockscale/Runtime/CudaRun.h"

#include <cstdio>

using namespace blockscale;
using blockscale::launch::Options;
using blockscale::runtime::NpyArray;
using blockscale::runtime::PlanFunction;
using blockscale::runtime::Result;
using blockscale::runtime::Status;
using Role = blockscale::runtime::PlanBuffer::Role;

static Status checkCounts(const Options &options,
                          const PlanFunction &function) {
  auto check = [&](const char *option, size_t found, Role role,
                   const char *what) {
    size_t expected = function.getBuffers(role).size();
    if (found == expected)
      return Status::success();
    return Status::failure(
        "expected " + std::to_string(expected) + " --" + option + " for the " +
        what + " of @" + function.name + ", but got " + std::to_string(found));
  };
  Status in = check("in", options.inputs.size(), Role::Argument, "arguments");
  return in.ok() ? check("out", options.outputs.size(), Role::Result, "results")
                 : in;
}

static Result<std::vector<NpyArray>> readInputs(const Options &options) {
  std::vector<NpyArray> arrays;
  for (const std::string &path : options.inputs) {
    Result<NpyArray> array = runtime::readNpy(path);
    if (!array.ok())
      return array.status();
    arrays.push_back(std::move(*array));
  }
  return arrays;
}

static Status run(const Options &options) {
  Result<std::shared_ptr<const runtime::Bundle>> bundle =
      runtime::Bundle::read(options.bundle);
  if (!bundle.ok())
    return bundle.status();
  if (options.list) {
    std::fputs(launch::listBundle(**bundle).c_str(), stdout);
    return Status::success();
  }
  Result<std::shared_ptr<const runtime::CudaContext>> context =
      runtime::CudaContext::open(options.device, options.driver);
  if (!context.ok())
    return context.status();
  Result<std::shared_ptr<const runtime::CudaModule>> module =
      runtime::CudaModule::load(*bundle, *context);
  if (!module.ok())
    return module.status();
  Result<const PlanFunction *> function =
      (*module)->getPlan().find(options.entry);
  if (!function.ok())
    return function.status();
  for (Status status : {checkCounts(options, **function),
                        checkOutputPaths(options.outputs, options.inputs,
                                         options.bundle, "bundle")})
    if (!status.ok())
      return status;
  Result<std::vector<NpyArray>> arguments = readInputs(options);
  if (!arguments.ok())
    return arguments.status();
  runtime::CudaTimes times;
  runtime::RankFunction overRanks;
  if (options.oneRank)
    overRanks = runtime::reduceOneRank;
  Result<std::vector<NpyArray>> results = runtime::runOnCuda(
      **module, **function, *arguments, options.repeat, overRanks, times);
  if (!results.ok())
    return results.status();
  std::vector<runtime::NpyOutput> files;
  files.reserve(results->size());
  for (size_t i = 0; i < results->size(); ++i)
    files.push_back({options.outputs[i], &(*results)[i]});
  Status written = runtime::writeNpyFiles(files);
  if (written.ok() && options.printTime)
    std::printf("seconds %.9f\nmedian %.9f\n", times.fastest, times.median);
  return written;
}

static Status parseAndRun(int argc, char **argv) {
  Result<Options> options = launch::parseOptions(argc, argv);
  if (!options.ok())
    return options.status();
  if (options->help)
    std::fputs(launch::kHelp, stdout);
  else if (options->version)
    std::puts("blockscale-launch " BLOCKSCALE_VERSION);
  else
    return run(*options);
  return Status::success();
}

int blockscale::tools::launch(int argc, char **argv) {
  Status status = parseAndRun(argc, argv);
  if (status.ok())
    return 0;
  std::fprintf(stderr, "blockscale-launch: error: %s\n",
               status.message().c_str());
  return 1;
}
