//===- blockscale-report.cpp - What a policy does to a model --------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Assessment.h"
#include "Assignment.h"
#include "Calibration.h"
#include "ModuleTool.h"
#include "Rendering.h"
#include "Tools.h"

#include "blockscale/Driver/Bytecode.h"
#include "blockscale/Driver/Executable.h"
#include "blockscale/Runtime/FileOutput.h"
#include "blockscale/Runtime/JsonReader.h"

#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FormatVariadic.h"

#include <cmath>
#include <optional>

using namespace mlir;
using namespace blockscale;
using namespace blockscale::report;
using blockscale::runtime::NpyArray;
using blockscale::runtime::Result;
using blockscale::runtime::Status;
namespace cl = llvm::cl;

namespace {

/// The options. Only the program registers them, since another one in the same
/// library may have options of these names.
struct CommandLine {
  cl::OptionCategory category{"blockscale-report options"};
  cl::opt<std::string> inputFile{cl::Positional, cl::Required,
                                 cl::desc("<module.mlir>"), cl::cat(category)};
  cl::opt<std::string> policyFile{
      "policy", cl::desc("Policy of the products (docs/Policy.md)"),
      cl::value_desc("file.json"), cl::cat(category)};
  cl::opt<std::string> format{
      "format",
      cl::desc("Format of each product with a weight, in the place of a "
               "policy"),
      cl::value_desc("name"), cl::cat(category)};
  cl::list<std::string> inputs{
      "in",
      cl::desc("One .npy file for each argument, in order; then those of "
               "the next example. Without any, nothing is measured"),
      cl::value_desc("file"), cl::cat(category)};
  cl::opt<std::string> entry{
      "entry", cl::desc("Function (default: the only public one)"),
      cl::value_desc("name"), cl::cat(category)};
  cl::opt<std::string> gpuName{
      "gpu", cl::desc("GPU of the times (default B200)"),
      cl::value_desc("name"), cl::init("B200"), cl::cat(category)};
  cl::list<int64_t> sizes{
      "dynamic-sizes", cl::CommaSeparated,
      cl::desc(
          "Sizes of the dynamic dimensions of the arguments, in order, for "
          "times (default: those of the first example)"),
      cl::value_desc("n,..."), cl::cat(category)};
  cl::list<std::string> search{
      "search", cl::CommaSeparated,
      cl::desc("Formats among which the cheapest for each product is "
               "searched"),
      cl::value_desc("name,..."), cl::cat(category)};
  cl::opt<double> loss{
      "loss",
      cl::desc("Decibels of the signal to noise ratio that the search may "
               "lose against the best formats (default 3)"),
      cl::value_desc("dB"), cl::init(3), cl::cat(category)};
  cl::opt<std::string> writtenPolicy{
      "write-policy", cl::desc("Write what the search finds as a policy"),
      cl::value_desc("file.json"), cl::cat(category)};
  cl::opt<std::string> writtenAmaxes{
      "write-amaxes",
      cl::desc("Write the amaxes of activations, which a policy reads "
               "(docs/Policy.md)"),
      cl::value_desc("file.json"), cl::cat(category)};
  cl::opt<std::string> plot{"plot",
                            cl::desc("Draw the signal to noise ratios (SVG)"),
                            cl::value_desc("file.svg"), cl::cat(category)};
  cl::opt<std::string> bytecodeReader{
      "bytecode-reader",
      cl::desc("blockscale-read-bytecode to use, instead of a search"),
      cl::value_desc("file"), cl::cat(category)};
};

} // namespace

static std::optional<CommandLine> cli;

static constexpr const char *kOverview =
    "Says what a policy does to the products of a function\n\n"
    "  blockscale-report m.mlir --policy=p.json --in x.npy --gpu=B200\n"
    "  blockscale-report m.mlir --format=nvfp4 --in x.npy --loss=2 "
    "--search=nvfp4,mxfp8 --write-policy=p.json\n"
    "  blockscale-report m.mlir --policy=p.json --in x.npy "
    "--write-amaxes=a.json\n\n"
    "For each product that is quantized: bytes of its weight, least time by "
    "the roofline of\ndocs/CostModel.md, and the signal to quantization noise "
    "on the examples, of this product\nalone: its operands are those of the "
    "plain function. For each other one the reason.\n\n"
    "Exit status: 0 success, 1 an error in the module, its arguments or the "
    "options.\n";

static llvm::Error toError(const Status &status) {
  return status.ok() ? llvm::Error::success()
                     : llvm::createStringError(status.message());
}

//===----------------------------------------------------------------------===//
// Options
//===----------------------------------------------------------------------===//

static Status checkOptions() {
  if (!target::findGpu(cli->gpuName.getValue()))
    return Status::failure("expected --gpu to be one of " + target::listGpus() +
                           ", but got '" + cli->gpuName + "'");
  for (int64_t size : cli->sizes)
    if (size <= 0)
      return Status::failure("expected --dynamic-sizes to be positive, but "
                             "got " +
                             std::to_string(size));
  for (const std::string &name : cli->search)
    if (!findFormat(name))
      return Status::failure("expected --search to be of " +
                             runtime::joinNames(listFormats()) + ", but got '" +
                             name + "'");
  auto check = [](const cl::Option &option, bool hasEffect, StringRef what) {
    if (!option.getNumOccurrences() || hasEffect)
      return Status::success();
    return Status::failure(
        ("expected --" + option.ArgStr + " with " + what).str());
  };
  for (const Status &status :
       {check(cli->loss, !cli->search.empty(), "--search"),
        check(cli->writtenPolicy, !cli->search.empty(), "--search"),
        check(cli->search, !cli->inputs.empty(), "examples (--in)"),
        check(cli->writtenAmaxes, !cli->inputs.empty(), "examples (--in)"),
        check(cli->plot, !cli->inputs.empty(), "examples (--in)")})
    if (!status.ok())
      return status;
  if (!(cli->loss >= 0) || std::isinf(cli->loss))
    return Status::failure(
        "expected --loss to be 0 or more decibels, but got " +
        llvm::formatv("{0}", cli->loss.getValue()).str());
  return Status::success();
}

/// The examples, whose arrays must be arguments of the function.
static Result<Examples> readExamples(const Signature &signature) {
  size_t count = signature.arguments.size();
  if (count == 0 ? !cli->inputs.empty() : cli->inputs.size() % count != 0)
    return Status::failure("expected a multiple of " + std::to_string(count) +
                           " --in, one for each argument of @" +
                           signature.name + ", but got " +
                           std::to_string(cli->inputs.size()));
  Examples examples;
  for (auto [number, path] : llvm::enumerate(cli->inputs)) {
    if (number % count == 0)
      examples.emplace_back();
    Result<NpyArray> array = runtime::readNpy(path);
    if (!array.ok())
      return array.status();
    examples.back().push_back(std::move(*array));
    ArrayView view = getViews(examples.back()).back();
    Status status = checkArgument(signature.arguments[number % count], view,
                                  /*isRead=*/true);
    if (!status.ok())
      return Status::failure("argument " + std::to_string(number % count) +
                             " of @" + signature.name + " ('" + path +
                             "'): " + status.message());
  }
  return examples;
}

/// The sizes of dynamic dimensions: those of the option, or of an example.
static std::vector<int64_t> getSizes(const Signature &signature,
                                     const Examples &examples) {
  if (!cli->sizes.empty() || examples.empty())
    return {cli->sizes.begin(), cli->sizes.end()};
  std::vector<int64_t> found;
  for (auto [slot, array] :
       llvm::zip_equal(signature.arguments, examples.front()))
    for (auto [size, actual] : llvm::zip_equal(slot.shape, array.shape))
      if (ShapedType::isDynamic(size))
        found.push_back(actual);
  return found;
}

//===----------------------------------------------------------------------===//
// The search
//===----------------------------------------------------------------------===//

/// Gives each decision with a form that of `format`, or none where that does
/// not suit it.
static void useFormat(std::vector<ProductDecision> &decisions,
                      const numerics::BlockFormat &format) {
  ProductForm form = *getUniformPolicy(format).rules.front().form;
  for (ProductDecision &decision : decisions) {
    if (!decision.form)
      continue;
    decision.obstacle =
        findFormObstacle(decision, form, /*leavesNarrow=*/false);
    decision.form = form;
    if (decision.obstacle)
      decision.form.reset();
  }
}

/// The number of a format of the search for each product, 0 for those without
/// one.
static Result<std::vector<size_t>>
findFormats(const Subject &subject, const QuantizationPolicy &policy) {
  std::vector<std::vector<std::optional<Candidate>>> candidates;
  for (const std::string &name : cli->search) {
    Result<std::vector<Product>> products =
        assess(subject, policy, [&](auto &decisions) {
          useFormat(decisions, *findFormat(name));
        });
    if (!products.ok())
      return products.status();
    candidates.resize(products->size());
    for (auto [product, of] : llvm::zip_equal(*products, candidates)) {
      Candidate candidate{product.seconds, product.getNoise()};
      bool isKnown = product.isQuantized() &&
                     std::isfinite(candidate.seconds) &&
                     std::isfinite(candidate.noise);
      of.push_back(isKnown ? std::optional(candidate) : std::nullopt);
    }
  }
  std::vector<size_t> numbers, result(candidates.size());
  std::vector<std::vector<std::optional<Candidate>>> possible;
  for (auto [number, of] : llvm::enumerate(candidates))
    if (llvm::any_of(of, [](const auto &each) { return each.has_value(); })) {
      numbers.push_back(number);
      possible.push_back(of);
    }
  for (auto [number, choice] :
       llvm::zip_equal(numbers, assignCheapest(possible, cli->loss)))
    result[number] = choice;
  return result;
}

/// What the search changes of decisions.
static Result<Adjust> getAdjustment(const Subject &subject,
                                    const QuantizationPolicy &policy) {
  if (cli->search.empty())
    return Adjust([](std::vector<ProductDecision> &) {});
  Result<std::vector<size_t>> formats = findFormats(subject, policy);
  if (!formats.ok())
    return formats.status();
  return Adjust([formats = *formats](std::vector<ProductDecision> &decisions) {
    std::vector<ProductDecision> changed = decisions;
    for (auto [number, name] : llvm::enumerate(cli->search)) {
      std::vector<ProductDecision> candidate = decisions;
      useFormat(candidate, *findFormat(name));
      for (size_t i = 0; i < decisions.size(); ++i)
        if (formats[i] == number)
          changed[i] = candidate[i];
    }
    decisions = std::move(changed);
  });
}

//===----------------------------------------------------------------------===//
// Output
//===----------------------------------------------------------------------===//

/// Names of quantized products, which a policy tells apart.
static Status checkNames(ArrayRef<Product> products) {
  llvm::StringSet<> names;
  for (const Product &product : products)
    if (product.isQuantized() && !names.insert(product.name).second)
      return Status::failure("expected products with different names for "
                             "--write-policy, but got '" +
                             product.name + "' twice");
  return Status::success();
}

static Status writeReport(const Subject &subject,
                          const QuantizationPolicy &policy) {
  Result<Adjust> adjust = getAdjustment(subject, policy);
  if (!adjust.ok())
    return adjust.status();
  Result<std::vector<Product>> products = assess(subject, policy, *adjust);
  if (!products.ok())
    return products.status();
  Calibration calibration;
  if (!cli->writtenAmaxes.empty()) {
    Result<Calibration> found = calibrate(subject, policy, *adjust);
    if (!found.ok())
      return found.status();
    calibration = std::move(*found);
  }
  std::vector<double> results;
  if (subject.examples) {
    Result<std::vector<double>> compared =
        compareResults(subject, policy, *adjust);
    if (!compared.ok())
      return compared.status();
    results = std::move(*compared);
  }
  Status status =
      cli->writtenPolicy.empty() ? Status::success() : checkNames(*products);
  if (status.ok() && !cli->writtenPolicy.empty())
    status = runtime::writeFileAtomically(cli->writtenPolicy,
                                          writePolicy(*products));
  if (status.ok() && !cli->writtenAmaxes.empty())
    status = runtime::writeFileAtomically(cli->writtenAmaxes,
                                          writeAmaxes(calibration.amaxes));
  if (status.ok() && !cli->plot.empty())
    status = runtime::writeFileAtomically(cli->plot, drawNoise(*products));
  if (!status.ok())
    return status;
  printTable(*products, *subject.gpu, llvm::outs());
  for (const std::string &name : calibration.left)
    llvm::outs() << name << " has no amax: expected a product outside of loops "
                 << "and branches, but got one in them\n";
  for (auto [number, sqnr] : llvm::enumerate(results))
    if (!std::isnan(sqnr))
      llvm::outs() << "result " << number << ", all products quantized: "
                   << llvm::formatv("{0:F1}", sqnr) << " dB\n";
  return Status::success();
}

static llvm::Error run(MLIRContext &context, llvm::SourceMgr &sources) {
  Status status = checkOptions();
  if (!status.ok())
    return toError(status);
  Result<QuantizationPolicy> policy =
      choosePolicy(cli->policyFile, cli->format);
  if (!policy.ok())
    return toError(policy.status());
  OwningOpRef<ModuleOp> module =
      readModule(cli->inputFile, sources, context, cli->bytecodeReader);
  if (!module)
    return llvm::createStringError("'" + cli->inputFile +
                                   "' could not be read");
  context.loadAllAvailableDialects();
  Result<func::FuncOp> function = findEntry(*module, cli->entry);
  if (!function.ok())
    return toError(function.status());
  Result<Signature> signature = getSignature(*function);
  if (!signature.ok())
    return toError(signature.status());
  Result<Examples> examples = readExamples(*signature);
  if (!examples.ok())
    return toError(examples.status());
  Subject subject{*module, signature->name,
                  target::findGpu(cli->gpuName.getValue()),
                  examples->empty() ? nullptr : &*examples,
                  getSizes(*signature, *examples)};
  return toError(writeReport(subject, *policy));
}

int blockscale::tools::report(int argc, char **argv) {
  cli.emplace();
  return runModuleTool(argc, argv, "blockscale-report", kOverview,
                       cli->category, ::run);
}
