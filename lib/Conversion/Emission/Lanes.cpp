//===- Lanes.cpp - Arithmetic on scalars and vectors alike ----------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Lanes.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace blockscale::emit {

//===----------------------------------------------------------------------===//
// Types and constants
//===----------------------------------------------------------------------===//

Type Lanes::getElementType() const {
  return getElementTypeOrSelf(value.getType());
}

bool Lanes::isVector() const { return isa<VectorType>(value.getType()); }

bool Lanes::isFloat() const { return isa<FloatType>(getElementType()); }

int64_t Lanes::getCount() const {
  auto vector = dyn_cast<VectorType>(value.getType());
  return vector ? vector.getNumElements() : 1;
}

Type Lanes::getTypeWith(Type element) const {
  auto vector = dyn_cast<VectorType>(value.getType());
  return vector ? Type(VectorType::get(vector.getShape(), element)) : element;
}

static Lanes createConstant(ImplicitLocOpBuilder &b, Type type,
                            TypedAttr element) {
  if (auto vector = dyn_cast<VectorType>(type))
    element = DenseElementsAttr::get(vector, element);
  return Lanes(b, arith::ConstantOp::create(b, type, element));
}

Lanes Lanes::floatLike(double constant) const {
  return createConstant(*builder, value.getType(),
                        builder->getFloatAttr(getElementType(), constant));
}

Lanes Lanes::integerLike(uint64_t constant) const {
  Type element = getElementType();
  unsigned width = element.isIndex() ? IndexType::kInternalStorageBitWidth
                                     : element.getIntOrFloatBitWidth();
  APInt bits(width, constant, /*isSigned=*/false, /*implicitTrunc=*/true);
  return createConstant(*builder, value.getType(),
                        builder->getIntegerAttr(element, bits));
}

//===----------------------------------------------------------------------===//
// Operators
//===----------------------------------------------------------------------===//

/// Both values in as many lanes as the wider one has.
static std::pair<Lanes, Lanes> inSameShape(Lanes a, Lanes b) {
  if (a.isVector() == b.isVector())
    return {a, b};
  return {a.isVector() ? a : broadcast(a, b),
          b.isVector() ? b : broadcast(b, a)};
}

template <typename OpTy>
static Lanes create(Lanes x, Lanes y) {
  auto [a, b] = inSameShape(x, y);
  ImplicitLocOpBuilder &builder = a.getBuilder();
  return Lanes(builder, builder.createOrFold<OpTy>(Value(a), Value(b)));
}

Lanes operator+(Lanes a, Lanes b) {
  return a.isFloat() ? create<arith::AddFOp>(a, b)
                     : create<arith::AddIOp>(a, b);
}
Lanes operator-(Lanes a, Lanes b) {
  return a.isFloat() ? create<arith::SubFOp>(a, b)
                     : create<arith::SubIOp>(a, b);
}
Lanes operator*(Lanes a, Lanes b) {
  return a.isFloat() ? create<arith::MulFOp>(a, b)
                     : create<arith::MulIOp>(a, b);
}
Lanes operator/(Lanes a, Lanes b) {
  return a.isFloat() ? create<arith::DivFOp>(a, b)
                     : create<arith::DivUIOp>(a, b);
}
Lanes operator%(Lanes a, Lanes b) { return create<arith::RemUIOp>(a, b); }
Lanes operator&(Lanes a, Lanes b) { return create<arith::AndIOp>(a, b); }
Lanes operator|(Lanes a, Lanes b) { return create<arith::OrIOp>(a, b); }
Lanes operator^(Lanes a, Lanes b) { return create<arith::XOrIOp>(a, b); }
Lanes operator<<(Lanes a, Lanes b) { return create<arith::ShLIOp>(a, b); }
Lanes operator>>(Lanes a, Lanes b) { return create<arith::ShRUIOp>(a, b); }

Lanes addExactProduct(Lanes a, Lanes b, Lanes c) {
  ImplicitLocOpBuilder &builder = a.getBuilder();
  auto contract = arith::FastMathFlags::contract;
  Value product = arith::MulFOp::create(builder, a, b, contract);
  return Lanes(builder, arith::AddFOp::create(builder, product, c, contract));
}

numerics::WideProduct<Lanes> multiplyWide(Lanes x, uint32_t factor) {
  Lanes product = extend(x, 64) * factor;
  return {truncate(product, 32), truncate(product >> 32, 32)};
}

//===----------------------------------------------------------------------===//
// Comparisons and selection
//===----------------------------------------------------------------------===//

Lanes compare(arith::CmpIPredicate predicate, Lanes a, Lanes b) {
  ImplicitLocOpBuilder &builder = a.getBuilder();
  return Lanes(builder, arith::CmpIOp::create(builder, predicate, a, b));
}

Lanes compare(arith::CmpFPredicate predicate, Lanes a, Lanes b) {
  ImplicitLocOpBuilder &builder = a.getBuilder();
  return Lanes(builder, arith::CmpFOp::create(builder, predicate, a, b));
}

Lanes isLessSigned(Lanes a, Lanes b) {
  return compare(arith::CmpIPredicate::slt, a, b);
}

Lanes isBelow(Lanes a, Lanes b) {
  return compare(arith::CmpIPredicate::ult, a, b);
}

Lanes isEqual(Lanes a, Lanes b) {
  return a.isFloat() ? compare(arith::CmpFPredicate::OEQ, a, b)
                     : compare(arith::CmpIPredicate::eq, a, b);
}

Lanes isLess(Lanes a, Lanes b) {
  return a.isFloat() ? compare(arith::CmpFPredicate::OLT, a, b)
                     : compare(arith::CmpIPredicate::slt, a, b);
}

Lanes isNan(Lanes x) { return compare(arith::CmpFPredicate::UNO, x, x); }

Lanes select(Value condition, Lanes a, Value b) {
  ImplicitLocOpBuilder &builder = a.getBuilder();
  return Lanes(builder, arith::SelectOp::create(builder, condition, a, b));
}

Lanes minKeepNan(Lanes x, float upper) {
  return create<arith::MinimumFOp>(x, x.like(upper));
}
Lanes maxKeepNan(Lanes x, float lower) {
  return create<arith::MaximumFOp>(x, x.like(lower));
}

Lanes minUnsigned(Lanes a, Lanes b) { return create<arith::MinUIOp>(a, b); }
Lanes maxUnsigned(Lanes a, Lanes b) { return create<arith::MaxUIOp>(a, b); }
Lanes minSigned(Lanes a, Lanes b) { return create<arith::MinSIOp>(a, b); }
Lanes maxSigned(Lanes a, Lanes b) { return create<arith::MaxSIOp>(a, b); }

//===----------------------------------------------------------------------===//
// Conversions
//===----------------------------------------------------------------------===//

template <typename OpTy, typename... Args>
static Lanes convert(Lanes x, Type element, Args... args) {
  if (x.getElementType() == element)
    return x;
  ImplicitLocOpBuilder &builder = x.getBuilder();
  return Lanes(builder, builder.createOrFold<OpTy>(x.getTypeWith(element),
                                                   Value(x), args...));
}

Lanes toBits(Lanes x) {
  unsigned width = x.getElementType().getIntOrFloatBitWidth();
  return convert<arith::BitcastOp>(x, x.getBuilder().getIntegerType(width));
}

Lanes toF32(Lanes bits) {
  return convert<arith::BitcastOp>(bits, bits.getBuilder().getF32Type());
}

Lanes convertToF32(Lanes x) {
  return convert<arith::SIToFPOp>(x, x.getBuilder().getF32Type());
}

Lanes truncateToI32(Lanes x) {
  return convert<arith::FPToSIOp>(x, x.getBuilder().getI32Type());
}

Lanes extendToF64(Lanes x) {
  return convert<arith::ExtFOp>(x, x.getBuilder().getF64Type(),
                                arith::FastMathFlagsAttr());
}

Lanes roundToF32(Lanes x) {
  return convert<arith::TruncFOp>(x, x.getBuilder().getF32Type());
}

Lanes truncate(Lanes x, unsigned width) {
  return convert<arith::TruncIOp>(x, x.getBuilder().getIntegerType(width));
}

Lanes extend(Lanes x, unsigned width) {
  return convert<arith::ExtUIOp>(x, x.getBuilder().getIntegerType(width));
}

Lanes broadcast(Lanes scalar, Lanes shape) {
  ImplicitLocOpBuilder &builder = scalar.getBuilder();
  Type type = shape.getTypeWith(scalar.getElementType());
  if (!isa<VectorType>(type))
    return scalar;
  return Lanes(builder, vector::BroadcastOp::create(builder, type, scalar));
}

//===----------------------------------------------------------------------===//
// Lane movement
//===----------------------------------------------------------------------===//

Lanes bitcastLanes(Lanes x, Type element) {
  if (x.getElementType() == element)
    return x;
  ImplicitLocOpBuilder &builder = x.getBuilder();
  int64_t bits = x.getCount() * x.getElementType().getIntOrFloatBitWidth();
  auto type =
      VectorType::get({bits / element.getIntOrFloatBitWidth()}, element);
  return Lanes(builder, vector::BitCastOp::create(builder, type, x));
}

std::pair<Lanes, Lanes> deinterleave(Lanes x) {
  ImplicitLocOpBuilder &builder = x.getBuilder();
  auto op = vector::DeinterleaveOp::create(builder, x);
  return {Lanes(builder, op.getRes1()), Lanes(builder, op.getRes2())};
}

Lanes interleave(Lanes even, Lanes odd) {
  ImplicitLocOpBuilder &builder = even.getBuilder();
  return Lanes(builder, vector::InterleaveOp::create(builder, even, odd));
}

SmallVector<Lanes> splitByResidue(Lanes x, int64_t count) {
  if (count == 1)
    return {x};
  auto [even, odd] = deinterleave(x);
  SmallVector<Lanes> lanes;
  for (auto [left, right] : llvm::zip_equal(splitByResidue(even, count / 2),
                                            splitByResidue(odd, count / 2)))
    lanes.append({left, right});
  return lanes;
}

Lanes shuffleLanes(Lanes a, Lanes b, ArrayRef<int64_t> lanes) {
  ImplicitLocOpBuilder &builder = a.getBuilder();
  return Lanes(builder, vector::ShuffleOp::create(builder, a, b, lanes));
}

static Lanes shuffle(Lanes x, ArrayRef<int64_t> mask) {
  return shuffleLanes(x, x, mask);
}

/// Appends the lanes of x to `parts`, as vectors of `count` lanes.
static void appendLanes(SmallVector<Lanes> &parts, Lanes x, int64_t count) {
  for (int64_t first = 0; first < x.getCount(); first += count)
    parts.push_back(slice(x, first, count));
}

/// A lane's number is that of its row, then that of its column, in bits.
/// Interleaving the first half of the vectors with the second one moves the
/// first of these bits behind the last.
SmallVector<Lanes> transposeLanes(ArrayRef<Lanes> rows) {
  int64_t count = rows.size();
  SmallVector<Lanes> lanes(rows);
  for (int64_t moved = 1; moved < count; moved *= 2) {
    SmallVector<Lanes> next;
    size_t half = lanes.size() / 2;
    for (size_t i = 0; i < half; ++i) {
      Lanes pairs = interleave(lanes[i], lanes[half + i]);
      appendLanes(next, pairs, std::min(pairs.getCount(), count));
    }
    lanes = std::move(next);
  }
  SmallVector<Lanes> columns;
  for (Lanes x : lanes)
    appendLanes(columns, x, count);
  return columns;
}

Lanes repeatLanes(Lanes x, int64_t times) {
  SmallVector<int64_t> mask;
  for (int64_t lane = 0; lane < x.getCount(); ++lane)
    mask.append(times, lane);
  return shuffle(x, mask);
}

Lanes slice(Lanes x, int64_t first, int64_t count) {
  if (count == x.getCount())
    return x;
  return shuffle(x, llvm::to_vector(llvm::seq(first, first + count)));
}

Lanes concatenate(ArrayRef<Lanes> parts) {
  if (parts.size() == 1)
    return parts.front();
  Lanes left = concatenate(parts.take_front(parts.size() / 2));
  Lanes right = concatenate(parts.drop_front(parts.size() / 2));
  return shuffleLanes(left, right,
                      llvm::to_vector(llvm::seq<int64_t>(
                          0, left.getCount() + right.getCount())));
}

std::pair<Lanes, Lanes> splitHalves(Lanes x) {
  auto lanes = llvm::to_vector(llvm::seq<int64_t>(0, x.getCount()));
  auto half = ArrayRef<int64_t>(lanes).take_front(lanes.size() / 2);
  auto rest = ArrayRef<int64_t>(lanes).drop_front(lanes.size() / 2);
  return {shuffle(x, half), shuffle(x, rest)};
}

Lanes getFirstLane(Lanes x) {
  ImplicitLocOpBuilder &builder = x.getBuilder();
  return Lanes(builder, vector::ExtractOp::create(builder, x, int64_t(0)));
}

Lanes reduceLanes(Lanes x, llvm::function_ref<Lanes(Lanes, Lanes)> combine) {
  while (x.getCount() > 1) {
    auto [left, right] = splitHalves(x);
    x = combine(left, right);
  }
  return x.isVector() ? getFirstLane(x) : x;
}

} // namespace blockscale::emit
