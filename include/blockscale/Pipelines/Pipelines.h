//===- Pipelines.h - From a module to a target ------------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A pipeline is a list of named stages. Each stage's output is valid IR, so a
// dump after any of them can be edited and fed to the next.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_PIPELINES_PIPELINES_H
#define BLOCKSCALE_PIPELINES_PIPELINES_H

#include "blockscale/Analysis/Recompute.h"
#include "blockscale/Analysis/TransformSizes.h"
#include "blockscale/Transforms/FoldConstants.h"

#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassOptions.h"

#include <functional>
#include <string>
#include <vector>

namespace blockscale {

struct FormKernelsOptions;

/// One step of a pipeline, on a builtin module.
struct Stage {
  std::string name;
  std::function<void(mlir::OpPassManager &)> build;
};

/// Options of every pipeline. `from` and `to` are for IR that a dump wrote; by
/// default all stages run.
template <typename Derived>
class CommonOptions : public mlir::PassPipelineOptions<Derived> {
protected:
  template <typename T>
  using Option =
      typename mlir::PassPipelineOptions<Derived>::template Option<T>;
  template <typename T>
  using ListOption =
      typename mlir::PassPipelineOptions<Derived>::template ListOption<T>;

public:
  Option<std::string> from{*this, "from", llvm::cl::desc("First stage to run")};
  Option<std::string> to{*this, "to", llvm::cl::desc("Last stage to run")};
  Option<int64_t> maxConstantElements{
      *this, "max-constant-elements",
      llvm::cl::desc("Most elements of a constant that is quantized at compile "
                     "time"),
      llvm::cl::init(kMaxConstantElements)};
  Option<bool> checks{
      *this, "checks",
      llvm::cl::desc("Check at run time that sizes and indices of plain ops, "
                     "and the sizes of results, fit; 0 is for callers who have "
                     "proved that they do"),
      llvm::cl::init(true)};

private:
  friend Derived;
  CommonOptions() = default;
};

struct ToCPUOptions : public CommonOptions<ToCPUOptions> {
  Option<bool> hostRuntime{
      *this, "host-runtime",
      llvm::cl::desc("Call the embedder's blockscale_parallel_for, "
                     "blockscale_report_error and "
                     "blockscale_reduce_over_ranks; otherwise define serial, "
                     "weak ones in the module"),
      llvm::cl::init(true)};
};

struct ToGPUOptions : public CommonOptions<ToGPUOptions> {
  Option<std::string> chip{*this, "chip",
                           llvm::cl::desc("GPU to generate code for"),
                           llvm::cl::init("sm_90a")};
  Option<bool> fuse{*this, "fuse",
                    llvm::cl::desc("Let kernels have several ops"),
                    llvm::cl::init(true)};
  Option<Recompute> recompute{
      *this, "recompute",
      llvm::cl::desc("Whether both of two passes over x compute what makes it"),
      llvm::cl::init(Recompute::Model), getRecomputeValues()};
  Option<TransformSizes> transforms{
      *this, "transforms",
      llvm::cl::desc("Which transforms the kernels that quantize them compute"),
      llvm::cl::init(TransformSizes::Any), getTransformSizesValues()};
  ListOption<int64_t> dynamicSizes{
      *this, "dynamic-sizes",
      llvm::cl::desc("Assumed sizes of the dynamic dimensions of a function's "
                     "arguments, in order, for estimates; the last one serves "
                     "all that follow")};
  Option<bool> branchOnRows{
      *this, "branch-on-rows",
      llvm::cl::desc("Choose tiles of products by the rows of each call where "
                     "types do not have them"),
      llvm::cl::init(true)};
  Option<bool> overlapLaunches{
      *this, "overlap-launches",
      llvm::cl::desc("Let launches begin before those before them have ended "
                     "(programmatic dependent launch), on chips that can"),
      llvm::cl::init(false)};
  Option<std::string> tuned{
      *this, "tuned",
      llvm::cl::desc("Folder of measured choices of schedules, which go before "
                     "the model's")};
  Option<unsigned> candidates{
      *this, "candidates",
      llvm::cl::desc("Most schedules of a product to record with their "
                     "predicted times"),
      llvm::cl::init(0)};
};

/// Tensors to storage-form tensors in kernels: verify-layout, canonicalize,
/// form-kernels, materialize-storage, bufferize.
std::vector<Stage> getCommonStages(int64_t maxConstantElements, bool checks,
                                   const FormKernelsOptions &kernels);

/// A module of the dialect to the LLVM dialect for the host.
std::vector<Stage> getToCPUStages(const ToCPUOptions &options);

/// A module of the dialect to gpu.launch_func and a gpu.module of NVVM, for any
/// chip of the table. `blockscale-to-sm100` is this for chips with tcgen05.
std::vector<Stage> getToGPUStages(const ToGPUOptions &options);

/// The stages of getToGPUStages for the chip of that name, whose other options
/// have their defaults.
std::vector<Stage> getToGPUStages(llvm::StringRef chip);

/// Registers the project's passes and the pipelines `blockscale-to-cpu`,
/// `blockscale-to-gpu` and `blockscale-to-sm100`, whose options `from` and `to`
/// name stages.
void registerAllPasses();

/// The dialect with its interfaces, for programs that have upstream's.
void registerDialect(mlir::DialectRegistry &registry);

/// The dialect, those of upstream that modules may have which the pipelines
/// take, and every interface that the pipelines need.
void registerPipelineDialects(mlir::DialectRegistry &registry);

/// Passes of upstream on these dialects, for tools that have no others.
void registerPipelineDialectPasses();

/// These dialects and all other dialects and interfaces of upstream, for tools
/// with passes of upstream.
void registerAllDialects(mlir::DialectRegistry &registry);

} // namespace blockscale

#endif // BLOCKSCALE_PIPELINES_PIPELINES_H
