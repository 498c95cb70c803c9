//===- Compile.cpp - Compile modules, from C ------------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale-c/Compile.h"

#include "Output.h"
#include "Source.h"

#include "blockscale/Driver/Compile.h"
#include "blockscale/Driver/FunctionCache.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace blockscale;
using namespace blockscale::capi;
using blockscale::runtime::Result;
using blockscale::runtime::Status;

static std::string print(ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream os(text);
  module.print(os);
  os << "\n";
  return text;
}

namespace {

/// Keeps the stages, where the configuration asks for them.
class Observer : public ProgressObserver {
public:
  Observer(const blockscale_compile_config &config,
           std::vector<blockscale_output::Stage> &stages)
      : ProgressObserver(config.on_progress, config.user),
        isKept(config.keep_stages != 0), stages(stages) {}

  Status dump(ModuleOp module, size_t, const std::string &stage) override {
    if (!isKept)
      return Status::success();
    stages.push_back({stage, print(module)});
    return Status::success();
  }

private:
  bool isKept;
  std::vector<blockscale_output::Stage> &stages;
};

} // namespace

static Result<CompileOptions>
getOptions(const blockscale_compile_config &config) {
  CompileOptions options;
  if (config.target_count && !config.targets)
    return Status::failure("expected targets to be a pointer, but got null");
  for (size_t i = 0; i < config.target_count; ++i) {
    if (!config.targets[i])
      return Status::failure("expected targets[" + std::to_string(i) +
                             "] to be a name, but got null");
    options.targets.push_back(config.targets[i]);
  }
  auto emission = static_cast<unsigned>(config.emission);
  if (emission > BLOCKSCALE_EMIT_OBJECT)
    return Status::failure("expected emission to be from 0 to " +
                           std::to_string(BLOCKSCALE_EMIT_OBJECT) +
                           ", but got " + std::to_string(emission));
  options.emission = static_cast<Emission>(emission);
  if (config.cpu)
    options.host.cpu = config.cpu;
  if (config.features)
    options.host.features = config.features;
  if (config.ptxas)
    options.ptxas = config.ptxas;
  if (config.tuned)
    options.tuned = config.tuned;
  options.fuse = !config.no_fusion;
  options.checks = !config.no_checks;
  options.machineCode = config.machine_code != 0;
  options.overlapLaunches = config.overlap_launches != 0;
  Status status = checkOptions(options);
  if (!status.ok())
    return status;
  return options;
}

static_assert(static_cast<int>(Emission::Bundle) == BLOCKSCALE_EMIT_BUNDLE);
static_assert(static_cast<int>(Emission::Object) == BLOCKSCALE_EMIT_OBJECT);

/// What is compiled, as "bundle for sm_90a".
static std::string describe(const CompileOptions &options) {
  return (getName(options.emission) + " for " +
          llvm::join(options.targets, ",") +
          (options.machineCode ? ", with machine code" : ""))
      .str();
}

/// What a cache has an output under; nothing where no cache may be used.
/// Remarks and stages come of compilation, and a cubin also of ptxas.
static std::optional<std::string>
findKey(StringRef content, const std::string &name,
        const blockscale_compile_config &config,
        const CompileOptions &options) {
  if (config.remarks || config.keep_stages ||
      options.emission == Emission::MLIR || options.emission == Emission::Cubin)
    return std::nullopt;
  CacheInputs inputs;
  inputs.source = content;
  inputs.name = name;
  inputs.target = describe(options);
  inputs.fuse = options.fuse;
  inputs.checks = options.checks;
  inputs.overlapLaunches = options.overlapLaunches;
  inputs.tuned = options.tuned;
  inputs.policy = config.policy ? config.policy : "";
  if (options.targets.front() == "cpu") {
    llvm::Expected<std::string> cpu = describeCpu(options.host);
    if (!cpu) {
      llvm::consumeError(cpu.takeError());
      return std::nullopt;
    }
    inputs.cpu = *cpu;
  }
  return computeCacheKey(inputs);
}

static Status compileSource(StringRef content, const std::string &name,
                            const blockscale_compile_config &config,
                            const CompileOptions &options,
                            blockscale_output &output) {
  Source source(config.on_diagnostic, config.user);
  Status status = config.remarks ? source.enableRemarks() : Status::success();
  if (status.ok())
    status = source.parse(content, name, config.bytecode_reader);
  if (status.ok())
    status = source.quantize(config.policy);
  if (!status.ok())
    return status;
  Observer observer(config, output.stages);
  Result<Compilation> compiled =
      blockscale::compile(source.getModule(), options, observer);
  if (!compiled.ok())
    return source.explain(compiled.status());
  output.data = std::move(compiled->output);
  return Status::success();
}

/// Takes the output from the cache, or compiles it and puts it there.
static Status compileOrFind(StringRef content, const std::string &name,
                            const blockscale_compile_config &config,
                            blockscale_output *&output) {
  Result<CompileOptions> options = getOptions(config);
  if (!options.ok())
    return options.status();
  auto made = std::make_unique<blockscale_output>();
  std::optional<FunctionCache> cache = FunctionCache::open();
  std::optional<std::string> key =
      cache ? findKey(content, name, config, *options) : std::nullopt;
  std::optional<SavedFunction> saved = key ? cache->find(*key) : std::nullopt;
  if (saved && isOutput(saved->code, options->emission)) {
    made->data = std::move(saved->code);
  } else {
    Status status = compileSource(content, name, config, *options, *made);
    if (!status.ok())
      return status;
    if (key)
      cache->store({describe(*options), {}, {}, *key, made->data}, name);
  }
  output = made.release();
  return Status::success();
}

blockscale_status blockscale_set_cache_owners(const char *users) {
  if (!users) {
    setCacheOwners(std::nullopt);
    return BLOCKSCALE_OK;
  }
  Result<runtime::TrustedOwners> owners = runtime::TrustedOwners::parse(users);
  if (owners.ok())
    setCacheOwners(*owners);
  return runtime::report(owners.status());
}

blockscale_compile_config blockscale_compile_config_default() {
  return getDefault<blockscale_compile_config>();
}

blockscale_status blockscale_compile(const void *source, size_t size,
                                     const blockscale_compile_config *config,
                                     blockscale_output **output) {
  return onSource(source, size, config, {"output", output},
                  [&](StringRef content, const std::string &name,
                      const blockscale_compile_config &read) {
                    return compileOrFind(content, name, read, *output);
                  });
}

blockscale_status
blockscale_compile_file(const char *path,
                        const blockscale_compile_config *config,
                        blockscale_output **output) {
  return onFile(path, config, {"output", output},
                [&](StringRef content, const std::string &name,
                    const blockscale_compile_config &read) {
                  return compileOrFind(content, name, read, *output);
                });
}

static Status verify(StringRef content, const std::string &name,
                     const blockscale_compile_config &config,
                     blockscale_output *&output) {
  Source source(config.on_diagnostic, config.user);
  Status status = source.parse(content, name, config.bytecode_reader);
  if (!status.ok())
    return status;
  auto made = std::make_unique<blockscale_output>();
  made->data = print(source.getModule());
  output = made.release();
  return status;
}

blockscale_status blockscale_verify(const void *source, size_t size,
                                    const blockscale_compile_config *config,
                                    blockscale_output **output) {
  return onSource(source, size, config, {"output", output},
                  [&](StringRef content, const std::string &name,
                      const blockscale_compile_config &read) {
                    return verify(content, name, read, *output);
                  });
}

blockscale_status
blockscale_check_nesting(const void *source, size_t size,
                         const blockscale_compile_config *config) {
  return onSource(source, size, config, {"source", source},
                  [&](StringRef content, const std::string &name,
                      const blockscale_compile_config &read) {
                    return Source(read.on_diagnostic, read.user)
                        .checkNesting(content, name);
                  });
}

void blockscale_output_destroy(blockscale_output *output) { delete output; }

const void *blockscale_output_data(const blockscale_output *output) {
  return output ? output->data.c_str() : nullptr;
}

size_t blockscale_output_size(const blockscale_output *output) {
  return output ? output->data.size() : 0;
}

size_t blockscale_output_stage_count(const blockscale_output *output) {
  return output ? output->stages.size() : 0;
}

const char *blockscale_output_stage_name(const blockscale_output *output,
                                         size_t number) {
  return number < blockscale_output_stage_count(output)
             ? output->stages[number].name.c_str()
             : nullptr;
}

const char *blockscale_output_stage_text(const blockscale_output *output,
                                         size_t number) {
  return number < blockscale_output_stage_count(output)
             ? output->stages[number].text.c_str()
             : nullptr;
}
