//===- ProductFamily.h - What a family of kernels says of itself *- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A family is the kernels of products that multiply by one instruction. It is
// a class of static members, of which the functions below lower, launch and
// rate its products. Beside those of `FamilyDefaults` it has
//
//   Format, Spec       what operands are multiplied in, and all that the code
//                      of a kernel depends on, a GemmSpec
//   Layout             shared memory of a CTA: made of a Spec, with `bytes`
//   kernel             the ProductKernel that chips choose it by
//   kMinPartSteps      the steps that a part of K has at least
//   emit               the function that emits the code of a kernel
//
//   optional<Format> find(product, chip)
//       the format of a product; none where the family multiplies no such
//   LogicalResult verify(product, site)
//       the clauses of operands; a product that has none has a format
//   Spec createSpec(format, schedule, products, chip)
//       the kernel of so many products
//   LogicalResult verifyTile(product, site, format, schedule)
//       clause c4 for the rows and columns of a tile
//   RingStages getStages(spec, chip)
//   KernelBlock getBlock(spec)
//   OperandData getData(operand, spec)
//       how data of A or B come to the kernel, with a map or without
//
//   SmallVector<TileChoice> getTiles(format, products)
//   int64_t getStepElements(format)
//   KernelCost getCost(sizes, spec, gpu)
//
// docs/Products.md says how to add one.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_PRODUCTS_PRODUCTFAMILY_H
#define BLOCKSCALE_LIB_CONVERSION_PRODUCTS_PRODUCTFAMILY_H

#include "DecodedSpec.h"
#include "Emission/OperandChecks.h"
#include "OperandData.h"
#include "ProductClauses.h"
#include "ProductTimeline.h"
#include "RingStages.h"

#include <cmath>

namespace blockscale::products {

/// What a launch asks of a kernel's CTAs: threads, bytes of shared memory, CTAs
/// of a cluster, and those among which the registers of a multiprocessor are
/// divided.
struct KernelBlock {
  int64_t threads;
  int64_t sharedBytes;
  int64_t clusterBlocks = 1;
  int64_t residentBlocks = 1;
};

/// A tile that schedules can have, with the pairs of CTAs that share loads, and
/// the most parts of K beside it, where K can be parted.
struct TileChoice {
  int64_t rows, cols;
  int64_t maxSplits = 1;
  int64_t multicast = 1;
};

/// Whether a schedule has one of these tiles.
inline bool hasTile(llvm::ArrayRef<TileChoice> tiles,
                    GemmScheduleAttr schedule) {
  return llvm::any_of(tiles, [&](const TileChoice &tile) {
    return tile.rows == schedule.getRows() && tile.cols == schedule.getCols();
  });
}

/// The stages of a schedule, and its CTAs.
struct RingChoice {
  int64_t stages, ctas;
};

/// What most families have alike.
struct FamilyDefaults {
  /// Whether pairs of CTAs can share loads.
  static constexpr bool hasMulticast = false;
  /// Rows of results in a band of tiles.
  static int64_t getBandRows(const TileChoice &) { return kBandRows; }
  /// Whether the CTAs of a cluster have the parts of K and add their sums, so
  /// that every product can be parted.
  static constexpr bool addsInCluster = false;

  /// Whether threads that write results have fragments of a row of sums, as
  /// tensor memory gives them, and not sums that others can have as well.
  static constexpr bool hasFragments = false;

  /// Whether kernels read data in the order of registers. For others, they are
  /// brought back to row-major order before.
  static constexpr bool readsPacked = false;

  /// Whether sums of a kernel with K in one part have the order of a chain
  /// along K, whatever order is asked for.
  template <typename Spec>
  static bool keepsOrder(const Spec &) {
    return false;
  }

  /// Whether kernels wait for the launch before in those roles alone that need
  /// it, by `loadsAEarly` and `loadsBEarly` of their arguments.
  static constexpr bool waitsInRoles = false;

  /// Clause c4 for what else a schedule has.
  template <typename Spec>
  static mlir::LogicalResult verifyMore(const Product &, const LaunchSite &,
                                        const Spec &) {
    return mlir::success();
  }
  /// Whether schedules like that of `spec` are for products of these sizes.
  template <typename Spec>
  static bool suits(const Spec &, const AssumedSizes &) {
    return true;
  }
  /// Tells a spec the length of rows, where it is known.
  template <typename Spec>
  static void setDepth(Spec &, int64_t) {}
  /// The stages, of these numbers, and the CTAs of a schedule with the tile and
  /// the parts of K of `spec`.
  template <typename Spec>
  static RingChoice chooseRing(const RingStages &stages, const Spec &,
                               const AssumedSizes &, const target::Gpu &gpu) {
    return {stages.most, gpu.multiprocessors};
  }
  /// What remarks say of the model besides: "; ...".
  template <typename Format>
  static std::string getNote(const Format &) {
    return "";
  }
  /// How scales come to the kernel.
  template <typename Spec>
  static mlir::Value getScale(LaunchSite &site, const Spec &,
                              mlir::Value scale) {
    return site.lookup(scale);
  }
};

/// What families have alike that multiply two operands with scales.
struct ScaledFamily : FamilyDefaults {
  using Format = GemmFormat;
  using Spec = ScaledGemmSpec;

  static mlir::LogicalResult verify(const Product &product,
                                    const LaunchSite &site) {
    return verifyScaled(product, site);
  }
  static Spec createSpec(const Format &format, GemmScheduleAttr schedule,
                         int64_t products, const target::Chip &) {
    return {format, schedule, products};
  }
  static int64_t getStepElements(const Format &format) {
    return format.getStageElements();
  }
};

/// What families have alike that decode an operand.
template <typename KernelSpec>
struct DecodedFamily : FamilyDefaults {
  using Format = DecodedFormat;
  using Spec = KernelSpec;

  static std::optional<Format> find(const Product &product,
                                    const target::Chip &chip) {
    return DecodedFormat::find(product, chip);
  }
  static Spec createSpec(const Format &format, GemmScheduleAttr schedule,
                         int64_t products, const target::Chip &chip) {
    Spec spec(format, schedule, chip);
    spec.products = products;
    return spec;
  }
  static int64_t getStepElements(const Format &) { return kDecodedStep; }
};

/// Verifies clause c4 for the stages of a schedule, of which `leastBytes` bytes
/// are the fewest, and for its multicast and parts of K.
mlir::LogicalResult verifySchedule(const Product &product,
                                   const LaunchSite &site,
                                   GemmScheduleAttr schedule,
                                   const RingStages &stages, int64_t leastBytes,
                                   bool hasMulticast, bool addsInCluster);

/// The functions of a family that launch one kernel.
struct KernelLaunch {
  KernelBlock block;
  llvm::function_ref<OperandData(const HostOperand &)> getData;
  llvm::function_ref<mlir::Value(mlir::Value)> getScale;
  llvm::function_ref<void(KernelBuilder &, const GemmArguments &)> emit;
  bool addsInCluster;
  bool waitsInRoles;
};

/// Multiplies. `arguments` have the result and what it is made of, with rows of
/// `cols`.
void launchGemm(const GemmRequest &request, LaunchSite &site,
                const GemmSpec &spec, const GemmSizes &sizes, mlir::Value cols,
                GemmArguments arguments, const KernelLaunch &kernel);

/// The schedules that a product can have, the best first. Sizes that are not
/// known are taken to be large.
template <typename Family>
llvm::SmallVector<RatedSchedule>
rateSchedules(const Product &product, const typename Family::Format &format,
              const target::Chip &chip) {
  const target::Gpu &gpu = *target::findGpu(chip.gpu);
  AssumedSizes sizes(product);
  int64_t stepElements = Family::getStepElements(format);
  llvm::SmallVector<RatedSchedule> rated;
  auto add = [&](const TileChoice &tile, int64_t splits) {
    auto createSpec = [&](RingChoice ring) {
      auto schedule = GemmScheduleAttr::get(
          product.op->getContext(), tile.rows, tile.cols, ring.stages,
          Family::getBandRows(tile) / tile.rows, ring.ctas, tile.multicast,
          splits);
      return Family::createSpec(format, schedule, product.siblings, chip);
    };
    auto spec = createSpec({1, 1});
    RingStages stages = Family::getStages(spec, chip);
    if (stages.most < stages.least || !Family::suits(spec, sizes))
      return;
    spec = createSpec(Family::chooseRing(stages, spec, sizes, gpu));
    KernelCost cost = Family::getCost(sizes, spec, gpu);
    cost.stepElements = stepElements;
    cost.addsInCluster = Family::addsInCluster;
    rated.push_back({spec.schedule, {sizes, spec, gpu, cost}});
  };
  bool canSplit =
      !product.keepsChain &&
      (Family::addsInCluster ||
       (!product.needsWholeSums() && product.a.getType().hasStaticShape() &&
        product.b.getType().hasStaticShape()));
  double steps = std::ceil(sizes.depth / static_cast<double>(stepElements));
  for (const TileChoice &tile : Family::getTiles(format, product.siblings)) {
    add(tile, /*splits=*/1);
    for (int64_t splits = 2; canSplit && splits <= tile.maxSplits; splits *= 2)
      if (static_cast<double>(splits * Family::kMinPartSteps) <= steps)
        add(tile, splits);
  }
  sortSchedules(rated);
  return rated;
}

/// Launches a kernel that computes `ops`, products of one format and what may
/// follow them ("blockscale/Analysis/Epilogue.h"). What the family has no
/// kernel for is an error at the op, with its clause.
template <typename Family>
llvm::LogicalResult lowerProducts(llvm::ArrayRef<mlir::Operation *> ops,
                                  LaunchSite &site) {
  using Spec = typename Family::Spec;
  const target::Chip &chip = site.getChip();
  llvm::FailureOr<GemmRequest> request = GemmRequest::find(ops);
  if (failed(request))
    return llvm::failure();
  for (const Product &each : request->products)
    if ((!Family::readsPacked &&
         failed(
             emit::verifyRowMajor(llvm::cast<ProductOpInterface>(each.op)))) ||
        failed(Family::verify(each, site)))
      return llvm::failure();
  const Product &product = request->getFirst();
  typename Family::Format format = *Family::find(product, chip);
  GemmSizes sizes = request->getSizes(site);
  request->requireSizes(site, sizes);
  requireDepth(product, site, format.getRowMultiple(), sizes);
  site.emitAsserts();
  if (failed(verifySizes(product, site, sizes)))
    return llvm::failure();

  auto schedule =
      product.op->getAttrOfType<GemmScheduleAttr>(kScheduleAttrName);
  if (!schedule)
    schedule = rateSchedules<Family>(product, format, chip).front().schedule;
  for (const Product &each : request->products)
    if (failed(verifySameSchedule(each, site, schedule)))
      return llvm::failure();
  if (failed(Family::verifyTile(product, site, format, schedule)))
    return llvm::failure();
  Spec spec =
      Family::createSpec(format, schedule, request->products.size(), chip);
  if (std::optional<int64_t> depth = mlir::getConstantIntValue(sizes.depth))
    Family::setDepth(spec, *depth);
  RingStages stages = Family::getStages(spec, chip);
  Spec fewest = spec;
  fewest.schedule = withStages(schedule, stages.least);
  if (failed(verifySchedule(product, site, schedule, stages,
                            typename Family::Layout(fewest).bytes,
                            Family::hasMulticast, Family::addsInCluster)) ||
      failed(Family::verifyMore(product, site, spec)))
    return llvm::failure();

  request->setResults(spec, site, sizes, Family::hasFragments);
  auto launch = [&](const Spec &spec, mlir::Value cols,
                    const GemmArguments &arguments) {
    launchGemm(
        *request, site, spec, sizes, cols, arguments,
        {Family::getBlock(spec),
         [&](const HostOperand &operand) {
           return Family::getData(operand, spec);
         },
         [&](mlir::Value scale) { return Family::getScale(site, spec, scale); },
         [&](KernelBuilder &b, const GemmArguments &parameters) {
           Family::emit(b, spec, parameters);
         },
         Family::addsInCluster, Family::waitsInRoles});
  };
  if (Family::addsInCluster)
    launch(spec, emit::toIndex(site.b, sizes.cols),
           request->getResultArguments(site, spec));
  else
    launchParts(*request, site, spec, sizes, launch);
  return llvm::success();
}

/// A family as passes call it.
struct ProductFamily {
  ProductKernel kernel;
  llvm::LogicalResult (*lower)(llvm::ArrayRef<mlir::Operation *> ops,
                               LaunchSite &site);
  /// The schedules of a product, the best first; none where the family
  /// multiplies no such. A remark says why that is the best, if `hasRemark`.
  llvm::SmallVector<RatedSchedule> (*rate)(const Product &product,
                                           const target::Chip &chip,
                                           bool hasRemark);
};

// The families, each of which is defined in its folder: of products of two
// operands with scales by block-scaled tcgen05.mma and mma.sync, and of an
// operand with scales and a plain one by plain tcgen05.mma, wgmma and mma.sync.
extern const ProductFamily kTcgen05Family, kScaledMmaFamily;
extern const ProductFamily kPlainTcgen05Family, kWgmmaFamily, kPlainMmaFamily;

template <typename Family>
constexpr ProductFamily describeFamily() {
  return {Family::kernel, lowerProducts<Family>,
          [](const Product &product, const target::Chip &chip, bool hasRemark) {
            auto format = Family::find(product, chip);
            if (!format)
              return llvm::SmallVector<RatedSchedule>();
            auto rated = rateSchedules<Family>(product, *format, chip);
            if (hasRemark) {
              GemmScheduleAttr best = rated.front().schedule;
              bool keepsOrder = product.keepsChain ||
                                (best.getSplits() == 1 &&
                                 Family::keepsOrder(Family::createSpec(
                                     *format, best, product.siblings, chip)));
              remarkSchedule(
                  product, Family::getStepElements(*format), rated,
                  Family::getNote(*format) +
                      (keepsOrder ? "; sums are one chain along K" : ""));
            }
            return rated;
          }};
}

} // namespace blockscale::products

#endif // BLOCKSCALE_LIB_CONVERSION_PRODUCTS_PRODUCTFAMILY_H
