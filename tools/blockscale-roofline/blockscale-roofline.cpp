//===- blockscale-roofline.cpp - Speed-up of linear layers ----------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Report.h"
#include "ToolOptions.h"
#include "Tools.h"

#include "blockscale/Runtime/FileOutput.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/WithColor.h"

#include <optional>

namespace cl = llvm::cl;
using namespace blockscale;
using namespace blockscale::roofline;

static constexpr const char *kOverview =
    "Prints how fast a linear layer could be: x [M, K] quantized and "
    "multiplied by a\nquantized weight [N, K], against bf16\n\n"
    "  blockscale-roofline\n"
    "  blockscale-roofline --gpu=B300 --model=exact --recipe=mxfp8,nvfp4 "
    "--shape=4096,8192x5120x7168\n"
    "  blockscale-roofline --plot=speedup.svg\n\n"
    "Without options these are the formulas and the table of "
    "pytorch/ao#4188: GB200, with a\nglobal scale and without. "
    "docs/CostModel.md says what is counted.\n\n"
    "Exit status: 0 success, 1 an error\n";

namespace {

enum class Format { Text, Csv };

/// The options. Only the program registers them, since another one in the same
/// library may have options of these names.
struct CommandLine {
  cl::OptionCategory category{"blockscale-roofline options"};
  cl::opt<std::string> gpuName{"gpu", cl::desc("GPU (default GB200)"),
                               cl::value_desc("name"), cl::init("GB200"),
                               cl::cat(category)};
  cl::opt<std::string> modelName{
      "model",
      cl::desc("How bytes are counted: torchao (its formulas, "
               "default) or exact (what memory holds)"),
      cl::value_desc("name"), cl::init("torchao"), cl::cat(category)};
  cl::list<std::string> recipeNames{
      "recipe", cl::CommaSeparated,
      cl::desc("mxfp8, mxfp4, nvfp4, nvfp4_static or "
               "nvfp4_no_global_scale (default the first and the "
               "last nvfp4)"),
      cl::value_desc("name,.."), cl::cat(category)};
  cl::list<std::string> shapeTexts{
      "shape", cl::CommaSeparated,
      cl::desc(
          "Sizes, MxKxN or one number for all three (default 1024 to 16384)"),
      cl::value_desc("size,.."), cl::cat(category)};
  cl::opt<Format> outputFormat{
      "format", cl::desc("What to print:"),
      cl::values(clEnumValN(Format::Text, "text",
                            "the formulas and a table (default)"),
                 clEnumValN(Format::Csv, "csv", "seconds with all digits")),
      cl::init(Format::Text), cl::cat(category)};
  cl::opt<std::string> plotFile{"plot",
                                cl::desc("Also draw the speed-ups, as SVG"),
                                cl::value_desc("file.svg"), cl::cat(category)};
};

} // namespace

static std::optional<CommandLine> cli;

static llvm::Error expected(const llvm::Twine &rule, llvm::StringRef found) {
  return llvm::createStringError("expected " + rule + ", but got '" + found +
                                 "'");
}

static llvm::Expected<LinearShape> parseShape(llvm::StringRef text) {
  llvm::SmallVector<llvm::StringRef> parts;
  text.split(parts, 'x');
  llvm::SmallVector<double> sizes;
  for (llvm::StringRef part : parts) {
    int64_t size = 0;
    if (part.getAsInteger(10, size) || size <= 0)
      break;
    sizes.push_back(size);
  }
  if (sizes.size() != parts.size() || (sizes.size() != 1 && sizes.size() != 3))
    return expected("--shape to be a positive size or MxKxN", text);
  return LinearShape{sizes.front(), sizes[sizes.size() / 2], sizes.back()};
}

static llvm::Expected<Comparison> getComparison() {
  Comparison comparison;
  comparison.gpu = target::findGpu(cli->gpuName.getValue());
  if (!comparison.gpu)
    return expected("--gpu to be one of " + target::listGpus(), cli->gpuName);
  std::optional<Model> model = findModel(cli->modelName);
  if (!model)
    return expected("--model to be one of " + listModels(), cli->modelName);
  comparison.model = *model;
  std::vector<std::string> recipes = cli->recipeNames;
  if (recipes.empty())
    recipes = {"nvfp4", "nvfp4_no_global_scale"};
  for (const std::string &name : recipes) {
    const LinearRecipe *recipe = findLinearRecipe(name);
    if (!recipe)
      return expected("--recipe to be some of " + listLinearRecipes(), name);
    if (!llvm::is_contained(comparison.recipes, recipe))
      comparison.recipes.push_back(recipe);
  }
  std::vector<std::string> shapes = cli->shapeTexts;
  if (shapes.empty())
    shapes = {"1024", "2048", "4096", "8192", "16384"};
  for (const std::string &text : shapes) {
    llvm::Expected<LinearShape> shape = parseShape(text);
    if (!shape)
      return shape.takeError();
    comparison.shapes.push_back(*shape);
  }
  return comparison;
}

static llvm::Error run() {
  if (!cli->plotFile.empty() &&
      !llvm::StringRef(cli->plotFile).ends_with(".svg"))
    return expected("--plot to be a file with the ending .svg", cli->plotFile);
  llvm::Expected<Comparison> comparison = getComparison();
  if (!comparison)
    return comparison.takeError();
  const target::Gpu &gpu = *comparison->gpu;
  if (!cli->plotFile.empty()) {
    runtime::Status written =
        runtime::writeFileAtomically(cli->plotFile, drawSpeedups(*comparison));
    if (!written.ok())
      return llvm::createStringError(written.message());
  }
  if (cli->outputFormat == Format::Csv) {
    printCsv(*comparison, llvm::outs());
    return llvm::Error::success();
  }
  llvm::outs() << gpu.name << ", model " << getName(comparison->model)
               << "\n\n";
  printFormulas(*comparison, llvm::outs());
  llvm::outs() << "\n";
  printTable(*comparison, llvm::outs());
  llvm::SmallSetVector<target::Unit, 2> missing;
  for (const LinearRecipe *recipe : comparison->recipes)
    if (!gpu.has(recipe->unit))
      missing.insert(recipe->unit);
  llvm::StringRef start = "\n- : ";
  for (target::Unit unit : missing) {
    llvm::outs() << start << gpu.name << " has no "
                 << target::describeUnit(unit) << "; " << target::listGpus(unit)
                 << " have\n";
    start = "- : ";
  }
  return llvm::Error::success();
}

int blockscale::tools::roofline(int argc, char **argv) {
  cli.emplace();
  llvm::InitLLVM init(argc, argv);
  setToolVersion("blockscale-roofline");
  cl::HideUnrelatedOptions(cli->category);
  cl::ParseCommandLineOptions(argc, argv, kOverview);
  if (llvm::Error error = ::run()) {
    llvm::WithColor::error(llvm::errs(), "blockscale-roofline")
        << llvm::toString(std::move(error)) << "\n";
    return 1;
  }
  return 0;
}
