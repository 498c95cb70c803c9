// RUN: blockscale-opt %s -blockscale-materialize-storage | FileCheck %s

// CHECK-DAG: #[[PAIRS:.+]] = affine_map<()[s0] -> (s0 ceildiv 2)>
// CHECK-DAG: #[[ROWS:.+]] = affine_map<()[s0] -> (s0 ceildiv 128)>
// CHECK-DAG: #[[COLS:.+]] = affine_map<()[s0] -> (s0 ceildiv 4)>
// CHECK-DAG: #[[EIGHTS:.+]] = affine_map<()[s0] -> (s0 ceildiv 8)>
// CHECK-DAG: #[[GROUPS:.+]] = affine_map<()[s0, s1] -> (((s0 + 381) floordiv 128) * (s1 ceildiv 4))>
#swizzled = #blockscale.layout<swizzle_128x4>
#grouped = #blockscale.layout<swizzle_128x4, groups = 3, dim = 0>

// Storage sizes are computed where the logical ones are dynamic.
// CHECK-LABEL: func.func @empty
// CHECK-SAME: %[[R:[a-z0-9]+]]: index, %[[C:[a-z0-9]+]]: index
func.func @empty(%r: index, %c: index) -> (tensor<?x?xf4E2M1FN>, tensor<?x?xf8E4M3FN, #swizzled>, tensor<?x?xf8E4M3FN, #grouped>) {
  // CHECK: %[[P:.+]] = affine.apply #[[PAIRS]]()[%[[C]]]
  // CHECK: tensor.empty(%[[R]], %[[P]]) : tensor<?x?xi8>
  %0 = tensor.empty(%r, %c) : tensor<?x?xf4E2M1FN>
  // CHECK-DAG: %[[TR:.+]] = affine.apply #[[ROWS]]()[%[[R]]]
  // CHECK-DAG: %[[TC:.+]] = affine.apply #[[COLS]]()[%[[C]]]
  // CHECK: tensor.empty(%[[TR]], %[[TC]]) : tensor<?x?x32x4x4xf8E4M3FN>
  %1 = tensor.empty(%r, %c) : tensor<?x?xf8E4M3FN, #swizzled>
  // CHECK: %[[T:.+]] = affine.apply #[[GROUPS]]()[%[[R]], %[[C]]]
  // CHECK: tensor.empty(%[[T]]) : tensor<?x32x4x4xf8E4M3FN>
  %2 = tensor.empty(%r, %c) : tensor<?x?xf8E4M3FN, #grouped>
  return %0, %1, %2 : tensor<?x?xf4E2M1FN>, tensor<?x?xf8E4M3FN, #swizzled>, tensor<?x?xf8E4M3FN, #grouped>
}

// CHECK-LABEL: func.func @few_rows
func.func @few_rows(%r: index, %c: index) -> tensor<2x?x?xf8E4M3FN, #blockscale.layout<swizzle_8x4>> {
  // CHECK-DAG: %[[TR:.+]] = affine.apply #[[EIGHTS]]()[%{{.+}}]
  // CHECK-DAG: %[[TC:.+]] = affine.apply #[[COLS]]()[%{{.+}}]
  // CHECK: tensor.empty(%[[TR]], %[[TC]]) : tensor<2x?x?x8x4xf8E4M3FN>
  %0 = tensor.empty(%r, %c) : tensor<2x?x?xf8E4M3FN, #blockscale.layout<swizzle_8x4>>
  return %0 : tensor<2x?x?xf8E4M3FN, #blockscale.layout<swizzle_8x4>>
}

// A constant that the type does not know of stays dynamic.
// CHECK-LABEL: func.func @empty_constant
func.func @empty_constant() -> (tensor<?x4xf4E2M1FN>, tensor<200x5xf8E4M3FN, #swizzled>) {
  %c3 = arith.constant 3 : index
  // CHECK: tensor.empty(%{{.+}}) : tensor<?x2xi8>
  %0 = tensor.empty(%c3) : tensor<?x4xf4E2M1FN>
  // CHECK: tensor.empty() : tensor<2x2x32x4x4xf8E4M3FN>
  %1 = tensor.empty() : tensor<200x5xf8E4M3FN, #swizzled>
  return %0, %1 : tensor<?x4xf4E2M1FN>, tensor<200x5xf8E4M3FN, #swizzled>
}

// Rows of packed data and batches of scales are sizes of storage; static ones
// are constants.
// CHECK-LABEL: func.func @stored
// CHECK-SAME: %[[Q:.+]]: tensor<?x5xi8>, %[[S:.+]]: tensor<?x2x?x32x4x4xf8E4M3FN>
func.func @stored(%q: tensor<?x9xf4E2M1FN>, %s: tensor<?x200x?xf8E4M3FN, #swizzled>) -> (index, index, index, index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // CHECK: %[[D0:.+]] = tensor.dim %[[Q]], %c0{{.*}} : tensor<?x5xi8>
  %0 = tensor.dim %q, %c0 : tensor<?x9xf4E2M1FN>
  // CHECK: %[[D1:.+]] = arith.constant 9 : index
  %1 = tensor.dim %q, %c1 : tensor<?x9xf4E2M1FN>
  // CHECK: %[[D2:.+]] = tensor.dim %[[S]], %c0{{.*}} : tensor<?x2x?x32x4x4xf8E4M3FN>
  %2 = tensor.dim %s, %c0 : tensor<?x200x?xf8E4M3FN, #swizzled>
  // CHECK: %[[D3:.+]] = arith.constant 200 : index
  %3 = tensor.dim %s, %c1 : tensor<?x200x?xf8E4M3FN, #swizzled>
  // CHECK: return %[[D0]], %[[D1]], %[[D2]], %[[D3]]
  return %0, %1, %2, %3 : index, index, index, index
}

// What storage does not hold, the making of the tensor may tell.
// CHECK-LABEL: func.func @made
// CHECK-SAME: %[[R:[a-z0-9]+]]: index, %[[C:[a-z0-9]+]]: index
func.func @made(%r: index, %c: index, %x: tensor<?x?xbf16>, %si: tensor<?x?xf8E4M3FN>) -> (index, index, index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %qi = tensor.empty(%r, %c) : tensor<?x?xf4E2M1FN>
  %q, %s = blockscale.kernel ins(%x : tensor<?x?xbf16>) outs(%qi, %si : tensor<?x?xf4E2M1FN>, tensor<?x?xf8E4M3FN>) {
  ^bb0(%lx: tensor<?x?xbf16>, %lq: tensor<?x?xf4E2M1FN>, %ls: tensor<?x?xf8E4M3FN>):
    %0, %1 = blockscale.quantize %lx block [1, 16] recipe te : tensor<?x?xbf16> -> tensor<?x?xf4E2M1FN>, tensor<?x?xf8E4M3FN>
    blockscale.yield %0, %1 : tensor<?x?xf4E2M1FN>, tensor<?x?xf8E4M3FN>
  } -> tensor<?x?xf4E2M1FN>, tensor<?x?xf8E4M3FN>
  %k = tensor.dim %q, %c1 : tensor<?x?xf4E2M1FN>
  %t = tensor.empty(%r, %c) : tensor<?x?xf8E4M3FN, #swizzled>
  %m = tensor.dim %t, %c0 : tensor<?x?xf8E4M3FN, #swizzled>
  %slice = tensor.extract_slice %q[0, 0] [1, %k] [1, 1] : tensor<?x?xf4E2M1FN> to tensor<?xf4E2M1FN>
  %n = tensor.dim %slice, %c0 : tensor<?xf4E2M1FN>
  // CHECK: return %[[C]], %[[R]], %[[C]]
  return %k, %m, %n : index, index, index
}

// Packed data that a kernel reads in whole blocks has an even size.
// CHECK-LABEL: func.func @whole_blocks
// CHECK-SAME: %[[Q:.+]]: tensor<4x?xi8>
func.func @whole_blocks(%q: tensor<4x?xf4E2M1FN>, %s: tensor<4x?xf8E4M3FN>) -> tensor<4x?xf32> {
  %c1 = arith.constant 1 : index
  // CHECK: %[[BYTES:.+]] = tensor.dim %[[Q]], %{{.+}} : tensor<4x?xi8>
  // CHECK: %[[K:.+]] = arith.muli %[[BYTES]], %{{.+}} : index
  %k = tensor.dim %q, %c1 : tensor<4x?xf4E2M1FN>
  // CHECK: tensor.empty(%[[K]]) : tensor<4x?xf32>
  %yi = tensor.empty(%k) : tensor<4x?xf32>
  %y = blockscale.kernel ins(%q, %s : tensor<4x?xf4E2M1FN>, tensor<4x?xf8E4M3FN>) outs(%yi : tensor<4x?xf32>) {
  ^bb0(%lq: tensor<4x?xf4E2M1FN>, %ls: tensor<4x?xf8E4M3FN>, %ly: tensor<4x?xf32>):
    %0 = blockscale.dequantize %lq, %ls block [1, 16] : tensor<4x?xf4E2M1FN>, tensor<4x?xf8E4M3FN> -> tensor<4x?xf32>
    blockscale.yield %0 : tensor<4x?xf32>
  } -> tensor<4x?xf32>
  return %y : tensor<4x?xf32>
}
