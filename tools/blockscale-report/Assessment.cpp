//===- Assessment.cpp - What quantization of products costs ---------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Assessment.h"
#include "Subject.h"

#include "blockscale/Analysis/Cost/CostModel.h"
#include "blockscale/IR/TypeRules.h"
#include "blockscale/Numerics/Codec.h"
#include "blockscale/Transforms/MeasureProducts.h"

#include "llvm/Support/ScopedPrinter.h"

#include <cmath>

using namespace mlir;
using blockscale::runtime::NpyArray;
using blockscale::runtime::NpyType;
using blockscale::runtime::Result;

namespace blockscale::report {

double Product::getSqnr() const { return -10 * std::log10(getNoise()); }

namespace {

/// The ops that a rewrite inserts, in order.
struct Insertions : public RewriterBase::Listener {
  void notifyOperationInserted(Operation *op, OpBuilder::InsertPoint) override {
    ops.push_back(op);
  }

  SmallVector<Operation *> ops;
};

} // namespace

//===----------------------------------------------------------------------===//
// Bytes and seconds
//===----------------------------------------------------------------------===//

static double toUnknown(llvm::Error error) {
  llvm::consumeError(std::move(error));
  return kUnknown;
}

static double countBytes(Value tensor, CostModel &model) {
  auto shape = model.getShape(tensor);
  if (!shape)
    return toUnknown(shape.takeError());
  auto type = cast<RankedTensorType>(tensor.getType());
  auto stored = cast<RankedTensorType>(
      getStorageType(RankedTensorType::get(*shape, type.getElementType())));
  return double(stored.getNumElements()) * stored.getElementTypeBitWidth() / 8;
}

/// The plain product on tensor cores for 16 bits, or on lanes of f32 where its
/// operands are wider.
static double getPlainSeconds(const ProductDecision &decision,
                              CostModel &model) {
  const MatrixProduct &product = decision.product;
  Work work;
  double size = 1;
  for (unsigned loop = 0; loop < product.sizes.size(); ++loop) {
    // A size is that of a dimension of either factor.
    double found = kUnknown;
    for (const ProductFactor *factor : {&product.a, &product.b})
      for (auto [dim, of] : llvm::enumerate(factor->loops)) {
        if (of != loop)
          continue;
        auto shape = model.getShape(factor->source);
        if (!shape)
          return toUnknown(shape.takeError());
        found = double((*shape)[dim]);
      }
    // A loop over no dimension has one iteration.
    size *= std::isnan(found) ? 1 : found;
  }
  bool isNarrow = true;
  for (const ProductFactor *factor : {&product.a, &product.b}) {
    work.bytes += countBytes(factor->source, model);
    isNarrow &= !factor->getElementType().isF32();
  }
  work.bytes += countBytes(decision.op->getResult(0), model);
  work.flopsOf(isNarrow ? target::Unit::Bf16 : target::Unit::F32) = 2 * size;
  auto cost = model.getCost(work);
  return cost ? cost->seconds : toUnknown(cost.takeError());
}

/// Adds the bytes of the weight and the seconds of what `ops` compute at each
/// call. What is computed of weights alone is done once.
static void addCosts(ArrayRef<Operation *> ops, CostModel &model,
                     Product &report) {
  SmallPtrSet<Operation *, 8> once;
  report.seconds = 0;
  for (Operation *op : ops) {
    bool isOnce = llvm::all_of(op->getOperands(), [&](Value operand) {
      Operation *producer = operand.getDefiningOp();
      return isWeight(operand) || (producer && once.contains(producer));
    });
    if (isOnce)
      once.insert(op);
    auto quantize = dyn_cast<QuantizeOp>(op);
    if (quantize && isOnce)
      for (Value result : op->getResults())
        report.bytes += countBytes(result, model);
    if (isOnce || !CostModel::isKernel(op))
      continue;
    auto cost = model.getCost(op);
    report.seconds += cost ? cost->seconds : toUnknown(cost.takeError());
  }
}

static std::string getName(const ProductDecision &decision, size_t number) {
  SmallVector<std::string> names = getLocationNames(decision.op->getLoc());
  return names.empty() ? "product " + std::to_string(number) : names.front();
}

static std::vector<Product> describeProducts(Copy &copied,
                                             const Subject &subject) {
  CostModel model(*subject.gpu, Model::Exact, subject.sizes);
  Insertions inserted;
  IRRewriter rewriter(copied.module->getContext(), &inserted);
  std::vector<Product> products;
  for (const ProductDecision &decision : copied.decisions) {
    const MatrixProduct &product = decision.product;
    Product &report = products.emplace_back();
    report.name = getName(decision, products.size() - 1);
    report.m = product.getSize(product.a.rows);
    report.n = product.getSize(product.b.rows);
    report.k = product.getSize(product.k);
    if (decision.obstacle)
      report.reason = llvm::to_string(*decision.obstacle);
    if (!decision.form)
      continue;
    report.form = describe(*decision.form);
    if (decision.isWeightA || decision.isWeightB)
      report.plainBytes = countBytes(
          (decision.isWeightB ? product.b : product.a).source, model);
    report.plainSeconds = getPlainSeconds(decision, model);
    inserted.ops.clear();
    createQuantizedProduct(rewriter, decision);
    addCosts(inserted.ops, model, report);
  }
  return products;
}

//===----------------------------------------------------------------------===//
// Noise
//===----------------------------------------------------------------------===//

Result<std::vector<Product>> assess(const Subject &subject,
                                    const QuantizationPolicy &policy,
                                    const Adjust &adjust) {
  Result<Copy> copied = copySubject(subject, policy, adjust);
  if (!copied.ok())
    return copied.status();
  std::vector<Product> products = describeProducts(*copied, subject);
  bool isAny = llvm::any_of(copied->decisions, isMeasured);
  if (!subject.examples || !isAny)
    return products;
  Result<Copy> measured = copySubject(subject, policy, adjust);
  if (!measured.ok())
    return measured.status();
  measureProducts(measured->function, measured->decisions);
  // The ops of decisions are others once the module is compiled.
  std::vector<size_t> numbers;
  for (auto [number, decision] : llvm::enumerate(measured->decisions))
    if (isMeasured(decision))
      numbers.push_back(number);
  auto results = runExamples(*measured, *subject.examples);
  if (!results.ok())
    return results.status();
  for (auto [i, number] : llvm::enumerate(numbers)) {
    products[number].signal = products[number].noise = 0;
    for (const std::vector<NpyArray> &sums : *results) {
      products[number].signal += *sums[2 * i].getAs<double>();
      products[number].noise += *sums[2 * i + 1].getAs<double>();
    }
  }
  return products;
}

/// Element `index` of an array of floats, of which bf16 is stored as uint16.
static double getElement(const NpyArray &array, int64_t index) {
  switch (array.type) {
  case NpyType::UInt16:
    return numerics::decodeBF16(array.getAs<uint16_t>()[index]);
  case NpyType::Float16:
    return numerics::decodeF16(array.getAs<uint16_t>()[index]);
  case NpyType::Float32:
    return array.getAs<float>()[index];
  case NpyType::Float64:
    return array.getAs<double>()[index];
  default:
    return kUnknown;
  }
}

Result<std::vector<double>> compareResults(const Subject &subject,
                                           const QuantizationPolicy &policy,
                                           const Adjust &adjust) {
  std::vector<std::vector<std::vector<NpyArray>>> both;
  for (bool isQuantized : {false, true}) {
    Result<Copy> copied = copySubject(subject, policy, adjust);
    if (!copied.ok())
      return copied.status();
    IRRewriter rewriter(copied->module->getContext());
    if (isQuantized)
      replaceProducts(rewriter, copied->decisions);
    auto results = runExamples(*copied, *subject.examples);
    if (!results.ok())
      return results.status();
    both.push_back(std::move(*results));
  }
  std::vector<double> signal(both[0].front().size()), noise(signal.size());
  for (auto [plain, quantized] : llvm::zip_equal(both[0], both[1]))
    for (size_t i = 0; i < signal.size(); ++i) {
      int64_t count =
          plain[i].data.size() / runtime::getNpyByteWidth(plain[i].type);
      for (int64_t at = 0; at < count; ++at) {
        double value = getElement(plain[i], at);
        double error = value - getElement(quantized[i], at);
        signal[i] += value * value;
        noise[i] += error * error;
      }
    }
  std::vector<double> sqnr;
  for (auto [s, n] : llvm::zip_equal(signal, noise))
    sqnr.push_back(10 * std::log10(s / n));
  return sqnr;
}

} // namespace blockscale::report
