//===- AmaxKernel.cpp - Largest absolute values ---------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// CTAs raise the result (AmaxRaise.h), or store parts of it. Rows have a warp
// each, which stores their result.
//
// Elements lie in ranges that begin and end anywhere. In a range, all vectors
// of 16 bytes are loaded as such, those before and behind one by one.
//
//===----------------------------------------------------------------------===//

#include "DeviceEmission/AmaxRaise.h"
#include "DeviceEmission/DeviceCode.h"
#include "DeviceEmission/GroupCheck.h"
#include "Emission/FloatCodec.h"
#include "Emission/OperandChecks.h"
#include "Kernels.h"

using namespace mlir;

namespace blockscale {

using emit::getIndex;
using emit::Lanes;

static constexpr int64_t kAmaxWarps = 8;
static constexpr int64_t kAmaxThreads = kWarpThreads * kAmaxWarps;
static constexpr int64_t kAmaxBytes = 16;
/// Vectors that a thread loads before it uses one.
static constexpr int64_t kVectorsInFlight = 8;
/// Rows of a CTA where groups cut the columns.
static constexpr int64_t kRowsPerBlock = 4 * kAmaxWarps;

namespace {

/// Emits amaxes of elements of one type.
class AmaxEmitter {
public:
  AmaxEmitter(KernelBuilder &b, Type element, Value x, Lanes thread)
      : b(b), element(element), x(x), thread(thread),
        vector(kAmaxBytes * 8 / element.getIntOrFloatBitWidth()) {}

  /// f32 bits of the amax of elements [begin, end), as far as the thread has
  /// seen them: it is number `lane` of `lanes`.
  Lanes emitRange(Lanes begin, Lanes end, Lanes lane, int64_t lanes);

  /// Raises `result` to the largest of the CTA's values. All threads must come
  /// here.
  void emitRaise(Lanes bits, Value result, Lanes index, Value partial);

  Lanes getWarp() const { return numerics::getWarp(thread); }
  Lanes getLane() const { return numerics::getLane(thread); }

private:
  /// The larger one, element by element, of words with magnitudes of elements.
  Lanes maxWords(Lanes x, Lanes y);
  /// The larger one of `amax` and a vector's words.
  Lanes emitVectors(Lanes amax, ArrayRef<Lanes> first);
  Lanes emitElement(Lanes amax, Lanes index, Lanes end);

  KernelBuilder &b;
  Type element;
  Value x;
  Lanes thread;
  /// Elements of a vector.
  int64_t vector;
};

} // namespace

Lanes AmaxEmitter::maxWords(Lanes x, Lanes y) {
  if (element.isF32())
    return maxUnsigned(x, y);
  // Two at a time, NaN above all.
  auto pair = VectorType::get({2}, element);
  Value larger =
      arith::MaximumFOp::create(b, b.bitcast(pair, x), b.bitcast(pair, y));
  return b.bitcast(b.getI32Type(), larger);
}

Lanes AmaxEmitter::emitVectors(Lanes amax, ArrayRef<Lanes> first) {
  SmallVector<Lanes> words;
  for (Lanes index : first)
    words.append(emitLoadWords(b, emitAddress(b, x, element, index), kAmaxBytes,
                               kAmaxBytes));
  uint32_t mask = element.isF32() ? 0x7FFFFFFF : 0x7FFF7FFF;
  for (Lanes &word : words)
    word = word & mask;
  for (size_t half = words.size() / 2; half > 0; half /= 2)
    for (size_t i = 0; i < half; ++i)
      words[i] = maxWords(words[i], words[i + half]);
  return maxWords(amax, words.front());
}

Lanes AmaxEmitter::emitElement(Lanes amax, Lanes index, Lanes end) {
  auto branch = scf::IfOp::create(b, b.getI32Type(), isBelow(index, end),
                                  /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  Lanes bits = emit::emitMagnitudeBits(emitLoadBits(b, x, element, index));
  Lanes value = toBits(emit::emitDecodeFloat(element, bits));
  scf::YieldOp::create(b, Value(maxUnsigned(amax, value)));
  b.setInsertionPointToStart(branch.elseBlock());
  scf::YieldOp::create(b, Value(amax));
  return Lanes(b, branch.getResult(0));
}

Lanes AmaxEmitter::emitRange(Lanes begin, Lanes end, Lanes lane,
                             int64_t lanes) {
  Lanes firstVector = emit::roundUp(b, begin, vector);
  Lanes lastVector = maxSigned(end / vector * vector, firstVector);
  int64_t step = lanes * vector;

  Lanes at = firstVector + lane * vector;
  // A thread's last vector of a step is this far behind its first.
  int64_t far = (kVectorsInFlight - 1) * step;
  SmallVector<Value> carried = emit::emitReduction(
      b, at, lastVector - far, {b.i32(0), at},
      [&](Lanes i, ValueRange carried) -> SmallVector<Value> {
        SmallVector<Lanes> first;
        for (int64_t k = 0; k < kVectorsInFlight; ++k)
          first.push_back(i + k * step);
        return {emitVectors(Lanes(b, carried[0]), first),
                i + kVectorsInFlight * step};
      },
      kVectorsInFlight *step);
  Lanes amax = emit::emitReduction(
      b, carried[1], lastVector, carried[0],
      [&](Lanes i, Lanes amax) { return emitVectors(amax, i); }, step);

  if (!element.isF32()) {
    auto widen = [&](Lanes half) {
      return toBits(emit::emitDecodeFloat(element, truncate(half, 16)));
    };
    amax = element.isBF16() ? maxUnsigned(amax << 16, amax & 0xFFFF0000u)
                            : maxUnsigned(widen(amax), widen(amax >> 16));
  }
  Lanes headEnd = minSigned(firstVector, end);
  amax = emitElement(amax, begin + lane, headEnd);
  return emitElement(amax, lastVector + lane, end);
}

void AmaxEmitter::emitRaise(Lanes bits, Value result, Lanes index,
                            Value partial) {
  blockscale::emitRaise(
      b, AmaxPart{bits, emitAddress(b, result, b.getI32Type(), index)}, thread,
      kAmaxWarps, partial);
  gpu::BarrierOp::create(b);
}

/// The place in shared memory of one value a warp.
static Value createPartial(KernelBuilder &b) {
  return createSharedArray(b, "partial", b.getI32Type(), kAmaxWarps);
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

/// Elements of a CTA.
static int64_t getBlockElements(Type element) {
  return kAmaxThreads * kVectorsInFlight * kAmaxBytes * 8 /
         element.getIntOrFloatBitWidth();
}

/// Launches the kernel for an amax of each matrix. Matrices have `count`
/// elements each, which CTAs divide.
static void launchMatrices(LaunchSite &site, const Twine &name, Type element,
                           Value x, Value amax, Lanes count, Lanes matrices) {
  int64_t blockElements = getBlockElements(element);
  int64_t vector = blockElements / (kAmaxThreads * kVectorsInFlight);
  // The first CTA of a matrix that begins within a vector covers fewer of its
  // elements.
  site.launch(
      name,
      {kAmaxThreads, getCeilDiv(site.b, count + (vector - 1), blockElements),
       matrices, kVectorsInFlight * kAmaxBytes},
      {{x, kAmaxBytes}, {amax, sizeof(float)}, {count}, {matrices}},
      [&](KernelBuilder &b) {
        Lanes size = toIndex(b, count);
        Lanes matrix = emitMatrixNumber(b);
        Value partial = createPartial(b);
        emit::emitIf(b, isBelow(matrix, toIndex(b, matrices)), [&] {
          Lanes thread = emitThreadNumber(b, kAmaxThreads);
          AmaxEmitter emitter(b, element, x, thread);
          Lanes first = matrix * size;
          Lanes begin =
              first / vector * vector + emitBlockNumber(b) * blockElements;
          Lanes end = begin + blockElements;
          begin = maxSigned(begin, first);
          end = minSigned(end, first + size);
          Lanes bits = emitter.emitRange(begin, end, thread, kAmaxThreads);
          emitter.emitRaise(bits, amax, matrix, partial);
        });
      });
}

/// Launches the kernel for the parts of the amax of `count` elements.
static void launchParts(LaunchSite &site, const Twine &name, Type element,
                        Value x, Value result, int64_t parts, Lanes count) {
  int64_t blockElements = getBlockElements(element);
  Lanes pieces = getCeilDiv(site.b, count, blockElements);
  Launcher::Shape shape = {kAmaxThreads,
                           getPartBlocks(site.b, pieces, parts),
                           {},
                           kVectorsInFlight * kAmaxBytes};
  // All that is read may be read before the launch before has ended.
  shape.waitsInBody = site.canLoadBeforeWait(x);
  site.launch(
      name, shape,
      {{x, kAmaxBytes}, {result, sizeof(float)}, {count}, {pieces}},
      [&](KernelBuilder &b) {
        Lanes thread = emitThreadNumber(b, kAmaxThreads);
        AmaxEmitter emitter(b, element, x, thread);
        emitParts(
            b, pieces, {result}, parts, thread, kAmaxWarps,
            [&](Lanes piece) -> SmallVector<Value> {
              Lanes begin = piece * blockElements;
              Lanes end = minSigned(begin + blockElements, toIndex(b, count));
              return {emitter.emitRange(begin, end, thread, kAmaxThreads)};
            },
            [&] {
              if (shape.waitsInBody)
                emitLaunchWait(b);
            });
      });
}

/// Launches the kernel for an amax of each row. A warp has a row.
static void launchRows(LaunchSite &site, const Twine &name, Type element,
                       Value x, Value amax, Lanes rows, Lanes cols) {
  site.launch(name,
              {kAmaxThreads,
               getCeilDiv(site.b, rows, kAmaxWarps),
               {},
               kVectorsInFlight * kAmaxBytes},
              {{x, kAmaxBytes}, {amax, sizeof(float)}, {rows}, {cols}},
              [&](KernelBuilder &b) {
                Lanes thread = emitThreadNumber(b, kAmaxThreads);
                AmaxEmitter emitter(b, element, x, thread);
                Lanes row = emitBlockNumber(b) * kAmaxWarps + emitter.getWarp();
                emit::emitIf(b, isBelow(row, toIndex(b, rows)), [&] {
                  Lanes size = toIndex(b, cols);
                  Lanes begin = row * size;
                  Lanes bits = emitter.emitRange(
                      begin, begin + size, emitter.getLane(), kWarpThreads);
                  bits = emitWarpMaximum(b, bits);
                  emit::emitIf(b, isBelow(emitter.getLane(), 1), [&] {
                    b.store(bits, emitAddress(b, amax, b.getI32Type(), row),
                            sizeof(float));
                  });
                });
              });
}

/// Emits `body` where [begin, end) is not empty.
static void emitUnlessEmpty(KernelBuilder &b, Lanes begin, Lanes end,
                            function_ref<void()> body) {
  emit::emitIf(b, isLessSigned(begin, end), body);
}

namespace {

/// The operands of a kernel of groups: buffers, and sizes of x and of offsets.
struct GroupedAmaxOperands {
  Value x, amax, offsets;
  Lanes rows, cols, groups;

  KernelSignature getSignature() {
    return {{x, kAmaxBytes},
            {amax, sizeof(float)},
            {offsets, sizeof(int32_t)},
            {rows},
            {cols},
            {groups}};
  }
};

} // namespace

/// Groups of rows: CTAs divide all elements, and raise the results of those
/// groups that they have elements of.
static void launchRowGroups(LaunchSite &site, const Twine &name, Type element,
                            const emit::GroupRules &rules,
                            GroupedAmaxOperands operands, Lanes count) {
  int64_t blockElements = getBlockElements(element);
  site.launch(name,
              {kAmaxThreads,
               getCeilDiv(site.b, count, blockElements),
               {},
               kVectorsInFlight * kAmaxBytes},
              operands.getSignature(), [&](KernelBuilder &b) {
                Lanes rows = toIndex(b, operands.rows),
                      cols = toIndex(b, operands.cols);
                Lanes thread = emitThreadNumber(b, kAmaxThreads);
                Value partial = createPartial(b);
                AmaxEmitter emitter(b, element, operands.x, thread);
                Lanes first = emitBlockNumber(b) * blockElements;
                Lanes last = first + blockElements;
                emitCheckGroups(b, rules, operands.offsets, operands.groups,
                                operands.rows, emitBlockNumber(b));
                emit::GroupedDim groups = getGroupedDim(
                    b, operands.offsets, toIndex(b, operands.groups), rows);
                emit::emitGroupLoop(b, groups, [&](const emit::Group &group) {
                  Lanes begin = maxSigned(group.begin * cols, first);
                  Lanes end = minSigned(group.end * cols, last);
                  emitUnlessEmpty(b, begin, end, [&] {
                    emitter.emitRaise(
                        emitter.emitRange(begin, end, thread, kAmaxThreads),
                        operands.amax, group.index, partial);
                  });
                });
              });
}

/// Groups of columns: warps have rows, of which they take the part of each
/// group.
static void launchColumnGroups(LaunchSite &site, const Twine &name,
                               Type element, const emit::GroupRules &rules,
                               GroupedAmaxOperands operands) {
  site.launch(
      name,
      {kAmaxThreads, getCeilDiv(site.b, operands.rows, kRowsPerBlock), {}},
      operands.getSignature(), [&](KernelBuilder &b) {
        Lanes rows = toIndex(b, operands.rows),
              cols = toIndex(b, operands.cols);
        Value partial = createPartial(b);
        AmaxEmitter emitter(b, element, operands.x,
                            emitThreadNumber(b, kAmaxThreads));
        Lanes first = emitBlockNumber(b) * kRowsPerBlock;
        Lanes last = minSigned(first + kRowsPerBlock, rows);
        emitCheckGroups(b, rules, operands.offsets, operands.groups,
                        operands.cols, emitBlockNumber(b));
        emit::GroupedDim groups = getGroupedDim(
            b, operands.offsets, toIndex(b, operands.groups), cols);
        emit::emitGroupLoop(b, groups, [&](const emit::Group &group) {
          emitUnlessEmpty(b, group.begin, group.end, [&] {
            Lanes bits = emit::emitReduction(
                b, first + emitter.getWarp(), last, b.i32(0),
                [&](Lanes row, Lanes amax) {
                  Lanes start = row * cols;
                  return maxUnsigned(
                      amax,
                      emitter.emitRange(start + group.begin, start + group.end,
                                        emitter.getLane(), kWarpThreads));
                },
                kAmaxWarps);
            emitter.emitRaise(bits, operands.amax, group.index, partial);
          });
        });
      });
}

LogicalResult lowerKernel(AmaxPartsOp op, LaunchSite &site) {
  ImplicitLocOpBuilder &b = site.b;
  Value x = site.lookup(op.getX());
  auto type = cast<MemRefType>(x.getType());
  Type element = type.getElementType();
  std::string name;
  llvm::raw_string_ostream(name) << "amax_parts_" << element;
  Lanes count =
      emit::getProduct(b, emit::getLeadingSizes(b, x, type.getRank()));
  launchParts(site, name, element, x, site.lookup(op.getParts()),
              op.getParts().getType().getDimSize(1), count);
  return success();
}

LogicalResult lowerKernel(AmaxOp op, LaunchSite &site) {
  emit::requireOperands(op, site.call);
  site.emitAsserts();
  ImplicitLocOpBuilder &b = site.b;
  Value x = site.lookup(op.getX()), amax = site.lookup(op.getAmax());
  auto type = cast<MemRefType>(x.getType());
  Type element = type.getElementType();
  emit::Indices sizes = emit::getLeadingSizes(b, x, type.getRank());
  ArrayRef<Value> leading = ArrayRef<Value>(sizes).drop_back(2);
  std::string name;
  llvm::raw_string_ostream(name) << "amax_" << element;

  if (op.isPerRow()) {
    Lanes rows = emit::getProduct(b, ArrayRef<Value>(sizes).drop_back());
    launchRows(site, name + "_rows", element, x, amax, rows, {b, sizes.back()});
    return success();
  }
  Lanes count = emit::getProduct(b, sizes);
  if (Value offsets = site.lookup(op.getOffsets())) {
    Lanes groups = emit::getDim(b, offsets, 0);
    launchClear(site, AmaxBuffer{amax, groups});
    GroupedAmaxOperands operands{
        x, amax, offsets, {b, sizes.front()}, {b, sizes.back()}, groups};
    if (op.getGroupDim() == 0)
      launchRowGroups(site, name + "_row_groups", element,
                      emit::getGroupRules(op), operands, count);
    else
      launchColumnGroups(site, name + "_column_groups", element,
                         emit::getGroupRules(op), operands);
    return success();
  }
  Lanes matrices = getIndex(b, 1);
  if (emit::isPerElement(amax)) {
    matrices = emit::getProduct(b, leading);
    count = emit::getProduct(b, ArrayRef<Value>(sizes).take_back(2));
  }
  launchClear(site, AmaxBuffer{amax, matrices});
  launchMatrices(site, name, element, x, amax, count, matrices);
  return success();
}

} // namespace blockscale
